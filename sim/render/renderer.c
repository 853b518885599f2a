// Renderers: checks, memory, and the order of a picture's parts.
#include "renderer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PARTS 8u              // of compounds whose parts all find room; beyond, some are one item each
#define PICTURE_COOKIE 0x70737670u // "psvp"

psv_renderer_def psv_default_renderer_def(void) {
    return (psv_renderer_def){
        .cookie = PSVI_RENDERER_COOKIE, .max_width = 1920, .max_height = 1080, .sort_method = "radix"};
}

psv_picture_def psv_default_picture_def(void) {
    return (psv_picture_def){
        .cookie = PICTURE_COOKIE,
        .width = 960,
        .height = 540,
        .camera = {.eye = {0, 2, 8}, .up = {0, 1, 0}, .field = 0.785398f},
        .sun = {0.42f, 0.80f, 0.43f},
        .sun_radius = 0.02f,
        .mirrors = 0.04f,
        .glass = 0.04f,
        .denoise = true,
        .seed = 1,
    };
}

// --- memory ----------------------------------------------------------------------------------------------------------

static void *part_at(char *block, uint64_t at) { return block == NULL ? NULL : block + at; }

// Parts of the block, in order; with `block` NULL only their size.
static uint64_t carve(psv_renderer *renderer, char *block) {
    const uint64_t pixels = (uint64_t)renderer->def.max_width * renderer->def.max_height;
    const uint64_t items = renderer->scene.items.room, parts = renderer->part_room;
    psvi_render_scene *scene = &renderer->scene;
    psvi_render_pixels *p = &scene->pixels;
    uint64_t at = 0;
    psvi_f4 **values[] = {&p->surface, &p->albedo, &p->emission,  &p->place,
                          &p->light,   &p->colour, &p->smooth[0], &p->smooth[1]};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i, at += psvi_align(pixels * sizeof(psvi_f4)))
        *values[i] = part_at(block, at);
    scene->items.boxes = part_at(block, at);
    at += psvi_align(items * sizeof(psv_aabb));
    scene->rays = part_at(block, at);
    at += psvi_align(sizeof *scene->rays);
    if (renderer->ops->load != NULL) {
        scene->bodies.records = part_at(block, at);
        return at + psvi_align(items * sizeof *scene->bodies.records);
    }
    psvi_f4 **bodies[] = {&scene->bodies.centres, &scene->bodies.turns, &scene->bodies.sizes};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; ++i, at += psvi_align(items * sizeof(psvi_f4)))
        *bodies[i] = part_at(block, at);
    scene->bodies.slots = part_at(block, at);
    at += psvi_align(items * sizeof(uint32_t));
    scene->items.part_slots = part_at(block, at);
    at += psvi_align(parts * sizeof(uint32_t));
    scene->items.parts = part_at(block, at);
    at += psvi_align(parts);
    scene->items.count = part_at(block, at);
    return at + psvi_align(sizeof(uint64_t));
}

static psv_status check_renderer_def(psv_context *context, const psv_renderer_def *def) {
    if (def == NULL || def->cookie != PSVI_RENDERER_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_renderer_def");
    if (def->max_width < 1 || def->max_height < 1 || def->max_width > PSV_MAX_PICTURE_SIDE ||
        def->max_height > PSV_MAX_PICTURE_SIDE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def asks for pictures of %u x %u; each side is 1 to %u",
                         def->max_width, def->max_height, PSV_MAX_PICTURE_SIDE);
    if ((def->world != NULL) == (def->max_triangles > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def needs either a world or max_triangles over 0; it has %s",
                         def->world ? "both" : "neither");
    if (def->world == NULL) return PSV_OK;
    const psvi_render_ops *ops = psvi_render_ops_of(context->backend);
    const psv_status status = psvi_check_world(def->world);
    if (status != PSV_OK || def->world->context == context) return status;
    if (ops != NULL && ops->load != NULL) {
        if (def->world->context->ops->immediate) return PSV_OK;
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend renders worlds of the CPU; def.world is on %s",
                         context->ops->name, def->world->context->ops->name);
    }
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.world belongs to another context");
}

// Room for the parts of compounds: for all of the world's, up to `limit` a body.
static uint64_t room_for_parts(const psv_world *world, uint64_t limit) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < world->shape_count; ++i)
        if (world->shapes[i].data.type == PSV_SHAPE_COMPOUND && world->shapes[i].data.child_count > most)
            most = world->shapes[i].data.child_count;
    return world->def.max_bodies * (most < limit ? most : limit);
}

