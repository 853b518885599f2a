#include "app.h"

#include <cglm/cglm.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TOAST_MS 3500
#define INSPECT_EVERY 6 // turns between two looks at the picked body's pairs

void view_toast(view_app *app, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(app->toast.text, sizeof app->toast.text, format, arguments);
    va_end(arguments);
    app->toast_until = SDL_GetTicks64() + TOAST_MS;
}

void view_report(view_app *app, const view_message *message) {
    view_toast(app, "%s", message->text);
    fprintf(stderr, "pairsieve-view: %s\n", message->text);
}

void view_fail(view_app *app, const view_message *message) {
    fprintf(stderr, "pairsieve-view: %s\n", message->text);
    app->exit_code = VIEW_EXIT_FAILED;
    app->quit = true;
}

static bool open_log(psvi_replaced_file *file, const char *path, void (*head)(FILE *), view_message *message) {
    if (path == NULL) return true;
    if (!psvi_open_replaced(file, path)) {
        view_say(message, "file '%s' cannot be written: %s", path, strerror(errno));
        return false;
    }
    head(file->stream);
    return true;
}

static void close_log(view_app *app, psvi_replaced_file *file, const char *path) {
    view_message message = {""};
    if (file->stream == NULL || psvi_close_replaced(file, true)) return;
    view_say(&message, "file '%s' could not be written to its end: %s", path, strerror(errno));
    view_fail(app, &message);
}

static void take_options(view_app *app) {
    const view_options *o = &app->options;
    app->colour = o->colour;
    app->overlays = o->overlays;
    app->paused = o->paused;
    app->transparent = o->transparent;
    app->check_sampled = o->check_sampled;
    app->shadows = !o->no_shadows;
    app->ray_traced = o->ray_traced;
    app->show_panel = true;
    app->folded = o->strip;
    app->play.time_scale = 1.0f;
    app->show_help = o->help_panel;
    app->bodies = o->bodies;
    app->focused = true;
    snprintf(app->scene_name, sizeof app->scene_name, "%s", o->replay != NULL ? o->replay : o->scene);
    snprintf(app->sort_method, sizeof app->sort_method, "%s", o->sort_method != NULL ? o->sort_method : "");
    snprintf(app->broad_phase, sizeof app->broad_phase, "%s", o->broad_phase != NULL ? o->broad_phase : "");
}

static view_app *app_with_files; // that are not closed

static void close_logs(view_app *app) {
    view_message message = {""};
    app_with_files = NULL;
    if (app->trace.stream != NULL) view_write_trace_tail(app->trace.stream);
    close_log(app, &app->csv, app->options.csv);
    close_log(app, &app->trace, app->options.trace);
    if (!view_close_video(&app->video, &message)) {
        fprintf(stderr, "pairsieve-view: %s\n", message.text);
        app->exit_code = VIEW_EXIT_FAILED;
    }
    view_report_recording(app, view_end_recording(&app->recording, true, &message), &message);
}

// When an X server goes away, its library ends the program from within a call. Files then keep what they have.
static void close_left_logs(void) {
    if (app_with_files != NULL) close_logs(app_with_files);
}

static void close_logs_at_exit(view_app *app) {
    static bool registered;
    if (!registered) registered = atexit(close_left_logs) == 0;
    app_with_files = app;
}

bool view_open_app(view_app *app, const view_options *options, view_message *message) {
    memset(app, 0, sizeof *app);
    app->options = *options;
    take_options(app);
    app->exit_code = VIEW_EXIT_FAILED; // of a start that fails
    if (!view_open_window(&app->window, options->width, options->height, options->headless, message)) return false;
    if (!view_create_renderer(&app->renderer, &app->window, options->block_limit, message)) return false;
    SDL_GL_SetSwapInterval(options->headless || options->no_vsync ? 0 : 1);
    if (!options->hide_hud) {
        app->hud = view_create_hud(app->window.window, app->window.context, message);
        if (app->hud == NULL) view_report(app, message); // the picture alone is worth having
    }
    app->held_keys = SDL_GetKeyboardState(NULL);
    if (options->screenshot != NULL && !view_can_write(options->screenshot, message)) return false;
    if (!open_log(&app->csv, options->csv, view_write_csv_head, message)) return false;
    if (!open_log(&app->trace, options->trace, view_write_trace_head, message)) return false;
    app->exit_code = VIEW_EXIT_GOOD;
    close_logs_at_exit(app);
    if (options->start_page && app->hud != NULL)
        view_show_start(app);
    else
        view_start_load(app, app->scene_name, options->backend);
    if (options->headless) view_poll_load(app, true);
    app->last_tick = SDL_GetPerformanceCounter();
    return true;
}

