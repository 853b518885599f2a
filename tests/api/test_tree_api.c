// Misuse of pairsieve/tree.h, each with its status and sentence, and the small promises of its comments.
//   test_tree_api cpu|cuda
#include <math.h>
#include <stdlib.h>

#include <pairsieve/tree_view.h>

#include "expect.h"

#define ITEMS 3
#define QUERIES 4

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
static const psv_aabb three[ITEMS] = {{{0, 0, 0}, {1, 1, 1}}, {{2, 0, 0}, {3, 1, 1}}, {{4, 0, 0}, {5, 1, 1}}};
static const float corners[9][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {2, 0, 0}, {3, 0, 0},
                                    {2, 1, 0}, {4, 0, 0}, {5, 0, 0}, {4, 1, 0}};
static const psv_ray rays[QUERIES] = {{{-1, 0.5f, 0.5f}, 0, {1, 0, 0}, INFINITY},
                                      {{6, 0.5f, 0.5f}, 0, {-1, 0, 0}, INFINITY},
                                      {{2.5f, 0.5f, 9}, 0, {0, 0, -1}, INFINITY},
                                      {{2.5f, 8, 9}, 0, {0, 0, -1}, INFINITY}};
static psv_buffer boxes, vertices, queries, target;

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    EXPECT_OK(psv_alloc_buffer(context, bytes, &buffer), context);
    if (data != NULL) EXPECT_OK(psv_upload(context, buffer, data, bytes), context);
    return buffer;
}

static int set_up(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.check_buffers = true;
    if (psv_create_context(&def, &context) != PSV_OK) return -1;
    boxes = upload(three, sizeof three);
    vertices = upload(corners, sizeof corners);
    queries = upload(rays, sizeof rays);
    target = upload(NULL, 4096);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    psv_buffer *all[4] = {&boxes, &vertices, &queries, &target};
    for (int i = 0; i < 4; ++i)
        psv_free_buffer(context, all[i]);
    psv_destroy_context(context);
    return 0;
}

static psv_tree *make_tree(bool triangles, uint32_t worlds, uint64_t max_queries) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    def.max_items = ITEMS;
    def.triangles = triangles;
    def.world_count = worlds;
    def.max_queries = max_queries;
    EXPECT_OK(psv_create_tree(context, &def, &tree), context);
    return tree;
}

static psv_box_set box_view(void) { return psv_boxes_of(boxes, sizeof *three, ITEMS); }

static void test_defs(void **state) {
    (void)state;
    psv_tree *tree = (psv_tree *)&tree;
    psv_tree_def def = {0};
    EXPECT_FAILURE(psv_create_tree(NULL, &def, &tree), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    assert_null(tree);
    EXPECT_FAILURE(psv_create_tree(context, NULL, &tree), PSV_ERROR_ARGUMENT, context, "def", "NULL");
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_ARGUMENT, context, "def", "psv_default_tree_def");
    assert_int_equal(psv_tree_bytes(backend, &def), 0);
    def = psv_default_tree_def();
    EXPECT_FAILURE(psv_create_tree(context, &def, NULL), PSV_ERROR_ARGUMENT, context, "tree", "NULL");
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_ARGUMENT, context, "def.max_items", "0");
    def.max_items = ((uint64_t)1 << 30) + 1;
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_CAPACITY, context, "1073741825", "1073741824");
    def.max_items = 8;
    def.max_queries = ((uint64_t)1 << 30) + 1;
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_CAPACITY, context, "max_queries", "1073741825");
    def.max_queries = 0;
    def.quality = (psv_tree_quality)7;
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_ARGUMENT, context, "def.quality", "7");
    def.quality = PSV_TREE_FINE;
    def.sort_method = "bogo";
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_UNSUPPORTED, context, "bogo", "radix");
    def.sort_method = NULL;
    EXPECT_FAILURE(psv_create_tree(context, &def, &tree), PSV_ERROR_ARGUMENT, context, "sort_method", "NULL");
    assert_int_equal(psv_tree_bytes(backend, &def), 0);
    psv_destroy_tree(NULL);
}

