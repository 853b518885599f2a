// Questions to a world between steps: energy and momentum, and the first body on a ray. Both work on host copies.
#include "narrow.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

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

// --- rays ------------------------------------------------------------------------------------------------------------
// Distances are in lengths of the direction; INFINITY: not hit.

static float ray_sphere(v3 o, v3 d, v3 centre, float radius) {
    v3 m = v3_sub(o, centre);
    float a = v3_dot(d, d), b = v3_dot(m, d), c = v3_dot(m, m) - radius * radius;
    float root = b * b - a * c;
    if (c > 0 && (b > 0 || root < 0)) return INFINITY;
    if (c <= 0) return 0; // begins inside
    return (-b - sqrtf(root)) / a;
}

static float ray_box(v3 o, v3 d, v3 low, v3 high) {
    float near = 0, far = INFINITY;
    for (int i = 0; i < 3; ++i) {
        float p = v3_axis(o, i), q = v3_axis(d, i), a = v3_axis(low, i), b = v3_axis(high, i);
        if (fabsf(q) < 1e-30f) {
            if (p < a || p > b) return INFINITY;
            continue;
        }
        float t1 = (a - p) / q, t2 = (b - p) / q;
        near = fmaxf(near, fminf(t1, t2));
        far = fminf(far, fmaxf(t1, t2));
    }
    return near <= far ? near : INFINITY;
}

static float ray_capsule(v3 o, v3 d, float radius, float half) { // along y, at the origin
    float best = fminf(ray_sphere(o, d, v3_make(0, half, 0), radius), ray_sphere(o, d, v3_make(0, -half, 0), radius));
    float a = d.x * d.x + d.z * d.z, b = o.x * d.x + o.z * d.z, c = o.x * o.x + o.z * o.z - radius * radius;
    float root = b * b - a * c;
    if (a < 1e-30f || root < 0) return best;
    float t = c <= 0 ? 0 : (-b - sqrtf(root)) / a;
    return t >= 0 && fabsf(o.y + t * d.y) <= half ? fminf(best, t) : best;
}

static float ray_triangle(v3 o, v3 d, v3 a, v3 b, v3 c) { // Moeller, Trumbore 1997, both sides
    v3 e1 = v3_sub(b, a), e2 = v3_sub(c, a), p = v3_cross(d, e2);
    float det = v3_dot(e1, p);
    if (fabsf(det) < 1e-20f) return INFINITY;
    v3 s = v3_sub(o, a);
    float u = v3_dot(s, p) / det;
    v3 q = v3_cross(s, e1);
    float v = v3_dot(d, q) / det, t = v3_dot(e2, q) / det;
    return u >= 0 && v >= 0 && u + v <= 1 && t >= 0 ? t : INFINITY;
}

static float ray_mesh(const psv_world *world, const psvi_shape *mesh, v3 o, v3 d, float most) {
    float best = INFINITY;
    for (uint32_t node = 0; node < mesh->node_count;) {
        const psvi_mesh_node *n = &world->nodes[mesh->first_node + node];
        if (ray_box(o, d, v3_of(n->min), v3_of(n->max)) > fminf(best, most)) {
            node = n->skip;
            continue;
        }
        for (uint32_t i = 0; i < n->count; ++i) {
            const psvi_triangle *t = &world->triangles[mesh->first_triangle + n->first + i];
            best = fminf(best, ray_triangle(o, d, v3_of(t->p[0]), v3_of(t->p[1]), v3_of(t->p[2])));
        }
        ++node;
    }
    return best;
}

