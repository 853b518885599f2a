// radix_resident.cuh for 32-bit keys; a file of its own so that the two halves compile side by side.
#include "radix_resident.cuh"

cudaError_t psvi_radix_resident32(const psvi_radix_job *job, uint32_t items, cudaStream_t stream) {
    return with_narrow_kind(job, [&](auto kind) { return launch_values<decltype(kind)::value>(job, items, stream); });
}
