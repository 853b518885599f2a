// Surfaces with an opacity, blended over what is behind them; denser at the outline, as glass is.
layout(location = 0) out vec4 pixel;

void main() {
    vec3 n = facing_normal();
    float facing = abs(dot(n, normalize(eye.xyz - world)));
    float alpha = mix(sqrt(own_colour.w), own_colour.w, facing) * (1.0 - haze_there());
    pixel = vec4(shade(ground_albedo(n), n, world, 0.6) * alpha, alpha); // premultiplied
}
