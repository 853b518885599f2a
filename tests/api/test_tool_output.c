// The command line: the JSON keys are pinned, the help names every option, and what commands report is right.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_process.h"

static json_int_t integer_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *text_of(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    assert_non_null(value);
    return value;
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void read_file(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, room - 1, file);
    text[size] = 0;
    assert_int_equal(fclose(file), 0);
}

// --- pairs ----------------------------------------------------------------------------------------------------------

// Two triangles with a common edge, apart from a third one.
static void write_mesh(const char *path) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fputs("v 0 0 0\nv 2 0 0\nv 0 2 0\nv 2 2 0\nv 9 9 9\nv 9 8 9\nv 8 9 9\nf 1 2 3\nf 2 4 3\nf 5 6 7\n", file);
    assert_int_equal(fclose(file), 0);
}

static void pairs_json(void **state) {
    (void)state;
    write_mesh("output_mesh.obj");
    json_t *object = tool_json("pairs output_mesh.obj --boxes faces --backend cpu --json");
    assert_non_null(object);
    assert_true(tool_has_keys(object, "schema machine boxes pairs backend method sort route veto phases"));
    assert_int_equal(integer_of(object, "boxes"), 3);
    assert_int_equal(integer_of(object, "pairs"), 1);
    assert_string_equal(text_of(object, "backend"), "cpu");
    assert_string_not_equal(text_of(object, "method"), "auto");
    assert_string_equal(text_of(object, "sort"), "radix");
    assert_true(json_is_object(json_object_get(object, "phases")));
    assert_true(json_object_size(json_object_get(object, "phases")) > 0);
    json_decref(object);
    object = tool_json("pairs output_mesh.obj --between vertices edges --backend cpu --json");
    assert_non_null(object);
    assert_int_equal(integer_of(object, "boxes"), 7 + 8);
    json_decref(object);
    (void)remove("output_mesh.obj");
}

static void pairs_csv(void **state) {
    (void)state;
    tool_result result;
    char text[4096];
    write_mesh("output_mesh.obj");
    tool_run(&result, "pairs output_mesh.obj --boxes faces --backend cpu --csv output_pairs.csv");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "3 boxes, 1 overlapping pairs"));
    read_file("output_pairs.csv", text, sizeof text);
    assert_string_equal(text, "a,b\n0,1\n");
    (void)remove("output_pairs.csv");
    (void)remove("output_mesh.obj");
}

// --- sort -----------------------------------------------------------------------------------------------------------

static void sort_json(void **state) {
    (void)state;
    static const char *const keys[] = {"u32", "i32", "f32", "u64",  "i64",  "f64",  "u8",     "i8",
                                       "u16", "i16", "f16", "bf16", "u128", "i128", "bytes16"};
    static const char *const distributions[] = {"uniform", "gaussian", "sorted",  "reversed",
                                                "nearly",  "few",      "constant"};
    for (int i = 0; i < 15; ++i) {
        char arguments[128];
        (void)snprintf(arguments, sizeof arguments, "sort --backend cpu --count 5K --json --keys %s --distribution %s",
                       keys[i], distributions[i % 7]);
        json_t *object = tool_json(arguments);
        assert_non_null(object);
        assert_true(tool_has_keys(
            object,
            "schema machine repeats count keys distribution method route veto backend sorted stable ms mpairs_per_s"));
        assert_true(tool_has_keys(json_object_get(object, "ms"), "median q1 q3 min"));
        assert_int_equal(integer_of(object, "count"), 5000);
        assert_string_equal(text_of(object, "keys"), keys[i]);
        assert_string_equal(text_of(object, "distribution"), distributions[i % 7]);
        assert_string_equal(text_of(object, "method"), "radix");
        assert_true(json_is_true(json_object_get(object, "sorted")));
        assert_true(json_is_true(json_object_get(object, "stable")));
        assert_true(number_of(object, "mpairs_per_s") > 0);
        json_decref(object);
    }
}

