// Worlds in which nearly everything rests: a step looks at what is awake alone, and pairs come by a tree of what rests.
// Random calls wake, move, make and destroy bodies of all kinds. The oracles: after each step, every pair of boxes that
// overlap, found by looking at all of them; and a world that a snapshot restored before the step, which has seen none
// of the calls.
#include "../own_file.h"
#include "hull_points.h"

#include <stdlib.h>

enum { STATIC_SIDE = 20, PILES = 30, MOST = 640, MOST_PAIRS = 20000 };

typedef struct field {
    stage s;
    uint32_t box, ball;
    psv_body_id ids[MOST];
    uint32_t count;
    uint64_t seed;
} field;

static uint32_t draw(field *f, uint32_t limit) {
    return (uint32_t)((random_float(&f->seed) + 1) * 0.49999f * (float)limit);
}

static void add(field *f, uint32_t shape, float x, float y, float z, bool is_static) {
    psv_body_def body = body_at(shape, x, y, z);
    body.is_static = is_static;
    if (f->count < MOST) f->ids[f->count++] = add_body(&f->s, &body);
}

// A floor of static boxes, and piles of three on it.
static field make_field(uint64_t seed) {
    psv_world_def def = stage_def(MOST);
    def.sleeping = true;
    field f = {.s = make_stage(&def), .seed = seed};
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f), ball = shape_of(PSV_SHAPE_SPHERE, 0.4f, 0, 0);
    ball.rolling_friction = ball.spinning_friction = 0.1f;
    f.box = add_shape(&f.s, &box);
    f.ball = add_shape(&f.s, &ball);
    for (int i = 0; i < STATIC_SIDE * STATIC_SIDE; ++i)
        add(&f, f.box, (float)(i % STATIC_SIDE), -0.5f, (float)(i / STATIC_SIDE), true);
    for (int i = 0; i < PILES * 3; ++i)
        add(&f, i % 3 < 2 ? f.box : f.ball, 1 + 3 * (float)(i / 3 % 6), 0.5f + 0.99f * (float)(i % 3),
            1 + 3 * (float)(i / 18), false);
    return f;
}

static uint64_t asleep(field *f) {
    psv_world_counters counters;
    check(&f->s, psv_read_world_counters(f->s.world, &counters));
    return counters.asleep;
}

static void change_something(field *f) {
    const uint32_t i = draw(f, f->count);
    const psv_body_id id = f->ids[i];
    const float push[3] = {2000, 3000, 500};
    psv_body_state state = state_of(&f->s, id);
    psv_pose target = state.pose;
    switch (draw(f, 9)) {
    case 0: check(&f->s, psv_apply_impulse(f->s.world, id, push, state.pose.position)); break;
    case 1: // static ones too
        state.pose.position[1] += 0.3f;
        check(&f->s, psv_set_body_state(f->s.world, id, &state));
        break;
    case 2:
        state.pose.position[0] += 0.4f;
        check(&f->s, psv_set_body_states(f->s.world, &id, 1, &state));
        break;
    case 3:
        check(&f->s, psv_destroy_body(f->s.world, id));
        f->ids[i] = f->ids[--f->count];
        break;
    case 4: add(f, f->ball, (float)draw(f, 20), 4, (float)draw(f, 20), false); break;
    case 5: add(f, f->box, (float)draw(f, 20), 3, (float)draw(f, 20), draw(f, 2) != 0); break;
    case 6: // a static one becomes kinematic, and goes on
        target.position[1] += 0.2f;
        if (psv_set_body_target(f->s.world, id, &target, 0.5f) == PSV_OK) break;
        break;
    case 7: check(&f->s, psv_set_damping(f->s.world, id, 0.1f, 0.1f)); break;
    default: break;
    }
}

