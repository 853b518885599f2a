// Batches of commands, from recording to completion, and time marks.
#include <stdlib.h>
#include <string.h>

#include "vulkan_backend.h"

static void barrier(const psvi_vk *vk, const psvi_vk_batch *batch, VkPipelineStageFlags before, VkAccessFlags written,
                    VkPipelineStageFlags after, VkAccessFlags used) {
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used};
    vk->f.CmdPipelineBarrier(batch->commands, before, after, 0, 1, &memory, 0, NULL, 0, NULL);
}

// Stages that the batch uses, and what they do with memory.
static const struct {
    VkPipelineStageFlags stage;
    VkAccessFlags writes, uses;
} stages[PSVI_VK_STAGES] = {
    {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
    {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
    {VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, VK_ACCESS_INDIRECT_COMMAND_READ_BIT},
};

// A stage waits for those that ran since it waited last: kernels do not wait for copies again that an earlier kernel
// waited for.
void psvi_vk_order(psvi_vk *vk, psvi_vk_batch *batch, uint32_t users) {
    uint32_t ran = 0;
    VkPipelineStageFlags before = 0, after = 0;
    VkAccessFlags written = 0, used = 0;
    for (uint32_t s = 0; s < PSVI_VK_STAGES; ++s) {
        if ((users >> s & 1u) == 0) continue;
        ran |= batch->ran[s];
        batch->ran[s] = 0;
        after |= stages[s].stage;
        used |= stages[s].uses;
    }
    for (uint32_t s = 0; s < PSVI_VK_STAGES; ++s) {
        batch->ran[s] |= users;
        if ((ran >> s & 1u) == 0) continue;
        before |= stages[s].stage;
        written |= stages[s].writes;
    }
    if (ran != 0) barrier(vk, batch, before, written, after, used);
}

void psvi_vk_order_all(psvi_vk *vk, psvi_vk_batch *batch) {
    memset(batch->ran, 0, sizeof batch->ran); // nothing has to be waited for again
    barrier(vk, batch, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

static psvi_vk_batch *batch_of(psvi_vk *vk, uint64_t number) { return &vk->batches[number % PSVI_VK_BATCHES]; }

static psv_status make_sets(psv_context *context, psvi_vk_batch *batch) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, PSVI_GPU_BLOCKS * PSVI_VK_BATCH_RUNS},
                                           {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, PSVI_VK_BATCH_RUNS}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = PSVI_VK_BATCH_RUNS,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VkDescriptorSetLayout layouts[PSVI_VK_BATCH_RUNS];
    for (uint32_t i = 0; i < PSVI_VK_BATCH_RUNS; ++i)
        layouts[i] = vk->set_layout;
    VkResult result = vk->f.CreateDescriptorPool(vk->device, &pool, NULL, &batch->descriptors);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkCreateDescriptorPool");
    const VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = batch->descriptors,
                                              .descriptorSetCount = PSVI_VK_BATCH_RUNS,
                                              .pSetLayouts = layouts};
    result = vk->f.AllocateDescriptorSets(vk->device, &sets, batch->sets);
    return result == VK_SUCCESS ? PSV_OK : psvi_vk_status(context, result, "vkAllocateDescriptorSets");
}

psv_status psvi_vk_make_runs(psv_context *context, psvi_vk_batch *batch) {
    const uint64_t bytes = (uint64_t)PSVI_VK_WORD_BYTES * PSVI_VK_BATCH_RUNS;
    if (!psvi_vk_make_buffer(psvi_vk_of(context), bytes, true, &batch->words))
        return psvi_fail(context, PSV_ERROR_MEMORY, "no Vulkan memory for the words of kernels (%llu bytes)",
                         (unsigned long long)bytes);
    return make_sets(context, batch);
}

void psvi_vk_drop_runs(psvi_vk *vk, psvi_vk_batch *batch) {
    psvi_vk_drop_buffer(vk, &batch->words);
    vk->f.DestroyDescriptorPool(vk->device, batch->descriptors, NULL);
}

static psv_status make_batch(psv_context *context, psvi_vk_batch *batch) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                          .queueFamilyIndex = vk->queue_family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = vk->f.CreateCommandPool(vk->device, &pool, NULL, &batch->pool);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = batch->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    result = vk->f.AllocateCommandBuffers(vk->device, &commands, &batch->commands);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkAllocateCommandBuffers");
    result = vk->f.CreateFence(vk->device, &fence, NULL, &batch->fence);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkCreateFence");
    return psvi_vk_make_runs(context, batch);
}

