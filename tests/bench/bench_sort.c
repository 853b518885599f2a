// bench_sort: count x distribution x method x key type x operation, ours beside the yardstick (CUB on CUDA, qsort on
// the CPU) run alternately in one process. sort_timing.h says what is timed. See --help.
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../papers/bench/bench_papers.h"
#include "bench_numbers.h"
#include "segment_table.h"
#include "sort_table.h"
#include "sort_timing.h"

#ifndef PSV_COMMIT
#define PSV_COMMIT "unknown"
#endif

#define PROGRAM "bench_sort"
#define MAX_LIST 32
#define MOST_KEYS (UINT64_C(1) << 40)
#define MANY_INPUTS_MOST 2000000 // above, copies of the input are large and slow to make, and no method remembers keys

typedef struct text_list {
    const char *items[MAX_LIST];
    int count;
} text_list;

typedef struct options {
    psv_backend backend;
    text_list methods, keys, distributions, operations, forms, counts;
    const char *csv, *commit;
    uint64_t seed;
    int workers;
    double budget_ms; // for the repetitions of one row
    int inputs;       // 0: several for counts up to MANY_INPUTS_MOST
    int before;       // distribution of an untimed sort before each; -1: none
    bool yardstick;
    bool table, segments;
    const device_profile *profile;
} options;

static const char help[] =
    "usage: bench_sort [--backend auto|cpu|cuda|gl] [--method NAME,...|all] [--keys u32,...|all] [--count N,...]\n"
    "                  [--distribution uniform,...|all] [--op pairs,keys,index] [--form stream,graph] [--workers N]\n"
    "                  [--seed N] [--inputs 1..4] [--before DISTRIBUTION] [--budget MS] [--no-yardstick]\n"
    "                  [--csv FILE] [--commit TEXT]\n"
    "       bench_sort --table [--count N,...] [--keys u32,...] [--op pairs,...] [--csv FILE] ...   tables of kinds of "
    "keys by counts\n"
    "       bench_sort --segments [--backend ...] [--csv FILE] ...   segmented sorts of several shapes, beside CUB's\n"
    "       bench_sort --papers [--gl]  the comparisons of the papers' figures; --gl: those on OpenGL alone\n"
    "Inputs with different seeds take turns (4 up to 2 million keys, else 1). --before sorts other keys, untimed, "
    "before\n"
    "each timed sort.\n"
    "--device PROFILE, with any of these: sorts as on a lesser device (tests/device_profiles.h: turing, ampere, ada "
    "...).\n"
    "Without lists: method radix, u32 pairs, uniform, sorted and nearly sorted input, the counts of the targets.\n";

#define DISTRIBUTIONS                                                                                                  \
    "uniform, gaussian, sorted, reversed, nearly, few, constant, one_digit, clustered, special; moved, moved_far, "    \
    "replaced, mixed, halves, sawtooth, piled, steps, swapped, falling, upper; blob, zipf, half, values, floats, "     \
    "bits, splats"

static int fail_usage(const char *what, const char *value, const char *accepted) {
    fprintf(stderr, "bench_sort: %s '%s'; accepted: %s\n", what, value, accepted);
    return 2;
}

static text_list split(char *text) {
    text_list list = {.count = 0};
    for (char *word = strtok(text, ","); word != NULL && list.count < MAX_LIST; word = strtok(NULL, ","))
        list.items[list.count++] = word;
    return list;
}

static text_list all_methods(psv_backend backend) {
    text_list list = {.count = 0};
    for (const char *name; list.count < MAX_LIST; ++list.count) {
        name = psv_sort_method_name(backend, (uint32_t)list.count);
        if (name == NULL) break;
        list.items[list.count] = name;
    }
    return list;
}

static int find_distribution(const char *name) {
    for (int d = 0; d < KEYS_END; ++d)
        if (strcmp(name, key_distribution_name((key_distribution)d)) == 0) return d;
    return -1;
}

static int find_operation(const char *name) {
    static const char *const names[] = {"pairs", "keys", "index"};
    for (int o = 0; o < 3; ++o)
        if (strcmp(name, names[o]) == 0) return o;
    return -1;
}

static void print_head(const bench_device *device, double copy) {
    printf("%s%s%s; copy %.0f GB/s read and write; yardstick %s\n", bench_device_name(device),
           bench_driver(device)[0] != '\0' ? "; " : "", bench_driver(device), copy, bench_yardstick(device));
    printf("%-8s %-6s %-5s %-4s %-10s %11s  %10s %10s %7s %11s %10s %7s %6s  %s\n", "method", "op", "form", "keys",
           "input", "count", "median ms", "min ms", "scatter", "Mpairs/s", "yardst. ms", "ratio", "roof", "route");
}

