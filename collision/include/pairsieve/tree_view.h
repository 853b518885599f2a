// The layout of a tree and the walk through it, for C and CUDA. The queries of pairsieve/tree.h are made of them, and
// so are kernels of the user's own, through pairsieve/tree.cuh. The layout may change between versions.
//
// A node has up to eight children, each an inner node or one item. Their boxes are eight-bit coordinates on a grid of
// the node's own, rounded outwards (after Ylitie, Karras, Laine, «Efficient incoherent ray traversal on GPUs through
// compressed wide BVHs», 2017). The steps of a grid are powers of two and its origin a multiple of them, so decoded
// coordinates are exact. A child lies in the slot of the octant that it occupies within the node. A walk therefore
// meets the children nearest first, for every direction, without sorting distances.
#ifndef PAIRSIEVE_TREE_VIEW_H
#define PAIRSIEVE_TREE_VIEW_H

// It is C, with the casts of C: no warnings about them in C++.
#if defined(__GNUC__) && defined(__cplusplus) && !defined(__CUDACC__)
#pragma GCC system_header
#endif

#include <math.h>
#include <string.h>

#include "pairsieve/tree.h"

#if defined(__CUDACC__)
#define PSV_TREE_FN __device__ __forceinline__
#else
#define PSV_TREE_FN static inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define PSV_UNROLL _Pragma("unroll")
#else
#define PSV_UNROLL
#endif

#define PSV_TREE_MAX_LEVELS 12  // of a linear tree: 8^10 items and more
#define PSV_TREE_STACK 40       // levels of any tree
#define PSV_TREE_LIMIT 0x1p126f // coordinates of boxes and of queries beyond count as this
#define PSV_TREE_NODE_LIMIT (1u << 29)

typedef struct psv_tree_node {
    float origin[3];
    uint32_t grid; // exponents of the grid's steps, a byte an axis: 2^(exponent - 127); above them the inner slots
    uint32_t first_child;           // child c of an inner slot is node first_child + c,
    uint32_t first_item;            // of another slot item first_item + c
    uint32_t order;                 // c of slot s in bits 3 s to 3 s + 2; slots in use in bits 24 to 31
    uint32_t parent;                // in bits 0 to 28; the number of children, less one, in bits 29 to 31
    uint32_t low[3][2], high[3][2]; // a byte a slot, that of slot 0 the lowest
} psv_tree_node;

typedef struct psv_tree_box {
    float min[3];
    uint32_t item;
    float max[3];
    uint32_t unused;
} psv_tree_box;

// A triangle as tests get it. It is stored as two parts in arrays of their own, so that both are read as a whole.
typedef struct psv_tree_triangle {
    float a[3], b[3], c[3];
    uint32_t item;
} psv_tree_triangle;

typedef struct psv_tree_corners {
    float a[3], b[3], c[2];
} psv_tree_corners;

typedef struct psv_tree_end {
    float c; // the last coordinate
    uint32_t item;
} psv_tree_end;

typedef struct psv_tree_head {
    uint32_t item_count;
    uint32_t node_count;
    uint32_t level_count;
    uint32_t linear;                           // nodes lie level by level, items in the order of their keys
    uint32_t level_start[PSV_TREE_MAX_LEVELS]; // linear: number of the first node of level h; 1 is the lowest
    float low[3];                              // grid of the keys
    float scale;
    uint32_t key_bits;
    uint32_t short_keys; // keys have 32 bits
    uint64_t bad_count;
} psv_tree_head;

// What a kernel gets. Of a linear tree with several worlds, the items of world w are [starts[w], starts[w + 1]).
typedef struct psv_tree_view {
    const psv_tree_node *nodes; // 0 is the root
    const void *items;          // psv_tree_box, or psv_tree_corners of triangles
    const psv_tree_end *ends;   // of triangles
    const psv_tree_head *head;
    const uint32_t *world_starts;  // NULL with one world
    const psv_box_filter *filters; // by item; NULL: all are found
    uint32_t world_count;
    bool triangles;
} psv_tree_view;

// --- arithmetic ------------------------------------------------------------------------------------------------------
// Rounded after each step, on every backend: compilers may not contract a product and a sum.

