// Begin and end events of pairs that need no order. A frame's pairs are sorted by counting: one pass over their first
// box, then each box's own few. Two lists take turns, so that the last frame's stays where it is. Five kernels, and
// about 60 bytes a pair and 24 a box. The pairs of kept boxes, which stay as they are, are left out of both lists.
#include "../../../core/cuda/early_launch.cuh"
#include "../broad_phase_tuning.h"
#include "../look_back.cuh"
#include "pair_groups_kernels.h"

#define GROUP_WARPS (PSVI_BLOCK_THREADS / 32)
#define GROUP_TURNS (PAIR_TILE / PSVI_BLOCK_THREADS) // pairs of a thread
#define GROUP_ALL_LANES 0xffffffffu

struct group_job {
    psvi_group_task task;
    psvi_changes changes;
    psvi_group_memory memory;
};

// What a task groups: pairs from two lists, and of these the ones with a box from `least` on.
struct group_source {
    const psv_pair *first, *second;
    uint32_t firsts, count; // of the first list, of both
    uint32_t least;
    bool done;  // the grouped list becomes the latest
    bool lacks; // it is without the pairs of kept boxes
};

// A pair in one load.
__device__ __forceinline__ uint2 group_load(const psv_pair *pairs, uint64_t i) {
    return reinterpret_cast<const uint2 *>(pairs)[i];
}

__device__ __forceinline__ uint32_t *group_seconds(psv_pair *list, uint32_t start) { return &list[start].b; }

// Sum of `value` over the threads before this one; *total: over all. sums: GROUP_WARPS words of the block's own.
__device__ __forceinline__ uint32_t group_scan_block(uint32_t value, uint32_t *sums, uint32_t *total) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t inclusive = value;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t theirs = __shfl_up_sync(GROUP_ALL_LANES, inclusive, step);
        if (lane >= step) inclusive += theirs;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = inclusive;
    __syncthreads();
    uint32_t before = 0;
    *total = 0;
#pragma unroll
    for (uint32_t w = 0; w < GROUP_WARPS; ++w) {
        if (w < warp) before += sums[w];
        *total += sums[w];
    }
    return before + inclusive - value;
}

// The next tile. All threads together. Tiles before it have been taken by blocks that are at work, however few blocks
// there is room for.
__device__ __forceinline__ uint32_t group_next_tile(uint32_t *ticket, uint32_t *shared_tile) {
    __syncthreads();
    if (threadIdx.x == 0) *shared_tile = atomicAdd(ticket, 1u);
    __syncthreads();
    return *shared_tile;
}

// The same for all threads of the count and scatter kernels: what they read here changes in other kernels alone.
__device__ __forceinline__ group_source group_source_of(const group_job &job) {
    const psvi_group_control *const control = job.memory.control;
    const psvi_changes &changes = job.changes;
    const uint32_t latest = control->latest, left_out = control->left_out[latest];
    group_source source = {job.memory.lists[latest], changes.kept_pairs, 0, 0, 0, false, false};
    if (job.task == PSVI_GROUP_FIND) {
        const uint64_t given = *changes.count;
        source.done = given <= changes.capacity; // after an overflow nothing is compared
        source.lacks = changes.serial != 0 && left_out == changes.serial;
        const uint64_t kept = source.lacks ? *changes.kept_count : 0; // in front
        source.first = changes.pairs + kept;
        source.count = source.firsts = source.done ? (uint32_t)(given - kept) : 0;
        return source;
    }
    source.lacks = job.task == PSVI_GROUP_SHORTEN;
    source.done = source.lacks ? left_out == 0 && control->serials[latest] == changes.serial : left_out != 0;
    if (!source.done) return source;
    source.count = source.firsts = control->counts[latest];
    if (source.lacks)
        source.least = changes.kept;
    else
        source.count += (uint32_t)*changes.kept_count;
    return source;
}

__device__ __forceinline__ uint2 group_pair(const group_source &source, uint64_t i) {
    return i < source.firsts ? group_load(source.first, i) : group_load(source.second, i - source.firsts);
}

__device__ __forceinline__ bool group_takes(const group_source &source, uint2 pair) {
    return max(pair.x, pair.y) >= source.least;
}

