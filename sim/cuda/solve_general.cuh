// Contacts of any kind: of a colour or of the rest by a thread; and of a colour by several lanes, a point each.
#ifndef PAIRSIEVE_SIM_SOLVE_GENERAL_CUH
#define PAIRSIEVE_SIM_SOLVE_GENERAL_CUH

#include "../solver/contact_rows.h"
#include "../solver/solver_pass.h"
#include "solve_loads.cuh"
#include "solve_slide.cuh"

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
        psvi_rows_friction(t, &r1, &r2, &p.impulse, friction, split * p.impulse.w);
        v.points[3][point_place(row, backward, i)] = p.impulse;
    }
}

// The row about the normal in place of the tangents' of a contact's second point, see solve_slide.cuh.
__device__ static void twist_only(psvi_row *r1) { r1->direction = v3_make(0, 0, 0); }

__device__ static slide_masses masses_of(const friction_part &first, const friction_part &second) {
    slide_masses m;
    m.slide = first.impulse.w;
    m.twist = second.e.z;
    m.slip = second.e.w;
    m.slip_twist = second.f.x;
    m.per_lever = second.f.y;
    return m;
}

// Friction of a contact as a whole, by one thread.
__device__ static void solve_slide(const psvi_solver &v, const point_row &row, psvi_pair_state *t, float friction) {
    if (!(friction > 0)) return;
    uint64_t at = row.first, next = at + row.stride;
    friction_part p = load_friction(v, at), q = load_friction(v, next);
    psvi_row r1, r2, about, unused;
    friction_rows(p, &r1, &r2);
    friction_rows(q, &about, &unused);
    twist_only(&about);
    float pressing = p.impulse.x + q.impulse.x;
    for (uint32_t k = 2; k < row.count; ++k)
        pressing += v.points[3][point_place(row, false, k)].x;
    v3 was = v3_make(p.impulse.y, p.impulse.z, q.impulse.y);
    v3 speed = v3_make(psvi_row_speed(t, &r1), psvi_row_speed(t, &r2), psvi_row_speed(t, &about));
    v3 now = slide_impulse(masses_of(p, q), was, speed, friction * pressing);
    psvi_row_apply(t, &r1, now.x - was.x);
    psvi_row_apply(t, &r2, now.y - was.y);
    psvi_row_apply(t, &about, now.z - was.z);
    v.points[3][at] = f4_make(v3_make(p.impulse.x, now.x, now.y), p.impulse.w);
    v.points[3][next].y = now.z;
}

// The head of a general contact: psvi_solver.normal.
typedef struct contact_head {
    float friction, restitution, size, pending;
    uint32_t count;
    bool whole; // friction is that of the contact as a whole
} contact_head;

__device__ static contact_head head_of(psvi_f4 q) {
    contact_head head;
    uint32_t bits = __float_as_uint(q.z);
    head.friction = q.x;
    head.restitution = q.y;
    head.size = __uint_as_float(bits & 0xffff0000u);
    head.pending = q.w;
    head.count = bits & 0x7fffu;
    head.whole = (bits & SLIDE_BIT) != 0;
    return head;
}

// `moved`: movement of the substep; with `fresh` the separations are brought up to it. Where no forces act, `pushes`
// gets the impulses of the points, that then begin at 0, or is NULL. `later`: points may hit in the next substep.
template <bool LOADS>
__device__ static void solve_normals(const psvi_solver &v, const psvi_step &step, const point_row &row,
                                     psvi_pair_state *t, bool relax, bool fresh, float *pushes, bool later,
                                     psvi_soft_limits limits, const psvi_pair_state &moved, bool backward,
                                     float split) {
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
        psvi_softness soft = psvi_softness_of(&step, p.a.w, relax, both_move, limits);
        if (!LOADS && pushes) {
            pushes[backward ? row.count - 1 - i : i] = p.impulse.x;
            p.impulse = f4_make(v3_make(0, 0, 0), p.impulse.w);
        }
        float before = p.impulse.x;
        if (!later || !psvi_hits_later(&step, psvi_row_speed(t, &r), p.a.w))
            psvi_row_normal(t, &r, &p.impulse, soft, split * p.b.w);
        if (p.impulse.x != before || (!LOADS && pushes)) v.points[3][at] = p.impulse;
    }
}

