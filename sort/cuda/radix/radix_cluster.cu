// Route CLUSTER: one thread-block cluster of up to 16 blocks. Every block sorts the same samples of the input, so every
// block knows which part of the sorted order each block finishes. Items go there through distributed shared memory, in
// any order, and each block sorts on chip what it got (radix_onchip.cuh). Three cluster barriers.
//
// A part has room for at least twice its average. No block gets more for one input in a billion, as items are samples
// by chance and no two are equal (a key and its place). If some block does, other samples are taken, by a clock that no
// input can foresee.
#include <cooperative_groups.h>

#include "radix_samples.cuh"

namespace {

namespace cg = cooperative_groups;

constexpr int THREADS = PSVI_RADIX_THREADS;
constexpr uint32_t SAMPLE_BITS = 10;
constexpr int MOST_BLOCKS = 16;
static_assert(1 << SAMPLE_BITS == THREADS, "one sample for each thread");

// An item on its way from block to block: 8, 16 or 32 bytes, written at once.
template <typename K, typename V, int VALUE_BYTES>
struct alignas(sizeof(K) + VALUE_BYTES <= 4    ? 8
               : sizeof(K) + VALUE_BYTES <= 12 ? 16
                                               : 32) cluster_item {
    K key;
    V value;
    uint32_t place; // in the input
};
template <typename K, typename V> struct alignas(sizeof(K) == 4 ? 8 : 16) cluster_item<K, V, 0> {
    K key;
    uint32_t place;
};

template <int KIND, int VALUE_BYTES> struct cluster_types {
    using K = typename radix_key<KIND>::type;
    using V = typename radix_value<VALUE_BYTES>::type;
    using item = cluster_item<K, V, VALUE_BYTES>;
    static constexpr int PAIR_BYTES = sizeof(K) + VALUE_BYTES;
    static constexpr int ITEMS = PSVI_RADIX_CLUSTER_ITEMS(PAIR_BYTES); // of a thread, sorted
    static constexpr int ROWS = PSVI_RADIX_CLUSTER_ROWS(PAIR_BYTES);   // of a thread, read
    static constexpr int CAPACITY = THREADS * ITEMS, SHARE = THREADS * ROWS;
    using sorter = onchip::sorter<KIND, VALUE_BYTES, ITEMS, CAPACITY>;
};

template <int KIND, int VALUE_BYTES> struct cluster_shared {
    using types = cluster_types<KIND, VALUE_BYTES>;
    union {
        typename types::item arrived[types::CAPACITY];
        typename types::sorter::memory_t chip;
    };
    typename types::K own_keys[types::SHARE];
    typename types::V own_values[VALUE_BYTES == 0 ? 1 : types::SHARE];
    samples::splitters<typename types::K, MOST_BLOCKS> splitters;
    uint32_t counts[MOST_BLOCKS];  // items of this block for each block
    uint32_t offsets[MOST_BLOCKS]; // and where they begin there
    uint32_t lengths[MOST_BLOCKS]; // items of all blocks
    uint32_t length;               // items that have been announced to this block
    uint32_t seed;                 // of the next samples, if the first ones have misled
};

#if __CUDA_ARCH__ >= 900
// Sends this block's share to where the splitters say. False when some block would get more than it can hold.
template <int KIND, int VALUE_BYTES>
__device__ __forceinline__ bool distribute(const psvi_radix_job &job, cluster_shared<KIND, VALUE_BYTES> &shared,
                                           uint32_t first, uint32_t length) {
    using types = cluster_types<KIND, VALUE_BYTES>;
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t lane = threadIdx.x & 31, below = lanemask_lt(), blocks = gridDim.x;
    uint32_t goals[types::ROWS]; // block, and the place among this block's items for it
#pragma unroll
    for (int row = 0; row < types::ROWS; ++row) {
        const uint32_t at = row * THREADS + threadIdx.x;
        if (row * THREADS >= (int)length) break;
        uint32_t block = MOST_BLOCKS, same = __ballot_sync(PSVI_RADIX_FULL_WARP, at < length), base = 0;
        if (at < length)
            block = shared.splitters.chunk_of(onchip::part_of<KIND>(shared.own_keys[at], job.order), first + at);
#pragma unroll
        for (int bit = 1; bit < MOST_BLOCKS; bit *= 2) {
            const uint32_t ones = __ballot_sync(PSVI_RADIX_FULL_WARP, (block & bit) != 0);
            same &= block & bit ? ones : ~ones;
        }
        if (at < length && (same & below) == 0) base = atomicAdd(&shared.counts[block], __popc(same));
        base = __shfl_sync(PSVI_RADIX_FULL_WARP, base, at < length ? __ffs(same) - 1 : (int)lane);
        goals[row] = block << 16 | (base + __popc(same & below));
    }
    __syncthreads();
    if (threadIdx.x < blocks)
        shared.offsets[threadIdx.x] =
            atomicAdd(cluster.map_shared_rank(&shared.length, threadIdx.x), shared.counts[threadIdx.x]);
    __syncthreads();
#pragma unroll
    for (int row = 0; row < types::ROWS; ++row) {
        const uint32_t at = row * THREADS + threadIdx.x;
        if (at >= length) break;
        const uint32_t block = goals[row] >> 16, slot = shared.offsets[block] + (goals[row] & 0xffff);
        typename types::item item;
        item.key = shared.own_keys[at];
        if constexpr (VALUE_BYTES != 0)
            item.value = job.implicit ? (typename types::V)(first + at) : shared.own_values[at];
        item.place = first + at;
        if (slot < (uint32_t)types::CAPACITY) *cluster.map_shared_rank(&shared.arrived[slot], block) = item;
    }
    cluster.sync();
    uint32_t theirs = 0;
    if (threadIdx.x < blocks) {
        theirs = *cluster.map_shared_rank(&shared.length, threadIdx.x);
        shared.lengths[threadIdx.x] = theirs;
    }
    return !__syncthreads_or(theirs > (uint32_t)types::CAPACITY);
}

__device__ __forceinline__ uint32_t clock32() {
    uint32_t time;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(time));
    return time;
}

