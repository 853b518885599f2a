// Routes SPLITTERS and CHUNKS: one cooperative launch in which every multiprocessor keeps a share of the
// items on chip.
//
// SPLITTERS comes first where the call before has left splitters (radix_splitters.cuh). CHUNKS cuts the keys' range
// into 2,048 bins and counts them. It gives each block a run of bins with about the same number of items, its chunk.
// This is the bucket sort of Sintorn & Assarsson (2007) with exact counts. Every item goes to the block that has its
// chunk, and that block sorts the chunk in shared memory. If some chunk does not fit in shared memory, CHUNKS sorts
// digit by digit, least significant first.
//
// Blocks meet at grid barriers, so the launch is cooperative. Items move through L2 once.
#include "radix_chunks_device.cuh"
#include "radix_splitters.cuh"

namespace {

// Shared memory of a block. Items lie in one half of `keys` and `values` and move to the other. Loops over them stay
// rolled: most code runs once in a launch, and fetching it costs more than the registers would save.
template <int KIND, int VALUE_BYTES> struct chunks_shared {
    using types = chunks_types<KIND, VALUE_BYTES>;
    typename types::key keys[2][types::TILE];
    typename types::value values[2][VALUE_BYTES == 0 ? 1 : types::TILE];
    uint16_t places[types::TILE];  // place of an item among those of its digit in its warp, or in its bin
    uint16_t sources[types::TILE]; // where the item at a place of the other half came from
    union {
        radix_counter counters[WARPS][LOCAL_DIGITS];
        alignas(16) uint32_t bins[BINS];
        alignas(16) uint16_t fine[FINE_BINS]; // counts, then first places
    };
    uint32_t digit_start[LOCAL_DIGITS];                           // place in the block of a digit's first item
    uint32_t digit_target[LOCAL_DIGITS];                          // its place in the output less digit_start
    uint32_t before[PSVI_RADIX_DIGITS], whole[PSVI_RADIX_DIGITS]; // of a digit: in earlier blocks, in all
    uint32_t quarters[4][LOCAL_DIGITS / 2];
    uint32_t sums[WARPS];
    uint64_t reduce[4][WARPS];
    uint64_t range[5];
    alignas(4) uint8_t chunk_of_bin[BINS];
    uint32_t chunk_begin, chunk_end, chunk_first_bin, chunk_last_bin;
    uint32_t largest_chunk;
};

// The keys' range and order, of the whole input.
template <typename K> struct key_range {
    K least, greatest, varying; // varying: bits that are not the same in all keys
    bool sorted;
};

// A block's items, in one half of its shared memory, and how they move to the other half and to other blocks.
template <int KIND, int VALUE_BYTES> struct chunk_tile {
    using types = chunks_types<KIND, VALUE_BYTES>;
    using K = typename types::key;
    using V = typename types::value;
    using shared_t = chunks_shared<KIND, VALUE_BYTES>;
    static constexpr int TILE = types::TILE;

    const psvi_radix_job &job;
    psvi_radix_chunks_state *state;
    psvi_radix_chunks_meeting *meeting;
    grid_barrier &barrier;
    shared_t &shared;
    uint32_t count;  // of the whole input
    uint32_t half;   // of shared.keys and shared.values that holds the items
    uint32_t passes; // that have run
    bool uneven;     // some part of the keys' range holds more than a block

    __device__ chunk_tile(const psvi_radix_job &j, psvi_radix_chunks_state *s, psvi_radix_chunks_meeting *m,
                          grid_barrier &b, shared_t &sh, uint32_t c)
        : job(j), state(s), meeting(m), barrier(b), shared(sh), count(c), half(0), passes(1), uneven(false) {}

    __device__ __forceinline__ K part(K raw) const { return part_of<KIND>(raw, job.order); }

    // Both end without a barrier. Buffers that other blocks have written are read past the first-level cache.
    __device__ void load_keys(const void *from, uint32_t begin, uint32_t length) {
#pragma unroll 9
        for (uint32_t place = threadIdx.x; place < length; place += THREADS)
            shared.keys[half][place] = __ldcg((const K *)from + begin + place);
    }

    __device__ void load_values(const void *from, bool implicit, uint32_t begin, uint32_t length) {
        if constexpr (VALUE_BYTES != 0) {
#pragma unroll 9
            for (uint32_t place = threadIdx.x; place < length; place += THREADS)
                shared.values[half][place] = implicit ? (V)(begin + place) : __ldcg((const V *)from + begin + place);
        }
    }

    // Copies the input to the output where it is in order already.
    __device__ void copy_through(uint32_t begin, uint32_t length) {
        const bool keys = job.keys_out != nullptr && job.keys_out != job.keys_in;
        const bool values = VALUE_BYTES != 0 && (job.implicit || job.values_out != job.values_in);
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            if (keys) ((K *)job.keys_out)[begin + place] = shared.keys[half][place];
            if (values) ((V *)job.values_out)[begin + place] = shared.values[half][place];
        }
    }

