// `merge` on CUDA: stable parallel merge sort of staged pairs; the kernels are in merge_path.cu.
#include "cuda_methods.h"
#include "merge_path.h"
#include "staged_pairs.h"

static bool merge_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    (void)def;
    (void)why;
    (void)why_bytes;
    return true;
}

static uint64_t merge_scratch_bytes(const psv_sorter_def *def) {
    return psvi_staged_bytes(def->max_count, psv_key_type_bytes(def->key_type));
}

static psv_status merge_run(psv_sorter *sorter, const psvi_sort_request *request) {
    psv_context *context = sorter->context;
    const psvi_staged_pairs pairs =
        psvi_staged_pairs_at(sorter->scratch, sorter->def.max_count, psv_key_type_bytes(sorter->def.key_type));
    psvi_merge_data data = {.fields = pairs.fields[0],
                            .index = pairs.index[0],
                            .fields_out = pairs.fields[0],
                            .index_out = pairs.index[0],
                            .field_bytes = psvi_order_field_bytes(sorter->order),
                            .count = request->count,
                            .count_device = request->count_device};
    psv_status status =
        psvi_stage_request(context, sorter->order, request, pairs.fields[0], pairs.index[0], request->count);
    if (status == PSV_OK) status = psvi_merge_sort_tiles(context, &data);
    uint32_t pass = 0;
    for (uint64_t run = PSVI_MERGE_TILE; run < request->count && status == PSV_OK; run *= 2, ++pass) {
        data.fields = pairs.fields[pass % 2];
        data.index = pairs.index[pass % 2];
        data.fields_out = pairs.fields[1 - pass % 2];
        data.index_out = pairs.index[1 - pass % 2];
        status = psvi_merge_runs(context, &data, run);
    }
    sorter->statistics = (psv_sort_statistics){.passes_run = pass + 1};
    if (status != PSV_OK) return status;
    return psvi_stage_finish(context, sorter->order, request, pairs.fields[pass % 2], pairs.index[pass % 2],
                             pairs.fields[1 - pass % 2]);
}

const psvi_sort_method psvi_sort_merge_cuda = {
    .name = "merge",
    .description = "stable parallel merge sort (merge path)",
    .supports = merge_supports,
    .scratch_bytes = merge_scratch_bytes,
    .run = merge_run,
};