static psv_status make_parts(psv_renderer *renderer) {
    psv_context *context = renderer->context;
    const psv_renderer_def *def = &renderer->def;
    psv_tree_def tree = psv_default_tree_def();
    tree.quality = def->quality;
    tree.sort_method = def->sort_method;
    tree.triangles = def->world == NULL;
    tree.max_items = def->max_triangles;
    if (def->world != NULL) {
        renderer->part_room = room_for_parts(def->world, renderer->ops->load != NULL ? UINT64_MAX : MOST_PARTS);
        renderer->scene.items.room = tree.max_items = def->world->def.max_bodies + renderer->part_room;
    }
    psv_status status = psv_create_tree(context, &tree, &renderer->tree);
    if (status != PSV_OK) return status;
    renderer->block_bytes = carve(renderer, NULL);
    renderer->block = psvi_alloc(context, renderer->block_bytes);
    if (renderer->block == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of a renderer",
                         renderer->block_bytes);
    (void)carve(renderer, renderer->block);
    return PSV_OK;
}

psv_status psv_create_renderer(psv_context *context, const psv_renderer_def *def, psv_renderer **renderer) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (renderer == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "renderer is NULL");
    *renderer = NULL;
    status = check_renderer_def(context, def);
    if (status == PSV_OK && psvi_render_ops_of(context->backend) == NULL)
        status =
            psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the backend %s renders no pictures; cpu, cuda, gl and vulkan do",
                      psv_backend_name(context->backend));
    if (status != PSV_OK) return status;
    psv_renderer *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a renderer");
    made->cookie = PSVI_RENDERER_COOKIE;
    made->context = context;
    made->ops = psvi_render_ops_of(context->backend);
    made->def = *def;
    made->scene.has_bodies = def->world != NULL;
    status = make_parts(made);
    if (status != PSV_OK)
        psv_destroy_renderer(made);
    else
        *renderer = made;
    return status;
}

void psv_destroy_renderer(psv_renderer *renderer) {
    if (renderer == NULL || renderer->cookie != PSVI_RENDERER_COOKIE) return;
    (void)psv_synchronize(renderer->context);
    psvi_forget_pictures(renderer->context, &renderer->profile);
    psvi_free_render_ground(renderer);
    psv_destroy_tree(renderer->tree);
    psvi_free(renderer->context, renderer->block, renderer->block_bytes);
    renderer->cookie = 0;
    free(renderer);
}

// --- a picture's numbers ---------------------------------------------------------------------------------------------

