// What the CUDA solver works on, in device memory: contacts in the order in which they are solved, one array a field,
// so that a warp reads rows; and the bodies' velocities as records of one 32-byte sector.
#ifndef PAIRSIEVE_SIM_SOLVER_DATA_H
#define PAIRSIEVE_SIM_SOLVER_DATA_H

#include "../solver/solver_bodies.h"
#include "../solver/solver_pass.h"

// Contacts of a colour stand in classes, each of one kind (psvi_contact_kind) and count of points, those of balls in
// two: at last come those whose bodies do not turn. A bin is a class of a colour.
#define PSVI_CLASS_POINTS 0 // 16 to 2 points
#define PSVI_CLASS_POINTS_UNEVEN (PSVI_CLASS_POINTS + PSVI_MAX_POINTS - 1)
#define PSVI_CLASS_WHOLE (PSVI_CLASS_POINTS_UNEVEN + PSVI_MAX_POINTS - 1) // 4 to 2 points
#define PSVI_CLASS_WHOLE_UNEVEN (PSVI_CLASS_WHOLE + 3)
#define PSVI_CLASS_POINT (PSVI_CLASS_WHOLE_UNEVEN + 3)
#define PSVI_CLASS_ROUND (PSVI_CLASS_POINT + 1)
#define PSVI_CLASS_PLAIN (PSVI_CLASS_ROUND + 1)
#define PSVI_CLASSES (PSVI_CLASS_PLAIN + 1)
#define PSVI_BINS ((PSVI_COLOURS + 1) * PSVI_CLASSES)

#define PSVI_POINT_QUADS 7

typedef struct PSVI_ALIGN8 psvi_two_bodies {
    uint32_t a, b;
} psvi_two_bodies;

typedef struct PSVI_ALIGN8 psvi_f2 {
    float x, y;
} psvi_f2;

typedef struct psvi_bin {
    uint32_t count, place,
        point; // contacts, the place of the first, and of the first point that psvi_solver.points has
} psvi_bin;

typedef struct psvi_solver {
    psvi_movers movers; // by body
    uint32_t *awake;    // slots of those that move, psvi_step_counts.movers of them; in worlds whose bodies sleep
    // by place
    psvi_two_bodies *bodies;
    psvi_f4 *normal;  // w: friction; of contacts with listed points instead friction, what is deep, push speed, 0
    psvi_f4 *impulse; // of balls: normal, tangents; w: separation now
    psvi_f2 *arms;    // of balls that turn: distance of the point from the two centres
    psvi_f2 *bounce;  // the share of a hit that is to come, restitution; this and the next only where a shape has one
    float *hit;       // of balls: the whole impulse of that hit
    // by point of other contacts: point k of contact j of a bin at bin.point + j * its count + k
    //   0: normal, separation now; 1: what the normal takes from the spin of a, mass; 2: from that of b, w: slide x
    //   3: impulses of the normal and the tangents, mass of the tangents; 4 to 6: what the tangents take from both
    //   spins
    // Friction of a contact as a whole has, of its first point, the tangents' impulses and rows; of its second, the
    // impulse about the normal as 3.y, and in 4 to 6 the row about it, then hold_twist, slip, slip_twist, per_lever.
    psvi_f4 *points[PSVI_POINT_QUADS];
    float *point_hit; // impulse of a hit; of a contact as a whole slide y (row_slide)
    // by contact in the order of the narrow phase
    uint32_t *place;
    uint32_t *lists[2];   // contacts that are still without a colour
    psvi_bin *bins;       // PSVI_BINS
    uint32_t *block_bins; // by bin, for each block of the colouring kernel
} psvi_solver;

#define PSVI_SOLVER_CONTACT_BYTES (3 * sizeof(psvi_two_bodies) + 2 * sizeof(psvi_f4) + 4 * sizeof(uint32_t))
#define PSVI_SOLVER_POINT_BYTES (PSVI_POINT_QUADS * sizeof(psvi_f4) + sizeof(float))

// Points of a contact of a class that lie in psvi_solver.points.
PSVI_HD uint32_t psvi_listed_points(uint32_t kind) {
    if (kind < PSVI_CLASS_POINTS_UNEVEN) return PSVI_MAX_POINTS - kind;
    if (kind < PSVI_CLASS_WHOLE) return PSVI_MAX_POINTS + PSVI_CLASS_POINTS_UNEVEN - kind;
    if (kind < PSVI_CLASS_WHOLE_UNEVEN) return 4 + PSVI_CLASS_WHOLE - kind;
    if (kind < PSVI_CLASS_POINT) return 4 + PSVI_CLASS_WHOLE_UNEVEN - kind;
    return kind == PSVI_CLASS_POINT ? 1 : 0;
}

PSVI_HD uint32_t psvi_class_of(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    switch (psvi_kind_of(s, step, c)) {
    case PSVI_KIND_POINTS: return PSVI_CLASS_POINTS + PSVI_MAX_POINTS - c->count;
    case PSVI_KIND_POINTS_UNEVEN: return PSVI_CLASS_POINTS_UNEVEN + PSVI_MAX_POINTS - c->count;
    case PSVI_KIND_WHOLE: return PSVI_CLASS_WHOLE + 4u - c->count;
    case PSVI_KIND_WHOLE_UNEVEN: return PSVI_CLASS_WHOLE_UNEVEN + 4u - c->count;
    case PSVI_KIND_POINT: return PSVI_CLASS_POINT;
    default: return c->turning == PSVI_TURN_NONE ? PSVI_CLASS_PLAIN : PSVI_CLASS_ROUND;
    }
}

#endif
