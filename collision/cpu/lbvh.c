// `lbvh`: a linear bounding volume hierarchy, rebuilt each frame. Boxes are sorted by the Morton code of their centre,
// each world by itself. 16 boxes in a row make a leaf, 16 leaves a node, and so on. So the tree is implicit, and as
// wide as a vector. Each leaf is tested as a whole against the tree, and its boxes against the leaves found. Only later
// leaves are visited, so no pair is found twice.
#include <math.h>

#include "grid_state.h"
#include "keyed_method.h"
#include "lbvh.h"

#define CODE_BITS 10                // a coordinate in a Morton code
#define MAX_SIZE_BITS 2             // see size_class
#define APART (3u << 3 * CODE_BITS) // the class of boxes that often move, and of the largest

static psv_sorter_def lbvh_sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def sorter = psvi_keyed_sorter_def(def, def->max_boxes);
    if (!psvi_has_worlds(def)) sorter.end_bit = 3 * CODE_BITS + MAX_SIZE_BITS;
    return sorter;
}

static uint64_t carve_lbvh(const psv_pair_finder_def *def, char *scratch, lbvh_memory *memory) {
    char *at = scratch;
    uint64_t n = def->max_boxes;
    psv_sorter_def sorter = lbvh_sorter_def(def);
    memory->ids = psvi_next_part(&at, n * 4);
    memory->order = psvi_next_part(&at, n * 4);
    memory->keys = psvi_next_part(&at, n * (psvi_has_worlds(def) ? 8 : 4));
    memory->slots = psvi_next_part(&at, def->max_kept > 0 ? n * 4 : 0);
    for (int h = 1; h < LBVH_MAX_HEIGHT; ++h) {
        n = (n + LBVH_WIDE - 1) / LBVH_WIDE;
        memory->lanes[h] = psvi_carve_lanes(&at, n);
    }
    // The sorter is done before the boxes are gathered: they share memory.
    uint64_t sorter_bytes = psvi_align(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &sorter));
    uint64_t lanes_bytes = psvi_lanes_bytes(def->max_boxes);
    memory->sorter = psv_buffer_of(at, sorter_bytes);
    char *lanes = at;
    memory->lanes[0] = psvi_carve_lanes(&lanes, def->max_boxes);
    memory->centres[0] = (lbvh_centre *)(void *)at; // gone before the boxes are gathered as well
    at += sorter_bytes > lanes_bytes ? sorter_bytes : lanes_bytes;
    n = def->max_boxes;
    memory->centres[1] = (lbvh_centre *)(void *)at; // and before the blocks are filled
    char *const behind = at + psvi_align(n * sizeof(lbvh_centre));
    for (int h = 0; def->max_kept > 0 && h < LBVH_MAX_HEIGHT; ++h) {
        n = (n + LBVH_WIDE - 1) / LBVH_WIDE;
        memory->blocks[h] = psvi_next_part(&at, n * LBVH_BLOCK * sizeof(float));
    }
    return (uint64_t)((at > behind ? at : behind) - scratch);
}

static uint64_t lbvh_scratch_bytes(const psv_pair_finder_def *def) {
    lbvh_memory memory;
    return carve_lbvh(def, (char *)256, &memory);
}

static psv_status lbvh_create(psvi_choice *choice) {
    lbvh_memory memory;
    (void)carve_lbvh(&choice->def, choice->scratch, &memory);
    psv_sorter_def sorter = lbvh_sorter_def(&choice->def);
    sorter.scratch = memory.sorter;
    return psvi_create_grid_state(choice, "lbvh", &sorter);
}

// --- order -----------------------------------------------------------------------------------------------------------

