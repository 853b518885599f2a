#include "group_cases.h"

#include <pairsieve/sort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/sort_inputs.h"
#include "box_case.h"

typedef struct share {
    uint64_t *numbers; // of the elements of this rank, in order
    uint64_t count;
} share;

static bool fails(const psv_group *group, uint64_t seed, const char *what) {
    fprintf(stderr, "rank %u of %u, seed %llu: %s\n", psv_group_rank(group), psv_group_size(group),
            (unsigned long long)seed, what);
    return false;
}

static bool fails_with(const psv_group *group, const psv_context *context, uint64_t seed, const char *call) {
    fprintf(stderr, "rank %u of %u, seed %llu: %s: %s\n", psv_group_rank(group), psv_group_size(group),
            (unsigned long long)seed, call, psv_last_error(context));
    return false;
}

static void upload(psv_context *context, psv_buffer *buffer, const void *source, uint64_t bytes) {
    if (psv_alloc_buffer(context, bytes, buffer) != PSV_OK || psv_upload(context, *buffer, source, bytes) != PSV_OK)
        abort();
}

// Which rank has element i of `count`; `order` is its place in the order that DEAL_BY_SPACE deals by.
static uint32_t rank_of(group_deal deal, uint32_t size, uint64_t seed, uint64_t i, uint64_t order, uint64_t count) {
    switch (deal) {
    case DEAL_EVENLY: return (uint32_t)(i * size / count);
    case DEAL_RANDOMLY: return (uint32_t)(box_random_bits(seed + 77, i, 5) % size);
    case DEAL_BY_SPACE: return (uint32_t)(order * size / count);
    case DEAL_ONE: return (uint32_t)(seed % size);
    default: {
        const double place = (double)i / (double)count;
        uint32_t rank = 0;
        for (uint32_t r = 1; r < size; ++r)
            if (place >= (double)box_random(seed, r, 6)) ++rank;
        return rank;
    }
    }
}

static share take_share(const psv_group *group, group_deal deal, uint64_t seed, const uint64_t *order, uint64_t count) {
    share own = {must(malloc((count + 1) * sizeof(uint64_t))), 0};
    for (uint64_t i = 0; i < count; ++i)
        if (rank_of(deal, psv_group_size(group), seed, i, order == NULL ? i : order[i], count) == psv_group_rank(group))
            own.numbers[own.count++] = i;
    return own;
}

// The parts of all ranks, one after another; *total bytes.
static char *collect(const psv_group *group, const psv_group_transport *transport, const void *part, uint64_t bytes,
                     uint64_t *total, uint64_t *parts) {
    const uint32_t size = psv_group_size(group);
    uint64_t *numbers = must(calloc(4 * size, sizeof *numbers));
    uint64_t *received = parts != NULL ? parts : numbers;
    if (!transport->all_gather(&bytes, received, sizeof bytes, transport->user)) abort();
    *total = 0;
    for (uint32_t r = 0; r < size; ++r) {
        numbers[size + r] = *total;
        numbers[2 * size + r] = bytes;
        *total += received[r];
    }
    char *all = must(malloc(*total + 1));
    if (!transport->exchange(part, numbers + 3 * size, numbers + 2 * size, all, numbers + size, received,
                             transport->user))
        abort();
    free(numbers);
    return all;
}

// --- sort ------------------------------------------------------------------------------------------------------------

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

// --- pairs -----------------------------------------------------------------------------------------------------------

#define DEALT_PARTS 7

typedef struct dealt_boxes {
    psv_box_set set;
    psv_buffer parts[DEALT_PARTS];
} dealt_boxes;

// Element `i` of an array is element numbers[i] of the whole.
static psv_buffer deal_array(psv_context *context, const void *whole, uint32_t bytes, const share *own) {
    psv_buffer buffer = {0};
    if (whole == NULL) return buffer;
    char *dealt = must(malloc(own->count * bytes + 1));
    for (uint64_t i = 0; i < own->count; ++i)
        memcpy(dealt + i * bytes, (const char *)whole + own->numbers[i] * bytes, bytes);
    upload(context, &buffer, dealt, own->count * bytes);
    free(dealt);
    return buffer;
}

