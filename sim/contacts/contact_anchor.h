// Contacts whose bodies hardly move keep the points that were found before: arms and normal stay as they are in the
// world, and separations follow the bodies, as between substeps. What rests then is a system of fixed arms, which comes
// to rest: with points found anew each step the load of a pile leans with its boxes. A tall pile on springs then
// buckles like a column. It also saves looking for them. (Box3D recycles its contacts so, by a length; here all limits
// go by the pair's size, and are a few times tighter.)
#ifndef PAIRSIEVE_CONTACT_ANCHOR_H
#define PAIRSIEVE_CONTACT_ANCHOR_H

#include "contact_kept.h"

#define PSVI_ANCHOR_NONE 0.0f // psvi_anchor_frame.offset.w: nothing to keep; arms are those of a; of b
#define PSVI_ANCHOR_A 1.0f
#define PSVI_ANCHOR_B 2.0f

#define PSVI_ANCHOR_SHIFT 0.04f // the bodies may move by this share of psvi_contact.size against each other
#define PSVI_ANCHOR_TILT 0.02f  // and turn by so much in the world, rad

// Of bodies with corners: points on what is round do not move with it. Compounds meet in more points than are kept so.
PSVI_HD bool psvi_has_corners(uint32_t type) {
    return type > PSV_SHAPE_SPHERE && type != PSV_SHAPE_CAPSULE && type != PSV_SHAPE_COMPOUND;
}
// Shapes whose worlds keep points.
PSVI_HD bool psvi_wants_anchors(uint32_t type) { return psvi_has_corners(type) && !psvi_is_ground(type); }

PSVI_HD bool psvi_may_keep(uint32_t type_a, uint32_t type_b) {
    return psvi_has_corners(type_a) && psvi_has_corners(type_b);
}

// Steps use two halves of the arrays in turn: where the one begins that this step writes, or (`last`) reads.
PSVI_HD uint64_t psvi_anchor_half(uint64_t steps, bool last, uint64_t capacity) {
    return ((steps & 1) != 0) != last ? capacity : 0;
}

PSVI_HD uint64_t psvi_anchor_base(const psvi_sim *s, bool last) {
    return psvi_anchor_half(s->counts->steps, last, s->point_capacity);
}

// The turn from one rotation to another, nearly none, as a vector; false where it is more than `most`.
PSVI_HD bool psvi_small_turn(quat to, psvi_f4 from, float most, quat *turn, v3 *vector) {
    quat q = quat_mul(to, quat_make(-from.x, -from.y, -from.z, from.w));
    if (q.w < 0) q = quat_make(-q.x, -q.y, -q.z, -q.w);
    *turn = q;
    *vector = v3_make(2 * q.x, 2 * q.y, 2 * q.z);
    return v3_dot(*vector, *vector) <= most * most;
}

// How two bodies have moved since the points of their contact were found.
typedef struct psvi_anchored {
    quat turn_a, turn_b;
    v3 moved; // b's centre of mass against a's
} psvi_anchored;

