// García et al. 2014, Table I and Figure 11 again: the tree and the frame against the number of triangles, with the
// tree made anew for each picture, by sorter: what the sort is worth to the frame.
// usage: bench_render [--backend cpu|cuda] [--size WxH] [--most N] [--seed N] [--frames N] [--csv] [MESH...]
//
// As in the paper eight cameras stand around each mesh; a pixel has one ray from the eye, one to the sun, and (which
// the paper does not) one to the sky. Times are medians over all cameras. The paper's own models are not here: made
// ones have their numbers of triangles.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/render.h>

#include "../cases/box_scenes.h"
#include "bench_numbers.h"

#define CAMERAS 8
#define MOST_FRAMES 256

typedef struct bench {
    psv_context *context;
    psv_backend backend;
    uint32_t width, height;
    uint64_t most, seed, frames;
    bool csv;
    psv_buffer vertices, indices, pixels;
    psv_mesh mesh;
    const char *name;
} bench;

static void check(const bench *b, psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_render: %s\n", psv_last_error(b->context));
    exit(1);
}

// --- meshes ----------------------------------------------------------------------------------------------------------

// A ball with hills of several sizes, as scanned models have: rows of quads between the poles, two triangles each.
static void make_mesh(bench *b, uint64_t triangles) {
    const uint32_t rows = (uint32_t)sqrt((double)triangles / 4), columns = (uint32_t)(triangles / 2 / rows);
    psv_mesh *mesh = &b->mesh;
    mesh->vertex_count = (rows + 1) * columns;
    mesh->triangle_count = 2 * rows * columns;
    mesh->positions = malloc((size_t)mesh->vertex_count * 12);
    mesh->triangles = malloc((size_t)mesh->triangle_count * 12);
    if (mesh->positions == NULL || mesh->triangles == NULL) exit(1);
    float phase[6];
    for (uint32_t k = 0; k < 6; ++k)
        phase[k] = 6.28f * box_random(b->seed, k, 0);
    for (uint32_t v = 0; v < mesh->vertex_count; ++v) {
        const float polar = 3.1415926f * (float)(v / columns) / (float)rows;
        const float turn = 6.2831853f * (float)(v % columns) / (float)columns;
        float p[3] = {sinf(polar) * cosf(turn), cosf(polar), sinf(polar) * sinf(turn)}, radius = 1;
        for (uint32_t k = 0; k < 6; ++k) {
            const float f = 2.0f * (float)(1u << k);
            radius += 0.28f / f * sinf(f * p[k % 3] + phase[k]) * cosf(f * p[(k + 1) % 3] - phase[k]);
        }
        for (int k = 0; k < 3; ++k)
            mesh->positions[3 * (size_t)v + (size_t)k] = radius * p[k];
    }
    uint32_t *index = mesh->triangles;
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < columns; ++column, index += 6) {
            const uint32_t a = row * columns + column, next = row * columns + (column + 1) % columns;
            const uint32_t two[6] = {a, next, next + columns, a, next + columns, a + columns};
            memcpy(index, two, sizeof two);
        }
}

static void upload(bench *b, const void *data, uint64_t bytes, psv_buffer *buffer) {
    check(b, psv_alloc_buffer(b->context, bytes, buffer));
    check(b, psv_upload(b->context, *buffer, data, bytes));
}

static void begin_mesh(bench *b) {
    upload(b, b->mesh.positions, 12 * (uint64_t)b->mesh.vertex_count, &b->vertices);
    upload(b, b->mesh.triangles, 12 * (uint64_t)b->mesh.triangle_count, &b->indices);
}

static void end_mesh(bench *b) {
    psv_free_buffer(b->context, &b->vertices);
    psv_free_buffer(b->context, &b->indices);
    psv_free_mesh(&b->mesh);
}

// Camera i of eight, so that the mesh fills the picture's height.
static void aim(const bench *b, uint32_t camera, psv_picture_def *picture) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
    for (uint64_t i = 0; i < 3ull * b->mesh.vertex_count; ++i) {
        low[i % 3] = fminf(low[i % 3], b->mesh.positions[i]);
        high[i % 3] = fmaxf(high[i % 3], b->mesh.positions[i]);
    }
    for (int k = 0; k < 3; ++k)
        size += (high[k] - low[k]) * (high[k] - low[k]);
    const float turn = 0.3f + 6.2831853f * (float)camera / CAMERAS, distance = 0.95f * sqrtf(size);
    const float away[3] = {cosf(turn), 0.5f * sinf(3 * turn), sinf(turn)};
    for (int k = 0; k < 3; ++k) {
        picture->camera.target[k] = 0.5f * (low[k] + high[k]);
        picture->camera.eye[k] = picture->camera.target[k] + distance * away[k];
    }
}

