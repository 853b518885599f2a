// Bodies in chunks that fit the driver's storage blocks: one compute pass selects the visible bodies and their detail,
// then one indirect draw for each of the four lists.
#include "view_renderer.h"

#include <string.h>

#define INSTANCE_BYTES 48
#define MOST_INSTANCES (4u << 20) // in one list: bounds memory, not the picture

enum { LIST_POINTS, LIST_SPHERES, LIST_BOXES, LIST_CAST };

uint64_t view_chunk_bodies(const view_renderer *renderer, const view_model *model) {
    uint64_t instances = renderer->block_limit / INSTANCE_BYTES;
    if (instances > MOST_INSTANCES) instances = MOST_INSTANCES;
    uint64_t bodies = instances / (model->max_parts > 0 ? model->max_parts : 1);
    bodies = bodies / 1024 * 1024; // every stream's chunk then starts at an aligned offset
    return bodies > 0 ? bodies : 1024;
}

// Makes a list large enough; instances of the last frame are lost.
static bool reserve_list(view_renderer *renderer, int list, uint64_t instances, view_message *message) {
    if (renderer->lists[list] != 0 && renderer->rooms[list] >= instances) return true;
    while (glGetError() != GL_NO_ERROR) {
    }
    glDeleteBuffers(1, &renderer->lists[list]);
    renderer->rooms[list] = instances + instances / 8 + 64;
    renderer->lists[list] = view_new_buffer(renderer->rooms[list] * INSTANCE_BYTES, NULL);
    if (glGetError() == GL_NO_ERROR) return true;
    view_say(message, "OpenGL has no %llu MB of memory to draw the bodies; fewer bodies (--bodies) would fit",
             (unsigned long long)(renderer->rooms[list] * INSTANCE_BYTES >> 20));
    glDeleteBuffers(1, &renderer->lists[list]);
    renderer->lists[list] = 0;
    renderer->rooms[list] = 0;
    return false;
}

static bool reserve_lists(view_renderer *renderer, const view_model *model, uint64_t chunk, view_message *message) {
    for (int list = 0; list < VIEW_LISTS; ++list) {
        uint64_t most = chunk * model->max_parts;
        uint64_t need = model->list_rooms[list] + 64; // room for bodies that are shot before the next scan
        if (!reserve_list(renderer, list, need < most ? need : most, message)) return false;
    }
    return true;
}

static void bind_chunk(view_renderer *renderer, const view_frame *frame, uint64_t first, uint64_t count) {
    const view_streams *streams = frame->streams;
    view_bind_stream(streams, VIEW_STREAM_POSITIONS, 0, 16 * first, 16 * count);
    view_bind_stream(streams, VIEW_STREAM_ROTATIONS, 1, 16 * first, 16 * count);
    view_bind_stream(streams, VIEW_STREAM_VELOCITIES, 2, 16 * first, 16 * count);
    view_bind_stream(streams, VIEW_STREAM_SHAPES, 3, 4 * first, 4 * count);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 4, frame->model->shapes);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 5, frame->model->parts);
    // Bindings that this colour mode does not read still need a buffer.
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 10, frame->model->shapes);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 11, frame->model->shapes);
    if (frame->colour == VIEW_COLOUR_CELL) view_bind_stream(streams, VIEW_STREAM_BOXES, 10, 24 * first, 24 * count);
    if (frame->colour == VIEW_COLOUR_PAIRS || frame->colour == VIEW_COLOUR_RANK) {
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 11, renderer->values, (GLintptr)(4 * first),
                          (GLsizeiptr)(4 * count));
    }
    renderer->constants.frame_counts[0] = (uint32_t)count;
    renderer->constants.frame_counts[1] = (uint32_t)first;
    view_upload_constants(renderer);
}

static void cull(view_renderer *renderer, uint64_t count) {
    uint32_t counters[8] = {0};
    for (int list = 0; list < VIEW_LISTS; ++list) {
        uint64_t room = renderer->rooms[list];
        counters[4 + list] = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
        uint64_t bytes = room * INSTANCE_BYTES < renderer->block_limit ? room * INSTANCE_BYTES : renderer->block_limit;
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, (GLuint)(6 + list), renderer->lists[list], 0, (GLsizeiptr)bytes);
        if ((uint64_t)counters[4 + list] * INSTANCE_BYTES > bytes)
            counters[4 + list] = (uint32_t)(bytes / INSTANCE_BYTES);
    }
    glNamedBufferSubData(renderer->counters, 0, sizeof counters, counters);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 12, renderer->counters);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 13, renderer->commands);
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT); // the last chunk's draws have read the lists
    glUseProgram(renderer->programs.cull);
    view_dispatch_256(count);
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
    glUseProgram(renderer->programs.commands);
    glDispatchCompute(1, 1, 1);
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_COMMAND_BARRIER_BIT);
}

