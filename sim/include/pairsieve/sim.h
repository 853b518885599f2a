// pairsieve sim: rigid bodies and particles that fall, collide and come to rest, on the CPU or entirely on a GPU.
//
// Units: metres, seconds, kilograms, radians; y is up. A world steps on its context's backend; nothing is read back
// unless a call says so. The same world stepped twice gives the same bytes, for any number of threads and on CUDA
// (psv_world_hash says where not).
// Contacts are solved in small substeps as damped springs (TGS-soft; Macklin et al. 2019, «Small steps in physics
// simulation»; Catto 2024, «Solver2D»), colour by colour.
//
// Every call gives PSV_ERROR_ARGUMENT for a NULL handle or pointer (where the comment does not allow NULL), for values
// that are not finite and for a def without its cookie; calls that block, PSV_ERROR_DEVICE. A call that gives
// PSV_ERROR_MEMORY left things as they were and may be made again.
#ifndef PAIRSIEVE_SIM_H
#define PAIRSIEVE_SIM_H

#include "pairsieve/collision.h"
#include "pairsieve/core.h"
#include "pairsieve/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_world psv_world;

// Generational id of a body: index1 is the slot + 1, so an all-zero id is never a body.
typedef struct psv_body_id {
    uint32_t index1;
    uint32_t generation;
} psv_body_id;

#define PSV_MAX_HULL_POINTS 65536u
#define PSV_MAX_HULL_VERTICES 64u

typedef enum psv_shape_type {
    PSV_SHAPE_PARTICLE = 0,     // sphere without rotation: size[0] radius
    PSV_SHAPE_SPHERE = 1,       // size[0] radius
    PSV_SHAPE_BOX = 2,          // size[0..2] half extents
    PSV_SHAPE_CAPSULE = 3,      // size[0] radius, size[1] half length along local y
    PSV_SHAPE_COMPOUND = 4,     // children
    PSV_SHAPE_PLANE = 5,        // static: through the body's position, normal = rotated local y
    PSV_SHAPE_HEIGHT_FIELD = 6, // static: columns x rows samples over size[0] x size[2] metres, centred
    PSV_SHAPE_MESH = 7,         // static or kinematic: triangles
    PSV_SHAPE_HULL = 8          // convex hull of the vertices, in whose frame the body's pose is
} psv_shape_type;

// A part of a compound: a box, sphere or capsule at a pose of the compound's frame.
typedef struct psv_shape_child {
    psv_shape_type type;
    float size[3]; // as psv_shape_def.size
    psv_pose pose; // the rotation is made a unit one, and must not be zero
} psv_shape_child;

// A shape, shared by any number of bodies. Arrays are copied at creation.
typedef struct psv_shape_def {
    uint32_t cookie;     // set by psv_default_shape_def
    psv_shape_type type; // default PSV_SHAPE_SPHERE
    float size[3];       // metres, by the type, > 0; default 0.5
    float density;       // kg per cubic metre; default 1000
    float friction;      // >= 0; default 0.5. Two shapes combine as sqrt(a b)
    float restitution;   // 0 to 1; default 0. Two shapes combine as max(a, b)
    // Torque against rolling, and against spin about the contact's normal. Its limit is the coefficient x the normal
    // force x the radius of the ball or capsule, the smaller radius of two. Without a round shape the radius is half of
    // the lesser least width of the two shapes. >= 0; default 0. Two shapes combine as max(a, b). A rolling ball stops
    // after 0.7 v^2 / (rolling_friction g), and rests on slopes up to atan(rolling_friction). Acts where gravity
    // presses bodies together. Worlds with such shapes step more slowly.
    float rolling_friction, spinning_friction;
    const psv_shape_child *children; // of a compound: 1 to 64
    uint32_t child_count;
    const float *heights;   // of a height field: rows * columns in metres, row after row along z
    uint32_t columns, rows; // 2 or more each
    const float *vertices;  // of a mesh or hull: 3 floats each
    // For a hull, 4 to PSV_MAX_HULL_POINTS points in any order, of which at most PSV_MAX_HULL_VERTICES may be corners;
    // other points are ignored. Hulls that are flat, or thinner than a 2,000th of their length, are refused. A point
    // within about 2e-6 of the width from a plane counts as in the plane. The pose of a body is the frame in which the
    // points are given; it turns about the hull's centre of mass, which may lie elsewhere. Give points about their
    // middle, because radius and margins are measured from the frame's origin.
    uint32_t vertex_count;
    // For a mesh 3 per triangle, each < vertex_count. For a hull psv_world_shape gives the triangles of its faces,
    // counter-clockwise from outside; in a def they are ignored.
    const uint32_t *indices;
    uint32_t triangle_count;
    // Of a mesh. Edges at which the surface bends by less than this, rad, 0 to 1.5, are none to boxes, hulls and the
    // middle of capsules: what lies on such an edge sinks until its own corners touch. Default 0.005.
    float weld_angle;
    // Of a mesh: solid only for what is on the side from which its triangles are counter-clockwise; what comes from the
    // other side passes. Default false: both sides are solid.
    bool one_sided;
    // How pictures show its bodies: 0xAABBGGRR, sRGB, AA its opacity from 1 (clear) to 255. 0 (default): they choose.
    // Motion does not depend on it. Ray-traced pictures (render.h) take the colour alone, not the opacity.
    uint32_t colour;
} psv_shape_def;

