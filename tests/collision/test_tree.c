// Trees and their queries against brute force: seeded cases of boxes and triangles of all kinds, every query, every
// option. What two trees of different quality say has to be the same bytes.
// usage: test_tree cpu|cuda|gl|vulkan [first case] [cases]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"
#include "tree_cases.h"

#define EACH 3

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;
#define FEW_CASES 8 // one of each kind of item, quality and sort: what racecheck has time for
static uint32_t first_case, case_count;

// --- buffers ---------------------------------------------------------------------------------------------------------

#define MOST_BUFFERS 32
static psv_buffer held[MOST_BUFFERS];
static uint32_t held_count;

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    if (data != NULL) CHECK(psv_upload(context, buffer, data, bytes));
    assert_true(held_count < MOST_BUFFERS);
    held[held_count++] = buffer;
    return buffer;
}

static void free_buffers(void) {
    while (held_count > 0)
        psv_free_buffer(context, &held[--held_count]);
}

// Items as a caller may have them: with gaps, indexed, with more room than items.
static psv_box_set upload_boxes(void) {
    static float data[MOST_ITEMS][9];
    const uint32_t floats = now.wide ? 9 : 6;
    for (uint32_t i = 0; i < now.count; ++i)
        memcpy((float *)data + (size_t)i * floats, &now.items[i].box, sizeof(psv_aabb));
    return psv_boxes_of(upload(data, ((uint64_t)now.count + 1) * floats * 4), floats * 4, now.count);
}

static psv_triangle_set upload_triangles(void) {
    static float vertices[3 * MOST_ITEMS][5];
    static uint32_t indices[MOST_ITEMS][4];
    const uint32_t floats = now.wide ? 5 : 3, numbers = now.wide ? 4 : 3, vertex_count = 3 * now.count;
    for (uint32_t i = 0; i < now.count; ++i)
        for (uint32_t c = 0; c < 3; ++c) {
            // Without indices in their order, else the last triangle first.
            const uint32_t v = now.indexed ? vertex_count - 1 - (3 * i + c) : 3 * i + c;
            memcpy((float *)vertices + (size_t)v * floats, now.items[i].corner[c], 12);
            ((uint32_t *)indices)[(size_t)i * numbers + c] = v;
        }
    psv_triangle_set set = psv_triangles_of(upload(vertices, ((uint64_t)vertex_count + 1) * floats * 4), vertex_count,
                                            (psv_buffer){0}, now.count);
    set.vertex_stride = floats * 4;
    if (now.indexed) {
        set.indices = upload(indices, ((uint64_t)now.count + 1) * numbers * 4);
        set.index_stride = numbers * 4;
    }
    return set;
}

typedef struct item_set {
    psv_box_set boxes;
    psv_triangle_set triangles;
} item_set;

static item_set upload_items(void) {
    item_set set = {0};
    psv_buffer flags = {0}, filters = {0}, worlds = {0}, counts = {0};
    const uint64_t true_count = now.count;
    if (now.flags) flags = upload(now.flag, sizeof now.flag);
    if (now.filters) filters = upload(now.item_filter, sizeof now.item_filter);
    if (now.worlds) worlds = upload(now.item_world, sizeof now.item_world);
    if (now.counted) counts = upload(&true_count, 8);
    if (now.triangles) {
        set.triangles = upload_triangles();
        set.triangles.flags = flags, set.triangles.filters = filters, set.triangles.worlds = worlds;
        set.triangles.count_buffer = counts;
    } else {
        set.boxes = upload_boxes();
        set.boxes.flags = flags, set.boxes.filters = filters, set.boxes.worlds = worlds;
        set.boxes.count_buffer = counts;
    }
    return set;
}

static psv_query_set upload_queries(const void *data, uint32_t bytes, bool sort) {
    psv_query_set set = psv_queries_of(upload(data, (uint64_t)MOST_QUERIES * bytes), bytes, now.query_count);
    const uint64_t true_count = now.query_count;
    set.sort = sort;
    if (now.worlds) set.worlds = upload(now.query_world, sizeof now.query_world);
    if (now.filters) set.filters = upload(now.query_filter, sizeof now.query_filter);
    if (now.counted) {
        set.count_buffer = upload(&true_count, 8);
        set.count = MOST_QUERIES;
    }
    return set;
}

