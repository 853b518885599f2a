// The list of bad boxes of a frame, in order, in the caller's memory alone.
#include "finder.h"

#define BLOCK_INDICES 2048u // fetched at once

static void swap(uint32_t *a, uint32_t *b) {
    const uint32_t held = *a;
    *a = *b;
    *b = held;
}

// Lets heap[0] sink to its place in a heap whose largest index is at the top.
static void sink(uint32_t *heap, uint64_t count) {
    for (uint64_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child]) ++child;
        if (heap[at] >= heap[child]) return;
        swap(&heap[at], &heap[child]);
    }
}

static void rise(uint32_t *heap, uint64_t at) {
    for (; at > 0 && heap[at] > heap[(at - 1) / 2]; at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

// The frame's list is in no order, so all of it passes through; the heap keeps the `capacity` smallest.
static psv_status gather_smallest(psv_pair_finder *finder, uint64_t bad_count, uint32_t *heap, uint64_t capacity) {
    psv_context *context = finder->context;
    uint32_t block[BLOCK_INDICES];
    uint64_t held = 0;
    for (uint64_t first = 0; first < bad_count; first += BLOCK_INDICES) {
        const uint64_t count = bad_count - first < BLOCK_INDICES ? bad_count - first : BLOCK_INDICES;
        psv_status status =
            context->ops->copy(context, block, finder->bad_boxes + first, count * sizeof *block, PSVI_COPY_DOWNLOAD);
        if (status == PSV_OK) status = context->ops->synchronize(context);
        if (status != PSV_OK) return status;
        for (uint64_t i = 0; i < count; ++i) {
            if (held < capacity) {
                heap[held] = block[i];
                rise(heap, held++);
            } else if (block[i] < heap[0]) {
                heap[0] = block[i];
                sink(heap, held);
            }
        }
    }
    while (held > 1) { // the largest to the end, again and again
        swap(&heap[0], &heap[--held]);
        sink(heap, held);
    }
    return PSV_OK;
}

psv_status psv_read_bad_boxes(psv_pair_finder *finder, uint32_t *indices, uint64_t capacity, uint64_t *count) {
    psvi_frame_result result;
    psv_status status = psvi_begin_read(finder, indices, "indices", capacity, &result);
    if (status != PSV_OK) return status;
    if (count != NULL) *count = result.bad_count;
    if (capacity > 0) status = gather_smallest(finder, result.bad_count, indices, capacity);
    if (status != PSV_OK || result.bad_count <= capacity) return status;
    return psvi_fail(finder->context, PSV_ERROR_CAPACITY, "capacity is %llu; %llu boxes are bad",
                     (unsigned long long)capacity, (unsigned long long)result.bad_count);
}
