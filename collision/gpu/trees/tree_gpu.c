// Builds and refits of trees in compute shaders, host side.
#include "tree_gpu.h"

enum { HAS_FLAGS = 1, HAS_WORLDS = 2, HAS_COUNT = 4, HAS_INDICES = 8, IS_TRIANGLES = 16 }; // of tree_items.glsl

// A kernel over the items of a view: blocks 0 to 6 and parameters 0 to 6 as tree_items.glsl has them.
static psvi_gpu_call item_call(const psv_tree *tree, const psvi_item_view *view, const psvi_gpu_source *source,
                               uint64_t groups) {
    const psvi_box_view *boxes = &view->boxes;
    const uint64_t count = boxes->count;
    psvi_gpu_call call = {
        .source = source,
        .blocks = {psvi_gpu_tree_head(&tree->memory),
                   psvi_gpu_span(boxes->min, count, boxes->min_stride, 12),
                   psvi_gpu_span(boxes->max, count, boxes->max_stride, 12),
                   psvi_gpu_byte_span(boxes->flags, count),
                   psvi_gpu_span(boxes->worlds, count, 4, 4),
                   psvi_gpu_span(view->indices, count, view->index_stride, 12),
                   {boxes->count_device, 8}},
        .params = {(uint32_t)count,
                   (boxes->flags != NULL ? HAS_FLAGS : 0u) | (boxes->worlds != NULL ? HAS_WORLDS : 0u) |
                       (boxes->count_device != NULL ? HAS_COUNT : 0u) | (view->indices != NULL ? HAS_INDICES : 0u) |
                       (view->triangles ? IS_TRIANGLES : 0u),
                   boxes->min_stride / 4, boxes->max_stride / 4, psvi_gpu_byte_rest(boxes->flags), view->world_count},
        .groups = groups,
    };
    if (!view->triangles) return call;
    call.blocks[1] =
        psvi_gpu_span(view->vertex_count == 0 ? NULL : view->vertices, view->vertex_count, view->vertex_stride, 12);
    call.blocks[2] = (psvi_gpu_block){0};
    call.params[2] = view->vertex_stride / 4;
    call.params[3] = view->index_stride / 4;
    call.params[6] = view->vertex_count > UINT32_MAX ? UINT32_MAX : (uint32_t)view->vertex_count;
    return call;
}

static psv_status make_keys(psv_tree *tree, const psvi_item_view *view) {
    psv_context *context = tree->context;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    psvi_gpu_call call = item_call(tree, view, &psvi_glsl_tree_plan, 1);
    call.blocks[7] = (psvi_gpu_block){tree->memory.keys, 8 * view->boxes.count};
    call.params[7] = tree->keys.world_bits;
    call.params[8] = tree->keys.axis_bits;
    call.params[9] = psvi_may_be_short(tree, view);
    psv_status status = psvi_gpu_run(context, &call);
    call.source = &psvi_glsl_tree_keys;
    call.groups = (view->boxes.count + 127) / 128;
    if (status == PSV_OK) status = psvi_gpu_run(context, &call);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    return status;
}

static psv_status find_worlds(const psv_tree *tree, const psvi_item_view *view) {
    const psvi_tree_memory *memory = &tree->memory;
    const uint32_t worlds = tree->def.world_count;
    psvi_gpu_call call = {
        .source = &psvi_glsl_tree_worlds,
        .blocks = {psvi_gpu_tree_head(memory)},
        .groups = ((uint64_t)worlds + 1 + 127) / 128,
    };
    call.blocks[7] = (psvi_gpu_block){memory->keys, 8 * view->boxes.count};
    call.blocks[8] = (psvi_gpu_block){memory->world_starts, 4 * ((uint64_t)worlds + 1)};
    call.params[8] = tree->keys.axis_bits;
    call.params[10] = worlds;
    return psvi_gpu_run(tree->context, &call);
}

static psv_status place_items(psv_tree *tree, const psvi_item_view *view, bool refit) {
    const psvi_tree_memory *memory = &tree->memory;
    const uint64_t count = view->boxes.count;
    psvi_gpu_call call = item_call(tree, view, &psvi_glsl_tree_place, (count + 127) / 128);
    call.blocks[8] = (psvi_gpu_block){refit ? NULL : memory->order, 4 * count};
    call.blocks[9] = (psvi_gpu_block){memory->items, sizeof(psv_tree_box) * count};
    call.blocks[10] = (psvi_gpu_block){view->triangles ? memory->ends : NULL, sizeof(psv_tree_end) * count};
    call.params[7] = refit;
    return psvi_gpu_run(tree->context, &call);
}

// The nodes, level by level; fewer where not all items are in the tree.
static psv_status make_nodes(psv_tree *tree, const psvi_item_view *view) {
    const psvi_tree_memory *memory = &tree->memory;
    uint64_t children = view->boxes.count;
    psvi_gpu_call call = {
        .source = &psvi_glsl_tree_nodes,
        .defines = "#define LEAVES 1\n",
        .blocks = {psvi_gpu_tree_head(memory)},
        .params = {1, view->triangles},
    };
    call.blocks[7] = (psvi_gpu_block){memory->boxes, sizeof *memory->boxes * memory->node_room};
    call.blocks[9] = (psvi_gpu_block){memory->items, sizeof(psv_tree_box) * children};
    call.blocks[10] = (psvi_gpu_block){view->triangles ? memory->ends : NULL, sizeof(psv_tree_end) * children};
    call.blocks[11] = (psvi_gpu_block){memory->nodes, sizeof *memory->nodes * memory->node_room};
    psv_status status = PSV_OK;
    do {
        call.groups = (children + 511) / 512;
        status = psvi_gpu_run(tree->context, &call);
        children = (children + 7) / 8;
        call.defines = "#define LEAVES 0\n";
        ++call.params[0];
    } while (children > 1 && status == PSV_OK);
    return status;
}

static psv_status place_all(psv_tree *tree, const psvi_item_view *view, bool refit) {
    psvi_phase_begin(tree->context, PSV_PHASE_GATHER);
    psv_status status = PSV_OK;
    if (!refit && tree->memory.world_starts != NULL) status = find_worlds(tree, view);
    if (status == PSV_OK) status = place_items(tree, view, refit);
    if (status == PSV_OK) status = make_nodes(tree, view);
    psvi_phase_end(tree->context, PSV_PHASE_GATHER);
    return status;
}

static psv_status build_tree(psv_tree *tree, const psvi_item_view *view) {
    if (view->boxes.count == 0) return psvi_clear_tree(tree);
    psv_status status = make_keys(tree, view);
    if (status == PSV_OK) status = psvi_sort_tree_items(tree, view);
    return status == PSV_OK ? place_all(tree, view, false) : status;
}

static psv_status refit_tree(psv_tree *tree, const psvi_item_view *view) {
    return view->boxes.count == 0 ? PSV_OK : place_all(tree, view, true);
}

// Each array of a tree is one storage block; the items are the largest.
static psv_status check_room(psv_context *context, const psv_tree_def *def) {
    const uint64_t most = (psvi_gpu_of(context)->block_bytes - 512) / sizeof(psv_tree_box);
    if (def->max_items <= most) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                     "def.max_items is %llu; %llu fit into a storage block of this driver",
                     (unsigned long long)def->max_items, (unsigned long long)most);
}

const psvi_tree_ops psvi_tree_ops_gpu = {
    .short_keys = true,
    .check = check_room,
    .build = build_tree,
    .refit = refit_tree,
    .query = psvi_gpu_query_tree,
};
