// Plans the grid from 256 boxes of the frame. One group. The plan decides how fast a frame is, never which pairs are
// found.
layout(local_size_x = 256) in;
#include "slots.glsl"
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 1) buffer result_block { uint result[]; };
layout(std430, binding = 2) writeonly buffer plan_block { uint plan[]; };
#define MAKES_GRID
#include "rows_cells.glsl"
#define S 256u
#define BINS 32u
#define FAR 1.0e38
#define NEAR 8.0 // boxes within this many median extents of each other show how crowded the scene is
#define ROW_BOXES 1.2 // that a look into one row should meet, over two and a half
shared vec4 values[S]; // of the samples: centres, extents
shared float low[3], high[3], median[3];
shared uint samples, hits, bin_count[BINS], bin_extent[3 * BINS];

// Sorted ranks of the thread's values among the samples, equal ones by thread. Eight samples are read at a time: one by
// one, each step would wait for shared memory.
uvec3 ranks_of(vec3 own, uint thread) {
    uint x = 0u, y = 0u, z = 0u;
    for (uint first = 0u; first < S; first += 8u) {
        vec4 other[8];
        for (uint k = 0u; k < 8u; ++k)
            other[k] = values[first + k];
        for (uint k = 0u; k < 8u; ++k) {
            bool before = first + k < thread;
            x += uint(before ? other[k].x <= own.x : other[k].x < own.x);
            y += uint(before ? other[k].y <= own.y : other[k].y < own.y);
            z += uint(before ? other[k].z <= own.z : other[k].z < own.z);
        }
    }
    return uvec3(x, y, z);
}

float inverse_of(float x) { return x > 1.0e-30 ? 1.0 / x : 1.0e30; }

// Cells of level l, whose limit is known: rows as wide as the wanted number of boxes needs; at most `most` cells.
void make_cells(uint l, float crowd, uint most) {
    float across = clamp(sqrt(ROW_BOXES / max(crowd, 1.0e-6)), 1.01, 6.0);
    uvec3 sides;
    for (uint k = 0u; k < 3u; ++k) {
        float range = uintBitsToFloat(GRID(PLAN_HIGH + k)) - uintBitsToFloat(GRID(PLAN_LOW + k));
        float inverse = inverse_of(uintBitsToFloat(GRID_LEVEL(l, LEVEL_LIMIT + k)) * (k == 0u ? 1.0 : across));
        GRID_LEVEL(l, LEVEL_INVERSE + k) = floatBitsToUint(inverse);
        sides[k] = uint(clamp(range * inverse, 0.0, 1023.0)) + 1u;
    }
    while (sides.x * sides.y * sides.z > most) {
        uint k = sides.z > max(sides.x, sides.y) ? 2u : sides.y > sides.x ? 1u : 0u;
        sides[k] = (sides[k] + 1u) / 2u;
        if (sides == uvec3(1u)) break;
    }
    for (uint k = 0u; k < 3u; ++k)
        GRID_LEVEL(l, LEVEL_SIDES + k) = sides[k];
}

