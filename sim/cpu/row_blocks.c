// The contact solver on eight contacts at a time: contact_pass.h over vectors.
#include "row_blocks.h"

#include "../contacts/contact_kept.h"
#include "../solver/contact_roll.h"
#include "lanes.h"

#include <stddef.h>

#define AHEAD 2 // blocks whose bodies are asked for before they are needed: they lie anywhere

// --- where contact_pass.h finds its numbers --------------------------------------------------------------------------

#include "../solver/contact_row.h"

typedef psvi_row_block *row_at;
typedef psvi_point_rows *row_point;

typedef struct row_rub {
    psvi_rub_rows *rows;
    const float (*normal)[LANES];
    bool whole;
} row_rub;

PSVI_INLINE row_spins load_spins(const float p[6][LANES]) { return (row_spins){lane3_load(p), lane3_load(p + 3)}; }
PSVI_INLINE void store_spins(float p[6][LANES], row_spins r) {
    lane3_store(p, r.a);
    lane3_store(p + 3, r.b);
}

PSVI_INLINE bool at_any(row_at c, lane_mask mask) {
    (void)c;
    return lane_any(mask);
}
PSVI_INLINE bool at_left(row_at c, uint32_t left) {
    (void)c;
    return left != 0;
}
PSVI_INLINE lane_mask at_acts(row_at c, uint32_t left) {
    (void)c;
    (void)left;
    return lane_of(0) < lane_of(1);
}
PSVI_INLINE row_point at_point(row_at c, uint32_t k) { return c->point + k; }
PSVI_INLINE lane3 at_normal(row_at c, uint32_t k) { return lane3_load(c->point[k].normal); }
PSVI_INLINE lane at_impulse(row_at c, uint32_t k) { return load(c->point[k].impulse); }
PSVI_INLINE row_spins point_spins(row_point p) { return load_spins(p->spins); }
PSVI_INLINE lane point_mass(row_point p) { return load(p->mass); }
PSVI_INLINE lane point_separation(row_point p) { return load(p->separation); }
PSVI_INLINE lane point_impulse(row_point p) { return load(p->impulse); }
PSVI_INLINE void at_put_point(row_at c, uint32_t k, const row_point *p, lane impulse, lane separation, bool fresh) {
    (void)c;
    (void)k;
    store((*p)->impulse, impulse);
    if (fresh) store((*p)->separation, separation);
}

// The friction of point k of a contact whose points rub alone, or of a whole contact.
PSVI_INLINE psvi_rub_rows *rub_rows(const psvi_row_block *c, uint32_t k) {
    return (psvi_rub_rows *)(void *)((char *)c->rub + k * offsetof(psvi_rub_rows, about));
}

PSVI_INLINE lane_mask rub_moves(const psvi_rub_rows *r, bool whole) {
    const lane zero = lane_of(0);
    lane_mask moves = (load(r->impulse[0]) != zero) | (load(r->impulse[1]) != zero);
    if (whole) moves |= load(r->impulse[2]) != zero;
    return moves;
}

PSVI_INLINE uint32_t at_rubbing(row_at c, uint32_t count, bool whole) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const lane_mask presses = load(c->point[k].impulse) > lane_of(0);
        const uint32_t patch = whole ? 0 : k;
        if (lane_any(presses | rub_moves(rub_rows(c, patch), whole))) bits |= 1u << patch;
    }
    return bits;
}

