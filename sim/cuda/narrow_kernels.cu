// Narrow phase on the device: pairs of round bodies at once, all others through lists, then the ground. Hulls have
// kernels of their own (hull_kernels.cu).
#include "../contacts/narrow.h"
#include "../solver/sleeper_hits.h"
#include "step_kernels.h"
#include "tuning.h"

// Stops this step, and those after it, when the finder had more pairs than room. One thread.
__global__ void psvk_check_pair_room(psvi_sim s) {
    if (s.counts->halted) return;
    s.counts->pairs = *s.pair_count;
    if (*s.pair_count > s.pair_capacity) s.counts->halted = PSVI_HALTED_NO_ROOM;
}

// Reserves a contact of one point for each thread of the block with `hit`; asked for once a block, or the counters
// would hold up all of them.
__device__ static void reserve_round(const psvi_sim &s, bool hit, uint64_t *index, uint64_t *first) {
    __shared__ uint32_t before[PSVI_SIM_BLOCK / 32];
    __shared__ uint64_t base[2];
    uint32_t warp = threadIdx.x / 32, lower = (1u << threadIdx.x % 32) - 1;
    uint32_t hits = __ballot_sync(~0u, hit);
    if (threadIdx.x % 32 == 0) before[warp] = (uint32_t)__popc(hits);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < PSVI_SIM_BLOCK / 32; ++k) {
            uint32_t count = before[k];
            before[k] = sum;
            sum += count;
        }
        if (sum > 0) {
            base[0] = atomicAdd((unsigned long long *)&s.counts->contacts, (unsigned long long)sum);
            base[1] = atomicAdd((unsigned long long *)&s.counts->points, (unsigned long long)sum);
        }
    }
    __syncthreads();
    uint32_t own = before[warp] + (uint32_t)__popc(hits & lower);
    *index = base[0] + own;
    *first = base[1] + own;
}

// In: pairs. Out: contacts of round bodies; the indices of other pairs. Grid-stride, one thread a pair; about 150 bytes
// a pair are gathered, and 112 written for a contact.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_narrow_round(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = *s.pair_count;
    for (uint64_t begin = blockIdx.x * (uint64_t)blockDim.x; begin < count; begin += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t i = begin + threadIdx.x, index, first;
        psv_pair pair = {0, 0};
        psvi_round_pair round;
        psvi_found found;
        bool hit = false;
        if (i < count) {
            pair = s.pairs[i];
            if (psvi_pair_is_round(&s, pair.a, pair.b)) {
                hit = psvi_touch_round_pair(&s, &step, pair.a, pair.b, &round, &found);
            } else {
                psvi_reserve(&s.counts->others, &s.counts->others, 0, &index, &first);
                s.other_pairs[index] = (uint32_t)i;
            }
        }
        __syncwarp();
        reserve_round(s, hit, &index, &first);
        if (hit) psvi_write_round_contact(&s, pair.a, pair.b, &round, true, &found, index, first);
    }
}

// In: the list of other pairs. Out: contacts of those that have hardly moved; the rest of the list, in the room of the
// followed ones. From its end down pairs with a hull, if the world has `hulls`; else those that did not meet in the
// last step, most of which do not in this one: threads of a warp then do the same. One thread a pair; about 300 bytes a
// contact are read and 250 written.
template <bool hulls>
__global__ void __launch_bounds__(PSVI_SIM_BLOCK, PSVI_KEEP_BLOCKS) psvk_keep_points(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->others;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psv_pair pair = s.pairs[s.other_pairs[i]];
        if (psvi_keep_points(&s, &step, pair.a, pair.b)) continue;
        uint64_t index, first;
        const bool last = hulls ? psvi_pair_has_hull(&s, pair.a, pair.b) : psvi_find_kept(&s, pair.a, pair.b) == 0;
        if (last) {
            uint64_t *length = hulls ? &s.counts->hulls : &s.counts->unmet;
            psvi_reserve(length, length, 0, &index, &first);
            *(s.lists_end - 1 - index) = s.other_pairs[i];
        } else {
            psvi_reserve(&s.counts->searched, &s.counts->searched, 0, &index, &first);
            s.followed_pairs[index] = s.other_pairs[i];
        }
    }
}

