// Contact points between spheres, capsules and boxes. Normals point from the first to the second; a point lies midway
// between the two surfaces; points further apart than `margin` are left out.
#ifndef PAIRSIEVE_NARROW_SHAPES_H
#define PAIRSIEVE_NARROW_SHAPES_H

#include "../data/sim_data.h"

typedef struct psvi_found {
    v3 normal, point;
    float separation;
    uint32_t feature;
} psvi_found;

typedef struct psvi_manifold {
    uint32_t count;
    bool flip;     // what is added comes with the bodies swapped
    float seconds; // of the step
    float time;    // since its beginning, at which the points were found
    v3 velocity;   // of b less that of a
    v3 drift;      // the same without what gravity adds
    v3 com_a;      // of a solid on the ground: its body's centre of mass
    int still;     // 1: a does not move, 2: b does not; else 0
    v3 spin_a, spin_b, centre_a, centre_b;
    float depth; // the deepest overlap of boxes, as a multiple of the thinner one's half width
    bool sided;  // boxes in each other are parted to this side only
    v3 side;
    psvi_found found[PSVI_MAX_POINTS];
    // once all places are taken: the separation at the step's end if nothing stops it, and how many other points the
    // same two solids have
    float soon[PSVI_MAX_POINTS];
    uint32_t others[PSVI_MAX_POINTS];
} psvi_manifold;

// A sphere, capsule, box or hull where it is.
typedef struct psvi_solid {
    uint32_t type;
    v3 size; // of a hull: radius about the centre, half of the least width
    v3 centre;
    quat rotation;
    const psvi_hull *hull; // its own, or the cube for a box; NULL in worlds without hulls
} psvi_solid;

PSVI_HD bool psvi_is_round(uint32_t type) { return type <= PSV_SHAPE_SPHERE; }

// Half extents of a solid's box; not of a hull's.
PSVI_HD v3 psvi_solid_extent(const psvi_solid *solid) {
    if (psvi_is_round(solid->type)) return v3_make(solid->size.x, solid->size.x, solid->size.x);
    axes3 axes = quat_axes(solid->rotation);
    v3 y = v3_abs(axes.u[1]);
    if (solid->type == PSV_SHAPE_CAPSULE)
        return v3_add(v3_scale(y, solid->size.y), v3_make(solid->size.x, solid->size.x, solid->size.x));
    v3 extent = v3_scale(v3_abs(axes.u[0]), solid->size.x);
    return v3_madd(v3_madd(extent, y, solid->size.y), v3_abs(axes.u[2]), solid->size.z);
}

// Radius of a ball about a solid's centre that holds it.
PSVI_HD float psvi_solid_reach(const psvi_solid *solid) {
    if (solid->type == PSV_SHAPE_BOX) return v3_length(solid->size);
    return solid->type == PSV_SHAPE_CAPSULE ? solid->size.x + solid->size.y : solid->size.x;
}

// Half of a solid's least width.
PSVI_HD float psvi_solid_thinnest(const psvi_solid *solid) {
    if (solid->type == PSV_SHAPE_BOX) return fminf(solid->size.x, fminf(solid->size.y, solid->size.z));
    return solid->type == PSV_SHAPE_HULL ? solid->size.y : solid->size.x;
}

#define PSVI_FEATURE_SOLIDS 14 // the bits of a feature from this one on tell which two solids it is of

PSVI_HD bool psvi_same_solids(uint32_t feature, uint32_t other) {
    return (feature ^ other) >> PSVI_FEATURE_SOLIDS == 0;
}

PSVI_HD float psvi_soon(const psvi_manifold *out, const psvi_found *f) {
    v3 v = v3_sub(out->velocity, v3_cross(out->spin_a, v3_sub(f->point, out->centre_a)));
    v = v3_add(v, v3_cross(out->spin_b, v3_sub(f->point, out->centre_b)));
    return f->separation + v3_dot(v, f->normal) * out->seconds;
}

PSVI_HD void psvi_place_point(psvi_manifold *out, uint32_t place, const psvi_found *f, float soon) {
    uint32_t others = 0;
    for (uint32_t i = 0; i < PSVI_MAX_POINTS; ++i) {
        if (i == place) continue;
        uint32_t feature = out->found[i].feature;
        if (psvi_same_solids(feature, out->found[place].feature)) --out->others[i]; // of the one that gives way
        if (!psvi_same_solids(feature, f->feature)) continue;
        ++out->others[i];
        ++others;
    }
    out->found[place] = *f;
    out->soon[place] = soon;
    out->others[place] = others;
}

