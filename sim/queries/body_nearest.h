// The point of a body that is nearest to a given one, exactly: 0 away inside solids and under planes.
#ifndef PAIRSIEVE_BODY_NEAREST_H
#define PAIRSIEVE_BODY_NEAREST_H

#include "body_rays.h"

typedef struct psvi_near_place {
    v3 point;
    float distance;
    uint32_t part; // as psvi_surface
} psvi_near_place;

PSVI_HD void psvi_near_ball(v3 p, v3 centre, float radius, psvi_near_place *at) {
    v3 away = v3_sub(p, centre);
    float length = v3_length(away);
    at->distance = fmaxf(length - radius, 0.0f);
    at->point = length > radius ? v3_madd(centre, away, radius / length) : p;
}

PSVI_HD void psvi_near_solid(const psvi_solid *solid, v3 p, psvi_near_place *at) {
    if (psvi_is_round(solid->type)) {
        psvi_near_ball(p, solid->centre, solid->size.x, at);
    } else if (solid->type == PSV_SHAPE_CAPSULE) {
        v3 a, b;
        psvi_capsule_ends(solid, &a, &b);
        psvi_near_ball(p, v3_madd(a, v3_sub(b, a), psvi_nearest_on_segment(a, b, p)), solid->size.x, at);
    } else if (solid->type == PSV_SHAPE_HULL) {
        const psvi_hull_place near =
            psvi_nearest_on_hull(solid->hull, quat_unrotate(solid->rotation, v3_sub(p, solid->centre)));
        at->distance = fmaxf(near.distance, 0.0f);
        at->point = near.distance > 0 ? v3_add(solid->centre, quat_rotate(solid->rotation, near.point)) : p;
    } else {
        v3 local = quat_unrotate(solid->rotation, v3_sub(p, solid->centre));
        v3 inside = v3_max(v3_min(local, solid->size), v3_neg(solid->size));
        at->distance = v3_length(v3_sub(local, inside));
        at->point = at->distance > 0 ? v3_add(solid->centre, quat_rotate(solid->rotation, inside)) : p;
    }
}

PSVI_HD float psvi_box_away(v3 p, const float *min, const float *max) {
    v3 d = v3_max(v3_max(v3_sub(v3_of(min), p), v3_sub(p, v3_of(max))), v3_make(0, 0, 0));
    return v3_length(d);
}

// Takes the point of a triangle when it is nearer than what there is.
PSVI_HD void psvi_near_face(v3 p, v3 a, v3 b, v3 c, uint32_t part, psvi_near_place *at) {
    v3 point = psvi_nearest_on_triangle(p, a, b, c);
    float distance = v3_length(v3_sub(p, point));
    if (!(distance < at->distance)) return;
    at->distance = distance;
    at->point = point;
    at->part = part;
}

PSVI_HD void psvi_near_mesh(const psvi_sim *s, const psvi_shape *mesh, v3 p, psvi_near_place *at) {
    for (uint32_t node = 0; node < mesh->node_count;) {
        const psvi_mesh_node *n = &s->geometry.nodes[mesh->first_node + node];
        if (psvi_box_away(p, n->min, n->max) > at->distance) {
            node = n->skip;
            continue;
        }
        for (uint32_t i = 0; i < n->count; ++i) {
            const psvi_triangle *t = &s->geometry.triangles[mesh->first_triangle + n->first + i];
            psvi_near_face(p, v3_of(t->p[0]), v3_of(t->p[1]), v3_of(t->p[2]), n->first + i, at);
        }
        ++node;
    }
}

PSVI_HD uint32_t psvi_cell_of(float at, float half, float cell, uint32_t count) {
    return (uint32_t)clamp_f(floorf((at + half) / cell), 0, (float)(count - 2));
}

// The cell under the point gives a first distance; nothing further to the sides than that can be nearer.
PSVI_HD void psvi_near_field(const psvi_sim *s, const psvi_shape *f, v3 p, psvi_near_place *at) {
    float cell_x = f->size[0] / (float)(f->columns - 1), cell_z = f->size[2] / (float)(f->rows - 1);
    float half_x = 0.5f * f->size[0], half_z = 0.5f * f->size[2];
    v3 c[4];
    uint32_t low_x = psvi_cell_of(p.x, half_x, cell_x, f->columns), high_x = low_x;
    uint32_t low_z = psvi_cell_of(p.z, half_z, cell_z, f->rows), high_z = low_z;
    for (int pass = 0; pass < 2; ++pass) {
        for (uint32_t z = low_z; z <= high_z; ++z)
            for (uint32_t x = low_x; x <= high_x; ++x) {
                const uint32_t part = (z * (f->columns - 1) + x) * 2;
                psvi_field_cell(s, f, x, z, c);
                psvi_near_face(p, c[0], c[1], c[3], part, at);
                psvi_near_face(p, c[0], c[3], c[2], part + 1, at);
            }
        float reach = at->distance;
        low_x = psvi_cell_of(p.x - reach, half_x, cell_x, f->columns);
        high_x = psvi_cell_of(p.x + reach, half_x, cell_x, f->columns);
        low_z = psvi_cell_of(p.z - reach, half_z, cell_z, f->rows);
        high_z = psvi_cell_of(p.z + reach, half_z, cell_z, f->rows);
    }
}

// The body in a slot in use; false when it is further away than `most`.
PSVI_HD bool psvi_near_body(const psvi_sim *s, uint32_t slot, v3 p, float most, psvi_near_place *at) {
    const psvi_shape *shape = &s->geometry.shapes[s->shape[slot]];
    v3 position = v3_of4(s->position[slot]);
    quat rotation = quat_of4(s->rotation[slot]);
    at->part = 0;
    if (shape->type == PSV_SHAPE_PLANE) {
        v3 up = quat_rotate(rotation, v3_make(0, 1, 0));
        at->distance = fmaxf(v3_dot(v3_sub(p, position), up), 0.0f);
        at->point = v3_madd(p, up, -at->distance);
        return at->distance <= most;
    }
    if (shape->type == PSV_SHAPE_MESH || shape->type == PSV_SHAPE_HEIGHT_FIELD) {
        v3 local = quat_unrotate(rotation, v3_sub(p, position));
        at->distance = most * 1.0001f + 1e-30f; // what is at `most` is nearer than this
        at->point = local;
        const float none = at->distance;
        if (shape->type == PSV_SHAPE_MESH)
            psvi_near_mesh(s, shape, local, at);
        else
            psvi_near_field(s, shape, local, at);
        if (!(at->distance < none) || !(at->distance <= most)) return false;
        at->point = v3_add(position, quat_rotate(rotation, at->point));
        return true;
    }
    at->distance = INFINITY;
    for (uint32_t k = 0; k < psvi_part_count(shape); ++k) {
        psvi_solid solid = psvi_part(s, shape, position, rotation, k);
        psvi_near_place near;
        psvi_near_solid(&solid, p, &near);
        if (!(near.distance < at->distance)) continue;
        *at = near;
        at->part = k;
    }
    return at->distance <= most;
}

#endif
