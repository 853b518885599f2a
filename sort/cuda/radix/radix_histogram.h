// What runs before digit passes (radix_histogram.cu).
#ifndef PAIRSIEVE_RADIX_HISTOGRAM_H
#define PAIRSIEVE_RADIX_HISTOGRAM_H

#include "radix_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

// Histograms of all digits, with tables of at most `most_bytes` of shared memory, and the plan of the passes, for tiles
// of which a portion has `rows`; then, of one portion, nearly sorted input by windows. `overlapped`: the passes behind
// wait for the kernel before them by themselves.
cudaError_t psvi_radix_histogram(const psvi_radix_job *job, uint32_t rows, uint32_t most_bytes, bool overlapped,
                                 bool one_portion, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
