// The back-off: which calls go without the fast way after failures and successes, call by call.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/backoff.h"

// Runs `calls` calls on data that suit the fast way from call `good_from` on; counts attempts and failures.
typedef struct run_counts {
    uint32_t attempts, failures, first_good_attempt;
} run_counts;

static run_counts run(psvi_backoff *backoff, uint32_t calls, uint32_t good_from, uint32_t least, uint32_t most) {
    run_counts counts = {0, 0, UINT32_MAX};
    for (uint32_t call = 0; call < calls; ++call) {
        if (psvi_backoff_waits(backoff)) continue;
        ++counts.attempts;
        if (call >= good_from) {
            if (counts.first_good_attempt == UINT32_MAX) counts.first_good_attempt = call;
            psvi_backoff_succeeded(backoff);
        } else {
            ++counts.failures;
            psvi_backoff_failed(backoff, least, most);
        }
    }
    return counts;
}

static void test_never_waits_without_failure(void **state) {
    (void)state;
    psvi_backoff backoff = {0};
    assert_int_equal(run(&backoff, 1000, 0, 1, 64).attempts, 1000);
    assert_int_equal(backoff.left, 0);
    assert_int_equal(backoff.wait, 0);
}

// Attempts at calls 0, 2, 5, 10, 19, 36, 69, 134, then every 65th.
static void test_waits_double_up_to_the_most(void **state) {
    (void)state;
    static const uint32_t attempts[] = {0, 2, 5, 10, 19, 36, 69, 134, 199, 264};
    psvi_backoff backoff = {0};
    uint32_t next = 0;
    for (uint32_t call = 0; call <= 264; ++call) {
        const bool waits = psvi_backoff_waits(&backoff);
        assert_int_equal(!waits, call == attempts[next]);
        if (waits) continue;
        psvi_backoff_failed(&backoff, 1, 64);
        ++next;
    }
    assert_int_equal(next, sizeof attempts / sizeof *attempts);
}

// Also with bounds that are no powers of two, equal bounds, and the largest.
static void test_bounds(void **state) {
    (void)state;
    static const uint32_t bounds[][2] = {{1, 1}, {3, 10}, {8, 256}, {5, 5}, {1, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; ++b) {
        psvi_backoff backoff = {0};
        uint64_t expected = bounds[b][0];
        for (int failure = 0; failure < 40; ++failure) {
            psvi_backoff_failed(&backoff, bounds[b][0], bounds[b][1]);
            assert_int_equal(backoff.wait, expected);
            assert_int_equal(backoff.left, expected);
            expected = 2 * expected < bounds[b][1] ? 2 * expected : bounds[b][1];
        }
    }
}

// Data that suit again are found after at most `most` calls; a failure after that is a first one.
static void test_success_forgets(void **state) {
    (void)state;
    for (uint32_t good_from = 0; good_from < 400; ++good_from) {
        psvi_backoff backoff = {0};
        const run_counts counts = run(&backoff, good_from + 66, good_from, 1, 64);
        assert_true(counts.first_good_attempt <= good_from + 64);
        psvi_backoff_failed(&backoff, 1, 64);
        assert_int_equal(backoff.left, 1);
    }
}

// Data that never suit cost one attempt in `most` + 1 calls.
static void test_cost_of_data_that_never_suit(void **state) {
    (void)state;
    psvi_backoff backoff = {0};
    const run_counts counts = run(&backoff, 65 * 1000, UINT32_MAX, 1, 64);
    assert_int_equal(counts.attempts, counts.failures);
    assert_in_range(counts.attempts, 1000, 1007);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_waits_without_failure),
        cmocka_unit_test(test_waits_double_up_to_the_most),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_success_forgets),
        cmocka_unit_test(test_cost_of_data_that_never_suit),
    };
    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
