// Creation of contexts and the memory that they hand out.
#include "context.h"

#include <stdlib.h>
#include <string.h>

psv_context_def psv_default_context_def(void) {
    psv_context_def def = {.cookie = PSVI_CONTEXT_COOKIE, .backend = PSV_BACKEND_AUTO};
#ifndef NDEBUG
    def.check_buffers = true;
#endif
    return def;
}

static psv_status check_def(const psv_context_def *def) {
    if (def == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != PSVI_CONTEXT_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def was not made by psv_default_context_def");
    if (def->device < 0)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def.device is %d; it must be 0 or more", def->device);
    if (def->worker_count < 0 || def->worker_count > 4096)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def.worker_count is %d; it must be 0 (all cores) to 4096",
                         def->worker_count);
    if ((def->allocator.allocate == NULL) != (def->allocator.release == NULL))
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def.allocator needs both functions or neither");
    if ((def->pinned_allocator.allocate == NULL) != (def->pinned_allocator.release == NULL))
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "def.pinned_allocator needs both functions or neither");
    return PSV_OK;
}

psv_status psv_create_context(const psv_context_def *def, psv_context **context) {
    if (context == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "context is NULL");
    *context = NULL;
    psv_status status = check_def(def);
    if (status != PSV_OK) return status;
    const psv_backend backend = psvi_resolve_backend(def->backend);
    const psvi_backend_ops *ops = psvi_backend_ops_of(backend);
    char names[PSVI_BACKEND_NAMES_BYTES];
    if (ops == NULL)
        return psvi_fail(NULL, PSV_ERROR_UNSUPPORTED, "backend '%s' is not in this build; accepted: %s",
                         psv_backend_name(backend), psvi_backend_names(true, names, sizeof names));
    psv_context *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(NULL, PSV_ERROR_MEMORY, "no memory for a context (%zu bytes)", sizeof *made);
    made->cookie = PSVI_CONTEXT_COOKIE;
    made->backend = backend;
    made->ops = ops;
    made->device = def->device;
    made->run_parallel = def->run_parallel;
    made->parallel_user = def->parallel_user;
    made->check_buffers = def->check_buffers;
    made->allocator = def->allocator;
    made->pinned_allocator = def->pinned_allocator;
    status = ops->open(made, def);
    if (status != PSV_OK) {
        (void)psvi_fail(NULL, status, "%s", made->error);
        free(made);
        return status;
    }
    *context = made;
    return PSV_OK;
}

void psv_destroy_context(psv_context *context) {
    if (context == NULL) return;
    if (context->owns_stream) (void)context->ops->synchronize(context);
    (void)psv_enable_profile(context, false);
    context->ops->close(context);
    context->cookie = 0;
    free(context);
}

psv_status psvi_check_context(const psv_context *context) {
    if (context == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "context is NULL");
    if (context->cookie != PSVI_CONTEXT_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "context is not a living context");
    return PSV_OK;
}

void psvi_begin_floats(psv_context *context) {
    const psvi_float_mode before = psvi_enter_float_mode();
    if (context->float_depth++ == 0) context->callers_mode = before;
}

void psvi_end_floats(psv_context *context) {
    if (--context->float_depth == 0) psvi_leave_float_mode(context->callers_mode);
}

psv_backend psv_context_backend(const psv_context *context) {
    return context == NULL ? PSV_BACKEND_AUTO : context->backend;
}

int psv_context_worker_count(const psv_context *context) { return context == NULL ? 0 : context->worker_count; }

void *psv_context_stream(const psv_context *context) { return context == NULL ? NULL : context->stream; }

psv_status psv_set_stream(psv_context *context, void *stream) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (context->ops->use_stream == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no streams", context->ops->name);
    return context->ops->use_stream(context, stream);
}

const char *psv_context_device_name(const psv_context *context) { return context == NULL ? "" : context->info.name; }

psv_device_info psv_context_device_info(const psv_context *context) {
    if (context == NULL) return (psv_device_info){0};
    const psvi_device_info *info = &context->info;
    return (psv_device_info){
        .capability = info->capability,
        .code_capability = info->code_capability,
        .multiprocessors = info->multiprocessors,
        .driver_version = info->driver_version,
        .runtime_version = info->runtime_version,
        .shared_bytes_per_block = (uint64_t)info->shared_bytes_per_block,
        .l2_bytes = (uint64_t)info->l2_bytes,
        .cooperative_launch = info->cooperative_launch,
        .cluster_launch = info->cluster_launch,
    };
}

psv_status psv_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (free_bytes == NULL || total_bytes == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", free_bytes == NULL ? "free_bytes" : "total_bytes");
    return context->ops->memory_info(context, free_bytes, total_bytes);
}

psv_status psv_synchronize(psv_context *context) {
    psv_status status = psvi_check_context(context);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}
