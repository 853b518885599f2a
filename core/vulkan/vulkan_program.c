// Kernels: the SPIR-V of a set of defines, its pipeline, and runs.
#include <stdlib.h>
#include <string.h>

#include "vulkan_backend.h"

#define MOST_CONSTANTS 8u

psv_status psvi_vk_open_layouts(psv_context *context) {
    psvi_vk *vk = psvi_vk_of(context);
    VkDescriptorSetLayoutBinding bindings[PSVI_GPU_BLOCKS + 1];
    for (uint32_t b = 0; b <= PSVI_GPU_BLOCKS; ++b)
        bindings[b] =
            (VkDescriptorSetLayoutBinding){.binding = b,
                                           .descriptorType = b < PSVI_GPU_BLOCKS ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                                                 : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                           .descriptorCount = 1,
                                           .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = PSVI_GPU_BLOCKS + 1,
                                                 .pBindings = bindings};
    VkResult result = vk->f.CreateDescriptorSetLayout(vk->device, &set, NULL, &vk->set_layout);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, "vkCreateDescriptorSetLayout");
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &vk->set_layout};
    result = vk->f.CreatePipelineLayout(vk->device, &layout, NULL, &vk->layout);
    return result == VK_SUCCESS ? PSV_OK : psvi_vk_status(context, result, "vkCreatePipelineLayout");
}

void psvi_vk_close_programs(psvi_vk *vk) {
    while (vk->programs != NULL) {
        psvi_vk_program *first = vk->programs;
        vk->programs = first->next;
        vk->f.DestroyPipeline(vk->device, first->pipeline, NULL);
        free(first);
    }
    vk->f.DestroyPipelineLayout(vk->device, vk->layout, NULL);
    vk->f.DestroyDescriptorSetLayout(vk->device, vk->set_layout, NULL);
}

// The value of a name in "#define NAME value" lines; false: it is not there.
static bool value_of(const char *defines, const char *name, size_t length, uint32_t *value) {
    for (const char *line = defines; (line = strstr(line, "#define ")) != NULL;) {
        line += strlen("#define ");
        if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
        *value = (uint32_t)strtoul(line + length, NULL, 10);
        return true;
    }
    return false;
}

// All of "NAME=VALUE NAME=VALUE" hold in the defines.
static bool fits(const char *variant, const char *defines) {
    for (const char *at = variant; *at != '\0';) {
        const size_t length = strcspn(at, "=");
        char *end = NULL;
        uint32_t given = 0;
        const uint32_t wanted = (uint32_t)strtoul(at + length + 1, &end, 10);
        if (!value_of(defines, at, length, &given) || given != wanted) return false;
        at = end + strspn(end, " ");
    }
    return true;
}

static const psvi_gpu_variant *find_variant(const psvi_gpu_source *source, const char *defines) {
    for (uint32_t v = 0; v < source->variant_count; ++v)
        if (fits(source->variants[v].defines, defines)) return &source->variants[v];
    return NULL;
}

// The constants that the defines give, for VkSpecializationInfo.
static uint32_t read_constants(const psvi_gpu_source *source, const char *defines,
                               VkSpecializationMapEntry entries[MOST_CONSTANTS], uint32_t values[MOST_CONSTANTS]) {
    uint32_t count = 0;
    for (uint32_t c = 0; c < MOST_CONSTANTS && source->constants[c] != NULL; ++c) {
        if (!value_of(defines, source->constants[c], strlen(source->constants[c]), &values[count])) continue;
        entries[count] = (VkSpecializationMapEntry){
            .constantID = c, .offset = (uint32_t)(count * sizeof *values), .size = sizeof *values};
        ++count;
    }
    return count;
}

// SPIR-V begins with five words; then come instructions, whose first word has the length and the kind.
enum { HEADER = 5, CAPABILITY = 17, ENTRY_POINT = 15, EXECUTION_MODE = 16 };

// Makes room for `count` words at `at` in code of *length words.
static void insert(uint32_t *code, uint32_t *length, uint32_t at, const uint32_t *words, uint32_t count) {
    memmove(code + at + count, code + at, (*length - at) * sizeof *code);
    memcpy(code + at, words, count * sizeof *code);
    *length += count;
}

