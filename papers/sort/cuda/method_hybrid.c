// `hybrid`: Sintorn & Assarsson, «Fast parallel GPU-sorting using a hybrid algorithm», 2007: a bucket sort with refined
// pivots splits the input into sublists, a vector merge sort on groups of four sorts these. Key-index form: it works on
// staged requests (request_staging.h), so equal keys are ordered by their index and the result is stable although the
// atomics of the bucket sort are not. The kernels are in hybrid_buckets.cu and hybrid_merge.cu.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/cuda_methods.h"
#include "../../../sort/cuda/staged_pairs.h"
#include "hybrid.h"

#include <stdio.h>

#define MOST_COUNT ((uint64_t)1 << 31)
#define LEAST_PER_BUCKET 4u // a sublist is at least one vector on average

typedef struct hybrid_layout {
    uint64_t elements, slots[2], edges[2], histogram, sizes, starts, ranks, state, total;
    uint64_t slot_count, slot_index; // slots of each array, and where the index lies behind the fields
    uint64_t element_index;
} hybrid_layout;

static hybrid_layout layout_of(const psv_sorter_def *def) {
    const uint32_t key_bytes = psv_key_type_bytes(def->key_type);
    const uint64_t buckets = def->hybrid.buckets;
    hybrid_layout layout = {0};
    layout.slot_count = def->max_count + 3 * buckets;
    layout.element_index = psvi_align(def->max_count * key_bytes);
    layout.slot_index = psvi_align(layout.slot_count * key_bytes);
    layout.slots[0] = psvi_staged_half(def->max_count, key_bytes);
    layout.slots[1] = layout.slots[0] + psvi_staged_half(layout.slot_count, key_bytes);
    layout.edges[0] = layout.slots[1] + psvi_staged_half(layout.slot_count, key_bytes);
    layout.edges[1] = layout.edges[0] + psvi_align((buckets + 1) * 8);
    layout.histogram = layout.edges[1] + psvi_align((buckets + 1) * 8);
    layout.sizes = layout.histogram + psvi_align(buckets * 4);
    layout.starts = layout.sizes + psvi_align(buckets * 4);
    layout.ranks = layout.starts + psvi_align((buckets + 1) * 4);
    layout.state = layout.ranks + psvi_align((buckets + 1) * 4);
    layout.total = layout.state + psvi_align(sizeof(psvi_hybrid_state));
    return layout;
}

static bool hybrid_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    const psv_hybrid_options *options = &def->hybrid;
    if (def->max_count > MOST_COUNT)
        (void)snprintf(why, why_bytes, "hybrid: def.max_count is %llu; %llu are possible",
                       (unsigned long long)def->max_count, (unsigned long long)MOST_COUNT);
    else if (options->buckets < 2 || options->buckets > PSVI_HYBRID_MOST_BUCKETS)
        (void)snprintf(why, why_bytes, "hybrid: def.hybrid.buckets is %u; 2 to %d are possible",
                       (unsigned)options->buckets, PSVI_HYBRID_MOST_BUCKETS);
    else if (options->refine_steps < 1 || options->refine_steps > 8)
        (void)snprintf(why, why_bytes, "hybrid: def.hybrid.refine_steps is %u; 1 to 8 are possible",
                       (unsigned)options->refine_steps);
    else
        return true;
    return false;
}

static uint64_t hybrid_scratch_bytes(const psv_sorter_def *def) { return layout_of(def).total; }

static psvi_hybrid_data data_of(const psv_sorter *sorter, const psvi_sort_request *request,
                                const hybrid_layout *layout) {
    char *scratch = sorter->scratch;
    char *slots[2] = {scratch + layout->slots[0], scratch + layout->slots[1]};
    uint64_t buckets = request->count / LEAST_PER_BUCKET;
    if (buckets < 2) buckets = 2;
    if (buckets > sorter->def.hybrid.buckets) buckets = sorter->def.hybrid.buckets;
    return (psvi_hybrid_data){
        .field_bytes = psvi_order_field_bytes(sorter->order),
        .count = request->count,
        .count_device = request->count_device,
        .buckets = (uint32_t)buckets,
        .fields = scratch,
        .index = (uint32_t *)(scratch + layout->element_index),
        .slot_fields = {slots[0], slots[1]},
        .slot_index = {(uint32_t *)(slots[0] + layout->slot_index), (uint32_t *)(slots[1] + layout->slot_index)},
        .slots = request->count + 3 * buckets,
        // The second slot arrays are not used before the first merge.
        .place = (uint32_t *)slots[1],
        .bucket = (uint16_t *)(slots[1] + layout->slot_index),
        .edges = {(uint64_t *)(scratch + layout->edges[0]), (uint64_t *)(scratch + layout->edges[1])},
        .histogram = (uint32_t *)(scratch + layout->histogram),
        .sizes = (uint32_t *)(scratch + layout->sizes),
        .starts = (uint32_t *)(scratch + layout->starts),
        .ranks = (uint32_t *)(scratch + layout->ranks),
        .state = (psvi_hybrid_state *)(scratch + layout->state),
    };
}