#if defined(__CUDA_ARCH__)
PSV_TREE_FN float psv_mul(float a, float b) { return __fmul_rn(a, b); }
PSV_TREE_FN float psv_add(float a, float b) { return __fadd_rn(a, b); }
PSV_TREE_FN float psv_sub(float a, float b) { return __fsub_rn(a, b); }
PSV_TREE_FN float psv_div(float a, float b) { return __fdiv_rn(a, b); }
PSV_TREE_FN float psv_inverse(float a) { return __frcp_rn(a); }
PSV_TREE_FN float psv_root(float a) { return __fsqrt_rn(a); }
PSV_TREE_FN double psv_cross_exact(float a, float b, float c, float d) {
    return __dsub_rn(__dmul_rn(a, b), __dmul_rn(c, d));
}
PSV_TREE_FN uint32_t psv_float_bits(float a) { return __float_as_uint(a); }
PSV_TREE_FN float psv_bits_float(uint32_t a) { return __uint_as_float(a); }
PSV_TREE_FN uint32_t psv_top_bit(uint32_t a) { return 31u - (uint32_t)__clz((int)a); }
PSV_TREE_FN uint32_t psv_low_bit(uint32_t a) { return (uint32_t)__ffs((int)a) - 1u; }
#else
PSV_TREE_FN float psv_mul(float a, float b) { return a * b; }
PSV_TREE_FN float psv_add(float a, float b) { return a + b; }
PSV_TREE_FN float psv_sub(float a, float b) { return a - b; }
PSV_TREE_FN float psv_div(float a, float b) { return a / b; }
PSV_TREE_FN float psv_inverse(float a) { return 1.0f / a; }
PSV_TREE_FN float psv_root(float a) { return sqrtf(a); }
PSV_TREE_FN double psv_cross_exact(float a, float b, float c, float d) {
    return (double)a * (double)b - (double)c * (double)d;
}
PSV_TREE_FN uint32_t psv_float_bits(float a) {
    uint32_t bits;
    memcpy(&bits, &a, 4);
    return bits;
}
PSV_TREE_FN float psv_bits_float(uint32_t a) {
    float value;
    memcpy(&value, &a, 4);
    return value;
}
PSV_TREE_FN uint32_t psv_top_bit(uint32_t a) { return 31u - (uint32_t)__builtin_clz(a); }
PSV_TREE_FN uint32_t psv_low_bit(uint32_t a) { return (uint32_t)__builtin_ctz(a); }
#endif

// Of numbers that are not NaN; of -0 and 0 the second on every backend.
PSV_TREE_FN float psv_min(float a, float b) { return a < b ? a : b; }
PSV_TREE_FN float psv_max(float a, float b) { return a > b ? a : b; }

// The greatest of two numbers and 0. Of NaN either NaN or a number.
PSV_TREE_FN float psv_greatest(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __int_as_float(__vimax_s32_relu(__float_as_int(a), __float_as_int(b))); // one instruction
#else
    return psv_max(psv_max(a, b), 0.0f);
#endif
}

// On CUDA by selection, so that arrays stay in registers.
PSV_TREE_FN float psv_pick(const float *v, uint32_t axis) {
#if defined(__CUDA_ARCH__)
    return axis == 0 ? v[0] : axis == 1 ? v[1] : v[2];
#else
    return v[axis];
#endif
}
PSV_TREE_FN float psv_clamp(float a, float low, float high) { return psv_min(psv_max(a, low), high); }
PSV_TREE_FN float psv_tree_clamp(float a) { return psv_clamp(a, -PSV_TREE_LIMIT, PSV_TREE_LIMIT); }
PSV_TREE_FN float psv_query_clamp(float a) { return a == a ? psv_tree_clamp(a) : a; } // NaN stays NaN
PSV_TREE_FN float psv_grid_step(uint32_t exponent) { return psv_bits_float(exponent << 23); }

// A node as a whole; on CUDA in five loads of 16 bytes.
PSV_TREE_FN psv_tree_node psv_load_node(const psv_tree_view *view, uint32_t number) {
#if defined(__CUDA_ARCH__)
    union {
        uint4 words[5];
        psv_tree_node node;
    } loaded;
    const uint4 *from = reinterpret_cast<const uint4 *>(view->nodes + number);
#pragma unroll
    for (int i = 0; i < 5; ++i)
        loaded.words[i] = __ldg(from + i);
    return loaded.node;
#else
    return view->nodes[number];
#endif
}

