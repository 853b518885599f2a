// Tuning constants of the CUDA broad-phase kernels; those of `rows` are in rows/rows_tuning.h.
#ifndef PAIRSIEVE_COLLISION_BROAD_PHASE_TUNING_H
#define PAIRSIEVE_COLLISION_BROAD_PHASE_TUNING_H

#define PSVI_BLOCK_THREADS 256  // of kernels whose threads take one item after the other, as the data come
#define PSVI_SEARCH_THREADS 128 // of a block that searches a tree or makes its leaves

#define SWEEP_OWN_STEPS 256 // candidates that a thread tests alone before its warp helps, in the papers' sweep and sap3

#define LBVH_SAMPLES 128      // boxes that the scene's extent and the usual size are estimated from; one block
#define LBVH_LEAF_THREADS 512 // 8^3: a block makes three levels of runs
#define LBVH_STEPS 128        // of a search for a group, four runs each, before its rest is cut into parts
#define LBVH_WALK_PARTS 16384 // of all groups: where most searches are long, cutting them gains nothing
#define LBVH_FAR 8.0f         // times the reach of its least run: a group that reaches farther is searched in pieces
#define LBVH_PART_LEVEL 3     // runs of lower levels stay with their search
#define LBVH_QUERY_STEPS 96   // of a search for one box
#define LBVH_PART 1024        // leaves of a part
#define LBVH_PART_BLOCKS 8    // blocks per multiprocessor that search parts
#define LBVH_CLASS_LEAST 0x1p-11f // of the usual size: the largest of the first class; of the others
#define LBVH_CLASS_STEP 8.0f      // so many times more,
#define LBVH_CLASS_USUAL 4        // but for the class of the usual size, which is number
#define LBVH_CLASS_WIDE 4.0f      // and so many times wider than that
#define LBVH_CLASS_SAMPLES 8      // of a class, at least, or it has the scene's extent

// Walks of rays and points: queries of a warp, idle lanes that get new ones, and the share of lanes (one in so many)
// that wait for items when these are tested.
#define TREE_WALK_QUERIES 128
#define TREE_WALK_REFILL 8
#define TREE_WALK_WAITING 2
#define TREE_WALK_FROM 64 // rays below which all take the plain walk

#define PSVI_THREAD_ROW 16      // points of a set, or pairs of a box, that one thread takes; longer rows get a warp
#define BOUNDS_WARP_POINTS 1024 // longer point sets get a block

#define PAIR_TILE 1024      // pairs that a block counts, places, compares and compacts at a time
#define GROUP_WARP_ROW 512u // pairs of one box that a warp puts in order; a block with a bit for each box does others
#define GROUP_MOST_BLOCKS 256u // of these, as many as have 4 bytes a box, but
#define GROUP_LEAST_BLOCKS 32u

#endif