// The bits of a 10-bit number, two places apart.
static uint32_t spread_bits(uint32_t x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

// Boxes far larger than the median are sorted apart, so that they do not blow up the leaves of small ones. The class is
// 0 within 8 times the median, and each further class spans a factor of 16.
static uint32_t size_class(uint32_t binade) {
    if (binade < 127 + 3) return 0;
    return binade < 127 + 7 ? 1 : binade < 127 + 11 ? 2 : 3;
}

// Of a scaled box.
static uint32_t morton_code(const rows_grid *grid, const float box[6]) {
    uint32_t code = 0;
    float ext[3];
    for (int k = 0; k < 3; ++k) {
        float range = grid->high[k] - grid->low[k];
        float centre = 0.5f * rows_clamp(box[grid->axis[k]], grid->low[k], grid->high[k]) +
                       0.5f * rows_clamp(box[3 + grid->axis[k]], grid->low[k], grid->high[k]);
        float at = range > 0 ? (centre - grid->low[k]) / range * (1 << CODE_BITS) : 0;
        uint32_t cell = at > 0 ? (uint32_t)fminf(at, (1 << CODE_BITS) - 1) : 0;
        code |= spread_bits(cell) << (2 - k);
    }
    return size_class(rows_size_binade(grid, box, ext)) << (3 * CODE_BITS) | code;
}

typedef struct codes_job {
    const lbvh_tree *tree;
    const rows_grid *grid;
} codes_job;

static void make_codes(void *data, uint64_t first, uint64_t end) {
    const codes_job *job = data;
    const lbvh_tree *tree = job->tree;
    for (uint64_t i = first; i < end; ++i) {
        float box[6];
        uint32_t id = tree->memory.ids[i];
        psvi_read_box(tree->input, id, box);
        for (int k = 0; k < 6; ++k)
            box[k] = rows_scaled(job->grid, box[k]);
        uint32_t code = morton_code(job->grid, box);
        if (tree->input->states != NULL && (tree->input->states[id] & PSVI_RESTLESS) != 0) code |= APART;
        if (tree->wide)
            ((uint64_t *)tree->memory.keys)[i] = (uint64_t)psvi_read_world(tree->input, id) << 32 | code;
        else
            ((uint32_t *)tree->memory.keys)[i] = code;
    }
}

// As an order by halves takes it.
static float clamp_centre(float x) { return rows_clamp(x, -1e37f, 1e37f); }

static void fill_some_centres(void *data, uint64_t first, uint64_t end) {
    const lbvh_tree *tree = data;
    const uint32_t *order = tree->memory.order;
    for (uint64_t i = first; i < end; ++i) {
        lbvh_centre *centre = &tree->memory.centres[0][i];
        float box[6];
        if (i + PSVI_PREFETCH_AHEAD < tree->count[0]) psvi_prefetch_box(tree->input, order[i + PSVI_PREFETCH_AHEAD]);
        psvi_read_box(tree->input, order[i], box);
        centre->id = order[i];
        for (int k = 0; k < 3; ++k)
            centre->at[k] = clamp_centre(box[k]) + clamp_centre(box[3 + k]);
    }
}

static void take_some_ids(void *data, uint64_t first, uint64_t end) {
    const lbvh_tree *tree = data;
    for (uint64_t i = first; i < end; ++i)
        tree->memory.order[i] = tree->memory.centres[0][i].id;
}

// Nodes of neighbours in a Morton order overlap much. Among a million boxes of a cube, a search reaches 25 such nodes
// on its way down. Of nodes that were cut by halves it reaches 9. A tree that serves many frames is worth the longer
// build. So is one of boxes whose size grows with the distance: most of them have the same Morton code.
static void order_by_halves(psv_context *context, lbvh_tree *tree) {
    const lbvh_memory *memory = &tree->memory;
    const lbvh_halves halves = {memory->centres[0], memory->centres[1], memory->keys, tree->wide, 3 * CODE_BITS};
    psvi_run_ranges(context, tree->count[0], 4096, fill_some_centres, tree);
    psvi_order_by_halves(context, &halves, tree->count[0]);
    psvi_run_ranges(context, tree->count[0], 16384, take_some_ids, tree);
}

// --- tree ------------------------------------------------------------------------------------------------------------

typedef struct level_job {
    const psvi_lanes *from, *to;
    uint64_t from_count;
} level_job;

// Bounds of 16 lanes of one level each, as the level above it.
static void bound_nodes(void *data, uint64_t first_node, uint64_t end_node) {
    const level_job *job = data;
    const psvi_lanes *from = job->from, *to = job->to;
    for (uint64_t node = first_node; node < end_node; ++node) {
        uint64_t first = node * LBVH_WIDE,
                 end = first + LBVH_WIDE < job->from_count ? first + LBVH_WIDE : job->from_count;
        for (int k = 0; k < 3; ++k) {
            float low = from->min[k][first], high = from->max[k][first];
            for (uint64_t i = first + 1; i < end; ++i) {
                low = from->min[k][i] < low ? from->min[k][i] : low;
                high = from->max[k][i] > high ? from->max[k][i] : high;
            }
            to->min[k][node] = low;
            to->max[k][node] = high;
        }
    }
}

static void build_level(psv_context *context, lbvh_tree *tree, int h) {
    level_job job = {&tree->memory.lanes[h - 1], &tree->memory.lanes[h], tree->count[h - 1]};
    const uint64_t count = tree->count[h];
    psvi_run_ranges(context, count, 1024, bound_nodes, &job);
    for (int k = 0; k < 3; ++k) { // padding, which tests may read
        memset(job.to->min[k] + count, 0, PSVI_LANES * sizeof(float));
        memset(job.to->max[k] + count, 0, PSVI_LANES * sizeof(float));
    }
}

void psvi_size_lbvh(lbvh_tree *tree, uint64_t count) {
    tree->height = 1;
    tree->count[0] = count;
    do {
        int h = tree->height++;
        tree->count[h] = (tree->count[h - 1] + LBVH_WIDE - 1) / LBVH_WIDE;
    } while (tree->count[tree->height - 1] > LBVH_WIDE && tree->height < LBVH_MAX_HEIGHT);
}

// --- query -----------------------------------------------------------------------------------------------------------

static void read_lane(const psvi_lanes *lanes, uint64_t i, float box[6]) {
    for (int k = 0; k < 3; ++k) {
        box[k] = lanes->min[k][i];
        box[3 + k] = lanes->max[k][i];
    }
}

// Lanes [first, first + 16) of a level that overlap `box`, lie below `end` and not below `begin`.
static uint32_t test_nodes(const lbvh_tree *tree, int h, uint64_t first, uint64_t begin, uint64_t end,
                           const float box[6]) {
    return psvi_clip_lanes(tree->test(&tree->memory.lanes[h], first, box), first, begin, end);
}

// The boxes [g_first, g_end) of one leaf against the boxes of leaf `leaf`.
static void test_leaf(const lbvh_tree *tree, psvi_pair_sink *sink, uint64_t g_first, uint64_t g_end, uint64_t leaf) {
    const psvi_lanes *lanes = &tree->memory.lanes[0];
    uint64_t first = leaf * LBVH_WIDE, end = first + LBVH_WIDE < tree->count[0] ? first + LBVH_WIDE : tree->count[0];
    float box[6];
    read_lane(&tree->memory.lanes[1], leaf, box);
    // Boxes of the group that reach the leaf at all.
    uint32_t group = tree->test(lanes, g_first, box);
    if (g_end - g_first < LBVH_WIDE) group &= (1u << (g_end - g_first)) - 1;
    for (; group != 0; group &= group - 1) {
        uint64_t i = g_first + (uint32_t)__builtin_ctz(group);
        if (i + 1 >= end) break;
        read_lane(lanes, i, box);
        uint32_t hits = test_nodes(tree, 0, first, i + 1, end, box), ids[LBVH_WIDE], count = 0;
        sink->candidates += end - first;
        const bool between = tree->input->between, second = lanes->id[i] >= tree->input->a.count;
        for (; hits != 0; hits &= hits - 1) {
            ids[count] = lanes->id[first + (uint32_t)__builtin_ctz(hits)];
            count += !between || second != (ids[count] >= tree->input->a.count);
        }
        psvi_emit_hits(sink, lanes->id[i], ids, count);
    }
}

// First sorted box of a later world than that of box `i`, by doubling steps and then halving.
static uint64_t world_end(const lbvh_tree *tree, uint64_t i) {
    if (!tree->wide) return tree->count[0];
    const uint64_t *keys = tree->memory.keys;
    uint64_t world = keys[i] >> 32, step = 1, low = i, n = tree->count[0];
    while (low + step < n && keys[low + step] >> 32 == world) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < n ? low + step : n;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (keys[middle] >> 32 == world)
            low = middle;
        else
            high = middle;
    }
    return high;
}

