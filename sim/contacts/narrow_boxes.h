// Contact points between two boxes: separating axes, then the incident face clipped against the reference face, or the
// nearest points of two edges. Feature ids name the faces, edges and clipping planes, so a point keeps its id while the
// same features touch.
#ifndef PAIRSIEVE_NARROW_BOXES_H
#define PAIRSIEVE_NARROW_BOXES_H

#include "narrow_shapes.h"

typedef struct psvi_clip_vertex {
    float x, y, depth; // in the reference face; depth along its normal
    uint32_t id, edge; // edge: the one from this vertex to the next
} psvi_clip_vertex;

// Keeps the part of the polygon with sign * (x or y) <= limit. Returns the new count, at most count + 1.
PSVI_HD int psvi_clip(const psvi_clip_vertex *in, int count, psvi_clip_vertex *out, bool on_y, float sign, float limit,
                      uint32_t plane) {
    int n = 0;
    for (int i = 0; i < count; ++i) {
        const psvi_clip_vertex *a = &in[i], *b = &in[i + 1 == count ? 0 : i + 1];
        float da = sign * (on_y ? a->y : a->x) - limit, db = sign * (on_y ? b->y : b->x) - limit;
        if (da <= 0) out[n++] = *a;
        if ((da <= 0) == (db <= 0)) continue;
        float t = da / (da - db);
        psvi_clip_vertex *v = &out[n++];
        v->x = a->x + t * (b->x - a->x);
        v->y = a->y + t * (b->y - a->y);
        v->depth = a->depth + t * (b->depth - a->depth);
        v->id = 16u + (a->edge << 2 | plane);
        v->edge = da <= 0 ? 4u + plane : a->edge;
    }
    return n;
}

// Chooses four points that span the area best, the deepest first; writes their indices.
PSVI_HD int psvi_choose_four(const psvi_clip_vertex *v, int count, int chosen[4]) {
    if (count <= 4) {
        for (int i = 0; i < count; ++i)
            chosen[i] = i;
        return count;
    }
    int a = 0;
    for (int i = 1; i < count; ++i)
        if (v[i].depth < v[a].depth) a = i;
    int b = a;
    float best = -1;
    for (int i = 0; i < count; ++i) {
        float dx = v[i].x - v[a].x, dy = v[i].y - v[a].y, d = dx * dx + dy * dy;
        if (i != a && d > best) {
            best = d;
            b = i;
        }
    }
    int c = -1, d = -1;
    float most = 0, least = 0;
    for (int i = 0; i < count; ++i) {
        float area = (v[b].x - v[a].x) * (v[i].y - v[a].y) - (v[b].y - v[a].y) * (v[i].x - v[a].x);
        if (i == a || i == b) continue;
        if (area > most) {
            most = area;
            c = i;
        }
        if (area < least) {
            least = area;
            d = i;
        }
    }
    int n = 0;
    chosen[n++] = a;
    chosen[n++] = b;
    if (c >= 0) chosen[n++] = c;
    if (d >= 0) chosen[n++] = d;
    return n;
}

// Reference face: axis `axis` of `ref` with `sign`; `flip` where the reference is the second body.
PSVI_HD void psvi_collide_faces(v3 ref_centre, const axes3 *ref, v3 ref_half, v3 inc_centre, const axes3 *inc,
                                v3 inc_half, int axis, float sign, bool flip, float margin, uint32_t feature,
                                psvi_manifold *out) {
    v3 normal = v3_scale(ref->u[axis], sign); // out of the reference face
    int ix = axis == 2 ? 0 : axis + 1, iy = axis == 0 ? 2 : axis - 1;
    v3 ux = ref->u[ix], uy = ref->u[iy];
    float hx = v3_axis(ref_half, ix), hy = v3_axis(ref_half, iy);
    // incident face: the one that looks against the normal most
    float d0 = v3_dot(inc->u[0], normal), d1 = v3_dot(inc->u[1], normal), d2 = v3_dot(inc->u[2], normal);
    float a0 = fabsf(d0), a1 = fabsf(d1), a2 = fabsf(d2);
    int k = a0 >= a1 && a0 >= a2 ? 0 : a1 >= a2 ? 1 : 2;
    float dk = k == 0 ? d0 : k == 1 ? d1 : d2;
    float side = dk > 0 ? -1.0f : 1.0f;
    v3 face = v3_madd(inc_centre, inc->u[k], side * v3_axis(inc_half, k));
    int kx = k == 2 ? 0 : k + 1, ky = k == 0 ? 2 : k - 1;
    v3 ex = v3_scale(inc->u[kx], v3_axis(inc_half, kx)), ey = v3_scale(inc->u[ky], v3_axis(inc_half, ky));
    v3 origin = v3_madd(ref_centre, normal, v3_axis(ref_half, axis)); // middle of the reference face
    psvi_clip_vertex p[8], q[8];
    for (uint32_t i = 0; i < 4; ++i) {
        v3 corner =
            v3_add(face, v3_add(v3_scale(ex, (i == 1 || i == 2) ? 1.0f : -1.0f), v3_scale(ey, i >= 2 ? 1.0f : -1.0f)));
        v3 d = v3_sub(corner, origin);
        p[i].x = v3_dot(d, ux);
        p[i].y = v3_dot(d, uy);
        p[i].depth = v3_dot(d, normal);
        p[i].id = i;
        p[i].edge = i;
    }
    int count = psvi_clip(p, 4, q, false, 1.0f, hx, 0);
    count = psvi_clip(q, count, p, false, -1.0f, hx, 1);
    count = psvi_clip(p, count, q, true, 1.0f, hy, 2);
    count = psvi_clip(q, count, p, true, -1.0f, hy, 3);
    int near = 0;
    for (int i = 0; i < count; ++i)
        if (p[i].depth <= margin) p[near++] = p[i];
    int chosen[4];
    near = psvi_choose_four(p, near, chosen);
    uint32_t face_id =
        ((uint32_t)(axis * 2 + (sign > 0 ? 1 : 0)) * 6 + (uint32_t)(k * 2 + (side > 0 ? 1 : 0))) * 2 + flip;
    v3 towards = flip ? v3_neg(normal) : normal;
    for (int i = 0; i < near; ++i) {
        const psvi_clip_vertex *v = &p[chosen[i]];
        v3 point = v3_madd(v3_madd(v3_madd(origin, ux, v->x), uy, v->y), normal, 0.5f * v->depth);
        psvi_add_point(out, towards, point, v->depth, feature | (face_id << 6 | v->id));
    }
}

