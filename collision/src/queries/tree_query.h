// One query at a time, for C and CUDA. Before it includes this file, a file may name a faster test of a node's slots in
// PSVI_RAY_SLOTS, PSVI_BOX_SLOTS or PSVI_NEAR_SLOTS. PSVI_NODE then names its way to load a node.
#ifndef PAIRSIEVE_TREE_QUERY_H
#define PAIRSIEVE_TREE_QUERY_H

#include "pairsieve/tree_tests.h"
#include "tree_internal.h"

#ifndef PSVI_RAY_SLOTS
#define PSVI_RAY_SLOTS psv_ray_slots
#endif
#ifndef PSVI_BOX_SLOTS
#define PSVI_BOX_SLOTS psv_box_slots
#endif
#ifndef PSVI_NEAR_SLOTS
#define PSVI_NEAR_SLOTS psv_near_slots
#endif
#ifndef PSVI_NODE // declares `const psv_tree_node *name`
#define PSVI_NODE(name, view, number)                                                                                  \
    const psv_tree_node name##_loaded = psv_load_node(view, number);                                                   \
    const psv_tree_node *const name = &name##_loaded
#endif

// What is asked of items beside its shape.
typedef struct psvi_asker {
    uint32_t world;
    psv_box_filter filter;
} psvi_asker;

PSV_TREE_FN psvi_asker psvi_asker_of(const psvi_tree_query *query, uint32_t q) {
    psvi_asker asker = {query->worlds == NULL ? 0 : query->worlds[q], {~0u, ~0u}};
    if (query->filters != NULL) asker.filter = query->filters[q];
    return asker;
}

// --- lists -----------------------------------------------------------------------------------------------------------

typedef struct psvi_list {
    void *results; // of this query
    uint64_t room;
    uint32_t found;
    bool hits;  // psv_ray_hit, else items
    bool least; // keep the first `room` in order
} psvi_list;

PSV_TREE_FN bool psvi_hit_before(const psv_ray_hit *a, const psv_ray_hit *b) {
    return a->t < b->t || (a->t == b->t && a->item < b->item);
}

PSV_TREE_FN bool psvi_result_before(const psvi_list *list, uint64_t i, const psv_ray_hit *hit) {
    if (list->hits) return psvi_hit_before((const psv_ray_hit *)list->results + i, hit);
    return ((const uint32_t *)list->results)[i] < hit->item;
}

PSV_TREE_FN void psvi_set_result(const psvi_list *list, uint64_t i, const psv_ray_hit *hit) {
    if (list->hits)
        ((psv_ray_hit *)list->results)[i] = *hit;
    else
        ((uint32_t *)list->results)[i] = hit->item;
}

PSV_TREE_FN psv_ray_hit psvi_get_result(const psvi_list *list, uint64_t i) {
    if (list->hits) return ((const psv_ray_hit *)list->results)[i];
    const psv_ray_hit hit = {0, ((const uint32_t *)list->results)[i], 0, 0};
    return hit;
}

PSV_TREE_FN void psvi_add_result(psvi_list *list, const psv_ray_hit *hit) {
    const uint64_t held = list->found < list->room ? list->found : list->room;
    ++list->found;
    if (!list->least) {
        if (held < list->room) psvi_set_result(list, held, hit);
        return;
    }
    if (list->room == 0 || (held == list->room && psvi_result_before(list, held - 1, hit))) return;
    uint64_t at = held == list->room ? held - 1 : held;
    for (; at > 0 && !psvi_result_before(list, at - 1, hit); --at) {
        const psv_ray_hit moved = psvi_get_result(list, at - 1);
        psvi_set_result(list, at, &moved);
    }
    psvi_set_result(list, at, hit);
}

// Puts the result at `at` down the heap of the first `count`.
PSV_TREE_FN void psvi_sift_result(const psvi_list *list, uint64_t at, uint64_t count) {
    const psv_ray_hit moved = psvi_get_result(list, at);
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= count) break;
        psv_ray_hit larger = psvi_get_result(list, child);
        if (child + 1 < count) {
            const psv_ray_hit other = psvi_get_result(list, child + 1);
            if (psvi_result_before(list, child, &other)) {
                larger = other;
                ++child;
            }
        }
        if (!(list->hits ? psvi_hit_before(&moved, &larger) : moved.item < larger.item)) break;
        psvi_set_result(list, at, &larger);
        at = child;
    }
    psvi_set_result(list, at, &moved);
}

