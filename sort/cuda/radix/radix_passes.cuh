// Route PASSES: behind the histograms of all digits and the plan (radix_histogram.cu), each pass
// reads and writes every item once, and the tiles' counts are chained by decoupled look-back. After Adinets & Merrill,
// «Onesweep» (2022), and Merrill & Garland, «Single-pass parallel prefix scan» (2016). Compiled twice, in
// radix_passes.cu with full tiles and in radix_passes_compact.cu with compact ones, which define
// PSVI_RADIX_PASSES_THREADS.
#ifndef PAIRSIEVE_RADIX_PASSES_CUH
#define PAIRSIEVE_RADIX_PASSES_CUH

#include "../../../core/cuda/early_launch.cuh"
#include "radix_copy.cuh"
#include "radix_device.cuh"
#include "radix_histogram.h"
#include "radix_plan.cuh"
#include "radix_windows.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_PASSES_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int BLOCKS = THREADS == PSVI_RADIX_PASSES_FULL_THREADS ? 1 : 2; // of a multiprocessor
constexpr int LOOK = PSVI_RADIX_LOOK_WIDTH;

// Items of a thread, by the bytes of a key and its value together.
constexpr int tile_rows_of(int pair_bytes) {
    return THREADS == PSVI_RADIX_PASSES_FULL_THREADS ? PSVI_RADIX_PASSES_ITEMS(pair_bytes)
                                                     : PSVI_RADIX_PASSES_COMPACT_ITEMS(pair_bytes);
}

// What a block has to have for these passes to be chosen at all (radix_route.c).
constexpr uint32_t PASSES_BYTES = THREADS == PSVI_RADIX_PASSES_FULL_THREADS ? PSVI_RADIX_ROOMY_KB * 1024 : 0;

// A word of the chained scan: two bits say what the other 30 hold.
constexpr uint32_t STATE_TILE = 1u << 30;  // the tile's own count
constexpr uint32_t STATE_UP_TO = 2u << 30; // the count of all tiles up to this one
constexpr uint32_t STATE_COUNT = STATE_TILE - 1;

// Count of a digit in all tiles before `tile`. `states` points to the digit's column. Several predecessors are read at
// once, so that a long walk costs few round trips.
template <int WIDTH> __device__ __forceinline__ uint32_t look_back(const uint32_t *states, uint32_t tile) {
    uint32_t sum = 0;
    // `row`: one past the row that is added next. Rows not written yet are read again, with those before them.
    for (uint32_t row = tile;;) {
        uint32_t words[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            words[i] = row > i ? load_word(states + (row - 1 - i) * PSVI_RADIX_DIGITS) : STATE_UP_TO;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            if ((words[i] & ~STATE_COUNT) == 0) break;
            sum += words[i] & STATE_COUNT;
            if (words[i] & STATE_UP_TO) return sum;
            --row;
        }
    }
}

// Portion of the input that one launch of a pass sorts.
template <int TILE> struct portion_range {
    static constexpr uint64_t ITEMS = PSVI_RADIX_PORTION_ITEMS / TILE * TILE;
    static __host__ __device__ uint32_t portions(uint64_t count) {
        return count == 0 ? 1 : (uint32_t)((count + ITEMS - 1) / ITEMS);
    }
    static __host__ __device__ uint32_t tiles(uint64_t count, uint32_t portion) {
        uint64_t begin = portion * ITEMS;
        if (begin >= count) return 0;
        uint64_t left = count - begin < ITEMS ? count - begin : ITEMS;
        return (uint32_t)((left + TILE - 1) / TILE);
    }
};

} // namespace

#ifdef PSVI_RADIX_PASSES_HAVE_ASYNC
#include "radix_passes_async.cuh"
#endif

