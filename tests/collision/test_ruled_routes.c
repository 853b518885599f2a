// Rules of pairs on every route of `rows`: owners, layers, excluded pairs, double precision and counts of worlds, each
// alone and all together, for finders of so much room and boxes of such a kind that each route is taken. The pairs are
// those of a finder without rules (other tests hold it against a double loop), sorted out here one by one.
//   test_ruled_routes [cpu|cuda] [--seed N]
#include <math.h>
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

#define HUBS 50u
#define HUB_PARTNERS 40u
#define FRAMES 3 // bins serve from the second one on

enum { OWNERS = 1, LAYERS = 2, EXCLUDED = 4, DOUBLES = 8, WORLD_COUNT = 16, ALL_RULES = 31 };

static psv_backend backend = PSV_BACKEND_CPU;
static uint64_t seed = 30119;
static psv_context *context;

typedef struct route_case {
    const char *scene;
    uint64_t count, room;
    bool apart;        // minima and maxima in two arrays
    const char *route; // NULL: the boxes decide
} route_case;

// Routes of a device that has all of them.
static const route_case cases[] = {
    {"cube", 3000, 3000, false, "fused"},
    {"mixed_100", 20000, 20000, false, "fused"},
    {"cube", 130000, 130000, false, "fused"},
    {"cube", 230000, 230000, false, "bins"},
    {"giants", 230000, 230000, false, "bins"},
    {"cube", 230000, 230000, true, "bins"},
    {"power", 210000, 210000, true, NULL},
    {"lattice", 8000, 8000, false, "fused"}, // boxes touch, by doubles not all
    {"lattice", 210000, 210000, false, NULL},
    {"cube", 60000, 2200000, false, "segments-uniform"},
    {"mixed_100", 60000, 2200000, true, "segments-uniform"},
};

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

typedef struct pair_list {
    psv_pair *pairs;
    uint64_t count;
} pair_list;

static pair_list read_pairs(psv_pair_finder *finder) {
    pair_list list = {0};
    CHECK(psv_finish_pairs(finder, &list.count));
    list.pairs = malloc((list.count + 1) * sizeof *list.pairs);
    CHECK(psv_read_pairs(finder, list.pairs, list.count, NULL));
    qsort(list.pairs, list.count, sizeof *list.pairs, compare_pairs);
    return list;
}

// --- a scene with everything that rules ask for ----------------------------------------------------------------------

typedef struct ruled_scene {
    uint64_t count;
    psv_aabb *boxes;     // the doubles rounded outward
    psv_aabb64 *doubles; // a few of them end where the next float would be over the border
    uint32_t *owners;
    uint8_t *layers;
    uint32_t matrix[PSV_LAYERS];
    psv_pair *excluded; // sorted; each second pair that overlaps, pairs of any two boxes, pairs the wrong way round
    uint64_t excluded_count;
    pair_list overlapping;
    psv_buffer boxes_at, doubles_at, owners_at, layers_at, matrix_at, excluded_at;
} ruled_scene;

static void fill_boxes(ruled_scene *scene, const char *name) {
    scene->boxes = calloc(scene->count, sizeof *scene->boxes);
    scene->doubles = calloc(scene->count, sizeof *scene->doubles);
    box_scene_named(name)->make(scene->boxes, scene->count, seed);
    for (uint64_t i = 0; i < scene->count; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            // A third of the gap to the next float inwards: the floats are rounded outward from there.
            const float low = scene->boxes[i].min[axis], high = scene->boxes[i].max[axis];
            scene->doubles[i].min[axis] = (double)low + ((double)nextafterf(low, INFINITY) - (double)low) *
                                                            (double)(box_random_bits(seed, i, 31) % 2) / 3;
            scene->doubles[i].max[axis] = (double)high - ((double)high - (double)nextafterf(high, -INFINITY)) *
                                                             (double)(box_random_bits(seed, i, 32) % 2) / 3;
            if (scene->doubles[i].min[axis] > scene->doubles[i].max[axis])
                scene->doubles[i].max[axis] = scene->doubles[i].min[axis];
        }
}

static psv_box_set boxes_of(const ruled_scene *scene, bool apart) {
    if (!apart) return psv_boxes_of(scene->boxes_at, sizeof(psv_aabb), scene->count);
    psv_box_set set = psv_boxes_of(scene->boxes_at, 32, scene->count);
    return set;
}

