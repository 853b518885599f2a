// Worlds: defs, creation, destruction, the arrays that a world owns, and the public views of them.
#include "world.h"
#include "../queries/body_queries.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_DEF_COOKIE 0x70737731u
#define BODY_DEF_COOKIE 0x70737732u
#define SHAPE_DEF_COOKIE 0x70737733u
#define MOST_PAIRS ((uint64_t)1 << 40) // as of a pair finder
#define MOST_CONTACTS (UINT32_MAX / 2) // their points and the places of their table are counted in 32 bits

psv_shape_def psv_default_shape_def(void) {
    return (psv_shape_def){.cookie = SHAPE_DEF_COOKIE,
                           .type = PSV_SHAPE_SPHERE,
                           .size = {0.5f, 0.5f, 0.5f},
                           .density = 1000,
                           .friction = 0.5f,
                           .weld_angle = PSVI_SURFACE_FLAT};
}

psv_body_def psv_default_body_def(void) {
    return (psv_body_def){
        .cookie = BODY_DEF_COOKIE, .pose = {.rotation = {0, 0, 0, 1}}, .filter = {1, UINT32_MAX}, .gravity_scale = 1};
}

psv_world_def psv_default_world_def(void) {
    return (psv_world_def){.cookie = WORLD_DEF_COOKIE,
                           .gravity = {0, -9.81f, 0},
                           .restitution_threshold = 0.5f,
                           .push_speed = 3,
                           .hit_speed = 1,
                           .sleep_speed = 0.05f,
                           .max_bodies = 4096,
                           .max_shapes = 1024,
                           .sub_world_count = 1,
                           .broad_phase = "auto",
                           .sort_method = "cells",
                           .bounds_min = {-1e6f, -1e6f, -1e6f},
                           .bounds_max = {1e6f, 1e6f, 1e6f}};
}

psv_status psvi_check_world(const psv_world *world) {
    if (world == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "world is NULL");
    if (world->cookie != PSVI_WORLD_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "world is no world: never created, or destroyed");
    return PSV_OK;
}

static uint64_t default_room(uint64_t asked, uint64_t bodies) {
    if (asked > 0) return asked;
    return bodies * 8 < 1024 ? 1024 : bodies * 8;
}

static psv_pair_finder_def finder_def(const psv_world_def *def, psv_backend backend, uint64_t max_pairs) {
    psv_pair_finder_def finder = psv_default_pair_finder_def();
    finder.method = def->broad_phase;
    finder.sort_method = def->sort_method;
    finder.max_boxes = def->max_bodies;
    finder.max_pairs = max_pairs;
    const psvi_sim_module *module = psvi_sim_module_of(backend);
    finder.grow_pairs = module == NULL || !module->ops->grows_pairs;
    finder.world_count = def->sub_world_count;
    if (module != NULL && module->ops->pair_boxes != NULL) finder.max_kept = def->max_bodies;
    return finder;
}

static uint64_t body_bytes(const psv_world_def *def) {
    uint64_t each = 4 * sizeof(psvi_f4) + sizeof(uint32_t) + 1 + sizeof(psv_box_filter) + sizeof(uint32_t) +
                    sizeof(psv_aabb) + sizeof(psvi_linear) + sizeof(psvi_angular) + sizeof(sym3) + sizeof(uint32_t) +
                    sizeof(uint64_t) + 7 * sizeof(int64_t) + (def->self_gravity > 0 ? sizeof(psvi_f4) : 0);
    if (def->sleeping) each += sizeof(uint32_t) + sizeof(float) + 2;
    return each * def->max_bodies;
}

static uint64_t contact_bytes(bool sorted, uint64_t contacts, uint64_t points, uint64_t pairs) {
    uint64_t order = sorted ? sizeof(uint64_t) + 2 * sizeof(uint32_t) : 0;
    uint64_t point = sizeof(psvi_point) + sizeof(psvi_kept_point);
    return contacts * (sizeof(psvi_contact) + order) + points * point +
           psvi_power_of_two(2 * contacts) * sizeof(psvi_kept_contact) + 2 * pairs * sizeof(uint32_t);
}

