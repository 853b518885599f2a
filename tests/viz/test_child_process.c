// Programs that the viewer starts and writes to. The child is this test again, told what to do by its arguments.
#include "../../viz/app/child_process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 3000001 // more than a pipe holds

static const char *own_path;

// Arguments that a command line of Windows could take apart otherwise.
static const char *const odd[] = {"two words",        "",     "a\"quote", "back\\slash", "end\\", "\\\\\"x\\\" y\\\\",
                                  "pad=ceil(iw/2)*2", "t\tab"};
#define ODD (sizeof odd / sizeof *odd)

static uint8_t byte_of(size_t i) { return (uint8_t)(i * 7 + i / 251); } // ends of lines and of files are among them

// --- The child
// --------------------------------------------------------------------------------------------------------

static int read_all(int count, char **arguments) {
    size_t read = 0;
    if (count != (int)ODD + 2) return 3;
    for (size_t i = 0; i < ODD; ++i)
        if (strcmp(arguments[i + 2], odd[i]) != 0) return 4;
#if defined(_WIN32)
    setmode(0, _O_BINARY);
#endif
    for (int c; (c = getchar()) != EOF; ++read)
        if (c != byte_of(read)) return 5;
    return read == BYTES ? 0 : 6;
}

static int run_child(int count, char **arguments) {
    if (strcmp(arguments[1], "read") == 0) return read_all(count, arguments);
    if (strcmp(arguments[1], "fail") == 0) return 9;
    return 2;
}

// --- The tests
// --------------------------------------------------------------------------------------------------------

static void test_bytes_and_arguments_arrive(void **state) {
    (void)state;
    const char *arguments[ODD + 3] = {own_path, "read"};
    uint8_t *bytes = malloc(BYTES);
    view_child child, other;
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; ++i)
        bytes[i] = byte_of(i);
    memcpy(arguments + 2, odd, sizeof odd);
    assert_true(view_start_child(&child, arguments));
    assert_true(view_start_child(&other, arguments)); // which must not keep the first one's pipe open
    assert_true(view_write_child(&child, bytes, 1));
    assert_true(view_write_child(&child, bytes + 1, BYTES - 1));
    assert_true(view_end_child(&child));
    assert_int_equal(child.process, 0);
    assert_true(view_write_child(&other, bytes, 1000));
    assert_false(view_end_child(&other)); // it wants more
    free(bytes);
}

static void test_failures(void **state) {
    (void)state;
    const char *none[] = {"no-such-program-of-pairsieve", NULL}, *fails[] = {own_path, "fail", NULL};
    static uint8_t bytes[1 << 20];
    view_child child;
    errno = 0;
    assert_false(view_start_child(&child, none));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(child.process, 0);

    assert_true(view_start_child(&child, fails));
    bool taken = true;
    for (int i = 0; i < 100 && taken; ++i) // until it has ended, and the pipe is full at the latest
        taken = view_write_child(&child, bytes, sizeof bytes);
    assert_false(taken);
    assert_int_equal(errno, EPIPE);
    assert_false(view_end_child(&child));
    assert_true(view_start_child(&child, fails));
    assert_false(view_end_child(&child));
}

#if defined(_WIN32)
static void test_long_command(void **state) {
    (void)state;
    char *argument = malloc(40001);
    view_child child;
    assert_non_null(argument);
    memset(argument, 'a', 40000);
    argument[40000] = '\0';
    const char *arguments[] = {own_path, argument, NULL};
    assert_false(view_start_child(&child, arguments));
    assert_int_equal(errno, E2BIG);
    free(argument);
}
#endif

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_and_arguments_arrive),
        cmocka_unit_test(test_failures),
#if defined(_WIN32)
        cmocka_unit_test(test_long_command),
#endif
    };
    own_path = arguments[0];
    return count > 1 ? run_child(count, arguments) : cmocka_run_group_tests(tests, NULL, NULL);
}
