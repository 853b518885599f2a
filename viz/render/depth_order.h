// Bodies in sorted order, by pairsieve's own sorter: far to near for transparent drawing (Sintorn & Assarsson's
// application), or by row and x as the row-sorted sweep sees them.
#ifndef PAIRSIEVE_VIEW_DEPTH_ORDER_H
#define PAIRSIEVE_VIEW_DEPTH_ORDER_H

#include "view_renderer.h"

#include "pairsieve/sort.h"

typedef enum view_order_mode { VIEW_ORDER_DEPTH = 0, VIEW_ORDER_ROWS = 1 } view_order_mode;

typedef struct view_order {
    psv_context *context; // own; works on the world's stream, so that the world's profile is left alone
    psv_sorter *sorters[2];
    // On the renderer's OpenGL context, with the streams' buffers as they are: for bodies of the CPU backend, where
    // that was asked for.
    psv_context *gl;
    psv_sorter *gl_sorters[2];
    bool measure[2]; // for each mode: whether its faster order must still be measured
    bool on_gl[2];
    char method[16];
    uint64_t room;
    uint32_t *keys, *index;               // host copies; not used with interop
    psv_buffer device_keys, device_index; // CUDA without interop
    double sort_ms;                       // of the newest finished sort
    double all_ms;                        // keys, sort and copies, by the host's clock
} view_order;

// `order_on`: "cpu" (or NULL), "gl" or "auto", for a world on the CPU; the renderer's OpenGL context is current, also
// when it is destroyed.
bool view_create_order(view_order *order, psv_context *world_context, const char *order_on, view_message *message);
void view_destroy_order(view_order *order);

// Writes the order stream. Call view_set_frame first: the renderer's constants hold the view.
bool view_sort_bodies(view_order *order, view_order_mode mode, const char *method, view_renderer *renderer,
                      view_streams *streams, psv_world *world, const float row_origin[4], view_message *message);

// The keys, as keys.comp computes them.
uint32_t view_depth_key(const float position[4], const float eye[3], const float forward[3]);
uint32_t view_row_key(const float position[4], const float row_origin[4]);

#endif
