// Plans the grid from 256 boxes of the frame. One group. The plan decides how fast a frame is, never what is found.
layout(local_size_x = 256) in;
#include "slots.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 1) buffer result_block { uint result[]; };
layout(std430, binding = 2) buffer plan_block { uint plan[]; };
#include "rows_cells.glsl"
#define S 256u
#define BINS 32u
#define FAR 1.0e38
#define NEAR 8.0 // boxes within so many median extents of each other tell how crowded the scene is
#define ROW_BOXES 1.2 // that a look into one row should meet, over two and a half
shared float centres[3 * 256];
shared float low[3], high[3], median[3];
shared uint samples, hits, bin_count[BINS], bin_extent[3 * BINS];

// Sorted rank of the thread's value among the samples, equal ones by thread.
uint rank_of(uint k, float value, uint thread) {
    uint rank = 0u;
    for (uint i = 0u; i < S; ++i) {
        float other = centres[S * k + i];
        rank += uint(other < value || (other == value && i < thread));
    }
    return rank;
}

float inverse_of(float x) { return x > 1.0e-30 ? 1.0 / x : 1.0e30; }

// Cells of level l, whose limit is there: rows as wide as meets the wanted number of boxes; no more cells than `most`.
void make_cells(uint l, float crowd, uint most) {
    float across = clamp(sqrt(ROW_BOXES / max(crowd, 1.0e-6)), 1.01, 6.0);
    uvec3 sides;
    for (uint k = 0u; k < 3u; ++k) {
        float range = uintBitsToFloat(PLAN(PLAN_HIGH + k)) - uintBitsToFloat(PLAN(PLAN_LOW + k));
        float inverse = inverse_of(uintBitsToFloat(LEVEL(l, LEVEL_LIMIT + k)) * (k == 0u ? 1.0 : across));
        LEVEL(l, LEVEL_INVERSE + k) = floatBitsToUint(inverse);
        sides[k] = uint(clamp(range * inverse, 0.0, 1023.0)) + 1u;
    }
    while (sides.x * sides.y * sides.z > most) {
        uint k = sides.z > max(sides.x, sides.y) ? 2u : sides.y > sides.x ? 1u : 0u;
        sides[k] = (sides[k] + 1u) / 2u;
        if (sides == uvec3(1u)) break;
    }
    for (uint k = 0u; k < 3u; ++k)
        LEVEL(l, LEVEL_SIDES + k) = sides[k];
}

// Two binades a level, from the largest boxes down; a small group joins the level above it. Then levels four times as
// large as each other, for boxes that no sample tells of. One thread.
void make_levels() {
    vec3 limits[MOST_LEVELS], range;
    uint counts[MOST_LEVELS], found = 0u;
    for (uint k = 0u; k < 3u; ++k)
        range[k] = uintBitsToFloat(PLAN(PLAN_HIGH + k)) - uintBitsToFloat(PLAN(PLAN_LOW + k));
    for (int b = int(BINS) - 1; b >= 0; --b) {
        if (bin_count[b] == 0u) continue;
        uint count = bin_count[b];
        vec3 limit;
        for (uint k = 0u; k < 3u; ++k)
            limit[k] = uintBitsToFloat(bin_extent[3u * uint(b) + k]);
        if (b > 0) {
            count += bin_count[b - 1];
            for (uint k = 0u; k < 3u; ++k)
                limit[k] = max(limit[k], uintBitsToFloat(bin_extent[3u * uint(b - 1) + k]));
        }
        --b;
        if (found > 0u && (4u * count < counts[found - 1u] || found == MOST_LEVELS - 4u)) {
            counts[found - 1u] += count;
            limits[found - 1u] = max(limits[found - 1u], limit);
        } else {
            counts[found] = count;
            limits[found++] = limit;
        }
    }
    uint levels = 0u, first = 0u, boxes = result[base(1) + RESULT_BOXES];
    vec3 most = vec3(0.0);
    float volume = 1.0; // of what is near a box, in median boxes
    for (uint k = 0u; k < 3u; ++k)
        volume *= min(2.0 * NEAR, max(range[k] * inverse_of(median[k]), 1.0));
    float crowd = float(hits) / float(max(samples, 2u) * (max(samples, 2u) - 1u)) * float(boxes) / volume;
    for (; levels + 1u < MOST_LEVELS; ++levels) {
        uint count = 0u;
        if (levels < found) {
            most = max(limits[found - 1u - levels] * 1.01, range * 1.0e-6);
            count = counts[found - 1u - levels];
        } else {
            most *= 4.0;
        }
        if (levels >= found && all(greaterThanEqual(most, range))) break;
        float share = float(count) / float(max(samples, 1u)), own = crowd * share;
        for (uint k = 0u; k < 3u; ++k) {
            LEVEL(levels, LEVEL_LIMIT + k) = floatBitsToUint(most[k]);
            own *= min(most[k], range[k]) * inverse_of(median[k]);
        }
        uint room = uint(2.0 * share * float(boxes)) / WORLD_SLOTS + (WORLD_SLOTS > 1u ? 8u : 512u);
        make_cells(levels, own, room);
        LEVEL(levels, LEVEL_FIRST) = first;
        first += LEVEL(levels, LEVEL_SIDES) * LEVEL(levels, LEVEL_SIDES + 1u) * LEVEL(levels, LEVEL_SIDES + 2u);
    }
    for (uint k = 0u; k < 3u; ++k) { // one cell for all that is left
        LEVEL(levels, LEVEL_LIMIT + k) = floatBitsToUint(3.0e38);
        LEVEL(levels, LEVEL_INVERSE + k) = 0u;
        LEVEL(levels, LEVEL_SIDES + k) = 1u;
    }
    LEVEL(levels, LEVEL_FIRST) = first;
    PLAN(PLAN_LEVELS) = levels + 1u;
    PLAN(PLAN_BOXES) = boxes;
    PLAN(PLAN_WORLD_CELLS) = first + 1u;
    PLAN(PLAN_CELLS) = (first + 1u) * WORLD_SLOTS;
    result[base(1) + RESULT_LEVELS] = levels + 1u;
    result[base(1) + RESULT_ROWS] = PLAN(PLAN_CELLS);
}

