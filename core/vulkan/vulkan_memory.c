// Buffers by name, and copies.
#include <stdlib.h>
#include <string.h>

#include "vulkan_backend.h"

#define MOST_NAMES ((1u << 24) - 1)
#define MOST_STAGING ((uint64_t)64 << 20)
#define LEAST_STAGING ((uint64_t)1 << 16)
#define IN_COMMANDS 65536u // bytes that vkCmdUpdateBuffer takes

static const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                                        VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;

// The first kind of memory that the buffer allows, with all of `wanted`; -1: none.
static int memory_type(const psvi_vk *vk, uint32_t allowed, VkMemoryPropertyFlags wanted) {
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; ++i)
        if ((allowed >> i & 1u) != 0 && (vk->memory.memoryTypes[i].propertyFlags & wanted) == wanted) return (int)i;
    return -1;
}

static VkDeviceMemory take_memory(psvi_vk *vk, const VkMemoryRequirements *needs, bool host) {
    const VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags wanted[2] = {host ? coherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT
                                                  : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                             host ? coherent : 0};
    for (int i = 0; i < 2; ++i) {
        const int type = memory_type(vk, needs->memoryTypeBits, wanted[i]);
        if (type < 0) continue;
        const uint64_t heap = vk->memory.memoryHeaps[vk->memory.memoryTypes[type].heapIndex].size;
        if (needs->size > vk->most_bytes || needs->size > heap) continue;
        const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs->size,
                                           .memoryTypeIndex = (uint32_t)type};
        VkDeviceMemory memory = NULL;
        if (vk->f.AllocateMemory(vk->device, &info, NULL, &memory) == VK_SUCCESS) return memory;
    }
    return NULL;
}

bool psvi_vk_make_buffer(psvi_vk *vk, uint64_t bytes, bool host, psvi_vk_buffer *buffer) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
    VkMemoryRequirements needs;
    *buffer = (psvi_vk_buffer){.bytes = bytes};
    if (bytes > vk->most_bytes || vk->f.CreateBuffer(vk->device, &info, NULL, &buffer->handle) != VK_SUCCESS) {
        *buffer = (psvi_vk_buffer){0};
        return false;
    }
    vk->f.GetBufferMemoryRequirements(vk->device, buffer->handle, &needs);
    buffer->memory = take_memory(vk, &needs, host);
    if (buffer->memory != NULL && vk->f.BindBufferMemory(vk->device, buffer->handle, buffer->memory, 0) == VK_SUCCESS &&
        (!host || vk->f.MapMemory(vk->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->mapped) == VK_SUCCESS))
        return true;
    psvi_vk_drop_buffer(vk, buffer);
    return false;
}

// Freeing memory unmaps it. A buffer without memory is the caller's.
void psvi_vk_drop_buffer(psvi_vk *vk, psvi_vk_buffer *buffer) {
    if (buffer->handle != NULL) vk->f.DestroyBuffer(vk->device, buffer->handle, NULL);
    if (buffer->memory != NULL) vk->f.FreeMemory(vk->device, buffer->memory, NULL);
    *buffer = (psvi_vk_buffer){0};
}

const psvi_vk_buffer *psvi_vk_find_buffer(const psvi_vk *vk, uint32_t name) {
    if (name == 0 || name > vk->buffer_room || vk->buffers[name - 1].handle == NULL) return NULL;
    return &vk->buffers[name - 1];
}

uint64_t psvi_vk_buffer_bytes(psv_context *context, uint32_t name) {
    const psvi_vk_buffer *buffer = psvi_vk_find_buffer(psvi_vk_of(context), name);
    return buffer == NULL ? 0 : buffer->bytes;
}

// A name that is free; 0: none, or no memory for more.
static uint32_t free_name(psvi_vk *vk) {
    for (uint32_t i = 0; i < vk->buffer_room; ++i)
        if (vk->buffers[i].handle == NULL) return i + 1;
    const uint32_t first = vk->buffer_room + 1, room = vk->buffer_room == 0 ? 64 : 2 * vk->buffer_room;
    psvi_vk_buffer *longer = room > MOST_NAMES ? NULL : realloc(vk->buffers, room * sizeof *longer);
    if (longer == NULL) return 0;
    memset(longer + vk->buffer_room, 0, (room - vk->buffer_room) * sizeof *longer);
    vk->buffers = longer;
    vk->buffer_room = room;
    return first;
}

