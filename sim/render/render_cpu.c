// Pictures on the CPU: loops over places and pixels.
#include "../../core/cpu/workers.h"
#include "render_place.h"
#include "render_trace_cpu.h"
#include "renderer.h"

#include "render_filter.h"

#define PLACES 1024 // a chunk of a loop
#define PIXELS 256

typedef struct render_loop {
    const psvi_render_scene *scene;
    uint32_t pass;
    uint64_t (*trace)(const psvi_render_scene *scene, uint64_t first, uint64_t end);
} render_loop;

static void run_pixels(psv_context *context, const psvi_render_scene *scene, psvi_range_task *task, uint32_t pass) {
    render_loop loop = {scene, pass, NULL};
    psvi_run_ranges(context, (uint64_t)scene->width * scene->height, PIXELS, task, &loop);
}

static void make_some_items(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_make_items(loop->scene, (uint32_t)i);
}

static psv_status make_items(psv_context *context, const psvi_render_scene *scene) {
    render_loop loop = {scene, 0, NULL};
    *scene->items.count = scene->sim.slots;
    psvi_run_ranges(context, scene->sim.slots, PLACES, make_some_items, &loop);
    return PSV_OK;
}

static void place_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_place_body(loop->scene, (uint32_t)i);
}

static psv_status place_bodies(psv_context *context, const psvi_render_scene *scene, uint64_t items) {
    render_loop loop = {scene, 0, NULL};
    psvi_run_ranges(context, items, PLACES, place_some, &loop);
    return PSV_OK;
}

static void see_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    const uint64_t rays = loop->trace(loop->scene, first, end);
    (void)__atomic_fetch_add(loop->scene->rays, rays, __ATOMIC_RELAXED);
}

static psv_status trace(psv_context *context, const psvi_render_scene *scene) {
    render_loop loop = {scene, 0, psvi_trace_pixels};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loop.trace = psvi_trace_pixels_avx2;
#endif
    psvi_run_ranges(context, (uint64_t)scene->width * scene->height, PIXELS, see_some, &loop);
    return PSV_OK;
}

static void smooth_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_render_smooth(loop->scene, loop->pass, (uint32_t)i);
}

static void finish_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_render_final(loop->scene, (uint32_t)i);
}

static psv_status filter(psv_context *context, const psvi_render_scene *scene) {
    for (uint32_t pass = 0; pass < scene->passes; ++pass)
        run_pixels(context, scene, smooth_some, pass);
    run_pixels(context, scene, finish_some, 0);
    return PSV_OK;
}

const psvi_render_ops psvi_render_ops_cpu = {
    .items = make_items,
    .place = place_bodies,
    .trace = trace,
    .filter = filter,
};
