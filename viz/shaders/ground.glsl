// Colours of planes, height fields and meshes: their own, or a metre grid on planes and earth on the others.
layout(location = 0) in vec3 world;
layout(location = 1) in vec3 normal;
layout(location = 2) uniform uint surface_kind; // 0 plane, 1 height field, 2 mesh
layout(location = 3) uniform float grid_edge;
layout(location = 4) uniform vec4 own_colour; // linear; w: opacity, 0 without an own colour

float grid(vec2 p, float edge, float width) {
    vec2 cells = p / edge;
    vec2 per_pixel = fwidth(cells);
    vec2 away = abs(fract(cells - 0.5) - 0.5) / max(per_pixel, vec2(1.0e-6));
    vec2 line = (1.0 - smoothstep(width, width + 1.0, away)) * (1.0 - smoothstep(0.15, 0.5, per_pixel));
    return max(line.x, line.y);
}

vec3 facing_normal() {
    vec3 n = normalize(normal);
    return !gl_FrontFacing && surface_kind != 0u ? -n : n;
}

vec3 ground_albedo(vec3 n) {
    bool own = own_colour.w > 0.0;
    if (surface_kind == 0u) {
        vec2 p = abs(n.y) > 0.7 ? world.xz : abs(n.x) > 0.7 ? world.yz : world.xy;
        vec3 albedo = own ? own_colour.rgb : abs(n.y) > 0.7 ? vec3(0.40, 0.41, 0.43) : vec3(0.46, 0.48, 0.52);
        return albedo * (1.0 - 0.22 * grid(p, grid_edge, 0.0) - 0.30 * grid(p, 10.0 * grid_edge, 0.6));
    }
    if (surface_kind == 2u) return own ? own_colour.rgb : vec3(0.48, 0.44, 0.40);
    float steep = smoothstep(0.95, 0.75, n.y);
    vec3 albedo = own ? own_colour.rgb : mix(vec3(0.17, 0.25, 0.10), vec3(0.29, 0.23, 0.17), steep);
    return albedo * (1.0 - 0.18 * grid(vec2(world.y), 0.1 * ground.w, 0.0));
}

// Planes fade out with distance and melt into the sky.
float haze_there() {
    return surface_kind == 0u ? smoothstep(2.5, 14.0, length(world - ground.xyz) / ground.w) : 0.0;
}
