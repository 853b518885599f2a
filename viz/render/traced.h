// The ray-traced mode: pairsieve/render.h makes the picture, OpenGL only shows it. With CUDA it is written to OpenGL's
// buffer on the device; on the CPU it has fewer pixels as long as something moves.
#ifndef PAIRSIEVE_VIEW_TRACED_H
#define PAIRSIEVE_VIEW_TRACED_H

#include "view_renderer.h"

#include "pairsieve/render.h"

typedef struct view_traced {
    psv_renderer *renderer; // NULL until the first picture
    uint32_t max_width, max_height;
    psv_buffer pixels; // the renderer's, where they go through the host
    uint32_t width, height;
    uint32_t coarse;    // pixels of the window, a side, that get one of the picture in motion; 0: not known yet
    double coarse_ms;   // of the last such picture
    bool whole;         // the last picture has a pixel for each of the window
    uint32_t still;     // pictures in a row, before this one, of the same state and camera
    view_camera camera; // of the last picture
    uint32_t frame;
    psv_render_statistics statistics; // of the last picture
} view_traced;

// Makes a picture of the world as it is into the picture stream and shows it in the renderer's target. rests: nothing
// has moved since the last one. With `whole` no pixels are saved. False with a message when memory or the device
// failed.
bool view_draw_traced(view_traced *traced, psv_world *world, view_streams *streams, view_renderer *renderer,
                      const view_camera *camera, bool rests, bool whole, view_message *message);

void view_destroy_traced(view_traced *traced, psv_context *context); // before the world goes

#endif
