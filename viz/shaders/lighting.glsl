// Lighting, of opaque surfaces in light.comp and of glass in ordered.frag: one sun with a soft shadow, sky light from above, light bounced off the ground.

layout(binding = 0) uniform sampler2DShadow shadow_texture;

float sun_visibility(vec3 p, vec3 normal) {
    if (light.w <= 0.0) return 1.0;
    vec3 q = (light_matrix * vec4(p + normal * (1.5 / shadow_map.x), 1.0)).xyz;
    vec2 uv = q.xy * 0.5 + 0.5;
    if (any(lessThan(uv, vec2(0.0))) || any(greaterThan(uv, vec2(1.0)))) return 1.0;
    float lit = 0.0;
    for (int i = 0; i < 4; ++i) { // each sample is a mean of four texels
        lit += texture(shadow_texture, vec3(uv * upward.w + (vec2(i & 1, i >> 1) * 2.0 - 1.0) * 0.8 * shadow_map.y, q.z));
    }
    return mix(1.0, lit * 0.25, light.w);
}

vec3 shade(vec3 albedo, vec3 normal, vec3 p, float gloss) {
    vec3 to_eye = normalize(eye.xyz - p);
    float sun = max(dot(normal, light.xyz), 0.0) * sun_visibility(p, normal);
    float up = normal.y * 0.5 + 0.5;
    vec3 ambient = mix(vec3(0.15, 0.135, 0.12), vec3(0.27, 0.33, 0.42), up) * shadow_map.w;
    vec3 halfway = normalize(light.xyz + to_eye);
    float specular = gloss * pow(max(dot(normal, halfway), 0.0), 48.0) * sun;
    float rim = gloss * 0.16 * pow(1.0 - max(dot(normal, to_eye), 0.0), 4.0);
    return albedo * (ambient + vec3(1.10, 1.00, 0.84) * sun) + vec3(specular + rim);
}

vec3 unpack_colour(uint bits) {
    vec3 c = vec3(float(bits & 255u), float((bits >> 8) & 255u), float((bits >> 16) & 255u)) / 255.0;
    return c * c; // stored as a square root: more steps for dark colours
}
