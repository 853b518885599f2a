// What building a tree is made of, for C and CUDA: items from the caller's views, places along a Hilbert curve, and
// boxes of children as a node's grid.
#ifndef PAIRSIEVE_TREE_BUILD_H
#define PAIRSIEVE_TREE_BUILD_H

#include "../box_test.h"
#include "../broad_phase.h"
#include "pairsieve/tree_view.h"

// The items of a build, checked; of one kind.
typedef struct psvi_item_view {
    psvi_box_view boxes; // of triangles: count, count_device, flags, filters and worlds only
    const char *vertices;
    const char *indices; // NULL: vertices in threes
    uint64_t vertex_count;
    uint32_t vertex_stride, index_stride;
    bool triangles;
    uint32_t world_count;
} psvi_item_view;

// A box, or a triangle and its box.
typedef struct psvi_item {
    float min[3], max[3];
    float corner[3][3];
} psvi_item;

typedef enum psvi_item_state { PSVI_ITEM_GOOD, PSVI_ITEM_OFF, PSVI_ITEM_BAD } psvi_item_state;

PSV_TREE_FN void psvi_load3(const char *from, float to[3]) {
#if defined(__CUDA_ARCH__)
    const float *at = reinterpret_cast<const float *>(from);
    to[0] = at[0];
    to[1] = at[1];
    to[2] = at[2];
#else
    memcpy(to, from, 12);
#endif
}

PSV_TREE_FN uint32_t psvi_item_world(const psvi_item_view *view, uint64_t i) {
    return view->boxes.worlds == NULL ? 0 : view->boxes.worlds[i];
}

// False: an index is out of range, or a coordinate not finite.
PSV_TREE_FN bool psvi_load_triangle(const psvi_item_view *view, uint64_t i, psvi_item *item) {
    const uint32_t *indices = view->indices == NULL ? NULL : (const uint32_t *)(view->indices + i * view->index_stride);
    bool good = true;
    for (int k = 0; k < 3; ++k) {
        const uint64_t vertex = indices == NULL ? 3 * i + (uint64_t)k : indices[k];
        if (vertex >= view->vertex_count) return false;
        psvi_load3(view->vertices + vertex * view->vertex_stride, item->corner[k]);
    }
    for (int axis = 0; axis < 3; ++axis) {
        const float a = item->corner[0][axis], b = item->corner[1][axis], c = item->corner[2][axis];
        good = good && fabsf(a) < INFINITY && fabsf(b) < INFINITY && fabsf(c) < INFINITY;
        item->min[axis] = psv_min(a, psv_min(b, c));
        item->max[axis] = psv_max(a, psv_max(b, c));
    }
    return good;
}

PSV_TREE_FN psvi_item_state psvi_load_item(const psvi_item_view *view, uint64_t i, psvi_item *item) {
    if (view->boxes.flags != NULL && (view->boxes.flags[i] & PSV_BOX_DISABLED) != 0) return PSVI_ITEM_OFF;
    if (psvi_item_world(view, i) >= view->world_count) return PSVI_ITEM_BAD;
    if (view->triangles) return psvi_load_triangle(view, i, item) ? PSVI_ITEM_GOOD : PSVI_ITEM_BAD;
    psvi_load3(view->boxes.min + i * view->boxes.min_stride, item->min);
    psvi_load3(view->boxes.max + i * view->boxes.max_stride, item->max);
    if (psvi_box_is_bad(item->min, item->max)) return PSVI_ITEM_BAD;
    for (int axis = 0; axis < 3; ++axis) { // as nodes have it
        item->min[axis] = psv_tree_clamp(item->min[axis]);
        item->max[axis] = psv_tree_clamp(item->max[axis]);
    }
    return PSVI_ITEM_GOOD;
}

PSV_TREE_FN float psvi_item_centre(const psvi_item *item, int axis) {
    return 0.5f * psv_tree_clamp(item->min[axis]) + 0.5f * psv_tree_clamp(item->max[axis]);
}

// Where items of a tree are: boxes, or the two parts of triangles.
typedef struct psvi_stored_items {
    bool triangles;
    void *items;
    psv_tree_end *ends;
} psvi_stored_items;

