// Linear bounding volume hierarchy: keys along a space-filling order, sorted by our own sorter, and the tree of
// Karras, «Maximizing parallelism in the construction of BVHs, octrees, and k-d trees», 2012: every inner node finds
// its leaf range and its split from common prefixes of the sorted keys, all at once; equal keys count as different by
// their places. Boxes are merged bottom-up by whoever arrives second at a node.
#include "common.cuh"
#include "launch_cuda.h"
#include "lbvh_kernels.h"

// Writes the plan. One block: 256 samples, ranked against each other on the three axes by three groups of threads; the
// scene's box is that of the middle fifteen sixteenths, widened by an eighth on both sides, so that a few far boxes do
// not take the resolution from all others: what is outside gets the key of the nearest cell. Three barriers; reads 24
// bytes a sample.
__global__ void __launch_bounds__(3 * LBVH_SAMPLES)
    psvk_lbvh_plan(const psvi_find_input input, psvi_lbvh_plan *plan, uint32_t place_bits) {
    __shared__ float centres[3][LBVH_SAMPLES];
    __shared__ float low[3], high[3];
    const uint32_t sample = threadIdx.x % LBVH_SAMPLES, own_axis = threadIdx.x / LBVH_SAMPLES;
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slots = counts.all();
    psvd_box box = {};
    const bool good = psvd_load_sample(input, counts, sample, LBVH_SAMPLES, &box);
    const uint32_t samples = (uint32_t)__syncthreads_count(good) / 3;
    const float centre = own_axis == 0   ? 0.5f * box.min[0] + 0.5f * box.max[0]
                         : own_axis == 1 ? 0.5f * box.min[1] + 0.5f * box.max[1]
                                         : 0.5f * box.min[2] + 0.5f * box.max[2];
    centres[own_axis][sample] = good ? centre : INFINITY;
    if (threadIdx.x < 3) low[threadIdx.x] = 0, high[threadIdx.x] = 0;
    __syncthreads();
    uint32_t rank = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < LBVH_SAMPLES; ++i)
        rank += centres[own_axis][i] < centre || (centres[own_axis][i] == centre && i < sample);
    if (good && rank == samples / 32) low[own_axis] = centre;
    if (good && rank == samples - 1 - samples / 32) high[own_axis] = centre;
    __syncthreads();
    if (threadIdx.x != 0) return;
    plan->slots = slots;
    plan->parts = 0;
    // In registers: a chain of dependent steps through memory would take longer than the whole kernel.
    const float side[3] = {1.25f * (high[0] - low[0]), 1.25f * (high[1] - low[1]), 1.25f * (high[2] - low[2])};
    float x = side[0], y = side[1], z = side[2];
    uint32_t bits[3] = {0, 0, 0};
    for (uint32_t b = 0; b < place_bits; ++b) {
        const uint32_t longest = z > fmaxf(x, y) ? 2 : y > x ? 1 : 0;
        plan->axes[b] = (uint8_t)longest;
        bits[0] += longest == 0, bits[1] += longest == 1, bits[2] += longest == 2;
        x *= longest == 0 ? 0.5f : 1.0f, y *= longest == 1 ? 0.5f : 1.0f, z *= longest == 2 ? 0.5f : 1.0f;
    }
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        plan->low[axis] = low[axis] - 0.1f * side[axis]; // an eighth of what is inside
        plan->bits[axis] = bits[axis];
        plan->inverse[axis] = side[axis] > 0 ? (float)(1u << bits[axis]) / side[axis] : 0.0f;
    }
}

__device__ __forceinline__ uint32_t lbvh_place(const psvi_lbvh_plan &plan, const psvd_box &box, uint32_t place_bits) {
    uint32_t cell[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float centre = 0.5f * box.min[axis] + 0.5f * box.max[axis]; // NaN for an infinite box: cell 0
        const float at = (centre - plan.low[axis]) * plan.inverse[axis];
        const uint32_t cells = 1u << plan.bits[axis];
        cell[axis] = min((uint32_t)fminf(fmaxf(at, 0.0f), (float)cells), cells - 1);
        cell[axis] <<= 32 - max(plan.bits[axis], 1u); // the high bit first
        if (plan.bits[axis] == 0) cell[axis] = 0;
    }
    uint32_t place = 0;
    for (uint32_t b = 0; b < place_bits; ++b) {
        const uint32_t axis = plan.axes[b];
        const uint32_t bits = axis == 0 ? cell[0] : axis == 1 ? cell[1] : cell[2];
        place = place << 1 | bits >> 31;
        if (axis == 0)
            cell[0] <<= 1;
        else if (axis == 1)
            cell[1] <<= 1;
        else
            cell[2] <<= 1;
    }
    return place;
}

