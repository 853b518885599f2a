// The Vulkan backend on a device of its own and on the caller's: buffers by name, limits, errors, a lost device. The
// caller's device is made with the validation layer where it is installed, and no message of the layer may come.
// Skips where there is no Vulkan 1.2.
#if !defined(_WIN32) // there dlsym is of windows/posix_names.h
#include <dlfcn.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/sort_inputs.h"
#include "../cases/sort_reference.h"
#include "core/vulkan/vulkan_backend.h"
#include "pairsieve/collision.h"
#include "tests/test_scale.h"

#define COUNT 20011u
#define LAYER "VK_LAYER_KHRONOS_validation"

static psv_context *own, *given; // with a device of its own; on the caller's
static psvi_vk_functions f;      // of the caller's instance and device
static psv_vulkan_device callers;
static VkDebugUtilsMessengerEXT messenger;
static uint32_t messages;
static bool expected, validated;

static VKAPI_ATTR VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                           VkDebugUtilsMessageTypeFlagsEXT types,
                                           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
    (void)severity;
    (void)types;
    (void)user;
    ++messages;
    if (!expected) fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

static bool has_layer(void) {
    const PFN_vkEnumerateInstanceLayerProperties list =
        (PFN_vkEnumerateInstanceLayerProperties)f.GetInstanceProcAddr(NULL, "vkEnumerateInstanceLayerProperties");
    uint32_t count = 64;
    VkLayerProperties layers[64];
    bool found = false;
    if (list(&count, layers) < VK_SUCCESS) return false;
    for (uint32_t i = 0; i < count; ++i)
        found |= strcmp(layers[i].layerName, LAYER) == 0;
    return found;
}

static void make_instance(void) {
    const char *const layers[] = {LAYER}, *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validated,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = validated,
                                       .ppEnabledExtensionNames = extensions};
    const VkDebugUtilsMessengerCreateInfoEXT wanted = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = hear};
    VkInstance made = NULL;
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)f.GetInstanceProcAddr(NULL, "vkCreateInstance");
    assert_int_equal(create(&info, NULL, &made), VK_SUCCESS);
    callers.instance = made;
#define FIND(name) f.name = (PFN_vk##name)f.GetInstanceProcAddr(made, "vk" #name);
    PSVI_VK_INSTANCE_FUNCTIONS(FIND)
#undef FIND
    if (!validated) return;
    const PFN_vkCreateDebugUtilsMessengerEXT listen =
        (PFN_vkCreateDebugUtilsMessengerEXT)f.GetInstanceProcAddr(made, "vkCreateDebugUtilsMessengerEXT");
    assert_int_equal(listen(made, &wanted, NULL, &messenger), VK_SUCCESS);
}

static void make_device(void) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = (void *)(uintptr_t)&timeline,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VkPhysicalDevice physical = NULL;
    VkDevice device = NULL;
    VkQueue made = NULL;
    uint32_t count = 1;
    assert_true(f.EnumeratePhysicalDevices(callers.instance, &count, &physical) >= VK_SUCCESS && count == 1);
    assert_int_equal(f.CreateDevice(physical, &info, NULL, &device), VK_SUCCESS);
#define FIND(name) f.name = (PFN_vk##name)f.GetDeviceProcAddr(device, "vk" #name);
    PSVI_VK_DEVICE_FUNCTIONS(FIND)
#undef FIND
    f.GetDeviceQueue(device, 0, 0, &made);
    callers.physical_device = physical;
    callers.device = device;
    callers.queue = made;
}

static psv_context *open_callers(void) {
    psv_context_def def = psv_default_context_def();
    psv_context *context;
    def.backend = PSV_BACKEND_VULKAN;
    def.check_buffers = true;
    def.vulkan = callers;
    if (psv_create_context(&def, &context) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
    return context;
}

#if TEST_UNDER_ASAN
// lavapipe leaks 128 bytes an instance, and its compiler now and then C++ objects. Leaks are known by the library in
// whose code memory was taken, so the driver has to stay loaded. Nothing of ours is C++ here.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libvulkan_lvp\nleak:libLLVM\nleak:libstdc++\n"; }
static void keep_driver(void) { (void)dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); }
#else
static void keep_driver(void) {}
#endif

static int open_all(void **state) {
    (void)state;
    *(void **)&f.GetInstanceProcAddr = dlsym(psvi_vk_of(own)->library, "vkGetInstanceProcAddr");
    validated = has_layer();
    make_instance();
    make_device();
    given = open_callers();
    return 0;
}

