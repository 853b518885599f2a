// Trees: milliseconds of build and refit, million rays and points a second, over a wavy sheet of triangles or a mesh.
// usage: bench_tree cpu|cuda|gl|vulkan TRIANGLES|MESH|boxes:COUNT... [--workers N]
// Rays: 1920 x 1080 primary ones of a camera that looks at all of it, shadow rays from what they hit, 2^21 random ones
// in its box; closest points of those origins. On the CPU a sixteenth of each, and beside it Embree where that is
// found. boxes:COUNT: how many of COUNT random boxes each of as many others touches, million queries a second.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/sim.h>
#include <pairsieve/tree.h>

#include "../cases/box_scenes.h"
#include "bench_numbers.h"
#include "embree_yardstick.h"
#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#define REPEATS 9

typedef struct mesh {
    float *vertices;
    uint32_t *indices;
    uint32_t vertex_count, count;
    float low[3], high[3];
} mesh;

static psv_context *context;
static uint32_t wide = 1920, high = 1080, random_count = 1u << 21;

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_tree: %s\n", psv_last_error(context));
    exit(1);
}

// --- time ------------------------------------------------------------------------------------------------------------

typedef struct job {
    psv_tree *tree;
    psv_triangle_set triangles;
    psv_query_set queries;
    psv_buffer target;
    psv_query_lists lists;
    int what; // 0 build, 1 refit, 2 closest hit, 3 any hit, 4 closest point, 5 boxes
} job;

static void run(const job *j) {
    switch (j->what) {
    case 0: check(psv_build_triangle_tree(j->tree, &j->triangles)); break;
    case 1: check(psv_refit_triangle_tree(j->tree, &j->triangles)); break;
    case 2: check(psv_trace_closest(j->tree, &j->queries, j->target)); break;
    case 3: check(psv_trace_any(j->tree, &j->queries, j->target)); break;
    case 5: check(psv_overlap_boxes(j->tree, &j->queries, &j->lists)); break;
    default: check(psv_find_closest(j->tree, &j->queries, j->target));
    }
}

// Median.
static double time_job(const job *j) {
    double ms[REPEATS];
    run(j);
    for (int i = 0; i < REPEATS; ++i) {
#if PSV_HAVE_CUDA
        if (psv_context_backend(context) == PSV_BACKEND_CUDA) {
            cudaEvent_t begin, end;
            float passed = 0;
            (void)cudaEventCreate(&begin);
            (void)cudaEventCreate(&end);
            (void)cudaEventRecord(begin, psv_context_stream(context));
            run(j);
            (void)cudaEventRecord(end, psv_context_stream(context));
            (void)cudaEventSynchronize(end);
            (void)cudaEventElapsedTime(&passed, begin, end);
            (void)cudaEventDestroy(begin);
            (void)cudaEventDestroy(end);
            ms[i] = (double)passed;
            continue;
        }
#endif
        const double begin = bench_wall_ms();
        run(j);
        ms[i] = bench_wall_ms() - begin;
    }
    qsort(ms, REPEATS, sizeof *ms, bench_compare_times);
    return ms[REPEATS / 2];
}

// --- scenes ----------------------------------------------------------------------------------------------------------

static void measure(mesh *m) {
    for (int k = 0; k < 3; ++k) {
        m->low[k] = INFINITY;
        m->high[k] = -INFINITY;
        for (uint32_t i = 0; i < m->vertex_count; ++i) {
            m->low[k] = fminf(m->low[k], m->vertices[3 * (size_t)i + k]);
            m->high[k] = fmaxf(m->high[k], m->vertices[3 * (size_t)i + k]);
        }
    }
}

