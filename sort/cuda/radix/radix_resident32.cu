// radix_resident.cuh for 32-bit keys; a file of its own so that the two halves compile side by side.
#include "radix_resident.cuh"

cudaError_t psvi_radix_resident32(const psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    return job->order.is_float ? launch_values<PSVI_RADIX_FLOAT32>(job, items, stream)
                               : launch_values<PSVI_RADIX_INT32>(job, items, stream);
}
