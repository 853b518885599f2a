// Figures of Sintorn & Assarsson 2007.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../../sim/tool/report/page.h"
#include "cpu_sorts.h"
#include "figures.h"
#include "host_hybrid.h"
#include "pairsieve/sim.h"
#include "sort_parts.h"

// --- quicksort ------------------------------------------------------------------------------------------------------

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void sort_by_qsort(float *keys, uint64_t count) { qsort(keys, count, sizeof *keys, compare_floats); }

// --- Figure 2: merge passes -----------------------------------------------------------------------------------------

typedef struct merge_pass {
    const float *from;
    float *to;
    uint64_t count, length; // of all keys, of each list
    int threads;
} merge_pass;

// How many of the first `place` merged keys come from a.
static uint64_t split_merge(const float *a, uint64_t a_count, const float *b, uint64_t b_count, uint64_t place) {
    uint64_t low = place > b_count ? place - b_count : 0, high = place < a_count ? place : a_count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (b[place - middle - 1] < a[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Merges lists two by two, each pair in `parts` parts that any thread may take.
static void run_pass(const merge_pass *pass, uint64_t parts) {
    const uint64_t pairs = (pass->count + 2 * pass->length - 1) / (2 * pass->length);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(pass->threads) schedule(static)
#endif
    for (uint64_t job = 0; job < pairs * parts; ++job) {
        const uint64_t begin = job / parts * 2 * pass->length, part = job % parts;
        const uint64_t left = pass->count - begin;
        const uint64_t a_count = left < pass->length ? left : pass->length;
        const uint64_t b_count = left - a_count < pass->length ? left - a_count : pass->length;
        const float *a = pass->from + begin, *b = a + a_count;
        const uint64_t from = (a_count + b_count) * part / parts, to = (a_count + b_count) * (part + 1) / parts;
        const uint64_t a_from = split_merge(a, a_count, b, b_count, from),
                       a_to = split_merge(a, a_count, b, b_count, to);
        host_merge_lists(a + a_from, a_to - a_from, b + from - a_from, to - a_to - (from - a_from),
                         pass->to + begin + from);
    }
}

#define MOST_PASSES 32
#define MERGE_ROUNDS 5

typedef struct merge_times {
    double ms[MOST_PASSES][MERGE_ROUNDS];
    uint64_t lists[MOST_PASSES];
    uint32_t passes;
} merge_times;

// All passes from single keys on, timed; true: the result is in order.
static bool time_passes(const float *source, float *one, float *two, uint64_t count, bool split, int round, int threads,
                        merge_times *times) {
    merge_pass pass = {.from = source, .to = one, .count = count, .length = 1, .threads = threads};
    times->passes = 0;
    for (; pass.length < count && times->passes < MOST_PASSES; pass.length *= 2) {
        const uint64_t pairs = (count + 2 * pass.length - 1) / (2 * pass.length);
        const double begun = tool_seconds_now();
        run_pass(&pass, split && pairs < 4 * (uint64_t)threads ? 4 * (uint64_t)threads : 1);
        times->ms[times->passes][round] = 1e3 * (tool_seconds_now() - begun);
        times->lists[times->passes++] = 2 * pairs;
        pass.from = pass.to;
        pass.to = pass.to == one ? two : one;
    }
    for (uint64_t i = 1; i < count; ++i)
        if (pass.from[i - 1] > pass.from[i]) return false;
    return true;
}

int figure_threads(const figure_run *run) {
#if defined(_OPENMP)
    return run->job.device.workers > 0 ? (int)run->job.device.workers : omp_get_max_threads();
#else
    (void)run;
    return 1;
#endif
}

int figure_merge_passes(figure_run *run) {
    if (figure_device_of(run, PSV_BACKEND_CPU) == NULL) return TOOL_DONE;
    const uint64_t count = run->job.quick ? 1 << 20 : 1 << 23;
    static const char *const labels[] = {"a thread for each pair of lists", "pairs split over the threads"};
    float *memory = malloc(3 * count * sizeof *memory);
    merge_times *times = calloc(2, sizeof *times);
    bool fits = memory != NULL && times != NULL, good = true;
    for (uint64_t i = 0; fits && i < count; ++i)
        memory[i] = (float)((i * 2654435761u) & 0xffffff);
    for (int r = 0; r < MERGE_ROUNDS && fits; ++r)
        for (int split = 0; split < 2; ++split)
            good = time_passes(memory, memory + count, memory + 2 * count, count, split != 0, r, figure_threads(run),
                               &times[split]) &&
                   good;
    for (int split = 0; split < 2 && fits; ++split)
        for (uint32_t p = 0; p < times[split].passes && fits; ++p)
            fits =
                figure_add(run, "cpu", labels[split], (double)times[split].lists[p], times[split].ms[p], MERGE_ROUNDS);
    free(memory);
    free(times);
    if (!fits) return figure_no_memory();
    if (!good) return tool_fail(TOOL_FAILED, "the merge passes gave a wrong order");
    figure_say(run,
               "With %d threads and %lluK keys, the last pass takes %.2f times the pass of 64 lists with a thread for "
               "each pair, and %.2f times when pairs are split by merge path.",
               figure_threads(run), (unsigned long long)(count >> 10),
               figure_value(run, "cpu", labels[0], 2) / figure_value(run, "cpu", labels[0], 64),
               figure_value(run, "cpu", labels[1], 2) / figure_value(run, "cpu", labels[1], 64));
    return TOOL_DONE;
}

// --- Figure 8 -------------------------------------------------------------------------------------------------------

// Of Figures 8 and 10: the first eight and the last six.
static const figure_sorter sorters[] = {
    {.label = "hybrid, 8192 buckets", .method = "hybrid", .hybrid = {8192, 1, false}},
    {.label = "bitonic", .method = "bitonic"},
    {.label = "merge", .method = "merge"},
    {.label = "quicksort (qsort)", .host = sort_by_qsort},
    {.label = "std::sort", .host = cpu_sort_std},
    {.label = "hybrid", .method = "hybrid", .hybrid = {1024, 1, false}},
    {.label = "1-bit radix", .method = "radix4", .radix4 = {1, false, PSV_ORDER_CHECK_OFF, false}},
    {.label = "radix", .method = "radix"},
    {.label = "hybrid, shuffled", .method = "hybrid", .hybrid = {1024, 1, true}},
};
#define UNIFORM_SORTERS 8
#define DISTANCE_SORTERS 6
#define FIRST_DISTANCE_SORTER 3

// The ratio of two series at the largest x where both are.
static double last_ratio(const figure_run *run, const char *device, const char *above, const char *below, double *x) {
    size_t i;
    const json_t *row;
    double ratio = 0;
    json_array_foreach(page_rows(run->job.report, run->figure->id), i, row) {
        const double at = page_number(row, "x"), upper = figure_value(run, device, above, at),
                     lower = figure_value(run, device, below, at);
        if (upper <= 0 || lower <= 0 || at < *x) continue;
        *x = at;
        ratio = upper / lower;
    }
    return ratio;
}

void figure_say_ratio(figure_run *run, const char *device, const char *above, const char *below) {
    double x = 0;
    const double ratio = last_ratio(run, device, above, below, &x);
    char count[32];
    if (ratio > 0)
        figure_say(run, "%s: at %s %s, %s takes %.3g times as long as %s. ", device,
                   tool_format_count(count, (uint64_t)x), run->figure->x_name, above, ratio, below);
}

void figure_say_ratios(figure_run *run, const char *above, const char *below) {
    static const char *const devices[] = {"gl", "vulkan", "cuda"};
    for (int d = 0; d < 3; ++d)
        figure_say_ratio(run, devices[d], above, below);
}

int figure_hybrid(figure_run *run) {
    for (uint32_t d = 0; d < run->device_count; ++d) {
        const int code =
            figure_contest(run, &run->devices[d], sorters, UNIFORM_SORTERS, figure_counts(run), KEYS_UNIFORM);
        if (code != TOOL_DONE) return code;
    }
    figure_say_ratio(run, "cpu", "quicksort (qsort)", "radix");
    figure_say_ratios(run, "bitonic", "hybrid");
    figure_say_ratios(run, "1-bit radix", "hybrid");
    return TOOL_DONE;
}

// --- growth ---------------------------------------------------------------------------------------------------------

int figure_growth(figure_run *run) {
    size_t i;
    const json_t *row, *rows = page_rows(run->job.report, "sa-8");
    if (rows == NULL) figure_say(run, "Needs the rows of Figure 8: --only sa-8.");
    json_array_foreach(rows, i, row) {
        const double x = page_number(row, "x");
        double level = 1e6 * page_number(row, "y") / (x * log2(x));
        if (strcmp(page_text(row, "source"), "here") != 0) continue;
        if (!figure_add(run, page_text(row, "device"), page_text(row, "series"), x, &level, 1))
            return figure_no_memory();
    }
    static const char *const series[][2] = {{"cpu", "std::sort"}, {"cpu", "radix"},     {"gl", "hybrid"},
                                            {"gl", "bitonic"},    {"vulkan", "hybrid"}, {"vulkan", "bitonic"},
                                            {"cuda", "hybrid"},   {"cuda", "bitonic"}};
    const uint64_t *counts = figure_counts(run);
    for (size_t s = 0; s < sizeof series / sizeof *series; ++s) {
        double first = 0, last = 0, from = 0, to = 0;
        for (int c = 0; counts[c] != 0; ++c) {
            const double level = figure_value(run, series[s][0], series[s][1], (double)counts[c]);
            if (level > 0 && first == 0) {
                first = level;
                from = (double)counts[c];
            }
            if (level > 0) {
                last = level;
                to = (double)counts[c];
            }
        }
        if (to > from)
            figure_say(run, "%s, %s: %.2f times the level from %.0fK to %.0fK keys ((log n)^2 would be %.2f). ",
                       series[s][0], series[s][1], last / first, from / 1024, to / 1024, log2(to) / log2(from));
    }
    return TOOL_DONE;
}

// --- Figure 9 -------------------------------------------------------------------------------------------------------

#define TRANSFER_ROUNDS 7
enum { UPLOAD, SORT, DOWNLOAD, STEPS };

typedef struct transfer {
    psv_context *context;
    psv_sorter *sorter;
    float *keys; // of 2 count: input, result
    psv_buffer buffer;
    uint64_t count;
    double ms[STEPS];
} transfer;

static psv_status transfer_once(void *user) {
    transfer *t = user;
    double marks[STEPS + 1] = {tool_seconds_now()};
    psv_status status = psv_upload(t->context, t->buffer, t->keys, 4 * t->count);
    if (status == PSV_OK) status = psv_synchronize(t->context);
    marks[SORT] = tool_seconds_now();
    if (status == PSV_OK) status = psv_sort_keys(t->sorter, t->buffer, t->count);
    if (status == PSV_OK) status = psv_synchronize(t->context);
    marks[DOWNLOAD] = tool_seconds_now();
    if (status == PSV_OK) status = psv_download(t->context, t->keys + t->count, t->buffer, 4 * t->count);
    marks[STEPS] = tool_seconds_now();
    for (int p = 0; p < STEPS; ++p)
        t->ms[p] = 1e3 * (marks[p + 1] - marks[p]);
    return status;
}

// Upload, sort, download; of the hybrid sort the parts in place of the sort.
static psv_status time_steps(figure_run *run, const figure_device *device, transfer *t, bool hybrid, bool *fits) {
    static const char *const labels[STEPS] = {"upload", "sort", "download"};
    double times[STEPS][TRANSFER_ROUNDS], parts[HYBRID_PARTS * TRANSFER_ROUNDS];
    psv_status status = transfer_once(t);
    for (int r = 0; r < TRANSFER_ROUNDS && status == PSV_OK; ++r) {
        status = transfer_once(t);
        for (int p = 0; p < STEPS; ++p)
            times[p][r] = t->ms[p];
    }
    if (status == PSV_OK && hybrid)
        status = sort_time_parts(t->context, t->sorter, HYBRID_PARTS, 1, transfer_once, t, TRANSFER_ROUNDS, parts);
    for (int p = 0; p < STEPS && status == PSV_OK; ++p)
        if (!hybrid || p != SORT)
            *fits = *fits && figure_add(run, device->name, labels[p], (double)t->count, times[p], TRANSFER_ROUNDS);
    for (int p = 0; p < HYBRID_PARTS && hybrid && status == PSV_OK; ++p)
        *fits = *fits && figure_add(run, device->name, hybrid_part_names[p], (double)t->count,
                                    parts + p * TRANSFER_ROUNDS, TRANSFER_ROUNDS);
    return status;
}

static int time_transfers(figure_run *run, const figure_device *device, uint64_t count, float *keys) {
    const bool hybrid = figure_has_method(device, "hybrid");
    transfer t = {.context = device->context, .keys = keys, .count = count};
    psv_sorter_def def = psv_default_sorter_def();
    def.method = hybrid ? "hybrid" : "radix";
    def.key_type = PSV_KEY_F32;
    def.value_bytes = 0;
    def.max_count = count;
    bool fits = true;
    psv_status status = psv_create_sorter(t.context, &def, &t.sorter);
    if (status == PSV_OK) status = psv_alloc_buffer(t.context, 4 * count, &t.buffer);
    if (status == PSV_OK) status = time_steps(run, device, &t, hybrid, &fits);
    psv_free_buffer(t.context, &t.buffer);
    psv_destroy_sorter(t.sorter);
    if (status != PSV_OK) return tool_fail_status(t.context, status);
    return fits ? TOOL_DONE : figure_no_memory();
}

// All that was measured of a device at x keys, ms.
static double transfer_ms(const figure_run *run, const char *device, double x) {
    double all = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(page_rows(run->job.report, run->figure->id), i, row) {
        const bool here = strcmp(page_text(row, "source"), "here") == 0 && page_number(row, "x") == x;
        if (here && strcmp(page_text(row, "device"), device) == 0) all += page_number(row, "y");
    }
    return all;
}

static int device_transfers(figure_run *run, const figure_device *device, const uint64_t *counts) {
    for (; *counts != 0; ++counts) {
        float *keys = malloc(8 * *counts);
        if (keys == NULL) return figure_no_memory();
        for (uint64_t i = 0; i < *counts; ++i)
            keys[i] = (float)((i * 2654435761u) & 0xffffff);
        const int code = time_transfers(run, device, *counts, keys);
        free(keys);
        if (code != TOOL_DONE) return code;
        const double all = transfer_ms(run, device->name, (double)*counts);
        if (counts[1] != 0 && 2 * all <= figure_longest_ms(run)) continue;
        const double moved = figure_value(run, device->name, "upload", (double)*counts) +
                             figure_value(run, device->name, "download", (double)*counts);
        figure_say(run, "%s: transfers take %.0f%% of the whole at %.0fK keys. ", device->name, 100 * moved / all,
                   (double)*counts / 1024);
        break;
    }
    return TOOL_DONE;
}

int figure_transfers(figure_run *run) {
    static const uint64_t quick[] = {1 << 18, 1 << 19, 1 << 20, 0}, full[] = {1 << 20, 1 << 21, 1 << 22, 1 << 23, 0};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
        code = device_transfers(run, &run->devices[d], run->job.quick ? quick : full);
    return code;
}

// --- Figure 10 ------------------------------------------------------------------------------------------------------

#define BITONIC_TRIAL 65536

// Bitonic sort at the next power of two, as networks pad their input, and interpolated between the powers around
// `count`, as if the network had that size.
static int add_bitonic(figure_run *run, const figure_device *device, uint64_t count) {
    const figure_sorter bitonic = {.label = "bitonic", .method = "bitonic"};
    const bool skip = false;
    figure_times times[2];
    uint64_t above = 1;
    while (above < count)
        above *= 2;
    int code = figure_time_sorts(run, device, &bitonic, 1, BITONIC_TRIAL, KEYS_UNIFORM, &skip, &times[0]);
    if (code != TOOL_DONE || times[0].rounds == 0) return code;
    const double steps = log2((double)above) / log2(BITONIC_TRIAL); // as (log n)^2
    if (tool_median(times[0].ms, times[0].rounds) * (double)above / BITONIC_TRIAL * steps * steps >
        4 * figure_longest_ms(run))
        return TOOL_DONE; // a device that is too slow for it
    for (int t = 0; t < 2; ++t) {
        code = figure_time_sorts(run, device, &bitonic, 1, t == 0 ? above / 2 : above, KEYS_UNIFORM, &skip, &times[t]);
        if (code != TOOL_DONE || times[t].rounds == 0) return code;
    }
    const double low = tool_median(times[0].ms, times[0].rounds), high = tool_median(times[1].ms, times[1].rounds);
    double between = low + (high - low) * ((double)count - (double)above / 2) / ((double)above / 2);
    return figure_add(run, device->name, "bitonic, padded", (double)count, times[1].ms, times[1].rounds) &&
                   figure_add(run, device->name, "bitonic, interpolated", (double)count, &between, 1)
               ? TOOL_DONE
               : figure_no_memory();
}

static int sort_distances(figure_run *run, uint64_t count) {
    const uint64_t counts[] = {count, 0};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        code = figure_contest(run, &run->devices[d], sorters + FIRST_DISTANCE_SORTER, DISTANCE_SORTERS, counts,
                              KEYS_DISTANCES);
        if (code == TOOL_DONE) code = add_bitonic(run, &run->devices[d], count);
    }
    return code;
}

// Distances of the vertices from an eye outside of the box of the mesh, in the file's order.
static float *vertex_distances(const psv_mesh *mesh) {
    float *keys = malloc(sizeof *keys * (mesh->vertex_count + 1)), eye[3];
    for (int k = 0; k < 3 && keys != NULL; ++k) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < mesh->vertex_count; ++i) {
            low = fminf(low, mesh->positions[3 * (size_t)i + k]);
            high = fmaxf(high, mesh->positions[3 * (size_t)i + k]);
        }
        eye[k] = high + (high - low);
    }
    for (uint32_t i = 0; i < mesh->vertex_count && keys != NULL; ++i) {
        const float *p = &mesh->positions[3 * (size_t)i];
        const float d = hypotf(hypotf(p[0] - eye[0], p[1] - eye[1]), p[2] - eye[2]);
        keys[i] = isfinite(d) ? d : 0;
    }
    return keys;
}

