// What runs before digit passes: one read makes the histograms of all digits and the plan of the passes, and finds out
// whether the keys are in order, nearly so, or of few values. Routes IN_ORDER (radix_order.cuh) and WINDOWS
// (radix_windows.cuh) stand here too.
#include "../../../core/cuda/early_launch.cuh"
#include "radix_device.cuh"
#include "radix_histogram.h"
#include "radix_order.cuh"
#include "radix_plan.cuh"
#include "radix_values.cuh"
#include "radix_windows.cuh"

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
// 32. The kernel is bound by instructions. So the shifts, masks and addresses are kept in registers, and the compiler
// is kept from computing them anew for every key. Four instructions a digit are left. Digits past the last have no
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
    const bool found =
        few.template find<PSVI_RADIX_THREADS>(*reinterpret_cast<few_samples<K> *>(histogram), [&](uint32_t j) {
            return sorted_part(transform<KIND>(keys[few_place(j, count)], job.order), job.order);
        });
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

// Whether keys are in order, or nearly so: what a thread has seen, and what its warp still looks for.
template <int KIND> struct order_search {
    using K = typename radix_key<KIND>::type;
    using pack_type = key_pack<K>;
    static constexpr int SIZE = pack_type::SIZE, FAR_LANES = 64 / SIZE; // lanes between keys 64 places apart
    const psvi_key_order &order;
    bool unordered = false, scattered = false; // some key is greater than the next, than the one 64 places on
    bool checking, checking_far;               // for that, the same in a warp

    __device__ __forceinline__ order_search(const psvi_key_order &o, bool check)
        : order(o), checking(check), checking_far(check) {}

    __device__ __forceinline__ K number_of(K raw) const { return sorted_part(transform<KIND>(raw, order), order); }

    // A warp's first keys, of which all exist: most often one look is enough.
    __device__ __forceinline__ void look_first(const pack_type &seen) {
#pragma unroll
        for (int i = 0; i < SIZE; ++i) {
            const K part = number_of(seen.keys[i]), left = number_of(seen.keys[i > 0 ? i - 1 : 0]);
            const K far = __shfl_down_sync(PSVI_RADIX_FULL_WARP, part, FAR_LANES % 32);
            unordered |= left > part;
            scattered |= (threadIdx.x & 31) + FAR_LANES < 32 && part > far;
        }
        checking = !__any_sync(PSVI_RADIX_FULL_WARP, unordered);
        checking_far = !__any_sync(PSVI_RADIX_FULL_WARP, scattered);
    }

    // A pack whose first key is the input's `first`-th. `parts`: its keys, transformed.
    __device__ __forceinline__ void look(const pack_type &pack, const K (&parts)[SIZE], const K *keys, uint64_t first,
                                         uint64_t count) {
        if (checking) {
            K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, pack.keys[0], 1);
            uint64_t after = first + SIZE;
            if ((threadIdx.x & 31) == 31 && after < count) next = keys[after];
            K successor = transform<KIND>(next, order);
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                K right = i + 1 < SIZE ? parts[i + 1 < SIZE ? i + 1 : 0] : successor;
                if (first + i + 1 < count && sorted_part(parts[i], order) > sorted_part(right, order)) unordered = true;
            }
            checking = !__any_sync(PSVI_RADIX_FULL_WARP, unordered);
        }
        if (checking_far && !checking) { // of every second 64 keys, which is enough for a first look
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                const K far = __shfl_down_sync(PSVI_RADIX_FULL_WARP, parts[i], FAR_LANES);
                if ((threadIdx.x & 31) + FAR_LANES < 32 && first + i + 64 < count &&
                    sorted_part(parts[i], order) > sorted_part(far, order))
                    scattered = true;
            }
            checking_far = !__any_sync(PSVI_RADIX_FULL_WARP, scattered);
        }
    }
};

