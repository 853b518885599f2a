// What a report measures, and for how long: each case has a share of the report's time and stops when that is over.
#include <stdlib.h>
#include <string.h>

#include "../machine.h"
#include "../sort_keys.h"
#include "pairsieve/sort.h"
#include "report.h"

#define QUICK_SECONDS 100.0 // of measuring; loading scenes and pages come on top
#define FULL_SECONDS 540.0
#define WARM_FRAMES 3
#define LEAST_FRAMES 5
#define MOST_FRAMES 240
#define MOST_SORTS 400
#define MEMORY_PAIRS_PER_BOX 8

// --- cases ----------------------------------------------------------------------------------------------------------

typedef enum case_kind { CASE_FRAMES, CASE_RUN, CASE_SERIES, CASE_SORT } case_kind;

typedef struct report_case {
    case_kind kind;
    const char *scene, *broad_phase, *sort; // of a sort: `sort` is the method
    uint64_t count;                         // bodies or keys
    int distribution;
    double weight; // share of the time
} report_case;

typedef struct case_list {
    report_case *items;
    uint32_t count, room;
} case_list;

static bool add_case(case_list *list, report_case item) {
    if (list->count == list->room) {
        const uint32_t room = list->room * 2 + 64;
        report_case *items = realloc(list->items, room * sizeof *items);
        if (items == NULL) return false;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
    return true;
}

// Methods whose time grows with the square of the count are left out above this many boxes or keys.
static bool is_oracle(const char *broad_phase) { return strcmp(broad_phase, "brute") == 0; }

static bool add_scene_cases(case_list *list, psv_backend backend, const char *scene, const uint64_t *counts,
                            bool every_sort) {
    bool fits = add_case(list, (report_case){CASE_FRAMES, scene, "auto", "auto", counts[0], 0, 3});
    const char *method, *sort;
    for (; *counts != 0; ++counts)
        for (uint32_t m = 0; (method = psv_broad_phase_name(backend, m)) != NULL; ++m) {
            if (is_oracle(method)) continue;
            fits = fits && add_case(list, (report_case){CASE_RUN, scene, method, "auto", *counts, 0, 1});
            for (uint32_t s = 0; every_sort && (sort = psv_pair_sort_name(backend, s)) != NULL; ++s)
                fits = fits && add_case(list, (report_case){CASE_RUN, scene, method, sort, *counts, 0, 1});
        }
    return fits;
}

static bool add_sort_cases(case_list *list, psv_backend backend, const uint64_t *counts) {
    bool fits = true;
    const char *method;
    for (uint32_t m = 0; (method = psv_sort_method_name(backend, m)) != NULL; ++m) {
        for (uint32_t c = 0; counts[c] != 0; ++c)
            fits = fits && add_case(list, (report_case){CASE_SORT, NULL, NULL, method, counts[c], 0, .3});
        for (int d = 1; tool_distributions[d] != NULL; ++d) // uniform, 0, is above
            fits = fits && add_case(list, (report_case){CASE_SORT, NULL, NULL, method, counts[counts[1] != 0], d, .3});
    }
    return fits;
}

static bool list_cases(const report_job *job, char *scenes, case_list *list) {
    static const uint64_t quick[] = {10000, 50000, 0}, full[] = {10000, 100000, 1000000, 0};
    static const uint64_t quick_keys[] = {10000, 100000, 1000000, 0}, full_keys[] = {10000, 1000000, 10000000, 0};
    const psv_backend backend = psv_context_backend(job->context);
    const bool given = job->count_list[0] != 0;
    const uint64_t *counts = given ? job->count_list : job->quick ? quick : full;
    const uint64_t *key_counts = given ? job->count_list : job->quick ? quick_keys : full_keys;
    const char *first = NULL, *sort;
    bool fits = true;
    for (char *scene = strtok(scenes, ","); scene != NULL; scene = strtok(NULL, ",")) {
        fits = fits && add_scene_cases(list, backend, scene, counts, first == NULL);
        if (first == NULL) first = scene;
    }
    for (uint32_t s = 0; first != NULL && (sort = psv_pair_sort_name(backend, s)) != NULL; ++s)
        fits = fits && add_case(list, (report_case){CASE_SERIES, first, "lbvh", sort, counts[counts[1] != 0], 0, 1});
    return fits && add_sort_cases(list, backend, key_counts);
}

// --- scenes ---------------------------------------------------------------------------------------------------------

typedef struct scene_run {
    psv_profile profiles[MOST_FRAMES];
    uint64_t pairs[MOST_FRAMES];
    uint64_t frames, bodies;
    psv_pair_statistics statistics;
} scene_run;

static psv_status step_scene(report_job *job, psv_scene *scene, psv_profile *profile, uint64_t *pairs) {
    psv_world_counters counters;
    psv_status status = psv_scene_step(scene);
    if (status == PSV_OK) status = psv_wait_profile(job->context, profile);
    if (status == PSV_OK) status = psv_read_world_counters(psv_scene_world(scene), &counters);
    if (status == PSV_OK) *pairs = counters.pairs;
    return status;
}

static psv_status run_frames(report_job *job, psv_scene *scene, double seconds, uint64_t warm, scene_run *run) {
    psv_status status = psv_enable_profile(job->context, true);
    psv_world_counters counters;
    for (uint64_t f = 0; f < warm && status == PSV_OK; ++f)
        status = step_scene(job, scene, &run->profiles[0], &run->pairs[0]);
    const double begun = tool_seconds_now();
    while (status == PSV_OK && run->frames < MOST_FRAMES &&
           (run->frames < LEAST_FRAMES || tool_seconds_now() - begun < seconds)) {
        status = step_scene(job, scene, &run->profiles[run->frames], &run->pairs[run->frames]);
        ++run->frames;
    }
    if (status == PSV_OK) status = psv_read_world_counters(psv_scene_world(scene), &counters);
    if (status == PSV_OK) run->bodies = counters.bodies;
    if (status == PSV_OK)
        status = psv_read_pair_statistics(psv_world_pair_finder(psv_scene_world(scene)), &run->statistics);
    return status;
}

static int run_scene(report_job *job, const report_case *item, double seconds, scene_run *run) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = item->count;
    options.broad_phase = item->broad_phase;
    options.sort_method = item->sort;
    psv_scene *scene = NULL;
    psv_status status = psv_load_scene(job->context, item->scene, &options, &scene);
    if (status == PSV_OK) status = run_frames(job, scene, seconds, item->kind == CASE_RUN ? WARM_FRAMES : 0, run);
    psv_destroy_scene(scene);
    return tool_fail_status(job->context, status);
}

