// Sorts keys in a Vulkan buffer of the program's own, on its own device and queue: nothing is copied. Ends with 77
// where there is no Vulkan 1.2.
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#include "pairsieve/sort.h"

#define COUNT 100000u
static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkBuffer keys;
static VkDeviceMemory memory;

static bool open_device(void) {
    const VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    const VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
                                           .pQueuePriorities = (const float[]){1}};
    const VkDeviceCreateInfo made = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    uint32_t count = 1;
    if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return false;
    if (vkEnumeratePhysicalDevices(instance, &count, &physical) < VK_SUCCESS || count == 0) return false;
    return vkCreateDevice(physical, &made, NULL, &device) == VK_SUCCESS; // queue family 0 computes on usual devices
}

// A buffer that the host maps.
static uint32_t *make_buffer(void) {
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4 * COUNT,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryRequirements needs;
    VkPhysicalDeviceMemoryProperties kinds;
    uint32_t kind = 0;
    void *mapped = NULL;
    if (vkCreateBuffer(device, &info, NULL, &keys) != VK_SUCCESS) return NULL;
    vkGetBufferMemoryRequirements(device, keys, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
    while ((needs.memoryTypeBits >> kind & 1u) == 0 || (kinds.memoryTypes[kind].propertyFlags & wanted) != wanted)
        ++kind; // every device has it
    const VkMemoryAllocateInfo room = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size,
                                       .memoryTypeIndex = kind};
    if (vkAllocateMemory(device, &room, NULL, &memory) != VK_SUCCESS) return NULL;
    if (vkBindBufferMemory(device, keys, memory, 0) != VK_SUCCESS) return NULL;
    return vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS ? mapped : NULL;
}

int main(void) {
    uint32_t *numbers = open_device() ? make_buffer() : NULL, descents = 0;
    psv_context_def context_def = psv_default_context_def();
    psv_sorter_def def = psv_default_sorter_def();
    psv_context *context = NULL;
    psv_sorter *sorter = NULL;
    psv_buffer buffer;
    if (numbers == NULL) return 77;
    for (uint32_t i = 0; i < COUNT; ++i)
        numbers[i] = i * 2654435761u;
    context_def.backend = PSV_BACKEND_VULKAN;
    context_def.vulkan = (psv_vulkan_device){.instance = instance, .physical_device = physical, .device = device};
    vkGetDeviceQueue(device, 0, 0, (VkQueue *)&context_def.vulkan.queue);
    def.max_count = COUNT;
    const bool sorted = psv_create_context(&context_def, &context) == PSV_OK &&
                        psv_create_sorter(context, &def, &sorter) == PSV_OK &&
                        psv_name_vulkan_buffer(context, keys, 4 * COUNT, &buffer) == PSV_OK &&
                        psv_sort_keys(sorter, buffer, COUNT) == PSV_OK && // submitted to the queue
                        psv_synchronize(context) == PSV_OK;               // or submit more work, and wait for that
    for (uint32_t i = 1; i < COUNT; ++i)
        descents += numbers[i - 1] > numbers[i];
    printf("%u keys, %u descents: %s\n", COUNT, descents, sorted ? "no error" : psv_last_error(context));
    psv_destroy_sorter(sorter);
    psv_destroy_context(context); // forgets the buffer, which is ours
    vkDestroyBuffer(device, keys, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return sorted && descents == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
