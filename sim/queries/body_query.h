// One query of a world's bodies at a time, for C and CUDA. The ground of the sub-world comes first, for it is in no
// tree. Then come the bodies that the tree over their boxes leads to.
#ifndef PAIRSIEVE_BODY_QUERY_H
#define PAIRSIEVE_BODY_QUERY_H

#include "../../collision/src/queries/tree_query.h"
#include "../solver/body_motion.h"
#include "body_nearest.h"

// The exact box of slot i, for the tree; min > max where there is no body, or ground.
PSVI_HD psv_aabb psvi_query_box(const psvi_sim *s, uint32_t i) {
    psv_aabb box = {{1, 1, 1}, {-1, -1, -1}};
    const psvi_shape *shape = &s->geometry.shapes[s->shape[i]];
    if (!(s->position[i].w > 0) || psvi_is_ground(shape->type)) return box;
    v3 position = v3_of4(s->position[i]), low = position, high = position;
    psvi_body_bounds(s, shape, position, quat_of4(s->rotation[i]), &low, &high);
    // What the tests of shapes round may reach a little further than their boxes.
    float room = 1e-6f * (v3_length(position) + s->position[i].w);
    for (int k = 0; k < 3; ++k) {
        box.min[k] = v3_axis(low, k) - room;
        box.max[k] = v3_axis(high, k) + room;
    }
    return box;
}

// Ground of a sub-world, or of all where the query asks all: [*first, *end) of s->ground.slots.
PSVI_HD void psvi_ground_of(const psvi_sim *s, const psvi_tree_query *query, uint32_t world, uint32_t *first,
                            uint32_t *end) {
    const bool all = query->view.world_starts == NULL && world < query->view.world_count;
    const bool known = s->ground.first != NULL && (all || world < s->ground.worlds);
    *first = known ? s->ground.first[all ? 0 : world] : 0;
    *end = known ? s->ground.first[all ? s->ground.worlds : world + 1] : 0;
}

// --- rays ------------------------------------------------------------------------------------------------------------

typedef struct psvi_body_ray {
    v3 origin, direction; // from where t_min is; of about unit length
    float most;
    psvi_surface at;
    uint32_t slot;
} psvi_body_ray;

PSVI_HD void psvi_ray_meets_slot(const psvi_sim *s, uint32_t slot, psvi_body_ray *ray) {
    psvi_surface found = ray->at;
    if (!psvi_ray_body(s, slot, ray->origin, ray->direction, ray->most, &found)) return;
    if (found.t == ray->most && slot > ray->slot) return; // of two at one place the lower slot
    ray->at = found;
    ray->most = found.t;
    ray->slot = slot;
}

PSV_TREE_FN psv_body_hit psvi_cast_ray(const psvi_sim *s, const psvi_tree_query *query, const psv_ray *from,
                                       psvi_asker asker) {
    const psv_tree_view *view = &query->view;
    psv_body_hit hit = {from->t_max, PSV_NO_ITEM, {0, 0, 0}, 0};
    psv_tree_ray made;
    if (!psv_make_tree_ray(from, view->head->item_count > 0 ? &view->nodes[0] : NULL, &made)) return hit;
    psvi_body_ray ray;
    const float *d = from->direction;
    ray.direction = v3_make(d[0], d[1], d[2]);
    if (made.exponent != 0)
        ray.direction =
            v3_make(ldexpf(d[0], -made.exponent), ldexpf(d[1], -made.exponent), ldexpf(d[2], -made.exponent));
    ray.origin = v3_madd(v3_of(from->origin), ray.direction, made.t_min);
    ray.most = made.t_max - made.t_min;
    ray.slot = PSV_NO_ITEM;
    (void)psvi_ray_inside(ray.direction, &ray.at);
    ray.at.part = 0;
    uint32_t first, end;
    psvi_ground_of(s, query, asker.world, &first, &end);
    for (; first < end; ++first)
        if (psv_item_passes(view, s->ground.slots[first], asker.filter))
            psvi_ray_meets_slot(s, s->ground.slots[first], &ray);
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        const psv_tree_node node = psv_load_node(view, number);
        const uint32_t slots =
            psv_ray_slots(&node, &made, made.t_min + ray.most) & psv_world_slots(&walk, number, node.order);
        psv_push_slots(&walk, &node, slots, made.octant);
        for (uint32_t left = slots & ~psv_node_inner(&node); left != 0; left &= left - 1) {
            const psv_tree_box box = psv_load_box(view, psv_slot_child(node.first_item, node.order, psv_low_bit(left)));
            if (psv_item_passes(view, box.item, asker.filter)) psvi_ray_meets_slot(s, box.item, &ray);
        }
    }
    if (ray.slot == PSV_NO_ITEM) return hit;
    hit.t = psv_unscale_t(&made, made.t_min + ray.most);
    hit.slot = ray.slot;
    hit.part = ray.at.part;
    hit.normal[0] = ray.at.normal.x, hit.normal[1] = ray.at.normal.y, hit.normal[2] = ray.at.normal.z;
    return hit;
}

// --- spheres ---------------------------------------------------------------------------------------------------------

typedef struct psvi_body_point {
    v3 centre;
    float most;
    psvi_near_place at;
    uint32_t slot;
} psvi_body_point;

PSVI_HD void psvi_near_slot(const psvi_sim *s, uint32_t slot, psvi_body_point *point) {
    psvi_near_place found;
    if (!psvi_near_body(s, slot, point->centre, point->most, &found)) return;
    if (found.distance == point->most && slot > point->slot) return;
    point->at = found;
    point->most = found.distance;
    point->slot = slot;
}

