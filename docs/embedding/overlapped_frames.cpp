// An engine's loop with frames that overlap, with the job system oneTBB: while the engine finds the pairs of a frame,
// jobs ask the frame before it. They read a copy that nobody changes, so they need no lock and no context. The
// library's own work runs as jobs too. Debian: libtbb-dev. In C, with POSIX threads: game_loop.c.
#include <cstdio>
#include <pairsieve/pairsieve.hpp>
#include <pairsieve/readers.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

namespace {
constexpr std::uint32_t across = 100, tiles = across * across, walkers = 64, jobs = 8;

void run_parallel(psv_task *task, void *data, std::uint32_t count, void *) {
    tbb::parallel_for(std::uint32_t{0}, count, [=](std::uint32_t index) { task(data, index); });
}

// A job asks how many boxes each of its walkers touches. Counts answers that the frame's pairs confirm.
std::size_t ask(const psv_reader_frame &frame, std::uint32_t job) {
    std::size_t right = 0;
    for (std::uint32_t w = tiles + job; w < tiles + walkers; w += jobs) {
        std::uint32_t pairs = 0;
        for (std::uint64_t p = 0; p < frame.pair_count; ++p)
            pairs += frame.pairs[p].a == w || frame.pairs[p].b == w;
        right += psv_frame_touching(&frame, &frame.boxes[w], nullptr, 0) == pairs + 1; // and itself
    }
    return right;
}

int run() {
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.run_parallel = run_parallel;
    context_def.worker_count = 8; // tasks at most, at a time
    psv::context context = psv::make_context(context_def);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_readers_def readers_def = psv_default_readers_def();
    psv_readers *readers = nullptr;
    def.max_boxes = def.max_kept = readers_def.max_boxes = tiles + walkers, def.events = true;
    psv::pair_finder finder = psv::make_pair_finder(context, def);
    if (psv_create_readers(context.get(), &readers_def, &readers) != PSV_OK) return 1;

    std::vector<psv_aabb> boxes;
    std::vector<std::uint32_t> moved;
    for (std::uint32_t i = 0; i < tiles + walkers; ++i) { // tiles that do not touch, and walkers along them
        const float x = i < tiles ? 1.5f * static_cast<float>(i % across) : 0, y = i < tiles ? 0 : 0.5f;
        const float z = i < tiles ? 1.5f * static_cast<float>(i / across) : 2.0f * static_cast<float>(i - tiles);
        boxes.push_back({{x, y, z}, {x + 1, y + 1, z + 1}});
        if (i >= tiles) moved.push_back(i);
    }
    psv_box_set set = psv::boxes_of(psv::view(boxes), boxes.size());
    set.moved = psv_buffer_of(moved.data(), moved.size() * sizeof moved[0]);
    set.kept = boxes.size(), set.moved_count = moved.size();

    std::size_t asked = 0, right[jobs] = {}, all_right = 0, began = 0, ended = 0;
    bool published = true;
    for (int frame = 0; frame < 100 && published; ++frame) {
        tbb::task_group group;
        const psv_reader_frame *last = psv_open_frame(readers); // NULL in the first frame
        for (std::uint32_t job = 0; job < jobs && last != nullptr; ++job)
            group.run([=, &right] { right[job] += ask(*last, job); });
        for (const std::uint32_t walker : moved)
            boxes[walker].min[0] += 0.25f, boxes[walker].max[0] += 0.25f;
        finder.find(set);
        const psv::pair_events events = finder.events();
        began += events.begin.size(), ended += events.end.size();
        published = psv_publish_frame(readers, finder.get(), &set) == PSV_OK; // while jobs read the frame before
        group.wait();
        psv_close_frame(readers, last);
        asked += last != nullptr ? walkers : 0;
    }
    for (const std::size_t count : right)
        all_right += count;
    std::printf("%zu contacts began, %zu ended; %zu of %zu answers right\n", began, ended, all_right, asked);
    psv_destroy_readers(readers);
    return published && ended > 0 && began - ended == finder.pairs().size() && asked > 0 && all_right == asked ? 0 : 1;
}
} // namespace

int main() { return run(); }
