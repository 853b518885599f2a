// `radix4`: the 4-way radix sort of Ha, Krueger, Silva, «Fast 4-way parallel radix sorting on GPUs», 2009, Algorithm 1.
//
// For each digit of digit_bits (2: 16 passes for 32 bits): order check, count and in-block shuffle, scan of the block
// sums, mapping. The kernels are in radix4.cu, which also says what is done otherwise than in the paper.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/cuda_methods.h"
#include "../../../sort/cuda/scan_sums.h"
#include "digit_passes.h"
#include "radix4.h"

#include <stdio.h>

#define MOST_PASSES 64u

typedef struct radix4_layout {
    uint64_t flags, sums, prefix, scan, ranks, positions, passes, total;
} radix4_layout;

static uint64_t most_sums(const psv_sorter_def *def) {
    return psvi_radix4_blocks(def->max_count, PSVI_RADIX4_LEAST_THREADS) << def->radix4.digit_bits;
}

static radix4_layout layout_of(const psv_sorter_def *def) {
    const uint64_t sums = psvi_align(most_sums(def) * 4);
    radix4_layout layout = {0};
    layout.sums = psvi_align(MOST_PASSES * 4);
    layout.prefix = layout.sums + sums;
    layout.scan = layout.prefix + sums;
    layout.ranks = layout.scan + psvi_scan_bytes(most_sums(def));
    layout.positions = layout.ranks + (def->radix4.scattered_mapping ? psvi_align(def->max_count * 2) : 0);
    layout.passes = layout.positions + (def->radix4.separate_positions ? psvi_align(def->max_count * 4) : 0);
    layout.total = layout.passes + psvi_digit_passes_bytes(def);
    return layout;
}

static bool radix4_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    if (def->radix4.digit_bits >= 1 && def->radix4.digit_bits <= 3) return true;
    (void)snprintf(why, why_bytes, "radix4: def.radix4.digit_bits is %u; 1, 2 and 3 are possible",
                   (unsigned)def->radix4.digit_bits);
    return false;
}

static uint64_t radix4_scratch_bytes(const psv_sorter_def *def) { return layout_of(def).total; }

// state: threads of a block, asked from the device once (section 4.1 of the paper).
static psv_status radix4_create(psv_sorter *sorter) {
    const psv_sorter_def *def = &sorter->def;
    const uint32_t threads =
        psvi_radix4_choose_threads(psv_key_type_bytes(def->key_type), def->value_bytes != 0, def->radix4.digit_bits);
    sorter->state = (void *)(uintptr_t)threads;
    return psvi_scan_check(sorter->context, most_sums(def));
}

static psv_status run_pass(psv_sorter *sorter, const psvi_radix4_pass *pass, void *scan_memory) {
    const uint64_t sums = psvi_radix4_blocks(pass->data.count, pass->block_threads) << pass->digit_bits;
    psv_status status = psvi_radix4_local(sorter->context, pass);
    if (status == PSV_OK) status = psvi_scan_sums(sorter->context, pass->sums, pass->prefix, sums, scan_memory);
    if (status == PSV_OK) status = psvi_radix4_map(sorter->context, pass);
    return status;
}

static uint32_t pass_count(const psv_sorter *sorter) {
    const uint32_t bits = sorter->order.end_bit - sorter->order.begin_bit;
    return (bits + sorter->def.radix4.digit_bits - 1) / sorter->def.radix4.digit_bits;
}

static psv_status radix4_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const radix4_layout layout = layout_of(&sorter->def);
    char *scratch = sorter->scratch;
    uint32_t *flags = (uint32_t *)(scratch + layout.flags);
    const bool checked = sorter->def.radix4.order_check != PSV_ORDER_CHECK_OFF;
    const bool quick = sorter->def.radix4.order_check == PSV_ORDER_CHECK_QUICK_FULL;
    const uint32_t passes = pass_count(sorter);
    psvi_radix4_pass pass = {.order = sorter->order,
                             .key_bytes = sorter->order.is_wide ? 8 : 4,
                             .digit_bits = sorter->def.radix4.digit_bits,
                             .scattered = sorter->def.radix4.scattered_mapping,
                             .block_threads = (uint32_t)(uintptr_t)sorter->state,
                             .sums = (uint32_t *)(scratch + layout.sums),
                             .prefix = (uint32_t *)(scratch + layout.prefix),
                             .ranks = (uint16_t *)(scratch + layout.ranks)};
    if (sorter->def.radix4.separate_positions) pass.positions = (uint32_t *)(scratch + layout.positions);
    psv_status status = psvi_begin_digit_passes(sorter, request, scratch + layout.passes, &pass.data);
    if (status == PSV_OK) status = psvi_radix4_clear(sorter->context, flags, passes, checked ? 0 : 1);
    for (uint32_t p = 0; p < passes && status == PSV_OK; ++p) {
        pass.source = p % 2;
        pass.shift = p * pass.digit_bits;
        pass.implicit = p == 0 && pass.data.implicit;
        pass.flag = flags + p;
        if (checked) // section 4.2
            status = psvi_radix4_check(sorter->context, &pass, p > 0 ? flags + p - 1 : NULL, flags + p, quick);
        if (status == PSV_OK) status = run_pass(sorter, &pass, scratch + layout.scan);
    }
    if (status != PSV_OK) return status;
    return psvi_end_digit_passes(sorter, request, scratch + layout.passes, &pass.data, flags, passes);
}

static psv_status radix4_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    uint32_t flags[MOST_PASSES] = {0};
    const uint32_t passes = pass_count(sorter);
    psv_context *context = sorter->context;
    psv_status status = context->ops->copy(context, flags, (char *)sorter->scratch + layout_of(&sorter->def).flags,
                                           passes * 4u, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    *statistics = (psv_sort_statistics){0};
    for (uint32_t p = 0; p < passes; ++p)
        ++*(flags[p] != 0 ? &statistics->passes_run : &statistics->passes_skipped);
    return PSV_OK;
}

const psvi_sort_method psvi_sort_radix4 = {
    .name = "radix4",
    .description = "4-way radix sort with order check and coalesced mapping (Ha, Krueger, Silva 2009)",
    .supports = radix4_supports,
    .scratch_bytes = radix4_scratch_bytes,
    .create = radix4_create,
    .run = radix4_run,
    .statistics = radix4_statistics,
};
