// bench_sort --papers: claim by claim, what the papers measured and what this card says.
//
// Every line compares two sorts of the same input on the same card, run alternately; medians. The papers' cards are
// gone, so only the ratios are compared. The papers' sorters are timed on CUDA and left out where there is none;
// `split` is timed on OpenGL, too. `pairsieve bench papers` draws all of them on every backend. Sources: Sintorn &
// Assarsson 2007 (Figures 8, 9, 10), Ha, Krueger, Silva 2009 (Figures 3, 4, 5), García et al. 2014 (Figure 9). Ha et
// al.'s Figure 6 (the sort's share of a broad phase) is `bench_collision --methods sap3 --sort radix4`.
#include "bench_papers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pairsieve/sort.h"
#include "sort_parts.h"

#define MOST_RUNS 101

typedef enum distribution { UNIFORM, GAUSSIAN, SORTED, DISTANCES } distribution;
static const char *const distribution_names[] = {"uniform", "gaussian", "sorted", "ordered distances"};

// One way to sort: a method with its options, and what is sorted.
typedef struct variant {
    const char *label;
    const char *method;
    psv_radix4_options radix4;
    psv_hybrid_options hybrid;
    bool index;  // key-index form; else keys alone
    bool as_u32; // sorts the bits of the keys, which are not negative, as u32: what CUB does best
} variant;

#define NO_HYBRID                                                                                                      \
    { 1024, 1, false }
#define NO_RADIX4                                                                                                      \
    { 2, false, PSV_ORDER_CHECK_OFF, false }

static const variant bitonic = {"bitonic", "bitonic", NO_RADIX4, NO_HYBRID, false, false};
static const variant hybrid_default = {"hybrid, 1024 buckets", "hybrid", NO_RADIX4, {1024, 1, false}, false, false};
static const variant hybrid_many = {"hybrid, 8192 buckets", "hybrid", NO_RADIX4, {8192, 1, false}, false, false};
static const variant hybrid_shuffled = {"hybrid, shuffled", "hybrid", NO_RADIX4, {1024, 1, true}, false, false};
static const variant radix_1bit = {"1-bit radix", "radix4", {1, false, PSV_ORDER_CHECK_OFF, false},
                                   NO_HYBRID,     false,    false};
static const variant cub_keys = {"cub, u32", "cub", NO_RADIX4, NO_HYBRID, false, true};
static const variant split_keys = {"split, u32", "split", NO_RADIX4, NO_HYBRID, false, true};
static const variant radix_keys = {"radix, u32", "radix", NO_RADIX4, NO_HYBRID, false, true};
static const variant split_gl = {"split on OpenGL, u32", "split", NO_RADIX4, NO_HYBRID, false, true};
static const variant radix_gl = {"radix on OpenGL, u32", "radix", NO_RADIX4, NO_HYBRID, false, true};

// A device, and how it is measured.
typedef struct bench {
    psv_context *context;                      // NULL: not there
    psv_buffer source, keys, values, identity; // of max_count
    uint64_t max_count;
    int runs;
    bool cpu, only_gl;
    FILE *csv;
    char date[16];
    const char *commit, *device;
    uint64_t seed;
    float *host;
} bench;

static bool failed(const bench *b, psv_status status, const char *what) {
    if (status == PSV_OK) return false;
    fprintf(stderr, "papers: %s: %s: %s\n", what, psv_status_name(status), psv_last_error(b->context));
    return true;
}

// --- input ----------------------------------------------------------------------------------------------------------

