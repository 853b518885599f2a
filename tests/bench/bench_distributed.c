// bench_distributed: pairs and sorts over the ranks of an MPI job, of scenes and keys that are dealt out in each way.
// Run by mpirun, or by `mpirun -n N pairsieve bench collision|sort --distributed`. See --help.
#include <getopt.h>
#include <math.h>
#include <mpi.h>

#include <pairsieve/group.h>
#include <pairsieve/group_mpi.h>
#include <pairsieve/group_pairs.h>

#include "../cases/box_scenes.h"
#include "../cases/sort_inputs.h"
#include "bench_numbers.h"

#define PROGRAM "bench_distributed"
#define MOST_FRAMES 64

static const char usage[] =
    "usage: mpirun -n N bench_distributed collision [OPTION]...\n"
    "       mpirun -n N bench_distributed sort [OPTION]...\n\n"
    "Times of whole calls on the slowest rank, medians over the frames after the first, and the phases of rank 0.\n\n"
    "options:\n"
    "  --scenes NAME,...        scenes (default: cube,pile,clusters,mixed_1000), or kinds of keys (uniform,few,zipf)\n"
    "  --counts N,...           boxes or keys of all ranks together (default: 100K,1M)\n"
    "  --per-rank               the counts are of each rank: weak scaling\n"
    "  --deal KIND,...          evenly: stretches in the order of the scene (default); space: sorted by x, or by key, "
    "in\n"
    "                           stretches; one: all to rank 0\n"
    "  --frames N               calls, 2 to 64 (default: 6); boxes move by up to a tenth of one between calls\n"
    "  --backend auto|cpu|cuda  (default: auto) a CUDA rank takes the device of its number on the machine\n"
    "  --workers N              threads of a CPU rank (default: 1)\n"
    "  --seed N                 (default: 1)\n"
    "  --csv FILE               the rows, too\n"
    "  --help                   this text\n";

typedef enum deal_kind { DEAL_EVENLY, DEAL_SPACE, DEAL_ONE, DEAL_KINDS } deal_kind;
static const char *const deal_names[DEAL_KINDS] = {"evenly", "space", "one"};

typedef struct options {
    bool sort, per_rank;
    const char *scenes, *counts, *deals, *backend, *csv;
    uint64_t frames, workers, seed;
    FILE *file; // of --csv, on rank 0
} options;

typedef struct ranks {
    int rank, size;
    psv_context *context;
    psv_group *group;
} ranks;

// One row, the same on all ranks but for the phases.
typedef struct result {
    double median_ms, split_ms, move_ms, find_ms, keep_ms, imbalance;
    uint64_t found, sent_bytes; // of all ranks
} result;

