// The vector merge sort of `hybrid`: Sintorn & Assarsson 2007, section III, on four keys and their four indices at a
// time. Keys that are equal are ordered by index, so every couple is different and the result is the stable one.
//
// Chosen otherwise than in the paper:
//   - «one thread per pair of lists» holds up to 16 elements a pair; beyond, a pair is shared by as many threads
//     as it has 16s, each of which finds where its part of the output begins by a binary search along a diagonal (merge
//     path). The paper's way leaves one thread per sublist in the last pass, which a card with 16,896 processors cannot
//     hide; nor could it keep sublists short when most keys are equal.
//   - a list that ends counts as followed by greatest elements, so the remainder that the paper's Figure 3 writes out
//     before the rest of the other list is merged with it, as it has to be.
#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/cuda/last_not_above.cuh"
#include "../../../sort/cuda/launch.h"
#include "../../../sort/cuda/select_buffer.cuh"
#include "hybrid.h"

namespace {

constexpr uint32_t threads = 128;

// Elements of a merge that one thread writes: few, so that all processors have work and what a warp reads stays in the
// first-level cache (measured on an H200: 2M elements in 0.50 ms with 16; twice as many in 1.57 ms with 32).
constexpr uint32_t share = 16;

template <typename Field> struct element {
    Field field;
    uint32_t index;
};

template <typename Field> struct vector4 { element<Field> e[4]; };

template <typename Field> __device__ __forceinline__ bool before(const element<Field> &a, const element<Field> &b) {
    return a.field < b.field || (a.field == b.field && a.index < b.index);
}

template <typename Field> __device__ __forceinline__ void order(element<Field> &a, element<Field> &b) {
    if (!before(b, a)) return;
    const element<Field> greater = a;
    a = b;
    b = greater;
}

// sortElements of the paper: three vector steps, five comparators.
template <typename Field> __device__ __forceinline__ void sort4(vector4<Field> &v) {
    order(v.e[0], v.e[1]);
    order(v.e[2], v.e[3]);
    order(v.e[0], v.e[2]);
    order(v.e[1], v.e[3]);
    order(v.e[1], v.e[2]);
}

// The four lowest of two sorted vectors to a, the four highest to b, both sorted again (Figure 1).
template <typename Field> __device__ __forceinline__ void split_low_high(vector4<Field> &a, vector4<Field> &b) {
    order(a.e[0], b.e[3]);
    order(a.e[1], b.e[2]);
    order(a.e[2], b.e[1]);
    order(a.e[3], b.e[0]);
    sort4(a);
    sort4(b);
}

__device__ __forceinline__ void load_fields(const uint32_t *from, uint32_t *to) {
    const uint4 v = *(const uint4 *)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

__device__ __forceinline__ void load_fields(const uint64_t *from, uint64_t *to) {
    const ulonglong2 low = ((const ulonglong2 *)from)[0], high = ((const ulonglong2 *)from)[1];
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

__device__ __forceinline__ void store_fields(uint32_t *to, const uint32_t *from) {
    *(uint4 *)to = make_uint4(from[0], from[1], from[2], from[3]);
}

__device__ __forceinline__ void store_fields(uint64_t *to, const uint64_t *from) {
    ((ulonglong2 *)to)[0] = make_ulonglong2(from[0], from[1]);
    ((ulonglong2 *)to)[1] = make_ulonglong2(from[2], from[3]);
}

// A sorted list in slots [at, end).
template <typename Field> struct list {
    const Field *fields;
    const uint32_t *index;
    uint32_t at, end;

    __device__ __forceinline__ element<Field> get(uint32_t i) const {
        if (i >= end) return {(Field) ~(Field)0, UINT32_MAX};
        return {fields[i], index[i]};
    }

    // The next four, which need not start at a multiple of four where a pair of lists is shared.
    __device__ __forceinline__ vector4<Field> take() {
        vector4<Field> v;
        if (at % 4 == 0 && at < end) {
            Field f[4];
            uint32_t x[4];
            load_fields(fields + at, f);
            load_fields(index + at, x);
#pragma unroll
            for (int k = 0; k < 4; ++k)
                v.e[k] = {f[k], x[k]};
        } else {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                v.e[k] = get(at + k);
        }
        at += 4;
        return v;
    }
};

template <typename Field>
__device__ __forceinline__ void store(Field *fields, uint32_t *index, uint32_t at, const vector4<Field> &v) {
    const Field f[4] = {v.e[0].field, v.e[1].field, v.e[2].field, v.e[3].field};
    const uint32_t x[4] = {v.e[0].index, v.e[1].index, v.e[2].index, v.e[3].index};
    store_fields(fields + at, f);
    store_fields(index + at, x);
}

// Moves both lists to where output `diagonal` of their merge begins.
template <typename Field> __device__ __forceinline__ void skip(list<Field> &a, list<Field> &b, uint32_t diagonal) {
    const uint32_t a_count = a.end - a.at, b_count = b.end - b.at;
    uint32_t low = diagonal > b_count ? diagonal - b_count : 0, high = min(diagonal, a_count);
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (before(a.get(a.at + middle), b.get(b.at + diagonal - 1 - middle)))
            low = middle + 1;
        else
            high = middle;
    }
    a.at += low;
    b.at += diagonal - low;
}

// Figure 3: merges the lists' first `vectors` vectors to the output. The vector that follows is taken from the list
// with the lower head: of the elements loaded so far the greatest is the last of one list, so everything that this list
// has left is not below the remainder, and the four lowest are among the remainder and the vector taken.
template <typename Field>
__device__ __forceinline__ void merge(list<Field> a, list<Field> b, Field *fields, uint32_t *index, uint32_t to,
                                      uint32_t vectors) {
    element<Field> a_head = a.get(a.at), b_head = b.get(b.at);
    vector4<Field> rest;
    for (uint32_t v = 0; v <= vectors; ++v) {
        vector4<Field> next;
        if (before(a_head, b_head)) {
            next = a.take();
            a_head = a.get(a.at);
        } else {
            next = b.take();
            b_head = b.get(b.at);
        }
        if (v > 0) {
            split_low_high(rest, next);
            store(fields, index, to + (v - 1) * 4, rest);
        }
        rest = next;
    }
}

// Input and output: slots, four at a time. One thread sorts one vector. No barrier.
template <typename Field> __global__ void __launch_bounds__(threads) psvk_hybrid_sort_vectors(psvi_hybrid_data data) {
    const uint64_t at = ((uint64_t)blockIdx.x * threads + threadIdx.x) * 4;
    if (at >= data.starts[data.buckets]) return;
    Field *fields = (Field *)data.slot_fields[0];
    list<Field> from = {fields, data.slot_index[0], (uint32_t)at, (uint32_t)at + 4};
    vector4<Field> v = from.take();
    sort4(v);
    store(fields, data.slot_index[0], (uint32_t)at, v);
}

// Input: runs of `run` sorted slots in every sublist, in slot_fields[source]. Output: runs of twice that in the other.
// A thread owns a window of slots and merges the parts that begin in it (one, but for short sublists). No barrier.
// Reads and writes every slot once.
template <typename Field>
__global__ void __launch_bounds__(threads) psvk_hybrid_merge(psvi_hybrid_data data, uint32_t pass, uint32_t run) {
    if (pass >= data.state->merge_passes) return;
    const uint32_t slots = data.starts[data.buckets];
    const uint32_t window = run < share / 2 ? 2 * run : share;
    const uint64_t window_first = ((uint64_t)blockIdx.x * threads + threadIdx.x) * window;
    if (window_first >= slots) return;
    const uint64_t window_end = min(window_first + window, (uint64_t)slots);
    const Field *fields = (const Field *)psvi::select_buffer(data.slot_fields, pass % 2);
    const uint32_t *index = psvi::select_buffer(data.slot_index, pass % 2);
    Field *fields_out = (Field *)psvi::select_buffer(data.slot_fields, 1 - pass % 2);
    uint32_t *index_out = psvi::select_buffer(data.slot_index, 1 - pass % 2);

    uint32_t sublist = last_not_above(data.starts, data.buckets, (uint32_t)window_first);
    uint32_t first = data.starts[sublist], end = data.starts[sublist + 1];
    uint64_t part = first + ((window_first - first + window - 1) / window) * window;
    for (;;) {
        while (part >= end && sublist + 1 < data.buckets) {
            ++sublist;
            part = first = end;
            end = data.starts[sublist + 1];
        }
        if (part >= window_end || part >= end) return;
        const uint32_t at = (uint32_t)part;
        const uint32_t pair = first + (uint32_t)((at - first) / (2 * (uint64_t)run) * (2 * (uint64_t)run));
        const uint32_t b_first = (uint32_t)min((uint64_t)pair + run, (uint64_t)end);
        const uint32_t b_end = (uint32_t)min((uint64_t)pair + 2 * (uint64_t)run, (uint64_t)end);
        list<Field> a = {fields, index, pair, b_first}, b = {fields, index, b_first, b_end};
        if (at != pair) skip(a, b, at - pair);
        merge(a, b, fields_out, index_out, at, min(window, b_end - at) / 4);
        part += window;
    }
}

} // namespace

extern "C" psv_status psvi_hybrid_sort_vectors(psv_context *context, const psvi_hybrid_data *data) {
    const uint32_t blocks = psvi_blocks_for(data->slots, 4 * threads);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_hybrid_sort_vectors<uint64_t><<<blocks, threads, 0, stream>>>(*data);
    else
        psvk_hybrid_sort_vectors<uint32_t><<<blocks, threads, 0, stream>>>(*data);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid vector sort launch");
}

extern "C" psv_status psvi_hybrid_merge(psv_context *context, const psvi_hybrid_data *data, uint32_t pass,
                                        uint64_t run) {
    const uint32_t window = run < share / 2 ? 2 * (uint32_t)run : share;
    const uint32_t blocks = psvi_blocks_for(data->slots, window * threads);
    cudaStream_t stream = (cudaStream_t)context->stream;
    if (data->field_bytes == 8)
        psvk_hybrid_merge<uint64_t><<<blocks, threads, 0, stream>>>(*data, pass, (uint32_t)run);
    else
        psvk_hybrid_merge<uint32_t><<<blocks, threads, 0, stream>>>(*data, pass, (uint32_t)run);
    return psvi_cuda_status(context, cudaGetLastError(), "hybrid merge launch");
}
