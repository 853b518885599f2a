#include "segment_table.h"

#include <stdlib.h>
#include <string.h>

#include "../cases/sort_inputs.h"
#include "bench_numbers.h"
#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "cub_segments.h"
#endif

#define MOST_REPETITIONS 60

#define STOP(...) (fprintf(stderr, "bench_sort: " __VA_ARGS__), fprintf(stderr, "\n"), exit(1))
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != PSV_OK) STOP("%s: %s", #call, psv_last_error(table->context));                                   \
    } while (0)

typedef enum shape_kind { SHAPE_EQUAL, SHAPE_ZIPF, SHAPE_RANDOM } shape_kind;

typedef struct segment_shape {
    const char *name;
    shape_kind kind;
    uint32_t segments;
    uint32_t length; // of each; of the longest where it follows Zipf's law; twice the mean where it is random
} segment_shape;

static const segment_shape shapes[] = {
    {"8192 of 32", SHAPE_EQUAL, 8192, 32},         {"1024 of 1000", SHAPE_EQUAL, 1024, 1000},
    {"1M of Zipf", SHAPE_ZIPF, 1000000, 1100000},  {"1 of 16M", SHAPE_EQUAL, 1, 16000000},
    {"100K of 0..100", SHAPE_RANDOM, 100000, 100}, {"1M of 10", SHAPE_EQUAL, 1000000, 10},
    {"10M of 0..6", SHAPE_RANDOM, 10000000, 6},    {"20K of 200", SHAPE_EQUAL, 20000, 200},
    {"2000 of 4000", SHAPE_EQUAL, 2000, 4000},     {"1000 of 10K", SHAPE_EQUAL, 1000, 10000},
    {"16 of 1M", SHAPE_EQUAL, 16, 1000000},        {"128 of 32", SHAPE_EQUAL, 128, 32},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

typedef struct segment_bench {
    const bench_segment_plan *plan;
    psv_context *context;
    void *stream;
    const segment_shape *shape;
    psv_key_type key_type;
    uint32_t key_bytes, count;
    uint32_t *offsets;
    psv_segment_sorter *sorter;
    psv_buffer fresh_keys, fresh_values, keys, values, on_device_offsets, other_keys, other_values, temporary;
    double times[MOST_REPETITIONS];
} segment_bench;

// Zipf's law: the n-th longest segment has 1 / n of the longest; in a random order, 1 element or more.
static void make_offsets(segment_bench *table) {
    const segment_shape *shape = table->shape;
    uint64_t state = table->plan->seed, sum = 0;
    table->offsets = malloc((shape->segments + (size_t)1) * sizeof *table->offsets);
    uint32_t *lengths = malloc(shape->segments * sizeof *lengths);
    if (table->offsets == NULL || lengths == NULL) STOP("no memory");
    for (uint32_t s = 0; s < shape->segments; ++s) {
        lengths[s] = shape->length;
        if (shape->kind == SHAPE_ZIPF) lengths[s] = shape->length / (s + 1) + (shape->length < s + 1);
        if (shape->kind == SHAPE_RANDOM) lengths[s] = (uint32_t)(next_random(&state) % (shape->length + 1));
    }
    for (uint32_t s = shape->segments - 1; s > 0; --s) {
        const uint32_t other = (uint32_t)(next_random(&state) % (s + 1)), length = lengths[s];
        lengths[s] = lengths[other];
        lengths[other] = length;
    }
    for (uint32_t s = 0; s <= shape->segments; ++s) {
        table->offsets[s] = (uint32_t)sum;
        if (s < shape->segments) sum += lengths[s];
    }
    table->count = (uint32_t)sum;
    free(lengths);
}

static psv_buffer make_array(segment_bench *table, const void *contents, uint64_t bytes) {
    psv_buffer buffer;
    CHECK(psv_alloc_buffer(table->context, bytes, &buffer));
    if (contents != NULL) CHECK(psv_upload(table->context, buffer, contents, bytes));
    return buffer;
}

static void set_up(segment_bench *table) {
    make_offsets(table);
    const uint64_t keys_bytes = (uint64_t)table->count * table->key_bytes, values_bytes = (uint64_t)table->count * 4;
    char *keys = malloc(keys_bytes);
    uint32_t *values = malloc(values_bytes);
    if (keys == NULL || values == NULL) STOP("no memory for %u elements", table->count);
    make_keys(table->key_type, KEYS_UNIFORM, table->plan->seed, table->count, keys);
    for (uint32_t i = 0; i < table->count; ++i)
        values[i] = i;
    table->fresh_keys = make_array(table, keys, keys_bytes);
    table->fresh_values = make_array(table, values, values_bytes);
    table->keys = make_array(table, NULL, keys_bytes);
    table->values = make_array(table, NULL, values_bytes);
    table->other_keys = make_array(table, NULL, keys_bytes);
    table->other_values = make_array(table, NULL, values_bytes);
    table->on_device_offsets = make_array(table, table->offsets, (table->shape->segments + UINT64_C(1)) * 4);
    psv_segment_sorter_def def = psv_default_segment_sorter_def();
    def.key_type = table->key_type;
    def.max_count = table->count;
    def.max_segments = table->shape->segments;
    CHECK(psv_create_segment_sorter(table->context, &def, &table->sorter));
    free(keys);
    free(values);
}

static void tear_down(segment_bench *table) {
    psv_buffer *buffers[] = {&table->fresh_keys, &table->fresh_values, &table->keys,      &table->values,
                             &table->other_keys, &table->other_values, &table->temporary, &table->on_device_offsets};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; ++b)
        psv_free_buffer(table->context, buffers[b]);
    psv_destroy_segment_sorter(table->sorter);
    free(table->offsets);
}