void view_close_app(view_app *app) {
    app->quit = true;
    view_poll_load(app, true); // a load cannot be broken off; it ends, and its scene is freed
    close_logs(app);
    if (app->window.context != NULL) {
        view_unload(app);
        view_destroy_start(&app->start);
        view_destroy_hud(app->hud);
        view_destroy_renderer(&app->renderer);
    }
    view_close_window(&app->window);
}

static bool resize(view_app *app, view_message *message) {
    int width = 0, height = 0;
    SDL_GL_GetDrawableSize(app->window.window, &width, &height);
    if (width < 1 || height < 1) return true; // minimised on some systems
    return view_resize_renderer(&app->renderer, width, height, app->options.supersample, message);
}

// One turn's time of the scene: a part of a frame in slow motion, else as many frames as are due.
static psv_status step_scene(view_app *app, float *stepped) {
    const float seconds = psv_scene_frame_seconds(app->scene), scale = app->play.time_scale;
    const bool one = app->step_once || scale == 1.0f, part = !one && scale < 1.0f;
    uint32_t whole = one ? 1 : 0;
    if (!one && !part) {
        app->owed += (double)scale;
        whole = (uint32_t)app->owed;
        app->owed -= (double)whole;
    }
    *stepped = part ? scale * seconds : (float)whole * seconds;
    psv_status status = part ? psv_scene_step_by(app->scene, *stepped) : PSV_OK;
    for (uint32_t i = 0; i < whole && status == PSV_OK; ++i)
        status = psv_scene_step(app->scene);
    if (status == PSV_OK) view_note_step(&app->rewind, app->scene, whole, *stepped);
    return status;
}

static void record_replay(view_app *app, float seconds) {
    view_message message = {""};
    psv_profile profile;
    psv_world_counters counters;
    if (app->recording.writer == NULL) return;
    bool good =
        psv_world_profile(app->world, &profile) == PSV_OK && psv_read_world_counters(app->world, &counters) == PSV_OK;
    if (!good) view_say(&message, "%s", psv_last_error(app->context));
    if (good && view_record_frame(&app->recording, app->world, seconds, &profile, &counters, &message)) return;
    view_message other = {""};
    (void)view_end_recording(&app->recording, false, &other);
    view_fail(app, &message);
}

static void step_world(view_app *app) {
    float stepped = 0.0f;
    if (app->replayed.reader != NULL) {
        view_step_replay(app);
        return;
    }
    if (app->paused && !app->step_once) return;
    const psv_status status = step_scene(app, &stepped);
    app->step_once = false;
    if (status != PSV_OK) {
        view_message message = {""};
        view_say(&message, "the scene stopped: %s", psv_last_error(app->context));
        view_report(app, &message);
        app->paused = true;
        if (app->options.headless) view_fail(app, &message);
        return;
    }
    app->steps += 1;
    app->stale = true;
    app->check.done = app->check.done && app->paused;
    record_replay(app, stepped);
}

static bool needs_rows(const view_app *app) {
    return app->colour == VIEW_COLOUR_RANK || (app->overlays & VIEW_OVERLAY_ORDER) != 0;
}

static bool needs_pairs(const view_app *app) {
    return app->colour == VIEW_COLOUR_PAIRS || (app->overlays & VIEW_OVERLAY_PAIRS) != 0;
}

static bool needs_boxes(const view_app *app) {
    return app->colour == VIEW_COLOUR_CELL || (app->overlays & (VIEW_OVERLAY_BOXES | VIEW_OVERLAY_CELLS)) != 0;
}

// Row ordering and glass need every position in one storage block.
static bool fits_one_block(const view_app *app) { return 16 * app->streams.slots <= app->renderer.block_limit; }

// Clear bodies are drawn back to front, where nothing else needs the order stream.
static bool draws_clear(const view_app *app) {
    return app->model.has_clear && app->colour == VIEW_COLOUR_BODY && !needs_rows(app) && fits_one_block(app);
}

static bool needs_contacts(const view_app *app) { return (app->overlays & VIEW_OVERLAY_FORCES) != 0; }

// What holds one body of the mean mass up is drawn one mean radius long, to each side.
static float force_scale(const view_app *app) {
    const float gravity = fabsf(app->play.gravity) > 0.1f ? fabsf(app->play.gravity) : 9.81f;
    return app->model.mean_radius / fmaxf(app->model.mean_mass * gravity, 1.0e-12f);
}

