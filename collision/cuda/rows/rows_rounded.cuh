// `rows`: rounded boxes and usual looks, what its kernels have to agree on.
#ifndef PAIRSIEVE_COLLISION_ROWS_ROUNDED_CUH
#define PAIRSIEVE_COLLISION_ROWS_ROUNDED_CUH

#include "sweep/rows_view.cuh"

// How a level's boxes are rounded.
struct rows_rounding {
    float scale;    // of rounded coordinates; 0 for huge boxes
    float shift[3]; // what is added to them after scaling: cell 0 begins at about 0
};

__device__ __forceinline__ rows_rounding rows_rounding_of(const psvi_rows_level &level, bool huge) {
    rows_rounding rounding;
    rounding.scale = huge ? 0.0f : __fdiv_rn(ROWS_ROUNDED_LIMIT, level.limit);
    for (int axis = 0; axis < 3; ++axis)
        rounding.shift[axis] = huge ? 0.0f : -__fmul_rn(level.origin[axis], rounding.scale);
    return rounding;
}

// The plan in a block's shared memory, with what follows from it.
struct rows_local_plan {
    psvi_rows_plan plan;
    rows_rounding rounding[ROWS_LEVELS + 1];
};

// All threads of the block; the caller synchronizes.
__device__ __forceinline__ void rows_load_plan(rows_local_plan *local, const psvi_rows_plan *plan, uint32_t threads) {
    for (uint32_t i = threadIdx.x; i < sizeof local->plan / 4; i += threads)
        reinterpret_cast<uint32_t *>(&local->plan)[i] = reinterpret_cast<const uint32_t *>(plan)[i];
    __syncthreads();
    if (threadIdx.x <= local->plan.levels)
        local->rounding[threadIdx.x] =
            rows_rounding_of(local->plan.level[threadIdx.x], threadIdx.x == local->plan.levels);
}

// The record of a box with the plan's choice of axes.
__device__ __forceinline__ psvd_record rows_record(const psvi_rows_plan &plan, const psvd_box &box, uint32_t slot,
                                                   uint32_t tag) {
    const bool first_x = plan.axis[0] == 0, last_x = plan.axis[0] == 2;
    psvd_record record;
    record.first.x = plan.up * (first_x ? box.min[0] : last_x ? box.min[2] : box.min[1]);
    record.first.y = plan.up * (first_x ? box.max[0] : last_x ? box.max[2] : box.max[1]);
    record.first.z = plan.up * (first_x ? box.min[1] : box.min[0]);
    record.first.w = plan.up * (first_x ? box.max[1] : box.max[0]);
    record.second.x = plan.up * (last_x ? box.min[1] : box.min[2]);
    record.second.y = plan.up * (last_x ? box.max[1] : box.max[2]);
    record.second.z = __uint_as_float(slot);
    record.second.w = __uint_as_float(tag);
    return record;
}

// Is a box too far away for the plan's scale? What is far beyond all would be infinite, and overlap what it does not:
// such a frame is the tree's.
__device__ __forceinline__ bool rows_is_too_far(const psvi_rows_plan &plan, const psvd_record &box) {
    if (plan.up == 1.0f) return false;
    const float4 &first = box.first, &second = box.second;
    const float far = fmaxf(fmaxf(fmaxf(fabsf(first.x), fabsf(first.y)), fmaxf(fabsf(first.z), fabsf(first.w))),
                            fmaxf(fabsf(second.x), fabsf(second.y)));
    return far > FLT_MAX;
}

// The cell of a box, which is its key.
__device__ __forceinline__ uint32_t rows_key(const psvi_rows_level &level, const psvd_record &box) {
    const uint32_t tag = __float_as_uint(box.second.w);
    const int32_t y = rows_cell(box.first.z, level.origin[1], level.inverse[1], level.cells[1]);
    const int32_t z = rows_cell(box.second.x, level.origin[2], level.inverse[2], level.cells[2]);
    const int32_t x = rows_cell(box.first.x, level.origin[0], level.inverse[0], level.cells[0]);
    return rows_base(level, rows_world(level, tag >> PSVD_TAG_WORLD_SHIFT), rows_wrap(y, level.cells[1]),
                     rows_wrap(z, level.cells[2])) +
           (uint32_t)rows_wrap(x, level.cells[0]) + (tag & PSVD_TAG_SET_B ? level.set_cells : 0u);
}