// In and out: all items; out may be in. One cluster is the whole grid. Bytes: one read and one write of every item.
template <int KIND, int VALUE_BYTES> __device__ __forceinline__ void sort_in_cluster(const psvi_radix_job &job) {
    using types = cluster_types<KIND, VALUE_BYTES>;
    using K = typename types::K;
    using V = typename types::V;
    extern __shared__ __align__(128) unsigned char memory[];
    auto &shared = *reinterpret_cast<cluster_shared<KIND, VALUE_BYTES> *>(memory);
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t count = (uint32_t)job_count(job), blocks = gridDim.x;
    const uint32_t share = (count + blocks - 1) / blocks;
    const uint32_t first = min(blockIdx.x * share, count), own_length = min(share, count - first);
    const K *keys_in = static_cast<const K *>(job.keys_in);
    const V *values_in = static_cast<const V *>(job.values_in);

    const uint32_t sample_bits = count >= 1u << SAMPLE_BITS ? SAMPLE_BITS : 31 - __clz(count | 1);
    uint32_t length = count == 0 ? 0 : 1u << sample_bits, begin = 0;
    bool sampling = true, again = false;
#pragma unroll 1
    for (;;) {
        typename types::sorter items(shared.chip, job.order, length);
        items.ordered = sampling;
        if (sampling) {
            items.for_items([&](int row, uint32_t at) {
                items.ids[row] = samples::place(at, sample_bits, count, again ? shared.seed : 0);
                items.keys[row] = keys_in[items.ids[row]];
                if constexpr (VALUE_BYTES != 0) items.values[row] = 0;
            });
            for (uint32_t at = threadIdx.x; at < own_length; at += THREADS) {
                copy_async(&shared.own_keys[at], keys_in + first + at);
                if (VALUE_BYTES != 0 && !job.implicit) copy_async(&shared.own_values[at], values_in + first + at);
            }
            shared.splitters.clear();
            if (threadIdx.x < MOST_BLOCKS) shared.counts[threadIdx.x] = 0;
            if (threadIdx.x == 0) shared.length = 0;
        } else {
            items.for_items([&](int row, uint32_t at) {
                const typename types::item item = shared.arrived[at];
                items.keys[row] = item.key;
                if constexpr (VALUE_BYTES != 0) items.values[row] = item.value;
                items.ids[row] = item.place;
            });
        }
        __syncthreads();
        if (length != 0)
            items.sort([&](uint32_t at, K key, V value, uint32_t place) {
                if (sampling) {
                    shared.splitters.offer(at, sample_bits, blocks, items.part(key), place);
                    return;
                }
                if (job.keys_out != nullptr) static_cast<K *>(job.keys_out)[begin + at] = key;
                if (VALUE_BYTES != 0) static_cast<V *>(job.values_out)[begin + at] = value;
            });
        if (!sampling) break;
        wait_for_copies();
        cluster.sync(); // all blocks have their share and their splitters; now items may come
        if (!distribute<KIND, VALUE_BYTES>(job, shared, first, own_length)) {
            if (blockIdx.x == 0 && threadIdx.x < 32) {
                const uint32_t seed = __shfl_sync(PSVI_RADIX_FULL_WARP, clock32(), 0);
                if (threadIdx.x < blocks) *cluster.map_shared_rank(&shared.seed, threadIdx.x) = seed;
            }
            cluster.sync(); // the other blocks have read the lengths
            again = true;
            continue;
        }
        sampling = false;
        for (uint32_t block = 0; block < blockIdx.x; ++block)
            begin += shared.lengths[block];
        length = shared.length;
    }
    cluster.sync(); // the other blocks have read the lengths
    if (blockIdx.x == 0 && threadIdx.x == 0) tell_outcome(job, PSVI_RADIX_CLUSTER, job.veto, again ? 2 : 1);
}
#endif

