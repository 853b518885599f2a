// The solver on the device: one kernel, whose threads wait for each other between colours. So no colour costs a launch,
// and the host need not know the number of colours.
#include "solve_contact.cuh"
#include "step_kernels.h"
#include "team.cuh"
#include "tuning.h"

// --- the contacts of a colour ----------------------------------------------------------------------------------------

// Groups of classes of a colour, whose contacts are shared by as many lanes each.
enum { BY_16, BY_8, BY_4, UNEVEN_BY_16, UNEVEN_BY_8, UNEVEN_BY_4, WHOLE, WHOLE_UNEVEN, POINT, ROUND, PLAIN, GROUPS };

__device__ static uint32_t group_class(int group) { // the first one
    return group < WHOLE ? (group >= UNEVEN_BY_16 ? PSVI_CLASS_POINTS_UNEVEN : PSVI_CLASS_POINTS) +
                               (group % 3 == 0   ? 0
                                : group % 3 == 1 ? PSVI_MAX_POINTS - 8
                                                 : PSVI_MAX_POINTS - 4)
           : group < POINT  ? (group == WHOLE ? PSVI_CLASS_WHOLE : PSVI_CLASS_WHOLE_UNEVEN)
           : group < GROUPS ? PSVI_CLASS_POINT + (uint32_t)(group - POINT)
                            : PSVI_CLASSES;
}
__device__ static uint32_t group_width(int group) { return group < WHOLE ? 16u >> group % 3 : group < POINT ? 4u : 1u; }
__device__ static bool is_uneven_group(int group) {
    return (group >= UNEVEN_BY_16 && group <= UNEVEN_BY_4) || group == WHOLE_UNEVEN;
}
__device__ static uint32_t whole_warps(uint32_t lanes) { return (lanes + 31) & ~31u; }

// Where each group begins among the places, and among the lanes, where each begins with a warp of its own.
typedef struct colour_plan {
    uint32_t place[GROUPS + 1], lane[GROUPS + 1];
} colour_plan;

// What all blocks know of the contacts, in shared memory.
typedef struct solve_table {
    psvi_bin bins[PSVI_BINS];
    colour_plan plan[PSVI_COLOURS + 1];
    uint32_t first[PSVI_COLOURS + 2]; // places
    uint32_t tail;                    // from this colour on one block is enough
} solve_table;

// `bins`: of the colour, whose places end at `end`.
__device__ static void plan_colour(const psvi_bin *bins, uint32_t end, colour_plan *plan) {
    for (int group = 0; group < GROUPS; ++group)
        plan->place[group] = bins[group_class(group)].place;
    plan->place[GROUPS] = end;
    plan->lane[0] = 0;
    for (int group = 0; group < GROUPS; ++group)
        plan->lane[group + 1] =
            plan->lane[group] + whole_warps((plan->place[group + 1] - plan->place[group]) * group_width(group));
}