psv_status psvi_vk_open_queue(psv_context *context) {
    psv_status status = PSV_OK;
    for (uint32_t b = 0; b < PSVI_VK_BATCHES && status == PSV_OK; ++b)
        status = make_batch(context, &psvi_vk_of(context)->batches[b]);
    return status;
}

void psvi_vk_close_queue(psvi_vk *vk) {
    while (vk->marks != NULL) {
        psvi_vk_marks *first = vk->marks;
        vk->marks = first->next;
        vk->f.DestroyQueryPool(vk->device, first->pool, NULL);
        free(first);
    }
    for (uint32_t b = 0; b < PSVI_VK_BATCHES; ++b) {
        psvi_vk_batch *batch = &vk->batches[b];
        psvi_vk_drop_runs(vk, batch);
        vk->f.DestroyFence(vk->device, batch->fence, NULL);
        vk->f.DestroyCommandPool(vk->device, batch->pool, NULL);
    }
}

static psv_status begin_batch(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    psvi_vk_batch *batch = batch_of(vk, vk->newest + 1);
    psv_status status = psvi_vk_wait(context, batch->number);
    if (status != PSV_OK) return status;
    VkResult result = vk->f.ResetCommandPool(vk->device, batch->pool, 0);
    if (result == VK_SUCCESS) result = vk->f.BeginCommandBuffer(batch->commands, &info);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "a command buffer");
    batch->number = ++vk->newest;
    batch->runs = 0;
    batch->for_host = false;
    batch->open = true;
    psvi_vk_order_all(vk, batch);
    return PSV_OK;
}

psv_status psvi_vk_begin(psv_context *context, psvi_vk_batch **batch) {
    psvi_vk *vk = psvi_vk_of(context);
    psv_status status = PSV_OK;
    if (vk->lost) return psvi_vk_status(context, VK_ERROR_DEVICE_LOST, "an earlier call");
    if (vk->record != NULL) return psvi_vk_record_room(context, batch);
    if (batch_of(vk, vk->newest)->open && batch_of(vk, vk->newest)->runs == PSVI_VK_BATCH_RUNS)
        status = psvi_vk_submit(context);
    if (status == PSV_OK && !batch_of(vk, vk->newest)->open) status = begin_batch(context);
    *batch = batch_of(vk, vk->newest);
    return status;
}

// The waits go with any batch: all that is submitted later comes behind them. `signals` may be empty.
static VkResult submit_batch(psvi_vk *vk, const psvi_vk_batch *batch, const psvi_vk_semaphores *signals) {
    VkPipelineStageFlags all[PSV_VULKAN_SEMAPHORES];
    for (uint32_t i = 0; i < PSV_VULKAN_SEMAPHORES; ++i)
        all[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = vk->waits.count,
                                                  .pWaitSemaphoreValues = vk->waits.values,
                                                  .signalSemaphoreValueCount = signals->count,
                                                  .pSignalSemaphoreValues = signals->values};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = vk->waits.count + signals->count > 0 ? &values : NULL,
                               .waitSemaphoreCount = vk->waits.count,
                               .pWaitSemaphores = vk->waits.handles,
                               .pWaitDstStageMask = all,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &batch->commands,
                               .signalSemaphoreCount = signals->count,
                               .pSignalSemaphores = signals->handles};
    const VkResult result = vk->f.QueueSubmit(vk->queue, 1, &info, batch->fence);
    if (result == VK_SUCCESS) vk->waits.count = 0;
    return result;
}