// The layer also reports what is left when the device goes.
static int close_all(void **state) {
    (void)state;
    psv_destroy_context(own);
    psv_destroy_context(given);
    f.DestroyDevice(callers.device, NULL);
    if (validated) {
        const PFN_vkDestroyDebugUtilsMessengerEXT end = (PFN_vkDestroyDebugUtilsMessengerEXT)f.GetInstanceProcAddr(
            callers.instance, "vkDestroyDebugUtilsMessengerEXT");
        end(callers.instance, messenger, NULL);
    }
    f.DestroyInstance(callers.instance, NULL);
    if (messages != 0) fprintf(stderr, "%u messages of the validation layer\n", messages);
    return messages != 0;
}

// The layer is there and is heard: a buffer of no bytes is a mistake.
static void test_layer_is_heard(void **state) {
    (void)state;
    const VkBufferCreateInfo wrong = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer = NULL;
    if (!validated) skip();
    assert_int_equal(messages, 0);
    expected = true;
    if (f.CreateBuffer(callers.device, &wrong, NULL, &buffer) == VK_SUCCESS)
        f.DestroyBuffer(callers.device, buffer, NULL);
    expected = false;
    assert_true(messages > 0);
    messages = 0;
}

// Random keys with their numbers as values, and their order by the reference.
typedef struct sort_case {
    psv_sorter_def def;
    uint32_t *host, *sorted, *numbers, *order;
} sort_case;

static sort_case begin_case(const char *method) {
    sort_case made = {.def = psv_default_sorter_def()};
    made.def.method = method;
    made.def.key_type = PSV_KEY_F32;
    made.def.max_count = COUNT;
    made.host = malloc(4 * COUNT);
    made.sorted = malloc(4 * COUNT);
    made.numbers = malloc(4 * COUNT);
    made.order = malloc(4 * COUNT);
    return made;
}

static void end_case(sort_case *some) {
    free(some->host);
    free(some->sorted);
    free(some->numbers);
    free(some->order);
}

static void send_case(psv_context *context, sort_case *some, uint64_t seed, psv_buffer keys, psv_buffer values) {
    make_keys(some->def.key_type, KEYS_UNIFORM, seed, COUNT, some->host);
    for (uint32_t i = 0; i < COUNT; ++i)
        some->numbers[i] = i;
    assert_int_equal(psv_upload(context, keys, some->host, 4 * COUNT), PSV_OK);
    assert_int_equal(psv_upload(context, values, some->numbers, 4 * COUNT), PSV_OK);
}

static void compare_case(psv_context *context, sort_case *some, psv_buffer keys, psv_buffer values) {
    assert_int_equal(psv_download(context, some->sorted, keys, 4 * COUNT), PSV_OK);
    assert_int_equal(psv_download(context, some->numbers, values, 4 * COUNT), PSV_OK);
    reference_order(&some->def, some->host, COUNT, some->order);
    assert_memory_equal(some->numbers, some->order, 4 * COUNT);
    for (uint32_t i = 0; i < COUNT; ++i)
        assert_int_equal(some->sorted[i], some->host[some->order[i]]);
}

// Sorts keys with values in these buffers and compares with the reference.
static void sort_and_compare(psv_context *context, const char *method, psv_buffer keys, psv_buffer values) {
    sort_case some = begin_case(method);
    psv_sorter *sorter;
    send_case(context, &some, 21, keys, values);
    if (psv_create_sorter(context, &some.def, &sorter) != PSV_OK) fail_msg("%s", psv_last_error(context));
    if (psv_sort_pairs(sorter, keys, values, COUNT) != PSV_OK) fail_msg("%s", psv_last_error(context));
    compare_case(context, &some, keys, values);
    psv_destroy_sorter(sorter);
    end_case(&some);
}

