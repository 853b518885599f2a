// Fast bodies: their contact is that of the moment within the step at which they touch or are nearest.
#ifndef PAIRSIEVE_NARROW_FOLLOW_H
#define PAIRSIEVE_NARROW_FOLLOW_H

#include "narrow_contact.h"

// A body's pose after `time`, as it moves now.
PSVI_HD void psvi_pose_after(const psvi_sim *s, uint32_t body, float time, v3 *position, quat *rotation) {
    *position = v3_of4(s->position[body]);
    *rotation = quat_of4(s->rotation[body]);
    psvi_linear l = s->linear[body];
    if (!(time > 0) || !(l.velocity.w > 0 || l.moved.w != 0)) return;
    *position = v3_madd(*position, v3_of4(l.velocity), time);
    if (l.moved.w == 0) return;
    quat after = quat_mul(quat_of_vector(v3_scale(v3_of4(s->angular[body].velocity), time)), *rotation);
    v3 com = v3_of(s->geometry.shapes[s->shape[body]].com);
    *position = v3_add(*position, v3_sub(quat_rotate(*rotation, com), quat_rotate(after, com)));
    *rotation = after;
}

// Moves points that were found at out->time back to the beginning of the step. A body that passes by within the step
// must not hit its own plane. So a point's separation is at least the way that the bodies still come nearer.
PSVI_HD void psvi_back_to_beginning(const psvi_step *step, psvi_manifold *out, bool passes) {
    for (uint32_t i = 0; i < out->count; ++i) {
        psvi_found *f = &out->found[i];
        v3 v = v3_sub(out->velocity, v3_cross(out->spin_a, v3_sub(f->point, out->centre_a)));
        v = v3_add(v, v3_cross(out->spin_b, v3_sub(f->point, out->centre_b)));
        float speed = v3_dot(v, f->normal);
        f->separation -= speed * out->time;
        if (passes) f->separation = fmaxf(f->separation, -speed * psvi_reached(step));
    }
}

#define PSVI_FOLLOW_STEPS 12

// The points of two bodies, or of a body and the ground b, at out->time.
PSVI_HD void psvi_collide_after(const psvi_sim *s, uint32_t a, uint32_t b, bool ground, float margin, bool hulls,
                                psvi_manifold *out) {
    psvi_poses at;
    psvi_pose_after(s, a, out->time, &at.position_a, &at.rotation_a);
    psvi_pose_after(s, b, out->time, &at.position_b, &at.rotation_b);
    out->count = 0;
    out->depth = 0;
    out->sided = false;
    out->side = v3_make(0, 0, 0);
    if (ground)
        psvi_collide_ground(s, a, b, &at, margin, hulls, out);
    else
        psvi_collide_bodies(s, a, b, &at, margin, hulls, out);
}

// A long body turns by much when its end hits something, and its middle goes on: to contacts, whose arms are those of
// the moment of the hit, that is no motion towards what was hit. So the middle, as a ball as thick as the body, has a
// contact of its own, along whose normal nothing turns.
PSVI_HD bool psvi_has_core(const psvi_sim *s, uint32_t body) {
    const psvi_shape *shape = &s->geometry.shapes[s->shape[body]];
    return s->linear[body].velocity.w > 0 && s->linear[body].moved.w != 0 && 2.5f * shape->thin < s->position[body].w;
}

// Whether the middle of a long body could come through one that does not move, within the step. `travel`: what gravity
// adds counts not, or cards at rest would be looked at again and again.
PSVI_HD bool psvi_core_is_fast(const psvi_sim *s, const psvi_step *step, uint32_t body, uint32_t other, float travel) {
    if (s->linear[other].velocity.w > 0 || !psvi_has_core(s, body)) return false;
    const bool ground = psvi_is_ground(s->geometry.shapes[s->shape[other]].type);
    const float least = ground ? 0.5f * s->geometry.shapes[s->shape[body]].thin : 0.25f * s->position[body].w;
    return travel - step->fall * step->seconds > least;
}

