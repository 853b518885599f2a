// The flagship `radix` on CUDA: a family of kernels behind one method. Which kernel runs for which count:
//
//   count                      kernel              launches
//   up to 4,096                radix_block.cu       1: one block
//   up to 32,768               radix_cluster.cu      1: one cluster of 16 blocks, or 8 where 16 do not fit; without
//                                                  clusters the next
//   up to 1.1M (8-byte pairs;  radix_chunks.cu     1: cooperative, one step to a chunk for each multiprocessor, which
//   0.5M 16-byte), 132 blocks,                     it sorts on chip; with 227 KB of shared memory. From the second call
//                                                  on by splitters of the call before (radix_splitters.cuh). Keys
//                                                  that fit in no chunks go to the next but one
//   up to 5M (32-bit keys,     radix_rounds.cu       1: cooperative, several chunks for each multiprocessor, by
//   splitters values no larger)                              of an earlier call; behind it one of the next two, mostly
//   idle.
//                                                  Without splitters these, and 1 launch that takes some.
//                                                  Input in order goes to radix_chunks.cu where that holds it
//   up to 2M (8-byte pairs;    radix_resident.cuh    1: cooperative, every block keeps its share; shares grow with the
//   1M above), 132 blocks                          count so that all blocks fit on the device
//   above                      radix_passes.cuh     2 + one for each digit: histogram and plan, nearly sorted input by
//                                                  windows (radix_windows.cuh; 32-bit keys; before the histogram, and
//                                                  before radix_rounds.cu, where the calls before had such input, and
//                                                  once where nothing is known), then chained passes: those
//                                                  of radix_passes_async.cuh for 32-bit keys alone or with 4 bytes of
//                                                  value, from compute capability 9.0 on with 227 KB of shared memory
//   1.2M and more, 32-bit      radix_order.cuh     1 where the call before had input in order: is this one, too? Behind
//   keys                                           it one of the two before, idle if so
//
// Where a block has less than 160 KB of shared memory, tiny counts go to the next that fits, and large.cuh runs with
// small tiles (radix_passes_compact.cu).
// Counts are the host's: with a count in device memory the largest possible one chooses. All decisions that depend on
// the data (constant digits, sorted input) are made on the device.
#include <stdlib.h>

#include "../../core/cuda/cuda_backend.h"
#include "../../src/sort_method.h"
#include "radix_chunks.h"
#include "radix_launch.h"
#include "radix_rounds.h"

// Where keys are too uneven for chunks, two calls in so many see whether they still are.
#define LOOK_AGAIN 64

typedef struct radix_state {
    psvi_radix_control *control;     // on the device
    psvi_radix_chunks_state *chunks; // likewise; NULL where its kernel does not fit
    uint32_t multiprocessors;
    uint32_t cluster_blocks; // 0: no clusters
    // Memory of the host that the chunk kernel writes 1 to where its splitters fail time and again; as the device sees
    // it; and calls since that kernel has looked. A call reads what is there: it decides only which kernel runs. The
    // second word is `ready` of the wide kernel, the third what was seen of the order of the keys, PSVI_RADIX_ORDER_...
    volatile uint32_t *uneven;
    uint32_t *uneven_device;
    uint32_t calls_since_look;
    psvi_radix_wide_state *wide;        // NULL where no count is large enough
    uint32_t wide_failures, wide_pause; // calls to be without it: more with each failure
    bool wide_used;                     // by the call before
    // The same for what runs before all else, PSVI_RADIX_ORDER_...; and whether a call has looked at the order at all.
    uint32_t first_failures, first_pause, first_used;
    bool order_looked_at;
} radix_state;

#define HOST_WORDS 3 // from `uneven` on

static uint32_t digits_of(const psv_sorter_def *def) {
    return (def->end_bit - def->begin_bit + PSVI_RADIX_BITS - 1) / PSVI_RADIX_BITS;
}

// Parts of the scratch memory: one copy of keys and values, or two where there may be three passes or more.
typedef struct scratch_layout {
    uint64_t keys[2], values[2], states;   // offsets
    uint64_t region_places, region_values; // of the chunk kernel, in the same memory
    uint64_t region_items;
    uint64_t bytes;
} scratch_layout;

static uint64_t place(uint64_t *bytes, uint64_t size) {
    uint64_t offset = *bytes;
    *bytes += psvi_align(size);
    return offset;
}

