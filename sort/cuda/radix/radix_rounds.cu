// Route ROUNDS, for some millions of 32-bit keys: as SPLITTERS, with several chunks for each multiprocessor. Every
// block sends its share of the input, tile by tile, to the regions of up to PSVI_RADIX_ROUNDS_CHUNKS chunks. After one
// grid barrier it sorts its chunks one after the other. That is two reads and two writes of every item; digit passes
// need four of each. Without splitters, or if a chunk does not fit in its region, nothing is sorted, and the kernels
// behind this one do it.
#include "radix_rounds.h"
#include "radix_splitters.cuh"

namespace {

constexpr int MOST = PSVI_RADIX_ROUNDS_CHUNKS; // less than there are threads

template <int KIND, int VALUE_BYTES> struct rounds_sort : splitter_sort<KIND, VALUE_BYTES, MOST> {
    using base = splitter_sort<KIND, VALUE_BYTES, MOST>;
    using base::base;
    using base::capacity;
    using base::chunks;
    using base::count;
    using base::gathered;
    using base::job;
    using base::length;
    using base::shared;
    using K = typename base::K;

    // Tile `round` of this block; all blocks have equally many.
    __device__ __forceinline__ void load_tile(uint32_t round, uint32_t tile) {
        const uint32_t begin = min((round * gridDim.x + blockIdx.x) * tile, count);
        base::load(begin, min(tile, count - begin));
    }

    // Sends the tiles to the regions. False when one of them is full. Begins after the barrier behind load_splitters.
    __device__ __forceinline__ bool send_tiles(psvi_radix_rounds_meeting *meeting, uint32_t rounds, uint32_t tile) {
        bool descent = false, scattered = false;
        base::fill_table();
        __syncthreads();
#pragma unroll 1
        for (uint32_t round = 0; round < rounds; ++round) {
            descent |= base::rank_in_block();
            // A look at a few keys is enough: it only decides what the next call tries.
            if (THREADS + threadIdx.x < length) scattered |= base::part(base::keys[1]) < base::part(base::keys[0]);
            __syncthreads();
            const uint32_t chunk = threadIdx.x, own = chunk < chunks ? shared.out.counts[chunk] : 0;
            const uint32_t claimed = own != 0 ? atomicAdd(&meeting->filled[chunk], own) : 0;
            const uint32_t start = block_scan(own, shared.sums);
            if (chunk < chunks) {
                shared.out.starts[chunk] = start;
                shared.out.counts[chunk] = 0;
            }
            __syncthreads();
            base::move_in_block();
            const bool overflow = claimed + own > capacity;
            if (chunk < chunks) shared.out.goals[chunk] = chunk * capacity + claimed - start;
            if (__syncthreads_or(overflow)) return false;
            const uint32_t items = length;
            if (round + 1 < rounds) load_tile(round + 1, tile); // on its way while this one is written
            base::write_to_regions(items);
        }
        if (__syncthreads_or(descent) && threadIdx.x == 0) meeting->unordered = 1;
        if (threadIdx.x < 32 && __any_sync(PSVI_RADIX_FULL_WARP, scattered) && threadIdx.x == 0) meeting->scattered = 1;
        return true;
    }

    // Where the chunks begin in the output; in the memory of the splitters, which have been used. One past the last
    // too.
    __device__ __forceinline__ uint32_t *begins() const { return reinterpret_cast<uint32_t *>(shared.splitters); }

    // After the grid barrier: what all blocks have found.
    __device__ __forceinline__ splitter_outcome meet_all(const psvi_radix_rounds_meeting *meeting) {
        const uint32_t chunk = threadIdx.x, own = chunk < chunks ? __ldcg(&meeting->filled[chunk]) : 0;
        if (threadIdx.x == 0) {
            shared.unordered = __ldcg(&meeting->unordered) | __ldcg(&meeting->scattered) << 1;
            shared.overflow = __ldcg(&meeting->overflow);
        }
        const uint32_t begin = block_scan(own, shared.sums);
        if (chunk <= chunks) begins()[chunk] = begin;
        __syncthreads();
        if (shared.overflow) return SPLITTERS_OVERFLOW;
        return shared.unordered ? SPLITTERS_SORTED : SPLITTERS_IN_ORDER;
    }

    __device__ __forceinline__ void gather_all(uint32_t chunk) {
        gathered = begins()[chunk + 1] - begins()[chunk];
        base::gather(chunk, 0, gathered);
    }

    // `next_chunks`: of the splitters that this call leaves.
    __device__ __forceinline__ void sort_chunks(uint32_t next_chunks) {
        uint32_t chunk = blockIdx.x;
        const uint32_t all = chunks;
        if (chunk < all) gather_all(chunk);
#pragma unroll 1
        for (; chunk < all; chunk += gridDim.x) {
            chunks = next_chunks;
            const uint32_t first = begins()[chunk], items = begins()[chunk + 1] - first;
            base::sort_chunk(chunk, first, items, [&] {
                if (chunk + gridDim.x < all) gather_all(chunk + gridDim.x);
            });
            __syncthreads();
        }
    }
};

// In: keys and values of the job. Out: sorted, or as they were. One grid barrier.
template <int KIND, int VALUE_BYTES>
__device__ __forceinline__ void sort_in_rounds(const psvi_radix_job &job, psvi_radix_rounds_state *state,
                                               const psvi_radix_rounds_call &call) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ uint64_t expected;
    __shared__ uint32_t calls, known_chunks;
    using sort_t = rounds_sort<KIND, VALUE_BYTES>;
    auto &shared = *reinterpret_cast<typename sort_t::shared_t *>(memory);
    const uint32_t count = (uint32_t)job_count(job);
    let_next_kernel_come(); // all blocks of this one are here
    if (threadIdx.x == 0) {
        expected = state->arrivals_before;
        calls = state->calls;
        known_chunks = state->chunks;
    }
    if (is_done(job)) return;
    __syncthreads();
    if (known_chunks == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            job.control->done = 0;
            job.control->veto = PSVI_RADIX_VETO_NO_SPLITTERS;
        }
        return;
    }
    constexpr uint32_t TILE = sort_t::ROWS * THREADS;
    const uint32_t capacity = min((uint32_t)call.regions.places / known_chunks, TILE);
    sort_t sort(job, call.regions, state->splitters, shared, known_chunks, capacity, count);
    const uint32_t rounds = (count + gridDim.x * TILE - 1) / (gridDim.x * TILE);
    const uint32_t tile = rounds == 0 ? 0 : (count + gridDim.x * rounds - 1) / (gridDim.x * rounds);
    auto *samples = reinterpret_cast<typename sort_t::K *>(shared.items);
    begin_look(job, count, samples);
    const auto splitter = sort.load_splitter();
    sort.load_tile(0, tile);
    sort.publish_splitter(splitter);
    if (has_crowds(count, samples)) {
        if (blockIdx.x != 0 || threadIdx.x != 0) return;
        job.control->done = 0;
        job.control->veto = PSVI_RADIX_VETO_CROWDS;
        *(volatile uint32_t *)call.ready = 0;
        return;
    }
    psvi_radix_rounds_meeting *meeting = &state->meetings[calls & 1];
    if (!sort.send_tiles(meeting, rounds, tile) && threadIdx.x == 0) meeting->overflow = 1;
    grid_barrier barrier = {&state->arrivals, expected};
    barrier.wait();
    const splitter_outcome outcome = sort.meet_all(meeting);
    if (outcome == SPLITTERS_SORTED) sort.sort_chunks(call.chunks);
    if (sort.crowded && threadIdx.x == 0) *(volatile uint32_t *)call.ready = 0;
    if (outcome == SPLITTERS_IN_ORDER)
        for (uint32_t round = 0; round < rounds; ++round) {
            sort.begin = min((round * gridDim.x + blockIdx.x) * tile, count);
            sort.length = min(tile, count - sort.begin);
            sort.copy_through();
        }
    if (blockIdx.x != 0) return;
    uint32_t *clear = reinterpret_cast<uint32_t *>(&state->meetings[~calls & 1]);
    for (uint32_t word = threadIdx.x; word < sizeof *meeting / sizeof(uint32_t); word += THREADS)
        clear[word] = 0;
    const bool done = outcome != SPLITTERS_OVERFLOW;
    if (done && threadIdx.x < job.slots) job.control->passes.plan[threadIdx.x].active = 0;
    if (threadIdx.x != 0) return;
    // Input in order may come again, and the histogram kernel finds it out sooner.
    if (outcome != SPLITTERS_SORTED)
        state->chunks = 0;
    else if (splitter_marks::worth_it(call.chunks, count))
        state->chunks = call.chunks;
    state->arrivals_before = expected;
    state->calls = calls + 1;
    job.control->done = done;
    job.control->veto = PSVI_RADIX_VETO_MISFIT;
    if (outcome != SPLITTERS_SORTED) *(volatile uint32_t *)call.ready = 0;
    if (!done) return;
    tell_order(job, outcome == SPLITTERS_IN_ORDER ? PSVI_RADIX_ORDER_SORTED
                    : shared.unordered >> 1       ? PSVI_RADIX_ORDER_OTHER
                                                  : PSVI_RADIX_ORDER_NEARLY);
    job.control->windows.state = PSVI_RADIX_NEARLY_NO;
    if (outcome == SPLITTERS_SORTED)
        tell_outcome(job, PSVI_RADIX_ROUNDS, job.veto, 1);
    else
        tell_outcome(job, PSVI_RADIX_IN_ORDER, PSVI_RADIX_VETO_NONE, 0);
}

