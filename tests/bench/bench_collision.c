// bench_collision: boxes to pairs, every frame rebuilt. Scene x count x method; medians of the whole call, the share of
// each phase, and the exact pair count, which must be the same for every method. See --help.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/collision.h>
#include <pairsieve/sim.h>
#include <pairsieve/sort.h>

#include "../cases/box_scenes.h"
#include "../take_profile.h"
#include "bench_numbers.h"

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#ifndef PSV_COMMIT
#define PSV_COMMIT "unknown"
#endif

#define SIMULATED "sim:"  // before the name of a scene of the simulation
#define FROM_FILE "file:" // before the path of a file of boxes
#define MAX_LIST 32
#define MAX_FRAMES 1000
#define BEFORE_FRAMES 8 // of another scene
#define NEW_FRAMES 9    // of a new finder, or after another scene
#define PROGRAM "bench_collision"

typedef struct bench_options {
    psv_backend backend;
    const char *scenes[MAX_LIST], *methods[MAX_LIST];
    uint64_t counts[MAX_LIST];
    int scene_count, method_count, count_count;
    int frames, steps, workers;
    uint64_t seeds[MAX_LIST], worlds, brute_limit;
    int seed_count;
    const char *sort_method, *csv, *commit, *after; // after: a scene that the finder sees before; NULL: none
    const device_profile *profile;                  // that the device is taken for; NULL: as it is
    double budget_s;
    bool turns; // the other scene's frames come between
} bench_options;

typedef struct bench_times {
    double median_ms, min_ms, graph_ms, scatter;
    // Of a new finder, or after another scene: the slowest of the first three frames, and of the next six.
    double first_ms, late_ms, new_ms[NEW_FRAMES]; // new_ms: of each of these nine
    psv_profile profile;
    psv_pair_statistics statistics;
    uint64_t finder_bytes; // without the pairs
} bench_times;

static bool cpu_time; // processor time over all workers instead of the wall clock: for a machine that is not idle

static double now_ms(void) {
    struct timespec t;
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void check(psv_context *context, psv_status status, const char *what) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_collision: %s: %s\n", what, psv_last_error(context));
    exit(1);
}

// --- timing ----------------------------------------------------------------------------------------------------------

static double time_frame(psv_context *context, psv_pair_finder *finder, const psv_box_set *set) {
#if PSV_HAVE_CUDA
    if (psv_context_backend(context) == PSV_BACKEND_CUDA) {
        static cudaEvent_t begin, end;
        if (begin == NULL && (cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess)) exit(1);
        cudaStream_t stream = psv_context_stream(context);
        float ms = 0;
        cudaEventRecord(begin, stream);
        check(context, psv_find_pairs(finder, set), "find_pairs");
        cudaEventRecord(end, stream);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        return ms;
    }
#endif
    check(context, psv_synchronize(context), "synchronize"); // OpenGL; on the CPU there is nothing to wait for
    double begin = now_ms();
    check(context, psv_find_pairs(finder, set), "find_pairs");
    check(context, psv_synchronize(context), "synchronize");
    return now_ms() - begin;
}

// Median of the frame as a captured graph; 0 where there are no graphs.
static double time_graph(psv_context *context, psv_pair_finder *finder, const psv_box_set *set, int frames) {
    double median = 0;
#if PSV_HAVE_CUDA
    if (psv_context_backend(context) != PSV_BACKEND_CUDA) return 0;
    cudaStream_t stream = psv_context_stream(context);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    cudaEvent_t begin, end;
    double times[MAX_FRAMES];
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return 0;
    psv_status status = psv_find_pairs(finder, set);
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || status != PSV_OK ||
        cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess) {
        fprintf(stderr, "bench_collision: the frame could not be captured: %s\n", psv_last_error(context));
        return 0;
    }
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int f = -2; f < frames; ++f) {
        float ms = 0;
        cudaEventRecord(begin, stream);
        cudaGraphLaunch(executable, stream);
        cudaEventRecord(end, stream);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        if (f >= 0) times[f] = ms;
    }
    qsort(times, (size_t)frames, sizeof *times, bench_compare_times);
    median = times[frames / 2];
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
#else
    (void)context, (void)finder, (void)set, (void)frames;
#endif
    return median;
}

// A frame of `set`; then one of the other scene, where they take turns.
static double time_turn(const bench_options *options, psv_context *context, psv_pair_finder *finder,
                        const psv_box_set *set, const psv_box_set *other) {
    const double ms = time_frame(context, finder, set);
    if (options->turns) (void)time_frame(context, finder, other);
    return ms;
}