PSVI_HD void psvi_collide_edges(v3 ca, const axes3 *a, v3 ha, v3 cb, const axes3 *b, v3 hb, int i, int j, v3 normal,
                                float separation, uint32_t feature, psvi_manifold *out) {
    // the edge of a that reaches furthest along the normal, and of b against it
    v3 pa = ca, pb = cb;
    for (int k = 0; k < 3; ++k) {
        if (k != i) pa = v3_madd(pa, a->u[k], v3_dot(a->u[k], normal) > 0 ? v3_axis(ha, k) : -v3_axis(ha, k));
        if (k != j) pb = v3_madd(pb, b->u[k], v3_dot(b->u[k], normal) < 0 ? v3_axis(hb, k) : -v3_axis(hb, k));
    }
    v3 ea = v3_scale(a->u[i], v3_axis(ha, i)), eb = v3_scale(b->u[j], v3_axis(hb, j));
    float s, t;
    psvi_nearest_of_segments(v3_sub(pa, ea), v3_add(pa, ea), v3_sub(pb, eb), v3_add(pb, eb), &s, &t);
    v3 xa = v3_madd(pa, ea, 2 * s - 1), xb = v3_madd(pb, eb, 2 * t - 1);
    psvi_add_point(out, normal, v3_scale(v3_add(xa, xb), 0.5f), separation,
                   feature | (0x3000u + (uint32_t)(i * 3 + j)));
}

#define PSVI_AXIS_FACE_A 0 // kinds of separating axes
#define PSVI_AXIS_FACE_B 1
#define PSVI_AXIS_EDGES 2

// What was found along the separating axes: the best one, a face of a, a face of b or a pair of edges.
typedef struct psvi_axis_choice {
    float separation; // along the normal
    float way;        // with a side: how far to go that way until they are apart
    v3 normal;        // from a to b
    int axis, kind;   // axis of a face; of edges 3 * that of a + that of b
} psvi_axis_choice;

// Separation along `axis` of boxes whose half widths reach `reach` along it and whose centres are `t` apart, with the
// normal from the first to the second. With `side` not 0 the normal is turned to that side, though the overlap that way
// may be deeper. The function then returns minus the way along `side` until the boxes are apart.
PSVI_HD float psvi_turn_axis(v3 axis, float t, float reach, v3 side, bool sided, v3 *normal, float *separation) {
    float along = v3_dot(axis, side), sign = (sided ? along : t) >= 0 ? 1.0f : -1.0f;
    *normal = v3_scale(axis, sign);
    *separation = sign * t - reach;
    return sided ? *separation / fmaxf(fabsf(along), 0.01f) : *separation;
}

