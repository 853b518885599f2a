// Internals of a group, shared by distributed sorters and finders.
#ifndef PAIRSIEVE_GROUP_INTERNAL_H
#define PAIRSIEVE_GROUP_INTERNAL_H

#include "../../core/context.h"
#include "../../core/host_device.h"
#include "pairsieve/group.h"

#define PSVI_GROUP_COOKIE 0x70737667u // "psvg"
#define PSVI_GROUP_SENTENCE 240       // of an error, with its end
#define PSVI_GROUP_PAYLOAD 64         // bytes of a gather, beside 16 for each rank

// Samples for each rank, from which splitters follow. The size of a part then deviates by 1.1% (the root of 1 /
// samples); five times that is very rare.
#define PSVI_GROUP_SAMPLES 8192

typedef struct psvi_nccl psvi_nccl;

struct psv_group {
    uint32_t cookie;
    uint32_t rank, size;
    psv_context *context;
    psv_group_transport transport;
    bool broken;       // the transport failed: nothing more is tried
    psvi_nccl *nccl;   // CUDA
    uint64_t largest;  // bytes of a gather's payload at most
    char *records;     // size + 1 records: this rank's, then those of all
    uint64_t *lengths; // 4 * size: bytes and places of an exchange
};

#ifdef __cplusplus
extern "C" {
#endif

// Which call a rank is in: separates ranks in different calls from ranks that disagree.
typedef enum psvi_group_call {
    PSVI_CALL_CREATE = 1,
    PSVI_CALL_CREATE_NCCL,
    PSVI_CALL_CREATE_SORTER,
    PSVI_CALL_CREATE_FINDER,
    PSVI_CALL_SORT_COUNTS,
    PSVI_CALL_SORT_ROOM,
    PSVI_CALL_SORT_PARTS,
    PSVI_CALL_SORT_DONE,
    PSVI_CALL_PAIRS_COUNTS,
    PSVI_CALL_PAIRS_PARTS,
    PSVI_CALL_PAIRS_ROOM,
    PSVI_CALL_PAIRS_DONE,
    PSVI_CALL_EVENTS,
    PSVI_CALL_RULES
} psvi_group_call;

psv_status psvi_check_group(const psv_group *group);

// Every rank passes its status and `bytes` bytes (at most group->largest); `all` gets the bytes of all ranks. The
// status is PSV_OK on all ranks, or an error on all: a rank's own, or that of the first rank with an error.
psv_status psvi_group_gather(psv_group *group, psvi_group_call call, psv_status mine, const void *sent, void *all,
                             uint64_t bytes);

// The same without bytes: whether all fare well.
static inline psv_status psvi_group_agree(psv_group *group, psvi_group_call call, psv_status mine) {
    return psvi_group_gather(group, call, mine, NULL, NULL, 0);
}

// One array that is moved between the ranks: elements of `unit` bytes, how many for and from each rank and where they
// begin. In host memory, or in that of the backend.
typedef struct psvi_moved {
    const void *sent;
    void *received;
    uint32_t unit;
    const uint64_t *sent_first, *sent_count, *received_first, *received_count; // `size` of each
} psvi_moved;

// PSV_ERROR_DEVICE when it failed.
psv_status psvi_group_move_host(psv_group *group, const psvi_moved *moved);
psv_status psvi_group_move(psv_group *group, const psvi_moved *list, uint32_t count);

// Arrays of `unit` bytes an element from all ranks into one, on the host: counts[r] of rank r, and their sum at its
// end.
psv_status psvi_group_collect_host(psv_group *group, const void *sent, void *all, uint32_t unit,
                                   const uint64_t *counts);

// Memory of the context that grows by a quarter more than is needed, so that slow growth is rare.
typedef struct psvi_room {
    void *memory;
    uint64_t bytes;
} psvi_room;

psv_status psvi_make_room(psv_context *context, psvi_room *room, uint64_t bytes, const char *what);
void psvi_free_room(psv_context *context, psvi_room *room);

static inline double psvi_group_now_ms(void) { return 1e3 * psvi_seconds_now(); }

// From here on each rank may give any number of keys in a call.
void psvi_lift_group_sorter_limit(psv_group_sorter *sorter);

// Sum over all ranks, and over the ranks before `rank`.
static inline uint64_t psvi_sum_before(const uint64_t *counts, uint32_t rank) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < rank; ++r)
        sum += counts[r];
    return sum;
}

// Samples that rank r takes of its counts[r] elements, when all ranks together take about `wanted`: all of them when
// there are no more than that.
uint64_t psvi_group_samples(const uint64_t *counts, uint32_t size, uint32_t rank, uint64_t wanted);

// The element that sample `i` of `samples` shows, of `count`: one of each stretch of equal length, at random.
PSVI_HD uint64_t psvi_sample_place(uint64_t i, uint64_t samples, uint64_t count) {
    if (samples >= count) return i;
    const double stretch = (double)count / (double)samples;
    uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9ull;
    const uint64_t place = (uint64_t)(((double)i + (double)(hash >> 40) * (1.0 / 16777216.0)) * stretch);
    return place < count ? place : count - 1;
}

#ifdef __cplusplus
}
#endif
#endif
