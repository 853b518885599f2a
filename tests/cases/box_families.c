// Scenes that nobody tunes for: bench_bounds judges with them what `auto` promises. Shapes and gradings that the scenes
// of box_scenes.c do not have.
#include <math.h>

#include "box_scenes.h"

#define TURN 6.2831853f

static void put(psv_aabb *box, const float centre[3], float x, float y, float z) {
    const float half[3] = {x, y, z};
    for (uint32_t axis = 0; axis < 3; ++axis) {
        box->min[axis] = centre[axis] - half[axis];
        box->max[axis] = centre[axis] + half[axis];
    }
}

static void put_cube(psv_aabb *box, const float centre[3], float half) { put(box, centre, half, half, half); }

static void spread(float point[3], uint64_t seed, uint64_t i, float side) {
    for (uint32_t axis = 0; axis < 3; ++axis)
        point[axis] = side * box_random(seed, i, axis);
}

static void aim(float way[3], uint64_t seed, uint64_t i, uint32_t channel) {
    const float z = 2 * box_random(seed, i, channel) - 1, turn = TURN * box_random(seed, i, channel + 1);
    const float flat = sqrtf(fmaxf(1 - z * z, 0));
    way[0] = flat * cosf(turn), way[1] = flat * sinf(turn), way[2] = z;
}

// The box of a segment.
static void put_segment(psv_aabb *box, const float centre[3], const float way[3], float half, float thick) {
    put(box, centre, half * fabsf(way[0]) + thick, half * fabsf(way[1]) + thick, half * fabsf(way[2]) + thick);
}

static void make_staves(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 3.5f * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3], way[3];
        spread(centre, seed, i, side);
        aim(way, seed, i, 3);
        put_segment(&boxes[i], centre, way, 1 + 2 * box_random(seed, i, 5), 0.05f);
    }
}

static void make_graded(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float size = 1.5f / sqrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const float along = expf(7 * box_random(seed, i, 0)),
                    half = size * along * (0.5f + 0.5f * box_random(seed, i, 3));
        put(&boxes[i], (float[3]){along, 0, 2 * along * box_random(seed, i, 1)}, half, 0.1f * half, half);
    }
}

// Strands of 32 segments that grow from a ball and hang down.
static void make_hair(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float ball = 0.25f * sqrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t strand = i / 32;
        const float at = (float)(i % 32);
        float root[3], centre[3];
        aim(root, seed, strand, 0);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = root[axis] * (ball + 0.9f * at) + 0.1f * box_random(seed, i, 4 + axis);
        centre[1] -= 0.02f * at * at;
        const float way[3] = {root[0], root[1] - 0.04f * at, root[2]};
        put_segment(&boxes[i], centre, way, 0.5f, 0.03f);
    }
}

// A spiral staircase of slabs, with its rail.
static void make_stairs(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    for (uint64_t i = 0; i < count; ++i) {
        const float turn = 0.2f * (float)(i / 4), height = 0.05f * (float)(i / 4), out = 1 + (float)(i % 4);
        const float half = 0.6f + 0.1f * box_random(seed, i, 0);
        put(&boxes[i], (float[3]){out * cosf(turn), height, out * sinf(turn)}, half, 0.04f, half);
    }
}

static void make_galaxy(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float size = 1 / cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const float out = -logf(1 - 0.9999f * box_random(seed, i, 0)), arm = TURN * 0.5f * (float)(i % 2);
        const float turn = arm + 2.5f * logf(0.05f + out) + 0.6f * box_random(seed, i, 1);
        const float half = 0.3f * size * powf(fmaxf(box_random(seed, i, 3), 1e-6f), -0.3f);
        const float up = 0.2f * expf(-out) * (box_random(seed, i, 2) - 0.5f);
        put_cube(&boxes[i], (float[3]){out * cosf(turn), up, out * sinf(turn)}, half);
    }
}

