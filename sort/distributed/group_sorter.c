// The distributed sort: samples give splitters, each key goes to the rank between whose splitters it lies, and is
// sorted there. Equal keys are split by their places, so that even a single value spreads over all ranks. What a rank
// sends keeps its order and parts arrive in order of ranks, so the stable sort at the end makes the whole stable.
#include <stdlib.h>
#include <string.h>

#include "../src/word_keys.h"
#include "group_keys.h"

#define PSVI_GROUP_SORTER_COOKIE 0x70736773u // "psgs"

// What the ranks have to agree on, and how many keys each may bring.
typedef struct psvi_sorter_terms {
    uint64_t max_count;
    uint32_t key_type, value_bytes, descending, nan_policy, begin_bit, end_bit;
} psvi_sorter_terms;

struct psv_group_sorter {
    uint32_t cookie;
    psv_group *group;
    psv_context *context;
    psv_sorter_def def; // of the local sorter, its max_count as it is now
    uint64_t max_given; // most keys of a call
    psv_sorter *local;
    const psvi_group_key_ops *ops;
    void *state;
    psvi_key_order order;
    uint32_t key_bytes;
    psvi_room sent_keys, sent_values, keys, values;
    psvi_place *samples, *all_samples, *splitters;
    uint64_t sample_room, all_sample_room;
    // On the host, `size` of each: keys that each rank gives; keys for and from each rank and where they begin; samples
    uint64_t *given, *sent, *sent_first, *received, *received_first, *sampled;
    uint64_t *matrix; // size * size: keys from rank r to rank c
    psvi_part_target *targets;
    psv_group_sort_statistics statistics;
};

psv_group_sorter_def psv_default_group_sorter_def(void) {
    return (psv_group_sorter_def){.cookie = PSVI_GROUP_SORTER_COOKIE, .local = psv_default_sorter_def()};
}

// --- life ------------------------------------------------------------------------------------------------------------

static psv_status make_local_sorter(psv_group_sorter *sorter, uint64_t count) {
    if (sorter->local != NULL && count <= sorter->def.max_count) return PSV_OK;
    if (count > UINT32_MAX)
        return psvi_fail(sorter->context, PSV_ERROR_CAPACITY,
                         "%llu keys come to this rank; a sorter sorts at most 4294967295", (unsigned long long)count);
    psv_destroy_sorter(sorter->local);
    sorter->def.max_count = count;
    return psv_create_sorter(sorter->context, &sorter->def, &sorter->local);
}

static psv_status alloc_numbers(psv_group_sorter *sorter) {
    const uint64_t size = sorter->group->size;
    uint64_t *numbers = calloc(6 * size + size * size, sizeof *numbers);
    sorter->splitters = calloc(size, sizeof *sorter->splitters);
    sorter->targets = calloc(size, sizeof *sorter->targets);
    sorter->given = numbers;
    if (numbers == NULL || sorter->splitters == NULL || sorter->targets == NULL)
        return psvi_fail(sorter->context, PSV_ERROR_MEMORY, "no memory for a sorter of %u ranks", sorter->group->size);
    sorter->sent = numbers + size;
    sorter->sent_first = numbers + 2 * size;
    sorter->received = numbers + 3 * size;
    sorter->received_first = numbers + 4 * size;
    sorter->sampled = numbers + 5 * size;
    sorter->matrix = numbers + 6 * size;
    return sorter->ops->open(sorter->context, sorter->group->size, &sorter->state);
}

static psv_status compare_terms(psv_group_sorter *sorter, psvi_sorter_terms mine, uint64_t *mean) {
    psv_group *group = sorter->group;
    psvi_sorter_terms *all = malloc(group->size * sizeof *all);
    psv_status status =
        all == NULL ? psvi_fail(group->context, PSV_ERROR_MEMORY, "no memory for a sorter of a group") : PSV_OK;
    if (all == NULL) {
        (void)psvi_group_agree(group, PSVI_CALL_CREATE_SORTER, status);
        return status;
    }
    status = psvi_group_gather(group, PSVI_CALL_CREATE_SORTER, PSV_OK, &mine, all, sizeof mine);
    uint64_t sum = 0;
    for (uint32_t r = 0; r < group->size && status == PSV_OK; ++r) {
        sum += all[r].max_count;
        if (memcmp(&all[r].key_type, &mine.key_type, sizeof mine - offsetof(psvi_sorter_terms, key_type)) != 0)
            status =
                psvi_fail(group->context, PSV_ERROR_ARGUMENT,
                          "def.local of rank %u is not that of rank %u; only max_count may differ", r, group->rank);
    }
    const uint64_t each = group->size == 0 ? 0 : sum / group->size;
    *mean = each + each / 16 + 64;
    free(all);
    return status;
}

