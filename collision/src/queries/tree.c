// Trees: defs, memory, checks of items, and statistics. The work is the backends'.
#include "tree_internal.h"

#include <stdlib.h>

#include "../../../sort/src/sort_method.h"
#include "../finder.h"

#define TREE_DEF_COOKIE 0x70747264u
#define MOST_ITEMS ((uint64_t)1 << 30)

static const psvi_tree_ops *ops_of(psv_backend backend) {
    const psvi_collision_module *module = psvi_collision_module_of(backend);
    return module == NULL ? NULL : module->trees;
}

psv_tree_def psv_default_tree_def(void) {
    return (psv_tree_def){.cookie = TREE_DEF_COOKIE, .quality = PSV_TREE_LINEAR, .sort_method = "radix"};
}

// --- memory ----------------------------------------------------------------------------------------------------------

static bool is_fine(const psvi_tree_ops *ops, const psv_tree_def *def) {
    return def->quality == PSV_TREE_FINE && def->world_count <= 1 && ops->fine_nodes != NULL &&
           ops->fine_nodes(def->max_items) <= PSV_TREE_NODE_LIMIT;
}

static psv_sorter_def item_sorter_def(const psv_tree_def *def) {
    const psvi_tree_keys keys = psvi_choose_tree_keys(def->world_count);
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = def->sort_method;
    sorter.key_type = PSV_KEY_U64;
    sorter.max_count = def->max_items;
    sorter.end_bit = keys.world_bits + 3 * keys.axis_bits + 1;
    return sorter;
}

static bool has_short_keys(psv_backend backend, const psv_tree_def *def) {
    return ops_of(backend)->short_keys && def->world_count <= 1;
}

// Of the items of builds that are small enough.
static psv_sorter_def short_sorter_def(const psv_tree_def *def) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = def->sort_method;
    sorter.max_count = def->max_items < PSVI_SHORT_KEY_ITEMS ? def->max_items : PSVI_SHORT_KEY_ITEMS;
    return sorter;
}

static psv_sorter_def query_sorter_def(const psv_tree_def *def) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = def->sort_method;
    sorter.max_count = def->max_queries;
    sorter.end_bit = PSVI_QUERY_BITS;
    return sorter;
}

static uint64_t node_room(const psvi_tree_ops *ops, const psv_tree_def *def) {
    psv_tree_head head;
    psvi_linear_levels(&head, (uint32_t)def->max_items);
    uint64_t nodes = head.node_count;
    if (is_fine(ops, def) && ops->fine_nodes(def->max_items) > nodes) nodes = ops->fine_nodes(def->max_items);
    return nodes;
}

static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

