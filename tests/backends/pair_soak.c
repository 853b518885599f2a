#include "pair_soak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../scenes/box_scenes.h"

#define SOAK_BOXES 160

typedef struct soak_world {
    psv_aabb boxes[SOAK_BOXES];
    float velocity[SOAK_BOXES][3];
    uint8_t flags[SOAK_BOXES];
    uint8_t replayed[SOAK_BOXES][SOAK_BOXES];
} soak_world;

static void move_soak(soak_world *world, uint64_t seed, uint64_t frame) {
    for (uint64_t i = 0; i < SOAK_BOXES; ++i) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float step = world->velocity[i][axis];
            if (world->boxes[i].min[axis] < 0) step = world->velocity[i][axis] = step < 0 ? -step : step;
            if (world->boxes[i].max[axis] > 6) step = world->velocity[i][axis] = step > 0 ? -step : step;
            world->boxes[i].min[axis] += step;
            world->boxes[i].max[axis] += step;
        }
        if (box_random(seed + frame, i, 5) < 0.02f) world->flags[i] ^= PSV_BOX_DISABLED;
    }
}

static void replay(soak_world *world, const psv_pair *pairs, uint64_t count, uint8_t value) {
    for (uint64_t p = 0; p < count; ++p) {
        assert_true(pairs[p].a < pairs[p].b && pairs[p].b < SOAK_BOXES);
        if (p > 0)
            assert_true(pairs[p - 1].a < pairs[p].a || (pairs[p - 1].a == pairs[p].a && pairs[p - 1].b < pairs[p].b));
        assert_int_equal(world->replayed[pairs[p].a][pairs[p].b], !value);
        world->replayed[pairs[p].a][pairs[p].b] = value;
    }
}

// Replayed events are the pairs of this frame: as many, and each of them.
static void compare_replayed(const soak_world *world, const psv_pair *pairs, uint64_t count) {
    uint64_t replayed = 0;
    for (uint32_t i = 0; i < SOAK_BOXES; ++i)
        for (uint32_t j = 0; j < SOAK_BOXES; ++j)
            replayed += world->replayed[i][j];
    assert_int_equal(replayed, count);
    for (uint64_t p = 0; p < count; ++p)
        assert_int_equal(world->replayed[pairs[p].a][pairs[p].b], 1);
}

static psv_buffer upload(psv_context *context, const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    assert_int_equal(psv_alloc_buffer(context, bytes, &buffer), PSV_OK);
    assert_int_equal(psv_upload(context, buffer, data, bytes), PSV_OK);
    return buffer;
}

void soak_events(const pair_soak *soak) {
    psv_context *context = soak->context;
    soak_world *world = calloc(1, sizeof *world);
    for (uint64_t i = 0; i < SOAK_BOXES; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            world->boxes[i].min[axis] = 5 * box_random(soak->seed, i, axis);
            world->boxes[i].max[axis] = world->boxes[i].min[axis] + 0.3f + 0.5f * box_random(soak->seed, i, 3);
            world->velocity[i][axis] = 0.2f * (box_random(soak->seed, i, 4 + axis) - 0.5f);
        }
    psv_buffer boxes = upload(context, world->boxes, sizeof world->boxes),
               flags = upload(context, world->flags, sizeof world->flags);
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), SOAK_BOXES);
    set.flags = flags;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = soak->method;
    def.max_boxes = SOAK_BOXES;
    def.max_pairs = 16; // grows on the way, and the previous frame must come along
    def.grow_pairs = true;
    def.events = true;
    psv_pair_finder *finder = NULL;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    enum { ROOM = SOAK_BOXES * SOAK_BOXES / 2 };
    psv_pair *pairs = malloc(ROOM * sizeof *pairs), *begin = malloc(ROOM * sizeof *pairs),
             *end = malloc(ROOM * sizeof *pairs);
    uint64_t held = 0, count, begin_count, end_count, changes = 0;
    for (uint32_t frame = 0; frame < soak->frames; ++frame) {
        move_soak(world, soak->seed, frame);
        CHECK(psv_upload(context, boxes, world->boxes, sizeof world->boxes));
        CHECK(psv_upload(context, flags, world->flags, sizeof world->flags));
        CHECK(psv_find_pairs(finder, &set));
        CHECK(psv_read_pair_events(finder, begin, ROOM, &begin_count, end, ROOM, &end_count));
        CHECK(psv_read_pairs(finder, pairs, ROOM, &count));
        replay(world, end, end_count, 0);
        replay(world, begin, begin_count, 1);
        compare_replayed(world, pairs, count);
        changes += begin_count + end_count;
        if (frame == soak->frames / 2) held = *soak->bytes_held;
    }
    assert_true(soak->frames < 100 || changes > soak->frames); // the scene does move
    if (soak->frames > 1000) assert_true(*soak->bytes_held <= 2 * held);
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &boxes);
    psv_free_buffer(context, &flags);
    free(pairs);
    free(begin);
    free(end);
    free(world);
}
