// The table that every sorting method fills in, the request that it gets, and the module of a backend for this layer.
// One method per file. NULL entries mean «not supported».
#ifndef PAIRSIEVE_SORT_METHOD_H
#define PAIRSIEVE_SORT_METHOD_H

#include "../../core/context.h"
#include "key_order.h"
#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

// One sort, checked by the dispatcher: every pointer is valid for `count` elements, count >= 2, end_bit > begin_bit.
typedef struct psvi_sort_request {
    void *keys_in;        // clobbered, unless keep_keys_in
    void *keys_out;       // where the sorted keys go: keys_in itself, other memory, or NULL when they are not wanted
    void *values_in;      // NULL with value_bytes 0 or implicit_index. Clobbered when it is not values_out
    void *values_out;     // values_in itself or other memory
    uint32_t value_bytes; // 0, 4 or 8 for this call
    bool implicit_index;  // values are 0, 1, 2, ... (u32): values_in is not read
    bool keep_keys_in;    // keys_in must hold its contents afterwards
    uint64_t count;       // elements; with count_device the most there can be
    const uint64_t *count_device; // NULL, or the count in the backend's memory
    const uint32_t *histograms;   // NULL, or digit counts made by the keys' producer (digit_bits of the method)
    bool likely_sorted;
} psvi_sort_request;

// The count of a request on the CPU, where count_device can be read.
static inline uint64_t psvi_request_count(const psvi_sort_request *request) {
    if (request->count_device == NULL || *request->count_device > request->count) return request->count;
    return *request->count_device;
}

typedef struct psvi_sort_method {
    const char *name;
    const char *description; // one line
    uint32_t digit_bits;     // width of histograms that psv_sort_hint may give; 0: none are taken
    // Writes the reason to `why` and returns false when the method cannot serve the def (its fields are already in
    // range).
    bool (*supports)(const psv_sorter_def *def, char *why, size_t why_bytes);
    uint64_t (*scratch_bytes)(const psv_sorter_def *def);
    psv_status (*create)(psv_sorter *sorter); // optional: one-time setup, sorter->state
    void (*destroy)(psv_sorter *sorter);      // optional
    psv_status (*run)(psv_sorter *sorter, const psvi_sort_request *request);
    // Optional: fills in the counts that the method keeps on the device. May block. Without a route, the method's name
    // is used.
    psv_status (*statistics)(psv_sorter *sorter, psv_sort_statistics *statistics);
    const char *(*choice)(const psv_sorter *sorter, uint64_t count); // optional: the method that "auto" runs for count
} psvi_sort_method;

// Room for moving a given scratch buffer's start up to the next multiple of 256.
#define PSVI_SCRATCH_SLACK 256u

#define PSVI_SORTER_COOKIE 0x70737673u // "psvs"

struct psv_sorter {
    uint32_t cookie;
    psv_context *context;
    psv_sorter_def def; // end_bit resolved; method points to the method's own name
    const psvi_sort_method *method;
    psvi_key_order order;
    void *scratch; // 256-byte aligned, method->scratch_bytes(&def)
    uint64_t scratch_bytes;
    bool owns_scratch;
    psv_sort_hint hint; // for the next call
    void *state;        // the method's own
    psv_sort_statistics
        statistics; // of the last call, where the method counts on the host; route NULL: it does not say
};

// Runs a checked request, with profile phase «sort», and drops the sorter's hint. For the modules above, which know
// their buffers. Unlike the methods it accepts any count and empty bit ranges: those are copies at most.
psv_status psvi_sort_run(psv_sorter *sorter, const psvi_sort_request *request);

// The sorter is not NULL and not destroyed, else PSV_ERROR_ARGUMENT.
psv_status psvi_check_sorter(const psv_sorter *sorter);

// Checks a def without a context: the fields, then whether `backend` has the method and it serves the def. On success
// *resolved is the def with end_bit set and *method its method. The sentence goes to psv_last_error(context).
psv_status psvi_resolve_sorter_def(psv_context *context, psv_backend backend, const psv_sorter_def *def,
                                   psv_sorter_def *resolved, const psvi_sort_method **method);

struct psv_group;
struct psvi_pair_sums;
struct psvi_segment_ops;
struct psvi_word_ops;

// What a backend has for this layer. Where pointers are NULL it does not have that.
typedef struct psvi_sort_module {
    const psvi_sort_method *const *methods; // ending with NULL, in the order in which help texts show them
    // Names of the methods that `auto` chooses between, ending with NULL. The papers' methods are excluded: they exist
    // for comparison, and no card measured has one of them first at any count.
    const char *const *auto_candidates;
    uint64_t auto_largest;                      // count that `auto` measures
    uint64_t largest_count, largest_wide_count; // of a sorter's def.max_count; wide: with keys or values of 8 bytes
    // values_out becomes 0, 1, 2, ... up to the request's count, which may be the device's.
    psv_status (*write_identity)(psv_context *context, const psvi_sort_request *request);
    psv_status (*gather_records)(psv_context *context, const void *source, void *target, uint32_t stride,
                                 const uint32_t *index, uint64_t count);
    psv_status (*check_order)(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                              psv_order_result *result);
    // Adds to *check, which lies in the backend's memory: stream_check.h. NULL: the host sums and compares.
    psv_status (*sum_pairs)(psv_context *context, psvi_key_order order, const void *keys, const void *values,
                            uint32_t value_bytes, uint64_t count, struct psvi_pair_sums *check);
    const struct psvi_segment_ops *segments;              // segment_method.h
    const struct psvi_word_ops *words;                    // word_keys.h
    const struct psvi_group_key_ops *group_keys;          // sort/distributed/group_keys.h
    psv_status (*connect_group)(struct psv_group *group); // NULL: the caller's transport reaches the backend's memory
} psvi_sort_module;

extern const psvi_sort_module psvi_cpu_sorts, psvi_cuda_sorts, psvi_gl_sorts,
    psvi_vulkan_sorts;                                            // of the backends in this build
const psvi_sort_module *psvi_sort_module_of(psv_backend backend); // NULL: the backend sorts nothing in this build
const psvi_sort_method *psvi_find_sort_method(psv_backend backend, const char *name);

#ifdef __cplusplus
}
#endif
#endif
