// pairsieve groups: one sort over the memory of many ranks, each with a context of its own.
//
// A rank is a process of an MPI job, or a thread of one process, with its context. All ranks of a group make the same
// calls in the same order («collective»), each with its own data; every collective call Blocks. The result does not
// depend on the number of ranks. An error of one rank, such as a bad argument or too little memory, is the error of the
// call on every rank. Its sentence names the rank. The group can be used again. Groups from an MPI communicator:
// pairsieve/group_mpi.h. Pairs of boxes over a group: pairsieve/group_pairs.h. How the work is spread, and what it
// costs: docs/how/many-gpus.md.
#ifndef PAIRSIEVE_GROUP_H
#define PAIRSIEVE_GROUP_H

#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

// How the ranks of a group reach each other. Both functions are collective, work on host memory and return false when a
// rank could not be reached; the group is then of no more use.
typedef struct psv_group_transport {
    uint32_t rank, size; // this rank, of how many
    // Each rank passes `bytes` bytes; `received` gets size * bytes, in order of ranks.
    bool (*all_gather)(const void *sent, void *received, uint64_t bytes, void *user);
    // Each array holds `size` numbers: the bytes for and from each rank, and where they begin. A rank also sends to
    // itself. Parts that are sent may overlap.
    bool (*exchange)(const void *sent, const uint64_t *sent_first, const uint64_t *sent_bytes, void *received,
                     const uint64_t *received_first, const uint64_t *received_bytes, void *user);
    void (*release)(void *user); // called when the group is destroyed; may be NULL
    void *user;
    // May be NULL: after one of both has returned false, why, for the sentence; NULL: not known.
    const char *(*reason)(void *user);
} psv_group_transport;

typedef struct psv_group psv_group;

// This rank's part of a group. Collective. The context outlives the group. On failure *group is NULL, and `release` was
// not called. Errors: PSV_ERROR_ARGUMENT (NULL, a rank that is not below size, ranks of different backends),
// PSV_ERROR_UNSUPPORTED (an OpenGL context; CUDA contexts in a build without NCCL, or where its library is not found),
// PSV_ERROR_MEMORY, PSV_ERROR_DEVICE (the transport failed). Blocks.
psv_status psv_create_group(psv_context *context, const psv_group_transport *transport, psv_group **group);

// A group of threads of this process: groups[i] is rank i's part, over contexts[i]. Each rank's calls are then made by
// a thread of its own, since they wait for each other; psv_destroy_group is not collective here, and a rank that waits
// for one that was destroyed gets PSV_ERROR_DEVICE. Not collective itself. Errors: those of psv_create_group. Blocks.
psv_status psv_create_local_groups(psv_context *const *contexts, uint32_t count, psv_group **groups);

// Destroy what was made with the group first. NULL is allowed. Blocks.
void psv_destroy_group(psv_group *group);

uint32_t psv_group_rank(const psv_group *group);
uint32_t psv_group_size(const psv_group *group); // 0 for NULL

// --- sort ------------------------------------------------------------------------------------------------------------

// Sorts keys that are spread over all ranks: first the keys of rank 0, then those of rank 1 and so on. The result is
// spread in the same order: each rank gets a part of about the same size (within 5% of the mean from some 20,000 keys a
// rank on). All parts in order of ranks equal the result of psv_sort_pairs on all input in order of ranks, stability
// included.
typedef struct psv_group_sorter psv_group_sorter;

typedef struct psv_group_sorter_def {
    uint32_t cookie;      // set by psv_default_group_sorter_def
    psv_sorter_def local; // method, keys and values; the same on all ranks except max_count: the most keys that this
                          // rank passes in one call. `scratch` is not used
} psv_group_sorter_def;

psv_group_sorter_def psv_default_group_sorter_def(void);

// Collective. Takes memory for the keys of a mean rank; a call with more keys takes more. Errors: those of
// psv_create_sorter, of any rank. Blocks.
psv_status psv_create_group_sorter(psv_group *group, const psv_group_sorter_def *def, psv_group_sorter **sorter);
void psv_destroy_group_sorter(psv_group_sorter *sorter); // NULL is allowed. Blocks

// This rank's part of a result, in memory of the sorter, until its next call.
typedef struct psv_group_sorted {
    psv_buffer keys;
    psv_buffer values; // empty without values
    uint64_t count;
    uint64_t first; // position of its first key in the order of all ranks
    uint64_t total; // keys of all ranks
} psv_group_sorted;

// Sorts the keys of all ranks with the values of def.local.value_bytes. This rank passes `count` of them, which are not
// changed; 0 is allowed. Collective. Errors: those of psv_sort_pairs, of any rank; PSV_ERROR_CAPACITY when a rank would
// get more keys than a sorter can sort; PSV_ERROR_MEMORY. Blocks.
psv_status psv_group_sort_pairs(psv_group_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count,
                                psv_group_sorted *sorted);

// The same for keys alone.
psv_status psv_group_sort_keys(psv_group_sorter *sorter, psv_buffer keys, uint64_t count, psv_group_sorted *sorted);

// Argsort: the values are the positions of the keys in the input of all ranks, u32 or u64 by def.local.value_bytes
// (PSV_ERROR_ARGUMENT for 0). PSV_ERROR_CAPACITY for more than 2^32 keys in all with 4 bytes. Otherwise like
// psv_group_sort_pairs.
psv_status psv_group_sort_index(psv_group_sorter *sorter, psv_buffer keys, uint64_t count, psv_group_sorted *sorted);

// Of the last call of this rank.
typedef struct psv_group_sort_statistics {
    uint64_t sent;    // keys that went to other ranks
    double imbalance; // keys of the fullest rank over the mean
    double split_ms;  // samples, splitters, and the order to send in
    double move_ms;   // to the other ranks and from them
    double sort_ms;   // here
} psv_group_sort_statistics;

psv_status psv_read_group_sort_statistics(const psv_group_sorter *sorter, psv_group_sort_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
