// What CUDA has for the sort layer.
#include "../distributed/group_keys.h"
#include "../distributed/nccl_transport.h"
#include "../src/segment_method.h"
#include "../src/word_keys.h"
#include "check_order.h"
#include "cuda_methods.h"
#include "gather_records.h"
#include "identity.h"
#include "pair_sums.h"

static const psvi_sort_method *const methods[] = {
    &psvi_sort_radix_cuda, &psvi_sort_radix4,     &psvi_sort_split, &psvi_sort_hybrid,
    &psvi_sort_bitonic,    &psvi_sort_merge_cuda, &psvi_sort_cub,   NULL,
};
static const char *const auto_candidates[] = {"radix", "cub", "merge", NULL};

const psvi_sort_module psvi_cuda_sorts = {
    .methods = methods,
    .auto_candidates = auto_candidates,
    .auto_largest = UINT64_MAX,
    .largest_count = UINT32_MAX,
    .largest_wide_count = (uint64_t)1 << 31,
    .write_identity = psvi_cuda_write_identity,
    .gather_records = psvi_cuda_gather_records,
    .check_order = psvi_cuda_check_order,
    .sum_pairs = psvi_cuda_sum_pairs,
    .segments = &psvi_segments_cuda,
    .words = &psvi_cuda_words,
#if PSV_HAVE_NCCL
    .group_keys = &psvi_cuda_group_key_ops,
#endif
    .connect_group = psvi_open_nccl,
};