// Heap sort: in place, and never worse than count log count.
PSV_TREE_FN void psvi_order_results(const psvi_list *list, uint64_t count) {
    for (uint64_t i = count / 2; i-- > 0;)
        psvi_sift_result(list, i, count);
    for (uint64_t end = count; end-- > 1;) {
        const psv_ray_hit first = psvi_get_result(list, 0), last = psvi_get_result(list, end);
        psvi_set_result(list, 0, &last);
        psvi_set_result(list, end, &first);
        psvi_sift_result(list, 0, end);
    }
}

// --- rays ------------------------------------------------------------------------------------------------------------

// What a ray meets, by kind: PSVI_QUERY_CLOSEST_HIT, or ANY_HIT, which stops at the first one, or ALL_HITS, which come
// into the list. No hit: the item is PSV_NO_ITEM.
PSV_TREE_FN psv_ray_hit psvi_follow_ray(const psv_tree_view *view, const psv_ray *ray, psvi_asker asker,
                                        psvi_query_kind kind, psvi_list *list) {
    psv_ray_hit best = {ray->t_max, PSV_NO_ITEM, 0, 0};
    psv_tree_ray made;
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    if (walk.group == 0 || !psv_make_tree_ray(ray, &view->nodes[0], &made)) return best;
    float most = made.t_max;
    for (uint32_t number; psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        const uint32_t slots = PSVI_RAY_SLOTS(node, &made, most) & psv_world_slots(&walk, number, node->order);
        psv_push_slots(&walk, node, slots, made.octant);
        for (uint32_t left = slots & ~psv_node_inner(node); left != 0; left &= left - 1) {
            const uint32_t slot = psv_low_bit(left);
            psv_ray_hit hit;
            if (!psv_ray_meets_item(view, &made, psv_slot_child(node->first_item, node->order, slot), &hit)) continue;
            if (kind == PSVI_QUERY_CLOSEST_HIT && !psvi_hit_before(&hit, &best)) continue;
            if (!psv_item_passes(view, hit.item, asker.filter)) continue;
            if (kind == PSVI_QUERY_ANY_HIT) return hit;
            if (kind == PSVI_QUERY_CLOSEST_HIT) {
                best = hit;
                most = psv_limit_t(&made, hit.t);
            } else {
                psvi_add_result(list, &hit);
            }
        }
    }
    return best;
}

// --- boxes, spheres and points ---------------------------------------------------------------------------------------

PSV_TREE_FN void psvi_touched_by_box(const psv_tree_view *view, const psv_aabb *box, psvi_asker asker,
                                     psvi_list *list) {
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    if (!(box->min[0] <= box->max[0] && box->min[1] <= box->max[1] && box->min[2] <= box->max[2])) return;
    for (uint32_t number; psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        const uint32_t slots = PSVI_BOX_SLOTS(node, box->min, box->max) & psv_world_slots(&walk, number, node->order);
        psv_push_slots(&walk, node, slots, 7);
        for (uint32_t left = slots & ~psv_node_inner(node); left != 0; left &= left - 1) {
            psv_ray_hit hit = {0, 0, 0, 0};
            if (psv_box_meets_item(view, box->min, box->max,
                                   psv_slot_child(node->first_item, node->order, psv_low_bit(left)), &hit.item) &&
                psv_item_passes(view, hit.item, asker.filter))
                psvi_add_result(list, &hit);
        }
    }
}

PSV_TREE_FN bool psvi_sphere_is_good(const psv_sphere *sphere) {
    return sphere->centre[0] == sphere->centre[0] && sphere->centre[1] == sphere->centre[1] &&
           sphere->centre[2] == sphere->centre[2] && sphere->radius >= 0;
}

PSV_TREE_FN void psvi_touched_by_sphere(const psv_tree_view *view, const psv_sphere *sphere, psvi_asker asker,
                                        psvi_list *list) {
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    if (!psvi_sphere_is_good(sphere)) return;
    const float most2 = psv_mul(sphere->radius, sphere->radius);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        float sum[8];
        const uint32_t slots =
            PSVI_NEAR_SLOTS(node, sphere->centre, most2, sum) & psv_world_slots(&walk, number, node->order);
        psv_push_slots(&walk, node, slots, 7);
        for (uint32_t left = slots & ~psv_node_inner(node); left != 0; left &= left - 1) {
            psv_closest_point at;
            const uint32_t place = psv_slot_child(node->first_item, node->order, psv_low_bit(left));
            const bool near = psv_item_distance2(view, sphere->centre, place, &at) <= most2;
            const psv_ray_hit hit = {0, at.item, 0, 0};
            if (near && psv_item_passes(view, at.item, asker.filter)) psvi_add_result(list, &hit);
        }
    }
}