PSVI_INLINE row_rub at_rub(row_at c, uint32_t k, bool whole) {
    return (row_rub){rub_rows(c, whole ? 0 : k), c->point[whole ? 0 : k].normal, whole};
}
PSVI_INLINE lane3 rub_normal(const row_rub *r) { return lane3_load(r->normal); }
PSVI_INLINE row_spins rub_t1(const row_rub *r) { return load_spins(r->rows->t1); }
PSVI_INLINE row_spins rub_t2(const row_rub *r) { return load_spins(r->rows->t2); }
PSVI_INLINE row_spins rub_about(const row_rub *r) { return load_spins(r->rows->about); }
PSVI_INLINE lane3 rub_impulse(const row_rub *r) {
    lane3 impulse = {load(r->rows->impulse[0]), load(r->rows->impulse[1]), lane_of(0)};
    if (r->whole) impulse.z = load(r->rows->impulse[2]);
    return impulse;
}
PSVI_INLINE void at_put_rub(row_at c, uint32_t k, const row_rub *r, lane3 impulse, bool whole) {
    (void)c;
    (void)k;
    store(r->rows->impulse[0], impulse.x);
    store(r->rows->impulse[1], impulse.y);
    if (whole) store(r->rows->impulse[2], impulse.z);
}
PSVI_INLINE row_grip rub_grip(const row_rub *r) {
    if (!r->whole) return row_point_grip(load(r->rows->hold));
    return (row_grip){load(r->rows->hold), load(r->rows->hold_twist), load(r->rows->slip), load(r->rows->slip_twist),
                      load(r->rows->per_lever)};
}
PSVI_INLINE lane at_hit(row_at c, uint32_t k) { return load(c->point[k].hit); }
PSVI_INLINE void at_put_hit(row_at c, uint32_t k, lane hit) { store(c->point[k].hit, hit); }
PSVI_INLINE lane at_pending(row_at c) { return load(c->pending); }
PSVI_INLINE void at_put_pending(row_at c, lane pending) { store(c->pending, pending); }

#include "../solver/contact_pass.h"

// --- bodies of a block -----------------------------------------------------------------------------------------------

typedef struct body_marks {
    lane a, b; // psvi_motion.angular.w
} body_marks;

PSVI_INLINE void gather_motion(const psvi_motion *from, const psvi_row_block *c, bool turning, row_pair *t,
                               body_marks *marks) {
    gather(&from->linear, sizeof *from, c->a, &t->va, &t->ma);
    gather(&from->linear, sizeof *from, c->b, &t->vb, &t->mb);
    t->wa = t->wb = lane3_make(lane_of(0), lane_of(0), lane_of(0));
    if (!turning) return;
    gather(&from->angular, sizeof *from, c->a, &t->wa, &marks->a);
    gather(&from->angular, sizeof *from, c->b, &t->wb, &marks->b);
}

PSVI_INLINE void scatter_motion(psvi_motion *to, const psvi_row_block *c, bool turning, const row_pair *t,
                                const body_marks *marks) {
    scatter(&to->linear, sizeof *to, c->a, c->moves_a, t->va, t->ma);
    scatter(&to->linear, sizeof *to, c->b, c->moves_b, t->vb, t->mb);
    if (!turning) return;
    scatter(&to->angular, sizeof *to, c->a, c->moves_a, t->wa, marks->a);
    scatter(&to->angular, sizeof *to, c->b, c->moves_b, t->wb, marks->b);
}

// How the bodies have moved in the substep; without masses.
PSVI_INLINE void gather_moved(const psvi_movers *v, const psvi_row_block *c, bool turning, row_pair *moved) {
    lane unused;
    gather(v->moved, sizeof *v->moved, c->a, &moved->va, &unused);
    gather(v->moved, sizeof *v->moved, c->b, &moved->vb, &unused);
    if (!turning) return;
    gather(v->turned, sizeof *v->turned, c->a, &moved->wa, &unused);
    gather(v->turned, sizeof *v->turned, c->b, &moved->wb, &unused);
}

PSVI_INLINE lane3 lane3_change(lane3 a, lane3 now, lane3 before) { return lane3_add(a, lane3_sub(now, before)); }

PSVI_INLINE void add_change(row_pair *t, const row_pair *now, const row_pair *before) {
    t->va = lane3_change(t->va, now->va, before->va);
    t->vb = lane3_change(t->vb, now->vb, before->vb);
    t->wa = lane3_change(t->wa, now->wa, before->wa);
    t->wb = lane3_change(t->wb, now->wb, before->wb);
}

// --- hits ------------------------------------------------------------------------------------------------------------

