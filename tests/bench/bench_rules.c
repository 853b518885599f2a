// bench_rules: what a million excluded pairs, owners and layers cost, and what kept boxes and margins save. Cases take
// turns, frame by frame; printed are medians of the call, of processor time over all workers, the least of the latter,
// which other programs disturb the least, and medians of a captured graph.
//   bench_rules [cpu|cuda] [--boxes N] [--moving N] [--seed N] [--frames N] [--workers N] [--scene NAME]
//               [--only rules|kept]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/collision.h>

#include "../cases/box_scenes.h"

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#define MAX_FRAMES 400
#define EXCLUDED 1000000

typedef struct bench_case {
    const char *name;
    psv_pair_finder *finder;
    psv_box_set set;
    double call_ms[MAX_FRAMES], cpu_ms[MAX_FRAMES], graph_ms[MAX_FRAMES];
    uint64_t pairs;
#if PSV_HAVE_CUDA
    cudaGraphExec_t graph;
#endif
} bench_case;

static psv_context *context;
static uint64_t box_count = 1000000, moving_count = 10000, seed = 4711;
static int frame_count = 15;

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "bench_rules: %s\n", psv_last_error(context));
    exit(1);
}

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare_double(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *times) {
    qsort(times, (size_t)frame_count, sizeof *times, compare_double);
    return times[frame_count / 2];
}

// --- cases -----------------------------------------------------------------------------------------------------------

static psv_buffer upload(const void *data, uint64_t bytes) {
    psv_buffer buffer = {0};
    check(psv_alloc_buffer(context, bytes, &buffer));
    check(psv_upload(context, buffer, data, bytes));
    return buffer;
}

static psv_pair_finder_def room_for(uint64_t boxes) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = boxes;
    return def;
}

static bench_case *add_case(bench_case *cases, int *count, const char *name, const psv_pair_finder_def *def,
                            const psv_box_set *set) {
    bench_case *made = &cases[(*count)++];
    made->name = name;
    made->set = *set;
    check(psv_create_pair_finder(context, def, &made->finder));
    return made;
}

static void exclude(bench_case *made, const psv_pair *pairs, uint64_t count) {
    psv_pair_rules rules = psv_default_pair_rules();
    rules.excluded = upload(pairs, count * sizeof *pairs);
    rules.excluded_count = count;
    check(psv_set_pair_rules(made->finder, &rules));
}

// Pairs that are there, and pairs of any two boxes, which hardly ever are.
static void add_exclusions(bench_case *cases, int *count, const psv_box_set *set, psv_pair_finder *plain) {
    psv_pair_finder_def def = room_for(set->count);
    uint64_t there = 0;
    psv_pair *pairs = calloc(EXCLUDED, sizeof *pairs);
    def.max_excluded = EXCLUDED;
    check(psv_find_pairs(plain, set));
    check(psv_finish_pairs(plain, &there));
    psv_pair *all = calloc(there + 1, sizeof *all);
    check(psv_read_pairs(plain, all, there, &there));
    const uint64_t taken = there < EXCLUDED ? there : EXCLUDED;
    for (uint64_t i = 0; i < taken; ++i) // spread over all that are there
        pairs[i] = all[i * there / taken];
    exclude(add_case(cases, count, "excluded, there", &def, set), pairs, taken);
    for (uint64_t i = 0; i < EXCLUDED; ++i) {
        const uint32_t a = (uint32_t)(box_random_bits(seed, i, 11) % set->count);
        const uint32_t b = (uint32_t)(box_random_bits(seed, i, 12) % set->count);
        pairs[i] = a < b ? (psv_pair){a, b} : (psv_pair){b, a};
    }
    exclude(add_case(cases, count, "excluded, apart", &def, set), pairs, EXCLUDED);
    free(all);
    free(pairs);
}

