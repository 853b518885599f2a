#include "whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_BYTES 65536u // of what does not say its size

// Bytes of a plain file; 0 where they are not known before they are read.
static uint64_t known_size(FILE *file) {
    struct stat found;
    return fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0 ? (uint64_t)found.st_size
                                                                                           : 0;
}

static psv_status too_large(psv_context *context, const char *path, const char *what, uint64_t most) {
    return psvi_fail(context, PSV_ERROR_FORMAT, "%.200s: %s of more than %" PRIu64 " bytes is not read", path, what,
                     most);
}

// Reads to the end, whatever size was expected: a file may grow meanwhile.
static psv_status read_all(psv_context *context, FILE *file, const char *path, const char *what, uint64_t most,
                           char **data, uint64_t *size) {
    const uint64_t known = known_size(file);
    if (known > most) return too_large(context, path, what, most);
    if (known == 0 && most > PSVI_MOST_STREAM_BYTES) most = PSVI_MOST_STREAM_BYTES;
    for (uint64_t room = known > 0 ? known + 1 : FIRST_BYTES;; room = room < most / 2 ? 2 * room : most + 1) {
        char *grown = room < SIZE_MAX ? realloc(*data, (size_t)room + 1) : NULL;
        if (grown == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "%.200s: no host memory for %" PRIu64 " bytes of %s", path,
                             room, what);
        *data = grown;
        errno = 0;
        *size += fread(*data + *size, 1, (size_t)(room - *size), file);
        if (ferror(file) != 0) // a directory, say
            return psvi_fail(context, PSV_ERROR_FILE, "%.200s: %s", path, strerror(errno != 0 ? errno : EIO));
        (*data)[*size] = 0;
        if (*size > most) return too_large(context, path, what, most);
        if (*size < room) return PSV_OK;
    }
}

psv_status psvi_read_whole_file(psv_context *context, const char *path, const char *what, uint64_t most, char **data,
                                uint64_t *size) {
    *data = NULL;
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return psvi_fail(context, PSV_ERROR_FILE, "%.200s: %s", path, strerror(errno));
    const psv_status status = read_all(context, file, path, what, most, data, size);
    (void)fclose(file);
    if (status != PSV_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}
