// The self-check of pairs for a backend that has none of its own: what a check reads is copied to host memory, for the
// CPU.
#ifndef PAIRSIEVE_PAIR_CHECK_HOST_H
#define PAIRSIEVE_PAIR_CHECK_HOST_H

#include "pair_check.h"

#define PSVI_HOST_COPIES 24u

typedef struct psvi_host_check {
    psv_context *from, *cpu;
    psvi_check_input input; // in memory of the CPU's context
    void *memory[PSVI_HOST_COPIES];
    uint32_t count;
    psv_status status;
} psvi_host_check;

// Copies of the boxes (b: NULL or a second set), the rules and the pairs that `input` names. Close it in any case.
psv_status psvi_open_host_check(psv_context *context, const psv_box_set *a, const psv_box_set *b,
                                const psvi_check_input *input, psvi_host_check *host);
void psvi_close_host_check(psvi_host_check *host);

#endif
