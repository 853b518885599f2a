#include "manifold_blocks.h"

#include "../contacts/contact_kept.h"
#include "lanes.h"

// The bodies of a block while it is solved.
typedef struct eight_pairs {
    w3 va, wa, vb, wb; // spins with the inertia made 1
    f8 ma, mb;
    w3 n;
} eight_pairs;

PSVI_INLINE w3 root_mul(const psvi_block_root *r, w3 w) {
    return (w3){load(r->root[0]) * w.x, load(r->root[1]) * w.x + load(r->root[2]) * w.y,
                load(r->root[3]) * w.x + load(r->root[4]) * w.y + load(r->root[5]) * w.z};
}

PSVI_INLINE w3 root_solve(const psvi_block_root *r, w3 w) {
    f8 x = w.x * load(r->inverse[0]);
    f8 y = (w.y - load(r->root[1]) * x) * load(r->inverse[1]);
    return (w3){x, y, (w.z - load(r->root[3]) * x - load(r->root[4]) * y) * load(r->inverse[2])};
}

PSVI_INLINE w3 root_mul_transposed(const psvi_block_root *r, w3 a) {
    return (w3){load(r->root[0]) * a.x + load(r->root[1]) * a.y + load(r->root[3]) * a.z,
                load(r->root[2]) * a.y + load(r->root[4]) * a.z, load(r->root[5]) * a.z};
}

PSVI_INLINE void w3_store(float p[3][LANES], w3 v) {
    store(p[0], v.x);
    store(p[1], v.y);
    store(p[2], v.z);
}

// --- a pass ----------------------------------------------------------------------------------------------------------

PSVI_INLINE f8 row_spin_speed(const eight_pairs *t, const psvi_block_row *r) {
    return w3_dot(t->wb, w3_load(r->b)) - w3_dot(t->wa, w3_load(r->a));
}

PSVI_INLINE void row_turn(eight_pairs *t, const psvi_block_row *r, f8 impulse) {
    t->wa = w3_madd(t->wa, w3_load(r->a), -impulse);
    t->wb = w3_madd(t->wb, w3_load(r->b), impulse);
}

PSVI_INLINE void push(eight_pairs *t, w3 direction, f8 impulse) {
    t->va = w3_madd(t->va, direction, -t->ma * impulse);
    t->vb = w3_madd(t->vb, direction, t->mb * impulse);
}

PSVI_INLINE f8 pressing(const psvi_manifold_block *c) {
    f8 sum = load(c->point[0].impulse);
    for (uint32_t k = 1; k < c->points; ++k)
        sum += load(c->point[k].impulse);
    return sum;
}

PSVI_INLINE void solve_sliding(eight_pairs *t, psvi_manifold_block *c) {
    w3 t1, t2, v = w3_sub(t->vb, t->va);
    w3_tangents(t->n, &t1, &t2);
    f8 mass = load(c->slide_mass), twist_mass = load(c->twist_mass), per_lever = load(c->per_lever);
    f8 was_x = load(c->sliding[0]), was_y = load(c->sliding[1]), was_z = load(c->sliding[2]);
    f8 speed_x = w3_dot(v, t1) + row_spin_speed(t, &c->slide[0]);
    f8 speed_y = w3_dot(v, t2) + row_spin_speed(t, &c->slide[1]);
    f8 speed_z = row_spin_speed(t, &c->slide[2]);
    f8 x = was_x - mass * speed_x, y = was_y - mass * speed_y, z = was_z - twist_mass * speed_z;
    f8 limit = load(c->friction) * pressing(c), turning = z * per_lever;
    f8 squared = x * x + y * y + turning * turning;
    // What slides has one mass in all three directions, or friction would not point against the sliding.
    i8 slides = squared > limit * limit;
    mass = choose(slides, load(c->slip_mass[0]), mass);
    twist_mass = choose(slides, load(c->slip_mass[1]), twist_mass);
    x = was_x - mass * speed_x;
    y = was_y - mass * speed_y;
    z = was_z - twist_mass * speed_z;
    turning = z * per_lever;
    squared = x * x + y * y + turning * turning;
    f8 scale = choose(squared > limit * limit, limit / square_root(squared), same(1));
    x *= scale;
    y *= scale;
    z *= scale;
    w3_store(c->sliding, (w3){x, y, z});
    x -= was_x;
    y -= was_y;
    z -= was_z;
    w3 change = w3_add(w3_scale(t1, x), w3_scale(t2, y));
    push(t, change, same(1));
    row_turn(t, &c->slide[0], x);
    row_turn(t, &c->slide[1], y);
    row_turn(t, &c->slide[2], z);
}

