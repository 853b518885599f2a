// One visit of a pass to one contact: its bodies and rows are fetched, ball_pass.h or contact_pass.h does the work, and
// what has changed is stored.
#ifndef PAIRSIEVE_SIM_SOLVE_CONTACT_CUH
#define PAIRSIEVE_SIM_SOLVE_CONTACT_CUH

#include "../solver/contact_roll.h"
#include "../solver/row_lane.h"

#include "../solver/ball_pass.h"
#include "solve_loads.cuh"

// A contact of the solver's order. The lanes at a group's end that are too many have its last contact, and are not
// `valid`: they take part, and store nothing.
typedef struct contact_place {
    uint32_t place;
    psvi_two_bodies two;
    uint32_t point, count; // listed points
    bool valid;
} contact_place;

// --- bodies ----------------------------------------------------------------------------------------------------------

__device__ static row_pair pair_of(const psvi_motion &a, const psvi_motion &b) {
    row_pair t;
    t.va = v3_of4(a.linear);
    t.vb = v3_of4(b.linear);
    t.wa = v3_of4(a.angular);
    t.wb = v3_of4(b.angular);
    t.ma = a.linear.w;
    t.mb = b.linear.w;
    return t;
}

// How two bodies have moved in the substep; without masses.
__device__ static row_pair moved_pair(const psvi_movers &v, psvi_two_bodies two) {
    row_pair moved;
    moved.va = v3_of4(load_any(v.moved + two.a));
    moved.vb = v3_of4(load_any(v.moved + two.b));
    moved.wa = v3_of4(load_any(v.turned + two.a));
    moved.wb = v3_of4(load_any(v.turned + two.b));
    moved.ma = moved.mb = 0;
    return moved;
}

__device__ static v3 v3_change(v3 a, v3 now, v3 before) { return v3_add(a, v3_sub(now, before)); }

__device__ static void add_change(row_pair *t, const row_pair &now, const row_pair &before) {
    t->va = v3_change(t->va, now.va, before.va);
    t->vb = v3_change(t->vb, now.vb, before.vb);
    t->wa = v3_change(t->wa, now.wa, before.wa);
    t->wb = v3_change(t->wb, now.wb, before.wb);
}

// Part 0 to 3 of two records: velocity and spin of a, and of b. What does not move is not written, though a kinematic
// body turns: others are solved against it at the same time.
__device__ static psvi_f4 *record_part(psvi_motion *records, psvi_two_bodies two, uint32_t part) {
    psvi_motion *record = &records[part >= 2 ? two.b : two.a];
    return (part & 1) != 0 ? &record->angular : &record->linear;
}
__device__ static v3 pair_part(const row_pair &t, uint32_t part) {
    return part == 0 ? t.va : part == 1 ? t.wa : part == 2 ? t.vb : t.wb;
}
__device__ static bool part_moves(const row_pair &t, uint32_t part) { return (part >= 2 ? t.mb : t.ma) > 0; }

// What hits have changed goes to the bodies, and to what impulses are told from that are applied again: hits are not.
// The parts `first`, `first` + `step` ...
__device__ static void add_lasting(const psvi_movers &v, psvi_two_bodies two, const row_pair &now,
                                   const row_pair &before, uint32_t first, uint32_t step) {
    for (uint32_t part = first; part < 4; part += step) {
        if (!part_moves(now, part)) continue;
        psvi_f4 *p = record_part(v.pushed, two, part);
        *p = f4_make(v3_change(v3_of4(*p), pair_part(now, part), pair_part(before, part)), p->w);
    }
}

// The velocities that last beyond the pass: where no forces act and the move is still to come, those from before it.
template <psvi_pass PASS, bool LOADS>
__device__ static row_pair lasting_pair(const psvi_movers &v, psvi_two_bodies two, const row_pair &t) {
    if (LOADS || PASS != PSVI_PASS_SOLVE) return t;
    return pair_of(v.pushed[two.a], v.pushed[two.b]);
}

// --- rolling friction, after all else of a pass ----------------------------------------------------------------------

__device__ static row_root motion_root(const psvi_sim &s, uint32_t body, float mark) {
    const psvi_root l = mark >= 0 ? psvi_root_isotropic(mark) : psvi_root_of(s.inv_inertia[body]);
    row_root r;
    r.xx = l.xx;
    r.yx = l.yx;
    r.yy = l.yy;
    r.zx = l.zx;
    r.zy = l.zy;
    r.zz = l.zz;
    return r;
}