// --- answers ---------------------------------------------------------------------------------------------------------

// All that is compared between trees.
typedef struct answers {
    psv_ray_hit closest[MOST_QUERIES];
    uint32_t any[MOST_QUERIES];
    psv_near_item nearest[MOST_QUERIES * NEAREST];
    psv_closest_point points[MOST_QUERIES];
    uint32_t counts[3][MOST_QUERIES];
    uint64_t offsets[3][MOST_QUERIES + 1];
    psv_ray_hit first_hits[MOST_QUERIES * EACH];
    uint32_t first_items[2][MOST_QUERIES * EACH];
    uint32_t total[3];
} answers;

static psv_ray_hit hit_lists[MOST_QUERIES * MOST_ITEMS], other_hits[MOST_QUERIES * MOST_ITEMS];
static uint32_t item_lists[2][MOST_QUERIES * MOST_ITEMS];

static psv_status list_call(psv_tree *tree, query_kind kind, const psv_query_set *set, const psv_query_lists *lists) {
    return kind == RAYS    ? psv_trace_all(tree, set, lists)
           : kind == BOXES ? psv_overlap_boxes(tree, set, lists)
                           : psv_overlap_spheres(tree, set, lists);
}

// Lists with offsets: first without room, then with what is needed. Returns how many results there are.
static uint64_t call_lists(psv_tree *tree, query_kind kind, const psv_query_set *set, bool in_order, answers *out,
                           void *results) {
    const uint32_t bytes = kind == RAYS ? sizeof(psv_ray_hit) : 4;
    uint64_t total = 0, finished = 0;
    psv_query_lists lists = {.counts = upload(NULL, sizeof out->counts[0]),
                             .offsets = upload(NULL, sizeof out->offsets[0]),
                             .in_order = in_order};
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_finish_queries(tree, &total));
    if (total > 1) {
        psv_buffer small = upload(NULL, (total - 1) * bytes);
        lists.results = small;
        psv_status status = list_call(tree, kind, set, &lists);
        if (backend != PSV_BACKEND_CPU && status == PSV_OK) status = psv_finish_queries(tree, &finished);
        if (status != PSV_ERROR_CAPACITY)
            fail_msg("room that is too small was not refused: %s", psv_last_error(context));
    }
    lists.results = upload(NULL, (total + 1) * bytes);
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_finish_queries(tree, &finished));
    assert_int_equal(finished, total);
    CHECK(psv_download(context, out->counts[kind], lists.counts, now.query_count * sizeof(uint32_t)));
    CHECK(psv_download(context, out->offsets[kind], lists.offsets, (now.query_count + 1) * sizeof(uint64_t)));
    CHECK(psv_download(context, results, lists.results, total * bytes));
    assert_int_equal(out->offsets[kind][now.query_count], total);
    return total;
}

static void call_each(psv_tree *tree, query_kind kind, const psv_query_set *set, void *results, uint32_t *counts) {
    const uint32_t bytes = kind == RAYS ? sizeof(psv_ray_hit) : 4;
    psv_query_lists lists = {
        .results = upload(NULL, (uint64_t)MOST_QUERIES * EACH * bytes), .each = EACH, .in_order = true};
    if (counts != NULL) lists.counts = upload(NULL, MOST_QUERIES * sizeof(uint32_t));
    CHECK(psv_upload(context, lists.results, results, (uint64_t)MOST_QUERIES * EACH * bytes));
    CHECK(list_call(tree, kind, set, &lists));
    CHECK(psv_download(context, results, lists.results, (uint64_t)MOST_QUERIES * EACH * bytes));
    if (counts != NULL) CHECK(psv_download(context, counts, lists.counts, now.query_count * sizeof(uint32_t)));
}

