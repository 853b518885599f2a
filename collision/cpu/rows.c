// `rows`, the flagship: row-sorted sweep and prune. One key per box, [world | size level | row of min (y, z) |
// quantised min x]; one argsort; then each box sweeps its own row forward, a vector of boxes at a time. The rows after
// it and those of coarser levels are looked at by groups of boxes that follow each other: what reaches the bounds of
// the group is tested against its boxes. No pair is found twice, so none has to be removed. Its owner finds it: the box
// that begins first within a row, the box of the earlier row within a level, the finer box among levels.
#include <math.h>
#include <pthread.h>

#include "../src/broad_phase.h"
#include "grid_state.h"
#include "rows_sweep.h"

#define CHUNK 4096 // boxes that a worker takes at a time

#define NO_SIZE UINT32_MAX // of boxes that take no part

typedef struct rows_memory {
    uint32_t *keys;   // by place; sorted in place
    uint32_t *order;  // sorted place -> place; before the sort id -> size, or NO_SIZE
    uint32_t *ids;    // place -> id, when some boxes are left out
    uint32_t *start;  // first box of each cell
    uint32_t *before; // living boxes before each chunk
    psvi_lanes lanes;
    psvi_partners *partners; // of the sorted boxes, in finders that exclude pairs
    psv_buffer sorter;
} rows_memory;

// --- memory ----------------------------------------------------------------------------------------------------------

static psv_sorter_def rows_sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = psvi_sorter_name(def);
    sorter.max_count = def->max_boxes;
    return sorter;
}

static uint64_t carve_rows(const psv_pair_finder_def *def, char *scratch, rows_memory *memory) {
    char *at = scratch;
    uint64_t n = def->max_boxes;
    psv_sorter_def sorter = rows_sorter_def(def);
    memory->keys = psvi_next_part(&at, n * 4);
    memory->order = psvi_next_part(&at, n * 4);
    memory->start = psvi_next_part(&at, (rows_table_limit(n) + 3) * 4);
    memory->before = psvi_next_part(&at, (n / CHUNK + 2) * 4);
    // The sorter is done before the boxes are gathered: they share memory.
    uint64_t sorter_bytes = psvi_align(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &sorter));
    uint64_t lanes_bytes = psvi_lanes_bytes(n);
    memory->ids = psvi_next_part(&at, n * 4);
    memory->partners = psvi_next_part(&at, psvi_lists_partners(def) ? n * sizeof *memory->partners : 0);
    memory->sorter = psv_buffer_of(at, sorter_bytes);
    char *lanes = at;
    memory->lanes = psvi_carve_lanes(&lanes, n);
    at += sorter_bytes > lanes_bytes ? sorter_bytes : lanes_bytes;
    return (uint64_t)(at - scratch);
}

static uint64_t rows_scratch_bytes(const psv_pair_finder_def *def) {
    rows_memory memory;
    return carve_rows(def, (char *)256, &memory);
}

static psv_status rows_create(psvi_choice *choice) {
    rows_memory memory;
    (void)carve_rows(&choice->def, choice->scratch, &memory);
    psv_sorter_def sorter = rows_sorter_def(&choice->def);
    sorter.scratch = memory.sorter;
    return psvi_create_grid_state(choice, "rows", &sorter);
}

// --- keys ------------------------------------------------------------------------------------------------------------

static void add_sizes(rows_sizes *sum, const rows_sizes *part) {
    for (int b = 0; b < ROWS_SIZES; ++b) {
        sum->count[b] += part->count[b];
        for (int k = 0; k < 3; ++k)
            if (part->ext[b][k] > sum->ext[b][k]) sum->ext[b][k] = part->ext[b][k];
    }
}

// The part of the ids [first, end) that lies in one of the two sets, as a view and the places in it.
typedef struct view_part {
    psvi_box_view view; // a copy: loops over it know that nobody changes it
    uint64_t first_id, first, end;
} view_part;

