// Sorts keys in a Vulkan buffer of the program's own. The sort is recorded once into the program's command buffer,
// which the program submits again and again. Ends with 77 where there is no Vulkan 1.2.
#include <stdio.h>
#include <stdlib.h>

#include "pairsieve/sort.h"
#include "vulkan_program.h"

#define COUNT 100000u
#define FRAMES 3u

// Between the two calls of the record nothing is submitted. Commands of the program may stand before and after.
static bool record_sort(const vulkan_program *p, psv_vulkan_record *record, psv_sorter *sorter, psv_buffer keys) {
    const VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = 0};
    return vkBeginCommandBuffer(p->commands, &info) == VK_SUCCESS &&
           psv_begin_vulkan_record(record, p->commands) == PSV_OK && psv_sort_keys(sorter, keys, COUNT) == PSV_OK &&
           psv_end_vulkan_record(record) == PSV_OK && vkEndCommandBuffer(p->commands) == VK_SUCCESS;
}

// Sends other keys, submits the same commands, and reads what they sorted: all behind each other on the queue.
static bool run_frame(const vulkan_program *p, psv_context *context, psv_buffer keys, uint32_t frame,
                      uint32_t *descents) {
    static uint32_t numbers[COUNT];
    const VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &p->commands};
    for (uint32_t i = 0; i < COUNT; ++i)
        numbers[i] = (i + frame) * 2654435761u;
    const bool done = psv_upload(context, keys, numbers, 4 * COUNT) == PSV_OK &&
                      vkQueueSubmit(p->queue, 1, &info, NULL) == VK_SUCCESS &&
                      psv_download(context, numbers, keys, 4 * COUNT) == PSV_OK;
    for (uint32_t i = 1; i < COUNT; ++i)
        *descents += numbers[i - 1] > numbers[i];
    return done;
}

int main(void) {
    vulkan_program p = {0};
    psv_context_def context_def = psv_default_context_def();
    psv_sorter_def def = psv_default_sorter_def();
    psv_context *context = NULL;
    psv_sorter *sorter = NULL;
    psv_vulkan_record *record = NULL;
    psv_buffer keys;
    uint32_t descents = 0;
    if (!open_device(&p) || !make_buffer(&p, 4 * COUNT) || !make_commands(&p)) return 77;
    context_def.backend = PSV_BACKEND_VULKAN;
    context_def.vulkan = (psv_vulkan_device){p.instance, p.physical, p.device, p.queue, .queue_family = 0};
    def.max_count = COUNT;
    bool sorted =
        psv_create_context(&context_def, &context) == PSV_OK && psv_create_sorter(context, &def, &sorter) == PSV_OK &&
        psv_create_vulkan_record(context, &record) == PSV_OK &&
        psv_name_vulkan_buffer(context, p.buffer, 4 * COUNT, &keys) == PSV_OK && record_sort(&p, record, sorter, keys);
    for (uint32_t frame = 0; frame < FRAMES && sorted; ++frame)
        sorted = run_frame(&p, context, keys, frame, &descents);
    printf("%u keys, %u times, %u descents: %s\n", COUNT, FRAMES, descents,
           sorted ? "no error" : psv_last_error(context));
    psv_destroy_vulkan_record(record); // not before its commands are complete
    psv_destroy_sorter(sorter);
    psv_destroy_context(context); // forgets the buffer, which is ours
    close_program(&p);
    return sorted && descents == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
