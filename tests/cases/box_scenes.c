#include "box_scenes.h"

#include <float.h>
#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t z) {
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

uint64_t box_random_bits(uint64_t seed, uint64_t index, uint32_t channel) {
    return mix((seed == 0 ? 0 : mix(seed)) + index * 8 + channel);
}

float box_random(uint64_t seed, uint64_t index, uint32_t channel) {
    return (float)(box_random_bits(seed, index, channel) >> 40) * (1.0f / 16777216.0f);
}

// With seed 0 these are the boxes behind the published pair counts: half extent 0.25 to 0.5, centres uniform in the
// room, corners by fused multiply-add.
static void uniform_room(psv_aabb *boxes, uint64_t count, uint64_t seed, const float room[3], const float stretch[3]) {
    for (uint64_t i = 0; i < count; ++i) {
        float half = 0.25f + 0.25f * box_random(seed, i, 3);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float u = box_random(seed, i, axis), h = half * stretch[axis];
            boxes[i].min[axis] = fmaf(u, room[axis], -h);
            boxes[i].max[axis] = fmaf(u, room[axis], h);
        }
    }
}

static const float even[3] = {1, 1, 1};

static void make_cube(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float side = cbrtf((float)count);
    uniform_room(boxes, count, seed, (float[3]){side, side, side}, even);
}

static void make_pile(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float side = sqrtf((float)count / 8.0f);
    uniform_room(boxes, count, seed, (float[3]){side, 8, side}, even);
}

static void make_plane(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float side = sqrtf((float)count);
    uniform_room(boxes, count, seed, (float[3]){side, 0, side}, even);
}

static void make_line(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    uint32_t axis = (uint32_t)(seed % 3);
    float room[3] = {0, 0, 0};
    room[axis] = (float)count;
    uniform_room(boxes, count, seed, room, even);
}

static void make_planks(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float side = cbrtf((float)count * 4);
    uniform_room(boxes, count, seed, (float[3]){side, side, side}, (float[3]){0.1f, 6, 1});
}

// Thin sticks along all three axes.
static void make_sticks(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float side = cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float stretch[3] = {0.1f, 0.1f, 0.1f}, room[3] = {side, side, side};
        stretch[box_random_bits(seed, i, 4) % 3] = 12;
        float half = 0.25f + 0.25f * box_random(seed, i, 3);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float centre = box_random(seed, i, axis) * room[axis];
            boxes[i].min[axis] = centre - half * stretch[axis];
            boxes[i].max[axis] = centre + half * stretch[axis];
        }
    }
}

// Clusters of about 4096 boxes, dense in the middle, far apart.
static void make_clusters(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    uint64_t clusters = count / 4096 + 1;
    float side = 400 * cbrtf((float)clusters), radius = 0.5f * cbrtf((float)count / (float)clusters);
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t home = mix(seed + 17) + i % clusters;
        float half = 0.25f + 0.25f * box_random(seed, i, 3);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float spread = box_random(seed, i, axis) + box_random(seed, i, 4 + axis) + box_random(seed + 1, i, axis) +
                           box_random(seed + 1, i, 4 + axis) - 2;
            float centre = side * box_random(seed + 2, home, axis) + 1.2f * radius * spread;
            boxes[i].min[axis] = centre - half;
            boxes[i].max[axis] = centre + half;
        }
    }
}

// Sizes spread evenly on a logarithmic scale over `ratio`; the room is set for about two pairs a box.
static void mixed_sizes(psv_aabb *boxes, uint64_t count, uint64_t seed, float ratio) {
    double volume = 0;
    for (uint64_t i = 0; i < count; ++i) {
        // Cubed, so that large boxes are rare, as they are in scenes with such spreads.
        float u = box_random(seed, i, 3);
        float half = 0.25f * powf(ratio, u * u * u);
        boxes[i].min[0] = half;
        volume += 8.0 * half * half * half;
    }
    float side = (float)cbrt(volume * 4);
    float largest = 0.25f * ratio;
    if (side < 6 * largest) side = 6 * largest;
    for (uint64_t i = 0; i < count; ++i) {
        float half = boxes[i].min[0];
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float centre = box_random(seed, i, axis) * side;
            boxes[i].min[axis] = centre - half;
            boxes[i].max[axis] = centre + half;
        }
    }
}