// `pressing`: the contact's normal impulse; `split`: the share of mass splitting.
template <psvi_pass PASS>
__device__ static void roll_pair(const psvi_sim &s, const contact_place &c, row_pair *t, float mark_a, float mark_b,
                                 float pressing, float split, bool writes) {
    const psvi_roll kept = s.rolls[c.place];
    if (!(kept.impulse.w > 0 || kept.normal.w > 0)) return;
    row_roll roll;
    row_make_roll(&roll, motion_root(s, c.two.a, mark_a), motion_root(s, c.two.b, mark_b), v3_of4(kept.normal));
    roll.mass *= split;
    roll.about_mass *= split;
    roll.rolling = kept.impulse.w;
    roll.spinning = kept.normal.w;
    const v3 was = v3_of4(kept.impulse);
    if (PASS == PSVI_PASS_WARM) {
        row_turn(t, roll.t1, was.x);
        row_turn(t, roll.t2, was.y);
        row_turn(t, roll.about, was.z);
        return;
    }
    const v3 now = row_solve_roll(t, &roll, was, pressing);
    if (writes) s.rolls[c.place].impulse = f4_make(now, kept.impulse.w);
}

// --- contacts of balls -----------------------------------------------------------------------------------------------

__device__ static row_ball ball_of(const psvi_step &step, const row_pair &t, psvi_f4 normal, psvi_f4 impulse,
                                   float arm_a, float arm_b, float split) {
    row_ball ball;
    const float inverse_mass = t.ma + t.mb;
    ball.n = v3_of4(normal);
    ball.friction = normal.w;
    ball.impulse = v3_of4(impulse);
    ball.separation = impulse.w;
    ball.push_speed = step.push_speed;
    ball.arm_a = arm_a;
    ball.arm_b = arm_b;
    ball.mass = split * lane_inverse(inverse_mass);
    ball.hold = split * lane_inverse(inverse_mass + (arm_a * arm_a + arm_b * arm_b));
    return ball;
}

// The hits of a contact of balls; with `look` only whether it has any. `separation` is brought up to the move.
template <psvi_pass PASS, bool LOADS>
__device__ static bool hit_balls(const psvi_solver &v, const psvi_step &step, const contact_place &c, psvi_f2 bounce,
                                 const row_ball &ball, psvi_f2 arms, bool turning, bool look, row_pair *t) {
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    row_pair now = lasting_pair<PASS, LOADS>(v.movers, c.two, *t);
    const row_pair before = now;
    row_bounce b;
    b.restitution = bounce.y;
    b.pending = bounce.x;
    b.hit = bounce.x > 0 ? v.hit[c.place] : 0.0f;
    if (!ball_hits(&now, &ball, &b, &step, after, turning, look, arms.x, arms.y)) return false;
    if (look) return true;
    add_change(t, now, before);
    v.bounce[c.place].x = b.pending;
    if (b.pending > 0) v.hit[c.place] = b.hit;
    if (LOADS || !after) add_lasting(v.movers, c.two, now, before, 0, turning ? 1 : 2);
    return true;
}

