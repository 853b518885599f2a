// The solver on the device, as one kernel whose threads wait for each other between colours, so no colour costs a
// launch and the host need not know how many there are.
#include "../solver/body_forces.h"
#include "../solver/contact_round.h"
#include "solve_general.cuh"
#include "solve_roll.cuh"
#include "step_kernels.h"
#include "team.cuh"
#include "tuning.h"

// --- one contact -----------------------------------------------------------------------------------------------------

__device__ static void add_lasting(psvi_f4 *velocity, v3 change) {
    *velocity = f4_make(v3_add(v3_of4(*velocity), change), velocity->w);
}

// The hits of a round contact (psvi_solve_hits); `bounce`: that of the place.
template <psvi_pass PASS, bool LOADS, bool TURNING>
__device__ static bool hit_balls(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                 psvi_f2 bounce, v3 n, float friction, float separation, psvi_balls *t) {
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    psvi_balls now = *t;
    if (!LOADS && !after) {
        if (t->ma > 0) now.va = v3_of4(v.pushed[two.a].linear);
        if (t->mb > 0) now.vb = v3_of4(v.pushed[two.b].linear);
        if (TURNING && t->ma > 0) now.wa = v3_of4(v.pushed[two.a].angular);
        if (TURNING && t->mb > 0) now.wb = v3_of4(v.pushed[two.b].angular);
    }
    psvi_balls before = now;
    if (after && bounce.x > 0) {
        psvi_round_rebound(&now, n, bounce.y, &step, v.sum[place], bounce.x);
        v.bounce[place].x = 0;
    } else {
        psvi_f2 arms = {0, 0};
        if (TURNING) arms = v.arms[place];
        float total, pending;
        if (!psvi_round_hit(&now, n, separation, friction, bounce.y, &step, after, TURNING, arms.x, arms.y, &total,
                            &pending))
            return false;
        if (pending > 0) {
            v.sum[place] = total;
            v.bounce[place].x = pending;
        }
    }
    v3 va = v3_sub(now.va, before.va), vb = v3_sub(now.vb, before.vb);
    v3 wa = v3_sub(now.wa, before.wa), wb = v3_sub(now.wb, before.wb);
    t->va = v3_add(t->va, va);
    t->vb = v3_add(t->vb, vb);
    t->wa = v3_add(t->wa, wa);
    t->wb = v3_add(t->wb, wb);
    if (!LOADS && after) return true;
    if (t->ma > 0) add_lasting(&v.pushed[two.a].linear, va);
    if (t->mb > 0) add_lasting(&v.pushed[two.b].linear, vb);
    if (TURNING && t->ma > 0) add_lasting(&v.pushed[two.a].angular, wa);
    if (TURNING && t->mb > 0) add_lasting(&v.pushed[two.b].angular, wb);
    return true;
}

// What a pass does to a round contact's bodies; true when it did anything. What has not changed is not written. LOADS:
// psvi_step.loads; kernels for frames with forces have nothing of the others. Contacts of the rest have hit before:
// their bodies are shared.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool TURNING, bool REST>
__device__ static bool solve_balls(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                   psvi_f4 nq, psvi_f4 iq, psvi_balls *t, float split) {
    v3 n = v3_of4(nq), impulse = v3_of4(iq);
    float friction = nq.w, separation = iq.w;
    if (PASS == PSVI_PASS_WARM) {
        if (impulse.x == 0 && impulse.y == 0 && impulse.z == 0) return false;
        psvi_round_warm(t, n, impulse, TURNING);
        return true;
    }
    bool relax = PASS == PSVI_PASS_RELAX || PASS == PSVI_PASS_AGAIN;
    float push = impulse.x; // where no forces act, what undoes overlap
    if (!LOADS && relax) impulse = v3_make(0, 0, 0);
    if (PASS == PSVI_PASS_RELAX) {
        v3 da = v3_of4(load_any(&v.moved[two.a])), db = v3_of4(load_any(&v.moved[two.b]));
        separation += v3_dot(v3_sub(db, da), n);
    }
    bool bounces = false, hit = false;
    if (BOUNCES && step.bounces) {
        psvi_f2 bounce = load_two(v.bounce + place);
        bounces = bounce.y > 0;
        if (!REST && bounces)
            hit = hit_balls<PASS, LOADS, TURNING>(v, step, place, two, bounce, n, friction, separation, t);
    }
    bool rubs = LOADS && friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
    if (!relax && rubs) psvi_round_friction(t, n, &impulse, friction, TURNING, split);
    float change = psvi_round_normal(t, n, &impulse.x, separation, &step, relax, relax && bounces, split);
    if (relax) {
        rubs = friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
        if (rubs) psvi_round_friction(t, n, &impulse, friction, TURNING, split);
    }
    bool changed = rubs || change != 0;
    if (LOADS || !relax) {
        if (relax || changed) store_row(v.impulse + place, f4_make(impulse, separation));
    } else if (PASS == PSVI_PASS_RELAX) {
        store_row(v.impulse + place, f4_make(v3_make(push, 0, 0), separation));
    }
    return changed || hit;
}

