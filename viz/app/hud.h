// The panel over the picture. It shows a model and returns the user's requests; it changes nothing itself.
#ifndef PAIRSIEVE_VIEW_HUD_H
#define PAIRSIEVE_VIEW_HUD_H

#include "../start/start_page.h"
#include "compare.h"
#include "measure.h"
#include "pairsieve/render.h"

#include <SDL.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIEW_MAX_NAMES 32

typedef struct view_names {
    const char *names[VIEW_MAX_NAMES];
    uint32_t count;
    int current; // -1: none
} view_names;

// What a user changes in a scene. Unset: each shape and the world have their own.
typedef struct view_play {
    float gravity;    // m/s^2 along the scene's direction; below 0 against it
    float wind;       // m/s^2 across it
    float time_scale; // seconds of the scene a second, as far as the machine keeps up
    float friction, restitution;
    bool friction_set, restitution_set;
    uint32_t substeps; // of a step; 0: by its time
    uint64_t bodies;   // that the scene is made of when it begins
} view_play;

// Frames that can be gone to.
typedef struct view_time_line {
    bool shown;
    uint64_t first, last, now;
    float frame_seconds;
} view_time_line;

typedef struct view_hud_model {
    const view_start_page *start; // in place of everything else; NULL: a scene is shown
    bool show_panel, show_help;
    bool folded;    // the panel is one line at the lower edge
    bool read_only; // nobody can click: only the costs of the scene, no switches
    bool loading, paused, transparent, shadows, fly, ordering, check_sampled, follow, has_picked, recording;
    view_play play;
    view_time_line line;
    view_names scenes, backends, sorts, broad_phases, colours;
    uint32_t overlays;
    const char *device;   // that computes
    const char *renderer; // that draws
    const char *transfer; // how bodies get from one to the other
    const char *note;     // why not by interop, or empty
    const char *toast;    // a passing message, or empty
    psv_world_counters counters;
    const char *explanation; // how the pairs were found, or empty
    uint32_t drawn[4];
    double frame_ms, draw_ms, order_ms;
    const psv_render_statistics *traced; // of a ray-traced picture; NULL: it is drawn
    uint32_t traced_width, traced_height;
    const view_history *history;
    const view_check *check;
    const view_comparison *sorts_timed, *broad_phases_timed; // of no methods: not timed yet
    psv_world_check world_check;                             // of the world's own checks
    float cut_share;
    uint32_t picked_slot;
    psv_aabb picked_box;
    float picked_speed;
    const uint32_t *partners;
    uint64_t partner_count;
    uint32_t partners_shown;
} view_hud_model;

// What the user asked for in this frame; -1 and false: nothing.
typedef struct view_hud_actions {
    int open; // the scene of this number on the start page
    int scene, backend, sort, broad_phase, colour;
    bool toggle_pause, step, restart, undo, frame_all, toggle_transparent, toggle_shadows, toggle_traced, toggle_help,
        toggle_panel, toggle_explanation;
    uint32_t toggle_overlays;
    bool toggle_fold, show_start;
    bool set_gravity, set_wind, set_time_scale, set_friction, set_restitution; // to the values of `play`
    bool set_substeps, set_bodies;
    view_play play;
    bool pin, paint, explode, toggle_follow;
    bool set_cut; // to this share
    float cut_share;
    bool set_time; // to the frame `time`
    uint64_t time;
    bool time_sorts, time_broad_phases;
    bool check, toggle_sampled, export_csv, export_trace, screenshot, toggle_video;
} view_hud_actions;

typedef struct view_hud view_hud;

view_hud *view_create_hud(SDL_Window *window, SDL_GLContext context, view_message *message); // NULL: no panel
void view_destroy_hud(view_hud *hud);                                                        // NULL is allowed
void view_hud_event(view_hud *hud, const SDL_Event *event);
bool view_hud_wants_mouse(const view_hud *hud);
bool view_hud_wants_keys(const view_hud *hud); // typing into a field

// The explanation that is shown under the mouse; empty: none.
const char *view_hud_tip(const view_hud *hud);

uint32_t view_hud_start_columns(const view_hud *hud); // pictures in a row of the start page

bool view_hud_scrolls(const view_hud *hud); // a part of the panel lies outside of the window

// Scale of the panel's lengths in a window of that many pixels, on a display of that many pixels an inch. It grows with
// the window against 1280x720, and on dense displays. The panel never covers more than a quarter.
float view_hud_scale(float width, float height, float dpi);

// Where the widget of that name was last drawn, in window coordinates; false when it was not. For scripted input.
bool view_hud_find(const view_hud *hud, const char *name, int *x, int *y);

// All widgets as last drawn, a line each: "control X Y HALF-WIDTH NAME".
void view_hud_list(const view_hud *hud, FILE *out);

// Lays out and draws the panel into the bound framebuffer of width x height pixels.
void view_draw_hud(view_hud *hud, const view_hud_model *model, int width, int height, view_hud_actions *actions);

#ifdef __cplusplus
}
#endif
#endif
