// Trees on CUDA: the grid of the keys from samples, keys, and the nodes of a linear tree. One thread makes each of the
// lowest nodes. Above them eight lanes make a node, one child each: the lanes of the last of eight nodes to be done.
#include "../src/hilbert_states.h"
#include "../src/queries/tree_internal.h"
#include "broad_phase_tuning.h"
#include "common.cuh"
#include "launch_cuda.h"
#include "tree_kernels.h"
#include "tree_team.cuh"

__device__ __forceinline__ uint64_t item_count(const psvi_item_view &view) {
    if (view.boxes.count_device == NULL) return view.boxes.count;
    const uint64_t count = *view.boxes.count_device;
    return count < view.boxes.count ? count : view.boxes.count;
}

// --- keys -----------------------------------------------------------------------------------------------------------

// One block, a third of it for each axis: 256 samples are ranked against each other; then their keys are compared, to
// see whether the usual number of bits tells places apart. Reads 24 to 36 bytes a sample; five barriers.
__global__ void __launch_bounds__(3 * PSVI_TREE_SAMPLES)
    psvk_tree_plan(const psvi_item_view view, const psvi_tree_memory memory, const psvi_tree_keys keys,
                   bool may_short) {
    __shared__ float centres[3][PSVI_TREE_SAMPLES], marks[3][4];
    __shared__ __align__(16) uint32_t ranked[3][PSVI_TREE_SAMPLES];
    __shared__ uint64_t places[PSVI_TREE_SAMPLES];
    __shared__ psv_tree_head head;
    const uint32_t sample = threadIdx.x % PSVI_TREE_SAMPLES, axis = threadIdx.x / PSVI_TREE_SAMPLES;
    const uint64_t count = item_count(view);
    psvi_item item;
    bool good = count > 0 && psvi_load_item(&view, psvi_tree_sample(count, sample), &item) == PSVI_ITEM_GOOD;
    if (good)
        for (int k = 0; k < 3; ++k)
            good = good && fabsf(item.min[k]) < 1e18f && fabsf(item.max[k]) < 1e18f;
    float centre = INFINITY;
    if (good)
        centre = axis == 0   ? psvi_item_centre(&item, 0)
                 : axis == 1 ? psvi_item_centre(&item, 1)
                             : psvi_item_centre(&item, 2);
    centres[axis][sample] = centre;
    if (threadIdx.x < 12) marks[threadIdx.x / 4][threadIdx.x % 4] = 0;
    // Ranked by whole numbers in the same order, whose lowest bits are the sample's: one comparison each.
    const uint32_t own = (psvd_ordered(centre) & ~(PSVI_TREE_SAMPLES - 1u)) | sample;
    ranked[axis][sample] = own;
    const uint32_t samples = (uint32_t)__syncthreads_count(good) / 3;
    uint32_t rank = 0;
#pragma unroll 16
    for (uint32_t i = 0; i < PSVI_TREE_SAMPLES; ++i)
        rank += ranked[axis][i] < own;
    if (good) {
        if (rank == 0) marks[axis][0] = centre;
        if (rank == samples / 32) marks[axis][1] = centre;
        if (rank == samples - 1 - samples / 32) marks[axis][2] = centre;
        if (rank == samples - 1) marks[axis][3] = centre;
    }
    __syncthreads();
    uint32_t bits = psvi_usual_axis_bits(count);
    bits = min(bits, may_short ? PSVI_SHORT_AXIS_BITS : keys.axis_bits);
    if (threadIdx.x == 0) {
        float side = 0;
        for (int k = 0; k < 3; ++k) {
            float high;
            psvi_key_range(marks[k][0], marks[k][1], marks[k][2], marks[k][3], &head.low[k], &high);
            side = psv_max(side, high - head.low[k]);
        }
        head.scale = side > 0 ? 1.0f / side : 0.0f;
    }
    __syncthreads();
    if (axis == 0) {
        const float point[3] = {centres[0][sample], centres[1][sample], centres[2][sample]};
        places[sample] = good ? psvi_tree_place(&head, point, bits, keys.axis_bits) : ~(uint64_t)sample;
    }
    __syncthreads();
    // Three threads a sample, each with a third of the distances to the others around.
    bool shared = false;
    const uint64_t place = places[sample];
    if (count > PSVI_TREE_SAMPLES)
#pragma unroll 4
        for (uint32_t away = axis + 1; away <= PSVI_TREE_SAMPLES / 2; away += 3)
            shared = shared || places[(sample + away) % PSVI_TREE_SAMPLES] == place;
    if (__syncthreads_or(shared)) bits = keys.axis_bits, may_short = false;
    if (threadIdx.x != 0) return;
    head.item_count = head.node_count = head.level_count = 0;
    head.linear = 1;
    head.short_keys = may_short;
    head.bad_count = 0;
    head.key_bits = 3 * bits + keys.world_bits;
    *memory.head = head;
    memory.result->count = may_short ? 0 : count;
    memory.result->short_count = may_short ? count : 0;
}

