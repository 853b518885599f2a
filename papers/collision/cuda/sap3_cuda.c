// Sweep and prune over all three axes (Ha, Krueger, Silva 2009, section 6.1) on CUDA, host side: the order of steps.
#include "../../../collision/cuda/sorted_method.h"
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/scan_sums.h"
#include "sap3_kernels.h"

#define MOST_BOXES 0x7ffffffeu // endpoints are numbered by 32 bits

typedef struct sap3_state {
    psvi_sorted_state sorted;
    psvi_sap3_memory memory;
    void *scan;
} sap3_state;

static void layout(psvi_carver *carver, const psv_pair_finder_def *def, void *state) {
    psvi_sap3_memory *memory = &((sap3_state *)state)->memory;
    const uint64_t room = psvi_room_of(def);
    memory->room = room;
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->lists[0] = psvi_carve(carver, 4 * room);
    memory->lists[1] = psvi_carve(carver, 4 * room);
    memory->keys = psvi_carve(carver, 4 * 2 * room);
    memory->endpoints = psvi_carve(carver, 4 * 2 * room);
    memory->minimums = psvi_carve(carver, 4 * (2 * room + 1));
    memory->first = psvi_carve(carver, 4 * room);
    memory->last = psvi_carve(carver, 4 * room);
    memory->keep = psvi_carve(carver, 4 * (room + 1));
    memory->ends = psvi_carve(carver, 4 * room);
    memory->records = psvi_carve(carver, 32 * room);
    ((sap3_state *)state)->scan = psvi_carve(carver, psvi_scan_bytes(2 * room + 1));
}

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    return psvi_key_sorter_def(def, 2 * psvi_room_of(def));
}

static const psvi_sorted_method method = {"sap3", MOST_BOXES, sizeof(sap3_state), sorter_def, layout};
_Static_assert(sizeof(sap3_state) <= PSVI_SORTED_STATE_MOST, "the state is measured on the stack");

static uint64_t sap3_scratch_bytes(const psv_pair_finder_def *def) { return psvi_sorted_scratch_bytes(&method, def); }

static psv_status sap3_create(psvi_choice *choice) {
    psv_status status = psvi_create_sorted(choice, &method);
    if (status == PSV_OK) status = psvi_scan_check(choice->context, 2 * psvi_room_of(&choice->def) + 1);
    if (status != PSV_OK) psvi_destroy_sorted(choice);
    return status;
}

static psv_status sap3_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    // The sorts are three: the passes are those of the last.
    return psvi_sorted_statistics(choice, 32, statistics);
}

// The boxes of the list are fewer than the host knows of, so the sorter reads their number on the device.
static psv_status sort_endpoints(sap3_state *state, const psvi_find_input *input) {
    const psvi_sort_request request = {
        .keys_in = state->memory.keys,
        .values_out = state->memory.endpoints,
        .value_bytes = 4,
        .implicit_index = true,
        .count = 2 * psvi_most_boxes(input),
        .count_device = &state->memory.plan->endpoints,
    };
    return psvi_sort_run(state->sorted.sorter, &request);
}

// Sorts the endpoints of a list on an axis and finds where each box's are, and which boxes have company there.
static psv_status sort_and_scan(const psvi_choice *choice, const psvi_find_input *input, uint32_t list, int axis) {
    psv_context *context = choice->context;
    sap3_state *state = choice->state;
    const psvi_sap3_memory *memory = &state->memory;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    cudaError_t error = psvi_launch_sap3_keys(input, memory, list, axis, context->stream);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psvi_cuda_status(context, error, "sap3: key launch");
    if (status == PSV_OK) status = sort_endpoints(state, input);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    error = psvi_launch_sap3_flags(input, memory, context->stream);
    status = psvi_cuda_status(context, error, "sap3: flag launch");
    if (status == PSV_OK)
        status = psvi_scan_sums(context, memory->minimums, memory->minimums, 2 * memory->room + 1, state->scan);
    if (status == PSV_OK)
        status = psvi_cuda_status(context, psvi_launch_sap3_mark(input, memory, context->stream), "sap3: mark launch");
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return status;
}

// The next list: the boxes that have company on this axis.
static psv_status keep_overlapping(const psvi_choice *choice, const psvi_find_input *input, uint32_t list) {
    psv_context *context = choice->context;
    sap3_state *state = choice->state;
    const psvi_sap3_memory *memory = &state->memory;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    psv_status status = psvi_scan_sums(context, memory->keep, memory->keep, memory->room + 1, state->scan);
    if (status == PSV_OK)
        status = psvi_cuda_status(context, psvi_launch_sap3_compact(input, memory, list, context->stream),
                                  "sap3: compaction launch");
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return status;
}

static psv_status find_partners(const psvi_choice *choice, const psvi_find_input *input, uint32_t list) {
    psv_context *context = choice->context;
    const psvi_sap3_memory *memory = &((sap3_state *)choice->state)->memory;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    cudaError_t error = psvi_launch_sap3_gather(input, memory, list, context->stream);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    if (error == cudaSuccess) {
        psvi_phase_begin(context, PSV_PHASE_SWEEP);
        error = psvi_launch_sap3_pairs(input, memory, context->stream);
        psvi_phase_end(context, PSV_PHASE_SWEEP);
    }
    return psvi_cuda_status(context, error, "sap3: pair launch");
}

static psv_status sap3_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    sap3_state *state = choice->state;
    const uint64_t boxes = psvi_most_boxes(input);
    if (boxes == 0) return PSV_OK;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    cudaError_t error = psvi_launch_sap3_begin(input, &state->memory, context->stream);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psvi_cuda_status(context, error, "sap3: list launch");
    if (boxes < 2) return status;
    uint32_t list = 0;
    for (int axis = 0; axis < 3 && status == PSV_OK; ++axis) {
        status = sort_and_scan(choice, input, list, axis);
        if (status != PSV_OK || axis == 2) break;
        status = keep_overlapping(choice, input, list);
        list = 1 - list;
    }
    return status == PSV_OK ? find_partners(choice, input, list) : status;
}

const psvi_broad_phase psvi_broad_phase_sap3_cuda = {
    .name = "sap3",
    .description = "sweep and prune of endpoints on x, y and z (Ha, Krueger, Silva 2009)",
    .scratch_bytes = sap3_scratch_bytes,
    .create = sap3_create,
    .destroy = psvi_destroy_sorted,
    .find = sap3_find,
    .statistics = sap3_statistics,
};
