// Walks of a binary tree on the host.
#include "host_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pairsieve/sort.h"

// --- the tree -------------------------------------------------------------------------------------------------------

static const float *vertex_of(const psv_mesh *mesh, uint32_t triangle, int corner) {
    return mesh->positions + 3 * (size_t)mesh->triangles[3 * (size_t)triangle + corner];
}

static void box_of_triangle(const psv_mesh *mesh, uint32_t triangle, host_tree_node *node) {
    for (int k = 0; k < 3; ++k) {
        const float a = vertex_of(mesh, triangle, 0)[k], b = vertex_of(mesh, triangle, 1)[k],
                    c = vertex_of(mesh, triangle, 2)[k];
        node->min[k] = fminf(a, fminf(b, c));
        node->max[k] = fmaxf(a, fmaxf(b, c));
    }
}

static uint32_t spread_bits(uint32_t x) { // ten bits, two zeros between each
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

// Ten bits an axis of the triangles' middles.
static void make_codes(const psv_mesh *mesh, uint32_t *codes, uint32_t *order) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (uint32_t v = 0; v < mesh->vertex_count; ++v)
        for (int k = 0; k < 3; ++k) {
            low[k] = fminf(low[k], mesh->positions[3 * (size_t)v + k]);
            high[k] = fmaxf(high[k], mesh->positions[3 * (size_t)v + k]);
        }
    for (uint32_t t = 0; t < mesh->triangle_count; ++t) {
        host_tree_node box;
        box_of_triangle(mesh, t, &box);
        codes[t] = 0;
        order[t] = t;
        for (int k = 0; k < 3; ++k) {
            const float size = high[k] - low[k], place = 0.5f * (box.min[k] + box.max[k]) - low[k];
            const float cell = size > 0 ? 1024 * place / size : 0;
            codes[t] |= spread_bits(cell >= 1023 ? 1023 : cell > 0 ? (uint32_t)cell : 0) << k;
        }
    }
}

static psv_status sort_codes(psv_context *context, uint32_t *codes, uint32_t *order, uint32_t count) {
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter = NULL;
    def.max_count = count;
    psv_status status = psv_create_sorter(context, &def, &sorter);
    if (status == PSV_OK)
        status = psv_sort_pairs(sorter, psv_buffer_of(codes, 4 * (uint64_t)count),
                                psv_buffer_of(order, 4 * (uint64_t)count), count);
    psv_destroy_sorter(sorter);
    return status;
}

// Leading bits that the codes of two places share, with the places behind them so that no two are equal; -1: outside.
static int shared_bits(const uint32_t *codes, int64_t count, int64_t a, int64_t b) {
    if (b < 0 || b >= count) return -1;
    if (codes[a] != codes[b]) return __builtin_clz(codes[a] ^ codes[b]);
    return 32 + __builtin_clz((uint32_t)a ^ (uint32_t)b);
}

// The children of inner node i (Karras 2012, Figure 4).
static void find_children(const uint32_t *codes, int64_t count, int64_t i, uint32_t child[2]) {
    const int64_t way = shared_bits(codes, count, i, i + 1) > shared_bits(codes, count, i, i - 1) ? 1 : -1;
    const int least = shared_bits(codes, count, i, i - way);
    int64_t most = 2, length = 0, split = 0;
    while (shared_bits(codes, count, i, i + most * way) > least)
        most *= 2;
    for (int64_t step = most / 2; step > 0; step /= 2)
        if (shared_bits(codes, count, i, i + (length + step) * way) > least) length += step;
    const int64_t j = i + length * way, first = i < j ? i : j, last = i < j ? j : i;
    const int bits = shared_bits(codes, count, i, j);
    for (int64_t step = length; step > 1;) {
        step = (step + 1) / 2;
        if (shared_bits(codes, count, i, i + (split + step) * way) > bits) split += step;
    }
    const int64_t middle = i + split * way + (way < 0 ? -1 : 0), leaves = count - 1;
    child[0] = (uint32_t)(first == middle ? leaves + middle : middle);
    child[1] = (uint32_t)(last == middle + 1 ? leaves + middle + 1 : middle + 1);
}