static psv_status create_sorter_parts(psv_group_sorter *sorter, const psv_group_sorter_def *def) {
    const psv_sorter_def *local = &def->local;
    const uint32_t bits = 8 * psv_key_type_bytes(local->key_type);
    const psvi_sorter_terms mine = {.max_count = local->max_count,
                                    .key_type = (uint32_t)local->key_type,
                                    .value_bytes = local->value_bytes,
                                    .descending = local->descending,
                                    .nan_policy = (uint32_t)local->nan_policy,
                                    .begin_bit = local->begin_bit,
                                    .end_bit = local->end_bit == 0 ? bits : local->end_bit};
    uint64_t mean = 0;
    psv_status status = compare_terms(sorter, mine, &mean);
    if (status != PSV_OK) return status;
    sorter->order =
        psvi_make_key_order(local->key_type, local->descending, local->nan_policy, mine.begin_bit, mine.end_bit);
    status = make_local_sorter(sorter, mean < UINT32_MAX ? mean : UINT32_MAX);
    if (status == PSV_OK) status = alloc_numbers(sorter);
    return psvi_group_agree(sorter->group, PSVI_CALL_CREATE_SORTER, status);
}

static psv_status check_sorter_def(psv_context *context, const psv_group_sorter_def *def) {
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != PSVI_GROUP_SORTER_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_group_sorter_def");
    return psvi_refuse_words(context, def->local.key_type, "a group's sorter");
}

psv_status psv_create_group_sorter(psv_group *group, const psv_group_sorter_def *def, psv_group_sorter **sorter) {
    if (sorter != NULL) *sorter = NULL;
    psv_status status = psvi_check_group(group);
    if (status != PSV_OK) return status;
    status = sorter == NULL ? psvi_fail(group->context, PSV_ERROR_ARGUMENT, "sorter is NULL")
                            : check_sorter_def(group->context, def);
    psv_group_sorter *made = status == PSV_OK ? calloc(1, sizeof *made) : NULL;
    if (status == PSV_OK && made == NULL)
        status = psvi_fail(group->context, PSV_ERROR_MEMORY, "no memory for a sorter of a group");
    status = psvi_group_agree(group, PSVI_CALL_CREATE_SORTER, status);
    if (status != PSV_OK) {
        free(made);
        return status;
    }
    made->cookie = PSVI_GROUP_SORTER_COOKIE;
    made->group = group;
    made->context = group->context;
    made->ops = psvi_sort_module_of(group->context->backend)->group_keys;
    made->def = def->local;
    made->def.scratch = (psv_buffer){0};
    made->max_given = def->local.max_count;
    made->key_bytes = psv_key_type_bytes(def->local.key_type);
    status = create_sorter_parts(made, def);
    if (status != PSV_OK) {
        psv_destroy_group_sorter(made);
        return status;
    }
    *sorter = made;
    return PSV_OK;
}

void psv_destroy_group_sorter(psv_group_sorter *sorter) {
    if (sorter == NULL || sorter->cookie != PSVI_GROUP_SORTER_COOKIE) return;
    psv_context *context = sorter->context;
    psv_destroy_sorter(sorter->local);
    sorter->ops->close(context, sorter->state);
    psvi_room *const rooms[] = {&sorter->sent_keys, &sorter->sent_values, &sorter->keys, &sorter->values};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; ++i)
        psvi_free_room(context, rooms[i]);
    free(sorter->samples);
    free(sorter->all_samples);
    free(sorter->splitters);
    free(sorter->targets);
    free(sorter->given);
    sorter->cookie = 0;
    free(sorter);
}

