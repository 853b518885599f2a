// Buffers: naming, allocation, transfer and checks.
#include "context.h"

psv_buffer psv_buffer_of(void *address, uint64_t bytes) {
    return (psv_buffer){.address = address, .bytes = address == NULL ? 0 : bytes};
}

psv_buffer psv_buffer_of_gl(uint32_t gl_name, uint64_t offset, uint64_t bytes) {
    return (psv_buffer){.gl_name = gl_name, .offset = offset, .bytes = gl_name == 0 ? 0 : bytes};
}

psv_buffer psv_sub_buffer(psv_buffer buffer, uint64_t offset, uint64_t bytes) {
    if (offset > buffer.bytes || bytes > buffer.bytes - offset) return (psv_buffer){0};
    buffer.offset += offset;
    buffer.bytes = bytes;
    return buffer;
}

// On OpenGL and Vulkan name * 2^40 + byte stands for an address, see gpu/gpu_backend.h.
void *psvi_buffer_address(psv_buffer buffer) {
    if (buffer.gl_name == 0) return psv_buffer_address(buffer);
    return (void *)(uintptr_t)(((uint64_t)buffer.gl_name << 40) + buffer.offset);
}

psv_buffer psvi_buffer_at(const psv_context *context, const void *address, uint64_t bytes) {
    const uint64_t number = (uint64_t)(uintptr_t)address;
    if (!context->ops->names_buffers) return psv_buffer_of((void *)(uintptr_t)number, bytes);
    return psv_buffer_of_gl((uint32_t)(number >> 40), number & (((uint64_t)1 << 40) - 1), bytes);
}

void *psvi_alloc(psv_context *context, uint64_t bytes) {
    if (bytes == 0) bytes = 1;
    if (context->allocator.allocate != NULL) return context->allocator.allocate(bytes, context->allocator.user);
    return context->ops->alloc(context, bytes);
}

bool psvi_take(psv_context *context, uint64_t bytes, void **address) {
    if (bytes == 0) return true;
    *address = psvi_alloc(context, bytes);
    return *address != NULL;
}

void psvi_free(psv_context *context, void *address, uint64_t bytes) {
    if (address == NULL) return;
    if (bytes == 0) bytes = 1;
    if (context->allocator.release != NULL)
        context->allocator.release(address, bytes, context->allocator.user);
    else
        context->ops->release(context, address);
}

psv_status psvi_clear_fresh(psv_context *context, void *address, uint64_t bytes) {
    if (bytes == 0) bytes = 1;
    if (context->allocator.allocate != NULL || context->ops->clear_fresh == NULL)
        return context->ops->fill(context, address, 0, bytes);
    context->ops->clear_fresh(context, address, bytes);
    return PSV_OK;
}

psv_status psv_alloc_buffer(psv_context *context, uint64_t bytes, psv_buffer *buffer) {
    psv_status status = psvi_check_creates(context);
    if (status != PSV_OK) return status;
    if (buffer == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "buffer is NULL");
    *buffer = (psv_buffer){0};
    if (bytes == 0) return PSV_OK;
    void *address = psvi_alloc(context, bytes);
    if (address == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for a buffer of %llu bytes", context->ops->name,
                         (unsigned long long)bytes);
    *buffer = psvi_buffer_at(context, address, bytes);
    return PSV_OK;
}

void psv_free_buffer(psv_context *context, psv_buffer *buffer) {
    if (context == NULL || buffer == NULL) return;
    if (!context->ops->names_buffers)
        psvi_free(context, buffer->address, buffer->bytes);
    else if (buffer->gl_name != 0)
        psvi_free(context, psvi_buffer_address(*buffer), buffer->bytes);
    *buffer = (psv_buffer){0};
}

