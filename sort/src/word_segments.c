// Keys of 8 and 16 bits: one segmented sort of their words. Keys of 128 bits: segmented sorts of the lower words and
// then of the upper ones. Both move the places of the elements in the array along. At the end keys and values are
// gathered by these places.
//
// Where offsets are wrong, the sorts of words write nothing. Then words and places are still those of the unsorted
// elements, and every array gets back what it held. The same holds for elements outside of all segments.
#include "word_segments.h"

#include <stdlib.h>

#include "../../core/carver.h"

struct psvi_word_segments {
    psv_segment_sorter *lower, *upper; // NULL where no bits of the word are compared
    psvi_word_form form;
    const psvi_word_ops *ops;
    void *words;     // one for each element
    uint32_t *index; // keys of 128 bits: places of elements
    void *spare;     // keys of 128 bits: a copy of keys or values, to gather from
};

static bool is_wide(const psv_segment_sorter_def *def) { return psv_key_type_bytes(def->key_type) == 16; }

// As psvi_word_def. Where no bits at all are compared, the lower words are, by none: to check offsets and count places.
static bool def_of_words(const psv_segment_sorter_def *def, bool upper, psv_segment_sorter_def *words) {
    const psv_sorter_def keys = {.key_type = def->key_type,
                                 .value_bytes = def->value_bytes,
                                 .begin_bit = def->begin_bit,
                                 .end_bit = def->end_bit};
    psv_sorter_def plain;
    const bool compared = psvi_word_def(&keys, upper, &plain), none = def->begin_bit == def->end_bit;
    *words = *def;
    words->descending = false;
    words->scratch = (psv_buffer){0};
    words->key_type = plain.key_type;
    words->value_bytes = plain.value_bytes;
    words->begin_bit = plain.begin_bit;
    words->end_bit = plain.end_bit;
    if (!is_wide(def) || !none) return compared;
    words->begin_bit = words->end_bit = 64;
    return !upper;
}

static uint64_t sorter_bytes(psv_backend backend, const psv_segment_sorter_def *def, bool upper) {
    psv_segment_sorter_def words;
    return def_of_words(def, upper, &words) ? psv_segment_sorter_bytes(backend, &words) : 0;
}

// Sets the parts of the memory but for the sorters', which come after them. Returns the bytes of the parts.
static uint64_t carve_arrays(struct psvi_word_segments *words, const psv_segment_sorter_def *def, char *base) {
    const uint64_t count = def->max_count;
    psvi_carver carver = {base, 0};
    words->words = psvi_carve(&carver, count * (is_wide(def) ? 8 : 4));
    words->index = psvi_carve(&carver, is_wide(def) ? count * sizeof(uint32_t) : 0);
    words->spare = psvi_carve(&carver, is_wide(def) ? count * 16 : 0);
    return carver.used;
}

uint64_t psvi_word_segments_bytes(psv_backend backend, const psv_segment_sorter_def *def) {
    struct psvi_word_segments unused;
    return carve_arrays(&unused, def, NULL) + psvi_align(sorter_bytes(backend, def, false)) +
           psvi_align(sorter_bytes(backend, def, true));
}

static psv_status create_sorter(psv_segment_sorter *sorter, bool upper, uint64_t *used, psv_segment_sorter **made) {
    psv_segment_sorter_def words;
    if (!def_of_words(&sorter->def, upper, &words)) return PSV_OK;
    const uint64_t bytes = sorter_bytes(sorter->context->backend, &sorter->def, upper);
    words.scratch = psvi_buffer_at(sorter->context, (char *)sorter->scratch + *used, bytes);
    *used += psvi_align(bytes);
    return psv_create_segment_sorter(sorter->context, &words, made);
}

