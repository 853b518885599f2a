// Contacts between bodies of any shape, eight at a time in vectors: those of up to four points with one normal, where
// forces act and nothing bounces. Boxes at rest have such contacts. The others are solved one by one.
//
// Spins are those of bodies whose inertia is made 1, as in contact_rows.h. Each point has a row along the normal.
// Friction acts on the contact as a whole, in the middle of its points: two rows along the tangents and one about the
// normal. Together they are at most what friction allows: the two forces, and the torque over the points' mean distance
// from their middle, as one vector of three (a limit surface in the form of an ellipsoid; Goyal, Ruina and Papadopoulos
// 1991).
#ifndef PAIRSIEVE_MANIFOLD_BLOCKS_H
#define PAIRSIEVE_MANIFOLD_BLOCKS_H

#include "../solver/contact_solver.h"
#include "sim_cpu.h"

#define PSVI_BLOCK_POINTS 4

// A row of all lanes: what an impulse along it adds to the two spins.
typedef struct psvi_block_row {
    float a[3][PSVI_BLOCK_LANES], b[3][PSVI_BLOCK_LANES];
} psvi_block_row;

// A point of all lanes; of mass 0 where a lane has fewer points.
typedef struct psvi_block_point {
    psvi_block_row row;
    float separation[PSVI_BLOCK_LANES], separation_now[PSVI_BLOCK_LANES]; // at the step's beginning, and after the move
    float mass[PSVI_BLOCK_LANES], impulse[PSVI_BLOCK_LANES];
} psvi_block_point;

// The root of the inverse inertia of a body, and one over its diagonal; 0 where it does not turn.
typedef struct psvi_block_root {
    float root[6][PSVI_BLOCK_LANES], inverse[3][PSVI_BLOCK_LANES];
} psvi_block_root;

// Element k of every array belongs to lane k. Lanes past `count` repeat the first lane's bodies and are not written.
typedef struct psvi_manifold_block {
    _Alignas(64) uint32_t a[PSVI_BLOCK_LANES], b[PSVI_BLOCK_LANES];
    float normal[3][PSVI_BLOCK_LANES];
    psvi_block_root root_a, root_b;
    uint8_t moves_a, moves_b, turns_a, turns_b; // a bit a lane
    uint32_t points;                            // most of a lane
    uint32_t start, count, colour;              // contacts [start, +count) of the list by colour
    float deep[PSVI_BLOCK_LANES], push_speed[PSVI_BLOCK_LANES];
    psvi_block_row slide[3]; // along the tangents, and about the normal
    float slide_mass[PSVI_BLOCK_LANES], twist_mass[PSVI_BLOCK_LANES];
    float slip_mass[2][PSVI_BLOCK_LANES];                          // of both while it slides
    float friction[PSVI_BLOCK_LANES], per_lever[PSVI_BLOCK_LANES]; // 1 / the points' mean distance from their middle
    float sliding[3][PSVI_BLOCK_LANES];                            // impulses
    psvi_block_point point[PSVI_BLOCK_POINTS];
    // Where the points are along the tangents, from their middle; and for the next step.
    float place[PSVI_BLOCK_POINTS][2][PSVI_BLOCK_LANES];
    uint32_t feature[PSVI_BLOCK_POINTS][PSVI_BLOCK_LANES];
    uint32_t first[PSVI_BLOCK_LANES], point_count[PSVI_BLOCK_LANES];
} psvi_manifold_block;

static inline bool psvi_fits_manifold(const psvi_step *step, const psvi_contact *c) {
    return c->flat && step->loads && !(c->restitution > 0 && step->bounces);
}

// Fills a block, of which start, count and colour are set, from the list of contacts by colour. `roots`: by body.
void psvi_fill_manifolds(const psvi_sim *s, const psvi_step *step, const psvi_root *roots, const uint32_t *list,
                         psvi_manifold_block *block);

// Runs a pass over blocks [first, last), which are of one colour.
void psvi_solve_manifolds(const psvi_sim *s, const psvi_step *step, psvi_manifold_block *blocks, uint64_t first,
                          uint64_t last, psvi_pass pass);

// Keeps the impulses of a block's contacts for the next step.
void psvi_keep_manifolds(const psvi_sim *s, const psvi_manifold_block *block);

#endif
