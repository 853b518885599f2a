#include "group_shares.h"

#include <pairsieve/sort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/sort_inputs.h"
#include "box_case.h"

typedef struct sort_case {
    psv_sorter_def def;
    key_distribution kind;
    uint64_t count;
    uint32_t key_bytes;
    group_deal deal;
    int mode; // 0 keys, 1 pairs, 2 index
} sort_case;

static sort_case make_sort_case(uint64_t seed) {
    static const uint64_t counts[] = {0, 1, 2, 3, 7, 100, 1000, 5000, 20000, 60000};
    sort_case made = {.def = psv_default_sorter_def()};
    uint64_t state = seed * 2654435761u + 1;
    made.def.key_type = (psv_key_type)(next_random(&state) % 6);
    made.kind = (key_distribution)(next_random(&state) % KEYS_DISTRIBUTIONS);
    made.def.descending = next_random(&state) % 3 == 0;
    made.def.nan_policy = next_random(&state) % 3 == 0 ? PSV_NAN_BITWISE : PSV_NAN_LAST;
    if (next_random(&state) % 5 == 0) {
        made.def.begin_bit = (uint32_t)(next_random(&state) % 9);
        made.def.end_bit = made.def.begin_bit + (uint32_t)(next_random(&state) % 17);
    }
    made.def.value_bytes = next_random(&state) % 2 == 0 ? 4 : 8;
    made.mode = (int)(next_random(&state) % 3);
    made.deal = (group_deal)(next_random(&state) % DEAL_COUNT);
    made.count = counts[next_random(&state) % 10];
    made.count = made.count > 7 ? made.count + next_random(&state) % made.count : made.count;
    made.key_bytes = psv_key_type_bytes(made.def.key_type);
    return made;
}

// One sorter over the keys in order of ranks, on the host: the oracle is a sort that test_sort compares with qsort.
static void sort_whole(const sort_case *made, void *keys, void *values) {
    psv_context *context = NULL;
    psv_sorter *sorter = NULL;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.worker_count = 1;
    psv_sorter_def def = made->def;
    def.method = "merge"; // not the method that the ranks use
    def.max_count = made->count + 1;
    if (psv_create_context(&context_def, &context) != PSV_OK || psv_create_sorter(context, &def, &sorter) != PSV_OK ||
        psv_sort_pairs(sorter, psv_buffer_of(keys, made->count * made->key_bytes),
                       psv_buffer_of(values, made->count * def.value_bytes), made->count) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(context));
        abort();
    }
    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
}

static void set_value(void *values, uint32_t bytes, uint64_t i, uint64_t value) {
    if (bytes == 4)
        ((uint32_t *)values)[i] = (uint32_t)value;
    else
        ((uint64_t *)values)[i] = value;
}

static bool check_balance(const psv_group *group, uint64_t seed, const uint64_t *parts, uint64_t total) {
    const uint64_t size = psv_group_size(group), mean = total / size;
    for (uint64_t r = 0; r < size; ++r) {
        const uint64_t away = parts[r] > mean ? parts[r] - mean : mean - parts[r];
        if (away > mean / 20 + 1) return fails(group, seed, "parts differ by more than 5%");
    }
    return true;
}

static bool compare_sorted(psv_group *group, psv_context *context, const psv_group_transport *transport,
                           const sort_case *made, uint64_t seed, const psv_group_sorted *sorted, const char *keys,
                           const char *values) {
    const uint32_t value_bytes = made->mode == 0 ? 0 : made->def.value_bytes, size = psv_group_size(group);
    char *own_keys = must(malloc(sorted->count * 8 + 1)), *own_values = must(malloc(sorted->count * 8 + 1));
    uint64_t *parts = must(calloc(size, sizeof *parts));
    uint64_t key_total, value_total;
    if (psv_download(context, own_keys, sorted->keys, sorted->count * made->key_bytes) != PSV_OK ||
        (value_bytes > 0 && psv_download(context, own_values, sorted->values, sorted->count * value_bytes) != PSV_OK))
        abort();
    char *all_keys = collect(group, transport, own_keys, sorted->count * made->key_bytes, &key_total, parts);
    char *all_values = collect(group, transport, own_values, sorted->count * value_bytes, &value_total, NULL);
    for (uint32_t r = 0; r < size; ++r)
        parts[r] /= made->key_bytes;
    bool good = true;
    uint64_t first = 0;
    for (uint32_t r = 0; r < psv_group_rank(group); ++r)
        first += parts[r];
    if (sorted->total != made->count || sorted->first != first) good = fails(group, seed, "total or first is wrong");
    if (key_total != made->count * made->key_bytes || memcmp(all_keys, keys, key_total) != 0)
        good = fails(group, seed, "the keys differ from those of one sorter");
    if (value_total != made->count * value_bytes || memcmp(all_values, values, value_total) != 0)
        good = fails(group, seed, "the values differ from those of one sorter");
    if (!check_balance(group, seed, parts, made->count)) good = false;
    free(parts);
    free(own_keys);
    free(own_values);
    free(all_keys);
    free(all_values);
    return good;
}

typedef struct dealt_keys {
    psv_buffer keys, values;
    uint64_t count;
} dealt_keys;

