#include "rows_grid.h"

#include <math.h>

#define FAR 1e38f   // ranges end here, so that their widths are finite
#define STEEP 1e30f // largest scale: below 1 / STEEP scaled coordinates are not told apart by rows
#define TINY 1e-20f // a scene within this far of the origin is scaled up
#define TINY_UP 0x1p100f

static float inverse(float x) { return x > 1 / STEEP ? 1 / x : STEEP; }

// --- sample ----------------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Enough boxes for about two dozen pairs of the sample to share a row's window when rows are as wide as they should be.
static uint32_t sample_size(uint64_t count) {
    double wanted = 2 * sqrt((double)count);
    return wanted < 256 ? 256 : wanted > ROWS_MAX_SAMPLE ? ROWS_MAX_SAMPLE : (uint32_t)wanted;
}

// Boxes at hashed places: evenly spaced ones would never be neighbours in spatially ordered input.
static void take_sample(rows_sample *sample, const psvi_find_input *input) {
    uint64_t count = psvi_input_count(input);
    uint32_t wanted = sample_size(count), taken = 0;
    for (uint32_t s = 0; s < wanted && count > 0; ++s) {
        float box[6];
        uint64_t id = count <= wanted ? s : mix(0x9E3779B97F4A7C15ull * (s + 1)) % count;
        if (id >= count) break;
        if (psvi_judge_box(input, id, box) != PSVI_BOX_LIVE) continue;
        for (int axis = 0; axis < 3; ++axis) {
            sample->min[axis][taken] = box[axis];
            sample->max[axis][taken] = box[3 + axis];
        }
        sample->world[taken++] = psvi_read_world(input, id);
    }
    sample->count = taken;
}

// Scales the sample of a scene of tiny numbers up, whose steps a unit would be no float. Returns by how much.
static float scale_sample(rows_sample *sample) {
    float far = 0;
    for (int axis = 0; axis < 3; ++axis)
        for (uint32_t s = 0; s < sample->count; ++s)
            far = fmaxf(far, fmaxf(fabsf(sample->min[axis][s]), fabsf(sample->max[axis][s])));
    if (!(far > 0 && far < TINY)) return 1;
    for (int axis = 0; axis < 3; ++axis)
        for (uint32_t s = 0; s < sample->count; ++s)
            sample->min[axis][s] *= TINY_UP, sample->max[axis][s] *= TINY_UP;
    return TINY_UP;
}