static mesh make_sheet(uint32_t triangles) {
    const uint32_t side = (uint32_t)sqrt(triangles / 2.0), row = side + 1;
    mesh m = {.vertex_count = row * row, .count = 2 * side * side};
    m.vertices = malloc((size_t)m.vertex_count * 12);
    m.indices = malloc((size_t)m.count * 12);
    if (m.vertices == NULL || m.indices == NULL) exit(1);
    for (uint32_t x = 0; x <= side; ++x)
        for (uint32_t z = 0; z <= side; ++z) {
            float *v = m.vertices + 3 * ((size_t)x * row + z);
            v[0] = (float)x, v[2] = (float)z;
            v[1] = (float)(0.05 * side * sin(x * 0.07) * cos(z * 0.05) + 0.3 * sin(x * 1.3 + z));
        }
    for (uint32_t c = 0; c < side * side; ++c) {
        const uint32_t i = c / side * row + c % side;
        const uint32_t six[6] = {i, i + 1, i + row, i + 1, i + row + 1, i + row};
        memcpy(m.indices + 6 * (size_t)c, six, sizeof six);
    }
    return m;
}

static mesh load(const char *name) {
    char *end;
    const unsigned long triangles = strtoul(name, &end, 10);
    mesh m;
    if (*end == 0) {
        m = make_sheet((uint32_t)triangles);
    } else {
        psv_mesh loaded;
        check(psv_load_mesh(context, name, &loaded));
        m = (mesh){.vertices = loaded.positions,
                   .indices = loaded.triangles,
                   .vertex_count = loaded.vertex_count,
                   .count = loaded.triangle_count};
    }
    measure(&m);
    return m;
}

static void normalize(float v[3]) {
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; ++k)
        v[k] /= length;
}

static void cross(const float a[3], const float b[3], float out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static psv_ray *primary_rays(const mesh *m) {
    psv_ray *rays = malloc((size_t)wide * high * sizeof *rays);
    float eye[3], forward[3], right[3], up[3], radius = 0;
    const float from[3] = {1.1f, 0.9f, 1.4f}, sky[3] = {0, 1, 0};
    if (rays == NULL) exit(1);
    for (int k = 0; k < 3; ++k)
        radius += (m->high[k] - m->low[k]) * (m->high[k] - m->low[k]);
    for (int k = 0; k < 3; ++k) {
        eye[k] = 0.5f * (m->low[k] + m->high[k]) + 0.5f * sqrtf(radius) * from[k];
        forward[k] = -from[k];
    }
    normalize(forward);
    cross(forward, sky, right);
    normalize(right);
    cross(right, forward, up);
    for (uint32_t i = 0; i < wide * high; ++i) {
        const float x = (((float)(i % wide) + 0.5f) / (float)wide * 2 - 1) * (float)wide / (float)high * 0.55f;
        const float y = (((float)(i / wide) + 0.5f) / (float)high * 2 - 1) * 0.55f;
        rays[i] = (psv_ray){.t_max = INFINITY};
        for (int k = 0; k < 3; ++k) {
            rays[i].origin[k] = eye[k];
            rays[i].direction[k] = forward[k] + x * right[k] - y * up[k];
        }
        normalize(rays[i].direction);
    }
    return rays;
}

static psv_ray *random_rays(const mesh *m, psv_sphere *spheres) {
    psv_ray *rays = malloc(random_count * sizeof *rays);
    if (rays == NULL) exit(1);
    for (uint32_t i = 0; i < random_count; ++i) {
        rays[i] = (psv_ray){.t_max = INFINITY};
        for (uint32_t k = 0; k < 3; ++k) {
            rays[i].origin[k] = m->low[k] + box_random(1, i, k) * (m->high[k] - m->low[k]);
            // Normal, by Box and Muller.
            rays[i].direction[k] =
                sqrtf(-2 * logf(box_random(1, i, 3 + k) + 1e-9f)) * cosf(6.2831853f * box_random(1, i, 6 + k));
            spheres[i].centre[k] = rays[i].origin[k];
        }
        spheres[i].radius = INFINITY;
        normalize(rays[i].direction);
    }
    return rays;
}

// Shadow rays from the hits; returns how many.
static uint32_t shadow_rays(const psv_ray *rays, const psv_ray_hit *hits, uint32_t count, psv_ray *made) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (hits[i].item == PSV_NO_ITEM) continue;
        made[found] = (psv_ray){.direction = {0.3f / 0.97f, 0.9f / 0.97f, 0.2f / 0.97f}, .t_max = INFINITY};
        for (int k = 0; k < 3; ++k)
            made[found].origin[k] = rays[i].origin[k] + hits[i].t * rays[i].direction[k] * 0.9999f;
        ++found;
    }
    return found;
}