// Rank of a box among those of its cell or bin, by their counts. One atomic where all boxes of a warp share it, as
// those of a scene in spatial order often do. All lanes together.
__device__ __forceinline__ uint32_t rows_take_rank(uint32_t *counts, uint32_t key, bool good) {
    const uint32_t lane = threadIdx.x & 31;
    __syncwarp();
    const uint32_t first = __shfl_sync(PSVD_FULL, key, 0);
    if (!__all_sync(PSVD_FULL, good && key == first)) return good ? atomicAdd(&counts[key], 1u) : 0;
    uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&counts[key], 32u);
    return __shfl_sync(PSVD_FULL, base, 0) + lane;
}

// Exclusive sums over a block, one value a thread. Returns the total in *total. `sums`: a word a warp.
template <int WARPS>
__device__ __forceinline__ uint32_t rows_sum_before(uint32_t value, uint32_t *sums, uint32_t *total) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t up_to = value;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t before = __shfl_up_sync(PSVD_FULL, up_to, step);
        if (lane >= step) up_to += before;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    const uint32_t sum = lane < WARPS ? sums[lane] : 0;
    *total = psvd_reduce_add(sum);
    return psvd_reduce_add(lane < warp ? sum : 0) + up_to - value;
}

// A box in 8 bytes, for a first test that a box of the same level, or a smaller one, never fails when the two overlap.
// Coordinates are scaled so that the level's limit is ROWS_ROUNDED_LIMIT, rounded outwards to integers and kept modulo
// 512, in fields of 10 bits. Upper ends are in the first word, negated lower ends in the second. The top bit of each
// field is set, so that a subtraction does not borrow from the next field. Of two boxes that overlap, the upper end of
// one less the lower end of the other lies in 0 to 255, so bit 8 of a field's difference tells. Coordinates far away
// are clamped, which keeps that true, as clamping never makes a distance longer; what this lets through is tested
// exactly.
#define ROWS_FIELD_TOPS 0x20080200u
#define ROWS_FIELD_SIGNS 0x10040100u
#define ROWS_FIELD_BITS 0x1ff7fdffu // all that are not top bits

__device__ __forceinline__ uint32_t rows_pack(int32_t x, int32_t y, int32_t z) {
    return ((uint32_t)x & 511u) | ((uint32_t)y & 511u) << 10 | ((uint32_t)z & 511u) << 20;
}

__device__ __forceinline__ float rows_finite(float value) { return fminf(fmaxf(value, -FLT_MAX), FLT_MAX); }

__device__ __forceinline__ int32_t rows_round_down(const rows_rounding &rounding, int axis, float value) {
    const float scaled = __fmaf_rd(rows_finite(value), rounding.scale, rounding.shift[axis]);
    return __float2int_rd(fminf(fmaxf(scaled, -ROWS_ROUNDED_MOST), ROWS_ROUNDED_MOST));
}

__device__ __forceinline__ int32_t rows_round_up(const rows_rounding &rounding, int axis, float value) {
    const float scaled = __fmaf_ru(rows_finite(value), rounding.scale, rounding.shift[axis]);
    return __float2int_ru(fminf(fmaxf(scaled, -ROWS_ROUNDED_MOST), ROWS_ROUNDED_MOST));
}

// A box as it is stored: its upper ends and its negated lower ends, rounded at a level.
__device__ __forceinline__ uint2 rows_rounded(const rows_rounding &rounding, const psvd_record &box) {
    const uint32_t upper = rows_pack(rows_round_up(rounding, 0, box.first.y), rows_round_up(rounding, 1, box.first.w),
                                     rows_round_up(rounding, 2, box.second.y));
    const uint32_t lower =
        rows_pack(-rows_round_down(rounding, 0, box.first.x), -rows_round_down(rounding, 1, box.first.z),
                  -rows_round_down(rounding, 2, box.second.x));
    return make_uint2(upper | ROWS_FIELD_TOPS, lower | ROWS_FIELD_TOPS);
}

