// `pairsieve report --peers`: the same keys and boxes sorted and searched by this library and by those that Python has.
#include "report.h"

#if defined(_WIN32)
int report_measure_peers(report_job *job) {
    (void)job;
    return tool_fail(TOOL_REFUSED, "--peers is not possible on Windows");
}
#else
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sort_keys.h"
#include "pairsieve/collision.h"
#include "pairsieve/sort.h"
#include "peers_script.h"

#define MOST_REPEATS 101
#define LEAST_REPEATS 3
#define QUICK_PEER_SECONDS 0.5
#define FULL_PEER_SECONDS 2.0

typedef struct peer_work {
    uint32_t *keys, *index; // index: room for the result
    psv_aabb *boxes;
    uint64_t key_count, box_count;
    double seconds; // for each library and work
    psv_buffer device_keys, device_index, device_boxes;
    psv_sorter *sorter;
    psv_pair_finder *finder;
} peer_work;

// --- the input ------------------------------------------------------------------------------------------------------

// Unit cubes about points of a fine grid, of which each touches about 3.5 others: exact in any arithmetic.
static void make_boxes(psv_aabb *boxes, uint64_t count) {
    const uint32_t steps = (uint32_t)(1024 * cbrt(2.3 * (double)count)) + 1;
    uint64_t state = 11;
    for (uint64_t i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const float centre = (float)((state >> 33) % steps) / 1024;
            boxes[i].min[k] = centre - 0.5f;
            boxes[i].max[k] = centre + 0.5f;
        }
}

static int make_work(report_job *job, peer_work *work) {
    work->key_count = job->quick ? 1000000 : 4000000;
    work->box_count = job->quick ? 100000 : 1000000;
    work->seconds = job->quick ? QUICK_PEER_SECONDS : FULL_PEER_SECONDS;
    work->keys = malloc(4 * work->key_count);
    work->index = malloc(4 * work->key_count);
    work->boxes = malloc(work->box_count * sizeof *work->boxes);
    if (work->keys == NULL || work->index == NULL || work->boxes == NULL)
        return tool_fail(TOOL_FAILED, "no memory for the input of the peers");
    tool_fill_keys(work->keys, work->key_count, PSV_KEY_U32, 0, 7);
    for (uint64_t i = 0; i < work->key_count; ++i)
        work->keys[i] &= 0x7fffffffu; // as many libraries have signed keys only
    make_boxes(work->boxes, work->box_count);
    return TOOL_DONE;
}

static bool write_file(const char *folder, const char *name, const void *data, size_t bytes) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    const bool good = file != NULL && fwrite(data, 1, bytes, file) == bytes;
    return (file == NULL || fclose(file) == 0) && good;
}

// --- ours -----------------------------------------------------------------------------------------------------------

static psv_status prepare_ours(report_job *job, peer_work *work) {
    psv_sorter_def sorter = psv_default_sorter_def();
    psv_pair_finder_def finder = psv_default_pair_finder_def();
    sorter.max_count = work->key_count;
    finder.method = "auto";
    finder.max_boxes = work->box_count;
    finder.max_pairs = 4 * work->box_count;
    const uint64_t key_bytes = 4 * work->key_count, box_bytes = work->box_count * sizeof *work->boxes;
    psv_status status = psv_create_sorter(job->context, &sorter, &work->sorter);
    if (status == PSV_OK) status = psv_create_pair_finder(job->context, &finder, &work->finder);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, key_bytes, &work->device_keys);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, key_bytes, &work->device_index);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, box_bytes, &work->device_boxes);
    return status == PSV_OK ? psv_upload(job->context, work->device_boxes, work->boxes, box_bytes) : status;
}

typedef enum peer_kind { PEER_SORT, PEER_ARGSORT, PEER_PAIRS, PEER_KINDS } peer_kind;

static const char *const kind_names[PEER_KINDS] = {"sort", "argsort, stable", "pairs"};