// What a pass does to the bodies of a contact of balls; true when it did anything. What has not changed is not written.
// Contacts of the rest have hit before: their bodies are shared.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS, bool TURNING, bool REST>
__device__ static bool visit_balls(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                   const contact_place &c, psvi_f4 normal, psvi_f4 impulse, psvi_f2 arms, float mark_a,
                                   float mark_b, float split, row_pair *t) {
    constexpr bool relax = PASS == PSVI_PASS_RELAX || PASS == PSVI_PASS_AGAIN;
    const bool may_bounce = BOUNCES && PASS != PSVI_PASS_WARM && step.bounces;
    psvi_f2 bounce = {0, 0};
    v3 apart = v3_make(0, 0, 0);
    if (may_bounce) bounce = load_two(v.bounce + c.place); // asked for before anything is waited for
    if (PASS == PSVI_PASS_RELAX)
        apart = v3_sub(v3_of4(load_any(&v.movers.moved[c.two.b])), v3_of4(load_any(&v.movers.moved[c.two.a])));
    row_ball ball =
        ball_of(step, *t, normal, impulse, TURNING ? mark_a * arms.x : 0.0f, TURNING ? mark_b * arms.y : 0.0f, split);
    const v3 was = ball.impulse;
    if (PASS == PSVI_PASS_RELAX) ball.separation += v3_dot(apart, ball.n);
    const bool bounces = bounce.y > 0;
    bool hit = false;
    if (!REST && may_bounce && bounces) hit = hit_balls<PASS, LOADS>(v, step, c, bounce, ball, arms, TURNING, false, t);
    ball_pass(t, &ball, &step, PASS, LOADS, TURNING, BOUNCES, bounces);
    if (ROLLS && TURNING) roll_pair<PASS>(s, c, t, mark_a, mark_b, ball.impulse.x, split, c.valid);
    const bool changed = PASS == PSVI_PASS_WARM ? was.x != 0 || was.y != 0 || was.z != 0
                                                : (relax && !LOADS) || ball.impulse.x != was.x ||
                                                      ball.impulse.y != was.y || ball.impulse.z != was.z;
    if (c.valid && (PASS == PSVI_PASS_RELAX || (PASS != PSVI_PASS_WARM && changed)))
        store_row(v.impulse + c.place, f4_make(ball.impulse, ball.separation));
    return changed || hit || ROLLS;
}

// A contact of balls that turn, of a colour. All lanes of the warp are here.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS>
__device__ static void solve_turning(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                     const contact_place &c) {
    const psvi_f4 normal = load_row(v.normal + c.place), impulse = load_row(v.impulse + c.place);
    psvi_motion a = load_record(v.movers.motion, c.two.a), b = load_record(v.movers.motion, c.two.b);
    row_pair t = pair_of(a, b);
    const psvi_f2 arms = load_two(v.arms + c.place);
    const bool changed = c.valid && visit_balls<PASS, LOADS, BOUNCES, ROLLS, true, false>(
                                        s, v, step, c, normal, impulse, arms, a.angular.w, b.angular.w, 1.0f, &t);
    __syncwarp();
    if (!__any_sync(~0u, changed)) return;
    a.linear = f4_make(t.va, t.ma);
    a.angular = f4_make(t.wa, a.angular.w);
    b.linear = f4_make(t.vb, t.mb);
    b.angular = f4_make(t.wb, b.angular.w);
    store_record(v.movers.motion, c.two.a, a, changed && t.ma > 0);
    store_record(v.movers.motion, c.two.b, b, changed && t.mb > 0);
}

// A contact of a colour whose bodies do not turn.
template <psvi_pass PASS, bool LOADS, bool BOUNCES>
__device__ static void solve_plain(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                   const contact_place &c) {
    const psvi_f4 normal = load_row(v.normal + c.place), impulse = load_row(v.impulse + c.place), none = {0, 0, 0, 0};
    psvi_motion a, b;
    a.linear = load_any(&v.movers.motion[c.two.a].linear);
    b.linear = load_any(&v.movers.motion[c.two.b].linear);
    a.angular = b.angular = none;
    row_pair t = pair_of(a, b);
    const psvi_f2 arms = {0, 0};
    if (!visit_balls<PASS, LOADS, BOUNCES, false, false, false>(s, v, step, c, normal, impulse, arms, 0, 0, 1.0f, &t))
        return;
    if (t.ma > 0) v.movers.motion[c.two.a].linear = f4_make(t.va, t.ma);
    if (t.mb > 0) v.movers.motion[c.two.b].linear = f4_make(t.vb, t.mb);
}

// A contact of balls of the rest.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS, bool TURNING>
__device__ static void solve_rest_balls(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                        const contact_place &c) {
    const psvi_motion a = v.movers.motion[c.two.a], b = v.movers.motion[c.two.b];
    psvi_f2 arms = {0, 0};
    if (TURNING) arms = v.arms[c.place];
    row_pair t = pair_of(a, b);
    const row_pair before = t;
    const float split = rest_split(s, c.two, t.ma > 0, t.mb > 0);
    if (!visit_balls<PASS, LOADS, BOUNCES, ROLLS, TURNING, true>(s, v, step, c, v.normal[c.place], v.impulse[c.place],
                                                                 arms, a.angular.w, b.angular.w, split, &t))
        return;
    for (uint32_t part = 0; part < 4; part += TURNING ? 1 : 2)
        if (part_moves(t, part))
            add_rest(s, part >= 2 ? c.two.b : c.two.a, (part & 1) * 3,
                     v3_sub(pair_part(t, part), pair_part(before, part)));
}

