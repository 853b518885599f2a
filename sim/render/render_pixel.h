// One pixel of a picture: the way from the eye over mirrors and through glass to a surface, and the light that comes
// there.
#ifndef PAIRSIEVE_RENDER_PIXEL_H
#define PAIRSIEVE_RENDER_PIXEL_H

#include "render_rays.h"

// --- random numbers: docs/how/rendering.md --------------------------------------------------------------------------

PSVI_HD uint32_t psvi_render_hash(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// In [0, 1). Of one pixel and channel the numbers of successive frames are spread evenly: they are steps of the inverse
// of the plastic number in two dimensions (Roberts 2018), from a place that is hashed.
PSVI_HD float psvi_render_random(uint32_t seed, uint32_t frame, uint32_t pixel, uint32_t channel) {
    const uint32_t start = psvi_render_hash(pixel ^ psvi_render_hash(channel ^ psvi_render_hash(seed)));
    return (float)((start + frame * (channel & 1 ? 0x91e10da5u : 0xc13fa9a9u)) >> 8) * 0x1p-24f;
}

#define PSVI_CHANNEL_PIXEL 0u // and 1: where in the pixel
#define PSVI_CHANNEL_SUN 2u   // and 3
#define PSVI_CHANNEL_SKY 4u   // and 5
#define PSVI_CHANNEL_GLASS 6u // and on, one a bounce

// --- colours ---------------------------------------------------------------------------------------------------------

PSVI_HD v3 psvi_mix(v3 a, v3 b, float share) { return v3_madd(v3_scale(a, 1 - share), b, share); }
PSVI_HD v3 v3_times(v3 a, v3 b) { return v3_make(a.x * b.x, a.y * b.y, a.z * b.z); }
PSVI_HD float psvi_ramp(float low, float high, float x) {
    const float t = clamp_f((x - low) / (high - low), 0, 1);
    return t * t * (3 - 2 * t);
}

PSVI_HD v3 psvi_sky(const psvi_render_scene *scene, v3 d) {
    const float up = clamp_f(d.y, -1, 1);
    if (scene->space)
        return psvi_mix(v3_make(0.012f, 0.014f, 0.030f), v3_make(0.035f, 0.030f, 0.070f), 0.5f + 0.5f * up);
    const v3 horizon = v3_make(0.60f, 0.67f, 0.76f);
    return up >= 0 ? psvi_mix(horizon, v3_make(0.14f, 0.24f, 0.42f), powf(up, 0.55f))
                   : psvi_mix(horizon, v3_make(0.36f, 0.39f, 0.44f), sqrtf(-up));
}

// The colour that the body's shape was given, linear; without one a negative red.
PSVI_HD v3 psvi_own_paint(const psvi_sim *s, uint32_t slot) {
    const uint8_t *own = s->geometry.shapes[s->shape[slot]].paint;
    if ((own[0] | own[1] | own[2]) == 0) return v3_make(-1, 0, 0);
    return v3_make(powf((float)own[0] / 255, 2.2f), powf((float)own[1] / 255, 2.2f), powf((float)own[2] / 255, 2.2f));
}

// As the viewer colours bodies: by their shape's colour, else warm and cool shapes in turn; with a tint of the body's
// own.
PSVI_HD v3 psvi_body_paint(const psvi_sim *s, uint32_t slot, v3 own) {
    const uint32_t noise = psvi_render_hash(slot + 1), hue = (s->shape[slot] & 1) * 4 + (noise >> 8 & 3);
    const bool moves = s->velocity[slot].w > 0;
    if (own.x >= 0) return moves ? v3_scale(own, 0.9f + 0.2f * (float)(noise & 255u) / 255.0f) : own;
    if (!moves) return v3_make(0.42f, 0.43f, 0.45f);
    const float tint = 0.80f + 0.4f * (float)(noise & 255u) / 255.0f;
    v3 paint;
    switch (hue) {
    case 0: paint = v3_make(0.76f, 0.18f, 0.11f); break;
    case 1: paint = v3_make(0.90f, 0.52f, 0.09f); break;
    case 2: paint = v3_make(0.84f, 0.72f, 0.48f); break;
    case 3: paint = v3_make(0.62f, 0.31f, 0.20f); break;
    case 4: paint = v3_make(0.09f, 0.33f, 0.60f); break;
    case 5: paint = v3_make(0.10f, 0.48f, 0.42f); break;
    case 6: paint = v3_make(0.30f, 0.60f, 0.74f); break;
    default: paint = v3_make(0.36f, 0.24f, 0.56f); break;
    }
    return v3_scale(paint, tint);
}

// Share of a line's width in a pixel that is `width` wide, of lines at whole numbers.
PSVI_HD float psvi_grid_line(float at, float width) {
    const float away = fabsf(at - floorf(at + 0.5f)) / fmaxf(width, 1e-6f);
    return (1 - psvi_ramp(0.15f, 0.5f, width)) * (1 - psvi_ramp(0.5f, 1.5f, away));
}

// Planes have a grid that ends where its lines are as near as pixels.
// A pixel covers `width` across the ray d, and more along it where it grazes.
PSVI_HD v3 psvi_plane_paint(const psvi_render_scene *scene, v3 own, v3 p, v3 normal, v3 d, float width) {
    const v3 n = v3_abs(normal);
    const bool level = n.y > 0.7f;
    const float a = !level && n.x > 0.7f ? p.y : p.x, b = level || n.x > 0.7f ? p.z : p.y;
    const v3 along = v3_madd(d, normal, -v3_dot(d, normal));
    const float longer = 1 / fmaxf(-v3_dot(d, normal), 0.02f) - 1;
    const v3 spread = v3_abs(v3_unit_or(along, v3_make(0, 0, 0)));
    const float wide_a = width * (1 + longer * (!level && n.x > 0.7f ? spread.y : spread.x));
    const float wide_b = width * (1 + longer * (level || n.x > 0.7f ? spread.z : spread.y));
    const float fine = 1 / scene->cell, coarse = 0.1f / scene->cell;
    const float lines = fmaxf(psvi_grid_line(a * fine, wide_a * fine), psvi_grid_line(b * fine, wide_b * fine));
    const float strong =
        fmaxf(psvi_grid_line(a * coarse, wide_a * coarse), psvi_grid_line(b * coarse, wide_b * coarse));
    const v3 plain = level ? v3_make(0.40f, 0.41f, 0.43f) : v3_make(0.46f, 0.48f, 0.52f);
    return v3_scale(own.x >= 0 ? own : plain, (1 - 0.22f * lines) * (1 - 0.30f * strong));
}

PSVI_HD v3 psvi_paint(const psvi_render_scene *scene, const psvi_seen *seen, v3 p, v3 d, float width) {
    if (!scene->has_bodies) return v3_make(0.60f, 0.55f, 0.48f);
    const v3 own = psvi_own_paint(&scene->sim, seen->slot);
    if (seen->type == PSV_SHAPE_PLANE) return psvi_plane_paint(scene, own, p, seen->normal, d, width);
    if (own.x >= 0 && (seen->type == PSV_SHAPE_HEIGHT_FIELD || seen->type == PSV_SHAPE_MESH)) return own;
    if (seen->type == PSV_SHAPE_HEIGHT_FIELD)
        return psvi_mix(v3_make(0.29f, 0.23f, 0.17f), v3_make(0.17f, 0.25f, 0.10f),
                        psvi_ramp(0.75f, 0.95f, seen->normal.y));
    if (seen->type == PSV_SHAPE_MESH) return v3_make(0.48f, 0.44f, 0.40f);
    return psvi_body_paint(&scene->sim, seen->slot, own);
}

// --- materials -------------------------------------------------------------------------------------------------------

typedef enum psvi_material { PSVI_PAINTED, PSVI_MIRROR, PSVI_GLASS } psvi_material;

PSVI_HD psvi_material psvi_material_of(const psvi_render_scene *scene, const psvi_seen *seen) {
    if (!scene->has_bodies || psvi_is_ground(seen->type)) return PSVI_PAINTED;
    const float draw = (float)(psvi_render_hash(seen->slot ^ 0x5bd1e995u) >> 8) * 0x1p-24f;
    if (draw < scene->mirrors) return PSVI_MIRROR;
    return draw < scene->mirrors + scene->glass && seen->type != PSV_SHAPE_COMPOUND ? PSVI_GLASS : PSVI_PAINTED;
}

PSVI_HD v3 psvi_reflect(v3 d, v3 n) { return v3_unit_or(v3_madd(d, n, -2 * v3_dot(d, n)), n); }

// Schlick's reflectance of glass at the cosine between ray and normal.
PSVI_HD float psvi_fresnel(float cosine) {
    const float c = 1 - clamp_f(cosine, 0, 1), c2 = c * c;
    return 0.04f + 0.96f * c2 * c2 * c;
}

// By Snell's law; false: all of it is reflected.
PSVI_HD bool psvi_refract(v3 d, v3 n, float ratio, v3 *out) {
    const float cosine = -v3_dot(d, n), rest = 1 - ratio * ratio * (1 - cosine * cosine);
    if (rest < 0) return false;
    *out = v3_unit_or(v3_madd(v3_scale(d, ratio), n, ratio * cosine - sqrtf(rest)), d);
    return true;
}

// Far enough from a surface that rounding cannot put a ray's beginning behind it.
PSVI_HD v3 psvi_lift(v3 p, v3 n, float t) {
    const float reach = fmaxf(fabsf(p.x), fmaxf(fabsf(p.y), fabsf(p.z))) + t;
    return v3_madd(p, n, 2e-5f * reach);
}

// Follows a ray through a convex glass body from p, just inside, until it leaves. A ray from the far side, backwards,
// finds the exit. At most three internal reflections.
PSVI_RENDER_CALL void psvi_pass_glass(const psvi_render_scene *scene, uint32_t slot, v3 *p, v3 *d, v3 *weight) {
    const float radius = scene->sim.position[slot].w;
    for (int turn = 0; turn < 4; ++turn) {
        const float reach = 2.1f * radius;
        psvi_surface at = {0, *d, 0};
        if (!psvi_ray_body(&scene->sim, slot, v3_madd(*p, *d, reach), v3_neg(*d), reach, &at)) return;
        const v3 out = v3_madd(*p, *d, reach - at.t), inward = v3_neg(at.normal);
        *weight = v3_times(*weight, psvi_mix(v3_make(1, 1, 1), v3_make(0.86f, 0.95f, 0.93f), 0.5f));
        v3 next;
        if (psvi_refract(*d, inward, 1.5f, &next)) {
            *p = psvi_lift(out, at.normal, reach);
            *d = next;
            return;
        }
        *d = psvi_reflect(*d, inward);
        *p = psvi_lift(out, inward, reach);
    }
}

// --- the way to a surface --------------------------------------------------------------------------------------------

typedef struct psvi_way {
    v3 p, d; // the ray at hand
    v3 weight;
    float length;
} psvi_way;

PSVI_HD v3 psvi_eye_ray(const psvi_render_scene *scene, uint32_t pixel) {
    float x = 0.5f, y = 0.5f; // the first picture uses the centres, so that resting and moving scenes look alike
    if (scene->added_up > 0) {
        x = psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_PIXEL);
        y = psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_PIXEL + 1);
    }
    const float across = 2 * ((float)(pixel % scene->width) + x) / (float)scene->width - 1;
    const float upward = 1 - 2 * ((float)(pixel / scene->width) + y) / (float)scene->height;
    return v3_unit_or(v3_madd(v3_madd(scene->forward, scene->right, across), scene->up, upward), scene->forward);
}