// What the task's kernels go by. One thread; the other ones of its launch do not look at what it writes.
__device__ __forceinline__ void group_begin_task(const group_job &job, const group_source &source) {
    psvi_group_control *const control = job.memory.control;
    const uint32_t before = control->latest, now = before ^ 1u;
    ++control->epoch;
    control->now = now;
    control->done = source.done;
    control->long_rows = 0;
    control->left_out[now] = source.lacks ? job.changes.serial : 0;
    control->serials[now] = job.task == PSVI_GROUP_WIDEN ? control->serials[before] : job.changes.serial;
    control->sizes[PSVI_GROUP_BEGINS] = source.count;
    control->sizes[PSVI_GROUP_ENDS] = source.done ? control->counts[before] : 0;
    for (int i = 0; i < PSVI_GROUP_CHAINS; ++i)
        control->tickets[i] = 0;
    if (job.task == PSVI_GROUP_FIND)
        *job.changes.begin_count = *job.changes.end_count = 0; // where there is nothing to compare
}

__device__ __forceinline__ uint32_t *group_ranks(const group_job &job) { // until the begins are written
    return reinterpret_cast<uint32_t *>(job.changes.begin);
}

// The rank of a pair among those of its first box. Pairs of one warp and box, as a floor has many, add to its count
// together. All lanes together; `here`: the lane has a pair.
__device__ __forceinline__ uint32_t group_take_rank(uint32_t *box_counts, uint32_t first, bool here) {
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t peers = __match_any_sync(GROUP_ALL_LANES, here ? first : UINT32_MAX), leader = __ffs(peers) - 1;
    uint32_t base = 0;
    if (here && lane == leader) base = atomicAdd(box_counts + first, (uint32_t)__popc(peers));
    return __shfl_sync(GROUP_ALL_LANES, base, leader) + __popc(peers & ((1u << lane) - 1));
}

// Counts the pairs of each first box; a pair's rank is how many came before it. Four pairs a thread. Reads 8 bytes a
// pair, writes 4, and adds to a random word.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_group_count(const group_job job) {
    const group_source source = group_source_of(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) group_begin_task(job, source);
    uint32_t *const ranks = group_ranks(job);
    for (uint64_t tile = (uint64_t)blockIdx.x * PAIR_TILE; tile < source.count;
         tile += (uint64_t)gridDim.x * PAIR_TILE) {
        uint2 pair[GROUP_TURNS] = {};
        bool takes[GROUP_TURNS] = {};
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            const uint64_t i = tile + j * PSVI_BLOCK_THREADS + threadIdx.x;
            if (i >= source.count) continue;
            pair[j] = group_pair(source, i);
            takes[j] = group_takes(source, pair[j]);
        }
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            const uint32_t rank = group_take_rank(job.memory.box_counts, pair[j].x, takes[j]);
            if (takes[j]) ranks[tile + j * PSVI_BLOCK_THREADS + threadIdx.x] = rank;
        }
    }
}

// Places of all boxes from their counts, which become zero. Notes boxes with many pairs. A tile of boxes a block and
// turn; reads 4 bytes a box and writes 8.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_group_scan(const group_job job, uint32_t tiles) {
    __shared__ uint32_t sums[GROUP_WARPS], shared_tile, shared_before;
    psvd_wait_for_front();
    psvi_group_control *const control = job.memory.control;
    const uint32_t epoch = control->epoch;
    uint32_t *const starts = job.memory.starts[control->now];
    uint32_t *const ticket = &control->tickets[PSVI_GROUP_SCAN];
    for (uint32_t tile; (tile = group_next_tile(ticket, &shared_tile)) < tiles;) {
        const uint64_t first = (uint64_t)tile * GROUP_SCAN_TILE + 8 * threadIdx.x;
        uint4 *const counts = reinterpret_cast<uint4 *>(job.memory.box_counts + first);
        const uint4 low = counts[0], high = counts[1];
        counts[0] = counts[1] = make_uint4(0, 0, 0, 0);
        const uint32_t own[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        uint32_t places[8], sum = 0, total;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            places[k] = sum;
            sum += own[k];
            if (own[k] > GROUP_WARP_ROW)
                job.memory.long_rows[atomicAdd(&control->long_rows, 1u)] = (uint32_t)(first + k);
        }
        uint32_t before = group_scan_block(sum, sums, &total);
        if (threadIdx.x < 32) {
            const uint32_t chained = psvd_chain_tile(job.memory.states[PSVI_GROUP_SCAN], tile, epoch, total);
            if (threadIdx.x == 0) shared_before = chained;
        }
        __syncthreads();
        before += shared_before;
        if (tile + 1 == tiles && threadIdx.x == 0) control->counts[control->now] = shared_before + total;
        uint4 *const to = reinterpret_cast<uint4 *>(starts + first);
        to[0] = make_uint4(before + places[0], before + places[1], before + places[2], before + places[3]);
        to[1] = make_uint4(before + places[4], before + places[5], before + places[6], before + places[7]);
    }
}