// Time of the broad phase alone: without the bounds of shapes, which the simulation computes.
static double find_ms(const psv_profile *profile) {
    double sum = 0;
    for (int p = PSV_PHASE_KEYS; p <= PSV_PHASE_EVENTS; ++p)
        sum += profile->phase_ms[p];
    return sum;
}

static double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

static json_t *case_row(const report_job *job, const report_case *item) {
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "scene", item->scene, "backend",
                     psv_backend_name(psv_context_backend(job->context)), "broad_phase", item->broad_phase, "sort",
                     item->sort, "bodies", (json_int_t)item->count);
}

static bool add_run_row(report_job *job, const report_case *item, const scene_run *run) {
    double values[3][MOST_FRAMES], sort_sum = 0, frame_sum = 0;
    for (uint64_t f = 0; f < run->frames; ++f) {
        values[0][f] = run->profiles[f].frame_ms;
        values[1][f] = find_ms(&run->profiles[f]);
        values[2][f] = run->profiles[f].phase_ms[PSV_PHASE_SORT];
        frame_sum += values[0][f];
        sort_sum += values[2][f];
    }
    json_t *row = case_row(job, item);
    if (row == NULL) return false;
    json_object_set_new(row, "frames", json_integer((json_int_t)run->frames));
    json_object_set_new(row, "pairs", json_integer((json_int_t)run->pairs[run->frames - 1]));
    json_object_set_new(row, "route", json_string(run->statistics.route));
    report_set_times(row, "frame", values[0], run->frames);
    report_set_times(row, "find", values[1], run->frames);
    report_set_times(row, "sort", values[2], run->frames);
    json_object_set_new(row, "sort_share", json_real(share_of(sort_sum, frame_sum)));
    return report_add_row(job, "runs", row);
}

static bool add_frame_rows(report_job *job, const report_case *item, const scene_run *run) {
    bool fits = true;
    for (uint64_t f = 0; f < run->frames && fits; ++f) {
        const psv_profile *profile = &run->profiles[f];
        json_t *row = case_row(job, item);
        if (row == NULL) return false;
        json_object_set_new(row, "frame", json_integer((json_int_t)f + 1));
        json_object_set_new(row, "pairs", json_integer((json_int_t)run->pairs[f]));
        json_object_set_new(row, "frame_ms", json_real(profile->frame_ms));
        for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
            char column[32];
            (void)snprintf(column, sizeof column, "%s_ms", psv_phase_name((psv_phase)p));
            json_object_set_new(row, column, json_real(profile->phase_ms[p]));
        }
        json_object_set_new(row, "sort_share",
                            json_real(share_of(profile->phase_ms[PSV_PHASE_SORT], profile->frame_ms)));
        fits = report_add_row(job, item->kind == CASE_FRAMES ? "frames" : "sort_by_frame", row);
    }
    return fits;
}

