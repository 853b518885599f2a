// Meshes and height fields as surfaces: triangles that know their neighbours. A body touches an edge or a corner of a
// triangle only where no other part of the surface is nearer. So a smooth surface acts as if it had no edges.
#ifndef PAIRSIEVE_NARROW_SURFACE_H
#define PAIRSIEVE_NARROW_SURFACE_H

#include "narrow_hulls.h"

#define PSVI_SURFACE_SLACK 1e-3f // of directions, rad
#define PSVI_FAN 64              // triangles around a corner that are looked at, in each direction

// A mesh or a height field: its triangles by number. A field's cell has two, the first on the side of its first row.
typedef struct psvi_facets {
    const psvi_triangle *triangles; // of a mesh; NULL for a field
    const float *heights;           // of a field; NULL for a mesh
    bool one_sided;
    uint32_t columns, rows;
    float cell_x, cell_z, low_x, low_z;
} psvi_facets;

typedef struct psvi_facet {
    v3 p[3];
    uint32_t index, next[3]; // as psvi_triangle.next; without marks in a field
} psvi_facet;

PSVI_HD psvi_facets psvi_surface_of(const psvi_sim *s, const psvi_shape *shape) {
    psvi_facets f;
    const bool mesh = shape->type == PSV_SHAPE_MESH;
    f.triangles = mesh ? s->geometry.triangles + shape->first_triangle : 0;
    f.one_sided = mesh && shape->one_sided;
    f.heights = mesh ? 0 : s->geometry.heights + shape->first_height;
    f.columns = shape->columns;
    f.rows = shape->rows;
    f.cell_x = shape->size[0] / (float)(shape->columns - 1);
    f.cell_z = shape->size[2] / (float)(shape->rows - 1);
    f.low_x = -0.5f * shape->size[0];
    f.low_z = -0.5f * shape->size[2];
    return f;
}

PSVI_HD v3 psvi_field_point(const psvi_facets *f, uint32_t column, uint32_t row) {
    return v3_make(f->low_x + f->cell_x * (float)column, f->heights[(uint64_t)row * f->columns + column],
                   f->low_z + f->cell_z * (float)row);
}

PSVI_HD psvi_facet psvi_field_facet(const psvi_facets *f, uint32_t index) {
    const uint32_t columns = f->columns - 1, cell = index / 2, column = cell % columns, row = cell / columns;
    psvi_facet t;
    t.index = index;
    t.p[0] = psvi_field_point(f, column, row);
    if (index % 2 == 0) {
        t.p[1] = psvi_field_point(f, column + 1, row + 1);
        t.p[2] = psvi_field_point(f, column + 1, row);
        t.next[0] = index + 1;
        t.next[1] = column + 1 < columns ? index + 3 : PSVI_NO_FACET;
        t.next[2] = row > 0 ? index + 1 - 2 * columns : PSVI_NO_FACET;
    } else {
        t.p[1] = psvi_field_point(f, column, row + 1);
        t.p[2] = psvi_field_point(f, column + 1, row + 1);
        t.next[0] = column > 0 ? index - 3 : PSVI_NO_FACET;
        t.next[1] = row + 2 < f->rows ? index - 1 + 2 * columns : PSVI_NO_FACET;
        t.next[2] = index - 1;
    }
    return t;
}

PSVI_HD psvi_facet psvi_load_facet(const psvi_facets *f, uint32_t index) {
    if (f->triangles == 0) return psvi_field_facet(f, index);
    psvi_facet t;
    t.index = index;
    for (int k = 0; k < 3; ++k) {
        t.p[k] = v3_of(f->triangles[index].p[k]);
        t.next[k] = f->triangles[index].next[k];
    }
    return t;
}