static float cell_edge(const view_app *app) { return fmaxf(2.5f * app->model.mean_radius, 1.0e-4f); }

static view_frame make_frame(view_app *app) {
    return (view_frame){.camera = &app->camera,
                        .streams = &app->streams,
                        .model = &app->model,
                        .colour = app->colour,
                        .overlays = app->overlays,
                        .picked = app->touch.picked.index1,
                        .shadows = app->shadows,
                        .ordered = app->transparent,
                        .clear = draws_clear(app),
                        .cell_edge = cell_edge(app),
                        .speed_scale = 1.0f / fmaxf(2.0f * sqrtf(9.81f * app->model.radius), 1.0e-3f),
                        .pair_scale = app->pair_scale,
                        .metres_per_newton = force_scale(app)};
}

void view_row_origin(const view_app *app, float origin[4]) {
    for (int i = 0; i < 3; ++i) {
        origin[i] = app->model.centre[i] - 1.5f * app->model.radius;
    }
    // 256 rows along y and z; wider where the scene needs it.
    origin[3] = 1.0f / fmaxf(cell_edge(app), 3.0f * app->model.radius / 256.0f);
}

// Facts about the world's shapes and size, even if nothing is drawn, so that a picture does not depend on the pictures
// before it.
static bool follow_world(view_app *app, view_message *message) {
    if (app->scene != NULL && app->frame % VIEW_MEASURE_EVERY == VIEW_MEASURE_EVERY - 1 && !app->paused &&
        !view_measure_model(&app->model, app->world, message)) {
        return false;
    }
    return view_update_model(&app->model, app->world, message);
}

// Brings streams, order and colour values up to the world's state.
static bool prepare(view_app *app, view_frame *frame, view_message *message) {
    uint32_t wanted = 1u << VIEW_STREAM_POSITIONS | 1u << VIEW_STREAM_ROTATIONS | 1u << VIEW_STREAM_VELOCITIES |
                      1u << VIEW_STREAM_SHAPES;
    if (needs_boxes(app)) wanted |= 1u << VIEW_STREAM_BOXES;
    if (needs_pairs(app)) wanted |= 1u << VIEW_STREAM_PAIRS;
    if (needs_contacts(app)) wanted |= 1u << VIEW_STREAM_CONTACTS;
    const bool stale = app->stale || app->old_streams;
    if (stale && !view_update_streams(&app->streams, app->world, wanted, message)) return false;
    app->old_streams = false;
    *frame = make_frame(app);
    if ((app->transparent || needs_rows(app)) && !fits_one_block(app)) {
        view_toast(app, "%llu bodies are too many to order on this driver", (unsigned long long)app->streams.slots);
        app->transparent = frame->ordered = false;
        if (app->colour == VIEW_COLOUR_RANK) app->colour = frame->colour = VIEW_COLOUR_BODY;
        app->overlays = frame->overlays = app->overlays & ~(uint32_t)VIEW_OVERLAY_ORDER;
    }
    view_set_frame(&app->renderer, frame);
    return true;
}

static const char *order_method(const view_app *app) {
    return app->sort_method[0] != '\0' ? psv_pair_sorter_name(app->sort_method) : "radix";
}

static bool sort_for_drawing(view_app *app, view_order_mode mode, view_message *message) {
    float origin[4];
    view_row_origin(app, origin);
    return view_sort_bodies(&app->order, mode, order_method(app), &app->renderer, &app->streams, app->world, origin,
                            message);
}

// If the mode fails, the picture is drawn without it, with the reason.
static bool trace_world(view_app *app) {
    view_message message = {""};
    const bool rests = !app->stale, whole = app->options.headless;
    if (view_draw_traced(&app->traced, app->world, &app->streams, &app->renderer, &app->camera, rests, whole,
                         &message)) {
        app->old_streams = app->old_streams || app->stale;
        app->stale = false;
        view_finish_streams(&app->streams);
        return true;
    }
    view_destroy_traced(&app->traced, app->context);
    app->ray_traced = false;
    app->stale = true;
    view_report(app, &message);
    return false;
}

