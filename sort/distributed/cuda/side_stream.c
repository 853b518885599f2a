#include "side_stream.h"

static const char what[] = "a stream beside the context's own";

// Of higher priority: its work is short, or waits for other devices.
static cudaError_t make_streams(psvi_side_stream *streams) {
    int least = 0, greatest = 0;
    if (streams->side != NULL) return cudaSuccess;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (error == cudaSuccess && streams->begun == NULL)
        error = cudaEventCreateWithFlags(&streams->begun, cudaEventDisableTiming);
    if (error == cudaSuccess && streams->done == NULL)
        error = cudaEventCreateWithFlags(&streams->done, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    return cudaStreamCreateWithPriority(&streams->side, cudaStreamNonBlocking, greatest);
}

psv_status psvi_open_side(psv_context *context, psvi_side_stream *streams) {
    cudaError_t error = make_streams(streams);
    if (error == cudaSuccess) error = cudaEventRecord(streams->begun, context->stream);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(streams->side, streams->begun, 0);
    return psvi_cuda_status(context, error, what);
}

void psvi_close_side(psvi_side_stream *streams) {
    if (streams->side != NULL) (void)cudaStreamDestroy(streams->side);
    if (streams->begun != NULL) (void)cudaEventDestroy(streams->begun);
    if (streams->done != NULL) (void)cudaEventDestroy(streams->done);
    *streams = (psvi_side_stream){0};
}

void psvi_enter_side(psv_context *context, psvi_side_stream *streams) {
    streams->main = context->stream;
    context->stream = streams->side;
}

psv_status psvi_leave_side(psv_context *context, psvi_side_stream *streams) {
    context->stream = streams->main;
    return psvi_cuda_status(context, cudaEventRecord(streams->done, streams->side), what);
}

psv_status psvi_wait_side(psv_context *context, psvi_side_stream *streams) {
    return psvi_cuda_status(context, cudaStreamWaitEvent(context->stream, streams->done, 0), what);
}
