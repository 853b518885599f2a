#include "depth_order.h"

#include "interop_cuda.h"

#include <SDL.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t view_depth_key(const float position[4], const float eye[3], const float forward[3]) {
    float depth = -3.0e38f;
    if (position[3] > 0.0f) {
        depth = (position[0] - eye[0]) * forward[0] + (position[1] - eye[1]) * forward[1] +
                (position[2] - eye[2]) * forward[2];
    }
    uint32_t key;
    memcpy(&key, &depth, sizeof key);
    return key;
}

static float clamped(float x, float most) { return x > 0.0f ? (x < most ? x : most) : 0.0f; }

uint32_t view_row_key(const float position[4], const float row_origin[4]) {
    float r = position[3];
    if (!(r > 0.0f && r < 1.0e9f)) return UINT32_MAX;
    uint32_t y = (uint32_t)clamped((position[1] - r - row_origin[1]) * row_origin[3], 255.0f);
    uint32_t z = (uint32_t)clamped((position[2] - r - row_origin[2]) * row_origin[3], 255.0f);
    uint32_t x = (uint32_t)clamped((position[0] - r - row_origin[0]) * row_origin[3] * 16.0f, 65535.0f);
    return (y << 24) | (z << 16) | x;
}

// With "auto" a driver that will not do is no failure: the CPU does it.
static bool open_gl(view_order *order, bool measure, view_message *message) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_GL;
    def.gl_load = SDL_GL_GetProcAddress;
    if (psv_create_context(&def, &order->gl) != PSV_OK) {
        if (!measure) view_say(message, "ordering on OpenGL: %s", psv_last_error(NULL));
        return measure;
    }
    (void)psv_enable_profile(order->gl, true);
    for (int mode = 0; mode < 2; ++mode) {
        order->measure[mode] = measure;
        order->on_gl[mode] = true;
    }
    return true;
}

bool view_create_order(view_order *order, psv_context *world_context, const char *order_on, view_message *message) {
    memset(order, 0, sizeof *order);
    psv_context_def def = psv_default_context_def();
    def.backend = psv_context_backend(world_context);
    def.worker_count = def.backend == PSV_BACKEND_CPU ? psv_context_worker_count(world_context) : 0;
    def.borrow_stream = def.backend == PSV_BACKEND_CUDA;
    def.stream = psv_context_stream(world_context);
    if (psv_create_context(&def, &order->context) != PSV_OK) {
        view_say(message, "%s", psv_last_error(NULL));
        return false;
    }
    (void)psv_enable_profile(order->context, true);
    if (order_on == NULL || strcmp(order_on, "cpu") == 0 || def.backend != PSV_BACKEND_CPU) return true;
    return open_gl(order, strcmp(order_on, "auto") == 0, message);
}

static void free_room(view_order *order) {
    for (int i = 0; i < 2; ++i) {
        psv_destroy_sorter(order->sorters[i]);
        order->sorters[i] = NULL;
        psv_destroy_sorter(order->gl_sorters[i]);
        order->gl_sorters[i] = NULL;
    }
    psv_free_buffer(order->context, &order->device_keys);
    psv_free_buffer(order->context, &order->device_index);
    free(order->keys);
    free(order->index);
    order->keys = order->index = NULL;
    order->room = 0;
}

void view_destroy_order(view_order *order) {
    if (order->context == NULL) return;
    free_room(order);
    psv_destroy_context(order->context);
    psv_destroy_context(order->gl);
    memset(order, 0, sizeof *order);
}

static bool failed(const view_order *order, view_message *message) {
    view_say(message, "ordering the bodies: %s", psv_last_error(order->context));
    return false;
}

