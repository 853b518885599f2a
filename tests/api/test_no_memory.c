// Every allocation of the library fails once, in every call that allocates: the call then says PSV_ERROR_MEMORY,
// nothing leaks, and the same call made again gives what it would have given. Two ways of failing: one allocation only,
// and it with all later ones until the call has returned.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "expect.h"
#include "failing_memory.h"
#include "pairsieve/segment_sort.h"
#include "pairsieve/sim.h"
#include "pairsieve/sort.h"

static psv_context *context;
static uint64_t refusals;
static const char *method; // of what is swept

static void expect_sentence(const char *call, int line) {
    ++refusals;
    failing_memory_stop();
    if (strstr(psv_last_error(context), "memory") == NULL)
        fail_msg("line %d: %s: the sentence «%s» does not speak of memory", line, call, psv_last_error(context));
}

// The call, and once more where it ran out of memory; `check` runs between the two.
#define TRY_AND(call, check)                                                                                           \
    do {                                                                                                               \
        psv_status try_status = (call);                                                                                \
        if (try_status == PSV_ERROR_MEMORY && failing_memory_failed()) {                                               \
            check;                                                                                                     \
            expect_sentence(#call, __LINE__);                                                                          \
            try_status = (call);                                                                                       \
        }                                                                                                              \
        if (try_status != PSV_OK)                                                                                      \
            fail_msg("line %d: %s gave %s: %s", __LINE__, #call, psv_status_name(try_status),                          \
                     psv_last_error(context));                                                                         \
    } while (0)
#define TRY(call) TRY_AND(call, (void)0)
// A call that creates `object`, which must be NULL after a failure.
#define TRY_CREATE(call, object) TRY_AND(call, assert_null(object))

static void sweep(const char *what, void (*work)(void)) {
    for (int mode = 0; mode < 2; ++mode) {
        uint64_t allocations = 0, refused_before = refusals;
        const int64_t live = failing_memory_live();
        for (bool failed = true; failed; allocations += failed) {
            failing_memory_start(allocations, mode == 1);
            work();
            failing_memory_stop();
            failed = failing_memory_failed();
            if (failing_memory_live() != live)
                fail_msg("%s: %lld allocations are left after allocation %llu failed", what,
                         (long long)(failing_memory_live() - live), (unsigned long long)allocations);
        }
        (void)printf("%s: %llu allocations, %llu refusals\n", what, (unsigned long long)allocations,
                     (unsigned long long)(refusals - refused_before));
        assert_true(allocations > 0 && refusals > refused_before);
    }
}

static void open_context(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 2;
    context = NULL;
    TRY_CREATE(psv_create_context(&def, &context), context);
}

static void close_context(void) {
    psv_destroy_context(context);
    context = NULL;
}

// SplitMix64 (Steele, Lea, Flood 2014); [0, 1).
static float next_unit(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

// --- sort -----------------------------------------------------------------------------------------------------------

#define KEYS 20000u

static void sort_work(void) {
    static float keys[KEYS];
    static uint32_t values[KEYS];
    uint64_t state = 1;
    for (uint32_t i = 0; i < KEYS; ++i) {
        keys[i] = next_unit(&state) - 0.5f;
        values[i] = i;
    }
    psv_sorter *sorter = NULL;
    psv_sorter_def def = psv_default_sorter_def();
    def.method = method;
    def.key_type = PSV_KEY_F32;
    def.max_count = KEYS;
    psv_sort_statistics statistics;
    psv_buffer copy;
    open_context();
    TRY(psv_alloc_buffer(context, sizeof keys, &copy));
    TRY_CREATE(psv_create_sorter(context, &def, &sorter), sorter);
    TRY(psv_upload(context, copy, keys, sizeof keys));
    TRY(psv_sort_pairs(sorter, psv_buffer_of(keys, sizeof keys), psv_buffer_of(values, sizeof values), KEYS));
    for (uint32_t i = 1; i < KEYS; ++i)
        assert_true(keys[i - 1] <= keys[i]);
    TRY(psv_sort_index(sorter, copy, psv_buffer_of(values, sizeof values), KEYS, PSV_INDEX_KEYS_UNDEFINED));
    TRY(psv_read_sort_statistics(sorter, &statistics));
    psv_destroy_sorter(sorter);
    psv_free_buffer(context, &copy);
    close_context();
}

// Keys that are sorted by words: a sorter and a segmented one, which hold sorters of the words.
static void word_work(void) {
    static uint64_t keys[2 * KEYS];
    uint64_t state = 1;
    for (uint32_t i = 0; i < 2 * KEYS; ++i)
        keys[i] = (uint64_t)(next_unit(&state) * 1000);
    psv_sorter *sorter = NULL;
    psv_segment_sorter *segments = NULL;
    psv_sorter_def def = psv_default_sorter_def();
    psv_segment_sorter_def segments_def = psv_default_segment_sorter_def();
    def.method = method;
    def.key_type = PSV_KEY_U128;
    def.max_count = KEYS;
    segments_def.key_type = PSV_KEY_I16;
    segments_def.max_count = KEYS;
    segments_def.max_segments = 1;
    uint32_t offsets[2] = {0, KEYS};
    const psv_segments one = {psv_buffer_of(offsets, sizeof offsets), 1, {0}};
    open_context();
    TRY_CREATE(psv_create_sorter(context, &def, &sorter), sorter);
    TRY_CREATE(psv_create_segment_sorter(context, &segments_def, &segments), segments);
    TRY(psv_sort_keys(sorter, psv_buffer_of(keys, sizeof keys), KEYS));
    for (uint32_t i = 1; i < KEYS; ++i)
        assert_true(keys[2 * i - 1] <= keys[2 * i + 1]);
    int16_t *narrow = (int16_t *)(void *)keys;
    TRY(psv_sort_segments_keys(segments, psv_buffer_of(narrow, KEYS * sizeof *narrow), KEYS, &one));
    for (uint32_t i = 1; i < KEYS; ++i)
        assert_true(narrow[i - 1] <= narrow[i]);
    psv_destroy_segment_sorter(segments);
    psv_destroy_sorter(sorter);
    close_context();
}

static void sorters(void **unused) {
    (void)unused;
    for (uint32_t i = 0; (method = psv_sort_method_name(PSV_BACKEND_CPU, i)) != NULL; ++i)
        sweep(method, sort_work);
    method = "radix";
    sweep("radix by words", word_work);
    method = "auto";
    sort_work(); // measures, and keeps the result for the sweep
    sweep(method, sort_work);
}

// --- collision ------------------------------------------------------------------------------------------------------

#define BOXES 300u

static psv_pair expected_pairs[BOXES * BOXES];
static uint64_t expected_count, expected_begin;
static bool expecting; // the first run tells what the others must give

static void make_boxes(psv_aabb *boxes, float shift) {
    uint64_t state = 7;
    for (uint32_t i = 0; i < BOXES; ++i)
        for (int k = 0; k < 3; ++k) {
            float at = 8 * next_unit(&state) + (i % 3 == 0 ? shift : 0);
            boxes[i].min[k] = i == 5 && k == 2 ? NAN : i == 6 ? -INFINITY : at;
            boxes[i].max[k] = at + (i % 50 == 0 ? 4.0f : 1.0f);
        }
}

static void find_work(void) {
    static psv_aabb boxes[BOXES];
    static psv_pair pairs[BOXES * BOXES];
    psv_pair_finder *finder = NULL;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = method;
    def.max_boxes = BOXES;
    def.max_pairs = 4;
    def.grow_pairs = def.sort_output = def.events = true;
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, BOXES);
    psv_box_set first = psv_boxes_of(set.min, sizeof *boxes, 100), second = first;
    second.min = psv_sub_buffer(set.min, 100 * sizeof *boxes, 200 * sizeof *boxes);
    second.count = 200;
    uint64_t count = 0, begin = 0, end = 0, between = 0;
    uint32_t bad = 0;
    psv_pair_statistics statistics;
    open_context();
    TRY_CREATE(psv_create_pair_finder(context, &def, &finder), finder);
    for (int frame = 0; frame < 2; ++frame) {
        make_boxes(boxes, (float)frame * 0.5f);
        TRY(psv_find_pairs(finder, &set));
        TRY(psv_read_pairs(finder, pairs, BOXES * BOXES, &count));
        psv_pair_event_lists lists;
        TRY(psv_pair_events(finder, &lists));
        begin = *(const uint64_t *)psv_buffer_address(lists.begin_count);
        end = *(const uint64_t *)psv_buffer_address(lists.end_count);
    }
    TRY(psv_read_bad_boxes(finder, &bad, 1, NULL));
    TRY(psv_read_pair_statistics(finder, &statistics));
    assert_true(bad == 5 && statistics.bad_boxes == 1 && begin > 0 && end > 0);
    TRY(psv_find_pairs_between(finder, &first, &second));
    TRY(psv_finish_pairs(finder, &between));
    psv_destroy_pair_finder(finder);
    close_context();
    if (!expecting) {
        expecting = true;
        memcpy(expected_pairs, pairs, sizeof pairs);
        expected_count = count;
        expected_begin = begin;
    }
    assert_int_equal(count, expected_count);
    assert_int_equal(begin, expected_begin);
    assert_memory_equal(pairs, expected_pairs, count * sizeof *pairs);
    assert_true(between > 0 && between < count);
}

static void tree_work(void) {
    static psv_aabb boxes[BOXES];
    static uint32_t items[BOXES * BOXES];
    uint64_t offsets[BOXES + 1], total = 0;
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    def.max_items = def.max_queries = BOXES;
    def.quality = PSV_TREE_FINE;
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, BOXES);
    psv_query_set asked = psv_queries_of(set.min, sizeof *boxes, BOXES);
    const psv_query_lists lists = {.offsets = psv_buffer_of(offsets, sizeof offsets),
                                   .results = psv_buffer_of(items, sizeof items)};
    asked.sort = true;
    open_context();
    make_boxes(boxes, 0);
    TRY_CREATE(psv_create_tree(context, &def, &tree), tree);
    TRY(psv_build_tree(tree, &set));
    TRY(psv_overlap_boxes(tree, &asked, &lists));
    TRY(psv_finish_queries(tree, &total));
    assert_true(total == offsets[BOXES] && total > BOXES / 2);
    psv_destroy_tree(tree);
    close_context();
}

