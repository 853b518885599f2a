// `pairsieve trace`: a ray-traced picture of a mesh or a scene, and the time of each part.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/portable/picture_name.h"
#include "pairsieve/render.h"
#include "png_file.h"
#include "tool.h"

#define TIMED_PICTURES 16u // of the last frames

typedef struct trace_job {
    tool_device_options device;
    const char *paths[1];
    const char *size, *out, *quality, *sort, *shading;
    uint64_t samples, frames, bodies;
    bool has_frames, plain, json;

    bool is_scene;
    psv_picture_def picture;
    psv_context *context;       // of pictures
    psv_context *world_context; // of a scene's steps; the same but for OpenGL and Vulkan
    psv_scene *scene;
    psv_mesh mesh;
    psv_buffer vertices, indices, pixels;
    psv_renderer *renderer;
    psv_render_statistics *timed;
    uint32_t timed_count;
    uint8_t *picture_bytes;
} trace_job;

// --- subject of the picture ------------------------------------------------------------------------------------------

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
static void look_at_mesh(trace_job *job) {
    static const float from[3] = {0.554f, 0.446f, 0.705f};
    float low[3], high[3], sum = 0;
    find_box(&job->mesh, low, high);
    for (int k = 0; k < 3; ++k)
        sum += (high[k] - low[k]) * (high[k] - low[k]);
    const float distance = sum > 0 ? 1.15f * sqrtf(sum) : 1;
    for (int k = 0; k < 3; ++k) {
        job->picture.camera.target[k] = 0.5f * (low[k] + high[k]);
        job->picture.camera.eye[k] = job->picture.camera.target[k] + distance * from[k];
    }
}

static int upload(trace_job *job, const void *data, uint64_t bytes, psv_buffer *buffer) {
    psv_status status = psv_alloc_buffer(job->context, bytes, buffer);
    if (status == PSV_OK && data != NULL) status = psv_upload(job->context, *buffer, data, bytes);
    return tool_fail_status(job->context, status);
}

static int load_mesh(trace_job *job) {
    int code = upload(job, job->mesh.positions, 12 * (uint64_t)job->mesh.vertex_count, &job->vertices);
    if (code == TOOL_DONE)
        code = upload(job, job->mesh.triangles, 12 * (uint64_t)job->mesh.triangle_count, &job->indices);
    look_at_mesh(job);
    return code;
}

static int load_scene(trace_job *job) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = job->bodies;
    const psv_status status = psv_load_scene(job->world_context, job->paths[0], &options, &job->scene);
    if (status != PSV_OK) return tool_fail_status(job->world_context, status);
    psv_scene_view(job->scene, job->picture.camera.eye, job->picture.camera.target);
    return TOOL_DONE;
}

static int make_renderer(trace_job *job) {
    psv_renderer_def def = psv_default_renderer_def();
    def.max_width = job->picture.width;
    def.max_height = job->picture.height;
    def.sort_method = job->sort;
    def.quality = strcmp(job->quality, "fine") == 0 ? PSV_TREE_FINE : PSV_TREE_LINEAR;
    if (job->is_scene)
        def.world = psv_scene_world(job->scene);
    else
        def.max_triangles = job->mesh.triangle_count > 0 ? job->mesh.triangle_count : 1;
    psv_status status = psv_create_renderer(job->context, &def, &job->renderer);
    if (status == PSV_OK) status = psv_enable_profile(job->context, true);
    return tool_fail_status(job->context, status);
}

// --- pictures --------------------------------------------------------------------------------------------------------

static int render(trace_job *job, uint32_t frame, bool rests) {
    job->picture.frame = frame;
    job->picture.rests = rests;
    psv_status status;
    if (job->is_scene) {
        status = psv_render_world(job->renderer, &job->picture, job->pixels, (psv_buffer){0});
    } else {
        const psv_triangle_set set =
            psv_triangles_of(job->vertices, job->mesh.vertex_count, job->indices, job->mesh.triangle_count);
        status = psv_render_triangles(job->renderer, &set, &job->picture, job->pixels, (psv_buffer){0});
    }
    return tool_fail_status(job->context, status);
}