namespace {

// A key and its value in one word, where they are of one size.
template <typename K> struct packed_pair;
template <> struct packed_pair<uint32_t> { using type = uint2; };
template <> struct packed_pair<uint64_t> { using type = ulonglong2; };

template <int PAIR_BYTES> constexpr uint32_t pass_shared_bytes() {
    constexpr uint32_t tile = (THREADS * tile_rows_of(PAIR_BYTES)) * PAIR_BYTES, tables = WARPS * RANK_TABLE_BYTES;
    return (tile > tables ? tile : tables) + WARPS * PSVI_RADIX_DIGITS * sizeof(radix_counter) +
           PSVI_RADIX_DIGITS * sizeof(uint32_t);
}
static_assert(pass_shared_bytes<4>() <= PASSES_BYTES || PASSES_BYTES == 0, "tiles of keys fit");
static_assert(pass_shared_bytes<8>() <= PASSES_BYTES || PASSES_BYTES == 0, "tiles of pairs fit");
static_assert(pass_shared_bytes<16>() <= PASSES_BYTES || PASSES_BYTES == 0, "tiles of the largest pairs fit");

// The items of a tile in registers, and on their way through shared memory.
template <int KIND, int VALUE_BYTES> struct tile_items {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    using pair = typename packed_pair<K>::type;
    static constexpr bool PACKED = VALUE_BYTES == sizeof(K);
    static constexpr int PAIR_BYTES = sizeof(K) + VALUE_BYTES;
    static constexpr int ITEMS = tile_rows_of(PAIR_BYTES);
    static constexpr uint32_t TILE = THREADS * ITEMS;
    K keys[ITEMS];
    V values[VALUE_BYTES != 0 ? ITEMS : 1];

    // `own` is the lane's first item in the tile, `first` the tile's in the input.
    __device__ __forceinline__ void load(const psvi_radix_pass &pass, bool implicit, uint64_t first, uint32_t own,
                                         uint32_t valid) {
        if (PACKED && !pass.first) {
            const pair *pairs = global(static_cast<const pair *>(pass.keys_in)) + first + own;
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                pair item = own + i * 32 < valid ? pairs[i * 32] : pair{0, 0};
                keys[i] = item.x;
                values[i] = item.y;
            }
            return;
        }
        const K *keys_in = global(static_cast<const K *>(pass.keys_in)) + first + own;
        const V *values_in = global(static_cast<const V *>(pass.values_in)) + first + own;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            keys[i] = own + i * 32 < valid ? keys_in[i * 32] : 0;
        if constexpr (VALUE_BYTES != 0) {
            if (implicit && pass.first) {
#pragma unroll
                for (int i = 0; i < ITEMS; ++i)
                    values[i] = (V)(first + own + i * 32);
            } else {
#pragma unroll
                for (int i = 0; i < ITEMS; ++i)
                    values[i] = own + i * 32 < valid ? values_in[i * 32] : 0;
            }
        }
    }

    // Writes COUNT items of the ordered tile, from `place` on and a block's width apart, to where their digits go.
    template <int COUNT>
    __device__ __forceinline__ static void write(const psvi_radix_pass &pass, const void *tile, const uint32_t *goal,
                                                 uint32_t place, uint32_t valid, const psvi_key_order &order,
                                                 digit_field field) {
        K moved[COUNT];
        V moved_values[COUNT];
        uint32_t targets[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if constexpr (PACKED) {
                pair item = static_cast<const pair *>(tile)[place + i * THREADS];
                moved[i] = item.x;
                moved_values[i] = item.y;
            } else {
                moved[i] = static_cast<const K *>(tile)[place + i * THREADS];
                if constexpr (VALUE_BYTES != 0)
                    moved_values[i] =
                        reinterpret_cast<const V *>(static_cast<const K *>(tile) + TILE)[place + i * THREADS];
            }
        }
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            targets[i] = goal[digit_of<KIND>(moved[i], order, field)] + place + i * THREADS;
        if constexpr (PACKED) {
            if (!pass.last) {
                pair *pairs_out = global(static_cast<pair *>(pass.keys_out));
#pragma unroll
                for (int i = 0; i < COUNT; ++i)
                    if (place + i * THREADS < valid) pairs_out[targets[i]] = pair{moved[i], moved_values[i]};
                return;
            }
        }
        if (pass.keys_out != nullptr) {
            K *keys_out = global(static_cast<K *>(pass.keys_out));
#pragma unroll
            for (int i = 0; i < COUNT; ++i)
                if (place + i * THREADS < valid) keys_out[targets[i]] = moved[i];
        }
        if constexpr (VALUE_BYTES != 0) {
            V *values_out = global(static_cast<V *>(pass.values_out));
#pragma unroll
            for (int i = 0; i < COUNT; ++i)
                if (place + i * THREADS < valid) values_out[targets[i]] = moved_values[i];
        }
    }