template <int KIND, int VALUE_BYTES>
__global__ void __launch_bounds__(THREADS, 1)
    psvk_radix_rounds(const psvi_radix_job job, psvi_radix_rounds_state *state, const psvi_radix_rounds_call call) {
    if constexpr (code_holds<KIND>(PSVI_RADIX_CHUNK_KB * 1024)) sort_in_rounds<KIND, VALUE_BYTES>(job, state, call);
}

// One block. Reads a key of each share.
template <int KIND>
__global__ void psvk_radix_rounds_remember(const psvi_radix_job job, psvi_radix_rounds_state *state,
                                           const psvi_radix_rounds_call call) {
    const uint32_t count = (uint32_t)job_count(job), chunks = call.chunks;
    const psvi_radix_control *control = job.control;
    // Input in order, or nearly so, is sorted faster in other ways.
    const bool in_order = control->outcome.route == PSVI_RADIX_IN_ORDER;
    if (in_order && threadIdx.x == 0) tell_order(job, PSVI_RADIX_ORDER_SORTED);
    if (!splitter_marks::worth_it(chunks, count) || in_order || control->outcome.route == PSVI_RADIX_WINDOWS) return;
    take_splitters<KIND>(job, state->splitters, chunks, count);
    if (threadIdx.x == 0) {
        state->chunks = chunks;
        *(volatile uint32_t *)call.ready = 1;
    }
}

