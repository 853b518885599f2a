// Contact points of convex hulls with each other, with boxes, balls and capsules. Hulls and boxes: separating axes of
// all faces, and of those pairs of edges that make a face of the Minkowski difference (Gregorius, «The Separating Axis
// Test between Convex Polyhedra», GDC 2013); then the incident face clipped against the reference face, or the nearest
// points of two edges. Balls and capsules: by the nearest point.
#ifndef PAIRSIEVE_NARROW_HULLS_H
#define PAIRSIEVE_NARROW_HULLS_H

#include "narrow_boxes.h"

// A hull, or a box as the cube of half extents 1 and a scale. `place` and `axes` lead from its frame to the world.
typedef struct psvi_polytope {
    const psvi_hull *hull;
    v3 scale;
    bool box;
    v3 place;
    axes3 axes;
} psvi_polytope;

// Defined as true before this file where of two shapes one at least is a hull: code for all others is left out.
#if !defined(PSVI_ONLY_HULLS)
#define PSVI_ONLY_HULLS false
#endif

// `hulls`: the shape may be one. Where that is a constant, code that has no need of them is without them.
PSVI_HD bool psvi_takes_hull(bool hulls, uint32_t type) { return hulls && (PSVI_ONLY_HULLS || type == PSV_SHAPE_HULL); }

// From the second polytope's frame to the first one's.
typedef struct psvi_relation {
    axes3 turn;
    v3 shift;
} psvi_relation;

PSVI_HD v3 axes_apply(const axes3 *m, v3 a) {
    return v3_add(v3_add(v3_scale(m->u[0], a.x), v3_scale(m->u[1], a.y)), v3_scale(m->u[2], a.z));
}
PSVI_HD v3 axes_undo(const axes3 *m, v3 a) {
    return v3_make(v3_dot(m->u[0], a), v3_dot(m->u[1], a), v3_dot(m->u[2], a));
}

PSVI_HD psvi_polytope psvi_polytope_of(const psvi_solid *solid) {
    psvi_polytope p;
    p.hull = solid->hull;
    p.box = solid->type == PSV_SHAPE_BOX;
    p.scale = p.box ? solid->size : v3_make(1, 1, 1);
    p.place = solid->centre;
    p.axes = quat_axes(solid->rotation);
    return p;
}

PSVI_HD v3 psvi_polytope_vertex(const psvi_polytope *p, uint32_t i) {
    const psvi_f4 v = p->hull->vertices[i];
    return v3_make(v.x * p->scale.x, v.y * p->scale.y, v.z * p->scale.z);
}

PSVI_HD float psvi_polytope_offset(const psvi_polytope *p, psvi_f4 plane) {
    return p->box ? v3_dot(v3_abs(v3_of4(plane)), p->scale) : plane.w;
}

PSVI_HD psvi_relation psvi_relate(const psvi_polytope *p, const psvi_polytope *q) {
    psvi_relation r;
    for (int i = 0; i < 3; ++i)
        r.turn.u[i] = axes_undo(&p->axes, q->axes.u[i]);
    r.shift = axes_undo(&p->axes, v3_sub(q->place, p->place));
    return r;
}

// The vertex that is furthest in a direction of the polytope's frame.
PSVI_HD uint32_t psvi_furthest_vertex(const psvi_polytope *p, v3 direction, float *distance) {
    const v3 scaled = v3_make(direction.x * p->scale.x, direction.y * p->scale.y, direction.z * p->scale.z);
    const uint32_t count = p->hull->vertex_count;
    uint32_t best = 0;
    float most = -3.4e38f;
    for (uint32_t i = 0; i < count; ++i) {
        const float d = v3_dot(v3_of4(p->hull->vertices[i]), scaled);
        if (!(d > most)) continue;
        most = d;
        best = i;
    }
    *distance = most;
    return best;
}

// How far the nearest face is from the frame's origin: a ball about it that is inside. Far below 0 where the origin is
// outside, so that nothing is passed over for it.
PSVI_HD float psvi_inner_radius(const psvi_polytope *p) {
    float least = 3.4e38f;
    for (uint32_t i = 0; i < p->hull->face_count; ++i) {
        const float offset = psvi_polytope_offset(p, p->hull->planes[i]);
        least = offset < least ? offset : least;
    }
    return least > 0 ? least : -1e30f;
}