static void sort_of_a_file(void **state) {
    (void)state;
    FILE *file = fopen("output_keys.txt", "wb");
    assert_non_null(file);
    (void)fputs("-3\n7\n\n-3\n1000000000000\n", file);
    assert_int_equal(fclose(file), 0);
    json_t *object = tool_json("sort --backend cpu --keys i64 --input output_keys.txt --json --method qsort");
    assert_non_null(object);
    assert_int_equal(integer_of(object, "count"), 4);
    assert_string_equal(text_of(object, "distribution"), "file");
    assert_true(json_is_true(json_object_get(object, "sorted")));
    json_decref(object);
    (void)remove("output_keys.txt");
}

static void sort_of_nothing(void **state) {
    (void)state;
    json_t *object = tool_json("sort --backend cpu --count 0 --json");
    assert_non_null(object);
    assert_int_equal(integer_of(object, "count"), 0);
    json_decref(object);
}

// --- run ------------------------------------------------------------------------------------------------------------

static void run_json(void **state) {
    (void)state;
    json_t *object =
        tool_json("run drop --backend cpu --bodies 500 --frames 40 --seed 7 --check-every 15 --check-sampled "
                  "--json");
    assert_non_null(object);
    assert_true(tool_has_keys(
        object,
        "schema machine scene bodies frames backend pairs_on sort broad_phase seed pairs_last pairs_max frame_ms "
        "sort_ms sort_share route veto phases checked_frames check_failures sampled_check"));
    assert_string_equal(text_of(object, "route"), text_of(object, "broad_phase")); // on the CPU it has one way
    assert_string_equal(text_of(object, "veto"), "none");
    assert_string_equal(text_of(object, "pairs_on"), "cpu");
    assert_non_null(json_object_get(json_object_get(object, "phases"), "sort"));
    assert_true(tool_has_keys(json_object_get(object, "frame_ms"), "median q1 q3 p95"));
    assert_true(tool_has_keys(json_object_get(object, "sort_ms"), "median q1 q3 p95"));
    assert_string_equal(text_of(object, "scene"), "drop");
    assert_true(integer_of(object, "bodies") >= 500);
    assert_int_equal(integer_of(object, "frames"), 40);
    assert_int_equal(integer_of(object, "seed"), 7);
    assert_int_equal(integer_of(object, "checked_frames"), 3); // 15, 30 and the last
    assert_int_equal(integer_of(object, "check_failures"), 0);
    json_t *sampled = json_object_get(object, "sampled_check");
    assert_true(tool_has_keys(sampled, "frames boxes pairs missing extra share"));
    assert_true(integer_of(sampled, "frames") > 0 &&
                integer_of(sampled, "boxes") == 16 * integer_of(sampled, "frames"));
    assert_int_equal(integer_of(sampled, "missing") + integer_of(sampled, "extra"), 0);
    assert_true(integer_of(object, "pairs_max") >= integer_of(object, "pairs_last"));
    double median = number_of(json_object_get(object, "frame_ms"), "median"), shares = 0;
    assert_true(median > 0);
    assert_true(number_of(json_object_get(object, "frame_ms"), "p95") >= median);
    const char *name;
    json_t *phase;
    json_object_foreach(json_object_get(object, "phases"), name, phase) {
        assert_true(tool_has_keys(phase, "median_ms p95_ms share"));
        shares += number_of(phase, "share");
        if (strcmp(name, "sort") == 0)
            assert_true(fabs(number_of(phase, "share") - number_of(object, "sort_share")) < 1e-9);
    }
    assert_true(shares > 0 && shares <= 1.001);
    json_decref(object);
}