// --- contacts of any bodies: 1, 4, 8 or 16 lanes of a warp, which have a point each and all go through the same text -
// Every lane has both bodies, and gets the row of the point that is at work from the lane that has it.

namespace team {

typedef struct team_rows {
    uint32_t base, rank; // the first lane of the team, and which of it this one is
    uint32_t members;    // a bit a lane
    bool own, whole;     // has a point; friction is that of the contact as a whole
    v3 normal;           // of the own point; of a whole contact its one
    row_spins spins;
    float separation, mass, impulse, hit, pending;
    psvi_f4 rub[3]; // psvi_solver.points 4 to 6 of the own point
    float hold;
    v3 slide; // impulse of the own point's friction; of a whole contact its one
} team_rows;

typedef team_rows *row_at;

typedef struct row_point {
    row_spins spins;
    float mass, separation, impulse;
} row_point;

typedef struct row_rub {
    const team_rows *rows;
    uint32_t k;
} row_rub;

__device__ __forceinline__ static float from(const team_rows *r, float x, uint32_t k) {
    return __shfl_sync(~0u, x, (int)(r->base + k));
}
__device__ __forceinline__ static v3 from(const team_rows *r, v3 a, uint32_t k) {
    return v3_make(from(r, a.x, k), from(r, a.y, k), from(r, a.z, k));
}
__device__ __forceinline__ static row_spins from(const team_rows *r, const row_spins &s, uint32_t k) {
    row_spins got;
    got.a = from(r, s.a, k);
    got.b = from(r, s.b, k);
    return got;
}

#undef PSVI_VISIT
#define PSVI_VISIT __device__ __forceinline__ static

PSVI_VISIT bool at_any(row_at c, bool mask) {
    (void)c;
    return __any_sync(~0u, mask) != 0;
}
PSVI_VISIT uint32_t at_rubbing(row_at c, uint32_t count, bool whole) {
    (void)count;
    const bool rubs = c->own && (c->impulse > 0 || c->slide.x != 0 || c->slide.y != 0 || c->slide.z != 0);
    const uint32_t bits = __ballot_sync(~0u, rubs) >> c->base & c->members;
    return whole && bits != 0 ? 1 : bits;
}
PSVI_VISIT bool at_left(row_at c, uint32_t left) {
    (void)c;
    return __any_sync(~0u, left != 0) != 0;
}
PSVI_VISIT bool at_acts(row_at c, uint32_t left) {
    (void)c;
    return left != 0;
}
PSVI_VISIT row_point at_point(row_at c, uint32_t k) {
    row_point p;
    p.spins = from(c, c->spins, k);
    p.mass = from(c, c->mass, k);
    p.separation = from(c, c->separation, k);
    p.impulse = from(c, c->impulse, k);
    return p;
}
PSVI_VISIT v3 at_normal(row_at c, uint32_t k) { return c->whole ? c->normal : from(c, c->normal, k); }
PSVI_VISIT float at_impulse(row_at c, uint32_t k) { return from(c, c->impulse, k); }
PSVI_VISIT row_spins point_spins(const row_point &p) { return p.spins; }
PSVI_VISIT float point_mass(const row_point &p) { return p.mass; }
PSVI_VISIT float point_separation(const row_point &p) { return p.separation; }
PSVI_VISIT float point_impulse(const row_point &p) { return p.impulse; }
PSVI_VISIT void at_put_point(row_at c, uint32_t k, const row_point *p, float impulse, float separation, bool fresh) {
    (void)p;
    if (k != c->rank) return;
    c->impulse = impulse;
    if (fresh) c->separation = separation;
}

PSVI_VISIT row_rub at_rub(row_at c, uint32_t k, bool whole) {
    row_rub r;
    r.rows = c;
    r.k = whole ? 0 : k;
    return r;
}
PSVI_VISIT v3 rub_normal(const row_rub *r) {
    return r->rows->whole ? r->rows->normal : from(r->rows, r->rows->normal, r->k);
}
PSVI_VISIT row_spins first_spins(const team_rows *r, uint32_t k) {
    row_spins s;
    s.a = from(r, v3_of4(r->rub[0]), k);
    s.b = from(r, v3_make(r->rub[0].w, r->rub[1].x, r->rub[1].y), k);
    return s;
}
PSVI_VISIT row_spins rub_t1(const row_rub *r) { return first_spins(r->rows, r->k); }
PSVI_VISIT row_spins rub_t2(const row_rub *r) {
    row_spins s;
    s.a = from(r->rows, v3_make(r->rows->rub[1].z, r->rows->rub[1].w, r->rows->rub[2].x), r->k);
    s.b = from(r->rows, v3_make(r->rows->rub[2].y, r->rows->rub[2].z, r->rows->rub[2].w), r->k);
    return s;
}
PSVI_VISIT row_spins rub_about(const row_rub *r) { return first_spins(r->rows, 1); }
PSVI_VISIT row_grip rub_grip(const row_rub *r) {
    const float hold = from(r->rows, r->rows->hold, r->k);
    if (!r->rows->whole) return row_point_grip(hold);
    row_grip grip;
    grip.hold = hold;
    grip.hold_twist = from(r->rows, r->rows->rub[1].z, 1);
    grip.slip = from(r->rows, r->rows->rub[1].w, 1);
    grip.slip_twist = from(r->rows, r->rows->rub[2].x, 1);
    grip.per_lever = from(r->rows, r->rows->rub[2].y, 1);
    return grip;
}
PSVI_VISIT v3 rub_impulse(const row_rub *r) {
    if (r->rows->whole) return r->rows->slide;
    return v3_make(from(r->rows, r->rows->slide.x, r->k), from(r->rows, r->rows->slide.y, r->k), 0);
}
PSVI_VISIT void at_put_rub(row_at c, uint32_t k, const row_rub *r, v3 impulse, bool whole) {
    (void)r;
    if (whole || k == c->rank) c->slide = impulse;
}
PSVI_VISIT float at_hit(row_at c, uint32_t k) { return from(c, c->hit, k); }
PSVI_VISIT void at_put_hit(row_at c, uint32_t k, float hit) {
    if (k == c->rank) c->hit = hit;
}
PSVI_VISIT float at_pending(row_at c) { return c->pending; }
PSVI_VISIT void at_put_pending(row_at c, float pending) { c->pending = pending; }

#include "../solver/contact_pass.h"

} // namespace team