static double next_unit(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

// Distances from the eye to the vertices of a bumpy torus in the order of a mesh's rows: neighbours in the list are
// neighbours on the surface, as in the vertex lists of the paper's Figure 10.
static void fill_distances(float *keys, uint64_t count) {
    const double turn = 6.283185307179586;
    uint64_t columns = (uint64_t)sqrt((double)count);
    for (uint64_t i = 0; i < count; ++i) {
        const double u = turn * (double)(i / columns) / (double)columns,
                     v = turn * (double)(i % columns) / (double)columns;
        const double ring = 3.0 + (1.0 + 0.05 * sin(23 * u) * sin(17 * v)) * cos(v);
        const double x = ring * cos(u) - 9.0, y = ring * sin(u) - 2.0, z = sin(v) - 1.0;
        keys[i] = (float)sqrt(x * x + y * y + z * z);
    }
}

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool prepare(bench *b, distribution kind, uint64_t count) {
    uint64_t state = b->seed;
    for (uint64_t i = 0; i < count && kind != DISTANCES; ++i) {
        double key = next_unit(&state);
        for (int k = 1; k < 12 && kind == GAUSSIAN; ++k)
            key += next_unit(&state);
        if (kind == GAUSSIAN) key /= 12;
        if (kind == SORTED) key = (double)i / (double)count;
        b->host[i] = (float)(key * (double)count);
    }
    if (kind == DISTANCES) fill_distances(b->host, count);
    return !failed(b, psv_upload(b->context, b->source, b->host, count * sizeof(float)), "upload");
}

// --- timing ---------------------------------------------------------------------------------------------------------

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return times[count / 2];
}

static psv_sorter *make_sorter(bench *b, const variant *v, uint64_t count) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = v->method;
    def.key_type = v->as_u32 ? PSV_KEY_U32 : PSV_KEY_F32;
    def.value_bytes = v->index ? 4 : 0;
    def.max_count = count;
    def.radix4 = v->radix4;
    def.hybrid = v->hybrid;
    psv_sorter *sorter = NULL;
    return failed(b, psv_create_sorter(b->context, &def, &sorter), v->label) ? NULL : sorter;
}

// One sort of a fresh copy of the input, in milliseconds of the device; negative on failure.
static double time_sort(bench *b, psv_sorter *sorter, const variant *v, uint64_t count) {
    psv_status status = psv_gather_records(b->context, b->source, b->keys, 4, b->identity, count);
    if (status == PSV_OK)
        status = v->index ? psv_sort_index(sorter, b->keys, b->values, count, PSV_INDEX_KEYS_SORTED)
                          : psv_sort_keys(sorter, b->keys, count);
    psv_profile profile = {0};
    if (status == PSV_OK) status = psv_wait_profile(b->context, &profile);
    return failed(b, status, v->label) ? -1 : profile.frame_ms;
}

// The result of the last sort is in order; a time of a wrong sort is worth nothing.
static bool in_order(bench *b, psv_sorter *sorter, const variant *v, uint64_t count) {
    psv_order_result result = {1, 0};
    psv_buffer place = {0};
    bool good = !failed(b, psv_alloc_buffer(b->context, sizeof result, &place), "result") &&
                !failed(b, psv_check_order(sorter, b->keys, count, place), "order check") &&
                !failed(b, psv_download(b->context, &result, place, sizeof result), "result");
    psv_free_buffer(b->context, &place);
    if (good && result.descents != 0) {
        fprintf(stderr, "papers: %s left %" PRIu64 " descents in %" PRIu64 " keys\n", v->label, result.descents, count);
        return false;
    }
    return good;
}

// Medians of two variants on the prepared input, run alternately, each on a device of its own or both on one.
static bool time_on(bench *const on[2], const variant *const variants[2], uint64_t count, double medians[2]) {
    psv_sorter *sorters[2] = {make_sorter(on[0], variants[0], count), make_sorter(on[1], variants[1], count)};
    double times[2][MOST_RUNS];
    bool good = sorters[0] != NULL && sorters[1] != NULL;
    for (int run = -1; run < on[0]->runs && good; ++run) // the first one warms up
        for (int s = 0; s < 2 && good; ++s) {
            const double ms = time_sort(on[s], sorters[s], variants[s], count);
            good = ms >= 0 && (run >= 0 || in_order(on[s], sorters[s], variants[s], count));
            if (run >= 0) times[s][run] = ms;
        }
    for (int s = 0; s < 2; ++s) {
        psv_destroy_sorter(sorters[s]);
        if (good) medians[s] = median(times[s], on[0]->runs);
    }
    return good;
}