// The k-th smallest of `values`, which it reorders.
static float select_value(float *values, uint32_t count, uint32_t k) {
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = values[low + (high - low) / 2];
        uint32_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                ++i;
            while (values[j] > pivot)
                --j;
            if (i >= j) break;
            float swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

// --- ranges, medians and axes ----------------------------------------------------------------------------------------

// Clamping range of one axis: the sample's own, unless its tails are long; then three times the middle 96 %.
static void find_range(rows_sample *sample, int axis, float *low, float *high) {
    float bounds[2] = {0, 0}, middle[2] = {0, 0};
    uint32_t found = 0;
    for (int side = 0; side < 2; ++side) {
        const float *values = side == 0 ? sample->min[axis] : sample->max[axis];
        uint32_t n = 0;
        for (uint32_t s = 0; s < sample->count; ++s)
            if (values[s] > -FAR && values[s] < FAR) sample->work[n++] = values[s];
        if (n == 0) continue;
        bounds[side] = select_value(sample->work, n, side == 0 ? 0 : n - 1);
        middle[side] = select_value(sample->work, n, side == 0 ? n / 50 : n - 1 - n / 50);
        found |= 1u << side;
    }
    if (found == 1) bounds[1] = middle[1] = middle[0];
    if (found == 2) bounds[0] = middle[0] = middle[1];
    float width = middle[1] - middle[0];
    *low = fmaxf(bounds[0], middle[0] - width);
    *high = fminf(bounds[1], middle[1] + width);
    if (!(*high > *low)) *high = *low;
}

#define GAP_BINS 256
#define GAP_LEAST 4 // bins that a gap takes at least

static void end_piece(rows_axis *along, float at) {
    uint32_t p = along->gaps;
    along->cap[p] = at - along->shift[p];
}

// Begins a piece at `from` where the last one ended; its shift is rounded down, so that the map stays monotone.
static void begin_piece(rows_axis *along, float from) {
    uint32_t p = along->gaps++;
    float shift = from - along->cap[p];
    while (from - shift < along->cap[p])
        shift = nextafterf(shift, -INFINITY);
    along->from[p + 1] = from;
    along->shift[p + 1] = shift > along->shift[p] ? shift : along->shift[p];
}

// Finds the wide gaps of one axis: bins that no box of the sample touches. What the sample has between them gets an
// eighth more on either side, for the boxes that it does not have.
static void find_gaps(rows_grid *grid, const rows_sample *sample, int k) {
    rows_axis *along = &grid->along[k];
    const float low = grid->low[k], high = grid->high[k], scale = GAP_BINS * inverse(high - low);
    const float bin_width = (high - low) / GAP_BINS;
    float least[GAP_BINS], most[GAP_BINS];
    uint8_t used[GAP_BINS] = {0};
    for (int bin = 0; bin < GAP_BINS; ++bin) {
        least[bin] = high;
        most[bin] = low;
    }
    for (uint32_t s = 0; s < sample->count; ++s) {
        const float min = rows_clamp(sample->min[grid->axis[k]][s], low, high);
        const float max = rows_clamp(sample->max[grid->axis[k]][s], low, high);
        const int first = (int)fminf((min - low) * scale, GAP_BINS - 1);
        const int last = (int)fminf((max - low) * scale, GAP_BINS - 1);
        for (int bin = first; bin <= last; ++bin)
            used[bin] = 1;
        least[first] = fminf(least[first], min);
        most[last] = fmaxf(most[last], max);
    }
    used[0] = 1;
    uint32_t pieces = 1;
    int first_bin[ROWS_MAX_GAPS + 1] = {0}, last_bin[ROWS_MAX_GAPS + 1] = {0};
    for (int bin = 1; bin < GAP_BINS && bin_width > 0; ++bin) {
        if (!used[bin]) continue;
        if (bin - last_bin[pieces - 1] > GAP_LEAST && pieces <= ROWS_MAX_GAPS) first_bin[pieces++] = bin;
        last_bin[pieces - 1] = bin;
    }
    along->gaps = 0;
    along->from[0] = along->shift[0] = low;
    for (uint32_t p = 0; p < pieces; ++p) {
        const float from = least[first_bin[p]], to = most[last_bin[p]], more = fmaxf(to - from, 0) / 8;
        if (p > 0) begin_piece(along, fmaxf(from - more, low + (float)first_bin[p] * bin_width));
        end_piece(along, p + 1 == pieces ? high : fminf(to + more, low + (float)(last_bin[p] + 1) * bin_width));
    }
    if (along->cap[along->gaps] < 0) along->cap[along->gaps] = 0;
    along->length = along->cap[along->gaps];
}

static float find_median(rows_sample *sample, int axis, float low, float high) {
    if (sample->count == 0) return 0;
    for (uint32_t s = 0; s < sample->count; ++s)
        sample->work[s] = rows_clamp(sample->max[axis][s], low, high) - rows_clamp(sample->min[axis][s], low, high);
    return select_value(sample->work, sample->count, sample->count / 2);
}

static void sample_box(const rows_sample *sample, uint32_t s, float box[6]) {
    for (int k = 0; k < 3; ++k) {
        box[k] = sample->min[k][s];
        box[3 + k] = sample->max[k][s];
    }
}

#define LEAST_OF_SHAPE 16 // a shape is apart from one in so many boxes on

static void tell_shapes(rows_grid *grid, const rows_sample *sample) {
    uint32_t count = 0;
    grid->by_shape = true;
    for (uint32_t s = 0; s < sample->count; ++s) {
        float box[6], ext[3];
        sample_box(sample, s, box);
        count += rows_size_of(grid, box, ext) >= ROWS_BINADES;
    }
    grid->by_shape = count > sample->count / LEAST_OF_SHAPE;
}

void rows_begin_grid(rows_grid *grid, rows_sample *sample, const psvi_find_input *input) {
    float low[3], high[3], median[3], resolution[3];
    take_sample(sample, input);
    grid->up = scale_sample(sample);
    for (int axis = 0; axis < 3; ++axis) {
        find_range(sample, axis, &low[axis], &high[axis]);
        float range = high[axis] - low[axis];
        median[axis] = fmaxf(find_median(sample, axis, low[axis], high[axis]), range * 0x1p-20f);
        resolution[axis] = range * inverse(median[axis]);
        grid->axis[axis] = axis;
    }
    // The axis that tells most boxes apart is swept.
    for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k < 2; ++k) {
            int a = grid->axis[k], b = grid->axis[k + 1];
            if (resolution[b] > resolution[a]) grid->axis[k] = b, grid->axis[k + 1] = a;
        }
    }
    for (int k = 0; k < 3; ++k) {
        grid->low[k] = low[grid->axis[k]];
        grid->high[k] = high[grid->axis[k]];
        grid->inv_median[k] = inverse(median[grid->axis[k]]);
        find_gaps(grid, sample, k);
    }
    tell_shapes(grid, sample);
}