__device__ static psvi_balls balls_of(const psvi_motion &a, const psvi_motion &b, psvi_f2 arms) {
    psvi_balls t;
    t.va = v3_of4(a.linear);
    t.vb = v3_of4(b.linear);
    t.wa = v3_of4(a.angular);
    t.wb = v3_of4(b.angular);
    t.ma = a.linear.w;
    t.mb = b.linear.w;
    t.ra = a.angular.w * arms.x; // with inertia made 1
    t.rb = b.angular.w * arms.y;
    return t;
}

// A round contact whose bodies turn, of a colour. All lanes of the warp are here; those with `valid` have a contact.
template <psvi_pass PASS, bool LOADS, bool BOUNCES>
__device__ static void solve_turning(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                     bool valid) {
    psvi_f4 nq = load_row(v.normal + place), iq = load_row(v.impulse + place);
    psvi_motion a = load_record(v.motion, two.a), b = load_record(v.motion, two.b);
    psvi_balls t = balls_of(a, b, load_two(v.arms + place));
    bool changed = valid && solve_balls<PASS, LOADS, BOUNCES, true, false>(v, step, place, two, nq, iq, &t, 1.0f);
    __syncwarp();
    if (!__any_sync(~0u, changed)) return;
    a.linear = f4_make(t.va, a.linear.w);
    a.angular = f4_make(t.wa, a.angular.w);
    b.linear = f4_make(t.vb, b.linear.w);
    b.angular = f4_make(t.wb, b.angular.w);
    store_record(v.motion, two.a, a, changed && t.ma > 0);
    store_record(v.motion, two.b, b, changed && t.mb > 0);
}

// A contact whose bodies do not turn, of a colour.
template <psvi_pass PASS, bool LOADS, bool BOUNCES>
__device__ static void solve_plain(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two) {
    psvi_f4 nq = load_row(v.normal + place), iq = load_row(v.impulse + place);
    psvi_f4 a = load_any(&v.motion[two.a].linear), b = load_any(&v.motion[two.b].linear);
    psvi_balls t;
    t.va = v3_of4(a);
    t.vb = v3_of4(b);
    t.ma = a.w;
    t.mb = b.w;
    if (!solve_balls<PASS, LOADS, BOUNCES, false, false>(v, step, place, two, nq, iq, &t, 1.0f)) return;
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
}

// A round contact of the rest.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool TURNING>
__device__ static void solve_round_rest(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t place,
                                        psvi_two_bodies two) {
    psvi_motion a = v.motion[two.a], b = v.motion[two.b];
    psvi_f2 arms = {0, 0};
    if (TURNING) arms = v.arms[place];
    psvi_balls t = balls_of(a, b, arms);
    float split = rest_split(s, two, t.ma > 0, t.mb > 0);
    if (!solve_balls<PASS, LOADS, BOUNCES, TURNING, true>(v, step, place, two, v.normal[place], v.impulse[place], &t,
                                                          split))
        return;
    if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, v3_of4(a.linear)));
    if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, v3_of4(b.linear)));
    if (TURNING && t.ma > 0 && a.angular.w > 0) add_rest(s, two.a, 3, v3_sub(t.wa, v3_of4(a.angular)));
    if (TURNING && t.mb > 0 && b.angular.w > 0) add_rest(s, two.b, 3, v3_sub(t.wb, v3_of4(b.angular)));
}

