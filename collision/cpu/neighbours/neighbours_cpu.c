// Neighbours within a radius on the CPU: queries in the order of their cells, the ranges of points around each, exact
// tests, rows in order of the indices.
//
// Rows go to blocks of one list that threads take from as they need. Its size is estimated from some of the queries. If
// it is too small, the same pass has counted all rows, and a second one writes them to their exact places.
#include "../../../core/cpu/workers.h"
#include "neighbour_scan.h"

#define GRAIN 2048        // queries that a thread takes at a time
#define BLOCK 2048        // neighbours that it reserves at a time
#define SAMPLES 64        // ranges of queries that are counted for the estimate
#define SAMPLE_QUERIES 32 // in each

typedef struct radius_search {
    const psvi_neighbour_job *job;
    psvi_cell_grid grid;
    psvi_sorted_points points, queries; // queries: order alone; empty where each point is a query
    const psvi_sorted_points *asked;    // one of both
    double origin[3];
    float up, sure;  // float squares above `up` are no neighbours, those below `sure` are
    double square;   // of the radius
    bool from_float; // float coordinates are exact, so squares need no other ones
    psvi_scan_chunk *scan;
    psvi_sort_row *sort_row;
    psvi_neighbour_memory *memory;
    psvi_neighbour_result *result;
    uint64_t cursor;        // of the list; atomic
    uint32_t short_of_room; // atomic
    bool placed;            // the places of rows are known
    bool only_count;
    uint64_t counted; // atomic, of the samples
} radius_search;

// What a thread knows of the cell and the row it is at.
typedef struct scanner {
    const radius_search *search;
    bool has_cell;
    uint32_t key, world;
    int64_t cell[3];
    psvi_cell_run runs[PSVI_CELL_RUNS];
    uint32_t run_count, candidates; // candidates: of all runs
    uint32_t near_count;            // in `near`; 0: too many, runs are read where they are
    float near_axis[3][PSVI_SCAN_CHUNK + PSVI_SCAN_LANES];
    uint32_t near[PSVI_SCAN_CHUNK + PSVI_SCAN_LANES]; // points
    uint32_t hits[PSVI_SCAN_CHUNK + PSVI_SCAN_LANES];
    float squares[PSVI_SCAN_CHUNK + PSVI_SCAN_LANES];
    double query[3];
    float local[3];    // the query relative to the origin
    uint32_t number;   // of the query
    uint32_t *indices; // the row; NULL: it is counted alone
    double *row_squares;
    uint32_t count;
    uint64_t block, block_end; // what is left of the reserved part of the list
} scanner;

// --- rows ------------------------------------------------------------------------------------------------------------

static bool is_farther(double square, uint32_t index, double other_square, uint32_t other) {
    return square > other_square || (square == other_square && index > other);
}

static void put(scanner *row, uint32_t at, uint32_t index, double square) {
    row->indices[at] = index;
    row->row_squares[at] = square;
}

// The row as a heap whose first one is the farthest: what is nearer takes its place.
static void replace_farthest(scanner *row, uint32_t index, double square) {
    uint32_t at = 0;
    if (!is_farther(row->row_squares[0], row->indices[0], square, index)) return;
    while (2 * at + 1 < row->count) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < row->count && is_farther(row->row_squares[child + 1], row->indices[child + 1],
                                                 row->row_squares[child], row->indices[child]))
            ++child;
        if (!is_farther(row->row_squares[child], row->indices[child], square, index)) break;
        put(row, at, row->indices[child], row->row_squares[child]);
        at = child;
    }
    put(row, at, index, square);
}