// --- levels ----------------------------------------------------------------------------------------------------------

// Gives the largest sizes to the huge list while they are few and far larger than the rest.
static int split_huge(rows_grid *grid, const rows_sizes *sizes, uint64_t live) {
    int top = ROWS_BINADES - 1;
    uint64_t huge = 0, below = live;
    while (top > 0 && sizes->count[top] == 0)
        --top;
    int kept = top;
    for (int b = top; b > 0; --b) {
        if (sizes->count[b] == 0) continue;
        huge += sizes->count[b];
        below -= sizes->count[b];
        if (huge > ROWS_MAX_HUGE || below < 64 * huge) break;
        int next = b - 1;
        while (next > 0 && sizes->count[next] == 0)
            --next;
        if (b - next >= 3 || b > 127 + 3) { // 8 times the next size or the median
            kept = next;
            grid->huge_count = huge;
        }
    }
    return kept;
}

// Groups of two binades (4x) of one shape, from the largest size down; a small group joins the level above it, where it
// costs less than a visit of every box to one more level.
static void make_shape_levels(rows_grid *grid, const rows_sizes *sizes, int shape, int top) {
    const uint64_t *counts = sizes->count + shape * ROWS_BINADES;
    const float(*exts)[3] = sizes->ext + shape * ROWS_BINADES;
    uint8_t *level_of = grid->level_of + shape * ROWS_BINADES;
    const uint32_t none = grid->level_count < ROWS_MAX_LEVELS ? grid->level_count : 0; // there is no level above
    for (int b = top; b >= 0;) {
        uint64_t count = 0;
        int end = b - 1 > 0 ? b - 2 : -1;
        // A few large boxes do not take half of the next two binades along, which are a level of their own then.
        if (b > 1 && 8 * counts[b] < counts[b - 1]) end = b - 1;
        if (shape > 0) end = b > 3 ? b - 4 : -1; // a level more of each shape costs more than some length
        for (int i = b; i > end; --i)
            count += counts[i];
        if (count == 0) {
            b = end;
            continue;
        }
        rows_level *above = grid->level_count == none ? NULL : &grid->levels[grid->level_count - 1];
        bool joins = above != NULL && (count < above->count / 4 || grid->level_count == ROWS_MAX_LEVELS);
        if (!joins) {
            grid->levels[grid->level_count++] = (rows_level){.is_long = shape > 0};
            above = &grid->levels[grid->level_count - 1];
        }
        above->count += count;
        for (int i = b; i > end; --i) {
            level_of[i] = (uint8_t)(grid->level_count - 1);
            for (int k = 0; k < 3; ++k)
                above->ext[k] = fmaxf(above->ext[k], exts[i][k]);
        }
        b = end;
    }
}

static void add_size(rows_sizes *sizes, int to, int from) {
    sizes->count[to] += sizes->count[from];
    for (int k = 0; k < 3; ++k)
        sizes->ext[to][k] = fmaxf(sizes->ext[to][k], sizes->ext[from][k]);
}

// Long boxes of an axis have levels of their own where they are many; the others are taken as of any shape.
static void make_levels(rows_grid *grid, const rows_sizes *sizes, uint64_t live) {
    rows_sizes by_shape = *sizes, all = *sizes;
    bool apart[ROWS_SHAPES] = {true};
    for (int shape = 1; shape < ROWS_SHAPES; ++shape) {
        const int first = shape * ROWS_BINADES;
        uint64_t count = 0;
        for (int b = 0; b < ROWS_BINADES; ++b)
            count += sizes->count[first + b];
        apart[shape] = count > live / LEAST_OF_SHAPE;
        for (int b = 0; b < ROWS_BINADES; ++b) {
            add_size(&all, b, first + b);
            if (!apart[shape]) add_size(&by_shape, b, first + b);
        }
    }
    const int top = split_huge(grid, &all, live);
    grid->level_count = 0;
    for (int shape = 0; shape < ROWS_SHAPES; ++shape)
        if (apart[shape]) make_shape_levels(grid, &by_shape, shape, top);
    for (int shape = 0; shape < ROWS_SHAPES; ++shape)
        for (int b = 0; b < ROWS_BINADES; ++b) {
            const int i = shape * ROWS_BINADES + b;
            if (b > top)
                grid->level_of[i] = (uint8_t)grid->level_count;
            else if (!apart[shape])
                grid->level_of[i] = grid->level_of[b];
        }
    // Differences of floats are rounded; one step up covers that.
    for (uint32_t l = 0; l < grid->level_count; ++l)
        for (int k = 0; k < 3; ++k)
            grid->levels[l].ext[k] = nextafterf(grid->levels[l].ext[k], INFINITY);
}

