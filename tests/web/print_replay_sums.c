// Prints, for each frame of a replay, a sum over the bits of all its poses, as check_replay_decoder.js does.
// With a frame: radius, position and rotation of each body that is there.
// usage: print_replay_sums FILE [FRAME]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static uint32_t mix(uint32_t sum, const float *values, int count) {
    for (int i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        sum = (sum ^ bits) * UINT32_C(16777619);
        sum ^= sum >> 15;
    }
    return sum;
}

static int print_frame(replay_reader *reader, uint32_t frame) {
    replay_error error = {""};
    float p[3], r[4];
    if (!replay_seek(reader, frame, &error)) return 1;
    for (uint32_t i = 0; i < replay_body_count(reader); ++i)
        if (replay_get_pose(reader, i, p, r, NULL))
            printf("%.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", (double)replay_get_body(reader, i)->radius,
                   (double)p[0], (double)p[1], (double)p[2], (double)r[0], (double)r[1], (double)r[2], (double)r[3]);
    return 0;
}

int main(int argc, char **argv) {
    replay_error error = {""};
    replay_reader *reader = argc > 1 ? replay_open(argv[1], false, &error) : NULL;
    if (reader == NULL) return fprintf(stderr, "print_replay_sums: %s\n", error.text), 1;
    int code = argc > 2 ? print_frame(reader, (uint32_t)strtoul(argv[2], NULL, 10)) : 0;
    for (uint32_t f = 0; f < replay_frame_count(reader) && argc == 2 && code == 0; ++f) {
        uint32_t sum = 1;
        float position[3], rotation[4];
        if (!replay_seek(reader, f, &error)) code = 1;
        for (uint32_t i = 0; code == 0 && i < replay_body_count(reader); ++i)
            if (replay_get_pose(reader, i, position, rotation, NULL)) sum = mix(mix(sum, position, 3), rotation, 4);
        printf("%u %u\n", f, sum);
    }
    replay_close(reader);
    return code;
}