typedef struct psv_body_def {
    uint32_t cookie;   // set by psv_default_body_def
    uint32_t shape;    // number given by psv_create_shape
    psv_pose pose;     // default: at the origin, not turned. The rotation is made a unit one, and must not be zero
    float velocity[3]; // m/s
    float angular_velocity[3]; // rad/s
    bool is_static;            // planes and height fields are always static, meshes where they are not kinematic
    bool is_kinematic; // moves as its velocities say, whatever it meets: it pushes and carries others and takes nothing
                       // from them, from gravity or from damping. Not with is_static or a shape that always is
    uint32_t sub_world;    // below psv_world_def.sub_world_count; bodies of different ones never meet; default 0
    psv_box_filter filter; // default: group 1, mask all
    // Speeds fall by these shares a second (v' = -c v, solved exactly), 1/s, >= 0; default 0.
    float linear_damping, angular_damping;
    float gravity_scale; // times psv_world_def.gravity, at most 100 either way; default 1
    uint64_t user_data;  // the program's own; default 0
} psv_body_def;

// Substeps decide how stiff contacts are and how high boxes stack; the solver's time goes with them. Left 0 they go by
// the time of a step, 960 a second: 16 in 1/60 s (towers of 40, 100 times the mass on top, boxes of 1 cm), 4 in 1/240
// s. At 60 Hz 4 are enough for heaps of many bodies and towers of 10, 8 for pyramids.
typedef struct psv_world_def {
    uint32_t cookie;             // set by psv_default_world_def
    float gravity[3];            // m/s^2; default (0, -9.81, 0)
    uint32_t substeps;           // solver substeps per step, 1 to 64; 0 (default): see above
    float restitution_threshold; // m/s; under forces slower impacts do not bounce; >= 0; default 0.5
    float push_speed;            // m/s; overlap of bodies 1 m thick is undone no faster; > 0; default 3
    uint64_t max_bodies;         // room for bodies, static ones included, 1 to 2^30; default 4096
    uint32_t max_shapes;         // 1 to 2^20; default 1024
    uint64_t max_pairs;          // 0 (default): 8 per body; grows between steps when too small; at most 2^40
    uint64_t max_contacts;       // 0 (default): 8 per body; likewise; at most 2^31 - 1
    uint32_t sub_world_count;    // 1 to 2^24; default 1
    bool contact_events;         // each step fills the buffers of psv_world_contacts and events; default false
    // Bodies that touch fall asleep together, as islands, when all have been slower than sleep_speed (m/s, > 0; default
    // 0.05) for half a second. An island wakes when something hits one of its bodies faster than that, presses on one,
    // when a call changes one, or when gravity changes. Sleepers cost little, but resting positions then depend on when
    // a heap was disturbed. Contacts of sleepers are not listed, and begin again when they wake. Not with self_gravity.
    // Steps of a captured graph put no body to sleep. Default false.
    bool sleeping;
    float sleep_speed;
    float hit_speed;                    // m/s; from this speed of approach on there are hit events; >= 0; default 1
    const char *broad_phase;            // see psv_broad_phase_name; default "auto"
    const char *sort_method;            // see psv_pair_sort_name; default "cells"
    float self_gravity;                 // > 0: bodies attract each other, G in m^3/(kg s^2) (galaxy); default 0
    float softening;                    // metres, for self_gravity, > 0 then; default 0
    float bounds_min[3], bounds_max[3]; // bodies that leave this box are taken out and counted as lost; default +-1e6
} psv_world_def;

