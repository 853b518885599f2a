// Figures of García, Alvizo, Olivares, Ramos 2014.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "host_walk.h"
#include "pairsieve/render.h"
#include "sort_parts.h"

// --- Figures 9 and 10: split ----------------------------------------------------------------------------------------

int figure_split(figure_run *run) {
    static const figure_sorter sorters[] = {{.label = "split", .method = "split", .as_u32 = true},
                                            {.label = "radix", .method = "radix", .as_u32 = true},
                                            {.label = "cub", .method = "cub", .as_u32 = true}};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
        if (figure_has_method(&run->devices[d], "split"))
            code = figure_contest(run, &run->devices[d], sorters, 3, figure_counts(run), KEYS_UNIFORM);
    figure_say_ratios(run, "split", "radix");
    figure_say_ratio(run, "cuda", "split", "cub");
    return code;
}

int figure_split_gl(figure_run *run) {
    static const figure_sorter split = {.label = "split", .method = "split", .as_u32 = true};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        const figure_device *device = &run->devices[d];
        if (!figure_has_shaders(device)) continue;
        code = figure_contest(run, device, &split, 1, figure_counts(run), KEYS_UNIFORM);
        figure_say(run, "%s: it runs on %s", device->name, psv_context_device_name(device->context));
        for (const uint64_t *count = figure_counts(run); *count != 0 && code == TOOL_DONE; ++count)
            if (figure_value(run, device->name, "split", (double)*count) > 0)
                figure_say(run, ", %llu keys in %.4g ms", (unsigned long long)*count,
                           figure_value(run, device->name, "split", (double)*count));
        figure_say(run, ". ");
    }
    return code;
}

// --- section IV: stages ---------------------------------------------------------------------------------------------

#define STAGE_ROUNDS 7
#define STAGE_PASSES (32 / SPLIT_DIGIT_BITS)

typedef struct stage_place {
    psv_context *context;
    psv_sorter *sorter;
    uint32_t *keys;
    psv_buffer buffer;
    uint64_t count;
} stage_place;

static psv_status sort_stage(void *user) {
    const stage_place *place = user;
    psv_status status = psv_upload(place->context, place->buffer, place->keys, 4 * place->count);
    if (status == PSV_OK) status = psv_sort_keys(place->sorter, place->buffer, place->count);
    return status == PSV_OK ? psv_synchronize(place->context) : status;
}

static psv_status time_stages(stage_place *place, double *ms) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = "split";
    def.max_count = place->count;
    psv_status status = psv_create_sorter(place->context, &def, &place->sorter);
    if (status == PSV_OK) status = psv_alloc_buffer(place->context, 4 * place->count, &place->buffer);
    if (status == PSV_OK)
        status = sort_time_parts(place->context, place->sorter, SPLIT_PARTS, STAGE_PASSES, sort_stage, place,
                                 STAGE_ROUNDS, ms);
    psv_free_buffer(place->context, &place->buffer);
    psv_destroy_sorter(place->sorter);
    return status;
}

static int add_stages(figure_run *run, const figure_device *device, uint64_t count, double *whole) {
    stage_place place = {.context = device->context, .count = count, .keys = malloc(4 * count)};
    double ms[SPLIT_PARTS * STAGE_ROUNDS];
    if (place.keys == NULL) return figure_no_memory();
    for (uint64_t i = 0; i < count; ++i)
        place.keys[i] = (uint32_t)(i * 2654435761u);
    const psv_status status = time_stages(&place, ms);
    free(place.keys);
    *whole = 0;
    for (int p = 0; p < SPLIT_PARTS && status == PSV_OK; ++p) {
        if (!figure_add(run, device->name, split_part_names[p], (double)count, ms + p * STAGE_ROUNDS, STAGE_ROUNDS))
            return figure_no_memory();
        *whole += figure_value(run, device->name, split_part_names[p], (double)count);
    }
    return tool_fail_status(device->context, status);
}

