// What the toy has for sorting: qsort over (key, place), so that equal keys keep their order.
#include <stdlib.h>
#include <string.h>

#include "sort/src/sort_method.h"
#include "toy.h"

typedef struct record {
    uint64_t key, value;
    uint32_t place;
    union {
        uint32_t small;
        uint64_t wide;
    } raw;
} record;

static uint64_t scratch_bytes(const psv_sorter_def *def) { return def->max_count * sizeof(record); }

static int compare(const void *left, const void *right) {
    const record *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static uint64_t count_of(const psvi_sort_request *request) {
    const uint64_t *there = toy_host(request->count_device);
    return there == NULL || *there > request->count ? request->count : *there;
}

static void load(const psvi_sort_request *request, psvi_key_order order, uint32_t place, record *to) {
    const char *keys = toy_host(request->keys_in), *values = toy_host(request->values_in);
    const uint32_t bytes = order.is_wide ? 8 : 4, bits = order.end_bit - order.begin_bit;
    to->place = place;
    memcpy(&to->raw, keys + (uint64_t)place * bytes, bytes);
    to->key = order.is_wide ? psvi_transform_u64(to->raw.wide, order) : psvi_transform_u32(to->raw.small, order);
    to->key = to->key >> order.begin_bit & (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
    to->value = place;
    if (request->value_bytes > 0 && !request->implicit_index)
        memcpy(&to->value, values + (uint64_t)place * request->value_bytes, request->value_bytes);
}

static psv_status run(psv_sorter *sorter, const psvi_sort_request *request) {
    const uint64_t count = count_of(request);
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type), value_bytes = request->value_bytes;
    record *records = toy_host(sorter->scratch);
    char *keys = toy_host(request->keys_out), *values = toy_host(request->values_out);
    for (uint64_t i = 0; i < count; ++i)
        load(request, sorter->order, (uint32_t)i, &records[i]);
    qsort(records, count, sizeof *records, compare);
    for (uint64_t i = 0; i < count; ++i) {
        if (keys != NULL) memcpy(keys + i * key_bytes, &records[i].raw, key_bytes);
        if (value_bytes > 0) memcpy(values + i * value_bytes, &records[i].value, value_bytes);
    }
    return PSV_OK;
}

static psv_status write_identity(psv_context *context, const psvi_sort_request *request) {
    (void)context;
    uint32_t *index = toy_host(request->values_out);
    for (uint64_t i = 0; i < count_of(request); ++i)
        index[i] = (uint32_t)i;
    return PSV_OK;
}

static const psvi_sort_method toy_qsort = {
    .name = "qsort", .description = "the C library's qsort", .scratch_bytes = scratch_bytes, .run = run};
static const psvi_sort_method *const methods[] = {&toy_qsort, NULL};
static const char *const auto_candidates[] = {"qsort", NULL};

extern const psvi_sort_module psvi_toy_sorts;
const psvi_sort_module psvi_toy_sorts = {
    .methods = methods,
    .auto_candidates = auto_candidates,
    .auto_largest = 4096,
    .largest_count = UINT32_MAX,
    .largest_wide_count = UINT32_MAX,
    .write_identity = write_identity,
};
