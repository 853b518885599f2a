// Groups: how ranks agree and how arrays move between them.
#include "group_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/sort_method.h"
#include "nccl_transport.h"

// What a rank says in a gather, before its bytes.
typedef struct psvi_record {
    uint32_t call;
    int32_t status;
    char sentence[PSVI_GROUP_SENTENCE];
} psvi_record;

psv_status psvi_check_group(const psv_group *group) {
    if (group == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "group is NULL");
    if (group->cookie != PSVI_GROUP_COOKIE) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "group is not a living group");
    return PSV_OK;
}

static psv_status fail_transport(psv_group *group) {
    const psv_group_transport *transport = &group->transport;
    const char *reason = transport->reason == NULL ? NULL : transport->reason(transport->user);
    group->broken = true;
    return psvi_fail(group->context, PSV_ERROR_DEVICE, "rank %u of %u could not reach the others: %.200s", group->rank,
                     group->size, reason != NULL ? reason : "a rank left the group, or the transport failed");
}

// --- gather ----------------------------------------------------------------------------------------------------------

// The records: first this rank's, then those of all ranks.
static const psvi_record *record_of(const psv_group *group, uint32_t rank) {
    return (const psvi_record *)(group->records + (rank + 1) * (sizeof(psvi_record) + group->largest));
}

static psv_status judge(psv_group *group, psvi_group_call call, psv_status mine) {
    if (mine != PSV_OK) return mine;
    for (uint32_t r = 0; r < group->size; ++r) {
        const psvi_record *record = record_of(group, r);
        if (record->status != PSV_OK)
            return psvi_fail(group->context, (psv_status)record->status, "rank %u: %.*s", r, PSVI_GROUP_SENTENCE,
                             record->sentence);
    }
    for (uint32_t r = 0; r < group->size; ++r)
        if (record_of(group, r)->call != (uint32_t)call)
            return psvi_fail(group->context, PSV_ERROR_ARGUMENT,
                             "rank %u is in another call of the group than rank %u: all ranks make the same calls", r,
                             group->rank);
    return PSV_OK;
}

psv_status psvi_group_gather(psv_group *group, psvi_group_call call, psv_status mine, const void *sent, void *all,
                             uint64_t bytes) {
    if (group->broken) return fail_transport(group);
    psvi_nccl_enter(group);
    // Ranks in different calls bring different sizes, so every record has the largest size.
    const uint64_t step = sizeof(psvi_record) + group->largest;
    psvi_record *record = (psvi_record *)group->records;
    memset(record, 0, sizeof *record);
    record->call = (uint32_t)call;
    record->status = mine;
    if (mine != PSV_OK) snprintf(record->sentence, sizeof record->sentence, "%s", psv_last_error(group->context));
    if (bytes > 0 && mine == PSV_OK)
        memcpy(group->records + sizeof *record, sent, bytes);
    else
        memset(group->records + sizeof *record, 0, bytes);
    if (!group->transport.all_gather(record, group->records + step, step, group->transport.user))
        return fail_transport(group);
    for (uint32_t r = 0; r < group->size && bytes > 0; ++r)
        memcpy((char *)all + r * bytes, record_of(group, r) + 1, bytes);
    return judge(group, call, mine);
}

// --- moves -----------------------------------------------------------------------------------------------------------

psv_status psvi_group_move_host(psv_group *group, const psvi_moved *moved) {
    if (group->broken) return fail_transport(group);
    const uint32_t size = group->size;
    uint64_t *lengths = group->lengths;
    for (uint32_t r = 0; r < size; ++r) {
        lengths[r] = moved->sent_first[r] * moved->unit;
        lengths[size + r] = moved->sent_count[r] * moved->unit;
        lengths[2 * size + r] = moved->received_first[r] * moved->unit;
        lengths[3 * size + r] = moved->received_count[r] * moved->unit;
    }
    return group->transport.exchange(moved->sent, lengths, lengths + size, moved->received, lengths + 2 * size,
                                     lengths + 3 * size, group->transport.user)
               ? PSV_OK
               : fail_transport(group);
}

psv_status psvi_group_move(psv_group *group, const psvi_moved *list, uint32_t count) {
    if (group->nccl != NULL) return psvi_nccl_move(group, list, count);
    psv_status status = PSV_OK;
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i)
        status = psvi_group_move_host(group, &list[i]);
    return status;
}

psv_status psvi_group_collect_host(psv_group *group, const void *sent, void *all, uint32_t unit,
                                   const uint64_t *counts) {
    const uint32_t size = group->size;
    uint64_t *numbers = calloc(3 * (size_t)size, sizeof *numbers);
    if (numbers == NULL) // the others are on their way into this call
        return fail_transport(group);
    uint64_t *none = numbers, *mine = numbers + size, *first = numbers + 2 * size;
    for (uint32_t r = 0; r < size; ++r) {
        mine[r] = counts[group->rank];
        first[r] = psvi_sum_before(counts, r);
    }
    const psvi_moved moved = {sent, all, unit, none, mine, first, counts};
    const psv_status status = psvi_group_move_host(group, &moved);
    free(numbers);
    return status;
}

