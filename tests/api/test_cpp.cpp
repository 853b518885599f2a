// pairsieve.hpp: owners, spans, results of all classes against plain loops; errors as exceptions here, as results in
// test_cpp_results.cpp. Public headers only.
#include "test_cpp.hpp"

#include <algorithm>
#include <array>
#include <random>
#if __has_include(<span>) && __cplusplus >= 202002L
#include <span>
#endif

namespace {
std::vector<psv_aabb> random_boxes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> place(0, 10);
    std::vector<psv_aabb> boxes(count);
    for (psv_aabb &box : boxes)
        for (int k = 0; k < 3; ++k) {
            box.min[k] = place(random);
            box.max[k] = box.min[k] + 1;
        }
    return boxes;
}

bool overlap(const psv_aabb &a, const psv_aabb &b) {
    bool both = true;
    for (int k = 0; k < 3; ++k)
        both = both && a.min[k] <= b.max[k] && b.min[k] <= a.max[k];
    return both;
}

std::vector<std::array<std::uint32_t, 2>> sorted(psv::span<const psv_pair> pairs) {
    std::vector<std::array<std::uint32_t, 2>> list;
    for (const psv_pair &pair : pairs)
        list.push_back({pair.a, pair.b});
    std::sort(list.begin(), list.end());
    return list;
}

void test_spans() {
    std::vector<int> numbers = {1, 2, 3};
    const std::array<int, 2> constant = {4, 5};
    int plain[] = {6, 7, 8, 9};
    psv::span<int> whole(numbers);
    const psv::span<const int> reading(numbers), fixed(constant), array(plain);
    whole[1] = 20;
    CHECK(numbers[1] == 20 && reading.size() == 3 && fixed[1] == 5 && array.size() == 4);
    CHECK(psv::view(numbers).bytes == 12 && psv::view(numbers).address == numbers.data());
#if defined(__cpp_lib_span)
    const std::span<int> standard(numbers);
    const psv::span<const int> from_standard(standard);
    CHECK(from_standard.data() == numbers.data());
#endif
    static_assert(!std::is_constructible_v<psv::span<int>, const std::vector<int> &>, "const data must stay const");
    static_assert(!std::is_copy_constructible_v<psv::context> && std::is_nothrow_move_constructible_v<psv::context>);
}

void test_pairs(psv::context &context) {
    const std::vector<psv_aabb> boxes = random_boxes(700, 1), others = random_boxes(300, 2);
    std::vector<std::array<std::uint32_t, 2>> expected, expected_between;
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        for (std::uint32_t j = i + 1; j < boxes.size(); ++j)
            if (overlap(boxes[i], boxes[j])) expected.push_back({i, j});
        for (std::uint32_t j = 0; j < others.size(); ++j)
            if (overlap(boxes[i], others[j])) expected_between.push_back({i, j});
    }
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 1000;
    def.max_pairs = 1; // it grows
    def.grow_pairs = def.events = true;
    psv::pair_finder made = psv::make_pair_finder(context, def), finder = std::move(made);
    finder.find(boxes);
    CHECK(finder.count() == expected.size() && sorted(finder.pairs()) == expected);
    psv::pair_events events = finder.events();
    CHECK(sorted(events.begin) == expected && events.end.empty());
    finder.find(psv::boxes_of(psv::view(boxes), 2));
    events = finder.events();
    CHECK(events.begin.empty() && events.end.size() + finder.pairs().size() == expected.size());
    CHECK(finder.statistics().boxes == 2 && finder.explain().find("method") != std::string::npos);
    const psv_pair_check right = finder.check(psv::boxes_of(psv::view(boxes), 2), 9);
    CHECK(right.boxes == 9 && right.missing == 0 && right.extra == 0);
    psv::pair_finder two = psv::make_pair_finder(context, 1000);
    two.find_between(boxes, others);
    CHECK(sorted(two.pairs()) == expected_between);
    two.find(psv::span<const psv_aabb>());
    CHECK(two.pairs().empty());
}