// --- runs ------------------------------------------------------------------------------------------------------------

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    check(psv_alloc_buffer(context, bytes, &buffer));
    if (data != NULL) check(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static void bench(const char *name, int workers) {
    mesh m = load(name);
    const uint32_t pixels = wide * high, most = pixels > random_count ? pixels : random_count;
    psv_sphere *spheres = malloc(random_count * sizeof *spheres);
    psv_ray *primary = primary_rays(&m), *scattered = random_rays(&m, spheres),
            *shadow = malloc(pixels * sizeof *shadow);
    psv_ray_hit *hits = malloc((size_t)pixels * sizeof *hits);
    if (spheres == NULL || shadow == NULL || hits == NULL) exit(1);
    psv_buffer buffers[7] = {upload(m.vertices, (uint64_t)m.vertex_count * 12),
                             upload(m.indices, (uint64_t)m.count * 12),
                             upload(primary, pixels * sizeof *primary),
                             upload(scattered, random_count * sizeof *scattered),
                             upload(spheres, random_count * sizeof *spheres),
                             upload(NULL, (uint64_t)most * sizeof(psv_closest_point)),
                             upload(NULL, pixels * sizeof *shadow)};
    for (int quality = 0; quality < 2; ++quality) {
        psv_tree_def def = psv_default_tree_def();
        psv_tree_statistics statistics;
        job j = {.triangles = psv_triangles_of(buffers[0], m.vertex_count, buffers[1], m.count), .target = buffers[5]};
        def.quality = quality == 0 ? PSV_TREE_LINEAR : PSV_TREE_FINE;
        def.max_items = m.count;
        def.triangles = true;
        def.max_queries = most;
        if (psv_tree_bytes(psv_context_backend(context), &def) == 0) continue; // shaders have no fine trees
        check(psv_create_tree(context, &def, &j.tree));
        const double build = time_job(&j);
        j.what = 1;
        const double refit = time_job(&j);
        check(psv_read_tree_statistics(j.tree, &statistics));
        j.queries = psv_queries_of(buffers[2], sizeof *primary, pixels);
        j.what = 2;
        const double first = time_job(&j);
        check(psv_download(context, hits, buffers[5], pixels * sizeof *hits));
        const uint32_t shadows = shadow_rays(primary, hits, pixels, shadow);
        check(psv_upload(context, buffers[6], shadow, shadows * sizeof *shadow));
        j.queries = psv_queries_of(buffers[6], sizeof *shadow, shadows);
        j.what = 3;
        const double second = time_job(&j);
        j.queries = psv_queries_of(buffers[3], sizeof *scattered, random_count);
        j.what = 2;
        const double third = time_job(&j);
        j.queries.sort = true;
        const double third_sorted = time_job(&j);
        j.queries = psv_queries_of(buffers[4], sizeof *spheres, random_count);
        j.what = 4;
        const double fourth = time_job(&j);
        j.queries.sort = true;
        const double fourth_sorted = time_job(&j);
        const uint64_t bytes = (psv_tree_bytes(psv_context_backend(context), &def));
        def.max_queries = 0;
        printf("%s %u triangles %s%s: build %.3f ms, refit %.3f; %.1f bytes, %.3f nodes a triangle; primary %.1f M/s "
               "(%.2f hit), "
               "shadow %.1f, random %.1f, sorted %.1f, closest point %.1f, sorted %.1f (%.1f bytes with queries)\n",
               name, m.count, quality == 0 ? "linear" : "fine", statistics.fell_back ? " (linear)" : "", build, refit,
               (double)psv_tree_bytes(psv_context_backend(context), &def) / m.count, (double)statistics.nodes / m.count,
               pixels / first / 1e3, (double)shadows / pixels, shadows / second / 1e3, random_count / third / 1e3,
               random_count / third_sorted / 1e3, random_count / fourth / 1e3, random_count / fourth_sorted / 1e3,
               (double)bytes / m.count);
        (void)fflush(stdout);
        psv_destroy_tree(j.tree);
        if (quality == 1 && psv_context_backend(context) == PSV_BACKEND_CPU)
            embree_yardstick(m.vertices, m.vertex_count, m.indices, m.count, primary, pixels, shadow, shadows,
                             scattered, random_count, workers);
    }
    for (int i = 0; i < 7; ++i)
        psv_free_buffer(context, &buffers[i]);
    free(spheres);
    free(primary);
    free(scattered);
    free(shadow);
    free(hits);
    free(m.vertices);
    free(m.indices);
}

// Boxes of side 0.7, one to a unit of volume, and those of side 1.5 that ask.
static void bench_boxes(uint32_t count) {
    const float side = cbrtf((float)count);
    psv_aabb *boxes = malloc(count * sizeof *boxes), *asking = malloc(count * sizeof *asking);
    uint32_t *counts = malloc(count * sizeof *counts);
    if (boxes == NULL || asking == NULL || counts == NULL) exit(1);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            boxes[i].min[k] = side * box_random(2, i, k);
            boxes[i].max[k] = boxes[i].min[k] + 0.7f;
            asking[i].min[k] = side * box_random(3, i, k);
            asking[i].max[k] = asking[i].min[k] + 1.5f;
        }
    psv_buffer buffers[3] = {upload(boxes, count * sizeof *boxes), upload(asking, count * sizeof *asking),
                             upload(NULL, count * sizeof *counts)};
    const psv_box_set set = psv_boxes_of(buffers[0], sizeof *boxes, count);
    for (int quality = 0; quality < 2; ++quality) {
        psv_tree_def def = psv_default_tree_def();
        job j = {.queries = psv_queries_of(buffers[1], sizeof *asking, count), .lists = {.counts = buffers[2]}};
        uint64_t found = 0;
        def.quality = quality == 0 ? PSV_TREE_LINEAR : PSV_TREE_FINE;
        def.max_items = def.max_queries = count;
        if (psv_tree_bytes(psv_context_backend(context), &def) == 0) continue;
        check(psv_create_tree(context, &def, &j.tree));
        check(psv_build_tree(j.tree, &set));
        j.what = 5;
        const double plain = time_job(&j);
        check(psv_download(context, counts, buffers[2], count * sizeof *counts));
        for (uint32_t i = 0; i < count; ++i)
            found += counts[i];
        j.queries.sort = true;
        printf("%u boxes %s: queries %.1f M/s, sorted %.1f, %llu found\n", count, quality == 0 ? "linear" : "fine",
               count / plain / 1e3, count / time_job(&j) / 1e3, (unsigned long long)found);
        psv_destroy_tree(j.tree);
    }
    for (int i = 0; i < 3; ++i)
        psv_free_buffer(context, &buffers[i]);
    free(boxes);
    free(asking);
    free(counts);
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    if (argc < 3 || psv_parse_backend(argv[1], &def.backend) != PSV_OK) {
        fprintf(stderr, "usage: bench_tree cpu|cuda|gl|vulkan TRIANGLES|MESH|boxes:COUNT... [--workers N]\n");
        return 2;
    }
    if (strcmp(argv[argc - 2], "--workers") == 0) {
        def.worker_count = atoi(argv[argc - 1]);
        argc -= 2;
    }
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "bench_tree: %s\n", psv_last_error(NULL));
        return 1;
    }
    if (psv_context_backend(context) == PSV_BACKEND_CPU) {
        wide /= 4;
        high /= 4;
        random_count /= 16;
    }
    for (int i = 2; i < argc; ++i)
        if (strncmp(argv[i], "boxes:", 6) == 0)
            bench_boxes((uint32_t)strtoul(argv[i] + 6, NULL, 10));
        else
            bench(argv[i], psv_context_worker_count(context));
    psv_destroy_context(context);
    return 0;
}
