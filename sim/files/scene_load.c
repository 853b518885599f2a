// Scenes: loads a file or a shipped scene, and applies the effects of each frame.
#include "../../core/portable/path_parts.h"
#include "../data/whole_file.h"
#include "scene.h"
#include "snapshot_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_COOKIE 0x70737734u

psv_scene_options psv_default_scene_options(void) { return (psv_scene_options){.cookie = OPTIONS_COOKIE}; }

const char *psv_shipped_scene_name(uint32_t index) {
    for (uint32_t i = 0; i < index; ++i)
        if (psvi_shipped_scenes[i].name == NULL) return NULL;
    return psvi_shipped_scenes[index].name;
}

const char *psv_shipped_scene_description(uint32_t index) {
    return psv_shipped_scene_name(index) == NULL ? NULL : psvi_shipped_scenes[index].description;
}

// --- parts of the file -----------------------------------------------------------------------------------------------

// A method's name, known to the backend in use; one that the options replace is not looked at.
static psv_status read_method(const psvi_node *object, const char *key,
                              const char *(*name_of)(psv_backend backend, uint32_t index), const char *replaced_by,
                              const char **out) {
    psvi_node node = psvi_member(object, key);
    const char *name = NULL;
    psv_status status = psvi_read_string(object, key, &name);
    if (status != PSV_OK || name == NULL || replaced_by != NULL) return status;
    const psv_backend backend = object->document->context->backend;
    char offered[200] = "auto";
    bool known = strcmp(name, "auto") == 0;
    for (uint32_t i = 0; name_of(backend, i) != NULL; ++i) {
        size_t used = strlen(offered);
        snprintf(offered + used, sizeof offered - used, ", %s", name_of(backend, i));
        known = known || strcmp(name, name_of(backend, i)) == 0;
    }
    if (!known)
        return psvi_node_fail(&node, "\"%s\": '%.40s' is not offered by the %s backend of this build; offered: %s", key,
                              name, psv_backend_name(backend), offered);
    *out = name;
    return PSV_OK;
}

static psv_status read_world(psvi_builder *b, const psvi_node *root, const psv_scene_options *options) {
    static const char *const keys[] = {"gravity", "substeps",    "self_gravity", "softening",
                                       "bounds",  "broad_phase", "sort_method",  NULL};
    psvi_node node = psvi_member(root, "world");
    if (node.value == NULL) return PSV_OK;
    psv_world_def *def = &b->world;
    uint64_t substeps = def->substeps;
    psv_status status = psvi_expect_object(&node, keys);
    if (status == PSV_OK) status = psvi_read_floats(&node, "gravity", 3, def->gravity);
    if (status == PSV_OK) status = psvi_read_count(&node, "substeps", 1, 64, &substeps);
    if (status == PSV_OK) status = psvi_read_float(&node, "self_gravity", 0, 1e12, &def->self_gravity);
    if (status == PSV_OK) status = psvi_read_float(&node, "softening", 0, 1e6, &def->softening);
    if (status == PSV_OK)
        status = read_method(&node, "broad_phase", psv_broad_phase_name, options->broad_phase, &def->broad_phase);
    if (status == PSV_OK)
        status = read_method(&node, "sort_method", psv_pair_sort_name, options->sort_method, &def->sort_method);
    float bounds = 0;
    if (status == PSV_OK) status = psvi_read_float(&node, "bounds", 1, 1e9, &bounds);
    for (int i = 0; bounds > 0 && i < 3; ++i) {
        def->bounds_min[i] = -bounds;
        def->bounds_max[i] = bounds;
    }
    def->substeps = (uint32_t)substeps;
    return status;
}

