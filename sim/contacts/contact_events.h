// Events of a step: which bodies press on each other, which contacts began and ended, and hits. Marks in the table of
// kept contacts carry this from step to step. Before the bodies move and the table is made anew, every contact is
// looked at: is it a hit, and was it there before? Kept contacts without a contact of this step have ended. After the
// step every contact is looked at again, with its impulses.
#ifndef PAIRSIEVE_CONTACT_EVENTS_H
#define PAIRSIEVE_CONTACT_EVENTS_H

#include "../data/sim_data.h"
#include "contact_kept.h"

PSVI_HD uint64_t psvi_user_of(const psvi_sim *s, uint32_t body) { return s->user ? s->user[body] : 0; }

PSVI_HD psv_contact_event psvi_event_of(const psvi_sim *s, uint32_t a, uint32_t b) {
    psv_contact_event event;
    event.a = a;
    event.b = b;
    event.user_a = psvi_user_of(s, a);
    event.user_b = psvi_user_of(s, b);
    return event;
}

PSVI_HD v3 psvi_event_centre(const psvi_sim *s, uint32_t body) {
    v3 com = v3_of(s->geometry.shapes[s->shape[body]].com);
    return v3_add(v3_of4(s->position[body]), quat_rotate(quat_of4(s->rotation[body]), com));
}

PSVI_HD sym3 psvi_event_inertia(const psvi_sim *s, uint32_t body) {
    if (s->linear[body].moved.w == 0) return sym3_isotropic(0);
    float ball = s->angular[body].velocity.w;
    return ball > 0 ? sym3_isotropic(ball) : s->inv_inertia[body];
}

// All points of a contact alike: the mean of what each takes from velocities and spins.
typedef struct psvi_mean_row {
    v3 normal, arm, spin_a, spin_b;
} psvi_mean_row;

PSVI_HD psvi_mean_row psvi_mean_of(const psvi_sim *s, const psvi_contact *c) {
    const v3 none = v3_make(0, 0, 0);
    psvi_mean_row mean = {none, none, none, none};
    const float share = 1.0f / (float)c->count;
    for (uint32_t k = 0; k < c->count; ++k) {
        const psvi_point *p = &s->points[c->first + k];
        v3 n = v3_of(p->normal);
        mean.normal = v3_madd(mean.normal, n, share);
        mean.arm = v3_madd(mean.arm, v3_of(p->arm_a), share);
        mean.spin_a = v3_madd(mean.spin_a, v3_cross(v3_of(p->arm_a), n), share);
        mean.spin_b = v3_madd(mean.spin_b, v3_cross(v3_of(p->arm_b), n), share);
    }
    return mean;
}

// Speed of approach before the step (`after` false) or after it.
PSVI_HD float psvi_approach(const psvi_sim *s, const psvi_contact *c, const psvi_mean_row *mean, bool after) {
    v3 va = v3_of4(after ? s->linear[c->a].velocity : s->velocity[c->a]);
    v3 vb = v3_of4(after ? s->linear[c->b].velocity : s->velocity[c->b]);
    float speed = v3_dot(v3_sub(va, vb), mean->normal);
    if (s->linear[c->a].moved.w != 0)
        speed += v3_dot(v3_of4(after ? s->angular[c->a].velocity : s->angular_velocity[c->a]), mean->spin_a);
    if (s->linear[c->b].moved.w != 0)
        speed -= v3_dot(v3_of4(after ? s->angular[c->b].velocity : s->angular_velocity[c->b]), mean->spin_b);
    return speed;
}

PSVI_HD void psvi_notice_hit(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    psvi_mean_row mean = psvi_mean_of(s, c);
    float before = psvi_approach(s, c, &mean, false);
    if (!(before >= step->hit_speed) || !(before > 0)) return;
    float after = psvi_approach(s, c, &mean, true);
    if (!(after < 0.5f * before)) return;
    float k = (s->linear[c->a].velocity.w + s->linear[c->b].velocity.w) * v3_dot(mean.normal, mean.normal) +
              v3_dot(mean.spin_a, sym3_mul(psvi_event_inertia(s, c->a), mean.spin_a)) +
              v3_dot(mean.spin_b, sym3_mul(psvi_event_inertia(s, c->b), mean.spin_b));
    v3 point = v3_add(psvi_event_centre(s, c->a), mean.arm), normal = v3_unit_or(mean.normal, v3_make(0, 1, 0));
    psv_hit_event hit;
    hit.a = c->a;
    hit.b = c->b;
    hit.user_a = psvi_user_of(s, c->a);
    hit.user_b = psvi_user_of(s, c->b);
    psvi_put(hit.point, point);
    psvi_put(hit.normal, normal);
    hit.speed = before;
    hit.impulse = k > 0 ? (before - after) / k * v3_length(mean.normal) : 0.0f;
    hit.reserved[0] = hit.reserved[1] = 0;
    s->events.hits[psvi_fetch_add(&s->events.counts->hits, 1)] = hit;
}