// Velocities and inverse masses of two bodies, of the halves of their records.
__device__ static void set_state(psvi_pair_state *t, const psvi_f4 &la, const psvi_f4 &lb, const psvi_f4 &aa,
                                 const psvi_f4 &ab) {
    t->va = v3_of4(la);
    t->vb = v3_of4(lb);
    t->wa = v3_of4(aa);
    t->wb = v3_of4(ab);
    t->ma = la.w;
    t->mb = lb.w;
}

// How two bodies have moved in the substep; without masses.
__device__ static void load_moved(const psvi_solver &v, psvi_two_bodies two, psvi_pair_state *moved) {
    moved->va = v3_of4(load_any(v.moved + two.a));
    moved->vb = v3_of4(load_any(v.moved + two.b));
    moved->wa = v3_of4(load_any(v.turned + two.a));
    moved->wb = v3_of4(load_any(v.turned + two.b));
}

// The velocities that last beyond the pass: where no forces act and the move is still to come, those from before it.
template <psvi_pass PASS, bool LOADS>
__device__ static psvi_pair_state lasting_state(const psvi_solver &v, psvi_two_bodies two, const psvi_pair_state &t) {
    psvi_pair_state now = t;
    if (LOADS || PASS != PSVI_PASS_SOLVE) return now;
    psvi_motion a = v.pushed[two.a], b = v.pushed[two.b];
    set_state(&now, a.linear, b.linear, a.angular, b.angular);
    return now;
}

__device__ static void add_change(psvi_pair_state *t, const psvi_pair_state &now, const psvi_pair_state &before) {
    t->va = v3_add(t->va, v3_sub(now.va, before.va));
    t->vb = v3_add(t->vb, v3_sub(now.vb, before.vb));
    t->wa = v3_add(t->wa, v3_sub(now.wa, before.wa));
    t->wb = v3_add(t->wb, v3_sub(now.wb, before.wb));
}

__device__ static void add_to(psvi_f4 *velocity, v3 now, v3 before) {
    *velocity = f4_make(v3_add(v3_of4(*velocity), v3_sub(now, before)), velocity->w);
}

__device__ static float excess_of(const psvi_step &step, const psvi_pair_state &t, const psvi_row &whole, float time) {
    return psvi_hit_excess(psvi_hit_fall(&step, whole.direction, t.ma > 0, t.mb > 0), time);
}

