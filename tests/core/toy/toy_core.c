// What the toy has for the core: memory and copies. They are done when the call returns, but nobody is told so.
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "toy.h"

static bool toy_available(void) { return true; }

static psv_status toy_open(psv_context *context, const psv_context_def *def) {
    (void)def;
    memcpy(context->info.name, "toy", 4);
    context->worker_count = 1;
    return PSV_OK;
}

static void toy_close(psv_context *context) { (void)context; }

static void *toy_alloc(psv_context *context, uint64_t bytes) {
    (void)context;
    char *memory = aligned_alloc(256, (size_t)psvi_align(bytes));
    return memory == NULL ? NULL : (void *)((uintptr_t)memory + TOY_FAR);
}

static void toy_release(psv_context *context, void *address) {
    (void)context;
    free(toy_host(address));
}

static psv_status toy_copy(psv_context *context, void *target, const void *source, uint64_t bytes,
                           psvi_copy_kind kind) {
    (void)context;
    memmove(kind == PSVI_COPY_DOWNLOAD ? target : toy_host(target),
            kind == PSVI_COPY_UPLOAD ? source : toy_host(source), (size_t)bytes);
    return PSV_OK;
}

static psv_status toy_fill(psv_context *context, void *target, int byte, uint64_t bytes) {
    (void)context;
    memset(toy_host(target), byte, (size_t)bytes);
    return PSV_OK;
}

static psv_status toy_synchronize(psv_context *context) {
    (void)context;
    return PSV_OK;
}

static psv_status toy_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    (void)context;
    *free_bytes = *total_bytes = (uint64_t)1 << 30;
    return PSV_OK;
}

static bool toy_owns_address(psv_context *context, const void *address) {
    (void)context;
    return (uintptr_t)address >= TOY_FAR;
}

extern const psvi_backend_ops psvi_toy_ops;
const psvi_backend_ops psvi_toy_ops = {
    .name = "toy",
    .available = toy_available,
    .open = toy_open,
    .close = toy_close,
    .alloc = toy_alloc,
    .release = toy_release,
    .copy = toy_copy,
    .fill = toy_fill,
    .synchronize = toy_synchronize,
    .memory_info = toy_memory_info,
    .owns_address = toy_owns_address,
};