// --- rolling friction ------------------------------------------------------------------------------------------------

__device__ static psvi_root motion_root(const psvi_sim &s, uint32_t body, psvi_f4 angular) {
    return angular.w >= 0 ? psvi_root_isotropic(angular.w) : psvi_root_of(s.inv_inertia[body]);
}

// Rolling and spinning friction of a contact of a colour, after all else of the pass; `bin` of its class, `count` of
// its points where they are listed, else 0.
template <psvi_pass PASS>
__device__ static void roll_contact(const psvi_sim &s, const psvi_solver &v, uint32_t place, psvi_two_bodies two,
                                    psvi_bin bin, uint32_t count) {
    psvi_roll roll = s.rolls[place];
    if (!(roll.impulse.w > 0 || roll.normal.w > 0)) return;
    psvi_f4 *a = &v.motion[two.a].angular, *b = &v.motion[two.b].angular;
    const psvi_f4 wa = *a, wb = *b;
    psvi_spins t;
    t.a = v3_of4(wa);
    t.b = v3_of4(wb);
    t.root_a = motion_root(s, two.a, wa);
    t.root_b = motion_root(s, two.b, wb);
    if (PASS == PSVI_PASS_WARM) {
        psvi_roll_apply(&t, v3_of4(roll.impulse));
    } else {
        float pressing = count == 0 ? v.impulse[place].x : 0.0f;
        for (uint32_t k = 0; k < count; ++k)
            pressing += v.points[3][bin.point + (uint64_t)k * bin.count + (place - bin.place)].x;
        psvi_solve_roll(&roll, pressing, &t);
        s.rolls[place].impulse = roll.impulse;
    }
    if (wa.w != 0 && v.motion[two.a].linear.w > 0) *a = f4_make(t.a, wa.w);
    if (wb.w != 0 && v.motion[two.b].linear.w > 0) *b = f4_make(t.b, wb.w);
}

// --- the solver ------------------------------------------------------------------------------------------------------

// Kinds of contacts of a colour: those that 16, 8 and 4 lanes share, then those of a lane each: general ones, round
// ones and those whose bodies do not turn.
enum { BY_16, BY_8, BY_4, ALONE, ROUND, PLAIN, KINDS };

__device__ static uint32_t kind_width(int kind) { return kind == BY_16 ? 16 : kind == BY_8 ? 8 : kind == BY_4 ? 4 : 1; }
__device__ static uint32_t whole_warps(uint32_t lanes) { return (lanes + 31) & ~31u; }

// Where each kind begins among the places, and among the lanes, where each begins with a warp of its own.
typedef struct colour_plan {
    uint32_t place[KINDS + 1], lane[KINDS + 1];
} colour_plan;

// What all blocks know of the contacts, in shared memory.
typedef struct solve_table {
    psvi_bin bins[PSVI_BINS];
    colour_plan plan[PSVI_COLOURS + 1];
    uint32_t first[PSVI_COLOURS + 2]; // places
    uint32_t tail;                    // from this colour on one block is enough
} solve_table;

// `bins`: of the colour; `share`: lanes may share contacts. Returns the lanes.
__device__ static uint32_t plan_colour(const psvi_bin *bins, uint32_t begin, uint32_t end, bool share,
                                       colour_plan *plan) {
    plan->place[BY_16] = begin;
    plan->place[BY_8] = share ? bins[PSVI_MAX_POINTS - 8].place : begin;
    plan->place[BY_4] = share ? bins[PSVI_MAX_POINTS - 4].place : begin;
    plan->place[ALONE] = share ? bins[PSVI_MAX_POINTS - 1].place : begin;
    plan->place[ROUND] = bins[PSVI_CLASS_ROUND].place;
    plan->place[PLAIN] = bins[PSVI_CLASS_PLAIN].place;
    plan->place[KINDS] = end;
    plan->lane[0] = 0;
    for (int kind = 0; kind < KINDS; ++kind)
        plan->lane[kind + 1] =
            plan->lane[kind] + whole_warps((plan->place[kind + 1] - plan->place[kind]) * kind_width(kind));
    return plan->lane[KINDS];
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
        const psvi_bin *bins = table->bins + threadIdx.x * PSVI_CLASSES;
        uint32_t begin = table->first[threadIdx.x], end = table->first[threadIdx.x + 1];
        colour_plan *plan = &table->plan[threadIdx.x];
        bool coloured = threadIdx.x < PSVI_COLOURS;
        // Decided by the counts alone, never by the threads there are: shared contacts are rounded in another way.
        if (plan_colour(bins, begin, end, coloured, plan) > PSVI_SOLVE_SHARED)
            plan_colour(bins, begin, end, false, plan);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t tail = PSVI_COLOURS, lanes = 0;
        while (tail > 0 && (lanes += table->plan[tail - 1].lane[KINDS]) <= PSVI_SOLVE_TAIL)
            --tail;
        table->tail = tail;
    }
    __syncthreads();
}

