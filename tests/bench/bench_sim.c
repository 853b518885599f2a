// Frame times of the simulation: scenes x bodies, the broad phase and the sort shown apart.
//   bench_sim [--backend cpu|cuda] [--frames N] [--targets] [--workers N] [--csv FILE] [--commit TEXT] [SCENE
//   BODIES]...
// --targets runs the cases that the project promises and prints the promise beside each. Times are medians over the
// second half of the frames, with phase events on; warm-up is the first half, in which things fall and meet. `worst` is
// of all frames.
#include <pairsieve/sim.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_numbers.h"

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#ifndef PSV_COMMIT
#define PSV_COMMIT "unknown"
#endif

#define PROGRAM "bench_sim"
#define FIRST_FRAMES 10 // in which memory may grow: not among those of which the worst is told

// `from` names a shipped scene; with `shapes` its shapes are all of one kind, from the text below.
typedef struct bench_case {
    const char *label, *scene;
    uint64_t bodies;
    double promise_ms; // 0: none
} bench_case;

// Heaps of one kind of body, for the promises that name a kind.
static const char spheres[] = "{\"name\": \"drop_spheres\", \"world\": {\"substeps\": 4}, \"shapes\": {\"ground\": "
                              "{\"type\": \"plane\"}, \"ball\": "
                              "{\"type\": \"sphere\", \"radius\": 0.5}},"
                              " \"fixed\": [{\"shape\": \"ground\"}], \"generators\": [{\"type\": \"fill\", "
                              "\"shapes\": [\"ball\"], \"base\": [0, 0.5, 0],"
                              " \"aspect\": 0.3, \"spacing\": 1.01}]}";
static const char boxes[] = "{\"name\": \"drop_boxes\", \"world\": {\"substeps\": 4}, \"shapes\": {\"ground\": "
                            "{\"type\": \"plane\"}, \"block\": "
                            "{\"type\": \"box\", \"half_extents\": [0.5, 0.4, 0.3]}},"
                            " \"fixed\": [{\"shape\": \"ground\"}], \"generators\": [{\"type\": \"fill\", \"shapes\": "
                            "[\"block\"], \"base\": [0, 0.5, 0],"
                            " \"aspect\": 0.3, \"spacing\": 0.8}]}";

// Balls in a tank as wide as the heap in it was high when it was let go; %g is half of the width between the walls.
static const char tank[] =
    "{\"name\": \"tank_spheres\", \"world\": {\"substeps\": 4}, \"shapes\": {\"ground\": {\"type\": \"plane\"}, "
    "\"ball\": {\"type\": \"sphere\", "
    "\"radius\": 0.5}}, \"fixed\": [{\"shape\": \"ground\"},"
    " {\"shape\": \"ground\", \"position\": [%g, 0, 0], \"rotation\": [0, 0, -0.70710678, 0.70710678]},"
    " {\"shape\": \"ground\", \"position\": [%g, 0, 0], \"rotation\": [0, 0, 0.70710678, 0.70710678]},"
    " {\"shape\": \"ground\", \"position\": [0, 0, %g], \"rotation\": [0.70710678, 0, 0, 0.70710678]},"
    " {\"shape\": \"ground\", \"position\": [0, 0, %g], \"rotation\": [-0.70710678, 0, 0, 0.70710678]}],"
    " \"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"], \"spacing\": 1.01, \"aspect\": 1}]}";

// A thousand boxes asleep on the ground for each ball that bounces beside them.
static const char asleep[] =
    "{\"name\": \"asleep\", \"world\": {\"substeps\": 4}, \"shapes\": {\"ground\": {\"type\": \"plane\", "
    "\"restitution\": 1}, \"block\": {\"type\": \"box\", \"half_extents\": [0.5, 0.4, 0.3]}, \"ball\": {\"type\": "
    "\"sphere\", \"radius\": 0.5, \"restitution\": 1}}, \"fixed\": [{\"shape\": \"ground\"}], \"generators\": "
    "[{\"type\": \"grid\", \"share\": 1000, \"shapes\": [\"block\"], \"columns\": 1000, \"rows\": 1000, \"spacing\": "
    "[1.2, 1, 1.2], \"base\": [0, 0.4, 0]}, {\"type\": \"grid\", \"share\": 1, \"shapes\": [\"ball\"], \"columns\": "
    "32, "
    "\"rows\": 32, \"spacing\": [2, 2, 2], \"base\": [900, 8, 0]}]}";

