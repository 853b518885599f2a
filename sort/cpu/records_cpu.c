// Record gather and order check on the CPU. Both are one parallel loop over the target.
#include "records_cpu.h"

#include <string.h>

#include "key_bits.h"

// Below this many records or keys for each thread, waking it costs more than it does.
#define GATHER_RECORDS_PER_WORKER 8192
#define CHECK_KEYS_PER_WORKER 65536

// Records are fetched at random, so the loop runs ahead of itself by this many.
#define GATHER_AHEAD 16

static int workers_for(const psv_context *context, uint64_t count, uint64_t per_worker) {
    uint64_t workers = count / per_worker;
    if (workers > (uint64_t)context->worker_count) workers = (uint64_t)context->worker_count;
    return workers < 1 ? 1 : (int)workers;
}

static inline __attribute__((always_inline)) void gather_range(const char *source, char *target, size_t stride,
                                                               const uint32_t *index, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
        if (i + GATHER_AHEAD < end) __builtin_prefetch(source + stride * index[i + GATHER_AHEAD]);
        memcpy(target + stride * i, source + stride * index[i], stride);
    }
}

// The usual strides are compile-time constants, so that a record is a few vector moves and no call of memcpy.
void psvi_cpu_gather_part(const void *source, void *target, uint32_t stride, const uint32_t *index, uint64_t begin,
                          uint64_t end) {
    switch (stride) {
    case 4: gather_range(source, target, 4, index, begin, end); break;
    case 8: gather_range(source, target, 8, index, begin, end); break;
    case 12: gather_range(source, target, 12, index, begin, end); break;
    case 16: gather_range(source, target, 16, index, begin, end); break;
    case 24: gather_range(source, target, 24, index, begin, end); break;
    case 32: gather_range(source, target, 32, index, begin, end); break;
    default: gather_range(source, target, stride, index, begin, end); break;
    }
}

void psvi_cpu_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                             const uint32_t *index, uint64_t count) {
    const int workers = workers_for(context, count, GATHER_RECORDS_PER_WORKER);
#pragma omp parallel for num_threads(workers) schedule(static, 1) if (workers > 1)
    for (int w = 0; w < workers; ++w)
        psvi_cpu_gather_part(source, target, stride, index, count * (uint64_t)w / (uint64_t)workers,
                             count * ((uint64_t)w + 1) / (uint64_t)workers);
}

// Descents i in [begin, end), each comparing key i with key i + 1.
static psv_order_result check_part(psvi_key_bits bits, const void *keys, uint64_t begin, uint64_t end) {
    psv_order_result result = {.descents = 0, .first = UINT64_MAX};
    if (begin >= end) return result;
    uint64_t before = psvi_load_key_bits(bits, keys, begin);
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t next = psvi_load_key_bits(bits, keys, i + 1);
        if (before > next && result.descents++ == 0) result.first = i;
        before = next;
    }
    return result;
}

void psvi_cpu_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                          psv_order_result *result) {
    uint64_t steps = count < 2 ? 0 : count - 1, descents = 0, first = UINT64_MAX;
    const psvi_key_bits bits = psvi_make_key_bits(order);
    const int workers = workers_for(context, steps, CHECK_KEYS_PER_WORKER);
#pragma omp parallel for num_threads(workers) schedule(static, 1) if (workers > 1) reduction(+ : descents)            \
    reduction(min : first)
    for (int w = 0; w < workers; ++w) {
        psv_order_result part = check_part(bits, keys, steps * (uint64_t)w / (uint64_t)workers,
                                           steps * ((uint64_t)w + 1) / (uint64_t)workers);
        descents += part.descents;
        if (part.first < first) first = part.first;
    }
    *result = (psv_order_result){.descents = descents, .first = first};
}