// --- splitters -------------------------------------------------------------------------------------------------------

static int compare_places(const void *a, const void *b) {
    const psvi_place *left = a, *right = b;
    return psvi_place_before(*right, *left) - psvi_place_before(*left, *right);
}

static bool grow_samples(psvi_place **samples, uint64_t *room, uint64_t count) {
    if (count <= *room) return true;
    free(*samples);
    *samples = malloc(count * sizeof **samples);
    *room = *samples == NULL ? 0 : count;
    return *samples != NULL;
}

// The samples of all ranks, in order; their number.
static psv_status collect_samples(psv_group_sorter *sorter, const psvi_group_keys *keys, uint64_t *sample_count) {
    psv_group *group = sorter->group;
    const uint64_t wanted = (uint64_t)PSVI_GROUP_SAMPLES * group->size;
    for (uint32_t r = 0; r < group->size; ++r)
        sorter->sampled[r] = psvi_group_samples(sorter->given, group->size, r, wanted);
    const uint64_t mine = sorter->sampled[group->rank], all = psvi_sum_before(sorter->sampled, group->size);
    psv_status status = PSV_OK;
    if (!grow_samples(&sorter->samples, &sorter->sample_room, mine) ||
        !grow_samples(&sorter->all_samples, &sorter->all_sample_room, all))
        status = psvi_fail(sorter->context, PSV_ERROR_MEMORY, "no memory for %llu samples", (unsigned long long)all);
    if (status == PSV_OK && mine > 0)
        status = sorter->ops->sample(sorter->context, sorter->state, keys, sorter->samples, mine);
    status = psvi_group_agree(group, PSVI_CALL_SORT_ROOM, status);
    if (status == PSV_OK)
        status =
            psvi_group_collect_host(group, sorter->samples, sorter->all_samples, sizeof(psvi_place), sorter->sampled);
    if (status == PSV_OK && all > 0) qsort(sorter->all_samples, all, sizeof(psvi_place), compare_places);
    *sample_count = all;
    return status;
}

static void choose_splitters(psv_group_sorter *sorter, uint64_t samples) {
    const uint32_t parts = sorter->group->size;
    for (uint32_t p = 1; p < parts; ++p)
        sorter->splitters[p - 1] =
            samples == 0 ? (psvi_place){UINT64_MAX, UINT64_MAX} : sorter->all_samples[samples * p / parts];
}

// --- the sort --------------------------------------------------------------------------------------------------------

// Counts of all ranks; from them the arrivals of this rank and the sizes of all parts.
static psv_status exchange_counts(psv_group_sorter *sorter, psv_status status, psv_group_sorted *sorted) {
    psv_group *group = sorter->group;
    const uint32_t size = group->size;
    status =
        psvi_group_gather(group, PSVI_CALL_SORT_PARTS, status, sorter->sent, sorter->matrix, size * sizeof(uint64_t));
    if (status != PSV_OK) return status;
    uint64_t most = 0;
    *sorted = (psv_group_sorted){0};
    for (uint32_t to = 0; to < size; ++to) {
        uint64_t part = 0;
        for (uint32_t from = 0; from < size; ++from)
            part += sorter->matrix[(uint64_t)from * size + to];
        if (to < group->rank) sorted->first += part;
        if (to == group->rank) sorted->count = part;
        if (part > most) most = part;
        sorted->total += part;
    }
    for (uint32_t r = 0; r < size; ++r) {
        sorter->received[r] = sorter->matrix[(uint64_t)r * size + group->rank];
        sorter->received_first[r] = psvi_sum_before(sorter->received, r);
        sorter->sent_first[r] = psvi_sum_before(sorter->sent, r);
    }
    sorter->statistics.sent = psvi_sum_before(sorter->sent, size) - sorter->sent[group->rank];
    sorter->statistics.imbalance = sorted->total == 0 ? 1 : (double)most * size / (double)sorted->total;
    return PSV_OK;
}

