// The files that the command line writes: "-" is standard output, what was there stays until the new file is whole, and
// an interrupted run gives its table and its files.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../test_scale.h"
#include "pairsieve/sim.h"
#include "tool_process.h"

#define RUN "run drop --backend cpu --bodies 200 --frames 4"

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static size_t read_text(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s is not there", path);
    size_t size = fread(text, 1, room - 1, file);
    text[size] = 0;
    (void)fclose(file);
    return size;
}

static void expect_text(const char *path, const char *text) {
    char found[256];
    (void)read_text(path, found, sizeof found);
    assert_string_equal(found, text);
}

static uint64_t count_lines(const char *text) {
    uint64_t lines = 0;
    for (const char *c = text; *c != 0; ++c)
        lines += *c == '\n';
    return lines;
}

// No new file that was begun is left behind.
static void expect_no_parts(void) {
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, ".part") != NULL) fail_msg("%s was left behind", entry->d_name);
    (void)closedir(folder);
}

static void standard_output(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result, RUN " --csv -");
    assert_int_equal(result.code, 0);
    assert_int_equal(strncmp(result.out, "frame,bodies,pairs,", 19), 0);
    assert_int_equal(count_lines(result.out), 5); // the lines of the file and nothing else
    assert_non_null(strstr(result.error, "frames per second"));
    assert_int_not_equal(access("-", F_OK), 0);
    tool_run(&result, RUN " --trace -");
    json_t *trace = json_loads(result.out, 0, NULL);
    assert_non_null(trace);
    json_decref(trace);
    write_text("files_mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    tool_run(&result, "pairs files_mesh.obj --backend cpu --csv -");
    assert_int_equal(result.code, 0);
    assert_int_equal(strncmp(result.out, "a,b\n0,", 6), 0);
    assert_null(strstr(result.out, "overlapping"));
    assert_non_null(strstr(result.error, "overlapping pairs"));
    (void)remove("files_mesh.obj");
}

static void byte_order_marks(void **state) {
    (void)state;
    write_text("files_mark.obj", "\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    write_text("files_mark.txt", "\xef\xbb\xbf"
                                 "7\n5\n");
    write_text("files_mark.json",
               "\xef\xbb\xbf{\"name\": \"marked\", \"shapes\": {\"ball\": {\"type\": \"sphere\", \"radius\": 1}}, "
               "\"generators\": [{\"type\": \"fill\", \"shapes\": [\"ball\"]}]}\n");
    json_t *object = tool_json("pairs files_mark.obj --backend cpu --json");
    assert_non_null(object);
    assert_int_equal(json_integer_value(json_object_get(object, "boxes")), 7);
    json_decref(object);
    object = tool_json("sort --input files_mark.txt --backend cpu --json");
    assert_non_null(object);
    assert_int_equal(json_integer_value(json_object_get(object, "count")), 2);
    json_decref(object);
    object = tool_json("run files_mark.json --backend cpu --frames 1 --json");
    assert_non_null(object);
    json_decref(object);
    (void)remove("files_mark.obj");
    (void)remove("files_mark.txt");
    (void)remove("files_mark.json");
}

// A file that may not grow over one block: as on a full disk, every write behind it fails. ThreadSanitizer's own memory
// is such a file.
static void full_disks(void **state) {
    (void)state;
    if (TEST_UNDER_TSAN) skip();
    static const char *const options[] = {"--csv", "--trace", "--save"};
    for (int i = 0; i < 3; ++i) {
        char command[1024];
        write_text("files_old", "what was there\n");
        (void)snprintf(command, sizeof command,
                       "trap '' XFSZ; ulimit -f 1; exec '%s' run drop --backend cpu --bodies 200 --frames 100 "
                       "%s files_old >/dev/null 2>&1 </dev/null",
                       PAIRSIEVE_TOOL, options[i]);
        const int status = system(command); // NOLINT(cert-env33-c): a test
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
        expect_text("files_old", "what was there\n");
        expect_no_parts();
    }
    (void)remove("files_old");
}

// A link stays one, and the file behind it keeps its rights.
static void links_and_rights(void **state) {
    (void)state;
    tool_result result;
    struct stat about;
    write_text("files_behind", "old\n");
    assert_int_equal(chmod("files_behind", 0640), 0);
    (void)remove("files_link");
    assert_int_equal(symlink("files_behind", "files_link"), 0);
    tool_run(&result, RUN " --csv files_link");
    assert_int_equal(result.code, 0);
    assert_true(lstat("files_link", &about) == 0 && S_ISLNK(about.st_mode));
    assert_true(stat("files_behind", &about) == 0 && (about.st_mode & 07777) == 0640 && about.st_size > 100);
    (void)remove("files_link");
    (void)remove("files_behind");
    // Pipes are written as they are.
    char text[4096];
    assert_int_equal(system("'" PAIRSIEVE_TOOL "' " RUN " --csv /dev/stdout 2>&1 </dev/null | cat >files_piped"), 0);
    (void)read_text("files_piped", text, sizeof text);
    assert_int_equal(strncmp(text, "frame,", 6), 0);
    (void)remove("files_piped");
    expect_no_parts();
}

static void wait_until_caught(pid_t child, int number) {
    char path[64], text[8192];
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    for (int turn = 0; turn < 6000; ++turn) {
        (void)read_text(path, text, sizeof text);
        const char *caught = strstr(text, "SigCgt:");
        if (caught != NULL && (strtoull(caught + 7, NULL, 16) >> (number - 1) & 1) != 0) return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("the program does not wait for signal %d", number);
}

static void interruption(void **state) {
    (void)state;
    static const int numbers[2] = {SIGINT, SIGTERM};
    if (PAIRSIEVE_EMULATED) skip(); // an emulator catches all signals, so nobody sees from when on the program does
    for (int i = 0; i < 2; ++i) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const int out = open("files_out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
            (void)signal(numbers[i], SIG_DFL);
            (void)dup2(out, STDOUT_FILENO);
            (void)dup2(out, STDERR_FILENO);
            (void)execl(PAIRSIEVE_TOOL, "pairsieve", "run", "drop", "--backend", "cpu", "--bodies", "200", "--frames",
                        "100000000", "--csv", "files.csv", "--save", "files.snapshot", (char *)NULL);
            _exit(99);
        }
        int status = 0;
        wait_until_caught(child, numbers[i]);
        assert_int_equal(kill(child, numbers[i]), 0);
        assert_true(waitpid(child, &status, 0) == child);
        static char text[1 << 16];
        (void)read_text("files_out", text, sizeof text);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 128 + numbers[i]) fail_msg("status %d: %s", status, text);
        const char *said = strstr(text, "interrupted after ");
        assert_non_null(said);
        const uint64_t frames = strtoull(said + 18, NULL, 10);
        assert_true(frames > 0 && strstr(text, "frames per second") != NULL && strstr(text, "(interrupted)") != NULL);
        if (read_text("files.csv", text, sizeof text) + 1 < sizeof text)
            assert_int_equal(count_lines(text), frames + 1);
        char arguments[64];
        (void)snprintf(arguments, sizeof arguments, "run --restore files.snapshot --frames 1 --json --backend cpu");
        json_t *object = tool_json(arguments);
        assert_non_null(object);
        json_decref(object);
        (void)remove("files.csv");
        (void)remove("files.snapshot");
        (void)remove("files_out");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_output),  cmocka_unit_test(byte_order_marks), cmocka_unit_test(full_disks),
        cmocka_unit_test(links_and_rights), cmocka_unit_test(interruption),
    };
    return cmocka_run_group_tests_name("tool files", tests, NULL, NULL);
}