static void make_mixed_100(psv_aabb *boxes, uint64_t count, uint64_t seed) { mixed_sizes(boxes, count, seed, 100); }

static void make_mixed_1000(psv_aabb *boxes, uint64_t count, uint64_t seed) { mixed_sizes(boxes, count, seed, 1000); }

static void make_one_huge(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    if (count == 0) return;
    uint64_t i = box_random_bits(seed, 0, 7) % count;
    for (uint32_t axis = 0; axis < 3; ++axis) {
        boxes[i].min[axis] = -10 * cbrtf((float)count);
        boxes[i].max[axis] = 10 * cbrtf((float)count);
    }
}

// Two dense balls a million units apart, and a few boxes as far again.
static void make_far(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        float offset = box_random_bits(seed, i, 4) % 2 ? 1e4f : 0;
        if (i % 1000 == 999) offset = 1e6f;
        for (uint32_t axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] += offset;
            boxes[i].max[axis] += offset;
        }
    }
}

// All boxes are the same one: every pair overlaps.
static void make_identical(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    (void)seed;
    for (uint64_t i = 0; i < count; ++i)
        boxes[i] = (psv_aabb){{-1, 2, 3}, {-0.5f, 2.5f, 4}};
}

// Unit boxes on a lattice: neighbours touch in a face, an edge or a corner, and touching counts.
static void make_lattice(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    uint32_t side = (uint32_t)ceil(cbrt((double)count));
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t place = (i * 7919 + seed) % count;
        uint32_t at[3] = {(uint32_t)(place % side), (uint32_t)(place / side % side), (uint32_t)(place / side / side)};
        for (uint32_t axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = (float)at[axis];
            boxes[i].max[axis] = (float)(at[axis] + 1);
        }
    }
}

// Points, segments and squares on a coarse lattice around the origin, with -0 and +0 mixed.
static void make_zero_size(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    int side = (int)cbrt((double)count) + 1;
    for (uint64_t i = 0; i < count; ++i) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float at = (float)((int)(box_random(seed, i, axis) * (float)side) - side / 2);
            float length = box_random(seed, i, 4 + axis) < 0.7f ? 0.0f : 1.0f;
            boxes[i].min[axis] = at == 0 && box_random(seed, i, 3) < 0.5f ? -0.0f : at;
            boxes[i].max[axis] = at + length == 0 && box_random(seed, i, 3) < 0.7f ? 0.0f : at + length;
        }
    }
}

static void make_denormal(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    float unit = FLT_TRUE_MIN * (float)(8 + cbrt((double)count) * 2);
    for (uint64_t i = 0; i < count; ++i) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = (box_random(seed, i, axis) - 0.5f) * unit * 16;
            boxes[i].max[axis] = boxes[i].min[axis] + box_random(seed, i, 3) * unit;
        }
    }
}

// A cube with infinite boxes among it: planes, slabs, half spaces, all of space, points at infinity.
static void make_infinite(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        if (box_random(seed, i, 5) > 0.02f) continue;
        for (uint32_t axis = 0; axis < 3; ++axis) {
            uint64_t kind = box_random_bits(seed + 3, i, axis) % 4;
            if (kind & 1) boxes[i].min[axis] = -INFINITY;
            if (kind & 2) boxes[i].max[axis] = INFINITY;
        }
        if (i % 7 == 0) boxes[i].min[0] = boxes[i].max[0] = i % 2 ? INFINITY : -INFINITY;
    }
}

