// Sorts of keys of 8, 16 and 128 bits, through sorters of the words that stand for them.
#include "word_keys.h"

#include <stdlib.h>

typedef struct words_state {
    psv_sorter *lower, *upper; // keys of 8 and 16 bits have `upper` alone; NULL where no bits of the word are compared
    psvi_word_form form;
    const psvi_word_ops *ops;
    // Parts of the scratch. `rest` is the words' sorters' own, and then holds copies of keys and values to gather from.
    void *words, *rest;
    uint32_t *index;
    uint64_t rest_bytes;
} words_state;

psv_status psvi_refuse_words(psv_context *context, psv_key_type type, const char *what) {
    if (!psvi_is_by_words(type)) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s serves keys of 32 and 64 bits, not %s", what,
                     psv_key_type_name(type));
}

static bool is_wide(const psv_sorter_def *def) { return psv_key_type_bytes(def->key_type) == 16; }

// A bit of a key of 128 bits, counted in one of its words: 0 below the word, 64 above.
static uint32_t bit_of_word(uint32_t bit, bool upper) {
    const uint32_t first = upper ? 64 : 0;
    return bit <= first ? 0 : bit - first > 64 ? 64 : bit - first;
}

bool psvi_word_def(const psv_sorter_def *def, bool upper, psv_sorter_def *words) {
    *words = *def;
    words->descending = false;
    words->scratch = (psv_buffer){0};
    if (!is_wide(def)) {
        words->key_type = PSV_KEY_U32;
        words->begin_bit = def->begin_bit + PSVI_WORD_SHIFT;
        words->end_bit = def->end_bit + PSVI_WORD_SHIFT;
        return upper;
    }
    words->key_type = PSV_KEY_U64;
    words->value_bytes = 4;
    words->begin_bit = bit_of_word(def->begin_bit, upper);
    words->end_bit = bit_of_word(def->end_bit, upper);
    return words->end_bit > words->begin_bit;
}

psv_sorter_def psvi_judged_def(const psv_sorter_def *def) {
    psv_sorter_def words = *def;
    if (psvi_is_by_words(def->key_type) && !psvi_word_def(def, true, &words)) (void)psvi_word_def(def, false, &words);
    return words;
}

// Of one sorter of words that uses the scratch; 0 where it has nothing to do.
static uint64_t word_scratch_bytes(psv_backend backend, const psv_sorter_def *def, bool upper) {
    psv_sorter_def words;
    return psvi_word_def(def, upper, &words) ? psv_sorter_scratch_bytes(backend, &words) : 0;
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t rest_bytes(psv_backend backend, const psv_sorter_def *def) {
    const uint64_t sorting = most(word_scratch_bytes(backend, def, false), word_scratch_bytes(backend, def, true));
    if (!is_wide(def)) return sorting;
    return most(sorting, def->max_count * most(psv_key_type_bytes(def->key_type), def->value_bytes));
}

static uint64_t words_bytes(const psv_sorter_def *def) { return psvi_align(def->max_count * (is_wide(def) ? 8 : 4)); }

static uint64_t index_bytes(const psv_sorter_def *def) { return is_wide(def) ? psvi_align(def->max_count * 4) : 0; }

uint64_t psvi_words_scratch_bytes(psv_backend backend, const psv_sorter_def *def) {
    return words_bytes(def) + index_bytes(def) + rest_bytes(backend, def);
}

void psvi_words_destroy(psv_sorter *sorter) {
    words_state *state = sorter->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->lower);
    psv_destroy_sorter(state->upper);
    free(state);
    sorter->state = NULL;
}

static psv_status create_sorter_of_words(psv_sorter *sorter, bool upper, psv_sorter **made) {
    const words_state *state = sorter->state;
    psv_sorter_def words;
    if (!psvi_word_def(&sorter->def, upper, &words)) return PSV_OK;
    words.scratch = psvi_buffer_at(sorter->context, state->rest, state->rest_bytes);
    return psv_create_sorter(sorter->context, &words, made);
}

