// Planes, height fields and meshes: plain triangles with a normal each.
layout(location = 0) in vec3 vertex;
layout(location = 1) in vec3 vertex_normal;
layout(location = 0) uniform vec4 surface_position;
layout(location = 1) uniform vec4 surface_rotation;

layout(location = 0) out vec3 world;
layout(location = 1) out vec3 normal;

void main() {
    world = surface_position.xyz + rotate(surface_rotation, vertex);
    normal = rotate(surface_rotation, vertex_normal);
    gl_Position = (frame_counts.w == 1u ? light_matrix : view_projection) * vec4(world, 1.0);
}
