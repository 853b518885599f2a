// One pass of the filter (sim/render/render_filter.h): light smoothed over neighbours 2^PASS pixels away. One thread a
// pixel reads 32 bytes of nine pixels and writes 16. Blocks: 5 surfaces, 6 light before, 7 light after.
layout(local_size_x = 64) in;
#include "picture.glsl"
layout(std430, binding = 5) readonly buffer surface_block { vec4 surfaces[]; };
layout(std430, binding = 6) readonly buffer from_block { vec4 from[]; };
layout(std430, binding = 7) writeonly buffer to_block { vec4 to[]; };

float luminance(vec3 c) { return 0.2126 * c.x + 0.7152 * c.y + 0.0722 * c.z; }
// 1 at 0, and soon little: as exp(-x), without its cost.
float falloff(float x) { return 1.0 / (1.0 + x * (1.0 + x * (0.5 + 0.5 * x))); }
bool is_sky(vec4 surface) { return floatBitsToUint(surface.w) >= 0x7f800000u; }

// How much a neighbour counts: near the tangent plane, with nearly the normal.
float likeness(vec4 a, vec4 b, float pixels) {
    if (is_sky(b)) return 0.0;
    float turn = max(dot(a.xyz, b.xyz), 0.0), turn2 = turn * turn, turn8 = turn2 * turn2 * turn2 * turn2;
    float slack = 3.0 * pixels * PIXEL_SIZE * a.w;
    return turn8 * turn8 * turn8 * turn8 * falloff(abs(a.w - b.w) / slack);
}

void main() {
    uint pixel = group_number() * 64u + gl_LocalInvocationID.x;
    if (pixel >= WIDTH * HEIGHT) return;
    vec4 own = surfaces[pixel], light = from[pixel];
    if (is_sky(own)) {
        to[pixel] = light;
        return;
    }
    int reach = 1 << PASS;
    ivec2 at = ivec2(pixel % WIDTH, pixel / WIDTH), size = ivec2(WIDTH, HEIGHT);
    float bright = luminance(light.xyz), slack = 2.0 / float(reach), weights = 4.0;
    vec3 sum = light.xyz * 4.0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            ivec2 near = at + ivec2(dx, dy) * reach;
            if ((dx == 0 && dy == 0) || any(lessThan(near, ivec2(0))) || any(greaterThanEqual(near, size))) continue;
            uint other = uint(near.y) * WIDTH + uint(near.x);
            vec3 theirs = from[other].xyz;
            float unlike = (luminance(theirs) - bright) / slack;
            float weight = (dx == 0 || dy == 0 ? 2.0 : 1.0) * falloff(unlike * unlike) *
                           likeness(own, surfaces[other], float(reach));
            sum += theirs * weight;
            weights += weight;
        }
    to[pixel] = vec4(sum / weights, 0.0);
}