// The face of p from which q is furthest, the first of several; what is further than `margin` ends the search. `inner`
// is the radius of a ball in q about its origin: a face is passed over whose distance to that ball is no more than what
// was found, and the face that is furthest from the ball comes first.
PSVI_HD_LONG float psvi_separating_face(const psvi_polytope *p, const psvi_polytope *q, const psvi_relation *to_p,
                                        float inner, float margin, uint32_t *face) {
    const uint32_t count = p->hull->face_count;
    float most = -3.4e38f, furthest = -3.4e38f, reach;
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_f4 plane = p->hull->planes[i];
        const float height = v3_dot(v3_of4(plane), to_p->shift) - psvi_polytope_offset(p, plane);
        if (!(height > furthest)) continue;
        furthest = height;
        first = i;
    }
    *face = first;
    for (uint32_t k = 0; k <= count && most <= margin; ++k) {
        const uint32_t i = k == 0 ? first : k - 1;
        const psvi_f4 plane = p->hull->planes[i];
        const v3 n = v3_of4(plane);
        const float height = v3_dot(n, to_p->shift), offset = psvi_polytope_offset(p, plane);
        if (k > 0 && (i == first || height - offset - 0.999f * inner < most)) continue;
        (void)psvi_furthest_vertex(q, v3_neg(axes_undo(&to_p->turn, n)), &reach);
        const float s = height - reach - offset;
        if (s > most || (s == most && i < *face)) {
            most = s;
            *face = i;
        }
    }
    return most;
}

typedef struct psvi_edge_choice {
    float separation;
    v3 normal; // in the first one's frame, out of it
    uint32_t a, b;
    bool found;
} psvi_edge_choice;

// Lists the edges of p that touch it along some direction whose part along the unit vector `to` is `part` or more. Such
// directions lie on the arc between the normals of the edge's faces. Each is a weighted mean of these normals over its
// length, and that length is no less than half of their sum's.
PSVI_HD uint32_t psvi_edges_towards(const psvi_polytope *p, v3 to, float part, uint8_t list[PSVI_HULL_EDGES]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->hull->edge_count; ++i) {
        const uint8_t *edge = p->hull->edges[i];
        const v3 a = v3_of4(p->hull->planes[edge[2]]), b = v3_of4(p->hull->planes[edge[3]]);
        const float of_a = v3_dot(a, to), of_b = v3_dot(b, to), of_both = of_a > of_b ? of_a : of_b;
        if (part > 0 && !(of_both > 0 && of_both * of_both >= part * part * (0.5f + 0.5f * v3_dot(a, b)))) continue;
        list[count++] = (uint8_t)i;
    }
    return count;
}

