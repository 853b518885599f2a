// Linear bounding volume hierarchy on CUDA, host side.
#include "../../core/cuda/cuda_backend.h"
#include "lbvh_kernels.h"
#include "sorted_method.h"

#define KEY_BITS 31u        // of world and place; one more says that a box takes no part
#define LEAST_PLACE_BITS 9u // with the size class
#define LEAST_PARTS 65536u
#define MOST_BOXES 0x7fffffffu // a run of eight is named by 28 bits

typedef struct lbvh_state {
    psvi_sorted_state sorted;
    psvi_lbvh_memory memory;
} lbvh_state;

// Worlds take the high bits of the key; when there are too many for that, neighbours share a number.
static void choose_bits(const psv_pair_finder_def *def, psvi_lbvh_memory *memory) {
    uint32_t bits = 0;
    while (bits < 32 && def->world_count > 1 && (uint64_t)1 << bits < def->world_count)
        ++bits;
    const uint32_t most = KEY_BITS - LEAST_PLACE_BITS;
    memory->world_shift = bits > most ? bits - most : 0;
    memory->world_bits = bits > most ? most : bits;
    memory->place_bits = KEY_BITS - memory->world_bits;
}

void psvi_lay_out_lbvh(psvi_carver *carver, const psv_pair_finder_def *def, psvi_lbvh_memory *memory) {
    const uint64_t room = psvi_room_of(def);
    memory->room = (uint32_t)room;
    memory->part_room = (uint32_t)(room / 4 > LEAST_PARTS ? room / 4 : LEAST_PARTS);
    memory->ticket_room = (uint32_t)((room >> 18) + (room >> 27) + 2);
    choose_bits(def, memory);
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    uint64_t boxes = 0;
    for (uint32_t level = 0; level < PSVI_LBVH_LEVELS; ++level) {
        memory->start[level] = boxes;
        boxes += (room >> 3 * level) + 1;
    }
    memory->boxes = psvi_carve(carver, 32 * boxes);
    memory->tickets = psvi_carve(carver, 4 * (uint64_t)memory->ticket_room);
    memory->parts = psvi_carve(carver, sizeof(psvi_lbvh_part) * memory->part_room);
}

static void layout(psvi_carver *carver, const psv_pair_finder_def *def, void *state) {
    psvi_lbvh_memory *memory = &((lbvh_state *)state)->memory;
    psvi_lay_out_lbvh(carver, def, memory);
    memory->keys = psvi_carve(carver, 4 * (uint64_t)memory->room);
    memory->order = psvi_carve(carver, 4 * (uint64_t)memory->room);
}

static const psvi_sorted_method method = {"lbvh", MOST_BOXES, sizeof(lbvh_state), psvi_box_sorter_def, layout};
_Static_assert(sizeof(lbvh_state) <= PSVI_SORTED_STATE_MOST, "the state is measured on the stack");

static uint64_t lbvh_scratch_bytes(const psv_pair_finder_def *def) { return psvi_sorted_scratch_bytes(&method, def); }

static psv_status lbvh_create(psvi_choice *choice) { return psvi_create_sorted(choice, &method); }

static psv_status lbvh_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    return psvi_sorted_statistics(choice, KEY_BITS + 1, statistics);
}

static psv_status sort_keys(lbvh_state *state, const psvi_find_input *input) {
    const psvi_lbvh_memory *memory = &state->memory;
    return psvi_sort_box_keys(state->sorted.sorter, input, memory->keys, memory->keys, memory->order,
                              &memory->plan->slots);
}

static psv_status lbvh_build(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    lbvh_state *state = choice->state;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    cudaError_t error = psvi_launch_lbvh_keys(input, &state->memory, context->stream);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    psv_status status = psvi_cuda_status(context, error, "lbvh: key launch");
    if (psvi_most_boxes(input) < 2 || status != PSV_OK) return status;
    status = sort_keys(state, input);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    error = psvi_launch_lbvh_build(input, &state->memory, context->stream);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    return psvi_cuda_status(context, error, "lbvh: build launch");
}

static psv_status lbvh_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    lbvh_state *state = choice->state;
    const uint64_t boxes = psvi_most_boxes(input);
    if (boxes == 0) return PSV_OK;
    psv_status status = lbvh_build(choice, input);
    if (boxes < 2 || status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    cudaError_t error = psvi_launch_lbvh_walk(input, &state->memory, context->info.multiprocessors, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "lbvh: walk launch");
}

// The tree has been built over two places at least, see kept_boxes.c.
static psv_status lbvh_query(const psvi_choice *choice, const psvi_find_input *input, uint64_t first) {
    psv_context *context = choice->context;
    const lbvh_state *state = choice->state;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    const cudaError_t error =
        psvi_launch_lbvh_query(input, &state->memory, first, context->info.multiprocessors, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "lbvh: query launch");
}

const psvi_broad_phase psvi_broad_phase_lbvh_cuda = {
    .name = "lbvh",
    .description = "linear bounding volume hierarchy, rebuilt each frame: runs along a Hilbert curve",
    .scratch_bytes = lbvh_scratch_bytes,
    .create = lbvh_create,
    .destroy = psvi_destroy_sorted,
    .find = lbvh_find,
    .build = lbvh_build,
    .query = lbvh_query,
    .statistics = lbvh_statistics,
};