// Every method at odd offsets of the caller's own buffer, with its words around them left alone.
static void test_callers_buffer(void **state) {
    (void)state;
    psvi_vk_buffer raw;
    psv_buffer all;
    uint32_t around[2] = {0x12345678u, 0x9abcdef0u}, seen[2];
    const uint64_t bytes = 8 * COUNT + 64;
    assert_true(psvi_vk_make_buffer(psvi_vk_of(given), bytes, false, &raw));
    assert_int_equal(psv_name_vulkan_buffer(given, raw.handle, bytes, &all), PSV_OK);
    assert_ptr_equal(psv_vulkan_buffer(given, all), raw.handle);
    const psv_buffer keys = psv_sub_buffer(all, 4, 4 * COUNT), values = psv_sub_buffer(all, 4 * COUNT + 12, 4 * COUNT);
    const char *method;
    for (uint32_t i = 0; (method = psv_sort_method_name(PSV_BACKEND_VULKAN, i)) != NULL; ++i) {
        assert_int_equal(psv_upload(given, psv_sub_buffer(all, 0, 4), &around[0], 4), PSV_OK);
        assert_int_equal(psv_upload(given, psv_sub_buffer(all, 4 * COUNT + 8, 4), &around[1], 4), PSV_OK);
        sort_and_compare(given, method, keys, values);
        assert_int_equal(psv_download(given, &seen[0], psv_sub_buffer(all, 0, 4), 4), PSV_OK);
        assert_int_equal(psv_download(given, &seen[1], psv_sub_buffer(all, 4 * COUNT + 8, 4), 4), PSV_OK);
        assert_memory_equal(seen, around, sizeof seen);
    }
    psv_free_buffer(given, &all);
    assert_null(psv_vulkan_buffer(given, keys));
    assert_int_equal(psv_name_vulkan_buffer(given, raw.handle, bytes, &all), PSV_OK); // it is still there
    sort_and_compare(given, "radix", psv_sub_buffer(all, 4, 4 * COUNT), psv_sub_buffer(all, 4 * COUNT + 12, 4 * COUNT));
    psv_free_buffer(given, &all);
    psvi_vk_drop_buffer(psvi_vk_of(given), &raw);
}

// Transfers of any bytes at any byte, larger than what goes in one part.
static void test_transfers(void **state) {
    (void)state;
    const uint64_t bytes = ((uint64_t)65 << 20) + 7;
    psv_buffer buffer;
    char *sent = malloc(bytes), *back = calloc(1, bytes);
    for (uint64_t i = 0; i < bytes; ++i)
        sent[i] = (char)(i * 2654435761u >> 13);
    assert_int_equal(psv_alloc_buffer(given, bytes + 16, &buffer), PSV_OK);
    assert_int_equal(psv_upload(given, psv_sub_buffer(buffer, 3, bytes), sent, bytes), PSV_OK);
    assert_int_equal(psv_download(given, back, psv_sub_buffer(buffer, 3, bytes), bytes), PSV_OK);
    assert_memory_equal(sent, back, bytes);
    psv_free_buffer(given, &buffer);
    free(sent);
    free(back);
}

// Boxes in a row, each touching the next: known pairs, found by each method.
static void test_pairs_in_a_row(void **state) {
    (void)state;
    enum { BOXES = 1000 };
    psv_aabb *boxes = calloc(BOXES, sizeof *boxes);
    psv_pair *pairs = malloc(BOXES * sizeof *pairs);
    psv_buffer buffer;
    const char *method;
    for (int i = 0; i < BOXES; ++i)
        boxes[i] = (psv_aabb){{(float)i, 0, 0}, {(float)i + 1, 1, 1}};
    assert_int_equal(psv_alloc_buffer(given, BOXES * sizeof *boxes, &buffer), PSV_OK);
    assert_int_equal(psv_upload(given, buffer, boxes, BOXES * sizeof *boxes), PSV_OK);
    for (uint32_t m = 0; (method = psv_broad_phase_name(PSV_BACKEND_VULKAN, m)) != NULL; ++m) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        psv_pair_finder *finder;
        uint64_t count = 0;
        def.method = method;
        def.max_boxes = def.max_pairs = BOXES;
        def.sort_output = true;
        if (psv_create_pair_finder(given, &def, &finder) != PSV_OK) fail_msg("%s", psv_last_error(given));
        const psv_box_set set = psv_boxes_of(buffer, sizeof *boxes, BOXES);
        if (psv_find_pairs(finder, &set) != PSV_OK) fail_msg("%s", psv_last_error(given));
        assert_int_equal(psv_read_pairs(finder, pairs, BOXES, &count), PSV_OK);
        assert_int_equal(count, BOXES - 1);
        for (uint32_t i = 0; i < count; ++i)
            assert_true(pairs[i].a == i && pairs[i].b == i + 1);
        psv_destroy_pair_finder(finder);
    }
    psv_free_buffer(given, &buffer);
    free(boxes);
    free(pairs);
}

