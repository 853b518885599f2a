// Internals of scenes: the content of a scene file, and the bodies that its generators make.
#ifndef PAIRSIEVE_SCENE_H
#define PAIRSIEVE_SCENE_H

#include "../world/world.h"
#include "scene_json.h"

#define PSVI_MAX_EMITTERS 8

// A shape of the file: one shape of the world, or several sizes of it with how often each is taken.
typedef struct psvi_scene_shape {
    char name[48];
    uint32_t first, count; // shapes of the world
    uint32_t colours;      // that each size comes in, one behind the other
    float *radius;         // bounding radius of each
    float *weight;         // sums to 1
} psvi_scene_shape;

typedef struct psvi_emitter {
    psv_body_def *bodies;
    uint64_t count, done;
    float rate; // bodies a second
} psvi_emitter;

// What steps change in a scene beside its world.
typedef struct psvi_scene_moment {
    uint64_t frame;
    double frames;
    v3 axis, gravity;
    uint64_t done[PSVI_MAX_EMITTERS];
} psvi_scene_moment;

struct psv_scene {
    psv_context *context;
    psv_world *world;
    char name[64];
    float frame_seconds;
    float eye[3], target[3];
    uint64_t frame, seed, bodies; // frame: steps
    double frames;                // of frame_seconds: time, in frames
    // «gravity»: an axis turns about z, gravity turns about the axis
    bool turns_gravity;
    float turn_radians; // per frame
    v3 axis, gravity;
    // «brownian»
    float kick_share, kick_speed;
    psvi_emitter emitters[PSVI_MAX_EMITTERS];
    uint32_t emitter_count;
    psvi_scene_moment *moments; // kept, by the state's number
    uint32_t moment_count;
};

// What is known while a scene is built.
typedef struct psvi_builder {
    psv_scene *scene;
    const psvi_document *document;
    const char *folder; // of the scene file, for meshes; NULL for shipped scenes
    psv_world_def world;
    psvi_scene_shape *shapes;
    uint32_t shape_count;
    psv_shape_def *shape_defs; // in the order of the world's shapes; arrays owned
    uint32_t shape_def_count, shape_def_room;
    psv_body_def *bodies;
    uint64_t body_count, body_room;
    uint64_t wanted;   // bodies to generate
    float room_length; // 1 without a room
    uint64_t bodies_per_world;
    float world_spacing;
    float landscape_size; // 0: none
    uint64_t random;      // state
} psvi_builder;

uint64_t psvi_next_random(psvi_builder *b);
float psvi_random_float(psvi_builder *b); // [0, 1)

psv_status psvi_add_shape_def(psvi_builder *b, const psv_shape_def *def, uint32_t *index);
// Variants of a shape, which stand one behind the other, have their lists in common.
static inline bool psvi_shares_lists(const psv_shape_def *a, const psv_shape_def *b) {
    return (a->children != NULL && a->children == b->children) || (a->vertices != NULL && a->vertices == b->vertices);
}
psv_status psvi_add_body(psvi_builder *b, const psv_body_def *def);
psv_status psvi_read_shapes(psvi_builder *b, const psvi_node *shapes);
const psvi_scene_shape *psvi_find_shape(const psvi_builder *b, const char *name);
psv_status psvi_run_generators(psvi_builder *b, const psvi_node *generators);
float psvi_def_radius(const psv_shape_def *def);

// The shipped scenes, embedded at build time; ends with a NULL name.
typedef struct psvi_shipped_scene {
    const char *name, *description;
    const unsigned char *text;
    size_t length;
} psvi_shipped_scene;
extern const psvi_shipped_scene psvi_shipped_scenes[];

#endif