__device__ static void fill_table(const psvi_solver &v, solve_table *table) {
    for (uint32_t k = threadIdx.x; k < PSVI_BINS; k += blockDim.x)
        table->bins[k] = v.bins[k];
    __syncthreads();
    if (threadIdx.x <= PSVI_COLOURS) table->first[threadIdx.x] = table->bins[threadIdx.x * PSVI_CLASSES].place;
    if (threadIdx.x == 0) {
        psvi_bin last = table->bins[PSVI_BINS - 1];
        table->first[PSVI_COLOURS + 1] = last.place + last.count;
    }
    __syncthreads();
    if (threadIdx.x <= PSVI_COLOURS) {
        plan_colour(table->bins + threadIdx.x * PSVI_CLASSES, table->first[threadIdx.x + 1], &table->plan[threadIdx.x]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t tail = PSVI_COLOURS, lanes = 0;
        while (tail > 0 && (lanes += table->plan[tail - 1].lane[GROUPS]) <= PSVI_SOLVE_TAIL)
            --tail;
        table->tail = tail;
    }
    __syncthreads();
}

// The contact of lane `x` of a colour's plan; `base`: the first lane of its warp, all of which are of one group.
template <bool GENERAL>
__device__ static contact_place find_contact(const solve_table *table, uint32_t colour, uint32_t x, uint32_t base,
                                             int *group) {
    const psvi_bin *bins = table->bins + colour * PSVI_CLASSES;
    const colour_plan *plan = &table->plan[colour];
    int g = GENERAL ? 0 : ROUND;
    for (int i = g + 1; i < GROUPS; ++i)
        g = base >= plan->lane[i] ? i : g;
    *group = g;
    contact_place c;
    c.place = plan->place[g] + (x - plan->lane[g]) / (GENERAL ? group_width(g) : 1);
    c.valid = c.place < plan->place[g + 1];
    if (!c.valid) c.place = plan->place[g + 1] - 1;
    if (!GENERAL || g >= ROUND) return c;
    uint32_t kind = group_class(g), end = group_class(g + 1);
    while (kind + 1 < end && c.place >= bins[kind + 1].place)
        ++kind;
    c.count = psvi_listed_points(kind);
    c.point = bins[kind].point + (c.place - bins[kind].place) * c.count;
    return c;
}

// What a pass does to the contacts of a warp, all of one group.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool REST, bool ROLLS>
__device__ static void solve_warp(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const contact_place &c, int group) {
    if (GENERAL && group < ROUND) {
        const bool whole = LOADS && !REST && (group == WHOLE || group == WHOLE_UNEVEN);
        const uint32_t width = group_width(group);
        const bool uneven = is_uneven_group(group);
        if (whole)
            solve_team<PASS, LOADS, BOUNCES, ROLLS, REST, LOADS && !REST>(s, v, step, c, width, uneven);
        else
            solve_team<PASS, LOADS, BOUNCES, ROLLS, REST, false>(s, v, step, c, width, uneven);
    } else if (group == ROUND) {
        if (!REST)
            solve_turning<PASS, LOADS, BOUNCES, ROLLS>(s, v, step, c);
        else if (c.valid)
            solve_rest_balls<PASS, LOADS, BOUNCES, ROLLS, true>(s, v, step, c);
    } else if (c.valid) {
        if (!REST)
            solve_plain<PASS, LOADS, BOUNCES>(s, v, step, c);
        else
            solve_rest_balls<PASS, LOADS, BOUNCES, ROLLS, false>(s, v, step, c);
    }
    __syncwarp();
}

// Contacts of one colour: lanes `first`, `first` + `stride` ... of its plan, both multiples of a warp but for the lane.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool REST, bool ROLLS>
__device__ static void run_colour(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const solve_table *table, uint32_t colour, uint32_t first, uint32_t stride) {
    const uint32_t lane = threadIdx.x % 32, items = table->plan[colour].lane[GROUPS], last = (items - 1) & ~31u;
    // Every other colour goes backward, so that it begins with the bodies that were used last. (General contacts begin
    // with the longest.)
    const bool backward = !GENERAL && (colour & 1) != 0;
    auto find = [&](uint32_t x, int *group) {
        x = backward ? last - (x - lane) + lane : x;
        contact_place c = find_contact<GENERAL>(table, colour, x, x - lane, group);
        c.two = load_bodies(v.bodies + c.place);
        return c;
    };
    int group = PLAIN, next_group = PLAIN;
    contact_place c, next = {};
    if (first - lane < items) next = find(first, &next_group);
    for (uint32_t turn = first; turn - lane < items; turn += stride) {
        c = next;
        group = next_group;
        if (turn - lane + stride < items) next = find(turn + stride, &next_group); // to ask for their bodies
        solve_warp<GENERAL, PASS, LOADS, BOUNCES, REST, ROLLS>(s, v, step, c, group);
    }
}

// --- contacts without a colour ---------------------------------------------------------------------------------------

template <bool GENERAL, psvi_pass PASS, bool LOADS>
__device__ static bool hit_rest(const psvi_solver &v, const psvi_step &step, const contact_place &c, int group,
                                bool look) {
    if (group >= ROUND) return hit_rest_balls<PASS, LOADS>(v, step, c, group == ROUND, look);
    return GENERAL && hit_rest_team<PASS, LOADS>(v, step, c, group_width(group), look);
}

// Hits cannot be shared out over contacts as other impulses are, or most of what comes in would be lost. So contacts of
// the rest hit one by one: in rounds, as colours are found; who is strongest at both of its bodies hits, and each once
// a pass. A ball among a thousand others has as many rounds as hit it at once; where nothing hits there is one.
template <bool GENERAL, psvi_pass PASS, bool LOADS>
__device__ static void run_rest_hits(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                     const solve_table *table, uint32_t first, uint32_t stride) {
    const uint32_t begin = table->first[PSVI_COLOUR_REST], lane = threadIdx.x % 32;
    const uint32_t items = table->plan[PSVI_COLOUR_REST].lane[GROUPS];
    uint32_t *done = v.lists[0], *wants = v.lists[1], *left = s.counts->uncoloured;
    auto find = [&](uint32_t x, int *group) {
        contact_place c = find_contact<GENERAL>(table, PSVI_COLOUR_REST, x, x - lane, group);
        c.two = v.bodies[c.place];
        return c;
    };
    for (uint32_t round = 0;; ++round) {
        for (uint32_t x = first; x - lane < items; x += stride) {
            int group;
            const contact_place c = find(x, &group);
            const bool hits = hit_rest<GENERAL, PASS, LOADS>(v, step, c, group, true);
            if (!c.valid || lane % group_width(group) != 0) continue;
            const uint32_t i = c.place - begin;
            if (round == 0) done[i] = 0;
            wants[i] = hits && done[i] == 0 ? 1u : 0u;
            if (wants[i] == 0) continue;
            unsigned long long strength = psvi_mix64(psvi_contact_key(c.two.a, c.two.b));
            if (v.movers.motion[c.two.a].linear.w > 0) atomicMax((unsigned long long *)&s.claim[c.two.a], strength);
            if (v.movers.motion[c.two.b].linear.w > 0) atomicMax((unsigned long long *)&s.claim[c.two.b], strength);
            atomicAdd(&left[round & 1], 1u);
        }
        team_wait();
        if (team_rank() == 0) left[(round + 1) & 1] = 0;
        if (__ldcg(&left[round & 1]) == 0) return; // the same for all
        for (uint32_t x = first; x - lane < items; x += stride) {
            int group;
            contact_place c = find(x, &group);
            const uint32_t i = c.place - begin;
            unsigned long long strength = psvi_mix64(psvi_contact_key(c.two.a, c.two.b));
            unsigned long long *a = (unsigned long long *)&s.claim[c.two.a];
            unsigned long long *b = (unsigned long long *)&s.claim[c.two.b];
            const bool moves_a = v.movers.motion[c.two.a].linear.w > 0, moves_b = v.movers.motion[c.two.b].linear.w > 0;
            const bool asks = c.valid && __ldcg(&wants[i]) != 0;
            const bool first_a = asks && (!moves_a || __ldcg(a) == strength);
            const bool first_b = asks && (!moves_b || __ldcg(b) == strength), head = lane % group_width(group) == 0;
            c.valid = first_a && first_b;
            __syncwarp();
            (void)hit_rest<GENERAL, PASS, LOADS>(v, step, c, group, false);
            if (c.valid && head) done[i] = 1;
            // Others compare claims with their own strength only, so it does not matter when they see this.
            if (head && moves_a && first_a) *a = 0;
            if (head && moves_b && first_b) *b = 0;
        }
        team_wait();
    }
}

// Contacts without a colour; rare, so their code stays out of the way of the others' registers.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ __noinline__ static void run_rest(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                             const solve_table *table, uint32_t first, uint32_t stride) {
    if (BOUNCES && PASS != PSVI_PASS_WARM && step.bounces)
        run_rest_hits<GENERAL, PASS, LOADS>(s, v, step, table, first, stride);
    run_colour<GENERAL, PASS, LOADS, BOUNCES, true, ROLLS>(s, v, step, table, PSVI_COLOUR_REST, first, stride);
    team_wait();
    for (uint64_t i = team_rank(); i < s.slots; i += team_size())
        apply_rest(s, v, (uint32_t)i);
    team_wait();
}