static int time_all_stages(figure_run *run, const figure_device *device) {
    const double longest = figure_longest_ms(run);
    double whole = 0;
    for (const uint64_t *count = figure_counts(run); *count != 0; ++count) {
        const int code = add_stages(run, device, *count, &whole);
        if (code != TOOL_DONE) return code;
        if (4 * whole <= longest && count[1] != 0) continue;
        figure_say(run,
                   "%s: of %.3g ms for %llu keys, sorting the blocks is %.0f%%, the prefix sum %.0f%%, the "
                   "scatter %.0f%%. ",
                   device->name, whole, (unsigned long long)*count,
                   100 * figure_value(run, device->name, split_part_names[0], (double)*count) / whole,
                   100 * figure_value(run, device->name, split_part_names[1], (double)*count) / whole,
                   100 * figure_value(run, device->name, split_part_names[2], (double)*count) / whole);
        break;
    }
    return TOOL_DONE;
}

int figure_split_stages(figure_run *run) {
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
        if (figure_has_shaders(&run->devices[d])) code = time_all_stages(run, &run->devices[d]);
    return code;
}

// --- meshes ---------------------------------------------------------------------------------------------------------

// A torus of two triangles a cell, with about as many triangles as the paper's models have.
static bool make_torus(psv_mesh *mesh, uint32_t triangles) {
    const double turn = 6.283185307179586;
    const uint32_t side = (uint32_t)sqrt(triangles / 2.0);
    mesh->vertex_count = side * side;
    mesh->triangle_count = 2 * side * side;
    mesh->positions = malloc(12 * (size_t)mesh->vertex_count);
    mesh->triangles = malloc(12 * (size_t)mesh->triangle_count);
    if (mesh->positions == NULL || mesh->triangles == NULL) return false;
    for (uint32_t i = 0; i < side * side; ++i) {
        const double u = turn * (i / side) / side, v = turn * (i % side) / side;
        const double ring = 3 + (1 + 0.05 * sin(23 * u) * sin(17 * v)) * cos(v);
        float *p = mesh->positions + 3 * (size_t)i;
        p[0] = (float)(ring * cos(u));
        p[1] = (float)sin(v);
        p[2] = (float)(ring * sin(u));
        const uint32_t row = i / side * side, next = (row + side) % (side * side), right = (i % side + 1) % side;
        const uint32_t corners[6] = {i, row + right, next + i % side, row + right, next + right, next + i % side};
        memcpy(mesh->triangles + 6 * (size_t)i, corners, sizeof corners);
    }
    return true;
}

typedef struct mesh_place {
    psv_context *context;
    psv_mesh mesh;
    psv_buffer vertices, indices;
} mesh_place;

static psv_status upload_mesh(mesh_place *place) {
    const uint64_t vertex_bytes = 12 * (uint64_t)place->mesh.vertex_count,
                   index_bytes = 12 * (uint64_t)place->mesh.triangle_count;
    psv_status status = psv_alloc_buffer(place->context, vertex_bytes, &place->vertices);
    if (status == PSV_OK) status = psv_alloc_buffer(place->context, index_bytes, &place->indices);
    if (status == PSV_OK) status = psv_upload(place->context, place->vertices, place->mesh.positions, vertex_bytes);
    if (status == PSV_OK) status = psv_upload(place->context, place->indices, place->mesh.triangles, index_bytes);
    return status;
}

typedef int mesh_measure(figure_run *run, const figure_device *device, mesh_place *place);

static int measure_mesh(figure_run *run, const psv_mesh *mesh, mesh_measure *measure) {
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        mesh_place place = {.context = run->devices[d].context, .mesh = *mesh};
        code = tool_fail_status(place.context, upload_mesh(&place));
        if (code == TOOL_DONE) code = measure(run, &run->devices[d], &place);
        psv_free_buffer(place.context, &place.vertices);
        psv_free_buffer(place.context, &place.indices);
    }
    return code;
}

static int measure_meshes(figure_run *run, mesh_measure *measure) {
    static const uint32_t sizes[] = {69451, 871414, 2097152};
    const uint32_t tori = run->mesh_count > 0 ? 0 : run->job.quick ? 1 : 3;
    int code = TOOL_DONE;
    for (uint32_t m = 0; m < run->mesh_count + tori && code == TOOL_DONE; ++m) {
        psv_mesh mesh = {0};
        if (m < run->mesh_count)
            code = tool_fail_status(run->devices[0].context,
                                    psv_load_mesh(run->devices[0].context, run->meshes[m], &mesh));
        else if (!make_torus(&mesh, sizes[m - run->mesh_count]))
            code = figure_no_memory();
        if (code == TOOL_DONE && mesh.triangle_count > 0) code = measure_mesh(run, &mesh, measure);
        psv_free_mesh(&mesh);
    }
    return code;
}