static void add_to_heap(scanner *row, uint32_t index, double square) {
    uint32_t at = row->count++;
    while (at > 0 && is_farther(square, index, row->row_squares[(at - 1) / 2], row->indices[(at - 1) / 2])) {
        put(row, at, row->indices[(at - 1) / 2], row->row_squares[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(row, at, index, square);
}

static void add_neighbour(scanner *row, uint32_t index, double square) {
    const uint32_t most = row->search->job->most;
    if (row->indices == NULL) {
        row->count += row->count < most;
    } else if (most == UINT32_MAX) {
        row->indices[row->count] = index;
        if (row->row_squares != NULL) row->row_squares[row->count] = square;
        ++row->count;
    } else if (row->count < most) {
        add_to_heap(row, index, square);
    } else {
        replace_farthest(row, index, square);
    }
}

static double exact_square(const scanner *row, uint32_t index) {
    const psvi_neighbour_job *job = row->search->job;
    const char *a = job->points.coordinates + index * job->points.stride;
    const char *b = job->queries.coordinates + row->number * job->queries.stride;
    double sum = 0;
    for (uint32_t axis = 0; axis < job->dimensions; ++axis) {
        const double x =
            job->doubles
                ? ((const double *)(const void *)a)[axis] - ((const double *)(const void *)b)[axis]
                : (double)((const float *)(const void *)a)[axis] - (double)((const float *)(const void *)b)[axis];
        sum += x * x;
    }
    return sum;
}

// Of a chunk of candidates those that are neighbours. points: the point of each candidate.
static void scan_chunk(scanner *row, const float *const axis[3], const uint32_t *points, uint32_t count) {
    const radius_search *search = row->search;
    const psvi_neighbour_job *job = search->job;
    const bool wants_square = job->squares && row->indices != NULL;
    const uint32_t *worlds = search->grid.dense ? NULL : job->points.worlds;
    const uint32_t found = search->scan(axis, count, row->local, search->up, row->hits, row->squares);
    for (uint32_t i = 0; i < found; ++i) {
        const uint32_t hit = row->hits[i], index = points[hit];
        double square = 0;
        if (wants_square || !(row->squares[hit] < search->sure)) {
            if (search->from_float) {
                const double x = (double)axis[0][hit] - row->query[0], y = (double)axis[1][hit] - row->query[1];
                const double z = (double)axis[2][hit] - row->query[2];
                square = x * x + y * y + z * z;
            } else {
                square = exact_square(row, index);
            }
            if (!(square <= search->square)) continue;
        }
        if (index == row->number && !job->itself) continue;
        if (worlds != NULL && worlds[index] != row->world) continue;
        add_neighbour(row, index, square);
    }
}

static void scan_row(scanner *row) {
    const radius_search *search = row->search;
    row->count = 0;
    if (row->near_count > 0) {
        const float *const axis[3] = {row->near_axis[0], row->near_axis[1], row->near_axis[2]};
        scan_chunk(row, axis, row->near, row->near_count);
        return;
    }
    for (uint32_t i = 0; i < row->run_count; ++i)
        for (uint32_t at = row->runs[i].first; at < row->runs[i].end; at += PSVI_SCAN_CHUNK) {
            const uint32_t left = row->runs[i].end - at;
            const float *const axis[3] = {search->points.axis[0] + at, search->points.axis[1] + at,
                                          search->points.axis[2] + at};
            scan_chunk(row, axis, search->points.order + at, left < PSVI_SCAN_CHUNK ? left : PSVI_SCAN_CHUNK);
        }
}

// --- cells and blocks ------------------------------------------------------------------------------------------------

// The candidates of a cell side by side, if they are not too many: its queries share them.
static void gather_candidates(scanner *row) {
    const psvi_sorted_points *points = &row->search->points;
    row->near_count = 0;
    if (row->candidates > PSVI_SCAN_CHUNK) return;
    for (uint32_t i = 0; i < row->run_count; ++i) {
        const uint32_t first = row->runs[i].first, count = row->runs[i].end - first;
        // Whole vectors: the next run overwrites what is too much.
        for (uint32_t j = 0; j < count; j += PSVI_SCAN_LANES) {
            for (int axis = 0; axis < 3; ++axis)
                memcpy(row->near_axis[axis] + row->near_count + j, points->axis[axis] + first + j, PSVI_SCAN_LANES * 4);
            memcpy(row->near + row->near_count + j, points->order + first + j, PSVI_SCAN_LANES * 4);
        }
        row->near_count += count;
    }
}

// The cell of the query at a place of the sorted ones, if it is not that of the query before.
static void enter_cell(scanner *row, uint64_t place) {
    const radius_search *search = row->search;
    const psvi_neighbour_job *job = search->job;
    const uint32_t key = search->asked->keys[place];
    if (row->has_cell && search->grid.dense && key == row->key) return; // a bucket of a dense table is a cell
    const uint32_t world = job->queries.worlds == NULL ? 0 : job->queries.worlds[row->number];
    int64_t cell[3];
    for (int axis = 0; axis < 3; ++axis)
        cell[axis] = psvi_cell_number(row->query[axis], search->grid.inverse);
    if (row->has_cell && world == row->world && memcmp(cell, row->cell, sizeof cell) == 0) return;
    row->has_cell = true;
    row->key = key;
    row->world = world;
    memcpy(row->cell, cell, sizeof cell);
    row->run_count = psvi_find_runs(&search->grid, world, cell, row->runs);
    row->candidates = 0;
    for (uint32_t i = 0; i < row->run_count; ++i)
        row->candidates += row->runs[i].end - row->runs[i].first;
    gather_candidates(row);
}

static void load_query(scanner *row, uint64_t place) {
    const radius_search *search = row->search;
    row->number = search->asked->order[place];
    if (search->from_float && !search->job->between) { // the sorted ones are exact
        for (int axis = 0; axis < 3; ++axis)
            row->query[axis] = row->local[axis] = search->points.axis[axis][place];
        return;
    }
    psvi_load_point(search->job, &search->job->queries, row->number, row->query);
    for (int axis = 0; axis < 3; ++axis)
        row->local[axis] = (float)(row->query[axis] - search->origin[axis]);
}

// Room for the row: the list, or NULL where there is none.
static void take_room(scanner *row, radius_search *search) {
    psvi_neighbour_result *result = search->result;
    const uint32_t most = search->job->most;
    const uint64_t bound = row->candidates < most ? row->candidates : most;
    row->indices = NULL;
    row->row_squares = NULL;
    if (search->only_count) return;
    uint64_t place = row->block;
    if (search->placed) {
        place = result->rows[row->number].place;
    } else if (row->block_end - row->block < bound) {
        const uint64_t wanted = bound > BLOCK ? bound : BLOCK;
        place = __atomic_fetch_add(&search->cursor, wanted, __ATOMIC_RELAXED);
        if (place + wanted > result->room) {
            __atomic_store_n(&search->short_of_room, 1, __ATOMIC_RELAXED);
            row->block = row->block_end = 0;
            return;
        }
        row->block = place;
        row->block_end = place + wanted;
    }
    row->indices = result->indices + place;
    if (result->squares != NULL) row->row_squares = result->squares + place;
}

static void answer_query(scanner *row, radius_search *search, uint64_t place) {
    psvi_neighbour_result *result = search->result;
    load_query(row, place);
    enter_cell(row, place);
    take_room(row, search);
    scan_row(row);
    if (search->only_count) return;
    if (row->indices != NULL) {
        search->sort_row(row->indices, row->row_squares, row->count);
        if (!search->placed) {
            result->rows[row->number].place = row->block;
            row->block += row->count;
        }
    }
    result->rows[row->number].count = row->count;
}

static void answer_some(void *data, uint64_t first, uint64_t end) {
    radius_search *search = data;
    scanner row = {.search = search};
    for (uint64_t place = first; place < end; ++place)
        answer_query(&row, search, place);
}

static void count_some(void *data, uint64_t first, uint64_t end) {
    radius_search *search = data;
    scanner row = {.search = search};
    uint64_t sum = 0;
    for (uint64_t sample = first; sample < end; ++sample)
        for (uint64_t i = 0; i < SAMPLE_QUERIES; ++i) {
            answer_query(&row, search, (search->asked->good - SAMPLE_QUERIES) * sample / SAMPLES + i);
            sum += row.count;
        }
    __atomic_fetch_add(&search->counted, sum, __ATOMIC_RELAXED);
}

// --- a search --------------------------------------------------------------------------------------------------------

// The bounds of float squares that are decided without doubles. `slack` is the most by which a coordinate's difference
// in floats is wrong before it is rounded itself.
static void set_thresholds(radius_search *search, double slack) {
    const double wide = search->job->radius + 2 * slack, narrow = search->job->radius - 2 * slack;
    const double up = wide * wide * (1 + 1e-6) + 1e-43, sure = narrow > 0 ? narrow * narrow * (1 - 1e-6) - 1e-43 : 0;
    const double largest = 3.4e38;
    search->square = search->job->radius * search->job->radius;
    search->up = up > largest ? INFINITY : nextafterf((float)up, INFINITY);
    search->sure = sure > largest ? (float)largest : sure > 0 ? nextafterf((float)sure, 0) : 0;
    if (search->job->dimensions > 3) search->sure = 0;
}

static void choose_scale(radius_search *search, const psvi_neighbour_bounds *bounds) {
    double slack = 0;
    search->from_float = !search->job->doubles && search->job->dimensions <= 3;
    for (int axis = 0; axis < 3 && search->job->doubles; ++axis) {
        if (!(bounds->min[axis] <= bounds->max[axis])) continue;
        const double middle = 0.5 * bounds->min[axis] + 0.5 * bounds->max[axis];
        search->origin[axis] = middle;
        slack += (bounds->max[axis] - middle) * 0x1p-22 + 1e-43;
    }
    set_thresholds(search, slack);
}

static void choose_code(radius_search *search) {
    search->scan = psvi_scan_chunk_plain;
    search->sort_row = psvi_sort_row_plain;
#ifdef PSVI_HAVE_AVX2_FILE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        search->scan = psvi_scan_chunk_avx2;
        search->sort_row = psvi_sort_row_avx2;
    }
#endif
}

static psv_status sort_all(psv_context *context, radius_search *search) {
    const psvi_neighbour_job *job = search->job;
    psvi_neighbour_bounds bounds = psvi_bound_points(context, job, &job->points);
    if (job->between) {
        const psvi_neighbour_bounds others = psvi_bound_points(context, job, &job->queries);
        psvi_join_bounds(&bounds, &others);
    }
    choose_scale(search, &bounds);
    psv_status status = psvi_make_cells(context, job, &bounds, search->memory, &search->grid);
    if (status == PSV_OK)
        status = psvi_sort_points(context, job, &search->grid, search->origin, search->memory, &search->points);
    if (status != PSV_OK) return status;
    psvi_start_cells(context, &search->grid, &search->points);
    search->asked = &search->points;
    if (!job->between) return PSV_OK;
    search->asked = &search->queries;
    return psvi_sort_queries(context, job, &search->grid, search->memory, &search->queries);
}

static psv_status take_list(psv_context *context, radius_search *search, uint64_t room) {
    psvi_neighbour_result *result = search->result;
    const uint64_t kept = search->memory->bytes[PSVI_NEIGHBOUR_INDICES] / sizeof *result->indices;
    if (room < kept && !search->job->squares) room = kept;
    result->room = room;
    result->indices =
        psvi_take_neighbour_part(context, search->memory, PSVI_NEIGHBOUR_INDICES, room * sizeof(uint32_t));
    result->squares = NULL;
    if (search->job->squares)
        result->squares =
            psvi_take_neighbour_part(context, search->memory, PSVI_NEIGHBOUR_SQUARES, room * sizeof(double));
    if (result->indices != NULL && (result->squares != NULL || !search->job->squares)) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %llu neighbours", (unsigned long long)room);
}

// Room for all rows, by the number of neighbours that some queries have.
static uint64_t estimate_room(psv_context *context, radius_search *search) {
    const uint64_t queries = search->asked->good, pieces = queries / GRAIN + 1;
    if (queries < (uint64_t)SAMPLES * SAMPLE_QUERIES) return (pieces + queries / 64) * BLOCK;
    search->only_count = true;
    psvi_run_ranges(context, SAMPLES, 1, count_some, search);
    search->only_count = false;
    const double mean = (double)search->counted / (SAMPLES * SAMPLE_QUERIES);
    return (uint64_t)(1.2 * mean * (double)queries) + (pieces + 1) * BLOCK;
}

// Places of rows that lie in order; returns their length.
static uint64_t place_rows(const psvi_neighbour_result *result) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < result->queries; ++i) {
        result->rows[i].place = sum;
        sum += result->rows[i].count;
    }
    return sum;
}

