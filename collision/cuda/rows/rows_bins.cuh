// The sort of `rows` for uniform scenes by bins, runs of cells of about equal length: what its two kernels have to
// agree on. A bin is so small that a block orders it on chip; their number is a multiple of the blocks that are on the
// device at once, so that all of them have equal shares.
//
// The bins lie as the plan of the last frame would have it, made while that one ran. A frame that this does not suit,
// with a bin that has more boxes than room, a second level, or many boxes where cells wrap around or end, is left to
// the counting sort with a plan of its own, and so are some frames after it.
#ifndef PAIRSIEVE_COLLISION_ROWS_BINS_CUH
#define PAIRSIEVE_COLLISION_ROWS_BINS_CUH

#include "rows_uniform.cuh"

// Until the entries are in order, one holds in its slot's free bits how far its own cell lies behind the first cell
// that it looks at. An entry that looks at no cells holds its own cell in place of that first one.
#define ROWS_BIN_OWN_SHIFT 27
#define ROWS_BIN_OWN_MOST 31u
static_assert(ROWS_UNIFORM_ROOM <= 1u << ROWS_BIN_OWN_SHIFT, "slots leave the bits free");

__device__ __forceinline__ uint32_t rows_bin_cell(uint32_t slot, uint32_t look) {
    return (look & ROWS_LOOK_CELL) + (slot >> ROWS_BIN_OWN_SHIFT);
}

// How a frame's cells are divided into bins; `more`: rounds of bins beyond the usual number. The end of the cells
// counts as one cell, without boxes.
__device__ __forceinline__ psvi_rows_bin_shape rows_bin_shape_of(const psvi_rows_bins &bins, uint32_t cells,
                                                                 uint64_t boxes, uint32_t more) {
    const uint32_t all = cells + 1;
    const uint32_t wanted = max((all + ROWS_BIN_CELLS - 1) / ROWS_BIN_CELLS, (uint32_t)(boxes / ROWS_BIN_BOXES) + 1);
    psvi_rows_bin_shape shape;
    shape.bins = min(((wanted + bins.round - 1) / bins.round + more) * bins.round, bins.most);
    shape.each = max((all + shape.bins - 1) / shape.bins + 3, 16u) / 4 * 4;
    shape.shift = 31 - __clz(shape.each - 1);
    shape.magic = (uint32_t)((((uint64_t)1 << (32 + shape.shift)) + shape.each - 1) / shape.each);
    shape.room = (uint32_t)min((uint64_t)ROWS_BIN_ROOM, bins.entry_room / shape.bins);
    return shape;
}

// cell / shape.each, for cells below 2^31.
__device__ __forceinline__ uint32_t rows_bin_of(uint32_t magic, uint32_t shift, uint32_t cell) {
    return __umulhi(cell, magic) >> shift;
}

#endif
