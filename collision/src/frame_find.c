// The stage of a frame that finds its pairs: with kept boxes, with margins, or by one pass of the method.
#include "frame.h"

psv_status psvi_stage_find(psv_pair_finder *finder, psvi_frame *frame) {
    if (frame->kept > 0) return psvi_find_with_kept(finder, frame);
    const psv_status status = psvi_leave_front(finder);
    if (status != PSV_OK) return status;
    return psvi_has_margins(finder, frame) ? psvi_find_with_margins(finder, frame)
                                           : psvi_run_method(finder, &frame->input, NULL);
}
