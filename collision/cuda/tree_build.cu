// Trees on CUDA: the grid of the keys from samples, keys, and the nodes of a linear tree. Eight lanes make a node, one
// child each; the last of eight nodes to be done has its lanes make the node above.
#include "../src/tree_internal.h"
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
    bool good = count > 0 && psvi_load_item(&view, count * sample / PSVI_TREE_SAMPLES, &item) == PSVI_ITEM_GOOD;
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

// One thread an item: reads it, writes 4 or 8 bytes. One atomic a block for each count.
__global__ void __launch_bounds__(TREE_THREADS)
    psvk_tree_keys(const psvi_item_view view, const psvi_tree_memory memory, const psvi_tree_keys keys) {
    const uint64_t i = (uint64_t)blockIdx.x * TREE_THREADS + threadIdx.x;
    const uint32_t bits = (memory.head->key_bits - keys.world_bits) / 3;
    psvi_item_state state = PSVI_ITEM_OFF;
    if (i < item_count(view)) {
        psvi_item item;
        state = psvi_load_item(&view, i, &item);
        if (memory.head->short_keys)
            reinterpret_cast<uint32_t *>(memory.keys)[i] = state == PSVI_ITEM_GOOD
                                                               ? psvi_short_item_key(memory.head, &item, bits)
                                                               : 1u << 3 * PSVI_SHORT_AXIS_BITS;
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
__global__ void __launch_bounds__(TREE_THREADS)
    psvk_tree_worlds(const psvi_tree_memory memory, const psvi_tree_keys keys, uint32_t worlds) {
    const uint64_t world = (uint64_t)blockIdx.x * TREE_THREADS + threadIdx.x;
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
__global__ void __launch_bounds__(TREE_THREADS)
    psvk_tree_items(const psvi_item_view view, const psvi_tree_memory memory, bool refit, bool levels) {
    const uint64_t place = (uint64_t)blockIdx.x * TREE_THREADS + threadIdx.x;
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

// Eight lanes a node, beginning with those over items. Reads an item and writes a node and its box once; a node above
// is made by the lanes of the last of its children, which the others' boxes are behind a fence for.
__global__ void __launch_bounds__(TREE_NODE_THREADS) psvk_tree_nodes(const psvi_tree_memory memory, bool triangles) {
    __shared__ __align__(16) psv_tree_node made[TREE_NODE_THREADS / 8];
    const psv_tree_head &head = *memory.head;
    const psvi_stored_items stored = psvi_items_of(&memory, triangles);
    const uint32_t lane = threadIdx.x & 7;
    const unsigned mask = 0xffu << (threadIdx.x & 24);
    uint32_t place = (uint32_t)(((uint64_t)blockIdx.x * TREE_NODE_THREADS + threadIdx.x) / 8);
    uint32_t below = head.item_count, level = 1;
    psv_tree_node *const node = &made[threadIdx.x / 8];
    if ((uint64_t)place * 8 >= below) return;
    for (;; ++level) {
        const uint32_t first = place * 8, count = min(below - first, 8u);
        const uint32_t begin = level == 1 ? 0 : head.level_start[level - 1];
        psvi_lane_child child = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, lane, level > 1};
        if (lane < count && level == 1)
            psvi_stored_box(&stored, first + lane, child.min, child.max);
        else if (lane < count)
            psvi_load_node_box(memory, begin + first + lane, child);
        psvi_make_team_node<true>(mask, child, count, node);
        const uint32_t number = head.level_start[level] + place;
        if (lane == 0) {
            node->first_child = level > 1 ? begin + first : 0;
            node->first_item = level > 1 ? 0 : first;
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
    psvk_tree_keys<<<psvi_block_count(view->boxes.count, TREE_THREADS), TREE_THREADS, 0, stream>>>(*view, *memory,
                                                                                                   keys);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_items(const psvi_item_view *view, const psvi_tree_memory *memory, bool refit,
                                              bool levels, cudaStream_t stream) {
    psvk_tree_items<<<psvi_block_count(view->boxes.count, TREE_THREADS), TREE_THREADS, 0, stream>>>(*view, *memory,
                                                                                                    refit, levels);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_nodes(const psvi_item_view *view, const psvi_tree_memory *memory,
                                              cudaStream_t stream) {
    psvk_tree_nodes<<<psvi_block_count((view->boxes.count + 7) / 8 * 8, TREE_NODE_THREADS), TREE_NODE_THREADS, 0,
                      stream>>>(*memory, view->triangles);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_tree_worlds(const psvi_item_view *view, const psvi_tree_memory *memory,
                                               psvi_tree_keys keys, cudaStream_t stream) {
    psvk_tree_worlds<<<psvi_block_count((uint64_t)view->world_count + 1, TREE_THREADS), TREE_THREADS, 0, stream>>>(
        *memory, keys, view->world_count);
    return cudaGetLastError();
}
