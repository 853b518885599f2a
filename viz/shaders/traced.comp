// Input: a ray-traced picture of any size, rows from the top. Output: display colours.
// One thread a pixel of the target, four pixels read; no synchronization.
layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 0, std430) readonly buffer Traced { uint traced[]; };
layout(binding = 0, rgba8) writeonly uniform image2D picture;
layout(location = 0) uniform ivec2 size; // of the input

vec3 pixel(ivec2 at) {
    at = clamp(at, ivec2(0), size - 1);
    return unpackUnorm4x8(traced[at.y * size.x + at.x]).rgb;
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), target = imageSize(picture);
    if (any(greaterThanEqual(at, target))) return;
    vec2 from = (vec2(at.x, target.y - 1 - at.y) + 0.5) * vec2(size) / vec2(target) - 0.5;
    ivec2 low = ivec2(floor(from));
    vec2 share = from - vec2(low);
    vec3 above = mix(pixel(low), pixel(low + ivec2(1, 0)), share.x);
    vec3 below = mix(pixel(low + ivec2(0, 1)), pixel(low + ivec2(1, 1)), share.x);
    imageStore(picture, at, vec4(mix(above, below, share.y), 1.0));
}
