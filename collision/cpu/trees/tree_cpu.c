// Trees on the CPU: keys, order, and the nodes of a linear tree, level by level.
#include "tree_cpu.h"

#include <stdlib.h>

#include "../../../core/cpu/workers.h"

#define CHUNK 4096 // items that a thread takes at a time

// --- kernels ---------------------------------------------------------------------------------------------------------

static void make_node_plain(const psvi_node_children *children, uint32_t count, psv_tree_node *node, psv_aabb *box) {
    psvi_tree_child made[8];
    for (uint32_t c = 0; c < count; ++c) {
        made[c].offset = children->offset[c];
        made[c].inner = children->inner >> c & 1u;
        for (int axis = 0; axis < 3; ++axis) {
            made[c].min[axis] = children->min[axis][c];
            made[c].max[axis] = children->max[axis][c];
        }
    }
    psvi_make_node(made, count, node, box);
}

static void places_plain(const psv_tree_head *head, const float centre[3][8], uint32_t bits, uint32_t most,
                         uint64_t places[8]) {
    for (uint32_t i = 0; i < 8; ++i) {
        const float point[3] = {centre[0][i], centre[1][i], centre[2][i]};
        places[i] = psvi_tree_place(head, point, bits, most);
    }
}

psvi_tree_kernels psvi_choose_tree_kernels(void) {
#ifdef PSVI_HAVE_AVX2_FILE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (psvi_tree_kernels){psvi_make_node_avx2, psvi_tree_places_avx2};
#endif
    return (psvi_tree_kernels){make_node_plain, places_plain};
}

// What the loops below share.
typedef struct build_job {
    psv_tree *tree;
    psvi_tree_kernels kernels;
    const psvi_item_view *view;
    psv_aabb *boxes;
    uint64_t good, bad; // by atomic addition
    uint32_t bits, level;
    bool refit, triangles;
} build_job;

// --- the grid of the keys --------------------------------------------------------------------------------------------

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Samples of the whole list, with their centres; items far outside of any scene are ignored.
static uint32_t take_samples(const psvi_item_view *view, float centre[3][PSVI_TREE_SAMPLES]) {
    uint32_t samples = 0;
    for (uint32_t s = 0; s < PSVI_TREE_SAMPLES && view->boxes.count > 0; ++s) {
        psvi_item item;
        if (psvi_load_item(view, psvi_tree_sample(view->boxes.count, s), &item) != PSVI_ITEM_GOOD) continue;
        bool usual = true;
        for (int axis = 0; axis < 3; ++axis)
            usual = usual && fabsf(item.min[axis]) < 1e18f && fabsf(item.max[axis]) < 1e18f;
        for (int axis = 0; axis < 3 && usual; ++axis)
            centre[axis][samples] = psvi_item_centre(&item, axis);
        samples += usual;
    }
    return samples;
}

