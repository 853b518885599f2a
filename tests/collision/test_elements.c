// Pairs of mesh elements against an oracle of their own: kinds, times, floats and doubles, radius, rings, bodies, rows,
// too little room, and the counts of the real meshes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/backend_main.h"
#include "../cases/element_oracle.h"
#include "../cases/sort_inputs.h"
#include "../test_scale.h"

static psv_backend backend;
static psv_context *context;
static bool run_long; // all real meshes, in doubles too

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", what, #call, psv_last_error(context));                            \
    } while (0)

typedef struct device_mesh {
    psv_buffer edges, faces, bodies, filters, positions[2];
    psv_elements elements;
} device_mesh;

static psv_buffer put(const void *contents, uint64_t bytes, const char *what) {
    psv_buffer buffer = {0};
    if (bytes == 0) return buffer;
    OK(psv_alloc_buffer(context, bytes + 24, &buffer));
    const psv_buffer part = psv_sub_buffer(buffer, 24, bytes); // the first bytes are not looked at
    OK(psv_upload(context, part, contents, bytes));
    return part;
}

static psv_buffer put_positions(const oracle_mesh *mesh, int time, const char *what) {
    if (!mesh->floats) return put(mesh->positions[time], mesh->vertices * 3 * sizeof(double), what);
    float *narrow = malloc(mesh->vertices * 3 * sizeof *narrow);
    for (uint32_t i = 0; i < 3 * mesh->vertices; ++i)
        narrow[i] = (float)mesh->positions[time][i];
    const psv_buffer buffer = put(narrow, mesh->vertices * 3 * sizeof *narrow, what);
    free(narrow);
    return buffer;
}

// Positions become what floats can hold.
static void narrow_positions(oracle_mesh *mesh) {
    mesh->floats = true;
    for (int time = 0; time < 2; ++time)
        for (uint32_t i = 0; i < 3 * mesh->vertices; ++i)
            mesh->positions[time][i] = (float)mesh->positions[time][i];
}

static device_mesh upload_mesh(const oracle_mesh *mesh, const oracle_rules *rules, const char *what) {
    device_mesh on = {.edges = put(mesh->edge_vertices, mesh->edges * 8, what),
                      .faces = put(mesh->face_vertices, mesh->faces * 12, what),
                      .positions = {put_positions(mesh, 0, what), put_positions(mesh, 1, what)}};
    if (mesh->bodies != NULL) on.bodies = put(mesh->bodies, mesh->vertices * 4, what);
    if (rules->filters != NULL) on.filters = put(rules->filters, mesh->body_count * sizeof(psv_box_filter), what);
    on.elements = (psv_elements){.vertices = mesh->vertices,
                                 .edges = mesh->edges,
                                 .faces = mesh->faces,
                                 .edge_vertices = on.edges,
                                 .face_vertices = on.faces,
                                 .bodies = on.bodies,
                                 .body_filters = on.filters,
                                 .body_count = mesh->body_count,
                                 .apart = rules->apart};
    return on;
}

static void free_device_mesh(device_mesh *on) {
    psv_buffer *buffers[] = {&on->edges, &on->faces, &on->bodies, &on->filters, &on->positions[0], &on->positions[1]};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; ++b)
        psv_free_buffer(context, buffers[b]);
}

static psv_element_finder *make_finder(const oracle_mesh *mesh, uint64_t room, uint32_t rings, bool rows, bool grow,
                                       const char *what) {
    psv_element_finder_def def = psv_default_element_finder_def();
    psv_element_finder *finder;
    def.max_vertices = mesh->vertices;
    def.max_edges = mesh->edges;
    def.max_faces = mesh->faces;
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind)
        def.max_pairs[kind] = room;
    def.rings = rings;
    def.rows = rows;
    def.bodies = mesh->bodies != NULL;
    def.grow_pairs = grow;
    OK(psv_create_element_finder(context, &def, &finder));
    return finder;
}

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void check_rows(psv_element_finder *finder, psv_element_kind kind, const oracle_pairs *due, uint32_t rows,
                       const char *what) {
    const psv_buffer buffer = psv_element_row_buffer(finder, kind);
    assert_int_equal(buffer.bytes, (rows + 1) * sizeof(uint32_t));
    uint32_t *offsets = malloc(buffer.bytes);
    OK(psv_download(context, offsets, buffer, buffer.bytes));
    uint64_t at = 0;
    for (uint32_t row = 0; row <= rows; ++row) {
        while (at < due->count && due->pairs[at].a < row)
            ++at;
        if (offsets[row] != at)
            fail_msg("%s: row %u begins at %u, not %llu", what, row, offsets[row], (unsigned long long)at);
    }
    free(offsets);
}

