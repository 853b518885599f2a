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
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
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

#if TEST_UNDER_ASAN // lavapipe leaks 128 bytes an instance: they are known by its name, so its code has to stay
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libvulkan_lvp\n"; }
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

// Sorts keys with values in these buffers and compares with the reference.
static void sort_and_compare(psv_context *context, const char *method, psv_buffer keys, psv_buffer values) {
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter;
    def.method = method;
    def.key_type = PSV_KEY_F32;
    def.max_count = COUNT;
    uint32_t *host = malloc(4 * COUNT), *sorted = malloc(4 * COUNT), *numbers = malloc(4 * COUNT);
    uint32_t *order = malloc(4 * COUNT);
    make_keys(def.key_type, KEYS_UNIFORM, 21, COUNT, host);
    for (uint32_t i = 0; i < COUNT; ++i)
        numbers[i] = i;
    assert_int_equal(psv_upload(context, keys, host, 4 * COUNT), PSV_OK);
    assert_int_equal(psv_upload(context, values, numbers, 4 * COUNT), PSV_OK);
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) fail_msg("%s", psv_last_error(context));
    if (psv_sort_pairs(sorter, keys, values, COUNT) != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_int_equal(psv_download(context, sorted, keys, 4 * COUNT), PSV_OK);
    assert_int_equal(psv_download(context, numbers, values, 4 * COUNT), PSV_OK);
    reference_order(&def, host, COUNT, order);
    assert_memory_equal(numbers, order, 4 * COUNT);
    for (uint32_t i = 0; i < COUNT; ++i)
        assert_int_equal(sorted[i], host[order[i]]);
    psv_destroy_sorter(sorter);
    free(host);
    free(sorted);
    free(numbers);
    free(order);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_is_heard),   cmocka_unit_test(test_callers_buffer),
        cmocka_unit_test(test_transfers),        cmocka_unit_test(test_pairs_in_a_row),
        cmocka_unit_test(test_misuse),           cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refused_and_lost), cmocka_unit_test(test_frames_hold_nothing),
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
