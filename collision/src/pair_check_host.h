// The self-check of pairs for a backend that has none of its own: on the CPU.
#ifndef PAIRSIEVE_PAIR_CHECK_HOST_H
#define PAIRSIEVE_PAIR_CHECK_HOST_H

#include "pair_check.h"

// Runs the check by `ops` in memory of the context, and names what differs.
psv_status psvi_compare_samples(psv_context *context, const psvi_collision_ops *ops, psvi_check_input *input,
                                psv_pair_check *check);

// The same with copies of the boxes (b: NULL or a second set), the rules and the pairs that `input` names.
psv_status psvi_check_on_host(psv_context *context, const psv_box_set *a, const psv_box_set *b,
                              const psvi_check_input *input, psv_pair_check *check);

#endif
