// The services around the broad-phase methods on CUDA: order of pairs, events, bounds of shapes.
#include "../../core/cuda/cuda_backend.h"
#include "../../sort/src/sort_method.h"
#include "bounds_kernels.h"
#include "events/pair_groups_cuda.h"
#include "launch_cuda.h"
#include "pair_check_kernels.h"
#include "pair_ops_kernels.h"
#include "pair_rules_kernels.h"

static uint64_t order_scratch_bytes(uint64_t capacity) {
    (void)capacity;
    return 256; // the clamped count
}

static psv_status order_pairs(psv_context *context, void *sorter, psv_pair *pairs, const uint64_t *count,
                              uint64_t capacity, void *scratch) {
    psv_sorter *sort = sorter;
    const uint32_t bits = sort->def.end_bit / 2;
    const int processors = context->info.multiprocessors;
    if (capacity < 2) return PSV_OK;
    cudaError_t error = psvi_launch_pack_pairs(pairs, count, capacity, bits, scratch, processors, context->stream);
    psv_status status = psvi_cuda_status(context, error, "order of pairs: a kernel launch");
    if (status != PSV_OK) return status;
    const psvi_sort_request request = {.keys_in = pairs, .keys_out = pairs, .count = capacity, .count_device = scratch};
    status = psvi_sort_run(sort, &request);
    if (status != PSV_OK) return status;
    error = psvi_launch_unpack_pairs(pairs, scratch, bits, processors, context->stream);
    return psvi_cuda_status(context, error, "order of pairs: a kernel launch");
}

static void *layout(psvi_carver *carver, uint64_t capacity, psvi_diff_input *input) {
    const uint64_t tiles = psvi_diff_tiles(capacity);
    input->tile_counts = psvi_carve(carver, 2 * tiles * sizeof *input->tile_counts);
    input->kept = psvi_carve(carver, 2 * tiles * 32 * sizeof *input->kept); // 1,024 pairs a tile
    return carver->base;
}

static uint64_t events_scratch_bytes(uint64_t capacity) {
    psvi_carver carver = {NULL, 0};
    psvi_diff_input input;
    (void)layout(&carver, capacity, &input);
    return carver.used;
}

static psv_status diff_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count,
                             const psv_pair *before, const uint64_t *before_count, uint64_t capacity, psv_pair *begin,
                             uint64_t *begin_count, psv_pair *end, uint64_t *end_count, void *scratch) {
    psvi_diff_input input = {
        .now = now,
        .before = before,
        .now_count = now_count,
        .before_count = before_count,
        .begin = begin,
        .end = end,
        .begin_count = begin_count,
        .end_count = end_count,
        .capacity = capacity,
    };
    psvi_carver carver = {scratch, 0};
    (void)layout(&carver, capacity, &input);
    cudaError_t error = psvi_launch_diff_pairs(&input, context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "pair events: a kernel launch");
}

static psv_status keep_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                             uint64_t *before_count, uint64_t capacity) {
    cudaError_t error = psvi_launch_keep_pairs(now, now_count, before, before_count, capacity,
                                               context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "pair events: a kernel launch");
}

static psv_status put_rules(psv_context *context, const psvi_pair_rules *rules, psvi_pair_rules *target) {
    cudaError_t error = psvi_launch_put_rules(rules, target, context->stream);
    return psvi_cuda_status(context, error, "pair rules: a kernel launch");
}

static psv_status exclude_pairs(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_bucket *table,
                                uint64_t last_bucket) {
    cudaError_t error = psvi_launch_exclude_pairs(pairs, count, table, last_bucket, context->stream);
    return psvi_cuda_status(context, error, "pair rules: a kernel launch");
}

static psv_status list_partners(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_partners *partners,
                                uint64_t boxes) {
    cudaError_t error = psvi_launch_list_partners(pairs, count, partners, boxes, context->stream);
    return psvi_cuda_status(context, error, "pair rules: a kernel launch");
}

static psv_status narrow_boxes(psv_context *context, const psvi_rule_side *side, const double *origin, uint64_t first,
                               const psvi_box_view *view, psv_aabb *boxes) {
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    cudaError_t error = psvi_launch_narrow_boxes(side, origin, first, view, boxes, context->stream);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    return psvi_cuda_status(context, error, "boxes in double precision: a kernel launch");
}

static psv_status name_pairs(psv_context *context, const uint32_t *a_ids, const uint32_t *b_ids, bool between,
                             psv_pair *pairs, const uint64_t *count, uint64_t capacity) {
    const psvi_name_input input = {a_ids, b_ids, between, pairs, count, capacity};
    cudaError_t error = psvi_launch_name_pairs(&input, context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "names of pairs: a kernel launch");
}

static psv_status merge_kept(psv_context *context, const psvi_kept_merge *merge) {
    cudaError_t error = psvi_launch_merge_kept(merge, context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "kept boxes: a kernel launch");
}

static psv_status subtract_count(psv_context *context, const uint64_t *count, uint64_t less, uint64_t *target) {
    cudaError_t error = psvi_launch_subtract_count(count, less, target, context->stream);
    return psvi_cuda_status(context, error, "kept boxes: a kernel launch");
}

static psv_status check_pairs(psv_context *context, const psvi_check_input *input) {
    psv_status status = PSV_OK;
    if (input->found == NULL)
        status = context->ops->fill(context, &input->memory->found, 0, 2 * sizeof input->memory->found);
    if (status != PSV_OK) return status;
    cudaError_t error = psvi_launch_check_pairs(input, context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "check of pairs: a kernel launch");
}

static psv_status compute_bounds(psv_context *context, const psv_bounds_input *input, psv_aabb *boxes) {
    const psvi_bounds_view view = {
        .shapes = psv_buffer_address(input->shapes),
        .points = psv_buffer_address(input->points),
        .shape_index = psv_buffer_address(input->shape_index),
        .poses = psv_buffer_address(input->poses),
        .end_poses = psv_buffer_address(input->end_poses),
        .instance_count = input->instance_count,
        .point_count = input->point_count,
        .shape_count = input->shape_count,
        .margin = input->margin,
    };
    if (view.instance_count == 0) return PSV_OK;
    cudaError_t error = psvi_launch_bounds(&view, boxes, context->info.multiprocessors, context->stream);
    return psvi_cuda_status(context, error, "bounds: a kernel launch");
}

const psvi_collision_ops psvi_collision_ops_cuda = {
    .order_scratch_bytes = order_scratch_bytes,
    .order_pairs = order_pairs,
    .events_scratch_bytes = events_scratch_bytes,
    .diff_pairs = diff_pairs,
    .keep_pairs = keep_pairs,
    .changes_bytes = psvi_changes_bytes_cuda,
    .begin_changes = psvi_begin_changes_cuda,
    .find_changes = psvi_find_changes_cuda,
    .leave_kept_changes = psvi_leave_kept_changes_cuda,
    .carry_changes = psvi_carry_changes_cuda,
    .put_rules = put_rules,
    .exclude_pairs = exclude_pairs,
    .list_partners = list_partners,
    .narrow_boxes = narrow_boxes,
    .name_pairs = name_pairs,
    .merge_kept = merge_kept,
    .subtract_count = subtract_count,
    .check_pairs = check_pairs,
    .compute_bounds = compute_bounds,
};
