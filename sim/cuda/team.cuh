// The threads of a launch that wait for each other: a block alone, a cluster of blocks, or a cooperative grid. The
// smaller the team the shorter the wait: about 0.05, 0.5 and 1.5 us on an H200.
#ifndef PAIRSIEVE_SIM_TEAM_CUH
#define PAIRSIEVE_SIM_TEAM_CUH

#include "step_kernels.h"

#include <cooperative_groups.h>

// All threads of the launch, and what they have written before is seen by all after it.
__device__ static inline void team_wait() {
    if (gridDim.x == 1) {
        __syncthreads();
        return;
    }
#if __CUDA_ARCH__ >= 900
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    if (cluster.num_blocks() == gridDim.x) {
        cluster.sync();
        return;
    }
#endif
    cooperative_groups::this_grid().sync();
}

__device__ static inline uint32_t team_rank() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static inline uint32_t team_size() { return gridDim.x * blockDim.x; }

// Appends to a list; the lanes that are here together ask once.
__device__ static inline void append(uint32_t *list, uint32_t *count, uint32_t value) {
    cooperative_groups::coalesced_group lanes = cooperative_groups::coalesced_threads();
    uint32_t first = 0;
    if (lanes.thread_rank() == 0) first = atomicAdd(count, lanes.size());
    list[lanes.shfl(first, 0) + lanes.thread_rank()] = value;
}

// Launches a kernel whose threads wait for each other.
static inline cudaError_t launch_team(const void *kernel, psvi_team team, int block, void **arguments,
                                      cudaStream_t stream) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)team.blocks);
    config.blockDim = dim3((unsigned)block);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = team.blocks > 1 ? 1 : 0;
    if (team.cluster) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = (unsigned)team.blocks;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    } else {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    }
    return cudaLaunchKernelExC(&config, kernel, arguments);
}

// The most blocks, up to 16 and a power of two, that the device runs as one cluster; 1 where it has no clusters.
static inline cudaError_t largest_team_cluster(const void *kernel, int block, int *blocks) {
    *blocks = 1;
    int device = 0, major = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess || major < 9) return error;
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
    for (int size = 16; size > 1; size /= 2) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = (unsigned)size;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)size);
        config.blockDim = dim3((unsigned)block);
        config.attrs = &attribute;
        config.numAttrs = 1;
        int clusters = 0;
        if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess && clusters > 0) {
            *blocks = size;
            return cudaSuccess;
        }
        (void)cudaGetLastError(); // that size is too large for this device
    }
    return cudaSuccess;
}

#endif