void *psvi_vk_alloc(psv_context *context, uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_buffer made;
    if (bytes > (uint64_t)1 << 39 || vk->lost || vk->record != NULL) return NULL;
    const uint32_t name = free_name(vk);
    if (name == 0 || !psvi_vk_make_buffer(vk, (bytes + 15) & ~(uint64_t)15, false, &made)) return NULL;
    vk->buffers[name - 1] = made;
    return (void *)((uintptr_t)name << 40);
}

// Work that was enqueued may still use the buffer.
void psvi_vk_release(psv_context *context, void *address) {
    psvi_vk *vk = psvi_vk_of(context);
    const uint32_t name = psvi_gpu_name_of(address);
    if (psvi_vk_find_buffer(vk, name) == NULL) return;
    (void)(vk->record != NULL ? psvi_vk_wait(context, vk->newest) : psvi_vk_synchronize(context));
    psvi_vk_buffer *buffer = &vk->buffers[name - 1];
    if (buffer->memory == NULL) buffer->handle = NULL;
    psvi_vk_drop_buffer(vk, buffer);
}

psv_status psvi_vk_name_buffer(psv_context *context, void *handle, uint64_t bytes, uint32_t *name) {
    psvi_vk *vk = psvi_vk_of(context);
    if (bytes == 0 || bytes % 4 != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "bytes is %llu; it must be a multiple of 4, and not 0",
                         (unsigned long long)bytes);
    *name = free_name(vk);
    if (*name == 0) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the name of a buffer");
    vk->buffers[*name - 1] = (psvi_vk_buffer){.handle = handle, .bytes = bytes};
    return PSV_OK;
}

void *psvi_vk_handle_of(psv_context *context, uint32_t name) {
    const psvi_vk_buffer *buffer = psvi_vk_find_buffer(psvi_vk_of(context), name);
    return buffer == NULL ? NULL : buffer->handle;
}

void psvi_vk_close_buffers(psvi_vk *vk) {
    psvi_vk_drop_buffer(vk, &vk->staging);
    for (uint32_t i = 0; i < vk->buffer_room; ++i)
        if (vk->buffers[i].memory != NULL) psvi_vk_drop_buffer(vk, &vk->buffers[i]);
    free(vk->buffers);
    vk->buffers = NULL;
    vk->buffer_room = 0;
}

// Enough memory that the host maps for `bytes`, or for a part of them. The last transfer has been waited for.
static psv_status make_staging(psv_context *context, uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    if (bytes > MOST_STAGING) bytes = MOST_STAGING;
    if (vk->staging.bytes >= bytes) return PSV_OK;
    uint64_t room = LEAST_STAGING;
    while (room < bytes)
        room *= 2;
    psvi_vk_drop_buffer(vk, &vk->staging);
    if (psvi_vk_make_buffer(vk, room, true, &vk->staging)) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no Vulkan memory for a transfer of %llu bytes",
                     (unsigned long long)room);
}

static psv_status copy_part(psv_context *context, VkBuffer from, uint64_t from_offset, VkBuffer to, uint64_t to_offset,
                            uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
    psvi_vk_batch *batch;
    psv_status status = psvi_vk_begin(context, &batch);
    if (status != PSV_OK) return status;
    psvi_vk_order(vk, batch, 1u << PSVI_VK_TRANSFER);
    vk->f.CmdCopyBuffer(batch->commands, from, to, 1, &region);
    batch->for_host = batch->for_host || to == vk->staging.handle;
    return PSV_OK;
}