static psv_status check_view(psv_context *context, const psv_camera *camera, v3 *forward, v3 *right) {
    const v3 eye = v3_of(camera->eye), target = v3_of(camera->target), up = v3_of(camera->up);
    if (!psvi_finite(eye) || !psvi_finite(target) || !psvi_finite(up))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.camera has a value that is not finite");
    *forward = v3_unit_or(v3_sub(target, eye), v3_make(0, 0, 0));
    if (!(v3_dot(*forward, *forward) > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.camera.eye and target are the same place");
    *right = v3_unit_or(v3_cross(*forward, v3_unit_or(up, v3_make(0, 0, 0))), v3_make(0, 0, 0));
    if (!(v3_dot(*right, *right) > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.camera.up is zero or the direction of view");
    if (!(camera->field > 0) || !(camera->field <= 3))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.camera.field is %g; it must be over 0 and at most 3",
                         (double)camera->field);
    return PSV_OK;
}

static psv_status check_light(psv_context *context, const psv_picture_def *picture) {
    const v3 sun = v3_unit_or(v3_of(picture->sun), v3_make(0, 0, 0));
    if (!psvi_finite(v3_of(picture->sun)) || !(v3_dot(sun, sun) > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.sun must be finite and not zero");
    if (!(picture->sun_radius >= 0) || !(picture->sun_radius <= 0.5f))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.sun_radius is %g; it must be 0 to 0.5",
                         (double)picture->sun_radius);
    if (picture->sky < PSV_SKY_AUTO || picture->sky > PSV_SKY_SPACE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.sky is %d; it is 0 to 2", (int)picture->sky);
    if (picture->shading < PSV_SHADING_DAYLIGHT || picture->shading > PSV_SHADING_PHONG)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture.shading is %d; it is 0 or 1", (int)picture->shading);
    if (!(picture->mirrors >= 0) || !(picture->glass >= 0) || !(picture->mirrors + picture->glass <= 1))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "picture.mirrors is %g and picture.glass %g; shares are 0 to 1, and 1 together at most",
                         (double)picture->mirrors, (double)picture->glass);
    return PSV_OK;
}

// Grid lines are a power of ten apart, so that eight or more lie between the eye and its target.
static float grid_cell(float distance) { return powf(10, floorf(log10f(distance / 8))); }

static psv_status aim(psv_renderer *renderer, const psv_picture_def *picture) {
    psv_context *context = renderer->context;
    psvi_render_scene *scene = &renderer->scene;
    if (picture == NULL || picture->cookie != PICTURE_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "picture was not made by psv_default_picture_def");
    if (picture->width < 1 || picture->height < 1 || picture->width > renderer->def.max_width ||
        picture->height > renderer->def.max_height)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "the picture is %u x %u; the renderer has room for 1 x 1 to %u x %u", picture->width,
                         picture->height, renderer->def.max_width, renderer->def.max_height);
    v3 forward, right = v3_make(0, 0, 0);
    psv_status status = check_view(context, &picture->camera, &forward, &right);
    if (status == PSV_OK) status = check_light(context, picture);
    if (status == PSV_OK && picture->shading == PSV_SHADING_PHONG && !renderer->ops->phong)
        status = psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the backend %s has no Phong shading",
                           psv_backend_name(context->backend));
    if (status != PSV_OK) return status;
    const float half = tanf(0.5f * picture->camera.field);
    scene->width = picture->width;
    scene->height = picture->height;
    scene->eye = v3_of(picture->camera.eye);
    scene->forward = forward;
    scene->right = v3_scale(right, half * (float)picture->width / (float)picture->height);
    scene->up = v3_scale(v3_cross(right, forward), half);
    scene->pixel = 2 * half / (float)picture->height;
    scene->scale = v3_length(v3_sub(v3_of(picture->camera.target), scene->eye));
    scene->cell = grid_cell(scene->scale);
    scene->sun = v3_unit_or(v3_of(picture->sun), forward);
    v3_tangents(scene->sun, &scene->sun_right, &scene->sun_up);
    scene->sun_right = v3_scale(scene->sun_right, tanf(picture->sun_radius));
    scene->sun_up = v3_scale(scene->sun_up, tanf(picture->sun_radius));
    scene->space = picture->sky == PSV_SKY_SPACE;
    scene->phong = picture->shading == PSV_SHADING_PHONG;
    scene->mirrors = picture->mirrors;
    scene->glass = picture->glass;
    scene->seed = picture->seed;
    scene->frame = picture->frame;
    return PSV_OK;
}

static bool same_floats(const float *a, const float *b, int count) {
    for (int i = 0; i < count; ++i)
        if (a[i] != b[i]) return false;
    return true;
}

static bool same_picture(const psv_picture_def *a, const psv_picture_def *b) {
    return a->width == b->width && a->height == b->height && same_floats(a->camera.eye, b->camera.eye, 3) &&
           same_floats(a->camera.target, b->camera.target, 3) && same_floats(a->camera.up, b->camera.up, 3) &&
           a->camera.field == b->camera.field && same_floats(a->sun, b->sun, 3) && a->sun_radius == b->sun_radius &&
           a->sky == b->sky && a->shading == b->shading && a->mirrors == b->mirrors && a->glass == b->glass &&
           a->seed == b->seed;
}

// --- a picture -------------------------------------------------------------------------------------------------------

static psv_status check_targets(psv_renderer *renderer, const psv_picture_def *picture, psv_buffer pixels,
                                psv_buffer hits) {
    const uint64_t count = (uint64_t)picture->width * picture->height;
    psv_status status = psvi_check_buffer(renderer->context, pixels, count * 4, 4, "pixels");
    if (status == PSV_OK && psvi_is_given(hits))
        status = psvi_check_buffer(renderer->context, hits, count * sizeof(psv_pixel_hit), 4, "hits");
    renderer->scene.pixels.final = psvi_buffer_address(pixels);
    renderer->scene.pixels.hits = psvi_buffer_address(hits);
    return status;
}

// What this picture adds to, and how much of its light is smoothed: less, the more samples there are.
static void begin_samples(psv_renderer *renderer, const psv_picture_def *picture) {
    psvi_render_scene *scene = &renderer->scene;
    const psv_world *world = renderer->def.world;
    const uint64_t steps = world != NULL ? world->steps_asked : 0, bodies = world != NULL ? world->body_serial : 0;
    const bool rests = picture->rests && renderer->has_last && renderer->last_steps == steps &&
                       renderer->last_bodies == bodies && same_picture(&renderer->last, picture);
    renderer->last_steps = steps;
    renderer->last_bodies = bodies;
    scene->added_up = rests ? scene->added_up + 1 : 0;
    const uint32_t n = scene->added_up;
    scene->passes = !picture->denoise || scene->phong || n >= PSVI_RENDER_ENOUGH ? 0
                    : n >= 16                                                    ? 3
                    : n >= 4                                                     ? 4
                                                                                 : PSVI_RENDER_PASSES;
}

static psv_status trace_and_filter(psv_renderer *renderer) {
    psv_context *context = renderer->context;
    renderer->scene.tree = psvi_view_of_tree(renderer->tree);
    psv_status status = context->ops->fill(context, renderer->scene.rays, 0, sizeof(uint64_t));
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    status = renderer->ops->trace(context, &renderer->scene);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_INTEGRATE);
    status = renderer->ops->filter(context, &renderer->scene);
    psvi_phase_end(context, PSV_PHASE_INTEGRATE);
    return status;
}

// The tree of bodies that the host knows.
static psv_status build_loaded(psv_renderer *renderer) {
    psv_context *context = renderer->context;
    const psvi_render_items *items = &renderer->scene.items;
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    const psv_status status = renderer->ops->load(renderer);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    const psv_buffer boxes = psvi_buffer_at(context, items->boxes, items->room * sizeof(psv_aabb));
    const psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), items->room);
    return status == PSV_OK ? psv_build_tree(renderer->tree, &set) : status;
}

