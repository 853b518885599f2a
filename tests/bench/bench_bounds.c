// bench_bounds: what `auto` promises, judged frame by frame. Boxes move; each method has a finder of its own and sees
// the same frames in turns. Times are processor time of one worker, or on a GPU wall time until the pairs' number is on
// the host. Every frame's pairs are compared.
#include <getopt.h>
#include <time.h>

#include <pairsieve/collision.h>

#include "../cases/box_scenes.h"
#include "bench_numbers.h"

#define PROGRAM "bench_bounds"
#define MAX_LIST 64
#define METHODS 8
#define FRAMES 24
#define SURE 3      // frames before those that count as steady
#define TOO_SLOW 12 // times the best of a frame: a method that takes longer is left out of the later frames

typedef struct bench_options {
    psv_backend backend;
    const char *scenes[MAX_LIST], *methods[MAX_LIST];
    uint64_t counts[MAX_LIST], seeds[MAX_LIST];
    int scene_count, method_count, count_count, seed_count, frames;
    float move; // of a box's size, in a frame
} bench_options;

typedef struct bench_method {
    const char *name;
    psv_pair_finder *finder;
    psv_pair_finder_def def;
    double ms[FRAMES];
    int frames; // that it has seen
    uint64_t pairs, tests, gave_up;
} bench_method;

static void check(psv_context *context, psv_status status, const char *what) {
    if (status == PSV_OK) return;
    (void)fprintf(stderr, PROGRAM ": %s: %s\n", what, psv_last_error(context));
    exit(1);
}

