// The device memory and the launchers of the `rows` method.
//
// A box's key is the number of its cell: [size level | set | world | row of min y | row of min z | min x], with as many
// cells per level and axis as the plan gives. Cell numbers wrap around on every axis: a scene larger than its cells
// shares them, which costs candidates and never pairs. The sorted keys give the start table (first place of every
// cell), so a sweep finds its range in a row with two loads.
#ifndef PAIRSIEVE_COLLISION_ROWS_KERNELS_H
#define PAIRSIEVE_COLLISION_ROWS_KERNELS_H

#include <cuda_runtime_api.h>

#include "../../../core/backoff.h"
#include "../../src/broad_phase.h"
#include "../lbvh_kernels.h"
#include "rows_policy.h"
#include "rows_route.h"

#ifdef __cplusplus
extern "C" {
#endif

// A size level. Rows: 1 or at least 4 on y and z, so that «forward» has a meaning when they wrap.
typedef struct psvi_rows_level {
    float limit;        // largest extent of its boxes
    float reach[3];     // the same on x, y and z
    float origin[3];    // where cell 0 begins on x, y, z
    float inverse[3];   // cells per length on x, y, z
    int32_t cells[3];   // cells on x, y, z
    uint32_t worlds;    // world cells
    uint32_t base;      // number of its first cell
    uint32_t set_cells; // cells of one set; between two sets, those of set b follow
} psvi_rows_level;

// Which ratio of the levels serves a scene of many sizes; kept from frame to frame, 0 at creation.
typedef struct psvi_rows_ratio {
    uint64_t tested;         // candidates of the frame, counted by the sweep where there are several levels
    uint32_t at;             // the frame's ratio
    float cost[ROWS_RATIOS]; // of a box with each of them, as last seen; 0: not known
} psvi_rows_ratio;

// What the sweeps of a frame spend beyond an even scene's, see rows_bound.cuh.
typedef struct psvi_rows_bound {
    uint64_t spent;       // tests
    uint32_t over;        // the frame goes by the tree; kept until the next one has a plan
    uint32_t unbounded;   // there is no tree behind the sweep
    uint32_t times;       // what the sweep may spend, in times of what is usual
    uint32_t begun, done; // blocks whose sweep has begun and ended, where the tree is in the same launch
} psvi_rows_bound;

typedef struct psvi_rows_plan {
    uint64_t slots;  // boxes of both sets: the count that the sorter reads
    int32_t axis[3]; // which of a box's axes is x, y, z
    float up;        // a power of two: all below, and records, are in coordinates times this
    uint32_t levels; // in use, fine to coarse; the next one is that of huge boxes
    uint32_t cells;  // in all; also the key of boxes that take no part
    uint32_t shaped; // so many levels, the first ones, have a reach of their own on each axis: one of all boxes, or
                     // three, of those that are longest on x, y and z
    uint32_t down;   // nearly all boxes are of the first level, and larger ones look down; else small ones look up
    psvi_rows_level level[ROWS_LEVELS + 1];
    uint32_t boxes_per_warp; // of a sweep over few boxes: fewer where ranges are long
    uint32_t epoch;          // number of the frame, tells its scan states from older ones; 0 at creation
    uint64_t candidates;     // counted by the sweep, for the next frame's plan; 0 at creation
    psvi_rows_bound bound;
    // Filled by the key kernel, for set b in the second half:
    uint32_t populated;                      // bit per level, from bit 0 and from bit 16
    uint32_t longest[2 * (ROWS_LEVELS + 1)]; // bits of the largest extent on x
    uint32_t larger;                         // boxes of other levels than the first
    uint32_t unusual;                        // boxes that rows_near_of does not hold for, at least
    uint32_t filtered;                       // are there filters of several kinds, or that pair with none?
    uint32_t crowded;                        // boxes in crowded cells; filled by the scan
    uint32_t ticket;                         // batches of the sweep that were taken
    uint32_t listed;                         // unusual boxes that the sort has listed for the uniform sweep
    // Of the sweeps over rounded boxes, kept from frame to frame; 0 at creation:
    uint32_t doubted;     // pairs that they had to test exactly, most of them
    psvi_backoff backoff; // they are left out after a frame with too many of these
    uint32_t paused;      // in this frame
    psvi_rows_ratio ratio;
} psvi_rows_plan;

// What tells one scene from another, roughly. The samples are of the same slots in every frame, so boxes that move do
// not change it at once.
typedef struct psvi_rows_scene {
    float spread[3]; // of the boxes
    float extent;    // the largest that a sample has; 0: not looked for
} psvi_rows_scene;

// The scenes that pauses were made for: they end early where another one comes. 0 at creation.
typedef struct psvi_rows_watch {
    psvi_rows_scene last;    // the frame before
    psvi_rows_scene doubted; // what the sweeps over rounded boxes rest for,
    psvi_rows_scene bins;    // the bins, by the device,
    psvi_rows_scene left;    // and a route, by the host
    uint32_t pause;          // in the pause of this number
    psvi_rows_scene over;    // the last one whose sweep was given up for the tree,
    uint32_t was_over;       // 0: there was none; frames since, and one
} psvi_rows_watch;

// What the fused kernel has seen in a frame.
typedef struct psvi_rows_seen {
    uint64_t candidates;
    uint32_t crowd;                          // greatest rank within a cell, where it matters
    uint32_t tickets;                        // given out in the sweep
    uint32_t longest[2 * (ROWS_LEVELS + 1)]; // as in the plan
} psvi_rows_seen;

typedef struct psvi_rows_barrier {
    uint32_t arrived[32]; // the first one counts; a line of its own
} psvi_rows_barrier;

// What the fused kernel keeps between frames; all zero at creation. The halves of plan and seen are of even and odd
// frames.
typedef struct psvi_rows_fused {
    uint32_t frame, ready; // frames done; the frame whose plan is there
    uint32_t made_for[2];  // of the plans: 0 none, 1 one set, 2 two sets
    uint32_t crowd[2];     // rank from which a cell is more crowded than the plan meant it to be
    psvi_rows_seen seen[2];
    psvi_rows_plan plan[2];
    psvi_rows_barrier barrier[ROWS_FUSED_BARRIERS];
    uint64_t sums[ROWS_FUSED_BLOCKS]; // boxes in each block's cells, with the frame's number
    uint64_t began;                   // in profiles: when the frame did
    uint32_t failures;                // frames with so many candidates that another route is faster
    uint32_t many;                    // of these, one behind the other up to now
    uint32_t too_far;                 // some box is too far away for the plan's scale; zero between frames
    psvi_rows_watch watch;            // of this kernel, which has no levels by shape
    psvi_rows_scene own;              // which it keeps, as the other route would take the tree
} psvi_rows_fused;

// What the route over worlds in order keeps; all zero at creation.
typedef struct psvi_rows_worlds {
    uint64_t own;       // boxes of the frame that it takes itself, all or none
    uint64_t rest;      // those that it leaves to another route
    uint32_t arrived;   // blocks that have looked at their boxes' worlds; zero between frames
    uint32_t unordered; // the boxes do not lie in order of world, or there are too many of one; zero between frames
    uint32_t failures;  // such frames
} psvi_rows_worlds;

// What the kernels for many boxes tell each other.
typedef struct psvi_rows_progress {
    uint32_t counted;  // blocks of the split that have; zero between frames
    uint32_t overfull; // a segment of the last frame had no room for its boxes
    uint32_t again;    // the split is run a second time
    uint32_t ordered;  // segments that blocks have taken up to order them
    uint32_t left;     // the first sweep has left something to the second one
} psvi_rows_progress;

// Runs of cells of equal length: what the sort of many boxes goes by.
typedef struct psvi_rows_segments {
    uint32_t count;        // of segments
    uint32_t shift;        // key to segment
    uint32_t held;         // segments that the split has room for at first,
    uint32_t room;         // so many boxes in each
    uint32_t *starts;      // boxes in those before, and in all of them
    uint32_t place_stride; // from one segment's place to the next one's
    uint32_t *place;       // next free place of each; zero between frames
} psvi_rows_segments;

// How a frame's cells are divided into bins.
typedef struct psvi_rows_bin_shape {
    uint32_t bins, each;   // cells of a bin, a multiple of 4
    uint32_t magic, shift; // that divide by it
    uint32_t room;         // for boxes
    uint32_t turns[3];     // on x, y and z, where cells wind (rows_winding.cuh); 0: they do not
} psvi_rows_bin_shape;

// What the kernels that sort by bins keep between frames; all zero at creation.
typedef struct psvi_rows_bin_state {
    uint32_t frame;                   // frames done
    uint32_t planned;                 // plans made; the last one is plan[planned & 1]
    uint32_t arrived;                 // blocks that are done with their boxes; zero between frames
    psvi_backoff backoff;             // of the attempts, which go on where the host is not asked (a graph)
    uint32_t excused;                 // attempts in a row that failed with another scene's plan
    uint32_t more;                    // rounds of bins more than usual, since some had no room for their boxes
    uint32_t is_new;                  // the scene has more than it may need, until a frame has told
    uint32_t pauses;                  // of the host, up to the last frame
    psvi_rows_scene scenes[2];        // of the boxes that the plans were made from,
    psvi_rows_scene replaced;         // and of the plan whose place the last one has taken
    uint32_t in_turn;                 // two scenes take turns, and so do their plans
    uint32_t veto;                    // of the frame: why its boxes do not go to bins
    uint64_t began, keyed;            // in profiles: when the counting sort began, and when its keys were made
    uint64_t sorted_ns;               // in profiles: what the first block's share of the first pass took
    uint32_t boxes, unusual, longest; // seen by the blocks; zero between frames
    uint32_t filtered;                // the same: filters do not let all pairs through
    uint32_t too_far;                 // the same: a box is too far away for the plan's scale
    uint32_t larger, levels;          // the same of boxes of other levels than the first: count, a bit a level
    uint32_t before[32];              // the following two share no line with what blocks read
    uint32_t done;                    // the frame's boxes are in bins: the counting sort has nothing to do
    psvi_rows_bin_shape shape;        // of the frame
    uint32_t failures;                // attempts that bins did not suit
    uint32_t tasks, counted, scanned, scattered; // of the counting sort: taken; done of each step
    uint32_t behind[32];
    uint32_t slots[2];                                // boxes that the plans were made for
    psvi_rows_bin_shape shapes[2][ROWS_BIN_MORE + 1]; // by `more`
    psvi_rows_plan plan[2];
} psvi_rows_bin_state;

typedef struct psvi_rows_bins {
    psvi_rows_bin_state *state; // NULL: no bins
    uint32_t *counts;           // boxes of each; zero between frames
    uint32_t *starts;           // boxes in those before, and in all of them
    void *entries;              // by bins, with the room of each
    uint64_t entry_room;
    uint32_t most;   // bins
    uint32_t tile;   // boxes that a block holds at a time; 0: the device has no room for that
    uint32_t round;  // bins that are ordered at a time
    uint32_t *told;  // host memory: `failures` of the state, as the device writes it
    uint32_t pauses; // how often the host has left bins out for a while; a new one tells the device to plan anew
} psvi_rows_bins;

// The counting sort's own memory.
typedef struct psvi_rows_counted {
    uint32_t *ranks;       // of the slots within their cells
    uint32_t *cell_counts; // per cell; zero between frames
    uint64_t *scan_states; // per tile of cells
} psvi_rows_counted;

// That of the sort by segments and its sweeps.
typedef struct psvi_rows_segmented {
    psvi_rows_segments segments;
    psvi_rows_progress *progress;
    bool split_together;     // a block of the split takes its boxes' places together
    uint32_t order_capacity; // records of a segment that is ordered on chip
    float *split;            // 8 floats per place, by segments, with the room of each
    uint64_t *rounded;       // per place: rows_rounded
    uint8_t *left;           // per chunk of the near sweep: what is left of it
} psvi_rows_segmented;

// That of a sort by a sorter.
typedef struct psvi_rows_sorted {
    uint32_t *keys;        // one per slot
    uint32_t *order;       // sorting permutation
    uint32_t *sorted_keys; // in order
} psvi_rows_sorted;

typedef struct psvi_rows_memory {
    psvi_rows_order order; // which of the following the finder has
    psvi_rows_counted counted;
    psvi_rows_fused *fused; // with counting
    psvi_rows_bins bins;    // with counting, of enough boxes
    psvi_rows_segmented segmented;
    psvi_rows_sorted sorted;
    // of all routes
    psvi_rows_plan *plan;
    psvi_rows_watch *watch;
    uint32_t *starts; // per cell and behind the last: the first place whose key is not less
    float *records;   // 8 floats per place; for sweeps over rounded boxes rows_uniform_arrays
    uint64_t room;    // slots that the arrays hold
    uint32_t key_bits;
    uint32_t multiprocessors; // of the device
    psvi_rows_policy policy;  // of the code that runs
    uint32_t fused_blocks;    // of the fused kernel; 0: it does not run here
    uint32_t *fused_told;     // host memory: frames that it did not suit, as the device tells
    uint32_t pause;           // number of the host's pause that the frame is in; 0: none
    bool fused_pauses;        // in it
    bool fused_waits;         // the frame's plan says first whether it suits the scene
    psvi_rows_worlds *worlds; // NULL: there is one world
    uint32_t *worlds_told;    // host memory: `failures` of the worlds, as the device writes it
    uint32_t *changed_told;   // host memory: the pause in which the device has seen another scene
    bool early;               // kernels may begin before the one in front has ended
    psvi_lbvh_at_once tree;   // for frames whose sweep would cost more; in memory of the sort where that has room
    bool has_tree;            // behind the sweep of this frame,
    bool tree_behind;         // in a launch of its own
    uint32_t *tree_told;      // host memory: whether the last frame that had a plan of its own was the tree's
    bool at_once;             // such a frame: one launch does all if it is not the tree's after all
} psvi_rows_memory;

// Does the fused kernel keep its whole table of starts on chip, and several lanes a box? Then a box has few candidates.
static inline bool psvi_rows_fused_is_local(const psvi_rows_memory *memory, uint64_t boxes) {
    return 4 * boxes <= (uint64_t)(memory->fused_blocks - 1) * ROWS_FUSED_THREADS && boxes <= ROWS_FUSED_LOCAL;
}

// Bits of a slot in an entry. Those above hold how often the box's cell goes around its axes.
static inline uint32_t psvi_rows_slot_bits(const psvi_rows_memory *memory) {
    uint32_t bits = 1;
    while ((uint64_t)1 << bits < memory->room)
        ++bits;
    return bits;
}

// Starts of cells that there is room for: with bins also those of the front once more (rows_winding.cuh).
static inline uint64_t psvi_rows_start_cells(const psvi_rows_memory *memory) {
    const uint64_t cells = (uint64_t)1 << memory->key_bits;
    return memory->bins.most == 0 ? cells : cells + cells / 4;
}

cudaError_t psvi_prepare_rows_exact(void); // once per device
cudaError_t psvi_launch_rows_plan(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_rows_keys(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_rows_sorted_gather(const psvi_find_input *input, const psvi_rows_memory *memory,
                                           cudaStream_t stream);
cudaError_t psvi_launch_rows_counted_scan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                          cudaStream_t stream);
cudaError_t psvi_launch_rows_counted_scatter(const psvi_find_input *input, const psvi_rows_memory *memory,
                                             cudaStream_t stream);
cudaError_t psvi_launch_rows_exact(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);
cudaError_t psvi_launch_rows_uniform(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);

// Bins are all of the sort of a uniform scene, which the uniform sweep then takes. Behind it comes one launch that
// leaves at once, or does all of a frame that the bins did not suit. Prepared once per finder: tile and round.
cudaError_t psvi_prepare_rows_bins_split(const psvi_rows_memory *memory);
cudaError_t psvi_prepare_rows_bins_order(psvi_rows_memory *memory);
cudaError_t psvi_launch_rows_bins_plan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                       cudaStream_t stream);
cudaError_t psvi_launch_rows_bins_split(const psvi_find_input *input, const psvi_rows_memory *memory,
                                        cudaStream_t stream);
cudaError_t psvi_launch_rows_bins_order(const psvi_find_input *input, const psvi_rows_memory *memory,
                                        cudaStream_t stream);
cudaError_t psvi_launch_rows_counted_exact(const psvi_find_input *input, const psvi_rows_memory *memory,
                                           cudaStream_t stream);

// For few boxes all of it in one cooperative launch, of memory->fused_blocks blocks. Prepared once per device.
cudaError_t psvi_prepare_rows_fused(void);
cudaError_t psvi_launch_rows_fused(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);

// Boxes in order of world: whether they are, with the result cleared; their pairs, behind the kernels of another route
// for the boxes that are not.
cudaError_t psvi_launch_rows_worlds_check(const psvi_find_input *input, const psvi_rows_memory *memory,
                                          cudaStream_t stream);
cudaError_t psvi_launch_rows_worlds(const psvi_find_input *input, const psvi_rows_memory *memory, cudaStream_t stream);

// The same for many boxes; split and order take the place of keys and sort. Prepared once per finder: split_together
// and order_capacity.
cudaError_t psvi_prepare_rows_segments_split(psvi_rows_memory *memory);
cudaError_t psvi_prepare_rows_segments_order(psvi_rows_memory *memory);
cudaError_t psvi_prepare_rows_segments_sweep(void);
cudaError_t psvi_launch_rows_segments_split(const psvi_find_input *input, const psvi_rows_memory *memory,
                                            cudaStream_t stream);
cudaError_t psvi_launch_rows_segments_order(const psvi_find_input *input, const psvi_rows_memory *memory,
                                            cudaStream_t stream);
cudaError_t psvi_launch_rows_segments_sweep(const psvi_find_input *input, const psvi_rows_memory *memory,
                                            cudaStream_t stream);

// The sweeps once more, for frames with rules of pairs.
cudaError_t psvi_prepare_rows_exact_ruled(void);
cudaError_t psvi_prepare_rows_fused_ruled(void);
cudaError_t psvi_prepare_rows_segments_sweep_ruled(void);
cudaError_t psvi_launch_rows_counted_exact_ruled(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                 cudaStream_t stream);
cudaError_t psvi_launch_rows_exact_ruled(const psvi_find_input *input, const psvi_rows_memory *memory,
                                         cudaStream_t stream);
cudaError_t psvi_launch_rows_fused_ruled(const psvi_find_input *input, const psvi_rows_memory *memory,
                                         cudaStream_t stream);
cudaError_t psvi_launch_rows_segments_sweep_ruled(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                  cudaStream_t stream);
cudaError_t psvi_launch_rows_uniform_listed(const psvi_find_input *input, const psvi_rows_memory *memory,
                                            cudaStream_t stream);
cudaError_t psvi_launch_rows_uniform_ruled(const psvi_find_input *input, const psvi_rows_memory *memory,
                                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
