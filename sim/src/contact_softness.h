// How soft a contact is: a damped spring, stiffer against what cannot move, and stiffer still where bodies lie deep in
// each other. One definition for all forms of the solver.
#ifndef PAIRSIEVE_CONTACT_SOFTNESS_H
#define PAIRSIEVE_CONTACT_SOFTNESS_H

#include "sim_data.h"

// Bias and softness of a contact at a separation.
typedef struct psvi_softness {
    float bias, mass_scale, impulse_scale;
} psvi_softness;

// (no indexing: the step is a kernel's parameter and stays in constant memory this way)
PSVI_HD psvi_softness psvi_softness_of(const psvi_step *step, float separation, bool relax, bool both_move) {
    psvi_softness s = {0, 1, 0};
    if (separation > 0) {
        s.bias = separation * step->rate; // may close, but not cross, within the substep
    } else if (!relax) {
        bool deep = separation < -step->deep;
        float reach = separation + (both_move ? step->deep_shift[0] : step->deep_shift[1]);
        float rate = both_move ? step->bias_rate[0] : step->bias_rate[1];
        s.bias = fmaxf(deep ? step->bias_rate[2] * reach : rate * separation, -step->push_speed);
        s.mass_scale = deep ? step->mass_scale[2] : both_move ? step->mass_scale[0] : step->mass_scale[1];
        s.impulse_scale = deep ? step->impulse_scale[2] : both_move ? step->impulse_scale[0] : step->impulse_scale[1];
    }
    return s;
}

// What a bounce adds to the impulse of a point under forces: `change` would give the speed that restitution asks for,
// `impulse` is that of the last substep and `sum` that of all. No more is given back than the share of what stopped the
// bodies (Poisson): where a body meets several others, the speeds alone (Newton) would add to the energy.
PSVI_HD float psvi_bounce_impulse(float change, float impulse, float sum, float restitution) {
    return fmaxf(impulse + fminf(change, restitution * sum), 0.0f) - impulse;
}

// What a normal impulse takes from the square of a point's speed: twice the energy that it takes, by `mass`, that of
// the point.
PSVI_HD float psvi_speed_taken(float impulse, float speed, float mass) {
    float after = mass > 0 ? speed + impulse / mass : speed;
    return speed * speed - after * after;
}

// Where no forces act, a contact bounces by a share, that this returns, of the impulses that its points had in all
// substeps. Summed over the points with these impulses as weights: `speed`, and `approach` before the step; `response`:
// how much the whole of the impulses changes `speed`. The share gives the speed that restitution asks for (Newton), but
// returns no more than restitution^2 of the energy that the contact has taken (Stronge), of which `taken` is twice. As
// impulses begin at 0 in every substep there, each takes energy, and none is counted twice: so a step adds nothing to
// the energy, whatever the order of the contacts.
PSVI_HD float psvi_bounce_share(float speed, float approach, float response, float taken, float restitution) {
    float most = sqrtf(speed * speed + restitution * restitution * response * fmaxf(taken, 0.0f));
    float change = fminf(-restitution * approach, most) - speed;
    return change > 0 && response > 0 ? change / response : 0.0f;
}

#endif