static bool reserve(view_order *order, view_order_mode mode, const char *method, uint64_t count, view_transfer transfer,
                    view_message *message) {
    if (order->room < count || strcmp(order->method, method) != 0) {
        free_room(order);
        snprintf(order->method, sizeof order->method, "%s", method);
        order->room = count + count / 8 + 256;
        if (transfer != VIEW_TRANSFER_INTEROP) {
            order->keys = malloc(4 * order->room);
            order->index = malloc(4 * order->room);
            if (order->keys == NULL || order->index == NULL) {
                view_say(message, "no memory to order %llu bodies", (unsigned long long)count);
                free_room(order);
                return false;
            }
        }
        if (transfer == VIEW_TRANSFER_HOST &&
            (psv_alloc_buffer(order->context, 4 * order->room, &order->device_keys) != PSV_OK ||
             psv_alloc_buffer(order->context, 4 * order->room, &order->device_index) != PSV_OK)) {
            return failed(order, message);
        }
    }
    if (order->sorters[mode] != NULL) return true;
    psv_sorter_def def = psv_default_sorter_def();
    def.method = order->method;
    def.key_type = mode == VIEW_ORDER_DEPTH ? PSV_KEY_F32 : PSV_KEY_U32;
    def.descending = mode == VIEW_ORDER_DEPTH; // far first
    def.max_count = order->room;
    if (psv_create_sorter(order->context, &def, &order->sorters[mode]) != PSV_OK) return failed(order, message);
    if (order->gl == NULL) return true;
    if (psv_sort_method_description(PSV_BACKEND_GL, def.method) == NULL) def.method = "radix"; // merge, say
    if (psv_create_sorter(order->gl, &def, &order->gl_sorters[mode]) == PSV_OK) return true;
    view_say(message, "ordering on OpenGL: %s", psv_last_error(order->gl));
    return false;
}

static bool sort_shared(view_order *order, view_order_mode mode, view_streams *streams, view_message *message) {
    view_stream *shared[2] = {&streams->streams[VIEW_STREAM_KEYS], &streams->streams[VIEW_STREAM_ORDER]};
    psv_buffer buffers[2];
    void *cuda_stream = psv_context_stream(order->context);
    if (!view_cuda_map(shared, buffers, 2, cuda_stream, message)) return false;
    psv_status status =
        psv_sort_index(order->sorters[mode], buffers[0], buffers[1], streams->slots, PSV_INDEX_KEYS_KEPT);
    view_cuda_unmap(shared, 2, cuda_stream);
    return status == PSV_OK || failed(order, message);
}

static void fill_host_keys(view_order *order, view_order_mode mode, const float (*positions)[4], uint64_t count,
                           const view_constants *view, const float row_origin[4]) {
    for (uint64_t i = 0; i < count; ++i) {
        order->keys[i] = mode == VIEW_ORDER_DEPTH ? view_depth_key(positions[i], view->eye, view->forward)
                                                  : view_row_key(positions[i], row_origin);
    }
}

static psv_status sort_on_device(view_order *order, view_order_mode mode, uint64_t count) {
    psv_status status = psv_upload(order->context, order->device_keys, order->keys, 4 * count);
    if (status != PSV_OK) return status;
    status = psv_sort_index(order->sorters[mode], order->device_keys, order->device_index, count, PSV_INDEX_KEYS_KEPT);
    return status != PSV_OK ? status : psv_download(order->context, order->index, order->device_index, 4 * count);
}

// Sorts the host's keys in the streams' own buffers: the order is where it is drawn from.
static bool sort_on_gl(view_order *order, view_order_mode mode, view_streams *streams, uint64_t count,
                       view_message *message) {
    const uint64_t bytes = 4 * count;
    if (!view_reserve_stream(streams, VIEW_STREAM_KEYS, bytes, message) ||
        !view_reserve_stream(streams, VIEW_STREAM_ORDER, bytes, message))
        return false;
    memcpy(view_stream_target(streams, VIEW_STREAM_KEYS), order->keys, bytes);
    (void)view_stream_target(streams, VIEW_STREAM_ORDER);
    const view_stream *keys = &streams->streams[VIEW_STREAM_KEYS], *index = &streams->streams[VIEW_STREAM_ORDER];
    const psv_status status =
        psv_sort_index(order->gl_sorters[mode], psv_buffer_of_gl(keys->buffer, keys->offset, bytes),
                       psv_buffer_of_gl(index->buffer, index->offset, bytes), count, PSV_INDEX_KEYS_KEPT);
    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    if (status == PSV_OK) return true;
    view_say(message, "ordering on OpenGL: %s", psv_last_error(order->gl));
    return false;
}

