// Routes PASSES and PASSES_COMPACT: one read makes the histograms of all digits and the plan of the passes; then each
// pass reads and writes every item once, and the tiles' counts are chained by decoupled look-back.
// After Adinets & Merrill, «Onesweep» (2022), and Merrill & Garland, «Single-pass parallel prefix scan» (2016).
// Compiled twice, radix_passes.cu with large tiles and radix_passes_compact.cu with small ones, which define
// PSVI_RADIX_PASSES_THREADS.
#ifndef PAIRSIEVE_RADIX_PASSES_CUH
#define PAIRSIEVE_RADIX_PASSES_CUH

#include "../../core/cuda/early_launch.cuh"
#include "radix_copy.cuh"
#include "radix_device.cuh"
#include "radix_order.cuh"
#include "radix_plan.cuh"
#include "radix_values.cuh"
#include "radix_windows.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_PASSES_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int LOOK = PSVI_RADIX_LOOK_WIDTH;
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

// Reads keys 16 bytes at a time where they are aligned for it.
template <typename K> struct key_pack {
    static constexpr int SIZE = 16 / sizeof(K);
    K keys[SIZE];
};

template <typename K>
__device__ __forceinline__ void load_pack(key_pack<K> &pack, const K *keys, uint64_t first, uint64_t count,
                                          bool aligned) {
    if (aligned && first + pack.SIZE <= count) {
        *reinterpret_cast<uint4 *>(pack.keys) = *reinterpret_cast<const uint4 *>(keys + first);
        return;
    }
#pragma unroll
    for (int i = 0; i < pack.SIZE; ++i)
        pack.keys[i] = first + i < count ? keys[first + i] : 0;
}

// Where the histogram kernel counts a key: [digit's place][digit][copy], a copy for each lane where there is memory for
// 32. The kernel is bound by instructions, so the shifts, masks and addresses are kept in registers, and the compiler
// is kept from computing them anew for every key; four instructions a digit are left. Digits past the last have no
// bits: all keys count in their first bin, which nobody reads.
template <typename K> struct bin_addresses {
    static constexpr int DIGITS = sizeof(K);
    uint32_t first[DIGITS], shift[DIGITS], mask[DIGITS], scale_log2;
    uint32_t one; // not a constant: for a known 1 there is an instruction that first collects the lanes of a counter

    __device__ __forceinline__ bin_addresses(const psvi_radix_job &job, const uint32_t *histogram, uint32_t copies_log2)
        : scale_log2(copies_log2 + 2), one(1 + job.zero) {
        const uint32_t start = (uint32_t)__cvta_generic_to_shared(histogram) +
                               (threadIdx.x & ((1u << copies_log2) - 1)) * (uint32_t)sizeof(uint32_t);
#pragma unroll
        for (int digit = 0; digit < DIGITS; ++digit) {
            const digit_field field = field_of_slot(job.order, digit);
            first[digit] = start + (digit * PSVI_RADIX_DIGITS << scale_log2);
            // 32-bit keys are turned so that the digit lies where it is scaled already.
            shift[digit] = DIGITS == 4 ? (field.shift - scale_log2) & 31 : field.shift;
            mask[digit] = DIGITS == 4 ? field.mask << scale_log2 : field.mask;
            asm volatile("" : "+r"(first[digit]), "+r"(shift[digit]), "+r"(mask[digit]));
        }
    }
    __device__ __forceinline__ void count(K part) const {
#pragma unroll
        for (int digit = 0; digit < DIGITS; ++digit) {
            uint32_t offset;
            if constexpr (DIGITS == 4)
                offset = __funnelshift_r(part, part, shift[digit]) & mask[digit];
            else
                offset = ((uint32_t)(part >> shift[digit]) & mask[digit]) << scale_log2;
            asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(first[digit] + offset), "r"(one) : "memory");
        }
    }
};