// --- figures ---------------------------------------------------------------------------------------------------------

static double median(const psv_render_statistics *all, uint64_t count, size_t offset) {
    double values[MOST_FRAMES] = {0};
    for (uint64_t i = 0; i < count; ++i)
        memcpy(&values[i], (const char *)&all[i] + offset, sizeof values[i]);
    qsort(values, count, sizeof *values, bench_compare_times);
    return values[count / 2];
}

#define MEDIAN(field) median(all, b->frames, offsetof(psv_render_statistics, field))

// False where the backend has no such sorter for the tree's keys.
static bool run_sorter(bench *b, const char *sort, psv_tree_quality quality) {
    static psv_render_statistics all[MOST_FRAMES];
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = b->width;
    def.max_height = b->height;
    def.max_triangles = b->mesh.triangle_count;
    def.sort_method = sort;
    def.quality = quality;
    psv_renderer *renderer;
    const psv_status made = psv_create_renderer(b->context, &def, &renderer);
    if (made == PSV_ERROR_UNSUPPORTED) return false;
    check(b, made);
    const psv_triangle_set set =
        psv_triangles_of(b->vertices, b->mesh.vertex_count, b->indices, b->mesh.triangle_count);
    psv_picture_def picture = psv_default_picture_def();
    picture.width = b->width;
    picture.height = b->height;
    for (uint64_t i = 0; i <= b->frames; ++i) { // the first is not counted
        aim(b, (uint32_t)(i % CAMERAS), &picture);
        picture.frame = (uint32_t)i;
        check(b, psv_render_triangles(renderer, &set, &picture, b->pixels, (psv_buffer){0}));
        check(b, psv_read_render_statistics(renderer, &all[i == 0 ? 0 : i - 1]));
    }
    psv_destroy_renderer(renderer);
    const double keys = MEDIAN(keys_ms), sorting = MEDIAN(sort_ms), nodes = MEDIAN(build_ms), frame = MEDIAN(frame_ms);
    const char *kind = quality == PSV_TREE_FINE ? "fine" : "linear";
    printf(b->csv ? "%s,%u,%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.1f,%.0f,%.2f\n"
                  : "%-20s %9u  %-6s %-6s %8.3f %8.3f %8.3f %8.3f %8.3f %9.3f %8.1f %8.0f %6.2f\n",
           b->name, b->mesh.triangle_count, kind, sort, keys, sorting, nodes, keys + sorting + nodes, MEDIAN(trace_ms),
           frame, 1e3 / frame, MEDIAN(rays_per_second) / 1e6, 100 * MEDIAN(sort_share));
    (void)fflush(stdout);
    return true;
}

static void run_mesh(bench *b) {
    static const char *const sorters[] = {"radix", "cub", "split", "bitonic", "merge", "qsort"};
    begin_mesh(b);
    for (size_t s = 0; s < sizeof sorters / sizeof *sorters; ++s)
        (void)run_sorter(b, sorters[s], PSV_TREE_LINEAR);
    (void)run_sorter(b, "radix", PSV_TREE_FINE);
    end_mesh(b);
}

// --- the paper's Table I
// ----------------------------------------------------------------------------------------------

// One build, after one that is not timed.
static double time_tree(psv_backend backend, psv_tree_quality quality, const psv_mesh *mesh) {
    bench b = {.backend = backend, .mesh = *mesh};
    psv_context_def made = psv_default_context_def();
    made.backend = backend;
    check(&b, psv_create_context(&made, &b.context));
    begin_mesh(&b);
    psv_tree_def def = psv_default_tree_def();
    def.max_items = mesh->triangle_count;
    def.triangles = true;
    def.quality = quality;
    psv_tree *tree;
    check(&b, psv_create_tree(b.context, &def, &tree));
    const psv_triangle_set set = psv_triangles_of(b.vertices, mesh->vertex_count, b.indices, mesh->triangle_count);
    double ms = 0;
    for (int turn = 0; turn < 2; ++turn) {
        const double begin = bench_wall_ms();
        check(&b, psv_build_triangle_tree(tree, &set));
        check(&b, psv_synchronize(b.context));
        ms = bench_wall_ms() - begin;
    }
    psv_destroy_tree(tree);
    psv_free_buffer(b.context, &b.vertices);
    psv_free_buffer(b.context, &b.indices);
    psv_destroy_context(b.context);
    return ms;
}

typedef struct claim {
    const char *model;
    uint64_t triangles;
    double cpu_ms, gpu_ms; // Table I
    double rate;           // Figure 11, pictures a second
} claim;

static const claim claims[] = {
    {"bunny", 69451, 142, 13, 77}, {"dragon", 871414, 2091, 43, 23}, {"welsh dragon", 2097152, 5161, 83, 18}};

