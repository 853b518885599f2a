// Segmented sorts: the checks of defs, buffers and counts, and the way to the backend.
#include <stdlib.h>

#include "word_segments.h"

#define SEGMENT_DEF_COOKIE 0x70736764u    // "psgd"
#define SEGMENT_SORTER_COOKIE 0x70736773u // "psgs"
#define MOST_SEGMENTS (UINT32_MAX - 1u)   // their offsets are numbered by u32 too

psv_segment_sorter_def psv_default_segment_sorter_def(void) {
    return (psv_segment_sorter_def){.cookie = SEGMENT_DEF_COOKIE, .key_type = PSV_KEY_U32, .value_bytes = 4};
}

static const psvi_segment_ops *ops_of(psv_backend backend) {
    const psvi_sort_module *module = psvi_sort_module_of(backend);
    return module == NULL ? NULL : module->segments;
}

// The fields that segmented sorts share with plain ones are checked as those of a plain sorter.
static psv_status resolve_def(psv_context *context, psv_backend backend, const psv_segment_sorter_def *def,
                              psv_segment_sorter_def *resolved) {
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != SEGMENT_DEF_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_segment_sorter_def");
    if (ops_of(backend) == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend of this build has no segmented sort",
                         psv_backend_name(backend));
    if (def->max_segments == 0 || def->max_segments > MOST_SEGMENTS)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_segments is %llu; it must be 1 to %u",
                         (unsigned long long)def->max_segments, MOST_SEGMENTS);
    psv_sorter_def plain = psv_default_sorter_def(), checked;
    plain.key_type = def->key_type;
    plain.value_bytes = def->value_bytes;
    plain.max_count = def->max_count;
    plain.descending = def->descending;
    plain.nan_policy = def->nan_policy;
    plain.begin_bit = def->begin_bit;
    plain.end_bit = def->end_bit;
    const psvi_sort_method *method;
    const psv_status status = psvi_resolve_sorter_def(context, backend, &plain, &checked, &method);
    if (status != PSV_OK) return status;
    *resolved = *def;
    resolved->end_bit = checked.end_bit;
    return PSV_OK;
}

static uint64_t scratch_bytes(psv_backend backend, const psv_segment_sorter_def *def) {
    if (!psvi_is_by_words(def->key_type)) return psvi_align(ops_of(backend)->scratch_bytes(def));
    return psvi_word_segments_bytes(backend, def);
}

uint64_t psv_segment_sorter_bytes(psv_backend backend, const psv_segment_sorter_def *def) {
    backend = psvi_resolve_backend(backend);
    psv_segment_sorter_def resolved;
    if (resolve_def(NULL, backend, def, &resolved) != PSV_OK) return 0;
    return scratch_bytes(backend, &resolved) + PSVI_SCRATCH_SLACK;
}

static psv_status take_scratch(psv_segment_sorter *sorter) {
    psv_context *context = sorter->context;
    const psv_buffer given = sorter->def.scratch;
    const uint64_t bytes = sorter->scratch_bytes;
    if (given.address == NULL) {
        sorter->scratch = psvi_alloc(context, bytes);
        sorter->owns_scratch = true;
        if (sorter->scratch == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY,
                             "no %s memory for %llu bytes of scratch of a segment sorter (def.max_count is %llu)",
                             context->ops->name, (unsigned long long)bytes, (unsigned long long)sorter->def.max_count);
        return PSV_OK;
    }
    if (given.bytes < bytes + PSVI_SCRATCH_SLACK)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "def.scratch holds %llu bytes; %llu are needed",
                         (unsigned long long)given.bytes, (unsigned long long)(bytes + PSVI_SCRATCH_SLACK));
    const psv_status status = psvi_check_buffer(context, given, bytes + PSVI_SCRATCH_SLACK, 1, "def.scratch");
    if (status == PSV_OK) sorter->scratch = (void *)(uintptr_t)psvi_align((uintptr_t)psvi_buffer_address(given));
    return status;
}