// --- the solver ------------------------------------------------------------------------------------------------------

// Colours by their numbers, or from the last one down (`backward`); then the rest.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ static void run_pass(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                const solve_table *table, bool backward) {
    // Warp by warp over the processors, so that few contacts are spread over all of them.
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    uint32_t first = warp * 32 + threadIdx.x % 32, stride = gridDim.x * blockDim.x;
    // The last colours are small: one block solves them while the others wait. (One call: each has its own code.)
    bool any = false, was_few = false;
    for (uint32_t i = 0; i < PSVI_COLOURS; ++i) {
        const uint32_t colour = backward ? PSVI_COLOURS - 1 - i : i;
        if (table->first[colour] == table->first[colour + 1]) continue; // the same for all
        const bool few = colour >= table->tail;
        if (few && was_few)
            __syncthreads();
        else if (any)
            team_wait();
        if (!few || blockIdx.x == 0)
            run_colour<GENERAL, PASS, LOADS, BOUNCES, false, ROLLS>(
                s, v, step, table, colour, few ? threadIdx.x : first, few ? blockDim.x : stride);
        any = true;
        was_few = few;
    }
    if (any) team_wait();
    if (table->first[PSVI_COLOUR_REST] < table->first[PSVI_COLOUR_REST + 1])
        run_rest<GENERAL, PASS, LOADS, BOUNCES, ROLLS>(s, v, step, table, first, stride);
}

