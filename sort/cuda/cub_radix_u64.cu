#include "cub_radix.cuh"

extern "C" cudaError_t psvi_cub_sort_u64(psvi_cub_sort *sort, cudaStream_t stream) {
    return psvi::cub_sort<uint64_t>(sort, stream);
}
