// Every CUDA sorting method captured in a graph on a borrowed stream: nothing synchronizes or allocates, and each
// launch sorts what is in the buffers then, whatever the sorter has been used for before.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "../cases/sort_inputs.h"
#include "../cases/sort_reference.h"
#include "../test_scale.h"

#define COUNT 50021u
#define LAUNCHES 8
#define FEWER 777u // an indirect count is up to twice this below COUNT
#define SEED 424242u

static cudaStream_t stream;
static psv_context *context;

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        const cudaError_t cuda_error = (call);                                                                         \
        if (cuda_error != cudaSuccess) fail_msg("%s: %s: %s", method, #call, cudaGetErrorString(cuda_error));          \
    } while (0)
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != PSV_OK) fail_msg("%s: %s: %s", method, #call, psv_last_error(context));                          \
    } while (0)

typedef struct graph_buffers {
    psv_buffer keys, values, index_keys, index, count, gathered, result;
} graph_buffers;

// The calls of one frame: pairs, an indirect argsort, the records by it, and the check.
static void enqueue_frame(psv_sorter *sorter, const graph_buffers *b, const char *method) {
    OK(psv_sort_pairs(sorter, b->keys, b->values, COUNT));
    OK(psv_sort_index_indirect(sorter, b->index_keys, b->index, b->count, PSV_INDEX_KEYS_KEPT));
    OK(psv_gather_records(context, b->index_keys, b->gathered, 4, b->index, COUNT - 2 * FEWER));
    OK(psv_check_order(sorter, b->gathered, COUNT - 2 * FEWER, b->result));
}

static void run_launch(cudaGraphExec_t graph, const psv_sorter_def *def, const graph_buffers *b, uint64_t seed,
                       const char *method) {
    // Alike from launch to launch, then not.
    static const key_distribution inputs[LAUNCHES] = {KEYS_UNIFORM, KEYS_UNIFORM, KEYS_NEARLY,    KEYS_GAUSSIAN,
                                                      KEYS_FEW,     KEYS_SORTED,  KEYS_CLUSTERED, KEYS_UNIFORM};
    const uint64_t count = COUNT - seed % 3 * FEWER;
    static uint32_t keys[COUNT], values[COUNT], order[COUNT], got[COUNT];
    make_keys(PSV_KEY_U32, inputs[(seed - SEED) % LAUNCHES], seed, COUNT, keys);
    for (uint32_t i = 0; i < COUNT; ++i)
        values[i] = i;
    OK(psv_upload(context, b->keys, keys, sizeof keys));
    OK(psv_upload(context, b->values, values, sizeof values));
    OK(psv_upload(context, b->index_keys, keys, sizeof keys));
    OK(psv_upload(context, b->count, &count, sizeof count));
    CUDA(cudaGraphLaunch(graph, stream));
    reference_order(def, keys, COUNT, order);
    OK(psv_download(context, got, b->values, sizeof got));
    if (memcmp(got, order, sizeof got) != 0) fail_msg("%s: pairs of a launched graph are wrong", method);
    reference_order(def, keys, (uint32_t)count, order);
    OK(psv_download(context, got, b->index, sizeof got));
    if (memcmp(got, order, count * sizeof *got) != 0) fail_msg("%s: index of a launched graph is wrong", method);
    psv_order_result result;
    OK(psv_download(context, &result, b->result, sizeof result));
    assert_int_equal(result.descents, 0);
}

static void capture_method(const char *method) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = method;
    def.max_count = COUNT;
    psv_sorter *sorter;
    OK(psv_create_sorter(context, &def, &sorter));
    graph_buffers b;
    psv_buffer *arrays[] = {&b.keys, &b.values, &b.index_keys, &b.index, &b.gathered};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a)
        OK(psv_alloc_buffer(context, COUNT * sizeof(uint32_t), arrays[a]));
    OK(psv_alloc_buffer(context, sizeof(uint64_t), &b.count));
    OK(psv_alloc_buffer(context, sizeof(psv_order_result), &b.result));
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue_frame(sorter, &b, method);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (uint64_t launch = 0; launch < LAUNCHES; ++launch)
        run_launch(executable, &def, &b, SEED + launch, method);
    (void)cudaGraphExecDestroy(executable);
    (void)cudaGraphDestroy(graph);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a)
        psv_free_buffer(context, arrays[a]);
    psv_free_buffer(context, &b.count);
    psv_free_buffer(context, &b.result);
    psv_destroy_sorter(sorter);
}

