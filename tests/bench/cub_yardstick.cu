#include "cub_yardstick.h"

#include <cstdio>

#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>

// values[i] = i, as whoever needs a permutation from SortPairs has to write it first. 4 bytes an element.
static __global__ void psvk_bench_iota(uint32_t *values, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = (uint32_t)i;
}

// In: two arrays. Out: *differing, which is zero before. 8 bytes a word.
static __global__ void psvk_bench_compare(const uint32_t *a, const uint32_t *b, uint64_t words, uint32_t *differing) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        if (a[i] != b[i]) atomicAdd(differing, 1u);
}

template <typename Key> static int run(cub_call *call) {
    cudaStream_t stream = (cudaStream_t)call->stream;
    const Key *in = (const Key *)call->keys_in;
    Key *out = (Key *)call->keys_out;
    if (call->operation == CUB_KEYS)
        return cub::DeviceRadixSort::SortKeys(call->temporary, call->temporary_bytes, in, out, call->count, 0,
                                              (int)sizeof(Key) * 8, stream);
    if (call->operation == CUB_IOTA_AND_PAIRS && call->temporary != NULL)
        psvk_bench_iota<<<(unsigned)((call->count + 255) / 256), 256, 0, stream>>>(call->values_in, call->count);
    return cub::DeviceRadixSort::SortPairs(call->temporary, call->temporary_bytes, in, out, call->values_in,
                                           call->values_out, call->count, 0, (int)sizeof(Key) * 8, stream);
}

extern "C" int cub_yardstick(cub_call *call) {
    switch (call->key_type) {
    case PSV_KEY_U32: return run<uint32_t>(call);
    case PSV_KEY_F32: return run<float>(call);
    case PSV_KEY_U64: return run<uint64_t>(call);
    default: return 1;
    }
}

extern "C" int cub_count_differing(const void *a, const void *b, uint64_t words, uint32_t *differing, void *stream,
                                   uint32_t *result) {
    cudaStream_t own = (cudaStream_t)stream;
    cudaError_t error = cudaMemsetAsync(differing, 0, sizeof *differing, own);
    psvk_bench_compare<<<1024, 256, 0, own>>>((const uint32_t *)a, (const uint32_t *)b, words, differing);
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpyAsync(result, differing, sizeof *result, cudaMemcpyDeviceToHost, own);
    return error == cudaSuccess ? cudaStreamSynchronize(own) : error;
}

extern "C" const char *cub_yardstick_version(void) {
    static char text[32];
    (void)snprintf(text, sizeof text, "CUB %d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}
