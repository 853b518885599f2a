// CHECK(call): a call of the library in a test, whose failure ends the test with the call's text and its sentence.
#ifndef PAIRSIEVE_TESTS_CHECK_CALL_H
#define PAIRSIEVE_TESTS_CHECK_CALL_H

// `context` is the test's own. cmocka.h comes before this header.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s", #call, psv_last_error(context));                                      \
    } while (0)

#endif
