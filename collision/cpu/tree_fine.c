// The fine tree on the CPU: from the top down, the child with the largest surface is split until a node has eight, each
// split where the surfaces of both sides times their items are least (binned surface area heuristic: Wald, «On fast
// construction of SAH-based bounding volume hierarchies», 2007).
#include "../../sort/core/cpu/workers.h"
#include "tree_cpu.h"

#define BINS 16
#define DEEP 20     // levels below which nodes are halved by count: at most 10 more follow
#define TASKS 256   // subtrees that threads take, at most
#define SMALL 2048u // items of a subtree that is not divided further between threads

typedef struct range {
    uint32_t begin, end; // of memory.order
    psv_aabb box;
    psv_aabb centres; // of the items' boxes, doubled
} range;

typedef struct bin {
    psv_aabb box, centres;
    uint32_t count;
} bin;

static const psv_aabb nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static inline void grow(psv_aabb *box, const float min[3], const float max[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = psv_min(box->min[axis], min[axis]);
        box->max[axis] = psv_max(box->max[axis], max[axis]);
    }
}

// Twice the centre of a box; huge ones are taken as at the limit.
static inline void centre_of(const psv_aabb *box, float centre[3]) {
    for (int axis = 0; axis < 3; ++axis)
        centre[axis] = psv_tree_clamp(box->min[axis]) * 0.5f + psv_tree_clamp(box->max[axis]) * 0.5f;
}

static inline float surface(const psv_aabb *box) {
    float side[3];
    for (int axis = 0; axis < 3; ++axis)
        side[axis] = psv_max(0, psv_min(box->max[axis] - box->min[axis], 1e18f));
    return side[0] * side[1] + side[1] * side[2] + side[2] * side[0];
}

static void measure(const psv_aabb *boxes, const uint32_t *order, range *r) {
    r->box = r->centres = nothing;
    for (uint32_t i = r->begin; i < r->end; ++i) {
        float centre[3];
        centre_of(&boxes[order[i]], centre);
        grow(&r->box, boxes[order[i]].min, boxes[order[i]].max);
        grow(&r->centres, centre, centre);
    }
}

static inline uint32_t bin_of(const range *r, float scale, float at, int axis) {
    const float x = (at - r->centres.min[axis]) * scale;
    return x > 0 ? (x < BINS - 1 ? (uint32_t)x : BINS - 1) : 0;
}

static float bin_scale(const range *r, int axis) {
    const float extent = r->centres.max[axis] - r->centres.min[axis];
    return extent > 0 && extent < INFINITY ? (float)BINS * 0.9999f / extent : 0;
}

typedef struct split {
    int axis;
    uint32_t bin; // the first of the right side
    float cost;
} split;

static void fill_bins(const psv_aabb *boxes, const uint32_t *order, const range *r, bin bins[3][BINS]) {
    const float scale[3] = {bin_scale(r, 0), bin_scale(r, 1), bin_scale(r, 2)};
    for (int axis = 0; axis < 3; ++axis)
        for (int b = 0; b < BINS; ++b)
            bins[axis][b] = (bin){nothing, nothing, 0};
    for (uint32_t i = r->begin; i < r->end; ++i) {
        const psv_aabb *box = &boxes[order[i]];
        float centre[3];
        centre_of(box, centre);
        for (int axis = 0; axis < 3; ++axis) {
            bin *b = &bins[axis][bin_of(r, scale[axis], centre[axis], axis)];
            grow(&b->box, box->min, box->max);
            grow(&b->centres, centre, centre);
            ++b->count;
        }
    }
}

static void cheapest_of_axis(const bin bins[BINS], int axis, split *best) {
    float right_cost[BINS];
    psv_aabb box = nothing;
    uint32_t count = 0;
    for (uint32_t b = BINS; b-- > 1;) {
        grow(&box, bins[b].box.min, bins[b].box.max);
        count += bins[b].count;
        right_cost[b] = count > 0 ? surface(&box) * (float)count : INFINITY;
    }
    box = nothing;
    count = 0;
    for (uint32_t b = 1; b < BINS; ++b) {
        grow(&box, bins[b - 1].box.min, bins[b - 1].box.max);
        count += bins[b - 1].count;
        const float cost = count > 0 ? surface(&box) * (float)count + right_cost[b] : INFINITY;
        if (cost < best->cost) *best = (split){axis, b, cost};
    }
}

