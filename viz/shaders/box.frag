layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint colour;
layout(location = 3) flat in vec4 rotation;

void main() {
    vec3 size = abs(local);
    vec3 face = step(size.yzx, size) * step(size.zxy, size) * sign(local);
    if (dot(abs(face), vec3(1.0)) > 1.5) face = size.x >= size.y ? vec3(sign(local.x), 0.0, 0.0) : vec3(0.0, sign(local.y), 0.0);
    vec3 normal = rotate(rotation, face);
    // A thin light line along the edges: distance of the second largest coordinate from 1, in pixels.
    vec3 others = size * (1.0 - abs(face));
    float border = max(others.x, max(others.y, others.z));
    float line = smoothstep(1.0 - max(0.05, 1.5 * fwidth(border)), 1.0, border);
    line *= 1.0 - smoothstep(0.04, 0.3, fwidth(border)); // none on boxes of a few pixels
    vec3 albedo = unpack_colour(colour) * (1.0 + 0.28 * line);
    if (((colour >> 24) & FLAG_PICKED) != 0u) albedo = mix(albedo, vec3(1.0, 0.85, 0.2), 0.6);
    leave(albedo, normal, 0.25, 0.0);
}
