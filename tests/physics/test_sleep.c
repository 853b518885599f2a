// Sleep: what has come to rest sleeps as an island, stays where it is, and wakes by contact, force, a kinematic body, a
// change of gravity, and when what it lies on goes away. The oracle is what the same bodies do in a world that does not
// sleep, and where they have to be.
#include <math.h>

#include "../own_file.h"
#include "stage.h"

static stage sleeping_stage(uint64_t bodies) {
    psv_world_def def = stage_def(bodies);
    def.sleeping = true;
    return make_stage(&def);
}

static uint64_t asleep(stage *s) {
    psv_world_counters counters;
    check(s, psv_read_world_counters(s->world, &counters));
    return counters.asleep;
}

static psv_body_id id_of_box(stage *s, uint32_t shape, float x, float y) {
    psv_body_def body = body_at(shape, x, y, 0);
    return add_body(s, &body);
}

#define HIGH 5

// Two towers, and their floor.
typedef struct towers {
    psv_body_id floor, left[HIGH], right[HIGH];
    uint32_t shape;
} towers;

static towers add_towers(stage *s) {
    towers t;
    t.floor = add_box_floor(s, 50, 0.5f, 0);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
    t.shape = add_shape(s, &box);
    for (int i = 0; i < HIGH; ++i) {
        t.left[i] = id_of_box(s, t.shape, -3, 0.5f + (float)i);
        t.right[i] = id_of_box(s, t.shape, 3, 0.5f + (float)i);
    }
    return t;
}

static void towers_fall_asleep_and_stay(void **unused) {
    (void)unused;
    stage s = sleeping_stage(64);
    towers t = add_towers(&s);
    step(&s, 20);
    assert_true(asleep(&s) == 0); // not before half a second
    step(&s, 100);
    assert_true(asleep(&s) == 2 * HIGH);
    psv_world_counters counters;
    check(&s, psv_read_world_counters(s.world, &counters));
    assert_true(counters.pairs == 0 && counters.contacts == 0); // they cost nothing but their places
    psv_body_state before[HIGH], after[HIGH];
    check(&s, psv_get_body_states(s.world, t.left, HIGH, before));
    step(&s, 600);
    check(&s, psv_get_body_states(s.world, t.left, HIGH, after));
    assert_memory_equal(before, after, sizeof before);
    double energy, momentum[3];
    check(&s, psv_world_energy(s.world, &energy, momentum));
    assert_true(fabs(energy / (2 * 1000 * 9.81 * (0.5 + 1.5 + 2.5 + 3.5 + 4.5)) - 1) < 0.01); // of sleepers too
    end_stage(&s);
}

// One tower is touched in a way; it wakes as a whole, the other sleeps on.
static void only_the_island_wakes(void **unused) {
    (void)unused;
    for (int way = 0; way < 5; ++way) {
        stage s = sleeping_stage(64);
        towers t = add_towers(&s);
        step(&s, 150);
        assert_true(asleep(&s) == 2 * HIGH);
        const float push[3] = {300, 0, 0}, at[3] = {-3, 4.5f, 0};
        const psv_body_impulse impulse = {{300, 0, 0}, {-3, 4.5f, 0}};
        psv_body_state state = state_of(&s, t.left[HIGH - 1]);
        if (way == 0) check(&s, psv_apply_impulse(s.world, t.left[HIGH - 1], push, at));
        if (way == 1) check(&s, psv_apply_impulses(s.world, &t.left[HIGH - 1], 1, &impulse));
        state.velocity[0] = 0.3f;
        if (way == 2) check(&s, psv_set_body_state(s.world, t.left[HIGH - 1], &state));
        if (way == 3) check(&s, psv_set_body_states(s.world, &t.left[HIGH - 1], 1, &state));
        if (way == 4) check(&s, psv_set_damping(s.world, t.left[0], 0.1f, 0));
        step(&s, 1);
        assert_true(asleep(&s) == HIGH);
        if (way < 4) assert_true(state_of(&s, t.left[HIGH - 1]).velocity[0] > 0.1f);
        step(&s, 240);
        assert_true(asleep(&s) == 2 * HIGH); // to rest again
        for (int i = 0; i < HIGH; ++i)
            assert_true(fabs((double)state_of(&s, t.right[i]).pose.position[1] - 0.5 - i) < 0.01);
        end_stage(&s);
    }
}

