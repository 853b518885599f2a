// Calls that are recorded into a command buffer of the caller's. Each kernel has a descriptor set and words of its own,
// which no later call writes: the command buffer can be submitted again and again.
#include <stdlib.h>
#include <string.h>

#include "vulkan_backend.h"

bool psvi_vk_is_recording(psv_context *context) { return psvi_vk_of(context)->record != NULL; }

psv_status psvi_vk_refuse_wait(psv_context *context) {
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                     "the call has to wait for the device, and calls are recorded into a command buffer "
                     "(psv_end_vulkan_record ends that)");
}

psv_status psvi_vk_check_callers(psv_context *context, const char *what) {
    if (!psvi_vk_of(context)->owns_device) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s are of a device of yours; give it in def.vulkan", what);
}

psv_status psvi_vk_create_record(psv_context *context, void **state) {
    const psv_status status = psvi_vk_check_callers(context, "command buffers");
    if (status != PSV_OK) return status;
    *state = calloc(1, sizeof(psvi_vk_record));
    if (*state != NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a record (%zu bytes)", sizeof(psvi_vk_record));
}

void psvi_vk_destroy_record(psv_context *context, void *state) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_record *record = state;
    if (vk->record == record) vk->record = NULL;
    while (record->first != NULL) {
        psvi_vk_part *part = record->first;
        record->first = part->next;
        psvi_vk_drop_runs(vk, &part->batch);
        free(part);
    }
    free(record);
}

psv_status psvi_vk_begin_record(psv_context *context, void *state, void *commands) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_record *record = state;
    if (vk->lost) return psvi_vk_status(context, VK_ERROR_DEVICE_LOST, "an earlier call");
    if (vk->record != NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "another recording of this context has not ended");
    const psv_status status = psvi_vk_submit(context); // of earlier calls
    if (status != PSV_OK) return status;
    record->commands = commands;
    record->current = NULL;
    record->in_call = false;
    vk->record = record;
    return PSV_OK;
}

void psvi_vk_end_recorded_call(psvi_vk *vk) {
    psvi_vk_record *record = vk->record;
    if (record->in_call) psvi_vk_order_all(vk, &record->current->batch);
    record->in_call = false;
}

void psvi_vk_end_record(psv_context *context, void *state) {
    psvi_vk *vk = psvi_vk_of(context);
    (void)state;
    psvi_vk_end_recorded_call(vk);
    vk->record = NULL;
}

// The next part, of those that an earlier recording made or a new one.
static psv_status next_part(psv_context *context, psvi_vk_record *record) {
    psvi_vk_part *last = record->current, *next = last == NULL ? record->first : last->next;
    if (next == NULL) {
        next = calloc(1, sizeof *next);
        if (next == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a record (%zu bytes)", sizeof *next);
        const psv_status status = psvi_vk_make_runs(context, &next->batch);
        if (status != PSV_OK) {
            psvi_vk_drop_runs(psvi_vk_of(context), &next->batch);
            free(next);
            return status;
        }
        if (last == NULL)
            record->first = next;
        else
            last->next = next;
    }
    next->batch.commands = record->commands;
    next->batch.runs = 0;
    if (last != NULL) memcpy(next->batch.ran, last->batch.ran, sizeof next->batch.ran);
    record->current = next;
    return PSV_OK;
}

psv_status psvi_vk_record_room(psv_context *context, psvi_vk_batch **batch) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_record *record = vk->record;
    psv_status status = PSV_OK;
    if (record->current == NULL || record->current->batch.runs == PSVI_VK_BATCH_RUNS)
        status = next_part(context, record);
    if (status != PSV_OK) return status;
    *batch = &record->current->batch;
    if (!record->in_call) psvi_vk_order_all(vk, *batch);
    record->in_call = true;
    return PSV_OK;
}