// A flat world with no height: infinite along z.
static void make_flat_infinite(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_plane(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        boxes[i].min[1] = -INFINITY;
        boxes[i].max[1] = INFINITY;
    }
}

// The extremes of float: coordinates and extents up to FLT_MAX.
static void make_extreme(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    for (uint64_t i = 0; i < count; ++i) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float scale = ldexpf(1, (int)(box_random(seed, i, axis) * 254) - 126);
            float a = (box_random(seed, i, 4 + axis) - 0.5f) * 2 * scale;
            float b = (box_random(seed + 1, i, axis) - 0.5f) * 2 * scale;
            if (i % 50 == 0) a = -FLT_MAX;
            if (i % 75 == 0) b = FLT_MAX;
            boxes[i].min[axis] = a < b ? a : b;
            boxes[i].max[axis] = a < b ? b : a;
        }
    }
}

// A cube with bad boxes of every kind.
static void make_bad(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t axis = (uint32_t)(box_random_bits(seed, i, 4) % 3);
        switch (box_random_bits(seed, i, 5) % 12) {
        case 0: boxes[i].min[axis] = NAN; break;
        case 1: boxes[i].max[axis] = -NAN; break;
        case 2: boxes[i].min[axis] = boxes[i].max[axis] + 0.5f; break;
        case 3: memset(&boxes[i], 0xff, sizeof boxes[i]); break;
        case 4: boxes[i].min[axis] = INFINITY; break;
        default: break;
        }
    }
}

// Boxes that all share their lower corner on one axis (a floor), of mixed heights.
static void make_floor(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_plane(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        boxes[i].min[1] = 0;
        boxes[i].max[1] = 1 + 4 * box_random(seed, i, 6);
    }
}

// --- scenes of uneven sizes, shapes and density ----------------------------------------------------------------------

static void set_box(psv_aabb *box, const float centre[3], const float half[3]) {
    for (uint32_t axis = 0; axis < 3; ++axis) {
        box->min[axis] = centre[axis] - half[axis];
        box->max[axis] = centre[axis] + half[axis];
    }
}

static void random_point(float point[3], uint64_t seed, uint64_t index, float side) {
    for (uint32_t axis = 0; axis < 3; ++axis)
        point[axis] = side * box_random(seed, index, axis);
}

// Evenly over the sphere.
static void random_direction(float direction[3], uint64_t seed, uint64_t index, uint32_t channel) {
    const float z = 2 * box_random(seed, index, channel) - 1, turn = 6.2831853f * box_random(seed, index, channel + 1);
    const float flat = sqrtf(fmaxf(1 - z * z, 0));
    direction[0] = flat * cosf(turn), direction[1] = flat * sinf(turn), direction[2] = z;
}

// Sizes by a power law: the few largest are hundreds of times as large as most.
static void make_power(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 1.6f * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float u = fmaxf(box_random(seed, i, 3), 1e-8f), half = fminf(0.12f * powf(u, -0.45f), 30);
        random_point(centre, seed, i, side);
        set_box(&boxes[i], centre, (float[3]){half, half, half});
    }
}

// A cube whose boxes are grown by their way of a frame: 98% move by up to 0.2, the others by up to 6.
static void make_swept(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    for (uint64_t i = 0; i < count; ++i) {
        float way[3];
        const float most = box_random(seed, i, 4) < 0.02f ? 6 : 0.2f, length = most * box_random(seed, i, 5);
        random_direction(way, seed, i, 6);
        for (uint32_t axis = 0; axis < 3; ++axis)
            if (way[axis] < 0)
                boxes[i].min[axis] += length * way[axis];
            else
                boxes[i].max[axis] += length * way[axis];
    }
}

static void make_needles(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = 3 * cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3], half[3];
        random_point(centre, seed, i, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            half[axis] = 0.015f + 0.015f * box_random(seed, i, 3 + axis);
        half[box_random_bits(seed, i, 6) % 3] = 2 + 6 * box_random(seed, i, 7);
        set_box(&boxes[i], centre, half);
    }
}

