// Kernels over bodies: the start and the end of a step, self-gravity, and what is told to the host.
#include "../contacts/contact_kept.h"
#include "../solver/body_motion.h"
#include "step_kernels.h"
#include "tuning.h"

static unsigned blocks_for(uint64_t count, unsigned block) { return (unsigned)((count + block - 1) / block); }

// Counters of a new step. One thread.
__global__ void psvk_reset_counts(psvi_sim s) {
    psvi_step_counts *c = s.counts;
    if (c->halted) return;
    c->contacts = 0;
    c->points = 0;
    c->others = c->searched = c->unmet = c->followed = c->hulls = c->hulls_followed = 0;
    c->hits = 0;
    c->ground_drives = c->movers = 0;
    c->colours = 0;
    c->uncoloured[0] = c->uncoloured[1] = 0;
}

// In: bodies. Out: solver state and box of each. One thread a body; moves about 300 bytes of one.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_begin(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    psvi_begin_body(&s, &step, i);
}

// Adds what body q, with its mass in w, pulls at p. 13 instructions; rsqrtf would add some for denormal numbers, whose
// cube is no number anyway.
__device__ static void add_pull(float4 q, v3 p, float softening_squared, v3 *sum) {
    const v3 d = v3_make(q.x - p.x, q.y - p.y, q.z - p.z);
    const float squared = fmaf(d.z, d.z, fmaf(d.y, d.y, fmaf(d.x, d.x, softening_squared)));
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(squared));
    const float scale = (inverse * inverse) * (inverse * q.w);
    *sum = v3_make(fmaf(d.x, scale, sum->x), fmaf(d.y, scale, sum->y), fmaf(d.z, scale, sum->z));
}

// In: positions and masses. Out: acceleration of each body by all others, direct sums. A block has 64 bodies, two of
// them to a lane, and a warp for each eighth of a tile of 256 in shared memory; their sums are added in a fixed order.
// Reads 20 bytes a body and block.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_attract(psvi_sim s, psvi_step step) {
    constexpr int tile = PSVI_SIM_BLOCK, slices = tile / 32;
    __shared__ float4 bodies[tile];
    if (s.counts->halted) return;
    const int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
    const float softening_squared = step.softening_squared;
    uint32_t own[2];
    v3 p[2], sum[2];
    for (int m = 0; m < 2; ++m) {
        own[m] = (2 * blockIdx.x + m) * 32 + lane;
        p[m] = own[m] < s.slots ? v3_of4(s.position[own[m]]) : v3_make(0, 0, 0);
        sum[m] = v3_make(0, 0, 0);
    }
    for (uint32_t first = 0; first < s.slots; first += tile) {
        uint32_t j = first + threadIdx.x;
        float4 b = make_float4(0, 0, 0, 0);
        if (j < s.slots) b = make_float4(s.position[j].x, s.position[j].y, s.position[j].z, s.acceleration[j].w);
        __syncthreads();
        bodies[threadIdx.x] = b;
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const float4 q = bodies[slice * 32 + k];
            add_pull(q, p[0], softening_squared, &sum[0]);
            add_pull(q, p[1], softening_squared, &sum[1]);
        }
    }
    for (int m = 0; m < 2; ++m) {
        __syncthreads();
        bodies[threadIdx.x] = make_float4(sum[m].x, sum[m].y, sum[m].z, 0);
        __syncthreads();
        if (slice != 0 || own[m] >= s.slots) continue;
        v3 all = sum[m];
        for (int k = 1; k < slices; ++k) {
            const float4 q = bodies[k * 32 + lane];
            all = v3_add(all, v3_make(q.x, q.y, q.z));
        }
        psvi_f4 *a = &s.acceleration[own[m]]; // w, the mass, is being read by other blocks
        a->x = all.x * step.self_gravity;
        a->y = all.y * step.self_gravity;
        a->z = all.z * step.self_gravity;
    }
}

// In: solver state. Out: poses and velocities. One thread a body.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_end(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    if (s.busy != NULL) s.busy[i] = 0;
    psvi_end_body(&s, &step, i);
}

