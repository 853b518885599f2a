// The arrays of a world in its backend's memory, as plain addresses: one struct that the CPU loops and the CUDA kernels
// both take by value.
#ifndef PAIRSIEVE_SIM_DATA_H
#define PAIRSIEVE_SIM_DATA_H

#include "hull.h"
#include "pairsieve/sim.h"
#include "sim_math.h"

#define PSVI_COLOURS 24             // contacts of one colour share no moving body
#define PSVI_COLOUR_REST 24         // contacts that found no colour
#define PSVI_COLOUR_FULL 254        // found to have no free colour in this round
#define PSVI_COLOUR_NONE 255        // not coloured yet
#define PSVI_UNEVEN_BIT 0x80000000u // beside the colours of a body: its contacts are solved there and back
#define PSVI_MAX_POINTS 16          // contact points of one pair of bodies; the deepest are kept
#define PSVI_STATIC_RADIUS 1e9f     // bounding radius of what has no end
#define PSVI_FLAG_KINEMATIC 0x80u   // beside the PSV_BOX_ flags of a body
#define PSVI_FLAG_ASLEEP 0x40u
// To the solver a kinematic body turns but is too heavy to be turned. It is like a ball of this inverse inertia, which
// no impulse changes in single precision, and has no inverse mass.
#define PSVI_KINEMATIC_INERTIA 1e-18f

PSVI_HD bool psvi_is_ground(uint32_t type) { return type >= PSV_SHAPE_PLANE && type <= PSV_SHAPE_MESH; }
PSVI_HD bool psvi_may_be_driven(uint32_t type) { return !psvi_is_ground(type) || type == PSV_SHAPE_MESH; }

// A shape as the kernels see it.
typedef struct psvi_shape {
    uint32_t type; // psv_shape_type
    float size[3];
    float radius; // of a sphere about the body's position that holds the shape
    float com[3]; // centre of mass in the shape's frame
    float inv_mass;
    sym3 inv_inertia; // about the centre of mass, in the shape's frame
    sym3 inertia;     // its inverse
    float friction, restitution;
    float rolling_friction, spinning_friction;
    float thin; // half of the least width of a solid or of its parts; PSVI_STATIC_RADIUS for ground
    uint32_t first_child, child_count;       // compound
    uint32_t first_height, columns, rows;    // height field
    float height_min, height_max;            // height field
    uint32_t first_node, node_count;         // mesh
    uint32_t first_triangle, triangle_count; // mesh
    bool one_sided;                          // mesh
    uint8_t paint[3];                        // own colour in pictures, sRGB: 0, 0, 0 is none, 1, 1, 1 is black
    uint32_t hull;                           // of the world's hulls
} psvi_shape;

typedef struct psvi_child {
    uint32_t type;
    float size[3];
    float position[3];
    float rotation[4];
} psvi_child;

// Node of a mesh's tree in depth-first order; a walk that misses the box goes on at `skip`.
typedef struct psvi_mesh_node {
    float min[3], max[3];
    uint32_t skip;
    uint32_t first, count; // triangles of a leaf; count 0: inner node
} psvi_mesh_node;

// `next`: the triangle across the edge from p[k] to p[k + 1], PSVI_NO_FACET at a border, and marks of that edge and of
// corner k. A mark stands at one of the triangles that share the edge or corner (mesh_edges.c).
#define PSVI_SURFACE_FLAT 0.005f // rad; edges at which a field bends less are none
#define PSVI_NO_FACET 0x3fffffffu
#define PSVI_EDGE_ACTS 0x80000000u   // the surface bends or ends at the edge
#define PSVI_CORNER_ACTS 0x40000000u // edges that act meet in the corner, and do not just go on
typedef struct psvi_triangle {
    float p[3][3];
    uint32_t next[3];
} psvi_triangle;

// What the solver moves, 64 bytes a body: read as whole sectors. Particles use `linear` only.
typedef struct psvi_linear {
    psvi_f4 velocity; // w: inverse mass
    psvi_f4 moved;    // of the centre of mass since the step began; w: 1 where the body turns, else 0
} psvi_linear;

typedef struct psvi_angular {
    psvi_f4 velocity; // w: inverse inertia of a ball, which is a number; 0 where it is a matrix
    psvi_f4 turned;   // rotation vector since the step began
} psvi_angular;

// How the bodies of a contact may turn: not at all (the particles' cheaper path); as balls about one point on the line
// through their centres; or in any way. The first two are contacts of one point without a feature.
#define PSVI_TURN_NONE 0
#define PSVI_TURN_ROUND 1
#define PSVI_TURN_ANY 2

// Two bodies that touch, or may within the step; its points lie in a row.
typedef struct PSVI_ALIGN16 psvi_contact {
    uint32_t a, b;
    uint32_t first;
    uint16_t count;
    uint8_t turning; // PSVI_TURN_
    bool flat;       // up to four points that have one normal, of bodies that turn in any way
    float friction, restitution;
    uint32_t colour;
    float size; // the lesser psvi_shape.thin of the two
} psvi_contact;