static dealt_boxes deal_boxes(psv_context *context, const box_case *made, const share *own) {
    const bool doubles = made->corners != NULL;
    const uint32_t bytes = doubles ? sizeof(psv_aabb64) : sizeof(psv_aabb);
    dealt_boxes dealt = {.parts = {deal_array(context, doubles ? (void *)made->corners : made->boxes, bytes, own),
                                   deal_array(context, made->flags, 1, own),
                                   deal_array(context, made->filters, sizeof(psv_box_filter), own),
                                   deal_array(context, made->worlds, 4, own), deal_array(context, made->ids, 4, own),
                                   deal_array(context, made->owners, 4, own),
                                   deal_array(context, made->layers, 1, own)}};
    dealt.set = psv_boxes_of(dealt.parts[0], bytes, own->count);
    dealt.set.doubles = doubles;
    memcpy(dealt.set.origin, case_origin, sizeof case_origin);
    dealt.set.flags = dealt.parts[1];
    dealt.set.filters = dealt.parts[2];
    dealt.set.worlds = dealt.parts[3];
    dealt.set.ids = dealt.parts[4];
    dealt.set.owners = dealt.parts[5];
    dealt.set.layers = dealt.parts[6];
    return dealt;
}

static void free_dealt(psv_context *context, dealt_boxes *dealt) {
    for (int p = 0; p < DEALT_PARTS; ++p)
        psv_free_buffer(context, &dealt->parts[p]);
}

// Numbers by which one finder names the boxes as the group does, whose default ids follow the ranks.
static uint32_t *ids_of(const psv_group *group, const box_case *made, group_deal deal, uint64_t seed,
                        const uint64_t *order) {
    uint32_t *ids = must(malloc((made->count + 1) * sizeof *ids)), next = 0;
    if (made->ids != NULL) {
        memcpy(ids, made->ids, made->count * sizeof *ids);
        return ids;
    }
    for (uint32_t r = 0; r < psv_group_size(group); ++r)
        for (uint64_t i = 0; i < made->count; ++i)
            if (rank_of(deal, psv_group_size(group), seed, i, order[i], made->count) == r) ids[i] = next++;
    return ids;
}

typedef struct whole_pairs {
    psv_pair *pairs;
    uint64_t count, bad, worlds[8];
} whole_pairs;

// The excluded pairs by id of the boxes, those that rank `rank` of `size` knows. UINT32_MAX: all.
static psv_pair *name_excluded(const box_case *made, const uint32_t *ids, uint32_t rank, uint32_t size,
                               uint64_t *count) {
    psv_pair *named = must(malloc((made->excluded_count + 1) * sizeof *named));
    *count = 0;
    for (uint64_t e = 0; e < made->excluded_count; ++e) {
        if (rank != UINT32_MAX && e * e % size != rank) continue; // some know none
        const uint32_t a = ids[made->excluded[e].a], b = ids[made->excluded[e].b];
        named[(*count)++] = a < b ? (psv_pair){a, b} : (psv_pair){b, a};
    }
    return named;
}

static psv_pair_rules rules_of(const box_case *made, psv_pair *named, uint64_t count) {
    psv_pair_rules rules = psv_default_pair_rules();
    if (made->layers != NULL)
        rules.layer_matrix = psv_buffer_of((void *)(uintptr_t)made->layer_matrix, sizeof made->layer_matrix);
    rules.excluded = psv_buffer_of(named, count * sizeof *named);
    rules.excluded_count = count;
    return rules;
}

// Rules where the backend has them: `lent` is freed when they are set.
static psv_pair_rules lend_rules(psv_context *context, psv_pair_rules rules, psv_buffer lent[2]) {
    lent[0] = lent[1] = (psv_buffer){0};
    if (rules.layer_matrix.address != NULL)
        upload(context, &lent[0], rules.layer_matrix.address, rules.layer_matrix.bytes);
    if (rules.excluded_count > 0) upload(context, &lent[1], rules.excluded.address, rules.excluded.bytes);
    if (rules.layer_matrix.address != NULL) rules.layer_matrix = lent[0];
    if (rules.excluded_count > 0) rules.excluded = lent[1];
    return rules;
}