__device__ static void start_rest(const psvi_sim &s, const psvi_solver &v, const solve_table *table) {
    uint32_t begin = table->first[PSVI_COLOUR_REST], end = table->first[PSVI_COLOUR_REST + 1];
    if (begin == end) return;
    for (uint64_t i = team_rank(); i < (uint64_t)s.slots * REST_FIELDS; i += team_size())
        s.rest[i] = 0;
    team_wait();
    for (uint64_t i = begin + team_rank(); i < end; i += team_size()) {
        psvi_two_bodies two = v.bodies[i];
        atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * two.a + 6], 1ull);
        atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * two.b + 6], 1ull);
    }
}

// The records of a sleeper are those of the step in which it fell asleep: all zero.
__device__ static bool has_still_records(const psvi_solver &v, uint32_t i) {
    const psvi_motion m = v.movers.motion[i];
    return m.linear.x == 0 && m.linear.y == 0 && m.linear.z == 0 && m.linear.w == 0 && m.angular.x == 0 &&
           m.angular.y == 0 && m.angular.z == 0 && m.angular.w == 0;
}

// All bodies' records at the beginning of a step. Where some may sleep, those that move are listed in `awake`.
__device__ static void start_movers(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t *awake,
                                    uint32_t first, uint32_t stride) {
    for (uint32_t i = first; i < s.slots; i += stride) {
        if (awake != NULL && psvi_is_asleep(&s, i) && has_still_records(v, i)) continue;
        (void)psvi_start_mover(&s, &v.movers, &step, i);
        if (awake != NULL && s.linear[i].velocity.w > 0) append(awake, &s.counts->movers, i);
    }
}

// In: contacts in the order of their colours, bodies' solver state. Out: velocities, movement and impulses after all
// substeps. The grid waits after every colour of every pass, but for the last small ones. A pass reads 40 bytes of a
// plain contact, 48 of a round one, 112 a point of others, and 32 of each body (after the move 48). It writes 16 bytes
// of the contact and up to 32 of each body. With GENERAL false there are balls and particles only, with BOUNCES false
// no shape has restitution.
template <bool GENERAL, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ __forceinline__ static void solve(const psvi_sim &s, const psvi_solver &v, const psvi_step &step) {
    if (s.counts->halted) return; // the same for all
    __shared__ solve_table table;
    fill_table(v, &table);
    uint32_t first = team_rank(), stride = team_size();
    if (first == 0) {
        uint32_t used = 0;
        for (uint32_t k = 0; k <= PSVI_COLOURS; ++k)
            if (table.first[k + 1] > table.first[k]) used = k + 1;
        s.counts->colours = used;
    }
    start_rest(s, v, &table);
    uint32_t *const awake = s.island != NULL ? v.awake : NULL; // NULL: all bodies count as such
    uint32_t movers = s.slots;
    const auto for_movers = [&](auto visit) {
        for (uint32_t k = first; k < movers; k += stride)
            visit(awake != NULL ? awake[k] : k);
    };
    for (uint32_t substep = 0; substep < step.substeps; ++substep) {
        if (substep == 0)
            start_movers(s, v, step, awake, first, stride);
        else
            for_movers([&](uint32_t i) { psvi_push_mover(&s, &v.movers, &step, LOADS, GENERAL, i); });
        team_wait();
        if (awake != NULL) movers = __ldcg(&s.counts->movers);
        // The direction changes from substep to substep, as on the CPU (run_pass in sim_cpu.c).
        const bool backward = LOADS && ((s.counts->steps * step.substeps + substep) & 1) != 0;
        if (substep == 0) run_pass<GENERAL, PSVI_PASS_WARM, LOADS, BOUNCES, ROLLS>(s, v, step, &table, backward);
        run_pass<GENERAL, PSVI_PASS_SOLVE, LOADS, BOUNCES, ROLLS>(s, v, step, &table, backward);
        for_movers([&](uint32_t i) { psvi_move_mover(&s, &v.movers, &step, LOADS, i); });
        team_wait();
        run_pass<GENERAL, PSVI_PASS_RELAX, LOADS, BOUNCES, ROLLS>(s, v, step, &table, LOADS && !backward);
        if (!LOADS) run_pass<GENERAL, PSVI_PASS_AGAIN, LOADS, BOUNCES, ROLLS>(s, v, step, &table, false);
    }
    for_movers([&](uint32_t i) { psvi_stop_mover(&s, &v.movers, &step, GENERAL, i); });
}

