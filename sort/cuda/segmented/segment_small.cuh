// Second step of a segmented sort: every segment that fits in a block.
#ifndef PAIRSIEVE_SEGMENT_SMALL_CUH
#define PAIRSIEVE_SEGMENT_SMALL_CUH

#include "segment_merge.cuh"

namespace psvi_segments {

constexpr uint32_t THREADS = PSVI_SEGMENT_THREADS;
constexpr uint32_t WARPS = THREADS / 32;
constexpr uint32_t TINY_TILE = PSVI_SEGMENT_TILE;
constexpr uint32_t TILE_ROOM = TINY_TILE + PSVI_SEGMENT_TINY; // the last segment may end in the next tile
constexpr uint32_t TILE_ITEMS = (TILE_ROOM + THREADS - 1) / THREADS;
constexpr uint32_t NO_SEGMENT = UINT32_MAX;

template <typename Item> constexpr uint32_t padded_room(uint32_t items) { return items + items / Item::PAD; }

template <typename Key> struct tile_memory {
    typename Key::field_t fields[TILE_ROOM];
    uint32_t heads[TILE_ROOM / 32]; // a bit for the first element of each tiny segment
    uint8_t lengths[TINY_TILE];     // by first element
};

template <typename Key> union block_memory {
    using Item = typename Key::item_t;
    Item block[padded_room<Item>(block_length<Key>)];
    Item warps[WARPS][padded_room<Item>(PSVI_SEGMENT_WARP)];
    tile_memory<Key> tile;
};

// The work of a call as one list of tickets: long segments first, tiles last.
struct work_list {
    uint32_t lengths[PSVI_SEGMENT_BINS + 1]; // tickets of each kind

    __device__ explicit work_list(const psvi_segment_control *control) {
        for (uint32_t bin = 0; bin < PSVI_SEGMENT_BINS; ++bin)
            lengths[bin] = control->binned[bin];
        lengths[PSVI_SEGMENT_BIN_WARP] = (lengths[PSVI_SEGMENT_BIN_WARP] + WARPS - 1) / WARPS;
        lengths[PSVI_SEGMENT_BINS] = control->tiles;
    }

