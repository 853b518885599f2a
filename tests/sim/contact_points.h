// How many points the contacts of a world have, from the arrays that the backend keeps for its next step.
#ifndef PAIRSIEVE_TESTS_CONTACT_POINTS_H
#define PAIRSIEVE_TESTS_CONTACT_POINTS_H

#include "pairsieve/sim.h"

#define MOST_CONTACT_POINTS 16

// contacts[n]: contacts of n points after the last step. Blocks.
psv_status count_contact_points(psv_world *world, uint64_t contacts[MOST_CONTACT_POINTS + 1]);

#endif
