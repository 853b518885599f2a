// The flagship `radix` on CUDA, host side: gathers the facts of a call, has psvi_radix_choose_route() (radix_route.c,
// with the table of routes) choose, and launches what it names. docs/how/radix.md explains the whole.
//
// Counts are the host's: with a count in device memory the largest possible one chooses. Everything that depends on the
// keys of the call is decided on the device. What the device has seen in calls before comes back through three words of
// host memory (radix_told): a call reads what is there, waits for nothing, and uses it only to choose kernels.
#include <stdio.h>
#include <stdlib.h>

#include "../../../core/cuda/cuda_backend.h"
#include "../../src/sort_method.h"
#include "radix_chunks.h"
#include "radix_launch.h"
#include "radix_rounds.h"

// Written by kernels, read by the host.
typedef struct radix_told {
    volatile uint32_t failing; // 1: the splitters of the chunk kernel fail time and again
    volatile uint32_t ready;   // 1: ROUNDS has splitters that have not failed
    volatile uint32_t order;   // psvi_radix_seen, of the last call that looked
    volatile uint32_t served;  // calls in a row that the splitters of the chunk kernel have sorted, up to a few
} radix_told;

typedef struct radix_state {
    psvi_radix_device device;
    psvi_radix_control *control;     // on the device, like the following two
    psvi_radix_chunks_state *chunks; // NULL where its kernel does not fit
    psvi_radix_rounds_state *rounds; // NULL where no count of this sorter is for it
    radix_told *told, *told_device;  // one memory, as the host and the device see it; NULL without `chunks`
    psvi_backoff chunks_backoff, rounds_backoff, order_backoff;
    bool chunks_used, rounds_used; // by the call before
    psvi_radix_seen order_used;    // what the call before expected of the order, and began with
    bool order_looked_at;          // some call has begun with WINDOWS
} radix_state;

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
    uint64_t rows = portion / PSVI_RADIX_PASSES_LEAST_TILE + 1;
    layout.states = place(&layout.bytes, 2 * rows * PSVI_RADIX_DIGITS * sizeof(uint32_t));
    // Chunks are not quite equal, small ones less so. Regions for the largest count that the chunk kernel may get.
    const uint32_t key_bytes = (uint32_t)psv_key_type_bytes(def->key_type);
    const uint64_t most = (uint64_t)PSVI_RADIX_ROUNDS_CHUNKS * PSVI_RADIX_ROUNDS_QUOTA;
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
    psvi_free(sorter->context, state->control, sizeof *state->control);
    psvi_free(sorter->context, state->chunks, sizeof *state->chunks);
    psvi_free(sorter->context, state->rounds, sizeof *state->rounds);
    psvi_cuda_free_pinned(sorter->context, state->told, sizeof *state->told);
    free(state);
    sorter->state = NULL;
}

// Zeroed memory on the device.
static psv_status make_memory(psv_context *context, uint64_t bytes, const char *what, void **memory) {
    *memory = psvi_alloc(context, bytes);
    if (*memory == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no device memory for the sorter's %llu bytes of %s",
                         (unsigned long long)bytes, what);
    return context->ops->fill(context, *memory, 0, bytes);
}

static psv_status make_told(psv_context *context, radix_state *state) {
    void *host = NULL, *device = NULL;
    psv_status status = psvi_cuda_alloc_pinned(context, sizeof *state->told, &host, &device);
    state->told = host;
    state->told_device = device;
    if (status == PSV_OK) state->told->order = PSVI_RADIX_ORDER_OTHER;
    return status;
}

// What is known of every call of a sorter.
static psvi_radix_facts facts_of_sorter(const psv_sorter *sorter, const psvi_radix_device *device) {
    return (psvi_radix_facts){.device = *device,
                              .max_count = sorter->def.max_count,
                              .key_bytes = psv_key_type_bytes(sorter->def.key_type),
                              .sorter_values = sorter->def.value_bytes,
                              .order_check = sorter->def.order_check};
}

static psvi_radix_device device_of(const psvi_device_info *info) {
    const uint32_t code_bytes = psvi_radix_policy_of((uint32_t)info->code_capability).shared_kb * 1024;
    const uint32_t device_bytes = (uint32_t)info->shared_bytes_per_block;
    psvi_radix_device device = {.multiprocessors = (uint32_t)info->multiprocessors,
                                .shared_bytes = device_bytes < code_bytes ? device_bytes : code_bytes,
                                .code_capability = (uint32_t)info->code_capability,
                                .cooperative = info->cooperative_launch};
    if (info->cluster_launch && device.shared_bytes >= PSVI_RADIX_CHUNK_KB * 1024)
        device.cluster_blocks = psvi_radix_cluster_blocks();
    return device;
}

