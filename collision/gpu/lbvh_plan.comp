// Writes the plan. One group ranks 256 samples against each other on the three axes. The scene's box is that of the
// middle fifteen sixteenths, an eighth wider on both sides. So a few far boxes do not take the resolution from all
// others. Boxes outside get the key of the nearest cell.
layout(local_size_x = 256) in;
#include "slots.glsl"
#include "lbvh_plan.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 2) buffer plan_block { uint plan[]; };
shared float centres[3 * 256];
shared float low[3], high[3];
shared uint samples;

void main() {
    uint thread = gl_LocalInvocationID.x;
    uint step = max(SLOTS / 256u, 1u), slot = thread * step, at = base(0) + 8u * slot;
    bool good = slot < SLOTS && (slots[at + 6u] & TAG_OUT) == 0u;
    vec3 centre = vec3(0.0);
    if (thread == 0u) samples = 0u;
    if (thread < 3u) low[thread] = 0.0, high[thread] = 0.0;
    for (uint k = 0u; good && k < 3u; ++k)
        centre[k] = 0.5 * float_of(slots[at + k]) + 0.5 * float_of(slots[at + 3u + k]);
    good = good && all(lessThan(abs(centre), vec3(3.0e38))); // neither infinite nor NaN
    for (uint k = 0u; k < 3u; ++k)
        centres[256u * k + thread] = good ? centre[k] : 3.4e38;
    barrier();
    if (good) atomicAdd(samples, 1u);
    barrier();
    for (uint k = 0u; k < 3u; ++k) {
        uint rank = 0u;
        for (uint i = 0u; i < 256u; ++i) {
            float other = centres[256u * k + i];
            rank += uint(other < centre[k] || (other == centre[k] && i < thread));
        }
        if (good && rank == samples / 32u) low[k] = centre[k];
        if (good && rank == samples - 1u - samples / 32u) high[k] = centre[k];
    }
    barrier();
    if (thread != 0u) return;
    vec3 side = 1.25 * vec3(high[0] - low[0], high[1] - low[1], high[2] - low[2]), left = side;
    uvec3 bits = uvec3(0u);
    for (uint b = 0u; b < PLACE_BITS; ++b) {
        uint longest = left.z > max(left.x, left.y) ? 2u : left.y > left.x ? 1u : 0u;
        plan[base(2) + PLAN_AXES + b] = longest;
        for (uint k = 0u; k < 3u; ++k) {
            if (longest != k) continue;
            bits[k] += 1u;
            left[k] *= 0.5;
        }
    }
    for (uint k = 0u; k < 3u; ++k) {
        plan[base(2) + PLAN_LOW + k] = floatBitsToUint(low[k] - 0.1 * side[k]); // an eighth of the inner extent
        plan[base(2) + PLAN_BITS + k] = bits[k];
        float inverse = side[k] > 0.0 ? float(1u << bits[k]) / side[k] : 0.0;
        plan[base(2) + PLAN_INVERSE + k] = floatBitsToUint(inverse);
    }
}
