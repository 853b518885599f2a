// Contact points of a sphere, capsule, box or hull with a plane, a height field or a triangle mesh. The moving solid is
// the first body: normals point into the ground.
#ifndef PAIRSIEVE_NARROW_TERRAIN_H
#define PAIRSIEVE_NARROW_TERRAIN_H

#include "narrow_hulls.h"

PSVI_HD v3 psvi_box_corner(const psvi_solid *box, uint32_t corner) {
    v3 h = box->size;
    v3 p = v3_make(corner & 1 ? h.x : -h.x, corner & 2 ? h.y : -h.y, corner & 4 ? h.z : -h.z);
    return v3_add(box->centre, quat_rotate(box->rotation, p));
}

// A sphere (radius 0: a box's corner) against the plane through `origin` with unit normal `up`.
PSVI_HD bool psvi_touch_plane(v3 centre, float radius, v3 origin, v3 up, float margin, psvi_found *found) {
    found->separation = v3_dot(v3_sub(centre, origin), up) - radius;
    if (!(found->separation <= margin)) return false;
    found->normal = v3_neg(up);
    found->point = v3_madd(centre, up, -(radius + 0.5f * found->separation));
    found->feature = 0;
    return true;
}

PSVI_HD void psvi_collide_plane_sphere(v3 centre, float radius, v3 origin, v3 up, float margin, uint32_t feature,
                                       psvi_manifold *out) {
    psvi_found f;
    if (psvi_touch_plane(centre, radius, origin, up, margin, &f))
        psvi_add_point(out, f.normal, f.point, f.separation, feature);
}

PSVI_HD void psvi_collide_plane(const psvi_solid *solid, v3 origin, v3 up, float margin, uint32_t feature, bool hulls,
                                psvi_manifold *out) {
    if (psvi_takes_hull(hulls, solid->type)) {
        psvi_collide_plane_hull(solid, origin, up, margin, feature, out);
    } else if (solid->type == PSV_SHAPE_BOX) {
        for (uint32_t i = 0; i < 8; ++i)
            psvi_collide_plane_sphere(psvi_box_corner(solid, i), 0, origin, up, margin, feature | i, out);
    } else if (solid->type == PSV_SHAPE_CAPSULE) {
        v3 p, q;
        psvi_capsule_ends(solid, &p, &q);
        psvi_collide_plane_sphere(p, solid->size.x, origin, up, margin, feature | 1u, out);
        psvi_collide_plane_sphere(q, solid->size.x, origin, up, margin, feature | 2u, out);
    } else {
        psvi_collide_plane_sphere(solid->centre, solid->size.x, origin, up, margin, feature, out);
    }
}

// A height field's surface under the local point (x, z): a point of it, and the unit normal of its triangle. Each cell
// is split along the diagonal from its lowest to its highest corner index. False beside the field.
PSVI_HD bool psvi_height_under(const psvi_sim *s, const psvi_shape *field, float x, float z, float *height, v3 *up) {
    float cell_x = field->size[0] / (float)(field->columns - 1), cell_z = field->size[2] / (float)(field->rows - 1);
    float gx = (x + 0.5f * field->size[0]) / cell_x, gz = (z + 0.5f * field->size[2]) / cell_z;
    if (!(gx >= 0 && gz >= 0 && gx <= (float)(field->columns - 1) && gz <= (float)(field->rows - 1))) return false;
    uint32_t column = (uint32_t)gx, row = (uint32_t)gz;
    if (column > field->columns - 2) column = field->columns - 2;
    if (row > field->rows - 2) row = field->rows - 2;
    float u = gx - (float)column, v = gz - (float)row;
    const float *h = s->heights + field->first_height + (uint64_t)row * field->columns + column;
    float h00 = h[0], h10 = h[1], h01 = h[field->columns], h11 = h[field->columns + 1];
    float slope_x = u >= v ? h10 - h00 : h11 - h01; // over one cell
    float slope_z = u >= v ? h11 - h10 : h01 - h00;
    *height = h00 + slope_x * u + slope_z * v;
    *up = v3_unit_or(v3_make(-slope_x / cell_x, 1, -slope_z / cell_z), v3_make(0, 1, 0));
    return true;
}

// A sphere against the field: against the triangles below its middle and below its four sides, each as a plane.
PSVI_HD bool psvi_touch_field(const psvi_sim *s, const psvi_shape *field, v3 position, quat rotation, v3 centre,
                              float radius, float margin, psvi_found *found) {
    v3 local = quat_unrotate(rotation, v3_sub(centre, position));
    if (local.y - radius - margin > field->height_max) return false;
    float best = margin;
    v3 best_up = v3_make(0, 1, 0);
    bool hit = false;
    for (int i = 0; i < 5; ++i) {
        float reach = 0.7f * radius;
        float x = local.x + (i == 1   ? reach
                             : i == 2 ? -reach
                                      : 0),
              z = local.z + (i == 3   ? reach
                             : i == 4 ? -reach
                                      : 0);
        float height;
        v3 up;
        if (!psvi_height_under(s, field, x, z, &height, &up)) continue;
        float separation = (local.x - x) * up.x + (local.y - height) * up.y + (local.z - z) * up.z - radius;
        if (separation <= best) {
            best = separation;
            best_up = up;
            hit = true;
        }
        if (radius <= 0) break;
    }
    if (!hit) return false;
    v3 normal = quat_rotate(rotation, best_up);
    found->normal = v3_neg(normal);
    found->separation = best;
    found->point = v3_madd(centre, normal, -(radius + 0.5f * best));
    found->feature = 0;
    return true;
}