// --- Figure 11: pictures --------------------------------------------------------------------------------------------

#define PICTURES 8 // as many cameras

// A camera on a circle around the mesh's middle.
static void look_from(const psv_mesh *mesh, int camera, psv_camera *view) {
    float middle[3], size = 0;
    for (int k = 0; k < 3; ++k) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < mesh->vertex_count; ++i) {
            low = fminf(low, mesh->positions[3 * (size_t)i + k]);
            high = fmaxf(high, mesh->positions[3 * (size_t)i + k]);
        }
        middle[k] = 0.5f * (low + high);
        size = fmaxf(size, high - low);
    }
    const float angle = 6.2831853f * (float)camera / PICTURES;
    const float offset[3] = {1.2f * cosf(angle), 0.7f, 1.2f * sinf(angle)};
    for (int k = 0; k < 3; ++k) {
        view->target[k] = middle[k];
        view->eye[k] = middle[k] + size * offset[k];
    }
}

typedef struct picture_place {
    psv_renderer *renderer;
    psv_buffer pixels;
    const mesh_place *mesh;
    psv_picture_def picture;
} picture_place;

static psv_status take_picture(picture_place *place, int camera, psv_render_statistics *found) {
    const psv_mesh *mesh = &place->mesh->mesh;
    const psv_triangle_set set =
        psv_triangles_of(place->mesh->vertices, mesh->vertex_count, place->mesh->indices, mesh->triangle_count);
    look_from(mesh, camera, &place->picture.camera);
    ++place->picture.frame;
    const psv_status status =
        psv_render_triangles(place->renderer, &set, &place->picture, place->pixels, (psv_buffer){0});
    return status == PSV_OK ? psv_read_render_statistics(place->renderer, found) : status;
}

// Pictures a second of all cameras, shaded as the paper's, and by daylight as the library's are.
static int rate_pictures(figure_run *run, const figure_device *device, picture_place *place) {
    static const char *const names[] = {"sun and sky rays", "Phong and gloss, one shadow ray"};
    const uint32_t triangles = place->mesh->mesh.triangle_count;
    for (int shading = PSV_SHADING_PHONG; shading >= PSV_SHADING_DAYLIGHT; --shading) {
        double rates[PICTURES], shares[PICTURES];
        psv_render_statistics found;
        int cameras = PICTURES;
        place->picture.shading = (psv_shading)shading;
        for (int p = -1; p < cameras; ++p) {
            const int camera = p < 0 ? 0 : p;
            const psv_status status = take_picture(place, camera, &found);
            if (status != PSV_OK) return tool_fail_status(device->context, status);
            if (p < 0 && found.frame_ms > figure_longest_ms(run)) cameras = 1; // a device that is too slow for more
            rates[camera] = 1e3 / found.frame_ms;
            shares[camera] = found.sort_share;
        }
        if (!figure_add(run, device->name, names[shading], triangles, rates, (uint64_t)cameras))
            return figure_no_memory();
        if (shading == PSV_SHADING_PHONG)
            figure_say(run, "%s: %.3g pictures a second of %u triangles, the sort %.1f%% of each. ", device->name,
                       tool_median(rates, (uint64_t)cameras), triangles, 100 * tool_median(shares, (uint64_t)cameras));
    }
    return TOOL_DONE;
}

static int time_pictures(figure_run *run, const figure_device *device, mesh_place *mesh) {
    picture_place place = {.mesh = mesh, .picture = psv_default_picture_def()};
    psv_renderer_def def = psv_default_renderer_def();
    place.picture.width = def.max_width = 640;
    place.picture.height = def.max_height = 360;
    def.max_triangles = mesh->mesh.triangle_count;
    psv_status status = psv_create_renderer(device->context, &def, &place.renderer);
    if (status == PSV_OK) status = psv_alloc_buffer(device->context, 4 * 640 * 360, &place.pixels);
    const int code = status == PSV_OK ? rate_pictures(run, device, &place) : tool_fail_status(device->context, status);
    psv_destroy_renderer(place.renderer);
    psv_free_buffer(device->context, &place.pixels);
    return code;
}

int figure_pictures(figure_run *run) { return measure_meshes(run, time_pictures); }

// --- Table I: trees -------------------------------------------------------------------------------------------------

#define BUILDS 5

