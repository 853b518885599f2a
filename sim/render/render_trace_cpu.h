// The rays of pixels [first, end) of a picture; returns how many there were.
#ifndef PAIRSIEVE_RENDER_TRACE_CPU_H
#define PAIRSIEVE_RENDER_TRACE_CPU_H

#include "render_scene.h"

uint64_t psvi_trace_pixels(const psvi_render_scene *scene, uint64_t first, uint64_t end);
#if defined(__x86_64__)
uint64_t psvi_trace_pixels_avx2(const psvi_render_scene *scene, uint64_t first, uint64_t end);
#endif

#endif