// The points of the core of `body` with another body, or the ground, after `time`.
PSVI_HD void psvi_collide_core(const psvi_sim *s, uint32_t body, uint32_t other, bool ground, bool second, float time,
                               float margin, bool hulls, psvi_manifold *out) {
    const psvi_shape *shape = &s->geometry.shapes[s->shape[body]], *shape_other = &s->geometry.shapes[s->shape[other]];
    v3 position;
    quat rotation;
    psvi_solid core;
    core.type = PSV_SHAPE_SPHERE;
    core.size = v3_make(shape->thin, 0, 0);
    core.centre = v3_madd(psvi_centre_of_mass(s, shape, body), v3_of4(s->linear[body].velocity), time);
    core.rotation = quat_make(0, 0, 0, 1);
    core.hull = s->geometry.hulls;
    psvi_pose_after(s, other, time, &position, &rotation);
    const uint32_t feature = (uint32_t)second << 26 | 0x3fc0u, parts = psvi_part_count(shape_other);
    if (ground) {
        psvi_collide_ground_part(s, shape_other, position, rotation, &core, margin, feature, false, out);
        return;
    }
    for (uint32_t i = 0; i < parts; ++i) {
        const psvi_solid solid = psvi_part(s, shape_other, position, rotation, i);
        const bool hull = hulls && solid.type == PSV_SHAPE_HULL; // the core is none, whatever its body is
        if (second)
            psvi_collide_solids(&solid, &core, margin, feature, hull, out);
        else
            psvi_collide_solids(&core, &solid, margin, feature, hull, out);
    }
}

// Adds the contact of a core from the moment in which it touches, if it does within the step.
PSVI_HD_LONG void psvi_add_core(const psvi_sim *s, const psvi_step *step, uint32_t body, uint32_t other, bool ground,
                                bool second, bool hulls, psvi_manifold *out) {
    const v3 own = v3_of4(s->linear[body].velocity), v = psvi_pair_velocity(s, body, other);
    const float travel = v3_length(v) * step->seconds, core = s->geometry.shapes[s->shape[body]].thin,
                touching = 0.01f * core;
    const uint32_t base = out->count < PSVI_MAX_POINTS ? out->count : PSVI_MAX_POINTS - 1;
    const uint32_t before = out->count;
    float time = 0;
    psvi_found nearest = out->found[base];
    for (int i = 0; i <= PSVI_FOLLOW_STEPS; ++i) {
        out->count = base;
        psvi_collide_core(s, body, other, ground, second, time, travel, hulls, out);
        uint32_t best = base;
        for (uint32_t k = base + 1; k < out->count; ++k)
            best = out->found[k].separation < out->found[best].separation ? k : best;
        const bool any = out->count > base;
        const psvi_found f = out->found[best];
        out->found[base] = nearest;
        out->count = before;
        if (!any) return;
        const float closing = (second ? 1.0f : -1.0f) * v3_dot(v, f.normal);
        // What lies there, and spins about the normal at most, is held by its own points: friction may not act in its
        // middle.
        const v3 tilt = v3_cross(psvi_spin_of(s, body), f.normal);
        const float comes = (closing + v3_length(tilt) * s->position[body].w) * step->seconds;
        if (i == 0 && !(f.separation > 0.5f * core) && !(comes > 0.5f * core)) return;
        if (!(f.separation > touching)) {
            out->found[base] = f;
            out->found[base].separation = f.separation + closing * time;
            out->found[base].point = v3_madd(f.point, own, out->time - time);
            out->count = base + 1;
            return;
        }
        if (!(closing > 0)) return;
        time += f.separation / closing;
        if (!(time < psvi_reached(step))) return;
    }
}

