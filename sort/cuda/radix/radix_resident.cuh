// Route RESIDENT: one persistent cooperative kernel makes all digit passes. Every block keeps its share of the items.
// In each pass it ranks them in shared memory and learns from all other blocks where its digits begin. It writes the
// items there (the memory stays in L2) and waits for the others. Two all-to-all exchanges a pass, each one trip through
// L2.
#ifndef PAIRSIEVE_RADIX_RESIDENT_CUH
#define PAIRSIEVE_RADIX_RESIDENT_CUH

#include "radix_device.cuh"
#include "radix_gather.cuh"
#include "radix_plan.cuh"
#include "radix_values.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_RESIDENT_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int COLUMNS = PSVI_RADIX_DIGITS / 4;     // words of a row that hold counts: four digits each
constexpr int GROUPS = THREADS / COLUMNS;          // rows read side by side
constexpr int BATCH = (136 + GROUPS - 1) / GROUPS; // rows that a thread reads at once: all, with up to 136 blocks
constexpr uint64_t WORD_VALID = (uint64_t)1 << 63; // set in every word that has been written
constexpr int FIELD_BITS = 15;
constexpr uint64_t FIELD_PAIR = 0x7fffull | 0x7fffull << 2 * FIELD_BITS;

__device__ __forceinline__ uint64_t wait_word(const uint64_t *word) {
    uint64_t value = load_word(word);
    while (!(value & WORD_VALID))
        value = load_word(word);
    return value;
}

// Everything that the blocks wrote before is visible to all of them after. Each block raises a flag of its own, and
// each thread watches one: one hop, no counter that all of them fight for.
__device__ __forceinline__ void wait_for_all_blocks(uint32_t *flags, uint32_t epoch) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flags + blockIdx.x), "r"(epoch) : "memory");
    }
    if (threadIdx.x < gridDim.x) {
        uint32_t seen;
        do
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(flags + threadIdx.x) : "memory");
        while ((int32_t)(seen - epoch) < 0);
    }
    __syncthreads();
}

__device__ __forceinline__ void add_fields(uint32_t *sums, uint64_t even, uint64_t odd) {
    constexpr uint64_t FIELD = ((uint64_t)1 << 2 * FIELD_BITS) - 1;
    uint32_t *mine = sums + threadIdx.x % COLUMNS * 4;
    atomicAdd(mine, (uint32_t)(even & FIELD));
    atomicAdd(mine + 1, (uint32_t)(odd & FIELD));
    atomicAdd(mine + 2, (uint32_t)(even >> 2 * FIELD_BITS));
    atomicAdd(mine + 3, (uint32_t)(odd >> 2 * FIELD_BITS));
}

// Adds up the counts of the blocks before this one, and of all, in this thread's column of the matrix. While it sums,
// digits 0 and 2 of a word share one number, and 1 and 3 another, 30 bits each.
__device__ __forceinline__ void sum_rows(const uint64_t *matrix, uint32_t *before, uint32_t *total) {
    const uint64_t *column = matrix + threadIdx.x % COLUMNS;
    uint64_t even = 0, odd = 0, even_before = 0, odd_before = 0;
    for (uint32_t row = threadIdx.x / COLUMNS; row < gridDim.x; row += GROUPS * BATCH) {
        uint64_t words[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            words[i] = row + i * GROUPS < gridDim.x ? load_word(column + (row + i * GROUPS) * PSVI_RADIX_ROW_WORDS)
                                                    : WORD_VALID;
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            if (!(words[i] & WORD_VALID)) words[i] = wait_word(column + (row + i * GROUPS) * PSVI_RADIX_ROW_WORDS);
            even += words[i] & FIELD_PAIR;
            odd += words[i] >> FIELD_BITS & FIELD_PAIR;
            if (row + i * GROUPS < blockIdx.x) {
                even_before = even; // rows come in order: what has been added so far
                odd_before = odd;
            }
        }
    }
    add_fields(before, even_before, odd_before);
    add_fields(total, even, odd);
}

