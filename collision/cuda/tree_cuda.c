// Trees on CUDA, host side.
#include "../../core/cuda/cuda_backend.h"
#include "tree_kernels.h"

static psv_status place_all(psv_tree *tree, const psvi_item_view *view, bool refit) {
    psv_context *context = tree->context;
    const psvi_tree_memory *memory = &tree->memory;
    const cudaStream_t stream = context->stream;
    const bool fine = tree->def.quality == PSV_TREE_FINE;
    cudaError_t error = cudaSuccess;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    if (fine && !refit) error = psvi_launch_fine_tree(view, memory, tree->def.max_items, stream);
    if (!refit && memory->world_starts != NULL) error = psvi_launch_tree_worlds(view, memory, tree->keys, stream);
    if (error == cudaSuccess) error = psvi_launch_tree_items(view, memory, refit, !fine && !refit, stream);
    if (error == cudaSuccess && fine && !refit) // where the order was until now
        error = cudaMemsetAsync(memory->arrivals, 0, memory->node_room * sizeof *memory->arrivals, stream);
    if (error == cudaSuccess && !fine) error = psvi_launch_tree_nodes(view, memory, stream);
    if (error == cudaSuccess && fine && refit) error = psvi_launch_fine_refit(view, memory, stream);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return psvi_cuda_status(context, error, "tree: a kernel launch");
}

static psv_status build_tree(psv_tree *tree, const psvi_item_view *view) {
    psv_context *context = tree->context;
    if (view->boxes.count == 0) return psvi_clear_tree(tree);
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    const cudaError_t error =
        psvi_launch_tree_keys(view, &tree->memory, tree->keys, psvi_may_be_short(tree, view), context->stream);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psvi_cuda_status(context, error, "tree: a kernel launch");
    if (status == PSV_OK) status = psvi_sort_tree_items(tree, view);
    return status == PSV_OK ? place_all(tree, view, false) : status;
}

static psv_status refit_tree(psv_tree *tree, const psvi_item_view *view) {
    return view->boxes.count == 0 ? PSV_OK : place_all(tree, view, true);
}

static psv_status order_queries(psv_tree *tree, psvi_tree_query *query) {
    psv_context *context = tree->context;
    const psvi_tree_memory *memory = &tree->memory;
    const cudaError_t error =
        psvi_launch_query_keys(query, memory->query_keys, &memory->result->count, context->stream);
    const psv_status status = psvi_cuda_status(context, error, "queries: a kernel launch");
    return status == PSV_OK ? psvi_sort_query_keys(tree, query) : status;
}

static cudaError_t run_lists(psv_tree *tree, const psvi_tree_query *query, cudaStream_t stream) {
    const psvi_tree_memory *memory = &tree->memory;
    if (query->offsets == NULL) return psvi_launch_lists(query, true, query->counts, stream);
    uint32_t *counts = query->counts != NULL ? query->counts : memory->query_counts;
    cudaError_t error = psvi_launch_lists(query, false, counts, stream);
    if (error == cudaSuccess)
        error = psvi_launch_offsets(query, counts, memory->query_sums, &memory->result->results, stream);
    if (error == cudaSuccess && query->results != NULL) error = psvi_launch_lists(query, true, NULL, stream);
    return error;
}

static psv_status query_tree(psv_tree *tree, psvi_tree_query *query) {
    psv_context *context = tree->context;
    const bool lists = query->kind >= PSVI_QUERY_ALL_HITS && query->kind <= PSVI_QUERY_SPHERES;
    if (query->count == 0 && query->offsets == NULL) return PSV_OK;
    if (query->sort) {
        const psv_status status = order_queries(tree, query);
        if (status != PSV_OK) return status;
    }
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    const cudaError_t error = lists                               ? run_lists(tree, query, context->stream)
                              : query->kind == PSVI_QUERY_NEAREST ? psvi_launch_nearest(query, context->stream)
                                                                  : psvi_launch_walks(query, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "queries: a kernel launch");
}

const psvi_tree_ops psvi_tree_ops_cuda = {
    .fine_nodes = psvi_fine_tree_nodes,
    .fine_bytes = psvi_fine_tree_bytes,
    .short_keys = true,
    .counts_arrivals = true,
    .views = true,
    .build = build_tree,
    .refit = refit_tree,
    .query = query_tree,
};