// A ball drops on one tower: both meet, and the tower wakes before the ball has sunk in.
static void contact_wakes(void **unused) {
    (void)unused;
    stage s = sleeping_stage(64);
    (void)add_towers(&s);
    step(&s, 150);
    psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.4f, 0, 0);
    psv_body_def body = body_at(add_shape(&s, &ball), -3, 6.4f, 0);
    psv_body_id id = add_body(&s, &body);
    step(&s, 10);
    assert_true(asleep(&s) == 2 * HIGH);
    float lowest = 9;
    uint64_t least = 2 * HIGH;
    for (int i = 0; i < 60; ++i) {
        step(&s, 1);
        const uint64_t now = asleep(&s);
        least = now < least ? now : least;
        lowest = fminf(lowest, state_of(&s, id).pose.position[1] - 0.4f);
    }
    assert_true(least == HIGH && lowest > HIGH - 0.05f);
    end_stage(&s);
}

// By buffers of the backend.
static void write_state(stage *s, psv_body_id id, const psv_body_state *state) {
    const uint32_t slot = id.index1 - 1;
    psv_buffer slots, states;
    check(s, psv_alloc_buffer(s->context, sizeof slot, &slots));
    check(s, psv_alloc_buffer(s->context, sizeof *state, &states));
    check(s, psv_upload(s->context, slots, &slot, sizeof slot));
    check(s, psv_upload(s->context, states, state, sizeof *state));
    check(s, psv_write_body_states(s->world, slots, 1, states));
    check(s, psv_synchronize(s->context));
    psv_free_buffer(s->context, &states);
    psv_free_buffer(s->context, &slots);
}

// What lies on a body that goes away falls, and what lies on the floor when the floor goes away.
static void what_lay_on_it_falls(void **unused) {
    (void)unused;
    for (int way = 0; way < 5; ++way) {
        stage s = sleeping_stage(64);
        towers t = add_towers(&s);
        step(&s, 150);
        assert_true(asleep(&s) == 2 * HIGH);
        psv_body_state far = state_of(&s, t.floor);
        far.pose.position[1] -= 100;
        if (way == 0) check(&s, psv_destroy_body(s.world, t.left[0]));
        if (way == 1) check(&s, psv_destroy_body(s.world, t.floor));
        if (way == 2) check(&s, psv_set_body_state(s.world, t.floor, &far));
        if (way == 3) check(&s, psv_set_body_states(s.world, &t.floor, 1, &far));
        if (way == 4) write_state(&s, t.floor, &far);
        step(&s, 12);
        assert_true((double)state_of(&s, t.left[HIGH - 1]).velocity[1] < -9.81 * 0.15);
        assert_true(asleep(&s) == (way == 0 ? HIGH : 0));
        end_stage(&s);
    }
}

static void gravity_and_platforms_wake(void **unused) {
    (void)unused;
    stage s = sleeping_stage(64);
    towers t = add_towers(&s);
    psv_body_def body = body_at(t.shape, -6, 0.5f, 0);
    body.is_kinematic = true;
    psv_body_id pusher = add_body(&s, &body);
    step(&s, 150);
    assert_true(asleep(&s) == 2 * HIGH);
    psv_body_state state = state_of(&s, pusher);
    state.velocity[0] = 1;
    check(&s, psv_set_body_state(s.world, pusher, &state));
    step(&s, 60);
    assert_true(asleep(&s) == 2 * HIGH || asleep(&s) == 0); // setting what may carry others wakes all
    step(&s, 90);                                           // 2 m are between them; half a metre more
    assert_true((double)state_of(&s, t.left[0]).pose.position[0] > -2.6);
    state = state_of(&s, pusher);
    state.velocity[0] = 0;
    check(&s, psv_set_body_state(s.world, pusher, &state));
    step(&s, 400);
    assert_true(asleep(&s) >= HIGH);
    const float side[3] = {20, -9.81f, 0};
    check(&s, psv_set_gravity(s.world, side));
    step(&s, 10);
    assert_true(asleep(&s) == 0 && (double)state_of(&s, t.right[HIGH - 1]).velocity[0] > 1);
    end_stage(&s);
}

// A platform that moves slowly under a sleeper carries it: what is driven lets nobody sleep on it.
static void riders_do_not_sleep(void **unused) {
    (void)unused;
    stage s = sleeping_stage(64);
    psv_shape_def platform = shape_of(PSV_SHAPE_BOX, 2, 0.25f, 2), box = shape_of(PSV_SHAPE_BOX, 0.3f, 0.3f, 0.3f);
    psv_body_def below = body_at(add_shape(&s, &platform), 0, 0, 0), above = body_at(add_shape(&s, &box), 0, 0.55f, 0);
    below.is_kinematic = true;
    below.velocity[0] = 0.02f; // below sleep_speed
    psv_body_id a = add_body(&s, &below), b = add_body(&s, &above);
    step(&s, 600);
    assert_true(asleep(&s) == 0);
    assert_true(fabsf(state_of(&s, b).pose.position[0] - state_of(&s, a).pose.position[0]) < 0.01f);
    end_stage(&s);
}

