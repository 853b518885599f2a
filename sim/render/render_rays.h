// What a ray of a picture meets: ground first, which is in no tree, then the bodies or triangles of the tree.
#ifndef PAIRSIEVE_RENDER_RAYS_H
#define PAIRSIEVE_RENDER_RAYS_H

#include "render_scene.h"

#if defined(__CUDACC__)
#define PSVI_RENDER_CALL static __device__ __noinline__ // once in a kernel, not for each kind of ray
#else
#define PSVI_RENDER_CALL static
#endif

typedef struct psvi_seen {
    float t; // in: how far to look. Unit directions: metres
    v3 normal;
    uint32_t slot; // PSV_NO_ITEM: nothing yet
    uint32_t type; // psv_shape_type
} psvi_seen;

PSV_TREE_FN void psvi_see(psvi_seen *seen, const psvi_surface *at, uint32_t slot, uint32_t type) {
    if (!(at->t <= seen->t) || (at->t == seen->t && slot > seen->slot)) return;
    seen->t = at->t;
    seen->normal = at->normal;
    seen->slot = slot;
    seen->type = type;
}

// Compounds without an item for each part, and new kinds of shapes: slower, and outside of the walk's registers.
PSVI_RENDER_CALL bool psvi_meet_other(const psvi_sim *sim, uint32_t slot, v3 o, v3 d, float most, psvi_surface *at) {
    return psvi_ray_body(sim, slot, o, d, most, at);
}

// The solid at a place of the tree. A new kind of shape comes here by psvi_ray_body; a case of its own saves loads.
PSV_TREE_FN void psvi_meet_body(const psvi_render_scene *scene, uint32_t place, v3 o, v3 d, psvi_seen *seen) {
    const psvi_f4 centre = scene->bodies.centres[place];
    psvi_surface at = {0, d, 0};
    if (centre.w > 0) {
        if (psvi_ray_ball(o, d, v3_of4(centre), centre.w, &at) && at.t <= seen->t)
            psvi_see(seen, &at, scene->bodies.slots[place], PSV_SHAPE_SPHERE);
        return;
    }
    const psvi_f4 size = scene->bodies.sizes[place];
    const uint32_t bits = psv_float_bits(size.w), type = bits & ~PSVI_RENDER_PART;
    bool hit;
    if (type <= PSV_SHAPE_CAPSULE) {
        const psvi_solid solid = {type, v3_of4(size), v3_of4(centre), quat_of4(scene->bodies.turns[place]), NULL};
        hit = psvi_ray_solid(&solid, o, d, &at);
    } else {
        hit = psvi_meet_other(&scene->sim, scene->bodies.slots[place], o, d, seen->t, &at);
    }
    if (!hit || !(at.t <= seen->t)) return;
    psvi_see(seen, &at, scene->bodies.slots[place], bits == type ? type : (uint32_t)PSV_SHAPE_COMPOUND);
}

PSV_TREE_FN void psvi_meet_triangle(const psv_tree_view *view, const psv_tree_ray *ray, uint32_t place, v3 d,
                                    psvi_seen *seen) {
    const psv_tree_triangle triangle = psv_load_triangle(view, place);
    psv_ray_hit hit;
    if (!psv_ray_meets_triangle(ray, &triangle, &hit)) return;
    const v3 a = v3_of(triangle.a);
    const v3 normal = v3_unit_or(v3_cross(v3_sub(v3_of(triangle.b), a), v3_sub(v3_of(triangle.c), a)), v3_neg(d));
    const psvi_surface at = {hit.t, v3_dot(normal, d) > 0 ? v3_neg(normal) : normal, 0};
    psvi_see(seen, &at, hit.item, PSV_SHAPE_MESH);
}

// Whether anything is hit up to seen->t; with `any` false, the first hit.
PSVI_RENDER_CALL void psvi_walk_scene(const psvi_render_scene *scene, const psv_tree_view *view, v3 o, v3 d, bool any,
                                      psvi_seen *seen) {
    const psv_ray ray = {{o.x, o.y, o.z}, 0, {d.x, d.y, d.z}, seen->t};
    psv_tree_ray made;
    if (view->head->item_count == 0 || !psv_make_tree_ray(&ray, &view->nodes[0], &made)) return;
    const bool triangles = view->triangles;
    const uint32_t before = seen->slot;
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_begin_walk(&walk, &stack, view, 0);
    for (uint32_t number; psv_next_node(&walk, &number);) {
        PSVI_NODE(node, view, number);
        const uint32_t slots = PSVI_RAY_SLOTS(node, &made, seen->t);
        psv_push_slots(&walk, node, slots, made.octant);
        for (uint32_t left = slots & ~psv_node_inner(node); left != 0; left &= left - 1) {
            const uint32_t place = psv_slot_child(node->first_item, node->order, psv_low_bit(left));
            if (triangles)
                psvi_meet_triangle(view, &made, place, d, seen);
            else
                psvi_meet_body(scene, place, o, d, seen);
        }
        if (any && seen->slot != before) return;
    }
}

PSV_TREE_FN void psvi_meet_ground(const psvi_render_scene *scene, const psvi_render_ground *ground, v3 o, v3 d,
                                  bool any, psvi_seen *seen) {
    psvi_surface at = {0, d, 0};
    if (ground->type == PSV_SHAPE_PLANE) {
        if (psvi_ray_plane(o, d, ground->position, ground->up, &at)) psvi_see(seen, &at, ground->slot, ground->type);
        return;
    }
    psvi_seen local = {seen->t, d, PSV_NO_ITEM, 0};
    psvi_walk_scene(scene, &ground->tree, quat_unrotate(ground->rotation, v3_sub(o, ground->position)),
                    quat_unrotate(ground->rotation, d), any, &local);
    if (local.slot == PSV_NO_ITEM) return;
    at.t = local.t;
    at.normal = quat_rotate(ground->rotation, local.normal);
    psvi_see(seen, &at, ground->slot, ground->type);
}

// d is of unit length.
PSV_TREE_FN psvi_seen psvi_look(const psvi_render_scene *scene, v3 o, v3 d, bool any) {
    psvi_seen seen = {INFINITY, {0, 0, 0}, PSV_NO_ITEM, 0};
    for (uint32_t g = 0; g < scene->ground_count && !(any && seen.slot != PSV_NO_ITEM); ++g)
        psvi_meet_ground(scene, &scene->ground[g], o, d, any, &seen);
    if (!(any && seen.slot != PSV_NO_ITEM)) psvi_walk_scene(scene, &scene->tree, o, d, any, &seen);
    return seen;
}

#endif
