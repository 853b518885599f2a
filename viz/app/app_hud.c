// Fills the panel's model from the viewer's state, and carries out the requests of the panel.
#include "app.h"

#include <string.h>

static void add_name(view_names *names, const char *name, const char *current) {
    if (names->count == VIEW_MAX_NAMES) return; // the panel's list is full; keys still reach the others
    if (current != NULL && strcmp(name, current) == 0) names->current = (int)names->count;
    names->names[names->count++] = name;
}

static void fill_names(view_app *app, view_hud_model *model) {
    const char *name = NULL;
    psv_backend backend = app->context != NULL ? psv_context_backend(app->context) : PSV_BACKEND_CPU;
    model->scenes.current = model->sorts.current = model->broad_phases.current = -1;
    for (uint32_t i = 0; (name = psv_shipped_scene_name(i)) != NULL; ++i) {
        add_name(&model->scenes, name, app->scene_name);
    }
    const char *sort = app->sort_method[0] != '\0' ? app->sort_method : "cells";
    for (uint32_t i = 0; (name = psv_pair_sort_name(backend, i)) != NULL; ++i) {
        add_name(&model->sorts, name, sort);
    }
    const char *broad_phase = app->broad_phase[0] != '\0' ? app->broad_phase : "auto";
    add_name(&model->broad_phases, "auto", broad_phase);
    for (uint32_t i = 0; (name = psv_broad_phase_name(backend, i)) != NULL; ++i) {
        add_name(&model->broad_phases, name, broad_phase);
    }
    add_name(&model->backends, "cpu", psv_backend_name(backend));
    if (psv_backend_available(PSV_BACKEND_CUDA)) add_name(&model->backends, "cuda", psv_backend_name(backend));
    for (uint32_t i = 0; i < VIEW_COLOUR_COUNT; ++i) {
        add_name(&model->colours, view_colour_name((view_colour_mode)i), view_colour_name(app->colour));
    }
}

static void fill_picked(view_app *app, view_hud_model *model) {
    const view_picked *picked = &app->picked;
    model->has_picked = app->touch.picked.index1 != 0 && picked->id.index1 == app->touch.picked.index1;
    if (!model->has_picked) return;
    model->picked_slot = picked->id.index1 - 1;
    model->picked_box = picked->box;
    model->picked_speed = picked->speed;
    model->partners = picked->partners;
    model->partner_count = picked->partner_count;
    model->partners_shown =
        (uint32_t)(picked->partner_count < VIEW_PICKED_PAIRS ? picked->partner_count : VIEW_PICKED_PAIRS);
}

static const char *explanation(view_app *app) {
    if (!app->show_explanation || app->world == NULL || app->load != NULL) return "";
    if (app->explained == app->counters.frame) return app->explanation;
    app->explained = app->counters.frame;
    const psv_status status =
        psv_explain_frame(psv_world_pair_finder(app->world), app->explanation, sizeof app->explanation, NULL);
    if (status != PSV_OK && status != PSV_ERROR_CAPACITY) app->explanation[0] = '\0'; // no frame yet
    return app->explanation;
}

static void fill_model(view_app *app, view_hud_model *model) {
    memset(model, 0, sizeof *model);
    model->start = app->start.shown ? &app->start : NULL;
    model->show_panel = app->show_panel;
    model->folded = app->folded;
    model->play = app->play;
    model->show_help = app->show_help;
    model->read_only = app->options.headless;
    model->loading = app->load != NULL;
    model->paused = app->paused;
    model->transparent = app->transparent;
    model->shadows = app->shadows;
    model->fly = app->camera.fly;
    model->overlays = app->overlays;
    model->device = app->context != NULL ? psv_context_device_name(app->context) : "";
    model->renderer = app->window.renderer;
    model->transfer = view_transfer_name(app->streams.transfer);
    model->note = app->streams.transfer == VIEW_TRANSFER_HOST ? app->streams.refusal.text : "";
    model->toast = SDL_GetTicks64() < app->toast_until ? app->toast.text : "";
    model->counters = app->counters;
    model->explanation = explanation(app);
    memcpy(model->drawn, app->renderer.drawn, sizeof model->drawn);
    model->frame_ms = app->frame_ms;
    model->draw_ms = app->renderer.draw_ms;
    model->order_ms = app->order.sort_ms;
    model->ordering = app->ordering;
    model->traced = app->ray_traced ? &app->traced.statistics : NULL;
    model->traced_width = app->traced.width;
    model->traced_height = app->traced.height;
    model->history = &app->history;
    model->check = &app->check;
    model->sorts_timed = &app->sorts_timed;
    model->broad_phases_timed = &app->broad_phases_timed;
    view_fill_time_line(app, &model->line);
    model->check_sampled = app->check_sampled;
    if (app->world != NULL && app->load == NULL) (void)psv_read_world_check(app->world, &model->world_check);
    model->follow = app->follow;
    model->cut_share = app->cut_share;
    model->recording = view_is_recording(&app->video);
    fill_names(app, model);
    fill_picked(app, model);
}

