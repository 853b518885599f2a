// The loader, and the device: one of our own, or the caller's.
#if !defined(_WIN32) // there they are of windows/posix_names.h
#include <dlfcn.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan_backend.h"

#if defined(_WIN32)
#define LOADER "vulkan-1.dll"
#else
#define LOADER "libvulkan.so.1"
#endif
#define MOST_DEVICES 32u
#define SUBGROUP_NEEDED                                                                                                \
    (VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |             \
     VK_SUBGROUP_FEATURE_SHUFFLE_BIT)

static PFN_vkVoidFunction find(const psvi_vk *vk, VkInstance instance, const char *name) {
    return vk->f.GetInstanceProcAddr(instance, name);
}

static psv_status open_loader(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    vk->library = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);
    if (vk->library != NULL) *(void **)&vk->f.GetInstanceProcAddr = dlsym(vk->library, "vkGetInstanceProcAddr");
    if (vk->f.GetInstanceProcAddr != NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_DEVICE, "no Vulkan: the loader " LOADER " was not found");
}

static psv_status create_instance(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "pairsieve", .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)find(vk, NULL, "vkCreateInstance");
    if (create == NULL) return psvi_fail(context, PSV_ERROR_DEVICE, "no Vulkan: the loader has no vkCreateInstance");
    const VkResult result = create(&info, NULL, &vk->instance);
    if (result == VK_SUCCESS) return PSV_OK;
    vk->instance = NULL;
    return psvi_vk_status(context, result, "no Vulkan 1.2 instance");
}

static psv_status find_instance_functions(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const char *missing = NULL;
#define FIND(name)                                                                                                     \
    vk->f.name = (PFN_vk##name)find(vk, vk->instance, "vk" #name);                                                     \
    if (vk->f.name == NULL && missing == NULL) missing = "vk" #name;
    PSVI_VK_INSTANCE_FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_DEVICE, "%s was not found: Vulkan 1.2 is needed", missing);
}

static psv_status find_device_functions(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const char *missing = NULL;
#define FIND(name)                                                                                                     \
    vk->f.name = (PFN_vk##name)vk->f.GetDeviceProcAddr(vk->device, "vk" #name);                                        \
    if (vk->f.name == NULL && missing == NULL) missing = "vk" #name;
    PSVI_VK_DEVICE_FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_DEVICE, "%s was not found: Vulkan 1.2 is needed", missing);
}

static psv_status choose_physical(psv_context *context, int device) {
    psvi_vk *vk = psvi_vk_of(context);
    VkPhysicalDevice found[MOST_DEVICES];
    uint32_t count = MOST_DEVICES;
    const VkResult result = vk->f.EnumeratePhysicalDevices(vk->instance, &count, found);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return psvi_vk_status(context, result, "vkEnumeratePhysicalDevices");
    if ((uint32_t)device >= count)
        return psvi_fail(context, PSV_ERROR_DEVICE, "no Vulkan device %d: the loader has %u", device, count);
    vk->physical = found[device];
    return PSV_OK;
}

// A family that computes; one that does not draw runs beside the program's drawing.
static psv_status choose_family(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    VkQueueFamilyProperties families[MOST_DEVICES];
    uint32_t count = MOST_DEVICES;
    bool chosen = false;
    vk->f.GetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    for (uint32_t i = 0; i < count; ++i) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
        if (chosen && (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0) continue;
        vk->queue_family = i;
        chosen = true;
    }
    return chosen ? PSV_OK : psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the Vulkan device has no queue that computes");
}

// No feature is enabled: with robustBufferAccess a sort of 64M pairs takes 2.4 times as long on an H100.
static psv_status create_device(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = vk->queue_family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    const VkResult result = vk->f.CreateDevice(vk->physical, &info, NULL, &vk->device);
    if (result == VK_SUCCESS) return PSV_OK;
    vk->device = NULL;
    return psvi_vk_status(context, result, "vkCreateDevice");
}

static psv_status check_limits(psv_context *context, const VkPhysicalDeviceProperties *device) {
    const VkPhysicalDeviceLimits *limits = &device->limits;
    if (device->apiVersion < VK_API_VERSION_1_2)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%.100s has Vulkan %u.%u; 1.2 is needed", device->deviceName,
                         VK_API_VERSION_MAJOR(device->apiVersion), VK_API_VERSION_MINOR(device->apiVersion));
    if (limits->maxPerStageDescriptorStorageBuffers < PSVI_GPU_BLOCKS || limits->maxComputeWorkGroupInvocations < 512 ||
        limits->maxComputeWorkGroupSize[0] < 512)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "%.100s has %u storage blocks and %u threads a group; %u and 512 are needed",
                         device->deviceName, limits->maxPerStageDescriptorStorageBuffers,
                         limits->maxComputeWorkGroupInvocations, PSVI_GPU_BLOCKS);
    return PSV_OK;
}

static bool has_extension(const psvi_vk *vk, const char *name) {
    uint32_t count = 0;
    bool found = false;
    if (vk->f.EnumerateDeviceExtensionProperties(vk->physical, NULL, &count, NULL) != VK_SUCCESS) return false;
    VkExtensionProperties *all = calloc(count + 1, sizeof *all);
    if (all != NULL && vk->f.EnumerateDeviceExtensionProperties(vk->physical, NULL, &count, all) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; ++i)
            found |= strcmp(all[i].extensionName, name) == 0;
    free(all);
    return found;
}

