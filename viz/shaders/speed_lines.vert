// Overlay: the way that each body came in the last quarter of a second, if it went straight.
layout(std430, binding = 0) readonly buffer Velocities { vec4 velocities[]; };
layout(std430, binding = 1) readonly buffer Positions { vec4 positions[]; };

layout(location = 0) out vec4 line_colour;

void main() {
    uint body = uint(gl_VertexID) / 2u;
    vec4 p = positions[body];
    vec3 v = velocities[body].xyz;
    bool end = (gl_VertexID & 1) != 0;
    bool skip = p.w <= 0.0 || p.w > 1.0e5 || dot(v, v) < 1.0e-6 || is_cut(p);
    line_colour = vec4(heat(0.15 + sqrt(length(v) * look.y)), 1.0) * (end ? 0.0 : 0.9);
    gl_Position = skip ? vec4(2.0, 2.0, 2.0, 1.0) : view_projection * vec4(end ? p.xyz - 0.25 * v : p.xyz, 1.0);
}