template <int KIND, int VALUE_BYTES>
cudaError_t launch(const psvi_radix_job *job, psvi_radix_rounds_state *state, const psvi_radix_rounds_call *call,
                   cudaStream_t stream) {
    auto kernel = psvk_radix_rounds<KIND, VALUE_BYTES>;
    constexpr int bytes = (int)sizeof(typename rounds_sort<KIND, VALUE_BYTES>::shared_t);
    static_assert(bytes + 64 <= PSVI_RADIX_CHUNK_KB * 1024, "shared memory of a block");
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    psvi_radix_job copy = *job;
    psvi_radix_rounds_call own = *call;
    void *arguments[] = {&copy, &state, &own};
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(job->multiprocessors), dim3(THREADS), arguments,
                                       bytes, stream);
}

} // namespace

extern "C" cudaError_t psvi_radix_rounds(const psvi_radix_job *job, psvi_radix_rounds_state *state,
                                         const psvi_radix_rounds_call *call, cudaStream_t stream) {
    return with_narrow_kind(job, [&](auto kind) {
        constexpr int KIND = decltype(kind)::value;
        return job->value_bytes == 0 ? launch<KIND, 0>(job, state, call, stream)
                                     : launch<KIND, 4>(job, state, call, stream);
    });
}

extern "C" cudaError_t psvi_radix_rounds_remember(const psvi_radix_job *job, psvi_radix_rounds_state *state,
                                                  const psvi_radix_rounds_call *call, cudaStream_t stream) {
    return with_narrow_kind(job, [&](auto kind) {
        psvk_radix_rounds_remember<decltype(kind)::value><<<1, THREADS, 0, stream>>>(*job, state, *call);
        return cudaGetLastError();
    });
}