// A stored word negated, without the top bits.
__device__ __forceinline__ uint32_t rows_negated(uint32_t word) {
    return (ROWS_FIELD_TOPS - (word & ROWS_FIELD_BITS)) & ROWS_FIELD_BITS;
}

// The first test; `lower` and `upper` are the box that looks, its stored words negated, at the level of the other one.
__device__ __forceinline__ bool rows_may_overlap(uint32_t lower, uint32_t upper, uint32_t other_upper,
                                                 uint32_t other_lower) {
    return (((other_upper - lower) | (other_lower - upper)) & ROWS_FIELD_SIGNS) == 0;
}

// The usual look of a box into its own level: nothing wraps, and it meets the next row of y and of z at most. Then it
// looks at the rest of its own row, and at the same run of cells in four other rows. These are (y, z + 1), (y + 1, z -
// 1), (y + 1, z) and (y + 1, z + 1). With AROUND, rows may follow each other across the ends of y and z. The box may
// then be in a cell of any number, if its runs cross no end of x after going around.
#define ROWS_NEAR 4
struct rows_near {
    uint32_t own;              // the box's cell
    uint32_t own_end;          // cell behind the own row's run, which begins at the place behind the box
    uint32_t first[ROWS_NEAR]; // first cell in each of the other rows
    uint32_t span;             // cells in each of them
    bool there[ROWS_NEAR];
    bool around; // the cell's number went around some axis' end
    bool across; // it looks across an end of y or z
};

// Whether it is like that for this box, of the level's world cell `world`. What it says is what rows_view_of says, for
// less work.
template <bool AROUND = false>
__device__ __forceinline__ bool rows_near_of(const psvi_rows_level &level, float longest, const psvd_record &box,
                                             uint32_t world, rows_near *near) {
    const float4 &first = box.first, &second = box.second;
    const int32_t cells_x = level.cells[0], cells_y = level.cells[1], cells_z = level.cells[2];
    const float origin_x = level.origin[0], origin_y = level.origin[1], origin_z = level.origin[2];
    const float inverse_x = level.inverse[0], inverse_y = level.inverse[1], inverse_z = level.inverse[2];
    // As rows_cell without the clamp: what that would change is out of range below. An axis of one cell has inverse 0.
    int32_t from_x = __float2int_rd((__fsub_rd(first.x, longest) - origin_x) * inverse_x);
    int32_t x = __float2int_rd((first.x - origin_x) * inverse_x);
    int32_t to_x = __float2int_rd((first.y - origin_x) * inverse_x);
    int32_t behind_y = __float2int_rd((__fsub_rd(first.z, level.reach[1]) - origin_y) * inverse_y);
    int32_t y = __float2int_rd((first.z - origin_y) * inverse_y);
    int32_t to_y = __float2int_rd((first.w - origin_y) * inverse_y);
    int32_t from_z = __float2int_rd((__fsub_rd(second.x, level.reach[2]) - origin_z) * inverse_z);
    int32_t z = __float2int_rd((second.x - origin_z) * inverse_z);
    int32_t to_z = __float2int_rd((second.y - origin_z) * inverse_z);
    near->around = AROUND && (((uint32_t)x >= (uint32_t)cells_x) | ((uint32_t)y >= (uint32_t)cells_y) |
                              ((uint32_t)z >= (uint32_t)cells_z));
    bool in_range = true;
    if (near->around) {
        const int32_t most = 1 << 29;
        in_range =
            (from_x > -most) & (to_x < most) & (behind_y > -most) & (to_y < most) & (from_z > -most) & (to_z < most);
        if (in_range) {
            const int32_t back_x = x - rows_wrap(x, cells_x), back_y = y - rows_wrap(y, cells_y);
            const int32_t back_z = z - rows_wrap(z, cells_z);
            from_x -= back_x, x -= back_x, to_x -= back_x;
            behind_y -= back_y, y -= back_y, to_y -= back_y;
            from_z -= back_z, z -= back_z, to_z -= back_z;
        }
    }
    // In range, and forward on every axis; see rows_view_of. All of it always, so that nothing branches.
    in_range &= (from_x >= 0) & (to_x < cells_x) & (y >= 0) & (z >= 0) & (y < cells_y) & (z < cells_z);
    near->across = (to_y >= cells_y) | (from_z < 0) | (to_z >= cells_z);
    in_range &= AROUND | !near->across;
    const bool forward = (to_x - from_x < cells_x - 1) & ((to_y - behind_y < cells_y - 1) | (cells_y == 1)) &
                         ((to_z - from_z < cells_z - 1) | (cells_z == 1));
    const bool usual = in_range & forward & (to_y - y <= 1) & (z - from_z <= 1) & (to_z - z <= 1);
    const uint32_t base = rows_base(level, world, y, z), row = base + (uint32_t)from_x;
    const uint32_t next_y = row + (uint32_t)(cells_z * cells_x);
    near->own = base + (uint32_t)x;
    near->span = (uint32_t)(to_x - from_x + 1);
    near->own_end = row + near->span;
    near->first[0] = row + (uint32_t)cells_x;
    near->first[1] = next_y - (uint32_t)cells_x;
    near->first[2] = next_y;
    near->first[3] = next_y + (uint32_t)cells_x;
    near->there[0] = to_z > z;
    near->there[1] = to_y > y && from_z < z;
    near->there[2] = to_y > y;
    near->there[3] = to_y > y && to_z > z;
    return usual;
}

