// Queries of trees in compute shaders, host side.
#include "tree_gpu.h"

enum { ASKS_WORLDS = 1, ASKS_FILTERS = 2, ITEM_FILTERS = 4, IN_ORDER_OF = 8, COUNTED = 16, TREE_WORLDS = 32 };
enum { LIST_RESULTS = 1, LIST_OFFSETS = 2, LIST_ORDERED = 4, LIST_COUNTS = 8 }; // of tree_lists.comp
#define SUM_COUNTS 1024u                                                        // a group of tree_sums.comp

static uint32_t bytes_of(psvi_query_kind kind) {
    return kind <= PSVI_QUERY_ALL_HITS ? sizeof(psv_ray)
           : kind == PSVI_QUERY_BOXES  ? sizeof(psv_aabb)
                                       : sizeof(psv_sphere);
}

// A kernel with a thread for each query: blocks 0 to 9 and parameters 0 to 3 as tree_query.glsl has them.
static psvi_gpu_call query_call(const psv_tree *tree, const psvi_tree_query *query, const psvi_gpu_source *source,
                                const char *defines) {
    const psvi_tree_memory *memory = &tree->memory;
    const psv_tree_view *view = &query->view;
    const uint64_t count = query->count, items = tree->room;
    return (psvi_gpu_call){
        .source = source,
        .defines = defines,
        .blocks = {psvi_gpu_tree_head(memory),
                   {memory->nodes, sizeof *memory->nodes * memory->node_room},
                   {memory->items, sizeof(psv_tree_box) * items},
                   {view->triangles ? memory->ends : NULL, sizeof(psv_tree_end) * items},
                   {memory->world_starts, 4 * ((uint64_t)view->world_count + 1)},
                   psvi_gpu_span(view->filters, items, 8, 8),
                   psvi_gpu_span(query->data, count, query->stride, bytes_of(query->kind)),
                   psvi_gpu_span(query->worlds, count, 4, 4),
                   psvi_gpu_span(query->filters, count, 8, 8),
                   psvi_gpu_span(query->order, count, 4, 4)},
        .params = {query->count,
                   (query->worlds != NULL ? ASKS_WORLDS : 0u) | (query->filters != NULL ? ASKS_FILTERS : 0u) |
                       (view->filters != NULL ? ITEM_FILTERS : 0u) | (query->order != NULL ? IN_ORDER_OF : 0u) |
                       (query->count_device != NULL ? COUNTED : 0u) | (memory->world_starts != NULL ? TREE_WORLDS : 0u),
                   query->stride / 4, view->world_count},
        .groups = (count + 63) / 64,
    };
}

static psv_status trace(psv_tree *tree, const psvi_tree_query *query) {
    static const char *const defines[2][2] = {
        {"#define TRIANGLES 0\n#define ANY 0\n", "#define TRIANGLES 0\n#define ANY 1\n"},
        {"#define TRIANGLES 1\n#define ANY 0\n", "#define TRIANGLES 1\n#define ANY 1\n"}};
    const bool any = query->kind == PSVI_QUERY_ANY_HIT;
    psvi_gpu_call call = query_call(tree, query, &psvi_glsl_tree_trace, defines[query->view.triangles][any]);
    call.blocks[11] = (psvi_gpu_block){query->target, (any ? 4 : sizeof(psv_ray_hit)) * (uint64_t)query->count};
    return psvi_gpu_run(tree->context, &call);
}

static psv_status find_near(psv_tree *tree, const psvi_tree_query *query) {
    static const char *const defines[2][2] = {
        {"#define TRIANGLES 0\n#define NEAREST 0\n", "#define TRIANGLES 0\n#define NEAREST 1\n"},
        {"#define TRIANGLES 1\n#define NEAREST 0\n", "#define TRIANGLES 1\n#define NEAREST 1\n"}};
    const bool nearest = query->kind == PSVI_QUERY_NEAREST;
    const uint64_t bytes = nearest ? sizeof(psv_near_item) * (uint64_t)query->each : sizeof(psv_closest_point);
    psvi_gpu_call call = query_call(tree, query, &psvi_glsl_tree_near, defines[query->view.triangles][nearest]);
    call.blocks[11] = (psvi_gpu_block){query->target, bytes * query->count};
    call.params[5] = query->each;
    return psvi_gpu_run(tree->context, &call);
}

// --- lists -----------------------------------------------------------------------------------------------------------