// Whether the points of the last step are those of this one too: the bodies have hardly moved against each other, are
// not fast, and have hardly turned. `d`: from a's centre of mass to b's; `size`: psvi_contact.size.
PSVI_HD bool psvi_anchors_hold(const psvi_sim *s, const psvi_step *step, const psvi_anchor_frame *f, uint32_t a,
                               uint32_t b, v3 d, float size, psvi_anchored *out) {
    v3 turn_a, turn_b;
    if (!psvi_small_turn(quat_of4(s->rotation[a]), f->rotation_a, PSVI_ANCHOR_TILT, &out->turn_a, &turn_a) ||
        !psvi_small_turn(quat_of4(s->rotation[b]), f->rotation_b, PSVI_ANCHOR_TILT, &out->turn_b, &turn_b))
        return false;
    const v3 offset = v3_of4(f->offset);
    out->moved = v3_sub(d, offset);
    psvi_linear la = s->linear[a], lb = s->linear[b];
    v3 speed = v3_sub(v3_of4(lb.velocity), v3_of4(la.velocity)), spin = v3_make(0, 0, 0);
    if (la.moved.w != 0) spin = v3_neg(v3_of4(s->angular[a].velocity));
    speed = v3_add(speed, v3_cross(spin, offset));
    if (lb.moved.w != 0) spin = v3_add(spin, v3_of4(s->angular[b].velocity));
    const float radius = fminf(s->position[a].w, s->position[b].w);
    const v3 shift = v3_sub(out->moved, v3_cross(turn_a, offset)), twist = v3_sub(turn_b, turn_a);
    return v3_length(shift) + radius * v3_length(twist) +
               (v3_length(speed) + radius * v3_length(spin)) * step->seconds <=
           PSVI_ANCHOR_SHIFT * size;
}

// How much further apart the surfaces are along the normal at a point than where it was found.
PSVI_HD float psvi_anchor_change(const psvi_anchored *at, v3 arm_a, v3 arm_b, v3 normal) {
    v3 d = v3_sub(at->moved, v3_sub(quat_rotate(at->turn_a, arm_a), arm_a));
    return v3_dot(v3_add(d, v3_sub(quat_rotate(at->turn_b, arm_b), arm_b)), normal);
}

// A spring that carries a load gives way, by 2 i g / omega^2 between equal boxes with i above: the same length for
// boxes of any size, so a tower of small ones sinks. So a contact at rest learns a length, by which its bodies are
// taken for deeper in each other than they are. Learning takes a second. All points of a contact share the length, or
// towers would lean as they learned. It stays the same while the overlap sways by less than PSVI_REST_SLACK: otherwise
// it feeds the slow sway of large pyramids. Deep contacts learn nothing: their springs are stiff already, and bodies in
// too little room would be pressed ever harder.
#define PSVI_REST_GAIN 4.0f    // times the overlap beyond the slack
#define PSVI_REST_SLACK 0.005f // these as shares of psvi_contact.size
#define PSVI_REST_MOST 0.02f   // that is learned
#define PSVI_REST_DEEP 0.04f   // from this overlap on nothing is learned

// `overlap`: the mean of the contact's points.
PSVI_HD float psvi_learn_rest(const psvi_step *step, float rest, float overlap, float size) {
    const float least = overlap < PSVI_REST_DEEP * size ? PSVI_REST_GAIN * (overlap - PSVI_REST_SLACK * size) : 0.0f;
    const float due = fmaxf(fminf(rest, PSVI_REST_GAIN * overlap), fmaxf(least, 0.0f));
    return fmaxf(rest + step->rest_share * (fminf(due, PSVI_REST_MOST * size) - rest), 0.0f);
}

// What the contact whose points were kept from `first` on has learned, when they are found anew: what slides forgets
// it.
PSVI_HD float psvi_last_rest(const psvi_sim *s, uint64_t first) {
    const psvi_anchor_frame *f = &s->anchor_frames[psvi_anchor_base(s, true) + first];
    return f->offset.w != PSVI_ANCHOR_NONE ? 0.95f * f->normal.w : 0.0f;
}

// Notes where points were found. In: the contact's frame. `kind`: PSVI_ANCHOR_.
PSVI_HD void psvi_put_anchor_frame(const psvi_sim *s, uint64_t first, quat a, quat b, v3 offset, v3 normal, float rest,
                                   float kind) {
    psvi_anchor_frame *f = &s->anchor_frames[psvi_anchor_base(s, false) + first];
    f->rotation_a = f4_make(v3_make(a.x, a.y, a.z), a.w);
    f->rotation_b = f4_make(v3_make(b.x, b.y, b.z), b.w);
    f->offset = f4_make(offset, kind);
    f->normal = f4_make(normal, rest);
}

#endif