// Through the staging buffer, part by part; each part is waited for. `host`: source or target; NULL: `byte`s.
static psv_status transfer(psv_context *context, const psvi_vk_buffer *buffer, uint64_t offset, void *target,
                           const void *source, int byte, uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    psv_status status = vk->record != NULL ? psvi_vk_refuse_wait(context) : make_staging(context, bytes);
    for (uint64_t done = 0, part; done < bytes && status == PSV_OK; done += part) {
        part = bytes - done < vk->staging.bytes ? bytes - done : vk->staging.bytes;
        if (target != NULL) {
            status = copy_part(context, buffer->handle, offset + done, vk->staging.handle, 0, part);
        } else {
            if (source != NULL)
                memcpy(vk->staging.mapped, (const char *)source + done, part);
            else
                memset(vk->staging.mapped, byte, part);
            status = copy_part(context, vk->staging.handle, 0, buffer->handle, offset + done, part);
        }
        if (status == PSV_OK) status = psvi_vk_synchronize(context);
        if (target != NULL && status == PSV_OK) memcpy((char *)target + done, vk->staging.mapped, part);
    }
    return status;
}

static psv_status find_place(psv_context *context, const void *address, uint64_t bytes, const psvi_vk_buffer **buffer) {
    *buffer = psvi_vk_find_buffer(psvi_vk_of(context), psvi_gpu_name_of(address));
    if (*buffer != NULL && psvi_gpu_offset_of(address) + bytes <= (*buffer)->bytes) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "buffer %u does not hold %llu bytes from byte %llu on",
                     psvi_gpu_name_of(address), (unsigned long long)bytes,
                     (unsigned long long)psvi_gpu_offset_of(address));
}

static psv_status upload(psv_context *context, void *target, const void *source, uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    const psvi_vk_buffer *buffer;
    const uint64_t offset = psvi_gpu_offset_of(target);
    psv_status status = find_place(context, target, bytes, &buffer);
    if (status != PSV_OK) return status;
    if (((offset | bytes) & 3) != 0 || bytes > IN_COMMANDS)
        return transfer(context, buffer, offset, NULL, source, 0, bytes);
    psvi_vk_batch *batch;
    status = psvi_vk_begin(context, &batch);
    if (status != PSV_OK) return status;
    psvi_vk_order(vk, batch, 1u << PSVI_VK_TRANSFER);
    vk->f.CmdUpdateBuffer(batch->commands, buffer->handle, offset, bytes, source);
    return PSV_OK;
}

psv_status psvi_vk_copy(psv_context *context, void *target, const void *source, uint64_t bytes, psvi_copy_kind kind) {
    const psvi_vk_buffer *from = NULL, *to = NULL;
    if (bytes == 0 || psvi_vk_of(context)->gpu.prepare_only) return PSV_OK;
    // An upload would be repeated by each submission, with the bytes of the recording.
    if (kind == PSVI_COPY_UPLOAD)
        return psvi_vk_is_recording(context) ? psvi_vk_refuse_wait(context) : upload(context, target, source, bytes);
    psv_status status = find_place(context, source, bytes, &from);
    if (status != PSV_OK) return status;
    if (kind == PSVI_COPY_DOWNLOAD) return transfer(context, from, psvi_gpu_offset_of(source), target, NULL, 0, bytes);
    status = find_place(context, target, bytes, &to);
    if (status != PSV_OK) return status;
    return copy_part(context, from->handle, psvi_gpu_offset_of(source), to->handle, psvi_gpu_offset_of(target), bytes);
}

psv_status psvi_vk_fill(psv_context *context, void *target, int byte, uint64_t bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    const psvi_vk_buffer *buffer;
    const uint64_t offset = psvi_gpu_offset_of(target);
    if (bytes == 0 || vk->gpu.prepare_only) return PSV_OK;
    psv_status status = find_place(context, target, bytes, &buffer);
    if (status != PSV_OK) return status;
    if (((offset | bytes) & 3) != 0) return transfer(context, buffer, offset, NULL, NULL, byte, bytes);
    psvi_vk_batch *batch;
    status = psvi_vk_begin(context, &batch);
    if (status != PSV_OK) return status;
    psvi_vk_order(vk, batch, 1u << PSVI_VK_TRANSFER);
    vk->f.CmdFillBuffer(batch->commands, buffer->handle, offset, bytes, (uint32_t)(byte & 255) * 0x01010101u);
    return PSV_OK;
}
