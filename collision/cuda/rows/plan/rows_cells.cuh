// From boxes to levels and cells: what the kernels of `rows` have to agree on to the bit.
#ifndef PAIRSIEVE_COLLISION_ROWS_CELLS_CUH
#define PAIRSIEVE_COLLISION_ROWS_CELLS_CUH

#include <float.h>

#include "../../common.cuh"
#include "../rows_kernels.h"

// Extent that decides the level, rounded up: if it is within a limit, so is the exact one. Infinite where a side of the
// box is infinite or not a number.
__device__ __forceinline__ float rows_extent(float min_x, float max_x, float min_y, float max_y, float min_z,
                                             float max_z) {
    const float x = __fsub_ru(max_x, min_x), y = __fsub_ru(max_y, min_y), z = __fsub_ru(max_z, min_z);
    const float extent = fmaxf(fmaxf(x, y), z);
    return x + y + z <= FLT_MAX ? extent : INFINITY; // also when one of them is not a number
}

// The finest level that takes the box; plan.levels for huge ones.
__device__ __forceinline__ uint32_t rows_record_level(const psvi_rows_plan &plan, bool shaped, const psvd_record &box) {
    const float4 &first = box.first, &second = box.second;
    const float extent = rows_extent(first.x, first.y, first.z, first.w, second.x, second.y);
    uint32_t level = 0;
    if (!shaped) {
        while (level < plan.levels && !(extent <= plan.level[level].limit))
            ++level;
        return level;
    }
    const float x = __fsub_ru(first.y, first.x), y = __fsub_ru(first.w, first.z), z = __fsub_ru(second.y, second.x);
    for (; level < plan.levels; ++level) {
        const psvi_rows_level &its = plan.level[level];
        if ((extent <= its.limit) & (x <= its.reach[0]) & (y <= its.reach[1]) & (z <= its.reach[2])) break;
    }
    return level;
}

__device__ __forceinline__ uint32_t rows_record_level(const psvi_rows_plan &plan, const psvd_record &box) {
    return rows_record_level(plan, plan.shaped != 0, box);
}

// Number of the cell of a coordinate before wrapping. Monotone in the coordinate: rounding is, and so is clamping.
__device__ __forceinline__ int32_t rows_cell(float value, float origin, float inverse, int32_t cells) {
    if (cells == 1) return 0;
    const int32_t cell = __float2int_rd((value - origin) * inverse);
    return max(min(cell, 1 << 29), -(1 << 29));
}

__device__ __forceinline__ int32_t rows_wrap(int32_t cell, int32_t cells) {
    if ((uint32_t)cell < (uint32_t)cells) return cell;
    const int32_t wrapped = cell % cells;
    return wrapped < 0 ? wrapped + cells : wrapped;
}

__device__ __forceinline__ uint32_t rows_world(const psvi_rows_level &level, uint32_t world) {
    return world < level.worlds ? world : world % level.worlds;
}

// First cell number of a row (wrapped y and z).
__device__ __forceinline__ uint32_t rows_base(const psvi_rows_level &level, uint32_t world, int32_t y, int32_t z) {
    return level.base + ((world * (uint32_t)level.cells[1] + (uint32_t)y) * (uint32_t)level.cells[2] + (uint32_t)z) *
                            (uint32_t)level.cells[0];
}

#endif
