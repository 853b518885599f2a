#include "view_renderer.h"

#include "targets.h"

#include <cglm/cglm.h>
#include <string.h>

static const vec3 light_direction = {0.42f, 0.80f, 0.43f};

bool view_create_renderer(view_renderer *renderer, const view_window *window, uint64_t block_limit,
                          view_message *message) {
    memset(renderer, 0, sizeof *renderer);
    renderer->block_limit = block_limit != 0 && block_limit < window->block_limit ? block_limit : window->block_limit;
    renderer->offset_step = window->offset_step;
    if (!view_build_programs(&renderer->programs, message)) return false;
    renderer->constants_buffer = view_new_buffer(sizeof(view_constants), NULL);
    renderer->counters = view_new_buffer(8 * sizeof(uint32_t), NULL);
    renderer->commands = view_new_buffer(20 * sizeof(uint32_t), NULL);
    const GLbitfield readable = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    glCreateBuffers(1, &renderer->totals);
    glNamedBufferStorage(renderer->totals, VIEW_TIMERS * 16, NULL, readable);
    renderer->totals_mapped = glMapNamedBufferRange(renderer->totals, 0, VIEW_TIMERS * 16, readable);
    if (renderer->totals_mapped == NULL) {
        view_say(message, "OpenGL maps no buffer for reading");
        return false;
    }
    glCreateVertexArrays(1, &renderer->empty_array);
    // Vertex 0 is the corner nearest to the eye; bits of the number turn a coordinate away (box.vert).
    static const uint8_t hull[18] = {0, 1, 3, 0, 3, 2, 0, 2, 6, 0, 6, 4, 0, 4, 5, 0, 5, 1};
    renderer->hull_indices = view_new_buffer(sizeof hull, hull);
    glCreateVertexArrays(1, &renderer->hull_array);
    glVertexArrayElementBuffer(renderer->hull_array, renderer->hull_indices);
    glGenQueries(VIEW_TIMERS * (VIEW_STAGE_COUNT + 1), &renderer->timers[0][0]);
    glClipControl(GL_LOWER_LEFT, GL_ZERO_TO_ONE);
    glEnable(GL_PROGRAM_POINT_SIZE);
    return true;
}

void view_destroy_renderer(view_renderer *renderer) {
    if (renderer->constants_buffer == 0) {
        view_free_programs(&renderer->programs);
        return;
    }
    view_free_programs(&renderer->programs);
    view_free_targets(&renderer->targets);
    const GLuint buffers[] = {renderer->constants_buffer, renderer->counters, renderer->commands,
                              renderer->totals,           renderer->values,   renderer->hull_indices};
    glDeleteBuffers(6, buffers);
    glDeleteBuffers(VIEW_LISTS, renderer->lists);
    glDeleteVertexArrays(1, &renderer->empty_array);
    glDeleteVertexArrays(1, &renderer->hull_array);
    glDeleteQueries(VIEW_TIMERS * (VIEW_STAGE_COUNT + 1), &renderer->timers[0][0]);
    memset(renderer, 0, sizeof *renderer);
}

bool view_resize_renderer(view_renderer *renderer, int width, int height, int samples, view_message *message) {
    const view_targets *targets = &renderer->targets;
    if (targets->width == width && targets->height == height && targets->samples == samples) return true;
    return view_make_targets(&renderer->targets, width, height, samples, message);
}

void view_upload_constants(view_renderer *renderer) {
    glNamedBufferSubData(renderer->constants_buffer, 0, sizeof renderer->constants, &renderer->constants);
    glBindBufferBase(GL_UNIFORM_BUFFER, 0, renderer->constants_buffer);
}

// Reversed infinite projection: depth is near / distance, so that float depth is even from the eye to the horizon.
static void set_projection(view_constants *c, const view_camera *camera, int width, int height) {
    float aspect = (float)width / (float)height;
    float near = view_camera_near(camera);
    mat4 projection = GLM_MAT4_ZERO_INIT, view, both;
    projection[0][0] = 1.0f / (VIEW_HALF_FIELD_TANGENT * aspect);
    projection[1][1] = 1.0f / VIEW_HALF_FIELD_TANGENT;
    projection[2][3] = -1.0f;
    projection[3][2] = near;
    float right[3], up[3], forward[3], eye[3];
    view_camera_axes(camera, right, up, forward);
    view_camera_eye(camera, eye);
    glm_look(eye, forward, up, view);
    glm_mat4_mul(projection, view, both);
    memcpy(c->view_projection, both, sizeof both);
    memcpy(c->eye, eye, 12);
    memcpy(c->forward, forward, 12);
    glm_vec3_scale(right, VIEW_HALF_FIELD_TANGENT * aspect, c->across);
    glm_vec3_scale(up, VIEW_HALF_FIELD_TANGENT, c->upward);
    c->eye[3] = 0.5f * (float)height / VIEW_HALF_FIELD_TANGENT;
    c->forward[3] = near;
    memcpy(c->viewport, (float[4]){(float)width, (float)height, 1.0f / (float)width, 1.0f / (float)height}, 16);
}

