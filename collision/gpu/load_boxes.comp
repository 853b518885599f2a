// Reads a box set in the caller's layout and writes slots; judges each box. One thread a box. param 0: boxes at most,
// 1: first slot, 2: arrays present (1 flags, 2 filters, 4 worlds, 8 a count; 16: filters are written), 3 and 4: strides
// in words, 5: bytes from the bound word to the first flag, 6: worlds, 7: tag of the set, 8: words of a slot's traits.
layout(local_size_x = 128) in;
#include "slots.glsl"
layout(std430, binding = 0) writeonly buffer slot_block { uvec4 slots[]; }; // two a slot
layout(std430, binding = 1) buffer result_block { uint result[]; };
layout(std430, binding = 2) writeonly buffer bad_block { uint bad[]; };
layout(std430, binding = 3) writeonly buffer trait_block { uint traits[]; };
layout(std430, binding = 4) readonly buffer min_block { uint lows[]; };
layout(std430, binding = 5) readonly buffer max_block { uint highs[]; };
layout(std430, binding = 6) readonly buffer flag_block { uint flags[]; };
layout(std430, binding = 7) readonly buffer given_filter_block { uint given_filters[]; };
layout(std430, binding = 8) readonly buffer world_block { uint worlds[]; };
layout(std430, binding = 9) readonly buffer count_block { uint given_count[]; };
shared uvec4 halves[2 * 128]; // of the group's slots
shared uint good;

bool given(uint bit) { return (param(2) & bit) != 0u; }
bool is_nan(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

void main() {
    if (gl_LocalInvocationID.x == 0u) good = 0u;
    barrier();
    uint i = group_number() * 128u + gl_LocalInvocationID.x, slot = param(1) + i, tag = param(7), world = 0u;
    uint count = param(0);
    if (given(8u) && given_count[base(9) + 1u] == 0u) count = min(count, given_count[base(9)]);
    if (i < param(0)) {
        uint flag = 0u;
        if (given(1u)) {
            uint byte = i + param(5);
            flag = (flags[base(6) + byte / 4u] >> (8u * (byte % 4u))) & 255u;
        }
        tag |= flag & TAG_STATIC;
        if (i >= count || (flag & 2u) != 0u) tag |= TAG_OUT;
        if (given(4u)) world = worlds[base(8) + i];
        uvec3 low = uvec3(0u), high = uvec3(0u);
        if ((tag & TAG_OUT) == 0u) {
            bool nan = false;
            for (int k = 0; k < 3; ++k) {
                uint a = lows[base(4) + i * param(3) + uint(k)], b = highs[base(5) + i * param(4) + uint(k)];
                nan = nan || is_nan(a) || is_nan(b);
                low[k] = ordered_bits(a);
                high[k] = ordered_bits(b);
            }
            if (nan || any(greaterThan(low, high)) || world >= param(6)) {
                tag |= TAG_OUT;
                bad[base(2) + atomicAdd(result[base(1) + RESULT_BAD], 1u)] = slot;
            } else {
                atomicAdd(good, 1u);
            }
        }
        halves[2u * gl_LocalInvocationID.x] = uvec4(low, high.x);
        halves[2u * gl_LocalInvocationID.x + 1u] = uvec4(high.yz, tag, world);
        if (given(16u)) {
            uint trait = base(3) + param(8) * slot;
            traits[trait] = given(2u) ? given_filters[base(7) + 2u * i] : 0xffffffffu;
            traits[trait + 1u] = given(2u) ? given_filters[base(7) + 2u * i + 1u] : 0xffffffffu;
        }
    }
    barrier();
    // Neighbours write a slot's halves together: memory takes whole slots two to three times as fast as halves.
    uint first = group_number() * 128u, end = first < param(0) ? 2u * min(param(0) - first, 128u) : 0u;
    for (uint h = gl_LocalInvocationID.x; h < end; h += 128u)
        slots[base(0) / 4u + 2u * (param(1) + first) + h] = halves[h];
    if (gl_LocalInvocationID.x == 0u && good != 0u) atomicAdd(result[base(1) + RESULT_BOXES], good);
}