static psv_status read_view(psvi_builder *b, const psvi_node *root) {
    static const char *const keys[] = {"eye", "target", "per_size", NULL};
    psv_scene *scene = b->scene;
    psvi_node node = psvi_member(root, "view");
    if (node.value == NULL) return PSV_OK;
    float per = 0;
    psv_status status = psvi_expect_object(&node, keys);
    if (status == PSV_OK) status = psvi_read_floats(&node, "eye", 3, scene->eye);
    if (status == PSV_OK) status = psvi_read_floats(&node, "target", 3, scene->target);
    if (status == PSV_OK) status = psvi_read_float(&node, "per_size", 0, 1e9, &per);
    // The view is for `per_size` bodies; it moves back as the scene grows in every direction.
    float scale = per > 0 ? cbrtf((float)b->wanted / per) : 1.0f;
    for (int i = 0; i < 3; ++i) {
        scene->eye[i] *= scale * b->room_length;
        scene->target[i] *= scale * b->room_length;
    }
    return status;
}

// A room with six walls for `density` bodies a cubic metre; lengths of «random», gravity and view are in room lengths.
static psv_status read_room(psvi_builder *b, const psvi_node *root) {
    static const char *const keys[] = {"density", "friction", "restitution", NULL};
    psvi_node node = psvi_member(root, "room");
    b->room_length = 1;
    if (node.value == NULL) return PSV_OK;
    float density = 0.1f;
    psv_shape_def wall = psv_default_shape_def();
    wall.type = PSV_SHAPE_PLANE;
    psv_status status = psvi_expect_object(&node, keys);
    if (status == PSV_OK) status = psvi_read_float(&node, "density", 1e-9, 1e9, &density);
    if (status == PSV_OK) status = psvi_read_float(&node, "friction", 0, 100, &wall.friction);
    if (status == PSV_OK) status = psvi_read_float(&node, "restitution", 0, 1, &wall.restitution);
    b->room_length = cbrtf((float)b->wanted / density);
    uint32_t shape = 0;
    if (status == PSV_OK) status = psvi_add_shape_def(b, &wall, &shape);
    const float r = 0.70710678f;
    static const float side[6][3] = {{0, -1, 0}, {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 0, -1}, {0, 0, 1}};
    const float turn[6][4] = {{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 0, -r, r}, {0, 0, r, r}, {r, 0, 0, r}, {-r, 0, 0, r}};
    for (int i = 0; status == PSV_OK && i < 6; ++i) {
        psv_body_def def = psv_default_body_def();
        def.shape = shape;
        for (int k = 0; k < 3; ++k)
            def.pose.position[k] = 0.5f * b->room_length * side[i][k];
        memcpy(def.pose.rotation, turn[i], sizeof turn[i]);
        status = psvi_add_body(b, &def);
    }
    for (int k = 0; k < 3; ++k)
        b->world.gravity[k] *= b->room_length;
    return status;
}

static psv_status read_worlds(psvi_builder *b, const psvi_node *root) {
    static const char *const keys[] = {"bodies_per_world", "spacing", NULL};
    psvi_node node = psvi_member(root, "worlds");
    if (node.value == NULL) return PSV_OK;
    uint64_t each = 32;
    b->world_spacing = 10;
    psv_status status = psvi_expect_object(&node, keys);
    if (status == PSV_OK) status = psvi_read_count(&node, "bodies_per_world", 1, 1000000, &each);
    if (status == PSV_OK) status = psvi_read_float(&node, "spacing", 0, 1e6, &b->world_spacing);
    b->bodies_per_world = each;
    b->world.sub_world_count = (uint32_t)((b->wanted + each - 1) / each);
    return status;
}

