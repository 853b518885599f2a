// Launchers of the kernels of a group's finder.
#ifndef PAIRSIEVE_GROUP_KERNELS_H
#define PAIRSIEVE_GROUP_KERNELS_H

#include "../../../sort/distributed/cuda/list_room.h"
#include "../regions.h"

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
} psvi_device_boxes;

// The same of pairs that were found; see psvi_seen_pairs.
typedef struct psvi_device_seen {
    const psv_pair *pairs;
    uint64_t count;
    const psv_aabb *boxes;
    const uint32_t *ids, *worlds;
    uint64_t border_first;
    psvi_regions regions;
    uint32_t rank;
} psvi_device_seen;

psv_status psvi_cuda_sample_boxes(psv_context *context, const psvi_device_boxes *boxes, psvi_box_sample *samples,
                                  uint64_t sample_count);
psv_status psvi_cuda_count_box_lists(psv_context *context, psvi_list_room *room, const psvi_device_boxes *boxes,
                                     uint64_t *counts);
psv_status psvi_cuda_write_box_lists(psv_context *context, psvi_list_room *room, const psvi_device_boxes *boxes,
                                     uint32_t *index);
psv_status psvi_cuda_pack_boxes(psv_context *context, const psvi_device_boxes *boxes, const uint32_t *index,
                                uint64_t count, psv_aabb *packed);
// *kept_count on the device, cleared before.
psv_status psvi_cuda_keep_pairs(psv_context *context, const psvi_device_seen *seen, psv_pair *kept,
                                uint64_t *kept_count);
psv_status psvi_cuda_swap_pairs(psv_context *context, psv_pair *pairs, uint64_t count);
psv_status psvi_cuda_list_pairs(psv_context *context, psvi_list_room *room, const psv_pair *pairs, uint64_t count,
                                uint32_t size, uint32_t *index, uint64_t *counts);

#ifdef __cplusplus
}
#endif
#endif
