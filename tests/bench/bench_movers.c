// bench_movers: what a frame costs, events included, of which few boxes move. Beside a finder to which the movers are
// named stands one that looks for all pairs. Printed are milliseconds of processor time of all workers: the median of
// finding, of finding with the events read, the longest frame with events, without the first two, which settle the
// boxes, and publishing the frame for readers on other threads.
// On a device: milliseconds of wall clock a frame, of many frames in a row without a wait between them, with events
// made and left on the device. `kept`: the movers are the last boxes, and those before them are kept. `check`: one
// psv_check_pairs of 16 boxes.
//   bench_movers [cpu|cuda] [--boxes N] [--movers N] [--frames N] [--plain-frames N] [--workers N] [--seed N] [--csv]
//                [--step LENGTH] [--margin LENGTH] [--peers]
// --step: how far a box moves on each axis at most. --margin: the finder to which the movers are named gets a margin
// too. Boxes are half a unit to one unit wide.
// --peers: pairsieve with events, and other libraries that pay for what moves, on one thread, over the same moves.
// Without --boxes: 100,000 and 1,000,000 boxes of which 0, 1, 100, 10,000 and all move.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/readers.h>

#include "../cases/box_scenes.h"
#include "movers_peers.h"

#define FIRST_FRAMES 3 // not counted
#define MOST_EVENTS 4096

typedef struct bench_run {
    psv_pair_finder *finder;
    psv_readers *readers; // NULL: frames are not published
    int frames;
    double *find, *both, *publish; // of each frame
    uint64_t pairs, events;
} bench_run;

static psv_context *context;
static uint64_t seed = 4711;
static int frame_count = 400, plain_frames = 15;
static float step = 0.1f, margin;
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
    def.margins = moves && margin > 0;
    def.events = true;
    run.find = calloc((size_t)frames + 1, sizeof *run.find);
    run.both = calloc((size_t)frames + 1, sizeof *run.both);
    run.publish = calloc((size_t)frames + 1, sizeof *run.publish);
    check(psv_create_pair_finder(context, &def, &run.finder));
    psv_readers_def readers = psv_default_readers_def();
    readers.max_boxes = boxes;
    if (moves) check(psv_create_readers(context, &readers, &run.readers));
    return run;
}

static void free_run(bench_run *run) {
    psv_destroy_readers(run->readers);
    psv_destroy_pair_finder(run->finder);
    free(run->find);
    free(run->both);
    free(run->publish);
}