// The grid of a node alone.
typedef struct psv_tree_grid {
    float origin[3];
    uint32_t grid;
} psv_tree_grid;

PSV_TREE_FN psv_tree_grid psv_load_grid(const psv_tree_node *node) {
#if defined(__CUDA_ARCH__)
    const float4 from = __ldg(reinterpret_cast<const float4 *>(node));
    const psv_tree_grid grid = {{from.x, from.y, from.z}, __float_as_uint(from.w)};
#else
    const psv_tree_grid grid = {{node->origin[0], node->origin[1], node->origin[2]}, node->grid};
#endif
    return grid;
}

// Items as a whole, by place.
PSV_TREE_FN psv_tree_box psv_load_box(const psv_tree_view *view, uint32_t place) {
#if defined(__CUDA_ARCH__)
    const float4 *from = reinterpret_cast<const float4 *>(view->items) + 2 * (uint64_t)place;
    const float4 a = __ldg(from), b = __ldg(from + 1);
    const psv_tree_box box = {{a.x, a.y, a.z}, __float_as_uint(a.w), {b.x, b.y, b.z}, 0};
    return box;
#else
    return ((const psv_tree_box *)view->items)[place];
#endif
}

PSV_TREE_FN psv_tree_triangle psv_load_triangle(const psv_tree_view *view, uint32_t place) {
#if defined(__CUDA_ARCH__)
    const float4 *from = reinterpret_cast<const float4 *>(view->items) + 2 * (uint64_t)place;
    const float4 a = __ldg(from), b = __ldg(from + 1);
    const float2 end = __ldg(reinterpret_cast<const float2 *>(view->ends) + place);
    const psv_tree_triangle triangle = {{a.x, a.y, a.z}, {a.w, b.x, b.y}, {b.z, b.w, end.x}, __float_as_uint(end.y)};
#else
    const psv_tree_corners *from = (const psv_tree_corners *)view->items + place;
    const psv_tree_end end = view->ends[place];
    const psv_tree_triangle triangle = {{from->a[0], from->a[1], from->a[2]},
                                        {from->b[0], from->b[1], from->b[2]},
                                        {from->c[0], from->c[1], end.c},
                                        end.item};
#endif
    return triangle;
}

PSV_TREE_FN float psv_node_step(const psv_tree_node *node, int axis) {
    return psv_grid_step(node->grid >> (8 * axis) & 255u);
}
PSV_TREE_FN uint32_t psv_node_inner(const psv_tree_node *node) { return node->grid >> 24; }
PSV_TREE_FN uint32_t psv_node_used(const psv_tree_node *node) { return node->order >> 24; }
// A slot's byte q as a number that is quick to make, and what makes of it q * step + from: psv_slot_number * *step +
// *from, all of it exact where from is a multiple of the step below 2^23 of them.
#if defined(__CUDA_ARCH__)
// 1 + q / 2^15: the byte as bits of a float's fraction. Conversions take several times as long.
PSV_TREE_FN float psv_slot_number(const uint32_t words[2], uint32_t slot) {
    // The compiler must not know the 1: it would make it the constant of the instruction, which has room for one, and
    // fetch the selector anew for each byte.
    uint32_t one;
    asm("{ .reg .u32 t; mov.u32 t, %%lanemask_lt; shr.u32 t, t, 31; or.b32 %0, t, 0x3f800000; }" : "=r"(one));
    return __uint_as_float(__byte_perm(words[slot >> 2], one, 0x7604u | (slot & 3u) << 4));
}
PSV_TREE_FN void psv_bias_grid(float *step, float *from) {
    *step *= 0x1p15f;
    *from -= *step;
}
#else
PSV_TREE_FN float psv_slot_number(const uint32_t words[2], uint32_t slot) {
    return (float)(words[slot >> 2] >> (8 * (slot & 3u)) & 255u);
}
PSV_TREE_FN void psv_bias_grid(float *step, float *from) {
    (void)step;
    (void)from;
}
#endif
// Node or item of a slot, as its field says.
PSV_TREE_FN uint32_t psv_slot_child(uint32_t first, uint32_t order, uint32_t slot) {
    return first + (order >> (3 * slot) & 7u);
}

