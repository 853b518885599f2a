// The solver on the device, as one cooperative kernel: the grid waits for itself between colours, so no colour costs a
// launch and the host need not know how many there are.
#include "../src/contact_round.h"
#include "../src/contact_rows.h"
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

// Bodies lie anywhere; the second half of a record is found in the first cache.
__device__ static psvi_f4 load_any(const psvi_f4 *p) { return f4_of(*(const float4 *)p); }

// The record of each lane's body, by pairs of lanes: both lanes read one record, a half each, then the other one, so
// that a request has whole sectors. All lanes of the warp take part.
__device__ static psvi_f4 exchange(psvi_f4 a) {
    psvi_f4 r;
    r.x = __shfl_xor_sync(~0u, a.x, 1);
    r.y = __shfl_xor_sync(~0u, a.y, 1);
    r.z = __shfl_xor_sync(~0u, a.z, 1);
    r.w = __shfl_xor_sync(~0u, a.w, 1);
    return r;
}

__device__ static psvi_motion load_record(const psvi_motion *bodies, uint32_t body) {
    bool odd = (threadIdx.x & 1) != 0;
    uint32_t other = __shfl_xor_sync(~0u, body, 1);
    const float4 *even_half = (const float4 *)(bodies + (odd ? other : body)) + (odd ? 1 : 0);
    const float4 *odd_half = (const float4 *)(bodies + (odd ? body : other)) + (odd ? 1 : 0);
    psvi_f4 q0 = f4_of(__ldcg(even_half)), q1 = f4_of(__ldcg(odd_half));
    psvi_f4 got = exchange(odd ? q0 : q1);
    psvi_motion m;
    m.linear = odd ? got : q0;
    m.angular = odd ? q1 : got;
    return m;
}

// Writes the records of the lanes with `write`.
__device__ static void store_record(psvi_motion *bodies, uint32_t body, psvi_motion m, bool write) {
    bool odd = (threadIdx.x & 1) != 0;
    uint32_t other = __shfl_xor_sync(~0u, body, 1);
    bool other_writes = __shfl_xor_sync(~0u, (int)write, 1) != 0;
    psvi_f4 got = exchange(odd ? m.linear : m.angular);
    psvi_f4 q0 = odd ? got : m.linear, q1 = odd ? m.angular : got;
    float4 *even_half = (float4 *)(bodies + (odd ? other : body)) + (odd ? 1 : 0);
    float4 *odd_half = (float4 *)(bodies + (odd ? body : other)) + (odd ? 1 : 0);
    if (odd ? other_writes : write) *even_half = make_float4(q0.x, q0.y, q0.z, q0.w);
    if (odd ? write : other_writes) *odd_half = make_float4(q1.x, q1.y, q1.z, q1.w);
}

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

