// Candidates of a search for neighbours, without vector instructions of their own.
#include "neighbour_scan.h"

uint32_t psvi_scan_chunk_plain(const float *const axis[3], uint32_t count, const float query[3], float up,
                               uint32_t *hits, float *squares) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const float x = axis[0][i] - query[0], y = axis[1][i] - query[1], z = axis[2][i] - query[2];
        squares[i] = x * x + y * y + z * z;
    }
    for (uint32_t i = 0; i < count; ++i) {
        hits[found] = i;
        found += !(squares[i] > up); // NaN, of numbers too large for floats, is a hit too
    }
    return found;
}

#define PSVI_SORT_ROW psvi_sort_row_plain
#include "neighbour_row_sort.h"
