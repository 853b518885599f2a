// The contact solver on eight contacts of balls at a time. The formulas are those of contact_round.h.
#include "contact_blocks.h"

#include "../contacts/contact_kept.h"
#include "lanes.h"

#define AHEAD 2 // blocks whose bodies are asked for before they are needed: they lie anywhere

// --- one block -------------------------------------------------------------------------------------------------------

// The bodies of a block while it is solved: psvi_balls, eight times.
typedef struct eight_balls {
    w3 va, wa, vb, wb;
    f8 ma, mb, ia, ib, ra, rb;
    w3 n;
} eight_balls;

PSVI_INLINE void apply(eight_balls *t, w3 impulse, bool turning) {
    t->va = w3_madd(t->va, impulse, -t->ma);
    t->vb = w3_madd(t->vb, impulse, t->mb);
    if (!turning) return;
    w3 twist = w3_cross(t->n, impulse);
    t->wa = w3_madd(t->wa, twist, -t->ia * t->ra);
    t->wb = w3_madd(t->wb, twist, -t->ib * t->rb);
}

PSVI_INLINE void solve_friction(eight_balls *t, psvi_contact_block *c, bool turning) {
    w3 t1, t2;
    w3_tangents(t->n, &t1, &t2);
    w3 v = w3_sub(t->vb, t->va);
    if (turning) v = w3_sub(v, w3_cross(w3_madd(w3_scale(t->wa, t->ra), t->wb, t->rb), t->n));
    f8 mass = load(c->tangent_mass), before_x = load(c->impulse[1]), before_y = load(c->impulse[2]);
    f8 x = before_x - mass * w3_dot(v, t1), y = before_y - mass * w3_dot(v, t2);
    f8 limit = load(c->friction) * load(c->impulse[0]);
    f8 squared = x * x + y * y;
    f8 scale = choose(squared > limit * limit, limit / square_root(squared), same(1));
    x *= scale;
    y *= scale;
    store(c->impulse[1], x);
    store(c->impulse[2], y);
    apply(t, w3_add(w3_scale(t1, x - before_x), w3_scale(t2, y - before_y)), turning);
}

PSVI_INLINE void solve_normal(eight_balls *t, psvi_contact_block *c, f8 separation, const psvi_step *step, bool relax) {
    f8 zero = same(0);
    i8 apart = separation > zero; // may close, but not cross, within the substep
    f8 bias = both(apart, separation * same(step->rate)), mass_scale = same(1), impulse_scale = zero;
    if (!relax) { // psvi_softness_of
        i8 both_move = mask_of(c->moves_a & c->moves_b);
        f8 rate = choose(both_move, same(step->bias_rate[0]), same(step->bias_rate[1]));
        bias = choose(apart, bias, larger(rate * separation, same(-step->push_speed)));
        f8 soft_mass = choose(both_move, same(step->mass_scale[0]), same(step->mass_scale[1]));
        f8 soft_impulse = choose(both_move, same(step->impulse_scale[0]), same(step->impulse_scale[1]));
        mass_scale = choose(apart, mass_scale, soft_mass);
        impulse_scale = both(~apart, soft_impulse);
    }
    f8 speed = w3_dot(w3_sub(t->vb, t->va), t->n), before = load(c->impulse[0]), mass = load(c->normal_mass);
    f8 change = -mass * mass_scale * (speed + bias) - impulse_scale * before;
    f8 total = larger(before + change, zero);
    if (relax && c->bounces) { // psvi_hits_later
        i8 later = (load(c->restitution) > zero) & apart & (speed < same(-step->restitution_threshold));
        total = choose(later, before, total);
    }
    store(c->impulse[0], total);
    change = total - before;
    t->va = w3_madd(t->va, t->n, -t->ma * change);
    t->vb = w3_madd(t->vb, t->n, t->mb * change);
}

// The hits of one lane, as a contact of one point.
static void hit_lane(const psvi_sim *s, const psvi_step *step, psvi_contact_block *block, uint32_t lane, bool after) {
    psvi_contact c = {.a = block->a[lane], .b = block->b[lane], .count = 1, .friction = block->friction[lane]};
    c.restitution = block->restitution[lane];
    psvi_point p = {.normal_mass = block->normal_mass[lane], .tangent_mass = block->tangent_mass[lane]};
    for (int k = 0; k < 3; ++k) {
        p.normal[k] = block->normal[k][lane];
        p.arm_a[k] = p.normal[k] * block->radius_a[lane];
        p.arm_b[k] = -p.normal[k] * block->radius_b[lane];
    }
    p.separation =
        block->separation_now[lane]; // so the very one of the other lanes: what hits and what does not must agree
    p.impulse.w = block->hit[lane];
    p.pending = block->pending[lane];
    psvi_two t;
    psvi_linear la, lb;
    psvi_angular aa, ab;
    psvi_load_two(s, &c, &t, &la, &lb, &aa, &ab);
    psvi_points points = {&p, &p};
    aa.turned = ab.turned = f4_make(v3_make(0, 0, 0), 0);
    psvi_solve_hits(s, points, step, &c, step->loads, after, &t, v3_make(0, 0, 0), &aa, &ab);
    block->hit[lane] = p.impulse.w;
    block->pending[lane] = p.pending;
    psvi_store_two(s, &c, &t, &aa, &ab);
}

