// Colours and materials of a world's bodies and ground, and the ways through mirrors and glass
// (sim/render/render_pixel.h).
#define PAINTED 0u
#define MIRROR 1u
#define GLASS 2u

// Far enough from a surface that rounding cannot put a ray's beginning behind it.
vec3 lifted(vec3 p, vec3 n, float t) {
    precise float reach = 2e-5 * (max(abs(p.x), max(abs(p.y), abs(p.z))) + t);
    return sum_with(p, n, reach);
}

#if BODIES
uint bits_of(uint body) { return floatBitsToUint(bodies[base(3) / 4u + 4u * body + 2u].w); }

uint material_of(seen_surface seen) {
    if (seen.type == SHAPE_PLANE) return PAINTED;
    float draw = float(hash(seen.slot ^ 0x5bd1e995u) >> 8) * 5.9604644775390625e-8;
    if (draw < MIRRORS) return MIRROR;
    precise float share = MIRRORS + GLASS_SHARE;
    return draw < share && seen.type != SHAPE_COMPOUND ? GLASS : PAINTED;
}

float ramp(float low, float high, float x) {
    float t = clamp((x - low) / (high - low), 0.0, 1.0);
    return t * t * (3.0 - 2.0 * t);
}

// A shape's own colour, three bytes of sRGB, linear; without one `other`.
vec3 own_paint(uint bytes, vec3 other) {
    vec3 own = vec3(uvec3(bytes, bytes >> 8, bytes >> 16) & 255u) / 255.0;
    return (bytes & 0xffffffu) == 0u ? other : pow(own, vec3(2.2));
}

vec3 body_paint(seen_surface seen) {
    const vec3 paints[8] =
        vec3[8](vec3(0.76, 0.18, 0.11), vec3(0.90, 0.52, 0.09), vec3(0.84, 0.72, 0.48), vec3(0.62, 0.31, 0.20),
                vec3(0.09, 0.33, 0.60), vec3(0.10, 0.48, 0.42), vec3(0.30, 0.60, 0.74), vec3(0.36, 0.24, 0.56));
    uint bits = bits_of(seen.body), noise = hash(seen.slot + 1u);
    vec3 own = own_paint(floatBitsToUint(bodies[base(3) / 4u + 4u * seen.body + 3u].w), vec3(-1.0));
    if (own.x >= 0.0) return (bits & MOVES) == 0u ? own : own * (0.9 + 0.2 * float(noise & 255u) / 255.0);
    if ((bits & MOVES) == 0u) return vec3(0.42, 0.43, 0.45);
    uint hue = ((bits & ODD_SHAPE) != 0u ? 4u : 0u) + (noise >> 8 & 3u);
    return paints[hue] * (0.80 + 0.4 * float(noise & 255u) / 255.0);
}

// Share of a line's width in a pixel that is `width` wide, of lines at whole numbers.
float grid_line(float at, float width) {
    float away = abs(at - floor(at + 0.5)) / max(width, 1e-6);
    return (1.0 - ramp(0.15, 0.5, width)) * (1.0 - ramp(0.5, 1.5, away));
}

// A grid that ends where its lines are as near as pixels. A pixel covers `width` across the ray d.
vec3 plane_paint(uint plane, vec3 p, vec3 normal, vec3 d, float width) {
    vec3 n = abs(normal);
    bool level = n.y > 0.7, wall = !level && n.x > 0.7;
    vec3 spread = abs(unit_or(sum_with(d, normal, -dot_of(d, normal)), vec3(0.0)));
    float longer = 1.0 / max(-dot_of(d, normal), 0.02) - 1.0;
    bool flat_z = level || n.x > 0.7;
    float a = wall ? p.y : p.x, b = flat_z ? p.z : p.y;
    float wide_a = width * (1.0 + longer * (wall ? spread.y : spread.x));
    float wide_b = width * (1.0 + longer * (flat_z ? spread.z : spread.y));
    float fine = 1.0 / CELL, coarse = 0.1 / CELL;
    float lines = max(grid_line(a * fine, wide_a * fine), grid_line(b * fine, wide_b * fine));
    float strong = max(grid_line(a * coarse, wide_a * coarse), grid_line(b * coarse, wide_b * coarse));
    vec3 plain = level ? vec3(0.40, 0.41, 0.43) : vec3(0.46, 0.48, 0.52);
    vec3 own = own_paint(floatBitsToUint(planes[base(4) / 4u + 2u * plane + 1u].w), plain);
    return own * ((1.0 - 0.22 * lines) * (1.0 - 0.30 * strong));
}

vec3 paint(seen_surface seen, vec3 p, vec3 d, float width) {
    return seen.type == SHAPE_PLANE ? plane_paint(seen.body, p, seen.normal, d, width) : body_paint(seen);
}

vec3 reflected(vec3 d, vec3 n) {
    precise float twice = -2.0 * dot_of(d, n);
    return unit_or(sum_with(d, n, twice), n);
}

// Schlick's reflectance of glass.
float fresnel(float cosine) {
    precise float c = 1.0 - clamp(cosine, 0.0, 1.0), c2 = c * c, power = c2 * c2 * c;
    precise float share = 0.04 + 0.96 * power;
    return share;
}

// By Snell's law; false: all of it is reflected.
bool refracted(vec3 d, vec3 n, float ratio, out vec3 to) {
    precise float cosine = -dot_of(d, n), rest = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    to = d;
    if (rest < 0.0) return false;
    precise float along_normal = ratio * cosine - root_of(rest);
    precise vec3 bent = d * ratio;
    to = unit_or(sum_with(bent, n, along_normal), d);
    return true;
}

// Through a convex glass body from p, just inside, until the ray leaves. At most three internal reflections.
void pass_glass(uint body, inout vec3 p, inout vec3 d, inout vec3 weight) {
    precise float reach = 2.1 * bodies[base(3) / 4u + 4u * body + 3u].x;
    for (int turn = 0; turn < 4; ++turn) {
        surface at;
        if (!ray_solid(body, sum_with(p, d, reach), -d, at) || at.t > reach) return;
        precise float inside = reach - at.t;
        vec3 leaves = sum_with(p, d, inside), inward = -at.normal, next;
        weight *= mixed(vec3(1.0), vec3(0.86, 0.95, 0.93), 0.5);
        if (refracted(d, inward, 1.5, next)) {
            p = lifted(leaves, at.normal, reach);
            d = next;
            return;
        }
        d = reflected(d, inward);
        p = lifted(leaves, inward, reach);
    }
}

// A mirror or glass sends the ray on; false: the surface is shaded itself.
bool goes_on(uint pixel, uint bounce, seen_surface seen, inout vec3 p, inout vec3 d, inout vec3 weight) {
    uint material = material_of(seen);
    if (material == PAINTED) return false;
    vec3 at = sum_with(p, d, seen.t), inside;
    float mirrored = material == MIRROR ? 1.0 : fresnel(-dot_of(d, seen.normal));
    if (random(pixel, CHANNEL_GLASS + bounce) < mirrored || !refracted(d, seen.normal, 0.6666666865348816, inside)) {
        if (material == MIRROR) weight *= vec3(0.92, 0.93, 0.95);
        d = reflected(d, seen.normal);
        p = lifted(at, seen.normal, seen.t);
        return true;
    }
    p = lifted(at, -seen.normal, seen.t);
    d = inside;
    pass_glass(seen.body, p, d, weight);
    return true;
}
#endif
