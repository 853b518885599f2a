// Sleep on the device (body_sleep.h), in worlds that ask for it. One thread a body or a contact, grid-stride; what one
// kernel writes the next reads.
#include "../solver/body_sleep.h"
#include "step_kernels.h"
#include "tuning.h"

// Bodies have woken; no other island is to wake yet.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_clear_wakes(psvi_sim s) {
    if (s.counts->halted) return;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.slots; i += gridDim.x * blockDim.x)
        s.wake[i] = 0;
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_wake(psvi_sim s) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
        psvi_wake_by_contact(&s, i);
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_count_still(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.slots; i += gridDim.x * blockDim.x)
        psvi_count_still(&s, &step, i);
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_join_islands(psvi_sim s) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
        psvi_join_islands(&s, i);
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_mark_busy(psvi_sim s) {
    if (s.counts->halted) return;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.slots; i += gridDim.x * blockDim.x)
        psvi_mark_busy(&s, i);
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_fall_asleep(psvi_sim s) {
    if (s.counts->halted) return;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.slots; i += gridDim.x * blockDim.x)
        psvi_fall_asleep(&s, i);
}

__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_label_islands(psvi_sim s) {
    if (s.counts->halted) return;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.slots; i += gridDim.x * blockDim.x)
        psvi_label_island(&s, i);
}

cudaError_t psvi_launch_clear_wakes(const psvi_sim *sim, int processors, cudaStream_t stream) {
    psvk_clear_wakes<<<(unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM), PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    return cudaGetLastError();
}

cudaError_t psvi_launch_rest(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream) {
    const unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    psvk_wake<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    if (!step->sleeps) return cudaGetLastError();
    psvk_count_still<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_join_islands<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    psvk_mark_busy<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    psvk_fall_asleep<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    psvk_label_islands<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    return cudaGetLastError();
}
