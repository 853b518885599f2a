// Row-sorted sweep and prune on CUDA, host side.
#include <stdlib.h>
#include <string.h>

#include "../../../sort/core/cuda/cuda_backend.h"
#include "../../../sort/src/sort_method.h"
#include "../launch_cuda.h"
#include "rows_kernels.h"

#define ROWS_SCAN_TILE (ROWS_SCAN_THREADS * ROWS_SCAN_ITEMS)

typedef struct rows_state {
    psvi_rows_memory memory;
    psv_sorter *sorter;
    volatile uint32_t *failures; // of bins, as far as the device has told; NULL: no bins
    uint32_t failures_seen;
    bool uses_bins;
    uint32_t pause, pause_last; // frames without bins from here on; the last such count
    uint32_t since_pause;       // frames with them since
} rows_state;

static uint64_t room_of(const psv_pair_finder_def *def) { return def->max_boxes < 2 ? 2 : def->max_boxes; }

// Many boxes have kernels of their own, which sort whole records in two passes, with no more than the cells' numbers
// for keys, and sweep them as rounded to 8 bytes first.
static bool is_segmented(const psv_pair_finder_def *def) {
    return strcmp(def->sort_method, "radix") == 0 && def->max_boxes > ROWS_SEGMENTS_LEAST;
}

// About two cells a box; above 8 million boxes half of that where it is at least 1.25. For a sorter, 24 bits serve up
// to 32 million boxes: one more digit pass would cost more than it saves in candidates.
static uint32_t key_bits_of(const psv_pair_finder_def *def) {
    uint32_t bits = 12;
    while (bits < 29 && ((uint64_t)1 << bits) < ROWS_CELLS_A_BOX * def->max_boxes)
        ++bits;
    if (bits <= 24) return bits;
    if (!is_segmented(def)) return def->max_boxes <= (uint64_t)1 << 25 ? 24 : bits;
    return ((uint64_t)1 << bits) > def->max_boxes / 2 * 5 ? bits - 1 : bits;
}

// With the radix sorter the keys of not too many boxes, which are small numbers, are sorted in a single pass over one
// digit as wide as the key: count, scan, scatter, fused with the kernels around it. Any other sorter runs as it is.
static bool is_counted(const psv_pair_finder_def *def) {
    return strcmp(def->sort_method, "radix") == 0 && def->max_boxes <= ROWS_COUNTED_MOST;
}

// Uniform scenes of enough boxes, but not of many, are sorted by bins where the device can.
static bool is_binned(const psv_pair_finder_def *def) { return is_counted(def) && def->max_boxes > ROWS_BIN_LEAST; }

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = def->sort_method;
    made.key_type = PSV_KEY_U32;
    made.value_bytes = 4;
    made.max_count = room_of(def);
    made.end_bit = key_bits_of(def);
    return made;
}

static uint64_t sorter_bytes(const psv_pair_finder_def *def) {
    psv_sorter_def sort = sorter_def(def);
    return is_counted(def) || is_segmented(def) ? 0 : psv_sorter_scratch_bytes(PSV_BACKEND_CUDA, &sort);
}

// Segments so small that most of them can be ordered on chip, if their boxes lie evenly; in those that cells of
// ROWS_CELLS_A_BOX a box reach into, room for twice the boxes that they would have then.
static void divide(psvi_rows_memory *memory) {
    psvi_rows_segments *const segments = &memory->segments;
    const uint64_t cells = (uint64_t)1 << memory->key_bits, wanted = ROWS_CELLS_A_BOX * memory->room;
    uint32_t shift = ROWS_SEGMENT_CELL_BITS;
    while (shift > 4 && memory->room >> (memory->key_bits - shift) > ROWS_SEGMENT_BOXES)
        --shift;
    segments->shift = shift;
    segments->count = (uint32_t)(cells >> shift);
    segments->place_stride = segments->count <= ROWS_TOGETHER_SEGMENTS ? 1 : ROWS_PLACE_STRIDE;
    const uint64_t filled = (wanted < cells ? wanted : cells) >> shift;
    const uint64_t even = memory->room / (filled < 1 ? 1 : filled) + 1;
    const uint64_t held = (wanted + wanted / 64 + 8192) / ((uint64_t)1 << shift) + 2; // the plan rounds its cells up
    segments->held = held < segments->count ? (uint32_t)held : segments->count;
    const uint64_t most = UINT32_MAX / segments->held; // a place has 32 bits
    segments->room = (uint32_t)(2 * even < most ? 2 * even : most);
}