static int compare_places(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Fills in the head's grid; returns how many bits an axis gets: all there are where samples would share a place with
// the usual number, as in a scene with a spike.
static uint32_t plan_keys(const psv_tree *tree, const psvi_item_view *view, psv_tree_head *head) {
    float centre[3][PSVI_TREE_SAMPLES], sorted[PSVI_TREE_SAMPLES], side = 0;
    const uint32_t samples = take_samples(view, centre), most = tree->keys.axis_bits;
    for (int axis = 0; axis < 3; ++axis) {
        float low = 0, high = 0;
        memcpy(sorted, centre[axis], samples * sizeof *sorted);
        qsort(sorted, samples, sizeof *sorted, compare_floats);
        if (samples > 0)
            psvi_key_range(sorted[0], sorted[samples / 32], sorted[samples - 1 - samples / 32], sorted[samples - 1],
                           &low, &high);
        head->low[axis] = low;
        side = psv_max(side, high - low);
    }
    head->scale = side > 0 ? 1.0f / side : 0.0f;
    uint32_t bits = psvi_usual_axis_bits(view->boxes.count);
    if (bits > most) bits = most;
    uint64_t places[PSVI_TREE_SAMPLES] = {0};
    for (uint32_t s = 0; s < samples; ++s) {
        const float point[3] = {centre[0][s], centre[1][s], centre[2][s]};
        places[s] = psvi_tree_place(head, point, bits, most);
    }
    qsort(places, samples, sizeof *places, compare_places);
    for (uint32_t s = 1; s < samples; ++s)
        if (places[s] == places[s - 1] && view->boxes.count > PSVI_TREE_SAMPLES) bits = most;
    head->key_bits = 3 * bits + tree->keys.world_bits;
    return bits;
}

// --- order -----------------------------------------------------------------------------------------------------------

static void count_states(build_job *job, uint64_t good, uint64_t bad) {
    (void)__atomic_fetch_add(&job->good, good, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&job->bad, bad, __ATOMIC_RELAXED);
}

static void make_some_keys(void *data, uint64_t first, uint64_t end) {
    build_job *job = data;
    const psv_tree *tree = job->tree;
    const psvi_tree_keys keys = tree->keys;
    uint64_t good = 0, bad = 0, places[8], *const made = tree->memory.keys;
    float centre[3][8] = {{0}};
    for (uint64_t i = first; i < end; i += 8) {
        const uint32_t count = end - i < 8 ? (uint32_t)(end - i) : 8;
        uint32_t there = 0;
        for (uint32_t k = 0; k < count; ++k) {
            psvi_item item;
            const psvi_item_state state = psvi_load_item(job->view, i + k, &item);
            good += state == PSVI_ITEM_GOOD;
            bad += state == PSVI_ITEM_BAD;
            if (state != PSVI_ITEM_GOOD) continue;
            there |= 1u << k;
            for (int axis = 0; axis < 3; ++axis)
                centre[axis][k] = psvi_item_centre(&item, axis);
        }
        job->kernels.places(tree->memory.head, (const float(*)[8])centre, job->bits, keys.axis_bits, places);
        for (uint32_t k = 0; k < count; ++k)
            made[i + k] = there >> k & 1u
                              ? (uint64_t)psvi_item_world(job->view, i + k) << (3 * keys.axis_bits) | places[k]
                              : psvi_no_part_key(&keys);
    }
    count_states(job, good, bad);
}

// First item of each world, by halving.
static void find_some_worlds(void *data, uint64_t first, uint64_t end) {
    const build_job *job = data;
    const psv_tree *tree = job->tree;
    for (uint64_t world = first; world < end; ++world) {
        uint32_t low = 0, high = tree->memory.head->item_count;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (tree->memory.keys[middle] >> (3 * tree->keys.axis_bits) < world)
                low = middle + 1;
            else
                high = middle;
        }
        tree->memory.world_starts[world] = low;
    }
}

// --- nodes -----------------------------------------------------------------------------------------------------------

static void place_item(const psvi_item_view *view, uint32_t id, const psvi_stored_items *stored, uint64_t place) {
    psvi_item item;
    if (psvi_load_item(view, id, &item) != PSVI_ITEM_GOOD) psvi_mark_off(&item);
    psvi_store_item(stored, &item, id, place);
}

// Nodes of level h of a linear tree, from the items or the level below.
static void build_some_nodes(void *data, uint64_t first_node, uint64_t end_node) {
    const build_job *job = data;
    const psvi_tree_memory *memory = &job->tree->memory;
    const psv_tree_head *head = memory->head;
    const psvi_stored_items stored = psvi_items_of(memory, job->triangles);
    const uint32_t h = job->level, begin = head->level_start[h];
    const uint32_t below_begin = h == 1 ? 0 : head->level_start[h - 1];
    const uint32_t below_end = h == 1 ? head->item_count : h == 2 ? head->node_count : head->level_start[h - 2];
    const uint32_t above = h == head->level_count ? 0 : head->level_start[h + 1];
    for (uint64_t i = first_node; i < end_node; ++i) {
        psvi_node_children children = {.offset = {0, 1, 2, 3, 4, 5, 6, 7}, .inner = h > 1 ? 0xffu : 0};
        const uint32_t first = below_begin + (uint32_t)i * 8, count = below_end - first < 8 ? below_end - first : 8;
        for (uint32_t c = 0; c < count; ++c) {
            psv_aabb box;
            if (h == 1)
                psvi_stored_box(&stored, first + c, box.min, box.max);
            else
                box = memory->boxes[first + c];
            psvi_set_child(&children, c, box.min, box.max);
        }
        psv_tree_node *node = &memory->nodes[begin + i];
        job->kernels.make_node(&children, count, node, &memory->boxes[begin + i]);
        node->first_child = h > 1 ? first : 0;
        node->first_item = h > 1 ? 0 : first;
        node->parent = (above + (uint32_t)i / 8) | (count - 1) << 29;
    }
}

