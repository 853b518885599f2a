// A file as a whole in memory, for the readers of scenes, meshes and snapshots. Not installed.
#ifndef PAIRSIEVE_WHOLE_FILE_H
#define PAIRSIEVE_WHOLE_FILE_H

#include "../../core/context.h"

#define PSVI_MOST_STREAM_BYTES ((uint64_t)1 << 30) // of what is no plain file and may never end: a pipe, a device

// The bytes of the file, to be freed by the caller, and a byte 0 behind them. `what` is the kind of file in sentences.
// Plain files of up to `most` bytes, others of up to PSVI_MOST_STREAM_BYTES too. Errors: PSV_ERROR_FILE (as the system
// says it), PSV_ERROR_MEMORY, PSV_ERROR_FORMAT (larger).
psv_status psvi_read_whole_file(psv_context *context, const char *path, const char *what, uint64_t most, char **data,
                                uint64_t *size);

#endif
