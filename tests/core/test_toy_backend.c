// docs/porting.md, tried: a backend is added by one folder (toy/) and one line (toy/toy_line.h). Sorts and pairs are
// compared with the CPU's, and what the toy does not have is refused with a sentence.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/collision.h>
#include <pairsieve/sort.h>
#include <pairsieve/tree.h>

#include "../cases/box_scenes.h"
#include "toy/toy.h"

#define OK(context, call)                                                                                              \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

#define BOXES 700u
#define KEYS 3000u

static psv_context *open_context(psv_backend backend) {
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.check_buffers = true;
    psv_context *context = NULL;
    OK(NULL, psv_create_context(&def, &context));
    return context;
}

static psv_buffer upload(psv_context *context, const void *data, uint64_t bytes) {
    psv_buffer buffer;
    OK(context, psv_alloc_buffer(context, bytes, &buffer));
    OK(context, psv_upload(context, buffer, data, bytes));
    return buffer;
}

static void test_names(void **state) {
    (void)state;
    psv_backend backend = PSV_BACKEND_AUTO;
    OK(NULL, psv_parse_backend("toy", &backend));
    assert_int_equal(backend, TOY_BACKEND);
    assert_string_equal(psv_backend_name(TOY_BACKEND), "toy");
    assert_true(psv_backend_available(TOY_BACKEND));
    assert_string_equal(psv_sort_method_name(TOY_BACKEND, 0), "qsort");
    assert_string_equal(psv_broad_phase_name(TOY_BACKEND, 0), "brute");
    assert_int_equal(psv_parse_backend("toys", &backend), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(NULL), "cpu, cuda, gl, vulkan, toy"));
}

// --- sorts -----------------------------------------------------------------------------------------------------------

static void sort_on(psv_backend backend, const char *method, psv_key_type type, bool descending, bool device_count,
                    uint64_t *keys, uint32_t *values) {
    psv_context *context = open_context(backend);
    psv_sorter_def def = psv_default_sorter_def();
    def.method = method;
    def.key_type = type;
    def.descending = descending;
    def.max_count = KEYS;
    psv_sorter *sorter = NULL;
    OK(context, psv_create_sorter(context, &def, &sorter));
    const uint64_t bytes = KEYS * psv_key_type_bytes(type), count = device_count ? KEYS / 2 : KEYS;
    psv_buffer key_buffer = upload(context, keys, bytes), value_buffer = upload(context, values, KEYS * sizeof *values);
    psv_buffer count_buffer = upload(context, &count, sizeof count);
    if (device_count)
        OK(context, psv_sort_pairs_indirect(sorter, key_buffer, value_buffer, count_buffer));
    else
        OK(context, psv_sort_pairs(sorter, key_buffer, value_buffer, count));
    OK(context, psv_download(context, keys, key_buffer, bytes));
    OK(context, psv_download(context, values, value_buffer, KEYS * sizeof *values));
    psv_free_buffer(context, &key_buffer);
    psv_free_buffer(context, &value_buffer);
    psv_free_buffer(context, &count_buffer);
    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
}

static void test_sorts(void **state) {
    (void)state;
    static uint64_t keys[2][KEYS];
    static uint32_t values[2][KEYS];
    for (int type = PSV_KEY_U32; type <= PSV_KEY_F64; ++type) {
        for (int form = 0; form < 4; ++form) {
            for (uint32_t i = 0; i < KEYS; ++i) {
                keys[0][i] = keys[1][i] = box_random_bits(7 + (uint64_t)type, i / 3, 0);
                values[0][i] = values[1][i] = i;
            }
            sort_on(TOY_BACKEND, "qsort", (psv_key_type)type, form & 1, form & 2, keys[0], values[0]);
            sort_on(PSV_BACKEND_CPU, "radix", (psv_key_type)type, form & 1, form & 2, keys[1], values[1]);
            assert_memory_equal(keys[0], keys[1], KEYS * psv_key_type_bytes((psv_key_type)type));
            assert_memory_equal(values[0], values[1], sizeof values[0]);
        }
    }
}

