// Many worlds, whose boxes lie in order of world or nearly so: worlds of one size and of many, empty ones, one that is
// larger than the others, boxes that take no part, one box out of place, boxes in any order; with flags, filters,
// counts of each world and room for a part of the pairs. Pairs are those of a double loop over each world. On CUDA
// `rows` has a route of its own for worlds in order: it must be taken there and only there, also in a replayed graph.
//   test_worlds [cpu|cuda] [--seed N]
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pairsieve/collision.h>

#include "../cases/backend_main.h"
#include "../cases/box_scenes.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#if PSV_HAVE_CUDA
#include "../cases/graph_capture.h"
#endif

#define LARGEST 256u // boxes of a world in order, at most, that the route takes

static psv_backend backend = PSV_BACKEND_CPU;
static uint64_t seed = 40127;
static psv_context *context;

typedef enum arrangement {
    EVEN,
    UNEVEN,
    FULL,
    BAD_BOXES,
    OVERFULL,
    CROWD,
    SWAPPED,
    ANY_ORDER,
    ARRANGEMENTS
} arrangement;

static const char *const arrangement_names[ARRANGEMENTS] = {"even",     "uneven", "full",    "bad boxes",
                                                            "overfull", "crowd",  "swapped", "any order"};

static bool is_in_order(arrangement how) { return how <= BAD_BOXES; }

typedef struct world_scene {
    arrangement how;
    uint64_t count;
    uint32_t world_count;
    psv_aabb *boxes;
    uint32_t *worlds;
    uint8_t *flags;
    psv_box_filter *filters;
    psv_buffer boxes_at, worlds_at, flags_at, filters_at, count_at;
} world_scene;

// Any number below `below`.
static uint32_t draw(uint64_t item, uint64_t what, uint32_t below) {
    return (uint32_t)(box_random_bits(seed, item, what) % below);
}

static void fill_worlds(world_scene *scene, uint32_t each) {
    const uint32_t worlds = scene->world_count;
    uint64_t at = 0;
    for (uint32_t world = 0; world < worlds && at < scene->count; ++world) {
        uint64_t boxes = scene->how == UNEVEN ? draw(world, 50, 2 * each + 1) : each;
        if (world == worlds / 2 && scene->how == FULL) boxes = LARGEST;
        if (world == worlds / 2 && scene->how == OVERFULL) boxes = LARGEST + 1;
        if (world == worlds / 2 && scene->how == CROWD) boxes = scene->count / 100 + LARGEST;
        for (uint64_t i = 0; i < boxes && at < scene->count; ++i)
            scene->worlds[at++] = world;
    }
    const uint64_t named = at;
    for (; at < scene->count; ++at) // the rest is in worlds of its own, as long as there are some, or in none
        scene->worlds[at] = worlds + (uint32_t)(at - named) / each;
    if (scene->how == SWAPPED) {
        const uint64_t i = scene->count / 3;
        const uint32_t world = scene->worlds[i];
        scene->worlds[i] = scene->worlds[2 * i];
        scene->worlds[2 * i] = world;
    }
    for (uint64_t i = scene->count; i > 1 && scene->how == ANY_ORDER; --i) {
        const uint64_t j = box_random_bits(seed, i, 51) % i;
        const uint32_t world = scene->worlds[i - 1];
        scene->worlds[i - 1] = scene->worlds[j];
        scene->worlds[j] = world;
    }
}