// Writes the lists, or with `counts` alone counts them.
static psv_status run_list(psv_tree *tree, const psvi_tree_query *query, bool write, const uint32_t *counts) {
    static const char *const defines[2][3] = {
        {"#define TRIANGLES 0\n#define KIND 0\n", "#define TRIANGLES 0\n#define KIND 1\n",
         "#define TRIANGLES 0\n#define KIND 2\n"},
        {"#define TRIANGLES 1\n#define KIND 0\n", "#define TRIANGLES 1\n#define KIND 1\n",
         "#define TRIANGLES 1\n#define KIND 2\n"}};
    const uint32_t kind = (uint32_t)query->kind - PSVI_QUERY_ALL_HITS;
    const uint64_t count = query->count, bytes = kind == 0 ? sizeof(psv_ray_hit) : sizeof(uint32_t);
    const bool results = write && query->results != NULL, offsets = results && query->offsets != NULL;
    psvi_gpu_call call = query_call(tree, query, &psvi_glsl_tree_lists, defines[query->view.triangles][kind]);
    call.blocks[10] = offsets ? (psvi_gpu_block){query->offsets, 8 * (count + 1)} : psvi_gpu_span(counts, count, 4, 4);
    if (results)
        call.blocks[11] = (psvi_gpu_block){query->results, bytes * (offsets ? query->room : count * query->each)};
    call.params[4] = (results ? LIST_RESULTS : 0u) | (offsets ? LIST_OFFSETS : 0u) |
                     (results && query->in_order ? LIST_ORDERED : 0u) | (counts != NULL ? LIST_COUNTS : 0u);
    call.params[5] = query->each;
    call.params[6] = query->room > UINT32_MAX ? UINT32_MAX : (uint32_t)query->room;
    return psvi_gpu_run(tree->context, &call);
}

static psv_status sum_counts(psv_tree *tree, const psvi_tree_query *query, const uint32_t *counts) {
    static const char *const phases[3] = {"#define PHASE 0\n", "#define PHASE 1\n", "#define PHASE 2\n"};
    const uint64_t count = query->count, groups = count / SUM_COUNTS + 1; // one more offset than counts
    psv_status status = PSV_OK;
    psvi_gpu_call call = {
        .source = &psvi_glsl_tree_sums,
        .blocks = {psvi_gpu_tree_head(&tree->memory), {tree->memory.query_sums, 8 * groups}},
        .params = {query->count, query->count_device != NULL ? COUNTED : 0u, (uint32_t)groups},
    };
    call.blocks[10] = psvi_gpu_span(counts, count, 4, 4);
    call.blocks[11] = (psvi_gpu_block){query->offsets, 8 * (count + 1)};
    for (int phase = 0; phase < 3 && status == PSV_OK; ++phase) {
        call.defines = phases[phase];
        call.groups = phase == 1 ? 1 : groups;
        status = psvi_gpu_run(tree->context, &call);
    }
    return status;
}

static psv_status run_lists(psv_tree *tree, const psvi_tree_query *query) {
    if (query->offsets == NULL) return run_list(tree, query, true, query->counts);
    const uint32_t *counts = query->counts != NULL ? query->counts : tree->memory.query_counts;
    psv_status status = query->count == 0 ? PSV_OK : run_list(tree, query, false, counts);
    if (status == PSV_OK) status = sum_counts(tree, query, counts);
    if (status != PSV_OK || query->results == NULL || query->room == 0 || query->count == 0) return status;
    return run_list(tree, query, true, NULL);
}

// --- a call ----------------------------------------------------------------------------------------------------------

static psv_status order_queries(psv_tree *tree, psvi_tree_query *query) {
    const psvi_tree_memory *memory = &tree->memory;
    psvi_gpu_call call = query_call(tree, query, &psvi_glsl_query_keys, "#define TRIANGLES 0\n");
    call.blocks[10] = (psvi_gpu_block){memory->query_keys, 4 * (uint64_t)query->count};
    call.params[4] = query->kind <= PSVI_QUERY_ALL_HITS ? 0u : query->kind == PSVI_QUERY_BOXES ? 1u : 2u;
    call.groups = ((uint64_t)query->count + 127) / 128;
    const psv_status status = psvi_gpu_run(tree->context, &call);
    return status == PSV_OK ? psvi_sort_query_keys(tree, query) : status;
}

psv_status psvi_gpu_query_tree(psv_tree *tree, psvi_tree_query *query) {
    psv_context *context = tree->context;
    psv_status status = PSV_OK;
    if (query->count == 0 && query->offsets == NULL) return PSV_OK;
    if (query->count_device != NULL)
        status = context->ops->copy(context, &tree->memory.result->count, query->count_device, 8, PSVI_COPY_INSIDE);
    if (status == PSV_OK && query->sort) status = order_queries(tree, query);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    if (query->kind <= PSVI_QUERY_ANY_HIT)
        status = trace(tree, query);
    else
        status = query->kind <= PSVI_QUERY_SPHERES ? run_lists(tree, query) : find_near(tree, query);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return status;
}
