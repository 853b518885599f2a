// Narrow phase of convex hulls on the device, away from that of boxes, whose kernels stay as short as they are.
#define PSVI_ONLY_HULLS true
#include "../contacts/narrow.h"
#include "step_kernels.h"
#include "tuning.h"

// In: pairs with a hull whose points have to be found, from the lists' end down. Out: their contacts; those to be
// followed, from the end of the other pairs down. One thread a pair: a hull's table, 4.4 KB at most and a few hundred
// bytes of a die, is read through the caches.
__global__ void __launch_bounds__(PSVI_HULL_BLOCK) psvk_narrow_hulls(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->hulls;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t number = *(s.lists_end - 1 - i);
        psv_pair pair = s.pairs[number];
        if (psvi_narrow_other_pair(&s, &step, pair.a, pair.b, true)) {
            uint64_t index, first;
            psvi_reserve(&s.counts->hulls_followed, &s.counts->hulls_followed, 0, &index, &first);
            *(s.followed_pairs - 1 - index) = number;
        }
    }
}

// In: pairs with a hull that are apart and fast. Out: their contacts, as psvk_follow's.
__global__ void __launch_bounds__(PSVI_HULL_BLOCK) psvk_follow_hulls(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->hulls_followed;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psv_pair pair = s.pairs[*(s.followed_pairs - 1 - i)];
        psvi_follow_pair(&s, &step, pair.a, pair.b, false, true);
    }
}

// Hulls against the ground. One thread a body.
__global__ void __launch_bounds__(PSVI_HULL_BLOCK) psvk_ground_hulls(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted || s.geometry.shapes[s.shape[i]].type != PSV_SHAPE_HULL) return;
    psvi_narrow_ground(&s, &step, i, false, true);
}

cudaError_t psvi_launch_narrow_hulls(const psvi_sim *sim, const psvi_step *step, bool ground, int processors,
                                     cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM * (PSVI_SIM_BLOCK / PSVI_HULL_BLOCK));
    psvk_narrow_hulls<<<blocks, PSVI_HULL_BLOCK, 0, stream>>>(*sim, *step);
    psvk_follow_hulls<<<blocks, PSVI_HULL_BLOCK, 0, stream>>>(*sim, *step);
    if (ground)
        psvk_ground_hulls<<<(sim->slots + PSVI_HULL_BLOCK - 1) / PSVI_HULL_BLOCK, PSVI_HULL_BLOCK, 0, stream>>>(*sim,
                                                                                                                *step);
    return cudaGetLastError();
}
