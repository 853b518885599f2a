// Times of the parts of a sort, between events that the sorter records.
#include "sort_parts.h"

#include <stdlib.h>

#include "../../sort/src/sort_method.h"
#include "../sort/cuda/hybrid.h"

_Static_assert(HYBRID_PARTS == PSVI_HYBRID_PARTS, "the header names another number of parts");
const char *const hybrid_part_names[HYBRID_PARTS] = PSVI_HYBRID_PART_NAMES;
const char *const split_part_names[SPLIT_PARTS] = {"sort of blocks of 512", "prefix sum of the bucket sizes",
                                                   "scatter"};

psv_status sort_time_parts(psv_context *context, psv_sorter *sorter, uint32_t parts, uint32_t passes,
                           psv_status (*sort)(void *user), void *user, int runs, double *ms) {
    const psvi_backend_ops *ops = context->ops;
    const uint32_t marks = parts * passes;
    void **events = calloc(marks + 1, sizeof *events);
    psv_status status = events != NULL ? PSV_OK : psvi_fail(context, PSV_ERROR_MEMORY, "no memory for events");
    for (uint32_t e = 0; e <= marks && status == PSV_OK; ++e)
        status = ops->create_event(context, &events[e]);
    sorter->state = events;
    for (int run = -1; run < runs && status == PSV_OK; ++run) {
        status = sort(user);
        for (uint32_t p = 0; p < parts && run >= 0; ++p)
            ms[p * (uint32_t)runs + (uint32_t)run] = 0;
        for (uint32_t e = 0; e < marks && run >= 0 && status == PSV_OK; ++e)
            ms[e % parts * (uint32_t)runs + (uint32_t)run] += ops->event_ms(context, events[e], events[e + 1]);
    }
    for (uint32_t e = 0; e <= marks && events != NULL; ++e)
        if (events[e] != NULL) ops->destroy_event(context, events[e]);
    sorter->state = NULL;
    free(events);
    return status;
}