static void check_kind(psv_element_finder *finder, psv_element_kind kind, const oracle_pairs *due, bool ordered,
                       const char *what) {
    uint64_t count = 0;
    psv_pair *got = malloc((due->count + 1) * sizeof *got);
    OK(psv_read_element_pairs(finder, kind, got, due->count + 1, &count));
    if (count != due->count)
        fail_msg("%s: %llu %s pairs, due are %llu", what, (unsigned long long)count, psv_element_kind_name(kind),
                 (unsigned long long)due->count);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i)
        sum += oracle_pair_sum(got[i]);
    if (!ordered && due->pairs != NULL) qsort(got, count, sizeof *got, compare_pairs);
    if (sum != due->sum || (due->pairs != NULL && memcmp(got, due->pairs, count * sizeof *got) != 0))
        fail_msg("%s: wrong %s pairs", what, psv_element_kind_name(kind));
    free(got);
}

static uint32_t rows_of(const oracle_mesh *mesh, int kind) {
    return kind == PSV_VERTEX_FACE ? mesh->vertices : kind == PSV_FACE_FACE ? mesh->faces : mesh->edges;
}

static void check_mesh(const oracle_mesh *mesh, const oracle_rules *rules, bool rows, bool list, const char *what) {
    device_mesh on = upload_mesh(mesh, rules, what);
    psv_element_finder *finder = make_finder(mesh, 1000, rules->rings, rows, true, what);
    const psv_element_positions positions = {.start = on.positions[0],
                                             .end = rules->two_times ? on.positions[1] : (psv_buffer){0},
                                             .doubles = !mesh->floats,
                                             .radius = rules->radius};
    OK(psv_set_elements(finder, &on.elements));
    for (int frame = 0; frame < 2; ++frame)
        OK(psv_find_element_pairs(finder, &positions));
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind) {
        oracle_pairs due = oracle_find(mesh, (psv_element_kind)kind, rules, list);
        check_kind(finder, (psv_element_kind)kind, &due, rows, what);
        if (rows && list) check_rows(finder, (psv_element_kind)kind, &due, rows_of(mesh, kind), what);
        free(due.pairs);
    }
    psv_destroy_element_finder(finder);
    free_device_mesh(&on);
}

static void test_random_meshes(void **state) {
    (void)state;
    for (uint32_t c = 0; c < test_thinned(48, 12); ++c) {
        char what[80];
        uint64_t random = 77 + c;
        static psv_box_filter filters[5];
        for (int b = 0; b < 5; ++b)
            filters[b] = (psv_box_filter){1u << next_random(&random) % 3, (uint32_t)(next_random(&random) % 8)};
        oracle_rules rules = {.rings = c % 3, .two_times = c / 2 % 2 == 0};
        oracle_mesh mesh = c % 2 == 0 ? make_sheet(4 + c % 9, c) : make_soup(30 + 7 * c, 20 + 9 * c, c);
        if (c % 4 < 2) narrow_positions(&mesh);
        if (c % 5 > 1) rules.radius = 0.1 * fabs(mesh.positions[0][0]) / 100;
        if (mesh.bodies != NULL && c % 3 == 0) rules.filters = filters;
        rules.apart = mesh.bodies != NULL && c % 7 < 3;
        (void)snprintf(what, sizeof what, "case %u: %u vertices, rings %u, radius %g", c, mesh.vertices, rules.rings,
                       rules.radius);
        check_mesh(&mesh, &rules, c % 3 != 1, true, what);
        free_mesh(&mesh);
    }
}

// Too little room: the call or the read says so with the number needed, and what is there is right.
static void test_little_room(void **state) {
    (void)state;
    const char *what = "little room";
    oracle_mesh mesh = make_sheet(20, 3);
    const oracle_rules rules = {.two_times = false}, shared = {.shared = true};
    device_mesh on = upload_mesh(&mesh, &rules, what);
    psv_element_finder *finder = make_finder(&mesh, 100, 0, true, false, what);
    const psv_element_positions positions = {.start = on.positions[0], .doubles = true};
    OK(psv_set_elements(finder, &on.elements));
    const psv_status status = psv_find_element_pairs(finder, &positions);
    assert_int_equal(status, backend == PSV_BACKEND_CPU ? PSV_ERROR_CAPACITY : PSV_OK);
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind) {
        oracle_pairs due = oracle_find(&mesh, (psv_element_kind)kind, &rules, true),
                     all = oracle_find(&mesh, (psv_element_kind)kind, &shared, true);
        psv_pair got[100];
        uint64_t count;
        char needed[32];
        assert_int_equal(psv_read_element_pairs(finder, (psv_element_kind)kind, got, 100, &count), PSV_ERROR_CAPACITY);
        (void)snprintf(needed, sizeof needed, "%llu", (unsigned long long)all.count);
        if (strstr(psv_last_error(context), needed) == NULL)
            fail_msg("'%s' does not say %s", psv_last_error(context), needed);
        assert_true(count <= 100);
        for (uint64_t i = 0; i < count; ++i)
            assert_non_null(bsearch(&got[i], due.pairs, due.count, sizeof *got, compare_pairs));
        free(due.pairs);
        free(all.pairs);
    }
    psv_destroy_element_finder(finder);
    free_device_mesh(&on);
    free_mesh(&mesh);
}

