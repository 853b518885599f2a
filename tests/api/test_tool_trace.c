// `pairsieve trace`: the picture of a mesh or a scene is a PNG file of the size asked for, the same for both kinds of
// tree and every sorter, and bad input is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pairsieve/core.h>

#include "tool_process.h"

#define WIDTH 40
#define HEIGHT 30
// Signature, header, rows of a filter's number and pixels in stored blocks, end.
#define FILE_BYTES (8 + 25 + 12 + 2 + HEIGHT * (5 + 1 + 3 * WIDTH) + 4 + 12)

#define REPORT                                                                                                         \
    " schema machine items bad_items backend quality sort width height samples frames bounds_ms keys_ms sort_ms "      \
    "build_ms trace_ms "                                                                                               \
    "filter_ms frame_ms rays million_rays_per_second sort_share"

static char folder[] = "/tmp/test_tool_traceXXXXXX";
static unsigned char files[2][FILE_BYTES + 1];

// A tilted square over a larger one.
static void write_mesh(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("v -2 0 -2\nv 2 0 -2\nv 2 0 2\nv -2 0 2\nv -1 1 -1\nv 1 1.2 -1\nv 1 1.2 1\nv -1 1 1\nf 1 2 3 4\nf 5 6 7 8\n",
          file);
    assert_int_equal(fclose(file), 0);
}

static const unsigned char *pixel(const unsigned char *file, int x, int y) {
    return file + 8 + 25 + 8 + 2 + y * (5 + 1 + 3 * WIDTH) + 6 + 3 * x;
}

static void picture(void **state) {
    (void)state;
    static const char *const qualities[2] = {"linear", "fine"};
    char command[512];
    (void)snprintf(command, sizeof command, "%s/mesh.obj", folder);
    write_mesh(command);
    for (int q = 0; q < 2; ++q) {
        (void)snprintf(command, sizeof command,
                       "trace %s/mesh.obj --backend cpu --size %dx%d --samples 3 --quality %s --out %s/%s.png --json",
                       folder, WIDTH, HEIGHT, qualities[q], folder, qualities[q]);
        json_t *object = tool_json(command);
        assert_non_null(object);
        assert_true(tool_has_keys(object, "input triangles" REPORT));
        assert_int_equal(json_integer_value(json_object_get(object, "triangles")), 4);
        // One ray a pixel and up to two from each surface.
        const json_int_t rays = json_integer_value(json_object_get(object, "rays"));
        assert_in_range(rays, WIDTH * HEIGHT * 12 / 10, WIDTH * HEIGHT * 26 / 10);
        assert_true(json_real_value(json_object_get(object, "trace_ms")) > 0);
        json_decref(object);
        (void)snprintf(command, sizeof command, "%s/%s.png", folder, qualities[q]);
        FILE *file = fopen(command, "rb");
        assert_non_null(file);
        assert_int_equal(fread(files[q], 1, sizeof files[q], file), FILE_BYTES);
        assert_int_equal(fclose(file), 0);
    }
    const unsigned char begin[24] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',  0, 0, 0, 13,
                                     'I',  'H', 'D', 'R', 0,    0,    0,    WIDTH, 0, 0, 0, HEIGHT};
    assert_memory_equal(files[0], begin, sizeof begin);
    assert_memory_equal(files[0], files[1], FILE_BYTES);
    // Sky in the corner, which is blue; ground below the middle, which is not.
    assert_true(pixel(files[0], 0, 0)[2] > pixel(files[0], 0, 0)[0]);
    const unsigned char *middle = pixel(files[0], WIDTH / 2, HEIGHT * 3 / 4);
    assert_true(middle[0] >= middle[2] && middle[0] > 40);
}