// As many bins as the cells and the boxes may ask for, rounded up to those that are ordered at a time; twice the room
// that the boxes need.
static void carve_bins(psvi_carver *carver, uint64_t cells, uint64_t boxes, psvi_rows_bins *bins) {
    const uint64_t by_cells = cells / ROWS_BIN_CELLS + 1, by_boxes = boxes / ROWS_BIN_BOXES + 1;
    bins->most = (uint32_t)(by_cells > by_boxes ? by_cells : by_boxes) + ROWS_BIN_ROUND;
    bins->entry_room = 2 * boxes + 4096;
    bins->state = psvi_carve(carver, sizeof *bins->state);
    bins->counts = psvi_carve(carver, 4 * (uint64_t)bins->most);
    bins->starts = psvi_carve(carver, 4 * ((uint64_t)bins->most + 1));
    bins->entries = psvi_carve(carver, 16 * bins->entry_room);
}

static void *layout(psvi_carver *carver, const psv_pair_finder_def *def, psvi_rows_memory *memory) {
    memory->room = room_of(def);
    memory->key_bits = key_bits_of(def);
    const uint64_t cells = (uint64_t)1 << memory->key_bits;
    memory->counted = is_counted(def);
    memory->segmented = is_segmented(def);
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->fused = memory->counted ? psvi_carve(carver, sizeof *memory->fused) : NULL;
    const bool keyed = !memory->counted && !memory->segmented;
    memory->keys = keyed ? psvi_carve(carver, 4 * memory->room) : NULL;
    memory->order = keyed || memory->counted ? psvi_carve(carver, 4 * memory->room) : NULL;
    memory->sorted_keys = keyed ? psvi_carve(carver, 4 * memory->room) : NULL;
    if (memory->segmented) {
        psvi_rows_segments *const segments = &memory->segments;
        divide(memory);
        segments->starts = psvi_carve(carver, 4 * ((uint64_t)segments->count + 1));
        segments->place = psvi_carve(carver, 4 * (uint64_t)segments->place_stride * segments->count);
        memory->progress = psvi_carve(carver, sizeof *memory->progress);
        memory->split = psvi_carve(carver, 32 * (uint64_t)segments->room * segments->held);
        memory->rounded = psvi_carve(carver, 8 * (memory->room + 1)); // they are read in pairs
        memory->left = psvi_carve(carver, memory->room / 32 + 1);
    }
    memory->bins = (psvi_rows_bins){0};
    if (is_binned(def)) carve_bins(carver, cells, memory->room, &memory->bins);
    memory->cell_counts = memory->counted ? psvi_carve(carver, 4 * (cells + 4)) : NULL;
    memory->scan_states = memory->counted ? psvi_carve(carver, 8 * (cells / ROWS_SCAN_TILE + 2)) : NULL;
    memory->starts = psvi_carve(carver, 4 * (cells + 4));
    memory->records = psvi_carve(carver, 32 * memory->room + 1024); // see rows_uniform_arrays
    return psvi_carve(carver, sorter_bytes(def));
}

static uint64_t rows_scratch_bytes(const psv_pair_finder_def *def) {
    psvi_carver carver = {NULL, 0};
    psvi_rows_memory memory;
    (void)layout(&carver, def, &memory);
    return carver.used;
}

static void rows_destroy(psv_pair_finder *finder) {
    rows_state *state = finder->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->sorter);
    psvi_cuda_free_pinned(finder->context, state->failures, sizeof *state->failures);
    free(state);
    finder->state = NULL;
}

