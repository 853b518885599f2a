// Overlay: one line through all bodies in sorted order, from blue to red.
layout(std430, binding = 0) readonly buffer Order { uint order[]; };
layout(std430, binding = 1) readonly buffer Positions { vec4 positions[]; };

layout(location = 0) out vec4 line_colour;

void main() {
    uint place = uint(gl_VertexID + 1) / 2u; // segments: 0-1, 1-2, ...
    uint other = (gl_VertexID & 1) == 0 ? place + 1u : place - 1u;
    uint body = order[place];
    uint neighbour = order[min(other, selection.z - 1u)];
    vec4 p = positions[body];
    vec4 q = positions[neighbour];
    bool skip = p.w <= 0.0 || p.w > 1.0e5 || q.w <= 0.0 || q.w > 1.0e5;
    line_colour = vec4(heat(float(place) * look.w), 0.9);
    gl_Position = skip ? vec4(2.0, 2.0, 2.0, 1.0) : view_projection * vec4(p.xyz, 1.0);
}
