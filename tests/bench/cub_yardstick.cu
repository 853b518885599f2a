#include "cub_yardstick.h"

#include <cstdio>

#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>

// values[i] = i, as whoever needs a permutation from SortPairs has to write it first. 4 bytes an element.
static __global__ void psvk_bench_iota(uint32_t *values, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = (uint32_t)i;
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

extern "C" const char *cub_yardstick_version(void) {
    static char text[32];
    (void)snprintf(text, sizeof text, "CUB %d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}
