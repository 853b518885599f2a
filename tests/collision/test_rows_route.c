// Which route `rows` on CUDA takes: every row of its table, every device profile, every veto that the host can give. No
// GPU: the choice is plain C. What is expected is written out here, and derived from nothing that the table holds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collision/cuda/rows/rows_policy.h"
#include "collision/cuda/rows/rows_route.h"

#define MILLION 1000000u

typedef struct device_profile {
    const char *name;
    int capability, multiprocessors, shared_bytes;
    bool cooperative;
} device_profile;

// As cudaGetDeviceProperties and cudaDevAttrMaxSharedMemoryPerBlockOptin have it.
static const device_profile turing = {"T4 (7.5)", 75, 40, 64 * 1024, true};
static const device_profile a100 = {"A100 (8.0)", 80, 108, 163 * 1024, true};
static const device_profile ampere = {"RTX 3090 (8.6)", 86, 82, 99 * 1024, true};
static const device_profile ada = {"L40S (8.9)", 89, 142, 99 * 1024, true};
static const device_profile hopper = {"H200 (9.0)", 90, 132, 227 * 1024, true};
static const device_profile b200 = {"B200 (10.0)", 100, 148, 227 * 1024, true};
static const device_profile rtx50 = {"RTX 5090 (12.0)", 120, 170, 99 * 1024, true};
static const device_profile old_code = {"H200 with code for 8.9", 89, 132, 227 * 1024, true};
static const device_profile shared_gpu = {"H200 that does not launch cooperatively", 90, 132, 227 * 1024, false};
static const device_profile slice = {"one multiprocessor of an H200", 90, 1, 227 * 1024, true};

static const device_profile *const all_profiles[] = {&turing, &a100,  &ampere,   &ada,        &hopper,
                                                     &b200,   &rtx50, &old_code, &shared_gpu, &slice};

// A frame of an array of psv_aabb, as many boxes as the finder has room for.
static psvi_rows_facts plain_frame(const device_profile *device, uint64_t boxes) {
    return (psvi_rows_facts){.code_capability = device->capability,
                             .multiprocessors = device->multiprocessors,
                             .shared_bytes = device->shared_bytes,
                             .cooperative = device->cooperative,
                             .room = boxes,
                             .boxes = boxes};
}

static void expect(const char *what, const psvi_rows_facts *facts, psvi_rows_route route, psvi_rows_veto veto) {
    const psvi_rows_choice choice = psvi_rows_choose_route(facts);
    if (choice.route != route || choice.veto != veto)
        fail_msg("%s, %llu boxes of %llu: %s (%s), not %s (%s)", what, (unsigned long long)facts->boxes,
                 (unsigned long long)facts->room, psvi_rows_route_name(choice.route), psvi_rows_veto_name(choice.veto),
                 psvi_rows_route_name(route), psvi_rows_veto_name(veto));
}

static void expect_plain(const device_profile *device, uint64_t boxes, psvi_rows_route route, psvi_rows_veto veto) {
    const psvi_rows_facts facts = plain_frame(device, boxes);
    expect(device->name, &facts, route, veto);
}

static void test_table(void **state) {
    (void)state;
    for (uint32_t i = 0; i < PSVI_ROWS_TREE - 1; ++i) {
        const psvi_rows_route_row *const row = &psvi_rows_routes[i];
        assert_int_equal(row->route, i + 1); // found by its number
        assert_true(row->least <= row->most && row->least_room <= row->most_room);
        assert_string_equal(psvi_rows_route_name(row->route), row->name);
        for (uint32_t j = 0; j < i; ++j)
            assert_string_not_equal(row->name, psvi_rows_routes[j].name);
        assert_int_equal(row->next == PSVI_ROWS_NO_ROUTE, row->route == PSVI_ROWS_WORLDS);
        if (row->next == PSVI_ROWS_NO_ROUTE) continue; // the host chooses it
        // The device may go on with it, whatever the host has found: in the same memory, and to an end.
        const psvi_rows_route_row *const next = &psvi_rows_routes[row->next - 1];
        assert_true(next->least <= row->least && next->most >= row->most);
        assert_true(next->least_room <= row->least_room && next->most_room >= row->most_room);
        assert_int_equal(next->needs & ~row->needs, 0);
        assert_int_equal(next->next, next->route);
    }
    assert_string_equal(psvi_rows_route_name(PSVI_ROWS_NO_ROUTE), "none");
    assert_null(psvi_rows_route_name(PSVI_ROWS_ROUTES));
    for (uint32_t veto = 0; veto < PSVI_ROWS_VETOES; ++veto)
        assert_non_null(psvi_rows_veto_name(veto));
    assert_null(psvi_rows_veto_name(PSVI_ROWS_VETOES));
}

