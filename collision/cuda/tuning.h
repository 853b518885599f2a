// Tuning constants of the CUDA broad-phase kernels.
#ifndef PAIRSIEVE_COLLISION_CUDA_TUNING_H
#define PAIRSIEVE_COLLISION_CUDA_TUNING_H

#define SWEEP_SAMPLES 1024 // boxes that the axis is chosen from; one block
#define SWEEP_THREADS 256
#define SWEEP_OWN_STEPS 256 // candidates that a thread sweeps alone before its warp helps

#define ROWS_LEVELS 12         // size levels, the one for huge boxes not counted
#define ROWS_UPPER_LEVELS 2    // of these, above the largest sampled box
#define ROWS_LEVEL_STEP 2.5f   // ratio of the extents of two levels
#define ROWS_WIDER_STEPS 6     // each twice the one before; which is best is tried out
#define ROWS_LEVEL_COST 12     // what a level costs every box, in candidates
#define ROWS_TRY_CANDIDATES 48 // of a box, at most, that a wider step may bring, as far as the sampled boxes tell
#define ROWS_TRY_PARTNERS 128  // other sampled boxes that each of them is compared with to tell that
#define ROWS_TRY_AGAIN 256     // frames after which it is tried again
#define ROWS_LONG_AXIS 1.0f    // extents on x count this much less: x is swept, not divided into rows
#define ROWS_LIMIT_PAD 1.0625f // sampled extent to level limit, so that boxes a little larger stay in the level
#define ROWS_SAMPLES 1024      // boxes that the plan is made from; one block
#define ROWS_KEY_THREADS 256
#define ROWS_KEY_ITEMS 2
#define ROWS_GATHER_THREADS 256
#define ROWS_GATHER_SPAN 2048        // cells that a block fills through shared memory
#define ROWS_COUNTED_MOST (1u << 21) // boxes up to which counting beats a sorter: its table stays in the cache
#define ROWS_SCAN_THREADS 256
#define ROWS_SCAN_ITEMS 16 // cells of a thread
#define ROWS_SCATTER_THREADS 256
#define ROWS_SCATTER_BLOCKS 8 // resident on a multiprocessor, where it holds 2,048 threads
#define ROWS_SWEEP_THREADS 256
#define ROWS_SWEEP_BLOCKS 3       // resident on a multiprocessor
#define ROWS_TOGETHER_RANGE 512   // candidates of a range from which on a block's warps stay together
#define ROWS_FEW_BOXES (1u << 19) // up to here a warp may take fewer than 32 boxes,
#define ROWS_LEAST_A_WARP 4       // at least this many,
#define ROWS_MANY_CANDIDATES 32   // from this many candidates a box on
#define ROWS_HITS 6      // partners that a lane notes before the warp hands them over; 32 times this fit a pair buffer
#define ROWS_INTERVALS 5 // runs of cells that a box looks up at once: those of one level without wrapping
#define ROWS_LONG_RANGE 32 // candidates from which on a warp sweeps a range together
#define ROWS_X_STEPS 4.0f  // finest x cell: level limit over this

#define ROWS_FUSED_MOST (1u << 18) // boxes that the fused kernel takes, if its threads suffice
#define ROWS_FUSED_LOCAL 24000     // boxes up to which every block scans all cells itself,
#define ROWS_FUSED_CELLS 48000     // at most this many; a place has 16 bits
#define ROWS_FUSED_CELLS_A_BOX 1.5f
#define ROWS_FUSED_THREADS 768
#define ROWS_FUSED_ITEMS 2    // boxes of a thread
#define ROWS_FUSED_BLOCKS 256 // at most
#define ROWS_FUSED_BARRIERS 5 // of a frame
#define ROWS_FUSED_CROWD 512  // boxes in a cell from which on an old plan is doubted

// `rows` for even scenes: boxes of one level, hardly any of them crowded or at the edge.
#define ROWS_LIGHT_BITS 24         // of the key, at most
#define ROWS_LIGHT_ROOM (1u << 27) // boxes, at most
#define ROWS_LIGHT_THREADS 256
#define ROWS_LIGHT_BLOCKS 5           // resident on a multiprocessor
#define ROWS_LIGHT_HITS 96            // candidates of a warp that are looked at side by side
#define ROWS_LIGHT_TICKETS (1u << 22) // boxes, above which warps take chunks as they come to them
#define ROWS_LIGHT_CROWD 5            // boxes in a crowded cell, at least
#define ROWS_LIGHT_CROWDED 32         // crowded boxes: at most one of so many
#define ROWS_LIGHT_UNUSUAL 512        // unusual ones: at most one of so many

