// Tuning constants of `rows` on CUDA. What differs by architecture is in rows_policy.h, what follows from formats in
// rows_format.h, threads of most kernels (PSVI_BLOCK_THREADS) in ../broad_phase_tuning.h.
#ifndef PAIRSIEVE_COLLISION_ROWS_TUNING_H
#define PAIRSIEVE_COLLISION_ROWS_TUNING_H

#include "../broad_phase_tuning.h"
#include "rows_format.h"

#define ROWS_LEVELS 12         // size levels, the one for huge boxes not counted
#define ROWS_UPPER_LEVELS 2    // of these, above the largest sampled box
#define ROWS_LEVEL_RATIO 2.5f  // ratio of the extents of two levels
#define ROWS_RATIOS 6          // each twice the one before; which is best is tried out
#define ROWS_LEVEL_COST 12     // what a level costs every box, in candidates
#define ROWS_TRY_CANDIDATES 48 // of a box, at most, that a wider ratio may bring, as far as the sampled boxes tell
#define ROWS_TRY_PARTNERS 128  // other sampled boxes that each of them is compared with to tell that
#define ROWS_DOUBTS 4          // pairs in doubt of a box, at most, before the sweeps over rounded boxes are left out
#define ROWS_PAUSE_LEAST 8     // frames that a sweep over rounded boxes, or the bins, are left out for at first,
// And at most (psvi_backoff). A ratio is tried again after as many frames, a sweep in place of the tree after twice as
// many.
#define ROWS_PAUSE_MOST 256
// One level for nearly all boxes, and a few larger ones that look down into it: how its limit is chosen. What boxes
// cost then, in instructions of a lane, about.
#define ROWS_DOWN_BINS 64             // of sampled extents, four an octave
#define ROWS_DOWN_LARGER 16           // larger boxes: at most one of so many
#define ROWS_DOWN_FEW_LARGER 64       // samples: boxes are of about one size but for one in so many
#define ROWS_DOWN_SPARE 1024          // a level of larger boxes gets a cell of so many, at least
#define ROWS_DOWN_X_CELLS 14.0f       // finest x cell: level limit over this, so that a run fits a look
#define ROWS_DOWN_BOX 700.0f          // any box
#define ROWS_DOWN_CANDIDATE 15.0f     // a candidate of it
#define ROWS_DOWN_LARGER_BOX 15000.0f // a larger box: a warp goes about with it
#define ROWS_DOWN_LARGER_ROW 100.0f   // a row that it looks at
#define ROWS_DOWN_LARGER_CANDIDATE 80.0f
#ifndef ROWS_DOWN_MOST
#define ROWS_DOWN_MOST 2800.0f // a box on average; at more, levels of all sizes are made
#endif
// A larger box is cut into parts, of which there are 2 * ROWS_DOWN_FEW at most.
#define ROWS_DOWN_FEW_ROWS 8 // rows of a part where there are few parts, else 16 times as many,
#define ROWS_DOWN_FEW 4096   // which is so many parts at most
// Levels for thin boxes by their shape: where that costs so much less, by the same measure. They are looked at where a
// level for all shapes costs a box 2 * ROWS_DOWN_BOX.
#define ROWS_SHAPE_GAIN 0.5f   // part of that, at most, for three levels
#define ROWS_SHAPE_LOOK 600.0f // a look at a level
#define ROWS_SHAPE_ROWS 3.0f   // rows that the others' boxes cover, at most, on average
#define ROWS_LIMIT_PAD 1.0625f // sampled extent to level limit, so that boxes a little larger stay in the level
#define ROWS_SAMPLES 1024      // boxes that the plan is made from; one block
// Boxes in order of world are not sorted: in frames of so many boxes at least, with at most so many of each world.
#define ROWS_WORLDS_LEAST (1u << 15)
#define ROWS_WORLDS_MOST 256u
#define ROWS_ITEMS 2                 // boxes of a thread that makes keys or entries
#define ROWS_COUNTED_MOST (1u << 21) // boxes up to which counting beats segments: its table stays in the cache
#define ROWS_SCAN_ITEMS 16           // cells of a thread
#define ROWS_SWEEP_BLOCKS 3          // resident on a multiprocessor
#define ROWS_TOGETHER_RANGE 512      // candidates of a range from which on a block's warps stay together
// A warp of the exact sweep takes 32 boxes. With long ranges it takes fewer, so that more warps hide each other's
// waits.
#define ROWS_FEW_BOXES (1u << 19) // only in frames of at most so many boxes
#define ROWS_LEAST_A_WARP 4       // boxes of a warp, at least
#define ROWS_HITS 6 // partners that a lane notes before the warp hands them over; 32 times this fit a pair buffer
#define ROWS_LONG_RANGE 32 // candidates from which on a warp sweeps together; as many a box: a busy frame
#define ROWS_X_CELLS 4.0f  // finest x cell: level limit over this