static void run_claims(bench *b) {
    if (b->csv || b->backend != PSV_BACKEND_CUDA) return;
    printf(
        "\nTable I: a tree by sorting on the GPU against one by the surface area on the CPU, ms\n"
        "model          triangles     paper: CPU  GPU ratio     here: CPU    GPU  ratio   pictures/s in the paper\n");
    for (size_t i = 0; i < sizeof claims / sizeof *claims && claims[i].triangles <= b->most; ++i) {
        const claim *c = &claims[i];
        make_mesh(b, c->triangles);
        const double cpu = time_tree(PSV_BACKEND_CPU, PSV_TREE_FINE, &b->mesh);
        const double gpu = time_tree(PSV_BACKEND_CUDA, PSV_TREE_LINEAR, &b->mesh);
        printf("%-13s %10" PRIu64 "   %11.0f %4.0f %5.0f  %12.1f %6.3f %6.0f   %.0f\n", c->model, c->triangles,
               c->cpu_ms, c->gpu_ms, c->cpu_ms / c->gpu_ms, cpu, gpu, cpu / gpu, c->rate);
        psv_free_mesh(&b->mesh);
    }
}

// --- job -------------------------------------------------------------------------------------------------------------

static void read_size(bench *b, const char *text) {
    unsigned width, height;
    char rest;
    if (sscanf(text, "%ux%u%c", &width, &height, &rest) != 2 || width < 1 || height < 1 ||
        width > PSV_MAX_PICTURE_SIDE || height > PSV_MAX_PICTURE_SIDE) {
        fprintf(stderr, "bench_render: --size %s: WIDTHxHEIGHT is accepted, each from 1 to %u\n", text,
                PSV_MAX_PICTURE_SIDE);
        exit(2);
    }
    b->width = width;
    b->height = height;
}

// Returns the place of the first mesh file.
static int read_options(bench *b, int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--csv") == 0) {
            b->csv = true;
            continue;
        }
        ++i;
        if (strcmp(argv[i - 1], "--backend") == 0 && psv_parse_backend(value, &b->backend) == PSV_OK) continue;
        if (strcmp(argv[i - 1], "--size") == 0) {
            read_size(b, value);
        } else if (strcmp(argv[i - 1], "--most") == 0) {
            b->most = bench_count("bench_render", "--most", value, 1000, 500000000);
        } else if (strcmp(argv[i - 1], "--seed") == 0) {
            b->seed = bench_count("bench_render", "--seed", value, 0, UINT32_MAX);
        } else if (strcmp(argv[i - 1], "--frames") == 0) {
            b->frames = bench_count("bench_render", "--frames", value, 1, MOST_FRAMES);
        } else {
            fprintf(stderr, "bench_render: %s %s is not accepted; see the first lines of the source\n", argv[i - 1],
                    value);
            exit(2);
        }
    }
    return i;
}

int main(int argc, char **argv) {
    static const uint64_t counts[] = {10000, 69451, 262144, 871414, 2097152, 4194304, 10000000};
    bench b = {.backend = PSV_BACKEND_CPU, .width = 1024, .height = 1024, .most = 10000000, .seed = 1, .frames = 24};
    if (psv_backend_available(PSV_BACKEND_CUDA)) b.backend = PSV_BACKEND_CUDA;
    const int first = read_options(&b, argc, argv);
    psv_context_def def = psv_default_context_def();
    def.backend = b.backend;
    if (psv_create_context(&def, &b.context) != PSV_OK) check(&b, PSV_ERROR_DEVICE);
    check(&b, psv_enable_profile(b.context, true));
    check(&b, psv_alloc_buffer(b.context, 4ull * b.width * b.height, &b.pixels));
    if (!b.csv) printf("%s, %ux%u\n", psv_context_device_name(b.context), b.width, b.height);
    printf(b.csv ? "mesh,triangles,tree,sort,keys_ms,sort_ms,nodes_ms,tree_ms,trace_ms,frame_ms,per_second,mrays,"
                   "sort_percent\n"
                 : "mesh                 triangles  tree   sort       keys     sort    nodes  tree ms    trace  frame "
                   "ms      1/s  Mrays/s  sort %%\n");
    for (int i = first; i < argc; ++i) {
        check(&b, psv_load_mesh(b.context, argv[i], &b.mesh));
        b.name = strrchr(argv[i], '/') != NULL ? strrchr(argv[i], '/') + 1 : argv[i];
        run_mesh(&b);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i] <= b.most; ++i) {
        make_mesh(&b, counts[i]);
        b.name = "made";
        run_mesh(&b);
    }
    run_claims(&b);
    psv_free_buffer(b.context, &b.pixels);
    psv_destroy_context(b.context);
    return 0;
}
