// `qsort`: the C library's sort, which the papers take as their CPU baseline. Sorts records of the transformed key and
// the position, so that ties are broken by position and the result is stable; then moves keys and values. One thread.
// The C library may allocate within qsort.
#include "qsort_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "key_bits.h"

typedef struct qsort_record {
    uint64_t key, position;
} qsort_record;

static int compare_records(const void *left, const void *right) {
    const qsort_record *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

// records, then a copy of the keys or of the values: whichever is larger.
static uint64_t qsort_scratch_bytes(const psv_sorter_def *def) {
    uint64_t element = psv_key_type_bytes(def->key_type);
    if (def->value_bytes > element) element = def->value_bytes;
    return psvi_align(def->max_count * sizeof(qsort_record)) + psvi_align(def->max_count * element);
}

// out[i] = in[records[i].position]; in may be out, through `copy`.
static void permute(const qsort_record *records, uint64_t count, const void *in, void *out, size_t bytes, void *copy) {
    const void *from = in;
    if (in == out) from = memcpy(copy, in, count * bytes);
    for (uint64_t i = 0; i < count; ++i) {
        if (bytes == 4)
            ((uint32_t *)out)[i] = ((const uint32_t *)from)[records[i].position];
        else
            ((uint64_t *)out)[i] = ((const uint64_t *)from)[records[i].position];
    }
}

static psv_status qsort_run(psv_sorter *sorter, const psvi_sort_request *request) {
    uint64_t count = psvi_request_count(request);
    qsort_record *records = sorter->scratch;
    void *copy = (char *)sorter->scratch + psvi_align(sorter->def.max_count * sizeof(qsort_record));
    const psvi_key_bits bits = psvi_make_key_bits(sorter->order);
    for (uint64_t i = 0; i < count; ++i)
        records[i] = (qsort_record){.key = psvi_load_key_bits(bits, request->keys_in, i), .position = i};
    qsort(records, count, sizeof *records, compare_records);
    if (request->keys_out != NULL)
        permute(records, count, request->keys_in, request->keys_out, psv_key_type_bytes(sorter->def.key_type), copy);
    if (request->value_bytes == 0) return PSV_OK;
    if (!request->implicit_index) {
        permute(records, count, request->values_in, request->values_out, request->value_bytes, copy);
        return PSV_OK;
    }
    for (uint64_t i = 0; i < count; ++i)
        ((uint32_t *)request->values_out)[i] = (uint32_t)records[i].position;
    return PSV_OK;
}

const psvi_sort_method psvi_sort_qsort_cpu = {
    .name = "qsort",
    .description = "the C library's qsort, ties broken by position (one thread)",
    .scratch_bytes = qsort_scratch_bytes,
    .run = qsort_run,
};
