// Launchers of the kernels of a group's finder.
#ifndef PAIRSIEVE_GROUP_KERNELS_H
#define PAIRSIEVE_GROUP_KERNELS_H

#include "../../../sort/distributed/cuda/list_room.h"
#include "../group_boxes.h"

#ifdef __cplusplus
extern "C" {
#endif

// The boxes of a rank as kernels see them: device addresses.
typedef struct psvi_device_boxes {
    const char *min, *max;
    uint32_t min_stride, max_stride;
    uint64_t count;
    const uint8_t *flags;   // NULL: none
    const uint32_t *worlds; // NULL: all in world 0
    uint32_t world_count;
    psvi_regions regions; // cuts on the device
    // NULL: lists are of all boxes; else of these.
    const uint32_t *some;
    uint64_t some_count;
} psvi_device_boxes;

// Their corners in double precision.
typedef struct psvi_device_corners {
    const char *min, *max;
    uint32_t min_stride, max_stride;
} psvi_device_corners;

// psvi_sifting with device addresses; `counts` are three numbers, cleared before: away, near, disabled.
typedef struct psvi_device_sifting {
    psvi_device_boxes boxes;
    psvi_inner inner;
    uint32_t reach_count;
    psv_aabb reaches[PSVI_REACHES];
    uint32_t *away_bits, *away, *near;
    uint64_t room;
    unsigned long long *counts;
} psvi_device_sifting;

psv_status psvi_cuda_sample_boxes(psv_context *context, const psvi_device_boxes *boxes, psvi_box_sample *samples,
                                  uint64_t sample_count);
psv_status psvi_cuda_count_box_lists(psv_context *context, psvi_list_room *room, const psvi_device_boxes *boxes,
                                     uint64_t *counts);
psv_status psvi_cuda_write_box_lists(psv_context *context, psvi_list_room *room, const psvi_device_boxes *boxes,
                                     uint32_t *index);
psv_status psvi_cuda_pack_boxes(psv_context *context, const psvi_device_boxes *boxes, const uint32_t *index,
                                uint64_t count, psv_aabb *packed);
psv_status psvi_cuda_pack_corners(psv_context *context, const psvi_device_corners *corners, const uint32_t *index,
                                  uint64_t count, psv_aabb64 *packed);
// *kept_count on the device, cleared before.
psv_status psvi_cuda_keep_pairs(psv_context *context, const psvi_seen_pairs *seen, psv_pair *kept,
                                uint64_t *kept_count);
psv_status psvi_cuda_sift_boxes(psv_context *context, const psvi_device_sifting *sifting);
// spans[2 * r + kind] and bounds[6 * r] on the device; bounds are integers in the order of the coordinates.
typedef struct psvi_span {
    uint64_t first, count;
} psvi_span;
psv_status psvi_cuda_bound_boxes(psv_context *context, const psv_aabb *boxes, uint32_t size, const psvi_span *spans,
                                 uint32_t *bounds);
float psvi_cuda_ordered_float(uint32_t ordered);
psv_status psvi_cuda_swap_pairs(psv_context *context, psv_pair *pairs, uint64_t count);
psv_status psvi_cuda_list_pairs(psv_context *context, psvi_list_room *room, const psv_pair *pairs, uint64_t count,
                                uint32_t size, uint32_t *index, uint64_t *counts);

#ifdef __cplusplus
}
#endif
#endif