static bool time_both(bench *b, const variant *first, const variant *second, uint64_t count, double medians[2]) {
    return time_on((bench *const[2]){b, b}, (const variant *const[2]){first, second}, count, medians);
}

// --- output ---------------------------------------------------------------------------------------------------------

static void print_line(bench *b, const char *figure, const char *input, uint64_t count, const char *subject, double ms,
                       const char *baseline, double baseline_ms, const char *paper) {
    const double ratio = ms > 0 ? baseline_ms / ms : 0;
    printf("%-12s %-18s %9" PRIu64 "  %-30s %9.4f  %-30s %9.4f  %6.2fx  %s\n", figure, input, count, subject, ms,
           baseline, baseline_ms, ratio, paper);
    if (b->csv != NULL)
        fprintf(b->csv, "%s,%s,\"%s\",\"%s\",\"%s\",%" PRIu64 ",\"%s\",%.5f,\"%s\",%.5f,%.3f,\"%s\"\n", b->date,
                b->commit, b->device, figure, input, count, subject, ms, baseline, baseline_ms, ratio, paper);
    fflush(stdout);
}

static bool compare_on(bench *subject_on, bench *baseline_on, const char *figure, distribution kind, uint64_t count,
                       const variant *subject, const variant *baseline, const char *paper) {
    double ms[2] = {0, 0};
    if (!time_on((bench *const[2]){subject_on, baseline_on}, (const variant *const[2]){subject, baseline}, count, ms))
        return false;
    print_line(subject_on, figure, distribution_names[kind], count, subject->label, ms[0], baseline->label, ms[1],
               paper);
    return true;
}

static bool compare(bench *b, const char *figure, distribution kind, uint64_t count, const variant *subject,
                    const variant *baseline, const char *paper) {
    return compare_on(b, b, figure, kind, count, subject, baseline, paper);
}

static void heading(const char *text) {
    printf("\n%s\n%-12s %-18s %9s  %-30s %9s  %-30s %9s  %7s  %s\n", text, "figure", "input", "count", "A", "A ms", "B",
           "B ms", "B / A", "the paper's B / A");
}

// --- Sintorn & Assarsson 2007
// -----------------------------------------------------------------------------------------

static double time_quicksort(bench *b, uint64_t count) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    qsort(b->host, count, sizeof(float), compare_floats);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
}

static bool hybrid_against_others(bench *b) {
    heading("Sintorn & Assarsson 2007, Figure 8: float keys uniform in [0, count)");
    for (uint64_t count = 1 << 18; count <= 1 << 23 && count <= b->max_count; count *= 2) {
        const bool large = count >= (1 << 22), middle = count >= (1 << 19);
        if (!prepare(b, UNIFORM, count)) return false;
        if (!compare(b, "S&A Fig. 8", UNIFORM, count, &hybrid_default, &bitonic,
                     large    ? "more than 2"
                     : middle ? "above 1"
                              : "below 1"))
            return false;
        if (!compare(b, "S&A Fig. 8", UNIFORM, count, &hybrid_many, &bitonic, "not measured: 2p lists for today's p"))
            return false;
        if (!compare(b, "S&A Fig. 8", UNIFORM, count, &hybrid_default, &radix_1bit,
                     count == 1 << 23 ? "up to 1.4"
                     : middle         ? "about 1"
                                      : "below 1"))
            return false;
        if (!b->cpu || count < 1 << 20) continue;
        double ms[2] = {0, 0};
        if (!time_both(b, &hybrid_default, &hybrid_default, count, ms)) return false;
        print_line(b, "S&A Fig. 8", "uniform", count, hybrid_default.label, ms[0], "qsort, one CPU core",
                   time_quicksort(b, count),
                   count == 1 << 20   ? "6"
                   : count == 1 << 23 ? "14"
                                      : "6 to 14");
    }
    return true;
}