// Blocks of houses of very different heights, streets between them, cars on the streets.
static void make_city(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 6 * sqrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        spread(centre, seed, i, side);
        const uint64_t kind = box_random_bits(seed, i, 4) % 10;
        const float street = floorf(centre[2] / 100) * 100;
        if (kind < 6) {
            const float high =
                4 * expf(2 * (box_random(seed, i, 5) - 0.3f)) * (box_random(seed, i, 6) < 0.01f ? 20 : 1);
            centre[1] = high;
            put(&boxes[i], centre, 2 + 3 * box_random(seed, i, 7), high, 2 + 3 * box_random(seed, i, 3));
        } else if (kind < 9) {
            put(&boxes[i], (float[3]){centre[0], 1, street + 4 * box_random(seed, i, 5)}, 2.2f, 0.8f, 0.9f);
        } else {
            put(&boxes[i], (float[3]){centre[0], 0, street}, 40, 0.1f, 5);
        }
    }
}

// Cells of an octree that is refined towards a sphere.
static void make_octree(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float deepest = 0.5f * log2f((float)count / 8);
    for (uint64_t i = 0; i < count; ++i) {
        const float up = -0.5f * log2f(fmaxf(box_random(seed, i, 3), 1e-7f)); // a quarter of the cells a level up
        const float cell = ldexpf(1, -(int)fmaxf(deepest - up, 1));
        float centre[3];
        aim(centre, seed, i, 0);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = (floorf(centre[axis] * (1 + cell * (box_random(seed, i, 4) - 0.5f)) / cell) + 0.5f) * cell;
        put_cube(&boxes[i], centre, 0.5f * cell);
    }
}

// A Sierpinski tetrahedron: dust of dimension two.
static void make_fractal(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    static const float corner[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    const float half = 1.2f / sqrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = box_random_bits(seed, i, 0);
        float centre[3] = {0, 0, 0};
        for (uint32_t step = 0; step < 24; ++step)
            for (uint32_t axis = 0; axis < 3; ++axis)
                centre[axis] = 0.5f * (centre[axis] + corner[bits >> 2 * step & 3][axis]);
        put_cube(&boxes[i], centre, half);
    }
}

// A cube under forty roofs that each cover a part of it.
static void make_roofs(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        spread(centre, seed, i, side);
        put_cube(&boxes[i], centre, 0.25f + 0.25f * box_random(seed, i, 3));
        if (i % (count / 40 + 1) == 7) put(&boxes[i], centre, 0.3f * side, 0.5f, 0.3f * side);
    }
}

// Two heaps, a million heap sides apart and of sizes that differ by a thousand.
static void make_two_heaps(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = cbrtf(0.5f * (float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float half = 0.25f + 0.25f * box_random(seed, i, 3), times = i % 2 ? 1000 : 1;
        spread(centre, seed, i, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = times * (centre[axis] - 0.5f * side) + (i % 2 ? 1e6f * side : 0);
        put_cube(&boxes[i], centre, times * half);
    }
}

static void make_exponential(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float size = 40 / (float)count;
    for (uint64_t i = 0; i < count; ++i) {
        const float along = expf(40 * box_random(seed, i, 0) - 20),
                    half = along * size * (0.5f + box_random(seed, i, 3));
        put_cube(&boxes[i], (float[3]){along, 0, 0}, half);
    }
}

// Sixteen times the same box at each place.
static void make_twins(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 1.2f * cbrtf((float)count / 16);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        spread(centre, seed, i / 16, side);
        put_cube(&boxes[i], centre, 0.25f + 0.25f * box_random(seed, i / 16, 3));
    }
}

// Flat sheets above each other.
static void make_sheets(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = sqrtf((float)count / 32);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        spread(centre, seed, i, side);
        centre[1] = 0.05f * (float)(i % 32);
        put(&boxes[i], centre, 0.4f + 0.4f * box_random(seed, i, 3), 0.01f, 0.4f + 0.4f * box_random(seed, i, 4));
    }
}

static void make_snapped(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        spread(centre, seed, i, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = floorf(centre[axis]);
        put_cube(&boxes[i], centre, 0.5f);
    }
}

