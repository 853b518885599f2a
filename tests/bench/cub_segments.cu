#include "cub_segments.h"

#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

template <typename Key> static int run(cub_segment_call *call) {
    cudaStream_t stream = (cudaStream_t)call->stream;
    const Key *in = (const Key *)call->keys_in;
    Key *out = (Key *)call->keys_out;
    if (call->way == CUB_SEGMENTED_SORT)
        return cub::DeviceSegmentedSort::StableSortPairs(call->temporary, call->temporary_bytes, in, out,
                                                         call->values_in, call->values_out, (int)call->count,
                                                         (int)call->segments, call->offsets, call->offsets + 1, stream);
    return cub::DeviceSegmentedRadixSort::SortPairs(call->temporary, call->temporary_bytes, in, out, call->values_in,
                                                    call->values_out, (int)call->count, (int)call->segments,
                                                    call->offsets, call->offsets + 1, 0, (int)sizeof(Key) * 8, stream);
}

extern "C" int cub_segments(cub_segment_call *call) {
    return call->key_type == PSV_KEY_U64 ? run<uint64_t>(call) : run<uint32_t>(call);
}

extern "C" double cub_time_ms(void *stream, void (*work)(void *data), void *data) {
    cudaEvent_t begin, end;
    float ms = -1;
    if (cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess) return -1;
    (void)cudaStreamSynchronize((cudaStream_t)stream);
    (void)cudaEventRecord(begin, (cudaStream_t)stream);
    work(data);
    (void)cudaEventRecord(end, (cudaStream_t)stream);
    if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) ms = -1;
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    return ms;
}
