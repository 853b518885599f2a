// The sweep of `rows` over sorted boxes, once per instruction set.
#ifndef PAIRSIEVE_ROWS_SWEEP_H
#define PAIRSIEVE_ROWS_SWEEP_H

#include "../src/pair_partners.h"
#include "rows_grid.h"

typedef struct rows_sorted {
    const rows_grid *grid;
    const psvi_find_input *input;
    psvi_lanes lanes;              // sorted boxes, sweep axis first; huge ones last
    const psvi_partners *partners; // of the sorted boxes, or NULL
    const uint32_t *keys;          // sorted
    const uint32_t *start;         // first box of each cell; cell_count + 1 entries and one more for the huge boxes
    uint64_t regular;              // boxes that are not huge
    uint64_t count;                // all
    uint64_t *tests;               // atomic: of all sweepers, as far as they have told
    uint64_t most_tests;           // at more the sweep ends: a tree finds the pairs for less
} rows_sorted;

typedef struct rows_sweeper {
    psvi_pair_sink sink;
    uint64_t longest;
    // With which the box that is swept is excluded: ids, or more than a list holds.
    bool has_partners, many_partners;
    uint32_t partners[PSVI_PARTNERS];
} rows_sweeper;

// Finds the pairs that the sorted boxes [first, end) own. Partners are later boxes of their row, boxes of the rows
// after it, and boxes of coarser levels. Huge boxes are compared with everything. False: it has ended before, as all
// sweepers together have made too many tests.
typedef bool (*rows_sweep_function)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t first, uint64_t end);

// The fastest that this processor runs, and its vector width.
rows_sweep_function rows_best_sweep(uint32_t *lanes);

#endif