static psv_status set_lent_rules(psv_group_finder *finder, psv_context *context, psv_pair_rules rules) {
    psv_buffer lent[2];
    const psv_pair_rules there = lend_rules(context, rules, lent);
    const psv_status status = psv_set_group_pair_rules(finder, &there);
    for (int b = 0; b < 2; ++b)
        psv_free_buffer(context, &lent[b]);
    return status;
}

// One finder over all boxes, on the host, by another method than the ranks take.
static whole_pairs find_whole(const box_case *made, const uint32_t *ids) {
    whole_pairs whole = {0};
    psv_context *context = NULL;
    psv_pair_finder *finder = NULL;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.worker_count = 1;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = made->count < 3000 ? "brute" : "sweep";
    def.max_boxes = made->count + 1;
    def.ids = def.grow_pairs = def.sort_output = true;
    def.world_count = made->world_count;
    def.max_excluded = made->excluded_count;
    def.doubles = made->corners != NULL;
    def.world_count = made->world_count < 1 ? 1 : made->world_count;
    def.count_worlds = true;
    uint64_t excluded_count;
    psv_pair *named = name_excluded(made, ids, UINT32_MAX, 1, &excluded_count);
    const psv_pair_rules rules = rules_of(made, named, excluded_count);
    psv_box_set set =
        psv_boxes_of(psv_buffer_of(made->boxes, made->count * sizeof(psv_aabb)), sizeof(psv_aabb), made->count);
    if (def.doubles)
        set = psv_boxes64_of(psv_buffer_of(made->corners, made->count * sizeof(psv_aabb64)), sizeof(psv_aabb64),
                             made->count);
    memcpy(set.origin, case_origin, sizeof case_origin);
    set.owners = psv_buffer_of(made->owners, made->count * 4);
    set.layers = psv_buffer_of(made->layers, made->count);
    set.flags = psv_buffer_of(made->flags, made->count);
    set.filters = psv_buffer_of(made->filters, made->count * sizeof(psv_box_filter));
    set.worlds = psv_buffer_of(made->worlds, made->count * 4);
    set.ids = psv_buffer_of((void *)(uintptr_t)ids, made->count * 4);
    psv_pair_statistics statistics;
    if (psv_create_context(&context_def, &context) != PSV_OK ||
        psv_create_pair_finder(context, &def, &finder) != PSV_OK || psv_set_pair_rules(finder, &rules) != PSV_OK ||
        psv_find_pairs(finder, &set) != PSV_OK || psv_finish_pairs(finder, &whole.count) != PSV_OK ||
        psv_read_pair_statistics(finder, &statistics) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(context));
        abort();
    }
    whole.pairs = must(malloc((whole.count + 1) * sizeof *whole.pairs));
    if (psv_read_pairs(finder, whole.pairs, whole.count, NULL) != PSV_OK) abort();
    memcpy(whole.worlds, psv_buffer_address(psv_world_pair_buffer(finder)), def.world_count * sizeof *whole.worlds);
    whole.bad = statistics.bad_boxes;
    free(named);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return whole;
}

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool compare_group_pairs(psv_group *group, psv_context *context, const psv_group_transport *transport,
                                psv_group_finder *finder, const box_case *made, uint64_t seed,
                                const whole_pairs *whole) {
    const uint64_t own_count = psv_group_pair_count(finder);
    psv_pair *own = must(malloc((own_count + 1) * sizeof *own));
    if (psv_read_group_pairs(finder, own, own_count, NULL) != PSV_OK)
        return fails_with(group, context, seed, "read_group_pairs");
    uint64_t bytes = 0;
    psv_pair *all = (psv_pair *)(void *)collect(group, transport, own, own_count * sizeof *own, &bytes, NULL);
    bool good = true;
    if (!made->sort_output) qsort(all, bytes / sizeof *all, sizeof *all, compare_pairs);
    if (bytes / sizeof *all != whole->count || psv_group_total_pairs(finder) != whole->count) {
        fprintf(stderr, "%llu pairs, total %llu, of %llu: ", (unsigned long long)(bytes / sizeof *all),
                (unsigned long long)psv_group_total_pairs(finder), (unsigned long long)whole->count);
        good = fails(group, seed, "not as many pairs as one finder has");
    } else if (memcmp(all, whole->pairs, bytes) != 0) {
        good = fails(group, seed, "the pairs differ from those of one finder");
    }
    psv_group_pair_statistics statistics;
    if (psv_read_group_pair_statistics(finder, &statistics) != PSV_OK || statistics.bad_boxes != whole->bad ||
        statistics.boxes != made->count)
        good = fails(group, seed, "boxes or bad boxes are counted wrong");
    const psv_buffer worlds = psv_group_world_pair_buffer(finder);
    uint64_t counts[8];
    if (worlds.bytes > 0 && (psv_download(context, counts, worlds, worlds.bytes) != PSV_OK ||
                             memcmp(counts, whole->worlds, worlds.bytes) != 0))
        good = fails(group, seed, "pairs of worlds are counted wrong");
    free(own);
    free(all);
    return good;
}