static int time_builds(figure_run *run, const figure_device *device, mesh_place *place) {
    static const char *const names[] = {"linear tree", "fine tree"};
    double medians[2] = {0, 0};
    for (int quality = PSV_TREE_LINEAR; quality <= PSV_TREE_FINE; ++quality) {
        psv_tree_def def = psv_default_tree_def();
        def.quality = (psv_tree_quality)quality;
        def.triangles = true;
        def.max_items = place->mesh.triangle_count;
        psv_tree *tree = NULL;
        psv_profile profile;
        double times[BUILDS];
        psv_status status = psv_create_tree(device->context, &def, &tree);
        if (status == PSV_ERROR_UNSUPPORTED) break; // compute shaders build linear trees alone
        const psv_triangle_set set =
            psv_triangles_of(place->vertices, place->mesh.vertex_count, place->indices, place->mesh.triangle_count);
        for (int b = -1; b < BUILDS && status == PSV_OK; ++b) {
            status = psv_build_triangle_tree(tree, &set);
            if (status == PSV_OK) status = psv_wait_profile(device->context, &profile);
            times[b < 0 ? 0 : b] = profile.frame_ms;
        }
        psv_destroy_tree(tree);
        if (status != PSV_OK) return tool_fail_status(device->context, status);
        medians[quality] = tool_median(times, BUILDS);
        if (!figure_add(run, device->name, names[quality], place->mesh.triangle_count, times, BUILDS))
            return figure_no_memory();
    }
    figure_say(run, "%s: the linear tree of %u triangles takes %.3g ms", device->name, place->mesh.triangle_count,
               medians[0]);
    if (medians[1] > 0) figure_say(run, ", the fine tree %.2g times as long", medians[1] / medians[0]);
    figure_say(run, ". ");
    return TOOL_DONE;
}

int figure_trees(figure_run *run) { return measure_meshes(run, time_builds); }

// --- section V: a walk without a stack ------------------------------------------------------------------------------

#define WALK_WIDTH 640
#define WALK_HEIGHT 360
#define WALK_RAYS ((uint64_t)WALK_WIDTH * WALK_HEIGHT)
#define WALK_ROUNDS 5

// Rays from a camera through the middles of the pixels.
static void make_rays(const psv_mesh *mesh, psv_ray *rays) {
    psv_camera view;
    float forward[3], right[3], up[3], length = 0, flat = 0;
    look_from(mesh, 1, &view);
    for (int k = 0; k < 3; ++k) {
        forward[k] = view.target[k] - view.eye[k];
        length += forward[k] * forward[k];
    }
    for (int k = 0; k < 3; ++k)
        forward[k] /= sqrtf(length);
    flat = sqrtf(forward[0] * forward[0] + forward[2] * forward[2]); // the camera never looks straight down
    right[0] = -forward[2] / flat;
    right[1] = 0;
    right[2] = forward[0] / flat;
    for (int k = 0; k < 3; ++k)
        up[k] = right[(k + 1) % 3] * forward[(k + 2) % 3] - right[(k + 2) % 3] * forward[(k + 1) % 3];
    for (uint64_t r = 0; r < WALK_RAYS; ++r) {
        const float x = ((float)(r % WALK_WIDTH) + 0.5f - 0.5f * WALK_WIDTH) / WALK_HEIGHT,
                    y = ((float)(r / WALK_WIDTH) + 0.5f - 0.5f * WALK_HEIGHT) / WALK_HEIGHT;
        rays[r] = (psv_ray){.t_max = INFINITY};
        for (int k = 0; k < 3; ++k) {
            rays[r].origin[k] = view.eye[k];
            rays[r].direction[k] = forward[k] + 0.82f * (x * right[k] - y * up[k]);
        }
    }
}

// Rays whose first hits lie further apart than rounding, or that only one of both finds.
static uint64_t count_other_hits(const psv_ray_hit *a, const psv_ray_hit *b) {
    uint64_t other = 0;
    for (uint64_t r = 0; r < WALK_RAYS; ++r)
        other += (a[r].item == PSV_NO_ITEM) != (b[r].item == PSV_NO_ITEM) ||
                 (a[r].item != PSV_NO_ITEM && fabsf(a[r].t - b[r].t) > 1e-4f * a[r].t);
    return other;
}

