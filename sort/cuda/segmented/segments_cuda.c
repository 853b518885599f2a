// Segmented sort on CUDA: the memory of a sorter and its kernel (segment_job.h).
#include <stdlib.h>

#include "../../../core/carver.h"
#include "../../../core/cuda/cuda_backend.h"
#include "../../src/segment_method.h"
#include "segment_job.h"

typedef struct segments_state {
    psvi_segment_job job; // but for what a call brings
    bool dirty;           // a launch has failed: counters may not be zero
} segments_state;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Segments longer than `length` that there can be.
static uint64_t most_longer(const psv_segment_sorter_def *def, uint64_t length) {
    return least(def->max_segments, def->max_count / (length + 1));
}

static uint64_t tiles_of(const psv_segment_sorter_def *def) {
    return (def->max_count + PSVI_SEGMENT_TILE - 1) / PSVI_SEGMENT_TILE;
}

static void carve_large(psvi_segment_job *job, const psv_segment_sorter_def *def, psvi_carver *carver) {
    const uint64_t tiles = def->max_count / PSVI_SEGMENT_LARGE_TILE + job->large_room;
    const uint64_t chunks = tiles / PSVI_SEGMENT_CHUNK + job->large_room;
    const uint64_t key_bytes = psv_key_type_bytes(def->key_type), row = PSVI_SEGMENT_DIGITS * sizeof(uint32_t);
    job->large = psvi_carve(carver, job->large_room * sizeof *job->large);
    job->tile_owner = psvi_carve(carver, tiles * sizeof(uint32_t));
    job->chunk_owner = psvi_carve(carver, chunks * sizeof(uint32_t));
    job->tile_digits = psvi_carve(carver, tiles * row);
    job->chunk_digits = psvi_carve(carver, chunks * row);
    job->keys_spare[0] = psvi_carve(carver, def->max_count * key_bytes);
    job->keys_spare[1] = psvi_carve(carver, def->value_bytes == 0 ? 0 : def->max_count * key_bytes);
    job->values_spare = psvi_carve(carver, def->max_count * def->value_bytes);
}

// Sets the parts of the job's memory. Returns the bytes of all.
static uint64_t carve_memory(psvi_segment_job *job, const psv_segment_sorter_def *def, char *base) {
    const uint64_t tiles = tiles_of(def);
    psvi_carver carver = {base, 0};
    static const uint32_t shorter[PSVI_SEGMENT_BINS] = {PSVI_SEGMENT_BLOCK, PSVI_SEGMENT_WARP, PSVI_SEGMENT_TINY};
    job->control = psvi_carve(&carver, sizeof *job->control);
    job->tile_counts = psvi_carve(&carver, tiles * sizeof(uint32_t));
    job->tile_list = psvi_carve(&carver, tiles * sizeof(uint32_t));
    job->slots = psvi_carve(&carver, tiles * PSVI_SEGMENT_TILE * sizeof(uint16_t));
    for (uint32_t bin = 0; bin < PSVI_SEGMENT_BINS; ++bin) {
        job->bin_room[bin] = (uint32_t)most_longer(def, shorter[bin]);
        job->bins[bin] = psvi_carve(&carver, job->bin_room[bin] * sizeof(uint32_t));
    }
    job->large_room = (uint32_t)most_longer(def, job->block_length);
    if (job->large_room != 0) carve_large(job, def, &carver);
    return carver.used;
}

static psvi_segment_job plan_job(const psv_segment_sorter_def *def) {
    psvi_segment_job job = {.key_bytes = psv_key_type_bytes(def->key_type)};
    job.order = psvi_make_key_order(def->key_type, def->descending, def->nan_policy, def->begin_bit, def->end_bit);
    const uint32_t width = def->end_bit - def->begin_bit;
    job.mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (width == 0) job.order.begin_bit = 0; // so that no shift is by the width of the key
    job.block_length = psvi_segment_block_length(&job.order);
    job.passes = width == 0 ? 1 : (width + PSVI_SEGMENT_DIGIT_BITS - 1) / PSVI_SEGMENT_DIGIT_BITS;
    return job;
}

static uint64_t segments_scratch_bytes(const psv_segment_sorter_def *def) {
    psvi_segment_job job = plan_job(def);
    return carve_memory(&job, def, NULL);
}

static psv_status clear_counters(psv_segment_sorter *sorter) {
    psv_context *context = sorter->context;
    const segments_state *state = sorter->state;
    psv_status status = context->ops->fill(context, state->job.control, 0, sizeof *state->job.control);
    if (status == PSV_OK)
        status = context->ops->fill(context, state->job.tile_counts, 0, tiles_of(&sorter->def) * sizeof(uint32_t));
    return status;
}

static psv_status segments_create(psv_segment_sorter *sorter) {
    psv_context *context = sorter->context;
    segments_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a segment sorter (%zu bytes)", sizeof *state);
    sorter->state = state;
    state->job = plan_job(&sorter->def);
    (void)carve_memory(&state->job, &sorter->def, sorter->scratch);
    const cudaError_t error = psvi_segment_blocks(&state->job, (uint32_t)context->info.multiprocessors);
    psv_status status = psvi_cuda_status(context, error, "occupancy of the segmented sort");
    if (status == PSV_OK) status = clear_counters(sorter);
    if (status == PSV_OK) return PSV_OK;
    free(state);
    sorter->state = NULL;
    return status;
}

static void segments_destroy(psv_segment_sorter *sorter) { free(sorter->state); }

static psvi_segment_job job_of(const segments_state *state, const psvi_segment_request *request) {
    psvi_segment_job job = state->job;
    job.offsets = request->offsets;
    job.segments = request->segments;
    job.segments_device = request->segments_device;
    job.count = request->count;
    job.keys = request->keys;
    job.values = request->values;
    job.value_bytes = request->value_bytes;
    job.implicit = request->implicit_index;
    job.write_keys = !request->implicit_index || request->keep == PSV_INDEX_KEYS_SORTED;
    job.keep_keys = request->implicit_index && request->keep == PSV_INDEX_KEYS_KEPT;
    return job;
}

static psv_status segments_run(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    psv_context *context = sorter->context;
    segments_state *state = sorter->state;
    const psvi_segment_job job = job_of(state, request);
    const cudaStream_t stream = (cudaStream_t)context->stream;
    psv_status status = state->dirty ? clear_counters(sorter) : PSV_OK;
    if (status != PSV_OK) return status;
    const cudaError_t error = psvi_sort_segments(&job, stream);
    state->dirty = error != cudaSuccess;
    return psvi_cuda_status(context, error, "launch of the segmented sort");
}

static psv_status segments_read_bad(psv_segment_sorter *sorter, uint64_t *bad) {
    psv_context *context = sorter->context;
    uint32_t found = 0;
    const psvi_segment_control *control = ((const segments_state *)sorter->state)->job.control;
    psv_status status = context->ops->copy(context, &found, &control->last_bad, sizeof found, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status == PSV_OK && found != 0) *bad = ~found;
    return status;
}

const psvi_segment_ops psvi_segments_cuda = {
    .scratch_bytes = segments_scratch_bytes,
    .create = segments_create,
    .destroy = segments_destroy,
    .run = segments_run,
    .read_bad = segments_read_bad,
};
