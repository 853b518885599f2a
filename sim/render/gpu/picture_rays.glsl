// Vectors with the CPU's roundings, and what a ray of a picture meets: triangles, or with BODIES planes of ground and the
// solids of bodies (sim/queries/body_rays.h).

vec3 sum_with(vec3 a, vec3 b, float s) {
    precise vec3 sum = a + b * s;
    return sum;
}
float dot_of(vec3 a, vec3 b) {
    precise float sum = a.x * b.x + a.y * b.y + a.z * b.z;
    return sum;
}
vec3 cross_of(vec3 a, vec3 b) {
    precise vec3 product = a.yzx * b.zxy - a.zxy * b.yzx;
    return product;
}
vec3 unit_or(vec3 a, vec3 other) {
    float squared = dot_of(a, a);
    precise vec3 unit = a * divided(1.0, root_of(squared));
    return squared > 1e-20 ? unit : other;
}

// What a ray has met: how far to look, and nothing yet, at the beginning.
struct seen_surface {
    float t;
    uint slot; // of the body, or the triangle; NO_ITEM: nothing
    vec3 normal;
    uint type; // psv_shape_type
    uint body; // its number among the items; of ground among the planes
};
#define SHAPE_SPHERE 1u
#define SHAPE_CAPSULE 3u
#define SHAPE_COMPOUND 4u
#define SHAPE_PLANE 5u
#define SHAPE_MESH 7u
#define SHAPE_HULL 8u
#define SHAPE_PART 0x100u
#define ODD_SHAPE 0x200u
#define MOVES 0x400u

void see(inout seen_surface seen, float t, vec3 normal, uint slot, uint type, uint body) {
    if (t > seen.t || (t == seen.t && slot > seen.slot)) return;
    seen = seen_surface(t, slot, normal, type, body);
}

#if BODIES
layout(std430, binding = 3) readonly buffer body_block { vec4 bodies[]; }; // psvi_gpu_body: four a body
layout(std430, binding = 4) readonly buffer plane_block { vec4 planes[]; }; // of ground, then of hulls

struct surface {
    float t;
    vec3 normal;
};

vec3 rotated(vec4 q, vec3 a) {
    precise vec3 twice = cross_of(q.xyz, a) * 2.0;
    precise vec3 sum = (a + twice * q.w) + cross_of(q.xyz, twice);
    return sum;
}
vec3 rotated_back(vec4 q, vec3 a) { return rotated(vec4(-q.xyz, q.w), a); }

// A ray that begins inside meets the solid there.
bool ray_inside(vec3 d, out surface at) {
    at = surface(0.0, unit_or(-d, vec3(0.0, 1.0, 0.0)));
    return true;
}

bool ray_ball(vec3 o, vec3 d, vec3 centre, float radius, out surface at) {
    precise vec3 m = o - centre;
    precise float square = radius * radius;
    at = surface(0.0, d);
    if (dot_of(m, m) <= square) return ray_inside(d, at);
    float along = -dot_of(m, d);
    if (!(along > 0.0)) return false;
    float length2 = dot_of(d, d), middle = divided(along, length2);
    vec3 side = sum_with(m, d, middle);
    precise float half2 = square - dot_of(side, side);
    if (!(half2 >= 0.0)) return false;
    precise float t = middle - root_of(divided(half2, length2));
    at.t = max(t, 0.0);
    at.normal = unit_or(sum_with(m, d, at.t), -d);
    return true;
}

bool ray_block(vec3 o, vec3 d, vec3 size, out surface at) {
    float near = 0.0, far = infinity();
    uint entered = 3u;
    at = surface(0.0, d);
    for (uint k = 0u; k < 3u; ++k) {
        if (abs(d[k]) < 1e-30) {
            if (-size[k] <= o[k] && o[k] <= size[k]) continue;
            return false;
        }
        precise float low = -size[k] - o[k], high = size[k] - o[k];
        float a = divided(low, d[k]), b = divided(high, d[k]);
        if (min(a, b) > near) {
            near = min(a, b);
            entered = k;
        }
        far = min(far, max(a, b));
        if (near > far) return false;
    }
    if (entered == 3u) return ray_inside(d, at);
    at = surface(near, vec3(0.0));
    at.normal[entered] = d[entered] > 0.0 ? -1.0 : 1.0;
    return true;
}

// Along y, at the origin.
bool ray_capsule(vec3 o, vec3 d, float radius, float half_length, out surface at) {
    precise float square = radius * radius;
    precise vec3 core = vec3(o.x, o.y - clamp(o.y, -half_length, half_length), o.z);
    at = surface(0.0, d);
    if (dot_of(core, core) <= square) return ray_inside(d, at);
    bool hit = false;
    precise float a = d.x * d.x + d.z * d.z, approach = -(o.x * d.x + o.z * d.z);
    if (a > 1e-30) {
        float middle = divided(approach, a);
        precise float x = o.x + middle * d.x, z = o.z + middle * d.z, half2 = square - x * x - z * z;
        precise float t = middle - root_of(divided(max(half2, 0.0), a));
        precise float y = o.y + t * d.y;
        if (half2 >= 0.0 && t >= 0.0 && abs(y) <= half_length) {
            precise vec3 out_of_axis = vec3(o.x + t * d.x, 0.0, o.z + t * d.z);
            at = surface(t, unit_or(out_of_axis, -d));
            hit = true;
        }
    }
    for (int side = -1; side <= 1; side += 2) {
        surface end;
        if (!ray_ball(o, d, vec3(0.0, float(side) * half_length, 0.0), radius, end)) continue;
        if (hit && end.t >= at.t) continue;
        at = end;
        hit = true;
    }
    return hit;
}

