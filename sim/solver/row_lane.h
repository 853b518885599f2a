// The lane that contact_row.h is written over, as a single float: one contact a thread on CUDA, and on the CPU where
// contacts are set up one by one. cpu/lanes.h has the same names for eight contacts in vectors; a file includes one of
// the two before contact_row.h. The operations round the same in both.
#ifndef PAIRSIEVE_ROW_LANE_H
#define PAIRSIEVE_ROW_LANE_H

#ifdef __clang__ // the masks of single lanes are combined as those of vectors are: both sides are always looked at
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#endif

#include "../data/sim_math.h"

#define PSVI_ROW PSVI_HD

typedef float lane;
typedef v3 lane3;
typedef bool lane_mask;

PSVI_HD lane lane_of(float a) { return a; }
PSVI_HD lane_mask lane_mask_of(bool a) { return a; }
PSVI_HD lane_mask lane_not(lane_mask a) { return !a; }
PSVI_HD bool lane_any(lane_mask a) { return a; }
PSVI_HD lane lane_choose(lane_mask mask, lane a, lane b) { return mask ? a : b; }
PSVI_HD lane lane_both(lane_mask mask, lane a) { return mask ? a : 0.0f; } // a, or 0 where the mask is not set
PSVI_HD lane lane_smaller(lane a, lane b) { return a < b ? a : b; }
PSVI_HD lane lane_larger(lane a, lane b) { return a > b ? a : b; }
PSVI_HD lane lane_root(lane a) { return sqrtf(a); }

#define lane3_make v3_make
#define lane3_add v3_add
#define lane3_sub v3_sub
#define lane3_scale v3_scale
#define lane3_madd v3_madd
#define lane3_dot v3_dot
#define lane3_cross v3_cross
#define lane3_tangents v3_tangents

#endif
