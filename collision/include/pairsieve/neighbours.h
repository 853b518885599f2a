// pairsieve collision: all points within a radius of each query point, exact and in order (CSR), on the CPU.
//
// A point p is a neighbour of a query q where ((x*x + y*y) + z*z) <= radius*radius, with x, y, z the differences of
// their coordinates; all of it in double precision, for float points too. Neighbours of a query ascend by index. The
// result depends neither on the threads nor on the order in which they work. A point or query with a coordinate that is
// not finite has no neighbours and is nobody's neighbour.
//
// Method: points are sorted into cells of the radius, of which only those with points take memory. Each query looks at
// 3 cells on each axis with float vectors, and decides near the radius in double precision.
#ifndef PAIRSIEVE_NEIGHBOURS_H
#define PAIRSIEVE_NEIGHBOURS_H

#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSV_MAX_DIMENSIONS 4096 // of psv_find_neighbours

// Points in memory of the context's backend; nothing is copied.
typedef struct psv_point_set {
    psv_buffer coordinates; // of the first point; a point's own are adjacent
    uint64_t stride;        // bytes from point to point; 0: no gap. A multiple of the coordinate's size
    uint64_t count;         // below 2^31
    psv_buffer worlds;      // empty, or `count` u32: points of different worlds are no neighbours
} psv_point_set;

typedef struct psv_neighbour_search {
    uint32_t cookie; // set by psv_default_neighbour_search
    psv_point_set points;
    psv_point_set queries; // only where `between` is set
    bool between;          // false (default): each point is a query
    bool itself;           // without `between`: a point is its own neighbour; default false
    bool doubles;          // coordinates are double, of both sets; default float
    bool distances;        // psv_write_neighbours may ask for distances; default false
    uint32_t dimensions;   // coordinates of a point, 1 to PSV_MAX_DIMENSIONS; default 3. Cells use the first three
    uint32_t most;         // at most so many neighbours of a query: the nearest, of equal distances the lower indices.
                           // 0 (default): all
    double radius;         // finite, 0 or more
} psv_neighbour_search;

psv_neighbour_search psv_default_neighbour_search(void);

typedef struct psv_neighbour_finder psv_neighbour_finder;

// Errors: PSV_ERROR_UNSUPPORTED (a backend other than the CPU), PSV_ERROR_MEMORY. Blocks.
psv_status psv_create_neighbour_finder(psv_context *context, psv_neighbour_finder **finder);
void psv_destroy_neighbour_finder(psv_neighbour_finder *finder); // NULL is allowed

// Finds the neighbours of all queries; *count is their number. They are kept until the next call, in memory of 4 bytes
// a neighbour (12 with distances or `most`). This memory grows where a call needs more, and stays for the next one.
// Errors: PSV_ERROR_ARGUMENT (a buffer NULL, misaligned or too small, a field out of range), PSV_ERROR_MEMORY; then
// nothing is found. Blocks.
psv_status psv_find_neighbours(psv_neighbour_finder *finder, const psv_neighbour_search *search, uint64_t *count);

// Where psv_write_neighbours writes. Each buffer may be empty.
typedef struct psv_neighbour_lists {
    psv_buffer offsets;   // queries + 1 u64: query q has the neighbours from offsets[q] to offsets[q + 1]
    psv_buffer indices;   // u32 of each neighbour; u64 with `wide`
    psv_buffer queries;   // the query of each neighbour, like indices
    psv_buffer distances; // float of each neighbour, double where the points are: the rounded square root
    bool wide;
} psv_neighbour_lists;

// Writes what the last psv_find_neighbours found. Errors: PSV_ERROR_ARGUMENT (nothing was found yet, a buffer
// misaligned or too small, distances that the search did not ask for). Blocks.
psv_status psv_write_neighbours(psv_neighbour_finder *finder, const psv_neighbour_lists *lists);

#ifdef __cplusplus
}
#endif
#endif