// Adds a point. When all places are taken one gives way: of the points whose two solids have another one, or else of
// all, that which would be furthest apart at the step's end. So no two solids that are near go unseen while there is
// room: what falls fast would be through thin ones by the next step.
PSVI_HD void psvi_add_point(psvi_manifold *out, v3 normal, v3 point, float separation, uint32_t feature) {
    psvi_found f;
    f.normal = out->flip ? v3_neg(normal) : normal;
    f.point = point;
    f.separation = separation;
    f.feature = feature;
    if (out->count < PSVI_MAX_POINTS) {
        out->found[out->count++] = f;
        if (out->count < PSVI_MAX_POINTS) return;
        for (uint32_t i = 0; i < PSVI_MAX_POINTS; ++i) {
            out->soon[i] = psvi_soon(out, &out->found[i]);
            out->others[i] = 0;
            for (uint32_t k = 0; k < PSVI_MAX_POINTS; ++k)
                if (k != i && psvi_same_solids(out->found[i].feature, out->found[k].feature)) ++out->others[i];
        }
        return;
    }
    bool crowded = false; // whether the one that gives way has others beside it; at first it is the new one
    for (uint32_t i = 0; i < PSVI_MAX_POINTS; ++i)
        crowded |= psvi_same_solids(out->found[i].feature, feature);
    const bool same = crowded;
    uint32_t place = PSVI_MAX_POINTS;
    float soon = psvi_soon(out, &f), furthest = soon;
    for (uint32_t i = 0; i < PSVI_MAX_POINTS; ++i) {
        bool others = out->others[i] > 0 || (same && psvi_same_solids(out->found[i].feature, feature));
        if (others < crowded || (others == crowded && out->soon[i] <= furthest)) continue;
        place = i;
        furthest = out->soon[i];
        crowded = others;
    }
    if (place < PSVI_MAX_POINTS) psvi_place_point(out, place, &f, soon);
}

// Two spheres; false where they are further apart than the margin.
PSVI_HD bool psvi_touch_spheres(v3 a, float radius_a, v3 b, float radius_b, float margin, psvi_found *found) {
    v3 d = v3_sub(b, a);
    float squared = v3_dot(d, d), reach = radius_a + radius_b + margin;
    if (!(squared <= reach * reach)) return false;
    float distance = sqrtf(squared);
    found->normal = distance > 1e-12f ? v3_scale(d, 1.0f / distance) : v3_make(0, 1, 0);
    found->separation = distance - radius_a - radius_b;
    found->point = v3_madd(a, found->normal, radius_a + 0.5f * found->separation);
    found->feature = 0;
    return true;
}

PSVI_HD void psvi_collide_spheres(v3 a, float radius_a, v3 b, float radius_b, float margin, uint32_t feature,
                                  psvi_manifold *out) {
    psvi_found f;
    if (psvi_touch_spheres(a, radius_a, b, radius_b, margin, &f))
        psvi_add_point(out, f.normal, f.point, f.separation, feature);
}

// The box is the first body.
PSVI_HD void psvi_collide_box_sphere(const psvi_solid *box, v3 sphere, float radius, float margin, uint32_t feature,
                                     psvi_manifold *out) {
    v3 h = box->size;
    v3 p = quat_unrotate(box->rotation, v3_sub(sphere, box->centre));
    v3 c = v3_max(v3_min(p, h), v3_neg(h));
    v3 d = v3_sub(p, c);
    float squared = v3_dot(d, d);
    float reach = radius + margin;
    if (!(squared <= reach * reach)) return;
    v3 normal;
    float distance;
    if (squared > 1e-14f) {
        distance = sqrtf(squared);
        normal = v3_scale(d, 1.0f / distance);
    } else { // the centre is inside: out through the nearest face
        float dx = h.x - fabsf(p.x), dy = h.y - fabsf(p.y), dz = h.z - fabsf(p.z);
        if (dx <= dy && dx <= dz) {
            distance = -dx;
            normal = v3_make(p.x >= 0 ? 1.0f : -1.0f, 0, 0);
        } else if (dy <= dz) {
            distance = -dy;
            normal = v3_make(0, p.y >= 0 ? 1.0f : -1.0f, 0);
        } else {
            distance = -dz;
            normal = v3_make(0, 0, p.z >= 0 ? 1.0f : -1.0f);
        }
    }
    float separation = distance - radius;
    v3 local = v3_madd(p, normal, -(radius + 0.5f * separation));
    psvi_add_point(out, quat_rotate(box->rotation, normal), v3_add(box->centre, quat_rotate(box->rotation, local)),
                   separation, feature);
}

PSVI_HD void psvi_capsule_ends(const psvi_solid *capsule, v3 *p, v3 *q) {
    v3 half = quat_rotate(capsule->rotation, v3_make(0, capsule->size.y, 0));
    *p = v3_sub(capsule->centre, half);
    *q = v3_add(capsule->centre, half);
}