static void refuse(psv_context_def *def, psv_status status, const char *sentence) {
    psv_context *context;
    assert_int_equal(psv_create_context(def, &context), status);
    assert_null(context);
    if (strstr(psv_last_error(NULL), sentence) == NULL) fail_msg("%s", psv_last_error(NULL));
}

static void test_misuse(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    psv_context *cpu;
    psv_buffer buffer = {.bytes = 1};
    def.backend = PSV_BACKEND_VULKAN;
    def.device = 1000;
    refuse(&def, PSV_ERROR_DEVICE, "no Vulkan device 1000");
    def.vulkan = callers;
    refuse(&def, PSV_ERROR_ARGUMENT, "def.device is 1000");
    def.device = 0;
    def.vulkan.queue = NULL;
    refuse(&def, PSV_ERROR_ARGUMENT, "queue must be given");
    def.vulkan = callers;
    def.vulkan.queue_family = 77;
    refuse(&def, PSV_ERROR_ARGUMENT, "queue_family is 77");
    def.vulkan.queue_family = 0;
    def.borrow_stream = true;
    refuse(&def, PSV_ERROR_ARGUMENT, "no streams");

    assert_int_equal(psv_name_vulkan_buffer(given, NULL, 4, &buffer), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_name_vulkan_buffer(given, &buffer, 6, &buffer), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_upload(given, psv_buffer_of_gl(4000, 0, 16), &def, 16), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(given), "not memory that the vulkan backend can read"));
    assert_int_equal(psv_upload(given, psv_buffer_of(&def, 16), &def, 16), PSV_ERROR_UNSUPPORTED);
    def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    assert_int_equal(psv_create_context(&def, &cpu), PSV_OK);
    assert_int_equal(psv_name_vulkan_buffer(cpu, &def, 4, &buffer), PSV_ERROR_UNSUPPORTED);
    assert_null(psv_vulkan_buffer(cpu, buffer));
    psv_destroy_context(cpu);
}

static void test_no_memory(void **state) {
    (void)state;
    psv_buffer buffer;
    assert_int_equal(psv_alloc_buffer(given, (uint64_t)1 << 45, &buffer), PSV_ERROR_MEMORY);
    assert_int_equal(psv_alloc_buffer(given, (uint64_t)1 << 38, &buffer), PSV_ERROR_MEMORY);
    assert_int_equal(psv_alloc_buffer(given, 1 << 20, &buffer), PSV_OK);
    psv_free_buffer(given, &buffer);
}

static VkResult submit_result;
static VKAPI_ATTR VkResult VKAPI_CALL refuse_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                    VkFence fence) {
    (void)queue;
    (void)count;
    (void)infos;
    (void)fence;
    return submit_result;
}

// What the driver refuses at the end of a call is reported by the next call that blocks; a lost device stays lost.
static void test_refused_and_lost(void **state) {
    (void)state;
    psv_context *context = open_callers();
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter;
    psv_buffer keys;
    uint32_t some[4] = {4, 3, 2, 1};
    def.max_count = 4;
    assert_int_equal(psv_alloc_buffer(context, sizeof some, &keys), PSV_OK);
    assert_int_equal(psv_upload(context, keys, some, sizeof some), PSV_OK);
    assert_int_equal(psv_create_sorter(context, &def, &sorter), PSV_OK);
    const PFN_vkQueueSubmit submit = psvi_vk_of(context)->f.QueueSubmit;
    psvi_vk_of(context)->f.QueueSubmit = refuse_submit;
    submit_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    (void)psv_sort_keys(sorter, keys, 4);
    assert_int_equal(psv_synchronize(context), PSV_ERROR_MEMORY);
    assert_int_equal(psv_synchronize(context), PSV_OK); // it was said
    psvi_vk_of(context)->f.QueueSubmit = submit;
    assert_int_equal(psv_sort_keys(sorter, keys, 4), PSV_OK);
    assert_int_equal(psv_download(context, some, keys, sizeof some), PSV_OK);
    assert_true(some[0] == 1 && some[3] == 4);
    psvi_vk_of(context)->f.QueueSubmit = refuse_submit;
    submit_result = VK_ERROR_DEVICE_LOST;
    (void)psv_sort_keys(sorter, keys, 4);
    assert_int_equal(psv_synchronize(context), PSV_ERROR_DEVICE);
    assert_non_null(strstr(psv_last_error(context), "the Vulkan device was lost"));
    assert_int_equal(psv_sort_keys(sorter, keys, 4), PSV_ERROR_DEVICE);
    psv_destroy_sorter(sorter);
    psv_free_buffer(context, &keys);
    psv_destroy_context(context);
}

