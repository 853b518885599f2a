// The solver on the device, as one cooperative kernel: the grid waits for itself between colours, so no colour costs a
// launch and the host need not know how many there are.
#include "../src/contact_round.h"
#include "../src/contact_solver.h"
#include "step_kernels.h"
#include "tuning.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define REST_SCALE 4294967296.0 // fixed-point steps of a velocity: sums of integers do not depend on their order
#define REST_FIELDS 7           // 3 linear, 3 angular, and how many contacts of the rest a body has

// --- loads and stores ------------------------------------------------------------------------------------------------

__device__ static psvi_f4 f4_of(float4 q) {
    psvi_f4 r;
    r.x = q.x;
    r.y = q.y;
    r.z = q.z;
    r.w = q.w;
    return r;
}

// What is read once a pass and in a row makes room for the bodies in the caches.
__device__ static psvi_f4 load_row(const psvi_f4 *p) { return f4_of(__ldcs((const float4 *)p)); }
__device__ static void store_row(psvi_f4 *p, psvi_f4 a) { __stcs((float4 *)p, make_float4(a.x, a.y, a.z, a.w)); }
__device__ static psvi_two_bodies load_bodies(const psvi_two_bodies *p) {
    uint2 q = __ldcs((const uint2 *)p);
    psvi_two_bodies r;
    r.a = q.x;
    r.b = q.y;
    return r;
}
__device__ static psvi_f2 load_two(const psvi_f2 *p) {
    float2 q = __ldcs((const float2 *)p);
    psvi_f2 r;
    r.x = q.x;
    r.y = q.y;
    return r;
}

// Bodies lie anywhere and are written by all: past the first cache.
__device__ static psvi_f4 load_any(const psvi_f4 *p) { return f4_of(__ldcg((const float4 *)p)); }

// --- contacts without a colour: mass splitting (Tonge, Benevolenski, Voroshilov 2012) --------------------------------

__device__ static void add_rest(const psvi_sim &s, uint32_t body, int field, v3 change) {
    unsigned long long *sums = (unsigned long long *)(s.rest + (uint64_t)REST_FIELDS * body + field);
    atomicAdd(sums, (unsigned long long)__double2ll_rn((double)change.x * REST_SCALE));
    atomicAdd(sums + 1, (unsigned long long)__double2ll_rn((double)change.y * REST_SCALE));
    atomicAdd(sums + 2, (unsigned long long)__double2ll_rn((double)change.z * REST_SCALE));
}

__device__ static float rest_split(const psvi_sim &s, psvi_two_bodies two, bool moving_a, bool moving_b) {
    int64_t a = moving_a ? s.rest[(uint64_t)REST_FIELDS * two.a + 6] : 1;
    int64_t b = moving_b ? s.rest[(uint64_t)REST_FIELDS * two.b + 6] : 1;
    return 1.0f / (float)(a > b ? a : b);
}

__device__ static v3 take_rest(int64_t *sums) {
    const double unit = 1.0 / REST_SCALE;
    v3 change =
        v3_make((float)((double)sums[0] * unit), (float)((double)sums[1] * unit), (float)((double)sums[2] * unit));
    sums[0] = sums[1] = sums[2] = 0;
    return change;
}

__device__ static void apply_rest(const psvi_sim &s, const psvi_solver &v, uint32_t body) {
    int64_t *sums = s.rest + (uint64_t)REST_FIELDS * body;
    if (sums[6] == 0) return;
    psvi_motion m = v.motion[body];
    m.linear = f4_make(v3_add(v3_of4(m.linear), take_rest(sums)), m.linear.w);
    if (m.angular.w != 0) m.angular = f4_make(v3_add(v3_of4(m.angular), take_rest(sums + 3)), m.angular.w);
    v.motion[body] = m;
}

// --- one contact -----------------------------------------------------------------------------------------------------

