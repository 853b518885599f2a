// `pairsieve trace`: a mesh as a ray-traced picture, and what the tree and the rays took.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pairsieve/sim.h"
#include "pairsieve/tree.h"
#include "png_file.h"
#include "tool.h"

#define MOST_SIDE 16384u // of the picture: a row of it fits one block of a PNG file
#define SUN                                                                                                            \
    { 0.41f, 0.82f, 0.40f }

typedef struct trace_job {
    tool_device_options device;
    const char *paths[1];
    const char *size, *out, *quality;
    uint64_t samples;
    bool json;

    uint32_t width, height;
    psv_context *context;
    psv_tree *tree;
    psv_mesh mesh;
    psv_buffer vertices, indices, rays, hits;
    psv_ray *host_rays;
    psv_ray_hit *first;
    uint32_t *any;
    float (*normal)[3], (*place)[3], *light;
    uint8_t *pixels;
    double build_ms, trace_ms;
    uint64_t rays_traced, found;
    psv_tree_statistics statistics;
} trace_job;

// --- vectors --------------------------------------------------------------------------------------------------------

static float dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const float a[3], const float b[3], float out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void normalize(float v[3]) {
    const float length = sqrtf(dot(v, v));
    for (int k = 0; k < 3 && length > 0; ++k)
        v[k] /= length;
}

// Uniform in [0, 1), the same for the same pixel, sample and channel (hash after Wang).
static float random_of(uint32_t pixel, uint32_t sample, uint32_t channel) {
    uint32_t x = pixel * 2654435761u ^ sample * 40503u * 65537u ^ channel * 0x9e3779b9u;
    x = (x ^ 61) ^ x >> 16;
    x *= 9;
    x ^= x >> 4;
    x *= 0x27d4eb2du;
    return (float)((x ^ x >> 15) >> 8) * 0x1p-24f;
}

// --- rays -----------------------------------------------------------------------------------------------------------

static void find_box(const psv_mesh *mesh, float low[3], float high[3]) {
    for (int k = 0; k < 3; ++k) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
        for (uint32_t i = 0; i < mesh->vertex_count; ++i) {
            const float at = mesh->positions[3 * (size_t)i + k];
            if (!isfinite(at)) continue;
            low[k] = fminf(low[k], at);
            high[k] = fmaxf(high[k], at);
        }
        if (!(low[k] <= high[k])) low[k] = high[k] = 0;
    }
}

// A camera that sees all of the mesh, from above one corner.
static void make_primary_rays(trace_job *job) {
    const float from[3] = {0.62f, 0.5f, 0.79f}, sky[3] = {0, 1, 0};
    float low[3], high[3], eye[3], forward[3], right[3], up[3], size[3];
    find_box(&job->mesh, low, high);
    for (int k = 0; k < 3; ++k)
        size[k] = high[k] - low[k];
    const float radius = 0.5f * sqrtf(dot(size, size)), distance = radius > 0 ? 2.4f * radius : 1;
    for (int k = 0; k < 3; ++k) {
        eye[k] = 0.5f * (low[k] + high[k]) + distance * from[k] / 1.12f;
        forward[k] = -from[k];
    }
    normalize(forward);
    cross(forward, sky, right);
    normalize(right);
    cross(right, forward, up);
    const float scale = 0.5f / (float)(job->width < job->height ? job->width : job->height);
    for (uint32_t i = 0; i < job->width * job->height; ++i) {
        psv_ray *ray = &job->host_rays[i];
        const float x = (2 * (float)(i % job->width) + 1 - (float)job->width) * scale;
        const float y = ((float)job->height - 2 * (float)(i / job->width) - 1) * scale;
        for (int k = 0; k < 3; ++k) {
            ray->origin[k] = eye[k];
            ray->direction[k] = forward[k] + x * right[k] + y * up[k];
        }
        ray->t_min = 0;
        ray->t_max = INFINITY;
        normalize(ray->direction);
    }
}

