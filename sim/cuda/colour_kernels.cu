// Colouring on the device, and laying the contacts out in the order in which they are solved, as one cooperative
// kernel.
#include "../contacts/contact_kept.h"
#include "solve_roll.cuh"
#include "solve_slide.cuh"
#include "step_kernels.h"
#include "team.cuh"
#include "tuning.h"

namespace cg = cooperative_groups;

__device__ static uint64_t ldcg(const uint64_t *p) { return __ldcg((const unsigned long long *)p); }
__device__ static uint32_t ldcg(const uint32_t *p) { return __ldcg((const unsigned int *)p); }

// --- colours ---------------------------------------------------------------------------------------------------------

__device__ static void claim_body(const psvi_sim &s, uint32_t body, uint64_t strength) {
    if (s.velocity[body].w > 0) atomicMax((unsigned long long *)&s.claim[body], (unsigned long long)strength);
}

// Claims the moving bodies of a contact, unless they have no colour left.
__device__ static void claim(const psvi_sim &s, psvi_contact *c) {
    bool a = s.velocity[c->a].w > 0, b = s.velocity[c->b].w > 0;
    uint32_t taken = (a ? ldcg(&s.colour_mask[c->a]) : 0) | (b ? ldcg(&s.colour_mask[c->b]) : 0);
    if ((~taken & ((1u << PSVI_COLOURS) - 1)) == 0) {
        c->colour = PSVI_COLOUR_FULL; // no need to wait for a turn; it withdraws its claims later
        return;
    }
    uint64_t strength = psvi_mix64(psvi_contact_key(c->a, c->b));
    claim_body(s, c->a, strength);
    claim_body(s, c->b, strength);
}

// Takes the first free colour when both bodies have no stronger claim. True when the contact is settled.
__device__ static bool settle(const psvi_sim &s, psvi_contact *c) {
    uint64_t strength = psvi_mix64(psvi_contact_key(c->a, c->b));
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

// Appends to a list; the lanes that are here together ask once.
__device__ static void append(uint32_t *list, uint32_t *count, uint32_t value) {
    cg::coalesced_group lanes = cg::coalesced_threads();
    uint32_t first = 0;
    if (lanes.thread_rank() == 0) first = atomicAdd(count, lanes.size());
    list[lanes.shfl(first, 0) + lanes.thread_rank()] = value;
}

// Rounds of claims: every uncoloured contact claims its moving bodies with a strength that is a bijection of its pair,
// so the outcome does not depend on the order of contacts (Luby 1986; Jones & Plassmann 1993). There are as many rounds
// as the longest chain of falling strengths, about log of the count. Goes on until no more than `enough` are left, and
// returns the round; `wait` is the barrier of the `size` threads that take part.
template <typename Barrier>
__device__ static uint32_t run_rounds(const psvi_sim &s, const psvi_solver &v, uint32_t round, uint32_t enough,
                                      uint32_t rank, uint32_t size, Barrier wait) {
    uint32_t *left = s.counts->uncoloured;
    for (;; ++round) {
        uint32_t count = ldcg(&left[round & 1]), *next = &left[(round + 1) & 1];
        if (count <= enough) return round;
        const uint32_t *list = v.lists[round & 1];
        for (uint32_t j = rank; j < count; j += size) {
            uint32_t i = ldcg(&list[j]);
            psvi_contact *c = &s.contacts[i];
            if (c->colour == PSVI_COLOUR_FULL)
                withdraw(s, c);
            else if (!settle(s, c))
                append(v.lists[(round + 1) & 1], next, i);
        }
        wait();
        if (rank == 0) left[round & 1] = 0;
        count = ldcg(next);
        for (uint32_t j = rank; j < count; j += size)
            claim(s, &s.contacts[ldcg(&v.lists[(round + 1) & 1][j])]);
        wait();
    }
}

// --- the order -------------------------------------------------------------------------------------------------------

__device__ static uint32_t bin_of(uint32_t colour, uint32_t count, uint32_t turning) {
    uint32_t kind = PSVI_MAX_POINTS - count;
    if (count == 1 && turning == PSVI_TURN_NONE) kind = PSVI_CLASS_PLAIN;
    if (count == 1 && turning == PSVI_TURN_ROUND) kind = PSVI_CLASS_ROUND;
    return colour * PSVI_CLASSES + kind;
}

// Points of a contact of this bin, if they lie in psvi_solver.points.
__device__ static uint32_t listed_points(uint32_t bin) {
    uint32_t kind = bin % PSVI_CLASSES;
    return kind < PSVI_CLASS_ROUND ? PSVI_MAX_POINTS - kind : 0;
}

// Each block's counts of each bin to the counts of the blocks before it, and their sum; a bin a warp.
__device__ static void sum_blocks(const psvi_solver &v, uint32_t warp, uint32_t warps) {
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t k = warp; k < PSVI_BINS; k += warps) {
        uint32_t *counts = v.block_bins + k * gridDim.x, sum = 0;
        for (uint32_t first = 0; first < gridDim.x; first += 32) {
            uint32_t own = first + lane < gridDim.x ? ldcg(&counts[first + lane]) : 0, before = own;
            for (int d = 1; d < 32; d *= 2) {
                uint32_t left = __shfl_up_sync(~0u, before, d);
                before += (int)lane >= d ? left : 0;
            }
            if (first + lane < gridDim.x) counts[first + lane] = sum + before - own;
            sum += __shfl_sync(~0u, before, 31);
        }
        if (lane == 0) v.bins[k].count = sum;
    }
}