uint64_t psvi_world_bytes(psv_backend backend, const psv_world_def *def) {
    uint64_t pairs = default_room(def->max_pairs, def->max_bodies);
    uint64_t contacts = default_room(def->max_contacts, def->max_bodies);
    psv_pair_finder_def finder = finder_def(def, backend, pairs);
    const psvi_sim_module *module = psvi_sim_module_of(backend);
    const bool sorted = module != NULL && module->ops->sorts_contacts;
    uint64_t own = module == NULL ? 0 : module->ops->own_bytes(def->max_bodies, contacts, contacts);
    if (def->contact_events) own += psvi_event_bytes(contacts);
    return body_bytes(def) + contact_bytes(sorted, contacts, contacts, pairs) + own +
           psv_pair_finder_bytes(backend, &finder);
}

psv_status psvi_check_world_def(psv_context *context, const psv_world_def *def) {
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != WORLD_DEF_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def has no cookie: start from psv_default_world_def()");
    if (def->max_bodies == 0 || def->max_bodies > 1u << 30)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_bodies is %" PRIu64 "; 1 to %u are possible",
                         def->max_bodies, 1u << 30);
    if (def->substeps > PSVI_MOST_SUBSTEPS)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.substeps is %u; 0 (by the time of a step) to 64 are possible", def->substeps);
    if (!(def->restitution_threshold >= 0) || !isfinite(def->restitution_threshold))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.restitution_threshold is %g; it must be finite and >= 0",
                         (double)def->restitution_threshold);
    if (!(def->push_speed > 0) || !isfinite(def->push_speed))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.push_speed is %g; it must be finite and > 0",
                         (double)def->push_speed);
    if (!(def->sleep_speed > 0) || !isfinite(def->sleep_speed))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.sleep_speed is %g; it must be finite and > 0",
                         (double)def->sleep_speed);
    if (def->sleeping && def->self_gravity > 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.sleeping is set in a world with self_gravity");
    if (!(def->hit_speed >= 0) || !isfinite(def->hit_speed))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.hit_speed is %g; it must be finite and >= 0",
                         (double)def->hit_speed);
    if (def->max_shapes == 0 || def->max_shapes > 1u << 20)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_shapes is %u; 1 to %u are possible", def->max_shapes,
                         1u << 20);
    if (def->sub_world_count == 0 || def->sub_world_count > 1u << 24)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.sub_world_count is %u; 1 to %u are possible",
                         def->sub_world_count, 1u << 24);
    if (def->max_pairs > MOST_PAIRS || def->max_contacts > MOST_CONTACTS)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.max_pairs is %" PRIu64 " and def.max_contacts %" PRIu64
                         "; 0 (8 per body) to %llu and %u are possible",
                         def->max_pairs, def->max_contacts, (unsigned long long)MOST_PAIRS, MOST_CONTACTS);
    if (def->broad_phase == NULL || def->sort_method == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.broad_phase or def.sort_method is NULL");
    if (strlen(def->broad_phase) >= 32 || strlen(def->sort_method) >= 32)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "no broad phase or sort method has a name of 32 letters");
    for (int i = 0; i < 3; ++i) {
        if (!isfinite(def->gravity[i]))
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.gravity[%d] is %g; it must be finite", i,
                             (double)def->gravity[i]);
        if (!(def->bounds_min[i] < def->bounds_max[i]))
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.bounds_min[%d] is %g, not below bounds_max %g", i,
                             (double)def->bounds_min[i], (double)def->bounds_max[i]);
    }
    if (!(def->self_gravity >= 0 && def->self_gravity < INFINITY) ||
        !(def->softening >= 0 && def->softening < INFINITY) || (def->self_gravity > 0 && !(def->softening > 0)))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.self_gravity is %g and softening %g; both must be finite and >= 0, and softening > 0 "
                         "with gravity",
                         (double)def->self_gravity, (double)def->softening);
    return PSV_OK;
}