// --- the walk --------------------------------------------------------------------------------------------------------
//
//     psv_tree_stack stack;
//     psv_tree_walk walk;
//     psv_begin_walk(&walk, &stack, &view, world);
//     uint32_t node;
//     while (psv_next_node(&walk, &node)) {
//         psv_tree_node n = psv_load_node(&view, node);
//         uint32_t slots = psv_world_slots(&walk, node, n.order);
//         slots &= psv_ray_slots(&n, ...); // or another test
//         psv_push_slots(&walk, &n, slots, octant);
//         (test the items of slots & ~psv_node_inner(&n))
//     }
//
// Siblings share one entry of the stack, so it has one entry a level. Nodes that became irrelevant after a hit are
// dropped when the walk loads them.

// Apart from the walk, so that this one is kept in registers.
typedef struct psv_tree_stack {
    uint64_t entries[PSV_TREE_STACK];
} psv_tree_stack;

typedef struct psv_tree_walk {
    const psv_tree_view *view;
    uint64_t *stack;
    uint32_t depth;
    uint32_t base;                 // first child of the siblings at hand, and the octant in the upper three bits
    uint32_t group;                // their order, and in the upper eight bits which of them wait, the nearest uppermost
    uint32_t first_item, end_item; // of the world
} psv_tree_walk;

// Starts at the root or, in a linear tree of several worlds, at the lowest node that has all items of the world.
PSV_TREE_FN void psv_begin_walk(psv_tree_walk *walk, psv_tree_stack *stack, const psv_tree_view *view, uint32_t world) {
    walk->view = view;
    walk->stack = stack->entries;
    walk->depth = 0;
    walk->base = 0;
    walk->group = 0;
    walk->first_item = 0;
    walk->end_item = view->head->item_count;
    if (view->world_starts != NULL) {
        const bool known = world < view->world_count;
        walk->first_item = known ? view->world_starts[world] : 0;
        walk->end_item = known ? view->world_starts[world + 1] : 0;
    } else if (world != 0) {
        walk->end_item = 0;
    }
    if (walk->first_item >= walk->end_item) return;
    if (view->world_starts != NULL) {
        uint32_t level = 1, first = walk->first_item >> 3, last = (walk->end_item - 1) >> 3;
        for (; first != last; first >>= 3, last >>= 3)
            ++level;
        walk->base = view->head->level_start[level] + first;
    }
    walk->group = 1u << 24; // child 0 of slot 0
}

PSV_TREE_FN bool psv_next_node(psv_tree_walk *walk, uint32_t *node) {
    if (walk->group >> 24 == 0) {
        if (walk->depth == 0) return false;
        const uint64_t entry = walk->stack[--walk->depth];
        walk->base = (uint32_t)(entry >> 32);
        walk->group = (uint32_t)entry;
    }
    const uint32_t bit = psv_top_bit(walk->group);
    walk->group ^= 1u << bit;
    const uint32_t slot = (bit - 24) ^ (walk->base >> 29);
    *node = (walk->base & (PSV_TREE_NODE_LIMIT - 1)) + (walk->group >> (3 * slot) & 7u);
    return true;
}

// Bit i to bit i ^ octant.
PSV_TREE_FN uint32_t psv_turn_slots(uint32_t slots, uint32_t octant) {
    if (octant & 1u) slots = (slots & 0x55u) << 1 | (slots >> 1 & 0x55u);
    if (octant & 2u) slots = (slots & 0x33u) << 2 | (slots >> 2 & 0x33u);
    if (octant & 4u) slots = (slots & 0x0fu) << 4 | slots >> 4;
    return slots;
}

// The inner nodes among `slots` are walked next. Octant: the first slot is 7 ^ octant.
PSV_TREE_FN void psv_push_slots(psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots, uint32_t octant) {
    slots &= psv_node_inner(node);
    if (slots == 0) return;
    if (walk->group >> 24 != 0) walk->stack[walk->depth++] = (uint64_t)walk->base << 32 | walk->group;
    walk->base = node->first_child | octant << 29;
    walk->group = (node->order & 0xffffffu) | psv_turn_slots(slots, octant) << 24;
}