// This rank's keys and values; what all ranks have, in order of ranks, replaces `keys`, and `values` follow.
static dealt_keys deal_keys(psv_group *group, psv_context *context, const sort_case *made, uint64_t seed, char *keys,
                            char *values) {
    const uint32_t kb = made->key_bytes, vb = made->def.value_bytes, size = psv_group_size(group);
    char *dealt = must(malloc(made->count * kb + 1));
    uint64_t place = 0, first = 0, count = 0;
    for (uint32_t r = 0; r < size; ++r) {
        if (r == psv_group_rank(group)) first = place;
        for (uint64_t i = 0; i < made->count; ++i)
            if (rank_of(made->deal, size, seed, i, i, made->count) == r)
                memcpy(dealt + kb * place++, keys + kb * i, kb);
        if (r == psv_group_rank(group)) count = place - first;
    }
    memcpy(keys, dealt, made->count * kb);
    free(dealt);
    for (uint64_t i = 0; i < made->count; ++i) // an index is the place itself; values of pairs are any numbers
        set_value(values, vb, i, made->mode == 2 ? i : i * 2654435761u + seed);
    dealt_keys own = {.count = count};
    upload(context, &own.keys, keys + kb * first, kb * count);
    upload(context, &own.values, values + vb * first, vb * count);
    return own;
}

bool run_sort_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    sort_case made = make_sort_case(seed);
    if (made.deal == DEAL_BY_SPACE) made.kind = KEYS_SORTED;
    char *keys = must(malloc(made.count * 8 + 8)), *values = must(malloc(made.count * 8 + 8));
    make_keys(made.def.key_type, made.kind, seed, made.count, keys);
    dealt_keys own = deal_keys(group, context, &made, seed, keys, values);
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local = made.def;
    def.local.max_count = own.count;
    psv_group_sorter *sorter = NULL;
    bool good = true;
    if (psv_create_group_sorter(group, &def, &sorter) != PSV_OK)
        good = fails_with(group, context, seed, "create_group_sorter");
    sort_whole(&made, keys, values);
    for (int call = 0; call < 2 && good; ++call) { // the second call is on memory that the first one left
        psv_group_sorted sorted = {0};
        psv_status status = made.mode == 0   ? psv_group_sort_keys(sorter, own.keys, own.count, &sorted)
                            : made.mode == 1 ? psv_group_sort_pairs(sorter, own.keys, own.values, own.count, &sorted)
                                             : psv_group_sort_index(sorter, own.keys, own.count, &sorted);
        good = status == PSV_OK ? compare_sorted(group, context, transport, &made, seed, &sorted, keys, values)
                                : fails_with(group, context, seed, "group_sort");
    }
    psv_destroy_group_sorter(sorter);
    psv_free_buffer(context, &own.keys);
    psv_free_buffer(context, &own.values);
    free(keys);
    free(values);
    return good;
}

// Keys from a seed, their places as values. Each key is that of its place, and (key, place) ascends over all ranks:
// with the right number of them that is the one right result.
bool run_long_sort_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    const uint32_t size = psv_group_size(group), rank = psv_group_rank(group);
    const uint64_t count = ((uint64_t)9 << 20) + 4321 * rank, key_kinds = seed % 2 == 0 ? UINT32_MAX : 1000;
    const uint64_t before = ((uint64_t)9 << 20) * rank + 4321 * ((uint64_t)rank * (rank - 1) / 2);
    uint32_t *keys = must(malloc(count * 2 * sizeof *keys)), *places;
    for (uint64_t i = 0; i < count; ++i)
        keys[i] = (uint32_t)(box_random_bits(seed, before + i, 4) % key_kinds);
    psv_buffer given = {0};
    upload(context, &given, keys, count * sizeof *keys);
    free(keys);
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local.max_count = count;
    psv_group_sorter *sorter = NULL;
    psv_group_sorted sorted = {0};
    bool good = (psv_create_group_sorter(group, &def, &sorter) == PSV_OK &&
                 psv_group_sort_index(sorter, given, count, &sorted) == PSV_OK) ||
                fails_with(group, context, seed, "group_sort_index of many keys");
    uint64_t ends[16][2] = {{0}}, total = 0, bytes;
    keys = must(malloc((sorted.count + 1) * sizeof *keys));
    places = must(malloc((sorted.count + 1) * sizeof *places));
    if (good && (psv_download(context, keys, sorted.keys, sorted.count * sizeof *keys) != PSV_OK ||
                 psv_download(context, places, sorted.values, sorted.count * sizeof *places) != PSV_OK))
        abort();
    for (uint64_t i = 0; i < sorted.count && good; ++i) {
        if (keys[i] != (uint32_t)(box_random_bits(seed, places[i], 4) % key_kinds))
            good = fails(group, seed, "a key is not that of its place");
        if (i > 0 && (keys[i] < keys[i - 1] || (keys[i] == keys[i - 1] && places[i] <= places[i - 1])))
            good = fails(group, seed, "many keys are not in order");
    }
    const uint64_t last = sorted.count - 1;
    uint64_t own[3] = {0, 0, sorted.count};
    if (good) own[0] = (uint64_t)keys[0] << 32 | places[0], own[1] = (uint64_t)keys[last] << 32 | places[last];
    uint64_t *all = (uint64_t *)(void *)collect(group, transport, own, sizeof own, &bytes, NULL);
    for (uint32_t r = 0; r < size; ++r) {
        ends[r][0] = all[3 * r], ends[r][1] = all[3 * r + 1], total += all[3 * r + 2];
        if (good && r > 0 && ends[r][0] <= ends[r - 1][1]) good = fails(group, seed, "parts are not in order");
    }
    const uint64_t expected = ((uint64_t)9 << 20) * size + 4321 * ((uint64_t)size * (size - 1) / 2);
    if (good && (total != expected || sorted.total != expected)) good = fails(group, seed, "keys are missing");
    free(all);
    free(keys);
    free(places);
    psv_destroy_group_sorter(sorter);
    psv_free_buffer(context, &given);
    return good;
}