static const bench_case cuda_cases[] = {
    {"drop, 1M spheres", "spheres", 1000000, 8}, {"drop, 100K boxes", "boxes", 100000, 6},
    {"chairs, 10K", "chairs", 10000, 8},         {"landscape, 1M particles", "landscape", 1000000, 8},
    {"galaxy, 64K", "galaxy", 65536, 8},         {"worlds, 4096 x 32", "worlds", 131072, 4},
    {"dice, 100K hulls", "dice", 100000, 6},     {"tank, 1M spheres", "tank", 1000000, 6},
};
static const bench_case cpu_cases[] = {
    {"drop, 10K spheres", "spheres", 10000, 12},
    {"drop, 2K boxes", "boxes", 2000, 12},
};

static psv_context *context;
static FILE *csv;
static const char *commit = PSV_COMMIT;

static int quit_with(const char *what) {
    (void)fprintf(stderr, "bench_sim: %s: %s\n", what, psv_last_error(context));
    return 1;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *values, int count) {
    if (count == 0) return 0;
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

// The scenes of one kind are files of their own.
static const char *scene_file(const bench_case *c, char *path, size_t bytes) {
    const bool walls = strcmp(c->scene, "tank") == 0;
    const char *text = strcmp(c->scene, "spheres") == 0  ? spheres
                       : strcmp(c->scene, "boxes") == 0  ? boxes
                       : strcmp(c->scene, "asleep") == 0 ? asleep
                                                         : NULL;
    if (text == NULL && !walls) return c->scene;
    (void)snprintf(path, bytes, "bench_sim_%s.json", c->scene);
    FILE *file = fopen(path, "w");
    if (file == NULL) return c->scene;
    // Every other layer of the heap is moved by a quarter of a ball.
    const double half = 0.505 * floor(cbrt((double)c->bodies) + 0.5) + 0.3;
    if (walls)
        (void)fprintf(file, tank, -half, half, -half, half);
    else
        (void)fputs(text, file);
    (void)fclose(file);
    return path;
}

// Who measured what: of the CUDA driver e.g. 13000, 0 on the CPU.
static void print_origin(int frames) {
    const psv_backend backend = psv_context_backend(context);
    char date[32];
    struct tm utc;
    const time_t now = time(NULL);
    int driver = 0;
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA && cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
#endif
    (void)fprintf(csv, "%s,%s,%d,%s,%s,%d,%d,", date, commit, driver, psv_backend_name(backend),
                  psv_context_device_name(context), psv_context_worker_count(context), frames);
}

static int run_case(const bench_case *c, int frames) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = c->bodies;
    options.sleeping = strcmp(c->scene, "asleep") == 0;
    psv_scene *scene = NULL;
    char path[64];
    const char *name = scene_file(c, path, sizeof path);
    psv_status status = psv_load_scene(context, name, &options, &scene);
    if (name == path) (void)remove(path);
    if (status != PSV_OK) return quit_with(c->label);
    double *times = malloc((size_t)frames * (PSV_PHASE_COUNT + 1) * sizeof *times);
    if (times == NULL) return quit_with("no memory");
    int kept = 0;
    double worst = 0;
    for (int i = 0; i < frames && status == PSV_OK; ++i) {
        psv_profile profile = {0};
        status = psv_scene_step(scene);
        if (status == PSV_OK) status = psv_wait_profile(context, &profile);
        if (i >= FIRST_FRAMES) worst = fmax(worst, profile.frame_ms);
        if (status != PSV_OK || i < frames / 2) continue;
        for (int k = 0; k < PSV_PHASE_COUNT; ++k)
            times[k * frames + kept] = profile.phase_ms[k];
        times[PSV_PHASE_COUNT * frames + kept++] = profile.frame_ms;
    }
    psv_world_counters counters = {0};
    if (status == PSV_OK) status = psv_read_world_counters(psv_scene_world(scene), &counters);
    if (status != PSV_OK) return quit_with(c->label);
    double phase[PSV_PHASE_COUNT], frame = median(times + PSV_PHASE_COUNT * frames, kept);
    const double scatter = bench_scatter(times + PSV_PHASE_COUNT * frames, kept); // which the median has put in order
    for (int k = 0; k < PSV_PHASE_COUNT; ++k)
        phase[k] = median(times + k * frames, kept);
    double broad = phase[PSV_PHASE_KEYS] + phase[PSV_PHASE_SORT] + phase[PSV_PHASE_GATHER] + phase[PSV_PHASE_SWEEP];
    printf("%-26s %9.3f %6.0f%% %8.3f ", c->label, frame, 100 * scatter, worst);
    if (c->promise_ms > 0)
        printf("%7.1f  ", c->promise_ms);
    else
        printf("%7s  ", "");
    printf("%8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %10llu %10llu %3u %6llu\n", broad, phase[PSV_PHASE_SORT],
           phase[PSV_PHASE_BOUNDS], phase[PSV_PHASE_NARROW], phase[PSV_PHASE_SOLVE], phase[PSV_PHASE_INTEGRATE],
           (unsigned long long)counters.pairs, (unsigned long long)counters.contacts, counters.colours,
           (unsigned long long)counters.lost_bodies);
    if (csv != NULL) print_origin(frames);
    if (csv != NULL)
        (void)fprintf(csv, "%s,%llu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%llu,%llu,%.3f\n", c->scene,
                      (unsigned long long)c->bodies, frame, broad, phase[PSV_PHASE_SORT], phase[PSV_PHASE_BOUNDS],
                      phase[PSV_PHASE_NARROW], phase[PSV_PHASE_SOLVE], phase[PSV_PHASE_INTEGRATE],
                      (unsigned long long)counters.pairs, (unsigned long long)counters.contacts, scatter);
    free(times);
    psv_destroy_scene(scene);
    return 0;
}