static void run_files(void **state) {
    (void)state;
    tool_result result;
    static char text[65536];
    tool_run(&result, "run drop --backend cpu --bodies 200 --frames 12 --csv output_run.csv --trace output_run.trace");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "median ms"));
    assert_non_null(strstr(result.out, "sorting costs"));
    assert_non_null(strstr(result.out, "frames per second"));
    assert_null(strchr(result.error, '#')); // no progress bar: stderr is no terminal
    read_file("output_run.csv", text, sizeof text);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; ++at)
        ++lines;
    assert_int_equal(lines, 13);
    assert_int_equal(strncmp(text, "frame,bodies,pairs,contacts,frame_ms,bounds_ms,keys_ms,sort_ms", 62), 0);
    json_t *trace = json_load_file("output_run.trace", 0, NULL);
    assert_non_null(trace);
    size_t frames = 0, i;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        frames += strcmp(text_of(event, "name"), "frame") == 0;
        if (strcmp(text_of(event, "ph"), "X") == 0) assert_true(number_of(event, "dur") >= 0);
    }
    assert_int_equal(frames, 12);
    json_decref(trace);
    (void)remove("output_run.csv");
    (void)remove("output_run.trace");
}

static void expect_same_files(const char *first, const char *second) {
    FILE *a = fopen(first, "rb"), *b = fopen(second, "rb");
    assert_non_null(a);
    assert_non_null(b);
    long bytes = 0;
    for (int x = 0, y = 0; x != EOF; ++bytes) {
        x = fgetc(a);
        y = fgetc(b);
        if (x != y) fail_msg("%s and %s differ at byte %ld", first, second, bytes);
    }
    assert_true(bytes > 1000);
    assert_int_equal(fclose(a), 0);
    assert_int_equal(fclose(b), 0);
}

// The CPU steps the bodies, OpenGL finds their pairs: they go where they would go without it.
static void run_with_pairs_on_gl(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result, "run drop --backend gl --bodies 700 --frames 12 --seed 3 --check --save output_gl");
    const bool in_build = strstr(result.error, "'gl' is not in this build") == NULL;
    if (result.code == 2 && (!in_build || strstr(result.error, "--backend gl") != NULL)) skip(); // or no OpenGL 4.5
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "pairs on gl ("));
    assert_non_null(strstr(result.out, "checked against brute force: 2 frames, 0 failures"));
    tool_run(&result, "run drop --backend cpu --bodies 700 --frames 12 --seed 3 --save output_cpu");
    assert_int_equal(result.code, 0);
    expect_same_files("output_gl", "output_cpu");
    json_t *object = tool_json("run --restore output_gl --backend gl --frames 2 --json");
    assert_string_equal(text_of(object, "backend"), "cpu");
    assert_string_equal(text_of(object, "pairs_on"), "gl");
    json_decref(object);
    tool_run(&result, "run drop --backend gl --broad-phase sweep --frames 1");
    assert_int_equal(result.code, 2);
    assert_non_null(strstr(result.error, "is not a method of the gl backend"));
    (void)remove("output_gl");
    (void)remove("output_cpu");
}