    // Brings a tile to L2 while the one before it is being sorted.
    __device__ __forceinline__ static void prefetch(const psvi_radix_pass &pass, uint64_t first, uint64_t count) {
        constexpr uint32_t LINE = 128;
        const bool packed = PACKED && !pass.first;
        const uint32_t key_bytes = packed ? PAIR_BYTES : sizeof(K);
        const char *keys_in = static_cast<const char *>(pass.keys_in) + first * key_bytes;
        const uint64_t left = count - first < TILE ? count - first : TILE;
        for (uint32_t at = threadIdx.x * LINE; at < left * key_bytes; at += THREADS * LINE)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(keys_in + at));
        if (VALUE_BYTES == 0 || packed || pass.values_in == nullptr) return;
        const char *values_in = static_cast<const char *>(pass.values_in) + first * VALUE_BYTES;
        for (uint32_t at = threadIdx.x * LINE; at < left * VALUE_BYTES; at += THREADS * LINE)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(values_in + at));
    }

    __device__ __forceinline__ void put(void *tile, uint32_t place, int i) const {
        if constexpr (PACKED) {
            static_cast<pair *>(tile)[place] = pair{keys[i], values[i]};
        } else {
            static_cast<K *>(tile)[place] = keys[i];
            if constexpr (VALUE_BYTES != 0) reinterpret_cast<V *>(static_cast<K *>(tile) + TILE)[place] = values[i];
        }
    }
};

// Publishes a tile's counts, two digits for each of the first 128 threads. Keeps what the look-back needs, where one
// thread serves one digit: a digit's first place in the tile, and its count from bit 16 on.
__device__ __forceinline__ void publish_tile(uint32_t *states, uint32_t tile, uint32_t counts, uint32_t starts,
                                             uint32_t *goal) {
    if (threadIdx.x >= PSVI_RADIX_DIGITS / 2) return;
    uint2 word = make_uint2(counts & 0xffff, counts >> 16);
    uint32_t kind = tile == 0 ? STATE_UP_TO : STATE_TILE;
    uint32_t *mine = states + tile * (uint64_t)PSVI_RADIX_DIGITS + 2 * threadIdx.x;
    store_word(mine, word.x | kind);
    store_word(mine + 1, word.y | kind);
    goal[2 * threadIdx.x] = (starts & 0xffff) | word.x << 16;
    goal[2 * threadIdx.x + 1] = starts >> 16 | word.y << 16;
}

// Finds out by look-back where the tile's digits go: `goal` gets where the item at place 0 of the tile would.
__device__ __forceinline__ void find_tile_goals(uint32_t *states, uint32_t tile, uint32_t tiles, uint32_t *bases,
                                                uint32_t *goal) {
    if (threadIdx.x >= PSVI_RADIX_DIGITS) return;
    uint32_t start = goal[threadIdx.x] & 0xffff, own = goal[threadIdx.x] >> 16;
    uint32_t before = tile == 0 ? 0 : look_back<LOOK>(states + threadIdx.x, tile);
    if (tile != 0) store_word(states + tile * (uint64_t)PSVI_RADIX_DIGITS + threadIdx.x, (before + own) | STATE_UP_TO);
    uint32_t base = bases[threadIdx.x];
    goal[threadIdx.x] = base + before - start;
    if (tile == tiles - 1) bases[PSVI_RADIX_DIGITS + threadIdx.x] = base + before + own;
}