static void print_csv_head(FILE *csv) {
    fprintf(csv, "date,commit,device,driver,backend,method,ran,op,form,keys,distribution,count,repetitions,median_ms,"
                 "min_ms,mpairs_per_s,yardstick,yardstick_ms,ratio,nominal_gbytes_per_s,copy_gbytes_per_s,copy_share,"
                 "route,scatter\n");
}

typedef struct report {
    FILE *csv;
    double copy;
    const char *commit;
    char date[32];
} report;

static void print_row(const report *to, const bench_device *device, const bench_config *config,
                      const bench_result *result) {
    static const char *const operations[] = {"pairs", "keys", "index"};
    const char *operation = operations[config->operation], *form = config->graph ? "graph" : "call";
    const char *keys = psv_key_type_name(config->key_type), *input = key_distribution_name(config->distribution);
    const double rate = (double)config->count / result->median_ms * 1e-3;
    const double ratio = result->yardstick_ms / result->median_ms, speed = result->gbytes / result->median_ms * 1e3;
    printf("%-8s %-6s %-5s %-4s %-10s %11llu  %10.4f %10.4f %6.0f%% %11.1f", config->method, operation, form, keys,
           input, (unsigned long long)config->count, result->median_ms, result->min_ms, 100 * result->scatter, rate);
    if (result->yardstick_ms > 0)
        printf(" %10.4f %6.2fx", result->yardstick_ms, ratio);
    else
        printf(" %10s %7s", "-", "-");
    printf(" %5.0f%%  %s\n", 100 * speed / to->copy, result->route);
    (void)fflush(stdout);
    if (to->csv == NULL) return;
    fprintf(to->csv, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%llu,%d,%.6f,%.6f,%.3f,%s,%.6f,%.4f,%.2f,%.2f,%.4f,%s,%.3f\n",
            to->date, to->commit, bench_device_name(device), bench_driver(device), psv_backend_name(config->backend),
            config->method, result->chosen, operation, form, keys, input, (unsigned long long)config->count,
            config->repetitions, result->median_ms, result->min_ms, rate, bench_yardstick(device), result->yardstick_ms,
            ratio, speed, to->copy, speed / to->copy, result->route, result->scatter);
}

// One row; false when the method's result is wrong.
static bool run_row(const options *given, const report *to, bench_device *device, bench_config config) {
    config.repetitions = bench_repetitions(&config, given->budget_ms);
    const bench_result result = bench_sort_once(device, &config);
    if (!result.served) {
        printf("%-8s %llu %s: left out: %s\n", config.method, (unsigned long long)config.count,
               psv_key_type_name(config.key_type), result.why);
        return true;
    }
    if (!result.right) {
        printf("%-8s %llu %s %s: WRONG RESULT\n", config.method, (unsigned long long)config.count,
               psv_key_type_name(config.key_type), key_distribution_name(config.distribution));
        return false;
    }
    print_row(to, device, &config, &result);
    return true;
}

// Input that is in order already is of interest where a sort takes long.
static bool worth_it(const options *given, const bench_config *config) {
    if (given->distributions.count > 0 || config->distribution == KEYS_UNIFORM) return true;
    return config->count >= 1000000 && config->count <= 64000000;
}

static bool run_all(const options *given, const report *to, bench_device *device) {
    static const text_list default_distributions = {{"uniform", "sorted", "nearly"}, 3};
    const text_list *distributions = given->distributions.count > 0 ? &given->distributions : &default_distributions;
    bool right = true;
    for (int m = 0; m < given->methods.count; ++m)
        for (int k = 0; k < given->keys.count; ++k)
            for (int d = 0; d < distributions->count; ++d)
                for (int c = 0; c < given->counts.count; ++c)
                    for (int o = 0; o < given->operations.count; ++o)
                        for (int f = 0; f < given->forms.count; ++f) {
                            bench_config config = {
                                .backend = given->backend,
                                .method = given->methods.items[m],
                                .operation = (bench_operation)find_operation(given->operations.items[o]),
                                .distribution = (key_distribution)find_distribution(distributions->items[d]),
                                .count = bench_count(PROGRAM, "--count", given->counts.items[c], 2, MOST_KEYS),
                                .graph = strcmp(given->forms.items[f], "graph") == 0,
                                .yardstick = given->yardstick,
                                .seed = given->seed,
                                .has_before = given->before >= 0,
                                .before = given->before >= 0 ? (key_distribution)given->before : KEYS_UNIFORM};
                            config.inputs = given->inputs != 0                 ? given->inputs
                                            : config.count <= MANY_INPUTS_MOST ? BENCH_INPUTS
                                                                               : 1;
                            (void)psv_parse_key_type(given->keys.items[k], &config.key_type);
                            if (worth_it(given, &config)) right &= run_row(given, to, device, config);
                        }
    return right;
}