// Where forces act, and no shape has restitution: with the code for hits the kernel for all bodies is two thirds longer
// and spills.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
               const __grid_constant__ psvi_step step) {
    solve<true, true, false, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_round(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                     const __grid_constant__ psvi_step step) {
    solve<false, true, false, false>(s, v, step);
}

// Where some has.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_bouncing(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                        const __grid_constant__ psvi_step step) {
    solve<true, true, true, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_round_bouncing(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                              const __grid_constant__ psvi_step step) {
    solve<false, true, true, false>(s, v, step);
}

// With rolling friction.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_rolling(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                       const __grid_constant__ psvi_step step) {
    solve<true, true, true, true>(s, v, step);
}

// Where no forces act.
__global__ void __launch_bounds__(PSVI_SIM_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_free(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                    const __grid_constant__ psvi_step step) {
    solve<true, false, true, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_TEAM_BLOCKS)
    psvk_solve_round_free(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                          const __grid_constant__ psvi_step step) {
    solve<false, false, true, false>(s, v, step);
}

static const void *solve_kernel(psvi_solve_kind kind, bool loads, bool bounces) {
    const bool round = kind == PSVI_SOLVE_ROUND;
    if (kind == PSVI_SOLVE_ROLLING) return (const void *)psvk_solve_rolling;
    if (!loads) return round ? (const void *)psvk_solve_round_free : (const void *)psvk_solve_free;
    if (bounces) return round ? (const void *)psvk_solve_round_bouncing : (const void *)psvk_solve_bouncing;
    return round ? (const void *)psvk_solve_round : (const void *)psvk_solve;
}

static int solve_block(psvi_solve_kind kind) {
    return kind == PSVI_SOLVE_ROUND ? PSVI_SOLVE_ROUND_BLOCK : PSVI_SIM_BLOCK;
}

// What fits the kernels of all kinds of frames.
cudaError_t psvi_solve_team(psvi_solve_kind kind, int *per_processor, int *cluster) {
    for (int frame = 0; frame < 3; ++frame) {
        const void *kernel = solve_kernel(kind, frame < 2, frame == 1);
        int blocks = 0, size = 0;
        cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, solve_block(kind), 0);
        if (error == cudaSuccess) error = largest_team_cluster(kernel, solve_block(kind), &size);
        if (error != cudaSuccess) return error;
        if (frame == 0 || blocks < *per_processor) *per_processor = blocks;
        if (frame == 0 || size < *cluster) *cluster = size;
    }
    return cudaSuccess;
}

cudaError_t psvi_launch_solve(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step,
                              psvi_solve_kind kind, psvi_team team, cudaStream_t stream) {
    psvi_sim s = *sim;
    psvi_solver v = *solver;
    psvi_step t = *step;
    void *arguments[] = {&s, &v, &t};
    return launch_team(solve_kernel(kind, step->loads, step->bounces), team, solve_block(kind), arguments, stream);
}
