// Sky where nothing was drawn, blurred occlusion elsewhere, then display colours.
layout(binding = 0) uniform sampler2D colour_texture;
layout(binding = 1) uniform sampler2D open_texture;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 pixel;
layout(location = 0) uniform int samples; // per side, of the target being reduced

vec3 display(vec3 c) {
    c *= 0.62; // exposure
    c = (c * (2.2 * c + 0.08)) / (c * (2.0 * c + 0.62) + 0.16); // filmic shoulder
    return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}

vec3 sample_at(vec2 at) {
    vec4 drawn = texture(colour_texture, at);
    vec3 behind = sky(normalize(ray_through(at)));
    float open = 0.0; // four linear samples between pixels: the mean of 4 x 4
    for (int i = 0; i < 4; ++i) open += texture(open_texture, at + (vec2(i & 1, i >> 1) * 2.0 - 1.0) * viewport.zw).r;
    return behind * (1.0 - clamp(drawn.a, 0.0, 1.0)) + drawn.rgb * (open * 0.25); // premultiplied
}

void main() {
    vec3 sum = vec3(0.0);
    for (int y = 0; y < samples; ++y) {
        for (int x = 0; x < samples; ++x) {
            sum += display(sample_at(uv + ((vec2(x, y) + 0.5) - 0.5 * float(samples)) * viewport.zw));
        }
    }
    pixel = vec4(sum / float(samples * samples), 1.0);
}
