// Where the folder of a path ends. Needs nothing of the library: the programs include it too.
#ifndef PAIRSIEVE_PATH_PARTS_H
#define PAIRSIEVE_PATH_PARTS_H

#include <stddef.h>
#include <string.h>

// The last slash before a file's name, NULL without one. On Windows a backslash is one too.
static inline char *psvi_last_slash(const char *path) {
    char *slash = strrchr(path, '/');
#if defined(_WIN32)
    char *other = strrchr(path, '\\');
    if (other != NULL && (slash == NULL || other > slash)) slash = other;
#endif
    return slash;
}

#endif