static void unite(host_tree_node *node, const host_tree_node *a, const host_tree_node *b) {
    for (int k = 0; k < 3; ++k) {
        node->min[k] = fminf(a->min[k], b->min[k]);
        node->max[k] = fmaxf(a->max[k], b->max[k]);
    }
}

// Boxes from the leaves up: an inner node is done when its second child comes. `seen` has a zero for each.
static void unite_boxes(host_tree *tree, uint8_t *seen) {
    for (uint32_t leaf = 0; leaf < tree->count; ++leaf) {
        uint32_t node = tree->nodes[tree->count - 1 + leaf].parent;
        while (node != HOST_TREE_NONE && seen[node]++ > 0) {
            host_tree_node *here = &tree->nodes[node];
            unite(here, &tree->nodes[here->child[0]], &tree->nodes[here->child[1]]);
            node = here->parent;
        }
    }
    tree->levels = 0;
    for (uint32_t leaf = 0; leaf < tree->count; ++leaf) {
        uint32_t levels = 0;
        for (uint32_t at = tree->nodes[tree->count - 1 + leaf].parent; at != HOST_TREE_NONE;
             at = tree->nodes[at].parent)
            ++levels;
        tree->levels = levels > tree->levels ? levels : tree->levels;
    }
}

static void make_nodes(host_tree *tree, const uint32_t *codes) {
    const uint32_t inner = tree->count - 1;
    tree->nodes[0].parent = HOST_TREE_NONE;
    for (uint32_t leaf = 0; leaf < tree->count; ++leaf)
        box_of_triangle(tree->mesh, tree->order[leaf], &tree->nodes[inner + leaf]);
    for (uint32_t i = 0; i < inner; ++i) {
        find_children(codes, tree->count, i, tree->nodes[i].child);
        tree->nodes[tree->nodes[i].child[0]].parent = tree->nodes[tree->nodes[i].child[1]].parent = i;
    }
}

psv_status host_make_tree(psv_context *context, const psv_mesh *mesh, host_tree *tree) {
    const uint32_t count = mesh->triangle_count;
    *tree = (host_tree){.count = count, .mesh = mesh};
    tree->nodes = malloc((2 * (size_t)count - 1) * sizeof *tree->nodes);
    tree->order = malloc(count * sizeof *tree->order);
    uint32_t *codes = malloc(count * sizeof *codes);
    uint8_t *seen = calloc(count, 1);
    psv_status status =
        tree->nodes != NULL && tree->order != NULL && codes != NULL && seen != NULL ? PSV_OK : PSV_ERROR_MEMORY;
    if (status == PSV_OK) {
        make_codes(mesh, codes, tree->order);
        status = sort_codes(context, codes, tree->order, count);
    }
    if (status == PSV_OK) {
        make_nodes(tree, codes);
        unite_boxes(tree, seen);
    }
    free(codes);
    free(seen);
    if (status != PSV_OK) host_free_tree(tree);
    return status;
}

void host_free_tree(host_tree *tree) {
    free(tree->nodes);
    free(tree->order);
    *tree = (host_tree){0};
}

// --- rays -----------------------------------------------------------------------------------------------------------

typedef struct ray_state {
    const psv_ray *ray;
    float inverse[3];
    psv_ray_hit hit;
    uint64_t steps;
} ray_state;

// Where the ray enters a box; infinite: it misses it, or only behind what was hit.
static float enter_box(const ray_state *state, const host_tree_node *node) {
    float near = state->ray->t_min, far = state->hit.t;
    for (int k = 0; k < 3; ++k) {
        const float a = (node->min[k] - state->ray->origin[k]) * state->inverse[k],
                    b = (node->max[k] - state->ray->origin[k]) * state->inverse[k];
        near = fmaxf(near, fminf(a, b));
        far = fminf(far, fmaxf(a, b) * 1.0000004f);
    }
    return near <= far ? near : INFINITY;
}