static view_part part_of(const psvi_find_input *input, bool second, uint64_t first, uint64_t end) {
    uint64_t from = second ? input->a.count : 0, to = second ? psvi_input_count(input) : input->a.count;
    if (first < from) first = from;
    if (end > to) end = to;
    if (first >= end) return (view_part){0};
    return (view_part){second ? input->b : input->a, first, first - from, end - from};
}

// Sizes of the boxes of one part, their sum to `sizes`; ids of bad boxes are appended to `bad`. Returns how many live.
static uint32_t measure_part(view_part part, uint32_t world_count, const rows_grid *restrict grid,
                             uint32_t *restrict size_of, rows_sizes *restrict sizes, uint32_t *restrict bad,
                             uint32_t *bad_count) {
    uint32_t live = 0;
    for (uint64_t place = part.first; place < part.end; ++place) {
        float box[6], ext[3];
        psvi_box_kind kind = psvi_judge_place(&part.view, world_count, place, box);
        if (kind == PSVI_BOX_BAD) bad[(*bad_count)++] = (uint32_t)(part.first_id + (place - part.first));
        uint32_t *size = &size_of[part.first_id + (place - part.first)];
        *size = NO_SIZE;
        if (kind != PSVI_BOX_LIVE) continue;
        for (int k = 0; k < 6; ++k)
            box[k] = rows_scaled(grid, box[k]);
        uint32_t b = *size = rows_size_of(grid, box, ext);
        sizes->count[b]++;
        for (int k = 0; k < 3; ++k)
            sizes->ext[b][k] = ext[k] > sizes->ext[b][k] ? ext[k] : sizes->ext[b][k];
        ++live;
    }
    return live;
}

// Judges one chunk: sizes of the living boxes, bad boxes to the result. Returns the number of living ones.
static uint32_t measure_chunk(const psvi_find_input *input, const rows_grid *grid, uint64_t first, uint64_t end,
                              uint32_t *size_of, rows_sizes *sizes) {
    uint32_t bad[CHUNK], bad_count = 0, live = 0;
    for (int second = 0; second < 2; ++second)
        live +=
            measure_part(part_of(input, second, first, end), input->world_count, grid, size_of, sizes, bad, &bad_count);
    psvi_add_bad_boxes(input, bad, bad_count);
    return live;
}

// What the loops over all boxes know.
typedef struct rows_job {
    const psvi_find_input *input;
    const rows_grid *grid;
    const rows_memory *memory;
    uint64_t count; // living boxes
    bool all_live;
    psvi_loop loop; // over all boxes
    rows_sizes *sizes;
    pthread_mutex_t lock; // of the sizes
} rows_job;

static void measure_some(void *data, uint32_t worker) {
    rows_job *job = data;
    rows_sizes part;
    (void)worker;
    memset(&part, 0, sizeof part);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        job->memory->before[first / CHUNK] =
            measure_chunk(job->input, job->grid, first, end, job->memory->order, &part);
    (void)pthread_mutex_lock(&job->lock);
    add_sizes(job->sizes, &part);
    (void)pthread_mutex_unlock(&job->lock);
}

// Sizes of all living boxes, and how many come before each chunk. Returns how many there are.
static uint64_t measure_boxes(psv_context *context, const psvi_find_input *input, const rows_grid *grid,
                              const rows_memory *memory, rows_sizes *sizes) {
    const uint64_t count = psvi_input_count(input), chunks = psvi_loop_pieces(count, CHUNK);
    rows_job job = {.input = input,
                    .grid = grid,
                    .memory = memory,
                    .loop = {0, count, CHUNK},
                    .sizes = sizes,
                    .lock = PTHREAD_MUTEX_INITIALIZER};
    memset(sizes, 0, sizeof *sizes);
    psvi_run_tasks(context, psvi_workers_for(context, chunks), measure_some, &job);
    (void)pthread_mutex_destroy(&job.lock);
    uint64_t live = 0;
    for (uint64_t c = 0; c < chunks; ++c) {
        uint32_t here = memory->before[c];
        memory->before[c] = (uint32_t)live;
        live += here;
    }
    return live;
}

