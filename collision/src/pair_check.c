// psv_check_pairs: the last frame's pairs against a test of some boxes with all others. See pair_check.h.
#include "pair_check.h"

#include <stdlib.h>

#include "frame.h"
#include "pair_changes.h"
#include "pair_check_host.h"

uint64_t psvi_check_bytes(void) { return psvi_align(sizeof(psvi_check_memory)); }

static psv_status check_arguments(psv_pair_finder *finder, uint32_t samples, const psv_pair_check *check) {
    psv_context *context = finder->context;
    if (check == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "check is NULL");
    if (samples == 0 || samples > PSV_MOST_SAMPLES)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "samples is %u; it must be 1 to %u", samples, PSV_MOST_SAMPLES);
    return psvi_is_captured(context) ? psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                                                 "pairs cannot be checked while the stream is captured or "
                                                 "calls are recorded")
                                     : PSV_OK;
}

static psv_status download(psv_context *context, void *target, const void *source, uint64_t bytes) {
    if (bytes == 0) return PSV_OK;
    const psv_status status = context->ops->copy(context, target, source, bytes, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

// --- naming ----------------------------------------------------------------------------------------------------------

static int compare_pairs(const void *x, const void *y) {
    const uint64_t a = psvi_key_of(*(const psv_pair *)x), b = psvi_key_of(*(const psv_pair *)y);
    return (a > b) - (a < b);
}

static bool same(psv_pair x, psv_pair y) { return psvi_key_of(x) == psvi_key_of(y); }

// A pair of two sampled boxes is found twice.
static uint64_t drop_repeated(psv_pair *pairs, uint64_t count) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; ++i)
        if (kept == 0 || !same(pairs[kept - 1], pairs[i])) pairs[kept++] = pairs[i];
    return kept;
}

static void note(uint64_t *count, psv_pair *first, psv_pair pair) {
    if ((*count)++ == 0) *first = pair;
}

// Both lists get sorted.
static void compare_lists(psv_pair *found, uint64_t found_count, psv_pair *listed, uint64_t listed_count,
                          psv_pair_check *check) {
    qsort(found, found_count, sizeof *found, compare_pairs);
    qsort(listed, listed_count, sizeof *listed, compare_pairs);
    found_count = drop_repeated(found, found_count);
    uint64_t f = 0;
    for (uint64_t l = 0; l < listed_count; ++l) {
        if (l > 0 && same(listed[l], listed[l - 1])) {
            note(&check->extra, &check->first_extra, listed[l]);
            continue;
        }
        for (; f < found_count && psvi_key_of(found[f]) < psvi_key_of(listed[l]); ++f)
            note(&check->missing, &check->first_missing, found[f]);
        if (f < found_count && same(found[f], listed[l]))
            ++f;
        else
            note(&check->extra, &check->first_extra, listed[l]);
    }
    for (; f < found_count; ++f)
        note(&check->missing, &check->first_missing, found[f]);
}

static psv_status list_differences(psv_context *context, const psvi_collision_ops *ops, psvi_check_input *input,
                                   psv_pair *found, psv_pair *listed, psv_pair_check *check) {
    uint64_t counts[2];
    psv_status status = ops->check_pairs(context, input);
    if (status == PSV_OK) status = download(context, counts, &input->memory->found, sizeof counts);
    if (status == PSV_OK) status = download(context, found, input->found, counts[0] * sizeof *found);
    if (status == PSV_OK) status = download(context, listed, input->listed, counts[1] * sizeof *listed);
    if (status == PSV_OK) compare_lists(found, counts[0], listed, counts[1], check);
    return status;
}

