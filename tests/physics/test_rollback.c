// A world that returns to a kept state does again what it did: the same hashes and the same events, frame by frame,
// while bodies fall asleep, wake, come, go, get lost, and buffers grow. The oracle is the record of the first run, and
// a world that a snapshot restored. On CUDA events come in any order, so their sums are compared.
#include "../own_file.h"
#include "hull_points.h"

#include <stdlib.h>

enum { MOST_IDS = 256, MOST_FRAMES = 400, STATES = 4 };

// A program beside its world: what it remembers goes back with it.
typedef struct play {
    int frame;
    uint32_t id_count;
    psv_body_id ids[MOST_IDS];
} play;

typedef struct frame_record {
    uint64_t hash, living, asleep, lost, generations;
    psv_event_counts counts;
    uint64_t sums[4]; // of contacts, begins, ends, hits
} frame_record;

typedef struct scene_shapes {
    uint32_t box, ball, hull, plane;
} scene_shapes;

static scene_shapes shapes;

static uint64_t sum_of(stage *s, psv_buffer buffer, uint64_t count, size_t each) {
    if (count == 0) return 0;
    unsigned char *bytes = malloc(count * each);
    assert_non_null(bytes);
    assert_true(count * each <= buffer.bytes);
    check(s, psv_download(s->context, bytes, buffer, count * each));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t one = 1469598103934665603ull; // FNV-1a of an element
        for (size_t k = 0; k < each; ++k)
            one = (one ^ bytes[i * each + k]) * 1099511628211ull;
        sum += one;
    }
    free(bytes);
    return sum;
}

static frame_record look_at(stage *s, const play *p) {
    frame_record r;
    memset(&r, 0, sizeof r);
    psv_world_counters counters;
    check(s, psv_world_hash(s->world, &r.hash));
    check(s, psv_read_world_counters(s->world, &counters));
    r.living = counters.bodies;
    r.asleep = counters.asleep;
    r.lost = counters.lost_bodies;
    for (uint32_t i = 0; i < p->id_count; ++i)
        r.generations = 31 * r.generations + 7 * p->ids[i].index1 + p->ids[i].generation;
    const psv_buffer counts = psv_world_event_counts(s->world);
    if (counts.bytes == 0) return r;
    check(s, psv_download(s->context, &r.counts, counts, sizeof r.counts));
    r.sums[0] = sum_of(s, psv_world_contacts(s->world), r.counts.contacts, sizeof(psv_contact));
    r.sums[1] = sum_of(s, psv_world_begin_events(s->world), r.counts.begins, sizeof(psv_contact_event));
    r.sums[2] = sum_of(s, psv_world_end_events(s->world), r.counts.ends, sizeof(psv_contact_event));
    r.sums[3] = sum_of(s, psv_world_hit_events(s->world), r.counts.hits, sizeof(psv_hit_event));
    return r;
}

static void expect_same(const frame_record *first, const frame_record *second, int frame) {
    if (first->hash != second->hash) fail_msg("frame %d: the hash is another one", frame);
    if (memcmp(&first->counts, &second->counts, sizeof first->counts) != 0)
        fail_msg("frame %d: %d contacts, %d begins, %d ends, %d hits; again %d, %d, %d, %d", frame,
                 (int)first->counts.contacts, (int)first->counts.begins, (int)first->counts.ends,
                 (int)first->counts.hits, (int)second->counts.contacts, (int)second->counts.begins,
                 (int)second->counts.ends, (int)second->counts.hits);
    if (memcmp(first, second, sizeof *first) != 0) fail_msg("frame %d: events, ids or counters differ", frame);
}

// --- what the program does -------------------------------------------------------------------------------------------

static void make_shapes(stage *s) {
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f), ball = shape_of(PSV_SHAPE_SPHERE, 0.4f, 0, 0);
    psv_shape_def hull = hull_of(octahedron, 6), plane = shape_of(PSV_SHAPE_PLANE, 1, 1, 1);
    ball.rolling_friction = 0.05f;
    ball.restitution = 0.3f;
    shapes = (scene_shapes){add_shape(s, &box), add_shape(s, &ball), add_shape(s, &hull), add_shape(s, &plane)};
}

