// Points in cells of the radius: sorted by cell, with a table that tells where each cell begins.
//
// The cells of a row lie one behind the other in the table. So a cell and those to its left and right are a single
// range of points. Where few cells would be empty the table holds them all, with an empty one around them. Otherwise
// each row begins at a place that a hash of its numbers gives: cells may then share a place, and only more points are
// tested.
#ifndef PAIRSIEVE_NEIGHBOUR_CELLS_H
#define PAIRSIEVE_NEIGHBOUR_CELLS_H

#include <math.h>
#include <string.h>

#include "../../src/queries/neighbour_ops.h"
#include "pairsieve/sort.h"

#define PSVI_CELL_RUNS 18     // most ranges of points around a cell
#define PSVI_SCAN_LANES 8     // floats that may be read behind the last one
#define PSVI_FAR_CELL 0x1p+40 // from here on cell numbers are names of single coordinates, see psvi_cell_number

typedef struct psvi_cell_run {
    uint32_t first, end;
} psvi_cell_run;

typedef struct psvi_cell_grid {
    int axes; // 1 to 3
    double inverse;
    bool dense;
    int64_t low[3];   // lowest cells of points and queries; of a dense table
    uint64_t size[3]; // of a dense table, with the empty cells
    uint64_t buckets; // a power of two without `dense`
    uint32_t *starts; // buckets + 1
} psvi_cell_grid;

// Points in the order of their cells. Those that are not finite come last.
typedef struct psvi_sorted_points {
    uint64_t count, good; // good: finite
    uint32_t *keys;       // the buckets, sorted
    uint32_t *order;      // the point at each place
    float *axis[3];       // relative to the origin; NULL where only the order is wanted
} psvi_sorted_points;

typedef struct psvi_neighbour_bounds {
    double min[3], max[3]; // of what is finite; min > max without such a point
    uint32_t last_world;
} psvi_neighbour_bounds;

static inline void psvi_load_point(const psvi_neighbour_job *job, const psvi_point_view *view, uint64_t i,
                                   double to[3]) {
    const char *from = view->coordinates + i * view->stride;
    const uint32_t count = job->dimensions < 3 ? job->dimensions : 3;
    to[0] = to[1] = to[2] = 0;
    for (uint32_t axis = 0; axis < count; ++axis)
        to[axis] =
            job->doubles ? ((const double *)(const void *)from)[axis] : ((const float *)(const void *)from)[axis];
}

// The cell of a coordinate. Far from 0 the coordinates of a grid's points are either equal or more than a radius apart.
// There any number will do that is the same for equal coordinates.
static inline int64_t psvi_cell_number(double coordinate, double inverse) {
    const double number = floor(coordinate * inverse);
    if (fabs(number) < PSVI_FAR_CELL) return (int64_t)number;
    int64_t bits;
    memcpy(&bits, &coordinate, sizeof bits);
    return bits >> 1;
}

psvi_neighbour_bounds psvi_bound_points(psv_context *context, const psvi_neighbour_job *job,
                                        const psvi_point_view *view);
void psvi_join_bounds(psvi_neighbour_bounds *to, const psvi_neighbour_bounds *from);

// Takes the table's memory, but not its contents. `bounds` are those of points and queries.
psv_status psvi_make_cells(psv_context *context, const psvi_neighbour_job *job, const psvi_neighbour_bounds *bounds,
                           psvi_neighbour_memory *memory, psvi_cell_grid *grid);

// Sorts the points, with their coordinates relative to the origin, or the order of the queries by their cells.
psv_status psvi_sort_points(psv_context *context, const psvi_neighbour_job *job, const psvi_cell_grid *grid,
                            const double origin[3], psvi_neighbour_memory *memory, psvi_sorted_points *sorted);
psv_status psvi_sort_queries(psv_context *context, const psvi_neighbour_job *job, const psvi_cell_grid *grid,
                             psvi_neighbour_memory *memory, psvi_sorted_points *sorted);

// Fills grid->starts.
void psvi_start_cells(psv_context *context, psvi_cell_grid *grid, const psvi_sorted_points *sorted);

// The ranges of points in a cell and around it, ascending and apart; returns their number.
uint32_t psvi_find_runs(const psvi_cell_grid *grid, uint32_t world, const int64_t cell[3],
                        psvi_cell_run runs[PSVI_CELL_RUNS]);

#endif