typedef struct PSVI_ALIGN16 psvi_point {
    float normal[3];  // from a to b
    float separation; // at the step's beginning
    float arm_a[3];   // from a's centre of mass
    float normal_mass;
    float arm_b[3];
    float tangent_mass;
    psvi_f4 impulse; // normal, tangents; w: unused
    uint32_t feature;
    float pending; // of a contact's first point: the share of a hit that is still to come
    float apart;   // of a hit: separation at the substep's beginning
    float rest;    // what was taken off the separation (contact_anchor.h)
} psvi_point;

// Rolling and spinning friction of a contact (contact_roll.h).
typedef struct psvi_roll {
    psvi_f4 impulse; // angular, on b, about the tangents and the normal; w: limit of rolling, metres: times the normal
                     // impulse
    psvi_f4 normal;  // w: limit of spinning, metres
} psvi_roll;

// What is kept of a point for the next step.
typedef struct PSVI_ALIGN16 psvi_kept_point {
    uint32_t feature;
    float impulse[3];
} psvi_kept_point;

// Where the points of a contact were found, kept while its bodies hardly move (contact_anchor.h).
typedef struct psvi_anchor_frame {
    psvi_f4 rotation_a, rotation_b;
    psvi_f4 offset; // of b's centre of mass from a's; w: PSVI_ANCHOR_
    psvi_f4 normal; // w: what is learned of the overlap under load, metres
} psvi_anchor_frame;

#define PSVI_KEPT_TOUCHING 0x80000000u // the bodies pressed on each other; only with contact events
#define PSVI_KEPT_SEEN 0x40000000u     // found again in the step after it
typedef struct psvi_kept_contact {
    uint64_t key; // a << 32 | b, plus 1 so that 0 is free
    uint32_t first;
    uint32_t count_colour; // count | colour << 8 | marks
} psvi_kept_contact;

#define PSVI_HALTED_NO_ROOM 1u // a buffer was too small
#define PSVI_HALTED_BY_HIT 2u  // a sleeper was hit, which is to be awake in this step
#define PSVI_MOST_TRIES 8u     // of a step, for hits: what they find after these wakes for the next one

// Counters of a step, in the backend's memory.
typedef struct psvi_step_counts {
    uint64_t contacts; // asked for; may exceed the room
    uint64_t points;
    // pairs left to the general narrow phase, of these those whose points have to be found, and to be followed
    uint64_t others, searched, followed;
    uint64_t unmet;                 // on CUDA, of those beside `searched`: pairs that had no contact in the last step
    uint64_t hulls, hulls_followed; // searched and followed pairs with a hull, on CUDA
    uint64_t lost;                  // since creation
    uint64_t steps;                 // steps done since creation
    uint32_t halted;                // PSVI_HALTED_: this step and those after it have not happened; 0: they have
    uint32_t hits;                  // a sleeper was hit: the step begins again (sleeper_hits.h)
    uint32_t carrier;               // a call has written a body that may carry sleepers: all are to wake
    uint32_t tries;                 // of the step so far, that were given up for hits
    float push[3];                  // of the hits of these tries, by axis: the most speed of approach
    uint32_t ground_drives;         // some ground is kinematic and moves
    uint32_t movers;                // on CUDA, bodies of the solver's list
    uint32_t colours;
    uint32_t uncoloured[2]; // of this and the next round of colouring
    uint64_t serial;        // of what was told to the host
    uint64_t pairs;
    uint64_t kept_mask;   // of the places of `kept` in use
    uint64_t kept_scale;  // of slots to groups of places, times 2^32
    uint64_t points_kept; // of the contacts in `kept`: the first of kept_points, and of what goes with them
} psvi_step_counts;

// Shapes and their lists.
typedef struct psvi_geometry {
    const psvi_shape *shapes;
    const psvi_child *children;
    const float *heights;
    const psvi_mesh_node *nodes;
    const psvi_triangle *triangles;
    const psvi_hull *hulls; // the first is the cube of half extents 1, for boxes; NULL without any
} psvi_geometry;

// Planes, height fields and meshes, by sub-world: every moving body of the sub-world is tested against them.
typedef struct psvi_ground_list {
    const uint32_t *slots;
    const uint32_t *first; // worlds + 1
    uint32_t worlds;       // the sub-worlds from here on have no ground
} psvi_ground_list;

// Only of worlds with contact events, else NULL; arrays by contact.
typedef struct psvi_event_lists {
    psv_contact *touching;
    psv_contact_event *begins, *ends;
    psv_hit_event *hits;
    uint8_t *was_touching; // by contact of the narrow phase
    psv_event_counts *counts;
} psvi_event_lists;