// Sets the addresses from `base` on and returns how many bytes there are.
static uint64_t lay_out(psv_backend backend, const psv_tree_def *def, char *base, psvi_tree_memory *memory) {
    const psvi_tree_ops *ops = ops_of(backend);
    const psv_sorter_def sorter = item_sorter_def(def);
    const psv_sorter_def short_sorter = short_sorter_def(def);
    const uint64_t items = def->max_items, long_bytes = psv_sorter_scratch_bytes(backend, &sorter);
    const uint64_t short_bytes = has_short_keys(backend, def) ? psv_sorter_scratch_bytes(backend, &short_sorter) : 0;
    const uint64_t sorter_bytes = greater(long_bytes, short_bytes);
    const bool fine = is_fine(ops, def);
    char *at = base;
    *memory = (psvi_tree_memory){.node_room = node_room(ops, def)};
    memory->head = psvi_next_part(&at, sizeof *memory->head);
    memory->result = psvi_next_part(&at, sizeof *memory->result);
    memory->nodes = psvi_next_part(&at, memory->node_room * sizeof *memory->nodes);
    const bool worlds = def->world_count > 1;
    if (worlds)
        memory->world_starts = psvi_next_part(&at, ((uint64_t)def->world_count + 1) * sizeof *memory->world_starts);
    const uint64_t order_bytes = items * sizeof *memory->order;
    const uint64_t arrival_bytes = memory->node_room * sizeof *memory->arrivals;
    if (fine && ops->counts_arrivals) {
        const uint64_t box_bytes = memory->node_room * sizeof *memory->small_boxes;
        memory->order = psvi_next_part(&at, greater(order_bytes, box_bytes + arrival_bytes));
        memory->small_boxes = (psvi_small_box *)memory->order;
        memory->arrivals = (uint32_t *)(memory->small_boxes + memory->node_room);
    } else {
        if (ops->counts_arrivals) memory->arrivals = psvi_next_part(&at, arrival_bytes);
        memory->boxes = psvi_next_part(&at, memory->node_room * sizeof *memory->boxes);
        memory->order = fine ? psvi_next_part(&at, order_bytes) : (uint32_t *)memory->nodes;
    }
    // With several worlds the keys are still needed when the items are written.
    if (worlds) memory->keys = psvi_next_part(&at, items * sizeof *memory->keys);
    char *const shared = at;
    memory->items = psvi_next_part(&at, items * (def->triangles ? sizeof(psv_tree_corners) : sizeof(psv_tree_box)));
    if (def->triangles) memory->ends = psvi_next_part(&at, items * sizeof *memory->ends);
    char *behind_keys = shared, *end;
    if (!worlds) memory->keys = psvi_next_part(&behind_keys, items * sizeof *memory->keys);
    memory->sorter = psv_buffer_of(behind_keys, sorter_bytes);
    end = behind_keys + psvi_align(sorter_bytes);
    if (end > at) at = end;
    if (fine) {
        memory->fine = ops->fine_reads_keys ? behind_keys : shared;
        end = (char *)memory->fine + psvi_align(ops->fine_bytes(items));
        if (end > at) at = end;
    }
    if (def->refit_items) memory->places = psvi_next_part(&at, items * sizeof *memory->places);
    if (def->max_queries > 0) {
        const psv_sorter_def queries = query_sorter_def(def);
        const uint64_t bytes = psv_sorter_scratch_bytes(backend, &queries);
        memory->query_counts = psvi_next_part(&at, def->max_queries * sizeof(uint32_t));
        memory->query_sums = psvi_next_part(&at, (def->max_queries / 1024 + 2) * sizeof(uint64_t));
        memory->query_keys = psvi_next_part(&at, def->max_queries * sizeof(uint32_t));
        memory->query_order = psvi_next_part(&at, def->max_queries * sizeof(uint32_t));
        memory->query_sorter = psv_buffer_of(psvi_next_part(&at, bytes), bytes);
    }
    return (uint64_t)(at - base);
}