static psv_status create_parts(psv_segment_sorter *sorter) {
    const psv_segment_sorter_def *def = &sorter->def;
    psv_status status = take_scratch(sorter);
    if (status != PSV_OK) return status;
    if (!psvi_is_by_words(def->key_type)) return sorter->ops->create != NULL ? sorter->ops->create(sorter) : PSV_OK;
    return psvi_create_word_segments(sorter);
}

psv_status psv_create_segment_sorter(psv_context *context, const psv_segment_sorter_def *def,
                                     psv_segment_sorter **sorter) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (sorter == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "sorter is NULL");
    *sorter = NULL;
    psv_segment_sorter_def resolved;
    status = resolve_def(context, context->backend, def, &resolved);
    if (status != PSV_OK) return status;
    psv_segment_sorter *made = calloc(1, sizeof *made);
    if (made == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a segment sorter (%zu bytes)", sizeof *made);
    made->cookie = SEGMENT_SORTER_COOKIE;
    made->context = context;
    made->def = resolved;
    made->ops = ops_of(context->backend);
    made->idle = true;
    made->order = psvi_make_key_order(resolved.key_type, resolved.descending, resolved.nan_policy, resolved.begin_bit,
                                      resolved.end_bit);
    made->scratch_bytes = scratch_bytes(context->backend, &resolved);
    status = create_parts(made);
    if (status == PSV_OK)
        *sorter = made;
    else {
        if (made->owns_scratch) psvi_free(context, made->scratch, made->scratch_bytes);
        free(made);
    }
    return status;
}

void psv_destroy_segment_sorter(psv_segment_sorter *sorter) {
    if (sorter == NULL || sorter->cookie != SEGMENT_SORTER_COOKIE) return;
    if (sorter->words != NULL)
        psvi_destroy_word_segments(sorter);
    else if (sorter->ops->destroy != NULL)
        sorter->ops->destroy(sorter);
    if (sorter->owns_scratch) psvi_free(sorter->context, sorter->scratch, sorter->scratch_bytes);
    sorter->cookie = 0;
    free(sorter);
}

static psv_status check_sorter(const psv_segment_sorter *sorter) {
    if (sorter == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is NULL");
    if (sorter->cookie != SEGMENT_SORTER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is not a living segment sorter");
    return PSV_OK;
}

static psv_status check_segments(psv_segment_sorter *sorter, uint64_t count, const psv_segments *segments) {
    psv_context *context = sorter->context;
    if (segments == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "segments is NULL");
    if (count > sorter->def.max_count)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "count is %llu; the sorter's def.max_count is %llu",
                         (unsigned long long)count, (unsigned long long)sorter->def.max_count);
    if (segments->count > sorter->def.max_segments)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "segments.count is %llu; the sorter's def.max_segments is %llu",
                         (unsigned long long)segments->count, (unsigned long long)sorter->def.max_segments);
    if (segments->count == 0) return PSV_OK;
    psv_status status = psvi_check_buffer(context, segments->offsets, (segments->count + 1) * sizeof(uint32_t),
                                          sizeof(uint32_t), "segments.offsets");
    if (status == PSV_OK && segments->device_count.address != NULL)
        status = psvi_check_buffer(context, segments->device_count, sizeof(uint64_t), sizeof(uint64_t),
                                   "segments.device_count");
    return status;
}

// Elements [a, a + a_bytes) and [b, b + b_bytes) share no byte.
static bool apart(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
    return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
}

