// Worlds of hulls as programs use them: events, sleep, the same bytes for any number of threads, snapshots that go on
// as the world would have and damaged ones that are refused, and what hulls cannot be part of.
#include <stdlib.h>
#include <unistd.h>

#include "../own_file.h"
#include "../sim/snapshot_bytes.h"
#include "../test_scale.h"
#include "hull_points.h"

#define SNAPSHOT own_snapshot("test_hull_worlds")
#define DICE 90

static stage stage_of(const psv_world_def *def, int workers) {
    stage s = {0};
    psv_context_def context = psv_default_context_def();
    context.backend = on_cuda() ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU;
    if (!on_cuda()) context.worker_count = workers;
    check(&s, psv_create_context(&context, &s.context));
    check(&s, psv_create_world(s.context, def, &s.world));
    return s;
}

static psv_body_id add_floor(stage *s) {
    const psv_shape_def plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    psv_body_def body = body_at(add_shape(s, &plane), 0, 0, 0);
    body.is_static = true;
    return add_body(s, &body);
}

// Dice of five kinds; of eight with balls, boxes and capsules among them.
static void add_heap(stage *s, int kinds, psv_body_id ids[DICE]) {
    static const int faces[5] = {4, 6, 8, 12, 20};
    uint32_t shapes[8];
    float points[60];
    uint64_t seed = 31;
    (void)add_floor(s);
    for (int k = 0; k < 5; ++k) {
        const psv_shape_def die = hull_of(points, die_points(faces[k], 0.5f, points));
        shapes[k] = add_shape(s, &die);
    }
    const psv_shape_def others[3] = {shape_of(PSV_SHAPE_SPHERE, 0.4f, 0, 0), shape_of(PSV_SHAPE_BOX, 0.4f, 0.3f, 0.3f),
                                     shape_of(PSV_SHAPE_CAPSULE, 0.25f, 0.3f, 0)};
    for (int k = 0; k < 3; ++k)
        shapes[5 + k] = add_shape(s, &others[k]);
    for (int i = 0; i < DICE; ++i) {
        psv_body_def body = body_at(shapes[i % kinds], 1.1f * (float)(i % 5) - 2.2f, 0.8f + 1.1f * (float)(i / 25),
                                    1.1f * (float)(i / 5 % 5) - 2.2f);
        for (int k = 0; k < 4; ++k)
            body.pose.rotation[k] = random_float(&seed);
        ids[i] = add_body(s, &body);
    }
}

typedef struct places {
    float position[DICE + 1][4], rotation[DICE + 1][4], velocity[DICE + 1][4], spin[DICE + 1][4];
} places;

static void read_places(stage *s, places *p) {
    check(s, psv_download(s->context, p->position, psv_world_positions(s->world), sizeof p->position));
    check(s, psv_download(s->context, p->rotation, psv_world_rotations(s->world), sizeof p->rotation));
    check(s, psv_download(s->context, p->velocity, psv_world_velocities(s->world), sizeof p->velocity));
    check(s, psv_download(s->context, p->spin, psv_world_angular_velocities(s->world), sizeof p->spin));
}

static void same_bytes_for_any_threads(void **unused) {
    (void)unused;
    static const int workers[4] = {1, 2, 4, 2};
    static places first, other;
    for (int run = 0; run < 4; ++run) {
        const psv_world_def def = stage_def(DICE + 1);
        stage s = stage_of(&def, workers[run]);
        psv_body_id ids[DICE];
        add_heap(&s, 8, ids);
        step(&s, 150);
        read_places(&s, run == 0 ? &first : &other);
        if (run > 0) assert_memory_equal(&first, &other, sizeof first);
        end_stage(&s);
    }
}

// --- both backends ---------------------------------------------------------------------------------------------------

#define PAIRS 240