// Hits are rare: looked for in all lanes, and solved one by one, before the pass loads the bodies.
PSVI_INLINE void solve_hits(const psvi_sim *s, const psvi_step *step, psvi_contact_block *c, bool after,
                            f8 separation) {
    w3 va, vb;
    f8 unused;
    bool lasting = !step->loads && !after; // see psvi_lasting
    gather(lasting ? &s->pushed->linear : &s->linear->velocity, c->a, &va, &unused);
    gather(lasting ? &s->pushed->linear : &s->linear->velocity, c->b, &vb, &unused);
    f8 speed = w3_dot(w3_sub(vb, va), w3_load(c->normal)), zero = same(0);
    i8 touches = after ? separation <= zero : separation < -speed * same(step->substep);
    i8 hits = touches & (speed < same(-step->restitution_threshold)) & (load(c->restitution) > zero);
    if (after) hits |= load(c->pending) > zero;
    for (uint32_t lane = 0; lane < c->count; ++lane)
        if (hits[lane] != 0) hit_lane(s, step, c, lane, after);
}

// Separations after the last move. `separation` stays that of the step's beginning: what is added is small.
PSVI_INLINE f8 separation_now(const psvi_sim *s, psvi_contact_block *c, w3 n) {
    w3 moved_a, moved_b;
    f8 unused;
    gather(&s->linear->moved, c->a, &moved_a, &unused);
    gather(&s->linear->moved, c->b, &moved_b, &unused);
    f8 now = load(c->separation) + w3_dot(w3_sub(moved_b, moved_a), n);
    store(c->separation_now, now);
    return now;
}

// Spin has a part in friction only, and friction only where something presses.
PSVI_INLINE void solve_block(const psvi_sim *s, const psvi_step *step, psvi_contact_block *c, psvi_pass pass,
                             bool turning, bool loads) {
    const bool relax = pass == PSVI_PASS_RELAX || pass == PSVI_PASS_AGAIN, spins = turning;
    eight_balls t = {.n = w3_load(c->normal)};
    f8 separation = pass == PSVI_PASS_RELAX ? separation_now(s, c, t.n) : load(c->separation_now);
    if (c->bounces && pass != PSVI_PASS_WARM) solve_hits(s, step, c, relax, separation);
    gather(&s->linear->velocity, c->a, &t.va, &t.ma);
    gather(&s->linear->velocity, c->b, &t.vb, &t.mb);
    if (spins) {
        i8 turns_a = mask_of(c->turns_a), turns_b = mask_of(c->turns_b);
        gather(&s->angular->velocity, c->a, &t.wa, &t.ia);
        gather(&s->angular->velocity, c->b, &t.wb, &t.ib);
        // What does not turn has nothing of its own there.
        t.wa = w3_both(turns_a, t.wa);
        t.wb = w3_both(turns_b, t.wb);
        t.ia = both(turns_a, t.ia);
        t.ib = both(turns_b, t.ib);
        t.ra = load(c->radius_a);
        t.rb = load(c->radius_b);
    }
    if (pass == PSVI_PASS_WARM) {
        w3 t1, t2;
        w3_tangents(t.n, &t1, &t2);
        w3 impulse = w3_madd(w3_scale(t.n, load(c->impulse[0])), t1, load(c->impulse[1]));
        apply(&t, w3_madd(impulse, t2, load(c->impulse[2])), turning);
    } else {
        // The order within the passes: see psvi_solve_points.
        f8 push = load(c->impulse[0]);
        for (int k = 0; k < 3 && relax && !loads; ++k)
            store(c->impulse[k], same(0));
        if (!relax && loads) solve_friction(&t, c, turning);
        solve_normal(&t, c, separation, step, relax);
        if (relax) solve_friction(&t, c, turning);
        for (int k = 0; k < 3 && relax && !loads; ++k)
            store(c->impulse[k], k == 0 ? push : same(0));
    }
    scatter(&s->linear->velocity, c->a, c->moves_a, t.va, t.ma);
    scatter(&s->linear->velocity, c->b, c->moves_b, t.vb, t.mb);
    if (!spins) return;
    scatter(&s->angular->velocity, c->a, c->turns_a & c->moves_a, t.wa, t.ia);
    scatter(&s->angular->velocity, c->b, c->turns_b & c->moves_b, t.wb, t.ib);
}

