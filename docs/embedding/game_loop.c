// An engine's loop with all of docs/learn/embedding.md: jobs, moved boxes, events, and queries on another thread.
#include <pairsieve/readers.h>
#include <pthread.h>
#include <stdio.h>

enum { TILES = 10000, WALKERS = 64, COUNT = TILES + WALKERS, ROOM = 512 };
static psv_pair_finder *finder;
static psv_readers *readers;
static psv_aabb boxes[COUNT];
static uint32_t moved[WALKERS], done, rays, hits;
static uint64_t began, ended;

static void slide(psv_aabb *box, int axis, float by) { box->min[axis] += by, box->max[axis] += by; }

// An engine hands the tasks to its job system, which may run them on any threads: see own_threads.c.
static void run_parallel(psv_task *task, void *data, uint32_t count, void *user) {
    (void)user; // psv_context_def.parallel_user
    for (uint32_t index = 0; index < count; ++index)
        task(data, index);
}

// The game's logic, on a thread of its own: a ray along the row, above the tiles, meets the first walker.
static void *look(void *unused) {
    const psv_ray ray = {{-5, 1.25f, 0.5f}, 0, {1, 0, 0}, 1000};
    do {
        const psv_reader_frame *frame = psv_open_frame(readers);
        hits += psv_frame_ray(frame, &ray).item == TILES, ++rays;
        psv_close_frame(readers, frame);
    } while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 0);
    return unused;
}

static psv_status run_frame(psv_box_set *set, uint32_t frame) {
    psv_pair begin[ROOM], end[ROOM];
    uint64_t begins = 0, ends = 0;
    set->moved_count = 0;
    for (uint32_t w = 0; w < WALKERS; ++w) {
        if (frame > 0 && (w + frame) % 8 == 0) continue; // asleep in this frame: not named
        slide(&boxes[TILES + w], 0, 0.75f);
        moved[set->moved_count++] = TILES + w;
    }
    psv_status status = psv_find_pairs(finder, set);
    if (status == PSV_OK) status = psv_read_pair_events(finder, begin, ROOM, &begins, end, ROOM, &ends);
    began += begins, ended += ends;
    return status == PSV_OK ? psv_publish_frame(readers, finder, set) : status;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_readers_def readers_def = psv_default_readers_def();
    psv_context *context = NULL;
    pthread_t logic;
    context_def.backend = PSV_BACKEND_CPU, context_def.run_parallel = run_parallel;
    def.max_boxes = def.max_kept = readers_def.max_boxes = COUNT, def.events = true;
    psv_status status = psv_create_context(&context_def, &context);
    if (status == PSV_OK) status = psv_create_pair_finder(context, &def, &finder);
    if (status == PSV_OK) status = psv_create_readers(context, &readers_def, &readers);
    psv_aabb box = {{0, 0, 0}, {1, 1, 1}};
    for (uint32_t i = 0; i < TILES; ++i, slide(&box, 0, 1.5f)) // a row of tiles that do not touch
        boxes[i] = box;
    for (uint32_t w = 0; w < WALKERS; ++w)
        boxes[TILES + w] = boxes[w], slide(&boxes[TILES + w], 1, 0.5f);
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    set.kept = COUNT, set.moved = psv_buffer_of(moved, sizeof moved);
    if (status == PSV_OK) status = run_frame(&set, 0);
    if (status != PSV_OK || pthread_create(&logic, NULL, look, NULL) != 0)
        return printf("%s\n", psv_last_error(context));
    for (uint32_t frame = 1; frame < 60 && status == PSV_OK; ++frame)
        status = run_frame(&set, frame);
    __atomic_store_n(&done, 1u, __ATOMIC_RELEASE);
    (void)pthread_join(logic, NULL);
    printf("%u of %u rays met a walker\n", hits, rays);
    psv_destroy_readers(readers);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return status == PSV_OK && ended > WALKERS && began > ended && hits == rays ? 0 : 1;
}