// Copies the items to their places; by the ids of the last build, or by the order.
static void place_some_items(void *data, uint64_t first, uint64_t end) {
    const build_job *job = data;
    const psvi_tree_memory *memory = &job->tree->memory;
    const psvi_stored_items stored = psvi_items_of(memory, job->triangles);
    for (uint64_t i = first; i < end; ++i) {
        const uint32_t id = job->refit ? psvi_stored_id(&stored, i) : memory->order[i];
        place_item(job->view, id, &stored, i);
    }
}

static void place_items(psv_tree *tree, const psvi_item_view *view, bool refit) {
    build_job job = {.tree = tree, .view = view, .refit = refit, .triangles = view->triangles};
    psvi_run_ranges(tree->context, tree->memory.head->item_count, CHUNK, place_some_items, &job);
}

static void build_levels(psv_tree *tree, bool triangles) {
    const psv_tree_head *head = tree->memory.head;
    build_job job = {.tree = tree, .triangles = triangles, .kernels = psvi_choose_tree_kernels()};
    for (job.level = 1; job.level <= head->level_count; ++job.level) {
        const uint32_t end = job.level == 1 ? head->node_count : head->level_start[job.level - 1];
        psvi_run_ranges(tree->context, end - head->level_start[job.level], CHUNK / 8, build_some_nodes, &job);
    }
}

// --- build -----------------------------------------------------------------------------------------------------------

static psv_status build_linear(psv_tree *tree, const psvi_item_view *view) {
    psv_context *context = tree->context;
    psv_tree_head *head = tree->memory.head;
    const uint64_t count = view->boxes.count;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    build_job job = {
        .tree = tree, .view = view, .bits = plan_keys(tree, view, head), .kernels = psvi_choose_tree_kernels()};
    psvi_run_ranges(context, count, CHUNK, make_some_keys, &job);
    head->item_count = (uint32_t)job.good;
    head->bad_count = job.bad;
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psv_sort_index(tree->sorter, psv_buffer_of(tree->memory.keys, count * 8),
                                       psv_buffer_of(tree->memory.order, count * 4), count, PSV_INDEX_KEYS_SORTED);
    if (status != PSV_OK) return status;
    if (count == 1) tree->memory.order[0] = 0;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    if (tree->memory.world_starts != NULL)
        psvi_run_ranges(context, (uint64_t)tree->def.world_count + 1, CHUNK, find_some_worlds, &job);
    psvi_linear_levels(head, head->item_count);
    place_items(tree, view, false);
    build_levels(tree, view->triangles);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return PSV_OK;
}

// Boxes by the items' numbers; where one takes no part, min > max.
static void take_some_boxes(void *data, uint64_t first, uint64_t end) {
    build_job *job = data;
    uint64_t good = 0, bad = 0;
    for (uint64_t i = first; i < end; ++i) {
        psvi_item item;
        const psvi_item_state state = psvi_load_item(job->view, i, &item);
        if (state != PSVI_ITEM_GOOD) psvi_mark_off(&item);
        for (int axis = 0; axis < 3; ++axis) {
            job->boxes[i].min[axis] = item.min[axis];
            job->boxes[i].max[axis] = item.max[axis];
        }
        good += state == PSVI_ITEM_GOOD;
        bad += state == PSVI_ITEM_BAD;
    }
    count_states(job, good, bad);
}