// Walks the cells under the ray in steps of half a cell and tests the two triangles of each.
static float ray_field(const psv_world *world, const psvi_shape *f, v3 o, v3 d, float most) {
    v3 half = v3_make(0.5f * f->size[0], 0, 0.5f * f->size[2]);
    float t = ray_box(o, d, v3_make(-half.x, f->height_min, -half.z), v3_make(half.x, f->height_max, half.z));
    float cx = f->size[0] / (float)(f->columns - 1), cz = f->size[2] / (float)(f->rows - 1);
    float flat = sqrtf(d.x * d.x + d.z * d.z), best = INFINITY;
    float step = flat > 1e-20f ? 0.5f * fminf(cx, cz) / flat : INFINITY;
    const float *h = world->heights + f->first_height;
    // From far away a step may be less than what single precision tells apart; the cells around p are all there are.
    for (bool on = t < INFINITY; on && t <= most; on = t + step > t, t += step) {
        v3 p = v3_madd(o, d, t);
        if (!(fabsf(p.x) <= half.x + cx && fabsf(p.z) <= half.z + cz)) break;
        int64_t column = (int64_t)floorf((p.x + half.x) / cx), row = (int64_t)floorf((p.z + half.z) / cz);
        for (int64_t r = row - 1; r <= row + 1; ++r)
            for (int64_t c = column - 1; c <= column + 1; ++c) {
                if (r < 0 || c < 0 || r + 1 >= (int64_t)f->rows || c + 1 >= (int64_t)f->columns) continue;
                float x = (float)c * cx - half.x, z = (float)r * cz - half.z;
                const float *k = h + r * (int64_t)f->columns + c;
                v3 p00 = v3_make(x, k[0], z), p10 = v3_make(x + cx, k[1], z);
                v3 p01 = v3_make(x, k[f->columns], z + cz), p11 = v3_make(x + cx, k[f->columns + 1], z + cz);
                best = fminf(best, ray_triangle(o, d, p00, p10, p11));
                best = fminf(best, ray_triangle(o, d, p00, p11, p01));
            }
        if (best < INFINITY) break;
    }
    return best;
}

static float ray_solid(const psvi_solid *s, v3 o, v3 d) {
    if (psvi_is_round(s->type)) return ray_sphere(o, d, s->centre, s->size.x);
    v3 local = quat_unrotate(s->rotation, v3_sub(o, s->centre)), along = quat_unrotate(s->rotation, d);
    if (s->type == PSV_SHAPE_CAPSULE) return ray_capsule(local, along, s->size.x, s->size.y);
    return ray_box(local, along, v3_neg(s->size), s->size);
}

static float ray_body(const psv_world *world, const psvi_sim *host, uint32_t i, v3 position, quat rotation, v3 o, v3 d,
                      float most) {
    const psvi_shape *shape = &world->shapes[world->shape_of[i]].data;
    if (shape->type == PSV_SHAPE_PLANE) {
        v3 up = quat_rotate(rotation, v3_make(0, 1, 0));
        float height = v3_dot(v3_sub(o, position), up), rate = v3_dot(d, up);
        return height <= 0 ? 0 : rate < 0 ? -height / rate : INFINITY;
    }
    v3 local = quat_unrotate(rotation, v3_sub(o, position)), along = quat_unrotate(rotation, d);
    if (shape->type == PSV_SHAPE_MESH) return ray_mesh(world, shape, local, along, most);
    if (shape->type == PSV_SHAPE_HEIGHT_FIELD) return ray_field(world, shape, local, along, most);
    if (ray_sphere(o, d, position, shape->radius) > most) return INFINITY;
    float best = INFINITY;
    for (uint32_t k = 0; k < psvi_part_count(shape); ++k) {
        psvi_solid solid = psvi_part(host, shape, position, rotation, k);
        best = fminf(best, ray_solid(&solid, o, d));
    }
    return best;
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
    d = v3_make(ldexpf(d.x, -exponent), ldexpf(d.y, -exponent), ldexpf(d.z, -exponent));
    body_copy c;
    status = copy_bodies(world, &c);
    psvi_sim host = {.children = world->children}; // shapes of the host
    float best = ldexpf(max_distance, exponent);
    *id = (psv_body_id){0, 0};
    for (uint32_t i = 0; status == PSV_OK && i < world->sim.slots; ++i) {
        if (!world->alive[i] || c.position[i].w <= 0) continue;
        float t = ray_body(world, &host, i, v3_of4(c.position[i]), quat_of4(c.rotation[i]), o, d, best);
        if (!(t <= best) || t == INFINITY || (t == best && id->index1 != 0)) continue;
        best = t;
        *id = (psv_body_id){i + 1, world->generation[i]};
    }
    *distance = id->index1 != 0 ? ldexpf(best, -exponent) : max_distance;
    free_copy(&c);
    return status;
}