// Visits all leaves from `g` on that overlap the bounds of the leaf, depth first. A stack entry holds the remaining
// ones of 16 siblings.
static void query_leaf(const lbvh_tree *tree, psvi_pair_sink *sink, uint64_t g) {
    uint64_t g_first = g * LBVH_WIDE,
             g_end = g_first + LBVH_WIDE < tree->count[0] ? g_first + LBVH_WIDE : tree->count[0];
    uint64_t last = (world_end(tree, g_end - 1) - 1) / LBVH_WIDE; // last leaf of interest
    float box[6];
    read_lane(&tree->memory.lanes[1], g, box);
    uint64_t first[LBVH_MAX_HEIGHT], begin[LBVH_MAX_HEIGHT], end[LBVH_MAX_HEIGHT];
    uint32_t hits[LBVH_MAX_HEIGHT] = {0};
    begin[1] = g;
    end[1] = last + 1;
    for (int h = 2; h < tree->height; ++h) {
        begin[h] = begin[h - 1] / LBVH_WIDE;
        end[h] = (end[h - 1] - 1) / LBVH_WIDE + 1;
    }
    int h = tree->height - 1;
    first[h] = 0;
    hits[h] = test_nodes(tree, h, 0, begin[h], end[h], box);
    while (h < tree->height) {
        if (hits[h] == 0) {
            ++h;
            continue;
        }
        uint64_t node = first[h] + (uint32_t)__builtin_ctz(hits[h]);
        hits[h] &= hits[h] - 1;
        if (h == 1) {
            test_leaf(tree, sink, g_first, g_end, node);
            continue;
        }
        --h;
        first[h] = node * LBVH_WIDE;
        hits[h] = test_nodes(tree, h, first[h], begin[h], end[h], box);
    }
}

