// Contact events on the device (contact_events.h), in worlds that ask for them.
#include "../contacts/contact_events.h"
#include "step_kernels.h"
#include "tuning.h"

// Counts of a new step. One thread.
__global__ void psvk_reset_events(psvi_sim s) {
    if (s.counts->halted) return;
    const psv_event_counts none = {0, 0, 0, 0};
    *s.events.counts = none;
}

// In: contacts after the solver, the table of the last step. Out: hits, marks. Grid-stride, one thread a contact.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_notice_contacts(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
        psvi_notice_contact(&s, &step, i);
}

// In: the table of the last step, marked. Out: contacts that have ended. Grid-stride, one thread a place.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_notice_ends(psvi_sim s) {
    if (s.counts->halted) return;
    uint64_t places = s.counts->kept_mask + 1;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < places;
         i += (uint64_t)gridDim.x * blockDim.x)
        psvi_notice_end(&s, i);
}

// In: contacts as they are kept. Out: the list of contacts, who began and ended. Grid-stride, one thread a contact.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_report_contacts(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
        psvi_report_contact(&s, &step, i);
}

cudaError_t psvi_launch_notice(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    psvk_reset_events<<<1, 1, 0, stream>>>(*sim);
    psvk_notice_contacts<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_notice_ends<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    return cudaGetLastError();
}

cudaError_t psvi_launch_report(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream) {
    psvk_report_contacts<<<(unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    return cudaGetLastError();
}
