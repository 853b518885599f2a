// Narrow phase on the device: pairs of round bodies at once, all others through a list, then the ground.
#include "../src/narrow.h"
#include "step_kernels.h"
#include "tuning.h"

// Stops this step, and those after it, when the finder had more pairs than room. One thread.
__global__ void psvk_check_pairs(psvi_sim s) {
    if (s.counts->halted) return;
    s.counts->pairs = *s.pair_count;
    if (*s.pair_count > s.pair_capacity) s.counts->halted = 1;
}

// In: pairs. Out: contacts of round bodies; the indices of other pairs. Grid-stride, one thread a pair; about 250 bytes
// a pair are gathered, and 112 written for a contact.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_narrow_round(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = *s.pair_count;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psv_pair pair = s.pairs[i];
        if (psvi_pair_is_round(&s, pair.a, pair.b)) {
            psvi_narrow_round_pair(&s, &step, pair.a, pair.b);
        } else {
            uint64_t place, unused;
            psvi_reserve(&s.counts->others, &s.counts->others, 0, &place, &unused);
            s.other_pairs[place] = (uint32_t)i;
        }
    }
}

// In: the list of other pairs. Out: their contacts. One thread a pair: the functions are long and diverge.
__global__ void __launch_bounds__(PSVI_NARROW_BLOCK) psvk_narrow_other(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->others;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psv_pair pair = s.pairs[s.other_pairs[i]];
        psvi_narrow_other_pair(&s, &step, pair.a, pair.b);
    }
}

// In: bodies and ground. Out: contacts of round bodies with planes and fields. One thread a body.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_ground_round(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    psvi_narrow_ground(&s, &step, i, true);
}

// All else against the ground. One thread a body.
__global__ void __launch_bounds__(PSVI_NARROW_BLOCK) psvk_ground_other(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    psvi_narrow_ground(&s, &step, i, false);
}

// Stops this step when contacts did not fit. One thread.
__global__ void psvk_check_contacts(psvi_sim s) {
    psvi_step_counts *c = s.counts;
    if (c->contacts > s.contact_capacity || c->points > s.point_capacity) c->halted = 1;
}

cudaError_t psvi_launch_narrow(const psvi_sim *sim, const psvi_step *step, bool ground, int processors,
                               cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    psvk_check_pairs<<<1, 1, 0, stream>>>(*sim);
    psvk_narrow_round<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_narrow_other<<<blocks, PSVI_NARROW_BLOCK, 0, stream>>>(*sim, *step);
    if (ground) {
        psvk_ground_round<<<(sim->slots + PSVI_SIM_BLOCK - 1) / PSVI_SIM_BLOCK, PSVI_SIM_BLOCK, 0, stream>>>(*sim,
                                                                                                             *step);
        psvk_ground_other<<<(sim->slots + PSVI_NARROW_BLOCK - 1) / PSVI_NARROW_BLOCK, PSVI_NARROW_BLOCK, 0, stream>>>(
            *sim, *step);
    }
    psvk_check_contacts<<<1, 1, 0, stream>>>(*sim);
    return cudaGetLastError();
}