typedef struct placed {
    float x;
    uint64_t number;
} placed;

static int compare_placed(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->x < y->x || x->x > y->x) return x->x < y->x ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

// The place of each box in the order by x.
static uint64_t *order_by_x(const box_case *made) {
    placed *list = must(malloc((made->count + 1) * sizeof *list));
    uint64_t *order = must(malloc((made->count + 1) * sizeof *order));
    for (uint64_t i = 0; i < made->count; ++i) {
        const float x = made->boxes[i].min[0];
        list[i] = (placed){x - x == 0 ? x : 0, i};
    }
    qsort(list, made->count, sizeof *list, compare_placed);
    for (uint64_t i = 0; i < made->count; ++i)
        order[list[i].number] = i;
    free(list);
    return order;
}

static psv_group_finder_def finder_def_of(const box_case *made, uint64_t given) {
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = given;
    def.local.world_count = made->world_count;
    def.local.sort_output = made->sort_output;
    def.local.max_excluded = made->excluded_count;
    def.local.doubles = made->corners != NULL;
    return def;
}

// Each rank brings the excluded pairs that it knows; their memory is its own again after the call.
static psv_status set_rules(const psv_group *group, psv_context *context, psv_group_finder *finder,
                            const box_case *made, const uint32_t *ids) {
    uint64_t count;
    if (made->layers == NULL && made->excluded == NULL) return PSV_OK;
    psv_pair *named = name_excluded(made, ids, psv_group_rank(group), psv_group_size(group), &count);
    const psv_pair_rules rules = rules_of(made, named, count);
    const psv_status status = set_lent_rules(finder, context, rules);
    free(named);
    return status;
}

// The boxes of the last rank have no owners and are in layer 0: it does not give these arrays then.
static void strip_last_rank(const psv_group *group, box_case *made, dealt_boxes *dealt, uint64_t seed, group_deal deal,
                            const uint64_t *order) {
    const uint32_t size = psv_group_size(group), last = size - 1;
    if (size < 2 || seed % 2 == 0) return;
    for (uint64_t i = 0; i < made->count; ++i) {
        if (rank_of(deal, size, seed, i, order[i], made->count) != last) continue;
        if (made->owners != NULL) made->owners[i] = PSV_NO_OWNER;
        if (made->layers != NULL) made->layers[i] = 0;
    }
    if (psv_group_rank(group) == last) dealt->set.owners = dealt->set.layers = (psv_buffer){0};
}

static bool run_boxes(psv_group *group, psv_context *context, const psv_group_transport *transport, box_case *made,
                      uint64_t seed, group_deal deal) {
    uint64_t *order = order_by_x(made);
    uint32_t *ids = ids_of(group, made, deal, seed, order);
    share own = take_share(group, deal, seed, order, made->count);
    dealt_boxes dealt = deal_boxes(context, made, &own);
    strip_last_rank(group, made, &dealt, seed, deal, order);
    whole_pairs whole = find_whole(made, ids);
    psv_group_finder_def def = finder_def_of(made, own.count);
    def.local.count_worlds = seed % 2 == 1;
    if (seed % 3 == 0) def.max_held = 1; // the finders are made anew, with the rules that are there
    psv_group_finder *finder = NULL;
    bool good = (psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                 set_rules(group, context, finder, made, ids) == PSV_OK) ||
                fails_with(group, context, seed, "create_group_finder");
    for (int frame = 0; frame < 2 && good; ++frame) // the second has regions that follow the work of the first
        good = psv_group_find_pairs(finder, &dealt.set) == PSV_OK
                   ? compare_group_pairs(group, context, transport, finder, made, seed, &whole)
                   : fails_with(group, context, seed, "group_find_pairs");
    psv_destroy_group_finder(finder);
    free_dealt(context, &dealt);
    free(own.numbers);
    free(order);
    free(ids);
    free(whole.pairs);
    return good;
}