static psv_status build_fine(psv_tree *tree, const psvi_item_view *view) {
    psv_tree_head *head = tree->memory.head;
    psvi_phase_begin(tree->context, PSV_PHASE_KEYS);
    (void)plan_keys(tree, view, head); // for queries that are sorted
    head->key_bits = 0;
    const psv_aabb *boxes = tree->memory.fine;
    build_job job = {.tree = tree, .view = view, .boxes = tree->memory.fine};
    psvi_run_ranges(tree->context, view->boxes.count, CHUNK, take_some_boxes, &job);
    head->item_count = (uint32_t)job.good;
    head->bad_count = job.bad;
    uint32_t good = 0;
    for (uint32_t i = 0; i < view->boxes.count; ++i)
        if (boxes[i].min[0] <= boxes[i].max[0]) tree->memory.order[good++] = i;
    psvi_phase_end(tree->context, PSV_PHASE_KEYS);
    psvi_phase_begin(tree->context, PSV_PHASE_GATHER);
    psvi_build_fine_cpu(tree, good);
    place_items(tree, view, false);
    psvi_phase_end(tree->context, PSV_PHASE_GATHER);
    return PSV_OK;
}

static void note_some_places(void *data, uint64_t first, uint64_t end) {
    const build_job *job = data;
    const psvi_stored_items stored = psvi_items_of(&job->tree->memory, job->triangles);
    for (uint64_t i = first; i < end; ++i)
        job->tree->memory.places[psvi_stored_id(&stored, i)] = (uint32_t)i;
}

static void note_places(psv_tree *tree, const psvi_item_view *view) {
    build_job job = {.tree = tree, .triangles = view->triangles};
    memset(tree->memory.places, 0xff, view->boxes.count * sizeof *tree->memory.places);
    psvi_run_ranges(tree->context, tree->memory.head->item_count, CHUNK, note_some_places, &job);
}

static psv_status build_tree(psv_tree *tree, const psvi_item_view *view) {
    memset(tree->memory.head, 0, sizeof *tree->memory.head);
    const psv_status status = tree->def.quality == PSV_TREE_FINE ? build_fine(tree, view) : build_linear(tree, view);
    if (status == PSV_OK && tree->def.refit_items) note_places(tree, view);
    return status;
}

static psv_status refit_tree(psv_tree *tree, const psvi_item_view *view) {
    psvi_phase_begin(tree->context, PSV_PHASE_GATHER);
    place_items(tree, view, true);
    if (tree->memory.head->linear)
        build_levels(tree, view->triangles);
    else
        psvi_refit_fine_cpu(tree);
    psvi_phase_end(tree->context, PSV_PHASE_GATHER);
    return PSV_OK;
}

// The nodes above a place of a linear tree, as far as they change.
static void refit_above(build_job *job, uint64_t place) {
    const psvi_tree_memory *memory = &job->tree->memory;
    for (job->level = 1; job->level <= memory->head->level_count; ++job->level) {
        place /= 8;
        const uint64_t at = memory->head->level_start[job->level] + place;
        const psv_tree_node node = memory->nodes[at];
        const psv_aabb box = memory->boxes[at];
        build_some_nodes(job, place, place + 1);
        if (memcmp(&node, &memory->nodes[at], sizeof node) == 0 && memcmp(&box, &memory->boxes[at], sizeof box) == 0)
            return;
    }
}

static psv_status refit_items(psv_tree *tree, const psvi_item_view *view, const uint32_t *items, uint64_t count) {
    const psvi_tree_memory *memory = &tree->memory;
    if (!memory->head->linear) return refit_tree(tree, view);
    const psvi_stored_items stored = psvi_items_of(memory, view->triangles);
    build_job job = {.tree = tree, .triangles = view->triangles, .kernels = psvi_choose_tree_kernels()};
    psvi_phase_begin(tree->context, PSV_PHASE_GATHER);
    for (uint64_t i = 0; i < count; ++i)
        if (memory->places[items[i]] != PSVI_NOT_PLACED) place_item(view, items[i], &stored, memory->places[items[i]]);
    for (uint64_t i = 0; i < count; ++i)
        if (memory->places[items[i]] != PSVI_NOT_PLACED) refit_above(&job, memory->places[items[i]]);
    psvi_phase_end(tree->context, PSV_PHASE_GATHER);
    return PSV_OK;
}

static uint64_t fine_bytes(uint64_t items) { return items * sizeof(psv_aabb); }

const psvi_tree_ops psvi_tree_ops_cpu = {
    .fine_nodes = psvi_fine_tree_nodes,
    .fine_bytes = fine_bytes,
    .fine_reads_keys = true,
    .views = true,
    .build = build_tree,
    .refit = refit_tree,
    .refit_items = refit_items,
    .query = psvi_query_tree_cpu,
};
