// Boxes of shapes with poses, rounded as on the CPU (nothing is contracted). Without POINT_SETS: one thread an instance;
// instances of long point sets are left to the other form, where a group takes an instance and reduces its points in
// shared memory. param 0: instances, 1: shapes, 2: points, 3: bits (1 a shape index, 2 end poses), 4: margin.
// variants: POINT_SETS=0,1
#if POINT_SETS
layout(local_size_x = 64) in;
#else
layout(local_size_x = 128) in;
#endif
#define LONG_RANGE 64u
layout(std430, binding = 0) readonly buffer shape_block { uint shapes[]; };
layout(std430, binding = 1) readonly buffer point_block { float points[]; };
layout(std430, binding = 2) readonly buffer index_block { uint shape_index[]; };
layout(std430, binding = 3) readonly buffer pose_block { float poses[]; };
layout(std430, binding = 4) readonly buffer end_pose_block { float end_poses[]; };
layout(std430, binding = 5) writeonly buffer box_block { uint boxes[]; };
const uint POSITIVE_INFINITY = 0x7f800000u, NEGATIVE_INFINITY = 0xff800000u;

// Ordered numbers, a NaN above or below all others: so that a minimum or maximum keeps it.
uint ordered_bits(float x) {
    uint bits = floatBitsToUint(x);
    return bits ^ ((bits >> 31) != 0u ? 0xffffffffu : 0x80000000u);
}
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
float float_of(uint number) {
    return uintBitsToFloat((number >> 31) != 0u ? number ^ 0x80000000u : ~number);
}

struct bounds {
    uvec3 low, high; // ordered numbers
};

void add_point(inout bounds made, precise vec3 rows[3], uint at) {
    float x = points[base(1) + at], y = points[base(1) + at + 1u], z = points[base(1) + at + 2u];
    for (int k = 0; k < 3; ++k) {
        precise float place = rows[k].x * x + rows[k].y * y + rows[k].z * z;
        uint number = ordered_bits(place);
        made.low[k] = is_nan(place) ? 0u : min(made.low[k], number);
        made.high[k] = is_nan(place) ? 0xffffffffu : max(made.high[k], number);
    }
}

// Rows of the rotation matrix of a unit quaternion.
void rotation_rows(vec4 q, out precise vec3 rows[3]) {
    precise float x = q.x, y = q.y, z = q.z, w = q.w;
    rows[0] = vec3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y));
    rows[1] = vec3(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x));
    rows[2] = vec3(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y));
}

#if POINT_SETS
shared uint group_low[3], group_high[3];
#endif

// Extends the box [low, high] by the shape under one pose.
void add_pose(uint shape, bool second, uint instance, inout precise vec3 low, inout precise vec3 high) {
    float number[7];
    precise vec3 rows[3];
    for (uint k = 0u; k < 7u; ++k)
        number[k] = second ? end_poses[base(4) + 7u * instance + k] : poses[base(3) + 7u * instance + k];
    rotation_rows(vec4(number[3], number[4], number[5], number[6]), rows);
    uint type = shapes[shape], first = shapes[shape + 1u], count = shapes[shape + 2u];
    vec3 size = vec3(uintBitsToFloat(shapes[shape + 3u]), uintBitsToFloat(shapes[shape + 4u]),
                     uintBitsToFloat(shapes[shape + 5u]));
    bounds made = bounds(uvec3(0xff800000u), uvec3(0x007fffffu)); // plus and minus infinity
#if POINT_SETS
    if (gl_LocalInvocationID.x < 3u) {
        group_low[gl_LocalInvocationID.x] = made.low.x;
        group_high[gl_LocalInvocationID.x] = made.high.x;
    }
    barrier();
    for (uint p = gl_LocalInvocationID.x; p < count; p += 64u)
        add_point(made, rows, 3u * (first + p));
    for (int k = 0; k < 3; ++k) {
        atomicMin(group_low[k], made.low[k]);
        atomicMax(group_high[k], made.high[k]);
    }
    barrier();
    for (int k = 0; k < 3; ++k) {
        made.low[k] = group_low[k];
        made.high[k] = group_high[k];
    }
    barrier();
#else
    for (uint p = 0u; type == 3u && p < count; ++p)
        add_point(made, rows, 3u * (first + p));
#endif
    for (int k = 0; k < 3; ++k) {
        precise float reach = size.x * abs(rows[k].x) + size.y * abs(rows[k].y) + size.z * abs(rows[k].z);
        precise float capsule = size.x + size.y * abs(rows[k].y);
        if (type == 0u) reach = size.x;
        if (type == 2u) reach = capsule;
        float least = type == 3u ? float_of(made.low[k]) : -reach, most = type == 3u ? float_of(made.high[k]) : reach;
        precise float from = number[k] + least, to = number[k] + most;
        if (is_nan(from) || is_nan(low[k]) || from < low[k]) low[k] = is_nan(low[k]) ? low[k] : from;
        if (is_nan(to) || is_nan(high[k]) || to > high[k]) high[k] = is_nan(high[k]) ? high[k] : to;
    }
}

// First word of the instance's shape; false when it names no shape, or points beyond the array.
bool find_shape(uint instance, out uint shape) {
    uint index = (param(3) & 1u) != 0u ? shape_index[base(2) + instance] : instance;
    shape = base(0) + 6u * index;
    if (index >= param(1)) return false;
    uint type = shapes[shape], first = shapes[shape + 1u], count = shapes[shape + 2u];
    if (type > 3u) return false;
    return type != 3u || (count > 0u && first <= param(2) && count <= param(2) - first);
}

void main() {
#if POINT_SETS
    uint instance = group_number();
#else
    uint instance = group_number() * 128u + gl_LocalInvocationID.x;
#endif
    if (instance >= param(0)) return;
    uint shape;
    precise vec3 low = vec3(uintBitsToFloat(POSITIVE_INFINITY)), high = vec3(uintBitsToFloat(NEGATIVE_INFINITY));
    bool found = find_shape(instance, shape);
    bool is_long = found && shapes[shape] == 3u && shapes[shape + 2u] > LONG_RANGE;
#if POINT_SETS
    if (!is_long) return; // the whole group
#else
    if (is_long) return;
#endif
    if (found) {
        add_pose(shape, false, instance, low, high);
        bool bad = !(low.x <= high.x && low.y <= high.y && low.z <= high.z);
        if ((param(3) & 2u) != 0u && !bad) add_pose(shape, true, instance, low, high);
        low -= vec3(uintBitsToFloat(param(4)));
        high += vec3(uintBitsToFloat(param(4)));
    }
#if POINT_SETS
    if (gl_LocalInvocationID.x != 0u) return;
#endif
    uint at = base(5) + 6u * instance;
    for (uint k = 0u; k < 3u; ++k) {
        boxes[at + k] = floatBitsToUint(low[k]);
        boxes[at + 3u + k] = floatBitsToUint(high[k]);
    }
}