void main() {
    uint thread = gl_LocalInvocationID.x, slot = thread, hash = thread * 0x9e3779b9u + 1u;
    hash = (hash ^ hash >> 16) * 0x7feb352du;
    hash = (hash ^ hash >> 15) * 0x846ca68bu;
    if (SLOTS > S) slot = (hash ^ hash >> 16) % SLOTS;
    uint at = base(0) + 8u * slot;
    bool good = slot < SLOTS && (slots[at + 6u] & TAG_OUT) == 0u;
    vec3 from = vec3(0.0), to = vec3(0.0), centre = vec3(0.0), extent;
    if (thread == 0u) samples = hits = 0u;
    if (thread < 3u) low[thread] = high[thread] = median[thread] = 0.0;
    if (thread < BINS) bin_count[thread] = 0u;
    if (thread < 3u * BINS) bin_extent[thread] = 0u;
    for (uint k = 0u; good && k < 3u; ++k) {
        from[k] = float_of(slots[at + k]);
        to[k] = float_of(slots[at + 3u + k]);
        centre[k] = 0.5 * from[k] + 0.5 * to[k];
    }
    good = good && all(lessThan(abs(centre), vec3(FAR))); // neither infinite nor NaN
    for (uint k = 0u; k < 3u; ++k)
        centres[S * k + thread] = good ? centre[k] : 3.4e38;
    barrier();
    if (good) atomicAdd(samples, 1u);
    barrier();
    for (uint k = 0u; k < 3u; ++k) {
        uint rank = rank_of(k, centre[k], thread);
        if (good && rank == samples / 32u) low[k] = centre[k];
        if (good && rank == samples - 1u - samples / 32u) high[k] = centre[k];
    }
    barrier();
    vec3 lowest, highest;
    for (uint k = 0u; k < 3u; ++k) {
        float margin = 0.125 * (high[k] - low[k]);
        lowest[k] = low[k] - margin;
        highest[k] = high[k] + margin;
    }
    extent = clamp(to, lowest, highest) - clamp(from, lowest, highest);
    barrier();
    for (uint k = 0u; k < 3u; ++k)
        centres[S * k + thread] = good ? extent[k] : 3.4e38;
    barrier();
    for (uint k = 0u; k < 3u; ++k)
        if (good && rank_of(k, extent[k], thread) == samples / 2u)
            median[k] = max(extent[k], (highest[k] - lowest[k]) * 1.0e-6);
    barrier();
    for (uint k = 0u; k < 3u; ++k)
        centres[S * k + thread] = good ? centre[k] : 3.4e38;
    // The axis that tells most boxes apart is the first one.
    uvec3 axes = uvec3(0u, 1u, 2u);
    vec3 across;
    for (uint k = 0u; k < 3u; ++k)
        across[k] = (highest[k] - lowest[k]) * inverse_of(median[k]);
    if (across.y > across.x && across.y >= across.z) axes = uvec3(1u, 2u, 0u);
    else if (across.z > across.x) axes = uvec3(2u, 0u, 1u);
    barrier();
    if (good) {
        float size = 0.0;
        for (uint k = 0u; k < 3u; ++k)
            size = max(size, extent[k] * inverse_of(median[k]));
        uint bin = uint(clamp(int(floatBitsToUint(size) >> 23) - 127 + 8, 0, int(BINS) - 1)), near = 0u;
        atomicAdd(bin_count[bin], 1u);
        for (uint k = 0u; k < 3u; ++k)
            atomicMax(bin_extent[3u * bin + k], floatBitsToUint(max(extent[axes[k]], 0.0)));
        for (uint i = 0u; i < S; ++i) {
            vec3 apart = abs(vec3(centres[i], centres[S + i], centres[2u * S + i]) - centre);
            near += uint(all(lessThan(apart, NEAR * vec3(median[0], median[1], median[2]))));
        }
        atomicAdd(hits, near - 1u);
    }
    barrier();
    if (thread != 0u) return;
    vec3 given = vec3(median[0], median[1], median[2]);
    for (uint k = 0u; k < 3u; ++k) {
        PLAN(PLAN_AXES + k) = axes[k];
        PLAN(PLAN_LOW + k) = floatBitsToUint(lowest[axes[k]]);
        PLAN(PLAN_HIGH + k) = floatBitsToUint(highest[axes[k]]);
        PLAN(PLAN_SLACK + k) = floatBitsToUint((highest[axes[k]] - lowest[axes[k]]) * 5.0e-7);
        median[k] = given[axes[k]];
    }
    make_levels();
}