// A lane's point; what it does not have is 0. `moved`: how the bodies have moved since the separation was known, or
// NULL.
template <bool WHOLE>
__device__ static uint32_t load_rows(team::team_rows *r, const psvi_solver &v, const contact_place &c, uint32_t width,
                                     float split, const row_pair *moved) {
    const psvi_f4 none = {0, 0, 0, 0};
    r->rank = threadIdx.x & (width - 1);
    r->base = threadIdx.x % 32 - r->rank;
    r->members = (1u << width) - 1;
    r->own = r->rank < c.count;
    r->whole = WHOLE;
    r->hit = r->pending = 0;
    const uint32_t at = c.point + (r->own ? r->rank : 0);
    psvi_f4 q0 = v.points[0][at], q1 = v.points[1][at], q2 = v.points[2][at], q3 = v.points[3][at];
    for (int k = 0; k < 3; ++k)
        r->rub[k] = v.points[4 + k][at];
    if (!r->own) {
        q1 = q2 = q3 = none;
        q0.w = 0;
    }
    r->normal = v3_of4(q0);
    r->spins.a = v3_of4(q1);
    r->spins.b = v3_of4(q2);
    r->separation = q0.w;
    if (moved != NULL && r->own) r->separation = row_moved(q0.w, moved, row_linear_speed(moved, r->normal), r->spins);
    r->mass = split * q1.w;
    r->impulse = q3.x;
    r->hold = split * q3.w;
    r->slide = v3_make(q3.y, q3.z, 0);
    if (WHOLE) r->slide = v3_make(team::from(r, q3.y, 0), team::from(r, q3.z, 0), team::from(r, q3.y, 1));
    return at;
}

template <bool WHOLE>
__device__ static void store_rows(const team::team_rows &r, const psvi_solver &v, uint32_t at, bool separations) {
    if (!r.own) return;
    psvi_f4 *p = &v.points[3][at];
    p->x = r.impulse;
    if (!WHOLE || r.rank == 0) p->y = r.slide.x;
    if (!WHOLE || r.rank == 0) p->z = r.slide.y;
    if (WHOLE && r.rank == 1) p->y = r.slide.z;
    if (separations) v.points[0][at].w = r.separation;
}

