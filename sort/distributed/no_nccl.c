// A build without NCCL.
#include "nccl_transport.h"

psv_status psvi_open_nccl(psv_group *group) {
    return psvi_fail(group->context, PSV_ERROR_UNSUPPORTED,
                     "this build has no NCCL, which groups of CUDA contexts need (PAIRSIEVE_NCCL)");
}

void psvi_nccl_enter(const psv_group *group) { (void)group; }

void psvi_close_nccl(psv_group *group) { (void)group; }

psv_status psvi_nccl_move(psv_group *group, const psvi_moved *list, uint32_t count) {
    (void)list, (void)count;
    return psvi_open_nccl(group);
}
