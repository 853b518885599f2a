// Keys of a group's sort on CUDA.
#include <stdlib.h>

#include "../../../core/cuda/cuda_backend.h"
#include "../../cuda/launch.h"
#include "../group_keys.h"
#include "list_room.h"

namespace {

constexpr uint32_t block_threads = 256;

constexpr uint32_t part_block_warps = 4;
constexpr uint32_t part_rows = PSVI_LIST_CHUNK / 32; // of a warp's chunk
constexpr uint32_t part_batch = 8;                   // rows that are read at once

struct keys_state {
    psvi_list_room lists;
    psvi_room splitters, samples, targets;
};

// The part of a key: how many splitters are not after it.
struct part_of_key {
    psvi_key_order order;
    const void *keys;
    uint64_t first;
    const psvi_place *splitters;
    uint32_t parts;

    __device__ uint32_t operator()(uint64_t item) const {
        const psvi_place own = {psvi_group_key(order, keys, item), first + item};
        uint32_t low = 0, high = parts - 1;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (psvi_place_before(own, splitters[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }
};

// Of the lanes of a warp that have an item, each of one of 2^bits parts.
struct part_lanes {
    uint32_t peers;  // of the same part as this lane's
    uint32_t listed; // of the part whose number is this lane's
};

__device__ part_lanes tell_parts(uint32_t part, uint32_t bits, bool there) {
    const uint32_t lane = threadIdx.x % 32, all = __ballot_sync(0xffffffffu, there);
    part_lanes lanes = {all, bits >= 5 || lane >> bits == 0 ? all : 0};
    for (uint32_t b = 0; b < bits; ++b) {
        const uint32_t set = __ballot_sync(0xffffffffu, (part >> b & 1) != 0);
        lanes.peers &= (part >> b & 1) != 0 ? set : ~set;
        lanes.listed &= (lane >> b & 1) != 0 ? set : ~set;
    }
    return lanes;
}

// Input: keys. Output: how many of each warp's chunk are of each part, in tally[part * chunks + chunk], and each key's
// part, a byte, in `codes` (NULL: too many parts for that). Up to 32 parts each have a lane, which counts them; more
// are counted in shared memory. No synchronization beyond the warp. Reads 4 or 8 bytes a key, writes one.
__global__ void __launch_bounds__(part_block_warps * 32)
    psvk_count_parts(part_of_key choice, uint64_t count, uint32_t bits, uint32_t chunks, uint32_t *tally,
                     uint8_t *codes) {
    extern __shared__ uint32_t counters[];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunk = blockIdx.x * part_block_warps + warp;
    if (chunk >= chunks) return;
    uint32_t *own = counters + warp * choice.parts, listed = 0;
    const bool few = choice.parts <= 32;
    for (uint32_t p = lane; p < choice.parts; p += 32)
        own[p] = 0;
    __syncwarp();
    const uint64_t begin = (uint64_t)chunk * PSVI_LIST_CHUNK + lane;
    for (uint32_t row = 0; row < part_rows; row += part_batch) {
        uint32_t parts[part_batch];
#pragma unroll
        for (uint32_t k = 0; k < part_batch; ++k) {
            const uint64_t item = begin + (row + k) * 32;
            parts[k] = item < count ? choice(item) : 0;
            if (item < count && codes != nullptr) codes[item] = (uint8_t)parts[k];
        }
#pragma unroll
        for (uint32_t k = 0; k < part_batch; ++k) {
            const bool there = begin + (row + k) * 32 < count;
            const part_lanes lanes = tell_parts(parts[k], bits, there);
            listed += __popc(lanes.listed);
            if (!few && there && lane == (uint32_t)__ffs((int)lanes.peers) - 1) own[parts[k]] += __popc(lanes.peers);
            if (!few) __syncwarp();
        }
    }
    for (uint32_t p = lane; p < choice.parts; p += 32)
        tally[(uint64_t)p * chunks + chunk] = few ? listed : own[p];
}

// What a lane writes: the value of an item, where there are values.
template <typename Value> __device__ Value value_of(const part_of_key &choice, const Value *values, uint64_t item) {
    return values != nullptr ? values[item] : (Value)(choice.first + item);
}

// For more than 32 parts, after the prefix sums of the counts: writes each key and its value to the place of its part,
// in order. Values of one byte mean no values. Reads and writes keys and values once.
template <typename Key, typename Value>
__global__ void __launch_bounds__(part_block_warps * 32)
    psvk_write_many_parts(part_of_key choice, uint64_t count, uint32_t bits, uint32_t chunks, const uint32_t *tally,
                          const uint8_t *codes, const Value *values, const psvi_part_target *targets) {
    extern __shared__ uint32_t counters[];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunk = blockIdx.x * part_block_warps + warp;
    if (chunk >= chunks) return;
    uint32_t *own = counters + warp * choice.parts; // places in the part
    for (uint32_t p = lane; p < choice.parts; p += 32)
        own[p] = tally[(uint64_t)p * chunks + chunk] - tally[(uint64_t)p * chunks];
    __syncwarp();
    const uint64_t begin = (uint64_t)chunk * PSVI_LIST_CHUNK + lane;
    for (uint32_t row = 0; row < part_rows; ++row) {
        const uint64_t item = begin + row * 32;
        const bool there = item < count;
        const uint32_t part = !there ? 0 : codes != nullptr ? codes[item] : choice(item);
        const part_lanes lanes = tell_parts(part, bits, there);
        const uint32_t place = own[part] + __popc(lanes.peers & ((1u << lane) - 1));
        __syncwarp();
        if (there) {
            if (lane == (uint32_t)__ffs((int)lanes.peers) - 1) own[part] += __popc(lanes.peers);
            ((Key *)targets[part].keys)[place] = ((const Key *)choice.keys)[item];
            if (sizeof(Value) > 1) ((Value *)targets[part].values)[place] = value_of(choice, values, item);
        }
        __syncwarp();
    }
}

constexpr uint32_t stage_rows = 16; // that a warp puts in order before it writes them

template <typename Key, typename Value> struct part_stage {
    Key keys[stage_rows * 32];
    Value values[stage_rows * 32];
    uint8_t parts[stage_rows * 32];
};

// The same for up to 32 parts; lane p holds the place of part p. 512 items are ordered by part in shared memory, so
// that items of one part are written contiguously. No synchronization beyond the warp.
template <typename Key, typename Value>
__global__ void __launch_bounds__(part_block_warps * 32)
    psvk_write_parts(part_of_key choice, uint64_t count, uint32_t bits, uint32_t chunks, const uint32_t *tally,
                     const uint8_t *codes, const Value *values, const psvi_part_target *targets) {
    __shared__ part_stage<Key, Value> stages[part_block_warps];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunk = blockIdx.x * part_block_warps + warp;
    if (chunk >= chunks) return;
    part_stage<Key, Value> &stage = stages[warp];
    uint32_t base = 0; // of part `lane`: how many of it were written
    if (lane < choice.parts) base = tally[(uint64_t)lane * chunks + chunk] - tally[(uint64_t)lane * chunks];
    for (uint32_t half = 0; half < part_rows / stage_rows; ++half) {
        const uint64_t first = (uint64_t)chunk * PSVI_LIST_CHUNK + half * stage_rows * 32, begin = first + lane;
        uint32_t places[stage_rows], counted = 0; // places: in the part, and the part's number
        Key key[stage_rows];
        Value value[stage_rows];
#pragma unroll
        for (uint32_t k = 0; k < stage_rows; ++k) {
            const uint64_t item = begin + k * 32;
            places[k] = item < count ? codes[item] : 0;
            if (item < count) key[k] = ((const Key *)choice.keys)[item];
            if (item < count && sizeof(Value) > 1) value[k] = value_of(choice, values, item);
        }
#pragma unroll
        for (uint32_t k = 0; k < stage_rows; ++k) {
            const uint32_t part = places[k];
            const part_lanes lanes = tell_parts(part, bits, begin + k * 32 < count);
            places[k] |= (__shfl_sync(0xffffffffu, counted, part) + __popc(lanes.peers & ((1u << lane) - 1))) << 8;
            counted += __popc(lanes.listed);
        }
        uint32_t start = counted; // then the counts of the parts before
        for (uint32_t step = 1; step < 32; step *= 2) {
            const uint32_t before = __shfl_up_sync(0xffffffffu, start, step);
            if (lane >= step) start += before;
        }
        start -= counted;
#pragma unroll
        for (uint32_t k = 0; k < stage_rows; ++k) {
            const uint32_t part = places[k] & 0xff, at = __shfl_sync(0xffffffffu, start, part) + (places[k] >> 8);
            if (begin + k * 32 >= count) continue;
            stage.keys[at] = key[k];
            if (sizeof(Value) > 1) stage.values[at] = value[k];
            stage.parts[at] = (uint8_t)part;
        }
        __syncwarp();
        const uint32_t shift = base - start;
#pragma unroll 4
        for (uint32_t k = 0; k < stage_rows; ++k) {
            const uint32_t at = k * 32 + lane;
            const bool there = first + at < count;
            const uint32_t part = there ? stage.parts[at] : 0, place = __shfl_sync(0xffffffffu, shift, part) + at;
            if (!there) continue;
            ((Key *)targets[part].keys)[place] = stage.keys[at];
            if (sizeof(Value) > 1) ((Value *)targets[part].values)[place] = stage.values[at];
        }
        __syncwarp();
        base += counted;
    }
}

// samples[i]: the key at psvi_sample_place(i). A thread has one.
__global__ void psvk_sample_keys(psvi_group_keys keys, psvi_place *samples, uint64_t sample_count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= sample_count) return;
    const uint64_t place = psvi_sample_place(i, sample_count, keys.count);
    samples[i] = psvi_place{psvi_group_key(keys.order, keys.keys, place), keys.first + place};
}

// values[i] = first + index[i]. A thread has one.
template <typename Value>
__global__ void psvk_number_values(Value *values, uint64_t first, const uint32_t *index, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = (Value)(first + index[i]);
}

void close_keys(psv_context *context, void *state) {
    keys_state *own = static_cast<keys_state *>(state);
    if (own == nullptr) return;
    psvi_free_list_room(context, &own->lists);
    psvi_free_room(context, &own->splitters);
    psvi_free_room(context, &own->samples);
    psvi_free_room(context, &own->targets);
    free(own);
}

psv_status open_keys(psv_context *context, uint32_t parts, void **state) {
    keys_state *own = static_cast<keys_state *>(calloc(1, sizeof(keys_state)));
    *state = own;
    if (own == nullptr) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the parts of %u ranks", parts);
    return psvi_make_room(context, &own->splitters, parts * sizeof(psvi_place), "splitters");
}

psv_status sample_keys(psv_context *context, void *state, const psvi_group_keys *keys, psvi_place *samples,
                       uint64_t sample_count) {
    keys_state *own = static_cast<keys_state *>(state);
    const uint64_t bytes = sample_count * sizeof *samples;
    psv_status status = psvi_make_room(context, &own->samples, bytes, "samples");
    if (status != PSV_OK) return status;
    psvk_sample_keys<<<psvi_blocks_for(sample_count, block_threads), block_threads, 0, (cudaStream_t)context->stream>>>(
        *keys, (psvi_place *)own->samples.memory, sample_count);
    status = psvi_cuda_status(context, cudaGetLastError(), "psvk_sample_keys");
    if (status == PSV_OK) status = context->ops->copy(context, samples, own->samples.memory, bytes, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

part_of_key choice_of(const keys_state *own, const psvi_group_keys *keys) {
    return part_of_key{keys->order, keys->keys, keys->first, (const psvi_place *)own->splitters.memory, keys->parts};
}

uint32_t bits_for(uint32_t parts) {
    uint32_t bits = 0;
    while (1u << bits < parts)
        ++bits;
    return bits;
}

psv_status count_parts(psv_context *context, void *state, const psvi_group_keys *keys, uint64_t *counts) {
    keys_state *own = static_cast<keys_state *>(state);
    psvi_list_room *room = &own->lists;
    psv_status status = psvi_make_list_room(context, room, keys->count, keys->parts);
    if (status == PSV_OK && keys->parts > 1)
        status = context->ops->copy(context, own->splitters.memory, keys->splitters,
                                    (keys->parts - 1) * sizeof(psvi_place), PSVI_COPY_UPLOAD);
    if (status != PSV_OK) return status;
    if (room->chunks > 0)
        psvk_count_parts<<<psvi_blocks_for(room->chunks, part_block_warps), part_block_warps * 32,
                           part_block_warps * keys->parts * sizeof(uint32_t), (cudaStream_t)context->stream>>>(
            choice_of(own, keys), keys->count, bits_for(keys->parts), room->chunks, (uint32_t *)room->tally.memory,
            (uint8_t *)room->codes.memory);
    status = psvi_cuda_status(context, cudaGetLastError(), "psvk_count_parts");
    return status == PSV_OK ? psvi_read_list_counts(context, room, keys->parts, counts) : status;
}

template <typename Key, typename Value>
void launch_write(psv_context *context, const keys_state *own, const psvi_group_keys *keys, const void *values) {
    const psvi_list_room *room = &own->lists;
    const bool few = keys->parts <= 32;
    const auto kernel = few ? psvk_write_parts<Key, Value> : psvk_write_many_parts<Key, Value>;
    kernel<<<psvi_blocks_for(room->chunks, part_block_warps), part_block_warps * 32,
             few ? 0 : part_block_warps * keys->parts * sizeof(uint32_t), (cudaStream_t)context->stream>>>(
        choice_of(own, keys), keys->count, bits_for(keys->parts), room->chunks, (const uint32_t *)room->tally.memory,
        (const uint8_t *)room->codes.memory, (const Value *)values, (const psvi_part_target *)own->targets.memory);
}

template <typename Key>
void launch_write_of(psv_context *context, const keys_state *own, const psvi_group_keys *keys,
                     psvi_part_values values) {
    if (values.bytes == 0)
        launch_write<Key, uint8_t>(context, own, keys, nullptr);
    else if (values.bytes == 4)
        launch_write<Key, uint32_t>(context, own, keys, values.values);
    else
        launch_write<Key, uint64_t>(context, own, keys, values.values);
}

psv_status write_parts(psv_context *context, void *state, const psvi_group_keys *keys, psvi_part_values values,
                       const psvi_part_target *targets) {
    keys_state *own = static_cast<keys_state *>(state);
    const uint64_t bytes = keys->parts * sizeof *targets;
    if (own->lists.chunks == 0) return PSV_OK;
    psv_status status = psvi_make_room(context, &own->targets, bytes, "places of parts");
    if (status == PSV_OK) status = context->ops->copy(context, own->targets.memory, targets, bytes, PSVI_COPY_UPLOAD);
    if (status != PSV_OK) return status;
    if (keys->order.is_wide)
        launch_write_of<uint64_t>(context, own, keys, values);
    else
        launch_write_of<uint32_t>(context, own, keys, values);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_write_parts");
}

psv_status number_values(psv_context *context, void *values, uint32_t value_bytes, uint64_t first,
                         const uint32_t *index, uint64_t count) {
    if (count == 0) return PSV_OK;
    const uint32_t blocks = psvi_blocks_for(count, block_threads);
    const cudaStream_t stream = (cudaStream_t)context->stream;
    if (value_bytes == 4)
        psvk_number_values<<<blocks, block_threads, 0, stream>>>((uint32_t *)values, first, index, count);
    else
        psvk_number_values<<<blocks, block_threads, 0, stream>>>((uint64_t *)values, first, index, count);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_number_values");
}

} // namespace

extern "C" const psvi_group_key_ops psvi_cuda_group_key_ops = {open_keys,   close_keys,  sample_keys,
                                                               count_parts, write_parts, number_values};