uint64_t psvi_group_samples(const uint64_t *counts, uint32_t size, uint32_t rank, uint64_t wanted) {
    const uint64_t total = psvi_sum_before(counts, size);
    if (total <= wanted) return counts[rank];
    const uint64_t samples = (uint64_t)((double)counts[rank] * ((double)wanted / (double)total));
    return samples == 0 && counts[rank] > 0 ? 1 : samples;
}

// --- memory ----------------------------------------------------------------------------------------------------------

psv_status psvi_make_room(psv_context *context, psvi_room *room, uint64_t bytes, const char *what) {
    if (bytes <= room->bytes) return PSV_OK;
    const bool grows = room->bytes > 0;
    psvi_free_room(context, room);
    uint64_t wanted = grows ? bytes + bytes / 4 : bytes;
    room->memory = psvi_alloc(context, wanted);
    if (room->memory == NULL && wanted > bytes) room->memory = psvi_alloc(context, wanted = bytes);
    if (room->memory == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for %llu bytes of %s", context->ops->name,
                         (unsigned long long)bytes, what);
    room->bytes = wanted;
    return PSV_OK;
}

void psvi_free_room(psv_context *context, psvi_room *room) {
    if (room->bytes > 0) {
        (void)context->ops->synchronize(context);
        psvi_free(context, room->memory, room->bytes);
    }
    *room = (psvi_room){0};
}

// --- life ------------------------------------------------------------------------------------------------------------

// Contexts of one backend, and a transport beneath it.
static psv_status join(psv_group *group) {
    uint32_t mine = (uint32_t)group->context->backend, *all = malloc(group->size * sizeof *all);
    if (all == NULL) return psvi_fail(group->context, PSV_ERROR_MEMORY, "no memory for a group");
    psv_status status = psvi_group_gather(group, PSVI_CALL_CREATE, PSV_OK, &mine, all, sizeof mine);
    for (uint32_t r = 0; r < group->size && status == PSV_OK; ++r)
        if (all[r] != mine)
            status = psvi_fail(group->context, PSV_ERROR_ARGUMENT,
                               "rank %u has a %s context and rank %u a %s one; a group is of one backend", group->rank,
                               psv_backend_name((psv_backend)mine), r, psv_backend_name((psv_backend)all[r]));
    free(all);
    const psvi_sort_module *module = psvi_sort_module_of(group->context->backend);
    if (status == PSV_OK && module->connect_group != NULL) status = module->connect_group(group);
    return status;
}

static void free_group(psv_group *group) {
    psvi_close_nccl(group);
    group->cookie = 0;
    free(group->records);
    free(group->lengths);
    free(group);
}

static psv_status check_group_arguments(psv_context *context, const psv_group_transport *transport, psv_group **group) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (transport == NULL || group == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", group == NULL ? "group" : "transport");
    if (transport->size == 0 || transport->rank >= transport->size)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "transport.rank is %u; it must be below transport.size, %u",
                         transport->rank, transport->size);
    if (transport->all_gather == NULL || transport->exchange == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "transport.%s is NULL",
                         transport->all_gather == NULL ? "all_gather" : "exchange");
    const psvi_sort_module *module = psvi_sort_module_of(context->backend);
    if (module == NULL || (module->group_keys == NULL && module->connect_group == NULL))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no groups", context->ops->name);
    return PSV_OK;
}

psv_status psv_create_group(psv_context *context, const psv_group_transport *transport, psv_group **group) {
    if (group != NULL) *group = NULL;
    psv_status status = check_group_arguments(context, transport, group);
    if (status != PSV_OK) return status;
    const uint64_t largest = PSVI_GROUP_PAYLOAD + 16 * (uint64_t)transport->size;
    psv_group *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->records = malloc((transport->size + (uint64_t)1) * (sizeof(psvi_record) + largest));
        made->lengths = malloc(4 * (uint64_t)transport->size * sizeof *made->lengths);
    }
    if (made == NULL || made->records == NULL || made->lengths == NULL) {
        if (made != NULL) free_group(made);
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a group of %u ranks", transport->size);
    }
    made->cookie = PSVI_GROUP_COOKIE;
    made->rank = transport->rank;
    made->size = transport->size;
    made->context = context;
    made->transport = *transport;
    made->largest = largest;
    status = join(made);
    if (status != PSV_OK) {
        free_group(made);
        return status;
    }
    *group = made;
    return PSV_OK;
}

void psv_destroy_group(psv_group *group) {
    if (group == NULL || group->cookie != PSVI_GROUP_COOKIE) return;
    const psv_group_transport transport = group->transport;
    free_group(group);
    if (transport.release != NULL) transport.release(transport.user);
}

uint32_t psv_group_rank(const psv_group *group) { return group == NULL ? 0 : group->rank; }

uint32_t psv_group_size(const psv_group *group) { return group == NULL ? 0 : group->size; }