static const box_scene *scene_of(uint64_t number) {
    uint32_t count = 0;
    while (box_scene_at(count) != NULL)
        ++count;
    return box_scene_at((uint32_t)(number % count));
}

bool run_pairs_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    static const uint64_t counts[] = {0, 1, 2, 5, 20, 100, 300, 700};
    uint64_t state = seed * 2246822519u + 3;
    const box_scene *scene = scene_of(next_random(&state));
    uint64_t count = counts[next_random(&state) % 8];
    uint32_t parts = (uint32_t)next_random(&state) & 15;
    const group_deal deal = (group_deal)(next_random(&state) % DEAL_COUNT);
    if (seed % 4 != 0) parts |= (uint32_t)next_random(&state) & 240;
    box_case made = make_box_case(scene, count, seed, parts);
    made.sort_output = next_random(&state) % 2 == 0;
    const bool good = run_boxes(group, context, transport, &made, seed, deal);
    if (!good)
        fprintf(stderr, "  scene %s, %llu boxes, parts %u, deal %d\n", scene->name, (unsigned long long)count, parts,
                (int)deal);
    free_box_case(&made);
    return good;
}

bool run_scene_case(psv_group *group, psv_context *context, const psv_group_transport *transport, const char *scene,
                    uint64_t count, group_deal deal) {
    box_case made = make_box_case(box_scene_named(scene), count, 11, 0);
    const bool good = run_boxes(group, context, transport, &made, 11, deal);
    if (!good) fprintf(stderr, "  scene %s, %llu boxes, deal %d\n", scene, (unsigned long long)count, (int)deal);
    free_box_case(&made);
    return good;
}

// --- boxes that lie well --------------------------------------------------------------------------------------------

#define STAYING 3000 // boxes a rank, of 1/1000 of the cube's side: hardly any reaches over a border

bool run_staying_case(psv_group *group, psv_context *context, uint64_t seed) {
    const uint32_t size = psv_group_size(group), rank = psv_group_rank(group), axis = (uint32_t)(seed % 3);
    psv_aabb *boxes = must(malloc(STAYING * sizeof *boxes));
    uint64_t state = seed * 64 + rank + 1;
    for (uint64_t i = 0; i < STAYING; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            const float place = (float)(next_random(&state) >> 40) / (float)(1 << 24);
            boxes[i].min[k] = k == axis ? ((float)rank + place) / (float)size : place;
            boxes[i].max[k] = boxes[i].min[k] + 0.001f;
        }
    psv_buffer given = {0};
    upload(context, &given, boxes, STAYING * sizeof *boxes);
    free(boxes);
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = STAYING;
    psv_group_finder *finder = NULL;
    psv_group_pair_statistics statistics = {0};
    const psv_box_set set = psv_boxes_of(given, sizeof(psv_aabb), STAYING);
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                psv_group_find_pairs(finder, &set) == PSV_OK &&
                psv_read_group_pair_statistics(finder, &statistics) == PSV_OK;
    if (!good) fails_with(group, context, seed, "boxes in slabs");
    if (statistics.sent > STAYING / 10 || statistics.imbalance > 1.05) {
        fprintf(stderr, "  slabs along axis %u: %llu of %d boxes left rank %u, imbalance %g\n", axis,
                (unsigned long long)statistics.sent, STAYING, rank, statistics.imbalance);
        good = fails(group, seed, "boxes that lay well were moved");
    }
    psv_destroy_group_finder(finder);
    psv_free_buffer(context, &given);
    return good;
}

// Whether all ranks fare well: what follows is collective.
static bool frames_agree(const psv_group_transport *transport, bool *good) {
    bool all[16] = {false};
    if (transport->size > 16 || !transport->all_gather(good, all, sizeof *good, transport->user)) abort();
    for (uint32_t r = 0; r < transport->size; ++r)
        *good = *good && all[r];
    return *good;
}

