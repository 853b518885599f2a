// `hybrid` in compute shaders: Sintorn & Assarsson, «Fast parallel GPU-sorting using a hybrid algorithm», 2007. A
// bucket sort with refined pivots divides the elements into sublists, and a vector merge sort sorts these. It sorts
// (sorted bits, element's number), so the result is stable although the places within a bucket are not. Then keys and
// values are gathered by number.
#include <stdio.h>

#include "../../../sort/gpu/gpu_methods.h"

#define MOST_COUNT ((uint64_t)1 << 30)
#define LEAST_A_BUCKET 4u // a sublist is at least one vector on average
#define RANGE_GROUPS 256u // hybrid_plan.glsl, with the words before the edges
#define PASSES_BYTE 20u   // of the plan: the number of merge passes
#define COUNT_TILE 8192u  // hybrid_count.comp
#define MERGE_WINDOW 16u  // hybrid_merge.comp
#define MERGE_THREADS 128u

enum plan_step { START, REFINE, JUDGE, OFFSETS }; // hybrid_plan.comp

typedef struct element_arrays {
    char *fields, *index;
} element_arrays;

typedef struct hybrid_memory {
    char *state, *plan;
    element_arrays elements, slots[2]; // every sublist begins at a multiple of four slots
    uint64_t plan_bytes;
} hybrid_memory;

// Of one request.
typedef struct hybrid_sort {
    psv_sorter *sorter;
    const psvi_sort_request *request;
    hybrid_memory memory;
    uint64_t slots; // at most
    uint32_t buckets;
} hybrid_sort;

static uint64_t layout(const psv_sorter_def *def, char *scratch, hybrid_memory *memory) {
    const uint64_t n = def->max_count, buckets = def->hybrid.buckets, slots = n + 3 * buckets;
    const uint64_t key_bytes = psv_key_type_bytes(def->key_type);
    char *at = scratch;
    memory->plan_bytes = 4 * (8 + 4 * RANGE_GROUPS + 4 * (buckets + 1) + 3 * buckets + 2);
    memory->state = psvi_next_part(&at, PSVI_GPU_STATE_BYTES);
    memory->plan = psvi_next_part(&at, memory->plan_bytes);
    // In the end the first array has keys and values, on their way to their places.
    memory->elements.fields = psvi_next_part(&at, (key_bytes > def->value_bytes ? key_bytes : def->value_bytes) * n);
    memory->elements.index = psvi_next_part(&at, 4 * n);
    for (int i = 0; i < 2; ++i) {
        memory->slots[i].fields = psvi_next_part(&at, key_bytes * slots);
        memory->slots[i].index = psvi_next_part(&at, 4 * slots);
    }
    return (uint64_t)(at - scratch);
}

static uint64_t hybrid_scratch_bytes(const psv_sorter_def *def) {
    hybrid_memory memory;
    return layout(def, (char *)256, &memory);
}

static bool hybrid_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    if (def->max_count <= MOST_COUNT) return true;
    (void)snprintf(why, why_bytes, "hybrid: def.max_count is %llu; %llu are possible",
                   (unsigned long long)def->max_count, (unsigned long long)MOST_COUNT);
    return false;
}

static psv_status hybrid_create(psv_sorter *sorter) {
    const uint32_t needed = 4 * sorter->def.hybrid.buckets, held = psvi_gpu_of(sorter->context)->shared_bytes;
    if (needed > held)
        return psvi_fail(sorter->context, PSV_ERROR_UNSUPPORTED,
                         "hybrid: def.hybrid.buckets is %u; this driver's shared memory holds %u",
                         (unsigned)sorter->def.hybrid.buckets, (unsigned)(held / 4));
    return psvi_gpu_prepare(sorter);
}