// `before`: boxes that the finder sees first; NULL: it is new.
static bench_times time_method(const bench_options *options, psv_context *context, psv_pair_finder *finder,
                               const psv_box_set *set, const psv_box_set *before) {
    bench_times result = {0};
    double times[MAX_FRAMES] = {0};
    int frames = 0;
    for (int f = 0; before != NULL && f < BEFORE_FRAMES; ++f)
        (void)time_frame(context, finder, before);
    for (int f = 0; f < NEW_FRAMES; ++f) {
        const double ms = result.new_ms[f] = time_turn(options, context, finder, set, before);
        double *const slowest = f < 3 ? &result.first_ms : &result.late_ms;
        if (ms > *slowest) *slowest = ms;
    }
    const double begin = now_ms();
    while (frames < options->frames && (frames < 3 || now_ms() - begin < options->budget_s * 1e3))
        times[frames++] = time_turn(options, context, finder, set, before);
    qsort(times, (size_t)frames, sizeof *times, bench_compare_times);
    result.median_ms = times[frames / 2];
    result.scatter = bench_scatter(times, frames);
    result.min_ms = times[0];
    result.graph_ms = time_graph(context, finder, set, frames);
    check(context, psv_enable_profile(context, true), "enable_profile");
    for (int f = 0; f < 3; ++f)
        (void)time_frame(context, finder, set);
    check(context, psv_wait_profile(context, &result.profile), "wait_profile");
    check(context, psv_enable_profile(context, false), "enable_profile");
    check(context, psv_read_pair_statistics(finder, &result.statistics), "statistics");
    return result;
}

// --- report ----------------------------------------------------------------------------------------------------------

// Of the CUDA driver, e.g. 13000; 0 on the CPU.
static int driver_version(psv_context *context) {
    int version = 0;
#if PSV_HAVE_CUDA
    if (psv_context_backend(context) == PSV_BACKEND_CUDA) (void)cudaDriverGetVersion(&version);
#endif
    (void)context;
    return version;
}

static void print_row(const bench_options *options, psv_context *context, const char *scene, uint64_t seed,
                      uint64_t count, const char *method, const bench_times *times, FILE *csv) {
    const psv_pair_statistics *s = &times->statistics;
    printf("%-14s %5llu %9llu %-7s %10.4f %10.4f %6.0f%% %10.4f %10.4f ", scene, (unsigned long long)seed,
           (unsigned long long)count, method, times->median_ms, times->min_ms, 100 * times->scatter, times->first_ms,
           times->late_ms);
    if (psv_context_backend(context) == PSV_BACKEND_CUDA) printf("%10.4f ", times->graph_ms);
    printf("%12llu %8.2f ", (unsigned long long)s->pairs,
           times->median_ms * 1e6 / (double)(s->boxes + s->pairs + (s->boxes == 0)));
    uint32_t cursor = 0;
    const char *name;
    double ms;
    while (psv_profile_next(&times->profile, &cursor, &name, &ms))
        printf(" %s %.3f", name, ms);
    printf("  new");
    for (int f = 0; f < NEW_FRAMES; ++f)
        printf(" %.3f", times->new_ms[f]);
    printf("  route %s veto %s bytes/box %.1f tests/box %.1f rows %llu levels %u bits %u longest %llu huge %llu\n",
           s->route, s->veto, (double)times->finder_bytes / (double)(s->boxes + (s->boxes == 0)),
           (double)s->candidates / (double)(s->boxes + (s->boxes == 0)), (unsigned long long)s->rows, s->levels,
           s->key_bits, (unsigned long long)s->longest_range, (unsigned long long)s->huge_boxes);
    fflush(stdout);
    if (csv == NULL) return;
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    fprintf(csv, "%s,%s,%d,", date, options->commit, driver_version(context));
    fprintf(csv, "%s,%s,%s,%llu,%s,%s,%d,%llu,%.5f,%.5f,%.5f,%llu,%llu", psv_backend_name(psv_context_backend(context)),
            psv_context_device_name(context), scene, (unsigned long long)count, method, options->sort_method,
            psv_context_worker_count(context), (unsigned long long)options->worlds, times->median_ms, times->min_ms,
            times->graph_ms, (unsigned long long)s->pairs, (unsigned long long)s->candidates);
    for (int phase = PSV_PHASE_KEYS; phase <= PSV_PHASE_SWEEP; ++phase)
        fprintf(csv, ",%.5f", times->profile.phase_ms[phase]);
    fprintf(csv, ",%llu,%s,%.5f,%.5f,%s,%s,%.3f\n", (unsigned long long)seed,
            options->after == NULL ? "" : options->after, times->first_ms, times->late_ms, s->route, s->veto,
            times->scatter);
}