static void take_bins(const bin bins[BINS], uint32_t first, uint32_t end, range *r) {
    r->box = r->centres = nothing;
    for (uint32_t b = first; b < end; ++b) {
        grow(&r->box, bins[b].box.min, bins[b].box.max);
        grow(&r->centres, bins[b].centres.min, bins[b].centres.max);
    }
}

// Splits a range of two items or more; `halve`: in the middle, whatever the surfaces are.
static void split_range(const psv_aabb *boxes, uint32_t *order, const range *from, bool halve, range *left,
                        range *right) {
    bin bins[3][BINS];
    split best = {0, 0, INFINITY};
    if (!halve && from->end - from->begin > 2) {
        fill_bins(boxes, order, from, bins);
        for (int axis = 0; axis < 3; ++axis)
            cheapest_of_axis(bins[axis], axis, &best);
    }
    *left = *right = *from;
    if (!(best.cost < INFINITY)) { // coincident centres
        left->end = right->begin = from->begin + (from->end - from->begin) / 2;
        measure(boxes, order, left);
        measure(boxes, order, right);
        return;
    }
    const float scale = bin_scale(from, best.axis);
    uint32_t low = from->begin, high = from->end;
    while (low < high) {
        float centre[3];
        centre_of(&boxes[order[low]], centre);
        if (bin_of(from, scale, centre[best.axis], best.axis) < best.bin) {
            ++low;
        } else {
            const uint32_t id = order[low];
            order[low] = order[--high];
            order[high] = id;
        }
    }
    left->end = right->begin = low;
    take_bins(bins[best.axis], 0, best.bin, left);
    take_bins(bins[best.axis], best.bin, BINS, right);
}

static inline uint32_t size_of(const range *r) { return r->end - r->begin; }

// Up to eight parts of a range.
static uint32_t split_into_children(const psv_aabb *boxes, uint32_t *order, const range *from, bool halve,
                                    range parts[8]) {
    uint32_t count = 1;
    parts[0] = *from;
    while (count < 8) {
        uint32_t widest = 8;
        float most = -1;
        for (uint32_t i = 0; i < count; ++i) {
            const float weight = halve ? (float)size_of(&parts[i]) : surface(&parts[i].box);
            if (size_of(&parts[i]) > 1 && weight > most) {
                most = weight;
                widest = i;
            }
        }
        if (widest == 8) break;
        const range whole = parts[widest];
        split_range(boxes, order, &whole, halve, &parts[widest], &parts[count]);
        ++count;
    }
    return count;
}

static inline bool is_small(const range *r) { return size_of(r) > 1 && size_of(r) <= PSVI_SMALL_ITEMS; }

static inline range join(const range *a, const range *b) {
    range both = *a;
    grow(&both.box, b->box.min, b->box.max);
    grow(&both.centres, b->centres.min, b->centres.max);
    return both;
}

// The two small parts that fit into one node with the least surface; false: there are none.
static bool cheapest_join(const range *parts, uint32_t count, uint32_t *first, uint32_t *second) {
    float least = INFINITY;
    bool any = false;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t j = i + 1; j < count && is_small(&parts[i]); ++j) {
            if (!is_small(&parts[j]) || size_of(&parts[i]) + size_of(&parts[j]) > PSVI_SMALL_ITEMS) continue;
            const range both = join(&parts[i], &parts[j]);
            const float cost = surface(&both.box);
            if (any && cost >= least) continue;
            any = true;
            least = cost;
            *first = i;
            *second = j;
        }
    return any;
}

// Joins parts i and j of those that lie from `begin` on: all parts get new places.
static void join_parts(uint32_t *order, uint32_t begin, range *parts, uint32_t count, uint32_t i, uint32_t j,
                       uint32_t *scratch) {
    uint32_t total = 0, at = begin;
    for (uint32_t p = 0; p < count; ++p)
        total += size_of(&parts[p]);
    memcpy(scratch, order + begin, total * sizeof *order);
    const range joined = parts[j];
    parts[i] = join(&parts[i], &joined);
    for (uint32_t p = 0; p < count; ++p) {
        if (p == j) continue;
        const uint32_t size = size_of(&parts[p]);
        memcpy(order + at, scratch + (parts[p].begin - begin), size * sizeof *order);
        parts[p].begin = at;
        at += size;
        if (p == i) {
            memcpy(order + at, scratch + (joined.begin - begin), size_of(&joined) * sizeof *order);
            at += size_of(&joined);
        }
        parts[p].end = at;
    }
    parts[j] = parts[count - 1];
}