static bool draw_world(view_app *app, view_message *message) {
    app->ordering = false;
    if (app->ray_traced && trace_world(app)) return true;
    view_frame frame;
    if (!prepare(app, &frame, message)) return false;
    bool rows = needs_rows(app);
    if (rows && !sort_for_drawing(app, VIEW_ORDER_ROWS, message)) return false;
    bool values = app->colour == VIEW_COLOUR_PAIRS || app->colour == VIEW_COLOUR_RANK;
    if (values && !view_fill_values(&app->renderer, &app->streams, app->colour, message)) return false;
    app->ordering = app->transparent || frame.clear;
    if (app->ordering) {
        // The order of drawing takes the stream that the rows were in; their line is then not drawn.
        frame.overlays &= ~(uint32_t)VIEW_OVERLAY_ORDER;
        if (!sort_for_drawing(app, VIEW_ORDER_DEPTH, message)) return false;
    }
    view_set_frame(&app->renderer, &frame);
    if (!view_render(&app->renderer, &frame, message)) return false;
    view_finish_streams(&app->streams);
    app->stale = false;
    return true;
}

static bool read_counts(view_app *app, psv_profile *profile) {
    if (app->replayed.reader != NULL) {
        view_replayed_counts(&app->replayed, profile, &app->counters);
        return profile->frame > 0;
    }
    if (psv_world_profile(app->world, profile) != PSV_OK || profile->frame == 0) return false;
    const psv_world_counters before = app->counters;
    if (psv_read_world_counters(app->world, &app->counters) != PSV_OK) return false;
    if (app->counters.broad_phase == NULL && app->counters.frame == before.frame)
        app->counters = before; // the method was changed since the step, whose counts still hold
    return true;
}

static void take_sample(view_app *app) {
    view_sample *sample = &app->sample;
    memset(sample, 0, sizeof *sample);
    if (!read_counts(app, &sample->profile)) return;
    const view_sample *last = view_last_sample(&app->history);
    if (last != NULL && last->profile.frame == sample->profile.frame) return; // nothing new while paused
    sample->draw_ms = app->ray_traced ? 0.0 : app->renderer.draw_ms;
    sample->order_ms = app->ordering ? app->order.sort_ms : 0.0;
    sample->rays_ms = app->ray_traced ? app->traced.statistics.frame_ms : 0.0;
    sample->frame_ms = app->frame_ms;
    sample->bodies = app->counters.bodies;
    sample->pairs = app->counters.pairs;
    sample->contacts = app->counters.contacts;
    sample->sort_passes = app->counters.sort_passes;
    sample->sort_passes_skipped = app->counters.sort_passes_skipped;
    view_add_sample(&app->history, sample);
    if (app->csv.stream != NULL) view_write_csv_row(app->csv.stream, sample);
    if (app->trace.stream != NULL) view_write_trace_events(app->trace.stream, sample, &app->trace_clock_us);
}

static void inspect(view_app *app) {
    psv_body_id id = app->touch.picked;
    if (id.index1 == 0) return;
    bool new_one = app->picked.id.index1 != id.index1 || app->picked.id.generation != id.generation;
    if (!new_one && app->frame % INSPECT_EVERY != 0) return;
    if (!view_inspect(app->world, id, &app->picked)) app->touch.picked = (psv_body_id){0};
}

static uint8_t *read_picture(view_app *app, view_message *message) {
    size_t bytes = (size_t)app->renderer.targets.width * (size_t)app->renderer.targets.height * 3;
    uint8_t *pixels = malloc(bytes);
    if (pixels == NULL) {
        view_say(message, "no memory for a picture of %zu bytes", bytes);
        return NULL;
    }
    view_read_picture(&app->renderer, pixels);
    return pixels;
}

bool view_name_app_file(view_app *app, const char *ending, char *path) {
    view_message message = {""};
    if (view_name_user_file(path, app->options.folder, app->scene_name, app->counters.frame, ending, &message))
        return true;
    view_report(app, &message);
    return false;
}

void view_save_screenshot(view_app *app, const char *path) {
    view_message message = {""};
    char name[VIEW_PATH_BYTES];
    if (path == NULL) {
        if (!view_name_app_file(app, "png", name)) return;
        path = name;
    }
    uint8_t *pixels = read_picture(app, &message);
    bool good = pixels != NULL &&
                view_write_png(path, pixels, app->renderer.targets.width, app->renderer.targets.height, &message);
    free(pixels);
    if (good) {
        view_toast(app, "picture: %s", path);
        return;
    }
    view_report(app, &message);
    if (app->options.screenshot != NULL) app->exit_code = VIEW_EXIT_FAILED;
}

