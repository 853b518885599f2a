// What a user does to bodies beside grabbing and shooting: pin, paint, explode, follow, cut open.
#include "app.h"

#include "../render/model.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

#define BLAST_RADIUS 0.6f // of the scene's

// The element of a body in an array of the pair finder's input; `other` where the world has no such array.
static uint64_t read_element(psv_world *world, psv_buffer array, psv_body_id id, uint64_t bytes, uint64_t other) {
    uint64_t value = 0;
    void *copy = view_read_array(world, array, bytes * (uint64_t)(id.index1 - 1), bytes);
    if (copy == NULL || psv_buffer_address(array) == NULL) value = other;
    if (copy != NULL && psv_buffer_address(array) != NULL) memcpy(&value, copy, bytes);
    free(copy);
    return value;
}

// A def by which a body like this one is made.
static bool describe_body(psv_world *world, psv_body_id id, psv_body_def *def) {
    const psv_box_set set = psv_world_box_set(world);
    psv_body_state state;
    *def = psv_default_body_def();
    float *velocity = view_read_array(world, psv_world_velocities(world), 16 * (uint64_t)(id.index1 - 1), 16);
    const bool good = velocity != NULL && psv_get_body_state(world, id, &state) == PSV_OK &&
                      psv_get_user_data(world, id, &def->user_data) == PSV_OK;
    if (good) {
        def->pose = state.pose;
        memcpy(def->velocity, state.velocity, sizeof def->velocity);
        memcpy(def->angular_velocity, state.angular_velocity, sizeof def->angular_velocity);
        def->shape = (uint32_t)read_element(world, psv_world_shape_indices(world), id, 4, 0);
        def->sub_world = (uint32_t)read_element(world, set.worlds, id, 4, 0);
        const uint64_t filter = read_element(world, set.filters, id, sizeof def->filter, 0);
        if (psv_buffer_address(set.filters) != NULL) memcpy(&def->filter, &filter, sizeof def->filter);
        const bool moves = glm_vec3_norm(state.velocity) > 0.0f || glm_vec3_norm(state.angular_velocity) > 0.0f;
        def->is_kinematic = !(velocity[3] > 0.0f) && moves;
        def->is_static = !(velocity[3] > 0.0f) && !moves;
    }
    free(velocity);
    return good;
}

// Another body in the place of the picked one, which is picked then.
static void replace_picked(view_app *app, const psv_body_def *def, const char *what) {
    psv_body_id id = {0};
    psv_status status = psv_destroy_body(app->world, app->touch.picked);
    if (status == PSV_OK) status = psv_create_bodies(app->world, def, 1, &id);
    app->touch.picked = id;
    app->picked.id = id;
    app->stale = true;
    view_toast(app, "%s", status == PSV_OK ? what : psv_last_error(app->context));
}

static bool take_picked(view_app *app, psv_body_def *def) {
    if (app->scene == NULL) return false; // a replay's bodies stay as it has them
    if (app->touch.picked.index1 != 0 && describe_body(app->world, app->touch.picked, def)) return true;
    view_toast(app, "click a body first");
    return false;
}

void view_pin(view_app *app) {
    psv_body_def def;
    psv_shape_def shape;
    if (!take_picked(app, &def) || psv_world_shape(app->world, def.shape, &shape) != PSV_OK) return;
    if (def.is_kinematic || (shape.type >= PSV_SHAPE_PLANE && shape.type <= PSV_SHAPE_MESH)) {
        view_toast(app, "this body goes its own way");
        return;
    }
    view_before_change(app, VIEW_CHANGE_BODY);
    def.is_static = !def.is_static;
    memset(def.velocity, 0, sizeof def.velocity);
    memset(def.angular_velocity, 0, sizeof def.angular_velocity);
    replace_picked(app, &def, def.is_static ? "pinned where it is" : "free to move");
}

// The number of a shape like `base` of that colour; UINT32_MAX with a toast where the world has no room for it.
static uint32_t painted_shape(view_app *app, uint32_t base, uint32_t colour) {
    psv_shape_def def;
    uint32_t number = UINT32_MAX;
    for (uint32_t i = 0; i < app->painted_count; ++i)
        if (app->painted[i].base == base && app->painted[i].colour == colour) return app->painted[i].shape;
    psv_status status = psv_world_shape(app->world, base, &def);
    def.colour = colour;
    if (status == PSV_OK) status = psv_create_shape(app->world, &def, &number);
    if (status != PSV_OK) {
        view_toast(app, "%s", psv_last_error(app->context));
        return UINT32_MAX;
    }
    if (app->painted_count < VIEW_PAINTED_SHAPES)
        app->painted[app->painted_count++] = (view_painted){.base = base, .colour = colour, .shape = number};
    return number;
}