static psv_status read_effects(psvi_builder *b, const psvi_node *root) {
    static const char *const turn_keys[] = {"strength", "degrees_per_second", NULL};
    static const char *const kick_keys[] = {"share", "speed", NULL};
    psv_scene *scene = b->scene;
    psvi_node turn = psvi_member(root, "turning_gravity"), kick = psvi_member(root, "brownian");
    psv_status status = PSV_OK;
    if (turn.value != NULL) {
        float strength = 1, degrees = 58.0645f;
        status = psvi_expect_object(&turn, turn_keys);
        if (status == PSV_OK) status = psvi_read_float(&turn, "strength", 0, 1e6, &strength);
        if (status == PSV_OK) status = psvi_read_float(&turn, "degrees_per_second", -1e6, 1e6, &degrees);
        scene->turns_gravity = true;
        scene->turn_radians = degrees * scene->frame_seconds * 0.01745329252f;
        scene->axis = v3_make(0, 1, 0);
        scene->gravity = v3_make(strength * b->room_length, 0, 0);
    }
    if (status == PSV_OK && kick.value != NULL) {
        scene->kick_share = 0.01f;
        status = psvi_expect_object(&kick, kick_keys);
        if (status == PSV_OK) status = psvi_read_float(&kick, "share", 0, 1, &scene->kick_share);
        if (status == PSV_OK) status = psvi_read_float(&kick, "speed", 0, 1e6, &scene->kick_speed);
        scene->kick_speed *= b->room_length;
    }
    return status;
}

// Single bodies: ground, walls. With «worlds», one of each in every sub-world.
static psv_status read_fixed(psvi_builder *b, const psvi_node *root) {
    static const char *const keys[] = {"shape",  "position",  "rotation", "velocity", "angular_velocity",
                                       "static", "kinematic", NULL};
    psvi_node list = psvi_member(root, "fixed");
    if (list.value == NULL) return PSV_OK;
    psv_status status = psvi_expect_array(&list, 0, 100000);
    for (size_t i = 0; status == PSV_OK && i < json_array_size(list.value); ++i) {
        psvi_node node = psvi_element(&list, i);
        psv_body_def def = psv_default_body_def();
        const char *name = NULL;
        def.is_static = true;
        status = psvi_expect_object(&node, keys);
        if (status == PSV_OK) status = psvi_read_string(&node, "shape", &name);
        if (status == PSV_OK) status = psvi_read_floats(&node, "position", 3, def.pose.position);
        if (status == PSV_OK) status = psvi_read_floats(&node, "rotation", 4, def.pose.rotation);
        if (status == PSV_OK) status = psvi_read_floats(&node, "velocity", 3, def.velocity);
        if (status == PSV_OK) status = psvi_read_floats(&node, "angular_velocity", 3, def.angular_velocity);
        if (status == PSV_OK) status = psvi_read_bool(&node, "kinematic", &def.is_kinematic);
        def.is_static = !def.is_kinematic;
        if (status == PSV_OK) status = psvi_read_bool(&node, "static", &def.is_static);
        if (status != PSV_OK) return status;
        const float *q = def.pose.rotation;
        if (!(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > 1e-6f))
            return psvi_node_fail(&node, "\"rotation\" must be a quaternion [x, y, z, w] that is not zero");
        const psvi_scene_shape *shape = name == NULL ? NULL : psvi_find_shape(b, name);
        if (shape == NULL) return psvi_node_fail(&node, "\"shape\" must name a shape of \"shapes\"");
        def.shape = shape->first + (uint32_t)(i % shape->colours); // in turn
        for (uint32_t w = 0; status == PSV_OK && w < b->world.sub_world_count; ++w) {
            def.sub_world = w;
            status = psvi_add_body(b, &def);
        }
    }
    return status;
}

// --- building --------------------------------------------------------------------------------------------------------

static psv_status create_world(psvi_builder *b) {
    psv_scene *scene = b->scene;
    psv_context *context = scene->context;
    b->world.max_bodies = b->body_count;
    for (uint32_t i = 0; i < scene->emitter_count; ++i)
        b->world.max_bodies += scene->emitters[i].count;
    b->world.max_bodies += b->world.max_bodies / 64 + 256; // for bodies that a viewer throws in
    b->world.max_shapes = b->shape_def_count + 64;
    psv_status status = psv_create_world(context, &b->world, &scene->world);
    for (uint32_t i = 0; status == PSV_OK && i < b->shape_def_count; ++i) {
        uint32_t shape;
        status = psv_create_shape(scene->world, &b->shape_defs[i], &shape);
    }
    if (status == PSV_OK) status = psv_create_bodies(scene->world, b->bodies, b->body_count, NULL);
    return status;
}