static psv_status submit(psv_context *context, const psvi_vk_semaphores *signals) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_batch *batch = batch_of(vk, vk->newest);
    if (!batch->open) return PSV_OK;
    batch->open = false;
    barrier(vk, batch, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | (batch->for_host ? VK_PIPELINE_STAGE_HOST_BIT : 0),
            VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | (batch->for_host ? VK_ACCESS_HOST_READ_BIT : 0));
    VkResult result = vk->f.EndCommandBuffer(batch->commands);
    if (result == VK_SUCCESS) result = vk->f.ResetFences(vk->device, 1, &batch->fence);
    if (result == VK_SUCCESS) result = submit_batch(vk, batch, signals);
    if (result != VK_SUCCESS) vk->dropped = result;
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkQueueSubmit");
    batch->pending = true;
    return PSV_OK;
}

psv_status psvi_vk_submit(psv_context *context) { return submit(context, &(psvi_vk_semaphores){.count = 0}); }

// What fails here is reported by the next call that blocks. A call without work signals too.
void psvi_vk_end_call(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_batch *batch;
    if (vk->record != NULL) {
        psvi_vk_end_recorded_call(vk);
        return;
    }
    if (vk->waits.count + vk->signals.count > 0 && psvi_vk_begin(context, &batch) != PSV_OK) return;
    if (submit(context, &vk->signals) == PSV_OK) vk->signals.count = 0;
}

static psv_status copy_semaphores(psv_context *context, const psv_vulkan_semaphore *from, uint32_t count,
                                  const char *name, psvi_vk_semaphores *to) {
    if (count > PSV_VULKAN_SEMAPHORES)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%u semaphores in %s; at most %u are taken", count, name,
                         PSV_VULKAN_SEMAPHORES);
    if (from == NULL && count > 0) return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", name);
    *to = (psvi_vk_semaphores){.count = count};
    for (uint32_t i = 0; i < count; ++i) {
        if (from[i].semaphore == NULL)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s[%u].semaphore is NULL", name, i);
        to->handles[i] = from[i].semaphore;
        to->values[i] = from[i].value;
    }
    return PSV_OK;
}

psv_status psvi_vk_set_semaphores(psv_context *context, const psv_vulkan_semaphore *waits, uint32_t wait_count,
                                  const psv_vulkan_semaphore *signals, uint32_t signal_count) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_semaphores made[2];
    psv_status status = psvi_vk_check_callers(context, "semaphores");
    if (status == PSV_OK && vk->record != NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "calls are recorded: the semaphores go with your own vkQueueSubmit");
    if (status == PSV_OK) status = copy_semaphores(context, waits, wait_count, "waits", &made[0]);
    if (status == PSV_OK) status = copy_semaphores(context, signals, signal_count, "signals", &made[1]);
    if (status != PSV_OK) return status;
    vk->waits = made[0];
    vk->signals = made[1];
    return PSV_OK;
}

// Batches up to this one are complete.
static void complete(psvi_vk *vk, uint64_t number) {
    for (uint32_t b = 0; b < PSVI_VK_BATCHES; ++b)
        if (vk->batches[b].number <= number) vk->batches[b].pending = false;
    if (vk->done < number) vk->done = number;
}

psv_status psvi_vk_wait(psv_context *context, uint64_t number) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_batch *batch = batch_of(vk, number);
    if (number <= vk->done || batch->number != number) return PSV_OK;
    psv_status status = psvi_vk_submit(context);
    if (status != PSV_OK || !batch->pending) return status;
    const VkResult result = vk->f.WaitForFences(vk->device, 1, &batch->fence, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "earlier work");
    complete(vk, number);
    return PSV_OK;
}