// Keys of the living boxes of one part, from `place` on; their ids too where `ids` is given. Returns the next place.
static uint32_t make_part_keys(view_part part, const rows_grid *restrict grid, const uint32_t *restrict size_of,
                               uint32_t *restrict keys, uint32_t *restrict ids, uint32_t place) {
    const bool worlds = grid->world_slots > 1 && part.view.worlds != NULL;
    for (uint64_t p = part.first; p < part.end; ++p) {
        float min[3];
        const uint64_t id = part.first_id + (p - part.first);
        if (size_of[id] == NO_SIZE) continue;
        memcpy(min, part.view.min + p * part.view.min_stride, sizeof min);
        keys[place] = rows_key(grid, size_of[id], min, worlds ? part.view.worlds[p] : 0);
        if (ids != NULL) ids[place] = (uint32_t)id;
        ++place;
    }
    return place;
}

static void make_some_keys(void *data, uint64_t first, uint64_t end) {
    const rows_job *job = data;
    const rows_memory *memory = job->memory;
    uint32_t place = memory->before[first / CHUNK];
    for (int second = 0; second < 2; ++second)
        place = make_part_keys(part_of(job->input, second, first, end), job->grid, memory->order, memory->keys,
                               job->all_live ? NULL : memory->ids, place);
}

// --- sorted boxes ----------------------------------------------------------------------------------------------------

// The cell of a key; `home` is that of the last key.
static inline uint32_t cell_of(const rows_grid *grid, uint32_t key, rows_home *home) {
    const uint32_t row = key >> grid->x_bits;
    if (row == grid->row_count) return grid->cell_count; // huge boxes
    if (row != home->row) rows_find_home(grid, row, home);
    return home->cell + ((key & ((1u << grid->x_bits) - 1)) >> grid->levels[home->level].shift);
}

static void gather_some(void *data, uint64_t first, uint64_t end) {
    const rows_job *job = data;
    const rows_memory *memory = job->memory;
    const rows_grid *grid = job->grid;
    const psvi_lanes *lanes = &memory->lanes;
    const uint64_t count = job->count;
    const psvi_partners *partners = job->input->partners;
    rows_home home = {.row = UINT32_MAX};
    uint32_t next_cell = first == 0 ? 0 : cell_of(grid, memory->keys[first - 1], &home) + 1;
    for (uint64_t i = first; i < end; ++i) {
        float box[6];
        uint32_t id = job->all_live ? memory->order[i] : memory->ids[memory->order[i]];
        if (i + PSVI_PREFETCH_AHEAD < count) {
            uint32_t next = memory->order[i + PSVI_PREFETCH_AHEAD];
            if (!job->all_live) next = memory->ids[next];
            psvi_prefetch_box(job->input, next);
            if (partners != NULL) __builtin_prefetch(&partners[next]);
        }
        if (partners != NULL) memory->partners[i] = partners[id];
        psvi_read_box(job->input, id, box);
        for (int k = 0; k < 3; ++k) {
            lanes->min[k][i] = box[grid->axis[k]];
            lanes->max[k][i] = box[3 + grid->axis[k]];
        }
        lanes->id[i] = id;
        // The first box of a cell also starts the empty cells before it.
        for (const uint32_t cell = cell_of(grid, memory->keys[i], &home); next_cell <= cell; ++next_cell)
            memory->start[next_cell] = (uint32_t)i;
    }
}

// Boxes in sorted order, axes as the sweep wants them, and the first box of each cell.
static void gather_rows(psv_context *context, rows_job *job) {
    const rows_memory *memory = job->memory;
    const rows_grid *grid = job->grid;
    const uint64_t count = job->count;
    rows_home home = {.row = UINT32_MAX};
    psvi_run_ranges(context, count, CHUNK, gather_some, job);
    for (uint32_t c = count == 0 ? 0 : cell_of(grid, memory->keys[count - 1], &home) + 1; c <= grid->cell_count + 1;
         ++c)
        memory->start[c] = (uint32_t)count;
    psvi_pad_lanes(&memory->lanes, count);
}

