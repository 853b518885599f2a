// Record gather and order check on the CPU. Both are one parallel loop over the target.
#include "records_cpu.h"

#include <string.h>

#include "../../core/cpu/workers.h"
#include "key_bits.h"

// Records or keys that a worker takes at a time: fewer are not worth waking a thread.
#define GATHER_RECORDS 8192
#define CHECK_KEYS 65536

// Records are fetched at random, so the loop runs ahead of itself by this many.
#define GATHER_AHEAD 16

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

typedef struct gather_job {
    const void *source;
    void *target;
    uint32_t stride;
    const uint32_t *index;
} gather_job;

static void gather_some(void *data, uint64_t begin, uint64_t end) {
    const gather_job *job = data;
    psvi_cpu_gather_part(job->source, job->target, job->stride, job->index, begin, end);
}

psv_status psvi_cpu_gather_records(psv_context *context, const void *source, void *target, uint32_t stride,
                                   const uint32_t *index, uint64_t count) {
    gather_job job = {source, target, stride, index};
    psvi_run_ranges(context, count, GATHER_RECORDS, gather_some, &job);
    return PSV_OK;
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

typedef struct check_job {
    psvi_key_bits bits;
    const void *keys;
    uint64_t descents, first; // atomic
} check_job;

static void check_some(void *data, uint64_t begin, uint64_t end) {
    check_job *job = data;
    const psv_order_result part = check_part(job->bits, job->keys, begin, end);
    if (part.descents == 0) return;
    (void)__atomic_fetch_add(&job->descents, part.descents, __ATOMIC_RELAXED);
    uint64_t first = __atomic_load_n(&job->first, __ATOMIC_RELAXED);
    while (part.first < first &&
           !__atomic_compare_exchange_n(&job->first, &first, part.first, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

psv_status psvi_cpu_check_order(psv_context *context, psvi_key_order order, const void *keys, uint64_t count,
                                psv_order_result *result) {
    check_job job = {psvi_make_key_bits(order), keys, 0, UINT64_MAX};
    psvi_run_ranges(context, count < 2 ? 0 : count - 1, CHECK_KEYS, check_some, &job);
    *result = (psv_order_result){.descents = job.descents, .first = job.first};
    return PSV_OK;
}