static int sort_mesh(figure_run *run, const char *path) {
    psv_mesh mesh = {0};
    psv_context *context = run->devices[0].context;
    const psv_status status = psv_load_mesh(context, path, &mesh);
    if (status != PSV_OK) return tool_fail_status(context, status);
    float *keys = vertex_distances(&mesh);
    run->distances = keys;
    int code = keys != NULL ? TOOL_DONE : figure_no_memory();
    if (code == TOOL_DONE && mesh.vertex_count < 2)
        code = tool_fail(TOOL_REFUSED, "%s has less than two vertices", path);
    if (code == TOOL_DONE) code = sort_distances(run, mesh.vertex_count);
    run->distances = NULL;
    free(keys);
    psv_free_mesh(&mesh);
    return code;
}

int figure_distances(figure_run *run) {
    int code = TOOL_DONE;
    for (uint32_t m = 0; m < run->mesh_count && code == TOOL_DONE; ++m)
        code = sort_mesh(run, run->meshes[m]);
    if (run->mesh_count == 0) code = sort_distances(run, run->job.quick ? 1 << 18 : 1540000);
    if (run->mesh_count == 0 && code == TOOL_DONE && !run->job.quick) code = sort_distances(run, 5000000);
    if (code != TOOL_DONE) return code;
    figure_say_ratio(run, "cpu", "quicksort (qsort)", "radix");
    figure_say_ratios(run, "hybrid", "hybrid, shuffled");
    figure_say_ratios(run, "bitonic, padded", "hybrid, shuffled");
    figure_say_ratios(run, "bitonic, padded", "bitonic, interpolated");
    return TOOL_DONE;
}

