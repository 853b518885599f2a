// Contacts of any kind: of a colour or of the rest by a thread; and of a colour by several lanes, a point each.
#ifndef PAIRSIEVE_SIM_SOLVE_GENERAL_CUH
#define PAIRSIEVE_SIM_SOLVE_GENERAL_CUH

#include "../src/contact_rows.h"
#include "../src/contact_solver.h"
#include "solve_loads.cuh"

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

// `moved`: movement of the substep; with `fresh` the separations are brought up to it. `last`: the impulses are those
// of the substep. Where no forces act, `pushes` gets the impulses of the points, that then begin at 0, or is NULL; the
// energy taken is added up with the contact.
template <bool LOADS>
__device__ static void solve_normals(const psvi_solver &v, const psvi_step &step, const point_row &row,
                                     psvi_pair_state *t, bool relax, bool fresh, float *pushes, bool last,
                                     uint32_t place, const psvi_pair_state &moved, bool backward, float split) {
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
        if (!LOADS && pushes) {
            pushes[backward ? row.count - 1 - i : i] = p.impulse.x;
            p.impulse = f4_make(v3_make(0, 0, 0), p.impulse.w);
        }
        float before = p.impulse.x, speed = LOADS ? 0 : psvi_row_speed(t, &r);
        psvi_row_normal(t, &r, &p.impulse, soft, split * p.b.w);
        if (!LOADS && relax && step.bounces && p.impulse.x != before)
            v.normal[place].w += split * p.b.w * psvi_speed_taken(p.impulse.x - before, speed, split * p.b.w);
        if (p.impulse.x != before || (!LOADS && pushes)) v.points[3][at] = p.impulse;
        if (last && p.impulse.x > 0) v.point_sum[at] += p.impulse.x;
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

// A contact of any kind.
template <psvi_pass PASS, bool LOADS, bool REST>
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
            psvi_row_apply(&t, &r1, p.impulse.y);
            psvi_row_apply(&t, &r2, p.impulse.z);
        }
    } else if (PASS == PSVI_PASS_BOUNCE && !LOADS) {
        const v3 none = v3_make(0, 0, 0);
        psvi_row whole = {none, none, none};
        float approach = 0;
        for (uint32_t i = 0; i < row.count; ++i) {
            uint64_t at = point_place(row, false, i);
            float sum = v.point_sum[at];
            if (!(sum > 0)) continue;
            normal_part p = load_normal(v, at);
            if (p.c.w > -step.restitution_threshold) continue;
            psvi_row r = normal_row(p);
            psvi_row_add(&whole, &r, sum);
            approach += p.c.w * sum;
        }
        if (!(approach < 0)) return;
        psvi_row_bounce(&t, &whole, approach, v.normal[place].w, restitution, split);
    } else if (PASS == PSVI_PASS_BOUNCE) {
        for (uint32_t i = 0; i < row.count; ++i) {
            normal_part p = load_normal(v, point_place(row, false, i));
            float sum = v.point_sum[point_place(row, false, i)];
            if (p.c.w > -step.restitution_threshold || !(sum > 0)) continue;
            psvi_row r = normal_row(p);
            float change = -split * p.b.w * (psvi_row_speed(&t, &r) + restitution * p.c.w);
            psvi_row_apply(&t, &r, psvi_bounce_impulse(change, p.impulse.x, sum, restitution));
        }
    } else {
        // Undoing overlap: friction first, so that what keeps bodies apart has the last word. The pass after the move
        // the other way round: friction then is that of the load that is really carried. Several points are solved
        // twice, there and back, while their bodies are in registers: what one order favours the other gives back.
        // Where no forces act, only the first pass after the move does that.
        bool relax = PASS == PSVI_PASS_RELAX || PASS == PSVI_PASS_AGAIN;
        psvi_pair_state moved;
        if (PASS == PSVI_PASS_RELAX) load_moved(v, two, &moved);
        float pushes[PSVI_MAX_POINTS];
        uint32_t turns = (LOADS || PASS == PSVI_PASS_RELAX) && row.count > 1 ? 2u : 1u;
        for (uint32_t turn = 0; turn < turns; ++turn) {
            bool backward = (LOADS ? relax : PASS == PSVI_PASS_RELAX) != (turn == 1);
            if (LOADS && !relax) solve_frictions(v, row, &t, friction, backward, split);
            solve_normals<LOADS>(v, step, row, &t, relax, PASS == PSVI_PASS_RELAX && turn == 0,
                                 !LOADS && relax && turn == 0 ? pushes : NULL,
                                 relax && step.bounces && turn + 1 == turns, place, moved, backward, split);
            if (relax) solve_frictions(v, row, &t, friction, backward, split);
        }
        for (uint32_t i = 0; i < row.count && relax && !LOADS; ++i) {
            psvi_f4 *impulse = &v.points[3][point_place(row, false, i)];
            *impulse = f4_make(v3_make(pushes[i], 0, 0), impulse->w);
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

// A contact of 2 to WIDTH points, of a colour, by WIDTH lanes; the points keep their order, and the formulas are those
// of solve_general. All lanes of the warp are here; those with `valid` have a contact.
template <psvi_pass PASS, bool LOADS, int WIDTH>
__device__ static void solve_shared(const psvi_solver &v, const psvi_step &step, uint32_t place, psvi_two_bodies two,
                                    const psvi_bin *bins, bool valid) {
    lane_team<WIDTH> team;
    psvi_f4 head = v.normal[place];
    float friction = head.x, restitution = head.y;
    uint32_t count = __float_as_uint(head.z);
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
    if (PASS == PSVI_PASS_BOUNCE) {
        float sum = restitution > 0 ? v.point_sum[at] : 0;
        bool bounces = own && p.c.w <= -step.restitution_threshold && sum > 0;
        if (!LOADS) {
            float weight = bounces ? sum : 0, approach = team.sum(p.c.w * weight);
            psvi_row whole;
            whole.direction = team.sum(v3_scale(r.direction, weight));
            whole.spin_a = team.sum(v3_scale(r.spin_a, weight));
            whole.spin_b = team.sum(v3_scale(r.spin_b, weight));
            psvi_row_bounce(&t, &whole, approach, v.normal[place].w, restitution, 1.0f);
        } else {
            turn_over_points(
                team, &t, r, team.vote(bounces), false,
                [&](const psvi_pair_state &now) {
                    float change = -p.b.w * (psvi_row_speed(&now, &r) + restitution * p.c.w);
                    return psvi_bounce_impulse(change, impulse.x, sum, restitution);
                },
                [](float) {});
        }
    } else {
        friction_part f = load_friction(v, at);
        friction_rows(f, &r1, &r2);
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
            psvi_softness soft = psvi_softness_of(&step, p.a.w, relax, t.ma > 0 && t.mb > 0);
            if (!LOADS && relax) impulse = f4_make(v3_make(0, 0, 0), impulse.w); // those in memory stay
            float taken = 0;
            for (uint32_t turn = 0; turn < (LOADS || PASS == PSVI_PASS_RELAX ? 2 : 1); ++turn) {
                bool backward = (LOADS ? relax : PASS == PSVI_PASS_RELAX) != (turn == 1);
                if (LOADS && !relax) turn_over_frictions(team, &t, r1, r2, &impulse, own, friction, backward);
                turn_over_points(
                    team, &t, r, all, backward,
                    [&](const psvi_pair_state &now) {
                        float change = -p.b.w * soft.mass_scale * (psvi_row_speed(&now, &r) + soft.bias) -
                                       soft.impulse_scale * impulse.x;
                        return fmaxf(impulse.x + change, 0.0f) - impulse.x;
                    },
                    [&](float change) { // `t` is still what the change was made for
                        if constexpr (PASS != PSVI_PASS_SOLVE && !LOADS)
                            taken += p.b.w * psvi_speed_taken(change, psvi_row_speed(&t, &r), p.b.w);
                        impulse.x += change;
                    });
                if (relax) turn_over_frictions(team, &t, r1, r2, &impulse, own, friction, backward);
            }
            if (valid && own) {
                if (LOADS || !relax) v.points[3][at] = impulse;
                if (relax && step.bounces && impulse.x > 0) v.point_sum[at] += impulse.x;
            }
            if (relax && step.bounces && !LOADS) {
                taken = team.sum(taken);
                if (valid && team.rank == 0) v.normal[place].w += taken;
            }
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