static void ask_tree(psv_tree *tree, bool sort, bool in_order, answers *out) {
    memset(out, 0, sizeof *out);
    const uint32_t base = held_count;
    const psv_query_set rays = upload_queries(now.rays, sizeof *now.rays, sort);
    const psv_query_set boxes = upload_queries(now.boxes, sizeof *now.boxes, sort);
    const psv_query_set spheres = upload_queries(now.spheres, sizeof *now.spheres, sort);
    const uint32_t kept = held_count;
    const uint64_t n = now.query_count;
    psv_buffer target = upload(NULL, sizeof out->nearest + sizeof out->points);
    CHECK(psv_trace_closest(tree, &rays, target));
    CHECK(psv_download(context, out->closest, target, n * sizeof *out->closest));
    CHECK(psv_trace_any(tree, &rays, target));
    CHECK(psv_download(context, out->any, target, n * sizeof *out->any));
    CHECK(psv_find_nearest(tree, &spheres, NEAREST, target));
    CHECK(psv_download(context, out->nearest, target, n * NEAREST * sizeof *out->nearest));
    CHECK(psv_find_closest(tree, &spheres, target));
    CHECK(psv_download(context, out->points, target, n * sizeof *out->points));
    const psv_query_set *sets[3] = {&rays, &boxes, &spheres};
    for (int kind = RAYS; kind <= SPHERES; ++kind) {
        void *results = kind == RAYS ? (void *)hit_lists : item_lists[kind - 1];
        out->total[kind] = (uint32_t)call_lists(tree, (query_kind)kind, sets[kind], in_order, out, results);
        call_each(tree, (query_kind)kind, sets[kind],
                  kind == RAYS ? (void *)out->first_hits : out->first_items[kind - 1], NULL);
        while (held_count > kept + 1)
            psv_free_buffer(context, &held[--held_count]);
    }
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
}

static void check_lists(const answers *a, bool in_order) {
    static uint32_t items[MOST_ITEMS];
    for (uint32_t q = 0; q < now.query_count; ++q) {
        for (int kind = RAYS; kind <= SPHERES; ++kind) {
            const uint64_t begin = a->offsets[kind][q], count = a->offsets[kind][q + 1] - begin;
            if (count != a->counts[kind][q] || count > now.count)
                complain("count of a list", q, 0, (double)count, a->counts[kind][q]);
            for (uint64_t i = 0; i < count; ++i)
                items[i] = kind == RAYS ? hit_lists[begin + i].item : item_lists[kind - 1][begin + i];
            check_list((query_kind)kind, q, items, count,
                       kind == RAYS    ? "hit of a list"
                       : kind == BOXES ? "box of a list"
                                       : "sphere of a list");
            for (uint64_t i = 1; i < count && in_order; ++i) {
                const psv_ray_hit *x = &hit_lists[begin + i - 1], *y = x + 1;
                if (kind == RAYS ? !(x->t < y->t || (x->t == y->t && x->item < y->item)) : items[i - 1] >= items[i])
                    complain("order of a list", q, items[i], (double)i, 0);
            }
            for (uint64_t i = 0; i < EACH && i < count && in_order; ++i) {
                const uint64_t at = (uint64_t)q * EACH + i;
                const uint32_t first = kind == RAYS ? a->first_hits[at].item : a->first_items[kind - 1][at];
                if (first != items[i]) complain("first of a list", q, first, (double)i, items[i]);
            }
        }
    }
}

static void check_answers(const answers *a, bool in_order) {
    check_closest(a->closest);
    check_any(a->any);
    check_lists(a, in_order);
    check_nearest(a->nearest, NEAREST);
    check_closest_points(a->points, a->nearest);
}

static void compare_answers(const answers *a, const answers *b, const char *what) {
    if (memcmp(a->closest, b->closest, sizeof a->closest) != 0)
        fail_msg("case %u: closest hits differ: %s", now.seed, what);
    if (memcmp(a->any, b->any, sizeof a->any) != 0) fail_msg("case %u: any hits differ: %s", now.seed, what);
    if (memcmp(a->nearest, b->nearest, sizeof a->nearest) != 0) fail_msg("case %u: nearest differ: %s", now.seed, what);
    if (memcmp(a->points, b->points, sizeof a->points) != 0) fail_msg("case %u: points differ: %s", now.seed, what);
    if (memcmp(a->offsets, b->offsets, sizeof a->offsets) != 0) fail_msg("case %u: counts differ: %s", now.seed, what);
    if (memcmp(a->first_hits, b->first_hits, sizeof a->first_hits) != 0 ||
        memcmp(a->first_items, b->first_items, sizeof a->first_items) != 0)
        fail_msg("case %u: first results differ: %s", now.seed, what);
}

// --- tests -----------------------------------------------------------------------------------------------------------

static psv_tree *trees[3];                             // linear, of the other quality, with worlds
static psv_tree_quality other_quality = PSV_TREE_FINE; // linear where there is no other

