// A box's way through the cells that it has to look at.
//
// A box looks in its own level and in the coarser ones. In a coarser level it looks at every row and x that a box of
// that level could reach it from. In its own level it looks forward only: a pair belongs to the box of the lower cell
// (row y, row z, x, before wrapping), in the same cell to the one of the lower place. The owner is told by the two
// boxes alone and no cell is visited twice, so every pair is found once, whatever wraps around.
#ifndef PAIRSIEVE_COLLISION_ROWS_WALK_CUH
#define PAIRSIEVE_COLLISION_ROWS_WALK_CUH

#include "rows_cells.cuh"

struct rows_tables {
    const float4 *first, *second; // records
    const uint32_t *starts, *group_starts;
};

// A run of cells of one row.
struct rows_interval {
    uint32_t first;
    int32_t cells; // 0: nothing
    bool own_row;  // the own row from the own cell on: places up to the own one belong to other boxes
};

struct rows_walk {
    uint32_t level, at_level;        // of the box, of the cells
    uint32_t next_level;             // levels before it are done
    int32_t y, rows_y;               // wrapped y to come, how many are left
    int32_t z, rows_z;               // row to come within the current y
    int32_t first_z, span_z, behind; // rows of a y; those before the own row
    int32_t first_x, span_x;         // cells of a row
    int32_t own_x, own_span_x;       // cells of the own row
    bool own_y, own_row;             // the y, the row to come is the own one and is looked at forward only
    bool forward_z, forward_x;       // rows and places before the own can be left out
    uint32_t y_base, row_base;       // first cells
    int32_t second_cells;            // cells at the start of the current row that are still to come; 0: none
};

// First place whose key is not less than the cell.
__device__ __forceinline__ uint32_t rows_start_of(const rows_tables &tables, uint32_t cell) {
    const uint32_t start = __ldg(tables.starts + cell);
    return start != ROWS_EMPTY ? start : __ldg(tables.group_starts + (cell >> ROWS_GROUP_BITS));
}

// Cells from..to of an axis as a wrapped start and a span that visits none twice.
__device__ __forceinline__ void rows_wrap_span(int32_t from, int32_t to, int32_t cells, int32_t *first, int32_t *span) {
    *span = min(to - from + 1, cells);
    *first = *span == cells ? 0 : rows_wrap(from, cells);
}

__device__ __forceinline__ void rows_enter_level(const psvi_rows_plan &plan, const psvd_record &own, rows_walk *walk,
                                                 uint32_t at) {
    const psvi_rows_level &level = plan.level[at];
    const float4 &first = own.first, &second = own.second;
    walk->at_level = at;
    walk->next_level = at + 1;
    const int32_t cells_x = level.cells[0], cells_y = level.cells[1], cells_z = level.cells[2];
    const float longest = __uint_as_float(plan.longest[at]);
    const int32_t from_x = rows_cell(__fsub_rd(first.x, longest), plan.origin[0], level.inverse[0], cells_x);
    const int32_t to_x = rows_cell(first.y, plan.origin[0], level.inverse[0], cells_x);
    rows_wrap_span(from_x, to_x, cells_x, &walk->first_x, &walk->span_x);
    const int32_t from_z = rows_cell(__fsub_rd(second.x, level.limit), plan.origin[2], level.inverse[2], cells_z);
    const int32_t to_z = rows_cell(second.y, plan.origin[2], level.inverse[2], cells_z);
    rows_wrap_span(from_z, to_z, cells_z, &walk->first_z, &walk->span_z);
    int32_t from_y = rows_cell(__fsub_rd(first.z, level.limit), plan.origin[1], level.inverse[1], cells_y);
    const int32_t to_y = rows_cell(first.w, plan.origin[1], level.inverse[1], cells_y);
    walk->own_y = false;
    if (at == walk->level) {
        const int32_t row_y = rows_cell(first.z, plan.origin[1], level.inverse[1], cells_y);
        const int32_t row_z = rows_cell(second.x, plan.origin[2], level.inverse[2], cells_z);
        const int32_t own_x = rows_cell(first.x, plan.origin[0], level.inverse[0], cells_x);
        rows_wrap_span(own_x, to_x, cells_x, &walk->own_x, &walk->own_span_x);
        walk->forward_x = walk->own_span_x < cells_x;
        walk->own_y = to_y - row_y + 1 < cells_y || cells_y == 1;
        if (walk->own_y) from_y = row_y;
        walk->behind = row_z - from_z;
        walk->forward_z = walk->span_z < cells_z || cells_z == 1;
    }
    rows_wrap_span(from_y, to_y, cells_y, &walk->y, &walk->rows_y);
    walk->rows_z = 0;
}