static int measure_scene(report_job *job, const report_case *item, double seconds) {
    scene_run *run = calloc(1, sizeof *run);
    if (run == NULL) return tool_fail(TOOL_FAILED, "no memory for the frames");
    int code = run_scene(job, item, seconds, run);
    if (code == TOOL_DONE) {
        const bool fits = item->kind == CASE_RUN ? add_run_row(job, item, run) : add_frame_rows(job, item, run);
        if (!fits) code = tool_fail(TOOL_FAILED, "no memory for the report");
    }
    free(run);
    return code;
}

// --- sorts ----------------------------------------------------------------------------------------------------------

typedef struct sort_run {
    void *keys;
    psv_sorter *sorter;
    psv_buffer device_keys, device_values;
    double times[MOST_SORTS];
    uint64_t repeats;
} sort_run;

static psv_status sort_once(report_job *job, sort_run *run, uint64_t count, double *ms) {
    psv_profile profile;
    psv_status status = psv_upload(job->context, run->device_keys, run->keys, 4 * count);
    if (status == PSV_OK) status = psv_sort_pairs(run->sorter, run->device_keys, run->device_values, count);
    if (status == PSV_OK) status = psv_wait_profile(job->context, &profile);
    if (status == PSV_OK) *ms = profile.frame_ms;
    return status;
}

static psv_status repeat_sorts(report_job *job, sort_run *run, uint64_t count, double seconds) {
    double ms;
    psv_status status = psv_enable_profile(job->context, true);
    for (int w = 0; w < 2 && status == PSV_OK; ++w)
        status = sort_once(job, run, count, &ms);
    const double begun = tool_seconds_now();
    while (status == PSV_OK && run->repeats < MOST_SORTS &&
           (run->repeats < LEAST_FRAMES || tool_seconds_now() - begun < seconds)) {
        status = sort_once(job, run, count, &run->times[run->repeats]);
        ++run->repeats;
    }
    return status;
}

static psv_status prepare_sort(report_job *job, const report_case *item, sort_run *run) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = item->sort;
    def.max_count = item->count;
    psv_status status = psv_create_sorter(job->context, &def, &run->sorter);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, 4 * item->count, &run->device_keys);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, 4 * item->count, &run->device_values);
    if (status == PSV_OK) // values of any kind, but written ones
        status = psv_upload(job->context, run->device_values, run->keys, 4 * item->count);
    return status;
}

static bool add_sort_row(report_job *job, const report_case *item, sort_run *run) {
    json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I}", "backend", psv_backend_name(psv_context_backend(job->context)),
                            "method", item->sort, "kind", tool_distributions[item->distribution], "count",
                            (json_int_t)item->count, "repeats", (json_int_t)run->repeats);
    if (row == NULL) return false;
    report_set_times(row, "sort", run->times, run->repeats);
    const double ms = json_real_value(json_object_get(row, "sort_ms"));
    json_object_set_new(row, "million_pairs_per_s", json_real(ms > 0 ? 1e-3 * (double)item->count / ms : 0));
    return report_add_row(job, "sorts", row);
}

static int measure_sort(report_job *job, const report_case *item, double seconds) {
    sort_run *run = calloc(1, sizeof *run);
    if (run != NULL) run->keys = malloc(4 * item->count);
    if (run == NULL || run->keys == NULL) {
        free(run);
        return tool_fail(TOOL_FAILED, "no memory for %llu keys", (unsigned long long)item->count);
    }
    tool_fill_keys(run->keys, item->count, PSV_KEY_U32, item->distribution, 7 + item->count);
    psv_status status = prepare_sort(job, item, run);
    if (status == PSV_OK) status = repeat_sorts(job, run, item->count, seconds);
    int code = tool_fail_status(job->context, status);
    if (code == TOOL_DONE && !add_sort_row(job, item, run)) code = tool_fail(TOOL_FAILED, "no memory for the report");
    psv_free_buffer(job->context, &run->device_keys);
    psv_free_buffer(job->context, &run->device_values);
    psv_destroy_sorter(run->sorter);
    free(run->keys);
    free(run);
    return code;
}

// --- memory ---------------------------------------------------------------------------------------------------------