static void do_methods(view_app *app, const view_hud_actions *actions) {
    const view_hud_model *model = &app->hud_model;
    if (actions->open >= 0) view_open_start_scene(app, (uint32_t)actions->open);
    if (actions->scene >= 0) view_start_load(app, model->scenes.names[actions->scene], PSV_BACKEND_AUTO);
    if (actions->sort >= 0) view_set_sort(app, model->sorts.names[actions->sort]);
    if (actions->broad_phase >= 0) view_set_broad_phase(app, model->broad_phases.names[actions->broad_phase]);
    if (actions->colour >= 0) app->colour = (view_colour_mode)actions->colour;
    if (actions->backend >= 0) {
        psv_backend backend = PSV_BACKEND_CPU;
        (void)psv_parse_backend(model->backends.names[actions->backend], &backend);
        view_start_load(app, app->scene_name, backend);
    }
}

static void do_files(view_app *app, const view_hud_actions *actions) {
    view_message message = {""};
    char path[VIEW_PATH_BYTES];
    if (actions->export_csv && view_name_app_file(app, "csv", path)) {
        bool good = view_export_csv(&app->history, path, &message);
        if (good) view_toast(app, "the last %d frames at most: %s", VIEW_HISTORY, path);
    }
    if (actions->export_trace && view_name_app_file(app, "trace.json", path)) {
        bool good = view_export_trace(&app->history, path, &message);
        if (good) view_toast(app, "the last %d frames at most: %s", VIEW_HISTORY, path);
    }
    if (message.text[0] != '\0') view_report(app, &message);
    if (actions->screenshot) app->want_screenshot = true;
    if (actions->toggle_video) view_toggle_video(app, NULL);
}

static void do_toggles(view_app *app, const view_hud_actions *actions) {
    if (actions->toggle_pause) app->paused = !app->paused;
    if (actions->step) app->paused = app->step_once = true;
    if (actions->undo) view_undo_change(app);
    if (actions->restart) view_start_load(app, app->scene_name, PSV_BACKEND_AUTO);
    if (actions->frame_all) view_frame_all(app);
    if (actions->toggle_transparent) app->transparent = !app->transparent;
    if (actions->toggle_shadows) app->shadows = !app->shadows;
    if (actions->toggle_traced) app->ray_traced = !app->ray_traced;
    if (actions->toggle_explanation) {
        app->show_explanation = !app->show_explanation;
        app->explained = UINT64_MAX;
    }
    if (actions->toggle_help) app->show_help = !app->show_help;
    if (actions->show_start) view_show_start(app);
    if (actions->toggle_fold) app->folded = !app->folded;
    if (actions->toggle_panel) app->show_panel = !app->show_panel;
    if (actions->time_sorts) view_time_methods(app, true);
    if (actions->time_broad_phases) view_time_methods(app, false);
    if (actions->check) view_run_check(app);
    if (actions->toggle_sampled) view_set_sampled_check(app, !app->check_sampled);
    if (actions->toggle_overlays != 0) view_toggle_overlays(app, actions->toggle_overlays);
    if (actions->set_time) view_set_time(app, actions->time);
}

static void do_tools(view_app *app, const view_hud_actions *actions) {
    if (app->world == NULL) return;
    if (actions->pin) view_pin(app);
    if (actions->paint) view_paint(app);
    if (actions->toggle_follow) view_toggle_follow(app);
    if (actions->set_cut) view_set_cut(app, actions->cut_share);
    if (!actions->explode) return;
    float right[3], up[3], forward[3]; // the middle of the picture
    view_camera_axes(&app->camera, right, up, forward);
    view_explode(app, forward);
}

void view_draw_panel(view_app *app) {
    view_hud_actions actions;
    if (app->hud == NULL || app->options.hide_hud) return;
    fill_model(app, &app->hud_model);
    view_bind_picture(&app->renderer);
    const bool turned = app->start.turned;
    view_draw_hud(app->hud, &app->hud_model, app->renderer.targets.width, app->renderer.targets.height, &actions);
    if (turned) app->start.turned = false;
    do_methods(app, &actions);
    do_files(app, &actions);
    do_toggles(app, &actions);
    do_tools(app, &actions);
    view_set_play(app, &actions);
}
