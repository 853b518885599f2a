// Input: depth, albedo, normal, occlusion, shadow map. Output: the lit colour, and the sky where nothing was drawn.
// One thread a pixel, about 30 bytes read and 8 written; no synchronization.
layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 1) uniform sampler2D depth_texture;
layout(binding = 2) uniform sampler2D albedo_texture;
layout(binding = 3) uniform sampler2D normal_texture;
layout(binding = 4) uniform sampler2D open_texture;
layout(binding = 0, rgba16f) writeonly uniform image2D colour_image;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(vec2(at), viewport.xy))) return;
    vec2 uv = (vec2(at) + 0.5) * viewport.zw;
    vec3 ray = ray_through(uv);
    float depth = texelFetch(depth_texture, at, 0).r;
    vec3 colour = sky(normalize(ray));
    if (depth > 0.0) {
        vec4 albedo = texelFetch(albedo_texture, at, 0);
        vec4 normal = texelFetch(normal_texture, at, 0);
        vec3 p = eye.xyz + ray * (forward.w / depth);
        float open = 0.0; // four linear samples between pixels: the mean of 4 x 4
        for (int i = 0; i < 4; ++i) open += texture(open_texture, uv + (vec2(i & 1, i >> 1) * 2.0 - 1.0) * viewport.zw).r;
        vec3 lit = shade(albedo.rgb * albedo.rgb, normalize(normal.xyz), p, albedo.a) * (open * 0.25);
        colour = mix(lit, colour, normal.w);
    }
    imageStore(colour_image, at, vec4(colour, 1.0));
}
