// A sphere (or a small body) as a point sprite: one vertex; in the shadow map too.
layout(std430, binding = 0) readonly buffer List { Instance list[]; };

layout(location = 0) flat out uint colour;
layout(location = 1) flat out vec4 sphere;

void main() {
    Instance instance = list[gl_VertexID];
    sphere = instance.centre;
    colour = floatBitsToUint(instance.size.w);
    if (frame_counts.w == 1u) {
        gl_Position = light_matrix * vec4(sphere.xyz, 1.0);
        gl_PointSize = max(2.0 * sphere.w * shadow_map.x, 1.0);
    } else {
        gl_Position = view_projection * vec4(sphere.xyz, 1.0);
        gl_PointSize = max(2.0 * eye.w * sphere.w / max(gl_Position.w, forward.w), 1.0);
    }
}