// The same seed twice, on different numbers of threads, gives the same bytes; another seed does not.
static void same_seed_same_bytes(void **state) {
    (void)state;
    static const char *const runs[] = {"--seed 5 --workers 1 --save output_a", "--seed 5 --workers 2 --save output_b",
                                       "--seed 6 --save output_c"};
    tool_result result;
    for (int i = 0; i < 3; ++i) {
        char arguments[160];
        (void)snprintf(arguments, sizeof arguments, "run drop --backend cpu --bodies 400 --frames 60 %s", runs[i]);
        tool_run(&result, arguments);
        assert_int_equal(result.code, 0);
    }
    expect_same_files("output_a", "output_b");
    assert_int_not_equal(system("cmp -s output_a output_c"), 0);
    tool_run(&result, "run --restore output_a --backend cpu --frames 20 --save output_c");
    assert_int_equal(result.code, 0);
    tool_run(&result, "run --restore output_b --backend cpu --frames 20 --save output_a --workers 1");
    assert_int_equal(result.code, 0);
    expect_same_files("output_a", "output_c");
    (void)remove("output_a");
    (void)remove("output_b");
    (void)remove("output_c");
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

// A scene without bodies, and one whose bodies come later than the run ends.
static void run_of_nothing(void **state) {
    (void)state;
    static const char *const generators[] = {"", "{\"type\": \"emitter\", \"shapes\": [\"b\"], \"rate\": 1}"};
    for (int i = 0; i < 2; ++i) {
        char text[256];
        (void)snprintf(text, sizeof text, "{\"shapes\": {\"b\": {\"type\": \"box\"}}, \"generators\": [%s]}",
                       generators[i]);
        write_text("output_scene.json", text);
        json_t *object = tool_json("run output_scene.json --backend cpu --frames 3 --check --json");
        assert_non_null(object);
        assert_int_equal(integer_of(object, "bodies"), 0);
        assert_int_equal(integer_of(object, "pairs_max"), 0);
        assert_int_equal(integer_of(object, "checked_frames"), 0);
        json_decref(object);
    }
    (void)remove("output_scene.json");
}

// Names of any bytes: a scene's is cut between characters, a file's may be no UTF-8.
static void names_in_json(void **state) {
    (void)state;
    char name[200] = "x", text[400];
    for (int i = 0; i < 60; ++i)
        (void)strcat(name, "\xc3\xa9"); // e acute
    (void)snprintf(text, sizeof text,
                   "{\"name\": \"%s\", \"bodies\": 3, \"shapes\": {\"b\": {\"type\": \"box\"}},"
                   " \"generators\": [{\"type\": \"fill\", \"shapes\": [\"b\"]}]}",
                   name);
    write_text("output_scene.json", text);
    json_t *object =
        tool_json("run output_scene.json --backend cpu --frames 1 --save \"$(printf 'output_\\351.snap')\" --json");
    assert_non_null(object);
    const char *given = json_string_value(json_object_get(object, "scene"));
    assert_true(strlen(given) > 20 && strlen(given) % 2 == 1 && strncmp(given, name, strlen(given)) == 0);
    json_decref(object);
    object = tool_json("run --restore \"$(printf 'output_\\351.snap')\" --backend cpu --frames 1 --json");
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "scene")), "output_?.snap");
    json_decref(object);
    (void)remove("output_\351.snap");
    (void)remove("output_scene.json");
}

static void run_by_simulated_time(void **state) {
    (void)state;
    json_t *object = tool_json("run drop --backend cpu --bodies 50 --seconds 0.5 --json");
    assert_non_null(object);
    assert_int_equal(integer_of(object, "frames"), 30); // of 1/60 s
    json_decref(object);
}

// --- bench ----------------------------------------------------------------------------------------------------------

static json_t *bench_row(const char *arguments, const char *name, json_t **object) {
    *object = tool_json(arguments);
    assert_non_null(*object);
    assert_true(tool_has_keys(*object, "schema machine benchmark rows"));
    assert_string_equal(json_string_value(json_object_get(*object, "benchmark")), name);
    json_t *rows = json_object_get(*object, "rows");
    assert_int_equal(json_array_size(rows), 1);
    return json_array_get(rows, 0);
}