static void draw_list(view_renderer *renderer, const view_model *model, int list, GLuint program) {
    const void *command = (const void *)(uintptr_t)(20 * (unsigned)list);
    uint64_t bytes = renderer->rooms[list] * INSTANCE_BYTES;
    if (bytes > renderer->block_limit) bytes = renderer->block_limit;
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, renderer->lists[list], 0, (GLsizeiptr)bytes);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, model->planes);
    glUseProgram(program);
    if (list == LIST_POINTS || list == LIST_SPHERES) {
        glBindVertexArray(renderer->empty_array);
        glDrawArraysIndirect(list == LIST_POINTS ? GL_POINTS : GL_TRIANGLES, command);
    } else {
        glBindVertexArray(renderer->hull_array);
        glDrawElementsIndirect(GL_TRIANGLES, GL_UNSIGNED_BYTE, command);
    }
}

static void draw_lists(view_renderer *renderer, const view_model *model, bool for_light) {
    const view_programs *programs = &renderer->programs;
    glBindBuffer(GL_DRAW_INDIRECT_BUFFER, renderer->commands);
    if (for_light) {
        glUseProgram(programs->shadow_point);
        glUniform1ui(4, 1);
        draw_list(renderer, model, LIST_POINTS, programs->shadow_point);
        glUseProgram(programs->shadow_box);
        glUniform1ui(4, 0);
        if (model->list_rooms[LIST_BOXES] > 0) draw_list(renderer, model, LIST_BOXES, programs->shadow_box);
        if (model->list_rooms[LIST_CAST] > 0) draw_list(renderer, model, LIST_CAST, programs->shadow_hull);
        return;
    }
    const GLuint drawing[VIEW_LISTS] = {programs->point, programs->sphere, programs->box, programs->cast};
    for (int list = VIEW_LISTS - 1; list >= 0; --list) { // large things first: they hide the most
        if (model->list_rooms[list] > 0) draw_list(renderer, model, list, drawing[list]);
    }
}

// Leaves a copy of the counters for take_times to find, some frames later.
static void keep_counters(view_renderer *renderer) {
    GLintptr slot = (GLintptr)(renderer->timer_frame % VIEW_TIMERS) * 16;
    glCopyNamedBufferSubData(renderer->counters, renderer->totals, 0, slot, 16);
    glMemoryBarrier(GL_CLIENT_MAPPED_BUFFER_BARRIER_BIT);
}

// A list that proved too small (bodies made after the scan) grows for the next frame.
static bool grow_lists(view_renderer *renderer, uint64_t chunk, const view_model *model, view_message *message) {
    for (int list = 0; list < VIEW_LISTS; ++list) {
        uint64_t need = renderer->drawn[list];
        bool possible = need <= chunk * model->max_parts;
        if (need > renderer->rooms[list] && possible && !reserve_list(renderer, list, need, message)) return false;
    }
    return true;
}

bool view_draw_bodies(view_renderer *renderer, const view_frame *frame, bool for_light, view_message *message) {
    uint64_t slots = frame->streams->slots;
    uint64_t chunk = view_chunk_bodies(renderer, frame->model);
    if (!reserve_lists(renderer, frame->model, chunk, message)) return false;
    if (!grow_lists(renderer, chunk, frame->model, message)) return false;
    renderer->chunks = 0;
    for (uint64_t first = 0; first < slots; first += chunk) {
        uint64_t count = slots - first < chunk ? slots - first : chunk;
        bind_chunk(renderer, frame, first, count);
        cull(renderer, count);
        draw_lists(renderer, frame->model, for_light);
        renderer->chunks += 1;
    }
    if (!for_light && renderer->chunks == 1) keep_counters(renderer);
    return true;
}

bool view_draw_ordered(view_renderer *renderer, const view_frame *frame, view_message *message) {
    uint64_t slots = frame->streams->slots;
    uint64_t chunk = view_chunk_bodies(renderer, frame->model);
    uint32_t parts = frame->model->max_parts;
    uint64_t largest = (slots < chunk ? slots : chunk) * parts;
    if (!reserve_list(renderer, LIST_POINTS, largest, message)) return false;
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    renderer->constants.selection[3] = parts;
    for (uint64_t first = 0; first < slots; first += chunk) {
        uint64_t count = slots - first < chunk ? slots - first : chunk;
        bind_chunk(renderer, frame, 0, slots);
        renderer->constants.frame_counts[0] = (uint32_t)count;
        view_upload_constants(renderer);
        view_bind_stream(frame->streams, VIEW_STREAM_ORDER, 7, 4 * first, 4 * count);
        GLsizeiptr bytes = (GLsizeiptr)(count * parts * INSTANCE_BYTES);
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 6, renderer->lists[LIST_POINTS], 0, bytes);
        glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
        glUseProgram(renderer->programs.order);
        view_dispatch_256(count);
        glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, renderer->lists[LIST_POINTS], 0, bytes);
        glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, frame->model->planes);
        glUseProgram(renderer->programs.ordered);
        glBindVertexArray(renderer->hull_array);
        glDrawElementsInstanced(GL_TRIANGLES, 18, GL_UNSIGNED_BYTE, NULL, (GLsizei)(count * parts));
    }
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
    return true;
}
