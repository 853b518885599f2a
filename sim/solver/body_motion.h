// What happens to each body by itself: the start of a step (bounds, solver state), forces, moving, and the end.
#ifndef PAIRSIEVE_BODY_MOTION_H
#define PAIRSIEVE_BODY_MOTION_H

#include "../contacts/narrow.h"
#include "../data/atomics.h"
#include "../data/sim_data.h"
#include "body_forces.h"
#include "body_sleep.h"
#include "free_rotation.h"

PSVI_HD void psvi_hull_bounds(const psvi_hull *hull, v3 position, quat rotation, v3 *low, v3 *high) {
    const axes3 axes = quat_axes(rotation);
    for (uint32_t i = 0; i < hull->vertex_count; ++i) {
        const v3 x = v3_add(position, axes_apply(&axes, v3_of4(hull->vertices[i])));
        *low = i == 0 ? x : v3_min(*low, x);
        *high = i == 0 ? x : v3_max(*high, x);
    }
}

// The box that a body fills at its present pose.
PSVI_HD void psvi_body_bounds(const psvi_sim *s, const psvi_shape *shape, v3 position, quat rotation, v3 *low,
                              v3 *high) {
    if (shape->type == PSV_SHAPE_HULL) {
        psvi_hull_bounds(&s->geometry.hulls[shape->hull], position, rotation, low, high);
        return;
    }
    if (psvi_is_ground(shape->type)) { // a mesh that moves
        const v3 reach = v3_make(shape->radius, shape->radius, shape->radius);
        *low = v3_sub(position, reach);
        *high = v3_add(position, reach);
        return;
    }
    uint32_t parts = psvi_part_count(shape);
    for (uint32_t i = 0; i < parts; ++i) {
        psvi_solid solid = psvi_part(s, shape, position, rotation, i);
        v3 extent = psvi_solid_extent(&solid);
        v3 a = v3_sub(solid.centre, extent), b = v3_add(solid.centre, extent);
        *low = i == 0 ? a : v3_min(*low, a);
        *high = i == 0 ? b : v3_max(*high, b);
    }
}

// A point of the unit ball from a 64-bit seed, uniformly.
PSVI_HD v3 psvi_ball_point(uint64_t seed) {
    v3 p = v3_make(0, 0, 0);
    for (int i = 0; i < 16; ++i) {
        seed = psvi_mix64(seed);
        p = v3_make((float)(seed & 0x1fffff) * (2.0f / 2097151.0f) - 1,
                    (float)(seed >> 21 & 0x1fffff) * (2.0f / 2097151.0f) - 1,
                    (float)(seed >> 42 & 0x1fffff) * (2.0f / 2097151.0f) - 1);
        if (v3_dot(p, p) <= 1) return p;
    }
    return v3_scale(p, 0.5f);
}

// Whether a body is kinematic and moves: one that stands still is as a static one.
PSVI_HD bool psvi_is_driven(psvi_f4 position, psvi_f4 velocity, psvi_f4 angular) {
    if (velocity.w > 0 || !(position.w > 0)) return false;
    return velocity.x != 0 || velocity.y != 0 || velocity.z != 0 || angular.x != 0 || angular.y != 0 || angular.z != 0;
}

// Widens the box of a body that turns by `turn` rad while it moves by `path`: no further than the ball about its centre
// of mass in which it turns.
PSVI_HD void psvi_turn_bounds(const psvi_sim *s, const psvi_shape *shape, uint32_t i, float turn, v3 path, v3 *low,
                              v3 *high) {
    const v3 none = v3_make(0, 0, 0), com = quat_rotate(quat_of4(s->rotation[i]), v3_of(shape->com));
    const float radius = s->position[i].w, grown = fminf(turn, 2.0f) * radius, reach = radius + v3_length(com);
    const v3 middle = v3_add(v3_of4(s->position[i]), com);
    const v3 more = v3_make(grown, grown, grown), about = v3_make(reach, reach, reach);
    *low = v3_max(v3_sub(*low, more), v3_min(*low, v3_sub(v3_add(middle, v3_min(path, none)), about)));
    *high = v3_min(v3_add(*high, more), v3_max(*high, v3_add(v3_add(middle, v3_max(path, none)), about)));
}