static psv_status check_def(psv_context *context, psv_backend backend, const psv_tree_def *def) {
    if (def == NULL || def->cookie != TREE_DEF_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL or not from psv_default_tree_def");
    if (ops_of(backend) == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no trees", psv_backend_name(backend));
    if (def->quality != PSV_TREE_LINEAR && def->quality != PSV_TREE_FINE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.quality is %d; it must be PSV_TREE_LINEAR or PSV_TREE_FINE",
                         (int)def->quality);
    if (def->quality == PSV_TREE_FINE && def->world_count <= 1 && ops_of(backend)->fine_nodes == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "def.quality is PSV_TREE_FINE; the %s backend builds PSV_TREE_LINEAR alone",
                         psv_backend_name(backend));
    if (def->max_items == 0) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_items is 0; it must be at least 1");
    if (def->max_items > MOST_ITEMS || def->max_queries > MOST_ITEMS)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "def.max_%s is %llu; the limit is %llu",
                         def->max_items > MOST_ITEMS ? "items" : "queries",
                         (unsigned long long)(def->max_items > MOST_ITEMS ? def->max_items : def->max_queries),
                         (unsigned long long)MOST_ITEMS);
    if (def->sort_method == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.sort_method is NULL");
    psv_sorter_def sorter = item_sorter_def(def), resolved;
    const psvi_sort_method *method;
    psv_status status = psvi_resolve_sorter_def(context, backend, &sorter, &resolved, &method);
    if (status == PSV_OK && has_short_keys(backend, def)) {
        sorter = short_sorter_def(def);
        status = psvi_resolve_sorter_def(context, backend, &sorter, &resolved, &method);
    }
    if (status != PSV_OK || def->max_queries == 0) return status;
    sorter = query_sorter_def(def);
    return psvi_resolve_sorter_def(context, backend, &sorter, &resolved, &method);
}

uint64_t psv_tree_bytes(psv_backend backend, const psv_tree_def *def) {
    psvi_tree_memory memory;
    if (check_def(NULL, backend, def) != PSV_OK) return 0;
    return lay_out(backend, def, (char *)256, &memory);
}

static psv_status create_parts(psv_tree *tree) {
    psv_context *context = tree->context;
    psvi_tree_memory *memory = &tree->memory;
    tree->block_bytes = lay_out(context->backend, &tree->def, (char *)256, memory);
    tree->block = psvi_alloc(context, tree->block_bytes);
    if (tree->block == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for a tree of %llu items (%llu bytes)",
                         context->ops->name, (unsigned long long)tree->def.max_items,
                         (unsigned long long)tree->block_bytes);
    (void)lay_out(context->backend, &tree->def, tree->block, memory);
    psv_sorter_def sorter = item_sorter_def(&tree->def);
    sorter.scratch = psvi_buffer_at(context, memory->sorter.address, memory->sorter.bytes);
    psv_status status = psv_create_sorter(context, &sorter, &tree->sorter);
    if (status == PSV_OK && has_short_keys(context->backend, &tree->def)) {
        sorter = short_sorter_def(&tree->def);
        sorter.scratch = psvi_buffer_at(context, memory->sorter.address, memory->sorter.bytes);
        status = psv_create_sorter(context, &sorter, &tree->short_sorter);
    }
    if (status == PSV_OK && tree->def.max_queries > 0) {
        sorter = query_sorter_def(&tree->def);
        sorter.scratch = psvi_buffer_at(context, memory->query_sorter.address, memory->query_sorter.bytes);
        status = psv_create_sorter(context, &sorter, &tree->query_sorter);
    }
    if (status == PSV_OK && memory->arrivals != NULL)
        status = context->ops->fill(context, memory->arrivals, 0, memory->node_room * sizeof *memory->arrivals);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

psv_status psv_create_tree(psv_context *context, const psv_tree_def *def, psv_tree **tree) {
    if (tree != NULL) *tree = NULL;
    psv_status status = psvi_check_creates(context);
    if (status != PSV_OK) return status;
    if (tree == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "tree is NULL");
    status = check_def(context, context->backend, def);
    if (status == PSV_OK && ops_of(context->backend)->check != NULL)
        status = ops_of(context->backend)->check(context, def);
    if (status != PSV_OK) return status;
    psv_tree *made = calloc(1, sizeof *made);
    if (made == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a tree (%zu bytes)", sizeof *made);
    made->cookie = PSVI_TREE_COOKIE;
    made->context = context;
    made->ops = ops_of(context->backend);
    made->def = *def;
    if (made->def.world_count == 0) made->def.world_count = 1;
    made->asked_fine = def->quality == PSV_TREE_FINE;
    made->def.quality = is_fine(made->ops, def) ? PSV_TREE_FINE : PSV_TREE_LINEAR;
    made->keys = psvi_choose_tree_keys(made->def.world_count);
    status = create_parts(made);
    made->def.sort_method = NULL; // the caller's string may go
    if (status != PSV_OK) {
        psv_destroy_tree(made);
        return status;
    }
    *tree = made;
    return PSV_OK;
}

void psv_destroy_tree(psv_tree *tree) {
    if (tree == NULL || tree->cookie != PSVI_TREE_COOKIE) return;
    psv_context *context = tree->context;
    (void)context->ops->synchronize(context);
    psv_destroy_sorter(tree->sorter);
    psv_destroy_sorter(tree->short_sorter);
    psv_destroy_sorter(tree->query_sorter);
    psvi_free(context, tree->block, tree->block_bytes);
    tree->cookie = 0;
    free(tree);
}

psv_status psvi_check_tree(const psv_tree *tree) {
    if (tree == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "tree is NULL");
    if (tree->cookie != PSVI_TREE_COOKIE) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "tree is not a living tree");
    return PSV_OK;
}

psv_tree_view psvi_view_of_tree(const psv_tree *tree) {
    return (psv_tree_view){
        .nodes = tree->memory.nodes,
        .items = tree->memory.items,
        .ends = tree->memory.ends,
        .head = tree->memory.head,
        .world_starts = tree->memory.world_starts,
        .filters = tree->filters,
        .world_count = tree->def.world_count,
        .triangles = tree->triangles,
    };
}

// --- the sort of a build on a device ---------------------------------------------------------------------------------

bool psvi_may_be_short(const psv_tree *tree, const psvi_item_view *view) {
    return tree->short_sorter != NULL && view->boxes.count <= PSVI_SHORT_KEY_ITEMS;
}

// The keys in place, and the number of each in `order`.
static psv_status sort_keys(psv_sorter *sorter, void *keys, uint32_t *order, uint64_t most, const uint64_t *count) {
    const psvi_sort_request request = {
        .keys_in = keys,
        .keys_out = keys,
        .values_out = order,
        .value_bytes = 4,
        .implicit_index = true,
        .count = most,
        .count_device = count,
    };
    return psvi_sort_run(sorter, &request);
}

psv_status psvi_sort_tree_items(psv_tree *tree, const psvi_item_view *view) {
    const psvi_tree_memory *memory = &tree->memory;
    const bool both = psvi_may_be_short(tree, view), counted = both || view->boxes.count_device != NULL;
    psv_status status = PSV_OK;
    if (both)
        status =
            sort_keys(tree->short_sorter, memory->keys, memory->order, view->boxes.count, &memory->result->short_count);
    if (status != PSV_OK) return status;
    return sort_keys(tree->sorter, memory->keys, memory->order, view->boxes.count,
                     counted ? &memory->result->count : NULL);
}

psv_status psvi_sort_query_keys(psv_tree *tree, psvi_tree_query *query) {
    const psvi_tree_memory *memory = &tree->memory;
    query->order = memory->query_order;
    return sort_keys(tree->query_sorter, memory->query_keys, memory->query_order, query->count,
                     query->count_device == NULL ? NULL : &memory->result->count);
}

psv_status psvi_clear_tree(psv_tree *tree) {
    psv_context *context = tree->context;
    const psvi_tree_memory *memory = &tree->memory;
    const psv_status status = context->ops->fill(context, memory->head, 0, sizeof *memory->head);
    if (status != PSV_OK || memory->world_starts == NULL) return status;
    return context->ops->fill(context, memory->world_starts, 0,
                              ((uint64_t)tree->def.world_count + 1) * sizeof *memory->world_starts);
}

// --- items -----------------------------------------------------------------------------------------------------------

psv_triangle_set psv_triangles_of(psv_buffer vertices, uint64_t vertex_count, psv_buffer indices, uint64_t count) {
    return (psv_triangle_set){.vertices = vertices,
                              .vertex_stride = 12,
                              .vertex_count = vertex_count,
                              .indices = indices,
                              .index_stride = psvi_is_given(indices) ? 12 : 0,
                              .count = count};
}

static psv_status view_boxes(psv_tree *tree, const psv_box_set *boxes, psvi_item_view *view) {
    *view = (psvi_item_view){.world_count = tree->def.world_count};
    psvi_rule_side side; // ids, owners and layers: not looked at
    if (boxes != NULL && boxes->doubles)
        return psvi_fail(tree->context, PSV_ERROR_UNSUPPORTED, "boxes.doubles is set; trees take float coordinates");
    return psvi_view_boxes(tree->context, boxes, "boxes", &view->boxes, &side);
}

static uint64_t span(uint64_t count, uint32_t stride, uint32_t last) {
    return count == 0 ? 0 : (count - 1) * stride + last;
}

static psv_status check_stride(psv_context *context, const char *name, uint32_t stride) {
    if (stride >= 12 && stride % 4 == 0) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is %u; it must be a multiple of 4 and at least 12", name, stride);
}

// Vertices and indices; the parts in common with a box set are checked as one.
static psv_status check_corners(psv_context *context, const psv_triangle_set *set) {
    const bool indexed = psvi_is_given(set->indices);
    if (set->vertex_count > (uint64_t)1 << 32)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "triangles.vertex_count is %llu; the limit is 4294967296",
                         (unsigned long long)set->vertex_count);
    if (!indexed && set->index_stride != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "triangles.index_stride is %u; without indices it must be 0",
                         set->index_stride);
    if (!indexed && set->vertex_count / 3 < set->count)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "triangles.vertex_count is %llu; %llu triangles without indices need 3 each",
                         (unsigned long long)set->vertex_count, (unsigned long long)set->count);
    psv_status status = check_stride(context, "triangles.vertex_stride", set->vertex_stride);
    if (status == PSV_OK && indexed) status = check_stride(context, "triangles.index_stride", set->index_stride);
    if (status == PSV_OK)
        status = psvi_check_buffer(context, set->vertices, span(set->vertex_count, set->vertex_stride, 12), 4,
                                   "triangles.vertices");
    if (status == PSV_OK && indexed)
        status =
            psvi_check_buffer(context, set->indices, span(set->count, set->index_stride, 12), 4, "triangles.indices");
    return status;
}

static psv_status view_triangles(psv_tree *tree, const psv_triangle_set *set, psvi_item_view *view) {
    psv_context *context = tree->context;
    if (set == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "triangles is NULL");
    if (!tree->def.triangles)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the tree has no room for triangles (def.triangles)");
    if (set->count > MOST_ITEMS)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "triangles.count is %llu; the limit is %llu",
                         (unsigned long long)set->count, (unsigned long long)MOST_ITEMS);
    psv_status status = set->count == 0 ? PSV_OK : check_corners(context, set);
    // The other parts, as a box set whose boxes are ignored.
    psv_box_set rest = psv_boxes_of(set->vertices, 24, 0);
    psvi_rule_side side;
    rest.count_buffer = set->count_buffer;
    *view = (psvi_item_view){.triangles = true, .world_count = tree->def.world_count};
    if (status == PSV_OK) status = psvi_view_boxes(context, &rest, "triangles", &view->boxes, &side);
    if (status == PSV_OK && psvi_is_given(set->flags))
        status = psvi_check_buffer(context, set->flags, set->count, 1, "triangles.flags");
    if (status == PSV_OK && psvi_is_given(set->filters))
        status = psvi_check_buffer(context, set->filters, set->count * sizeof(psv_box_filter), 4, "triangles.filters");
    if (status == PSV_OK && psvi_is_given(set->worlds))
        status = psvi_check_buffer(context, set->worlds, set->count * sizeof(uint32_t), 4, "triangles.worlds");
    if (status != PSV_OK) return status;
    psvi_box_view *parts = &view->boxes;
    parts->room = parts->count = set->count;
    parts->count_device = psvi_buffer_address(set->count_buffer);
    parts->flags = psvi_buffer_address(set->flags);
    parts->filters = psvi_buffer_address(set->filters);
    parts->worlds = psvi_buffer_address(set->worlds);
    if (context->ops->immediate && parts->count_device != NULL) {
        if (*parts->count_device < parts->count) parts->count = *parts->count_device;
        parts->count_device = NULL;
    }
    view->vertices = psvi_buffer_address(set->vertices);
    view->indices = psvi_buffer_address(set->indices);
    view->vertex_count = set->vertex_count;
    view->vertex_stride = set->vertex_stride;
    view->index_stride = set->index_stride;
    return PSV_OK;
}