template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, 1) psvk_radix_cluster(const psvi_radix_job job) {
#if __CUDA_ARCH__ >= 900
    if constexpr (code_holds<KIND>(PSVI_RADIX_CHUNK_KB * 1024)) sort_in_cluster<KIND, VALUE_BYTES>(job);
#endif
}

template <int KIND, int VALUE_BYTES>
cudaError_t launch_cluster(const psvi_radix_job *job, uint32_t blocks, cudaStream_t stream, bool probe) {
    constexpr int bytes = sizeof(cluster_shared<KIND, VALUE_BYTES>);
    static_assert(bytes <= PSVI_RADIX_CHUNK_KB * 1024, "the kernel declares nothing itself");
    auto kernel = psvk_radix_cluster<KIND, VALUE_BYTES>;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess && blocks > 8)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (probe) {
        int clusters = 0;
        error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
        return error != cudaSuccess ? error : clusters >= 1 ? cudaSuccess : cudaErrorInvalidConfiguration;
    }
    return cudaLaunchKernelEx(&config, kernel, *job);
}

} // namespace

uint32_t psvi_radix_cluster_blocks(void) {
    for (uint32_t blocks = MOST_BLOCKS; blocks >= 8; blocks /= 2) {
        // The kernel with the largest shared memory: if its cluster fits, so do the others'.
        if (launch_cluster<PSVI_RADIX_WIDE, 8>(nullptr, blocks, nullptr, true) == cudaSuccess &&
            launch_cluster<PSVI_RADIX_INT32, 4>(nullptr, blocks, nullptr, true) == cudaSuccess)
            return blocks;
        (void)cudaGetLastError();
    }
    return 0;
}

cudaError_t psvi_radix_cluster(const psvi_radix_job *job, uint32_t blocks, cudaStream_t stream) {
    return with_types(job, [&](auto kind, auto bytes) {
        return launch_cluster<decltype(kind)::value, decltype(bytes)::value>(job, blocks, stream, false);
    });
}
