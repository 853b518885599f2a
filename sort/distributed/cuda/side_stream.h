// A stream beside the context's own, for work beside other work of the same context.
#ifndef PAIRSIEVE_SIDE_STREAM_H
#define PAIRSIEVE_SIDE_STREAM_H

#include "../../../core/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psvi_side_stream {
    cudaStream_t side, main; // the side stream; the context's own, while that is not in use
    cudaEvent_t begun, done;
} psvi_side_stream;

// From here on the side stream may be used: it waits for all that was enqueued so far, and for nothing later.
psv_status psvi_open_side(psv_context *context, psvi_side_stream *streams);
void psvi_close_side(psvi_side_stream *streams);

// Work enqueued between these two calls goes to the side stream. psvi_wait_side: later work waits for it.
void psvi_enter_side(psv_context *context, psvi_side_stream *streams);
psv_status psvi_leave_side(psv_context *context, psvi_side_stream *streams);
psv_status psvi_wait_side(psv_context *context, psvi_side_stream *streams);

#ifdef __cplusplus
}
#endif
#endif
