// Light smoothed over neighbouring pixels of one surface (Dammertz et al. 2010, «Edge-avoiding A-Trous wavelet
// transform for fast global illumination filtering»), and the picture's colours.
#ifndef PAIRSIEVE_RENDER_FILTER_H
#define PAIRSIEVE_RENDER_FILTER_H

#include "render_pixel.h"

PSVI_HD float psvi_luminance(v3 c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }

// 1 at 0, and soon little: as exp(-x), without its cost.
PSVI_HD float psvi_falloff(float x) { return 1 / (1 + x * (1 + x * (0.5f + 0.5f * x))); }

// How much a pixel's neighbour counts: near its tangent plane, with nearly its normal.
PSVI_HD float psvi_likeness(psvi_f4 a, psvi_f4 b, float pixels, float pixel) {
    if (!(b.w < INFINITY)) return 0;
    const float turn = fmaxf(v3_dot(v3_of4(a), v3_of4(b)), 0.0f);
    const float turn8 = turn * turn * turn * turn * turn * turn * turn * turn;
    const float slack = 3 * pixels * pixel * a.w;
    return turn8 * turn8 * turn8 * turn8 * psvi_falloff(fabsf(a.w - b.w) / slack);
}

// Pass k looks at pixels 2^k away. In: light of the pass before; out: light.
PSV_TREE_FN void psvi_render_smooth(const psvi_render_scene *scene, uint32_t pass, uint32_t pixel) {
    const psvi_render_pixels *all = &scene->pixels;
    const psvi_f4 *from = pass == 0 ? all->light : all->smooth[(pass - 1) & 1];
    const psvi_f4 own = all->surface[pixel], light = from[pixel];
    const int step = 1 << pass, x = (int)(pixel % scene->width), y = (int)(pixel / scene->width);
    if (!(own.w < INFINITY)) {
        all->smooth[pass & 1][pixel] = light;
        return;
    }
    const float bright = psvi_luminance(v3_of4(light)), slack = 2.0f / (float)step;
    v3 sum = v3_scale(v3_of4(light), 4);
    float weights = 4;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const int nx = x + dx * step, ny = y + dy * step;
            if ((dx == 0 && dy == 0) || nx < 0 || ny < 0 || nx >= (int)scene->width || ny >= (int)scene->height)
                continue;
            const uint32_t other = (uint32_t)ny * scene->width + (uint32_t)nx;
            const v3 theirs = v3_of4(from[other]);
            const float unlike = (psvi_luminance(theirs) - bright) / slack;
            const float weight = (dx == 0 || dy == 0 ? 2.0f : 1.0f) * psvi_falloff(unlike * unlike) *
                                 psvi_likeness(own, all->surface[other], (float)step, scene->pixel);
            sum = v3_madd(sum, theirs, weight);
            weights += weight;
        }
    all->smooth[pass & 1][pixel] = f4_make(v3_scale(sum, 1 / weights), 0);
}

// A curve that keeps dark colours as they are and bends bright ones to 1, then sRGB's power.
PSVI_HD uint32_t psvi_tone(float x) {
    const float bent = x < 0.6f ? x : 0.6f + 0.4f * (1 - expf((0.6f - x) / 0.4f));
    return (uint32_t)(255 * powf(clamp_f(bent, 0, 1), 1 / 2.2f) + 0.5f);
}

// The more pictures have added up, the less of the smoothed light is taken, and the more of the plain mean.
PSV_TREE_FN void psvi_render_final(const psvi_render_scene *scene, uint32_t pixel) {
    const psvi_render_pixels *all = &scene->pixels;
    v3 colour = v3_of4(all->colour[pixel]);
    if (scene->passes > 0) {
        const v3 light = v3_of4(all->smooth[(scene->passes - 1) & 1][pixel]);
        const v3 smooth = v3_add(v3_of4(all->emission[pixel]), v3_times(v3_of4(all->albedo[pixel]), light));
        colour = psvi_mix(smooth, colour, (float)scene->added_up / (float)PSVI_RENDER_ENOUGH);
    }
    all->final[pixel] = psvi_tone(colour.x) | psvi_tone(colour.y) << 8 | psvi_tone(colour.z) << 16 | 0xff000000u;
}

#endif