// The pair of edges along whose common normal the two are furthest apart, if that is more than `least`. `inner`: radii
// of balls in both about their origins, summed. Along a direction in which the origins are no further apart than these
// balls and `least`, nothing is.
PSVI_HD_LONG psvi_edge_choice psvi_separating_edges(const psvi_polytope *p, const psvi_polytope *q,
                                                    const psvi_relation *to_p, float inner, float least) {
    psvi_edge_choice best;
    best.separation = least;
    best.normal = v3_make(0, 1, 0);
    best.a = best.b = 0;
    best.found = false;
    const float apart = v3_length(to_p->shift), part = apart > 0 ? 0.999f * (inner + least) / apart : 0;
    if (part > 1) return best;
    const v3 to = v3_scale(to_p->shift, apart > 0 ? 1.0f / apart : 0);
    uint8_t of_p[PSVI_HULL_EDGES], of_q[PSVI_HULL_EDGES];
    const uint32_t count_p = psvi_edges_towards(p, to, part, of_p);
    const uint32_t count_q = psvi_edges_towards(q, v3_neg(axes_undo(&to_p->turn, to)), part, of_q);
    for (uint32_t kq = 0; kq < count_q; ++kq) {
        const uint32_t j = of_q[kq];
        const uint8_t *eq = q->hull->edges[j];
        const v3 vq = psvi_polytope_vertex(q, eq[0]);
        const v3 along_q = axes_apply(&to_p->turn, v3_sub(psvi_polytope_vertex(q, eq[1]), vq));
        const v3 from_q = v3_add(axes_apply(&to_p->turn, vq), to_p->shift);
        const v3 c = v3_neg(axes_apply(&to_p->turn, v3_of4(q->hull->planes[eq[2]])));
        const v3 d = v3_neg(axes_apply(&to_p->turn, v3_of4(q->hull->planes[eq[3]])));
        for (uint32_t kp = 0; kp < count_p; ++kp) {
            const uint32_t i = of_p[kp];
            const uint8_t *ep = p->hull->edges[i];
            const v3 vp = psvi_polytope_vertex(p, ep[0]), along_p = v3_sub(psvi_polytope_vertex(p, ep[1]), vp);
            // Arcs of normals that cross on the unit sphere.
            const float cp = v3_dot(c, along_p), dp = v3_dot(d, along_p);
            if (!(cp * dp < 0)) continue;
            const v3 a = v3_of4(p->hull->planes[ep[2]]), b = v3_of4(p->hull->planes[ep[3]]);
            const float aq = v3_dot(a, along_q), bq = v3_dot(b, along_q);
            if (!(aq * bq < 0) || !(cp * bq > 0)) continue;
            v3 n = v3_cross(along_p, along_q);
            const float squared = v3_dot(n, n);
            if (squared < 1e-4f * v3_dot(along_p, along_p) * v3_dot(along_q, along_q)) continue; // a face tells better
            n = v3_scale(n, (v3_dot(n, v3_add(a, b)) < 0 ? -1.0f : 1.0f) / sqrtf(squared));
            const float s = v3_dot(n, v3_sub(from_q, vp));
            if (!(s > best.separation)) continue;
            best.separation = s;
            best.normal = n;
            best.a = i;
            best.b = j;
            best.found = true;
        }
    }
    return best;
}

#define PSVI_HULL_POINTS 24 // of a manifold before four are chosen

PSVI_HD void psvi_gather_point(psvi_clip_vertex *list, int *count, float x, float y, float depth, float margin,
                               uint32_t id) {
    if (!(depth <= margin)) return;
    if (*count == PSVI_HULL_POINTS) {
        int chosen[4];
        psvi_clip_vertex kept[4];
        const int n = psvi_choose_four(list, *count, chosen);
        for (int i = 0; i < n; ++i)
            kept[i] = list[chosen[i]];
        for (int i = 0; i < n; ++i)
            list[i] = kept[i];
        *count = n;
    }
    psvi_clip_vertex *v = &list[(*count)++];
    v->x = x;
    v->y = y;
    v->depth = depth;
    v->id = id;
    v->edge = 0;
}

// Rim of a face: its vertices, and the planes through its edges, out of it.
PSVI_HD uint32_t psvi_face_size(const psvi_hull *hull, uint32_t face) {
    return (uint32_t)hull->face_first[face + 1] - hull->face_first[face];
}
PSVI_HD v3 psvi_rim_vertex(const psvi_polytope *p, uint32_t face, uint32_t count, uint32_t i) {
    return psvi_polytope_vertex(p, p->hull->loop[p->hull->face_first[face] + (i == count ? 0 : i)]);
}

// The part of the segment e f over a face of p: [*from, *to], and the edges that cut it; false where nothing is left.
PSVI_HD bool psvi_clip_to_face(const psvi_polytope *p, uint32_t face, v3 e, v3 f, float *from, float *to,
                               uint32_t *from_edge, uint32_t *to_edge) {
    const uint32_t count = psvi_face_size(p->hull, face);
    const v3 n = v3_of4(p->hull->planes[face]);
    *from = 0;
    *to = 1;
    v3 v = psvi_rim_vertex(p, face, count, 0);
    for (uint32_t i = 0; i < count; ++i) {
        const v3 w = psvi_rim_vertex(p, face, count, i + 1), side = v3_cross(v3_sub(w, v), n);
        const float de = v3_dot(side, v3_sub(e, v)), df = v3_dot(side, v3_sub(f, v));
        v = w;
        if (de <= 0 && df <= 0) continue;
        if (de > 0 && df > 0) return false;
        const float t = de / (de - df);
        if (de > 0 && t > *from) {
            *from = t;
            *from_edge = i;
        }
        if (df > 0 && t < *to) {
            *to = t;
            *to_edge = i;
        }
        if (*from > *to) return false;
    }
    return true;
}