static scratch_layout lay_out(const psv_sorter_def *def) {
    scratch_layout layout = {.bytes = 0};
    for (int i = 0; i < (digits_of(def) > 2 ? 2 : 1); ++i) {
        layout.keys[i] = place(&layout.bytes, def->max_count * psv_key_type_bytes(def->key_type));
        layout.values[i] = place(&layout.bytes, def->max_count * def->value_bytes);
    }
    // A sorter of pairs also sorts keys alone, in tiles of other sizes: the smallest tile needs the most states.
    uint64_t portion = def->max_count < PSVI_RADIX_PORTION_ITEMS ? def->max_count : PSVI_RADIX_PORTION_ITEMS;
    uint64_t rows = portion / PSVI_RADIX_LARGE_LEAST_TILE + 1;
    layout.states = place(&layout.bytes, 2 * rows * PSVI_RADIX_DIGITS * sizeof(uint32_t));
    // Chunks are not quite equal, small ones less so. Regions for the largest count that the chunk kernel may get.
    const uint32_t key_bytes = (uint32_t)psv_key_type_bytes(def->key_type);
    const uint64_t most = (uint64_t)PSVI_RADIX_WIDE_CHUNKS * PSVI_RADIX_WIDE_QUOTA;
    const uint64_t count = def->max_count < most ? def->max_count : most;
    uint64_t bytes = 0;
    layout.region_items = count + count / 4 + 40000;
    layout.region_places = place(&bytes, layout.region_items * PSVI_RADIX_CHUNKS_ITEM(key_bytes));
    layout.region_values = place(&bytes, layout.region_items * def->value_bytes);
    if (layout.bytes < bytes) layout.bytes = bytes;
    return layout;
}

static bool radix_supports(const psv_sorter_def *def, char *why, size_t why_bytes) {
    (void)def;
    (void)why;
    (void)why_bytes;
    return true;
}

static uint64_t radix_scratch_bytes(const psv_sorter_def *def) { return lay_out(def).bytes; }

static void radix_destroy(psv_sorter *sorter) {
    radix_state *state = sorter->state;
    if (state == NULL) return;
    psvi_free(sorter->context, state->control, sizeof(psvi_radix_control));
    psvi_free(sorter->context, state->chunks, sizeof(psvi_radix_chunks_state));
    psvi_free(sorter->context, state->wide, sizeof(psvi_radix_wide_state));
    if (state->uneven != NULL) (void)cudaFreeHost((void *)(uintptr_t)state->uneven);
    free(state);
    sorter->state = NULL;
}

// The chunk kernel takes nearly all shared memory of today's largest multiprocessors.
static bool chunks_fit(const psvi_device_info *info) {
    return info->cooperative_launch && info->shared_bytes_per_block >= 227 * 1024 &&
           info->multiprocessors <= PSVI_RADIX_CHUNKS_BLOCKS;
}

// Counts from which on the keys go to several chunks for each multiprocessor, where they have 32 bits and values no
// more.
static uint64_t wide_least(const radix_state *state) {
    return (uint64_t)state->multiprocessors * PSVI_RADIX_CHUNKS_TILE(8) / 13 * 12;
}

static psv_status create_wide(psv_context *context, radix_state *state, const psv_sorter_def *def) {
    if (psv_key_type_bytes(def->key_type) != 4 || def->value_bytes > 4 || def->max_count <= wide_least(state))
        return PSV_OK;
    state->wide = psvi_alloc(context, sizeof(psvi_radix_wide_state));
    if (state->wide == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no device memory for the sorter's %zu bytes of splitters",
                         sizeof(psvi_radix_wide_state));
    return context->ops->fill(context, state->wide, 0, sizeof(psvi_radix_wide_state));
}

static psv_status create_chunks(psv_context *context, radix_state *state) {
    state->chunks = psvi_alloc(context, sizeof(psvi_radix_chunks_state));
    if (state->chunks == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no device memory for the sorter's %zu bytes of chunk counts",
                         sizeof(psvi_radix_chunks_state));
    void *host = NULL, *device = NULL;
    psv_status status = psvi_cuda_status(
        context, cudaHostAlloc(&host, HOST_WORDS * sizeof *state->uneven_device, cudaHostAllocMapped), "cudaHostAlloc");
    if (status != PSV_OK) return status;
    state->uneven = host;
    for (int word = 0; word < HOST_WORDS; ++word)
        state->uneven[word] = 0;
    status = psvi_cuda_status(context, cudaHostGetDevicePointer(&device, host, 0), "cudaHostGetDevicePointer");
    if (status != PSV_OK) return status;
    state->uneven_device = device;
    return context->ops->fill(context, state->chunks, 0, sizeof(psvi_radix_chunks_state));
}

