// Errors, contexts, statistics and output that the commands share.
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"
#include "tool.h"

int tool_fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)fflush(stdout);
    fputs("pairsieve: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

int tool_fail_status(const psv_context *context, psv_status status) {
    if (status == PSV_OK) return TOOL_DONE;
    const char *sentence = psv_last_error(context);
    bool ours = status == PSV_ERROR_DEVICE || status == PSV_ERROR_INTERNAL;
    return tool_fail(ours ? TOOL_FAILED : TOOL_REFUSED, "%s", sentence[0] != 0 ? sentence : psv_status_name(status));
}

int tool_create_context(const tool_device_options *options, psv_context **context) {
    psv_context_def def = psv_default_context_def();
    *context = NULL;
    if (psv_parse_backend(options->backend, &def.backend) != PSV_OK)
        return tool_fail(TOOL_REFUSED, "--backend %s is not known; accepted: auto, cpu, cuda, gl, vulkan",
                         options->backend);
    def.worker_count = (int)options->workers;
    psv_status status = psv_create_context(&def, context);
    // The command line names a missing device.
    if (status == PSV_ERROR_DEVICE)
        return tool_fail(TOOL_REFUSED, "--backend %s: %s", options->backend, psv_last_error(NULL));
    return tool_fail_status(NULL, status);
}

int tool_create_world_contexts(const tool_device_options *options, psv_context **worlds, psv_context **shaders) {
    if (strcmp(options->backend, "gl") != 0 && strcmp(options->backend, "vulkan") != 0)
        return tool_create_context(options, worlds);
    tool_device_options cpu = *options;
    cpu.backend = "cpu";
    const int code = tool_create_context(options, shaders);
    return code == TOOL_DONE ? tool_create_context(&cpu, worlds) : code;
}

int tool_check_method(const psv_context *context, const char *option, const char *method,
                      const char *(*name_at)(psv_backend backend, uint32_t index)) {
    char known[256] = "auto";
    const psv_backend backend = psv_context_backend(context);
    if (method == NULL || strcmp(method, "auto") == 0) return TOOL_DONE;
    const char *name;
    for (uint32_t i = 0; (name = name_at(backend, i)) != NULL; ++i) {
        if (strcmp(name, method) == 0) return TOOL_DONE;
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, ", %s", name);
    }
    return tool_fail(TOOL_REFUSED, "%s %s is not a method of the %s backend; accepted: %s", option, method,
                     psv_backend_name(backend), known);
}

json_t *tool_json_text(const char *text) {
    json_t *string = json_string(text);
    char *copy = string == NULL ? strdup(text) : NULL;
    if (copy == NULL) return string;
    for (char *c = copy; *c != 0; ++c)
        if ((unsigned char)*c >= 0x80) *c = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

int tool_print_json(json_t *object) {
    if (object == NULL) return tool_fail(TOOL_FAILED, "no memory for the JSON object");
    int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    putchar('\n');
    return failed == 0 ? TOOL_DONE : tool_fail(TOOL_FAILED, "could not write the output");
}

int tool_print_result(const char *kind, const psv_context *context, json_t *object) {
    char schema[64];
    (void)snprintf(schema, sizeof schema, "pairsieve.%s/1", kind);
    if (object != NULL) {
        json_object_set_new(object, "schema", json_string(schema));
        json_object_set_new(object, "machine", tool_machine_json(context));
    }
    return tool_print_json(object);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tool_percentile(double *values, uint64_t count, double percent) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    uint64_t rank = (uint64_t)ceil(percent / 100 * (double)count);
    return values[rank > 0 ? rank - 1 : 0];
}

double tool_median(double *values, uint64_t count) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

const char *tool_format_count(char text[32], uint64_t count) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), written = 0;
    for (int i = 0; i < length; ++i) {
        if (i > 0 && (length - i) % 3 == 0) text[written++] = ',';
        text[written++] = digits[i];
    }
    text[written] = 0;
    return text;
}

double tool_seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
