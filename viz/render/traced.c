#include "traced.h"

#include "interop_cuda.h"

#include <math.h>
#include <string.h>

#define SLOW_MS 90.0 // pictures of the CPU backend get coarser above, finer below
#define FAST_MS 25.0
#define COARSEST 8u
#define FIRST_COARSE 4u
#define STILL_TURNS 2u // pictures of an unmoved scene before one at full size, which takes longer

static bool failed(psv_context *context, psv_status status, view_message *message) {
    if (status == PSV_OK) return false;
    view_say(message, "%s", psv_last_error(context));
    return true;
}

void view_destroy_traced(view_traced *traced, psv_context *context) {
    psv_destroy_renderer(traced->renderer);
    if (context != NULL) psv_free_buffer(context, &traced->pixels);
    memset(traced, 0, sizeof *traced);
}

static bool make_renderer(view_traced *traced, psv_world *world, uint32_t width, uint32_t height,
                          view_message *message) {
    psv_context *context = psv_world_context(world);
    if (traced->renderer != NULL && width <= traced->max_width && height <= traced->max_height) return true;
    const view_traced old = *traced;
    view_destroy_traced(traced, context);
    traced->frame = old.frame;
    traced->coarse = old.coarse;
    traced->camera = old.camera;
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = traced->max_width = width;
    def.max_height = traced->max_height = height;
    def.world = world;
    return !failed(context, psv_create_renderer(context, &def, &traced->renderer), message);
}

static bool same_camera(const view_camera *a, const view_camera *b) {
    return memcmp(a->target, b->target, sizeof a->target) == 0 && a->distance == b->distance && a->yaw == b->yaw &&
           a->pitch == b->pitch;
}

// Pictures in a row that show the same: the renderer adds their samples up.
static void count_still(view_traced *traced, const view_targets *targets, const view_camera *camera, bool rests) {
    const bool same = rests && same_camera(camera, &traced->camera) && traced->max_width == (uint32_t)targets->width &&
                      traced->max_height == (uint32_t)targets->height;
    traced->still = same ? traced->still + 1 : 0;
    traced->camera = *camera;
}

// How coarse a picture of the CPU backend is: so coarse that motion is smooth, and not at all once nothing moves.
static void choose_size(view_traced *traced, const view_targets *targets, bool whole) {
    const double ms = traced->coarse_ms;
    if (traced->coarse == 0) traced->coarse = FIRST_COARSE;
    if (traced->still == 0 && ms > SLOW_MS && traced->coarse < COARSEST) traced->coarse += 1;
    if (traced->still == 0 && ms > 0 && ms < FAST_MS && traced->coarse > 1) traced->coarse -= 1;
    traced->whole = whole || traced->still >= STILL_TURNS;
    const uint32_t side = traced->whole ? 1 : traced->coarse;
    traced->width = ((uint32_t)targets->width + side - 1) / side;
    traced->height = ((uint32_t)targets->height + side - 1) / side;
}

static psv_picture_def describe(const view_traced *traced, const view_camera *camera, bool rests) {
    psv_picture_def picture = psv_default_picture_def();
    float right[3], forward[3];
    picture.width = traced->width;
    picture.height = traced->height;
    view_camera_eye(camera, picture.camera.eye);
    view_camera_axes(camera, right, picture.camera.up, forward);
    for (int i = 0; i < 3; ++i)
        picture.camera.target[i] = picture.camera.eye[i] + camera->distance * forward[i];
    picture.camera.field = 2.0f * atanf(VIEW_HALF_FIELD_TANGENT);
    picture.rests = rests;
    picture.frame = traced->frame;
    return picture;
}

// Straight into the stream's memory, where the backend can write there.
static bool render(view_traced *traced, view_streams *streams, const psv_picture_def *picture, uint64_t bytes,
                   view_message *message) {
    psv_context *context = streams->context;
    const psv_buffer none = {0};
    if (streams->transfer == VIEW_TRANSFER_INTEROP) {
        view_stream *stream = &streams->streams[VIEW_STREAM_PICTURE];
        psv_buffer mapped;
        if (!view_cuda_map(&stream, &mapped, 1, psv_context_stream(context), message)) return false;
        const psv_status status = psv_render_world(traced->renderer, picture, mapped, none);
        view_cuda_unmap(&stream, 1, psv_context_stream(context));
        return !failed(context, status, message);
    }
    void *target = view_stream_target(streams, VIEW_STREAM_PICTURE);
    if (streams->transfer == VIEW_TRANSFER_MAPPED)
        return !failed(context, psv_render_world(traced->renderer, picture, psv_buffer_of(target, bytes), none),
                       message);
    psv_status status = PSV_OK;
    if (traced->pixels.bytes < bytes) {
        psv_free_buffer(context, &traced->pixels);
        status = psv_alloc_buffer(context, bytes, &traced->pixels);
    }
    if (status == PSV_OK) status = psv_render_world(traced->renderer, picture, traced->pixels, none);
    if (status == PSV_OK) status = psv_download(context, target, traced->pixels, bytes);
    return !failed(context, status, message);
}

bool view_draw_traced(view_traced *traced, psv_world *world, view_streams *streams, view_renderer *renderer,
                      const view_camera *camera, bool rests, bool whole, view_message *message) {
    const bool on_gpu = psv_context_backend(streams->context) == PSV_BACKEND_CUDA;
    count_still(traced, &renderer->targets, camera, rests);
    if (!make_renderer(traced, world, (uint32_t)renderer->targets.width, (uint32_t)renderer->targets.height, message))
        return false;
    choose_size(traced, &renderer->targets, whole || on_gpu);
    const uint64_t bytes = 4ull * traced->width * traced->height;
    if (!view_reserve_stream(streams, VIEW_STREAM_PICTURE, bytes, message)) return false;
    const psv_picture_def picture = describe(traced, camera, rests);
    if (!render(traced, streams, &picture, bytes, message)) return false;
    traced->frame += 1;
    if (failed(streams->context, psv_read_render_statistics(traced->renderer, &traced->statistics), message))
        return false;
    if (!traced->whole) traced->coarse_ms = traced->statistics.frame_ms;
    view_show_traced(renderer, streams, (int)traced->width, (int)traced->height);
    return true;
}