// Counts `packs` packs of keys of a thread, `step` packs apart; all keys exist. The next packs are read while these are
// counted.
template <int KIND, int UNROLL, typename K>
__device__ __forceinline__ void count_packs(const bin_addresses<K> &bins, const K *keys, uint64_t packs, uint64_t step,
                                            const psvi_key_order &order) {
    const uint4 *next = reinterpret_cast<const uint4 *>(keys);
    uint4 read[UNROLL];
    uint32_t left = (uint32_t)packs;
#pragma unroll
    for (uint32_t u = 0; u < UNROLL; ++u)
        if (u < left) {
            read[u] = *next;
            next += step;
        }
    while (left != 0) {
#pragma unroll
        for (uint32_t u = 0; u < UNROLL; ++u) {
            key_pack<K> pack;
            *reinterpret_cast<uint4 *>(pack.keys) = read[u];
            if (u + UNROLL < left) {
                read[u] = *next;
                next += step;
            }
            if (u >= left) continue;
#pragma unroll
            for (int i = 0; i < pack.SIZE; ++i)
                bins.count(transform<KIND>(pack.keys[i], order));
        }
        left = left > UNROLL ? left - UNROLL : 0;
    }
}

// Counts keys of few values once, not once a digit, in the first FEW_MOST bins. A warp's keys go on `step` packs apart.
// Returns whether all keys of the thread are known values; if not, it may end early.
template <int KIND, typename K>
__device__ __forceinline__ bool count_values(const psvi_radix_job &job, const few_values<K> &few, uint32_t *histogram,
                                             uint32_t copies_log2, const K *keys, uint64_t first_of_warp, uint64_t step,
                                             uint64_t count, bool &unordered) {
    constexpr int UNROLL = PSVI_RADIX_HISTOGRAM_UNROLL, SIZE = key_pack<K>::SIZE;
    uint32_t *own = histogram + (threadIdx.x & ((1u << copies_log2) - 1));
    const uint32_t one = 1 + job.zero; // see bin_addresses
    bool known = true;
#pragma unroll 1
    for (uint64_t warp_first = first_of_warp; warp_first < count; warp_first += step * UNROLL) {
        key_pack<K> packs[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            load_pack(packs[u], keys, warp_first + u * step + (threadIdx.x & 31) * SIZE, count, true);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const uint64_t first = warp_first + u * step + (threadIdx.x & 31) * SIZE;
            uint32_t places[SIZE];
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                places[i] = first + i < count
                                ? few.index_of(sorted_part(transform<KIND>(packs[u].keys[i], job.order), job.order))
                                : FEW_MOST; // greater than any
                if (places[i] < FEW_MOST)
                    atomicAdd(own + (places[i] << copies_log2), one);
                else if (first + i < count)
                    known = false;
                if (i > 0 && places[i - 1] > places[i]) unordered = true;
            }
            uint32_t next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, places[0], 1);
            if ((threadIdx.x & 31) == 31)
                next = !unordered && first + SIZE < count
                           ? few.index_of(sorted_part(transform<KIND>(keys[first + SIZE], job.order), job.order))
                           : FEW_MOST;
            if (places[SIZE - 1] > next) unordered = true;
        }
        if (!__all_sync(PSVI_RADIX_FULL_WARP, known)) break;
    }
    return known;
}

// Looks for few values and counts by them. False: the histogram is empty, and is to be made digit by digit. All threads
// of the block, after a barrier behind few.look().
template <int KIND, typename K>
__device__ __forceinline__ bool make_few(const psvi_radix_job &job, few_values<K> &few, uint32_t *histogram,
                                         uint32_t copies_log2, uint64_t first_of_warp, uint64_t step, uint64_t count,
                                         uint32_t digits, bool &unordered) {
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool found = few.template find<PSVI_RADIX_HISTOGRAM_THREADS>(
        *reinterpret_cast<few_samples<K> *>(histogram),
        [&](uint32_t j) { return sorted_part(transform<KIND>(keys[few_place(j, count)], job.order), job.order); });
    static_assert(sizeof(few_samples<K>) <= 16 * 1024, "in the place of the histogram");
    const uint32_t words = max((uint32_t)sizeof(few_samples<K>) / 4, FEW_MOST << copies_log2);
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
        histogram[i] = 0;
    __syncthreads();
    if (!found) return false;
    const bool known =
        count_values<KIND, K>(job, few, histogram, copies_log2, keys, first_of_warp, step, count, unordered);
    if (!__syncthreads_and(known)) {
        for (uint32_t i = threadIdx.x; i < FEW_MOST << copies_log2; i += blockDim.x)
            histogram[i] = 0;
        __syncthreads();
        return false;
    }
    if (threadIdx.x < few.number) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 1u << copies_log2; ++i)
            sum += histogram[(threadIdx.x << copies_log2) + i];
        for (uint32_t digit = 0; digit < digits; ++digit) {
            const uint32_t bin =
                (uint32_t)(few.values[threadIdx.x] >> digit * PSVI_RADIX_BITS) & (PSVI_RADIX_DIGITS - 1);
            atomicAdd(&job.control->passes.histogram[digit][bin], sum);
        }
    }
    return true;
}

