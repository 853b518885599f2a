// Fuzz target: any bytes, read as a replay whose ends were put right and whose sums are not compared, give frames that
// can be gone to, or a refusal. So the checks of every number are reached.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "replay.h"

#define HEAD_BYTES 16u
#define TAIL_BYTES 32u
#define MOST_FRAMES 200u

static int write_mended(const uint8_t *data, size_t size) {
    const uint32_t head[2] = {REPLAY_VERSION, 0};
    uint8_t *copy = malloc(size);
    uint64_t tables;
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    memcpy(copy, "PSREPLAY", 8);
    memcpy(copy + 8, head, sizeof head);
    uint8_t *tail = copy + size - TAIL_BYTES;
    memcpy(&tables, tail, 8);
    if (tables > size - TAIL_BYTES) tables %= size - TAIL_BYTES + 1;
    const uint64_t bytes = size - TAIL_BYTES - tables;
    memcpy(tail, &tables, 8);
    memcpy(tail + 8, &bytes, 8);
    memcpy(tail + 20, head, 4);
    memcpy(tail + 24, "PSREPLAY", 8);
    const int file = memfd_create("run.replay", 0);
    if (file < 0 || write(file, copy, size) != (ssize_t)size) abort();
    free(copy);
    return file;
}

// Forward, and back to the first frame.
static void use(replay_reader *reader) {
    replay_error error = {""};
    const uint32_t count = replay_frame_count(reader), end = count < MOST_FRAMES ? count : MOST_FRAMES;
    float position[3], rotation[4], velocity[3];
    for (uint32_t f = 0; f <= end; ++f) {
        const uint32_t frame = f < end ? f : 0;
        if (!replay_seek(reader, frame, &error)) {
            if (error.text[0] == 0) abort();
            continue;
        }
        for (uint32_t i = 0; i < replay_body_count(reader); ++i) {
            if (!replay_get_pose(reader, i, position, rotation, velocity)) continue;
            if (isnan(rotation[0]) || isnan(rotation[3]) || isnan(position[0])) abort();
            if (replay_get_body(reader, i)->shape >= replay_shape_count(reader)) abort();
        }
    }
    if (replay_seek(reader, count, &error)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    replay_error error = {""};
    char path[64];
    if (size < HEAD_BYTES + TAIL_BYTES) return 0;
    const int file = write_mended(data, size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    replay_reader *reader = replay_open(path, true, &error);
    (void)close(file);
    if (reader == NULL && error.text[0] == 0) abort(); // a refusal says why
    if (reader != NULL) use(reader);
    replay_close(reader);
    return 0;
}