static void test_auto_sorts(void **state) {
    (void)state;
    uint64_t keys[KEYS];
    uint32_t values[KEYS];
    for (uint32_t i = 0; i < KEYS; ++i) {
        keys[i] = KEYS - i;
        values[i] = i;
    }
    sort_on(TOY_BACKEND, "auto", PSV_KEY_U64, false, false, keys, values);
    for (uint32_t i = 0; i < KEYS; ++i) {
        assert_int_equal(keys[i], i + 1);
        assert_int_equal(values[i], KEYS - 1 - i);
    }
}

// --- pairs -----------------------------------------------------------------------------------------------------------

typedef struct pair_case {
    bool between, tagged, owned, counted;
    uint64_t max_pairs;
    bool grow;
} pair_case;

static psv_box_set set_of(psv_context *context, const psv_aabb *boxes, uint64_t count, const pair_case *c,
                          psv_buffer *held) {
    uint8_t flags[BOXES], layers[BOXES];
    psv_box_filter filters[BOXES];
    uint32_t worlds[BOXES], owners[BOXES];
    const uint64_t fewer = count - count / 4;
    for (uint32_t i = 0; i < BOXES; ++i) {
        flags[i] = i % 5 == 0 ? PSV_BOX_STATIC : i % 11 == 0 ? PSV_BOX_DISABLED : 0;
        filters[i] = (psv_box_filter){i % 3 == 0 ? 2 : 1, i % 7 == 0 ? 1 : 3};
        worlds[i] = i % 13 == 0 ? 2 : i % 2; // 2: bad
        owners[i] = i % 4 == 0 ? PSV_NO_OWNER : i / 8;
        layers[i] = (uint8_t)(i % 3);
    }
    held[0] = upload(context, boxes, count * sizeof *boxes);
    psv_box_set set = psv_boxes_of(held[0], sizeof *boxes, count);
    if (c->tagged) {
        set.flags = held[1] = upload(context, flags, count);
        set.filters = held[2] = upload(context, filters, count * sizeof *filters);
        set.worlds = held[3] = upload(context, worlds, count * sizeof *worlds);
    }
    if (c->owned) {
        set.owners = held[4] = upload(context, owners, count * sizeof *owners);
        set.layers = held[5] = upload(context, layers, count);
    }
    if (c->counted) set.count_buffer = held[6] = upload(context, &fewer, sizeof fewer);
    return set;
}

typedef struct found_pairs {
    psv_status status;
    psv_pair *pairs;
    uint64_t count;
    psv_pair_statistics statistics;
} found_pairs;

static found_pairs find_on(psv_backend backend, const psv_aabb *boxes, const pair_case *c) {
    const uint32_t matrix[PSV_LAYERS] = {7, 5, 3}; // layer 1 and 2 do not meet
    psv_context *context = open_context(backend);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.sort_method = "qsort";
    def.max_boxes = BOXES;
    def.max_pairs = c->max_pairs;
    def.grow_pairs = c->grow;
    def.world_count = 2;
    def.sort_output = true;
    psv_pair_finder *finder = NULL;
    OK(context, psv_create_pair_finder(context, &def, &finder));
    assert_true(psv_pair_finder_bytes(backend, &def) > 0);
    psv_buffer held[2][7] = {0}, matrix_buffer = upload(context, matrix, sizeof matrix);
    psv_pair_rules rules = psv_default_pair_rules();
    if (c->owned) rules.layer_matrix = matrix_buffer;
    OK(context, psv_set_pair_rules(finder, &rules));
    const uint64_t first = c->between ? BOXES / 3 : BOXES;
    const psv_box_set a = set_of(context, boxes, first, c, held[0]);
    psv_box_set b = {0};
    if (c->between) b = set_of(context, boxes + first, BOXES - first, c, held[1]);
    found_pairs found = {.status = c->between ? psv_find_pairs_between(finder, &a, &b) : psv_find_pairs(finder, &a)};
    if (found.status == PSV_OK) found.status = psv_finish_pairs(finder, &found.count);
    if (found.status == PSV_OK) {
        found.pairs = calloc(found.count + 1, sizeof *found.pairs);
        OK(context, psv_read_pairs(finder, found.pairs, found.count, NULL));
        OK(context, psv_read_pair_statistics(finder, &found.statistics));
    } else {
        (void)psv_finish_pairs(finder, &found.count);
    }
    for (int i = 0; i < 14; ++i)
        psv_free_buffer(context, &held[i / 7][i % 7]);
    psv_free_buffer(context, &matrix_buffer);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return found;
}

