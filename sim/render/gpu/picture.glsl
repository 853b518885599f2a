// What the kernels of a picture share (sim/render/render_pixel.h): the picture's numbers, random numbers, the sky. Products
// and sums round as on the CPU, so that rays are the same.
#define WIDTH param(4)
#define HEIGHT param(5)
#define EYE vector_param(6)
#define FORWARD vector_param(9)
#define RIGHT vector_param(12)
#define UP vector_param(15)
#define SUN vector_param(18)
#define SUN_RIGHT vector_param(21)
#define SUN_UP vector_param(24)
#define PIXEL_SIZE uintBitsToFloat(param(27))
#define IN_SPACE ((param(28) & 1u) != 0u)
#define PHONG ((param(28) & 2u) != 0u)
#define SEED param(29)
#define FRAME param(30)
#define ADDED_UP param(31)
#define PASSES param(32)
#define PASS param(33)
#define WANTS_HITS (param(34) != 0u)
#define SCALE uintBitsToFloat(param(35))
#define CELL uintBitsToFloat(param(36))
#define MIRRORS uintBitsToFloat(param(37))
#define GLASS_SHARE uintBitsToFloat(param(38))
#define GROUND_COUNT param(39)
#define CHANNEL_PIXEL 0u // and 1: where in the pixel
#define CHANNEL_SUN 2u
#define CHANNEL_SKY 4u
#define CHANNEL_GLASS 6u // and on, one a bounce
#define MOST_BOUNCES 6u

vec3 vector_param(uint i) { return uintBitsToFloat(uvec3(param(i), param(i + 1u), param(i + 2u))); }

uint hash(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}
// In [0, 1).
float random(uint pixel, uint channel) {
    uint start = hash(pixel ^ hash(channel ^ hash(SEED)));
    return float((start + FRAME * ((channel & 1u) != 0u ? 0x91e10da5u : 0xc13fa9a9u)) >> 8) * 5.9604644775390625e-8;
}

vec3 mixed(vec3 a, vec3 b, float share) {
    precise vec3 sum = a * (1.0 - share) + b * share;
    return sum;
}

vec3 sky(vec3 d) {
    float up = clamp(d.y, -1.0, 1.0);
    if (IN_SPACE) return mixed(vec3(0.012, 0.014, 0.030), vec3(0.035, 0.030, 0.070), 0.5 + 0.5 * up);
    vec3 horizon = vec3(0.60, 0.67, 0.76);
    return up >= 0.0 ? mixed(horizon, vec3(0.14, 0.24, 0.42), up > 0.0 ? pow(up, 0.55) : 0.0)
                     : mixed(horizon, vec3(0.36, 0.39, 0.44), sqrt(-up));
}