    // Kind of the ticket, and its place among those of that kind. PSVI_SEGMENT_BINS + 1: none is left.
    __device__ uint32_t kind_of(uint32_t *ticket) const {
        uint32_t kind = 0;
        while (kind <= PSVI_SEGMENT_BINS && *ticket >= lengths[kind])
            *ticket -= lengths[kind++];
        return kind;
    }
};

// The tiny segment that element `at` of the tile belongs to: its first element, or NO_SEGMENT.
template <typename Key> __device__ __forceinline__ uint32_t head_of(const tile_memory<Key> &tile, uint32_t at) {
    const uint32_t word = at / 32, bit = at % 32;
    const uint32_t window = __funnelshift_l(word == 0 ? 0 : tile.heads[word - 1], tile.heads[word], 31 - bit);
    if (window == 0) return NO_SEGMENT;
    const uint32_t head = at - __clz(window);
    return at - head < tile.lengths[head] ? head : NO_SEGMENT;
}

// Place of element `at` in its sorted segment: how many others come before it.
template <typename Key>
__device__ __forceinline__ uint32_t count_before(const tile_memory<Key> &tile, uint32_t head, uint32_t at) {
    const typename Key::field_t own = tile.fields[at];
    const uint32_t end = head + tile.lengths[head];
    uint32_t rank = 0;
#pragma unroll 4
    for (uint32_t other = head; other < end; ++other) {
        const typename Key::field_t field = tile.fields[other];
        rank += field < own || (field == own && other < at);
    }
    return rank;
}

// Sorts the tiny segments that begin in a tile. Each element counts those of its segment that come before it. Three
// block-wide barriers. Reads and writes each key and value once.
template <typename Key>
__device__ __forceinline__ void sort_tile(const psvi_segment_job &job, tile_memory<Key> &tile, uint32_t number) {
    using raw_t = typename Key::raw_t;
    const uint32_t segments = job.tile_counts[number];
    const uint64_t base = (uint64_t)number * TINY_TILE;
    raw_t *keys = static_cast<raw_t *>(job.keys) + base;
    for (uint32_t word = threadIdx.x; word < TILE_ROOM / 32; word += THREADS)
        tile.heads[word] = 0;
    __syncthreads();
    for (uint32_t s = threadIdx.x; s < segments; s += THREADS) {
        const uint32_t slot = job.slots[base + s], head = slot >> 5;
        atomicOr(&tile.heads[head / 32], 1u << head % 32);
        tile.lengths[head] = (uint8_t)((slot & 31) + 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) job.tile_counts[number] = 0;
    raw_t raw[TILE_ITEMS];
    uint64_t values[TILE_ITEMS];
    uint32_t heads[TILE_ITEMS];
#pragma unroll
    for (uint32_t r = 0; r < TILE_ITEMS; ++r) {
        const uint32_t at = r * THREADS + threadIdx.x;
        heads[r] = at < TILE_ROOM ? head_of(tile, at) : NO_SEGMENT;
        if (heads[r] == NO_SEGMENT) continue;
        raw[r] = keys[at];
        if (job.value_bytes != 0) values[r] = load_value(job, base + at, at - heads[r]);
    }
#pragma unroll
    for (uint32_t r = 0; r < TILE_ITEMS; ++r)
        if (heads[r] != NO_SEGMENT) tile.fields[r * THREADS + threadIdx.x] = Key::field(raw[r], job);
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < TILE_ITEMS; ++r) {
        if (heads[r] == NO_SEGMENT) continue;
        const uint32_t to = heads[r] + count_before(tile, heads[r], r * THREADS + threadIdx.x);
        if (job.write_keys) keys[to] = raw[r];
        if (job.value_bytes != 0) store_value(job, base + to, values[r]);
    }
}

template <typename Key>
__device__ __forceinline__ void sort_in_warp(const psvi_segment_job &job, typename Key::item_t *shared,
                                             uint32_t segment) {
    const uint32_t begin = job.offsets[segment], length = job.offsets[segment + 1] - begin;
    if (length <= 64)
        sort_by_merging<Key, 2, false>(job, shared, begin, length);
    else if (length <= 128)
        sort_by_merging<Key, 4, false>(job, shared, begin, length);
    else
        sort_by_merging<Key, 8, false>(job, shared, begin, length);
}

template <typename Key>
__device__ __forceinline__ void do_ticket(const psvi_segment_job &job, block_memory<Key> &memory, uint32_t kind,
                                          uint32_t place) {
    if (kind == PSVI_SEGMENT_BINS) {
        sort_tile<Key>(job, memory.tile, job.tile_list[place]);
        return;
    }
    if (kind == PSVI_SEGMENT_BIN_WARP) {
        const uint32_t warp = threadIdx.x / 32, at = place * WARPS + warp;
        if (at < job.control->binned[kind]) sort_in_warp<Key>(job, memory.warps[warp], job.bins[kind][at]);
        return;
    }
    const uint32_t segment = job.bins[kind][place];
    const uint32_t begin = job.offsets[segment], length = job.offsets[segment + 1] - begin;
    if (kind == PSVI_SEGMENT_BIN_BLOCK)
        sort_by_merging<Key, PSVI_SEGMENT_BLOCK / THREADS, true>(job, memory.block, begin, length);
    else
        sort_by_merging<Key, block_length<Key> / THREADS, true>(job, memory.block, begin, length);
}

// In: bins and slots of the first step. Out: all segments of up to job.block_length elements, sorted in place. Blocks
// take tickets; the next one is on its way while they sort. Reads and writes keys and values once or twice.
template <typename Key>
__device__ __forceinline__ void sort_small(const psvi_segment_job &job, block_memory<Key> &memory,
                                           uint32_t *next_ticket) {
    const work_list work(job.control);
    uint32_t ticket = blockIdx.x;
    for (;;) {
        uint32_t next = 0, place = ticket;
        const uint32_t kind = work.kind_of(&place);
        if (kind > PSVI_SEGMENT_BINS) break;
        if (threadIdx.x == 0) next = gridDim.x + atomicAdd(&job.control->ticket, 1u);
        do_ticket<Key>(job, memory, kind, place);
        if (threadIdx.x == 0) *next_ticket = next;
        __syncthreads();
        ticket = *next_ticket;
        __syncthreads();
    }
}

} // namespace psvi_segments

#endif