// Whether the point x is over a face, seen along its normal.
PSVI_HD bool psvi_over_face(const psvi_polytope *q, uint32_t face, v3 x) {
    const uint32_t count = psvi_face_size(q->hull, face);
    const v3 n = v3_of4(q->hull->planes[face]);
    v3 v = psvi_rim_vertex(q, face, count, 0);
    for (uint32_t i = 0; i < count; ++i) {
        const v3 w = psvi_rim_vertex(q, face, count, i + 1);
        if (v3_dot(v3_cross(v3_sub(w, v), n), v3_sub(x, v)) > 0) return false;
        v = w;
    }
    return true;
}

#define PSVI_HULL_EDGE_FEATURE 0x3000u
// Features of hulls have bits above those that tell the solids, too: these are the same for all points of two solids.
PSVI_HD uint32_t psvi_hull_feature(uint32_t feature, uint32_t high, uint32_t low) {
    return feature | high << 26 | (low & 0x3fffu);
}

// Face `face` of p is the reference; `flip` where p is the second body.
PSVI_HD_LONG void psvi_clip_faces(const psvi_polytope *p, const psvi_polytope *q, const psvi_relation *to_p,
                                  uint32_t face, bool flip, float margin, uint32_t feature, psvi_manifold *out) {
    const v3 n = v3_of4(p->hull->planes[face]), n_q = axes_undo(&to_p->turn, n);
    uint32_t other = 0;
    float least = 3.4e38f;
    for (uint32_t i = 0; i < q->hull->face_count; ++i) {
        const float d = v3_dot(n_q, v3_of4(q->hull->planes[i]));
        other = d < least ? i : other;
        least = d < least ? d : least;
    }
    const uint32_t count = psvi_face_size(q->hull, other), count_p = psvi_face_size(p->hull, face);
    const v3 origin = psvi_rim_vertex(p, face, count_p, 0);
    v3 ux, uy;
    v3_tangents(n, &ux, &uy);
    psvi_clip_vertex list[PSVI_HULL_POINTS];
    int points = 0;
    v3 e = v3_add(axes_apply(&to_p->turn, psvi_rim_vertex(q, other, count, 0)), to_p->shift);
    for (uint32_t i = 0; i < count; ++i) {
        const v3 f = v3_add(axes_apply(&to_p->turn, psvi_rim_vertex(q, other, count, i + 1)), to_p->shift);
        float from, to;
        uint32_t from_edge = 0, to_edge = 0;
        if (psvi_clip_to_face(p, face, e, f, &from, &to, &from_edge, &to_edge)) {
            v3 x = v3_sub(v3_madd(e, v3_sub(f, e), from), origin);
            psvi_gather_point(list, &points, v3_dot(x, ux), v3_dot(x, uy), v3_dot(x, n), margin,
                              from > 0 ? 0x1000u | i << 6 | from_edge : i);
            x = v3_sub(v3_madd(e, v3_sub(f, e), to), origin);
            if (to < 1)
                psvi_gather_point(list, &points, v3_dot(x, ux), v3_dot(x, uy), v3_dot(x, n), margin,
                                  0x1000u | i << 6 | to_edge);
        }
        e = f;
    }
    // Corners of the reference face over the other one, along the reference's normal.
    const psvi_f4 plane = q->hull->planes[other];
    for (uint32_t i = 0; i < count_p && least < -1e-3f; ++i) {
        const v3 r = psvi_rim_vertex(p, face, count_p, i), x = axes_undo(&to_p->turn, v3_sub(r, to_p->shift));
        const float depth = (psvi_polytope_offset(q, plane) - v3_dot(v3_of4(plane), x)) / least;
        if (!psvi_over_face(q, other, v3_madd(x, n_q, depth))) continue;
        const v3 d = v3_sub(r, origin);
        psvi_gather_point(list, &points, v3_dot(d, ux), v3_dot(d, uy), depth, margin, 0x2000u | i);
    }
    int chosen[4];
    points = psvi_choose_four(list, points, chosen);
    const v3 outward = axes_apply(&p->axes, n), towards = flip ? v3_neg(outward) : outward;
    for (int i = 0; i < points; ++i) {
        const psvi_clip_vertex *v = &list[chosen[i]];
        const v3 local = v3_madd(v3_madd(v3_madd(origin, ux, v->x), uy, v->y), n, 0.5f * v->depth);
        psvi_add_point(out, towards, v3_add(p->place, axes_apply(&p->axes, local)), v->depth,
                       psvi_hull_feature(feature, (face * 7 + other * 13 + flip * 31) & 63, v->id));
    }
}