// One digit pass over one portion. In: items of the plan's input. Out: the same items in the plan's output, ordered
// stably by the digit. Persistent blocks take tiles in order from a counter. A block ranks its tile in shared memory,
// publishes the digit counts and collects those of all tiles before it by look-back. Then it writes the items in runs
// of equal digits. Synchronization: words of `states`; no block waits for one that started later. Also clears the
// states that the next pass uses. Bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES>
__device__ __forceinline__ void run_pass(const psvi_radix_job &job, uint32_t slot, uint32_t portion, uint32_t portions,
                                         uint32_t state_rows) {
    using tile_type = tile_items<KIND, VALUE_BYTES>;
    constexpr int ITEMS = tile_type::ITEMS, MOVE = move_batch(ITEMS);
    constexpr uint32_t TILE = tile_type::TILE;
    using range = portion_range<TILE>;

    // The tables for ranking lie where the tile is assembled after it.
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr uint32_t shared_bytes = pass_shared_bytes<tile_type::PAIR_BYTES>();
    uint32_t *goal = reinterpret_cast<uint32_t *>(shared + shared_bytes - PSVI_RADIX_DIGITS * sizeof(uint32_t));
    radix_counter *counters = reinterpret_cast<radix_counter *>(goal) - WARPS * PSVI_RADIX_DIGITS;
    __shared__ uint32_t sums[4];
    __shared__ uint32_t next_tile;

    __shared__ psvi_radix_pass pass; // not in registers: they are scarce here
    let_next_kernel_come();
    wait_for_kernel_before();
    if (threadIdx.x == 0) pass = job.control->passes.plan[slot];
    __syncthreads();
    if (!pass.active) {
        if constexpr (sizeof(typename tile_type::K) == 4)
            if (slot == 0 && portion == 0 && job.control->windows.state == PSVI_RADIX_NEARLY_DONE)
                bring_back<VALUE_BYTES>(job, job_count(job));
        return;
    }
    if (only_copies(pass)) {
        if (portion == 0) copy_request<typename tile_type::K, typename tile_type::V>(job, pass, job_count(job));
        return;
    }
    const uint64_t count = job_count(job);
    const uint32_t tiles = range::tiles(count, portion);
    const digit_field field = pass.copy ? digit_field{0, 0} : field_of_slot(job.order, slot);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t launch = pass.number * portions + portion;
    uint32_t *states = job.states + (launch & 1) * (uint64_t)state_rows * PSVI_RADIX_DIGITS;
    uint32_t *other_states = job.states + (~launch & 1) * (uint64_t)state_rows * PSVI_RADIX_DIGITS;
    uint32_t *bases = job.control->passes.bases[slot][portion];
    const warp_ranker ranker = make_ranker(shared, counters);
    // A warp's items lie one after the other, so that their order is (warp, item, lane).
    const uint32_t own_first = warp * (32 * ITEMS) + lane;

    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
         i < (uint64_t)range::tiles(count, 0) * PSVI_RADIX_DIGITS; i += (uint64_t)gridDim.x * THREADS)
        other_states[i] = 0;

    uint32_t *tile_counter = &job.control->passes.tile_counter[slot][portion];
    if (threadIdx.x == 0) next_tile = atomicAdd(tile_counter, 1u);
    for (;;) {
        __syncthreads();
        const uint32_t tile = next_tile;
        if (tile >= tiles) return;
        const uint64_t first = portion * range::ITEMS + tile * (uint64_t)TILE;
        const uint32_t valid = (uint32_t)(count - first < TILE ? count - first : TILE);
        tile_type items;
        items.load(pass, job.implicit, first, own_first, valid);
        clear_counters(ranker);
        clear_tables(ranker);
        __syncwarp();

        uint32_t ranks[ITEMS / 2];
        auto digit_at = [&](int i) { return digit_of<KIND>(items.keys[i], job.order, field); };
        // Items past the end count as the last digit: they come last, and are not written.
        auto digit_if_valid = [&](int i) { return own_first + i * 32 < valid ? digit_at(i) : PSVI_RADIX_DIGITS - 1; };
        if (valid == TILE)
            rank_in_warp<ITEMS>(ranker, digit_at, ranks);
        else
            rank_in_warp<ITEMS>(ranker, digit_if_valid, ranks);
        __syncthreads();
        uint32_t starts, counts = place_digits<WARPS>(counters, sums, starts);
        publish_tile(states, tile, counts, starts, goal);
        __syncthreads();
        // The next tile. Its number is drawn as late as possible: a block that draws a number and does not start yet
        // holds up all tiles after it.
        if (tile + gridDim.x < tiles)
            items.prefetch(pass, portion * range::ITEMS + (tile + gridDim.x) * (uint64_t)TILE, count);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            forget(items.keys[i], job.zero);
        put_in_places<ITEMS>(ranker, ranks, digit_if_valid,
                             [&](uint32_t place, int i) { items.put(shared, place, i); });
        find_tile_goals(states, tile, tiles, bases, goal);
        __syncthreads();
        uint32_t upcoming = 0;
        if (threadIdx.x == 0) upcoming = atomicAdd(tile_counter, 1u);
#pragma unroll
        for (int at = 0; at < ITEMS; at += MOVE)
            tile_type::template write<MOVE>(pass, shared, goal, at * THREADS + threadIdx.x, valid, job.order, field);
        if (threadIdx.x == 0) next_tile = upcoming;
    }
}

template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    psvk_radix_pass(psvi_radix_job job, uint32_t slot, uint32_t portion, uint32_t portions, uint32_t state_rows) {
    if constexpr (code_holds<KIND>(PASSES_BYTES)) run_pass<KIND, VALUE_BYTES>(job, slot, portion, portions, state_rows);
}