// Counts of bins to places, by the whole block.
__device__ static void place_bins(const psvi_solver &v, psvi_bin *bins) {
    for (uint32_t k = threadIdx.x; k < PSVI_BINS; k += blockDim.x)
        bins[k].count = ldcg(&v.bins[k].count);
    __syncthreads();
    if (threadIdx.x < 32) {
        constexpr uint32_t each = (PSVI_BINS + 31) / 32;
        uint32_t lane = threadIdx.x, contacts = 0, points = 0;
        for (uint32_t k = lane * each; k < (lane + 1) * each && k < PSVI_BINS; ++k) {
            bins[k].place = contacts;
            bins[k].point = points;
            contacts += bins[k].count;
            points += bins[k].count * listed_points(k);
        }
        uint32_t own_contacts = contacts, own_points = points;
        for (int d = 1; d < 32; d *= 2) {
            uint32_t c = __shfl_up_sync(~0u, contacts, d), p = __shfl_up_sync(~0u, points, d);
            if ((int)lane >= d) {
                contacts += c;
                points += p;
            }
        }
        for (uint32_t k = lane * each; k < (lane + 1) * each && k < PSVI_BINS; ++k) {
            bins[k].place += contacts - own_contacts;
            bins[k].point += points - own_points;
        }
    }
    __syncthreads();
}

__device__ static float4 quad(const psvi_f4 *p) { return *(const float4 *)p; }

// What resists an impulse along a row.
__device__ static float row_mass(float inverse_mass, v3 spin_a, v3 spin_b) {
    float response = inverse_mass + v3_dot(spin_a, spin_a) + v3_dot(spin_b, spin_b);
    return response > 0 ? 1.0f / response : 0.0f;
}

__device__ static psvi_root body_root(const psvi_sim &s, uint32_t body) {
    if (s.linear[body].moved.w == 0) return psvi_root_isotropic(0);
    float ball = s.angular[body].velocity.w;
    return ball > 0 ? psvi_root_isotropic(sqrtf(ball)) : psvi_root_of(s.inv_inertia[body]);
}

// The rolling friction of a contact, in worlds that have any; before the features of the points are overwritten.
__device__ __noinline__ static void start_roll(const psvi_sim &s, const psvi_contact &c, uint32_t place, bool rolls) {
    const psvi_kept_contact *kept = rolls ? psvi_find_kept(&s, c.a, c.b) : NULL;
    s.rolls[place] = psvi_start_roll(&s, c.a, c.b, s.points[c.first].normal, kept ? &s.kept_rolls[kept->first] : NULL);
}

