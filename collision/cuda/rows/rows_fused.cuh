// What the two halves of the fused kernel of `rows` share: its memory, and the barriers between its blocks.
#ifndef PAIRSIEVE_COLLISION_ROWS_FUSED_CUH
#define PAIRSIEVE_COLLISION_ROWS_FUSED_CUH

#include "plan/rows_plan.cuh"
#include "rows_rounded.cuh"
#include "sweep/rows_bound.cuh"
#include "sweep/rows_view.cuh"

#define FUSED_WARPS (ROWS_FUSED_THREADS / 32)
#define FUSED_CROWDED 0x10000u // in a barrier's count, above the arrivals: blocks that met a crowded cell

struct fused_tables {
    psvi_rows_fused *state;
    uint32_t *counts; // zero between frames; with a local table two cells a word
    uint32_t *starts; // not with a local table
    float4 *records;
    uint32_t most_cells;
    uint32_t *told;         // host memory: `failures` of the state
    psvi_rows_bound *bound; // not with a local table: a box has few candidates there at most
    psvi_rows_watch *watch;
    bool inside; // the tree is behind the sweep, in the same launch
    psvi_lbvh_at_once tree;
};

// Boxes of a warp and the ranges of places that each lane has still to go through.
struct fused_work {
    float4 first[32], second[32];
    uint32_t place[32]; // PSVD_FULL: no box
    uint2 range[ROWS_INTERVALS][32];
    uint32_t partner[ROWS_HITS][32]; // slots of boxes that pair with the lane's own
};

struct __align__(16) fused_shared {
    psvi_rows_plan plans[2]; // of even and odd frames
    uint32_t sums[FUSED_WARPS], candidates[FUSED_WARPS][2], longest[FUSED_WARPS];
    uint32_t arrived;
    uint64_t keyed; // in profiles, of the first block: when its keys were made
    unsigned long long base;
    union {
        float2 pieces[FUSED_WARPS][96];
        rows_plan_shared<ROWS_FUSED_THREADS> planning;
        struct {
            fused_work work[FUSED_WARPS];
            psvd_pair_stage<FUSED_WARPS> stage;
        };
    };
    // Behind it the local table: the start of every cell and of the end, 16 bits each.
    __device__ __forceinline__ uint16_t *table() { return reinterpret_cast<uint16_t *>(this + 1); }
    __device__ __forceinline__ const uint16_t *table() const { return reinterpret_cast<const uint16_t *>(this + 1); }
};

template <bool LOCAL>
__device__ __forceinline__ uint32_t start_of(const fused_tables &tables, const fused_shared &shared, uint32_t cell) {
    return LOCAL ? shared.table()[cell] : tables.starts[cell];
}

__device__ __forceinline__ uint32_t fused_level_of(const psvi_rows_plan &plan, const psvd_record &box) {
    return rows_record_level(plan, false, box);
}

// --- barriers between blocks -----------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t load_acquire(const uint32_t *from) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

// One thread. What it has written, and what it has seen at a barrier of its block, comes before.
__device__ __forceinline__ void add_release(uint32_t *to, uint32_t value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// The same, and returns what was there: what other blocks have written before they came comes before what follows.
__device__ __forceinline__ uint32_t add_acquire(uint32_t *to, uint32_t value) {
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
    return before;
}

// Speaks for the block at the barriers: of the last warp, which has the least to do.
__device__ __forceinline__ bool is_speaker() { return threadIdx.x == ROWS_FUSED_THREADS - 1; }

// Barrier number `which` of a frame, the first half. All threads of the block.
__device__ __forceinline__ void arrive(psvi_rows_fused *state, uint32_t which, bool crowded) {
    crowded = __syncthreads_or(crowded);
    if (is_speaker()) add_release(state->barrier[which].arrived, crowded ? 1 + FUSED_CROWDED : 1);
}

// The second half: waits for `blocks` blocks. Returns whether some block came with `crowded`.
__device__ __forceinline__ bool wait(const psvi_rows_fused *state, uint32_t which, uint32_t blocks,
                                     fused_shared *shared) {
    if (is_speaker()) {
        uint32_t arrived;
        do
            arrived = load_acquire(state->barrier[which].arrived);
        while ((arrived & (FUSED_CROWDED - 1)) < blocks);
        shared->arrived = arrived;
    }
    __syncthreads();
    return shared->arrived >= FUSED_CROWDED;
}

#endif