// Contacts of one colour: lanes `first`, `first` + `stride` ... of its plan, both multiples of a warp but for the lane.
// The lanes that are left over at a kind's end take its last contact and do nothing.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool REST, bool ROLLS>
__device__ static void run_colour(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const solve_table *table, uint32_t colour, uint32_t first, uint32_t stride) {
    const psvi_bin *bins = table->bins + colour * PSVI_CLASSES;
    const colour_plan *plan = &table->plan[colour];
    uint32_t lane = threadIdx.x % 32, items = plan->lane[KINDS], last = (items - 1) & ~31u;
    // Every other colour goes backward, so that it begins with the bodies that were used last. (General contacts begin
    // with the longest.)
    bool backward = !GENERAL && (colour & 1) != 0;
    auto item_of = [&](uint32_t x) { return backward ? last - (x - lane) + lane : x; };
    // The kind of a warp, the place of a lane of it, and whether that is a contact or one too many.
    int kind = PLAIN;
    uint32_t place = 0;
    bool valid = false;
    auto find = [&](uint32_t x) {
        kind = x - lane < plan->lane[PLAIN] ? ROUND : PLAIN;
        if (GENERAL)
            while (kind > 0 && x - lane < plan->lane[kind])
                --kind;
        place = plan->place[kind] + (x - plan->lane[kind]) / (GENERAL ? kind_width(kind) : 1);
        valid = place < plan->place[kind + 1];
        if (!valid) place = plan->place[kind + 1] - 1;
    };
    psvi_two_bodies next = {0, 0};
    if (first - lane < items) {
        find(item_of(first));
        next = load_bodies(v.bodies + place);
    }
    for (uint32_t turn = first; turn - lane < items; turn += stride) {
        find(item_of(turn));
        const int this_kind = kind;
        const uint32_t k = place;
        const bool is_contact = valid;
        psvi_two_bodies two = next;
        if (turn - lane + stride < items) { // to ask for their records
            find(item_of(turn + stride));
            next = load_bodies(v.bodies + place);
        }
        if (GENERAL && this_kind <= ALONE) {
            if (!REST && this_kind == BY_16)
                solve_shared<PASS, LOADS, BOUNCES, 16>(v, step, k, two, bins, is_contact);
            else if (!REST && this_kind == BY_8)
                solve_shared<PASS, LOADS, BOUNCES, 8>(v, step, k, two, bins, is_contact);
            else if (!REST && this_kind == BY_4)
                solve_shared<PASS, LOADS, BOUNCES, 4>(v, step, k, two, bins, is_contact);
            else if (is_contact)
                solve_general<PASS, LOADS, BOUNCES, REST>(s, v, step, k, two, bins);
            __syncwarp();
        } else if (this_kind == ROUND) {
            if (!REST)
                solve_turning<PASS, LOADS, BOUNCES>(v, step, k, two, is_contact);
            else if (is_contact)
                solve_round_rest<PASS, LOADS, BOUNCES, true>(s, v, step, k, two);
        } else if (is_contact) {
            if (!REST)
                solve_plain<PASS, LOADS, BOUNCES>(v, step, k, two);
            else
                solve_round_rest<PASS, LOADS, BOUNCES, false>(s, v, step, k, two);
        }
        if (ROLLS && !REST) { // one lane of those that share the contact, when all have written what they found
            __syncwarp();
            bool first_lane = (turn - plan->lane[this_kind]) % kind_width(this_kind) == 0;
            uint32_t count = this_kind <= ALONE ? head_of(v.normal[k]).count : 0;
            if (is_contact && first_lane)
                roll_contact<PASS>(s, v, k, two, bins[PSVI_MAX_POINTS - (count > 0 ? count : 1)], count);
            __syncwarp();
        }
    }
}

