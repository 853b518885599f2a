// How a body is taken to go on between the frames that correct it; the same in writer, reader and page, bit by bit.
// Products and sums are rounded one by one: the file is compiled without fused operations.
#ifndef PAIRSIEVE_REPLAY_MOTION_H
#define PAIRSIEVE_REPLAY_MOTION_H

#include "replay.h"
#include "replay_bits.h"

#include <math.h>
#include <string.h>

#define REPLAY_SLACK 2.0              // steps that a prediction may be wrong by
#define REPLAY_FINER 64.0             // velocities and spins of key frames are counted in 64ths of a step
#define REPLAY_ROTATION_BITS 15u      // of three numbers of a rotation in a key frame
#define REPLAY_ROTATION_SCALE 23000.0 // 0.7072 x scale < 2^14
// Steps of a body's radius, as a power of two, at least; those of a turn are of tan(half the angle), half as large. A
// body of a large scene is a small part of any picture.
#define REPLAY_FINE_STEPS 10        // one less for each time that there are twice as many bodies as REPLAY_FINE_BODIES
#define REPLAY_COARSE_STEPS 7       // but not less
#define REPLAY_FINE_BODIES 65536u   // in the first frame
#define REPLAY_SEGMENT 65536u       // bodies whose changes are coded by themselves
#define REPLAY_LEAST_EXPONENT (-40) // of a step in metres
#define REPLAY_MOST_EXPONENT 20

typedef struct replay_motion {
    double position[3];           // steps from where the body appeared
    double velocity[3];           // steps a frame
    double rotation[4];           // unit
    double spin[3];               // tan(half the angle) a frame, about the world's axes
    uint32_t frames, turn_frames; // since position, rotation were corrected
    bool touched;                 // was corrected; else the pose is that of its appearing
    bool moves;                   // else velocity and spin are 0
    bool falls;                   // gravity acts
} replay_motion;

// Columns of numbers.
enum {
    REPLAY_GAP = 0,
    REPLAY_SHIFT = 1,  // three
    REPLAY_TURN = 4,   // three
    REPLAY_PLACE = 7,  // three, of key frames
    REPLAY_SPEED = 10, // three
    REPLAY_SPIN = 13,  // three
    REPLAY_COLUMNS = 16
};

// A correction of one body.
typedef struct replay_change {
    bool has_shift, has_turn;
    bool new_speed, new_spin; // the whole difference came in the last frame
    bool swap_fall;           // gravity begins or ends to act
    bool stop;
    int64_t shift[3], turn[3];
} replay_change;

// A whole state, as key frames have it.
typedef struct replay_state {
    bool moves, falls;
    uint32_t largest; // of the rotation's four numbers; it is positive and follows from the other three
    uint32_t others[3];
    int64_t place[3], speed[3], spin[3];
} replay_state;

static inline replay_motion replay_start(const replay_body *body) {
    replay_motion motion = {0};
    for (int i = 0; i < 4; ++i)
        motion.rotation[i] = (double)body->rotation[i];
    return motion;
}

// rotation = unit of (turn, 1) x rotation
static inline void replay_turn(double rotation[4], const double turn[3]) {
    const double x = rotation[0], y = rotation[1], z = rotation[2], w = rotation[3];
    const double a = turn[0], b = turn[1], c = turn[2];
    double r[4] = {x + a * w + b * z - c * y, y + b * w + c * x - a * z, z + c * w + a * y - b * x,
                   w - a * x - b * y - c * z};
    const double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    const double scale = 1.0 / length;
    for (int i = 0; i < 4; ++i)
        rotation[i] = r[i] * scale;
}

// 2^exponent metres.
static inline double replay_step(int32_t exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double step;
    memcpy(&step, &bits, 8);
    return step;
}

// Fall of one frame, in steps.
static inline void replay_fall(const replay_frame *frame, int32_t exponent, double fall[3]) {
    const double seconds = (double)frame->seconds, step = replay_step(exponent);
    for (int i = 0; i < 3; ++i)
        fall[i] = (double)frame->gravity[i] * seconds * seconds / step;
}

static inline void replay_predict(replay_motion *motion, const double fall[3]) {
    if (!motion->moves) return;
    for (int i = 0; i < 3; ++i) {
        if (motion->falls) motion->velocity[i] += fall[i];
        motion->position[i] += motion->velocity[i];
    }
    if (motion->spin[0] != 0 || motion->spin[1] != 0 || motion->spin[2] != 0)
        replay_turn(motion->rotation, motion->spin);
    motion->frames += 1;
    motion->turn_frames += 1;
}

// `turn_step`: of the file.
static inline void replay_apply(replay_motion *motion, const replay_change *change, double turn_step) {
    const double frames = motion->moves && !change->new_speed ? (double)motion->frames : 1.0;
    const double turn_frames = motion->moves && !change->new_spin ? (double)motion->turn_frames : 1.0;
    motion->touched = motion->moves = true;
    if (change->has_shift) {
        for (int i = 0; i < 3; ++i) {
            motion->position[i] += (double)change->shift[i];
            motion->velocity[i] += (double)change->shift[i] / frames;
        }
        motion->frames = 0;
    }
    if (change->has_turn) {
        double turn[3];
        for (int i = 0; i < 3; ++i) {
            turn[i] = (double)change->turn[i] * turn_step;
            motion->spin[i] += turn[i] / turn_frames;
        }
        replay_turn(motion->rotation, turn);
        motion->turn_frames = 0;
    }
    if (change->swap_fall) motion->falls = !motion->falls;
    if (change->stop) {
        memset(motion->velocity, 0, sizeof motion->velocity);
        memset(motion->spin, 0, sizeof motion->spin);
        motion->moves = motion->falls = false;
    }
}

static inline void replay_take_state(replay_motion *motion, const replay_state *state, double turn_step) {
    const double half = (double)(1u << (REPLAY_ROTATION_BITS - 1));
    double rest = 1;
    for (uint32_t i = 0, other = 0; i < 4; ++i) {
        if (i == state->largest) continue;
        motion->rotation[i] = ((double)state->others[other++] - half) / REPLAY_ROTATION_SCALE;
        rest -= motion->rotation[i] * motion->rotation[i];
    }
    motion->rotation[state->largest] = sqrt(rest > 0 ? rest : 0);
    for (int i = 0; i < 3; ++i) {
        motion->position[i] = (double)state->place[i];
        motion->velocity[i] = (double)state->speed[i] / REPLAY_FINER;
        motion->spin[i] = (double)state->spin[i] * (turn_step / REPLAY_FINER);
    }
    motion->frames = motion->turn_frames = 0;
    motion->touched = true;
    motion->moves = state->moves;
    motion->falls = state->falls;
}

#endif
