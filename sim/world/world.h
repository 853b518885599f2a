// Internals of a world, shared by all rooms of sim (not installed).
#ifndef PAIRSIEVE_WORLD_H
#define PAIRSIEVE_WORLD_H

#include "../../core/context.h"
#include "../data/sim_data.h"
#include "pairsieve/sim.h"
#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_WORLD_COOKIE 0x70737677u // "psvw"
#define PSVI_MAX_PARTS 64u            // children of a compound, so that a point's feature fits 32 bits
#define PSVI_MOST_SUBSTEPS 64u        // of a step
#define PSVI_PENDING_STEPS 64u        // steps that may be enqueued before the host looks whether they happened

typedef struct psvi_world_shape {
    psv_shape_def def; // arrays are our own
    psvi_shape data;
    uint64_t triangle_nodes;
} psvi_world_shape;

struct psvi_sim_ops;
struct psvi_batch;
struct psvi_tree_query;
struct psvi_body_queries;
struct psvi_kept_state;

// Of psv_check_world_pairs. Seconds.
typedef struct psvi_world_check {
    float share;         // of the time; 0: nothing is checked
    double last;         // when pairs were last found; 0: not yet
    double credit, cost; // time that checks may take, and what one takes
    psv_world_check totals;
} psvi_world_check;

// What only the host knows of the bodies, and its counts: a kept state has them, and a snapshot.
typedef struct psvi_world_numbers {
    uint32_t *generation, *shape_of; // by slot
    uint32_t *free_slots;            // free_count of them
    uint8_t *alive;                  // by slot
    uint32_t slots;
    uint64_t free_count, living, lost_known, idle_steps, steps_asked;
    float most_gravity;
    bool driven_ground;
} psvi_world_numbers;

struct psv_world {
    uint32_t cookie;
    psv_context *context;
    const struct psvi_sim_ops *ops;
    psv_world_def def; // names are our own copies below
    char broad_phase[32], sort_method[32];
    psvi_sim sim;
    psv_pair_finder *finder;
    bool finder_used;   // it has a frame
    psv_sorter *sorter; // of contacts by pair, on the CPU
    uint64_t max_pairs;
    void *state;                            // the backend's own
    struct psvi_body_queries *queries;      // NULL until the first query
    struct psvi_pairs_elsewhere *elsewhere; // world_pairs.c; NULL: pairs are found on the world's context
    // bodies on the host
    uint32_t *generation; // by slot
    uint8_t *alive;       // by slot
    uint32_t *shape_of;   // by slot
    uint32_t *free_slots;
    uint64_t free_count, living, lost_known;
    // shapes
    psvi_world_shape *shapes;
    uint32_t shape_count;
    bool bounces;       // some shape has restitution
    bool anchors;       // some shape has corners: there is memory for contact_anchor.h
    bool rolls;         // some shape has rolling or spinning friction
    float most_gravity; // 1, or the largest scale of gravity that a body has had
    psvi_child *children;
    uint64_t child_count;
    float *heights;
    uint64_t height_count;
    psvi_mesh_node *nodes;
    uint64_t node_count;
    psvi_triangle *triangles;
    uint64_t triangle_count;
    psvi_hull *hulls; // behind the cube
    uint64_t hull_count, hulls_bytes;
    uint64_t shapes_bytes, children_bytes, heights_bytes, nodes_bytes, triangles_bytes; // of the backend's copies
    uint64_t terrain_bytes;
    uint32_t ground_worlds; // one more than the largest sub-world that ground has been in
    uint64_t ground_serial; // counts changes of ground bodies; 0: there was none yet
    bool driven_ground;     // some mesh has been kinematic: each step may change ground
    uint64_t list_serial;   // counts lists of ground bodies
    uint64_t body_serial;   // counts calls that make, destroy or place bodies
    // steps
    uint64_t steps_asked; // since creation, those that a full buffer has put off included
    uint64_t idle_steps;  // steps of a world without bodies: nothing is run for them
    psvi_step pending[PSVI_PENDING_STEPS];
    psvi_step next; // what a scene sets for the next step: gravity, kicks
    psvi_world_check check;
    // states that the program may return to (world_states.c)
    struct psvi_kept_state *states;
    uint32_t state_count;
};

