// One-axis sweep and prune on CUDA, host side.
#include "../../../collision/cuda/sorted_method.h"
#include "../../../core/cuda/cuda_backend.h"
#include "sweep_kernels.h"

typedef struct sweep_state {
    psvi_sorted_state sorted;
    psvi_sweep_memory memory;
} sweep_state;

static void layout(psvi_carver *carver, const psv_pair_finder_def *def, void *state) {
    psvi_sweep_memory *memory = &((sweep_state *)state)->memory;
    memory->room = psvi_room_of(def);
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->keys = psvi_carve(carver, 4 * memory->room);
    memory->order = psvi_carve(carver, 4 * memory->room);
    memory->records = psvi_carve(carver, 32 * memory->room);
}

static const psvi_sorted_method method = {"sweep", UINT64_MAX, sizeof(sweep_state), psvi_box_sorter_def, layout};
_Static_assert(sizeof(sweep_state) <= PSVI_SORTED_STATE_MOST, "the state is measured on the stack");

static uint64_t sweep_scratch_bytes(const psv_pair_finder_def *def) { return psvi_sorted_scratch_bytes(&method, def); }

static psv_status sweep_create(psvi_choice *choice) { return psvi_create_sorted(choice, &method); }

static psv_status sweep_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    return psvi_sorted_statistics(choice, 32, statistics);
}

static psv_status sort_keys(sweep_state *state, const psvi_find_input *input) {
    const psvi_sweep_memory *memory = &state->memory;
    return psvi_sort_box_keys(state->sorted.sorter, input, memory->keys, NULL, memory->order, &memory->plan->slots);
}

typedef cudaError_t sweep_launcher(const psvi_find_input *, const psvi_sweep_memory *, cudaStream_t);

static psv_status run_phase(const psvi_choice *choice, psv_phase phase, sweep_launcher *launch,
                            const psvi_find_input *input) {
    psv_context *context = choice->context;
    sweep_state *state = choice->state;
    psvi_phase_begin(context, phase);
    cudaError_t error = launch(input, &state->memory, context->stream);
    psvi_phase_end(context, phase);
    return psvi_cuda_status(context, error, "sweep: a kernel launch");
}

static psv_status sweep_find(const psvi_choice *choice, const psvi_find_input *input) {
    const uint64_t boxes = psvi_most_boxes(input);
    if (boxes == 0) return PSV_OK;
    psv_status status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_sweep_keys, input);
    if (boxes < 2 || status != PSV_OK) return status;
    status = sort_keys(choice->state, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_GATHER, psvi_launch_sweep_gather, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, psvi_launch_sweep, input);
    return status;
}

const psvi_broad_phase psvi_broad_phase_sweep_cuda = {
    .name = "sweep",
    .description = "sweep and prune on the axis of the largest variance",
    .scratch_bytes = sweep_scratch_bytes,
    .create = sweep_create,
    .destroy = psvi_destroy_sorted,
    .find = sweep_find,
    .statistics = sweep_statistics,
};
