// Lists of items for each target, on the device: item numbers, one list after another. An item may be in several lists.
//
// A choice is a type with a cursor: begin(item, cursor), then next(cursor, list) for each of the item's distinct lists;
// after the first, is_single(cursor) says whether it was the only one.
#ifndef PAIRSIEVE_PART_LISTS_CUH
#define PAIRSIEVE_PART_LISTS_CUH

#include "../../../core/cuda/cuda_backend.h"
#include "../../cuda/scan_sums.h"
#include "list_room.h"

namespace psvi {

constexpr uint32_t list_block_warps = 4;

constexpr uint32_t list_batch = 4;                  // rows whose items are read at once
constexpr uint8_t code_none = 254, code_many = 255; // of an item; below: the list that it is in

// The choice where each item is in one list: list_of(item).
template <typename List> struct one_list {
    List list_of;

    struct cursor {
        uint32_t list;
        bool done;
    };

    __device__ void begin(uint64_t item, cursor &at) const { at = cursor{list_of(item), false}; }

    __device__ bool next(cursor &at, uint32_t &list) const {
        list = at.list;
        const bool there = !at.done;
        at.done = true;
        return there;
    }

    __device__ bool is_single(const cursor &) const { return true; }
};

// What is known of an item before it is written: 0 no list, 1 one, 2 it may be several.
template <typename Choice>
__device__ uint32_t choose_first(const Choice &choice, uint64_t item, typename Choice::cursor &cursor, uint32_t &list) {
    choice.begin(item, cursor);
    if (!choice.next(cursor, list)) return 0;
    return choice.is_single(cursor) ? 1 : 2;
}

// Input: items as the choice reads them. Each warp has a chunk of items and counts them by list in shared memory. Rows
// of 32 items are processed in order; lanes of one list find each other by match. Counting: writes the counts of its
// chunk to tally[list * chunks + chunk], and a byte an item to `codes` (NULL: too many lists for that). Writing: starts
// at the prefix sums of the counts, which are places, and writes item numbers there; with the codes it need not read
// the items. Items of one list keep their order where each item has one list. No synchronization beyond the warp.
template <typename Choice, bool write>
__global__ void __launch_bounds__(list_block_warps * 32)
    psvk_part_lists(Choice choice, uint64_t count, uint32_t list_count, uint32_t chunks, uint32_t *tally,
                    uint8_t *codes, uint32_t *index) {
    extern __shared__ uint32_t counters[];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunk = blockIdx.x * list_block_warps + warp;
    if (chunk >= chunks) return;
    uint32_t *own = counters + (uint64_t)warp * list_count;
    for (uint32_t l = lane; l < list_count; l += 32)
        own[l] = write ? tally[(uint64_t)l * chunks + chunk] : 0;
    __syncwarp();
    const uint64_t begin = (uint64_t)chunk * PSVI_LIST_CHUNK + lane;
    for (uint32_t row = 0; row < PSVI_LIST_CHUNK / 32; row += list_batch) {
        typename Choice::cursor cursors[list_batch];
        uint32_t lists[list_batch], known[list_batch];
#pragma unroll
        for (uint32_t k = 0; k < list_batch; ++k) {
            const uint64_t item = begin + (row + k) * 32;
            known[k] = lists[k] = 0;
            if (item >= count) continue;
            if (write && codes != nullptr) {
                lists[k] = codes[item];
                known[k] = lists[k] == code_none ? 0 : lists[k] == code_many ? 2 : 1;
            } else {
                known[k] = choose_first(choice, item, cursors[k], lists[k]);
            }
            if (!write && codes != nullptr)
                codes[item] = known[k] == 0 ? code_none : known[k] == 1 ? (uint8_t)lists[k] : code_many;
        }
#pragma unroll
        for (uint32_t k = 0; k < list_batch; ++k) {
            const uint64_t item = begin + (row + k) * 32;
            if (write && codes != nullptr && known[k] == 2) known[k] = choose_first(choice, item, cursors[k], lists[k]);
            bool active = known[k] != 0;
            for (uint32_t mask = __ballot_sync(0xffffffffu, active); mask != 0;
                 mask = __ballot_sync(0xffffffffu, active)) {
                if (!active) continue;
                const uint32_t peers = __match_any_sync(mask, lists[k]);
                const uint32_t place = own[lists[k]] + __popc(peers & ((1u << lane) - 1));
                __syncwarp(mask);
                if (lane == (uint32_t)__ffs((int)peers) - 1) own[lists[k]] += __popc(peers);
                __syncwarp(mask);
                if (write) index[place] = (uint32_t)item;
                active = known[k] == 2 && choice.next(cursors[k], lists[k]);
            }
        }
    }
    __syncwarp();
    for (uint32_t l = lane; l < list_count && !write; l += 32)
        tally[(uint64_t)l * chunks + chunk] = own[l];
}

// Counts, and their prefix sums in place; then counts[l] on the host. Blocks.
template <typename Choice>
psv_status count_lists(psv_context *context, psvi_list_room *room, const Choice &choice, uint64_t count,
                       uint32_t list_count, uint64_t *counts) {
    psv_status status = psvi_make_list_room(context, room, count, list_count);
    if (status != PSV_OK) return status;
    const cudaStream_t stream = (cudaStream_t)context->stream;
    if (room->chunks > 0)
        psvk_part_lists<Choice, false>
            <<<(room->chunks + list_block_warps - 1) / list_block_warps, list_block_warps * 32,
               list_block_warps * list_count * sizeof(uint32_t), stream>>>(choice, count, list_count, room->chunks,
                                                                           (uint32_t *)room->tally.memory,
                                                                           (uint8_t *)room->codes.memory, nullptr);
    status = psvi_cuda_status(context, cudaGetLastError(), "psvk_part_lists");
    return status == PSV_OK ? psvi_read_list_counts(context, room, list_count, counts) : status;
}

// After count_lists, with the same items.
template <typename Choice>
psv_status write_lists(psv_context *context, psvi_list_room *room, const Choice &choice, uint64_t count,
                       uint32_t list_count, uint32_t *index) {
    if (room->chunks == 0) return PSV_OK;
    psvk_part_lists<Choice, true><<<(room->chunks + list_block_warps - 1) / list_block_warps, list_block_warps * 32,
                                    list_block_warps * list_count * sizeof(uint32_t), (cudaStream_t)context->stream>>>(
        choice, count, list_count, room->chunks, (uint32_t *)room->tally.memory, (uint8_t *)room->codes.memory, index);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_part_lists");
}

} // namespace psvi

#endif