// The last frames are pictures, each with a new tree; the first of them is not timed.
static int run_frames(trace_job *job) {
    const uint64_t frames = job->frames, pictures = frames < TIMED_PICTURES ? frames + 1 : TIMED_PICTURES + 1;
    uint32_t number = 0;
    for (uint64_t frame = 0; frame <= frames; ++frame) {
        if (frame > 0 && job->is_scene) {
            const int code = tool_fail_status(job->world_context, psv_scene_step(job->scene));
            if (code != TOOL_DONE) return code;
        }
        if (frames - frame >= pictures) continue;
        int code = render(job, number, false);
        psv_render_statistics *found = &job->timed[job->timed_count];
        if (code == TOOL_DONE) code = tool_fail_status(job->context, psv_read_render_statistics(job->renderer, found));
        if (code != TOOL_DONE) return code;
        if (number++ > 0 || pictures == 1) ++job->timed_count;
    }
    for (uint64_t sample = 1; sample < job->samples; ++sample) {
        const int code = render(job, number++, true);
        if (code != TOOL_DONE) return code;
    }
    return tool_fail_status(job->context, psv_synchronize(job->context));
}

static int write_picture(trace_job *job) {
    const size_t count = (size_t)job->picture.width * job->picture.height;
    uint32_t *words = malloc(4 * count);
    job->picture_bytes = malloc(3 * count);
    if (words == NULL || job->picture_bytes == NULL) {
        free(words);
        return tool_fail(TOOL_REFUSED, "no memory for a picture of %ux%u", job->picture.width, job->picture.height);
    }
    int code = tool_fail_status(job->context, psv_download(job->context, words, job->pixels, 4 * count));
    for (size_t i = 0; i < 3 * count && code == TOOL_DONE; ++i)
        job->picture_bytes[i] = (uint8_t)(words[i / 3] >> (8 * (i % 3)));
    free(words);
    tool_output output;
    if (code == TOOL_DONE) code = tool_open_output(&output, job->out);
    if (code != TOOL_DONE) return code;
    const bool written = tool_write_png(output.stream, job->picture_bytes, job->picture.width, job->picture.height);
    code = tool_close_output(&output, written);
    return written || code != TOOL_DONE ? code : tool_fail(TOOL_FAILED, "%s could not be written", job->out);
}

// --- report ----------------------------------------------------------------------------------------------------------

static double median_of(const trace_job *job, size_t offset) {
    double values[TIMED_PICTURES];
    for (uint32_t i = 0; i < job->timed_count; ++i)
        memcpy(&values[i], (const char *)&job->timed[i] + offset, sizeof values[i]);
    return tool_median(values, job->timed_count);
}

#define MEDIAN(job, field) median_of(job, offsetof(psv_render_statistics, field))

static uint64_t count_input(const trace_job *job, const psv_render_statistics *last) {
    return job->is_scene ? psv_world_body_count(psv_scene_world(job->scene)) : last->items;
}

static const char *input_name(const trace_job *job, uint64_t count) {
    if (job->is_scene) return count == 1 ? "body" : "bodies";
    return count == 1 ? "triangle" : "triangles";
}

