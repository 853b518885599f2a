// Third step of a segmented sort: segments that do not fit in a block, all of them side by side. A least significant
// digit radix sort. In each pass every tile counts its digits, the counts are added up over the tiles of each segment,
// and the tiles send their items to their places. Four grid barriers a pass.
#ifndef PAIRSIEVE_SEGMENT_LARGE_CUH
#define PAIRSIEVE_SEGMENT_LARGE_CUH

#include "segment_small.cuh"

namespace psvi_segments {

constexpr uint32_t TILE = PSVI_SEGMENT_LARGE_TILE;
constexpr uint32_t ITEMS = TILE / THREADS;
constexpr uint32_t DIGITS = PSVI_SEGMENT_DIGITS;
constexpr uint32_t FULL_WARP = 0xffffffffu;
static_assert(DIGITS == THREADS, "a thread for each digit");

// A tile of a large segment: `length` elements from `begin` of the array on.
struct tile_range {
    uint32_t begin, length, segment_begin, chunk;
};

__device__ __forceinline__ tile_range range_of(const psvi_segment_job &job, uint32_t tile) {
    const psvi_large_segment segment = job.large[__ldcg(&job.tile_owner[tile])];
    const uint32_t number = tile - segment.first_tile;
    return {segment.begin + number * TILE, min(TILE, segment.length - number * TILE), segment.begin,
            segment.first_chunk + number / PSVI_SEGMENT_CHUNK};
}

// Everything that the blocks wrote before is visible to all of them after. `expected` is thread 0's own.
__device__ __forceinline__ void wait_for_blocks(uint32_t *arrivals, uint32_t *expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        *expected += gridDim.x;
        __threadfence();
        atomicAdd(arrivals, 1u);
        while (*static_cast<volatile uint32_t *>(arrivals) < *expected) {
        }
        __threadfence();
    }
    __syncthreads();
}

// Sum of `value` over the threads before this one. `sums` holds a word for each warp. Two block-wide barriers.
__device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t *sums) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = value;
#pragma unroll
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t below = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += below;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    for (uint32_t w = 0; w < warp; ++w)
        sum += sums[w];
    return sum - value;
}

// Turns a column of counts into sums over the rows before, from `sum` on. Returns the sum over all.
__device__ __forceinline__ uint32_t sum_rows(uint32_t *column, uint32_t rows, uint32_t sum) {
    constexpr uint32_t BATCH = 8;
    for (uint32_t first = 0; first < rows; first += BATCH) {
        uint32_t counts[BATCH];
#pragma unroll
        for (uint32_t i = 0; i < BATCH; ++i)
            counts[i] = first + i < rows ? __ldcg(column + (first + i) * DIGITS) : 0;
#pragma unroll
        for (uint32_t i = 0; i < BATCH; ++i) {
            if (first + i < rows) column[(first + i) * DIGITS] = sum;
            sum += counts[i];
        }
    }
    return sum;
}

// Lanes of `active` that have this lane's digit.
__device__ __forceinline__ uint32_t lanes_alike(uint32_t digit, uint32_t active) {
    uint32_t lanes = active;
#pragma unroll
    for (uint32_t bit = 0; bit < PSVI_SEGMENT_DIGIT_BITS; ++bit) {
        const bool set = digit >> bit & 1;
        const uint32_t with = __ballot_sync(FULL_WARP, set);
        lanes &= set ? with : ~with;
    }
    return lanes;
}

template <typename Key> struct scatter_memory {
    uint32_t counts[WARPS][DIGITS];
    uint32_t starts[DIGITS]; // first place in the tile
    uint32_t goals[DIGITS];  // place in the array, less that in the tile
    uint32_t sums[WARPS];
    uint8_t digits[TILE];                         // of the items in order
    __align__(16) typename Key::raw_t keys[TILE]; // then values
};