// Where the first rays hit, and the normal there, to the side that the ray came from.
static void find_surface(trace_job *job) {
    for (uint32_t i = 0; i < job->width * job->height; ++i) {
        const psv_ray_hit *hit = &job->first[i];
        if (hit->item == PSV_NO_ITEM) continue;
        const psv_ray *ray = &job->host_rays[i];
        const uint32_t *corner = job->mesh.triangles + 3 * (size_t)hit->item;
        float edge[2][3];
        const float *a = job->mesh.positions + 3 * (size_t)corner[0];
        for (int k = 0; k < 3; ++k) {
            edge[0][k] = job->mesh.positions[3 * (size_t)corner[1] + k] - a[k];
            edge[1][k] = job->mesh.positions[3 * (size_t)corner[2] + k] - a[k];
        }
        float *normal = job->normal[i];
        cross(edge[0], edge[1], normal);
        normalize(normal);
        const float side = dot(normal, ray->direction) > 0 ? -1.0f : 1.0f;
        for (int k = 0; k < 3; ++k) {
            normal[k] *= side;
            job->place[i][k] = ray->origin[k] + hit->t * ray->direction[k] + 1e-4f * hit->t * normal[k];
        }
        ++job->found;
    }
}

// Rays to the sun, or of one sample of the sky around the normal. A pixel without a surface gets a ray that hits
// nothing.
static void make_light_rays(trace_job *job, bool sun, uint32_t sample) {
    const float to_sun[3] = SUN;
    for (uint32_t i = 0; i < job->width * job->height; ++i) {
        psv_ray *ray = &job->host_rays[i];
        *ray = (psv_ray){.t_max = -1, .direction = {0, 1, 0}};
        if (job->first[i].item == PSV_NO_ITEM) continue;
        // Cosine-weighted: a point of the unit sphere about the normal's end.
        const float z = 2 * random_of(i, sample, 0) - 1, turn = 6.2831853f * random_of(i, sample, 1);
        const float flat = sqrtf(fmaxf(0, 1 - z * z)), ball[3] = {flat * cosf(turn), flat * sinf(turn), z};
        for (int k = 0; k < 3; ++k) {
            ray->origin[k] = job->place[i][k];
            ray->direction[k] = sun ? to_sun[k] : job->normal[i][k] + ball[k];
        }
        ray->t_max = INFINITY;
    }
}

static int trace(trace_job *job, bool closest) {
    const uint64_t count = (uint64_t)job->width * job->height;
    psv_status status = psv_upload(job->context, job->rays, job->host_rays, count * sizeof *job->host_rays);
    const psv_query_set rays = psv_queries_of(job->rays, sizeof *job->host_rays, count);
    const double begin = tool_seconds_now();
    if (status == PSV_OK)
        status = closest ? psv_trace_closest(job->tree, &rays, job->hits) : psv_trace_any(job->tree, &rays, job->hits);
    if (status == PSV_OK) status = psv_synchronize(job->context);
    job->trace_ms += 1e3 * (tool_seconds_now() - begin);
    job->rays_traced += closest ? count : job->found;
    if (status == PSV_OK)
        status = closest ? psv_download(job->context, job->first, job->hits, count * sizeof *job->first)
                         : psv_download(job->context, job->any, job->hits, count * sizeof *job->any);
    return tool_fail_status(job->context, status);
}

// --- picture --------------------------------------------------------------------------------------------------------

static void add_light(trace_job *job, bool sun) {
    const float to_sun[3] = SUN;
    for (uint32_t i = 0; i < job->width * job->height; ++i) {
        if (job->first[i].item == PSV_NO_ITEM || job->any[i] != 0) continue;
        job->light[i] += sun ? 0.55f * fmaxf(0, dot(job->normal[i], to_sun)) : 0.3f / (float)job->samples;
    }
}

static void make_pixels(trace_job *job) {
    for (uint32_t i = 0; i < job->width * job->height; ++i) {
        const float height = (float)(i / job->width) / (float)job->height;
        const float sky[3] = {0.62f + 0.25f * height, 0.74f + 0.17f * height, 0.9f}, stone[3] = {0.92f, 0.86f, 0.78f};
        for (int k = 0; k < 3; ++k) {
            const float value = job->first[i].item == PSV_NO_ITEM ? sky[k] : (0.03f + job->light[i]) * stone[k];
            job->pixels[3 * (size_t)i + k] = (uint8_t)(255 * powf(fminf(value, 1), 1 / 2.2f) + 0.5f);
        }
    }
}