// A machine that overcommits would give the memory and fail later, so the need is compared first.
static psv_status check_memory(psv_context *context, const psv_world_def *def) {
    uint64_t needed = psvi_world_bytes(context->backend, def), free_bytes = 0, total_bytes = 0;
    if (context->allocator.allocate != NULL) return PSV_OK;
    psv_status status = psv_memory_info(context, &free_bytes, &total_bytes);
    if (status != PSV_OK) return status;
    if (needed > free_bytes)
        return psvi_fail(context, PSV_ERROR_MEMORY,
                         "a world of %" PRIu64 " bodies needs %" PRIu64 " bytes of %s memory; %" PRIu64
                         " are free of %" PRIu64,
                         def->max_bodies, needed, psv_backend_name(context->backend), free_bytes, total_bytes);
    return PSV_OK;
}

static psv_status alloc_array(psv_world *world, void *field, uint64_t bytes) {
    void *address = psvi_alloc(world->context, bytes);
    if (address == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no %s memory for %" PRIu64 " bytes of the world",
                         psv_backend_name(world->context->backend), bytes);
    memcpy(field, &address, sizeof address);
    return psvi_clear_fresh(world->context, address, bytes);
}

// clang-format off
#define BODY_ARRAYS(X) \
    X(position, sizeof(psvi_f4)) \
    X(rotation, sizeof(psvi_f4)) \
    X(velocity, sizeof(psvi_f4)) \
    X(angular_velocity, sizeof(psvi_f4)) \
    X(shape, 4) \
    X(flags, 1) \
    X(filter, sizeof(psv_box_filter)) \
    X(sub_world, 4) \
    X(box, sizeof(psv_aabb)) \
    X(linear, sizeof(psvi_linear)) \
    X(angular, sizeof(psvi_angular)) \
    X(inv_inertia, sizeof(sym3)) \
    X(colour_mask, 4) \
    X(claim, 8) \
    X(rest, 7 * sizeof(int64_t))
#define SLEEP_ARRAYS(X) \
    X(island, sizeof(uint32_t)) \
    X(still, sizeof(float)) \
    X(wake, 1) \
    X(busy, 1)
// clang-format on

psv_status psvi_alloc_bodies(psv_world *world) {
    psvi_sim *s = &world->sim;
    uint64_t n = world->def.max_bodies;
    psv_status status = PSV_OK;
#define ALLOCATE(name, each)                                                                                           \
    if (status == PSV_OK) status = alloc_array(world, &s->name, n * (each));
    BODY_ARRAYS(ALLOCATE)
    if (status == PSV_OK && world->def.self_gravity > 0)
        status = alloc_array(world, &s->acceleration, n * sizeof(psvi_f4));
    if (status == PSV_OK) status = alloc_array(world, &s->counts, sizeof(psvi_step_counts));
    if (status == PSV_OK && world->def.sleeping) {
        SLEEP_ARRAYS(ALLOCATE)
    }
    if (status == PSV_OK && world->def.contact_events)
        status = alloc_array(world, &s->events.counts, sizeof(psv_event_counts));
    return status;
}

void psvi_free_bodies(psv_world *world) {
    psvi_sim *s = &world->sim;
    uint64_t n = world->def.max_bodies;
#define RELEASE(name, each) psvi_free(world->context, s->name, n *(each));
    BODY_ARRAYS(RELEASE)
    psvi_free(world->context, s->acceleration, n * sizeof(psvi_f4));
    psvi_free(world->context, s->forces, n * sizeof(psvi_f4));
    SLEEP_ARRAYS(RELEASE)
    psvi_free(world->context, s->user, n * sizeof(uint64_t));
    psvi_free(world->context, s->events.counts, sizeof(psv_event_counts));
    psvi_free(world->context, s->counts, sizeof(psvi_step_counts));
}

static psv_status alloc_rolls(psv_world *world, uint64_t contacts, uint64_t points) {
    psv_status status = alloc_array(world, &world->sim.rolls, contacts * sizeof(psvi_roll));
    if (status == PSV_OK) status = alloc_array(world, &world->sim.kept_rolls, points * sizeof(psvi_f4));
    return status;
}

