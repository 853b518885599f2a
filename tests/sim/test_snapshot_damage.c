// Snapshots whose bytes were changed and whose checksums fit: a restored world is one that could have been saved, or
// there is none. First the fields one by one, each with the rule that it breaks; then every byte of a file.
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pairsieve/sim.h"
#include "snapshot_bytes.h"
#include "tests/cases/small_world.h"
#include "tests/test_scale.h"

#define SLOTS 11u // a body of each shape, a static box, two free ones
#define FREE 9u   // the first free slot

static psv_context *context;
static snapshot_bytes whole, file;
static char snapshot[64]; // a file in memory: thousands of them are written

static void must(psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(context));
}

// Numbers that ask for much memory do not get it: the machine has other work.
#define MOST_BYTES ((uint64_t)8 << 20)

static void *take_little(uint64_t bytes, void *user) {
    (void)user;
    return bytes <= MOST_BYTES ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
}

static void give_back(void *address, uint64_t bytes, void *user) {
    (void)bytes;
    (void)user;
    free(address);
}

static int open_all(void **unused) {
    (void)unused;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    def.allocator.allocate = take_little;
    def.allocator.release = give_back;
    if (psv_create_context(&def, &context) != PSV_OK) return -1;
    (void)snprintf(snapshot, sizeof snapshot, "/proc/self/fd/%d", memfd_create("world.snapshot", 0));
    psv_world *world = make_small_world(context);
    assert_non_null(world);
    must(psv_save_snapshot(world, snapshot));
    psv_destroy_world(world);
    (void)alarm(300); // what loops for ever ends the test
    return snapshot_read(&whole, snapshot) ? 0 : -1;
}

static int close_all(void **unused) {
    (void)unused;
    psv_destroy_context(context);
    return 0;
}

// What a program does with a world after it was restored.
static void use(psv_world *world) {
    const psv_body_def defs[2] = {psv_default_body_def(), psv_default_body_def()};
    psv_body_id ids[2];
    psv_world_counters counters;
    for (int i = 0; i < 3; ++i)
        must(psv_world_step(world, 1.0f / 60));
    must(psv_read_world_counters(world, &counters));
    assert_true(counters.bodies <= psv_world_slot_count(world));
    const psv_status status = psv_create_bodies(world, defs, 2, ids);
    if (status == PSV_OK) {
        assert_int_not_equal(ids[0].index1, ids[1].index1);
        must(psv_destroy_body(world, ids[0]));
    } else {
        assert_int_equal(status, PSV_ERROR_CAPACITY);
    }
}

static void the_whole_file_is_a_world(void **unused) {
    (void)unused;
    psv_world *world = NULL;
    assert_true(snapshot_u32(&whole, SNAPSHOT_SLOTS) == SLOTS);
    assert_true(snapshot_u64(&whole, SNAPSHOT_FREE_COUNT) == SMALL_WORLD_FREE_SLOTS &&
                snapshot_u64(&whole, SNAPSHOT_CONTACTS) > 4);
    assert_true(snapshot_contacts(&whole) + 20 * snapshot_u64(&whole, SNAPSHOT_CONTACTS) < whole.size);
    file = whole;
    assert_true(snapshot_write(&file, snapshot));
    must(psv_restore_snapshot(context, snapshot, &world));
    must(psv_save_snapshot(world, snapshot));
    assert_true(snapshot_read(&file, snapshot) && file.size == whole.size);
    assert_memory_equal(file.data, whole.data, whole.size);
    use(world);
    assert_true(psv_world_slot_count(world) == SLOTS && psv_world_body_count(world) == SLOTS - 1);
    psv_destroy_world(world);
}

// Changes `bytes` bytes at `at`; the file must be refused as one that cannot be.
static void refuse(const char *what, uint64_t at, const void *value, size_t bytes) {
    psv_world *world = (psv_world *)&at;
    file = whole;
    assert_true(at + bytes <= file.size - 8 && memcmp(file.data + at, value, bytes) != 0);
    memcpy(file.data + at, value, bytes);
    assert_true(snapshot_write(&file, snapshot));
    const psv_status status = psv_restore_snapshot(context, snapshot, &world);
    if (status != PSV_ERROR_FORMAT || strstr(psv_last_error(context), snapshot) == NULL)
        fail_msg("%s: %s: %s", what, psv_status_name(status), psv_last_error(context));
    assert_null(world);
}

static void refuse_u32(const char *what, uint64_t at, uint32_t value) { refuse(what, at, &value, sizeof value); }
static void refuse_u64(const char *what, uint64_t at, uint64_t value) { refuse(what, at, &value, sizeof value); }
static void refuse_float(const char *what, uint64_t at, float value) { refuse(what, at, &value, sizeof value); }
static void refuse_byte(const char *what, uint64_t at, uint8_t value) { refuse(what, at, &value, 1); }

