#include "touch.h"

#include "../render/model.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

psv_body_id view_pick(psv_world *world, const view_camera *camera, const float direction[3], float *distance) {
    psv_body_id id = {0};
    float eye[3];
    view_camera_eye(camera, eye);
    const float before = glm_vec3_dot((float *)camera->cut, eye) + camera->cut[3];
    const float rate = glm_vec3_dot((float *)camera->cut, (float *)direction);
    float start = 0.0f; // behind the cut
    if (before > 0.0f && rate >= 0.0f) return id;
    if (before > 0.0f) start = -before / rate;
    glm_vec3_muladds((float *)direction, start, eye);
    if (psv_cast_ray(world, eye, direction, 1.0e6f, &id, distance) != PSV_OK) return (psv_body_id){0};
    *distance += start;
    return id;
}

static bool can_move(psv_world *world, psv_body_id id) {
    float *velocity = view_read_array(world, psv_world_velocities(world), 16 * (uint64_t)(id.index1 - 1), 16);
    bool moves = velocity != NULL && velocity[3] > 0.0f;
    free(velocity);
    return moves;
}

bool view_grab(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3]) {
    psv_body_id id = view_pick(world, camera, direction, &touch->grab_distance);
    if (id.index1 == 0) return false;
    touch->picked = id;
    if (!can_move(world, id)) return false;
    touch->grabbed = id;
    return true;
}

bool view_drag(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3], bool paused,
               view_message *message) {
    if (touch->grabbed.index1 == 0) return true;
    if (!psv_body_is_valid(world, touch->grabbed)) { // it left the world
        view_release(touch);
        return true;
    }
    psv_body_state state;
    psv_status status = psv_get_body_state(world, touch->grabbed, &state);
    if (status == PSV_OK) {
        float goal[3];
        view_camera_eye(camera, goal);
        glm_vec3_muladds((float *)direction, touch->grab_distance, goal);
        if (paused) {
            glm_vec3_copy(goal, state.pose.position);
        } else {
            vec3 away;
            glm_vec3_sub(goal, state.pose.position, away);
            glm_vec3_scale(away, 10.0f, state.velocity); // there in a tenth of a second
            glm_vec3_scale(state.angular_velocity, 0.9f, state.angular_velocity);
        }
        status = psv_set_body_state(world, touch->grabbed, &state);
    }
    if (status == PSV_OK) return true;
    view_say(message, "grab: %s", psv_last_error(psv_world_context(world)));
    view_release(touch);
    return false;
}

void view_release(view_touch *touch) { touch->grabbed = (psv_body_id){0}; }

static psv_status make_ball(view_touch *touch, psv_world *world, float radius) {
    psv_shape_def def = psv_default_shape_def();
    def.type = PSV_SHAPE_SPHERE;
    def.size[0] = radius;
    def.density = 4000.0f;
    uint32_t shape = 0;
    psv_status status = psv_create_shape(world, &def, &shape);
    if (status == PSV_OK) touch->shot_shape = shape + 1;
    return status;
}

static psv_status launch(view_touch *touch, psv_world *world, const psv_body_state *state) {
    psv_body_id *slot = &touch->shots[touch->shot_count % VIEW_SHOTS];
    psv_status status = PSV_OK;
    if (slot->index1 != 0 && psv_body_is_valid(world, *slot)) {
        status = psv_set_body_state(world, *slot, state);
    } else {
        psv_body_def def = psv_default_body_def();
        def.shape = touch->shot_shape - 1;
        def.pose = state->pose;
        memcpy(def.velocity, state->velocity, sizeof def.velocity);
        status = psv_create_bodies(world, &def, 1, slot);
        if (status == PSV_ERROR_CAPACITY && touch->shot_count > 0) { // no room: shoot the first ball again
            touch->shot_count = 0;
            return psv_body_is_valid(world, touch->shots[0]) ? psv_set_body_state(world, touch->shots[0], state)
                                                             : status;
        }
    }
    if (status == PSV_OK) touch->shot_count += 1;
    return status;
}

bool view_shoot(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3],
                float ball_radius, float speed, view_message *message) {
    psv_body_state state = {.pose = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}}};
    vec3 unit;
    glm_vec3_normalize_to((float *)direction, unit);
    view_camera_eye(camera, state.pose.position);
    glm_vec3_muladds(unit, 4.0f * ball_radius, state.pose.position);
    glm_vec3_scale(unit, speed, state.velocity);
    psv_status status = touch->shot_shape == 0 ? make_ball(touch, world, ball_radius) : PSV_OK;
    if (status == PSV_OK) status = launch(touch, world, &state);
    if (status == PSV_OK) return true;
    view_say(message, "shoot: %s", psv_last_error(psv_world_context(world)));
    return false;
}

static bool read_partners(psv_world *world, uint32_t slot, view_picked *picked) {
    psv_pair_finder *finder = psv_world_pair_finder(world);
    uint64_t count = 0;
    if (finder == NULL || psv_finish_pairs(finder, &count) != PSV_OK) return true; // no step yet: no pairs
    psv_pair *pairs = malloc((size_t)(count + 1) * sizeof *pairs);
    if (pairs == NULL || psv_read_pairs(finder, pairs, count, NULL) != PSV_OK) {
        free(pairs);
        return false;
    }
    for (uint64_t i = 0; i < count; ++i) {
        if (pairs[i].a != slot && pairs[i].b != slot) continue;
        uint32_t partner = pairs[i].a == slot ? pairs[i].b : pairs[i].a;
        if (picked->partner_count < VIEW_PICKED_PAIRS) picked->partners[picked->partner_count] = partner;
        picked->partner_count += 1;
    }
    free(pairs);
    return true;
}

bool view_inspect(psv_world *world, psv_body_id id, view_picked *picked) {
    memset(picked, 0, sizeof *picked);
    if (id.index1 == 0 || !psv_body_is_valid(world, id)) return false;
    psv_body_state state;
    if (psv_get_body_state(world, id, &state) != PSV_OK) return false;
    picked->speed = glm_vec3_norm(state.velocity);
    uint64_t first = sizeof(psv_aabb) * (uint64_t)(id.index1 - 1);
    psv_aabb *box = view_read_array(world, psv_world_boxes(world), first, sizeof *box);
    if (box != NULL) picked->box = *box;
    free(box);
    if (!read_partners(world, id.index1 - 1, picked)) return false;
    picked->id = id;
    return true;
}