PSVI_INLINE row_ball load_ball(const psvi_row_block *c, const psvi_step *step, const body_marks *marks, bool turning) {
    const psvi_ball_rows *r = c->ball;
    const lane zero = lane_of(0);
    row_ball ball = {.n = lane3_load(c->normal),
                     .separation = load(r->separation),
                     .friction = load(c->friction),
                     .mass = load(r->mass),
                     .hold = load(r->hold),
                     .push_speed = lane_of(step->push_speed),
                     .arm_a = zero,
                     .arm_b = zero,
                     .impulse = lane3_load(r->impulse)};
    if (turning) {
        ball.arm_a = marks->a * load(r->arm_a);
        ball.arm_b = marks->b * load(r->arm_b);
    }
    return ball;
}

PSVI_INLINE void begin_hand(const psvi_movers *v, const psvi_step *step, psvi_row_block *c, psvi_pass pass, row_hand *h,
                            row_pair *moved, body_marks *marks) {
    h->at = c;
    h->count = c->points;
    h->friction = load(c->friction);
    h->moved = NULL;
    h->uneven = psvi_is_uneven_kind(c->kind);
    h->restitution = load(c->restitution);
    h->later = h->restitution > lane_of(0);
    gather_motion(v->motion, c, true, &h->t, marks);
    h->springs = row_springs_of(step, mask_of(c->moves_a & c->moves_b), load(c->deep), load(c->push_speed));
    if (pass != PSVI_PASS_RELAX) return;
    gather_moved(v, c, true, moved);
    h->moved = moved;
}

// What hits have changed goes to the bodies, and to what impulses are told from that are applied again: hits are not.
PSVI_INLINE void put_hits(const psvi_movers *v, const psvi_row_block *c, bool keep, const row_pair *now,
                          const row_pair *before) {
    psvi_motion *const records[2] = {v->motion, v->pushed};
    for (int k = 0; k < (keep ? 2 : 1); ++k) {
        row_pair t;
        body_marks marks;
        gather_motion(records[k], c, true, &t, &marks);
        add_change(&t, now, before);
        scatter_motion(records[k], c, true, &t, &marks);
    }
}

// The hits of a block, before the pass itself. They act on the velocities that last beyond the pass: where no forces
// act and the move is still to come, those from before it.
PSVI_INLINE void hit_block(const psvi_movers *v, const psvi_step *step, psvi_row_block *c, psvi_pass pass) {
    const bool after = pass != PSVI_PASS_SOLVE;
    row_pair moved, before;
    body_marks marks;
    row_hand h;
    begin_hand(v, step, c, pass, &h, &moved, &marks);
    if (!step->loads && !after) gather_motion(v->pushed, c, true, &h.t, &marks);
    before = h.t;
    lane_mask hits;
    if (c->kind == PSVI_KIND_BALLS) { // one point: it has parted when it could hit again
        row_ball ball = load_ball(c, step, &marks, true);
        row_bounce bounce = {h.restitution, load(c->pending), load(c->ball->hit)};
        if (h.moved != NULL) ball.separation += row_linear_speed(h.moved, ball.n);
        hits = ball_hits(&h.t, &ball, &bounce, step, after, true, false, load(c->ball->arm_a), load(c->ball->arm_b));
        store(c->pending, bounce.pending);
        store(c->ball->hit, bounce.hit);
    } else {
        hits = hand_all_hits(&h, &h.t, step, after);
    }
    if (lane_any(hits)) put_hits(v, c, step->loads || !after, &h.t, &before);
}

PSVI_CLONES void psvi_hit_row_block(const psvi_movers *v, const psvi_step *step, psvi_row_block *block,
                                    psvi_pass pass) {
    hit_block(v, step, block, pass);
}

// --- a pass over a block ---------------------------------------------------------------------------------------------

PSVI_INLINE lane pressing_of(const psvi_row_block *c, bool balls) {
    if (balls) return load(c->ball->impulse[0]);
    lane sum = load(c->point[0].impulse);
    for (uint32_t k = 1; k < c->points; ++k)
        sum += load(c->point[k].impulse);
    return sum;
}

