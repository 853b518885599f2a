// Overlay: a line between the centres of each pair; pairs with infinite bodies are left out.
layout(std430, binding = 0) readonly buffer Pairs { uint pairs[]; };
layout(std430, binding = 1) readonly buffer Positions { vec4 positions[]; };

layout(location = 0) out vec4 line_colour;

void main() {
    uint pair = uint(gl_VertexID) / 2u;
    uint a = pairs[2u * pair];
    uint b = pairs[2u * pair + 1u];
    vec4 p = a < selection.z ? positions[a] : vec4(0.0);
    vec4 q = b < selection.z ? positions[b] : vec4(0.0);
    bool skip = p.w <= 0.0 || q.w <= 0.0 || p.w > 1.0e5 || q.w > 1.0e5 || length(p.xyz - q.xyz) > p.w + q.w + ground.w;
    bool picked = selection.x != 0u && (a + 1u == selection.x || b + 1u == selection.x);
    line_colour = picked ? vec4(1.0, 0.2, 0.9, 1.0) : vec4(1.0, 0.42, 0.08, 0.9);
    gl_Position = skip ? vec4(2.0, 2.0, 2.0, 1.0) : view_projection * vec4((gl_VertexID & 1) == 0 ? p.xyz : q.xyz, 1.0);
}