// A ball that spins on the spot, which nothing slows without spinning friction, is near enough to a tower for a contact
// but does not press on it: the tower sleeps. With spinning friction the ball does too.
static void what_is_only_near_keeps_nobody_awake(void **unused) {
    (void)unused;
    for (int slowed = 0; slowed < 2; ++slowed) {
        stage s = sleeping_stage(64);
        (void)add_towers(&s);
        psv_shape_def ball = shape_of(PSV_SHAPE_SPHERE, 0.5f, 0, 0);
        ball.rolling_friction = 0.1f;
        ball.spinning_friction = slowed ? 0.1f : 0;
        psv_body_def body = body_at(add_shape(&s, &ball), -1.998f, 0.5f, 0);
        body.angular_velocity[1] = 3;
        (void)add_body(&s, &body);
        step(&s, 1);
        psv_world_counters counters;
        check(&s, psv_read_world_counters(s.world, &counters));
        assert_true(counters.contacts == 4 * 2 * HIGH + 2); // one of them between the ball and a tower
        step(&s, 300);
        assert_true(asleep(&s) == 2 * HIGH + (slowed ? 1 : 0));
        end_stage(&s);
    }
}

// A heap comes to rest and sleeps; the same after a snapshot, byte for byte, and with each number of workers.
static void heaps_sleep(void **unused) {
    (void)unused;
    stage s = sleeping_stage(512);
    psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    psv_body_def ground = body_at(add_shape(&s, &plane), 0, 0, 0);
    (void)add_body(&s, &ground);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.3f, 0.2f, 0.25f);
    uint32_t shape = add_shape(&s, &box);
    enum { BOXES = 120 };
    psv_body_id id[BOXES];
    for (int i = 0; i < BOXES; ++i)
        id[i] = id_of_box(&s, shape, 0.65f * (float)(i % 6) + 0.02f * (float)(i % 5), 0.4f + 0.5f * (float)(i / 6));
    step(&s, 400);
    const char *path = own_snapshot("test_sleep");
    check(&s, psv_save_snapshot(s.world, path));
    psv_world *other = NULL;
    check(&s, psv_restore_snapshot(s.context, path, &other));
    (void)remove(path);
    step(&s, 500);
    for (int i = 0; i < 500; ++i)
        check(&s, psv_world_step(other, FRAME));
    psv_body_state one[BOXES], two[BOXES];
    check(&s, psv_get_body_states(s.world, id, BOXES, one));
    check(&s, psv_get_body_states(other, id, BOXES, two));
    assert_memory_equal(one, two, sizeof one);
    print_message("%d of %d boxes of a heap sleep after 15 s\n", (int)asleep(&s), BOXES);
    assert_true(asleep(&s) > BOXES * 9 / 10);
    psv_destroy_world(other);
    end_stage(&s);
}

// What a slot's last body did does not count for the next one.
static void new_bodies_are_awake_for_half_a_second(void **unused) {
    (void)unused;
    stage s = sleeping_stage(4);
    (void)add_box_floor(&s, 50, 0.5f, 0);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
    const uint32_t shape = add_shape(&s, &box);
    psv_body_id id = id_of_box(&s, shape, 0, 0.5f);
    step(&s, 26); // shortly before it would sleep
    assert_true(asleep(&s) == 0);
    check(&s, psv_destroy_body(s.world, id));
    const psv_body_id next = id_of_box(&s, shape, 0, 0.5f);
    assert_true(next.index1 == id.index1);
    step(&s, 16);
    assert_true(asleep(&s) == 0);
    step(&s, 40);
    assert_true(asleep(&s) == 1);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(towers_fall_asleep_and_stay),
        cmocka_unit_test(only_the_island_wakes),
        cmocka_unit_test(contact_wakes),
        cmocka_unit_test(what_lay_on_it_falls),
        cmocka_unit_test(gravity_and_platforms_wake),
        cmocka_unit_test(riders_do_not_sleep),
        cmocka_unit_test(what_is_only_near_keeps_nobody_awake),
        cmocka_unit_test(heaps_sleep),
        cmocka_unit_test(new_bodies_are_awake_for_half_a_second),
    };
    return RUN_TESTS(argc, argv, "sleep", tests);
}
