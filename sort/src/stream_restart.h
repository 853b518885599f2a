// Sorted runs that outlive the process: a list of finished runs with checksums beside the files that hold them.
#ifndef PAIRSIEVE_STREAM_RESTART_H
#define PAIRSIEVE_STREAM_RESTART_H

#include "stream_ends.h"

// Opens the list and the files of the runs beside the output. Runs of an earlier, unfinished call are taken over if
// they belong to the same input and order and their checksums hold. Then s->runs, count, sum_in and the place of the
// input are as behind these runs. Other files of these names begin anew. Errors: PSV_ERROR_UNSUPPORTED (the input or
// the output is no plain file), PSV_ERROR_FILE (also while another process uses them), PSV_ERROR_MEMORY.
psv_status psvi_open_restart(psvi_stream *s);

// The run that was put aside last is on the disk, and the list names it.
psv_status psvi_note_run(psvi_stream *s);

// Closes the list. The files stay where a later call can go on: after errors of files, memory and devices.
void psvi_close_restart(psvi_stream *s, psv_status status);

// A number that depends on the order of the elements.
uint64_t psvi_chain_elements(uint64_t sum, const uint8_t *elements, uint32_t bytes, uint64_t count);

#endif