// Writes the parts to be sent one after another; the part of this rank goes to its final place at once.
static psv_status pack(psv_group_sorter *sorter, const psvi_part_values *values, const psvi_group_keys *given) {
    const uint32_t rank = sorter->group->rank, kb = sorter->key_bytes, vb = values->bytes;
    for (uint32_t r = 0; r < sorter->group->size; ++r) {
        const uint64_t place = r == rank ? sorter->received_first[r] : sorter->sent_first[r];
        char *keys = r == rank ? sorter->keys.memory : sorter->sent_keys.memory;
        char *with = r == rank ? sorter->values.memory : sorter->sent_values.memory;
        sorter->targets[r].keys = keys == NULL ? NULL : keys + place * kb;
        sorter->targets[r].values = with == NULL ? NULL : with + place * vb;
    }
    sorter->sent[rank] = sorter->received[rank] = 0;
    return sorter->ops->write_parts(sorter->context, sorter->state, given, *values, sorter->targets);
}

static psv_status make_sort_rooms(psv_group_sorter *sorter, uint64_t sent, uint64_t received, uint32_t value_bytes) {
    psv_context *context = sorter->context;
    psv_status status = psvi_make_room(context, &sorter->sent_keys, sent * sorter->key_bytes, "keys to send");
    if (status == PSV_OK) status = psvi_make_room(context, &sorter->sent_values, sent * value_bytes, "values to send");
    if (status == PSV_OK) status = psvi_make_room(context, &sorter->keys, received * sorter->key_bytes, "keys");
    if (status == PSV_OK) status = psvi_make_room(context, &sorter->values, received * value_bytes, "values");
    return status == PSV_OK ? make_local_sorter(sorter, received) : status;
}

static psv_status move_and_sort(psv_group_sorter *sorter, uint32_t value_bytes, psv_group_sorted *sorted) {
    const psvi_moved moved[2] = {
        {sorter->sent_keys.memory, sorter->keys.memory, sorter->key_bytes, sorter->sent_first, sorter->sent,
         sorter->received_first, sorter->received},
        {sorter->sent_values.memory, sorter->values.memory, value_bytes, sorter->sent_first, sorter->sent,
         sorter->received_first, sorter->received},
    };
    double begin = psvi_group_now_ms();
    psv_status status = psvi_group_move(sorter->group, moved, value_bytes > 0 ? 2 : 1);
    if (status == PSV_OK) status = sorter->context->ops->synchronize(sorter->context);
    sorter->statistics.move_ms = psvi_group_now_ms() - begin;
    if (status != PSV_OK) return status;
    begin = psvi_group_now_ms();
    sorted->keys = psv_buffer_of(sorter->keys.memory, sorted->count * sorter->key_bytes);
    sorted->values = psv_buffer_of(sorter->values.memory, sorted->count * value_bytes);
    if (sorted->count > 0)
        status = value_bytes > 0 ? psv_sort_pairs(sorter->local, sorted->keys, sorted->values, sorted->count)
                                 : psv_sort_keys(sorter->local, sorted->keys, sorted->count);
    if (status == PSV_OK) status = sorter->context->ops->synchronize(sorter->context);
    sorter->statistics.sort_ms = psvi_group_now_ms() - begin;
    return status;
}

// `values` NULL: the keys' places are the values, if there are any.
static psv_status sort_all(psv_group_sorter *sorter, psv_status status, psv_buffer keys, const psv_buffer *values,
                           uint32_t value_bytes, uint64_t count, psv_group_sorted *sorted) {
    psv_group *group = sorter->group;
    const double begin = psvi_group_now_ms();
    status = psvi_group_gather(group, PSVI_CALL_SORT_COUNTS, status, &count, sorter->given, sizeof count);
    if (status != PSV_OK) return status;
    const uint64_t total = psvi_sum_before(sorter->given, group->size);
    if (values == NULL && value_bytes == 4 && total > (uint64_t)UINT32_MAX + 1)
        return psvi_fail(sorter->context, PSV_ERROR_CAPACITY,
                         "%llu keys; an index of 4 bytes numbers at most 4294967296", (unsigned long long)total);
    const psvi_group_keys given = {.order = sorter->order,
                                   .keys = psvi_buffer_address(keys),
                                   .count = count,
                                   .first = psvi_sum_before(sorter->given, group->rank),
                                   .splitters = sorter->splitters,
                                   .parts = group->size};
    const psvi_part_values with = {values == NULL ? NULL : psvi_buffer_address(*values), value_bytes};
    uint64_t samples = 0;
    status = collect_samples(sorter, &given, &samples);
    if (status != PSV_OK) return status;
    choose_splitters(sorter, samples);
    status = sorter->ops->count_parts(sorter->context, sorter->state, &given, sorter->sent);
    status = exchange_counts(sorter, status, sorted);
    if (status != PSV_OK) return status;
    status = make_sort_rooms(sorter, count, sorted->count, value_bytes);
    if (status == PSV_OK) status = pack(sorter, &with, &given);
    if (status == PSV_OK) status = sorter->context->ops->synchronize(sorter->context);
    sorter->statistics.split_ms = psvi_group_now_ms() - begin;
    status = psvi_group_agree(group, PSVI_CALL_SORT_ROOM, status);
    if (status == PSV_OK)
        status = psvi_group_agree(group, PSVI_CALL_SORT_DONE, move_and_sort(sorter, value_bytes, sorted));
    return status;
}