#define ROWS_FUSED_MOST (1u << 18) // boxes that the fused kernel takes, if its threads suffice
#define ROWS_FUSED_LOCAL 24000     // boxes up to which every block scans all cells itself, at most twice as many
#define ROWS_FUSED_CELLS_A_BOX 1.5f
#define ROWS_FUSED_THREADS 768
#define ROWS_FUSED_TOLD 60000   // boxes from which on frames with many candidates are told to the host,
#define ROWS_FUSED_MANY 20      // more of a box than it has pairs: looking down and by shape they are fewer,
#define ROWS_FUSED_PAIRS 5      // but not in scenes of more pairs a box, such as meshes
#define ROWS_FUSED_BLOCKS 256   // at most
#define ROWS_FUSED_BYTES 212992 // shared memory of a block: its own and the local table
#define ROWS_FUSED_CROWD 512    // boxes in a cell from which on an old plan is doubted

// `rows` for uniform scenes: boxes of one level, hardly any of them crowded or at the edge.
#define ROWS_UNIFORM_HITS 96            // candidates of a warp that are looked at side by side
#define ROWS_UNIFORM_TICKETS (1u << 22) // boxes, above which warps take chunks as they come to them
#define ROWS_UNIFORM_MANY_LARGER 256    // larger boxes, at least, whose sweep takes long
#define ROWS_UNIFORM_CROWD 5            // boxes in a crowded cell, at least
#define ROWS_UNIFORM_CROWDED 32         // crowded boxes: at most one of so many
#define ROWS_UNIFORM_UNUSUAL 512        // unusual ones: at most one of so many in bins,
#define ROWS_SEGMENTS_UNUSUAL 12        // and in segments, where those near an end are counted

// What a sweep may cost before the frame goes by the tree (rows_bound.cuh), in tests of a lane. It is about half of
// what the tree takes: 0.05 ms, and 0.25 ms for a million boxes. A tree of boxes around long thin ones takes several
// times that.
#define ROWS_BOUND_FRAME (UINT64_C(8) << 20)
#define ROWS_BOUND_BOX 96             // for each box,
#define ROWS_BOUND_SHAPED 8           // and so many times all of this where levels go by shape;
#define ROWS_BOUND_PAIR 4             // and each pair
#define ROWS_BOUND_FREE 768           // of a look of 32 boxes, that are not counted
#define ROWS_BOUND_STEP 4096          // that a warp adds up before it tells them
#define ROWS_BOUND_WARP (1u << 15)    // of one warp alone, at most,
#define ROWS_BOUND_WARP_BOXES 32      // and one more for so many boxes
#define ROWS_BOUND_LOOK 128           // a look costs as much besides,
#define ROWS_BOUND_LARGER 4           // and a test of a larger box so many times one
#define ROWS_BOUND_RUN 1024           // places of one run in the uniform sweep, at most, and one more for so many boxes
#define ROWS_BOUND_SEGMENT (1u << 16) // boxes of a segment, at most
// A new scene's sweep is not begun where the plan's samples foresee so many times the tests that it may take.
#define ROWS_FORESEE_TIMES 4
#define ROWS_FORESEE_PARTNERS 8  // samples that each is compared with; below 32
#define ROWS_FORESEE_LEAST 64.0f // halves of tests between samples, at least
#define ROWS_FORESEE_LEVELS 4    // levels of different sizes; boxes of fewer lie too evenly to waste so much

// `rows` for uniform scenes of a middling number of boxes: entries go to bins, which are ordered on chip.
#ifndef ROWS_BIN_LEAST
#define ROWS_BIN_LEAST (1u << 17) // boxes, above which a finder has bins
#endif
#define ROWS_WHOLE_THREADS 1024 // of a block that has a multiprocessor for itself
#define ROWS_BIN_ITEMS 8        // boxes of a thread at a time, at most
#define ROWS_BIN_ROOM 2560      // boxes of a bin, at most
// The same on average over all cells: those at the edge are empty, others have 1.3 times that or, in a flat scene, 1.5
// times; then there are more bins.
#define ROWS_BIN_BOXES 1900
#define ROWS_BIN_MORE 3     // rounds more than that, at most
#define ROWS_BIN_SPARE 8    // room for so many times the boxes of a new scene, whose bins may be uneven
#define ROWS_BIN_EXCUSED 2  // failures in a row with another scene's plan that tell nothing, at most
#define ROWS_BIN_PLANS 4    // frames that a plan serves, unless boxes do not suit it before
#define ROWS_BIN_CODE 80    // oldest code that they are taken with
#define ROWS_BIN_ROUND 1056 // bins that are ordered at a time, at most
#define ROWS_ORDER_BIN_THREADS 512
#ifndef ROWS_ROUTE_PAUSE
#define ROWS_ROUTE_PAUSE 64 // frames that the host leaves out a route for at first, at most 16 times as many
#endif
#define ROWS_SCENE_LIKE 1.3f // scenes are alike if their measures differ by no larger a factor; others end pauses

// `rows` for many boxes.
#define ROWS_CELLS_A_BOX 2        // of the plan, where the keys have room for them
#define ROWS_SEGMENT_CELL_BITS 12 // cells of a segment, at most
#define ROWS_SPLIT_THREADS 768
#define ROWS_TOGETHER_ITEMS 5       // the same where a block takes their places together,
#define ROWS_TOGETHER_SEGMENTS 4096 // in at most so many segments
#define ROWS_ORDER_ITEMS 6          // records of a thread on chip, at most
#define ROWS_NEAR_NOTES 8           // partners that a lane can note before the warp tests them exactly
#define ROWS_NEAR_TURNS 2           // of two candidates between two looks at how many are noted

#endif