static psv_status build(psv_tree *tree, const psvi_item_view *view) {
    psv_context *context = tree->context;
    if (view->boxes.room > tree->def.max_items)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s.count is %llu; def.max_items is %llu",
                         view->triangles ? "triangles" : "boxes", (unsigned long long)view->boxes.room,
                         (unsigned long long)tree->def.max_items);
    tree->has_build = false;
    tree->has_query = false;
    psvi_frame_begin(context);
    const psv_status status = tree->ops->build(tree, view);
    psvi_frame_end(context);
    if (status != PSV_OK) return status;
    tree->has_build = true;
    tree->triangles = view->triangles;
    tree->room = view->boxes.room;
    tree->filters = view->boxes.filters;
    return PSV_OK;
}

// items: NULL, or those that have moved.
static psv_status refit(psv_tree *tree, const psvi_item_view *view, const uint32_t *items, uint64_t count) {
    psv_context *context = tree->context;
    if (!tree->has_build || tree->triangles != view->triangles)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "the tree has no build of %s to refit",
                         view->triangles ? "triangles" : "boxes");
    if (view->boxes.room != tree->room)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "the set's count is %llu; the tree was built with %llu",
                         (unsigned long long)view->boxes.room, (unsigned long long)tree->room);
    psvi_frame_begin(context);
    const bool some = tree->def.refit_items && items != NULL && tree->ops->refit_items != NULL;
    const psv_status status = some ? tree->ops->refit_items(tree, view, items, count) : tree->ops->refit(tree, view);
    psvi_frame_end(context);
    tree->filters = view->boxes.filters;
    return status;
}

