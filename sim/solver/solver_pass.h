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

// Contacts of one point between bodies that turn as balls, or do not turn.
PSVI_HD bool psvi_is_ball_contact(const psvi_contact *c) { return c->count == 1 && c->turning != PSVI_TURN_ANY; }

// Whether friction is that of the contact as a whole: of points with one normal, where nothing bounces. (A corner that
// bounces rubs where it is.)
PSVI_HD bool psvi_is_whole(const psvi_contact *c, bool loads, bool bounces) {
    return c->flat && c->count > 1 && loads && c->colour != PSVI_COLOUR_REST && !(c->restitution > 0 && bounces);
}

// Bodies of unlike masses: the light one's contacts carry a load that its own mass tells nothing of, so they are solved
// there and back however fine the substeps are. (A cube of 1 m under one of 8 to 1,000 times its mass, 60 Hz, 16
// substeps: 0.03 to 0.4 m/s for ever, at rest with it.)
#define PSVI_UNEVEN 4.0f
PSVI_HD bool psvi_is_uneven(float inverse_a, float inverse_b) {
    return inverse_a > 0 && inverse_b > 0 &&
           (inverse_a > PSVI_UNEVEN * inverse_b || inverse_b > PSVI_UNEVEN * inverse_a);
}

#endif
