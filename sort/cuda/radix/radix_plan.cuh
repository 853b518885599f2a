// The plan of the digit passes, made on the device by the block that completes the histograms: which digits have to be
// sorted at all, and from which memory to which.
#ifndef PAIRSIEVE_RADIX_PLAN_CUH
#define PAIRSIEVE_RADIX_PLAN_CUH

#include "radix_device.cuh"

// The bits of a transformed key that are compared.
template <typename K> __device__ __forceinline__ K sorted_part(K transformed, const psvi_key_order &order) {
    uint32_t unused = (uint32_t)sizeof(K) * 8 - order.end_bit;
    return (K)(transformed << unused) >> unused >> order.begin_bit;
}

// Chooses the passes. Digits that are the same in all keys are left out. Without any digit left,
// items that have to move are copied. A single pass from an array to itself is not possible: a second
// pass then copies, by way of spare memory (so job.slots is 2 or more). Items go from the request's
// input to spare memory 0, 1, 0, ... and at last to its output. One thread. `crowded`: see
// psvi_radix_pass.
__device__ inline void plan_passes(const psvi_radix_job &job, uint32_t sorting, uint32_t crowded = 0) {
    psvi_radix_control *control = job.control;
    const bool keys_move = job.keys_out != nullptr && job.keys_out != job.keys_in;
    const bool values_move = job.value_bytes != 0 && (job.implicit || job.values_out != job.values_in);
    const bool in_place = job.keys_out == job.keys_in || (job.value_bytes != 0 && job.values_out == job.values_in);
    uint32_t wanted = sorting, passes = __popc(sorting);
    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        bool fits = passes == 0 ? !keys_move && !values_move : passes > 1 || !in_place || sorting == 0;
        if (fits || (wanted >> slot & 1)) continue;
        wanted |= 1u << slot;
        ++passes;
    }
    for (uint32_t slot = 0, number = 0; slot < job.slots; ++slot) {
        psvi_radix_pass pass = {};
        if (wanted >> slot & 1) {
            pass.active = 1;
            pass.first = number == 0;
            pass.last = number == passes - 1;
            pass.copy = !(sorting >> slot & 1);
            pass.number = number;
            pass.crowded = crowded >> slot & 1;
            pass.keys_in = pass.first ? job.keys_in : job.keys_spare[~number & 1];
            pass.values_in = pass.first ? job.values_in : job.values_spare[~number & 1];
            pass.keys_out = pass.last ? job.keys_out : job.keys_spare[number & 1];
            pass.values_out = pass.last ? job.values_out : job.values_spare[number & 1];
            ++number;
        }
        control->passes.plan[slot] = pass;
    }
    tell_outcome(job, sorting == 0 ? PSVI_RADIX_IN_ORDER : PSVI_RADIX_PASSES, veto_of(job), passes);
}

// Scans the histograms to first places, plans, and leaves the control block as the next call needs it. One block of
// 256 threads or a multiple of that: each 256 scan a digit. `deciding`: bits, the digits that are enough where no block
// has met other keys than those of few values.
__device__ inline void make_plan(const psvi_radix_job &job, uint64_t count, uint32_t digits, bool order_known,
                                 uint32_t deciding) {
    __shared__ uint32_t warp_sums[1024 / 32];
    __shared__ uint32_t wanted, crowded;
    psvi_radix_control *control = job.control;
    const uint32_t *histograms = job.histograms != nullptr ? job.histograms : &control->passes.histogram[0][0];
    const uint32_t unordered = __ldcg(&control->unordered), scattered = __ldcg(&control->passes.scattered),
                   many = __ldcg(&control->passes.many); // on their way
    const uint32_t bin = threadIdx.x % PSVI_RADIX_DIGITS, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t first_warp = warp - bin / 32; // of the 256
    if (threadIdx.x == 0) {
        wanted = ((1u << digits) - 1) & (many ? ~0u : deciding);
        crowded = 0;
    }
    for (uint32_t done = 0; done < job.slots; done += blockDim.x / PSVI_RADIX_DIGITS) {
        const uint32_t slot = done + threadIdx.x / PSVI_RADIX_DIGITS;
        uint32_t own = 0;
        // The extra slot, and any digit where nothing is to be sorted, are copies: all items in digit 0.
        if (slot < digits)
            own = __ldcg(histograms + slot * PSVI_RADIX_DIGITS + bin);
        else if (bin == 0)
            own = (uint32_t)count;
        const uint32_t sum = psvd_sum_up_to(own);
        if (lane == 31) warp_sums[warp] = sum;
        __syncthreads();
        if (slot < job.slots) {
            uint32_t start = sum - own;
            for (uint32_t before = first_warp; before < warp; ++before)
                start += warp_sums[before];
            control->passes.bases[slot][0][bin] = start;
            if (slot < digits && own == (uint32_t)count) atomicAnd(&wanted, ~(1u << slot));
            if (slot < digits && own >= count / 3) atomicOr(&crowded, 1u << slot);
            if (job.histograms == nullptr && slot < digits) control->passes.histogram[slot][bin] = 0;
            if (bin < PSVI_RADIX_MAX_PORTIONS) control->passes.tile_counter[slot][bin] = 0;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const bool sorted = order_known && unordered == 0, nearly = order_known && !sorted && scattered == 0;
        control->windows.state = nearly ? PSVI_RADIX_NEARLY_MAYBE : PSVI_RADIX_NEARLY_NO;
        control->passes.scattered = 0;
        control->passes.many = 0;
        if (sorted) tell_order(job, PSVI_RADIX_ORDER_SORTED);
        // The windows are not behind this kernel then; the next call has them before all else.
        if (nearly && (job.before & PSVI_RADIX_AFTER_ROUNDS)) tell_order(job, PSVI_RADIX_ORDER_NEARLY);
        plan_passes(job, sorted || count < 2 ? 0 : wanted, crowded);
        control->ticket = 0;
        control->unordered = 0;
    }
}

#endif