// In: keys. Out: the plan of all passes with the first place of each digit; zeroed tile counters and first array of
// states. One block counts digits of a grid-strided share of the keys in shared memory, adds them to the global
// histogram, and the block that finishes last makes the plan. Also says whether the keys are in order already.
// Bytes: one read of the keys; none when the histograms are given and the order is not asked for.
template <int KIND>
__device__ __forceinline__ void make_histograms(const psvi_radix_job &job, uint32_t state_rows, uint32_t copies_log2,
                                                bool check_order) {
    using K = typename radix_key<KIND>::type;
    using pack_type = key_pack<K>;
    constexpr int MAX_DIGITS = sizeof(K);
    // [digit's place][digit][copy]: each lane counts in a copy of its own where there is memory for 32, and so in a
    // bank of its own; in one copy random digits would meet in three or four to a bank.
    const uint32_t copies = 1u << copies_log2;
    extern __shared__ __align__(16) unsigned char shared[];
    uint32_t *histogram = reinterpret_cast<uint32_t *>(shared);
    __shared__ uint32_t block_ticket;
    __shared__ few_values<K> few;

    let_next_kernel_come();
    wait_for_kernel_before();
    if (is_done(job)) return;
    const uint64_t count = job_count(job);
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool counting = job.histograms == nullptr, aligned = ((uintptr_t)keys & 15) == 0;
    const uint64_t first_of_warp = (blockIdx.x * (uint64_t)blockDim.x + (threadIdx.x & ~31u)) * pack_type::SIZE;
    // Most often one look is enough.
    const bool looks = sizeof(K) == 4 && check_order && aligned && first_of_warp + 32 * pack_type::SIZE <= count;
    pack_type seen = {}; // read while memory is cleared
    const bool samples = counting && aligned && count >= 32 * FEW_SAMPLES;
    const K sample = samples && threadIdx.x < 32 ? keys[few_look_place(count)] : (K)threadIdx.x;
    if (looks) load_pack(seen, keys, first_of_warp + (threadIdx.x & 31) * pack_type::SIZE, count, aligned);
    if (threadIdx.x < 32) few.look(sample, samples);
    if (counting)
        for (uint32_t i = threadIdx.x; i < (MAX_DIGITS * PSVI_RADIX_DIGITS / 4 << copies_log2); i += blockDim.x)
            reinterpret_cast<uint4 *>(shared)[i] = make_uint4(0, 0, 0, 0);
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < (uint64_t)state_rows * PSVI_RADIX_DIGITS;
         i += (uint64_t)gridDim.x * blockDim.x)
        job.states[i] = 0;
    __syncthreads();

    const uint32_t digits = (job.order.end_bit - job.order.begin_bit + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
    const bin_addresses<K> bins(job, histogram, copies_log2);
    bool unordered = false, scattered = false, checking = check_order, checking_far = check_order;
    if (looks) {
        constexpr int LANES = 64 / pack_type::SIZE;
#pragma unroll
        for (int i = 0; i < pack_type::SIZE; ++i) {
            const K part = sorted_part(transform<KIND>(seen.keys[i], job.order), job.order);
            const K left = sorted_part(transform<KIND>(seen.keys[i > 0 ? i - 1 : 0], job.order), job.order);
            const K far = __shfl_down_sync(PSVI_RADIX_FULL_WARP, part, LANES % 32);
            unordered |= left > part;
            scattered |= (threadIdx.x & 31) + LANES < 32 && part > far;
        }
        checking = !__any_sync(PSVI_RADIX_FULL_WARP, unordered);
        checking_far = !__any_sync(PSVI_RADIX_FULL_WARP, scattered);
    }
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x * pack_type::SIZE;
    bool by_values = false;
    if (few.may_be_few())
        by_values = make_few<KIND, K>(job, few, histogram, copies_log2, first_of_warp, step, count, digits, unordered);
    scattered |= by_values; // a digit or two, and not windows
    if (!by_values && threadIdx.x == 0) job.control->passes.many = 1;
    if (!by_values && (counting || checking || checking_far)) {
        constexpr int UNROLL = PSVI_RADIX_HISTOGRAM_UNROLL;
        // Whole warps stay in the loop together: neighbours exchange keys below.
        for (uint64_t warp_first = first_of_warp; warp_first < count; warp_first += step * UNROLL) {
            // Once there is nothing to be looked for.
            if (sizeof(K) == 4 && counting && aligned && !checking && !checking_far &&
                warp_first + 32 * pack_type::SIZE <= count) {
                const uint64_t whole = (count - 32 * pack_type::SIZE - warp_first) / step + 1;
                count_packs<KIND, UNROLL>(bins, keys + warp_first + (threadIdx.x & 31) * pack_type::SIZE, whole,
                                          step / pack_type::SIZE, job.order);
                warp_first += whole * step;
                if (warp_first >= count) break;
            }
            pack_type packs[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
                load_pack(packs[u], keys, warp_first + u * step + (threadIdx.x & 31) * pack_type::SIZE, count, aligned);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const uint64_t first = warp_first + u * step + (threadIdx.x & 31) * pack_type::SIZE;
                const pack_type &pack = packs[u];
                K parts[pack_type::SIZE];
#pragma unroll
                for (int i = 0; i < pack_type::SIZE; ++i)
                    parts[i] = transform<KIND>(pack.keys[i], job.order);
                if (counting && warp_first + u * step + 32 * pack_type::SIZE <= count) { // the same in all lanes
#pragma unroll
                    for (int i = 0; i < pack_type::SIZE; ++i)
                        bins.count(parts[i]);
                } else if (counting) {
                    for (int i = 0; i < pack_type::SIZE; ++i)
                        if (first + i < count) bins.count(parts[i]);
                }
                if (checking) {
                    K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, pack.keys[0], 1);
                    uint64_t after = first + pack_type::SIZE;
                    if ((threadIdx.x & 31) == 31 && after < count) next = keys[after];
                    K successor = transform<KIND>(next, job.order);
#pragma unroll
                    for (int i = 0; i < pack_type::SIZE; ++i) {
                        K right = i + 1 < pack_type::SIZE ? parts[i + 1 < pack_type::SIZE ? i + 1 : 0] : successor;
                        if (first + i + 1 < count && sorted_part(parts[i], job.order) > sorted_part(right, job.order))
                            unordered = true;
                    }
                    checking = !__any_sync(PSVI_RADIX_FULL_WARP, unordered);
                }
                if (checking_far && !checking) { // of every second 64 keys, which is enough for a first look
#pragma unroll
                    for (int i = 0; i < pack_type::SIZE; ++i) {
                        constexpr int LANES = 64 / pack_type::SIZE;
                        const K far = __shfl_down_sync(PSVI_RADIX_FULL_WARP, parts[i], LANES);
                        if ((threadIdx.x & 31) + LANES < 32 && first + i + 64 < count &&
                            sorted_part(parts[i], job.order) > sorted_part(far, job.order))
                            scattered = true;
                    }
                    checking_far = !__any_sync(PSVI_RADIX_FULL_WARP, scattered);
                }
            }
        }
    }
    if (unordered) job.control->unordered = 1;
    if (scattered) job.control->passes.scattered = 1;
    __syncthreads();
    if (counting && !by_values)
        for (uint32_t bin = threadIdx.x; bin < digits * PSVI_RADIX_DIGITS; bin += blockDim.x) {
            uint32_t sum = 0;
#pragma unroll 8
            for (uint32_t i = 0; i < copies; ++i) // each lane begins elsewhere, so that all banks are read
                sum += histogram[(bin << copies_log2) + ((threadIdx.x + i) & (copies - 1))];
            if (sum != 0) atomicAdd(&job.control->passes.histogram[0][0] + bin, sum);
        }

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) block_ticket = atomicAdd(&job.control->ticket, 1u);
    __syncthreads();
    if (block_ticket != gridDim.x - 1) return;
    __threadfence();
    make_plan(job, count, digits, check_order, by_values ? few.deciding : ~0u);
}

