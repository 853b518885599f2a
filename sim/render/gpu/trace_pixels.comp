// One thread a pixel: the ray from the eye, over mirrors and through glass, to a surface, a ray to the sun and one to the
// sky, as psvi_render_surface and psvi_render_light. Groups are squares of 8 x 8 pixels, whose rays read the same nodes.
// Reads nodes of 80 bytes and triangles of 40 or bodies of 64, mostly from the caches; writes 80 bytes a pixel.
// variants: BODIES=0,1
layout(local_size_x = 64) in;
#define TRIANGLES (1 - BODIES)
#define ONE_WORLD
#include "tree_walk.glsl"
#include "tree_rays.glsl"
#include "picture.glsl"
#include "picture_rays.glsl"
#include "picture_paint.glsl"
layout(std430, binding = 5) writeonly buffer surface_block { vec4 surfaces[]; }; // normal; way from the eye
layout(std430, binding = 6) writeonly buffer albedo_block { vec4 albedos[]; };
layout(std430, binding = 7) writeonly buffer emission_block { vec4 emissions[]; };
layout(std430, binding = 8) buffer light_block { vec4 lights[]; };
layout(std430, binding = 9) buffer colour_block { vec4 colours[]; };
layout(std430, binding = 10) writeonly buffer hit_block { uint hits[]; }; // psv_pixel_hit
layout(std430, binding = 11) buffer ray_count_block { uint ray_count[]; };
shared uint group_rays;

// Sine and cosine from 0 to 2 pi, to about a unit in the last place (Moshier's cephes).
vec2 turn_of(float x) {
    float k = floor(x * 0.636619772 + 0.5);
    precise float r = ((x - k * 1.5703125) - k * 4.837512969970703125e-4) - k * 7.54978995489188216e-8;
    precise float z = r * r;
    precise float s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
    precise float c =
        1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
    uint quarter = uint(k) & 3u;
    vec2 turned_by = (quarter & 1u) != 0u ? vec2(c, -s) : vec2(s, c);
    return (quarter & 2u) != 0u ? -turned_by : turned_by;
}

vec3 eye_ray(uint pixel) {
    vec2 in_pixel = vec2(0.5); // the first picture uses the centres
    if (ADDED_UP > 0u) in_pixel = vec2(random(pixel, CHANNEL_PIXEL), random(pixel, CHANNEL_PIXEL + 1u));
    precise float from_left = 2.0 * (float(pixel % WIDTH) + in_pixel.x);
    precise float from_top = 2.0 * (float(pixel / WIDTH) + in_pixel.y);
    precise float across = divided(from_left, float(WIDTH)) - 1.0, upward = 1.0 - divided(from_top, float(HEIGHT));
    return unit_or(sum_with(sum_with(FORWARD, RIGHT, across), UP, upward), FORWARD);
}

vec3 sun_ray(uint pixel) {
    precise float angle = 6.2831853 * random(pixel, CHANNEL_SUN + 1u);
    vec2 turned_by = turn_of(angle);
    precise vec2 away = root_of(random(pixel, CHANNEL_SUN)) * turned_by;
    return unit_or(sum_with(sum_with(SUN, SUN_RIGHT, away.y), SUN_UP, away.x), SUN);
}

vec3 sky_ray(uint pixel, vec3 normal) {
    precise float z = 2.0 * random(pixel, CHANNEL_SKY) - 1.0;
    precise float angle = 6.2831853 * random(pixel, CHANNEL_SKY + 1u), rest = 1.0 - z * z;
    vec2 turned_by = turn_of(angle);
    precise vec2 flat_part = root_of(max(rest, 0.0)) * turned_by;
    precise vec3 sum = normal + vec3(flat_part.y, z, flat_part.x);
    return unit_or(sum, normal);
}

// Light that comes to a surface from sun and sky, by a ray to each.
vec3 light_at(uint pixel, vec3 p, vec3 normal, out uint rays, out bool sun_seen, out bool sky_seen) {
    vec3 to_sun = sun_ray(pixel), to_sky = sky_ray(pixel, normal), light = vec3(0.0);
    float slope = dot_of(normal, to_sun);
    sun_seen = slope > 0.0;
    rays = sun_seen ? 2u : 1u;
    if (sun_seen) sun_seen = look(p, to_sun, true).slot == NO_ITEM;
    sky_seen = look(p, to_sky, true).slot == NO_ITEM;
    if (sun_seen) light = vec3(1.30, 1.18, 0.98) * slope;
    return light + (sky_seen ? sky(to_sky) * 1.1 : vec3(0.045, 0.042, 0.038));
}

// The gloss map: a number from 0 to 1 for each cube of space with the grid's width.
float gloss_at(vec3 p) {
    precise float scale = divided(1.0, CELL);
    precise vec3 c = p * scale;
    uvec3 cell = uvec3(ivec3(floor(clamp(c, vec3(-1e9), vec3(1e9))))) * uvec3(73856093u, 19349663u, 83492791u);
    return float(hash(cell.x ^ cell.y ^ cell.z) >> 8) * 5.9604644775390625e-8;
}

