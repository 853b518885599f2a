// A world's own checks of its pairs: they find no difference while bodies fall, rest, sleep and leave, they take the
// share of the time that they are given, and a step whose pairs are of other boxes is named.
#include "../../sim/world/world.h"
#include "stage.h"

#include <string.h>

static void add_heap(stage *s, int count) {
    (void)add_box_floor(s, 20, 0.5f, 0);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
    const uint32_t shape = add_shape(s, &box);
    for (int i = 0; i < count; ++i) {
        const psv_body_def body = body_at(shape, (float)(i % 5), 0.6f + 1.1f * (float)(i / 5), 0.3f * (float)(i % 3));
        (void)add_body(s, &body);
    }
}

static psv_world_check check_of(stage *s) {
    psv_world_check found;
    check(s, psv_read_world_check(s->world, &found));
    return found;
}

static void every_step_is_right(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(64);
    def.sleeping = true;
    for (int axis = 0; axis < 3; ++axis)
        def.bounds_min[axis] = -50, def.bounds_max[axis] = 50;
    stage s = make_stage(&def);
    add_heap(&s, 40);
    const psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.3f, 0, 0);
    psv_body_def lost = body_at(add_shape(&s, &ball), 0, 3, 0); // leaves the world's bounds
    lost.velocity[0] = 4000;
    (void)add_body(&s, &lost);
    check(&s, psv_check_world_pairs(s.world, 1));
    uint64_t steps = 0;
    for (int i = 0; i < 240; ++i) {
        step(&s, 1);
        ++steps;
    }
    const psv_world_check found = check_of(&s);
    assert_in_range(found.steps, 1, 2 * steps); // some steps begin again
    assert_int_equal(found.boxes, 16 * found.steps);
    assert_true(found.pairs > 0 && found.ms > 0 && found.elapsed_ms >= found.ms);
    assert_int_equal(found.missing + found.extra + found.first_step, 0);
    psv_world_counters counters;
    check(&s, psv_read_world_counters(s.world, &counters));
    assert_true(counters.asleep > 0 && counters.lost_bodies > 0);
    end_stage(&s);
}

static void checks_keep_to_their_share(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(4096);
    def.substeps = 8;
    stage s = make_stage(&def);
    add_heap(&s, 2000);
    check(&s, psv_check_world_pairs(s.world, 0.001f));
    step(&s, 60);
    psv_world_check found = check_of(&s);
    assert_true(found.steps > 0 && found.steps < 60);
    assert_true(found.ms < 0.001 * found.elapsed_ms + 50); // a check may be interrupted by another program
    check(&s, psv_check_world_pairs(s.world, 0));
    step(&s, 5);
    found = check_of(&s);
    assert_true(found.steps == 0 && found.boxes == 0);
    assert_int_equal(psv_check_world_pairs(s.world, 1.5f), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_check_world_pairs(s.world, -0.1f), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_read_world_check(s.world, NULL), PSV_ERROR_ARGUMENT);
    end_stage(&s);
}

// The pairs of the last step are compared with boxes of which one was moved away, and then with all of them in one
// place.
static void differences_are_named(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(64);
    stage s = make_stage(&def);
    add_heap(&s, 12);
    step(&s, 2);
    psv_box_set set = psv_world_box_set(s.world);
    psv_aabb boxes[64], one;
    psv_buffer copy;
    assert_int_equal(set.count, 13);
    check(&s, psv_download(s.context, boxes, set.min, 13 * sizeof *boxes));
    one = boxes[3];
    check(&s, psv_alloc_buffer(s.context, sizeof boxes, &copy));
    set.min = copy;
    boxes[3] = (psv_aabb){{900, 900, 900}, {901, 901, 901}};
    check(&s, psv_upload(s.context, copy, boxes, sizeof boxes));
    check(&s, psv_check_world_pairs(s.world, 1));
    check(&s, psvi_check_step_pairs(s.world, &set));
    psv_world_check found = check_of(&s);
    assert_true(found.extra > 0 && found.missing == 0 && !found.first_is_missing);
    assert_true(found.first.a == 3 || found.first.b == 3);
    assert_int_equal(found.first_step, 3);
    const psv_pair first = found.first;
    for (int i = 1; i < 13; ++i)
        boxes[i] = one;
    check(&s, psv_upload(s.context, copy, boxes, sizeof boxes));
    s.world->check.credit = s.world->check.cost = 0; // it is due at once
    check(&s, psvi_check_step_pairs(s.world, &set));
    found = check_of(&s);
    assert_true(found.missing > 0 && found.steps == 2);
    assert_memory_equal(&found.first, &first, sizeof first); // the first one stays
    psv_free_buffer(s.context, &copy);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_right),
        cmocka_unit_test(checks_keep_to_their_share),
        cmocka_unit_test(differences_are_named),
    };
    return RUN_TESTS(argc, argv, "world_check", tests);
}