void psvi_lift_group_sorter_limit(psv_group_sorter *sorter) { sorter->max_given = UINT64_MAX; }

static psv_status check_sorter(const psv_group_sorter *sorter) {
    if (sorter == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is NULL");
    if (sorter->cookie != PSVI_GROUP_SORTER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is not a living sorter of a group");
    return PSV_OK;
}

static psv_status check_keys(psv_group_sorter *sorter, psv_buffer keys, const psv_buffer *values, uint32_t value_bytes,
                             uint64_t count, const psv_group_sorted *sorted) {
    psv_context *context = sorter->context;
    if (sorted == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "sorted is NULL");
    if (count > sorter->max_given)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "count is %llu; def.local.max_count is %llu",
                         (unsigned long long)count, (unsigned long long)sorter->max_given);
    psv_status status = psvi_check_buffer(context, keys, count * sorter->key_bytes, sorter->key_bytes, "keys");
    if (status == PSV_OK && values != NULL && value_bytes > 0)
        status = psvi_check_buffer(context, *values, count * value_bytes, value_bytes, "values");
    return status;
}

static psv_status run_group_sort(psv_group_sorter *sorter, psv_buffer keys, const psv_buffer *values,
                                 uint32_t value_bytes, uint64_t count, psv_group_sorted *sorted) {
    psv_group_sorted result = {0};
    psv_status status = check_keys(sorter, keys, values, value_bytes, count, sorted);
    status = sort_all(sorter, status, keys, values, value_bytes, status == PSV_OK ? count : 0, &result);
    if (sorted != NULL) *sorted = status == PSV_OK ? result : (psv_group_sorted){0};
    return status;
}

psv_status psv_group_sort_pairs(psv_group_sorter *sorter, psv_buffer keys, psv_buffer values, uint64_t count,
                                psv_group_sorted *sorted) {
    const psv_status status = check_sorter(sorter);
    return status != PSV_OK ? status : run_group_sort(sorter, keys, &values, sorter->def.value_bytes, count, sorted);
}

psv_status psv_group_sort_keys(psv_group_sorter *sorter, psv_buffer keys, uint64_t count, psv_group_sorted *sorted) {
    const psv_status status = check_sorter(sorter);
    return status != PSV_OK ? status : run_group_sort(sorter, keys, NULL, 0, count, sorted);
}

psv_status psv_group_sort_index(psv_group_sorter *sorter, psv_buffer keys, uint64_t count, psv_group_sorted *sorted) {
    const psv_status status = check_sorter(sorter);
    if (status != PSV_OK) return status;
    if (sorter->def.value_bytes == 0)
        return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT,
                         "def.local.value_bytes is 0; the index needs 4 or 8 bytes a key");
    return run_group_sort(sorter, keys, NULL, sorter->def.value_bytes, count, sorted);
}

psv_status psv_read_group_sort_statistics(const psv_group_sorter *sorter, psv_group_sort_statistics *statistics) {
    const psv_status status = check_sorter(sorter);
    if (status != PSV_OK) return status;
    if (statistics == NULL) return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    *statistics = sorter->statistics;
    return PSV_OK;
}
