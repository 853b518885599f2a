// Records moved through a texture.
#include "texture_records.h"

#include <cuda_runtime.h>

#define THREADS 256

template <typename Record> struct record_move {
    cudaTextureObject_t from;
    Record *to;
    const uint32_t *order;
    uint64_t count;
};

// A thread moves a record: an index read, a texture fetch, a write, all but the fetch coalesced.
template <typename Record> __global__ void __launch_bounds__(THREADS) psvk_move_by_texture(record_move<Record> move) {
    const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < move.count) move.to[i] = tex1Dfetch<Record>(move.from, (int)move.order[i]);
}

template <typename Record>
static bool launch(cudaTextureObject_t texture, void *to, const uint32_t *order, uint64_t count, cudaStream_t stream) {
    const record_move<Record> move = {texture, static_cast<Record *>(to), order, count};
    psvk_move_by_texture<<<(uint32_t)((count + THREADS - 1) / THREADS), THREADS, 0, stream>>>(move);
    return cudaGetLastError() == cudaSuccess;
}

static cudaError_t make_texture(const void *from, uint32_t bytes, uint64_t count, cudaTextureObject_t *texture) {
    const int words = (int)bytes / 4;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<void *>(from);
    resource.res.linear.sizeInBytes = bytes * count;
    resource.res.linear.desc = cudaCreateChannelDesc(32, words > 1 ? 32 : 0, words > 2 ? 32 : 0, words > 2 ? 32 : 0,
                                                     cudaChannelFormatKindUnsigned);
    cudaTextureDesc texels = {};
    texels.readMode = cudaReadModeElementType;
    return cudaCreateTextureObject(texture, &resource, &texels, nullptr);
}

extern "C" bool texture_records_move(psv_context *context, const void *from, void *to, uint32_t bytes,
                                     const uint32_t *order, uint64_t count, double *ms) {
    const cudaStream_t stream = static_cast<cudaStream_t>(psv_context_stream(context));
    cudaTextureObject_t texture = 0;
    cudaEvent_t begin = nullptr, end = nullptr;
    float elapsed = 0;
    bool good = make_texture(from, bytes, count, &texture) == cudaSuccess && cudaEventCreate(&begin) == cudaSuccess &&
                cudaEventCreate(&end) == cudaSuccess && cudaEventRecord(begin, stream) == cudaSuccess;
    if (good && bytes == 4) good = launch<unsigned int>(texture, to, order, count, stream);
    if (good && bytes == 8) good = launch<uint2>(texture, to, order, count, stream);
    if (good && bytes == 16) good = launch<uint4>(texture, to, order, count, stream);
    good = good && cudaEventRecord(end, stream) == cudaSuccess && cudaEventSynchronize(end) == cudaSuccess &&
           cudaEventElapsedTime(&elapsed, begin, end) == cudaSuccess;
    if (begin != nullptr) (void)cudaEventDestroy(begin);
    if (end != nullptr) (void)cudaEventDestroy(end);
    if (texture != 0) (void)cudaDestroyTextureObject(texture);
    *ms = elapsed;
    return good;
}