uint32_t min_u32(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

// A kernel of the passes and how it is launched.
struct pass_kernel {
    void (*code)(psvi_radix_job, uint32_t, uint32_t, uint32_t, uint32_t);
    uint32_t threads, shared_bytes, blocks; // blocks a multiprocessor
    bool overlapped;                        // it waits for the kernel before it by itself
};

template <int KIND, int VALUE_BYTES, uint32_t TILE>
cudaError_t run_passes(const psvi_radix_job *job, const pass_kernel &pass, cudaStream_t stream) {
    using range = portion_range<TILE>;
    const uint32_t portions = range::portions(job->count), rows = range::tiles(job->count, 0);
    cudaError_t error =
        cudaFuncSetAttribute(pass.code, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)pass.shared_bytes);
    if (error == cudaSuccess)
        error = psvi_radix_histogram(job, rows, PSVI_RADIX_HISTOGRAM_BYTES, pass.overlapped, portions == 1, stream);
    for (uint32_t slot = 0; slot < job->slots; ++slot)
        for (uint32_t portion = 0; portion < portions && error == cudaSuccess; ++portion) {
            const uint32_t blocks =
                min_u32(range::tiles(job->count, portion), (uint64_t)pass.blocks * job->multiprocessors);
            error = psvi_launch_early(pass.overlapped, stream, pass.code, blocks, pass.threads, pass.shared_bytes, *job,
                                      slot, portion, portions, rows);
        }
    return error;
}

#ifdef PSVI_RADIX_PASSES_HAVE_ASYNC
// Chooses between two tile sizes: that for which all multiprocessors together need fewer rounds, weighted by a tile's
// items. Larger tiles take 3% less time an item. Large numbers of pairs always take them.
template <int VALUE_BYTES> bool takes_large_tiles(const psvi_radix_job *job) {
    if (VALUE_BYTES != 0 && job->count >= PSVI_RADIX_ASYNC_LARGE_FROM) return true;
    auto whole_rounds = [&](uint64_t tile) {
        const uint64_t round = tile * job->multiprocessors;
        return (job->count + round - 1) / round * tile;
    };
    return 97 * whole_rounds(async_choice<VALUE_BYTES, true>::shape::TILE) <=
           100 * whole_rounds(async_choice<VALUE_BYTES, false>::shape::TILE);
}

template <int KIND, typename SHAPE> cudaError_t run_async(const psvi_radix_job *job, cudaStream_t stream) {
    return run_passes<KIND, SHAPE::VALUE_BYTES, SHAPE::TILE>(
        job, {psvk_radix_async_pass<KIND, SHAPE>, SHAPE::THREADS, SHAPE::BYTES, 1, true}, stream);
}
#endif

template <int KIND, int VALUE_BYTES> cudaError_t run_values(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr int KEY_BYTES = sizeof(typename radix_key<KIND>::type), PAIR_BYTES = KEY_BYTES + VALUE_BYTES;
#ifdef PSVI_RADIX_PASSES_HAVE_ASYNC
    if constexpr (KEY_BYTES == 8 && VALUE_BYTES <= 4) {
        if (job->tiles == PSVI_RADIX_TILES_ASYNC) return run_async<KIND, async_wide<VALUE_BYTES>>(job, stream);
    } else if constexpr (VALUE_BYTES <= 4) {
        if (job->tiles == PSVI_RADIX_TILES_ASYNC)
            return takes_large_tiles<VALUE_BYTES>(job)
                       ? run_async<KIND, typename async_choice<VALUE_BYTES, true>::shape>(job, stream)
                       : run_async<KIND, typename async_choice<VALUE_BYTES, false>::shape>(job, stream);
    }
#endif
    return run_passes<KIND, VALUE_BYTES, THREADS * tile_rows_of(PAIR_BYTES)>(
        job, {psvk_radix_pass<KIND, VALUE_BYTES>, THREADS, pass_shared_bytes<PAIR_BYTES>(), BLOCKS, job->early != 0},
        stream);
}

cudaError_t run(const psvi_radix_job *job, cudaStream_t stream) {
    return with_types(job, [&](auto kind, auto bytes) {
        return run_values<decltype(kind)::value, decltype(bytes)::value>(job, stream);
    });
}

} // namespace

#endif