typedef struct psvi_sim {
    uint32_t slots;
    // bodies, by slot
    psvi_f4 *position, *rotation, *velocity, *angular_velocity;
    uint32_t *shape;
    uint8_t *flags; // PSV_BOX_
    psv_box_filter *filter;
    uint32_t *sub_world;
    psv_aabb *box;
    psvi_linear *linear;
    psvi_angular *angular;
    sym3 *inv_inertia;     // world frame
    psvi_f4 *acceleration; // of self-gravity, w: mass; NULL without it
    // only of worlds whose bodies sleep: label of the island (a slot), seconds that a body has been slow; by label:
    // whether it is to wake; between the loops of a step: by body, whether it has woken in this step, later by label,
    // whether it may not sleep
    uint32_t *island;
    float *still;
    uint8_t *wake, *busy;
    uint64_t *user;  // data of the program; NULL while no body has any
    psvi_f4 *forces; // linear damping, angular damping, scale of gravity; NULL while no body has any of its own
    psvi_geometry geometry;
    psvi_ground_list ground;
    // pairs of the finder
    const psv_pair *pairs;
    const uint64_t *pair_count;
    uint64_t pair_capacity;
    // contacts
    psvi_contact *contacts;
    psvi_point *points;
    uint64_t contact_capacity, point_capacity;
    uint64_t *keys;        // sort keys of the contacts
    uint32_t *order;       // contacts by colour
    uint32_t *colour_mask; // by body: colours taken
    uint64_t *claim;       // by body: strongest claim of the round
    int64_t *rest;         // by body: 6 fixed-point sums and a count, for contacts without a colour
    uint32_t *other_pairs; // lists of pairs of the narrow phase; on CUDA each serves twice (narrow_kernels.cu)
    uint32_t *followed_pairs;
    uint32_t *lists_end; // of both, one behind the other; CUDA has other lists from each one's end down
    // contacts of the last step
    psvi_kept_contact *kept;
    psvi_kept_point *kept_points;
    uint64_t kept_places;
    // Only of worlds with bodies that have corners: where points were found. Two of each, of the last step and of this
    // one in turns: point_capacity elements and again as many. An anchor is an arm and in w the separation.
    psvi_f4 *anchors;
    psvi_anchor_frame *anchor_frames; // at a contact's first point
    // only where some shape has rolling or spinning friction: by contact in the order of the solver; and angular
    // impulses of the last step, by a kept contact's first point
    psvi_roll *rolls;
    psvi_f4 *kept_rolls;
    psvi_event_lists events;
    psvi_step_counts *counts;
} psvi_sim;

// One step's numbers.
typedef struct psvi_step {
    float seconds, substep, rate; // rate: substeps a second
    float gravity[3];
    float fall;               // the most speed that gravity adds in the step, m/s
    uint32_t substeps, turns; // turns over the points of a contact in a pass
    float self_gravity, softening_squared;
    float bounds_min[3], bounds_max[3];
    // Softness of contacts (mass, impulse and bias factors as in Box2D v3's soft step; Catto, «Solver2D», 2024).
    float bias_rate[3], mass_scale[3], impulse_scale[3]; // [0] two moving bodies, [1] one of them static, [2] deep
    float deep_shift[2];         // times what is deep: the force of [2] goes on from those of [0] and [1]
    float rest_share;            // of a rest that is learned in the step; 0: none is
    float round_margin;          // of balls, times the radius: contacts are made ready before they touch
    float push_speed;            // overlap is undone no faster, m/s, between bodies that are 1 m thick
    bool bounces;                // some shape has restitution
    bool rolls;                  // some shape has rolling or spinning friction, and forces act
    bool loads;                  // forces act, which contacts hold: see solver_pass.h
    float hit_speed;             // of hit events, m/s
    float sleep_speed;           // m/s
    bool sleeps;                 // islands are looked for after this step
    bool repeats;                // it begins again with sleepers awake that it finds are hit; not in a captured graph
    float restitution_threshold; // slower impacts do not bounce, m/s
    // New velocities for some bodies before the step («brownian»): slots [kick_first, +kick_count), wrapping.
    uint32_t kick_first, kick_count;
    float kick_speed;
    uint64_t kick_seed;
} psvi_step;

// Reproducible 64-bit mixing (Steele, Lea, Flood 2014: SplitMix64); a bijection, so distinct keys stay distinct.
PSVI_HD uint64_t psvi_mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Bodies of unlike masses: the light one's contacts carry a load that its own mass tells nothing of, so they are solved
// there and back however fine the substeps are. (A cube of 1 m under one of 8 to 1,000 times its mass, 60 Hz, 16
// substeps: 0.03 to 0.4 m/s for ever, at rest with it.)
#define PSVI_UNEVEN 4.0f
PSVI_HD bool psvi_is_uneven(float inverse_a, float inverse_b) {
    return inverse_a > 0 && inverse_b > 0 &&
           (inverse_a > PSVI_UNEVEN * inverse_b || inverse_b > PSVI_UNEVEN * inverse_a);
}

PSVI_HD uint64_t psvi_contact_key(uint32_t a, uint32_t b) { return ((uint64_t)a << 32 | b) + 1; }

#endif
