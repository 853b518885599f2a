// The cells that a box has to look at.
//
// A box looks in its own level and in the coarser ones. In a coarser level it looks at every row and x that a box of
// that level could reach it from. In its own level it looks forward only. A pair belongs to the box of the lower cell
// (row y, row z, x, before wrapping); in the same cell, to the one of the lower place. The owner is told by the two
// boxes alone and no cell is visited twice, so every pair is found once, whatever wraps around. Between two sets each
// has its own cells: a box looks in those of the other set, of coarser levels, and of its own when it is of set a.
#ifndef PAIRSIEVE_COLLISION_ROWS_VIEW_CUH
#define PAIRSIEVE_COLLISION_ROWS_VIEW_CUH

#include "../plan/rows_cells.cuh"

// A run of cells of one row; of none: nothing.
struct rows_interval {
    uint32_t first;
    int32_t cells;
};

// What a box looks at in one level: rows_y times span_z rows, the first `skipped` of them left out. In each row it
// looks at a run of cells that may go around the row's end.
struct rows_view {
    int32_t first_y, first_z; // wrapped
    int32_t span_z, rows;     // rows in all
    int32_t skipped;
    int32_t first_x, span_x; // of a row, wrapped
    int32_t own_x, own_span; // of the first row that is not left out, when it is the own one and forward; else as above
    bool own_row;            // it is: places up to the own one belong to other boxes
    uint32_t base;           // cells of the other set before those looked at
    bool check_owner;        // some axis is looked at all around: a pair may belong to either box
};

// Cells from..to of an axis as a wrapped start and a span that visits none twice.
__device__ __forceinline__ void rows_wrap_span(int32_t from, int32_t to, int32_t cells, int32_t *first, int32_t *span) {
    *span = min(to - from + 1, cells);
    *first = *span == cells ? 0 : rows_wrap(from, cells);
}

// `own`: the level is the box's. `set`: 1 when the cells of set b are looked at.
__device__ __forceinline__ rows_view rows_view_of(const psvi_rows_plan &plan, const psvd_record &box, uint32_t at,
                                                  uint32_t set, bool own) {
    const psvi_rows_level &level = plan.level[at];
    const float4 &first = box.first, &second = box.second;
    const int32_t cells_x = level.cells[0], cells_y = level.cells[1], cells_z = level.cells[2];
    const float longest = __uint_as_float(plan.longest[at + set * (ROWS_LEVELS + 1)]);
    rows_view view;
    view.base = set * level.set_cells;
    const int32_t from_x = rows_cell(__fsub_rd(first.x, longest), level.origin[0], level.inverse[0], cells_x);
    const int32_t to_x = rows_cell(first.y, level.origin[0], level.inverse[0], cells_x);
    rows_wrap_span(from_x, to_x, cells_x, &view.first_x, &view.span_x);
    const int32_t from_z = rows_cell(__fsub_rd(second.x, level.reach[2]), level.origin[2], level.inverse[2], cells_z);
    const int32_t to_z = rows_cell(second.y, level.origin[2], level.inverse[2], cells_z);
    rows_wrap_span(from_z, to_z, cells_z, &view.first_z, &view.span_z);
    int32_t from_y = rows_cell(__fsub_rd(first.z, level.reach[1]), level.origin[1], level.inverse[1], cells_y);
    const int32_t to_y = rows_cell(first.w, level.origin[1], level.inverse[1], cells_y);
    view.skipped = 0;
    view.own_x = view.first_x;
    view.own_span = view.span_x;
    view.own_row = view.check_owner = false;
    if (own) {
        // A box looks forward only on an axis that is at least as long as its whole reach, backward included. On a
        // shorter one what lies behind it would be met in front as well.
        const bool forward_y = to_y - from_y + 1 < cells_y || cells_y == 1;
        const bool forward_z = view.span_z < cells_z || cells_z == 1;
        const bool forward_x = view.span_x < cells_x;
        if (forward_y) from_y = rows_cell(first.z, level.origin[1], level.inverse[1], cells_y);
        if (forward_y && forward_z) {
            view.skipped = rows_cell(second.x, level.origin[2], level.inverse[2], cells_z) - from_z;
            if (forward_x) {
                const int32_t own_x = rows_cell(first.x, level.origin[0], level.inverse[0], cells_x);
                rows_wrap_span(own_x, to_x, cells_x, &view.own_x, &view.own_span);
                view.own_row = true;
            }
        }
        view.check_owner = !view.own_row;
    }
    int32_t span_y;
    rows_wrap_span(from_y, to_y, cells_y, &view.first_y, &span_y);
    view.rows = span_y * view.span_z;
    return view;
}