// Nothing is held by frames: names, marks and batches are used again.
static void test_frames_hold_nothing(void **state) {
    (void)state;
    psv_profile profile;
    uint32_t marks = 0;
    psv_buffer keys, values;
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &values), PSV_OK);
    assert_int_equal(psv_enable_profile(own, true), PSV_OK);
    for (int frame = 0; frame < 12; ++frame)
        sort_and_compare(own, "radix", keys, values);
    assert_int_equal(psv_wait_profile(own, &profile), PSV_OK);
    assert_true(profile.frame > 0 && profile.frame_ms > 0);
    const psvi_vk *vk = psvi_vk_of(own);
    const uint32_t names = vk->buffer_room;
    for (const psvi_vk_marks *m = vk->marks; m != NULL; m = m->next)
        ++marks;
    assert_true(names == 64 && marks <= 6);
    assert_int_equal(psv_enable_profile(own, false), PSV_OK);
    psv_free_buffer(own, &keys);
    psv_free_buffer(own, &values);
}

// --- the caller's command buffers and semaphores ---------------------------------------------------------------------

static uint32_t submits;
static PFN_vkQueueSubmit true_submit;
static VKAPI_ATTR VkResult VKAPI_CALL count_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence) {
    ++submits;
    return true_submit(queue, count, infos, fence);
}

// A command buffer of ours, and a record of it.
typedef struct recording {
    VkCommandPool pool;
    VkCommandBuffer commands;
    psv_vulkan_record *record;
} recording;

static recording open_recording(void) {
    recording made = {0};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    assert_int_equal(f.CreateCommandPool(callers.device, &pool, NULL, &made.pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = made.pool,
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
    assert_int_equal(f.AllocateCommandBuffers(callers.device, &one, &made.commands), VK_SUCCESS);
    assert_int_equal(psv_create_vulkan_record(given, &made.record), PSV_OK);
    return made;
}

static void close_recording(recording *some) {
    psv_destroy_vulkan_record(some->record);
    f.DestroyCommandPool(callers.device, some->pool, NULL);
}

// Counts what the context submits from here on.
static void begin_recording(recording *some) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(psv_synchronize(given), PSV_OK);
    assert_int_equal(f.ResetCommandPool(callers.device, some->pool, 0), VK_SUCCESS);
    assert_int_equal(f.BeginCommandBuffer(some->commands, &begin), VK_SUCCESS);
    submits = 0;
    true_submit = psvi_vk_of(given)->f.QueueSubmit;
    psvi_vk_of(given)->f.QueueSubmit = count_submit;
    assert_int_equal(psv_begin_vulkan_record(some->record, some->commands), PSV_OK);
}

static void end_recording(recording *some) {
    assert_int_equal(psv_end_vulkan_record(some->record), PSV_OK);
    assert_int_equal(submits, 0);
    psvi_vk_of(given)->f.QueueSubmit = true_submit;
    assert_int_equal(f.EndCommandBuffer(some->commands), VK_SUCCESS);
}

// What is read afterwards is behind it on the queue.
static void submit_recording(const recording *some) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &some->commands};
    assert_int_equal(f.QueueSubmit((VkQueue)callers.queue, 1, &info, NULL), VK_SUCCESS);
}

// Each method's sort is recorded once and runs with changed keys: ten times by `radix`, twice by others. Other sorts of
// the context lie in between.
static void test_recorded_sorts(void **state) {
    (void)state;
    psv_buffer keys, values, others[2];
    const char *method;
    recording some = open_recording();
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &values), PSV_OK);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &others[i]), PSV_OK);
    for (uint32_t i = 0; (method = psv_sort_method_name(PSV_BACKEND_VULKAN, i)) != NULL; ++i) {
        const uint64_t times = strcmp(method, "radix") == 0 ? 10 : 2;
        sort_case sort = begin_case(method);
        psv_sorter *sorter;
        if (psv_create_sorter(given, &sort.def, &sorter) != PSV_OK) fail_msg("%s", psv_last_error(given));
        begin_recording(&some);
        if (psv_sort_pairs(sorter, keys, values, COUNT) != PSV_OK) fail_msg("%s", psv_last_error(given));
        end_recording(&some);
        for (uint64_t run = 0; run < times; ++run) {
            send_case(given, &sort, 100 + run, keys, values);
            submit_recording(&some);
            compare_case(given, &sort, keys, values);
            if (run == 0) sort_and_compare(given, "radix", others[0], others[1]);
        }
        assert_int_equal(psv_synchronize(given), PSV_OK);
        psv_destroy_sorter(sorter);
        end_case(&sort);
    }
    close_recording(&some);
    psv_free_buffer(given, &keys);
    psv_free_buffer(given, &values);
    for (int i = 0; i < 2; ++i)
        psv_free_buffer(given, &others[i]);
}