    // Sorts the tile by the digit of `bits` bits that digit_at(key) gives: the items move to the other half. Leaves
    // digit_start. Ends with a barrier. `between` runs as soon as digit_start is there.
    template <typename F, typename G>
    __device__ void sort_tile(const tile_rows &tile, int bits, F digit_at, G between) {
        radix_counter *counters = shared.counters[threadIdx.x >> 5];
        const uint32_t below = lanemask_lt(), above = lanemask_gt(), last = (1u << bits) - 1;
        const K *keys = shared.keys[half];
        clear_digits(counters);
#pragma unroll 1
        for (uint32_t row = 0; row < tile.rows; row += GROUP) {
            uint32_t digits[GROUP], same[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                const uint32_t place = tile.place(row + i);
                digits[i] = row + i < tile.rows && place < tile.length ? digit_at(keys[place]) : last;
            }
            match_rows(digits, bits, same);
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                if (row + i >= tile.rows) break;
                volatile radix_counter *counter = counters + digits[i];
                const uint32_t place = *counter + __popc(same[i] & below);
                const bool highest = (same[i] & above) == 0;
                __syncwarp();
                if (highest) *counter = (radix_counter)(place + 1);
                __syncwarp();
                shared.places[tile.place(row + i)] = (uint16_t)place;
            }
        }
        __syncthreads();
        place_in_block(shared);
        __syncthreads();
        between();
#pragma unroll 3
        for (uint32_t row = 0; row < tile.rows; ++row) {
            const uint32_t place = tile.place(row);
            if (place >= tile.length) break;
            const K raw = keys[place];
            const uint32_t target = shared.places[place] + counters[digit_at(raw)];
            shared.keys[half ^ 1][target] = raw;
            if (VALUE_BYTES != 0) shared.values[half ^ 1][target] = shared.values[half][place];
        }
        half ^= 1;
        __syncthreads();
    }

    // Publishes the block's count of each of `digits` digits.
    __device__ void publish_counts(psvi_radix_chunks_counts *counts, uint32_t digits, uint32_t length) {
        if (threadIdx.x >= digits) return;
        // Items that are not there lie behind the others, in the last digit.
        const uint32_t own =
            min(shared.digit_start[threadIdx.x + 1], length) - min(shared.digit_start[threadIdx.x], length);
        store_relaxed(&counts->of[threadIdx.x][blockIdx.x], (uint16_t)(own | PRESENT));
    }

    // The first `blocks` of the eight counts have been published.
    __device__ static __forceinline__ bool all_present(const uint4 &words, uint32_t blocks) {
        const uint32_t flags = PRESENT | PRESENT << 16;
        auto missing = [&](uint32_t word, uint32_t from) {
            uint32_t wanted = blocks >= from + 2 ? flags : blocks == from + 1 ? PRESENT : 0;
            return ~word & wanted;
        };
        return (missing(words.x, 0) | missing(words.y, 2) | missing(words.z, 4) | missing(words.w, 6)) == 0;
    }

    // Leaves in shared.before the sum of the counts of the blocks before this one, in shared.whole that of all (where
    // wanted). The counts of a digit lie together, so a warp reads them all at once, eight to a lane. Ends with a
    // barrier.
    __device__ void sum_blocks(psvi_radix_chunks_counts *counts, uint32_t digits, bool all) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        const uint32_t last = all ? gridDim.x : blockIdx.x, first_block = 8 * lane;
        uint32_t mask[4]; // of the counts of blocks before this one