template <int KIND>
__global__ void __launch_bounds__(PSVI_RADIX_HISTOGRAM_THREADS, PSVI_RADIX_HISTOGRAM_BLOCKS)
    psvk_radix_histogram(psvi_radix_job job, uint32_t state_rows, uint32_t copies_log2, bool check_order) {
    if constexpr (code_holds<KIND>(PASSES_BYTES)) make_histograms<KIND>(job, state_rows, copies_log2, check_order);
}

// A key and its value in one word, where they are of one size.
template <typename K> struct packed_pair;
template <> struct packed_pair<uint32_t> { using type = uint2; };
template <> struct packed_pair<uint64_t> { using type = ulonglong2; };

template <int PAIR_BYTES> constexpr uint32_t pass_shared_bytes() {
    constexpr uint32_t tile = (THREADS * PSVI_RADIX_PASSES_ITEMS(PAIR_BYTES)) * PAIR_BYTES,
                       tables = WARPS * RANK_TABLE_BYTES;
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
    static constexpr int ITEMS = PSVI_RADIX_PASSES_ITEMS(PAIR_BYTES);
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

// One digit pass over one portion. In: items of the plan's input. Out: the same items in the plan's output, ordered
// stably by the digit. Persistent blocks take tiles in order from a counter; a tile is ranked in shared memory, its
// digit counts are published, those of all tiles before it are collected by look-back, and the items go out in runs
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
        if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
            uint2 word = make_uint2(counts & 0xffff, counts >> 16);
            uint32_t kind = tile == 0 ? STATE_UP_TO : STATE_TILE;
            uint32_t *mine = states + tile * (uint64_t)PSVI_RADIX_DIGITS + 2 * threadIdx.x;
            store_word(mine, word.x | kind);
            store_word(mine + 1, word.y | kind);
            // Kept for the look-back, where one thread serves one digit.
            goal[2 * threadIdx.x] = (starts & 0xffff) | word.x << 16;
            goal[2 * threadIdx.x + 1] = starts >> 16 | word.y << 16;
        }
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
        if (threadIdx.x < PSVI_RADIX_DIGITS) {
            uint32_t start = goal[threadIdx.x] & 0xffff, own = goal[threadIdx.x] >> 16;
            uint32_t before = tile == 0 ? 0 : look_back<LOOK>(states + threadIdx.x, tile);
            if (tile != 0)
                store_word(states + tile * (uint64_t)PSVI_RADIX_DIGITS + threadIdx.x, (before + own) | STATE_UP_TO);
            uint32_t base = bases[threadIdx.x];
            goal[threadIdx.x] = base + before - start; // where the item at place 0 of the tile would go
            if (tile == tiles - 1) bases[PSVI_RADIX_DIGITS + threadIdx.x] = base + before + own;
        }
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
__global__ void __launch_bounds__(THREADS, PSVI_RADIX_PASSES_BLOCKS)
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