// What the bodies take must be there before anything is generated.
static psv_status check_memory(psvi_builder *b, const psvi_node *root) {
    psv_world_def def = b->world;
    const uint64_t most = (uint64_t)1 << 40; // beyond, bytes no longer fit their type
    def.max_bodies = b->wanted < most ? b->wanted : most;
    uint64_t needed = psvi_world_bytes(b->scene->context->backend, &def);
    uint64_t host = def.max_bodies * sizeof(psv_body_def) * 2;
    if (b->wanted > most)
        needed = needed < UINT64_MAX / (b->wanted / most + 1) ? needed * (b->wanted / most) : UINT64_MAX;
    uint64_t free_bytes = 0, total_bytes = 0;
    psv_status status = psv_memory_info(b->scene->context, &free_bytes, &total_bytes);
    if (status != PSV_OK) return status;
    if (b->scene->context->ops->immediate && needed < UINT64_MAX - host) needed += host;
    if (b->wanted > 1u << 30 || needed > free_bytes)
        return psvi_fail(b->scene->context, PSV_ERROR_MEMORY,
                         "%s with %llu bodies needs %llu bytes of %s memory; %llu are free of %llu",
                         root->document->name, (unsigned long long)b->wanted, (unsigned long long)needed,
                         psv_backend_name(b->scene->context->backend), (unsigned long long)free_bytes,
                         (unsigned long long)total_bytes);
    return PSV_OK;
}

// As much of the name as there is room for, and no half of a character.
static void set_name(psv_scene *scene, const char *name) {
    size_t end = strlen(name);
    if (end >= sizeof scene->name) end = sizeof scene->name - 1;
    while (end > 0 && (name[end] & 0xc0) == 0x80)
        --end;
    memcpy(scene->name, name, end);
    scene->name[end] = 0;
}

static psv_status read_root(psvi_builder *b, const psv_scene_options *options) {
    static const char *const keys[] = {
        "name",   "description", "bodies", "seed",       "frame_seconds", "world",           "view",    "room",
        "worlds", "shapes",      "fixed",  "generators", "brownian",      "turning_gravity", "$schema", NULL};
    psv_scene *scene = b->scene;
    psvi_node root = psvi_document_root(b->document);
    psv_status status = psvi_expect_object(&root, keys);
    const char *name = scene->name, *text = NULL;
    b->wanted = 1000;
    if (status == PSV_OK) status = psvi_read_string(&root, "name", &name);
    if (status == PSV_OK) status = psvi_read_string(&root, "description", &text);
    if (status == PSV_OK) status = psvi_read_string(&root, "$schema", &text);
    if (status == PSV_OK) status = psvi_read_count(&root, "bodies", 1, 1u << 30, &b->wanted);
    if (status == PSV_OK) status = psvi_read_count(&root, "seed", 0, INT64_MAX, &scene->seed);
    if (status == PSV_OK) status = psvi_read_float(&root, "frame_seconds", 1e-4, 1, &scene->frame_seconds);
    if (status == PSV_OK) status = read_world(b, &root, options);
    if (status != PSV_OK) return status;
    if (name != scene->name) set_name(scene, name);
    if (options->bodies > 0) b->wanted = options->bodies;
    if (options->has_seed) scene->seed = options->seed;
    if (options->sleeping && !(b->world.self_gravity > 0)) b->world.sleeping = true;
    b->world.contact_events = options->contact_events;
    if (options->broad_phase != NULL) b->world.broad_phase = options->broad_phase;
    if (options->sort_method != NULL) b->world.sort_method = options->sort_method;
    scene->bodies = b->wanted;
    b->random = psvi_mix64(scene->seed);
    status = check_memory(b, &root);
    psvi_node shapes = psvi_member(&root, "shapes"), generators = psvi_member(&root, "generators");
    if (status == PSV_OK && generators.value == NULL) status = psvi_node_fail(&root, "a scene needs \"generators\"");
    if (status == PSV_OK && shapes.value == NULL) status = psvi_node_fail(&root, "a scene needs \"shapes\"");
    if (status == PSV_OK) status = psvi_read_shapes(b, &shapes);
    if (status == PSV_OK) status = read_room(b, &root);
    if (status == PSV_OK) status = read_view(b, &root);
    if (status == PSV_OK) status = read_worlds(b, &root);
    if (status == PSV_OK) status = read_effects(b, &root);
    if (status == PSV_OK) status = read_fixed(b, &root);
    if (status == PSV_OK) status = psvi_run_generators(b, &generators);
    return status == PSV_OK ? create_world(b) : status;
}

