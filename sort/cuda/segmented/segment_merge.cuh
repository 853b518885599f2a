// Merge sort of one segment by a warp or a block, in shared memory.
#ifndef PAIRSIEVE_SEGMENT_MERGE_CUH
#define PAIRSIEVE_SEGMENT_MERGE_CUH

#include "segment_keys.cuh"

namespace psvi_segments {

template <bool BLOCK> __device__ __forceinline__ void team_barrier() {
    if constexpr (BLOCK)
        __syncthreads();
    else
        __syncwarp();
}

// Where item `i` lies in shared memory. Threads that read at strides of their items meet in no bank.
template <typename Item> __device__ __forceinline__ uint32_t padded(uint32_t i) { return i + i / Item::PAD; }

template <typename Item, int ITEMS> __device__ __forceinline__ void sort_in_thread(Item (&items)[ITEMS]) {
#pragma unroll
    for (int size = 2; size <= ITEMS; size *= 2) {
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2) {
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                const int other = i ^ step;
                if (other <= i) continue;
                const bool up = (i & size) == 0;
                const Item a = items[i], b = items[other];
                const bool swap = up ? b < a : a < b;
                items[i] = swap ? b : a;
                items[other] = swap ? a : b;
            }
        }
    }
}

// How many of the first `place` items of the merge of the runs a and b, of `run` items each, come from a.
template <typename Item>
__device__ __forceinline__ uint32_t split_merge(const Item *shared, uint32_t a, uint32_t b, uint32_t run,
                                                uint32_t place) {
    uint32_t low = place > run ? place - run : 0, high = min(place, run);
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (shared[padded<Item>(a + middle)] < shared[padded<Item>(b + place - 1 - middle)])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// items[i] of thread t becomes item t * ITEMS + i of the sorted segment. Items behind the segment are last().
// `thread` is the number within the team; `length` is the same for all of it. Two team barriers a round.
template <typename Item, int ITEMS, bool BLOCK>
__device__ __forceinline__ void merge_sort(Item (&items)[ITEMS], Item *shared, uint32_t thread, uint32_t length) {
    sort_in_thread(items);
    const uint32_t first = thread * ITEMS;
#pragma unroll 1
    for (uint32_t run = ITEMS; run < length; run *= 2) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            shared[padded<Item>(first + i)] = items[i];
        team_barrier<BLOCK>();
        const uint32_t a = first & ~(2 * run - 1), b = a + run, place = first - a;
        uint32_t from_a = split_merge(shared, a, b, run, place), from_b = place - from_a;
        Item next_a = from_a < run ? shared[padded<Item>(a + from_a)] : Item::last();
        Item next_b = from_b < run ? shared[padded<Item>(b + from_b)] : Item::last();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const bool take_a = from_b >= run || (from_a < run && !(next_b < next_a));
            items[i] = take_a ? next_a : next_b;
            from_a += take_a;
            from_b += !take_a;
            if (i + 1 == ITEMS) break;
            const uint32_t taken = take_a ? from_a : from_b;
            const Item next = taken < run ? shared[padded<Item>((take_a ? a : b) + taken)] : Item::last();
            next_a = take_a ? next : next_a;
            next_b = take_a ? next_b : next;
        }
        team_barrier<BLOCK>();
    }
}

// Sorts the segment of `length` <= threads * ITEMS elements at `begin`. The team is a warp or the whole block; `shared`
// is its own. Reads keys and values twice, the second time from the cache; writes them once.
template <typename Key, int ITEMS, bool BLOCK>
__device__ __forceinline__ void sort_by_merging(const psvi_segment_job &job, typename Key::item_t *shared,
                                                uint32_t begin, uint32_t length) {
    using Item = typename Key::item_t;
    using raw_t = typename Key::raw_t;
    constexpr uint32_t THREADS = BLOCK ? PSVI_SEGMENT_THREADS : 32;
    const uint32_t thread = threadIdx.x % THREADS;
    raw_t *keys = static_cast<raw_t *>(job.keys) + begin;
    Item items[ITEMS];
    raw_t raw[ITEMS]; // read side by side, all before the first is stored
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        raw[i] = i * THREADS + thread < length ? keys[i * THREADS + thread] : raw_t();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t at = i * THREADS + thread;
        shared[padded<Item>(at)] = at < length ? Item::make(Key::field(raw[i], job), at) : Item::last();
    }
    team_barrier<BLOCK>();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        items[i] = shared[padded<Item>(thread * ITEMS + i)];
    merge_sort<Item, ITEMS, BLOCK>(items, shared, thread, length);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        shared[padded<Item>(thread * ITEMS + i)] = items[i];
    team_barrier<BLOCK>();
    const auto from = [&](uint32_t at) { return shared[padded<Item>(at)].position(); };
    if (job.write_keys) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (i * THREADS + thread < length) raw[i] = keys[from(i * THREADS + thread)];
        team_barrier<BLOCK>();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (i * THREADS + thread < length) keys[i * THREADS + thread] = raw[i];
    }
    if (job.value_bytes == 0) return;
    uint64_t values[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i * THREADS + thread < length) {
            const uint32_t position = from(i * THREADS + thread);
            values[i] = load_value(job, (uint64_t)begin + position, position);
        }
    team_barrier<BLOCK>();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i * THREADS + thread < length) store_value(job, (uint64_t)begin + i * THREADS + thread, values[i]);
}

} // namespace psvi_segments

#endif