static void test_pairs(void **state) {
    (void)state;
    psv_aabb boxes[BOXES];
    box_scene_named("cube")->make(boxes, BOXES, 3);
    for (uint32_t i = 0; i < BOXES; ++i) // more of them overlap
        for (int axis = 0; axis < 3; ++axis)
            boxes[i].max[axis] += boxes[i].max[axis] - boxes[i].min[axis];
    boxes[17].max[1] = boxes[17].min[1] - 1; // bad
    for (int form = 0; form < 16; ++form) {
        const pair_case c = {form & 1, form & 2, form & 4, form & 8, form == 0 ? 1 : 100000, form == 0};
        found_pairs toy = find_on(TOY_BACKEND, boxes, &c), cpu = find_on(PSV_BACKEND_CPU, boxes, &c);
        assert_int_equal(toy.status, PSV_OK);
        assert_int_equal(cpu.status, PSV_OK);
        assert_true(cpu.count > 50);
        assert_int_equal(toy.count, cpu.count);
        assert_memory_equal(toy.pairs, cpu.pairs, cpu.count * sizeof *cpu.pairs);
        assert_int_equal(toy.statistics.boxes, cpu.statistics.boxes);
        assert_int_equal(toy.statistics.bad_boxes, cpu.statistics.bad_boxes);
        assert_string_equal(toy.statistics.method, "brute");
        free(toy.pairs);
        free(cpu.pairs);
    }
    const pair_case small = {.max_pairs = 3};
    const found_pairs toy = find_on(TOY_BACKEND, boxes, &small);
    assert_int_equal(toy.status, PSV_ERROR_CAPACITY);
    assert_true(toy.count > 3);
}

// --- what it does not have -------------------------------------------------------------------------------------------

#define REFUSED(context, call, word)                                                                                   \
    do {                                                                                                               \
        assert_int_equal((call), PSV_ERROR_UNSUPPORTED);                                                               \
        if (strstr(psv_last_error(context), word) == NULL) fail_msg("%s", psv_last_error(context));                    \
    } while (0)

static void test_refusals(void **state) {
    (void)state;
    psv_context *context = open_context(TOY_BACKEND);
    psv_pair_finder *finder = NULL;
    for (int feature = 0; feature < 4; ++feature) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.sort_method = "qsort";
        def.max_boxes = BOXES;
        def.events = feature == 0;
        def.ids = feature == 1;
        def.doubles = feature == 2;
        def.max_excluded = feature == 3 ? 10 : 0;
        static const char *const words[] = {"def.events", "def.ids", "def.doubles", "def.max_excluded"};
        REFUSED(context, psv_create_pair_finder(context, &def, &finder), words[feature]);
        assert_null(finder);
    }
    psv_tree_def tree_def = psv_default_tree_def();
    tree_def.max_items = BOXES;
    psv_tree *tree = NULL;
    REFUSED(context, psv_create_tree(context, &tree_def, &tree), "toy backend has no trees");
    psv_sorter_def sorter_def = psv_default_sorter_def();
    sorter_def.max_count = 10;
    psv_sorter *sorter = NULL;
    REFUSED(context, psv_create_sorter(context, &sorter_def, &sorter), "offered: auto, qsort");
    const uint32_t index[4] = {3, 2, 1, 0};
    psv_buffer source = upload(context, index, sizeof index), target = upload(context, index, sizeof index);
    REFUSED(context, psv_gather_records(context, source, target, 4, source, 4), "toy backend gathers no records");
    psv_free_buffer(context, &source);
    psv_free_buffer(context, &target);
    psv_destroy_context(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_sorts),    cmocka_unit_test(test_auto_sorts),
        cmocka_unit_test(test_pairs), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
