// Cells of the radius: their size and table, and points sorted by them.
#include "neighbour_cells.h"

#include "../../../core/cpu/workers.h"

#define GRAIN 16384
#define MAX_PARTS 256

// --- bounds ----------------------------------------------------------------------------------------------------------

typedef struct bound_job {
    const psvi_neighbour_job *job;
    const psvi_point_view *view;
    uint64_t grain;
    psvi_neighbour_bounds parts[MAX_PARTS];
} bound_job;

void psvi_join_bounds(psvi_neighbour_bounds *to, const psvi_neighbour_bounds *from) {
    for (int axis = 0; axis < 3; ++axis) {
        if (from->min[axis] < to->min[axis]) to->min[axis] = from->min[axis];
        if (from->max[axis] > to->max[axis]) to->max[axis] = from->max[axis];
    }
    if (from->last_world > to->last_world) to->last_world = from->last_world;
}

static const psvi_neighbour_bounds no_bounds = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};

static bool is_finite(const double point[3]) { return isfinite(point[0]) && isfinite(point[1]) && isfinite(point[2]); }

static void bound_some(void *data, uint64_t first, uint64_t end) {
    bound_job *bound = data;
    psvi_neighbour_bounds own = no_bounds;
    for (uint64_t i = first; i < end; ++i) {
        psvi_neighbour_bounds one = no_bounds;
        psvi_load_point(bound->job, bound->view, i, one.min);
        if (!is_finite(one.min)) continue;
        memcpy(one.max, one.min, sizeof one.max);
        if (bound->view->worlds != NULL) one.last_world = bound->view->worlds[i];
        psvi_join_bounds(&own, &one);
    }
    bound->parts[first / bound->grain] = own;
}

psvi_neighbour_bounds psvi_bound_points(psv_context *context, const psvi_neighbour_job *job,
                                        const psvi_point_view *view) {
    bound_job bound = {.job = job, .view = view, .grain = view->count / MAX_PARTS + 1};
    if (bound.grain < GRAIN) bound.grain = GRAIN;
    psvi_run_ranges(context, view->count, bound.grain, bound_some, &bound);
    psvi_neighbour_bounds all = no_bounds;
    for (uint64_t part = 0; part * bound.grain < view->count; ++part)
        psvi_join_bounds(&all, &bound.parts[part]);
    return all;
}

// --- table -----------------------------------------------------------------------------------------------------------

// A little wider than the radius, so that rounding a cell's number loses no neighbour. Doubles so far from 0 that their
// numbers would not be exact get wider cells.
static double width_of(const psvi_neighbour_job *job, const psvi_neighbour_bounds *bounds) {
    double most = 0, width = job->radius * 1.001;
    for (int axis = 0; axis < 3; ++axis)
        if (bounds->min[axis] <= bounds->max[axis]) {
            most = fmax(most, fmax(fabs(bounds->min[axis]), fabs(bounds->max[axis])));
        }
    if (job->doubles || width == 0) width = fmax(width, most * 0x1p-39);
    return fmax(width, 0x1p-1000);
}

// A table of all cells, if it is small enough.
static bool try_dense(const psvi_neighbour_job *job, const psvi_neighbour_bounds *bounds, psvi_cell_grid *grid) {
    double cells = (double)bounds->last_world + 1;
    for (int axis = 0; axis < grid->axes; ++axis) {
        if (!(bounds->min[axis] <= bounds->max[axis])) return false;
        if (fmax(fabs(bounds->min[axis]), fabs(bounds->max[axis])) * grid->inverse >= PSVI_FAR_CELL / 2) return false;
        grid->low[axis] = psvi_cell_number(bounds->min[axis], grid->inverse);
        grid->size[axis] = (uint64_t)(psvi_cell_number(bounds->max[axis], grid->inverse) - grid->low[axis]) + 3;
        cells *= (double)grid->size[axis];
    }
    if (cells > 4 * (double)job->points.count + 4096) return false;
    grid->buckets = (uint64_t)cells;
    return true;
}

psv_status psvi_make_cells(psv_context *context, const psvi_neighbour_job *job, const psvi_neighbour_bounds *bounds,
                           psvi_neighbour_memory *memory, psvi_cell_grid *grid) {
    *grid = (psvi_cell_grid){.axes = job->dimensions < 3 ? (int)job->dimensions : 3, .size = {1, 1, 1}};
    grid->inverse = 1 / width_of(job, bounds);
    grid->dense = try_dense(job, bounds, grid);
    if (!grid->dense) {
        grid->buckets = 16;
        while (grid->buckets < 2 * job->points.count)
            grid->buckets *= 2;
        if (grid->buckets > (uint64_t)1 << 31) grid->buckets = (uint64_t)1 << 31;
    }
    grid->starts =
        psvi_take_neighbour_part(context, memory, PSVI_NEIGHBOUR_STARTS, (grid->buckets + 1) * sizeof *grid->starts);
    if (grid->starts != NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %llu cells of a search for neighbours",
                     (unsigned long long)grid->buckets);
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 29;
}