// The vertex of q that is deepest under a face of p: where faces are nearly upright to each other.
PSVI_HD_LONG void psvi_add_deepest(const psvi_polytope *p, const psvi_polytope *q, const psvi_relation *to_p,
                                   uint32_t face, bool flip, float separation, uint32_t feature, psvi_manifold *out) {
    const v3 n = v3_of4(p->hull->planes[face]);
    float reach;
    const uint32_t i = psvi_furthest_vertex(q, v3_neg(axes_undo(&to_p->turn, n)), &reach);
    const v3 x = v3_add(axes_apply(&to_p->turn, psvi_polytope_vertex(q, i)), to_p->shift);
    const v3 outward = axes_apply(&p->axes, n);
    psvi_add_point(out, flip ? v3_neg(outward) : outward,
                   v3_add(p->place, axes_apply(&p->axes, v3_madd(x, n, -0.5f * separation))), separation,
                   psvi_hull_feature(feature, face & 63, 0x800u | i));
}

PSVI_HD_LONG void psvi_touch_edges(const psvi_polytope *p, const psvi_polytope *q, const psvi_relation *to_p,
                                   const psvi_edge_choice *edges, uint32_t feature, psvi_manifold *out) {
    const uint8_t *ep = p->hull->edges[edges->a], *eq = q->hull->edges[edges->b];
    const v3 a = psvi_polytope_vertex(p, ep[0]), b = psvi_polytope_vertex(p, ep[1]);
    const v3 c = v3_add(axes_apply(&to_p->turn, psvi_polytope_vertex(q, eq[0])), to_p->shift);
    const v3 d = v3_add(axes_apply(&to_p->turn, psvi_polytope_vertex(q, eq[1])), to_p->shift);
    float s, t;
    psvi_nearest_of_segments(a, b, c, d, &s, &t);
    const v3 middle = v3_scale(v3_add(v3_madd(a, v3_sub(b, a), s), v3_madd(c, v3_sub(d, c), t)), 0.5f);
    psvi_add_point(out, axes_apply(&p->axes, edges->normal), v3_add(p->place, axes_apply(&p->axes, middle)),
                   edges->separation,
                   psvi_hull_feature(feature, (edges->a >> 6 << 3 | edges->b >> 6) & 63,
                                     PSVI_HULL_EDGE_FEATURE | (edges->a & 63) << 6 | (edges->b & 63)));
}

// Two solids that are hulls or boxes.
PSVI_HD_LONG void psvi_collide_polytopes(const psvi_solid *sa, const psvi_solid *sb, float margin, uint32_t feature,
                                         psvi_manifold *out) {
    const psvi_polytope p = psvi_polytope_of(sa), q = psvi_polytope_of(sb);
    const psvi_relation to_p = psvi_relate(&p, &q), to_q = psvi_relate(&q, &p);
    const float slack = 0.02f * fminf(psvi_solid_thinnest(sa), psvi_solid_thinnest(sb));
    const float inner_p = psvi_inner_radius(&p), inner_q = psvi_inner_radius(&q);
    uint32_t face_p, face_q;
    const float of_p = psvi_separating_face(&p, &q, &to_p, inner_q, margin, &face_p);
    if (!(of_p <= margin)) return;
    const float of_q = psvi_separating_face(&q, &p, &to_q, inner_p, margin, &face_q);
    if (!(of_q <= margin)) return;
    // The second is the reference only where it is clearly better, so that the choice does not flicker.
    const bool flip = of_q > of_p + slack;
    const float most = flip ? of_q : of_p;
    const psvi_edge_choice edges = psvi_separating_edges(&p, &q, &to_p, inner_p + inner_q, most + slack);
    if (edges.found) {
        if (edges.separation <= margin) psvi_touch_edges(&p, &q, &to_p, &edges, feature, out);
        return;
    }
    const uint32_t before = out->count;
    const psvi_polytope *reference = flip ? &q : &p, *incident = flip ? &p : &q;
    const psvi_relation *relation = flip ? &to_q : &to_p;
    const uint32_t face = flip ? face_q : face_p;
    psvi_clip_faces(reference, incident, relation, face, flip, margin, feature, out);
    if (out->count == before && before < PSVI_MAX_POINTS && most < 0)
        psvi_add_deepest(reference, incident, relation, face, flip, most, feature, out);
}

