// The plain stable sort that every method is compared with: a merge sort of positions that compares keys as their C
// types compare.
#ifndef SORT_REFERENCE_H
#define SORT_REFERENCE_H

#include "pairsieve/sort.h"

// Writes the permutation that sorts the keys by the def's type, direction, NaN policy and bit range.
void reference_order(const psv_sorter_def *def, const void *keys, uint32_t count, uint32_t *order);

// Key i (of 8 to 64 bits) as sort.h defines its order-preserving unsigned form, all bits of it.
uint64_t reference_unsigned_form(const psv_sorter_def *def, const void *keys, uint64_t i);

// Descents of the keys as they stand.
psv_order_result reference_descents(const psv_sorter_def *def, const void *keys, uint64_t count);

#endif