// Asks for a way of floats (SPV_KHR_float_controls, in SPIR-V from 1.4 on): the capability, and behind the entry point
// the execution mode for floats of 32 bits.
static void ask_of_floats(uint32_t *code, uint32_t *length, uint32_t capability, uint32_t mode) {
    const uint32_t capability_words[2] = {2u << 16 | CAPABILITY, capability};
    for (uint32_t at = HEADER; at < *length; at += code[at] >> 16) {
        if ((code[at] & 0xffffu) != ENTRY_POINT) continue;
        const uint32_t mode_words[4] = {4u << 16 | EXECUTION_MODE, code[at + 2], mode, 32};
        insert(code, length, at + (code[at] >> 16), mode_words, 4);
        break;
    }
    insert(code, length, HEADER, capability_words, 2);
}

// The kernel's code with floats as the CPU has them, as far as the device can; NULL: no memory.
static uint32_t *code_for(const psvi_vk *vk, const psvi_gpu_variant *variant, uint32_t *length) {
    uint32_t *code = malloc(variant->bytes + 12 * sizeof *code);
    if (code == NULL) return NULL;
    memcpy(code, variant->words, variant->bytes);
    *length = variant->bytes / sizeof *code;
    if (vk->keeps_denormals) ask_of_floats(code, length, 4464, 4459); // DenormPreserve
    if (vk->keeps_nan) ask_of_floats(code, length, 4466, 4461);       // SignedZeroInfNanPreserve
    return code;
}

static psv_status build(psv_context *context, const psvi_gpu_source *source, const char *defines,
                        VkPipeline *pipeline) {
    psvi_vk *vk = psvi_vk_of(context);
    const psvi_gpu_variant *variant = find_variant(source, defines);
    VkSpecializationMapEntry entries[MOST_CONSTANTS];
    uint32_t values[MOST_CONSTANTS];
    VkShaderModule module = NULL;
    if (variant == NULL)
        return psvi_fail(context, PSV_ERROR_INTERNAL, "kernel %s has no SPIR-V for these defines: %s", source->name,
                         defines);
    uint32_t length, *words = code_for(vk, variant, &length);
    if (words == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for kernel %s (%u bytes)", source->name, variant->bytes);
    const VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = length * sizeof *words, .pCode = words};
    VkResult result = vk->f.CreateShaderModule(vk->device, &code, NULL, &module);
    free(words);
    if (result != VK_SUCCESS) return psvi_vk_status(context, result, source->name);
    const uint32_t count = read_constants(source, defines, entries, values);
    const VkSpecializationInfo constants = {
        .mapEntryCount = count, .pMapEntries = entries, .dataSize = count * sizeof *values, .pData = values};
    const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                              .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                        .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                        .module = module,
                                                        .pName = "main",
                                                        .pSpecializationInfo = &constants},
                                              .layout = vk->layout};
    result = vk->f.CreateComputePipelines(vk->device, NULL, 1, &info, NULL, pipeline);
    vk->f.DestroyShaderModule(vk->device, module, NULL);
    return result == VK_SUCCESS ? PSV_OK : psvi_vk_status(context, result, source->name);
}

static psv_status find_program(psv_context *context, const psvi_gpu_source *source, const char *defines,
                               VkPipeline *pipeline) {
    psvi_vk *vk = psvi_vk_of(context);
    for (const psvi_vk_program *p = vk->programs; p != NULL; p = p->next) {
        if (p->source != source || strcmp(p->defines, defines) != 0) continue;
        *pipeline = p->pipeline;
        return PSV_OK;
    }
    psvi_vk_program *made = calloc(1, sizeof *made);
    if (made == NULL || strlen(defines) >= sizeof made->defines) {
        free(made);
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for kernel %s (%zu bytes)", source->name, sizeof *made);
    }
    const psv_status status = build(context, source, defines, &made->pipeline);
    if (status != PSV_OK) {
        free(made);
        return status;
    }
    made->source = source;
    memcpy(made->defines, defines, strlen(defines) + 1);
    made->next = vk->programs;
    vk->programs = made;
    *pipeline = made->pipeline;
    return PSV_OK;
}