// One key a slot; boxes that take no part sort last. One thread a slot; reads 24 bytes and writes 4.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_keys(const psvi_find_input input, const psvi_lbvh_memory memory) {
    __shared__ psvi_lbvh_plan plan;
    if (threadIdx.x == 0) plan = *memory.plan;
    __syncthreads();
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t slot = (uint64_t)blockIdx.x * LBVH_THREADS + threadIdx.x;
    psvd_state state = PSVD_BOX_OFF;
    if (slot < counts.all()) {
        psvd_box box;
        uint32_t tag, key = 1u << (memory.place_bits + memory.world_bits);
        state = psvd_load_slot(input, counts, slot, &box, &tag);
        if (state == PSVD_BOX_GOOD) {
            const uint32_t world =
                slot < counts.a ? psvd_world_of(input.a, slot) : psvd_world_of(input.b, slot - counts.a);
            key = (world >> memory.world_shift) << memory.place_bits | lbvh_place(plan, box, memory.place_bits);
        }
        memory.keys[slot] = key;
    }
    if (state == PSVD_BOX_BAD) psvd_report_bad(input, counts, slot);
    const int good = __syncthreads_count(state == PSVD_BOX_GOOD);
    if (threadIdx.x == 0 && good != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->boxes), (unsigned long long)good);
}

// Length of the common prefix of the keys at i and j, the places themselves appended; -1 outside.
__device__ __forceinline__ int common_prefix(const uint32_t *keys, int64_t count, int64_t i, uint32_t key, int64_t j) {
    if (j < 0 || j >= count) return -1;
    const uint32_t other = keys[j];
    return other != key ? __clz((int)(key ^ other)) : 32 + __clz((int)((uint32_t)i ^ (uint32_t)j));
}

// Inner node i of the tree over `count` sorted keys (Karras 2012, Figure 4), with the links of the stackless walk: the
// right child of the node that splits behind leaf s is what follows every subtree that ends with leaf s.
__device__ __forceinline__ void build_node(const psvi_lbvh_memory &memory, int64_t count, int64_t i) {
    const uint32_t *keys = memory.keys;
    const uint32_t key = keys[i];
    const int forward = common_prefix(keys, count, i, key, i + 1), backward = common_prefix(keys, count, i, key, i - 1);
    const int64_t step = forward > backward ? 1 : -1;
    const int outside = min(forward, backward);
    int64_t reach = 2;
    while (common_prefix(keys, count, i, key, i + reach * step) > outside)
        reach *= 2;
    int64_t length = 0;
    for (int64_t t = reach / 2; t >= 1; t /= 2)
        if (common_prefix(keys, count, i, key, i + (length + t) * step) > outside) length += t;
    const int64_t other = i + length * step;
    const int inside = common_prefix(keys, count, i, key, other);
    int64_t split = 0;
    for (int64_t t = (length + 1) / 2;; t = (t + 1) / 2) {
        if (common_prefix(keys, count, i, key, i + (split + t) * step) > inside) split += t;
        if (t == 1) break;
    }
    const uint32_t cut = (uint32_t)(i + split * step + min(step, (int64_t)0));
    const uint32_t first = (uint32_t)min(i, other), last = (uint32_t)max(i, other);
    const uint32_t left = first == cut ? cut | PSVI_LBVH_LEAF : cut;
    const uint32_t right = last == cut + 1 ? (cut + 1) | PSVI_LBVH_LEAF : cut + 1;
    float4 *node = reinterpret_cast<float4 *>(memory.nodes) + 2 * i;
    node[0].w = __uint_as_float(left);
    node[1].w = __uint_as_float(last); // becomes the node after the subtree when the boxes are merged
    memory.next[cut] = right;
    *(first == cut ? memory.leaf_parent + cut : memory.node_parent + cut) = (uint32_t)i;
    *(last == cut + 1 ? memory.leaf_parent + cut + 1 : memory.node_parent + cut + 1) = (uint32_t)i;
    memory.arrivals[i] = 0;
}