// --- number of buckets, resolution of the histogram -----------------------------------------------------------------

#define HOST_ROUNDS 5

typedef struct host_times {
    double ms[HOST_ROUNDS], fullest;
} host_times;

// The hybrid sort on the host of the keys at `memory`, of 4 count: input, sorted, keys, room. The result is compared
// with std::sort's.
static int time_host_hybrid(figure_run *run, float *memory, uint64_t count, uint32_t buckets, uint32_t bins,
                            host_times *times) {
    const host_hybrid_options options = {buckets, bins, figure_threads(run)};
    float *keys = memory + 2 * count;
    for (int r = -1; r < HOST_ROUNDS; ++r) {
        memcpy(keys, memory, count * sizeof *keys);
        const double begun = tool_seconds_now();
        if (!host_hybrid_sort(keys, keys + count, count, &options, &times->fullest)) return figure_no_memory();
        times->ms[r < 0 ? 0 : r] = 1e3 * (tool_seconds_now() - begun);
    }
    if (memcmp(keys, memory + count, count * sizeof *keys) == 0) return TOOL_DONE;
    return tool_fail(TOOL_FAILED, "the hybrid sort on the host gave a wrong order");
}

static float *host_keys(const figure_run *run, figure_keys kind, uint64_t count) {
    float *memory = malloc(4 * count * sizeof *memory);
    if (memory == NULL) return NULL;
    figure_fill_keys(run, kind, count, memory);
    memcpy(memory + count, memory, count * sizeof *memory);
    cpu_sort_std(memory + count, count);
    return memory;
}