// Slots of a node's items that may lie within the distance; its inner nodes in range are pushed. sum: each slot's least
// squared distance.
PSV_TREE_FN uint32_t psvi_near_items(psv_tree_walk *walk, const psv_tree_node *node, uint32_t number,
                                     const psv_sphere *sphere, float most2, float sum[8]) {
    const uint32_t slots =
        PSVI_NEAR_SLOTS(node, sphere->centre, most2, sum) & psv_world_slots(walk, number, node->order);
    psv_push_by_distance(walk, node, slots, sum);
    return slots & ~psv_node_inner(node);
}

// The closest point of the item of a slot, with `distance` squared. False where the slot alone shows that it is
// farther.
PSV_TREE_FN bool psvi_item_within(const psv_tree_view *view, const psv_tree_node *node, uint32_t slot,
                                  const psv_sphere *sphere, float most2, const float sum[8], psv_closest_point *at) {
    if (sum[slot] > most2) return false;
    const uint32_t place = psv_slot_child(node->first_item, node->order, slot);
    at->distance = psv_item_distance2(view, sphere->centre, place, at);
    return true;
}

// The k nearest, in order, by insertion into the caller's own array, whose distances are squared until the end.
PSV_TREE_FN void psvi_nearest(const psv_tree_view *view, const psv_sphere *sphere, psvi_asker asker, uint32_t k,
                              psv_near_item *found) {
    psv_tree_stack stack;
    psv_tree_walk walk;
    uint32_t count = 0;
    const bool good = psvi_sphere_is_good(sphere);
    float most2 = psv_mul(sphere->radius, sphere->radius);
    psv_begin_walk(&walk, &stack, view, asker.world);
    for (uint32_t number; good && psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        float sum[8];
        for (uint32_t left = psvi_near_items(&walk, node, number, sphere, most2, sum); left != 0; left &= left - 1) {
            psv_closest_point at;
            if (!psvi_item_within(view, node, psv_low_bit(left), sphere, most2, sum, &at)) continue;
            const float d2 = at.distance;
            if (!(d2 <= most2) || !psv_item_passes(view, at.item, asker.filter)) continue;
            uint32_t p = count;
            while (p > 0 &&
                   (d2 < found[p - 1].distance || (d2 == found[p - 1].distance && at.item < found[p - 1].item)))
                --p;
            if (p >= k) continue;
            count += count < k;
            for (uint32_t i = count - 1; i > p; --i)
                found[i] = found[i - 1];
            found[p].distance = d2;
            found[p].item = at.item;
            if (count == k) most2 = found[k - 1].distance;
        }
    }
    for (uint32_t i = 0; i < k; ++i) {
        found[i].distance = i < count ? psv_root(found[i].distance) : sphere->radius;
        if (i >= count) found[i].item = PSV_NO_ITEM;
    }
}

PSV_TREE_FN psv_closest_point psvi_closest_point(const psv_tree_view *view, const psv_sphere *sphere,
                                                 psvi_asker asker) {
    psv_closest_point best = {
        {sphere->centre[0], sphere->centre[1], sphere->centre[2]}, sphere->radius, PSV_NO_ITEM, 0, 0};
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, asker.world);
    if (!psvi_sphere_is_good(sphere)) return best;
    float most2 = psv_mul(sphere->radius, sphere->radius);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        float sum[8];
        for (uint32_t left = psvi_near_items(&walk, node, number, sphere, most2, sum); left != 0; left &= left - 1) {
            psv_closest_point at;
            if (!psvi_item_within(view, node, psv_low_bit(left), sphere, most2, sum, &at)) continue;
            if (!(at.distance < most2 || (at.distance == most2 && at.item < best.item))) continue;
            if (!psv_item_passes(view, at.item, asker.filter)) continue;
            most2 = at.distance;
            best = at;
            best.distance = psv_root(most2);
        }
    }
    return best;
}

// --- any query -------------------------------------------------------------------------------------------------------

// Words of a caller's array, which is aligned to 4 bytes. On a host by memcpy: a record of floats that is written
// through uint32_t * is undefined, and a compiler may take it as not written at all.
PSV_TREE_FN void psvi_copy_words(const char *from, void *to, uint32_t words) {
#if defined(__CUDA_ARCH__)
    for (uint32_t i = 0; i < words; ++i)
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
#else
    memcpy(to, from, 4 * (size_t)words);
#endif
}

