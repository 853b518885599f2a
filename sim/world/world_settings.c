// Settings of a world and of its bodies that can be changed between steps.
#include "../solver/body_sleep.h"
#include "world.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

// --- the world -------------------------------------------------------------------------------------------------------

// Takes `changed` for the world's def if it is one that a world can have.
static psv_status change_def(psv_world *world, const psv_world_def *changed) {
    PSVI_STANDARD_FLOATS(world->context);
    psv_status status = psvi_check_world_def(world->context, changed);
    if (status == PSV_OK) world->def = *changed;
    return status;
}

psv_status psv_set_gravity(psv_world *world, const float gravity[3]) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    if (gravity == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "gravity is NULL");
    psv_world_def def = world->def;
    for (int i = 0; i < 3; ++i)
        def.gravity[i] = gravity[i];
    status = change_def(world, &def);
    return status == PSV_OK ? psvi_wake_all(world) : status;
}

psv_status psv_set_substeps(psv_world *world, uint32_t substeps) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    psv_world_def def = world->def;
    def.substeps = substeps;
    return change_def(world, &def);
}

psv_status psv_set_restitution_threshold(psv_world *world, float speed) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    psv_world_def def = world->def;
    def.restitution_threshold = speed;
    return change_def(world, &def);
}

psv_status psv_set_push_speed(psv_world *world, float speed) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    psv_world_def def = world->def;
    def.push_speed = speed;
    return change_def(world, &def);
}

psv_status psv_get_world_def(const psv_world *world, psv_world_def *def) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    if (def == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def is NULL");
    *def = world->def;
    return PSV_OK;
}

psv_status psv_set_shape_surface(psv_world *world, uint32_t shape, float friction, float restitution) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (shape >= world->shape_count)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "shape is %u; the world has %u shapes", shape,
                         world->shape_count);
    if (!(friction >= 0) || !isfinite(friction))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "friction is %g; it must be finite and >= 0",
                         (double)friction);
    if (!(restitution >= 0) || !(restitution <= 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "restitution is %g; it must be from 0 to 1",
                         (double)restitution);
    psvi_world_shape *changed = &world->shapes[shape];
    const psvi_world_shape before = *changed;
    changed->def.friction = changed->data.friction = friction;
    changed->def.restitution = changed->data.restitution = restitution;
    status = psvi_upload_shapes(world);
    if (status == PSV_OK) status = psvi_wake_all(world);
    if (status != PSV_OK) *changed = before;
    if (status == PSV_OK) world->bounces |= restitution > 0;
    return status;
}

// --- forces of bodies ------------------------------------------------------------------------------------------------

bool psvi_forces_are_good(float linear_damping, float angular_damping, float gravity_scale) {
    return linear_damping >= 0 && isfinite(linear_damping) && angular_damping >= 0 && isfinite(angular_damping) &&
           fabsf(gravity_scale) <= 100; // false for NaN
}

psv_status psvi_need_forces(psv_world *world) {
    if (world->sim.forces != NULL) return PSV_OK;
    const uint64_t n = world->sim.slots, bytes = world->def.max_bodies * sizeof(psvi_f4);
    psvi_f4 *there = psvi_alloc(world->context, bytes),
            *here = malloc(n * sizeof *here + 1); // later bodies bring theirs
    psv_status status = PSV_OK;
    if (there == NULL || here == NULL)
        status =
            psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of bodies' damping", bytes);
    for (uint64_t i = 0; i < n && status == PSV_OK; ++i)
        here[i] = f4_make(v3_make(0, 0, 1), 0);
    if (status == PSV_OK) status = psvi_write_array(world, there, here, 0, n, sizeof *here);
    free(here);
    if (status == PSV_OK)
        world->sim.forces = there;
    else
        psvi_free(world->context, there, bytes);
    return status;
}

// The place of a body's forces, and what they are.
static psv_status find_forces(psv_world *world, psv_body_id id, uint32_t *slot, psvi_f4 *forces) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status == PSV_OK) status = psvi_find_body(world, id, slot);
    *forces = f4_make(v3_make(0, 0, 1), 0);
    if (status == PSV_OK && world->sim.forces != NULL)
        status = psvi_read_array(world, forces, world->sim.forces + *slot, 0, 1, sizeof *forces);
    return status;
}

static psv_status put_forces(psv_world *world, uint32_t slot, psvi_f4 forces) {
    psv_status status = psvi_need_forces(world);
    if (status == PSV_OK) status = psvi_wake_body(world, slot);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.forces, &forces, slot, 1, sizeof forces);
    if (status == PSV_OK) world->most_gravity = fmaxf(world->most_gravity, fabsf(forces.z));
    return status;
}

psv_status psv_set_damping(psv_world *world, psv_body_id id, float linear, float angular) {
    uint32_t slot = 0;
    psvi_f4 forces;
    psv_status status = find_forces(world, id, &slot, &forces);
    if (status != PSV_OK) return status;
    if (!psvi_forces_are_good(linear, angular, 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "linear is %g and angular %g; both must be finite and >= 0", (double)linear, (double)angular);
    forces.x = linear;
    forces.y = angular;
    return put_forces(world, slot, forces);
}

psv_status psv_set_gravity_scale(psv_world *world, psv_body_id id, float scale) {
    uint32_t slot = 0;
    psvi_f4 forces;
    psv_status status = find_forces(world, id, &slot, &forces);
    if (status != PSV_OK) return status;
    if (!psvi_forces_are_good(0, 0, scale))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "scale is %g; -100 to 100 are possible", (double)scale);
    forces.z = scale;
    return put_forces(world, slot, forces);
}

// --- sleep -----------------------------------------------------------------------------------------------------------

psv_status psvi_wake_body(psv_world *world, uint32_t slot) {
    if (world->sim.island == NULL) return PSV_OK;
    const uint8_t wakes = 1;
    uint8_t flags = 0;
    uint32_t island = 0;
    psv_status status = psvi_read_array(world, &flags, world->sim.flags + slot, 0, 1, 1);
    if (status == PSV_OK) status = psvi_read_array(world, &island, world->sim.island + slot, 0, 1, sizeof island);
    if (status != PSV_OK || (flags & PSVI_FLAG_ASLEEP) == 0) return status;
    return psvi_write_array(world, world->sim.wake, &wakes, island, 1, 1);
}

psv_status psvi_wake_all(psv_world *world) {
    if (world->sim.island == NULL) return PSV_OK;
    // A step that was put off has marks of its own, of those that are hit.
    const psv_status status = psvi_settle_unless_captured(world);
    if (status != PSV_OK) return status;
    return world->context->ops->fill(world->context, world->sim.wake, 1, world->def.max_bodies);
}