static void free_rolls(psv_world *world) {
    psvi_sim *s = &world->sim;
    psvi_free(world->context, s->rolls, s->contact_capacity * sizeof(psvi_roll));
    psvi_free(world->context, s->kept_rolls, s->point_capacity * sizeof(psvi_f4));
    s->rolls = NULL;
    s->kept_rolls = NULL;
}

static psv_status alloc_anchors(psv_world *world, uint64_t points) {
    psv_status status = alloc_array(world, &world->sim.anchors, 2 * points * sizeof(psvi_f4));
    if (status == PSV_OK)
        status = alloc_array(world, &world->sim.anchor_frames, 2 * points * sizeof(psvi_anchor_frame));
    return status;
}

static void free_anchors(psv_world *world) {
    psvi_sim *s = &world->sim;
    psvi_free(world->context, s->anchors, 2 * s->point_capacity * sizeof(psvi_f4));
    psvi_free(world->context, s->anchor_frames, 2 * s->point_capacity * sizeof(psvi_anchor_frame));
    s->anchors = NULL;
    s->anchor_frames = NULL;
}

psv_status psvi_alloc_contacts(psv_world *world, uint64_t contacts, uint64_t points) {
    psvi_sim *s = &world->sim;
    if (contacts > MOST_CONTACTS || points > UINT32_MAX)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "%" PRIu64 " contacts are more than a world can hold",
                         contacts);
    uint64_t places = psvi_power_of_two(2 * contacts); // as psvi_kept_mask asks for when all are taken
    psv_status status = alloc_array(world, &s->contacts, contacts * sizeof(psvi_contact));
    if (status == PSV_OK) status = alloc_array(world, &s->points, points * sizeof(psvi_point));
    if (status == PSV_OK) status = alloc_array(world, &s->kept_points, points * sizeof(psvi_kept_point));
    if (status == PSV_OK) status = alloc_array(world, &s->kept, places * sizeof(psvi_kept_contact));
    if (world->ops->sorts_contacts) {
        if (status == PSV_OK) status = alloc_array(world, &s->keys, contacts * sizeof(uint64_t));
        if (status == PSV_OK) status = alloc_array(world, &s->order, 2 * contacts * sizeof(uint32_t));
    }
    if (status == PSV_OK && world->rolls) status = alloc_rolls(world, contacts, points);
    if (status == PSV_OK && world->anchors) status = alloc_anchors(world, points);
    if (status == PSV_OK && world->def.contact_events) status = psvi_alloc_events(world, contacts);
    s->contact_capacity = contacts;
    s->point_capacity = points;
    s->kept_places = places;
    return status;
}

psv_status psvi_need_rolls(psv_world *world) {
    psvi_sim *s = &world->sim;
    if (world->rolls) return PSV_OK;
    psv_status status = alloc_rolls(world, s->contact_capacity, s->point_capacity);
    world->rolls = status == PSV_OK;
    if (status != PSV_OK) free_rolls(world);
    return status;
}

psv_status psvi_need_anchors(psv_world *world) {
    if (world->anchors) return PSV_OK;
    psv_status status = alloc_anchors(world, world->sim.point_capacity);
    world->anchors = status == PSV_OK;
    if (status != PSV_OK) free_anchors(world);
    return status;
}

static void forget_contacts(psvi_sim *s) {
    s->contacts = NULL;
    s->keys = NULL;
    s->order = NULL;
    s->points = NULL;
    s->kept_points = NULL;
    s->kept = NULL;
    s->rolls = NULL;
    s->kept_rolls = NULL;
    s->anchors = NULL;
    s->anchor_frames = NULL;
    s->events.touching = NULL;
    s->events.begins = s->events.ends = NULL;
    s->events.hits = NULL;
    s->events.was_touching = NULL;
    s->contact_capacity = s->point_capacity = s->kept_places = 0;
}

