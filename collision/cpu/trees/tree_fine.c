// The fine tree on the CPU, from the top down: the child with the largest surface is split until a node has eight
// children. A split minimises the sum over both sides of surface x items (binned surface area heuristic: Wald, «On fast
// construction of SAH-based bounding volume hierarchies», 2007).
#include "../../../core/cpu/workers.h"
#include "box4.h"
#include "tree_cpu.h"

#define BINS 12
#define SHORT 0.5f
#define FEW 24       // items that are split without bins
#define DEEP 20      // levels below which nodes are halved by count: at most 10 more follow
#define TASKS 256    // subtrees that threads take, at most
#define SMALL 2048u  // items of a subtree that is not divided further between threads
#define PIECES 8     // of a range whose bins several threads fill
#define LARGE 32768u // items of such a range

typedef struct range {
    uint32_t begin, end; // of memory.order
    psv_aabb box;
    psv_aabb centres; // of the items' boxes
} range;

typedef struct bin {
    psvi_box4 box;
    uint32_t count;
} bin;

static const psv_aabb nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static inline void grow(psv_aabb *box, const float min[3], const float max[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = psv_min(box->min[axis], min[axis]);
        box->max[axis] = psv_max(box->max[axis], max[axis]);
    }
}

// The centre of a box, as centre_of gives it.
static inline psvi_four centre4(psvi_four min, psvi_four max) {
    const psvi_four low = psvi_four_of(-PSV_TREE_LIMIT), high = psvi_four_of(PSV_TREE_LIMIT), half = psvi_four_of(0.5f);
    return psvi_plus(psvi_times(psvi_least(psvi_greatest(min, low), high), half),
                     psvi_times(psvi_least(psvi_greatest(max, low), high), half));
}

// The centre of a box; huge ones are taken as at the limit.
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

// The same; no box has 0.
static inline float surface4(const psvi_box4 *box) {
    const psvi_four most = psvi_four_of(1e18f);
    float side[4];
    psvi_store_four(side, psvi_greatest(psvi_least(psvi_minus(box->max, box->min), most), psvi_four_of(0)));
    return side[0] * side[1] + side[1] * side[2] + side[2] * side[0];
}

static void measure(const psv_aabb *boxes, const uint32_t *order, range *r) {
    psvi_box4 box = psvi_no_box4(), centres = psvi_no_box4();
    for (uint32_t i = r->begin; i < r->end; ++i) {
        const psvi_four min = psvi_box_min(&boxes[order[i]]), max = psvi_box_max(&boxes[order[i]]);
        const psvi_four centre = centre4(min, max);
        psvi_grow4(&box, min, max);
        psvi_grow4(&centres, centre, centre);
    }
    r->box = psvi_box_of_box4(&box);
    r->centres = psvi_box_of_box4(&centres);
}

// The range of the item at one place.
static range item_range(const psv_aabb *boxes, const uint32_t *order, uint32_t place) {
    const psv_aabb *box = &boxes[order[place]];
    float centre[3];
    centre_of(box, centre);
    const psv_aabb point = {{centre[0], centre[1], centre[2]}, {centre[0], centre[1], centre[2]}};
    return (range){place, place + 1, *box, point};
}

// Where on each axis centres of a range come into which bin.
typedef struct binning {
    psvi_four from, scale;
    bool spread;  // not all at one place
    bool bins[3]; // axes that are short beside the longest are left out
} binning;

static binning choose_bins(const range *r) {
    float from[4] = {0}, scale[4] = {0}, extents[3];
    bool spread = false;
    for (int axis = 0; axis < 3; ++axis) {
        const float extent = r->centres.max[axis] - r->centres.min[axis];
        from[axis] = r->centres.min[axis];
        extents[axis] = extent;
        if (extent > 0 && extent < INFINITY) scale[axis] = (float)BINS * 0.9999f / extent;
        if (!(scale[axis] < INFINITY)) scale[axis] = 0;
        spread = spread || scale[axis] > 0;
    }
    binning made = {psvi_load_four(from), psvi_load_four(scale), spread, {false, false, false}};
    const float longest = psv_max(extents[0], psv_max(extents[1], extents[2]));
    for (int axis = 0; axis < 3; ++axis)
        made.bins[axis] = extents[axis] >= SHORT * longest && scale[axis] > 0;
    return made;
}

