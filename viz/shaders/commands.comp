// Input: the four counters of cull.comp. Output: the four indirect draw commands. One thread; a count over its list's
// capacity is drawn as far as it goes and reported to the host by the counter itself.
layout(local_size_x = 1) in;

layout(std430, binding = 12) readonly buffer Counters { uint counters[4]; uint capacities[4]; };
layout(std430, binding = 13) writeonly buffer Commands { uint commands[20]; };

void command(uint at, uint count, uint instances) {
    commands[at] = count;
    commands[at + 1u] = instances;
    commands[at + 2u] = 0u;
    commands[at + 3u] = 0u;
    commands[at + 4u] = 0u;
}

void main() {
    uint n[4];
    for (uint i = 0u; i < 4u; ++i) n[i] = min(counters[i], capacities[i]);
    command(0u, n[0], 1u);       // points: one vertex each
    command(5u, 3u * n[1], 1u);  // spheres: one triangle each
    command(10u, 18u, n[2]);     // boxes: the three faces towards the eye, 7 vertices
    command(15u, 18u, n[3]);     // capsules and hulls: ray cast in the same faces
}
