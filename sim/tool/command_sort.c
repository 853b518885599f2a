// `pairsieve sort`: sorts keys with their places as values, checks the result, reports the time.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "distributed_sort.h"
#include "key_values.h"
#include "pairsieve/sort.h"
#include "sort_file.h"
#include "sort_keys.h"
#include "tool.h"

#define MOST_KEYS (UINT64_C(1) << 50)

typedef struct sort_job {
    tool_device_options device;
    const char *key_name, *distribution, *method, *input;
    uint64_t count, seed, repeat;
    bool has_count, has_distribution, has_seed, json;
    tool_sort_file file;
    tool_rank_options rank_options;

    psv_key_type type;
    uint32_t value_bytes;
    psv_context *context;
    psv_sorter *sorter;
    psv_buffer keys, values;
    void *host_keys, *host_values, *sorted_keys;
    double *times;
    double median_ms, min_ms, quartiles_ms[2];
    psv_sort_statistics statistics; // of the last run
    tool_sort_check check;
} sort_job;

static int no_memory(const sort_job *job, uint64_t bytes_per_key) {
    return tool_fail(TOOL_REFUSED, "no memory for %llu keys (%llu bytes)", (unsigned long long)job->count,
                     (unsigned long long)(job->count * bytes_per_key));
}

// Memory of the machine; a system that overcommits would promise more.
static bool fits_host(const sort_job *job, uint64_t bytes_per_key) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page_bytes <= 0 || job->count < (uint64_t)pages * (uint64_t)page_bytes / bytes_per_key;
}

// Everything that takes memory, before the time is spent on making keys.
static int reserve(sort_job *job) {
    uint32_t bytes = psv_key_type_bytes(job->type);
    job->value_bytes = job->count > UINT32_MAX ? 8 : 4;
    if (!fits_host(job, 2 * bytes + job->value_bytes)) return no_memory(job, 2 * bytes + job->value_bytes);
    if (job->host_keys == NULL) job->host_keys = malloc((job->count + 1) * bytes);
    job->host_values = malloc((job->count + 1) * job->value_bytes);
    job->sorted_keys = malloc((job->count + 1) * bytes);
    job->times = malloc(job->repeat * sizeof *job->times);
    if (job->host_keys == NULL || job->host_values == NULL || job->sorted_keys == NULL || job->times == NULL)
        return no_memory(job, 2 * bytes + job->value_bytes);
    return TOOL_DONE;
}

static void number_values(sort_job *job) {
    for (uint64_t i = 0; i < job->count; ++i) {
        if (job->value_bytes == 4)
            ((uint32_t *)job->host_values)[i] = (uint32_t)i;
        else
            ((uint64_t *)job->host_values)[i] = i;
    }
}

static int create_sorter(sort_job *job) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = job->method;
    def.key_type = job->type;
    def.value_bytes = job->value_bytes;
    def.max_count = job->count > 0 ? job->count : 1;
    psv_status status = psv_create_sorter(job->context, &def, &job->sorter);
    if (status == PSV_OK)
        status = psv_alloc_buffer(job->context, job->count * psv_key_type_bytes(job->type), &job->keys);
    if (status == PSV_OK) status = psv_alloc_buffer(job->context, job->count * job->value_bytes, &job->values);
    if (status == PSV_OK) status = psv_enable_profile(job->context, true);
    return tool_fail_status(job->context, status);
}

// One sort of fresh copies of the input; *ms gets its time.
static psv_status sort_once(sort_job *job, double *ms) {
    uint64_t key_bytes = job->count * psv_key_type_bytes(job->type), value_bytes = job->count * job->value_bytes;
    psv_profile profile;
    psv_status status = psv_upload(job->context, job->keys, job->host_keys, key_bytes);
    if (status == PSV_OK) status = psv_upload(job->context, job->values, job->host_values, value_bytes);
    if (status == PSV_OK) status = psv_sort_pairs(job->sorter, job->keys, job->values, job->count);
    if (status == PSV_OK) status = psv_synchronize(job->context);
    if (status == PSV_OK) status = psv_wait_profile(job->context, &profile);
    if (status == PSV_OK) *ms = profile.frame_ms;
    return status;
}

static int sort_all(sort_job *job) {
    double warm_up;
    number_values(job);
    psv_status status = sort_once(job, &warm_up);
    for (uint64_t r = 0; r < job->repeat && status == PSV_OK; ++r)
        status = sort_once(job, &job->times[r]);
    if (status == PSV_OK) status = psv_read_sort_statistics(job->sorter, &job->statistics);
    if (status == PSV_OK)
        status = psv_download(job->context, job->sorted_keys, job->keys, job->count * psv_key_type_bytes(job->type));
    if (status == PSV_OK)
        status = psv_download(job->context, job->host_values, job->values, job->count * job->value_bytes);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    job->median_ms = tool_median(job->times, job->repeat);
    job->min_ms = job->times[0];
    job->quartiles_ms[0] = tool_percentile(job->times, job->repeat, 25);
    job->quartiles_ms[1] = tool_percentile(job->times, job->repeat, 75);
    if (!tool_check_sorted(job->host_keys, job->sorted_keys, job->host_values, job->value_bytes, job->count, job->type,
                           &job->check))
        return no_memory(job, 1);
    return TOOL_DONE;
}

