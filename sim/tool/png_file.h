// Pictures as PNG files, without compression: every program reads them, and no library is needed.
#ifndef PAIRSIEVE_PNG_FILE_H
#define PAIRSIEVE_PNG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Writes width x height pixels of 3 bytes, the upper row first. False: the stream took not all of it.
bool tool_write_png(FILE *stream, const uint8_t *pixels, uint32_t width, uint32_t height);

#endif