// Rolling friction, after all else of the pass.
PSVI_INLINE void solve_roll(psvi_row_block *c, row_pair *t, psvi_pass pass, bool balls) {
    psvi_roll_rows *r = c->roll;
    const row_roll roll = {load_spins(r->t1),   load_spins(r->t2), load_spins(r->about), load(r->mass),
                           load(r->about_mass), load(r->rolling),  load(r->spinning)};
    const lane3 was = lane3_load(r->impulse);
    if (pass == PSVI_PASS_WARM) {
        row_turn(t, roll.t1, was.x);
        row_turn(t, roll.t2, was.y);
        row_turn(t, roll.about, was.z);
        return;
    }
    lane3_store(r->impulse, row_solve_roll(t, &roll, was, pressing_of(c, balls)));
}

PSVI_INLINE void solve_balls(const psvi_movers *v, const psvi_step *step, psvi_row_block *c, psvi_pass pass,
                             bool turning, bool loads) {
    row_hand h;
    row_pair moved;
    body_marks marks = {lane_of(0), lane_of(0)};
    if (c->bounces && pass != PSVI_PASS_WARM) psvi_hit_row_block(v, step, c, pass);
    gather_motion(v->motion, c, turning, &h.t, &marks);
    row_ball ball = load_ball(c, step, &marks, turning);
    if (pass == PSVI_PASS_RELAX) {
        gather_moved(v, c, false, &moved);
        ball.separation += row_linear_speed(&moved, ball.n);
        store(c->ball->separation, ball.separation);
    }
    ball_pass(&h.t, &ball, step, pass, loads, turning, c->bounces, load(c->restitution) > lane_of(0));
    if (pass != PSVI_PASS_WARM) lane3_store(c->ball->impulse, ball.impulse);
    if (c->rolls) solve_roll(c, &h.t, pass, true);
    scatter_motion(v->motion, c, turning, &h.t, &marks);
}

// A block, or with `two` the one behind it too.
PSVI_INLINE void solve_hands(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *c, psvi_pass pass,
                             bool two, bool loads, bool whole) {
    row_hand h, g;
    row_pair moved[2];
    body_marks marks[2];
    const bool bounces = !whole && c[0]->bounces;
    if (bounces && pass != PSVI_PASS_WARM) psvi_hit_row_block(v, step, c[0], pass);
    begin_hand(v, step, c[0], pass, &h, &moved[0], &marks[0]);
    if (two) begin_hand(v, step, c[1], pass, &g, &moved[1], &marks[1]);
    hand_pass(&h, &g, two, step, pass, loads, whole, bounces);
    if (c[0]->rolls) solve_roll(c[0], &h.t, pass, false);
    if (two && c[1]->rolls) solve_roll(c[1], &g.t, pass, false);
    scatter_motion(v->motion, c[0], true, &h.t, &marks[0]);
    if (two) scatter_motion(v->motion, c[1], true, &g.t, &marks[1]);
}

// Asks for the bodies of a later block before they are needed: they lie anywhere.
PSVI_INLINE void ask_ahead(const psvi_movers *v, const psvi_row_block *c) {
    for (uint32_t k = 0; k < LANES; ++k) {
        __builtin_prefetch(&v->motion[c->a[k]], 1);
        __builtin_prefetch(&v->motion[c->b[k]], 1);
    }
}

PSVI_INLINE void run_balls(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *blocks, uint64_t count,
                           psvi_pass pass, bool loads) {
    for (uint64_t i = 0; i < count; ++i) {
        if (i + AHEAD < count) ask_ahead(v, blocks[i + AHEAD]);
        if (blocks[i]->turns || !loads)
            solve_balls(v, step, blocks[i], pass, true, loads);
        else
            solve_balls(v, step, blocks[i], pass, false, loads);
    }
}

PSVI_INLINE void run_whole(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *blocks, uint64_t count,
                           psvi_pass pass) {
    for (uint64_t i = 0; i < count; i += 2) {
        for (uint64_t k = i + AHEAD; k < i + 2 * AHEAD && k < count; ++k)
            ask_ahead(v, blocks[k]);
        if (i + 1 < count)
            solve_hands(v, step, &blocks[i], pass, true, true, true);
        else
            solve_hands(v, step, &blocks[i], pass, false, true, true);
    }
}

