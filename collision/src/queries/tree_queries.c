// Queries of a tree: checks, and the calls.
#include "tree_internal.h"

#define MOST_QUERIES ((uint64_t)1 << 30)

psv_query_set psv_queries_of(psv_buffer data, uint32_t stride, uint64_t count) {
    return (psv_query_set){.data = data, .stride = stride, .count = count};
}

psv_status psvi_view_queries(psv_tree *tree, const psv_query_set *set, const char *name, uint32_t bytes,
                             psvi_tree_query *query) {
    psv_status status = psvi_check_tree(tree);
    if (status != PSV_OK) return status;
    psv_context *context = tree->context;
    if (!tree->has_build) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the tree has no build yet");
    if (set == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", name);
    if (set->count > MOST_QUERIES)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s.count is %llu; the limit is %llu", name,
                         (unsigned long long)set->count, (unsigned long long)MOST_QUERIES);
    if (set->sort && set->count > tree->def.max_queries)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s.count is %llu; def.max_queries is %llu", name,
                         (unsigned long long)set->count, (unsigned long long)tree->def.max_queries);
    if (set->count > 0 && (set->stride < bytes || set->stride % 4 != 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.stride is %u; it must be a multiple of 4 and at least %u",
                         name, set->stride, bytes);
    status = psvi_check_buffer(context, set->data, set->count == 0 ? 0 : (set->count - 1) * set->stride + bytes, 4,
                               "the queries' data");
    if (status == PSV_OK && psvi_is_given(set->count_buffer))
        status = psvi_check_buffer(context, set->count_buffer, 8, 8, "the queries' count_buffer");
    if (status == PSV_OK && psvi_is_given(set->worlds))
        status = psvi_check_buffer(context, set->worlds, set->count * sizeof(uint32_t), 4, "the queries' worlds");
    if (status == PSV_OK && psvi_is_given(set->filters))
        status =
            psvi_check_buffer(context, set->filters, set->count * sizeof(psv_box_filter), 4, "the queries' filters");
    if (status != PSV_OK) return status;
    query->view = psvi_view_of_tree(tree);
    query->data = psvi_buffer_address(set->data);
    query->stride = set->stride;
    query->count = (uint32_t)set->count;
    query->count_device = psvi_buffer_address(set->count_buffer);
    query->worlds = psvi_buffer_address(set->worlds);
    query->filters = psvi_buffer_address(set->filters);
    query->sort = set->sort && set->count > 1;
    if (context->ops->immediate && query->count_device != NULL) {
        if (*query->count_device < query->count) query->count = (uint32_t)*query->count_device;
        query->count_device = NULL;
    }
    return PSV_OK;
}

static psv_status run(psv_tree *tree, psvi_tree_query *query) {
    psv_context *context = tree->context;
    tree->has_query = false;
    tree->has_offsets = query->offsets != NULL;
    tree->results_room = query->results == NULL ? UINT64_MAX : query->room;
    psvi_frame_begin(context);
    const psv_status status = tree->ops->query(tree, query);
    psvi_frame_end(context);
    tree->has_query = status == PSV_OK;
    if (status != PSV_OK || !context->ops->immediate) return status;
    return psv_finish_queries(tree, NULL);
}

psv_status psvi_view_records(psv_tree *tree, psv_buffer target, uint64_t count, uint64_t record_bytes, const char *name,
                             psvi_tree_query *query) {
    query->target = psvi_buffer_address(target);
    return psvi_check_buffer(tree->context, target, count * record_bytes, 4, name);
}

static psv_status run_single(psv_tree *tree, psvi_tree_query *query, psv_buffer target, uint64_t record_bytes,
                             uint64_t count, const char *name) {
    const psv_status status = psvi_view_records(tree, target, count, record_bytes, name, query);
    return status == PSV_OK ? run(tree, query) : status;
}

psv_status psvi_view_lists(psv_tree *tree, const psv_query_lists *lists, uint64_t count, uint64_t record_bytes,
                           psvi_tree_query *query) {
    psv_context *context = tree->context;
    if (lists == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "lists is NULL");
    const bool offsets = psvi_is_given(lists->offsets), results = psvi_is_given(lists->results);
    if (offsets && lists->each != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "lists.each is %u; with lists.offsets it must be 0", lists->each);
    if (offsets && count > tree->def.max_queries)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "the count is %llu; def.max_queries is %llu",
                         (unsigned long long)count, (unsigned long long)tree->def.max_queries);
    if (results && !offsets && lists->each == 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "lists.results is given without lists.offsets and lists.each");
    psv_status status = PSV_OK;
    if (psvi_is_given(lists->counts)) status = psvi_check_buffer(context, lists->counts, count * 4, 4, "lists.counts");
    if (status == PSV_OK && offsets)
        status = psvi_check_buffer(context, lists->offsets, (count + 1) * 8, 8, "lists.offsets");
    if (status == PSV_OK && (results || lists->each > 0))
        status =
            psvi_check_buffer(context, lists->results,
                              offsets ? lists->results.bytes : count * lists->each * record_bytes, 4, "lists.results");
    query->counts = psvi_buffer_address(lists->counts);
    query->offsets = psvi_buffer_address(lists->offsets);
    query->results = psvi_buffer_address(lists->results);
    query->room = offsets ? lists->results.bytes / record_bytes : 0;
    query->each = lists->each;
    query->in_order = lists->in_order;
    return status;
}

