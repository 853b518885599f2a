// The last stages of a frame: pairs by ids, and in order.
#include "frame.h"

// Indices become ids where there are any.
psv_status psvi_stage_name(psv_pair_finder *finder, psvi_frame *frame) {
    const psvi_pair_memory *memory = &finder->memory;
    const bool between = frame->given.between;
    const uint32_t *a = frame->a.ids, *b = between ? frame->b.ids : a;
    if ((a == NULL && b == NULL) || memory->capacity == 0 || finder->by_place) return PSV_OK;
    return finder->ops->name_pairs(finder->context, a, b, between, memory->pairs, &finder->result->pair_count,
                                   memory->capacity);
}

psv_status psvi_stage_order(psv_pair_finder *finder, psvi_frame *frame) {
    (void)frame;
    const psvi_pair_memory *memory = &finder->memory;
    if (memory->capacity == 0 || memory->sorter == NULL) return PSV_OK;
    return finder->ops->order_pairs(finder->context, memory->sorter, memory->pairs, &finder->result->pair_count,
                                    memory->capacity, memory->order_scratch);
}
