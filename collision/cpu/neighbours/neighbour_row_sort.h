// Sorts the neighbours of a query by index; compiled once for each kind of vector unit. The including file names the
// function: PSVI_SORT_ROW. A short row counts for each index how many are lower. A long one is split at the middle of
// its range of indices; so it needs at most 32 levels, whatever the indices are.
#include <string.h>

#include "neighbour_scan.h"

#define SHORT_ROW 32

static void sort_short_row(uint32_t *indices, double *squares, uint32_t count) {
    uint32_t rank[SHORT_ROW] = {0}, from[SHORT_ROW] = {0};
    double square[SHORT_ROW];
    memcpy(from, indices, count * sizeof *from);
    const uint32_t padded = (count + 7) & ~7u;
    for (uint32_t j = 0; j < count; ++j) {
        const uint32_t other = from[j];
        for (uint32_t i = 0; i < padded; ++i)
            rank[i] += other < from[i];
    }
    for (uint32_t i = 0; i < count; ++i)
        indices[rank[i]] = from[i];
    if (squares == NULL) return;
    memcpy(square, squares, count * sizeof *square);
    for (uint32_t i = 0; i < count; ++i)
        squares[rank[i]] = square[i];
}

// Indices up to `middle` first; returns their number.
static uint32_t split_row(uint32_t *indices, double *squares, uint32_t count, uint32_t middle) {
    uint32_t low = 0, high = count;
    while (true) {
        while (low < high && indices[low] <= middle)
            ++low;
        while (low < high && indices[high - 1] > middle)
            --high;
        if (low == high) return low;
        --high;
        const uint32_t index = indices[low];
        indices[low] = indices[high];
        indices[high] = index;
        if (squares != NULL) {
            const double square = squares[low];
            squares[low] = squares[high];
            squares[high] = square;
        }
        ++low;
    }
}

void PSVI_SORT_ROW(uint32_t *indices, double *squares, uint32_t count) {
    while (count > SHORT_ROW) {
        uint32_t least = UINT32_MAX, greatest = 0;
        for (uint32_t i = 0; i < count; ++i) {
            least = indices[i] < least ? indices[i] : least;
            greatest = indices[i] > greatest ? indices[i] : greatest;
        }
        const uint32_t low = split_row(indices, squares, count, least + (greatest - least) / 2);
        PSVI_SORT_ROW(indices, squares, low);
        indices += low;
        if (squares != NULL) squares += low;
        count -= low;
    }
    sort_short_row(indices, squares, count);
}