static double now_ms(const psv_context *context) {
    struct timespec t;
    const bool cpu = psv_context_backend(context) == PSV_BACKEND_CPU;
    (void)clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// --- scenes ----------------------------------------------------------------------------------------------------------

static const box_scene *scene_named(const char *name) {
    for (uint32_t i = 0; box_family_at(i) != NULL; ++i)
        if (strcmp(box_family_at(i)->name, name) == 0) return box_family_at(i);
    return box_scene_named(name);
}

// Each box goes its own way, on an axis by at most `move` of its size there.
static void move_boxes(psv_aabb *boxes, uint64_t count, uint64_t seed, float move) {
    for (uint64_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            const float size = boxes[i].max[axis] - boxes[i].min[axis];
            const float way = move * size * (2 * box_random(seed + 77, i, axis) - 1);
            boxes[i].min[axis] += way;
            boxes[i].max[axis] += way;
        }
}

// --- frames ----------------------------------------------------------------------------------------------------------

static void create(psv_context *context, bench_method *method, const char *name, uint64_t count, uint64_t room) {
    *method = (bench_method){.name = name, .def = psv_default_pair_finder_def()};
    method->def.method = name;
    method->def.max_boxes = count;
    method->def.max_pairs = room;
    method->def.grow_pairs = false;
    check(context, psv_create_pair_finder(context, &method->def, &method->finder), name);
}

static void run_frame(psv_context *context, bench_method *method, const psv_box_set *set) {
    psv_pair_statistics statistics;
    const double begin = now_ms(context);
    check(context, psv_find_pairs(method->finder, set), method->name);
    check(context, psv_finish_pairs(method->finder, &method->pairs), method->name);
    method->ms[method->frames++] = now_ms(context) - begin;
    check(context, psv_read_pair_statistics(method->finder, &statistics), method->name);
    method->tests = statistics.candidates;
    method->gave_up += strcmp(statistics.veto, "tests") == 0;
}

// How many pairs the frames may have, by a finder that does without a buffer's room.
static uint64_t room_for(psv_context *context, const psv_box_set *sets, int count) {
    uint64_t most = 0;
    for (int s = 0; s < count; ++s) {
        bench_method method;
        uint64_t pairs = 0;
        create(context, &method, "auto", sets[s].count, 1);
        const psv_status status = psv_find_pairs(method.finder, &sets[s]);
        if (status != PSV_OK && status != PSV_ERROR_CAPACITY) check(context, status, "auto");
        const psv_status ends = psv_finish_pairs(method.finder, &pairs);
        if (ends != PSV_OK && ends != PSV_ERROR_CAPACITY) check(context, ends, "auto");
        most = pairs > most ? pairs : most;
        psv_destroy_pair_finder(method.finder);
    }
    return 3 * most + 1024; // boxes that move may crowd
}

// The pairs' number and a sum over hashes of the pairs.
static uint64_t sum_of_pairs(psv_context *context, bench_method *method, psv_pair *pairs, uint64_t room) {
    uint64_t count = 0, sum = 0;
    check(context, psv_read_pairs(method->finder, pairs, room, &count), method->name);
    for (uint64_t i = 0; i < count; ++i)
        sum += box_random_bits(((uint64_t)pairs[i].a << 32) + pairs[i].b + 1, 0, 0);
    return sum + count;
}

static double median_of(const bench_method *method, int every) {
    double times[FRAMES];
    int count = 0;
    for (int f = SURE; f < method->frames; ++f)
        if (f % every == every - 1) times[count++] = method->ms[f];
    if (count == 0) return method->ms[method->frames - 1];
    qsort(times, (size_t)count, sizeof *times, bench_compare_times);
    return times[count / 2];
}

// --- a case ----------------------------------------------------------------------------------------------------------

typedef struct bench_case {
    const char *name;
    uint64_t count, seed;
    psv_aabb *boxes[2];
    psv_box_set sets[2]; // copies of `boxes` on the backend
    int turns;           // 2: scenes that take turns
} bench_case;

static void print_case(const bench_case *made, const bench_method *methods, int count) {
    const bench_method *judged = &methods[count - 1], *best = NULL;
    double least = 0, first = 0, late = 0;
    for (int m = 0; m < count; ++m) {
        const double ms = median_of(&methods[m], made->turns);
        if (methods[m].frames > SURE && (best == NULL || ms < least)) best = &methods[m], least = ms;
    }
    for (int f = 0; f < judged->frames; ++f) {
        if (f % made->turns != made->turns - 1) continue;
        if (judged->ms[f] > first) first = judged->ms[f];
        if (f >= SURE && judged->ms[f] > late) late = judged->ms[f];
    }
    printf("%-20s %8llu %3llu %10llu  best %-6s %9.3f  auto %9.3f  worst %6.2f  fourth on %6.2f  median %5.2f%s gave "
           "up %llu tests/box %.0f ",
           made->name, (unsigned long long)made->count, (unsigned long long)made->seed,
           (unsigned long long)judged->pairs, best->name, least, median_of(judged, made->turns), first / least,
           late / least, median_of(judged, made->turns) / least, first > 5 * least || late > 2 * least ? " !" : "  ",
           (unsigned long long)judged->gave_up, (double)judged->tests / (double)made->count);
    for (int m = 0; m < count; ++m) {
        printf(" | %s", methods[m].name);
        for (int f = 0; f < methods[m].frames; ++f)
            printf(" %.3f", methods[m].ms[f]);
    }
    printf("\n");
    (void)fflush(stdout);
}

static void upload_boxes(psv_context *context, const bench_case *made, int turn) {
    const uint64_t bytes = made->count * sizeof *made->boxes[turn];
    check(context, psv_upload(context, made->sets[turn].min, made->boxes[turn], bytes), "upload");
}

static void run_case(const bench_options *options, psv_context *context, bench_case *made) {
    bench_method methods[METHODS];
    const int count = options->method_count + 1;
    const uint64_t room = room_for(context, made->sets, made->turns);
    psv_pair *pairs = malloc(room * sizeof *pairs);
    if (pairs == NULL) exit(1);
    for (int m = 0; m < count; ++m)
        create(context, &methods[m], m + 1 < count ? options->methods[m] : "auto", made->count, room);
    for (int f = 0; f < options->frames; ++f) {
        const int turn = f % made->turns;
        const bench_method *fastest = NULL, *last = NULL;
        uint64_t sum = 0;
        for (int m = 0; m < count; ++m) {
            bench_method *method = &methods[m];
            if (method->frames < f) continue;
            run_frame(context, method, &made->sets[turn]);
            if (fastest == NULL || method->ms[f] < fastest->ms[f]) fastest = method;
            const uint64_t now =
                f == 0 || f == options->frames - 1 ? sum_of_pairs(context, method, pairs, room) : method->pairs;
            if (last != NULL && now != sum) {
                (void)fprintf(stderr, PROGRAM ": %s, frame %d: pairs of %s and %s differ\n", made->name, f, last->name,
                              method->name);
                exit(1);
            }
            last = method;
            sum = now;
        }
        for (int m = 0; m + 1 < count && f <= SURE; ++m)
            if (methods[m].frames > f && methods[m].ms[f] > TOO_SLOW * fastest->ms[f]) --methods[m].frames;
        move_boxes(made->boxes[turn], made->count, made->seed + (uint64_t)f, options->move);
        upload_boxes(context, made, turn);
    }
    print_case(made, methods, count);
    for (int m = 0; m < count; ++m)
        psv_destroy_pair_finder(methods[m].finder);
    free(pairs);
}

// A name, or two with + between that take turns.
static void make_case(const bench_options *options, psv_context *context, const char *name, uint64_t count,
                      uint64_t seed) {
    bench_case made = {.name = name, .count = count, .seed = seed};
    char names[64];
    (void)snprintf(names, sizeof names, "%s", name);
    for (char *part = strtok(names, "+"); part != NULL && made.turns < 2; part = strtok(NULL, "+")) {
        psv_aabb *boxes = malloc(count * sizeof *boxes);
        const box_scene *scene = scene_named(part);
        if (boxes == NULL || scene == NULL) {
            (void)fprintf(stderr, PROGRAM ": unknown scene '%s'\n", part);
            exit(2);
        }
        scene->make(boxes, count, seed);
        psv_buffer buffer = {0};
        check(context, psv_alloc_buffer(context, count * sizeof *boxes, &buffer), "boxes");
        made.boxes[made.turns] = boxes;
        made.sets[made.turns] = psv_boxes_of(buffer, sizeof *boxes, count);
        upload_boxes(context, &made, made.turns++);
    }
    run_case(options, context, &made);
    for (int turn = 0; turn < made.turns; ++turn) {
        psv_free_buffer(context, &made.sets[turn].min);
        free(made.boxes[turn]);
    }
}

// --- command line ----------------------------------------------------------------------------------------------------

static int split(char *text, const char **list) {
    int n = 0;
    for (char *part = strtok(text, ","); part != NULL && n < MAX_LIST; part = strtok(NULL, ","))
        list[n++] = part;
    return n;
}

static void print_help(void) {
    printf("usage: bench_bounds [--scenes a,b,c+d] [--counts 10K,100K] [--seed N,N] [--methods a,b] [--frames N]\n"
           "       [--move SHARE] [--backend cpu|cuda]\n"
           "Time of `auto`, each frame over the best method's median: processor time of one worker, or wall time.\n"
           "c+d: two scenes that take turns; the second is judged.\nscenes:\n");
    for (uint32_t i = 0; box_family_at(i) != NULL; ++i)
        printf("  %-14s %s\n", box_family_at(i)->name, box_family_at(i)->description);
}

static bench_options parse(int argc, char **argv) {
    bench_options o = {
        .backend = PSV_BACKEND_CPU, .frames = 12, .move = 0.1f, .methods = {"lbvh", "rows"}, .method_count = 2};
    static const struct option names[] = {{"scenes", 1, NULL, 's'},  {"counts", 1, NULL, 'n'},  {"seed", 1, NULL, 'e'},
                                          {"methods", 1, NULL, 'm'}, {"frames", 1, NULL, 'f'},  {"move", 1, NULL, 'v'},
                                          {"help", 0, NULL, 'h'},    {"backend", 1, NULL, 'b'}, {NULL, 0, NULL, 0}};
    const char *numbers[MAX_LIST];
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case 's': o.scene_count = split(optarg, o.scenes); break;
        case 'm': o.method_count = split(optarg, o.methods); break;
        case 'n':
            o.count_count = split(optarg, numbers);
            for (int i = 0; i < o.count_count; ++i)
                o.counts[i] = bench_count(PROGRAM, "--counts", numbers[i], 1, UINT64_C(1) << 28);
            break;
        case 'e':
            o.seed_count = split(optarg, numbers);
            for (int i = 0; i < o.seed_count; ++i)
                o.seeds[i] = bench_count(PROGRAM, "--seed", numbers[i], 0, UINT64_MAX);
            break;
        case 'b': check(NULL, psv_parse_backend(optarg, &o.backend), "--backend"); break;
        case 'f': o.frames = (int)bench_count(PROGRAM, "--frames", optarg, SURE + 1, FRAMES); break;
        case 'v': o.move = (float)bench_positive(PROGRAM, "--move", optarg, 100); break;
        case 'h': print_help(); exit(0);
        default: exit(2);
        }
    if (o.count_count == 0) o.counts[0] = 10000, o.counts[1] = 100000, o.count_count = 2;
    if (o.seed_count == 0) o.seed_count = 1;
    for (uint32_t i = 0; o.scene_count == (int)i && box_family_at(i) != NULL; ++i)
        o.scenes[o.scene_count++] = box_family_at(i)->name;
    return o;
}

int main(int argc, char **argv) {
    const bench_options options = parse(argc, argv);
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = options.backend;
    def.worker_count = 1;
    check(NULL, psv_create_context(&def, &context), "context");
    for (int s = 0; s < options.scene_count; ++s)
        for (int n = 0; n < options.count_count; ++n)
            for (int e = 0; e < options.seed_count; ++e)
                make_case(&options, context, options.scenes[s], options.counts[n], options.seeds[e]);
    psv_destroy_context(context);
    return 0;
}