// --- boxes that move slowly ------------------------------------------------------------------------------------------

// Ranks keep their boxes while these drift over the borders, and in one frame some jump anywhere.
bool run_drifting_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    const uint32_t parts = seed % 2 == 0 ? 0 : PART_FLAGS | PART_FILTERS | PART_IDS | PART_OWNERS;
    box_case made = make_box_case(box_scene_named("cube"), 2000, seed, parts);
    uint64_t *order = order_by_x(&made);
    uint32_t *ids = ids_of(group, &made, DEAL_BY_SPACE, seed, order);
    share own = take_share(group, DEAL_BY_SPACE, seed, order, made.count);
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool stayed = false;
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK ||
                fails_with(group, context, seed, "create_group_finder");
    for (uint64_t frame = 0; frame < 6 && good; ++frame) {
        for (uint64_t i = 0; i < made.count; ++i)
            for (int axis = 0; axis < 3; ++axis) {
                const float side = frame == 4 && i % 100 == 0 ? 12.0f : 0.2f;
                const float step = side * (box_random(seed + (frame == 4 ? 1 : 0), 3 * i + (uint64_t)axis, 2) - 0.5f);
                made.boxes[i].min[axis] += step;
                made.boxes[i].max[axis] += step;
            }
        dealt_boxes dealt = deal_boxes(context, &made, &own);
        whole_pairs whole = find_whole(&made, ids);
        psv_group_pair_statistics statistics = {0};
        good = psv_group_find_pairs(finder, &dealt.set) == PSV_OK
                   ? compare_group_pairs(group, context, transport, finder, &made, seed, &whole)
                   : fails_with(group, context, seed, "group_find_pairs");
        (void)frames_agree(transport, &good);
        if (good) (void)psv_read_group_pair_statistics(finder, &statistics);
        stayed = stayed || (good && statistics.copied < own.count / 2);
        free_dealt(context, &dealt);
        free(whole.pairs);
    }
    if (good && psv_group_size(group) <= 2 && !stayed)
        good = fails(group, seed, "boxes that stay were copied in every frame");
    psv_destroy_group_finder(finder);
    free(own.numbers);
    free(order);
    free(ids);
    free_box_case(&made);
    return good;
}

// --- events ----------------------------------------------------------------------------------------------------------

static uint64_t differences(const whole_pairs *a, const whole_pairs *b, psv_pair *list) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < a->count; ++i)
        if (b->count == 0 || bsearch(&a->pairs[i], b->pairs, b->count, sizeof(psv_pair), compare_pairs) == NULL)
            list[count++] = a->pairs[i];
    return count;
}

static bool compare_list(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed,
                         psv_buffer list, uint64_t count, uint64_t total, const whole_pairs *a, const whole_pairs *b) {
    psv_pair *expected = must(malloc((a->count + 1) * sizeof *expected));
    psv_pair *own = must(malloc((count + 1) * sizeof *own));
    const uint64_t expected_count = differences(a, b, expected);
    if (psv_download(context, own, list, count * sizeof *own) != PSV_OK) abort();
    bool good = true;
    for (uint64_t i = 1; i < count; ++i)
        if (compare_pairs(&own[i - 1], &own[i]) >= 0) good = fails(group, seed, "events are not in order");
    uint64_t bytes;
    psv_pair *all = (psv_pair *)(void *)collect(group, transport, own, count * sizeof *own, &bytes, NULL);
    qsort(all, bytes / sizeof *all, sizeof *all, compare_pairs);
    if (total != expected_count || bytes != expected_count * sizeof *all || memcmp(all, expected, bytes) != 0)
        good = fails(group, seed, "events differ from those between the pairs of one finder");
    free(expected);
    free(own);
    free(all);
    return good;
}

