// One body of a batch: its state read or written, or an impulse given to it, as the calls for single bodies do.
#ifndef PAIRSIEVE_BODY_BATCH_H
#define PAIRSIEVE_BODY_BATCH_H

#include "../data/sim_data.h"
#include "../solver/body_sleep.h"

typedef enum psvi_batch_kind {
    PSVI_BATCH_READ = 0,
    PSVI_BATCH_WRITE = 1,
    PSVI_BATCH_PUSH = 2,
} psvi_batch_kind;

// A batch in the backend's memory. `items`: psv_body_state, or psv_body_impulse for PSVI_BATCH_PUSH.
typedef struct psvi_batch {
    psvi_batch_kind kind;
    const uint32_t *slots;
    void *items;
    uint64_t count;
} psvi_batch;

PSVI_HD bool psvi_all_finite(const float *values, int count) {
    bool finite = true;
    for (int i = 0; i < count; ++i)
        finite = finite && fabsf(values[i]) <= 3.4028235e38f; // false for NaN
    return finite;
}

PSVI_HD void psvi_read_body(const psvi_sim *s, uint32_t slot, psv_body_state *state) {
    psvi_f4 p = s->position[slot], q = s->rotation[slot], v = s->velocity[slot], w = s->angular_velocity[slot];
    psvi_put(state->pose.position, v3_of4(p));
    psvi_put(state->pose.rotation, v3_of4(q));
    state->pose.rotation[3] = q.w;
    psvi_put(state->velocity, v3_of4(v));
    psvi_put(state->angular_velocity, v3_of4(w));
}

PSVI_HD void psvi_write_body(const psvi_sim *s, uint32_t slot, const psv_body_state *state) {
    if (psvi_is_ground(s->geometry.shapes[s->shape[slot]].type)) return;
    if (!psvi_all_finite(state->pose.position, 3) || !psvi_is_rotation(state->pose.rotation) ||
        !psvi_all_finite(state->velocity, 3) || !psvi_all_finite(state->angular_velocity, 3))
        return;
    if (s->island != NULL && s->velocity[slot].w > 0) psvi_wake_island(s, slot);
    if (s->island != NULL && !(s->velocity[slot].w > 0)) psvi_fetch_or(&s->counts->carrier, 1);
    bool moves = s->velocity[slot].w > 0 || (s->flags[slot] & PSVI_FLAG_KINEMATIC) != 0;
    quat q = quat_unit(quat_of(state->pose.rotation));
    v3 zero = v3_make(0, 0, 0);
    psvi_f4 rotation;
    rotation.x = q.x;
    rotation.y = q.y;
    rotation.z = q.z;
    rotation.w = q.w;
    s->position[slot] = f4_make(v3_of(state->pose.position), s->position[slot].w);
    s->rotation[slot] = rotation;
    s->velocity[slot] = f4_make(moves ? v3_of(state->velocity) : zero, s->velocity[slot].w);
    s->angular_velocity[slot] = f4_make(moves ? v3_of(state->angular_velocity) : zero, 0);
}

// Velocities after an impulse at a point of the world.
PSVI_HD void psvi_push_velocities(const psvi_shape *shape, v3 position, quat rotation, float inverse_mass, v3 impulse,
                                  v3 point, v3 *v, v3 *w) {
    *v = v3_madd(*v, impulse, inverse_mass);
    if (shape->type == PSV_SHAPE_PARTICLE) return;
    v3 com = v3_add(position, quat_rotate(rotation, v3_of(shape->com)));
    sym3 inverse = sym3_rotate(shape->inv_inertia, quat_axes(rotation));
    *w = v3_add(*w, sym3_mul(inverse, v3_cross(v3_sub(point, com), impulse)));
}

PSVI_HD void psvi_push_slot(const psvi_sim *s, uint32_t slot, const psv_body_impulse *push) {
    psvi_f4 velocity = s->velocity[slot];
    if (!(velocity.w > 0) || !psvi_all_finite(push->impulse, 3) || !psvi_all_finite(push->point, 3)) return;
    v3 v = v3_of4(velocity), w = v3_of4(s->angular_velocity[slot]);
    psvi_push_velocities(&s->geometry.shapes[s->shape[slot]], v3_of4(s->position[slot]), quat_of4(s->rotation[slot]),
                         velocity.w, v3_of(push->impulse), v3_of(push->point), &v, &w);
    if (!psvi_finite(v) || !psvi_finite(w)) return;
    if (s->island != NULL) psvi_wake_island(s, slot);
    s->velocity[slot] = f4_make(v, velocity.w);
    s->angular_velocity[slot] = f4_make(w, 0);
}

// Item i. Slots that hold no body are left out: what is read of them is zero.
PSVI_HD void psvi_batch_item(const psvi_sim *s, const psvi_batch *batch, uint64_t i) {
    uint32_t slot = batch->slots[i];
    bool used = slot < s->slots && s->position[slot].w > 0;
    if (batch->kind == PSVI_BATCH_READ) {
        const psv_body_state none = {{{0, 0, 0}, {0, 0, 0, 0}}, {0, 0, 0}, {0, 0, 0}};
        psv_body_state *state = (psv_body_state *)batch->items + i;
        *state = none;
        if (used) psvi_read_body(s, slot, state);
    } else if (used && batch->kind == PSVI_BATCH_WRITE) {
        psvi_write_body(s, slot, (const psv_body_state *)batch->items + i);
    } else if (used) {
        psvi_push_slot(s, slot, (const psv_body_impulse *)batch->items + i);
    }
}

#endif