static void trees(void **unused) {
    (void)unused;
    tree_work();
    sweep("tree", tree_work);
}

static void finders(void **unused) {
    (void)unused;
    method = "brute";
    find_work();
    for (uint32_t i = 0; (method = psv_broad_phase_name(PSV_BACKEND_CPU, i)) != NULL; ++i)
        sweep(method, find_work);
    method = "auto";
    sweep(method, find_work);
}

// --- worlds ---------------------------------------------------------------------------------------------------------

#define BODIES 60u
#define SNAPSHOT "test_no_memory.snapshot"

static psv_world *world;
static float expected_positions[4 * BODIES];

static uint32_t add_shape(psv_shape_type type, float size) {
    static const psv_shape_child children[2] = {{PSV_SHAPE_BOX, {0.3f, 0.1f, 0.1f}, {{0, 0, 0}, {0, 0, 0, 1}}},
                                                {PSV_SHAPE_SPHERE, {0.2f, 0, 0}, {{0.3f, 0, 0}, {0, 0, 0, 1}}}};
    static const float heights[9] = {0}, corners[12] = {-9, 0, -9, 9, 0, -9, 9, 0, 9, -9, 0, 9};
    static const uint32_t indices[6] = {0, 2, 1, 0, 3, 2};
    psv_shape_def def = psv_default_shape_def();
    def.type = type;
    def.restitution = 0.2f;
    for (int k = 0; k < 3; ++k)
        def.size[k] = size;
    def.children = children;
    def.child_count = 2;
    def.heights = heights;
    def.columns = def.rows = 3;
    def.vertices = corners;
    def.vertex_count = 4;
    def.indices = indices;
    def.triangle_count = 2;
    uint32_t shape = 0;
    TRY(psv_create_shape(world, &def, &shape));
    return shape;
}