static psv_status run(psv_segment_sorter *sorter, psv_buffer keys, psv_buffer values, const char *values_name,
                      const psv_segments *segments, psvi_segment_request *request) {
    psv_context *context = sorter->context;
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type), key_align = key_bytes < 8 ? key_bytes : 8;
    const uint64_t keys_bytes = request->count * key_bytes, values_bytes = request->count * request->value_bytes;
    psv_status status = check_segments(sorter, request->count, segments);
    if (status == PSV_OK) status = psvi_check_buffer(context, keys, keys_bytes, key_align, "keys");
    if (status == PSV_OK && request->value_bytes != 0)
        status = psvi_check_buffer(context, values, values_bytes, request->value_bytes, values_name);
    if (status != PSV_OK) return status;
    sorter->idle = segments->count == 0;
    if (sorter->idle) return PSV_OK;
    request->keys = psvi_buffer_address(keys);
    request->values = request->value_bytes == 0 ? NULL : psvi_buffer_address(values);
    request->offsets = psvi_buffer_address(segments->offsets);
    request->segments = segments->count;
    request->segments_device = psvi_buffer_address(segments->device_count);
    const uint64_t offsets_bytes = (segments->count + 1) * sizeof(uint32_t);
    if (request->value_bytes != 0 && !apart(request->keys, keys_bytes, request->values, values_bytes))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "keys and %s overlap", values_name);
    if (!apart(request->keys, keys_bytes, request->offsets, offsets_bytes) ||
        !apart(request->values, values_bytes, request->offsets, offsets_bytes))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "segments.offsets overlaps keys or %s", values_name);
    psvi_frame_begin(context);
    psvi_phase_begin(context, PSV_PHASE_SORT);
    status = sorter->words != NULL ? psvi_run_word_segments(sorter, request) : sorter->ops->run(sorter, request);
    psvi_phase_end(context, PSV_PHASE_SORT);
    psvi_frame_end(context);
    return status;
}

psv_status psv_sort_segments(psv_segment_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count,
                             const psv_segments *segments) {
    const psv_status status = check_sorter(sorter);
    if (status != PSV_OK) return status;
    psvi_segment_request request = {.value_bytes = sorter->def.value_bytes, .count = count};
    return run(sorter, keys, values, "values", segments, &request);
}

psv_status psv_sort_segments_keys(psv_segment_sorter *sorter, psv_buffer keys, uint64_t count,
                                  const psv_segments *segments) {
    const psv_status status = check_sorter(sorter);
    if (status != PSV_OK) return status;
    psvi_segment_request request = {.count = count};
    return run(sorter, keys, (psv_buffer){0}, "values", segments, &request);
}

psv_status psv_sort_segments_index(psv_segment_sorter *sorter, psv_buffer keys, psv_buffer index, uint64_t count,
                                   const psv_segments *segments, psv_index_keys keep) {
    const psv_status status = check_sorter(sorter);
    if (status != PSV_OK) return status;
    if (sorter->def.value_bytes < 4)
        return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                         "psv_sort_segments_index needs a sorter with def.value_bytes of 4 or 8; this one has %u",
                         sorter->def.value_bytes);
    if ((unsigned)keep > PSV_INDEX_KEYS_UNDEFINED)
        return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                         "keep is %d; it must be PSV_INDEX_KEYS_SORTED, _KEPT or _UNDEFINED", (int)keep);
    psvi_segment_request request = {.value_bytes = 4, .implicit_index = true, .keep = keep, .count = count};
    return run(sorter, keys, index, "index", segments, &request);
}

psv_status psvi_fail_segment(psv_segment_sorter *sorter, uint64_t segment) {
    return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                     "segment %llu: its offsets are not in order, or beyond the elements of the call; nothing was "
                     "sorted",
                     (unsigned long long)segment);
}

psv_status psv_read_segments_status(psv_segment_sorter *sorter) {
    psv_status status = check_sorter(sorter);
    uint64_t bad = UINT64_MAX;
    psv_segment_sorter *asked = status == PSV_OK && sorter->words != NULL ? psvi_checked_word_segments(sorter) : sorter;
    if (status == PSV_OK && !sorter->idle) status = sorter->ops->read_bad(asked, &bad);
    return status == PSV_OK && bad != UINT64_MAX ? psvi_fail_segment(sorter, bad) : status;
}