static void test_boxes(void **state) {
    (void)state;
    psv_tree *tree = make_tree(false, 1, 0);
    psv_box_set set = box_view();
    psv_query_set asked = psv_queries_of(queries, sizeof *rays, QUERIES);
    psv_tree_statistics statistics;
    psv_tree_view view;
    EXPECT_FAILURE(psv_build_tree(NULL, &set), PSV_ERROR_ARGUMENT, NULL, "tree", "NULL");
    EXPECT_FAILURE(psv_build_tree(tree, NULL), PSV_ERROR_ARGUMENT, context, "boxes", "NULL");
    EXPECT_FAILURE(psv_refit_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "no build", "boxes");
    EXPECT_FAILURE(psv_trace_any(tree, &asked, target), PSV_ERROR_ARGUMENT, context, "tree", "no build");
    EXPECT_FAILURE(psv_view_tree(tree, &view), PSV_ERROR_ARGUMENT, context, "tree", "no build");
    EXPECT_FAILURE(psv_read_tree_statistics(tree, &statistics), PSV_ERROR_ARGUMENT, context, "tree", "no build");
    EXPECT_FAILURE(psv_finish_queries(tree, NULL), PSV_ERROR_ARGUMENT, context, "no query", "build");
    set.count = ITEMS + 1;
    EXPECT_FAILURE(psv_build_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "boxes", "bytes");
    set.min = target; // which has room for more
    EXPECT_FAILURE(psv_build_tree(tree, &set), PSV_ERROR_CAPACITY, context, "boxes.count is 4", "def.max_items is 3");
    set = box_view();
    set.min_stride = 20;
    EXPECT_FAILURE(psv_build_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "stride", "20");
    set = box_view();
    set.doubles = true;
    EXPECT_FAILURE(psv_build_tree(tree, &set), PSV_ERROR_UNSUPPORTED, context, "boxes.doubles", "float");
    const psv_triangle_set triangles = psv_triangles_of(vertices, 9, (psv_buffer){0}, ITEMS);
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &triangles), PSV_ERROR_UNSUPPORTED, context, "triangles",
                   "def.triangles");
    set = box_view();
    EXPECT_OK(psv_build_tree(tree, &set), context);
    set.count = ITEMS - 1;
    EXPECT_FAILURE(psv_refit_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "count is 2", "built with 3");
    EXPECT_FAILURE(psv_view_tree(tree, NULL), PSV_ERROR_ARGUMENT, context, "view", "NULL");
    EXPECT_FAILURE(psv_read_tree_statistics(tree, NULL), PSV_ERROR_ARGUMENT, context, "statistics", "NULL");
    EXPECT_FAILURE(psv_finish_queries(tree, NULL), PSV_ERROR_ARGUMENT, context, "no query", "build");
    // A build that was refused leaves what there was.
    uint32_t any[QUERIES];
    EXPECT_OK(psv_trace_any(tree, &asked, target), context);
    EXPECT_OK(psv_download(context, any, target, sizeof any), context);
    assert_true(any[0] == 1 && any[1] == 1 && any[2] == 1 && any[3] == 0);
    psv_destroy_tree(tree);
}

static void test_triangles(void **state) {
    (void)state;
    psv_tree *tree = make_tree(true, 1, 0);
    psv_triangle_set set = psv_triangles_of(vertices, 9, (psv_buffer){0}, ITEMS);
    EXPECT_FAILURE(psv_build_triangle_tree(tree, NULL), PSV_ERROR_ARGUMENT, context, "triangles", "NULL");
    set.index_stride = 12;
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "index_stride", "12");
    set.index_stride = 0;
    set.vertex_count = 8;
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "vertex_count is 8", "3 each");
    set.vertex_count = 10;
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "triangles.vertices", "bytes");
    set.vertex_count = 9;
    set.vertex_stride = 10;
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "vertex_stride", "10");
    set.vertex_stride = 12;
    set.worlds = psv_buffer_of(target.address, 8);
    EXPECT_FAILURE(psv_build_triangle_tree(tree, &set), PSV_ERROR_ARGUMENT, context, "triangles.worlds", "bytes");
    set.worlds = (psv_buffer){0};
    EXPECT_OK(psv_build_triangle_tree(tree, &set), context);
    const psv_box_set other = box_view();
    EXPECT_FAILURE(psv_refit_tree(tree, &other), PSV_ERROR_ARGUMENT, context, "no build", "boxes");
    psv_destroy_tree(tree);
}