static void add_bodies(psv_body_id *ids) {
    psv_body_def defs[BODIES];
    uint64_t state = 3;
    uint32_t shapes[8];
    for (int type = 0; type < 8; ++type)
        shapes[type] = add_shape((psv_shape_type)type, type < 4 ? 0.3f : 18);
    for (uint32_t i = 0; i < BODIES; ++i) {
        defs[i] = psv_default_body_def();
        defs[i].shape = i < 3 ? shapes[5 + i] : shapes[i % 5];
        for (int k = 0; k < 3 && i >= 3; ++k)
            defs[i].pose.position[k] = 1.6f * next_unit(&state) + (k == 1 ? 0.2f : 0);
    }
    TRY(psv_create_bodies(world, defs, BODIES - 1, ids));
    TRY(psv_create_bodies(world, defs + BODIES - 1, 1, ids + BODIES - 1));
}

static void step(int count) {
    for (int i = 0; i < count; ++i)
        TRY(psv_world_step(world, 1.0f / 60));
}

static void use_world(const psv_body_id *ids) {
    const float origin[3] = {0.5f, 9, 0.5f}, down[3] = {0, -1, 0}, impulse[3] = {1, 2, 3};
    psv_body_state states[4];
    psv_body_impulse impulses[4] = {{{1, 0, 0}, {0, 0, 0}}};
    psv_world_counters counters;
    psv_body_id hit;
    float distance = 0;
    double energy = 0, momentum[3];
    TRY(psv_read_world_counters(world, &counters));
    assert_int_equal(counters.bodies, BODIES);
    assert_true(counters.contacts > 0);
    TRY(psv_get_body_states(world, ids + 3, 4, states));
    TRY(psv_set_body_states(world, ids + 3, 4, states));
    TRY(psv_apply_impulses(world, ids + 3, 4, impulses));
    TRY(psv_apply_impulse(world, ids[9], impulse, states[0].pose.position));
    TRY(psv_cast_ray(world, origin, down, 100, &hit, &distance));
    assert_true(distance > 0);
    psv_ray ray = {{0.5f, 9, 0.5f}, 0, {0, -1, 0}, 100};
    psv_body_hit first;
    const psv_query_set rays = psv_queries_of(psv_buffer_of(&ray, sizeof ray), sizeof ray, 1);
    TRY(psv_cast_rays(world, &rays, psv_buffer_of(&first, sizeof first)));
    assert_true(first.slot + 1 == hit.index1 && fabsf(first.t - distance) < 1e-3f);
    TRY(psv_world_energy(world, &energy, momentum));
    TRY(psv_world_set_sort_method(world, "merge"));
    TRY(psv_world_set_broad_phase(world, "sweep"));
}