PSVI_HD void psvi_collide_field_sphere(const psvi_sim *s, const psvi_shape *field, v3 position, quat rotation,
                                       v3 centre, float radius, float margin, uint32_t feature, psvi_manifold *out) {
    psvi_found f;
    if (psvi_touch_field(s, field, position, rotation, centre, radius, margin, &f))
        psvi_add_point(out, f.normal, f.point, f.separation, feature);
}

PSVI_HD void psvi_collide_field(const psvi_sim *s, const psvi_shape *field, v3 position, quat rotation,
                                const psvi_solid *solid, float margin, uint32_t feature, bool hulls,
                                psvi_manifold *out) {
    if (psvi_takes_hull(hulls, solid->type)) {
        for (uint32_t i = 0; i < solid->hull->vertex_count; ++i)
            psvi_collide_field_sphere(s, field, position, rotation, psvi_hull_vertex(solid, i), 0, margin, feature | i,
                                      out);
    } else if (solid->type == PSV_SHAPE_BOX) {
        for (uint32_t i = 0; i < 8; ++i)
            psvi_collide_field_sphere(s, field, position, rotation, psvi_box_corner(solid, i), 0, margin, feature | i,
                                      out);
    } else if (solid->type == PSV_SHAPE_CAPSULE) {
        v3 p, q;
        psvi_capsule_ends(solid, &p, &q);
        psvi_collide_field_sphere(s, field, position, rotation, p, solid->size.x, margin, feature | 1u, out);
        psvi_collide_field_sphere(s, field, position, rotation, q, solid->size.x, margin, feature | 2u, out);
    } else {
        psvi_collide_field_sphere(s, field, position, rotation, solid->centre, solid->size.x, margin, feature, out);
    }
}

