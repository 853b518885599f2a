// Both ends of a sort that streams, and what is put aside between: files of records, or arrays in host memory.
#ifndef PAIRSIEVE_STREAM_ENDS_H
#define PAIRSIEVE_STREAM_ENDS_H

#include <stdio.h>
#include <string.h>

#include "../../core/portable/replaced_file.h"
#include "key_order.h"
#include "pairsieve/stream_sort.h"
#include "stream_lanes.h"

// A sorted run that was put aside, and its window: the first `held` pairs that are not written yet.
typedef struct psvi_run {
    uint64_t next, end; // places of the pairs behind the window
    uint8_t *window[2]; // keys, values
    uint64_t held;
} psvi_run;

// Of def.restart, see stream_restart.h.
typedef struct psvi_restart {
    FILE *list;                  // of finished runs; NULL: none is kept
    char names[3][PATH_MAX + 1]; // of the list, the keys, the values
    uint64_t seal;               // of the list's last entry
    uint64_t chain[2];           // checksums of the run that is put aside
    uint64_t kept_runs;          // of an earlier call
    bool opened;                 // the files belong to this call
} psvi_restart;

struct psvi_stream {
    psv_context *context;
    psv_stream_def def;
    uint32_t key_bytes, value_bytes;
    psvi_key_order order;
    bool in_memory;
    uint64_t known_count; // 0: not known
    uint64_t room;        // pairs that fit at once

    psvi_stream_lanes lanes;
    uint8_t *piece[2], *records; // a piece of the pairs on their way, and as records of a file
    uint8_t *window_memory[2];
    psvi_run *runs;
    uint64_t runs_put, run_room;

    FILE *input, *aside[2];
    char aside_names[2][PATH_MAX + 1]; // of files that could not be unlinked while open
    psvi_replaced_file output;
    psvi_restart restart;
    uint8_t *source[2], *sorted[2]; // in memory
    uint64_t *parts, part_room;     // where the rounds' parts of the output end, if the device checks each by itself

    uint64_t count, emitted, done, rounds;
    uint64_t sum_in, sum_out, descents, last_key;
};

// The key at a place as the number that orders it.
static inline uint64_t psvi_key_at(const psvi_stream *s, const uint8_t *keys, uint64_t place) {
    if (s->key_bytes == 8) {
        uint64_t key;
        memcpy(&key, keys + 8 * place, 8);
        return psvi_transform_u64(key, s->order);
    }
    uint32_t key;
    memcpy(&key, keys + 4 * place, 4);
    return psvi_transform_u32(key, s->order);
}

// Pairs of a piece, where `count` fit at once.
uint64_t psvi_piece_pairs(const psvi_stream *s, uint64_t count);

psv_status psvi_open_files(psvi_stream *s, const char *input, const char *output);
// Closes all. The output takes its name if `status` is PSV_OK; returns `status` or the error of that.
psv_status psvi_close_files(psvi_stream *s, const char *output, psv_status status);

// Adds the run of the last `count` pairs to the list. Errors: PSV_ERROR_MEMORY.
psv_status psvi_add_run(psvi_stream *s, uint64_t count);

// The next pairs of the input to the device, as many as fit. *ended: none follow.
psv_status psvi_load_run(psvi_stream *s, uint64_t *count, bool *ended);
// `count` pairs of the device, put aside at place `begin`.
psv_status psvi_save_run(psvi_stream *s, uint64_t begin, uint64_t count);
// `count` pairs of the device to the output, checked. psvi_check_ends: from part to part too, when all have come down.
psv_status psvi_emit(psvi_stream *s, uint64_t count);
void psvi_check_ends(psvi_stream *s);

// Reads the window of a run until it holds `room` pairs or the run ends.
psv_status psvi_fill_window(psvi_stream *s, psvi_run *run, uint64_t room);
// The first `count` pairs of the window to the device, behind `at` pairs.
psv_status psvi_upload_part(psvi_stream *s, const psvi_run *run, uint64_t count, uint64_t at);
// Takes them out of the window.
void psvi_drop_part(psvi_stream *s, psvi_run *run, uint64_t count);

#endif
