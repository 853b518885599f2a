// Operations on pair lists: packing for the sorter, begin and end events, keeping a frame's list for the next.
#include "broad_phase_tuning.h"
#include "pair_ops_kernels.h"

__device__ __forceinline__ uint64_t ordered_pair(psv_pair pair) { return (uint64_t)pair.a << 32 | pair.b; }

// In place: pair to key. One thread a pair and round; reads and writes 8 bytes.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_pack_pairs(psv_pair *pairs, const uint64_t *count, uint64_t capacity, uint32_t bits, uint64_t *clamped) {
    const uint64_t there = min((unsigned long long)*count, (unsigned long long)capacity);
    const uint64_t first = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (first == 0) *clamped = there;
    uint64_t *const keys = reinterpret_cast<uint64_t *>(pairs);
    for (uint64_t i = first; i < there; i += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        const psv_pair pair = pairs[i];
        keys[i] = (uint64_t)pair.a << bits | pair.b;
    }
}

__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_unpack_pairs(psv_pair *pairs, const uint64_t *clamped, uint32_t bits) {
    const uint64_t there = *clamped;
    const uint64_t *const keys = reinterpret_cast<const uint64_t *>(pairs);
    for (uint64_t i = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x; i < there;
         i += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        const uint64_t key = keys[i];
        psv_pair pair;
        pair.a = (uint32_t)(key >> bits);
        pair.b = (uint32_t)(key & (((uint64_t)1 << bits) - 1));
        pairs[i] = pair;
    }
}

// One direction of a difference: the pairs of `list` that `other` does not hold.
struct diff_side {
    const psv_pair *list, *other;
    uint64_t count, other_count;
    psv_pair *target;
    uint64_t *target_count, *tile_counts;
    uint32_t *kept;
};

__device__ __forceinline__ diff_side side_of(const psvi_diff_input &input, bool end) {
    const uint64_t now = *input.now_count, before = *input.before_count;
    const bool overflow = now > input.capacity; // then nothing is compared and both counts are 0
    const uint64_t tiles = (input.capacity + PAIR_TILE - 1) / PAIR_TILE;
    diff_side side;
    side.list = end ? input.before : input.now;
    side.other = end ? input.now : input.before;
    side.count = overflow ? 0 : end ? before : now;
    side.other_count = end ? now : before;
    side.target = end ? input.end : input.begin;
    side.target_count = end ? input.end_count : input.begin_count;
    side.tile_counts = input.tile_counts + (end ? tiles : 0);
    side.kept = input.kept + (end ? tiles * (PAIR_TILE / 32) : 0);
    return side;
}