static inline void bins_of(const binning *b, psvi_four centre, int32_t bins[4]) {
    const psvi_four x = psvi_times(psvi_minus(centre, b->from), b->scale);
    psvi_store_numbers(bins, psvi_least(psvi_greatest(x, psvi_four_of(0)), psvi_four_of(BINS - 1)));
}

typedef struct split {
    int axis;
    uint32_t bin; // the first of the right side
    float cost;
} split;

typedef struct bin_set {
    bin bins[3][BINS];
} bin_set;

static void clear_bins(bin_set *set) {
    for (int axis = 0; axis < 3; ++axis)
        for (int b = 0; b < BINS; ++b)
            set->bins[axis][b] = (bin){psvi_no_box4(), 0};
}

static void add_bins(bin_set *set, const bin_set *other) {
    for (int axis = 0; axis < 3; ++axis)
        for (int b = 0; b < BINS; ++b) {
            psvi_grow4(&set->bins[axis][b].box, other->bins[axis][b].box.min, other->bins[axis][b].box.max);
            set->bins[axis][b].count += other->bins[axis][b].count;
        }
}

// Two sets alternate, because the values that the previous item stored would delay the next loads.
static void fill_bins(const psv_aabb *boxes, const uint32_t *order, uint32_t begin, uint32_t end, const binning *places,
                      bin_set *made) {
    bin_set other;
    clear_bins(made);
    clear_bins(&other);
    for (uint32_t i = begin; i < end; ++i) {
        const psv_aabb *box = &boxes[order[i]];
        const psvi_four min = psvi_box_min(box), max = psvi_box_max(box);
        bin_set *const set = i & 1u ? &other : made;
        int32_t at[4];
        bins_of(places, centre4(min, max), at);
        for (int axis = 0; axis < 3; ++axis) {
            if (!places->bins[axis]) continue;
            bin *b = &set->bins[axis][at[axis]];
            psvi_grow4(&b->box, min, max);
            ++b->count;
        }
    }
    add_bins(made, &other);
}

typedef struct bin_job {
    const psv_aabb *boxes;
    const uint32_t *order;
    const range *items;
    const binning *places;
    bin_set sets[PIECES];
} bin_job;

static void fill_some_bins(void *data, uint64_t first, uint64_t end) {
    bin_job *job = data;
    const uint64_t begin = job->items->begin, count = job->items->end - begin;
    for (uint64_t i = first; i < end; ++i)
        fill_bins(job->boxes, job->order, (uint32_t)(begin + count * i / PIECES),
                  (uint32_t)(begin + count * (i + 1) / PIECES), job->places, &job->sets[i]);
}

// context: not NULL where no other thread has work.
static void fill_all_bins(psv_context *context, const psv_aabb *boxes, const uint32_t *order, const range *r,
                          const binning *places, bin_set *made) {
    if (context == NULL || r->end - r->begin < LARGE) {
        fill_bins(boxes, order, r->begin, r->end, places, made);
        return;
    }
    bin_job job = {.boxes = boxes, .order = order, .items = r, .places = places};
    psvi_run_ranges(context, PIECES, 1, fill_some_bins, &job);
    *made = job.sets[0];
    for (uint32_t i = 1; i < PIECES; ++i)
        add_bins(made, &job.sets[i]);
}