// What a pass does to a round contact's bodies; true when it did anything. What has not changed is not written.
template <psvi_pass PASS, bool TURNING>
__device__ static bool solve_balls(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                   psvi_f4 nq, psvi_f4 iq, psvi_balls *t, float split) {
    v3 n = v3_of4(nq), impulse = v3_of4(iq);
    float friction = fabsf(nq.w), separation = iq.w;
    if (PASS == PSVI_PASS_WARM) {
        if (impulse.x == 0 && impulse.y == 0 && impulse.z == 0) return false;
        psvi_round_warm(t, n, impulse, TURNING);
        return true;
    }
    if (PASS == PSVI_PASS_BOUNCE) {
        psvi_f2 bounce = load_two(v.bounce + place);
        if (!(bounce.y > 0) || bounce.x > -step.restitution_threshold || !signbit(nq.w)) return false;
        psvi_round_bounce(t, n, impulse.x, bounce.x, bounce.y, split);
        return true;
    }
    bool relax = PASS == PSVI_PASS_RELAX;
    if (relax) {
        v3 da = v3_of4(load_any(&v.moved[two.a])), db = v3_of4(load_any(&v.moved[two.b]));
        separation += v3_dot(v3_sub(db, da), n);
    }
    bool rubs = friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
    if (!relax && rubs) psvi_round_friction(t, n, &impulse, friction, TURNING, split);
    float change = psvi_round_normal(t, n, &impulse.x, separation, &step, relax, split);
    if (relax) {
        rubs = friction > 0 && (impulse.x > 0 || impulse.y != 0 || impulse.z != 0);
        if (rubs) psvi_round_friction(t, n, &impulse, friction, TURNING, split);
    }
    bool changed = rubs || change != 0;
    if (relax || changed) store_row(v.impulse + place, f4_make(impulse, separation));
    if (step.bounces && impulse.x > 0 && !signbit(nq.w)) v.normal[place].w = -friction;
    return changed;
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
template <psvi_pass PASS>
__device__ static void solve_turning(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                     bool valid) {
    psvi_f4 nq = load_row(v.normal + place), iq = load_row(v.impulse + place);
    psvi_motion a = load_record(v.motion, two.a), b = load_record(v.motion, two.b);
    psvi_balls t = balls_of(a, b, load_two(v.arms + place));
    bool changed = valid && solve_balls<PASS, true>(v, step, place, two, nq, iq, &t, 1.0f);
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
template <psvi_pass PASS>
__device__ static void solve_plain(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two) {
    psvi_f4 nq = load_row(v.normal + place), iq = load_row(v.impulse + place);
    psvi_f4 a = load_any(&v.motion[two.a].linear), b = load_any(&v.motion[two.b].linear);
    psvi_balls t;
    t.va = v3_of4(a);
    t.vb = v3_of4(b);
    t.ma = a.w;
    t.mb = b.w;
    if (!solve_balls<PASS, false>(v, step, place, two, nq, iq, &t, 1.0f)) return;
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
}

// A round contact of the rest.
template <psvi_pass PASS, bool TURNING>
__device__ static void solve_round_rest(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t place,
                                        psvi_two_bodies two) {
    psvi_motion a = v.motion[two.a], b = v.motion[two.b];
    psvi_f2 arms = {0, 0};
    if (TURNING) arms = v.arms[place];
    psvi_balls t = balls_of(a, b, arms);
    float split = rest_split(s, two, t.ma > 0, t.mb > 0);
    if (!solve_balls<PASS, TURNING>(v, step, place, two, v.normal[place], v.impulse[place], &t, split)) return;
    if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, v3_of4(a.linear)));
    if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, v3_of4(b.linear)));
    if (TURNING && a.angular.w > 0) add_rest(s, two.a, 3, v3_sub(t.wa, v3_of4(a.angular)));
    if (TURNING && b.angular.w > 0) add_rest(s, two.b, 3, v3_sub(t.wb, v3_of4(b.angular)));
}

// The points of a contact of one bin; each is asked for while the one before it is solved.
typedef struct point_row {
    uint64_t first;
    uint32_t stride, count;
} point_row;

__device__ static uint64_t point_place(const point_row &row, bool backward, uint32_t i) {
    return row.first + (uint64_t)row.stride * (backward ? row.count - 1 - i : i);
}

typedef struct normal_part {
    psvi_f4 a, b, c, impulse; // as in psvi_solver.points
} normal_part;

typedef struct friction_part {
    psvi_f4 normal, impulse, d, e, f;
} friction_part;

__device__ static normal_part load_normal(const psvi_solver &v, uint64_t at) {
    normal_part p;
    p.a = v.points[0][at];
    p.b = v.points[1][at];
    p.c = v.points[2][at];
    p.impulse = v.points[3][at];
    return p;
}

__device__ static psvi_row normal_row(const normal_part &p) {
    psvi_row r;
    r.direction = v3_of4(p.a);
    r.spin_a = v3_of4(p.b);
    r.spin_b = v3_of4(p.c);
    return r;
}

__device__ static friction_part load_friction(const psvi_solver &v, uint64_t at) {
    friction_part p;
    p.normal = v.points[0][at];
    p.impulse = v.points[3][at];
    p.d = v.points[4][at];
    p.e = v.points[5][at];
    p.f = v.points[6][at];
    return p;
}

__device__ static void friction_rows(const friction_part &p, psvi_row *r1, psvi_row *r2) {
    v3_tangents(v3_of4(p.normal), &r1->direction, &r2->direction);
    r1->spin_a = v3_of4(p.d);
    r1->spin_b = v3_make(p.d.w, p.e.x, p.e.y);
    r2->spin_a = v3_make(p.e.z, p.e.w, p.f.x);
    r2->spin_b = v3_make(p.f.y, p.f.z, p.f.w);
}

__device__ static void solve_frictions(const psvi_solver &v, const point_row &row, psvi_pair_state *t, float friction,
                                       bool backward, float split) {
    if (!(friction > 0)) return;
    friction_part next = load_friction(v, point_place(row, backward, 0));
    for (uint32_t i = 0; i < row.count; ++i) {
        friction_part p = next;
        if (i + 1 < row.count) next = load_friction(v, point_place(row, backward, i + 1));
        if (p.impulse.x <= 0 && p.impulse.y == 0 && p.impulse.z == 0) continue;
        psvi_row r1, r2;
        friction_rows(p, &r1, &r2);
        psvi_rows_friction(t, &r1, &r2, &p.impulse, friction, split * fabsf(p.impulse.w));
        v.points[3][point_place(row, backward, i)] = p.impulse;
    }
}