#pragma unroll
        for (int pair = 0; pair < 4; ++pair)
            mask[pair] = (first_block + 2 * pair < blockIdx.x ? PRESENT - 1 : 0) |
                         (first_block + 2 * pair + 1 < blockIdx.x ? (PRESENT - 1) << 16 : 0);
        for (uint32_t digit = warp; digit < digits; digit += BATCH * WARPS) {
            uint4 words[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                if (digit + i * WARPS < digits && first_block < last)
                    words[i] = load_relaxed(&counts->of[digit + i * WARPS][first_block]);
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                if (digit + i * WARPS >= digits) break;
                uint32_t before = 0, whole = 0;
                if (first_block < last) {
                    while (!all_present(words[i], last - first_block))
                        words[i] = load_relaxed(&counts->of[digit + i * WARPS][first_block]);
                    const uint32_t pairs[4] = {words[i].x, words[i].y, words[i].z, words[i].w};
#pragma unroll
                    for (int pair = 0; pair < 4; ++pair) {
                        const uint32_t counts_before = pairs[pair] & mask[pair];
                        before += (counts_before & 0xffff) + (counts_before >> 16);
                        if (all) whole += (pairs[pair] & PRESENT - 1) + (pairs[pair] >> 16 & PRESENT - 1);
                    }
                }
                before = psvd_reduce_add(before);
                if (all) whole = psvd_reduce_add(whole);
                if (lane == 0) {
                    shared.before[digit + i * WARPS] = before;
                    if (all) shared.whole[digit + i * WARPS] = whole;
                }
            }
        }
        __syncthreads();
    }

    __device__ void forget_counts(psvi_radix_chunks_counts *counts, uint32_t digits) {
        if (threadIdx.x < digits) counts->of[threadIdx.x][blockIdx.x] = 0;
    }

    // Writes the items, which lie in shared memory digit by digit, to digit_target[digit] + place: for the last time,
    // where `last` says so.
    template <typename F>
    __device__ void scatter(void *keys_to, void *values_to, uint32_t length, bool last, F digit_at) {
        const splitter_marks marks(state->splitters, gridDim.x, 0, last ? count : 0);
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = shared.keys[half][place];
            const uint32_t target = shared.digit_target[digit_at(raw)] + place;
            if (keys_to != nullptr) ((K *)keys_to)[target] = raw;
            if (VALUE_BYTES != 0) ((V *)values_to)[target] = shared.values[half][place];
            if (last) marks.offer(target, part(raw));
        }
    }
};

