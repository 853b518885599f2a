// What a picture is made from, as one struct that the CPU's loops and the CUDA kernels both take by value.
#ifndef PAIRSIEVE_RENDER_SCENE_H
#define PAIRSIEVE_RENDER_SCENE_H

#include "../../collision/src/queries/tree_query.h"
#include "../queries/body_query.h"
#include "pairsieve/render.h"

#define PSVI_RENDER_BOUNCES 6  // mirrors and panes of glass that a ray meets one after another
#define PSVI_RENDER_PASSES 5   // of the filter: 2^5 pixels to each side
#define PSVI_RENDER_ENOUGH 64u // pictures that need no smoothing when they have added up

// Planes, and static shapes of many triangles, each with a tree in its own frame.
typedef struct psvi_render_ground {
    uint32_t slot;
    uint32_t type; // psv_shape_type
    v3 position;   // of a plane any point
    quat rotation;
    v3 up; // of a plane
    psv_tree_view tree;
} psvi_render_ground;

#define PSVI_RENDER_PART 0x100u // added to the psv_shape_type of a part of a compound

// What the tree is made of (render_place.h).
typedef struct psvi_render_items {
    psv_aabb *boxes;
    uint32_t *part_slots; // of the items that follow the items of the slots
    uint8_t *parts;       // likewise: which part
    uint64_t *count;      // in use, may exceed the room; with parts alone
    uint64_t room;
} psvi_render_items;

// A body or a part as shaders take it (sim/render/gpu/picture_rays.glsl).
typedef struct psvi_gpu_body {
    psvi_f4 centre; // w: the radius of balls, 0 of others
    psvi_f4 turn;
    psvi_f4 size; // w: bits of the psv_shape_type and PSVI_RENDER_PART, PSVI_GPU_ODD_SHAPE, PSVI_GPU_MOVES
    float radius; // of a sphere about the body
    uint32_t slot;
    uint32_t first_plane;  // of a hull, in the list
    uint32_t planes_paint; // the hull's number of planes above 24 bits of the shape's colour (psvi_shape.paint)
} psvi_gpu_body;

#define PSVI_GPU_ODD_SHAPE 0x200u // the body's shape has an odd number
#define PSVI_GPU_MOVES 0x400u     // it is not static

// Bodies in the order of the tree's items, so that the rays of neighbouring pixels read neighbouring bodies.
typedef struct psvi_render_bodies {
    uint32_t *slots;
    psvi_f4 *centres; // w: the radius of balls, 0 of others
    psvi_f4 *turns;   // rotation; not of balls
    psvi_f4
        *sizes; // half extents; radius and half length of capsules. w: bits of the psv_shape_type and PSVI_RENDER_PART
    psvi_gpu_body *records; // on OpenGL and Vulkan in place of the others, by the items' numbers
} psvi_render_bodies;

// One value a pixel each.
typedef struct psvi_render_pixels {
    psvi_f4 *surface;  // normal; w: length of the way from the eye, infinite for sky
    psvi_f4 *albedo;   // share of the light that reaches the eye
    psvi_f4 *emission; // light that reaches the eye without it
    psvi_f4 *place;    // where rays to sun and sky begin
    psvi_f4 *light;    // mean of the pictures that have added up
    psvi_f4 *colour;   // the same of the whole colour, w: 1
    psvi_f4 *smooth[2];
    psv_pixel_hit *hits; // NULL: not wanted
    uint32_t *final;
} psvi_render_pixels;

typedef struct psvi_render_scene {
    psvi_sim sim; // not of triangles
    psv_tree_view tree;
    bool has_bodies;
    psvi_render_items items;
    psvi_render_bodies bodies;
    const psvi_render_ground *ground;
    uint32_t ground_count;
    psvi_render_pixels pixels;
    uint64_t *rays; // counter
    // the picture
    uint32_t width, height;
    v3 eye, forward, right, up; // right and up are as long as half the picture at a distance of 1
    float pixel;                // width of one at a distance of 1
    float scale;                // distance of eye and target
    float cell;                 // of the grid on planes
    v3 sun, sun_right, sun_up;  // the latter two as long as the sun's radius at a distance of 1
    bool space;
    bool phong;
    float mirrors, glass;
    uint32_t seed, frame;
    uint32_t added_up; // pictures before this one
    uint32_t passes;   // of the filter
} psvi_render_scene;

#endif