// Two bodies that are at, or a little in, each other, pair after pair, far from the others: hulls with hulls, balls,
// boxes, capsules, and a compound. No forces and no friction, which the backends have at other places.
static void make_pairs(stage *s, psv_body_id ids[2 * PAIRS]) {
    static const int faces[5] = {4, 6, 8, 12, 20};
    const psv_shape_child children[2] = {
        {.type = PSV_SHAPE_BOX, .size = {0.4f, 0.2f, 0.3f}, .pose = {{-0.3f, 0.1f, 0}, {0, 0, 0, 1}}},
        {.type = PSV_SHAPE_SPHERE, .size = {0.4f, 0, 0}, .pose = {{0.3f, 0, 0}, {0, 0, 0, 1}}}};
    psv_shape_def others[4] = {shape_of(PSV_SHAPE_SPHERE, 0.4f, 0, 0), shape_of(PSV_SHAPE_BOX, 0.5f, 0.3f, 0.4f),
                               shape_of(PSV_SHAPE_CAPSULE, 0.3f, 0.4f, 0), shape_of(PSV_SHAPE_COMPOUND, 1, 1, 1)};
    uint32_t shapes[9];
    float points[60];
    uint64_t seed = 77;
    others[3].children = children;
    others[3].child_count = 2;
    for (int k = 0; k < 9; ++k) {
        psv_shape_def def = k < 5 ? hull_of(points, die_points(faces[k], 0.6f, points)) : others[k - 5];
        def.friction = 0;
        shapes[k] = add_shape(s, &def);
    }
    for (int i = 0; i < 2 * PAIRS; ++i) {
        psv_body_def body =
            body_at(shapes[i % 2 == 0 ? i / 2 % 5 : i / 2 % 9], 4 * (float)(i / 2 % 16), 0, 4 * (float)(i / 32));
        body.pose.position[0] += i % 2 == 0 ? 0 : 0.9f + 0.1f * random_float(&seed);
        for (int k = 0; k < 4; ++k)
            body.pose.rotation[k] = random_float(&seed);
        for (int k = 0; k < 3; ++k)
            body.angular_velocity[k] = random_float(&seed);
        body.velocity[0] = i % 2 == 0 ? 0.5f : -0.5f;
        ids[i] = add_body(s, &body);
    }
}

// After half a second on CUDA bodies are where they are on the CPU, and most have met.
static void pairs_part_as_on_the_cpu(void **unused) {
    (void)unused;
    if (!on_cuda()) return;
    psv_world_def def = stage_def(2 * PAIRS);
    for (int k = 0; k < 3; ++k)
        def.gravity[k] = 0;
    stage s = stage_of(&def, 1), cpu = {0};
    psv_context_def context = psv_default_context_def();
    context.backend = PSV_BACKEND_CPU;
    context.worker_count = 1;
    check(&cpu, psv_create_context(&context, &cpu.context));
    check(&cpu, psv_create_world(cpu.context, &def, &cpu.world));
    psv_body_id here[2 * PAIRS], there[2 * PAIRS];
    make_pairs(&s, here);
    make_pairs(&cpu, there);
    int met = 0, off = 0;
    double worst = 0;
    for (int frame = 1; frame <= 30; ++frame) {
        step(&s, 1);
        step(&cpu, 1);
        for (int i = 0; i < 2 * PAIRS && (frame == 1 || frame == 30); ++i) {
            const psv_body_state a = state_of(&s, here[i]), b = state_of(&cpu, there[i]);
            const d3 d = minus(at(a.pose.position, 0), at(b.pose.position, 0));
            const double apart = sqrt(dot(d, d));
            if (frame == 1 && apart > 1e-4) fail_msg("body %d is %g m from where it is on the CPU", i, apart);
            if (frame == 1) continue;
            worst = fmax(worst, apart);
            off += apart > 2e-3;
            met += fabsf(b.velocity[0] - (i % 2 == 0 ? 0.5f : -0.5f)) > 0.1f;
        }
    }
    (void)printf("%d of %d have met, at most %.1e m from the CPU's; %d by more than 2 mm\n", met, 2 * PAIRS, worst,
                 off);
    assert_true(met > PAIRS && off <= 2 * PAIRS / 50); // a corner that just meets an edge, or just not
    end_stage(&s);
    end_stage(&cpu);
}