// Sorts by windows. The edges of blocks lie behind `rows` rows of states.
template <int KIND, int VALUE_BYTES>
cudaError_t launch_windows(const psvi_radix_job *job, uint32_t rows, bool is_first, bool early, cudaStream_t stream) {
    const uint32_t windows = nearly_windows(job->count, job->multiprocessors);
    const uint32_t blocks = (nearly_strips(job->count, windows) + NEARLY_STRIPS - 1) / NEARLY_STRIPS;
    static_assert(PSVI_RADIX_DIGITS * sizeof(uint32_t) * 64 * PSVI_RADIX_NEARLY_WINDOWS * NEARLY_STRIPS >=
                      2 * PSVI_RADIX_PASSES_LEAST_TILE * sizeof(strip_edges),
                  "the edges of the blocks of a tile fit in its row of states");
    strip_edges *edges = reinterpret_cast<strip_edges *>(job->states + (uint64_t)rows * PSVI_RADIX_DIGITS);
    return psvi_launch_early(early, stream, psvk_radix_nearly<KIND, VALUE_BYTES>, blocks, NEARLY_THREADS, 0, *job,
                             edges, windows, is_first);
}

template <int KIND, int VALUE_BYTES, uint32_t TILE>
cudaError_t run_passes(const psvi_radix_job *job, const pass_kernel &pass, cudaStream_t stream) {
    constexpr uint32_t KEY_BYTES = sizeof(typename radix_key<KIND>::type);
    using range = portion_range<TILE>;
    const uint32_t portions = range::portions(job->count), rows = range::tiles(job->count, 0);
    // Histograms spare the read of the keys: with them the order is checked only where it is probably good.
    const bool check_order = job->order_check && (job->histograms == nullptr || job->likely_sorted);
    const uint64_t items_per_block = 8 * PSVI_RADIX_HISTOGRAM_THREADS;
    const uint64_t wanted = job->histograms != nullptr && !check_order
                                ? (rows + 15) / 16
                                : (job->count + items_per_block - 1) / items_per_block;
    uint32_t blocks = min_u32(wanted, (uint64_t)PSVI_RADIX_HISTOGRAM_BLOCKS * job->multiprocessors);
    uint32_t copies_log2 = 5, bytes_of_one = KEY_BYTES * PSVI_RADIX_DIGITS * sizeof(uint32_t);
    while (copies_log2 > 0 && (bytes_of_one << copies_log2) > PSVI_RADIX_HISTOGRAM_BYTES)
        --copies_log2;
    const uint32_t bytes = bytes_of_one << copies_log2;
    cudaError_t error =
        cudaFuncSetAttribute(psvk_radix_histogram<KIND>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(pass.code, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)pass.shared_bytes);
    if (error != cudaSuccess) return error;
    const bool behind_another = job->before != 0;
    error = psvi_launch_early(pass.overlapped && behind_another, stream, psvk_radix_histogram<KIND>, blocks,
                              PSVI_RADIX_HISTOGRAM_THREADS, bytes, *job, rows, copies_log2, check_order);
    if (error != cudaSuccess) return error;
    if constexpr (KEY_BYTES == 4) {
        // The edges lie where the states of the second pass will, which the first pass clears.
        if (check_order && portions == 1 && !(job->before & (PSVI_RADIX_AFTER_WINDOWS | PSVI_RADIX_AFTER_ROUNDS)))
            error = launch_windows<KIND, VALUE_BYTES>(job, rows, false, pass.overlapped, stream);
    }
    for (uint32_t slot = 0; slot < job->slots; ++slot)
        for (uint32_t portion = 0; portion < portions && error == cudaSuccess; ++portion) {
            blocks = min_u32(range::tiles(job->count, portion), (uint64_t)pass.blocks * job->multiprocessors);
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
    if constexpr (KEY_BYTES == 4 && VALUE_BYTES <= 4) {
        if (job->passes_route == PSVI_RADIX_PASSES_ASYNC)
            return takes_large_tiles<VALUE_BYTES>(job)
                       ? run_async<KIND, typename async_choice<VALUE_BYTES, true>::shape>(job, stream)
                       : run_async<KIND, typename async_choice<VALUE_BYTES, false>::shape>(job, stream);
    }
#endif
    return run_passes<KIND, VALUE_BYTES, THREADS * PSVI_RADIX_PASSES_ITEMS(PAIR_BYTES)>(
        job,
        {psvk_radix_pass<KIND, VALUE_BYTES>, THREADS, pass_shared_bytes<PAIR_BYTES>(), PSVI_RADIX_PASSES_BLOCKS, false},
        stream);
}

cudaError_t run(const psvi_radix_job *job, cudaStream_t stream) {
    return with_types(job, [&](auto kind, auto bytes) {
        return run_values<decltype(kind)::value, decltype(bytes)::value>(job, stream);
    });
}

} // namespace

#endif