// `rows` with rounded boxes for uneven scenes.
#define ROWS_UNEVEN_THREADS 256
#ifndef ROWS_UNEVEN_BLOCKS
#define ROWS_UNEVEN_BLOCKS 4 // resident on a multiprocessor
#endif
#define ROWS_UNEVEN_HITS 96     // candidates of a warp that are looked at side by side
#define ROWS_UNEVEN_PUT_OFF 512 // looks that a block puts off
// What a place costs, about, in instructions of a warp, when its lanes go through a run together; what a run costs
// then; and what a place costs when every lane goes through its own.
#define ROWS_UNEVEN_TOGETHER 11
#define ROWS_UNEVEN_TOGETHER_RUN 30
#define ROWS_UNEVEN_APART 9
#define ROWS_UNEVEN_DOUBTED 8  // places looked at for which a pair in doubt is forgiven
#define ROWS_UNEVEN_FEW 64     // boxes of a level that all finer ones are compared with
#define ROWS_UNEVEN_CROWDED 16 // boxes in crowded cells, where that is worth while: at least one of so many
#ifndef ROWS_UNEVEN_LOOKING
#define ROWS_UNEVEN_LOOKING 8 // boxes that look into a level of more: at most one of so many
#endif
#ifndef ROWS_UNEVEN_UNUSUAL
#define ROWS_UNEVEN_UNUSUAL 8 // boxes that look other than usual: at most one of so many
#endif

// `rows` for even scenes of a middling number of boxes: entries go to bins, which are ordered on chip.
#ifndef ROWS_BIN_LEAST
#define ROWS_BIN_LEAST (1u << 17) // boxes, above which a finder has bins
#endif
#define ROWS_BIN_THREADS 1024
#define ROWS_BIN_ITEMS 8   // boxes of a thread at a time, at most
#define ROWS_BIN_ROOM 2560 // boxes of a bin, at most
// The same on average over all cells: those at the edge are empty, others have 1.3 times that or, in a flat scene, 1.5
// times; then there are more bins.
#define ROWS_BIN_BOXES 1900
#define ROWS_BIN_CELLS 4096 // cells of a bin, at most
#define ROWS_BIN_MORE 2     // rounds more than that, at most
#define ROWS_BIN_ROUND 1056 // bins that are ordered at a time, at most
#define ROWS_ORDER_BIN_THREADS 512
#define ROWS_ORDER_BIN_BLOCKS 4 // resident on a multiprocessor
#ifndef ROWS_BIN_REST
#define ROWS_BIN_REST 64 // frames that the host leaves out bins for at first, when they did not suit one,
#endif
#define ROWS_BIN_REST_MOST 1024 // and at most

// `rows` for many boxes.
// Below, counting loses less on uneven scenes, whose segments are uneven too.
#define ROWS_MANY_LEAST (1u << 21)
#define ROWS_ROW_FIT 0.998f       // level limit over a row; below 1 no rounding adds a third row
#define ROWS_ROUNDED_LIMIT 100.0f // level limit in rounded coordinates; twice that and their errors stay below 256
#define ROWS_ROUNDED_MOST 8e6f    // coordinates beyond are clamped; integers up to here are exact
#define ROWS_CELLS_A_BOX 2        // of the plan, where the keys have room for them
#define ROWS_SEGMENT_CELL_BITS 12 // cells of a segment, at most
#define ROWS_SEGMENT_BOXES 3072   // boxes, if they lie evenly, at most
#define ROWS_SPLIT_THREADS 768
#define ROWS_SPLIT_BLOCKS 2         // resident on a multiprocessor
#define ROWS_SPLIT_ITEMS 2          // boxes of a thread
#define ROWS_TOGETHER_ITEMS 5       // the same where a block takes their places together,
#define ROWS_TOGETHER_SEGMENTS 4096 // in at most so many segments
#define ROWS_PLACE_STEP 8           // words; in more segments their counters do not share a sector
#define ROWS_ORDER_THREADS 1024
#define ROWS_ORDER_ITEMS 6 // records of a thread on chip, at most
#define ROWS_MANY_THREADS 256
#define ROWS_NEAR_BLOCKS 5 // of the first sweep, resident on a multiprocessor
#define ROWS_REST_BLOCKS 3 // of the second one
#define ROWS_MANY_NOTES 8  // partners that a lane can note before the warp tests them exactly
#define ROWS_MANY_TURNS 2  // of two candidates between two looks at how many are noted

#define LBVH_SAMPLES 256 // boxes that the scene's extent is estimated from; one block
#define LBVH_THREADS 128
#define LBVH_STEPS 8       // of a walk between two looks at the pair buffer
#define LBVH_OWN_STEPS 256 // of a walk before its rest is cut into parts
#define LBVH_PART 1024     // leaves of a part
#define LBVH_PART_BLOCKS 8 // blocks per multiprocessor that walk parts

#define SAP3_THREADS 256
#define SAP3_OWN_STEPS 256 // partners on the last axis that a thread tests alone before its warp helps

#define GRID_SAMPLES 256 // boxes that the cell size is chosen from; one block
#define GRID_THREADS 256
#define GRID_CELL_SCALE 1.25f // cell over the largest sampled box
#define GRID_OWN_STEPS 64     // successors in a cell that a thread tests alone before its warp helps
#define GRID_LARGE_TILE 128   // large boxes in shared memory at a time

#define BOUNDS_THREADS 256
#define BOUNDS_THREAD_POINTS 16 // longer point sets get a warp
#define BOUNDS_WARP_POINTS 1024 // longer ones a block

#define PAIR_OPS_THREADS 256
#define PAIR_OPS_TILE 1024 // pairs that a block compares and compacts

#endif