// Boxes that stay within their margins: pairs are tested again.
static void add_margin(bench_case *cases, int *count, const psv_box_set *set) {
    psv_pair_finder_def def = room_for(set->count);
    psv_box_set wide = *set;
    def.margins = true;
    wide.margin = 0.2f;
    add_case(cases, count, "margin 0.2, none left", &def, &wide);
}

static void add_owners_and_layers(bench_case *cases, int *count, const psv_box_set *set) {
    uint32_t *owners = calloc(set->count, sizeof *owners), matrix[PSV_LAYERS];
    uint8_t *layers = calloc(set->count, 1);
    for (uint64_t i = 0; i < set->count; ++i) {
        owners[i] = (uint32_t)(i / 4);
        layers[i] = (uint8_t)(box_random_bits(seed, i, 13) % PSV_LAYERS);
    }
    for (int i = 0; i < PSV_LAYERS; ++i)
        matrix[i] = ~0u;
    const psv_pair_finder_def def = room_for(set->count);
    psv_box_set owned = *set, layered = *set;
    owned.owners = upload(owners, set->count * sizeof *owners);
    layered.layers = upload(layers, set->count);
    add_case(cases, count, "owners", &def, &owned);
    psv_pair_rules rules = psv_default_pair_rules();
    rules.layer_matrix = upload(matrix, sizeof matrix);
    check(psv_set_pair_rules(add_case(cases, count, "layers", &def, &layered)->finder, &rules));
    free(owners);
    free(layers);
}

// --- timing ----------------------------------------------------------------------------------------------------------

#if PSV_HAVE_CUDA
static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "bench_rules: %s\n", cudaGetErrorString(error));
    exit(1);
}

static void capture(bench_case *timed) {
    cudaStream_t stream = psv_context_stream(context);
    cudaGraph_t graph = NULL;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const psv_status status = psv_find_pairs(timed->finder, &timed->set);
    must(cudaStreamEndCapture(stream, &graph));
    check(status);
    must(cudaGraphInstantiate(&timed->graph, graph, 0));
    must(cudaGraphDestroy(graph));
}

static void time_on_device(bench_case *timed, int frame) {
    static cudaEvent_t begin, end;
    cudaStream_t stream = psv_context_stream(context);
    float ms = 0;
    if (begin == NULL) {
        must(cudaEventCreate(&begin));
        must(cudaEventCreate(&end));
    }
    for (int graph = 0; graph < 2; ++graph) {
        must(cudaEventRecord(begin, stream));
        if (graph == 0)
            check(psv_find_pairs(timed->finder, &timed->set));
        else
            must(cudaGraphLaunch(timed->graph, stream));
        must(cudaEventRecord(end, stream));
        must(cudaEventSynchronize(end));
        must(cudaEventElapsedTime(&ms, begin, end));
        if (frame >= 0) *(graph == 0 ? &timed->call_ms[frame] : &timed->graph_ms[frame]) = (double)ms;
    }
}
#endif

static void time_frame(bench_case *timed, int frame) {
#if PSV_HAVE_CUDA
    if (psv_context_backend(context) == PSV_BACKEND_CUDA) {
        time_on_device(timed, frame);
        return;
    }
#endif
    const double begin = now_ms(CLOCK_MONOTONIC), cpu_begin = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    check(psv_find_pairs(timed->finder, &timed->set));
    const double end = now_ms(CLOCK_MONOTONIC), cpu_end = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    if (frame < 0) return;
    timed->call_ms[frame] = end - begin;
    timed->cpu_ms[frame] = cpu_end - cpu_begin;
}