__device__ __forceinline__ bool holds(const psv_pair *list, uint64_t count, uint64_t key) {
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = (low + high) >> 1;
        if (ordered_pair(list[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ordered_pair(list[low]) == key;
}

// Marks and counts, tile by tile, the pairs that the other list lacks (blockIdx.y: direction). One warp takes 32
// consecutive pairs; each thread searches the other list. Reads 8 bytes a pair and the search's path.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_diff_mark(const psvi_diff_input input) {
    __shared__ uint32_t found;
    const diff_side side = side_of(input, blockIdx.y != 0);
    for (uint64_t tile = blockIdx.x; tile * PAIR_TILE < side.count; tile += gridDim.x) {
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < PAIR_TILE; at += PSVI_BLOCK_THREADS) {
            const uint64_t i = tile * PAIR_TILE + at;
            const bool keep = i < side.count && !holds(side.other, side.other_count, ordered_pair(side.list[i]));
            const uint32_t bits = __ballot_sync(0xffffffffu, keep);
            if ((threadIdx.x & 31) == 0) {
                side.kept[i / 32] = bits;
                if (bits != 0) atomicAdd(&found, __popc(bits));
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) side.tile_counts[tile] = found;
        __syncthreads();
    }
}

// Turns tile counts into first places and writes the totals. One block a direction; the running total goes from round
// to round.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_diff_scan(const psvi_diff_input input) {
    __shared__ unsigned long long sums[PSVI_BLOCK_THREADS];
    const diff_side side = side_of(input, blockIdx.x != 0);
    const uint64_t tiles = (side.count + PAIR_TILE - 1) / PAIR_TILE;
    unsigned long long before = 0;
    for (uint64_t first = 0; first < tiles; first += PSVI_BLOCK_THREADS) {
        const uint64_t tile = first + threadIdx.x;
        const unsigned long long own = tile < tiles ? side.tile_counts[tile] : 0;
        sums[threadIdx.x] = own;
        __syncthreads();
        for (int step = 1; step < PSVI_BLOCK_THREADS; step <<= 1) {
            const unsigned long long add = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
            __syncthreads();
            sums[threadIdx.x] += add;
            __syncthreads();
        }
        if (tile < tiles) side.tile_counts[tile] = before + sums[threadIdx.x] - own;
        before += sums[PSVI_BLOCK_THREADS - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) *side.target_count = before;
}

// Moves the marked pairs to their places; order is kept. One warp a run of 32 pairs; each thread sums the marks of the
// runs before its own within the tile.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_diff_move(const psvi_diff_input input) {
    const diff_side side = side_of(input, blockIdx.y != 0);
    for (uint64_t tile = blockIdx.x; tile * PAIR_TILE < side.count; tile += gridDim.x) {
        const uint32_t *const kept = side.kept + tile * (PAIR_TILE / 32);
        for (uint32_t at = threadIdx.x; at < PAIR_TILE; at += PSVI_BLOCK_THREADS) {
            const uint32_t run = at / 32, lane = at % 32, bits = kept[run];
            if (!(bits >> lane & 1)) continue;
            uint64_t place = side.tile_counts[tile] + __popc(bits & ((1u << lane) - 1));
            for (uint32_t earlier = 0; earlier < run; ++earlier)
                place += __popc(kept[earlier]);
            side.target[place] = side.list[tile * PAIR_TILE + at];
        }
    }
}

__global__ void __launch_bounds__(PSVI_BLOCK_THREADS)
    psvk_keep_pairs(const psv_pair *now, const uint64_t *now_count, psv_pair *before, uint64_t *before_count,
                    uint64_t capacity) {
    const uint64_t count = *now_count;
    if (count > capacity) return;
    const uint64_t first = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS + threadIdx.x;
    if (first == 0) *before_count = count;
    for (uint64_t i = first; i < count; i += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS)
        before[i] = now[i];
}

static uint32_t grid_of(uint64_t items, uint64_t per_block, int multiprocessors) {
    const uint64_t blocks = (items + per_block - 1) / per_block, most = (uint64_t)multiprocessors * 16;
    return (uint32_t)(blocks < most ? (blocks == 0 ? 1 : blocks) : most);
}

extern "C" uint64_t psvi_diff_tiles(uint64_t capacity) { return (capacity + PAIR_TILE - 1) / PAIR_TILE; }

extern "C" cudaError_t psvi_launch_pack_pairs(psv_pair *pairs, const uint64_t *count, uint64_t capacity, uint32_t bits,
                                              uint64_t *clamped, int multiprocessors, cudaStream_t stream) {
    psvk_pack_pairs<<<grid_of(capacity, PSVI_BLOCK_THREADS, multiprocessors), PSVI_BLOCK_THREADS, 0, stream>>>(
        pairs, count, capacity, bits, clamped);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_unpack_pairs(psv_pair *pairs, const uint64_t *clamped, uint32_t bits,
                                                int multiprocessors, cudaStream_t stream) {
    psvk_unpack_pairs<<<grid_of(UINT64_MAX / 2, PSVI_BLOCK_THREADS, multiprocessors), PSVI_BLOCK_THREADS, 0, stream>>>(
        pairs, clamped, bits);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_diff_pairs(const psvi_diff_input *input, int multiprocessors, cudaStream_t stream) {
    const dim3 grid(grid_of(input->capacity, PAIR_TILE, multiprocessors), 2);
    psvk_diff_mark<<<grid, PSVI_BLOCK_THREADS, 0, stream>>>(*input);
    psvk_diff_scan<<<2, PSVI_BLOCK_THREADS, 0, stream>>>(*input);
    psvk_diff_move<<<grid, PSVI_BLOCK_THREADS, 0, stream>>>(*input);
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_keep_pairs(const psv_pair *now, const uint64_t *now_count, psv_pair *before,
                                              uint64_t *before_count, uint64_t capacity, int multiprocessors,
                                              cudaStream_t stream) {
    psvk_keep_pairs<<<grid_of(capacity, PSVI_BLOCK_THREADS, multiprocessors), PSVI_BLOCK_THREADS, 0, stream>>>(
        now, now_count, before, before_count, capacity);
    return cudaGetLastError();
}