// Copies a contact to its place, and the features of its points to where they are kept for the next step.
__device__ static void lay_out(const psvi_sim &s, const psvi_solver &v, const psvi_contact &c, uint32_t place,
                               psvi_bin bin, uint32_t listed, const psvi_step &step) {
    psvi_two_bodies bodies;
    bodies.a = c.a;
    bodies.b = c.b;
    v.bodies[place] = bodies;
    const psvi_point *points = s.points + c.first;
    if (listed == 0) {
        const psvi_point *p = points;
        v3 n = v3_of(p->normal);
        v.normal[place] = f4_make(n, c.friction);
        v.impulse[place] = f4_make(v3_of4(p->impulse), p->separation);
        if (c.turning == PSVI_TURN_ROUND) {
            psvi_f2 arms;
            arms.x = v3_dot(v3_of(p->arm_a), n);
            arms.y = -v3_dot(v3_of(p->arm_b), n);
            v.arms[place] = arms;
        }
        if (step.bounces) {
            psvi_f2 bounce;
            bounce.x = 0;
            bounce.y = c.restitution;
            v.bounce[place] = bounce;
        }
        return;
    }
    const bool whole = slides_as_whole(c, step.loads, step.bounces);
    uint32_t bits = (__float_as_uint(c.size) & 0xffff0000u) | (whole ? SLIDE_BIT : 0u) | c.count;
    v.normal[place] = f4_make(v3_make(c.friction, c.restitution, __uint_as_float(bits)), 0);
    psvi_root root_a = body_root(s, c.a), root_b = body_root(s, c.b);
    const float mass_a = s.linear[c.a].velocity.w, mass_b = s.linear[c.b].velocity.w, inverse_mass = mass_a + mass_b;
    psvi_kept_point kept;
    kept.impulse[0] = kept.impulse[1] = kept.impulse[2] = 0;
    for (uint32_t k = 0; k < c.count; ++k) {
        const psvi_point *p = points + k;
        uint64_t at = bin.point + (uint64_t)k * bin.count + (place - bin.place);
        v3 n = v3_of(p->normal), arm_a = v3_of(p->arm_a), arm_b = v3_of(p->arm_b), t1, t2;
        v3 na = psvi_root_mul_transposed(root_a, v3_cross(arm_a, n));
        v3 nb = psvi_root_mul_transposed(root_b, v3_cross(arm_b, n));
        v.points[0][at] = f4_make(n, p->separation);
        v.points[1][at] = f4_make(na, row_mass(inverse_mass, na, nb));
        v.points[2][at] = f4_make(nb, 0);
        kept.feature = p->feature;
        s.kept_points[c.first + k] = kept;
        if (whole) {
            v.points[3][at] = f4_make(v3_make(p->impulse.x, 0, 0), 0);
            continue;
        }
        v3_tangents(n, &t1, &t2);
        v3 a1 = psvi_root_mul_transposed(root_a, v3_cross(arm_a, t1));
        v3 b1 = psvi_root_mul_transposed(root_b, v3_cross(arm_b, t1));
        v3 a2 = psvi_root_mul_transposed(root_a, v3_cross(arm_a, t2));
        v3 b2 = psvi_root_mul_transposed(root_b, v3_cross(arm_b, t2));
        // One mass for both tangents, or friction would not point against the sliding.
        v.points[3][at] =
            f4_make(v3_of4(p->impulse), fminf(row_mass(inverse_mass, a1, b1), row_mass(inverse_mass, a2, b2)));
        v.points[4][at] = f4_make(a1, b1.x);
        v.points[5][at] = f4_make(v3_make(b1.y, b1.z, a2.x), a2.y);
        v.points[6][at] = f4_make(v3_make(a2.z, b2.x, b2.y), b2.z);
    }
    if (!whole) return;
    uint64_t first = bin.point + (place - bin.place);
    lay_out_slide(v, points, c.count, root_a, root_b, mass_a, mass_b, first, first + bin.count);
}