static int by_slots(const void *x, const void *y) {
    const psv_pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

// Of the last step, in which nothing fell asleep: flags are those that the finder had.
static void expect_all_pairs(field *f) {
    static psv_pair found[MOST_PAIRS], due[MOST_PAIRS];
    static psv_aabb boxes[MOST];
    static uint8_t flags[MOST];
    const psv_box_set set = psv_world_box_set(f->s.world);
    uint64_t count = 0, expected = 0;
    check(&f->s, psv_download(f->s.context, boxes, set.min, set.count * sizeof *boxes));
    check(&f->s, psv_download(f->s.context, flags, set.flags, set.count));
    check(&f->s, psv_read_pairs(psv_world_pair_finder(f->s.world), found, MOST_PAIRS, &count));
    for (uint32_t a = 0; a < set.count; ++a)
        for (uint32_t b = a + 1; b < set.count; ++b) {
            bool meet = ((flags[a] | flags[b]) & PSV_BOX_DISABLED) == 0 && (flags[a] & flags[b] & PSV_BOX_STATIC) == 0;
            for (int k = 0; k < 3 && meet; ++k)
                meet = boxes[a].min[k] <= boxes[b].max[k] && boxes[b].min[k] <= boxes[a].max[k];
            if (meet) due[expected++] = (psv_pair){a, b};
        }
    qsort(found, count, sizeof *found, by_slots);
    if (count != expected || memcmp(found, due, count * sizeof *found) != 0)
        fail_msg("%d pairs, not %d, or others", (int)count, (int)expected);
}

static void expect_same_boxes(field *f, const psv_world *other) {
    static psv_aabb mine[MOST], its[MOST];
    const uint64_t bytes = psv_world_slot_count(f->s.world) * sizeof *mine;
    check(&f->s, psv_download(f->s.context, mine, psv_world_boxes(f->s.world), bytes));
    check(&f->s, psv_download(f->s.context, its, psv_world_boxes(other), bytes));
    assert_memory_equal(mine, its, bytes);
}

static void expect_same_step(field *f, const char *path) {
    stage other = {.context = f->s.context};
    uint64_t mine, its;
    check(&f->s, psv_save_snapshot(f->s.world, path));
    check(&f->s, psv_restore_snapshot(f->s.context, path, &other.world));
    step(&f->s, 1);
    step(&other, 1);
    check(&f->s, psv_world_hash(f->s.world, &mine));
    check(&f->s, psv_world_hash(other.world, &its));
    assert_true(mine == its);
    expect_same_boxes(f, other.world);
    psv_destroy_world(other.world);
}

static void run_random_calls(uint64_t seed, int every, int frames) {
    field f = make_field(seed);
    char path[128];
    (void)snprintf(path, sizeof path, "%s", own_snapshot("at_rest"));
    step(&f.s, 80);
    assert_true(asleep(&f) > PILES); // so most of all bodies rest
    for (int i = 0; i < frames; ++i) {
        if (i % every == 0) change_something(&f);
        const uint64_t before = asleep(&f);
        expect_same_step(&f, path);
        if (asleep(&f) <= before) expect_all_pairs(&f);
    }
    (void)remove(path);
    end_stage(&f.s);
}

static void rare_calls(void **unused) {
    (void)unused;
    run_random_calls(1, 16, 160);
}

static void many_calls(void **unused) {
    (void)unused;
    run_random_calls(2, 2, 100);
    run_random_calls(3, 1, 100);
}

// All wake at once, by gravity, and come to rest again.
static void everything_wakes(void **unused) {
    (void)unused;
    field f = make_field(4);
    const char *path = own_snapshot("all_wake");
    const float aside[3] = {1, -9.81f, 0}, down[3] = {0, -9.81f, 0};
    step(&f.s, 80);
    const uint64_t before = asleep(&f);
    check(&f.s, psv_set_gravity(f.s.world, aside));
    expect_same_step(&f, path);
    assert_true(asleep(&f) == 0 && before > PILES);
    expect_all_pairs(&f);
    check(&f.s, psv_set_gravity(f.s.world, down));
    step(&f.s, 150);
    assert_true(asleep(&f) > PILES);
    expect_same_step(&f, path);
    (void)remove(path);
    end_stage(&f.s);
}

// A state with fewer bodies than the world has had since, then with more.
static void states_with_other_bodies(void **unused) {
    (void)unused;
    field f = make_field(5);
    const char *path = own_snapshot("other_bodies");
    step(&f.s, 80);
    check(&f.s, psv_world_reserve_states(f.s.world, 2));
    check(&f.s, psv_world_keep(f.s.world, 0));
    const uint32_t count = f.count;
    for (int i = 0; i < 60; ++i)
        add(&f, f.box, (float)(i % 20) + 0.5f, 2 + (float)(i / 20), 19.5f, i % 2 == 0);
    step(&f.s, 60);
    check(&f.s, psv_world_keep(f.s.world, 1));
    for (int turn = 0; turn < 4; ++turn) {
        check(&f.s, psv_world_return(f.s.world, (uint32_t)turn % 2));
        f.count = turn % 2 == 0 ? count : count + 60;
        for (int i = 0; i < 8; ++i) // some meet what is not there in one of the states
            add(&f, f.ball, (float)i + 10.5f, 2.5f, 19.5f, false);
        for (int i = 0; i < 5; ++i) {
            const uint64_t before = asleep(&f);
            expect_same_step(&f, path);
            if (asleep(&f) <= before) expect_all_pairs(&f);
        }
    }
    (void)remove(path);
    end_stage(&f.s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rare_calls),
        cmocka_unit_test(many_calls),
        cmocka_unit_test(everything_wakes),
        cmocka_unit_test(states_with_other_bodies),
    };
    return RUN_TESTS(argc, argv, "at_rest", tests);
}