static int print_result(const sort_job *job) {
    const char *method = psv_sorter_method(job->sorter, job->count);
    const char *backend = psv_backend_name(psv_context_backend(job->context));
    double rate = job->median_ms > 0 ? 1e-3 * (double)job->count / job->median_ms : 0;
    if (job->json)
        return tool_print_result(
            "sort", job->context,
            json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:{s:f, s:f, s:f, s:f}, s:f}", "repeats",
                      (json_int_t)job->repeat, "count", (json_int_t)job->count, "keys", psv_key_type_name(job->type),
                      "distribution", job->distribution, "method", method, "route", job->statistics.route, "veto",
                      job->statistics.veto, "backend", backend, "sorted", job->check.sorted, "stable",
                      job->check.stable, "ms", "median", job->median_ms, "q1", job->quartiles_ms[0], "q3",
                      job->quartiles_ms[1], "min", job->min_ms, "mpairs_per_s", rate));
    char count[32];
    printf("%s %s keys (%s) with %u-byte values, method %s on %s (%s)\n", tool_format_count(count, job->count),
           psv_key_type_name(job->type), job->distribution, job->value_bytes, method, backend,
           psv_context_device_name(job->context));
    printf("median %.3f ms, fastest %.3f ms of %llu: %.1f million pairs a second\n", job->median_ms, job->min_ms,
           (unsigned long long)job->repeat, rate);
    if (strcmp(job->statistics.veto, "none") == 0)
        printf("route %s\n", job->statistics.route);
    else
        printf("route %s, a faster one was left: %s\n", job->statistics.route, job->statistics.veto);
    printf("checked: %s, %s\n", job->check.sorted ? "sorted" : "NOT SORTED",
           job->check.stable ? "stable" : "NOT STABLE");
    return TOOL_DONE;
}

static int run_job(sort_job *job) {
    if (psv_parse_key_type(job->key_name, &job->type) != PSV_OK)
        return tool_fail(TOOL_REFUSED, "--keys %s is not known; accepted: " TOOL_KEY_TYPES, job->key_name);
    int distribution = tool_choose("--distribution", job->distribution, tool_distributions);
    if (distribution < 0) return TOOL_REFUSED;
    if (job->rank_options.distributed)
        return tool_sort_distributed(&(tool_distributed_sort){job->device, job->type, distribution, job->method,
                                                              job->count, job->seed, job->repeat,
                                                              job->rank_options.limit, job->json});
    int code = tool_create_context(&job->device, &job->context);
    if (code == TOOL_DONE) code = tool_check_method(job->context, "--method", job->method, psv_sort_method_name);
    if (code == TOOL_DONE && job->input != NULL) {
        job->distribution = "file";
        code = tool_read_keys(job->input, job->type, &job->host_keys, &job->count);
    }
    if (code == TOOL_DONE) code = reserve(job);
    if (code == TOOL_DONE) code = create_sorter(job);
    if (code == TOOL_DONE && job->input == NULL)
        tool_fill_keys(job->host_keys, job->count, job->type, distribution, job->seed);
    if (code == TOOL_DONE) code = sort_all(job);
    if (code == TOOL_DONE) code = print_result(job);
    if (code == TOOL_DONE && !(job->check.sorted && job->check.stable))
        code = tool_fail(TOOL_FAILED, "method %s gave a wrong order", job->method);
    return code;
}

static void release_job(sort_job *job) {
    psv_destroy_sorter(job->sorter);
    if (job->context != NULL) psv_free_buffer(job->context, &job->keys);
    if (job->context != NULL) psv_free_buffer(job->context, &job->values);
    psv_destroy_context(job->context);
    free(job->host_keys);
    free(job->host_values);
    free(job->sorted_keys);
    free(job->times);
}