typedef struct sweep_job {
    const rows_sorted *sorted;
    rows_sweep_function sweep;
    uint64_t size, pieces; // boxes of a piece
    psvi_loop loop;        // over pieces, then huge boxes, which are a piece each
    uint64_t longest;      // atomic
    bool over;             // atomic: the sweep would cost more than a tree
} sweep_job;

#define SCATTER 8 // one piece in so many comes first

// The piece at a place of the loop. The first eighth lies all over the scene, so that its tests tell what the sweep
// will cost; the others follow in their order, which is kind to caches.
static uint64_t scattered_piece(uint64_t at, uint64_t pieces) {
    const uint64_t first = (pieces + SCATTER - 1) / SCATTER;
    if (at < first) return at * SCATTER;
    return at - first + (at - first) / (SCATTER - 1) + 1;
}

// What the sweep may test in vain until the piece at this place is done: its share, and as much as an eighth of the
// pieces takes, for those that cost more than others. The piece behind the first eighth has no more than that share.
static uint64_t tests_until(const sweep_job *job, uint64_t most, uint64_t at) {
    const uint64_t first = (job->pieces + SCATTER - 1) / SCATTER;
    if (most == UINT64_MAX || at >= job->pieces) return most;
    if (at == first) return most / job->pieces * (first + 1);
    return (uint64_t)((double)most * fmin(1, (double)(at + 1) / (double)job->pieces + 1.0 / SCATTER));
}

static void sweep_some(void *data, uint32_t worker) {
    sweep_job *job = data;
    const rows_sorted *sorted = job->sorted;
    const psvi_find_input *input = sorted->input;
    rows_sorted bounded = *sorted;
    rows_sweeper sweeper;
    (void)worker;
    psvi_open_sink(&sweeper.sink, input, true);
    if (input->partners != NULL) sweeper.sink.rules = NULL; // the sweep asks the partners
    sweeper.longest = 0;
    for (uint64_t piece, next;
         !__atomic_load_n(&job->over, __ATOMIC_RELAXED) && psvi_take_range(&job->loop, &piece, &next);) {
        // Huge boxes are of any world; rows of different worlds are apart, unless worlds share their slots.
        const bool huge = piece >= job->pieces;
        psvi_set_sink_worlds(&sweeper.sink, huge || input->world_count > sorted->grid->world_slots);
        bounded.most_tests = tests_until(job, sorted->most_tests, piece);
        uint64_t first = scattered_piece(piece, job->pieces) * job->size, end = first + job->size;
        if (huge) first = sorted->regular + (piece - job->pieces), end = first + 1;
        if (!huge && end > sorted->regular) end = sorted->regular;
        if (!job->sweep(&sweeper, &bounded, first, end)) __atomic_store_n(&job->over, true, __ATOMIC_RELAXED);
    }
    psvi_close_sink(&sweeper.sink);
    psvi_raise_count(&job->longest, sweeper.longest);
}

// What a sweep may test in vain where there is a tree to go by: about what takes the time of the tree.
#define SWEEP_TESTS_A_BOX 125

static void sweep_rows(psv_context *context, const rows_sorted *boxes, rows_sweep_function sweep) {
    const psvi_find_input *input = boxes->input;
    uint64_t tests = 0;
    rows_sorted sorted = *boxes;
    sorted.tests = &tests;
    sorted.most_tests = input->gave_up == NULL ? UINT64_MAX : SWEEP_TESTS_A_BOX * sorted.count;
    // Small pieces where there are few boxes, so that all cores get some.
    sweep_job job = {.sorted = &sorted, .sweep = sweep, .size = sorted.regular < 65536 ? 512 : 2048};
    job.pieces = psvi_loop_pieces(sorted.regular, job.size);
    job.loop = (psvi_loop){0, job.pieces + (sorted.count - sorted.regular), 1};
    psvi_run_tasks(context, psvi_workers_for(context, job.loop.count), sweep_some, &job);
    input->result->longest_range = job.longest;
    if (input->gave_up != NULL) *input->gave_up = job.over;
}

static psvi_grid_scene scene_of(const rows_grid *grid) {
    psvi_grid_scene scene;
    for (int k = 0; k < 3; ++k) {
        scene.range[k] = grid->high[k] - grid->low[k];
        scene.median[k] = 1 / grid->inv_median[k];
    }
    return scene;
}

