// Springs give way under a load by a length, whatever the bodies' size: 1 mm for ten boxes, which is a tenth of boxes
// of 1 cm. Stiffer springs would halve that and make piles sway, as impulses come late. So a contact that has carried a
// load for a while is taken for deeper than it is, by half of the way that this load presses its springs together: at
// rest they are twice as stiff, to motion as stiff as they were. All points of a contact by the same, their mean: point
// by point 36 boxes in a pyramid shook at 0.1 m/s. And slowly: with the load of the last step alone the pyramid of
// 5,050 boxes fell, with a fifth of it a step too. The way is kept with the points (contact_anchor.h) and begins at 0
// where they are found anew.
#ifndef PAIRSIEVE_CONTACT_SETTLE_H
#define PAIRSIEVE_CONTACT_SETTLE_H

#include "contact_anchor.h"

#define PSVI_SETTLE 0.5f       // share of the springs' way
#define PSVI_SETTLE_RATE 0.01f // share of the difference that is made up in a step

// How much deeper the points of a contact are to be taken for; for contacts of bodies with corners whose points have
// one normal, under forces. `ways`: sum of the points' impulses of the last step's last substep over their masses;
// `depths`: sum of their depths. Never more than they lie in each other: what has been let go does not push.
PSVI_HD float psvi_settled_by(const psvi_sim *s, const psvi_step *step, uint32_t first, uint32_t count, bool both_move,
                              float ways, float depths) {
    if (count < 2 || s->anchor_frames == 0) return 0;
    // No indexing: see psvi_softness_of.
    const float impulse = both_move ? step->impulse_scale[0] : step->impulse_scale[1];
    const float mass = both_move ? step->mass_scale[0] : step->mass_scale[1];
    const float rate = both_move ? step->bias_rate[0] : step->bias_rate[1];
    float *kept = &s->anchor_frames[psvi_anchor_base(s, false) + first].normal.w;
    *kept += PSVI_SETTLE_RATE * (PSVI_SETTLE * impulse / (mass * rate) * ways / (float)count - *kept);
    return fmaxf(fminf(*kept, depths / (float)count), 0.0f);
}

#endif