// Rates of both walks, hits in `hits`: the stack's, then the trail's.
static int time_walks(figure_run *run, const host_tree *tree, const psv_ray *rays, psv_ray_hit *hits) {
    static const char *const names[] = {"binary, stack", "binary, trail of bits"};
    double rates[2][WALK_ROUNDS];
    uint64_t steps[2];
    for (int r = -1; r < WALK_ROUNDS; ++r)
        for (int walk = HOST_WALK_STACK; walk <= HOST_WALK_TRAIL; ++walk) {
            const double begun = tool_seconds_now();
            host_trace(tree, (host_walk)walk, rays, WALK_RAYS, figure_threads(run), hits + WALK_RAYS * (uint64_t)walk,
                       &steps[walk]);
            rates[walk][r < 0 ? 0 : r] = 1e-6 * (double)WALK_RAYS / (tool_seconds_now() - begun);
        }
    for (int walk = 0; walk < 2; ++walk)
        if (!figure_add(run, "cpu", names[walk], tree->count, rates[walk], WALK_ROUNDS)) return figure_no_memory();
    if (memcmp(hits, hits + WALK_RAYS, WALK_RAYS * sizeof *hits) != 0)
        return tool_fail(TOOL_FAILED, "the walks with and without a stack found different hits");
    figure_say(
        run, "%u triangles, %u levels: without a stack the walk makes %.3f times as many steps, at %.2f of the rate. ",
        tree->count, tree->levels, (double)steps[1] / (double)steps[0],
        figure_value(run, "cpu", names[1], tree->count) / figure_value(run, "cpu", names[0], tree->count));
    return TOOL_DONE;
}

// The same rays through the library's tree; the hits have to agree with `hits` but for rounding at edges.
static int time_library(figure_run *run, const figure_device *device, const mesh_place *place, const psv_ray *rays,
                        const psv_ray_hit *hits, psv_ray_hit *found) {
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    psv_profile profile;
    double rates[WALK_ROUNDS];
    def.triangles = true;
    def.max_items = place->mesh.triangle_count;
    const psv_query_set set =
        psv_queries_of(psv_buffer_of((void *)rays, WALK_RAYS * sizeof *rays), sizeof *rays, WALK_RAYS);
    const psv_triangle_set triangles =
        psv_triangles_of(place->vertices, place->mesh.vertex_count, place->indices, place->mesh.triangle_count);
    psv_status status = psv_create_tree(device->context, &def, &tree);
    if (status == PSV_OK) status = psv_build_triangle_tree(tree, &triangles);
    for (int r = -1; r < WALK_ROUNDS && status == PSV_OK; ++r) {
        status = psv_trace_closest(tree, &set, psv_buffer_of(found, WALK_RAYS * sizeof *found));
        if (status == PSV_OK) status = psv_wait_profile(device->context, &profile);
        rates[r < 0 ? 0 : r] = 1e-3 * (double)WALK_RAYS / profile.frame_ms;
    }
    psv_destroy_tree(tree);
    if (status != PSV_OK) return tool_fail_status(device->context, status);
    if (count_other_hits(hits, found) > WALK_RAYS / 1000)
        return tool_fail(TOOL_FAILED, "%llu rays hit something else in the library's tree",
                         (unsigned long long)count_other_hits(hits, found));
    return figure_add(run, device->name, "eight children, stack", place->mesh.triangle_count, rates, WALK_ROUNDS)
               ? TOOL_DONE
               : figure_no_memory();
}

static int time_all_walks(figure_run *run, const figure_device *device, mesh_place *place) {
    if (!figure_is(device, PSV_BACKEND_CPU)) return TOOL_DONE;
    host_tree tree;
    psv_ray *rays = malloc(WALK_RAYS * sizeof *rays);
    psv_ray_hit *hits = malloc(3 * WALK_RAYS * sizeof *hits);
    int code = rays != NULL && hits != NULL ? TOOL_DONE : figure_no_memory();
    if (code == TOOL_DONE) {
        make_rays(&place->mesh, rays);
        code = tool_fail_status(device->context, host_make_tree(device->context, &place->mesh, &tree));
    }
    if (code == TOOL_DONE) {
        code = time_walks(run, &tree, rays, hits);
        if (code == TOOL_DONE) code = time_library(run, device, place, rays, hits, hits + 2 * WALK_RAYS);
        host_free_tree(&tree);
    }
    free(rays);
    free(hits);
    return code;
}

int figure_walks(figure_run *run) { return measure_meshes(run, time_all_walks); }
