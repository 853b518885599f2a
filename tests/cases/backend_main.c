#include "backend_main.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bool read_backend_arguments(int argc, char **argv, psv_backend *backend, const number_option *options) {
    for (int i = 1; i < argc; ++i) {
        const number_option *option = options;
        while (option->name != NULL && strcmp(option->name, argv[i]) != 0)
            ++option;
        char *end = NULL;
        if (option->name == NULL && psv_parse_backend(argv[i], backend) == PSV_OK) continue;
        if (option->name != NULL && ++i < argc) {
            *option->value = strtoull(argv[i], &end, 10);
            if (end != argv[i] && *end == '\0') continue;
        }
        fprintf(stderr, "%s: no backend, option or number: '%s'\n", argv[0], argv[i < argc ? i : i - 1]);
        return false;
    }
    return true;
}

int run_backend_tests(const char *name, const psv_context_def *def, psv_context **context,
                      const struct CMUnitTest *tests, size_t count) {
    if (!psv_backend_available(def->backend)) {
        printf("skipped: no usable %s device\n", psv_backend_name(def->backend));
        return 77;
    }
    if (psv_create_context(def, context) != PSV_OK) {
        fprintf(stderr, "%s: %s\n", name, psv_last_error(NULL));
        return 1;
    }
    const int failures = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    psv_destroy_context(*context);
    return failures;
}

void expect_refusal(const psv_context *context, psv_status status, psv_status expected, const char *part) {
    const char *sentence = psv_last_error(context);
    if (status != expected)
        fail_msg("%s (%s) in place of %s", psv_status_name(status), sentence, psv_status_name(expected));
    if (strstr(sentence, part) == NULL) fail_msg("'%s' does not say '%s'", sentence, part);
}
