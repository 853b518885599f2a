// A small world that has some of everything: for tests of what is saved.
#ifndef PAIRSIEVE_TESTS_SMALL_WORLD_H
#define PAIRSIEVE_TESTS_SMALL_WORLD_H

#include "pairsieve/sim.h"

#define SMALL_WORLD_FREE_SLOTS 2u

// A body of every shape, in the order of psv_shape_type, those that move on one ground or another; a static box below
// them; two slots whose bodies were destroyed; four steps, so that there are contacts. Shape i is of type i. NULL: no
// memory.
psv_world *make_small_world(psv_context *context);

#endif
