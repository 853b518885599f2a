// Constants of `rows` on CUDA that follow from its formats and from floats: they are not tuned.
#ifndef PAIRSIEVE_COLLISION_ROWS_FORMAT_H
#define PAIRSIEVE_COLLISION_ROWS_FORMAT_H

#define ROWS_TINY 1e-20f      // a scene within this far of the origin is scaled up
#define ROWS_TINY_UP 0x1p100f // by so much
#define ROWS_LARGEST 1e37f    // extents beyond are those of huge boxes

#define ROWS_INTERVALS 5      // runs of cells that a box looks up at once: those of one level without wrapping
#define ROWS_FUSED_BARRIERS 5 // of a frame
#define ROWS_TREE_MOST (UINT64_C(1) << 30) // boxes of a finder that has a tree, at most

// Boxes as the sweeps over rounded boxes hold them.
#define ROWS_UNIFORM_BITS 24 // of the key, at most
#define ROWS_UNIFORM_SLOT_BITS 27
#define ROWS_UNIFORM_ROOM (1u << ROWS_UNIFORM_SLOT_BITS) // boxes, at most
#define ROWS_ROW_FIT 0.998f                              // level limit over a row; below 1 no rounding adds a third row
#define ROWS_ROUNDED_LIMIT 100.0f // level limit in rounded coordinates; twice that and their errors stay below 256
#define ROWS_ROUNDED_MOST 8e6f    // coordinates beyond are clamped; integers up to here are exact

#define ROWS_BIN_FIXED_BYTES 2560 // shared memory of a block, but for what follows: two words a bin, and for a box
#define ROWS_BIN_BOX_BYTES 26

#endif
