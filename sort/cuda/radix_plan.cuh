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

// One chain of buffers, for the keys or for the values: `in`, then buffers between, then `out` after the last pass.
struct radix_chain {
    void *in, *out; // in: NULL when there is nothing to read (implicit values). out: NULL when not wanted
    void *spare[2]; // [1] may be NULL
    bool keep_in;   // `in` may not be written, unless it is `out`
};

__device__ __forceinline__ bool chain_in_place(const radix_chain &chain) {
    return chain.out != nullptr && chain.in == chain.out;
}

// Where pass `step` of `steps` writes. A pass never writes what it reads, and the last one writes `out`.
__device__ __forceinline__ void *chain_target(const radix_chain &chain, uint32_t step, uint32_t steps) {
    if (step == steps - 1) return chain.out;
    if (chain.out == nullptr) return step & 1 ? (chain.keep_in ? chain.spare[1] : chain.in) : chain.spare[0];
    bool odd = (steps - 2 - step) & 1; // counted from the end, where the target is given
    if (!odd) return chain.spare[0];
    return chain_in_place(chain) && (steps & 1) ? chain.spare[1] : chain.out;
}

// A chain that ends where it begins needs an even number of passes, or a second spare buffer for three or more.
__device__ __forceinline__ bool chain_fits(const radix_chain &chain, uint32_t steps) {
    if (steps == 0) return chain.out == nullptr || chain_in_place(chain);
    if (!chain_in_place(chain) || steps % 2 == 0) return true;
    return steps >= 3 && chain.spare[1] != nullptr;
}

// Chooses the passes: those digits that are not the same for all keys, and one more (a plain copy) where the buffers
// ask for it. There is always an unused slot left for that: see the slots in radix.c. One thread.
__device__ inline void plan_passes(const psvi_radix_job &job, uint32_t wanted) {
    psvi_radix_control *control = job.control;
    radix_chain keys = {
        const_cast<void *>(job.keys_in), job.keys_out, {job.keys_spare[0], job.keys_spare[1]}, job.keep_keys_in != 0};
    radix_chain values = {
        const_cast<void *>(job.values_in), job.values_out, {job.values_spare[0], job.values_spare[1]}, false};
    if (job.implicit) values.in = nullptr;
    if (job.value_bytes == 0) values.out = nullptr;
    uint32_t steps = __popc(wanted);
    const uint32_t sorting = wanted;
    for (uint32_t slot = 0; slot < job.slots; ++slot)
        if (!(chain_fits(keys, steps) && chain_fits(values, steps)) && !(wanted >> slot & 1)) {
            wanted |= 1u << slot;
            ++steps;
        }
    const void *key_source = keys.in, *value_source = values.in;
    for (uint32_t slot = 0, step = 0; slot < job.slots; ++slot) {
        psvi_radix_pass pass = {};
        if (wanted >> slot & 1) {
            pass.keys_in = key_source;
            pass.values_in = value_source;
            key_source = pass.keys_out = chain_target(keys, step, steps);
            if (job.value_bytes != 0) value_source = pass.values_out = chain_target(values, step, steps);
            pass.active = 1;
            pass.copy = !(sorting >> slot & 1);
            pass.implicit = job.implicit && step == 0;
            pass.step = step++;
        }
        control->passes[slot] = pass;
    }
    control->passes_run = steps;
    control->passes_skipped = job.slots - steps;
}

// Scans the histograms to first places, plans, and leaves the control block as the next call needs it. One block of
// at least 256 threads.
__device__ inline void make_plan(const psvi_radix_job &job, uint64_t count, uint32_t digits, bool order_known) {
    __shared__ uint32_t warp_sums[PSVI_RADIX_DIGITS / 32];
    __shared__ uint32_t wanted;
    psvi_radix_control *control = job.control;
    const uint32_t *histograms = job.histograms != nullptr ? job.histograms : &control->histogram[0][0];
    const bool sorted = order_known && __ldcg(&control->unordered) == 0;
    const uint32_t bin = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) wanted = sorted || count < 2 ? 0 : (1u << digits) - 1;
    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        uint32_t own = 0, sum = 0;
        if (bin < PSVI_RADIX_DIGITS) {
            // The extra slot, and any digit where nothing is to be sorted, are copies: all items in digit 0.
            own = slot < digits ? __ldcg(histograms + slot * PSVI_RADIX_DIGITS + bin) : bin == 0 ? (uint32_t)count : 0;
            sum = own;
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                uint32_t left = __shfl_up_sync(PSVI_RADIX_FULL_WARP, sum, step);
                if (lane >= step) sum += left;
            }
            if (lane == 31) warp_sums[warp] = sum;
        }
        __syncthreads();
        if (bin < PSVI_RADIX_DIGITS) {
            uint32_t start = sum - own;
            for (uint32_t before = 0; before < warp; ++before)
                start += warp_sums[before];
            control->bases[slot][0][bin] = start;
            if (slot < digits && own == (uint32_t)count) atomicAnd(&wanted, ~(1u << slot));
            if (job.histograms == nullptr && slot < digits) control->histogram[slot][bin] = 0;
        }
        if (threadIdx.x < PSVI_RADIX_MAX_PORTIONS) control->tile_counter[slot][threadIdx.x] = 0;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        plan_passes(job, wanted);
        control->ticket = 0;
        control->unordered = 0;
    }
}

#endif