PSVI_INLINE void run_points(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *blocks, uint64_t count,
                            psvi_pass pass) {
    for (uint64_t i = 0; i < count; ++i) {
        if (i + AHEAD < count) ask_ahead(v, blocks[i + AHEAD]);
        solve_hands(v, step, &blocks[i], pass, false, step->loads, false);
    }
}

// Each pass has its own code, and that of balls once more where no forces act.
PSVI_INLINE void run_kind(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *blocks, uint64_t count,
                          psvi_pass pass) {
    if (psvi_is_whole_kind(blocks[0]->kind)) {
        if (pass != PSVI_PASS_AGAIN) run_whole(v, step, blocks, count, pass); // under forces
    } else if (blocks[0]->kind != PSVI_KIND_BALLS) {
        run_points(v, step, blocks, count, pass);
    } else if (step->loads) {
        if (pass != PSVI_PASS_AGAIN) run_balls(v, step, blocks, count, pass, true);
    } else {
        run_balls(v, step, blocks, count, pass, false);
    }
}

PSVI_CLONES void psvi_solve_row_blocks(const psvi_movers *v, const psvi_step *step, psvi_row_block *const *blocks,
                                       uint64_t count, psvi_pass pass) {
    if (count == 0) return;
    switch (pass) {
    case PSVI_PASS_WARM: run_kind(v, step, blocks, count, PSVI_PASS_WARM); break;
    case PSVI_PASS_SOLVE: run_kind(v, step, blocks, count, PSVI_PASS_SOLVE); break;
    case PSVI_PASS_RELAX: run_kind(v, step, blocks, count, PSVI_PASS_RELAX); break;
    case PSVI_PASS_AGAIN: run_kind(v, step, blocks, count, PSVI_PASS_AGAIN); break;
    }
}

// --- from contacts ---------------------------------------------------------------------------------------------------

static uint64_t rows_bytes(psvi_contact_kind kind, uint32_t points, uint64_t *rub_at) {
    *rub_at = points * sizeof(psvi_point_rows);
    if (kind == PSVI_KIND_BALLS) return sizeof(psvi_ball_rows);
    return *rub_at + (psvi_is_whole_kind(kind) ? sizeof(psvi_rub_rows) : points * offsetof(psvi_rub_rows, about));
}

uint64_t psvi_row_block_bytes(psvi_contact_kind kind, uint32_t points, bool rolls) {
    uint64_t unused;
    const uint64_t bytes = sizeof(psvi_row_block) + rows_bytes(kind, points, &unused);
    return (bytes + (rolls ? sizeof(psvi_roll_rows) : 0) + 63) & ~(uint64_t)63;
}

psvi_row_block *psvi_begin_row_block(void *memory, psvi_contact_kind kind, uint32_t points, bool rolls) {
    psvi_row_block *block = memory;
    char *rows = (char *)memory + sizeof *block;
    uint64_t rub_at;
    const uint64_t bytes = rows_bytes(kind, points, &rub_at);
    block->kind = (uint8_t)kind;
    block->points = (uint8_t)points;
    block->ball = (psvi_ball_rows *)(void *)rows;
    block->point = (psvi_point_rows *)(void *)rows;
    block->rub = (psvi_rub_rows *)(void *)(rows + rub_at);
    block->roll = rolls ? (psvi_roll_rows *)(void *)(rows + bytes) : NULL;
    return block;
}

// What is copied lane by lane before it is worked on in vectors.
typedef struct raw_lanes {
    float arm_a[PSVI_MAX_POINTS][3][LANES], arm_b[PSVI_MAX_POINTS][3][LANES];
    float slide[PSVI_MAX_POINTS][2][LANES];
    float used[PSVI_MAX_POINTS][LANES]; // 1 or 0
    float mass_a[LANES], mass_b[LANES];
    float root_a[6][LANES], root_b[6][LANES];
} raw_lanes;