// Cuts the keys' range, of all blocks, into chunks.
template <int KIND, int VALUE_BYTES> struct chunk_cut : chunk_tile<KIND, VALUE_BYTES> {
    using base = chunk_tile<KIND, VALUE_BYTES>;
    using base::base;
    using base::job, base::state, base::meeting, base::barrier, base::shared, base::count, base::half, base::TILE,
        base::part;
    using typename base::K;

    // Zero is the neutral element of all accumulators, so that a range is ready when it is cleared: the least key and
    // the bits that are one in all keys are kept inverted.
    __device__ void reduce_range(K inverted, K greatest, K zeros, K any, bool descent) {
        const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        inverted = psvd_reduce_max(inverted);
        greatest = psvd_reduce_max(greatest);
        zeros = psvd_reduce_or(zeros);
        any = psvd_reduce_or(any);
        if (lane == 0) {
            shared.reduce[0][warp] = inverted;
            shared.reduce[1][warp] = greatest;
            shared.reduce[2][warp] = zeros;
            shared.reduce[3][warp] = any;
        }
        const int descents = __syncthreads_or(descent);
        if (warp < 4) {
            const K mine = lane < WARPS ? (K)shared.reduce[warp][lane] : (K)0;
            const K sum = warp < 2 ? psvd_reduce_max(mine) : psvd_reduce_or(mine);
            psvi_radix_chunks_range *range = &meeting->range;
            if (lane == 0) {
                if (warp < 2)
                    atomicMax((unsigned long long *)&range->words[warp], (unsigned long long)sum);
                else
                    atomicOr((unsigned long long *)&range->words[warp], (unsigned long long)sum);
                if (warp == 0 && descents) range->words[4] = 1;
            }
        }
    }

    // Adds the block's part of the range to that of this call and reads the whole after a grid barrier.
    __device__ key_range<K> find_range(uint32_t begin, uint32_t length) {
        K inverted = 0, greatest = 0, zeros = 0, any = 0; // zero is neutral for all
        bool descent = false;
#pragma unroll 2
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K own = part(shared.keys[half][place]);
            inverted = max(inverted, (K)~own);
            greatest = max(greatest, own);
            zeros |= (K)~own;
            any |= own;
            K next = own;
            if (place + 1 < length)
                next = part(shared.keys[half][place + 1]);
            else if (begin + length < count)
                next = part(__ldcg((const K *)job.keys_in + begin + length));
            descent |= next < own;
        }
        reduce_range(inverted, greatest, zeros, any, descent);
        barrier.wait();
        if (threadIdx.x < 5) shared.range[threadIdx.x] = __ldcg(&meeting->range.words[threadIdx.x]);
        __syncthreads();
        key_range<K> whole;
        whole.least = (K)~shared.range[0];
        whole.greatest = (K)shared.range[1];
        whole.varying = (K)(shared.range[2] & shared.range[3]);
        whole.sorted = shared.range[4] == 0;
        return whole;
    }

    // Counts the input in bins of the key range, and cuts the bins into chunks of about `quota` items. False when a
    // chunk would not fit in a block.
    __device__ bool cut_chunks(const key_range<K> &range, uint32_t shift, uint32_t length) {
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS)
            shared.bins[bin] = 0;
        __syncthreads();
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS)
            atomicAdd(&shared.bins[(uint32_t)((K)(part(shared.keys[half][place]) - range.least) >> shift)], 1u);
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS)
            if (shared.bins[bin] != 0) atomicAdd(&state->bins[bin], shared.bins[bin]);
        barrier.wait();

        static_assert(BINS == 2 * THREADS, "two bins for each thread");
        const uint2 own = __ldcg((const uint2 *)state->bins + threadIdx.x);
        if (threadIdx.x == 0) {
            shared.largest_chunk = 0;
            shared.chunk_begin = shared.chunk_end = 0;
        }
        const uint32_t before = block_scan(own.x + own.y, shared.sums);
        const uint32_t quota = (count + gridDim.x - 1) / gridDim.x;
        reinterpret_cast<uint2 *>(shared.bins)[threadIdx.x] = make_uint2(before, before + own.x);
        reinterpret_cast<uchar2 *>(shared.chunk_of_bin)[threadIdx.x] =
            make_uchar2(before / quota, (before + own.x) / quota);
        uint32_t *chunk_begin = shared.digit_target; // a chunk's first place is where its first bin begins
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
            uint32_t mine = shared.chunk_of_bin[bin];
            bool first = bin == 0 || shared.chunk_of_bin[bin - 1] != mine;
            bool last = bin == BINS - 1 || shared.chunk_of_bin[bin + 1] != mine;
            if (first) chunk_begin[mine] = shared.bins[bin];
            if (first && mine == blockIdx.x) {
                shared.chunk_begin = shared.bins[bin];
                shared.chunk_first_bin = bin;
            }
            if (last && mine == blockIdx.x) {
                shared.chunk_end = bin == BINS - 1 ? count : shared.bins[bin + 1];
                shared.chunk_last_bin = bin;
            }
        }
        __syncthreads();
        for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
            uint32_t mine = shared.chunk_of_bin[bin];
            bool last = bin == BINS - 1 || shared.chunk_of_bin[bin + 1] != mine;
            if (last)
                atomicMax(&shared.largest_chunk, (bin == BINS - 1 ? count : shared.bins[bin + 1]) - chunk_begin[mine]);
        }
        __syncthreads();
        return shared.largest_chunk <= (uint32_t)TILE;
    }
};

// Sorts one chunk for each block.
template <int KIND, int VALUE_BYTES> struct chunk_on_chip : chunk_cut<KIND, VALUE_BYTES> {
    using base = chunk_cut<KIND, VALUE_BYTES>;
    using base::base;
    using base::job, base::state, base::barrier, base::shared, base::count, base::half, base::passes, base::part,
        base::load_keys, base::load_values, base::sort_tile, base::publish_counts, base::sum_blocks,
        base::forget_counts, base::scatter;
    using typename base::K;
    using typename base::V;

    // Sorts the chunk in one step where its keys are spread well. Items go by the leading FINE_BITS bits in any order.
    // Within each of these small bins every item is compared with every other (ties by place, so stable). False, with
    // nothing changed, when a bin is too full for this.
    __device__ bool sort_by_bins(uint32_t begin, uint32_t length, K base, int bits) {
        const int shift = bits > FINE_BITS ? bits - FINE_BITS : 0;
        auto bin_of = [&](K raw) -> uint32_t { return (uint32_t)((K)(part(raw) - base) >> shift); };
        uint32_t *pairs = reinterpret_cast<uint32_t *>(shared.fine); // two bins of 16 bits in a word
        static_assert(FINE_BINS == 8 * THREADS, "eight bins for each thread");
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = make_uint4(0, 0, 0, 0);
        __syncthreads();
        const K *keys = shared.keys[half];
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const uint32_t bin = bin_of(keys[place]), high = 16 * (bin & 1);
            shared.places[place] = (uint16_t)(atomicAdd(&pairs[bin / 2], 1u << high) >> high);
        }
        __syncthreads();
        const uint4 counts = reinterpret_cast<uint4 *>(pairs)[threadIdx.x];
        const uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
        uint32_t own = 0;
        bool full = false;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            own += (words[i] & 0xffff) + (words[i] >> 16);
            full |= (words[i] & 0xffff) > PSVI_RADIX_CHUNKS_FULL_BIN || words[i] >> 16 > PSVI_RADIX_CHUNKS_FULL_BIN;
        }
        if (__syncthreads_or(full)) return false;
        reinterpret_cast<uint4 *>(pairs)[threadIdx.x] = first_places(words, block_scan(own, shared.sums));
        __syncthreads();
        K *binned = shared.keys[half ^ 1];
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = keys[place];
            const uint32_t target = shared.fine[bin_of(raw)] + shared.places[place];
            binned[target] = raw;
            shared.sources[target] = (uint16_t)place;
        }
        __syncthreads();
        const splitter_marks marks(state->splitters, gridDim.x, begin, count);