static void world_work(void) {
    psv_body_id ids[BODIES];
    psv_world_def def = psv_default_world_def();
    def.max_bodies = BODIES;
    def.max_shapes = 16;
    def.max_pairs = def.max_contacts = 8; // they grow
    def.broad_phase = "rows";
    def.self_gravity = 1e-9f;
    def.softening = 1;
    def.substeps = 2; // none of them allocates
    open_context();
    world = NULL;
    TRY_CREATE(psv_create_world(context, &def, &world), world);
    add_bodies(ids);
    step(4);
    use_world(ids);
    TRY(psv_world_reserve_states(world, 2));
    TRY(psv_world_keep(world, 1));
    step(2);
    psv_body_id other = ids[0];
    TRY(psv_destroy_body(world, other)); // ground
    TRY(psv_world_keep(world, 0));
    TRY(psv_world_return(world, 1)); // where it is there
    TRY(psv_world_return(world, 0));
    assert_int_equal(psv_world_body_count(world), BODIES - 1);
    TRY(psv_save_snapshot(world, SNAPSHOT));
    psv_destroy_world(world);
    world = NULL;
    TRY_CREATE(psv_restore_snapshot(context, SNAPSHOT, &world), world);
    step(2);
    assert_int_equal(psv_world_body_count(world), BODIES - 1);
    float positions[4 * BODIES];
    TRY(psv_download(context, positions, psv_world_positions(world), sizeof positions));
    if (!expecting) memcpy(expected_positions, positions, sizeof positions);
    expecting = true;
    assert_memory_equal(positions, expected_positions, sizeof positions);
    psv_destroy_world(world);
    close_context();
}

