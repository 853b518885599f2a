// Moves between CUDA ranks, by NCCL. A build without CUDA or NCCL has none: its groups are of CPU contexts.
#ifndef PAIRSIEVE_NCCL_TRANSPORT_H
#define PAIRSIEVE_NCCL_TRANSPORT_H

#include "group_internal.h"

// A communicator over the group's devices. Collective. PSV_ERROR_UNSUPPORTED without NCCL.
psv_status psvi_open_nccl(psv_group *group);
// What follows on this thread is for the group's device.
void psvi_nccl_enter(const psv_group *group);
void psvi_close_nccl(psv_group *group);

// All arrays of the list in one go, enqueued on the context's stream.
psv_status psvi_nccl_move(psv_group *group, const psvi_moved *list, uint32_t count);

#endif