static void put_root(float target[6][LANES], uint32_t lane_number, const psvi_root *root) {
    const float values[6] = {root->xx, root->yx, root->yy, root->zx, root->zy, root->zz};
    for (int k = 0; k < 6; ++k)
        target[k][lane_number] = values[k];
}

PSVI_INLINE row_root load_root(const float p[6][LANES]) {
    return (row_root){load(p[0]), load(p[1]), load(p[2]), load(p[3]), load(p[4]), load(p[5])};
}

// What all kinds have, of one lane.
static void fill_head(const psvi_step *step, const psvi_movers *v, psvi_row_block *block, uint32_t at,
                      const psvi_contact *c, bool used) {
    const float mass_a = v->motion[c->a].linear.w, mass_b = v->motion[c->b].linear.w;
    const uint8_t bit = (uint8_t)(used ? 1u << at : 0);
    block->a[at] = c->a;
    block->b[at] = c->b;
    block->first[at] = c->first;
    block->point_count[at] = (uint8_t)c->count;
    block->friction[at] = c->friction;
    block->restitution[at] = step->bounces ? c->restitution : 0;
    block->pending[at] = 0;
    block->deep[at] = PSVI_DEEP * c->size;
    block->push_speed[at] = step->push_speed * sqrtf(2.0f * c->size);
    if (mass_a > 0) block->moves_a |= bit;
    if (mass_b > 0) block->moves_b |= bit;
    block->turns |= v->motion[c->a].angular.w != 0 || v->motion[c->b].angular.w != 0;
    block->bounces |= block->restitution[at] > 0;
}

static void fill_ball(psvi_row_block *block, uint32_t at, const psvi_point *p) {
    psvi_ball_rows *ball = block->ball;
    for (int k = 0; k < 3; ++k)
        block->normal[k][at] = p->normal[k];
    ball->arm_a[at] = v3_dot(v3_of(p->arm_a), v3_of(p->normal));
    ball->arm_b[at] = -v3_dot(v3_of(p->arm_b), v3_of(p->normal));
    ball->separation[at] = p->separation;
    ball->impulse[0][at] = p->impulse.x;
    ball->impulse[1][at] = p->impulse.y;
    ball->impulse[2][at] = p->impulse.z;
    ball->hit[at] = 0;
}

static void fill_points(psvi_row_block *block, uint32_t at, const psvi_contact *c, const psvi_point *p,
                        raw_lanes *raw) {
    for (uint32_t i = 0; i < c->count; ++i, ++p) {
        psvi_point_rows *rows = &block->point[i];
        for (int k = 0; k < 3; ++k) {
            rows->normal[k][at] = p->normal[k];
            raw->arm_a[i][k][at] = p->arm_a[k];
            raw->arm_b[i][k][at] = p->arm_b[k];
        }
        raw->slide[i][0][at] = p->impulse.y;
        raw->slide[i][1][at] = p->impulse.z;
        raw->used[i][at] = 1;
        rows->separation[at] = p->separation;
        rows->impulse[at] = p->impulse.x;
    }
}

PSVI_INLINE void make_slide(psvi_row_block *block, const raw_lanes *raw, row_root a, row_root b, lane inverse_mass) {
    psvi_rub_rows *rub = block->rub;
    row_patch patch;
    row_slide slide;
    for (uint32_t k = 0; k < block->points; ++k) {
        patch.arm_a[k] = lane3_load(raw->arm_a[k]);
        patch.arm_b[k] = lane3_load(raw->arm_b[k]);
        patch.impulse[k] = (lane3){load(raw->slide[k][0]), load(raw->slide[k][1]), lane_of(0)};
        patch.separation[k] = load(block->point[k].separation);
        patch.used[k] = load(raw->used[k]);
    }
    row_leave_near(&patch, block->points, load(block->deep) * lane_of(2));
    row_make_slide(&slide, &patch, block->points, a, b, lane3_load(block->point[0].normal), inverse_mass,
                   load(raw->mass_b) > lane_of(0));
    store_spins(rub->t1, slide.t1);
    store_spins(rub->t2, slide.t2);
    store_spins(rub->about, slide.about);
    store(rub->hold, slide.grip.hold);
    store(rub->hold_twist, slide.grip.hold_twist);
    store(rub->slip, slide.grip.slip);
    store(rub->slip_twist, slide.grip.slip_twist);
    store(rub->per_lever, slide.grip.per_lever);
    lane3_store(rub->impulse, slide.impulse);
    for (uint32_t k = 0; k < block->points; ++k) {
        store(rub->x[k], slide.x[k]);
        store(rub->y[k], slide.y[k]);
    }
}

