// Names of pictures that a program is asked to write. They are PNG files, whatever the name says; so a name that ends
// like another format's is refused before the run.
#ifndef PAIRSIEVE_PICTURE_NAME_H
#define PAIRSIEVE_PICTURE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static inline bool psvi_names_other_picture(const char *path) {
    static const char *const endings[] = {".avif", ".bmp", ".exr", ".gif", ".heic", ".jpeg", ".jpg",  ".jxl", ".pdf",
                                          ".pnm",  ".ppm", ".qoi", ".svg", ".tga",  ".tif",  ".tiff", ".webp"};
    const char *const ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof endings / sizeof *endings; ++i)
        if (strcasecmp(ending, endings[i]) == 0) return true;
    return false;
}

#endif