static psv_tree *make_tree(psv_tree_quality quality, uint32_t worlds) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree;
    def.quality = quality;
    def.max_items = MOST_ITEMS;
    def.triangles = true;
    def.world_count = worlds;
    def.max_queries = MOST_QUERIES;
    CHECK(psv_create_tree(context, &def, &tree));
    assert_true(psv_tree_bytes(psv_context_backend(context), &def) > 0);
    return tree;
}

// Shaders build linear trees alone, and say so.
static bool has_fine_trees(void) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree;
    def.quality = PSV_TREE_FINE;
    def.max_items = 1;
    const psv_status status = psv_create_tree(context, &def, &tree);
    psv_destroy_tree(tree);
    if (backend != PSV_BACKEND_GL && backend != PSV_BACKEND_VULKAN) return true;
    if (status != PSV_ERROR_UNSUPPORTED || strstr(psv_last_error(context), "PSV_TREE_LINEAR alone") == NULL) {
        printf("a fine tree was not refused: %s\n", psv_last_error(context));
        exit(1);
    }
    return false;
}

static void build(psv_tree *tree, const item_set *set) {
    CHECK(now.triangles ? psv_build_triangle_tree(tree, &set->triangles) : psv_build_tree(tree, &set->boxes));
}

static void check_statistics(psv_tree *tree) {
    psv_tree_statistics statistics;
    uint32_t good = 0, bad = 0;
    for (uint32_t i = 0; i < now.count; ++i) {
        bad += !is_disabled(i) && is_bad(i);
        good += !is_disabled(i) && !is_bad(i);
    }
    CHECK(psv_read_tree_statistics(tree, &statistics));
    if (statistics.items != good || statistics.bad_items != bad || (good > 0) != (statistics.nodes > 0))
        fail_msg("case %u: %llu items and %llu bad ones instead of %u and %u", now.seed,
                 (unsigned long long)statistics.items, (unsigned long long)statistics.bad_items, good, bad);
    if (tree == trees[1] && other_quality == PSV_TREE_FINE && statistics.nodes > good / 4 + 1)
        fail_msg("case %u: %llu nodes of %u items; there is room for %u", now.seed,
                 (unsigned long long)statistics.nodes, good, good / 4 + 1);
}

// The same from the CPU, in another context.
static psv_context *cpu_context;
static psv_tree *cpu_trees[2]; // fine, with worlds

static void compare_with_cpu(const answers *from, bool in_order) {
    static answers other;
    psv_context *const own = context;
    const psv_backend own_backend = backend;
    const uint32_t base = held_count;
    if (cpu_context == NULL) return;
    context = cpu_context;
    backend = PSV_BACKEND_CPU;
    psv_tree *tree = cpu_trees[now.worlds];
    const item_set set = upload_items();
    build(tree, &set);
    ask_tree(tree, false, in_order, &other);
    if (in_order && from->total[RAYS] == other.total[RAYS] &&
        memcmp(other_hits, hit_lists, other.total[RAYS] * sizeof *hit_lists) != 0)
        fail_msg("case %u: lists of hits differ: CPU", now.seed);
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
    context = own;
    backend = own_backend;
    compare_answers(from, &other, "CPU");
}

#if PSV_HAVE_CUDA
#define GRAPH_CASES 8 // every so many