static int host_buckets(figure_run *run, const uint32_t *buckets, int sizes, uint64_t count) {
    float *memory = host_keys(run, KEYS_UNIFORM, count);
    int code = memory != NULL ? TOOL_DONE : figure_no_memory();
    double least = INFINITY;
    uint32_t best = 0;
    for (int b = 0; b < sizes && code == TOOL_DONE; ++b) {
        host_times times;
        code = time_host_hybrid(run, memory, count, buckets[b], buckets[b], &times);
        if (code == TOOL_DONE && !figure_add(run, "cpu", "hybrid on the host", buckets[b], times.ms, HOST_ROUNDS))
            code = figure_no_memory();
        const double ms = code == TOOL_DONE ? figure_value(run, "cpu", "hybrid on the host", buckets[b]) : INFINITY;
        if (ms < least) best = buckets[b];
        least = fmin(least, ms);
    }
    free(memory);
    if (code == TOOL_DONE)
        figure_say(run, "cpu, %d threads: %u buckets are fastest for %lluK keys. ", figure_threads(run), best,
                   (unsigned long long)(count >> 10));
    return code;
}

// 4M keys, or fewer where a sort of so many would take longer than other figures allow.
static int choose_count(figure_run *run, const figure_device *device, uint64_t *count) {
    const uint64_t trial = 1 << 18;
    const figure_sorter hybrid = {.label = "hybrid", .method = "hybrid"};
    const bool skip = false;
    figure_times times;
    const int code = figure_time_sorts(run, device, &hybrid, 1, trial, KEYS_UNIFORM, &skip, &times);
    *count = 1 << 22;
    if (code != TOOL_DONE) return code;
    const double ms = tool_median(times.ms, times.rounds);
    while (*count > trial && ms * (double)*count / (double)trial > figure_longest_ms(run))
        *count /= 4;
    return code;
}