// The softness of all contacts of a block: psvi_softness_of.
typedef struct eight_soft {
    f8 rate, mass, impulse, shift, deep, push_speed;
} eight_soft;

PSVI_INLINE eight_soft softness_of(const psvi_manifold_block *c, const psvi_step *step) {
    i8 both_move = mask_of(c->moves_a & c->moves_b);
    eight_soft soft;
    soft.rate = choose(both_move, same(step->bias_rate[0]), same(step->bias_rate[1]));
    soft.mass = choose(both_move, same(step->mass_scale[0]), same(step->mass_scale[1]));
    soft.impulse = choose(both_move, same(step->impulse_scale[0]), same(step->impulse_scale[1]));
    soft.deep = load(c->deep);
    soft.shift = choose(both_move, same(step->deep_shift[0]), same(step->deep_shift[1])) * soft.deep;
    soft.push_speed = load(c->push_speed);
    return soft;
}

// One point; `speed` is the bodies' along the normal, without their spins, and kept up.
PSVI_INLINE f8 solve_point(eight_pairs *t, psvi_block_point *p, const psvi_step *step, const eight_soft *soft,
                           bool relax, f8 *speed) {
    const f8 zero = same(0), one = same(1);
    f8 separation = load(p->separation_now), before = load(p->impulse);
    i8 apart = separation > zero; // may close, but not cross, within the substep
    f8 bias = both(apart, separation * same(step->rate)), mass_scale = one, impulse_scale = zero;
    if (!relax) {
        i8 deep = separation < -soft->deep;
        f8 undo = choose(deep, same(step->bias_rate[2]) * (separation + soft->shift), soft->rate * separation);
        bias = choose(apart, bias, larger(undo, -soft->push_speed));
        mass_scale = choose(apart, one, choose(deep, same(step->mass_scale[2]), soft->mass));
        impulse_scale = both(~apart, choose(deep, same(step->impulse_scale[2]), soft->impulse));
    }
    f8 closing = *speed + row_spin_speed(t, &p->row);
    f8 total = before - load(p->mass) * mass_scale * (closing + bias) - impulse_scale * before;
    total = larger(total, zero);
    store(p->impulse, total);
    f8 change = total - before;
    row_turn(t, &p->row, change);
    *speed += change * (t->ma + t->mb);
    return change;
}

// The normal impulses of a block, and with `two` in turns point by point those of the one behind it.
PSVI_INLINE void solve_pressing(eight_pairs *t, eight_pairs *u, psvi_manifold_block *c, const psvi_step *step, bool two,
                                bool relax, bool backward) {
    const eight_soft soft = softness_of(&c[0], step), soft_of_u = two ? softness_of(&c[1], step) : soft;
    const uint32_t points = c[0].points, points_of_u = two ? c[1].points : 0;
    f8 speed = w3_dot(w3_sub(t->vb, t->va), t->n), sum = same(0);
    f8 speed_of_u = two ? w3_dot(w3_sub(u->vb, u->va), u->n) : same(0), sum_of_u = same(0);
    for (uint32_t i = 0; i < points || i < points_of_u; ++i) {
        const uint32_t k = backward ? points - 1 - i : i, m = backward ? points_of_u - 1 - i : i;
        if (i < points) sum += solve_point(t, &c[0].point[k], step, &soft, relax, &speed);
        if (i < points_of_u) sum_of_u += solve_point(u, &c[1].point[m], step, &soft_of_u, relax, &speed_of_u);
    }
    push(t, t->n, sum);
    if (two) push(u, u->n, sum_of_u);
}