static void free_builder(psvi_builder *b) {
    for (uint32_t i = 0; i < b->shape_count; ++i) {
        free(b->shapes[i].radius);
        free(b->shapes[i].weight);
    }
    for (uint32_t i = 0; i < b->shape_def_count; ++i) {
        if (i > 0 && psvi_shares_lists(&b->shape_defs[i - 1], &b->shape_defs[i])) continue;
        free((void *)(uintptr_t)b->shape_defs[i].children);
        free((void *)(uintptr_t)b->shape_defs[i].heights);
        free((void *)(uintptr_t)b->shape_defs[i].vertices);
        free((void *)(uintptr_t)b->shape_defs[i].indices);
    }
    free(b->shapes);
    free(b->shape_defs);
    free(b->bodies);
}

static psv_status build_scene(psv_context *context, const char *name, const char *folder, const char *text,
                              size_t length, const psv_scene_options *options, psv_scene **out) {
    psvi_document document;
    psv_status status = psvi_parse_document(context, name, text, length, &document);
    if (status != PSV_OK) return status;
    psv_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        psvi_free_document(&document);
        return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a scene (%zu bytes)", sizeof *scene);
    }
    *scene = (psv_scene){.context = context, .frame_seconds = 1.0f / 60, .eye = {0, 20, 40}, .seed = 1};
    (void)snprintf(scene->name, sizeof scene->name, "%s", name);
    psvi_builder builder = {.scene = scene, .document = &document, .folder = folder, .world = psv_default_world_def()};
    status = read_root(&builder, options);
    free_builder(&builder);
    psvi_free_document(&document);
    if (status != PSV_OK) {
        psv_destroy_scene(scene);
        return status;
    }
    *out = scene;
    return PSV_OK;
}

// A snapshot goes on from where it was saved; what else a scene has (emitters, turning gravity, a camera) is not in it.
static bool is_snapshot(const char *path) {
    char magic[sizeof PSVI_SNAPSHOT_MAGIC - 1] = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false; // said by whoever reads it
    const bool whole = fread(magic, sizeof magic, 1, file) == 1;
    (void)fclose(file);
    return whole && memcmp(magic, PSVI_SNAPSHOT_MAGIC, sizeof magic) == 0;
}

