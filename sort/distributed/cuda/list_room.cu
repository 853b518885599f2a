// Memory for lists on the device, and how their lengths come to the host.
#include <stdlib.h>

#include "../../../core/cuda/cuda_backend.h"
#include "../../cuda/scan_sums.h"
#include "list_room.h"

namespace {

// Input: prefix sums. Output: where each list begins, and where the last one ends. A thread has one.
__global__ void psvk_list_firsts(const uint32_t *sums, uint32_t list_count, uint32_t chunks, uint64_t *firsts) {
    const uint32_t l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l <= list_count) firsts[l] = sums[(uint64_t)l * chunks];
}

} // namespace

extern "C" psv_status psvi_make_list_room(psv_context *context, psvi_list_room *room, uint64_t count,
                                          uint32_t list_count) {
    if (list_count > PSVI_MOST_LISTS)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%u lists; on CUDA there are at most %u", list_count,
                         PSVI_MOST_LISTS);
    room->chunks = (uint32_t)((count + PSVI_LIST_CHUNK - 1) / PSVI_LIST_CHUNK);
    const uint64_t sums = (uint64_t)list_count * room->chunks + 1;
    if (list_count + 1 > room->host_count) {
        free(room->host_lengths);
        room->host_lengths = static_cast<uint64_t *>(malloc((list_count + 1) * sizeof(uint64_t)));
        room->host_count = room->host_lengths == nullptr ? 0 : list_count + 1;
    }
    if (room->host_lengths == nullptr)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the lengths of %u lists", list_count);
    psv_status status = psvi_make_room(context, &room->tally, sums * sizeof(uint32_t), "counts of lists");
    if (status == PSV_OK) status = psvi_make_room(context, &room->temporary, psvi_scan_bytes(sums), "a scan");
    if (status == PSV_OK)
        status = psvi_make_room(context, &room->lengths, (list_count + 1) * sizeof(uint64_t), "lengths of lists");
    if (status == PSV_OK && list_count <= PSVI_CODED_LISTS)
        status = psvi_make_room(context, &room->codes, count, "codes of lists");
    return status;
}

extern "C" void psvi_free_list_room(psv_context *context, psvi_list_room *room) {
    psvi_free_room(context, &room->tally);
    psvi_free_room(context, &room->temporary);
    psvi_free_room(context, &room->lengths);
    psvi_free_room(context, &room->codes);
    free(room->host_lengths);
    *room = psvi_list_room{};
}

extern "C" psv_status psvi_read_list_counts(psv_context *context, psvi_list_room *room, uint32_t list_count,
                                            uint64_t *counts) {
    const uint64_t sums = (uint64_t)list_count * room->chunks;
    uint32_t *tally = (uint32_t *)room->tally.memory;
    psv_status status = context->ops->fill(context, tally + sums, 0, sizeof *tally);
    if (status == PSV_OK) status = psvi_scan_sums(context, tally, tally, sums + 1, room->temporary.memory);
    if (status != PSV_OK) return status;
    psvk_list_firsts<<<list_count / 128 + 1, 128, 0, (cudaStream_t)context->stream>>>(tally, list_count, room->chunks,
                                                                                      (uint64_t *)room->lengths.memory);
    status = psvi_cuda_status(context, cudaGetLastError(), "psvk_list_firsts");
    if (status == PSV_OK)
        status = context->ops->copy(context, room->host_lengths, room->lengths.memory,
                                    (list_count + 1) * sizeof(uint64_t), PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    for (uint32_t l = 0; l < list_count && status == PSV_OK; ++l)
        counts[l] = room->host_lengths[l + 1] - room->host_lengths[l];
    return status;
}