PSV_TREE_FN void psvi_store_item(const psvi_stored_items *stored, const psvi_item *item, uint32_t id, uint64_t place) {
    if (stored->triangles) {
        const psv_tree_corners made = {{item->corner[0][0], item->corner[0][1], item->corner[0][2]},
                                       {item->corner[1][0], item->corner[1][1], item->corner[1][2]},
                                       {item->corner[2][0], item->corner[2][1]}};
        const psv_tree_end end = {item->corner[2][2], id};
        ((psv_tree_corners *)stored->items)[place] = made;
        stored->ends[place] = end;
    } else {
        const psv_tree_box made = {
            {item->min[0], item->min[1], item->min[2]}, id, {item->max[0], item->max[1], item->max[2]}, 0};
        ((psv_tree_box *)stored->items)[place] = made;
    }
}

PSV_TREE_FN uint32_t psvi_stored_id(const psvi_stored_items *stored, uint64_t place) {
    return stored->triangles ? stored->ends[place].item : ((const psv_tree_box *)stored->items)[place].item;
}

// An item of the tree that takes no part any more: a triangle of NaN, a box with min > max.
PSV_TREE_FN void psvi_mark_off(psvi_item *item) {
    for (int axis = 0; axis < 3; ++axis) {
        item->min[axis] = INFINITY;
        item->max[axis] = -INFINITY;
        item->corner[0][axis] = item->corner[1][axis] = item->corner[2][axis] = NAN;
    }
}

// The box of an item of the tree; min > max where it is marked.
PSV_TREE_FN void psvi_stored_box(const psvi_stored_items *stored, uint64_t place, float min[3], float max[3]) {
    if (!stored->triangles) {
        const psv_tree_box *box = (const psv_tree_box *)stored->items + place;
        for (int axis = 0; axis < 3; ++axis) {
            min[axis] = box->min[axis];
            max[axis] = box->max[axis];
        }
        return;
    }
    const psv_tree_corners *t = (const psv_tree_corners *)stored->items + place;
    const float c[3] = {t->c[0], t->c[1], stored->ends[place].c};
    const bool off = t->a[0] != t->a[0];
    for (int axis = 0; axis < 3; ++axis) {
        min[axis] = off ? INFINITY : psv_min(t->a[axis], psv_min(t->b[axis], c[axis]));
        max[axis] = off ? -INFINITY : psv_max(t->a[axis], psv_max(t->b[axis], c[axis]));
    }
}

// --- keys ------------------------------------------------------------------------------------------------------------

#define PSVI_TREE_SAMPLES 256  // items that the grid of the keys is made from
#define PSVI_TREE_AXIS_BITS 20 // of a place on an axis, at most

// The item of a sample: one of each 256th of the items, anywhere in it. Even strides would meet one column of all rows
// of a mesh, or one body of all worlds.
PSV_TREE_FN uint64_t psvi_tree_sample(uint64_t count, uint32_t sample) {
    const uint64_t first = count * sample / PSVI_TREE_SAMPLES, next = count * (sample + 1) / PSVI_TREE_SAMPLES;
    uint32_t any = (sample + 1) * 2654435761u;
    any = (any ^ any >> 15) * 2246822519u;
    return first + ((uint64_t)(any ^ any >> 13) * (next - first) >> 32);
}

// Key: [world | place on the curve], in the highest bits of 64. The number of bits of a place is chosen per build, the
// same for all axes: digits that are 0 in all keys cost the sorter almost nothing.
typedef struct psvi_tree_keys {
    uint32_t world_bits;
    uint32_t axis_bits; // most
} psvi_tree_keys;

// Most bits that the keys of a tree can have: worlds in full, and the remaining bits for places.
PSV_TREE_FN psvi_tree_keys psvi_choose_tree_keys(uint32_t world_count) {
    psvi_tree_keys keys = {0, PSVI_TREE_AXIS_BITS};
    while (keys.world_bits < 32 && (uint64_t)1 << keys.world_bits < world_count)
        ++keys.world_bits;
    const uint32_t left = (64 - 1 - keys.world_bits) / 3; // one bit says that an item takes no part
    if (left < keys.axis_bits) keys.axis_bits = left;
    return keys;
}