typedef struct parts_sort {
    bench *on;
    psv_sorter *sorter;
    const variant *v;
    uint64_t count;
} parts_sort;

static psv_status sort_parts(void *user) {
    const parts_sort *sort = user;
    return time_sort(sort->on, sort->sorter, sort->v, sort->count) >= 0 ? PSV_OK : PSV_ERROR_DEVICE;
}

// Medians of the parts of one variant of the hybrid sort.
static bool time_parts(bench *b, const variant *v, uint64_t count, double *parts) {
    double times[HYBRID_PARTS * MOST_RUNS];
    parts_sort sort = {b, make_sorter(b, v, count), v, count};
    if (sort.sorter == NULL) return false;
    const bool good = !failed(
        b, sort_time_parts(b->context, sort.sorter, HYBRID_PARTS, 1, sort_parts, &sort, b->runs, times), v->label);
    for (int p = 0; p < HYBRID_PARTS && good; ++p)
        parts[p] = median(times + p * b->runs, b->runs);
    psv_destroy_sorter(sort.sorter);
    return good;
}

static bool hybrid_parts(bench *b) {
    static const char *const paper[HYBRID_PARTS] = {
        "no such step without shuffle", "about 1% and a pass", "a pass", "a pass", "the largest part", "not counted"};
    heading("Sintorn & Assarsson 2007, Figure 9: parts of the hybrid sort; B is the whole, B / A its multiple");
    for (uint64_t count = 1 << 20; count <= 1 << 23 && count <= b->max_count; count *= 8) {
        double parts[HYBRID_PARTS] = {0}, whole = 0;
        if (!prepare(b, UNIFORM, count) || !time_parts(b, &hybrid_default, count, parts)) return false;
        for (int p = 0; p < HYBRID_PARTS; ++p)
            whole += parts[p];
        for (int p = 0; p < HYBRID_PARTS; ++p)
            print_line(b, "S&A Fig. 9", "uniform", count, hybrid_part_names[p], parts[p], "whole sort", whole,
                       paper[p]);
    }
    return true;
}

static bool hybrid_on_distances(bench *b) {
    static const uint64_t counts[] = {1540000, 5000000};
    heading("Sintorn & Assarsson 2007, Figure 10: distances of vertices in mesh order");
    for (int s = 0; s < 2; ++s) {
        const uint64_t count = counts[s];
        if (count > b->max_count) continue;
        if (!prepare(b, DISTANCES, count)) return false;
        if (!compare(b, "S&A Fig. 10", DISTANCES, count, &hybrid_shuffled, &hybrid_default,
                     s == 0 ? "2.7 (336 / 123 ms)" : "0.94 (343 / 363 ms)") ||
            !compare(b, "S&A Fig. 10", DISTANCES, count, &hybrid_shuffled, &bitonic,
                     s == 0 ? "1.4 (2.0 unpadded)" : "1.8 (3.1)") ||
            !compare(b, "S&A Fig. 10", DISTANCES, count, &hybrid_shuffled, &radix_1bit, s == 0 ? "1.1" : "1.2"))
            return false;
        if (!b->cpu) continue;
        double ms[2] = {0, 0};
        if (!time_both(b, &hybrid_shuffled, &hybrid_default, count, ms)) return false;
        print_line(b, "S&A Fig. 10", "ordered distances", count, hybrid_shuffled.label, ms[0], "qsort, one CPU core",
                   time_quicksort(b, count), s == 0 ? "9.3" : "13");
    }
    return true;
}

// --- Ha, Krueger, Silva 2009
// ------------------------------------------------------------------------------------------

static variant ha(const char *label, uint32_t digit_bits, bool scattered, psv_order_check check, bool index) {
    const variant v = {label, "radix4", {digit_bits, scattered, check, false}, NO_HYBRID, index, false};
    return v;
}