static void cheapest_of_axis(const bin bins[BINS], int axis, split *best) {
    float right_cost[BINS];
    psvi_box4 box = psvi_no_box4();
    uint32_t count = 0;
    for (uint32_t b = BINS; b-- > 1;) {
        psvi_grow4(&box, bins[b].box.min, bins[b].box.max);
        count += bins[b].count;
        right_cost[b] = count > 0 ? surface4(&box) * (float)count : INFINITY;
    }
    box = psvi_no_box4();
    count = 0;
    for (uint32_t b = 1; b < BINS; ++b) {
        psvi_grow4(&box, bins[b - 1].box.min, bins[b - 1].box.max);
        count += bins[b - 1].count;
        const float cost = count > 0 ? surface4(&box) * (float)count + right_cost[b] : INFINITY;
        if (cost < best->cost) *best = (split){axis, b, cost};
    }
}

static psv_aabb box_of_bins(const bin *bins, uint32_t first, uint32_t end) {
    psvi_box4 box = psvi_no_box4();
    for (uint32_t b = first; b < end; ++b)
        psvi_grow4(&box, bins[b].box.min, bins[b].box.max);
    return psvi_box_of_box4(&box);
}

// Items on the left side of `best` first, in their order; both sides get their boxes. scratch: room for all.
static void part_range(const psv_aabb *boxes, uint32_t *order, const range *from, const binning *places,
                       const bin_set *set, const split *best, uint32_t *scratch, range *left, range *right) {
    const psvi_four most = psvi_four_of(INFINITY), least = psvi_four_of(-INFINITY);
    const psvi_four limit = psvi_four_of((float)best->bin);
    psvi_box4 lefts = psvi_no_box4(), rights = lefts;
    uint32_t low = from->begin, high = 0;
    for (uint32_t i = from->begin; i < from->end; ++i) {
        const uint32_t id = order[i];
        const psvi_four centre = centre4(psvi_box_min(&boxes[id]), psvi_box_max(&boxes[id]));
        const psvi_four place = psvi_times(psvi_minus(centre, places->from), places->scale);
        const psvi_four after = psvi_not_below(psvi_lane(place, best->axis), limit);
        psvi_grow4(&lefts, psvi_choose(after, most, centre), psvi_choose(after, least, centre));
        psvi_grow4(&rights, psvi_choose(after, centre, most), psvi_choose(after, centre, least));
        const uint32_t side = psvi_any(after); // without a branch
        order[low] = id;
        scratch[high] = id;
        low += 1 - side;
        high += side;
    }
    memcpy(order + low, scratch, high * sizeof *order);
    const bin *const bins = set->bins[best->axis];
    *left = (range){from->begin, low, box_of_bins(bins, 0, best->bin), psvi_box_of_box4(&lefts)};
    *right = (range){low, from->end, box_of_bins(bins, best->bin, BINS), psvi_box_of_box4(&rights)};
}

// Up to FEW items: along the axis on which their centres are furthest apart, where the surfaces times the items are
// least.
static void split_few(const psv_aabb *boxes, uint32_t *order, const range *from, range *left, range *right) {
    const uint32_t count = from->end - from->begin;
    uint32_t *const ids = order + from->begin;
    float at[FEW], right_cost[FEW] = {0};
    int axis = 0;
    for (int k = 1; k < 3; ++k)
        if (from->centres.max[k] - from->centres.min[k] > from->centres.max[axis] - from->centres.min[axis]) axis = k;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = ids[i];
        float centre[3];
        centre_of(&boxes[id], centre);
        uint32_t place = i;
        for (; place > 0 && at[place - 1] > centre[axis]; --place) {
            at[place] = at[place - 1];
            ids[place] = ids[place - 1];
        }
        at[place] = centre[axis];
        ids[place] = id;
    }
    psvi_box4 box = psvi_no_box4();
    for (uint32_t i = count; i-- > 1;) {
        psvi_grow4(&box, psvi_box_min(&boxes[ids[i]]), psvi_box_max(&boxes[ids[i]]));
        right_cost[i] = surface4(&box) * (float)(count - i);
    }
    uint32_t best = count / 2;
    float least = INFINITY;
    box = psvi_no_box4();
    for (uint32_t i = 1; i < count; ++i) {
        psvi_grow4(&box, psvi_box_min(&boxes[ids[i - 1]]), psvi_box_max(&boxes[ids[i - 1]]));
        const float cost = surface4(&box) * (float)i + right_cost[i];
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    left->begin = from->begin;
    right->end = from->end;
    left->end = right->begin = from->begin + best;
    measure(boxes, order, left);
    measure(boxes, order, right);
}