void psvi_free_contacts(psv_world *world) {
    psvi_sim *s = &world->sim;
    psv_context *context = world->context;
    psvi_free(context, s->contacts, s->contact_capacity * sizeof(psvi_contact));
    psvi_free(context, s->keys, s->contact_capacity * sizeof(uint64_t));
    psvi_free(context, s->order, 2 * s->contact_capacity * sizeof(uint32_t));
    psvi_free(context, s->points, s->point_capacity * sizeof(psvi_point));
    psvi_free(context, s->kept_points, s->point_capacity * sizeof(psvi_kept_point));
    psvi_free(context, s->kept, s->kept_places * sizeof(psvi_kept_contact));
    free_rolls(world);
    free_anchors(world);
    psvi_free_events(world);
    forget_contacts(s);
}

// The step's contacts may be lost (they are found again), the kept ones of the last step may not.
static psv_status copy_kept(psv_world *world, const psvi_sim *old) {
    const psvi_backend_ops *ops = world->context->ops;
    psv_status status = ops->copy(world->context, world->sim.kept, old->kept,
                                  old->kept_places * sizeof(psvi_kept_contact), PSVI_COPY_INSIDE);
    if (status == PSV_OK)
        status = ops->copy(world->context, world->sim.kept_points, old->kept_points,
                           old->point_capacity * sizeof(psvi_kept_point), PSVI_COPY_INSIDE);
    if (status == PSV_OK && old->kept_rolls != NULL)
        status = ops->copy(world->context, world->sim.kept_rolls, old->kept_rolls,
                           old->point_capacity * sizeof(psvi_f4), PSVI_COPY_INSIDE);
    const uint64_t room = old->point_capacity, grown = world->sim.point_capacity;
    for (uint64_t half = 0; half < 2 && status == PSV_OK && old->anchors != NULL; ++half) {
        status = ops->copy(world->context, world->sim.anchors + half * grown, old->anchors + half * room,
                           room * sizeof(psvi_f4), PSVI_COPY_INSIDE);
        if (status == PSV_OK)
            status = ops->copy(world->context, world->sim.anchor_frames + half * grown,
                               old->anchor_frames + half * room, room * sizeof(psvi_anchor_frame), PSVI_COPY_INSIDE);
    }
    return status;
}

psv_status psvi_grow_contacts(psv_world *world, uint64_t contacts, uint64_t points) {
    psvi_sim old = world->sim;
    contacts = contacts < old.contact_capacity ? old.contact_capacity : contacts;
    points = points < old.point_capacity ? old.point_capacity : points;
    forget_contacts(&world->sim);
    psv_status status = psvi_alloc_contacts(world, contacts, points);
    if (status == PSV_OK) status = copy_kept(world, &old);
    if (status == PSV_OK) status = psv_synchronize(world->context);
    psvi_sim grown = world->sim;
    if (status != PSV_OK) { // stay as before
        psvi_free_contacts(world);
        world->sim = old;
        return status;
    }
    world->sim = old;
    psvi_free_contacts(world);
    world->sim = grown;
    psv_destroy_sorter(world->sorter);
    world->sorter = NULL;
    return world->ops->make_room(world);
}

psv_status psvi_make_finder(psv_world *world, uint64_t max_pairs) {
    psv_context *context = psvi_pair_context(world);
    psv_pair_finder_def def = finder_def(&world->def, context->backend, max_pairs);
    // Methods of the world's backend that the other one lacks.
    if (context != world->context && psv_broad_phase_description(context->backend, def.method) == NULL)
        def.method = "auto";
    if (context != world->context && psv_sort_method_description(context->backend, def.sort_method) == NULL)
        def.sort_method = "cells";
    psv_pair_finder *finder = NULL;
    psv_status status = psv_create_pair_finder(context, &def, &finder);
    if (status != PSV_OK) return psvi_pass_on(world, status);
    uint32_t *others = psvi_alloc(world->context, 2 * max_pairs * sizeof(uint32_t));
    if (others == NULL) {
        psv_destroy_pair_finder(finder);
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of pairs",
                         2 * max_pairs * sizeof(uint32_t));
    }
    psv_destroy_pair_finder(world->finder);
    psvi_free(world->context, world->sim.other_pairs, 2 * world->max_pairs * sizeof(uint32_t));
    world->sim.other_pairs = others;
    world->sim.followed_pairs = others + max_pairs;
    world->sim.lists_end = others + 2 * max_pairs;
    world->finder = finder;
    world->finder_used = false;
    world->max_pairs = max_pairs;
    return PSV_OK;
}