PSVI_HD bool psvi_same_place(v3 a, v3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// The corner of t that is at neither a nor b.
PSVI_HD v3 psvi_facet_apex(const psvi_facet *t, v3 a, v3 b) {
    for (int k = 0; k < 2; ++k)
        if (!psvi_same_place(t->p[k], a) && !psvi_same_place(t->p[k], b)) return t->p[k];
    return t->p[2];
}

// From the edge a b into its triangle, at right angles; unit, or 0 where the apex lies on the edge.
PSVI_HD v3 psvi_edge_inward(v3 a, v3 b, v3 apex) {
    const v3 e = v3_sub(b, a), d = v3_sub(apex, a);
    const v3 inward = v3_sub(v3_scale(d, v3_dot(e, e)), v3_scale(e, v3_dot(d, e)));
    return v3_unit_or(inward, v3_make(0, 0, 0));
}

// The triangle across edge k: its direction away from the edge. 0 at a border.
PSVI_HD v3 psvi_beyond_edge(const psvi_facets *f, const psvi_facet *t, int k) {
    const uint32_t other = t->next[k] & PSVI_NO_FACET;
    if (other == PSVI_NO_FACET) return v3_make(0, 0, 0);
    const psvi_facet o = psvi_load_facet(f, other);
    const v3 a = t->p[k], b = t->p[k == 2 ? 0 : k + 1];
    return psvi_edge_inward(a, b, psvi_facet_apex(&o, a, b));
}

// Goes around a corner from triangle `index` over its edge `k`; for each edge met there: the part of its direction
// along the unit vector n. False once that is more than the slack. `low`: the least part so far; `first`: the least
// number of the triangles; `front`: n is on the front of one of them.
PSVI_HD_LONG bool psvi_walk_fan(const psvi_facets *f, uint32_t index, v3 corner, bool forward, v3 n, float *low,
                                uint32_t *first, bool *front, bool *closed) {
    uint32_t from = PSVI_NO_FACET, at = index;
    *closed = false;
    for (int i = 0; i < PSVI_FAN; ++i) {
        const psvi_facet t = psvi_load_facet(f, at);
        const int c = psvi_same_place(t.p[0], corner) ? 0 : psvi_same_place(t.p[1], corner) ? 1 : 2;
        const int before = c == 0 ? 2 : c - 1, after = c == 2 ? 0 : c + 1;
        // The edges at the corner are number c, to `after`, and number `before`, from `before`.
        for (int side = 0; side < 2; ++side) {
            const v3 d = v3_sub(t.p[side == 0 ? after : before], corner);
            const float part = v3_dot(v3_unit_or(d, v3_make(0, 0, 0)), n);
            if (part > PSVI_SURFACE_SLACK) return false;
            *low = fminf(*low, part);
        }
        *first = at < *first ? at : *first;
        *front = *front || v3_dot(v3_cross(v3_sub(t.p[1], t.p[0]), v3_sub(t.p[2], t.p[0])), n) > 0;
        const uint32_t by_after = t.next[c] & PSVI_NO_FACET, by_before = t.next[before] & PSVI_NO_FACET;
        const uint32_t to = i == 0 ? (forward ? by_after : by_before) : by_after != from ? by_after : by_before;
        if (to == PSVI_NO_FACET) return true;
        if (to == index) {
            *closed = true;
            return true;
        }
        from = at;
        at = to;
    }
    *closed = true;
    return true;
}

// Whether what lies in direction n from corner k of a triangle is nearer to the corner than to all edges there. `low`:
// how much the edges lie away from n, at most. `owns`: the triangle is the first of those there.
PSVI_HD bool psvi_corner_faces(const psvi_facets *f, const psvi_facet *t, int k, v3 n, float *low, bool *owns) {
    uint32_t first = t->index;
    bool closed, front = !f->one_sided;
    *low = 0;
    if (!psvi_walk_fan(f, t->index, t->p[k], true, n, low, &first, &front, &closed)) return false;
    if (!closed && !psvi_walk_fan(f, t->index, t->p[k], false, n, low, &first, &front, &closed)) return false;
    *owns = first == t->index;
    return front;
}

// An edge that the surface has: it bends there or ends, and this triangle stands for it.
PSVI_HD bool psvi_edge_acts(const psvi_facets *f, const psvi_facet *t, int k, v3 face, v3 beyond) {
    if (f->triangles != 0) return (t->next[k] & PSVI_EDGE_ACTS) != 0;
    const uint32_t other = t->next[k];
    return other == PSVI_NO_FACET || (t->index < other && fabsf(v3_dot(face, beyond)) > PSVI_SURFACE_FLAT);
}

// --- a solid over a surface ------------------------------------------------------------------------------------------

// A solid in a surface's frame, about a point inside of it: distances to triangles nearby then keep their digits, and
// triangles are read as they are.
typedef struct psvi_guest {
    uint32_t type;
    bool hull;
    v3 size;
    v3 middle;    // in the surface's frame
    axes3 axes;   // of the solid's frame
    v3 origin;    // of the solid's frame, from the middle
    v3 com;       // of the body, from the middle
    float depth;  // to which it is pushed out: half of its least width
    float reach;  // radius about the middle
    v3 extent;    // half extents of its box about the middle
    float margin; // contacts further apart are left out
    const psvi_hull *tables;
    quat rotation; // back to the world
    v3 place;      // the middle there
    uint32_t feature;
    psvi_manifold *out;
} psvi_guest;

PSVI_HD psvi_guest psvi_make_guest(const psvi_solid *solid, v3 position, quat rotation, float margin, uint32_t feature,
                                   bool hulls, psvi_manifold *out) {
    const quat turn = quat_mul(quat_make(-rotation.x, -rotation.y, -rotation.z, rotation.w), solid->rotation);
    psvi_guest g;
    g.type = solid->type;
    g.hull = psvi_takes_hull(hulls, solid->type);
    g.size = solid->size;
    g.place = g.hull ? psvi_hull_middle(solid) : solid->centre;
    g.middle = quat_unrotate(rotation, v3_sub(g.place, position));
    g.axes = quat_axes(turn);
    g.origin = quat_unrotate(rotation, v3_sub(solid->centre, g.place));
    g.com = quat_unrotate(rotation, v3_sub(out->com_a, g.place));
    psvi_solid turned = *solid;
    turned.rotation = turn;
    g.depth = psvi_solid_thinnest(solid);
    g.reach = psvi_solid_reach(solid) + v3_length(g.origin);
    g.extent = psvi_solid_extent(&turned);
    for (uint32_t i = 0; g.hull && i < solid->hull->vertex_count; ++i) {
        const v3 v = v3_abs(v3_add(g.origin, axes_apply(&g.axes, v3_of4(solid->hull->vertices[i]))));
        g.extent = i == 0 ? v : v3_max(g.extent, v);
    }
    g.margin = margin;
    g.tables = solid->hull;
    g.rotation = rotation;
    g.feature = feature;
    g.out = out;
    return g;
}

// Corners and edges of a guest that is a box or a hull.
PSVI_HD uint32_t psvi_guest_corners(const psvi_guest *g) { return g->hull ? g->tables->vertex_count : 8; }

PSVI_HD v3 psvi_guest_corner(const psvi_guest *g, uint32_t i) {
    if (g->hull) return v3_add(g->origin, axes_apply(&g->axes, v3_of4(g->tables->vertices[i])));
    return axes_apply(&g->axes, v3_make(i & 1 ? g->size.x : -g->size.x, i & 2 ? g->size.y : -g->size.y,
                                        i & 4 ? g->size.z : -g->size.z));
}

PSVI_HD uint32_t psvi_guest_edges(const psvi_guest *g) { return g->hull ? g->tables->edge_count : 12; }

typedef struct psvi_guest_edge {
    v3 a, b, n, m; // its ends, and the normals of its faces
} psvi_guest_edge;

PSVI_HD psvi_guest_edge psvi_load_guest_edge(const psvi_guest *g, uint32_t i) {
    psvi_guest_edge e;
    if (g->hull) {
        const uint8_t *edge = g->tables->edges[i];
        e.a = psvi_guest_corner(g, edge[0]);
        e.b = psvi_guest_corner(g, edge[1]);
        e.n = axes_apply(&g->axes, v3_of4(g->tables->planes[edge[2]]));
        e.m = axes_apply(&g->axes, v3_of4(g->tables->planes[edge[3]]));
        return e;
    }
    const uint32_t axis = i / 4, next = axis == 2 ? 0 : axis + 1, last = axis == 0 ? 2 : axis - 1;
    const uint32_t corner = (i & 1) << next | (i >> 1 & 1) << last;
    e.a = psvi_guest_corner(g, corner);
    e.b = psvi_guest_corner(g, corner | 1u << axis);
    e.n = v3_scale(g->axes.u[next], i & 1 ? 1.0f : -1.0f);
    e.m = v3_scale(g->axes.u[last], i & 2 ? 1.0f : -1.0f);
    return e;
}

// How far a box or hull reaches against the unit vector n.
PSVI_HD float psvi_guest_support(const psvi_guest *g, v3 n) {
    const v3 local = axes_undo(&g->axes, n);
    if (!g->hull) return v3_dot(v3_abs(local), g->size);
    float most = -3.4e38f;
    for (uint32_t i = 0; i < g->tables->vertex_count; ++i)
        most = fmaxf(most, -v3_dot(local, v3_of4(g->tables->vertices[i])));
    return most - v3_dot(n, g->origin);
}

// --- points ----------------------------------------------------------------------------------------------------------

#define PSVI_SURFACE_OTHER 0x800u // of features: a point of an edge or corner of the surface

// Features of points that belong to a corner of the solid do not name triangles, so that it keeps them as it slides.
PSVI_HD uint32_t psvi_corner_feature(v3 n, uint32_t corner) {
    const v3 a = v3_abs(n);
    const uint32_t axis = a.y >= a.x && a.y >= a.z ? 1 : a.x >= a.z ? 0 : 2;
    return (axis * 2 + (v3_axis(n, (int)axis) > 0 ? 1 : 0)) << 6 | corner;
}

PSVI_HD uint32_t psvi_surface_feature(uint32_t facet, uint32_t k, uint32_t edge) {
    return PSVI_SURFACE_OTHER | (uint32_t)(psvi_mix64((uint64_t)(facet * 3 + k) << 8 | edge) & 0x7ffu);
}

// Of points with one normal, from place `first` on, keeps the four that span most, the deepest among them.
PSVI_HD void psvi_thin_out_from(psvi_manifold *out, uint32_t first) {
    psvi_clip_vertex list[PSVI_MAX_POINTS];
    uint32_t place[PSVI_MAX_POINTS], keep = 0;
    int count = 0, chosen[4];
    v3 ux, uy;
    const v3 n = out->found[first].normal, origin = out->found[first].point;
    v3_tangents(n, &ux, &uy);
    for (uint32_t i = first; i < out->count; ++i) {
        const psvi_found *f = &out->found[i];
        if (!(v3_dot(f->normal, n) > 0.9999f) || !psvi_same_solids(f->feature, out->found[first].feature)) continue;
        const v3 d = v3_sub(f->point, origin);
        list[count].x = v3_dot(d, ux);
        list[count].y = v3_dot(d, uy);
        list[count].depth = f->separation;
        place[count++] = i;
    }
    if (count <= 4) return;
    const int kept = psvi_choose_four(list, count, chosen);
    for (int i = 0; i < kept; ++i)
        keep |= 1u << place[chosen[i]];
    uint32_t drop = 0, end = first;
    for (int i = 0; i < count; ++i)
        drop |= 1u << place[i];
    for (uint32_t i = first; i < out->count; ++i)
        if ((drop >> i & 1) == 0 || (keep >> i & 1) != 0) out->found[end++] = out->found[i];
    out->count = end;
}

PSVI_HD_LONG void psvi_thin_out(psvi_manifold *out) {
    for (uint32_t i = 0; i + 4 < out->count; ++i)
        psvi_thin_out_from(out, i);
}

// Adds a point, `x` from the guest's middle, with the normal n out of the surface; once where triangles share it.
PSVI_HD_LONG void psvi_add_surface_point(const psvi_guest *g, v3 n, v3 x, float separation, uint32_t feature) {
    psvi_manifold *out = g->out;
    const v3 normal = v3_neg(quat_rotate(g->rotation, n)), point = v3_add(g->place, quat_rotate(g->rotation, x));
    const uint32_t name = g->feature | feature;
    for (uint32_t i = 0; i < out->count; ++i) {
        psvi_found *f = &out->found[i];
        if (!psvi_same_solids(f->feature, name) || !(v3_dot(f->normal, normal) > 0.9999f)) continue;
        const v3 d = v3_sub(f->point, point);
        if (f->feature != name && v3_dot(d, d) > 1e-6f * g->depth * g->depth) continue;
        if (separation >= f->separation) return;
        f->normal = normal;
        f->point = point;
        f->separation = separation;
        f->feature = name;
        return;
    }
    if (out->count == PSVI_MAX_POINTS) psvi_thin_out(out);
    psvi_add_point(out, normal, point, separation, name);
}

// --- round solids ----------------------------------------------------------------------------------------------------

// Nearest point of the triangle a b c to p (Ericson, «Real-Time Collision Detection», 5.1.5), and where it lies: on
// edge 0 to 2 (that from corner k on), at corner 3 + k, or inside, 6.
PSVI_HD v3 psvi_nearest_of_triangle(v3 p, v3 a, v3 b, v3 c, int *where) {
    v3 ab = v3_sub(b, a), ac = v3_sub(c, a), ap = v3_sub(p, a);
    float d1 = v3_dot(ab, ap), d2 = v3_dot(ac, ap);
    *where = 3;
    if (d1 <= 0 && d2 <= 0) return a;
    v3 bp = v3_sub(p, b);
    float d3 = v3_dot(ab, bp), d4 = v3_dot(ac, bp);
    *where = 4;
    if (d3 >= 0 && d4 <= d3) return b;
    float vc = d1 * d4 - d3 * d2;
    *where = 0;
    if (vc <= 0 && d1 >= 0 && d3 <= 0) return v3_madd(a, ab, d1 / (d1 - d3));
    v3 cp = v3_sub(p, c);
    float d5 = v3_dot(ab, cp), d6 = v3_dot(ac, cp);
    *where = 5;
    if (d6 >= 0 && d5 <= d6) return c;
    float vb = d5 * d2 - d1 * d6;
    *where = 2;
    if (vb <= 0 && d2 >= 0 && d6 <= 0) return v3_madd(a, ac, d2 / (d2 - d6));
    float va = d3 * d6 - d5 * d4;
    *where = 1;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return v3_madd(b, v3_sub(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    float scale = 1.0f / (va + vb + vc);
    *where = 6;
    return v3_madd(v3_madd(a, ab, vb * scale), ac, vc * scale);
}

PSVI_HD v3 psvi_nearest_on_triangle(v3 p, v3 a, v3 b, v3 c) {
    int where;
    return psvi_nearest_of_triangle(p, a, b, c, &where);
}

// The end of a capsule that has come in through a triangle with its centre, `height` < 0. What has pierced it goes back
// to the side of the body's centre of mass.
PSVI_HD void psvi_touch_facet_end(const psvi_guest *g, v3 face, v3 a, v3 b, v3 c, v3 centre, float height,
                                  uint32_t end) {
    const float rise = -v3_dot(a, face); // of the middle
    int where;
    if (!(rise > 0)) return;
    (void)psvi_nearest_of_triangle(v3_scale(centre, rise / (rise - height)), a, b, c, &where);
    if (where != 6) return;
    const float separation = height - g->size.x;
    if (v3_dot(face, v3_sub(g->com, a)) < 0)
        psvi_add_surface_point(g, v3_neg(face), v3_make(0, 0, 0), -rise, psvi_corner_feature(face, end));
    else
        psvi_add_surface_point(g, face, v3_madd(centre, face, -(g->size.x + 0.5f * separation)), separation,
                               psvi_corner_feature(face, end));
}

// A ball about `centre`, or the end of a capsule, against one triangle: where that is nearer than what lies around it.
// `face`: the triangle's unit normal on the side of the guest's middle; `behind`: the middle is on the side that a mesh
// with one side does not have.
PSVI_HD_LONG void psvi_touch_facet_ball(const psvi_facets *f, const psvi_facet *t, const psvi_guest *g, v3 face,
                                        bool behind, v3 centre, uint32_t end) {
    const v3 a = v3_sub(t->p[0], g->middle), b = v3_sub(t->p[1], g->middle), c = v3_sub(t->p[2], g->middle);
    const float radius = g->size.x, reach = radius + g->margin, height = v3_dot(v3_sub(centre, a), face);
    int where;
    if (!(height <= reach)) return;
    if (height < 0 && !behind) {
        psvi_touch_facet_end(g, face, a, b, c, centre, height, end);
        return;
    }
    const v3 near = psvi_nearest_of_triangle(centre, a, b, c, &where), d = v3_sub(centre, near);
    const float squared = v3_dot(d, d);
    if (!(squared <= reach * reach)) return;
    v3 n = face;
    float distance = height;
    if (behind && where == 6) return;
    if (where != 6) {
        distance = sqrtf(squared);
        n = v3_scale(d, distance > 1e-12f ? 1.0f / distance : 0.0f);
        if (where < 3) {
            const uint32_t other = t->next[where] & PSVI_NO_FACET;
            const v3 beyond = psvi_beyond_edge(f, t, where);
            if (v3_dot(n, beyond) > PSVI_SURFACE_SLACK || other < t->index) return;
            if (behind && !(v3_dot(face, beyond) < -PSVI_SURFACE_SLACK)) return;
        } else {
            float low;
            bool owns = true;
            if (!psvi_corner_faces(f, t, where - 3, n, &low, &owns) || !owns) return;
        }
        if (distance <= 1e-12f) n = face;
    }
    const float separation = distance - radius;
    psvi_add_surface_point(g, n, v3_madd(centre, n, -(radius + 0.5f * separation)), separation,
                           psvi_corner_feature(n, end));
}

// The part of a capsule between its ends against one edge that acts, or a corner: `from` and `to` lie on the axis.
PSVI_HD void psvi_touch_edge_axis(const psvi_guest *g, v3 from, v3 to, v3 a, v3 b, v3 inward, v3 beyond, bool border,
                                  uint32_t feature) {
    const v3 along = v3_sub(to, from), edge = v3_sub(b, a);
    v3 n = v3_cross(along, edge);
    const float squared = v3_dot(n, n);
    if (squared < 1e-6f * v3_dot(along, along) * v3_dot(edge, edge)) return; // side by side: the ends and corners
    n = v3_scale(n, 1.0f / sqrtf(squared));
    float s, t;
    psvi_nearest_of_segments(from, to, a, b, &s, &t);
    if (!(s > 0 && s < 1)) return;
    const v3 x = v3_madd(from, along, s);
    // Out of the edge, to that side on which the surface is not.
    const bool plus = v3_dot(n, inward) <= PSVI_SURFACE_SLACK && v3_dot(n, beyond) <= PSVI_SURFACE_SLACK;
    const bool minus = v3_dot(n, inward) >= -PSVI_SURFACE_SLACK && v3_dot(n, beyond) >= -PSVI_SURFACE_SLACK;
    if (!plus && !minus) return;
    if (plus && minus ? v3_dot(n, a) > 0 : minus) n = v3_neg(n);
    const v3 d = v3_sub(x, v3_madd(a, edge, t));
    if (border && v3_dot(n, a) > 0 && v3_dot(d, n) < 0) return;
    const float distance = v3_dot(d, n), separation = distance - g->size.x;
    const v3 aside = v3_madd(d, n, -distance); // next to the edge's end
    if (!(separation <= g->margin) || distance < -g->size.x || v3_dot(aside, aside) > 1e-4f * g->depth * g->depth)
        return;
    psvi_add_surface_point(g, n, v3_madd(x, n, -(g->size.x + 0.5f * separation)), separation, feature);
}

PSVI_HD void psvi_touch_corner_axis(const psvi_facets *f, const psvi_facet *t, int k, const psvi_guest *g, v3 from,
                                    v3 to) {
    const v3 v = v3_sub(t->p[k], g->middle);
    const float s = psvi_nearest_on_segment(from, to, v);
    if (!(s > 0 && s < 1)) return;
    const v3 x = v3_madd(from, v3_sub(to, from), s), d = v3_sub(x, v);
    const float distance = v3_length(d), separation = distance - g->size.x;
    float low;
    bool owns;
    if (!(separation <= g->margin) || !(distance > 1e-6f * g->size.x)) return;
    const v3 n = v3_scale(d, 1.0f / distance);
    if (!psvi_corner_faces(f, t, k, n, &low, &owns) || (f->triangles == 0 && !(low < -0.01f && owns))) return;
    psvi_add_surface_point(g, n, v3_madd(x, n, -(g->size.x + 0.5f * separation)), separation,
                           psvi_surface_feature(t->index, (uint32_t)k, 255));
}

// --- boxes and hulls -------------------------------------------------------------------------------------------------

// A point inside of a box or hull from which its corner v is seen; of a box as far from all faces of the corner as from
// its middle to the nearest face.
PSVI_HD v3 psvi_corner_core(const psvi_guest *g, uint32_t i, v3 v) {
    if (g->hull) return v3_make(0, 0, 0);
    return v3_add(v, axes_apply(&g->axes, v3_make(i & 1 ? -g->depth : g->depth, i & 2 ? -g->depth : g->depth,
                                                  i & 4 ? -g->depth : g->depth)));
}

// A corner at v of a box or hull that has come `s` < 0 through the plane of a triangle, if it came through the
// triangle: by a way inside of the solid. What is deeper than the solid is thick has pierced it, and goes back to the
// side of the body's centre of mass.
PSVI_HD void psvi_touch_facet_below(const psvi_guest *g, v3 face, v3 v, float s, v3 p, const v3 side[3],
                                    const v3 corner[3], uint32_t i) {
    const bool pierced = s < -g->depth;
    const v3 inner = v3_sub(pierced ? v3_make(0, 0, 0) : psvi_corner_core(g, i, v), v);
    const float rise = v3_dot(face, inner);
    if (!(rise > -s)) return;
    const v3 x = v3_madd(v, inner, -s / rise);
    for (int k = 0; k < 3; ++k)
        if (v3_dot(side[k], v3_sub(x, corner[k])) < -1e-4f * g->depth) return;
    if (pierced && v3_dot(face, v3_sub(g->com, p)) < 0)
        psvi_add_surface_point(g, v3_neg(face), v3_make(0, 0, 0), v3_dot(face, p), psvi_corner_feature(face, i));
    else
        psvi_add_surface_point(g, face, v3_madd(v, face, -0.5f * s), s, psvi_corner_feature(face, i));
}

// The corners of a box or hull over a triangle, and those that have come in through it.
PSVI_HD void psvi_touch_facet_corners(const psvi_facet *t, const psvi_guest *g, v3 face) {
    v3 side[3], p[3];
    const v3 wound = v3_cross(v3_sub(t->p[1], t->p[0]), v3_sub(t->p[2], t->p[0]));
    for (int k = 0; k < 3; ++k) {
        const v3 e = v3_sub(t->p[k == 2 ? 0 : k + 1], t->p[k]);
        p[k] = v3_sub(t->p[k], g->middle);
        side[k] = v3_unit_or(v3_cross(wound, e), v3_make(0, 0, 0));
    }
    const uint32_t count = psvi_guest_corners(g);
    const uint64_t footing = g->hull ? psvi_hull_footing(g->tables, axes_undo(&g->axes, face)) : 0xffu;
    for (uint32_t i = 0; i < count; ++i) {
        if ((footing >> i & 1) == 0) continue;
        const v3 v = psvi_guest_corner(g, i);
        const float s = v3_dot(face, v3_sub(v, p[0]));
        if (!(s <= g->margin)) continue;
        if (s < 0) {
            psvi_touch_facet_below(g, face, v, s, p[0], side, p, i);
            continue;
        }
        bool over = true;
        for (int k = 0; k < 3; ++k)
            over = over && v3_dot(side[k], v3_sub(v, p[k])) >= -1e-4f * g->depth;
        if (over) psvi_add_surface_point(g, face, v3_madd(v, face, -0.5f * s), s, psvi_corner_feature(face, i));
    }
}

// Whether the unit vector n, at right angles to an edge, lies between the normals a and b of its faces.
PSVI_HD bool psvi_between_normals(v3 n, v3 a, v3 b) {
    const float c = v3_dot(a, b), na = v3_dot(n, a), nb = v3_dot(n, b), slack = -0.01f * (1 - c * c);
    return na - c * nb >= slack && nb - c * na >= slack;
}

// An edge of the surface that acts, about the guest's middle.
typedef struct psvi_surface_edge {
    v3 a, b, inward, beyond; // from it into its two triangles; beyond: 0 at a border
    v3 n, m;                 // their normals, to that side on which the surface is not
    float least;             // how deep the guest is below the planes of both
    bool border;
} psvi_surface_edge;

PSVI_HD v3 psvi_outer_normal(v3 a, v3 b, v3 inward, v3 away) {
    const v3 n = v3_unit_or(v3_cross(v3_sub(b, a), inward), v3_make(0, 1, 0));
    return v3_dot(n, away) > 0 ? v3_neg(n) : n;
}

// An edge of the solid across one of the surface.
PSVI_HD void psvi_touch_edges_across(const psvi_guest *g, const psvi_surface_edge *e, uint32_t i, uint32_t feature) {
    const psvi_guest_edge own = psvi_load_guest_edge(g, i);
    const v3 u = v3_sub(own.b, own.a), w = v3_sub(e->b, e->a);
    v3 n = v3_cross(u, w);
    const float squared = v3_dot(n, n);
    if (squared < 1e-6f * v3_dot(u, u) * v3_dot(w, w)) return;
    n = v3_scale(n, 1.0f / sqrtf(squared));
    const v3 r = v3_sub(own.a, e->a);
    float s = v3_dot(n, r);
    if (fabsf(s) > fmaxf(g->margin, g->depth)) return;
    if (!psvi_between_normals(n, own.n, own.m))
        n = v3_neg(n); // out of the solid
    else
        s = -s;
    // Now -n is the way out of the surface, and s the separation along it.
    if (!(s <= g->margin) || s < -g->depth || !psvi_between_normals(n, own.n, own.m)) return;
    n = v3_neg(n);
    if (v3_dot(n, e->inward) > PSVI_SURFACE_SLACK || v3_dot(n, e->beyond) > PSVI_SURFACE_SLACK) return;
    if (e->border && v3_dot(n, e->a) > 0) return; // not on the guest's side
    const float inverse = 1.0f / v3_dot(v3_cross(w, u), n);
    const float x = v3_dot(v3_cross(r, w), n) * inverse, y = v3_dot(v3_cross(r, u), n) * inverse;
    const float slack = 1e-3f;
    if (!(x >= -slack && x <= 1 + slack && y >= -slack && y <= 1 + slack)) return;
    // Deeper than the solid is below a face, or the edge below a face of the solid: these tell it better.
    const float clearly = 1e-2f * g->depth;
    if (s < 0) {
        if (s < e->least - clearly) return;
        const float below_n = fminf(v3_dot(own.n, v3_sub(e->a, own.a)), v3_dot(own.n, v3_sub(e->b, own.a)));
        const float below_m = fminf(v3_dot(own.m, v3_sub(e->a, own.a)), v3_dot(own.m, v3_sub(e->b, own.a)));
        if (s < fmaxf(below_n, below_m) - clearly) return;
    }
    psvi_add_surface_point(g, n, v3_madd(v3_madd(own.a, u, clamp_f(x, 0, 1)), n, -0.5f * s), s, feature);
}

PSVI_HD void psvi_touch_facet_edge(const psvi_guest *g, psvi_surface_edge *e, uint32_t facet, uint32_t k) {
    e->n = psvi_outer_normal(e->a, e->b, e->inward, e->border ? e->a : e->beyond);
    e->m = e->border ? e->n : psvi_outer_normal(e->a, e->b, e->beyond, e->inward);
    e->least = -v3_dot(e->n, e->a) - psvi_guest_support(g, e->n);
    e->least = fmaxf(e->least, -v3_dot(e->m, e->a) - psvi_guest_support(g, e->m));
    if (e->least > g->margin) return;
    const uint32_t count = psvi_guest_edges(g);
    for (uint32_t i = 0; i < count; ++i)
        psvi_touch_edges_across(g, e, i, psvi_surface_feature(facet, k, i));
}

// A corner of the surface outside of a box or hull, or inside: then out by the nearest face that it lets pass.
PSVI_HD_LONG void psvi_touch_facet_corner(const psvi_facets *f, const psvi_facet *t, int k, const psvi_guest *g) {
    const v3 v = v3_sub(t->p[k], g->middle), x = axes_undo(&g->axes, v3_sub(v, g->origin));
    v3 n;
    float separation = 0, low;
    bool owns = true;
    if (g->hull) {
        const psvi_hull_place at = psvi_nearest_on_hull(g->tables, x);
        separation = at.distance;
        n = at.normal;
    } else {
        const v3 c = v3_max(v3_min(x, g->size), v3_neg(g->size)), d = v3_sub(x, c);
        separation = v3_length(d);
        n = v3_scale(d, separation > 1e-6f * g->depth ? 1.0f / separation : 0.0f);
    }
    if (!(separation <= g->margin)) return;
    if (separation > 1e-6f * g->depth) {
        n = v3_neg(axes_apply(&g->axes, n));
        if (!psvi_corner_faces(f, t, k, n, &low, &owns)) return;
    } else {
        const uint32_t faces = g->hull ? g->tables->face_count : 6;
        separation = -g->depth;
        bool found = false;
        for (uint32_t i = 0; i < faces; ++i) {
            const int axis = (int)(i >> 1);
            const float sign = i & 1 ? 1.0f : -1.0f;
            const v3 own = g->hull ? v3_of4(g->tables->planes[i]) : v3_with_axis(v3_make(0, 0, 0), axis, sign);
            const float s = v3_dot(own, x) - (g->hull ? g->tables->planes[i].w : v3_axis(g->size, axis));
            const v3 out = v3_neg(axes_apply(&g->axes, own));
            if (s < separation || !psvi_corner_faces(f, t, k, out, &low, &owns)) continue;
            separation = s;
            n = out;
            found = true;
        }
        if (!found || !psvi_corner_faces(f, t, k, n, &low, &owns)) return;
    }
    if (f->triangles == 0 && !(low < -0.01f && owns)) return;
    psvi_add_surface_point(g, n, v3_madd(v, n, 0.5f * separation), separation,
                           psvi_surface_feature(t->index, (uint32_t)k, 255));
}

// --- a triangle ------------------------------------------------------------------------------------------------------

// What a guest has to do with the edges and corners of a triangle that act.
PSVI_HD_LONG void psvi_touch_facet_rim(const psvi_facets *f, const psvi_facet *t, const psvi_guest *g, v3 face,
                                       bool behind) {
    const float reach = g->reach + g->margin;
    for (int k = 0; k < 3; ++k) {
        const int after = k == 2 ? 0 : k + 1, last = k == 0 ? 2 : k - 1;
        const bool mesh = f->triangles != 0;
        if (mesh && (t->next[k] & (PSVI_EDGE_ACTS | PSVI_CORNER_ACTS)) == 0) continue;
        psvi_surface_edge e;
        e.a = v3_sub(t->p[k], g->middle);
        e.b = v3_sub(t->p[after], g->middle);
        const float s = psvi_nearest_on_segment(e.a, e.b, v3_make(0, 0, 0));
        const v3 near = v3_madd(e.a, v3_sub(e.b, e.a), s);
        if (!(v3_dot(near, near) <= reach * reach)) continue;
        const v3 end = v3_scale(g->axes.u[1], g->size.y);
        e.border = (t->next[k] & PSVI_NO_FACET) == PSVI_NO_FACET;
        e.beyond = psvi_beyond_edge(f, t, k);
        if (psvi_edge_acts(f, t, k, face, e.beyond) && !(behind && e.border)) {
            e.inward = psvi_edge_inward(t->p[k], t->p[after], t->p[last]);
            if (g->type == PSV_SHAPE_CAPSULE)
                psvi_touch_edge_axis(g, v3_neg(end), end, e.a, e.b, e.inward, e.beyond, e.border,
                                     psvi_surface_feature(t->index, (uint32_t)k, 0));
            else
                psvi_touch_facet_edge(g, &e, t->index, (uint32_t)k);
        }
        if (mesh && (t->next[k] & PSVI_CORNER_ACTS) == 0) continue;
        if (g->type == PSV_SHAPE_CAPSULE)
            psvi_touch_corner_axis(f, t, k, g, v3_neg(end), end);
        else
            psvi_touch_facet_corner(f, t, k, g);
    }
}

// Unit normal of a triangle on the side of the guest's middle, and the middle's height over it. Of a mesh with one side
// that side's.
PSVI_HD v3 psvi_facet_side(const psvi_facets *f, const psvi_facet *t, const psvi_guest *g, float *height) {
    const v3 n = v3_unit_or(v3_cross(v3_sub(t->p[1], t->p[0]), v3_sub(t->p[2], t->p[0])), v3_make(0, 0, 0));
    const float s = v3_dot(n, v3_sub(g->middle, t->p[0]));
    const bool turned = s < 0 && !f->one_sided;
    *height = turned ? -s : s;
    return turned ? v3_neg(n) : n;
}

PSVI_HD_LONG void psvi_touch_facet(const psvi_facets *f, uint32_t index, const psvi_guest *g) {
    const psvi_facet t = psvi_load_facet(f, index);
    float height;
    const v3 face = psvi_facet_side(f, &t, g, &height);
    const bool behind = height < 0;
    const bool round = psvi_is_round(g->type), capsule = g->type == PSV_SHAPE_CAPSULE;
    if (round) {
        psvi_touch_facet_ball(f, &t, g, face, behind, v3_make(0, 0, 0), 0);
        return;
    }
    const v3 end = v3_scale(g->axes.u[1], g->size.y);
    const float below = capsule ? fabsf(v3_dot(end, face)) + g->size.x : psvi_guest_support(g, face);
    if (height - below > g->margin) return;
    if (f->triangles != 0 && capsule) { // a field's faces are met from above only (psvi_collide_field)
        psvi_touch_facet_ball(f, &t, g, face, behind, v3_neg(end), 1);
        psvi_touch_facet_ball(f, &t, g, face, behind, end, 2);
    } else if (f->triangles != 0 && !behind) {
        psvi_touch_facet_corners(&t, g, face);
    }
    psvi_touch_facet_rim(f, &t, g, face, behind);
}

#endif
