// The window and its OpenGL 4.5 core context, on any of SDL's drivers (x11, wayland, offscreen).
#ifndef PAIRSIEVE_VIEW_WINDOW_H
#define PAIRSIEVE_VIEW_WINDOW_H

#include "../render/gl_util.h"

#include <SDL.h>

typedef struct view_window {
    SDL_Window *window;
    SDL_GLContext context;
    char renderer[96];    // name of the OpenGL device
    uint64_t block_limit; // bytes of a shader storage block
    uint64_t offset_step; // alignment of shader storage ranges
    float largest_point;  // pixels
    bool can_tell_reset;  // glGetGraphicsResetStatus works
} view_window;

// Opens a window; hidden when `headless`, which prefers SDL's offscreen driver. False with a message that names what is
// missing and the remedy.
bool view_open_window(view_window *window, int width, int height, bool headless, view_message *message);
void view_close_window(view_window *window); // a window that failed to open is allowed

// False when the graphics device was lost.
bool view_window_is_alive(const view_window *window);

#endif
