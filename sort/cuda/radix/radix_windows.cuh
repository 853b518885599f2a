// Route WINDOWS: nearly sorted input, every item at most 32 places from where it belongs.
//
// Windows of 64 items are sorted, then those that lie half a window later. If the distance holds, two rounds are
// enough: the first brings items that belong across a window's edge next to it, the second takes them over. Nothing is
// assumed: the result is compared from neighbour to neighbour by (key, place in the input). If it rises strictly
// everywhere, it is the one stable order of these items. If not, digit passes sort the input, which has not changed.
// The check follows Ha, Krüger & Silva (2009), section 3.
//
// The kernel runs behind the histogram, which has looked at the order. If the calls before had such keys it runs before
// all others. Then whoever finds the first item out of place stops all blocks, so other keys cost a few microseconds.
//
// Launched by radix_histogram.cu. Keys of 32 bits, one portion.
#ifndef PAIRSIEVE_RADIX_WINDOWS_CUH
#define PAIRSIEVE_RADIX_WINDOWS_CUH

#include "radix_copy.cuh"
#include "radix_device.cuh"
#include "radix_plan.cuh"

namespace {

constexpr uint32_t NEARLY_THREADS = 256;
constexpr uint32_t NEARLY_STRIPS = NEARLY_THREADS / 32;                  // of a block: a strip is the work of a warp
constexpr uint32_t NEARLY_PLACE_BITS = 7;                                // of a place in two windows
constexpr uint32_t NEARLY_PAD = 0xffffffffu;                             // what comes after the last item
constexpr uint32_t NEARLY_SPREAD = (1u << (32 - NEARLY_PLACE_BITS)) - 1; // of the keys of two windows, less than that

// Blocks that a multiprocessor of the architecture has threads for, so that registers do not keep them away.
constexpr int NEARLY_RESIDENT = (int)CODE_POLICY.resident_blocks * 256 / (int)NEARLY_THREADS;

// Windows of a strip: so many that all blocks are on the device at once, where it holds 8 of them a multiprocessor.
// Fewer blocks leave fewer edges, and fewer have to be begun where there is nothing to do. A strip sorts one window
// that is another's as well.
inline uint32_t nearly_windows(uint64_t count, uint32_t multiprocessors) {
    const uint64_t warps = (uint64_t)multiprocessors * PSVI_RADIX_NEARLY_BLOCKS * NEARLY_STRIPS;
    const uint64_t windows = (count + 64 * warps - 1) / (64 * warps);
    return windows < PSVI_RADIX_NEARLY_WINDOWS ? PSVI_RADIX_NEARLY_WINDOWS : (uint32_t)windows;
}

// A strip writes the places from 32 after its first window on; the first strip also those before.
__host__ __device__ inline uint32_t nearly_strips(uint64_t count, uint32_t windows) {
    const uint64_t items = 64 * (uint64_t)windows;
    return count <= items + 32 ? 1 : (uint32_t)((count - 32 + items - 1) / items);
}

// First and last item that a strip or a block of strips writes, as (key, place in the input); last is one more.
struct strip_edges {
    uint64_t first, last;
};

// One step of a bitonic network across the lanes of a warp: lanes `distance` apart exchange, the one with the bit
// `direction` clear keeps the lesser.
__device__ __forceinline__ uint32_t exchange(uint32_t x, uint32_t distance, bool greater) {
    const uint32_t other = __shfl_xor_sync(PSVI_RADIX_FULL_WARP, x, distance);
    return greater ? max(x, other) : min(x, other);
}

// Sorts a bitonic sequence of 32 in ascending order of lanes.
__device__ __forceinline__ uint32_t merge_lanes(uint32_t x, uint32_t lane) {
#pragma unroll
    for (uint32_t distance = 16; distance > 0; distance /= 2)
        x = exchange(x, distance, (lane & distance) != 0);
    return x;
}

__device__ __forceinline__ uint32_t sort_lanes(uint32_t x, uint32_t lane) {
#pragma unroll
    for (uint32_t size = 2; size <= 32; size *= 2)
#pragma unroll
        for (uint32_t distance = size / 2; distance > 0; distance /= 2)
            x = exchange(x, distance, ((lane & distance) != 0) != (size < 32 && (lane & size) != 0));
    return x;
}

// Merges two ascending sequences of 32: the lesser half in `a`, the greater in `b`.
__device__ __forceinline__ void merge_halves(uint32_t &a, uint32_t &b, uint32_t lane) {
    const uint32_t reversed = __shfl_xor_sync(PSVI_RADIX_FULL_WARP, b, 31);
    const uint32_t greater = max(a, reversed);
    a = merge_lanes(min(a, reversed), lane);
    b = merge_lanes(greater, lane);
}

// Where the strips write: to the output, unless that would overwrite the input; then to spare memory 0.
template <typename V> struct nearly_targets {
    uint32_t *keys; // NULL: not wanted
    V *values;
    bool keys_back, values_back; // have to be copied to the output at the end
};

template <int VALUE_BYTES, typename V>
__device__ __forceinline__ nearly_targets<V> nearly_output(const psvi_radix_job &job) {
    nearly_targets<V> to;
    to.keys_back = job.keys_out != nullptr && job.keys_out == job.keys_in;
    to.values_back = VALUE_BYTES != 0 && !job.implicit && job.values_out == job.values_in;
    to.keys = static_cast<uint32_t *>(to.keys_back ? job.keys_spare[0] : job.keys_out);
    to.values = static_cast<V *>(to.values_back ? job.values_spare[0] : job.values_out);
    return to;
}

// Are a block's strips in order, one after the other? One thread a strip. Leaves the edges of all of them for
// judge_strips().
__device__ __forceinline__ void join_strips(psvi_radix_control *control, const strip_edges *own_edges,
                                            uint32_t own_strips, strip_edges *edges) {
    if (threadIdx.x != 0 && own_edges[threadIdx.x].first < own_edges[threadIdx.x - 1].last) control->windows.wrong = 1;
    if (threadIdx.x == 0) edges[blockIdx.x] = {own_edges[0].first, own_edges[own_strips - 1].last};
}

// Whether the calling block is the last of the grid to come here. `ticket`: a word of shared memory. All threads; what
// the other blocks have written before is then to be seen.
__device__ __forceinline__ bool is_last_block(psvi_radix_control *control, uint32_t *ticket) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *ticket = atomicAdd(&control->ticket, 1u);
    __syncthreads();
    if (*ticket != gridDim.x - 1) return false;
    __threadfence();
    return true;
}