// What a contact of any bodies has beside its points.
typedef struct contact_head {
    psvi_f4 normal; // psvi_solver.normal
    psvi_f2 bounce;
} contact_head;

template <psvi_pass PASS, bool BOUNCES>
__device__ static contact_head load_head(const psvi_solver &v, const psvi_step &step, const contact_place &c) {
    contact_head head;
    head.normal = v.normal[c.place];
    head.bounce.x = head.bounce.y = 0;
    if (BOUNCES && step.bounces && PASS != PSVI_PASS_WARM) head.bounce = v.bounce[c.place];
    return head;
}

__device__ static void begin_hand(team::row_hand *h, team::team_rows *r, const psvi_step &step, const contact_place &c,
                                  const contact_head &head, bool uneven) {
    h->at = r;
    h->count = __shfl_sync(~0u, c.count, 0); // contacts of a kind lie by falling count of points
    h->friction = head.normal.x;
    h->uneven = uneven;
    h->restitution = head.bounce.y;
    r->pending = head.bounce.x;
    h->later = h->restitution > 0;
    h->springs = row_springs_of(&step, h->t.ma > 0 && h->t.mb > 0, head.normal.y, head.normal.z);
    h->moved = NULL; // load_rows has brought the separations up to it
}

// The hits of a contact of any bodies, before the pass itself. All lanes of the warp are here.
template <psvi_pass PASS, bool LOADS>
__device__ static void hit_team(team::row_hand *h, const psvi_solver &v, const psvi_step &step, const contact_place &c,
                                uint32_t width, uint32_t at) {
    constexpr bool after = PASS != PSVI_PASS_SOLVE;
    if (!__any_sync(~0u, h->later)) return;
    team::team_rows *r = h->at;
    row_pair now = lasting_pair<PASS, LOADS>(v.movers, c.two, h->t);
    const row_pair before = now;
    if (after && r->own && r->pending > 0) r->hit = v.point_hit[at];
    if (!team::hand_all_hits(h, &now, &step, after)) return;
    add_change(&h->t, now, before);
    if (!c.valid) return;
    if (r->rank == 0) v.bounce[c.place].x = r->pending;
    if (!after && r->own) v.point_hit[at] = r->hit;
    if (LOADS || !after) add_lasting(v.movers, c.two, now, before, r->rank, width);
}

// A contact of any bodies by `width` lanes. All lanes of the warp are here.
template <psvi_pass PASS, bool LOADS, bool BOUNCES, bool ROLLS, bool REST, bool WHOLE>
__device__ static void solve_team(const psvi_sim &s, const psvi_solver &v, const psvi_step &step,
                                  const contact_place &c, uint32_t width, bool uneven) {
    const psvi_motion *a = &v.movers.motion[c.two.a], *b = &v.movers.motion[c.two.b];
    psvi_motion ra, rb;
    ra.linear = load_any(&a->linear);
    ra.angular = load_any(&a->angular);
    rb.linear = load_any(&b->linear);
    rb.angular = load_any(&b->angular);
    const contact_head head = load_head < PASS, BOUNCES && !WHOLE > (v, step, c); // before anything is waited for
    team::row_hand h;
    team::team_rows r;
    row_pair moved;
    h.t = pair_of(ra, rb);
    const float split = REST ? rest_split(s, c.two, h.t.ma > 0, h.t.mb > 0) : 1.0f;
    if (PASS == PSVI_PASS_RELAX) moved = moved_pair(v.movers, c.two);
    const uint32_t at = load_rows<WHOLE>(&r, v, c, width, split, PASS == PSVI_PASS_RELAX ? &moved : NULL);
    begin_hand(&h, &r, step, c, head, uneven);
    const bool bounces = BOUNCES && !WHOLE && step.bounces;
    if (!REST && bounces && PASS != PSVI_PASS_WARM) hit_team<PASS, LOADS>(&h, v, step, c, width, at);
    __syncwarp();
    const row_pair before = h.t;
    team::hand_pass(&h, NULL, false, &step, PASS, LOADS, WHOLE, bounces);
    if (PASS != PSVI_PASS_WARM && PASS != PSVI_PASS_AGAIN && c.valid)
        store_rows<WHOLE>(r, v, at, PASS == PSVI_PASS_RELAX);
    if (PASS == PSVI_PASS_AGAIN && LOADS && c.valid) store_rows<WHOLE>(r, v, at, false);
    if (ROLLS) {
        const float pressing = team::hand_pressing(&h);
        roll_pair<PASS>(s, c, &h.t, ra.angular.w, rb.angular.w, pressing, split, c.valid && r.rank == 0);
    }
    for (uint32_t part = r.rank; part < 4 && c.valid; part += width) {
        const float mark = part == 1 ? ra.angular.w : part == 3 ? rb.angular.w : 1.0f;
        if (!part_moves(h.t, part) || mark == 0) continue;
        const v3 now = pair_part(h.t, part);
        if (REST) {
            add_rest(s, part >= 2 ? c.two.b : c.two.a, (part & 1) * 3, v3_sub(now, pair_part(before, part)));
        } else {
            const float w = part == 0 ? h.t.ma : part == 2 ? h.t.mb : mark;
            *record_part(v.movers.motion, c.two, part) = f4_make(now, w);
        }
    }
}