static psv_status radix_create(psv_sorter *sorter) {
    psv_context *context = sorter->context;
    radix_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for the sorter");
    sorter->state = state;
    state->multiprocessors = (uint32_t)context->info.multiprocessors;
    state->cluster_blocks = context->info.cluster_launch ? psvi_radix_small_blocks() : 0;
    state->control = psvi_alloc(context, sizeof(psvi_radix_control));
    psv_status status =
        state->control == NULL
            ? psvi_fail(context, PSV_ERROR_MEMORY, "no device memory for the sorter's %zu control bytes",
                        sizeof(psvi_radix_control))
            : context->ops->fill(context, state->control, 0, sizeof(psvi_radix_control));
    if (status == PSV_OK && chunks_fit(&context->info)) {
        status = create_chunks(context, state);
        if (status == PSV_OK) status = create_wide(context, state, &sorter->def);
    }
    if (status != PSV_OK) radix_destroy(sorter);
    return status;
}

static psvi_radix_job make_job(const psv_sorter *sorter, const psvi_sort_request *request) {
    const radix_state *state = sorter->state;
    scratch_layout layout = lay_out(&sorter->def);
    char *scratch = sorter->scratch;
    psvi_radix_job job = {
        .keys_in = request->keys_in,
        .keys_out = request->keys_out,
        .values_in = request->implicit_index ? NULL : request->values_in,
        .values_out = request->values_out,
        .states = (uint32_t *)(void *)(scratch + layout.states),
        .control = state->control,
        .count_device = request->count_device,
        .histograms = request->histograms,
        .count = request->count,
        .order = sorter->order,
        .value_bytes = request->implicit_index ? 4 : request->value_bytes,
        .slots = digits_of(&sorter->def),
        .implicit = request->implicit_index,
        .keep_keys_in = request->keep_keys_in,
        .order_check = sorter->def.order_check,
        .likely_sorted = request->likely_sorted,
        .multiprocessors = state->multiprocessors,
        .async = sorter->context->info.code_capability >= 90 &&
                 sorter->context->info.shared_bytes_per_block >= PSVI_RADIX_ASYNC_SHARED_BYTES,
    };
    for (int i = 0; i < 2; ++i) {
        job.keys_spare[i] = scratch + layout.keys[i];
        job.values_spare[i] = scratch + layout.values[i];
    }
    // One digit sorted in place goes to the spare buffer and back: the way back is a pass over no bits.
    if (job.slots == 1) job.slots = 2;
    return job;
}

// Where the chunk kernel gathers its chunks, and where it tells that it could not.
static psvi_radix_chunks_call make_chunks_call(const psv_sorter *sorter, const psvi_radix_job *job) {
    const radix_state *state = sorter->state;
    const scratch_layout layout = lay_out(&sorter->def);
    char *scratch = sorter->scratch;
    const uint64_t tile = PSVI_RADIX_CHUNKS_TILE((job->order.is_wide ? 8 : 4) + job->value_bytes);
    const uint64_t capacity = layout.region_items / job->multiprocessors;
    return (psvi_radix_chunks_call){.items = scratch + layout.region_places,
                                    .values = scratch + layout.region_values,
                                    .capacity = (uint32_t)(capacity < tile ? capacity : tile),
                                    .places = layout.region_items,
                                    .look_again = *state->uneven,
                                    .uneven = state->uneven_device};
}

// Items a thread of the middle kernel, the fewest with which all blocks are resident; 0: too many for it.
static uint32_t middle_items(const psv_sorter *sorter, const psvi_radix_job *job) {
    if (!sorter->context->info.cooperative_launch) return 0;
    uint32_t pair_bytes = (job->order.is_wide ? 8 : 4) + job->value_bytes;
    uint64_t blocks = job->multiprocessors < PSVI_RADIX_MIDDLE_BLOCKS ? job->multiprocessors : PSVI_RADIX_MIDDLE_BLOCKS;
    uint32_t shared_bytes = (uint32_t)sorter->context->info.shared_bytes_per_block;
    for (uint32_t items = 2; items <= PSVI_RADIX_MIDDLE_MAX_ITEMS(pair_bytes); items *= 2) {
        uint32_t tile = PSVI_RADIX_MIDDLE_THREADS * items;
        if (tile * pair_bytes + 16 * 1024 > shared_bytes) return 0;
        if (job->count <= blocks * tile) return items;
    }
    return 0;
}

