// radix_resident.cuh for 64-bit keys.
#include "radix_resident.cuh"

cudaError_t psvi_radix_resident64(const psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    return launch_values<PSVI_RADIX_WIDE>(job, items, stream);
}
