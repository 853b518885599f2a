// `pairsieve sort --file`.
#include "sort_file.h"

#include <unistd.h>

#include "key_values.h"
#include "pairsieve/stream_sort.h"

static void draw_progress(void *user, const psv_stream_progress *progress) {
    (void)user;
    const double share = progress->total > 0 ? (double)progress->done / (double)progress->total : 0;
    fprintf(stderr, "\r%-10s %3.0f%% ", progress->merging ? "merging" : "sorting", 100 * share);
}

static int print_file(const tool_sort_file *job, const psv_context *context, const psv_stream_result *result,
                      double seconds) {
    const double rate = 1e-6 * (double)result->count / seconds;
    const char *backend = psv_backend_name(psv_context_backend(context));
    if (job->json)
        return tool_print_result("sort_file", context,
                                 json_pack("{s:I, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f}", "count",
                                           (json_int_t)result->count, "keys", job->key_name, "value_bytes",
                                           (json_int_t)job->value_bytes, "method", job->method, "backend", backend,
                                           "memory_mib", (json_int_t)job->mebibytes, "runs", (json_int_t)result->runs,
                                           "kept_runs", (json_int_t)result->kept_runs, "rounds",
                                           (json_int_t)result->rounds, "seconds", seconds, "mpairs_per_s", rate));
    char count[32];
    printf("%s %s records with %u-byte values, method %s on %s: %.2f s, %.1f million a second\n",
           tool_format_count(count, result->count), job->key_name, (unsigned)job->value_bytes, job->method, backend,
           seconds, rate);
    if (result->kept_runs > 0)
        printf("%llu runs were taken over from a call that did not end\n", (unsigned long long)result->kept_runs);
    printf("%llu runs, %llu rounds of the merge; checked: sorted, and the same records\n",
           (unsigned long long)result->runs, (unsigned long long)result->rounds);
    return TOOL_DONE;
}

int tool_sort_a_file(const tool_sort_file *job) {
    const tool_file files[] = {{.option = "--file", .path = job->input, .is_input = true, .needs_name = true},
                               {.option = "--out", .path = job->output, .needs_name = true}};
    psv_stream_def def = psv_default_stream_def();
    if (job->output == NULL) return tool_fail(TOOL_REFUSED, "--file needs --out FILE");
    if (psv_parse_key_type(job->key_name, &def.key_type) != PSV_OK)
        return tool_fail(TOOL_REFUSED, "--keys %s is not known; accepted: " TOOL_KEY_TYPES, job->key_name);
    if (job->value_bytes != 0 && job->value_bytes != 4 && job->value_bytes != 8)
        return tool_fail(TOOL_REFUSED, "--value-bytes %llu is not accepted: 0, 4 or 8",
                         (unsigned long long)job->value_bytes);
    psv_context *context = NULL;
    psv_stream_result result;
    int code = tool_check_files(files, 2);
    if (code == TOOL_DONE) code = tool_create_context(&job->device, &context);
    if (code == TOOL_DONE) code = tool_check_method(context, "--method", job->method, psv_sort_method_name);
    if (code == TOOL_DONE) {
        def.method = job->method;
        def.value_bytes = (uint32_t)job->value_bytes;
        def.descending = job->descending;
        def.restart = job->restart;
        def.memory_bytes = job->mebibytes << 20;
        if (isatty(STDERR_FILENO)) def.progress = draw_progress;
        const double begun = tool_seconds_now();
        code = tool_fail_status(context, psv_sort_file(context, &def, job->input, job->output, &result));
        if (def.progress != NULL) fputs("\r                    \r", stderr);
        if (code == TOOL_DONE) code = print_file(job, context, &result, tool_seconds_now() - begun);
    }
    psv_destroy_context(context);
    return code;
}