psv_shape_def psv_default_shape_def(void);
psv_body_def psv_default_body_def(void);
psv_world_def psv_default_world_def(void);

// Errors: PSV_ERROR_ARGUMENT (a field out of range), PSV_ERROR_UNSUPPORTED (unknown method; the sentence lists the
// known ones), PSV_ERROR_MEMORY (with the bytes needed; also when that is more than is free now). *world is NULL then.
// Blocks.
psv_status psv_create_world(psv_context *context, const psv_world_def *def, psv_world **world);
void psv_destroy_world(psv_world *world); // NULL is allowed. Blocks
psv_context *psv_world_context(const psv_world *world);

// Between steps. Blocks on CUDA.
// A shape: its number goes to *shape. Errors: PSV_ERROR_ARGUMENT (a size, density or list that cannot be),
// PSV_ERROR_CAPACITY (over max_shapes), PSV_ERROR_MEMORY.
psv_status psv_create_shape(psv_world *world, const psv_shape_def *def, uint32_t *shape);

// All `count` bodies or none; ids (may be NULL) has room for `count`. Errors: PSV_ERROR_ARGUMENT (the sentence gives
// the place in defs), PSV_ERROR_CAPACITY (over max_bodies), PSV_ERROR_MEMORY.
psv_status psv_create_bodies(psv_world *world, const psv_body_def *defs, uint64_t count, psv_body_id *ids);
psv_status psv_destroy_body(psv_world *world, psv_body_id id); // PSV_ERROR_ARGUMENT for a stale id
bool psv_body_is_valid(psv_world *world, psv_body_id id);      // false for one that a step has taken out. Blocks

typedef struct psv_body_state {
    psv_pose pose;
    float velocity[3];         // m/s
    float angular_velocity[3]; // rad/s
} psv_body_state;

// One body. PSV_ERROR_ARGUMENT for a stale id, for a rotation that is zero, and for an impulse after which the velocity
// would not be finite. impulse in N s at `point` in world coordinates. Static bodies have no velocity; static and
// kinematic bodies take no impulse. A static body that is set to another pose pushes nothing; psv_set_body_target moves
// it so that it carries and pushes.
psv_status psv_get_body_state(psv_world *world, psv_body_id id, psv_body_state *state);                       // Blocks
psv_status psv_set_body_state(psv_world *world, psv_body_id id, const psv_body_state *state);                 // Blocks
psv_status psv_apply_impulse(psv_world *world, psv_body_id id, const float impulse[3], const float point[3]); // Blocks

// Sets velocities by which a kinematic body reaches `pose` within `seconds`, by the shorter turn. A static body (no
// plane, no field) becomes kinematic. The body keeps the velocities until they are set again, so a platform on a path
// gets its next pose before each step. The velocity of a compound is that of its centre of mass. PSV_ERROR_ARGUMENT for
// a stale id, a body that others push, ground, seconds that are not > 0. Blocks.
psv_status psv_set_body_target(psv_world *world, psv_body_id id, const psv_pose *pose, float seconds);

// The same for many bodies in one call; `states` and `impulses` have `count` elements (at most 2^32-1), as `ids`.
// Nothing is done when one id is stale; an impulse that would give a velocity that is not finite is left out. No body
// twice in calls that write. Block, and take memory while they run.
typedef struct psv_body_impulse {
    float impulse[3]; // N s
    float point[3];   // of the world, where it acts
} psv_body_impulse;