// Of 32 bits, without a world; below SHORT_NO_PART, the key of what takes no part.
#define SHORT_NO_PART 0xffffffffu
__device__ __forceinline__ uint32_t short_key(const uint8_t *states, const psv_tree_head *head, const psvi_item *item,
                                              uint32_t bits) {
    const float centre[3] = {psvi_item_centre(item, 0), psvi_item_centre(item, 1), psvi_item_centre(item, 2)};
    uint32_t cell[3];
    psvi_tree_cells(head, centre, PSVI_SHORT_AXIS_BITS, cell);
    return min(psvi_states_place(states, cell, bits), SHORT_NO_PART - 1);
}

// One thread an item: reads it, writes 4 or 8 bytes. One atomic a block for each count.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_tree_keys(const psvi_item_view view, const psvi_tree_memory memory, const psvi_tree_keys keys) {
    __shared__ uint32_t states[PSVI_HILBERT_STATE_WORDS];
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const uint32_t bits = (memory.head->key_bits - keys.world_bits) / 3;
    psvi_item_state state = PSVI_ITEM_OFF;
    if (threadIdx.x < PSVI_HILBERT_STATE_WORDS) states[threadIdx.x] = psvi_hilbert_states[threadIdx.x];
    __syncthreads();
    if (i < item_count(view)) {
        psvi_item item;
        state = psvi_load_item(&view, i, &item);
        if (memory.head->short_keys)
            reinterpret_cast<uint32_t *>(memory.keys)[i] =
                state == PSVI_ITEM_GOOD ? short_key(reinterpret_cast<const uint8_t *>(states), memory.head, &item, bits)
                                        : SHORT_NO_PART;
        else
            memory.keys[i] = state == PSVI_ITEM_GOOD
                                 ? psvi_item_key(&keys, memory.head, &item, psvi_item_world(&view, i), bits)
                                 : psvi_no_part_key(&keys);
    }
    const int good = __syncthreads_count(state == PSVI_ITEM_GOOD), bad = __syncthreads_count(state == PSVI_ITEM_BAD);
    if (threadIdx.x == 0 && good > 0) atomicAdd(&memory.head->item_count, (uint32_t)good);
    if (threadIdx.x == 0 && bad > 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&memory.head->bad_count), (unsigned long long)bad);
}

// First item of each world, by halving; one thread a world and one more.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_tree_worlds(const psvi_tree_memory memory, const psvi_tree_keys keys, uint32_t worlds) {
    const uint64_t world = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (world > worlds) return;
    uint32_t low = 0, high = memory.head->item_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (memory.keys[middle] >> (3 * keys.axis_bits) < world)
            low = middle + 1;
        else
            high = middle;
    }
    memory.world_starts[world] = low;
}

// --- items ----------------------------------------------------------------------------------------------------------