// --- rows ------------------------------------------------------------------------------------------------------------

// How many of `count` boxes a box finds in its own cell of the given widths, on average, judged by the sample.
static double cell_load(const rows_grid *grid, rows_sample *sample, const float width[3], uint64_t count) {
    uint32_t slots = 1, pairs = 0, n = sample->count;
    while (slots < 2 * n)
        slots *= 2;
    if (slots > 2 * ROWS_MAX_SAMPLE) slots = 2 * ROWS_MAX_SAMPLE;
    if (n < 2) return 0;
    memset(sample->cells, 0, slots * sizeof *sample->cells);
    float inv[3];
    for (int k = 0; k < 3; ++k)
        inv[k] = inverse(width[k]);
    for (uint32_t s = 0; s < n; ++s) {
        uint64_t cell = sample->world[s];
        for (int k = 0; k < 3; ++k) {
            float x = rows_distance(grid, k, sample->min[grid->axis[k]][s]);
            cell = mix(cell * 0x9E3779B97F4A7C15ull + (uint64_t)fminf(x * inv[k], 1e9f) + 1);
        }
        // A slot holds the cell's hash above and its count below; equal hashes are taken for equal cells.
        uint64_t tag = (cell | 1ull << 63) & ~(uint64_t)0xffff;
        uint32_t at = (uint32_t)cell & (slots - 1);
        while (sample->cells[at] != 0 && (sample->cells[at] & ~(uint64_t)0xffff) != tag)
            at = (at + 1) & (slots - 1);
        if (sample->cells[at] == 0) sample->cells[at] = tag;
        pairs += (uint32_t)(sample->cells[at]++ & 0xffff);
    }
    return 2.0 * pairs / ((double)n * (n - 1)) * (double)count;
}

#define MAX_WIDTH_STEP 24

static void set_widths(const rows_grid *grid, rows_level *level, uint32_t step, float width[3]) {
    const float wider = exp2f(0.5f * (float)step);
    for (int k = 0; k < 3; ++k) {
        // A hundredth more than the extents: then a box reaches no further than the next row, whatever is rounded.
        width[k] = fmaxf(level->ext[k] * 1.01f, grid->along[k].length * (1.0f / 4096));
        if (k > 0 || !level->is_long) width[k] *= wider;
    }
    float cells_y = grid->along[1].length * inverse(width[1]);
    float cells_z = grid->along[2].length * inverse(width[2]);
    level->inv_y = inverse(width[1]);
    level->inv_z = inverse(width[2]);
    level->ny = cells_y >= 1 ? (uint32_t)fminf(cells_y, 8192) + 1 : 1;
    level->nz = cells_z >= 1 ? (uint32_t)fminf(cells_z, 8192) + 1 : 1;
}

// The widest rows in which boxes that lie together are few enough. Those that are swept in groups: about two groups in
// a piece of the row that is as long as it is wide, measured in extents. Long ones, one by one: a vector of them within
// the reach of one.
static uint32_t choose_step(const rows_grid *grid, rows_sample *sample, rows_level *level, uint32_t lanes) {
    const uint32_t most = level->is_long ? lanes : 2 * lanes;
    uint32_t low = 0, high = MAX_WIDTH_STEP;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        float width[3];
        set_widths(grid, level, middle, width);
        if (cell_load(grid, sample, width, level->count) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint64_t count_rows(rows_grid *grid) {
    uint64_t rows = 0;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        grid->levels[l].base = (uint32_t)rows;
        rows += (uint64_t)grid->levels[l].ny * grid->levels[l].nz;
    }
    return rows;
}

// Rows as wide as each level wants them, then wider until their table is no larger than `limit`.
static void make_rows(rows_grid *grid, rows_sample *sample, uint64_t limit, uint32_t lanes) {
    uint32_t step[ROWS_MAX_LEVELS];
    float width[3];
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        step[l] = choose_step(grid, sample, &grid->levels[l], lanes);
        set_widths(grid, &grid->levels[l], step[l], width);
    }
    while (count_rows(grid) * grid->world_slots > limit) {
        uint32_t most = 0;
        for (uint32_t l = 1; l < grid->level_count; ++l)
            if ((uint64_t)grid->levels[l].ny * grid->levels[l].nz >
                (uint64_t)grid->levels[most].ny * grid->levels[most].nz)
                most = l;
        if ((uint64_t)grid->levels[most].ny * grid->levels[most].nz == 1) break;
        set_widths(grid, &grid->levels[most], ++step[most], width);
    }
    grid->rows_per_world = (uint32_t)count_rows(grid);
    grid->row_count = grid->rows_per_world * grid->world_slots;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        rows_level *level = &grid->levels[l];
        const double rows = (double)level->ny * level->nz * grid->world_slots;
        set_widths(grid, level, step[l], width);
        level->row_load = cell_load(grid, sample, width, level->count) * grid->along[0].length * inverse(width[0]);
        level->row_load = fmax(level->row_load, (double)level->count / rows);
    }
}

