// Long and short lists of a tree's queries side by side, on several threads. The items are boxes in a row, so that a
// query's items are an interval that integers give.
// usage: test_tree_lists cpu|cuda|gl|vulkan [--seed N]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pairsieve/tree.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"

enum { ITEMS = 900, QUERIES = 1500, KINDS = 3 };

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static uint64_t base_seed = 1;

typedef enum query_kind { RAYS, BOXES, SPHERES } query_kind;

// Query q has the items from first[q] to last[q]. Item i is the box from 2 i to 2 i + 1 on x.
typedef struct question {
    uint32_t first[QUERIES], last[QUERIES];
    psv_ray rays[QUERIES];
    psv_aabb boxes[QUERIES];
    psv_sphere spheres[QUERIES];
    uint64_t begin[QUERIES + 1]; // of its results
} question;

static question asked;

// Long lists come in crowds, of which some threads have more than they can hold at once; the others have 1 to 4 items.
static void ask(void) {
    for (uint32_t q = 0; q < QUERIES; ++q) {
        const uint64_t bits = box_random_bits(base_seed, q, 1);
        const bool is_long = q / 100 % 5 == 3 && bits % 8 == 0;
        const uint32_t half = is_long ? (uint32_t)(bits >> 8) % (ITEMS / 2) : (uint32_t)(bits >> 8) % 2;
        const uint32_t first = (uint32_t)(bits >> 32) % (ITEMS - 2 * half), last = first + 2 * half;
        const float middle = (float)(first + last) + 0.5f, reach = (float)(last - first) + 0.25f;
        asked.first[q] = first;
        asked.last[q] = last;
        asked.rays[q] = (psv_ray){{middle - reach, 0.5f, 0.5f}, 0, {1, 0, 0}, 2 * reach};
        asked.boxes[q] = (psv_aabb){{middle - reach, 0, 0}, {middle + reach, 1, 1}};
        asked.spheres[q] = (psv_sphere){{middle, 0.5f, 0.5f}, reach};
        asked.begin[q + 1] = asked.begin[q] + (last - first + 1);
    }
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    if (data != NULL) CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static psv_tree *make_tree(void) {
    static psv_aabb items[ITEMS];
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    for (uint32_t i = 0; i < ITEMS; ++i)
        items[i] = (psv_aabb){{2.0f * (float)i, 0, 0}, {2.0f * (float)i + 1, 1, 1}};
    def.max_items = ITEMS;
    def.max_queries = QUERIES;
    CHECK(psv_create_tree(context, &def, &tree));
    psv_buffer data = upload(items, sizeof items);
    const psv_box_set set = psv_boxes_of(data, sizeof *items, ITEMS);
    CHECK(psv_build_tree(tree, &set));
    CHECK(psv_synchronize(context));
    psv_free_buffer(context, &data);
    return tree;
}

static psv_status call(psv_tree *tree, query_kind kind, const psv_query_set *set, const psv_query_lists *lists) {
    psv_status status = kind == RAYS    ? psv_trace_all(tree, set, lists)
                        : kind == BOXES ? psv_overlap_boxes(tree, set, lists)
                                        : psv_overlap_spheres(tree, set, lists);
    if (status == PSV_OK) status = psv_finish_queries(tree, NULL);
    return status;
}

static int compare_items(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// The items of results [begin, begin + count), in ascending order of each query where the call had none.
static void check_items(query_kind kind, const void *results, uint32_t q, bool in_order) {
    static uint32_t items[ITEMS];
    const uint64_t begin = asked.begin[q], count = asked.begin[q + 1] - begin;
    for (uint64_t i = 0; i < count; ++i)
        items[i] =
            kind == RAYS ? ((const psv_ray_hit *)results)[begin + i].item : ((const uint32_t *)results)[begin + i];
    if (!in_order) qsort(items, count, sizeof *items, compare_items);
    for (uint64_t i = 0; i < count; ++i)
        if (items[i] != asked.first[q] + i)
            fail_msg("kind %d, query %u, result %llu: item %u, expected %u", (int)kind, q, (unsigned long long)i,
                     items[i], asked.first[q] + (uint32_t)i);
}

// A call with room for so many results: those of the queries that fit are there, and nothing lies behind the room.
static void check_call(psv_tree *tree, query_kind kind, bool sort, bool in_order, uint64_t room) {
    const uint32_t record = kind == RAYS ? sizeof(psv_ray_hit) : sizeof(uint32_t);
    const void *queries = kind == RAYS    ? (const void *)asked.rays
                          : kind == BOXES ? (const void *)asked.boxes
                                          : (const void *)asked.spheres;
    const uint32_t bytes = kind == RAYS ? sizeof(psv_ray) : kind == BOXES ? sizeof(psv_aabb) : sizeof(psv_sphere);
    const uint64_t total = asked.begin[QUERIES], all = (total + 8) * record;
    static uint64_t offsets[QUERIES + 1];
    static uint32_t counts[QUERIES];
    unsigned char *results = malloc(all);
    memset(results, 0xa5, all);
    psv_buffer data = upload(queries, (uint64_t)QUERIES * bytes), memory = upload(results, all);
    psv_query_set set = psv_queries_of(data, bytes, QUERIES);
    psv_query_lists lists = {.counts = upload(NULL, sizeof counts),
                             .offsets = upload(NULL, sizeof offsets),
                             .results = memory,
                             .in_order = in_order};
    set.sort = sort;
    lists.results.bytes = room * record;
    assert_int_equal(call(tree, kind, &set, &lists), room < total ? PSV_ERROR_CAPACITY : PSV_OK);
    CHECK(psv_download(context, offsets, lists.offsets, sizeof offsets));
    CHECK(psv_download(context, counts, lists.counts, sizeof counts));
    CHECK(psv_download(context, results, memory, all));
    for (uint32_t q = 0; q < QUERIES; ++q) {
        assert_int_equal(counts[q], asked.last[q] - asked.first[q] + 1);
        assert_int_equal(offsets[q], asked.begin[q]);
        if (asked.begin[q + 1] <= room) check_items(kind, results, q, in_order);
    }
    assert_int_equal(offsets[QUERIES], total);
    for (uint64_t i = room * record; i < all; ++i)
        assert_int_equal(results[i], 0xa5);
    psv_free_buffer(context, &lists.counts);
    psv_free_buffer(context, &lists.offsets);
    psv_free_buffer(context, &memory);
    psv_free_buffer(context, &data);
    free(results);
}

static void test_lists(void **state) {
    (void)state;
    psv_tree *tree = make_tree();
    ask();
    const uint64_t total = asked.begin[QUERIES];
    for (int kind = 0; kind < KINDS; ++kind)
        for (int option = 0; option < 4; ++option) {
            const bool sort = option % 2 != 0, in_order = option / 2 != 0;
            check_call(tree, (query_kind)kind, sort, in_order, total + 3);
            check_call(tree, (query_kind)kind, sort, in_order, total);
            check_call(tree, (query_kind)kind, sort, in_order, total - 1);
            check_call(tree, (query_kind)kind, sort, in_order, total / 2);
        }
    psv_destroy_tree(tree);
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &base_seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
    };
    return RUN_BACKEND_TESTS("tree_lists", &def, &context, tests);
}