static int device_buckets(figure_run *run, const figure_device *device, const uint32_t *buckets, int sizes) {
    figure_sorter list[FIGURE_SORTERS];
    figure_times times[FIGURE_SORTERS];
    const bool skip[FIGURE_SORTERS] = {false};
    uint64_t count;
    char label[40];
    int code = choose_count(run, device, &count);
    if (code != TOOL_DONE) return code;
    const bool millions = count >= 1 << 20;
    (void)snprintf(label, sizeof label, "hybrid, %llu%c keys", (unsigned long long)(count >> (millions ? 20 : 10)),
                   millions ? 'M' : 'K');
    for (int b = 0; b < sizes; ++b)
        list[b] = (figure_sorter){.label = label, .method = "hybrid", .hybrid = {buckets[b], 1, false}};
    code = figure_time_sorts(run, device, list, (uint32_t)sizes, count, KEYS_UNIFORM, skip, times);
    double least = INFINITY;
    uint32_t best = 0;
    for (int b = 0; b < sizes && code == TOOL_DONE; ++b) {
        if (!figure_add(run, device->name, list[b].label, buckets[b], times[b].ms, times[b].rounds))
            return figure_no_memory();
        const double ms = tool_median(times[b].ms, times[b].rounds);
        if (ms < least) best = buckets[b];
        least = fmin(least, ms);
    }
    if (code == TOOL_DONE) figure_say(run, "%s: %u buckets are fastest. ", device->name, best);
    return code;
}

