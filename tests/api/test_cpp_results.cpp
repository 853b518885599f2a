// pairsieve.hpp with results in place of exceptions; linked with a file that has exceptions.
#define PSV_RESULTS
#include "test_cpp.hpp"

void test_results() {
    psv::result<psv::context> context = psv::make_context(PSV_BACKEND_CPU);
    CHECK(context && context.status() == PSV_OK && context.message().empty());
    psv_context_def def = psv_default_context_def();
    def.device = -1;
    psv::result<psv::context> refused = psv::make_context(def);
    CHECK(!refused && refused.status() == PSV_ERROR_ARGUMENT && !refused.message().empty());

    psv::result<psv::pair_finder> finder = psv::make_pair_finder(*context, 3);
    const std::vector<psv_aabb> boxes = {
        {{0, 0, 0}, {1, 1, 1}}, {{1, 0, 0}, {2, 1, 1}}, {{5, 0, 0}, {6, 1, 1}}, {{9, 9, 9}, {9, 9, 9}}};
    CHECK(finder.has_value() && finder->find(psv::span<const psv_aabb>(boxes.data(), 3)));
    const psv::result<psv::span<const psv_pair>> pairs = finder->pairs();
    CHECK(pairs && pairs->size() == 1 && (*pairs)[0].b == 1);
    const psv::result<void> full = finder->find(boxes);
    CHECK(!full && full.status() == PSV_ERROR_CAPACITY && full.message().find('4') != std::string::npos);
    CHECK(psv::make_sorter<float>(*context, 4)->order(std::vector<float>{2, 1}).value_or({}) ==
          (std::vector<std::uint32_t>{1, 0}));
    psv::result<psv::world> world = psv::make_world(*context);
    CHECK(world && world->step(0.01f) && !world->cast_ray({{0, 0, 0}, 0, {0, 1, 0}, 1}).value_or(psv::body_ray_hit{}));
    CHECK(psv::load_scene(*context, "no such scene").status() == PSV_ERROR_FILE);
}