// Boxes of all worlds at one place, about four partners each.
static void fill_boxes(world_scene *scene, uint32_t each) {
    const float side = 0.1f * (float)each + 1.0f;
    for (uint64_t i = 0; i < scene->count; ++i) {
        psv_aabb *const box = &scene->boxes[i];
        for (int axis = 0; axis < 3; ++axis) {
            const float least = (float)draw(i, 52 + (uint64_t)axis, 1u << 16) / 65536.0f;
            box->min[axis] = axis == 0 ? side * least : 2 * least;
            box->max[axis] = box->min[axis] + (float)draw(i, 55 + (uint64_t)axis, 3) * 0.75f;
        }
        if (scene->how == BAD_BOXES && draw(i, 58, 9) == 0) box->max[draw(i, 59, 3)] = -1.0f;
        scene->flags[i] = (uint8_t)(draw(i, 60, 3) == 0 ? PSV_BOX_STATIC : draw(i, 60, 7) == 0 ? PSV_BOX_DISABLED : 0);
        scene->filters[i] = (psv_box_filter){draw(i, 61, 8), draw(i, 62, 8)};
    }
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static void make_scene(world_scene *scene, arrangement how, uint64_t count, uint32_t each) {
    *scene = (world_scene){.how = how, .count = count, .world_count = (uint32_t)(count / each) + 1};
    scene->boxes = calloc(count, sizeof *scene->boxes);
    scene->worlds = calloc(count, sizeof *scene->worlds);
    scene->flags = calloc(count, 1);
    scene->filters = calloc(count, sizeof *scene->filters);
    fill_worlds(scene, each);
    fill_boxes(scene, each);
    scene->boxes_at = upload(scene->boxes, count * sizeof *scene->boxes);
    scene->worlds_at = upload(scene->worlds, count * sizeof *scene->worlds);
    scene->flags_at = upload(scene->flags, count);
    scene->filters_at = upload(scene->filters, count * sizeof *scene->filters);
    scene->count_at = upload(&count, sizeof count);
}

static void free_scene(world_scene *scene) {
    psv_buffer *const buffers[] = {&scene->boxes_at, &scene->worlds_at, &scene->flags_at, &scene->filters_at,
                                   &scene->count_at};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        psv_free_buffer(context, buffers[i]);
    free(scene->boxes);
    free(scene->worlds);
    free(scene->flags);
    free(scene->filters);
}

// --- what is expected ------------------------------------------------------------------------------------------------

enum { FLAGS = 1, FILTERS = 2, COUNTED = 4, ON_DEVICE = 8, OPTIONS = 16 }; // ON_DEVICE: the count of boxes

typedef struct expectation {
    psv_pair *pairs; // ascending
    uint64_t count, room, bad;
    uint64_t *of_world;
} expectation;

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static bool takes_part(const world_scene *scene, uint32_t options, uint64_t i) {
    const psv_aabb *box = &scene->boxes[i];
    if ((options & FLAGS) && (scene->flags[i] & PSV_BOX_DISABLED)) return false;
    return scene->worlds[i] < scene->world_count && box->min[0] <= box->max[0] && box->min[1] <= box->max[1] &&
           box->min[2] <= box->max[2];
}

static bool are_pair(const world_scene *scene, uint32_t options, uint32_t i, uint32_t j) {
    for (int axis = 0; axis < 3; ++axis) {
        const double gap = (double)scene->boxes[j].min[axis] - (double)scene->boxes[i].max[axis];
        const double other = (double)scene->boxes[i].min[axis] - (double)scene->boxes[j].max[axis];
        if (gap > 0 || other > 0) return false;
    }
    if ((options & FLAGS) && (scene->flags[i] & scene->flags[j] & PSV_BOX_STATIC)) return false;
    const psv_box_filter a = scene->filters[i], b = scene->filters[j];
    return !(options & FILTERS) || ((a.group & b.mask) && (b.group & a.mask));
}

static void expect_pair(expectation *expected, uint32_t world, psv_pair pair) {
    if (expected->count == expected->room) {
        expected->room = 2 * expected->room + 1000;
        expected->pairs = realloc(expected->pairs, expected->room * sizeof *expected->pairs);
    }
    expected->pairs[expected->count++] = pair;
    ++expected->of_world[world];
}

static expectation expect(const world_scene *scene, uint32_t options) {
    expectation expected = {.of_world = calloc(scene->world_count, sizeof *expected.of_world)};
    // The boxes of each world: chains through `before`.
    uint32_t *last = malloc(scene->world_count * sizeof *last), *before = calloc(scene->count, sizeof *before);
    memset(last, 0xff, scene->world_count * sizeof *last);
    for (uint32_t i = 0; i < scene->count; ++i) {
        if (!takes_part(scene, options, i)) {
            expected.bad += !(options & FLAGS) || !(scene->flags[i] & PSV_BOX_DISABLED);
            continue;
        }
        const uint32_t world = scene->worlds[i];
        for (uint32_t j = last[world]; j != UINT32_MAX; j = before[j])
            if (are_pair(scene, options, i, j)) expect_pair(&expected, world, (psv_pair){j, i});
        before[i] = last[world];
        last[world] = i;
    }
    free(last);
    free(before);
    qsort(expected.pairs, expected.count, sizeof *expected.pairs, compare_pairs);
    return expected;
}

// --- frames ----------------------------------------------------------------------------------------------------------

static psv_pair_finder *make_finder(const world_scene *scene, const char *method, uint32_t options, uint64_t max_boxes,
                                    uint64_t max_pairs) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = method;
    def.max_boxes = max_boxes < scene->count ? scene->count : max_boxes;
    def.max_pairs = max_pairs == 0 ? 1 : max_pairs;
    def.world_count = scene->world_count;
    def.count_worlds = options & COUNTED;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    return finder;
}

