// Input: depth. Output: ambient occlusion, how much of a small hemisphere around each point other surfaces leave open.
// One thread a pixel, 13 depths read, 1 byte written; no synchronization.
layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 0) uniform sampler2D depth_texture;
layout(binding = 0, r8) writeonly uniform image2D open_image;

vec3 position_at(vec2 at) {
    return ray_through(at) * (forward.w / max(texture(depth_texture, at).r, 1.0e-7)); // relative to the eye
}

float openness(vec2 uv, vec2 place) {
    float depth = texture(depth_texture, uv).r;
    if (depth <= 1.0e-7) return 1.0;
    vec3 p = position_at(uv);
    vec2 texel = viewport.zw;
    vec3 right = position_at(uv + vec2(texel.x, 0.0)) - p;
    vec3 left = p - position_at(uv - vec2(texel.x, 0.0));
    vec3 above = position_at(uv + vec2(0.0, texel.y)) - p;
    vec3 below = p - position_at(uv - vec2(0.0, texel.y));
    vec3 dx = dot(right, right) < dot(left, left) ? right : left;
    vec3 dy = dot(above, above) < dot(below, below) ? above : below;
    vec3 normal = normalize(cross(dx, dy));
    float view_depth = forward.w / depth;
    float radius_pixels = clamp(eye.w * 2.0 * look.x / view_depth, 4.0, 0.06 * viewport.y);
    float radius = radius_pixels * view_depth / eye.w;
    float turn = fract(52.9829189 * fract(dot(place, vec2(0.06711056, 0.00583715)))) * 6.2831853;
    float covered = 0.0;
    for (int i = 0; i < 8; ++i) {
        float along = (float(i) + 0.5) / 8.0;
        float angle = turn + float(i) * 2.3999632;
        vec2 at = uv + vec2(cos(angle), sin(angle)) * radius_pixels * along * texel;
        vec3 d = position_at(at) - p;
        float away2 = dot(d, d);
        float rise = dot(d, normal) * inversesqrt(away2 + 1.0e-12);
        covered += max(rise - 0.12, 0.0) * clamp(1.0 - away2 / (radius * radius * 2.0), 0.0, 1.0);
    }
    return clamp(1.0 - 0.30 * covered, 0.0, 1.0);
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(vec2(at), viewport.xy))) return;
    vec2 place = vec2(at) + 0.5;
    imageStore(open_image, at, vec4(openness(place * viewport.zw, place)));
}