// --- snapshots -------------------------------------------------------------------------------------------------------

static void snapshots_go_on_as_the_world_does(void **unused) {
    (void)unused;
    static places here, there;
    psv_world_def def = stage_def(DICE + 1);
    def.sleeping = true;
    stage s = stage_of(&def, 2), other = s;
    psv_body_id ids[DICE];
    add_heap(&s, 8, ids);
    for (int round = 0; round < 3; ++round) {
        step(&s, 40); // in the air, piling up, at rest
        check(&s, psv_save_snapshot(s.world, SNAPSHOT));
        check(&s, psv_restore_snapshot(s.context, SNAPSHOT, &other.world));
        step(&s, 60);
        step(&other, 60);
        read_places(&s, &here);
        read_places(&other, &there);
        assert_memory_equal(&here, &there, sizeof here);
        psv_shape_def a = psv_default_shape_def(), b = a;
        check(&s, psv_world_shape(s.world, 5, &a));
        check(&s, psv_world_shape(other.world, 5, &b));
        assert_true(a.type == PSV_SHAPE_HULL && b.type == PSV_SHAPE_HULL && a.triangle_count == b.triangle_count);
        assert_memory_equal(a.vertices, b.vertices, 12 * (size_t)a.vertex_count);
        assert_memory_equal(a.indices, b.indices, 12 * (size_t)a.triangle_count);
        psv_destroy_world(other.world);
    }
    end_stage(&s);
    (void)remove(SNAPSHOT);
}

static snapshot_bytes file;

static psv_status restore_damaged(stage *s, psv_world **world) {
    assert_true(snapshot_write(&file, SNAPSHOT));
    return psv_restore_snapshot(s->context, SNAPSHOT, world);
}

// Points of a hull that make none, and every byte of the shapes, contacts and all else of a small world of hulls.
static void damaged_snapshots_are_refused(void **unused) {
    (void)unused;
    const psv_world_def def = stage_def(4);
    stage s = stage_of(&def, 1);
    float points[24], wrong[24];
    box_points(0.5f, 0.5f, 0.5f, points);
    const psv_shape_def cube = hull_of(points, 8);
    const uint32_t shape = add_shape(&s, &cube);
    psv_body_def bodies[2] = {body_at(shape, 0, 0, 0), body_at(shape, 0.1f, 0.99f, 0)};
    bodies[0].is_static = true;
    check(&s, psv_create_bodies(s.world, bodies, 2, NULL));
    step(&s, 3);
    check(&s, psv_save_snapshot(s.world, SNAPSHOT));
    assert_true(snapshot_read(&file, SNAPSHOT) && snapshot_u64(&file, SNAPSHOT_CONTACTS) == 1);
    const uint64_t at_points = SNAPSHOT_SHAPES + SNAPSHOT_SHAPE_BYTES;
    assert_memory_equal(file.data + at_points, points, sizeof points);
    for (int kind = 0; kind < 5; ++kind) {
        psv_world *world = NULL;
        memcpy(wrong, points, sizeof wrong);
        for (int i = 0; i < 8; ++i)
            for (int k = 0; k < 3; ++k) {
                if (kind == 0) wrong[3 * i + k] = 0.25f;          // one place
                if (kind == 1 && k > 0) wrong[3 * i + k] = 0;     // a line
                if (kind == 2 && k == 1) wrong[3 * i + k] = 0.5f; // a plane
                if (kind == 3 && i == 5 && k == 2) wrong[3 * i + k] = NAN;
                if (kind == 4 && i == 5 && k == 2) wrong[3 * i + k] = 1e30f;
            }
        memcpy(file.data + at_points, wrong, sizeof wrong);
        assert_int_equal(restore_damaged(&s, &world), PSV_ERROR_FORMAT);
        assert_null(world);
        if (strstr(psv_last_error(s.context), "vertices") == NULL) fail_msg("%s", psv_last_error(s.context));
        memcpy(file.data + at_points, points, sizeof points);
    }
    static const uint8_t flips[] = {0x01, 0x40, 0xff};
    uint64_t worlds = 0, refused = 0;
    const uint64_t apart = on_cuda() ? 29 * test_scale() : test_scale(); // a world on a device takes milliseconds
    for (uint64_t i = 0; i < file.size - 8; i += apart)
        for (int k = 0; k < 3; ++k) {
            stage other = s;
            other.world = NULL;
            // The rooms of the world: numbers that ask for much memory are test_snapshot_damage's.
            if (i >= SNAPSHOT_MAX_SHAPES && i < SNAPSHOT_STEPS) continue;
            file.data[i] ^= flips[k];
            const psv_status status = restore_damaged(&s, &other.world);
            file.data[i] ^= flips[k];
            assert_true((status == PSV_OK) == (other.world != NULL));
            if (status == PSV_OK) {
                step(&other, 2);
                psv_destroy_world(other.world);
                ++worlds;
                continue;
            }
            assert_true(psv_last_error(s.context)[0] != 0);
            ++refused;
        }
    (void)printf("%d bytes: %d worlds, %d refusals\n", (int)file.size, (int)worlds, (int)refused);
    assert_true(worlds > 100 / apart && refused > 100 / apart);
    end_stage(&s);
    (void)remove(SNAPSHOT);
}

