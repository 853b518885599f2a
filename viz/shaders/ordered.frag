// Transparent drawing, back to front: any part, cast in its hull; blended over what lies behind.
layout(std430, binding = 0) readonly buffer List { Instance list[]; };

layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint instance_index;
layout(location = 0) out vec4 pixel;

void main() {
    Instance instance = list[instance_index];
    uint colour = floatBitsToUint(instance.size.w);
    uint kind = (colour >> 24) & 3u;
    vec3 p = world;
    vec3 normal;
    if (kind == KIND_BOX) {
        vec3 size = abs(local);
        vec3 face = size.x >= size.y && size.x >= size.z ? vec3(sign(local.x), 0.0, 0.0)
                    : size.y >= size.z                   ? vec3(0.0, sign(local.y), 0.0)
                                                         : vec3(0.0, 0.0, sign(local.z));
        normal = rotate(instance.rotation, face);
    } else {
        vec3 o = unrotate(instance.rotation, eye.xyz - instance.centre.xyz);
        vec3 d = unrotate(instance.rotation, normalize(world - eye.xyz));
        float half_length = kind == KIND_CAPSULE ? instance.size.y : 0.0;
        float t = kind == KIND_CAPSULE ? cast_capsule(o, d, instance.size.x, half_length)
                                       : cast_sphere(o, d, instance.size.x);
        if (t < 0.0) discard;
        vec3 at = o + t * d;
        p = instance.centre.xyz + rotate(instance.rotation, at);
        normal = rotate(instance.rotation, capsule_normal(at, half_length));
    }
    float facing = abs(dot(normal, normalize(eye.xyz - p)));
    float alpha = mix(0.95, shadow_map.z, facing); // glass: clear in the middle, dense at the outline
    pixel = vec4(shade(unpack_colour(colour), normal, p, 0.6) * alpha, alpha); // premultiplied
}
