// The sort of `rows` for uniform scenes by bins, runs of cells of about equal length: what its two kernels have to
// agree on. A bin is so small that a block orders it on chip. The number of bins is a multiple of the blocks that are
// on the device at once, so that all blocks have equal shares.
//
// A frame uses the bins of an earlier frame's plan. One frame of ROWS_BIN_PLANS makes the plan of those after it while
// it runs; planning takes longer than all else in the frame. A frame does not suit the bins if one has more boxes than
// room, or if too many boxes are larger or lie where cells end. The counting sort then takes this frame, with a plan of
// its own, and some frames after it. Where a scene is larger than its cells these wind.
#ifndef PAIRSIEVE_COLLISION_ROWS_BINS_CUH
#define PAIRSIEVE_COLLISION_ROWS_BINS_CUH

#include "../rows_uniform.cuh"

// Until the entries are in order, one holds in its slot's free bits how far its own cell lies behind the first cell
// that it looks at. An entry that looks at no cells holds its own cell in place of that first one.
#define ROWS_BIN_OWN_SHIFT 27
#define ROWS_BIN_OWN_MOST 31u
static_assert(ROWS_UNIFORM_ROOM <= 1u << ROWS_BIN_OWN_SHIFT, "slots leave the bits free");

// Where cells wind the slot's free bits hold turns, and the cell's number leaves room for that.
#define ROWS_WIND_OWN_SHIFT 22
#define ROWS_WIND_OWN_MOST 3u
#define ROWS_WIND_CELL ((1u << ROWS_WIND_OWN_SHIFT) - 1)
#define ROWS_WIND_FRONT 32u // numbers before the first cell, so that none that a box looks at is below 0
static_assert(ROWS_CELLS_A_BOX * ROWS_COUNTED_MOST <= 1u << ROWS_WIND_OWN_SHIFT, "a cell's number fits");

__device__ __forceinline__ uint32_t rows_bin_cell(uint32_t slot, uint32_t look, bool winds) {
    if (winds) return (look & ROWS_WIND_CELL) + (look >> ROWS_WIND_OWN_SHIFT & ROWS_WIND_OWN_MOST);
    return (look & ROWS_LOOK_CELL) + (slot >> ROWS_BIN_OWN_SHIFT);
}

// Of cells that wind, the last one that is there once more behind the end, as many behind the last cell as it is behind
// the first: no box looks further.
__device__ __forceinline__ uint32_t rows_wind_end(const psvi_rows_level &level) {
    const uint32_t row = (uint32_t)level.cells[0], next_z = level.cells[2] > 1 ? row : 0;
    return 2 * ROWS_WIND_FRONT + 1 + next_z + (level.cells[1] > 1 ? row * (uint32_t)level.cells[2] : 0);
}

// How a frame's cells are divided into bins; `more`: rounds of bins beyond the usual number. The end of the cells
// counts as one cell, without boxes, and so do those in front of cells that wind.
__device__ __forceinline__ void rows_choose_bins(const psvi_rows_bins &bins, uint32_t cells, uint64_t boxes,
                                                 uint32_t more, psvi_rows_bin_shape *to) {
    const uint32_t all = cells + 1 + ROWS_WIND_FRONT;
    const uint32_t wanted = max((all + ROWS_BIN_CELLS - 1) / ROWS_BIN_CELLS, (uint32_t)(boxes / ROWS_BIN_BOXES) + 1);
    psvi_rows_bin_shape shape;
    shape.bins = min(((wanted + bins.round - 1) / bins.round + more) * bins.round, bins.most);
    shape.each = max((all + shape.bins - 1) / shape.bins + 3, 16u) / 4 * 4;
    shape.shift = 31 - __clz(shape.each - 1);
    shape.magic = (uint32_t)((((uint64_t)1 << (32 + shape.shift)) + shape.each - 1) / shape.each);
    shape.room = (uint32_t)min((uint64_t)ROWS_BIN_ROOM, bins.entry_room / shape.bins);
    to->bins = shape.bins, to->each = shape.each, to->magic = shape.magic, to->shift = shape.shift;
    to->room = shape.room;
}

// cell / shape.each, for cells below 2^31.
__device__ __forceinline__ uint32_t rows_bin_of(uint32_t magic, uint32_t shift, uint32_t cell) {
    return __umulhi(cell, magic) >> shift;
}

#endif
