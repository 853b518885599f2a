// Times of the parts of the hybrid sort.
#include "hybrid_parts.h"

#if PSV_HAVE_CUDA
#include "../../sort/src/sort_method.h"
#include "../sort/cuda/hybrid.h"

_Static_assert(HYBRID_PARTS == PSVI_HYBRID_PARTS, "the header names another number of parts");
const char *const hybrid_part_names[HYBRID_PARTS] = PSVI_HYBRID_PART_NAMES;

psv_status hybrid_time_parts(psv_context *context, psv_sorter *sorter, psv_status (*sort)(void *user), void *user,
                             int runs, double *ms) {
    const psvi_backend_ops *ops = context->ops;
    void *events[PSVI_HYBRID_PARTS + 1] = {0};
    psv_status status = PSV_OK;
    for (int e = 0; e <= PSVI_HYBRID_PARTS && status == PSV_OK; ++e)
        status = ops->create_event(context, &events[e]);
    sorter->state = events;
    for (int run = -1; run < runs && status == PSV_OK; ++run) {
        status = sort(user);
        for (int p = 0; p < PSVI_HYBRID_PARTS && run >= 0 && status == PSV_OK; ++p)
            ms[p * runs + run] = ops->event_ms(context, events[p], events[p + 1]);
    }
    for (int e = 0; e <= PSVI_HYBRID_PARTS; ++e)
        if (events[e] != NULL) ops->destroy_event(context, events[e]);
    sorter->state = NULL;
    return status;
}
#else
const char *const hybrid_part_names[HYBRID_PARTS] = {"", "", "", "", "", ""};

psv_status hybrid_time_parts(psv_context *context, psv_sorter *sorter, psv_status (*sort)(void *user), void *user,
                             int runs, double *ms) {
    (void)context, (void)sorter, (void)sort, (void)user, (void)runs, (void)ms;
    return PSV_ERROR_UNSUPPORTED;
}
#endif