// A mirror or glass sends the ray on; false: the surface is shaded itself.
PSV_TREE_FN bool psvi_go_on(const psvi_render_scene *scene, uint32_t pixel, uint32_t bounce, const psvi_seen *seen,
                            psvi_way *way) {
    const psvi_material material = psvi_material_of(scene, seen);
    if (material == PSVI_PAINTED) return false;
    const v3 at = v3_madd(way->p, way->d, seen->t);
    v3 inside;
    const float mirrored = material == PSVI_MIRROR ? 1.0f : psvi_fresnel(-v3_dot(way->d, seen->normal));
    const float draw = psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_GLASS + bounce);
    if (draw < mirrored || !psvi_refract(way->d, seen->normal, 1 / 1.5f, &inside)) {
        if (material == PSVI_MIRROR) way->weight = v3_times(way->weight, v3_make(0.92f, 0.93f, 0.95f));
        way->d = psvi_reflect(way->d, seen->normal);
        way->p = psvi_lift(at, seen->normal, seen->t);
        return true;
    }
    way->p = psvi_lift(at, v3_neg(seen->normal), seen->t);
    way->d = inside;
    psvi_pass_glass(scene, seen->slot, &way->p, &way->d, &way->weight);
    return true;
}

PSV_TREE_FN void psvi_note_hit(const psvi_render_scene *scene, uint32_t pixel, const psvi_seen *seen) {
    if (scene->pixels.hits == NULL) return;
    psv_pixel_hit *hit = &scene->pixels.hits[pixel];
    hit->t = seen->t;
    hit->slot = seen->slot;
    psvi_put(hit->normal, seen->normal);
    hit->sun = hit->sky = 0;
    hit->reserved = 0;
}

