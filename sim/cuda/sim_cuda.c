// A world's step on CUDA: enqueues the kernels; the host looks at a step's counters without waiting for it.
#include "../../sort/core/cuda/cuda_backend.h"
#include "../src/world.h"
#include "step_kernels.h"
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

typedef struct cuda_state {
    psvi_published *published; // host memory that the device writes
    psvi_published *device;    // its address there
    int colour_blocks, solve_blocks;
} cuda_state;

static psv_status cuda_create(psv_world *world) {
    psv_context *context = world->context;
    if (!context->info.cooperative_launch)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s cannot launch cooperative kernels, which the solver needs",
                         context->info.name);
    cuda_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a world's CUDA state");
    world->state = state;
    void *host = NULL, *device = NULL;
    psv_status status =
        psvi_cuda_status(context, cudaHostAlloc(&host, sizeof *state->published, cudaHostAllocMapped), "cudaHostAlloc");
    if (status != PSV_OK) return status;
    state->published = host;
    memset(host, 0, sizeof *state->published);
    status = psvi_cuda_status(context, cudaHostGetDevicePointer(&device, host, 0), "cudaHostGetDevicePointer");
    state->device = device;
    int colour = 0, solve = 0;
    if (status == PSV_OK)
        status = psvi_cuda_status(context, psvi_colour_blocks_per_processor(&colour), "occupancy of psvk_colour");
    if (status == PSV_OK)
        status = psvi_cuda_status(context, psvi_solve_blocks_per_processor(&solve), "occupancy of psvk_solve");
    state->colour_blocks = colour * context->info.multiprocessors;
    state->solve_blocks = solve * context->info.multiprocessors;
    return status;
}

static void cuda_destroy(psv_world *world) {
    cuda_state *state = world->state;
    if (state->published != NULL) (void)cudaFreeHost(state->published);
    free(state);
    world->state = NULL;
}

// Contacts are sorted by colour.
static psv_status cuda_make_sorter(psv_world *world) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = world->sort_method;
    def.key_type = PSV_KEY_U32;
    def.value_bytes = 4;
    def.begin_bit = 0;
    def.end_bit = 5; // PSVI_COLOURS + 1 colours
    def.max_count = world->sim.contact_capacity;
    return psv_create_sorter(world->context, &def, &world->sorter);
}

static psv_status cuda_begin(psv_world *world, const psvi_step *step) {
    return psvi_cuda_status(world->context, psvi_launch_begin(&world->sim, step, world->context->stream), "psvk_begin");
}

static psv_status cuda_attract(psv_world *world, const psvi_step *step) {
    return psvi_cuda_status(world->context, psvi_launch_attract(&world->sim, step, world->context->stream),
                            "psvk_attract");
}

static psv_status cuda_narrow(psv_world *world, const psvi_step *step) {
    bool ground = world->terrain_bytes > (world->def.sub_world_count + 1ull) * sizeof(uint32_t);
    return psvi_cuda_status(
        world->context,
        psvi_launch_narrow(&world->sim, step, ground, world->context->info.multiprocessors, world->context->stream),
        "psvk_narrow");
}

static psv_status cuda_solve(psv_world *world, const psvi_step *step) {
    const cuda_state *state = world->state;
    const psvi_sim *s = &world->sim;
    psv_context *context = world->context;
    psv_status status =
        psvi_cuda_status(context, psvi_launch_colour(s, state->colour_blocks, context->stream), "psvk_colour");
    uint64_t bytes = s->contact_capacity * sizeof(uint32_t);
    if (status == PSV_OK)
        status = psv_sort_pairs_indirect(world->sorter, psv_buffer_of(s->keys, bytes), psv_buffer_of(s->order, bytes),
                                         psv_buffer_of(&s->counts->contacts, sizeof(uint64_t)));
    if (status != PSV_OK) return status;
    return psvi_cuda_status(context, psvi_launch_solve(s, step, state->solve_blocks, context->stream), "psvk_solve");
}

static psv_status cuda_finish(psv_world *world, const psvi_step *step) {
    const cuda_state *state = world->state;
    psv_context *context = world->context;
    return psvi_cuda_status(
        context, psvi_launch_finish(&world->sim, step, state->device, context->info.multiprocessors, context->stream),
        "psvk_finish");
}

static bool cuda_poll(psv_world *world, psvi_step_counts *counts, bool wait) {
    const cuda_state *state = world->state;
    if (wait && psv_synchronize(world->context) != PSV_OK) return false;
    for (int attempt = 0; attempt < 4; ++attempt) {
        uint64_t serial = state->published->serial;
        if (serial == 0) return false;
        __sync_synchronize();
        *counts = state->published->record[serial & 1];
        __sync_synchronize();
        // The record is written again two steps later only.
        if (state->published->serial - serial <= 1) return true;
    }
    return false;
}

const psvi_sim_ops psvi_sim_ops_cuda = {
    .create = cuda_create,
    .destroy = cuda_destroy,
    .make_sorter = cuda_make_sorter,
    .begin = cuda_begin,
    .attract = cuda_attract,
    .narrow = cuda_narrow,
    .solve = cuda_solve,
    .finish = cuda_finish,
    .poll = cuda_poll,
};
