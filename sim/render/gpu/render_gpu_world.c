// A world of the CPU for pictures in compute shaders: its bodies, their parts and boxes, planes of ground and of hulls.
#include <stdlib.h>

#include "../render_place.h"
#include "render_gpu.h"

// Host arrays, in one block that grows with the world's room.
typedef struct host_bodies {
    psv_aabb *boxes;
    uint32_t *part_slots;
    uint8_t *parts;
    psvi_gpu_body *records;
} host_bodies;

// Sets the addresses from `base` on and returns how many bytes there are.
static uint64_t lay_out(char *base, uint64_t room, host_bodies *host) {
    char *at = base;
    host->boxes = psvi_next_part(&at, room * sizeof *host->boxes);
    host->part_slots = psvi_next_part(&at, room * sizeof *host->part_slots);
    host->parts = psvi_next_part(&at, room);
    host->records = psvi_next_part(&at, room * sizeof *host->records);
    return (uint64_t)(at - base);
}

static psv_status take_room(psv_renderer *renderer, uint64_t room, host_bodies *host) {
    const uint64_t bytes = lay_out((char *)256, room, host);
    if (bytes > renderer->host_bytes) {
        free(renderer->host_bodies);
        renderer->host_bodies = malloc(bytes);
        renderer->host_bytes = renderer->host_bodies == NULL ? 0 : bytes;
    }
    if (renderer->host_bodies == NULL && bytes > 0)
        return psvi_fail(renderer->context, PSV_ERROR_MEMORY, "no host memory for bodies (%llu bytes)",
                         (unsigned long long)bytes);
    (void)lay_out(renderer->host_bodies, room, host);
    return PSV_OK;
}

// The shape's own colour as shaders take it; 0: none.
static uint32_t paint_bits(const psvi_shape *shape) {
    return shape->paint[0] | (uint32_t)shape->paint[1] << 8 | (uint32_t)shape->paint[2] << 16;
}

static psvi_gpu_body record_of(const psvi_render_scene *scene, const psvi_hull *hulls, uint32_t item) {
    const psvi_sim *s = &scene->sim;
    uint32_t slot;
    const psvi_solid solid = psvi_item_solid(scene, item, &slot);
    const bool is_part = item >= s->slots, is_hull = solid.type == PSV_SHAPE_HULL;
    const bool round = psvi_is_round(solid.type) && !is_part;
    const uint32_t hull = is_hull ? s->geometry.shapes[s->shape[slot]].hull : 0;
    const uint32_t bits = solid.type | (is_part ? PSVI_RENDER_PART : 0) |
                          ((s->shape[slot] & 1) != 0 ? PSVI_GPU_ODD_SHAPE : 0) |
                          (s->velocity[slot].w > 0 ? PSVI_GPU_MOVES : 0);
    return (psvi_gpu_body){
        .centre = f4_make(solid.centre, round ? solid.size.x : 0.0f),
        .turn = {solid.rotation.x, solid.rotation.y, solid.rotation.z, solid.rotation.w},
        .size = f4_make(solid.size, psv_bits_float(bits)),
        .radius = s->position[slot].w,
        .slot = slot,
        .first_plane = 2 * scene->ground_count + hull * PSVI_HULL_FACES,
        .planes_paint = (is_hull ? hulls[hull].face_count : 0) << 24 | paint_bits(&s->geometry.shapes[s->shape[slot]]),
    };
}

// Two of four floats for each plane of ground: a point with the slot, and the normal with the colour. Then the planes
// of all hulls.
static psv_status load_planes(psv_renderer *renderer) {
    const psv_world *world = renderer->def.world;
    psvi_render_scene *scene = &renderer->scene;
    const uint64_t hulls = world->hull_count, count = 2 * (uint64_t)scene->ground_count + hulls * PSVI_HULL_FACES;
    if (count == 0) return PSV_OK;
    psvi_f4 *list = malloc(count * sizeof *list);
    if (list == NULL)
        return psvi_fail(renderer->context, PSV_ERROR_MEMORY, "no host memory for planes (%llu bytes)",
                         (unsigned long long)(count * sizeof *list));
    psvi_f4 *at = list;
    for (uint32_t g = 0; g < scene->ground_count; ++g) {
        const psvi_render_ground *ground = &renderer->host_ground[g];
        *at++ = f4_make(ground->position, psv_bits_float(ground->slot));
        *at++ = f4_make(ground->up, psv_bits_float(paint_bits(&world->shapes[world->shape_of[ground->slot]].data)));
    }
    for (uint64_t h = 0; h < hulls; ++h, at += PSVI_HULL_FACES)
        memcpy(at, world->hulls[h].planes, PSVI_HULL_FACES * sizeof *at);
    psv_status status = psvi_give_ground_room(renderer, count * sizeof *list);
    if (status == PSV_OK)
        status = renderer->context->ops->copy(renderer->context, renderer->ground, list, count * sizeof *list,
                                              PSVI_COPY_UPLOAD);
    scene->ground = renderer->ground;
    free(list);
    return status;
}

psv_status psvi_gpu_load_world(psv_renderer *renderer) {
    psv_context *context = renderer->context;
    psvi_render_scene *scene = &renderer->scene, on_host = *scene;
    const uint64_t room = scene->sim.slots + renderer->part_room;
    uint64_t count = scene->sim.slots;
    host_bodies host;
    psv_status status = take_room(renderer, room, &host);
    if (status == PSV_OK) status = load_planes(renderer);
    if (status != PSV_OK) return status;
    on_host.items = (psvi_render_items){host.boxes, host.part_slots, host.parts, &count, room};
    for (uint32_t slot = 0; slot < scene->sim.slots; ++slot)
        psvi_make_items(&on_host, slot);
    if (count > room) // shapes with more parts were added since the renderer was made
        return psvi_fail(context, PSV_ERROR_CAPACITY,
                         "the world's bodies have %llu parts; the renderer has room for %llu",
                         (unsigned long long)(count - scene->sim.slots), (unsigned long long)renderer->part_room);
    for (uint32_t item = 0; item < count; ++item)
        host.records[item] = record_of(&on_host, renderer->def.world->hulls, item);
    scene->items.room = count;
    if (count == 0) return PSV_OK;
    status = context->ops->copy(context, scene->items.boxes, host.boxes, count * sizeof *host.boxes, PSVI_COPY_UPLOAD);
    if (status != PSV_OK) return status;
    return context->ops->copy(context, scene->bodies.records, host.records, count * sizeof *host.records,
                              PSVI_COPY_UPLOAD);
}
