// One-axis sweep and prune on CUDA, host side.
#include <stdlib.h>

#include "../../sort/core/cuda/cuda_backend.h"
#include "../../sort/src/sort_method.h"
#include "launch_cuda.h"
#include "sweep_kernels.h"

typedef struct sweep_state {
    psvi_sweep_memory memory;
    psv_sorter *sorter;
} sweep_state;

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = def->sort_method;
    made.key_type = PSV_KEY_U32;
    made.value_bytes = 4;
    made.max_count = def->max_boxes < 2 ? 2 : def->max_boxes;
    return made;
}

static uint64_t sorter_bytes(const psv_pair_finder_def *def) {
    psv_sorter_def sort = sorter_def(def);
    return psv_sorter_scratch_bytes(PSV_BACKEND_CUDA, &sort);
}

static void *layout(psvi_carver *carver, const psv_pair_finder_def *def, psvi_sweep_memory *memory) {
    memory->room = def->max_boxes < 2 ? 2 : def->max_boxes;
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->keys = psvi_carve(carver, 4 * memory->room);
    memory->order = psvi_carve(carver, 4 * memory->room);
    memory->records = psvi_carve(carver, 32 * memory->room);
    return psvi_carve(carver, sorter_bytes(def));
}

static uint64_t sweep_scratch_bytes(const psv_pair_finder_def *def) {
    psvi_carver carver = {NULL, 0};
    psvi_sweep_memory memory;
    (void)layout(&carver, def, &memory);
    return carver.used;
}

static void sweep_destroy(psv_pair_finder *finder) {
    sweep_state *state = finder->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->sorter);
    free(state);
    finder->state = NULL;
}

static psv_status sweep_create(psv_pair_finder *finder) {
    sweep_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(finder->context, PSV_ERROR_MEMORY, "%zu bytes of host memory", sizeof *state);
    finder->state = state;
    psvi_carver carver = {finder->scratch, 0};
    void *scratch = layout(&carver, &finder->def, &state->memory);
    psv_sorter_def def = sorter_def(&finder->def);
    def.scratch = psv_buffer_of(scratch, sorter_bytes(&finder->def));
    psv_status status = psv_create_sorter(finder->context, &def, &state->sorter);
    if (status != PSV_OK) sweep_destroy(finder);
    return status;
}

static psv_status sort_keys(sweep_state *state, const psvi_find_input *input) {
    const bool counted = input->a.count_device != NULL || input->b.count_device != NULL;
    const psvi_sort_request request = {
        .keys_in = state->memory.keys,
        .values_out = state->memory.order,
        .value_bytes = 4,
        .implicit_index = true,
        .count = psvi_most_boxes(input),
        .count_device = counted ? &state->memory.plan->slots : NULL,
    };
    return psvi_sort_run(state->sorter, &request);
}

typedef cudaError_t sweep_launcher(const psvi_find_input *, const psvi_sweep_memory *, cudaStream_t);

static psv_status run_phase(psv_pair_finder *finder, psv_phase phase, sweep_launcher *launch,
                            const psvi_find_input *input) {
    psv_context *context = finder->context;
    sweep_state *state = finder->state;
    psvi_phase_begin(context, phase);
    cudaError_t error = launch(input, &state->memory, context->stream);
    psvi_phase_end(context, phase);
    return psvi_cuda_status(context, error, "sweep: a kernel launch");
}

static psv_status sweep_find(psv_pair_finder *finder, const psvi_find_input *input) {
    const uint64_t boxes = psvi_most_boxes(input);
    if (boxes == 0) return PSV_OK;
    psv_status status = run_phase(finder, PSV_PHASE_KEYS, psvi_launch_sweep_keys, input);
    if (boxes < 2 || status != PSV_OK) return status;
    status = sort_keys(finder->state, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_GATHER, psvi_launch_sweep_gather, input);
    if (status == PSV_OK) status = run_phase(finder, PSV_PHASE_SWEEP, psvi_launch_sweep, input);
    return status;
}

static psv_status sweep_statistics(psv_pair_finder *finder, psv_pair_statistics *statistics) {
    sweep_state *state = finder->state;
    psv_sort_statistics sort = {0, 0};
    psv_status status = psv_read_sort_statistics(state->sorter, &sort);
    statistics->sort_passes = sort.passes_run;
    statistics->sort_passes_skipped = sort.passes_skipped;
    statistics->key_bits = 32;
    statistics->levels = 1;
    return status;
}

const psvi_broad_phase psvi_broad_phase_sweep_cuda = {
    .name = "sweep",
    .description = "sweep and prune on the axis of the largest variance",
    .scratch_bytes = sweep_scratch_bytes,
    .create = sweep_create,
    .destroy = sweep_destroy,
    .find = sweep_find,
    .statistics = sweep_statistics,
};