typedef struct query_job {
    const lbvh_tree *tree;
    psvi_loop loop; // over leaves
} query_job;

static void query_some(void *data, uint32_t worker) {
    query_job *job = data;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->tree->input, true); // a leaf may hold the end of one world and the beginning of the next
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        for (uint64_t g = first; g < end; ++g)
            query_leaf(job->tree, &sink, g);
    psvi_close_sink(&sink);
}

static void query_tree(psv_context *context, const lbvh_tree *tree) {
    query_job job = {tree, {0, tree->count[1], 16}};
    psvi_run_tasks(context, psvi_workers_for(context, tree->count[1] / 32), query_some, &job);
}

// --- boxes against the boxes of a tree -------------------------------------------------------------------------------

uint64_t psvi_world_begin(const lbvh_tree *tree, uint64_t count, uint64_t world) {
    const uint64_t *keys = tree->memory.keys;
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (keys[middle] >> 32 < world)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What a thread does with the boxes that it reaches.
typedef struct others_sink {
    psvi_pair_sink pairs;
    uint32_t base; // added to the tree's names of its boxes, which are those of b
} others_sink;

static void emit_others(void *data, const lbvh_other *other, const uint32_t *ids, uint32_t count) {
    others_sink *sink = data;
    uint32_t named[LBVH_WIDE];
    sink->pairs.candidates += LBVH_WIDE;
    for (uint32_t i = 0; i < count; ++i)
        named[i] = sink->base + ids[i];
    psvi_emit_hits(&sink->pairs, other->id, named, count);
}

// The boxes [first, end) of input->a, at most LBVH_QUERY_CHUNK. Returns how many are alive; bad ones are reported.
static uint64_t query_boxes(lbvh_search *search, uint64_t first, uint64_t end) {
    const lbvh_tree *tree = search->tree;
    const psvi_find_input *input = tree->input;
    lbvh_other others[LBVH_QUERY_CHUNK];
    uint32_t count = 0;
    uint64_t live = 0;
    for (uint64_t place = first; place < end; ++place) {
        lbvh_other *other = &others[count];
        *other = (lbvh_other){.id = (uint32_t)place, .end = tree->count[0]};
        const psvi_box_kind kind = psvi_judge_place(&input->a, input->world_count, place, other->box);
        if (kind == PSVI_BOX_BAD) psvi_add_bad_boxes(input, &other->id, 1);
        if (kind != PSVI_BOX_LIVE) continue;
        ++live;
        if (tree->wide) {
            const uint64_t world = input->a.worlds == NULL ? 0 : input->a.worlds[place];
            other->begin = psvi_world_begin(tree, tree->count[0], world);
            other->end = psvi_world_begin(tree, tree->count[0], world + 1);
        }
        count += other->begin < other->end;
    }
    if (count > 0) psvi_search_blocks(search, others, count);
    return live;
}

// --- method ----------------------------------------------------------------------------------------------------------

lbvh_tree psvi_lbvh_tree_of(const psvi_choice *choice, const psvi_find_input *input) {
    lbvh_tree tree = {.input = input, .wide = psvi_has_worlds(&choice->def), .test = psvi_best_test()};
    (void)carve_lbvh(&choice->def, choice->scratch, &tree.memory);
    return tree;
}

psv_status psvi_build_lbvh(const psvi_choice *choice, lbvh_tree *tree) {
    psv_context *context = choice->context;
    psvi_grid_state *state = choice->state;
    const psvi_find_input *input = tree->input;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    rows_grid grid;
    rows_begin_grid(&grid, &state->sample, input);
    const uint64_t count = psvi_collect_boxes(context, input, tree->memory.ids);
    codes_job codes = {tree, &grid};
    psvi_run_ranges(context, count, 4096, make_codes, &codes);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    input->result->key_bits = lbvh_sorter_def(&choice->def).end_bit;
    state->boxes = count;
    state->has_blocks = false;
    if (count == 0) return PSV_OK;
    tree->memory.order[0] = 0;
    psv_status status = psv_sort_index(state->sorter, psv_buffer_of(tree->memory.keys, count * (tree->wide ? 8 : 4)),
                                       psv_buffer_of(tree->memory.order, count * 4), count, PSV_INDEX_KEYS_SORTED);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    psvi_follow_order(context, tree->memory.order, tree->memory.order, tree->memory.ids, count);
    psvi_size_lbvh(tree, count);
    if (choice->lasting) order_by_halves(context, tree);
    psvi_gather_lanes(context, input, tree->memory.order, count, &tree->memory.lanes[0]);
    for (int h = 1; h < tree->height; ++h)
        build_level(context, tree, h);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    for (int h = 1; h < tree->height; ++h)
        input->result->rows += tree->count[h];
    input->result->levels = (uint32_t)tree->height;
    return PSV_OK;
}

static psv_status lbvh_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    lbvh_tree tree = psvi_lbvh_tree_of(choice, input);
    const psv_status status = psvi_build_lbvh(choice, &tree);
    if (status != PSV_OK || tree.count[0] < 2) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    query_tree(context, &tree);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return PSV_OK;
}

