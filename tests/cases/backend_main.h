// What the mains of tests share whose first argument is a backend.
#ifndef BACKEND_MAIN_H
#define BACKEND_MAIN_H

#include <stddef.h>
#include <stdint.h>

#include "pairsieve/core.h"

struct CMUnitTest;

// An option with a whole number. A test without its option has the number it began with.
typedef struct number_option {
    const char *name; // such as "--seed"; the last of an array has none
    uint64_t *value;
} number_option;

// Reads «[cpu|cuda|gl|vulkan] [NAME NUMBER]...». False, with a sentence about it, where an argument is not known.
bool read_backend_arguments(int argc, char **argv, psv_backend *backend, const number_option *options);

// Runs the tests with a context of this def, which *context holds meanwhile. Returns the exit code of main: 77, with a
// sentence, where the backend has no device.
int run_backend_tests(const char *name, const psv_context_def *def, psv_context **context,
                      const struct CMUnitTest *tests, size_t count);
#define RUN_BACKEND_TESTS(name, def, context, tests)                                                                   \
    run_backend_tests(name, def, context, tests, sizeof(tests) / sizeof *(tests))

// The call has given this status, and the sentence about it has this part.
void expect_refusal(const psv_context *context, psv_status status, psv_status expected, const char *part);

#endif