// A single mover is another box in each frame: it wakes up, moves and rests again.
static void move_boxes(psv_aabb *boxes, uint64_t count, uint32_t *moved, uint64_t movers, uint64_t frame) {
    if (movers == 1) moved[0] = (uint32_t)(box_random_bits(seed, frame, 21) % count);
    for (uint64_t m = 0; m < movers; ++m) {
        const uint64_t bits = box_random_bits(seed + frame, moved[m], 22);
        for (int axis = 0; axis < 3; ++axis) {
            const float by = step * ((float)(bits >> 10 * axis & 1023) / 512 - 1);
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
    if (run->readers != NULL) check(psv_publish_frame(run->readers, run->finder, set));
    if (frame < FIRST_FRAMES) return;
    run->events += begins + ends;
    run->publish[frame - FIRST_FRAMES] = now_ms() - end;
    run->find[frame - FIRST_FRAMES] = found - begin;
    run->both[frame - FIRST_FRAMES] = end - begin;
}

// All, or some that are spread out and different.
static void choose_movers(uint32_t *moved, uint64_t movers, uint64_t count) {
    for (uint64_t m = 0; m < movers; ++m)
        moved[m] =
            (uint32_t)(movers == count ? m : m * (count / movers) + box_random_bits(seed, m, 20) % (count / movers));
}

static void bench(uint64_t count, uint64_t movers) {
    psv_aabb *boxes = calloc(count, sizeof *boxes);
    uint32_t *moved = calloc(movers + 1, sizeof *moved);
    box_scene_named("cube")->make(boxes, count, seed);
    choose_movers(moved, movers, count);
    const psv_buffer buffer = psv_buffer_of(boxes, count * sizeof *boxes),
                     list = psv_buffer_of(moved, (movers + 1) * 4);
    bench_run runs[2] = {make_run(count, false, plain_frames), make_run(count, true, frame_count)};
    for (int r = 0; r < 2; ++r) // one after the other: in turns each would find its memory out of the caches
        for (int frame = 0; frame < runs[r].frames + FIRST_FRAMES; ++frame) {
            psv_box_set set = psv_boxes_of(buffer, sizeof *boxes, count);
            move_boxes(boxes, count, moved, movers, (uint64_t)frame);
            if (r == 1) {
                set.kept = count;
                set.moved = list;
                set.moved_count = movers;
                set.margin = margin;
            }
            time_frame(&runs[r], &set, frame);
        }
    check(psv_finish_pairs(runs[1].finder, &runs[1].pairs));
    const double plain = median_of(runs[0].find, plain_frames), plain_both = median_of(runs[0].both, plain_frames);
    const double find = median_of(runs[1].find, frame_count), both = median_of(runs[1].both, frame_count);
    printf(as_csv ? "%llu,%llu,%llu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n"
                  : "%9llu %9llu %9llu %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f\n",
           (unsigned long long)count, (unsigned long long)movers, (unsigned long long)runs[1].pairs, plain, plain_both,
           find, both, frame_count < 1 ? 0.0 : runs[1].both[frame_count - 1],
           plain_frames < 1 ? 0.0 : runs[0].both[plain_frames - 1], median_of(runs[1].publish, frame_count));
    (void)fflush(stdout);
    for (int r = 0; r < 2; ++r)
        free_run(&runs[r]);
    free(moved);
    free(boxes);
}

// --- beside other libraries ------------------------------------------------------------------------------------------

// Median and longest of frames after the first ones.
static void print_peer(const char *name, const char *work, uint64_t count, uint64_t movers, uint64_t pairs,
                       double events, double *times, int frames) {
    const double median = median_of(times, frames);
    printf(as_csv ? "%llu,%llu,%s,%s,%llu,%.1f,%.4f,%.4f\n" : "%9llu %9llu %-12s %-20s %9llu %9.1f %10.4f %10.4f\n",
           (unsigned long long)count, (unsigned long long)movers, name, work, (unsigned long long)pairs, events, median,
           times[frames - 1]);
    (void)fflush(stdout);
}

// expected: all pairs, and those with a box that moves.
static void time_peer(const movers_peer *peer, psv_aabb *boxes, uint64_t count, uint32_t *moved, uint64_t movers,
                      int frames, const uint64_t expected[2]) {
    double *times = calloc((size_t)frames, sizeof *times);
    void *made = peer->create(boxes, count);
    uint64_t events = 0; // of the first frames
    for (int frame = 0; frame < frames + FIRST_FRAMES; ++frame) {
        move_boxes(boxes, count, moved, movers, (uint64_t)frame);
        const double begin = now_ms();
        peer->frame(made, boxes, moved, movers);
        if (frame >= FIRST_FRAMES) times[frame - FIRST_FRAMES] = now_ms() - begin;
        if (frame < FIRST_FRAMES) events = peer->events(made);
    }
    print_peer(peer->name, peer->work, count, movers, peer->pairs(made), (double)(peer->events(made) - events) / frames,
               times, frames);
    if (peer->exact(made) != expected[!peer->keeps]) {
        fprintf(stderr, "bench_movers: %s has %llu pairs, expected %llu\n", peer->name,
                (unsigned long long)peer->exact(made), (unsigned long long)expected[!peer->keeps]);
        exit(1);
    }
    peer->destroy(made);
    free(times);
}

static uint64_t count_pairs_of(const uint32_t *moved, uint64_t movers, uint64_t count, const psv_pair *pairs,
                               uint64_t pair_count) {
    uint8_t *moves = calloc(count, 1);
    uint64_t found = 0;
    for (uint64_t m = 0; m < movers; ++m)
        moves[moved[m]] = 1;
    for (uint64_t p = 0; p < pair_count; ++p)
        found += (moves[pairs[p].a] | moves[pairs[p].b]) != 0;
    free(moves);
    return found;
}

static void time_own(psv_aabb *boxes, uint64_t count, uint32_t *moved, uint64_t movers, int frames, uint64_t found[2]) {
    bench_run run = make_run(count, true, frames);
    psv_destroy_readers(run.readers);
    run.readers = NULL;
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, count * sizeof *boxes), sizeof *boxes, count);
    set.kept = count;
    set.moved = psv_buffer_of(moved, (movers + 1) * sizeof *moved);
    set.moved_count = movers;
    for (int frame = 0; frame < frames + FIRST_FRAMES; ++frame) {
        move_boxes(boxes, count, moved, movers, (uint64_t)frame);
        time_frame(&run, &set, frame);
    }
    check(psv_finish_pairs(run.finder, &run.pairs));
    print_peer("pairsieve", "pairs and events", count, movers, run.pairs, (double)run.events / frames, run.both,
               frames);
    psv_pair *pairs = calloc(run.pairs + 1, sizeof *pairs);
    check(psv_read_pairs(run.finder, pairs, run.pairs, &found[0]));
    found[1] = count_pairs_of(moved, movers, count, pairs, run.pairs);
    free(pairs);
    free_run(&run);
}