// Bits of an axis that separate this many items on a surface, and a few more: neighbours on the curve are then
// neighbours in space down to the size of a node.
PSV_TREE_FN uint32_t psvi_usual_axis_bits(uint64_t count) {
    uint32_t bits = 1;
    while (bits < PSVI_TREE_AXIS_BITS && ((uint64_t)1 << (2 * bits)) < 4 * count)
        ++bits;
    return bits;
}

// The range of an axis that keys resolve, from the least, the low and high thirty-second, and the greatest of the
// samples. It contains all samples, but distant ones only up to a few times the range of most. So a few do not take the
// resolution from all others. Items outside get the nearest cell.
PSV_TREE_FN void psvi_key_range(float least, float low, float high, float greatest, float *from, float *to) {
    const float inside = high - low;
    if (inside > 0) {
        least = psv_max(least, low - 3 * inside);
        greatest = psv_min(greatest, high + 3 * inside);
    }
    *from = least - (greatest - least) / 32;
    *to = greatest + (greatest - least) / 32;
}

// Bits of the place of a cell on a Hilbert curve through the cube of 2^bits cells a side, bits at least 1 (Skilling,
// «Programming the Hilbert curve», 2004): the uppermost ones of the three numbers come first, and so on down.
PSV_TREE_FN void psvi_hilbert_bits(const uint32_t cell[3], uint32_t bits, uint32_t place[3]) {
    uint32_t x = cell[0], y = cell[1], z = cell[2];
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        const uint32_t p = q - 1;
        x ^= x & q ? p : 0;
        const uint32_t s = y & q ? 0 : (x ^ y) & p;
        x ^= y & q ? p : s;
        y ^= s;
        const uint32_t t = z & q ? 0 : (x ^ z) & p;
        x ^= z & q ? p : t;
        z ^= t;
    }
    y ^= x;
    z ^= y;
    uint32_t flip = z >> 1; // each bit: parity of the bits above it
    flip ^= flip >> 1;
    flip ^= flip >> 2;
    flip ^= flip >> 4;
    flip ^= flip >> 8;
    flip ^= flip >> 16;
    place[0] = x ^ flip;
    place[1] = y ^ flip;
    place[2] = z ^ flip;
}

// That place, 3 * bits wide.
PSV_TREE_FN uint64_t psvi_hilbert_place(const uint32_t cell[3], uint32_t bits) {
    uint32_t apart[3];
    uint64_t place = 0;
    psvi_hilbert_bits(cell, bits, apart);
    for (int i = 0; i < 3; ++i) {
        uint64_t v = apart[i]; // 21 bits, two places apart
        v = (v | v << 32) & 0x1f00000000ffffull;
        v = (v | v << 16) & 0x1f0000ff0000ffull;
        v = (v | v << 8) & 0x100f00f00f00f00full;
        v = (v | v << 4) & 0x10c30c30c30c30c3ull;
        v = (v | v << 2) & 0x1249249249249249ull;
        place |= v << (2 - i);
    }
    return place;
}

// The same of at most 10 bits an axis.
PSV_TREE_FN uint32_t psvi_short_hilbert_place(const uint32_t cell[3], uint32_t bits) {
    uint32_t apart[3], place = 0;
    psvi_hilbert_bits(cell, bits, apart);
    for (int i = 0; i < 3; ++i) {
        uint32_t v = apart[i];
        v = (v | v << 16) & 0x030000ffu;
        v = (v | v << 8) & 0x0300f00fu;
        v = (v | v << 4) & 0x030c30c3u;
        v = (v | v << 2) & 0x09249249u;
        place |= v << (2 - i);
    }
    return place;
}

// The cell of a point, clamped to the cube.
PSV_TREE_FN uint32_t psvi_tree_cell(float at, float low, float scale, uint32_t bits) {
    const float cells = (float)(1u << bits), x = (at - low) * scale * cells;
    if (!(x > 0)) return 0;
    return x < cells ? (uint32_t)x : (1u << bits) - 1;
}

PSV_TREE_FN void psvi_tree_cells(const psv_tree_head *head, const float point[3], uint32_t bits, uint32_t cell[3]) {
    for (int axis = 0; axis < 3; ++axis)
        cell[axis] = psvi_tree_cell(point[axis], head->low[axis], head->scale, bits);
}