bool run_events_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    const bool ruled = seed / 10 % 2 == 1;
    const uint32_t parts = PART_IDS | (ruled ? PART_OWNERS | PART_LAYERS | PART_EXCLUDED : 0);
    box_case made = make_box_case(box_scene_named("cube"), 400 + seed % 300, seed, parts);
    uint64_t *order = order_by_x(&made);
    psv_group_finder_def def = finder_def_of(&made, made.count);
    def.local.events = true;
    def.local.sort_output = seed % 2 == 0;
    psv_group_finder *finder = NULL;
    whole_pairs before = {0};
    bool good = (psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                 set_rules(group, context, finder, &made, made.ids) == PSV_OK) ||
                fails_with(group, context, seed, "create_group_finder");
    for (uint64_t frame = 0; frame < 4 && good; ++frame) {
        for (uint64_t i = 0; i < made.count; ++i) // some move, and all change their ranks
            for (int axis = 0; axis < 3 && (i + frame) % 3 == 0; ++axis) {
                const float step = box_random(seed + frame, i, 2) - 0.5f;
                made.boxes[i].min[axis] += step;
                made.boxes[i].max[axis] += step;
            }
        share own = take_share(group, DEAL_RANDOMLY, seed + frame, order, made.count);
        dealt_boxes dealt = deal_boxes(context, &made, &own);
        whole_pairs now = find_whole(&made, made.ids);
        psv_group_events events;
        good =
            (psv_group_find_pairs(finder, &dealt.set) == PSV_OK && psv_find_group_events(finder, &events) == PSV_OK) ||
            fails_with(group, context, seed, "find_group_events");
        if (frames_agree(transport, &good))
            good = compare_list(group, context, transport, seed, events.begin, events.begin_count,
                                events.total_begin_count, &now, &before);
        if (frames_agree(transport, &good))
            good = compare_list(group, context, transport, seed, events.end, events.end_count, events.total_end_count,
                                &before, &now);
        free_dealt(context, &dealt);
        free(own.numbers);
        free(before.pairs);
        before = now;
    }
    psv_destroy_group_finder(finder);
    free(before.pairs);
    free(order);
    free_box_case(&made);
    return good;
}

// --- errors ----------------------------------------------------------------------------------------------------------

// The same status on all ranks, and off the guilty rank a sentence that names it.
static bool expect_error(psv_group *group, psv_context *context, psv_status status, psv_status expected,
                         uint32_t guilty, const char *word) {
    char name[32];
    snprintf(name, sizeof name, "rank %u: ", guilty);
    if (status != expected) {
        fprintf(stderr, "status is %s, expected %s (%s): ", psv_status_name(status), psv_status_name(expected), word);
        return fails_with(group, context, 0, "expect_error");
    }
    if (strstr(psv_last_error(context), word) == NULL ||
        (psv_group_rank(group) != guilty && strncmp(psv_last_error(context), name, strlen(name)) != 0))
        return fails_with(group, context, 0, "the sentence does not name rank or cause");
    return true;
}

// Rules that ranks do not agree about, or that no rank has room for.
static bool run_rule_errors(psv_group *group, psv_context *context, uint32_t guilty) {
    const bool bad = psv_group_rank(group) == guilty;
    box_case made =
        make_box_case(box_scene_named("cube"), 60, 3, PART_IDS | PART_LAYERS | PART_EXCLUDED | PART_DOUBLES);
    share own = take_share(group, DEAL_EVENLY, 3, NULL, made.count);
    dealt_boxes dealt = deal_boxes(context, &made, &own);
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK;
    uint64_t count;
    psv_pair *named = name_excluded(&made, made.ids, UINT32_MAX, 1, &count);
    psv_pair_rules rules = rules_of(&made, named, bad ? count + 1 : 0);
    good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_CAPACITY, guilty,
                         "max_excluded");
    rules = rules_of(&made, named, bad ? count : 0);
    if (bad) rules.excluded = psv_buffer_of(named, 3);
    good &=
        expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_ARGUMENT, guilty, "excluded");
    if (psv_group_size(group) > 1) { // every rank sees these by itself
        const uint32_t self = psv_group_rank(group);
        rules = rules_of(&made, named, count / psv_group_size(group) + 1);
        good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_CAPACITY, self,
                             "on all ranks");
        uint32_t other[PSV_LAYERS] = {0};
        rules = rules_of(&made, named, 0);
        if (bad) rules.layer_matrix = psv_buffer_of(other, sizeof other);
        good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_ARGUMENT, self,
                             "layer_matrix");
        psv_box_set moved = dealt.set;
        if (bad) moved.origin[1] += 1;
        good &= expect_error(group, context, psv_group_find_pairs(finder, &moved), PSV_ERROR_ARGUMENT, self, "origin");
    }
    good &= psv_set_group_pair_rules(finder, NULL) == PSV_OK && psv_group_find_pairs(finder, &dealt.set) == PSV_OK;
    psv_destroy_group_finder(finder);
    free(named);
    free_dealt(context, &dealt);
    free(own.numbers);
    free_box_case(&made);
    return good || fails(group, 0, "errors of rules");
}