void view_toggle_video(view_app *app, const char *path) {
    view_message message = {""};
    if (view_is_recording(&app->video)) {
        uint64_t frames = app->video.frames;
        char target[sizeof app->video.target];
        memcpy(target, app->video.target, sizeof target);
        if (view_close_video(&app->video, &message)) {
            view_toast(app, "video of %llu frames: %s", (unsigned long long)frames, target);
        } else {
            view_report(app, &message);
        }
        return;
    }
    int rate = (int)lroundf(1.0f / fmaxf(view_frame_seconds(app), 1.0e-3f));
    char name[VIEW_PATH_BYTES];
    if (path == NULL && !view_name_app_file(app, "mp4", name)) return;
    const char *file = path != NULL ? path : name;
    if (view_open_video(&app->video, file, app->renderer.targets.width, app->renderer.targets.height, rate, &message)) {
        view_toast(app, "video to %s", file);
    } else {
        view_report(app, &message);
        if (path != NULL) view_fail(app, &message);
    }
}

// A video ends when the window changes its size: its frames cannot.
static void record(view_app *app) {
    view_message message = {""};
    if (!view_is_recording(&app->video)) return;
    if (app->video.width != app->renderer.targets.width || app->video.height != app->renderer.targets.height) {
        view_toggle_video(app, NULL);
        return;
    }
    uint8_t *pixels = read_picture(app, &message);
    bool good = pixels != NULL && view_write_video(&app->video, pixels, &message);
    free(pixels);
    if (good) return;
    view_report(app, &message);
    (void)view_close_video(&app->video, &message);
    if (app->options.video != NULL) view_fail(app, &message);
}

void view_frame_all(view_app *app) {
    view_message message = {""};
    if (app->world == NULL) return;
    if (!view_measure_model(&app->model, app->world, &message)) view_report(app, &message);
    view_camera_frame(&app->camera, app->model.centre, app->model.radius, view_app_aspect(app));
}

// An empty picture with the panel, until the first scene is loaded.
static void draw_waiting(view_app *app) {
    view_bind_picture(&app->renderer);
    glClearColor(0.30f, 0.35f, 0.42f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT);
}

static void finish_turn(view_app *app) {
    const view_options *options = &app->options;
    if (app->world != NULL && !app->start.shown) {
        if (options->video != NULL && app->frame == 0) view_toggle_video(app, options->video);
        record(app);
        app->frame += 1;
        bool last = app->interrupted || (options->frames > 0 && app->frame >= options->frames);
        if (last && options->screenshot != NULL) view_save_screenshot(app, options->screenshot);
        if (app->want_screenshot) view_save_screenshot(app, NULL);
        app->want_screenshot = false;
        if (last) app->quit = true;
        if (last && app->interrupted && app->exit_code == VIEW_EXIT_GOOD) app->exit_code = VIEW_EXIT_INTERRUPTED;
    }
    if (!options->headless) {
        int width = 0, height = 0;
        SDL_GL_GetDrawableSize(app->window.window, &width, &height);
        view_show_picture(&app->renderer, width, height);
        SDL_GL_SwapWindow(app->window.window);
    }
}

static void tick(view_app *app) {
    Uint64 now = SDL_GetPerformanceCounter();
    double ms = (double)(now - app->last_tick) * 1000.0 / (double)SDL_GetPerformanceFrequency();
    app->frame_ms = ms;
    app->last_tick = now;
    view_hold_keys(app, (float)(ms * 1.0e-3));
}

// Without a window only the frames that somebody will see are drawn: all of a video, else the last. Without a number of
// frames any may be the last.
static bool is_kept(const view_app *app) {
    const view_options *options = &app->options;
    return !options->headless || options->video != NULL || options->frames == 0 || app->interrupted ||
           app->frame + 1 >= options->frames;
}

bool view_turn_app(view_app *app) {
    view_message message = {""};
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
        view_handle_event(app, &event);
    }
    view_poll_load(app, false);
    if (app->quit) return false;
    if (app->minimised) { // nothing to see: the world rests with the window
        SDL_WaitEventTimeout(NULL, 100);
        return true;
    }
    tick(app);
    bool good = resize(app, &message);
    const view_options *options = &app->options;
    const bool kept = is_kept(app);
    if (good && app->world != NULL && !app->start.shown) {
        step_world(app);
        take_sample(app);
        inspect(app);
        view_follow_body(app);
        if (options->frame_all && kept && (options->headless || app->frame == 0)) view_frame_all(app);
        good = follow_world(app, &message) && (!kept || draw_world(app, &message));
    } else if (good) {
        draw_waiting(app);
    }
    if (good && !view_window_is_alive(&app->window)) {
        view_say(&message, "the graphics device was lost; start again");
        good = false;
    }
    if (!good) {
        view_fail(app, &message);
        return false;
    }
    if (kept) view_draw_panel(app);
    if (options->tell != NULL) view_tell(app);
    finish_turn(app);
    return !app->quit;
}