static void test_devices(void **state) {
    (void)state;
    // Few boxes: in one launch where a block has room for the whole table of starts.
    static const struct {
        const device_profile *device;
        bool fused, bins;
    } able[] = {{&turing, false, false},    {&a100, false, true},  {&ampere, false, true}, {&ada, false, true},
                {&hopper, true, true},      {&b200, true, true},   {&rtx50, false, true},  {&old_code, true, true},
                {&shared_gpu, false, true}, {&slice, false, false}};
    for (size_t i = 0; i < sizeof able / sizeof *able; ++i) {
        const device_profile *device = able[i].device;
        expect_plain(device, 1, able[i].fused ? PSVI_ROWS_FUSED : PSVI_ROWS_COUNTED_EXACT,
                     able[i].fused ? PSVI_ROWS_NO_VETO : PSVI_ROWS_VETO_DEVICE);
        expect_plain(device, 10000, able[i].fused ? PSVI_ROWS_FUSED : PSVI_ROWS_COUNTED_EXACT,
                     able[i].fused ? PSVI_ROWS_NO_VETO : PSVI_ROWS_VETO_DEVICE);
        expect_plain(device, MILLION, able[i].bins ? PSVI_ROWS_BINS : PSVI_ROWS_COUNTED_EXACT,
                     able[i].bins ? PSVI_ROWS_NO_VETO : PSVI_ROWS_VETO_DEVICE);
        // From here on every device does the same.
        expect_plain(device, 10 * MILLION, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_NO_VETO);
        expect_plain(device, 100 * MILLION, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_NO_VETO);
        expect_plain(device, 200 * MILLION, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_COUNT);
        expect_plain(device, 0, PSVI_ROWS_NO_ROUTE, PSVI_ROWS_NO_VETO);
        psvi_rows_facts facts = plain_frame(device, 10000);
        facts.sorter_named = true;
        expect(device->name, &facts, PSVI_ROWS_SORTER, PSVI_ROWS_VETO_SORTER);
    }
}

// Where one route ends and the next begins.
static void test_counts(void **state) {
    (void)state;
    expect_plain(&hopper, 131072, PSVI_ROWS_FUSED, PSVI_ROWS_NO_VETO);
    expect_plain(&hopper, 131073, PSVI_ROWS_BINS, PSVI_ROWS_NO_VETO);
    expect_plain(&rtx50, 131072, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_VETO_DEVICE);
    expect_plain(&rtx50, 131073, PSVI_ROWS_BINS, PSVI_ROWS_NO_VETO);
    expect_plain(&hopper, 2097152, PSVI_ROWS_BINS, PSVI_ROWS_NO_VETO);
    expect_plain(&hopper, 2097153, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_NO_VETO);
    expect_plain(&hopper, 134217728, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_NO_VETO); // the most with 27 bits of slot
    expect_plain(&hopper, 134217729, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_COUNT);
    // Boxes of worlds, that bins do not take. One block plans, 131 have 768 threads with two boxes each.
    psvi_rows_facts facts = plain_frame(&hopper, 201216);
    facts.worlds = true;
    expect("worlds", &facts, PSVI_ROWS_FUSED, PSVI_ROWS_VETO_WORLDS);
    facts.boxes = facts.room = 201217;
    expect("worlds", &facts, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_VETO_DEVICE);
    // With a list of worlds, of 256 boxes on average at most, they are not sorted if they lie in order.
    facts.listed_worlds = 786; // 201,216
    expect("worlds of over 256 boxes", &facts, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_VETO_DEVICE);
    facts.listed_worlds = 787;
    expect("worlds", &facts, PSVI_ROWS_WORLDS, PSVI_ROWS_NO_VETO);
    facts.boxes = 32767;
    expect("few in worlds", &facts, PSVI_ROWS_FUSED, PSVI_ROWS_NO_VETO);
    facts.boxes = 32768;
    expect("more in worlds", &facts, PSVI_ROWS_WORLDS, PSVI_ROWS_NO_VETO);
    facts.room = 10 * MILLION;
    expect("some worlds of many", &facts, PSVI_ROWS_WORLDS, PSVI_ROWS_NO_VETO);
    facts.paused = 1u << PSVI_ROWS_WORLDS;
    expect("worlds that were in no order", &facts, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_WORLDS);
    // The finder's room decides its memory; the frame's boxes what is done with it.
    facts = plain_frame(&hopper, 2 * MILLION);
    facts.boxes = 1000;
    expect("a few of many", &facts, PSVI_ROWS_FUSED, PSVI_ROWS_NO_VETO);
    facts.boxes = 300000;
    expect("some of many", &facts, PSVI_ROWS_BINS, PSVI_ROWS_NO_VETO);
    facts = plain_frame(&hopper, 10 * MILLION);
    facts.boxes = 1000;
    expect("a few of very many", &facts, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_NO_VETO);
}