// The arrays of bodies from which the next step goes on, as snapshots write them: name, type and part. Only worlds that
// write this part of a snapshot (snapshot_parts.h) have the array; 0: all have it. Steps make all other arrays anew.
// clang-format off
#define PSVI_BODY_STATE(X) \
    X(position, psvi_f4, 0) \
    X(rotation, psvi_f4, 0) \
    X(velocity, psvi_f4, 0) \
    X(angular_velocity, psvi_f4, 0) \
    X(shape, uint32_t, 0) \
    X(flags, uint8_t, 0) \
    X(filter, psv_box_filter, 0) \
    X(sub_world, uint32_t, 0) \
    X(box, psv_aabb, 0) \
    X(forces, psvi_f4, PSVI_SNAPSHOT_FORCES) \
    X(user, uint64_t, PSVI_SNAPSHOT_USER) \
    X(island, uint32_t, PSVI_SNAPSHOT_SLEEP) \
    X(still, float, PSVI_SNAPSHOT_SLEEP) \
    X(wake, uint8_t, PSVI_SNAPSHOT_SLEEP)
// clang-format on

// What a backend does for a world. Where a backend is not immediate, all is asynchronous except create, destroy and
// settle.
typedef struct psvi_sim_ops {
    bool sorts_contacts; // by pair, with the world's sorter and the arrays keys, order, sorted and leads
    bool grows_pairs;    // between steps, by what poll tells: the finder must not, for it would wait
    uint64_t (*own_bytes)(uint64_t bodies, uint64_t contacts, uint64_t points); // beside the arrays of psvi_sim
    psv_status (*create)(psv_world *world);
    void (*destroy)(psv_world *world);
    psv_status (*make_room)(psv_world *world); // the backend's own, for the present contact room
    // A call has changed or made these slots' bodies. NULL where each step looks at all bodies.
    void (*touch)(psv_world *world, uint64_t first, uint64_t count);
    psv_status (*begin)(psv_world *world, const psvi_step *step); // solver state and boxes
    // Says which of the step's boxes have moved, where few have. NULL: it never does.
    void (*pair_boxes)(psv_world *world, psv_box_set *boxes);
    psv_status (*attract)(psv_world *world, const psvi_step *step);        // self-gravity
    psv_status (*narrow)(psv_world *world, const psvi_step *step);         // contacts
    psv_status (*solve)(psv_world *world, const psvi_step *step);          // colours, substeps, bounce
    psv_status (*finish)(psv_world *world, const psvi_step *step);         // new poses, kept contacts
    psv_status (*batch)(psv_world *world, const struct psvi_batch *batch); // states and impulses of many bodies
    psv_status (*rest)(psv_world *world, const psvi_step *step);           // sleep (body_sleep.h), after finish
    // Contact events (contact_events.h): between solve and finish, and after finish.
    psv_status (*notice)(psv_world *world, const psvi_step *step);
    psv_status (*report)(psv_world *world, const psvi_step *step);
    psv_status (*forget)(psv_world *world); // kept contacts of the bodies whose `claim` is not 0
    // What is known, without waiting, about the steps done; false when nothing new is known. With `wait`: of all steps.
    bool (*poll)(psv_world *world, psvi_step_counts *counts, bool wait);
    // After a return to a kept state: what poll knows until the next step. NULL where poll reads the counts themselves.
    void (*believe)(psv_world *world, const psvi_step_counts *counts);
    // Queries (body_queries.h): a box of each slot for the tree; then the queries.
    psv_status (*query_boxes)(psv_world *world, psv_aabb *boxes);
    psv_status (*query_bodies)(psv_world *world, const struct psvi_tree_query *query);
} psvi_sim_ops;

// What a backend has for this layer.
typedef struct psvi_sim_module {
    const psvi_sim_ops *ops;              // NULL: it steps no worlds
    const struct psvi_render_ops *render; // sim/render/renderer.h
} psvi_sim_module;

extern const psvi_sim_module psvi_cpu_sim, psvi_cuda_sim;
extern const psvi_sim_ops psvi_sim_ops_cpu, psvi_sim_ops_cuda;         // those in this build
const psvi_sim_module *psvi_sim_module_of(psv_backend backend);        // NULL: it steps no worlds in this build
psv_status psvi_check_steps_worlds(psv_context *context);              // PSV_ERROR_UNSUPPORTED: it does not
const struct psvi_render_ops *psvi_render_ops_of(psv_backend backend); // NULL: it renders no pictures

// The world is not NULL and not destroyed.
psv_status psvi_check_world(const psv_world *world);

// Bytes of backend memory that a world of this def needs, its finder included.
uint64_t psvi_world_bytes(psv_backend backend, const psv_world_def *def);

// Memory of contacts and pairs: fails with the bytes asked for. Contents are lost, except kept contacts.
psv_status psvi_alloc_bodies(psv_world *world);
void psvi_free_bodies(psv_world *world);
psv_status psvi_alloc_contacts(psv_world *world, uint64_t contacts, uint64_t points);
void psvi_free_contacts(psv_world *world);
void psvi_touch_bodies(psv_world *world, uint64_t first, uint64_t count);
// Wakes the island of a body that sleeps; all islands.
psv_status psvi_wake_body(psv_world *world, uint32_t slot);
psv_status psvi_wake_all(psv_world *world);

