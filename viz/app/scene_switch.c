// Scenes, backends and methods: loading in a thread, and switching live.
#include "app.h"

#include <SDL.h>
#include <stdlib.h>
#include <string.h>

static int load_scene(void *data) {
    view_load *load = data;
    psv_context_def def = psv_default_context_def();
    def.backend = load->backend;
    load->status = psv_create_context(&def, &load->context);
    if (load->status != PSV_OK) {
        view_say(&load->message, "%s", psv_last_error(NULL));
    } else if (load->is_replay) {
        if (!view_open_replay(&load->replayed, load->context, load->scene_name, load->at, &load->message))
            load->status = PSV_ERROR_FORMAT;
    } else {
        load->status = psv_load_scene(load->context, load->scene_name, &load->options, &load->scene);
        if (load->status != PSV_OK) view_say(&load->message, "%s", psv_last_error(load->context));
        (void)psv_enable_profile(load->context, true);
    }
    SDL_AtomicSet(&load->done, 1);
    return 0;
}

bool view_start_load(view_app *app, const char *scene, psv_backend backend) {
    if (app->load != NULL) return false; // one at a time; the keys work again when it is loaded
    view_load *load = calloc(1, sizeof *load);
    if (load == NULL) {
        view_toast(app, "no memory to load a scene");
        return false;
    }
    snprintf(load->scene_name, sizeof load->scene_name, "%s", scene);
    snprintf(load->sort_method, sizeof load->sort_method, "%s", app->sort_method);
    snprintf(load->broad_phase, sizeof load->broad_phase, "%s", app->broad_phase);
    load->is_replay = app->options.replay != NULL && strcmp(scene, app->options.replay) == 0;
    load->at = app->load_count == 0 ? app->options.at : 0;
    bool keep = backend == PSV_BACKEND_AUTO && app->context != NULL;
    load->backend = keep ? psv_context_backend(app->context) : backend;
    load->options = psv_default_scene_options();
    load->options.sleeping = true; // resting bodies cost little; programs that need the same bytes in any case leave it
                                   // off
    if (strcmp(scene, app->scene_name) != 0) app->bodies = app->options.bodies; // the slider is of one scene
    load->options.bodies = app->bodies;
    load->options.contact_events = (app->overlays & VIEW_OVERLAY_FORCES) != 0; // they cost time where nobody looks
    load->options.seed = app->options.seed;
    load->options.has_seed = app->options.has_seed;
    load->options.sort_method = load->sort_method[0] != '\0' ? load->sort_method : NULL;
    load->options.broad_phase = load->broad_phase[0] != '\0' ? load->broad_phase : NULL;
    app->load = load;
    load->thread = SDL_CreateThread(load_scene, "load", load);
    if (load->thread == NULL) load_scene(load); // then the window waits
    return true;
}

void view_unload(view_app *app) {
    view_destroy_order(&app->order);
    view_destroy_traced(&app->traced, app->context);
    view_destroy_streams(&app->streams);
    view_destroy_model(&app->model);
    memset(&app->touch, 0, sizeof app->touch);
    memset(&app->check, 0, sizeof app->check);
    memset(&app->sorts_timed, 0, sizeof app->sorts_timed);
    memset(&app->broad_phases_timed, 0, sizeof app->broad_phases_timed);
    memset(&app->counters, 0, sizeof app->counters);
    app->settled_frame = 0;
    memset(&app->picked, 0, sizeof app->picked);
    psv_destroy_scene(app->scene);
    view_close_replay(&app->replayed);
    psv_destroy_context(app->pairs_on);
    psv_destroy_context(app->context);
    app->pairs_on = NULL;
    app->scene = NULL;
    app->world = NULL;
    app->context = NULL;
}

static void set_camera(view_app *app) {
    float eye[3], target[3];
    app->camera.fly = false;
    view_set_cut(app, 0.0f);
    if (app->scene != NULL) {
        psv_scene_view(app->scene, eye, target);
    } else {
        const replay_head *head = replay_get_head(app->replayed.reader);
        memcpy(eye, head->eye, sizeof eye);
        memcpy(target, head->target, sizeof target);
    }
    if (memcmp(eye, target, sizeof eye) != 0)
        view_camera_look(&app->camera, eye, target);
    else
        view_frame_all(app); // of a snapshot's run
}

#define SAMPLED_SHARE 0.02f // of the time

void view_set_sampled_check(view_app *app, bool on) {
    app->check_sampled = on;
    if (app->world != NULL) (void)psv_check_world_pairs(app->world, on ? SAMPLED_SHARE : 0);
}

#define SHADOW_BODIES 400000 // above this shadows start off without --shadows: the pass doubles the vertices