static bool add_memory_rows(report_job *job) {
    static const uint64_t counts[] = {10000, 100000, 1000000, 10000000};
    const psv_backend backend = psv_context_backend(job->context);
    const char *method;
    bool fits = true;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
        for (uint32_t m = 0; (method = psv_broad_phase_name(backend, m)) != NULL && fits; ++m) {
            psv_pair_finder_def def = psv_default_pair_finder_def();
            def.method = method;
            def.max_boxes = counts[c];
            def.max_pairs = counts[c] * MEMORY_PAIRS_PER_BOX;
            const uint64_t bytes = psv_pair_finder_bytes(backend, &def);
            if (bytes == 0) continue;
            fits = report_add_row(job, "memory",
                                  json_pack("{s:s, s:s, s:I, s:I, s:f}", "backend", psv_backend_name(backend), "method",
                                            method, "boxes", (json_int_t)counts[c], "bytes", (json_int_t)bytes,
                                            "bytes_per_box", (double)bytes / (double)counts[c]));
        }
    return fits;
}

// --- the whole ------------------------------------------------------------------------------------------------------

static void draw_progress(report_job *job, const report_case *item) {
    if (!job->progress) return;
    const double share = job->spent_weight / job->total_weight, spent = tool_seconds_now() - job->begun;
    const double left = share > .02 ? spent / share - spent : job->planned_seconds;
    char cells[31];
    for (int i = 0; i < 30; ++i)
        cells[i] = i < (int)(30 * share) ? '#' : '.';
    cells[30] = 0;
    fprintf(stderr, "\r[%s] %3.0f s left  %-10s %-8s %-8s %8llu ", cells, left,
            item->kind == CASE_SORT ? "sort" : item->scene, item->broad_phase != NULL ? item->broad_phase : "",
            item->sort, (unsigned long long)item->count);
}

static int measure_cases(report_job *job, const case_list *list) {
    int code = TOOL_DONE;
    for (uint32_t i = 0; i < list->count; ++i)
        job->total_weight += list->items[i].weight;
    for (uint32_t i = 0; i < list->count && code == TOOL_DONE; ++i) {
        const report_case *item = &list->items[i];
        const double seconds = job->planned_seconds * item->weight / job->total_weight;
        draw_progress(job, item);
        code = item->kind == CASE_SORT ? measure_sort(job, item, seconds) : measure_scene(job, item, seconds);
        job->spent_weight += item->weight;
    }
    if (job->progress) fprintf(stderr, "\r%*s\r", 100, "");
    return code;
}

static bool add_tables(report_job *job) {
    static const char phases[] = "frame_ms pairs sort_share bounds_ms keys_ms sort_ms gather_ms sweep_ms events_ms "
                                 "narrow_ms solve_ms integrate_ms";
    return report_add_table(job, "runs", "scene backend broad_phase sort bodies",
                            "frames pairs route frame_ms frame_q1 frame_q3 find_ms find_q1 find_q3 sort_ms sort_q1 "
                            "sort_q3 sort_share",
                            "pairsieve run SCENE --backend BACKEND --broad-phase BROAD_PHASE --sort SORT --bodies N") &&
           report_add_table(job, "frames", "scene backend broad_phase sort bodies frame", phases,
                            "pairsieve run SCENE --backend BACKEND --bodies N --csv FILE") &&
           report_add_table(
               job, "sort_by_frame", "scene backend broad_phase sort bodies frame", phases,
               "pairsieve run SCENE --backend BACKEND --broad-phase lbvh --sort SORT --bodies N --csv FILE") &&
           report_add_table(job, "sorts", "backend method kind count",
                            "repeats sort_ms sort_q1 sort_q3 million_pairs_per_s",
                            "pairsieve sort --backend BACKEND --method METHOD --distribution KIND --count N") &&
           report_add_table(job, "memory", "backend method boxes", "bytes bytes_per_box",
                            "pairsieve info --memory --boxes N");
}

int report_measure(report_job *job) {
    case_list list = {0};
    char *scenes = strdup(job->scenes);
    bool fits = scenes != NULL && add_tables(job) && list_cases(job, scenes, &list) && add_memory_rows(job);
    job->planned_seconds = job->seconds > 0 ? job->seconds : job->quick ? QUICK_SECONDS : FULL_SECONDS;
    job->begun = tool_seconds_now();
    int code = fits ? measure_cases(job, &list) : tool_fail(TOOL_FAILED, "no memory for the report");
    json_object_set_new(job->report, "seconds", json_real(tool_seconds_now() - job->begun));
    free(list.items);
    free(scenes);
    return code;
}