PSVI_INLINE void make_rows(psvi_row_block *block, const raw_lanes *raw) {
    const row_root a = load_root(raw->root_a), b = load_root(raw->root_b);
    const lane inverse_mass = load(raw->mass_a) + load(raw->mass_b);
    for (uint32_t k = 0; k < block->points; ++k) {
        psvi_point_rows *p = &block->point[k];
        const lane3 n = lane3_load(p->normal), arm_a = lane3_load(raw->arm_a[k]), arm_b = lane3_load(raw->arm_b[k]);
        const row_spins along = row_at_arms(a, b, arm_a, arm_b, n);
        store_spins(p->spins, along);
        store(p->mass, row_mass(inverse_mass, along) * load(raw->used[k]));
        if (psvi_is_whole_kind(block->kind)) continue;
        psvi_rub_rows *rub = rub_rows(block, k);
        lane3 t1, t2;
        lane3_tangents(n, &t1, &t2);
        const row_spins s1 = row_at_arms(a, b, arm_a, arm_b, t1), s2 = row_at_arms(a, b, arm_a, arm_b, t2);
        store_spins(rub->t1, s1);
        store_spins(rub->t2, s2);
        store(rub->hold, row_tangent_mass(inverse_mass, s1, s2) * load(raw->used[k]));
        store(rub->impulse[0], load(raw->slide[k][0]));
        store(rub->impulse[1], load(raw->slide[k][1]));
        store(rub->impulse[2], lane_of(0));
    }
    if (psvi_is_whole_kind(block->kind)) make_slide(block, raw, a, b, inverse_mass);
}

PSVI_INLINE void make_balls(psvi_row_block *block, const raw_lanes *raw) {
    psvi_ball_rows *ball = block->ball;
    const lane inverse_mass = load(raw->mass_a) + load(raw->mass_b);
    const lane a = load(raw->root_a[0]) * load(ball->arm_a), b = load(raw->root_b[0]) * load(ball->arm_b);
    store(ball->mass, lane_inverse(inverse_mass));
    store(ball->hold, lane_inverse(inverse_mass + (a * a + b * b)));
}

static void fill_roll(const psvi_sim *s, const psvi_step *step, psvi_row_block *block, uint32_t at,
                      const psvi_contact *c) {
    const psvi_point *p = &s->points[c->first];
    const psvi_roll roll = psvi_start_roll(s, step, c, p->normal);
    for (int k = 0; k < 3; ++k)
        block->roll->normal[k][at] = p->normal[k];
    block->roll->rolling[at] = roll.impulse.w;
    block->roll->spinning[at] = roll.normal.w;
    block->roll->impulse[0][at] = roll.impulse.x;
    block->roll->impulse[1][at] = roll.impulse.y;
    block->roll->impulse[2][at] = roll.impulse.z;
    block->rolls |= step->rolls && (roll.impulse.w > 0 || roll.normal.w > 0);
}