static bool run_finder_errors(psv_group *group, psv_context *context, const psv_group_transport *transport,
                              uint32_t guilty) {
    const bool bad = psv_group_rank(group) == guilty;
    box_case made = make_box_case(box_scene_named("cube"), 500, 3, 0);
    share own = take_share(group, DEAL_EVENLY, 3, NULL, made.count);
    dealt_boxes dealt = deal_boxes(context, &made, &own);
    psv_box_set wrong = dealt.set;
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool good = true;
    def.local.method = bad ? "no such method" : "auto";
    good &= expect_error(group, context, psv_create_group_finder(group, &def, &finder), PSV_ERROR_UNSUPPORTED, guilty,
                         "no such method");
    def.local.method = "auto";
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    if (bad) wrong.min_stride = 5;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &wrong), PSV_ERROR_ARGUMENT, guilty, "min_stride");
    wrong = dealt.set;
    if (bad) wrong.count = own.count + 1, wrong.min.bytes += sizeof(psv_aabb);
    good &= expect_error(group, context, psv_group_find_pairs(finder, &wrong), PSV_ERROR_CAPACITY, guilty, "max_boxes");
    good &= expect_error(group, context, psv_group_find_pairs(finder, bad ? NULL : &dealt.set), PSV_ERROR_ARGUMENT,
                         guilty, "boxes is NULL");
    good &= psv_group_find_pairs(finder, &dealt.set) == PSV_OK || fails_with(group, context, 0, "after errors");
    psv_destroy_group_finder(finder);
    // One rank has no room for its pairs: all learn how many there are.
    def.local.grow_pairs = !bad;
    def.local.max_pairs = bad ? 1 : 0;
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &dealt.set), PSV_ERROR_CAPACITY, guilty, "needed");
    psv_destroy_group_finder(finder);
    def = finder_def_of(&made, own.count);
    def.grow_held = !bad;
    def.max_held = bad ? 1 : 0;
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &dealt.set), PSV_ERROR_CAPACITY, guilty, "max_held");
    psv_destroy_group_finder(finder);
    free_dealt(context, &dealt);
    free(own.numbers);
    free_box_case(&made);
    (void)transport;
    return good;
}

bool run_error_cases(psv_group *group, psv_context *context, const psv_group_transport *transport) {
    bool good = true;
    for (uint32_t guilty = 0; guilty < psv_group_size(group); ++guilty) {
        const bool bad = psv_group_rank(group) == guilty;
        good &= run_finder_errors(group, context, transport, guilty);
        good &= run_rule_errors(group, context, guilty);
        psv_group_sorter_def def = psv_default_group_sorter_def();
        def.local.max_count = 100;
        psv_group_sorter *sorter = NULL;
        psv_group_sorted sorted;
        psv_buffer keys;
        uint32_t zeros[200] = {0};
        upload(context, &keys, zeros, sizeof zeros);
        good &= psv_create_group_sorter(group, &def, &sorter) == PSV_OK;
        good &= expect_error(group, context, psv_group_sort_keys(sorter, keys, bad ? 101 : 50, &sorted),
                             PSV_ERROR_CAPACITY, guilty, "max_count");
        good &= expect_error(group, context,
                             psv_group_sort_keys(sorter, bad ? psv_sub_buffer(keys, 0, 40) : keys, 50, &sorted),
                             PSV_ERROR_ARGUMENT, guilty, "keys");
        good &= psv_group_sort_keys(sorter, keys, 50, &sorted) == PSV_OK && sorted.total == 50 * psv_group_size(group);
        psv_destroy_group_sorter(sorter);
        psv_free_buffer(context, &keys);
    }
    return good;
}
