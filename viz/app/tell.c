// A file that says where the panel's controls stand and what is set, for scripts that drive the window from outside.
// Settings come from the world and the scene's state, not from the panel.
#include "app.h"
#include "user_files.h"

static void tell_world(const view_app *app, FILE *out) {
    psv_world_def world;
    psv_shape_def shape;
    if (psv_get_world_def(app->world, &world) == PSV_OK) {
        const float *g = world.gravity;
        fprintf(out, "set gravity %.4f %.4f %.4f\nset substeps %u\n", (double)g[0], (double)g[1], (double)g[2],
                world.substeps);
    }
    if (psv_world_shape_count(app->world) > 0 && psv_world_shape(app->world, 0, &shape) == PSV_OK)
        fprintf(out, "set friction %.4f\nset bounce %.4f\n", (double)shape.friction, (double)shape.restitution);
    fprintf(out, "set shapes %u\nset bodies %llu\n", psv_world_shape_count(app->world),
            (unsigned long long)psv_world_body_count(app->world));
    fprintf(out, "set frame %llu\nset loads %llu\n", (unsigned long long)app->counters.frame,
            (unsigned long long)app->load_count);
    if (app->picked.id.index1 != 0 && app->picked.id.index1 == app->touch.picked.index1)
        fprintf(out, "set picked %u %.4f\n", app->picked.id.index1 - 1, (double)app->picked.speed);
}

static void tell_state(const view_app *app, FILE *out) {
    const char *chosen = app->start.shown ? app->start.scenes[app->start.chosen].name : "";
    const view_camera *camera = &app->camera;
    fprintf(out, "set turn %llu\nset start %d\nset chosen %s\n", (unsigned long long)SDL_GetTicks64(), app->start.shown,
            chosen);
    fprintf(out, "set scene %s\nset loading %d\nset paused %d\nset steps %llu\n", app->scene_name, app->load != NULL,
            app->paused, (unsigned long long)app->steps);
    fprintf(out, "set overlays %u\nset colour %s\nset transparent %d\nset shadows %d\nset rays %d\n", app->overlays,
            view_colour_name(app->colour), app->transparent, app->shadows, app->ray_traced);
    fprintf(out, "set panel %d\nset folded %d\nset help %d\nset explained %d\nset follow %d\n", app->show_panel,
            app->folded, app->show_help, app->hud_model.explanation != NULL && app->hud_model.explanation[0] != '\0',
            app->follow);
    fprintf(out, "set sampled %d\nset checked %d\nset sorts %u\nset phases %u\nset video %d\n", app->check_sampled,
            app->check.done, app->sorts_timed.count, app->broad_phases_timed.count, view_is_recording(&app->video));
    fprintf(out, "set backend %s\n", app->context != NULL ? psv_backend_name(psv_context_backend(app->context)) : "");
    fprintf(out, "set sort %s\nset broad phase %s\nset time %.4f\nset cut %.4f\n", app->sort_method, app->broad_phase,
            (double)app->play.time_scale, (double)app->cut_share);
    int width = 0, height = 0;
    SDL_GetWindowSize(app->window.window, &width, &height);
    fprintf(out, "set window %d %d\nset renderer %s\n", width, height, app->window.renderer);
    fprintf(out, "set camera %.4f %.4f\n", (double)camera->yaw, (double)camera->distance);
    fprintf(out, "set message %s\n", SDL_GetTicks64() < app->toast_until ? app->toast.text : "");
}

void view_tell(view_app *app) {
    char part[VIEW_PATH_BYTES];
    const int length = snprintf(part, sizeof part, "%s.part", app->options.tell);
    FILE *out = length > 0 && (size_t)length < sizeof part ? fopen(part, "wb") : NULL;
    bool good = out != NULL;
    if (good) {
        tell_state(app, out);
        if (app->world != NULL && app->load == NULL) tell_world(app, out);
        if (app->hud != NULL) view_hud_list(app->hud, out);
        good = ferror(out) == 0;
        good = fclose(out) == 0 && good;
    }
    if (good && rename(part, app->options.tell) == 0) return;
    view_message message;
    view_say(&message, "option '--tell': '%s' cannot be written", app->options.tell);
    view_fail(app, &message);
}
