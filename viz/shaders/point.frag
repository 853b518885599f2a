layout(location = 0) flat in uint colour;
layout(location = 1) flat in vec4 sphere;

void main() {
    vec2 d = gl_PointCoord * 2.0 - 1.0;
    float inside = dot(d, d);
    if (inside > 1.15) discard;
    vec3 right = normalize(cross(forward.xyz, vec3(0.0, 1.0, 1.0e-4)));
    vec3 up = cross(right, forward.xyz);
    vec3 normal = right * d.x - up * d.y - forward.xyz * sqrt(max(1.0 - inside, 0.05));
    leave(unpack_colour(colour), normalize(normal), 0.3, 0.0);
}