psv_status psv_get_body_states(psv_world *world, const psv_body_id *ids, uint64_t count, psv_body_state *states);
psv_status psv_set_body_states(psv_world *world, const psv_body_id *ids, uint64_t count, const psv_body_state *states);
psv_status psv_apply_impulses(psv_world *world, const psv_body_id *ids, uint64_t count,
                              const psv_body_impulse *impulses);

// The same on buffers of the context's backend, for programs that drive thousands of worlds. `slots` are u32; the slot
// of a body is id.index1 - 1. `states` are psv_body_state, `impulses` psv_body_impulse. The calls wait until the
// earlier steps have happened (but not while a CUDA graph is captured); then they are asynchronous on CUDA. Slots
// without a body are skipped (and read as zeros). Writes skip values that are not finite, impulses that would give such
// a velocity, rotations that are zero or huge, and ground (planes, height fields, meshes). Errors: PSV_ERROR_ARGUMENT
// (buffer too small, count over 2^32-1). Can be captured in a CUDA graph.
psv_status psv_read_body_states(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer states);
psv_status psv_write_body_states(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer states);
psv_status psv_push_bodies(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer impulses);

// First body hit by a ray, ground and static bodies included, of all sub-worlds; *id all zero, and *distance
// max_distance, when none is. direction need not be unit, only finite and not zero; *distance in its lengths.
// max_distance >= 0, may be infinite. A ray that begins inside a solid or under a plane hits it at 0. Blocks; for more
// than a few rays psv_cast_rays is the faster call.
psv_status psv_cast_ray(psv_world *world, const float origin[3], const float direction[3], float max_distance,
                        psv_body_id *id, float *distance);

// Queries in bulk on buffers of the context's backend. They see the bodies at their present poses, ground and static
// bodies included: each call builds a tree of the bodies' boxes (a fraction of a millisecond for a million), then tests
// the exact shapes. A query sees the sub-world that `worlds` of its set names (empty: sub-world 0), and with `filters`
// only bodies that the filters admit. Bodies are named by slot: id.index1 is slot + 1. Of equal distances the lower
// slot is reported. The calls wait for steps that found too little room (but not while a CUDA graph is captured); then
// they are asynchronous on CUDA and can be captured. The first call of a world allocates, and cannot be captured.
// Errors: those of pairsieve/tree.h; PSV_ERROR_UNSUPPORTED (`sort`, and lists with offsets), PSV_ERROR_MEMORY (the
// first call; with the bytes needed).
typedef struct psv_body_hit {
    float t;         // in lengths of the ray's direction; its t_max when nothing was hit
    uint32_t slot;   // PSV_NO_ITEM when nothing was hit
    float normal[3]; // unit, of the surface, towards where the ray comes from; a ray that begins inside: against it
    uint32_t part; // child of a compound, triangle of a mesh in the order of its own tree, half cell of a height field
} psv_body_hit;

typedef struct psv_body_point {
    float point[3];  // on or in the body; the centre itself inside of one, or when there is none
    float distance;  // 0 inside of solids and under planes; the radius when nothing is within it
    float normal[3]; // unit, from the point to the centre; zero at distance 0
    uint32_t slot;   // PSV_NO_ITEM when nothing is within the radius
    uint32_t part;   // as in psv_body_hit
} psv_body_point;

// hits: one psv_body_hit per psv_ray, the first body on it from t_min on.
psv_status psv_cast_rays(psv_world *world, const psv_query_set *rays, psv_buffer hits);
// points: one psv_body_point per psv_sphere, the point of all bodies that is nearest to its centre, within its radius.
psv_status psv_closest_bodies(psv_world *world, const psv_query_set *spheres, psv_buffer points);
// Slots of all bodies that each psv_sphere touches, as counts and a fixed number for each.
psv_status psv_overlap_bodies(psv_world *world, const psv_query_set *spheres, const psv_query_lists *lists);

