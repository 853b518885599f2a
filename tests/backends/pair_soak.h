// Events of boxes that move, appear and disappear, replayed from an empty set: always the pairs of the frame.
#ifndef PAIRSIEVE_PAIR_SOAK_H
#define PAIRSIEVE_PAIR_SOAK_H

#include <pairsieve/core.h>
#include <stdint.h>

// A call that must not fail. For places where `context` and cmocka are known.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        psv_status check_status = (call);                                                                              \
        if (check_status != PSV_OK)                                                                                    \
            fail_msg("%s: %s: %s", #call, psv_status_name(check_status), psv_last_error(context));                     \
    } while (0)

typedef struct pair_soak {
    psv_context *context;
    const char *method; // broad phase
    uint32_t frames;
    uint64_t seed;
    const uint64_t *bytes_held; // of the context's memory, by its allocator: must not grow
} pair_soak;

void soak_events(const pair_soak *soak);

#endif
