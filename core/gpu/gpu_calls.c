// What OpenGL and Vulkan share of a kernel's call.
#include <string.h>

#include "gpu_backend.h"

void psvi_gpu_grid(uint64_t groups, uint32_t grid[2]) {
    grid[1] = (uint32_t)((groups + 65534) / 65535);
    grid[0] = grid[1] <= 1 ? (uint32_t)groups : (uint32_t)((groups + grid[1] - 1) / grid[1]);
}

uint64_t psvi_gpu_rest_of_buffer(psv_context *context, const void *address) {
    const psvi_gpu *gpu = psvi_gpu_of(context);
    const uint64_t held = gpu->buffer_bytes(context, psvi_gpu_name_of(address)), most = gpu->block_bytes - 512;
    if (held <= psvi_gpu_offset_of(address)) return 0;
    const uint64_t rest = (held - psvi_gpu_offset_of(address)) & ~(uint64_t)3;
    return rest < most ? rest : most;
}

psv_status psvi_gpu_bind(psv_context *context, const psvi_gpu_call *call, psvi_gpu_range ranges[PSVI_GPU_BLOCKS],
                         uint32_t words[PSVI_GPU_WORDS]) {
    const psvi_gpu *gpu = psvi_gpu_of(context);
    for (uint32_t b = 0; b < PSVI_GPU_BLOCKS; ++b) {
        const psvi_gpu_block block = call->blocks[b];
        ranges[b] = (psvi_gpu_range){0};
        words[b] = 0;
        if (block.address == NULL || block.bytes == 0) continue;
        const uint64_t offset = psvi_gpu_offset_of(block.address), first = offset & ~(uint64_t)(gpu->alignment - 1);
        const uint64_t bytes = ((offset + block.bytes + 3) & ~(uint64_t)3) - first;
        if (bytes > gpu->block_bytes)
            return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                             "%s needs %llu bytes in one storage block; this driver's limit is %llu",
                             call->source->name, (unsigned long long)bytes, (unsigned long long)gpu->block_bytes);
        ranges[b] = (psvi_gpu_range){psvi_gpu_name_of(block.address), first, bytes};
        words[b] = (uint32_t)((offset - first) / 4);
    }
    memcpy(words + PSVI_GPU_BLOCKS, call->params, sizeof call->params);
    return PSV_OK;
}

uint32_t psvi_gpu_driver_hash(const char *identity) {
    uint32_t hash = 0;
    for (const char *at = identity; *at != '\0'; ++at)
        hash = (31u * hash + (unsigned char)*at) >> 1;
    return hash;
}