// Settings that can be changed at any time between steps; steps that a graph has captured keep theirs. Values as in
// psv_world_def, as it stands now: psv_get_world_def (its names point into the world). Do not block, but for
// psv_set_gravity of a world whose bodies sleep.
psv_status psv_set_gravity(psv_world *world, const float gravity[3]);
psv_status psv_set_substeps(psv_world *world, uint32_t substeps);
psv_status psv_set_restitution_threshold(psv_world *world, float speed);
psv_status psv_set_push_speed(psv_world *world, float speed);
psv_status psv_get_world_def(const psv_world *world, psv_world_def *def);

// Friction (>= 0) and restitution (0 to 1) of all bodies of a shape, from the next step on; everything wakes. Errors:
// PSV_ERROR_ARGUMENT (a shape that the world does not have, a value out of range), PSV_ERROR_MEMORY. Blocks.
psv_status psv_set_shape_surface(psv_world *world, uint32_t shape, float friction, float restitution);

// Of one body; values as in psv_body_def. PSV_ERROR_ARGUMENT for a stale id and values out of range, PSV_ERROR_MEMORY
// (the first body of a world with such a value takes 16 bytes for each of max_bodies). Block.
psv_status psv_set_damping(psv_world *world, psv_body_id id, float linear, float angular);
psv_status psv_set_gravity_scale(psv_world *world, psv_body_id id, float scale);

// One frame of `seconds`, more than 0 and at most 1 (in def.substeps). Asynchronous on CUDA, can be captured; the
// captured step takes a sleeper that is hit for static, and wakes it for the next one.
// Errors: PSV_ERROR_ARGUMENT (seconds), PSV_ERROR_MEMORY (growth; the step has not happened), PSV_ERROR_DEVICE. The
// pair and contact buffers may grow between steps (see psv_world_def). After growth, and after bodies or shapes are
// created, a captured graph must be captured again.
psv_status psv_world_step(psv_world *world, float seconds);

uint64_t psv_world_body_count(const psv_world *world); // living bodies, static ones included
uint64_t psv_world_slot_count(const psv_world *world); // slots in use: the length of the arrays below

// Body arrays by slot, in memory of the context's backend, for reading and for programs that drive thousands of worlds;
// valid until bodies are created or the world is destroyed. Each slot is 4 floats. On CUDA a step may find too little
// room, or a sleeper that is hit. Such a step happens within the next call of psv_world_step or the next call that
// Blocks, such as psv_read_world_counters. Only after that call do the arrays show all steps.
psv_buffer psv_world_positions(const psv_world *world);          // x, y, z, bounding radius (0: empty slot)
psv_buffer psv_world_rotations(const psv_world *world);          // quaternion x, y, z, w
psv_buffer psv_world_velocities(const psv_world *world);         // x, y, z, inverse mass (0: static or kinematic)
psv_buffer psv_world_angular_velocities(const psv_world *world); // x, y, z, 0
psv_buffer psv_world_shape_indices(const psv_world *world);      // u32 per slot
psv_buffer psv_world_boxes(const psv_world *world);              // psv_aabb per slot, of the last step
// Input of the pair finder in the last step: boxes, filters, ... Flags are of the step's end: bodies that fell asleep
// in it are PSV_BOX_STATIC, bodies that left the world PSV_BOX_DISABLED.
psv_box_set psv_world_box_set(const psv_world *world);
psv_pair_finder *psv_world_pair_finder(const psv_world *world); // for pairs and statistics of the last step
// Live switch between steps; PSV_ERROR_UNSUPPORTED for an unknown name. The pair finder above is another one then.
psv_status psv_world_set_sort_method(psv_world *world, const char *sort_method); // Blocks
psv_status psv_world_set_broad_phase(psv_world *world, const char *broad_phase); // Blocks
// From the next step on, `context`, an OpenGL context that outlives the world or this setting, finds the pairs of a
// world on the CPU; NULL: the world's own context again. Boxes are sent and pairs come back in each step; bodies move
// as without it. psv_world_pair_finder is then of that context; its method is the world's, or "auto" where OpenGL lacks
// that. In a profile the whole work is PSV_PHASE_SWEEP. Errors: PSV_ERROR_UNSUPPORTED for other backends,
// PSV_ERROR_MEMORY. Blocks.
psv_status psv_world_find_pairs_on(psv_world *world, psv_context *context);