// --- nearest points --------------------------------------------------------------------------------------------------

// Nearest point of a hull to x, both in its frame. `distance` is negative inside, where the normal is that of the
// nearest face.
typedef struct psvi_hull_place {
    v3 point, normal;
    float distance;
    uint32_t face; // the one that x is furthest above
} psvi_hull_place;

PSVI_HD void psvi_nearest_on_rim(const psvi_hull *hull, uint32_t face, v3 x, float height, float *least, v3 *point) {
    const uint32_t first = hull->face_first[face], end = hull->face_first[face + 1];
    const v3 n = v3_of4(hull->planes[face]);
    bool over = true;
    v3 v = v3_of4(hull->vertices[hull->loop[end - 1]]);
    for (uint32_t i = first; i < end; ++i) {
        const v3 w = v3_of4(hull->vertices[hull->loop[i]]), e = v3_sub(w, v);
        if (v3_dot(v3_cross(e, n), v3_sub(x, v)) > 0) {
            const v3 near = v3_madd(v, e, psvi_nearest_on_segment(v, w, x)), d = v3_sub(x, near);
            over = false;
            if (v3_dot(d, d) < *least) {
                *least = v3_dot(d, d);
                *point = near;
            }
        }
        v = w;
    }
    if (!over || !(height * height < *least)) return;
    *least = height * height;
    *point = v3_madd(x, n, -height);
}

PSVI_HD_LONG psvi_hull_place psvi_nearest_on_hull(const psvi_hull *hull, v3 x) {
    psvi_hull_place at;
    float most = -3.4e38f, least = 3.4e38f;
    at.face = 0;
    at.point = x;
    for (uint32_t i = 0; i < hull->face_count; ++i) {
        const psvi_f4 plane = hull->planes[i];
        const float height = v3_dot(v3_of4(plane), x) - plane.w;
        if (height > 0) psvi_nearest_on_rim(hull, i, x, height, &least, &at.point);
        if (height > most) {
            most = height;
            at.face = i;
        }
    }
    const v3 n = v3_of4(hull->planes[at.face]);
    if (most <= 0) at.point = v3_madd(x, n, -most);
    at.distance = most <= 0 ? most : sqrtf(least);
    at.normal = most <= 0 || least < 1e-14f ? n : v3_scale(v3_sub(x, at.point), 1.0f / at.distance);
    return at;
}

// The hull is the first body.
PSVI_HD_LONG void psvi_collide_hull_sphere(const psvi_solid *hull, v3 sphere, float radius, float margin,
                                           uint32_t feature, psvi_manifold *out) {
    const psvi_hull_place at =
        psvi_nearest_on_hull(hull->hull, quat_unrotate(hull->rotation, v3_sub(sphere, hull->centre)));
    const float separation = at.distance - radius;
    if (!(separation <= margin)) return;
    const v3 normal = quat_rotate(hull->rotation, at.normal);
    psvi_add_point(out, normal, v3_madd(sphere, normal, -(radius + 0.5f * separation)), separation, feature);
}

// How a segment lies to a hull: the way along which it is furthest outside, of faces and of edges.
typedef struct psvi_hull_segment {
    float separation; // of the segment itself
    v3 normal;        // out of the hull
    v3 point;         // of the segment
    uint32_t face;    // by which the segment is furthest outside
    bool ends;        // it is nearest with one of its ends
} psvi_hull_segment;

