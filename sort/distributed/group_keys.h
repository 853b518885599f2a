// What a backend does with the keys of a group's sort.
#ifndef PAIRSIEVE_GROUP_KEYS_H
#define PAIRSIEVE_GROUP_KEYS_H

#include "../src/key_order.h"
#include "group_internal.h"

// A key in the order of all: equal keys by their places, which no two share.
typedef struct psvi_place {
    uint64_t key;   // transformed, bits outside [begin_bit, end_bit) gone
    uint64_t place; // among all keys of the group
} psvi_place;

PSVI_HD uint64_t psvi_group_key(psvi_key_order order, const void *keys, uint64_t i) {
    if (order.begin_bit >= order.end_bit) return 0;
    const uint64_t whole = order.is_wide ? psvi_transform_u64(((const uint64_t *)keys)[i], order)
                                         : psvi_transform_u32(((const uint32_t *)keys)[i], order);
    const uint32_t bits = order.end_bit - order.begin_bit;
    return (whole >> order.begin_bit) & (bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
}

PSVI_HD bool psvi_place_before(psvi_place a, psvi_place b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
}

// This rank's keys of one call.
typedef struct psvi_group_keys {
    psvi_key_order order;
    const void *keys;
    uint64_t count;
    uint64_t first;              // place of the first one
    const psvi_place *splitters; // parts - 1, ascending, in host memory: part p begins with splitter p - 1
    uint32_t parts;
} psvi_group_keys;

// Where the keys of a part go, with their values.
typedef struct psvi_part_target {
    void *keys, *values;
} psvi_part_target;

// What goes with the keys: `bytes` of 0, 4 or 8 each. `values` NULL: the places of the keys.
typedef struct psvi_part_values {
    const void *values;
    uint32_t bytes;
} psvi_part_values;

// All of them Block where they write host memory.
typedef struct psvi_group_key_ops {
    psv_status (*open)(psv_context *context, uint32_t parts, void **state);
    void (*close)(psv_context *context, void *state);
    // samples[i] is the key at psvi_sample_place(i), on the host.
    psv_status (*sample)(psv_context *context, void *state, const psvi_group_keys *keys, psvi_place *samples,
                         uint64_t sample_count);
    // How many keys each part has, on the host. Then, for the same keys: each part's, in order, to where it goes.
    psv_status (*count_parts)(psv_context *context, void *state, const psvi_group_keys *keys, uint64_t *counts);
    psv_status (*write_parts)(psv_context *context, void *state, const psvi_group_keys *keys, psvi_part_values values,
                              const psvi_part_target *targets);
    // values[i] = first + index[i], of 4 or 8 bytes.
    psv_status (*number)(psv_context *context, void *values, uint32_t value_bytes, uint64_t first,
                         const uint32_t *index, uint64_t count);
} psvi_group_key_ops;

#ifdef __cplusplus
extern "C" {
#endif

extern const psvi_group_key_ops psvi_cpu_group_key_ops, psvi_cuda_group_key_ops;

#ifdef __cplusplus
}
#endif
#endif