static void bench_json(void **state) {
    (void)state;
    if (!PAIRSIEVE_BENCH) skip();
    json_t *object, *row = bench_row("bench sort --json --backend cpu --count 1K --distribution uniform --method merge"
                                     " --budget 1 --no-yardstick",
                                     "sort", &object);
    assert_int_equal(integer_of(row, "count"), 1000);
    assert_string_equal(json_string_value(json_object_get(row, "ran")), "merge");
    assert_true(json_real_value(json_object_get(row, "median_ms")) > 0);
    assert_true(json_number_value(json_object_get(row, "scatter")) >= 0);
    assert_non_null(json_object_get(row, "scatter"));
    json_decref(object);
    row = bench_row("bench collision --json --backend cpu --scenes cube --counts 500 --methods brute --budget 0.01",
                    "collision", &object);
    assert_int_equal(integer_of(row, "boxes"), 500);
    assert_non_null(json_object_get(row, "scatter"));
    assert_true(integer_of(row, "pairs") > 0);
    json_decref(object);
    row = bench_row("bench sim --backend cpu --json --frames 2 drop 20", "sim", &object);
    assert_int_equal(integer_of(row, "bodies"), 20);
    assert_int_equal(integer_of(row, "frames"), 2);
    assert_non_null(json_object_get(row, "scatter"));
    assert_string_equal(json_string_value(json_object_get(row, "backend")), "cpu");
    json_decref(object);
    tool_result result;
    tool_run(&result, "bench sim --json drop");
    assert_int_equal(result.code, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.error, "the number of bodies is missing after 'drop'"));
    tool_run(&result, "bench collision --counts 1X");
    assert_int_equal(result.code, 2);
    assert_string_equal(result.error,
                        "bench_collision: --counts 1X: a whole number from 1 to 2147483648 is accepted\n");
    tool_run(&result, "bench collision --backend cpu --methods magic");
    assert_int_equal(result.code, 2);
    assert_non_null(strstr(result.error, "unknown method 'magic' of cpu"));
    tool_run(&result, "bench sort --budget soon");
    assert_int_equal(result.code, 2);
    assert_non_null(strstr(result.error, "--budget soon: a number of more than 0"));
}

// How many files and folders a folder holds.
static int count_entries(const char *path) {
    DIR *folder = opendir(path);
    int count = -2; // . and ..
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        ++count;
    (void)closedir(folder);
    return count;
}

// A signal to the program alone: the benchmark that it runs ends with it, and its file is gone.
static void bench_interrupted(void **state) {
    (void)state;
    if (!PAIRSIEVE_BENCH) skip();
    char folder[] = "/tmp/test_tool_output_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const pid_t program = fork();
    if (program == 0) {
        (void)setpgid(0, 0);
        (void)setenv("TMPDIR", folder, 1);
        (void)freopen("/dev/null", "w", stdout);
        (void)freopen("/dev/null", "w", stderr);
        (void)execl(PAIRSIEVE_TOOL, "pairsieve", "bench", "sim", "--json", "--backend", "cpu", "--frames", "1000000",
                    "drop", "2000", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 3000 && count_entries(folder) == 0; ++i)
        (void)usleep(10000);
    (void)usleep(300000); // until the benchmark is at work
    int status = 0;
    assert_int_equal(kill(program, SIGINT), 0);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    int left = kill(-program, 0); // its process group
    if (left == 0) (void)kill(-program, SIGKILL);
    assert_int_not_equal(left, 0);
    assert_int_equal(count_entries(folder), 0);
    assert_int_equal(rmdir(folder), 0);
}

// --- explanations ---------------------------------------------------------------------------------------------------

static void run_explains(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result, "run drop --backend cpu --bodies 2000 --frames 3 --explain");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "\nboxes: 2000 took part"));
    assert_non_null(strstr(result.out, "\nmethod: rows, by auto"));
    json_t *object = tool_json("run drop --backend cpu --bodies 20 --frames 3 --broad-phase sap3 --explain --json");
    assert_non_null(object);
    assert_non_null(strstr(text_of(object, "explanation"), "method: sap3, as def.method says\n"));
    json_decref(object);
}

static void info_memory(void **state) {
    (void)state;
    json_t *few = tool_json("info --memory --boxes 10K --json"), *many = tool_json("info --memory --boxes 1M --json");
    assert_non_null(few);
    assert_non_null(many);
    assert_int_equal(integer_of(many, "boxes"), 1000000);
    json_t *cpu = json_object_get(many, "cpu");
    assert_int_equal(integer_of(cpu, "finder_pairs"), 1000000 * 64);
    assert_true(integer_of(cpu, "finder") > integer_of(cpu, "finder_pairs") + integer_of(cpu, "finder_methods"));
    assert_true(integer_of(cpu, "tree") > 50 * integer_of(json_object_get(few, "cpu"), "tree"));
    json_decref(few);
    json_decref(many);
    tool_result result;
    tool_run(&result, "info --memory --boxes 10K --broad-phase sap3");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "finder: pairs, 8 a box"));
    tool_run(&result, "info --memory --broad-phase octree");
    assert_int_equal(result.code, 2);
    tool_run(&result, "info --boxes 10");
    assert_int_equal(result.code, 2);
}

