// The rays of a range of pixels on the CPU, for the node test that the file before it has chosen.
#include "render_pixel.h"
#include "render_trace_cpu.h"

uint64_t PSVI_TRACE_PIXELS(const psvi_render_scene *scene, uint64_t first, uint64_t end) {
    uint64_t rays = 0;
    for (uint64_t i = first; i < end; ++i) {
        rays += psvi_render_surface(scene, (uint32_t)i);
        rays += scene->phong ? psvi_shade_pixel(scene, (uint32_t)i, true) : psvi_render_light(scene, (uint32_t)i);
    }
    return rays;
}