static void mark(psv_sorter *sorter, uint32_t part) {
    void **events = sorter->state;
    if (events != NULL) sorter->context->ops->record_event(sorter->context, events[part]);
}

// Section IV: fields and index to the sublists in slot_fields[0] and slot_index[0].
static psv_status bucket_sort(psv_sorter *sorter, const psvi_hybrid_data *data) {
    psv_context *context = sorter->context;
    psv_status status = psvi_hybrid_first_pivots(context, data);
    mark(sorter, 2);
    if (status == PSV_OK) status = psvi_hybrid_count(context, data, 0);
    for (uint32_t step = 1; step < sorter->def.hybrid.refine_steps && status == PSV_OK; ++step) {
        status = psvi_hybrid_refine(context, data, (step - 1) % 2);
        if (status == PSV_OK) status = psvi_hybrid_count(context, data, step % 2);
    }
    mark(sorter, 3);
    return status == PSV_OK ? psvi_hybrid_reposition(context, data) : status;
}

// Section III. As many passes as one list of everything would need; the device skips those that no sublist needs.
static psv_status merge_sort(psv_sorter *sorter, const psvi_hybrid_data *data) {
    psv_status status = psvi_hybrid_sort_vectors(sorter->context, data);
    uint32_t pass = 0;
    for (uint64_t run = 4; run < data->count && status == PSV_OK; run *= 2, ++pass)
        status = psvi_hybrid_merge(sorter->context, data, pass, run);
    sorter->statistics.passes_run = pass;
    return status;
}

static psv_status hybrid_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const hybrid_layout layout = layout_of(&sorter->def);
    const psvi_hybrid_data data = data_of(sorter, request, &layout);
    psv_context *context = sorter->context;
    const bool shuffle = sorter->def.hybrid.shuffle;
    void *fields = shuffle ? data.slot_fields[0] : data.fields;
    uint32_t *index = shuffle ? data.slot_index[0] : data.index;
    mark(sorter, 0);
    psv_status status = psvi_stage_request(context, sorter->order, request, fields, index, request->count);
    if (status == PSV_OK && shuffle) status = psvi_hybrid_shuffle(context, &data, fields, index);
    mark(sorter, 1);
    if (status == PSV_OK) status = bucket_sort(sorter, &data);
    mark(sorter, 4);
    if (status == PSV_OK) status = merge_sort(sorter, &data);
    mark(sorter, 5);
    if (status == PSV_OK) status = psvi_hybrid_compact(context, &data);
    if (status == PSV_OK)
        status = psvi_stage_finish(context, sorter->order, request, data.fields, data.index, data.slot_fields[0]);
    mark(sorter, 6);
    return status;
}

static psv_status hybrid_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    psvi_hybrid_state state = {0};
    psv_context *context = sorter->context;
    psv_status status = context->ops->copy(context, &state, (char *)sorter->scratch + layout_of(&sorter->def).state,
                                           sizeof state, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    const uint32_t enqueued = sorter->statistics.passes_run; // 0: the last call had nothing to sort
    const uint32_t run = state.merge_passes < enqueued ? state.merge_passes : enqueued;
    *statistics = (psv_sort_statistics){.passes_run = run, .passes_skipped = enqueued - run};
    return PSV_OK;
}

const psvi_sort_method psvi_sort_hybrid = {
    .name = "hybrid",
    .description = "bucket sort, then vector merge sort (Sintorn & Assarsson 2007)",
    .supports = hybrid_supports,
    .scratch_bytes = hybrid_scratch_bytes,
    .run = hybrid_run,
    .statistics = hybrid_statistics,
};