static psv_status run_lists(psv_tree *tree, psvi_tree_query *query, const psv_query_set *set, uint64_t record_bytes,
                            const psv_query_lists *lists) {
    const psv_status status = psvi_view_lists(tree, lists, set->count, record_bytes, query);
    return status == PSV_OK ? run(tree, query) : status;
}

psv_status psv_trace_closest(psv_tree *tree, const psv_query_set *rays, psv_buffer hits) {
    psvi_tree_query query = {.kind = PSVI_QUERY_CLOSEST_HIT};
    const psv_status status = psvi_view_queries(tree, rays, "rays", sizeof(psv_ray), &query);
    return status == PSV_OK ? run_single(tree, &query, hits, sizeof(psv_ray_hit), rays->count, "hits") : status;
}

psv_status psv_trace_any(psv_tree *tree, const psv_query_set *rays, psv_buffer hits) {
    psvi_tree_query query = {.kind = PSVI_QUERY_ANY_HIT};
    const psv_status status = psvi_view_queries(tree, rays, "rays", sizeof(psv_ray), &query);
    return status == PSV_OK ? run_single(tree, &query, hits, sizeof(uint32_t), rays->count, "hits") : status;
}

psv_status psv_trace_all(psv_tree *tree, const psv_query_set *rays, const psv_query_lists *lists) {
    psvi_tree_query query = {.kind = PSVI_QUERY_ALL_HITS};
    const psv_status status = psvi_view_queries(tree, rays, "rays", sizeof(psv_ray), &query);
    return status == PSV_OK ? run_lists(tree, &query, rays, sizeof(psv_ray_hit), lists) : status;
}

psv_status psv_overlap_boxes(psv_tree *tree, const psv_query_set *boxes, const psv_query_lists *lists) {
    psvi_tree_query query = {.kind = PSVI_QUERY_BOXES};
    const psv_status status = psvi_view_queries(tree, boxes, "boxes", sizeof(psv_aabb), &query);
    return status == PSV_OK ? run_lists(tree, &query, boxes, sizeof(uint32_t), lists) : status;
}

psv_status psv_overlap_spheres(psv_tree *tree, const psv_query_set *spheres, const psv_query_lists *lists) {
    psvi_tree_query query = {.kind = PSVI_QUERY_SPHERES};
    const psv_status status = psvi_view_queries(tree, spheres, "spheres", sizeof(psv_sphere), &query);
    return status == PSV_OK ? run_lists(tree, &query, spheres, sizeof(uint32_t), lists) : status;
}

psv_status psv_find_nearest(psv_tree *tree, const psv_query_set *spheres, uint32_t k, psv_buffer near_items) {
    psvi_tree_query query = {.kind = PSVI_QUERY_NEAREST, .each = k};
    const psv_status status = psvi_view_queries(tree, spheres, "spheres", sizeof(psv_sphere), &query);
    if (status != PSV_OK) return status;
    if (k == 0) return psvi_fail(tree->context, PSV_ERROR_ARGUMENT, "k is 0; it must be at least 1");
    return run_single(tree, &query, near_items, k * sizeof(psv_near_item), spheres->count, "near_items");
}

psv_status psv_find_closest(psv_tree *tree, const psv_query_set *spheres, psv_buffer points) {
    psvi_tree_query query = {.kind = PSVI_QUERY_CLOSEST_POINT};
    const psv_status status = psvi_view_queries(tree, spheres, "spheres", sizeof(psv_sphere), &query);
    return status == PSV_OK ? run_single(tree, &query, points, sizeof(psv_closest_point), spheres->count, "points")
                            : status;
}

psv_status psv_finish_queries(psv_tree *tree, uint64_t *results) {
    psv_status status = psvi_check_tree(tree);
    if (status != PSV_OK) return status;
    psv_context *context = tree->context;
    if (!tree->has_query) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the tree's build has no query yet");
    psvi_query_result result = {0};
    if (tree->has_offsets)
        status = context->ops->copy(context, &result, tree->memory.result, sizeof result, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    if (results != NULL) *results = result.results;
    if (result.results <= tree->results_room) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_CAPACITY, "lists.results holds %llu results; %llu are needed",
                     (unsigned long long)tree->results_room, (unsigned long long)result.results);
}