static psv_status radix_create(psv_sorter *sorter) {
    psv_context *context = sorter->context;
    radix_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for the sorter");
    sorter->state = state;
    state->device = device_of(&context->info);
    psvi_radix_facts facts = facts_of_sorter(sorter, &state->device);
    psv_status status = make_memory(context, sizeof *state->control, "control", (void **)&state->control);
    if (status == PSV_OK && psvi_radix_route_span(PSVI_RADIX_SPLITTERS, &facts).most != 0) {
        status = make_memory(context, sizeof *state->chunks, "chunk counts", (void **)&state->chunks);
        if (status == PSV_OK) status = make_told(context, state);
    }
    if (status == PSV_OK && psvi_radix_has_rounds(&facts))
        status = make_memory(context, sizeof *state->rounds, "splitters", (void **)&state->rounds);
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
        .multiprocessors = state->device.multiprocessors,
        .early = state->device.code_capability >= 90,
    };
    for (int i = 0; i < 2; ++i) {
        job.keys_spare[i] = scratch + layout.keys[i];
        job.values_spare[i] = scratch + layout.values[i];
    }
    // One digit sorted in place goes to the spare buffer and back: the way back is a pass over no bits.
    if (job.slots == 1) job.slots = 2;
    return job;
}

// The back-offs learn how the call before went, as far as the device has told: it may still be at work.
static void learn(radix_state *state) {
    const struct {
        psvi_backoff *backoff;
        bool used, served;
    } routes[] = {
        {&state->chunks_backoff, state->chunks_used, state->told->failing == 0},
        {&state->rounds_backoff, state->rounds_used, state->told->ready != 0},
        {&state->order_backoff, state->order_used != PSVI_RADIX_ORDER_OTHER,
         state->told->order != PSVI_RADIX_ORDER_OTHER},
    };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; ++i) {
        if (!routes[i].used) continue;
        if (routes[i].served)
            psvi_backoff_succeeded(routes[i].backoff);
        else
            psvi_backoff_failed(routes[i].backoff, 1, PSVI_RADIX_WAIT_MOST);
    }
    state->chunks_used = state->rounds_used = false;
    state->order_used = PSVI_RADIX_ORDER_OTHER;
}

static psvi_radix_facts facts_of_call(const psv_sorter *sorter, const psvi_radix_job *job) {
    const radix_state *state = sorter->state;
    psvi_radix_facts facts = facts_of_sorter(sorter, &state->device);
    facts.count = job->count;
    facts.value_bytes = job->value_bytes;
    facts.implicit = job->implicit;
    facts.keys_wanted = job->keys_out != NULL;
    facts.keys_kept = job->keep_keys_in;
    facts.in_place = job->keys_out == job->keys_in &&
                     (job->value_bytes == 0 || (!job->implicit && job->values_out == job->values_in));
    facts.has_histograms = job->histograms != NULL;
    facts.order_looked_at = state->order_looked_at;
    facts.chunks_wait = state->chunks_backoff.left > 0;
    facts.rounds_wait = state->rounds_backoff.left > 0;
    facts.order_wait = state->order_backoff.left > 0;
    if (state->told == NULL) return facts;
    facts.ready = state->told->ready != 0;
    facts.splitters_serve = state->told->served >= PSVI_RADIX_CHUNKS_SERVED;
    const bool asks = !facts.splitters_serve || (state->rounds != NULL && !state->order_looked_at);
    facts.capturing = asks && sorter->context->ops->capturing(sorter->context);
    facts.order = (psvi_radix_seen)state->told->order;
    return facts;
}

// Keeps what the next call has to know of this one's plan.
static void remember_plan(radix_state *state, const psvi_radix_plan *plan, psvi_radix_seen order) {
    if (plan->chunks_waited) (void)psvi_backoff_waits(&state->chunks_backoff);
    if (plan->rounds_waited) (void)psvi_backoff_waits(&state->rounds_backoff);
    if (plan->order_waited) (void)psvi_backoff_waits(&state->order_backoff);
    for (int i = 0; i < PSVI_RADIX_TRIES; ++i) {
        const psvi_radix_route route = plan->tries[i];
        if (route == PSVI_RADIX_SPLITTERS) state->chunks_used = true;
        if (route == PSVI_RADIX_ROUNDS) state->rounds_used = true;
        if (route == PSVI_RADIX_IN_ORDER || route == PSVI_RADIX_WINDOWS) state->order_used = order;
        if (route == PSVI_RADIX_WINDOWS) state->order_looked_at = true;
    }
}

// Where the kernels of chunks gather them, and where they tell that they could not.
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
                                    .try_again = state->told->failing,
                                    .failing = (uint32_t *)(uintptr_t)&state->told_device->failing,
                                    .served = (uint32_t *)(uintptr_t)&state->told_device->served};
}

