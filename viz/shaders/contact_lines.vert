// Overlay: a line through each contact along its normal, as long as its force is large; both bodies are pressed by it.
layout(std430, binding = 0) readonly buffer Contacts { float contacts[]; }; // psv_contact: 16 words each
layout(location = 0) uniform vec2 lengths; // metres a newton to each side; at most so many metres

layout(location = 0) out vec4 line_colour;

void main() {
    uint at = 16u * (uint(gl_VertexID) / 2u);
    vec3 point = vec3(contacts[at + 6u], contacts[at + 7u], contacts[at + 8u]);
    vec3 normal = vec3(contacts[at + 9u], contacts[at + 10u], contacts[at + 11u]);
    float force = contacts[at + 13u];
    float reach = min(force * lengths.x, lengths.y);
    uint a = floatBitsToUint(contacts[at]), b = floatBitsToUint(contacts[at + 1u]);
    bool picked = selection.x != 0u && (a + 1u == selection.x || b + 1u == selection.x);
    line_colour = picked ? vec4(1.0, 0.2, 0.9, 1.0) : vec4(heat(0.25 + 0.75 * reach / lengths.y), 0.95);
    vec3 p = point + ((gl_VertexID & 1) == 0 ? -reach : reach) * normal;
    bool skip = !(force > 0.0) || is_cut(vec4(point, 1.0));
    gl_Position = skip ? vec4(2.0, 2.0, 2.0, 1.0) : view_projection * vec4(p, 1.0);
}