// With a segment that passes through the hull: the least way out, over faces and over edges across the segment.
PSVI_HD void psvi_segment_inside(const psvi_hull *hull, v3 a, v3 b, psvi_hull_segment *at) {
    const v3 along = v3_sub(b, a);
    for (uint32_t i = 0; i < hull->edge_count; ++i) {
        const uint8_t *e = hull->edges[i];
        const v3 v = v3_of4(hull->vertices[e[0]]), d = v3_sub(v3_of4(hull->vertices[e[1]]), v);
        const v3 n1 = v3_of4(hull->planes[e[2]]), n2 = v3_of4(hull->planes[e[3]]);
        if (!(v3_dot(n1, along) * v3_dot(n2, along) < 0)) continue;
        v3 n = v3_cross(d, along);
        const float squared = v3_dot(n, n);
        if (squared < 1e-6f * v3_dot(d, d) * v3_dot(along, along)) continue;
        n = v3_scale(n, (v3_dot(n, v3_add(n1, n2)) < 0 ? -1.0f : 1.0f) / sqrtf(squared));
        const float s = v3_dot(n, v3_sub(a, v));
        if (!(s > at->separation)) continue;
        float t, u;
        psvi_nearest_of_segments(a, b, v, v3_add(v, d), &t, &u);
        at->separation = s;
        at->normal = n;
        at->point = v3_madd(a, along, t);
        at->ends = false;
    }
}

PSVI_HD_LONG psvi_hull_segment psvi_segment_to_hull(const psvi_hull *hull, v3 a, v3 b) {
    psvi_hull_segment at;
    float most = -3.4e38f;
    at.face = 0;
    at.ends = true;
    for (uint32_t i = 0; i < hull->face_count; ++i) {
        const v3 n = v3_of4(hull->planes[i]);
        const float s = fminf(v3_dot(n, a), v3_dot(n, b)) - hull->planes[i].w;
        if (s > most) {
            most = s;
            at.face = i;
        }
    }
    at.separation = most;
    at.normal = v3_of4(hull->planes[at.face]);
    at.point = v3_dot(at.normal, a) < v3_dot(at.normal, b) ? a : b;
    psvi_segment_inside(hull, a, b, &at);
    if (!(at.separation > 0)) return at;
    // Outside: the nearest points are exact, where an axis of two ends' regions is not.
    const psvi_hull_place pa = psvi_nearest_on_hull(hull, a), pb = psvi_nearest_on_hull(hull, b);
    const bool first = pa.distance <= pb.distance;
    at.separation = first ? pa.distance : pb.distance;
    at.normal = first ? pa.normal : pb.normal;
    at.point = first ? a : b;
    at.ends = true;
    for (uint32_t i = 0; i < hull->edge_count; ++i) {
        const v3 v = v3_of4(hull->vertices[hull->edges[i][0]]), w = v3_of4(hull->vertices[hull->edges[i][1]]);
        float t, u;
        psvi_nearest_of_segments(a, b, v, w, &t, &u);
        const v3 x = v3_madd(a, v3_sub(b, a), t), d = v3_sub(x, v3_madd(v, v3_sub(w, v), u));
        const float distance = v3_length(d);
        if (!(distance < 0.9999f * at.separation) || distance < 1e-7f) continue;
        at.separation = distance;
        at.normal = v3_scale(d, 1.0f / distance);
        at.point = x;
        at.ends = false;
    }
    return at;
}