// A round contact of a colour, or of the rest. What has not changed is not written.
template <psvi_pass PASS, bool TURNING, bool REST>
__device__ static void solve_round(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t place,
                                   psvi_two_bodies two) {
    psvi_f4 nq = load_row(v.normal + place), iq = load_row(v.impulse + place);
    psvi_f4 la = load_any(&v.motion[two.a].linear), lb = load_any(&v.motion[two.b].linear), aa, ab;
    psvi_balls t;
    t.va = v3_of4(la);
    t.vb = v3_of4(lb);
    t.ma = la.w;
    t.mb = lb.w;
    t.wa = t.wb = v3_make(0, 0, 0);
    t.ia = t.ib = t.ra = t.rb = 0;
    if (TURNING) {
        aa = load_any(&v.motion[two.a].angular);
        ab = load_any(&v.motion[two.b].angular);
        psvi_f2 arms = load_two(v.arms + place);
        t.wa = v3_of4(aa);
        t.wb = v3_of4(ab);
        t.ia = aa.w;
        t.ib = ab.w;
        t.ra = arms.x;
        t.rb = arms.y;
    }
    float split = REST ? rest_split(s, two, t.ma > 0, t.mb > 0) : 1.0f;
    psvi_balls before = t;
    v3 n = v3_of4(nq), impulse = v3_of4(iq);
    float friction = fabsf(nq.w), separation = iq.w;
    bool turned = false;
    if (PASS == PSVI_PASS_WARM) {
        if (impulse.x == 0 && impulse.y == 0 && impulse.z == 0) return;
        psvi_round_warm(&t, n, impulse, TURNING);
        turned = true;
    } else if (PASS == PSVI_PASS_BOUNCE) {
        psvi_f2 bounce = load_two(v.bounce + place);
        if (!(bounce.y > 0) || bounce.x > -step.restitution_threshold || !signbit(nq.w)) return;
        psvi_round_bounce(&t, n, impulse.x, bounce.x, bounce.y, split);
    } else {
        bool relax = PASS == PSVI_PASS_RELAX;
        if (relax) {
            v3 da = v3_of4(load_any(&v.moved[two.a].linear)), db = v3_of4(load_any(&v.moved[two.b].linear));
            separation += v3_dot(v3_sub(db, da), n);
        }
        bool rubs = friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
        if (!relax && rubs) psvi_round_friction(&t, n, &impulse, friction, TURNING, split);
        float change = psvi_round_normal(&t, n, &impulse.x, separation, &step, relax, split);
        if (relax) {
            rubs = friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
            if (rubs) psvi_round_friction(&t, n, &impulse, friction, TURNING, split);
        }
        turned = rubs;
        bool changed = rubs || change != 0;
        if (relax || changed) store_row(v.impulse + place, f4_make(impulse, separation));
        if (!changed) return;
        if (step.bounces && impulse.x > 0 && !signbit(nq.w)) v.normal[place].w = -friction;
    }
    if (REST) {
        if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, before.va));
        if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, before.vb));
        if (TURNING && t.ia > 0) add_rest(s, two.a, 3, v3_sub(t.wa, before.wa));
        if (TURNING && t.ib > 0) add_rest(s, two.b, 3, v3_sub(t.wb, before.wb));
        return;
    }
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
    if (TURNING && turned && t.ia > 0) v.motion[two.a].angular = f4_make(t.wa, t.ia);
    if (TURNING && turned && t.ib > 0) v.motion[two.b].angular = f4_make(t.wb, t.ib);
}

__device__ static psvi_point load_point(const psvi_solver &v, uint64_t at) {
    psvi_f4 a = v.points[0][at], b = v.points[1][at], c = v.points[2][at], d = v.points[3][at];
    psvi_point p;
    p.normal[0] = a.x;
    p.normal[1] = a.y;
    p.normal[2] = a.z;
    p.separation = a.w;
    p.arm_a[0] = b.x;
    p.arm_a[1] = b.y;
    p.arm_a[2] = b.z;
    p.normal_mass = b.w;
    p.arm_b[0] = c.x;
    p.arm_b[1] = c.y;
    p.arm_b[2] = c.z;
    p.approach = c.w;
    p.tangent_mass = fabsf(d.w);
    p.impulse = f4_make(v3_of4(d), signbit(d.w) ? 1.0f : 0.0f);
    return p;
}

__device__ static void store_point(const psvi_solver &v, uint64_t at, const psvi_point &p) {
    v.points[3][at] = f4_make(v3_of4(p.impulse), p.impulse.w > 0 ? -p.tangent_mass : p.tangent_mass);
}