// The same from a captured graph that runs twice: what a build and a query leave must not be in the way of the next.
static void compare_with_graph(psv_tree *tree, const item_set *set, bool sort, const answers *direct) {
    static answers captured;
    if (backend != PSV_BACKEND_CUDA || now.seed % GRAPH_CASES != 0) return;
    const uint32_t base = held_count;
    const psv_query_set rays = upload_queries(now.rays, sizeof *now.rays, sort);
    const psv_query_set boxes = upload_queries(now.boxes, sizeof *now.boxes, sort);
    const psv_query_set spheres = upload_queries(now.spheres, sizeof *now.spheres, sort);
    const psv_buffer closest = upload(NULL, sizeof captured.closest), any = upload(NULL, sizeof captured.any);
    const psv_buffer nearest = upload(NULL, sizeof captured.nearest), points = upload(NULL, sizeof captured.points);
    const psv_query_lists lists = {.counts = upload(NULL, MOST_QUERIES * sizeof(uint32_t))};
    const uint64_t n = now.query_count;
    cudaStream_t stream = psv_context_stream(context);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    memset(&captured, 0, sizeof captured);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    build(tree, set);
    CHECK(psv_trace_closest(tree, &rays, closest));
    CHECK(psv_trace_any(tree, &rays, any));
    CHECK(psv_find_nearest(tree, &spheres, NEAREST, nearest));
    CHECK(psv_find_closest(tree, &spheres, points));
    CHECK(psv_overlap_boxes(tree, &boxes, &lists));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    for (int turn = 0; turn < 2; ++turn)
        assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
    CHECK(psv_synchronize(context));
    CHECK(psv_download(context, captured.closest, closest, n * sizeof *captured.closest));
    CHECK(psv_download(context, captured.any, any, n * sizeof *captured.any));
    CHECK(psv_download(context, captured.nearest, nearest, n * NEAREST * sizeof *captured.nearest));
    CHECK(psv_download(context, captured.points, points, n * sizeof *captured.points));
    CHECK(psv_download(context, captured.counts[BOXES], lists.counts, n * sizeof(uint32_t)));
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    if (memcmp(captured.closest, direct->closest, sizeof captured.closest) != 0 ||
        memcmp(captured.any, direct->any, sizeof captured.any) != 0 ||
        memcmp(captured.nearest, direct->nearest, sizeof captured.nearest) != 0 ||
        memcmp(captured.points, direct->points, sizeof captured.points) != 0 ||
        memcmp(captured.counts[BOXES], direct->counts[BOXES], n * sizeof(uint32_t)) != 0)
        fail_msg("case %u: a captured graph says otherwise", now.seed);
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
}
#endif

// Items move; some become bad, and some bad ones good, which does not bring them back.
static void move_items(void) {
    for (uint32_t i = 0; i < now.count; ++i) {
        now.off[i] = now.off[i] || is_bad(i);
        for (uint32_t k = 0; k < 3; ++k) {
            const float by = now.exact ? (float)((int)pick(i, 60 + k, 7) - 3) : (float)(10 * draw(i, 60 + k) - 5);
            now.items[i].box.min[k] += by;
            now.items[i].box.max[k] += by;
            for (uint32_t c = 0; c < 3; ++c)
                now.items[i].corner[c][k] += by;
        }
        if (pick(i, 63, 30) == 0) now.items[i].box.max[1] = now.items[i].corner[2][1] = NAN;
        if (now.off[i] && pick(i, 64, 2)) {
            now.items[i].box = (psv_aabb){{0, 0, 0}, {1, 1, 1}};
            memset(now.items[i].corner, 0, sizeof now.items[i].corner);
        }
    }
}

static void run_case(uint32_t seed) {
    static answers linear, other;
    make_case(seed);
    const bool sort = pick(0, 220, 2), in_order = pick(0, 221, 2);
    item_set set = upload_items();
    psv_tree *first = now.worlds ? trees[2] : trees[0];
    build(first, &set);
    check_statistics(first);
    ask_tree(first, sort, in_order, &linear);
    check_answers(&linear, in_order);
    memcpy(other_hits, hit_lists, linear.total[RAYS] * sizeof *hit_lists);
    compare_with_cpu(&linear, in_order);
    if (!now.worlds) {
        build(trees[1], &set);
        check_statistics(trees[1]);
        ask_tree(trees[1], !sort, in_order, &other);
        compare_answers(&linear, &other, "fine");
        if (in_order && memcmp(other_hits, hit_lists, linear.total[RAYS] * sizeof *hit_lists) != 0)
            fail_msg("case %u: lists of hits differ", now.seed);
    }
#if PSV_HAVE_CUDA
    compare_with_graph(first, &set, sort, &linear);
    if (!now.worlds) compare_with_graph(trees[1], &set, !sort, &linear);
#endif
    if (pick(0, 222, 2) == 0) {
        move_items();
        free_buffers();
        set = upload_items();
        psv_tree *moved = now.worlds || pick(0, 223, 2) ? first : trees[1];
        CHECK(now.triangles ? psv_refit_triangle_tree(moved, &set.triangles) : psv_refit_tree(moved, &set.boxes));
        ask_tree(moved, sort, in_order, &linear);
        check_answers(&linear, in_order);
    }
    free_buffers();
}

static void test_cases(void **state) {
    (void)state;
    for (uint32_t i = 0; i < case_count; ++i)
        run_case(first_case + i);
}

