// The command line: every wrong input is refused with a sentence and exit code 2.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pairsieve/core.h"
#include "tool_process.h"

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

#define SQUARE                                                                                                         \
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"                  \
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n"

static int write_meshes(void **state) {
    (void)state;
    write_file("refusals_square.ply", SQUARE "0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n");
    write_file("refusals_triangle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    write_file("refusals_nan.ply", SQUARE "0 0 0\n1 0 0\n1 nan 0\n0 1 0\n4 0 1 2 3\n");
    write_file("refusals_cut.ply", SQUARE "0 0 0\n1 0 0\n1 1 0\n");
    write_file("refusals_keys.txt", "1\n2\nthree\n");
    write_file("refusals_keys.bin", "12345");
    return 0;
}

static int remove_meshes(void **state) {
    (void)state;
    static const char *const names[] = {"refusals_square.ply", "refusals_triangle.obj", "refusals_nan.ply",
                                        "refusals_cut.ply",    "refusals_keys.txt",     "refusals_keys.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        (void)remove(names[i]);
    return 0;
}

static void usage(void **state) {
    (void)state;
    assert_true(tool_refuses(
        "fly", 2, "unknown command 'fly'; accepted: run, replay, pairs, sort, trace, bench, report, info, list"));
    assert_true(tool_refuses("run --fast", 2, "unknown option '--fast' of 'run'"));
    assert_true(tool_refuses("run --frames", 2, "--frames needs N"));
    assert_true(tool_refuses("run drop galaxy", 2, "'galaxy' is one argument too many"));
    assert_true(tool_refuses("pairs --between vertices", 2, "--between needs KIND KIND"));
    assert_true(tool_refuses("pairs", 2, "pairs needs a mesh file"));
    assert_true(tool_refuses("sort --json=yes", 2, "--json takes no '=' form"));
    assert_true(tool_refuses("run --frames 3 --seconds 1", 2, "--frames and --seconds exclude each other"));
    assert_true(tool_refuses("bench", 2, "accepted: sort, collision, sim"));
    assert_true(tool_refuses("bench sort --json --csv a", 2, "--json and --csv exclude each other"));
    assert_true(tool_refuses("bench all", 2, "accepted: sort, collision, sim"));
    assert_true(tool_refuses("list all", 2, "'all' is one argument too many"));
}

static void counts(void **state) {
    (void)state;
    assert_true(tool_refuses("run --bodies -5", 2, "--bodies -5: a whole number from 1 to 4294967295"));
    assert_true(tool_refuses("run --bodies 0", 2, "--bodies 0: a whole number from 1"));
    assert_true(tool_refuses("run --bodies 5000000000", 2, "--bodies 5000000000: a whole number from 1 to 4294967295"));
    assert_true(tool_refuses("run --bodies 99999999999999999999", 2, "--bodies 99999999999999999999: a whole number"));
    assert_true(tool_refuses("run --frames 1.5", 2, "--frames 1.5: a whole number"));
    assert_true(tool_refuses("run --frames many", 2, "--frames many: a whole number"));
    assert_true(tool_refuses("run --frames=", 2, "--frames : a whole number"));
    assert_true(tool_refuses("run --seconds -1", 2, "--seconds -1: a number greater than 0"));
    assert_true(tool_refuses("run --seconds nan", 2, "--seconds nan: a number greater than 0"));
    assert_true(tool_refuses("sort --count -1", 2, "--count -1: a whole number from 0"));
    assert_true(tool_refuses("sort --repeat 0", 2, "--repeat 0: a whole number from 1"));
    assert_true(tool_refuses("pairs refusals_square.ply --max-pairs -1", 2, "--max-pairs -1: a whole number from 1"));
}

static void names(void **state) {
    (void)state;
    assert_true(tool_refuses("run --backend tpu", 2, "--backend tpu is not known; accepted: auto, cpu, cuda"));
    assert_true(tool_refuses("sort --method bogo --backend cpu", 2, "--method bogo"));
    assert_true(tool_refuses("sort --method bogo --backend cpu", 2, "radix")); // names those there are
    assert_true(tool_refuses("pairs refusals_square.ply --backend cpu --broad-phase magic", 2, "--broad-phase magic"));
    assert_true(tool_refuses("pairs refusals_square.ply --backend cpu --broad-phase magic", 2, "sweep"));
    assert_true(tool_refuses("pairs refusals_square.ply --backend cpu --sort bogo", 2, "--sort bogo"));
    assert_true(tool_refuses("run drop --backend cpu --bodies 10 --sort bogo", 2, "--sort bogo"));
    assert_true(tool_refuses("run drop --backend cpu --bodies 10 --broad-phase magic", 2, "--broad-phase magic"));
    assert_true(
        tool_refuses("sort --keys u12", 2, "--keys u12 is not known; accepted: u32, i32, f32, u64, i64, f64, u8"));
    assert_true(tool_refuses("sort --distribution odd --backend cpu", 2, "accepted: uniform, gaussian, sorted"));
    assert_true(tool_refuses("pairs refusals_square.ply --boxes corners", 2,
                             "--boxes corners is not known; accepted: vertices, edges, faces, all"));
    assert_true(tool_refuses("pairs refusals_square.ply --boxes all --between faces faces", 2, "exclude each other"));
}

static void meshes(void **state) {
    (void)state;
    assert_true(tool_refuses("pairs no_such.ply", 2, "no_such.ply: No such file"));
    assert_true(tool_refuses("pairs .", 2, "."));
    assert_true(tool_refuses("pairs refusals_cut.ply", 2, "refusals_cut.ply: "));
    assert_true(tool_refuses("pairs refusals_cut.ply", 2, "the file"));
    assert_true(tool_refuses("pairs refusals_keys.txt", 2, "not a mesh file: PLY, OBJ and STL are accepted"));
    assert_true(tool_refuses("pairs refusals_square.ply refusals_triangle.obj", 2, "are not two frames of one mesh"));
    assert_true(tool_refuses("pairs refusals_square.ply refusals_nan.ply --backend cpu --boxes vertices", 2,
                             "1 of 4 boxes are bad (NaN), the first is box 2"));
    assert_true(tool_refuses("pairs refusals_nan.ply --backend cpu", 2, "boxes are bad (NaN), the first is box 2"));
}

static void capacity(void **state) {
    (void)state;
    // 4 vertices, 5 edges, 2 faces of one square: every box meets most others.
    assert_true(tool_refuses("pairs refusals_square.ply --backend cpu --max-pairs 3", 2, "--max-pairs 3: "));
    json_t *object = tool_json("pairs refusals_square.ply --backend cpu --json");
    assert_non_null(object);
    char enough[96], too_few[96], needed[32];
    json_int_t pairs = json_integer_value(json_object_get(object, "pairs"));
    json_decref(object);
    (void)snprintf(needed, sizeof needed, "%lld", (long long)pairs);
    (void)snprintf(too_few, sizeof too_few, "pairs refusals_square.ply --backend cpu --max-pairs %lld",
                   (long long)pairs - 1);
    (void)snprintf(enough, sizeof enough, "pairs refusals_square.ply --backend cpu --json --max-pairs %lld",
                   (long long)pairs);
    assert_true(tool_refuses(too_few, 2, needed)); // the sentence gives the room that is needed
    object = tool_json(enough);
    assert_non_null(object);
    assert_int_equal(json_integer_value(json_object_get(object, "pairs")), pairs);
    json_decref(object);
}

static void memory(void **state) {
    (void)state;
    // More than an address space holds, so that it is refused on every machine.
    assert_true(tool_refuses("sort --backend cpu --count 200000000000000", 2, "no memory for 200000000000000 keys"));
}

static void cuda_where_there_is_none(void **state) {
    (void)state;
    if (psv_backend_available(PSV_BACKEND_CUDA)) {
        (void)printf("skipped: this machine has a usable GPU\n");
        return;
    }
    assert_true(tool_refuses("sort --backend cuda", 2, "cuda"));
    assert_true(tool_refuses("run drop --backend cuda", 2, "cuda"));
    assert_true(tool_refuses("pairs refusals_square.ply --backend cuda", 2, "cuda"));
}

static void scenes(void **state) {
    (void)state;
    assert_true(tool_refuses("run no_such_scene --backend cpu", 2, "no_such_scene"));
    assert_true(tool_refuses("run no_such_scene.json --backend cpu", 2, "no_such_scene.json"));
    write_file("refusals_bad.json", "{\n  \"name\": \"bad\",\n  \"gravity\": [0, -9.81,\n}\n");
    assert_true(tool_refuses("run refusals_bad.json --backend cpu", 2, "refusals_bad.json:4:1: "));
    write_file("refusals_bad.json", "{\n  \"name\": \"bad\",\n  \"gravitation\": 1\n}\n");
    assert_true(tool_refuses("run refusals_bad.json --backend cpu", 2, "gravitation"));
    assert_true(tool_refuses("run refusals_bad.json --backend cpu", 2, "refusals_bad.json:3:"));
    write_file("refusals_bad.json", "");
    assert_true(tool_refuses("run refusals_bad.json --backend cpu", 2, "refusals_bad.json"));
    (void)remove("refusals_bad.json");
}

static void snapshots(void **state) {
    (void)state;
    assert_true(tool_refuses("run --restore no_such_snapshot --backend cpu", 2, "no_such_snapshot"));
    assert_true(tool_refuses("run --restore . --backend cpu", 2, ".: Is a directory"));
    assert_true(tool_refuses("run ./ --backend cpu", 2, "./: Is a directory"));
    assert_true(tool_refuses("run --restore refusals_square.ply --backend cpu", 2, "refusals_square.ply"));
    assert_true(
        tool_refuses("run drop --restore refusals_square.ply", 2, "--restore takes its world from the snapshot"));
}

static void outputs(void **state) {
    (void)state;
    assert_true(
        tool_refuses("run drop --backend cpu --bodies 10 --csv no_such_folder/a.csv", 2, "no_such_folder/a.csv: "));
    assert_true(tool_refuses("run drop --backend cpu --bodies 10 --trace no_such_folder/a", 2, "no_such_folder/a: "));
    assert_true(tool_refuses("run drop --backend cpu --bodies 10 --save no_such_folder/a", 2, "no_such_folder/a: "));
    assert_true(
        tool_refuses("pairs refusals_square.ply --backend cpu --csv no_such_folder/a", 2, "no_such_folder/a: "));
    assert_true(tool_refuses("pairs no_such.ply --csv no_such_folder/a", 2, "no_such_folder/a: ")); // before the work
    assert_true(tool_refuses("run drop --backend cpu --save -", 2, "--save -: standard output takes no snapshot"));
    assert_true(tool_refuses("run drop --backend cpu --csv ''", 2, "--csv needs a file's name"));
    assert_true(tool_refuses("run drop --backend cpu --csv - --json", 2, "--json prints to standard output"));
    assert_true(tool_refuses("pairs refusals_square.ply --csv - --json", 2, "--json prints to standard output"));
    assert_true(tool_refuses("run drop --backend cpu --csv - --trace -", 2, "both go to standard output"));
}

// One file cannot be two, nor be read and written; what is there stays.
static void one_file_twice(void **state) {
    (void)state;
    assert_true(tool_refuses("run drop --backend cpu --csv refusals_a --trace ./refusals_a", 2, "--csv and --trace"));
    assert_true(
        tool_refuses("run drop --backend cpu --csv refusals_a --save \"$PWD/refusals_a\"", 2, "--csv and --save"));
    assert_int_not_equal(access("refusals_a", F_OK), 0);
    assert_true(tool_refuses("pairs refusals_triangle.obj --csv ./refusals_triangle.obj", 2, "the mesh that is read"));
    write_file("refusals_scene.json", "{\"name\": \"s\"}");
    assert_true(tool_refuses("run refusals_scene.json --trace refusals_scene.json", 2, "the scene that is read"));
    assert_int_equal(link("refusals_scene.json", "refusals_link.json"), 0);
    assert_true(tool_refuses("run refusals_scene.json --csv refusals_link.json", 2, "the scene that is read"));
    assert_true(
        tool_refuses("run --restore refusals_scene.json --csv refusals_scene.json", 2, "the snapshot that is read"));
    char text[64] = "";
    FILE *file = fopen("refusals_scene.json", "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 13);
    (void)fclose(file);
    (void)remove("refusals_scene.json");
    (void)remove("refusals_link.json");
}

// The files could be opened, so it is the run that failed.
static void full_devices(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    assert_true(tool_refuses("run --backend cpu --bodies 10 --frames 1 --csv /dev/full", 1, "could not be written"));
    assert_true(tool_refuses("run --backend cpu --bodies 10 --frames 1 --trace /dev/full", 1, "could not be written"));
    assert_true(tool_refuses("run --backend cpu --bodies 10 --frames 1 --save /dev/full", 1, "could not be written"));
    // More than a buffer of the C library holds, so that a write fails before the file is closed.
    assert_true(
        tool_refuses("run --backend cpu --bodies 300 --frames 1 --save /dev/full", 1, "No space left on device"));
    static const char *const prints[] = {"--help", "--version",   "run --help",
                                         "list",   "info --json", "run --backend cpu --bodies 10 --frames 1 --csv -"};
    for (size_t i = 0; i < sizeof prints / sizeof *prints; ++i) {
        char command[512], said[256] = "";
        (void)snprintf(command, sizeof command, "'%s' %s >/dev/full 2>refusals_said </dev/null", PAIRSIEVE_TOOL,
                       prints[i]);
        const int status = system(command); // NOLINT(cert-env33-c): a test
        FILE *file = fopen("refusals_said", "rb");
        assert_non_null(file);
        (void)fread(said, 1, sizeof said - 1, file);
        (void)fclose(file);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || strstr(said, "could not write the output") == NULL)
            fail_msg("%s: status %d, %s", prints[i], status, said);
    }
    (void)remove("refusals_said");
}

static void key_files(void **state) {
    (void)state;
    assert_true(tool_refuses("sort --input refusals_keys.bin --count 5", 2, "--input takes its keys from the file"));
    assert_true(tool_refuses("sort --input refusals_keys.bin --seed 5", 2, "--input takes its keys from the file"));
    assert_true(tool_refuses("sort --backend cpu --input no_such.txt", 2, "no_such.txt: No such file"));
    char line[256];
    (void)snprintf(line, sizeof line, "1\n0.%0*d1\n", 200, 0);
    write_file("refusals_long.txt", line);
    assert_true(tool_refuses("sort --backend cpu --keys f64 --input refusals_long.txt", 2, "line 2 is longer"));
    (void)remove("refusals_long.txt");
    if (access("/dev/zero", R_OK) == 0) // raw keys of a file whose name does not say so; this one has no end
        assert_true(tool_refuses("sort --backend cpu --input /dev/zero", 2, "line 1 has a zero byte"));
    if (access("/dev/zero", R_OK) == 0) {
        assert_int_equal(symlink("/dev/zero", "refusals_endless.bin"), 0);
        assert_true(tool_refuses("sort --backend cpu --input refusals_endless.bin", 2, "more than 1073741824 bytes"));
        assert_int_equal(remove("refusals_endless.bin"), 0);
        assert_true(tool_refuses("run --backend cpu --restore /dev/zero", 2, "more than 1073741824 bytes"));
        assert_true(tool_refuses("run --backend cpu /dev/zero", 2, "more than 67108864 bytes"));
        assert_true(tool_refuses("pairs --backend cpu /dev/zero", 2, "more than 1073741824 bytes"));
    }
    assert_true(tool_refuses("sort --backend cpu --input refusals_keys.txt", 2, "line 3: 'three' is no u32 key"));
    assert_true(
        tool_refuses("sort --backend cpu --input refusals_keys.bin", 2, "5 bytes are not a whole number of u32"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage),          cmocka_unit_test(counts),    cmocka_unit_test(names),
        cmocka_unit_test(meshes),         cmocka_unit_test(capacity),  cmocka_unit_test(memory),
        cmocka_unit_test(scenes),         cmocka_unit_test(snapshots), cmocka_unit_test(cuda_where_there_is_none),
        cmocka_unit_test(outputs),        cmocka_unit_test(key_files), cmocka_unit_test(full_devices),
        cmocka_unit_test(one_file_twice),
    };
    return cmocka_run_group_tests(tests, write_meshes, remove_meshes);
}