static void run_cases(bench_case *cases, int count) {
    for (int c = 0; c < count; ++c) {
        check(psv_find_pairs(cases[c].finder, &cases[c].set));
        check(psv_finish_pairs(cases[c].finder, &cases[c].pairs));
#if PSV_HAVE_CUDA
        if (psv_context_backend(context) == PSV_BACKEND_CUDA) {
            for (int warm = 0; warm < 3; ++warm)
                check(psv_find_pairs(cases[c].finder, &cases[c].set));
            capture(&cases[c]);
        }
#endif
    }
    for (int f = -2; f < frame_count; ++f)
        for (int c = 0; c < count; ++c)
            time_frame(&cases[c], f);
    printf("%-24s %10s %12s %10s %10s %10s %8s\n", "case", "boxes", "pairs", "call ms", "cpu ms", "least", "graph ms");
    for (int c = 0; c < count; ++c) {
        bench_case *timed = &cases[c];
        const double call = median_of(timed->call_ms), cpu = median_of(timed->cpu_ms); // sorted by that
        printf("%-24s %10llu %12llu %10.4f %10.4f %10.4f %8.4f\n", timed->name, (unsigned long long)timed->set.count,
               (unsigned long long)timed->pairs, call, cpu, timed->cpu_ms[0], median_of(timed->graph_ms));
        psv_destroy_pair_finder(timed->finder);
    }
}

static void bench_kept(const char *scene, uint64_t kept, uint64_t moving) {
    bench_case *cases = calloc(2, sizeof *cases);
    const uint64_t all = kept + moving;
    int count = 0;
    psv_aabb *boxes = calloc(all, sizeof *boxes);
    box_scene_named(scene)->make(boxes, all, seed);
    psv_box_set set = psv_boxes_of(upload(boxes, all * sizeof *boxes), sizeof *boxes, all);
    psv_pair_finder_def def = room_for(all);
    add_case(cases, &count, "all anew", &def, &set);
    def.max_kept = kept;
    set.kept = kept;
    add_case(cases, &count, "kept", &def, &set);
    printf("%llu kept, %llu others\n", (unsigned long long)kept, (unsigned long long)moving);
    run_cases(cases, 1); // one after the other: in turns each would find its memory out of the caches
    run_cases(cases + 1, count - 1);
    free(boxes);
    free(cases);
}

static void bench_rules(const char *scene) {
    psv_aabb *boxes = calloc(box_count, sizeof *boxes);
    box_scene_named(scene)->make(boxes, box_count, seed);
    const psv_box_set set = psv_boxes_of(upload(boxes, box_count * sizeof *boxes), sizeof *boxes, box_count);
    bench_case *cases = calloc(8, sizeof *cases);
    int count = 0;
    const psv_pair_finder_def plain = room_for(box_count);
    add_case(cases, &count, "no rules", &plain, &set);
    add_exclusions(cases, &count, &set, cases[0].finder);
    add_owners_and_layers(cases, &count, &set);
    add_margin(cases, &count, &set);
    run_cases(cases, count);
    free(cases);
    free(boxes);
}

int main(int argc, char **argv) {
    const char *scene = "cube", *only = "";
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    for (int i = 1; i < argc; ++i) {
        if (psv_parse_backend(argv[i], &def.backend) == PSV_OK) continue;
        if (i + 1 >= argc) return 2;
        const char *name = argv[i], *value = argv[++i];
        if (strcmp(name, "--boxes") == 0)
            box_count = strtoull(value, NULL, 10);
        else if (strcmp(name, "--moving") == 0)
            moving_count = strtoull(value, NULL, 10);
        else if (strcmp(name, "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else if (strcmp(name, "--frames") == 0)
            frame_count = atoi(value);
        else if (strcmp(name, "--workers") == 0)
            def.worker_count = (uint32_t)atoi(value);
        else if (strcmp(name, "--scene") == 0)
            scene = value;
        else if (strcmp(name, "--only") == 0)
            only = value;
        else
            return 2;
    }
    if (frame_count < 1 || frame_count > MAX_FRAMES || box_scene_named(scene) == NULL || box_count < 2) return 2;
    if (!psv_backend_available(def.backend)) return 77;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    if (strcmp(only, "kept") != 0) bench_rules(scene);
    if (strcmp(only, "rules") != 0) {
        bench_kept(scene, box_count, moving_count);
        bench_kept(scene, 100000, 1);
    }
    psv_destroy_context(context);
    return 0;
}