#pragma unroll 3
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            const K raw = binned[place], mine = part(raw);
            const uint32_t source = shared.sources[place], bin = bin_of(raw);
            const uint32_t first = shared.fine[bin],
                           last = bin + 1 < (uint32_t)FINE_BINS ? shared.fine[bin + 1] : length;
            uint32_t target = first;
            for (uint32_t other = first; other < last; ++other) {
                const K theirs = part(binned[other]);
                target += theirs < mine || (theirs == mine && shared.sources[other] < source);
            }
            if (job.keys_out != nullptr) ((K *)job.keys_out)[begin + target] = raw;
            if (VALUE_BYTES != 0) ((V *)job.values_out)[begin + target] = shared.values[half][source];
            marks.offer(target, mine);
        }
        return true;
    }

    // Sorts the chunk that begins at `begin` by the low `bits` of a key less `base`.
    __device__ void sort_on_chip(uint32_t begin, uint32_t length, K base, int bits) {
        const tile_rows tile(length);
        load_keys(job.keys_spare[0], begin, length);
        load_values(job.values_spare[0], false, begin, length);
        __syncthreads();

        if (bits > LOCAL_BITS && sort_by_bins(begin, length, base, bits)) return;
        const splitter_marks marks(state->splitters, gridDim.x, begin, count);
        const int passes = (bits + LOCAL_BITS - 1) / LOCAL_BITS;
        int shift = 0;
#pragma unroll 1
        for (int pass = 0; pass < passes; ++pass) {
            const int width = (bits - shift + passes - pass - 1) / (passes - pass);
            const uint32_t mask = (1u << width) - 1;
            sort_tile(
                tile, width, [&](K raw) -> uint32_t { return (uint32_t)((K)(part(raw) - base) >> shift) & mask; },
                [] {});
            shift += width;
        }
#pragma unroll 4
        for (uint32_t place = threadIdx.x; place < length; place += THREADS) {
            if (job.keys_out != nullptr) ((K *)job.keys_out)[begin + place] = shared.keys[half][place];
            if (VALUE_BYTES != 0) ((V *)job.values_out)[begin + place] = shared.values[half][place];
            marks.offer(place, part(shared.keys[half][place]));
        }
    }

    // One chunk for each block: to the chunk's block, then on chip by the bits in which its keys differ.
    __device__ void sort_by_chunks(const key_range<K> &range, uint32_t shift, const tile_rows &tile) {
        const uint32_t chunk_begin = threadIdx.x < PSVI_RADIX_DIGITS ? shared.digit_target[threadIdx.x] : 0;
        auto chunk_of = [&](K raw) -> uint32_t {
            return shared.chunk_of_bin[(uint32_t)((K)(part(raw) - range.least) >> shift)];
        };
        __syncthreads(); // the bins' memory becomes the counters
        psvi_radix_chunks_counts *counts = &state->counts[0];
        sort_tile(tile, 8, chunk_of, [&] { publish_counts(counts, gridDim.x, tile.length); });
        sum_blocks(counts, gridDim.x, false);
        if (threadIdx.x < gridDim.x)
            shared.digit_target[threadIdx.x] =
                chunk_begin + shared.before[threadIdx.x] - shared.digit_start[threadIdx.x];
        __syncthreads();
        scatter(job.keys_spare[0], job.values_spare[0], tile.length, false, chunk_of);
        barrier.wait();

        forget_counts(counts, gridDim.x);
        const uint32_t own = shared.chunk_begin, length = shared.chunk_end - own;
        if (length == 0) return;
        const K base = range.least + ((K)shared.chunk_first_bin << shift);
        const K span = ((K)(shared.chunk_last_bin - shared.chunk_first_bin + 1) << shift) - 1;
        sort_on_chip(own, length, base, bits_of<K>(span));
    }
};

