// Narrow phase: from a pair of bodies, or a body and the ground, to a contact that is ready to be solved.
#ifndef PAIRSIEVE_NARROW_H
#define PAIRSIEVE_NARROW_H

#include "narrow_follow.h"

PSVI_HD bool psvi_filters_meet(psv_box_filter a, psv_box_filter b) {
    return (a.group & b.mask) != 0 && (b.group & a.mask) != 0;
}

// One body against one piece of ground that it may meet.
PSVI_HD void psvi_narrow_round_ground(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t ground) {
    const psvi_shape *terrain = &s->geometry.shapes[s->shape[ground]];
    psvi_round_pair p = psvi_load_round_pair(s, a, ground);
    v3 origin = v3_of4(p.pb);
    quat rotation = quat_of4(s->rotation[ground]);
    float margin = psvi_round_margin(step, &p);
    psvi_found found;
    bool hit =
        terrain->type == PSV_SHAPE_PLANE
            ? psvi_touch_plane(v3_of4(p.pa), p.pa.w, origin, quat_rotate(rotation, v3_make(0, 1, 0)), margin, &found)
            : psvi_touch_field(s, terrain, origin, rotation, v3_of4(p.pa), p.pa.w, margin, &found);
    if (!hit) return;
    uint64_t index, first;
    psvi_reserve(&s->counts->contacts, &s->counts->points, 1, &index, &first);
    psvi_write_round_contact(s, a, ground, &p, false, &found, index, first);
}

PSVI_HD void psvi_narrow_other_ground(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t ground,
                                      bool hulls) {
    const psvi_f4 p = s->position[a], q = s->position[ground];
    if (s->geometry.shapes[s->shape[ground]].type == PSV_SHAPE_PLANE) { // most are far above it
        const v3 up = quat_rotate(quat_of4(s->rotation[ground]), v3_make(0, 1, 0));
        const float margin = psvi_pair_margin(s, step, a, ground, psvi_pair_travel(s, step, a, ground));
        if (v3_dot(v3_sub(v3_of4(p), v3_of4(q)), up) > p.w + margin) return;
    }
    if (psvi_keep_points(s, step, a, ground)) return;
    psvi_follow_pair(s, step, a, ground, true, hulls);
}

// One moving body against the ground of its sub-world: what is round on a plane or field, or all else, hulls too or
// not.
PSVI_HD void psvi_narrow_ground(const psvi_sim *s, const psvi_step *step, uint32_t a, bool round, bool hulls) {
    const bool sleeps = s->island != NULL && psvi_is_asleep(s, a);
    if (sleeps && s->counts->ground_drives == 0) return; // ground that moves alone wakes who sleeps
    if (!(sleeps || s->linear[a].velocity.w > 0) || s->position[a].w <= 0) return;
    const uint32_t world = s->sub_world[a];
    if (world >= s->ground.worlds) return;
    bool is_round = psvi_is_round(s->geometry.shapes[s->shape[a]].type);
    for (uint32_t i = s->ground.first[world]; i < s->ground.first[world + 1]; ++i) {
        uint32_t ground = s->ground.slots[i];
        if ((is_round && s->geometry.shapes[s->shape[ground]].type != PSV_SHAPE_MESH) != round) continue;
        if (!psvi_filters_meet(s->filter[a], s->filter[ground]) || s->position[ground].w <= 0) continue;
        if (sleeps && !psvi_drives(s, ground)) continue;
        if (round)
            psvi_narrow_round_ground(s, step, a, ground);
        else
            psvi_narrow_other_ground(s, step, a, ground, hulls);
    }
}

#endif
