layout(location = 0) in vec4 line_colour;
layout(location = 0) out vec4 pixel;

void main() { pixel = vec4(line_colour.rgb * line_colour.a, line_colour.a); }
