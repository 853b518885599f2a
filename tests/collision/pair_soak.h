// Events of boxes that move, appear and disappear, replayed from an empty set: always the pairs of the frame.
#ifndef PAIRSIEVE_PAIR_SOAK_H
#define PAIRSIEVE_PAIR_SOAK_H

#include <pairsieve/core.h>
#include <stdbool.h>
#include <stdint.h>

// A call that must not fail. For places where `context` and cmocka are known.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        psv_status check_status = (call);                                                                              \
        if (check_status != PSV_OK)                                                                                    \
            fail_msg("%s: %s: %s", #call, psv_status_name(check_status), psv_last_error(context));                     \
    } while (0)

typedef struct pair_soak {
    const char *method; // broad phase
    uint32_t frames;
    uint64_t seed;
    // Out:
    uint32_t done; // frames
    uint64_t changes;
    double seconds;
    uint64_t held[2]; // bytes of memory after the first tenth of the frames (OpenGL: half), and at the end
    char failure[400];
} pair_soak;

// On a context of the caller's: false with `failure` set at the first difference.
bool soak_events(psv_context *context, pair_soak *soak, const uint64_t *bytes_held);

// Whether `name` is among `names`, which have commas between them.
bool soak_is_named(const char *names, const char *name);

// Each method of a backend (only_methods: those named alone) on a context of its own, whose memory is counted, all side
// by side; on OpenGL, where the process' memory is counted, one after another. Every so many frames one line about
// each. False when one failed, when memory grew or was not given back.
bool soak_side_by_side(psv_backend backend, const char *only_methods, uint32_t frames, uint64_t seed);

#endif