static psv_status alloc_host(psv_world *world) {
    uint64_t n = world->def.max_bodies;
    world->generation = calloc(n, sizeof(uint32_t));
    world->alive = calloc(n, 1);
    world->shape_of = calloc(n, sizeof(uint32_t));
    world->free_slots = calloc(n, sizeof(uint32_t));
    world->shapes = calloc(world->def.max_shapes, sizeof *world->shapes);
    if (!world->generation || !world->alive || !world->shape_of || !world->free_slots || !world->shapes)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for a world of %" PRIu64 " bodies", n);
    return PSV_OK;
}

static psv_status build_world(psv_world *world) {
    psv_status status = psvi_alloc_bodies(world); // refuses what is too much before the host's copies are made
    if (status == PSV_OK) status = alloc_host(world);
    uint64_t contacts = default_room(world->def.max_contacts, world->def.max_bodies);
    if (status == PSV_OK) status = psvi_alloc_contacts(world, contacts, contacts);
    if (status == PSV_OK) status = psvi_make_finder(world, default_room(world->def.max_pairs, world->def.max_bodies));
    if (status == PSV_OK) status = world->ops->create(world);
    if (status == PSV_OK) status = world->ops->make_room(world);
    if (status == PSV_OK) status = psvi_update_terrain(world);
    if (status == PSV_OK) status = psv_synchronize(world->context);
    return status;
}

psv_status psvi_check_steps_worlds(psv_context *context) {
    if (psvi_sim_module_of(context->backend) != NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                     "the %s backend steps no worlds; take cpu or cuda (and psv_world_find_pairs_on)",
                     context->ops->name);
}

psv_status psv_create_world(psv_context *context, const psv_world_def *def, psv_world **world) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(context);
    if (world == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "world is NULL");
    *world = NULL;
    const psvi_sim_module *module = psvi_sim_module_of(context->backend);
    status = psvi_check_steps_worlds(context);
    if (status == PSV_OK) status = psvi_check_world_def(context, def);
    if (status == PSV_OK) status = check_memory(context, def);
    if (status != PSV_OK) return status;
    psv_world *made = calloc(1, sizeof *made);
    if (made == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a world (%zu bytes)", sizeof *made);
    made->cookie = PSVI_WORLD_COOKIE;
    made->context = context;
    made->def = *def;
    made->most_gravity = 1;
    (void)snprintf(made->broad_phase, sizeof made->broad_phase, "%s", def->broad_phase);
    (void)snprintf(made->sort_method, sizeof made->sort_method, "%s", def->sort_method);
    made->def.broad_phase = made->broad_phase;
    made->def.sort_method = made->sort_method;
    made->ops = module->ops;
    status = build_world(made);
    if (status != PSV_OK) {
        psv_destroy_world(made);
        return status;
    }
    *world = made;
    return PSV_OK;
}

void psv_destroy_world(psv_world *world) {
    if (world == NULL || world->cookie != PSVI_WORLD_COOKIE) return;
    (void)world->context->ops->synchronize(world->context);
    if (world->state != NULL) world->ops->destroy(world);
    psvi_free_body_queries(world);
    psv_destroy_sorter(world->sorter);
    psv_destroy_pair_finder(world->finder);
    psvi_forget_elsewhere(world);
    psvi_free(world->context, world->sim.other_pairs, 2 * world->max_pairs * sizeof(uint32_t));
    psvi_free(world->context, (void *)(uintptr_t)world->sim.ground.first, world->terrain_bytes);
    psvi_free_states(world);
    psvi_free_contacts(world);
    psvi_free_bodies(world);
    psvi_free_shapes(world);
    free(world->generation);
    free(world->alive);
    free(world->shape_of);
    free(world->free_slots);
    world->cookie = 0;
    free(world);
}

psv_context *psv_world_context(const psv_world *world) { return world == NULL ? NULL : world->context; }