// Walks over a view, run by run.
struct rows_walk {
    int32_t row, y, z, left_z; // row of the view; wrapped y and z; rows left of this y
    bool second;               // the part of the row behind its end is to come
};

// From run `at` on, counted in half rows.
__device__ __forceinline__ rows_walk rows_walk_from(const psvi_rows_level &level, const rows_view &view, int32_t at) {
    rows_walk walk;
    walk.row = view.skipped + (at >> 1);
    walk.second = at & 1;
    int32_t y = 0, z = walk.row;
    if (z >= view.span_z) y = z / view.span_z, z -= y * view.span_z;
    walk.left_z = view.span_z - z;
    walk.y = view.first_y + y;
    if (walk.y >= level.cells[1]) walk.y -= level.cells[1];
    walk.z = view.first_z + z;
    if (walk.z >= level.cells[2]) walk.z -= level.cells[2];
    return walk;
}

__device__ __forceinline__ rows_interval rows_next_interval(const psvi_rows_level &level, uint32_t world,
                                                            const rows_view &view, rows_walk *walk) {
    if (walk->row >= view.rows) return rows_interval{0, 0};
    const bool own = walk->row == view.skipped;
    const int32_t x = own ? view.own_x : view.first_x, span = own ? view.own_span : view.span_x;
    const uint32_t base = view.base + rows_base(level, world, walk->y, walk->z);
    const int32_t here = min(span, level.cells[0] - x);
    const rows_interval interval = {walk->second ? base : base + (uint32_t)x, walk->second ? span - here : here};
    walk->second = !walk->second && here < span;
    if (!walk->second) {
        ++walk->row;
        if (++walk->z == level.cells[2]) walk->z = 0;
        if (--walk->left_z == 0) {
            walk->left_z = view.span_z;
            walk->z = view.first_z;
            if (++walk->y == level.cells[1]) walk->y = 0;
        }
    }
    return interval;
}

// Within a level: does the pair belong to the first box?
__device__ __forceinline__ bool rows_owns(const psvi_rows_level &level, const psvd_record &own, uint32_t own_place,
                                          const psvd_record &other, uint32_t place) {
    const int32_t y = rows_cell(other.first.z, level.origin[1], level.inverse[1], level.cells[1]);
    const int32_t own_y = rows_cell(own.first.z, level.origin[1], level.inverse[1], level.cells[1]);
    if (y != own_y) return own_y < y;
    const int32_t z = rows_cell(other.second.x, level.origin[2], level.inverse[2], level.cells[2]);
    const int32_t own_z = rows_cell(own.second.x, level.origin[2], level.inverse[2], level.cells[2]);
    if (z != own_z) return own_z < z;
    const int32_t x = rows_cell(other.first.x, level.origin[0], level.inverse[0], level.cells[0]);
    const int32_t own_x = rows_cell(own.first.x, level.origin[0], level.inverse[0], level.cells[0]);
    return own_x < x || (own_x == x && own_place < place);
}

__device__ __forceinline__ bool overlaps(const psvd_record &own, const psvd_record &other) {
    return own.first.x <= other.first.y && other.first.x <= own.first.y && own.first.z <= other.first.w &&
           other.first.z <= own.first.w && own.second.x <= other.second.y && other.second.x <= own.second.y;
}

// What is left to be asked about two boxes that overlap.
__device__ __forceinline__ bool rows_may_pair(const psvi_find_input &input, const psvi_rows_plan &plan,
                                              const psvd_record &own, uint32_t own_place, const psvd_record &other,
                                              uint32_t place, bool check_owner) {
    if (check_owner) {
        const uint32_t level = rows_record_level(plan, own);
        if (!rows_owns(plan.level[level], own, own_place, other, place)) return false;
    }
    if (!psvd_tags_pair(input.between, __float_as_uint(own.second.w), __float_as_uint(other.second.w))) return false;
    return psvd_arrays_pair(input, psvd_read_counts(input), __float_as_uint(own.second.z),
                            __float_as_uint(other.second.z));
}

// The device has gone on with another route than the host chose.
__device__ __forceinline__ void rows_report_next(const psvi_find_input &input, psvi_rows_route route, uint32_t veto) {
    input.result->route = route;
    input.result->veto = veto;
}

// What a frame's result says of the plan.
__device__ __forceinline__ void rows_report_shape(const psvi_find_input &input, const psvi_rows_plan &plan) {
    uint64_t rows = 0;
    for (uint32_t level = 0; level <= plan.levels; ++level)
        if ((plan.populated | plan.populated >> 16) >> level & 1)
            rows += (uint64_t)plan.level[level].worlds * plan.level[level].cells[1] * plan.level[level].cells[2];
    input.result->rows = rows;
    input.result->levels = __popc((plan.populated | plan.populated >> 16) & 0xffffu);
}

#endif
