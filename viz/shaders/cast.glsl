// Rays against the parts' shapes, in the part's frame. Each returns the distance along `d`, or -1.

float cast_sphere(vec3 o, vec3 d, float r) {
    float b = dot(o, d);
    vec3 closest = o - b * d;
    float h = r * r - dot(closest, closest);
    return h < 0.0 ? -1.0 : -b - sqrt(h);
}

float cast_capsule(vec3 o, vec3 d, float r, float half_length) {
    // The side: a cylinder around y.
    float a = dot(d.xz, d.xz);
    if (a > 1.0e-12) {
        float b = dot(o.xz, d.xz);
        float c = dot(o.xz, o.xz) - r * r;
        float h = b * b - a * c;
        if (h < 0.0) return -1.0;
        float t = (-b - sqrt(h)) / a;
        if (abs(o.y + t * d.y) <= half_length) return t;
    }
    float top = cast_sphere(o - vec3(0.0, half_length, 0.0), d, r);
    float bottom = cast_sphere(o + vec3(0.0, half_length, 0.0), d, r);
    return top < 0.0 ? bottom : bottom < 0.0 ? top : min(top, bottom);
}

vec3 capsule_normal(vec3 p, float half_length) {
    return normalize(p - vec3(0.0, clamp(p.y, -half_length, half_length), 0.0));
}