// --- contacts without a colour ---------------------------------------------------------------------------------------

// What a contact of the rest is to its class.
typedef struct rest_contact {
    psvi_two_bodies two;
    uint32_t place;
    int kind; // ALONE, ROUND or PLAIN
} rest_contact;

__device__ static rest_contact rest_of(const psvi_solver &v, const colour_plan *plan, uint32_t place) {
    rest_contact c;
    c.place = place;
    c.two = v.bodies[place];
    c.kind = place < plan->place[ROUND] ? ALONE : place < plan->place[PLAIN] ? ROUND : PLAIN;
    return c;
}

// The hits of a round contact of the rest; with `look` only whether it has any.
template <psvi_pass PASS, bool LOADS, bool TURNING>
__device__ static bool hit_rest_balls(const psvi_solver &v, const psvi_step &step, const rest_contact &c, bool look) {
    psvi_f2 bounce = v.bounce[c.place];
    if (!(bounce.y > 0)) return false;
    psvi_motion a = v.motion[c.two.a], b = v.motion[c.two.b];
    psvi_f2 arms = {0, 0};
    if (TURNING) arms = v.arms[c.place];
    psvi_balls t = balls_of(a, b, arms);
    psvi_f4 normal = v.normal[c.place];
    v3 n = v3_of4(normal);
    float separation = v.impulse[c.place].w;
    if (PASS == PSVI_PASS_RELAX) separation += v3_dot(v3_sub(v3_of4(v.moved[c.two.b]), v3_of4(v.moved[c.two.a])), n);
    if (look) {
        if (PASS != PSVI_PASS_SOLVE && bounce.x > 0) return true;
        v3 va = t.va, vb = t.vb;
        if (!LOADS && PASS == PSVI_PASS_SOLVE && t.ma > 0) va = v3_of4(v.pushed[c.two.a].linear);
        if (!LOADS && PASS == PSVI_PASS_SOLVE && t.mb > 0) vb = v3_of4(v.pushed[c.two.b].linear);
        return psvi_point_hits(&step, v3_dot(v3_sub(vb, va), n), separation, PASS != PSVI_PASS_SOLVE);
    }
    if (!hit_balls<PASS, LOADS, TURNING>(v, step, c.place, c.two, bounce, n, normal.w, separation, &t)) return false;
    if (t.ma > 0) v.motion[c.two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[c.two.b].linear = f4_make(t.vb, t.mb);
    if (TURNING && t.ma > 0 && a.angular.w != 0) v.motion[c.two.a].angular = f4_make(t.wa, a.angular.w);
    if (TURNING && t.mb > 0 && b.angular.w != 0) v.motion[c.two.b].angular = f4_make(t.wb, b.angular.w);
    return true;
}

template <psvi_pass PASS, bool LOADS>
__device__ static bool hit_rest(const psvi_solver &v, const psvi_step &step, const psvi_bin *bins,
                                const rest_contact &c, bool general, bool look) {
    if (c.kind == PLAIN) return hit_rest_balls<PASS, LOADS, false>(v, step, c, look);
    if (c.kind == ROUND) return hit_rest_balls<PASS, LOADS, true>(v, step, c, look);
    return general && hit_rest_points<PASS, LOADS>(v, step, c.place, c.two, bins, look);
}

// Hits cannot be shared out over contacts as other impulses are, or most of what comes in would be lost. So contacts of
// the rest hit one by one: in rounds, as colours are found; who is strongest at both of its bodies hits, and each once
// a pass. A ball among a thousand others has as many rounds as hit it at once; where nothing hits there is one.
template <bool GENERAL, psvi_pass PASS, bool LOADS>
__device__ static void run_rest_hits(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                     const solve_table *table) {
    const uint32_t begin = table->first[PSVI_COLOUR_REST], end = table->first[PSVI_COLOUR_REST + 1];
    const psvi_bin *bins = table->bins + PSVI_COLOUR_REST * PSVI_CLASSES;
    const colour_plan *plan = &table->plan[PSVI_COLOUR_REST];
    uint32_t *done = v.lists[0], *wants = v.lists[1], *left = s.counts->uncoloured;
    for (uint32_t round = 0;; ++round) {
        for (uint32_t i = begin + team_rank(); i < end; i += team_size()) {
            rest_contact c = rest_of(v, plan, i);
            if (round == 0) done[i - begin] = 0;
            bool hits = done[i - begin] == 0 && hit_rest<PASS, LOADS>(v, step, bins, c, GENERAL, true);
            wants[i - begin] = hits ? 1u : 0u;
            if (!hits) continue;
            unsigned long long strength = psvi_mix64(psvi_contact_key(c.two.a, c.two.b));
            if (v.motion[c.two.a].linear.w > 0) atomicMax((unsigned long long *)&s.claim[c.two.a], strength);
            if (v.motion[c.two.b].linear.w > 0) atomicMax((unsigned long long *)&s.claim[c.two.b], strength);
            atomicAdd(&left[round & 1], 1u);
        }
        team_wait();
        if (team_rank() == 0) left[(round + 1) & 1] = 0;
        if (__ldcg(&left[round & 1]) == 0) return; // the same for all
        for (uint32_t i = begin + team_rank(); i < end; i += team_size()) {
            if (wants[i - begin] == 0) continue;
            rest_contact c = rest_of(v, plan, i);
            unsigned long long strength = psvi_mix64(psvi_contact_key(c.two.a, c.two.b));
            unsigned long long *a = (unsigned long long *)&s.claim[c.two.a];
            unsigned long long *b = (unsigned long long *)&s.claim[c.two.b];
            bool moves_a = v.motion[c.two.a].linear.w > 0, moves_b = v.motion[c.two.b].linear.w > 0;
            bool first_a = !moves_a || __ldcg(a) == strength, first_b = !moves_b || __ldcg(b) == strength;
            if (first_a && first_b) {
                (void)hit_rest<PASS, LOADS>(v, step, bins, c, GENERAL, false);
                done[i - begin] = 1;
            }
            // Others compare claims with their own strength only, so it does not matter when they see this.
            if (moves_a && first_a) *a = 0;
            if (moves_b && first_b) *b = 0;
        }
        team_wait();
    }
}

// Contacts without a colour; rare, so their code stays out of the way of the others' registers.
template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ __noinline__ static void run_rest(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                             const solve_table *table, uint32_t first, uint32_t stride) {
    if (BOUNCES && PASS != PSVI_PASS_WARM && step.bounces) run_rest_hits<GENERAL, PASS, LOADS>(s, v, step, table);
    run_colour<GENERAL, PASS, LOADS, BOUNCES, true, ROLLS>(s, v, step, table, PSVI_COLOUR_REST, first, stride);
    team_wait();
    for (uint64_t i = team_rank(); i < s.slots; i += team_size())
        apply_rest(s, v, (uint32_t)i);
    team_wait();
}

template <bool GENERAL, psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ static void run_pass(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                const solve_table *table) {
    // Warp by warp over the processors, so that few contacts are spread over all of them.
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    uint32_t first = warp * 32 + threadIdx.x % 32, stride = gridDim.x * blockDim.x;
    for (uint32_t colour = 0; colour < table->tail; ++colour) {
        if (table->first[colour] == table->first[colour + 1]) continue; // the same for all
        run_colour<GENERAL, PASS, LOADS, BOUNCES, false, ROLLS>(s, v, step, table, colour, first, stride);
        team_wait();
    }
    if (table->first[table->tail] < table->first[PSVI_COLOURS]) {
        if (blockIdx.x == 0)
            for (uint32_t colour = table->tail; colour < PSVI_COLOURS; ++colour) {
                if (table->first[colour] == table->first[colour + 1]) continue;
                run_colour<GENERAL, PASS, LOADS, BOUNCES, false, ROLLS>(s, v, step, table, colour, threadIdx.x,
                                                                        blockDim.x);
                __syncthreads();
            }
        team_wait();
    }
    if (table->first[PSVI_COLOUR_REST] < table->first[PSVI_COLOUR_REST + 1])
        run_rest<GENERAL, PASS, LOADS, BOUNCES, ROLLS>(s, v, step, table, first, stride);
}

// Velocities after the forces of a substep, of bodies that have their own; rare, so it stays out of the way.
__device__ __noinline__ static psvi_motion own_forces(const psvi_sim &s, const psvi_step &step, uint32_t i,
                                                      psvi_motion m) {
    m.linear = f4_make(psvi_forced_velocity(&s, &step, i, true, v3_of4(m.linear)), m.linear.w);
    m.angular = f4_make(psvi_damped_spin(&s, &step, i, true, v3_of4(m.angular)), m.angular.w);
    return m;
}

__device__ static psvi_motion forced(const psvi_sim &s, const psvi_step &step, uint32_t i, psvi_motion m) {
    if (s.forces) return own_forces(s, step, i, m);
    m.linear = f4_make(psvi_forced_velocity(&s, &step, i, false, v3_of4(m.linear)), m.linear.w);
    return m;
}

// What is static or kinematic moves by the same in all substeps: by nothing, or as its velocities say.
__device__ static void stand_or_drive(const psvi_solver &v, const psvi_step &step, uint32_t i, const psvi_motion &m) {
    v.moved[i] = f4_make(v3_scale(v3_of4(m.linear), step.substep), 0);
    v.turned[i] = f4_make(v3_scale(v3_of4(m.angular), step.substep), 0);
}

// The first substep's forces; the solver's records of all bodies.
__device__ static void start_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_linear l = s.linear[i];
    psvi_motion m;
    m.linear = l.velocity;
    m.angular = f4_make(v3_make(0, 0, 0), 0);
    if (l.moved.w != 0) {
        psvi_f4 w = s.angular[i].velocity;
        psvi_root root = w.w > 0 ? psvi_root_isotropic(sqrtf(w.w)) : psvi_root_of(s.inv_inertia[i]);
        m.angular = f4_make(psvi_root_solve(root, v3_of4(w)), w.w > 0 ? root.xx : -1.0f);
    } else {
        v.turned[i] = m.angular; // nobody else writes it
    }
    if (m.linear.w > 0)
        m = forced(s, step, i, m);
    else
        stand_or_drive(v, step, i, m);
    v.motion[i] = m;
    v.pushed[i] = m;
}