// Checks of the pairs while the world runs, by psv_check_pairs: some bodies' boxes against those of all bodies.
typedef struct psv_world_check {
    uint64_t steps;          // that were checked; one that began again, for room or a sleeper's sake, counts each time
    uint64_t boxes, pairs;   // sums of psv_pair_check
    uint64_t missing, extra; // likewise: both 0 when all is well
    uint64_t first_step;     // psv_world_counters.frame of the first difference; 0: none
    psv_pair first;          // its pair, by slots
    bool first_is_missing;   // else the pair is too many
    double ms, elapsed_ms;   // that the checks took, of the time from the first checked step to the last step
} psv_world_check;

// From the next step on, as many steps are checked as this share of the time allows (0.02 is 2%; 0: none). The first
// one is checked. A step that is checked Blocks on CUDA; steps that a graph captures are not checked. Sets all sums to
// zero. PSV_ERROR_ARGUMENT: share is not 0 to 1.
psv_status psv_check_world_pairs(psv_world *world, float share);
psv_status psv_read_world_check(const psv_world *world, psv_world_check *check);

// --- contacts and their events --------------------------------------------------------------------------------------
// For worlds with psv_world_def.contact_events: contacts and events of the last step, in memory of the context's
// backend. `a` and `b` are slots (id.index1 - 1), with the user data of both bodies (0 where no body of the world has
// any). On the CPU in the order of the pairs' slots, on CUDA in any order. The buffers have room for every contact that
// the world has room for and grow with it, so none is missing; they are valid until the next step or change of bodies.

// Two bodies that touch at the step's end: one of the list of contacts.
typedef struct psv_contact {
    uint32_t a, b;
    uint64_t user_a, user_b;
    float point[3];       // mean of the points, by their loads; world
    float normal[3];      // from a to b, likewise
    float separation;     // of the nearest points at the step's end, metres
    float normal_force;   // N, at the step's end: impulse of the last substep / its time
    float friction_force; // N
    uint32_t points;
} psv_contact;

// Two bodies that touch now and did not after the previous step, or the other way round. A contact ends when the bodies
// are apart by more than a hundredth of the lesser half width. Contacts of a destroyed body end with the next step,
// unless its slot has a new body by then.
typedef struct psv_contact_event {
    uint32_t a, b;
    uint64_t user_a, user_b;
} psv_contact_event;

// Two bodies that met at def.hit_speed or faster. They lost more than half of that speed in this step, and may be apart
// again.
typedef struct psv_hit_event {
    uint32_t a, b;
    uint64_t user_a, user_b;
    float point[3], normal[3]; // as above, of all points alike
    float speed;               // of approach before the step, m/s
    float impulse;             // N s along the normal, from this speed to the speed after the step
    uint32_t reserved[2];      // 0
} psv_hit_event;

typedef struct psv_event_counts {
    uint64_t contacts, begins, ends, hits;
} psv_event_counts;

// Empty buffers in worlds without contact events.
psv_buffer psv_world_event_counts(const psv_world *world); // one psv_event_counts
psv_buffer psv_world_contacts(const psv_world *world);     // psv_contact
psv_buffer psv_world_begin_events(const psv_world *world); // psv_contact_event
psv_buffer psv_world_end_events(const psv_world *world);   // psv_contact_event
psv_buffer psv_world_hit_events(const psv_world *world);   // psv_hit_event

// Data of the program by body; errors as of psv_set_damping. The buffer has a u64 per slot and is empty while no body
// of the world has had any.
psv_status psv_set_user_data(psv_world *world, psv_body_id id, uint64_t data);  // Blocks
psv_status psv_get_user_data(psv_world *world, psv_body_id id, uint64_t *data); // Blocks
psv_buffer psv_world_user_data(const psv_world *world);

