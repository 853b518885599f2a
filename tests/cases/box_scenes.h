// Seeded box scenes, shared by the collision tests and benchmarks.
#ifndef PAIRSIEVE_TESTS_BOX_SCENES_H
#define PAIRSIEVE_TESTS_BOX_SCENES_H

#include <pairsieve/collision.h>

typedef struct box_scene {
    const char *name;
    const char *description;
    bool degenerate; // for tests only: many boxes share coordinates, are bad or infinite
    void (*make)(psv_aabb *boxes, uint64_t count, uint64_t seed);
} box_scene;

// NULL past the end.
const box_scene *box_scene_at(uint32_t index);
const box_scene *box_scene_named(const char *name);

// Scenes that nobody tunes for (box_families.c), for bench_bounds; NULL past the end.
const box_scene *box_family_at(uint32_t index);

// Random numbers: hash of (seed, index, channel), uniform in [0, 1) with 24 bits.
uint64_t box_random_bits(uint64_t seed, uint64_t index, uint32_t channel);
float box_random(uint64_t seed, uint64_t index, uint32_t channel);

#endif