// Ropes that wander, a thousand links each.
static void make_ropes(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 2 * cbrtf((float)count);
    float centre[3] = {0}, way[3];
    for (uint64_t i = 0; i < count; ++i) {
        aim(way, seed, i, 4);
        if (i % 1000 == 0) spread(centre, seed, i, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] += 0.5f * way[axis];
        put_segment(&boxes[i], centre, way, 0.3f, 0.1f);
    }
}

// Half of the boxes in a speck, as many in a room ten thousand times as wide.
static void make_speck(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = cbrtf(0.5f * (float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float half = 0.25f + 0.25f * box_random(seed, i, 3), times = i % 2 ? 1e-4f : 1;
        spread(centre, seed, i, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = times * (centre[axis] - 0.3f * side);
        put_cube(&boxes[i], centre, times * half);
    }
}

// Stones of all sizes: each octave fills as much room as the others.
static void make_gravel(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 1.5f * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float u = fmaxf(box_random(seed, i, 3), 1e-7f);
        spread(centre, seed, i, side);
        put_cube(&boxes[i], centre, fminf(0.2f * powf(u, -1.0f / 3), 0.1f * side));
    }
}

// Wide thin plates that face each axis.
static void make_plates(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 2.2f * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3], half[3] = {1, 1, 1};
        spread(centre, seed, i, side);
        half[box_random_bits(seed, i, 4) % 3] = 0.01f;
        put(&boxes[i], centre, half[0], half[1], half[2]);
    }
}

static void make_diagonal(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    for (uint64_t i = 0; i < count; ++i) {
        const float along = 0.5f * (float)count * box_random(seed, i, 0);
        float centre[3];
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] = along + box_random(seed, i, 1 + axis);
        put_cube(&boxes[i], centre, 0.25f + 0.25f * box_random(seed, i, 4));
    }
}

// Small boxes crowd in a few hundred towns of very different densities.
static void make_towns(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 30 * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t town = box_random_bits(seed, i, 0) % 300;
        float centre[3], way[3];
        spread(centre, seed + 1, town, side);
        aim(way, seed, i, 1);
        const float wide = 0.4f * cbrtf((float)count / 300) * expf(2 * box_random(seed + 1, town, 3));
        const float out = wide * cbrtf(box_random(seed, i, 3));
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] += out * way[axis];
        put_cube(&boxes[i], centre, 0.15f + 0.15f * box_random(seed, i, 4));
    }
}

static const box_scene families[] = {
    {"staves", "sticks of random direction", false, make_staves},
    {"graded", "a plane whose boxes grow by three decades along it", false, make_graded},
    {"hair", "strands of thin segments around a ball", false, make_hair},
    {"stairs", "a spiral staircase", false, make_stairs},
    {"galaxy", "two arms around a dense middle, stars of all sizes", false, make_galaxy},
    {"city", "houses, towers, streets and cars", false, make_city},
    {"octree", "cells of an octree that is refined towards a sphere", false, make_octree},
    {"fractal", "a Sierpinski tetrahedron", false, make_fractal},
    {"roofs", "a cube under forty roofs", false, make_roofs},
    {"two_heaps", "two heaps, far apart, of sizes 1000:1", false, make_two_heaps},
    {"exponential", "sizes and distances by e^40 along a line", false, make_exponential},
    {"twins", "sixteen times the same box at each place", false, make_twins},
    {"sheets", "thirty-two flat sheets above each other", false, make_sheets},
    {"snapped", "unit boxes on a grid, several at a place", false, make_snapped},
    {"ropes", "ropes that wander", false, make_ropes},
    {"speck", "half of the boxes in a speck of the room", false, make_speck},
    {"gravel", "stones of which each octave fills as much room", false, make_gravel},
    {"plates", "thin plates that face each axis", false, make_plates},
    {"diagonal", "along the diagonal", false, make_diagonal},
    {"towns", "crowds of very different densities", false, make_towns},
};

const box_scene *box_family_at(uint32_t index) {
    return index < sizeof families / sizeof *families ? &families[index] : NULL;
}