// Nearest point of a triangle (Ericson, «Real-Time Collision Detection», 5.1.5).
PSVI_HD v3 psvi_nearest_on_triangle(v3 p, v3 a, v3 b, v3 c) {
    v3 ab = v3_sub(b, a), ac = v3_sub(c, a), ap = v3_sub(p, a);
    float d1 = v3_dot(ab, ap), d2 = v3_dot(ac, ap);
    if (d1 <= 0 && d2 <= 0) return a;
    v3 bp = v3_sub(p, b);
    float d3 = v3_dot(ab, bp), d4 = v3_dot(ac, bp);
    if (d3 >= 0 && d4 <= d3) return b;
    float vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0) return v3_madd(a, ab, d1 / (d1 - d3));
    v3 cp = v3_sub(p, c);
    float d5 = v3_dot(ab, cp), d6 = v3_dot(ac, cp);
    if (d6 >= 0 && d5 <= d6) return c;
    float vb = d5 * d2 - d1 * d6;
    if (vb <= 0 && d2 >= 0 && d6 <= 0) return v3_madd(a, ac, d2 / (d2 - d6));
    float va = d3 * d6 - d5 * d4;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return v3_madd(b, v3_sub(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    float scale = 1.0f / (va + vb + vc);
    return v3_madd(v3_madd(a, ab, vb * scale), ac, vc * scale);
}

// One sphere (radius 0: a box's corner) against one triangle; both sides are solid.
PSVI_HD void psvi_collide_triangle_sphere(v3 a, v3 b, v3 c, v3 centre, float radius, float margin, uint32_t feature,
                                          psvi_manifold *out) {
    v3 nearest = psvi_nearest_on_triangle(centre, a, b, c);
    v3 d = v3_sub(centre, nearest);
    float squared = v3_dot(d, d), reach = radius + margin;
    if (!(squared <= reach * reach)) return;
    v3 face = v3_unit_or(v3_cross(v3_sub(b, a), v3_sub(c, a)), v3_make(0, 1, 0));
    float distance = sqrtf(squared);
    v3 up = distance > 1e-7f ? v3_scale(d, 1.0f / distance) : face;
    float separation = distance - radius;
    psvi_add_point(out, v3_neg(up), v3_madd(centre, up, -(radius + 0.5f * separation)), separation, feature);
}

// Unit normal of a triangle, to the side on which x is: both are solid.
PSVI_HD v3 psvi_triangle_side(v3 a, v3 b, v3 c, v3 x) {
    v3 face = v3_unit_or(v3_cross(v3_sub(b, a), v3_sub(c, a)), v3_make(0, 1, 0));
    return v3_dot(v3_sub(x, a), face) < 0 ? v3_neg(face) : face;
}

// A solid's corner over or up to `depth` below a triangle.
PSVI_HD void psvi_collide_triangle_corner(v3 a, v3 b, v3 c, v3 face, v3 corner, float depth, float margin,
                                          uint32_t feature, psvi_manifold *out) {
    float separation = v3_dot(v3_sub(corner, a), face);
    if (!(separation <= margin) || separation < -depth) return;
    v3 foot = v3_madd(corner, face, -separation);
    v3 off = v3_sub(psvi_nearest_on_triangle(foot, a, b, c), foot);
    if (v3_dot(off, off) > 1e-10f) return;
    psvi_add_point(out, v3_neg(face), v3_madd(corner, face, -0.5f * separation), separation, feature);
}

// A hull against one triangle, as a box is. `inside`: a point of it.
PSVI_HD_LONG void psvi_collide_triangle_hull(v3 a, v3 b, v3 c, const psvi_solid *hull, v3 inside, float margin,
                                             uint32_t feature, psvi_manifold *out) {
    v3 face = psvi_triangle_side(a, b, c, inside);
    for (uint32_t i = 0; i < hull->hull->vertex_count; ++i)
        psvi_collide_triangle_corner(a, b, c, face, psvi_hull_vertex(hull, i), hull->size.y, margin, feature | i, out);
    psvi_collide_hull_sphere(hull, a, 0, fminf(margin, 0.01f), feature | 64u, out);
    psvi_collide_hull_sphere(hull, b, 0, fminf(margin, 0.01f), feature | 65u, out);
    psvi_collide_hull_sphere(hull, c, 0, fminf(margin, 0.01f), feature | 66u, out);
}

// A box against one triangle: its corners below the face by up to half of its least width, and the triangle's corners
// inside the box.
PSVI_HD void psvi_collide_triangle_box(v3 a, v3 b, v3 c, const psvi_solid *box, float margin, uint32_t feature,
                                       psvi_manifold *out) {
    v3 face = psvi_triangle_side(a, b, c, box->centre);
    float depth = fminf(fminf(box->size.x, box->size.y), box->size.z);
    for (uint32_t i = 0; i < 8; ++i)
        psvi_collide_triangle_corner(a, b, c, face, psvi_box_corner(box, i), depth, margin, feature | i, out);
    psvi_collide_box_sphere(box, a, 0, fminf(margin, 0.01f), feature | 8u, out);
    psvi_collide_box_sphere(box, b, 0, fminf(margin, 0.01f), feature | 9u, out);
    psvi_collide_box_sphere(box, c, 0, fminf(margin, 0.01f), feature | 10u, out);
}

// A solid against a mesh: walks the mesh's tree with the solid's bounds (half extent `reach` about its centre).
PSVI_HD void psvi_collide_mesh(const psvi_sim *s, const psvi_shape *mesh, v3 position, quat rotation,
                               const psvi_solid *solid, float reach, float margin, uint32_t feature, bool hulls,
                               psvi_manifold *out) {
    v3 centre = quat_unrotate(rotation, v3_sub(solid->centre, position));
    float r = reach + margin;
    const v3 inside = psvi_takes_hull(hulls, solid->type) ? psvi_hull_middle(solid) : solid->centre;
    uint32_t node = 0;
    while (node < mesh->node_count) {
        const psvi_mesh_node *n = &s->nodes[mesh->first_node + node];
        bool apart = n->min[0] > centre.x + r || n->max[0] < centre.x - r || n->min[1] > centre.y + r ||
                     n->max[1] < centre.y - r || n->min[2] > centre.z + r || n->max[2] < centre.z - r;
        if (apart) {
            node = n->skip;
            continue;
        }
        for (uint32_t i = 0; i < n->count; ++i) {
            const psvi_triangle *t = &s->triangles[mesh->first_triangle + n->first + i];
            v3 a = v3_add(position, quat_rotate(rotation, v3_of(t->p[0])));
            v3 b = v3_add(position, quat_rotate(rotation, v3_of(t->p[1])));
            v3 c = v3_add(position, quat_rotate(rotation, v3_of(t->p[2])));
            uint32_t id = feature ^ ((n->first + i) << 4);
            if (psvi_takes_hull(hulls, solid->type)) {
                psvi_collide_triangle_hull(a, b, c, solid, inside, margin, feature ^ ((n->first + i) << 7), out);
            } else if (solid->type == PSV_SHAPE_BOX) {
                psvi_collide_triangle_box(a, b, c, solid, margin, id, out);
            } else if (solid->type == PSV_SHAPE_CAPSULE) {
                v3 p, q;
                psvi_capsule_ends(solid, &p, &q);
                psvi_collide_triangle_sphere(a, b, c, p, solid->size.x, margin, id | 1u, out);
                psvi_collide_triangle_sphere(a, b, c, q, solid->size.x, margin, id | 2u, out);
                psvi_collide_triangle_sphere(a, b, c, solid->centre, solid->size.x, margin, id | 3u, out);
            } else {
                psvi_collide_triangle_sphere(a, b, c, solid->centre, solid->size.x, margin, id, out);
            }
        }
        ++node;
    }
}

#endif
