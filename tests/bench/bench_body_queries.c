// Queries of a world's bodies: milliseconds of a call, its tree included, and million queries a second.
// usage: bench_body_queries cpu|cuda SUB_WORLDS BODIES_EACH RAYS_EACH
// Each sub-world has a plane and spheres, boxes and capsules above it, after 30 steps; rays go out to all sides from
// the middle of a body, as those of a sensor do.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <pairsieve/sim.h>

#include "../cases/box_scenes.h"
#include "bench_numbers.h"

#define REPEATS 15

static psv_context *context;

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_body_queries: %s\n", psv_last_error(context));
    exit(1);
}

static psv_world *make_world(uint32_t sub_worlds, uint32_t each) {
    psv_world_def def = psv_default_world_def();
    psv_world *world;
    def.sub_world_count = sub_worlds;
    def.max_bodies = (uint64_t)sub_worlds * (each + 1);
    def.substeps = 4;
    check(psv_create_world(context, &def, &world));
    uint32_t shapes[4];
    const psv_shape_type types[4] = {PSV_SHAPE_SPHERE, PSV_SHAPE_BOX, PSV_SHAPE_CAPSULE, PSV_SHAPE_PLANE};
    for (int s = 0; s < 4; ++s) {
        psv_shape_def shape = psv_default_shape_def();
        shape.type = types[s];
        shape.size[0] = 0.3f, shape.size[1] = 0.4f, shape.size[2] = 0.5f;
        check(psv_create_shape(world, &shape, &shapes[s]));
    }
    psv_body_def *bodies = malloc(def.max_bodies * sizeof *bodies);
    if (bodies == NULL) exit(1);
    for (uint32_t i = 0; i < def.max_bodies; ++i) {
        const uint32_t at = i % (each + 1);
        bodies[i] = psv_default_body_def();
        bodies[i].sub_world = i / (each + 1);
        bodies[i].is_static = at == 0;
        bodies[i].shape = at == 0 ? shapes[3] : shapes[box_random_bits(3, i, 0) % 3];
        for (uint32_t k = 0; k < 3 && at != 0; ++k)
            bodies[i].pose.position[k] = (k == 1 ? 0.5f : -4) + 8 * box_random(3, i, 1 + k);
    }
    check(psv_create_bodies(world, bodies, def.max_bodies, NULL));
    free(bodies);
    for (int i = 0; i < 30; ++i)
        check(psv_world_step(world, 1.0f / 60));
    return world;
}

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer;
    check(psv_alloc_buffer(context, bytes, &buffer));
    check(psv_upload(context, buffer, data, bytes));
    return buffer;
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    if (argc < 5 || psv_parse_backend(argv[1], &def.backend) != PSV_OK) {
        fprintf(stderr, "usage: bench_body_queries cpu|cuda SUB_WORLDS BODIES_EACH RAYS_EACH\n");
        return 2;
    }
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "bench_body_queries: %s\n", psv_last_error(NULL));
        return 77;
    }
    const uint32_t sub_worlds = (uint32_t)atoi(argv[2]), each = (uint32_t)atoi(argv[3]),
                   rays_each = (uint32_t)atoi(argv[4]);
    const uint32_t count = sub_worlds * rays_each;
    psv_world *world = make_world(sub_worlds, each);
    psv_ray *rays = malloc(count * sizeof *rays);
    uint32_t *worlds = malloc(count * sizeof *worlds);
    if (rays == NULL || worlds == NULL) return 1;
    for (uint32_t q = 0; q < count; ++q) {
        worlds[q] = q / rays_each;
        rays[q] = (psv_ray){.t_max = 20};
        for (uint32_t k = 0; k < 3; ++k) {
            rays[q].origin[k] = (k == 1 ? 1.0f : -3) + (k == 1 ? 2 : 6) * box_random(4, worlds[q], k);
            rays[q].direction[k] = box_random(4, q, 3 + k) - 0.5f;
        }
    }
    psv_buffer data = upload(rays, count * sizeof *rays), names = upload(worlds, count * sizeof *worlds);
    psv_buffer hits = upload(rays, count * sizeof(psv_body_hit));
    psv_query_set set = psv_queries_of(data, sizeof *rays, count);
    set.worlds = names;
    double ms[REPEATS] = {0};
    for (int i = -2; i < REPEATS; ++i) {
        check(psv_synchronize(context));
        const double begin = bench_wall_ms();
        check(psv_cast_rays(world, &set, hits));
        check(psv_synchronize(context));
        if (i >= 0) ms[i] = bench_wall_ms() - begin;
    }
    qsort(ms, REPEATS, sizeof *ms, bench_compare_times);
    printf("%u worlds of %u bodies, %u rays: %.3f ms (%.3f at best) with the tree, %.1f million a second\n", sub_worlds,
           each, count, ms[REPEATS / 2], ms[0], count / ms[REPEATS / 2] / 1e3);
    psv_free_buffer(context, &data);
    psv_free_buffer(context, &names);
    psv_free_buffer(context, &hits);
    psv_destroy_world(world);
    psv_destroy_context(context);
    free(rays);
    free(worlds);
    return 0;
}