// A graph keeps the kernels that its sorter had chosen by the calls before: they must be right for any keys. Sorts
// pairs of each of the inputs, by launches in turn, after `before` had been sorted by calls (letters: indices of
// inputs).
enum { KEPT_INPUTS = 5 };
typedef struct kept_input {
    uint32_t *keys, *order, *sorted;
} kept_input;

static void check_pairs(const kept_input *input, uint32_t count, const graph_buffers *b, uint32_t *got,
                        const char *method) {
    OK(psv_download(context, got, b->values, count * sizeof *got));
    if (memcmp(got, input->order, count * sizeof *got) != 0) fail_msg("%s: values are wrong", method);
    OK(psv_download(context, got, b->keys, count * sizeof *got));
    if (memcmp(got, input->sorted, count * sizeof *got) != 0) fail_msg("%s: keys are wrong", method);
}

static void put_pairs(const kept_input *input, uint32_t count, const graph_buffers *b, const uint32_t *places,
                      const char *method) {
    OK(psv_upload(context, b->keys, input->keys, count * sizeof *places));
    OK(psv_upload(context, b->values, places, count * sizeof *places));
}

static void run_kept(const kept_input *inputs, uint32_t count, const char *before, const graph_buffers *b,
                     const uint32_t *places, uint32_t *got) {
    char method[64];
    (void)snprintf(method, sizeof method, "radix, count %u, graph after '%s'", count, before);
    psv_sorter_def def = psv_default_sorter_def();
    def.method = "radix";
    def.max_count = count;
    psv_sorter *sorter;
    OK(psv_create_sorter(context, &def, &sorter));
    for (const char *letter = before; *letter != '\0'; ++letter) {
        put_pairs(&inputs[*letter - '0'], count, b, places, method);
        OK(psv_sort_pairs(sorter, b->keys, b->values, count));
        check_pairs(&inputs[*letter - '0'], count, b, got, method);
    }
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(psv_sort_pairs(sorter, b->keys, b->values, count));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (const char *letter = "011023110410"; *letter != '\0'; ++letter) {
        put_pairs(&inputs[*letter - '0'], count, b, places, method);
        CUDA(cudaGraphLaunch(executable, stream));
        check_pairs(&inputs[*letter - '0'], count, b, got, method);
    }
    // The sorter itself goes on from what the graph's launches have left.
    for (const char *letter = "0112"; *letter != '\0'; ++letter) {
        put_pairs(&inputs[*letter - '0'], count, b, places, method);
        OK(psv_sort_pairs(sorter, b->keys, b->values, count));
        check_pairs(&inputs[*letter - '0'], count, b, got, method);
    }
    (void)cudaGraphExecDestroy(executable);
    (void)cudaGraphDestroy(graph);
    psv_destroy_sorter(sorter);
}