psv_status psv_build_tree(psv_tree *tree, const psv_box_set *boxes) {
    psvi_item_view view;
    psv_status status = psvi_check_tree(tree);
    if (status == PSV_OK) status = view_boxes(tree, boxes, &view);
    return status == PSV_OK ? build(tree, &view) : status;
}

psv_status psv_build_triangle_tree(psv_tree *tree, const psv_triangle_set *triangles) {
    psvi_item_view view;
    psv_status status = psvi_check_tree(tree);
    if (status == PSV_OK) status = view_triangles(tree, triangles, &view);
    return status == PSV_OK ? build(tree, &view) : status;
}

psv_status psv_refit_tree(psv_tree *tree, const psv_box_set *boxes) {
    psvi_item_view view;
    psv_status status = psvi_check_tree(tree);
    if (status == PSV_OK) status = view_boxes(tree, boxes, &view);
    return status == PSV_OK ? refit(tree, &view, NULL, 0) : status;
}

static psv_status check_items(const psv_tree *tree, const psvi_item_view *view, psv_buffer items, uint64_t count) {
    psv_context *context = tree->context;
    if (!tree->def.refit_items) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the tree has no def.refit_items");
    const psv_status status = psvi_check_buffer(context, items, count * sizeof(uint32_t), 4, "items");
    const uint32_t *list = psvi_buffer_address(items);
    for (uint64_t i = 0; status == PSV_OK && context->ops->immediate && i < count; ++i)
        if (list[i] >= view->boxes.count)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "items[%llu] is %u; boxes.count is %llu",
                             (unsigned long long)i, list[i], (unsigned long long)view->boxes.count);
    return status;
}