bool ray_hull(uint first, uint count, vec3 o, vec3 d, out surface at) {
    float near = 0.0, far = infinity();
    uint entered = count;
    at = surface(0.0, d);
    for (uint i = 0u; i < count; ++i) {
        vec4 plane = planes[base(4) / 4u + first + i];
        precise float height = dot_of(plane.xyz, o) - plane.w;
        float rate = dot_of(plane.xyz, d);
        if (abs(rate) < 1e-30) {
            if (height > 0.0) return false;
            continue;
        }
        float t = divided(-height, rate);
        if (rate > 0.0) {
            far = min(far, t);
        } else if (height > 0.0 && t >= near) {
            near = t;
            entered = i;
        }
    }
    if (near > far) return false;
    if (entered == count) return ray_inside(d, at);
    at = surface(near, planes[base(4) / 4u + first + entered].xyz);
    return true;
}

// The solid of an item: a ball, block, capsule or hull where it is.
bool ray_solid(uint body, vec3 o, vec3 d, out surface at) {
    uint from = base(3) / 4u + 4u * body;
    vec4 centre = bodies[from], size = bodies[from + 2u];
    uint type = floatBitsToUint(size.w) & 0xffu;
    if (type <= SHAPE_SPHERE) return ray_ball(o, d, centre.xyz, size.x, at);
    vec4 turn = bodies[from + 1u];
    precise vec3 away = o - centre.xyz;
    vec3 local = rotated_back(turn, away), along = rotated_back(turn, d);
    bool hit;
    if (type == SHAPE_CAPSULE) {
        hit = ray_capsule(local, along, size.x, size.y, at);
    } else if (type == SHAPE_HULL) {
        vec4 more = bodies[from + 3u];
        hit = ray_hull(floatBitsToUint(more.z), floatBitsToUint(more.w) >> 24, local, along, at);
    } else {
        hit = ray_block(local, along, size.xyz, at);
    }
    if (hit) at.normal = rotated(turn, at.normal);
    return hit;
}

void meet(tree_ray ray, uint place, vec3 o, vec3 d, inout seen_surface seen) {
    uint body = load_item(place).item, from = base(3) / 4u + 4u * body;
    surface at;
    if (!ray_solid(body, o, d, at) || at.t > seen.t) return;
    uint bits = floatBitsToUint(bodies[from + 2u].w), type = bits & 0xffu;
    if (bodies[from].w > 0.0) type = SHAPE_SPHERE;
    if ((bits & SHAPE_PART) != 0u) type = SHAPE_COMPOUND;
    see(seen, at.t, at.normal, floatBitsToUint(bodies[from + 3u].y), type, body);
}

void meet_ground(uint number, vec3 o, vec3 d, inout seen_surface seen) {
    vec4 place = planes[base(4) / 4u + 2u * number], up = planes[base(4) / 4u + 2u * number + 1u];
    precise vec3 from = o - place.xyz;
    float height = dot_of(from, up.xyz), rate = dot_of(d, up.xyz);
    surface at = surface(0.0, up.xyz);
    if (height <= 0.0)
        ray_inside(d, at);
    else if (!(rate < 0.0))
        return;
    else
        at.t = divided(-height, rate);
    see(seen, at.t, at.normal, floatBitsToUint(place.w), SHAPE_PLANE, number);
}
#else
void meet(tree_ray ray, uint place, vec3 o, vec3 d, inout seen_surface seen) {
    stored_item item = load_item(place);
    ray_hit hit;
    if (!ray_meets(ray, item, hit)) return;
    precise vec3 ab = item.b - item.a, ac = item.c - item.a;
    vec3 normal = unit_or(cross_of(ab, ac), -d);
    see(seen, hit.t, dot_of(normal, d) > 0.0 ? -normal : normal, hit.item, SHAPE_MESH, 0u);
}
#endif

// What a ray of unit length meets first; with `any_hit` something that it meets.
seen_surface look(vec3 o, vec3 d, bool any_hit) {
    seen_surface seen = seen_surface(infinity(), NO_ITEM, vec3(0.0), 0u, 0u);
    tree_ray ray;
    uint number;
#if BODIES
    for (uint g = 0u; g < GROUND_COUNT && !(any_hit && seen.slot != NO_ITEM); ++g)
        meet_ground(g, o, d, seen);
    if (any_hit && seen.slot != NO_ITEM) return seen;
#endif
    uint before = seen.slot;
    begin_walk(0u);
    if (walk_group == 0u || !make_ray(o, 0.0, d, seen.t, ray)) return seen;
    while (next_node(number)) {
        tree_node node = load_node(number);
        uint slots = ray_slots(node, ray, seen.t);
        push_slots(node, slots, ray.octant);
        for (uint left = slots & ~node.inner; left != 0u; left &= left - 1u)
            meet(ray, slot_item(node, uint(findLSB(left))), o, d, seen);
        if (any_hit && seen.slot != before) break;
    }
    return seen;
}