PSVI_INLINE void make_rolls(psvi_row_block *block, const raw_lanes *raw) {
    psvi_roll_rows *r = block->roll;
    row_roll roll;
    row_make_roll(&roll, load_root(raw->root_a), load_root(raw->root_b), lane3_load(r->normal));
    store_spins(r->t1, roll.t1);
    store_spins(r->t2, roll.t2);
    store_spins(r->about, roll.about);
    store(r->mass, roll.mass);
    store(r->about_mass, roll.about_mass);
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

PSVI_CLONES void psvi_fill_row_block(const psvi_sim *s, const psvi_step *step, const psvi_movers *v,
                                     const psvi_root *roots, const uint32_t *list, psvi_row_block *block) {
    raw_lanes raw;
    const bool balls = block->kind == PSVI_KIND_BALLS;
    ask_for_contacts(s, list, (uint64_t)block->start + 2 * LANES, false);
    ask_for_contacts(s, list, (uint64_t)block->start + LANES, true);
    if (!balls) { // points that a lane does not have
        memset(block->point, 0, block->points * sizeof *block->point);
        memset(raw.arm_a, 0, block->points * sizeof raw.arm_a[0]);
        memset(raw.arm_b, 0, block->points * sizeof raw.arm_b[0]);
        memset(raw.slide, 0, block->points * sizeof raw.slide[0]);
        memset(raw.used, 0, block->points * sizeof raw.used[0]);
    }
    block->moves_a = block->moves_b = 0;
    block->turns = block->bounces = block->rolls = false;
    for (uint32_t at = 0; at < LANES; ++at) {
        const psvi_contact *c = &s->contacts[list[block->start + (at < block->count ? at : 0)]];
        fill_head(step, v, block, at, c, at < block->count);
        if (balls)
            fill_ball(block, at, &s->points[c->first]);
        else
            fill_points(block, at, c, &s->points[c->first], &raw);
        raw.mass_a[at] = v->motion[c->a].linear.w;
        raw.mass_b[at] = v->motion[c->b].linear.w;
        put_root(raw.root_a, at, &roots[c->a]);
        put_root(raw.root_b, at, &roots[c->b]);
        if (block->roll != NULL) fill_roll(s, step, block, at, c);
    }
    if (balls)
        make_balls(block, &raw);
    else
        make_rows(block, &raw);
    if (block->rolls) make_rolls(block, &raw);
}

// --- and back to them ------------------------------------------------------------------------------------------------

static void keep_rolls(const psvi_sim *s, const psvi_row_block *block, uint32_t at) {
    const psvi_roll_rows *r = block->roll;
    s->kept_rolls[block->first[at]] = psvi_keep_roll(v3_make(r->normal[0][at], r->normal[1][at], r->normal[2][at]),
                                                     v3_make(r->impulse[0][at], r->impulse[1][at], r->impulse[2][at]));
}

static void keep_lane(const psvi_sim *s, const psvi_row_block *block, uint32_t at) {
    const uint32_t count = block->point_count[at];
    const bool whole = psvi_is_whole_kind(block->kind);
    psvi_kept_point *kept = &s->kept_points[block->first[at]];
    const psvi_point *p = &s->points[block->first[at]];
    if (block->kind == PSVI_KIND_BALLS) {
        kept->feature = p->feature;
        for (int k = 0; k < 3; ++k)
            kept->impulse[k] = block->ball->impulse[k][at];
        return;
    }
    float squared = 0;
    for (uint32_t k = 0; k < count && whole; ++k)
        squared += block->rub->x[k][at] * block->rub->x[k][at] + block->rub->y[k][at] * block->rub->y[k][at];
    for (uint32_t k = 0; k < count; ++k) {
        const psvi_rub_rows *rub = rub_rows(block, whole ? 0 : k);
        v3 slide = v3_make(rub->impulse[0][at], rub->impulse[1][at], 0);
        if (whole) slide.z = rub->impulse[2][at];
        if (whole) slide = psvi_share_slide(slide, (float)count, squared, rub->x[k][at], rub->y[k][at]);
        kept[k].feature = p[k].feature;
        kept[k].impulse[0] = block->point[k].impulse[at];
        kept[k].impulse[1] = slide.x;
        kept[k].impulse[2] = slide.y;
    }
}

void psvi_keep_row_block(const psvi_sim *s, const psvi_row_block *block) {
    for (uint32_t at = 0; at < block->count; ++at) {
        const psvi_contact c = {.a = block->a[at],
                                .b = block->b[at],
                                .first = block->first[at],
                                .count = block->point_count[at],
                                .colour = block->colour};
        keep_lane(s, block, at);
        if (block->roll != NULL) keep_rolls(s, block, at);
        psvi_keep_key(s, &c);
    }
}