static const char usage[] =
    "usage: bench_sim [--backend auto|cpu|cuda] [--workers N] [--frames N] [--csv FILE] [--commit TEXT] [--targets]\n"
    "                 [SCENE BODIES]...\n"
    "Without scenes, or with --targets: the cases of the targets. Beside shipped scenes: spheres, boxes, tank, "
    "asleep.\n";

static int refuse(const char *why, const char *word) {
    (void)fprintf(stderr, "bench_sim: %s '%s'; see --help\n", why, word);
    return 2;
}

int main(int argc, char **argv) {
    psv_context_def def = psv_default_context_def();
    int frames = 240, i = 1;
    bool targets = false;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; ++i) {
        const char *option = argv[i];
        if (strcmp(option, "--help") == 0) {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (strcmp(option, "--targets") == 0) {
            targets = true;
            continue;
        }
        const bool known = strcmp(option, "--backend") == 0 || strcmp(option, "--frames") == 0 ||
                           strcmp(option, "--workers") == 0 || strcmp(option, "--csv") == 0 ||
                           strcmp(option, "--commit") == 0;
        if (!known) return refuse("unknown option", option);
        if (++i == argc) return refuse("a value is missing after", option);
        const char *value = argv[i];
        if (strcmp(option, "--backend") == 0 && psv_parse_backend(value, &def.backend) != PSV_OK)
            return refuse("--backend is auto, cpu or cuda, not", value);
        if (strcmp(option, "--frames") == 0) frames = (int)bench_count(PROGRAM, option, value, 2, 1000000);
        if (strcmp(option, "--workers") == 0) def.worker_count = (int)bench_count(PROGRAM, option, value, 1, 1024);
        if (strcmp(option, "--commit") == 0) commit = value;
        if (strcmp(option, "--csv") == 0 && (csv = fopen(value, "w")) == NULL) return refuse("cannot write", value);
    }
    if ((argc - i) % 2 != 0) return refuse("the number of bodies is missing after", argv[argc - 1]);
    for (int k = i; k < argc; k += 2)
        (void)bench_count(PROGRAM, argv[k], argv[k + 1], 1, UINT32_MAX);
    if (psv_create_context(&def, &context) != PSV_OK) return quit_with("context");
    if (psv_enable_profile(context, true) != PSV_OK) return quit_with("profile");
    printf("%s, %d frames\n%-26s %9s %7s %8s %7s  %8s %8s %8s %8s %8s %8s %10s %10s %3s %6s\n",
           psv_context_device_name(context), frames, "case", "frame ms", "scatter", "worst", "promise", "broad", "sort",
           "bounds", "narrow", "solve", "end", "pairs", "contacts", "col", "lost");
    if (csv != NULL)
        (void)fprintf(csv, "date,commit,driver,backend,device,workers,frames,scene,bodies,frame_ms,broad_ms,sort_ms,"
                           "bounds_ms,narrow_ms,solve_ms,end_ms,pairs,contacts,scatter\n");
    bench_warn_busy(PROGRAM);
    bool cpu = psv_context_backend(context) == PSV_BACKEND_CPU;
    const bench_case *cases = cpu ? cpu_cases : cuda_cases;
    size_t count = cpu ? sizeof cpu_cases / sizeof *cpu_cases : sizeof cuda_cases / sizeof *cuda_cases;
    int failed = 0;
    if (targets || i >= argc)
        for (size_t k = 0; k < count; ++k)
            failed |= run_case(&cases[k], frames);
    for (; i + 1 < argc; i += 2) {
        bench_case c = {
            .label = argv[i], .scene = argv[i], .bodies = bench_count(PROGRAM, argv[i], argv[i + 1], 1, UINT32_MAX)};
        failed |= run_case(&c, frames);
    }
    if (csv != NULL) (void)fclose(csv);
    psv_destroy_context(context);
    return failed;
}
