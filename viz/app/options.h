// The command line of pairsieve-view.
#ifndef PAIRSIEVE_VIEW_OPTIONS_H
#define PAIRSIEVE_VIEW_OPTIONS_H

#include "../render/gl_util.h"
#include "pairsieve/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum view_colour_mode {
    VIEW_COLOUR_BODY = 0,
    VIEW_COLOUR_STATE = 1,
    VIEW_COLOUR_PAIRS = 2,
    VIEW_COLOUR_CELL = 3,
    VIEW_COLOUR_RANK = 4,
    VIEW_COLOUR_COUNT = 5
} view_colour_mode;

const char *view_colour_name(view_colour_mode mode); // "body", "state", ...

// Overlays, as bits.
typedef enum view_overlay {
    VIEW_OVERLAY_BOXES = 1,
    VIEW_OVERLAY_PAIRS = 2,
    VIEW_OVERLAY_CELLS = 4,
    VIEW_OVERLAY_ORDER = 8,
    VIEW_OVERLAY_SPEEDS = 16,
    VIEW_OVERLAY_FORCES = 32
} view_overlay;

#define VIEW_OVERLAY_COUNT 6
const char *view_overlay_name(uint32_t index); // "boxes", "pairs", "cells", "order", "speeds", "forces"

typedef struct view_options {
    const char *scene; // name or path; default "drop"
    const char *screenshot;
    const char *video;
    const char *csv;
    const char *trace;
    const char *replay;      // file in place of a scene; NULL: none
    const char *record;      // file of a replay to write; NULL: none
    const char *folder;      // of files that the user asks for without a name; NULL: in the user's folder of pictures
    const char *tell;        // file that says where controls stand; NULL: none
    const char *sort_method; // NULL: as the scene says
    const char *broad_phase;
    bool pairs_on_gl;     // pairs of the CPU backend's bodies are found on OpenGL
    const char *order_on; // where bodies of the CPU backend are put in order: "cpu" (NULL), "gl" or "auto"
    psv_backend backend;
    uint64_t frames; // 0: until the window closes
    uint64_t at;     // frame with which the replay begins
    uint64_t bodies; // 0: as the scene says
    uint64_t seed;
    bool has_seed;
    bool headless;
    bool smoke;
    bool check, check_sampled;
    bool paused;
    bool hide_hud, frame_all, strip;
    bool help_panel;
    bool start_page; // no scene was named: one is chosen on the start page
    bool transparent;
    bool shadows, no_shadows; // for any number of bodies; for none
    bool ray_traced;
    bool no_interop;
    bool no_vsync;
    bool list;
    bool help;
    bool version;
    int width, height;
    int supersample; // 1 to 4: pixels a side that make one of the picture
    uint32_t overlays;
    view_colour_mode colour;
    uint64_t block_limit; // tests only: bytes of a shader storage block, 0 for the driver's
} view_options;

view_options view_default_options(void);

// False with a message for a bad option (exit code 2).
bool view_parse_options(int count, char **arguments, view_options *options, view_message *message);
void view_print_help(void);

#ifdef __cplusplus
}
#endif

#endif
