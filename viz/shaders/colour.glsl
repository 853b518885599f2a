// Colour of a body by the colour mode. Needs Positions, Velocities, Boxes and Values to be declared before it.

vec3 palette(uint i) {
    // Warm, then cool.
    const vec3 colours[8] = vec3[8](vec3(0.76, 0.18, 0.11), vec3(0.90, 0.52, 0.09), vec3(0.84, 0.72, 0.48),
                                    vec3(0.62, 0.31, 0.20), vec3(0.09, 0.33, 0.60), vec3(0.10, 0.48, 0.42),
                                    vec3(0.30, 0.60, 0.74), vec3(0.36, 0.24, 0.56));
    return colours[i & 7u];
}

// own: the shape's colour, 0: none.
vec3 body_colour(uint slot, uint shape, uint own, vec4 velocity, vec3 corner, vec3 extent, uint value) {
    uint mode = frame_counts.z;
    uint noise = hash(slot + 1u);
    float tint = 0.80 + 0.4 * float(noise & 255u) / 255.0;
    if (mode == 1u) { // state: static grey, at rest blue, fast red
        if (velocity.w == 0.0) return vec3(0.35);
        float speed = length(velocity.xyz) * look.y;
        return speed < 0.02 ? vec3(0.09, 0.14, 0.34) : heat(0.15 + sqrt(speed));
    }
    if (mode == 2u) return value == 0u ? vec3(0.22) : heat(float(value) * look.z);
    if (mode == 3u) { // cell of the box's lower corner
        float edge = cell_edge_of(extent);
        ivec3 cell = ivec3(floor(corner / edge));
        uint h = hash(uint(cell.x) * 73856093u ^ uint(cell.y) * 19349663u ^ uint(cell.z) * 83492791u ^ floatBitsToUint(edge));
        return palette(h) * (0.7 + 0.6 * float((h >> 8) & 255u) / 255.0);
    }
    if (mode == 4u) return heat(float(value) * look.w);
    if (own != 0u) return linear_colour(own) * (velocity.w == 0.0 ? 1.0 : 0.9 + 0.2 * float(noise & 255u) / 255.0);
    if (velocity.w == 0.0) return vec3(0.42, 0.43, 0.45);
    return palette((shape & 1u) * 4u + ((noise >> 8) & 3u)) * tint;
}

uint pack_colour(vec3 colour, uint kind) {
    uvec3 c = uvec3(sqrt(clamp(colour, 0.0, 1.0)) * 255.0 + 0.5);
    return c.x | (c.y << 8) | (c.z << 16) | (kind << 24);
}