static bool is_named(const bench_options *options, const char *method) {
    for (int m = 0; m < options->method_count; ++m)
        if (strcmp(options->methods[m], method) == 0) return true;
    return false;
}

static bool wanted(const bench_options *options, const char *method, uint64_t count) {
    if (strcmp(method, "brute") == 0 && count > options->brute_limit) return false;
    return options->method_count == 0 || is_named(options, method);
}

// The backend's methods, and behind them "auto", where it is named; NULL past the end.
static const char *method_at(const bench_options *options, psv_context *context, uint32_t index) {
    const char *name = psv_broad_phase_name(psv_context_backend(context), index);
    const bool behind = index > 0 && psv_broad_phase_name(psv_context_backend(context), index - 1) != NULL;
    return name == NULL && behind && is_named(options, "auto") ? "auto" : name;
}

// Every method on one set of boxes, of which each finder has seen those of `before` first, if there are any.
static void bench_set(const bench_options *options, psv_context *context, const char *scene, uint64_t seed,
                      const psv_box_set *set, const psv_box_set *before, FILE *csv) {
    const uint64_t count = set->count;
    const char *method;
    uint64_t pairs = UINT64_MAX, room = 4 * count + 1024;
    for (uint32_t m = 0; (method = method_at(options, context, m)) != NULL; ++m) {
        if (!wanted(options, method, count)) continue;
        psv_pair_finder_def def = psv_default_pair_finder_def();
        def.method = method;
        def.sort_method = options->sort_method;
        def.max_boxes = count;
        def.max_pairs = pairs == UINT64_MAX || pairs < room ? room : pairs + pairs / 8;
        def.world_count = (uint32_t)options->worlds;
        psv_pair_finder *finder = NULL;
        check(context, psv_create_pair_finder(context, &def, &finder), method);
        uint64_t need = 0;
        psv_status status = psv_find_pairs(finder, set);
        if (status == PSV_OK || status == PSV_ERROR_CAPACITY) status = psv_finish_pairs(finder, &need);
        if (status == PSV_ERROR_CAPACITY) { // a second finder with the room that the scene needs
            psv_destroy_pair_finder(finder);
            def.max_pairs = need + need / 8;
            check(context, psv_create_pair_finder(context, &def, &finder), method);
            status = psv_find_pairs(finder, set);
            if (status == PSV_OK) status = psv_finish_pairs(finder, &need);
        }
        check(context, status, method);
        psv_destroy_pair_finder(finder); // a new one, whose first frame is measured too
        check(context, psv_create_pair_finder(context, &def, &finder), method);
        bench_times times = time_method(options, context, finder, set, before);
        times.finder_bytes =
            psv_pair_finder_bytes(psv_context_backend(context), &def) - sizeof(psv_pair) * def.max_pairs;
        print_row(options, context, scene, seed, count, method, &times, csv);
        if (pairs != UINT64_MAX && times.statistics.pairs != pairs) {
            fprintf(stderr, "bench_collision: %s finds %llu pairs, another method %llu\n", method,
                    (unsigned long long)times.statistics.pairs, (unsigned long long)pairs);
            exit(1);
        }
        pairs = times.statistics.pairs;
        psv_destroy_pair_finder(finder);
    }
}

// The boxes of a scene of the simulation, after some frames of it.
static void bench_simulated(const bench_options *options, psv_context *context, const char *name, uint64_t count,
                            FILE *csv) {
    psv_scene_options scene_options = psv_default_scene_options();
    psv_scene *scene = NULL;
    scene_options.bodies = count;
    check(context, psv_load_scene(context, name + strlen(SIMULATED), &scene_options, &scene), name);
    for (int frame = 0; frame < options->steps; ++frame)
        check(context, psv_scene_step(scene), "step");
    psv_world_counters counters; // these wait for all frames, those that had to make room first among them
    check(context, psv_read_world_counters(psv_scene_world(scene), &counters), "step");
    const psv_box_set set = psv_world_box_set(psv_scene_world(scene));
    bench_set(options, context, name, 0, &set, NULL, csv);
    psv_destroy_scene(scene);
}