static void worlds(void **unused) {
    (void)unused;
    expecting = false;
    world_work();
    sweep("world", world_work);
    (void)remove(SNAPSHOT);
}

// What is free counts, not what the machine has: a machine that overcommits would give the memory and stop somebody.
// No allocation succeeds here, so nothing is taken however the question is answered.
static void free_memory_is_asked(void **unused) {
    (void)unused;
    uint64_t free_bytes = 0, total_bytes = 0;
    open_context();
    EXPECT_OK(psv_memory_info(context, &free_bytes, &total_bytes), context);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    psv_world_def def = psv_default_world_def();
    def.max_bodies = 1u << 30;
    EXPECT_FAILURE(psv_create_world(context, &def, &world), PSV_ERROR_MEMORY, context, "1073741824", "bytes");
    const char *needed = strstr(psv_last_error(context), "needs ");
    assert_non_null(needed);
    const double each = strtod(needed + 6, NULL) / (double)def.max_bodies;
    // Between what is free and what there is.
    def.max_bodies = (uint64_t)(((double)free_bytes + (double)total_bytes) / 2 / each);
    failing_memory_start(0, true);
    EXPECT_FAILURE(psv_create_world(context, &def, &world), PSV_ERROR_MEMORY, context, "bytes of cpu memory", "free");
    def = psv_default_world_def();
    def.sub_world_count = UINT32_MAX;
    EXPECT_FAILURE(psv_create_world(context, &def, &world), PSV_ERROR_ARGUMENT, context, "sub_world_count", "16777216");
    failing_memory_stop();
    assert_null(world);
    close_context();
}

// --- scenes and meshes ----------------------------------------------------------------------------------------------

static const char *scene_name;

