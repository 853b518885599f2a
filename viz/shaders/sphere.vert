// A sphere as one triangle: it touches the sphere's nearest point and covers its outline, so that every true depth lies
// behind it (conservative depth keeps the early depth test).
layout(std430, binding = 0) readonly buffer List { Instance list[]; };

layout(location = 0) out vec3 ray;
layout(location = 1) flat out vec4 sphere;
layout(location = 2) flat out uint colour;
layout(location = 3) flat out vec4 rotation;

void main() {
    Instance instance = list[gl_VertexID / 3];
    sphere = vec4(instance.centre.xyz, instance.size.x);
    colour = floatBitsToUint(instance.size.w);
    rotation = instance.rotation;
    vec3 to_centre = sphere.xyz - eye.xyz;
    float distance2 = dot(to_centre, to_centre);
    float r2 = sphere.w * sphere.w;
    ray = vec3(0.0);
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    if (distance2 <= r2 * 1.0001) return; // the eye is inside
    float away = sqrt(distance2);
    vec3 axis = to_centre / away;
    float front = max(away - sphere.w, forward.w * 1.001);
    float outline = front * sphere.w / sqrt(distance2 - r2);
    vec3 side = normalize(cross(axis, abs(axis.y) < 0.9 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0)));
    vec3 up = cross(side, axis);
    const vec2 corners[3] = vec2[3](vec2(0.0, 2.0), vec2(-1.7320508, -1.0), vec2(1.7320508, -1.0));
    vec2 corner = corners[gl_VertexID % 3] * 1.002 * outline;
    ray = axis * front + side * corner.x + up * corner.y;
    gl_Position = view_projection * vec4(eye.xyz + ray, 1.0);
}
