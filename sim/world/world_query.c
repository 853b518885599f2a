// Energy and momentum of a world between steps, from host copies.
#include "../contacts/narrow.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Host copies of what the questions need.
typedef struct body_copy {
    psvi_f4 *position, *rotation, *velocity, *angular;
    psvi_f4 *forces; // NULL where no body has any
} body_copy;

static void free_copy(body_copy *c) {
    free(c->position);
    free(c->rotation);
    free(c->velocity);
    free(c->angular);
    free(c->forces);
}

static psv_status copy_bodies(psv_world *world, body_copy *c) {
    uint64_t n = world->sim.slots, bytes = (n + 1) * sizeof(psvi_f4);
    *c = (body_copy){malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes), NULL};
    if (world->sim.forces != NULL) c->forces = malloc(bytes);
    if (!c->position || !c->rotation || !c->velocity || !c->angular || (world->sim.forces != NULL && !c->forces))
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of bodies", 4 * bytes);
    psv_status status = psvi_read_array(world, c->position, world->sim.position, 0, n, sizeof(psvi_f4));
    if (status == PSV_OK) status = psvi_read_array(world, c->rotation, world->sim.rotation, 0, n, sizeof(psvi_f4));
    if (status == PSV_OK) status = psvi_read_array(world, c->velocity, world->sim.velocity, 0, n, sizeof(psvi_f4));
    if (status == PSV_OK)
        status = psvi_read_array(world, c->angular, world->sim.angular_velocity, 0, n, sizeof(psvi_f4));
    if (status == PSV_OK && c->forces != NULL)
        status = psvi_read_array(world, c->forces, world->sim.forces, 0, n, sizeof(psvi_f4));
    return status;
}

static bool moves(const psv_world *world, const body_copy *c, uint32_t i) {
    return world->alive[i] && c->position[i].w > 0 && c->velocity[i].w > 0;
}

// 1/2 w . I w, with I the inverse of the shape's inverse inertia, in the body's frame.
static double spin_energy(const psvi_shape *shape, const psvi_f4 *rotation, const psvi_f4 *angular) {
    if (shape->type == PSV_SHAPE_PARTICLE) return 0;
    v3 w = quat_unrotate(quat_of4(*rotation), v3_of4(*angular));
    sym3 m = shape->inv_inertia;
    double a = m.xx, b = m.yy, c = m.zz, d = m.xy, e = m.xz, f = m.yz;
    double det = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    if (!(det > 0)) return 0;
    double x = w.x, y = w.y, z = w.z;
    double lx = ((b * c - f * f) * x + (e * f - d * c) * y + (d * f - b * e) * z) / det;
    double ly = ((e * f - d * c) * x + (a * c - e * e) * y + (d * e - a * f) * z) / det;
    double lz = ((d * f - b * e) * x + (d * e - a * f) * y + (a * b - d * d) * z) / det;
    return 0.5 * (x * lx + y * ly + z * lz);
}

static double attraction_energy(const psv_world *world, const body_copy *c) {
    double sum = 0, soft = (double)world->def.softening * (double)world->def.softening;
    for (uint32_t i = 0; i < world->sim.slots; ++i) {
        if (!moves(world, c, i)) continue;
        double part = 0;
        for (uint32_t j = 0; j < i; ++j) {
            if (!moves(world, c, j)) continue;
            v3 d = v3_sub(v3_of4(c->position[i]), v3_of4(c->position[j]));
            part += 1 / ((double)c->velocity[j].w * sqrt((double)v3_dot(d, d) + soft));
        }
        sum -= part / (double)c->velocity[i].w;
    }
    return sum * (double)world->def.self_gravity;
}

// Adds the bits of a row to a hash; -0 as 0.
static uint64_t hash_row(uint64_t hash, psvi_f4 row) {
    const float values[4] = {row.x + 0.0f, row.y + 0.0f, row.z + 0.0f, row.w + 0.0f};
    for (int k = 0; k < 4; k += 2) {
        uint64_t bits;
        memcpy(&bits, values + k, sizeof bits);
        hash = psvi_mix64(hash ^ bits);
    }
    return hash;
}

psv_status psv_world_hash(psv_world *world, uint64_t *hash) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (hash == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "hash is NULL");
    body_copy c;
    status = copy_bodies(world, &c);
    uint64_t sum = psvi_mix64(0);
    for (uint32_t i = 0; status == PSV_OK && i < world->sim.slots; ++i) {
        if (!world->alive[i]) continue;
        sum = hash_row(psvi_mix64(sum ^ i), c.position[i]);
        sum = hash_row(hash_row(hash_row(sum, c.rotation[i]), c.velocity[i]), c.angular[i]);
    }
    free_copy(&c);
    if (status == PSV_OK) *hash = sum;
    return status;
}

psv_status psv_world_energy(psv_world *world, double *energy, double momentum[3]) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (energy == NULL || momentum == NULL)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s is NULL", energy == NULL ? "energy" : "momentum");
    body_copy c;
    status = copy_bodies(world, &c);
    double e = 0, p[3] = {0, 0, 0};
    for (uint32_t i = 0; status == PSV_OK && i < world->sim.slots; ++i) {
        if (!moves(world, &c, i)) continue;
        const psvi_shape *shape = &world->shapes[world->shape_of[i]].data;
        double mass = 1 / (double)c.velocity[i].w;
        v3 v = v3_of4(c.velocity[i]);
        v3 com = v3_add(v3_of4(c.position[i]), quat_rotate(quat_of4(c.rotation[i]), v3_of(shape->com)));
        const float *g = world->def.gravity;
        e += 0.5 * mass * ((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
        e += spin_energy(shape, &c.rotation[i], &c.angular[i]);
        double scale = c.forces != NULL ? (double)c.forces[i].z : 1;
        e -= mass * scale * ((double)g[0] * com.x + (double)g[1] * com.y + (double)g[2] * com.z);
        p[0] += mass * (double)v.x;
        p[1] += mass * (double)v.y;
        p[2] += mass * (double)v.z;
    }
    if (status == PSV_OK && world->def.self_gravity > 0) e += attraction_energy(world, &c);
    free_copy(&c);
    *energy = e;
    for (int i = 0; i < 3; ++i)
        momentum[i] = p[i];
    return status;
}