// One thread an item: reads it by its number, writes it to its place, 32 or 40 bytes. With `levels` the first thread
// lays out those of a linear tree.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_tree_items(const psvi_item_view view, const psvi_tree_memory memory, bool refit, bool levels) {
    const uint64_t place = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    const uint32_t items = memory.head->item_count;
    if (place == 0 && levels) psvi_linear_levels(memory.head, items);
    if (place >= items) return;
    const psvi_stored_items stored = psvi_items_of(&memory, view.triangles);
    const uint32_t id = refit ? psvi_stored_id(&stored, place) : memory.order[place];
    psvi_item item;
    if (psvi_load_item(&view, id, &item) != PSVI_ITEM_GOOD) psvi_mark_off(&item);
    float4 *to = reinterpret_cast<float4 *>(memory.items) + 2 * place;
    if (view.triangles) {
        to[0] = make_float4(item.corner[0][0], item.corner[0][1], item.corner[0][2], item.corner[1][0]);
        to[1] = make_float4(item.corner[1][1], item.corner[1][2], item.corner[2][0], item.corner[2][1]);
        reinterpret_cast<float2 *>(memory.ends)[place] = make_float2(item.corner[2][2], __uint_as_float(id));
    } else {
        to[0] = make_float4(item.min[0], item.min[1], item.min[2], __uint_as_float(id));
        to[1] = make_float4(item.max[0], item.max[1], item.max[2], 0);
    }
}

// --- nodes ----------------------------------------------------------------------------------------------------------

#define LEAF_WARPS (PSVI_SEARCH_THREADS / 32)
#define LEAF_ROW 288 // 256 items and a gap after each eight, so that lanes that read eight each meet different banks

// The box of an item as nodes take it; min > max where it takes no part. By wide loads.
__device__ __forceinline__ void load_item_box(const psv_tree_view &view, uint32_t place, float box[6]) {
    bool off = false;
    if (view.triangles) {
        const psv_tree_triangle t = psv_load_triangle(&view, place);
        off = t.a[0] != t.a[0];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box[axis] = fminf(t.a[axis], fminf(t.b[axis], t.c[axis]));
            box[3 + axis] = fmaxf(t.a[axis], fmaxf(t.b[axis], t.c[axis]));
        }
    } else {
        const psv_tree_box stored = psv_load_box(&view, place);
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box[axis] = stored.min[axis];
            box[3 + axis] = stored.max[axis];
        }
    }
#pragma unroll
    for (int k = 0; k < 6; ++k)
        box[k] =
            off ? (k < 3 ? PSV_TREE_LIMIT : -PSV_TREE_LIMIT) : fminf(fmaxf(box[k], -PSV_TREE_LIMIT), PSV_TREE_LIMIT);
}

// Slots of up to eight boxes, three bits each, chosen as psvi_quick_slot does; twice[axis]: both sides of their box.
__device__ __forceinline__ uint32_t leaf_slots(const float (*boxes)[LEAF_ROW], uint32_t at, uint32_t count,
                                               const float twice[3]) {
    uint32_t slots = 0, taken = 0, late = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) {
        uint32_t octant = 0;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis)
            octant |= (uint32_t)(boxes[axis][at + i] + boxes[3 + axis][at + i] > twice[axis]) << axis;
        const bool first = (taken >> octant & 1u) == 0 && i < count;
        taken |= (uint32_t)first << octant;
        late |= (uint32_t)(!first && i < count) << i;
        slots |= first ? octant << (3 * i) : 0u;
    }
    for (; late != 0; late &= late - 1) {
        const uint32_t slot = psv_low_bit(~taken);
        taken |= 1u << slot;
        slots |= slot << (3 * psv_low_bit(late));
    }
    return slots;
}

// Steps from the grid's origin, rounded down or up, as the lowest byte of a float's bits. Both products and sums are
// exact but for the last rounding: `from` is 2^23 less the origin in steps, a whole number of at most 24 bits.
__device__ __forceinline__ uint32_t grid_byte(float steps) {
    return __float_as_uint(fminf(fmaxf(steps, 0x1p23f), 0x1p23f + 255.0f));
}