// Separations after the last move. `separation` stays that of the step's beginning: what is added is small.
PSVI_INLINE void move_points(const psvi_sim *s, psvi_manifold_block *c, w3 n) {
    w3 moved_a, moved_b, turned_a, turned_b;
    f8 unused;
    gather(&s->linear->moved, c->a, &moved_a, &unused);
    gather(&s->linear->moved, c->b, &moved_b, &unused);
    gather(&s->angular->turned, c->a, &turned_a, &unused);
    gather(&s->angular->turned, c->b, &turned_b, &unused);
    eight_pairs t;
    t.wa = root_solve(&c->root_a, w3_both(mask_of(c->turns_a), turned_a));
    t.wb = root_solve(&c->root_b, w3_both(mask_of(c->turns_b), turned_b));
    f8 moved = w3_dot(w3_sub(moved_b, moved_a), n);
    for (uint32_t k = 0; k < c->points; ++k) {
        psvi_block_point *p = &c->point[k];
        store(p->separation_now, load(p->separation) + (moved + row_spin_speed(&t, &p->row)));
    }
}

PSVI_INLINE void warm(eight_pairs *t, const psvi_manifold_block *c) {
    w3 t1, t2;
    w3_tangents(t->n, &t1, &t2);
    for (uint32_t k = 0; k < c->points; ++k)
        row_turn(t, &c->point[k].row, load(c->point[k].impulse));
    for (int k = 0; k < 3; ++k)
        row_turn(t, &c->slide[k], load(c->sliding[k]));
    w3 impulse = w3_madd(w3_scale(t->n, pressing(c)), t1, load(c->sliding[0]));
    push(t, w3_madd(impulse, t2, load(c->sliding[1])), same(1));
}

PSVI_INLINE void load_pairs(const psvi_sim *s, psvi_manifold_block *c, psvi_pass pass, eight_pairs *t, f8 spin[2]) {
    t->n = w3_load(c->normal);
    if (pass == PSVI_PASS_RELAX) move_points(s, c, t->n);
    gather(&s->linear->velocity, c->a, &t->va, &t->ma);
    gather(&s->linear->velocity, c->b, &t->vb, &t->mb);
    gather(&s->angular->velocity, c->a, &t->wa, &spin[0]);
    gather(&s->angular->velocity, c->b, &t->wb, &spin[1]);
    // What does not turn has nothing of its own there.
    t->wa = root_solve(&c->root_a, w3_both(mask_of(c->turns_a), t->wa));
    t->wb = root_solve(&c->root_b, w3_both(mask_of(c->turns_b), t->wb));
}

PSVI_INLINE void store_pairs(const psvi_sim *s, const psvi_manifold_block *c, const eight_pairs *t, const f8 spin[2]) {
    scatter(&s->linear->velocity, c->a, c->moves_a, t->va, t->ma);
    scatter(&s->linear->velocity, c->b, c->moves_b, t->vb, t->mb);
    scatter(&s->angular->velocity, c->a, c->turns_a & c->moves_a, root_mul(&c->root_a, t->wa), spin[0]);
    scatter(&s->angular->velocity, c->b, c->turns_b & c->moves_b, root_mul(&c->root_b, t->wb), spin[1]);
}

// A block, or with `two` the one behind it too: of one block each operation waits for the one before it, and two, which
// share no body that moves, fill each other's gaps.
PSVI_INLINE void solve_blocks(const psvi_sim *s, const psvi_step *step, psvi_manifold_block *c, psvi_pass pass,
                              bool two) {
    eight_pairs t, u;
    f8 spin[2], spin_of_u[2];
    load_pairs(s, &c[0], pass, &t, spin);
    if (two) load_pairs(s, &c[1], pass, &u, spin_of_u);
    if (pass == PSVI_PASS_WARM) {
        warm(&t, &c[0]);
        if (two) warm(&u, &c[1]);
    } else {
        // The order within the passes: see psvi_solve_points.
        const bool relax = pass == PSVI_PASS_RELAX;
        for (uint32_t turn = 0; turn < step->turns; ++turn) {
            if (!relax) solve_sliding(&t, &c[0]);
            if (!relax && two) solve_sliding(&u, &c[1]);
            solve_pressing(&t, &u, c, step, two, relax, relax != (turn == 1));
            if (relax) solve_sliding(&t, &c[0]);
            if (relax && two) solve_sliding(&u, &c[1]);
        }
    }
    store_pairs(s, &c[0], &t, spin);
    if (two) store_pairs(s, &c[1], &u, spin_of_u);
}