static psv_buffer upload_worlds(psv_context *context, uint64_t count, uint64_t world_count) {
    psv_buffer buffer;
    uint32_t *worlds = malloc(count * sizeof *worlds);
    if (worlds == NULL) exit(1);
    for (uint64_t i = 0; i < count; ++i)
        worlds[i] = (uint32_t)(i * world_count / count);
    check(context, psv_alloc_buffer(context, count * sizeof *worlds, &buffer), "alloc");
    check(context, psv_upload(context, buffer, worlds, count * sizeof *worlds), "upload");
    free(worlds);
    return buffer;
}

// The boxes of a file: least corner, greatest corner, as floats, box after box. All of them, whatever --counts says.
static void bench_file(const bench_options *options, psv_context *context, const char *name, FILE *csv) {
    FILE *file = fopen(name + strlen(FROM_FILE), "rb");
    long bytes = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) bytes = ftell(file);
    const uint64_t count = bytes < 0 ? 0 : (uint64_t)bytes / sizeof(psv_aabb);
    psv_aabb *boxes = malloc(count * sizeof *boxes + 1);
    if (boxes == NULL || count == 0 || fseek(file, 0, SEEK_SET) != 0 ||
        fread(boxes, sizeof *boxes, count, file) != count) {
        fprintf(stderr, "bench_collision: %s: no boxes can be read\n", name);
        exit(1);
    }
    (void)fclose(file);
    psv_buffer buffer;
    check(context, psv_alloc_buffer(context, count * sizeof *boxes, &buffer), "alloc");
    check(context, psv_upload(context, buffer, boxes, count * sizeof *boxes), "upload");
    free(boxes);
    psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), count);
    psv_buffer worlds = {0};
    if (options->worlds > 1) set.worlds = worlds = upload_worlds(context, count, options->worlds);
    const char *end = strrchr(name, '/');
    bench_set(options, context, end == NULL ? name : end + 1, 0, &set, NULL, csv);
    psv_free_buffer(context, &worlds);
    psv_free_buffer(context, &buffer);
}

static psv_buffer upload_scene(psv_context *context, const box_scene *scene, uint64_t count, uint64_t seed) {
    psv_buffer buffer;
    psv_aabb *boxes = malloc(count * sizeof *boxes);
    if (boxes == NULL) exit(1);
    scene->make(boxes, count, seed);
    check(context, psv_alloc_buffer(context, count * sizeof *boxes, &buffer), "alloc");
    check(context, psv_upload(context, buffer, boxes, count * sizeof *boxes), "upload");
    free(boxes);
    return buffer;
}

static void bench_scene(const bench_options *options, psv_context *context, const box_scene *scene, uint64_t seed,
                        uint64_t count, FILE *csv) {
    psv_buffer buffer = upload_scene(context, scene, count, seed), other = {0}, worlds = {0};
    psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), count), before = set;
    if (options->worlds > 1) set.worlds = worlds = upload_worlds(context, count, options->worlds);
    if (options->after != NULL) {
        other = upload_scene(context, box_scene_named(options->after), count, seed);
        before = psv_boxes_of(other, sizeof(psv_aabb), count);
        before.worlds = set.worlds;
    }
    bench_set(options, context, scene->name, seed, &set, options->after == NULL ? NULL : &before, csv);
    psv_free_buffer(context, &worlds);
    psv_free_buffer(context, &other);
    psv_free_buffer(context, &buffer);
}

// --- command line ----------------------------------------------------------------------------------------------------

static void print_help(void) {
    printf(
        "usage: bench_collision [--backend auto|cpu|cuda|gl] [--scenes a,b] [--counts 10000,1000000]\n"
        "       [--methods a,b] [--sort NAME] [--worlds N] [--frames N] [--budget SECONDS] [--workers N]\n"
        "       [--brute-limit N] [--seed N,N] [--after SCENE] [--cpu-time] [--csv FILE] [--commit TEXT] [--steps N]\n"
        "       [--turns] [--device PROFILE]\n"
        "--methods: all of the backend's without it; also auto, where it is named.\n"
        "--device: on CUDA, as on a lesser device (tests/device_profiles.h: turing, ampere, ampere_rtx, ada ...).\n"
        "--after: each finder has seen 8 frames of that scene before; with --turns also one between two frames.\n"
        "first: the slowest of the first three frames; late: of the next six; new: each of these nine.\n"
        "A scene file:PATH are the boxes of a file: six floats each, least corner, greatest corner.\n"
        "A scene sim:NAME is the scene NAME of the simulation (pairsieve list) after --steps frames (30).\n"
        "scenes:\n");
    for (uint32_t i = 0; box_scene_at(i) != NULL; ++i)
        printf("  %-14s %s\n", box_scene_at(i)->name, box_scene_at(i)->description);
}