PSV_TREE_FN psv_sphere psvi_load_sphere(const char *from) {
    psv_sphere sphere;
    psvi_copy_words(from, &sphere, 4);
    for (int axis = 0; axis < 3; ++axis)
        sphere.centre[axis] = psv_query_clamp(sphere.centre[axis]);
    return sphere;
}

PSV_TREE_FN psv_aabb psvi_load_query_box(const char *from) {
    psv_aabb box;
    psvi_copy_words(from, &box, 6);
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] = psv_query_clamp(box.min[axis]);
        box.max[axis] = psv_query_clamp(box.max[axis]);
    }
    return box;
}

// Query q of a call without lists.
PSV_TREE_FN void psvi_answer(const psvi_tree_query *query, psvi_query_kind kind, uint32_t q) {
    const psvi_asker asker = psvi_asker_of(query, q);
    const char *data = query->data + (uint64_t)q * query->stride;
    if (kind == PSVI_QUERY_CLOSEST_HIT || kind == PSVI_QUERY_ANY_HIT) {
        psv_ray ray;
        psvi_copy_words(data, &ray, 8);
        if (kind == PSVI_QUERY_CLOSEST_HIT)
            ((psv_ray_hit *)query->target)[q] =
                psvi_follow_ray(&query->view, &ray, asker, PSVI_QUERY_CLOSEST_HIT, NULL);
        else
            ((uint32_t *)query->target)[q] =
                psvi_follow_ray(&query->view, &ray, asker, PSVI_QUERY_ANY_HIT, NULL).item != PSV_NO_ITEM;
        return;
    }
    const psv_sphere sphere = psvi_load_sphere(data);
    if (kind == PSVI_QUERY_NEAREST)
        psvi_nearest(&query->view, &sphere, asker, query->each,
                     (psv_near_item *)query->target + (uint64_t)q * query->each);
    else
        ((psv_closest_point *)query->target)[q] = psvi_closest_point(&query->view, &sphere, asker);
}

// Query q of a call with lists: writes its results if `write` and returns how many there are in all.
PSV_TREE_FN uint32_t psvi_answer_list(const psvi_tree_query *query, psvi_query_kind kind, uint32_t q, bool write) {
    const psvi_asker asker = psvi_asker_of(query, q);
    const char *data = query->data + (uint64_t)q * query->stride;
    psvi_list list = {NULL, 0, 0, kind == PSVI_QUERY_ALL_HITS, false};
    if (write && query->results != NULL) {
        const uint64_t begin = query->offsets != NULL ? query->offsets[q] : (uint64_t)q * query->each;
        list.results = (char *)query->results + begin * (list.hits ? sizeof(psv_ray_hit) : sizeof(uint32_t));
        list.room = query->offsets == NULL ? query->each : begin < query->room ? query->room - begin : 0;
        list.least = query->in_order && query->offsets == NULL;
    }
    if (kind == PSVI_QUERY_ALL_HITS) {
        psv_ray ray;
        psvi_copy_words(data, &ray, 8);
        (void)psvi_follow_ray(&query->view, &ray, asker, PSVI_QUERY_ALL_HITS, &list);
    } else if (kind == PSVI_QUERY_BOXES) {
        const psv_aabb box = psvi_load_query_box(data);
        psvi_touched_by_box(&query->view, &box, asker, &list);
    } else {
        const psv_sphere sphere = psvi_load_sphere(data);
        psvi_touched_by_sphere(&query->view, &sphere, asker, &list);
    }
    if (write && query->in_order && query->offsets != NULL && list.found <= list.room)
        psvi_order_results(&list, list.found);
    return list.found;
}

// Key of query q: queries with neighbouring keys walk the same nodes.
PSV_TREE_FN uint32_t psvi_query_key(const psvi_tree_query *query, uint32_t q) {
    const char *data = query->data + (uint64_t)q * query->stride;
    float point[3], more[3];
    psvi_load3(data, point);
    if (query->kind == PSVI_QUERY_BOXES) {
        psvi_load3(data + 12, more);
        for (int axis = 0; axis < 3; ++axis)
            point[axis] = 0.5f * point[axis] + 0.5f * more[axis];
    }
    const bool rays = query->kind <= PSVI_QUERY_ALL_HITS;
    const uint32_t bits = rays ? 9 : 10;
    uint32_t key = (uint32_t)psvi_tree_place(query->view.head, point, bits, bits);
    if (!rays) return key;
    psvi_load3(data + 16, more);
    return key << 3 | (more[0] < 0) << 2 | (more[1] < 0) << 1 | (more[2] < 0);
}

#endif
