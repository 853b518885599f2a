#include "streams.h"

#include "../render/interop_cuda.h"

#include <string.h>

const char *view_transfer_name(view_transfer transfer) {
    static const char *const names[] = {"mapped buffers", "CUDA-OpenGL interop", "copies through the host"};
    return names[transfer];
}

void view_create_streams(view_streams *streams, psv_context *context, bool refuse_interop) {
    memset(streams, 0, sizeof *streams);
    streams->context = context;
    if (psv_context_backend(context) != PSV_BACKEND_CUDA) return;
    if (refuse_interop) {
        view_say(&streams->refusal, "turned off by --no-interop");
        streams->transfer = VIEW_TRANSFER_HOST;
    } else {
        bool share = view_cuda_can_share(&streams->refusal);
        streams->transfer = share ? VIEW_TRANSFER_INTEROP : VIEW_TRANSFER_HOST;
    }
}

static void free_stream(view_stream *stream) {
    view_cuda_unregister(stream);
    if (stream->buffer != 0) glDeleteBuffers(1, &stream->buffer); // unmaps; the GPU finishes with it first
    memset(stream, 0, sizeof *stream);
}

void view_destroy_streams(view_streams *streams) {
    for (int i = 0; i < VIEW_STREAM_COUNT; ++i) {
        free_stream(&streams->streams[i]);
    }
    for (int i = 0; i < VIEW_STREAM_REGIONS; ++i) {
        if (streams->fences[i] != NULL) glDeleteSync(streams->fences[i]);
    }
    memset(streams, 0, sizeof *streams);
}

static bool allocate_shared(view_streams *streams, view_stream *stream, view_message *message) {
    glNamedBufferStorage(stream->buffer, (GLsizeiptr)stream->room, NULL, 0);
    if (view_cuda_register(stream, message)) return true;
    // Refused after all: from here on everything goes through the host.
    streams->refusal = *message;
    streams->transfer = VIEW_TRANSFER_HOST;
    for (int i = 0; i < VIEW_STREAM_COUNT; ++i) {
        free_stream(&streams->streams[i]);
    }
    return true;
}

bool view_reserve_stream(view_streams *streams, view_stream_name name, uint64_t bytes, view_message *message) {
    view_stream *stream = &streams->streams[name];
    if (stream->buffer != 0 && bytes <= stream->room) {
        stream->bytes = bytes;
        return true;
    }
    free_stream(stream);
    while (glGetError() != GL_NO_ERROR) {
    }
    uint64_t room = bytes + bytes / 8 + 4096;
    stream->room = (room + 4095) / 4096 * 4096;
    glCreateBuffers(1, &stream->buffer);
    if (streams->transfer == VIEW_TRANSFER_INTEROP) {
        allocate_shared(streams, stream, message);
        if (streams->transfer != VIEW_TRANSFER_INTEROP) return view_reserve_stream(streams, name, bytes, message);
    } else {
        const GLbitfield flags = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
        GLsizeiptr all = (GLsizeiptr)(stream->room * VIEW_STREAM_REGIONS);
        glNamedBufferStorage(stream->buffer, all, NULL, flags);
        stream->mapped = glMapNamedBufferRange(stream->buffer, 0, all, flags);
    }
    if (glGetError() != GL_NO_ERROR || (stream->resource == NULL && stream->mapped == NULL)) {
        free_stream(stream);
        view_say(message, "OpenGL has no %llu MB of memory for the bodies; fewer bodies (--bodies) would fit",
                 (unsigned long long)(bytes >> 20));
        return false;
    }
    stream->bytes = bytes;
    return true;
}

void *view_stream_target(view_streams *streams, view_stream_name name) {
    view_stream *stream = &streams->streams[name];
    if (stream->mapped == NULL) return NULL;
    // Two frames ago is the last one that can have read this region.
    GLsync fence = streams->fences[(streams->frame + 1) % VIEW_STREAM_REGIONS];
    if (fence != NULL) glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, UINT64_C(2000000000));
    stream->region = (stream->region + 1) % VIEW_STREAM_REGIONS;
    stream->offset = (uint64_t)stream->region * stream->room;
    return stream->mapped + stream->offset;
}

void view_finish_streams(view_streams *streams) {
    streams->frame += 1;
    GLsync *fence = &streams->fences[streams->frame % VIEW_STREAM_REGIONS];
    if (*fence != NULL) glDeleteSync(*fence);
    *fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
}

void view_bind_stream(const view_streams *streams, view_stream_name name, GLuint binding, uint64_t first,
                      uint64_t bytes) {
    const view_stream *stream = &streams->streams[name];
    if (stream->buffer == 0 || bytes == 0) return;
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, binding, stream->buffer, (GLintptr)(stream->offset + first),
                      (GLsizeiptr)bytes);
}