psv_status psv_name_vulkan_buffer(psv_context *context, void *vk_buffer, uint64_t bytes, psv_buffer *buffer) {
    uint32_t name = 0;
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (vk_buffer == NULL || buffer == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", buffer == NULL ? "buffer" : "vk_buffer");
    *buffer = (psv_buffer){0};
    if (context->ops->name_buffer == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no Vulkan buffers", context->ops->name);
    status = context->ops->name_buffer(context, vk_buffer, bytes, &name);
    if (status == PSV_OK) *buffer = psv_buffer_of_gl(name, 0, bytes);
    return status;
}

void *psv_vulkan_buffer(psv_context *context, psv_buffer buffer) {
    if (psvi_check_context(context) != PSV_OK || context->ops->handle_of == NULL) return NULL;
    return context->ops->handle_of(context, buffer.gl_name);
}

static psv_status transfer(psv_context *context, psv_buffer buffer, const void *host, const char *host_name,
                           uint64_t bytes) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK || bytes == 0) return status;
    if (host == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", host_name);
    if (buffer.bytes < bytes)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "buffer holds %llu bytes; %llu are needed",
                         (unsigned long long)buffer.bytes, (unsigned long long)bytes);
    return psvi_check_buffer(context, buffer, bytes, 1, "buffer");
}

psv_status psv_upload(psv_context *context, psv_buffer buffer, const void *source, uint64_t bytes) {
    psv_status status = transfer(context, buffer, source, "source", bytes);
    if (status != PSV_OK || bytes == 0) return status;
    status = context->ops->copy(context, psvi_buffer_address(buffer), source, bytes, PSVI_COPY_UPLOAD);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}

psv_status psv_download(psv_context *context, void *target, psv_buffer buffer, uint64_t bytes) {
    psv_status status = transfer(context, buffer, target, "target", bytes);
    if (status != PSV_OK || bytes == 0) return status;
    status = context->ops->copy(context, target, psvi_buffer_address(buffer), bytes, PSVI_COPY_DOWNLOAD);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}

// The kind of buffer that the backend takes, and that there is one.
static psv_status check_kind(psv_context *context, psv_buffer buffer, uint64_t bytes, const char *name) {
    const bool named = context->ops->names_buffers;
    if (buffer.address != NULL && named)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "%s is an address; the %s backend takes buffers of OpenGL or Vulkan", name,
                         context->ops->name);
    if (buffer.address == NULL && buffer.gl_name != 0 && !named)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "%s is a buffer of OpenGL or Vulkan; the %s backend takes addresses", name,
                         context->ops->name);
    if (buffer.gl_name >= 1u << 24)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s is buffer %u; names must be below 16777216", name,
                         buffer.gl_name);
    if (buffer.gl_name != 0 && (buffer.offset >> 40 != 0 || buffer.bytes > ((uint64_t)1 << 40) - buffer.offset))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s ends beyond 2^40 bytes of its buffer", name);
    if (buffer.address == NULL && buffer.gl_name == 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is empty; %llu bytes are needed", name,
                         (unsigned long long)bytes);
    return PSV_OK;
}

static psv_status check_buffer(psv_context *context, psv_buffer buffer, uint64_t bytes, uint32_t alignment,
                               const char *name, bool place) {
    if (bytes == 0) return PSV_OK;
    psv_status status = check_kind(context, buffer, bytes, name);
    if (status != PSV_OK) return status;
    if (buffer.bytes < bytes)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s holds %llu bytes; %llu are needed", name,
                         (unsigned long long)buffer.bytes, (unsigned long long)bytes);
    const char *address = psvi_buffer_address(buffer);
    if ((uintptr_t)address % alignment != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is not aligned to %u bytes", name, alignment);
    // A named buffer's size is known: its last byte is asked for, and beyond it the driver would do as it likes.
    const bool named = context->ops->names_buffers;
    if (named) address += bytes - 1;
    if ((place || named) && !context->ops->owns_address(context, address))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is not memory that the %s backend can read", name,
                         context->ops->name);
    return PSV_OK;
}

psv_status psvi_check_buffer(psv_context *context, psv_buffer buffer, uint64_t bytes, uint32_t alignment,
                             const char *name) {
    return check_buffer(context, buffer, bytes, alignment, name, context->check_buffers);
}

psv_status psvi_check_owned_buffer(psv_context *context, psv_buffer buffer, uint64_t bytes, uint32_t alignment,
                                   const char *name) {
    return check_buffer(context, buffer, bytes, alignment, name, true);
}
