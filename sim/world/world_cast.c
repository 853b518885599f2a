// Queries of a world's bodies in bulk: rays, closest points, overlaps; and the one ray of psv_cast_ray.
#include <inttypes.h>
#include <stdlib.h>

#include "../queries/body_queries.h"
#include "../queries/body_query.h"

void psvi_free_body_queries(psv_world *world) {
    psvi_body_queries *queries = world->queries;
    if (queries == NULL) return;
    psv_destroy_tree(queries->tree);
    psvi_free(world->context, queries->boxes, queries->boxes_bytes);
    psvi_free(world->context, queries->single, PSVI_SINGLE_BYTES);
    free(queries);
    world->queries = NULL;
}

// With the first query a world gets a tree with room for all bodies that it can have.
static psv_status make_ready(psv_world *world) {
    psv_context *context = world->context;
    if (world->queries != NULL) return PSV_OK;
    psv_tree_def def = psv_default_tree_def();
    def.max_items = world->def.max_bodies;
    def.world_count = world->def.sub_world_count;
    const uint64_t bytes = world->def.max_bodies * sizeof(psv_aabb);
    psvi_body_queries *made = world->queries = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for the queries of a world");
    made->boxes_bytes = bytes;
    made->boxes = psvi_alloc(context, bytes);
    made->single = psvi_alloc(context, PSVI_SINGLE_BYTES);
    psv_status status = PSV_OK;
    if (made->boxes == NULL || made->single == NULL)
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of boxes of bodies", bytes);
    if (status == PSV_OK) status = psv_create_tree(context, &def, &made->tree);
    if (status != PSV_OK) psvi_free_body_queries(world);
    return status;
}

// The tree over the bodies as they are now. While a graph is captured nothing is waited for and nothing allocated.
static psv_status build_tree(psv_world *world) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    psv_context *context = world->context;
    const bool captured = psvi_is_captured(context);
    if (captured && world->queries == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "the world's first query allocates; it cannot be captured in a graph");
    status = psvi_settle_unless_captured(world);
    if (status == PSV_OK) status = make_ready(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(context);
    status = world->ops->query_boxes(world, world->queries->boxes);
    if (status != PSV_OK) return status;
    const psvi_sim *sim = &world->sim;
    const uint64_t slots = sim->slots;
    psv_box_set set =
        psv_boxes_of(psv_buffer_of(world->queries->boxes, slots * sizeof(psv_aabb)), sizeof(psv_aabb), slots);
    set.worlds = psv_buffer_of(sim->sub_world, slots * sizeof(uint32_t));
    set.filters = psv_buffer_of(sim->filter, slots * sizeof(psv_box_filter));
    return psv_build_tree(world->queries->tree, &set);
}

static psv_status view_queries(psv_world *world, const psv_query_set *set, const char *name, uint32_t bytes,
                               psvi_tree_query *query) {
    psv_status status = build_tree(world);
    if (status == PSV_OK && set != NULL && set->sort)
        return psvi_fail(world->context, PSV_ERROR_UNSUPPORTED, "%s.sort is set; queries of bodies come in their order",
                         name);
    if (status == PSV_OK) status = psvi_view_queries(world->queries->tree, set, name, bytes, query);
    if (query->filters == NULL) query->view.filters = NULL; // all are found, whatever their own filters
    return status;
}

static psv_status run_single(psv_world *world, psvi_tree_query *query, psv_buffer target, uint64_t bytes,
                             uint64_t count, const char *name) {
    PSVI_STANDARD_FLOATS(world->context);
    const psv_status status = psvi_view_records(world->queries->tree, target, count, bytes, name, query);
    return status == PSV_OK ? world->ops->query_bodies(world, query) : status;
}

psv_status psv_cast_rays(psv_world *world, const psv_query_set *rays, psv_buffer hits) {
    psvi_tree_query query = {.kind = PSVI_QUERY_CLOSEST_HIT};
    const psv_status status = view_queries(world, rays, "rays", sizeof(psv_ray), &query);
    return status == PSV_OK ? run_single(world, &query, hits, sizeof(psv_body_hit), rays->count, "hits") : status;
}

psv_status psv_closest_bodies(psv_world *world, const psv_query_set *spheres, psv_buffer points) {
    psvi_tree_query query = {.kind = PSVI_QUERY_CLOSEST_POINT};
    const psv_status status = view_queries(world, spheres, "spheres", sizeof(psv_sphere), &query);
    return status == PSV_OK ? run_single(world, &query, points, sizeof(psv_body_point), spheres->count, "points")
                            : status;
}