// The renderer's OpenGL context is current here and wherever the world is stepped. Where it will not do the CPU does
// it.
static void find_pairs_on_gl(view_app *app) {
    view_message message = {""};
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_GL;
    def.gl_load = SDL_GL_GetProcAddress;
    if (psv_create_context(&def, &app->pairs_on) != PSV_OK)
        view_say(&message, "pairs on OpenGL: %s", psv_last_error(NULL));
    else if (psv_world_find_pairs_on(app->world, app->pairs_on) != PSV_OK)
        view_say(&message, "%s", psv_last_error(app->context));
    else
        return;
    view_report(app, &message);
}

static void take_scene(view_app *app, view_load *load) {
    bool same = app->world != NULL && strcmp(load->scene_name, app->scene_name) == 0;
    view_message message = {""};
    view_report_recording(app, view_end_recording(&app->recording, true, &message), &message);
    view_unload(app);
    app->context = load->context;
    app->scene = load->scene;
    app->replayed = load->replayed;
    app->world = load->scene != NULL ? psv_scene_world(load->scene) : load->replayed.world;
    snprintf(app->scene_name, sizeof app->scene_name, "%s", load->scene_name);
    view_set_sampled_check(app, app->check_sampled);
    view_create_streams(&app->streams, app->context, app->options.no_interop);
    if (!view_create_order(&app->order, app->context, app->options.order_on, &message)) view_report(app, &message);
    if (app->options.pairs_on_gl && psv_context_backend(app->context) == PSV_BACKEND_CPU) find_pairs_on_gl(app);
    if (!same) set_camera(app);
    app->history.count = 0;
    app->painted_count = 0;
    app->follow = false;
    view_take_play(app);
    memset(&app->rewind, 0, sizeof app->rewind);
    if (app->scene != NULL) view_begin_rewind(&app->rewind, app->scene);
    app->shadows =
        !app->options.no_shadows && (app->options.shadows || psv_world_slot_count(app->world) <= SHADOW_BODIES);
    app->pair_scale = 1.0f / 12.0f;
    app->stale = true;
    if (app->options.record != NULL && app->load_count == 0 &&
        !view_begin_recording(&app->recording, app->options.record, app->scene, &message))
        view_fail(app, &message);
    app->load_count += 1;
    app->start.shown = false;
}

// Exit code of a program that cannot show its first scene.
static int code_for(psv_status status) {
    bool input = status == PSV_ERROR_FILE || status == PSV_ERROR_FORMAT || status == PSV_ERROR_ARGUMENT ||
                 status == PSV_ERROR_UNSUPPORTED;
    return input ? VIEW_EXIT_USAGE : VIEW_EXIT_FAILED;
}

void view_poll_load(view_app *app, bool wait) {
    view_load *load = app->load;
    if (load == NULL || (!wait && SDL_AtomicGet(&load->done) == 0)) return;
    if (load->thread != NULL) SDL_WaitThread(load->thread, NULL);
    app->load = NULL;
    if (load->status == PSV_OK && !app->quit) {
        take_scene(app, load);
    } else {
        psv_destroy_scene(load->scene);
        view_close_replay(&load->replayed);
        psv_destroy_context(load->context);
        if (load->status != PSV_OK && app->world == NULL && !app->start.used) {
            view_fail(app, &load->message);
            app->exit_code = code_for(load->status);
        } else if (load->status != PSV_OK) {
            view_report(app, &load->message);
        }
    }
    free(load);
}

void view_show_start(view_app *app) {
    if (app->hud == NULL || app->options.headless) return;
    view_release(&app->touch);
    view_open_start(&app->start);
    for (uint32_t i = 0; i < app->start.count; ++i)
        if (strcmp(app->start.scenes[i].name, app->scene_name) == 0) app->start.chosen = i;
}

void view_open_start_scene(view_app *app, uint32_t number) {
    if (number >= app->start.count) return;
    app->start.chosen = number;
    const psv_backend backend = app->context == NULL ? app->options.backend : PSV_BACKEND_AUTO;
    (void)view_start_load(app, app->start.scenes[number].name, backend);
}

bool view_press_start(view_app *app, SDL_Keycode key) {
    if (!app->start.shown) return false;
    if (key == SDLK_F11) return false;
    if (key == SDLK_ESCAPE && app->world != NULL) app->start.shown = false;
    if (view_start_key(&app->start, key, view_hud_start_columns(app->hud)))
        view_open_start_scene(app, app->start.chosen);
    return true;
}

void view_next_scene(view_app *app, int direction) {
    int count = 0, current = -1;
    while (psv_shipped_scene_name((uint32_t)count) != NULL) {
        if (strcmp(psv_shipped_scene_name((uint32_t)count), app->scene_name) == 0) current = count;
        ++count;
    }
    if (count == 0) return;
    int next = current < 0 ? 0 : (current + direction + count) % count;
    view_start_load(app, psv_shipped_scene_name((uint32_t)next), PSV_BACKEND_AUTO);
}