// Place of a point with the upper axis_bits of each axis, as if it had all of them.
PSV_TREE_FN uint64_t psvi_tree_place(const psv_tree_head *head, const float point[3], uint32_t bits, uint32_t most) {
    uint32_t cell[3];
    psvi_tree_cells(head, point, bits, cell);
    return psvi_hilbert_place(cell, bits) << (3 * (most - bits));
}

PSV_TREE_FN uint64_t psvi_no_part_key(const psvi_tree_keys *keys) {
    return (uint64_t)1 << (keys->world_bits + 3 * keys->axis_bits);
}

PSV_TREE_FN uint64_t psvi_item_key(const psvi_tree_keys *keys, const psv_tree_head *head, const psvi_item *item,
                                   uint32_t world, uint32_t bits) {
    const float centre[3] = {psvi_item_centre(item, 0), psvi_item_centre(item, 1), psvi_item_centre(item, 2)};
    return (uint64_t)world << (3 * keys->axis_bits) | psvi_tree_place(head, centre, bits, keys->axis_bits);
}

// --- nodes -----------------------------------------------------------------------------------------------------------

// Level h of a linear tree of n items has ceil(n / 8^h) nodes, the highest one; they are numbered from there down.
PSV_TREE_FN void psvi_linear_levels(psv_tree_head *head, uint32_t items) {
    uint32_t counts[PSV_TREE_MAX_LEVELS], level = 0, number = 0;
    for (uint32_t n = items; level == 0 || (n > 1 && level < PSV_TREE_MAX_LEVELS - 1);) {
        n = n / 8 + (n % 8 != 0);
        counts[++level] = n;
    }
    head->item_count = items;
    head->level_count = items == 0 ? 0 : level;
    head->linear = 1;
    for (uint32_t h = level; h >= 1; --h) {
        head->level_start[h] = number;
        number += counts[h];
    }
    head->node_count = items == 0 ? 0 : number;
}

PSV_TREE_FN int psvi_exponent_of(float x) { return (int)(psv_float_bits(x) >> 23 & 255u) - 127; }

// 1 / the grid's step.
PSV_TREE_FN float psvi_grid_inverse(uint32_t exponent) {
    return exponent == 1 ? 0x1p126f : psv_grid_step(254 - exponent);
}

// The grid of one axis of a node's box: step 2^exponent, origin a multiple of it, 255 steps reach `high`.
PSV_TREE_FN float psvi_make_grid(float low, float high, uint32_t *exponent) {
    const float most = psv_max(fabsf(low), fabsf(high));
    int e = psvi_exponent_of(0.5f * high - 0.5f * low) + 1 - 8;
    // Coordinates of the grid have to be exact: at most 2^23 steps from 0.
    if (e < psvi_exponent_of(most) - 22) e = psvi_exponent_of(most) - 22;
    if (e < -126) e = -126;
    for (;; ++e) {
        const float step = psv_grid_step((uint32_t)(e + 127)),
                    inverse = e == -126 ? 0x1p126f : psv_grid_step((uint32_t)(127 - e));
        float origin = floorf(low * inverse) * step;
        if (origin > low) origin -= step; // the product underflowed
        if (origin + 255.0f * step >= high) {
            *exponent = (uint32_t)(e + 127);
            return origin;
        }
    }
}

// An interval on the grid, outwards.
PSV_TREE_FN void psvi_grid_interval(float low, float high, float origin, uint32_t exponent, uint32_t *from,
                                    uint32_t *to) {
    const float step = psv_grid_step(exponent), inverse = psvi_grid_inverse(exponent);
    float a = psv_clamp(floorf((low - origin) * inverse), 0.0f, 255.0f);
    float b = psv_clamp(ceilf((high - origin) * inverse), 0.0f, 255.0f);
    if (a > 0 && origin + a * step > low) a -= 1;
    if (b < 255 && origin + b * step < high) b += 1;
    *from = (uint32_t)a;
    *to = (uint32_t)b;
}

