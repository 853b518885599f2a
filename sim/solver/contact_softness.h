// How soft a contact is: a damped spring, stiffer against what cannot move, and stiffer still where bodies lie deep in
// each other. One definition for all forms of the solver.
#ifndef PAIRSIEVE_CONTACT_SOFTNESS_H
#define PAIRSIEVE_CONTACT_SOFTNESS_H

#include "../data/sim_data.h"

#define PSVI_DEEP 0.05f // what lies deeper in each other than this share of psvi_contact.size is deep

// Bias and softness of a contact at a separation.
typedef struct psvi_softness {
    float bias, mass_scale, impulse_scale;
} psvi_softness;

// The limits of a pair of bodies.
typedef struct psvi_soft_limits {
    float deep, push_speed;
} psvi_soft_limits;

// By the pair's own size, so that nothing depends on what else there is. Speeds go with the root of a length, as those
// of what falls do.
PSVI_HD psvi_soft_limits psvi_limits_of(const psvi_step *step, float size) {
    psvi_soft_limits limits;
    limits.deep = PSVI_DEEP * size;
    limits.push_speed = step->push_speed * sqrtf(2.0f * size);
    return limits;
}

// Of balls: they touch in one point, so thin parts cannot pass each other and nothing is deep.
PSVI_HD psvi_soft_limits psvi_round_limits(const psvi_step *step) {
    psvi_soft_limits limits;
    limits.deep = 3.4e38f;
    limits.push_speed = step->push_speed;
    return limits;
}

// (no indexing: the step is a kernel's parameter and stays in constant memory this way)
PSVI_HD psvi_softness psvi_softness_of(const psvi_step *step, float separation, bool relax, bool both_move,
                                       psvi_soft_limits limits) {
    psvi_softness s = {0, 1, 0};
    if (separation > 0) {
        s.bias = separation * step->rate; // may close, but not cross, within the substep
    } else if (!relax) {
        bool deep = separation < -limits.deep;
        float rate = both_move ? step->bias_rate[0] : step->bias_rate[1];
        float shift = both_move ? step->deep_shift[0] : step->deep_shift[1];
        s.bias = fmaxf(deep ? step->bias_rate[2] * (separation + shift * limits.deep) : rate * separation,
                       -limits.push_speed);
        s.mass_scale = deep ? step->mass_scale[2] : both_move ? step->mass_scale[0] : step->mass_scale[1];
        s.impulse_scale = deep ? step->impulse_scale[2] : both_move ? step->impulse_scale[0] : step->impulse_scale[1];
    }
    return s;
}

#endif