static int render(trace_job *job) {
    make_primary_rays(job);
    int code = trace(job, true);
    if (code != TOOL_DONE) return code;
    find_surface(job);
    for (uint32_t sample = 0; sample <= job->samples && code == TOOL_DONE; ++sample) {
        make_light_rays(job, sample == 0, sample);
        code = trace(job, false);
        if (code == TOOL_DONE) add_light(job, sample == 0);
    }
    make_pixels(job);
    return code;
}

// --- job ------------------------------------------------------------------------------------------------------------

static int read_size(trace_job *job) {
    char *end;
    const unsigned long width = strtoul(job->size, &end, 10);
    const unsigned long height = *end == 'x' ? strtoul(end + 1, &end, 10) : 0;
    if (*end != 0 || width < 1 || height < 1 || width > MOST_SIDE || height > MOST_SIDE)
        return tool_fail(TOOL_REFUSED, "--size %s is not accepted: WIDTHxHEIGHT, each from 1 to %u", job->size,
                         MOST_SIDE);
    job->width = (uint32_t)width;
    job->height = (uint32_t)height;
    return TOOL_DONE;
}

static int upload(trace_job *job, const void *data, uint64_t bytes, psv_buffer *buffer) {
    psv_status status = psv_alloc_buffer(job->context, bytes, buffer);
    if (status == PSV_OK && data != NULL) status = psv_upload(job->context, *buffer, data, bytes);
    return tool_fail_status(job->context, status);
}

static int make_room(trace_job *job) {
    const size_t pixels = (size_t)job->width * job->height;
    job->host_rays = malloc(pixels * sizeof *job->host_rays);
    job->first = malloc(pixels * sizeof *job->first);
    job->any = malloc(pixels * sizeof *job->any);
    job->normal = malloc(pixels * sizeof *job->normal);
    job->place = malloc(pixels * sizeof *job->place);
    job->light = calloc(pixels, sizeof *job->light);
    job->pixels = malloc(3 * pixels);
    if (!job->host_rays || !job->first || !job->any || !job->normal || !job->place || !job->light || !job->pixels)
        return tool_fail(TOOL_REFUSED, "no memory for a picture of %ux%u", job->width, job->height);
    int code = upload(job, job->mesh.positions, 12 * (uint64_t)job->mesh.vertex_count, &job->vertices);
    if (code == TOOL_DONE)
        code = upload(job, job->mesh.triangles, 12 * (uint64_t)job->mesh.triangle_count, &job->indices);
    if (code == TOOL_DONE) code = upload(job, NULL, pixels * sizeof *job->host_rays, &job->rays);
    return code == TOOL_DONE ? upload(job, NULL, pixels * sizeof *job->first, &job->hits) : code;
}

// Twice: the first build is not timed.
static int build(trace_job *job) {
    psv_tree_def def = psv_default_tree_def();
    def.quality = strcmp(job->quality, "fine") == 0 ? PSV_TREE_FINE : PSV_TREE_LINEAR;
    def.max_items = job->mesh.triangle_count > 0 ? job->mesh.triangle_count : 1;
    def.triangles = true;
    const psv_triangle_set set =
        psv_triangles_of(job->vertices, job->mesh.vertex_count, job->indices, job->mesh.triangle_count);
    psv_status status = psv_create_tree(job->context, &def, &job->tree);
    for (int turn = 0; turn < 2 && status == PSV_OK; ++turn) {
        const double begin = tool_seconds_now();
        status = psv_build_triangle_tree(job->tree, &set);
        if (status == PSV_OK) status = psv_synchronize(job->context);
        job->build_ms = 1e3 * (tool_seconds_now() - begin);
    }
    if (status == PSV_OK) status = psv_read_tree_statistics(job->tree, &job->statistics);
    return tool_fail_status(job->context, status);
}

static int write_picture(const trace_job *job) {
    tool_output output;
    int code = tool_open_output(&output, job->out);
    if (code != TOOL_DONE) return code;
    const bool written = tool_write_png(output.stream, job->pixels, job->width, job->height);
    code = tool_close_output(&output, written);
    return written || code != TOOL_DONE ? code : tool_fail(TOOL_FAILED, "%s could not be written", job->out);
}