static void scene_work(void) {
    psv_scene *scene = NULL;
    psv_scene_options options = psv_default_scene_options();
    options.bodies = 60;
    open_context();
    TRY_CREATE(psv_load_scene(context, scene_name, &options, &scene), scene);
    TRY(psv_set_substeps(psv_scene_world(scene), 2));
    for (int i = 0; i < 2; ++i)
        TRY(psv_scene_step(scene));
    float positions[4 * BODIES] = {0};
    psv_buffer there = psv_world_positions(psv_scene_world(scene));
    if (there.bytes > sizeof positions) there.bytes = sizeof positions;
    TRY(psv_download(context, positions, there, there.bytes));
    if (!expecting) memcpy(expected_positions, positions, sizeof positions);
    expecting = true;
    assert_memory_equal(positions, expected_positions, sizeof positions);
    psv_destroy_scene(scene);
    close_context();
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void scenes(void **unused) {
    (void)unused;
    write_text("test_no_memory.obj", "v -9 0 -9\nv 9 0 -9\nv 9 0 9\nv -9 0 9\nf 1 4 3 2\n");
    write_text("test_no_memory.json",
               "{\"name\": \"n\", \"shapes\": {\"hill\": {\"type\": \"mesh\", \"file\": \"test_no_memory.obj\"},"
               " \"ball\": {\"type\": \"sphere\", \"radius\": 0.2},"
               " \"bar\": {\"type\": \"compound\", \"children\": [{\"type\": \"sphere\", \"radius\": 0.1},"
               " {\"type\": \"box\", \"half_extents\": [0.1, 0.2, 0.3], \"position\": [0.1, 0, 0]}]}},"
               " \"fixed\": [{\"shape\": \"hill\"}],"
               " \"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\", \"bar\"], \"base\": [0, 1, 0]},"
               " {\"type\": \"emitter\", \"shapes\": [\"ball\"], \"rate\": 600, \"position\": [0, 9, 0]}]}");
    static const char *const names[] = {"test_no_memory.json", "landscape", "gravity", "mixed_sizes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        scene_name = names[i];
        expecting = false;
        scene_work();
        sweep(scene_name, scene_work);
    }
    (void)remove("test_no_memory.json");
    (void)remove("test_no_memory.obj");
}

// Jansson reads on with a cut word where it has no memory for more of it, so what it gives is not compared.
static void parse_work(void) {
    psv_scene *scene = NULL;
    psv_scene_options options = psv_default_scene_options();
    options.bodies = 20;
    open_context();
    const psv_status status = psv_load_scene(context, scene_name, &options, &scene);
    assert_true(failing_memory_failed() || status == PSV_OK);
    assert_true((status == PSV_OK) == (scene != NULL));
    if (status != PSV_OK && status != PSV_ERROR_MEMORY)
        fail_msg("%s: %s", psv_status_name(status), psv_last_error(context));
    if (status == PSV_ERROR_MEMORY) expect_sentence("psv_load_scene", __LINE__);
    psv_destroy_scene(scene);
    close_context();
}

static void json_values(void **unused) {
    (void)unused;
    json_set_alloc_funcs(failing_malloc, failing_free);
    scene_name = "drop";
    sweep("values of drop", parse_work);
    json_set_alloc_funcs(malloc, free);
}

static void mesh_work(void) {
    psv_mesh mesh;
    open_context();
    psv_status status = psv_load_mesh(context, scene_name, &mesh);
    if (status == PSV_ERROR_MEMORY) {
        expect_sentence("psv_load_mesh", __LINE__);
        assert_true(mesh.positions == NULL && mesh.triangles == NULL && mesh.vertex_count == 0);
        status = psv_load_mesh(context, scene_name, &mesh);
    }
    EXPECT_OK(status, context);
    assert_true(mesh.vertex_count == 3 && mesh.triangle_count == 1);
    psv_free_mesh(&mesh);
    close_context();
}

static void meshes(void **unused) {
    (void)unused;
    static const char *const files[3][2] = {
        {"test_no_memory.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                               "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
                               "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"},
        {"test_no_memory.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"},
        {"test_no_memory.stl", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
                               "endloop\nendfacet\nendsolid s\n"}};
    for (int i = 0; i < 3; ++i) {
        scene_name = files[i][0];
        write_text(scene_name, files[i][1]);
        sweep(scene_name, mesh_work);
        (void)remove(scene_name);
    }
}

// --- run ------------------------------------------------------------------------------------------------------------

int main(void) {
    // The cache of "auto" goes to a folder of the test's own.
    char folder[] = "test_no_memory_XXXXXX", file[64];
    if (mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorters), cmocka_unit_test(finders),
        cmocka_unit_test(trees),   cmocka_unit_test(worlds),
        cmocka_unit_test(scenes),  cmocka_unit_test(json_values),
        cmocka_unit_test(meshes),  cmocka_unit_test(free_memory_is_asked),
    };
    const int failures = cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
    (void)snprintf(file, sizeof file, "%s/pairsieve/sort-auto.txt", folder);
    (void)unlink(file);
    (void)snprintf(file, sizeof file, "%s/pairsieve", folder);
    (void)rmdir(file);
    (void)rmdir(folder);
    return failures;
}