static psv_status find_rows(psv_context *context, radius_search *search) {
    psv_status status = take_list(context, search, estimate_room(context, search));
    if (status != PSV_OK) return status;
    psvi_run_ranges(context, search->asked->good, GRAIN, answer_some, search);
    if (search->short_of_room == 0) return PSV_OK;
    status = take_list(context, search, place_rows(search->result));
    if (status != PSV_OK) return status;
    search->placed = true;
    psvi_run_ranges(context, search->asked->good, GRAIN, answer_some, search);
    return PSV_OK;
}

static psv_status find_neighbours(psv_context *context, const psvi_neighbour_job *job, psvi_neighbour_memory *memory,
                                  psvi_neighbour_result *result) {
    radius_search search = {.job = job, .memory = memory, .result = result};
    const uint64_t bytes = job->queries.count * sizeof *result->rows;
    choose_code(&search);
    result->rows = psvi_take_neighbour_part(context, memory, PSVI_NEIGHBOUR_ROWS, bytes);
    if (result->rows == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %llu queries",
                         (unsigned long long)job->queries.count);
    psv_status status = sort_all(context, &search);
    for (uint64_t place = search.asked == NULL ? 0 : search.asked->good;
         status == PSV_OK && place < search.asked->count; ++place)
        result->rows[search.asked->order[place]] = (psvi_neighbour_row){0, 0}; // they are not finite
    return status == PSV_OK ? find_rows(context, &search) : status;
}

