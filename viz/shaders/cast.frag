// A capsule or a hull, ray cast in its bounding box's near faces.
layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint colour;
layout(location = 3) flat in vec4 rotation;
layout(location = 4) flat in vec3 centre;
layout(location = 5) flat in vec2 radius_and_length;
layout(depth_less) out float gl_FragDepth;

// Of a box's width, as it is drawn on boxes (box.frag): a thin light line along the edges, none on hulls of a few pixels.
float edge_line(vec3 at, vec3 p, vec3 face, uint hull) {
    vec3 size = hull_planes[hull].xyz;
    float least = min(size.x, min(size.y, size.z));
    float pixel = dot(p - eye.xyz, forward.xyz) / (eye.w * least);
    float width = max(0.05, 1.5 * pixel);
    return (1.0 - smoothstep(0.0, width, hull_border(at, face, hull) / least)) * (1.0 - smoothstep(0.04, 0.3, pixel));
}

void main() {
    vec3 o = unrotate(rotation, eye.xyz - centre);
    vec3 d = unrotate(rotation, normalize(world - eye.xyz));
    bool is_hull = ((colour >> 24) & KIND_BITS) == KIND_HULL;
    uint hull = is_hull ? uint(radius_and_length.x) : 0u;
    vec3 face;
    float t = is_hull ? cast_hull(o, d, hull, face).x : cast_capsule(o, d, radius_and_length.x, radius_and_length.y);
    if (t < 0.0) discard;
    vec3 at = o + t * d;
    vec3 p = centre + rotate(rotation, at);
    gl_FragDepth = depth_of(p);
    vec3 albedo = unpack_colour(colour);
    if (is_hull) {
        albedo *= 1.0 + 0.28 * edge_line(at, p, face, hull);
    } else {
        face = capsule_normal(at, radius_and_length.y);
        albedo *= mix(0.8, 1.0, smoothstep(0.02, 0.05, abs(abs(at.y) - radius_and_length.y) / radius_and_length.x));
    }
    if (((colour >> 24) & FLAG_PICKED) != 0u) albedo = mix(albedo, vec3(1.0, 0.85, 0.2), 0.6);
    leave(albedo, rotate(rotation, face), is_hull ? 0.25 : 0.45, 0.0);
}