// Steps along the sweep axis: an eighth of the extent of the level with the most boxes.
static void quantise(rows_grid *grid) {
    uint32_t most = 0, row_bits = 1;
    for (uint32_t l = 1; l < grid->level_count; ++l)
        if (grid->levels[l].count > grid->levels[most].count) most = l;
    while ((uint64_t)1 << row_bits <= grid->row_count) // the row after the last is that of the huge boxes
        ++row_bits;
    float range = grid->along[0].length;
    float ext = grid->level_count == 0 ? range * 8 : grid->levels[most].ext[0];
    for (uint32_t l = 0; grid->by_shape && l < grid->level_count; ++l) // long boxes of another axis
        if (2 * grid->levels[l].count > grid->levels[most].count) ext = fminf(ext, grid->levels[l].ext[0]);
    float steps = range * inverse(ext) * 8;
    grid->x_bits = 1;
    while (grid->x_bits < 20 && grid->x_bits + row_bits < 32 && (float)(1u << grid->x_bits) < steps)
        ++grid->x_bits;
    grid->q_limit = (1u << grid->x_bits) - 1;
    grid->q_scale = (float)(grid->q_limit + 1) * inverse(range);
    grid->key_bits = row_bits + grid->x_bits;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        float q = grid->levels[l].ext[0] * grid->q_scale;
        grid->levels[l].q_ext = q < (float)grid->q_limit ? (uint32_t)q + 3 : grid->q_limit + 1;
    }
}

#define CELL_BOXES 4 // in a cell, as a box sees it

static uint64_t count_cells(const rows_grid *grid, uint32_t fewer) {
    uint64_t cells = 0;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        const rows_level *level = &grid->levels[l];
        const uint32_t shift = level->shift + fewer < grid->x_bits ? level->shift + fewer : grid->x_bits;
        cells += (uint64_t)level->ny * level->nz << (grid->x_bits - shift);
    }
    return cells * grid->world_slots;
}

// Rows are cut into cells of so many steps, so that what a box can reach of a row is found without a search.
static void make_cells(rows_grid *grid, uint64_t limit) {
    uint32_t fewer = 0;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        rows_level *level = &grid->levels[l];
        double boxes = level->row_load;
        for (level->shift = grid->x_bits; level->shift > 0 && boxes > CELL_BOXES; --level->shift)
            boxes /= 2;
    }
    while (count_cells(grid, fewer) > limit && fewer < grid->x_bits)
        ++fewer;
    grid->cells_per_world = 0;
    for (uint32_t l = 0; l < grid->level_count; ++l) {
        rows_level *level = &grid->levels[l];
        level->shift = level->shift + fewer < grid->x_bits ? level->shift + fewer : grid->x_bits;
        level->cells = 1u << (grid->x_bits - level->shift);
        level->cell_base = grid->cells_per_world;
        grid->cells_per_world += level->ny * level->nz * level->cells;
    }
    grid->cell_count = grid->cells_per_world * grid->world_slots;
}

void rows_finish_grid(rows_grid *grid, rows_sample *sample, const rows_sizes *sizes, uint64_t live,
                      uint32_t world_count, uint32_t lanes) {
    grid->huge_count = 0;
    memset(grid->level_of, 0, sizeof grid->level_of);
    make_levels(grid, sizes, live);
    uint64_t limit = rows_table_limit(live);
    // Worlds share a slot where there are far more of them than boxes; each level takes at least one row a slot.
    uint64_t slots = limit / ROWS_MAX_LEVELS;
    grid->world_slots = world_count < slots ? world_count : (uint32_t)slots;
    make_rows(grid, sample, limit, lanes);
    quantise(grid);
    make_cells(grid, live / 2 > grid->row_count ? live / 2 : grid->row_count);
}
