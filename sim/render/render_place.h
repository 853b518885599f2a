// The items of a picture's tree, and the bodies in the order of the tree. A body is one item. A compound is one item
// for each of its parts, where there is room: their boxes are much smaller together.
#ifndef PAIRSIEVE_RENDER_PLACE_H
#define PAIRSIEVE_RENDER_PLACE_H

#include "../data/atomics.h"
#include "render_scene.h"

// Items [0, slots) are the bodies by slot, behind them are parts. In which order the parts come does not matter:
// answers do not depend on the tree.
PSV_TREE_FN void psvi_make_items(const psvi_render_scene *scene, uint32_t slot) {
    const psvi_render_items *items = &scene->items;
    const psvi_sim *s = &scene->sim;
    const psvi_shape *shape = &s->geometry.shapes[s->shape[slot]];
    items->boxes[slot] = psvi_query_box(s, slot);
    if (items->room <= s->slots || shape->type != PSV_SHAPE_COMPOUND || !(s->position[slot].w > 0)) return;
    const uint32_t parts = psvi_part_count(shape);
    const uint64_t first = psvi_fetch_add(items->count, parts);
    const bool fits = first + parts <= items->room;
    const psv_aabb none = {{1, 1, 1}, {-1, -1, -1}};
    const v3 position = v3_of4(s->position[slot]);
    const float room = 1e-6f * (v3_length(position) + s->position[slot].w); // as of psvi_query_box
    for (uint32_t k = 0; k < parts && first + k < items->room; ++k) {
        const psvi_solid solid = psvi_part(s, shape, position, quat_of4(s->rotation[slot]), k);
        const v3 extent = v3_add(psvi_solid_extent(&solid), v3_make(room, room, room));
        psv_aabb box = none;
        if (fits) {
            psvi_put(box.min, v3_sub(solid.centre, extent));
            psvi_put(box.max, v3_add(solid.centre, extent));
        }
        items->boxes[first + k] = box;
        items->part_slots[first + k - s->slots] = slot;
        items->parts[first + k - s->slots] = (uint8_t)k;
    }
    if (fits) items->boxes[slot] = none;
}

// What an item is: the body in its slot, or a part of it.
PSV_TREE_FN psvi_solid psvi_item_solid(const psvi_render_scene *scene, uint32_t item, uint32_t *slot) {
    const psvi_sim *s = &scene->sim;
    const bool is_part = item >= s->slots;
    *slot = is_part ? scene->items.part_slots[item - s->slots] : item;
    const psvi_shape *shape = &s->geometry.shapes[s->shape[*slot]];
    psvi_solid solid = {shape->type, v3_of(shape->size), v3_of4(s->position[*slot]), quat_of4(s->rotation[*slot]),
                        NULL};
    if (is_part) solid = psvi_part(s, shape, solid.centre, solid.rotation, scene->items.parts[item - s->slots]);
    return solid;
}

PSV_TREE_FN void psvi_place_body(const psvi_render_scene *scene, uint32_t place) {
    if (place >= scene->tree.head->item_count) return;
    const uint32_t item = ((const psv_tree_box *)scene->tree.items)[place].item;
    const bool is_part = item >= scene->sim.slots;
    uint32_t slot;
    const psvi_solid solid = psvi_item_solid(scene, item, &slot);
    const bool round = psvi_is_round(solid.type) && !is_part;
    scene->bodies.slots[place] = slot;
    scene->bodies.centres[place] = f4_make(solid.centre, round ? solid.size.x : 0.0f);
    if (round) return;
    const psvi_f4 turn = {solid.rotation.x, solid.rotation.y, solid.rotation.z, solid.rotation.w};
    scene->bodies.turns[place] = turn;
    scene->bodies.sizes[place] = f4_make(solid.size, psv_bits_float(solid.type | (is_part ? PSVI_RENDER_PART : 0)));
}

#endif