// Sorts without splitters.
template <int KIND, int VALUE_BYTES> struct chunks_sort : chunk_on_chip<KIND, VALUE_BYTES> {
    using base = chunk_on_chip<KIND, VALUE_BYTES>;
    using base::base;
    using base::job, base::state, base::barrier, base::shared, base::count, base::passes, base::uneven, base::part,
        base::load_keys, base::load_values, base::copy_through, base::sort_tile, base::publish_counts, base::sum_blocks,
        base::forget_counts, base::scatter, base::find_range, base::cut_chunks, base::sort_by_chunks;
    using typename base::K;

    // Digit by digit from the least significant, all blocks together; the items of a pass rest on chip while others
    // write, so one buffer is enough.
    __device__ uint32_t sort_by_digits(const key_range<K> &range, uint32_t begin, const tile_rows &tile) {
        const void *keys_from = job.keys_in, *values_from = job.values_in;
        K left = range.varying;
        uint32_t pass = 0;
#pragma unroll 1
        for (; left != 0; ++pass) {
            const int shift = sizeof(K) == 8 ? __ffsll((long long)left) - 1 : __ffs((int)left) - 1;
            left &= ~((K)0xff << shift);
            if (pass > 0) {
                load_keys(keys_from, begin, tile.length);
                load_values(values_from, false, begin, tile.length);
            }
            auto digit = [&](K raw) -> uint32_t { return (uint32_t)(part(raw) >> shift) & 0xff; };
            __syncthreads();
            psvi_radix_chunks_counts *counts = &state->counts[pass & 1];
            sort_tile(tile, 8, digit, [&] { publish_counts(counts, PSVI_RADIX_DIGITS, tile.length); });
            sum_blocks(counts, PSVI_RADIX_DIGITS, true);
            const bool is_digit = threadIdx.x < PSVI_RADIX_DIGITS;
            const uint32_t first = block_scan(is_digit ? shared.whole[threadIdx.x] : 0, shared.sums);
            if (is_digit)
                shared.digit_target[threadIdx.x] = first + shared.before[threadIdx.x] - shared.digit_start[threadIdx.x];
            __syncthreads();
            void *keys_to = left == 0 ? job.keys_out : job.keys_spare[0];
            void *values_to = left == 0 ? job.values_out : job.values_spare[0];
            if (keys_to == keys_from || values_to == values_from) barrier.wait();
            scatter(keys_to, values_to, tile.length, left == 0, digit);
            barrier.wait();
            forget_counts(counts, PSVI_RADIX_DIGITS);
            keys_from = keys_to;
            values_from = values_to;
        }
        return pass;
    }

    // Sorts the share, which lies in shared memory, without splitters. `digits`: also where it fits in no chunks; else
    // NONE, and nothing is sorted. `crowds`: it does not.
    __device__ psvi_radix_route run(uint32_t begin, uint32_t length, bool digits, bool crowds) {
        const tile_rows tile(length);
        const key_range<K> range = find_range(begin, tile.length);
        if (count < 2 || (range.sorted && job.order_check) || range.varying == 0) {
            copy_through(begin, tile.length);
            passes = 0;
            return PSVI_RADIX_IN_ORDER;
        }
        const int bits = bits_of<K>((K)(range.greatest - range.least));
        const uint32_t shift = bits > PSVI_RADIX_CHUNKS_BIN_BITS ? bits - PSVI_RADIX_CHUNKS_BIN_BITS : 0;
        uneven = crowds || !cut_chunks(range, shift, tile.length);
        if (!uneven)
            sort_by_chunks(range, shift, tile);
        else if (digits)
            passes = sort_by_digits(range, begin, tile);
        else
            barrier.wait();
        // All blocks have read the bins: a grid barrier has passed since.
        for (int bin = blockIdx.x * THREADS + threadIdx.x; bin < BINS; bin += gridDim.x * THREADS)
            state->bins[bin] = 0;
        return !uneven || digits ? PSVI_RADIX_CHUNKS : PSVI_RADIX_NONE;
    }
};

