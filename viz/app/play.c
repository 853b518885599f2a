// What a user changes while a scene runs: gravity, pace, friction, restitution, substeps; and how many bodies it has.
#include "app.h"

#include <math.h>

#define LEAST_TIME_SCALE 0.02f
#define MOST_TIME_SCALE 2.0f

static float mean_of_shapes(psv_world *world, bool friction) {
    const uint32_t count = psv_world_shape_count(world);
    float sum = 0.0f;
    psv_shape_def def;
    for (uint32_t i = 0; i < count; ++i)
        if (psv_world_shape(world, i, &def) == PSV_OK) sum += friction ? def.friction : def.restitution;
    return count > 0 ? sum / (float)count : 0.0f;
}

static float length_of(const float v[3]) { return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// Wind blows across gravity: along x, or up where gravity is along x.
static void choose_wind(view_app *app) {
    const float *g = app->gravity_direction;
    const int axis = fabsf(g[0]) < 0.9f ? 0 : 1;
    float wind[3];
    for (int i = 0; i < 3; ++i)
        wind[i] = (i == axis ? 1.0f : 0.0f) - g[axis] * g[i];
    const float length = length_of(wind);
    for (int i = 0; i < 3; ++i)
        app->wind_direction[i] = wind[i] / length;
}

void view_take_play(view_app *app) {
    psv_world_def def;
    view_play *play = &app->play;
    const float down[3] = {0.0f, -1.0f, 0.0f};
    *play = (view_play){.time_scale = play->time_scale,
                        .friction = mean_of_shapes(app->world, true),
                        .restitution = mean_of_shapes(app->world, false)};
    app->owed = 0.0;
    play->bodies = app->bodies > 0 ? app->bodies : psv_world_body_count(app->world);
    if (psv_get_world_def(app->world, &def) != PSV_OK) return;
    play->substeps = def.substeps;
    play->gravity = length_of(def.gravity);
    for (int i = 0; i < 3; ++i)
        app->gravity_direction[i] = play->gravity > 0.0f ? def.gravity[i] / play->gravity : down[i];
    choose_wind(app);
}

void view_follow_play(view_app *app) {
    psv_world_def def;
    if (psv_get_world_def(app->world, &def) != PSV_OK) return;
    float along = 0.0f, across = 0.0f, rest[3];
    for (int i = 0; i < 3; ++i) {
        along += def.gravity[i] * app->gravity_direction[i];
        across += def.gravity[i] * app->wind_direction[i];
    }
    for (int i = 0; i < 3; ++i)
        rest[i] = def.gravity[i] - along * app->gravity_direction[i] - across * app->wind_direction[i];
    app->play.substeps = def.substeps;
    app->play.gravity = along;
    app->play.wind = across;
    if (length_of(rest) <= 1.0e-4f * (length_of(def.gravity) + 1.0f)) return;
    app->play.gravity = length_of(def.gravity); // the scene turns it
    app->play.wind = 0.0f;
    for (int i = 0; i < 3; ++i)
        app->gravity_direction[i] = def.gravity[i] / app->play.gravity;
    choose_wind(app);
}

static psv_status set_gravity(view_app *app, float strength, float wind) {
    float gravity[3];
    for (int i = 0; i < 3; ++i)
        gravity[i] = strength * app->gravity_direction[i] + wind * app->wind_direction[i];
    return psv_set_gravity(app->world, gravity);
}

// NULL: each shape keeps its own.
static psv_status set_surfaces(view_app *app, const float *friction, const float *restitution) {
    const uint32_t count = psv_world_shape_count(app->world);
    psv_status status = PSV_OK;
    psv_shape_def def;
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i) {
        status = psv_world_shape(app->world, i, &def);
        if (status == PSV_OK)
            status = psv_set_shape_surface(app->world, i, friction != NULL ? *friction : def.friction,
                                           restitution != NULL ? *restitution : def.restitution);
    }
    return status;
}

static void restart_with(view_app *app, uint64_t bodies) {
    if (app->scene == NULL || app->load != NULL) return;
    app->bodies = bodies;
    (void)view_start_load(app, app->scene_name, PSV_BACKEND_AUTO);
}

void view_set_play(view_app *app, const view_hud_actions *actions) {
    const view_play *wanted = &actions->play;
    psv_status status = PSV_OK;
    if (app->world == NULL) return;
    if (actions->set_time_scale) app->play.time_scale = wanted->time_scale;
    if (actions->set_gravity || actions->set_wind) {
        view_before_change(app, actions->set_wind ? VIEW_CHANGE_WIND : VIEW_CHANGE_GRAVITY);
        status = set_gravity(app, wanted->gravity, wanted->wind);
        if (status == PSV_OK) app->play.gravity = wanted->gravity;
        if (status == PSV_OK) app->play.wind = wanted->wind;
    }
    if (status == PSV_OK && actions->set_friction) status = set_surfaces(app, &wanted->friction, NULL);
    if (status == PSV_OK && actions->set_friction) {
        app->play.friction = wanted->friction;
        app->play.friction_set = true;
    }
    if (status == PSV_OK && actions->set_restitution) status = set_surfaces(app, NULL, &wanted->restitution);
    if (status == PSV_OK && actions->set_restitution) {
        app->play.restitution = wanted->restitution;
        app->play.restitution_set = true;
    }
    if (status == PSV_OK && actions->set_substeps) {
        view_before_change(app, VIEW_CHANGE_SUBSTEPS);
        status = psv_set_substeps(app->world, wanted->substeps);
        if (status == PSV_OK) app->play.substeps = wanted->substeps;
    }
    if (status != PSV_OK) view_toast(app, "%s", psv_last_error(app->context));
    if (actions->set_bodies) restart_with(app, wanted->bodies);
    // Surfaces of shapes are no part of a kept state: what was before cannot be repeated.
    if ((actions->set_friction || actions->set_restitution) && app->scene != NULL)
        view_begin_rewind(&app->rewind, app->scene);
}

void view_scale_time(view_app *app, float factor) {
    const float scale = app->play.time_scale * factor;
    app->play.time_scale = fminf(fmaxf(scale, LEAST_TIME_SCALE), MOST_TIME_SCALE);
    view_toast(app, "time x %.3g", (double)app->play.time_scale);
}