// The points of a contact of one bin, one after the other; each is asked for while the one before it is solved.
typedef struct point_row {
    uint64_t first;
    uint32_t stride, count;
} point_row;

__device__ static uint64_t point_place(const point_row &row, bool backward, uint32_t i) {
    return row.first + (uint64_t)row.stride * (backward ? row.count - 1 - i : i);
}

__device__ static void solve_row_frictions(const psvi_solver &v, const point_row &row, psvi_two *t, float friction,
                                           bool backward, float split) {
    if (!(friction > 0)) return;
    psvi_point next = load_point(v, point_place(row, backward, 0));
    for (uint32_t i = 0; i < row.count; ++i) {
        psvi_point p = next;
        if (i + 1 < row.count) next = load_point(v, point_place(row, backward, i + 1));
        if (p.impulse.x <= 0 && p.impulse.y == 0 && p.impulse.z == 0) continue;
        psvi_solve_friction(t, &p, friction, split);
        store_point(v, point_place(row, backward, i), p);
    }
}

// `moved_a`, `moved_b`: movement of the substep; with `fresh` the separations are brought up to it.
__device__ static void solve_row_normals(const psvi_solver &v, const psvi_step &step, const point_row &row, psvi_two *t,
                                         bool relax, bool fresh, const psvi_motion &moved_a, const psvi_motion &moved_b,
                                         bool backward, int soft, float split) {
    psvi_point next = load_point(v, point_place(row, backward, 0));
    for (uint32_t i = 0; i < row.count; ++i) {
        psvi_point p = next;
        uint64_t at = point_place(row, backward, i);
        if (i + 1 < row.count) next = load_point(v, point_place(row, backward, i + 1));
        if (fresh) {
            v3 d = v3_sub(v3_of4(moved_b.linear), v3_of4(moved_a.linear));
            if (t->turn_a) d = v3_sub(d, v3_cross(v3_of4(moved_a.angular), v3_of(p.arm_a)));
            if (t->turn_b) d = v3_add(d, v3_cross(v3_of4(moved_b.angular), v3_of(p.arm_b)));
            p.separation += v3_dot(d, v3_of(p.normal));
            v.points[0][at].w = p.separation;
        }
        psvi_solve_normal(t, &p, v3_make(0, 0, 0), &step, relax, soft, split);
        store_point(v, at, p);
    }
}

__device__ static void load_general(const psvi_sim &s, const psvi_motion &m, uint32_t body, sym3 *inertia,
                                    bool *turns) {
    const sym3 none = {0, 0, 0, 0, 0, 0};
    *turns = m.angular.w != 0;
    *inertia = m.angular.w > 0 ? sym3_isotropic(m.angular.w) : m.angular.w < 0 ? s.inv_inertia[body] : none;
}

__device__ static psvi_motion load_motion(const psvi_motion *m) {
    psvi_motion r;
    r.linear = load_any(&m->linear);
    r.angular = load_any(&m->angular);
    return r;
}

