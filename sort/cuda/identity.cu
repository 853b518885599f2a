// The identity permutation: what an argsort writes when there is nothing to compare.
#include "identity.h"

#include "../../core/cuda/cuda_backend.h"

// Output: index[i] = i. A grid-stride loop, no synchronization; writes 4 bytes an element.
static __global__ void psvk_write_identity(uint32_t *index, uint64_t count, const uint64_t *count_device) {
    if (count_device != NULL && *count_device < count) count = *count_device;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        index[i] = (uint32_t)i;
}

psv_status psvi_cuda_write_identity(psv_context *context, const psvi_sort_request *request) {
    const uint64_t count = request->count;
    if (count == 0) return PSV_OK;
    const uint64_t threads = 256, most = 16u * (uint64_t)context->info.multiprocessors;
    uint64_t blocks = (count + threads - 1) / threads;
    if (blocks > most) blocks = most;
    psvk_write_identity<<<(unsigned)blocks, (unsigned)threads, 0, (cudaStream_t)context->stream>>>(
        (uint32_t *)request->values_out, count, request->count_device);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_write_identity");
}
