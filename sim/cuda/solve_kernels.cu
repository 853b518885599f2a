// Colouring and solving on the device, each as one cooperative kernel: the grid waits for itself between rounds and
// colours, so no colour costs a launch and the host need not know how many there are.
#include "../src/body_motion.h"
#include "../src/contact_solver.h"
#include "step_kernels.h"
#include "tuning.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define REST_SCALE 4294967296.0 // fixed-point steps of a velocity: sums of integers do not depend on their order
#define REST_FIELDS 7           // 3 linear, 3 angular, and how many contacts of the rest a body has

__device__ static uint64_t ldcg(const uint64_t *p) { return __ldcg((const unsigned long long *)p); }
__device__ static uint32_t ldcg(const uint32_t *p) { return __ldcg((const unsigned int *)p); }

__device__ static void claim(const psvi_sim &s, uint32_t body, uint64_t strength) {
    if (s.velocity[body].w > 0) atomicMax((unsigned long long *)&s.claim[body], (unsigned long long)strength);
}

// One contact's round: takes the first free colour when both bodies have no stronger claim. True when it is settled.
__device__ static bool settle(const psvi_sim &s, psvi_contact *c, uint64_t strength) {
    bool a = s.velocity[c->a].w > 0, b = s.velocity[c->b].w > 0;
    if ((a && ldcg(&s.claim[c->a]) != strength) || (b && ldcg(&s.claim[c->b]) != strength)) return false;
    uint32_t taken = (a ? ldcg(&s.colour_mask[c->a]) : 0) | (b ? ldcg(&s.colour_mask[c->b]) : 0);
    uint32_t free_bits = ~taken & ((1u << PSVI_COLOURS) - 1);
    uint32_t colour = free_bits ? (uint32_t)__ffs((int)free_bits) - 1 : PSVI_COLOUR_REST;
    c->colour = colour;
    // Only this contact may touch its bodies in this round.
    if (a) {
        if (free_bits) s.colour_mask[c->a] = ldcg(&s.colour_mask[c->a]) | 1u << colour;
        s.claim[c->a] = 0;
    }
    if (b) {
        if (free_bits) s.colour_mask[c->b] = ldcg(&s.colour_mask[c->b]) | 1u << colour;
        s.claim[c->b] = 0;
    }
    return true;
}

// Ends the claims of a contact that stays without a colour. Others compare with their own strength only, so it does not
// matter when they see this.
__device__ static void withdraw(const psvi_sim &s, psvi_contact *c) {
    uint64_t strength = psvi_mix64(psvi_contact_key(c->a, c->b));
    if (ldcg(&s.claim[c->a]) == strength) s.claim[c->a] = 0;
    if (ldcg(&s.claim[c->b]) == strength) s.claim[c->b] = 0;
    c->colour = PSVI_COLOUR_REST;
}

// In: contacts, some with the colour of the last step. Out: a colour for each; counts per colour in colour_first + 1;
// sort keys. Rounds of claims: every uncoloured contact claims its moving bodies with a strength that is a bijection of
// its pair, so the outcome does not depend on the order of contacts (Luby 1986; Jones & Plassmann 1993). The grid waits
// twice a round; there are as many rounds as the longest chain of falling strengths, about log of the count.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK) psvk_colour(psvi_sim s) {
    cg::grid_group grid = cg::this_grid();
    if (s.counts->halted) return; // the same for all
    uint64_t count = s.counts->contacts, first = grid.thread_rank(), stride = grid.size();
    volatile uint32_t *left = s.counts->uncoloured;
    for (uint32_t round = 0;; ++round) {
        if (first == 0) left[round & 1] = 0;
        for (uint64_t i = first; i < count; i += stride) {
            psvi_contact *c = &s.contacts[i];
            if (c->colour != PSVI_COLOUR_NONE) continue;
            bool a = s.velocity[c->a].w > 0, b = s.velocity[c->b].w > 0;
            uint32_t taken = (a ? ldcg(&s.colour_mask[c->a]) : 0) | (b ? ldcg(&s.colour_mask[c->b]) : 0);
            if ((~taken & ((1u << PSVI_COLOURS) - 1)) == 0) {
                c->colour = PSVI_COLOUR_FULL; // no need to wait for a turn; it withdraws its claims below
                continue;
            }
            uint64_t strength = psvi_mix64(psvi_contact_key(c->a, c->b));
            claim(s, c->a, strength);
            claim(s, c->b, strength);
        }
        grid.sync();
        bool some = false;
        for (uint64_t i = first; i < count; i += stride) {
            psvi_contact *c = &s.contacts[i];
            if (c->colour == PSVI_COLOUR_FULL) withdraw(s, c);
            if (c->colour != PSVI_COLOUR_NONE) continue;
            some |= !settle(s, c, psvi_mix64(psvi_contact_key(c->a, c->b)));
        }
        if (some) left[round & 1] = 1;
        grid.sync();
        if (left[round & 1] == 0) break;
    }
    __shared__ uint32_t sizes[PSVI_COLOURS + 1];
    for (uint32_t k = threadIdx.x; k <= PSVI_COLOURS; k += blockDim.x)
        sizes[k] = 0;
    __syncthreads();
    uint32_t *keys = (uint32_t *)s.keys;
    for (uint64_t i = first; i < count; i += stride) {
        uint32_t colour = s.contacts[i].colour;
        keys[i] = colour;
        atomicAdd(&sizes[colour], 1u);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k <= PSVI_COLOURS; k += blockDim.x)
        if (sizes[k] > 0) atomicAdd(&s.colour_first[k + 1], sizes[k]);
}