// A contact of any kind. Points lie in `row`.
template <psvi_pass PASS, bool REST>
__device__ static void solve_general(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t place,
                                     psvi_two_bodies two, const psvi_bin *bins) {
    psvi_f4 head = v.normal[place];
    float friction = head.x, restitution = head.y;
    if (PASS == PSVI_PASS_BOUNCE && !(restitution > 0)) return;
    point_row row;
    row.count = __float_as_uint(head.z);
    psvi_bin bin = bins[PSVI_MAX_POINTS - row.count];
    row.stride = bin.count;
    row.first = bin.point + (place - bin.place);
    psvi_motion a = load_motion(v.motion + two.a), b = load_motion(v.motion + two.b);
    psvi_two t;
    t.va = v3_of4(a.linear);
    t.vb = v3_of4(b.linear);
    t.wa = v3_of4(a.angular);
    t.wb = v3_of4(b.angular);
    t.ma = a.linear.w;
    t.mb = b.linear.w;
    load_general(s, a, two.a, &t.ia, &t.turn_a);
    load_general(s, b, two.b, &t.ib, &t.turn_b);
    float split = REST ? rest_split(s, two, t.ma > 0, t.mb > 0) : 1.0f;
    if (PASS == PSVI_PASS_WARM) {
        for (uint32_t i = 0; i < row.count; ++i) {
            psvi_point p = load_point(v, point_place(row, false, i));
            v3 n = v3_of(p.normal), t1, t2;
            v3_tangents(n, &t1, &t2);
            psvi_apply(&t, &p, v3_madd(v3_madd(v3_scale(n, p.impulse.x), t1, p.impulse.y), t2, p.impulse.z));
        }
    } else if (PASS == PSVI_PASS_BOUNCE) {
        for (uint32_t i = 0; i < row.count; ++i) {
            psvi_point p = load_point(v, point_place(row, false, i));
            psvi_bounce(&t, &p, restitution, step.restitution_threshold, split);
        }
    } else {
        // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move
        // the other way round: friction then is that of the load that is really carried. Several points are solved
        // twice, there and back, while their bodies are in registers: what one order favours the other gives back.
        bool relax = PASS == PSVI_PASS_RELAX;
        int soft = t.ma > 0 && t.mb > 0 ? 0 : 1;
        psvi_motion moved_a, moved_b;
        if (relax) {
            moved_a = load_motion(v.moved + two.a);
            moved_b = load_motion(v.moved + two.b);
        }
        for (uint32_t turn = 0; turn < (row.count > 1 ? 2u : 1u); ++turn) {
            bool backward = relax != (turn == 1);
            if (!relax) solve_row_frictions(v, row, &t, friction, backward, split);
            solve_row_normals(v, step, row, &t, relax, relax && turn == 0, moved_a, moved_b, backward, soft, split);
            if (relax) solve_row_frictions(v, row, &t, friction, backward, split);
        }
    }
    if (REST) {
        if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, v3_of4(a.linear)));
        if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, v3_of4(b.linear)));
        if (t.turn_a) add_rest(s, two.a, 3, v3_sub(t.wa, v3_of4(a.angular)));
        if (t.turn_b) add_rest(s, two.b, 3, v3_sub(t.wb, v3_of4(b.angular)));
        return;
    }
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
    if (t.turn_a) v.motion[two.a].angular = f4_make(t.wa, a.angular.w);
    if (t.turn_b) v.motion[two.b].angular = f4_make(t.wb, b.angular.w);
}

// --- the solver ------------------------------------------------------------------------------------------------------

// Where the contacts of a colour and its classes begin, in shared memory.
typedef struct solve_table {
    psvi_bin bins[PSVI_BINS];
    uint32_t first[PSVI_COLOURS + 2]; // places
    uint32_t tail;                    // from this colour on one block is enough
} solve_table;

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
    if (threadIdx.x == 0) {
        uint32_t tail = PSVI_COLOURS;
        while (tail > 0 && table->first[PSVI_COLOURS] - table->first[tail - 1] <= PSVI_SOLVE_TAIL)
            --tail;
        table->tail = tail;
    }
    __syncthreads();
}

// Contacts of one colour, item `first`, `first` + `stride` ... of it.
template <bool GENERAL, psvi_pass PASS, bool REST>
__device__ static void run_colour(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const solve_table *table, uint32_t colour, uint32_t first, uint32_t stride) {
    const psvi_bin *bins = table->bins + colour * PSVI_CLASSES;
    uint32_t end = table->first[colour + 1], round = bins[PSVI_CLASS_ROUND].place, plain = bins[PSVI_CLASS_PLAIN].place;
    uint32_t k = table->first[colour] + first;
    psvi_two_bodies next;
    if (k < end) next = load_bodies(v.bodies + k);
    for (; k < end; k += stride) {
        psvi_two_bodies two = next;
        if (k + stride < end) next = load_bodies(v.bodies + k + stride); // its bodies can then be asked for at once
        if (k >= plain)
            solve_round<PASS, false, REST>(s, v, step, k, two);
        else if (!GENERAL || k >= round)
            solve_round<PASS, true, REST>(s, v, step, k, two);
        else
            solve_general<PASS, REST>(s, v, step, k, two, bins);
    }
}

