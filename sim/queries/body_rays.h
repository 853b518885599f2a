// Where a ray meets a body, exactly, and the normal there: balls, boxes, capsules, hulls, compounds, planes, height
// fields and meshes. Distances are in lengths of the direction, which is of about unit length.
#ifndef PAIRSIEVE_BODY_RAYS_H
#define PAIRSIEVE_BODY_RAYS_H

#include "../contacts/narrow.h"

// A place on a body's surface.
typedef struct psvi_surface {
    float t;
    v3 normal;     // points out of solids; of triangles to where the ray comes from
    uint32_t part; // child of a compound, triangle of a mesh, cell and half of a height field; else 0
} psvi_surface;

// A ray that begins inside meets the solid there; the normal is against the ray.
PSVI_HD bool psvi_ray_inside(v3 d, psvi_surface *at) {
    at->t = 0;
    at->normal = v3_unit_or(v3_neg(d), v3_make(0, 1, 0));
    return true;
}

// By the point of the line that is nearest to the centre, which loses nothing when the ray comes from far away.
PSVI_HD bool psvi_ray_ball(v3 o, v3 d, v3 centre, float radius, psvi_surface *at) {
    v3 m = v3_sub(o, centre);
    if (v3_dot(m, m) <= radius * radius) return psvi_ray_inside(d, at);
    float along = -v3_dot(m, d);
    if (!(along > 0)) return false;
    float length2 = v3_dot(d, d), middle = along / length2;
    v3 side = v3_madd(m, d, middle);
    float half2 = radius * radius - v3_dot(side, side);
    if (!(half2 >= 0)) return false;
    at->t = fmaxf(middle - sqrtf(half2 / length2), 0.0f);
    at->normal = v3_unit_or(v3_madd(m, d, at->t), v3_neg(d));
    return true;
}

// Where the line is between two planes; false: nowhere. `axis` is kept where they are entered last.
PSVI_HD bool psvi_clip_slab(float o, float d, float low, float high, int axis, float *near, float *far, int *entered) {
    if (fabsf(d) < 1e-30f) return low <= o && o <= high;
    float a = (low - o) / d, b = (high - o) / d;
    float first = fminf(a, b);
    if (first > *near) {
        *near = first;
        *entered = axis;
    }
    *far = fminf(*far, fmaxf(a, b));
    return *near <= *far;
}

PSVI_HD bool psvi_ray_block(v3 o, v3 d, v3 low, v3 high, psvi_surface *at) {
    float near = 0, far = INFINITY;
    int entered = 3;
    for (int i = 0; i < 3; ++i)
        if (!psvi_clip_slab(v3_axis(o, i), v3_axis(d, i), v3_axis(low, i), v3_axis(high, i), i, &near, &far, &entered))
            return false;
    if (entered == 3) return psvi_ray_inside(d, at);
    at->t = near;
    at->normal = v3_with_axis(v3_make(0, 0, 0), entered, v3_axis(d, entered) > 0 ? -1.0f : 1.0f);
    return true;
}

// Along y, at the origin.
PSVI_HD bool psvi_ray_capsule(v3 o, v3 d, float radius, float half, psvi_surface *at) {
    v3 core = v3_make(o.x, o.y - clamp_f(o.y, -half, half), o.z);
    if (v3_dot(core, core) <= radius * radius) return psvi_ray_inside(d, at);
    psvi_surface end = {0, d, 0};
    bool hit = false;
    float a = d.x * d.x + d.z * d.z;
    if (a > 1e-30f) {
        float middle = -(o.x * d.x + o.z * d.z) / a;
        float x = o.x + middle * d.x, z = o.z + middle * d.z, half2 = radius * radius - x * x - z * z;
        float t = middle - sqrtf(fmaxf(half2, 0.0f) / a);
        if (half2 >= 0 && t >= 0 && fabsf(o.y + t * d.y) <= half) {
            at->t = t;
            at->normal = v3_unit_or(v3_make(o.x + t * d.x, 0, o.z + t * d.z), v3_neg(d));
            hit = true;
        }
    }
    for (int side = -1; side <= 1; side += 2) {
        if (!psvi_ray_ball(o, d, v3_make(0, (float)side * half, 0), radius, &end)) continue;
        if (hit && end.t >= at->t) continue;
        at->t = end.t;
        at->normal = end.normal;
        hit = true;
    }
    return hit;
}

// Both sides (Moeller, Trumbore 1997), with a millionth of the triangle more, so that no ray slips between two.
PSVI_HD bool psvi_ray_face(v3 o, v3 d, v3 a, v3 b, v3 c, psvi_surface *at) {
    v3 e1 = v3_sub(b, a), e2 = v3_sub(c, a), p = v3_cross(d, e2);
    float det = v3_dot(e1, p);
    if (!(fabsf(det) > 1e-20f)) return false;
    v3 s = v3_sub(o, a), q = v3_cross(s, e1);
    float u = v3_dot(s, p) / det, v = v3_dot(d, q) / det, t = v3_dot(e2, q) / det;
    if (!(u >= -1e-6f && v >= -1e-6f && u + v <= 1.000001f && t >= 0)) return false;
    v3 normal = v3_unit_or(v3_cross(e1, e2), v3_neg(d));
    at->t = t;
    at->normal = v3_dot(normal, d) > 0 ? v3_neg(normal) : normal;
    return true;
}

