// The services around the broad-phase methods in compute shaders: order of pairs, events, bounds of shapes.
#include <string.h>

#include "../../sort/gpu/gpu_methods.h"
#include "../src/pair_rules.h"
#include "gpu_frame.h"

#define TILE 256u

static uint64_t order_scratch_bytes(uint64_t capacity) {
    (void)capacity;
    return 256; // the clamped count
}

static psv_status pack(psv_context *context, psv_pair *pairs, const uint64_t *count, uint64_t capacity, void *clamped,
                       uint32_t bits, bool unpack) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_pack_pairs,
        .defines = unpack ? "#define UNPACK 1\n" : "#define UNPACK 0\n",
        .blocks = {{pairs, capacity * sizeof *pairs}, {count, 8}, {clamped, 8}},
        .params = {(uint32_t)capacity, bits},
        .groups = (capacity + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

static psv_status order_pairs(psv_context *context, void *sorter, psv_pair *pairs, const uint64_t *count,
                              uint64_t capacity, void *scratch) {
    psv_sorter *sort = sorter;
    const uint32_t bits = sort->def.end_bit / 2;
    if (capacity < 2) return PSV_OK;
    psv_status status = pack(context, pairs, count, capacity, scratch, bits, false);
    const psvi_sort_request request = {.keys_in = pairs, .keys_out = pairs, .count = capacity, .count_device = scratch};
    if (status == PSV_OK) status = psvi_sort_run(sort, &request);
    return status == PSV_OK ? pack(context, pairs, count, capacity, scratch, bits, true) : status;
}

typedef struct diff_memory {
    char *state, *totals, *table;
    uint32_t tiles;
} diff_memory;

static uint64_t layout(char *scratch, uint64_t capacity, diff_memory *memory) {
    psvi_carver carver = {scratch, 0};
    memory->tiles = (uint32_t)((capacity + TILE - 1) / TILE);
    memory->state = psvi_carve(&carver, PSVI_GPU_STATE_BYTES);
    memory->totals = psvi_carve(&carver, 8);
    memory->table = psvi_carve(&carver, (uint64_t)8 * memory->tiles);
    return carver.used;
}

static uint64_t events_scratch_bytes(uint64_t capacity) {
    diff_memory memory;
    return layout(NULL, capacity, &memory);
}

static psv_status diff_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count,
                             const psv_pair *before, const uint64_t *before_count, uint64_t capacity, psv_pair *begin,
                             uint64_t *begin_count, psv_pair *end, uint64_t *end_count, void *scratch) {
    diff_memory memory;
    const uint64_t bytes = capacity * sizeof *now;
    (void)layout(scratch, capacity, &memory);
    const uint64_t table_bytes = (uint64_t)8 * memory.tiles;
    psvi_gpu_call call = {
        .source = &psvi_glsl_diff_mark,
        .blocks = {{now, bytes},
                   {before, bytes},
                   {now_count, 8},
                   {before_count, 8},
                   {memory.state, 8},
                   {memory.table, table_bytes}},
        .params = {memory.tiles, (uint32_t)capacity},
        .groups = (uint64_t)2 * memory.tiles,
    };
    psv_status status = psvi_gpu_run(context, &call);
    if (status == PSV_OK)
        status = psvi_gpu_scan(context, memory.state, memory.table, memory.totals, 2, memory.tiles, TILE);
    call.source = &psvi_glsl_diff_move;
    call.groups = memory.tiles;
    call.blocks[4] = (psvi_gpu_block){memory.totals, 8};
    for (uint32_t direction = 0; direction < 2 && status == PSV_OK; ++direction) {
        call.params[2] = direction;
        call.blocks[6] = (psvi_gpu_block){direction == 0 ? begin : end, bytes};
        call.blocks[7] = (psvi_gpu_block){direction == 0 ? begin_count : end_count, 8};
        status = psvi_gpu_run(context, &call);
    }
    return status;
}