// The hits of a contact (psvi_solve_hits) by one thread.
template <psvi_pass PASS, bool LOADS>
__device__ static void hit_points(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                  const contact_head &head, const point_row &row, const psvi_pair_state &moved,
                                  psvi_pair_state *t) {
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    const v3 none = v3_make(0, 0, 0);
    psvi_pair_state now = lasting_state<PASS, LOADS>(v, two, *t), before = now;
    psvi_row whole = {none, none, none};
    if (after && head.pending > 0) {
        for (uint32_t i = 0; i < row.count; ++i) {
            uint64_t at = point_place(row, false, i);
            psvi_row r = normal_row(load_normal(v, at));
            psvi_row_add(&whole, &r, v.point_sum[at]);
        }
        float excess = excess_of(step, now, whole, head.pending);
        psvi_row_apply(&now, &whole,
                       psvi_hit_rest(psvi_row_response(&now, &whole), psvi_row_speed(&now, &whole), head.restitution,
                                     head.pending, excess));
        v.normal[place].w = 0;
    } else {
        float time = 1;
        bool any = false;
        for (uint32_t i = 0; i < row.count; ++i) {
            uint64_t at = point_place(row, false, i);
            normal_part p = load_normal(v, at);
            psvi_row r = normal_row(p);
            float separation = p.a.w + (PASS == PSVI_PASS_RELAX ? psvi_row_speed(&moved, &r) : 0.0f);
            float speed = psvi_row_speed(&now, &r);
            bool hits = psvi_point_hits(&step, speed, separation, after);
            float weight = hits ? -speed * p.b.w : 0.0f;
            v.point_sum[at] = weight;
            if (!hits) continue;
            any = true;
            psvi_row_add(&whole, &r, weight);
            time = fminf(time, psvi_hit_time(&step, speed, separation));
        }
        if (!any) return;
        float multiple = psvi_hit_multiple(&now, &whole, psvi_row_speed(&now, &whole), head.restitution,
                                           excess_of(step, now, whole, after ? 1.0f : time));
        float pending = after ? 0.0f : time;
        psvi_row_apply(&now, &whole, multiple * (1 - pending));
        if (pending > 0) v.normal[place].w = pending;
        for (uint32_t i = 0; i < row.count; ++i) {
            uint64_t at = point_place(row, false, i);
            psvi_f4 impulse = f4_make(v3_make(multiple * v.point_sum[at], 0, 0), 0);
            v.point_sum[at] = impulse.x;
            if (!(impulse.x > 0) || !(head.friction > 0)) continue;
            friction_part f = load_friction(v, at);
            psvi_row r1, r2;
            friction_rows(f, &r1, &r2);
            psvi_rows_friction(&now, &r1, &r2, &impulse, head.friction, f.impulse.w);
        }
    }
    add_change(t, now, before);
    if (!LOADS && after) return;
    if (t->ma > 0) add_to(&v.pushed[two.a].linear, now.va, before.va);
    if (t->mb > 0) add_to(&v.pushed[two.b].linear, now.vb, before.vb);
    if (t->ma > 0) add_to(&v.pushed[two.a].angular, now.wa, before.wa);
    if (t->mb > 0) add_to(&v.pushed[two.b].angular, now.wb, before.wb);
}

