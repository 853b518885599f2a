// The list of ground bodies by sub-world, for the narrow phase. Its memory is taken before bodies come or go, so that a
// call that finds none changes nothing.
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_ground(const psv_world *world, uint32_t slot) {
    return world->alive[slot] && psvi_is_ground(world->shapes[world->shape_of[slot]].data.type);
}

void psvi_release_terrain(psv_world *world, psvi_terrain_room *room) {
    psvi_free(world->context, room->fresh, room->bytes);
    free(room->sub_world);
    free(room->first);
    free(room->list);
    *room = (psvi_terrain_room){0};
}

void psvi_note_ground(psv_world *world, uint32_t shape, uint32_t sub_world) {
    if (psvi_is_ground(world->shapes[shape].data.type) && sub_world >= world->ground_worlds)
        world->ground_worlds = sub_world + 1;
}

psv_status psvi_reserve_terrain(psv_world *world, uint64_t slots, int64_t more_ground, psvi_terrain_room *room) {
    const uint64_t worlds = world->ground_worlds;
    uint64_t ground = (uint64_t)more_ground; // a negative one is taken off by wrapping
    for (uint32_t i = 0; i < world->sim.slots; ++i)
        ground += is_ground(world, i);
    *room = (psvi_terrain_room){.bytes = (worlds + 1 + ground) * sizeof(uint32_t)};
    room->fresh = psvi_alloc(world->context, room->bytes); // first: the allocator may know a limit
    if (room->fresh != NULL) {
        room->sub_world = malloc((slots + 1) * sizeof *room->sub_world);
        room->first = calloc(worlds + 1, sizeof *room->first);
        room->list = malloc(room->bytes);
    }
    if (room->sub_world != NULL && room->first != NULL && room->list != NULL) return PSV_OK;
    const uint64_t bytes = room->bytes;
    psvi_release_terrain(world, room);
    return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of ground bodies", bytes);
}

psv_status psvi_list_terrain(psv_world *world, psvi_terrain_room *room) {
    psvi_sim *s = &world->sim;
    const uint64_t worlds = world->ground_worlds;
    uint32_t *sub_world = room->sub_world, *first = room->first, *list = room->list;
    psv_status status = psvi_read_array(world, sub_world, s->sub_world, 0, s->slots, sizeof *sub_world);
    if (status == PSV_OK) {
        for (uint32_t i = 0; i < s->slots; ++i)
            if (is_ground(world, i)) ++first[sub_world[i] + 1];
        for (uint64_t w = 0; w < worlds; ++w)
            first[w + 1] += first[w];
        memcpy(list, first, (worlds + 1) * sizeof *list);
        for (uint32_t i = 0; i < s->slots; ++i)
            if (is_ground(world, i)) list[worlds + 1 + first[sub_world[i]]++] = i;
        status = psvi_write_array(world, room->fresh, list, 0, 1, room->bytes);
    }
    if (status == PSV_OK) {
        psvi_free(world->context, (void *)(uintptr_t)s->ground.first, world->terrain_bytes);
        s->ground.first = room->fresh;
        s->ground.slots = s->ground.first + worlds + 1;
        s->ground.worlds = (uint32_t)worlds;
        world->terrain_bytes = room->bytes;
        room->fresh = NULL;
        ++world->ground_serial;
        ++world->list_serial;
    }
    psvi_release_terrain(world, room);
    return status;
}

psv_status psvi_update_terrain(psv_world *world) {
    psvi_terrain_room room;
    psv_status status = psvi_reserve_terrain(world, world->sim.slots, 0, &room);
    return status == PSV_OK ? psvi_list_terrain(world, &room) : status;
}