static psv_status load_snapshot(psv_context *context, const char *path, const psv_scene_options *options,
                                psv_scene **out) {
    const char *given = options->bodies != 0           ? "number of bodies"
                        : options->has_seed            ? "seed"
                        : options->broad_phase != NULL ? "broad phase"
                        : options->sort_method != NULL ? "sorting method"
                                                       : NULL;
    if (given != NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is a snapshot, which has its own %s", path, given);
    psv_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a scene (%zu bytes)", sizeof *scene);
    *scene = (psv_scene){.context = context, .frame_seconds = 1.0f / 60, .seed = 1};
    (void)snprintf(scene->name, sizeof scene->name, "%s", path);
    const psv_status status = psv_restore_snapshot(context, path, &scene->world);
    if (status != PSV_OK) {
        psv_destroy_scene(scene);
        return status;
    }
    *out = scene;
    return PSV_OK;
}

#define MOST_SCENE_BYTES ((uint64_t)64 << 20)

psv_status psv_load_scene(psv_context *context, const char *name_or_path, const psv_scene_options *options,
                          psv_scene **scene) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(context);
    if (name_or_path == NULL || scene == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", scene == NULL ? "scene" : "name_or_path");
    *scene = NULL;
    psv_scene_options fresh = psv_default_scene_options();
    if (options == NULL) options = &fresh;
    if (options->cookie != OPTIONS_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "options has no cookie: start from psv_default_scene_options()");
    status = psvi_check_steps_worlds(context);
    if (status != PSV_OK) return status;
    for (const psvi_shipped_scene *s = psvi_shipped_scenes; s->name != NULL; ++s)
        if (strcmp(s->name, name_or_path) == 0)
            return build_scene(context, s->name, NULL, (const char *)s->text, s->length, options, scene);
    if (is_snapshot(name_or_path)) return load_snapshot(context, name_or_path, options, scene);
    if (strchr(name_or_path, '/') == NULL && strstr(name_or_path, ".json") == NULL) {
        char list[300] = "";
        for (const psvi_shipped_scene *s = psvi_shipped_scenes; s->name != NULL; ++s)
            (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", s->name);
        return psvi_fail(context, PSV_ERROR_FILE,
                         "no shipped scene is called \"%.60s\"; there are %s, or give a .json "
                         "file",
                         name_or_path, list);
    }
    char *text = NULL, folder[1024] = ".";
    uint64_t length = 0;
    status = psvi_read_whole_file(context, name_or_path, "a scene", MOST_SCENE_BYTES, &text, &length);
    if (status != PSV_OK) return status;
    const char *slash = psvi_last_slash(name_or_path);
    if (slash != NULL && (size_t)(slash - name_or_path) < sizeof folder)
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - name_or_path), name_or_path);
    const size_t mark =
        length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; // of some editors; no part of the text
    status = build_scene(context, name_or_path, folder, text + mark, length - mark, options, scene);
    free(text);
    return status;
}

void psv_destroy_scene(psv_scene *scene) {
    if (scene == NULL) return;
    psv_destroy_world(scene->world);
    for (uint32_t i = 0; i < scene->emitter_count; ++i)
        free(scene->emitters[i].bodies);
    free(scene->moments);
    free(scene);
}

psv_world *psv_scene_world(psv_scene *scene) { return scene == NULL ? NULL : scene->world; }
const char *psv_scene_name(const psv_scene *scene) { return scene == NULL ? "" : scene->name; }
uint64_t psv_scene_seed(const psv_scene *scene) { return scene == NULL ? 0 : scene->seed; }
float psv_scene_frame_seconds(const psv_scene *scene) { return scene == NULL ? 0 : scene->frame_seconds; }

void psv_scene_view(const psv_scene *scene, float eye[3], float target[3]) {
    if (scene == NULL) return;
    if (eye != NULL) memcpy(eye, scene->eye, sizeof scene->eye);
    if (target != NULL) memcpy(target, scene->target, sizeof scene->target);
}

// --- frames ----------------------------------------------------------------------------------------------------------

static v3 turn_about(v3 a, v3 axis, float angle) { return quat_rotate(quat_of_vector(v3_scale(axis, angle)), a); }

static psv_status emit(psv_scene *scene, psvi_emitter *e, double frames) {
    uint64_t upto = (uint64_t)((double)e->rate * (double)scene->frame_seconds * frames);
    if (upto > e->count) upto = e->count;
    if (upto <= e->done) return PSV_OK;
    psv_status status = psv_create_bodies(scene->world, e->bodies + e->done, upto - e->done, NULL);
    if (status == PSV_OK) e->done = upto;
    return status;
}

psv_status psv_scene_step(psv_scene *scene) {
    return psv_scene_step_by(scene, scene == NULL ? 0 : scene->frame_seconds);
}