PSVI_HD bool psvi_ray_mesh(const psvi_sim *s, const psvi_shape *mesh, v3 o, v3 d, float most, psvi_surface *at) {
    bool hit = false;
    for (uint32_t node = 0; node < mesh->node_count;) {
        const psvi_mesh_node *n = &s->geometry.nodes[mesh->first_node + node];
        psvi_surface found = {0, d, 0};
        if (!psvi_ray_block(o, d, v3_of(n->min), v3_of(n->max), &found) || found.t > most) {
            node = n->skip;
            continue;
        }
        for (uint32_t i = 0; i < n->count; ++i) {
            const psvi_triangle *t = &s->geometry.triangles[mesh->first_triangle + n->first + i];
            if (!psvi_ray_face(o, d, v3_of(t->p[0]), v3_of(t->p[1]), v3_of(t->p[2]), &found) || found.t > most)
                continue;
            if (hit && found.t == most) continue;
            *at = found;
            at->part = n->first + i;
            most = found.t;
            hit = true;
        }
        ++node;
    }
    return hit;
}

// The corners of the two triangles of a cell, as the narrow phase splits it.
PSVI_HD void psvi_field_cell(const psvi_sim *s, const psvi_shape *f, uint32_t column, uint32_t row, v3 corners[4]) {
    float cell_x = f->size[0] / (float)(f->columns - 1), cell_z = f->size[2] / (float)(f->rows - 1);
    float x = (float)column * cell_x - 0.5f * f->size[0], z = (float)row * cell_z - 0.5f * f->size[2];
    const float *h = s->geometry.heights + f->first_height + (uint64_t)row * f->columns + column;
    corners[0] = v3_make(x, h[0], z);
    corners[1] = v3_make(x + cell_x, h[1], z);
    corners[2] = v3_make(x, h[f->columns], z + cell_z);
    corners[3] = v3_make(x + cell_x, h[f->columns + 1], z + cell_z);
}

PSVI_HD bool psvi_ray_cell(const psvi_sim *s, const psvi_shape *f, int column, int row, v3 o, v3 d, float most,
                           psvi_surface *at) {
    if (column < 0 || row < 0 || column > (int)f->columns - 2 || row > (int)f->rows - 2) return false;
    v3 c[4];
    psvi_surface found = {0, d, 0};
    bool hit = false;
    psvi_field_cell(s, f, (uint32_t)column, (uint32_t)row, c);
    for (uint32_t half = 0; half < 2; ++half) {
        if (!psvi_ray_face(o, d, c[0], half == 0 ? c[1] : c[3], half == 0 ? c[3] : c[2], &found)) continue;
        if (!(found.t <= most) || (hit && found.t == most)) continue;
        *at = found;
        at->part = ((uint32_t)row * (f->columns - 1) + (uint32_t)column) * 2 + half;
        most = found.t;
        hit = true;
    }
    return hit;
}

// Cell after cell under the ray (Amanatides, Woo 1987), in each the neighbours too that rounding might confuse it with:
// the one that the ray comes from and goes to are looked at in any case, so only the hit of the first cell that has one
// counts.
PSVI_HD bool psvi_ray_field(const psvi_sim *s, const psvi_shape *f, v3 o, v3 d, float most, psvi_surface *at) {
    v3 half = v3_make(0.5f * f->size[0], 0, 0.5f * f->size[2]);
    psvi_surface box = {0, d, 0};
    v3 low = v3_make(-half.x, f->height_min, -half.z), high = v3_make(half.x, f->height_max, half.z);
    // A little room, so that a level field is no box without any.
    float room = 1e-5f * (fabsf(f->height_min) + fabsf(f->height_max) + 1e-3f);
    low.y -= room;
    high.y += room;
    if (!psvi_ray_block(o, d, low, high, &box) || box.t > most) return false;
    float cell_x = f->size[0] / (float)(f->columns - 1), cell_z = f->size[2] / (float)(f->rows - 1);
    v3 p = v3_madd(o, d, box.t);
    int last_x = (int)f->columns - 2, last_z = (int)f->rows - 2;
    int x = (int)clamp_f(floorf((p.x + half.x) / cell_x), 0, (float)last_x);
    int z = (int)clamp_f(floorf((p.z + half.z) / cell_z), 0, (float)last_z);
    int step_x = d.x > 0 ? 1 : -1, step_z = d.z > 0 ? 1 : -1;
    float delta_x = fabsf(d.x) > 1e-20f ? cell_x / fabsf(d.x) : INFINITY;
    float delta_z = fabsf(d.z) > 1e-20f ? cell_z / fabsf(d.z) : INFINITY;
    float next_x = delta_x < INFINITY ? ((float)(x + (step_x > 0)) * cell_x - half.x - o.x) / d.x : INFINITY;
    float next_z = delta_z < INFINITY ? ((float)(z + (step_z > 0)) * cell_z - half.z - o.z) / d.z : INFINITY;
    for (uint32_t left = f->columns + f->rows + 2; left > 0; --left) {
        if (psvi_ray_cell(s, f, x, z, o, d, most, at)) return true;
        float leave = fminf(next_x, next_z);
        // Close to a corner the order of the two neighbours may come out wrong: both are looked at.
        if (fabsf(next_x - next_z) <= 1e-4f * (delta_x < delta_z ? delta_x : delta_z) &&
            (psvi_ray_cell(s, f, x + step_x, z, o, d, most, at) || psvi_ray_cell(s, f, x, z + step_z, o, d, most, at)))
            return true;
        if (!(leave <= most)) return false;
        if (next_x <= next_z) {
            x += step_x;
            next_x += delta_x;
        } else {
            z += step_z;
            next_z += delta_z;
        }
        if (x < 0 || z < 0 || x > last_x || z > last_z) return false;
    }
    return false;
}