static cudaError_t prepare_bins(rows_state *state) {
    psvi_rows_memory *const memory = &state->memory;
    cudaError_t error = psvi_prepare_rows_bins_split(memory);
    if (error == cudaSuccess && memory->bins.tile != 0) error = psvi_prepare_rows_bins_order(memory);
    state->uses_bins = error == cudaSuccess && memory->bins.tile != 0 && memory->bins.round != 0;
    return error;
}

// The word by which the host learns that bins did not serve.
static psv_status make_failures(psv_context *context, rows_state *state) {
    void *host = NULL, *device = NULL;
    psv_status status = psvi_cuda_alloc_pinned(context, sizeof *state->failures, &host, &device);
    state->failures = host;
    state->memory.bins.told = device;
    return status;
}

static cudaError_t prepare(rows_state *state) {
    psvi_rows_memory *const memory = &state->memory;
    cudaError_t error = psvi_prepare_rows_exact();
    if (error == cudaSuccess && memory->segmented) error = psvi_prepare_rows_segments_split(memory);
    if (error == cudaSuccess && memory->segmented) error = psvi_prepare_rows_segments_order(memory);
    if (error == cudaSuccess && memory->segmented) error = psvi_prepare_rows_segments_sweep();
    if (error == cudaSuccess && memory->bins.state != NULL && memory->early) error = prepare_bins(state);
    return error;
}

static psv_status rows_create(psv_pair_finder *finder) {
    rows_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(finder->context, PSV_ERROR_MEMORY, "%zu bytes of host memory", sizeof *state);
    finder->state = state;
    psvi_carver carver = {finder->scratch, 0};
    void *scratch = layout(&carver, &finder->def, &state->memory);
    const psvi_device_info *info = &finder->context->info;
    state->memory.multiprocessors = (uint32_t)info->multiprocessors;
    state->memory.early = info->code_capability >= 90;
    psv_status status = psvi_cuda_status(finder->context, prepare(state), "rows: cudaFuncSetAttribute");
    if (status == PSV_OK && state->uses_bins) status = make_failures(finder->context, state);
    if (status == PSV_OK && state->memory.counted && info->cooperative_launch)
        status = psvi_cuda_status(finder->context,
                                  psvi_prepare_rows_fused((uint32_t)info->multiprocessors, &state->memory.fused_blocks),
                                  "rows: cudaFuncSetAttribute");
    if (status == PSV_OK)
        status = finder->context->ops->fill(finder->context, finder->scratch, 0, finder->scratch_bytes);
    if (status == PSV_OK && !state->memory.counted && !state->memory.segmented) {
        psv_sorter_def def = sorter_def(&finder->def);
        def.scratch = psv_buffer_of(scratch, sorter_bytes(&finder->def));
        status = psv_create_sorter(finder->context, &def, &state->sorter);
    }
    if (status != PSV_OK) rows_destroy(finder);
    return status;
}

static psv_status sort_keys(rows_state *state, const psvi_find_input *input) {
    const bool counted = input->a.count_device != NULL || input->b.count_device != NULL;
    const psvi_sort_request request = {
        .keys_in = state->memory.keys,
        .keys_out = state->memory.sorted_keys,
        .values_out = state->memory.order,
        .value_bytes = 4,
        .implicit_index = true,
        .count = psvi_most_boxes(input),
        .count_device = counted ? &state->memory.plan->slots : NULL,
    };
    return psvi_sort_run(state->sorter, &request);
}

typedef cudaError_t rows_launcher(const psvi_find_input *, const psvi_rows_memory *, cudaStream_t);

static psv_status run_phase(psv_pair_finder *finder, psv_phase phase, rows_launcher *launch,
                            const psvi_find_input *input) {
    psv_context *context = finder->context;
    rows_state *state = finder->state;
    psvi_phase_begin(context, phase);
    cudaError_t error = launch(input, &state->memory, context->stream);
    psvi_phase_end(context, phase);
    return psvi_cuda_status(context, error, "rows: a kernel launch");
}

// Few enough boxes for the fused kernel, whose blocks have to be on the device all at once?
static bool is_fused(const psvi_rows_memory *memory, uint64_t boxes) {
    return memory->fused_blocks > 1 && boxes <= ROWS_FUSED_MOST &&
           boxes <= (uint64_t)(memory->fused_blocks - 1) * ROWS_FUSED_THREADS * ROWS_FUSED_ITEMS;
}

