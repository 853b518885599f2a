// bench_stream: how long a sort takes of more pairs than the device gets memory for, beside the bus alone. The bus: the
// same bytes, in the same pieces, up and down at once in two streams, for each pass over the pairs.
//   bench_stream [--pairs N] [--memory BYTES] [--runs N] [--pageable] [--csv FILE] [--commit TEXT]
// Pairs are u32 keys, a mix of their index, and their index as the value. The result is checked apart from the
// library: keys ascend, values of equal keys ascend, each key is that of its value, and two sums over the values are
// those of all indices. CUDA alone.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include <pairsieve/stream_sort.h>

static uint64_t pairs = UINT64_C(1) << 32, memory_bytes = UINT64_C(24) << 30;
static uint32_t runs = 3, seed;
static bool pageable;
static const char *csv, *commit = "";
static uint32_t *arrays[4]; // keys, values, sorted keys, sorted values

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "bench_stream: %s: %s\n", what, why);
    exit(1);
}

static void need(cudaError_t error, const char *what) {
    if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

static uint32_t key_of(uint32_t i) {
    uint32_t x = i * 0x9e3779b1u + seed;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static uint64_t spread(uint64_t i) {
    i = (i ^ (i >> 31)) * UINT64_C(0x7fb5d329728ea185);
    return i ^ (i >> 27);
}

static void take_arrays(void) {
    for (int a = 0; a < 4; ++a) {
        void *memory = NULL;
        if (pageable)
            memory = malloc(pairs * sizeof(uint32_t));
        else
            need(cudaHostAlloc(&memory, pairs * sizeof(uint32_t), cudaHostAllocDefault), "cudaHostAlloc");
        if (memory == NULL) fail("arrays", "no memory");
        arrays[a] = memory;
    }
}

static void fill(void) {
#pragma omp parallel for
    for (uint64_t i = 0; i < pairs; ++i) {
        arrays[0][i] = key_of((uint32_t)i);
        arrays[1][i] = (uint32_t)i;
    }
}

static void check(void) {
    const uint32_t *keys = arrays[2], *values = arrays[3];
    uint64_t wrong = 0, sum = 0, spread_sum = 0, due = 0, spread_due = 0;
#pragma omp parallel for reduction(+ : wrong, sum, spread_sum, due, spread_due)
    for (uint64_t i = 0; i < pairs; ++i) {
        wrong += keys[i] != key_of(values[i]);
        if (i > 0) wrong += keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] >= values[i]);
        sum += values[i], spread_sum += spread(values[i]);
        due += i, spread_due += spread(i);
    }
    if (wrong != 0 || sum != due || spread_sum != spread_due) fail("the result", "it is wrong");
}

// Bytes up and down at once, in pieces of a thirty-second, twice.
static double time_bus(void) {
    const uint64_t bytes = pairs * sizeof(uint32_t), piece = bytes / 32;
    cudaStream_t streams[2];
    void *device[2];
    for (int d = 0; d < 2; ++d) {
        need(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking), "cudaStreamCreate");
        need(cudaMalloc(&device[d], piece), "cudaMalloc");
    }
    const double begin = now_s();
    for (int pass = 0; pass < 2; ++pass)
        for (int a = 0; a < 2; ++a)
            for (uint64_t at = 0; at < bytes; at += piece) {
                const uint64_t part = bytes - at < piece ? bytes - at : piece;
                need(cudaMemcpyAsync(device[0], (char *)arrays[a] + at, part, cudaMemcpyHostToDevice, streams[0]),
                     "up");
                need(cudaMemcpyAsync((char *)arrays[2 + a] + at, device[1], part, cudaMemcpyDeviceToHost, streams[1]),
                     "down");
            }
    need(cudaDeviceSynchronize(), "copies");
    const double seconds = now_s() - begin;
    for (int d = 0; d < 2; ++d) {
        (void)cudaStreamDestroy(streams[d]);
        (void)cudaFree(device[d]);
    }
    return seconds;
}

static void measure(psv_context *context, FILE *file) {
    psv_stream_def def = psv_default_stream_def();
    psv_stream_result result;
    def.memory_bytes = memory_bytes;
    fill();
    const double bus = time_bus(), begin = now_s();
    if (psv_sort_host(context, &def, arrays[0], arrays[1], pairs, arrays[2], arrays[3], &result) != PSV_OK)
        fail("psv_sort_host", psv_last_error(context));
    const double sort = now_s() - begin;
    check();
    printf("%llu pairs, %s: %.3f s in %llu runs and %llu rounds; the bus alone %.3f s (%.1f GB/s each way): %.2f\n",
           (unsigned long long)pairs, pageable ? "pageable" : "page-locked", sort, (unsigned long long)result.runs,
           (unsigned long long)result.rounds, bus, 16e-9 * (double)pairs / bus, bus / sort);
    if (file != NULL)
        fprintf(file, "%s,%s,%llu,%llu,%llu,%llu,%.4f,%.4f,%.3f\n", commit, pageable ? "pageable" : "page-locked",
                (unsigned long long)pairs, (unsigned long long)memory_bytes, (unsigned long long)result.runs,
                (unsigned long long)result.rounds, sort, bus, bus / sort);
}

static void parse(int count, char **words) {
    for (int w = 1; w < count; ++w) {
        const char *next = w + 1 < count ? words[w + 1] : NULL;
        if (strcmp(words[w], "--pageable") == 0) {
            pageable = true;
            continue;
        }
        if (next == NULL) fail(words[w], "needs a value, or is not known");
        if (strcmp(words[w], "--pairs") == 0)
            pairs = strtoull(next, NULL, 0);
        else if (strcmp(words[w], "--memory") == 0)
            memory_bytes = strtoull(next, NULL, 0);
        else if (strcmp(words[w], "--runs") == 0)
            runs = (uint32_t)strtoul(next, NULL, 0);
        else if (strcmp(words[w], "--csv") == 0)
            csv = next;
        else if (strcmp(words[w], "--commit") == 0)
            commit = next;
        else
            fail(words[w], "is not known");
        ++w;
    }
    if (pairs < 32 || pairs > UINT64_C(1) << 32) fail("--pairs", "32 to 2^32");
}

int main(int count, char **words) {
    parse(count, words);
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    psv_context *context = NULL;
    if (psv_create_context(&def, &context) != PSV_OK) fail("context", psv_last_error(NULL));
    FILE *file = csv == NULL ? NULL : fopen(csv, "w");
    if (csv != NULL && file == NULL) fail(csv, "cannot be written");
    if (file != NULL) fprintf(file, "commit,memory,pairs,memory_bytes,runs,rounds,sort_s,bus_s,ratio\n");
    take_arrays();
    for (seed = 1; seed <= runs; ++seed)
        measure(context, file);
    if (file != NULL) (void)fclose(file);
    psv_destroy_context(context);
    return 0;
}
