// Opaque planes, height fields and meshes.
void main() {
    vec3 n = facing_normal();
    leave(ground_albedo(n), n, 0.05, haze_there());
}
