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

layout(std430, binding = 1) readonly buffer HullPlanes { vec4 hull_planes[]; };

// Where the ray is within a hull's planes (hull_planes.h): from x to y, and the face by which it enters. x is -1 where
// it never is.
vec2 cast_hull(vec3 o, vec3 d, uint hull, out vec3 face) {
    vec2 within = vec2(-3.0e38, 3.0e38);
    uint end = hull + uint(hull_planes[hull].w);
    face = vec3(0.0);
    for (uint i = hull + 1u; i <= end; ++i) {
        vec4 plane = hull_planes[i];
        float rate = dot(plane.xyz, d);
        float height = plane.w - dot(plane.xyz, o);
        if (abs(rate) < 1.0e-9) {
            if (height < 0.0) return vec2(-1.0);
        } else if (rate > 0.0) {
            within.y = min(within.y, height / rate);
        } else if (height / rate > within.x) {
            within.x = height / rate;
            face = plane.xyz;
        }
    }
    return within.x <= within.y ? within : vec2(-1.0);
}

// How far a point of a face is from the face's edges: from the nearest of the other planes, along the face.
float hull_border(vec3 p, vec3 face, uint hull) {
    float border = 3.0e38;
    uint end = hull + uint(hull_planes[hull].w);
    for (uint i = hull + 1u; i <= end; ++i) {
        vec4 plane = hull_planes[i];
        float along = dot(plane.xyz, face);
        float across2 = 1.0 - along * along;
        if (across2 > 1.0e-5) border = min(border, (plane.w - dot(plane.xyz, p)) * inversesqrt(across2));
    }
    return border;
}