// Phong's formula with a ray to the middle of the sun.
vec3 phong_at(vec3 p, vec3 normal, out uint rays, out bool sun_seen, out float highlight) {
    float slope = dot_of(normal, SUN);
    sun_seen = slope > 0.0;
    rays = sun_seen ? 1u : 0u;
    highlight = 0.0;
    if (sun_seen) sun_seen = look(p, SUN, true).slot == NO_ITEM;
    vec3 light = vec3(0.22, 0.23, 0.26);
    if (!sun_seen) return light;
    vec3 from_eye = unit_or(p - EYE, FORWARD);
    vec3 mirrored = unit_or(sum_with(from_eye, normal, -2.0 * dot_of(from_eye, normal)), normal);
    float shine = max(dot_of(mirrored, SUN), 0.0);
    for (int k = 0; k < 5; ++k) // to the power of 32
        shine *= shine;
    highlight = shine * gloss_at(p);
    return sum_with(light, vec3(1.02, 0.96, 0.84), slope);
}

void note_hit(uint pixel, seen_surface seen, bool sun_seen, bool sky_seen) {
    if (!WANTS_HITS) return;
    uint at = base(10) + 8u * pixel;
    hits[at] = floatBitsToUint(seen.t);
    hits[at + 1u] = seen.slot;
    for (uint k = 0u; k < 3u; ++k)
        hits[at + 2u + k] = floatBitsToUint(seen.normal[k]);
    hits[at + 5u] = floatBitsToUint(float(sun_seen));
    hits[at + 6u] = floatBitsToUint(float(sky_seen));
    hits[at + 7u] = 0u;
}

// A pixel's values; added to those of the pictures before.
void put_pixel(uint pixel, vec4 place, vec3 albedo, vec3 emission, vec3 light, float highlight) {
    float share = 1.0 / float(ADDED_UP + 1u);
    vec3 colour = emission + albedo * light + highlight;
    surfaces[pixel] = place;
    albedos[pixel] = vec4(albedo, 0.0);
    emissions[pixel] = vec4(emission, 0.0);
    lights[pixel] = vec4(ADDED_UP > 0u ? mixed(lights[pixel].xyz, light, share) : light, 0.0);
    colours[pixel] = vec4(ADDED_UP > 0u ? mixed(colours[pixel].xyz, colour, share) : colour, 1.0);
}

// Returns the rays that the pixel took.
uint trace(uint pixel) {
    vec3 p = EYE, d = eye_ray(pixel), weight = vec3(1.0), light = vec3(0.0), albedo = vec3(0.0);
    seen_surface first = look(p, d, false), seen = first;
    float way = seen.t;
    uint rays = 0u, light_rays = 0u;
    bool sun_seen = false, sky_seen = false;
    float highlight = 0.0;
#if BODIES
    while (seen.slot != NO_ITEM && rays < MOST_BOUNCES && goes_on(pixel, rays, seen, p, d, weight)) {
        seen = look(p, d, false);
        way += seen.t;
        ++rays;
    }
#endif
    vec3 emission = weight * sky(d);
    if (seen.slot != NO_ITEM) {
        vec3 at = sum_with(p, d, seen.t);
#if BODIES
        float haze = seen.type == SHAPE_PLANE ? ramp(5.0, 40.0, way / SCALE) : 0.0; // far planes melt into the sky
        albedo = weight * paint(seen, at, d, way * PIXEL_SIZE) * (1.0 - haze);
        emission *= haze;
#else
        albedo = vec3(0.60, 0.55, 0.48);
        emission = vec3(0.0);
#endif
        vec3 from = lifted(at, seen.normal, seen.t);
        light = PHONG ? phong_at(from, seen.normal, light_rays, sun_seen, highlight)
                      : light_at(pixel, from, seen.normal, light_rays, sun_seen, sky_seen);
    }
    note_hit(pixel, first, sun_seen, sky_seen);
    put_pixel(pixel, vec4(seen.normal, seen.slot == NO_ITEM ? infinity() : way), albedo, emission, light, highlight);
    return rays + 1u + light_rays;
}

void main() {
    uint thread = gl_LocalInvocationID.x, row = (WIDTH + 7u) / 8u;
    uint x = group_number() % row * 8u + thread % 8u, y = group_number() / row * 8u + thread / 8u;
    if (thread == 0u) group_rays = 0u;
    barrier();
    if (x < WIDTH && y < HEIGHT) atomicAdd(group_rays, trace(y * WIDTH + x));
    barrier();
    if (thread != 0u || group_rays == 0u) return;
    uint before = atomicAdd(ray_count[base(11)], group_rays);
    if (before + group_rays < before) atomicAdd(ray_count[base(11) + 1u], 1u);
}