static bool record_gather(bench *b) {
    heading("Ha et al. 2009, Figure 3: records moved by a random permutation; B moves the same bytes in order");
    const uint64_t most = b->max_count / 4; // records of 16 bytes fill the buffers
    for (uint64_t count = 1 << 19; count <= 1 << 22 && count <= most; count *= 2) {
        for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
            double times[2][MOST_RUNS];
            char subject[32], baseline[32];
            const variant order = {"permutation", "cub", NO_RADIX4, NO_HYBRID, true, true};
            psv_sorter *sorter = make_sorter(b, &order, count);
            bool good = sorter != NULL && prepare(b, UNIFORM, count) && time_sort(b, sorter, &order, count) >= 0;
            psv_destroy_sorter(sorter);
            for (int run = -1; run < b->runs && good; ++run)
                for (int s = 0; s < 2 && good; ++s) {
                    psv_profile profile = {0};
                    psv_status status = psv_gather_records(b->context, b->source, b->keys, bytes,
                                                           s == 0 ? b->values : b->identity, count);
                    if (status == PSV_OK) status = psv_wait_profile(b->context, &profile);
                    good = !failed(b, status, "record gather");
                    if (run >= 0) times[s][run] = profile.frame_ms;
                }
            if (!good) return false;
            (void)snprintf(subject, sizeof subject, "%u-bit records, permuted", bytes * 8);
            (void)snprintf(baseline, sizeof baseline, "%u-bit records, in order", bytes * 8);
            print_line(b, "Ha Fig. 3", "uniform", count, subject, median(times[0], b->runs), baseline,
                       median(times[1], b->runs), "texture reads 3x global reads; here reads are cached anyway");
        }
    }
    return true;
}

static bool radix_variants(bench *b) {
    const variant value4 = ha("4-way, keys", 2, false, PSV_ORDER_CHECK_OFF, false);
    const variant value2 = ha("2-way, keys", 1, false, PSV_ORDER_CHECK_OFF, false);
    const variant value8 = ha("8-way, keys", 3, false, PSV_ORDER_CHECK_OFF, false);
    const variant value4s = ha("4-way scattered, keys", 2, true, PSV_ORDER_CHECK_OFF, false);
    const variant index4 = ha("4-way, index", 2, false, PSV_ORDER_CHECK_OFF, true);
    const variant index4s = ha("4-way scattered, index", 2, true, PSV_ORDER_CHECK_OFF, true);
    const variant index8 = ha("8-way, index", 3, false, PSV_ORDER_CHECK_OFF, true);
    heading("Ha et al. 2009, Figures 4 and 5: variants of the 4-way radix sort, float keys (CUB: u32)");
    for (int d = UNIFORM; d <= GAUSSIAN; ++d)
        for (uint64_t count = 1 << 19; count <= 1 << 24 && count <= b->max_count; count *= 2) {
            const distribution kind = (distribution)d;
            const variant value4u = {"4-way, u32 keys", "radix4", NO_RADIX4, NO_HYBRID, false, true};
            if (!prepare(b, kind, count)) return false;
            if (!compare(b, "Ha Fig. 4", kind, count, &value4, &value2, "about 2 (half the passes)") ||
                !compare(b, "Ha Fig. 4", kind, count, &value4, &value8, "1.05 to 1.10") ||
                !compare(b, "Ha Fig. 4", kind, count, &value4, &value4s, "1.5 (G80), 1.1 (GTX 280)") ||
                !compare(b, "Ha Fig. 4", kind, count, &index4, &index4s, "1.5 (G80), 1.1 (GTX 280)") ||
                !compare(b, "Ha Fig. 4", kind, count, &value4, &index4, "1.1 (coalesced)") ||
                !compare(b, "Ha Fig. 4", kind, count, &value4s, &index4s, "1.5 to 1.8 (scattered)") ||
                !compare(b, "Ha Fig. 4", kind, count, &index4, &index8, "8-way index not feasible (shared memory)") ||
                !compare(b, "Ha Fig. 5", kind, count, &cub_keys, &value4u, "not measured: CUB came later"))
                return false;
        }
    return true;
}