// A block that is not bound gets the kernel's words: a descriptor may not be empty, and the kernel does not look.
static psv_status write_set(psv_context *context, const psvi_vk_batch *batch,
                            const psvi_gpu_range ranges[PSVI_GPU_BLOCKS], VkDescriptorSet set) {
    psvi_vk *vk = psvi_vk_of(context);
    const uint64_t offset = (uint64_t)PSVI_VK_WORD_BYTES * batch->runs;
    VkDescriptorBufferInfo buffers[PSVI_GPU_BLOCKS + 1];
    VkWriteDescriptorSet writes[PSVI_GPU_BLOCKS + 1];
    for (uint32_t b = 0; b <= PSVI_GPU_BLOCKS; ++b) {
        buffers[b] = (VkDescriptorBufferInfo){batch->words.handle, offset, PSVI_VK_WORD_BYTES};
        if (b < PSVI_GPU_BLOCKS && ranges[b].name != 0) {
            const psvi_vk_buffer *buffer = psvi_vk_find_buffer(vk, ranges[b].name);
            if (buffer == NULL || ranges[b].first + ranges[b].bytes > buffer->bytes)
                return psvi_fail(context, PSV_ERROR_ARGUMENT, "buffer %u does not hold %llu bytes from byte %llu on",
                                 ranges[b].name, (unsigned long long)ranges[b].bytes,
                                 (unsigned long long)ranges[b].first);
            if (ranges[b].bytes != 0)
                buffers[b] = (VkDescriptorBufferInfo){buffer->handle, ranges[b].first, ranges[b].bytes};
        }
        writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = b,
                                           .descriptorCount = 1,
                                           .descriptorType = b < PSVI_GPU_BLOCKS ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                                                 : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                           .pBufferInfo = &buffers[b]};
    }
    vk->f.UpdateDescriptorSets(vk->device, PSVI_GPU_BLOCKS + 1, writes, 0, NULL);
    return PSV_OK;
}

static void dispatch(psvi_vk *vk, const psvi_gpu_call *call, VkCommandBuffer commands) {
    uint32_t grid[2];
    const psvi_vk_buffer *buffer = NULL;
    if (call->indirect != NULL) buffer = psvi_vk_find_buffer(vk, psvi_gpu_name_of(call->indirect));
    if (buffer != NULL) {
        vk->f.CmdDispatchIndirect(commands, buffer->handle, psvi_gpu_offset_of(call->indirect));
        return;
    }
    psvi_gpu_grid(call->groups, grid);
    vk->f.CmdDispatch(commands, grid[0], grid[1], 1);
}

psv_status psvi_vk_run(psv_context *context, const psvi_gpu_call *call) {
    psvi_vk *vk = psvi_vk_of(context);
    VkPipeline pipeline = NULL;
    psvi_gpu_range ranges[PSVI_GPU_BLOCKS];
    uint32_t words[PSVI_GPU_WORDS];
    psvi_vk_batch *batch;
    psv_status status = find_program(context, call->source, call->defines == NULL ? "" : call->defines, &pipeline);
    if (status != PSV_OK || vk->gpu.prepare_only || (call->groups == 0 && call->indirect == NULL)) return status;
    status = psvi_gpu_bind(context, call, ranges, words);
    if (status == PSV_OK) status = psvi_vk_begin(context, &batch);
    if (status != PSV_OK) return status;
    const VkDescriptorSet set = batch->sets[batch->runs];
    status = write_set(context, batch, ranges, set);
    if (status != PSV_OK) return status;
    memcpy((char *)batch->words.mapped + (size_t)PSVI_VK_WORD_BYTES * batch->runs, words, sizeof words);
    ++batch->runs;
    psvi_vk_order(vk, batch, 1u << PSVI_VK_COMPUTE | (call->indirect != NULL ? 1u << PSVI_VK_INDIRECT : 0u));
    vk->f.CmdBindPipeline(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vk->f.CmdBindDescriptorSets(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, vk->layout, 0, 1, &set, 0, NULL);
    dispatch(vk, call, batch->commands);
    return PSV_OK;
}