// From the eye to a surface that takes light, or the sky. Returns the rays that it took.
PSV_TREE_FN uint32_t psvi_render_surface(const psvi_render_scene *scene, uint32_t pixel) {
    const psvi_render_pixels *out = &scene->pixels;
    psvi_way way = {scene->eye, psvi_eye_ray(scene, pixel), {1, 1, 1}, 0};
    psvi_seen seen;
    uint32_t rays = 0;
    for (;; ++rays) {
        seen = psvi_look(scene, way.p, way.d, false);
        if (rays == 0) psvi_note_hit(scene, pixel, &seen);
        way.length += seen.t;
        if (seen.slot == PSV_NO_ITEM || rays == PSVI_RENDER_BOUNCES || !psvi_go_on(scene, pixel, rays, &seen, &way))
            break;
    }
    const v3 sky = v3_times(way.weight, psvi_sky(scene, way.d)), none = v3_make(0, 0, 0);
    if (seen.slot == PSV_NO_ITEM) {
        out->surface[pixel] = f4_make(none, INFINITY);
        out->albedo[pixel] = f4_make(none, 0);
        out->emission[pixel] = f4_make(sky, 0);
        return rays + 1;
    }
    const v3 p = v3_madd(way.p, way.d, seen.t);
    // Far planes melt into the sky.
    const float haze = seen.type == PSV_SHAPE_PLANE ? psvi_ramp(5, 40, way.length / scene->scale) : 0.0f;
    const v3 paint =
        v3_scale(v3_times(way.weight, psvi_paint(scene, &seen, p, way.d, way.length * scene->pixel)), 1 - haze);
    out->surface[pixel] = f4_make(seen.normal, way.length);
    out->albedo[pixel] = f4_make(paint, 0);
    out->emission[pixel] = f4_make(v3_scale(sky, haze), 0);
    out->place[pixel] = f4_make(psvi_lift(p, seen.normal, seen.t), 0);
    return rays + 1;
}