PSVI_INLINE void ask_ahead(const psvi_sim *s, const psvi_contact_block *c) {
    for (uint32_t k = 0; k < LANES; ++k) {
        __builtin_prefetch(&s->linear[c->a[k]], 1);
        __builtin_prefetch(&s->linear[c->b[k]], 1);
    }
    if ((c->turns_a | c->turns_b) == 0) return;
    for (uint32_t k = 0; k < LANES; ++k) {
        __builtin_prefetch(&s->angular[c->a[k]], 1);
        __builtin_prefetch(&s->angular[c->b[k]], 1);
    }
}

PSVI_INLINE void solve_range(const psvi_sim *s, const psvi_step *step, psvi_contact_block *blocks, uint64_t first,
                             uint64_t last, psvi_pass pass, bool loads) {
    for (uint64_t i = first; i < last; ++i) {
        psvi_contact_block *c = &blocks[i];
        if (i + AHEAD < last) ask_ahead(s, c + AHEAD);
        if ((c->turns_a | c->turns_b) != 0)
            solve_block(s, step, c, pass, true, loads);
        else
            solve_block(s, step, c, pass, false, loads);
    }
}

PSVI_CLONES void psvi_solve_blocks(const psvi_sim *s, const psvi_step *step, psvi_contact_block *blocks, uint64_t first,
                                   uint64_t last, psvi_pass pass) {
    // Each with its own code, and once more where no forces act.
    if (step->loads) {
        switch (pass) {
        case PSVI_PASS_WARM: solve_range(s, step, blocks, first, last, PSVI_PASS_WARM, true); break;
        case PSVI_PASS_SOLVE: solve_range(s, step, blocks, first, last, PSVI_PASS_SOLVE, true); break;
        case PSVI_PASS_RELAX: solve_range(s, step, blocks, first, last, PSVI_PASS_RELAX, true); break;
        case PSVI_PASS_AGAIN: break; // not under forces
        }
        return;
    }
    switch (pass) {
    case PSVI_PASS_WARM: solve_range(s, step, blocks, first, last, PSVI_PASS_WARM, false); break;
    case PSVI_PASS_SOLVE: solve_range(s, step, blocks, first, last, PSVI_PASS_SOLVE, false); break;
    case PSVI_PASS_RELAX: solve_range(s, step, blocks, first, last, PSVI_PASS_RELAX, false); break;
    case PSVI_PASS_AGAIN: solve_range(s, step, blocks, first, last, PSVI_PASS_AGAIN, false); break;
    }
}

// --- from and to contacts --------------------------------------------------------------------------------------------

static void fill_lane(const psvi_sim *s, psvi_contact_block *block, uint32_t lane, const psvi_contact *c) {
    const psvi_point *p = &s->points[c->first];
    for (int k = 0; k < 3; ++k)
        block->normal[k][lane] = p->normal[k];
    block->radius_a[lane] = v3_dot(v3_of(p->arm_a), v3_of(p->normal));
    block->radius_b[lane] = -v3_dot(v3_of(p->arm_b), v3_of(p->normal));
    block->separation[lane] = block->separation_now[lane] = p->separation;
    block->normal_mass[lane] = p->normal_mass;
    block->tangent_mass[lane] = p->tangent_mass;
    block->friction[lane] = c->friction;
    block->restitution[lane] = c->restitution;
    block->impulse[0][lane] = p->impulse.x;
    block->impulse[1][lane] = p->impulse.y;
    block->impulse[2][lane] = p->impulse.z;
    block->hit[lane] = block->pending[lane] = 0;
    block->a[lane] = c->a;
    block->b[lane] = c->b;
    block->first[lane] = c->first;
    block->feature[lane] = p->feature;
}

void psvi_fill_block(const psvi_sim *s, const psvi_step *step, const uint32_t *list, psvi_contact_block *block) {
    block->moves_a = block->moves_b = block->turns_a = block->turns_b = 0;
    block->bounces = false;
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        bool used = lane < block->count;
        const psvi_contact *c = &s->contacts[list[block->start + (used ? lane : 0)]];
        fill_lane(s, block, lane, c);
        if (!used) continue;
        psvi_linear a = s->linear[c->a], b = s->linear[c->b];
        uint8_t bit = (uint8_t)(1u << lane);
        if (a.velocity.w > 0) block->moves_a |= bit;
        if (b.velocity.w > 0) block->moves_b |= bit;
        if (a.moved.w != 0) block->turns_a |= bit;
        if (b.moved.w != 0) block->turns_b |= bit;
        if (c->restitution > 0 && step->bounces) block->bounces = true;
    }
}

void psvi_keep_block(const psvi_sim *s, const psvi_contact_block *block) {
    for (uint32_t lane = 0; lane < block->count; ++lane) {
        psvi_contact c = {
            .a = block->a[lane], .b = block->b[lane], .first = block->first[lane], .count = 1, .colour = block->colour};
        psvi_point p = {.feature = block->feature[lane]};
        p.impulse.x = block->impulse[0][lane];
        p.impulse.y = block->impulse[1][lane];
        p.impulse.z = block->impulse[2][lane];
        psvi_keep_contact(s, &c, &p);
    }
}
