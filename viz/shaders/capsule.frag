// A capsule ray cast in its bounding box's near faces.
layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint colour;
layout(location = 3) flat in vec4 rotation;
layout(location = 4) flat in vec3 centre;
layout(location = 5) flat in vec2 radius_and_length;
layout(depth_less) out float gl_FragDepth;

void main() {
    vec3 o = unrotate(rotation, eye.xyz - centre);
    vec3 d = unrotate(rotation, normalize(world - eye.xyz));
    float t = cast_capsule(o, d, radius_and_length.x, radius_and_length.y);
    if (t < 0.0) discard;
    vec3 at = o + t * d;
    vec3 p = centre + rotate(rotation, at);
    vec3 normal = rotate(rotation, capsule_normal(at, radius_and_length.y));
    gl_FragDepth = depth_of(p);
    float band = smoothstep(0.02, 0.05, abs(abs(at.y) - radius_and_length.y) / radius_and_length.x);
    vec3 albedo = unpack_colour(colour) * mix(0.8, 1.0, band);
    if (((colour >> 24) & FLAG_PICKED) != 0u) albedo = mix(albedo, vec3(1.0, 0.85, 0.2), 0.6);
    leave(albedo, normal, 0.45, 0.0);
}