psv_status psvi_create_word_segments(psv_segment_sorter *sorter) {
    psv_context *context = sorter->context;
    const psv_segment_sorter_def *def = &sorter->def;
    struct psvi_word_segments *words = calloc(1, sizeof *words);
    if (words == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a segment sorter (%zu bytes)", sizeof *words);
    sorter->words = words;
    words->form = psvi_make_word_form(def->key_type, def->descending, def->nan_policy);
    words->ops = psvi_sort_module_of(context->backend)->words;
    uint64_t used = carve_arrays(words, def, sorter->scratch);
    psv_status status = create_sorter(sorter, false, &used, &words->lower);
    if (status == PSV_OK) status = create_sorter(sorter, true, &used, &words->upper);
    if (status != PSV_OK) psvi_destroy_word_segments(sorter);
    return status;
}

void psvi_destroy_word_segments(psv_segment_sorter *sorter) {
    psv_destroy_segment_sorter(sorter->words->lower);
    psv_destroy_segment_sorter(sorter->words->upper);
    free(sorter->words);
    sorter->words = NULL;
}

psv_segment_sorter *psvi_checked_word_segments(const psv_segment_sorter *sorter) {
    return sorter->words->lower != NULL ? sorter->words->lower : sorter->words->upper; // the one that runs first
}

static bool wants_keys(const psvi_segment_request *request) {
    return !request->implicit_index || request->keep == PSV_INDEX_KEYS_SORTED;
}

static psv_status run_narrow(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    psv_context *context = sorter->context;
    const struct psvi_word_segments *words = sorter->words;
    psvi_segment_request call = *request;
    call.keys = words->words;
    if (!wants_keys(request)) call.keep = PSV_INDEX_KEYS_UNDEFINED;
    psv_status status =
        words->ops->write(context, words->form, request->keys, NULL, 1, words->words, request->count, NULL);
    if (status == PSV_OK) status = sorter->ops->run(words->upper, &call);
    if (status != PSV_OK || !wants_keys(request)) return status;
    return words->ops->read(context, words->form, words->words, request->keys, request->count, NULL);
}

// Sorts one half's words and moves the places of elements along.
static psv_status sort_half(psv_segment_sorter *sorter, const psvi_segment_request *request, bool upper) {
    const struct psvi_word_segments *words = sorter->words;
    psv_segment_sorter *half = upper ? words->upper : words->lower;
    if (half == NULL) return PSV_OK;
    psvi_segment_request call = *request;
    call.keys = words->words;
    call.values = words->index;
    call.value_bytes = 4;
    call.implicit_index = false;
    const psv_status status = words->ops->write(sorter->context, words->form, request->keys, words->index, upper,
                                                words->words, request->count, NULL);
    return status == PSV_OK ? sorter->ops->run(half, &call) : status;
}

// For an argsort the values are places within segments, which an argsort of equal words writes.
static psv_status write_places(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    const struct psvi_word_segments *words = sorter->words;
    psvi_segment_request call = *request;
    call.keys = words->words;
    call.keep = PSV_INDEX_KEYS_UNDEFINED;
    const psv_status status =
        sorter->context->ops->fill(sorter->context, words->words, 0, request->count * sizeof(uint64_t));
    return status == PSV_OK ? sorter->ops->run(psvi_checked_word_segments(sorter), &call) : status;
}

static psv_status permute(psv_segment_sorter *sorter, void *array, uint32_t bytes, uint64_t count) {
    psv_context *context = sorter->context;
    const struct psvi_word_segments *words = sorter->words;
    const psv_status status = context->ops->copy(context, words->spare, array, count * bytes, PSVI_COPY_INSIDE);
    if (status != PSV_OK) return status;
    return words->ops->gather(context, words->spare, array, bytes, words->index, count, NULL);
}

static psv_status run_wide(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    psv_context *context = sorter->context;
    const psvi_sort_request places = {.values_out = sorter->words->index, .count = request->count};
    psv_status status = psvi_sort_module_of(context->backend)->write_identity(context, &places);
    if (status == PSV_OK && request->implicit_index) status = write_places(sorter, request);
    if (status == PSV_OK) status = sort_half(sorter, request, false);
    if (status == PSV_OK) status = sort_half(sorter, request, true);
    if (status == PSV_OK && request->value_bytes != 0)
        status = permute(sorter, request->values, request->value_bytes, request->count);
    if (status == PSV_OK && wants_keys(request)) status = permute(sorter, request->keys, 16, request->count);
    return status;
}

psv_status psvi_run_word_segments(psv_segment_sorter *sorter, const psvi_segment_request *request) {
    return is_wide(&sorter->def) ? run_wide(sorter, request) : run_narrow(sorter, request);
}