// Options that exclude each other. TOOL_CONTINUE: none.
static int check_options(const sort_job *job) {
    const bool describes = job->has_count || job->has_distribution || job->has_seed;
    const bool distributed = job->rank_options.distributed;
    if (job->input != NULL && describes)
        return tool_fail(TOOL_REFUSED, "--input takes its keys from the file: no --count, --distribution or --seed");
    if (job->input != NULL && distributed)
        return tool_fail(TOOL_REFUSED, "--input and --distributed exclude each other");
    if (job->file.input != NULL && (job->input != NULL || describes || distributed))
        return tool_fail(TOOL_REFUSED, "--file sorts what the file has: no --input, --count, --distribution, --seed or "
                                       "--distributed");
    if (job->file.input == NULL && job->file.restart) return tool_fail(TOOL_REFUSED, "--restart needs --file");
    if (job->file.input == NULL && job->file.output != NULL) return tool_fail(TOOL_REFUSED, "--out needs --file");
    return TOOL_CONTINUE;
}

static int sort_file(sort_job *job) {
    job->file.device = job->device;
    job->file.method = job->method;
    job->file.key_name = job->key_name;
    job->file.json = job->json;
    return tool_sort_a_file(&job->file);
}

static sort_job default_job(void) {
    return (sort_job){.device = {.backend = "auto"},
                      .key_name = "u32",
                      .distribution = "uniform",
                      .method = "radix",
                      .rank_options.limit = TOOL_TIME_LIMIT,
                      .count = 1000000,
                      .seed = 1,
                      .repeat = 11,
                      .file = {.mebibytes = 1024, .value_bytes = 4}};
}

int command_sort(int argc, char **argv) {
    sort_job job = default_job();
    const tool_option options[] = {
        {.name = "--keys",
         .argument = "TYPE",
         .help = "u32 (default), i32, f32, u64, i64, f64, u8, i8, u16, i16, f16, bf16, u128, i128 or bytes16",
         .kind = OPTION_TEXT,
         .target = &job.key_name},
        {.name = "--count",
         .argument = "N",
         .help = "keys, 1M without it; 20K and 1M are understood",
         .kind = OPTION_COUNT,
         .target = &job.count,
         .most = MOST_KEYS,
         .given = &job.has_count},
        {.name = "--distribution",
         .argument = "NAME",
         .help = "uniform (default), gaussian, sorted, reversed, nearly, few or constant",
         .kind = OPTION_TEXT,
         .target = &job.distribution,
         .given = &job.has_distribution},
        {.name = "--method",
         .argument = "NAME",
         .help = "sorting method, see 'pairsieve list'; radix without it",
         .kind = OPTION_TEXT,
         .target = &job.method},
        TOOL_DEVICE_OPTIONS(job.device),
        {.name = "--input",
         .argument = "FILE",
         .help = "keys from a file: one number a line, or raw keys where the name ends in .bin",
         .kind = OPTION_TEXT,
         .target = &job.input},
        {.name = "--seed",
         .argument = "N",
         .help = "of the random keys, 1 without it",
         .kind = OPTION_COUNT,
         .target = &job.seed,
         .given = &job.has_seed},
        {.name = "--repeat",
         .argument = "N",
         .help = "timed sorts, after one that is not; 11 without it",
         .kind = OPTION_COUNT,
         .target = &job.repeat,
         .least = 1,
         .most = 100000},
        {.name = "--file",
         .argument = "FILE",
         .help = "sort the records of a file to --out, with no more than --memory; not a benchmark",
         .kind = OPTION_TEXT,
         .target = &job.file.input},
        {.name = "--out",
         .argument = "FILE",
         .help = "(--file) the sorted records; gets its name when it is complete",
         .kind = OPTION_TEXT,
         .target = &job.file.output},
        {.name = "--memory",
         .argument = "MIB",
         .help = "(--file) most memory in MiB, 1024 without it",
         .kind = OPTION_COUNT,
         .target = &job.file.mebibytes,
         .least = 1,
         .most = UINT64_C(1) << 30},
        {.name = "--value-bytes",
         .argument = "N",
         .help = "(--file) bytes of a record behind its key: 0, 4 (default) or 8",
         .kind = OPTION_COUNT,
         .target = &job.file.value_bytes,
         .most = 8},
        {.name = "--descending",
         .help = "(--file) the greatest key first",
         .kind = OPTION_FLAG,
         .target = &job.file.descending},
        {.name = "--restart",
         .help = "(--file) after a kill the same command goes on behind the runs that were finished",
         .kind = OPTION_FLAG,
         .target = &job.file.restart},
        TOOL_RANK_OPTIONS(job.rank_options, "sort", "keys"),
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = &job.json},
    };
    tool_command command = {
        .name = "sort",
        .usage = "[OPTION]...",
        .summary =
            "Sorts keys together with their places, checks that the result is sorted and stable, reports the time.\n"
            "With --file: sorts a file that may be larger than the memory.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code == TOOL_CONTINUE) code = check_options(&job);
    if (code != TOOL_CONTINUE) return code;
    if (job.file.input != NULL) return sort_file(&job);
    code = run_job(&job);
    release_job(&job);
    return code;
}