void view_toggle_overlays(view_app *app, uint32_t overlays) {
    const bool forces = (overlays & ~app->overlays & VIEW_OVERLAY_FORCES) != 0;
    if (forces && app->load != NULL) return; // one scene after another
    app->overlays ^= overlays;
    app->stale = true;
    if (!forces || app->scene == NULL || psv_world_event_counts(app->world).bytes > 0) return;
    view_toast(app, "the scene begins again, with a list of its contacts");
    (void)view_start_load(app, app->scene_name, PSV_BACKEND_AUTO);
}

// A switch of method forgets the pairs of the step: what a later check needs of them is counted before.
static void note_settled(view_app *app) {
    uint64_t settled = 0;
    if (app->world == NULL || app->settled_frame == app->counters.frame || !view_count_settled(app->world, &settled))
        return;
    app->settled = settled;
    app->settled_frame = app->counters.frame;
}

// On a paused frame a switch of method must leave the number of pairs as it is; the panel shows that it does.
static void check_switch(view_app *app) {
    if (app->paused && app->check.done) view_run_check(app);
}

void view_set_sort(view_app *app, const char *name) {
    if (app->world == NULL) return;
    if (app->paused) note_settled(app);
    if (psv_world_set_sort_method(app->world, name) != PSV_OK) {
        view_toast(app, "%s", psv_last_error(app->context));
        return;
    }
    snprintf(app->sort_method, sizeof app->sort_method, "%s", name);
    view_toast(app, "sort: %s", name);
    check_switch(app);
}

void view_set_broad_phase(view_app *app, const char *name) {
    if (app->world == NULL) return;
    if (app->paused) note_settled(app);
    if (psv_world_set_broad_phase(app->world, name) != PSV_OK) {
        view_toast(app, "%s", psv_last_error(app->context));
        return;
    }
    snprintf(app->broad_phase, sizeof app->broad_phase, "%s", name);
    view_toast(app, "broad phase: %s", name);
    check_switch(app);
}

void view_next_method(view_app *app, bool sort) {
    if (app->world == NULL) return;
    psv_backend backend = psv_context_backend(app->context);
    const char *current = sort ? app->sort_method : app->broad_phase;
    const char *name = NULL, *next = NULL;
    bool passed = false;
    for (uint32_t i = 0;; ++i) {
        name = sort ? psv_pair_sort_name(backend, i) : psv_broad_phase_name(backend, i);
        if (name == NULL) break;
        if (next == NULL || passed) next = name;
        if (passed) break;
        passed = strcmp(name, current) == 0;
    }
    if (next == NULL) return;
    if (sort) {
        view_set_sort(app, next);
    } else {
        view_set_broad_phase(app, next);
    }
}

void view_next_backend(view_app *app) {
    if (app->context == NULL) return;
    bool on_cuda = psv_context_backend(app->context) == PSV_BACKEND_CUDA;
    psv_backend other = on_cuda ? PSV_BACKEND_CPU : PSV_BACKEND_CUDA;
    if (!psv_backend_available(other)) {
        view_toast(app, "backend '%s' is not available here", psv_backend_name(other));
        return;
    }
    view_start_load(app, app->scene_name, other);
}

void view_run_check(view_app *app) {
    view_message message = {""};
    if (app->world == NULL || app->order.context == NULL) return;
    if (app->replayed.reader != NULL) {
        view_toast(app, "a replay has no pairs that could be checked, only their number");
        return;
    }
    const char *method = app->broad_phase[0] != '\0' ? app->broad_phase : "auto";
    const char *sort = app->sort_method[0] != '\0' ? app->sort_method : "cells";
    view_check check;
    note_settled(app);
    if (!view_check_pairs(app->order.context, app->world, method, sort, &check, &message)) view_report(app, &message);
    check.settled = app->settled_frame == check.frame ? app->settled : 0;
    check.pairs += check.settled;
    check.other_pairs += check.settled;
    check.step_pairs = app->counters.frame == check.frame ? app->counters.pairs : check.pairs;
    bool same_frame = app->check.done && app->check.frame == check.frame;
    if (check.done && same_frame && check.pairs != app->check.pairs) {
        view_toast(app, "pair count changed from %llu (%s) to %llu (%s)", (unsigned long long)app->check.pairs,
                   app->check.method, (unsigned long long)check.pairs, check.method);
    }
    app->check = check;
}

void view_time_methods(view_app *app, bool sorts) {
    view_message message = {""};
    float origin[4];
    if (app->world == NULL || app->order.context == NULL) return;
    if (!sorts && app->replayed.reader != NULL) {
        view_toast(app, "a replay has no boxes");
        return;
    }
    const char *sort = app->sort_method[0] != '\0' ? app->sort_method : "cells";
    view_row_origin(app, origin);
    const bool good = sorts ? view_time_sorts(&app->order, app->world, origin, &app->sorts_timed, &message)
                            : view_time_broad_phases(&app->order, app->world, sort, &app->broad_phases_timed, &message);
    if (!good) view_report(app, &message);
    app->last_tick = SDL_GetPerformanceCounter(); // the time that this took belongs to no frame
}