// Asks for the bodies of a later block before they are needed: they lie anywhere.
PSVI_INLINE void ask_ahead(const psvi_sim *s, const psvi_manifold_block *c) {
    for (uint32_t k = 0; k < LANES; ++k) {
        __builtin_prefetch(&s->linear[c->a[k]], 1);
        __builtin_prefetch(&s->linear[c->b[k]], 1);
        __builtin_prefetch(&s->angular[c->a[k]], 1);
        __builtin_prefetch(&s->angular[c->b[k]], 1);
    }
}

PSVI_INLINE void solve_range(const psvi_sim *s, const psvi_step *step, psvi_manifold_block *blocks, uint64_t first,
                             uint64_t last, psvi_pass pass) {
    for (uint64_t i = first; i < last; i += 2) {
        for (uint64_t k = i + 2; k < i + 4 && k < last; ++k)
            ask_ahead(s, &blocks[k]);
        if (i + 1 < last)
            solve_blocks(s, step, &blocks[i], pass, true);
        else
            solve_blocks(s, step, &blocks[i], pass, false);
    }
}

PSVI_CLONES void psvi_solve_manifolds(const psvi_sim *s, const psvi_step *step, psvi_manifold_block *blocks,
                                      uint64_t first, uint64_t last, psvi_pass pass) {
    switch (pass) { // each with its own code
    case PSVI_PASS_WARM: solve_range(s, step, blocks, first, last, PSVI_PASS_WARM); break;
    case PSVI_PASS_SOLVE: solve_range(s, step, blocks, first, last, PSVI_PASS_SOLVE); break;
    case PSVI_PASS_RELAX: solve_range(s, step, blocks, first, last, PSVI_PASS_RELAX); break;
    case PSVI_PASS_AGAIN: break; // where no forces act
    }
}

// --- from and to contacts --------------------------------------------------------------------------------------------

// What is copied lane by lane before it is worked on in vectors.
typedef struct raw_points {
    float arm_a[PSVI_BLOCK_POINTS][3][LANES], arm_b[PSVI_BLOCK_POINTS][3][LANES];
    float slide[PSVI_BLOCK_POINTS][2][LANES];
    float used[PSVI_BLOCK_POINTS][LANES]; // 1 or 0
    float mass_a[LANES], mass_b[LANES];
} raw_points;

static void put_root(psvi_block_root *block, uint32_t lane, bool turns, const psvi_root *root) {
    const float values[6] = {root->xx, root->yx, root->yy, root->zx, root->zy, root->zz};
    for (int k = 0; k < 6; ++k)
        block->root[k][lane] = turns ? values[k] : 0;
}

static void fill_lane(const psvi_sim *s, const psvi_step *step, const psvi_root *roots, psvi_manifold_block *block,
                      uint32_t lane, const psvi_contact *c, raw_points *raw) {
    const psvi_point *p = &s->points[c->first];
    const psvi_soft_limits limits = psvi_limits_of(step, c->size);
    const uint8_t bit = (uint8_t)(1u << lane);
    const psvi_linear *a = &s->linear[c->a], *b = &s->linear[c->b];
    block->a[lane] = c->a;
    block->b[lane] = c->b;
    block->first[lane] = c->first;
    block->point_count[lane] = c->count;
    block->deep[lane] = limits.deep;
    block->push_speed[lane] = limits.push_speed;
    block->friction[lane] = c->friction;
    for (int k = 0; k < 3; ++k)
        block->normal[k][lane] = p->normal[k];
    raw->mass_a[lane] = a->velocity.w;
    raw->mass_b[lane] = b->velocity.w;
    if (a->velocity.w > 0) block->moves_a |= bit;
    if (b->velocity.w > 0) block->moves_b |= bit;
    if (a->moved.w != 0) block->turns_a |= bit;
    if (b->moved.w != 0) block->turns_b |= bit;
    put_root(&block->root_a, lane, a->moved.w != 0, &roots[c->a]);
    put_root(&block->root_b, lane, b->moved.w != 0, &roots[c->b]);
    if (c->count > block->points) block->points = c->count;
    for (uint32_t i = 0; i < c->count; ++i, ++p) {
        for (int k = 0; k < 3; ++k) {
            raw->arm_a[i][k][lane] = p->arm_a[k];
            raw->arm_b[i][k][lane] = p->arm_b[k];
        }
        raw->slide[i][0][lane] = p->impulse.y;
        raw->slide[i][1][lane] = p->impulse.z;
        raw->used[i][lane] = 1;
        block->point[i].separation[lane] = block->point[i].separation_now[lane] = p->separation;
        block->point[i].impulse[lane] = p->impulse.x;
        block->feature[i][lane] = p->feature;
    }
}

