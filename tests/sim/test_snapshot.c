// Snapshots that name methods which are not here: those of another backend, or of a later version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "pairsieve/sim.h"
#include "snapshot_bytes.h"

#define SNAPSHOT "test_snapshot.snapshot"
#define BODIES 40

static psv_context *context;
static snapshot_bytes file;

static int open_context(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    return psv_create_context(&def, &context) == PSV_OK ? 0 : -1;
}

static int close_context(void **unused) {
    (void)unused;
    psv_destroy_context(context);
    return remove(SNAPSHOT);
}

static void must(psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(context));
}

static psv_world *make_world(void) {
    psv_world_def def = psv_default_world_def();
    psv_shape_def shape_def = psv_default_shape_def();
    psv_body_def bodies[BODIES];
    psv_world *world = NULL;
    uint32_t shape;
    def.max_bodies = BODIES;
    def.broad_phase = "lbvh";
    def.sort_method = "merge";
    must(psv_create_world(context, &def, &world));
    shape_def.colour = 0x40302010;
    must(psv_create_shape(world, &shape_def, &shape));
    for (int i = 0; i < BODIES; ++i) {
        bodies[i] = psv_default_body_def();
        bodies[i].shape = shape;
        bodies[i].pose.position[0] = 0.9f * (float)(i % 7);
        bodies[i].pose.position[1] = 0.8f * (float)(i / 7);
    }
    must(psv_create_bodies(world, bodies, BODIES, NULL));
    must(psv_world_step(world, 1.0f / 60));
    return world;
}

static void replace(const char *name, const char *other) {
    char before[32] = "", after[32] = ""; // names fill 32 bytes
    (void)snprintf(before, sizeof before, "%s", name);
    (void)snprintf(after, sizeof after, "%s", other);
    for (uint64_t i = 0; i + 32 <= file.size; ++i) {
        if (memcmp(file.data + i, before, 32) != 0) continue;
        memcpy(file.data + i, after, 32);
        return;
    }
    fail_msg("the snapshot does not name %s", name);
}

static void read_positions(psv_world *world, float positions[4 * BODIES]) {
    must(psv_download(context, positions, psv_world_positions(world), 4 * BODIES * sizeof(float)));
}

static void unknown_methods_give_way(void **unused) {
    (void)unused;
    psv_world *world = make_world(), *restored = NULL;
    must(psv_save_snapshot(world, SNAPSHOT));
    assert_true(snapshot_read(&file, SNAPSHOT));
    assert_true(snapshot_u64(&file, file.size - 8) == snapshot_sum(&file));
    replace("lbvh", "grid"); // of CUDA
    replace("merge", "of a later version");
    assert_true(snapshot_write(&file, SNAPSHOT));
    must(psv_restore_snapshot(context, SNAPSHOT, &restored));
    float expected[4 * BODIES], positions[4 * BODIES];
    for (int frame = 0; frame < 30; ++frame) {
        must(psv_world_step(world, 1.0f / 60));
        must(psv_world_step(restored, 1.0f / 60));
    }
    read_positions(world, expected);
    read_positions(restored, positions);
    assert_memory_equal(positions, expected, sizeof positions);
    psv_shape_def shape = psv_default_shape_def();
    must(psv_world_shape(restored, 0, &shape));
    assert_int_equal(shape.colour, 0x40302010);
    psv_pair_statistics statistics;
    must(psv_read_pair_statistics(psv_world_pair_finder(restored), &statistics));
    assert_string_equal(statistics.sort_method, "radix");
    assert_non_null(psv_broad_phase_description(PSV_BACKEND_CPU, statistics.method));
    psv_destroy_world(world);
    psv_destroy_world(restored);
}

static uint64_t hash_of(psv_world *world) {
    uint64_t hash = 0;
    must(psv_world_hash(world, &hash));
    return hash;
}

// The hash of a world is that of its restored snapshot, through the frames after it; any change of a body changes it,
// and by what was changed back it is what it was.
static void hashes_tell_states_apart(void **unused) {
    (void)unused;
    psv_world *world = make_world(), *restored = NULL;
    must(psv_save_snapshot(world, SNAPSHOT));
    must(psv_restore_snapshot(context, SNAPSHOT, &restored));
    uint64_t last = 0;
    for (int frame = 0; frame < 20; ++frame) {
        const uint64_t hash = hash_of(world);
        assert_true(hash == hash_of(restored) && hash != last);
        last = hash;
        must(psv_world_step(world, 1.0f / 60));
        must(psv_world_step(restored, 1.0f / 60));
    }
    last = hash_of(world);
    const psv_body_id id = {.index1 = 5, .generation = 0};
    psv_body_state state, other;
    psv_body_id living = id;
    while (!psv_body_is_valid(world, living))
        ++living.generation;
    must(psv_get_body_state(world, living, &state));
    for (int k = 0; k < 3; ++k) {
        other = state;
        other.angular_velocity[k] += 0.125f;
        must(psv_set_body_state(world, living, &other));
        assert_true(hash_of(world) != last);
    }
    must(psv_set_body_state(world, living, &state));
    assert_true(hash_of(world) == last);
    assert_int_equal(psv_world_hash(world, NULL), PSV_ERROR_ARGUMENT);
    psv_destroy_world(world);
    psv_destroy_world(restored);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_methods_give_way),
                                       cmocka_unit_test(hashes_tell_states_apart)};
    return cmocka_run_group_tests_name("snapshot", tests, open_context, close_context);
}
