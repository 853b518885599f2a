// `split`: the radix sort of García, Alvizo, Olivares, Ramos 2014: for each 4-bit digit a local sort by four splits, a
// prefix sum over the bucket matrix, and a scatter. The kernels are in split.cu.
#include "../../../sort/cuda/cuda_methods.h"
#include "../../../sort/cuda/scan_sums.h"
#include "split.h"

typedef struct split_layout {
    uint64_t buckets, prefix, scan, passes, total;
} split_layout;

static uint64_t matrix_size(uint64_t count) { return psvi_split_blocks(count) * PSVI_SPLIT_BUCKETS; }

static split_layout layout_of(const psv_sorter_def *def) {
    const uint64_t matrix = psvi_align(matrix_size(def->max_count) * 4);
    split_layout layout = {0};
    layout.prefix = matrix;
    layout.scan = 2 * matrix;
    layout.passes = layout.scan + psvi_scan_bytes(matrix_size(def->max_count));
    layout.total = layout.passes + psvi_digit_passes_bytes(def);
    return layout;
}

static bool split_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    (void)def;
    (void)why;
    (void)why_bytes;
    return true;
}

static uint64_t split_scratch_bytes(const psv_sorter_def *def) { return layout_of(def).total; }

static psv_status split_create(psv_sorter *sorter) {
    return psvi_scan_check(sorter->context, matrix_size(sorter->def.max_count));
}

static psv_status split_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const split_layout layout = layout_of(&sorter->def);
    psv_context *context = sorter->context;
    char *scratch = sorter->scratch;
    const uint32_t bits = sorter->order.end_bit - sorter->order.begin_bit;
    const uint32_t passes = (bits + PSVI_SPLIT_BITS - 1) / PSVI_SPLIT_BITS;
    psvi_split_pass pass = {.order = sorter->order,
                            .key_bytes = sorter->order.is_wide ? 8 : 4,
                            .buckets = (uint32_t *)(scratch + layout.buckets),
                            .prefix = (uint32_t *)(scratch + layout.prefix)};
    psv_status status = psvi_begin_digit_passes(sorter, request, scratch + layout.passes, &pass.data);
    for (uint32_t p = 0; p < passes && status == PSV_OK; ++p) {
        pass.source = p % 2;
        pass.shift = p * PSVI_SPLIT_BITS;
        pass.implicit = p == 0 && pass.data.implicit;
        status = psvi_split_sort_blocks(context, &pass);
        if (status == PSV_OK)
            status =
                psvi_scan_sums(context, pass.buckets, pass.prefix, matrix_size(request->count), scratch + layout.scan);
        if (status == PSV_OK) status = psvi_split_scatter(context, &pass);
    }
    sorter->statistics = (psv_sort_statistics){.passes_run = passes};
    if (status != PSV_OK) return status;
    return psvi_end_digit_passes(sorter, request, scratch + layout.passes, &pass.data, NULL, passes);
}

const psvi_sort_method psvi_sort_split = {
    .name = "split",
    .description = "4-bit radix sort by 1-bit splits in shared memory (Garcia et al. 2014)",
    .supports = split_supports,
    .scratch_bytes = split_scratch_bytes,
    .create = split_create,
    .run = split_run,
};