template <bool GENERAL, psvi_pass PASS>
__device__ static void run_pass(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                const solve_table *table, const cg::grid_group &grid) {
    // Warp by warp over the processors, so that few contacts are spread over all of them.
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    uint32_t first = warp * 32 + threadIdx.x % 32, stride = gridDim.x * blockDim.x;
    for (uint32_t colour = 0; colour < table->tail; ++colour) {
        if (table->first[colour] == table->first[colour + 1]) continue; // the same for all
        run_colour<GENERAL, PASS, false>(s, v, step, table, colour, first, stride);
        grid.sync();
    }
    if (table->first[table->tail] < table->first[PSVI_COLOURS]) {
        if (blockIdx.x == 0)
            for (uint32_t colour = table->tail; colour < PSVI_COLOURS; ++colour) {
                if (table->first[colour] == table->first[colour + 1]) continue;
                run_colour<GENERAL, PASS, false>(s, v, step, table, colour, threadIdx.x, blockDim.x);
                __syncthreads();
            }
        grid.sync();
    }
    if (table->first[PSVI_COLOUR_REST] == table->first[PSVI_COLOUR_REST + 1]) return;
    run_colour<GENERAL, PASS, true>(s, v, step, table, PSVI_COLOUR_REST, first, stride);
    grid.sync();
    for (uint64_t i = grid.thread_rank(); i < s.slots; i += grid.size())
        apply_rest(s, v, (uint32_t)i);
    grid.sync();
}

__device__ static v3 force_of(const psvi_sim &s, const psvi_step &step, uint32_t i) {
    v3 a = v3_of(step.gravity);
    return s.acceleration ? v3_add(a, v3_of4(s.acceleration[i])) : a;
}

// The first substep's forces; the solver's records of all bodies.
__device__ static void start_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_linear l = s.linear[i];
    psvi_motion m, still;
    m.linear = l.velocity;
    m.angular = still.linear = still.angular = f4_make(v3_make(0, 0, 0), 0);
    if (l.moved.w != 0) {
        psvi_f4 w = s.angular[i].velocity;
        m.angular = f4_make(v3_of4(w), w.w > 0 ? w.w : -1.0f);
    }
    if (m.linear.w > 0)
        m.linear = f4_make(v3_madd(v3_of4(m.linear), force_of(s, step, i), step.substep), m.linear.w);
    else
        v.moved[i] = still;
    v.motion[i] = m;
    v.pushed[i] = m;
}

// Forces of a later substep, and all impulses again. The impulses' share of a velocity is what it has gained since the
// forces of the last substep: every change of an impulse was applied to the velocities as it happened, and arms and
// masses stay as they are during a step. So no contact is looked at.
__device__ static void push_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    psvi_f4 before = v.pushed[i].linear;
    v3 now = v3_madd(v3_of4(m.linear), force_of(s, step, i), step.substep);
    v.pushed[i].linear = f4_make(now, m.linear.w);
    v.motion[i].linear = f4_make(v3_add(now, v3_sub(v3_of4(m.linear), v3_of4(before))), m.linear.w);
    if (m.angular.w == 0) return;
    before = v.pushed[i].angular;
    v.pushed[i].angular = m.angular;
    v.motion[i].angular = f4_make(v3_add(v3_of4(m.angular), v3_sub(v3_of4(m.angular), v3_of4(before))), m.angular.w);
}

__device__ static void move_body(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    psvi_f4 moved = s.linear[i].moved;
    v3 d = v3_scale(v3_of4(m.linear), step.substep);
    v.moved[i].linear = f4_make(d, 0);
    s.linear[i].moved = f4_make(v3_add(v3_of4(moved), d), moved.w);
    if (m.angular.w == 0) return;
    v3 r = v3_scale(v3_of4(m.angular), step.substep);
    v.moved[i].angular = f4_make(r, 0);
    s.angular[i].turned = f4_make(v3_add(v3_of4(s.angular[i].turned), r), 0);
}

__device__ static void stop_body(const psvi_sim &s, const psvi_solver &v, uint32_t i) {
    psvi_motion m = v.motion[i];
    if (!(m.linear.w > 0)) return;
    s.linear[i].velocity = m.linear;
    if (m.angular.w != 0) s.angular[i].velocity = f4_make(v3_of4(m.angular), fmaxf(m.angular.w, 0.0f));
}