// --- light -----------------------------------------------------------------------------------------------------------

PSVI_HD v3 psvi_sun_ray(const psvi_render_scene *scene, uint32_t pixel) {
    const float u = psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_SUN);
    const float turn = 6.2831853f * psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_SUN + 1);
    const float away = sqrtf(u);
    return v3_unit_or(
        v3_madd(v3_madd(scene->sun, scene->sun_right, away * cosf(turn)), scene->sun_up, away * sinf(turn)),
        scene->sun);
}

// As often as its cosine with the normal is large: a point of the unit sphere about the normal's end.
PSVI_HD v3 psvi_sky_ray(const psvi_render_scene *scene, uint32_t pixel, v3 normal) {
    const float z = 2 * psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_SKY) - 1;
    const float turn = 6.2831853f * psvi_render_random(scene->seed, scene->frame, pixel, PSVI_CHANNEL_SKY + 1);
    const float flat = sqrtf(fmaxf(1 - z * z, 0.0f));
    return v3_unit_or(v3_add(normal, v3_make(flat * cosf(turn), z, flat * sinf(turn))), normal);
}

// What comes from a surface to the eye by its light: light that its paint reflects, and a highlight. Whether the rays
// reached sun and sky, and how many there were.
typedef struct psvi_lit {
    v3 light;
    float highlight;
    bool sun, sky;
    uint32_t rays;
} psvi_lit;

