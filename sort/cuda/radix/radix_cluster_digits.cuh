// Route CLUSTER_DIGITS: least significant digit first, in the one cluster of radix_cluster.cu, for keys that its
// samples tell nothing about. All items stay in the blocks' shared memory from the first pass to the last. Counts and
// items go from block to block through distributed shared memory. Two cluster barriers a pass.
#ifndef PAIRSIEVE_RADIX_CLUSTER_DIGITS_CUH
#define PAIRSIEVE_RADIX_CLUSTER_DIGITS_CUH

#include <cooperative_groups.h>

#include "radix_device.cuh"
#include "radix_plan.cuh"

namespace cluster_digits {

namespace cg = cooperative_groups;

constexpr int THREADS = PSVI_RADIX_ONCHIP_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int PAIRS = PSVI_RADIX_DIGITS / 2; // words that hold the counts of two digits
constexpr int GROUPS = THREADS / PAIRS;      // blocks whose counts are read side by side

// What a block shows to the others.
struct cluster_board {
    uint32_t counts[PAIRS];
    uint32_t different[2]; // bits in which its keys differ from the first key of all
    uint32_t unordered;    // a key of it is greater than its successor
};

template <int PAIR_BYTES, int ITEMS> struct layout { // of shared memory, in bytes
    static constexpr uint32_t TILE = THREADS * ITEMS * PAIR_BYTES;
    static constexpr uint32_t TABLES = WARPS * RANK_TABLE_BYTES;
    static constexpr uint32_t STAGING = TILE > TABLES ? TILE : TABLES;
    static constexpr uint32_t WHOLE = TILE + STAGING + WARPS * PSVI_RADIX_DIGITS * sizeof(radix_counter);
};

// In and out: all items; out may be in. One cluster is the whole grid; a block holds an equal share of the items in
// registers, ranks them, puts them in order in its own shared memory, reads the counts of all blocks, and writes its
// items to where they belong: into the shared memory of the block that holds that place in the next pass, and after
// the last pass to global memory. Bytes: one read and one write of every item. Every thread of the cluster calls it,
// after a cluster barrier.
template <int KIND, int VALUE_BYTES, int ITEMS>
__device__ void sort_by_digits(const psvi_radix_job &job, unsigned char *shared) {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    constexpr int PAIR_BYTES = sizeof(K) + VALUE_BYTES;
    constexpr uint32_t TILE = THREADS * ITEMS;
    K *held_keys = reinterpret_cast<K *>(shared); // where others put this block's items of the next pass
    V *held_values = reinterpret_cast<V *>(held_keys + TILE);
    unsigned char *staging = shared + TILE * PAIR_BYTES; // the tables for ranking, then the block's items in order
    K *tile_keys = reinterpret_cast<K *>(staging);
    V *tile_values = reinterpret_cast<V *>(tile_keys + TILE);
    radix_counter *counters = reinterpret_cast<radix_counter *>(staging + layout<PAIR_BYTES, ITEMS>::STAGING);
    __shared__ uint32_t sums[8];
    __shared__ uint32_t starts[PAIRS], before[PSVI_RADIX_DIGITS], total[PSVI_RADIX_DIGITS];
    __shared__ uint32_t different_bits[2], unordered;
    __shared__ cluster_board board;

    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t blocks = gridDim.x, block = blockIdx.x;
    const uint32_t count = (uint32_t)job_count(job);
    const uint32_t share = max((count + blocks - 1) / blocks, 32u);
    const uint32_t reciprocal = 0xffffffffu / share + 1; // i / share == i * reciprocal >> 32 for these small numbers
    const uint32_t tile_first = block * share;
    const uint32_t valid = count <= tile_first ? 0 : min(count - tile_first, share);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t first = warp * (32 * ITEMS) + lane; // in the tile
    const bool occupied = warp * (32 * ITEMS) < valid, warp_full = (warp + 1) * (32 * ITEMS) <= valid;
    const warp_ranker ranker = make_ranker(staging, counters);

    K keys[ITEMS];
    V values[ITEMS];
    const K *keys_in = static_cast<const K *>(job.keys_in);
    const V *values_in = static_cast<const V *>(job.values_in);
    if (threadIdx.x < 2) board.different[threadIdx.x] = different_bits[threadIdx.x] = 0;
    if (threadIdx.x == 0) board.unordered = unordered = 0;
    __syncthreads();
    K different = 0;
    bool disorder = false;
    const K some = count != 0 ? transform<KIND>(keys_in[0], job.order) : 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const bool there = first + i * 32 < valid;
        keys[i] = there ? keys_in[tile_first + first + i * 32] : 0;
        if constexpr (VALUE_BYTES != 0)
            values[i] = job.implicit ? (V)(tile_first + first + i * 32)
                        : there      ? values_in[tile_first + first + i * 32]
                                     : 0;
    }
    if (job.order_check) { // neighbours are read again; they are near
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const uint32_t index = tile_first + first + i * 32;
            if (first + i * 32 < valid && index + 1 < count)
                disorder |= sorted_part(transform<KIND>(keys[i], job.order), job.order) >
                            sorted_part(transform<KIND>(keys_in[index + 1], job.order), job.order);
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (first + i * 32 < valid) different |= transform<KIND>(keys[i], job.order) ^ some;
#pragma unroll
    for (int half = 0; half < (int)sizeof(K) / 4; ++half) {
        uint32_t bits = psvd_reduce_or((uint32_t)(different >> 16 * half >> 16 * half));
        if (lane == 0 && bits != 0) atomicOr(&board.different[half], bits);
    }
    // Nobody writes to global memory before all blocks have their items: nothing else would wait for the values.
    uint32_t arrived = 0;
    if constexpr (VALUE_BYTES != 0) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            arrived |= (uint32_t)values[i];
    }
    if (arrived & job.zero) disorder = true; // never, but the compiler does not know
    if (__any_sync(PSVI_RADIX_FULL_WARP, disorder) && lane == 0) board.unordered = 1;