// A kernel reads `from` (blocks 1 and 2), and uses `with` (4 and 5) and `to` (7 and 8) as its file says.
static psv_status run_kernel(const hybrid_sort *sort, const psvi_gpu_source *source, const char *define,
                             element_arrays from, element_arrays with, element_arrays to, const uint32_t params[2],
                             uint64_t groups) {
    char defines[PSVI_GPU_DEFINES];
    const psv_sorter *sorter = sort->sorter;
    const hybrid_memory *memory = &sort->memory;
    const uint64_t field_bytes = psv_key_type_bytes(sorter->def.key_type);
    const uint64_t from_count = from.fields == memory->elements.fields ? sort->request->count : sort->slots;
    const uint64_t to_count = to.fields == memory->elements.fields ? sort->request->count : sort->slots;
    (void)snprintf(defines, sizeof defines, "#define KEY_WORDS %d\n#define FLOAT %d\n#define BUCKETS %u\n%s",
                   sorter->order.is_wide ? 2 : 1, sorter->order.is_float ? 1 : 0, (unsigned)sorter->def.hybrid.buckets,
                   define);
    psvi_gpu_call call = {
        .source = source,
        .defines = defines,
        .blocks = {{memory->state, PSVI_GPU_STATE_BYTES},
                   {from.fields, field_bytes * from_count},
                   {from.index, 4 * from_count},
                   {sort->request->keys_in, field_bytes * sort->request->count},
                   {with.fields, field_bytes * sort->slots},
                   {with.index, 4 * sort->slots},
                   {memory->plan, memory->plan_bytes},
                   {to.fields, field_bytes * to_count},
                   {to.index, 4 * to_count}},
        .groups = groups,
    };
    psvi_gpu_order_params(&sorter->order, call.params);
    call.params[5] = source == &psvi_glsl_stage_elements ? (uint32_t)sort->request->count : sort->buckets;
    call.params[6] = params[0];
    call.params[7] = params[1];
    return psvi_gpu_run(sorter->context, &call);
}

static psv_status run_plan(const hybrid_sort *sort, enum plan_step step, uint32_t number) {
    return run_kernel(sort, &psvi_glsl_hybrid_plan, "", sort->memory.elements, sort->memory.slots[0],
                      (element_arrays){NULL, NULL}, (uint32_t[]){step, number}, 1);
}

// Sizes of the sublists, and unless `histogram` the place of each element in the second slots, by the edges `which`.
static psv_status count(const hybrid_sort *sort, bool histogram, uint32_t which) {
    return run_kernel(sort, &psvi_glsl_hybrid_count, histogram ? "#define HISTOGRAM 1\n" : "#define HISTOGRAM 0\n",
                      sort->memory.elements, sort->memory.slots[1], (element_arrays){NULL, NULL},
                      (uint32_t[]){which, 0}, (sort->request->count + COUNT_TILE - 1) / COUNT_TILE);
}

static psv_status move(const hybrid_sort *sort, bool back) {
    const hybrid_memory *memory = &sort->memory;
    return run_kernel(sort, &psvi_glsl_hybrid_move, back ? "#define BACK 1\n" : "#define BACK 0\n",
                      back ? memory->slots[0] : memory->elements, memory->slots[1],
                      back ? memory->elements : memory->slots[0], (uint32_t[]){0, 0},
                      ((back ? sort->slots : sort->request->count) + 255) / 256);
}

static void mark(const psv_sorter *sorter, uint32_t part) {
    void *const *events = sorter->state;
    if (events != NULL) sorter->context->ops->record_event(sorter->context, events[part]);
}

static psv_status stage(const hybrid_sort *sort) {
    psv_status status =
        psvi_gpu_begin_sort(sort->sorter->context, sort->request, sort->memory.state, COUNT_TILE, 0, 1, false);
    mark(sort->sorter, 0);
    if (status != PSV_OK) return status;
    return run_kernel(sort, &psvi_glsl_stage_elements, "", sort->memory.elements, sort->memory.slots[0],
                      (element_arrays){NULL, NULL}, (uint32_t[]){sort->sorter->def.hybrid.shuffle, 0},
                      (sort->request->count + 255) / 256);
}

