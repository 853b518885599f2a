// Colour values. Mode 0: clears values[]. Mode 1: counts the pairs of each body. Mode 2: values[order[i]] = i, the rank.
layout(local_size_x = 256) in;

layout(std430, binding = 6) readonly buffer Source { uint source[]; };
layout(std430, binding = 11) buffer Values { uint values[]; };

layout(location = 0) uniform uint value_mode;
layout(location = 1) uniform uint value_count;
layout(location = 2) uniform uint value_bodies;

void main() {
    uint i = gl_GlobalInvocationID.x + gl_NumWorkGroups.x * 256u * gl_GlobalInvocationID.y;
    if (i >= value_count) return;
    if (value_mode == 0u) {
        values[i] = 0u;
    } else if (value_mode == 1u) {
        uint body = source[i];
        if (body < value_bodies) atomicAdd(values[body], 1u);
    } else {
        uint body = source[i];
        if (body < value_bodies) values[body] = i;
    }
}