// Start of a step: solver state, and the box that holds the body during the whole step.
PSVI_HD void psvi_begin_body(const psvi_sim *s, const psvi_step *step, uint32_t i) {
    psvi_f4 position = s->position[i];
    s->colour_mask[i] = 0;
    s->claim[i] = 0;
    if (s->island != NULL && psvi_sleep_on(s, i)) { // as static, with its last box
        psvi_linear none = {{0, 0, 0, 0}, {0, 0, 0, 0}};
        s->linear[i] = none;
        return;
    }
    const psvi_shape *shape = &s->geometry.shapes[s->shape[i]];
    psvi_f4 velocity = s->velocity[i], angular = s->angular_velocity[i];
    if (step->kick_count > 0 && velocity.w > 0) {
        uint32_t place = i >= step->kick_first ? i - step->kick_first : i + s->slots - step->kick_first;
        if (place < step->kick_count) {
            velocity =
                f4_make(v3_scale(psvi_ball_point(psvi_mix64(step->kick_seed + i)), step->kick_speed), velocity.w);
            s->velocity[i] = velocity;
        }
    }
    bool driven = psvi_is_driven(position, velocity, angular);
    if (driven && psvi_is_ground(shape->type)) psvi_fetch_or(&s->counts->ground_drives, 1);
    // What is driven meets sleepers, which are static to the broad phase.
    if (s->island != NULL && (s->flags[i] & PSVI_FLAG_KINEMATIC) != 0)
        s->flags[i] =
            (uint8_t)(PSVI_FLAG_KINEMATIC | (driven ? 0u : PSV_BOX_STATIC) | (s->flags[i] & PSV_BOX_DISABLED));
    bool turns = driven || (velocity.w > 0 && shape->type != PSV_SHAPE_PARTICLE);
    psvi_linear linear;
    linear.velocity = velocity;
    linear.moved = f4_make(v3_make(0, 0, 0), turns ? 1.0f : 0.0f);
    s->linear[i] = linear;
    if (s->acceleration) s->acceleration[i].w = velocity.w > 0 ? 1.0f / velocity.w : 0.0f; // what others feel: its mass
    if (turns) {
        psvi_angular state;
        float ball = psvi_is_round(shape->type) ? shape->inv_inertia.xx : 0.0f;
        state.velocity = f4_make(v3_of4(angular), driven ? PSVI_KINEMATIC_INERTIA : ball);
        state.turned = f4_make(v3_make(0, 0, 0), 0);
        s->angular[i] = state;
        s->inv_inertia[i] =
            driven ? sym3_isotropic(0) : sym3_rotate(shape->inv_inertia, quat_axes(quat_of4(s->rotation[i])));
    }
    if (position.w <= 0 || (psvi_is_ground(shape->type) && !driven)) return; // an empty slot, or ground that rests
    const v3 none = v3_make(0, 0, 0);
    v3 p = v3_of4(position), low = p, high = p;
    psvi_body_bounds(s, shape, p, quat_of4(s->rotation[i]), &low, &high);
    float margin = 0;
    if (velocity.w > 0 || driven) {
        margin = psvi_body_margin(step, position.w, psvi_is_round(shape->type));
        v3 fall = driven ? v3_make(0, 0, 0) : psvi_body_gravity(s, step, i);
        v3 path = v3_scale(v3_madd(v3_of4(velocity), fall, step->seconds), step->seconds);
        low = v3_add(low, v3_min(path, none));
        high = v3_add(high, v3_max(path, none));
        if (turns && !psvi_is_round(shape->type)) {
            const float turn = v3_length(v3_of4(angular)) * step->seconds;
            if (turn <= 0.5f)
                margin += turn * position.w;
            else
                psvi_turn_bounds(s, shape, i, turn, path, &low, &high);
        }
    }
    psv_aabb box;
    box.min[0] = low.x - margin;
    box.min[1] = low.y - margin;
    box.min[2] = low.z - margin;
    box.max[0] = high.x + margin;
    box.max[1] = high.y + margin;
    box.max[2] = high.z + margin;
    s->box[i] = box;
}

