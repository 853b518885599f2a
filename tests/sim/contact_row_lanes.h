// The contact row over vectors of eight lanes, for test_contact_row.c, which has it over single floats.
#ifndef PAIRSIEVE_TESTS_CONTACT_ROW_LANES_H
#define PAIRSIEVE_TESTS_CONTACT_ROW_LANES_H

#include "sim/solver/solver_bodies.h"

#define ROW_LANES 8

// A contact of one point: what the row functions read, and after them the velocities and impulses.
typedef struct row_case {
    v3 va, wa, vb, wb; // spins with the inertia made 1
    float ma, mb;
    psvi_root root_a, root_b;
    v3 n, arm_a, arm_b;
    float separation, friction, restitution, deep, push_speed;
    float rolling, spinning;
    v3 impulse; // normal, tangents
    v3 roll;    // angular, about the tangents and the normal
    bool relax;
} row_case;

// Normal, friction and rolling friction of eight contacts, all with the same `relax`.
void solve_row_lanes(const psvi_step *step, row_case cases[ROW_LANES]);

#endif
