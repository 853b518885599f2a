// Shadow map: depth alone; point sprites are discs.
layout(location = 4) uniform uint round_points;

void main() {
    if (round_points != 0u) {
        vec2 d = gl_PointCoord * 2.0 - 1.0;
        if (dot(d, d) > 1.0) discard;
    }
}
