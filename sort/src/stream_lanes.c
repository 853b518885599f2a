#include "stream_lanes.h"

#include "sort_method.h"
#include "stream_ends.h"

static psvi_stream_slot *slot_of(psvi_stream *s) { return &s->lanes.slots[s->lanes.batches % s->lanes.slot_count]; }

static uint32_t width(const psvi_stream *s, int column) { return column == 0 ? s->key_bytes : s->value_bytes; }

uint32_t psvi_stream_slots(const psv_context *context) {
    return context->ops->create_stream != NULL ? PSVI_STREAM_SLOTS : 1;
}

// --- room -----------------------------------------------------------------------------------------------------------

static psv_status open_slot(psvi_stream *s, psvi_stream_slot *slot) {
    psv_context *context = s->context;
    psv_status status = psv_alloc_buffer(context, s->room * s->key_bytes, &slot->columns[0]);
    if (status == PSV_OK && s->value_bytes > 0)
        status = psv_alloc_buffer(context, s->room * s->value_bytes, &slot->columns[1]);
    if (s->lanes.up == NULL) return status;
    void **const events[] = {&slot->up, &slot->sorted, &slot->down};
    for (int e = 0; e < 3 && status == PSV_OK; ++e)
        status = context->ops->create_event(context, events[e]);
    return status;
}