static void add(stage *s, play *p, uint32_t shape, float x, float y, float z) {
    psv_body_def body = body_at(shape, x, y, z);
    assert_true(p->id_count < MOST_IDS);
    p->ids[p->id_count++] = add_body(s, &body);
}

// Piles in both sub-worlds, where there are two.
static void begin_play(stage *s, play *p, uint32_t worlds) {
    *p = (play){0};
    make_shapes(s);
    for (uint32_t w = 0; w < worlds; ++w) {
        psv_body_def ground = body_at(shapes.plane, 0, 0, 0);
        ground.sub_world = w;
        (void)add_body(s, &ground);
        for (int i = 0; i < 24; ++i) {
            const uint32_t kinds[3] = {shapes.box, shapes.ball, shapes.hull};
            psv_body_def body = body_at(kinds[i % 3], (float)(i % 4) * 1.3f, 0.6f + (float)(i / 8) * 1.4f,
                                        (float)(i / 4 % 2) * 1.2f + 0.1f * (float)(i % 3));
            body.sub_world = w;
            p->ids[p->id_count++] = add_body(s, &body);
        }
    }
}

// Of the first 20 bodies none goes.
static void change_some_bodies(stage *s, play *p) {
    const psv_body_id id = p->ids[p->frame % 20];
    const float push[3] = {300, 900, 0};
    psv_body_state state;
    switch (p->frame % 40) {
    case 5:
        state = state_of(s, id);
        check(s, psv_apply_impulse(s->world, id, push, state.pose.position));
        break;
    case 11: // into a slot that was free, or a new one
        add(s, p, p->frame % 80 < 40 ? shapes.box : shapes.ball, 1, 6, 0.5f);
        break;
    case 17: check(s, psv_destroy_body(s->world, p->ids[--p->id_count])); break;
    case 23: check(s, psv_set_damping(s->world, p->ids[3], 0.5f, 0.1f)); break;
    case 25: check(s, psv_set_user_data(s->world, p->ids[4], 77 + (uint64_t)p->frame)); break;
    default: break;
    }
    if (p->frame != 29) return;
    state = state_of(s, p->ids[20]); // gets lost
    state.pose.position[1] = -99;
    check(s, psv_set_body_state(s->world, p->ids[20], &state));
}

static void change_the_world(stage *s, play *p) {
    const float aside[3] = {0.5f, -9, 0}, down[3] = {0, -9.81f, 0};
    if (p->frame % 60 == 31) check(s, psv_set_gravity(s->world, aside));
    if (p->frame % 60 == 45) check(s, psv_set_gravity(s->world, down));
    if (p->frame == 50) check(s, psv_set_substeps(s->world, 5));
    if (p->frame % 70 == 35) add(s, p, shapes.plane, 0, 0.02f, 0); // more ground
}

static void go_on(stage *s, play *p, bool changes, int frames, frame_record *records) {
    for (int i = 0; i < frames; ++i, ++p->frame) {
        assert_true(p->frame < MOST_FRAMES);
        if (changes) change_some_bodies(s, p);
        if (changes) change_the_world(s, p);
        check(s, psv_world_step(s->world, FRAME));
        records[p->frame] = look_at(s, p);
    }
}

static psv_world_def rollback_def(void) {
    psv_world_def def = stage_def(MOST_IDS);
    def.contact_events = true;
    def.bounds_min[1] = -50;
    return def;
}

// --- tests -----------------------------------------------------------------------------------------------------------

// Runs to `kept`, keeps, goes on to `end`, and does that part twice again.
static void repeats(const psv_world_def *def, bool changes, int kept, int end) {
    static frame_record first[MOST_FRAMES], again[MOST_FRAMES];
    stage s = make_stage(def);
    play p, then;
    begin_play(&s, &p, def->sub_world_count);
    check(&s, psv_world_reserve_states(s.world, 2));
    go_on(&s, &p, changes, kept, first);
    check(&s, psv_world_keep(s.world, 1));
    then = p;
    const frame_record at_keep = look_at(&s, &p);
    go_on(&s, &p, changes, end - kept, first);
    for (int turn = 0; turn < 2; ++turn) {
        check(&s, psv_world_return(s.world, 1));
        p = then;
        const frame_record back = look_at(&s, &p);
        expect_same(&at_keep, &back, kept);
        go_on(&s, &p, changes, end - kept, again);
        for (int i = kept; i < end; ++i)
            expect_same(&first[i], &again[i], i);
    }
    end_stage(&s);
}