// Two binades a level, from the largest boxes down; a small group joins the level above it. Then levels four times as
// large as each other, for boxes that no sample represents. One thread.
void make_levels() {
    vec3 limits[MOST_LEVELS], range;
    uint counts[MOST_LEVELS], found = 0u;
    for (uint k = 0u; k < 3u; ++k)
        range[k] = uintBitsToFloat(GRID(PLAN_HIGH + k)) - uintBitsToFloat(GRID(PLAN_LOW + k));
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
    float volume = 1.0; // of the neighbourhood of a box, in median boxes
    for (uint k = 0u; k < 3u; ++k)
        volume *= min(2.0 * NEAR, max(range[k] * inverse_of(median[k]), 1.0));
    float crowd = float(hits) / float(max(samples, 2u) * (max(samples, 2u) - 1u)) * float(boxes) / volume;
    for (; levels + 1u < MOST_LEVELS; ++levels) {
        uint count = 0u;
        if (levels < found) {
            most = max(limits[found - 1u - levels] * 1.01, range * 1.0e-6);
            count = counts[found - 1u - levels];
        } else {
            most = min(4.0 * most, vec3(3.0e38)); // infinity times no cells a unit would be no number
        }
        if (levels >= found && all(greaterThanEqual(most, range))) break;
        float share = float(count) / float(max(samples, 1u)), own = crowd * share;
        for (uint k = 0u; k < 3u; ++k) {
            GRID_LEVEL(levels, LEVEL_LIMIT + k) = floatBitsToUint(most[k]);
            own *= min(most[k], range[k]) * inverse_of(median[k]);
        }
        uint room = uint(2.0 * share * float(boxes)) / WORLD_SLOTS + (WORLD_SLOTS > 1u ? 8u : 512u);
        make_cells(levels, own, room);
        GRID_LEVEL(levels, LEVEL_FIRST) = first;
        first += GRID_LEVEL(levels, LEVEL_SIDES) * GRID_LEVEL(levels, LEVEL_SIDES + 1u) * GRID_LEVEL(levels, LEVEL_SIDES + 2u);
    }
    for (uint k = 0u; k < 3u; ++k) { // one cell for all that is left
        GRID_LEVEL(levels, LEVEL_LIMIT + k) = floatBitsToUint(3.0e38);
        GRID_LEVEL(levels, LEVEL_INVERSE + k) = 0u;
        GRID_LEVEL(levels, LEVEL_SIDES + k) = 1u;
    }
    GRID_LEVEL(levels, LEVEL_FIRST) = first;
    GRID(PLAN_LEVELS) = levels + 1u;
    GRID(PLAN_BOXES) = boxes;
    GRID(PLAN_WORLD_CELLS) = first + 1u;
    GRID(PLAN_CELLS) = (first + 1u) * WORLD_SLOTS;
    result[base(1) + RESULT_LEVELS] = levels + 1u;
    result[base(1) + RESULT_ROWS] = GRID(PLAN_CELLS);
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
    values[thread].xyz = good ? centre : vec3(3.4e38);
    barrier();
    if (good) atomicAdd(samples, 1u);
    barrier();
    uvec3 rank = ranks_of(centre, thread);
    for (uint k = 0u; k < 3u; ++k) {
        if (good && rank[k] == samples / 32u) low[k] = centre[k];
        if (good && rank[k] == samples - 1u - samples / 32u) high[k] = centre[k];
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
    values[thread].xyz = good ? extent : vec3(3.4e38);
    barrier();
    rank = ranks_of(extent, thread);
    for (uint k = 0u; k < 3u; ++k)
        if (good && rank[k] == samples / 2u) median[k] = max(extent[k], (highest[k] - lowest[k]) * 1.0e-6);
    barrier();
    values[thread].xyz = good ? centre : vec3(3.4e38);
    // The axis that separates most boxes becomes the first one.
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
        vec3 reach = NEAR * vec3(median[0], median[1], median[2]);
        for (uint first = 0u; first < S; first += 8u) {
            vec4 other[8];
            for (uint k = 0u; k < 8u; ++k)
                other[k] = values[first + k];
            for (uint k = 0u; k < 8u; ++k)
                near += uint(all(lessThan(abs(other[k].xyz - centre), reach)));
        }
        atomicAdd(hits, near - 1u);
    }
    barrier();
    if (thread == 0u) {
        vec3 given = vec3(median[0], median[1], median[2]);
        for (uint k = 0u; k < 3u; ++k) {
            GRID(PLAN_AXES + k) = axes[k];
            GRID(PLAN_LOW + k) = floatBitsToUint(lowest[axes[k]]);
            GRID(PLAN_HIGH + k) = floatBitsToUint(highest[axes[k]]);
            GRID(PLAN_SLACK + k) = floatBitsToUint((highest[axes[k]] - lowest[axes[k]]) * 5.0e-7);
            median[k] = given[axes[k]];
        }
        make_levels();
    }
    barrier();
    for (uint i = PLAN_LOW + thread; i < PLAN_LEVEL + 16u * GRID(PLAN_LEVELS); i += S)
        PLAN(i) = grid[i];
}