// A plane through `point` with the (not unit) normal, as (n, -n.point).
static void set_plane(float plane[4], const vec3 normal, const float point[3]) {
    vec3 unit;
    glm_vec3_copy((float *)normal, unit);
    glm_vec3_normalize(unit);
    glm_vec3_copy(unit, plane);
    plane[3] = -glm_vec3_dot(unit, (float *)point);
}

static void set_camera_planes(view_constants *c, const view_camera *camera, float aspect) {
    float right[3], up[3], forward[3], normal[3];
    view_camera_axes(camera, right, up, forward);
    float tangents[2] = {VIEW_HALF_FIELD_TANGENT * aspect, VIEW_HALF_FIELD_TANGENT};
    for (int i = 0; i < 4; ++i) {
        float sign = (i & 1) != 0 ? -1.0f : 1.0f;
        glm_vec3_scale(forward, tangents[i / 2], normal);
        glm_vec3_muladds(i < 2 ? right : up, sign, normal);
        set_plane(c->cull_planes[i], normal, c->eye);
    }
    set_plane(c->cull_planes[4], forward, c->eye);
    memcpy(c->cull_planes[5], c->cull_planes[4], 16);
}

// Many bodies fill a large shadow map several times over: they get a quarter of it.
static int shadow_side(const view_targets *targets, const view_frame *frame) {
    bool many = frame->streams->slots > 30000 && targets->shadow_size > 1024;
    return many ? 1024 : targets->shadow_size;
}

// Orthographic, around the moving bodies; depth 0 to 1 away from the light.
static void set_light(view_constants *c, const view_frame *frame, int used, int whole) {
    vec3 direction, side, up;
    glm_vec3_normalize_to((float *)light_direction, direction);
    glm_vec3_cross((vec3){0.0f, 1.0f, 0.0f}, direction, side);
    glm_vec3_normalize(side);
    glm_vec3_cross(direction, side, up);
    const float *centre = frame->model->centre;
    float reach = 1.3f * frame->model->radius;
    float depth = 4.0f * frame->model->radius;
    const float *axes[3] = {side, up, direction};
    const float scales[3] = {1.0f / reach, 1.0f / reach, -0.5f / depth};
    mat4 matrix = GLM_MAT4_IDENTITY_INIT;
    for (int row = 0; row < 3; ++row) {
        for (int i = 0; i < 3; ++i) {
            matrix[i][row] = axes[row][i] * scales[row];
        }
        matrix[3][row] = -glm_vec3_dot((float *)axes[row], (float *)centre) * scales[row] + (row == 2 ? 0.5f : 0.0f);
    }
    memcpy(c->light_matrix, matrix, sizeof matrix);
    memcpy(c->light, direction, 12);
    c->light[3] = frame->shadows ? (frame->ordered ? 0.45f : 0.92f) : 0.0f;
    c->shadow_map[0] = (float)used / (2.0f * reach);
    c->shadow_map[1] = 1.0f / (float)whole;
    c->upward[3] = (float)used / (float)whole;
}

static void set_light_planes(view_constants *c) {
    mat4 m = GLM_MAT4_ZERO_INIT;
    memcpy(m, c->light_matrix, sizeof m);
    for (int i = 0; i < 6; ++i) {
        float sign = (i & 1) != 0 ? -1.0f : 1.0f;
        int row = i < 4 ? i / 2 : 0;
        vec3 normal = {m[0][row] * sign, m[1][row] * sign, m[2][row] * sign};
        float length = glm_vec3_norm(normal);
        for (int k = 0; k < 3; ++k) {
            c->cull_planes[i][k] = normal[k] / length;
        }
        c->cull_planes[i][3] = (m[3][row] * sign + 1.0f) / length;
    }
}