// `moved_a`, `moved_b`: movement of the substep; with `fresh` the separations are brought up to it.
__device__ static void solve_normals(const psvi_solver &v, const psvi_step &step, const point_row &row,
                                     psvi_pair_state *t, bool relax, bool fresh, const psvi_pair_state &moved,
                                     bool backward, float split) {
    bool both_move = t->ma > 0 && t->mb > 0;
    normal_part next = load_normal(v, point_place(row, backward, 0));
    for (uint32_t i = 0; i < row.count; ++i) {
        normal_part p = next;
        uint64_t at = point_place(row, backward, i);
        if (i + 1 < row.count) next = load_normal(v, point_place(row, backward, i + 1));
        psvi_row r = normal_row(p);
        if (fresh) {
            p.a.w += psvi_row_speed(&moved, &r);
            v.points[0][at].w = p.a.w;
        }
        psvi_softness soft = psvi_softness_of(&step, p.a.w, relax, both_move);
        float before = p.impulse.x;
        psvi_row_normal(t, &r, &p.impulse, soft, split * p.b.w);
        if (p.impulse.x > 0) p.impulse.w = -fabsf(p.impulse.w); // has met
        if (p.impulse.x != before) v.points[3][at] = p.impulse;
    }
}

// A contact of any kind.
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
    psvi_f4 la = load_any(&v.motion[two.a].linear), lb = load_any(&v.motion[two.b].linear);
    psvi_f4 aa = load_any(&v.motion[two.a].angular), ab = load_any(&v.motion[two.b].angular);
    psvi_pair_state t;
    t.va = v3_of4(la);
    t.vb = v3_of4(lb);
    t.wa = v3_of4(aa);
    t.wb = v3_of4(ab);
    t.ma = la.w;
    t.mb = lb.w;
    float split = REST ? rest_split(s, two, t.ma > 0, t.mb > 0) : 1.0f;
    if (PASS == PSVI_PASS_WARM) {
        for (uint32_t i = 0; i < row.count; ++i) {
            uint64_t at = point_place(row, false, i);
            normal_part p = load_normal(v, at);
            if (p.impulse.x == 0 && p.impulse.y == 0 && p.impulse.z == 0) continue;
            friction_part f = load_friction(v, at);
            psvi_row r = normal_row(p), r1, r2;
            friction_rows(f, &r1, &r2);
            psvi_row_apply(&t, &r, p.impulse.x);
            psvi_row_apply(&t, &r1, p.impulse.y);
            psvi_row_apply(&t, &r2, p.impulse.z);
        }
    } else if (PASS == PSVI_PASS_BOUNCE) {
        for (uint32_t i = 0; i < row.count; ++i) {
            normal_part p = load_normal(v, point_place(row, false, i));
            if (p.c.w > -step.restitution_threshold || !signbit(p.impulse.w)) continue;
            psvi_row r = normal_row(p);
            float change = -split * p.b.w * (psvi_row_speed(&t, &r) + restitution * p.c.w);
            psvi_row_apply(&t, &r, fmaxf(p.impulse.x + change, 0.0f) - p.impulse.x);
        }
    } else {
        // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move
        // the other way round: friction then is that of the load that is really carried. Several points are solved
        // twice, there and back, while their bodies are in registers: what one order favours the other gives back.
        bool relax = PASS == PSVI_PASS_RELAX;
        psvi_pair_state moved;
        if (relax) {
            moved.va = v3_of4(load_any(v.moved + two.a));
            moved.vb = v3_of4(load_any(v.moved + two.b));
            moved.wa = v3_of4(load_any(v.turned + two.a));
            moved.wb = v3_of4(load_any(v.turned + two.b));
        }
        for (uint32_t turn = 0; turn < (row.count > 1 ? 2u : 1u); ++turn) {
            bool backward = relax != (turn == 1);
            if (!relax) solve_frictions(v, row, &t, friction, backward, split);
            solve_normals(v, step, row, &t, relax, relax && turn == 0, moved, backward, split);
            if (relax) solve_frictions(v, row, &t, friction, backward, split);
        }
    }
    if (REST) {
        if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, v3_of4(la)));
        if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, v3_of4(lb)));
        if (aa.w != 0) add_rest(s, two.a, 3, v3_sub(t.wa, v3_of4(aa)));
        if (ab.w != 0) add_rest(s, two.b, 3, v3_sub(t.wb, v3_of4(ab)));
        return;
    }
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
    if (aa.w != 0) v.motion[two.a].angular = f4_make(t.wa, aa.w);
    if (ab.w != 0) v.motion[two.b].angular = f4_make(t.wb, ab.w);
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