// The CPU's closest hits of the same rays are the same bytes.
static void compare_many_with_cpu(const float *vertices, uint32_t count, const psv_ray *rays, uint32_t ray_count,
                                  const psv_ray_hit *from) {
    psv_context *const own = context;
    const uint32_t base = held_count;
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree;
    psv_ray_hit *hits = malloc(ray_count * sizeof *hits);
    if (cpu_context == NULL) {
        free(hits);
        return;
    }
    assert_non_null(hits);
    context = cpu_context;
    def.max_items = count;
    def.triangles = true;
    CHECK(psv_create_tree(context, &def, &tree));
    const psv_triangle_set set =
        psv_triangles_of(upload(vertices, (uint64_t)count * 36), 3 * (uint64_t)count, (psv_buffer){0}, count);
    const psv_query_set queries = psv_queries_of(upload(rays, ray_count * sizeof *rays), sizeof *rays, ray_count);
    const psv_buffer target = upload(NULL, ray_count * sizeof *hits);
    CHECK(psv_build_triangle_tree(tree, &set));
    CHECK(psv_trace_closest(tree, &queries, target));
    CHECK(psv_download(context, hits, target, ray_count * sizeof *hits));
    while (held_count > base)
        psv_free_buffer(context, &held[--held_count]);
    psv_destroy_tree(tree);
    context = own;
    assert_memory_equal(hits, from, ray_count * sizeof *hits);
    free(hits);
}

// More items than one level of threads, blocks and worlds take; both qualities say the same.
static void test_many(void **state) {
    (void)state;
    const uint32_t count = test_kernels_only() ? 2000 : 60000 / test_scale() + 3000;
    const uint32_t rays = test_kernels_only() ? 1024 : 4096;
    psv_tree_def def = psv_default_tree_def();
    psv_tree *linear, *fine;
    def.max_items = count;
    def.triangles = true;
    def.max_queries = rays;
    CHECK(psv_create_tree(context, &def, &linear));
    def.quality = other_quality;
    CHECK(psv_create_tree(context, &def, &fine));
    float *vertices = malloc((size_t)count * 36);
    psv_ray *made = malloc(rays * sizeof *made);
    psv_ray_hit *hits[2] = {malloc(rays * sizeof **hits), malloc(rays * sizeof **hits)};
    assert_true(vertices != NULL && made != NULL && hits[0] != NULL && hits[1] != NULL);
    for (int shape = 0; shape < 2; ++shape) {
        for (uint32_t i = 0; i < count * 9; ++i) {
            const float centre = shape == 1 && (i / 9) % 8 != 0 ? 5e-7f * box_random(9, i / 9, i % 3)
                                                                : 100 * box_random(9, i / 9, i % 3);
            vertices[i] = centre + (shape == 1 && (i / 9) % 8 != 0 ? 1e-7f : 2.0f) * box_random(9, i, 5);
        }
        for (uint32_t q = 0; q < rays; ++q) {
            made[q] = (psv_ray){.t_max = INFINITY};
            for (uint32_t k = 0; k < 3; ++k) {
                made[q].origin[k] = 100 * box_random(10, q, k) * (shape == 1 && q % 2 ? 1e-8f : 1);
                made[q].direction[k] = box_random(10, q, 3 + k) - 0.5f;
            }
        }
        const psv_buffer data = upload(vertices, (uint64_t)count * 36);
        const psv_query_set set = psv_queries_of(upload(made, rays * sizeof *made), sizeof *made, rays);
        const psv_buffer target = upload(NULL, rays * sizeof **hits);
        const psv_triangle_set triangles = psv_triangles_of(data, 3 * (uint64_t)count, (psv_buffer){0}, count);
        for (int t = 0; t < 2; ++t) {
            CHECK(psv_build_triangle_tree(t == 0 ? linear : fine, &triangles));
            CHECK(psv_trace_closest(t == 0 ? linear : fine, &set, target));
            CHECK(psv_download(context, hits[t], target, rays * sizeof **hits));
        }
        compare_many_with_cpu(vertices, count, made, rays, hits[0]);
        uint32_t found = 0;
        for (uint32_t q = 0; q < rays; ++q)
            found += hits[0][q].item != PSV_NO_ITEM;
        assert_memory_equal(hits[0], hits[1], rays * sizeof **hits);
        assert_true(found > rays / 64);
        // Brute force for a few.
        for (uint32_t q = 0; q < rays; q += 257) {
            now.exact = false, now.slack = 2e-4, now.seed = 0, now.count = 0;
            now.rays[0] = made[q];
            double least = INFINITY;
            for (uint32_t i = 0; i < count; ++i) {
                oracle_item item = {.triangle = true};
                double t;
                memcpy(item.corner, vertices + 9 * i, 36);
                if (oracle_ray(&item, &made[q], 2e-4, &t) == ORACLE_YES) least = fmin(least, t);
            }
            if ((double)hits[0][q].t > least + t_slack(0, least))
                complain("many: a closer hit", q, hits[0][q].item, (double)hits[0][q].t, least);
        }
        free_buffers();
    }
    free(vertices);
    free(made);
    free(hits[0]);
    free(hits[1]);
    psv_destroy_tree(linear);
    psv_destroy_tree(fine);
}

