// Ranks that are threads of one process: each publishes the address of its data, and the others copy their parts.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "group_internal.h"

// What a rank shows while others copy from it.
typedef struct shown {
    const void *sent;
    const uint64_t *first, *bytes;
} shown;

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t size;
    uint32_t users;   // ranks that are still there
    uint32_t arrived; // of this round
    uint64_t round;
    bool deserted; // a rank left: nobody waits any longer
    shown *shown;  // of each rank
} meeting;

typedef struct seat {
    meeting *meeting;
    uint32_t rank;
} seat;

static void free_meeting(meeting *place) {
    pthread_mutex_destroy(&place->lock);
    pthread_cond_destroy(&place->changed);
    free(place->shown);
    free(place);
}

static meeting *make_meeting(uint32_t size) {
    meeting *made = calloc(1, sizeof *made);
    shown *list = calloc(size, sizeof *list);
    if (made == NULL || list == NULL) {
        free(made);
        free(list);
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->size = size;
    made->shown = list;
    return made;
}

// Waits for all ranks; false when one of them is gone.
static bool meet(meeting *place) {
    pthread_mutex_lock(&place->lock);
    const uint64_t round = place->round;
    if (!place->deserted && ++place->arrived == place->size) {
        place->arrived = 0;
        ++place->round;
        pthread_cond_broadcast(&place->changed);
    }
    while (round == place->round && !place->deserted)
        pthread_cond_wait(&place->changed, &place->lock);
    const bool all_came = round != place->round;
    pthread_mutex_unlock(&place->lock);
    return all_came;
}

static bool all_gather(const void *sent, void *received, uint64_t bytes, void *user) {
    const seat *mine = user;
    meeting *place = mine->meeting;
    place->shown[mine->rank].sent = sent;
    if (!meet(place)) return false;
    for (uint32_t r = 0; r < place->size && bytes > 0; ++r)
        memcpy((char *)received + r * bytes, place->shown[r].sent, bytes);
    return meet(place); // until then others copy from here
}

static bool exchange(const void *sent, const uint64_t *sent_first, const uint64_t *sent_bytes, void *received,
                     const uint64_t *received_first, const uint64_t *received_bytes, void *user) {
    const seat *mine = user;
    meeting *place = mine->meeting;
    place->shown[mine->rank] = (shown){sent, sent_first, sent_bytes};
    if (!meet(place)) return false;
    for (uint32_t r = 0; r < place->size; ++r) {
        const shown *other = &place->shown[r];
        if (received_bytes[r] > 0)
            memcpy((char *)received + received_first[r], (const char *)other->sent + other->first[mine->rank],
                   received_bytes[r]);
    }
    return meet(place);
}

static void release(void *user) {
    seat *mine = user;
    meeting *place = mine->meeting;
    pthread_mutex_lock(&place->lock);
    place->deserted = true;
    const bool last = --place->users == 0;
    pthread_cond_broadcast(&place->changed);
    pthread_mutex_unlock(&place->lock);
    if (last) free_meeting(place);
    free(mine);
}

// Making a group is collective, so each rank makes its part on a thread.
typedef struct joining {
    psv_context *context;
    psv_group_transport transport;
    psv_group *group;
    psv_status status;
} joining;

static void *join_meeting(void *data) {
    joining *mine = data;
    mine->status = psv_create_group(mine->context, &mine->transport, &mine->group);
    if (mine->status != PSV_OK) mine->transport.release(mine->transport.user); // whoever waits for it learns of it
    return NULL;
}

static psv_status join_all(joining *ranks, uint32_t count) {
    pthread_t *threads = malloc(count * sizeof *threads);
    uint32_t started = 0;
    while (threads != NULL && started < count &&
           pthread_create(&threads[started], NULL, join_meeting, &ranks[started]) == 0)
        ++started;
    for (uint32_t r = started; r < count; ++r) {
        ranks[r].status = psvi_fail(ranks[r].context, PSV_ERROR_MEMORY, "no thread for rank %u of a group", r);
        ranks[r].transport.release(ranks[r].transport.user);
    }
    psv_status status = PSV_OK;
    for (uint32_t r = 0; r < started; ++r)
        pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < count && status == PSV_OK; ++r)
        if (ranks[r].status != PSV_OK)
            status = psvi_fail(NULL, ranks[r].status, "%s", psv_last_error(ranks[r].context));
    free(threads);
    return status;
}

static psv_status check_contexts(psv_context *const *contexts, uint32_t count, psv_group **groups) {
    if (contexts == NULL || groups == NULL || count == 0)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "%s",
                         count == 0         ? "count is 0; a group has one rank at least"
                         : contexts == NULL ? "contexts is NULL"
                                            : "groups is NULL");
    for (uint32_t r = 0; r < count; ++r) {
        const psv_status status = psvi_check_context(contexts[r]);
        if (status != PSV_OK) return status;
        for (uint32_t other = 0; other < r; ++other)
            if (contexts[other] == contexts[r])
                return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "contexts %u and %u are the same; each rank has its own",
                                 other, r);
    }
    return PSV_OK;
}

psv_status psv_create_local_groups(psv_context *const *contexts, uint32_t count, psv_group **groups) {
    psv_status status = check_contexts(contexts, count, groups);
    if (status != PSV_OK) return status;
    for (uint32_t r = 0; r < count; ++r)
        groups[r] = NULL;
    meeting *place = make_meeting(count);
    joining *ranks = calloc(count, sizeof *ranks);
    uint32_t seats = 0;
    for (; place != NULL && ranks != NULL && seats < count; ++seats) {
        seat *made = malloc(sizeof *made);
        if (made == NULL) break;
        *made = (seat){place, seats};
        ranks[seats].context = contexts[seats];
        ranks[seats].transport = (psv_group_transport){seats, count, all_gather, exchange, release, made, NULL};
    }
    if (seats < count) {
        for (uint32_t r = 0; r < seats; ++r)
            free(ranks[r].transport.user);
        if (place != NULL) free_meeting(place);
        free(ranks);
        return psvi_fail(NULL, PSV_ERROR_MEMORY, "no memory for a group of %u ranks", count);
    }
    place->users = count;
    status = join_all(ranks, count);
    for (uint32_t r = 0; r < count; ++r) {
        if (status == PSV_OK)
            groups[r] = ranks[r].group;
        else
            psv_destroy_group(ranks[r].group);
    }
    free(ranks);
    return status;
}
