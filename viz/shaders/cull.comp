// Input: body streams of one chunk. Output: four lists of instances (points, spheres, boxes, capsules and hulls) and their counts.
// One thread a body: frustum test, choice of detail by its radius in pixels, then an append whose place comes from
// shared counters, so that a work group touches each global counter once. Reads at most 68 bytes a body, writes 48 an
// instance.
layout(local_size_x = 256) in;

layout(std430, binding = 6) writeonly buffer Points { Instance point_list[]; };
layout(std430, binding = 7) writeonly buffer Spheres { Instance sphere_list[]; };
layout(std430, binding = 8) writeonly buffer BoxList { Instance box_list[]; };
layout(std430, binding = 9) writeonly buffer Cast { Instance cast_list[]; };
layout(std430, binding = 12) buffer Counters { uint counters[4]; uint capacities[4]; };

const float POINT_PIXELS = 2.2; // spheres below this radius are points
const float BODY_POINT_PIXELS = 1.2; // whole bodies, compounds too

shared uint group_count[4];
shared uint group_base[4];

uint list_of(uint part_index, vec3 centre) {
    Part part = parts[part_index];
    uint kind = floatBitsToUint(part.size.w);
    if (frame_counts.w == 1u) return kind == KIND_SPHERE ? 0u : kind == KIND_HULL ? 3u : 2u; // shadows: discs and boxes
    float pixels = pixel_radius(centre, part.position.w);
    if (kind == KIND_SPHERE) return pixels < POINT_PIXELS ? 0u : 1u;
    if (pixels < BODY_POINT_PIXELS) return 0u;
    return kind == KIND_BOX ? 2u : 3u;
}

void store(uint list, uint place, Instance instance) {
    if (place >= capacities[list]) return; // counted all the same: the host enlarges the list and draws again
    if (list == 0u) point_list[place] = instance;
    else if (list == 1u) sphere_list[place] = instance;
    else if (list == 2u) box_list[place] = instance;
    else cast_list[place] = instance;
}

void main() {
    uint body = gl_GlobalInvocationID.x + gl_NumWorkGroups.x * 256u * gl_GlobalInvocationID.y;
    if (gl_LocalInvocationIndex < 4u) group_count[gl_LocalInvocationIndex] = 0u;
    barrier();
    uvec2 range = uvec2(0u);
    vec4 place = vec4(0.0);
    bool one_point = false;
    if (body < frame_counts.x) {
        place = positions[body];
        if (place.w > 0.0 && !is_cut(place)) range = parts_of(body);
        if (range.y > 0u && glass.y > 0u && clear_sixteenths(body) > 0u) range.y = 0u; // throws no shadow either
        if (range.y > 0u && !visible(place.xyz, place.w)) range.y = 0u;
        one_point = range.y > 0u && frame_counts.w == 0u && pixel_radius(place.xyz, place.w) < BODY_POINT_PIXELS;
    }
    uint own[4] = uint[4](0u, 0u, 0u, 0u);
    uint start[4] = uint[4](0u, 0u, 0u, 0u);
    if (one_point) {
        own[0] = 1u;
    } else {
        for (uint i = 0u; i < range.y; ++i) own[list_of(range.x + i, place.xyz)] += 1u;
    }
    for (uint list = 0u; list < 4u; ++list) {
        if (own[list] > 0u) start[list] = atomicAdd(group_count[list], own[list]);
    }
    barrier();
    if (gl_LocalInvocationIndex < 4u) {
        uint list = gl_LocalInvocationIndex;
        group_base[list] = group_count[list] > 0u ? atomicAdd(counters[list], group_count[list]) : 0u;
    }
    barrier();
    if (range.y == 0u) return;
    vec3 colour = frame_counts.w == 1u ? vec3(0.0) : colour_of(body);
    if (one_point) {
        Instance instance = make_instance(body, range.x, colour);
        instance.centre = place;
        store(0u, group_base[0] + start[0], instance);
        return;
    }
    for (uint i = 0u; i < range.y; ++i) {
        uint list = list_of(range.x + i, place.xyz);
        Instance instance = make_instance(body, range.x + i, colour);
        store(list, group_base[list] + start[list], instance);
        start[list] += 1u;
    }
}
