// Command buffers and semaphores of the caller's: what backends that have them offer.
#include <stdlib.h>

#include "context.h"

#define RECORD_COOKIE 0x70737672u // "psvr"

struct psv_vulkan_record {
    uint32_t cookie;
    psv_context *context;
    void *state; // the backend's
    bool open;
};

psv_status psvi_check_creates(psv_context *context) {
    const psv_status status = psvi_check_context(context);
    if (status != PSV_OK || context->ops->begin_record == NULL || !psvi_is_captured(context)) return status;
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                     "objects and buffers are created before calls are recorded into a command buffer");
}

psv_status psv_create_vulkan_record(psv_context *context, psv_vulkan_record **record) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (record == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "record is NULL");
    *record = NULL;
    if (context->ops->create_record == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no command buffers", context->ops->name);
    psv_vulkan_record *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a record (%zu bytes)", sizeof *made);
    status = context->ops->create_record(context, &made->state);
    if (status != PSV_OK) {
        free(made);
        return status;
    }
    made->cookie = RECORD_COOKIE;
    made->context = context;
    *record = made;
    return PSV_OK;
}

void psv_destroy_vulkan_record(psv_vulkan_record *record) {
    if (record == NULL || record->cookie != RECORD_COOKIE) return;
    record->context->ops->destroy_record(record->context, record->state);
    record->cookie = 0;
    free(record);
}

static psv_status check_record(const psv_vulkan_record *record) {
    if (record != NULL && record->cookie == RECORD_COOKIE) return PSV_OK;
    return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "record is NULL, or not a living record");
}

psv_status psv_begin_vulkan_record(psv_vulkan_record *record, void *vk_command_buffer) {
    psv_status status = check_record(record);
    if (status != PSV_OK) return status;
    psv_context *context = record->context;
    if (vk_command_buffer == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "vk_command_buffer is NULL");
    status = context->ops->begin_record(context, record->state, vk_command_buffer);
    if (status == PSV_OK) record->open = true;
    return status;
}

psv_status psv_end_vulkan_record(psv_vulkan_record *record) {
    const psv_status status = check_record(record);
    if (status != PSV_OK) return status;
    if (!record->open) return psvi_fail(record->context, PSV_ERROR_ARGUMENT, "the record has not begun");
    record->open = false;
    record->context->ops->end_record(record->context, record->state);
    return PSV_OK;
}

psv_status psv_set_vulkan_semaphores(psv_context *context, const psv_vulkan_semaphore *waits, uint32_t wait_count,
                                     const psv_vulkan_semaphore *signals, uint32_t signal_count) {
    const psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (context->ops->set_semaphores == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no semaphores", context->ops->name);
    return context->ops->set_semaphores(context, waits, wait_count, signals, signal_count);
}