static psv_status lbvh_build(const psvi_choice *choice, const psvi_find_input *input) {
    lbvh_tree tree = psvi_lbvh_tree_of(choice, input);
    return psvi_build_lbvh(choice, &tree);
}

typedef struct others_job {
    const lbvh_tree *tree;
    psvi_loop loop; // over boxes
    uint64_t live;  // atomic
} others_job;

static void query_others(void *data, uint32_t worker) {
    others_job *job = data;
    const psvi_find_input *input = job->tree->input;
    others_sink sink;
    lbvh_search search = {job->tree, emit_others, &sink, 0};
    uint64_t live = 0;
    (void)worker;
    psvi_open_sink(&sink.pairs, input, false); // boxes of other worlds are not met
    sink.base = (uint32_t)input->a.count;
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        live += query_boxes(&search, first, end);
    psvi_close_sink(&sink.pairs);
    __atomic_fetch_add(&job->live, live, __ATOMIC_RELAXED);
}

// Of two sets.
static psv_status lbvh_query(const psvi_choice *choice, const psvi_find_input *input, uint64_t first) {
    psv_context *context = choice->context;
    psvi_grid_state *state = choice->state;
    lbvh_tree tree = psvi_lbvh_tree_of(choice, input);
    const uint64_t count = input->a.count;
    others_job job = {&tree, {0, count, LBVH_QUERY_CHUNK}, 0};
    (void)first;
    psvi_size_lbvh(&tree, state->boxes);
    if (!state->has_blocks) psvi_fill_blocks(context, &tree);
    state->has_blocks = true;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    psvi_run_tasks(context, psvi_workers_for(context, psvi_loop_pieces(count, LBVH_QUERY_CHUNK)), query_others, &job);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    input->result->boxes += job.live;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_lbvh_cpu = {
    .name = "lbvh",
    .description = "16-wide linear BVH from sorted Morton codes, self-query per leaf: for long, thin and mixed boxes",
    .scratch_bytes = lbvh_scratch_bytes,
    .create = lbvh_create,
    .destroy = psvi_destroy_grid_state,
    .find = lbvh_find,
    .build = lbvh_build,
    .query = lbvh_query,
    .settle = psvi_settle_lbvh,
    .move = psvi_move_in_lbvh,
    .reach = psvi_reach_in_lbvh,
    .statistics = psvi_grid_statistics,
};