static int check_lists(const options *given) {
    psv_key_type type;
    for (int i = 0; i < given->keys.count; ++i)
        if (psv_parse_key_type(given->keys.items[i], &type) != PSV_OK || type > PSV_KEY_F64)
            return fail_usage("unknown key type", given->keys.items[i], "u32, i32, f32, u64, i64, f64");
    for (int i = 0; i < given->distributions.count; ++i)
        if (find_distribution(given->distributions.items[i]) < 0)
            return fail_usage("unknown distribution", given->distributions.items[i], DISTRIBUTIONS);
    for (int i = 0; i < given->operations.count; ++i)
        if (find_operation(given->operations.items[i]) < 0)
            return fail_usage("unknown operation", given->operations.items[i], "pairs, keys, index");
    for (int i = 0; i < given->forms.count; ++i)
        if (strcmp(given->forms.items[i], "stream") != 0 && strcmp(given->forms.items[i], "graph") != 0)
            return fail_usage("unknown form", given->forms.items[i], "stream, graph");
    for (int i = 0; i < given->counts.count; ++i)
        (void)bench_count(PROGRAM, "--count", given->counts.items[i], 2, MOST_KEYS);
    return 0;
}

static void set_defaults(options *given) {
    static const text_list radix = {{"radix"}, 1}, u32 = {{"u32"}, 1}, pairs = {{"pairs"}, 1};
    static const text_list stream = {{"stream"}, 1}, both = {{"stream", "graph"}, 2};
    static const text_list cuda_counts = {{"1000", "4096", "10000", "65536", "100000", "500000", "1000000", "4000000",
                                           "16000000", "64000000", "256000000"},
                                          11};
    static const text_list cpu_counts = {{"1000", "10000", "100000", "1000000", "10000000"}, 5};
    const bool cuda = given->backend == PSV_BACKEND_CUDA;
    if (given->methods.count == 0) given->methods = radix;
    if (strcmp(given->methods.items[0], "all") == 0) given->methods = all_methods(given->backend);
    if (given->keys.count == 0) given->keys = u32;
    if (strcmp(given->keys.items[0], "all") == 0)
        given->keys = (text_list){{"u32", "i32", "f32", "u64", "i64", "f64"}, 6};
    if (given->distributions.count > 0 && strcmp(given->distributions.items[0], "all") == 0) {
        given->distributions.count = KEYS_DISTRIBUTIONS;
        for (int d = 0; d < KEYS_DISTRIBUTIONS; ++d)
            given->distributions.items[d] = key_distribution_name((key_distribution)d);
    }
    if (given->operations.count == 0) given->operations = pairs;
    if (!cuda)
        given->forms = stream;
    else if (given->forms.count == 0)
        given->forms = both;
    if (given->counts.count == 0) given->counts = cuda ? cuda_counts : cpu_counts;
}

