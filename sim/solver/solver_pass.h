// The passes of the contact solver: small substeps with soft contacts (TGS-soft; Macklin et al. 2019, «Small steps in
// physics simulation»; Catto 2024, «Solver2D»). Each substep: gravity, last impulses again, one pass that also undoes
// overlap, move, one pass that takes the undoing's speed away. Contacts of one colour share no moving body.
// Where no forces act (`loads` false) the speeds of the first pass last for the move only, so it may push as hard as it
// needs: its impulses, normal ones only, are kept and applied again, and no energy comes from them. The pass after the
// move runs twice, and its impulses begin at 0 and end with the visit: each takes energy.
#ifndef PAIRSIEVE_SOLVER_PASS_H
#define PAIRSIEVE_SOLVER_PASS_H

#include "../data/sim_data.h"

typedef enum psvi_pass {
    PSVI_PASS_WARM = 0,  // applies the impulses of the last step
    PSVI_PASS_SOLVE = 1, // undoes overlap softly
    PSVI_PASS_RELAX = 2, // the same without
    PSVI_PASS_AGAIN = 3  // RELAX once more, where no forces act: separations have had the move already
} psvi_pass;

PSVI_HD bool psvi_relaxes(psvi_pass pass) { return pass == PSVI_PASS_RELAX || pass == PSVI_PASS_AGAIN; }

// How a contact that has its colour is solved. The contacts of a colour lie in this order.
typedef enum psvi_contact_kind {
    PSVI_KIND_BALLS,         // of one point between bodies that turn as balls, or do not turn
    PSVI_KIND_WHOLE,         // friction is that of the contact as a whole
    PSVI_KIND_WHOLE_UNEVEN,  // the same of bodies of unlike masses
    PSVI_KIND_POINTS,        // friction by point, by falling count of points
    PSVI_KIND_POINTS_UNEVEN, // the same of bodies of unlike masses
    PSVI_KIND_POINT,         // with one point, which is solved once a visit
    PSVI_KINDS
} psvi_contact_kind;

PSVI_HD bool psvi_is_whole_kind(psvi_contact_kind kind) {
    return kind == PSVI_KIND_WHOLE || kind == PSVI_KIND_WHOLE_UNEVEN;
}
PSVI_HD bool psvi_is_uneven_kind(psvi_contact_kind kind) {
    return kind == PSVI_KIND_WHOLE_UNEVEN || kind == PSVI_KIND_POINTS_UNEVEN;
}

// Of points with one normal, where nothing bounces, friction is that of the whole. (A corner that bounces rubs where it
// is.) What touches the light one of unlike masses, or one on a narrow base, is uneven.
PSVI_HD psvi_contact_kind psvi_kind_of(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    if (c->count == 1) return c->turning != PSVI_TURN_ANY ? PSVI_KIND_BALLS : PSVI_KIND_POINT;
    const bool uneven = ((s->colour_mask[c->a] | s->colour_mask[c->b]) & PSVI_UNEVEN_BIT) != 0;
    const bool whole =
        c->flat && step->loads && c->colour != PSVI_COLOUR_REST && !(c->restitution > 0 && step->bounces);
    if (whole) return uneven ? PSVI_KIND_WHOLE_UNEVEN : PSVI_KIND_WHOLE;
    return uneven ? PSVI_KIND_POINTS_UNEVEN : PSVI_KIND_POINTS;
}

// What a point at (x, y) from the middle of `count` points has of their friction, as it is kept for the next step.
// `squared`: the sum over all points of x^2 + y^2.
PSVI_HD v3 psvi_share_slide(v3 impulse, float count, float squared, float x, float y) {
    const float twist = squared > 0 ? impulse.z / squared : 0.0f;
    return v3_make(impulse.x / count - twist * y, impulse.y / count + twist * x, 0);
}

#endif
