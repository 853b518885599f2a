// Shadow map: faces of a hull that point away from the light, within the pixels of its box.
layout(location = 1) in vec3 world;
layout(location = 3) flat in vec4 rotation;
layout(location = 4) flat in vec3 centre;
layout(location = 5) flat in vec2 radius_and_length;
layout(depth_less) out float gl_FragDepth;

void main() {
    vec3 face;
    vec3 away = unrotate(rotation, -light.xyz);
    vec2 within = cast_hull(unrotate(rotation, world - centre), away, uint(radius_and_length.x), face);
    if (within == vec2(-1.0)) discard;
    gl_FragDepth = (light_matrix * vec4(world - light.xyz * within.y, 1.0)).z;
}