// The bodies' boxes, their tree, and the bodies in its order.
static psv_status build_bodies(psv_renderer *renderer) {
    psv_context *context = renderer->context;
    psvi_render_scene *scene = &renderer->scene;
    if (renderer->ops->load != NULL) return build_loaded(renderer);
    // Parts lie right behind the slots in use.
    scene->items.room = scene->sim.slots + renderer->part_room;
    const uint64_t room = scene->items.room;
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    psv_status status = renderer->ops->items(context, scene);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    psv_box_set set = psv_boxes_of(psv_buffer_of(scene->items.boxes, room * sizeof(psv_aabb)), sizeof(psv_aabb), room);
    if (renderer->part_room > 0) set.count_buffer = psv_buffer_of(scene->items.count, sizeof *scene->items.count);
    if (status == PSV_OK) status = psv_build_tree(renderer->tree, &set);
    if (status == PSV_OK) status = psv_view_tree(renderer->tree, &renderer->scene.tree);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    status = renderer->ops->place(context, scene, room);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return status;
}

static psv_status check_renderer(const psv_renderer *renderer, bool with_world) {
    if (renderer == NULL || renderer->cookie != PSVI_RENDERER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "renderer is NULL or destroyed");
    if ((renderer->def.world != NULL) == with_world) return PSV_OK;
    return psvi_fail(renderer->context, PSV_ERROR_ARGUMENT,
                     with_world ? "the renderer was made for triangles, without a world"
                                : "the renderer was made for a world's bodies, not for triangles");
}

static void end_picture(psv_renderer *renderer, const psv_picture_def *picture, psv_status status) {
    psvi_frame_end(renderer->context);
    renderer->has_last = status == PSV_OK;
    renderer->last = *picture;
}

