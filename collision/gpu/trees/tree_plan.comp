// The grid of a tree's keys, and its empty head. One group ranks 256 samples against each other on each axis; then it
// compares their keys, to see whether the usual number of bits tells places apart. param 7: bits of worlds, 8: bits of
// an axis at most, 9: keys may have 32 bits.
layout(local_size_x = 256) in;
#define HEAD_ACCESS coherent
#include "tree_head.glsl"
#include "tree_items.glsl"
#include "tree_places.glsl"
#define SAMPLES 256u
#define SHORT_AXIS_BITS 11u
shared float centres[3u * SAMPLES];
shared uvec2 places[SAMPLES];
shared float marks[12];
shared uint samples, shares;

// One of each 256th of the items, anywhere in it.
uint sample_item(uint count, uint number) {
    uint whole = count / SAMPLES, rest = count % SAMPLES;
    uint first = whole * number + rest * number / SAMPLES, next = whole * (number + 1u) + rest * (number + 1u) / SAMPLES;
    uint noise = (number + 1u) * 2654435761u, high, low;
    noise = (noise ^ noise >> 15) * 2246822519u;
    umulExtended(noise ^ noise >> 13, next - first, high, low);
    return first + high;
}

// The range that keys resolve, see psvi_key_range.
vec2 key_range(float least, float low, float high, float greatest) {
    float inside = high - low;
    if (inside > 0.0) {
        least = max(least, low - 3.0 * inside);
        greatest = min(greatest, high + 3.0 * inside);
    }
    float edge = (greatest - least) / 32.0;
    return vec2(least - edge, greatest + edge);
}

uint usual_axis_bits(uint count) { // count: at most 2^30
    uint bits = 1u;
    while (bits < 16u && (1u << (2u * bits - 2u)) < count)
        ++bits;
    return bits;
}

void main() {
    uint thread = gl_LocalInvocationID.x, count = item_count(), most = param(8);
    tree_item item;
    bool good = count > 0u && load_item(sample_item(count, thread), item) == ITEM_GOOD;
    vec3 centre = vec3(3.4e38);
    if (good) {
        good = all(lessThan(abs(item.low), vec3(1e18))) && all(lessThan(abs(item.high), vec3(1e18)));
        if (good) centre = item_centre(item);
    }
    for (uint k = 0u; k < 3u; ++k)
        centres[SAMPLES * k + thread] = centre[k];
    if (thread < 12u) marks[thread] = 0.0;
    if (thread == 0u) samples = 0u, shares = 0u;
    barrier();
    if (good) atomicAdd(samples, 1u);
    barrier();
    for (uint k = 0u; k < 3u; ++k) {
        uint rank = 0u;
        for (uint i = 0u; i < SAMPLES; ++i) {
            float other = centres[SAMPLES * k + i];
            rank += uint(other < centre[k] || (other == centre[k] && i < thread));
        }
        if (good && rank == 0u) marks[4u * k] = centre[k];
        if (good && rank == samples / 32u) marks[4u * k + 1u] = centre[k];
        if (good && rank == samples - 1u - samples / 32u) marks[4u * k + 2u] = centre[k];
        if (good && rank == samples - 1u) marks[4u * k + 3u] = centre[k];
    }
    barrier();
    bool short_keys = param(9) != 0u;
    uint bits = min(usual_axis_bits(count), short_keys ? SHORT_AXIS_BITS : most);
    if (thread == 0u) {
        float side = 0.0;
        for (uint k = 0u; k < 3u; ++k) {
            vec2 range = key_range(marks[4u * k], marks[4u * k + 1u], marks[4u * k + 2u], marks[4u * k + 3u]);
            HEAD(HEAD_LOW + k) = floatBitsToUint(range.x);
            side = max(side, range.y - range.x);
        }
        HEAD(HEAD_SCALE) = floatBitsToUint(side > 0.0 ? 1.0 / side : 0.0);
    }
    memoryBarrierBuffer();
    barrier();
    places[thread] = good ? tree_place(centre, bits) : uvec2(0xffffffffu, thread);
    barrier();
    bool shared_place = false;
    for (uint away = 1u; away <= SAMPLES / 2u; ++away)
        shared_place = shared_place || places[(thread + away) % SAMPLES] == places[thread];
    if (shared_place && count > SAMPLES) atomicOr(shares, 1u);
    barrier();
    if (thread != 0u) return;
    if (shares != 0u) {
        bits = most;
        short_keys = false;
    }
    for (uint i = 0u; i < HEAD_LOW; ++i)
        HEAD(i) = 0u;
    HEAD(HEAD_LINEAR) = 1u;
    HEAD(HEAD_KEY_BITS) = 3u * bits + param(7);
    HEAD(HEAD_SHORT) = uint(short_keys);
    HEAD(HEAD_BAD) = 0u;
    HEAD(HEAD_BAD + 1u) = 0u;
    HEAD(RESULT_COUNT) = short_keys ? 0u : count;
    HEAD(RESULT_COUNT + 1u) = 0u;
    HEAD(RESULT_SHORT_COUNT) = short_keys ? count : 0u;
    HEAD(RESULT_SHORT_COUNT + 1u) = 0u;
}