template <int PAIR_BYTES, int ITEMS> constexpr uint32_t resident_shared_bytes() {
    constexpr uint32_t tile = THREADS * ITEMS * PAIR_BYTES, tables = WARPS * RANK_TABLE_BYTES;
    return (tile > tables ? tile : tables) + WARPS * PSVI_RADIX_DIGITS * sizeof(radix_counter);
}

// rank_in_warp() for items of a share: the warp's are `full`, or some lie past the end. Those stay last.
template <int ITEMS, typename DIGIT, typename DIGIT_IF_VALID>
__device__ __forceinline__ void rank_share(const warp_ranker &ranker, bool full, DIGIT digit_at,
                                           DIGIT_IF_VALID digit_if_valid, uint32_t *ranks) {
    if (full)
        rank_in_warp<ITEMS>(ranker, digit_at, ranks);
    else
        rank_in_warp<ITEMS>(ranker, digit_if_valid, ranks);
}

// What this block sees of its items, which its threads hold: the bits in which keys differ, and whether some key is
// greater than its successor. Before a barrier.
template <int KIND, int ITEMS, typename K>
__device__ __forceinline__ void look_at_keys(const psvi_radix_job &job, const K (&keys)[ITEMS], uint64_t tile_first,
                                             uint32_t first, uint32_t valid, uint64_t count, uint32_t *different_bits,
                                             uint32_t *unordered) {
    const uint32_t lane = threadIdx.x % 32;
    const K *keys_in = static_cast<const K *>(job.keys_in);
    K different = 0;
    bool disorder = false;
    const K some = count != 0 ? transform<KIND>(__ldcg(keys_in), job.order) : 0;
    K after_warp = 0; // the first key of the next warp's items, or of the next block's
    if (job.order_check && lane == 31 && first + (ITEMS - 1) * 32 < valid &&
        tile_first + first + (ITEMS - 1) * 32 + 1 < count)
        after_warp = __ldcg(keys_in + tile_first + first + (ITEMS - 1) * 32 + 1);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        K own = transform<KIND>(keys[i], job.order);
        if (first + i * 32 < valid) different |= own ^ some;
        if (job.order_check) {
            K next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, keys[i], 1);
            K wrapped =
                i + 1 < ITEMS ? __shfl_sync(PSVI_RADIX_FULL_WARP, keys[i + 1 < ITEMS ? i + 1 : 0], 0) : after_warp;
            if (lane == 31) next = wrapped;
            if (tile_first + first + i * 32 + 1 < count && first + i * 32 < valid)
                disorder |= sorted_part(own, job.order) > sorted_part(transform<KIND>(next, job.order), job.order);
        }
    }
#pragma unroll
    for (int half = 0; half < (int)sizeof(K) / 4; ++half) {
        uint32_t bits = psvd_reduce_or((uint32_t)(different >> 16 * half >> 16 * half));
        if (lane == 0 && bits != 0) atomicOr(&different_bits[half], bits);
    }
    if (__any_sync(PSVI_RADIX_FULL_WARP, disorder) && lane == 0) *unordered = 1;
}

// A row of the matrix: four counts of 15 bits in a word. Of the first 128 threads each has two digits.
__device__ __forceinline__ void publish_counts(uint64_t *row, uint32_t counts) {
    const uint32_t next = __shfl_down_sync(PSVI_RADIX_FULL_WARP, counts, 1);
    if (threadIdx.x % 2 == 0)
        store_word(row + threadIdx.x / 2, (counts & 0xffff) | (uint64_t)(counts >> 16) << FIELD_BITS |
                                              (uint64_t)(next & 0xffff) << 2 * FIELD_BITS |
                                              (uint64_t)(next >> 16) << 3 * FIELD_BITS | WORD_VALID);
}

