// Buffers of contact events, and the data that a program has for its bodies.
#include "world.h"

#include <inttypes.h>

// clang-format off
#define EVENT_ARRAYS(X) \
    X(touching, sizeof(psv_contact)) \
    X(begins, sizeof(psv_contact_event)) \
    X(ends, 2 * sizeof(psv_contact_event)) /* of contacts of this step, and of those of the last one */ \
    X(hits, sizeof(psv_hit_event)) \
    X(was_touching, 1)
// clang-format on

uint64_t psvi_event_bytes(uint64_t contacts) {
    uint64_t bytes = 0;
#define COUNT(name, each) bytes += contacts * (each);
    EVENT_ARRAYS(COUNT)
    return bytes;
}

psv_status psvi_alloc_events(psv_world *world, uint64_t contacts) {
    psvi_sim *s = &world->sim;
    bool good = true;
#define ALLOCATE(name, each)                                                                                           \
    if (good) good = (s->events.name = psvi_alloc(world->context, contacts * (each))) != NULL;
    EVENT_ARRAYS(ALLOCATE)
    if (good) return PSV_OK;
    return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of contact events",
                     psvi_event_bytes(contacts));
}

void psvi_free_events(psv_world *world) {
    psvi_sim *s = &world->sim;
#define RELEASE(name, each)                                                                                            \
    psvi_free(world->context, s->events.name, s->contact_capacity *(each));                                            \
    s->events.name = NULL;
    EVENT_ARRAYS(RELEASE)
}

static psv_buffer view(void *address, uint64_t bytes) {
    return address == NULL ? (psv_buffer){0} : psv_buffer_of(address, bytes);
}

#define CHECKED(world, name, each)                                                                                     \
    (psvi_check_world(world) == PSV_OK ? view((world)->sim.events.name, (world)->sim.contact_capacity * (each))        \
                                       : (psv_buffer){0})

psv_buffer psv_world_event_counts(const psv_world *world) {
    if (psvi_check_world(world) != PSV_OK) return (psv_buffer){0};
    return view(world->sim.events.counts, sizeof(psv_event_counts));
}
psv_buffer psv_world_contacts(const psv_world *world) { return CHECKED(world, touching, sizeof(psv_contact)); }
psv_buffer psv_world_begin_events(const psv_world *world) { return CHECKED(world, begins, sizeof(psv_contact_event)); }
psv_buffer psv_world_end_events(const psv_world *world) { return CHECKED(world, ends, 2 * sizeof(psv_contact_event)); }
psv_buffer psv_world_hit_events(const psv_world *world) { return CHECKED(world, hits, sizeof(psv_hit_event)); }

// --- user data -------------------------------------------------------------------------------------------------------

psv_status psvi_need_user(psv_world *world) {
    psv_context *context = world->context;
    if (world->sim.user != NULL) return PSV_OK;
    const uint64_t bytes = world->def.max_bodies * sizeof(uint64_t);
    uint64_t *user = psvi_alloc(context, bytes);
    if (user == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of user data", bytes);
    psv_status status = psvi_clear_fresh(context, user, bytes);
    if (status != PSV_OK) {
        psvi_free(context, user, bytes);
        return status;
    }
    world->sim.user = user;
    return PSV_OK;
}

psv_status psv_set_user_data(psv_world *world, psv_body_id id, uint64_t data) {
    uint32_t slot = 0;
    psv_status status = psvi_find_settled(world, id, &slot);
    if (status == PSV_OK) status = psvi_need_user(world);
    return status == PSV_OK ? psvi_write_array(world, world->sim.user, &data, slot, 1, sizeof data) : status;
}

psv_status psv_get_user_data(psv_world *world, psv_body_id id, uint64_t *data) {
    uint32_t slot = 0;
    psv_status status = psvi_find_settled(world, id, &slot);
    if (status != PSV_OK) return status;
    if (data == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "data is NULL");
    *data = 0;
    if (world->sim.user == NULL) return PSV_OK;
    return psvi_read_array(world, data, world->sim.user, slot, 1, sizeof *data);
}

psv_buffer psv_world_user_data(const psv_world *world) {
    if (psvi_check_world(world) != PSV_OK) return (psv_buffer){0};
    return view(world->sim.user, world->sim.slots * sizeof(uint64_t));
}
