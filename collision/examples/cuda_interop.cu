// pairsieve inside a CUDA program: the program's own memory and stream, and a whole frame captured once in a graph and
// replayed with other boxes and another count. Nothing is copied, and the host waits only to look at the result.
#include <cuda_runtime.h>
#include <pairsieve/collision.h>
#include <stdio.h>
#include <stdlib.h>
#define MOST_BOXES 4096u

static void cuda(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 1); // 77: no GPU, skipped
}

static void check(const psv_context *context, psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "%s\n", psv_last_error(context));
    exit(1);
}

// The program's own step: a row of unit boxes, `spacing` apart, and how many of them there are this time.
__global__ void place_boxes(psv_aabb *boxes, uint64_t *count, float spacing, uint64_t how_many) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = spacing * (float)i;
    if (i < MOST_BOXES) boxes[i] = psv_aabb{{x, 0, 0}, {x + 1, 1, 1}};
    if (i == 0) *count = how_many;
}

// Replays the frame and reads how many pairs it found.
static uint64_t replay(cudaGraphExec_t graph, cudaStream_t stream, psv_buffer count) {
    uint64_t pairs = 0;
    cuda(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    cuda(cudaMemcpyAsync(&pairs, psv_buffer_address(count), sizeof pairs, cudaMemcpyDeviceToHost, stream), "copy");
    cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return pairs;
}

int main(void) {
    psv_aabb *boxes = NULL;
    uint64_t *box_count = NULL;
    cudaStream_t stream;
    cuda(cudaMalloc(&boxes, MOST_BOXES * sizeof *boxes), "cudaMalloc");
    cuda(cudaMalloc(&box_count, sizeof *box_count), "cudaMalloc");
    cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    psv_context *context = NULL;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CUDA;
    context_def.stream = stream;
    context_def.borrow_stream = true;
    check(NULL, psv_create_context(&context_def, &context));
    psv_pair_finder *finder = NULL;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = MOST_BOXES;
    def.max_pairs = 4 * MOST_BOXES;
    check(context, psv_create_pair_finder(context, &def, &finder));
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, MOST_BOXES * sizeof *boxes), sizeof *boxes, MOST_BOXES);
    set.count_buffer = psv_buffer_of(box_count, sizeof *box_count);
    cudaGraph_t graph;
    cudaGraphExec_t frame;
    cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    check(context, psv_find_pairs(finder, &set));
    cuda(cudaStreamEndCapture(stream, &graph), "end capture");
    cuda(cudaGraphInstantiate(&frame, graph, 0), "instantiate");
    // Boxes 0.75 apart overlap their neighbours, 0.5 apart (touching counts) the next but one too, 2 apart nothing.
    const float spacing[] = {0.75f, 0.5f, 2.0f, 0.75f};
    const uint64_t counts[] = {MOST_BOXES, 1000, 3000, 10}, expected[] = {MOST_BOXES - 1, 999 + 998, 0, 9};
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        place_boxes<<<MOST_BOXES / 256, 256, 0, stream>>>(boxes, box_count, spacing[i], counts[i]);
        const uint64_t pairs = replay(frame, stream, psv_pair_count_buffer(finder));
        printf("%u boxes, %g apart: %u pairs\n", (unsigned)counts[i], spacing[i], (unsigned)pairs);
        wrong += pairs != expected[i];
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    (void)(cudaGraphExecDestroy(frame), cudaGraphDestroy(graph), cudaFree(boxes), cudaFree(box_count));
    (void)cudaStreamDestroy(stream);
    return wrong != 0;
}
