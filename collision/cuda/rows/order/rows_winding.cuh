// Cells that wind, for the sort by bins: where a scene is larger than its cells, boxes far apart share some.
//
// A box has a number on each axis, without an end: x, y and z. Its cell is (y * cells of z + z) * cells of x + x modulo
// all cells. Behind the end of a row comes the next row, behind the last row of z the next one of y. Behind all cells
// comes the first one. So a neighbour's cell lies at the same distance everywhere, and no box looks across an end.
// Behind the last cell and the last place those of the front are there once more, as far as a look goes.
//
// How often each of the box's numbers goes around its axis, its turns, lie in one word with the slot. Boxes of the same
// cell with other turns are far apart and no pair. A box that looks at cells of other turns than its own is vague: what
// it meets is tested exactly.
#ifndef PAIRSIEVE_COLLISION_ROWS_WINDING_CUH
#define PAIRSIEVE_COLLISION_ROWS_WINDING_CUH

#include "../plan/rows_plan_samples.cuh"
#include "rows_bins.cuh"

#define ROWS_WIND_MOST 20000 // number on an axis, at most, so that rounded coordinates are exact
#define ROWS_WIND_X_CELLS 2  // of a reach on x, at most: then the own cell's way to the first one fits its bits

// Are cells so long that a box's own one lies at most ROWS_WIND_OWN_MOST behind the first that the box looks at? And
// are there so many that a look meets none twice? On y and z there are 1 or at least 4.
__device__ __forceinline__ bool rows_may_wind(const psvi_rows_level &level) {
    return level.cells[0] >= 16 && level.reach[0] * level.inverse[0] <= ROWS_WIND_X_CELLS;
}

// Turns of the boxes on each axis, as far as the samples tell, to `to`; 0 where cells do not wind. They do not where
// all boxes lie in them once, or turns are too many for the bits that a slot leaves, or cells for `start_cells`. One
// thread.
template <int THREADS>
__device__ __forceinline__ void rows_choose_turns(const rows_plan_shared<THREADS> &shared, uint32_t start_cells,
                                                  uint32_t slot_bits, psvi_rows_bin_shape *to) {
    const psvi_rows_plan &plan = shared.plan;
    const psvi_rows_level &level = plan.level[0];
    const float scale = __fdividef(ROWS_ROUNDED_LIMIT, level.limit);
    float all = 1.0f;
    uint32_t turns[3];
    bool fits = rows_may_wind(level);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float from = shared.high[plan.axis[axis]][0] + level.reach[axis] - level.origin[axis];
        const float numbers = from * level.inverse[axis];
        fits &= numbers < 0.5f * ROWS_WIND_MOST && from * scale <= 0.5f * ROWS_ROUNDED_MOST;
        const float goes = fits ? floorf(__fdividef(numbers, (float)level.cells[axis])) + 1.0f : 1.0f;
        turns[axis] = (uint32_t)goes;
        all *= goes;
    }
    fits &= all > 1.0f && all <= (float)(1u << (32 - slot_bits));
    const uint32_t end = rows_wind_end(level); // so many cells are there twice, with their boxes
    fits &= end <= level.set_cells / 4 && level.set_cells + end < start_cells;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        to->turns[axis] = fits ? turns[axis] : 0;
}

// What a thread needs to know of cells that wind to make entries.
struct rows_winding {
    int axis[3];
    float reach[3], origin[3], inverse[3], around[3]; // around: 1 / cells
    float up, scale, shift[3], most[3];               // to rounded coordinates, and their limit
    int32_t cells[3];
    uint32_t turns[3], slot_bits;
};

__device__ __forceinline__ rows_winding rows_winding_of(const psvi_rows_plan &plan, const uint32_t (&turns)[3],
                                                        uint32_t slot_bits) {
    const psvi_rows_level &level = plan.level[0];
    rows_winding wind;
    wind.scale = __fdividef(ROWS_ROUNDED_LIMIT, level.limit); // as rows_uniform_rounding has it
    wind.slot_bits = slot_bits;
    wind.up = plan.up;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        wind.axis[axis] = plan.axis[axis];
        wind.reach[axis] = level.reach[axis];
        wind.origin[axis] = level.origin[axis];
        wind.inverse[axis] = level.inverse[axis];
        wind.cells[axis] = level.cells[axis];
        wind.around[axis] = 1.0f / (float)level.cells[axis];
        wind.shift[axis] = -__fmul_rn(level.origin[axis], wind.scale);
        wind.most[axis] = level.cells[axis] == 1 ? 307.0f : ROWS_ROUNDED_MOST; // see rows_rounded_clear
        wind.turns[axis] = turns[axis];
    }
    return wind;
}

