// pairsieve readers: pairs and a tree of the last frame that any number of threads read while the next frame is made.
//
// The thread that finds pairs publishes a frame: its boxes, pairs and a tree over the boxes are copied. Other threads
// open the newest frame, ask it as often as they like, and close it. No thread waits for another. Readers need no
// context, and calls on a frame that is open change nothing. On the CPU only.
#ifndef PAIRSIEVE_READERS_H
#define PAIRSIEVE_READERS_H

#include "pairsieve/tree_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_readers psv_readers;

typedef struct psv_readers_def {
    uint32_t cookie;    // set by psv_default_readers_def
    uint64_t max_boxes; // most boxes of any frame, at most 2^30
    uint64_t max_pairs; // most pairs of any frame; 0 (default): 8 a box
    uint32_t frames;    // copies, 2 to 16, default 3: one is written, one is the newest, others may still be read.
                        // With two more than threads that hold a frame, one is always free
} psv_readers_def;

psv_readers_def psv_default_readers_def(void);

// Bytes of memory that readers of this def take; 0: def not valid.
uint64_t psv_readers_bytes(const psv_readers_def *def);

// Errors: PSV_ERROR_ARGUMENT, PSV_ERROR_UNSUPPORTED (not a context of the CPU), PSV_ERROR_MEMORY. Blocks.
psv_status psv_create_readers(psv_context *context, const psv_readers_def *def, psv_readers **readers);
// All frames must be closed. NULL is allowed.
void psv_destroy_readers(psv_readers *readers);

// A published frame. All of it stays as it is until the frame is closed.
typedef struct psv_reader_frame {
    uint64_t number; // 1 for the first one that was published
    const psv_aabb *boxes;
    uint64_t box_count;
    const psv_pair *pairs; // by the names and in the order of the finder
    uint64_t pair_count;
    psv_tree_view tree; // over the boxes, for walks of the program's own (tree_view.h)
} psv_reader_frame;

// For the thread of the finder, which is of the same context: publishes its last frame, which was of this one set
// (psv_find_pairs). With `kept` and `moved` as in the find call, boxes and tree cost what the boxes cost that moved
// since the copy was last written; the pairs are copied as a whole. Without `kept`, and after a frame that was not
// published, all boxes are copied and the tree is built anew. Boxes are found by any query: flags other than
// PSV_BOX_DISABLED, filters and worlds do not count. Errors: PSV_ERROR_ARGUMENT (no frame, another context, a bad set),
// PSV_ERROR_CAPACITY (more boxes or pairs than def has, the last frame overflowed, or all copies but the newest are
// being read), PSV_ERROR_UNSUPPORTED (doubles). After an error the newest frame remains, and the next call makes up for
// it.
psv_status psv_publish_frame(psv_readers *readers, psv_pair_finder *finder, const psv_box_set *boxes);

// Any thread. The newest frame, or NULL when none has been published yet. Each one that is opened must be closed.
const psv_reader_frame *psv_open_frame(psv_readers *readers);
void psv_close_frame(psv_readers *readers, const psv_reader_frame *frame); // NULL is allowed

// Queries of an open frame, on the calling thread. Answers are those of psv_trace_closest, psv_overlap_boxes and
// psv_find_nearest for the same boxes.
psv_ray_hit psv_frame_ray(const psv_reader_frame *frame, const psv_ray *ray);
// Returns how many boxes touch the box; the first `room` of them, in any order, go to `items` (may be NULL for 0).
uint32_t psv_frame_touching(const psv_reader_frame *frame, const psv_aabb *box, uint32_t *items, uint32_t room);
// The k boxes nearest to the centre within the radius, k psv_near_item.
void psv_frame_nearest(const psv_reader_frame *frame, const psv_sphere *sphere, uint32_t k, psv_near_item *items);

#ifdef __cplusplus
}
#endif
#endif