// The bits in which integer keys may differ, by a look at 32 of them. Where these are few and scattered, keys are
// sorted with these bits side by side, in fewer passes, as long as no key differs in other bits. The last pass writes
// the keys as they were.
template <typename K> struct bits_in_use {
    bit_gather<K> gather;
    K others;        // of a transformed key: the bits that are the same in all
    uint32_t passes; // digits of 8 bits that hold those in use; 0: the usual digits are as good

    // The first warp, behind few.look() and before a barrier; `key` is transformed.
    __device__ __forceinline__ void look(K key, const psvi_key_order &order, bool enough, const few_values<K> &few) {
        const K bits = psvd_reduce_or((K)(key ^ __shfl_sync(PSVI_RADIX_FULL_WARP, key, 0)));
        if (threadIdx.x != 0) return;
        const bool all_bits = order.begin_bit == 0 && order.end_bit == 8 * sizeof(K);
        uint32_t usual = 0;
        for (uint32_t shift = 0; shift < 8 * sizeof(K); shift += PSVI_RADIX_BITS)
            usual += (bits >> shift & (PSVI_RADIX_DIGITS - 1)) != 0;
        passes = (number_of_bits(bits) + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
        if (!enough || !all_bits || order.is_float || passes >= usual || few.may_be_few()) passes = 0;
        others = key & ~bits;
        if (passes != 0) gather.choose(bits);
    }

    // Whether keys differ in no other bits. `different`: those in which they do.
    __device__ __forceinline__ bool are_all(const uint32_t *different) const {
        const uint64_t bits = (uint64_t)different[1] << 32 | different[0];
        return (bits & ~(uint64_t)gather.chosen) == 0;
    }

    // A key with its bits in use side by side, and back. (An integer is transformed by one xor.)
    __device__ __forceinline__ K shorten(K raw, const psvi_key_order &order) const {
        return gather(raw ^ (K)order.flip) ^ (K)order.flip;
    }
    __device__ __forceinline__ K lengthen(K raw, const psvi_key_order &order) const {
        return (gather.back(raw ^ (K)order.flip) | others) ^ (K)order.flip;
    }
};

// Writes the tile, which lies in shared memory in the order of its digits, to where `goals` say. keys_to NULL: no keys.
// `longer`: the bits in use of keys that are to get their other bits back; NULL: none.
template <int KIND, int VALUE_BYTES, int ITEMS, typename K, typename V>
__device__ __forceinline__ void write_tile(const psvi_radix_job &job, const K *tile_keys, const V *tile_values,
                                           const uint32_t *goals, digit_field field, const bits_in_use<K> *longer,
                                           uint32_t valid, K *keys_to, V *values_to) {
    constexpr int MOVE = move_batch(ITEMS);
#pragma unroll
    for (int at = 0; at < ITEMS; at += MOVE) {
        K moved[MOVE];
        V moved_values[MOVE];
        uint32_t targets[MOVE];
#pragma unroll
        for (int i = 0; i < MOVE; ++i) {
            const uint32_t place = (at + i) * THREADS + threadIdx.x;
            moved[i] = tile_keys[place];
            if constexpr (VALUE_BYTES != 0) moved_values[i] = tile_values[place];
        }
#pragma unroll
        for (int i = 0; i < MOVE; ++i)
            targets[i] = goals[digit_of<KIND>(moved[i], job.order, field)] + (at + i) * THREADS + threadIdx.x;
        if (longer != nullptr) {
#pragma unroll
            for (int i = 0; i < MOVE; ++i)
                moved[i] = longer->lengthen(moved[i], job.order);
        }
#pragma unroll
        for (int i = 0; i < MOVE; ++i) {
            if ((at + i) * THREADS + threadIdx.x >= valid) break;
            if (keys_to != nullptr) global(keys_to)[targets[i]] = moved[i];
            if constexpr (VALUE_BYTES != 0) global(values_to)[targets[i]] = moved_values[i];
        }
    }
}

// The block's items from the input. What it returns depends on all values: nobody writes before all blocks have
// published, and none publishes before it has its items. Keys are ranked first, but nothing would wait for the values.
template <int VALUE_BYTES, int ITEMS, typename K, typename V>
__device__ __forceinline__ uint32_t read_share(const psvi_radix_job &job, uint64_t tile_first, uint32_t first,
                                               uint32_t valid, K (&keys)[ITEMS], V (&values)[ITEMS]) {
    const K *keys_in = static_cast<const K *>(job.keys_in);
    const V *values_in = static_cast<const V *>(job.values_in);
    uint32_t arrived = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        keys[i] = first + i * 32 < valid ? __ldcg(keys_in + tile_first + first + i * 32) : 0;
    if constexpr (VALUE_BYTES != 0) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            values[i] = job.implicit             ? (V)(tile_first + first + i * 32)
                        : first + i * 32 < valid ? __ldcg(values_in + tile_first + first + i * 32)
                                                 : 0;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            arrived |= (uint32_t)values[i];
    }
    return arrived;
}

