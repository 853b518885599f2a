// Spatial subdivision on CUDA, host side.
#include <stdlib.h>

#include "../../sort/core/cuda/cuda_backend.h"
#include "../../sort/src/sort_method.h"
#include "grid_kernels.h"
#include "launch_cuda.h"

#define MOST_BOXES 0x1fffffffu // an entry's value has 29 bits for the box

typedef struct grid_state {
    psvi_grid_memory memory;
    psv_sorter *sorter;
} grid_state;

static uint64_t room_of(const psv_pair_finder_def *def) { return def->max_boxes < 2 ? 2 : def->max_boxes; }

// About two cells of the hash per box, so that few cells share one.
static uint32_t key_bits_of(const psv_pair_finder_def *def) {
    uint32_t bits = 8;
    while (bits < 32 && (uint64_t)1 << bits < 2 * room_of(def))
        ++bits;
    return bits;
}

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = def->sort_method;
    made.key_type = PSV_KEY_U32;
    made.value_bytes = 4;
    made.max_count = PSVI_GRID_CELLS * room_of(def);
    made.end_bit = key_bits_of(def);
    return made;
}

static uint64_t sorter_bytes(const psv_pair_finder_def *def) {
    psv_sorter_def sort = sorter_def(def);
    return psv_sorter_scratch_bytes(PSV_BACKEND_CUDA, &sort);
}

static void *layout(psvi_carver *carver, const psv_pair_finder_def *def, psvi_grid_memory *memory) {
    memory->room = room_of(def);
    memory->key_bits = key_bits_of(def);
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->keys = psvi_carve(carver, 4 * PSVI_GRID_CELLS * memory->room);
    memory->values = psvi_carve(carver, 4 * PSVI_GRID_CELLS * memory->room);
    memory->large = psvi_carve(carver, 4 * memory->room);
    return psvi_carve(carver, sorter_bytes(def));
}

static uint64_t grid_scratch_bytes(const psv_pair_finder_def *def) {
    psvi_carver carver = {NULL, 0};
    psvi_grid_memory memory;
    (void)layout(&carver, def, &memory);
    return carver.used;
}

static void grid_destroy(psv_pair_finder *finder) {
    grid_state *state = finder->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->sorter);
    free(state);
    finder->state = NULL;
}

static psv_status grid_create(psv_pair_finder *finder) {
    if (finder->def.max_boxes > MOST_BOXES)
        return psvi_fail(finder->context, PSV_ERROR_UNSUPPORTED, "grid: def.max_boxes is %llu; %u are possible",
                         (unsigned long long)finder->def.max_boxes, MOST_BOXES);
    grid_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(finder->context, PSV_ERROR_MEMORY, "%zu bytes of host memory", sizeof *state);
    finder->state = state;
    psvi_carver carver = {finder->scratch, 0};
    void *scratch = layout(&carver, &finder->def, &state->memory);
    psv_sorter_def def = sorter_def(&finder->def);
    def.scratch = psv_buffer_of(scratch, sorter_bytes(&finder->def));
    psv_status status = psv_create_sorter(finder->context, &def, &state->sorter);
    if (status != PSV_OK) grid_destroy(finder);
    return status;
}

static psv_status sort_entries(grid_state *state, const psvi_find_input *input) {
    const psvi_sort_request request = {
        .keys_in = state->memory.keys,
        .keys_out = state->memory.keys,
        .values_in = state->memory.values,
        .values_out = state->memory.values,
        .value_bytes = 4,
        .count = psvi_most_boxes(input) * PSVI_GRID_CELLS,
        .count_device = &state->memory.plan->entries,
    };
    return psvi_sort_run(state->sorter, &request);
}

static psv_status grid_find(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_context *context = finder->context;
    grid_state *state = finder->state;
    const uint64_t boxes = psvi_most_boxes(input);
    if (boxes == 0) return PSV_OK;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    cudaError_t error = psvi_launch_grid_keys(input, &state->memory, context->stream);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psvi_cuda_status(context, error, "grid: entry launch");
    if (boxes < 2 || status != PSV_OK) return status;
    status = sort_entries(state, input);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    error = psvi_launch_grid_cells(input, &state->memory, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "grid: cell launch");
}

static psv_status grid_statistics(psv_pair_finder *finder, psv_pair_statistics *statistics) {
    grid_state *state = finder->state;
    psv_sort_statistics sort = {0, 0};
    psv_status status = psv_read_sort_statistics(state->sorter, &sort);
    statistics->sort_passes = sort.passes_run;
    statistics->sort_passes_skipped = sort.passes_skipped;
    statistics->key_bits = state->memory.key_bits;
    statistics->levels = 1;
    return status;
}

const psvi_broad_phase psvi_broad_phase_grid_cuda = {
    .name = "grid",
    .description = "uniform grid with sorted cell numbers (Le Grand, GPU Gems 3)",
    .scratch_bytes = grid_scratch_bytes,
    .create = grid_create,
    .destroy = grid_destroy,
    .find = grid_find,
    .statistics = grid_statistics,
};