// --- compounds -------------------------------------------------------------------------------------------------------

static void compounds_take_no_hulls(void **unused) {
    (void)unused;
    const psv_world_def def = stage_def(4);
    stage s = make_stage(&def);
    const psv_shape_child child = {.type = PSV_SHAPE_HULL, .size = {1, 1, 1}, .pose = {{0, 0, 0}, {0, 0, 0, 1}}};
    psv_shape_def compound = shape_of(PSV_SHAPE_COMPOUND, 1, 1, 1);
    compound.children = &child;
    compound.child_count = 1;
    uint32_t shape = 0;
    assert_int_equal(psv_create_shape(s.world, &compound, &shape), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(s.context), "spheres, boxes and capsules are possible"));
    end_stage(&s);
}

// --- events ----------------------------------------------------------------------------------------------------------

// A die falls flat from a height, bounces, and lies in the end: a hit at the speed of the fall, an end for each begin
// but the last, and a contact that carries its weight.
static void events_of_a_falling_die(void **unused) {
    (void)unused;
    psv_world_def def = stage_def(4);
    def.contact_events = true;
    stage s = make_stage(&def);
    float points[24];
    box_points(0.3f, 0.3f, 0.3f, points);
    psv_shape_def die = hull_of(points, 8), table = hull_of(points, 8);
    die.restitution = 0.5f;
    float wide[24];
    box_points(5, 0.5f, 5, wide);
    table.vertices = wide;
    psv_body_def below = body_at(add_shape(&s, &table), 0, -0.5f, 0);
    below.is_static = true;
    const psv_body_id floor = add_body(&s, &below);
    const psv_body_def body = body_at(add_shape(&s, &die), 0, 2.3f, 0);
    const psv_body_id id = add_body(&s, &body);
    uint64_t begins = 0, ends = 0, hits = 0, begun_before = 0;
    double first_speed = 0, force = 0;
    for (int i = 0; i < 420; ++i) {
        psv_world_counters counters;
        psv_event_counts counts;
        if (i == 240) {
            const float up[3] = {0, 216 * 3, 0};
            const psv_body_state now = state_of(&s, id);
            begun_before = begins;
            assert_true(begins == ends + 1);
            check(&s, psv_apply_impulse(s.world, id, up, now.pose.position));
        }
        step(&s, 1);
        check(&s, psv_read_world_counters(s.world, &counters)); // the step has happened
        check(&s, psv_download(s.context, &counts, psv_world_event_counts(s.world), sizeof counts));
        begins += counts.begins;
        ends += counts.ends;
        if (counts.hits > 0) {
            psv_hit_event hit;
            check(&s, psv_download(s.context, &hit, psv_world_hit_events(s.world), sizeof hit));
            assert_true(hit.a + hit.b == id.index1 - 1 + floor.index1 - 1);
            if (hits == 0) first_speed = (double)hit.speed;
        }
        hits += counts.hits;
        if (i == 241) assert_true(ends == begins);
        if (i < 360) continue;
        psv_contact contact;
        check(&s, psv_download(s.context, &contact, psv_world_contacts(s.world), sizeof contact));
        assert_true(counts.contacts == 1 && contact.points == 4);
        force += (double)contact.normal_force / 60;
    }
    const double weight = 1000 * 0.216 * 9.81;
    (void)printf("%d begins, %d ends, %d hits, first at %.3f m/s; lies with %.4f of its weight\n", (int)begins,
                 (int)ends, (int)hits, first_speed, force / weight);
    assert_true(begins == ends + 1 && begins > begun_before && hits >= 2);
    assert_true(fabs(first_speed / sqrt(2 * 9.81 * 2) - 1) < 0.03);
    assert_true(fabs(force / weight - 1) < 0.01);
    end_stage(&s);
}

