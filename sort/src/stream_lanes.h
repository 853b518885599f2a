// The device's side of a sort that streams. Pairs come in batches: each goes up to the device, is sorted there and
// comes down. In a sort of host memory three batches are on their way at once, where the backend has streams: one goes
// up while another is sorted and a third comes down. Else each copy is finished when its call returns.
#ifndef PAIRSIEVE_SORT_STREAM_LANES_H
#define PAIRSIEVE_SORT_STREAM_LANES_H

#include "pairsieve/sort.h"
#include "stream_check.h"

typedef struct psvi_stream psvi_stream; // stream_ends.h

enum { PSVI_STREAM_SLOTS = 3 };

// Room for a batch on the device, and what its copies and sorts wait for.
typedef struct psvi_stream_slot {
    psv_buffer columns[2];    // keys, values
    void *up, *sorted, *down; // events: the batch is on the device, is sorted, has left
} psvi_stream_slot;

typedef struct psvi_stream_lanes {
    psv_sorter *sorter;
    psvi_stream_slot slots[PSVI_STREAM_SLOTS];
    uint32_t slot_count;
    void *up, *down;       // streams; NULL: copies are made in the context's own, and waited for
    psvi_pair_sums *check; // on the device, of the input and of the output; NULL: the host checks
    uint64_t batches;
} psvi_stream_lanes;

// How many batches the context can have on their way.
uint32_t psvi_stream_slots(const psv_context *context);

// Room for batches of s->room pairs. Errors: PSV_ERROR_MEMORY, PSV_ERROR_DEVICE.
psv_status psvi_open_lanes(psvi_stream *s, const psv_sorter_def *def);
void psvi_close_lanes(psvi_stream *s);

// A batch: psvi_begin_batch waits until its room is free; then pairs go up, psvi_sort_batch sorts the first `count`,
// and pairs come down. `input`, `output`: the device sums the pairs before, or sums and compares them after the sort.
psv_status psvi_begin_batch(psvi_stream *s);
psv_status psvi_batch_up(psvi_stream *s, int column, uint64_t at, const uint8_t *from, uint64_t count);
psv_status psvi_sort_batch(psvi_stream *s, uint64_t count, bool input, bool output);
psv_status psvi_batch_down(psvi_stream *s, int column, uint64_t at, uint8_t *to, uint64_t count);
void psvi_end_batch(psvi_stream *s);

// All batches have come down.
psv_status psvi_drain_batches(psvi_stream *s);

// Adds what the device has summed to the stream's sums.
psv_status psvi_read_check(psvi_stream *s);

#endif