static uint64_t row_place(const psvi_cell_grid *grid, uint32_t world, int64_t y, int64_t z) {
    const uint64_t hash = mix(mix((uint64_t)y + 0x9e3779b97f4a7c15u * world) + (uint64_t)z);
    return hash & (grid->buckets - 1);
}

static uint32_t bucket_of(const psvi_cell_grid *grid, uint32_t world, const int64_t cell[3]) {
    if (!grid->dense)
        return (uint32_t)((row_place(grid, world, cell[1], cell[2]) + (uint64_t)cell[0]) & (grid->buckets - 1));
    uint64_t bucket = world;
    for (int axis = grid->axes - 1; axis >= 0; --axis)
        bucket = bucket * grid->size[axis] + (uint64_t)(cell[axis] - grid->low[axis] + 1);
    return (uint32_t)bucket;
}

// --- sorting ---------------------------------------------------------------------------------------------------------

typedef struct place_job {
    const psvi_neighbour_job *job;
    const psvi_point_view *view;
    const psvi_cell_grid *grid;
    const double *origin;
    psvi_sorted_points *sorted;
} place_job;

static uint32_t bucket_of_point(const place_job *place, uint64_t i, const double point[3]) {
    int64_t cell[3];
    for (int axis = 0; axis < 3; ++axis)
        cell[axis] = psvi_cell_number(point[axis], place->grid->inverse);
    return bucket_of(place->grid, place->view->worlds == NULL ? 0 : place->view->worlds[i], cell);
}

static void key_some(void *data, uint64_t first, uint64_t end) {
    const place_job *place = data;
    for (uint64_t i = first; i < end; ++i) {
        double point[3];
        psvi_load_point(place->job, place->view, i, point);
        place->sorted->keys[i] =
            is_finite(point) ? bucket_of_point(place, i, point) : (uint32_t)place->grid->buckets; // behind all others
    }
}

static void gather_some(void *data, uint64_t first, uint64_t end) {
    const place_job *place = data;
    for (uint64_t i = first; i < end; ++i) {
        double point[3];
        psvi_load_point(place->job, place->view, place->sorted->order[i], point);
        for (int axis = 0; axis < 3; ++axis)
            place->sorted->axis[axis][i] = (float)(point[axis] - place->origin[axis]);
    }
}

static psv_status sort_keys(psv_context *context, const psvi_cell_grid *grid, psvi_sorted_points *sorted) {
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = sorted->count;
    def.value_bytes = 4;
    def.end_bit = 1;
    while (def.end_bit < 32 && grid->buckets >> def.end_bit != 0)
        ++def.end_bit;
    psv_sorter *sorter = NULL;
    psv_status status = psv_create_sorter(context, &def, &sorter);
    if (status == PSV_OK)
        status = psv_sort_index(sorter, psv_buffer_of(sorted->keys, sorted->count * 4),
                                psv_buffer_of(sorted->order, sorted->count * 4), sorted->count, PSV_INDEX_KEYS_SORTED);
    psv_destroy_sorter(sorter);
    return status;
}