// One call with its wait; *pairs gets the number of pairs.
static psv_status work_once(report_job *job, peer_work *work, peer_kind kind, double *ms, uint64_t *pairs) {
    const psv_box_set set = psv_boxes_of(work->device_boxes, sizeof(psv_aabb), work->box_count);
    psv_status status = PSV_OK;
    if (kind != PEER_PAIRS) status = psv_upload(job->context, work->device_keys, work->keys, 4 * work->key_count);
    if (status == PSV_OK) status = psv_synchronize(job->context);
    const double begun = tool_seconds_now();
    if (status == PSV_OK && kind == PEER_SORT) status = psv_sort_keys(work->sorter, work->device_keys, work->key_count);
    if (status == PSV_OK && kind == PEER_ARGSORT)
        status = psv_sort_index(work->sorter, work->device_keys, work->device_index, work->key_count,
                                PSV_INDEX_KEYS_UNDEFINED);
    if (status == PSV_OK && kind == PEER_PAIRS) status = psv_find_pairs(work->finder, &set);
    if (status == PSV_OK && kind == PEER_PAIRS) status = psv_finish_pairs(work->finder, pairs);
    if (status == PSV_OK) status = psv_synchronize(job->context);
    *ms = 1e3 * (tool_seconds_now() - begun);
    return status;
}

// The number by which peers.py tells the result of a work.
static psv_status result_of(report_job *job, peer_work *work, peer_kind kind, uint64_t pairs, uint64_t *result) {
    const uint64_t first = kind == PEER_ARGSORT;
    *result = pairs;
    if (kind == PEER_PAIRS) return PSV_OK;
    const psv_status status = psv_download(
        job->context, work->index, kind == PEER_SORT ? work->device_keys : work->device_index, 4 * work->key_count);
    *result = 0;
    for (uint64_t i = 0; i < work->key_count; ++i)
        *result += work->index[i] * (i + first);
    return status;
}

static json_t *new_row(const char *work, const char *peer, const char *version, const char *device, uint64_t count) {
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "work", work, "peer", peer, "version", version, "device", device,
                     "count", (json_int_t)count);
}

// Adds the row with its times and what is to be said of its result. False: no memory.
static bool add_row(report_job *job, json_t *row, double *times, uint64_t repeats, const char *result) {
    if (row == NULL) return false;
    json_object_set_new(row, "repeats", json_integer((json_int_t)repeats));
    report_set_times(row, "peer", times, repeats);
    json_object_set_new(row, "result", json_string(result));
    return report_add_row(job, "peers", row);
}