static void falling_piles_repeat(void **unused) {
    (void)unused;
    const psv_world_def def = rollback_def();
    repeats(&def, false, 20, 80);
    repeats(&def, false, 0, 40); // kept before the first step
}

static void changes_repeat(void **unused) {
    (void)unused;
    psv_world_def def = rollback_def();
    repeats(&def, true, 10, 130); // before any body has damping or user data, or is lost
    repeats(&def, true, 60, 160);
    def.contact_events = false;
    def.sub_world_count = 2;
    repeats(&def, true, 33, 100);
}

static void sleepers_repeat(void **unused) {
    (void)unused;
    psv_world_def def = rollback_def();
    def.sleeping = true;
    def.sub_world_count = 2;
    repeats(&def, false, 150, 330); // some fall asleep after it
    repeats(&def, true, 90, 250);
    static frame_record records[MOST_FRAMES];
    stage s = make_stage(&def);
    play p;
    begin_play(&s, &p, 2);
    go_on(&s, &p, false, 330, records);
    assert_true(records[150].asleep < records[329].asleep);
    end_stage(&s);
}

// The buffers are too small for what is kept, and grow before and after it.
static void growth_repeats(void **unused) {
    (void)unused;
    psv_world_def def = rollback_def();
    def.max_contacts = 8;
    def.max_pairs = 8;
    repeats(&def, true, 12, 60);
    repeats(&def, true, 0, 60);
}

// Any state, in any order; each is still there afterwards.
static void states_in_any_order(void **unused) {
    (void)unused;
    static frame_record first[MOST_FRAMES], again[MOST_FRAMES];
    static play then[STATES];
    uint64_t seed = 5;
    psv_world_def def = rollback_def();
    def.sleeping = true;
    stage s = make_stage(&def);
    play p;
    begin_play(&s, &p, 1);
    check(&s, psv_world_reserve_states(s.world, STATES));
    for (uint32_t i = 0; i < STATES; ++i) {
        then[i] = p;
        check(&s, psv_world_keep(s.world, i));
        go_on(&s, &p, true, 35, first);
    }
    go_on(&s, &p, true, 20, first);
    for (int turn = 0; turn < 12; ++turn) {
        const uint32_t state = (uint32_t)((random_float(&seed) + 1) * 0.4999f * STATES);
        check(&s, psv_world_return(s.world, state));
        p = then[state];
        const int from = p.frame, frames = 10 + turn;
        go_on(&s, &p, true, frames, again);
        for (int i = from; i < from + frames; ++i)
            expect_same(&first[i], &again[i], i);
    }
    end_stage(&s);
}

// What a snapshot of that moment does, the state does too; and a snapshot of the returned world is the same file.
static void states_are_snapshots(void **unused) {
    (void)unused;
    psv_world_def def = rollback_def();
    def.sleeping = true;
    stage s = make_stage(&def);
    static frame_record records[MOST_FRAMES];
    play p;
    begin_play(&s, &p, 1);
    check(&s, psv_world_reserve_states(s.world, 1));
    go_on(&s, &p, true, 64, records);
    check(&s, psv_world_keep(s.world, 0));
    const char *path = own_snapshot("rollback");
    check(&s, psv_save_snapshot(s.world, path));
    stage other = {.context = s.context};
    check(&s, psv_restore_snapshot(s.context, path, &other.world));
    (void)remove(path);
    go_on(&s, &p, true, 50, records);
    check(&s, psv_world_return(s.world, 0));
    for (int i = 0; i < 50; ++i) {
        uint64_t mine, its;
        step(&s, 1);
        step(&other, 1);
        check(&s, psv_world_hash(s.world, &mine));
        check(&s, psv_world_hash(other.world, &its));
        assert_true(mine == its);
    }
    psv_destroy_world(other.world);
    end_stage(&s);
}

