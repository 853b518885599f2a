// Spatial subdivision on CUDA, host side.
#include "../../../collision/cuda/sorted_method.h"
#include "../../../core/cuda/cuda_backend.h"
#include "grid_kernels.h"

#define MOST_BOXES 0x1fffffffu // an entry's value has 29 bits for the box

typedef struct grid_state {
    psvi_sorted_state sorted;
    psvi_grid_memory memory;
} grid_state;

// About two cells of the hash per box, so that few cells share one.
static uint32_t key_bits_of(const psv_pair_finder_def *def) {
    uint32_t bits = 8;
    while (bits < 32 && (uint64_t)1 << bits < 2 * psvi_room_of(def))
        ++bits;
    return bits;
}

static void layout(psvi_carver *carver, const psv_pair_finder_def *def, void *state) {
    psvi_grid_memory *memory = &((grid_state *)state)->memory;
    memory->room = psvi_room_of(def);
    memory->key_bits = key_bits_of(def);
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->keys = psvi_carve(carver, 4 * PSVI_GRID_CELLS * memory->room);
    memory->values = psvi_carve(carver, 4 * PSVI_GRID_CELLS * memory->room);
    memory->large = psvi_carve(carver, 4 * memory->room);
}

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def made = psvi_key_sorter_def(def, PSVI_GRID_CELLS * psvi_room_of(def));
    made.end_bit = key_bits_of(def);
    return made;
}

static const psvi_sorted_method method = {"grid", MOST_BOXES, sizeof(grid_state), sorter_def, layout};
_Static_assert(sizeof(grid_state) <= PSVI_SORTED_STATE_MOST, "the state is measured on the stack");

static uint64_t grid_scratch_bytes(const psv_pair_finder_def *def) { return psvi_sorted_scratch_bytes(&method, def); }

static psv_status grid_create(psvi_choice *choice) { return psvi_create_sorted(choice, &method); }

static psv_status grid_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    return psvi_sorted_statistics(choice, ((grid_state *)choice->state)->memory.key_bits, statistics);
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
    return psvi_sort_run(state->sorted.sorter, &request);
}

static psv_status grid_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    grid_state *state = choice->state;
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

const psvi_broad_phase psvi_broad_phase_grid_cuda = {
    .name = "grid",
    .description = "uniform grid with sorted cell numbers (Le Grand, GPU Gems 3)",
    .scratch_bytes = grid_scratch_bytes,
    .create = grid_create,
    .destroy = psvi_destroy_sorted,
    .find = grid_find,
    .statistics = grid_statistics,
};