static int read_options(int argc, char **argv, options *given) {
    static const struct option names[] = {{"backend", required_argument, NULL, 'b'},
                                          {"method", required_argument, NULL, 'm'},
                                          {"keys", required_argument, NULL, 'k'},
                                          {"count", required_argument, NULL, 'n'},
                                          {"distribution", required_argument, NULL, 'd'},
                                          {"op", required_argument, NULL, 'o'},
                                          {"form", required_argument, NULL, 'f'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"inputs", required_argument, NULL, 'r'},
                                          {"before", required_argument, NULL, 'e'},
                                          {"budget", required_argument, NULL, 't'},
                                          {"no-yardstick", no_argument, NULL, 'y'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"commit", required_argument, NULL, 'i'},
                                          {"table", no_argument, NULL, 'x'},
                                          {"segments", no_argument, NULL, 'g'},
                                          {"device", required_argument, NULL, 'v'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (option) {
        case 'b':
            if (psv_parse_backend(optarg, &given->backend) != PSV_OK)
                return fail_usage("unknown backend", optarg, "auto, cpu, cuda, gl, vulkan");
            break;
        case 'm': given->methods = split(optarg); break;
        case 'k': given->keys = split(optarg); break;
        case 'n': given->counts = split(optarg); break;
        case 'd': given->distributions = split(optarg); break;
        case 'o': given->operations = split(optarg); break;
        case 'f': given->forms = split(optarg); break;
        case 'w': given->workers = (int)bench_count(PROGRAM, "--workers", optarg, 1, 1024); break;
        case 's': given->seed = bench_count(PROGRAM, "--seed", optarg, 0, UINT64_MAX); break;
        case 'r': given->inputs = (int)bench_count(PROGRAM, "--inputs", optarg, 1, BENCH_INPUTS); break;
        case 'e':
            given->before = find_distribution(optarg);
            if (given->before < 0) return fail_usage("unknown distribution", optarg, DISTRIBUTIONS);
            break;
        case 't': given->budget_ms = bench_positive(PROGRAM, "--budget", optarg, 1e9); break;
        case 'y': given->yardstick = false; break;
        case 'c': given->csv = optarg; break;
        case 'i': given->commit = optarg; break;
        case 'x': given->table = true; break;
        case 'g': given->segments = true; break;
        case 'v':
            given->profile = find_device_profile(optarg);
            if (given->profile == NULL)
                return fail_usage("unknown device", optarg, "turing, ampere, ampere_rtx, ada, hopper, ...");
            break;
        case 'h': printf("%s", help); exit(0);
        default: return 2; // getopt has said what is wrong
        }
    }
    if (optind < argc) return fail_usage("unexpected argument", argv[optind], "options only; see --help");
    return 0;
}

static bool print_tables(const options *given, bench_device *device, FILE *csv) {
    static const uint64_t cuda_counts[] = {1000,    4096,    32000,   65536,   100000,   500000,
                                           1000000, 1200000, 2000000, 4000000, 16000000, 64000000};
    static const uint64_t cpu_counts[] = {1000, 10000, 100000, 1000000};
    const bool cuda = given->backend == PSV_BACKEND_CUDA;
    bench_table_plan plan = {
        .config = {.backend = given->backend,
                   .method = given->methods.items[0],
                   .yardstick = true,
                   .seed = given->seed},
        .device = given->profile != NULL ? given->profile->name : "whole",
        .commit = given->commit,
        .card = bench_device_name(device),
        .yardstick = bench_yardstick(device),
        .count_number = cuda ? 12 : 4,
        .budget_ms = given->budget_ms,
        .csv = csv,
    };
    memcpy(plan.counts, cuda ? cuda_counts : cpu_counts, cuda ? sizeof cuda_counts : sizeof cpu_counts);
    if (given->counts.count > 0) plan.count_number = given->counts.count;
    for (int c = 0; c < given->counts.count; ++c)
        plan.counts[c] = bench_count(PROGRAM, "--count", given->counts.items[c], 2, MOST_KEYS);
    for (int k = 0; k < given->keys.count; ++k)
        for (int o = 0; o < given->operations.count && plan.table_number < BENCH_MANY_TABLES; ++o) {
            bench_keys *table = &plan.tables[plan.table_number++];
            (void)psv_parse_key_type(given->keys.items[k], &table->type);
            table->operation = (bench_operation)find_operation(given->operations.items[o]);
        }
    return bench_print_tables(device, &plan);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--papers") == 0) return psv_bench_papers(argc - 1, argv + 1);
    options given = {.commit = PSV_COMMIT, .seed = 1, .budget_ms = 60, .before = -1, .yardstick = true};
    int failed = read_options(argc, argv, &given);
    if (failed != 0) return failed;
    bench_device *device = bench_open(given.backend, given.workers);
    if (device == NULL) return 1;
    if (given.backend == PSV_BACKEND_AUTO)
        given.backend = bench_driver(device)[0] != '\0' ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU;
    const text_list asked_counts = given.counts;
    set_defaults(&given);
    failed = check_lists(&given);
    if (failed != 0) return bench_close(device), failed;
    if (given.profile != NULL) bench_take_for(device, given.profile);
    report to = {.commit = given.commit};
    const time_t now = time(NULL);
    (void)strftime(to.date, sizeof to.date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    if (given.csv != NULL) {
        to.csv = fopen(given.csv, "w");
        if (to.csv == NULL) {
            fprintf(stderr, "bench_sort: '%s' cannot be opened for writing\n", given.csv);
            return bench_close(device), 1;
        }
    }
    bench_warn_busy(PROGRAM);
    bool right = true;
    if (given.segments) {
        const bench_segment_plan plan = {given.backend, given.workers, given.seed, given.budget_ms, to.csv, to.commit};
        right = bench_print_segments(&plan);
    } else if (given.table) {
        given.counts = asked_counts;
        right = print_tables(&given, device, to.csv);
    } else {
        if (to.csv != NULL) print_csv_head(to.csv);
        to.copy = bench_copy_gbytes_per_s(device);
        print_head(device, to.copy);
        right = run_all(&given, &to, device);
    }
    if (to.csv != NULL && fclose(to.csv) != 0) {
        fprintf(stderr, "bench_sort: writing '%s' failed\n", given.csv);
        right = false;
    }
    bench_close(device);
    return right ? 0 : 1;
}
