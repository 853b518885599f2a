// Transparent drawing, back to front: any part, cast in its box; blended over the surfaces behind.
layout(location = 0) in vec3 local;
layout(location = 1) in vec3 world;
layout(location = 2) flat in uint colour;
layout(location = 3) flat in vec4 rotation;
layout(location = 4) flat in vec3 centre;
layout(location = 5) flat in vec2 radius_and_length;
layout(location = 0) out vec4 pixel;

void main() {
    uint kind = (colour >> 24) & KIND_BITS;
    vec3 p = world;
    vec3 normal;
    if (kind == KIND_BOX) {
        vec3 size = abs(local);
        vec3 face = size.x >= size.y && size.x >= size.z ? vec3(sign(local.x), 0.0, 0.0)
                    : size.y >= size.z                   ? vec3(0.0, sign(local.y), 0.0)
                                                         : vec3(0.0, 0.0, sign(local.z));
        normal = rotate(rotation, face);
    } else {
        vec3 o = unrotate(rotation, eye.xyz - centre);
        vec3 d = unrotate(rotation, normalize(world - eye.xyz));
        float half_length = kind == KIND_CAPSULE ? radius_and_length.y : 0.0;
        vec3 face;
        float t = kind == KIND_HULL      ? cast_hull(o, d, uint(radius_and_length.x), face).x
                  : kind == KIND_CAPSULE ? cast_capsule(o, d, radius_and_length.x, half_length)
                                         : cast_sphere(o, d, radius_and_length.x);
        if (t < 0.0) discard;
        vec3 at = o + t * d;
        p = centre + rotate(rotation, at);
        normal = rotate(rotation, kind == KIND_HULL ? face : capsule_normal(at, half_length));
    }
    float facing = abs(dot(normal, normalize(eye.xyz - p)));
    float middle = shadow_map.z, outline = 0.95; // glass: clear in the middle, dense at the outline
    uint opacity = colour >> (24u + CLEAR_SHIFT);
    if (opacity > 0u) {
        middle = float(opacity) / 16.0;
        outline = sqrt(middle);
    }
    float alpha = mix(outline, middle, facing);
    pixel = vec4(shade(unpack_colour(colour), normal, p, 0.6) * alpha, alpha); // premultiplied
}