static int measure_ours(report_job *job, peer_work *work, uint64_t results[PEER_KINDS]) {
    psv_status status = prepare_ours(job, work);
    char version[32];
    (void)snprintf(version, sizeof version, "%d.%d.%d", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
    for (int kind = 0; kind < PEER_KINDS && status == PSV_OK; ++kind) {
        double times[MOST_REPEATS], warm_up;
        uint64_t repeats = 0, pairs = 0;
        status = work_once(job, work, (peer_kind)kind, &warm_up, &pairs);
        const double begun = tool_seconds_now();
        while (status == PSV_OK && repeats < MOST_REPEATS &&
               (repeats < LEAST_REPEATS || tool_seconds_now() - begun < work->seconds))
            status = work_once(job, work, (peer_kind)kind, &times[repeats++], &pairs);
        if (status == PSV_OK) status = result_of(job, work, (peer_kind)kind, pairs, &results[kind]);
        json_t *row = status == PSV_OK ? new_row(kind_names[kind], "pairsieve", version,
                                                 psv_backend_name(psv_context_backend(job->context)),
                                                 kind == PEER_PAIRS ? work->box_count : work->key_count)
                                       : NULL;
        if (status == PSV_OK && !add_row(job, row, times, repeats, "the measure"))
            return tool_fail(TOOL_FAILED, "no memory for the report");
    }
    return tool_fail_status(job->context, status);
}

// --- theirs ---------------------------------------------------------------------------------------------------------

// Runs peers.py; what it prints goes to FOLDER/said.
static int run_script(const report_job *job, const char *folder, double seconds) {
    char script[PATH_MAX], said[PATH_MAX], limit[32];
    (void)snprintf(script, sizeof script, "%.4000s/peers.py", folder);
    (void)snprintf(said, sizeof said, "%.4000s/said", folder);
    (void)snprintf(limit, sizeof limit, "%g", seconds);
    const pid_t child = fork();
    if (child == 0) {
        if (freopen(said, "w", stdout) == NULL || dup2(STDOUT_FILENO, STDERR_FILENO) < 0) _exit(126);
        (void)execlp(job->python, job->python, script, folder, limit, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return TOOL_DONE;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tool_fail(TOOL_REFUSED, "--peers: there is no program %s; --python names another", job->python);
    char line[512] = "", last[512] = "it was ended by a signal";
    FILE *file = fopen(said, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        memcpy(last, line, sizeof last);
    if (file != NULL) (void)fclose(file);
    last[strcspn(last, "\n")] = 0;
    return tool_fail(TOOL_FAILED, "--peers: %s failed: %s", job->python, last);
}

static const char *text_at(const json_t *row, const char *name) {
    const char *text = json_string_value(json_object_get(row, name));
    return text != NULL ? text : "";
}

// "same", or what is wrong.
static const char *verdict_on(const json_t *row, const uint64_t results[PEER_KINDS]) {
    char expected[32];
    if (text_at(row, "note")[0] != 0) return text_at(row, "note");
    for (int kind = 0; kind < PEER_KINDS; ++kind) {
        if (strcmp(kind_names[kind], text_at(row, "work")) != 0) continue;
        (void)snprintf(expected, sizeof expected, "%llu", (unsigned long long)results[kind]);
        if (strcmp(expected, text_at(row, "result")) == 0) return "same";
    }
    return "another result";
}

static int add_theirs(report_job *job, const char *folder, const uint64_t results[PEER_KINDS]) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/rows.json", folder);
    json_error_t error;
    json_t *list = json_load_file(path, 0, &error);
    if (list == NULL) return tool_fail(TOOL_FAILED, "--peers: %s wrote no results: %s", job->python, error.text);
    size_t i;
    json_t *row;
    bool fits = true;
    json_array_foreach(list, i, row) {
        const json_t *spent = json_object_get(row, "times");
        double times[MOST_REPEATS] = {0};
        uint64_t repeats = 0;
        for (; repeats < json_array_size(spent) && repeats < MOST_REPEATS; ++repeats)
            times[repeats] = json_number_value(json_array_get(spent, repeats));
        json_t *made = new_row(text_at(row, "work"), text_at(row, "peer"), text_at(row, "version"),
                               text_at(row, "device"), (uint64_t)json_integer_value(json_object_get(row, "count")));
        fits = fits && add_row(job, made, times, repeats, verdict_on(row, results));
    }
    if (json_array_size(list) == 0)
        (void)fprintf(stderr, "pairsieve: --peers: %s has none of numpy, scipy, torch, cupy, warp, newton\n",
                      job->python);
    json_decref(list);
    return fits ? TOOL_DONE : tool_fail(TOOL_FAILED, "no memory for the report");
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {"keys.bin", "boxes.bin", "peers.py", "rows.json", "said"};
    char path[PATH_MAX];
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
        (void)snprintf(path, sizeof path, "%.4000s/%s", folder, names[n]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

int report_measure_peers(report_job *job) {
    const char *given = getenv("TMPDIR");
    char folder[PATH_MAX];
    peer_work work = {0};
    uint64_t results[PEER_KINDS] = {0};
    const int length = snprintf(folder, sizeof folder, "%s/pairsieve-peers-XXXXXX", given != NULL ? given : P_tmpdir);
    if (length < 0 || length > 4000 || mkdtemp(folder) == NULL)
        return tool_fail(TOOL_FAILED, "no folder for the input of the peers: %s", strerror(errno));
    int code = make_work(job, &work);
    if (code == TOOL_DONE && !report_add_table(job, "peers", "work peer version device count",
                                               "repeats peer_ms peer_q1 peer_q3 result", "pairsieve report --peers"))
        code = tool_fail(TOOL_FAILED, "no memory for the report");
    if (code == TOOL_DONE && !(write_file(folder, "keys.bin", work.keys, 4 * work.key_count) &&
                               write_file(folder, "boxes.bin", work.boxes, work.box_count * sizeof *work.boxes) &&
                               write_file(folder, "peers.py", peers_script, sizeof peers_script - 1)))
        code = tool_fail(TOOL_FAILED, "cannot write to %s: %s", folder, strerror(errno));
    if (code == TOOL_DONE) code = measure_ours(job, &work, results);
    if (code == TOOL_DONE) code = run_script(job, folder, work.seconds);
    if (code == TOOL_DONE) code = add_theirs(job, folder, results);
    remove_folder(folder);
    psv_destroy_pair_finder(work.finder);
    psv_destroy_sorter(work.sorter);
    psv_free_buffer(job->context, &work.device_keys);
    psv_free_buffer(job->context, &work.device_index);
    psv_free_buffer(job->context, &work.device_boxes);
    free(work.keys);
    free(work.index);
    free(work.boxes);
    return code;
}
#endif
