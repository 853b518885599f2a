#include "camera.h"

#include <cglm/cglm.h>

void view_camera_axes(const view_camera *camera, float right[3], float up[3], float forward[3]) {
    float cp = cosf(camera->pitch), sp = sinf(camera->pitch), cy = cosf(camera->yaw), sy = sinf(camera->yaw);
    glm_vec3_copy((vec3){-cp * sy, -sp, -cp * cy}, forward);
    glm_vec3_copy((vec3){cy, 0.0f, -sy}, right);
    glm_vec3_cross(right, forward, up);
}

void view_camera_eye(const view_camera *camera, float eye[3]) {
    float right[3], up[3], forward[3];
    view_camera_axes(camera, right, up, forward);
    glm_vec3_copy((float *)camera->target, eye);
    glm_vec3_muladds(forward, -camera->distance, eye);
}

float view_camera_near(const view_camera *camera) { return fmaxf(0.004f * camera->distance, 1.0e-3f); }

void view_camera_look(view_camera *camera, const float eye[3], const float target[3]) {
    vec3 away;
    glm_vec3_sub((float *)eye, (float *)target, away);
    float distance = glm_vec3_norm(away);
    if (!(distance > 1.0e-4f) || !isfinite(distance)) {
        glm_vec3_copy((vec3){0.0f, 0.35f, 1.0f}, away);
        distance = 10.0f;
    }
    glm_vec3_normalize(away);
    glm_vec3_copy((float *)target, camera->target);
    camera->distance = distance;
    camera->yaw = atan2f(away[0], away[2]);
    camera->pitch = asinf(glm_clamp(away[1], -1.0f, 1.0f));
    camera->speed = distance;
    view_camera_turn(camera, 0.0f, 0.0f);
}

void view_camera_frame(view_camera *camera, const float centre[3], float radius, float aspect) {
    glm_vec3_copy((float *)centre, camera->target);
    float tangent = VIEW_HALF_FIELD_TANGENT * fminf(aspect, 1.0f);
    camera->distance = fmaxf(radius / sinf(atanf(tangent)), 0.01f);
    camera->speed = camera->distance;
}

void view_camera_turn(view_camera *camera, float yaw, float pitch) {
    float eye[3];
    view_camera_eye(camera, eye);
    camera->yaw = remainderf(camera->yaw + yaw, 2.0f * GLM_PIf);
    camera->pitch = glm_clamp(camera->pitch + pitch, -1.55f, 1.55f);
    if (camera->fly) {
        float right[3], up[3], forward[3];
        view_camera_axes(camera, right, up, forward);
        glm_vec3_copy(eye, camera->target);
        glm_vec3_muladds(forward, camera->distance, camera->target);
    }
}

void view_camera_pan(view_camera *camera, float right, float up) {
    float scale = 2.0f * VIEW_HALF_FIELD_TANGENT * camera->distance;
    view_camera_move(camera, right * scale, up * scale, 0.0f);
}

void view_camera_zoom(view_camera *camera, float steps) {
    camera->distance = glm_clamp(camera->distance * powf(0.87f, steps), 0.02f, 1.0e6f);
}

void view_camera_move(view_camera *camera, float right, float up, float forward) {
    vec3 axes[3];
    view_camera_axes(camera, axes[0], axes[1], axes[2]);
    glm_vec3_muladds(axes[0], right, camera->target);
    glm_vec3_muladds(axes[1], up, camera->target);
    glm_vec3_muladds(axes[2], forward, camera->target);
}

void view_camera_ray(const view_camera *camera, float x, float y, float aspect, float direction[3]) {
    float right[3], up[3], forward[3];
    view_camera_axes(camera, right, up, forward);
    glm_vec3_copy(forward, direction);
    glm_vec3_muladds(right, (2.0f * x - 1.0f) * VIEW_HALF_FIELD_TANGENT * aspect, direction);
    glm_vec3_muladds(up, (1.0f - 2.0f * y) * VIEW_HALF_FIELD_TANGENT, direction);
}
