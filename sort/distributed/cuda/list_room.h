// Memory for lists on the device, and how their lengths come to the host.
#ifndef PAIRSIEVE_LIST_ROOM_H
#define PAIRSIEVE_LIST_ROOM_H

#include "../group_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_LIST_CHUNK 1024 // items that a warp has
#define PSVI_CODED_LISTS 254
#define PSVI_MOST_LISTS 3072 // counters of a block's warps in 48 KB

typedef struct psvi_list_room {
    uint32_t chunks;
    psvi_room tally; // list_count * chunks numbers, and one more for the end
    psvi_room temporary, lengths;
    psvi_room codes;        // a byte an item; empty with more lists than a byte can number
    uint64_t *host_lengths; // list_count + 1
    uint32_t host_count;
} psvi_list_room;

// PSV_ERROR_UNSUPPORTED for more than PSVI_MOST_LISTS.
psv_status psvi_make_list_room(psv_context *context, psvi_list_room *room, uint64_t count, uint32_t list_count);
void psvi_free_list_room(psv_context *context, psvi_list_room *room);

// Prefix sums over the tally, in place, and the lengths of the lists. Together below 2^32. Blocks.
psv_status psvi_read_list_counts(psv_context *context, psvi_list_room *room, uint32_t list_count, uint64_t *counts);

#ifdef __cplusplus
}
#endif
#endif