// A contact of any kind.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool REST>
__device__ static void solve_general(const psvi_sim &s, const psvi_solver &v, const psvi_step &step, uint32_t place,
                                     psvi_two_bodies two, const psvi_bin *bins) {
    contact_head head = head_of(v.normal[place]);
    point_row row;
    row.count = head.count;
    psvi_bin bin = bins[PSVI_MAX_POINTS - row.count];
    row.stride = bin.count;
    row.first = bin.point + (place - bin.place);
    psvi_f4 la = load_any(&v.motion[two.a].linear), lb = load_any(&v.motion[two.b].linear);
    psvi_f4 aa = load_any(&v.motion[two.a].angular), ab = load_any(&v.motion[two.b].angular);
    psvi_pair_state t;
    set_state(&t, la, lb, aa, ab);
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
            if (head.whole && i > 1) continue; // has no rows of friction
            if (head.whole && i == 1) twist_only(&r1);
            psvi_row_apply(&t, &r1, p.impulse.y);
            psvi_row_apply(&t, &r2, p.impulse.z);
        }
    } else {
        // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move
        // the other way round: friction then is that of the load that is really carried. Several points are solved
        // twice, there and back, while their bodies are in registers: what one order favours the other gives back.
        // Where no forces act, only the first pass after the move does that.
        bool relax = PASS == PSVI_PASS_RELAX || PASS == PSVI_PASS_AGAIN;
        psvi_pair_state moved;
        if (PASS == PSVI_PASS_RELAX) load_moved(v, two, &moved);
        bool bounces = BOUNCES && step.bounces && head.restitution > 0;
        if (!REST && bounces) hit_points<PASS, LOADS>(v, step, place, two, head, row, moved, &t);
        float pushes[PSVI_MAX_POINTS];
        uint32_t turns = row.count == 1 ? 1u : LOADS ? step.turns : PASS == PSVI_PASS_RELAX ? 2u : 1u;
        for (uint32_t turn = 0; turn < turns; ++turn) {
            bool backward = (LOADS ? relax : PASS == PSVI_PASS_RELAX) != (turn == 1);
            const bool whole = LOADS && head.whole;
            if (whole && !relax) solve_slide(v, row, &t, head.friction);
            if (!whole && LOADS && !relax) solve_frictions(v, row, &t, head.friction, backward, split);
            solve_normals<LOADS>(v, step, row, &t, relax, PASS == PSVI_PASS_RELAX && turn == 0,
                                 !LOADS && relax && turn == 0 ? pushes : NULL, relax && bounces,
                                 psvi_limits_of(&step, head.size), moved, backward, split);
            if (whole && relax) solve_slide(v, row, &t, head.friction);
            if (!whole && relax) solve_frictions(v, row, &t, head.friction, backward, split);
        }
        for (uint32_t i = 0; i < row.count && relax && !LOADS; ++i) {
            psvi_f4 *impulse = &v.points[3][point_place(row, false, i)];
            *impulse = f4_make(v3_make(pushes[i], 0, 0), impulse->w);
        }
    }
    if (REST) {
        if (t.ma > 0) add_rest(s, two.a, 0, v3_sub(t.va, v3_of4(la)));
        if (t.mb > 0) add_rest(s, two.b, 0, v3_sub(t.vb, v3_of4(lb)));
        if (t.ma > 0 && aa.w != 0) add_rest(s, two.a, 3, v3_sub(t.wa, v3_of4(aa)));
        if (t.mb > 0 && ab.w != 0) add_rest(s, two.b, 3, v3_sub(t.wb, v3_of4(ab)));
        return;
    }
    // What is kinematic turns, but others are solved against it at the same time.
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
    if (t.ma > 0 && aa.w != 0) v.motion[two.a].angular = f4_make(t.wa, aa.w);
    if (t.mb > 0 && ab.w != 0) v.motion[two.b].angular = f4_make(t.wb, ab.w);
}