// One ray to the sun, where it is above the surface, and one to the sky.
PSV_TREE_FN psvi_lit psvi_daylight(const psvi_render_scene *scene, uint32_t pixel, v3 p, v3 normal) {
    const v3 to_sun = psvi_sun_ray(scene, pixel), to_sky = psvi_sky_ray(scene, pixel, normal);
    const float slope = v3_dot(normal, to_sun);
    psvi_lit lit = {{0, 0, 0}, 0, false, false, 1u + (slope > 0)};
    lit.sun = slope > 0 && psvi_look(scene, p, to_sun, true).slot == PSV_NO_ITEM;
    lit.sky = psvi_look(scene, p, to_sky, true).slot == PSV_NO_ITEM;
    if (lit.sun) lit.light = v3_scale(v3_make(1.30f, 1.18f, 0.98f), slope);
    // What hides the sky gives a little of the light that falls on it.
    lit.light = v3_add(lit.light, lit.sky ? v3_scale(psvi_sky(scene, to_sky), 1.1f) : v3_make(0.045f, 0.042f, 0.038f));
    return lit;
}

PSVI_HD uint32_t psvi_gloss_cell(float x) { return (uint32_t)(int32_t)floorf(clamp_f(x, -1e9f, 1e9f)); }

// The gloss map: a number from 0 to 1 for each cube of space with the grid's width.
PSVI_HD float psvi_gloss(const psvi_render_scene *scene, v3 p) {
    const v3 c = v3_scale(p, 1 / scene->cell);
    const uint32_t cell =
        psvi_gloss_cell(c.x) * 73856093u ^ psvi_gloss_cell(c.y) * 19349663u ^ psvi_gloss_cell(c.z) * 83492791u;
    return (float)(psvi_render_hash(cell) >> 8) * 0x1p-24f;
}

// Phong (1975), with a ray to the middle of the sun; nothing is random.
PSV_TREE_FN psvi_lit psvi_phong(const psvi_render_scene *scene, v3 p, v3 normal) {
    const float slope = v3_dot(normal, scene->sun);
    psvi_lit lit = {{0.22f, 0.23f, 0.26f}, 0, false, false, slope > 0};
    lit.sun = slope > 0 && psvi_look(scene, p, scene->sun, true).slot == PSV_NO_ITEM;
    if (!lit.sun) return lit;
    lit.light = v3_madd(lit.light, v3_make(1.02f, 0.96f, 0.84f), slope);
    const v3 from_eye = v3_unit_or(v3_sub(p, scene->eye), scene->forward);
    float shine = fmaxf(v3_dot(psvi_reflect(from_eye, normal), scene->sun), 0.0f);
    for (int k = 0; k < 5; ++k) // to the power of 32
        shine *= shine;
    lit.highlight = shine * psvi_gloss(scene, p);
    return lit;
}

// The light of a pixel's surface. Returns the rays that it took. `phong` is a constant of the caller: each kernel has
// one kind of shading.
PSV_TREE_FN uint32_t psvi_shade_pixel(const psvi_render_scene *scene, uint32_t pixel, bool phong) {
    const psvi_render_pixels *out = &scene->pixels;
    const psvi_f4 surface = out->surface[pixel];
    psvi_lit lit = {{0, 0, 0}, 0, false, false, 0};
    if (surface.w < INFINITY) {
        const v3 normal = v3_of4(surface), p = v3_of4(out->place[pixel]);
        lit = phong ? psvi_phong(scene, p, normal) : psvi_daylight(scene, pixel, p, normal);
        if (out->hits != NULL) {
            out->hits[pixel].sun = (float)lit.sun;
            out->hits[pixel].sky = (float)lit.sky;
        }
    }
    const float share = 1 / (float)(scene->added_up + 1);
    const v3 before = scene->added_up > 0 ? v3_of4(out->light[pixel]) : lit.light;
    v3 colour = v3_add(v3_of4(out->emission[pixel]), v3_times(v3_of4(out->albedo[pixel]), lit.light));
    if (phong) colour = v3_add(colour, v3_make(lit.highlight, lit.highlight, lit.highlight));
    const v3 colour_before = scene->added_up > 0 ? v3_of4(out->colour[pixel]) : colour;
    out->light[pixel] = f4_make(psvi_mix(before, lit.light, share), 0);
    out->colour[pixel] = f4_make(psvi_mix(colour_before, colour, share), 1);
    return lit.rays;
}

PSV_TREE_FN uint32_t psvi_render_light(const psvi_render_scene *scene, uint32_t pixel) {
    return psvi_shade_pixel(scene, pixel, false);
}

#endif
