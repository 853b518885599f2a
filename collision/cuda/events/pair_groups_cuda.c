// Begin and end events of pairs that need no order, host side.
#include "pair_groups_cuda.h"

#include "../../../core/carver.h"
#include "../../../core/cuda/cuda_backend.h"
#include "../broad_phase_tuning.h"
#include "pair_groups_kernels.h"

static uint64_t tiles_of(uint64_t items, uint64_t tile) { return (items + tile - 1) / tile; }

// As many as share 4 bytes for each box.
static uint32_t bit_blocks_for(uint64_t boxes) {
    const uint64_t blocks = ((uint64_t)GROUP_LEAST_BLOCKS << 20) / (boxes + 1);
    return blocks > GROUP_MOST_BLOCKS    ? GROUP_MOST_BLOCKS
           : blocks < GROUP_LEAST_BLOCKS ? GROUP_LEAST_BLOCKS
                                         : (uint32_t)blocks;
}

void psvi_lay_out_groups(void *base, uint64_t capacity, uint64_t boxes, psvi_group_memory *memory) {
    psvi_carver carver = {base, 0};
    const uint64_t scan_tiles = tiles_of(boxes + 1, GROUP_SCAN_TILE), tiles = tiles_of(capacity, PAIR_TILE);
    const uint64_t words = scan_tiles * GROUP_SCAN_TILE * sizeof(uint32_t);
    memory->control = psvi_carve(&carver, sizeof *memory->control);
    memory->box_counts = psvi_carve(&carver, words);
    for (int i = 0; i < 2; ++i)
        memory->starts[i] = psvi_carve(&carver, words);
    memory->kept_bytes = carver.used;
    memory->bit_blocks = bit_blocks_for(boxes);
    memory->bit_words = (uint32_t)(4 * tiles_of(boxes, 128));
    memory->bits = psvi_carve(&carver, (uint64_t)memory->bit_blocks * memory->bit_words * sizeof(uint32_t));
    for (int i = 0; i < PSVI_GROUP_CHAINS; ++i)
        memory->states[i] = psvi_carve(&carver, (i == PSVI_GROUP_SCAN ? scan_tiles : tiles) * sizeof(uint64_t));
    memory->zero_bytes = carver.used;
    memory->long_rows = psvi_carve(&carver, (capacity / GROUP_WARP_ROW + 1) * sizeof(uint32_t));
    for (int i = 0; i < 2; ++i)
        memory->lists[i] = psvi_carve(&carver, capacity * sizeof(psv_pair));
    memory->bytes = carver.used;
}

uint64_t psvi_changes_bytes_cuda(uint64_t capacity, uint64_t boxes) {
    psvi_group_memory memory;
    if (capacity > UINT32_MAX) return 0; // places have 32 bits
    psvi_lay_out_groups(NULL, capacity, boxes, &memory);
    return memory.bytes;
}

psv_status psvi_begin_changes_cuda(psv_context *context, const psvi_changes *changes) {
    psvi_group_memory memory;
    psvi_lay_out_groups(changes->memory, changes->capacity, changes->boxes, &memory);
    return context->ops->fill(context, changes->memory, 0, memory.zero_bytes);
}

static psv_status launch_groups(psv_context *context, psvi_group_task task, const psvi_changes *changes) {
    psvi_group_memory memory;
    psvi_lay_out_groups(changes->memory, changes->capacity, changes->boxes, &memory);
    const cudaError_t error = psvi_launch_groups(task, changes, &memory, context->info.multiprocessors,
                                                 context->info.code_capability >= 90, context->stream);
    return psvi_cuda_status(context, error, "pair events: a kernel launch");
}

psv_status psvi_find_changes_cuda(psv_context *context, const psvi_changes *changes) {
    return launch_groups(context, PSVI_GROUP_FIND, changes);
}

psv_status psvi_leave_kept_changes_cuda(psv_context *context, const psvi_changes *changes, bool leave) {
    return launch_groups(context, leave ? PSVI_GROUP_SHORTEN : PSVI_GROUP_WIDEN, changes);
}

psv_status psvi_carry_changes_cuda(psv_context *context, const psvi_changes *from, const psvi_changes *to) {
    psvi_group_memory old, grown;
    psvi_lay_out_groups(from->memory, from->capacity, from->boxes, &old);
    psvi_lay_out_groups(to->memory, to->capacity, to->boxes, &grown);
    psv_status status = context->ops->copy(context, grown.control, old.control, old.kept_bytes, PSVI_COPY_INSIDE);
    for (int i = 0; i < 2 && status == PSV_OK && from->capacity > 0; ++i)
        status = context->ops->copy(context, grown.lists[i], old.lists[i], from->capacity * sizeof(psv_pair),
                                    PSVI_COPY_INSIDE);
    return status;
}
