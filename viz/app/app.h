// The viewer: its state, and one turn of its loop. main.c runs it; the tests drive it turn by turn.
#ifndef PAIRSIEVE_VIEW_APP_H
#define PAIRSIEVE_VIEW_APP_H

#include "../render/depth_order.h"
#include "../render/traced.h"
#include "../render/view_renderer.h"
#include "capture.h"
#include "hud.h"
#include "measure.h"
#include "options.h"
#include "replayed.h"
#include "rewind.h"
#include "touch.h"
#include "user_files.h"

#include "../../core/portable/replaced_file.h"

// Exit codes.
enum { VIEW_EXIT_GOOD = 0, VIEW_EXIT_FAILED = 1, VIEW_EXIT_USAGE = 2, VIEW_EXIT_INTERRUPTED = 130 };

// A scene that its own thread loads while the loop continues.
typedef struct view_load {
    SDL_Thread *thread;
    SDL_atomic_t done;
    char scene_name[1024];
    psv_backend backend;
    psv_scene_options options;
    char sort_method[32], broad_phase[32];
    psv_context *context;
    psv_scene *scene;
    uint64_t at;            // first frame of a replay
    view_replayed replayed; // in place of a scene
    bool is_replay;
    psv_status status;
    view_message message;
} view_load;

// What a user changes in the world. What goes on for some turns is one change.
typedef enum view_change {
    VIEW_CHANGE_NONE = 0,
    VIEW_CHANGE_SHOT,
    VIEW_CHANGE_GRAB,
    VIEW_CHANGE_GRAVITY,
    VIEW_CHANGE_WIND,
    VIEW_CHANGE_SUBSTEPS,
    VIEW_CHANGE_BODY // pinned, painted, blown away
} view_change;

#define VIEW_PAINTED_SHAPES 48

// A shape that was made because a body was painted.
typedef struct view_painted {
    uint32_t base, colour, shape;
} view_painted;

typedef struct view_mouse {
    bool left, right, middle;
    float down_x, down_y; // pixels, where the left button went down
    float x, y;
    bool moved; // far enough to be a drag
} view_mouse;

typedef struct view_app {
    view_options options;
    view_window window;
    view_renderer renderer;
    view_hud *hud;
    view_camera camera;
    view_touch touch;
    view_mouse mouse;
    const uint8_t *held_keys;

    view_start_page start;
    view_load *load; // NULL: nothing is being loaded
    psv_context *context;
    psv_scene *scene;       // NULL while a replay is shown
    view_replayed replayed; // its reader is NULL while a scene is shown
    psv_world *world;       // of either; NULL until the first is loaded
    view_recording recording;
    view_rewind rewind; // of a scene
    char scene_name[1024];
    uint64_t bodies; // of the scene when it begins; 0: as it says
    char sort_method[32], broad_phase[32];

    view_streams streams;
    view_model model;
    view_order order;
    bool ordering;         // the last picture had bodies in the order of their depth
    psv_context *pairs_on; // OpenGL, with --pairs-on gl; else NULL
    view_traced traced;
    view_history history;
    view_sample sample; // of this frame
    view_check check;
    view_comparison sorts_timed, broad_phases_timed;
    uint64_t settled, settled_frame; // view_check.settled, and the frame that it is of; 0: none
    view_picked picked;
    view_video video;
    psvi_replaced_file csv, trace; // their streams are NULL where none is written
    double trace_clock_us;

    view_colour_mode colour;
    uint32_t overlays;
    bool folded;
    bool check_sampled; // the world checks its pairs as it runs
    bool paused, step_once, transparent, shadows, ray_traced, show_panel, show_help, show_explanation;
    bool quit, minimised, focused;
    bool want_screenshot;
    bool interrupted; // without a window: a signal asks for the last frame now
    bool stale;       // the last picture does not show the world as it is
    bool old_streams; // the streams do not hold the world as it was in the last picture, which was ray-traced
    int exit_code;
    uint64_t frame;      // turns with a world
    uint64_t steps;      // world steps
    uint64_t load_count; // scenes shown so far
    uint64_t last_count; // pair count of the paused frame, for the cross-check on a switch
    float pair_scale;
    view_play play; // the user's; gravity as the world has it
    float gravity_direction[3];
    float wind_direction[3];
    view_change last_change; // of the user
    uint64_t changed_turn;   // when it went on last
    view_painted painted[VIEW_PAINTED_SHAPES];
    uint32_t painted_count, next_paint;
    bool follow;     // the camera goes with the picked body
    float cut_share; // of the scene's depth that the cut takes away
    double owed;     // frames of the scene, where time goes faster than one a turn
    Uint64 last_tick;
    double frame_ms;
    view_message toast;
    Uint64 toast_until;
    psv_world_counters counters;
    char explanation[2048]; // of the pairs of frame `explained`
    uint64_t explained;
    view_hud_model hud_model; // as last shown
} view_app;