void view_paint(view_app *app) {
    static const uint32_t colours[] = {0xff3c3ce6, 0xff32b4f5, 0xff50be46, 0xffe6a032, 0xffc850a0, 0xfff5f5f5};
    psv_body_def def;
    if (!take_picked(app, &def)) return;
    uint32_t base = def.shape;
    for (uint32_t i = 0; i < app->painted_count; ++i)
        if (app->painted[i].shape == def.shape) base = app->painted[i].base;
    const uint32_t colour = colours[app->next_paint++ % (sizeof colours / sizeof *colours)];
    view_before_change(app, VIEW_CHANGE_BODY);
    def.shape = painted_shape(app, base, colour);
    if (def.shape != UINT32_MAX) replace_picked(app, &def, "painted; again: the next colour");
}

// Impulses on all bodies within the blast, away from its middle and up. How many there are.
static uint64_t fill_blast(const view_app *app, const float (*positions)[4], const float (*velocities)[4],
                           const float middle[3], uint32_t *slots, psv_body_impulse *impulses) {
    const float radius = BLAST_RADIUS * app->model.radius, speed = 2.0f * sqrtf(3.0f * 9.81f * app->model.radius);
    uint64_t count = 0;
    for (uint64_t i = 0; i < app->streams.slots; ++i) {
        vec3 away;
        if (!(velocities[i][3] > 0.0f) || !(positions[i][3] > 0.0f)) continue;
        glm_vec3_sub((float *)positions[i], (float *)middle, away);
        const float distance = glm_vec3_norm(away);
        if (distance >= radius) continue;
        away[1] += 0.5f * radius;
        glm_vec3_scale_as(away, speed * (1.0f - distance / radius) / velocities[i][3], impulses[count].impulse);
        memcpy(impulses[count].point, positions[i], sizeof impulses[count].point);
        slots[count++] = (uint32_t)i;
    }
    return count;
}

static psv_status push(view_app *app, const uint32_t *slots, const psv_body_impulse *impulses, uint64_t count) {
    psv_buffer device_slots = {0}, device_impulses = {0};
    const uint64_t bytes = count * sizeof *impulses;
    psv_status status = psv_alloc_buffer(app->context, 4 * count, &device_slots);
    if (status == PSV_OK) status = psv_alloc_buffer(app->context, bytes, &device_impulses);
    if (status == PSV_OK) status = psv_upload(app->context, device_slots, slots, 4 * count);
    if (status == PSV_OK) status = psv_upload(app->context, device_impulses, impulses, bytes);
    if (status == PSV_OK) status = psv_push_bodies(app->world, device_slots, count, device_impulses);
    if (status == PSV_OK) status = psv_synchronize(app->context);
    psv_free_buffer(app->context, &device_slots);
    psv_free_buffer(app->context, &device_impulses);
    return status;
}

void view_explode(view_app *app, const float direction[3]) {
    float middle[3], distance = 0.0f;
    if (app->scene == NULL) return;
    view_camera_eye(&app->camera, middle);
    if (view_pick(app->world, &app->camera, direction, &distance).index1 != 0)
        glm_vec3_muladds((float *)direction, distance, middle);
    else
        glm_vec3_copy(app->camera.target, middle);
    const uint64_t slots = psv_world_slot_count(app->world);
    float(*positions)[4] = view_read_array(app->world, psv_world_positions(app->world), 0, 16 * slots);
    float(*velocities)[4] = view_read_array(app->world, psv_world_velocities(app->world), 0, 16 * slots);
    uint32_t *hit = malloc(4 * (slots + 1));
    psv_body_impulse *impulses = malloc((slots + 1) * sizeof *impulses);
    if (positions != NULL && velocities != NULL && hit != NULL && impulses != NULL) {
        const uint64_t count =
            fill_blast(app, (const float(*)[4])positions, (const float(*)[4])velocities, middle, hit, impulses);
        view_before_change(app, VIEW_CHANGE_BODY);
        if (count > 0 && push(app, hit, impulses, count) != PSV_OK)
            view_toast(app, "%s", psv_last_error(app->context));
        else
            view_toast(app, "%llu bodies blown away", (unsigned long long)count);
    }
    free(positions);
    free(velocities);
    free(hit);
    free(impulses);
}

void view_toggle_follow(view_app *app) {
    app->follow = !app->follow && app->touch.picked.index1 != 0;
    view_toast(app, app->follow ? "following the body" : "click a body, then F follows it");
}

void view_follow_body(view_app *app) {
    psv_body_state state;
    if (!app->follow) return;
    if (app->touch.picked.index1 == 0 || psv_get_body_state(app->world, app->touch.picked, &state) != PSV_OK)
        app->follow = false;
    else
        glm_vec3_copy(state.pose.position, app->camera.target);
}

// The plane faces the eye as it is now. Share of the scene's depth that it takes away; 0: nothing.
void view_set_cut(view_app *app, float share) {
    float right[3], up[3], forward[3];
    if (!(app->cut_share > 0.0f)) {
        view_camera_axes(&app->camera, right, up, forward);
        glm_vec3_scale(forward, -1.0f, app->camera.cut);
    }
    app->cut_share = share;
    if (!(share > 0.0f))
        memset(app->camera.cut, 0, sizeof app->camera.cut);
    else
        app->camera.cut[3] =
            -glm_vec3_dot(app->camera.cut, app->model.centre) - app->model.radius * (1.0f - 2.0f * share);
    app->stale = true;
}
