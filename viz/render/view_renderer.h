// Draws a frame: shadow map, bodies, surfaces, overlays, occlusion, and the picture that the panel is drawn over.
#ifndef PAIRSIEVE_VIEW_RENDERER_H
#define PAIRSIEVE_VIEW_RENDERER_H

#include "../app/options.h"
#include "../app/streams.h"
#include "../app/window.h"
#include "camera.h"
#include "model.h"

// As block Frame of common.glsl (std140).
typedef struct view_constants {
    float view_projection[16];
    float light_matrix[16];
    float cull_planes[6][4];
    float eye[4];
    float forward[4];
    float across[4];
    float upward[4];
    float light[4];
    float viewport[4];
    float look[4];
    float ground[4];
    float shadow_map[4];
    uint32_t frame_counts[4];
    uint32_t glass[4];
    float cut[4];
    uint32_t selection[4];
} view_constants;

#define VIEW_TIMERS 4

// Stages of a picture, timed by the GPU.
typedef enum view_stage {
    VIEW_STAGE_SHADOWS = 0,
    VIEW_STAGE_BODIES = 1,
    VIEW_STAGE_SURFACES = 2,
    VIEW_STAGE_LIGHT = 3,
    VIEW_STAGE_BLEND = 4, // glass and overlays
    VIEW_STAGE_COMPOSE = 5,
    VIEW_STAGE_COUNT = 6
} view_stage;

#define VIEW_LISTS 4 // points, spheres, boxes, and shapes drawn by rays within their boxes: capsules, hulls

typedef struct view_programs {
    GLuint cull, commands, order, keys, values;
    GLuint point, sphere, box, cast, ordered, surface, clear_surface;
    GLuint shadow_point, shadow_box, shadow_hull, shadow_surface;
    GLuint box_lines, pair_lines, order_lines, speed_lines, contact_lines;
    GLuint occlusion, light, composite, traced;
} view_programs;

typedef struct view_targets {
    int width, height, samples;
    GLuint albedo, normal, depth, open; // of opaque surfaces
    GLuint colour, final, shadow;
    GLuint scene, blend, picture, shadow_map; // framebuffers
    int shadow_size;
} view_targets;

typedef struct view_renderer {
    view_programs programs;
    view_targets targets;
    view_constants constants;
    GLuint constants_buffer;
    GLuint empty_array;              // vertex array without attributes
    GLuint hull_array, hull_indices; // 18 indices of a box's near faces
    GLuint lists[VIEW_LISTS];
    uint64_t rooms[VIEW_LISTS];        // instances
    GLuint counters, commands, totals; // totals: counters of all chunks, read two frames later
    GLuint values;                     // a colour value a body
    uint64_t value_room;
    const uint32_t *totals_mapped;
    GLuint timers[VIEW_TIMERS][VIEW_STAGE_COUNT + 1]; // the start, then the end of each stage
    uint64_t timer_frame;
    uint64_t block_limit, offset_step;
    double stage_ms[VIEW_STAGE_COUNT];
    double draw_ms;             // GPU time of the newest finished frame
    uint32_t drawn[VIEW_LISTS]; // instances of that frame
    uint64_t chunks;            // of the last frame
} view_renderer;

// The input of a picture. The streams hold the bodies; order and values are present where the mode needs them.
typedef struct view_frame {
    const view_camera *camera;
    const view_streams *streams;
    const view_model *model;
    view_colour_mode colour;
    uint32_t overlays;
    uint32_t picked; // slot + 1
    bool shadows;
    bool ordered; // draw transparent, in the order stream's order
    bool clear;   // bodies are as clear as their shapes; if not `ordered`, those alone are in the order stream's order
    float cell_edge;
    float speed_scale;
    float pair_scale;
    float metres_per_newton; // of lines of contact forces
} view_frame;

bool view_create_renderer(view_renderer *renderer, const view_window *window, uint64_t block_limit,
                          view_message *message);
void view_destroy_renderer(view_renderer *renderer);
bool view_resize_renderer(view_renderer *renderer, int width, int height, int samples, view_message *message);

// Sets the constants for a frame; needed before view_render, and before keys are computed.
void view_set_frame(view_renderer *renderer, const view_frame *frame);
bool view_render(view_renderer *renderer, const view_frame *frame, view_message *message);

// Shows the picture stream, of width x height pixels, in place of a frame that is drawn.
void view_show_traced(view_renderer *renderer, const view_streams *streams, int width, int height);

// Leaves the picture's framebuffer bound, for the panel.
void view_bind_picture(const view_renderer *renderer);
void view_show_picture(const view_renderer *renderer, int window_width, int window_height);

// Reads the picture, top row first, 3 bytes a pixel.
void view_read_picture(const view_renderer *renderer, uint8_t *pixels);

// Fills the colour values: pairs a body (from the pair stream) or ranks (from the order stream).
bool view_fill_values(view_renderer *renderer, const view_streams *streams, view_colour_mode mode,
                      view_message *message);

// Writes the key stream on the GPU. mode 0: depth; mode 1: rows, with the least corner and 1 / edge.
void view_fill_keys(view_renderer *renderer, const view_streams *streams, uint32_t mode, const float row_origin[4]);

// --- between renderer.c, draw_bodies.c and overlays.c ----------------------------------------------------------------
bool view_draw_bodies(view_renderer *renderer, const view_frame *frame, bool for_light, view_message *message);
bool view_draw_ordered(view_renderer *renderer, const view_frame *frame, view_message *message);
void view_draw_surfaces(view_renderer *renderer, const view_frame *frame, bool for_light);
// Surfaces with an opacity, over what is drawn: of their back sides or of their front sides.
void view_draw_clear_surfaces(view_renderer *renderer, const view_frame *frame, bool front);
void view_draw_overlays(view_renderer *renderer, const view_frame *frame);
void view_upload_constants(view_renderer *renderer);
uint64_t view_chunk_bodies(const view_renderer *renderer, const view_model *model);

#endif
