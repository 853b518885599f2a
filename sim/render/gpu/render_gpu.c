// Pictures in compute shaders, host side.
#include "render_gpu.h"

extern const psvi_gpu_source psvi_glsl_trace_pixels, psvi_glsl_smooth_light, psvi_glsl_finish_picture;

#define SQUARE 8u // pixels along the side of a group of trace_pixels.comp

static void put_vector(uint32_t *params, v3 a) {
    memcpy(params, &a, sizeof a); // three floats
}

// The picture's numbers as parameters 4 to 39, as picture.glsl has them.
static psvi_gpu_call picture_call(const psvi_render_scene *scene, const psvi_gpu_source *source, uint32_t pass) {
    psvi_gpu_call call = {.source = source, .groups = ((uint64_t)scene->width * scene->height + 63) / 64};
    uint32_t *params = call.params;
    const v3 vectors[] = {scene->eye, scene->forward,   scene->right, scene->up,
                          scene->sun, scene->sun_right, scene->sun_up};
    params[4] = scene->width;
    params[5] = scene->height;
    for (uint32_t i = 0; i < 7; ++i)
        put_vector(params + 6 + 3 * (size_t)i, vectors[i]);
    memcpy(params + 27, &scene->pixel, 4);
    params[28] = (scene->space ? 1u : 0u) | (scene->phong ? 2u : 0u);
    params[29] = scene->seed;
    params[30] = scene->frame;
    params[31] = scene->added_up;
    params[32] = scene->passes;
    params[33] = pass;
    params[34] = scene->pixels.hits != NULL;
    const float numbers[4] = {scene->scale, scene->cell, scene->mirrors, scene->glass};
    memcpy(params + 35, numbers, sizeof numbers);
    params[39] = scene->ground_count;
    return call;
}

static psv_status trace(psv_context *context, const psvi_render_scene *scene) {
    const psvi_render_pixels *p = &scene->pixels;
    const psv_tree_view *tree = &scene->tree;
    const uint64_t count = (uint64_t)scene->width * scene->height;
    const bool bodies = scene->has_bodies;
    const void *const parts[5] = {tree->head, tree->nodes, tree->items,
                                  bodies ? (void *)scene->bodies.records : tree->ends, bodies ? scene->ground : NULL};
    const void *const arrays[5] = {p->surface, p->albedo, p->emission, p->light, p->colour};
    psvi_gpu_call call = picture_call(scene, &psvi_glsl_trace_pixels, 0);
    call.defines = bodies ? "#define BODIES 1\n" : "#define BODIES 0\n";
    for (uint32_t b = 0; b < 5; ++b)
        call.blocks[b] = (psvi_gpu_block){parts[b], psvi_gpu_rest_of_buffer(context, parts[b])};
    for (uint32_t b = 0; b < 5; ++b)
        call.blocks[5 + b] = (psvi_gpu_block){arrays[b], sizeof(psvi_f4) * count};
    call.blocks[10] = (psvi_gpu_block){p->hits, sizeof(psv_pixel_hit) * count};
    call.blocks[11] = (psvi_gpu_block){scene->rays, sizeof *scene->rays};
    call.groups = (uint64_t)((scene->width + SQUARE - 1) / SQUARE) * ((scene->height + SQUARE - 1) / SQUARE);
    return psvi_gpu_run(context, &call);
}

static psv_status filter(psv_context *context, const psvi_render_scene *scene) {
    const psvi_render_pixels *p = &scene->pixels;
    const uint64_t bytes = sizeof(psvi_f4) * scene->width * scene->height;
    const psvi_f4 *light = p->light;
    psv_status status = PSV_OK;
    for (uint32_t pass = 0; pass < scene->passes && status == PSV_OK; ++pass) {
        psvi_gpu_call call = picture_call(scene, &psvi_glsl_smooth_light, pass);
        call.blocks[5] = (psvi_gpu_block){p->surface, bytes};
        call.blocks[6] = (psvi_gpu_block){light, bytes};
        call.blocks[7] = (psvi_gpu_block){p->smooth[pass & 1], bytes};
        status = psvi_gpu_run(context, &call);
        light = p->smooth[pass & 1];
    }
    psvi_gpu_call call = picture_call(scene, &psvi_glsl_finish_picture, 0);
    const void *const arrays[4] = {p->colour, p->albedo, p->emission, light};
    for (uint32_t b = 0; b < 4; ++b)
        call.blocks[5 + b] = (psvi_gpu_block){arrays[b], bytes};
    call.blocks[9] = (psvi_gpu_block){p->final, bytes / 4};
    return status == PSV_OK ? psvi_gpu_run(context, &call) : status;
}

static const psvi_render_ops ops = {.load = psvi_gpu_load_world, .trace = trace, .filter = filter};

#if PSV_HAVE_GL
const psvi_sim_module psvi_gl_sim = {.render = &ops};
#endif
#if PSV_HAVE_VULKAN
const psvi_sim_module psvi_vulkan_sim = {.render = &ops};
#endif
