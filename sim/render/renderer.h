// A renderer's memory, and the operations of a backend for a picture.
#ifndef PAIRSIEVE_RENDERER_H
#define PAIRSIEVE_RENDERER_H

#include "../world/world.h"
#include "render_scene.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_RENDERER_COOKIE 0x70737672u // "psvr"

// All asynchronous on GPUs.
typedef struct psvi_render_ops {
    psv_status (*items)(psv_context *context, const psvi_render_scene *scene);
    psv_status (*place)(psv_context *context, const psvi_render_scene *scene, uint64_t items);
    psv_status (*trace)(psv_context *context, const psvi_render_scene *scene);
    psv_status (*filter)(psv_context *context, const psvi_render_scene *scene);
    // Where worlds are the CPU's, in place of `items` and `place`: brings a world's bodies and ground to the device.
    psv_status (*load)(psv_renderer *renderer);
} psvi_render_ops;

extern const psvi_render_ops psvi_render_ops_cpu, psvi_render_ops_cuda; // of the backends in this build

struct psv_renderer {
    uint32_t cookie;
    psv_context *context;
    const psvi_render_ops *ops;
    psv_renderer_def def;
    psv_tree *tree;
    void *block; // all arrays except those of the ground
    uint64_t block_bytes;
    uint64_t part_room; // items for parts of compounds
    psvi_render_scene scene;
    // ground: trees of the shapes that are many triangles, and the list in the backend's memory
    psv_tree **shape_trees; // by shape; NULL where there is none
    uint32_t shape_tree_count;
    psvi_render_ground *ground;
    uint64_t ground_bytes, ground_serial;
    // with `load`: the list and the bodies on the host
    psvi_render_ground *host_ground;
    void *host_bodies;
    uint64_t host_bytes;
    // the last picture
    psv_picture_def last;
    uint64_t last_steps, last_bodies; // the world's steps_asked and body_serial
    bool has_last;
    psv_profile profile;    // of the newest picture whose times are known
    uint64_t last_recorded; // the last picture's number among the profile's frames; 0: it was not recorded
};

// Updates the ground from the world. If it has changed, this Blocks and allocates.
psv_status psvi_update_render_ground(psv_renderer *renderer);
void psvi_free_render_ground(psv_renderer *renderer);
psv_status psvi_give_ground_room(psv_renderer *renderer, uint64_t bytes); // of renderer->ground

#ifdef __cplusplus
}
#endif
#endif