// Pairs to their places. Four pairs a thread; reads 12 bytes a pair and a random word, writes 8 bytes at random.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_group_scatter(const group_job job) {
    psvd_wait_for_front();
    const psvi_group_control *const control = job.memory.control;
    const group_source source = group_source_of(job);
    const uint32_t *const starts = job.memory.starts[control->now], *const ranks = group_ranks(job);
    uint2 *const list = reinterpret_cast<uint2 *>(job.memory.lists[control->now]);
    for (uint64_t tile = (uint64_t)blockIdx.x * PAIR_TILE; tile < source.count;
         tile += (uint64_t)gridDim.x * PAIR_TILE) {
        uint2 pair[GROUP_TURNS] = {};
        uint32_t place[GROUP_TURNS];
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            const uint64_t i = tile + j * PSVI_BLOCK_THREADS + threadIdx.x;
            place[j] = UINT32_MAX;
            if (i >= source.count) continue;
            pair[j] = group_pair(source, i);
            if (group_takes(source, pair[j])) place[j] = starts[pair[j].x] + ranks[i];
        }
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j)
            if (place[j] != UINT32_MAX) list[place[j]] = pair[j];
    }
}

// --- the order of one box's pairs ------------------------------------------------------------------------------------

// A row is the pairs of one first box: only the second boxes move.
__device__ __forceinline__ void group_order_by_thread(psv_pair *list, uint32_t start, uint32_t count) {
    const uint32_t first = *group_seconds(list, start), second = *group_seconds(list, start + 1);
    if (count == 2) {
        if (first < second) return;
        *group_seconds(list, start) = second;
        *group_seconds(list, start + 1) = first;
        return;
    }
    uint32_t sorted[PSVI_THREAD_ROW] = {min(first, second), max(first, second)};
    bool moved = first > second;
    for (uint32_t k = 2; k < count; ++k) {
        const uint32_t value = *group_seconds(list, start + k);
        uint32_t at = k;
        for (; at > 0 && sorted[at - 1] > value; --at)
            sorted[at] = sorted[at - 1];
        sorted[at] = value;
        moved = moved || at != k;
    }
    for (uint32_t k = 0; k < count && moved; ++k)
        *group_seconds(list, start + k) = sorted[k];
}

// Each pair's place is the number of smaller ones. `stage`: GROUP_WARP_ROW words of the warp's own.
__device__ __forceinline__ void group_order_by_warp(psv_pair *list, uint32_t start, uint32_t count, uint32_t *stage) {
    const uint32_t lane = threadIdx.x & 31;
    for (uint32_t k = lane; k < count; k += 32)
        stage[k] = *group_seconds(list, start + k);
    __syncwarp();
    for (uint32_t k = lane; k < count; k += 32) {
        const uint32_t own = stage[k];
        uint32_t rank = 0;
        for (uint32_t other = 0; other < count; ++other)
            rank += stage[other] < own;
        *group_seconds(list, start + rank) = own;
    }
    __syncwarp();
}

struct group_bits_shared {
    uint32_t sums[GROUP_WARPS], low, high;
};

// Sets a bit for each second box, and reads them in order. All bits are zero before and after.
static __device__ void group_order_by_bits(psv_pair *list, uint32_t start, uint32_t count, uint32_t *bits,
                                           group_bits_shared &shared) {
    __syncthreads();
    if (threadIdx.x == 0) shared.low = UINT32_MAX, shared.high = 0;
    __syncthreads();
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t k = threadIdx.x; k < count; k += PSVI_BLOCK_THREADS) {
        const uint32_t second = *group_seconds(list, start + k);
        atomicOr(bits + second / 32, 1u << second % 32);
        low = min(low, second);
        high = max(high, second);
    }
    atomicMin(&shared.low, low);
    atomicMax(&shared.high, high);
    __syncthreads();
    const uint32_t first = shared.low / 128, end = shared.high / 128 + 1; // of runs of four words
    for (uint32_t from = first; from < end; from += PSVI_BLOCK_THREADS) {
        const uint32_t run = from + threadIdx.x;
        uint4 four = make_uint4(0, 0, 0, 0);
        if (run < end) {
            four = __ldcg(reinterpret_cast<const uint4 *>(bits) + run);
            __stcg(reinterpret_cast<uint4 *>(bits) + run, make_uint4(0, 0, 0, 0));
        }
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
        uint32_t own = 0, total;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            own += __popc(words[k]);
        uint32_t place = start + group_scan_block(own, shared.sums, &total);
#pragma unroll
        for (int k = 0; k < 4; ++k)
            for (uint32_t word = words[k]; word != 0; word &= word - 1)
                *group_seconds(list, place++) = 128 * run + 32 * k + __ffs(word) - 1;
        start += total;
    }
}