typedef enum box_kind { TWO_SETS, WORLDS, LISTED, PAUSED, BOX_KINDS } box_kind;

static psvi_rows_facts frame_of(const device_profile *device, uint64_t boxes, box_kind kind) {
    psvi_rows_facts facts = plain_frame(device, boxes);
    switch (kind) {
    case TWO_SETS: facts.two_sets = true; break;
    case WORLDS: facts.worlds = true; break;
    case LISTED: facts.listed = true; break;
    default: facts.paused = 1u << PSVI_ROWS_BINS;
    }
    return facts;
}

static void test_kinds_of_boxes(void **state) {
    (void)state;
    static const struct {
        psvi_rows_route few, middle, many;
        psvi_rows_veto veto_middle, veto_many;
    } expected[BOX_KINDS] = {
        [TWO_SETS] = {PSVI_ROWS_FUSED, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_SETS,
                      PSVI_ROWS_VETO_SETS},
        [WORLDS] = {PSVI_ROWS_FUSED, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_WORLDS,
                    PSVI_ROWS_VETO_WORLDS},
        [LISTED] = {PSVI_ROWS_FUSED, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_SEGMENTS_NEAR, PSVI_ROWS_VETO_WORLDS,
                    PSVI_ROWS_VETO_WORLDS},
        [PAUSED] = {PSVI_ROWS_FUSED, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_SEGMENTS_UNIFORM, PSVI_ROWS_VETO_PAUSE,
                    PSVI_ROWS_NO_VETO},
    };
    static const char *const names[BOX_KINDS] = {"two sets", "worlds", "with a list of worlds", "paused"};
    for (int kind = 0; kind < BOX_KINDS; ++kind) {
        psvi_rows_facts facts = frame_of(&hopper, 10000, (box_kind)kind);
        expect(names[kind], &facts, expected[kind].few, PSVI_ROWS_NO_VETO);
        facts = frame_of(&hopper, MILLION, (box_kind)kind);
        expect(names[kind], &facts, expected[kind].middle, expected[kind].veto_middle);
        facts = frame_of(&hopper, 10 * MILLION, (box_kind)kind);
        expect(names[kind], &facts, expected[kind].many, expected[kind].veto_many);
        facts = frame_of(&hopper, 10000, (box_kind)kind);
        facts.paused = 1u << PSVI_ROWS_FUSED;
        expect(names[kind], &facts, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_VETO_PAUSE);
        // Without bins the device is what keeps from the faster routes, unless the next one is ruled out too.
        facts = frame_of(&turing, MILLION, (box_kind)kind);
        expect(names[kind], &facts, PSVI_ROWS_COUNTED_EXACT, PSVI_ROWS_VETO_DEVICE);
    }
}