// The same items as the pass before has left them.
template <int VALUE_BYTES, int ITEMS, typename K, typename V>
__device__ __forceinline__ void read_back(const K *keys_work, const V *values_work, uint64_t tile_first, uint32_t first,
                                          uint32_t valid, K (&keys)[ITEMS], V (&values)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (first + i * 32 < valid) keys[i] = __ldcg(keys_work + tile_first + first + i * 32);
    if constexpr (VALUE_BYTES != 0) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (first + i * 32 < valid) values[i] = __ldcg(values_work + tile_first + first + i * 32);
    }
}

// Samples: whether all keys of the block are among few values. All threads of the block.
template <int KIND, int ITEMS, typename K>
__device__ __forceinline__ bool has_few_values(const psvi_radix_job &job, few_values<K> &few, void *memory,
                                               const K (&keys)[ITEMS], uint32_t first, uint32_t valid, uint64_t count) {
    auto number_of = [&](K raw) { return sorted_part(transform<KIND>(raw, job.order), job.order); };
    const K *keys_in = static_cast<const K *>(job.keys_in);
    if (!few.template find<THREADS>(*static_cast<few_samples<K> *>(memory),
                                    [&](uint32_t j) { return number_of(__ldcg(keys_in + few_place(j, count))); }))
        return false;
    bool known = true;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) // of several at once: each look is six reads that wait for each other
        known &= first + i * 32 >= valid || few.index_of(number_of(keys[i])) < FEW_MOST;
    return __syncthreads_and(known);
}

// What a block has found out, and then all of them.
struct resident_findings {
    uint32_t different_bits[2], unordered, many;

    // Tells all blocks, in this block's row of the first exchange.
    __device__ __forceinline__ void tell(uint64_t *row) const {
        if (threadIdx.x < 2)
            store_word(row + COLUMNS + threadIdx.x,
                       different_bits[threadIdx.x] | (uint64_t)unordered << 32 | (uint64_t)many << 33 | WORD_VALID);
    }
    // Waits for what the others tell.
    __device__ __forceinline__ void learn(const uint64_t *matrix) {
        if (threadIdx.x >= gridDim.x) return;
        const uint64_t *row = matrix + threadIdx.x * PSVI_RADIX_ROW_WORDS + COLUMNS;
        uint64_t low = wait_word(row), high = wait_word(row + 1);
        // Most often all blocks say the same, so most have nothing to add.
        if ((uint32_t)low & ~different_bits[0]) atomicOr(&different_bits[0], (uint32_t)low);
        if ((uint32_t)high & ~different_bits[1]) atomicOr(&different_bits[1], (uint32_t)high);
        if (low >> 32 & 1) unordered = 1;
        if (low >> 33 & 1) many = 1;
    }
};

// Nobody reads or writes the next matrix before all have passed the coming exchange.
__device__ __forceinline__ void clear_matrix(uint64_t *next_matrix) {
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < PSVI_RADIX_RESIDENT_BLOCKS * PSVI_RADIX_ROW_WORDS;
         i += gridDim.x * THREADS)
        next_matrix[i] = 0;
}

