// Replays that `pairsieve run --record` writes, and what `pairsieve replay` says of them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay.h"
#include "tool_process.h"

#define FRAMES 30u

static replay_reader *open_file(const char *path) {
    replay_error error = {""};
    replay_reader *reader = replay_open(path, false, &error);
    if (reader == NULL) fail_msg("%s", error.text);
    return reader;
}

// Each frame has the counts and the times of the step before it, as the file of --csv has them.
static void counts_and_times(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result,
             "run drop --backend cpu --bodies 100 --frames 30 --csv tool_replay.csv --record tool_replay.replay");
    assert_int_equal(result.code, 0);
    replay_reader *reader = open_file("tool_replay.replay");
    FILE *csv = fopen("tool_replay.csv", "rb");
    char line[512];
    assert_true(csv != NULL && fgets(line, sizeof line, csv) != NULL);
    assert_int_equal(replay_frame_count(reader), FRAMES + 1);
    assert_int_equal(replay_body_count(reader), 101);
    assert_string_equal(replay_get_head(reader)->scene, "drop");
    assert_true(replay_get_frame(reader, 0)->frame_ms == 0 && replay_get_frame(reader, 0)->seconds == 0);
    for (uint32_t f = 1; f <= FRAMES; ++f) {
        const replay_frame *frame = replay_get_frame(reader, f);
        assert_non_null(fgets(line, sizeof line, csv));
        char *at = line;
        const uint64_t wanted[4] = {f, frame->bodies, frame->pairs, frame->contacts};
        for (int i = 0; i < 4; ++i, ++at)
            assert_int_equal(strtoull(at, &at, 10), wanted[i]);
        for (int p = -1; p < PSV_PHASE_COUNT; ++p, ++at) {
            const double ms = strtod(at, &at);
            assert_true(fabs(ms - (double)(p < 0 ? frame->frame_ms : frame->phase_ms[p])) <= 1e-6 + 1e-6 * ms);
        }
    }
    (void)fclose(csv);
    replay_close(reader);
    tool_run(&result, "replay tool_replay.replay");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "drop: 31 frames, 0.50 s, 101 bodies in all"));
    assert_non_null(strstr(result.out, "\nsort "));
}

static void standard_output(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result, "run drop --backend cpu --bodies 20 --frames 3 --record -");
    assert_int_equal(result.code, 0);
    assert_memory_equal(result.out, "PSREPLAY", 8);
    assert_non_null(strstr(result.error, "frames per second"));
}

// Without --record nothing is left beside the glTF file.
static void gltf_alone(void **state) {
    (void)state;
    tool_result result;
    tool_run(&result, "run drop --backend cpu --bodies 20 --frames 3 --gltf tool_replay.glb");
    assert_int_equal(result.code, 0);
    FILE *file = fopen("tool_replay.glb", "rb");
    char magic[4];
    assert_true(file != NULL && fread(magic, 1, 4, file) == 4 && fclose(file) == 0);
    assert_memory_equal(magic, "glTF", 4);
    assert_null(fopen("tool_replay.glb.replay", "rb"));
    tool_run(&result, "replay tool_replay.replay --gltf tool_replay.glb --gltf-frame 31");
    assert_int_equal(result.code, 2);
    assert_non_null(strstr(result.error, "the replay has frames 0 to 30"));
}

static void refusals(void **state) {
    (void)state;
    assert_true(tool_refuses("replay", 2, "replay needs a file"));
    assert_true(tool_refuses("replay there_is_none.replay", 2, "there_is_none.replay"));
    assert_true(tool_refuses("replay tool_replay.csv", 2, "is no replay"));
    assert_true(tool_refuses("run drop --frames 2 --record there/is/no/folder.replay", 2, "there/is/no/folder.replay"));
    assert_true(tool_refuses("run drop --frames 2 --web tool_replay.csv", 2, "tool_replay.csv/index.html"));
    assert_true(tool_refuses("run drop --frames 2 --web there/is/no/folder", 2, "--web there/is/no/folder"));
    assert_true(tool_refuses("run drop --frames 2 --gltf-frame 1", 2, "--gltf-frame goes with --gltf"));
    assert_true(tool_refuses("run drop --frames 2 --gltf there/is/no/folder.glb", 2, "there/is/no/folder.glb"));
    assert_true(tool_refuses("run drop --frames 2 --csv same.file --record same.file", 2, "both go to same.file"));
    FILE *file = fopen("tool_replay.replay", "r+b");
    assert_true(file != NULL && fseek(file, 20, SEEK_SET) == 0 && fputc(0x5a, file) != EOF && fclose(file) == 0);
    assert_true(tool_refuses("replay tool_replay.replay", 2, "damaged"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_times),
        cmocka_unit_test(standard_output),
        cmocka_unit_test(gltf_alone),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
