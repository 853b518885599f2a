// Turns a general sort request into the form that the methods of the papers work on, and back.
//
// Staged form: an array of unsigned fields (the sorted bits of each transformed key, moved down to bit 0; u32 when at
// most 32 bits are sorted, also for 64-bit keys) and an array of u32 indices 0, 1, 2, ... Sorting the pairs (field,
// index) stably, or by (field, index) in any way, gives the permutation; finishing moves keys and values by it. So a
// method that is staged serves every key type, order, bit range, value size, kept keys and counts in device memory:
// with a device count the fields past it are all ones and sort to the end, because their indices are the greatest.
#ifndef PAIRSIEVE_SORT_REQUEST_STAGING_H
#define PAIRSIEVE_SORT_REQUEST_STAGING_H

#include "../src/sort_method.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of one staged field for these bits: 4 or 8.
static inline uint32_t psvi_field_bytes(uint32_t begin_bit, uint32_t end_bit) {
    return end_bit - begin_bit > 32 ? 8u : 4u;
}

static inline uint32_t psvi_order_field_bytes(psvi_key_order order) {
    return psvi_field_bytes(order.begin_bit, order.end_bit);
}

// Bytes of temporary memory that psvi_stage_finish needs for `count` elements.
static inline uint64_t psvi_stage_finish_bytes(uint64_t count, uint32_t key_bytes, uint32_t value_bytes) {
    return psvi_align(count * (key_bytes > value_bytes ? key_bytes : value_bytes));
}

// Fills fields[0..slots) and, where it is not NULL, index[0..slots); slots >= request->count, what is past the count is
// padding of all ones (over the sorted bits).
psv_status psvi_stage_request(psv_context *context, psvi_key_order order, const psvi_sort_request *request,
                              void *fields, uint32_t *index, uint64_t slots);

// Moves the request's keys and values by the sorted `index`. `fields` (may be NULL) are the sorted fields: integer keys
// that were sorted by all bits are made from them without a gather. temporary: psvi_stage_finish_bytes, not
// overlapping index or fields.
psv_status psvi_stage_finish(psv_context *context, psvi_key_order order, const psvi_sort_request *request,
                             const void *fields, const uint32_t *index, void *temporary);

// target[i] = source[i] ^ mask for 4- or 8-byte words; target may be source.
psv_status psvi_flip_words(psv_context *context, const void *source, void *target, uint64_t mask, uint32_t bytes,
                           uint64_t count);

// index[i] = i.
psv_status psvi_write_iota(psv_context *context, uint32_t *index, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
