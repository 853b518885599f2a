// Contact points of a sphere, capsule, box or hull with a plane, a height field or a triangle mesh. The moving solid is
// the first body: normals point into the ground.
#ifndef PAIRSIEVE_NARROW_TERRAIN_H
#define PAIRSIEVE_NARROW_TERRAIN_H

#include "narrow_surface.h"

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
    const float *h = s->geometry.heights + field->first_height + (uint64_t)row * field->columns + column;
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

// The vertices of a hull that stand on the triangles below them.
PSVI_HD void psvi_collide_field_hull(const psvi_sim *s, const psvi_shape *field, v3 position, quat rotation,
                                     const psvi_solid *solid, float margin, uint32_t feature, psvi_manifold *out) {
    v3 last = v3_make(0, 0, 0);
    uint64_t footing = 0;
    for (uint32_t i = 0; i < solid->hull->vertex_count; ++i) {
        psvi_found f;
        if (!psvi_touch_field(s, field, position, rotation, psvi_hull_vertex(solid, i), 0, margin, &f)) continue;
        const v3 d = v3_sub(f.normal, last);
        if (v3_dot(d, d) > 1e-6f)
            footing = psvi_hull_footing(solid->hull, quat_unrotate(solid->rotation, v3_neg(f.normal)));
        last = f.normal;
        if ((footing >> i & 1) == 0) continue;
        if (out->count == PSVI_MAX_POINTS) psvi_thin_out(out);
        psvi_add_point(out, f.normal, f.point, f.separation, feature | i);
    }
}

// The columns or rows of cells that [low, high] meets: [*first, *end).
PSVI_HD void psvi_cells_between(float low, float high, float origin, float cell, uint32_t count, uint32_t *first,
                                uint32_t *end) {
    const float most = (float)(count - 1);
    *first = (uint32_t)clamp_f((low - origin) / cell, 0, most);
    *end = high < origin ? 0 : (uint32_t)clamp_f((high - origin) / cell, 0, most - 1) + 1;
}

// Edges and corners of a field against a solid that is not round.
PSVI_HD void psvi_collide_field_rims(const psvi_facets *f, const psvi_guest *g, float height_max) {
    const v3 reach = v3_add(g->extent, v3_make(g->margin, g->margin, g->margin));
    const v3 low = v3_sub(g->middle, reach), high = v3_add(g->middle, reach);
    if (low.y > height_max) return;
    uint32_t row, rows, first, end;
    psvi_cells_between(low.z, high.z, f->low_z, f->cell_z, f->rows, &row, &rows);
    psvi_cells_between(low.x, high.x, f->low_x, f->cell_x, f->columns, &first, &end);
    for (; row < rows; ++row)
        for (uint32_t column = first; column < end; ++column) {
            const float *h = f->heights + (uint64_t)row * f->columns + column;
            const float top = fmaxf(fmaxf(h[0], h[1]), fmaxf(h[f->columns], h[f->columns + 1]));
            if (top < low.y) continue;
            const uint32_t facet = (row * (f->columns - 1) + column) * 2;
            psvi_touch_facet(f, facet, g);
            psvi_touch_facet(f, facet + 1, g);
        }
}

PSVI_HD void psvi_collide_field(const psvi_sim *s, const psvi_shape *field, v3 position, quat rotation,
                                const psvi_solid *solid, float margin, uint32_t feature, bool hulls,
                                psvi_manifold *out) {
    if (psvi_takes_hull(hulls, solid->type)) {
        psvi_collide_field_hull(s, field, position, rotation, solid, margin, feature, out);
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
        return;
    }
    const psvi_facets f = psvi_surface_of(s, field);
    const psvi_guest g = psvi_make_guest(solid, position, rotation, margin, feature, hulls, out);
    psvi_collide_field_rims(&f, &g, field->height_max);
}

// A solid against a mesh: walks the mesh's tree with the solid's box.
PSVI_HD void psvi_collide_mesh(const psvi_sim *s, const psvi_shape *mesh, v3 position, quat rotation,
                               const psvi_solid *solid, float margin, uint32_t feature, bool hulls,
                               psvi_manifold *out) {
    const psvi_facets f = psvi_surface_of(s, mesh);
    const psvi_guest g = psvi_make_guest(solid, position, rotation, margin, feature, hulls, out);
    const v3 reach = v3_add(g.extent, v3_make(margin, margin, margin));
    const v3 low = v3_sub(g.middle, reach), high = v3_add(g.middle, reach);
    uint32_t node = 0;
    while (node < mesh->node_count) {
        const psvi_mesh_node *n = &s->geometry.nodes[mesh->first_node + node];
        const bool apart = n->min[0] > high.x || n->max[0] < low.x || n->min[1] > high.y || n->max[1] < low.y ||
                           n->min[2] > high.z || n->max[2] < low.z;
        for (uint32_t i = 0; i < n->count && !apart; ++i)
            psvi_touch_facet(&f, n->first + i, &g);
        node = apart ? n->skip : node + 1;
    }
}

#endif
