// What a program that uses Vulkan has already, for the examples: a device, a buffer for keys, a command buffer.
#ifndef PAIRSIEVE_EXAMPLES_VULKAN_PROGRAM_H
#define PAIRSIEVE_EXAMPLES_VULKAN_PROGRAM_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

typedef struct vulkan_program {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue; // of family 0, which computes on usual devices
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
} vulkan_program;

static bool open_device(vulkan_program *p) {
    const VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    const VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
                                           .pQueuePriorities = (const float[]){1}};
    const VkDeviceCreateInfo made = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    uint32_t count = 1;
    if (vkCreateInstance(&info, NULL, &p->instance) != VK_SUCCESS) return false;
    if (vkEnumeratePhysicalDevices(p->instance, &count, &p->physical) < VK_SUCCESS || count == 0) return false;
    if (vkCreateDevice(p->physical, &made, NULL, &p->device) != VK_SUCCESS) return false;
    vkGetDeviceQueue(p->device, 0, 0, &p->queue);
    return true;
}

static bool make_buffer(vulkan_program *p, uint64_t bytes) {
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo room = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .memoryTypeIndex = 0};
    VkMemoryRequirements needs;
    if (vkCreateBuffer(p->device, &info, NULL, &p->buffer) != VK_SUCCESS) return false;
    vkGetBufferMemoryRequirements(p->device, p->buffer, &needs);
    room.allocationSize = needs.size;
    while ((needs.memoryTypeBits >> room.memoryTypeIndex & 1u) == 0)
        ++room.memoryTypeIndex;
    return vkAllocateMemory(p->device, &room, NULL, &p->memory) == VK_SUCCESS &&
           vkBindBufferMemory(p->device, p->buffer, p->memory, 0) == VK_SUCCESS;
}

static bool make_commands(vulkan_program *p) {
    const VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = 0};
    VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandBufferCount = 1};
    if (vkCreateCommandPool(p->device, &info, NULL, &p->pool) != VK_SUCCESS) return false;
    one.commandPool = p->pool;
    return vkAllocateCommandBuffers(p->device, &one, &p->commands) == VK_SUCCESS;
}

static void close_program(const vulkan_program *p) {
    vkDestroyCommandPool(p->device, p->pool, NULL);
    vkDestroyBuffer(p->device, p->buffer, NULL);
    vkFreeMemory(p->device, p->memory, NULL);
    vkDestroyDevice(p->device, NULL);
    vkDestroyInstance(p->instance, NULL);
}

#endif
