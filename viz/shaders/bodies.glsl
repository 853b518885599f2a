// Body streams and the shape table, for the compute shaders that write instances.

layout(std430, binding = 0) readonly buffer Positions { vec4 positions[]; };
layout(std430, binding = 1) readonly buffer Rotations { vec4 rotations[]; };
layout(std430, binding = 2) readonly buffer Velocities { vec4 velocities[]; };
layout(std430, binding = 3) readonly buffer ShapeIndices { uint shape_indices[]; };
layout(std430, binding = 4) readonly buffer Shapes { uvec4 shapes[]; }; // first part, parts, shape count, colour
layout(std430, binding = 5) readonly buffer Parts { Part parts[]; };
layout(std430, binding = 10) readonly buffer Boxes { float boxes[]; }; // six floats a body
layout(std430, binding = 11) readonly buffer Values { uint values[]; }; // pair count or rank, by the colour mode

uvec2 parts_of(uint body) {
    uint shape = shape_indices[body];
    return shape < shapes[0].z ? shapes[shape].xy : uvec2(0u);
}

uint own_colour(uint body) {
    uint shape = shape_indices[body];
    return shape < shapes[0].z ? shapes[shape].w : 0u;
}

// Opacity of a clear body in 16ths, 0 for others. Only its own colours make a body clear.
uint clear_sixteenths(uint body) {
    uint opacity = glass.x > 0u ? own_colour(body) >> 24 : 0u;
    return opacity == 0u || opacity == 255u ? 0u : clamp((opacity + 8u) / 16u, 1u, 15u);
}

vec3 colour_of(uint body) {
    uint mode = frame_counts.z;
    vec3 low = vec3(0.0), high = vec3(0.0);
    if (mode == 3u) {
        low = vec3(boxes[6u * body], boxes[6u * body + 1u], boxes[6u * body + 2u]);
        high = vec3(boxes[6u * body + 3u], boxes[6u * body + 4u], boxes[6u * body + 5u]);
    }
    uint value = mode == 2u || mode == 4u ? values[body] : 0u;
    return body_colour(frame_counts.y + body, shape_indices[body], own_colour(body), velocities[body], low, high - low, value);
}

Instance make_instance(uint body, uint part_index, vec3 colour) {
    Part part = parts[part_index];
    vec4 rotation = rotations[body];
    uint kind = floatBitsToUint(part.size.w);
    Instance instance;
    instance.centre = vec4(positions[body].xyz + rotate(rotation, part.position.xyz), part.position.w);
    instance.rotation = multiply(rotation, part.rotation);
    uint flags = frame_counts.y + body + 1u == selection.x ? FLAG_PICKED : 0u;
    flags |= clear_sixteenths(body) << CLEAR_SHIFT;
    instance.size = vec4(part.size.xyz, uintBitsToFloat(pack_colour(colour, kind | flags)));
    return instance;
}

// Half the least distance to a cull plane decides; one sphere against six planes.
bool visible(vec3 centre, float radius) {
    for (int i = 0; i < 6; ++i) {
        if (dot(cull_planes[i], vec4(centre, 1.0)) < -radius) return false;
    }
    return true;
}

// Radius on the screen in pixels.
float pixel_radius(vec3 centre, float radius) {
    return eye.w * radius / max(dot(centre - eye.xyz, forward.xyz), forward.w);
}