// Unit boxes that touch, three at each place of a lattice: 39 pairs a box.
static void make_lattice_3(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const uint64_t places = (count + 2) / 3, side = (uint64_t)ceil(cbrt((double)places));
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t place = (i * 7919 + seed) % count / 3;
        const float at[3] = {(float)(place % side), (float)(place / side % side), (float)(place / side / side)};
        for (uint32_t axis = 0; axis < 3; ++axis) {
            boxes[i].min[axis] = at[axis];
            boxes[i].max[axis] = at[axis] + 1;
        }
    }
}

// A cube with 20 boxes of 2 to 12% of its side in it.
static void make_giants(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = cbrtf((float)count);
    make_cube(boxes, count, seed);
    for (uint64_t g = 0; g < 20 && g < count; ++g) {
        float centre[3], half[3];
        random_point(centre, seed + 1, g, side);
        for (uint32_t axis = 0; axis < 3; ++axis)
            half[axis] = side * (0.01f + 0.05f * box_random(seed + 1, g, 3 + axis));
        set_box(&boxes[box_random_bits(seed + 1, g, 6) % count], centre, half);
    }
}

// Flat tiles on a wavy sheet; 1 in 50 is 6 high.
static void make_terrain(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float side = sqrtf((float)count), wave = 6.2831853f / side;
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3], half[3];
        random_point(centre, seed, i, side);
        centre[1] = 0.02f * side * (sinf(3 * wave * centre[0]) + cosf(2 * wave * centre[2]));
        half[0] = 0.25f + 0.25f * box_random(seed, i, 3), half[2] = 0.25f + 0.25f * box_random(seed, i, 4);
        half[1] = box_random(seed, i, 5) < 0.02f ? 3 : 0.05f;
        set_box(&boxes[i], centre, half);
    }
}

// Half of the boxes in a heap, the others in a thin gas of a thousandth of its density above and around it.
static void make_gas(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float heap = cbrtf(0.5f * (float)count), room = 10 * heap;
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float half = 0.25f + 0.25f * box_random(seed, i, 3);
        random_point(centre, seed, i, i % 2 ? room : heap);
        set_box(&boxes[i], centre, (float[3]){half, half, half});
    }
}

static void make_shell(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float radius = sqrtf((float)count / 12.566371f);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float half = 0.25f + 0.25f * box_random(seed, i, 3);
        random_direction(centre, seed, i, 0);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] *= radius;
        set_box(&boxes[i], centre, (float[3]){half, half, half});
    }
}

static void make_disc(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float radius = sqrtf((float)count / 3.1415927f);
    for (uint64_t i = 0; i < count; ++i) {
        const float half = 0.25f + 0.25f * box_random(seed, i, 3), turn = 6.2831853f * box_random(seed, i, 0);
        const float out = radius * sqrtf(box_random(seed, i, 1));
        set_box(&boxes[i], (float[3]){out * cosf(turn), box_random(seed, i, 2), out * sinf(turn)},
                (float[3]){half, half, half});
    }
}

// A log spiral: size and distance grow together by e^13.8, in an arm that turns six times.
static void make_spiral(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float size = 0.8f / cbrtf((float)count);
    for (uint64_t i = 0; i < count; ++i) {
        const float along = box_random(seed, i, 0), out = expf(13.8f * along - 6.9f);
        const float turn = 37.7f * along + 0.8f * box_random(seed, i, 1);
        const float half = size * out * (0.25f + 0.5f * box_random(seed, i, 3));
        set_box(&boxes[i], (float[3]){out * cosf(turn), 0.2f * out * (box_random(seed, i, 2) - 0.5f), out * sinf(turn)},
                (float[3]){half, half, half});
    }
}

