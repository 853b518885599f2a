// Which of two methods «auto» runs, by the device's clock. It begins with one. The other is tried where the first takes
// longer than the other would need at its best. The faster is kept until the boxes, the pairs or the time have changed.
// Plain C that asks no clock itself, so that it can be tested with made-up times.
//
//     psvi_trial_turn turn = psvi_next_turn(&trials, clock_is_free);
//     run methods[turn.choice]; if (turn.timed) put marks around it
//     ... when the marks are read, some frames later: psvi_learn_time(&trials, &sample, least_ms_of_the_other);
#ifndef PAIRSIEVE_COLLISION_TRIALS_H
#define PAIRSIEVE_COLLISION_TRIALS_H

#include "../../core/backoff.h"

enum { PSVI_FIRST_CHOICE = 0, PSVI_OTHER_CHOICE = 1 };

#define PSVI_TRIAL_FIRST 4      // frames of a finder without a look at the clock: the first choice learns in them
#define PSVI_TRIAL_LOOK 8       // one look in so many frames while the first choice runs,
#define PSVI_TRIAL_LOOK_OTHER 4 // and while the other one does
#define PSVI_TRIAL_FRAMES 1     // of the other choice in a trial,
#define PSVI_TRIAL_RETURN 4     // of the first one, which plans by the frames before; the last one counts
#define PSVI_TRIAL_AGE 32       // frames after which an answer is asked for again, and twice as many each time
#define PSVI_TRIAL_OLD 1024     // but at most
#define PSVI_TRIAL_CHANGE 8     // another scene: boxes, pairs or time differ by one in so many
#define PSVI_TRIAL_GAIN 0.95    // of the time that the kept choice takes: no change for less
#define PSVI_TRIAL_SURE 4       // consecutive frames of the first choice must ask for a trial: one may include planning
#define PSVI_TRIAL_PAUSE 64     // looks without a trial after several in vain, at most

typedef struct psvi_trial_sample {
    uint32_t choice;
    uint64_t boxes, pairs;
    double ms;
} psvi_trial_sample;

typedef struct psvi_trial_turn {
    uint32_t choice;
    bool timed;
} psvi_trial_turn;

// Zeroed: a new finder's.
typedef struct psvi_trials {
    uint32_t kept;           // the choice that runs outside of trials
    uint32_t left;           // frames that a trial has still to go
    uint32_t frames, looked; // that have been; the one of the last look at the clock
    uint32_t asking;         // looks in a row that asked for a trial
    psvi_trial_sample least; // of them, by time; they are of one scene
    uint32_t asked, age;     // the frame of the last comparison; frames until the next one
    bool another;            // the trial is for another scene than the last one
    bool compared;           // there was one
    psvi_trial_sample last;  // the kept choice's, when it was last compared
    psvi_backoff backoff;
} psvi_trials;

// Is the next frame one that needs the clock, or of a trial? Otherwise the kept choice runs, untimed.
bool psvi_is_due(const psvi_trials *trials);

psvi_trial_turn psvi_next_turn(psvi_trials *trials, bool clock_is_free);

// least_ms: the best time of the other choice for this many boxes.
void psvi_learn_time(psvi_trials *trials, const psvi_trial_sample *sample, double least_ms);

#endif