static int report(const trace_job *job) {
    const double rate = job->trace_ms > 0 ? (double)job->rays_traced / job->trace_ms / 1e3 : 0;
    if (job->json)
        return tool_print_json(
            json_pack("{s:I, s:I, s:s, s:s, s:f, s:f, s:I, s:f, s:f}", "triangles", (json_int_t)job->statistics.items,
                      "bad_triangles", (json_int_t)job->statistics.bad_items, "backend",
                      psv_backend_name(psv_context_backend(job->context)), "quality",
                      job->statistics.fell_back ? "linear" : job->quality, "build_ms", job->build_ms, "trace_ms",
                      job->trace_ms, "rays", (json_int_t)job->rays_traced, "million_rays_per_second", rate, "hit_share",
                      (double)job->found / ((double)job->width * job->height)));
    printf("%llu triangles on %s: tree %.3f ms, %llu rays in %.3f ms, %.1f million a second\n",
           (unsigned long long)job->statistics.items, psv_context_device_name(job->context), job->build_ms,
           (unsigned long long)job->rays_traced, job->trace_ms, rate);
    return TOOL_DONE;
}

static int run_job(trace_job *job) {
    static const char *const qualities[] = {"linear", "fine", NULL};
    const tool_file files[] = {{.option = "the mesh", .path = job->paths[0], .is_input = true},
                               {.option = "--out", .path = job->out, .needs_name = true}};
    int code = tool_choose("--quality", job->quality, qualities) < 0 ? TOOL_REFUSED : read_size(job);
    if (code == TOOL_DONE) code = tool_check_files(files, 2);
    if (code == TOOL_DONE) code = tool_fail_status(NULL, psv_load_mesh(NULL, job->paths[0], &job->mesh));
    if (code == TOOL_DONE) code = tool_create_context(&job->device, &job->context);
    if (code == TOOL_DONE) code = make_room(job);
    if (code == TOOL_DONE) code = build(job);
    if (code == TOOL_DONE) code = render(job);
    if (code == TOOL_DONE && job->out != NULL) code = write_picture(job);
    return code == TOOL_DONE ? report(job) : code;
}

static void release_job(trace_job *job) {
    psv_destroy_tree(job->tree);
    psv_buffer *buffers[4] = {&job->vertices, &job->indices, &job->rays, &job->hits};
    for (int i = 0; i < 4 && job->context != NULL; ++i)
        psv_free_buffer(job->context, buffers[i]);
    psv_destroy_context(job->context);
    psv_free_mesh(&job->mesh);
    free(job->host_rays);
    free(job->first);
    free(job->any);
    free(job->normal);
    free(job->place);
    free(job->light);
    free(job->pixels);
}

int command_trace(int argc, char **argv) {
    trace_job job = {.device = {.backend = "auto"}, .size = "960x540", .quality = "linear", .samples = 8};
    const tool_option options[] = {
        {.name = "--size",
         .argument = "WxH",
         .help = "of the picture; 960x540 without it",
         .kind = OPTION_TEXT,
         .target = &job.size},
        {.name = "--samples",
         .argument = "N",
         .help = "rays to the sky of a pixel; 8 without it",
         .kind = OPTION_COUNT,
         .target = &job.samples,
         .least = 1,
         .most = 65536},
        {.name = "--quality",
         .argument = "NAME",
         .help = "of the tree: linear (fastest build, the default) or fine (fastest rays)",
         .kind = OPTION_TEXT,
         .target = &job.quality},
        {.name = "--out",
         .argument = "FILE",
         .help = "write the picture as PNG",
         .kind = OPTION_TEXT,
         .target = &job.out},
        TOOL_DEVICE_OPTIONS(job.device),
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = &job.json},
    };
    tool_command command = {
        .name = "trace",
        .usage = "MESH [OPTION]...",
        .summary = "Renders a mesh (PLY, OBJ or STL) by rays: sun, shadow and sky light; tells what the tree and the "
                   "rays took.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = job.paths,
        .operand_room = 1,
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    if (command.operand_count == 0)
        return tool_fail(TOOL_REFUSED, "trace needs a mesh file; usage: pairsieve trace %s", command.usage);
    code = run_job(&job);
    release_job(&job);
    return code;
}