// Shapes, for drawing.
uint32_t psv_world_shape_count(const psv_world *world);
psv_status psv_world_shape(const psv_world *world, uint32_t shape, psv_shape_def *def); // arrays point into the world

// Of the last step, where nothing else is said.
typedef struct psv_world_counters {
    uint64_t frame;                            // steps since creation
    uint64_t bodies;                           // living ones, static ones included
    uint64_t pairs;                            // of overlapping boxes
    uint64_t contacts;                         // contact points
    uint64_t asleep;                           // bodies that sleep
    uint64_t lost_bodies;                      // taken out because they left the bounds or became NaN, since creation
    uint32_t colours;                          // groups of contacts that are solved one after another
    uint64_t candidates;                       // box pairs tested, 0 where the broad phase does not count them
    uint32_t sort_passes, sort_passes_skipped; // of the broad phase's sort
    const char *broad_phase, *route, *veto; // of the last step, as in psv_pair_statistics; NULL before the first step
} psv_world_counters;

psv_status psv_read_world_counters(psv_world *world, psv_world_counters *counters); // Blocks
psv_status psv_world_profile(psv_world *world, psv_profile *profile); // does not block, see psv_read_profile

// Kinetic plus potential energy (J; heights from y = 0; with self_gravity that of all pairs, in time quadratic in the
// bodies) and momentum (kg m/s) of all bodies that are not static. Blocks: the host works on a copy of all bodies.
psv_status psv_world_energy(psv_world *world, double *energy, double momentum[3]);

// A number that is the same for worlds whose bodies have the same poses and velocities, bit by bit (0 and -0 are the
// same), in the same slots: by it programs compare runs, peers and machines. The same for any number of threads, for a
// world that a snapshot restored, and on the CPU and CUDA. CPU and CUDA differ with self_gravity, and where a moving
// body has more than 24 contacts. Blocks: the host works on a copy of all bodies. Errors: PSV_ERROR_ARGUMENT (hash is
// NULL), PSV_ERROR_MEMORY.
psv_status psv_world_hash(psv_world *world, uint64_t *hash);

// Writes the exact state to a versioned binary file and restores it, bit for bit. A broad phase or sorting method that
// this build lacks is replaced by the default. State of a scene is not included: emitters, turning gravity, kicks. A
// restored world is one that calls of this header can make: every field of the file is checked against the others.
// Errors: PSV_ERROR_FILE, PSV_ERROR_FORMAT (a damaged file, a state that no world can have, another version or byte
// order), PSV_ERROR_MEMORY; *world is NULL then. Block.
psv_status psv_save_snapshot(psv_world *world, const char *path);
psv_status psv_restore_snapshot(psv_context *context, const char *path, psv_world **world);

// --- states to return to --------------------------------------------------------------------------------------------
// For rollback: states of the world in memory of its backend, numbered from 0. What a snapshot holds is in a state, and
// contacts and events of the last step too. A world that has returned repeats its steps bit by bit, events included,
// and bodies created again get the ids that they had. Shapes are no part of a state: those made since stay, so make all
// shapes first. Neither are methods, sizes of buffers and the state of a scene. A captured graph must be captured again
// after a return to other bodies. Errors: PSV_ERROR_MEMORY, PSV_ERROR_UNSUPPORTED (while a graph is captured).

// Memory for `count` states of max_bodies bodies and as many contacts as the world has room for; states kept before are
// forgotten. 0 gives it back. Blocks.
psv_status psv_world_reserve_states(psv_world *world, uint32_t count);
// Keeps the world as it is as state number `state`, in place of what was kept there. Allocates only after the world's
// room for contacts has grown. PSV_ERROR_ARGUMENT: state is not below the reserved count. Waits for the steps, not for
// the copy.
psv_status psv_world_keep(psv_world *world, uint32_t state);
// The world becomes what it was when `state` was kept; the state stays kept. Queries, the finder's pairs and counters
// are those of a restored world. PSV_ERROR_ARGUMENT: nothing is kept there. After PSV_ERROR_MEMORY the world is as
// before. Blocks.
psv_status psv_world_return(psv_world *world, uint32_t state);

// --- meshes ---------------------------------------------------------------------------------------------------------

