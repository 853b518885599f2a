// bench_movers: what a frame costs, events included, of which few boxes move. Beside a finder to which the movers are
// named stands one that looks for all pairs. Printed are milliseconds of processor time of all workers: the median of
// finding, of finding with the events read, and the longest frame with events, without the first two, which settle the
// boxes.
//   bench_movers [cpu|cuda] [--boxes N] [--movers N] [--frames N] [--plain-frames N] [--workers N] [--seed N] [--csv]
// Without --boxes: 100,000 and 1,000,000 boxes of which 0, 1, 100, 10,000 and all move.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/collision.h>

#include "../scenes/box_scenes.h"

#define FIRST_FRAMES 3 // not counted
#define MOST_EVENTS 4096
#define STEP 0.1f // of a box, along each axis

typedef struct bench_run {
    psv_pair_finder *finder;
    int frames;
    double *find, *both; // of each frame
    uint64_t pairs, events;
} bench_run;

static psv_context *context;
static uint64_t seed = 4711;
static int frame_count = 400, plain_frames = 15;
static bool as_csv;

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_movers: %s\n", psv_last_error(context));
    exit(1);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare_double(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts the times.
static double median_of(double *times, int count) {
    if (count < 1) return 0;
    qsort(times, (size_t)count, sizeof *times, compare_double);
    return times[count / 2];
}

static bench_run make_run(uint64_t boxes, bool moves, int frames) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    bench_run run = {.frames = frames};
    def.max_boxes = boxes;
    def.max_kept = moves ? boxes : 0;
    def.events = true;
    run.find = calloc((size_t)frames + 1, sizeof *run.find);
    run.both = calloc((size_t)frames + 1, sizeof *run.both);
    check(psv_create_pair_finder(context, &def, &run.finder));
    return run;
}

static void free_run(bench_run *run) {
    psv_destroy_pair_finder(run->finder);
    free(run->find);
    free(run->both);
}

// A single mover is another box in each frame: it wakes up, moves and rests again.
static void move_boxes(psv_aabb *boxes, uint64_t count, uint32_t *moved, uint64_t movers, uint64_t frame) {
    if (movers == 1) moved[0] = (uint32_t)(box_random_bits(seed, frame, 21) % count);
    for (uint64_t m = 0; m < movers; ++m) {
        const uint64_t bits = box_random_bits(seed + frame, moved[m], 22);
        for (int axis = 0; axis < 3; ++axis) {
            const float by = STEP * ((float)(bits >> 10 * axis & 1023) / 512 - 1);
            boxes[moved[m]].min[axis] += by;
            boxes[moved[m]].max[axis] += by;
        }
    }
}

static void time_frame(bench_run *run, const psv_box_set *set, int frame) {
    static psv_pair begin_pairs[MOST_EVENTS], end_pairs[MOST_EVENTS];
    const double begin = now_ms();
    check(psv_find_pairs(run->finder, set));
    const double found = now_ms();
    uint64_t begins, ends; // only as many as there is room for are read
    const psv_status status =
        psv_read_pair_events(run->finder, begin_pairs, MOST_EVENTS, &begins, end_pairs, MOST_EVENTS, &ends);
    if (status != PSV_ERROR_CAPACITY) check(status);
    const double end = now_ms();
    if (frame < FIRST_FRAMES) return;
    run->find[frame - FIRST_FRAMES] = found - begin;
    run->both[frame - FIRST_FRAMES] = end - begin;
}