// The hull is the first body. A capsule that lies along a face has two points.
PSVI_HD_LONG void psvi_collide_hull_capsule(const psvi_solid *solid, const psvi_solid *capsule, float margin,
                                            uint32_t feature, psvi_manifold *out) {
    const psvi_hull *hull = solid->hull;
    const float radius = capsule->size.x;
    v3 a, b;
    psvi_capsule_ends(capsule, &a, &b);
    a = quat_unrotate(solid->rotation, v3_sub(a, solid->centre));
    b = quat_unrotate(solid->rotation, v3_sub(b, solid->centre));
    const psvi_hull_segment at = psvi_segment_to_hull(hull, a, b);
    if (!(at.separation - radius <= margin)) return;
    const v3 n = v3_of4(hull->planes[at.face]);
    const psvi_polytope p = psvi_polytope_of(solid);
    float from, to;
    uint32_t from_edge = 0, to_edge = 0;
    if (v3_dot(n, at.normal) > 0.98f && psvi_clip_to_face(&p, at.face, a, b, &from, &to, &from_edge, &to_edge) &&
        to - from > 0.05f) {
        const v3 outward = quat_rotate(solid->rotation, n);
        for (uint32_t i = 0; i < 2; ++i) {
            const v3 x = v3_madd(a, v3_sub(b, a), i == 0 ? from : to);
            const float separation = v3_dot(n, x) - hull->planes[at.face].w - radius;
            if (!(separation <= margin)) continue;
            const v3 on = v3_madd(x, n, -(radius + 0.5f * separation));
            psvi_add_point(out, outward, v3_add(solid->centre, quat_rotate(solid->rotation, on)), separation,
                           psvi_hull_feature(feature, at.face & 63, 1 + i));
        }
        return;
    }
    const float separation = at.separation - radius;
    const v3 on = v3_madd(at.point, at.normal, -(radius + 0.5f * separation));
    psvi_add_point(out, quat_rotate(solid->rotation, at.normal),
                   v3_add(solid->centre, quat_rotate(solid->rotation, on)), separation, feature | 3u);
}

// --- ground ----------------------------------------------------------------------------------------------------------

PSVI_HD v3 psvi_hull_vertex(const psvi_solid *solid, uint32_t i) {
    return v3_add(solid->centre, quat_rotate(solid->rotation, v3_of4(solid->hull->vertices[i])));
}

// A point inside: where the hull's frame has its origin, says its maker.
PSVI_HD v3 psvi_hull_middle(const psvi_solid *solid) {
    v3 sum = v3_make(0, 0, 0);
    for (uint32_t i = 0; i < solid->hull->vertex_count; ++i)
        sum = v3_add(sum, psvi_hull_vertex(solid, i));
    return v3_scale(sum, 1.0f / (float)solid->hull->vertex_count);
}

// The vertices of the hull's face that looks against `up`, in the hull's frame, most, and the furthest one: what stands
// on the ground. Vertices of the faces beside it are near too, but carry nothing.
PSVI_HD uint64_t psvi_hull_footing(const psvi_hull *hull, v3 up) {
    uint32_t face = 0, lowest = 0;
    float least = 3.4e38f, low = 3.4e38f;
    for (uint32_t i = 0; i < hull->face_count; ++i) {
        const float d = v3_dot(v3_of4(hull->planes[i]), up);
        face = d < least ? i : face;
        least = d < least ? d : least;
    }
    for (uint32_t i = 0; i < hull->vertex_count; ++i) {
        const float d = v3_dot(v3_of4(hull->vertices[i]), up);
        lowest = d < low ? i : lowest;
        low = d < low ? d : low;
    }
    uint64_t footing = (uint64_t)1 << lowest;
    for (uint32_t i = hull->face_first[face]; i < hull->face_first[face + 1]; ++i)
        footing |= (uint64_t)1 << hull->loop[i];
    return footing;
}

// Four of the vertices that stand on a plane: the deepest and those that span most.
PSVI_HD_LONG void psvi_collide_plane_hull(const psvi_solid *solid, v3 origin, v3 up, float margin, uint32_t feature,
                                          psvi_manifold *out) {
    psvi_clip_vertex list[PSVI_HULL_POINTS];
    int points = 0, chosen[4];
    v3 ux, uy;
    v3_tangents(up, &ux, &uy);
    const uint64_t footing = psvi_hull_footing(solid->hull, quat_unrotate(solid->rotation, up));
    for (uint32_t i = 0; i < solid->hull->vertex_count; ++i) {
        if ((footing >> i & 1) == 0) continue;
        const v3 d = v3_sub(psvi_hull_vertex(solid, i), origin);
        psvi_gather_point(list, &points, v3_dot(d, ux), v3_dot(d, uy), v3_dot(d, up), margin, i);
    }
    points = psvi_choose_four(list, points, chosen);
    for (int i = 0; i < points; ++i) {
        const psvi_clip_vertex *v = &list[chosen[i]];
        const v3 at = v3_madd(v3_madd(v3_madd(origin, ux, v->x), uy, v->y), up, 0.5f * v->depth);
        psvi_add_point(out, v3_neg(up), at, v->depth, feature | v->id);
    }
}

#endif
