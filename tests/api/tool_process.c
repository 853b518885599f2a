// Runs the `pairsieve` program through the shell.
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_all(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(text, 1, room - 1, file) : 0;
    text[size] = 0;
    if (file != NULL) (void)fclose(file);
    (void)remove(path);
}

void tool_run(tool_result *result, const char *arguments) {
    char out[64], error[64], command[4096];
    (void)snprintf(out, sizeof out, "tool_out_%ld", (long)getpid());
    (void)snprintf(error, sizeof error, "tool_error_%ld", (long)getpid());
    (void)snprintf(command, sizeof command, "'%s' %s >%s 2>%s </dev/null", PAIRSIEVE_TOOL, arguments, out, error);
    int status = system(command); // NOLINT(cert-env33-c): a test, and the shell splits the arguments
    result->code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_all(out, result->out, sizeof result->out);
    read_all(error, result->error, sizeof result->error);
}

bool tool_refuses(const char *arguments, int code, const char *sentence) {
    static tool_result result;
    tool_run(&result, arguments);
    bool one_line = strchr(result.error, '\n') == result.error + strlen(result.error) - 1;
    if (result.code == code && strncmp(result.error, "pairsieve: ", 11) == 0 && one_line &&
        strstr(result.error, sentence) != NULL && result.out[0] == 0)
        return true;
    (void)fprintf(stderr, "pairsieve %s\n  exit code %d (due: %d)\n  stderr: %s  (due: '%s')\n  stdout: %s\n",
                  arguments, result.code, code, result.error, sentence, result.out);
    return false;
}

json_t *tool_json(const char *arguments) {
    static tool_result result;
    tool_run(&result, arguments);
    json_error_t error;
    json_t *object = result.code == 0 ? json_loads(result.out, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (object == NULL)
        (void)fprintf(stderr, "pairsieve %s\n  exit code %d\n  stderr: %s\n  stdout: %s\n", arguments, result.code,
                      result.error, result.out);
    return object;
}

bool tool_has_keys(const json_t *object, const char *keys) {
    size_t count = 0;
    char list[1024];
    (void)snprintf(list, sizeof list, "%s", keys);
    for (char *rest = list, *key = strtok_r(rest, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest), ++count) {
        if (json_object_get(object, key) != NULL) continue;
        (void)fprintf(stderr, "the key '%s' is missing\n", key);
        return false;
    }
    if (json_object_size(object) == count) return true;
    (void)fprintf(stderr, "%zu keys where %zu are due (%s)\n", json_object_size(object), count, keys);
    return false;
}
