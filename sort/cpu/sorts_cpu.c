// What the CPU has for the sort layer.
#include "../distributed/group_keys.h"
#include "../src/segment_method.h"
#include "../src/word_keys.h"
#include "merge_cpu.h"
#include "qsort_cpu.h"
#include "radix_cpu.h"
#include "records_cpu.h"

static psv_status write_identity(psv_context *context, const psvi_sort_request *request) {
    (void)context;
    uint32_t *index = request->values_out;
    for (uint64_t i = 0, count = psvi_request_count(request); i < count; ++i)
        index[i] = (uint32_t)i;
    return PSV_OK;
}

static const psvi_sort_method *const methods[] = {&psvi_sort_radix_cpu, &psvi_sort_merge_cpu, &psvi_sort_qsort_cpu,
                                                  NULL};
static const char *const auto_candidates[] = {"radix", "merge", NULL};

const psvi_sort_module psvi_cpu_sorts = {
    .methods = methods,
    .auto_candidates = auto_candidates,
    .auto_largest = 1u << 20,
    .largest_count = UINT32_MAX, // counters and positions have 32 bits
    .largest_wide_count = UINT32_MAX,
    .write_identity = write_identity,
    .gather_records = psvi_cpu_gather_records,
    .check_order = psvi_cpu_check_order,
    .segments = &psvi_segments_cpu,
    .words = &psvi_cpu_words,
    .group_keys = &psvi_cpu_group_key_ops,
};
