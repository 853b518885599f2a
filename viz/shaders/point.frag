layout(location = 0) flat in uint colour;
layout(location = 1) flat in vec4 sphere;
layout(location = 0) out vec4 pixel;

void main() {
    vec2 d = gl_PointCoord * 2.0 - 1.0;
    float inside = dot(d, d);
    if (inside > 1.15) discard;
    vec3 right = normalize(cross(forward.xyz, vec3(0.0, 1.0, 1.0e-4)));
    vec3 up = cross(right, forward.xyz);
    vec3 normal = right * d.x - up * d.y - forward.xyz * sqrt(max(1.0 - inside, 0.05));
    pixel = vec4(shade(unpack_colour(colour), normalize(normal), sphere.xyz, 0.3), 1.0);
}