PSVI_INLINE void make_row(const psvi_manifold_block *block, psvi_block_row *row, w3 turn_a, w3 turn_b) {
    w3_store(row->a, root_mul_transposed(&block->root_a, turn_a));
    w3_store(row->b, root_mul_transposed(&block->root_b, turn_b));
}

PSVI_INLINE f8 row_response(const psvi_block_row *row) {
    w3 a = w3_load(row->a), b = w3_load(row->b);
    return w3_dot(a, a) + w3_dot(b, b);
}

PSVI_INLINE f8 inverse_or_0(f8 a) { return both(a > same(0), same(1) / a); }

PSVI_INLINE void invert_diagonal(psvi_block_root *r) {
    store(r->inverse[0], inverse_or_0(load(r->root[0])));
    store(r->inverse[1], inverse_or_0(load(r->root[2])));
    store(r->inverse[2], inverse_or_0(load(r->root[5])));
}

// Rows of friction, and its impulses from those of the points.
PSVI_INLINE void make_slide(psvi_manifold_block *block, const raw_points *raw, w3 n, f8 inverse_mass) {
    w3 t1, t2, none = {same(0), same(0), same(0)}, middle_a = none, middle_b = none;
    w3_tangents(n, &t1, &t2);
    f8 count = same(0), x = same(0), y = same(0), z = same(0), distance = same(0);
    for (uint32_t k = 0; k < block->points; ++k) {
        count += load(raw->used[k]);
        middle_a = w3_add(middle_a, w3_load(raw->arm_a[k]));
        middle_b = w3_add(middle_b, w3_load(raw->arm_b[k]));
        x += load(raw->slide[k][0]);
        y += load(raw->slide[k][1]);
    }
    middle_a = w3_scale(middle_a, same(1) / count);
    middle_b = w3_scale(middle_b, same(1) / count);
    i8 from_b = mask_of(block->moves_b); // the arm of what stands still may be huge, or 0
    for (uint32_t k = 0; k < block->points; ++k) {
        w3 out_a = w3_sub(w3_load(raw->arm_a[k]), middle_a), out_b = w3_sub(w3_load(raw->arm_b[k]), middle_b);
        f8 used = load(raw->used[k]);
        f8 along = choose(from_b, w3_dot(out_b, t1), w3_dot(out_a, t1)) * used;
        f8 across = choose(from_b, w3_dot(out_b, t2), w3_dot(out_a, t2)) * used;
        store(block->place[k][0], along);
        store(block->place[k][1], across);
        distance += square_root(along * along + across * across);
        z += along * load(raw->slide[k][1]) - across * load(raw->slide[k][0]);
    }
    make_row(block, &block->slide[0], w3_cross(middle_a, t1), w3_cross(middle_b, t1));
    make_row(block, &block->slide[1], w3_cross(middle_a, t2), w3_cross(middle_b, t2));
    make_row(block, &block->slide[2], n, n);
    // One mass for both tangents: see solve_sliding.
    f8 most = larger(row_response(&block->slide[0]), row_response(&block->slide[1]));
    f8 lever = distance / count;
    i8 wide = lever > same(1e-6f);
    f8 mass = inverse_or_0(inverse_mass + most), twist_mass = inverse_or_0(row_response(&block->slide[2]));
    f8 squared = lever * lever, slip = choose(wide, smaller(mass, twist_mass / squared), mass);
    store(block->slide_mass, mass);
    store(block->twist_mass, both(wide, twist_mass));
    store(block->slip_mass[0], slip);
    store(block->slip_mass[1], both(wide, slip * squared));
    store(block->per_lever, both(wide, same(1) / lever));
    store(block->sliding[0], x);
    store(block->sliding[1], y);
    store(block->sliding[2], both(wide, z));
}

