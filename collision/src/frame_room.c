// Stages of a frame around the pair memory: where the pairs go, and more room for them.
#include "frame.h"

psv_status psvi_stage_room(psv_pair_finder *finder, psvi_frame *frame) {
    frame->input = frame->given;
    frame->input.pairs = finder->memory.pairs;
    frame->input.capacity = finder->memory.capacity;
    return PSV_OK;
}

// Enough for this frame, and some more, so that slow growth does not repeat every frame.
psv_status psvi_stage_grow(psv_pair_finder *finder, psvi_frame *frame) {
    psv_context *context = finder->context;
    if (psvi_is_captured(context))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "def.grow_pairs is set; growth is not possible while the stream is being captured or "
                         "calls are recorded");
    psvi_frame_result result;
    psv_status status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK || result.pair_count <= finder->memory.capacity) return status;
    frame->again = true;
    return psvi_grow_pair_memory(finder, result.pair_count + result.pair_count / 4);
}