// --- contacts without a colour: mass splitting (Tonge, Benevolenski, Voroshilov 2012) --------------------------------

__device__ static void add_rest(const psvi_sim &s, uint32_t body, int field, v3 change) {
    unsigned long long *sums = (unsigned long long *)(s.rest + (uint64_t)REST_FIELDS * body + field);
    atomicAdd(sums, (unsigned long long)__double2ll_rn((double)change.x * REST_SCALE));
    atomicAdd(sums + 1, (unsigned long long)__double2ll_rn((double)change.y * REST_SCALE));
    atomicAdd(sums + 2, (unsigned long long)__double2ll_rn((double)change.z * REST_SCALE));
}

__device__ static psvi_points points_of(const psvi_sim &s, uint64_t place, const psvi_contact &c) {
    psvi_points points;
    points.lead = s.leads + place;
    points.others = s.points + c.first;
    return points;
}

__device__ static void solve_rest_contact(const psvi_sim &s, const psvi_step &step, uint64_t place, psvi_pass pass) {
    psvi_contact c = s.sorted[place];
    if (pass == PSVI_PASS_BOUNCE && !(c.restitution > 0)) return;
    psvi_two t;
    psvi_linear la, lb;
    psvi_angular aa, ab;
    psvi_load_two(&s, &c, &t, &la, &lb, &aa, &ab);
    v3 moved = v3_sub(v3_of4(lb.moved), v3_of4(la.moved));
    int64_t na = t.ma > 0 ? s.rest[(uint64_t)REST_FIELDS * c.a + 6] : 1;
    int64_t nb = t.mb > 0 ? s.rest[(uint64_t)REST_FIELDS * c.b + 6] : 1;
    psvi_two before = t;
    psvi_solve_points(points_of(s, place, c), &step, &c, pass, &t, moved, &aa, &ab, 1.0f / (float)(na > nb ? na : nb));
    if (t.ma > 0) add_rest(s, c.a, 0, v3_sub(t.va, before.va));
    if (t.mb > 0) add_rest(s, c.b, 0, v3_sub(t.vb, before.vb));
    if (t.turn_a) add_rest(s, c.a, 3, v3_sub(t.wa, before.wa));
    if (t.turn_b) add_rest(s, c.b, 3, v3_sub(t.wb, before.wb));
}

__device__ static v3 take_rest(int64_t *sums) {
    const double unit = 1.0 / REST_SCALE;
    v3 change =
        v3_make((float)((double)sums[0] * unit), (float)((double)sums[1] * unit), (float)((double)sums[2] * unit));
    sums[0] = sums[1] = sums[2] = 0;
    return change;
}

__device__ static void apply_rest(const psvi_sim &s, uint32_t body) {
    int64_t *sums = s.rest + (uint64_t)REST_FIELDS * body;
    if (sums[6] == 0) return;
    psvi_f4 v = s.linear[body].velocity;
    s.linear[body].velocity = f4_make(v3_add(v3_of4(v), take_rest(sums)), v.w);
    if (s.linear[body].moved.w == 0) return;
    psvi_f4 w = s.angular[body].velocity;
    s.angular[body].velocity = f4_make(v3_add(v3_of4(w), take_rest(sums + 3)), w.w);
}

// --- the solver ------------------------------------------------------------------------------------------------------

__device__ static void run_rest(const psvi_sim &s, const psvi_step &step, const uint32_t *colours, psvi_pass pass,
                                const cg::grid_group &grid) {
    uint64_t first = grid.thread_rank(), stride = grid.size();
    uint32_t begin = colours[PSVI_COLOUR_REST], end = colours[PSVI_COLOUR_REST + 1];
    if (begin == end) return; // the same for all
    for (uint64_t i = begin + first; i < end; i += stride)
        solve_rest_contact(s, step, i, pass);
    grid.sync();
    for (uint64_t i = first; i < s.slots; i += stride)
        apply_rest(s, (uint32_t)i);
    grid.sync();
}