#define ROWS_COARSE 3

// The usual look of a box into a coarser level: nothing wraps, and it meets three rows of y and of z at most. It looks
// at the same run of cells in all of them.
struct rows_coarse {
    uint32_t first, span; // cells of the first row
    int32_t rows_y, rows_z;
};

// Whether it is like that. What it says is what rows_view_of says.
__device__ __forceinline__ bool rows_coarse_of(const psvi_rows_level &level, float longest, const psvd_record &box,
                                               rows_coarse *coarse) {
    const float4 &first = box.first, &second = box.second;
    const int32_t cells_x = level.cells[0], cells_y = level.cells[1], cells_z = level.cells[2];
    const float origin_x = level.origin[0], origin_y = level.origin[1], origin_z = level.origin[2];
    const float inverse_x = level.inverse[0], inverse_y = level.inverse[1], inverse_z = level.inverse[2];
    const int32_t from_x = __float2int_rd((__fsub_rd(first.x, longest) - origin_x) * inverse_x);
    const int32_t to_x = __float2int_rd((first.y - origin_x) * inverse_x);
    const int32_t from_y = __float2int_rd((__fsub_rd(first.z, level.reach[1]) - origin_y) * inverse_y);
    const int32_t to_y = __float2int_rd((first.w - origin_y) * inverse_y);
    const int32_t from_z = __float2int_rd((__fsub_rd(second.x, level.reach[2]) - origin_z) * inverse_z);
    const int32_t to_z = __float2int_rd((second.y - origin_z) * inverse_z);
    const uint32_t world = rows_world(level, __float_as_uint(second.w) >> PSVD_TAG_WORLD_SHIFT);
    coarse->first = rows_base(level, world, from_y, from_z) + (uint32_t)from_x;
    coarse->span = (uint32_t)(to_x - from_x + 1);
    coarse->rows_y = to_y - from_y + 1;
    coarse->rows_z = to_z - from_z + 1;
    return (from_x >= 0) & (to_x < cells_x) & (from_y >= 0) & (to_y < cells_y) & (from_z >= 0) & (to_z < cells_z) &
           (coarse->rows_y <= ROWS_COARSE) & (coarse->rows_z <= ROWS_COARSE);
}

// Usual boxes can be copied as they are, and their tags are 0.
static inline bool are_usual(const psvi_find_input &input) {
    const psvi_box_view &view = input.a;
    return !input.between && view.flags == NULL && view.filters == NULL && view.worlds == NULL &&
           view.max == view.min + 12 && view.min_stride == 24 && (reinterpret_cast<uintptr_t>(view.min) & 7) == 0;
}

#endif