// The node over `count` items from `first` on, but for its parent; their boxes lie at boxes[..][at], those that take no
// part with min > max. *box: that of all.
__device__ __forceinline__ psv_tree_node make_leaf(const float (*boxes)[LEAF_ROW], uint32_t at, uint32_t count,
                                                   uint32_t first, psv_aabb *box) {
    psv_tree_node node = {};
    float twice[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        float low = boxes[axis][at], high = boxes[3 + axis][at];
#pragma unroll
        for (uint32_t i = 1; i < 8; ++i) {
            low = fminf(low, boxes[axis][at + i]);
            high = fmaxf(high, boxes[3 + axis][at + i]);
        }
        box->min[axis] = low;
        box->max[axis] = high;
        twice[axis] = low + high;
    }
    const uint32_t slots = leaf_slots(boxes, at, count, twice);
    const bool empty = box->min[0] > box->max[0];
    float inverse[3], from[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        uint32_t exponent;
        node.origin[axis] = psvi_make_grid(empty ? 0.0f : box->min[axis], empty ? 0.0f : box->max[axis], &exponent);
        node.grid |= exponent << (8 * axis);
        inverse[axis] = psvi_grid_inverse(exponent);
        from[axis] = 0x1p23f - node.origin[axis] * inverse[axis];
    }
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) {
        const uint32_t slot = slots >> (3 * i) & 7u;
        const bool here = boxes[0][at + i] <= boxes[3][at + i];
        // Where the bytes go: selectors of __byte_perm, which takes byte 4, a zero, elsewhere. What is not here has no
        // slot of its own.
        const uint32_t put = here ? 0x4444u ^ 4u << (4 * (slot & 3u)) : 0x4444u, low_put = slot < 4 ? put : 0x4444u,
                       high_put = slot < 4 ? 0x4444u : put;
        if (here) node.order |= i << (3 * slot) | 1u << (24 + slot);
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            const uint32_t low = grid_byte(__fmaf_rd(boxes[axis][at + i], inverse[axis], from[axis]));
            const uint32_t high = grid_byte(__fmaf_ru(boxes[3 + axis][at + i], inverse[axis], from[axis]));
            node.low[axis][0] |= __byte_perm(low, 0, low_put);
            node.low[axis][1] |= __byte_perm(low, 0, high_put);
            node.high[axis][0] |= __byte_perm(high, 0, low_put);
            node.high[axis][1] |= __byte_perm(high, 0, high_put);
        }
    }
    node.first_item = first;
    return node;
}

// The lowest nodes of a linear tree, one thread each; a warp brings the boxes of its 256 items to shared memory first,
// and is alone with them. Reads an item and writes a node and its box once.
__global__ void __launch_bounds__(PSVI_SEARCH_THREADS) psvk_tree_leaves(const psvi_tree_memory memory, bool triangles) {
    __shared__ float all[LEAF_WARPS][6][LEAF_ROW];
    const psv_tree_head &head = *memory.head;
    const uint32_t lane = threadIdx.x & 31, items = head.item_count;
    const uint32_t place = blockIdx.x * PSVI_SEARCH_THREADS + threadIdx.x, begin = 8 * (place - lane);
    float(*const boxes)[LEAF_ROW] = all[threadIdx.x / 32];
    if (begin >= items) return;
    psv_tree_view view = {};
    view.items = memory.items;
    view.ends = memory.ends;
    view.triangles = triangles;
#pragma unroll 4
    for (uint32_t i = lane; i < 256; i += 32) {
        float box[6] = {PSV_TREE_LIMIT,  PSV_TREE_LIMIT,  PSV_TREE_LIMIT,
                        -PSV_TREE_LIMIT, -PSV_TREE_LIMIT, -PSV_TREE_LIMIT};
        if (begin + i < items) load_item_box(view, begin + i, box);
#pragma unroll
        for (int k = 0; k < 6; ++k)
            boxes[k][i + i / 8] = box[k];
    }
    __syncwarp();
    const uint32_t first = 8 * place;
    if (first >= items) return;
    psv_aabb box;
    union {
        psv_tree_node node;
        uint4 words[5];
    } made;
    const uint32_t count = min(items - first, 8u);
    made.node = make_leaf(boxes, 9 * lane, count, first, &box);
    made.node.parent = (head.level_count == 1 ? 0 : head.level_start[2] + place / 8) | (count - 1) << 29;
    const uint32_t number = head.level_start[1] + place;
    for (int w = 0; w < 5; ++w)
        reinterpret_cast<uint4 *>(memory.nodes + number)[w] = made.words[w];
    memory.boxes[number] = box;
}