// One thread. Writes what this call leaves for the next one, and what the host is told. `route`: NONE where nothing was
// sorted. `tried`: splitters were used; `misfit`: with them, some chunk did not fit in its region; `uneven`: nor with a
// histogram of the keys' range.
[[maybe_unused]] __device__ __forceinline__ void leave_memory(const psvi_radix_job &job, psvi_radix_chunks_state *state,
                                                              const psvi_radix_chunks_call &call,
                                                              const psvi_radix_chunks_memory &known,
                                                              psvi_radix_route route, uint32_t passes, bool tried,
                                                              bool misfit, bool uneven, bool crowds) {
    psvi_radix_chunks_memory next = known;                 // with the arrivals of this call
    if (route != PSVI_RADIX_NONE || !crowds) ++next.calls; // else the blocks have not met
    if (route == PSVI_RADIX_IN_ORDER)
        next.remembered = 0; // such input may come again, and the other way finds it out sooner
    else if (route != PSVI_RADIX_NONE && splitter_marks::worth_it(gridDim.x, (uint32_t)job_count(job)))
        next.remembered = 1;
    if (tried && !misfit) {
        psvi_backoff_succeeded(&next.backoff);
        next.failing = 0;
    } else if (tried) {
        next.failing = uneven || next.backoff.wait != 0;
        psvi_backoff_failed(&next.backoff, 1, PSVI_RADIX_WAIT_MOST);
    } else {
        next.failing |= crowds;
        (void)psvi_backoff_waits(&next.backoff);
    }
    // `try_again` is what the host has been told: it may be 1 for crowded chunks.
    if (next.failing != known.failing || next.failing != call.try_again)
        *(volatile uint32_t *)call.failing = next.failing;
    if (route == PSVI_RADIX_IN_ORDER || (tried && !misfit))
        next.served = min(known.served + 1, (uint32_t)PSVI_RADIX_CHUNKS_SERVED);
    else if (uneven || misfit)
        next.served = 0;
    if (next.served != known.served) *(volatile uint32_t *)call.served = next.served;
    tell_order(job, route == PSVI_RADIX_IN_ORDER ? PSVI_RADIX_ORDER_SORTED : PSVI_RADIX_ORDER_OTHER);
    const uint32_t veto = route == PSVI_RADIX_IN_ORDER    ? PSVI_RADIX_VETO_NONE
                          : crowds                        ? PSVI_RADIX_VETO_CROWDS
                          : uneven                        ? PSVI_RADIX_VETO_UNEVEN
                          : route == PSVI_RADIX_SPLITTERS ? job.veto
                          : tried                         ? PSVI_RADIX_VETO_MISFIT
                          : known.remembered              ? PSVI_RADIX_VETO_WAITING
                                                          : PSVI_RADIX_VETO_NO_SPLITTERS;
    job.control->done = route != PSVI_RADIX_NONE;
    job.control->veto = veto;
    tell_outcome(job, route, veto, passes);
    state->memory = next;
}

// In: keys and values of the job, at most gridDim.x tiles. Out: sorted. Every block keeps one tile; blocks meet at grid
// barriers (1 with splitters, 3 without, more for digits). Moves 2 reads and 2 writes of
// each item, through L2.
template <int KIND, int VALUE_BYTES>
__device__ __forceinline__ void sort_in_chunks(const psvi_radix_job &job, psvi_radix_chunks_state *state,
                                               const psvi_radix_chunks_call &call) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ psvi_radix_chunks_memory known;
    auto &kept = *reinterpret_cast<splitter_shared<KIND, VALUE_BYTES, 256> *>(memory);
    auto &shared = *reinterpret_cast<chunks_shared<KIND, VALUE_BYTES> *>(memory);
    const uint32_t count = (uint32_t)job_count(job);
    const uint32_t share = max((count + gridDim.x - 1) / gridDim.x, 256u);
    const uint32_t begin = min(blockIdx.x * share, count), length = min(share, count - begin);
    bool tried = false, misfit = false, uneven = false;
    psvi_radix_route route = PSVI_RADIX_SPLITTERS;
    uint32_t passes = 1;
    splitter_sort<KIND, VALUE_BYTES, 256> usual(job, call, state->splitters, kept, gridDim.x, call.capacity, count);
    auto *samples = reinterpret_cast<typename radix_key<KIND>::type *>(kept.items);
    begin_look(job, count, samples);
    const auto splitter = usual.load_splitter();
    usual.load(begin, length);
    if (threadIdx.x == 0) known = state->memory;
    usual.publish_splitter(splitter);
    const bool crowds = has_crowds(count, samples);
    if (crowds && call.resident) { // which sorts such keys faster
        if (blockIdx.x == 0 && threadIdx.x == 0)
            leave_memory(job, state, call, known, PSVI_RADIX_NONE, 0, false, false, true, true);
        return;
    }
    grid_barrier barrier = {&state->arrivals, known.arrivals};
    psvi_radix_chunks_meeting *meeting = &state->meetings[known.calls & 1];
    if (!crowds && known.remembered && (known.backoff.left == 0 || call.try_again)) {
        tried = true;
        usual.send(meeting);
        barrier.wait();
        usual.gather_expected(blockIdx.x);
        const splitter_outcome met = usual.meet(meeting);
        misfit = met == SPLITTERS_OVERFLOW;
        if (met == SPLITTERS_IN_ORDER) {
            usual.copy_through();
            route = PSVI_RADIX_IN_ORDER;
            passes = 0;
        }
        if (met == SPLITTERS_SORTED && kept.length != 0) usual.sort_chunk(blockIdx.x, kept.begin, kept.length, [] {});
        if (usual.crowded && threadIdx.x == 0) *(volatile uint32_t *)call.failing = 1;
    }
    if (!tried || misfit) {
        chunks_sort<KIND, VALUE_BYTES> sort(job, state, meeting, barrier, shared, count);
        __syncthreads(); // both ways use the same shared memory
        if (!tried) {
            usual.leave(shared.keys[0], shared.values[0]);
        } else {
            sort.load_keys(job.keys_in, begin, length);
            sort.load_values(job.values_in, job.implicit, begin, length);
        }
        __syncthreads();
        route = sort.run(begin, length, !call.resident, crowds);
        passes = sort.passes;
        uneven = sort.uneven;
    }
    if (blockIdx.x != 0) return;
    // All blocks have come to a barrier, so they know what this call has to know.
    const uint32_t calls = known.calls;
    uint32_t *clear = reinterpret_cast<uint32_t *>(&state->meetings[~calls & 1]);
    for (uint32_t word = threadIdx.x; word < sizeof(psvi_radix_chunks_meeting) / sizeof(uint32_t); word += THREADS)
        clear[word] = 0;
    if (threadIdx.x == 0) leave_memory(job, state, call, known, route, passes, tried, misfit, uneven, crowds);
}