void test_sorts(psv::context &context) {
    std::mt19937 random(3);
    std::vector<float> keys(5000);
    std::vector<std::uint32_t> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = static_cast<float>(random() % 100) - 50;
        values[i] = static_cast<std::uint32_t>(i);
    }
    std::vector<std::uint32_t> expected = values;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    psv::sorter<float> sorter = psv::make_sorter<float>(context, keys.size());
    CHECK(sorter.order(keys) == expected);
    std::vector<float> sorted_keys = keys;
    sorter.sort(sorted_keys, values);
    CHECK(values == expected && std::is_sorted(sorted_keys.begin(), sorted_keys.end()));
    sorter.sort(psv::span<float>(keys));
    CHECK(keys == sorted_keys);
    std::vector<std::int64_t> wide = {3, -1, 2};
    std::vector<double> halves = {1.5, 2.5, 3.5};
    psv::make_sorter<std::int64_t>(context, 3, 8).sort(wide, halves);
    CHECK(wide == (std::vector<std::int64_t>{-1, 2, 3}) && halves == (std::vector<double>{2.5, 3.5, 1.5}));
}

void test_trees(psv::context &context) {
    const std::vector<psv_aabb> boxes = random_boxes(200, 4);
    psv_tree_def def = psv_default_tree_def();
    def.max_items = 200;
    def.triangles = true;
    psv::tree tree = psv::make_tree(context, def);
    tree.build(boxes);
    const psv_sphere sphere[] = {{{5, 5, 5}, 20}};
    float least = 1e9f;
    for (const psv_aabb &box : boxes) {
        float square = 0;
        for (int k = 0; k < 3; ++k) {
            const float away = std::max({box.min[k] - 5, 0.0f, 5 - box.max[k]});
            square += away * away;
        }
        least = std::min(least, square);
    }
    const std::vector<psv_near_item> near = tree.nearest(sphere, 3);
    CHECK(near.size() == 3 && std::abs(near[0].distance * near[0].distance - least) < 1e-4f);
    CHECK(near[0].distance <= near[1].distance && near[1].distance <= near[2].distance);
    const std::vector<float> vertices = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const std::vector<std::uint32_t> triangles = {0, 1, 2};
    tree.build(vertices, triangles);
    const psv_ray rays[] = {{{0.25f, 0.25f, -2}, 0, {0, 0, 1}, 10}, {{2, 2, -2}, 0, {0, 0, 1}, 10}};
    const std::vector<psv_ray_hit> hits = tree.closest_hits(rays);
    CHECK(hits[0].item == 0 && hits[0].t == 2 && hits[1].item == PSV_NO_ITEM);
    CHECK(tree.closest_points(sphere)[0].item == 0);
}

void test_buffers(psv::context &context) {
    psv::buffer<float> buffer = psv::make_buffer<float>(context, 3);
    const std::vector<float> numbers = {1, 2, 3};
    buffer.upload(numbers);
    psv::buffer<float> moved = std::move(buffer);
    CHECK(moved.download() == numbers && moved.size() == 3 && moved.host()[2] == 3);
    moved = psv::make_buffer<float>(context, 0);
    CHECK(moved.download().empty());
}

