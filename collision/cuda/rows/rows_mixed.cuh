// `rows` for mixed scenes (several sizes, crowded cells): what the scatter and their sweep have to agree on. The
// entries are those of the uniform sweep, but cells may be crowded and wrap around, boxes may be of several levels, and
// they may be static.
#ifndef PAIRSIEVE_COLLISION_ROWS_MIXED_CUH
#define PAIRSIEVE_COLLISION_ROWS_MIXED_CUH

#include "rows_uniform.cuh"

// These lie in the memory of the records: a frame has the one or the other.
struct rows_mixed_arrays {
    uint4 *entries;     // per place: rounded box in two words, slot with turns, rows_look
    uint32_t slot_bits; // of the slot; what they leave tells how many times the box's cell lies around the axes
};

static inline rows_mixed_arrays rows_mixed_arrays_of(const psvi_rows_memory *memory) {
    rows_mixed_arrays arrays;
    arrays.entries = reinterpret_cast<uint4 *>(memory->records);
    arrays.slot_bits = psvi_rows_slot_bits(memory);
    return arrays;
}

static inline rows_slots rows_mixed_slots_of(const rows_mixed_arrays &arrays) {
    return rows_slots{reinterpret_cast<const uint32_t *>(arrays.entries) + 2, 4,
                      (uint32_t)(((uint64_t)1 << arrays.slot_bits) - 1)};
}

__device__ __forceinline__ bool rows_has_levels(uint32_t populated) { return (populated & (populated - 1)) != 0; }

// Why the mixed sweep does not take the frame, whose route it is as far as the host knows; PSVI_ROWS_NO_VETO: it does.
// It needs filters that let all pairs through, few boxes that look other than usual, and few that look into a coarser
// level of more than a few boxes. Known once the scan has run.
__device__ __forceinline__ uint32_t rows_mixed_veto(const psvi_rows_plan *plan, const uint32_t *starts,
                                                    uint64_t boxes) {
    const uint32_t populated = plan->populated;
    if (plan->paused) return PSVI_ROWS_VETO_DOUBTS;
    if (plan->filtered != 0) return PSVI_ROWS_VETO_FILTERS;
    if (populated == 0 || populated >= 2u << plan->levels) return PSVI_ROWS_VETO_SIZES;
    if ((uint64_t)plan->unusual * ROWS_MIXED_UNUSUAL > boxes) return PSVI_ROWS_VETO_EDGES;
    if (!rows_has_levels(populated) || rows_looks_down(plan, boxes)) return PSVI_ROWS_NO_VETO;
    const bool crowded = (uint64_t)plan->crowded * ROWS_MIXED_CROWDED >= boxes;
    bool few = true;
    for (uint32_t levels = populated; levels != 0; levels &= levels - 1) {
        const psvi_rows_level &level = plan->level[__ffs(levels) - 1];
        const uint32_t start = starts[level.base], end = starts[level.base + level.set_cells];
        few = few && ((crowded && end - start <= ROWS_MIXED_FEW) || (uint64_t)start * ROWS_MIXED_LOOKING <= boxes);
    }
    return few ? PSVI_ROWS_NO_VETO : PSVI_ROWS_VETO_SIZES;
}

__device__ __forceinline__ bool rows_is_mixed(const psvi_rows_plan *plan, const uint32_t *starts, uint64_t boxes) {
    return rows_mixed_veto(plan, starts, boxes) == PSVI_ROWS_NO_VETO;
}

// Bit of the rounded box's first word: the box looks across an end of y or z. It is vague then, because boxes behind
// the end have other turns.
#define ROWS_ACROSS (1u << 30)

// How many times a cell's number went around its axis.
__device__ __forceinline__ uint32_t rows_turns(float value, float origin, float inverse, int32_t cells) {
    const int32_t cell = rows_cell(value, origin, inverse, cells), whole = cell / cells;
    return (uint32_t)(whole - (cell < whole * cells));
}