// What a box is away is rounded up by what its square and the body's own distance may be off.
PSV_TREE_FN float psvi_reach2(float most) { return psv_mul(psv_mul(most, most), 1.00001f); }

PSV_TREE_FN psv_body_point psvi_find_closest_body(const psvi_sim *s, const psvi_tree_query *query,
                                                  const psv_sphere *sphere, psvi_asker asker) {
    const psv_tree_view *view = &query->view;
    const float *c = sphere->centre;
    psv_body_point result = {{c[0], c[1], c[2]}, sphere->radius, {0, 0, 0}, PSV_NO_ITEM, 0};
    if (!psvi_sphere_is_good(sphere)) return result;
    psvi_body_point point;
    point.centre = v3_of(c);
    point.most = sphere->radius;
    point.slot = PSV_NO_ITEM;
    point.at.point = point.centre;
    point.at.distance = point.most;
    point.at.part = 0;
    uint32_t first, end;
    psvi_ground_of(s, query, asker.world, &first, &end);
    for (; first < end; ++first)
        if (psv_item_passes(view, s->ground.slots[first], asker.filter))
            psvi_near_slot(s, s->ground.slots[first], &point);
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        const psv_tree_node node = psv_load_node(view, number);
        float sum[8];
        const uint32_t slots =
            psv_near_slots(&node, c, psvi_reach2(point.most), sum) & psv_world_slots(&walk, number, node.order);
        psv_push_by_distance(&walk, &node, slots, sum);
        for (uint32_t left = slots & ~psv_node_inner(&node); left != 0; left &= left - 1) {
            const uint32_t slot = psv_low_bit(left);
            if (sum[slot] > psvi_reach2(point.most)) continue;
            const psv_tree_box box = psv_load_box(view, psv_slot_child(node.first_item, node.order, slot));
            if (psv_item_passes(view, box.item, asker.filter)) psvi_near_slot(s, box.item, &point);
        }
    }
    if (point.slot == PSV_NO_ITEM) return result;
    const v3 at = point.at.point, normal = v3_sub(point.centre, at);
    const v3 unit = point.at.distance > 0 ? v3_unit_or(normal, v3_make(0, 0, 0)) : v3_make(0, 0, 0);
    result.point[0] = at.x, result.point[1] = at.y, result.point[2] = at.z;
    result.normal[0] = unit.x, result.normal[1] = unit.y, result.normal[2] = unit.z;
    result.distance = point.at.distance;
    result.slot = point.slot;
    result.part = point.at.part;
    return result;
}

PSV_TREE_FN void psvi_list_body(const psvi_sim *s, uint32_t slot, const psv_sphere *sphere, psvi_list *list) {
    psvi_near_place found;
    if (!psvi_near_body(s, slot, v3_of(sphere->centre), sphere->radius, &found)) return;
    const psv_ray_hit entry = {0, slot, 0, 0};
    psvi_add_result(list, &entry);
}

PSV_TREE_FN void psvi_list_bodies(const psvi_sim *s, const psvi_tree_query *query, const psv_sphere *sphere,
                                  psvi_asker asker, psvi_list *list) {
    const psv_tree_view *view = &query->view;
    if (!psvi_sphere_is_good(sphere)) return;
    uint32_t first, end;
    psvi_ground_of(s, query, asker.world, &first, &end);
    for (; first < end; ++first)
        if (psv_item_passes(view, s->ground.slots[first], asker.filter))
            psvi_list_body(s, s->ground.slots[first], sphere, list);
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        const psv_tree_node node = psv_load_node(view, number);
        float sum[8];
        const uint32_t slots = psv_near_slots(&node, sphere->centre, psvi_reach2(sphere->radius), sum) &
                               psv_world_slots(&walk, number, node.order);
        psv_push_slots(&walk, &node, slots, 7);
        for (uint32_t left = slots & ~psv_node_inner(&node); left != 0; left &= left - 1) {
            const psv_tree_box box = psv_load_box(view, psv_slot_child(node.first_item, node.order, psv_low_bit(left)));
            if (psv_item_passes(view, box.item, asker.filter)) psvi_list_body(s, box.item, sphere, list);
        }
    }
}

// --- any query -------------------------------------------------------------------------------------------------------

PSV_TREE_FN void psvi_answer_of_bodies(const psvi_sim *s, const psvi_tree_query *query, psvi_query_kind kind,
                                       uint32_t q) {
    const psvi_asker asker = psvi_asker_of(query, q);
    const char *data = query->data + (uint64_t)q * query->stride;
    psv_ray ray;
    psv_sphere sphere;
    if (kind == PSVI_QUERY_CLOSEST_HIT) {
        psvi_copy_words(data, &ray, 8);
        ((psv_body_hit *)query->target)[q] = psvi_cast_ray(s, query, &ray, asker);
        return;
    }
    psvi_copy_words(data, &sphere, 4);
    if (kind == PSVI_QUERY_CLOSEST_POINT) {
        ((psv_body_point *)query->target)[q] = psvi_find_closest_body(s, query, &sphere, asker);
        return;
    }
    psvi_list list = {NULL, 0, 0, false, query->in_order};
    if (query->results != NULL) {
        list.results = (uint32_t *)query->results + (uint64_t)q * query->each;
        list.room = query->each;
    }
    psvi_list_bodies(s, query, &sphere, asker, &list);
    if (query->counts != NULL) query->counts[q] = list.found;
}

#endif