// Rays at the edges and vertices of a closed surface go through to nothing.
static void test_watertight(void **state) {
    (void)state;
    enum { SIDE = 24, TRIANGLES = 2 * SIDE * SIDE, RAYS_MADE = 6000 };
    static float vertices[(SIDE + 1) * (SIDE + 1)][3];
    static uint32_t indices[TRIANGLES][3];
    static psv_ray made[RAYS_MADE];
    static uint32_t hit[RAYS_MADE];
    for (uint32_t z = 0; z <= SIDE; ++z)
        for (uint32_t x = 0; x <= SIDE; ++x) {
            float *v = vertices[z * (SIDE + 1) + x];
            v[0] = (float)x * 0.37f - 4, v[2] = (float)z * 0.41f - 5, v[1] = box_random(5, z * 100 + x, 0);
        }
    for (uint32_t c = 0; c < SIDE * SIDE; ++c) {
        const uint32_t v = c / SIDE * (SIDE + 1) + c % SIDE;
        const uint32_t two[6] = {v, v + 1, v + SIDE + 2, v, v + SIDE + 2, v + SIDE + 1};
        memcpy(indices[2 * c], two, sizeof two);
    }
    for (uint32_t q = 0; q < RAYS_MADE; ++q) {
        // From above to a point of an inner edge, or to a vertex.
        const uint32_t x = 1 + (uint32_t)(box_random_bits(6, q, 0) % (SIDE - 1)),
                       z = 1 + (uint32_t)(box_random_bits(6, q, 1) % (SIDE - 1));
        const float *a = vertices[z * (SIDE + 1) + x], *b = a + (q % 3 == 0   ? 3
                                                                 : q % 3 == 1 ? 3 * (SIDE + 1)
                                                                              : 3 * (SIDE + 2));
        const float at = q % 5 == 0 ? 0 : box_random(6, q, 2);
        made[q] = (psv_ray){.t_max = INFINITY};
        for (uint32_t k = 0; k < 3; ++k) {
            made[q].origin[k] = k == 1 ? 20 + 1000 * box_random(6, q, 3) : 6 * box_random(6, q, 4 + k) - 3;
            made[q].direction[k] = a[k] + at * (b[k] - a[k]) - made[q].origin[k];
        }
    }
    const psv_triangle_set set = psv_triangles_of(upload(vertices, sizeof vertices), sizeof vertices / sizeof *vertices,
                                                  upload(indices, sizeof indices), TRIANGLES);
    const psv_query_set rays = psv_queries_of(upload(made, sizeof made), sizeof *made, RAYS_MADE);
    const psv_buffer target = upload(NULL, sizeof hit);
    for (int t = 0; t < 2; ++t) {
        CHECK(psv_build_triangle_tree(trees[t], &set));
        CHECK(psv_trace_any(trees[t], &rays, target));
        CHECK(psv_download(context, hit, target, sizeof hit));
        for (uint32_t q = 0; q < RAYS_MADE; ++q)
            if (!hit[q]) fail_msg("ray %u went through the surface (tree %d)", q, t);
    }
    free_buffers();
}