// More kernels than a part of a record holds, with commands of ours between the calls: each sort gets fresh keys by our
// own copy. Recording again takes no more memory.
static void test_long_records(void **state) {
    (void)state;
    enum { SORTS = 16 };
    psv_buffer keys, values, fresh;
    recording some = open_recording();
    sort_case sort = begin_case("radix");
    psv_sorter *sorter;
    const VkBufferCopy all = {.size = 4 * COUNT};
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &values), PSV_OK);
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &fresh), PSV_OK);
    assert_int_equal(psv_create_sorter(given, &sort.def, &sorter), PSV_OK);
    for (uint64_t round = 0; round < 2; ++round) {
        uint32_t parts = 0;
        begin_recording(&some);
        for (int i = 0; i < SORTS; ++i) {
            f.CmdCopyBuffer(some.commands, psv_vulkan_buffer(given, fresh), psv_vulkan_buffer(given, keys), 1, &all);
            assert_int_equal(psv_sort_index(sorter, keys, values, COUNT, PSV_INDEX_KEYS_SORTED), PSV_OK);
        }
        for (const psvi_vk_part *part = psvi_vk_of(given)->record->first; part != NULL; part = part->next)
            ++parts;
        end_recording(&some);
        assert_int_equal(parts, 2);
        send_case(given, &sort, 7 + round, fresh, values);
        submit_recording(&some);
        compare_case(given, &sort, keys, values);
    }
    psv_destroy_sorter(sorter);
    end_case(&sort);
    close_recording(&some);
    psv_free_buffer(given, &keys);
    psv_free_buffer(given, &values);
    psv_free_buffer(given, &fresh);
}

enum { ROW = 500 };

// Boxes in a row, each touching the next, but with a gap before box `gap`.
static void send_row(psv_buffer buffer, int gap) {
    psv_aabb boxes[ROW];
    for (int i = 0; i < ROW; ++i) {
        const float x = (float)(i < gap ? i : i + 1);
        boxes[i] = (psv_aabb){{x, 0, 0}, {x + 1, 1, 1}};
    }
    assert_int_equal(psv_upload(given, buffer, boxes, sizeof boxes), PSV_OK);
}

// A frame with events is recorded once; the row's gap moves from one submission to the next.
static void test_recorded_pairs(void **state) {
    (void)state;
    psv_buffer buffer;
    const char *method;
    recording some = open_recording();
    assert_int_equal(psv_alloc_buffer(given, ROW * sizeof(psv_aabb), &buffer), PSV_OK);
    const psv_box_set set = psv_boxes_of(buffer, sizeof(psv_aabb), ROW);
    for (uint32_t m = 0; (method = psv_broad_phase_name(PSV_BACKEND_VULKAN, m)) != NULL; ++m) {
        psv_pair_finder_def def = psv_default_pair_finder_def();
        psv_pair_finder *finder;
        psv_pair_event_lists lists;
        psv_pair pairs[ROW], begin[ROW], end[ROW];
        uint64_t count, begun, ended;
        def.method = method;
        def.max_boxes = def.max_pairs = ROW;
        def.sort_output = def.events = true;
        if (psv_create_pair_finder(given, &def, &finder) != PSV_OK) fail_msg("%s", psv_last_error(given));
        begin_recording(&some);
        if (psv_find_pairs(finder, &set) != PSV_OK) fail_msg("%s", psv_last_error(given));
        if (psv_pair_events(finder, &lists) != PSV_OK) fail_msg("%s", psv_last_error(given));
        end_recording(&some);
        for (uint32_t run = 1; run <= 3; ++run) {
            const uint32_t gap = 100 * run;
            send_row(buffer, (int)gap);
            submit_recording(&some);
            assert_int_equal(psv_read_pairs(finder, pairs, ROW, &count), PSV_OK);
            assert_int_equal(count, ROW - 2);
            for (uint32_t i = 0; i < count; ++i)
                assert_true(pairs[i].a == i + (i >= gap - 1) && pairs[i].b == pairs[i].a + 1);
            assert_int_equal(psv_read_pair_events(finder, begin, ROW, &begun, end, ROW, &ended), PSV_OK);
            assert_int_equal(begun, run == 1 ? ROW - 2 : 1);
            assert_int_equal(ended, run == 1 ? 0 : 1);
            if (run > 1) assert_true(begin[0].b == gap - 100 && end[0].b == gap);
        }
        psv_destroy_pair_finder(finder);
    }
    close_recording(&some);
    psv_free_buffer(given, &buffer);
}