static int report(const trace_job *job) {
    const psv_render_statistics *last = &job->timed[job->timed_count - 1];
    const double rate = MEDIAN(job, rays_per_second) / 1e6, share = MEDIAN(job, sort_share);
    const char *backend = psv_backend_name(psv_context_backend(job->context));
    if (job->json)
        return tool_print_result(
            "trace", job->context,
            json_pack("{s:o, s:I, s:I, s:I, s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, "
                      "s:f, s:f}",
                      "input", tool_json_text(job->paths[0]), job->is_scene ? "bodies" : "triangles",
                      (json_int_t)count_input(job, last), "items", (json_int_t)last->items, "bad_items",
                      (json_int_t)last->bad_items, "backend", backend, "quality", job->quality, "sort", job->sort,
                      "width", (int)job->picture.width, "height", (int)job->picture.height, "samples",
                      (json_int_t)job->samples, "frames", (json_int_t)job->frames, "bounds_ms", MEDIAN(job, bounds_ms),
                      "keys_ms", MEDIAN(job, keys_ms), "sort_ms", MEDIAN(job, sort_ms), "build_ms",
                      MEDIAN(job, build_ms), "trace_ms", MEDIAN(job, trace_ms), "filter_ms", MEDIAN(job, filter_ms),
                      "frame_ms", MEDIAN(job, frame_ms), "rays", (json_int_t)last->rays, "million_rays_per_second",
                      rate, "sort_share", share));
    char items[32], rays[32];
    printf("%s %s on %s, %ux%u, medians of %u pictures\n", tool_format_count(items, count_input(job, last)),
           input_name(job, count_input(job, last)), psv_context_device_name(job->context), job->picture.width,
           job->picture.height, job->timed_count);
    printf("  bounds %.3f ms, keys %.3f, sort %.3f, build %.3f, trace %.3f, filter %.3f: picture %.3f ms\n",
           MEDIAN(job, bounds_ms), MEDIAN(job, keys_ms), MEDIAN(job, sort_ms), MEDIAN(job, build_ms),
           MEDIAN(job, trace_ms), MEDIAN(job, filter_ms), MEDIAN(job, frame_ms));
    printf("  %s rays, %.1f million a second; sorting is %.1f%% of the picture\n", tool_format_count(rays, last->rays),
           rate, 100 * share);
    return TOOL_DONE;
}

// --- job -------------------------------------------------------------------------------------------------------------

static int read_size(trace_job *job) {
    char *end;
    const unsigned long width = strtoul(job->size, &end, 10);
    const unsigned long height = *end == 'x' ? strtoul(end + 1, &end, 10) : 0;
    if (*end != 0 || width < 1 || height < 1 || width > PSV_MAX_PICTURE_SIDE || height > PSV_MAX_PICTURE_SIDE)
        return tool_fail(TOOL_REFUSED, "--size %s is not accepted: WIDTHxHEIGHT, each from 1 to %u", job->size,
                         PSV_MAX_PICTURE_SIDE);
    job->picture.width = (uint32_t)width;
    job->picture.height = (uint32_t)height;
    return TOOL_DONE;
}