static void fill_rules(ruled_scene *scene) {
    const uint64_t count = scene->count;
    scene->owners = calloc(count, sizeof *scene->owners);
    scene->layers = calloc(count, 1);
    for (uint64_t i = 0; i < count; ++i) {
        scene->owners[i] =
            box_random_bits(seed, i, 33) % 4 == 0 ? PSV_NO_OWNER : (uint32_t)(box_random_bits(seed, i, 34) % 3);
        scene->layers[i] = (uint8_t)(box_random_bits(seed, i, 35) % 8);
    }
    for (uint32_t i = 0; i < PSV_LAYERS; ++i)
        scene->matrix[i] = (uint32_t)box_random_bits(seed, i, 36) | (uint32_t)box_random_bits(seed, i, 37);
    const pair_list *there = &scene->overlapping;
    const uint64_t turned = there->count < 1000 ? there->count : 1000;
    scene->excluded = calloc(there->count + turned + 1000 + HUBS * HUB_PARTNERS, sizeof *scene->excluded);
    for (uint64_t p = 0; p < there->count; ++p)
        if (box_random_bits(seed, p, 38) % 2) scene->excluded[scene->excluded_count++] = there->pairs[p];
    for (uint64_t p = 0; p < 1000; ++p) {
        const uint32_t a = (uint32_t)(box_random_bits(seed, p, 39) % count);
        const uint32_t b = (uint32_t)(box_random_bits(seed, p, 40) % count);
        if (a != b) scene->excluded[scene->excluded_count++] = a < b ? (psv_pair){a, b} : (psv_pair){b, a};
    }
    // Boxes with more partners than a list of them holds, before and behind those that they overlap.
    for (uint64_t p = 0; p < HUBS * HUB_PARTNERS; ++p) {
        const uint32_t hub = there->pairs[p % HUBS * (there->count / HUBS)].a;
        const uint32_t other = (uint32_t)(box_random_bits(seed, p, 41) % count);
        if (hub == other) continue;
        scene->excluded[scene->excluded_count++] = hub < other ? (psv_pair){hub, other} : (psv_pair){other, hub};
    }
    for (uint64_t p = 0; p < turned; ++p) // these are no pairs of one set, and exclude nothing
        scene->excluded[scene->excluded_count++] = (psv_pair){there->pairs[p].b, there->pairs[p].a};
    // The library takes them in any order; here they are looked up.
    scene->excluded_at = upload(scene->excluded, scene->excluded_count * sizeof *scene->excluded);
    qsort(scene->excluded, scene->excluded_count, sizeof *scene->excluded, compare_pairs);
    scene->owners_at = upload(scene->owners, count * sizeof *scene->owners);
    scene->layers_at = upload(scene->layers, count);
    scene->matrix_at = upload(scene->matrix, sizeof scene->matrix);
    scene->doubles_at = upload(scene->doubles, count * sizeof *scene->doubles);
}

static void make_scene(ruled_scene *scene, const route_case *test) {
    *scene = (ruled_scene){.count = test->count};
    fill_boxes(scene, test->scene);
    const uint64_t stride = test->apart ? 32 : sizeof(psv_aabb);
    char *wide = calloc(scene->count, stride);
    for (uint64_t i = 0; i < scene->count; ++i)
        memcpy(wide + i * stride, &scene->boxes[i], sizeof *scene->boxes);
    scene->boxes_at = upload(wide, scene->count * stride);
    free(wide);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = scene->count;
    def.max_pairs = 1;
    def.grow_pairs = true;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    const psv_box_set set = boxes_of(scene, test->apart);
    CHECK(psv_find_pairs(finder, &set));
    scene->overlapping = read_pairs(finder);
    psv_destroy_pair_finder(finder);
    assert_true(scene->overlapping.count > scene->count / 10);
    fill_rules(scene);
}

static void free_scene(ruled_scene *scene) {
    psv_buffer *const buffers[] = {&scene->boxes_at,  &scene->doubles_at, &scene->owners_at,
                                   &scene->layers_at, &scene->matrix_at,  &scene->excluded_at};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        psv_free_buffer(context, buffers[i]);
    free(scene->boxes);
    free(scene->doubles);
    free(scene->owners);
    free(scene->layers);
    free(scene->excluded);
    free(scene->overlapping.pairs);
}

static bool is_allowed(const ruled_scene *scene, uint32_t rules, const psv_pair *pair) {
    const uint32_t a = pair->a, b = pair->b;
    if ((rules & OWNERS) && scene->owners[a] != PSV_NO_OWNER && scene->owners[a] == scene->owners[b]) return false;
    if (rules & LAYERS) {
        const uint32_t i = scene->layers[a], j = scene->layers[b];
        if (!(scene->matrix[i] >> j & 1) || !(scene->matrix[j] >> i & 1)) return false;
    }
    if ((rules & EXCLUDED) &&
        bsearch(pair, scene->excluded, scene->excluded_count, sizeof *pair, compare_pairs) != NULL)
        return false;
    for (int axis = 0; axis < 3 && (rules & DOUBLES); ++axis)
        if (scene->doubles[a].min[axis] > scene->doubles[b].max[axis] ||
            scene->doubles[b].min[axis] > scene->doubles[a].max[axis])
            return false;
    return true;
}