// The order of the points of a view by their cells; memory: its parts from `part` on.
static psv_status sort_view(psv_context *context, const psvi_neighbour_job *job, const psvi_point_view *view,
                            const psvi_cell_grid *grid, psvi_neighbour_memory *memory, int part,
                            psvi_sorted_points *sorted) {
    const uint64_t bytes = (view->count + PSVI_SCAN_LANES) * 4;
    *sorted = (psvi_sorted_points){.count = view->count, .good = view->count};
    sorted->keys = psvi_take_neighbour_part(context, memory, part, bytes);
    sorted->order = psvi_take_neighbour_part(context, memory, part + 1, bytes);
    if (sorted->keys == NULL || sorted->order == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory to sort %llu points", (unsigned long long)view->count);
    memset(sorted->order + view->count, 0, PSVI_SCAN_LANES * 4);
    place_job place = {job, view, grid, NULL, sorted};
    psvi_run_ranges(context, view->count, GRAIN, key_some, &place);
    const psv_status status = sort_keys(context, grid, sorted);
    if (status != PSV_OK) return status;
    uint64_t low = 0; // the first place of a point that is not finite
    while (low < sorted->good) {
        const uint64_t middle = low + (sorted->good - low) / 2;
        if (sorted->keys[middle] < grid->buckets)
            low = middle + 1;
        else
            sorted->good = middle;
    }
    return PSV_OK;
}

psv_status psvi_sort_points(psv_context *context, const psvi_neighbour_job *job, const psvi_cell_grid *grid,
                            const double origin[3], psvi_neighbour_memory *memory, psvi_sorted_points *sorted) {
    const uint64_t count = job->points.count;
    const psv_status status = sort_view(context, job, &job->points, grid, memory, PSVI_NEIGHBOUR_POINTS, sorted);
    if (status != PSV_OK) return status;
    for (int axis = 0; axis < 3; ++axis) {
        sorted->axis[axis] = psvi_take_neighbour_part(context, memory, PSVI_NEIGHBOUR_POINTS + 2 + axis,
                                                      (count + PSVI_SCAN_LANES) * sizeof(float));
        if (sorted->axis[axis] == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "no memory to sort %llu points", (unsigned long long)count);
        memset(sorted->axis[axis] + count, 0, PSVI_SCAN_LANES * sizeof(float));
    }
    place_job place = {job, &job->points, grid, origin, sorted};
    psvi_run_ranges(context, count, GRAIN, gather_some, &place);
    return PSV_OK;
}

psv_status psvi_sort_queries(psv_context *context, const psvi_neighbour_job *job, const psvi_cell_grid *grid,
                             psvi_neighbour_memory *memory, psvi_sorted_points *sorted) {
    return sort_view(context, job, &job->queries, grid, memory, PSVI_NEIGHBOUR_QUERIES, sorted);
}

typedef struct start_job {
    uint32_t *starts;
    const psvi_sorted_points *sorted;
} start_job;

// Each point fills the starts from behind the bucket before it to its own.
static void start_some(void *data, uint64_t first, uint64_t end) {
    const start_job *job = data;
    const uint32_t *keys = job->sorted->keys;
    for (uint64_t i = first; i < end; ++i)
        for (uint64_t bucket = i == 0 ? 0 : (uint64_t)keys[i - 1] + 1; bucket <= keys[i]; ++bucket)
            job->starts[bucket] = (uint32_t)i;
}

void psvi_start_cells(psv_context *context, psvi_cell_grid *grid, const psvi_sorted_points *sorted) {
    start_job job = {grid->starts, sorted};
    psvi_run_ranges(context, sorted->good, GRAIN, start_some, &job);
    for (uint64_t bucket = sorted->good == 0 ? 0 : (uint64_t)sorted->keys[sorted->good - 1] + 1;
         bucket <= grid->buckets; ++bucket)
        grid->starts[bucket] = (uint32_t)sorted->good;
}

// --- ranges around a cell --------------------------------------------------------------------------------------------

static uint32_t find_dense_runs(const psvi_cell_grid *grid, uint32_t world, const int64_t cell[3],
                                psvi_cell_run *runs) {
    uint32_t count = 0;
    const int around_y = grid->axes > 1, around_z = grid->axes > 2;
    for (int z = -around_z; z <= around_z; ++z)
        for (int y = -around_y; y <= around_y; ++y) {
            const int64_t first[3] = {cell[0] - 1, cell[1] + y, cell[2] + z};
            const uint32_t *starts = grid->starts + bucket_of(grid, world, first);
            runs[count] = (psvi_cell_run){starts[0], starts[3]};
            count += starts[0] < starts[3];
        }
    return count;
}

// Buckets [first, end) into a list that ascends.
static uint32_t insert_run(psvi_cell_run *runs, uint32_t count, uint64_t first, uint64_t end) {
    uint32_t at = count;
    for (; at > 0 && runs[at - 1].first > first; --at)
        runs[at] = runs[at - 1];
    runs[at] = (psvi_cell_run){(uint32_t)first, (uint32_t)end};
    return count + 1;
}

static uint32_t find_hashed_runs(const psvi_cell_grid *grid, uint32_t world, const int64_t cell[3],
                                 psvi_cell_run *runs) {
    uint32_t count = 0, kept = 0;
    const int around_y = grid->axes > 1, around_z = grid->axes > 2;
    for (int z = -around_z; z <= around_z; ++z)
        for (int y = -around_y; y <= around_y; ++y) {
            const uint64_t row = row_place(grid, world, cell[1] + y, cell[2] + z);
            const uint64_t first = (row + (uint64_t)cell[0] - 1) & (grid->buckets - 1), end = first + 3;
            count = insert_run(runs, count, first, end < grid->buckets ? end : grid->buckets);
            if (end > grid->buckets) count = insert_run(runs, count, 0, end - grid->buckets);
        }
    // Rows whose places overlap become one range, so that no point is seen twice.
    for (uint32_t i = 0; i < count; ++i) {
        if (kept > 0 && runs[i].first <= runs[kept - 1].end) {
            if (runs[i].end > runs[kept - 1].end) runs[kept - 1].end = runs[i].end;
        } else {
            runs[kept++] = runs[i];
        }
    }
    count = 0;
    for (uint32_t i = 0; i < kept; ++i) {
        runs[count] = (psvi_cell_run){grid->starts[runs[i].first], grid->starts[runs[i].end]};
        count += runs[count].first < runs[count].end;
    }
    return count;
}

uint32_t psvi_find_runs(const psvi_cell_grid *grid, uint32_t world, const int64_t cell[3],
                        psvi_cell_run runs[PSVI_CELL_RUNS]) {
    return grid->dense ? find_dense_runs(grid, world, cell, runs) : find_hashed_runs(grid, world, cell, runs);
}