// Sorts the keys of this frame on both, the second time timed, and keeps to the faster one.
static bool measure_both(view_order *order, view_order_mode mode, view_streams *streams, uint64_t count,
                         view_message *message) {
    double seconds[2] = {0, 0};
    for (int turn = 0; turn < 4; ++turn) {
        const Uint64 start = SDL_GetPerformanceCounter();
        if (turn % 2 == 0) {
            if (psv_sort_index(order->sorters[mode], psv_buffer_of(order->keys, 4 * count),
                               psv_buffer_of(order->index, 4 * count), count, PSV_INDEX_KEYS_KEPT) != PSV_OK)
                return failed(order, message);
        } else if (!sort_on_gl(order, mode, streams, count, message) || psv_synchronize(order->gl) != PSV_OK) {
            return false;
        }
        seconds[turn % 2] = (double)(SDL_GetPerformanceCounter() - start);
    }
    order->measure[mode] = false;
    order->on_gl[mode] = seconds[1] < seconds[0];
    return true;
}

static bool sort_on_host(view_order *order, view_order_mode mode, view_renderer *renderer, view_streams *streams,
                         psv_world *world, const float row_origin[4], view_message *message) {
    uint64_t count = streams->slots;
    psv_buffer positions = psv_world_positions(world);
    void *copy = NULL;
    if (streams->transfer == VIEW_TRANSFER_HOST) copy = view_read_array(world, positions, 0, 16 * count);
    const void *address = streams->transfer == VIEW_TRANSFER_HOST ? copy : psv_buffer_address(positions);
    if (address == NULL) {
        view_say(message, "bodies could not be read to order them");
        return false;
    }
    fill_host_keys(order, mode, address, count, &renderer->constants, row_origin);
    free(copy);
    if (order->gl != NULL && order->measure[mode] && !measure_both(order, mode, streams, count, message)) return false;
    if (order->gl != NULL && order->on_gl[mode]) return sort_on_gl(order, mode, streams, count, message);
    psv_status status;
    if (streams->transfer == VIEW_TRANSFER_HOST) {
        status = sort_on_device(order, mode, count);
    } else {
        status = psv_sort_index(order->sorters[mode], psv_buffer_of(order->keys, 4 * count),
                                psv_buffer_of(order->index, 4 * count), count, PSV_INDEX_KEYS_KEPT);
    }
    if (status != PSV_OK) return failed(order, message);
    if (!view_reserve_stream(streams, VIEW_STREAM_ORDER, 4 * count, message)) return false;
    memcpy(view_stream_target(streams, VIEW_STREAM_ORDER), order->index, 4 * count);
    return true;
}

bool view_sort_bodies(view_order *order, view_order_mode mode, const char *method, view_renderer *renderer,
                      view_streams *streams, psv_world *world, const float row_origin[4], view_message *message) {
    uint64_t count = streams->slots;
    if (count == 0) return true;
    Uint64 start = SDL_GetPerformanceCounter();
    if (!reserve(order, mode, method, count, streams->transfer, message)) return false;
    bool good;
    if (streams->transfer == VIEW_TRANSFER_INTEROP) {
        good = view_reserve_stream(streams, VIEW_STREAM_KEYS, 4 * count, message) &&
               view_reserve_stream(streams, VIEW_STREAM_ORDER, 4 * count, message);
        if (good && streams->transfer == VIEW_TRANSFER_INTEROP) {
            view_fill_keys(renderer, streams, (uint32_t)mode, row_origin);
            good = sort_shared(order, mode, streams, message);
        }
    } else {
        good = sort_on_host(order, mode, renderer, streams, world, row_origin, message);
    }
    psv_profile profile;
    const bool on_gl = order->gl != NULL && order->on_gl[mode];
    if (psv_read_profile(on_gl ? order->gl : order->context, &profile) == PSV_OK) order->sort_ms = profile.frame_ms;
    order->all_ms = (double)(SDL_GetPerformanceCounter() - start) * 1000.0 / (double)SDL_GetPerformanceFrequency();
    return good;
}
