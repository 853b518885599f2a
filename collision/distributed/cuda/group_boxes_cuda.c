// Boxes and pairs of a group's finder on CUDA.
#include <stdlib.h>

#include "../group_boxes.h"
#include "group_kernels.h"

typedef struct boxes_state {
    psvi_list_room boxes, pairs;
    psvi_room cuts, samples, kept_count;
} boxes_state;

static void close_boxes(psv_context *context, void *state) {
    boxes_state *own = state;
    if (own == NULL) return;
    psvi_free_list_room(context, &own->boxes);
    psvi_free_list_room(context, &own->pairs);
    psvi_free_room(context, &own->cuts);
    psvi_free_room(context, &own->samples);
    psvi_free_room(context, &own->kept_count);
    free(own);
}

static psv_status open_boxes(psv_context *context, uint32_t size, void **state) {
    boxes_state *own = calloc(1, sizeof *own);
    *state = own;
    if (own == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a finder of %u ranks", size);
    psv_status status = psvi_make_room(context, &own->cuts, size * sizeof(psvi_cut), "cuts");
    return status == PSV_OK ? psvi_make_room(context, &own->kept_count, sizeof(uint64_t), "a count") : status;
}

// The view for kernels, with the cuts that are on the device.
static psvi_device_boxes device_view(const boxes_state *own, const psvi_box_view *view, uint32_t world_count,
                                     uint32_t size) {
    return (psvi_device_boxes){view->min,        view->max,   view->min_stride,
                               view->max_stride, view->count, view->flags,
                               view->worlds,     world_count, {size, own == NULL ? NULL : own->cuts.memory}};
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
    const psvi_device_boxes view = device_view(own, boxes->view, boxes->world_count, boxes->regions.size);
    const psv_status status = put_cuts(context, own, boxes->regions);
    return status == PSV_OK ? psvi_cuda_count_box_lists(context, &own->boxes, &view, counts) : status;
}

static psv_status write_lists(psv_context *context, void *state, const psvi_group_boxes *boxes, uint32_t *index) {
    boxes_state *own = state;
    const psvi_device_boxes view = device_view(own, boxes->view, boxes->world_count, boxes->regions.size);
    return psvi_cuda_write_box_lists(context, &own->boxes, &view, index);
}

static psv_status pack_boxes(psv_context *context, const psvi_box_view *view, const uint32_t *index, uint64_t count,
                             psv_aabb *packed) {
    const psvi_device_boxes boxes = device_view(NULL, view, 0, 0);
    return psvi_cuda_pack_boxes(context, &boxes, index, count, packed);
}

static psv_status keep_pairs(psv_context *context, void *state, const psvi_seen_pairs *seen, psv_pair *kept,
                             uint64_t *kept_count) {
    boxes_state *own = state;
    const psvi_device_seen view = {seen->pairs,
                                   seen->count,
                                   seen->boxes,
                                   seen->ids,
                                   seen->worlds,
                                   seen->border_first,
                                   {seen->regions.size, own->cuts.memory},
                                   seen->rank};
    psv_status status = context->ops->fill(context, own->kept_count.memory, 0, sizeof *kept_count);
    if (status == PSV_OK) status = psvi_cuda_keep_pairs(context, &view, kept, own->kept_count.memory);
    if (status == PSV_OK)
        status =
            context->ops->copy(context, kept_count, own->kept_count.memory, sizeof *kept_count, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

static psv_status list_pairs(psv_context *context, void *state, const psv_pair *pairs, uint64_t count, uint32_t size,
                             uint32_t *index, uint64_t *counts) {
    return psvi_cuda_list_pairs(context, &((boxes_state *)state)->pairs, pairs, count, size, index, counts);
}

const psvi_group_box_ops psvi_cuda_group_box_ops = {
    open_boxes, close_boxes, sample_boxes, count_lists,          write_lists,
    pack_boxes, NULL,        keep_pairs,   psvi_cuda_swap_pairs, list_pairs,
};