static psv_status find_segmented(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_status status = run_phase(finder, PSV_PHASE_KEYS, psvi_launch_rows_plan, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SORT, psvi_launch_rows_segments_split, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_GATHER, psvi_launch_rows_segments_order, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_rows_segments_sweep, input);
    return status;
}

// Does the frame go to bins? Not for a while after one that they did not suit, the longer the more often that happens:
// the device keeps such frames right, but not fast.
static bool is_for_bins(rows_state *state, const psvi_find_input *input) {
    psvi_rows_bins *const bins = &state->memory.bins;
    bins->now = false;
    if (state->failures == NULL || !psvi_rows_may_be_binned(input, &state->memory)) return false;
    const uint32_t failures = *state->failures;
    if (failures != state->failures_seen) {
        const bool soon = state->pause_last != 0 && state->since_pause < ROWS_BINS_PAUSE;
        const uint32_t pause = soon ? 4 * state->pause_last : ROWS_BINS_PAUSE;
        state->pause = state->pause_last = pause < ROWS_BINS_PAUSE_MOST ? pause : ROWS_BINS_PAUSE_MOST;
        state->failures_seen = failures;
        state->since_pause = 0;
        ++bins->pauses;
    }
    if (state->pause > 0) {
        --state->pause;
        return false;
    }
    state->since_pause += state->since_pause < ROWS_BINS_PAUSE;
    bins->now = true;
    return true;
}

// By bins and the uniform sweep; otherwise where these did not suit the frame.
static psv_status find_binned(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_status status = run_phase(finder, PSV_PHASE_KEYS, psvi_launch_rows_bins_split, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SORT, psvi_launch_rows_bins_order, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_rows_uniform, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_rows_counted_exact, input);
    return status;
}

static psv_status rows_find(psv_pair_finder *finder, const psvi_find_input *input) {
    rows_state *state = finder->state;
    const bool counted = state->memory.counted;
    if (psvi_most_boxes(input) > 0 && is_fused(&state->memory, psvi_most_boxes(input)))
        return run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_rows_fused, input); // the profile cannot divide it
    psv_status status = finder->context->ops->fill(finder->context, input->result, 0, sizeof *input->result);
    if (psvi_most_boxes(input) == 0 || status != PSV_OK) return status;
    if (state->memory.segmented) return find_segmented(finder, input);
    if (is_for_bins(state, input)) return find_binned(finder, input);
    status = run_phase(finder, PSV_PHASE_KEYS, psvi_launch_rows_keys, input);
    if (status == PSV_OK && counted)
        status = run_phase(finder, PSV_PHASE_SORT, psvi_launch_rows_counted_scan, input);
    else if (status == PSV_OK && psvi_most_boxes(input) >= 2)
        status = sort_keys(state, input);
    if (psvi_most_boxes(input) < 2 && !counted) return status;
    if (status == PSV_OK)
        status = run_phase(finder, PSV_PHASE_GATHER,
                           counted ? psvi_launch_rows_counted_scatter : psvi_launch_rows_sorted_gather, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_rows_exact, input);
    return status;
}

static psv_status rows_statistics(psv_pair_finder *finder, psv_pair_statistics *statistics) {
    rows_state *state = finder->state;
    psv_sort_statistics sort = {.passes_run = 1};
    if (state->memory.segmented) sort.passes_run = 2;
    psv_status status = state->sorter == NULL ? PSV_OK : psv_read_sort_statistics(state->sorter, &sort);
    statistics->sort_passes = sort.passes_run;
    statistics->sort_passes_skipped = sort.passes_skipped;
    return status;
}

const psvi_broad_phase psvi_broad_phase_rows_cuda = {
    .name = "rows",
    .description = "row-sorted sweep and prune: one key sort, then each box sweeps a few neighbouring rows",
    .scratch_bytes = rows_scratch_bytes,
    .create = rows_create,
    .destroy = rows_destroy,
    .find = rows_find,
    .statistics = rows_statistics,
    .clears_result = true,
};