static void bench(uint64_t count, uint64_t movers) {
    psv_aabb *boxes = calloc(count, sizeof *boxes);
    uint32_t *moved = calloc(movers + 1, sizeof *moved);
    box_scene_named("cube")->make(boxes, count, seed);
    for (uint64_t m = 0; m < movers; ++m) // all, or some that are spread out and different
        moved[m] =
            (uint32_t)(movers == count ? m : m * (count / movers) + box_random_bits(seed, m, 20) % (count / movers));
    const bool copies = psv_context_backend(context) != PSV_BACKEND_CPU;
    psv_buffer buffer = psv_buffer_of(boxes, count * sizeof *boxes), list = psv_buffer_of(moved, (movers + 1) * 4);
    if (copies) check(psv_alloc_buffer(context, count * sizeof *boxes, &buffer));
    if (copies) check(psv_alloc_buffer(context, (movers + 1) * 4, &list));
    bench_run runs[2] = {make_run(count, false, plain_frames), make_run(count, true, frame_count)};
    for (int r = 0; r < 2; ++r) // one after the other: in turns each would find its memory out of the caches
        for (int frame = 0; frame < runs[r].frames + FIRST_FRAMES; ++frame) {
            psv_box_set set = psv_boxes_of(buffer, sizeof *boxes, count);
            move_boxes(boxes, count, moved, movers, (uint64_t)frame);
            if (copies) check(psv_upload(context, buffer, boxes, count * sizeof *boxes));
            if (copies) check(psv_upload(context, list, moved, (movers + 1) * 4));
            if (r == 1) {
                set.kept = count;
                set.moved = list;
                set.moved_count = movers;
            }
            time_frame(&runs[r], &set, frame);
        }
    check(psv_finish_pairs(runs[1].finder, &runs[1].pairs));
    const double plain = median_of(runs[0].find, plain_frames), plain_both = median_of(runs[0].both, plain_frames);
    const double find = median_of(runs[1].find, frame_count), both = median_of(runs[1].both, frame_count);
    printf(as_csv ? "%llu,%llu,%llu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n"
                  : "%9llu %9llu %9llu %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f\n",
           (unsigned long long)count, (unsigned long long)movers, (unsigned long long)runs[1].pairs, plain, plain_both,
           find, both, frame_count < 1 ? 0.0 : runs[1].both[frame_count - 1],
           plain_frames < 1 ? 0.0 : runs[0].both[plain_frames - 1]);
    (void)fflush(stdout);
    for (int r = 0; r < 2; ++r)
        free_run(&runs[r]);
    if (copies) psv_free_buffer(context, &buffer);
    if (copies) psv_free_buffer(context, &list);
    free(moved);
    free(boxes);
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    uint64_t box_count = 0, movers = 100;
    def.backend = PSV_BACKEND_CPU;
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &def.backend) == PSV_OK) continue;
        if (strcmp(argv[i], "--csv") == 0) {
            as_csv = true;
            continue;
        }
        if (i + 1 >= argc) return 2;
        const char *name = argv[i], *value = argv[++i];
        if (strcmp(name, "--boxes") == 0)
            box_count = strtoull(value, NULL, 10);
        else if (strcmp(name, "--movers") == 0)
            movers = strtoull(value, NULL, 10);
        else if (strcmp(name, "--frames") == 0)
            frame_count = atoi(value);
        else if (strcmp(name, "--plain-frames") == 0)
            plain_frames = atoi(value);
        else if (strcmp(name, "--workers") == 0)
            def.worker_count = (uint32_t)atoi(value);
        else if (strcmp(name, "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else
            return 2;
    }
    if (frame_count < 1 || plain_frames < 1 || (box_count > 0 && movers > box_count)) return 2;
    if (!psv_backend_available(def.backend)) return 77;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    printf(as_csv ? "%s,%s,%s,%s,%s,%s,%s,%s,%s\n" : "%9s %9s %9s %10s %10s %10s %10s %10s %10s\n", "boxes", "movers",
           "pairs", "all_find", "all_events", "find", "events", "worst", "all_worst");
    static const uint64_t counts[] = {100000, 1000000}, moving[] = {0, 1, 100, 10000, UINT64_MAX};
    for (int c = 0; c < 2 && box_count == 0; ++c)
        for (int m = 0; m < 5; ++m)
            bench(counts[c], moving[m] < counts[c] ? moving[m] : counts[c]);
    if (box_count > 0) bench(box_count, movers);
    psv_destroy_context(context);
    return 0;
}