// --- the frames ------------------------------------------------------------------------------------------------------

static psv_pair_finder *make_finder(const ruled_scene *scene, const route_case *test, uint32_t rules, uint64_t most) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.method = "rows";
    def.max_boxes = test->room;
    def.max_pairs = most == 0 ? 1 : most;
    def.doubles = rules & DOUBLES;
    def.max_excluded = rules & EXCLUDED ? scene->excluded_count : 0;
    def.count_worlds = rules & WORLD_COUNT;
    CHECK(psv_create_pair_finder(context, &def, &finder));
    psv_pair_rules given = psv_default_pair_rules();
    if (rules & LAYERS) given.layer_matrix = scene->matrix_at;
    if (rules & EXCLUDED) given.excluded = scene->excluded_at, given.excluded_count = scene->excluded_count;
    CHECK(psv_set_pair_rules(finder, &given));
    return finder;
}

static psv_box_set ruled_boxes(const ruled_scene *scene, const route_case *test, uint32_t rules) {
    psv_box_set set = rules & DOUBLES ? psv_boxes64_of(scene->doubles_at, sizeof(psv_aabb64), scene->count)
                                      : boxes_of(scene, test->apart);
    if (rules & OWNERS) set.owners = scene->owners_at;
    if (rules & LAYERS) set.layers = scene->layers_at;
    return set;
}

static void check_counted(psv_pair_finder *finder, uint64_t expected) {
    uint64_t counted = 0;
    CHECK(psv_download(context, &counted, psv_world_pair_buffer(finder), sizeof counted));
    CHECK(psv_finish_pairs(finder, NULL));
    assert_int_equal(counted, expected);
}

// The pair buffer has room for what the rules let through and not for one more.
static void run_case(const ruled_scene *scene, const route_case *test, uint32_t rules) {
    uint64_t expected = 0;
    psv_pair *allowed = malloc((scene->overlapping.count + 1) * sizeof *allowed);
    for (uint64_t p = 0; p < scene->overlapping.count; ++p)
        if (is_allowed(scene, rules, &scene->overlapping.pairs[p])) allowed[expected++] = scene->overlapping.pairs[p];
    if (rules & (OWNERS | LAYERS | EXCLUDED)) assert_true(expected < scene->overlapping.count);
    psv_pair_finder *finder = make_finder(scene, test, rules, expected);
    const psv_box_set set = ruled_boxes(scene, test, rules);
    psv_pair_statistics statistics;
    for (int frame = 0; frame < FRAMES; ++frame) {
        CHECK(psv_find_pairs(finder, &set));
        const pair_list found = read_pairs(finder);
        if (found.count != expected || memcmp(found.pairs, allowed, expected * sizeof *allowed) != 0)
            fail_msg("%s, %llu boxes, rules %u, frame %d: %llu pairs, %llu expected, or others", test->scene,
                     (unsigned long long)scene->count, rules, frame, (unsigned long long)found.count,
                     (unsigned long long)expected);
        free(found.pairs);
        if (rules & WORLD_COUNT) check_counted(finder, expected);
    }
    CHECK(psv_read_pair_statistics(finder, &statistics));
    if (rules == ALL_RULES)
        print_message("%s, %llu boxes: %s (%s), %llu of %llu pairs\n", test->scene, (unsigned long long)scene->count,
                      statistics.route, statistics.veto, (unsigned long long)expected,
                      (unsigned long long)scene->overlapping.count);
    // The host leaves no route out because of rules. A device with less takes others, with the veto «device».
    const bool known = test->route != NULL && !(test->apart && (rules & DOUBLES));
    if (known && backend == PSV_BACKEND_CUDA && strcmp(statistics.veto, "device") != 0)
        assert_string_equal(statistics.route, test->route);
    psv_destroy_pair_finder(finder);
    free(allowed);
}

static void test_routes(void **state) {
    (void)state;
    static const uint32_t kinds[] = {OWNERS, LAYERS, EXCLUDED, DOUBLES, WORLD_COUNT, ALL_RULES};
    const unsigned step = test_thinning() > 1 ? 3 : 1;
    const bool small = backend == PSV_BACKEND_CPU || test_kernels_only(); // the CPU has one route
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        if (small && cases[c].count > 25000) continue;
        ruled_scene scene;
        make_scene(&scene, &cases[c]);
        for (size_t k = c % step; k < sizeof kinds / sizeof *kinds; k += step)
            run_case(&scene, &cases[c], kinds[k]);
        free_scene(&scene);
    }
}

int main(int argc, char **argv) {
    const number_option options[] = {{"--seed", &seed}, {NULL, NULL}};
    if (!read_backend_arguments(argc, argv, &backend, options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes)};
    return RUN_BACKEND_TESTS("ruled_routes", &def, &context, tests);
}