psv_status psvi_read_array(psv_world *world, void *target, const void *source, uint64_t first, uint64_t count,
                           uint64_t stride) {
    if (count == 0) return PSV_OK;
    psv_context *context = world->context;
    psv_status status =
        context->ops->copy(context, target, (const char *)source + first * stride, count * stride, PSVI_COPY_DOWNLOAD);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}

psv_status psvi_write_array(psv_world *world, void *target, const void *source, uint64_t first, uint64_t count,
                            uint64_t stride) {
    if (count == 0) return PSV_OK;
    psv_context *context = world->context;
    psv_status status =
        context->ops->copy(context, (char *)target + first * stride, source, count * stride, PSVI_COPY_UPLOAD);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}

uint64_t psv_world_body_count(const psv_world *world) { return psvi_check_world(world) == PSV_OK ? world->living : 0; }

uint64_t psv_world_slot_count(const psv_world *world) {
    return psvi_check_world(world) == PSV_OK ? world->sim.slots : 0;
}

static psv_buffer view(const psv_world *world, void *address, uint64_t each) {
    return world == NULL ? (psv_buffer){0} : psv_buffer_of(address, each * world->sim.slots);
}

psv_buffer psv_world_positions(const psv_world *world) {
    return view(world, world ? world->sim.position : NULL, sizeof(psvi_f4));
}
psv_buffer psv_world_rotations(const psv_world *world) {
    return view(world, world ? world->sim.rotation : NULL, sizeof(psvi_f4));
}
psv_buffer psv_world_velocities(const psv_world *world) {
    return view(world, world ? world->sim.velocity : NULL, sizeof(psvi_f4));
}
psv_buffer psv_world_angular_velocities(const psv_world *world) {
    return view(world, world ? world->sim.angular_velocity : NULL, sizeof(psvi_f4));
}
psv_buffer psv_world_shape_indices(const psv_world *world) {
    return view(world, world ? world->sim.shape : NULL, sizeof(uint32_t));
}
psv_buffer psv_world_boxes(const psv_world *world) {
    return view(world, world ? world->sim.box : NULL, sizeof(psv_aabb));
}

psv_box_set psv_world_box_set(const psv_world *world) {
    if (psvi_check_world(world) != PSV_OK) return (psv_box_set){0};
    psv_box_set set = psv_boxes_of(psv_world_boxes(world), sizeof(psv_aabb), world->sim.slots);
    set.flags = view(world, world->sim.flags, 1);
    set.filters = view(world, world->sim.filter, sizeof(psv_box_filter));
    if (world->def.sub_world_count > 1) set.worlds = view(world, world->sim.sub_world, sizeof(uint32_t));
    return set;
}

psv_pair_finder *psv_world_pair_finder(const psv_world *world) {
    return psvi_check_world(world) == PSV_OK ? world->finder : NULL;
}

static psv_status change_method(psv_world *world, char *field, const char *name, const char *what) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    if (name == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s is NULL", what);
    if (strlen(name) >= 32)
        return psvi_fail(world->context, PSV_ERROR_UNSUPPORTED, "%s \"%.40s...\" is not known", what, name);
    char before[32];
    (void)snprintf(before, sizeof before, "%s", field);
    (void)snprintf(field, sizeof before, "%s", name);
    status = psvi_make_finder(world, world->max_pairs);
    if (status != PSV_OK) {
        (void)snprintf(field, sizeof before, "%s", before);
        return status;
    }
    psv_destroy_sorter(world->sorter);
    world->sorter = NULL;
    return world->ops->make_room(world);
}

psv_status psv_world_set_sort_method(psv_world *world, const char *sort_method) {
    return change_method(world, world ? world->sort_method : NULL, sort_method, "sort_method");
}

psv_status psv_world_set_broad_phase(psv_world *world, const char *broad_phase) {
    return change_method(world, world ? world->broad_phase : NULL, broad_phase, "broad_phase");
}

psv_status psv_world_profile(psv_world *world, psv_profile *profile) {
    psv_status status = psvi_check_world(world);
    return status != PSV_OK ? status : psv_read_profile(world->context, profile);
}