static void expect_refusal(psv_status status, psv_status wanted, const char *sentence) {
    assert_int_equal(status, wanted);
    if (strstr(psv_last_error(given), sentence) == NULL) fail_msg("%s", psv_last_error(given));
}

// What waits or takes memory is refused while calls are recorded, and can be done again afterwards.
static void test_refused_while_recording(void **state) {
    (void)state;
    recording some = open_recording();
    psv_sorter_def def = psv_default_sorter_def();
    psv_pair_finder_def finder_def = psv_default_pair_finder_def();
    psv_sorter *sorter, *other;
    psv_pair_finder *finder, *another;
    psv_vulkan_record *second;
    psv_buffer keys, none;
    psv_pair pairs[4];
    uint32_t words[16] = {3, 2, 1};
    uint64_t count;
    const psv_vulkan_semaphore semaphore = {some.commands, 1}; // it is not looked at
    def.max_count = finder_def.max_boxes = finder_def.max_pairs = 4;
    finder_def.grow_pairs = true;
    assert_int_equal(psv_alloc_buffer(given, 1024, &keys), PSV_OK);
    assert_int_equal(psv_create_sorter(given, &def, &sorter), PSV_OK);
    assert_int_equal(psv_create_pair_finder(given, &finder_def, &finder), PSV_OK);
    const psv_box_set set = psv_boxes_of(keys, sizeof(psv_aabb), 4);
    assert_int_equal(psv_find_pairs(finder, &set), PSV_OK);
    assert_int_equal(psv_create_vulkan_record(given, &second), PSV_OK);
    expect_refusal(psv_end_vulkan_record(second), PSV_ERROR_ARGUMENT, "has not begun");
    begin_recording(&some);
    expect_refusal(psv_begin_vulkan_record(second, some.commands), PSV_ERROR_ARGUMENT, "has not ended");
    expect_refusal(psv_synchronize(given), PSV_ERROR_UNSUPPORTED, "psv_end_vulkan_record");
    expect_refusal(psv_upload(given, keys, words, 4), PSV_ERROR_UNSUPPORTED, "has to wait");
    expect_refusal(psv_download(given, words, keys, 4), PSV_ERROR_UNSUPPORTED, "has to wait");
    expect_refusal(psv_alloc_buffer(given, 64, &none), PSV_ERROR_UNSUPPORTED, "are created before");
    expect_refusal(psv_create_sorter(given, &def, &other), PSV_ERROR_UNSUPPORTED, "are created before");
    expect_refusal(psv_create_pair_finder(given, &finder_def, &another), PSV_ERROR_UNSUPPORTED, "are created before");
    expect_refusal(psv_read_pairs(finder, pairs, 4, &count), PSV_ERROR_UNSUPPORTED, "has to wait");
    expect_refusal(psv_find_pairs(finder, &set), PSV_ERROR_UNSUPPORTED, "calls are recorded");
    expect_refusal(psv_set_vulkan_semaphores(given, NULL, 0, &semaphore, 1), PSV_ERROR_UNSUPPORTED, "your own");
    end_recording(&some);
    assert_int_equal(psv_upload(given, keys, words, 12), PSV_OK);
    assert_int_equal(psv_sort_keys(sorter, keys, 3), PSV_OK);
    assert_int_equal(psv_download(given, words, keys, 12), PSV_OK);
    assert_true(words[0] == 1 && words[1] == 2 && words[2] == 3);
    assert_int_equal(psv_begin_vulkan_record(second, NULL), PSV_ERROR_ARGUMENT);
    psv_destroy_vulkan_record(second);
    assert_int_equal(psv_create_vulkan_record(own, &second), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(own), "def.vulkan"));
    assert_int_equal(psv_set_vulkan_semaphores(own, NULL, 0, &semaphore, 1), PSV_ERROR_UNSUPPORTED);
    psv_destroy_vulkan_record(NULL);
    psv_destroy_sorter(sorter);
    psv_destroy_pair_finder(finder);
    close_recording(&some);
    psv_free_buffer(given, &keys);
}

