// Prepended to every shader: the frame's constants and helpers that several stages share.

layout(std140, binding = 0) uniform Frame {
    mat4 view_projection; // reversed infinite depth: 1 at the near plane, 0 at infinity
    mat4 light_matrix; // world to the shadow map's clip space
    vec4 cull_planes[6]; // inside where dot(plane, (p, 1)) >= 0; of the camera or of the light, see `frame_counts.w`
    vec4 eye;            // w: pixels of one metre at a distance of one metre
    vec4 forward;        // w: near distance
    vec4 across;         // right and up, as long as half the picture at a distance of one metre;
    vec4 upward;         // across.w: 1 where there is no ground; upward.w: used share of the shadow map's side
    vec4 light;          // direction to the light; w: shadow strength, 0 without a shadow map
    vec4 viewport;       // width, height, 1/width, 1/height in pixels of the render target
    vec4 look;           // x: cell edge, y: scale of speeds, z: scale of pair counts, w: scale of ranks
    vec4 ground;         // scene centre; w: scene radius
    vec4 shadow_map;     // x: texels of one metre, y: 1/texels, z: opacity of transparent bodies, w: ambient strength
    uvec4 frame_counts;  // x: bodies of this chunk, y: first body of this chunk, z: colour mode, w: 1 when culling for light
    uvec4 glass;         // x: 1 where bodies are as clear as their shapes are, y: 1 where the ordered drawing draws those alone
    vec4 cut_plane;      // bodies where dot(cut_plane, (p, 1)) > 0 are left out
    uvec4 selection;     // x: picked slot + 1, y: list capacity, z: bodies in all, w: parts per body (ordered drawing)
};

const uint KIND_NONE = 0u;
const uint KIND_SPHERE = 1u;
const uint KIND_BOX = 2u;
const uint KIND_CAPSULE = 3u;
const uint KIND_HULL = 4u;
const uint KIND_BITS = 7u;
const uint FLAG_PICKED = 8u;
const uint CLEAR_SHIFT = 4u; // of the kind's upper four bits: 0, or the opacity of a clear body in 16ths

// One drawn sphere, box, capsule or hull, written by cull.comp or order.comp.
struct Instance {
    vec4 centre;   // w: radius of its bounding sphere
    vec4 rotation; // quaternion x, y, z, w
    vec4 size;     // as psv_shape_def.size, of hulls x: its place in HullPlanes; w: bits of colour (24), kind and flags (8)
};

struct Part {
    vec4 position; // in the body's frame; w: radius of its bounding sphere
    vec4 rotation;
    vec4 size; // w: bits of its kind
};

bool is_cut(vec4 p) { return dot(cut_plane.xyz, p.xyz) + cut_plane.w > 0.0; }

vec3 rotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }

vec3 unrotate(vec4 q, vec3 v) { return rotate(vec4(-q.xyz, q.w), v); }

vec4 multiply(vec4 a, vec4 b) {
    return vec4(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

uint hash(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

// A colour as scene files and defs have it (0xAABBGGRR, sRGB), linear.
vec3 linear_colour(uint bits) {
    return pow(vec3(float(bits & 255u), float((bits >> 8) & 255u), float((bits >> 16) & 255u)) / 255.0, vec3(2.2));
}

vec3 sky(vec3 direction) {
    float up = clamp(direction.y, -1.0, 1.0);
    vec3 horizon = vec3(0.60, 0.67, 0.76);
    vec3 zenith = vec3(0.14, 0.24, 0.42);
    vec3 below = vec3(0.36, 0.39, 0.44);
    if (across.w > 0.0) return mix(vec3(0.012, 0.014, 0.030), vec3(0.035, 0.030, 0.070), 0.5 + 0.5 * up); // no ground: space
    return up >= 0.0 ? mix(horizon, zenith, pow(up, 0.55)) : mix(horizon, below, pow(-up, 0.5));
}

// Edge of the cells that a box of this extent lies in: classes in steps of 2.5, as the row-sorted method has them, of which
// bodies of the mean size take the cell edge `look.x`.
float cell_edge_of(vec3 extent) {
    float most = max(max(extent.x, extent.y), max(extent.z, 1.0e-6 * look.x));
    return look.x * pow(2.5, ceil(log(most / look.x) / log(2.5) - 1.0e-3));
}

// Ray (not unit, one metre deep) through a point of the picture, from 0 to 1.
vec3 ray_through(vec2 uv) { return forward.xyz + across.xyz * (2.0 * uv.x - 1.0) + upward.xyz * (2.0 * uv.y - 1.0); }

// Depth of a point in the reversed infinite projection.
float depth_of(vec3 p) { return forward.w / max(dot(p - eye.xyz, forward.xyz), forward.w); }

// Blue, cyan, green, yellow, red for 0 to 1: counts and ranks.
vec3 heat(float x) {
    x = clamp(x, 0.0, 1.0);
    vec3 low = mix(vec3(0.09, 0.16, 0.50), vec3(0.05, 0.58, 0.62), smoothstep(0.0, 0.35, x));
    vec3 high = mix(vec3(0.94, 0.75, 0.12), vec3(0.86, 0.12, 0.07), smoothstep(0.65, 1.0, x));
    return mix(low, high, smoothstep(0.3, 0.7, x));
}
