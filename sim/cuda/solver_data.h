// What the CUDA solver works on, in device memory: contacts in the order in which they are solved, one array a field,
// so that a warp reads rows; and the bodies' velocities as records of one 32-byte sector.
#ifndef PAIRSIEVE_SIM_SOLVER_DATA_H
#define PAIRSIEVE_SIM_SOLVER_DATA_H

#include "../data/sim_data.h"

// Contacts of a colour stand in classes: general ones by falling count of points, then round ones (one point, balls
// only) and at last those whose bodies do not turn. A bin is a class of a colour.
#define PSVI_CLASS_ROUND PSVI_MAX_POINTS
#define PSVI_CLASS_PLAIN (PSVI_MAX_POINTS + 1)
#define PSVI_CLASSES (PSVI_MAX_POINTS + 2)
#define PSVI_BINS ((PSVI_COLOURS + 1) * PSVI_CLASSES)

#define PSVI_POINT_QUADS 7

typedef struct psvi_motion {
    psvi_f4 linear;  // w: inverse mass
    psvi_f4 angular; // as in contact_rows.h; w: root of a ball's inverse inertia; 0: does not turn; -1: a matrix
} psvi_motion;

typedef struct PSVI_ALIGN8 psvi_two_bodies {
    uint32_t a, b;
} psvi_two_bodies;

typedef struct PSVI_ALIGN8 psvi_f2 {
    float x, y;
} psvi_f2;

typedef struct psvi_bin {
    uint32_t count, place, point; // contacts, the place of the first, and of the first point of general ones
} psvi_bin;

typedef struct psvi_solver {
    // by body
    psvi_motion *motion;     // velocities
    psvi_motion *pushed;     // velocities after the substep's forces, before the impulses were applied again; where no
                             // forces act, after the move: what the pass before it has added
    psvi_f4 *moved, *turned; // movement of the substep
    // by place; general contacts: `normal` holds friction, restitution, bits (the count of points, and above them the
    // contact's size without its last 16 bits) and the share of a hit that is to come
    psvi_two_bodies *bodies;
    psvi_f4 *normal;  // w: friction
    psvi_f4 *impulse; // normal, tangents; w: separation now
    psvi_f2 *arms;    // distance of the point from the two centres; bodies that turn only
    psvi_f2 *bounce;  // the share of a hit that is to come, restitution; this and the next only where a shape has one
    float *sum;       // the whole impulse of that hit
    // by point of general contacts, point k of contact j of a bin at bin.point + k * bin.count + j: normal and
    // separation now; normal row of a and normal mass; that of b; impulse and tangent mass; then
    // the rows of the tangents, 12 numbers
    psvi_f4 *points[PSVI_POINT_QUADS];
    float *point_sum; // impulse of a hit
    // by contact in the order of the narrow phase
    uint32_t *place;
    uint32_t *lists[2];   // contacts that are still without a colour
    psvi_bin *bins;       // PSVI_BINS
    uint32_t *block_bins; // by bin, for each block of the colouring kernel
} psvi_solver;

#define PSVI_SOLVER_BODY_BYTES (2 * sizeof(psvi_motion) + 2 * sizeof(psvi_f4))
#define PSVI_SOLVER_CONTACT_BYTES (3 * sizeof(psvi_two_bodies) + 2 * sizeof(psvi_f4) + 4 * sizeof(uint32_t))
#define PSVI_SOLVER_POINT_BYTES (PSVI_POINT_QUADS * sizeof(psvi_f4) + sizeof(float))

#endif
