// How much of a test runs. The environment variable PAIRSIEVE_TEST_SCALE, a whole number above 1, thins all cases out
// by that factor and shortens runs: for device code under compute-sanitizer (tests/sanitize.sh). From 90 on little is
// left but cases that were chosen to run each kernel. A prime does not coincide with the order in which tests go
// through their kinds. Without the variable only large cases are thinned out, by the factor of the same name that the
// build has (sanitizer builds of the CPU code).
#ifndef PAIRSIEVE_TEST_SCALE_H
#define PAIRSIEVE_TEST_SCALE_H

#include <stdbool.h>
#include <stdlib.h>

// Built for ThreadSanitizer: its own memory is a file, and it ends a child process that starts threads.
#if defined(__has_feature)
#define TEST_UNDER_TSAN __has_feature(thread_sanitizer)
#define TEST_UNDER_ASAN __has_feature(address_sanitizer)
#else
#define TEST_UNDER_TSAN 0
#define TEST_UNDER_ASAN 0
#endif
// The sanitizer adds memory and time of its own, so that a test cannot measure those of the code.
#define TEST_UNDER_SANITIZER (TEST_UNDER_TSAN || TEST_UNDER_ASAN)

// For all cases; 1 where the variable is not set.
static inline unsigned test_thinning(void) {
    const char *text = getenv("PAIRSIEVE_TEST_SCALE");
    const unsigned long factor = text == NULL ? 1 : strtoul(text, NULL, 10);
    return factor > 1 && factor < 1000000 ? (unsigned)factor : 1;
}

// Only what runs each kernel.
static inline bool test_kernels_only(void) { return test_thinning() >= 90; }

// For large cases.
static inline unsigned test_scale(void) {
    const unsigned factor = test_thinning();
    return factor > 1 ? factor : PAIRSIEVE_TEST_SCALE;
}

// A count cut down by the thinning, but not below `least`.
static inline unsigned test_thinned(unsigned count, unsigned least) {
    const unsigned thinned = count / test_thinning();
    return thinned < least ? least : thinned;
}

#endif