static psv_status keep_pairs(psv_context *context, const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                             uint64_t *before_count, uint64_t capacity) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_keep_pairs,
        .blocks = {{now, capacity * sizeof *now}, {now_count, 8}, {before, capacity * sizeof *now}, {before_count, 8}},
        .params = {(uint32_t)capacity},
        .groups = (capacity + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

// The table is the kernels' own, see excluded_pairs.glsl; its input is as pair_rules.h says.
static psv_status exclude_pairs(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_bucket *table,
                                uint64_t last_bucket) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_exclude_pairs,
        .blocks = {{pairs, count * sizeof *pairs}, {table, (last_bucket + 1) * (sizeof *table + 4)}},
        .params = {(uint32_t)count, (uint32_t)last_bucket},
        .groups = (count + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

static psv_status narrow_boxes(psv_context *context, const psvi_rule_side *side, const double *origin, uint64_t first,
                               const psvi_box_view *view, psv_aabb *boxes) {
    const uint64_t count = view->room - first, corner = side->doubles ? 24 : 12;
    const char *min = side->min + first * side->min_stride, *max = side->max + first * side->max_stride;
    psvi_gpu_call call = {
        .source = &psvi_glsl_narrow_boxes,
        .blocks = {{boxes + first, count * sizeof *boxes},
                   {min, (count - 1) * side->min_stride + corner},
                   {max, (count - 1) * side->max_stride + corner}},
        .params = {(uint32_t)count, side->min_stride / 4, side->max_stride / 4, side->doubles},
        .groups = (count + 127) / 128,
    };
    memcpy(&call.params[4], origin, 3 * sizeof *origin);
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    const psv_status status = psvi_gpu_run(context, &call);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    return status;
}

// All that lies behind an address in its buffer, as far as a storage block reaches.
static psvi_gpu_block rest_of_buffer(psv_context *context, const void *address) {
    if (address == NULL) return (psvi_gpu_block){NULL, 0};
    return (psvi_gpu_block){address, psvi_gpu_rest_of_buffer(context, address)};
}

static psv_status name_pairs(psv_context *context, const uint32_t *a_ids, const uint32_t *b_ids, bool between,
                             psv_pair *pairs, const uint64_t *count, uint64_t capacity) {
    const psvi_gpu_call call = {
        .source = &psvi_glsl_name_pairs,
        .blocks = {{pairs, capacity * sizeof *pairs},
                   {count, 8},
                   rest_of_buffer(context, a_ids),
                   rest_of_buffer(context, b_ids)},
        .params = {(uint32_t)capacity, (a_ids != NULL ? 1u : 0u) | (b_ids != NULL ? 2u : 0u) | (between ? 4u : 0u)},
        .groups = (capacity + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

static psv_status compute_bounds(psv_context *context, const psv_bounds_input *input, psv_aabb *boxes) {
    const uint64_t count = input->instance_count;
    const void *index = psvi_buffer_address(input->shape_index), *end_poses = psvi_buffer_address(input->end_poses);
    psvi_gpu_call call = {
        .source = &psvi_glsl_shape_bounds,
        .defines = "#define POINT_SETS 0\n",
        .blocks = {{psvi_buffer_address(input->shapes), input->shape_count * sizeof(psv_bounds_shape)},
                   {psvi_buffer_address(input->points), 12 * input->point_count},
                   {index, 4 * count},
                   {psvi_buffer_address(input->poses), count * sizeof(psv_pose)},
                   {end_poses, count * sizeof(psv_pose)},
                   {boxes, count * sizeof(psv_aabb)}},
        .params = {(uint32_t)count, input->shape_count, (uint32_t)input->point_count,
                   (index != NULL ? 1u : 0u) | (end_poses != NULL ? 2u : 0u)},
        .groups = (count + 127) / 128,
    };
    memcpy(&call.params[4], &input->margin, sizeof input->margin);
    psv_status status = psvi_gpu_run(context, &call);
    if (status != PSV_OK || input->point_count == 0) return status;
    call.defines = "#define POINT_SETS 1\n"; // point sets that are long are left to groups
    call.groups = count;
    return psvi_gpu_run(context, &call);
}

const psvi_collision_ops psvi_collision_ops_gpu = {
    .order_scratch_bytes = order_scratch_bytes,
    .order_pairs = order_pairs,
    .events_scratch_bytes = events_scratch_bytes,
    .diff_pairs = diff_pairs,
    .keep_pairs = keep_pairs,
    .exclude_pairs = exclude_pairs,
    .narrow_boxes = narrow_boxes,
    .name_pairs = name_pairs,
    .compute_bounds = compute_bounds,
};
