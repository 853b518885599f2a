// A capsule ray cast in its bounding box's near faces.
layout(std430, binding = 0) readonly buffer List { Instance list[]; };

layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint instance_index;
layout(location = 0) out vec4 pixel;
layout(depth_less) out float gl_FragDepth;

void main() {
    Instance instance = list[instance_index];
    uint colour = floatBitsToUint(instance.size.w);
    vec3 o = unrotate(instance.rotation, eye.xyz - instance.centre.xyz);
    vec3 d = unrotate(instance.rotation, normalize(world - eye.xyz));
    float t = cast_capsule(o, d, instance.size.x, instance.size.y);
    if (t < 0.0) discard;
    vec3 at = o + t * d;
    vec3 p = instance.centre.xyz + rotate(instance.rotation, at);
    vec3 normal = rotate(instance.rotation, capsule_normal(at, instance.size.y));
    gl_FragDepth = depth_of(p);
    float band = smoothstep(0.02, 0.05, abs(abs(at.y) - instance.size.y) / instance.size.x);
    vec3 albedo = unpack_colour(colour) * mix(0.8, 1.0, band);
    if (((colour >> 24) & FLAG_PICKED) != 0u) albedo = mix(albedo, vec3(1.0, 0.85, 0.2), 0.6);
    pixel = vec4(shade(albedo, normal, p, 0.45), 1.0);
}