// Sorts in chunks, and behind that in the usual way, which does nothing where all is sorted. Where there are no
// splitters yet, takes some after a sort in the usual way (`items`: of a thread of the middle kernel). False when it is
// not the time for either.
static bool run_wide(psv_sorter *sorter, psvi_radix_job *job, uint32_t items, cudaError_t *error) {
    radix_state *state = sorter->state;
    cudaStream_t stream = sorter->context->stream;
    psvi_radix_wide_call call = {.regions = make_chunks_call(sorter, job),
                                 .chunks = psvi_radix_wide_chunks(job->count, job->multiprocessors),
                                 .ready = state->uneven_device + 1};
    const bool ready = state->uneven[1] != 0;
    if (state->wide_used) {
        state->wide_failures = ready ? 0 : state->wide_failures < 31 ? 2 * state->wide_failures + 1 : 63;
        state->wide_pause = state->wide_failures;
    }
    state->wide_used = ready;
    if (ready) {
        *error = psvi_radix_wide(job, state->wide, &call, stream);
        job->after_wide = 1;
        // One launch that does nothing in place of six, where one will do.
        if (*error == cudaSuccess)
            *error = items != 0 ? psvi_radix_middle32(job, items, stream) : psvi_radix_large(job, stream);
        return true;
    }
    if (state->wide_pause > 0) {
        --state->wide_pause;
        return false;
    }
    // The sorted keys themselves, or by the index the unsorted ones, which the middle kernel may use as spare memory.
    if (job->keys_out == NULL && !job->implicit) return false;
    const bool middle = items != 0 && (job->keys_out != NULL || job->keep_keys_in);
    call.after_large = !middle;
    *error = middle ? psvi_radix_middle32(job, items, stream) : psvi_radix_large(job, stream);
    // Nearly sorted keys leave nothing to remember.
    if (*error == cudaSuccess && state->first_used != PSVI_RADIX_ORDER_NEARLY)
        *error = psvi_radix_wide_remember(job, state->wide, &call, stream);
    return true;
}

// Asks the kernels for what they see of the order, where that can make a difference to later calls.
static void ask_for_order(const radix_state *state, psvi_radix_job *job) {
    if (state->uneven == NULL || !job->order_check || job->histograms != NULL || job->order.is_wide ||
        job->count > PSVI_RADIX_WINDOWS_MOST)
        return;
    job->order_seen = state->uneven_device + 2;
    job->order_known = state->uneven[2];
}

// What to run before all else: the windows (PSVI_RADIX_ORDER_NEARLY) or the look at the order (_SORTED) where the input
// was such of late; the windows also (`look`) where nothing is known and no kernel behind would find out; nothing
// (_OTHER) for a while where such kernels have failed. A graph keeps what is known when it is captured.
static uint32_t choose_first(radix_state *state, const psvi_radix_job *job, bool look) {
    if (job->order_seen == NULL) return PSVI_RADIX_ORDER_OTHER;
    if (state->first_used != PSVI_RADIX_ORDER_OTHER) {
        const uint32_t failures = state->first_failures;
        state->first_failures = job->order_known != PSVI_RADIX_ORDER_OTHER ? 0 : failures < 31 ? 2 * failures + 1 : 63;
        state->first_pause = state->first_failures;
    }
    state->first_used = PSVI_RADIX_ORDER_OTHER;
    if (look && !state->order_looked_at) {
        state->order_looked_at = true;
        return PSVI_RADIX_ORDER_NEARLY;
    }
    if (job->order_known == PSVI_RADIX_ORDER_OTHER) return PSVI_RADIX_ORDER_OTHER;
    if (state->first_pause > 0) {
        --state->first_pause;
        return PSVI_RADIX_ORDER_OTHER;
    }
    return state->first_used = job->order_known;
}

// For input that the call before had in order: a look at it, and behind that what sorts where it is not.
static cudaError_t run_checked(psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    cudaError_t error = psvi_radix_check(job, stream);
    job->after_check = 1;
    // The middle kernel is one launch, but moves nothing where it is not to sort.
    const bool in_place = job->keys_out == job->keys_in &&
                          (job->value_bytes == 0 || (!job->implicit && job->values_out == job->values_in));
    if (error != cudaSuccess) return error;
    return items != 0 && in_place ? psvi_radix_middle32(job, items, stream) : psvi_radix_large(job, stream);
}

