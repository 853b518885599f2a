// A box's way through the ranges that it has to sweep.
//
// A box looks in its own level and in the coarser ones. In a coarser level it looks at every row and x that a box of
// that level could reach it from. In its own level it looks forward only: a pair belongs to the box of the lower row
// (y, then z, before wrapping), in the same row to the one of the lower x (ties by place). The owner is told by the two
// boxes alone and no cell is visited twice, so every pair is found once, whatever wraps around.
#ifndef PAIRSIEVE_COLLISION_ROWS_WALK_CUH
#define PAIRSIEVE_COLLISION_ROWS_WALK_CUH

#include "rows_cells.cuh"

struct rows_tables {
    const float4 *first, *second; // records
    const uint32_t *starts, *group_starts;
};

// What a candidate is tested against.
struct rows_query {
    psvd_record own;
    uint32_t place, level;
    int32_t row_y, row_z; // own row in the own level, before wrapping
    uint32_t at_level;    // level of the candidates
};

struct rows_walk {
    rows_query query;
    uint32_t next, end;              // candidates of the current range
    uint32_t next_level;             // levels before it are done
    int32_t y, rows_y;               // wrapped y to come, how many are left
    int32_t z, rows_z;               // row to come within the current y
    int32_t first_z, span_z, behind; // rows of a y; those before the own row
    int32_t first_x, span_x;         // cells of a row
    int32_t own_x, own_span_x;       // cells of the own row
    bool own_y, own_row;             // the y, the row to come is the own one and is looked at forward only
    bool forward_z;                  // rows of the own y before the own row can be left out
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

__device__ __forceinline__ void rows_enter_level(const psvi_rows_plan &plan, rows_walk *walk, uint32_t at) {
    const psvi_rows_level &level = plan.level[at];
    const float4 &first = walk->query.own.first, &second = walk->query.own.second;
    walk->query.at_level = at;
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
    if (at == walk->query.level) {
        const int32_t row_y = rows_cell(first.z, plan.origin[1], level.inverse[1], cells_y);
        const int32_t row_z = rows_cell(second.x, plan.origin[2], level.inverse[2], cells_z);
        const int32_t own_x = rows_cell(first.x, plan.origin[0], level.inverse[0], cells_x);
        rows_wrap_span(own_x, to_x, cells_x, &walk->own_x, &walk->own_span_x);
        walk->query.row_y = row_y;
        walk->query.row_z = row_z;
        walk->own_y = to_y - row_y + 1 < cells_y || cells_y == 1;
        if (walk->own_y) from_y = row_y;
        walk->behind = row_z - from_z;
        walk->forward_z = walk->span_z < cells_z || cells_z == 1;
    }
    rows_wrap_span(from_y, to_y, cells_y, &walk->y, &walk->rows_y);
    walk->rows_z = 0;
}

__device__ __forceinline__ void rows_enter_y(const psvi_rows_level &level, rows_walk *walk) {
    walk->y_base = rows_base(
        level, rows_world(level, __float_as_uint(walk->query.own.second.w) >> PSVD_TAG_WORLD_SHIFT), walk->y, 0);
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

__device__ __forceinline__ void rows_enter_row(const psvi_rows_level &level, const rows_tables &tables,
                                               rows_walk *walk) {
    const int32_t first = walk->own_row ? walk->own_x : walk->first_x;
    const int32_t span = walk->own_row ? walk->own_span_x : walk->span_x;
    const int32_t here = min(span, level.cells[0] - first);
    walk->row_base = walk->y_base + (uint32_t)(walk->z * level.cells[0]);
    walk->second_cells = span - here;
    walk->next = rows_start_of(tables, walk->row_base + first);
    walk->end = rows_start_of(tables, walk->row_base + first + here);
    walk->own_row = false;
    --walk->rows_z;
    if (++walk->z == level.cells[2]) walk->z = 0;
}

// Moves on to the next range that is not empty. False when there is none left.
__device__ __forceinline__ bool rows_next_range(const psvi_rows_plan &plan, const rows_tables &tables,
                                                rows_walk *walk) {
    for (;;) {
        if (walk->second_cells > 0) {
            walk->next = rows_start_of(tables, walk->row_base);
            walk->end = rows_start_of(tables, walk->row_base + walk->second_cells);
            walk->second_cells = 0;
            if (walk->next < walk->end) return true;
        } else if (walk->rows_z > 0) {
            rows_enter_row(plan.level[walk->query.at_level], tables, walk);
            if (walk->next < walk->end) return true;
        } else if (walk->rows_y > 0) {
            rows_enter_y(plan.level[walk->query.at_level], walk);
        } else {
            const uint32_t coarser = plan.populated >> walk->next_level << walk->next_level;
            if (coarser == 0) return false;
            rows_enter_level(plan, walk, __ffs(coarser) - 1);
        }
    }
}

// A walk before its first range.
__device__ __forceinline__ void rows_begin_walk(const psvi_rows_plan &plan, const psvd_record &own, uint32_t place,
                                                rows_walk *walk) {
    walk->query.own = own;
    walk->query.place = place;
    walk->query.level = rows_level_of(
        plan, rows_extent(own.first.x, own.first.y, own.first.z, own.first.w, own.second.x, own.second.y));
    walk->next_level = walk->query.level;
    walk->rows_y = walk->rows_z = walk->second_cells = 0;
    walk->next = walk->end = 0;
}

// Within a level: does the pair belong to the query's box?
__device__ __forceinline__ bool rows_owns(const psvi_rows_plan &plan, const rows_query &query, const float4 &first,
                                          const float4 &second, uint32_t place) {
    const psvi_rows_level &level = plan.level[query.level];
    const int32_t row_y = rows_cell(first.z, plan.origin[1], level.inverse[1], level.cells[1]);
    const int32_t row_z = rows_cell(second.x, plan.origin[2], level.inverse[2], level.cells[2]);
    if (row_y != query.row_y) return query.row_y < row_y;
    if (row_z != query.row_z) return query.row_z < row_z;
    const float x = query.own.first.x;
    return x < first.x || (x == first.x && query.place < place);
}

#endif