    uint32_t wanted = 1, passes = 0; // slots still to be sorted; known after the first exchange
    bool first_exchange = true, in_registers = true, finished = false;
    for (uint32_t slot = 0; slot < job.slots && !finished; ++slot) {
        if (!(wanted >> slot & 1)) continue;
        if (!in_registers) {
#pragma unroll
            for (int i = 0; i < ITEMS; ++i)
                if (first + i * 32 < valid) {
                    keys[i] = held_keys[first + i * 32];
                    if constexpr (VALUE_BYTES != 0) values[i] = held_values[first + i * 32];
                }
        }
        const digit_field field = field_of_slot(job.order, slot);
        uint32_t ranks[ITEMS / 2];
        auto digit_at = [&](int i) { return digit_of<KIND>(keys[i], job.order, field); };
        // Items past the end stay last, are not counted and not written. Warps without items do not rank any.
        auto digit_if_valid = [&](int i) { return first + i * 32 < valid ? digit_at(i) : PSVI_RADIX_DIGITS - 1; };
        clear_for_digit(ranker, before, total);
        if (warp_full)
            rank_in_warp<ITEMS>(ranker, digit_at, ranks);
        else if (occupied)
            rank_in_warp<ITEMS>(ranker, digit_if_valid, ranks);
        __syncthreads();
        uint32_t start, counts = place_digits<WARPS>(counters, sums, start);
        if (threadIdx.x < PAIRS) {
            const uint32_t occupied_warps = (valid + 32 * ITEMS - 1) / (32 * ITEMS);
            if (threadIdx.x == PAIRS - 1) counts -= (occupied_warps * (32 * ITEMS) - valid) << 16;
            board.counts[threadIdx.x] = counts;
            starts[threadIdx.x] = start;
        }
        cluster.sync(); // all boards are written; all blocks have taken their items out of `held`
        if (occupied) {
            uint32_t places[ITEMS];
#pragma unroll
            for (int i = 0; i < ITEMS; ++i)
                places[i] = place_in_block(ranker, ranks, i, digit_if_valid(i));
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                tile_keys[places[i]] = keys[i];
                if constexpr (VALUE_BYTES != 0) tile_values[places[i]] = values[i];
            }
        }
        uint32_t low = 0, high = 0, low_before = 0, high_before = 0;
        for (uint32_t other = threadIdx.x / PAIRS; other < blocks; other += GROUPS) {
            uint32_t pair = *cluster.map_shared_rank(&board.counts[threadIdx.x % PAIRS], other);
            low += pair & 0xffff;
            high += pair >> 16;
            if (other < block) {
                low_before = low; // blocks come in order: what has been added so far
                high_before = high;
            }
        }
        atomicAdd(&before[threadIdx.x % PAIRS * 2], low_before);
        atomicAdd(&before[threadIdx.x % PAIRS * 2 + 1], high_before);
        atomicAdd(&total[threadIdx.x % PAIRS * 2], low);
        atomicAdd(&total[threadIdx.x % PAIRS * 2 + 1], high);
        if (first_exchange && threadIdx.x < blocks) {
            const cluster_board *other = cluster.map_shared_rank(&board, threadIdx.x);
            if (other->different[0] != 0) atomicOr(&different_bits[0], other->different[0]);
            if (other->different[1] != 0) atomicOr(&different_bits[1], other->different[1]);
            if (other->unordered) unordered = 1;
        }
        __syncthreads();
        if (first_exchange) {
            first_exchange = false;
            wanted = unordered || !job.order_check ? slots_that_differ(job, different_bits) : 0;
            if (!(wanted >> slot & 1)) {
                cluster.sync(); // the boards have been read
                continue;
            }
        }
        find_goals(total, starts, sums, before);
        ++passes;
        finished = (wanted >> slot) == 1;
        K *keys_out = static_cast<K *>(job.keys_out);
        V *values_out = static_cast<V *>(job.values_out);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const uint32_t place = i * THREADS + threadIdx.x;
            if (place >= valid) break;
            const K key = tile_keys[place];
            const uint32_t target = before[digit_of<KIND>(key, job.order, field)] + place;
            if (finished) {
                if (keys_out != nullptr) keys_out[target] = key;
                if constexpr (VALUE_BYTES != 0) values_out[target] = tile_values[place];
            } else {
                const uint32_t owner = __umulhi(target, reciprocal), offset = target - owner * share;
                *cluster.map_shared_rank(held_keys + offset, owner) = key;
                if constexpr (VALUE_BYTES != 0)
                    *cluster.map_shared_rank(held_values + offset, owner) = tile_values[place];
            }
        }
        in_registers = false;
        if (!finished) cluster.sync();
    }
    cluster.sync(); // no block leaves while its board may be read; all items have been read from `in`

    if (passes == 0) copy_held<VALUE_BYTES, ITEMS>(job, keys, values, tile_first, first, valid);
    if (block == 0 && threadIdx.x == 0)
        tell_outcome(job, passes == 0 ? PSVI_RADIX_IN_ORDER : PSVI_RADIX_CLUSTER_DIGITS, PSVI_RADIX_VETO_SAMPLES,
                     passes);
}

} // namespace cluster_digits

#endif