// A name without '/' and '.' is a shipped scene, as for psv_load_scene; a file that ends in .json a scene.
static bool names_scene(const char *name) {
    const size_t length = strlen(name);
    return strpbrk(name, "/.") == NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

static int take_options(trace_job *job) {
    static const char *const qualities[] = {"linear", "fine", NULL}, *const shadings[] = {"daylight", "phong", NULL};
    job->is_scene = names_scene(job->paths[0]);
    job->picture = psv_default_picture_def();
    if (job->plain) job->picture.mirrors = job->picture.glass = 0;
    const int shading = tool_choose("--shading", job->shading, shadings);
    if (shading < 0) return TOOL_REFUSED;
    job->picture.shading = (psv_shading)shading;
    if (!job->has_frames) job->frames = job->is_scene ? 120 : 4;
    if (job->bodies > 0 && !job->is_scene)
        return tool_fail(TOOL_REFUSED, "--bodies is for scenes; %s is a mesh", job->paths[0]);
    if (job->out != NULL && psvi_names_other_picture(job->out))
        return tool_fail(TOOL_REFUSED, "--out %s is not accepted: the name of a PNG file", job->out);
    const tool_file files[] = {
        {.option = "the input", .path = strpbrk(job->paths[0], "/.") ? job->paths[0] : NULL, .is_input = true},
        {.option = "--out", .path = job->out, .needs_name = true}};
    const int code = tool_choose("--quality", job->quality, qualities) < 0 ? TOOL_REFUSED : read_size(job);
    return code == TOOL_DONE ? tool_check_files(files, 2) : code;
}

static int create_contexts(trace_job *job) {
    if (!job->is_scene) return tool_create_context(&job->device, &job->context);
    const int code = tool_create_world_contexts(&job->device, &job->world_context, &job->context);
    if (job->context == NULL) job->context = job->world_context;
    return code;
}

static int run_job(trace_job *job) {
    int code = take_options(job);
    if (code == TOOL_DONE && !job->is_scene)
        code = tool_fail_status(NULL, psv_load_mesh(NULL, job->paths[0], &job->mesh));
    if (code == TOOL_DONE) code = create_contexts(job);
    if (code == TOOL_DONE) code = job->is_scene ? load_scene(job) : load_mesh(job);
    if (code == TOOL_DONE) code = make_renderer(job);
    if (code == TOOL_DONE)
        code = upload(job, NULL, 4 * (uint64_t)job->picture.width * job->picture.height, &job->pixels);
    job->timed = calloc(TIMED_PICTURES + 1, sizeof *job->timed);
    if (code == TOOL_DONE && job->timed == NULL) code = tool_fail(TOOL_REFUSED, "no memory for the times of pictures");
    if (code == TOOL_DONE) code = run_frames(job);
    if (code == TOOL_DONE && job->out != NULL) code = write_picture(job);
    return code == TOOL_DONE ? report(job) : code;
}

static void release_job(trace_job *job) {
    psv_destroy_renderer(job->renderer);
    psv_buffer *buffers[3] = {&job->vertices, &job->indices, &job->pixels};
    for (int i = 0; i < 3 && job->context != NULL; ++i)
        psv_free_buffer(job->context, buffers[i]);
    psv_destroy_scene(job->scene);
    if (job->world_context != job->context) psv_destroy_context(job->world_context);
    psv_destroy_context(job->context);
    psv_free_mesh(&job->mesh);
    free(job->timed);
    free(job->picture_bytes);
}

int command_trace(int argc, char **argv) {
    trace_job job = {.device = {.backend = "auto"},
                     .size = "960x540",
                     .quality = "linear",
                     .sort = "radix",
                     .shading = "daylight",
                     .samples = 8};
    const tool_option options[] = {
        {.name = "--size",
         .argument = "WxH",
         .help = "of the picture; 960x540 without it",
         .kind = OPTION_TEXT,
         .target = &job.size},
        {.name = "--frames",
         .argument = "N",
         .help = "steps of the scene (120 without it), of a mesh builds (4); the last 16 are pictures and timed",
         .kind = OPTION_COUNT,
         .target = &job.frames,
         .given = &job.has_frames},
        {.name = "--samples",
         .argument = "N",
         .help = "pictures that add up to the one that is written; 8 without it",
         .kind = OPTION_COUNT,
         .target = &job.samples,
         .least = 1,
         .most = 65536},
        {.name = "--bodies",
         .argument = "N",
         .help = "scale the scene to N bodies; 20K and 1M are understood",
         .kind = OPTION_COUNT,
         .target = &job.bodies,
         .least = 1},
        {.name = "--quality",
         .argument = "NAME",
         .help = "of the tree: linear (fastest build, the default) or fine (fastest rays)",
         .kind = OPTION_TEXT,
         .target = &job.quality},
        {.name = "--sort",
         .argument = "NAME",
         .help = "sorter of the tree's keys, see 'pairsieve list'; radix without it",
         .kind = OPTION_TEXT,
         .target = &job.sort},
        {.name = "--shading",
         .argument = "NAME",
         .help = "daylight (the default) or phong: Phong's formula with gloss, one ray to the sun, no noise",
         .kind = OPTION_TEXT,
         .target = &job.shading},
        {.name = "--plain", .help = "no mirrors and no glass", .kind = OPTION_FLAG, .target = &job.plain},
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
        .usage = "MESH|SCENE [OPTION]...",
        .summary = "Renders a mesh (PLY, OBJ or STL) or a scene by rays: sun, shadow, sky light, mirrors and glass; "
                   "tells what the sort, the tree and the rays took. OpenGL and Vulkan have --quality linear, and "
                   "ground of planes; the CPU steps the bodies of their scenes.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = job.paths,
        .operand_room = 1,
        .operand_needed = "a mesh file or a scene",
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    code = run_job(&job);
    release_job(&job);
    return code;
}
