// pairsieve sort: stable key-index radix and hybrid sorts on the CPU, CUDA, OpenGL and Vulkan.
//
// Every method is stable, so every method gives the same bytes. Keys are compared as their type says, in
// [begin_bit, end_bit) of the order-preserving unsigned form of the key («transformed key»: the sign bit of signed
// integers is flipped; floats as in Herf 2001; descending inverts all bits). -0 and +0 are equal and keep their order.
// NaN: see psv_nan_policy. No call allocates after psv_create_sorter, and on CUDA every call can be captured in a graph
// and none synchronizes.
#ifndef PAIRSIEVE_SORT_H
#define PAIRSIEVE_SORT_H

#include "pairsieve/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum psv_key_type {
    PSV_KEY_U32 = 0,
    PSV_KEY_I32 = 1,
    PSV_KEY_F32 = 2,
    PSV_KEY_U64 = 3,
    PSV_KEY_I64 = 4,
    PSV_KEY_F64 = 5,
    // On the CPU and on CUDA. Sorts work through words of 32 or 64 bits that stand for the keys, which takes memory for
    // those words (psv_sorter_scratch_bytes). psv_check_order, sorts of files and sorts of groups do not serve them.
    PSV_KEY_U8 = 6,
    PSV_KEY_I8 = 7,
    PSV_KEY_U16 = 8,
    PSV_KEY_I16 = 9,
    PSV_KEY_F16 = 10,    // IEEE binary16
    PSV_KEY_BF16 = 11,   // the upper half of an f32
    PSV_KEY_U128 = 12,   // two u64 words, the lower word first; aligned to 8 bytes
    PSV_KEY_I128 = 13,   // the same, two's complement
    PSV_KEY_BYTES16 = 14 // 16 bytes, compared as memcmp does: strings of up to 16 bytes that end with zeros. Aligned to
                         // 8. As a number for bit ranges: byte 0 is the most significant
} psv_key_type;

const char *psv_key_type_name(psv_key_type type);                    // "u32", ...
psv_status psv_parse_key_type(const char *name, psv_key_type *type); // PSV_ERROR_ARGUMENT leaves *type as it was
uint32_t psv_key_type_bytes(psv_key_type type);                      // 1, 2, 4, 8 or 16

typedef enum psv_nan_policy {
    PSV_NAN_LAST = 0, // every NaN after every number, ascending and descending, equal among each other (stable)
    PSV_NAN_BITWISE =
        1 // by the IEEE total order of the bits: negative NaN first, positive NaN last; -0 and +0 still equal
} psv_nan_policy;

typedef enum psv_order_check {
    PSV_ORDER_CHECK_OFF = 0,
    PSV_ORDER_CHECK_FULL = 1,      // the whole input, before each pass
    PSV_ORDER_CHECK_QUICK_FULL = 2 // a prefix first; the rest only when the prefix is in order (Ha et al. 2009, 4.2)
} psv_order_check;

// Options of `radix4` (Ha, Krueger, Silva 2009). Ignored by other methods.
typedef struct psv_radix4_options {
    uint32_t digit_bits;         // 1, 2 (default) or 3 (8-way)
    bool scattered_mapping;      // false (default): coalesced cluster-wise mapping; true: element by element
    psv_order_check order_check; // default PSV_ORDER_CHECK_QUICK_FULL
    bool separate_positions; // with scattered_mapping: a kernel of its own writes every element's position to memory,
                             // as before the paper merged it into the mapping (4.5); default false
} psv_radix4_options;

// Options of `hybrid` (Sintorn & Assarsson 2007). Ignored by other methods.
typedef struct psv_hybrid_options {
    uint32_t buckets; // sublists made by the bucket sort, 2 to 8192; default 1024
    uint32_t
        refine_steps; // pivot refinements at most, 1 to 8; default 1. More are taken only when buckets are too uneven
    bool shuffle;     // random shuffle of the input first, for ordered input; default false
} psv_hybrid_options;

// A sorter: a method with its scratch memory for a maximal count. Created once, used every frame. On CUDA `radix`
// remembers the distribution of the last call's keys (32K to 5M keys). From about 1M 32-bit keys on it remembers
// whether they were sorted or nearly sorted. A call with similar keys is faster than the first call, or than a call
// after very different keys. The result never depends on this memory. Above 1.1M keys, sort once before a graph is
// captured: the graph keeps the kernels that the sorter chose last.
typedef struct psv_sorter psv_sorter;

