// States that a world can return to: what a snapshot would hold, as copies in the backend's own memory. A state is one
// block, in which only what is in use lies, part behind part; numbers and host arrays lie beside it.
#include "../contacts/contact_anchor.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATES (1u << 16)

typedef struct psvi_kept_state {
    bool used;
    char *memory; // of the backend
    uint64_t bytes;
    psvi_world_numbers numbers;
    bool has_forces, has_user, has_rolls, has_anchors;
    uint64_t ground_serial, list_serial;
    psv_world_def def; // of which some settings can be changed
    psvi_step next;
    psvi_step_counts counts;
    psv_event_counts events;
} psvi_kept_state;

// --- the parts of a state in the backend's memory --------------------------------------------------------------------

typedef enum walk_kind { WALK_MEASURE, WALK_KEEP, WALK_RETURN } walk_kind;

typedef struct state_walk {
    psv_world *world;
    char *memory;
    uint64_t offset;
    walk_kind kind;
    psv_status status;
} state_walk;

// An array of the world. `had`: the state has it; otherwise a return fills the world's with zeros.
static void walk_part(state_walk *walk, void *array, uint64_t bytes, bool had) {
    psv_context *context = walk->world->context;
    if (array == NULL || bytes == 0 || walk->status != PSV_OK) return;
    if (!had) {
        if (walk->kind == WALK_RETURN) walk->status = context->ops->fill(context, array, 0, bytes);
        return;
    }
    const uint64_t offset = walk->offset;
    walk->offset += psvi_align(bytes);
    if (walk->kind == WALK_MEASURE) return;
    char *kept = walk->memory + offset;
    if (walk->kind == WALK_KEEP) walk->status = context->ops->copy(context, kept, array, bytes, PSVI_COPY_INSIDE);
    if (walk->kind == WALK_RETURN) walk->status = context->ops->copy(context, array, kept, bytes, PSVI_COPY_INSIDE);
}

// Contacts with their points; of the points' places the half that the next step reads.
static void walk_contacts(state_walk *walk, const psvi_kept_state *state) {
    const psvi_sim *s = &walk->world->sim;
    const uint64_t points = state->counts.points_kept;
    const uint64_t half = psvi_anchor_half(state->counts.steps, true, s->point_capacity);
    walk_part(walk, s->kept, (state->counts.kept_mask + 1) * sizeof *s->kept, true);
    walk_part(walk, s->kept_points, points * sizeof *s->kept_points, true);
    walk_part(walk, s->kept_rolls, points * sizeof *s->kept_rolls, state->has_rolls);
    if (s->anchors == NULL) return;
    walk_part(walk, s->anchors + half, points * sizeof *s->anchors, state->has_anchors);
    walk_part(walk, s->anchor_frames + half, points * sizeof *s->anchor_frames, state->has_anchors);
}

static void walk_state(state_walk *walk, const psvi_kept_state *state) {
    const psvi_sim *s = &walk->world->sim;
    const psv_event_counts *events = &state->events;
#define WALK(name, type, part) walk_part(walk, s->name, state->numbers.slots * sizeof(type), true);
    PSVI_BODY_STATE(WALK)
    walk_contacts(walk, state);
    if (s->events.counts == NULL) return;
    walk_part(walk, s->events.counts, sizeof *s->events.counts, true);
    walk_part(walk, s->events.touching, events->contacts * sizeof *s->events.touching, true);
    walk_part(walk, s->events.begins, events->begins * sizeof *s->events.begins, true);
    walk_part(walk, s->events.ends, events->ends * sizeof *s->events.ends, true);
    walk_part(walk, s->events.hits, events->hits * sizeof *s->events.hits, true);
}

static uint64_t state_bytes(psv_world *world, const psvi_kept_state *state) {
    state_walk walk = {.world = world, .kind = WALK_MEASURE};
    walk_state(&walk, state);
    return walk.offset;
}

// --- memory ----------------------------------------------------------------------------------------------------------

static void free_state(psv_world *world, psvi_kept_state *state) {
    psvi_free(world->context, state->memory, state->bytes);
    free(state->numbers.generation);
    free(state->numbers.shape_of);
    free(state->numbers.free_slots);
    free(state->numbers.alive);
    *state = (psvi_kept_state){0};
}

void psvi_free_states(psv_world *world) {
    for (uint32_t i = 0; i < world->state_count; ++i)
        free_state(world, &world->states[i]);
    free(world->states);
    world->states = NULL;
    world->state_count = 0;
}

// Backend memory of at least `bytes` for a state, whose contents are lost.
static psv_status make_room(psv_world *world, psvi_kept_state *state, uint64_t bytes) {
    if (bytes <= state->bytes) return PSV_OK;
    char *memory = psvi_alloc(world->context, bytes);
    if (memory == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no %s memory for %" PRIu64 " bytes of a kept state",
                         world->context->ops->name, bytes);
    psv_status status = state->memory == NULL ? PSV_OK : psv_synchronize(world->context);
    psvi_free(world->context, state->memory, state->bytes);
    state->memory = memory;
    state->bytes = bytes;
    state->used = false;
    return status;
}

