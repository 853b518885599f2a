// The three faces of a box that can face the eye (or, in the shadow map, the three that face away from the light):
// 7 of its 8 vertices, mirrored by the signs of the eye in the box's frame. 18 indices.
layout(std430, binding = 0) readonly buffer List { Instance list[]; };
layout(std430, binding = 1) readonly buffer HullPlanes { vec4 hull_planes[]; };

layout(location = 0) out vec3 local;  // in units of the half extents
layout(location = 1) out vec3 world;
// What the fragments need goes along with the vertices: by the time that they are shaded, the next chunk of bodies may
// already be in the list.
layout(location = 2) flat out uint colour;
layout(location = 3) flat out vec4 rotation;
layout(location = 4) flat out vec3 centre;
layout(location = 5) flat out vec2 radius_and_length;

vec3 box_half(Instance instance, uint kind) {
    if (kind == KIND_CAPSULE) return vec3(instance.size.x, instance.size.x + instance.size.y, instance.size.x);
    if (kind == KIND_SPHERE) return instance.size.xxx;
    if (kind == KIND_HULL) return hull_planes[uint(instance.size.x)].xyz;
    return instance.size.xyz;
}

void main() {
    Instance instance = list[gl_InstanceID];
    colour = floatBitsToUint(instance.size.w);
    rotation = instance.rotation;
    centre = instance.centre.xyz;
    radius_and_length = instance.size.xy;
    uint kind = (colour >> 24) & KIND_BITS;
    local = vec3(0.0);
    world = vec3(0.0);
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    if (kind == KIND_NONE) return;
    bool for_light = frame_counts.w == 1u;
    vec3 half_size = box_half(instance, kind);
    vec3 towards = for_light ? -light.xyz : eye.xyz - instance.centre.xyz;
    vec3 view = unrotate(instance.rotation, towards);
    vec3 mirror = vec3(view.x < 0.0 ? -1.0 : 1.0, view.y < 0.0 ? -1.0 : 1.0, view.z < 0.0 ? -1.0 : 1.0);
    // Bits of the vertex number: 1 turns that coordinate away from the eye.
    vec3 away = vec3(gl_VertexID & 1, (gl_VertexID >> 1) & 1, (gl_VertexID >> 2) & 1);
    local = mirror * (1.0 - 2.0 * away);
    world = instance.centre.xyz + rotate(instance.rotation, local * half_size);
    gl_Position = (for_light ? light_matrix : view_projection) * vec4(world, 1.0);
}