// The axis of least overlap; with `side` not 0, that of the shortest way out to that side. What is further apart than
// `margin` is not looked at to the end.
PSVI_HD psvi_axis_choice psvi_choose_axis(const axes3 *a, v3 ha, const axes3 *b, v3 hb, v3 d, float slack, float margin,
                                          v3 side) {
    psvi_axis_choice best;
    float c[3][3], m[3][3], most = -3.4e38f, separation = 0;
    bool sided = v3_dot(side, side) > 0;
    v3 n;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            c[i][j] = v3_dot(a->u[i], b->u[j]);
            m[i][j] = fabsf(c[i][j]);
        }
    best.separation = most;
    best.normal = v3_make(0, 1, 0);
    best.axis = 0;
    best.kind = PSVI_AXIS_FACE_A;
    for (int i = 0; i < 3; ++i) {
        float reach = v3_axis(ha, i) + (hb.x * m[i][0] + hb.y * m[i][1] + hb.z * m[i][2]);
        float s = psvi_turn_axis(a->u[i], v3_dot(d, a->u[i]), reach, side, sided, &n, &separation);
        if (s > most) {
            most = s;
            best.separation = separation;
            best.normal = n;
            best.axis = i;
        }
    }
    // The second box is the reference only where it is clearly better, so that the choice does not flicker.
    float clearly = most + slack;
    for (int j = 0; j < 3; ++j) {
        float reach = v3_axis(hb, j) + (ha.x * m[0][j] + ha.y * m[1][j] + ha.z * m[2][j]);
        float s = psvi_turn_axis(b->u[j], v3_dot(d, b->u[j]), reach, side, sided, &n, &separation);
        if (s > clearly) {
            most = clearly = s;
            best.separation = separation;
            best.normal = n;
            best.axis = j;
            best.kind = PSVI_AXIS_FACE_B;
        }
    }
    best.way = -most;
    if (!(best.separation <= margin)) return best;
    float edge = most + slack;
    for (int i = 0; i < 3; ++i) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            float squared = 1 - c[i][j] * c[i][j];
            if (squared < 1e-4f) continue; // nearly parallel edges: a face tells it better
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            float inverse = 1.0f / sqrtf(squared);
            v3 axis = v3_scale(v3_cross(a->u[i], b->u[j]), inverse);
            float reach = v3_axis(ha, i1) * m[i2][j] + v3_axis(ha, i2) * m[i1][j] + v3_axis(hb, j1) * m[i][j2] +
                          v3_axis(hb, j2) * m[i][j1];
            float s = psvi_turn_axis(axis, v3_dot(d, axis), reach * inverse, side, sided, &n, &separation);
            if (s > edge) {
                edge = s;
                best.separation = separation;
                best.way = -s;
                best.normal = n;
                best.axis = 3 * i + j;
                best.kind = PSVI_AXIS_EDGES;
            }
        }
    }
    return best;
}

PSVI_HD float psvi_thinnest(v3 a, v3 b) { return fminf(fminf(fminf(a.x, a.y), fminf(a.z, b.x)), fminf(b.y, b.z)); }

// How far the second box has to go along the unit vector `side` until it is out of the first.
PSVI_HD float psvi_way_out(const psvi_solid *sa, const psvi_solid *sb, v3 side) {
    axes3 a = quat_axes(sa->rotation), b = quat_axes(sb->rotation);
    v3 d = v3_sub(sb->centre, sa->centre);
    return psvi_choose_axis(&a, sa->size, &b, sb->size, d, 0, 3.4e38f, side).way;
}

PSVI_HD void psvi_collide_boxes(const psvi_solid *sa, const psvi_solid *sb, float margin, uint32_t feature,
                                psvi_manifold *out) {
    axes3 a = quat_axes(sa->rotation), b = quat_axes(sb->rotation);
    v3 ha = sa->size, hb = sb->size;
    v3 d = v3_sub(sb->centre, sa->centre);
    float size = psvi_thinnest(ha, hb), slack = 0.02f * size;
    psvi_axis_choice best = psvi_choose_axis(&a, ha, &b, hb, d, slack, margin, v3_make(0, 0, 0));
    if (!(best.separation <= margin)) return;
    out->depth = fmaxf(out->depth, -best.separation / size);
    if (out->sided && best.separation < 0 && v3_dot(best.normal, out->side) < 0)
        best = psvi_choose_axis(&a, ha, &b, hb, d, slack, margin, out->side);
    if (best.kind == PSVI_AXIS_EDGES)
        psvi_collide_edges(sa->centre, &a, ha, sb->centre, &b, hb, best.axis / 3, best.axis % 3, best.normal,
                           best.separation, feature, out);
    else if (best.kind == PSVI_AXIS_FACE_A)
        psvi_collide_faces(sa->centre, &a, ha, sb->centre, &b, hb, best.axis,
                           v3_dot(best.normal, a.u[best.axis]) >= 0 ? 1.0f : -1.0f, false, margin, feature, out);
    else
        psvi_collide_faces(sb->centre, &b, hb, sa->centre, &a, ha, best.axis,
                           v3_dot(best.normal, b.u[best.axis]) <= 0 ? 1.0f : -1.0f, true, margin, feature, out);
}

#endif
