// Which form of `radix` is the fastest on this driver: a measurement when the first sorter of a context is created. The
// forms take turns, so that a busy machine slows all of them; a form that sorts wrongly on a driver is not chosen.
#include <stdlib.h>

#include "radix_gpu.h"

#define DEVICE_TRIAL (1u << 22)   // elements
#define SOFTWARE_TRIAL (1u << 17) // where a million takes tens of milliseconds
#define TURNS 4                   // the first one is not timed: drivers compile in it
#define MOST_FORMS 16

typedef struct radix_trial {
    psv_sorter sorter;
    char *fresh, *keys, *values; // the same keys for each sort; the sort's
    uint32_t *host;              // twice as many words as elements
    void *marks[2];              // timestamps
    uint64_t bytes, scratch_bytes;
    uint32_t count;
} radix_trial;

// Mixes a counter: the same keys each time, without a state.
static uint32_t trial_key(uint32_t i) {
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return i ^ i >> 16;
}

// Keys in ascending order, equal ones by their values, which were their numbers.
static bool in_order(const uint32_t *keys, const uint32_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        if (values[i] >= count || keys[i] != trial_key(values[i])) return false;
        if (i > 0 && (keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] >= values[i]))) return false;
    }
    return true;
}

// One sort; milliseconds on the device, or a large number where the form does not work.
static double time_form(radix_trial *trial, const radix_form *form) {
    psv_context *context = trial->sorter.context;
    const psvi_sort_request request = {.keys_in = trial->keys,
                                       .keys_out = trial->keys,
                                       .values_out = trial->values,
                                       .value_bytes = 4,
                                       .implicit_index = true,
                                       .count = trial->count};
    if (context->ops->copy(context, trial->keys, trial->fresh, trial->bytes, PSVI_COPY_INSIDE) != PSV_OK) return 1e9;
    context->ops->record_event(context, trial->marks[0]);
    if (psvi_gpu_radix_run(&trial->sorter, &request, form) != PSV_OK) return 1e9;
    context->ops->record_event(context, trial->marks[1]);
    if (context->ops->synchronize(context) != PSV_OK) return 1e9;
    return context->ops->event_ms(context, trial->marks[0], trial->marks[1]);
}

static bool sorts_rightly(radix_trial *trial) {
    psv_context *context = trial->sorter.context;
    uint32_t *keys = trial->host, *values = keys + trial->count;
    return context->ops->copy(context, keys, trial->keys, trial->bytes, PSVI_COPY_DOWNLOAD) == PSV_OK &&
           context->ops->copy(context, values, trial->values, trial->bytes, PSVI_COPY_DOWNLOAD) == PSV_OK &&
           in_order(keys, values, trial->count);
}

static uint32_t fastest_form(radix_trial *trial) {
    const psvi_gpu *gpu = psvi_gpu_of(trial->sorter.context);
    bool out[MOST_FORMS] = {false};
    double best = 1e9;
    uint32_t choice = 0;
    for (int turn = 0; turn < TURNS; ++turn) {
        const radix_form *form;
        for (uint32_t f = 0; f < MOST_FORMS && (form = psvi_gpu_radix_form_at(f)) != NULL; ++f) {
            if (out[f] || !psvi_gpu_radix_offers(gpu, form)) continue;
            const double ms = time_form(trial, form);
            if (turn == 0) out[f] = ms >= 1e9 || !sorts_rightly(trial);
            if (turn == 0 || ms >= best) continue;
            best = ms;
            choice = f;
        }
    }
    return choice;
}

static bool open_trial(radix_trial *trial) {
    psv_context *context = trial->sorter.context;
    trial->host = malloc(2 * trial->bytes);
    trial->fresh = psvi_alloc(context, trial->bytes);
    trial->keys = psvi_alloc(context, trial->bytes);
    trial->values = psvi_alloc(context, trial->bytes);
    trial->sorter.scratch = psvi_alloc(context, trial->scratch_bytes);
    if (trial->host == NULL || trial->fresh == NULL || trial->keys == NULL || trial->values == NULL ||
        trial->sorter.scratch == NULL)
        return false;
    for (uint32_t i = 0; i < trial->count; ++i)
        trial->host[i] = trial_key(i);
    return context->ops->create_event(context, &trial->marks[0]) == PSV_OK &&
           context->ops->create_event(context, &trial->marks[1]) == PSV_OK &&
           context->ops->copy(context, trial->fresh, trial->host, trial->bytes, PSVI_COPY_UPLOAD) == PSV_OK;
}

static void close_trial(radix_trial *trial) {
    psv_context *context = trial->sorter.context;
    for (int m = 0; m < 2; ++m)
        if (trial->marks[m] != NULL) context->ops->destroy_event(context, trial->marks[m]);
    free(trial->host);
    psvi_free(context, trial->fresh, trial->bytes);
    psvi_free(context, trial->keys, trial->bytes);
    psvi_free(context, trial->values, trial->bytes);
    psvi_free(context, trial->sorter.scratch, trial->scratch_bytes);
}

psv_status psvi_gpu_choose_radix(psv_context *context) {
    psvi_gpu *gpu = psvi_gpu_of(context);
    const radix_form *form;
    uint32_t offered = 0;
    for (uint32_t f = 0; (form = psvi_gpu_radix_form_at(f)) != NULL; ++f)
        offered += psvi_gpu_radix_offers(gpu, form);
    gpu->radix_choice = 1;
    if (offered == 1) return PSV_OK;
    radix_trial trial = {
        .sorter = {.context = context, .def = psv_default_sorter_def(), .method = &psvi_sort_radix_gpu},
        .count = gpu->software ? SOFTWARE_TRIAL : DEVICE_TRIAL,
    };
    trial.sorter.def.max_count = trial.count;
    trial.sorter.order = psvi_make_key_order(PSV_KEY_U32, false, PSV_NAN_LAST, 0, 32);
    trial.bytes = (uint64_t)4 * trial.count;
    trial.scratch_bytes = psvi_sort_radix_gpu.scratch_bytes(&trial.sorter.def);
    const bool open = open_trial(&trial);
    if (open) gpu->radix_choice = 1 + fastest_form(&trial);
    close_trial(&trial);
    if (!open)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory to measure sorters (%llu bytes)",
                         (unsigned long long)(3 * trial.bytes + trial.scratch_bytes));
    context->error[0] = '\0'; // of forms that did not work: nobody asked for them
    return PSV_OK;
}