// Those of a usual box in `bits` bits, and whether they fit.
__device__ __forceinline__ bool rows_pack_turns(const psvi_rows_level &level, const psvd_record &box, uint32_t bits,
                                                uint32_t *packed) {
    const uint32_t bits_y = (bits + 1) / 3, bits_x = bits - 2 * bits_y;
    const uint32_t x = rows_turns(box.first.x, level.origin[0], level.inverse[0], level.cells[0]);
    const uint32_t y = rows_turns(box.first.z, level.origin[1], level.inverse[1], level.cells[1]);
    const uint32_t z = rows_turns(box.second.x, level.origin[2], level.inverse[2], level.cells[2]);
    *packed = x << 2 * bits_y | y << bits_y | z;
    return (x >> bits_x | y >> bits_y | z >> bits_y) == 0;
}

// The entry of a box of the level, and its cell. Cells wrap around, so boxes that are far apart may share one. Each
// entry has the box's turns: how often its cell number went around each axis. Two boxes with different turns are far
// apart and no pair, unless one of them is vague.
__device__ __forceinline__ uint4 rows_mixed_entry(const psvi_rows_level &level, float longest, const psvd_record &box,
                                                  uint32_t slot_bits, uint32_t *cell) {
    rows_near near;
    const uint32_t look = rows_look<true>(level, longest, box, &near);
    uint32_t turns = 0;
    bool clear = look != 0 && !near.across;
    if (near.around && clear) clear = rows_pack_turns(level, box, 32 - slot_bits, &turns);
    *cell = near.own;
    uint2 rounded = rows_rounded_clear(level, clear, box);
    if (rounded.x & ROWS_VAGUE) turns = 0;
    if (__float_as_uint(box.second.w) & PSVD_TAG_STATIC) rounded.y |= ROWS_STATIC;
    if (look != 0 && near.across) rounded.x |= ROWS_ACROSS;
    return make_uint4(rounded.x, rounded.y, __float_as_uint(box.second.z) | turns << slot_bits, look);
}

// How a box looks into a coarser level: at the same run of cells in up to ROWS_COARSE rows of y and z, which may go on
// around these axes' ends.
struct rows_coarse_look {
    uint32_t run, span;           // first cell in a row, cells
    int32_t y, z, rows_y, rows_z; // first row
};

// Whether it is like that. What it says is what rows_view_of says.
__device__ __forceinline__ bool rows_look_coarser(const psvi_rows_level &level, float longest, const psvd_record &box,
                                                  rows_coarse_look *look) {
    const int32_t cells_x = level.cells[0], cells_y = level.cells[1], cells_z = level.cells[2];
    const int32_t from_x = rows_cell(__fsub_rd(box.first.x, longest), level.origin[0], level.inverse[0], cells_x);
    const int32_t to_x = rows_cell(box.first.y, level.origin[0], level.inverse[0], cells_x);
    const int32_t from_y =
        rows_cell(__fsub_rd(box.first.z, level.reach[1]), level.origin[1], level.inverse[1], cells_y);
    const int32_t to_y = rows_cell(box.first.w, level.origin[1], level.inverse[1], cells_y);
    const int32_t from_z =
        rows_cell(__fsub_rd(box.second.x, level.reach[2]), level.origin[2], level.inverse[2], cells_z);
    const int32_t to_z = rows_cell(box.second.y, level.origin[2], level.inverse[2], cells_z);
    const int32_t x = rows_wrap(from_x, cells_x);
    look->y = rows_wrap(from_y, cells_y);
    look->z = rows_wrap(from_z, cells_z);
    look->rows_y = to_y - from_y + 1;
    look->rows_z = to_z - from_z + 1;
    look->run = (uint32_t)x;
    look->span = (uint32_t)(to_x - from_x + 1);
    return x + (to_x - from_x) < cells_x && look->rows_y <= min(cells_y, ROWS_COARSE) &&
           look->rows_z <= min(cells_z, ROWS_COARSE);
}

#endif