// --- results ---------------------------------------------------------------------------------------------------------

typedef struct write_job {
    const psvi_neighbour_result *result;
    const psvi_neighbour_output *output;
} write_job;

static void write_row(const write_job *job, uint64_t query, uint64_t to) {
    const psvi_neighbour_result *result = job->result;
    const psvi_neighbour_output *output = job->output;
    const uint64_t from = result->rows[query].place, count = result->rows[query].count;
    for (uint64_t i = 0; i < count && output->indices != NULL; ++i) {
        if (output->wide)
            ((uint64_t *)output->indices)[to + i] = result->indices[from + i];
        else
            ((uint32_t *)output->indices)[to + i] = result->indices[from + i];
    }
    for (uint64_t i = 0; i < count && output->queries != NULL; ++i) {
        if (output->wide)
            ((uint64_t *)output->queries)[to + i] = query;
        else
            ((uint32_t *)output->queries)[to + i] = (uint32_t)query;
    }
    for (uint64_t i = 0; i < count && output->distances != NULL; ++i) {
        const double distance = sqrt(result->squares[from + i]);
        if (output->doubles)
            ((double *)output->distances)[to + i] = distance;
        else
            ((float *)output->distances)[to + i] = (float)distance;
    }
}

static void write_some(void *data, uint64_t first, uint64_t end) {
    const write_job *job = data;
    for (uint64_t query = first; query < end; ++query) {
        if (query + 8 < end) __builtin_prefetch(job->result->indices + job->result->rows[query + 8].place);
        write_row(job, query, job->result->offsets[query]);
    }
}

static void write_neighbours(psv_context *context, const psvi_neighbour_result *result,
                             const psvi_neighbour_output *output) {
    const write_job job = {result, output};
    psvi_run_ranges(context, result->queries, GRAIN, write_some, (void *)&job);
}

const psvi_neighbour_ops psvi_neighbour_ops_cpu = {.find = find_neighbours, .write = write_neighbours};