psv_status psvi_vk_synchronize(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    if (vk->lost) return psvi_vk_status(context, VK_ERROR_DEVICE_LOST, "an earlier call");
    if (vk->record != NULL) return psvi_vk_refuse_wait(context);
    psv_status status = psvi_vk_wait(context, vk->newest);
    if (status == PSV_OK && vk->dropped != VK_SUCCESS)
        status = psvi_vk_status(context, vk->dropped, "an earlier call (vkQueueSubmit)");
    vk->dropped = VK_SUCCESS;
    return status;
}

// --- time marks ------------------------------------------------------------------------------------------------------

static psv_status add_marks(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = PSVI_VK_MARKS};
    psvi_vk_marks *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for time marks (%zu bytes)", sizeof *made);
    const VkResult result = vk->f.CreateQueryPool(vk->device, &info, NULL, &made->pool);
    if (result != VK_SUCCESS) {
        free(made);
        return psvi_vk_status(context, result, "vkCreateQueryPool");
    }
    for (uint32_t i = 0; i < PSVI_VK_MARKS; ++i)
        made->marks[i] = (psvi_vk_mark){.pool = made->pool, .index = i};
    made->next = vk->marks;
    vk->marks = made;
    return PSV_OK;
}

static psvi_vk_mark *free_mark(psvi_vk *vk) {
    for (psvi_vk_marks *some = vk->marks; some != NULL; some = some->next)
        for (uint32_t i = 0; i < PSVI_VK_MARKS; ++i)
            if (!some->marks[i].used) return &some->marks[i];
    return NULL;
}

psv_status psvi_vk_create_mark(psv_context *context, void **event) {
    psvi_vk *vk = psvi_vk_of(context);
    psv_status status = free_mark(vk) == NULL ? add_marks(context) : PSV_OK;
    psvi_vk_mark *mark = status == PSV_OK ? free_mark(vk) : NULL;
    if (mark != NULL) mark->used = true, mark->batch = 0;
    *event = mark;
    return status;
}

void psvi_vk_destroy_mark(psv_context *context, void *event) {
    (void)context;
    ((psvi_vk_mark *)event)->used = false;
}

void psvi_vk_record_mark(psv_context *context, void *event) {
    psvi_vk *vk = psvi_vk_of(context);
    psvi_vk_mark *mark = event;
    psvi_vk_batch *batch;
    if (vk->record != NULL) mark->batch = 0; // the caller's submissions are not timed
    if (vk->record != NULL || vk->tick_mask == 0 || psvi_vk_begin(context, &batch) != PSV_OK) return;
    vk->f.CmdResetQueryPool(batch->commands, mark->pool, mark->index, 1);
    vk->f.CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, mark->pool, mark->index);
    mark->batch = batch->number;
}

bool psvi_vk_mark_done(psv_context *context, void *event) {
    psvi_vk *vk = psvi_vk_of(context);
    const psvi_vk_mark *mark = event;
    const psvi_vk_batch *batch = batch_of(vk, mark->batch);
    if (mark->batch <= vk->done || vk->lost) return true;
    if (batch->number != mark->batch || !batch->pending) return !batch->open;
    if (vk->f.GetFenceStatus(vk->device, batch->fence) != VK_SUCCESS) return false;
    complete(vk, mark->batch);
    return true;
}

static bool read_mark(psv_context *context, const psvi_vk_mark *mark, uint64_t *ticks) {
    psvi_vk *vk = psvi_vk_of(context);
    if (mark->batch == 0 || vk->lost || psvi_vk_wait(context, mark->batch) != PSV_OK) return false;
    return vk->f.GetQueryPoolResults(vk->device, mark->pool, mark->index, 1, sizeof *ticks, ticks, sizeof *ticks,
                                     VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
}

double psvi_vk_mark_ms(psv_context *context, void *begin, void *end) {
    const psvi_vk *vk = psvi_vk_of(context);
    uint64_t first = 0, last = 0;
    if (!read_mark(context, begin, &first) || !read_mark(context, end, &last)) return 0;
    return 1e-6 * vk->ns_a_tick * (double)((last - first) & vk->tick_mask);
}