static psv_box_set set_of(const world_scene *scene, uint32_t options) {
    psv_box_set set = psv_boxes_of(scene->boxes_at, sizeof(psv_aabb), scene->count);
    set.worlds = scene->worlds_at;
    if (options & FLAGS) set.flags = scene->flags_at;
    if (options & FILTERS) set.filters = scene->filters_at;
    if (options & ON_DEVICE) set.count_buffer = scene->count_at;
    return set;
}

// All that the last frame has found.
static void compare(psv_pair_finder *finder, const world_scene *scene, uint32_t options, const expectation *expected) {
    uint64_t count = 0, bad = 0;
    CHECK(psv_finish_pairs(finder, &count));
    psv_pair *pairs = malloc((count + 1) * sizeof *pairs);
    CHECK(psv_read_pairs(finder, pairs, count, NULL));
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    if (count != expected->count || memcmp(pairs, expected->pairs, count * sizeof *pairs) != 0)
        fail_msg("%s, %llu boxes, options %u, seed %llu: %llu pairs, %llu expected, or others",
                 arrangement_names[scene->how], (unsigned long long)scene->count, options, (unsigned long long)seed,
                 (unsigned long long)count, (unsigned long long)expected->count);
    free(pairs);
    uint32_t *indices = malloc((scene->count + 1) * sizeof *indices);
    CHECK(psv_read_bad_boxes(finder, indices, scene->count, &bad));
    assert_int_equal(bad, expected->bad);
    for (uint64_t i = 0; i < bad; ++i)
        assert_false(takes_part(scene, options, indices[i]) || (i > 0 && indices[i] <= indices[i - 1]));
    free(indices);
    if (!(options & COUNTED)) return;
    uint64_t *counted = malloc(scene->world_count * sizeof *counted);
    CHECK(psv_download(context, counted, psv_world_pair_buffer(finder), scene->world_count * sizeof *counted));
    CHECK(psv_finish_pairs(finder, NULL)); // waits
    assert_memory_equal(counted, expected->of_world, scene->world_count * sizeof *counted);
    free(counted);
}

static void check_route(psv_pair_finder *finder, const world_scene *scene, bool first) {
    psv_pair_statistics statistics;
    CHECK(psv_read_pair_statistics(finder, &statistics));
    if (backend != PSV_BACKEND_CUDA || strcmp(statistics.method, "rows") != 0) return;
    assert_int_equal(strcmp(statistics.route, "worlds") == 0, is_in_order(scene->how));
    if (is_in_order(scene->how)) assert_string_equal(statistics.veto, "none");
    if (!is_in_order(scene->how) && first) assert_string_equal(statistics.veto, "order");
}

static void run_frames(const world_scene *scene, const char *method, uint32_t options, uint64_t max_boxes) {
    expectation expected = expect(scene, options);
    assert_true(expected.count > scene->count / 100);
    psv_pair_finder *finder = make_finder(scene, method, options, max_boxes, expected.count);
    const psv_box_set set = set_of(scene, options);
    for (int frame = 0; frame < 3; ++frame) {
        CHECK(psv_find_pairs(finder, &set));
        compare(finder, scene, options, &expected);
        check_route(finder, scene, frame == 0);
    }
    psv_destroy_pair_finder(finder);
    free(expected.pairs);
    free(expected.of_world);
}

// The count is exact, the pairs that are there are some of them, and each is there once.
static void run_short_of_room(const world_scene *scene) {
    expectation expected = expect(scene, 0);
    const uint64_t room = expected.count / 2;
    psv_pair_finder *finder = make_finder(scene, "auto", 0, 0, room);
    const psv_box_set set = set_of(scene, 0);
    psv_pair *pairs = malloc(room * sizeof *pairs);
    uint64_t count = 0;
    const psv_status status = psv_find_pairs(finder, &set);
    assert_true(status == (backend == PSV_BACKEND_CPU ? PSV_ERROR_CAPACITY : PSV_OK));
    assert_int_equal(psv_read_pairs(finder, pairs, room, &count), PSV_ERROR_CAPACITY);
    assert_int_equal(count, expected.count);
    qsort(pairs, room, sizeof *pairs, compare_pairs);
    for (uint64_t p = 0; p < room; ++p) {
        assert_non_null(bsearch(&pairs[p], expected.pairs, expected.count, sizeof *pairs, compare_pairs));
        assert_true(p == 0 || compare_pairs(&pairs[p - 1], &pairs[p]) < 0);
    }
    psv_destroy_pair_finder(finder);
    free(pairs);
    free(expected.pairs);
    free(expected.of_world);
}

