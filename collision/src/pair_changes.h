// Lists of pairs that began and ended, in host memory.
#ifndef PAIRSIEVE_PAIR_CHANGES_H
#define PAIRSIEVE_PAIR_CHANGES_H

#include "finder.h"

static inline uint64_t psvi_key_of(psv_pair pair) { return (uint64_t)pair.a << 32 | pair.b; }

// Ascending order, by the finder's sorter where there are many.
psv_status psvi_sort_changes(psv_pair_finder *finder, psv_pair *list, uint64_t count);

// Puts both lists in order and drops what is in both.
psv_status psvi_cancel_changes(psv_pair_finder *finder, psv_pair *begin, uint64_t *begins, psv_pair *end,
                               uint64_t *ends);

// Takes pairs out of an ascending list, and puts others in. Both are ascending; there is room.
void psvi_change_pairs(psv_pair *list, uint64_t *count, const psv_pair *out, uint64_t outs, const psv_pair *in,
                       uint64_t ins);

// With movers.has_delta: the events of the last frame.
psv_status psvi_make_delta_lists(psv_pair_finder *finder);

#endif
