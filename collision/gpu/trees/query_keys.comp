// Keys of queries: those with neighbouring keys walk the same nodes. One thread a query. Block 10: keys. param 4: 0 rays,
// whose directions' octants are the lowest bits, 1 boxes, 2 spheres.
// variants: TRIANGLES=0
layout(local_size_x = 128) in;
#include "tree_query.glsl"
#include "tree_places.glsl"
layout(std430, binding = 10) writeonly buffer key_block { uint keys[]; };

void main() {
    uint q;
    if (!query_of(group_number() * 128u + gl_LocalInvocationID.x, q)) return;
    vec3 point = query_vector(q, 0u);
    if (param(4) == 1u) point = 0.5 * point + 0.5 * query_vector(q, 3u);
    uint key = tree_place(point, param(4) == 0u ? 9u : 10u).y;
    if (param(4) == 0u) {
        vec3 along = query_vector(q, 4u);
        key = key << 3 | uint(along.x < 0.0) << 2 | uint(along.y < 0.0) << 1 | uint(along.z < 0.0);
    }
    keys[base(10) + q] = key;
}