static void numbers_of_the_world(void **unused) {
    (void)unused;
    refuse_u32("unknown arrays", SNAPSHOT_PARTS, 15);
    refuse_u32("forces that are not said to be there", SNAPSHOT_PARTS, 6);
    refuse_u32("no sleep", SNAPSHOT_SLEEPING, 0);
    refuse_float("a speed of sleep of 0", SNAPSHOT_SLEEP_SPEED, 0);
    refuse_u32("neither events nor none", SNAPSHOT_EVENTS, 2);
    refuse_float("a negative speed of hits", SNAPSHOT_HIT_SPEED, -1);
    refuse_float("a push speed of 0", SNAPSHOT_PUSH_SPEED, 0);
    refuse_float("a largest scale of gravity below 1", SNAPSHOT_MOST_GRAVITY, 0.5f);
    refuse_u32("substeps", SNAPSHOT_SUBSTEPS, 65);
    refuse_u32("fewer sub-worlds than bodies name", SNAPSHOT_SUB_WORLDS, 0);
    refuse_u32("more shapes than max_shapes", SNAPSHOT_MAX_SHAPES, 3);
    refuse_u32("more shapes than there are", SNAPSHOT_SHAPE_COUNT, 9);
    refuse_u32("more shapes than the file holds", SNAPSHOT_SHAPE_COUNT, UINT32_MAX);
    refuse_u32("more slots than there are", SNAPSHOT_SLOTS, SLOTS + 1);
    refuse_u32("more slots than the file holds", SNAPSHOT_SLOTS, UINT32_MAX);
    refuse_u64("fewer bodies than slots", SNAPSHOT_MAX_BODIES, 5);
    refuse_u64("pairs beyond counting", SNAPSHOT_MAX_PAIRS, UINT64_MAX);
    refuse_u64("contacts beyond counting", SNAPSHOT_MAX_CONTACTS, ((uint64_t)1 << 62) + 1);
    refuse_u64("fewer free slots", SNAPSHOT_FREE_COUNT, 1);
    refuse_u64("free slots and living ones that wrap around", SNAPSHOT_FREE_COUNT, UINT64_MAX);
    refuse_u64("more living bodies", SNAPSHOT_LIVING, 10);
    refuse_u64("steps beyond counting", SNAPSHOT_STEPS, UINT64_MAX);
    refuse_u64("contacts before the first step", SNAPSHOT_STEPS, 0);
    refuse_u64("idle steps beyond counting", SNAPSHOT_IDLE_STEPS, UINT64_MAX);
    refuse_u64("contacts beyond the file", SNAPSHOT_CONTACTS, ((uint64_t)1 << 62) + 1);
    refuse_u64("fewer contacts than the file holds", SNAPSHOT_CONTACTS, 1);
    refuse_float("bounds", SNAPSHOT_BOUNDS_MIN, 2e6f);
    refuse_float("self-gravity without softening", SNAPSHOT_SELF_GRAVITY, 1);
    refuse_float("infinite self-gravity", SNAPSHOT_SELF_GRAVITY, (float)1e300);
}

static void shapes(void **unused) {
    (void)unused;
    const uint64_t at = SNAPSHOT_SHAPES;
    refuse_u32("an unknown type", at, 8);
    refuse_u32("children of a particle", at + 4, 1);
    refuse_u32("heights of a particle", at + 8, 1);
    refuse_u32("vertices of a particle", at + 16, 1);
    refuse_u32("triangles of a particle", at + 20, 1);
    refuse_float("a negative radius", at + 24, -1);
    refuse_float("another radius than the body's", at + 24, 0.25f);
    refuse_float("no density", at + 36, 0);
    refuse_float("another density than the body's", at + 36, 500);
    refuse_float("friction", at + 40, -1);
    refuse_float("restitution", at + 44, 2);
    refuse_float("rolling friction", at + 48, -1);
    refuse_float("infinite spinning friction", at + 52, (float)1e300);
    refuse_u32("a colour without opacity", at + 64, 0x00ffffff);
    refuse_float("no rolling friction, but impulses of it", at + SNAPSHOT_SHAPE_BYTES + 48, 0);
    refuse_u32("a particle that becomes a box", at, PSV_SHAPE_BOX);
    const uint64_t child = at + 5 * SNAPSHOT_SHAPE_BYTES; // of the compound, behind its own bytes
    assert_int_equal(snapshot_u32(&whole, child), PSV_SHAPE_BOX);
    refuse_float("a part so far away that the radius is infinite", child + 16, 3e38f);
    refuse_float("a part without a rotation", child + 28 + 12, 0);
}

