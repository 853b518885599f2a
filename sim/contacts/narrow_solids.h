// Contact points of two solids: spheres, capsules, boxes and hulls. Also which points are left out where one solid
// passes over the edge of another that does not move.
#ifndef PAIRSIEVE_NARROW_SOLIDS_H
#define PAIRSIEVE_NARROW_SOLIDS_H

#include "narrow_hulls.h"

// One of the two is a hull.
PSVI_HD void psvi_collide_hull(const psvi_solid *a, const psvi_solid *b, float margin, uint32_t feature,
                               psvi_manifold *out) {
    const bool flat = (a->type == PSV_SHAPE_HULL || a->type == PSV_SHAPE_BOX) &&
                      (b->type == PSV_SHAPE_HULL || b->type == PSV_SHAPE_BOX);
    if (flat) {
        psvi_collide_polytopes(a, b, margin, feature, out);
        return;
    }
    out->flip = a->type != PSV_SHAPE_HULL;
    const psvi_solid *p = out->flip ? b : a, *q = out->flip ? a : b;
    if (q->type == PSV_SHAPE_CAPSULE)
        psvi_collide_hull_capsule(p, q, margin, feature, out);
    else
        psvi_collide_hull_sphere(p, q->centre, q->size.x, margin, feature, out);
    out->flip = false;
}

// `hulls`: either may be one.
PSVI_HD void psvi_touch_solids(const psvi_solid *a, const psvi_solid *b, float margin, uint32_t feature, bool hulls,
                               psvi_manifold *out) {
    if (psvi_takes_hull(hulls, a->type) || psvi_takes_hull(hulls, b->type)) {
        psvi_collide_hull(a, b, margin, feature, out);
        return;
    }
    uint32_t ta = psvi_is_round(a->type) ? 0 : a->type, tb = psvi_is_round(b->type) ? 0 : b->type;
    // In the order box, capsule, sphere, so that each combination has one function.
    bool swap = (ta == 0 && tb != 0) || (ta == PSV_SHAPE_CAPSULE && tb == PSV_SHAPE_BOX);
    const psvi_solid *p = swap ? b : a, *q = swap ? a : b;
    uint32_t tp = swap ? tb : ta, tq = swap ? ta : tb;
    out->flip = swap;
    if (tp == PSV_SHAPE_BOX && tq == PSV_SHAPE_BOX) {
        psvi_collide_boxes(p, q, margin, feature, out);
    } else if (tp == PSV_SHAPE_BOX && tq == PSV_SHAPE_CAPSULE) {
        psvi_collide_box_capsule(p, q, margin, feature, out);
    } else if (tp == PSV_SHAPE_BOX) {
        psvi_collide_box_sphere(p, q->centre, q->size.x, margin, feature, out);
    } else if (tp == PSV_SHAPE_CAPSULE && tq == PSV_SHAPE_CAPSULE) {
        psvi_collide_capsules(p, q, margin, feature, out);
    } else if (tp == PSV_SHAPE_CAPSULE) {
        v3 e, f;
        psvi_capsule_ends(p, &e, &f);
        v3 near = v3_madd(e, v3_sub(f, e), psvi_nearest_on_segment(e, f, q->centre));
        psvi_collide_spheres(near, p->size.x, q->centre, q->size.x, margin, feature, out);
    } else {
        psvi_collide_spheres(p->centre, p->size.x, q->centre, q->size.x, margin, feature, out);
    }
    out->flip = false;
}

#define PSVI_GLANCE 0.02f // of the half width: what lies no deeper below a face has come over its edge, not against it

// How far a solid reaches from its centre against the unit vector n.
PSVI_HD float psvi_solid_below(const psvi_solid *solid, bool hulls, v3 n) {
    const v3 local = quat_unrotate(solid->rotation, n);
    if (hulls && solid->type == PSV_SHAPE_HULL) {
        float most = -3.4e38f;
        for (uint32_t i = 0; i < solid->hull->vertex_count; ++i)
            most = fmaxf(most, -v3_dot(local, v3_of4(solid->hull->vertices[i])));
        return most;
    }
    if (solid->type == PSV_SHAPE_BOX) return v3_dot(v3_abs(local), solid->size);
    return solid->size.x + (solid->type == PSV_SHAPE_CAPSULE ? fabsf(local.y) * solid->size.y : 0.0f);
}

// Whether after `time` a solid that moves by `velocity` is above some face of a box or hull that does not, by -`glance`
// or more; not of a face with the normal n.
PSVI_HD bool psvi_is_over_face(const psvi_solid *still, const psvi_solid *moving, bool hulls, v3 velocity, float time,
                               v3 n, float glance) {
    const v3 d = v3_madd(v3_sub(moving->centre, still->centre), velocity, time);
    const v3 local = quat_unrotate(still->rotation, d);
    const bool hull = hulls && still->type == PSV_SHAPE_HULL;
    const uint32_t count = hull ? still->hull->face_count : 3;
    for (uint32_t i = 0; i < count; ++i) {
        const float side = v3_axis(local, (int)i % 3) < 0 ? -1.0f : 1.0f;
        const v3 face = hull ? v3_of4(still->hull->planes[i]) : v3_with_axis(v3_make(0, 0, 0), (int)i, side);
        const float height = v3_dot(face, local) - (hull ? still->hull->planes[i].w : v3_axis(still->size, (int)i));
        if (!(height > 0)) continue;
        const v3 up = quat_rotate(still->rotation, face);
        if (v3_dot(up, n) < 0.9999f && height - psvi_solid_below(moving, hulls, up) > -glance) return true;
    }
    return false;
}

// A body that slides over the face of a static body to the next static body would be stopped by that one's edge, as
// bodies do not know their neighbours. So points from place `first` on are left out if the solids approach in their
// direction, and the moving one is still above another face, or hardly below it, when they touch.
PSVI_HD void psvi_leave_out_glances(const psvi_solid *a, const psvi_solid *b, bool hulls, uint32_t first,
                                    psvi_manifold *out) {
    const bool first_still = out->still == 1;
    const psvi_solid *still = first_still ? a : b, *moving = first_still ? b : a;
    if (still->type != PSV_SHAPE_BOX && still->type != PSV_SHAPE_HULL) return;
    const float glance = PSVI_GLANCE * fminf(psvi_solid_thinnest(a), psvi_solid_thinnest(b));
    const v3 velocity = first_still ? out->drift : v3_neg(out->drift);
    uint32_t end = first;
    for (uint32_t i = first; i < out->count; ++i) {
        const psvi_found *f = &out->found[i];
        const float closing = -v3_dot(out->drift, f->normal);
        const v3 n = first_still ? f->normal : v3_neg(f->normal);
        if (closing > 0 && psvi_is_over_face(still, moving, hulls, velocity,
                                             fminf(fmaxf(f->separation, 0.0f) / closing, out->seconds), n, glance))
            continue;
        out->found[end++] = *f;
    }
    out->count = end;
}

// `hulls`: either may be one.
PSVI_HD void psvi_collide_solids(const psvi_solid *a, const psvi_solid *b, float margin, uint32_t feature, bool hulls,
                                 psvi_manifold *out) {
    const uint32_t before = out->count;
    psvi_touch_solids(a, b, margin, feature, hulls, out);
    if (out->still != 0 && out->count > before) psvi_leave_out_glances(a, b, hulls, before, out);
}

#endif