PSVI_HD bool psvi_inside(v3 p, const float low[3], const float high[3]) { // false for NaN
    return p.x >= low[0] && p.y >= low[1] && p.z >= low[2] && p.x <= high[0] && p.y <= high[1] && p.z <= high[2];
}

// Turns a body that is no ball through a step: as it turns freely with its final angular momentum, and further by what
// impulses within the step have turned it. The momentum stays as the solver left it. Where these two turns disagree the
// energy would change with the pose, up or down: the spin is scaled so that it does not.
PSVI_HD quat psvi_turn_body(const psvi_shape *shape, quat before, v3 turned, float seconds, v3 *w) {
    v3 spin = quat_unrotate(before, *w), momentum = sym3_mul(shape->inertia, spin);
    quat after = psvi_turn_freely(shape->inertia, shape->inv_inertia, before, momentum, seconds);
    v3 more = v3_madd(turned, *w, -seconds);
    if (v3_dot(more, more) > 1e-12f) after = quat_unit(quat_mul(quat_of_vector(more), after));
    v3 now = quat_unrotate(after, quat_rotate(before, momentum));
    // By the difference: the product of the two rounded tensors is not 1, which would tell in thousands of frames.
    v3 changed = v3_add(spin, sym3_mul(shape->inv_inertia, v3_sub(now, momentum)));
    float energy = v3_dot(spin, momentum), grown = v3_dot(changed, now);
    if (fabsf(grown - energy) > 1e-5f * energy && grown > 0.25f * energy)
        changed = v3_scale(changed, sqrtf(energy / grown));
    *w = quat_rotate(after, changed);
    return after;
}

// End of a step: the new pose and velocity, or the body is taken out.
PSVI_HD void psvi_end_body(const psvi_sim *s, const psvi_step *step, uint32_t i) {
    psvi_linear l = s->linear[i];
    psvi_f4 position = s->position[i];
    bool driven = !(l.velocity.w > 0) && l.moved.w != 0;
    if (!(l.velocity.w > 0 || driven) || position.w <= 0) return;
    v3 p = driven ? v3_madd(v3_of4(position), v3_of4(l.velocity), step->seconds)
                  : v3_add(v3_of4(position), v3_of4(l.moved));
    v3 w = v3_make(0, 0, 0);
    if (l.moved.w != 0) {
        const psvi_shape *shape = &s->geometry.shapes[s->shape[i]];
        psvi_angular a = s->angular[i];
        quat before = quat_of4(s->rotation[i]);
        w = v3_of4(a.velocity);
        v3 turned = driven ? v3_scale(w, step->seconds) : v3_of4(a.turned);
        const bool known = driven || a.turned.w != 0 || psvi_is_round(shape->type); // w: a top, whose turn is all there
        quat after = known ? quat_unit(quat_mul(quat_of_vector(turned), before))
                           : psvi_turn_body(shape, before, turned, step->seconds, &w);
        if (shape->type == PSV_SHAPE_COMPOUND ||
            shape->type == PSV_SHAPE_HULL) { // turns about its centre of mass, which is not its position
            v3 com = v3_of(shape->com);
            p = v3_add(p, v3_sub(quat_rotate(before, com), quat_rotate(after, com)));
        }
        s->rotation[i].x = after.x;
        s->rotation[i].y = after.y;
        s->rotation[i].z = after.z;
        s->rotation[i].w = after.w;
    }
    v3 v = v3_of4(l.velocity);
    if (!psvi_inside(p, step->bounds_min, step->bounds_max) || !psvi_finite(v) || !psvi_finite(w)) {
        psv_aabb none = {{0, 0, 0}, {0, 0, 0}};
        s->position[i] = f4_make(v3_make(0, 0, 0), 0);
        s->velocity[i] = f4_make(v3_make(0, 0, 0), 0);
        s->angular_velocity[i] = s->velocity[i];
        s->flags[i] = PSV_BOX_DISABLED;
        s->box[i] = none;
        psvi_fetch_add(&s->counts->lost, 1);
        return;
    }
    s->position[i] = f4_make(p, position.w);
    s->velocity[i] = f4_make(v, l.velocity.w);
    s->angular_velocity[i] = f4_make(w, 0);
}

#endif