static bool order_checks(bench *b) {
    const variant off = ha("no order check", 2, false, PSV_ORDER_CHECK_OFF, false);
    const variant full = ha("full order check", 2, false, PSV_ORDER_CHECK_FULL, false);
    const variant quick = ha("quick + full check", 2, false, PSV_ORDER_CHECK_QUICK_FULL, false);
    heading("Ha et al. 2009, section 4.2: the order check's cost on uniform input and its gain on sorted input");
    for (uint64_t count = 1 << 20; count <= 1 << 24 && count <= b->max_count; count *= 4) {
        if (!prepare(b, UNIFORM, count) ||
            !compare(b, "Ha 4.2", UNIFORM, count, &off, &full, "1.003 (a third of a percent)") ||
            !compare(b, "Ha 4.2", UNIFORM, count, &off, &quick, "1.001") || !prepare(b, SORTED, count) ||
            !compare(b, "Ha 4.2", SORTED, count, &quick, &off, "ends after the first check") ||
            !compare(b, "Ha 4.2", SORTED, count, &full, &off, "ends after the first check"))
            return false;
    }
    return true;
}

// --- García et al. 2014
// ------------------------------------------------------------------------------------------------

static bool split_against_cub(bench *b) {
    heading("Garcia et al. 2014, Figure 9: split against the toolkit's radix sort, u32 keys");
    for (uint64_t count = 1 << 16; count <= 1 << 24 && count <= b->max_count; count *= 2) {
        if (!prepare(b, UNIFORM, count)) return false;
        if (!compare(b, "Garcia Fig. 9", UNIFORM, count, &cub_keys, &split_keys,
                     count > 2000000 ? "1.7 to 2" : "about 1 to 1.7"))
            return false;
    }
    return true;
}

// On OpenGL, which García et al. wrote for, and where there is CUDA too what its forms of the same sorters take.
static bool split_on_opengl(bench *cuda, bench *gl) {
    heading("Garcia et al. 2014 in OpenGL's compute shaders: split against radix, and both beside CUDA's; u32 keys");
    for (uint64_t count = 1 << 16; count <= 1 << 24 && count <= gl->max_count; count *= 2) {
        if (!prepare(gl, UNIFORM, count) || !compare_on(gl, gl, "OpenGL", UNIFORM, count, &radix_gl, &split_gl,
                                                        count > 2000000 ? "1.7 to 2" : "about 1 to 1.7"))
            return false;
        if (cuda->context == NULL) continue;
        if (!prepare(cuda, UNIFORM, count) ||
            !compare_on(cuda, gl, "OpenGL, CUDA", UNIFORM, count, &radix_keys, &radix_gl, "not measured") ||
            !compare_on(cuda, gl, "OpenGL, CUDA", UNIFORM, count, &split_keys, &split_gl, "not measured"))
            return false;
    }
    return true;
}

// --- the command
// --------------------------------------------------------------------------------------------------------

static bool read_options(int argc, char **argv, bench *b) {
    for (int i = 1; i < argc; ++i) { // argv[0] is the option that led here
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-cpu") == 0) {
            b->cpu = false;
        } else if (strcmp(argv[i], "--gl") == 0) {
            b->only_gl = true;
        } else if (strcmp(argv[i], "--csv") == 0 && value != NULL) {
            b->csv = fopen(value, "w");
            if (b->csv == NULL) {
                fprintf(stderr, "papers: cannot write %s\n", value);
                return false;
            }
            ++i;
        } else if (strcmp(argv[i], "--commit") == 0 && value != NULL) {
            b->commit = value;
            ++i;
        } else if (strcmp(argv[i], "--max-count") == 0 && value != NULL) {
            b->max_count = strtoull(value, NULL, 10);
            ++i;
        } else if (strcmp(argv[i], "--runs") == 0 && value != NULL) {
            b->runs = atoi(value);
            ++i;
        } else {
            fprintf(stderr,
                    "papers: unknown option %s; there are --csv FILE, --commit TEXT, --max-count N, --runs N, "
                    "--no-cpu, --gl\n",
                    argv[i]);
            return false;
        }
    }
    if (b->runs >= 1 && b->runs <= MOST_RUNS && b->max_count >= 65536 && b->max_count <= UINT32_MAX) return true;
    fprintf(stderr, "papers: --runs is 1 to %d, --max-count 65536 to 4294967295\n", MOST_RUNS);
    return false;
}

