// Pictures on the CPU: loops over places and pixels.
#include "../../sort/core/cpu/workers.h"
#include "../src/body_queries.h"
#include "render_place.h"
#include "renderer.h"

#include "render_filter.h"

#define PLACES 1024 // a chunk of a loop
#define PIXELS 256

typedef struct render_loop {
    const psvi_render_scene *scene;
    uint32_t pass;
} render_loop;

static void run_pixels(psv_context *context, const psvi_render_scene *scene, psvi_range_task *task, uint32_t pass) {
    render_loop loop = {scene, pass};
    psvi_run_ranges(context, (uint64_t)scene->width * scene->height, PIXELS, task, &loop);
}

static void place_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_place_body(loop->scene, (uint32_t)i);
}

static psv_status place_bodies(psv_context *context, const psvi_render_scene *scene, uint64_t items) {
    render_loop loop = {scene, 0};
    psvi_run_ranges(context, items, PLACES, place_some, &loop);
    return PSV_OK;
}

static void see_some(void *data, uint64_t first, uint64_t end) {
    const render_loop *loop = data;
    uint64_t rays = 0;
    for (uint64_t i = first; i < end; ++i) {
        rays += psvi_render_surface(loop->scene, (uint32_t)i);
        rays += psvi_render_light(loop->scene, (uint32_t)i);
    }
    (void)__atomic_fetch_add(loop->scene->rays, rays, __ATOMIC_RELAXED);
}

static psv_status trace(psv_context *context, const psvi_render_scene *scene) {
    run_pixels(context, scene, see_some, 0);
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
    .boxes = psvi_cpu_query_boxes,
    .place = place_bodies,
    .trace = trace,
    .filter = filter,
};
