// Shared by the kernels of a digit pass. A column of the table holds the counts of one counter: of a tile, or in the
// serial form of a run of elements. Elements come in parts, each small enough for a storage block.
#define SHIFT param(5)
#define MASK param(6)
#define ROW param(7)       // columns that a row of the table has room for
#define TILE_FIRST param(8) // number of the part's first tile
#define PART_FIRST param(9) // number of the part's first element
#include "radix_state.glsl"
layout(std430, binding = 0) buffer state_block { uint state[]; };
layout(std430, binding = 1) buffer table_block { uint table[]; };
layout(std430, binding = 2) buffer totals_block { uint totals[]; };
layout(std430, binding = 3) readonly buffer key_block { uint keys[]; };