// A state that fills all the room that the world has.
static uint64_t most_bytes(psv_world *world) {
    const psvi_sim *s = &world->sim;
    const uint64_t contacts = s->contact_capacity;
    const psvi_kept_state full = {
        .numbers.slots = (uint32_t)world->def.max_bodies,
        .counts = {.points_kept = s->point_capacity, .kept_mask = s->kept_places - 1},
        .events = {.contacts = contacts, .begins = contacts, .ends = 2 * contacts, .hits = contacts},
        .has_rolls = true,
        .has_anchors = true};
    return state_bytes(world, &full);
}

static psv_status alloc_state(psv_world *world, psvi_kept_state *state) {
    const uint64_t n = world->def.max_bodies;
    state->numbers.generation = malloc(n * sizeof *state->numbers.generation);
    state->numbers.shape_of = malloc(n * sizeof *state->numbers.shape_of);
    state->numbers.free_slots = malloc(n * sizeof *state->numbers.free_slots);
    state->numbers.alive = malloc(n);
    if (state->numbers.generation == NULL || state->numbers.shape_of == NULL || state->numbers.free_slots == NULL ||
        state->numbers.alive == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for a kept state of %" PRIu64 " bodies", n);
    return make_room(world, state, most_bytes(world));
}

// The world, when all of its steps have happened.
static psv_status check_ready(psv_world *world) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK && psvi_is_captured(world->context))
        status = psvi_fail(world->context, PSV_ERROR_UNSUPPORTED, "states cannot be kept while a graph is captured");
    return status == PSV_OK ? psvi_settle(world) : status;
}

psv_status psv_world_reserve_states(psv_world *world, uint32_t count) {
    psv_status status = check_ready(world);
    if (status != PSV_OK) return status;
    if (count > MOST_STATES)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "count is %u; at most %u states are possible", count,
                         MOST_STATES);
    psvi_free_states(world);
    if (count == 0) return PSV_OK;
    world->states = calloc(count, sizeof *world->states);
    if (world->states == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %u states of a world", count);
    world->state_count = count;
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i)
        status = alloc_state(world, &world->states[i]);
    if (status != PSV_OK) psvi_free_states(world);
    return status;
}

// --- keep and return -------------------------------------------------------------------------------------------------

static psv_status find_state(psv_world *world, uint32_t number, psvi_kept_state **state) {
    psv_status status = check_ready(world);
    if (status != PSV_OK) return status;
    if (number >= world->state_count)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "state is %u; the world has %u states (psv_world_reserve_states)", number, world->state_count);
    *state = &world->states[number];
    return PSV_OK;
}

static void keep_numbers(const psv_world *world, psvi_kept_state *state) {
    const psvi_sim *s = &world->sim;
    psvi_world_numbers *kept = &state->numbers;
    const uint64_t n = kept->slots = s->slots;
    memcpy(kept->generation, world->generation, n * sizeof *kept->generation);
    memcpy(kept->shape_of, world->shape_of, n * sizeof *kept->shape_of);
    memcpy(kept->alive, world->alive, n);
    memcpy(kept->free_slots, world->free_slots, world->free_count * sizeof *kept->free_slots);
    kept->free_count = world->free_count;
    kept->living = world->living;
    kept->lost_known = world->lost_known;
    kept->idle_steps = world->idle_steps;
    kept->steps_asked = world->steps_asked;
    kept->most_gravity = world->most_gravity;
    kept->driven_ground = world->driven_ground;
    state->ground_serial = world->ground_serial;
    state->list_serial = world->list_serial;
    state->def = world->def;
    state->next = world->next;
    state->has_forces = s->forces != NULL;
    state->has_user = s->user != NULL;
    state->has_rolls = s->kept_rolls != NULL;
    state->has_anchors = s->anchors != NULL;
}

psv_status psv_world_keep(psv_world *world, uint32_t state) {
    psvi_kept_state *kept = NULL, now = {0};
    psv_status status = find_state(world, state, &kept);
    if (status != PSV_OK) return status;
    now.numbers.slots = world->sim.slots;
    now.has_rolls = now.has_anchors = true;
    status = psvi_read_array(world, &now.counts, world->sim.counts, 0, 1, sizeof now.counts);
    if (status == PSV_OK && world->sim.events.counts != NULL)
        status = psvi_read_array(world, &now.events, world->sim.events.counts, 0, 1, sizeof now.events);
    const uint64_t bytes = state_bytes(world, &now);
    // What has outgrown the reserved memory may go on to grow: as much as the world has room for.
    if (status == PSV_OK && bytes > kept->bytes) status = make_room(world, kept, most_bytes(world));
    if (status != PSV_OK) return status;
    kept->counts = now.counts;
    kept->events = now.events;
    keep_numbers(world, kept);
    state_walk walk = {.world = world, .memory = kept->memory, .kind = WALK_KEEP};
    walk_state(&walk, kept);
    kept->used = walk.status == PSV_OK;
    return walk.status;
}

