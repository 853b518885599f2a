// The closest hit of each ray, or whether there is any (ANY). One thread a ray: it reads nodes of 80 and items of 32 or
// 40 bytes, and writes four words or one to block 11.
// variants: TRIANGLES=0,1 ANY=0,1
layout(local_size_x = 64) in;
#include "tree_query.glsl"
#include "tree_rays.glsl"
layout(std430, binding = 11) writeonly buffer target_block { uint target[]; };

void main() {
    uint q, number;
    if (!query_of(group_number() * 64u + gl_LocalInvocationID.x, q)) return;
    tree_ray ray;
    ray_hit best = ray_hit(query_word(q, 7u), 0.0, 0.0, NO_ITEM);
    uvec2 filter_bits = query_filter(q);
    begin_query(q);
    vec3 origin = query_vector(q, 0u), along = query_vector(q, 4u);
    if (walk_group != 0u && make_ray(origin, query_word(q, 3u), along, query_word(q, 7u), ray)) {
        float most = ray.t_max;
        while (next_node(number)) {
            tree_node node = load_node(number);
            uint slots = ray_slots(node, ray, most) & world_slots(number, node.order);
            push_slots(node, slots, ray.octant);
            for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u) {
                ray_hit hit;
                if (!ray_meets(ray, load_item(slot_item(node, uint(findLSB(left)))), hit)) continue;
#if ANY
                if (!item_passes(hit.item, filter_bits)) continue;
                best = hit;
                walk_depth = walk_group = 0u;
                break;
#else
                if (!hit_before(hit, best) || !item_passes(hit.item, filter_bits)) continue;
                best = hit;
                most = limit_t(ray, hit.t);
#endif
            }
        }
    }
#if ANY
    target[base(11) + q] = uint(best.item != NO_ITEM);
#else
    uint at = base(11) + 4u * q;
    target[at] = best.item == NO_ITEM ? queries[base(6) + q * param(2) + 7u] : floatBitsToUint(best.t);
    target[at + 1u] = best.item;
    target[at + 2u] = floatBitsToUint(best.u);
    target[at + 3u] = floatBitsToUint(best.v);
#endif
}