psv_status psv_scene_step_by(psv_scene *scene, float seconds) {
    if (scene == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "scene is NULL");
    psv_world *world = scene->world;
    if (!(seconds > 0) || !(seconds <= 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "seconds is %g; more than 0 and at most 1 are possible",
                         (double)seconds);
    const double share = (double)seconds / (double)scene->frame_seconds, frames = scene->frames + share;
    const float turn = (float)((double)scene->turn_radians * share);
    PSVI_STANDARD_FLOATS(world->context);
    psv_status status = PSV_OK;
    for (uint32_t i = 0; status == PSV_OK && i < scene->emitter_count; ++i)
        status = emit(scene, &scene->emitters[i], frames);
    if (status != PSV_OK) return status;
    v3 axis = scene->axis, gravity = scene->gravity; // the scene's own turn only with a step that happened
    if (scene->turns_gravity) {
        axis = v3_unit_or(turn_about(axis, v3_make(0, 0, 1), turn), v3_make(0, 1, 0));
        gravity = turn_about(gravity, axis, turn);
        memcpy(world->def.gravity, &gravity, sizeof gravity);
    }
    if (scene->kick_speed > 0 && world->sim.slots > 0) {
        uint64_t slots = world->sim.slots, count = (uint64_t)ceil((double)scene->kick_share * (double)slots);
        world->next.kick_first = (uint32_t)(scene->frame * count % slots);
        world->next.kick_count = (uint32_t)count;
        world->next.kick_speed = scene->kick_speed;
        world->next.kick_seed = psvi_mix64(scene->seed + scene->frame);
    }
    status = psv_world_step(world, seconds);
    if (status != PSV_OK) return status;
    scene->axis = axis;
    scene->gravity = gravity;
    scene->frames = frames;
    ++scene->frame;
    return PSV_OK;
}

// --- states to return to --------------------------------------------------------------------------------------------

// Moments beyond the last one that was kept hold nothing; the world refuses their states.
static psv_status reserve_moments(psv_scene *scene, uint32_t state) {
    if (state < scene->moment_count) return PSV_OK;
    psvi_scene_moment *moments = realloc(scene->moments, ((size_t)state + 1) * sizeof *moments);
    if (moments == NULL)
        return psvi_fail(scene->context, PSV_ERROR_MEMORY, "no host memory for state %u of a scene", state);
    memset(moments + scene->moment_count, 0, (state + 1 - scene->moment_count) * sizeof *moments);
    scene->moments = moments;
    scene->moment_count = state + 1;
    return PSV_OK;
}

psv_status psv_scene_keep(psv_scene *scene, uint32_t state) {
    if (scene == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "scene is NULL");
    psv_status status = psv_world_keep(scene->world, state);
    if (status == PSV_OK) status = reserve_moments(scene, state);
    if (status != PSV_OK) return status;
    psvi_scene_moment *moment = &scene->moments[state];
    *moment = (psvi_scene_moment){
        .frame = scene->frame, .frames = scene->frames, .axis = scene->axis, .gravity = scene->gravity};
    for (uint32_t i = 0; i < scene->emitter_count; ++i)
        moment->done[i] = scene->emitters[i].done;
    return PSV_OK;
}

psv_status psv_scene_return(psv_scene *scene, uint32_t state) {
    if (scene == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "scene is NULL");
    if (state >= scene->moment_count)
        return psvi_fail(scene->context, PSV_ERROR_ARGUMENT, "state %u: nothing is kept there for the scene", state);
    const psv_status status = psv_world_return(scene->world, state);
    if (status != PSV_OK) return status;
    const psvi_scene_moment *moment = &scene->moments[state];
    scene->frame = moment->frame;
    scene->frames = moment->frames;
    scene->axis = moment->axis;
    scene->gravity = moment->gravity;
    for (uint32_t i = 0; i < scene->emitter_count; ++i)
        scene->emitters[i].done = moment->done[i];
    return PSV_OK;
}