typedef struct psv_sorter_def {
    uint32_t cookie;       // set by psv_default_sorter_def
    const char *method;    // name, see psv_sort_method_name; default "radix"
    psv_key_type key_type; // default PSV_KEY_U32
    uint32_t value_bytes;  // the largest value size to be sorted: 0 (keys only), 4 (default) or 8
    uint64_t max_count; // largest count of any call, 1 or more; at most 2^32-1, on CUDA 2^31 for 8-byte keys or values
    bool descending;    // default false
    psv_nan_policy nan_policy; // default PSV_NAN_LAST
    uint32_t begin_bit;        // default 0
    uint32_t end_bit;          // default 0: all bits of the key. Otherwise begin_bit <= end_bit <= bits of the key
    bool order_check;          // radix: exit early on sorted and nearly sorted input; default true
    psv_buffer scratch;        // memory to use, psv_sorter_scratch_bytes at least; empty (default): of the context
    psv_radix4_options radix4;
    psv_hybrid_options hybrid;
} psv_sorter_def;

psv_sorter_def psv_default_sorter_def(void);

// Method names of a backend, "auto" not counted: "radix", "radix4", "split", "hybrid", "bitonic", "merge", "cub",
// "qsort". A name listed here works on this build. NULL past the end.
const char *psv_sort_method_name(psv_backend backend, uint32_t index);

// One line about a method, for help texts. NULL for an unknown name.
const char *psv_sort_method_description(psv_backend backend, const char *method);

// Scratch bytes that a sorter of this def needs; needs no context and no device. 0 when the def is not valid for it.
uint64_t psv_sorter_scratch_bytes(psv_backend backend, const psv_sorter_def *def);

// Errors: PSV_ERROR_ARGUMENT (a field out of range), PSV_ERROR_UNSUPPORTED (method not in this build or not for these
// keys; the sentence lists those that are), PSV_ERROR_CAPACITY (scratch given too small), PSV_ERROR_MEMORY (the bytes;
// of "auto" also when no method could be measured), PSV_ERROR_DEVICE. "auto"
// calibrates once per device, in under two seconds, and keeps the result in the user's cache folder. Blocks.
psv_status psv_create_sorter(psv_context *context, const psv_sorter_def *def, psv_sorter **sorter);

// NULL is allowed. Blocks (frees scratch memory).
void psv_destroy_sorter(psv_sorter *sorter);

// Method that the sorter runs for `count` keys: never "auto".
const char *psv_sorter_method(const psv_sorter *sorter, uint64_t count);

// A choice of "auto" for a def (whose method is ignored, but must be a known name): `method` from `count` keys on.
typedef struct psv_sort_choice {
    uint64_t count;
    const char *method;
} psv_sort_choice;

// Writes the choices of "auto" on this device in order of count; *choice_count is their number, at most 12. Calibrates
// first if that was not done yet, as psv_create_sorter does. Blocks. Errors: those of psv_create_sorter, and
// PSV_ERROR_CAPACITY when there are more than `capacity`.
psv_status psv_read_sort_choices(psv_context *context, const psv_sorter_def *def, psv_sort_choice *choices,
                                 uint32_t capacity, uint32_t *choice_count);

// Sorts `count` keys in place, with the values of def.value_bytes. count < 2 or begin_bit == end_bit is a no-op.
// keys: count * key bytes, aligned to the key (to 8 bytes at most); values: count * value_bytes, aligned to the value.
// Errors: PSV_ERROR_ARGUMENT (buffer too small, misaligned, NULL, or not on the context's device), PSV_ERROR_CAPACITY
// (count over max_count), PSV_ERROR_DEVICE.
psv_status psv_sort_pairs(psv_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count);

// Sorts `count` keys alone, in place. Works on a sorter of any value_bytes. Errors: those of psv_sort_pairs.
psv_status psv_sort_keys(psv_sorter *sorter, psv_buffer keys, uint64_t count);

// Contents of the keys buffer after psv_sort_index.
typedef enum psv_index_keys {
    PSV_INDEX_KEYS_SORTED = 0,   // the sorted keys
    PSV_INDEX_KEYS_KEPT = 1,     // the keys as they were
    PSV_INDEX_KEYS_UNDEFINED = 2 // whatever is fastest
} psv_index_keys;