static psv_status open_check(psvi_stream *s) {
    psv_context *context = s->context;
    const uint64_t bytes = 2 * sizeof *s->lanes.check;
    if (!s->in_memory || !s->def.check || psvi_sort_module_of(context->backend)->sum_pairs == NULL) return PSV_OK;
    s->lanes.check = psvi_alloc(context, bytes);
    if (s->lanes.check == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the check of a sort");
    return context->ops->fill(context, s->lanes.check, 0, bytes);
}

psv_status psvi_open_lanes(psvi_stream *s, const psv_sorter_def *def) {
    psv_context *context = s->context;
    psv_status status = psv_create_sorter(context, def, &s->lanes.sorter);
    if (status == PSV_OK && s->lanes.slot_count > 1) status = context->ops->create_stream(context, &s->lanes.up);
    if (status == PSV_OK && s->lanes.slot_count > 1) status = context->ops->create_stream(context, &s->lanes.down);
    for (uint32_t i = 0; i < s->lanes.slot_count && status == PSV_OK; ++i)
        status = open_slot(s, &s->lanes.slots[i]);
    return status == PSV_OK ? open_check(s) : status;
}

void psvi_close_lanes(psvi_stream *s) {
    psv_context *context = s->context;
    psvi_stream_lanes *lanes = &s->lanes;
    (void)psvi_drain_batches(s); // after an error copies may still be on their way
    psv_destroy_sorter(lanes->sorter);
    for (int i = 0; i < PSVI_STREAM_SLOTS; ++i) {
        psvi_stream_slot *slot = &lanes->slots[i];
        void *const events[] = {slot->up, slot->sorted, slot->down};
        psv_free_buffer(context, &slot->columns[0]);
        psv_free_buffer(context, &slot->columns[1]);
        for (int e = 0; e < 3; ++e)
            if (events[e] != NULL) context->ops->destroy_event(context, events[e]);
    }
    if (lanes->up != NULL) context->ops->destroy_stream(context, lanes->up);
    if (lanes->down != NULL) context->ops->destroy_stream(context, lanes->down);
    if (lanes->check != NULL) psvi_free(context, lanes->check, 2 * sizeof *lanes->check);
    *lanes = (psvi_stream_lanes){0};
}

// --- a batch --------------------------------------------------------------------------------------------------------

// A copy of the context's backend in a stream of ours.
static psv_status copy_beside(psvi_stream *s, void *stream, void *target, const void *source, uint64_t bytes,
                              psvi_copy_kind kind) {
    psv_context *context = s->context;
    void *own = context->stream;
    context->stream = stream;
    const psv_status status = context->ops->copy(context, target, source, bytes, kind);
    context->stream = own;
    return status;
}

// `later` goes on when `event` has happened, which lies behind all that `earlier` has so far.
static psv_status order_streams(psvi_stream *s, void *earlier, void *event, void *later) {
    psv_context *context = s->context;
    void *own = context->stream;
    context->stream = earlier;
    context->ops->record_event(context, event);
    context->stream = later;
    const psv_status status = context->ops->wait_event(context, event);
    context->stream = own;
    return status;
}

psv_status psvi_begin_batch(psvi_stream *s) {
    const bool used = s->lanes.batches >= s->lanes.slot_count;
    return s->lanes.up != NULL && used ? s->context->ops->finish_event(s->context, slot_of(s)->down) : PSV_OK;
}

psv_status psvi_batch_up(psvi_stream *s, int column, uint64_t at, const uint8_t *from, uint64_t count) {
    const uint64_t bytes = count * width(s, column);
    psv_buffer to = slot_of(s)->columns[column];
    to.offset += at * width(s, column);
    to.bytes = bytes;
    if (s->lanes.up == NULL || bytes == 0) return psv_upload(s->context, to, from, bytes);
    return copy_beside(s, s->lanes.up, psvi_buffer_address(to), from, bytes, PSVI_COPY_UPLOAD);
}

static psv_status check_batch(psvi_stream *s, int which, uint64_t count) {
    const psvi_stream_slot *slot = slot_of(s);
    if (s->lanes.check == NULL) return PSV_OK;
    return psvi_sort_module_of(s->context->backend)
        ->sum_pairs(s->context, s->order, psvi_buffer_address(slot->columns[0]),
                    s->value_bytes == 0 ? NULL : psvi_buffer_address(slot->columns[1]), s->value_bytes, count,
                    s->lanes.check + which);
}

psv_status psvi_sort_batch(psvi_stream *s, uint64_t count, bool input, bool output) {
    psvi_stream_slot *slot = slot_of(s);
    const bool beside = s->lanes.up != NULL;
    psv_status status = beside ? order_streams(s, s->lanes.up, slot->up, s->context->stream) : PSV_OK;
    if (status == PSV_OK && input) status = check_batch(s, 0, count);
    if (status == PSV_OK)
        status = s->value_bytes > 0 ? psv_sort_pairs(s->lanes.sorter, slot->columns[0], slot->columns[1], count)
                                    : psv_sort_keys(s->lanes.sorter, slot->columns[0], count);
    if (status == PSV_OK && output) status = check_batch(s, 1, count);
    return status == PSV_OK && beside ? order_streams(s, s->context->stream, slot->sorted, s->lanes.down) : status;
}

psv_status psvi_batch_down(psvi_stream *s, int column, uint64_t at, uint8_t *to, uint64_t count) {
    const uint64_t bytes = count * width(s, column);
    psv_buffer from = slot_of(s)->columns[column];
    from.offset += at * width(s, column);
    from.bytes = bytes;
    if (s->lanes.down == NULL || bytes == 0) return psv_download(s->context, to, from, bytes);
    return copy_beside(s, s->lanes.down, to, psvi_buffer_address(from), bytes, PSVI_COPY_DOWNLOAD);
}

void psvi_end_batch(psvi_stream *s) {
    psv_context *context = s->context;
    if (s->lanes.down != NULL) {
        void *own = context->stream;
        context->stream = s->lanes.down;
        context->ops->record_event(context, slot_of(s)->down);
        context->stream = own;
    }
    ++s->lanes.batches;
}

psv_status psvi_drain_batches(psvi_stream *s) {
    psv_context *context = s->context;
    psv_status status = PSV_OK;
    void *const streams[] = {s->lanes.up, s->lanes.down}, *own = context->stream;
    for (int i = 0; i < 2; ++i) {
        if (streams[i] == NULL) continue;
        context->stream = streams[i];
        const psv_status one = context->ops->synchronize(context);
        if (status == PSV_OK) status = one;
    }
    context->stream = own;
    return status;
}

psv_status psvi_read_check(psvi_stream *s) {
    psv_context *context = s->context;
    psvi_pair_sums check[2];
    if (s->lanes.check == NULL) return PSV_OK;
    psv_status status = context->ops->copy(context, check, s->lanes.check, sizeof check, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    s->sum_in += check[0].sum;
    s->sum_out += check[1].sum;
    s->descents += check[1].descents;
    return PSV_OK;
}
