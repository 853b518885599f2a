// The grid of `rows` on the CPU: which axis is swept, how wide rows are, and which level a box of some size belongs to.
//
// Everything here only orders and bounds. Coordinates are clamped to a range that a sample gives, so infinite boxes and
// far outliers are like boxes at the border. Every map is monotone, so boxes that overlap stay in reach of each other.
#ifndef PAIRSIEVE_ROWS_GRID_H
#define PAIRSIEVE_ROWS_GRID_H

#include "cpu_boxes.h"

#define ROWS_MAX_LEVELS 12
#define ROWS_MAX_SAMPLE 4096
#define ROWS_BINADES 256
#define ROWS_SHAPES 4  // any, and long along each axis
#define ROWS_LONG 8.0f // times the other two extents, in medians
#define ROWS_SIZES (ROWS_SHAPES * ROWS_BINADES)
#define ROWS_MAX_GAPS 6
#define ROWS_MAX_HUGE 16 // boxes far larger than the others that are tested against all instead of making a level

typedef struct rows_level {
    uint32_t ny, nz;    // rows across
    float inv_y, inv_z; // rows a unit
    uint32_t base;      // the level's first row within a world
    uint32_t cell_base; // its first cell
    uint32_t cells;     // cells of a row: pieces of its length
    uint32_t shift;     // from steps along the sweep axis to cells
    double row_load;    // boxes of a row, as a box sees it
    float ext[3];       // largest extents of its boxes, sweep axis first
    uint32_t q_ext;     // ext[0] in quantised steps, rounded up
    uint64_t count;
    bool is_long; // of boxes along one axis: they look one by one, as bounds of several would be as thick as a row
} rows_level;

// The map from a clamped coordinate to a distance along an axis. Wide gaps without boxes take no room: piece p begins
// at from[p], is shifted by shift[p], and what lies in the gap after it stays at its end, cap[p]. Monotone, and no two
// coordinates get farther apart.
typedef struct rows_axis {
    uint32_t gaps; // pieces less one
    float from[ROWS_MAX_GAPS + 1], shift[ROWS_MAX_GAPS + 1], cap[ROWS_MAX_GAPS + 1];
    float length; // largest distance
} rows_axis;

typedef struct rows_grid {
    int axis[3];              // axis[0] is swept, rows run over the other two
    float up;                 // a power of two; scaled coordinates, which all below are in, are coordinates times this
    float low[3], high[3];    // clamping range, in that order
    rows_axis along[3];       // distances, likewise
    float inv_median[3];      // 1 / median extent: sizes are measured in medians
    float q_scale;            // quantised steps a unit along the sweep axis
    uint32_t x_bits, q_limit; // q_limit: the largest step
    uint32_t level_count;
    rows_level levels[ROWS_MAX_LEVELS];
    bool by_shape;                // enough of the sample is long: shapes are told apart
    uint8_t level_of[ROWS_SIZES]; // level of a size; level_count: huge
    uint32_t rows_per_world, world_slots, row_count;
    uint32_t cells_per_world, cell_count; // the table of what begins where is by cells
    uint32_t key_bits;
    uint64_t huge_count;
} rows_grid;

// Sizes of the frame's boxes: per shape and binade of the size their number and largest extents.
typedef struct rows_sizes {
    uint64_t count[ROWS_SIZES];
    float ext[ROWS_SIZES][3];
} rows_sizes;

typedef struct rows_sample {
    uint32_t count;
    uint32_t world[ROWS_MAX_SAMPLE];
    float min[3][ROWS_MAX_SAMPLE], max[3][ROWS_MAX_SAMPLE]; // in the order of the input's axes
    float work[ROWS_MAX_SAMPLE];
    uint64_t cells[2 * ROWS_MAX_SAMPLE];
} rows_sample;

// First step: ranges, medians and axes from a sample of the boxes.
void rows_begin_grid(rows_grid *grid, rows_sample *sample, const psvi_find_input *input);

// Second step, with the sizes of all boxes known: levels, rows and key bits. `lanes` is the vector width to fill.
void rows_finish_grid(rows_grid *grid, rows_sample *sample, const rows_sizes *sizes, uint64_t live,
                      uint32_t world_count, uint32_t lanes);

// Where a row is.
typedef struct rows_home {
    uint32_t row, level, y, z;
    uint32_t world_cell; // first cell of its world
    uint32_t cell;       // its own first cell
} rows_home;

static inline void rows_find_home(const rows_grid *grid, uint32_t row, rows_home *home) {
    const uint32_t world = row / grid->rows_per_world;
    uint32_t within = row - world * grid->rows_per_world;
    home->row = row;
    home->level = 0;
    while (home->level + 1 < grid->level_count && grid->levels[home->level + 1].base <= within)
        ++home->level;
    const rows_level *level = &grid->levels[home->level];
    within -= level->base;
    home->y = within / level->nz;
    home->z = within % level->nz;
    home->world_cell = world * grid->cells_per_world;
    home->cell = home->world_cell + level->cell_base + within * level->cells;
}

