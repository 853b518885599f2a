// pairsieve tree.cuh: walks through a tree in kernels of your own.
//
// psv_view_tree gives the view that a kernel needs; pass it by value. A walk calls a functor for each item that it
// reaches, with the result of the library's own test. The functor decides whether to continue, and may shorten the ray
// or the distance. Nothing here allocates or synchronizes. Items come in no fixed order.
//
//     struct count_hits {
//         uint32_t *count;
//         __device__ psv_walk_step operator()(const psv_ray_hit &hit, float &t_max) { ++*count; return PSV_WALK_ON; }
//     };
//     psv_walk_ray(view, ray, 0, count_hits{&count});
//
// Device lambdas serve as well. The functor checks filters of items itself (psv_item_passes).
#ifndef PAIRSIEVE_TREE_CUH
#define PAIRSIEVE_TREE_CUH

#include "pairsieve/tree_tests.h"

enum psv_walk_step { PSV_WALK_ON, PSV_WALK_STOP };

// Calls look(node, number) for each node, which returns the slots that matter and their octant, and take(place) for
// each item of them, until it returns PSV_WALK_STOP.
template <class Look, class Push, class Take>
__device__ __forceinline__ void psv_walk_nodes(const psv_tree_view &view, uint32_t world, Look look, Push push,
                                               Take take) {
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, &view, world);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        const psv_tree_node node = psv_load_node(&view, number);
        const uint32_t slots = look(node) & psv_world_slots(&walk, number, node.order);
        push(&walk, &node, slots);
        for (uint32_t left = slots & ~psv_node_inner(&node); left != 0; left &= left - 1)
            if (take(psv_slot_child(node.first_item, node.order, psv_low_bit(left))) == PSV_WALK_STOP) return;
    }
}

// Items on a ray, near ones mostly first: take(const psv_ray_hit &hit, float &t_max). What lies behind t_max is no
// longer met; set it to hit.t for the closest hit. t is in lengths of the ray's direction.
template <class Take>
__device__ __forceinline__ void psv_walk_ray(const psv_tree_view &view, const psv_ray &ray, uint32_t world, Take take) {
    psv_tree_ray made;
    if (view.head->item_count == 0 || !psv_make_tree_ray(&ray, &view.nodes[0], &made)) return;
    float t_max = ray.t_max;
    psv_walk_nodes(
        view, world, [&](const psv_tree_node &node) { return psv_ray_slots(&node, &made, made.t_max); },
        [&](psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots) {
            psv_push_slots(walk, node, slots, made.octant);
        },
        [&](uint32_t place) {
            psv_ray_hit hit;
            if (!psv_ray_meets_item(&view, &made, place, &hit)) return PSV_WALK_ON;
            const psv_walk_step step = take(hit, t_max);
            made.t_max = psv_limit_t(&made, t_max);
            return step;
        });
}

// Items that a box touches: take(uint32_t item).
template <class Take>
__device__ __forceinline__ void psv_walk_box(const psv_tree_view &view, const psv_aabb &box, uint32_t world,
                                             Take take) {
    if (!(box.min[0] <= box.max[0] && box.min[1] <= box.max[1] && box.min[2] <= box.max[2])) return;
    const float min[3] = {psv_tree_clamp(box.min[0]), psv_tree_clamp(box.min[1]), psv_tree_clamp(box.min[2])};
    const float max[3] = {psv_tree_clamp(box.max[0]), psv_tree_clamp(box.max[1]), psv_tree_clamp(box.max[2])};
    psv_walk_nodes(
        view, world, [&](const psv_tree_node &node) { return psv_box_slots(&node, min, max); },
        [&](psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots) { psv_push_slots(walk, node, slots, 7); },
        [&](uint32_t place) {
            uint32_t item;
            return psv_box_meets_item(&view, min, max, place, &item) ? take(item) : PSV_WALK_ON;
        });
}

// Items within a distance of a point, near ones mostly first: take(const psv_closest_point &at, float &most). What is
// further away than `most` is no longer met; set it to at.distance for the nearest.
template <class Take>
__device__ __forceinline__ void psv_walk_near(const psv_tree_view &view, const float (&point)[3], float most,
                                              uint32_t world, Take take) {
    if (!(point[0] == point[0] && point[1] == point[1] && point[2] == point[2] && most >= 0)) return;
    const float centre[3] = {psv_tree_clamp(point[0]), psv_tree_clamp(point[1]), psv_tree_clamp(point[2])};
    float most2 = psv_mul(most, most), sum[8];
    psv_walk_nodes(
        view, world, [&](const psv_tree_node &node) { return psv_near_slots(&node, centre, most2, sum); },
        [&](psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots) {
            psv_push_by_distance(walk, node, slots, sum);
        },
        [&](uint32_t place) {
            psv_closest_point at;
            const float d2 = psv_item_distance2(&view, centre, place, &at);
            if (!(d2 <= most2)) return PSV_WALK_ON;
            at.distance = psv_root(d2);
            const psv_walk_step step = take(at, most);
            most2 = psv_mul(most, most);
            return step;
        });
}

#endif