// --- sleep -----------------------------------------------------------------------------------------------------------

static uint64_t asleep(stage *s) {
    psv_world_counters counters;
    check(s, psv_read_world_counters(s->world, &counters));
    return counters.asleep;
}

// A heap falls asleep as a whole, keeps every byte while it sleeps, and what a slab falls on wakes.
static void heaps_fall_asleep_and_wake(void **unused) {
    (void)unused;
    static places before, after;
    psv_world_def def = stage_def(DICE + 2);
    def.sleeping = true;
    stage s = stage_of(&def, 2);
    psv_body_id ids[DICE];
    add_heap(&s, 5, ids);
    int frames = 0;
    for (; frames < 1500 && asleep(&s) < DICE; frames += 30)
        step(&s, 30);
    (void)printf("%d of %d asleep after %d frames\n", (int)asleep(&s), DICE, frames);
    assert_int_equal(asleep(&s), DICE);
    read_places(&s, &before);
    step(&s, 60);
    read_places(&s, &after);
    assert_memory_equal(&before, &after, sizeof before);
    float points[24];
    box_points(4, 0.1f, 4, points);
    const psv_shape_def slab = hull_of(points, 8);
    const float *top = before.position[1];
    for (int i = 1; i <= DICE; ++i)
        if (before.position[i][1] > top[1]) top = before.position[i];
    const psv_body_def body = body_at(add_shape(&s, &slab), 0, top[1] + 2, 0);
    const psv_body_id id = add_body(&s, &body);
    // What bounces off a sleeper at first does not wake it; what presses on it does.
    for (frames = 0; frames < 240 && asleep(&s) == DICE; frames += 10)
        step(&s, 10);
    assert_true(asleep(&s) < DICE);
    assert_true(state_of(&s, id).pose.position[1] < top[1] + 1);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_part_as_on_the_cpu),          cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(snapshots_go_on_as_the_world_does), cmocka_unit_test(damaged_snapshots_are_refused),
        cmocka_unit_test(compounds_take_no_hulls),           cmocka_unit_test(events_of_a_falling_die),
        cmocka_unit_test(heaps_fall_asleep_and_wake),
    };
    return RUN_TESTS(argc, argv, "worlds of hulls", tests);
}