PSVI_INLINE void make_rows(psvi_manifold_block *block, const raw_points *raw) {
    w3 n = w3_load(block->normal);
    f8 inverse_mass = load(raw->mass_a) + load(raw->mass_b);
    invert_diagonal(&block->root_a);
    invert_diagonal(&block->root_b);
    for (uint32_t k = 0; k < block->points; ++k) {
        psvi_block_point *p = &block->point[k];
        make_row(block, &p->row, w3_cross(w3_load(raw->arm_a[k]), n), w3_cross(w3_load(raw->arm_b[k]), n));
        store(p->mass, inverse_or_0(inverse_mass + row_response(&p->row)) * load(raw->used[k]));
    }
    make_slide(block, raw, n, inverse_mass);
}

// Asks for the contacts of the list from `first` on, or for their points, before they are needed: they lie anywhere.
static void ask_for_contacts(const psvi_sim *s, const uint32_t *list, uint64_t first, bool points) {
    for (uint64_t i = first; i < first + LANES && i < s->counts->contacts; ++i) {
        const psvi_contact *c = &s->contacts[list[i]];
        if (points)
            for (uint32_t k = 0; k < c->count; ++k)
                __builtin_prefetch(&s->points[c->first + k]);
        else
            __builtin_prefetch(c);
    }
}

PSVI_CLONES void psvi_fill_manifolds(const psvi_sim *s, const psvi_step *step, const psvi_root *roots,
                                     const uint32_t *list, psvi_manifold_block *block) {
    raw_points raw;
    ask_for_contacts(s, list, (uint64_t)block->start + 2 * LANES, false);
    ask_for_contacts(s, list, (uint64_t)block->start + LANES, true);
    memset(&raw, 0, sizeof raw);
    for (uint32_t k = 0; k < PSVI_BLOCK_POINTS; ++k)
        for (uint32_t lane = 0; lane < LANES; ++lane)
            block->point[k].separation[lane] = block->point[k].separation_now[lane] = block->point[k].impulse[lane] = 0;
    block->points = 0;
    block->moves_a = block->moves_b = block->turns_a = block->turns_b = 0;
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        const psvi_contact *c = &s->contacts[list[block->start + (lane < block->count ? lane : 0)]];
        fill_lane(s, step, roots, block, lane, c, &raw);
    }
    make_rows(block, &raw);
    const uint8_t lanes = (uint8_t)((1u << block->count) - 1);
    block->moves_a &= lanes;
    block->moves_b &= lanes;
}

void psvi_keep_manifolds(const psvi_sim *s, const psvi_manifold_block *block) {
    for (uint32_t lane = 0; lane < block->count; ++lane) {
        const uint32_t count = block->point_count[lane];
        float squared = 0, share = 1.0f / (float)count;
        for (uint32_t k = 0; k < count; ++k) {
            float x = block->place[k][0][lane], y = block->place[k][1][lane];
            squared += x * x + y * y;
        }
        float twist = squared > 0 ? block->sliding[2][lane] / squared : 0.0f;
        for (uint32_t k = 0; k < count; ++k) {
            psvi_kept_point *kept = &s->kept_points[block->first[lane] + k];
            kept->feature = block->feature[k][lane];
            kept->impulse[0] = block->point[k].impulse[lane];
            kept->impulse[1] = block->sliding[0][lane] * share - twist * block->place[k][1][lane];
            kept->impulse[2] = block->sliding[1][lane] * share + twist * block->place[k][0][lane];
        }
        psvi_contact c = {.a = block->a[lane],
                          .b = block->b[lane],
                          .first = block->first[lane],
                          .count = (uint16_t)count,
                          .colour = block->colour};
        psvi_keep_key(s, &c);
    }
}