static int split(char *text, const char **list) {
    int n = 0;
    for (char *part = strtok(text, ","); part != NULL && n < MAX_LIST; part = strtok(NULL, ","))
        list[n++] = part;
    return n;
}

static bench_options parse(int argc, char **argv) {
    bench_options o = {.frames = 31,
                       .steps = 30,
                       .sort_method = "cells",
                       .worlds = 1,
                       .brute_limit = 20000,
                       .budget_s = 1.0,
                       .commit = PSV_COMMIT};
    static const struct option names[] = {
        {"backend", 1, NULL, 'b'}, {"scenes", 1, NULL, 's'}, {"counts", 1, NULL, 'n'},      {"methods", 1, NULL, 'm'},
        {"sort", 1, NULL, 'o'},    {"worlds", 1, NULL, 'w'}, {"frames", 1, NULL, 'f'},      {"budget", 1, NULL, 't'},
        {"workers", 1, NULL, 'k'}, {"seed", 1, NULL, 'e'},   {"brute-limit", 1, NULL, 'l'}, {"csv", 1, NULL, 'c'},
        {"help", 0, NULL, 'h'},    {"commit", 1, NULL, 'i'}, {"cpu-time", 0, NULL, 'p'},    {"steps", 1, NULL, 'z'},
        {"after", 1, NULL, 'a'},   {"device", 1, NULL, 'd'}, {"turns", 0, NULL, 'u'},       {NULL, 0, NULL, 0}};
    const char *counts[MAX_LIST], *seeds[MAX_LIST];
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (c) {
        case 'b':
            if (psv_parse_backend(optarg, &o.backend) != PSV_OK) {
                fprintf(stderr, "bench_collision: %s\n", psv_last_error(NULL));
                exit(2);
            }
            break;
        case 's': o.scene_count = split(optarg, o.scenes); break;
        case 'm': o.method_count = split(optarg, o.methods); break;
        case 'n':
            o.count_count = split(optarg, counts);
            for (int i = 0; i < o.count_count; ++i)
                o.counts[i] = bench_count(PROGRAM, "--counts", counts[i], 1, UINT64_C(1) << 31);
            break;
        case 'o': o.sort_method = optarg; break;
        case 'w': o.worlds = bench_count(PROGRAM, "--worlds", optarg, 1, UINT32_MAX); break;
        case 'f': o.frames = (int)bench_count(PROGRAM, "--frames", optarg, 3, MAX_FRAMES); break;
        case 't': o.budget_s = bench_positive(PROGRAM, "--budget", optarg, 1e6); break;
        case 'k': o.workers = (int)bench_count(PROGRAM, "--workers", optarg, 1, 1024); break;
        case 'e':
            o.seed_count = split(optarg, seeds);
            for (int i = 0; i < o.seed_count; ++i)
                o.seeds[i] = bench_count(PROGRAM, "--seed", seeds[i], 0, UINT64_MAX);
            break;
        case 'a': o.after = optarg; break;
        case 'u': o.turns = true; break;
        case 'd':
            o.profile = find_device_profile(optarg);
            if (o.profile == NULL) {
                fprintf(stderr, "bench_collision: --device: no device '%s'; see tests/device_profiles.h\n", optarg);
                exit(2);
            }
            break;
        case 'l': o.brute_limit = bench_count(PROGRAM, "--brute-limit", optarg, 0, UINT64_MAX); break;
        case 'c': o.csv = optarg; break;
        case 'i': o.commit = optarg; break;
        case 'p': cpu_time = true; break;
        case 'z': o.steps = (int)bench_count(PROGRAM, "--steps", optarg, 0, 1000000); break;
        case 'h': print_help(); exit(0);
        default: exit(2); // getopt has said what is wrong
        }
    }
    if (optind < argc) {
        fprintf(stderr, "bench_collision: unexpected argument '%s'; see --help\n", argv[optind]);
        exit(2);
    }
    if (o.after != NULL && box_scene_named(o.after) == NULL) {
        fprintf(stderr, "bench_collision: unknown scene '%s'; see --help\n", o.after);
        exit(2);
    }
    if (o.turns && o.after == NULL) {
        fprintf(stderr, "bench_collision: --turns needs --after\n");
        exit(2);
    }
    if (o.seed_count == 0) o.seed_count = 1;
    if (o.count_count == 0) o.counts[0] = 10000, o.counts[1] = 100000, o.counts[2] = 1000000, o.count_count = 3;
    for (uint32_t i = 0; o.scene_count == 0 && box_scene_at(i) != NULL && !box_scene_at(i)->degenerate; ++i)
        o.scenes[i] = box_scene_at(i)->name;
    while (o.scene_count < MAX_LIST && o.scenes[o.scene_count] != NULL)
        ++o.scene_count;
    for (int i = 0; i < o.scene_count; ++i) {
        if (box_scene_named(o.scenes[i]) != NULL || strncmp(o.scenes[i], SIMULATED, strlen(SIMULATED)) == 0 ||
            strncmp(o.scenes[i], FROM_FILE, strlen(FROM_FILE)) == 0)
            continue;
        fprintf(stderr, "bench_collision: unknown scene '%s'; see --help\n", o.scenes[i]);
        exit(2);
    }
    return o;
}