static psvi_radix_rounds_call make_rounds_call(const psv_sorter *sorter, const psvi_radix_job *job) {
    const radix_state *state = sorter->state;
    return (psvi_radix_rounds_call){.regions = make_chunks_call(sorter, job),
                                    .chunks = psvi_radix_round_chunks(job->count, job->multiprocessors),
                                    .ready = (uint32_t *)(uintptr_t)&state->told_device->ready};
}

static cudaError_t launch_route(const psv_sorter *sorter, psvi_radix_route route, const psvi_radix_job *job,
                                const psvi_radix_plan *plan) {
    const radix_state *state = sorter->state;
    cudaStream_t stream = sorter->context->stream;
    switch (route) {
    case PSVI_RADIX_BLOCK: return psvi_radix_block(job, stream);
    case PSVI_RADIX_CLUSTER: return psvi_radix_cluster(job, state->device.cluster_blocks, stream);
    case PSVI_RADIX_SPLITTERS: {
        psvi_radix_chunks_call call = make_chunks_call(sorter, job);
        call.resident = plan->tries[1] == PSVI_RADIX_RESIDENT;
        return psvi_radix_chunks(job, state->chunks, &call, stream);
    }
    case PSVI_RADIX_IN_ORDER: return psvi_radix_check_order(job, stream);
    case PSVI_RADIX_WINDOWS: return psvi_radix_windows(job, stream);
    case PSVI_RADIX_ROUNDS: {
        const psvi_radix_rounds_call call = make_rounds_call(sorter, job);
        return psvi_radix_rounds(job, state->rounds, &call, stream);
    }
    case PSVI_RADIX_RESIDENT:
        return job->order.is_wide ? psvi_radix_resident64(job, plan->resident_items, stream)
                                  : psvi_radix_resident32(job, plan->resident_items, stream);
    default:
        return job->tiles == PSVI_RADIX_TILES_COMPACT ? psvi_radix_passes_compact(job, stream)
                                                      : psvi_radix_passes(job, stream);
    }
}

// What a kernel behind this one has to know of it.
static uint32_t mark_of(psvi_radix_route route) {
    return route == PSVI_RADIX_WINDOWS     ? PSVI_RADIX_AFTER_WINDOWS
           : route == PSVI_RADIX_IN_ORDER  ? PSVI_RADIX_AFTER_ORDER
           : route == PSVI_RADIX_ROUNDS    ? PSVI_RADIX_AFTER_ROUNDS
           : route == PSVI_RADIX_SPLITTERS ? PSVI_RADIX_AFTER_CHUNKS
                                           : 0;
}

static psv_status radix_run(psv_sorter *sorter, const psvi_sort_request *request) {
    radix_state *state = sorter->state;
    psvi_radix_job job = make_job(sorter, request);
    if (state->told != NULL) learn(state);
    const psvi_radix_facts facts = facts_of_call(sorter, &job);
    const psvi_radix_plan plan = psvi_radix_choose_route(&facts);
    remember_plan(state, &plan, facts.order);
    job.veto = plan.veto;
    job.tiles = plan.tiles;
    if (plan.asks_for_order) {
        job.order_seen = (uint32_t *)(uintptr_t)&state->told_device->order;
        job.order_known = facts.order;
    }
    cudaError_t error = cudaSuccess;
    psvi_radix_route last = PSVI_RADIX_NONE;
    for (int i = 0; i < PSVI_RADIX_TRIES && plan.tries[i] != PSVI_RADIX_NONE && error == cudaSuccess; ++i) {
        last = plan.tries[i];
        error = launch_route(sorter, last, &job, &plan);
        job.before |= mark_of(last);
    }
    if (error == cudaSuccess && plan.remembers && plan.tries[0] == PSVI_RADIX_SPLITTERS) {
        error = psvi_radix_chunks_remember(&job, state->chunks, sorter->context->stream);
    } else if (error == cudaSuccess && plan.remembers) {
        const psvi_radix_rounds_call call = make_rounds_call(sorter, &job);
        error = psvi_radix_rounds_remember(&job, state->rounds, &call, sorter->context->stream);
    }
    if (error == cudaSuccess) return PSV_OK;
    char what[64];
    (void)snprintf(what, sizeof what, "radix sort, route %s", psvi_radix_row(last)->name);
    return psvi_cuda_status(sorter->context, error, what);
}

static psv_status radix_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    const radix_state *state = sorter->state;
    psv_context *context = sorter->context;
    psvi_radix_outcome outcome = {0};
    psv_status status =
        context->ops->copy(context, &outcome, &state->control->outcome, sizeof outcome, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    statistics->passes_run = outcome.passes_run;
    statistics->passes_skipped = outcome.passes_skipped;
    statistics->route = psvi_radix_row((psvi_radix_route)outcome.route)->name;
    statistics->veto = psvi_radix_veto_name(outcome.veto);
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