static void bodies(void **unused) {
    (void)unused;
    const uint32_t ball = PSV_SHAPE_SPHERE, kinematic = PSV_SHAPE_CAPSULE, field = PSV_SHAPE_HEIGHT_FIELD; // slots
#define AT(array, slot, offset) (snapshot_slot(&whole, SNAPSHOT_##array, slot) + (offset))
    refuse_float("a height field with an inverse mass", AT(VELOCITY, field, 12), 1);
    refuse_byte("one byte of it", AT(VELOCITY, field, 15), 0x3f);
    refuse_float("a height field that moves", AT(VELOCITY, field, 0), 1);
    refuse_float("a body without an inverse mass", AT(VELOCITY, ball, 12), 0);
    refuse_float("a body of another mass", AT(VELOCITY, ball, 12), 1);
    refuse_float("a body of negative mass", AT(VELOCITY, ball, 12), -1);
    refuse_float("a body at infinity", AT(POSITION, ball, 0), (float)1e300);
    refuse_float("a body without a size", AT(POSITION, ball, 12), 0);
    refuse_float("a rotation that is none", AT(ROTATION, ball, 12), 7);
    refuse_float("an infinite velocity", AT(VELOCITY, ball, 4), (float)1e300);
    refuse_float("an infinite spin", AT(SPIN, ball, 4), (float)1e300);
    refuse_u32("no such shape", AT(SHAPE, ball, 0), 8);
    refuse_u32("another shape", AT(SHAPE, ball, 0), PSV_SHAPE_BOX);
    refuse_u32("a body that becomes ground", AT(SHAPE, ball, 0), PSV_SHAPE_MESH);
    refuse_byte("a static body with a mass", AT(FLAGS, ball, 0), PSV_BOX_STATIC);
    refuse_byte("ground that the broad phase sees", AT(FLAGS, field, 0), PSV_BOX_STATIC);
    refuse_byte("a kinematic body with a mass", AT(FLAGS, ball, 0), PSV_BOX_STATIC | 0x80);
    refuse_byte("a ball that sleeps while it moves", AT(FLAGS, ball, 0), PSV_BOX_STATIC | 0x40);
    refuse_u32("no such island", AT(ISLAND, ball, 0), SLOTS);
    refuse_float("slow for less than no time", AT(STILL, ball, 0), -1);
    refuse_byte("neither wakes nor sleeps on", AT(WAKE, ball, 0), 2);
    refuse_byte("a static body that moves", AT(FLAGS, kinematic, 0), PSV_BOX_STATIC);
    refuse_float("a negative damping", AT(FORCES, ball, 0), -1);
    refuse_float("a scale of gravity over the largest", AT(FORCES, ball, 8), 2);
    refuse_byte("an unknown flag", AT(FLAGS, ball, 0), 4);
    refuse_u32("no such sub-world", AT(SUB_WORLD, ball, 0), 2);
    refuse_float("a box with min > max", AT(BOX, ball, 0), 1e9f);
    refuse_byte("a mark that is none", AT(ALIVE, ball, 0), 2);
    refuse_byte("a body that is dead", AT(ALIVE, ball, 0), 0);
    refuse_byte("a free slot that lives", AT(ALIVE, FREE, 0), 1);
    refuse_float("a free slot with a size", AT(POSITION, FREE, 12), 1);
    refuse_byte("a free slot that the broad phase sees", AT(FLAGS, FREE, 0), 0);
#undef AT
}

static void lists(void **unused) {
    (void)unused;
    const uint64_t free_slots = snapshot_free_slots(&whole), contact = snapshot_contacts(&whole);
    refuse_u32("a slot that is free twice", free_slots, snapshot_u32(&whole, free_slots + 4));
    refuse_u32("a living slot that is free", free_slots, 0);
    refuse_u32("no such slot", free_slots, SLOTS);
    refuse_u64("a contact of nothing", contact, 0);
    refuse_u64("a contact of one body", contact, ((uint64_t)1 << 32 | 1) + 1);
    refuse_u64("a contact of no such slot", contact, ((uint64_t)0 << 32 | SLOTS) + 1);
    refuse_u64("contacts that are out of order", contact, ((uint64_t)10 << 32 | 9) + 1);
    refuse_u32("a contact without points", contact + 8, 0);
    refuse_u32("a contact of 17 points", contact + 8, 17);
    refuse_u32("a contact of 255 points", contact + 8, 255);
    refuse_u32("an unknown colour", contact + 8, snapshot_u32(&whole, contact + 8) | 1u << 16);
    const uint64_t frame = snapshot_kept_frame(&whole);
    assert_true(frame != 0);
    refuse_float("points of neither body", frame + 44, 3);
    refuse_float("points that are not kept, but there", frame + 44, 0);
}