// Whatever the facts: there is a route for every frame, and it is one that the facts allow.
static void test_all_facts(void **state) {
    (void)state;
    static const uint64_t counts[] = {1,      2,       1000,    131072,        131073,
                                      250000, 2097152, 2097153, 100 * MILLION, 200 * MILLION};
    bool reached[PSVI_ROWS_ROUTES] = {false};
    for (size_t d = 0; d < sizeof all_profiles / sizeof *all_profiles; ++d)
        for (size_t r = 0; r < sizeof counts / sizeof *counts; ++r)
            for (size_t n = 0; n <= r; ++n)
                for (uint32_t bits = 0; bits < 64; ++bits) {
                    psvi_rows_facts facts = plain_frame(all_profiles[d], counts[n]);
                    facts.room = counts[r];
                    facts.two_sets = bits & 1, facts.worlds = bits & 2, facts.listed = !(bits & 4);
                    facts.paused = bits & 8 ? 1u << PSVI_ROWS_BINS | 1u << PSVI_ROWS_FUSED : 0,
                    facts.sorter_named = bits & 16;
                    facts.listed_worlds = (bits & 32) && facts.worlds && facts.listed ? 4000 : 0;
                    const psvi_rows_route route = psvi_rows_choose_route(&facts).route;
                    reached[route] = true;
                    assert_int_equal(route == PSVI_ROWS_SORTER, facts.sorter_named);
                    if (facts.sorter_named) continue;
                    if (route == PSVI_ROWS_WORLDS) {
                        assert_true(!facts.two_sets && facts.listed_worlds > 0 && facts.boxes <= 1024000 &&
                                    facts.boxes >= 32768);
                        continue;
                    }
                    const bool counted = route <= PSVI_ROWS_COUNTED_EXACT,
                               uniform = (bits & 7) == 4; // one set, one world, no list
                    assert_int_not_equal(route, PSVI_ROWS_NO_ROUTE);
                    assert_int_equal(counted, facts.room <= 2097152);
                    if (route == PSVI_ROWS_BINS)
                        assert_true(uniform && !facts.paused && facts.boxes > 131072 && facts.code_capability >= 80);
                    if (route == PSVI_ROWS_SEGMENTS_UNIFORM) assert_true(uniform && facts.room <= 134217728);
                    if (route == PSVI_ROWS_FUSED)
                        assert_true(!facts.paused && facts.cooperative && facts.shared_bytes > 200 * 1024 &&
                                    facts.boxes <= 262144);
                }
    for (int route = PSVI_ROWS_WORLDS; route < PSVI_ROWS_TREE; ++route)
        if (!reached[route]) fail_msg("no facts lead to %s", psvi_rows_route_name((uint32_t)route));
}

// The table by architecture, beside what NVIDIA's manual says of each: threads of a multiprocessor, KB of a block.
static void test_policies(void **state) {
    (void)state;
    static const uint32_t expected[][4] = {{75, 75, 1024, 64},    {80, 80, 2048, 163},  {86, 86, 1536, 99},
                                           {89, 86, 1536, 99},    {90, 90, 2048, 227},  {100, 100, 2048, 227},
                                           {103, 100, 2048, 227}, {120, 120, 1536, 99}, {121, 120, 1536, 99}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        const psvi_rows_policy policy = psvi_rows_policy_of(expected[i][0]);
        assert_int_equal(policy.code, expected[i][1]);
        assert_int_equal(policy.threads, expected[i][2]);
        assert_int_equal(policy.shared_kb, expected[i][3]);
        // Where a multiprocessor holds 2,048 threads, kernels that are bound by latency fill it.
        assert_int_equal(policy.scatter_blocks * PSVI_BLOCK_THREADS == 2048, policy.threads == 2048);
        assert_int_equal(policy.order_bin_blocks * ROWS_ORDER_BIN_THREADS == 2048, policy.threads == 2048);
        assert_int_equal(policy.uniform_blocks, policy.threads == 1024 ? 4 : 5);
    }
    assert_int_equal(psvi_rows_policy_of(60).code, 0); // older than all of the table: what every device has
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_devices),   cmocka_unit_test(test_counts),
        cmocka_unit_test(test_kinds_of_boxes), cmocka_unit_test(test_all_facts), cmocka_unit_test(test_policies),
    };
    return cmocka_run_group_tests_name("rows_route", tests, NULL, NULL);
}
