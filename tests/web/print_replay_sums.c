// Prints, for each frame of a replay, a sum over the bits of all its poses, as check_replay_decoder.js does.
// usage: print_replay_sums FILE
#include <stdio.h>
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

int main(int argc, char **argv) {
    replay_error error = {""};
    replay_reader *reader = argc == 2 ? replay_open(argv[1], false, &error) : NULL;
    if (reader == NULL) return fprintf(stderr, "print_replay_sums: %s\n", error.text), 1;
    int code = 0;
    for (uint32_t f = 0; f < replay_frame_count(reader) && code == 0; ++f) {
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
