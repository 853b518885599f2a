// What tests with CUDA graphs have in common: a context on a stream of the test's own, and the calls between begin and
// end as a graph. Every error of CUDA is a failure of the test.
#ifndef PAIRSIEVE_TESTS_GRAPH_CAPTURE_H
#define PAIRSIEVE_TESTS_GRAPH_CAPTURE_H

#include <cuda_runtime_api.h>

#include <pairsieve/core.h>

// cmocka.h, with what it needs, comes before this header.
#define CUDA(call) assert_int_equal(call, cudaSuccess)

static inline psv_context *open_stream_context(cudaStream_t *stream) {
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    def.backend = PSV_BACKEND_CUDA;
    def.borrow_stream = true;
    def.stream = *stream;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    return context;
}

static inline void close_stream_context(psv_context *context, cudaStream_t stream) {
    psv_destroy_context(context);
    CUDA(cudaStreamDestroy(stream));
}

static inline void begin_capture(cudaStream_t stream) {
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

// `status`: of the calls since begin_capture; a failed one ends the test behind the capture.
static inline cudaGraphExec_t end_capture(cudaStream_t stream, const psv_context *context, psv_status status) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    const cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (status != PSV_OK) fail_msg("in a capture: %s", psv_last_error(context));
    CUDA(error);
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CUDA(cudaGraphDestroy(graph)); // the executable graph does not need it
    return executable;
}

#endif
