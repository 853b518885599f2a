// What fragment shaders leave of an opaque surface; light.comp does the rest. Graphics units are few on compute cards,
// so that the per-pixel work is done in compute shaders, by the whole chip.

layout(location = 0) out vec4 surface_albedo; // square root of the albedo; gloss
layout(location = 1) out vec4 surface_normal; // normal; haze: the share of sky in the colour

void leave(vec3 albedo, vec3 normal, float gloss, float haze) {
    surface_albedo = vec4(sqrt(clamp(albedo, 0.0, 1.0)), gloss);
    surface_normal = vec4(normal, haze);
}

vec3 unpack_colour(uint bits) {
    vec3 c = vec3(float(bits & 255u), float((bits >> 8) & 255u), float((bits >> 16) & 255u)) / 255.0;
    return c * c; // stored as a square root: more steps for dark colours
}
