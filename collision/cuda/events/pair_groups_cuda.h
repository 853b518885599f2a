// Begin and end events of pairs that need no order: entries of psvi_collision_ops.
#ifndef PAIRSIEVE_COLLISION_PAIR_GROUPS_CUDA_H
#define PAIRSIEVE_COLLISION_PAIR_GROUPS_CUDA_H

#include "../../src/broad_phase.h"

uint64_t psvi_changes_bytes_cuda(uint64_t capacity, uint64_t boxes);
psv_status psvi_begin_changes_cuda(psv_context *context, const psvi_changes *changes);
psv_status psvi_find_changes_cuda(psv_context *context, const psvi_changes *changes);
psv_status psvi_leave_kept_changes_cuda(psv_context *context, const psvi_changes *changes, bool leave);
psv_status psvi_carry_changes_cuda(psv_context *context, const psvi_changes *from, const psvi_changes *to);

#endif
