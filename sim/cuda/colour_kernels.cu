// Colouring on the device, and laying the contacts out in the order in which they are solved, as one cooperative
// kernel.
#include "../solver/body_sleep.h"
#include "../solver/contact_roll.h"
#include "../solver/row_lane.h"

#include "../solver/contact_row.h"
#include "step_kernels.h"
#include "team.cuh"
#include "tuning.h"

namespace cg = cooperative_groups;

__device__ static uint64_t ldcg(const uint64_t *p) { return __ldcg((const unsigned long long *)p); }
__device__ static uint32_t ldcg(const uint32_t *p) { return __ldcg((const unsigned int *)p); }

// --- colours ---------------------------------------------------------------------------------------------------------

__device__ static void claim_body(const psvi_sim &s, uint32_t body, uint64_t strength) {
    if (psvi_may_move(&s, body)) atomicMax((unsigned long long *)&s.claim[body], (unsigned long long)strength);
}

// Claims the moving bodies of a contact, unless they have no colour left.
__device__ static void claim(const psvi_sim &s, psvi_contact *c) {
    bool a = psvi_may_move(&s, c->a), b = psvi_may_move(&s, c->b);
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
    bool a = psvi_may_move(&s, c->a), b = psvi_may_move(&s, c->b);
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

__device__ static uint32_t bin_of(const psvi_sim &s, const psvi_step &step, const psvi_contact &c) {
    return c.colour * PSVI_CLASSES + psvi_class_of(&s, &step, &c);
}

// Points of a contact of this bin that lie in psvi_solver.points.
__device__ static uint32_t listed_points(uint32_t bin) { return psvi_listed_points(bin % PSVI_CLASSES); }

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

__device__ static row_root body_root(const psvi_sim &s, uint32_t body) {
    const psvi_root l = psvi_body_root(&s, body);
    row_root r;
    r.xx = l.xx;
    r.yx = l.yx;
    r.yy = l.yy;
    r.zx = l.zx;
    r.zy = l.zy;
    r.zz = l.zz;
    return r;
}

// The two bodies of a contact.
typedef struct body_roots {
    row_root a, b;
    float inverse_mass;
    bool moves_b;
} body_roots;

__device__ static void lay_out_ball(const psvi_solver &v, const psvi_contact &c, const psvi_point *p, uint32_t place) {
    const v3 n = v3_of(p->normal);
    v.normal[place] = f4_make(n, c.friction);
    v.impulse[place] = f4_make(v3_of4(p->impulse), p->separation);
    if (c.turning != PSVI_TURN_ROUND) return;
    psvi_f2 arms;
    arms.x = v3_dot(v3_of(p->arm_a), n);
    arms.y = -v3_dot(v3_of(p->arm_b), n);
    v.arms[place] = arms;
}

__device__ static void put_tangents(const psvi_solver &v, uint64_t at, row_spins s1, row_spins s2) {
    v.points[4][at] = f4_make(s1.a, s1.b.x);
    v.points[5][at] = f4_make(v3_make(s1.b.y, s1.b.z, s2.a.x), s2.a.y);
    v.points[6][at] = f4_make(v3_make(s2.a.z, s2.b.x, s2.b.y), s2.b.z);
}

// A point's row, and without `whole` its friction.
__device__ static void lay_out_point(const psvi_solver &v, const psvi_point *p, const body_roots &r, bool whole,
                                     uint64_t at) {
    const v3 n = v3_of(p->normal), arm_a = v3_of(p->arm_a), arm_b = v3_of(p->arm_b);
    const row_spins along = row_at_arms(r.a, r.b, arm_a, arm_b, n);
    v.points[0][at] = f4_make(n, p->separation);
    v.points[1][at] = f4_make(along.a, row_mass(r.inverse_mass, along));
    v.points[2][at] = f4_make(along.b, 0);
    v.points[3][at] = f4_make(v3_make(p->impulse.x, 0, 0), 0);
    if (whole) return;
    v3 t1, t2;
    v3_tangents(n, &t1, &t2);
    const row_spins s1 = row_at_arms(r.a, r.b, arm_a, arm_b, t1), s2 = row_at_arms(r.a, r.b, arm_a, arm_b, t2);
    v.points[3][at] = f4_make(v3_of4(p->impulse), row_tangent_mass(r.inverse_mass, s1, s2));
    put_tangents(v, at, s1, s2);
}

// Friction of a contact as a whole; `at`: its first point's place.
__device__ static void lay_out_slide(const psvi_solver &v, const psvi_contact &c, const psvi_point *points,
                                     const body_roots &r, uint64_t at) {
    const v3 none = v3_make(0, 0, 0);
    row_patch patch;
    row_slide slide;
#pragma unroll
    for (uint32_t k = 0; k < PSVI_PATCH_POINTS; ++k) {
        const bool used = k < c.count;
        patch.arm_a[k] = used ? v3_of(points[k].arm_a) : none;
        patch.arm_b[k] = used ? v3_of(points[k].arm_b) : none;
        patch.impulse[k] = used ? v3_make(points[k].impulse.y, points[k].impulse.z, 0) : none;
        patch.separation[k] = used ? points[k].separation : 0;
        patch.used[k] = used ? 1.0f : 0.0f;
    }
    row_leave_near(&patch, PSVI_PATCH_POINTS, PSVI_DEEP * c.size * 2);
    row_make_slide(&slide, &patch, PSVI_PATCH_POINTS, r.a, r.b, v3_of(points->normal), r.inverse_mass, r.moves_b);
    put_tangents(v, at, slide.t1, slide.t2);
    row_spins masses; // behind the row about the normal
    masses.a = v3_make(slide.grip.hold_twist, slide.grip.slip, slide.grip.slip_twist);
    masses.b = v3_make(slide.grip.per_lever, 0, 0);
    put_tangents(v, at + 1, slide.about, masses);
    v.points[3][at] = f4_make(v3_make(v.points[3][at].x, slide.impulse.x, slide.impulse.y), slide.grip.hold);
    v.points[3][at + 1].y = slide.impulse.z;
#pragma unroll
    for (uint32_t k = 0; k < PSVI_PATCH_POINTS; ++k) {
        if (k >= c.count) break;
        v.points[2][at + k].w = slide.x[k];
        v.point_hit[at + k] = slide.y[k];
    }
}

// Of a contact with listed points: its rows, and the features of the points to where they are kept for the next step.
// Long, so it stays out of the way of balls.
__device__ __noinline__ static void lay_out_points(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                                   const psvi_contact &c, uint32_t place, uint64_t first, bool whole) {
    const psvi_point *points = s.points + c.first;
    v.normal[place] = f4_make(v3_make(c.friction, PSVI_DEEP * c.size, step.push_speed * sqrtf(2.0f * c.size)), 0);
    body_roots r;
    r.a = body_root(s, c.a);
    r.b = body_root(s, c.b);
    const float mass_b = s.linear[c.b].velocity.w;
    r.inverse_mass = s.linear[c.a].velocity.w + mass_b;
    r.moves_b = mass_b > 0;
    psvi_kept_point kept;
    kept.impulse[0] = kept.impulse[1] = kept.impulse[2] = 0;
    for (uint32_t k = 0; k < c.count; ++k) {
        lay_out_point(v, points + k, r, whole, first + k);
        kept.feature = points[k].feature;
        s.kept_points[c.first + k] = kept;
    }
    if (whole) lay_out_slide(v, c, points, r, first);
}

// Copies a contact to its place.
__device__ static void lay_out(const psvi_sim &s, const psvi_solver &v, const psvi_contact &c, uint32_t place,
                               psvi_bin bin, uint32_t kind, const psvi_step &step) {
    psvi_two_bodies bodies;
    bodies.a = c.a;
    bodies.b = c.b;
    v.bodies[place] = bodies;
    if (step.bounces) {
        psvi_f2 bounce;
        bounce.x = 0;
        bounce.y = c.restitution;
        v.bounce[place] = bounce;
    }
    const uint32_t listed = psvi_listed_points(kind);
    if (listed == 0)
        lay_out_ball(v, c, s.points + c.first, place);
    else
        lay_out_points(s, v, step, c, place, bin.point + (uint64_t)(place - bin.place) * listed,
                       kind >= PSVI_CLASS_WHOLE && kind < PSVI_CLASS_POINT);
}

__device__ __noinline__ static void start_roll(const psvi_sim &s, const psvi_step &step, const psvi_contact &c,
                                               uint32_t place) {
    s.rolls[place] = psvi_start_roll(&s, &step, &c, s.points[c.first].normal);
}

// In: contacts, some with the colour of the last step. Out: a colour for each; the contacts by colour and class, each
// contact's place, and the bins. A block takes a row of contacts and blocks stay in order, so a colour goes through the
// bodies as the pairs did; but the order within a bin is any, and nothing depends on it. Reads a contact three times
// (32 bytes) and its points once, writes half.
__global__ void __launch_bounds__(PSVI_COLOUR_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_colour(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                const __grid_constant__ psvi_step step) {
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
        atomicAdd(&sizes[bin_of(s, step, *c)], 1u);
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
        uint32_t bin = bin_of(s, step, c), place = atomicAdd(&base[bin], 1u);
        v.place[i] = place;
        if (s.rolls) start_roll(s, step, c, place); // before features are overwritten
        lay_out(s, v, c, place, bins[bin], bin % PSVI_CLASSES, step);
    }
}

// Keeps the impulses of a contact's points; `at`: the place of the first.
__device__ static void keep_points(const psvi_solver &v, psvi_kept_point *kept, uint64_t at, uint32_t count,
                                   bool whole) {
    float squared = 0;
    for (uint32_t k = 0; k < count && whole; ++k) {
        const float x = v.points[2][at + k].w, y = v.point_hit[at + k];
        squared += x * x + y * y;
    }
    v3 slide = v3_make(0, 0, 0);
    if (whole) slide = v3_make(v.points[3][at].y, v.points[3][at].z, v.points[3][at + 1].y);
    for (uint32_t k = 0; k < count; ++k) {
        const float4 impulse = quad(v.points[3] + at + k);
        v3 part = v3_make(impulse.y, impulse.z, 0);
        if (whole) part = psvi_share_slide(slide, (float)count, squared, v.points[2][at + k].w, v.point_hit[at + k]);
        kept[k].impulse[0] = impulse.x;
        kept[k].impulse[1] = part.x;
        kept[k].impulse[2] = part.y;
    }
}

// Keeps each contact for the next step: the impulses come back from the solver's order. Grid-stride; the mask was set
// by psvk_set_mask.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_keep(psvi_sim s, psvi_solver v, psvi_step step) {
    if (s.counts->halted) return;
    uint32_t count = (uint32_t)s.counts->contacts;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const psvi_contact c = s.contacts[i];
        const uint32_t place = v.place[i];
        if (s.rolls) {
            const psvi_roll roll = s.rolls[place];
            s.kept_rolls[c.first] = psvi_keep_roll(v3_of4(roll.normal), v3_of4(roll.impulse));
        }
        if (c.count == 1 && c.turning != PSVI_TURN_ANY) {
            const float4 impulse = quad(v.impulse + place);
            psvi_keep_key(&s, &c);
            *(float4 *)&s.kept_points[c.first] = make_float4(0, impulse.x, impulse.y, impulse.z); // feature 0
            continue;
        }
        psvi_keep_key(&s, &c);
        const uint32_t bin = bin_of(s, step, c), kind = bin % PSVI_CLASSES;
        psvi_bin b = v.bins[bin];
        keep_points(v, s.kept_points + c.first, b.point + (uint64_t)(place - b.place) * c.count, c.count,
                    kind >= PSVI_CLASS_WHOLE && kind < PSVI_CLASS_POINT);
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
    psvk_keep<<<(unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM), PSVI_SIM_BLOCK, 0, stream>>>(*sim, *solver, *step);
    return cudaGetLastError();
}
