// The frames of the tests of finders over many frames: scenes that follow each other, and what is known of a frame's
// result.
#ifndef PAIRSIEVE_TESTS_FRAME_STEPS_H
#define PAIRSIEVE_TESTS_FRAME_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include <pairsieve/collision.h>

// Some frames of the same boxes. Pauses of 8 frames and their ends are among them.
typedef struct frame_step {
    const char *scene;
    uint64_t seed;
    int percent, skipped; // of the boxes; boxes before the first one, which then lies at an odd address
    int frames;
    bool bad; // some boxes are not
    int tags; // 1: flags, 2: also filters, all alike, 3: of several kinds
} frame_step;

extern const frame_step frame_steps[];
extern const int frame_step_count;

// Fills `boxes`, which have room for `most`, and gives the number of boxes behind the skipped ones.
uint64_t make_frame_step(const frame_step *step, uint64_t most, psv_aabb *boxes);

// Flags and filters of a step with tags.
void make_frame_tags(const frame_step *step, uint64_t count, uint8_t *flags, psv_box_filter *filters);

// What is known of a frame: pairs and bad boxes, as sums over them, as their order is not certain.
typedef struct frame_digest {
    uint64_t pairs, sum, boxes, bad, bad_sum;
} frame_digest;

// Waits for the finder's frame. A call that fails fails the test.
frame_digest digest_frame(psv_context *context, psv_pair_finder *finder);

// Fails the test where the two differ. `form`: what gave `got`.
void compare_frames(const frame_digest *got, const frame_digest *expected, const char *form, int number, int frame);

#endif