// Most cells for so many boxes: their table stays smaller than the boxes, and a key has bits left for the sweep axis.
static inline uint64_t rows_table_limit(uint64_t boxes) {
    return boxes < (1u << 24) ? 4 * boxes + 1024 : 4 * (uint64_t)(1u << 24);
}

// Without branches: two choices that the processor has as instructions.
static inline float rows_clamp(float x, float low, float high) {
    const float above = x > low ? x : low;
    return above < high ? above : high;
}

// A coordinate, scaled. The processor is slow with numbers below the smallest normal float: those are taken as
// integers.
static inline float rows_scaled(const rows_grid *grid, float x) {
    if (grid->up == 1) return x;
    int32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7f800000) != 0) return x * grid->up;
    const float size = (float)(bits & 0x7fffff) * 0x1p-49f;
    return bits < 0 ? -size : size;
}

// Distance of a scaled coordinate along axis k of the grid.
static inline float rows_distance(const rows_grid *grid, int k, float x) {
    const rows_axis *along = &grid->along[k];
    uint32_t p = 0;
    x = rows_clamp(x, grid->low[k], grid->high[k]);
    while (p < along->gaps && x >= along->from[p + 1])
        ++p;
    float distance = x - along->shift[p];
    return distance < along->cap[p] ? distance : along->cap[p];
}

// Binade of the size of a scaled box (largest clamped extent, in medians); `ext` gets the clamped extents, sweep axis
// first.
static inline uint32_t rows_size_binade(const rows_grid *grid, const float box[6], float ext[3]) {
    float size = 0;
    for (int k = 0; k < 3; ++k) {
        ext[k] = rows_clamp(box[3 + grid->axis[k]], grid->low[k], grid->high[k]) -
                 rows_clamp(box[grid->axis[k]], grid->low[k], grid->high[k]);
        float relative = ext[k] * grid->inv_median[k];
        size = relative > size ? relative : size;
    }
    uint32_t bits;
    memcpy(&bits, &size, 4);
    return bits >> 23;
}

// The same, and shape * ROWS_BINADES. Long boxes of each axis can have levels of their own: where they lie along
// several axes, a level of all has cells that are long on every side.
static inline uint32_t rows_size_of(const rows_grid *grid, const float box[6], float ext[3]) {
    const uint32_t binade = rows_size_binade(grid, box, ext);
    if (!grid->by_shape) return binade;
    const float x = ext[0] * grid->inv_median[0], y = ext[1] * grid->inv_median[1], z = ext[2] * grid->inv_median[2];
    const float xy = x > y ? x : y, yz = y > z ? y : z, zx = z > x ? z : x;
    const uint32_t shape =
        (uint32_t)(x > ROWS_LONG * yz) + 2 * (uint32_t)(y > ROWS_LONG * zx) + 3 * (uint32_t)(z > ROWS_LONG * xy);
    return shape * ROWS_BINADES + binade;
}

// Row of a scaled coordinate on one of the two row axes (k = 1 or 2), clamped to the grid.
static inline uint32_t rows_cell(const rows_grid *grid, int k, float x, float inv, uint32_t n) {
    uint32_t index = (uint32_t)(rows_distance(grid, k, x) * inv);
    return index < n ? index : n - 1;
}

// Step of a scaled coordinate on the sweep axis.
static inline uint32_t rows_quantise(const rows_grid *grid, float x) {
    uint32_t q = (uint32_t)(rows_distance(grid, 0, x) * grid->q_scale);
    return q < grid->q_limit ? q : grid->q_limit;
}

// Key of a box of a size (rows_size_of) by its least corner.
static inline uint32_t rows_key(const rows_grid *grid, uint32_t size, const float min[3], uint32_t world) {
    uint32_t l = grid->level_of[size];
    if (l == grid->level_count) return grid->row_count << grid->x_bits;
    const rows_level *level = &grid->levels[l];
    uint32_t slot = grid->world_slots > 1 ? world % grid->world_slots : 0;
    uint32_t row = slot * grid->rows_per_world + level->base +
                   rows_cell(grid, 1, rows_scaled(grid, min[grid->axis[1]]), level->inv_y, level->ny) * level->nz +
                   rows_cell(grid, 2, rows_scaled(grid, min[grid->axis[2]]), level->inv_z, level->nz);
    return row << grid->x_bits | rows_quantise(grid, rows_scaled(grid, min[grid->axis[0]]));
}

#endif