static float dot3(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross3(const float a[3], const float b[3], float out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

// Möller and Trumbore 1997.
static void meet_triangle(const host_tree *tree, uint32_t place, ray_state *state) {
    const uint32_t item = tree->order[place];
    const float *a = vertex_of(tree->mesh, item, 0);
    float ab[3], ac[3], from[3], p[3], q[3];
    for (int k = 0; k < 3; ++k) {
        ab[k] = vertex_of(tree->mesh, item, 1)[k] - a[k];
        ac[k] = vertex_of(tree->mesh, item, 2)[k] - a[k];
        from[k] = state->ray->origin[k] - a[k];
    }
    cross3(state->ray->direction, ac, p);
    cross3(from, ab, q);
    const float determinant = dot3(ab, p), u = dot3(from, p) / determinant,
                v = dot3(state->ray->direction, q) / determinant, t = dot3(ac, q) / determinant;
    if (!(u >= 0) || !(v >= 0) || !(u + v <= 1) || !(t >= state->ray->t_min) || !(t <= state->hit.t)) return;
    if (t == state->hit.t && item > state->hit.item) return;
    state->hit = (psv_ray_hit){t, item, u, v};
}

// Which children the ray enters, and the nearer one first.
typedef struct entered {
    uint32_t count, first, second;
} entered;

static entered enter_children(const host_tree *tree, const host_tree_node *node, ray_state *state) {
    const float a = enter_box(state, &tree->nodes[node->child[0]]), b = enter_box(state, &tree->nodes[node->child[1]]);
    ++state->steps;
    if (a == INFINITY || b == INFINITY)
        return (entered){(a != INFINITY) + (b != INFINITY), node->child[a == INFINITY], 0};
    return (entered){2, node->child[b < a], node->child[!(b < a)]};
}

static void walk_with_stack(const host_tree *tree, ray_state *state) {
    uint32_t stack[64], depth = 0, at = 0;
    for (;;) {
        const bool leaf = at >= tree->count - 1;
        entered next = {0, 0, 0};
        if (leaf)
            meet_triangle(tree, at - (tree->count - 1), state);
        else
            next = enter_children(tree, &tree->nodes[at], state);
        if (next.count == 2) stack[depth++] = next.second;
        if (next.count > 0) {
            at = next.first;
        } else {
            do { // what lies behind a hit that was found since is left out
                if (depth == 0) return;
                at = stack[--depth];
                ++state->steps;
            } while (enter_box(state, &tree->nodes[at]) == INFINITY);
        }
    }
}

// Each level's bit of the trail says that the sibling of the node on the way down is still to be visited. Links to
// parents lead back to the last such level.
static void walk_by_trail(const host_tree *tree, ray_state *state) {
    uint64_t trail = 0;
    uint32_t at = 0;
    for (;;) {
        const bool leaf = at >= tree->count - 1;
        entered next = {0, 0, 0};
        if (leaf)
            meet_triangle(tree, at - (tree->count - 1), state);
        else
            next = enter_children(tree, &tree->nodes[at], state);
        if (next.count > 0) {
            trail = trail << 1 | (next.count == 2);
            at = next.first;
            continue;
        }
        do {
            if (trail == 0) return;
            for (; (trail & 1) == 0; trail >>= 1, ++state->steps)
                at = tree->nodes[at].parent;
            trail ^= 1;
            ++state->steps;
            const host_tree_node *parent = &tree->nodes[tree->nodes[at].parent];
            at = parent->child[parent->child[0] == at];
        } while (enter_box(state, &tree->nodes[at]) == INFINITY);
    }
}

void host_trace(const host_tree *tree, host_walk walk, const psv_ray *rays, uint64_t count, int threads,
                psv_ray_hit *hits, uint64_t *steps) {
    uint64_t all = 0;
    (void)threads; // without OpenMP
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) reduction(+ : all)
#endif
    for (uint64_t r = 0; r < count; ++r) {
        ray_state state = {.ray = &rays[r], .hit = {.t = rays[r].t_max, .item = PSV_NO_ITEM}};
        for (int k = 0; k < 3; ++k)
            state.inverse[k] = 1 / rays[r].direction[k];
        if (enter_box(&state, &tree->nodes[0]) != INFINITY) {
            if (walk == HOST_WALK_STACK)
                walk_with_stack(tree, &state);
            else
                walk_by_trail(tree, &state);
        }
        hits[r] = state.hit;
        all += state.steps;
    }
    *steps = all;
}
