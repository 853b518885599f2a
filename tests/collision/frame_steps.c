#include "frame_steps.h"
#include "../cases/check_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/box_scenes.h"

const frame_step frame_steps[] = {
    {"cube", 1, 100, 0, 3, false, 0},
    {"cube", 2, 97, 0, 2, false, 0},
    // larger than their cells, which wind in bins
    {"shell", 1, 100, 0, 4, false, 0},
    {"gas", 2, 100, 1, 3, true, 0},
    {"clusters", 3, 100, 0, 5, true, 2},
    {"pile", 1, 100, 0, 3, false, 0},
    {"cube", 3, 100, 1, 3, false, 0},
    {"cube", 3, 100, 0, 2, true, 0},
    {"cube", 3, 30, 0, 2, false, 0},
    {"cube", 4, 100, 0, 2, true, 0},
    {"planks", 1, 100, 0, 3, false, 0},
    {"cube", 1, 100, 0, 10, false, 0},
    {"lattice", 1, 100, 0, 3, false, 0},
    {"plane", 1, 100, 0, 20, false, 0},
    {"line", 1, 100, 0, 3, false, 0},
    {"clusters", 1, 100, 0, 2, false, 0},
    {"cube", 1, 100, 0, 18, false, 0},
    {"mixed_100", 1, 100, 0, 2, false, 0},
    {"one_huge", 1, 100, 0, 2, false, 0},
    {"bad", 1, 100, 0, 40, false, 0},
    {"cube", 1, 1, 0, 3, false, 0},
    {"cube", 5, 100, 1, 3, true, 0},
    {"identical", 1, 1, 0, 2, false, 0},
    {"cube", 1, 100, 0, 3, false, 0},
    // sizes of all kinds, with and without flags and filters
    {"giants", 1, 100, 0, 4, false, 0},
    {"power", 1, 100, 0, 3, false, 0},
    {"swept", 2, 100, 0, 4, true, 0},
    {"terrain", 1, 90, 0, 3, false, 0},
    {"power", 2, 100, 1, 3, false, 0},
    {"infinite", 1, 20, 0, 3, false, 0},
    {"gas", 1, 100, 0, 3, false, 0},
    {"mixed_1000", 1, 100, 0, 3, false, 0},
    {"needles", 1, 100, 0, 3, false, 0},
    {"swept", 3, 100, 0, 70, false, 2},
    {"cube", 1, 100, 0, 3, true, 2},
    {"power", 3, 100, 0, 3, false, 3},
    {"giants", 2, 100, 0, 4, true, 1},
    {"lattice_3", 1, 50, 0, 3, false, 0},
    {"swept", 4, 100, 0, 70, false, 1},
    {"extreme", 1, 2, 0, 2, false, 0},
    {"giants", 3, 100, 0, 4, false, 2},
    {"one_huge", 2, 100, 0, 2, true, 3},
    {"shell", 1, 100, 0, 2, false, 0},
    {"disc", 1, 100, 0, 2, false, 2},
    {"far", 1, 100, 0, 2, false, 2},
};
const int frame_step_count = (int)(sizeof frame_steps / sizeof *frame_steps);

uint64_t make_frame_step(const frame_step *step, uint64_t most, psv_aabb *boxes) {
    uint64_t count = most * (uint64_t)step->percent / 100 - (uint64_t)step->skipped;
    if (strcmp(step->scene, "identical") == 0 && count > 1000) count = 1000;
    memset(boxes, 0, most * sizeof *boxes);
    box_scene_named(step->scene)->make(boxes + step->skipped, count, step->seed);
    for (uint64_t i = 0; step->bad && i < count; i += 1 + count / 7)
        boxes[(uint64_t)step->skipped + i].max[i % 3] = boxes[(uint64_t)step->skipped + i].min[i % 3] - 1.0f;
    return count;
}

void make_frame_tags(const frame_step *step, uint64_t count, uint8_t *flags, psv_box_filter *filters) {
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = box_random_bits(step->seed, i, 7) >> 20;
        flags[i] = bits % 64 == 0 ? PSV_BOX_DISABLED : bits % 8 == 1 ? PSV_BOX_STATIC : 0;
        filters[i] =
            step->tags == 2 ? (psv_box_filter){2, 6} : (psv_box_filter){1u << (bits >> 8) % 2, 1 + (bits >> 9) % 3};
    }
}

frame_digest digest_frame(psv_context *context, psv_pair_finder *finder) {
    frame_digest made = {0};
    psv_pair_statistics statistics;
    CHECK(psv_finish_pairs(finder, &made.pairs));
    CHECK(psv_read_pair_statistics(finder, &statistics));
    made.boxes = statistics.boxes;
    made.bad = statistics.bad_boxes;
    psv_pair *pairs = malloc((made.pairs + 1) * sizeof *pairs);
    uint32_t *bad = malloc((made.bad + 1) * sizeof *bad);
    CHECK(psv_read_pairs(finder, pairs, made.pairs, &made.pairs));
    CHECK(psv_read_bad_boxes(finder, bad, made.bad, &made.bad));
    for (uint64_t p = 0; p < made.pairs; ++p) {
        assert_true(pairs[p].a < pairs[p].b);
        made.sum += box_random_bits(1, (uint64_t)pairs[p].a << 32 | pairs[p].b, 0);
    }
    for (uint64_t i = 0; i < made.bad; ++i)
        made.bad_sum += box_random_bits(2, bad[i], 0);
    free(bad);
    free(pairs);
    return made;
}

void compare_frames(const frame_digest *got, const frame_digest *expected, const char *form, int number, int frame) {
    if (memcmp(got, expected, sizeof *got) != 0)
        fail_msg("%s, step %d (%s), frame %d: %llu pairs, %llu boxes, %llu bad; expected %llu, %llu, %llu (sums %s)",
                 form, number, frame_steps[number].scene, frame, (unsigned long long)got->pairs,
                 (unsigned long long)got->boxes, (unsigned long long)got->bad, (unsigned long long)expected->pairs,
                 (unsigned long long)expected->boxes, (unsigned long long)expected->bad,
                 got->sum == expected->sum && got->bad_sum == expected->bad_sum ? "equal" : "differ");
}