// A method that the backend does not have would leave nothing to measure.
static void check_methods(const bench_options *o, psv_backend backend) {
    for (int m = 0; m < o->method_count; ++m)
        if (psv_broad_phase_description(backend, o->methods[m]) == NULL && strcmp(o->methods[m], "auto") != 0) {
            fprintf(stderr, "bench_collision: unknown method '%s' of %s; accepted: auto,", o->methods[m],
                    psv_backend_name(backend));
            for (uint32_t i = 0; psv_broad_phase_name(backend, i) != NULL; ++i)
                fprintf(stderr, "%s %s", i > 0 ? "," : "", psv_broad_phase_name(backend, i));
            fputc('\n', stderr);
            exit(2);
        }
}

int main(int argc, char **argv) {
    bench_options options = parse(argc, argv);
    psv_context_def def = psv_default_context_def();
    def.backend = options.backend;
    def.worker_count = options.workers;
    psv_context *context = NULL;
    check(NULL, psv_create_context(&def, &context), "context");
    check_methods(&options, psv_context_backend(context));
    if (options.profile != NULL) take_device_for(&context->info, options.profile);
    bool cuda = psv_context_backend(context) == PSV_BACKEND_CUDA;
    printf("%s, %s, %d workers, sort %s, worlds %llu; ms a frame; ns per (box + pair)\n",
           psv_backend_name(psv_context_backend(context)), psv_context_device_name(context),
           psv_context_worker_count(context), options.sort_method, (unsigned long long)options.worlds);
    printf("%-14s %5s %9s %-7s %10s %10s %7s %10s %10s %s%12s %8s\n", "scene", "seed", "boxes", "method", "median",
           "min", "scatter", "first", "late", cuda ? "     graph " : "", "pairs", "ns");
    FILE *csv = NULL;
    if (options.csv != NULL && (csv = fopen(options.csv, "w")) == NULL) {
        fprintf(stderr, "bench_collision: %s cannot be written\n", options.csv);
        return 1;
    }
    bench_warn_busy("bench_collision");
    if (csv != NULL)
        fprintf(csv, "date,commit,driver,backend,device,scene,boxes,method,sort,workers,worlds,median_ms,min_ms,graph_"
                     "ms,pairs,candidates,"
                     "keys_ms,sort_ms,gather_ms,sweep_ms,seed,after,first_ms,late_ms,route,veto,scatter\n");
    for (int s = 0; s < options.scene_count; ++s)
        if (strncmp(options.scenes[s], FROM_FILE, strlen(FROM_FILE)) == 0)
            bench_file(&options, context, options.scenes[s], csv);
        else
            for (int n = 0; n < options.count_count; ++n)
                if (box_scene_named(options.scenes[s]) != NULL)
                    for (int seed = 0; seed < options.seed_count; ++seed)
                        bench_scene(&options, context, box_scene_named(options.scenes[s]), options.seeds[seed],
                                    options.counts[n], csv);
                else
                    bench_simulated(&options, context, options.scenes[s], options.counts[n], csv);
    if (csv != NULL && fclose(csv) != 0) return 1;
    psv_destroy_context(context);
    return 0;
}