// The hits of a contact of the rest, by one thread that alone has its bodies; with `look` only whether it has any.
template <psvi_pass PASS, bool LOADS>
__device__ static bool hit_rest_points(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                       const psvi_bin *bins, bool look) {
    contact_head head = head_of(v.normal[place]);
    if (!(head.restitution > 0)) return false;
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    psvi_bin bin = bins[PSVI_MAX_POINTS - head.count];
    point_row row;
    row.count = head.count;
    row.stride = bin.count;
    row.first = bin.point + (place - bin.place);
    psvi_f4 la = v.motion[two.a].linear, lb = v.motion[two.b].linear;
    psvi_f4 aa = v.motion[two.a].angular, ab = v.motion[two.b].angular;
    psvi_pair_state t, moved;
    set_state(&t, la, lb, aa, ab);
    if (PASS == PSVI_PASS_RELAX) load_moved(v, two, &moved);
    if (look) {
        if (after && head.pending > 0) return true;
        psvi_pair_state now = lasting_state<PASS, LOADS>(v, two, t);
        for (uint32_t i = 0; i < row.count; ++i) {
            normal_part p = load_normal(v, point_place(row, false, i));
            psvi_row r = normal_row(p);
            float separation = p.a.w + (PASS == PSVI_PASS_RELAX ? psvi_row_speed(&moved, &r) : 0.0f);
            if (psvi_point_hits(&step, psvi_row_speed(&now, &r), separation, after)) return true;
        }
        return false;
    }
    hit_points<PASS, LOADS>(v, step, place, two, head, row, moved, &t);
    if (t.ma > 0) v.motion[two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.motion[two.b].linear = f4_make(t.vb, t.mb);
    if (t.ma > 0 && aa.w != 0) v.motion[two.a].angular = f4_make(t.wa, aa.w);
    if (t.mb > 0 && ab.w != 0) v.motion[two.b].angular = f4_make(t.wb, ab.w);
    return true;
}

// --- a contact by several lanes --------------------------------------------------------------------------------------

// The lanes of a warp that share a contact: WIDTH of them, each with one point. All lanes of the warp go through the
// same code together; a warp's contacts have about as many points each.
template <int WIDTH> struct lane_team {
    uint32_t base, rank; // the first lane of the team, and which of it this one is

    __device__ lane_team() : base(threadIdx.x % 32 & ~(WIDTH - 1u)), rank(threadIdx.x % WIDTH) {}

    // The lanes of this team for which `yes` holds, as bits by rank.
    __device__ uint32_t vote(bool yes) const {
        return __ballot_sync(~0u, yes) >> base & (uint32_t)((1ull << WIDTH) - 1);
    }
    __device__ float from(float x, uint32_t k) const { return __shfl_sync(~0u, x, (int)(base + k)); }
    __device__ v3 from(v3 a, uint32_t k) const { return v3_make(from(a.x, k), from(a.y, k), from(a.z, k)); }
    __device__ float sum(float x) const {
        for (int d = 1; d < WIDTH; d *= 2)
            x += __shfl_xor_sync(~0u, x, d);
        return x;
    }
    __device__ v3 sum(v3 a) const { return v3_make(sum(a.x), sum(a.y), sum(a.z)); }
    __device__ float least(float x) const {
        for (int d = 1; d < WIDTH; d *= 2)
            x = fminf(x, __shfl_xor_sync(~0u, x, d));
        return x;
    }
};

// The point that comes next: bits are points.
__device__ static uint32_t next_point(uint32_t bits, bool backward) {
    if (bits == 0) return 0;
    return backward ? 31u - (uint32_t)__clz((int)bits) : (uint32_t)__ffs((int)bits) - 1;
}

// Points that come after point k.
__device__ static uint32_t points_after(uint32_t k, bool backward) { return backward ? (1u << k) - 1 : ~0u << k << 1; }

__device__ static void apply_change(psvi_pair_state *t, v3 linear, v3 spin_a, v3 spin_b) {
    t->va = v3_madd(t->va, linear, -t->ma);
    t->vb = v3_madd(t->vb, linear, t->mb);
    t->wa = v3_sub(t->wa, spin_a);
    t->wb = v3_add(t->wb, spin_b);
}

// The points of `left` one after another, each with the velocities that those before it have left; `change_of` gives
// the change of this lane's impulse at the present velocities. A change of 0 changes nothing for those after it, so all
// lanes look at once and the next one that has a change is the next to act. `applied` is told this lane's change.
template <int WIDTH, typename Change, typename Applied>
__device__ static void turn_over_points(const lane_team<WIDTH> &team, psvi_pair_state *t, const psvi_row &row,
                                        uint32_t left, bool backward, Change change_of, Applied applied) {
    for (;;) {
        float change = change_of(*t);
        uint32_t wants = team.vote((left >> team.rank & 1) != 0 && change != 0);
        if (!__any_sync(~0u, wants != 0)) return;
        uint32_t k = next_point(wants, backward);
        if (wants != 0 && k == team.rank) applied(change);
        if (wants == 0) change = 0;
        v3 linear = team.from(v3_scale(row.direction, change), k);
        v3 spin_a = team.from(v3_scale(row.spin_a, change), k), spin_b = team.from(v3_scale(row.spin_b, change), k);
        if (wants != 0) apply_change(t, linear, spin_a, spin_b);
        left = wants != 0 ? left & points_after(k, backward) : 0;
    }
}

// Friction of the points with an impulse.
template <int WIDTH>
__device__ static void turn_over_frictions(const lane_team<WIDTH> &team, psvi_pair_state *t, const psvi_row &r1,
                                           const psvi_row &r2, psvi_f4 *impulse, bool own, float friction,
                                           bool backward) {
    bool rubs = own && friction > 0 && (impulse->x > 0 || impulse->y != 0 || impulse->z != 0);
    uint32_t left = team.vote(rubs);
    float mass = impulse->w;
    while (__any_sync(~0u, left != 0)) {
        uint32_t k = next_point(left, backward);
        float x = impulse->y - mass * psvi_row_speed(t, &r1), y = impulse->z - mass * psvi_row_speed(t, &r2);
        float limit = friction * impulse->x, squared = x * x + y * y;
        if (squared > limit * limit) {
            float scale = limit * psvi_inverse_root(squared);
            x *= scale;
            y *= scale;
        }
        float dx = x - impulse->y, dy = y - impulse->z;
        v3 linear = team.from(v3_madd(v3_scale(r1.direction, dx), r2.direction, dy), k);
        v3 spin_a = team.from(v3_madd(v3_scale(r1.spin_a, dx), r2.spin_a, dy), k);
        v3 spin_b = team.from(v3_madd(v3_scale(r1.spin_b, dx), r2.spin_b, dy), k);
        if (left == 0) continue;
        apply_change(t, linear, spin_a, spin_b);
        if (k == team.rank) {
            impulse->y = x;
            impulse->z = y;
        }
        left &= ~(1u << k);
    }
}

// Friction of contacts as a whole: the first lane of a team has the rows of the tangents, the second the one about the
// normal in `r1`. `acts`: the team's contact has such friction.
template <int WIDTH>
__device__ static void slide_shared(const lane_team<WIDTH> &team, psvi_pair_state *t, const psvi_row &r1,
                                    const psvi_row &r2, const slide_masses &m, psvi_f4 *impulse, bool acts, bool own,
                                    float friction) {
    if (!__any_sync(~0u, acts)) return;
    float pressing = team.sum(own ? impulse->x : 0.0f), along = psvi_row_speed(t, &r1);
    v3 was = v3_make(impulse->y, impulse->z, team.from(impulse->y, 1));
    v3 speed = v3_make(along, psvi_row_speed(t, &r2), team.from(along, 1));
    v3 now = slide_impulse(m, was, speed, friction * pressing); // of the first lane
    float twist = team.from(now.z, 0);
    bool first = team.rank == 0, second = team.rank == 1;
    float x = first ? now.x - was.x : second ? twist - impulse->y : 0.0f, y = first ? now.y - was.y : 0.0f;
    v3 linear = team.from(v3_madd(v3_scale(r1.direction, x), r2.direction, y), 0);
    v3 spin_a = v3_madd(v3_scale(r1.spin_a, x), r2.spin_a, y), spin_b = v3_madd(v3_scale(r1.spin_b, x), r2.spin_b, y);
    spin_a = v3_add(team.from(spin_a, 0), team.from(spin_a, 1));
    spin_b = v3_add(team.from(spin_b, 0), team.from(spin_b, 1));
    if (!acts) return;
    apply_change(t, linear, spin_a, spin_b);
    impulse->y += x;
    if (first) impulse->z += y;
}

// The hits of a contact (psvi_solve_hits) by WIDTH lanes. All lanes of the warp are here; `own`: this one has a point
// of a contact with restitution; `valid`: it is of a team that has a contact.
template <psvi_pass PASS, bool LOADS, int WIDTH>
__device__ static void hit_shared(const lane_team<WIDTH> &team, const psvi_solver &v, const psvi_step &step,
                                  uint32_t place, psvi_two_bodies two, const contact_head &head, uint64_t at, bool own,
                                  bool valid, const normal_part &p, const psvi_row &r, const psvi_row &r1,
                                  const psvi_row &r2, psvi_pair_state *t) {
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    psvi_pair_state now = lasting_state<PASS, LOADS>(v, two, *t), before = now;
    bool rest = after && head.pending > 0;
    float speed = psvi_row_speed(&now, &r);
    bool hits = own && !rest && psvi_point_hits(&step, speed, p.a.w, after);
    bool acts = team.vote(rest ? own : hits) != 0;
    if (!__any_sync(~0u, acts)) return;
    float weight = rest && own ? v.point_sum[at] : hits ? -speed * p.b.w : 0.0f;
    psvi_row whole;
    whole.direction = team.sum(v3_scale(r.direction, weight));
    whole.spin_a = team.sum(v3_scale(r.spin_a, weight));
    whole.spin_b = team.sum(v3_scale(r.spin_b, weight));
    float time = team.least(hits ? psvi_hit_time(&step, speed, p.a.w) : 1.0f), total = psvi_row_speed(&now, &whole);
    float multiple = rest ? psvi_hit_rest(psvi_row_response(&now, &whole), total, head.restitution, head.pending,
                                          excess_of(step, now, whole, head.pending))
                          : psvi_hit_multiple(&now, &whole, total, head.restitution,
                                              excess_of(step, now, whole, after ? 1.0f : time));
    float pending = after ? 0.0f : time;
    if (acts) psvi_row_apply(&now, &whole, rest ? multiple : multiple * (1 - pending));
    psvi_f4 impulse = f4_make(v3_make(hits ? multiple * weight : 0.0f, 0, 0), p.impulse.w);
    if (hits) v.point_sum[at] = impulse.x;
    if (own && !hits && !rest && acts) v.point_sum[at] = 0;
    turn_over_frictions(team, &now, r1, r2, &impulse, hits, head.friction, false);
    if (!acts) return;
    add_change(t, now, before);
    if (own && team.rank == 0) v.normal[place].w = rest ? 0.0f : pending;
    if ((!LOADS && after) || !valid || team.rank > 3) return;
    bool second = team.rank >= 2, spin = (team.rank & 1) != 0;
    if (!((second ? t->mb : t->ma) > 0)) return;
    psvi_motion *record = &v.pushed[second ? two.b : two.a];
    if (spin)
        add_to(&record->angular, second ? now.wb : now.wa, second ? before.wb : before.wa);
    else
        add_to(&record->linear, second ? now.vb : now.va, second ? before.vb : before.va);
}

// A contact of 2 to WIDTH points, of a colour, by WIDTH lanes; the points keep their order, and the formulas are those
// of solve_general. All lanes of the warp are here; those with `valid` have a contact.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, int WIDTH>
__device__ static void solve_shared(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                    const psvi_bin *bins, bool valid) {
    lane_team<WIDTH> team;
    const contact_head head = head_of(v.normal[place]);
    const float friction = head.friction;
    const uint32_t count = head.count;
    psvi_bin bin = bins[PSVI_MAX_POINTS - count];
    bool own = team.rank < count;
    uint64_t at = bin.point + (uint64_t)bin.count * min(team.rank, count - 1) + (place - bin.place);
    psvi_f4 la = load_any(&v.motion[two.a].linear), lb = load_any(&v.motion[two.b].linear);
    psvi_f4 aa = load_any(&v.motion[two.a].angular), ab = load_any(&v.motion[two.b].angular);
    normal_part p = load_normal(v, at);
    psvi_pair_state t;
    set_state(&t, la, lb, aa, ab);
    psvi_row r = normal_row(p), r1, r2;
    psvi_f4 impulse = p.impulse;
    uint32_t all = (1u << count) - 1;
    {
        friction_part f = load_friction(v, at);
        friction_rows(f, &r1, &r2);
        const bool whole = LOADS && WIDTH == 4 && head.whole, slides = whole && friction > 0;
        if (whole && team.rank == 1) twist_only(&r1);
        if (whole && team.rank > 1) r1 = r2 = psvi_row{}; // nothing was written there
        if (PASS == PSVI_PASS_WARM) {
            v3 linear =
                v3_madd(v3_madd(v3_scale(r.direction, impulse.x), r1.direction, impulse.y), r2.direction, impulse.z);
            v3 spin_a = v3_madd(v3_madd(v3_scale(r.spin_a, impulse.x), r1.spin_a, impulse.y), r2.spin_a, impulse.z);
            v3 spin_b = v3_madd(v3_madd(v3_scale(r.spin_b, impulse.x), r1.spin_b, impulse.y), r2.spin_b, impulse.z);
            float part = own ? 1.0f : 0.0f;
            apply_change(&t, team.sum(v3_scale(linear, part)), team.sum(v3_scale(spin_a, part)),
                         team.sum(v3_scale(spin_b, part)));
        } else {
            bool relax = PASS == PSVI_PASS_RELAX || PASS == PSVI_PASS_AGAIN;
            if (PASS == PSVI_PASS_RELAX) {
                psvi_pair_state moved;
                load_moved(v, two, &moved);
                p.a.w += psvi_row_speed(&moved, &r);
                if (valid && own) v.points[0][at].w = p.a.w;
            }
            bool bounces = BOUNCES && step.bounces && head.restitution > 0;
            if (BOUNCES && step.bounces)
                hit_shared<PASS, LOADS, WIDTH>(team, v, step, place, two, head, at, valid && own && bounces, valid, p,
                                               r, r1, r2, &t);
            psvi_softness soft =
                psvi_softness_of(&step, p.a.w, relax, t.ma > 0 && t.mb > 0, psvi_limits_of(&step, head.size));
            if (!LOADS && relax) impulse = f4_make(v3_make(0, 0, 0), impulse.w); // those in memory stay
            const uint32_t turns = LOADS ? step.turns : PASS == PSVI_PASS_RELAX ? 2 : 1;
            slide_masses masses = {};
            if (LOADS && WIDTH == 4) { // those of the second lane
                masses.slide = f.impulse.w;
                masses.twist = team.from(f.e.z, 1);
                masses.slip = team.from(f.e.w, 1);
                masses.slip_twist = team.from(f.f.x, 1);
                masses.per_lever = team.from(f.f.y, 1);
            }
            auto rub = [&](bool backward) {
                if (LOADS && WIDTH == 4) slide_shared(team, &t, r1, r2, masses, &impulse, slides, own, friction);
                turn_over_frictions(team, &t, r1, r2, &impulse, own && !whole, friction, backward);
            };
            for (uint32_t turn = 0; turn < turns; ++turn) {
                bool backward = (LOADS ? relax : PASS == PSVI_PASS_RELAX) != (turn == 1);
                if (LOADS && !relax) rub(backward);
                turn_over_points(
                    team, &t, r, all, backward,
                    [&](const psvi_pair_state &now) {
                        float speed = psvi_row_speed(&now, &r);
                        if (relax && bounces && psvi_hits_later(&step, speed, p.a.w)) return 0.0f;
                        float change = -p.b.w * soft.mass_scale * (speed + soft.bias) - soft.impulse_scale * impulse.x;
                        return fmaxf(impulse.x + change, 0.0f) - impulse.x;
                    },
                    [&](float change) { impulse.x += change; });
                if (relax) rub(backward);
            }
            if (valid && own && (LOADS || !relax)) v.points[3][at] = impulse;
        }
    }
    // A lane for each half of a record.
    bool second = team.rank >= 2, spin = (team.rank & 1) != 0;
    v3 linear = second ? t.vb : t.va, angular = second ? t.wb : t.wa;
    float mass = second ? t.mb : t.ma, turns = second ? ab.w : aa.w;
    psvi_motion *record = &v.motion[second ? two.b : two.a];
    if (!valid || team.rank > 3 || !(mass > 0) || (spin && turns == 0)) return;
    if (spin)
        record->angular = f4_make(angular, turns);
    else
        record->linear = f4_make(linear, mass);
}

#endif