// Whether two bodies that are apart, with these points as they are now, are so fast that they may meet at others. A
// pair that does not come as far as the plane between the two is not stopped by it; for one that touches at once the
// plane hardly changes. Compounds are followed only where they turn fast: to look at 36 pairs of parts again and again
// took longer than all else.
PSVI_HD bool psvi_must_follow(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, float travel,
                              const psvi_manifold *manifold) {
    const float radius = fminf(s->position[a].w, s->position[b].w), small = 0.01f * radius;
    const bool core = psvi_core_is_fast(s, step, a, b, travel) || psvi_core_is_fast(s, step, b, a, travel);
    const psvi_found *nearest = core || travel > 25 * small ? psvi_nearest_point(manifold) : 0;
    if (nearest == 0 || (!core && !(nearest->separation > fmaxf(small, 0.05f * travel)))) return false;
    const bool compound = s->geometry.shapes[s->shape[a]].type == PSV_SHAPE_COMPOUND ||
                          s->geometry.shapes[s->shape[b]].type == PSV_SHAPE_COMPOUND;
    if (compound && !(psvi_pair_turning(s, step, a, b) * step->seconds > 0.25f * radius)) return false;
    const float closing =
        psvi_turning_along(s, step, a, b, nearest->normal) - v3_dot(psvi_pair_velocity(s, a, b), nearest->normal);
    return closing * psvi_reached(step) > nearest->separation;
}

// The contact of two bodies, not both round, as they are now. Returns true, and writes nothing, where they have to be
// followed.
PSVI_HD bool psvi_narrow_other_pair(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, bool hulls) {
    psvi_manifold manifold;
    psvi_start_manifold(s, step, a, b, &manifold);
    psvi_poses at;
    at.position_a = v3_of4(s->position[a]);
    at.position_b = v3_of4(s->position[b]);
    at.rotation_a = quat_of4(s->rotation[a]);
    at.rotation_b = quat_of4(s->rotation[b]);
    const float travel = psvi_pair_travel(s, step, a, b);
    psvi_collide_bodies(s, a, b, &at, psvi_pair_margin(s, step, a, b, travel), hulls, &manifold);
    if (psvi_must_follow(s, step, a, b, travel, &manifold)) return true;
    psvi_write_contact(s, a, b, psvi_find_kept(s, a, b), &manifold);
    return false;
}

// The contact of two fast bodies that are apart, or of one and the ground b, from the moment in which they touch or are
// nearest. That is found by conservative advancement: along the normal of their nearest points they cannot come nearer
// than they move and turn that way; nowhere else do they meet sooner. Ground: only where it has to be followed.
PSVI_HD void psvi_follow_pair(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, bool ground,
                              bool hulls) {
    psvi_manifold manifold;
    psvi_start_manifold(s, step, a, b, &manifold);
    const float travel = psvi_pair_travel(s, step, a, b), margin = psvi_pair_margin(s, step, a, b, travel);
    const float touching = fmaxf(0.001f * fminf(s->position[a].w, s->position[b].w), 0.01f * travel);
    const v3 velocity = psvi_pair_velocity(s, a, b);
    float nearest_yet = 3.4e38f, nearest_time = 0;
    bool passes = false, last = false;
    for (int i = 0;; ++i) {
        psvi_collide_after(s, a, b, ground, margin, hulls, &manifold);
        if (last || (ground && i == 0 && !psvi_must_follow(s, step, a, b, travel, &manifold))) break;
        const psvi_found *found = psvi_nearest_point(&manifold);
        float nearest = found != 0 ? found->separation : margin;
        if (nearest < nearest_yet) {
            nearest_yet = nearest;
            nearest_time = manifold.time;
        }
        if (nearest <= touching) break;
        float closing = found != 0 ? psvi_turning_along(s, step, a, b, found->normal) - v3_dot(velocity, found->normal)
                                   : travel / step->seconds;
        float next = closing > 0 ? manifold.time + nearest / closing : step->seconds;
        passes = next >= step->seconds;
        if (passes || i == PSVI_FOLLOW_STEPS) {
            if (nearest_time == manifold.time) break;
            manifold.time = nearest_time;
            last = true;
        } else {
            manifold.time = next;
        }
    }
    psvi_back_to_beginning(step, &manifold, passes);
    if (manifold.count > 0 && psvi_core_is_fast(s, step, a, b, travel))
        psvi_add_core(s, step, a, b, ground, false, hulls, &manifold);
    if (manifold.count > 0 && !ground && psvi_core_is_fast(s, step, b, a, travel))
        psvi_add_core(s, step, b, a, false, true, hulls, &manifold);
    psvi_write_contact(s, a, b, psvi_find_kept(s, a, b), &manifold);
}

#endif