static void test_queries(void **state) {
    (void)state;
    psv_tree *tree = make_tree(false, 1, 2);
    const psv_box_set set = box_view();
    EXPECT_OK(psv_build_tree(tree, &set), context);
    psv_query_set asked = psv_queries_of(queries, sizeof *rays, QUERIES);
    psv_query_lists lists = {.results = target};
    EXPECT_FAILURE(psv_trace_any(NULL, &asked, target), PSV_ERROR_ARGUMENT, NULL, "tree", "NULL");
    EXPECT_FAILURE(psv_trace_any(tree, NULL, target), PSV_ERROR_ARGUMENT, context, "rays", "NULL");
    EXPECT_FAILURE(psv_trace_any(tree, &asked, (psv_buffer){0}), PSV_ERROR_ARGUMENT, context, "hits", "empty");
    EXPECT_FAILURE(psv_trace_any(tree, &asked, psv_buffer_of(target.address, 15)), PSV_ERROR_ARGUMENT, context, "hits",
                   "15");
    EXPECT_FAILURE(psv_trace_any(tree, &asked, psv_buffer_of((char *)target.address + 2, 64)), PSV_ERROR_ARGUMENT,
                   context, "hits", "align");
    asked.stride = 30;
    EXPECT_FAILURE(psv_trace_closest(tree, &asked, target), PSV_ERROR_ARGUMENT, context, "rays.stride is 30", "32");
    asked.stride = sizeof *rays;
    asked.count = QUERIES + 1;
    EXPECT_FAILURE(psv_trace_closest(tree, &asked, target), PSV_ERROR_ARGUMENT, context, "data", "bytes");
    asked.count = ((uint64_t)1 << 30) + 1;
    EXPECT_FAILURE(psv_trace_closest(tree, &asked, target), PSV_ERROR_CAPACITY, context, "1073741825", "1073741824");
    asked.count = QUERIES;
    asked.sort = true;
    EXPECT_FAILURE(psv_trace_closest(tree, &asked, target), PSV_ERROR_CAPACITY, context, "rays.count is 4",
                   "def.max_queries is 2");
    asked.sort = false;
    EXPECT_FAILURE(psv_trace_all(tree, &asked, NULL), PSV_ERROR_ARGUMENT, context, "lists", "NULL");
    EXPECT_FAILURE(psv_trace_all(tree, &asked, &lists), PSV_ERROR_ARGUMENT, context, "lists.results", "lists.each");
    lists.offsets = target;
    lists.each = 1;
    EXPECT_FAILURE(psv_trace_all(tree, &asked, &lists), PSV_ERROR_ARGUMENT, context, "lists.each is 1", "offsets");
    lists.each = 0;
    EXPECT_FAILURE(psv_overlap_boxes(tree, &asked, &lists), PSV_ERROR_CAPACITY, context, "count is 4",
                   "def.max_queries is 2");
    lists.offsets = (psv_buffer){0};
    lists.each = 1000;
    EXPECT_FAILURE(psv_overlap_spheres(tree, &asked, &lists), PSV_ERROR_ARGUMENT, context, "lists.results", "16000");
    EXPECT_FAILURE(psv_find_nearest(tree, &asked, 0, target), PSV_ERROR_ARGUMENT, context, "k is 0", "at least 1");
    EXPECT_FAILURE(psv_find_nearest(tree, &asked, 1000, target), PSV_ERROR_ARGUMENT, context, "near_items", "32000");
    EXPECT_FAILURE(psv_find_closest(tree, &asked, psv_buffer_of(target.address, 27)), PSV_ERROR_ARGUMENT, context,
                   "points", "27");
    asked.count = 0;
    EXPECT_OK(psv_trace_any(tree, &asked, (psv_buffer){0}), context);
    psv_destroy_tree(tree);
}

