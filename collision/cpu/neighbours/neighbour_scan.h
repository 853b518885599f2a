// A search for neighbours at work: what each query reads, and the loop over candidates that vector units share.
#ifndef PAIRSIEVE_NEIGHBOUR_SCAN_H
#define PAIRSIEVE_NEIGHBOUR_SCAN_H

#include "neighbour_cells.h"

#define PSVI_SCAN_CHUNK 512 // candidates at a time

// Candidates of a chunk whose float square of the distance is not above `up`: their numbers to hits, ascending, and the
// squares of all candidates to `squares`. Arrays have PSVI_SCAN_LANES more elements than `count`. Returns the number of
// hits.
typedef uint32_t psvi_scan_chunk(const float *const axis[3], uint32_t count, const float query[3], float up,
                                 uint32_t *hits, float *squares);

uint32_t psvi_scan_chunk_plain(const float *const axis[3], uint32_t count, const float query[3], float up,
                               uint32_t *hits, float *squares);
uint32_t psvi_scan_chunk_avx2(const float *const axis[3], uint32_t count, const float query[3], float up,
                              uint32_t *hits, float *squares);

// Sorts a row by index; squares (NULL: none) go along.
typedef void psvi_sort_row(uint32_t *indices, double *squares, uint32_t count);
void psvi_sort_row_plain(uint32_t *indices, double *squares, uint32_t count);
void psvi_sort_row_avx2(uint32_t *indices, double *squares, uint32_t count);

#endif
