// What a backend does for neighbours within a radius, and a search with addresses in place of buffers.
#ifndef PAIRSIEVE_NEIGHBOUR_OPS_H
#define PAIRSIEVE_NEIGHBOUR_OPS_H

#include "../../../core/context.h"
#include "pairsieve/neighbours.h"

typedef struct psvi_point_view {
    const char *coordinates;
    uint64_t stride, count;
    const uint32_t *worlds; // NULL: all of one
} psvi_point_view;

typedef struct psvi_neighbour_job {
    psvi_point_view points, queries; // the same where every point is a query
    bool between, itself, doubles;
    bool squares; // squares of distances are kept
    uint32_t dimensions, most;
    double radius;
} psvi_neighbour_job;

// Memory of a finder: each part grows as searches need it, and stays for the next one.
typedef enum psvi_neighbour_part {
    PSVI_NEIGHBOUR_OFFSETS,
    PSVI_NEIGHBOUR_ROWS,
    PSVI_NEIGHBOUR_INDICES,
    PSVI_NEIGHBOUR_SQUARES,
    PSVI_NEIGHBOUR_STARTS,
    PSVI_NEIGHBOUR_POINTS,                              // keys, order, 3 axes
    PSVI_NEIGHBOUR_QUERIES = PSVI_NEIGHBOUR_POINTS + 5, // keys, order
    PSVI_NEIGHBOUR_PARTS = PSVI_NEIGHBOUR_QUERIES + 2
} psvi_neighbour_part;

typedef struct psvi_neighbour_memory {
    void *parts[PSVI_NEIGHBOUR_PARTS];
    uint64_t bytes[PSVI_NEIGHBOUR_PARTS];
} psvi_neighbour_memory;

// A part of at least so many bytes, with any contents; NULL where there is no memory.
void *psvi_take_neighbour_part(psv_context *context, psvi_neighbour_memory *memory, int part, uint64_t bytes);

// The neighbours of a query lie together in the list.
typedef struct psvi_neighbour_row {
    uint64_t place;
    uint64_t count;
} psvi_neighbour_row;

typedef struct psvi_neighbour_result {
    uint64_t queries, count;
    uint64_t *offsets;        // queries + 1, of the rows when they lie in order; made from the counts by shared code
    psvi_neighbour_row *rows; // of each query; NULL: all are empty
    uint64_t room;
    uint32_t *indices; // the list, of `room`
    double *squares;   // `room`, or NULL
} psvi_neighbour_result;

typedef struct psvi_neighbour_output {
    void *indices, *queries, *distances;
    bool wide, doubles;
} psvi_neighbour_output; // each may be NULL

typedef struct psvi_neighbour_ops {
    // `result` is empty but for the number of queries when it is called.
    psv_status (*find)(psv_context *context, const psvi_neighbour_job *job, psvi_neighbour_memory *memory,
                       psvi_neighbour_result *result);
    void (*write)(psv_context *context, const psvi_neighbour_result *result, const psvi_neighbour_output *output);
} psvi_neighbour_ops;

extern const psvi_neighbour_ops psvi_neighbour_ops_cpu;

#endif
