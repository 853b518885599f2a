// Boxes and pairs of a group's finder on CUDA.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sort/distributed/cuda/side_stream.h"
#include "../group_boxes.h"
#include "group_kernels.h"

typedef struct boxes_state {
    psvi_list_room boxes, pairs;
    psvi_room cuts, samples, counts, spans, bounds;
    psvi_side_stream beside; // the finder of this rank
} boxes_state;

static void close_boxes(psv_context *context, void *state) {
    boxes_state *own = state;
    if (own == NULL) return;
    psvi_free_list_room(context, &own->boxes);
    psvi_free_list_room(context, &own->pairs);
    psvi_free_room(context, &own->cuts);
    psvi_free_room(context, &own->samples);
    psvi_free_room(context, &own->counts);
    psvi_free_room(context, &own->spans);
    psvi_free_room(context, &own->bounds);
    psvi_close_side(&own->beside);
    free(own);
}

static psv_status open_boxes(psv_context *context, uint32_t size, void **state) {
    boxes_state *own = calloc(1, sizeof *own);
    *state = own;
    if (own == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a finder of %u ranks", size);
    psv_status status = psvi_make_room(context, &own->cuts, size * sizeof(psvi_cut), "cuts");
    return status == PSV_OK ? psvi_make_room(context, &own->counts, sizeof(psvi_sifted), "counts") : status;
}

// The view for kernels, with the cuts that are on the device.
static psvi_device_boxes device_view(const boxes_state *own, const psvi_box_view *view, uint32_t world_count,
                                     uint32_t size) {
    return (psvi_device_boxes){view->min,
                               view->max,
                               view->min_stride,
                               view->max_stride,
                               view->count,
                               view->flags,
                               view->worlds,
                               world_count,
                               {size, own == NULL ? NULL : own->cuts.memory},
                               NULL,
                               0};
}

// The same for lists, which may be of some of them.
static psvi_device_boxes listed_view(const boxes_state *own, const psvi_group_boxes *boxes) {
    psvi_device_boxes view = device_view(own, boxes->view, boxes->world_count, boxes->regions.size);
    view.some = boxes->some;
    view.some_count = boxes->some_count;
    return view;
}

static psv_status put_cuts(psv_context *context, const boxes_state *own, psvi_regions regions) {
    if (regions.size < 2) return PSV_OK;
    return context->ops->copy(context, own->cuts.memory, regions.cuts, (regions.size - 1) * sizeof(psvi_cut),
                              PSVI_COPY_UPLOAD);
}

static psv_status sample_boxes(psv_context *context, void *state, const psvi_group_boxes *boxes,
                               psvi_box_sample *samples, uint64_t sample_count) {
    boxes_state *own = state;
    const uint64_t bytes = sample_count * sizeof *samples;
    const psvi_device_boxes view = device_view(own, boxes->view, boxes->world_count, boxes->regions.size);
    psv_status status = psvi_make_room(context, &own->samples, bytes, "samples");
    if (status == PSV_OK) status = psvi_cuda_sample_boxes(context, &view, own->samples.memory, sample_count);
    if (status == PSV_OK) status = context->ops->copy(context, samples, own->samples.memory, bytes, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

static psv_status count_lists(psv_context *context, void *state, const psvi_group_boxes *boxes, uint64_t *counts) {
    boxes_state *own = state;
    const psvi_device_boxes view = listed_view(own, boxes);
    const psv_status status = put_cuts(context, own, boxes->regions);
    return status == PSV_OK ? psvi_cuda_count_box_lists(context, &own->boxes, &view, counts) : status;
}

static psv_status write_lists(psv_context *context, void *state, const psvi_group_boxes *boxes, uint32_t *index) {
    boxes_state *own = state;
    const psvi_device_boxes view = listed_view(own, boxes);
    return psvi_cuda_write_box_lists(context, &own->boxes, &view, index);
}

static psv_status pack_boxes(psv_context *context, const psvi_box_view *view, const uint32_t *index, uint64_t count,
                             psv_aabb *packed) {
    const psvi_device_boxes boxes = device_view(NULL, view, 0, 0);
    return psvi_cuda_pack_boxes(context, &boxes, index, count, packed);
}

static psv_status pack_corners(psv_context *context, const psvi_rule_side *side, const uint32_t *index, uint64_t count,
                               psv_aabb64 *packed) {
    const psvi_device_corners corners = {side->min, side->max, side->min_stride, side->max_stride};
    return psvi_cuda_pack_corners(context, &corners, index, count, packed);
}

static psv_status download(psv_context *context, void *target, const void *source, uint64_t bytes) {
    const psv_status status = context->ops->copy(context, target, source, bytes, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

static psv_status keep_pairs(psv_context *context, void *state, const psvi_seen_pairs *seen, uint32_t parts,
                             psv_pair *kept, uint64_t *kept_count) {
    boxes_state *own = state;
    psv_status status = context->ops->fill(context, own->counts.memory, 0, sizeof *kept_count);
    for (uint32_t p = 0; p < parts && status == PSV_OK; ++p) {
        psvi_seen_pairs there = seen[p];
        there.regions.cuts = own->cuts.memory;
        if (there.count > 0) status = psvi_cuda_keep_pairs(context, &there, kept, own->counts.memory);
    }
    return status == PSV_OK ? download(context, kept_count, own->counts.memory, sizeof *kept_count) : status;
}

// --- boxes that are not copied ---------------------------------------------------------------------------------------

static psv_status sift_boxes(psv_context *context, void *state, const psvi_sifting *sifting, psvi_sifted *sifted) {
    boxes_state *own = state;
    psvi_device_sifting there = {
        .boxes = device_view(own, sifting->boxes->view, sifting->boxes->world_count, sifting->boxes->regions.size),
        .inner = sifting->inner,
        .reach_count = sifting->reach_count,
        .away_bits = sifting->away_bits,
        .away = sifting->away,
        .near = sifting->near,
        .room = sifting->room,
        .counts = own->counts.memory};
    memcpy(there.reaches, sifting->reaches, sizeof there.reaches);
    psv_status status = context->ops->fill(context, own->counts.memory, 0, sizeof *sifted);
    if (status == PSV_OK) status = psvi_cuda_sift_boxes(context, &there);
    return status == PSV_OK ? download(context, sifted, own->counts.memory, sizeof *sifted) : status;
}

static psv_status bound_boxes(psv_context *context, void *state, const psv_aabb *boxes, uint32_t size,
                              uint64_t *const firsts[2], uint64_t *const counts[2], psv_aabb *bounds) {
    boxes_state *own = state;
    const uint64_t span_bytes = 2 * size * sizeof(psvi_span), bound_bytes = 6 * size * sizeof(uint32_t);
    psvi_span *spans = malloc(span_bytes);
    uint32_t *ordered = malloc(bound_bytes);
    psv_status status = psvi_make_room(context, &own->spans, span_bytes, "boxes of ranks");
    if (status == PSV_OK) status = psvi_make_room(context, &own->bounds, bound_bytes, "bounds of ranks");
    if (status == PSV_OK && (spans == NULL || ordered == NULL))
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the bounds of %u ranks", size);
    for (uint32_t r = 0; r < size && status == PSV_OK; ++r)
        for (uint32_t kind = 0; kind < 2; ++kind)
            spans[2 * r + kind] = (psvi_span){firsts[kind][r], counts[kind][r]};
    if (status == PSV_OK) status = context->ops->copy(context, own->spans.memory, spans, span_bytes, PSVI_COPY_UPLOAD);
    if (status == PSV_OK) status = psvi_cuda_bound_boxes(context, boxes, size, own->spans.memory, own->bounds.memory);
    if (status == PSV_OK) status = download(context, ordered, own->bounds.memory, bound_bytes);
    for (uint32_t r = 0; r < size && status == PSV_OK; ++r)
        for (int axis = 0; axis < 3; ++axis) {
            const bool there = ordered[6 * r] <= ordered[6 * r + 3];
            bounds[r].min[axis] = there ? psvi_cuda_ordered_float(ordered[6 * r + axis]) : INFINITY;
            bounds[r].max[axis] = there ? psvi_cuda_ordered_float(ordered[6 * r + 3 + axis]) : -INFINITY;
        }
    free(spans);
    free(ordered);
    return status;
}

static psv_status open_side(psv_context *context, void *state) {
    return psvi_open_side(context, &((boxes_state *)state)->beside);
}

static void fork_stream(psv_context *context, void *state) {
    psvi_enter_side(context, &((boxes_state *)state)->beside);
}

static psv_status join_streams(psv_context *context, void *state) {
    psvi_side_stream *beside = &((boxes_state *)state)->beside;
    const psv_status status = psvi_leave_side(context, beside);
    return status == PSV_OK ? psvi_wait_side(context, beside) : status;
}

static psv_status list_pairs(psv_context *context, void *state, const psv_pair *pairs, uint64_t count, uint32_t size,
                             uint32_t *index, uint64_t *counts) {
    return psvi_cuda_list_pairs(context, &((boxes_state *)state)->pairs, pairs, count, size, index, counts);
}

const psvi_group_box_ops psvi_cuda_group_box_ops = {
    open_boxes,           close_boxes, sample_boxes, count_lists, write_lists, pack_boxes,  pack_corners, keep_pairs,
    psvi_cuda_swap_pairs, list_pairs,  sift_boxes,   bound_boxes, open_side,   fork_stream, join_streams,
};