// Splits a range of two items or more; `halve`: in the middle, whatever the surfaces are.
static void split_range(psv_context *context, const psv_aabb *boxes, uint32_t *order, const range *from, bool halve,
                        uint32_t *scratch, range *left, range *right) {
    if (!halve && from->end - from->begin <= FEW) {
        split_few(boxes, order, from, left, right);
        return;
    }
    split best = {0, 0, INFINITY};
    const binning places = choose_bins(from);
    bin_set set;
    if (!halve && places.spread) {
        fill_all_bins(context, boxes, order, from, &places, &set);
        for (int axis = 0; axis < 3; ++axis)
            if (places.bins[axis]) cheapest_of_axis(set.bins[axis], axis, &best);
    }
    if (best.cost < INFINITY) {
        part_range(boxes, order, from, &places, &set, &best, scratch, left, right);
        return;
    }
    left->begin = from->begin; // coincident centres
    right->end = from->end;
    left->end = right->begin = from->begin + (from->end - from->begin) / 2;
    measure(boxes, order, left);
    measure(boxes, order, right);
}

static inline uint32_t size_of(const range *r) { return r->end - r->begin; }

// Up to eight parts of a range. Of eight items or fewer these are the items.
static uint32_t split_into_children(psv_context *context, const psv_aabb *boxes, uint32_t *order, const range *from,
                                    bool halve, uint32_t *scratch, range parts[8]) {
    if (size_of(from) <= 8) {
        for (uint32_t i = 0; i < size_of(from); ++i)
            parts[i] = item_range(boxes, order, from->begin + i);
        return size_of(from);
    }
    uint32_t count = 1;
    parts[0] = *from;
    while (count < 8) {
        uint32_t widest = 8;
        float most = -1;
        for (uint32_t i = 0; i < count; ++i) {
            const float weight = halve ? (float)size_of(&parts[i]) : surface(&parts[i].box);
            if (size_of(&parts[i]) > PSVI_SMALL_ITEMS && weight > most) {
                most = weight;
                widest = i;
            }
        }
        if (widest == 8) break;
        const range whole = parts[widest];
        split_range(context, boxes, order, &whole, halve, scratch, &parts[widest], &parts[count]);
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

// Joins parts i and j of the parts from `begin` on: all parts get new places.
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
            parts[k == 0 ? widest : count + k - 1] = item_range(boxes, order, whole.begin + k);
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
    psvi_tree_kernels kernels;
    const psv_aabb *boxes;
    uint32_t *order;
    psv_context *alone; // not NULL: this thread alone has work
    uint32_t nodes;     // taken, by atomic addition
    uint32_t levels;    // the most so far, atomic
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
    psvi_node_children children = {.inner = 0};
    uint32_t singles = 0, inner = 0;
    const bool halve = from->level >= DEEP;
    uint32_t count = split_into_children(b->alone, b->boxes, b->order, &from->items, halve, scratch, parts);
    count = absorb_parts(b->boxes, b->order, parts, count);
    count = fill_parts(b->boxes, b->order, from->items.begin, parts, count, scratch);
    for (uint32_t i = 0; i < count; ++i)
        singles += size_of(&parts[i]) == 1;
    if (singles > 0 && singles < count) gather_singles(b->order, from->items.begin, parts, count, scratch);
    const uint32_t first = singles == count ? 0 : take_nodes(b, count - singles);
    uint32_t single = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const bool is_inner = size_of(&parts[i]) > 1;
        // Where all are single, none was moved: the place in the range is the offset.
        children.offset[i] = (uint8_t)(is_inner           ? inner
                                       : singles == count ? parts[i].begin - from->items.begin
                                                          : single);
        children.inner |= (uint32_t)is_inner << i;
        single += !is_inner;
        psvi_set_child(&children, i, parts[i].box.min, parts[i].box.max);
        if (is_inner) tasks[inner] = (task){parts[i], first + inner, from->node, from->level + 1};
        inner += is_inner;
    }
    psv_tree_node *node = &b->tree->memory.nodes[from->node];
    b->kernels.make_node(&children, count, node, &b->tree->memory.boxes[from->node]);
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

typedef struct round_job {
    builder *build;
    const task *tasks;
    uint32_t *scratch;
    task made[TASKS / 8][8];
    uint32_t counts[TASKS / 8];
} round_job;

static void make_some_nodes(void *data, uint64_t first, uint64_t end) {
    round_job *job = data;
    for (uint64_t i = first; i < end; ++i)
        job->counts[i] = make_node(job->build, &job->tasks[i], job->scratch + job->tasks[i].items.begin, job->made[i]);
}

// Nodes of one level after another, until there are enough subtrees for all threads. Scratch memory for moving single
// items is that of the keys, which a fine tree has no use for.
void psvi_build_fine_cpu(psv_tree *tree, uint32_t count) {
    builder b = {.tree = tree,
                 .kernels = psvi_choose_tree_kernels(),
                 .boxes = tree->memory.fine,
                 .order = tree->memory.order,
                 .nodes = 1,
                 .levels = 1};
    psv_tree_head *head = tree->memory.head;
    head->linear = 0;
    head->node_count = 0;
    if (count == 0) return;
    task tasks[TASKS] = {{{0, count, nothing, nothing}, 0, 0, 1}};
    uint32_t waiting = 1;
    round_job round = {.build = &b, .tasks = tasks, .scratch = (uint32_t *)tree->memory.keys};
    measure(b.boxes, b.order, &tasks[0].items);
    while (waiting > 0 && waiting <= TASKS / 8 && (uint64_t)waiting * SMALL < count) {
        if (tasks[0].level > b.levels) b.levels = tasks[0].level;
        b.alone = waiting == 1 ? tree->context : NULL;
        psvi_run_ranges(tree->context, waiting, 1, make_some_nodes, &round);
        uint32_t made = 0;
        for (uint32_t i = 0; i < waiting; ++i)
            for (uint32_t k = 0; k < round.counts[i]; ++k)
                tasks[made++] = round.made[i][k];
        waiting = made;
    }
    b.alone = NULL;
    subtrees job = {&b, tasks, round.scratch};
    psvi_run_ranges(tree->context, waiting, 1, make_some_subtrees, &job);
    head->node_count = b.nodes;
    head->level_count = b.levels;
}

// Nodes follow their parents, so a loop from the last node on has the children of each node ready.
void psvi_refit_fine_cpu(psv_tree *tree) {
    const psvi_tree_memory *memory = &tree->memory;
    const psvi_stored_items stored = psvi_items_of(memory, tree->triangles);
    const psvi_tree_kernels kernels = psvi_choose_tree_kernels();
    for (uint32_t i = memory->head->node_count; i-- > 0;) {
        psv_tree_node *node = &memory->nodes[i];
        psvi_node_children children = {.inner = 0};
        const uint32_t count = (node->parent >> 29) + 1;
        const uint32_t inner = (uint32_t)__builtin_popcount(psv_node_inner(node));
        children.inner = (1u << inner) - 1;
        for (uint32_t c = 0; c < count; ++c) {
            psv_aabb box;
            children.offset[c] = (uint8_t)(c < inner ? c : c - inner);
            if (c < inner)
                box = memory->boxes[node->first_child + c];
            else
                psvi_stored_box(&stored, node->first_item + c - inner, box.min, box.max);
            psvi_set_child(&children, c, box.min, box.max);
        }
        kernels.make_node(&children, count, node, &memory->boxes[i]);
    }
}
