// For functions in headers that C and CUDA share.
#ifndef PAIRSIEVE_HOST_DEVICE_H
#define PAIRSIEVE_HOST_DEVICE_H

#if defined(__CUDACC__)
#define PSVI_HD __host__ __device__ __forceinline__
#else
#define PSVI_HD static inline
#endif

#endif
