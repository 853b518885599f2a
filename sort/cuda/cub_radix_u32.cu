#include "cub_radix.cuh"

extern "C" cudaError_t psvi_cub_sort_u32(psvi_cub_sort *sort, cudaStream_t stream) {
    return psvi::cub_sort<uint32_t>(sort, stream);
}