psv_status psv_refit_tree_items(psv_tree *tree, const psv_box_set *boxes, psv_buffer items, uint64_t count) {
    psvi_item_view view;
    psv_status status = psvi_check_tree(tree);
    if (status == PSV_OK) status = view_boxes(tree, boxes, &view);
    if (status == PSV_OK) status = check_items(tree, &view, items, count);
    const uint32_t none = 0, *list = count == 0 ? &none : psvi_buffer_address(items);
    return status == PSV_OK ? refit(tree, &view, list, count) : status;
}

psv_status psv_refit_triangle_tree(psv_tree *tree, const psv_triangle_set *triangles) {
    psvi_item_view view;
    psv_status status = psvi_check_tree(tree);
    if (status == PSV_OK) status = view_triangles(tree, triangles, &view);
    return status == PSV_OK ? refit(tree, &view, NULL, 0) : status;
}

psv_status psv_view_tree(psv_tree *tree, psv_tree_view *view) {
    const psv_status status = psvi_check_tree(tree);
    if (status != PSV_OK) return status;
    if (view == NULL) return psvi_fail(tree->context, PSV_ERROR_ARGUMENT, "view is NULL");
    if (!tree->ops->views)
        return psvi_fail(tree->context, PSV_ERROR_UNSUPPORTED,
                         "trees of the %s backend have no addresses; views are of trees on cpu and cuda",
                         psv_backend_name(tree->context->backend));
    if (!tree->has_build) return psvi_fail(tree->context, PSV_ERROR_ARGUMENT, "the tree has no build yet");
    *view = psvi_view_of_tree(tree);
    return PSV_OK;
}

psv_status psv_read_tree_statistics(psv_tree *tree, psv_tree_statistics *statistics) {
    psv_status status = psvi_check_tree(tree);
    if (status != PSV_OK) return status;
    psv_context *context = tree->context;
    if (statistics == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    if (!tree->has_build) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the tree has no build yet");
    psv_tree_head head;
    status = context->ops->copy(context, &head, tree->memory.head, sizeof head, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    *statistics = (psv_tree_statistics){
        .items = head.item_count,
        .bad_items = head.bad_count,
        .nodes = head.node_count,
        .levels = head.level_count,
        .key_bits = head.key_bits,
        .fell_back = tree->asked_fine && head.linear != 0,
    };
    return PSV_OK;
}