static void test_kept_kernels(void **state) {
    (void)state;
    if (test_thinning() > 1) skip();
    static const uint32_t counts[] = {1200007, 3000017, 5500009};
    static const char *const before[] = {"", "00", "11", "22", "0111", "1100"};
    // 0: uniform, 1: nearly sorted, 2: sorted, 3: clustered, 4: nearly sorted, but for one key.
    static const key_distribution distributions[KEPT_INPUTS] = {KEYS_UNIFORM, KEYS_NEARLY, KEYS_SORTED, KEYS_CLUSTERED,
                                                                KEYS_NEARLY};
    const char *method = "radix";
    psv_sorter_def def = psv_default_sorter_def();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        const uint32_t count = counts[c];
        uint32_t *places = malloc(count * sizeof *places), *got = malloc(count * sizeof *got);
        kept_input inputs[KEPT_INPUTS];
        for (uint32_t i = 0; i < count; ++i)
            places[i] = i;
        for (uint32_t i = 0; i < KEPT_INPUTS; ++i) {
            inputs[i] = (kept_input){malloc(count * 4), malloc(count * 4), malloc(count * 4)};
            make_keys(PSV_KEY_U32, distributions[i], SEED + i, count, inputs[i].keys);
            if (i == 4) inputs[i].keys[count / 3] = inputs[i].keys[count / 2];
            reference_order(&def, inputs[i].keys, count, inputs[i].order);
            for (uint32_t k = 0; k < count; ++k)
                inputs[i].sorted[k] = inputs[i].keys[inputs[i].order[k]];
        }
        graph_buffers b;
        OK(psv_alloc_buffer(context, count * sizeof(uint32_t), &b.keys));
        OK(psv_alloc_buffer(context, count * sizeof(uint32_t), &b.values));
        for (size_t f = 0; f < sizeof before / sizeof *before; ++f)
            run_kept(inputs, count, before[f], &b, places, got);
        psv_free_buffer(context, &b.keys);
        psv_free_buffer(context, &b.values);
        for (uint32_t i = 0; i < KEPT_INPUTS; ++i) {
            free(inputs[i].keys);
            free(inputs[i].order);
            free(inputs[i].sorted);
        }
        free(places);
        free(got);
    }
}

// A profiled call before a capture, one in it, and questions about the first while it goes on: the profile has to wait.
static void test_profile(void **state) {
    (void)state;
    const char *method = "profile";
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = COUNT;
    psv_sorter *sorter;
    graph_buffers b;
    OK(psv_enable_profile(context, true));
    OK(psv_create_sorter(context, &def, &sorter));
    OK(psv_alloc_buffer(context, COUNT * sizeof(uint32_t), &b.keys));
    OK(psv_alloc_buffer(context, COUNT * sizeof(uint32_t), &b.values));
    static const uint32_t zeros[COUNT];
    OK(psv_upload(context, b.keys, zeros, sizeof zeros));
    OK(psv_upload(context, b.values, zeros, sizeof zeros));
    OK(psv_sort_pairs(sorter, b.keys, b.values, COUNT));
    psv_profile before, during, after;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(psv_sort_pairs(sorter, b.keys, b.values, COUNT));
    OK(psv_read_profile(context, &during));
    CUDA(cudaStreamEndCapture(stream, &graph));
    assert_int_equal(during.frame, 0);
    OK(psv_wait_profile(context, &before));
    assert_int_equal(before.frame, 1); // the captured call is none
    OK(psv_sort_pairs(sorter, b.keys, b.values, COUNT));
    OK(psv_wait_profile(context, &after));
    assert_int_equal(after.frame, 2);
    (void)cudaGraphDestroy(graph);
    psv_free_buffer(context, &b.keys);
    psv_free_buffer(context, &b.values);
    psv_destroy_sorter(sorter);
    OK(psv_enable_profile(context, false));
}

static void test_graphs(void **state) {
    (void)state;
    // With the profile on: it must keep out of the capture.
    const char *method = "profile";
    OK(psv_enable_profile(context, true));
    for (uint32_t m = 0; psv_sort_method_name(PSV_BACKEND_CUDA, m) != NULL; ++m)
        capture_method(psv_sort_method_name(PSV_BACKEND_CUDA, m));
    capture_method("auto");
}

int main(void) {
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        printf("skipped: no usable CUDA device\n");
        return 77;
    }
    if (test_kernels_only()) {
        printf("skipped: these are the kernels of test_sort\n");
        return 77;
    }
    printf("seed %u\n", SEED);
    psv_context_def def = psv_default_context_def();
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
    def.backend = PSV_BACKEND_CUDA;
    def.stream = stream;
    def.borrow_stream = true;
    if (psv_create_context(&def, &context) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_profile), cmocka_unit_test(test_graphs),
                                       cmocka_unit_test(test_kept_kernels)};
    const int failures = cmocka_run_group_tests_name("sort_graph", tests, NULL, NULL);
    psv_destroy_context(context);
    (void)cudaStreamDestroy(stream);
    return failures;
}