#if PSV_HAVE_CUDA
// A captured build, with rays and lists, follows what lies in the buffers when the graph runs.
static void test_graph(void **state) {
    (void)state;
    static answers direct, captured;
    if (backend != PSV_BACKEND_CUDA) return;
    make_case(12);
    now.count = 700, now.query_count = MOST_QUERIES;
    now.triangles = true, now.worlds = now.filters = now.flags = now.counted = now.exact = false;
    now.shape = SPREAD, now.slack = 2e-4;
    for (uint32_t i = 0; i < now.count; ++i)
        make_item(i);
    for (uint32_t q = 0; q < now.query_count; ++q)
        make_query(q);
    item_set set = upload_items();
    psv_query_set rays = upload_queries(now.rays, sizeof *now.rays, true);
    const psv_query_set boxes = upload_queries(now.boxes, sizeof *now.boxes, false);
    const psv_buffer hits = upload(NULL, sizeof direct.closest);
    const uint64_t room = (uint64_t)MOST_QUERIES * MOST_ITEMS;
    const psv_query_lists lists = {.offsets = upload(NULL, sizeof direct.offsets[0]),
                                   .results = upload(NULL, room * sizeof(uint32_t)),
                                   .in_order = true};
    cudaStream_t stream = psv_context_stream(context);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    for (int turn = 0; turn < 3; ++turn) { // once to get all ready, then captured, then on other items
        if (turn == 2) {
            for (uint32_t i = 0; i < now.count; ++i)
                for (uint32_t c = 0; c < 3; ++c)
                    now.items[i].corner[c][0] += 1.5f;
            const uint32_t before = held_count;
            const psv_triangle_set moved = upload_triangles();
            const uint64_t bytes = (uint64_t)3 * now.count * moved.vertex_stride;
            float *copy = malloc(bytes);
            assert_non_null(copy);
            CHECK(psv_download(context, copy, moved.vertices, bytes));
            CHECK(psv_upload(context, set.triangles.vertices, copy, bytes));
            free(copy);
            while (held_count > before)
                psv_free_buffer(context, &held[--held_count]);
        }
        if (turn == 1) assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        if (turn < 2) {
            CHECK(psv_build_triangle_tree(trees[0], &set.triangles));
            CHECK(psv_trace_closest(trees[0], &rays, hits));
            CHECK(psv_overlap_boxes(trees[0], &boxes, &lists));
        }
        if (turn == 1) {
            assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
            assert_int_equal(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
        }
        if (turn > 0) assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
        CHECK(psv_synchronize(context));
        CHECK(psv_download(context, captured.closest, hits, sizeof captured.closest));
        CHECK(psv_download(context, captured.offsets[0], lists.offsets, sizeof captured.offsets[0]));
        check_closest(captured.closest);
        if (turn == 1) {
            assert_memory_equal(captured.closest, direct.closest, sizeof direct.closest);
            assert_memory_equal(captured.offsets[0], direct.offsets[0], sizeof direct.offsets[0]);
        }
        direct = captured;
    }
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    free_buffers();
}
#endif

int main(int argc, char **argv) {
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) {
        printf("no %s device\n", argv[1]);
        return 77;
    }
    first_case = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    case_count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : test_thinned(2000, FEW_CASES);
    if (argc <= 3 && case_count > FEW_CASES) case_count /= PAIRSIEVE_TEST_SCALE;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (psv_create_context(&def, &context) != PSV_OK) return 77;
    if (backend != PSV_BACKEND_CPU) {
        psv_context *const own = context;
        def.backend = PSV_BACKEND_CPU;
        if (psv_create_context(&def, &cpu_context) != PSV_OK) return 1;
        context = cpu_context;
        cpu_trees[0] = make_tree(PSV_TREE_FINE, 1);
        cpu_trees[1] = make_tree(PSV_TREE_LINEAR, WORLDS);
        context = own;
    }
    if (!has_fine_trees()) other_quality = PSV_TREE_LINEAR;
    trees[0] = make_tree(PSV_TREE_LINEAR, 1);
    trees[1] = make_tree(other_quality, 1);
    trees[2] = make_tree(PSV_TREE_LINEAR, WORLDS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_watertight),
#if PSV_HAVE_CUDA
        cmocka_unit_test(test_graph),
#endif
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int t = 0; t < 3; ++t)
        psv_destroy_tree(trees[t]);
    psv_destroy_tree(cpu_trees[0]);
    psv_destroy_tree(cpu_trees[1]);
    psv_destroy_context(cpu_context);
    psv_destroy_context(context);
    return failed;
}