// All begin with the same boxes and move the same ones, and must end with the same pairs.
static void bench_peers(uint64_t count, uint64_t movers) {
    psv_aabb *boxes = calloc(count, sizeof *boxes);
    uint32_t *moved = calloc(movers + 1, sizeof *moved);
    const int frames = movers >= 10000 ? plain_frames : frame_count;
    uint64_t found[2];
    for (int turn = -1; turn < 0 || movers_peers[turn].name != NULL; ++turn) {
        box_scene_named("cube")->make(boxes, count, seed);
        choose_movers(moved, movers, count);
        if (turn < 0)
            time_own(boxes, count, moved, movers, frames, found);
        else
            time_peer(&movers_peers[turn], boxes, count, moved, movers, frames, found);
    }
    free(moved);
    free(boxes);
}

// --- on a device -----------------------------------------------------------------------------------------------------

enum { ALL, NAMED, BEHIND, WAYS };
#define VERSIONS 4 // of the boxes, which differ by one step of the movers
#define ROUNDS 7

static psv_buffer on_device(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    check(psv_alloc_buffer(context, bytes, &buffer));
    check(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static double wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// To and fro between the versions.
static void run_frames(psv_pair_finder *finder, psv_box_set *set, const psv_buffer *versions, int frames, bool events) {
    psv_pair_event_lists lists;
    for (int frame = 0; frame < frames; ++frame) {
        const int turn = frame % (2 * VERSIONS - 2);
        set->min = versions[turn < VERSIONS ? turn : 2 * VERSIONS - 2 - turn];
        check(psv_find_pairs(finder, set));
        if (events) check(psv_pair_events(finder, &lists));
    }
    check(psv_synchronize(context));
}

static double time_way(int way, bool events, psv_box_set set, const psv_buffer *versions, double *check_ms) {
    double times[ROUNDS], checks[ROUNDS];
    const bool kept = way != ALL && set.kept > 1;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    psv_pair_check result;
    def.max_boxes = set.count;
    def.max_kept = kept ? set.count : 0;
    def.events = events;
    if (!kept) set.kept = 0;
    if (way != NAMED) set.moved = (psv_buffer){0}, set.moved_count = 0;
    check(psv_create_pair_finder(context, &def, &finder));
    run_frames(finder, &set, versions, plain_frames, events);
    for (int r = 0; r < ROUNDS; ++r) {
        const double begin = wall_ms();
        run_frames(finder, &set, versions, plain_frames, events);
        const double end = wall_ms();
        check(psv_check_pairs(finder, &set, NULL, 16, &result));
        times[r] = (end - begin) / plain_frames;
        checks[r] = wall_ms() - end;
        if (result.missing + result.extra > 0) {
            fprintf(stderr, "bench_movers: pairs are missing or too many\n");
            exit(1);
        }
    }
    check(psv_finish_pairs(finder, NULL));
    psv_destroy_pair_finder(finder);
    *check_ms = median_of(checks, ROUNDS);
    return median_of(times, ROUNDS);
}

static void bench_device(uint64_t count, uint64_t movers) {
    psv_aabb *boxes = calloc(count, sizeof *boxes);
    uint32_t *moved = calloc(movers + 1, sizeof *moved);
    psv_buffer versions[VERSIONS];
    double times[WAYS][2], check_ms = 0;
    box_scene_named("cube")->make(boxes, count, seed);
    for (uint64_t m = 0; m < movers; ++m)
        moved[m] = (uint32_t)(count - movers + m);
    for (int v = 0; v < VERSIONS; ++v) {
        if (v > 0) move_boxes(boxes, count, moved, movers == 1 ? 0 : movers, (uint64_t)v);
        versions[v] = on_device(boxes, count * sizeof *boxes);
    }
    psv_buffer list = on_device(moved, (movers + 1) * sizeof *moved);
    psv_box_set set = psv_boxes_of(versions[0], sizeof *boxes, count);
    set.moved = list;
    set.moved_count = movers;
    for (int way = 0; way < WAYS; ++way)
        for (int events = 0; events < 2; ++events) {
            set.kept = way == NAMED ? count : count - movers;
            times[way][events] = time_way(way, events != 0, set, versions, &check_ms);
        }
    printf(as_csv ? "%llu,%llu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n"
                  : "%9llu %9llu %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f\n",
           (unsigned long long)count, (unsigned long long)movers, times[ALL][0], times[ALL][1], times[NAMED][0],
           times[NAMED][1], times[BEHIND][0], times[BEHIND][1], check_ms);
    (void)fflush(stdout);
    for (int v = 0; v < VERSIONS; ++v)
        psv_free_buffer(context, &versions[v]);
    psv_free_buffer(context, &list);
    free(moved);
    free(boxes);
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    uint64_t box_count = 0, movers = 100;
    bool peers = false;
    def.backend = PSV_BACKEND_CPU;
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &def.backend) == PSV_OK) continue;
        if (strcmp(argv[i], "--csv") == 0 || strcmp(argv[i], "--peers") == 0) {
            *(argv[i][2] == 'c' ? &as_csv : &peers) = true;
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
        else if (strcmp(name, "--step") == 0)
            step = strtof(value, NULL);
        else if (strcmp(name, "--margin") == 0)
            margin = strtof(value, NULL);
        else if (strcmp(name, "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else
            return 2;
    }
    if (frame_count < 1 || plain_frames < 1 || (box_count > 0 && movers > box_count)) return 2;
    if (peers) def.backend = PSV_BACKEND_CPU, def.worker_count = 1;
    if (!psv_backend_available(def.backend)) return 77;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    const bool device = def.backend != PSV_BACKEND_CPU;
    if (peers)
        printf(as_csv ? "%s,%s,%s,%s,%s,%s,%s,%s\n" : "%9s %9s %-12s %-20s %9s %9s %10s %10s\n", "boxes", "movers",
               "method", "work", "pairs", "events", "frame_ms", "worst_ms");
    else if (device)
        printf(as_csv ? "%s,%s,%s,%s,%s,%s,%s,%s,%s\n" : "%9s %9s %10s %10s %10s %10s %10s %10s %10s\n", "boxes",
               "movers", "all_find", "all_events", "find", "events", "kept_find", "kept_events", "check");
    else
        printf(as_csv ? "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n" : "%9s %9s %9s %10s %10s %10s %10s %10s %10s %10s\n", "boxes",
               "movers", "pairs", "all_find", "all_events", "find", "events", "worst", "all_worst", "publish");
    void (*const run)(uint64_t, uint64_t) = peers ? bench_peers : device ? bench_device : bench;
    static const uint64_t counts[] = {100000, 1000000}, moving[] = {0, 1, 100, 10000, UINT64_MAX};
    for (int c = 0; c < 2 && box_count == 0; ++c)
        for (int m = 0; m < 5; ++m)
            run(counts[c], moving[m] < counts[c] ? moving[m] : counts[c]);
    if (box_count > 0) run(box_count, movers);
    psv_destroy_context(context);
    return 0;
}
