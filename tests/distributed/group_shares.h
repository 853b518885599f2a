// What the cases of groups share: how elements are dealt out to ranks, and how parts are collected again.
#ifndef PAIRSIEVE_TESTS_GROUP_SHARES_H
#define PAIRSIEVE_TESTS_GROUP_SHARES_H

#include "group_cases.h"

typedef struct share {
    uint64_t *numbers; // of the elements of this rank, in order
    uint64_t count;
} share;

// Print a line to stderr and return false.
bool fails(const psv_group *group, uint64_t seed, const char *what);
bool fails_with(const psv_group *group, const psv_context *context, uint64_t seed, const char *call);

// A new buffer with a copy of `source`.
void upload(psv_context *context, psv_buffer *buffer, const void *source, uint64_t bytes);

// Which rank has element i of `count`; `order` is its place in the order that DEAL_BY_SPACE deals by.
uint32_t rank_of(group_deal deal, uint32_t size, uint64_t seed, uint64_t i, uint64_t order, uint64_t count);

// The elements of `count` that this rank gets. `order`, or NULL: the place of each element in the order by which
// DEAL_BY_SPACE deals.
share take_share(const psv_group *group, group_deal deal, uint64_t seed, const uint64_t *order, uint64_t count);

// The parts of all ranks, one after another; *total bytes, and in `parts`, unless NULL, those of each rank.
char *collect(const psv_group *group, const psv_group_transport *transport, const void *part, uint64_t bytes,
              uint64_t *total, uint64_t *parts);

#endif