void view_set_frame(view_renderer *renderer, const view_frame *frame) {
    view_constants *c = &renderer->constants;
    const view_targets *targets = &renderer->targets;
    memset(c, 0, sizeof *c);
    int width = targets->width * targets->samples, height = targets->height * targets->samples;
    set_projection(c, frame->camera, width, height);
    set_light(c, frame, shadow_side(targets, frame), targets->shadow_size);
    set_camera_planes(c, frame->camera, (float)width / (float)height);
    uint64_t slots = frame->streams->slots;
    c->look[0] = frame->cell_edge;
    c->look[1] = frame->speed_scale;
    c->look[2] = frame->pair_scale;
    c->look[3] = slots > 1 ? 1.0f / (float)(slots - 1) : 1.0f;
    memcpy(c->ground, frame->model->centre, 12);
    c->ground[3] = frame->model->radius;
    c->across[3] = frame->model->surface_count == 0 ? 1.0f : 0.0f;
    c->shadow_map[2] = 0.30f;
    c->shadow_map[3] = 1.0f;
    c->frame_counts[2] = (uint32_t)frame->colour;
    memcpy(c->cut, frame->camera->cut, sizeof c->cut);
    c->glass[0] = frame->clear;
    c->glass[1] = frame->clear && !frame->ordered;
    c->selection[0] = frame->picked;
    c->selection[2] = (uint32_t)slots;
    view_upload_constants(renderer);
}

static void mark_time(view_renderer *renderer, int stage) {
    glQueryCounter(renderer->timers[renderer->timer_frame % VIEW_TIMERS][stage], GL_TIMESTAMP);
}

// Reads the times and counters of the oldest frame if they have arrived; never waits, which would leave the GPU idle.
static void take_times(view_renderer *renderer) {
    renderer->timer_frame += 1;
    if (renderer->timer_frame < VIEW_TIMERS) return;
    uint64_t oldest = renderer->timer_frame % VIEW_TIMERS;
    const GLuint *timers = renderer->timers[oldest];
    GLint ready = 0;
    glGetQueryObjectiv(timers[VIEW_STAGE_COUNT], GL_QUERY_RESULT_AVAILABLE, &ready);
    if (!ready) return;
    GLuint64 times[VIEW_STAGE_COUNT + 1];
    for (int i = 0; i <= VIEW_STAGE_COUNT; ++i) {
        glGetQueryObjectui64v(timers[i], GL_QUERY_RESULT, &times[i]);
        if (i > 0) renderer->stage_ms[i - 1] = (double)(times[i] - times[i - 1]) * 1.0e-6;
    }
    renderer->draw_ms = (double)(times[VIEW_STAGE_COUNT] - times[0]) * 1.0e-6;
    memcpy(renderer->drawn, renderer->totals_mapped + 4 * oldest, sizeof renderer->drawn);
}

static bool draw_shadows(view_renderer *renderer, const view_frame *frame, view_message *message) {
    const view_targets *targets = &renderer->targets;
    glBindFramebuffer(GL_FRAMEBUFFER, targets->shadow_map);
    int side = shadow_side(targets, frame);
    glViewport(0, 0, side, side);
    glEnable(GL_DEPTH_TEST);
    glDepthFunc(GL_LESS);
    glDepthMask(GL_TRUE);
    glClearDepth(1.0);
    if (!frame->shadows) return true; // light.w is 0 then, and the map is not read
    glEnable(GL_SCISSOR_TEST);
    glScissor(0, 0, side, side);
    glClear(GL_DEPTH_BUFFER_BIT);
    glDisable(GL_SCISSOR_TEST);
    view_constants saved = renderer->constants;
    set_light_planes(&renderer->constants);
    renderer->constants.frame_counts[3] = 1;
    view_upload_constants(renderer);
    bool good = view_draw_bodies(renderer, frame, true, message);
    view_draw_surfaces(renderer, frame, true);
    renderer->constants = saved;
    view_upload_constants(renderer);
    return good;
}

static void run_per_pixel(GLuint program, int width, int height) {
    glUseProgram(program);
    glDispatchCompute((GLuint)(width + 7) / 8, (GLuint)(height + 7) / 8, 1);
}

// Occlusion and light of the drawn surfaces, into the colour target.
static void light_surfaces(const view_renderer *renderer) {
    const view_targets *targets = &renderer->targets;
    int width = targets->width * targets->samples, height = targets->height * targets->samples;
    glBindTextureUnit(0, targets->depth);
    glBindImageTexture(0, targets->open, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_R8);
    run_per_pixel(renderer->programs.occlusion, width, height);
    glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT);
    const GLuint textures[] = {targets->shadow, targets->depth, targets->albedo, targets->normal, targets->open};
    glBindTextures(0, 5, textures);
    glBindImageTexture(0, targets->colour, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA16F);
    run_per_pixel(renderer->programs.light, width, height);
    glMemoryBarrier(GL_FRAMEBUFFER_BARRIER_BIT | GL_TEXTURE_FETCH_BARRIER_BIT);
}