// In: that rest. Out: its contacts; those to be followed, in the room of the other pairs. One thread a pair: the
// functions are long and diverge.
__global__ void __launch_bounds__(PSVI_NARROW_BLOCK, PSVI_NARROW_BLOCKS) psvk_narrow_other(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    const uint64_t met = s.counts->searched, count = met + s.counts->unmet;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t number = i < met ? s.followed_pairs[i] : *(s.lists_end - 1 - (i - met));
        psv_pair pair = s.pairs[number];
        if (psvi_narrow_other_pair(&s, &step, pair.a, pair.b, false)) {
            uint64_t index, first;
            psvi_reserve(&s.counts->followed, &s.counts->followed, 0, &index, &first);
            s.other_pairs[index] = number;
        }
    }
}

// In: the list of pairs that are apart and fast. Out: their contacts, of the moment in which they touch or come
// nearest. One thread a pair; few, and each looks many times, so they are kept out of the way of the others.
__global__ void __launch_bounds__(PSVI_NARROW_BLOCK) psvk_follow(psvi_sim s, psvi_step step) {
    if (s.counts->halted) return;
    uint64_t count = s.counts->followed;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        psv_pair pair = s.pairs[s.other_pairs[i]];
        psvi_follow_pair(&s, &step, pair.a, pair.b, false, false);
    }
}

// In: bodies and ground. Out: contacts of round bodies with planes and fields. One thread a body.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_ground_round(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    psvi_narrow_ground(&s, &step, i, true, false);
}

// All else against the ground. One thread a body.
__global__ void __launch_bounds__(PSVI_NARROW_BLOCK) psvk_ground_other(psvi_sim s, psvi_step step) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.slots || s.counts->halted) return;
    if (s.geometry.hulls != NULL && s.geometry.shapes[s.shape[i]].type == PSV_SHAPE_HULL) return;
    psvi_narrow_ground(&s, &step, i, false, false);
}

static __device__ bool contacts_fit(const psvi_sim &s) {
    return s.counts->contacts <= s.contact_capacity && s.counts->points <= s.point_capacity;
}

// In: contacts, of a world whose bodies sleep. Out: marks of the islands that are hit. One thread a contact,
// grid-stride; of contacts without a sleeper it reads 8 bytes and two flags.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK) psvk_find_hits(psvi_sim s, psvi_step step) {
    if (s.counts->halted || !contacts_fit(s)) return;
    const uint64_t count = s.counts->contacts;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
        psvi_find_hit(&s, &step, i);
}

// Stops this step when contacts did not fit, or a sleeper is hit. One thread.
__global__ void psvk_check_contacts(psvi_sim s, bool repeats) {
    psvi_step_counts *c = s.counts;
    if (c->halted) return;
    if (!contacts_fit(s)) {
        c->halted = PSVI_HALTED_NO_ROOM;
    } else if (repeats && psvi_tries_again(c)) {
        c->halted = PSVI_HALTED_BY_HIT;
        ++c->tries;
    }
}

// All but round bodies, and what is on meshes.
static cudaError_t launch_narrow_general(const psvi_sim *sim, const psvi_step *step, bool ground, int processors,
                                         cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    if (sim->geometry.hulls != NULL)
        psvk_keep_points<true><<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    else
        psvk_keep_points<false><<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_narrow_other<<<blocks, PSVI_NARROW_BLOCK, 0, stream>>>(*sim, *step);
    psvk_follow<<<blocks, PSVI_NARROW_BLOCK, 0, stream>>>(*sim, *step);
    if (ground)
        psvk_ground_other<<<(sim->slots + PSVI_NARROW_BLOCK - 1) / PSVI_NARROW_BLOCK, PSVI_NARROW_BLOCK, 0, stream>>>(
            *sim, *step);
    return sim->geometry.hulls != NULL ? psvi_launch_narrow_hulls(sim, step, ground, processors, stream) : cudaSuccess;
}

cudaError_t psvi_launch_narrow(const psvi_sim *sim, const psvi_step *step, bool ground, bool general, int processors,
                               cudaStream_t stream) {
    unsigned blocks = (unsigned)(processors * PSVI_SIM_BLOCKS_PER_SM);
    psvk_check_pair_room<<<1, 1, 0, stream>>>(*sim);
    psvk_narrow_round<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    if (ground)
        psvk_ground_round<<<(sim->slots + PSVI_SIM_BLOCK - 1) / PSVI_SIM_BLOCK, PSVI_SIM_BLOCK, 0, stream>>>(*sim,
                                                                                                             *step);
    if (general) {
        cudaError_t error = launch_narrow_general(sim, step, ground, processors, stream);
        if (error != cudaSuccess) return error;
    }
    if (sim->island != NULL) psvk_find_hits<<<blocks, PSVI_SIM_BLOCK, 0, stream>>>(*sim, *step);
    psvk_check_contacts<<<1, 1, 0, stream>>>(*sim, step->repeats);
    return cudaGetLastError();
}