// Small parts give way to their items as long as there is room. Returns the number of parts.
static uint32_t absorb_parts(const psv_aabb *boxes, uint32_t *order, range parts[8], uint32_t count) {
    for (;;) {
        uint32_t widest = count;
        for (uint32_t i = 0; i < count; ++i)
            if (is_small(&parts[i]) && count + size_of(&parts[i]) - 1 <= 8 &&
                (widest == count || surface(&parts[i].box) > surface(&parts[widest].box)))
                widest = i;
        if (widest == count) return count;
        const range whole = parts[widest];
        for (uint32_t k = 0; k < size_of(&whole); ++k) {
            range *one = &parts[k == 0 ? widest : count + k - 1];
            one->begin = whole.begin + k;
            one->end = one->begin + 1;
            measure(boxes, order, one);
        }
        count += size_of(&whole) - 1;
    }
}

// See PSVI_LEAST_FILL. Returns the number of parts.
static uint32_t fill_parts(const psv_aabb *boxes, uint32_t *order, uint32_t begin, range parts[8], uint32_t count,
                           uint32_t *scratch) {
    for (;;) {
        int filled = 0;
        uint32_t i = 0, j = 0;
        for (uint32_t p = 0; p < count; ++p)
            filled += is_small(&parts[p]) ? (int)size_of(&parts[p]) - 4 : 1;
        if (filled >= PSVI_LEAST_FILL || !cheapest_join(parts, count, &i, &j)) return count;
        join_parts(order, begin, parts, count, i, j, scratch);
        count = absorb_parts(boxes, order, parts, count - 1);
    }
}

// Moves the parts of one item each to the front, so that the items of a node lie together. Parts get new places.
static void gather_singles(uint32_t *order, uint32_t begin, range *parts, uint32_t count, uint32_t *scratch) {
    uint32_t at = begin, total = 0;
    for (uint32_t i = 0; i < count; ++i)
        total += size_of(&parts[i]);
    memcpy(scratch, order + begin, total * sizeof *order);
    for (int pass = 0; pass < 2; ++pass)
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t size = size_of(&parts[i]);
            if ((size == 1) != (pass == 0)) continue;
            if (pass == 0) {
                order[at++] = scratch[parts[i].begin - begin];
                continue;
            }
            memcpy(order + at, scratch + (parts[i].begin - begin), size * sizeof *order);
            parts[i].begin = at;
            parts[i].end = at += size;
        }
}

typedef struct builder {
    psv_tree *tree;
    const psv_aabb *boxes;
    uint32_t *order;
    uint32_t nodes;  // taken, by atomic addition
    uint32_t levels; // the most so far, atomic
} builder;

typedef struct task {
    range items;
    uint32_t node, parent, level;
} task;

static uint32_t take_nodes(builder *b, uint32_t count) {
    return __atomic_fetch_add(&b->nodes, count, __ATOMIC_RELAXED);
}

// Makes one node of the task's range; the inner children become tasks. Returns how many.
static uint32_t make_node(builder *b, const task *from, uint32_t *scratch, task tasks[8]) {
    range parts[8];
    psvi_tree_child children[8];
    uint32_t singles = 0, inner = 0;
    const bool halve = from->level >= DEEP;
    uint32_t count = split_into_children(b->boxes, b->order, &from->items, halve, parts);
    count = fill_parts(b->boxes, b->order, from->items.begin, parts, count, scratch);
    for (uint32_t i = 0; i < count; ++i)
        singles += size_of(&parts[i]) == 1;
    if (singles > 0 && singles < count) gather_singles(b->order, from->items.begin, parts, count, scratch);
    const uint32_t first = singles == count ? 0 : take_nodes(b, count - singles);
    uint32_t single = 0;
    for (uint32_t i = 0; i < count; ++i) {
        children[i].inner = size_of(&parts[i]) > 1;
        // Where all are single, none was moved: the place in the range is the offset.
        children[i].offset = (uint8_t)(children[i].inner  ? inner
                                       : singles == count ? parts[i].begin - from->items.begin
                                                          : single);
        single += !children[i].inner;
        memcpy(children[i].min, parts[i].box.min, 12);
        memcpy(children[i].max, parts[i].box.max, 12);
        if (children[i].inner)
            tasks[inner++] = (task){parts[i], first + children[i].offset, from->node, from->level + 1};
    }
    psv_tree_node *node = &b->tree->memory.nodes[from->node];
    psvi_make_node(children, count, node, &b->tree->memory.boxes[from->node]);
    node->first_child = first;
    node->first_item = from->items.begin;
    node->parent = from->parent | (count - 1) << 29;
    return inner;
}