// Rows in ascending order of their second boxes. Long rows first, a block each; then a tile of boxes a block and turn:
// a thread orders a short row, a warp a longer one. Reads 4 bytes a box and 8 a pair, writes 4 a pair.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_group_order(const group_job job) {
    __shared__ uint32_t stage[GROUP_WARPS][GROUP_WARP_ROW];
    __shared__ uint16_t rows[PSVI_BLOCK_THREADS];
    __shared__ uint32_t row_count;
    __shared__ group_bits_shared shared_bits;
    psvd_wait_for_front();
    psvi_group_control *const control = job.memory.control;
    const uint32_t *const starts = job.memory.starts[control->now];
    psv_pair *const list = job.memory.lists[control->now];
    if (blockIdx.x == 0 && threadIdx.x == 0 && control->done) control->latest = control->now;
    if (blockIdx.x < job.memory.bit_blocks) {
        for (uint32_t r = blockIdx.x; r < control->long_rows; r += min(gridDim.x, job.memory.bit_blocks)) {
            const uint32_t box = job.memory.long_rows[r];
            group_order_by_bits(list, starts[box], starts[box + 1] - starts[box],
                                job.memory.bits + (uint64_t)blockIdx.x * job.memory.bit_words, shared_bits);
        }
        __syncthreads(); // reads of `sums` are wide and may take `row_count` along
    }
    for (uint64_t tile = (uint64_t)blockIdx.x * PSVI_BLOCK_THREADS; tile < job.changes.boxes;
         tile += (uint64_t)gridDim.x * PSVI_BLOCK_THREADS) {
        const uint64_t box = tile + threadIdx.x;
        const bool here = box < job.changes.boxes;
        const uint32_t start = here ? starts[box] : 0, count = here ? starts[box + 1] - start : 0;
        const bool longer = count > PSVI_THREAD_ROW && count <= GROUP_WARP_ROW;
        if (count > 1 && count <= PSVI_THREAD_ROW) group_order_by_thread(list, start, count);
        if (threadIdx.x == 0) row_count = 0;
        if (!__syncthreads_or(longer)) continue;
        if (longer) rows[atomicAdd(&row_count, 1u)] = (uint16_t)threadIdx.x;
        __syncthreads();
        for (uint32_t r = threadIdx.x >> 5; r < row_count; r += GROUP_WARPS) {
            const uint64_t own = tile + rows[r];
            group_order_by_warp(list, starts[own], starts[own + 1] - starts[own], stage[threadIdx.x >> 5]);
        }
        __syncthreads();
    }
}

// --- the difference --------------------------------------------------------------------------------------------------

// The pairs of `list` that the other list does not hold.
struct group_side {
    const psv_pair *list, *other;
    const uint32_t *other_starts;
    uint32_t count;
    psv_pair *target;
    uint64_t *target_count, *states;
};

__device__ __forceinline__ group_side group_side_of(const group_job &job, uint32_t way) {
    const psvi_group_control *const control = job.memory.control;
    const uint32_t now = control->now, own = way == PSVI_GROUP_BEGINS ? now : now ^ 1u;
    group_side side;
    side.list = job.memory.lists[own];
    side.other = job.memory.lists[own ^ 1u];
    side.other_starts = job.memory.starts[own ^ 1u];
    side.count = control->sizes[way];
    side.target = way == PSVI_GROUP_BEGINS ? job.changes.begin : job.changes.end;
    side.target_count = way == PSVI_GROUP_BEGINS ? job.changes.begin_count : job.changes.end_count;
    side.states = job.memory.states[way];
    return side;
}

// Which of a lane's pairs the other list lacks, a bit each. The searches go on side by side, so that their reads do
// too.
__device__ __forceinline__ uint32_t group_find_lacking(const group_side &side, const uint2 (&pair)[GROUP_TURNS],
                                                       uint64_t first) {
    uint32_t low[GROUP_TURNS], high[GROUP_TURNS], lacking = 0;
#pragma unroll
    for (int j = 0; j < GROUP_TURNS; ++j) {
        const bool here = first + 32 * j < side.count;
        low[j] = here ? side.other_starts[pair[j].x] : 0;
        high[j] = here ? side.other_starts[pair[j].x + 1] : 0;
        lacking |= here ? 1u << j : 0;
    }
    for (bool more = true; more;) {
        more = false;
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            if (low[j] >= high[j]) continue;
            const uint32_t middle = low[j] + (high[j] - low[j]) / 2, found = side.other[middle].b;
            if (found == pair[j].y) lacking &= ~(1u << j);
            if (found < pair[j].y)
                low[j] = middle + 1;
            else
                high[j] = found == pair[j].y ? low[j] : middle;
            more = more || low[j] < high[j];
        }
    }
    return lacking;
}

