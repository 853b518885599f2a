// Threads that read the frames of test_movers while it makes the next ones: each frame that they open has the boxes and
// pairs that the test expects of it.
#ifndef PAIRSIEVE_TESTS_MOVER_READERS_H
#define PAIRSIEVE_TESTS_MOVER_READERS_H

#include <pairsieve/readers.h>

typedef struct mover_readers mover_readers;

// max_frames: the most that are published.
mover_readers *start_mover_readers(psv_context *context, uint32_t threads, uint64_t max_boxes, uint64_t max_pairs,
                                   uint64_t max_frames);
// Publishes the finder's last frame. pairs: by the test's own search, in any order.
void publish_to_mover_readers(mover_readers *all, psv_pair_finder *finder, const psv_box_set *set,
                              const psv_aabb *boxes, const psv_pair *pairs, uint64_t count);
// Ends the threads and fails the test where one of them read something else. Returns how many frames they read.
uint64_t stop_mover_readers(mover_readers *all);

#endif