static void run_ours(void *data) {
    segment_bench *table = data;
    const psv_segments segments = {table->on_device_offsets, table->shape->segments, {0}};
    CHECK(psv_sort_segments(table->sorter, table->keys, table->values, table->count, &segments));
}

static void copy_inside(segment_bench *table, psv_buffer to, psv_buffer from, uint64_t bytes) {
#if PSV_HAVE_CUDA
    if (table->plan->backend == PSV_BACKEND_CUDA) {
        (void)cudaMemcpyAsync(to.address, from.address, bytes, cudaMemcpyDeviceToDevice, table->stream);
        return;
    }
#endif
    (void)table;
    memcpy(to.address, from.address, bytes);
}

static void restore(segment_bench *table) {
    copy_inside(table, table->keys, table->fresh_keys, (uint64_t)table->count * table->key_bytes);
    copy_inside(table, table->values, table->fresh_values, (uint64_t)table->count * 4);
}

// Median of runs on fresh input, within the plan's budget.
static double time_runs(segment_bench *table, double (*time_one)(struct segment_bench *table)) {
    double sum = 0;
    int runs = 0;
    (void)time_one(table);
    while (runs < MOST_REPETITIONS && (runs < 5 || sum < table->plan->budget_ms))
        sum += table->times[runs++] = time_one(table);
    qsort(table->times, (size_t)runs, sizeof *table->times, bench_compare_times);
    return table->times[runs / 2];
}

static double time_ours_cpu(segment_bench *table) {
    restore(table);
    const double begin = bench_wall_ms();
    run_ours(table);
    return bench_wall_ms() - begin;
}

typedef struct cpu_pair {
    uint64_t key;
    uint32_t value;
} cpu_pair;