#define ALIKE 1.3f // scenes are alike if their measures differ by no larger a factor

static bool are_alike(const psvi_grid_scene *a, const psvi_grid_scene *b) {
    bool alike = true;
    for (int k = 0; k < 3; ++k) {
        alike = alike && a->range[k] <= ALIKE * b->range[k] && b->range[k] <= ALIKE * a->range[k];
        alike = alike && a->median[k] <= ALIKE * b->median[k] && b->median[k] <= ALIKE * a->median[k];
    }
    return alike;
}

#define REST_LEAST 32 // frames that a scene is not swept in after its sweep was given up,
#define REST_MOST 512 // and at most

// A scene like the last one whose sweep was given up is not swept for some frames: that would cost as much as the tree
// once more.
static bool rests(psvi_grid_state *state, const psvi_grid_scene *scene) {
    return are_alike(scene, &state->costly) && psvi_backoff_waits(&state->rest);
}

static void judge_sweep(psvi_grid_state *state, const psvi_grid_scene *scene, bool gave_up) {
    const bool known = are_alike(scene, &state->costly);
    if (gave_up && !known) state->rest = (psvi_backoff){0};
    if (gave_up) {
        psvi_backoff_failed(&state->rest, REST_LEAST, REST_MOST);
        state->costly = *scene;
    } else if (known) {
        psvi_backoff_succeeded(&state->rest);
    }
}

static psv_status rows_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    psvi_grid_state *state = choice->state;
    rows_memory memory;
    rows_grid grid;
    rows_sizes sizes;
    uint32_t lanes;
    (void)carve_rows(&choice->def, choice->scratch, &memory);
    rows_sweep_function sweep = rows_best_sweep(&lanes);

    psvi_phase_begin(context, PSV_PHASE_KEYS);
    rows_begin_grid(&grid, &state->sample, input);
    const psvi_grid_scene scene = scene_of(&grid);
    if (input->gave_up != NULL && rests(state, &scene)) {
        *input->gave_up = true;
        psvi_phase_end(context, PSV_PHASE_KEYS);
        return PSV_OK;
    }
    uint64_t live = measure_boxes(context, input, &grid, &memory, &sizes);
    rows_job job = {.input = input, .grid = &grid, .memory = &memory, .count = live};
    job.all_live = live == psvi_input_count(input);
    rows_finish_grid(&grid, &state->sample, &sizes, live, input->world_count, lanes);
    psvi_run_ranges(context, psvi_input_count(input), CHUNK, make_some_keys, &job);
    psvi_phase_end(context, PSV_PHASE_KEYS);

    psv_status status = PSV_OK;
    if (live > 0)
        status = psv_sort_index(state->sorter, psv_buffer_of(memory.keys, live * 4),
                                psv_buffer_of(memory.order, live * 4), live, PSV_INDEX_KEYS_SORTED);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    gather_rows(context, &job);
    psvi_phase_end(context, PSV_PHASE_GATHER);

    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    const rows_sorted sorted = {.grid = &grid,
                                .input = input,
                                .lanes = memory.lanes,
                                .partners = input->partners == NULL ? NULL : memory.partners,
                                .keys = memory.keys,
                                .start = memory.start,
                                .regular = live - grid.huge_count,
                                .count = live};
    sweep_rows(context, &sorted, sweep);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    if (input->gave_up != NULL) judge_sweep(state, &scene, *input->gave_up);
    psvi_frame_result *result = input->result;
    result->boxes = live;
    result->huge_count = grid.huge_count;
    result->rows = grid.row_count;
    result->levels = grid.level_count;
    result->key_bits = grid.key_bits;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_rows_cpu = {
    .name = "rows",
    .description = "row-sorted sweep and prune: one key sort, then short sweeps of neighbouring rows (the flagship)",
    .scratch_bytes = rows_scratch_bytes,
    .create = rows_create,
    .destroy = psvi_destroy_grid_state,
    .find = rows_find,
    .statistics = psvi_grid_statistics,
};