PSVI_HD bool psvi_ray_hull(const psvi_hull *hull, v3 o, v3 d, psvi_surface *at) {
    float near = 0, far = INFINITY;
    uint32_t entered = hull->face_count;
    for (uint32_t i = 0; i < hull->face_count; ++i) {
        const psvi_f4 plane = hull->planes[i];
        const float height = v3_dot(v3_of4(plane), o) - plane.w, rate = v3_dot(v3_of4(plane), d);
        if (fabsf(rate) < 1e-30f) {
            if (height > 0) return false;
            continue;
        }
        const float t = -height / rate;
        if (rate > 0) {
            far = fminf(far, t);
        } else if (height > 0 && t >= near) {
            near = t;
            entered = i;
        }
    }
    if (!(near <= far)) return false;
    if (entered == hull->face_count) return psvi_ray_inside(d, at);
    at->t = near;
    at->normal = v3_of4(hull->planes[entered]);
    return true;
}

PSVI_HD bool psvi_ray_solid(const psvi_solid *solid, v3 o, v3 d, psvi_surface *at) {
    if (psvi_is_round(solid->type)) return psvi_ray_ball(o, d, solid->centre, solid->size.x, at);
    v3 local = quat_unrotate(solid->rotation, v3_sub(o, solid->centre)), along = quat_unrotate(solid->rotation, d);
    bool hit = solid->type == PSV_SHAPE_CAPSULE ? psvi_ray_capsule(local, along, solid->size.x, solid->size.y, at)
               : solid->type == PSV_SHAPE_HULL  ? psvi_ray_hull(solid->hull, local, along, at)
                                                : psvi_ray_block(local, along, v3_neg(solid->size), solid->size, at);
    if (hit) at->normal = quat_rotate(solid->rotation, at->normal);
    return hit;
}

PSVI_HD bool psvi_ray_plane(v3 o, v3 d, v3 position, v3 up, psvi_surface *at) {
    float height = v3_dot(v3_sub(o, position), up), rate = v3_dot(d, up);
    if (height <= 0) return psvi_ray_inside(d, at);
    if (!(rate < 0)) return false;
    at->t = -height / rate;
    at->normal = up;
    return true;
}

// The body in a slot in use, up to `most`.
PSVI_HD bool psvi_ray_body(const psvi_sim *s, uint32_t slot, v3 o, v3 d, float most, psvi_surface *at) {
    const psvi_shape *shape = &s->geometry.shapes[s->shape[slot]];
    v3 position = v3_of4(s->position[slot]);
    quat rotation = quat_of4(s->rotation[slot]);
    bool hit = false;
    at->part = 0;
    if (shape->type == PSV_SHAPE_PLANE)
        return psvi_ray_plane(o, d, position, quat_rotate(rotation, v3_make(0, 1, 0)), at) && at->t <= most;
    if (shape->type == PSV_SHAPE_MESH || shape->type == PSV_SHAPE_HEIGHT_FIELD) {
        v3 local = quat_unrotate(rotation, v3_sub(o, position)), along = quat_unrotate(rotation, d);
        hit = shape->type == PSV_SHAPE_MESH ? psvi_ray_mesh(s, shape, local, along, most, at)
                                            : psvi_ray_field(s, shape, local, along, most, at);
        if (hit) at->normal = quat_rotate(rotation, at->normal);
        return hit;
    }
    for (uint32_t k = 0; k < psvi_part_count(shape); ++k) {
        psvi_solid solid = psvi_part(s, shape, position, rotation, k);
        psvi_surface found = {0, d, 0};
        if (!psvi_ray_solid(&solid, o, d, &found) || !(found.t <= most) || (hit && found.t == most)) continue;
        *at = found;
        at->part = k;
        most = found.t;
        hit = true;
    }
    return hit;
}

#endif