void psvi_put_world_numbers(psv_world *world, const psvi_world_numbers *numbers) {
    const uint64_t n = numbers->slots, more = world->sim.slots > n ? world->sim.slots - n : 0;
    memcpy(world->generation, numbers->generation, n * sizeof *numbers->generation);
    memcpy(world->shape_of, numbers->shape_of, n * sizeof *numbers->shape_of);
    memcpy(world->alive, numbers->alive, n);
    memcpy(world->free_slots, numbers->free_slots, numbers->free_count * sizeof *numbers->free_slots);
    memset(world->generation + n, 0, more * sizeof *world->generation); // slots that had no body yet
    memset(world->alive + n, 0, more);
    world->sim.slots = numbers->slots;
    world->free_count = numbers->free_count;
    world->living = numbers->living;
    world->lost_known = numbers->lost_known;
    world->idle_steps = numbers->idle_steps;
    world->steps_asked = numbers->steps_asked;
    world->most_gravity = numbers->most_gravity;
    world->driven_ground = numbers->driven_ground;
}

static void return_numbers(psv_world *world, const psvi_kept_state *state) {
    psvi_put_world_numbers(world, &state->numbers);
    if (world->ground_serial != state->ground_serial) ++world->ground_serial;
    ++world->body_serial;
    psvi_touch_bodies(world, 0, state->numbers.slots);
    memcpy(world->def.gravity, state->def.gravity, sizeof world->def.gravity);
    world->def.substeps = state->def.substeps;
    world->def.restitution_threshold = state->def.restitution_threshold;
    world->def.push_speed = state->def.push_speed;
    world->next = state->next;
    world->finder_used = false;
}

static uint64_t count_ground(const psv_world *world, const uint8_t *alive, const uint32_t *shape_of, uint64_t slots) {
    uint64_t ground = 0;
    for (uint64_t i = 0; i < slots; ++i)
        ground += alive[i] && psvi_is_ground(world->shapes[shape_of[i]].data.type);
    return ground;
}

// Memory that the state needs and the world does not have, before anything is changed.
static psv_status prepare_return(psv_world *world, const psvi_kept_state *state, psvi_terrain_room *terrain) {
    psv_status status = PSV_OK;
    if (state->list_serial != world->list_serial) {
        const uint64_t now = count_ground(world, world->alive, world->shape_of, world->sim.slots);
        const uint64_t then = count_ground(world, state->numbers.alive, state->numbers.shape_of, state->numbers.slots);
        const uint64_t slots = world->sim.slots > state->numbers.slots ? world->sim.slots : state->numbers.slots;
        status = psvi_reserve_terrain(world, slots, (int64_t)then - (int64_t)now, terrain);
    }
    if (status == PSV_OK && state->has_user) status = psvi_need_user(world);
    if (status == PSV_OK && state->has_forces) status = psvi_need_forces(world);
    if (status != PSV_OK) psvi_release_terrain(world, terrain);
    return status;
}

// Arrays that no body had when the state was kept: worlds with them take another way to the same velocities.
static void drop_arrays(psv_world *world, const psvi_kept_state *state) {
    const uint64_t n = world->def.max_bodies;
    psvi_sim *s = &world->sim;
    if (!state->has_forces) {
        psvi_free(world->context, s->forces, n * sizeof *s->forces);
        s->forces = NULL;
    }
    if (!state->has_user) {
        psvi_free(world->context, s->user, n * sizeof *s->user);
        s->user = NULL;
    }
}

// The counts go on from the serial by which the backend tells the host of its steps.
static psv_status return_counts(psv_world *world, const psvi_kept_state *state) {
    psvi_step_counts now = {0}, counts = state->counts;
    psv_status status = psvi_read_array(world, &now, world->sim.counts, 0, 1, sizeof now);
    counts.serial = now.serial;
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.counts, &counts, 0, 1, sizeof counts);
    if (status == PSV_OK && world->ops->believe != NULL) world->ops->believe(world, &counts);
    return status;
}

psv_status psv_world_return(psv_world *world, uint32_t state) {
    psvi_kept_state *kept = NULL;
    psvi_terrain_room terrain = {0};
    psv_status status = find_state(world, state, &kept);
    if (status != PSV_OK) return status;
    if (!kept->used)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "state %u: nothing is kept there (psv_world_keep)", state);
    status = prepare_return(world, kept, &terrain);
    if (status != PSV_OK) return status;
    const bool listed = kept->list_serial != world->list_serial;
    drop_arrays(world, kept);
    return_numbers(world, kept);
    state_walk walk = {.world = world, .memory = kept->memory, .kind = WALK_RETURN};
    walk_state(&walk, kept);
    status = walk.status == PSV_OK ? return_counts(world, kept) : walk.status;
    if (!listed) return status;
    if (status == PSV_OK) status = psvi_list_terrain(world, &terrain);
    psvi_release_terrain(world, &terrain);
    kept->list_serial = world->list_serial;
    kept->ground_serial = world->ground_serial;
    return status;
}