// A sort waits for one value of the host's and signals the next; a call without work does so, too.
static void test_semaphores(void **state) {
    (void)state;
#define DEVICE_FUNCTION(name) const PFN_vk##name name = (PFN_vk##name)f.GetDeviceProcAddr(callers.device, "vk" #name)
    DEVICE_FUNCTION(CreateSemaphore);
    DEVICE_FUNCTION(DestroySemaphore);
    DEVICE_FUNCTION(SignalSemaphore);
    DEVICE_FUNCTION(WaitSemaphores);
    DEVICE_FUNCTION(GetSemaphoreCounterValue);
#undef DEVICE_FUNCTION
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore made = NULL;
    uint64_t value = 77;
    psv_buffer keys, values;
    sort_case sort = begin_case("radix");
    psv_sorter *sorter;
    assert_int_equal(CreateSemaphore(callers.device, &info, NULL, &made), VK_SUCCESS);
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(given, 4 * COUNT, &values), PSV_OK);
    assert_int_equal(psv_create_sorter(given, &sort.def, &sorter), PSV_OK);
    send_case(given, &sort, 5, keys, values);
    for (uint64_t step = 0; step < 4; step += 2) {
        const psv_vulkan_semaphore waits = {made, step + 1}, signals = {made, step + 2};
        const uint64_t last = step + 2;
        const VkSemaphoreWaitInfo for_last = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                              .semaphoreCount = 1,
                                              .pSemaphores = &made,
                                              .pValues = &last};
        const VkSemaphoreSignalInfo first = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = made, .value = step + 1};
        assert_int_equal(psv_set_vulkan_semaphores(given, &waits, 1, &signals, 1), PSV_OK);
        assert_int_equal(psv_sort_pairs(sorter, keys, values, step == 0 ? COUNT : 0), PSV_OK);
        assert_int_equal(GetSemaphoreCounterValue(callers.device, made, &value), VK_SUCCESS);
        assert_int_equal(value, step);
        assert_int_equal(SignalSemaphore(callers.device, &first), VK_SUCCESS);
        assert_int_equal(WaitSemaphores(callers.device, &for_last, UINT64_MAX), VK_SUCCESS);
    }
    compare_case(given, &sort, keys, values); // and signals nothing again: the layer would object
    const psv_vulkan_semaphore some[PSV_VULKAN_SEMAPHORES + 1] = {{made, 9}, {NULL, 9}};
    expect_refusal(psv_set_vulkan_semaphores(given, some, PSV_VULKAN_SEMAPHORES + 1, NULL, 0), PSV_ERROR_CAPACITY,
                   "9 semaphores in waits");
    expect_refusal(psv_set_vulkan_semaphores(given, NULL, 1, NULL, 0), PSV_ERROR_ARGUMENT, "waits is NULL");
    expect_refusal(psv_set_vulkan_semaphores(given, NULL, 0, some, 2), PSV_ERROR_ARGUMENT, "signals[1]");
    assert_int_equal(psv_sort_pairs(sorter, keys, values, COUNT), PSV_OK); // nothing of them is kept
    assert_int_equal(psv_synchronize(given), PSV_OK);
    assert_int_equal(GetSemaphoreCounterValue(callers.device, made, &value), VK_SUCCESS);
    assert_int_equal(value, 4);
    psv_destroy_sorter(sorter);
    end_case(&sort);
    DestroySemaphore(callers.device, made, NULL);
    psv_free_buffer(given, &keys);
    psv_free_buffer(given, &values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_is_heard),   cmocka_unit_test(test_callers_buffer),
        cmocka_unit_test(test_transfers),        cmocka_unit_test(test_pairs_in_a_row),
        cmocka_unit_test(test_misuse),           cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refused_and_lost), cmocka_unit_test(test_frames_hold_nothing),
        cmocka_unit_test(test_recorded_sorts),   cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_recorded_pairs),   cmocka_unit_test(test_refused_while_recording),
        cmocka_unit_test(test_semaphores),
    };
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_VULKAN;
    def.check_buffers = true;
    if (psv_create_context(&def, &own) != PSV_OK) {
        printf("skipped: %s\n", psv_last_error(NULL));
        return 77;
    }
    keep_driver();
    return cmocka_run_group_tests_name("vulkan", tests, open_all, close_all);
}