// Boxes of a frame, thinned out; the route begins at a count that they all have.
static uint64_t boxes_of_test(void) {
    return backend == PSV_BACKEND_CPU ? 20000 : test_thinning() > 1 ? 40000 : 160000;
}

static void test_arrangements(void **state) {
    (void)state;
    static const uint32_t sizes[] = {32, 7, 100, 2, 40};
    const unsigned step = test_thinning() > 1 ? 5 : 1;
    for (uint32_t how = 0; how < ARRANGEMENTS; ++how)
        for (uint32_t i = how % step; i < sizeof sizes / sizeof *sizes; i += step) {
            world_scene scene;
            make_scene(&scene, (arrangement)how, boxes_of_test() + 13 * i, sizes[i]);
            run_frames(&scene, i % 2 ? "rows" : "auto", (how + 5 * i) % OPTIONS, 0);
            if (i == 0) run_frames(&scene, "rows", (how + 3) % OPTIONS, 2200000); // other routes beside it
            if (i == 0) run_short_of_room(&scene);
            free_scene(&scene);
        }
}

// One finder whose boxes come in order, then not, and again: in calls and, on CUDA, in one graph.
typedef struct changing {
    world_scene scenes[3];
    psv_pair_finder *finder;
    psv_box_set set; // memory that the scenes are copied to
    psv_buffer boxes, worlds;
} changing;

static void copy_scene(const changing *all, int which) {
    const world_scene *scene = &all->scenes[which];
    CHECK(psv_upload(context, all->boxes, scene->boxes, scene->count * sizeof *scene->boxes));
    CHECK(psv_upload(context, all->worlds, scene->worlds, scene->count * sizeof *scene->worlds));
}

static void make_changing(changing *all) {
    static const arrangement hows[] = {UNEVEN, ANY_ORDER, EVEN};
    const uint64_t count = boxes_of_test();
    uint64_t most = 0;
    for (int i = 0; i < 3; ++i) {
        make_scene(&all->scenes[i], hows[i], count, 32);
        expectation expected = expect(&all->scenes[i], 0);
        most = expected.count > most ? expected.count : most;
        free(expected.pairs);
        free(expected.of_world);
    }
    CHECK(psv_alloc_buffer(context, count * sizeof(psv_aabb), &all->boxes));
    CHECK(psv_alloc_buffer(context, count * sizeof(uint32_t), &all->worlds));
    all->finder = make_finder(&all->scenes[0], "auto", 0, 0, most);
    all->set = psv_boxes_of(all->boxes, sizeof(psv_aabb), count);
    all->set.worlds = all->worlds;
}

static void compare_changing(const changing *all, int which, bool first) {
    expectation expected = expect(&all->scenes[which], 0);
    compare(all->finder, &all->scenes[which], 0, &expected);
    if (first) check_route(all->finder, &all->scenes[which], first);
    free(expected.pairs);
    free(expected.of_world);
}

static void free_changing(changing *all) {
    psv_destroy_pair_finder(all->finder);
    psv_free_buffer(context, &all->boxes);
    psv_free_buffer(context, &all->worlds);
    for (int i = 0; i < 3; ++i)
        free_scene(&all->scenes[i]);
}

static void test_changing_order(void **state) {
    (void)state;
    changing all = {0};
    make_changing(&all);
    for (int frame = 0; frame < 7; ++frame) {
        copy_scene(&all, frame % 3);
        CHECK(psv_find_pairs(all.finder, &all.set));
        compare_changing(&all, frame % 3, frame < 2); // then it pauses
    }
    free_changing(&all);
}

#if PSV_HAVE_CUDA
static void test_graph(void **state) {
    (void)state;
    if (backend != PSV_BACKEND_CUDA) skip();
    psv_context *const own = context;
    cudaStream_t stream;
    context = open_stream_context(&stream);
    changing all = {0};
    make_changing(&all);
    begin_capture(stream);
    const cudaGraphExec_t graph = end_capture(stream, context, psv_find_pairs(all.finder, &all.set));
    for (int frame = 0; frame < 7; ++frame) {
        copy_scene(&all, frame % 3);
        CUDA(cudaGraphLaunch(graph, stream));
        compare_changing(&all, frame % 3, true);
    }
    CUDA(cudaGraphExecDestroy(graph));
    free_changing(&all);
    close_stream_context(context, stream);
    context = own;
}
#endif

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrangements),
        cmocka_unit_test(test_changing_order),
#if PSV_HAVE_CUDA
        cmocka_unit_test(test_graph),
#endif
    };
    return RUN_BACKEND_TESTS("worlds", &def, &context, tests);
}
