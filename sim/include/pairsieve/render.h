// pairsieve render: ray-traced pictures of a world's bodies, or of triangles, without a display. OpenGL and
// Vulkan render worlds of the CPU whose ground is planes.
//
// Each picture sorts the boxes of all bodies along a curve, builds a tree of them (pairsieve/tree.h) and traces rays
// through it: one from the eye through each pixel, and one to the sun and one to the sky from each surface found. Rays
// test the exact shapes. Mirrors and glass send rays on. While nothing moves, pictures add up; while something moves,
// the light is smoothed over neighbouring pixels of one surface. Random numbers depend on seed, frame and pixel alone
// (docs/how/rendering.md), so the same calls give the same picture; backends differ by rounding.
//
// On GPUs pictures are enqueued and nothing waits, except where a comment says «Blocks». A picture allocates nothing,
// unless shapes or ground bodies were added before it.
#ifndef PAIRSIEVE_RENDER_H
#define PAIRSIEVE_RENDER_H

#include "pairsieve/sim.h"
#include "pairsieve/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_renderer psv_renderer;

#define PSV_MAX_PICTURE_SIDE 16384u

typedef struct psv_renderer_def {
    uint32_t cookie;                // set by psv_default_renderer_def
    uint32_t max_width, max_height; // pixels of the largest picture, 1 to PSV_MAX_PICTURE_SIDE; default 1920 x 1080
    psv_world *world;               // its bodies are drawn; NULL (default): triangles. Must outlive the renderer. For
                                    // OpenGL and Vulkan a world of a context on the CPU
    uint64_t max_triangles;         // without a world: most triangles of a picture, 1 to 2^30; default 0
    psv_tree_quality quality;       // of the tree that is made for each picture; default PSV_TREE_LINEAR
    const char *sort_method;        // sorter of the tree's keys, see pairsieve/sort.h; default "radix"
} psv_renderer_def;

psv_renderer_def psv_default_renderer_def(void);

// Errors: PSV_ERROR_ARGUMENT (a field out of range, a world of another context), PSV_ERROR_UNSUPPORTED (the backend has
// no pictures, or none by this tree; a world of a GPU for OpenGL or Vulkan; unknown sort_method), PSV_ERROR_MEMORY
// (with the bytes needed: 128 a pixel, 80 a body, the tree). Blocks.
psv_status psv_create_renderer(psv_context *context, const psv_renderer_def *def, psv_renderer **renderer);
void psv_destroy_renderer(psv_renderer *renderer); // NULL is allowed. Blocks

typedef struct psv_camera {
    float eye[3], target[3]; // metres; not the same place
    float up[3];             // any direction but that of the view; default (0, 1, 0)
    float field;             // vertical angle of view, radians, more than 0 and at most 3; default pi / 4
} psv_camera;

typedef enum psv_sky {
    PSV_SKY_AUTO = 0, // space where the world has no plane, height field or mesh, else day
    PSV_SKY_DAY = 1,
    PSV_SKY_SPACE = 2 // dark, without light
} psv_sky;

typedef enum psv_shading {
    PSV_SHADING_DAYLIGHT = 0, // sun and sky by random rays, smoothed
    PSV_SHADING_PHONG = 1     // Phong's formula with one ray to the middle of the sun and highlights by a gloss map
                              // (docs/how/rendering.md): no noise, nothing smoothed. sun_radius and denoise are unused
} psv_shading;

typedef struct psv_picture_def {
    uint32_t cookie;        // set by psv_default_picture_def
    uint32_t width, height; // pixels, within the renderer's; default 960 x 540
    psv_camera camera;
    float sun[3];        // direction to the sun, not zero; default (0.42, 0.80, 0.43)
    float sun_radius;    // half the angle that the sun fills, radians, 0 (hard shadows) to 0.5; default 0.02
    psv_sky sky;         // default PSV_SKY_AUTO
    psv_shading shading; // default PSV_SHADING_DAYLIGHT
    float mirrors;       // share of the bodies, ground aside, that are mirrors, 0 to 1; default 0.04
    float glass;   // likewise of glass: balls, boxes, capsules and hulls; the two shares sum to 1 at most; default 0.04
    bool denoise;  // smooth the light over surfaces; less the more pictures have added up; default true
    bool rests;    // nothing has moved since the last picture: the samples of this one are added to it. Taken as
                   // false where camera, size, light or materials changed, or the world was stepped, or had bodies
                   // made, destroyed or placed by calls. default false
    uint32_t seed; // of the random numbers, with frame; default 1
    uint32_t frame; // another one for each picture; default 0
} psv_picture_def;

psv_picture_def psv_default_picture_def(void);

// What the ray through a pixel's centre (of a picture that rests: near it) met first, for tests and masks.
typedef struct psv_pixel_hit {
    float t;         // metres from the eye; infinite: sky
    uint32_t slot;   // of the body (id.index1 is slot + 1), or the triangle; PSV_NO_ITEM: sky
    float normal[3]; // unit, to the eye; 0: sky
    float sun, sky;  // share of this picture's rays that reached the sun and the sky, 0 or 1; behind mirrors and glass,
                     // of the surface that is seen in or through them
    uint32_t reserved;
} psv_pixel_hit;

// One picture of the renderer's world as it is now. pixels: width * height u32, rows from the top, red in the lowest
// byte, then green, blue and 255; sRGB. hits: empty, or a psv_pixel_hit for each pixel.
// Errors: PSV_ERROR_ARGUMENT (a field out of range, a buffer too small or misaligned; the renderer has no world),
// PSV_ERROR_MEMORY (trees of new ground), PSV_ERROR_DEVICE. On OpenGL and Vulkan also PSV_ERROR_UNSUPPORTED (height
// fields and meshes as ground) and PSV_ERROR_CAPACITY (shapes of more parts since the renderer was made). Waits for
// steps that found too little room.
psv_status psv_render_world(psv_renderer *renderer, const psv_picture_def *picture, psv_buffer pixels, psv_buffer hits);

// The same of triangles, which have no mirrors and no glass. `worlds` of the set are not looked at. Also
// PSV_ERROR_UNSUPPORTED: on OpenGL and Vulkan the pixels, 32 bytes each with `hits`, must fit into a storage block.
psv_status psv_render_triangles(psv_renderer *renderer, const psv_triangle_set *triangles,
                                const psv_picture_def *picture, psv_buffer pixels, psv_buffer hits);

// Of the renderer's last picture; times in milliseconds, 0 unless psv_enable_profile was on (or when several frames
// were begun after it before the device had done it).
typedef struct psv_render_statistics {
    uint64_t items;     // of the tree: bodies, ground aside, of compounds their parts; triangles
    uint64_t bad_items; // left out, see pairsieve/tree.h
    uint64_t rays;      // of all kinds
    uint32_t added_up;  // pictures that this one is the sum of
    double frame_ms;    // the whole picture: the parts below
    double bounds_ms;   // boxes of the bodies
    double keys_ms;     // places along the curve
    double sort_ms;     //
    double build_ms;    // the tree's nodes and items
    double trace_ms;    // all rays
    double filter_ms;   // smoothing, colours
    double rays_per_second;
    double sort_share; // sort_ms / frame_ms
} psv_render_statistics;

psv_status psv_read_render_statistics(psv_renderer *renderer, psv_render_statistics *statistics); // Blocks

#ifdef __cplusplus
}
#endif
#endif
