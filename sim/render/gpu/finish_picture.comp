// A picture's colours as bytes (psvi_render_final): the more pictures have added up, the less of the smoothed light is
// taken. One thread a pixel. Blocks: 5 whole colours, 6 albedo, 7 emission, 8 smoothed light, 9 pixels.
layout(local_size_x = 64) in;
#include "picture.glsl"
layout(std430, binding = 5) readonly buffer colour_block { vec4 colours[]; };
layout(std430, binding = 6) readonly buffer albedo_block { vec4 albedos[]; };
layout(std430, binding = 7) readonly buffer emission_block { vec4 emissions[]; };
layout(std430, binding = 8) readonly buffer smooth_block { vec4 smoothed[]; };
layout(std430, binding = 9) writeonly buffer pixel_block { uint pixels[]; };
#define ENOUGH 64.0 // pictures that need no smoothing

// A curve that keeps dark colours as they are and bends bright ones to 1, then sRGB's power.
uint tone(float x) {
    float bent = clamp(x < 0.6 ? x : 0.6 + 0.4 * (1.0 - exp((0.6 - x) / 0.4)), 0.0, 1.0);
    return uint(255.0 * (bent > 0.0 ? pow(bent, 1.0 / 2.2) : 0.0) + 0.5);
}

void main() {
    uint pixel = group_number() * 64u + gl_LocalInvocationID.x;
    if (pixel >= WIDTH * HEIGHT) return;
    vec3 colour = colours[pixel].xyz;
    if (PASSES > 0u) {
        vec3 smooth_colour = emissions[pixel].xyz + albedos[pixel].xyz * smoothed[pixel].xyz;
        colour = mixed(smooth_colour, colour, float(ADDED_UP) / ENOUGH);
    }
    pixels[base(9) + pixel] = tone(colour.x) | tone(colour.y) << 8 | tone(colour.z) << 16 | 0xff000000u;
}