// Arrays of contact events; room for `contacts`.
psv_status psvi_alloc_events(psv_world *world, uint64_t contacts);
void psvi_free_events(psv_world *world);
uint64_t psvi_event_bytes(uint64_t contacts);
psv_status psvi_need_rolls(psv_world *world);   // memory for rolling friction, if there is none yet
psv_status psvi_need_anchors(psv_world *world); // for points that are kept while bodies hardly move, likewise
psv_status psvi_grow_contacts(psv_world *world, uint64_t contacts, uint64_t points);
psv_status psvi_make_finder(psv_world *world, uint64_t max_pairs);

// After the pairs of a step are found, of these boxes: checks them where that is due.
psv_status psvi_check_step_pairs(psv_world *world, const psv_box_set *boxes);

// The context that finds the pairs. Where it is not the world's own: finds the step's pairs and sets the sim's.
typedef struct psvi_pairs_elsewhere psvi_pairs_elsewhere;
psv_context *psvi_pair_context(const psv_world *world);
psv_status psvi_find_pairs_elsewhere(psv_world *world, const psv_box_set *boxes);
void psvi_forget_elsewhere(psv_world *world);
psv_status psvi_pass_on(psv_world *world, psv_status status); // that context's sentence becomes the world's

// Checks a def.
psv_status psvi_check_world_def(psv_context *context, const psv_world_def *def);

// Memory for bodies with damping or a scale of gravity of their own, if there is none yet: PSV_ERROR_MEMORY.
psv_status psvi_need_forces(psv_world *world);
psv_status psvi_need_user(psv_world *world); // for bodies with user data, likewise
bool psvi_forces_are_good(float linear_damping, float angular_damping, float gravity_scale);

// The list of ground bodies. Room for it is taken before `more_ground` of them come (or go, -1) and `slots` are in use;
// the list itself is made after that, and takes the room. A reserved room that is not used is released.
typedef struct psvi_terrain_room {
    uint32_t *sub_world, *first, *list; // host
    void *fresh;                        // the new list in the backend's memory
    uint64_t bytes;
} psvi_terrain_room;

// A body of this shape is going to be in this sub-world: the list has places for sub-worlds that have had ground.
void psvi_note_ground(psv_world *world, uint32_t shape, uint32_t sub_world);
psv_status psvi_reserve_terrain(psv_world *world, uint64_t slots, int64_t more_ground, psvi_terrain_room *room);
psv_status psvi_list_terrain(psv_world *world, psvi_terrain_room *room);
void psvi_release_terrain(psv_world *world, psvi_terrain_room *room);
psv_status psvi_update_terrain(psv_world *world); // both, for the bodies there are

// Waits for all steps; those that a full buffer has put off are done then. Blocks. Call before host access to bodies.
psv_status psvi_settle(psv_world *world);
// Likewise, but OK at once while a CUDA graph is captured, when nothing may be waited for.
psv_status psvi_settle_unless_captured(psv_world *world);

// Host copies of the backend's arrays: transfers of elements [first, first + count).
psv_status psvi_read_array(psv_world *world, void *target, const void *source, uint64_t first, uint64_t count,
                           uint64_t stride);
psv_status psvi_write_array(psv_world *world, void *target, const void *source, uint64_t first, uint64_t count,
                            uint64_t stride);

void psvi_free_states(psv_world *world);
void psvi_put_world_numbers(psv_world *world, const psvi_world_numbers *numbers); // they become the world's

// Slot of a living body, or PSV_ERROR_ARGUMENT for a stale id.
psv_status psvi_find_body(psv_world *world, psv_body_id id, uint32_t *slot);
// The same after psvi_settle, of a world that is checked too.
psv_status psvi_find_settled(psv_world *world, psv_body_id id, uint32_t *slot);

// Shape storage.
void psvi_free_shapes(psv_world *world);
psv_status psvi_upload_shapes(psv_world *world);
// Nodes of a mesh's tree; sorts `triangles` into leaf order. Returns the node count; nodes: 2 * count at most.
uint32_t psvi_build_mesh_tree(psvi_triangle *triangles, uint32_t count, psvi_mesh_node *nodes);
// Fills `next` of a mesh in leaf order; `weld`, `one_sided`: as psv_shape_def says. False without memory.
bool psvi_link_mesh(psvi_triangle *triangles, uint32_t count, float weld, bool one_sided);

// Fills the step's softness from its times.
void psvi_make_step(const psv_world *world, float seconds, psvi_step *step);

static inline uint64_t psvi_power_of_two(uint64_t n) {
    uint64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

#ifdef __cplusplus
}
#endif
#endif