// --- hits of the rest, one contact at a time on its bodies -----------------------------------------------------------

// With `look` only whether the contact has any. All lanes of the warp are here; those that are not valid do nothing.
template <psvi_pass PASS, bool LOADS>
__device__ static bool hit_rest_team(const psvi_solver &v, const psvi_step &step, const contact_place &c,
                                     uint32_t width, bool look) {
    team::row_hand h;
    team::team_rows r;
    row_pair moved;
    const psvi_motion a = v.movers.motion[c.two.a], b = v.movers.motion[c.two.b];
    h.t = pair_of(a, b);
    if (PASS == PSVI_PASS_RELAX) moved = moved_pair(v.movers, c.two);
    const contact_head head = load_head<PASS, true>(v, step, c);
    const uint32_t at = load_rows<false>(&r, v, c, width, 1.0f, PASS == PSVI_PASS_RELAX ? &moved : NULL);
    begin_hand(&h, &r, step, c, head, false);
    if (look) {
        row_pair now = lasting_pair<PASS, LOADS>(v.movers, c.two, h.t);
        if (r.pending > 0 && r.own) r.hit = v.point_hit[at];
        return team::hand_hits(&h, &now, &step, PASS != PSVI_PASS_SOLVE, true);
    }
    hit_team<PASS, LOADS>(&h, v, step, c, width, at);
    for (uint32_t part = r.rank; part < 4 && c.valid; part += width) {
        psvi_f4 *p = record_part(v.movers.motion, c.two, part);
        if (part_moves(h.t, part)) *p = f4_make(pair_part(h.t, part), p->w);
    }
    return true;
}

// The same of balls, of one lane.
template <psvi_pass PASS, bool LOADS>
__device__ static bool hit_rest_balls(const psvi_solver &v, const psvi_step &step, const contact_place &c, bool turning,
                                      bool look) {
    const psvi_f2 bounce = v.bounce[c.place];
    if (!c.valid || !(bounce.y > 0)) return false;
    const psvi_motion a = v.movers.motion[c.two.a], b = v.movers.motion[c.two.b];
    psvi_f2 arms = {0, 0};
    if (turning) arms = v.arms[c.place];
    row_pair t = pair_of(a, b);
    row_ball ball = ball_of(step, t, v.normal[c.place], v.impulse[c.place], turning ? a.angular.w * arms.x : 0.0f,
                            turning ? b.angular.w * arms.y : 0.0f, 1.0f);
    if (PASS == PSVI_PASS_RELAX) {
        const row_pair moved = moved_pair(v.movers, c.two);
        ball.separation += row_linear_speed(&moved, ball.n);
    }
    if (!hit_balls<PASS, LOADS>(v, step, c, bounce, ball, arms, turning, look, &t)) return false;
    for (uint32_t part = 0; part < 4 && !look; part += turning ? 1 : 2) {
        psvi_f4 *p = record_part(v.movers.motion, c.two, part);
        if (part_moves(t, part) && ((part & 1) == 0 || p->w != 0)) *p = f4_make(pair_part(t, part), p->w);
    }
    return true;
}

#endif