// Threads of a subgroup, where all groups have the same number of them: 0 otherwise.
static uint32_t subgroup_size(const psvi_vk *vk, const VkPhysicalDeviceSubgroupProperties *subgroup,
                              const VkPhysicalDeviceSubgroupSizeControlPropertiesEXT *sizes) {
    const bool votes = (subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                       (subgroup->supportedOperations & SUBGROUP_NEEDED) == SUBGROUP_NEEDED;
    if (!votes || subgroup->subgroupSize < 8 || subgroup->subgroupSize > 128) return 0;
    if (has_extension(vk, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) &&
        sizes->minSubgroupSize != sizes->maxSubgroupSize)
        return 0;
    return subgroup->subgroupSize;
}

static psv_status read_info(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
    VkPhysicalDeviceMaintenance3Properties maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                                               .pNext = &maintenance};
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                                   .pNext = &driver};
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, .pNext = &subgroup};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &floats};
    if (has_extension(vk, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) maintenance.pNext = &sizes;
    vk->f.GetPhysicalDeviceProperties2(vk->physical, &all);
    const VkPhysicalDeviceLimits *limits = &all.properties.limits;
    char identity[1024];
    (void)snprintf(context->info.name, sizeof context->info.name, "%.120s", all.properties.deviceName);
    (void)snprintf(identity, sizeof identity, "%s|%s|%s", all.properties.deviceName, driver.driverName,
                   driver.driverInfo);
    context->info.driver_hash = psvi_gpu_driver_hash(identity);
    context->info.shared_bytes_per_block = (int)limits->maxComputeSharedMemorySize;
    vk->gpu.software = all.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    vk->gpu.block_bytes = limits->maxStorageBufferRange & ~(uint64_t)255;
    vk->gpu.alignment = (uint32_t)limits->minStorageBufferOffsetAlignment;
    if (vk->gpu.alignment < 4) vk->gpu.alignment = 4;
    vk->gpu.shared_bytes = limits->maxComputeSharedMemorySize;
    vk->keeps_denormals = floats.shaderDenormPreserveFloat32 &&
                          floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    vk->keeps_nan = floats.shaderSignedZeroInfNanPreserveFloat32;
    vk->gpu.subgroup_size = subgroup_size(vk, &subgroup, &sizes);
    vk->most_bytes = maintenance.maxMemoryAllocationSize;
    vk->ns_a_tick = limits->timestampPeriod;
    vk->tells_budget = has_extension(vk, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    vk->f.GetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    return PSV_OK;
}

static psv_status read_family(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    VkQueueFamilyProperties families[MOST_DEVICES];
    uint32_t count = MOST_DEVICES;
    vk->f.GetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    if (vk->queue_family >= count || (families[vk->queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.vulkan.queue_family is %u; that family does not compute",
                         vk->queue_family);
    const uint32_t bits = families[vk->queue_family].timestampValidBits;
    vk->tick_mask = bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    return PSV_OK;
}

psv_status psvi_vk_open_device(psv_context *context, const psv_context_def *def) {
    psvi_vk *vk = psvi_vk_of(context);
    const psv_vulkan_device *given = &def->vulkan;
    VkPhysicalDeviceProperties properties;
    const bool own = given->device == NULL;
    if (!own && (given->instance == NULL || given->physical_device == NULL || given->queue == NULL))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.vulkan has a device; instance, physical_device and queue must be given with it");
    if (!own && def->device != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.device is %d; with def.vulkan its device decides",
                         def->device);
    vk->owns_device = own;
    psv_status status = open_loader(context);
    if (own && status == PSV_OK) status = create_instance(context);
    if (!own) vk->instance = given->instance;
    if (status == PSV_OK) status = find_instance_functions(context);
    if (own && status == PSV_OK) status = choose_physical(context, def->device);
    if (!own) vk->physical = given->physical_device;
    if (status != PSV_OK) return status;
    vk->f.GetPhysicalDeviceProperties(vk->physical, &properties);
    status = check_limits(context, &properties);
    if (own && status == PSV_OK) status = choose_family(context);
    if (!own) vk->queue_family = given->queue_family;
    if (status == PSV_OK) status = read_family(context);
    if (own && status == PSV_OK) status = create_device(context);
    if (!own) vk->device = given->device;
    if (status == PSV_OK) status = find_device_functions(context);
    if (status != PSV_OK) return status;
    if (own)
        vk->f.GetDeviceQueue(vk->device, vk->queue_family, 0, &vk->queue);
    else
        vk->queue = given->queue;
    return read_info(context);
}

// The loader's code stays where it is: drivers keep threads and handlers of their own.
void psvi_vk_close_device(psvi_vk *vk) {
    if (!vk->owns_device) return;
    if (vk->device != NULL && vk->f.DestroyDevice != NULL) vk->f.DestroyDevice(vk->device, NULL);
    if (vk->instance != NULL && vk->f.DestroyInstance != NULL) vk->f.DestroyInstance(vk->instance, NULL);
}