#if defined(__CUDA_ARCH__)
// The children of `slots` by their distance, the furthest in the lowest three bits, and above bit 24 a bit for each.
// What counts is the distance but for its last three bits: the child's number is there. By Batcher's network: most
// slots are wanted by some lane of a warp, and none waits for another.
PSV_TREE_FN uint32_t psv_order_slots(const psv_tree_node *node, uint32_t slots, const float distance[8]) {
    uint32_t keys[8], group = 0;
#pragma unroll
    for (uint32_t slot = 0; slot < 8; ++slot) {
        const uint32_t key = (psv_float_bits(distance[slot]) & ~7u) | (node->order >> (3 * slot) & 7u);
        keys[slot] = slots >> slot & 1u ? key + 8 : 0; // 0: behind all others
    }
#pragma unroll
    for (uint32_t size = 1; size < 8; size *= 2)
#pragma unroll
        for (uint32_t step = size; step >= 1; step /= 2)
#pragma unroll
            for (uint32_t i = step % size; i + step < 8; ++i)
                if ((i - step % size) / step % 2 == 0 && i / (2 * size) == (i + step) / (2 * size)) {
                    const uint32_t a = keys[i], b = keys[i + step];
                    keys[i] = max(a, b);
                    keys[i + step] = min(a, b);
                }
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i)
        group |= (keys[i] & 7u) << (3 * i) | (uint32_t)(keys[i] != 0) << (24 + i);
    return group;
}
#else
PSV_TREE_FN uint32_t psv_order_slots(const psv_tree_node *node, uint32_t slots, const float distance[8]) {
    uint32_t order = 0, count = 0;
    for (uint32_t slot = 0; slot < 8; ++slot) {
        if (!(slots >> slot & 1u)) continue;
        uint32_t further = 0;
        for (uint32_t other = 0; other < 8; ++other)
            if (slots >> other & 1u)
                further += distance[other] > distance[slot] || (other < slot && distance[other] == distance[slot]);
        order |= (node->order >> (3 * slot) & 7u) << (3 * further);
        ++count;
    }
    return order | ((1u << count) - 1) << 24;
}
#endif

// The same in the order of a distance of each slot, the nearest first.
PSV_TREE_FN void psv_push_by_distance(psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots,
                                      const float distance[8]) {
    slots &= psv_node_inner(node);
    if (slots == 0) return;
    if (walk->group >> 24 != 0) walk->stack[walk->depth++] = (uint64_t)walk->base << 32 | walk->group;
    walk->base = node->first_child;
    walk->group = psv_order_slots(node, slots, distance);
}

// Slots of a node that have items of the walk's world; `order` is the node's.
PSV_TREE_FN uint32_t psv_world_slots(const psv_tree_walk *walk, uint32_t node, uint32_t order) {
    if (walk->view->world_starts == NULL) return 0xffu;
    const psv_tree_head *head = walk->view->head;
    uint32_t level = head->level_count;
    while (level > 1 && node >= head->level_start[level - 1])
        --level;
    const uint32_t shift = 3 * (level - 1), begin = (node - head->level_start[level]) * 8;
    const uint32_t first = walk->first_item >> shift, last = (walk->end_item - 1) >> shift;
    if (first <= begin && last >= begin + 7) return 0xffu;
    uint32_t slots = 0;
    for (uint32_t slot = 0; slot < 8; ++slot) {
        const uint32_t child = begin + (order >> (3 * slot) & 7u);
        slots |= (uint32_t)(child >= first && child <= last) << slot;
    }
    return slots;
}

// Items and queries with filters find each other as two boxes do. Without filters an item has group and mask ~0.
PSV_TREE_FN bool psv_item_passes(const psv_tree_view *view, uint32_t item, psv_box_filter filter) {
    if (view->filters == NULL) return filter.mask != 0 && filter.group != 0;
    const psv_box_filter own = view->filters[item];
    return (own.group & filter.mask) != 0 && (filter.group & own.mask) != 0;
}

#endif