psv_status psvi_words_create(psv_sorter *sorter) {
    psv_context *context = sorter->context;
    const psv_sorter_def *def = &sorter->def;
    words_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a sorter (%zu bytes)", sizeof *state);
    sorter->state = state;
    state->form = psvi_make_word_form(def->key_type, def->descending, def->nan_policy);
    state->ops = psvi_sort_module_of(context->backend)->words;
    char *scratch = sorter->scratch;
    state->words = scratch;
    state->index = (uint32_t *)(void *)(scratch + words_bytes(def));
    state->rest = scratch + words_bytes(def) + index_bytes(def);
    state->rest_bytes = rest_bytes(context->backend, def);
    psv_status status = create_sorter_of_words(sorter, false, &state->lower);
    if (status == PSV_OK) status = create_sorter_of_words(sorter, true, &state->upper);
    if (status != PSV_OK) psvi_words_destroy(sorter);
    return status;
}

static psv_status run_narrow(const words_state *state, psv_context *context, const psvi_sort_request *request) {
    psvi_sort_request words = *request;
    words.keys_in = state->words;
    words.keys_out = request->keys_out == NULL ? NULL : state->words;
    words.keep_keys_in = false;
    words.histograms = NULL;
    psv_status status = state->ops->write(context, state->form, request->keys_in, NULL, 1, state->words, request->count,
                                          request->count_device);
    if (status == PSV_OK) status = psvi_sort_run(state->upper, &words);
    if (status != PSV_OK || request->keys_out == NULL) return status;
    return state->ops->read(context, state->form, state->words, request->keys_out, request->count,
                            request->count_device);
}

// Sorts the words of one half: `index` becomes the permutation that does it, or is moved along by it.
static psv_status sort_half(const words_state *state, psv_context *context, const psvi_sort_request *request,
                            bool upper, bool first, uint32_t *index) {
    psv_status status = state->ops->write(context, state->form, request->keys_in, first ? NULL : index, upper,
                                          state->words, request->count, request->count_device);
    const psvi_sort_request half = {
        .keys_in = state->words,
        .keys_out = NULL,
        .values_in = first ? NULL : index,
        .values_out = index,
        .value_bytes = 4,
        .implicit_index = first,
        .count = request->count,
        .count_device = request->count_device,
    };
    return status != PSV_OK ? status : psvi_sort_run(upper ? state->upper : state->lower, &half);
}

// to[i] = from[index[i]], where the two may be the same array.
static psv_status permute(const words_state *state, psv_context *context, const psvi_sort_request *request,
                          const uint32_t *index, const void *from, void *to, uint32_t bytes) {
    if (from == to) {
        const psv_status status =
            context->ops->copy(context, state->rest, from, request->count * bytes, PSVI_COPY_INSIDE);
        if (status != PSV_OK) return status;
        from = state->rest;
    }
    return state->ops->gather(context, from, to, bytes, index, request->count, request->count_device);
}

static psv_status run_wide(const words_state *state, psv_context *context, const psvi_sort_request *request) {
    uint32_t *index = request->implicit_index ? request->values_out : state->index;
    const bool both = state->lower != NULL && state->upper != NULL;
    psv_status status = PSV_OK;
    if (state->lower != NULL) status = sort_half(state, context, request, false, true, index);
    if (status == PSV_OK && state->upper != NULL) status = sort_half(state, context, request, true, !both, index);
    if (status == PSV_OK && request->value_bytes != 0 && !request->implicit_index)
        status = permute(state, context, request, index, request->values_in, request->values_out, request->value_bytes);
    if (status == PSV_OK && request->keys_out != NULL)
        status = permute(state, context, request, index, request->keys_in, request->keys_out, state->form.key_bytes);
    return status;
}

psv_status psvi_words_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const words_state *state = sorter->state;
    if (is_wide(&sorter->def)) return run_wide(state, sorter->context, request);
    return run_narrow(state, sorter->context, request);
}

static psv_sorter *last_sorter(const words_state *state) { return state->upper != NULL ? state->upper : state->lower; }

// Of the words that were sorted last.
psv_status psvi_words_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    psv_sorter *last = last_sorter(sorter->state);
    return last == NULL ? PSV_OK : psv_read_sort_statistics(last, statistics);
}

const char *psvi_words_choice(const psv_sorter *sorter, uint64_t count) {
    const psv_sorter *last = last_sorter(sorter->state);
    return last == NULL ? sorter->def.method : psv_sorter_method(last, count);
}