// A whole subtree, depth first. Returns its levels, counted from the root.
static uint32_t make_subtree(builder *b, const task *root, uint32_t *scratch) {
    task stack[8 * PSV_TREE_STACK];
    uint32_t depth = 0, levels = root->level;
    stack[depth++] = *root;
    while (depth > 0) {
        const task next = stack[--depth];
        if (next.level > levels) levels = next.level;
        depth += make_node(b, &next, scratch, stack + depth);
    }
    return levels;
}

typedef struct subtrees {
    builder *build;
    const task *tasks;
    uint32_t *scratch;
} subtrees;

static void make_some_subtrees(void *data, uint64_t first, uint64_t end) {
    const subtrees *job = data;
    for (uint64_t i = first; i < end; ++i) {
        const uint32_t levels = make_subtree(job->build, &job->tasks[i], job->scratch + job->tasks[i].items.begin);
        uint32_t most = __atomic_load_n(&job->build->levels, __ATOMIC_RELAXED);
        while (levels > most && !__atomic_compare_exchange_n(&job->build->levels, &most, levels, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
}

// Splits the largest tasks until there are enough of them for all threads. Scratch memory for moving single items is
// that of the keys, which a fine tree has no use for.
void psvi_build_fine_cpu(psv_tree *tree, uint32_t count) {
    builder b = {tree, tree->memory.fine, tree->memory.order, 1, 1};
    psv_tree_head *head = tree->memory.head;
    head->linear = 0;
    head->node_count = 0;
    if (count == 0) return;
    task tasks[TASKS] = {{{0, count, nothing, nothing}, 0, 0, 1}};
    uint32_t waiting = 1;
    subtrees job = {&b, tasks, (uint32_t *)tree->memory.keys};
    measure(b.boxes, b.order, &tasks[0].items);
    while (waiting < TASKS - 8 && waiting > 0) {
        uint32_t largest = 0;
        for (uint32_t i = 1; i < waiting; ++i)
            if (size_of(&tasks[i].items) > size_of(&tasks[largest].items)) largest = i;
        const task next = tasks[largest];
        if (size_of(&next.items) <= SMALL && next.node != 0) break;
        tasks[largest] = tasks[--waiting];
        waiting += make_node(&b, &next, job.scratch, tasks + waiting);
        if (next.level > b.levels) b.levels = next.level;
    }
    psvi_run_ranges(tree->context, waiting, 1, make_some_subtrees, &job);
    head->node_count = b.nodes;
    head->level_count = b.levels;
}

// Nodes come after their parents, so from the last one on children are there before they are asked for.
void psvi_refit_fine_cpu(psv_tree *tree) {
    const psvi_tree_memory *memory = &tree->memory;
    const psvi_stored_items stored = psvi_items_of(memory, tree->triangles);
    for (uint32_t i = memory->head->node_count; i-- > 0;) {
        psv_tree_node *node = &memory->nodes[i];
        psvi_tree_child children[8];
        const uint32_t count = (node->parent >> 29) + 1;
        uint32_t inner = (uint32_t)__builtin_popcount(psv_node_inner(node));
        for (uint32_t c = 0; c < count; ++c) {
            children[c].inner = c < inner;
            children[c].offset = (uint8_t)(c < inner ? c : c - inner);
            if (c >= inner) {
                psvi_stored_box(&stored, node->first_item + c - inner, children[c].min, children[c].max);
                continue;
            }
            memcpy(children[c].min, memory->boxes[node->first_child + c].min, 12);
            memcpy(children[c].max, memory->boxes[node->first_child + c].max, 12);
        }
        psvi_make_node(children, count, node, &memory->boxes[i]);
    }
}
