// What the two passes of the sort of `rows` for many boxes share.
#ifndef PAIRSIEVE_COLLISION_ROWS_SEGMENTS_CUH
#define PAIRSIEVE_COLLISION_ROWS_SEGMENTS_CUH

#include "../../../../core/cuda/async_copies.cuh"
#include "../rows_rounded.cuh"

#define NO_PLACE 0xffffffffu

// Copies of any length to shared memory by one thread, without waiting: `bytes` is a multiple of 16, and so are the
// addresses. A gate counts the copies of one round after another; all threads can wait for a round.
template <int GATES> __device__ __forceinline__ void open_gates(uint64_t (&gates)[GATES]) {
#if __CUDA_ARCH__ >= 900
#pragma unroll
    for (int i = 0; i < GATES; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&gates[i])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ __forceinline__ void open_gate(uint64_t *gate) { open_gates(*reinterpret_cast<uint64_t(*)[1]>(gate)); }

__device__ __forceinline__ void copy_bulk(uint64_t *gate, void *to, const void *from, uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(gate)), "r"(bytes)
                 : "memory");
    if (bytes == 0) return;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(gate))
                 : "memory");
#endif
}

__device__ __forceinline__ void wait_at_gate(uint64_t *gate, uint32_t round) {
#if __CUDA_ARCH__ >= 900
    uint32_t done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(gate)), "r"(round & 1)
                     : "memory");
    while (done == 0);
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HAS_BULK true
#else
#define HAS_BULK false
#endif

__device__ __forceinline__ void prefetch(const void *line) { asm volatile("prefetch.global.L2 [%0];" ::"l"(line)); }

// Writes a record per lane to its place, unless that is NO_PLACE: two lanes the halves of one record together, so that
// a whole sector goes out at once. All lanes together.
__device__ __forceinline__ void write_together(float4 *records, const psvd_record &record, uint32_t place) {
    const bool odd = threadIdx.x & 1;
    float4 other; // the even lane's second half, or the odd lane's first
    other.x = __shfl_xor_sync(PSVD_FULL, odd ? record.first.x : record.second.x, 1);
    other.y = __shfl_xor_sync(PSVD_FULL, odd ? record.first.y : record.second.y, 1);
    other.z = __shfl_xor_sync(PSVD_FULL, odd ? record.first.z : record.second.z, 1);
    other.w = __shfl_xor_sync(PSVD_FULL, odd ? record.first.w : record.second.w, 1);
    const uint32_t others_place = __shfl_xor_sync(PSVD_FULL, place, 1);
    const uint32_t even_place = odd ? others_place : place, odd_place = odd ? place : others_place;
    float4 value;
    value.x = odd ? other.x : record.first.x;
    value.y = odd ? other.y : record.first.y;
    value.z = odd ? other.z : record.first.z;
    value.w = odd ? other.w : record.first.w;
    if (even_place != NO_PLACE) records[2ull * even_place + odd] = value;
    value.x = odd ? record.second.x : other.x;
    value.y = odd ? record.second.y : other.y;
    value.z = odd ? record.second.z : other.z;
    value.w = odd ? record.second.w : other.w;
    if (odd_place != NO_PLACE) records[2ull * odd_place + odd] = value;
}

// Where worlds are few enough, the free bits of a record's tag hold its cell's number within the segment; otherwise
// that number is computed again.
#define NUMBER_SHIFT (32 - ROWS_SEGMENT_CELL_BITS)
#define MOST_WORLDS (1u << (NUMBER_SHIFT - PSVD_TAG_WORLD_SHIFT))

static inline bool rows_are_numbered(const psvi_find_input &input) { return input.world_count <= MOST_WORLDS; }

__device__ __forceinline__ void put_number(psvd_record *record, uint32_t number, bool numbered) {
    if (numbered) record->second.w = __uint_as_float(__float_as_uint(record->second.w) | number << NUMBER_SHIFT);
}

#endif
