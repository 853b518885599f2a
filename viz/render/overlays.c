// Surfaces, overlay lines, and the values that colour bodies.
#include "view_renderer.h"

#include <math.h>
#include <string.h>

// A power of ten that makes the scene a few tens of squares wide.
static float grid_edge_for(float radius) { return powf(10.0f, roundf(log10f(fmaxf(radius, 1.0e-3f) / 8.0f))); }

static void set_own_colour(uint32_t colour) {
    float own[4];
    for (int i = 0; i < 3; ++i)
        own[i] = powf((float)(colour >> 8 * i & 255u) / 255.0f, 2.2f);
    own[3] = (float)(colour >> 24) / 255.0f;
    glUniform4fv(4, 1, own);
}

static void draw_surface(const view_model *model, const view_surface *surface, bool for_light) {
    const view_geometry *geometry = &model->geometries[surface->geometry];
    if (geometry->index_count == 0) return;
    glUniform4f(0, surface->position[0], surface->position[1], surface->position[2], 0.0f);
    glUniform4fv(1, 1, surface->rotation);
    if (!for_light) {
        glUniform1ui(2, (GLuint)surface->kind);
        glUniform1f(3, grid_edge_for(model->radius));
        set_own_colour(surface->colour);
    }
    glBindVertexArray(geometry->vertex_array);
    glDrawElements(GL_TRIANGLES, geometry->index_count, GL_UNSIGNED_INT, NULL);
}

void view_draw_surfaces(view_renderer *renderer, const view_frame *frame, bool for_light) {
    const view_model *model = frame->model;
    glUseProgram(for_light ? renderer->programs.shadow_surface : renderer->programs.surface);
    if (for_light) glUniform1ui(4, 0);
    for (uint32_t i = 0; i < model->surface_count; ++i) {
        const view_surface *surface = &model->surfaces[i];
        // Planes hide nothing from the sun, and hills hardly; meshes do, if they are not clear.
        if (view_is_clear(surface->colour) || (for_light && surface->kind != VIEW_SURFACE_MESH)) continue;
        // Walls are not drawn from behind, so that one can look into a room.
        if (surface->kind == VIEW_SURFACE_PLANE) {
            glEnable(GL_CULL_FACE);
            glCullFace(GL_BACK);
        }
        draw_surface(model, surface, for_light);
        glDisable(GL_CULL_FACE);
    }
}

void view_draw_clear_surfaces(view_renderer *renderer, const view_frame *frame, bool front) {
    const view_model *model = frame->model;
    glUseProgram(renderer->programs.clear_surface);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    glEnable(GL_CULL_FACE);
    glCullFace(front ? GL_BACK : GL_FRONT);
    for (uint32_t i = 0; i < model->surface_count; ++i) {
        const view_surface *surface = &model->surfaces[i];
        if (view_is_clear(surface->colour) && (front || surface->kind != VIEW_SURFACE_PLANE))
            draw_surface(model, surface, false);
    }
    glDisable(GL_CULL_FACE);
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
}

static void draw_box_lines(view_renderer *renderer, const view_frame *frame, GLuint mode) {
    uint64_t slots = frame->streams->slots;
    uint64_t chunk = renderer->block_limit / 24 / 1024 * 1024;
    glUseProgram(renderer->programs.box_lines);
    glUniform1ui(0, mode);
    for (uint64_t first = 0; first < slots; first += chunk) {
        uint64_t count = slots - first < chunk ? slots - first : chunk;
        view_bind_stream(frame->streams, VIEW_STREAM_BOXES, 0, 24 * first, 24 * count);
        view_bind_stream(frame->streams, VIEW_STREAM_POSITIONS, 1, 16 * first, 16 * count);
        glDrawArraysInstanced(GL_LINES, 0, 24, (GLsizei)count);
    }
}

// Pairs and order address any body, so that all positions have to be in one block.
static bool positions_fit(const view_renderer *renderer, const view_frame *frame) {
    return 16 * frame->streams->slots <= renderer->block_limit;
}

static void draw_pair_lines(view_renderer *renderer, const view_frame *frame) {
    uint64_t pairs = frame->streams->pairs;
    uint64_t chunk = renderer->block_limit / 8 / 1024 * 1024;
    if (chunk > 1u << 28) chunk = 1u << 28;
    if (!positions_fit(renderer, frame)) return;
    glUseProgram(renderer->programs.pair_lines);
    view_bind_stream(frame->streams, VIEW_STREAM_POSITIONS, 1, 0, 16 * frame->streams->slots);
    for (uint64_t first = 0; first < pairs; first += chunk) {
        uint64_t count = pairs - first < chunk ? pairs - first : chunk;
        view_bind_stream(frame->streams, VIEW_STREAM_PAIRS, 0, 8 * first, 8 * count);
        glDrawArrays(GL_LINES, 0, (GLsizei)(2 * count));
    }
}

static void draw_order_lines(view_renderer *renderer, const view_frame *frame) {
    uint64_t slots = frame->streams->slots;
    if (slots < 2 || !positions_fit(renderer, frame)) return;
    glUseProgram(renderer->programs.order_lines);
    view_bind_stream(frame->streams, VIEW_STREAM_ORDER, 0, 0, 4 * slots);
    view_bind_stream(frame->streams, VIEW_STREAM_POSITIONS, 1, 0, 16 * slots);
    glDrawArrays(GL_LINES, 0, (GLsizei)(2 * (slots - 1)));
}