template <typename Key> struct large_sort {
    using raw_t = typename Key::raw_t;
    const psvi_segment_job &job;
    uint32_t shift;       // of the digit
    const raw_t *keys_in; // of this pass
    raw_t *keys_out;
    const void *values_in;
    void *values_out;
    bool implicit; // the pass reads no values

    __device__ large_sort(const psvi_segment_job &work) : job(work) {}

    __device__ __forceinline__ uint32_t digit(raw_t raw) const {
        return (uint32_t)(Key::field(raw, job) >> shift) & (DIGITS - 1);
    }

    // Keys and values go to the spare arrays and back. Kept keys go from one spare array to the other.
    __device__ __forceinline__ void choose_arrays(uint32_t pass) {
        raw_t *own = static_cast<raw_t *>(job.keys), *spare = static_cast<raw_t *>(job.keys_spare[0]);
        raw_t *second = job.keep_keys ? static_cast<raw_t *>(job.keys_spare[1]) : own;
        shift = pass * PSVI_SEGMENT_DIGIT_BITS;
        keys_in = pass == 0 ? own : pass % 2 == 0 ? second : spare;
        keys_out = pass % 2 == 0 ? spare : second;
        values_in = pass % 2 == 0 ? job.values : job.values_spare;
        values_out = pass % 2 == 0 ? job.values_spare : job.values;
        implicit = job.implicit && pass == 0;
    }

    // For the tiles and chunks of all segments: which one they belong to.
    __device__ __forceinline__ void name_owners() const {
        for (uint32_t s = blockIdx.x; s < job.control->large; s += gridDim.x) {
            const psvi_large_segment segment = job.large[s];
            const uint32_t tiles = pieces(segment.length, TILE);
            for (uint32_t t = threadIdx.x; t < tiles; t += THREADS)
                job.tile_owner[segment.first_tile + t] = s;
            for (uint32_t c = threadIdx.x; c * PSVI_SEGMENT_CHUNK < tiles; c += THREADS)
                job.chunk_owner[segment.first_chunk + c] = s;
        }
    }

    // Out: job.tile_digits.
    __device__ __forceinline__ void count_digits(scatter_memory<Key> &memory) const {
        uint32_t *counts = memory.counts[threadIdx.x / 32];
        for (uint32_t tile = blockIdx.x; tile < job.control->large_tiles; tile += gridDim.x) {
            const tile_range range = range_of(job, tile);
            for (uint32_t d = threadIdx.x % 32; d < DIGITS; d += 32)
                counts[d] = 0;
            __syncwarp();
            raw_t raw[ITEMS];
#pragma unroll
            for (uint32_t r = 0; r < ITEMS; ++r) {
                const uint32_t i = r * THREADS + threadIdx.x;
                raw[r] = i < range.length ? keys_in[range.begin + i] : raw_t();
            }
#pragma unroll
            for (uint32_t r = 0; r < ITEMS; ++r) {
                const bool there = r * THREADS + threadIdx.x < range.length;
                const uint32_t own = there ? digit(raw[r]) : DIGITS;
                const bool alike = __all_sync(FULL_WARP, own == __shfl_sync(FULL_WARP, own, 0));
                if (alike && there && threadIdx.x % 32 == 0) counts[own] += 32;
                if (!alike && there) atomicAdd(&counts[own], 1u);
                __syncwarp();
            }
            __syncthreads();
            uint32_t sum = 0;
            for (uint32_t w = 0; w < WARPS; ++w)
                sum += memory.counts[w][threadIdx.x];
            job.tile_digits[(uint64_t)tile * DIGITS + threadIdx.x] = sum;
            __syncthreads();
        }
    }

    // tile_digits: from counts to sums over the tiles before, within the chunk. chunk_digits: sums of the chunks.
    __device__ __forceinline__ void add_tiles() const {
        for (uint32_t chunk = blockIdx.x; chunk < job.control->large_chunks; chunk += gridDim.x) {
            const psvi_large_segment segment = job.large[__ldcg(&job.chunk_owner[chunk])];
            const uint32_t tiles = pieces(segment.length, TILE);
            const uint32_t first = (chunk - segment.first_chunk) * PSVI_SEGMENT_CHUNK;
            const uint32_t here = min((uint32_t)PSVI_SEGMENT_CHUNK, tiles - first);
            uint32_t *row = job.tile_digits + (uint64_t)(segment.first_tile + first) * DIGITS + threadIdx.x;
            job.chunk_digits[(uint64_t)chunk * DIGITS + threadIdx.x] = sum_rows(row, here, 0);
        }
    }

    // chunk_digits: from sums of chunks to the places in the segment where their digits begin.
    __device__ __forceinline__ void add_chunks(uint32_t *sums) const {
        for (uint32_t s = blockIdx.x; s < job.control->large; s += gridDim.x) {
            const psvi_large_segment segment = job.large[s];
            const uint32_t tiles = pieces(segment.length, TILE);
            const uint32_t chunks = pieces(tiles, PSVI_SEGMENT_CHUNK);
            uint32_t *row = job.chunk_digits + (uint64_t)segment.first_chunk * DIGITS + threadIdx.x;
            uint32_t sum = 0;
#pragma unroll 8
            for (uint32_t c = 0; c < chunks; ++c)
                sum += __ldcg(row + c * DIGITS);
            sum_rows(row, chunks, sum_before(sum, sums));
        }
    }

    // Ranks of this thread's items among those of their digit in the warp; the warp's counts in memory.counts.
    __device__ __forceinline__ void rank_in_warp(uint32_t *counts, const raw_t (&raw)[ITEMS], uint32_t first,
                                                 uint32_t length, uint32_t (&places)[ITEMS]) const {
        const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
#pragma unroll
        for (uint32_t r = 0; r < ITEMS; ++r) {
            const bool there = first + r * 32 < length;
            const uint32_t own = there ? digit(raw[r]) : 0;
            const uint32_t lanes = lanes_alike(own, __ballot_sync(FULL_WARP, there));
            const uint32_t before = there ? counts[own] : 0;
            __syncwarp();
            if (there && (lanes & below) == 0) counts[own] = before + __popc(lanes);
            __syncwarp();
            places[r] = before + __popc(lanes & below);
        }
    }

    // memory.counts: from counts of warps to sums over the warps before. Then where digits begin.
    __device__ __forceinline__ void place_digits(scatter_memory<Key> &memory, const tile_range &range,
                                                 uint32_t tile) const {
        const uint32_t d = threadIdx.x;
        const uint32_t earlier = __ldcg(job.tile_digits + (uint64_t)tile * DIGITS + d) +
                                 __ldcg(job.chunk_digits + (uint64_t)range.chunk * DIGITS + d);
        uint32_t sum = 0;
        for (uint32_t w = 0; w < WARPS; ++w) {
            const uint32_t count = memory.counts[w][d];
            memory.counts[w][d] = sum;
            sum += count;
        }
        const uint32_t start = sum_before(sum, memory.sums);
        memory.starts[d] = start;
        memory.goals[d] = range.segment_begin + earlier - start;
    }

    // Sends the items of a tile to their places, in runs of equal digits.
    __device__ __forceinline__ void scatter_tile(scatter_memory<Key> &memory, uint32_t tile) const {
        const tile_range range = range_of(job, tile);
        const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp * 32 * ITEMS + lane;
        raw_t raw[ITEMS];
        uint32_t places[ITEMS];
#pragma unroll
        for (uint32_t r = 0; r < ITEMS; ++r)
            raw[r] = first + r * 32 < range.length ? keys_in[range.begin + first + r * 32] : raw_t();
        for (uint32_t d = lane; d < DIGITS; d += 32)
            memory.counts[warp][d] = 0;
        __syncwarp();
        rank_in_warp(memory.counts[warp], raw, first, range.length, places);
        __syncthreads();
        place_digits(memory, range, tile);
        __syncthreads();
#pragma unroll
        for (uint32_t r = 0; r < ITEMS; ++r) {
            if (first + r * 32 >= range.length) continue;
            const uint32_t own = digit(raw[r]);
            places[r] += memory.starts[own] + memory.counts[warp][own];
            memory.keys[places[r]] = raw[r];
        }
        __syncthreads();
#pragma unroll
        for (uint32_t r = 0; r < ITEMS; ++r) {
            const uint32_t at = r * THREADS + threadIdx.x;
            if (at >= range.length) continue;
            const raw_t key = memory.keys[at];
            memory.digits[at] = (uint8_t)digit(key);
            keys_out[memory.goals[digit(key)] + at] = key;
        }
        __syncthreads();
        if (job.value_bytes == 4) send_values<uint32_t>(memory, range, first, places);
        if (job.value_bytes == 8) send_values<uint64_t>(memory, range, first, places);
    }

    // Values take the way of their keys, half of them at a time where they are twice as large.
    template <typename Value>
    __device__ __forceinline__ void send_values(scatter_memory<Key> &memory, const tile_range &range, uint32_t first,
                                                const uint32_t (&places)[ITEMS]) const {
        constexpr uint32_t ROOM =
            TILE * sizeof(raw_t) / sizeof(Value) < TILE ? TILE * sizeof(raw_t) / sizeof(Value) : TILE;
        Value *staged = reinterpret_cast<Value *>(memory.keys), values[ITEMS];
#pragma unroll
        for (uint32_t r = 0; r < ITEMS; ++r) { // all are read before the first is stored
            const uint32_t at = first + r * 32;
            if (at >= range.length) continue;
            values[r] = implicit ? (Value)(range.begin + at - range.segment_begin)
                                 : static_cast<const Value *>(values_in)[range.begin + at];
        }
        for (uint32_t part = 0; part < TILE; part += ROOM) {
#pragma unroll
            for (uint32_t r = 0; r < ITEMS; ++r) {
                const uint32_t at = first + r * 32;
                if (at >= range.length || places[r] - part >= ROOM) continue;
                staged[places[r] - part] = values[r];
            }
            __syncthreads();
#pragma unroll
            for (uint32_t r = 0; r < ITEMS; ++r) {
                const uint32_t at = r * THREADS + threadIdx.x;
                if (at < range.length && at - part < ROOM)
                    static_cast<Value *>(values_out)[memory.goals[memory.digits[at]] + at] = staged[at - part];
            }
            __syncthreads();
        }
    }

    // After an odd number of passes the result is in the spare arrays.
    __device__ __forceinline__ void copy_back() const {
        for (uint32_t tile = blockIdx.x; tile < job.control->large_tiles; tile += gridDim.x) {
            const tile_range range = range_of(job, tile);
            for (uint32_t i = range.begin + threadIdx.x; i < range.begin + range.length; i += THREADS) {
                if (job.write_keys)
                    static_cast<raw_t *>(job.keys)[i] = static_cast<const raw_t *>(job.keys_spare[0])[i];
                if (job.value_bytes != 0)
                    store_value(job, i,
                                job.value_bytes == 4 ? static_cast<const uint32_t *>(job.values_spare)[i]
                                                     : static_cast<const uint64_t *>(job.values_spare)[i]);
            }
        }
    }
};

// In: the large segments that the first step has listed. Out: sorted in place. Each pass reads the keys twice and the
// values once and writes both once.
template <typename Key>
__device__ __forceinline__ void sort_large(const psvi_segment_job &job, scatter_memory<Key> &memory,
                                           uint32_t *expected) {
    psvi_segment_control *control = job.control;
    large_sort<Key> sort(job);
    sort.name_owners();
    wait_for_blocks(&control->arrivals, expected);
#pragma unroll 1
    for (uint32_t pass = 0; pass < job.passes; ++pass) {
        sort.choose_arrays(pass);
        sort.count_digits(memory);
        wait_for_blocks(&control->arrivals, expected);
        sort.add_tiles();
        wait_for_blocks(&control->arrivals, expected);
        sort.add_chunks(memory.sums);
        wait_for_blocks(&control->arrivals, expected);
        for (uint32_t tile = blockIdx.x; tile < control->large_tiles; tile += gridDim.x)
            sort.scatter_tile(memory, tile);
        wait_for_blocks(&control->arrivals, expected);
    }
    if (job.passes % 2 == 1) sort.copy_back();
}

} // namespace psvi_segments

#endif