// Says whether all strips are in order, one after the other: of the block that ends last, all threads. Switches the
// passes off where they are.
__device__ __forceinline__ void judge_strips(const psvi_radix_job &job, const strip_edges *edges,
                                             const uint32_t &strips, bool is_first) {
    psvi_radix_control *control = job.control;
    bool unordered = false;
    for (uint32_t i = threadIdx.x + 1; i < (strips + NEARLY_STRIPS - 1) / NEARLY_STRIPS; i += NEARLY_THREADS)
        unordered |= __ldcg(&edges[i].first) < __ldcg(&edges[i - 1].last);
    unordered = __syncthreads_or(unordered || __ldcg(&control->windows.wrong) != 0) != 0;
    if (threadIdx.x != 0) return;
    const bool was_sorted = __ldcg(&control->windows.unordered) == 0;
    control->ticket = 0;
    control->windows.wrong = 0;
    control->windows.unordered = 0;
    control->windows.state = unordered ? PSVI_RADIX_NEARLY_NO : PSVI_RADIX_NEARLY_DONE;
    tell_order(job, unordered    ? PSVI_RADIX_ORDER_OTHER
                    : was_sorted ? PSVI_RADIX_ORDER_SORTED
                                 : PSVI_RADIX_ORDER_NEARLY);
    if (is_first) {
        control->done = !unordered;
        control->veto = PSVI_RADIX_VETO_NOT_IN_ORDER;
    } else if (unordered && control->outcome.veto == PSVI_RADIX_VETO_NONE) {
        control->outcome.veto = PSVI_RADIX_VETO_NOT_IN_ORDER;
    }
    if (unordered) return;
    for (uint32_t slot = 0; slot < job.slots; ++slot)
        control->passes.plan[slot].active = 0;
    tell_outcome(job, was_sorted ? PSVI_RADIX_IN_ORDER : PSVI_RADIX_WINDOWS, PSVI_RADIX_VETO_NONE, 0);
}