#define MOST_RESIDENT_KB (256 * 1024L)
#define MOST_SECONDS 5

// Restores the file in a process of its own: what that takes of the machine, beyond what a file that is no snapshot
// takes.
static long resident_kb(void) {
    struct rusage used = {0};
    int state = 0;
    assert_true(snapshot_write(&file, snapshot));
    const pid_t child = fork();
    if (child == 0) {
        psv_context_def def = psv_default_context_def();
        psv_context *own = NULL;
        psv_world *world = NULL;
        def.backend = PSV_BACKEND_CPU;
        def.worker_count = 1;
        (void)alarm(MOST_SECONDS * 4);
        if (psv_create_context(&def, &own) == PSV_OK) (void)psv_restore_snapshot(own, snapshot, &world);
        _exit(0);
    }
    assert_int_equal(wait4(child, &state, 0, &used), child);
    assert_true(WIFEXITED(state));
    assert_true(used.ru_utime.tv_sec + used.ru_stime.tv_sec < MOST_SECONDS);
    return used.ru_maxrss;
}

// Numbers of a small file that ask for tables: what is not used of them takes no memory of the machine.
static void numbers_that_ask_for_much(void **unused) {
    (void)unused;
    if (TEST_UNDER_SANITIZER) skip();
    static const struct {
        uint64_t at, least;
        size_t bytes;
    } numbers[] = {{SNAPSHOT_SUB_WORLDS, 1000, 4},
                   {SNAPSHOT_MAX_SHAPES, 1000, 4},
                   {SNAPSHOT_MAX_BODIES, 1000, 8},
                   {SNAPSHOT_MAX_PAIRS, 1000, 8},
                   {SNAPSHOT_MAX_CONTACTS, 1000, 8}};
    file = whole;
    file.data[0] ^= 1;
    const long base = resident_kb();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        for (uint64_t value = numbers[i].least; value < (uint64_t)1 << 44; value *= 8) {
            file = whole;
            memcpy(file.data + numbers[i].at, &value, numbers[i].bytes);
            const long more = resident_kb() - base;
            if (more > MOST_RESIDENT_KB)
                fail_msg("number %zu as %llu takes %ld KB", i, (unsigned long long)value, more);
        }
    // Ground in the last of many sub-worlds.
    const uint32_t many = 1u << 24, last = many - 1;
    file = whole;
    memcpy(file.data + SNAPSHOT_SUB_WORLDS, &many, sizeof many);
    memcpy(file.data + snapshot_slot(&whole, SNAPSHOT_SUB_WORLD, PSV_SHAPE_PLANE), &last, sizeof last);
    assert_true(resident_kb() - base < MOST_RESIDENT_KB);
}

// Every byte, changed in several ways: refused with a sentence, or a world that works.
static void every_byte(void **unused) {
    (void)unused;
    static const uint8_t flips[] = {0x01, 0x40, 0x80, 0xff};
    uint64_t worlds = 0, refused = 0;
    for (uint64_t at = 0; at < whole.size - 8; at += test_scale())
        for (size_t k = 0; k < sizeof flips; ++k) {
            psv_world *world = NULL;
            file = whole;
            file.data[at] ^= flips[k];
            assert_true(snapshot_write(&file, snapshot));
            const psv_status status = psv_restore_snapshot(context, snapshot, &world);
            if (status == PSV_OK)
                use(world);
            else if (world != NULL || psv_last_error(context)[0] == 0)
                fail_msg("byte %llu: %s without a sentence", (unsigned long long)at, psv_status_name(status));
            status == PSV_OK ? ++worlds : ++refused;
            psv_destroy_world(world);
        }
    print_message("%llu bytes: %llu worlds, %llu refusals\n", (unsigned long long)whole.size,
                  (unsigned long long)worlds, (unsigned long long)refused);
    assert_true(worlds * test_scale() > 100 && refused * test_scale() > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_file_is_a_world),
        cmocka_unit_test(numbers_of_the_world),
        cmocka_unit_test(shapes),
        cmocka_unit_test(bodies),
        cmocka_unit_test(lists),
        cmocka_unit_test(numbers_that_ask_for_much),
        cmocka_unit_test(every_byte),
    };
    return cmocka_run_group_tests_name("snapshot damage", tests, open_all, close_all);
}