__device__ static void start_rest(const psvi_sim &s, const psvi_solver &v, const solve_table *table,
                                  const cg::grid_group &grid) {
    uint32_t begin = table->first[PSVI_COLOUR_REST], end = table->first[PSVI_COLOUR_REST + 1];
    if (begin == end) return;
    for (uint64_t i = grid.thread_rank(); i < (uint64_t)s.slots * REST_FIELDS; i += grid.size())
        s.rest[i] = 0;
    grid.sync();
    for (uint64_t i = begin + grid.thread_rank(); i < end; i += grid.size()) {
        psvi_two_bodies two = v.bodies[i];
        atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * two.a + 6], 1ull);
        atomicAdd((unsigned long long *)&s.rest[(uint64_t)REST_FIELDS * two.b + 6], 1ull);
    }
}

// In: contacts in the order of their colours, bodies' solver state. Out: velocities, movement and impulses after all
// substeps. The grid waits after every colour of every pass, but for the last small ones. A pass reads 40 bytes of a
// plain contact, 48 of a round one, 64 a point of others, and 32 of each body (after the move 64), and writes 16 of the
// contact and up to 32 of each body. With GENERAL false there are balls and particles only.
template <bool GENERAL> __device__ static void solve(const psvi_sim &s, const psvi_solver &v, const psvi_step &step) {
    cg::grid_group grid = cg::this_grid();
    if (s.counts->halted) return; // the same for all
    __shared__ solve_table table;
    fill_table(v, &table);
    uint32_t first = (uint32_t)grid.thread_rank(), stride = (uint32_t)grid.size();
    if (first == 0) {
        uint32_t used = 0;
        for (uint32_t k = 0; k <= PSVI_COLOURS; ++k)
            if (table.first[k + 1] > table.first[k]) used = k + 1;
        s.counts->colours = used;
    }
    start_rest(s, v, &table, grid);
    for (uint32_t substep = 0; substep < step.substeps; ++substep) {
        for (uint32_t i = first; i < s.slots; i += stride) {
            if (substep == 0)
                start_body(s, v, step, i);
            else
                push_body(s, v, step, i);
        }
        grid.sync();
        if (substep == 0) run_pass<GENERAL, PSVI_PASS_WARM>(s, v, step, &table, grid);
        run_pass<GENERAL, PSVI_PASS_SOLVE>(s, v, step, &table, grid);
        for (uint32_t i = first; i < s.slots; i += stride)
            move_body(s, v, step, i);
        grid.sync();
        run_pass<GENERAL, PSVI_PASS_RELAX>(s, v, step, &table, grid);
    }
    if (step.bounces) run_pass<GENERAL, PSVI_PASS_BOUNCE>(s, v, step, &table, grid);
    for (uint32_t i = first; i < s.slots; i += stride)
        stop_body(s, v, i);
}

__global__ void __launch_bounds__(PSVI_SOLVE_BLOCK, PSVI_SOLVE_BLOCKS)
    psvk_solve(psvi_sim s, psvi_solver v, psvi_step step) {
    solve<true>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_SOLVE_ROUND_BLOCKS)
    psvk_solve_round(psvi_sim s, psvi_solver v, psvi_step step) {
    solve<false>(s, v, step);
}

cudaError_t psvi_solve_blocks_per_processor(int *general, int *round) {
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(general, psvk_solve, PSVI_SOLVE_BLOCK, 0);
    if (error != cudaSuccess) return error;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(round, psvk_solve_round, PSVI_SOLVE_ROUND_BLOCK, 0);
}

cudaError_t psvi_launch_solve(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step, bool general,
                              int blocks, cudaStream_t stream) {
    psvi_sim s = *sim;
    psvi_solver v = *solver;
    psvi_step t = *step;
    void *arguments[] = {&s, &v, &t};
    return cudaLaunchCooperativeKernel(general ? (const void *)psvk_solve : (const void *)psvk_solve_round,
                                       dim3((unsigned)blocks),
                                       dim3(general ? PSVI_SOLVE_BLOCK : PSVI_SOLVE_ROUND_BLOCK), arguments, 0, stream);
}
