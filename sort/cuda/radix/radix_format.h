// Constants of the CUDA `radix` method that follow from its formats: widths of digits, counters and words.
#ifndef PAIRSIEVE_RADIX_FORMAT_H
#define PAIRSIEVE_RADIX_FORMAT_H

#include "radix_tuning.h"

#define PSVI_RADIX_BITS 8
#define PSVI_RADIX_DIGITS 256
#define PSVI_RADIX_MAX_SLOTS 9 // digits of a 64-bit key, and one more for a copy of 1-digit keys

// A chained scan counts in 30 bits, so larger inputs go through each digit in portions of at most this many items
// (rounded down to whole tiles).
#define PSVI_RADIX_PORTION_ITEMS (1u << 29)
#define PSVI_RADIX_MAX_PORTIONS 9
#define PSVI_RADIX_WINDOWS_MOST (PSVI_RADIX_PORTION_ITEMS - 65536) // one portion, whatever the tile
#define PSVI_RADIX_PASSES_LEAST_TILE (PSVI_RADIX_PASSES_COMPACT_THREADS * PSVI_RADIX_PASSES_COMPACT_ITEMS(16))

#define PSVI_RADIX_CHUNKS_BLOCKS 254 // chunk numbers have 8 bits, and one is for items that are not there
#define PSVI_RADIX_CHUNKS_ITEM(key_bytes) ((key_bytes) + 4) // with its place in the input

#define PSVI_RADIX_ROW_WORDS 72                // of RESIDENT's matrix: 64 of counts, 2 of what else is to be known
#define PSVI_RADIX_RESIDENT_TABLES (16 * 1024) // bytes of shared memory beside RESIDENT's items

#endif