static int compare_pairs(const void *a, const void *b) {
    const cpu_pair *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static uint64_t key_at(const segment_bench *table, const void *keys, uint32_t i) {
    return table->key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

// The C library's sort of each segment, values as the last digits: a stable order. Milliseconds; checks our result.
static double check_with_qsort(segment_bench *table, bool *right) {
    const uint64_t keys_bytes = (uint64_t)table->count * table->key_bytes;
    char *keys = malloc(keys_bytes);
    uint32_t *values = malloc((uint64_t)table->count * 4);
    cpu_pair *pairs = malloc(table->count * sizeof *pairs);
    if (keys == NULL || values == NULL || pairs == NULL) STOP("no memory");
    restore(table);
    CHECK(psv_download(table->context, keys, table->keys, keys_bytes));
    const double begin = bench_wall_ms();
    for (uint32_t i = 0; i < table->count; ++i)
        pairs[i] = (cpu_pair){key_at(table, keys, i), i};
    for (uint32_t s = 0; s < table->shape->segments; ++s)
        qsort(pairs + table->offsets[s], table->offsets[s + 1] - table->offsets[s], sizeof *pairs, compare_pairs);
    const double ms = bench_wall_ms() - begin;
    run_ours(table);
    CHECK(psv_read_segments_status(table->sorter));
    CHECK(psv_download(table->context, keys, table->keys, keys_bytes));
    CHECK(psv_download(table->context, values, table->values, (uint64_t)table->count * 4));
    *right = true;
    for (uint32_t i = 0; i < table->count; ++i)
        *right &= key_at(table, keys, i) == pairs[i].key && values[i] == pairs[i].value;
    free(keys);
    free(values);
    free(pairs);
    return ms;
}

#if PSV_HAVE_CUDA
typedef struct graph_run {
    cudaGraphExec_t graph;
    cudaStream_t stream;
} graph_run;

static void launch_graph(void *data) {
    const graph_run *run = data;
    (void)cudaGraphLaunch(run->graph, run->stream);
}

static double time_ours_cuda(segment_bench *table) {
    restore(table);
    return cub_time_ms(table->stream, run_ours, table);
}

static graph_run *captured; // of the row at hand

static double time_graph(segment_bench *table) {
    restore(table);
    return cub_time_ms(table->stream, launch_graph, captured);
}

static double time_in_graph(segment_bench *table) {
    cudaGraph_t graph;
    graph_run run = {.stream = table->stream};
    captured = &run;
    if (cudaStreamBeginCapture(run.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) STOP("no capture");
    run_ours(table);
    if (cudaStreamEndCapture(run.stream, &graph) != cudaSuccess) STOP("the call cannot be captured");
    if (cudaGraphInstantiate(&run.graph, graph, 0) != cudaSuccess) STOP("no graph");
    const double ms = time_runs(table, time_graph);
    (void)cudaGraphExecDestroy(run.graph);
    (void)cudaGraphDestroy(graph);
    return ms;
}

static cub_segment_call cub_call_of(const segment_bench *table, cub_segment_way way) {
    return (cub_segment_call){.way = way,
                              .key_type = table->key_type,
                              .keys_in = table->fresh_keys.address,
                              .keys_out = table->other_keys.address,
                              .values_in = table->fresh_values.address,
                              .values_out = table->other_values.address,
                              .count = table->count,
                              .segments = table->shape->segments,
                              .offsets = table->on_device_offsets.address,
                              .stream = table->stream};
}

static cub_segment_call cub_now; // of the row at hand

static void run_cub(void *data) {
    (void)data;
    if (cub_segments(&cub_now) != 0) STOP("CUB fails");
}

static double time_cub(segment_bench *table) { return cub_time_ms(table->stream, run_cub, NULL); }

static double time_cub_way(segment_bench *table, cub_segment_way way) {
    cub_now = cub_call_of(table, way);
    if (cub_segments(&cub_now) != 0) STOP("CUB fails");
    CHECK(psv_alloc_buffer(table->context, cub_now.temporary_bytes + 1, &table->temporary));
    cub_now.temporary = table->temporary.address;
    const double ms = time_runs(table, time_cub);
    psv_free_buffer(table->context, &table->temporary);
    return ms;
}
#endif

static void print_row(const segment_bench *table, bool right, double ours, double graph, const double *others) {
    const double best = others[1] > 0 && others[1] < others[0] ? others[1] : others[0];
    const char *keys = psv_key_type_name(table->key_type);
    printf("%-16s %-4s %10u  %9.4f %9.4f  %10.4f %10.4f %7.2fx%s\n", table->shape->name, keys, table->count, ours,
           graph, others[0], others[1], best / ours, right ? "" : "  WRONG RESULT");
    (void)fflush(stdout);
    if (table->plan->csv != NULL)
        fprintf(table->plan->csv, "%s,%s,%s,%s,%u,%u,%.6f,%.6f,%.6f,%.6f,%.4f\n", table->plan->commit,
                psv_backend_name(table->plan->backend), table->shape->name, keys, table->shape->segments, table->count,
                ours, graph, others[0], others[1], best / ours);
}

static bool run_row(segment_bench *table) {
    double ours = 0, graph = 0, others[2] = {0, 0};
    bool right;
    set_up(table);
    others[0] = check_with_qsort(table, &right);
#if PSV_HAVE_CUDA
    if (table->plan->backend == PSV_BACKEND_CUDA) {
        ours = time_runs(table, time_ours_cuda);
        graph = time_in_graph(table);
        for (int way = 0; way < CUB_SEGMENT_WAYS; ++way)
            others[way] = time_cub_way(table, (cub_segment_way)way);
    }
#endif
    if (ours == 0) ours = time_runs(table, time_ours_cpu);
    print_row(table, right, ours, graph, others);
    tear_down(table);
    return right;
}

bool bench_print_segments(const bench_segment_plan *plan) {
    static const psv_key_type types[] = {PSV_KEY_U32, PSV_KEY_U64};
    segment_bench row = {.plan = plan};
    segment_bench *table = &row;
    psv_context_def def = psv_default_context_def();
    def.backend = plan->backend;
    def.worker_count = plan->workers;
#if PSV_HAVE_CUDA
    cudaStream_t stream = NULL;
    if (plan->backend == PSV_BACKEND_CUDA && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess) {
        def.stream = stream;
        def.borrow_stream = true;
        row.stream = stream;
    }
#endif
    if (psv_create_context(&def, &row.context) != PSV_OK) STOP("%s", psv_last_error(NULL));
    bool right = true;
    if (plan->csv != NULL)
        fprintf(plan->csv, "commit,backend,shape,keys,segments,elements,ms,graph_ms,yardstick_ms,second_ms,ratio\n");
    printf("%-16s %-4s %10s  %9s %9s  %10s %10s %8s\n", "segments", "keys", "elements", "ms", "graph ms",
           plan->backend == PSV_BACKEND_CUDA ? "CUB sort" : "qsort",
           plan->backend == PSV_BACKEND_CUDA ? "CUB radix" : "-", "ratio");
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (size_t s = 0; s < SHAPES; ++s) {
            row.shape = &shapes[s];
            row.key_type = types[t];
            row.key_bytes = psv_key_type_bytes(types[t]);
            right &= run_row(table);
        }
    psv_destroy_context(row.context);
    return right;
}
