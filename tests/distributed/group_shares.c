#include "group_shares.h"

#include <stdio.h>
#include <stdlib.h>

#include "box_case.h"

bool fails(const psv_group *group, uint64_t seed, const char *what) {
    fprintf(stderr, "rank %u of %u, seed %llu: %s\n", psv_group_rank(group), psv_group_size(group),
            (unsigned long long)seed, what);
    return false;
}

bool fails_with(const psv_group *group, const psv_context *context, uint64_t seed, const char *call) {
    fprintf(stderr, "rank %u of %u, seed %llu: %s: %s\n", psv_group_rank(group), psv_group_size(group),
            (unsigned long long)seed, call, psv_last_error(context));
    return false;
}

void upload(psv_context *context, psv_buffer *buffer, const void *source, uint64_t bytes) {
    if (psv_alloc_buffer(context, bytes, buffer) != PSV_OK || psv_upload(context, *buffer, source, bytes) != PSV_OK)
        abort();
}

uint32_t rank_of(group_deal deal, uint32_t size, uint64_t seed, uint64_t i, uint64_t order, uint64_t count) {
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

share take_share(const psv_group *group, group_deal deal, uint64_t seed, const uint64_t *order, uint64_t count) {
    share own = {must(malloc((count + 1) * sizeof(uint64_t))), 0};
    for (uint64_t i = 0; i < count; ++i)
        if (rank_of(deal, psv_group_size(group), seed, i, order == NULL ? i : order[i], count) == psv_group_rank(group))
            own.numbers[own.count++] = i;
    return own;
}

char *collect(const psv_group *group, const psv_group_transport *transport, const void *part, uint64_t bytes,
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