static bool copy_to_mapped(view_streams *streams, psv_world *world, view_stream_name name, psv_buffer source,
                           uint64_t bytes, view_message *message) {
    void *target = view_stream_target(streams, name);
    if (source.gl_name != 0) { // pairs that OpenGL found
        psv_pair_finder *finder = psv_world_pair_finder(world);
        if (psv_read_pairs(finder, target, bytes / sizeof(psv_pair), NULL) == PSV_OK) return true;
        view_say(message, "the pairs could not be read");
        return false;
    }
    if (streams->transfer == VIEW_TRANSFER_MAPPED) {
        memcpy(target, psv_buffer_address(source), bytes);
        return true;
    }
    if (psv_download(streams->context, target, source, bytes) == PSV_OK) return true;
    view_say(message, "%s", psv_last_error(streams->context));
    return false;
}

typedef struct source {
    view_stream_name name;
    psv_buffer buffer;
    uint64_t bytes;
} source;

// Of the last step; 0 in a world that lists none.
static uint64_t count_contacts(view_streams *streams, psv_world *world) {
    psv_event_counts counts = {0};
    const psv_buffer buffer = psv_world_event_counts(world);
    if (buffer.bytes < sizeof counts) return 0;
    if (psv_download(streams->context, &counts, buffer, sizeof counts) != PSV_OK) return 0;
    const uint64_t room = psv_world_contacts(world).bytes / sizeof(psv_contact);
    return counts.contacts < room ? counts.contacts : room;
}

static int collect_sources(view_streams *streams, psv_world *world, uint32_t wanted, source *sources) {
    uint64_t n = psv_world_slot_count(world);
    uint64_t pairs = 0;
    psv_pair_finder *finder = psv_world_pair_finder(world);
    if ((wanted & (1u << VIEW_STREAM_PAIRS)) != 0 && finder != NULL) {
        psv_status status = psv_finish_pairs(finder, &pairs);
        uint64_t room = psv_pair_buffer(finder).bytes / sizeof(psv_pair);
        if (status != PSV_OK && status != PSV_ERROR_CAPACITY) pairs = 0;
        pairs = pairs < room ? pairs : room;
    }
    streams->slots = n;
    streams->pairs = pairs;
    streams->contacts = (wanted & (1u << VIEW_STREAM_CONTACTS)) != 0 ? count_contacts(streams, world) : 0;
    const source all[] = {
        {VIEW_STREAM_POSITIONS, psv_world_positions(world), 16 * n},
        {VIEW_STREAM_ROTATIONS, psv_world_rotations(world), 16 * n},
        {VIEW_STREAM_VELOCITIES, psv_world_velocities(world), 16 * n},
        {VIEW_STREAM_SHAPES, psv_world_shape_indices(world), 4 * n},
        {VIEW_STREAM_BOXES, psv_world_boxes(world), sizeof(psv_aabb) * n},
        {VIEW_STREAM_PAIRS, finder != NULL ? psv_pair_buffer(finder) : (psv_buffer){0}, sizeof(psv_pair) * pairs},
        {VIEW_STREAM_CONTACTS, psv_world_contacts(world), sizeof(psv_contact) * streams->contacts},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        bool there = all[i].bytes > 0 && (psv_buffer_address(all[i].buffer) != NULL || all[i].buffer.gl_name != 0) &&
                     all[i].buffer.bytes >= all[i].bytes;
        if (there && (wanted & (1u << all[i].name)) != 0) sources[count++] = all[i];
    }
    return count;
}

bool view_update_streams(view_streams *streams, psv_world *world, uint32_t wanted, view_message *message) {
    source sources[VIEW_STREAM_COUNT];
    int count = collect_sources(streams, world, wanted, sources);
    for (int i = 0; i < count; ++i) {
        if (!view_reserve_stream(streams, sources[i].name, sources[i].bytes, message)) return false;
    }
    if (streams->transfer == VIEW_TRANSFER_INTEROP) {
        view_stream *targets[VIEW_STREAM_COUNT];
        psv_buffer buffers[VIEW_STREAM_COUNT];
        for (int i = 0; i < count; ++i) {
            targets[i] = &streams->streams[sources[i].name];
            buffers[i] = sources[i].buffer;
        }
        return count == 0 || view_cuda_copy(targets, buffers, count, psv_context_stream(streams->context), message);
    }
    for (int i = 0; i < count; ++i) {
        // A refusal in the loop above frees streams that were reserved before it.
        if (!view_reserve_stream(streams, sources[i].name, sources[i].bytes, message)) return false;
        if (!copy_to_mapped(streams, world, sources[i].name, sources[i].buffer, sources[i].bytes, message))
            return false;
    }
    return true;
}