// Argsort: writes to `index` (count u32) the permutation that sorts the keys: sorted[i] == keys[index[i]]. The first
// pass reads no index: it is implicit. Needs def.value_bytes >= 4 (else PSV_ERROR_ARGUMENT); count at most 2^32-1 (else
// PSV_ERROR_CAPACITY). Other errors: those of psv_sort_pairs.
psv_status psv_sort_index(psv_sorter *sorter, psv_buffer keys, psv_buffer index, uint64_t count, psv_index_keys keep);

// The same calls with the count in memory of the context's backend: `count` holds one uint64_t, at most max_count (a
// larger one is taken as max_count); buffers must hold max_count elements. The host never reads it on CUDA. Errors:
// PSV_ERROR_ARGUMENT (a buffer too small, misaligned or NULL, `count` too), PSV_ERROR_DEVICE;
// psv_sort_index_indirect also PSV_ERROR_CAPACITY for a max_count over 2^32-1.
psv_status psv_sort_pairs_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer values, psv_buffer count);
psv_status psv_sort_keys_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer count);
psv_status psv_sort_index_indirect(psv_sorter *sorter, psv_buffer keys, psv_buffer index, psv_buffer count,
                                   psv_index_keys keep);

// Facts about the next sort that the producer of the keys knows; used once, then dropped. They never change the result,
// but wrong histograms are undefined behaviour, as with any scatter.
typedef struct psv_sort_hint {
    psv_buffer histograms; // u32 counts of the transformed key's digits, digit after digit (see psv_sorter_digit_bits);
                           // or empty
    bool likely_sorted;    // the input is probably sorted or nearly so: try the order-aware path first
} psv_sort_hint;

// Errors: PSV_ERROR_UNSUPPORTED (histograms for a method that takes none), PSV_ERROR_ARGUMENT (NULL, too small).
psv_status psv_set_sort_hint(psv_sorter *sorter, const psv_sort_hint *hint);

// Digit width of the sorter's histograms in bits (digits start at begin_bit), 0 when the method takes none.
uint32_t psv_sorter_digit_bits(const psv_sorter *sorter);

// Record sort: target[i] = source[index[i]] for records of `stride` bytes (any stride >= 1), out of place.
// source and target may not overlap. index: count u32, aligned to 4 bytes (source and target to 1); one that names no
// record of the source is undefined behaviour. count 0 is a no-op.
// Errors: PSV_ERROR_ARGUMENT (stride 0, buffer too small or NULL, overlap), PSV_ERROR_CAPACITY (count over 2^32-1).
psv_status psv_gather_records(psv_context *context, psv_buffer source, psv_buffer target, uint32_t stride,
                              psv_buffer index, uint64_t count);

// Result of psv_check_order, in memory of the context's backend.
typedef struct psv_order_result {
    uint64_t descents; // i with key[i] > key[i + 1]
    uint64_t first;    // the smallest such i; UINT64_MAX when there is none
} psv_order_result;

// Asynchronous «is it sorted»: writes one psv_order_result to `result`, for the sorter's key type, order and bit range.
// `count` is not bound by def.max_count. keys are aligned to the key, result to 8 bytes. Errors: PSV_ERROR_ARGUMENT
// (buffer too small, misaligned or NULL), PSV_ERROR_CAPACITY (so many keys that their bytes are no 64-bit number),
// PSV_ERROR_UNSUPPORTED (keys of 8, 16 or 128 bits), PSV_ERROR_DEVICE.
psv_status psv_check_order(psv_sorter *sorter, psv_buffer keys, uint64_t count, psv_buffer result);

// How the last call went. The names are constants of the library: never NULL, never freed; «none» before the first
// call.
typedef struct psv_sort_statistics {
    uint32_t passes_run;     // digit passes
    uint32_t passes_skipped; // constant digits, sorted input
    const char *route;       // the way that sorted, see docs/how/radix.md; "copy" where nothing was to be sorted
    const char *veto;        // why a faster route was not taken, or "none"
} psv_sort_statistics;

// Blocks on CUDA. Errors: PSV_ERROR_ARGUMENT (NULL), PSV_ERROR_DEVICE.
psv_status psv_read_sort_statistics(psv_sorter *sorter, psv_sort_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
