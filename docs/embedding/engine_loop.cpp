// A frame loop of an engine in C++: boxes move, overlaps begin and end, a ray picks, a sort gives the order of drawing.
// Memory is freed and errors are reported without a line for it.
#include <cstdio>
#include <pairsieve/pairsieve.hpp>

namespace {
struct body {
    const char *name;
    float x, depth, speed;
};

const std::uint64_t most = 1000;

int run() {
    psv::context context = psv::make_context(PSV_BACKEND_CPU); // first: all others need it
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = most;
    def.grow_pairs = def.events = true;
    psv::pair_finder finder = psv::make_pair_finder(context, def);
    psv::tree tree = psv::make_tree(context, most);
    psv::sorter<float> sorter = psv::make_sorter<float>(context, most);

    std::vector<body> bodies = {{"left", 0, 0, 0.75f}, {"right", 5, 0.25f, -0.75f}, {"far", 2, 9, 0}};
    std::vector<psv_aabb> boxes(bodies.size());
    std::vector<float> depths(bodies.size());
    std::size_t begins = 0, ends = 0;
    for (int frame = 0; frame < 8; ++frame) {
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            body &moved = bodies[i];
            moved.x += moved.speed;
            depths[i] = moved.depth;
            boxes[i] = {{moved.x - 0.5f, -0.5f, moved.depth - 0.5f}, {moved.x + 0.5f, 0.5f, moved.depth + 0.5f}};
        }
        finder.find(boxes);
        const psv::pair_events events = finder.events();
        for (const psv_pair &pair : events.begin)
            std::printf("frame %d: %s meets %s\n", frame, bodies[pair.a].name, bodies[pair.b].name);
        for (const psv_pair &pair : events.end)
            std::printf("frame %d: %s leaves %s\n", frame, bodies[pair.a].name, bodies[pair.b].name);
        begins += events.begin.size();
        ends += events.end.size();
    }

    tree.build(boxes);
    const psv_ray rays[] = {{{-10, 0, 0}, 0, {1, 0, 0}, 100}, {{-10, 0, 50}, 0, {1, 0, 0}, 100}};
    const std::vector<psv_ray_hit> hits = tree.closest_hits(rays);
    for (const psv_ray_hit &hit : hits)
        std::printf("the ray meets %s\n", hit.item == PSV_NO_ITEM ? "nothing" : bodies[hit.item].name);
    const std::vector<std::uint32_t> order = sorter.order(depths);
    std::printf("in front: %s\n", bodies[order[0]].name);
    return begins == 1 && ends == 1 && hits[0].item == 1 && hits[1].item == PSV_NO_ITEM && order[2] == 2 ? 0 : 1;
}
} // namespace

int main() {
    try {
        return run();
    } catch (const psv::error &error) {
        std::printf("%s: %s\n", psv_status_name(error.status()), error.what());
        return 1;
    }
}