// Empties the table of kept contacts for the contacts of this step. Grid-stride; all see the same mask.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_clear_kept(psvi_sim s) {
    if (s.counts->halted) return;
    uint64_t places = psvi_kept_mask(s.counts->contacts) + 1;
    uint4 *table = (uint4 *)s.kept;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < places;
         i += (uint64_t)gridDim.x * blockDim.x)
        table[i] = make_uint4(0, 0, 0, 0);
}

__global__ void psvk_set_mask(psvi_sim s) {
    psvi_step_counts *c = s.counts;
    if (c->halted) return;
    c->kept_mask = psvi_kept_mask(c->contacts);
    c->kept_scale = psvi_kept_scale(c->kept_mask, s.slots);
    c->points_kept = c->points;
    psvi_forget_hits(c);
}

// Counts the step and tells the host. One thread.
__global__ void psvk_publish(psvi_sim s, psvi_published *published) {
    psvi_step_counts *c = s.counts;
    if (!c->halted) ++c->steps;
    uint64_t serial = ++c->serial;
    published->record[serial & 1] = *c;
    __threadfence_system();
    published->serial = serial;
}

cudaError_t psvi_launch_begin(const psvi_sim *sim, const psvi_step *step, cudaStream_t stream) {
    psvk_reset_counts<<<1, 1, 0, stream>>>(*sim);
    psvk_begin<<<blocks_for(sim->slots, PSVI_SIM_BLOCK), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    return cudaGetLastError();
}

cudaError_t psvi_launch_attract(const psvi_sim *sim, const psvi_step *step, cudaStream_t stream) {
    psvk_attract<<<blocks_for(sim->slots, 2 * 32), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    return cudaGetLastError();
}

cudaError_t psvi_launch_finish(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step,
                               psvi_published *published, int processors, cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    psvk_end<<<blocks_for(sim->slots, PSVI_SIM_BLOCK), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_clear_kept<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    psvk_set_mask<<<1, 1, 0, stream>>>(*sim);
    cudaError_t error = psvi_launch_keep(sim, solver, step, processors, stream);
    if (error != cudaSuccess) return error;
    psvk_publish<<<1, 1, 0, stream>>>(*sim, published);
    return cudaGetLastError();
}

// States or impulses of many bodies. One thread a body; moves up to 120 bytes of one. A step that was put off keeps
// what comes after it from happening in a captured graph.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_batch(psvi_sim s, psvi_batch batch) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= batch.count || s.counts->halted) return;
    psvi_batch_item(&s, &batch, i);
}

// After a batch, where bodies sleep: all wake if it has written one that may carry them. One thread a body.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_wake_carried(psvi_sim s) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < s.slots && s.counts->carrier != 0) s.wake[i] = 1;
}

__global__ void psvk_forget_carrier(psvi_sim s) { s.counts->carrier = 0; }

// Forgets kept contacts of slots that were given to new bodies. Grid-stride over the table, 8 bytes a place.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_forget(psvi_sim s) {
    uint64_t places = s.counts->kept_mask + 1;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < places;
         i += (uint64_t)gridDim.x * blockDim.x)
        psvi_forget_kept(&s, i);
}

cudaError_t psvi_launch_forget(const psvi_sim *sim, int processors, cudaStream_t stream) {
    psvk_forget<<<(unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM), PSVI_SIM_BLOCK, 0, stream>>>(*sim);
    return cudaGetLastError();
}

cudaError_t psvi_launch_batch(const psvi_sim *sim, const psvi_batch *batch, cudaStream_t stream) {
    psvk_batch<<<blocks_for(batch->count, PSVI_SIM_BLOCK), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *batch);
    if (sim->island != NULL && batch->kind == PSVI_BATCH_WRITE && sim->slots > 0) {
        psvk_wake_carried<<<blocks_for(sim->slots, PSVI_SIM_BLOCK), PSVI_SIM_BLOCK, 0, stream>>>(*sim);
        psvk_forget_carrier<<<1, 1, 0, stream>>>(*sim);
    }
    return cudaGetLastError();
}