// Forces of a later substep, and all impulses again. The impulses' share of a velocity is what it has gained since the
// forces of the last substep: every change of an impulse was applied to the velocities as it happened, and arms and
// masses stay as they are during a step. So no contact is looked at. Where no forces act, these impulses are those that
// undo overlap, and their share is what move_body has left.
template <bool LOADS>
__device__ static void push_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    if (!LOADS) {
        psvi_motion push = v.pushed[i];
        if (s.forces) m = own_forces(s, step, i, m);
        v.pushed[i] = m;
        m.linear = f4_make(v3_add(v3_of4(m.linear), v3_of4(push.linear)), m.linear.w);
        m.angular = f4_make(v3_add(v3_of4(m.angular), v3_of4(push.angular)), m.angular.w);
        v.motion[i] = m;
        return;
    }
    psvi_f4 before = v.pushed[i].linear;
    psvi_motion now = forced(s, step, i, m);
    v.pushed[i].linear = now.linear;
    v.motion[i].linear = f4_make(v3_add(v3_of4(now.linear), v3_sub(v3_of4(m.linear), v3_of4(before))), m.linear.w);
    if (m.angular.w == 0) return;
    before = v.pushed[i].angular;
    v.pushed[i].angular = now.angular;
    v.motion[i].angular = f4_make(v3_add(v3_of4(now.angular), v3_sub(v3_of4(m.angular), v3_of4(before))), m.angular.w);
}

