layout(location = 0) in vec3 ray;
layout(location = 1) flat in vec4 sphere;
layout(location = 2) flat in uint colour;
layout(location = 3) flat in vec4 rotation;
layout(depth_less) out float gl_FragDepth;

void main() {
    vec3 direction = normalize(ray);
    vec3 from_centre = eye.xyz - sphere.xyz;
    float b = dot(from_centre, direction);
    vec3 closest = from_centre - b * direction; // better conditioned than b * b - c for far spheres
    float h = sphere.w * sphere.w - dot(closest, closest);
    if (h < 0.0) discard;
    vec3 p = eye.xyz + direction * (-b - sqrt(h));
    vec3 normal = (p - sphere.xyz) / sphere.w;
    gl_FragDepth = depth_of(p);
    // Two caps in a lighter tone show that it turns.
    float latitude = abs(unrotate(rotation, normal).y);
    float edge = fwidth(latitude) + 1.0e-4;
    vec3 albedo = unpack_colour(colour) * mix(1.0, 1.22, smoothstep(0.72 - edge, 0.72 + edge, latitude));
    if (((colour >> 24) & FLAG_PICKED) != 0u) albedo = mix(albedo, vec3(1.0, 0.85, 0.2), 0.6);
    leave(albedo, normal, 0.5, 0.0);
}