// A triangle mesh in host memory. Faces of more than three corners were split into a fan around their first corner.
typedef struct psv_mesh {
    float *positions; // 3 per vertex, as in the file, rounded to float; may be NaN or infinite where the file says so
    uint32_t *triangles; // 3 vertex numbers per triangle, all < vertex_count
    uint32_t vertex_count;
    uint32_t triangle_count;
} psv_mesh;

// Reads a mesh file: PLY (ascii and both binary byte orders), OBJ or STL (ascii and binary; equal corners become one
// vertex). The content decides the format, otherwise the name. context (may be NULL) only takes the sentence of an
// error. Errors: PSV_ERROR_FILE, PSV_ERROR_FORMAT (file, reason, line or offset), PSV_ERROR_MEMORY; *mesh is then
// empty.
psv_status psv_load_mesh(psv_context *context, const char *path, psv_mesh *mesh);
void psv_free_mesh(psv_mesh *mesh); // and clears it. NULL and empty meshes are allowed

// --- scenes ---------------------------------------------------------------------------------------------------------

typedef struct psv_scene_options {
    uint32_t cookie; // set by psv_default_scene_options
    uint64_t bodies; // 0: as the scene says
    uint64_t seed;   // used where has_seed is set
    bool has_seed;
    const char *broad_phase; // NULL: as the scene says
    const char *sort_method; // NULL: as the scene says
    bool sleeping;           // psv_world_def.sleeping, where the scene has no gravity of its bodies; default false
    bool contact_events;     // psv_world_def.contact_events; a snapshot has its own; default false
} psv_scene_options;

psv_scene_options psv_default_scene_options(void);

// A loaded scene: its world, and the effects of each frame (emitters, turning gravity, Brownian kicks).
// scenes/scene.schema.json describes the files.
typedef struct psv_scene psv_scene;

// Loads a scene file, or a shipped scene by name («drop»); shipped scenes are part of the library. A name without '/'
// and ".json" is that of a shipped scene. A file of psv_save_snapshot is a scene without effects and without a camera:
// psv_scene_view gives zeros, and options must be the default ones. options may be NULL. Errors: PSV_ERROR_FILE (no
// such file or scene), PSV_ERROR_FORMAT (line and column), PSV_ERROR_UNSUPPORTED (unknown method), PSV_ERROR_MEMORY
// (with the bytes needed); *scene is NULL then. Blocks.
psv_status psv_load_scene(psv_context *context, const char *name_or_path, const psv_scene_options *options,
                          psv_scene **scene);
void psv_destroy_scene(psv_scene *scene); // and its world. NULL is allowed
psv_world *psv_scene_world(psv_scene *scene);
const char *psv_scene_name(const psv_scene *scene);
uint64_t psv_scene_seed(const psv_scene *scene);                            // that its random numbers came from
float psv_scene_frame_seconds(const psv_scene *scene);                      // time of one frame, e.g. 1/60
void psv_scene_view(const psv_scene *scene, float eye[3], float target[3]); // suggested camera; both may be NULL

// Applies the scene's changes, then steps its world by psv_scene_frame_seconds. Errors and blocking as psv_world_step;
// emitters block while they create bodies.
psv_status psv_scene_step(psv_scene *scene);
// The same for a frame of `seconds`, more than 0 and at most 1, e.g. for slow motion: gravity turns and emitters emit
// by that much of a frame.
psv_status psv_scene_step_by(psv_scene *scene, float seconds);

// psv_world_keep and psv_world_return of the scene's world, together with the scene's own state: how far emitters and
// turning gravity are. States are reserved for the world (psv_world_reserve_states). A scene that has returned repeats
// its steps bit by bit. A return of the world alone leaves the scene's state as it is. Errors and blocking: likewise.
psv_status psv_scene_keep(psv_scene *scene, uint32_t state);
psv_status psv_scene_return(psv_scene *scene, uint32_t state);

// Shipped scenes: name and one line about it. NULL past the end.
const char *psv_shipped_scene_name(uint32_t index);
const char *psv_shipped_scene_description(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