void test_worlds(psv::context &context) {
    psv_world_def def = psv_default_world_def();
    def.contact_events = true;
    psv::world world = psv::make_world(context, def);
    std::vector<psv_body_def> defs(2, psv_default_body_def());
    defs[0].shape = world.make_shape(PSV_SHAPE_PLANE, 1);
    defs[1].shape = world.make_shape(PSV_SHAPE_SPHERE, 0.5f);
    defs[1].pose.position[1] = 1;
    const std::vector<psv_body_id> ids = world.make_bodies(defs);
    std::size_t begins = 0;
    for (int frame = 0; frame < 120; ++frame) {
        world.step(1.0f / 60);
        begins += world.begins().size();
    }
    const psv_body_state state = world.state(ids[1]);
    CHECK(std::abs(state.pose.position[1] - 0.5f) < 0.02f && begins == 1 && world.contacts().size() == 1);
    CHECK(std::abs(world.contacts()[0].normal_force - 523.6f * 9.81f) < 100); // 1,000 kg/m^3 times the volume
    const std::optional<psv::body_ray_hit> hit = world.cast_ray({{0, 5, 0}, 0, {0, -1, 0}, 100});
    CHECK(hit && hit->body.index1 == ids[1].index1 && std::abs(hit->distance - 4) < 0.02f);
    CHECK(!world.cast_ray({{0, 5, 0}, 0, {0, 1, 0}, 100}));
    CHECK(world.positions().size() == 8 && world.counters().bodies == 2 && world.hash() != 0);
    world.push(ids[1], {{0, 5000, 0}, {0, 0.5f, 0}});
    CHECK(world.states(ids)[1].velocity[1] > 5);
    world.remove(ids[1]);
    CHECK(!world.has(ids[1]) && world.has(ids[0]));
    psv::scene scene = psv::load_scene(context, "drop", 50);
    scene.step();
    CHECK(scene.world().counters().bodies >= 50 && scene.frame_seconds() > 0);
}

// The status that a call throws, with its sentence.
template <class F> psv_status thrown(F call, const char *part) {
    try {
        call();
    } catch (const psv::error &error) {
        CHECK(std::string(error.what()).find(part) != std::string::npos);
        return error.status();
    }
    return PSV_OK;
}

void test_errors(psv::context &context) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 10;
    def.method = "no such method";
    CHECK(thrown([&] { psv::make_pair_finder(context, def); }, "rows") == PSV_ERROR_UNSUPPORTED);
    psv::pair_finder finder = psv::make_pair_finder(context, 10);
    const std::vector<psv_aabb> boxes = random_boxes(11, 5);
    CHECK(thrown([&] { finder.find(boxes); }, "11") == PSV_ERROR_CAPACITY);
    finder.find(psv::span<const psv_aabb>(boxes.data(), 10)); // and works on
    CHECK(thrown([&] { finder.events(); }, "events") == PSV_ERROR_ARGUMENT);
    psv::sorter<std::uint32_t> sorter = psv::make_sorter<std::uint32_t>(context, 4);
    std::vector<std::uint32_t> keys = {2, 1}, values = {1};
    std::vector<double> wide = {1, 2};
    CHECK(thrown([&] { sorter.sort(keys, values); }, "1 elements, 2 are expected") == PSV_ERROR_ARGUMENT);
    CHECK(thrown([&] { sorter.sort(keys, wide); }, "8 bytes") == PSV_ERROR_ARGUMENT);
    psv::world world = psv::make_world(context);
    CHECK(thrown([&] { world.contacts(); }, "contact_events") == PSV_ERROR_ARGUMENT);
    CHECK(thrown([&] { world.state({5, 1}); }, "id") == PSV_ERROR_ARGUMENT);
    CHECK(thrown([&] { psv::load_scene(context, "no such scene"); }, "no such scene") == PSV_ERROR_FILE);
    psv::buffer<int> buffer = psv::make_buffer<int>(context, 2);
    CHECK(thrown([&] { buffer.upload(std::vector<int>{1}); }, "expected") == PSV_ERROR_ARGUMENT);
}
} // namespace

int main() {
    psv::context context = psv::make_context(PSV_BACKEND_CPU);
    test_spans();
    test_buffers(context);
    test_pairs(context);
    test_sorts(context);
    test_trees(context);
    test_worlds(context);
    test_errors(context);
    test_results();
    std::printf("C++ %ld: %d failures\n", static_cast<long>(__cplusplus), failures);
    return failures != 0;
}
