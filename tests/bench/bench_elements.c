// bench_elements BACKEND [FRAMES]: pairs of mesh elements of the real meshes, beside the pairs of their boxes alone.
// Times are of whole calls with everything on the device, medians of frames in turns: wall clock on CUDA, the time of
// all processors on the CPU.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cases/element_oracle.h"
#include "bench_numbers.h"

#define MOST_FRAMES 200

static psv_context *context;
static clockid_t clock_used = CLOCK_MONOTONIC;

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) {                                                                                        \
            fprintf(stderr, "bench_elements: %s: %s\n", #call, psv_last_error(context));                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(clock_used, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static psv_buffer put(const void *contents, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(context, bytes, &buffer));
    CHECK(psv_upload(context, buffer, contents, bytes));
    return buffer;
}

static psv_buffer put_floats(const double *positions, uint32_t count) {
    float *narrow = malloc(count * sizeof *narrow);
    for (uint32_t i = 0; i < count; ++i)
        narrow[i] = (float)positions[i];
    const psv_buffer buffer = put(narrow, count * sizeof *narrow);
    free(narrow);
    return buffer;
}

// Boxes of elements of `size` vertices (NULL: the vertices themselves) over both times.
static psv_buffer put_boxes(const oracle_mesh *mesh, const uint32_t *vertices, uint32_t size, uint32_t count) {
    psv_aabb *boxes = malloc(count * sizeof *boxes);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float low = 3e38f, high = -3e38f;
            for (uint32_t c = 0; c < 2 * size; ++c) {
                const uint32_t vertex = vertices == NULL ? i : vertices[i * size + c / 2];
                const float x = (float)mesh->positions[c % 2][3 * vertex + axis];
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
            boxes[i].min[axis] = low;
            boxes[i].max[axis] = high;
        }
    const psv_buffer buffer = put(boxes, count * sizeof *boxes);
    free(boxes);
    return buffer;
}

typedef struct element_bench {
    oracle_mesh mesh;
    psv_element_kind kind;
    psv_element_finder *elements;
    psv_element_positions positions;
    psv_pair_finder *pairs;
    psv_box_set a, b;
} element_bench;

static void find_elements(const element_bench *bench) {
    CHECK(psv_find_element_pairs(bench->elements, &bench->positions));
}

static void find_boxes(const element_bench *bench) {
    CHECK(bench->b.count == 0 ? psv_find_pairs(bench->pairs, &bench->a)
                              : psv_find_pairs_between(bench->pairs, &bench->a, &bench->b));
}

// Medians of both in turns.
static void time_both(const element_bench *bench, int frames, double *elements, double *boxes) {
    static double times[2][MOST_FRAMES];
    for (int frame = -10; frame < frames; ++frame)
        for (int which = 0; which < 2; ++which) {
            const double begin = now_ms();
            (which == 0 ? find_elements : find_boxes)(bench);
            CHECK(psv_synchronize(context));
            if (frame >= 0) times[which][frame] = now_ms() - begin;
        }
    for (int which = 0; which < 2; ++which)
        qsort(times[which], (size_t)frames, sizeof **times, bench_compare_times);
    *elements = times[0][frames / 2];
    *boxes = times[1][frames / 2];
}

static void run_kind(const char *name, element_bench *bench, int frames, uint64_t room) {
    const oracle_mesh *mesh = &bench->mesh;
    psv_element_finder_def def = psv_default_element_finder_def();
    def.max_vertices = mesh->vertices;
    def.max_edges = mesh->edges;
    def.max_faces = mesh->faces;
    def.max_pairs[bench->kind] = room;
    CHECK(psv_create_element_finder(context, &def, &bench->elements));
    const psv_elements elements = {.vertices = mesh->vertices,
                                   .edges = mesh->edges,
                                   .faces = mesh->faces,
                                   .edge_vertices = put(mesh->edge_vertices, mesh->edges * UINT64_C(8)),
                                   .face_vertices = put(mesh->face_vertices, mesh->faces * UINT64_C(12))};
    CHECK(psv_set_elements(bench->elements, &elements));
    bench->positions = (psv_element_positions){.start = put_floats(mesh->positions[0], 3 * mesh->vertices),
                                               .end = put_floats(mesh->positions[1], 3 * mesh->vertices)};
    psv_box_set sets[3] = {
        psv_boxes_of(put_boxes(mesh, NULL, 1, mesh->vertices), sizeof(psv_aabb), mesh->vertices),
        psv_boxes_of(put_boxes(mesh, mesh->edge_vertices, 2, mesh->edges), sizeof(psv_aabb), mesh->edges),
        psv_boxes_of(put_boxes(mesh, mesh->face_vertices, 3, mesh->faces), sizeof(psv_aabb), mesh->faces)};
    static const int a[] = {1, 0, 2, 1}, b[] = {-1, 2, -1, 2};
    bench->a = sets[a[bench->kind]];
    bench->b = b[bench->kind] < 0 ? (psv_box_set){.count = 0} : sets[b[bench->kind]];
    psv_pair_finder_def pairs = psv_default_pair_finder_def();
    pairs.max_boxes = bench->a.count + bench->b.count;
    pairs.max_pairs = room;
    CHECK(psv_create_pair_finder(context, &pairs, &bench->pairs));
    double element_ms, box_ms;
    time_both(bench, frames, &element_ms, &box_ms);
    uint64_t all, kept = 0;
    CHECK(psv_finish_pairs(bench->pairs, &all));
    const psv_status status = psv_read_element_pairs(bench->elements, bench->kind, NULL, 0, &kept);
    if (status != PSV_ERROR_CAPACITY) CHECK(status);
    printf("%-18s %-12s %10llu pairs %10llu kept  %8.4f ms  boxes alone %8.4f ms  %5.3fx\n", name,
           psv_element_kind_name(bench->kind), (unsigned long long)all, (unsigned long long)kept, element_ms, box_ms,
           element_ms / box_ms);
    psv_destroy_element_finder(bench->elements);
    psv_destroy_pair_finder(bench->pairs);
}

int main(int argc, char **argv) {
    static const char *const scenes[][3] = {
        {"armadillo-rollers", "armadillo-rollers/frames/326.ply", "armadillo-rollers/frames/327.ply"},
        {"cloth-ball", "cloth-ball/frames/cloth_ball92.ply", "cloth-ball/frames/cloth_ball93.ply"},
        {"cloth-funnel", "cloth-funnel/frames/227.ply", "cloth-funnel/frames/228.ply"}};
    psv_context_def def = psv_default_context_def();
    if (argc < 2 || psv_parse_backend(argv[1], &def.backend) != PSV_OK) {
        fprintf(stderr, "usage: bench_elements cpu|cuda [FRAMES]\n");
        return 2;
    }
    if (def.backend == PSV_BACKEND_CPU) clock_used = CLOCK_PROCESS_CPUTIME_ID;
    long frames = argc > 2 ? strtol(argv[2], NULL, 10) : 30;
    if (frames < 1 || frames > MOST_FRAMES) frames = MOST_FRAMES;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "bench_elements: %s\n", psv_last_error(NULL));
        return 1;
    }
    element_bench bench = {0};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s) {
        char paths[2][4096];
        for (int f = 0; f < 2; ++f)
            (void)snprintf(paths[f], sizeof paths[f], "%s/scalable-ccd/%s", PAIRSIEVE_DATA_DIR, scenes[s][f + 1]);
        if (!load_meshes(paths[0], paths[1], &bench.mesh)) {
            fprintf(stderr, "bench_elements: %s is not there\n", paths[0]);
            continue;
        }
        for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind) {
            bench.kind = (psv_element_kind)kind;
            run_kind(scenes[s][0], &bench, (int)frames, 16000000);
        }
        free_mesh(&bench.mesh);
    }
    psv_destroy_context(context);
    return 0;
}