// The nodes above, eight lanes each. Reads the boxes of eight nodes and writes a node and its box. From the second of
// these levels on a node is made by the lanes of the last of its children, for which the others' boxes are behind a
// fence.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_tree_nodes(const psvi_tree_memory memory) {
    __shared__ __align__(16) psv_tree_node made[PSVI_BLOCK_THREADS / 8];
    const psv_tree_head &head = *memory.head;
    const uint32_t lane = threadIdx.x & 7;
    const unsigned mask = 0xffu << (threadIdx.x & 24);
    uint32_t place = (blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x) / 8;
    uint32_t below = (head.item_count + 7) / 8;
    psv_tree_node *const node = &made[threadIdx.x / 8];
    if (place * 8 >= below) return;
    for (uint32_t level = 2; level <= head.level_count; ++level) {
        const uint32_t first = place * 8, count = min(below - first, 8u);
        const uint32_t begin = head.level_start[level - 1];
        psvi_lane_child child = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, lane, true};
        if (lane < count) psvi_load_node_box(memory, begin + first + lane, child);
        psvi_make_team_node<true>(mask, child, count, node);
        const uint32_t number = head.level_start[level] + place;
        if (lane == 0) {
            node->first_child = begin + first;
            node->first_item = 0;
            node->parent = ((level == head.level_count ? 0 : head.level_start[level + 1]) + place / 8) | (count - 1)
                                                                                                             << 29;
        }
        psvi_store_team_node(mask, memory, number, node);
        psvi_store_team_box(memory, number, child);
        if (level == head.level_count) return;
        below = (below + 7) / 8;
        const uint32_t siblings = min(below - place / 8 * 8, 8u);
        if (!psvi_last_of_team(mask, memory.arrivals + head.level_start[level + 1] + place / 8, siblings)) return;
        place /= 8;
    }
}

extern "C" cudaError_t psvi_launch_tree_keys(const psvi_item_view *view, const psvi_tree_memory *memory,
                                             psvi_tree_keys keys, bool may_short, cudaStream_t stream) {
    psvk_tree_plan<<<1, 3 * PSVI_TREE_SAMPLES, 0, stream>>>(*view, *memory, keys, may_short);
    psvk_tree_keys<<<psvi_block_count(view->boxes.count, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *view, *memory, keys);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_items(const psvi_item_view *view, const psvi_tree_memory *memory, bool refit,
                                              bool levels, cudaStream_t stream) {
    psvk_tree_items<<<psvi_block_count(view->boxes.count, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
        *view, *memory, refit, levels);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_nodes(const psvi_item_view *view, const psvi_tree_memory *memory,
                                              cudaStream_t stream) {
    const uint64_t leaves = (view->boxes.count + 7) / 8;
    psvk_tree_leaves<<<psvi_block_count(leaves, PSVI_SEARCH_THREADS), PSVI_SEARCH_THREADS, 0, stream>>>(
        *memory, view->triangles);
    if (leaves > 1)
        psvk_tree_nodes<<<psvi_block_count((leaves + 7) / 8 * 8, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0, stream>>>(
            *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_worlds(const psvi_item_view *view, const psvi_tree_memory *memory,
                                               psvi_tree_keys keys, cudaStream_t stream) {
    psvk_tree_worlds<<<psvi_block_count((uint64_t)view->world_count + 1, PSVI_BLOCK_THREADS), PSVI_BLOCK_THREADS, 0,
                       stream>>>(*memory, keys, view->world_count);
    return cudaGetLastError();
}
