// Input: body streams and the sorted order of all bodies. Output: instance i * parts + p is part p (the p-th farthest)
// of body order[i]; a missing part gets kind none. One thread a body; no synchronization: the order is the point.
layout(local_size_x = 256) in;

layout(std430, binding = 6) writeonly buffer Ordered { Instance ordered[]; };
layout(std430, binding = 7) readonly buffer Order { uint order[]; };

void main() {
    uint i = gl_GlobalInvocationID.x + gl_NumWorkGroups.x * 256u * gl_GlobalInvocationID.y;
    if (i >= frame_counts.x) return;
    uint body = order[i];
    uint limit = selection.w;
    uvec2 range = uvec2(0u);
    bool known = body < selection.z && positions[body].w > 0.0 && !is_cut(positions[body]);
    if (known) range = parts_of(body);
    if (glass.y > 0u && known && clear_sixteenths(body) == 0u) range.y = 0u;
    if (range.y > 0u && !visible(positions[body].xyz, positions[body].w)) range.y = 0u;
    range.y = min(range.y, limit);
    vec3 colour = range.y > 0u ? colour_of(body) : vec3(0.0);
    for (uint p = 0u; p < limit; ++p) {
        Instance instance;
        instance.centre = vec4(0.0);
        instance.rotation = vec4(0.0, 0.0, 0.0, 1.0);
        instance.size = vec4(0.0);
        if (p >= range.y) ordered[i * limit + p] = instance;
    }
    for (uint p = 0u; p < range.y; ++p) {
        Instance instance = make_instance(body, range.x + p, colour);
        float depth = dot(instance.centre.xyz - eye.xyz, forward.xyz);
        uint farther = 0u;
        for (uint q = 0u; q < range.y; ++q) {
            vec3 other = positions[body].xyz + rotate(rotations[body], parts[range.x + q].position.xyz);
            float other_depth = dot(other - eye.xyz, forward.xyz);
            if (q != p && (other_depth > depth || (other_depth == depth && q < p))) farther += 1u;
        }
        ordered[i * limit + min(farther, range.y - 1u)] = instance;
    }
}
