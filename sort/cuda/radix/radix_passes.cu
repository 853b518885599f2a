// radix_passes.cuh with the largest tiles, and radix_passes_async.cuh.
#include "radix_launch.h"
#define PSVI_RADIX_PASSES_THREADS PSVI_RADIX_PASSES_FULL_THREADS
#define PSVI_RADIX_HISTOGRAM_BYTES (128 * 1024)
#define PSVI_RADIX_PASSES_HAVE_ASYNC
#include "radix_passes.cuh"

cudaError_t psvi_radix_passes(const psvi_radix_job *job, cudaStream_t stream) { return run(job, stream); }