static void draw_speed_lines(view_renderer *renderer, const view_frame *frame) {
    const uint64_t slots = frame->streams->slots;
    if (!positions_fit(renderer, frame)) return;
    glUseProgram(renderer->programs.speed_lines);
    view_bind_stream(frame->streams, VIEW_STREAM_VELOCITIES, 0, 0, 16 * slots);
    view_bind_stream(frame->streams, VIEW_STREAM_POSITIONS, 1, 0, 16 * slots);
    glDrawArrays(GL_LINES, 0, (GLsizei)(2 * slots));
}

#define LONGEST_FORCE 12.0f // times the mean radius of bodies

static void draw_contact_lines(view_renderer *renderer, const view_frame *frame) {
    const uint64_t contacts = frame->streams->contacts;
    const uint64_t chunk = renderer->block_limit / sizeof(psv_contact) / 1024 * 1024;
    glUseProgram(renderer->programs.contact_lines);
    glUniform2f(0, frame->metres_per_newton, LONGEST_FORCE * frame->model->mean_radius);
    for (uint64_t first = 0; first < contacts; first += chunk) {
        const uint64_t count = contacts - first < chunk ? contacts - first : chunk;
        view_bind_stream(frame->streams, VIEW_STREAM_CONTACTS, 0, sizeof(psv_contact) * first,
                         sizeof(psv_contact) * count);
        glDrawArrays(GL_LINES, 0, (GLsizei)(2 * count));
    }
}

void view_draw_overlays(view_renderer *renderer, const view_frame *frame) {
    if (frame->overlays == 0 || frame->streams->slots == 0) return;
    renderer->constants.frame_counts[1] = 0;
    view_upload_constants(renderer);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    glBindVertexArray(renderer->empty_array);
    if ((frame->overlays & VIEW_OVERLAY_BOXES) != 0) draw_box_lines(renderer, frame, 0);
    if ((frame->overlays & VIEW_OVERLAY_CELLS) != 0) draw_box_lines(renderer, frame, 1);
    glDisable(GL_DEPTH_TEST); // the following lines lie inside the bodies
    if ((frame->overlays & VIEW_OVERLAY_SPEEDS) != 0) draw_speed_lines(renderer, frame);
    if ((frame->overlays & VIEW_OVERLAY_FORCES) != 0) draw_contact_lines(renderer, frame);
    if ((frame->overlays & VIEW_OVERLAY_PAIRS) != 0) draw_pair_lines(renderer, frame);
    if ((frame->overlays & VIEW_OVERLAY_ORDER) != 0) draw_order_lines(renderer, frame);
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
}

static void run_values(GLuint mode, uint64_t count, uint64_t bodies) {
    glUniform1ui(0, mode);
    glUniform1ui(1, (GLuint)count);
    glUniform1ui(2, (GLuint)bodies);
    view_dispatch_256(count);
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
}

bool view_fill_values(view_renderer *renderer, const view_streams *streams, view_colour_mode mode,
                      view_message *message) {
    uint64_t slots = streams->slots;
    if (slots == 0) return true;
    if (renderer->value_room < slots) {
        glDeleteBuffers(1, &renderer->values);
        renderer->value_room = slots + slots / 8;
        renderer->values = view_new_buffer(4 * renderer->value_room, NULL);
    }
    if (4 * slots > renderer->block_limit) {
        view_say(message, "%llu bodies are more than this driver's storage block holds for colours",
                 (unsigned long long)slots);
        return false;
    }
    glUseProgram(renderer->programs.values);
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 11, renderer->values, 0, (GLsizeiptr)(4 * slots));
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 6, renderer->values);
    run_values(0, slots, slots);
    if (mode == VIEW_COLOUR_RANK) {
        view_bind_stream(streams, VIEW_STREAM_ORDER, 6, 0, 4 * slots);
        run_values(2, slots, slots);
        return true;
    }
    uint64_t chunk = renderer->block_limit / 8 / 1024 * 1024;
    for (uint64_t first = 0; first < streams->pairs; first += chunk) {
        uint64_t count = streams->pairs - first < chunk ? streams->pairs - first : chunk;
        view_bind_stream(streams, VIEW_STREAM_PAIRS, 6, 8 * first, 8 * count);
        run_values(1, 2 * count, slots);
    }
    return true;
}

void view_fill_keys(view_renderer *renderer, const view_streams *streams, uint32_t mode, const float row_origin[4]) {
    uint64_t slots = streams->slots;
    uint64_t chunk = renderer->block_limit / 16 / 1024 * 1024;
    glUseProgram(renderer->programs.keys);
    glUniform1ui(0, mode);
    glUniform4fv(1, 1, row_origin);
    for (uint64_t first = 0; first < slots; first += chunk) {
        uint64_t count = slots - first < chunk ? slots - first : chunk;
        renderer->constants.frame_counts[0] = (uint32_t)count;
        view_upload_constants(renderer);
        view_bind_stream(streams, VIEW_STREAM_POSITIONS, 0, 16 * first, 16 * count);
        view_bind_stream(streams, VIEW_STREAM_KEYS, 6, 4 * first, 4 * count);
        view_dispatch_256(count);
    }
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_BUFFER_UPDATE_BARRIER_BIT);
}