static bool open_bench(bench *b, psv_backend backend) {
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    if (failed(b, psv_create_context(&def, &b->context), "context")) return false;
    const uint64_t bytes = b->max_count * sizeof(float);
    b->host = malloc(bytes);
    uint32_t *index = malloc(bytes);
    bool good = b->host != NULL && index != NULL &&
                !failed(b, psv_alloc_buffer(b->context, bytes, &b->source), "source") &&
                !failed(b, psv_alloc_buffer(b->context, bytes, &b->keys), "keys") &&
                !failed(b, psv_alloc_buffer(b->context, bytes, &b->values), "values") &&
                !failed(b, psv_alloc_buffer(b->context, bytes, &b->identity), "identity");
    for (uint64_t i = 0; i < b->max_count && good; ++i)
        index[i] = (uint32_t)i;
    good = good && !failed(b, psv_upload(b->context, b->identity, index, bytes), "identity") &&
           !failed(b, psv_enable_profile(b->context, true), "profile");
    free(index);
    return good;
}

static void close_bench(bench *b) {
    if (b->context == NULL) return;
    psv_free_buffer(b->context, &b->source);
    psv_free_buffer(b->context, &b->keys);
    psv_free_buffer(b->context, &b->values);
    psv_free_buffer(b->context, &b->identity);
    psv_destroy_context(b->context);
    free(b->host);
}

static bool run_cuda(bench *b) {
    return hybrid_against_others(b) && hybrid_parts(b) && hybrid_on_distances(b) && record_gather(b) &&
           radix_variants(b) && order_checks(b) && split_against_cub(b);
}

static void begin_report(bench *b) {
    const time_t now = time(NULL);
    struct tm day;
    (void)strftime(b->date, sizeof b->date, "%Y-%m-%d", gmtime_r(&now, &day));
    b->device = psv_context_device_name(b->context);
    printf("%s; medians of %d runs, seed %" PRIu64 "\n", b->device, b->runs, b->seed);
}

int psv_bench_papers(int argc, char **argv) {
    bench cuda = {.commit = "unknown", .max_count = 1 << 24, .runs = 11, .cpu = true, .seed = 20090201};
    if (!read_options(argc, argv, &cuda)) return 2;
    bench gl = cuda;
    const bool has_cuda = psv_backend_available(PSV_BACKEND_CUDA), has_gl = psv_backend_available(PSV_BACKEND_GL);
    if ((!has_cuda || cuda.only_gl) && !has_gl) {
        printf("papers: skipped, there is no %sOpenGL 4.5: the papers' sorters run there only\n",
               cuda.only_gl ? "" : "CUDA device and no ");
        return 77;
    }
    bool good = (!has_cuda || open_bench(&cuda, PSV_BACKEND_CUDA)) && (!has_gl || open_bench(&gl, PSV_BACKEND_GL));
    if (good && cuda.csv != NULL)
        fprintf(cuda.csv, "date,commit,device,figure,input,count,a,a_ms,b,b_ms,b_over_a,paper_b_over_a\n");
    if (good && has_cuda) begin_report(&cuda);
    if (good && has_gl) begin_report(&gl);
    if (good && has_cuda && !cuda.only_gl) good = run_cuda(&cuda);
    if (good && has_gl) good = split_on_opengl(&cuda, &gl);
    close_bench(&cuda);
    close_bench(&gl);
    if (cuda.csv != NULL) fclose(cuda.csv);
    return good ? 0 : 1;
}