// --- help, list, info -----------------------------------------------------------------------------------------------

static void help(void **state) {
    (void)state;
    static const struct {
        const char *command, *options;
    } commands[] = {
        {"run", "--bodies --frames --seconds --backend --workers --sort --broad-phase --seed --check --check-every "
                "--check-sampled --csv --trace --save --restore --json --help"},
        {"pairs",
         "--boxes --between --backend --workers --broad-phase --sort --max-pairs --repeat --csv --json --help"},
        {"sort", "--keys --count --distribution --method --backend --workers --input --seed --repeat --json --help"},
        {"trace",
         "--size --frames --samples --bodies --quality --sort --plain --out --backend --workers --json --help"},
        {"list", "--json --help"},
        {"info", "--json --help"},
        {"bench", "--json"},
    };
    tool_result result;
    tool_run(&result, "--help");
    assert_int_equal(result.code, 0);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; ++c) {
        char word[64], options[512];
        (void)snprintf(word, sizeof word, "  %s ", commands[c].command);
        assert_non_null(strstr(result.out, word));
        tool_result own;
        (void)snprintf(word, sizeof word, "%s --help", commands[c].command);
        tool_run(&own, word);
        assert_int_equal(own.code, 0);
        (void)snprintf(options, sizeof options, "%s", commands[c].options);
        for (char *rest = options, *option = strtok_r(rest, " ", &rest); option != NULL;
             option = strtok_r(NULL, " ", &rest))
            if (strstr(own.out, option) == NULL) fail_msg("'%s' does not name %s", word, option);
    }
}

static void list_and_info(void **state) {
    (void)state;
    json_t *list = tool_json("list --json"), *info = tool_json("info --json");
    assert_non_null(list);
    assert_non_null(info);
    assert_true(tool_has_keys(list, "scenes sort broad_phase"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(list, "scenes"), 0)), "drop");
    assert_true(json_array_size(json_object_get(json_object_get(list, "sort"), "cpu")) >= 2);
    assert_true(json_array_size(json_object_get(json_object_get(list, "broad_phase"), "cpu")) >= 2);
    assert_true(tool_has_keys(info, "version backends build sort broad_phase"));
    json_t *cuda = json_object_get(json_object_get(info, "backends"), "cuda");
    if (json_is_true(json_object_get(cuda, "available")))
        assert_true(tool_has_keys(cuda, "capability code_capability multiprocessors shared_bytes_per_block l2_bytes"));
    json_t *cpu = json_object_get(json_object_get(info, "backends"), "cpu");
    assert_true(json_is_true(json_object_get(cpu, "available")));
    assert_true(integer_of(cpu, "workers") >= 1);
    assert_true(integer_of(cpu, "total_bytes") > 0);
    json_decref(list);
    json_decref(info);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_json),
        cmocka_unit_test(pairs_csv),
        cmocka_unit_test(sort_json),
        cmocka_unit_test(sort_of_a_file),
        cmocka_unit_test(sort_of_nothing),
        cmocka_unit_test(run_json),
        cmocka_unit_test(run_with_pairs_on_gl),
        cmocka_unit_test(run_files),
        cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(run_of_nothing),
        cmocka_unit_test(names_in_json),
        cmocka_unit_test(run_by_simulated_time),
        cmocka_unit_test(bench_json),
        cmocka_unit_test(bench_interrupted),
        cmocka_unit_test(run_explains),
        cmocka_unit_test(info_memory),
        cmocka_unit_test(help),
        cmocka_unit_test(list_and_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
