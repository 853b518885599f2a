// The `radix` method for a few thousand items: one block, one launch, all passes in registers and shared memory.
#include "radix_device.cuh"
#include "radix_plan.cuh"

namespace {

constexpr int THREADS = PSVI_RADIX_TINY_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int ITEMS = PSVI_RADIX_TINY_ITEMS;
constexpr uint32_t TILE = THREADS * ITEMS;

template <int PAIR_BYTES> constexpr uint32_t tiny_shared_bytes() {
    return TILE * PAIR_BYTES + WARPS * (RANK_TABLE_BYTES + PSVI_RADIX_DIGITS * sizeof(radix_counter));
}

// In and out: all items. The one block keeps them in registers, in the order (warp, item, lane), and moves them
// through shared memory after the rank of each digit; digits that are the same everywhere are skipped.
// Bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES> __global__ void __launch_bounds__(THREADS, 1) psvk_radix_tiny(psvi_radix_job job) {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    extern __shared__ __align__(16) unsigned char shared[];
    K *tile_keys = reinterpret_cast<K *>(shared);
    V *tile_values = reinterpret_cast<V *>(tile_keys + TILE);
    radix_counter *counters = reinterpret_cast<radix_counter *>(shared + TILE * (sizeof(K) + VALUE_BYTES));
    __shared__ uint32_t sums[4];
    __shared__ uint32_t wanted_slots;

    const uint32_t count = (uint32_t)job_count(job);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t first = warp * (32 * ITEMS) + lane;
    const bool occupied = warp * (32 * ITEMS) < count; // warps past the end only keep the barriers
    const warp_ranker ranker = make_ranker(counters + WARPS * PSVI_RADIX_DIGITS, counters);
    clear_tables(ranker); // every rank leaves them clear
    const K *keys_in = static_cast<const K *>(job.keys_in);
    const V *values_in = static_cast<const V *>(job.values_in);

    if (threadIdx.x == 0) wanted_slots = 0;
    __syncthreads();
    K keys[ITEMS];
    V values[ITEMS];
    K different = 0;
    const K some = count != 0 ? transform<KIND>(keys_in[0], job.order) : 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        bool valid = first + i * 32 < count;
        keys[i] = valid ? keys_in[first + i * 32] : 0;
        if (valid) different |= transform<KIND>(keys[i], job.order) ^ some;
        if constexpr (VALUE_BYTES != 0)
            values[i] = job.implicit ? (V)(first + i * 32) : valid ? values_in[first + i * 32] : 0;
    }
    uint32_t wanted = 0;
    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        digit_field field = field_of_slot(job.order, slot);
        if (__any_sync(PSVI_RADIX_FULL_WARP, ((uint32_t)(different >> field.shift) & field.mask) != 0))
            wanted |= 1u << slot;
    }
    if (lane == 0 && wanted != 0) atomicOr(&wanted_slots, wanted);
    __syncthreads();
    wanted = wanted_slots;

    for (uint32_t slot = 0; slot < job.slots; ++slot) {
        if (!(wanted >> slot & 1)) continue;
        const digit_field field = field_of_slot(job.order, slot);
        uint32_t ranks[ITEMS / 2];
        auto digit_at = [&](int i) {
            uint32_t digit = digit_of<KIND>(keys[i], job.order, field);
            return first + i * 32 < count ? digit : PSVI_RADIX_DIGITS - 1; // those past the end stay last
        };
        clear_counters(ranker);
        __syncwarp();
        if (occupied) rank_in_warp<ITEMS>(ranker, digit_at, ranks);
        __syncthreads();
        uint32_t starts;
        place_digits<WARPS>(counters, sums, starts);
        __syncthreads();
        if (occupied) {
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                uint32_t place = place_in_block(ranker, ranks, i, digit_at(i));
                tile_keys[place] = keys[i];
                if constexpr (VALUE_BYTES != 0) tile_values[place] = values[i];
            }
        }
        __syncthreads();
        if (occupied) {
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                keys[i] = tile_keys[first + i * 32];
                if constexpr (VALUE_BYTES != 0) values[i] = tile_values[first + i * 32];
            }
        }
    }

    K *keys_out = static_cast<K *>(job.keys_out);
    V *values_out = static_cast<V *>(job.values_out);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i * 32 >= count) break;
        if (keys_out != nullptr) keys_out[first + i * 32] = keys[i];
        if constexpr (VALUE_BYTES != 0) values_out[first + i * 32] = values[i];
    }
    if (threadIdx.x == 0) {
        job.control->passes_run = __popc(wanted);
        job.control->passes_skipped = job.slots - __popc(wanted);
    }
}

template <int KIND, int VALUE_BYTES> cudaError_t launch(const psvi_radix_job *job, cudaStream_t stream) {
    constexpr uint32_t shared_bytes = tiny_shared_bytes<sizeof(typename radix_key<KIND>::type) + VALUE_BYTES>();
    auto kernel = psvk_radix_tiny<KIND, VALUE_BYTES>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (error != cudaSuccess) return error;
    kernel<<<1, THREADS, shared_bytes, stream>>>(*job);
    return cudaGetLastError();
}

template <int KIND> cudaError_t launch_values(const psvi_radix_job *job, cudaStream_t stream) {
    if (job->value_bytes == 0) return launch<KIND, 0>(job, stream);
    return job->value_bytes == 4 ? launch<KIND, 4>(job, stream) : launch<KIND, 8>(job, stream);
}

} // namespace

cudaError_t psvi_radix_tiny(const psvi_radix_job *job, cudaStream_t stream) {
    if (job->order.is_wide)
        return job->order.is_float ? launch_values<PSVI_RADIX_FLOAT64>(job, stream)
                                   : launch_values<PSVI_RADIX_INT64>(job, stream);
    return job->order.is_float ? launch_values<PSVI_RADIX_FLOAT32>(job, stream)
                               : launch_values<PSVI_RADIX_INT32>(job, stream);
}