// What one list has and the other one lacks, in order. blockIdx.y: begins or ends. A tile of pairs a block and turn,
// 128 in a row for each warp; each lane searches the other list's row. Reads 8 bytes a pair, 8 of the row's bounds and
// the row; writes 8 bytes an event.
__global__ void __launch_bounds__(PSVI_BLOCK_THREADS) psvk_group_diff(const group_job job) {
    __shared__ uint32_t sums[GROUP_WARPS], shared_tile, shared_before;
    psvd_wait_for_front();
    psvi_group_control *const control = job.memory.control;
    const group_side side = group_side_of(job, blockIdx.y);
    const uint32_t epoch = control->epoch, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t *const ticket = &control->tickets[blockIdx.y];
    for (uint32_t tile; (uint64_t)(tile = group_next_tile(ticket, &shared_tile)) * PAIR_TILE < side.count;) {
        const uint64_t first = (uint64_t)tile * PAIR_TILE + warp * (PAIR_TILE / GROUP_WARPS) + lane;
        uint2 pair[GROUP_TURNS];
        uint32_t kept[GROUP_TURNS], found = 0, total = 0, before = 0;
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j)
            pair[j] = first + 32 * j < side.count ? group_load(side.list, first + 32 * j) : make_uint2(0, 0);
        const uint32_t lacking = group_find_lacking(side, pair, first);
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            kept[j] = __ballot_sync(GROUP_ALL_LANES, lacking >> j & 1);
            found += __popc(kept[j]);
        }
        if (lane == 0) sums[warp] = found;
        __syncthreads();
#pragma unroll
        for (uint32_t w = 0; w < GROUP_WARPS; ++w) {
            if (w < warp) before += sums[w];
            total += sums[w];
        }
        if (warp == 0) {
            const uint32_t chained = psvd_chain_tile(side.states, tile, epoch, total);
            if (lane == 0) shared_before = chained;
            if (lane == 0 && (uint64_t)(tile + 1) * PAIR_TILE >= side.count) *side.target_count = chained + total;
        }
        __syncthreads();
        uint64_t place = (uint64_t)shared_before + before;
#pragma unroll
        for (int j = 0; j < GROUP_TURNS; ++j) {
            if (kept[j] >> lane & 1)
                reinterpret_cast<uint2 *>(side.target)[place + __popc(kept[j] & ((1u << lane) - 1))] = pair[j];
            place += __popc(kept[j]);
        }
    }
}

static uint32_t blocks_for(uint64_t items, uint64_t per_block, int multiprocessors) {
    const uint64_t blocks = (items + per_block - 1) / per_block, most = (uint64_t)multiprocessors * 8;
    return (uint32_t)(blocks < most ? (blocks == 0 ? 1 : blocks) : most);
}

extern "C" cudaError_t psvi_launch_groups(psvi_group_task task, const psvi_changes *changes,
                                          const psvi_group_memory *memory, int multiprocessors, bool early,
                                          cudaStream_t stream) {
    const group_job job = {task, *changes, *memory};
    const uint32_t pair_blocks = blocks_for(changes->capacity, PAIR_TILE, multiprocessors);
    const uint32_t tiles = (uint32_t)(changes->boxes / GROUP_SCAN_TILE + 1);
    uint32_t order_blocks = blocks_for(changes->boxes, PSVI_BLOCK_THREADS, multiprocessors);
    if (order_blocks < memory->bit_blocks) order_blocks = memory->bit_blocks;
    const auto launch = [&](bool follows, auto kernel, dim3 blocks, const auto &...more) {
        return psvi_launch_early(follows && early, stream, kernel, blocks, PSVI_BLOCK_THREADS, 0, job, more...);
    };
    cudaError_t error = launch(false, psvk_group_count, pair_blocks);
    if (error == cudaSuccess) error = launch(true, psvk_group_scan, blocks_for(tiles, 1, multiprocessors), tiles);
    if (error == cudaSuccess) error = launch(true, psvk_group_scatter, pair_blocks);
    if (error == cudaSuccess) error = launch(true, psvk_group_order, order_blocks);
    if (error == cudaSuccess && task == PSVI_GROUP_FIND) error = launch(true, psvk_group_diff, dim3(pair_blocks, 2));
    return error;
}