// All digit passes, from the first exchange on. `ordered`: there are none. Returns how many have run.
template <int KIND, int VALUE_BYTES, int ITEMS, typename K, typename V>
__device__ __forceinline__ uint32_t run_passes(const psvi_radix_job &job, unsigned char *shared,
                                               radix_counter *counters, uint32_t *sums, uint32_t *starts,
                                               uint32_t *before, uint32_t *total, resident_findings &found,
                                               const few_values<K> &few, const bits_in_use<K> &used,
                                               uint64_t tile_first, uint32_t first, uint32_t valid, bool warp_full,
                                               bool ordered, uint64_t *first_matrix, const warp_ranker &ranker,
                                               uint32_t &sequence, K (&keys)[ITEMS], V (&values)[ITEMS]) {
    constexpr uint32_t TILE = THREADS * ITEMS;
    psvi_radix_control *control = job.control;
    const K *keys_in = static_cast<const K *>(job.keys_in);
    K *tile_keys = reinterpret_cast<K *>(shared);
    V *tile_values = reinterpret_cast<V *>(tile_keys + TILE);
    // Items between the passes live in the output, where there is one. L1 knows nothing of other blocks' writes: all
    // reads bypass it.
    K *keys_work = static_cast<K *>(job.keys_out != nullptr ? job.keys_out
                                    : job.keep_keys_in      ? job.keys_spare[0]
                                                            : const_cast<void *>(job.keys_in));
    // Values alternate between two arrays: a block may still be reading its values while others already write theirs.
    const V *values_work = nullptr;
    V *values_target = static_cast<V *>(job.values_out);
    uint32_t wanted = ordered ? 0 : 1, passes = 0; // slots still to be sorted; known after the first exchange
    bool first_exchange = true, in_registers = true, shorter = !ordered && used.passes != 0;
    if (shorter) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            keys[i] = used.shorten(keys[i], job.order);
    }
    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        if (!(wanted >> slot & 1)) continue;
        if (!in_registers) read_back<VALUE_BYTES>(keys_work, values_work, tile_first, first, valid, keys, values);
        const digit_field field = field_of_slot(job.order, slot);
        uint64_t *matrix = control->resident.matrix[sequence & 1][0];
        uint64_t *own_row = matrix + blockIdx.x * PSVI_RADIX_ROW_WORDS;
        uint32_t ranks[ITEMS / 2];
        auto digit_at = [&](int i) { return digit_of<KIND>(keys[i], job.order, field); };
        // Items past the end stay last, are not counted and not written.
        auto digit_if_valid = [&](int i) { return first + i * 32 < valid ? digit_at(i) : PSVI_RADIX_DIGITS - 1; };
        clear_for_digit(ranker, before, total);
        rank_share<ITEMS>(ranker, warp_full, digit_at, digit_if_valid, ranks);
        __syncthreads();
        uint32_t start, counts = place_digits<WARPS>(counters, sums, start);
        if (threadIdx.x < PSVI_RADIX_DIGITS / 2) {
            if (threadIdx.x == PSVI_RADIX_DIGITS / 2 - 1) counts -= (TILE - valid) << 16;
            publish_counts(own_row, counts);
            starts[threadIdx.x] = start;
        }
        if (!first_exchange) clear_matrix(control->resident.matrix[~sequence & 1][0]);
        __syncthreads();
        put_in_places<ITEMS>(ranker, ranks, digit_if_valid, [&](uint32_t place, int i) {
            tile_keys[place] = keys[i];
            if constexpr (VALUE_BYTES != 0) tile_values[place] = values[i];
        });
        sum_rows(matrix, before, total);
        if (first_exchange) found.learn(first_matrix);
        ++sequence;
        __syncthreads();
        if (first_exchange) {
            first_exchange = false;
            const bool misled = shorter && !used.are_all(found.different_bits);
            if (misled) {
                shorter = false;
#pragma unroll
                for (int i = 0; i < ITEMS; ++i)
                    keys[i] = first + i * 32 < valid ? __ldcg(keys_in + tile_first + first + i * 32) : 0;
            }
            wanted = shorter ? (1u << used.passes) - 1
                             : slots_that_differ(job, found.different_bits) & (found.many ? ~0u : few.deciding);
            // The last pass writes values_out, and those before it to and fro.
            if (__popc(wanted) % 2 == 0) values_target = static_cast<V *>(job.values_spare[0]);
            if (misled || !(wanted >> slot & 1)) { // nothing moves, but the matrices change places
                if (wanted != 0) wait_for_all_blocks(control->resident.flags, sequence);
                if (misled) slot = ~0u; // the digits begin anew
                continue;
            }
        }
        find_goals(total, starts, sums, before);
        ++passes;
        const bool last = (wanted >> slot) == 1;
        K *keys_to = !last || job.keys_out != nullptr ? keys_work : nullptr;
        write_tile<KIND, VALUE_BYTES, ITEMS>(job, tile_keys, tile_values, before, field,
                                             last && shorter ? &used : nullptr, valid, keys_to, values_target);
        in_registers = false;
        values_work = values_target;
        values_target = static_cast<V *>(values_target == job.values_out ? job.values_spare[0] : job.values_out);
        if (!last) wait_for_all_blocks(control->resident.flags, sequence);
    }
    return passes;
}