// On backends of shaders every byte of a mesh's or a scene's picture is within one grey level of the CPU's; ground that
// they have not is refused.
static void compare_backends(const char *arguments) {
    static const char *const backends[3] = {"cpu", "gl", "vulkan"};
    static const psv_backend numbers[3] = {PSV_BACKEND_CPU, PSV_BACKEND_GL, PSV_BACKEND_VULKAN};
    char command[512];
    for (int b = 0; b < 3; ++b) {
        tool_result result;
        if (!psv_backend_available(numbers[b])) continue; // no driver, or not in this build
        (void)snprintf(command, sizeof command, "trace %s --backend %s --size %dx%d --samples 5 --out %s/%s.png",
                       arguments, backends[b], WIDTH, HEIGHT, folder, b == 0 ? "linear" : "fine");
        tool_run(&result, command);
        if (result.code != 0) fail_msg("%s", result.error);
        (void)snprintf(command, sizeof command, "%s/%s.png", folder, b == 0 ? "linear" : "fine");
        FILE *file = fopen(command, "rb");
        assert_non_null(file);
        assert_int_equal(fread(files[b > 0], 1, sizeof files[0], file), FILE_BYTES);
        assert_int_equal(fclose(file), 0);
        for (int i = 0; b > 0 && i < 3 * WIDTH * HEIGHT; ++i) {
            const int x = i / 3 % WIDTH, y = i / (3 * WIDTH);
            const int own = pixel(files[1], x, y)[i % 3], other = pixel(files[0], x, y)[i % 3];
            if (abs(own - other) > 1)
                fail_msg("%s: byte %d of pixel %d, %d is %d; on the CPU %d", backends[b], i % 3, x, y, own, other);
        }
        if (b == 0) continue;
        (void)snprintf(command, sizeof command, "trace landscape --bodies 20 --frames 0 --backend %s", backends[b]);
        assert_true(tool_refuses(command, 2, "ground of planes; cpu and cuda render height fields"));
    }
}

static void shaders(void **state) {
    (void)state;
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments, "%s/mesh.obj", folder);
    compare_backends(arguments);
    compare_backends("drop --bodies 40 --frames 2");
}

// A scene file, and a shipped scene that is scaled.
static void scenes(void **state) {
    (void)state;
    static const char *const sorts[2] = {"radix", "merge"};
    char command[512];
    for (int s = 0; s < 2; ++s) {
        (void)snprintf(command, sizeof command,
                       "trace drop --bodies 40 --frames 2 --backend cpu --size %dx%d --samples 2 --sort %s --out "
                       "%s/%s.png --json",
                       WIDTH, HEIGHT, sorts[s], folder, s == 0 ? "linear" : "fine");
        json_t *object = tool_json(command);
        assert_non_null(object);
        assert_true(tool_has_keys(object, "input bodies" REPORT));
        assert_int_equal(json_integer_value(json_object_get(object, "items")), 40);
        assert_string_equal(json_string_value(json_object_get(object, "sort")), sorts[s]);
        json_decref(object);
        (void)snprintf(command, sizeof command, "%s/%s.png", folder, s == 0 ? "linear" : "fine");
        FILE *file = fopen(command, "rb");
        assert_non_null(file);
        assert_int_equal(fread(files[s], 1, sizeof files[s], file), FILE_BYTES);
        assert_int_equal(fclose(file), 0);
    }
    assert_memory_equal(files[0], files[1], FILE_BYTES); // whatever sorts
    // Not one colour: bodies before the ground.
    int others = 0;
    for (int x = 0; x < WIDTH; ++x)
        others += memcmp(pixel(files[0], x, HEIGHT / 2), pixel(files[0], 0, HEIGHT / 2), 3) != 0;
    assert_true(others > 4);
}

static void refusals(void **state) {
    (void)state;
    char command[512];
    assert_true(tool_refuses("trace", 2, "trace needs a mesh file or a scene"));
    (void)snprintf(command, sizeof command, "trace %s/mesh.obj --size 0x5", folder);
    assert_true(tool_refuses(command, 2, "--size 0x5 is not accepted"));
    (void)snprintf(command, sizeof command, "trace %s/mesh.obj --quality best", folder);
    assert_true(tool_refuses(command, 2, "best"));
    (void)snprintf(command, sizeof command, "trace %s/mesh.obj --out %s/picture.JPG", folder, folder);
    assert_true(tool_refuses(command, 2, "the name of a PNG file"));
    (void)snprintf(command, sizeof command, "trace %s/none.obj", folder);
    assert_true(tool_refuses(command, 2, "none.obj"));
    assert_true(tool_refuses("trace nothing_like_this --backend cpu", 2, "nothing_like_this"));
    assert_true(tool_refuses("trace drop --bodies 40 --frames 0 --backend cpu --sort guess", 2, "guess"));
    (void)snprintf(command, sizeof command, "trace %s/mesh.obj --bodies 5", folder);
    assert_true(tool_refuses(command, 2, "--bodies is for scenes"));
}

static void single_words(void **state) {
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/one.obj", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", file);
    assert_int_equal(fclose(file), 0);
    char command[512];
    tool_result result;
    (void)snprintf(command, sizeof command, "trace %s --backend cpu --size 8x8", path);
    tool_run(&result, command);
    assert_non_null(strstr(result.out, "1 triangle on "));
    assert_int_equal(remove(path), 0);
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"mesh.obj", "linear.png", "fine.png"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    return rmdir(folder);
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(picture), cmocka_unit_test(shaders), cmocka_unit_test(scenes),
                                       cmocka_unit_test(refusals), cmocka_unit_test(single_words)};
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