// In: the request's arrays. Out: see nearly_targets, and `edges` of all blocks; when the order is right, passes
// switched off and control->windows.state set to PSVI_RADIX_NEARLY_DONE. Does nothing unless it is the first kernel of
// the sort or the plan says that the input may be nearly sorted. Tells the host at job.order_seen what it has found. A
// warp goes through a strip window by window; bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(NEARLY_THREADS, NEARLY_RESIDENT)
    psvk_radix_nearly(psvi_radix_job job, strip_edges *edges, uint32_t windows, bool is_first) {
    using V = typename radix_value<VALUE_BYTES>::type;
    psvi_radix_control *control = job.control;
    __shared__ uint32_t maybe, ticket, strips; // strips: of the whole input
    __shared__ strip_edges own_edges[NEARLY_STRIPS];
    let_next_kernel_come();
    wait_for_kernel_before();
    if (threadIdx.x == 0) {
        maybe = is_first || control->windows.state == PSVI_RADIX_NEARLY_MAYBE ? 1 + __ldcg(&control->windows.wrong) : 0;
        strips = nearly_strips(job_count(job), windows);
    }
    __syncthreads();
    if (maybe == 0) return;
    const uint32_t count = (uint32_t)job_count(job), lane = threadIdx.x & 31, strip_items = 64 * windows;
    const uint32_t first_strip = blockIdx.x * NEARLY_STRIPS, strip = first_strip + threadIdx.x / 32;
    const uint32_t *keys_in = global(static_cast<const uint32_t *>(job.keys_in));
    const V *values_in = static_cast<const V *>(job.values_in);
    const nearly_targets<V> to = nearly_output<VALUE_BYTES, V>(job);
    bool wrong = false, moved = false; // moved: some item does not stay where it was
    // An integer of which all bits were compared can be rebuilt from its compared form; other keys are read again.
    const bool known = KIND == PSVI_RADIX_INT32 && job.order.begin_bit == 0 && job.order.end_bit == 32;

    auto sorted_key = [&](uint32_t raw) { return sorted_part(transform<KIND>(raw, job.order), job.order); };
    if (strip < strips && maybe == 1) {          // 2: another block has found that they are not
        uint32_t base = 0, carried = NEARLY_PAD; // the greater half of the window before
        uint64_t last = 0;                       // what was written last, one more than its (key, place)
        // Writes 32 items from `place` on; their places in the input are relative to `origin`.
        auto write = [&](uint32_t items, uint32_t place, uint32_t origin) {
            const uint32_t at = place + lane, from = origin + (items & ((1u << NEARLY_PLACE_BITS) - 1));
            const bool there = at < count;
            wrong |= there && items == NEARLY_PAD;
            moved |= there && from != at;
            const uint64_t whole = (uint64_t)(base + (items >> NEARLY_PLACE_BITS)) << 32 | from;
            const uint64_t first = __shfl_sync(PSVI_RADIX_FULL_WARP, whole, 0);
            if (place < count && first < last) wrong = true;
            if (place < count) {
                const uint32_t end = count - place < 32 ? count - place - 1 : 31;
                last = __shfl_sync(PSVI_RADIX_FULL_WARP, whole, end) + 1;
            }
            if (there && from < count) {
                if (to.keys != nullptr)
                    to.keys[at] = known ? (uint32_t)(whole >> 32) ^ (uint32_t)job.order.flip : keys_in[from];
                if constexpr (VALUE_BYTES != 0) to.values[at] = job.implicit ? (V)from : values_in[from];
            }
            return first;
        };
        const uint32_t begin = strip * strip_items; // below 2^30
        uint32_t next0 = begin + lane < count ? keys_in[begin + lane] : 0;
        uint32_t next1 = begin + 32 + lane < count ? keys_in[begin + 32 + lane] : 0;
        for (uint32_t origin = begin; origin <= begin + strip_items; origin += 64) {
            const bool there0 = origin + lane < count, there1 = origin + 32 + lane < count;
            const uint32_t key0 = sorted_key(next0), key1 = sorted_key(next1);
            if (origin < begin + strip_items) { // read while this window is sorted
                next0 = origin + 64 + lane < count ? keys_in[origin + 64 + lane] : 0;
                next1 = origin + 96 + lane < count ? keys_in[origin + 96 + lane] : 0;
            }
            // Keys as distances from the least of this window and what is carried.
            uint32_t least = min(there0 ? key0 : NEARLY_PAD, there1 ? key1 : NEARLY_PAD);
            const uint32_t carried_key = base + (carried >> NEARLY_PLACE_BITS);
            if (carried != NEARLY_PAD) least = min(least, carried_key);
            least = psvd_reduce_min(least);
            wrong |= (there0 && key0 - least >= NEARLY_SPREAD) || (there1 && key1 - least >= NEARLY_SPREAD) ||
                     (carried != NEARLY_PAD && carried_key - least >= NEARLY_SPREAD);
            if (__any_sync(PSVI_RADIX_FULL_WARP, wrong)) break;
            // Places count from the window before; what is carried was in the second half of its count.
            if (carried != NEARLY_PAD)
                carried = (carried_key - least) << NEARLY_PLACE_BITS | (carried & ((1u << NEARLY_PLACE_BITS) - 1)) - 64;
            base = least;
            uint32_t low = there0 ? (key0 - base) << NEARLY_PLACE_BITS | (64 + lane) : NEARLY_PAD;
            uint32_t high = there1 ? (key1 - base) << NEARLY_PLACE_BITS | (96 + lane) : NEARLY_PAD;
            low = sort_lanes(low, lane);
            high = sort_lanes(high, lane);
            merge_halves(low, high, lane);
            if (origin == begin) {
                if (begin == 0) {
                    const uint64_t first = write(low, 0, origin - 64);
                    if (lane == 0) own_edges[0].first = first;
                }
            } else {
                merge_halves(carried, low, lane);
                const uint64_t first = write(carried, origin - 32, origin - 64);
                if (lane == 0 && origin == begin + 64 && begin != 0) own_edges[threadIdx.x / 32].first = first;
                write(low, origin, origin - 64);
            }
            carried = high;
        }
        if (lane == 0) own_edges[threadIdx.x / 32].last = last;
        moved = __any_sync(PSVI_RADIX_FULL_WARP, moved);
        if (moved && lane == 0) control->windows.unordered = 1;
    }
    if (wrong) control->windows.wrong = 1;
    __syncthreads();
    const uint32_t own_strips = strips > first_strip ? min(strips - first_strip, NEARLY_STRIPS) : 0;
    if (threadIdx.x < own_strips && maybe == 1) join_strips(control, own_edges, own_strips, edges);
    if (is_last_block(control, &ticket)) judge_strips(job, edges, strips, is_first);
}

// In a sort in place: from spare memory to the output. All threads of the grid.
template <int VALUE_BYTES> __device__ void bring_back(const psvi_radix_job &job, uint64_t count) {
    using V = typename radix_value<VALUE_BYTES>::type;
    const nearly_targets<V> to = nearly_output<VALUE_BYTES, V>(job);
    if (to.keys_back) copy_items(static_cast<uint32_t *>(job.keys_out), to.keys, count);
    if (to.values_back) copy_items(static_cast<V *>(job.values_out), to.values, count);
}

} // namespace

#endif