// In and out: all items, THREADS * ITEMS for each block; out may be in. All blocks are resident at once (cooperative
// launch). One block ranks its items by a digit and publishes its 256 counts as one row of a matrix. It adds up the
// rows of all blocks and writes its items in runs. A word of the matrix is valid once its top bit is set, so reading
// the matrix is waiting for it; the other matrix is cleared meanwhile for the next pass. As a block publishes only
// after it has read its items, the exchange also makes it safe to write over the input. The first exchange also tells
// which bits differ at all, and whether the items are in order already. Bytes: one read and one write of every item a
// pass, in L2, and a matrix of 512 bytes a block read by every block.
template <int KIND, int VALUE_BYTES, int ITEMS>
__device__ __forceinline__ void sort_resident(const psvi_radix_job &job) {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    constexpr uint32_t TILE = THREADS * ITEMS;
    extern __shared__ __align__(16) unsigned char shared[];
    // The tables for ranking lie where the tile is assembled after it.
    constexpr uint32_t shared_bytes = resident_shared_bytes<sizeof(K) + VALUE_BYTES, ITEMS>();
    radix_counter *counters =
        reinterpret_cast<radix_counter *>(shared + shared_bytes - WARPS * PSVI_RADIX_DIGITS * sizeof(radix_counter));
    __shared__ uint32_t sums[8];
    __shared__ uint32_t starts[PSVI_RADIX_DIGITS / 2], before[PSVI_RADIX_DIGITS], total[PSVI_RADIX_DIGITS];
    __shared__ resident_findings found;
    __shared__ few_values<K> few;
    __shared__ bits_in_use<K> used;

    psvi_radix_control *control = job.control;
    if (is_done(job)) return;
    const uint64_t count = job_count(job);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t tile_first = blockIdx.x * (uint64_t)TILE;
    const uint32_t valid = count <= tile_first ? 0 : (uint32_t)(count - tile_first < TILE ? count - tile_first : TILE);
    const uint32_t first = warp * (32 * ITEMS) + lane; // in the tile
    const bool warp_full = (warp + 1) * (32 * ITEMS) <= valid;
    const warp_ranker ranker = make_ranker(shared, counters);
    uint32_t sequence = __ldcg(&control->resident.sequence);

    K keys[ITEMS];
    V values[ITEMS];
    const K *keys_in = static_cast<const K *>(job.keys_in);
    const bool samples = count >= 2 * FEW_SAMPLES;
    const K sample = samples && threadIdx.x < 32 ? __ldcg(keys_in + few_look_place(count)) : (K)threadIdx.x;
    const uint32_t arrived = read_share<VALUE_BYTES>(job, tile_first, first, valid, keys, values);
    if (threadIdx.x < 32) {
        few.look(sample, samples);
        used.look(transform<KIND>(sample, job.order), job.order, samples, few);
    }
    if (threadIdx.x < 2) found.different_bits[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        found.unordered = 0;
        found.many = 1;
    }
    __syncthreads();
    look_at_keys<KIND, ITEMS>(job, keys, tile_first, first, valid, count, found.different_bits, &found.unordered);
    if (arrived & job.zero) found.unordered = 1; // never, but the compiler does not know

    if (few.may_be_few() && has_few_values<KIND>(job, few, shared, keys, first, valid, count) && threadIdx.x == 0)
        found.many = 0;

    // Tells all blocks what this one has found out. It waits for the others only where its own items are in order.
    uint64_t *first_matrix = control->resident.matrix[sequence & 1][0];
    __syncthreads();
    found.tell(first_matrix + blockIdx.x * PSVI_RADIX_ROW_WORDS);
    clear_matrix(control->resident.matrix[~sequence & 1][0]);
    const bool perhaps_ordered = job.order_check && !found.unordered;
    if (perhaps_ordered) {
        __syncthreads();
        found.learn(first_matrix);
        __syncthreads();
    }
    const bool ordered = perhaps_ordered && !found.unordered; // then all blocks say so, and nobody publishes counts
    if (ordered) ++sequence;

    const uint32_t passes = run_passes<KIND, VALUE_BYTES, ITEMS>(job, shared, counters, sums, starts, before, total,
                                                                 found, few, used, tile_first, first, valid, warp_full,
                                                                 ordered, first_matrix, ranker, sequence, keys, values);
    if (passes == 0) copy_held<VALUE_BYTES, ITEMS>(job, keys, values, tile_first, first, valid);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control->resident.sequence = sequence; // everyone has read it: block 0 has seen a row of each block
        tell_outcome(job, passes == 0 ? PSVI_RADIX_IN_ORDER : PSVI_RADIX_RESIDENT, veto_of(job), passes);
    }
}

