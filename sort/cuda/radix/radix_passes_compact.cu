// radix_passes.cuh for devices whose blocks have at most 64 or 99 KB of shared memory.
#include "radix_launch.h"
#define PSVI_RADIX_PASSES_THREADS PSVI_RADIX_PASSES_COMPACT_THREADS
#define PSVI_RADIX_HISTOGRAM_BYTES (32 * 1024)
#include "radix_passes.cuh"

cudaError_t psvi_radix_passes_compact(const psvi_radix_job *job, cudaStream_t stream) { return run(job, stream); }