static void compose(const view_renderer *renderer) {
    const view_targets *targets = &renderer->targets;
    glBindTextureUnit(0, targets->colour);
    glBindImageTexture(0, targets->final, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA8);
    glUseProgram(renderer->programs.composite);
    glUniform1i(0, targets->samples);
    run_per_pixel(renderer->programs.composite, targets->width, targets->height);
    glMemoryBarrier(GL_FRAMEBUFFER_BARRIER_BIT | GL_PIXEL_BUFFER_BARRIER_BIT);
}

bool view_render(view_renderer *renderer, const view_frame *frame, view_message *message) {
    const view_targets *targets = &renderer->targets;
    mark_time(renderer, 0);
    bool good = draw_shadows(renderer, frame, message);
    mark_time(renderer, 1 + VIEW_STAGE_SHADOWS);
    glBindFramebuffer(GL_FRAMEBUFFER, targets->scene);
    glViewport(0, 0, targets->width * targets->samples, targets->height * targets->samples);
    glDepthFunc(GL_GREATER);
    glClearDepth(0.0);
    glClearColor(0.0f, 0.0f, 0.0f, 0.0f);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    if (!frame->ordered) good = good && view_draw_bodies(renderer, frame, false, message);
    mark_time(renderer, 1 + VIEW_STAGE_BODIES);
    view_draw_surfaces(renderer, frame, false);
    mark_time(renderer, 1 + VIEW_STAGE_SURFACES);
    light_surfaces(renderer);
    mark_time(renderer, 1 + VIEW_STAGE_LIGHT);
    glBindFramebuffer(GL_FRAMEBUFFER, targets->blend);
    view_draw_clear_surfaces(renderer, frame, false);
    if (frame->ordered || frame->clear) good = good && view_draw_ordered(renderer, frame, message);
    view_draw_clear_surfaces(renderer, frame, true);
    view_draw_overlays(renderer, frame);
    mark_time(renderer, 1 + VIEW_STAGE_BLEND);
    glDisable(GL_DEPTH_TEST);
    compose(renderer);
    mark_time(renderer, 1 + VIEW_STAGE_COMPOSE);
    take_times(renderer);
    return good;
}

void view_show_traced(view_renderer *renderer, const view_streams *streams, int width, int height) {
    const view_targets *targets = &renderer->targets;
    mark_time(renderer, 0);
    view_bind_stream(streams, VIEW_STREAM_PICTURE, 0, 0, 4ull * (uint64_t)width * (uint64_t)height);
    glBindImageTexture(0, targets->final, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA8);
    glUseProgram(renderer->programs.traced);
    glUniform2i(0, width, height);
    run_per_pixel(renderer->programs.traced, targets->width, targets->height);
    glMemoryBarrier(GL_FRAMEBUFFER_BARRIER_BIT | GL_PIXEL_BUFFER_BARRIER_BIT);
    glDisable(GL_DEPTH_TEST);
    for (int stage = 1; stage <= VIEW_STAGE_COUNT; ++stage)
        mark_time(renderer, stage);
    take_times(renderer);
}

void view_bind_picture(const view_renderer *renderer) {
    glBindFramebuffer(GL_FRAMEBUFFER, renderer->targets.picture);
    glViewport(0, 0, renderer->targets.width, renderer->targets.height);
}

void view_show_picture(const view_renderer *renderer, int window_width, int window_height) {
    // A driver may take up a window's new size only where its framebuffer is bound and its viewport set.
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glViewport(0, 0, window_width, window_height);
    glBlitNamedFramebuffer(renderer->targets.picture, 0, 0, 0, renderer->targets.width, renderer->targets.height, 0, 0,
                           window_width, window_height, GL_COLOR_BUFFER_BIT, GL_LINEAR);
}

void view_read_picture(const view_renderer *renderer, uint8_t *pixels) {
    int width = renderer->targets.width, height = renderer->targets.height;
    size_t row = (size_t)width * 3;
    glBindFramebuffer(GL_READ_FRAMEBUFFER, renderer->targets.picture);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    for (int y = 0; y < height; ++y) {
        glReadPixels(0, height - 1 - y, width, 1, GL_RGB, GL_UNSIGNED_BYTE, pixels + row * (size_t)y);
    }
}
