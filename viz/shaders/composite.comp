// Input: the lit colour with all that was blended over it. Output: display colours, samples reduced to pixels.
// One thread a pixel of the picture; no synchronization.
layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 0) uniform sampler2D colour_texture;
layout(binding = 0, rgba8) writeonly uniform image2D picture;
layout(location = 0) uniform int samples; // per side, of the target being reduced

vec3 display(vec3 c) {
    c *= 0.62; // exposure
    c = (c * (2.2 * c + 0.08)) / (c * (2.0 * c + 0.62) + 0.16); // filmic shoulder
    return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(picture)))) return;
    vec3 sum = vec3(0.0);
    for (int y = 0; y < samples; ++y) {
        for (int x = 0; x < samples; ++x) sum += display(texelFetch(colour_texture, at * samples + ivec2(x, y), 0).rgb);
    }
    imageStore(picture, at, vec4(sum / float(samples * samples), 1.0));
}
