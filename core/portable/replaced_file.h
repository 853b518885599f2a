// Writing a file so that the old content stays until the new one is complete. The new content goes to a new file in the
// same folder, is flushed to the disk, and then takes the name. A full disk, a crash or a signal leaves the old file.
// Devices and pipes, and files in folders that take no new file, are written directly.
//
// Needs nothing of the library: the programs include it too.
#ifndef PAIRSIEVE_REPLACED_FILE_H
#define PAIRSIEVE_REPLACED_FILE_H

#include "path_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct psvi_replaced_file {
    FILE *stream;            // to be written by the caller
    char target[PATH_MAX];   // that the file is to have, links followed
    char part[PATH_MAX + 1]; // the new file; empty: `stream` writes the target
} psvi_replaced_file;

// The path of an existing file, links followed; false for files that can only be written directly.
static inline bool psvi_find_target(psvi_replaced_file *file, const char *path, struct stat *old, bool *exists) {
    *exists = stat(path, old) == 0;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return false; // descriptors have names there
    if (*exists) return S_ISREG(old->st_mode) && realpath(path, file->target) != NULL;
    struct stat link;
    if (errno != ENOENT || lstat(path, &link) == 0 || strlen(path) >= sizeof file->target) return false;
    memcpy(file->target, path, strlen(path) + 1);
    return true;
}

// A new file beside the target, with the rights of the old one; false where there can be none.
static inline bool psvi_open_part(psvi_replaced_file *file, const struct stat *old, bool exists) {
    const char *slash = psvi_last_slash(file->target);
    const int folder = slash == NULL ? 0 : (int)(slash - file->target) + 1;
    int descriptor = -1;
    for (unsigned turn = 0; turn < 100 && descriptor < 0; ++turn) {
        const int length = snprintf(file->part, sizeof file->part, "%.*s.pairsieve-%ld-%u.part", folder, file->target,
                                    (long)getpid(), turn);
        if (length < 0 || (size_t)length >= sizeof file->part) return false;
        descriptor = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST) return false;
    }
    if (descriptor < 0) return false;
    bool good = !exists || fchmod(descriptor, old->st_mode & 07777) == 0;
    // A file keeps its owner, so a file of another user cannot be replaced by a new one.
    if (good && exists) good = fchown(descriptor, old->st_uid, old->st_gid) == 0;
    file->stream = good ? fdopen(descriptor, "wb") : NULL;
    if (file->stream != NULL) return true;
    (void)close(descriptor);
    (void)unlink(file->part);
    return false;
}

// Opens file->stream. False with errno set.
static inline bool psvi_open_replaced(psvi_replaced_file *file, const char *path) {
    struct stat old;
    bool exists;
    file->stream = NULL;
    const bool plain = psvi_find_target(file, path, &old, &exists);
    // What may not be written may not be replaced either.
    if (plain && exists && access(path, W_OK) != 0) return false;
    if (plain && psvi_open_part(file, &old, exists)) return true;
    file->part[0] = 0;
    file->stream = fopen(path, "wb");
    return file->stream != NULL;
}

// What kept a write from being done, if that was what the program last met; a flush that follows has nothing to do.
static inline int psvi_write_error(int last) {
    return last == ENOSPC || last == EFBIG || last == EPIPE
#if defined(EDQUOT)
                   || last == EDQUOT
#endif
               ? last
               : EIO;
}

// Closes the stream; with `keep` the new file takes the name. False with errno set when the new file could not be
// written completely; the old file is then unchanged.
static inline bool psvi_close_replaced(psvi_replaced_file *file, bool keep) {
    int error = 0;
    const int last = errno;
    errno = 0;
    if (fflush(file->stream) != 0 || ferror(file->stream) != 0) error = errno != 0 ? errno : psvi_write_error(last);
    // Devices and pipes have no disk to be flushed to.
    if (error == 0 && file->part[0] != 0 && keep && fsync(fileno(file->stream)) != 0 && errno != EINVAL) error = errno;
    if (fclose(file->stream) != 0 && error == 0) error = errno;
    file->stream = NULL;
    if (file->part[0] != 0) {
        if (error == 0 && keep && rename(file->part, file->target) != 0) error = errno;
        if (error != 0 || !keep) (void)unlink(file->part);
    }
    errno = error;
    return error == 0;
}

#endif