// Clears the block's tables and its share of the first array of states.
template <int MAX_DIGITS>
__device__ __forceinline__ void clear_counts(const psvi_radix_job &job, uint32_t *histogram, uint32_t copies_log2,
                                             uint32_t state_rows) {
    if (job.histograms == nullptr)
        for (uint32_t i = threadIdx.x; i < (MAX_DIGITS * PSVI_RADIX_DIGITS / 4 << copies_log2); i += blockDim.x)
            reinterpret_cast<uint4 *>(histogram)[i] = make_uint4(0, 0, 0, 0);
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < (uint64_t)state_rows * PSVI_RADIX_DIGITS;
         i += (uint64_t)gridDim.x * blockDim.x)
        job.states[i] = 0;
}

// Counts the digits of the block's share, whose packs lie `step` apart, and looks at its order. Whole warps stay in the
// loop together: neighbours exchange keys.
template <int KIND, typename K>
__device__ __forceinline__ void count_share(const psvi_radix_job &job, const bin_addresses<K> &bins,
                                            order_search<KIND> &order, uint64_t first_of_warp, uint64_t step,
                                            uint64_t count, bool aligned) {
    using pack_type = key_pack<K>;
    constexpr int UNROLL = PSVI_RADIX_HISTOGRAM_UNROLL;
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool counting = job.histograms == nullptr;
    for (uint64_t warp_first = first_of_warp; warp_first < count; warp_first += step * UNROLL) {
        // Once there is nothing to be looked for.
        if (sizeof(K) == 4 && counting && aligned && !order.checking && !order.checking_far &&
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
            order.look(pack, parts, keys, first, count);
        }
    }
}