// In: contacts, some with the colour of the last step. Out: a colour for each; the contacts by colour and class, each
// contact's place, and the bins. A block takes a row of contacts and blocks stay in order, so a colour goes through the
// bodies as the pairs did; but the order within a bin is any, and nothing depends on it. Reads a contact three times
// (32 bytes) and its points once, writes half.
__global__ void __launch_bounds__(PSVI_COLOUR_BLOCK)
    psvk_colour(psvi_sim s, psvi_solver v, const __grid_constant__ psvi_step step) {
    __shared__ psvi_bin bins[PSVI_BINS];
    __shared__ uint32_t sizes[PSVI_BINS], base[PSVI_BINS];
    if (s.counts->halted) return; // the same for all
    uint32_t count = (uint32_t)s.counts->contacts;
    uint32_t each = (count + gridDim.x - 1) / gridDim.x, begin = min(count, blockIdx.x * each);
    uint32_t end = min(count, begin + each);
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        psvi_contact *c = &s.contacts[i];
        if (c->colour != PSVI_COLOUR_NONE) continue;
        append(v.lists[0], &s.counts->uncoloured[0], i);
        claim(s, c);
    }
    team_wait();
    uint32_t rank = team_rank(), size = team_size();
    uint32_t round = run_rounds(s, v, 0, PSVI_COLOUR_FEW, rank, size, [&] { team_wait(); });
    // Few are left: one block goes on without waiting for the others.
    if (blockIdx.x == 0) (void)run_rounds(s, v, round, 0, threadIdx.x, blockDim.x, [] { __syncthreads(); });
    for (uint32_t k = threadIdx.x; k < PSVI_BINS; k += blockDim.x)
        sizes[k] = 0;
    team_wait();
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const psvi_contact *c = &s.contacts[i];
        atomicAdd(&sizes[bin_of(c->colour, c->count, c->turning)], 1u);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < PSVI_BINS; k += blockDim.x)
        v.block_bins[k * gridDim.x + blockIdx.x] = sizes[k];
    team_wait();
    sum_blocks(v, threadIdx.x / 32 * gridDim.x + blockIdx.x, blockDim.x / 32 * gridDim.x);
    team_wait();
    place_bins(v, bins);
    for (uint32_t k = threadIdx.x; k < PSVI_BINS; k += blockDim.x) {
        base[k] = bins[k].place + ldcg(&v.block_bins[k * gridDim.x + blockIdx.x]);
        if (blockIdx.x == 0) {
            v.bins[k].place = bins[k].place;
            v.bins[k].point = bins[k].point;
        }
    }
    __syncthreads();
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        psvi_contact c = s.contacts[i];
        uint32_t bin = bin_of(c.colour, c.count, c.turning), place = atomicAdd(&base[bin], 1u);
        v.place[i] = place;
        if (s.rolls) start_roll(s, c, place, step.rolls);
        lay_out(s, v, c, place, bins[bin], listed_points(bin), step);
    }
}

// Keeps each contact for the next step: the impulses come back from the solver's order. Grid-stride; the mask was set
// by psvk_set_mask.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_keep(psvi_sim s, psvi_solver v, bool loads, bool bounces) {
    if (s.counts->halted) return;
    uint32_t count = (uint32_t)s.counts->contacts;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        psvi_contact c = s.contacts[i];
        uint32_t bin = bin_of(c.colour, c.count, c.turning), place = v.place[i], listed = listed_points(bin);
        psvi_keep_key(&s, &c);
        if (s.rolls) s.kept_rolls[c.first] = s.rolls[place].impulse;
        if (listed == 0) {
            float4 impulse = quad(v.impulse + place);
            *(float4 *)&s.kept_points[c.first] = make_float4(0, impulse.x, impulse.y, impulse.z); // feature 0
            continue;
        }
        psvi_bin b = v.bins[bin];
        const psvi_f4 *impulses = v.points[3] + b.point + (place - b.place);
        const bool whole = slides_as_whole(c, loads, bounces), from_b = s.linear[c.b].velocity.w > 0;
        v3 slide = v3_make(0, 0, 0);
        if (whole) slide = v3_make(impulses[0].y, impulses[0].z, impulses[b.count].y);
        for (uint32_t k = 0; k < c.count; ++k) {
            float4 impulse = quad(impulses + (uint64_t)k * b.count);
            if (whole) {
                psvi_f2 part = slide_share(s.points + c.first, c.count, k, from_b, slide);
                impulse.y = part.x;
                impulse.z = part.y;
            }
            float *kept = s.kept_points[c.first + k].impulse;
            kept[0] = impulse.x;
            kept[1] = impulse.y;
            kept[2] = impulse.z;
        }
    }
}

cudaError_t psvi_colour_team(int *per_processor, int *cluster) {
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(per_processor, psvk_colour, PSVI_COLOUR_BLOCK, 0);
    if (error != cudaSuccess) return error;
    return largest_team_cluster((const void *)psvk_colour, PSVI_COLOUR_BLOCK, cluster);
}

cudaError_t psvi_launch_colour(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step, psvi_team team,
                               cudaStream_t stream) {
    psvi_sim s = *sim;
    psvi_solver v = *solver;
    psvi_step t = *step;
    void *arguments[] = {&s, &v, &t};
    return launch_team((const void *)psvk_colour, team, PSVI_COLOUR_BLOCK, arguments, stream);
}

cudaError_t psvi_launch_keep(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step, int processors,
                             cudaStream_t stream) {
    psvk_keep<<<(unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM), PSVI_SIM_BLOCK, 0, stream>>>(
        *sim, *solver, step->loads, step->bounces);
    return cudaGetLastError();
}