__device__ static void run_pass(const psvi_sim &s, const psvi_step &step, const uint32_t *colours, psvi_pass pass,
                                const cg::grid_group &grid) {
    uint64_t first = grid.thread_rank(), stride = grid.size();
    for (uint32_t colour = 0; colour < PSVI_COLOURS; ++colour) {
        uint32_t begin = colours[colour], end = colours[colour + 1];
        if (begin == end) continue; // the same for all
        for (uint64_t k = begin + first; k < end; k += stride) {
            psvi_contact c = s.sorted[k];
            psvi_solve_contact(&s, &step, c, points_of(s, k, c), pass);
        }
        grid.sync();
    }
    run_rest(s, step, colours, pass, grid);
}

// In: contacts and their order by colour. Out: contacts in that order, with the first point of each beside it, so that
// the solver reads them in a row. Grid-stride; moves 2 x 112 bytes a contact, once a step for a dozen passes.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK) psvk_arrange(psvi_sim s) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psvi_contact c = s.contacts[s.order[i]];
        s.sorted[i] = c;
        s.leads[i] = s.points[c.first];
    }
}

// In: contacts in the order of their colours, bodies' solver state. Out: velocities, movement and impulses after all
// substeps. The grid waits after every colour of every pass. A pass reads 80 bytes of a point and 64 (particles: 32) of
// each body, and writes half of it.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS) psvk_solve(psvi_sim s, psvi_step step) {
    cg::grid_group grid = cg::this_grid();
    if (s.counts->halted) return;
    __shared__ uint32_t colours[PSVI_COLOURS + 2];
    if (threadIdx.x == 0) { // counts to places
        uint32_t sum = 0;
        colours[0] = 0;
        for (int k = 0; k <= PSVI_COLOURS; ++k)
            colours[k + 1] = sum += s.colour_first[k + 1];
    }
    __syncthreads();
    uint64_t first = grid.thread_rank(), stride = grid.size();
    if (first == 0) {
        uint32_t used = 0;
        for (uint32_t k = 0; k <= PSVI_COLOURS; ++k)
            if (colours[k + 1] > colours[k]) used = k + 1;
        s.counts->colours = used;
    }
    bool rest = colours[PSVI_COLOUR_REST + 1] > colours[PSVI_COLOUR_REST];
    if (rest) {
        for (uint64_t i = first; i < (uint64_t)s.slots * REST_FIELDS; i += stride)
            s.rest[i] = 0;
        grid.sync();
        for (uint64_t i = colours[PSVI_COLOUR_REST] + first; i < colours[PSVI_COLOUR_REST + 1]; i += stride) {
            const psvi_contact *c = &s.sorted[i];
            atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * c->a + 6], 1ull);
            atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * c->b + 6], 1ull);
        }
    }
    for (uint32_t substep = 0; substep < step.substeps; ++substep) {
        for (uint64_t i = first; i < s.slots; i += stride)
            psvi_push_body(&s, &step, (uint32_t)i);
        grid.sync();
        run_pass(s, step, colours, PSVI_PASS_WARM, grid);
        run_pass(s, step, colours, PSVI_PASS_SOLVE, grid);
        for (uint64_t i = first; i < s.slots; i += stride)
            psvi_move_body(&s, &step, (uint32_t)i);
        grid.sync();
        run_pass(s, step, colours, PSVI_PASS_RELAX, grid);
    }
    if (step.bounces) run_pass(s, step, colours, PSVI_PASS_BOUNCE, grid);
}

cudaError_t psvi_colour_blocks_per_processor(int *blocks) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, psvk_colour, PSVI_SOLVE_BLOCK, 0);
}

cudaError_t psvi_solve_blocks_per_processor(int *blocks) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, psvk_solve, PSVI_SOLVE_BLOCK, 0);
}

cudaError_t psvi_launch_colour(const psvi_sim *sim, int blocks, cudaStream_t stream) {
    psvi_sim s = *sim;
    void *arguments[] = {&s};
    return cudaLaunchCooperativeKernel((const void *)psvk_colour, dim3((unsigned)blocks), dim3(PSVI_SOLVE_BLOCK),
                                       arguments, 0, stream);
}

cudaError_t psvi_launch_solve(const psvi_sim *sim, const psvi_step *step, int blocks, cudaStream_t stream) {
    psvk_arrange<<<(unsigned)(4 * blocks), PSVI_SOLVE_BLOCK, 0, stream>>>(*sim);
    psvi_sim s = *sim;
    psvi_step t = *step;
    void *arguments[] = {&s, &t};
    return cudaLaunchCooperativeKernel((const void *)psvk_solve, dim3((unsigned)blocks), dim3(PSVI_SOLVE_BLOCK),
                                       arguments, 0, stream);
}