// Leaves in sorted order, and the inner nodes. One thread a leaf and a node; reads 28 bytes scattered and some 40 keys,
// writes 72 bytes.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_build(const psvi_find_input input, const psvi_lbvh_memory memory) {
    const psvd_counts counts = psvd_read_counts(input);
    const uint64_t boxes = input.result->boxes;
    const uint64_t i = (uint64_t)blockIdx.x * LBVH_THREADS + threadIdx.x;
    if (i == 0) memory.plan->boxes = boxes;
    if (i >= boxes) return;
    const uint32_t slot = memory.order[i];
    psvd_box box;
    uint32_t tag;
    (void)psvd_load_slot(input, counts, slot, &box, &tag);
    float4 *leaf = reinterpret_cast<float4 *>(memory.leaves) + 2 * i;
    leaf[0] = make_float4(box.min[0], box.min[1], box.min[2], __uint_as_float(slot));
    leaf[1] = make_float4(box.max[0], box.max[1], box.max[2], __uint_as_float(tag));
    if (i + 1 < boxes) {
        build_node(memory, (int64_t)boxes, (int64_t)i);
    } else {
        memory.next[i] = PSVI_LBVH_END;
        input.result->rows = boxes > 0 ? boxes - 1 : 0;
    }
    if (i == 0) memory.node_parent[0] = PSVI_LBVH_END;
}

__device__ __forceinline__ void merge_boxes(float4 &low, float4 &high, const float4 *other) {
    const float4 other_low = __ldcg(other), other_high = __ldcg(other + 1);
    low.x = fminf(low.x, other_low.x), low.y = fminf(low.y, other_low.y), low.z = fminf(low.z, other_low.z);
    high.x = fmaxf(high.x, other_high.x), high.y = fmaxf(high.y, other_high.y), high.z = fmaxf(high.z, other_high.z);
}

// Boxes of the inner nodes. One thread a leaf climbs as long as it is the second to arrive; its own subtree's box stays
// in registers, that of the sibling is behind a fence. Reads and writes every node once.
__global__ void __launch_bounds__(LBVH_THREADS)
    psvk_lbvh_merge(const psvi_find_input input, const psvi_lbvh_memory memory) {
    const uint64_t boxes = input.result->boxes;
    const uint64_t i = (uint64_t)blockIdx.x * LBVH_THREADS + threadIdx.x;
    if (i >= boxes || boxes < 2) return;
    const float4 *leaves = reinterpret_cast<const float4 *>(memory.leaves);
    float4 *nodes = reinterpret_cast<float4 *>(memory.nodes);
    float4 low = leaves[2 * i], high = leaves[2 * i + 1];
    uint32_t own = (uint32_t)i | PSVI_LBVH_LEAF;
    uint32_t node = memory.leaf_parent[i];
    while (node != PSVI_LBVH_END) {
        __threadfence();
        if (atomicAdd(&memory.arrivals[node], 1u) == 0) return;
        __threadfence();
        const uint32_t left = __float_as_uint(nodes[2 * (uint64_t)node].w);
        const uint32_t last = __float_as_uint(nodes[2 * (uint64_t)node + 1].w);
        const uint32_t cut = left & ~PSVI_LBVH_LEAF;
        const uint32_t sibling = own == left ? memory.next[cut] : left;
        const uint64_t number = sibling & ~PSVI_LBVH_LEAF;
        merge_boxes(low, high, (sibling & PSVI_LBVH_LEAF ? leaves : nodes) + 2 * number);
        low.w = __uint_as_float(left);
        high.w = __uint_as_float(memory.next[last]);
        __stcg(nodes + 2 * (uint64_t)node, low);
        __stcg(nodes + 2 * (uint64_t)node + 1, high);
        own = node;
        node = memory.node_parent[node];
    }
}

extern "C" cudaError_t psvi_launch_lbvh_keys(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                             cudaStream_t stream) {
    psvk_lbvh_plan<<<1, 3 * LBVH_SAMPLES, 0, stream>>>(*input, memory->plan, memory->place_bits);
    psvk_lbvh_keys<<<psvi_block_count(psvi_most_boxes(input), LBVH_THREADS), LBVH_THREADS, 0, stream>>>(*input,
                                                                                                        *memory);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_lbvh_build(const psvi_find_input *input, const psvi_lbvh_memory *memory,
                                              cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(psvi_most_boxes(input), LBVH_THREADS);
    psvk_lbvh_build<<<blocks, LBVH_THREADS, 0, stream>>>(*input, *memory);
    psvk_lbvh_merge<<<blocks, LBVH_THREADS, 0, stream>>>(*input, *memory);
    return cudaGetLastError();
}