// Slots of up to eight children by the octant that they are in: halves along one axis, quarters along the next, and so
// on, so that as many as possible get their own. keys[i]: doubled centre on each axis.
PSV_TREE_FN void psvi_choose_slots(const float centre[8][3], uint32_t count, uint8_t slot[8]) {
    float extent[3];
    for (int axis = 0; axis < 3; ++axis) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < count; ++i) {
            low = psv_min(low, centre[i][axis]);
            high = psv_max(high, centre[i][axis]);
        }
        extent[axis] = high - low;
    }
    const int first = extent[0] >= extent[1] && extent[0] >= extent[2] ? 0 : extent[1] >= extent[2] ? 1 : 2;
    const int a = first == 2 ? 0 : first + 1, b = a == 2 ? 0 : a + 1;
    const int axes[3] = {first, extent[a] >= extent[b] ? a : b, extent[a] >= extent[b] ? b : a};
    for (uint32_t i = 0; i < count; ++i)
        slot[i] = 0;
    for (int step = 0; step < 3; ++step) {
        uint8_t next[8];
        for (uint32_t i = 0; i < count; ++i) {
            uint32_t rank = 0, group = 0;
            for (uint32_t j = 0; j < count; ++j) {
                if (slot[j] != slot[i]) continue;
                ++group;
                rank += centre[j][axes[step]] < centre[i][axes[step]] ||
                        (j < i && centre[j][axes[step]] == centre[i][axes[step]]);
            }
            next[i] = (uint8_t)(slot[i] | (rank >= (group + 1) / 2 ? 1u << axes[step] : 0));
        }
        for (uint32_t i = 0; i < count; ++i)
            slot[i] = next[i];
    }
}

typedef struct psvi_tree_child {
    float min[3], max[3]; // min > max: nothing is in it
    uint8_t offset;       // from first_child or first_item
    bool inner;
} psvi_tree_child;

// Fills a node except first_child, first_item and parent; *box gets the box of all children.
PSV_TREE_FN void psvi_make_node(const psvi_tree_child *children, uint32_t count, psv_tree_node *node, psv_aabb *box) {
    float centre[8][3];
    uint8_t slot[8];
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = INFINITY;
        box->max[axis] = -INFINITY;
        for (uint32_t i = 0; i < count; ++i) {
            box->min[axis] = psv_min(box->min[axis], children[i].min[axis]);
            box->max[axis] = psv_max(box->max[axis], children[i].max[axis]);
            centre[i][axis] =
                psv_tree_clamp(children[i].min[axis]) * 0.5f + psv_tree_clamp(children[i].max[axis]) * 0.5f;
        }
    }
    psvi_choose_slots(centre, count, slot);
    node->order = node->grid = 0;
    const bool empty = box->min[0] > box->max[0];
    for (int axis = 0; axis < 3; ++axis) {
        const float low = empty ? 0 : psv_tree_clamp(box->min[axis]), high = empty ? 0 : psv_tree_clamp(box->max[axis]);
        uint32_t exponent;
        uint64_t lows = ~(uint64_t)0, highs = 0; // nothing
        node->origin[axis] = psvi_make_grid(low, high, &exponent);
        node->grid |= exponent << (8 * axis);
        for (uint32_t i = 0; i < count; ++i) {
            if (children[i].min[0] > children[i].max[0]) continue;
            uint32_t from, to;
            psvi_grid_interval(psv_tree_clamp(children[i].min[axis]), psv_tree_clamp(children[i].max[axis]),
                               node->origin[axis], exponent, &from, &to);
            lows ^= (uint64_t)(255 - from) << (8 * slot[i]);
            highs |= (uint64_t)to << (8 * slot[i]);
        }
        node->low[axis][0] = (uint32_t)lows;
        node->low[axis][1] = (uint32_t)(lows >> 32);
        node->high[axis][0] = (uint32_t)highs;
        node->high[axis][1] = (uint32_t)(highs >> 32);
    }
    for (uint32_t i = 0; i < count; ++i) {
        node->order |= (uint32_t)children[i].offset << (3 * slot[i]);
        if (children[i].min[0] <= children[i].max[0]) node->order |= 1u << (24 + slot[i]);
        if (children[i].inner) node->grid |= 1u << (24 + slot[i]);
    }
}

#endif