static void test_refusals(void **state) {
    (void)state;
    const char *what = "refusals";
    oracle_mesh mesh = make_soup(50, 40, 1);
    const oracle_rules rules = {.two_times = false};
    device_mesh on = upload_mesh(&mesh, &rules, what);
    psv_element_finder *finder = make_finder(&mesh, 5000, 0, false, false, what);
    psv_element_positions positions = {.start = on.positions[0], .doubles = true};
    expect_refusal(context, psv_find_element_pairs(finder, &positions), PSV_ERROR_ARGUMENT, "no elements");
    psv_elements elements = on.elements;
    elements.vertices = 60;
    expect_refusal(context, psv_set_elements(finder, &elements), PSV_ERROR_CAPACITY, "room for 50");
    elements.vertices = 49;
    expect_refusal(context, psv_set_elements(finder, &elements), PSV_ERROR_ARGUMENT,
                   "names a vertex that is not there");
    elements = on.elements;
    elements.bodies = (psv_buffer){0};
    elements.apart = true;
    expect_refusal(context, psv_set_elements(finder, &elements), PSV_ERROR_ARGUMENT, "needs elements.bodies");
    expect_refusal(context, psv_find_element_pairs(finder, &positions), PSV_ERROR_ARGUMENT, "no elements");
    OK(psv_set_elements(finder, &on.elements));
    positions.radius = -1;
    expect_refusal(context, psv_find_element_pairs(finder, &positions), PSV_ERROR_ARGUMENT, "radius is -1");
    positions.radius = 0;
    positions.stride = 20;
    expect_refusal(context, psv_find_element_pairs(finder, &positions), PSV_ERROR_ARGUMENT, "stride is 20");
    positions.stride = 32;
    expect_refusal(context, psv_find_element_pairs(finder, &positions), PSV_ERROR_ARGUMENT, "positions.start");
    psv_element_finder_def def = psv_default_element_finder_def();
    psv_element_finder *none;
    expect_refusal(context, psv_create_element_finder(context, &def, &none), PSV_ERROR_ARGUMENT, "max_pairs is 0");
    def.rings = 3;
    expect_refusal(context, psv_create_element_finder(context, &def, &none), PSV_ERROR_ARGUMENT, "rings is 3");
    psv_destroy_element_finder(finder);
    psv_destroy_element_finder(NULL);
    free_device_mesh(&on);
    free_mesh(&mesh);
}

// The real meshes: with shared vertices the oracle gives the published counts, and without them it gives ours.
typedef struct real_mesh {
    const char *frames[2];
    uint64_t counts[3];
} real_mesh;

static void check_real(const real_mesh *real, bool floats) {
    char paths[2][4096];
    oracle_mesh mesh;
    for (int f = 0; f < 2; ++f)
        (void)snprintf(paths[f], sizeof paths[f], "%s/scalable-ccd/%s", PAIRSIEVE_DATA_DIR, real->frames[f]);
    if (!load_meshes(paths[0], paths[1], &mesh)) {
        printf("left out: %s is not there\n", paths[0]);
        return;
    }
    const oracle_rules rules = {.two_times = true}, shared = {.two_times = true, .shared = true};
    if (floats) {
        narrow_positions(&mesh);
        for (int kind = 0; kind < 3; ++kind) {
            oracle_pairs all = oracle_find(&mesh, (psv_element_kind)kind, &shared, false);
            assert_int_equal(all.count, real->counts[kind]);
            free(all.pairs);
        }
    }
    check_mesh(&mesh, &rules, mesh.edges < 30000, mesh.edges < 30000, real->frames[0]);
    free_mesh(&mesh);
}

static void test_real_meshes(void **state) {
    (void)state;
    static const real_mesh meshes[] = {
        {{"cloth-funnel/frames/227.ply", "cloth-funnel/frames/228.ply"}, {172385, 62771, 153821}},
        {{"armadillo-rollers/frames/326.ply", "armadillo-rollers/frames/327.ply"}, {5262435, 2104730, 2877204}},
        {{"cloth-ball/frames/cloth_ball92.ply", "cloth-ball/frames/cloth_ball93.ply"}, {5901866, 1932231, 4539382}}};
    const size_t all = test_scale() > 1 ? 1 : run_long ? sizeof meshes / sizeof *meshes : 2;
    if (test_kernels_only()) skip();
    for (size_t m = 0; m < all; ++m)
        for (int floats = m > 0 && !run_long; floats < 2; ++floats)
            check_real(&meshes[m], floats == 1);
}

int main(int argc, char **argv) {
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    run_long = argc > 2 && strcmp(argv[2], "--long") == 0;
    if (!psv_backend_available(backend)) {
        printf("skipped: no usable %s device\n", psv_backend_name(backend));
        return 77;
    }
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_random_meshes),
                                       cmocka_unit_test(test_little_room), cmocka_unit_test(test_real_meshes)};
    const int failures = cmocka_run_group_tests_name("elements", tests, NULL, NULL);
    psv_destroy_context(context);
    return failures;
}