// Twelve shells one in the other, each of twice the size of the last, as its boxes are.
static void make_shells(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    const float size = 2.5f / sqrtf((float)count / 12.0f + 1.0f);
    for (uint64_t i = 0; i < count; ++i) {
        float centre[3];
        const float radius = ldexpf(1.0f, (int)(i % 12)),
                    half = size * radius * (0.25f + 0.25f * box_random(seed, i, 3));
        random_direction(centre, seed, i, 0);
        for (uint32_t axis = 0; axis < 3; ++axis)
            centre[axis] *= radius;
        set_box(&boxes[i], centre, (float[3]){half, half, half});
    }
}

static void scale(psv_aabb *boxes, uint64_t count, float by) {
    for (uint64_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis)
            boxes[i].min[axis] *= by, boxes[i].max[axis] *= by;
}

static void make_tiny(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    scale(boxes, count, 1e-41f);
}

static void make_vast(psv_aabb *boxes, uint64_t count, uint64_t seed) {
    make_cube(boxes, count, seed);
    scale(boxes, count, 1e36f);
}

static const box_scene scenes[] = {
    {"cube", "uniform in a cube, one box a unit volume", false, make_cube},
    {"pile", "the same, 8 units high", false, make_pile},
    {"plane", "all in one plane", false, make_plane},
    {"line", "all on one line", false, make_line},
    {"clusters", "dense clusters of 4096 boxes, far apart", false, make_clusters},
    {"planks", "planks 1:60 of one orientation", false, make_planks},
    {"sticks", "thin sticks 1:120 along all axes", false, make_sticks},
    {"mixed_100", "sizes 100:1", false, make_mixed_100},
    {"mixed_1000", "sizes 1000:1", false, make_mixed_1000},
    {"one_huge", "a cube in one huge box", false, make_one_huge},
    {"floor", "all standing on one floor, of mixed heights", false, make_floor},
    {"far", "two cubes far apart, and a few boxes farther", false, make_far},
    {"power", "sizes by a power law, the largest hundreds of times most", false, make_power},
    {"swept", "a cube grown by the way of a frame, some go far", false, make_swept},
    {"needles", "needles 1:100 to 1:500 along all axes", false, make_needles},
    {"giants", "a cube with 20 boxes of up to 12% of its side", false, make_giants},
    {"terrain", "flat tiles on a wavy sheet, some of them high", false, make_terrain},
    {"gas", "half a heap, half a thin gas around it", false, make_gas},
    {"shell", "on a sphere", false, make_shell},
    {"disc", "in a flat disc", false, make_disc},
    {"spiral", "a log spiral: sizes grow with the distance by six decades", false, make_spiral},
    {"shells", "twelve nested spheres, each of twice the size", false, make_shells},
    {"tiny", "a cube, all coordinates below the smallest normal float", false, make_tiny},
    {"vast", "a cube, coordinates up to 1e38", false, make_vast},
    {"identical", "all boxes the same: every pair overlaps", true, make_identical},
    {"lattice", "unit boxes that touch", true, make_lattice},
    {"lattice_3", "unit boxes that touch, three at each place: 39 pairs a box", true, make_lattice_3},
    {"zero_size", "points, segments and squares, -0 and +0", true, make_zero_size},
    {"denormal", "coordinates below the smallest normal float", true, make_denormal},
    {"infinite", "infinite boxes among finite ones", true, make_infinite},
    {"flat_infinite", "a flat world, infinite along one axis", true, make_flat_infinite},
    {"extreme", "coordinates of all magnitudes up to the largest float", true, make_extreme},
    {"bad", "NaN and min > max among good boxes", true, make_bad},
};

const box_scene *box_scene_at(uint32_t index) { return index < sizeof scenes / sizeof *scenes ? &scenes[index] : NULL; }

const box_scene *box_scene_named(const char *name) {
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i)
        if (strcmp(scenes[i].name, name) == 0) return &scenes[i];
    return NULL;
}