// Contact i, after the solver: hits, and whether its bodies pressed on each other before the step.
PSVI_HD void psvi_notice_contact(const psvi_sim *s, const psvi_step *step, uint64_t i) {
    const psvi_contact *c = &s->contacts[i];
    psvi_notice_hit(s, step, c);
    psvi_kept_contact *kept = (psvi_kept_contact *)psvi_find_kept(s, c->a, c->b);
    s->events.was_touching[i] = kept && (kept->count_colour & PSVI_KEPT_TOUCHING) != 0;
    if (kept) kept->count_colour |= PSVI_KEPT_SEEN;
}

// A place of the table, when all contacts have been looked at.
PSVI_HD void psvi_notice_end(const psvi_sim *s, uint64_t place) {
    const psvi_kept_contact *kept = &s->kept[place];
    uint64_t pair = kept->key - 1;
    if (kept->key == 0 || kept->key == PSVI_KEPT_GONE || (kept->count_colour & PSVI_KEPT_TOUCHING) == 0 ||
        (kept->count_colour & PSVI_KEPT_SEEN) != 0)
        return;
    s->events.ends[psvi_fetch_add(&s->events.counts->ends, 1)] =
        psvi_event_of(s, (uint32_t)(pair >> 32), (uint32_t)pair);
}

// How far a point of a body has gone within the step.
PSVI_HD v3 psvi_point_gone(const psvi_sim *s, const psvi_step *step, uint32_t body, v3 arm) {
    psvi_linear l = s->linear[body];
    const bool driven = !(l.velocity.w > 0);
    v3 gone = driven ? v3_scale(v3_of4(l.velocity), step->seconds) : v3_of4(l.moved);
    if (l.moved.w == 0) return gone;
    psvi_angular a = s->angular[body];
    return v3_add(gone, v3_cross(driven ? v3_scale(v3_of4(a.velocity), step->seconds) : v3_of4(a.turned), arm));
}

// Separation of a point at the step's end.
PSVI_HD float psvi_last_separation(const psvi_sim *s, const psvi_step *step, const psvi_contact *c,
                                   const psvi_point *p) {
    v3 a = psvi_point_gone(s, step, c->a, v3_of(p->arm_a)), b = psvi_point_gone(s, step, c->b, v3_of(p->arm_b));
    return p->separation + p->rest + v3_dot(v3_sub(b, a), v3_of(p->normal));
}

#define PSVI_STILL_TOUCHING 0.01f // share of psvi_contact.size up to which a contact that was there does not end

PSVI_HD psv_contact psvi_contact_of(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    const v3 none = v3_make(0, 0, 0);
    v3 arm = none, normal = none, friction = none;
    float load = 0, pressing = 0, nearest = 3.4e38f;
    for (uint32_t k = 0; k < c->count; ++k) {
        const psvi_point *p = &s->points[c->first + k];
        const float *impulse = s->kept_points[c->first + k].impulse;
        v3 n = v3_of(p->normal), t1, t2;
        v3_tangents(n, &t1, &t2);
        float weight = impulse[0] > 0 ? impulse[0] : 1e-12f;
        arm = v3_madd(arm, v3_of(p->arm_a), weight);
        normal = v3_madd(normal, n, weight);
        friction = v3_madd(v3_madd(friction, t1, impulse[1]), t2, impulse[2]);
        pressing += weight;
        load += impulse[0];
        nearest = fminf(nearest, psvi_last_separation(s, step, c, p));
    }
    v3 point = v3_madd(psvi_event_centre(s, c->a), arm, 1.0f / pressing);
    normal = v3_unit_or(v3_scale(normal, 1.0f / pressing), v3_make(0, 1, 0));
    psv_contact contact;
    contact.a = c->a;
    contact.b = c->b;
    contact.user_a = psvi_user_of(s, c->a);
    contact.user_b = psvi_user_of(s, c->b);
    psvi_put(contact.point, point);
    psvi_put(contact.normal, normal);
    contact.separation = nearest;
    contact.normal_force = load * step->rate;
    contact.friction_force = v3_length(friction) * step->rate;
    contact.points = c->count;
    return contact;
}

// Contact i, when it has been kept for the next step.
PSVI_HD void psvi_report_contact(const psvi_sim *s, const psvi_step *step, uint64_t i) {
    const psvi_contact *c = &s->contacts[i];
    float pressing = 0, nearest = 3.4e38f;
    for (uint32_t k = 0; k < c->count; ++k) {
        pressing += s->kept_points[c->first + k].impulse[0];
        nearest = fminf(nearest, psvi_last_separation(s, step, c, &s->points[c->first + k]));
    }
    bool touched = s->events.was_touching[i] != 0;
    bool touches = pressing > 0 || nearest <= (touched ? PSVI_STILL_TOUCHING * c->size : 0.0f);
    if (touches) {
        psvi_kept_contact *kept = (psvi_kept_contact *)psvi_find_kept(s, c->a, c->b);
        if (kept) kept->count_colour |= PSVI_KEPT_TOUCHING;
        s->events.touching[psvi_fetch_add(&s->events.counts->contacts, 1)] = psvi_contact_of(s, step, c);
    }
    if (touches && !touched)
        s->events.begins[psvi_fetch_add(&s->events.counts->begins, 1)] = psvi_event_of(s, c->a, c->b);
    if (!touches && touched) s->events.ends[psvi_fetch_add(&s->events.counts->ends, 1)] = psvi_event_of(s, c->a, c->b);
}

#endif