// Ends the whole job where something failed: other ranks may wait for this one.
static void check(const ranks *job, psv_status status, const char *what) {
    if (status == PSV_OK) return;
    fprintf(stderr, PROGRAM ": rank %d: %s: %s\n", job->rank, what, psv_last_error(job->context));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *must(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, PROGRAM ": no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

// The call's time on the slowest rank.
static double slowest(double ms) {
    double most = 0;
    MPI_Allreduce(&ms, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static uint64_t sum_of(uint64_t own) {
    uint64_t all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double median(double *times, uint64_t count) {
    qsort(times, count, sizeof *times, bench_compare_times);
    return count % 2 == 1 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

// This rank's stretch of `count` elements.
static void share_of(const ranks *job, deal_kind deal, uint64_t count, uint64_t *first, uint64_t *own) {
    const uint64_t rank = (uint64_t)job->rank, size = (uint64_t)job->size;
    *first = deal == DEAL_ONE ? 0 : count * rank / size;
    *own = deal == DEAL_ONE ? (rank == 0 ? count : 0) : count * (rank + 1) / size - *first;
}

// --- collision -------------------------------------------------------------------------------------------------------

static int compare_by_x(const void *a, const void *b) {
    const float x = ((const psv_aabb *)a)->min[0], y = ((const psv_aabb *)b)->min[0];
    return (x > y) - (x < y);
}

static void move_boxes(psv_aabb *boxes, uint64_t first, uint64_t count, uint64_t seed, uint64_t frame) {
    for (uint64_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            const float step =
                (boxes[i].max[k] - boxes[i].min[k]) * 0.1f * (box_random(seed + 77 * frame, first + i, k) * 2 - 1);
            boxes[i].min[k] += step;
            boxes[i].max[k] += step;
        }
}

static result bench_pairs(const options *o, const ranks *job, const char *name, uint64_t count, deal_kind deal) {
    psv_aabb *all = must(malloc((count + 1) * sizeof *all));
    box_scene_named(name)->make(all, count, o->seed);
    if (deal == DEAL_SPACE) qsort(all, count, sizeof *all, compare_by_x);
    uint64_t first, own;
    share_of(job, deal, count, &first, &own);
    psv_aabb *boxes = must(malloc((own + 1) * sizeof *boxes));
    memcpy(boxes, all + first, own * sizeof *boxes);
    free(all);
    psv_buffer given = {0};
    check(job, psv_alloc_buffer(job->context, own * sizeof *boxes, &given), "boxes");
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = own;
    psv_group_finder *finder = NULL;
    check(job, psv_create_group_finder(job->group, &def, &finder), "create_group_finder");
    const psv_box_set set = psv_boxes_of(given, sizeof(psv_aabb), own);
    double times[MOST_FRAMES];
    result out = {0};
    for (uint64_t f = 0; f < o->frames; ++f) {
        move_boxes(boxes, first, own, o->seed, f);
        check(job, psv_upload(job->context, given, boxes, own * sizeof *boxes), "upload");
        check(job, psv_synchronize(job->context), "upload");
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = bench_wall_ms();
        check(job, psv_group_find_pairs(finder, &set), "group_find_pairs");
        times[f] = slowest(bench_wall_ms() - begin);
    }
    psv_group_pair_statistics s = {0};
    check(job, psv_read_group_pair_statistics(finder, &s), "statistics");
    out = (result){.median_ms = median(times + 1, o->frames - 1),
                   .split_ms = s.split_ms,
                   .move_ms = s.move_ms,
                   .find_ms = s.find_ms,
                   .keep_ms = s.keep_ms,
                   .imbalance = s.imbalance,
                   .found = psv_group_total_pairs(finder),
                   .sent_bytes = sum_of(s.sent_bytes)};
    psv_destroy_group_finder(finder);
    psv_free_buffer(job->context, &given);
    free(boxes);
    return out;
}

// --- sort ------------------------------------------------------------------------------------------------------------

static int kind_named(const char *name) {
    for (int k = 0; k < KEYS_END; ++k)
        if (strcmp(key_distribution_name((key_distribution)k), name) == 0) return k;
    return -1;
}

static int compare_keys(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static result bench_sorts(const options *o, const ranks *job, const char *name, uint64_t count, deal_kind deal) {
    uint32_t *all = must(malloc((count + 1) * sizeof *all));
    make_keys(PSV_KEY_U32, (key_distribution)kind_named(name), o->seed, count, all);
    if (deal == DEAL_SPACE) qsort(all, count, sizeof *all, compare_keys);
    uint64_t first, own;
    share_of(job, deal, count, &first, &own);
    psv_buffer keys = {0};
    check(job, psv_alloc_buffer(job->context, own * sizeof *all, &keys), "keys");
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local.max_count = own;
    psv_group_sorter *sorter = NULL;
    check(job, psv_create_group_sorter(job->group, &def, &sorter), "create_group_sorter");
    double times[MOST_FRAMES];
    psv_group_sorted sorted = {0};
    for (uint64_t f = 0; f < o->frames; ++f) {
        check(job, psv_upload(job->context, keys, all + first, own * sizeof *all), "upload");
        check(job, psv_synchronize(job->context), "upload");
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = bench_wall_ms();
        check(job, psv_group_sort_index(sorter, keys, own, &sorted), "group_sort_index");
        times[f] = slowest(bench_wall_ms() - begin);
    }
    psv_group_sort_statistics s = {0};
    check(job, psv_read_group_sort_statistics(sorter, &s), "statistics");
    const result out = {.median_ms = median(times + 1, o->frames - 1),
                        .split_ms = s.split_ms,
                        .move_ms = s.move_ms,
                        .find_ms = s.sort_ms,
                        .imbalance = s.imbalance,
                        .found = sum_of(sorted.count),
                        .sent_bytes = sum_of(s.sent * 8)};
    psv_destroy_group_sorter(sorter);
    psv_free_buffer(job->context, &keys);
    free(all);
    return out;
}

// --- rows ------------------------------------------------------------------------------------------------------------

static void print_row(const options *o, const ranks *job, const char *scene, uint64_t count, deal_kind deal,
                      const result *r) {
    if (job->rank != 0) return;
    const double bytes = (double)r->sent_bytes / (double)count;
    printf("%-12s %11llu %-7s %5d %10.3f %9.3f %9.3f %9.3f %9.3f %8.2f %9.4f %13llu\n", scene,
           (unsigned long long)count, deal_names[deal], job->size, r->median_ms, r->split_ms, r->move_ms, r->find_ms,
           r->keep_ms, bytes, r->imbalance, (unsigned long long)r->found);
    (void)fflush(stdout);
    if (o->file != NULL)
        fprintf(o->file, "%s,%s,%llu,%s,%d,%llu,%.5f,%.5f,%.5f,%.5f,%.5f,%.4f,%.5f,%llu\n",
                psv_backend_name(psv_context_backend(job->context)), scene, (unsigned long long)count, deal_names[deal],
                job->size, (unsigned long long)o->seed, r->median_ms, r->split_ms, r->move_ms, r->find_ms, r->keep_ms,
                bytes, r->imbalance, (unsigned long long)r->found);
}

static void print_head(const options *o, const ranks *job) {
    if (job->rank != 0) return;
    printf("%s, %s, %d ranks; ms of a call on the slowest rank, then phases of rank 0\n",
           psv_backend_name(psv_context_backend(job->context)), psv_context_device_name(job->context), job->size);
    printf("%-12s %11s %-7s %5s %10s %9s %9s %9s %9s %8s %9s %13s\n", o->sort ? "keys" : "scene", "count", "dealt",
           "ranks", "median", "split", "move", o->sort ? "sort" : "find", "keep", "sent B", "fullest", "found");
    if (o->file != NULL)
        fprintf(o->file,
                "backend,scene,count,dealt,ranks,seed,median_ms,split_ms,move_ms,%s_ms,keep_ms,sent_bytes_each,"
                "imbalance,found\n",
                o->sort ? "sort" : "find");
}

// The words of a list with commas: calls back with each.
static void each_word(const char *list, void (*call)(const char *word, void *user), void *user) {
    char word[64];
    for (const char *from = list; *from != 0;) {
        const size_t length = strcspn(from, ",");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, from);
        call(word, user);
        from += length + (from[length] == ',');
    }
}

typedef struct run_state {
    const options *options;
    const ranks *job;
    const char *scene;
    uint64_t count;
} run_state;

static int deal_named(const char *name) {
    for (int d = 0; d < DEAL_KINDS; ++d)
        if (strcmp(deal_names[d], name) == 0) return d;
    fprintf(stderr, PROGRAM ": --deal %s is not known; accepted: evenly, space, one\n", name);
    exit(2);
}

static void run_deal(const char *word, void *user) {
    const run_state *state = user;
    const deal_kind deal = (deal_kind)deal_named(word);
    const result r = state->options->sort ? bench_sorts(state->options, state->job, state->scene, state->count, deal)
                                          : bench_pairs(state->options, state->job, state->scene, state->count, deal);
    print_row(state->options, state->job, state->scene, state->count, deal, &r);
}

static void run_count(const char *word, void *user) {
    run_state *state = user;
    state->count = bench_count(PROGRAM, "--counts", word, 1, (uint64_t)1 << 31);
    if (state->options->per_rank) state->count *= (uint64_t)state->job->size;
    each_word(state->options->deals, run_deal, state);
}

static void run_scene(const char *word, void *user) {
    run_state *state = user;
    state->scene = word;
    each_word(state->options->counts, run_count, state);
}

// --- command line ----------------------------------------------------------------------------------------------------

// Words that nothing is named by end the program before MPI begins, on every rank alike.
static void check_scene(const char *word, void *user) {
    const options *o = user;
    if (o->sort ? kind_named(word) >= 0 : box_scene_named(word) != NULL) return;
    fprintf(stderr, PROGRAM ": --scenes %s is not known\n", word);
    exit(2);
}

static void check_deal(const char *word, void *user) {
    (void)user;
    (void)deal_named(word);
}

static void check_count(const char *word, void *user) {
    (void)user;
    (void)bench_count(PROGRAM, "--counts", word, 1, (uint64_t)1 << 31);
}

static options read_options(int argc, char **argv) {
    static const struct option known[] = {{"scenes", 1, NULL, 's'},
                                          {"counts", 1, NULL, 'n'},
                                          {"deal", 1, NULL, 'd'},
                                          {"frames", 1, NULL, 'f'},
                                          {"backend", 1, NULL, 'b'},
                                          {"workers", 1, NULL, 'w'},
                                          {"seed", 1, NULL, 'r'},
                                          {"csv", 1, NULL, 'c'},
                                          {"per-rank", 0, NULL, 'p'},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    options o = {.counts = "100K,1M", .deals = "evenly", .backend = "auto", .frames = 6, .workers = 1, .seed = 1};
    int word;
    while ((word = getopt_long(argc, argv, "h", known, NULL)) != -1)
        switch (word) {
        case 's': o.scenes = optarg; break;
        case 'n': o.counts = optarg; break;
        case 'd': o.deals = optarg; break;
        case 'b': o.backend = optarg; break;
        case 'c': o.csv = optarg; break;
        case 'p': o.per_rank = true; break;
        case 'f': o.frames = bench_count(PROGRAM, "--frames", optarg, 2, MOST_FRAMES); break;
        case 'w': o.workers = bench_count(PROGRAM, "--workers", optarg, 1, 1024); break;
        case 'r': o.seed = bench_count(PROGRAM, "--seed", optarg, 0, UINT64_MAX); break;
        case 'h': fputs(usage, stdout); exit(0);
        default: fputs(usage, stderr); exit(2);
        }
    const char *what = optind + 1 == argc ? argv[optind] : "";
    o.sort = strcmp(what, "sort") == 0;
    if (!o.sort && strcmp(what, "collision") != 0) {
        fputs(usage, stderr);
        exit(2);
    }
    if (o.scenes == NULL) o.scenes = o.sort ? "uniform,few,zipf" : "cube,pile,clusters,mixed_1000";
    each_word(o.scenes, check_scene, &o);
    each_word(o.deals, check_deal, NULL);
    each_word(o.counts, check_count, NULL);
    return o;
}

static void open_ranks(const options *o, ranks *job) {
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);
    MPI_Comm machine;
    int place = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &place);
    MPI_Comm_free(&machine);
    psv_context_def def = psv_default_context_def();
    if (psv_parse_backend(o->backend, &def.backend) != PSV_OK) {
        fprintf(stderr, PROGRAM ": --backend %s is not known; accepted: auto, cpu, cuda\n", o->backend);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    def.worker_count = (int)o->workers;
    const bool cpu = def.backend == PSV_BACKEND_CPU || !psv_backend_available(PSV_BACKEND_CUDA);
    def.device = cpu ? 0 : place;
    check(job, psv_create_context(&def, &job->context), "create_context");
    check(job, psv_create_group_mpi(job->context, MPI_COMM_WORLD, 0, &job->group), "create_group_mpi");
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    ranks job = {0};
    open_ranks(&o, &job);
    if (o.csv != NULL && job.rank == 0 && (o.file = fopen(o.csv, "w")) == NULL) {
        fprintf(stderr, PROGRAM ": %s cannot be written\n", o.csv);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    print_head(&o, &job);
    run_state state = {.options = &o, .job = &job};
    each_word(o.scenes, run_scene, &state);
    const bool written = o.file == NULL || fclose(o.file) == 0;
    if (!written) fprintf(stderr, PROGRAM ": %s cannot be written\n", o.csv);
    psv_destroy_group(job.group);
    psv_destroy_context(job.context);
    MPI_Finalize();
    return written ? 0 : 1;
}