// The samples say which of them differ.
static psv_status name_differences(psv_context *context, const psvi_collision_ops *ops, psvi_check_input *input,
                                   const psvi_check_memory *seen, psv_pair_check *check) {
    for (uint32_t s = 0; s < input->samples; ++s) {
        const psvi_sample *sample = &seen->samples[s];
        if (sample->differs == 0) continue;
        input->found_room += sample->found;
        input->listed_room += sample->listed;
    }
    const uint64_t found_bytes = (input->found_room + 1) * sizeof(psv_pair);
    const uint64_t listed_bytes = (input->listed_room + 1) * sizeof(psv_pair);
    psv_pair *found = malloc(found_bytes), *listed = malloc(listed_bytes);
    input->found = psvi_alloc(context, found_bytes);
    input->listed = psvi_alloc(context, listed_bytes);
    const bool enough = found != NULL && listed != NULL && input->found != NULL && input->listed != NULL;
    psv_status status = PSV_OK;
    if (!enough)
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory to name what %llu pairs have and %llu do not",
                           (unsigned long long)input->found_room, (unsigned long long)input->listed_room);
    if (status == PSV_OK) status = context->ops->copy(context, input->memory, seen, sizeof *seen, PSVI_COPY_UPLOAD);
    if (status == PSV_OK) status = list_differences(context, ops, input, found, listed, check);
    psvi_free(context, input->found, found_bytes);
    psvi_free(context, input->listed, listed_bytes);
    free(found);
    free(listed);
    return status;
}

// --- the check -------------------------------------------------------------------------------------------------------

// Sums up the samples. True: some differ.
static bool sum_up(const psvi_check_input *input, psvi_check_memory *seen, psv_pair_check *check) {
    bool some = false;
    for (uint32_t s = 0; s < input->samples; ++s) {
        psvi_sample *sample = &seen->samples[s];
        if (sample->kind == PSVI_SAMPLE_UNKNOWN) continue;
        ++check->boxes;
        check->pairs += sample->found;
        sample->differs = sample->found != sample->listed || sample->found_sum != sample->listed_sum;
        some = some || sample->differs != 0;
    }
    return some;
}

static psv_status compare_samples(psv_context *context, const psvi_collision_ops *ops, psvi_check_input *input,
                                  psv_pair_check *check) {
    psvi_check_memory *seen = malloc(sizeof *seen);
    if (seen == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory to check pairs (%zu bytes)", sizeof *seen);
    psv_status status = ops->check_pairs(context, input);
    if (status == PSV_OK) status = download(context, seen, input->memory, sizeof *seen);
    if (status == PSV_OK && sum_up(input, seen, check)) status = name_differences(context, ops, input, seen, check);
    free(seen);
    return status;
}

static psv_status check_on_host(psv_context *context, const psv_box_set *a, const psv_box_set *b,
                                const psvi_check_input *input, psv_pair_check *check) {
    psvi_host_check host;
    psv_status status = psvi_open_host_check(context, a, b, input, &host);
    if (status == PSV_OK)
        status = compare_samples(host.cpu, psvi_collision_ops_of(PSV_BACKEND_CPU), &host.input, check);
    if (status != PSV_OK && host.status == PSV_OK) (void)psvi_fail(context, status, "%s", psv_last_error(host.cpu));
    psvi_close_host_check(&host);
    return status;
}

psv_status psv_check_pairs(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b, uint32_t samples,
                           psv_pair_check *check) {
    psv_status status = psvi_check_frame(finder);
    if (status != PSV_OK) return status;
    status = check_arguments(finder, samples, check);
    if (status != PSV_OK) return status;
    *check = (psv_pair_check){0};
    psv_context *context = finder->context;
    psvi_frame frame = {0};
    psvi_frame_result result;
    status = b == NULL ? psvi_view_set(finder, a, &frame) : psvi_view_sets(finder, a, b, &frame);
    if (status == PSV_OK) status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK) return status;
    if (result.pair_count > finder->memory.capacity) return psvi_report_overflow(finder, result.pair_count);
    psvi_check_input input = {
        .a = frame.given.a,
        .b = frame.given.b,
        .rules = psvi_rules_of(finder, &frame, PSVI_RULES_ALL),
        .world_count = finder->def.world_count,
        .samples = samples,
        .seed = psvi_mix_bits(finder->checks++),
        .pairs = finder->memory.pairs,
        .pair_count = &finder->result->pair_count,
        .capacity = finder->memory.capacity,
        .memory = finder->check,
    };
    PSVI_STANDARD_FLOATS(context);
    const double begin = psvi_seconds_now();
    status = finder->ops->check_pairs != NULL ? compare_samples(context, finder->ops, &input, check)
                                              : check_on_host(context, a, b, &input, check);
    check->ms = 1e3 * (psvi_seconds_now() - begin);
    return status;
}