int figure_buckets(figure_run *run) {
    static const uint32_t buckets[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
    enum { SIZES = sizeof buckets / sizeof *buckets };
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        if (figure_is(&run->devices[d], PSV_BACKEND_CPU))
            code = host_buckets(run, buckets, SIZES, run->job.quick ? 1 << 20 : 1 << 22);
        else if (figure_has_method(&run->devices[d], "hybrid"))
            code = device_buckets(run, &run->devices[d], buckets, SIZES);
    }
    return code;
}

int figure_histogram(figure_run *run) {
    if (figure_device_of(run, PSV_BACKEND_CPU) == NULL) return TOOL_DONE;
    static const struct {
        const char *name;
        figure_keys keys;
    } inputs[] = {
        {"uniform", KEYS_UNIFORM}, {"Gaussian", KEYS_GAUSSIAN}, {"distances", KEYS_DISTANCES}, {"spikes", KEYS_SPIKES}};
    const uint32_t buckets = 1024;
    const uint64_t count = run->job.quick ? 1 << 18 : 1 << 22;
    int code = TOOL_DONE;
    for (int i = 0; i < 4 && code == TOOL_DONE; ++i) {
        float *memory = host_keys(run, inputs[i].keys, count);
        if (memory == NULL) return figure_no_memory();
        double coarse = 0, fine = 0, coarse_ms = 0, fine_ms = 0;
        for (uint32_t bins = 256; bins <= HOST_HYBRID_MOST && code == TOOL_DONE; bins *= 2) {
            host_times times;
            code = time_host_hybrid(run, memory, count, buckets, bins, &times);
            fine = times.fullest;
            fine_ms = tool_median(times.ms, HOST_ROUNDS);
            if (bins == buckets) coarse = fine;
            if (bins == buckets) coarse_ms = fine_ms;
            if (code == TOOL_DONE && !figure_add(run, "cpu", inputs[i].name, bins, &times.fullest, 1))
                code = figure_no_memory();
        }
        free(memory);
        if (code == TOOL_DONE)
            figure_say(run,
                       "%s: the fullest of 1,024 lists has %.3g times the mean with 1,024 bins and %.3g with 65,536, "
                       "in %.2f of the time. ",
                       inputs[i].name, coarse, fine, fine_ms / coarse_ms);
    }
    return code;
}