// What box sets have for pairs changes nothing here: items are named by their index.
static void test_parts_for_pairs(void **state) {
    (void)state;
    psv_tree *tree = make_tree(false, 1, 0);
    const uint32_t ids[ITEMS] = {700, 600, 500}, owners[ITEMS] = {1, 1, 1};
    const uint8_t layers[ITEMS] = {40, 40, 40};
    psv_box_set set = box_view();
    set.ids = upload(ids, sizeof ids);
    set.owners = upload(owners, sizeof owners);
    set.layers = upload(layers, sizeof layers);
    EXPECT_OK(psv_build_tree(tree, &set), context);
    const psv_query_set asked = psv_queries_of(queries, sizeof *rays, QUERIES);
    psv_ray_hit hits[QUERIES];
    EXPECT_OK(psv_trace_closest(tree, &asked, target), context);
    EXPECT_OK(psv_download(context, hits, target, sizeof hits), context);
    assert_true(hits[0].item == 0 && hits[1].item == 2 && hits[2].item == 1 && hits[3].item == PSV_NO_ITEM);
    assert_true(hits[0].t == 1 && hits[1].t == 1 && hits[2].t == 8 && hits[3].t == INFINITY);
    psv_free_buffer(context, &set.ids);
    psv_free_buffer(context, &set.owners);
    psv_free_buffer(context, &set.layers);
    psv_destroy_tree(tree);
}

// Worlds beyond the tree's have nothing; worlds of items beyond them are bad; fine trees of several worlds say so.
static void test_worlds(void **state) {
    (void)state;
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree;
    psv_tree_statistics statistics;
    const uint32_t item_worlds[ITEMS] = {1, 0, 9}, query_worlds[QUERIES] = {1, 9, 0, 0};
    def.max_items = ITEMS;
    def.world_count = 2;
    def.quality = PSV_TREE_FINE;
    EXPECT_OK(psv_create_tree(context, &def, &tree), context);
    psv_box_set set = box_view();
    set.worlds = upload(item_worlds, sizeof item_worlds);
    EXPECT_OK(psv_build_tree(tree, &set), context);
    EXPECT_OK(psv_read_tree_statistics(tree, &statistics), context);
    assert_true(statistics.items == 2 && statistics.bad_items == 1 && statistics.fell_back);
    psv_query_set asked = psv_queries_of(queries, sizeof *rays, QUERIES);
    asked.worlds = upload(query_worlds, sizeof query_worlds);
    psv_ray_hit hits[QUERIES];
    EXPECT_OK(psv_trace_closest(tree, &asked, target), context);
    EXPECT_OK(psv_download(context, hits, target, sizeof hits), context);
    assert_true(hits[0].item == 0 && hits[1].item == PSV_NO_ITEM && hits[2].item == 1 && hits[3].item == PSV_NO_ITEM);
    psv_free_buffer(context, &set.worlds);
    psv_free_buffer(context, &asked.worlds);
    psv_destroy_tree(tree);
}

// A list in rows whose length divides by the samples' distance: the grid of the keys still has all columns.
static void test_grid_of_rows(void **state) {
    (void)state;
    enum { SIDE = 64, COUNT = SIDE * SIDE };
    psv_aabb *made = calloc(COUNT, sizeof *made);
    psv_tree_def def = psv_default_tree_def();
    psv_tree_view view;
    psv_tree_head head;
    psv_tree *tree;
    assert_non_null(made);
    for (int i = 0; i < COUNT; ++i) {
        const float corner[3] = {(float)(SIDE - i % SIDE), (float)(i / SIDE), 0};
        for (int k = 0; k < 3; ++k) {
            made[i].min[k] = corner[k];
            made[i].max[k] = corner[k] + 1;
        }
    }
    def.max_items = COUNT;
    EXPECT_OK(psv_create_tree(context, &def, &tree), context);
    psv_buffer all = upload(made, COUNT * sizeof *made);
    const psv_box_set set = psv_boxes_of(all, sizeof *made, COUNT);
    EXPECT_OK(psv_build_tree(tree, &set), context);
    EXPECT_OK(psv_view_tree(tree, &view), context);
    EXPECT_OK(psv_download(context, &head, psv_buffer_of((void *)(uintptr_t)view.head, sizeof head), sizeof head),
              context);
    for (int k = 0; k < 2; ++k)
        assert_true(head.low[k] < 4 && head.low[k] + 1 / head.scale > SIDE - 3);
    psv_free_buffer(context, &all);
    psv_destroy_tree(tree);
    free(made);
}

int main(int argc, char **argv) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("no %s device\n", argv[1]);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defs),         cmocka_unit_test(test_boxes),           cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_queries),      cmocka_unit_test(test_parts_for_pairs), cmocka_unit_test(test_worlds),
        cmocka_unit_test(test_grid_of_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