template <int KIND, int VALUE_BYTES, int ITEMS>
__global__ void __launch_bounds__(THREADS, 1) psvk_radix_resident(psvi_radix_job job) {
    if constexpr (code_holds<KIND>(
                      resident_shared_bytes<sizeof(typename radix_key<KIND>::type) + VALUE_BYTES, ITEMS>()))
        sort_resident<KIND, VALUE_BYTES, ITEMS>(job);
}

template <int KIND, int VALUE_BYTES, int ITEMS>
cudaError_t launch_resident(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr uint32_t shared_bytes =
        resident_shared_bytes<sizeof(typename radix_key<KIND>::type) + VALUE_BYTES, ITEMS>();
    auto kernel = psvk_radix_resident<KIND, VALUE_BYTES, ITEMS>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (error != cudaSuccess) return error;
    uint32_t blocks = (uint32_t)((job->count + THREADS * ITEMS - 1) / (THREADS * ITEMS));
    psvi_radix_job copy = *job;
    void *arguments[] = {&copy};
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks), dim3(THREADS), arguments, shared_bytes,
                                       stream);
}

template <int KIND, int VALUE_BYTES>
cudaError_t launch_items(const psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    if (items == 2) return launch_resident<KIND, VALUE_BYTES, 2>(job, stream);
    if (items == 4) return launch_resident<KIND, VALUE_BYTES, 4>(job, stream);
    if (items == 8) return launch_resident<KIND, VALUE_BYTES, 8>(job, stream);
    if (items == 16) return launch_resident<KIND, VALUE_BYTES, 16>(job, stream);
    if constexpr (sizeof(typename radix_key<KIND>::type) + VALUE_BYTES <= 8) {
        if (items == 20) return launch_resident<KIND, VALUE_BYTES, 20>(job, stream);
        if (items == 32) return launch_resident<KIND, VALUE_BYTES, 32>(job, stream);
    }
    return cudaErrorInvalidValue;
}

template <int KIND> cudaError_t launch_values(const psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    return with_values(job, [&](auto bytes) { return launch_items<KIND, decltype(bytes)::value>(job, items, stream); });
}

} // namespace

#endif
