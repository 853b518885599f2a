// Bodies in the order of a tree's items.
#ifndef PAIRSIEVE_RENDER_PLACE_H
#define PAIRSIEVE_RENDER_PLACE_H

#include "render_scene.h"

PSV_TREE_FN void psvi_place_body(const psvi_render_scene *scene, uint32_t place) {
    if (place >= scene->tree.head->item_count) return;
    const uint32_t slot = ((const psv_tree_box *)scene->tree.items)[place].item;
    const psvi_sim *s = &scene->sim;
    const psvi_shape *shape = &s->shapes[s->shape[slot]];
    const bool round = psvi_is_round(shape->type);
    scene->bodies.centres[place] = f4_make(v3_of4(s->position[slot]), round ? shape->size[0] : 0.0f);
    if (round) return;
    scene->bodies.turns[place] = s->rotation[slot];
    scene->bodies.sizes[place] = f4_make(v3_of(shape->size), psv_bits_float(shape->type));
}

#endif