psv_status psv_render_world(psv_renderer *renderer, const psv_picture_def *picture, psv_buffer pixels,
                            psv_buffer hits) {
    psv_status status = check_renderer(renderer, true);
    if (status == PSV_OK) status = psvi_check_world(renderer->def.world);
    if (status == PSV_OK) status = psvi_settle(renderer->def.world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(renderer->context);
    status = aim(renderer, picture);
    if (status == PSV_OK) status = check_targets(renderer, picture, pixels, hits);
    if (status == PSV_OK) status = psvi_update_render_ground(renderer);
    if (status != PSV_OK) return status;
    if (picture->sky == PSV_SKY_AUTO) renderer->scene.space = renderer->scene.ground_count == 0;
    renderer->scene.sim = renderer->def.world->sim; // shapes that were added may have moved its arrays
    begin_samples(renderer, picture);
    renderer->last_recorded = psvi_picture_begin(renderer->context, &renderer->profile);
    if (renderer->scene.added_up == 0) status = build_bodies(renderer);
    if (status == PSV_OK) status = trace_and_filter(renderer);
    end_picture(renderer, picture, status);
    return status;
}

psv_status psv_render_triangles(psv_renderer *renderer, const psv_triangle_set *triangles,
                                const psv_picture_def *picture, psv_buffer pixels, psv_buffer hits) {
    psv_status status = check_renderer(renderer, false);
    if (status != PSV_OK) return status;
    psv_context *context = renderer->context;
    PSVI_STANDARD_FLOATS(context);
    if (triangles == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "triangles is NULL");
    status = aim(renderer, picture);
    if (status == PSV_OK) status = check_targets(renderer, picture, pixels, hits);
    if (status != PSV_OK) return status;
    psv_triangle_set set = *triangles;
    set.worlds = (psv_buffer){0};
    begin_samples(renderer, picture);
    renderer->last_recorded = psvi_picture_begin(context, &renderer->profile);
    if (renderer->scene.added_up == 0) status = psv_build_triangle_tree(renderer->tree, &set);
    if (status == PSV_OK) status = trace_and_filter(renderer);
    end_picture(renderer, picture, status);
    return status;
}

psv_status psv_read_render_statistics(psv_renderer *renderer, psv_render_statistics *statistics) {
    if (renderer == NULL || renderer->cookie != PSVI_RENDERER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "renderer is NULL or destroyed");
    psv_context *context = renderer->context;
    if (statistics == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    if (!renderer->has_last) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the renderer has no picture yet");
    psv_tree_statistics tree;
    psv_render_statistics found = {.added_up = renderer->scene.added_up + 1};
    psv_status status = psv_read_tree_statistics(renderer->tree, &tree);
    if (status == PSV_OK)
        status = psv_download(context, &found.rays, psvi_buffer_at(context, renderer->scene.rays, sizeof found.rays),
                              sizeof found.rays);
    if (status == PSV_OK) status = psvi_wait_pictures(context);
    if (status != PSV_OK) return status;
    const psv_profile none = {0},
                      profile = renderer->profile.frame == renderer->last_recorded ? renderer->profile : none;
    found.items = tree.items;
    found.bad_items = renderer->def.world == NULL ? tree.bad_items : 0; // empty slots and ground are none
    found.frame_ms = profile.frame_ms;
    found.bounds_ms = profile.phase_ms[PSV_PHASE_BOUNDS];
    found.keys_ms = profile.phase_ms[PSV_PHASE_KEYS];
    found.sort_ms = profile.phase_ms[PSV_PHASE_SORT];
    found.build_ms = profile.phase_ms[PSV_PHASE_GATHER];
    found.trace_ms = profile.phase_ms[PSV_PHASE_SWEEP];
    found.filter_ms = profile.phase_ms[PSV_PHASE_INTEGRATE];
    if (found.trace_ms > 0) found.rays_per_second = 1e3 * (double)found.rays / found.trace_ms;
    if (found.frame_ms > 0) found.sort_share = found.sort_ms / found.frame_ms;
    *statistics = found;
    return PSV_OK;
}
