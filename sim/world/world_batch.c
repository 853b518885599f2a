// States and impulses of many bodies in one call: on buffers of the backend, and on the host's arrays.
#include "../queries/body_batch.h"
#include "world.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

static uint64_t item_bytes(psvi_batch_kind kind) {
    return kind == PSVI_BATCH_PUSH ? sizeof(psv_body_impulse) : sizeof(psv_body_state);
}

static psv_status run_on_buffers(psv_world *world, psvi_batch_kind kind, psv_buffer slots, uint64_t count,
                                 psv_buffer items, const char *items_name) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK && count > UINT32_MAX)
        status = psvi_fail(world->context, PSV_ERROR_ARGUMENT, "count is %" PRIu64 "; at most %u are possible", count,
                           UINT32_MAX);
    if (status == PSV_OK) status = psvi_check_buffer(world->context, slots, count * sizeof(uint32_t), 4, "slots");
    if (status == PSV_OK) status = psvi_check_buffer(world->context, items, count * item_bytes(kind), 4, items_name);
    if (status == PSV_OK) status = psvi_settle_unless_captured(world);
    if (status != PSV_OK || count == 0) return status;
    PSVI_STANDARD_FLOATS(world->context);
    psvi_batch batch = {kind, psv_buffer_address(slots), psv_buffer_address(items), count};
    world->body_serial += kind == PSVI_BATCH_WRITE;
    return world->ops->batch(world, &batch);
}

psv_status psv_read_body_states(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer states) {
    return run_on_buffers(world, PSVI_BATCH_READ, slots, count, states, "states");
}

psv_status psv_write_body_states(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer states) {
    return run_on_buffers(world, PSVI_BATCH_WRITE, slots, count, states, "states");
}

psv_status psv_push_bodies(psv_world *world, psv_buffer slots, uint64_t count, psv_buffer impulses) {
    return run_on_buffers(world, PSVI_BATCH_PUSH, slots, count, impulses, "impulses");
}

// --- the host's arrays -----------------------------------------------------------------------------------------------

static psv_status slots_of(psv_world *world, const psv_body_id *ids, uint64_t count, uint32_t *slots) {
    for (uint64_t i = 0; i < count; ++i) {
        psv_status status = psvi_find_body(world, ids[i], &slots[i]);
        if (status != PSV_OK)
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "ids[%" PRIu64 "] {%u, %u} is not a body of this world (any more)", i, ids[i].index1,
                             ids[i].generation);
    }
    return PSV_OK;
}

static psv_status check_items(psv_world *world, psvi_batch_kind kind, const float *items, uint64_t count,
                              const char *name) {
    uint64_t each = item_bytes(kind) / sizeof(float);
    for (uint64_t i = 0; kind != PSVI_BATCH_READ && i < count; ++i)
        if (!psvi_all_finite(items + i * each, (int)each))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s[%" PRIu64 "] has a value that is not finite", name,
                             i);
    const uint64_t rotation = offsetof(psv_body_state, pose.rotation) / sizeof(float);
    for (uint64_t i = 0; kind == PSVI_BATCH_WRITE && i < count; ++i)
        if (!psvi_is_rotation(items + i * each + rotation))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "%s[%" PRIu64 "].pose.rotation is zero or huge; a unit quaternion is needed", name, i);
    return PSV_OK;
}

// Through memory of the backend: slots, then items.
static psv_status run_through(psv_world *world, psvi_batch_kind kind, const uint32_t *slots, uint64_t count,
                              void *items) {
    psv_context *context = world->context;
    uint64_t slot_bytes = psvi_align(count * sizeof(uint32_t)), bytes = count * item_bytes(kind);
    char *there = psvi_alloc(context, slot_bytes + bytes);
    if (there == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of states", slot_bytes + bytes);
    psvi_batch batch = {kind, (const uint32_t *)(const void *)there, there + slot_bytes, count};
    psv_status status = psvi_write_array(world, there, slots, 0, count, sizeof(uint32_t));
    if (status == PSV_OK && kind != PSVI_BATCH_READ)
        status = psvi_write_array(world, batch.items, items, 0, count, item_bytes(kind));
    world->body_serial += kind == PSVI_BATCH_WRITE;
    if (status == PSV_OK) status = world->ops->batch(world, &batch);
    if (status == PSV_OK && kind == PSVI_BATCH_READ)
        status = psvi_read_array(world, items, batch.items, 0, count, item_bytes(kind));
    if (status == PSV_OK) status = psv_synchronize(context);
    psvi_free(context, there, slot_bytes + bytes);
    return status;
}

static psv_status run_on_arrays(psv_world *world, psvi_batch_kind kind, const psv_body_id *ids, uint64_t count,
                                void *items, const char *items_name) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK || count == 0) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (ids == NULL || items == NULL)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s is NULL", ids == NULL ? "ids" : items_name);
    if (count > UINT32_MAX)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "count is %" PRIu64 "; at most %u are possible", count,
                         UINT32_MAX);
    status = check_items(world, kind, items, count, items_name);
    if (status != PSV_OK) return status;
    uint32_t *slots = malloc(count * sizeof *slots);
    if (slots == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " slots", count);
    status = slots_of(world, ids, count, slots);
    if (status == PSV_OK) status = run_through(world, kind, slots, count, items);
    // Ground has a box of its own, which the call for one body keeps right.
    for (uint64_t i = 0; status == PSV_OK && kind == PSVI_BATCH_WRITE && i < count; ++i)
        if (psvi_is_ground(world->shapes[world->shape_of[slots[i]]].data.type))
            status = psv_set_body_state(world, ids[i], (const psv_body_state *)items + i);
    free(slots);
    return status;
}

psv_status psv_get_body_states(psv_world *world, const psv_body_id *ids, uint64_t count, psv_body_state *states) {
    return run_on_arrays(world, PSVI_BATCH_READ, ids, count, states, "states");
}

psv_status psv_set_body_states(psv_world *world, const psv_body_id *ids, uint64_t count, const psv_body_state *states) {
    return run_on_arrays(world, PSVI_BATCH_WRITE, ids, count, (void *)(uintptr_t)states, "states");
}

psv_status psv_apply_impulses(psv_world *world, const psv_body_id *ids, uint64_t count,
                              const psv_body_impulse *impulses) {
    return run_on_arrays(world, PSVI_BATCH_PUSH, ids, count, (void *)(uintptr_t)impulses, "impulses");
}