// Contacts of one colour: items `first`, `first` + `stride` ... of it, both multiples of a warp but for the lane. Each
// kind begins with a warp of its own; the lanes that are left over take the last contact of the kind and do nothing.
template <bool GENERAL, psvi_pass PASS, bool REST>
__device__ static void run_colour(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const solve_table *table, uint32_t colour, uint32_t first, uint32_t stride) {
    const psvi_bin *bins = table->bins + colour * PSVI_CLASSES;
    uint32_t begin = table->first[colour], end = table->first[colour + 1];
    uint32_t round = GENERAL ? bins[PSVI_CLASS_ROUND].place : begin, plain = bins[PSVI_CLASS_PLAIN].place;
    uint32_t from_round = (round - begin + 31) & ~31u, from_plain = from_round + ((plain - round + 31) & ~31u);
    uint32_t items = from_plain + (end - plain), lane = threadIdx.x % 32;
    // Every other colour goes backward, so that it begins with the bodies that were used last. (General contacts begin
    // with the longest.)
    bool backward = !GENERAL && (colour & 1) != 0;
    uint32_t last = (items - 1) & ~31u;
    auto item_of = [&](uint32_t x) { return backward ? last - (x - lane) + lane : x; };
    auto place_of = [&](uint32_t x) {
        if (GENERAL && x - lane < from_round) return min(begin + x, round - 1);
        return x - lane < from_plain ? min(round + (x - from_round), plain - 1)
                                     : min(plain + (x - from_plain), end - 1);
    };
    psvi_two_bodies next = {0, 0};
    if (first - lane < items) next = load_bodies(v.bodies + place_of(item_of(first)));
    for (uint32_t turn = first; turn - lane < items; turn += stride) {
        uint32_t x = item_of(turn), k = place_of(x);
        psvi_two_bodies two = next;
        if (turn - lane + stride < items)
            next = load_bodies(v.bodies + place_of(item_of(turn + stride))); // to ask for their records
        if (GENERAL && x - lane < from_round) {
            if (begin + x < round) solve_general<PASS, REST>(s, v, step, k, two, bins);
            __syncwarp();
        } else if (x - lane < from_plain) {
            bool valid = round + (x - from_round) < plain;
            if (!REST)
                solve_turning<PASS>(v, step, k, two, valid);
            else if (valid)
                solve_round_rest<PASS, true>(s, v, step, k, two);
        } else if (plain + (x - from_plain) < end) {
            if (!REST)
                solve_plain<PASS>(v, step, k, two);
            else
                solve_round_rest<PASS, false>(s, v, step, k, two);
        }
    }
}

// Contacts without a colour; rare, so their code stays out of the way of the others' registers.
template <bool GENERAL, psvi_pass PASS>
__device__ __noinline__ static void run_rest(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                             const solve_table *table, uint32_t first, uint32_t stride) {
    cg::grid_group grid = cg::this_grid();
    run_colour<GENERAL, PASS, true>(s, v, step, table, PSVI_COLOUR_REST, first, stride);
    grid.sync();
    for (uint64_t i = grid.thread_rank(); i < s.slots; i += grid.size())
        apply_rest(s, v, (uint32_t)i);
    grid.sync();
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
    if (table->first[PSVI_COLOUR_REST] < table->first[PSVI_COLOUR_REST + 1])
        run_rest<GENERAL, PASS>(s, v, step, table, first, stride);
}

__device__ static v3 force_of(const psvi_sim &s, const psvi_step &step, uint32_t i) {
    v3 a = v3_of(step.gravity);
    return s.acceleration ? v3_add(a, v3_of4(s.acceleration[i])) : a;
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
        m.linear = f4_make(v3_madd(v3_of4(m.linear), force_of(s, step, i), step.substep), m.linear.w);
    else
        v.moved[i] = f4_make(v3_make(0, 0, 0), 0);
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
    v.moved[i] = f4_make(d, 0);
    s.linear[i].moved = f4_make(v3_add(v3_of4(moved), d), moved.w);
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
// plain contact, 48 of a round one, 64 and 80 a point of others (normal, friction), and 32 of each body (after the move
// 48), and writes 16 of the
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
    psvk_solve(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
               const __grid_constant__ psvi_step step) {
    solve<true>(s, v, step);
}

__global__ void __launch_bounds__(PSVI_SOLVE_ROUND_BLOCK, PSVI_SOLVE_ROUND_BLOCKS)
    psvk_solve_round(const __grid_constant__ psvi_sim s, const __grid_constant__ psvi_solver v,
                     const __grid_constant__ psvi_step step) {
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