static psv_status radix_run(psv_sorter *sorter, const psvi_sort_request *request) {
    psvi_radix_job job = make_job(sorter, request);
    cudaStream_t stream = sorter->context->stream;
    const bool roomy = sorter->context->info.shared_bytes_per_block >= PSVI_RADIX_LARGE_SHARED_BYTES;
    if (request->count <= PSVI_RADIX_TINY_THREADS * PSVI_RADIX_TINY_ITEMS && roomy)
        return psvi_cuda_status(sorter->context, psvi_radix_tiny(&job, stream), "radix sort of a tiny count");
    const uint32_t pair_bytes = (job.order.is_wide ? 8 : 4) + job.value_bytes;
    const uint32_t blocks = ((const radix_state *)sorter->state)->cluster_blocks;
    if (job.count <= PSVI_RADIX_SMALL_MOST &&
        job.count <= (uint64_t)blocks * PSVI_RADIX_TINY_THREADS * PSVI_RADIX_SMALL_ROWS(pair_bytes))
        return psvi_cuda_status(sorter->context, psvi_radix_small(&job, blocks, stream), "radix sort of a small count");
    radix_state *state = sorter->state;
    cudaError_t error;
    // Chunks are not quite equal: where the next kernel serves, it is better where they hardly fit.
    const uint64_t most =
        state->wide != NULL ? wide_least(state) : (uint64_t)job.multiprocessors * PSVI_RADIX_CHUNKS_TILE(pair_bytes);
    bool in_chunks = state->chunks != NULL && job.count <= most;
    uint32_t items = middle_items(sorter, &job);
    // Two calls in a row: the first may have old splitters, but leaves new ones.
    const bool uneven = in_chunks && *state->uneven != 0 && ++state->calls_since_look % LOOK_AGAIN > 1;
    if (!in_chunks) ask_for_order(state, &job);
    // Where its chunks hardly fit, the chunk kernel still is the fastest to see that the input is in order.
    if (state->chunks != NULL && job.order_known == PSVI_RADIX_ORDER_SORTED &&
        job.count <= (uint64_t)job.multiprocessors * PSVI_RADIX_CHUNKS_TILE(pair_bytes))
        in_chunks = true;
    if (in_chunks && (!uneven || items == 0)) {
        const psvi_radix_chunks_call call = make_chunks_call(sorter, &job);
        return psvi_cuda_status(sorter->context, psvi_radix_chunks(&job, state->chunks, &call, stream),
                                "radix sort of a middle count");
    }
    const bool wide = !in_chunks && state->wide != NULL &&
                      psvi_radix_wide_chunks(job.count, job.multiprocessors) != 0 && job.histograms == NULL;
    error = cudaSuccess;
    const uint32_t first = in_chunks
                               ? PSVI_RADIX_ORDER_OTHER
                               : choose_first(state, &job, wide && !sorter->context->ops->capturing(sorter->context));
    if (first == PSVI_RADIX_ORDER_SORTED)
        return psvi_cuda_status(sorter->context, run_checked(&job, items, stream), "radix sort of input in order");
    if (first == PSVI_RADIX_ORDER_NEARLY) {
        error = psvi_radix_windows(&job, stream);
        job.after_windows = 1;
        items = 0; // the middle kernel would not see what they have done
    }
    if (error == cudaSuccess && wide && run_wide(sorter, &job, items, &error))
        return psvi_cuda_status(sorter->context, error, "radix sort of a large count");
    if (error == cudaSuccess && items != 0)
        return psvi_cuda_status(sorter->context,
                                job.order.is_wide ? psvi_radix_middle64(&job, items, stream)
                                                  : psvi_radix_middle32(&job, items, stream),
                                "radix sort of a middle count");
    if (error == cudaSuccess) error = roomy ? psvi_radix_large(&job, stream) : psvi_radix_compact(&job, stream);
    return psvi_cuda_status(sorter->context, error, "radix sort of a large count");
}

static psv_status radix_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    const radix_state *state = sorter->state;
    psv_context *context = sorter->context;
    uint32_t passes[2] = {0, 0};
    psv_status status =
        context->ops->copy(context, passes, &state->control->passes_run, sizeof passes, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    statistics->passes_run = passes[0];
    statistics->passes_skipped = passes[1];
    return status;
}

const psvi_sort_method psvi_sort_radix_cuda = {
    .name = "radix",
    .description = "least-digit-first radix sort, several kernels chosen by count; the flagship",
    .digit_bits = PSVI_RADIX_BITS,
    .supports = radix_supports,
    .scratch_bytes = radix_scratch_bytes,
    .create = radix_create,
    .destroy = radix_destroy,
    .run = radix_run,
    .statistics = radix_statistics,
};