// Where no forces act, the speeds that undo overlap end here: the bodies have again those from before the pass that
// made them, and `pushed` has the difference.
template <bool LOADS>
__device__ static void move_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    psvi_f4 moved = s.linear[i].moved;
    v3 d = v3_scale(v3_of4(m.linear), step.substep);
    v.moved[i] = f4_make(d, 0);
    s.linear[i].moved = f4_make(v3_add(v3_of4(moved), d), moved.w);
    if (!LOADS) {
        psvi_motion before = v.pushed[i], push;
        push.linear = f4_make(v3_sub(v3_of4(m.linear), v3_of4(before.linear)), 0);
        push.angular = f4_make(v3_sub(v3_of4(m.angular), v3_of4(before.angular)), 0);
        v.motion[i] = before;
        v.pushed[i] = push;
    }
    if (m.angular.w == 0) return;
    v3 r = v3_scale(v3_of4(m.angular), step.substep);
    v.turned[i] = f4_make(r, 0);
    s.angular[i].turned = f4_make(v3_add(v3_of4(s.angular[i].turned), r), 0);
}

__device__ static void stop_body(const psvi_sim &s, const psvi_solver &v, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    s.linear[i].velocity = m.linear;
    if (m.angular.w == 0) return;
    psvi_root root = m.angular.w > 0 ? psvi_root_isotropic(m.angular.w) : psvi_root_of(s.inv_inertia[i]);
    psvi_angular a = s.angular[i];
    a.velocity = f4_make(psvi_root_mul(root, v3_of4(m.angular)), a.velocity.w);
    a.turned = f4_make(psvi_root_mul(root, v3_of4(a.turned)), 0);
    s.angular[i] = a;
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

// In: contacts in the order of their colours, bodies' solver state. Out: velocities, movement and impulses after all
// substeps. The grid waits after every colour of every pass, but for the last small ones. A pass reads 40 bytes of a
// plain contact, 48 of a round one, 64 and 80 a point of others (normal, friction), and 32 of each body (after the move
// 48), and writes 16 of the
// contact and up to 32 of each body. With GENERAL false there are balls and particles only, with BOUNCES
// false no shape has restitution.
template <bool GENERAL, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ static void solve(const psvi_sim &s, const psvi_solver &v, const psvi_step &step) {
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
    for (uint32_t substep = 0; substep < step.substeps; ++substep) {
        for (uint32_t i = first; i < s.slots; i += stride) {
            if (substep == 0)
                start_body(s, v, step, i);
            else
                push_body<LOADS>(s, v, step, i);
        }
        team_wait();
        if (substep == 0) run_pass<GENERAL, PSVI_PASS_WARM, LOADS, BOUNCES, ROLLS>(s, v, step, &table);
        run_pass<GENERAL, PSVI_PASS_SOLVE, LOADS, BOUNCES, ROLLS>(s, v, step, &table);
        for (uint32_t i = first; i < s.slots; i += stride)
            move_body<LOADS>(s, v, step, i);
        team_wait();
        run_pass<GENERAL, PSVI_PASS_RELAX, LOADS, BOUNCES, ROLLS>(s, v, step, &table);
        if (!LOADS) run_pass<GENERAL, PSVI_PASS_AGAIN, LOADS, BOUNCES, ROLLS>(s, v, step, &table);
    }
    for (uint32_t i = first; i < s.slots; i += stride)
        stop_body(s, v, i);
}

// Where forces act, and no shape has restitution: with the code for hits the kernel for all bodies is two thirds longer
// and spills.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS)
    psvk_solve(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
               const __grid_constant__ psvi_step step) {
    solve<true, true, false, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_SOLVE_ROUND_BLOCKS)
    psvk_solve_round(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                     const __grid_constant__ psvi_step step) {
    solve<false, true, false, false>(s, v, step);
}

// Where some has.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS)
    psvk_solve_bouncing(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                        const __grid_constant__ psvi_step step) {
    solve<true, true, true, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_SOLVE_ROUND_BLOCKS)
    psvk_solve_round_bouncing(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                              const __grid_constant__ psvi_step step) {
    solve<false, true, true, false>(s, v, step);
}

// With rolling friction.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS)
    psvk_solve_rolling(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                       const __grid_constant__ psvi_step step) {
    solve<true, true, true, true>(s, v, step);
}

// Where no forces act.
__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS)
    psvk_solve_free(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                    const __grid_constant__ psvi_step step) {
    solve<true, false, true, false>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_SOLVE_ROUND_BLOCKS)
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
    return kind == PSVI_SOLVE_ROUND ? PSVI_SOLVE_ROUND_BLOCK : PSVI_SOLVE_BLOCK;
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