#define VIEW_MEASURE_EVERY 120 // turns between two measurements of the scene's size

// Opens the window and starts loading. False with a message; view_close_app is due all the same.
bool view_open_app(view_app *app, const view_options *options, view_message *message);

// One turn: events, step, picture. False when it is over; app->exit_code then says how.
bool view_turn_app(view_app *app);
void view_close_app(view_app *app);

// --- between app.c, scene_switch.c, app_hud.c and input.c
// --------------------------------------------------------------
void view_toggle_overlays(view_app *app, uint32_t overlays); // bits of view_overlay
void view_set_sampled_check(view_app *app, bool on);
void view_toast(view_app *app, const char *format, ...) __attribute__((format(printf, 2, 3)));
void view_report(view_app *app, const view_message *message); // toast, and stderr without a window
void view_fail(view_app *app, const view_message *message);   // ends the program with exit code 1

bool view_start_load(view_app *app, const char *scene, psv_backend backend);
void view_poll_load(view_app *app, bool wait);
void view_unload(view_app *app);
void view_show_start(view_app *app); // the scene rests as long as the page is shown
void view_open_start_scene(view_app *app, uint32_t number);
bool view_press_start(view_app *app, SDL_Keycode key); // true when the key is the page's
void view_next_scene(view_app *app, int direction);
float view_frame_seconds(const view_app *app);      // of the scene or the replay
void view_set_time(view_app *app, uint64_t frame);  // of the time line
void view_move_time(view_app *app, int64_t frames); // by so many, and pauses
void view_fill_time_line(const view_app *app, view_time_line *line);
void view_step_replay(view_app *app);
void view_report_recording(view_app *app, bool good, const view_message *message);
void view_set_sort(view_app *app, const char *name);
void view_set_broad_phase(view_app *app, const char *name);
void view_next_method(view_app *app, bool sort);
void view_next_backend(view_app *app);
void view_run_check(view_app *app);
void view_time_methods(view_app *app, bool sorts);                      // of sorting, or broad phases
bool view_name_app_file(view_app *app, const char *ending, char *path); // as view_name_user_file; reports
void view_save_screenshot(view_app *app, const char *path);
void view_toggle_video(view_app *app, const char *path);
void view_before_change(view_app *app, view_change change); // for undo, and the way back in time
void view_undo_change(view_app *app);
void view_take_play(view_app *app);   // settings of a scene that was loaded
void view_follow_play(view_app *app); // gravity, wind and substeps as the world has them, after it went back in time
void view_set_play(view_app *app, const view_hud_actions *actions);
void view_scale_time(view_app *app, float factor);
void view_frame_all(view_app *app);
void view_pin(view_app *app);                               // the picked body, or frees it
void view_paint(view_app *app);                             // the picked body, in the next colour
void view_explode(view_app *app, const float direction[3]); // where the ray meets a body, else at the camera's target
void view_toggle_follow(view_app *app);
void view_follow_body(view_app *app);
void view_set_cut(view_app *app, float share); // bodies before a plane are not drawn
void view_handle_event(view_app *app, const SDL_Event *event);
void view_hold_keys(view_app *app, float seconds); // camera flight, grabbing
void view_draw_panel(view_app *app);
void view_tell(view_app *app); // writes the file of --tell
float view_app_aspect(const view_app *app);
void view_row_origin(const view_app *app, float origin[4]); // of view_row_key

#endif
