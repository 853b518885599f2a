// Replay files: what a run showed, to be looked at again without computing it. `pairsieve run --record` and the viewer
// write them. The viewer, `pairsieve replay` and the page of `--web` read them. The format is described in
// docs/how/replay.md.
//
// A body's pose is written only when it differs from the reader's prediction by more than a tolerance. So a body at
// rest and a body in free fall cost nothing. The writer predicts as the reader does: errors do not add up.
#ifndef PAIRSIEVE_REPLAY_H
#define PAIRSIEVE_REPLAY_H

#include "pairsieve/sim.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPLAY_VERSION 1u
#define REPLAY_NAME_BYTES 256
#define REPLAY_STILL UINT32_MAX // end_frame of a body that is there to the end

typedef struct replay_error {
    char text[320];
} replay_error;

// A body from the frame in which it appears on. A slot that is used again has another body.
typedef struct replay_body {
    uint32_t slot, shape;
    uint32_t first_frame, end_frame; // it is there in frames first_frame <= n < end_frame
    uint32_t colour;                 // 0xAABBGGRR; 0: none of its own
    int32_t exponent;                // its positions are counted in 2^exponent metres
    float inverse_mass;              // 0: static or kinematic
    float position[3], radius;       // of the frame in which it appears, exact
    float rotation[4];               // likewise
} replay_body;

typedef struct replay_frame {
    uint64_t offset; // of its bytes in the file
    uint32_t bytes, sum;
    bool is_key;      // needs no frame before it
    float seconds;    // of the step that led to it; 0 for frame 0
    float gravity[3]; // m/s^2
    uint64_t bodies, pairs, contacts;
    float frame_ms, phase_ms[PSV_PHASE_COUNT]; // of the step
} replay_frame;

// What is known before the first frame.
typedef struct replay_head {
    char scene[REPLAY_NAME_BYTES];
    float frame_seconds;
    float eye[3], target[3]; // camera; both at the origin: none
} replay_head;

// --- writer ---------------------------------------------------------------------------------------------------------

typedef struct replay_writer replay_writer;

// Writes to `stream`, which stays the caller's and need not be seekable. NULL: no memory.
replay_writer *replay_begin(FILE *stream, const replay_head *head, replay_error *error);

// The world as it is now, as the next frame. `seconds`, `profile` and `counters` are of the step before it; all NULL or
// 0 for the first frame. Blocks.
bool replay_add_frame(replay_writer *writer, psv_world *world, float seconds, const psv_profile *profile,
                      const psv_world_counters *counters, replay_error *error);

// Writes the tables, without which the file is none. The shapes are those that the world of the last frame has.
bool replay_end(replay_writer *writer, replay_error *error);
void replay_destroy_writer(replay_writer *writer); // NULL is allowed

// --- reader ---------------------------------------------------------------------------------------------------------

typedef struct replay_reader replay_reader;

// Reads and checks the tables. With `trusting` sums are not compared: for the tests of all other checks. NULL: damaged,
// of another version, or unreadable; the sentence says which.
replay_reader *replay_open(const char *path, bool trusting, replay_error *error);
void replay_close(replay_reader *reader); // NULL is allowed

const replay_head *replay_get_head(const replay_reader *reader);
uint32_t replay_frame_count(const replay_reader *reader); // 1 or more
const replay_frame *replay_get_frame(const replay_reader *reader, uint32_t frame);
uint32_t replay_body_count(const replay_reader *reader);
const replay_body *replay_get_body(const replay_reader *reader, uint32_t body);
uint32_t replay_slot_count(const replay_reader *reader);
int32_t replay_turn_exponent(const replay_reader *reader); // a turn counts in 2^this of tan(half its angle)
uint32_t replay_shape_count(const replay_reader *reader);
const psv_shape_def *replay_get_shape(const replay_reader *reader, uint32_t shape); // arrays are the reader's

// Goes to a frame: from the nearest key frame before it, or on from the present one. False for damaged bytes.
bool replay_seek(replay_reader *reader, uint32_t frame, replay_error *error);
uint32_t replay_frame_now(const replay_reader *reader);

// A body in the present frame: false when it is not there. `velocity` (m/s) may be NULL.
bool replay_get_pose(const replay_reader *reader, uint32_t body, float position[3], float rotation[4],
                     float velocity[3]);

// --- both -----------------------------------------------------------------------------------------------------------

// Largest error of a position on each axis, metres, and of a rotation about each axis, radians, for a body of this
// exponent.
double replay_position_bound(int32_t exponent);
double replay_rotation_bound(int32_t turn_exponent);

#endif