// Parameter in [0, 1] of the point of the segment p q that is nearest to x.
PSVI_HD float psvi_nearest_on_segment(v3 p, v3 q, v3 x) {
    v3 d = v3_sub(q, p);
    float squared = v3_dot(d, d);
    return squared > 1e-14f ? clamp_f(v3_dot(v3_sub(x, p), d) / squared, 0, 1) : 0.0f;
}

// Nearest parameters of two segments (Ericson, «Real-Time Collision Detection», 5.1.9).
PSVI_HD void psvi_nearest_of_segments(v3 p1, v3 q1, v3 p2, v3 q2, float *s, float *t) {
    v3 d1 = v3_sub(q1, p1), d2 = v3_sub(q2, p2), r = v3_sub(p1, p2);
    float a = v3_dot(d1, d1), e = v3_dot(d2, d2), f = v3_dot(d2, r);
    if (a <= 1e-14f || e <= 1e-14f) {
        *s = a <= 1e-14f ? 0 : clamp_f(-v3_dot(d1, r) / a, 0, 1);
        *t = e <= 1e-14f ? 0 : psvi_nearest_on_segment(p2, q2, v3_madd(p1, d1, *s));
        return;
    }
    float c = v3_dot(d1, r), b = v3_dot(d1, d2);
    float denominator = a * e - b * b;
    float u = denominator > 1e-6f * a * e ? clamp_f((b * f - c * e) / denominator, 0, 1) : 0.5f;
    float v = (b * u + f) / e;
    if (v < 0) {
        v = 0;
        u = clamp_f(-c / a, 0, 1);
    } else if (v > 1) {
        v = 1;
        u = clamp_f((b - c) / a, 0, 1);
    }
    *s = u;
    *t = v;
}

PSVI_HD void psvi_collide_capsules(const psvi_solid *a, const psvi_solid *b, float margin, uint32_t feature,
                                   psvi_manifold *out) {
    v3 p1, q1, p2, q2;
    psvi_capsule_ends(a, &p1, &q1);
    psvi_capsule_ends(b, &p2, &q2);
    v3 d1 = v3_sub(q1, p1), d2 = v3_sub(q2, p2);
    v3 x = v3_cross(d1, d2);
    if (v3_dot(x, x) < 0.01f * v3_dot(d1, d1) * v3_dot(d2, d2)) { // nearly parallel: both ends of the common part
        float s1 = psvi_nearest_on_segment(p1, q1, p2), s2 = psvi_nearest_on_segment(p1, q1, q2);
        v3 e1 = v3_madd(p1, d1, s1), e2 = v3_madd(p1, d1, s2);
        if (fabsf(s1 - s2) > 0.05f) {
            v3 f1 = v3_madd(p2, d2, psvi_nearest_on_segment(p2, q2, e1));
            v3 f2 = v3_madd(p2, d2, psvi_nearest_on_segment(p2, q2, e2));
            psvi_collide_spheres(e1, a->size.x, f1, b->size.x, margin, feature | 1u, out);
            psvi_collide_spheres(e2, a->size.x, f2, b->size.x, margin, feature | 2u, out);
            return;
        }
    }
    float s, t;
    psvi_nearest_of_segments(p1, q1, p2, q2, &s, &t);
    psvi_collide_spheres(v3_madd(p1, d1, s), a->size.x, v3_madd(p2, d2, t), b->size.x, margin, feature, out);
}

// The box is the first body. Both ends, and the nearest point between them.
PSVI_HD void psvi_collide_box_capsule(const psvi_solid *box, const psvi_solid *capsule, float margin, uint32_t feature,
                                      psvi_manifold *out) {
    v3 p, q;
    psvi_capsule_ends(capsule, &p, &q);
    float radius = capsule->size.x;
    psvi_collide_box_sphere(box, p, radius, margin, feature | 1u, out);
    psvi_collide_box_sphere(box, q, radius, margin, feature | 2u, out);
    float t = 0.5f;
    v3 d = v3_sub(q, p);
    for (int i = 0; i < 6; ++i) { // alternating projection converges between two convex sets
        v3 local = quat_unrotate(box->rotation, v3_sub(v3_madd(p, d, t), box->centre));
        v3 c = v3_max(v3_min(local, box->size), v3_neg(box->size));
        t = psvi_nearest_on_segment(p, q, v3_add(box->centre, quat_rotate(box->rotation, c)));
    }
    if (t > 0.05f && t < 0.95f) psvi_collide_box_sphere(box, v3_madd(p, d, t), radius, margin, feature | 3u, out);
}

#endif