__device__ __forceinline__ void rows_enter_y(const psvi_rows_level &level, uint32_t world, rows_walk *walk) {
    walk->y_base = rows_base(level, rows_world(level, world), walk->y, 0);
    if (++walk->y == level.cells[1]) walk->y = 0;
    --walk->rows_y;
    walk->z = walk->first_z;
    walk->rows_z = walk->span_z;
    walk->own_row = walk->own_y && walk->forward_z;
    if (walk->own_row) {
        walk->z += walk->behind;
        if (walk->z >= level.cells[2]) walk->z -= level.cells[2];
        walk->rows_z -= walk->behind;
    }
    walk->own_y = false;
}

__device__ __forceinline__ rows_interval rows_enter_row(const psvi_rows_level &level, rows_walk *walk) {
    const int32_t first = walk->own_row ? walk->own_x : walk->first_x;
    const int32_t span = walk->own_row ? walk->own_span_x : walk->span_x;
    const int32_t here = min(span, level.cells[0] - first);
    walk->row_base = walk->y_base + (uint32_t)(walk->z * level.cells[0]);
    walk->second_cells = span - here;
    const rows_interval interval = {walk->row_base + (uint32_t)first, here, walk->own_row && walk->forward_x};
    walk->own_row = false;
    --walk->rows_z;
    if (++walk->z == level.cells[2]) walk->z = 0;
    return interval;
}

// The next run of cells; of no cells when all are done.
__device__ __forceinline__ rows_interval rows_next_interval(const psvi_rows_plan &plan, const psvd_record &own,
                                                            rows_walk *walk) {
    if (walk->second_cells > 0) {
        const rows_interval interval = {walk->row_base, walk->second_cells, false};
        walk->second_cells = 0;
        return interval;
    }
    while (walk->rows_z == 0) {
        if (walk->rows_y == 0) {
            const uint32_t coarser = plan.populated >> walk->next_level << walk->next_level;
            if (coarser == 0) return rows_interval{0, 0, false};
            rows_enter_level(plan, own, walk, __ffs(coarser) - 1);
        }
        rows_enter_y(plan.level[walk->at_level], __float_as_uint(own.second.w) >> PSVD_TAG_WORLD_SHIFT, walk);
    }
    return rows_enter_row(plan.level[walk->at_level], walk);
}

// False when the next interval would be empty.
__device__ __forceinline__ bool rows_has_more(const psvi_rows_plan &plan, const rows_walk &walk) {
    return walk.second_cells > 0 || walk.rows_z > 0 || walk.rows_y > 0 || plan.populated >> walk.next_level != 0;
}

// A walk before its first cell.
__device__ __forceinline__ void rows_begin_walk(const psvi_rows_plan &plan, const psvd_record &own, rows_walk *walk) {
    walk->level = rows_level_of(
        plan, rows_extent(own.first.x, own.first.y, own.first.z, own.first.w, own.second.x, own.second.y));
    walk->at_level = walk->next_level = walk->level;
    walk->rows_y = walk->rows_z = walk->second_cells = 0;
}

// Within a level: does the pair belong to the first box?
__device__ __forceinline__ bool rows_owns(const psvi_rows_plan &plan, const psvi_rows_level &level,
                                          const psvd_record &own, uint32_t own_place, const float4 &first,
                                          const float4 &second, uint32_t place) {
    const int32_t y = rows_cell(first.z, plan.origin[1], level.inverse[1], level.cells[1]);
    const int32_t own_y = rows_cell(own.first.z, plan.origin[1], level.inverse[1], level.cells[1]);
    if (y != own_y) return own_y < y;
    const int32_t z = rows_cell(second.x, plan.origin[2], level.inverse[2], level.cells[2]);
    const int32_t own_z = rows_cell(own.second.x, plan.origin[2], level.inverse[2], level.cells[2]);
    if (z != own_z) return own_z < z;
    const int32_t x = rows_cell(first.x, plan.origin[0], level.inverse[0], level.cells[0]);
    const int32_t own_x = rows_cell(own.first.x, plan.origin[0], level.inverse[0], level.cells[0]);
    return own_x < x || (own_x == x && own_place < place);
}

#endif
