// The Vulkan backend: compute shaders on a device of its own or on the caller's.
#include "vulkan_backend.h"

#include <stdlib.h>

static const char *result_name(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "the Vulkan device was lost (VK_ERROR_DEVICE_LOST)";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    default: return "an unknown error";
    }
}

psv_status psvi_vk_status(psv_context *context, VkResult result, const char *what) {
    if (result == VK_ERROR_DEVICE_LOST) psvi_vk_of(context)->lost = true;
    const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return psvi_fail(context, memory ? PSV_ERROR_MEMORY : PSV_ERROR_DEVICE, "%s: %s (VkResult %d)", what,
                     result_name(result), (int)result);
}

// After a failure no batch is pending: what was not made is NULL, and Vulkan destroys NULL without a word.
static void close_parts(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    if (vk->device != NULL && vk->f.CmdUpdateBuffer != NULL) {
        psvi_vk_close_queue(vk);
        psvi_vk_close_buffers(vk);
        psvi_vk_close_programs(vk);
    }
    psvi_vk_close_device(vk);
    free(vk);
    context->gpu = NULL;
}

static psv_status vulkan_open(psv_context *context, const psv_context_def *def) {
    if (def->borrow_stream)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.borrow_stream is set; the Vulkan backend has no streams");
    if (def->allocator.allocate != NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.allocator is given; the Vulkan backend takes buffers of its own");
    psvi_vk *vk = calloc(1, sizeof *vk);
    if (vk == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a context (%zu bytes)", sizeof *vk);
    context->gpu = vk;
    vk->gpu.run = psvi_vk_run;
    vk->gpu.buffer_bytes = psvi_vk_buffer_bytes;
    psv_status status = psvi_vk_open_device(context, def);
    if (status == PSV_OK) status = psvi_vk_open_layouts(context);
    if (status == PSV_OK) status = psvi_vk_open_queue(context);
    context->worker_count = 1;
    if (status != PSV_OK) close_parts(context);
    return status;
}

static void vulkan_close(psv_context *context) {
    (void)psvi_vk_synchronize(context);
    close_parts(context);
}

static bool vulkan_available(void) {
    psv_context context = {.backend = PSV_BACKEND_VULKAN};
    const psv_context_def def = {.backend = PSV_BACKEND_VULKAN};
    if (vulkan_open(&context, &def) != PSV_OK) return false;
    vulkan_close(&context);
    return true;
}

// `address`: the last byte in question.
static bool vulkan_owns_address(psv_context *context, const void *address) {
    const uint64_t last_word = psvi_gpu_offset_of(address) | 3; // kernels read whole words
    return last_word < psvi_vk_buffer_bytes(context, psvi_gpu_name_of(address));
}

static psv_status vulkan_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    psvi_vk *vk = psvi_vk_of(context);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                             .pNext = &budget};
    if (!vk->tells_budget)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "this Vulkan driver does not tell its free memory");
    vk->f.GetPhysicalDeviceMemoryProperties2(vk->physical, &all);
    *free_bytes = *total_bytes = 0;
    for (uint32_t h = 0; h < all.memoryProperties.memoryHeapCount; ++h) {
        const uint64_t size = all.memoryProperties.memoryHeaps[h].size;
        if ((all.memoryProperties.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0 || size < *total_bytes)
            continue;
        *total_bytes = size;
        *free_bytes = budget.heapBudget[h] > budget.heapUsage[h] ? budget.heapBudget[h] - budget.heapUsage[h] : 0;
    }
    return PSV_OK;
}

const psvi_backend_ops psvi_vulkan_ops = {
    .name = "vulkan",
    .names_buffers = true,
    .available = vulkan_available,
    .open = vulkan_open,
    .close = vulkan_close,
    .alloc = psvi_vk_alloc,
    .release = psvi_vk_release,
    .copy = psvi_vk_copy,
    .fill = psvi_vk_fill,
    .synchronize = psvi_vk_synchronize,
    .memory_info = vulkan_memory_info,
    .owns_address = vulkan_owns_address,
    .capturing = psvi_vk_is_recording,
    .create_event = psvi_vk_create_mark,
    .destroy_event = psvi_vk_destroy_mark,
    .record_event = psvi_vk_record_mark,
    .event_done = psvi_vk_mark_done,
    .event_ms = psvi_vk_mark_ms,
    .end_call = psvi_vk_end_call,
    .name_buffer = psvi_vk_name_buffer,
    .handle_of = psvi_vk_handle_of,
    .create_record = psvi_vk_create_record,
    .destroy_record = psvi_vk_destroy_record,
    .begin_record = psvi_vk_begin_record,
    .end_record = psvi_vk_end_record,
    .set_semaphores = psvi_vk_set_semaphores,
};
