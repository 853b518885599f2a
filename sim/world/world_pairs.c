// Pairs that are found on another context than the world's: bodies on the CPU, their boxes' pairs on OpenGL. The boxes
// go there each step, the pairs come back; what is done with them does not depend on their order.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct psvi_pairs_elsewhere {
    psv_context *context;
    psv_buffer boxes, flags, filters, sub_worlds; // there; of max_bodies
    psv_pair *pairs;                              // here
    uint64_t count, room;
};

static void close_elsewhere(psvi_pairs_elsewhere *elsewhere) {
    if (elsewhere == NULL) return;
    psv_free_buffer(elsewhere->context, &elsewhere->boxes);
    psv_free_buffer(elsewhere->context, &elsewhere->flags);
    psv_free_buffer(elsewhere->context, &elsewhere->filters);
    psv_free_buffer(elsewhere->context, &elsewhere->sub_worlds);
    free(elsewhere->pairs);
    free(elsewhere);
}

void psvi_forget_elsewhere(psv_world *world) {
    close_elsewhere(world->elsewhere);
    world->elsewhere = NULL;
}

psv_context *psvi_pair_context(const psv_world *world) {
    return world->elsewhere != NULL ? world->elsewhere->context : world->context;
}

static psv_status alloc_elsewhere(psv_world *world, psvi_pairs_elsewhere *elsewhere) {
    psv_context *context = elsewhere->context;
    const uint64_t n = world->def.max_bodies;
    psv_status status = psv_alloc_buffer(context, n * sizeof(psv_aabb), &elsewhere->boxes);
    if (status == PSV_OK) status = psv_alloc_buffer(context, (n + 3) & ~(uint64_t)3, &elsewhere->flags);
    if (status == PSV_OK) status = psv_alloc_buffer(context, n * sizeof(psv_box_filter), &elsewhere->filters);
    if (status == PSV_OK && world->def.sub_world_count > 1)
        status = psv_alloc_buffer(context, n * sizeof(uint32_t), &elsewhere->sub_worlds);
    return status;
}

psv_status psvi_pass_on(psv_world *world, psv_status status) {
    if (status == PSV_OK || world->elsewhere == NULL) return status;
    return psvi_fail(world->context, status, "pairs on %s: %.200s",
                     psv_backend_name(psv_context_backend(world->elsewhere->context)),
                     psv_last_error(world->elsewhere->context));
}

psv_status psv_world_find_pairs_on(psv_world *world, psv_context *context) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    if (context == world->context) context = NULL;
    if (context != NULL && (!world->context->ops->immediate || psvi_sim_module_of(context->backend) != NULL))
        return psvi_fail(world->context, PSV_ERROR_UNSUPPORTED,
                         "the pairs of a world on %s cannot be found on %s: only those of the CPU's worlds on OpenGL",
                         psv_backend_name(world->context->backend), psv_backend_name(context->backend));
    psvi_pairs_elsewhere *before = world->elsewhere, *made = NULL;
    if (context != NULL) {
        made = calloc(1, sizeof *made);
        if (made == NULL)
            return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory (%zu bytes)", sizeof *made);
        made->context = context;
    }
    world->elsewhere = made;
    if (made != NULL) status = psvi_pass_on(world, alloc_elsewhere(world, made));
    if (status == PSV_OK) status = psvi_make_finder(world, world->max_pairs);
    if (status != PSV_OK) { // stays as it was
        world->elsewhere = before;
        close_elsewhere(made);
        return status;
    }
    close_elsewhere(before);
    return PSV_OK;
}

static psv_status send(psvi_pairs_elsewhere *elsewhere, psv_buffer target, psv_buffer source, psv_buffer *part) {
    *part = (psv_buffer){0};
    if (source.bytes == 0) return PSV_OK;
    *part = psv_sub_buffer(target, 0, source.bytes);
    return psv_upload(elsewhere->context, *part, psvi_buffer_address(source), source.bytes);
}

static psv_status read_back(psv_world *world, uint64_t count) {
    psvi_pairs_elsewhere *elsewhere = world->elsewhere;
    if (count > elsewhere->room) {
        const uint64_t room = count + count / 2;
        psv_pair *pairs = malloc(room * sizeof *pairs);
        if (pairs == NULL)
            return psvi_fail(elsewhere->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " pairs", room);
        free(elsewhere->pairs);
        elsewhere->pairs = pairs;
        elsewhere->room = room;
    }
    elsewhere->count = count;
    return count == 0 ? PSV_OK : psv_read_pairs(world->finder, elsewhere->pairs, count, NULL);
}

// The phases on the other context, which measures once this one does, are phases of the world's frame; what is left of
// the time around them are the copies.
static psv_status tell_phases(psv_world *world) {
    psv_context *context = world->elsewhere->context;
    psv_profile profile = {0};
    psvi_phase_times *told = psvi_phase_split(world->context);
    if (told == NULL) return PSV_OK;
    psv_status status = psv_read_profile(context, &profile);
    for (int p = 0; p < PSV_PHASE_COUNT && status == PSV_OK; ++p)
        told->ns[p] = (uint64_t)(1e6 * profile.phase_ms[p]);
    return status;
}

psv_status psvi_find_pairs_elsewhere(psv_world *world, const psv_box_set *boxes) {
    psvi_pairs_elsewhere *elsewhere = world->elsewhere;
    psv_box_set there = {0};
    psv_buffer part;
    uint64_t count = 0;
    psv_status status = PSV_OK;
    if (world->context->profiler.recording) status = psv_enable_profile(elsewhere->context, true);
    if (status == PSV_OK) status = send(elsewhere, elsewhere->boxes, psv_world_boxes(world), &part);
    if (status == PSV_OK) there = psv_boxes_of(part, sizeof(psv_aabb), boxes->count);
    if (status == PSV_OK) status = send(elsewhere, elsewhere->flags, boxes->flags, &there.flags);
    if (status == PSV_OK) status = send(elsewhere, elsewhere->filters, boxes->filters, &there.filters);
    if (status == PSV_OK) status = send(elsewhere, elsewhere->sub_worlds, boxes->worlds, &there.worlds);
    if (status == PSV_OK) status = psv_find_pairs(world->finder, &there);
    if (status == PSV_OK) status = psv_finish_pairs(world->finder, &count);
    if (status == PSV_OK) status = psvi_check_step_pairs(world, &there);
    if (status == PSV_OK) status = read_back(world, count);
    if (status == PSV_OK) status = tell_phases(world);
    if (status != PSV_OK) return psvi_pass_on(world, status);
    world->sim.pairs = (void *)elsewhere->pairs;
    world->sim.pair_count = (void *)&elsewhere->count;
    world->sim.pair_capacity = elsewhere->room;
    return PSV_OK;
}