psv_status psv_overlap_bodies(psv_world *world, const psv_query_set *spheres, const psv_query_lists *lists) {
    psvi_tree_query query = {.kind = PSVI_QUERY_SPHERES};
    psv_status status = view_queries(world, spheres, "spheres", sizeof(psv_sphere), &query);
    if (status != PSV_OK) return status;
    if (lists != NULL && lists->offsets.address != NULL)
        return psvi_fail(world->context, PSV_ERROR_UNSUPPORTED,
                         "lists.offsets is given; lists of bodies come as counts and `each`");
    status = psvi_view_lists(world->queries->tree, lists, spheres->count, sizeof(uint32_t), &query);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    return world->ops->query_bodies(world, &query);
}

// --- one ray ---------------------------------------------------------------------------------------------------------

// Where the bodies are at hand, all of them are looked at: a tree for one ray would cost more.
static psv_body_hit cast_at_all(const psvi_sim *sim, const psv_ray *from) {
    const psvi_surface nowhere = {0, v3_make(0, 0, 0), 0};
    psvi_body_ray ray = {v3_of(from->origin), v3_of(from->direction), from->t_max, nowhere, PSV_NO_ITEM};
    for (uint32_t i = 0; i < sim->slots; ++i) {
        if (!(sim->position[i].w > 0)) continue;
        const bool ground = psvi_is_ground(sim->geometry.shapes[sim->shape[i]].type);
        psvi_surface ball = nowhere;
        if (!ground && (!psvi_ray_ball(ray.origin, ray.direction, v3_of4(sim->position[i]),
                                       sim->position[i].w * 1.00001f, &ball) ||
                        ball.t > ray.most))
            continue;
        psvi_ray_meets_slot(sim, i, &ray);
    }
    return (psv_body_hit){.t = ray.most, .slot = ray.slot};
}

// Elsewhere by the kernel of psv_cast_rays, over all sub-worlds; 24 bytes come back.
static psv_status cast_on_device(psv_world *world, const psv_ray *from, psv_body_hit *hit) {
    psv_status status = build_tree(world);
    if (status != PSV_OK) return status;
    char *there = world->queries->single;
    const psv_query_set rays = psv_queries_of(psv_buffer_of(there, sizeof *from), sizeof *from, 1);
    const psv_buffer target = psv_buffer_of(there + sizeof *from, sizeof *hit);
    psvi_tree_query query = {.kind = PSVI_QUERY_CLOSEST_HIT};
    status = psv_upload(world->context, rays.data, from, sizeof *from);
    if (status == PSV_OK) status = psvi_view_queries(world->queries->tree, &rays, "rays", sizeof *from, &query);
    query.view.world_starts = NULL;
    query.view.filters = NULL;
    if (status == PSV_OK) status = run_single(world, &query, target, sizeof *hit, 1, "hits");
    return status == PSV_OK ? psv_download(world->context, hit, target, sizeof *hit) : status;
}

psv_status psv_cast_ray(psv_world *world, const float origin[3], const float direction[3], float max_distance,
                        psv_body_id *id, float *distance) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    psv_context *context = world->context;
    if (origin == NULL || direction == NULL || id == NULL || distance == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "origin, direction, id or distance is NULL");
    v3 o = v3_of(origin), d = v3_of(direction);
    float longest = fmaxf(fabsf(d.x), fmaxf(fabsf(d.y), fabsf(d.z)));
    if (!psvi_finite(o) || !psvi_finite(d) || !(longest > 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "origin must be finite and direction finite and not zero");
    if (!(max_distance >= 0))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "max_distance is %g; it must be >= 0", (double)max_distance);
    // Near length 1 squares neither overflow nor vanish; a power of two costs no precision.
    int exponent;
    (void)frexpf(longest, &exponent);
    const psv_ray ray = {{o.x, o.y, o.z},
                         0,
                         {ldexpf(d.x, -exponent), ldexpf(d.y, -exponent), ldexpf(d.z, -exponent)},
                         ldexpf(max_distance, exponent)};
    psv_body_hit hit;
    if (context->ops->immediate)
        hit = cast_at_all(&world->sim, &ray);
    else
        status = cast_on_device(world, &ray, &hit);
    if (status != PSV_OK) return status;
    const bool found = hit.slot != PSV_NO_ITEM;
    *id = found ? (psv_body_id){hit.slot + 1, world->generation[hit.slot]} : (psv_body_id){0, 0};
    *distance = found ? ldexpf(hit.t, -exponent) : max_distance;
    return PSV_OK;
}