static void expect_refused(stage *s, psv_status status, psv_status expected, const char *word) {
    assert_int_equal(status, expected);
    if (strstr(psv_last_error(s->context), word) == NULL)
        fail_msg("«%s» does not say «%s»", psv_last_error(s->context), word);
}

static void wrong_states_are_errors(void **unused) {
    (void)unused;
    const psv_world_def def = rollback_def();
    stage s = make_stage(&def);
    play p;
    begin_play(&s, &p, 1);
    uint64_t before, after;
    check(&s, psv_world_hash(s.world, &before));
    expect_refused(&s, psv_world_keep(s.world, 0), PSV_ERROR_ARGUMENT, "0 states");
    expect_refused(&s, psv_world_return(s.world, 0), PSV_ERROR_ARGUMENT, "0 states");
    expect_refused(&s, psv_world_reserve_states(s.world, UINT32_MAX), PSV_ERROR_ARGUMENT, "4294967295");
    check(&s, psv_world_reserve_states(s.world, 3));
    check(&s, psv_world_keep(s.world, 1));
    expect_refused(&s, psv_world_keep(s.world, 3), PSV_ERROR_ARGUMENT, "state is 3");
    expect_refused(&s, psv_world_return(s.world, UINT32_MAX), PSV_ERROR_ARGUMENT, "3 states");
    expect_refused(&s, psv_world_return(s.world, 2), PSV_ERROR_ARGUMENT, "nothing is kept");
    check(&s, psv_world_return(s.world, 1));
    check(&s, psv_world_reserve_states(s.world, 3)); // forgets what was kept
    expect_refused(&s, psv_world_return(s.world, 1), PSV_ERROR_ARGUMENT, "nothing is kept");
    check(&s, psv_world_reserve_states(s.world, 0));
    expect_refused(&s, psv_world_keep(s.world, 0), PSV_ERROR_ARGUMENT, "0 states");
    assert_int_equal(psv_world_keep(NULL, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_world_return(NULL, 0), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_world_reserve_states(NULL, 1), PSV_ERROR_ARGUMENT);
    check(&s, psv_world_hash(s.world, &after));
    assert_true(before == after);
    end_stage(&s);
}

// Bodies that came after the state are gone; that of the state is there again, with its id.
static void ids_go_back(void **unused) {
    (void)unused;
    const psv_world_def def = rollback_def();
    stage s = make_stage(&def);
    play p;
    begin_play(&s, &p, 1);
    const psv_body_id old = p.ids[5];
    check(&s, psv_world_reserve_states(s.world, 1));
    check(&s, psv_world_keep(s.world, 0));
    check(&s, psv_destroy_body(s.world, old));
    add(&s, &p, shapes.box, 9, 2, 9);
    add(&s, &p, shapes.box, 9, 4, 9);
    const psv_body_id in_its_slot = p.ids[p.id_count - 2], later = p.ids[p.id_count - 1];
    assert_true(in_its_slot.index1 == old.index1 && !psv_body_is_valid(s.world, old));
    check(&s, psv_world_return(s.world, 0));
    assert_true(psv_body_is_valid(s.world, old));
    assert_false(psv_body_is_valid(s.world, in_its_slot) || psv_body_is_valid(s.world, later));
    add(&s, &p, shapes.box, 9, 4, 9);
    assert_memory_equal(&later, &p.ids[p.id_count - 1], sizeof later);
    end_stage(&s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falling_piles_repeat), cmocka_unit_test(changes_repeat),
        cmocka_unit_test(sleepers_repeat),      cmocka_unit_test(growth_repeats),
        cmocka_unit_test(states_in_any_order),  cmocka_unit_test(states_are_snapshots),
        cmocka_unit_test(ids_go_back),          cmocka_unit_test(wrong_states_are_errors),
    };
    return RUN_TESTS(argc, argv, "rollback", tests);
}