// Section IV: the elements to their sublists in the first slots.
static psv_status bucket_sort(const hybrid_sort *sort) {
    const uint64_t tiles = (sort->request->count + 1023) / 1024;
    const uint32_t groups = (uint32_t)(tiles < RANGE_GROUPS ? tiles : RANGE_GROUPS);
    psv_status status = run_kernel(sort, &psvi_glsl_hybrid_range, "", sort->memory.elements, sort->memory.slots[0],
                                   (element_arrays){NULL, NULL}, (uint32_t[]){groups, 0}, groups);
    if (status == PSV_OK) status = run_plan(sort, START, groups);
    if (status == PSV_OK) status = count(sort, true, 1);
    if (status == PSV_OK) status = run_plan(sort, REFINE, 1);
    mark(sort->sorter, 2);
    if (status == PSV_OK) status = count(sort, false, 0);
    for (uint32_t step = 1; step < sort->sorter->def.hybrid.refine_steps && status == PSV_OK; ++step) {
        status = run_plan(sort, JUDGE, (step - 1) % 2);
        if (status == PSV_OK) status = count(sort, false, step % 2);
    }
    mark(sort->sorter, 3);
    if (status == PSV_OK) status = run_plan(sort, OFFSETS, 0);
    return status == PSV_OK ? move(sort, false) : status;
}

// Section III. As many passes as one list of everything would need; the device skips those that no sublist needs.
static psv_status merge_sort(const hybrid_sort *sort) {
    const element_arrays *slots = sort->memory.slots;
    uint32_t pass = 0;
    psv_status status = run_kernel(sort, &psvi_glsl_hybrid_merge, "#define VECTORS 1\n", slots[0], slots[1], slots[1],
                                   (uint32_t[]){0, 0}, (sort->slots / 4 + MERGE_THREADS - 1) / MERGE_THREADS);
    for (uint64_t run = 4; run < sort->request->count && status == PSV_OK; run *= 2, ++pass) {
        const uint64_t window = 2 * run < MERGE_WINDOW ? 2 * run : MERGE_WINDOW;
        const uint64_t threads = (sort->slots + window - 1) / window;
        status = run_kernel(sort, &psvi_glsl_hybrid_merge, "#define VECTORS 0\n", slots[pass % 2], slots[1 - pass % 2],
                            slots[1 - pass % 2], (uint32_t[]){(uint32_t)run, pass},
                            (threads + MERGE_THREADS - 1) / MERGE_THREADS);
    }
    sort->sorter->statistics.passes_run = pass;
    return status;
}

static psv_status hybrid_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const uint64_t most = sorter->def.hybrid.buckets, wanted = request->count / LEAST_A_BUCKET;
    hybrid_sort sort = {.sorter = sorter, .request = request};
    (void)layout(&sorter->def, sorter->scratch, &sort.memory);
    sort.buckets = (uint32_t)(wanted < 2 ? 2 : wanted < most ? wanted : most);
    sort.slots = request->count + 3 * (uint64_t)sort.buckets;
    psv_status status = stage(&sort);
    mark(sorter, 1);
    if (status == PSV_OK) status = bucket_sort(&sort);
    mark(sorter, 4);
    if (status == PSV_OK) status = merge_sort(&sort);
    mark(sorter, 5);
    if (status == PSV_OK) status = move(&sort, true);
    if (status == PSV_OK)
        status = psvi_gpu_finish_by_number(sorter, request, sort.memory.state, sort.memory.elements.index,
                                           sort.memory.elements.fields);
    mark(sorter, 6);
    return status;
}

static psv_status hybrid_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    hybrid_memory memory;
    psv_context *context = sorter->context;
    uint32_t needed = 0;
    const uint32_t enqueued = sorter->statistics.passes_run; // 0: the last call had nothing to sort
    (void)layout(&sorter->def, sorter->scratch, &memory);
    psv_status status =
        context->ops->copy(context, &needed, memory.plan + PASSES_BYTE, sizeof needed, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    const uint32_t run = needed < enqueued ? needed : enqueued;
    *statistics = (psv_sort_statistics){.passes_run = run, .passes_skipped = enqueued - run};
    return PSV_OK;
}

const psvi_sort_method psvi_sort_hybrid_gpu = {
    .name = "hybrid",
    .description = "bucket sort, then vector merge sort (Sintorn & Assarsson 2007)",
    .supports = hybrid_supports,
    .scratch_bytes = hybrid_scratch_bytes,
    .create = hybrid_create,
    .run = hybrid_run,
    .statistics = hybrid_statistics,
};
