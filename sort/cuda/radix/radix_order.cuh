// Route IN_ORDER: checks whether the input is sorted. Runs before all else if the last call's keys were. Included by
// radix_histogram.cu.
#ifndef PAIRSIEVE_RADIX_ORDER_CUH
#define PAIRSIEVE_RADIX_ORDER_CUH

#include "radix_device.cuh"
#include "radix_plan.cuh"

namespace {

constexpr uint32_t CHECK_THREADS = 512, CHECK_PACK = 4, CHECK_UNROLL = 4;
constexpr uint32_t CHECK_WARP_KEYS = 32 * CHECK_PACK * CHECK_UNROLL; // in one go
constexpr uint32_t CHECK_BLOCK_KEYS = CHECK_THREADS / 32 * CHECK_WARP_KEYS;

// In: 32-bit keys. Out: control->done, and where it is 1, a plan that only copies. Bytes: one read of the keys.
template <int KIND> __global__ void __launch_bounds__(CHECK_THREADS, 2) psvk_radix_order(psvi_radix_job job) {
    psvi_radix_control *control = job.control;
    __shared__ uint32_t ticket;
    let_next_kernel_come();
    wait_for_kernel_before();
    const uint32_t count = (uint32_t)job_count(job), lane = threadIdx.x % 32;
    const uint32_t *keys = global(static_cast<const uint32_t *>(job.keys_in));
    const bool aligned = ((uintptr_t)keys & 15) == 0;
    auto part = [&](uint32_t raw) { return sorted_part(transform<KIND>(raw, job.order), job.order); };
    bool unordered = false;
    for (uint32_t begin = blockIdx.x * CHECK_BLOCK_KEYS + threadIdx.x / 32 * CHECK_WARP_KEYS; begin < count;
         begin += gridDim.x * CHECK_BLOCK_KEYS) {
        uint4 packs[CHECK_UNROLL];
        // What lies past the end is not compared.
        const bool whole = aligned && count - begin > CHECK_WARP_KEYS;
#pragma unroll
        for (uint32_t u = 0; u < CHECK_UNROLL; ++u) {
            const uint32_t at = begin + (u * 32 + lane) * CHECK_PACK;
            if (whole) {
                packs[u] = *reinterpret_cast<const uint4 *>(keys + at);
            } else {
                packs[u].x = keys[min(at, count - 1)];
                packs[u].y = keys[min(at + 1, count - 1)];
                packs[u].z = keys[min(at + 2, count - 1)];
                packs[u].w = keys[min(at + 3, count - 1)];
            }
        }
        const uint32_t past = keys[min(begin + CHECK_WARP_KEYS, count - 1)];
#pragma unroll
        for (uint32_t u = 0; u < CHECK_UNROLL; ++u) {
            const uint32_t wrapped =
                u + 1 < CHECK_UNROLL ? __shfl_sync(PSVI_RADIX_FULL_WARP, packs[(u + 1) % CHECK_UNROLL].x, 0) : past;
            const uint32_t right = __shfl_down_sync(PSVI_RADIX_FULL_WARP, packs[u].x, 1);
            const uint32_t a = part(packs[u].x), b = part(packs[u].y), c = part(packs[u].z), d = part(packs[u].w);
            unordered |= a > b || b > c || c > d || d > part(lane == 31 ? wrapped : right);
        }
        if (__any_sync(PSVI_RADIX_FULL_WARP, unordered)) break;
    }
    if (unordered) control->unordered = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) ticket = atomicAdd(&control->ticket, 1u);
    __syncthreads();
    if (ticket != gridDim.x - 1 || threadIdx.x != 0) return;
    __threadfence();
    const bool in_order = __ldcg(&control->unordered) == 0;
    control->unordered = 0;
    control->ticket = 0;
    control->done = in_order;
    control->veto = PSVI_RADIX_VETO_NOT_IN_ORDER;
    tell_order(job, in_order ? PSVI_RADIX_ORDER_SORTED : PSVI_RADIX_ORDER_OTHER);
    if (!in_order) return;
    control->windows.state = PSVI_RADIX_NEARLY_NO;
    plan_passes(job, 0);
}

inline cudaError_t launch_check(const psvi_radix_job *job, cudaStream_t stream) {
    const uint64_t wanted = (job->count + CHECK_BLOCK_KEYS - 1) / CHECK_BLOCK_KEYS;
    const uint32_t blocks = (uint32_t)(wanted < 2 * job->multiprocessors ? wanted : 2 * job->multiprocessors);
    return with_narrow_kind(job, [&](auto kind) {
        psvk_radix_order<decltype(kind)::value><<<blocks, CHECK_THREADS, 0, stream>>>(*job);
        return cudaGetLastError();
    });
}

} // namespace

#endif