// Adds the block's counts to those of all, and says whether all blocks have done so.
__device__ __forceinline__ bool add_to_all(const psvi_radix_job &job, const uint32_t *histogram, uint32_t copies_log2,
                                           uint32_t bins) {
    __shared__ uint32_t block_ticket;
    // [digit's place][digit][copy]: each lane counts in a copy of its own where there is memory for 32, and so in a
    // bank of its own. In one copy random digits would meet in three or four to a bank.
    const uint32_t copies = 1u << copies_log2;
    for (uint32_t bin = threadIdx.x; bin < bins; bin += blockDim.x) {
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
    if (block_ticket != gridDim.x - 1) return false;
    __threadfence();
    return true;
}

// In: keys. Out: the plan of all passes with the first place of each digit; zeroed tile counters and first array of
// states. One block counts digits of a grid-strided share of the keys in shared memory and adds them to the global
// histogram. The block that finishes last makes the plan. Also says whether the keys are in order already. Bytes: one
// read of the keys; none when the histograms are given and the order is not asked for.
template <int KIND>
__device__ __forceinline__ void make_histograms(const psvi_radix_job &job, uint32_t state_rows, uint32_t copies_log2,
                                                bool check_order) {
    using K = typename radix_key<KIND>::type;
    using pack_type = key_pack<K>;
    extern __shared__ __align__(16) unsigned char shared[];
    uint32_t *histogram = reinterpret_cast<uint32_t *>(shared);
    __shared__ few_values<K> few;

    let_next_kernel_come();
    wait_for_kernel_before();
    if (is_done(job)) return;
    const uint64_t count = job_count(job);
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool counting = job.histograms == nullptr, aligned = ((uintptr_t)keys & 15) == 0;
    const uint64_t first_of_warp = (blockIdx.x * (uint64_t)blockDim.x + (threadIdx.x & ~31u)) * pack_type::SIZE;
    const bool looks = sizeof(K) == 4 && check_order && aligned && first_of_warp + 32 * pack_type::SIZE <= count;
    pack_type seen = {}; // read while memory is cleared
    const bool samples = counting && aligned && count >= 32 * FEW_SAMPLES;
    const K sample = samples && threadIdx.x < 32 ? keys[few_look_place(count)] : (K)threadIdx.x;
    if (looks) load_pack(seen, keys, first_of_warp + (threadIdx.x & 31) * pack_type::SIZE, count, aligned);
    if (threadIdx.x < 32) few.look(sample, samples);
    clear_counts<(int)sizeof(K)>(job, histogram, copies_log2, state_rows);
    __syncthreads();

    const uint32_t digits = (job.order.end_bit - job.order.begin_bit + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
    const bin_addresses<K> bins(job, histogram, copies_log2);
    order_search<KIND> order(job.order, check_order);
    if (looks) order.look_first(seen);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x * pack_type::SIZE;
    bool by_values = false;
    if (few.may_be_few())
        by_values =
            make_few<KIND, K>(job, few, histogram, copies_log2, first_of_warp, step, count, digits, order.unordered);
    order.scattered |= by_values; // a digit or two, and not windows
    if (!by_values && threadIdx.x == 0) job.control->passes.many = 1;
    if (!by_values && (counting || order.checking || order.checking_far))
        count_share<KIND, K>(job, bins, order, first_of_warp, step, count, aligned);
    if (order.unordered) job.control->unordered = 1;
    if (order.scattered) job.control->passes.scattered = 1;
    __syncthreads();
    if (add_to_all(job, histogram, copies_log2, counting && !by_values ? digits * PSVI_RADIX_DIGITS : 0))
        make_plan(job, count, digits, check_order, by_values ? few.deciding : ~0u);
}

template <int KIND>
__global__ void __launch_bounds__(PSVI_RADIX_THREADS, 1)
    psvk_radix_histogram(psvi_radix_job job, uint32_t state_rows, uint32_t copies_log2, bool check_order) {
    make_histograms<KIND>(job, state_rows, copies_log2, check_order);
}

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

// The histogram kernel. Tables of at most `most_bytes` of shared memory: a copy of them for each lane, or for several.
template <int KIND>
cudaError_t launch_histogram(const psvi_radix_job *job, uint32_t rows, uint32_t most_bytes, bool early,
                             bool check_order, cudaStream_t stream) {
    const uint64_t items_per_block = 8 * PSVI_RADIX_THREADS;
    const uint64_t wanted = job->histograms != nullptr && !check_order
                                ? (rows + 15) / 16
                                : (job->count + items_per_block - 1) / items_per_block;
    const uint64_t most = job->multiprocessors;
    uint32_t copies_log2 = 5;
    const uint32_t bytes_of_one = sizeof(typename radix_key<KIND>::type) * PSVI_RADIX_DIGITS * sizeof(uint32_t);
    while (copies_log2 > 0 && (bytes_of_one << copies_log2) > most_bytes)
        --copies_log2;
    const uint32_t bytes = bytes_of_one << copies_log2;
    cudaError_t error =
        cudaFuncSetAttribute(psvk_radix_histogram<KIND>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    return psvi_launch_early(early, stream, psvk_radix_histogram<KIND>, (uint32_t)(wanted < most ? wanted : most),
                             PSVI_RADIX_THREADS, bytes, *job, rows, copies_log2, check_order);
}

} // namespace

cudaError_t psvi_radix_histogram(const psvi_radix_job *job, uint32_t rows, uint32_t most_bytes, bool overlapped,
                                 bool one_portion, cudaStream_t stream) {
    // Histograms of the caller spare the read of the keys: with them the order is checked only where it is probably
    // good.
    const bool check_order = job->order_check && (job->histograms == nullptr || job->likely_sorted);
    cudaError_t error = with_kind(job, [&](auto kind) {
        return launch_histogram<decltype(kind)::value>(job, rows, most_bytes, overlapped && job->before != 0,
                                                       check_order, stream);
    });
    if (error != cudaSuccess || job->order.is_wide || !check_order || !one_portion ||
        (job->before & (PSVI_RADIX_AFTER_WINDOWS | PSVI_RADIX_AFTER_ROUNDS)))
        return error;
    // The edges lie where the states of the second pass will, which the first pass clears.
    return with_narrow_kind(job, [&](auto kind) {
        return with_values(job, [&](auto bytes) {
            return launch_windows<decltype(kind)::value, decltype(bytes)::value>(job, rows, false, overlapped, stream);
        });
    });
}

cudaError_t psvi_radix_check_order(const psvi_radix_job *job, cudaStream_t stream) { return launch_check(job, stream); }

cudaError_t psvi_radix_windows(const psvi_radix_job *job, cudaStream_t stream) {
    return with_narrow_kind(job, [&](auto kind) {
        return with_values(job, [&](auto bytes) {
            return launch_windows<decltype(kind)::value, decltype(bytes)::value>(job, 0, true, false, stream);
        });
    });
}
