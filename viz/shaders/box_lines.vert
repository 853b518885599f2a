// Overlay: the 12 edges of each body's box, or of the cell of its size class (24 vertices an instance). Rows are the edges along x.
layout(std430, binding = 0) readonly buffer Boxes { float boxes[]; };
layout(std430, binding = 1) readonly buffer Positions { vec4 positions[]; };

layout(location = 0) uniform uint line_mode; // 0 boxes, 1 cells
layout(location = 0) out vec4 line_colour;

void main() {
    uint body = uint(gl_InstanceID);
    vec3 low = vec3(boxes[6u * body], boxes[6u * body + 1u], boxes[6u * body + 2u]);
    vec3 high = vec3(boxes[6u * body + 3u], boxes[6u * body + 4u], boxes[6u * body + 5u]);
    bool skip = positions[body].w <= 0.0 || any(greaterThan(high - low, vec3(1.0e6))) || any(isnan(low)) ||
                !all(lessThanEqual(low, high));
    int edge = gl_VertexID / 2;
    int axis = edge / 4;
    int corner = edge % 4;
    line_colour = vec4(1.0, 0.86, 0.25, 0.85);
    if (line_mode == 1u) {
        float cell = cell_edge_of(high - low);
        low = floor(low / cell) * cell;
        high = low + cell;
        line_colour = axis == 0 ? vec4(0.25, 0.9, 1.0, 0.9) : vec4(0.2, 0.6, 0.8, 0.25);
    }
    if (body + 1u == selection.x) line_colour = vec4(1.0, 0.2, 0.9, 1.0);
    bvec3 top;
    top[axis] = (gl_VertexID & 1) != 0;
    top[(axis + 1) % 3] = (corner & 1) != 0;
    top[(axis + 2) % 3] = (corner & 2) != 0;
    vec3 p = vec3(top.x ? high.x : low.x, top.y ? high.y : low.y, top.z ? high.z : low.z);
    gl_Position = skip ? vec4(2.0, 2.0, 2.0, 1.0) : view_projection * vec4(p, 1.0);
    gl_Position.z += 2.0e-4 * gl_Position.z; // towards the eye, over the surface that it lies on
}