// Takes whole turns off a number and returns how many. Exact for numbers to ROWS_WIND_MOST and some more.
__device__ __forceinline__ int32_t rows_take_turns(int32_t *number, int32_t cells, float around) {
    const int32_t turns = __float2int_rd(((float)*number + 0.5f) * around);
    *number -= turns * cells;
    return turns;
}

// The entry of a box, least corner and greatest corner at `box`, as it lies in a bin; its cell; its length on x. False:
// the box is larger than the level, too far away, or meets three rows.
__device__ __forceinline__ bool rows_winding_entry(const rows_winding &wind, const float *box, uint32_t slot,
                                                   uint4 *entry, uint32_t *cell, uint32_t *length) {
    const auto number = [&](int axis, float value) {
        return __float2int_rd((value - wind.origin[axis]) * wind.inverse[axis]);
    };
    int32_t from[3], own[3], to[3];
    int32_t upper[3], lower[3];
    bool fits = true, clear = true;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float low = wind.up * box[wind.axis[axis]], high = wind.up * box[wind.axis[axis] + 3];
        const uint32_t extent = __float_as_uint(__fsub_ru(high, low)); // below 0 and not a number are greater than any
        if (axis == 0) *length = extent;
        fits &= extent <= __float_as_uint(wind.reach[axis]);
        from[axis] = number(axis, __fsub_rd(low, wind.reach[axis]));
        own[axis] = number(axis, low);
        to[axis] = number(axis, high);
        fits &= from[axis] >= -ROWS_WIND_MOST && to[axis] <= ROWS_WIND_MOST;
        const float rounded_high = __fmaf_ru(high, wind.scale, wind.shift[axis]);
        const float rounded_low = __fmaf_rd(low, wind.scale, wind.shift[axis]);
        clear &= (rounded_low >= 0.0f) & (rounded_high <= wind.most[axis]);
        upper[axis] = __float2int_ru(rounded_high);
        lower[axis] = -__float2int_rd(rounded_low);
    }
    const uint32_t behind = (uint32_t)(own[0] - from[0]), span = (uint32_t)(to[0] - from[0] + 1);
    const uint32_t more_y = (uint32_t)(to[1] - own[1]), more_z = (uint32_t)(to[2] - own[2]);
    const uint32_t less_z = (uint32_t)(own[2] - from[2]);
    fits &= (more_y | more_z | less_z) <= 1 && behind <= ROWS_WIND_OWN_MOST && span <= ROWS_LOOK_SPAN;
    int32_t x = own[0], y = own[1], z = own[2];
    const int32_t turns_x = rows_take_turns(&x, wind.cells[0], wind.around[0]);
    const int32_t turns_y = rows_take_turns(&y, wind.cells[1], wind.around[1]);
    const int32_t turns_z = rows_take_turns(&z, wind.cells[2], wind.around[2]);
    clear &=
        (uint32_t)turns_x < wind.turns[0] && (uint32_t)turns_y < wind.turns[1] && (uint32_t)turns_z < wind.turns[2];
    clear &= x >= (int32_t)behind && x + (to[0] - own[0]) < wind.cells[0] && y + (int32_t)more_y < wind.cells[1] &&
             z >= (int32_t)less_z && z + (int32_t)more_z < wind.cells[2];
    const uint32_t turns = ((uint32_t)turns_y * wind.turns[2] + (uint32_t)turns_z) * wind.turns[0] + (uint32_t)turns_x;
    z += turns_x;
    y += turns_z + rows_take_turns(&z, wind.cells[2], wind.around[2]);
    (void)rows_take_turns(&y, wind.cells[1], wind.around[1]);
    *cell = ROWS_WIND_FRONT + (uint32_t)((y * wind.cells[2] + z) * wind.cells[0] + x);
    entry->x = rows_pack(upper[0], upper[1], upper[2]) | ROWS_FIELD_TOPS | (clear ? 0u : ROWS_VAGUE);
    entry->y = rows_pack(lower[0], lower[1], lower[2]) | ROWS_FIELD_TOPS;
    entry->z = slot | (clear ? turns << wind.slot_bits : 0u);
    entry->w = (*cell - behind) | behind << ROWS_WIND_OWN_SHIFT | span << ROWS_LOOK_SPAN_SHIFT |
               more_z * ROWS_LOOK_NEXT_Z | more_y * ROWS_LOOK_NEXT_Y | (more_y & less_z) * ROWS_LOOK_BACK_Y;
    return fits;
}

#endif