template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, 1)
    psvk_radix_chunks(const psvi_radix_job job, psvi_radix_chunks_state *state, const psvi_radix_chunks_call call) {
    if constexpr (code_holds<KIND>(PSVI_RADIX_CHUNK_KB * 1024)) sort_in_chunks<KIND, VALUE_BYTES>(job, state, call);
}

// One block.
template <int KIND>
__global__ void psvk_radix_chunks_remember(const psvi_radix_job job, psvi_radix_chunks_state *state) {
    const uint32_t count = (uint32_t)job_count(job), chunks = job.multiprocessors;
    const psvi_radix_outcome outcome = job.control->outcome;
    if (outcome.route != PSVI_RADIX_RESIDENT || !splitter_marks::worth_it(chunks, count)) return;
    if (outcome.veto == PSVI_RADIX_VETO_CROWDS) return; // the splitters of other keys serve sooner
    take_splitters<KIND>(job, state->splitters, chunks, count);
    if (threadIdx.x == 0) state->memory.remembered = 1;
}

template <int KIND, int VALUE_BYTES>
cudaError_t launch(const psvi_radix_job *job, psvi_radix_chunks_state *state, const psvi_radix_chunks_call *call,
                   cudaStream_t stream) {
    auto kernel = psvk_radix_chunks<KIND, VALUE_BYTES>;
    constexpr size_t present = sizeof(chunks_shared<KIND, VALUE_BYTES>),
                     usual = sizeof(splitter_shared<KIND, VALUE_BYTES, 256>);
    constexpr int bytes = (int)(present > usual ? present : usual);
    static_assert(bytes + sizeof(psvi_radix_chunks_memory) <= PSVI_RADIX_CHUNK_KB * 1024, "shared memory of a block");
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    psvi_radix_job copy = *job;
    psvi_radix_chunks_call own = *call;
    void *arguments[] = {&copy, &state, &own};
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(job->multiprocessors), dim3(THREADS), arguments,
                                       bytes, stream);
}

} // namespace

extern "C" cudaError_t psvi_radix_chunks(const psvi_radix_job *job, psvi_radix_chunks_state *state,
                                         const psvi_radix_chunks_call *call, cudaStream_t stream) {
    return with_types(job, [&](auto kind, auto bytes) {
        return launch<decltype(kind)::value, decltype(bytes)::value>(job, state, call, stream);
    });
}

extern "C" cudaError_t psvi_radix_chunks_remember(const psvi_radix_job *job, psvi_radix_chunks_state *state,
                                                  cudaStream_t stream) {
    return with_kind(job, [&](auto kind) {
        psvk_radix_chunks_remember<decltype(kind)::value><<<1, 256, 0, stream>>>(*job, state);
        return cudaGetLastError();
    });
}
