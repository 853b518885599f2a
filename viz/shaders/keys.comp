// Input: positions. Output: one 32-bit key a body: the float of its depth along the view (mode 0, for a descending float
// sort), or row and x of its lower corner (mode 1, for an ascending integer sort). One thread a body, 20 bytes each.
layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer Positions { vec4 positions[]; };
layout(std430, binding = 6) writeonly buffer Keys { uint keys[]; };

layout(location = 0) uniform uint key_mode;
layout(location = 1) uniform vec4 row_origin; // least corner; w: 1 / cell edge

uint row_key(vec4 p) {
    vec3 cell = clamp((p.xyz - p.www - row_origin.xyz) * row_origin.w, vec3(0.0), vec3(4095.0, 255.0, 255.0));
    float fine = clamp((p.x - p.w - row_origin.x) * row_origin.w * 16.0, 0.0, 65535.0);
    return (uint(cell.y) << 24) | (uint(cell.z) << 16) | uint(fine);
}

void main() {
    uint i = gl_GlobalInvocationID.x + gl_NumWorkGroups.x * 256u * gl_GlobalInvocationID.y;
    if (i >= frame_counts.x) return;
    vec4 p = positions[i];
    if (key_mode == 0u) {
        float depth = p.w > 0.0 ? dot(p.xyz - eye.xyz, forward.xyz) : -3.0e38;
        keys[i] = floatBitsToUint(depth);
    } else {
        keys[i] = p.w > 0.0 && p.w < 1.0e9 ? row_key(p) : 0xffffffffu;
    }
}
