// Which way a frame of `rows` on CUDA takes: the table of its routes, and the choice among them. Plain C, with no CUDA
// in it, so that the choice can be tested for any device without one. docs/how/rows.md shows the same as a picture.
//
// A route is an order (how boxes come to lie by cells) and a sweep (how cells become pairs). The host chooses by what
// it knows before the frame: the device, the finder, the kind of box sets, the count. What only the boxes themselves
// tell is seen on the device, which then goes on with the route's `next`, without the host.
#ifndef PAIRSIEVE_COLLISION_ROWS_ROUTE_H
#define PAIRSIEVE_COLLISION_ROWS_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum psvi_rows_route {
    PSVI_ROWS_NO_ROUTE,         // no boxes
    PSVI_ROWS_WORLDS,           // small worlds one behind the other: each box against the rest of its world, no sort
    PSVI_ROWS_BINS,             // two passes over bins that are ordered on chip, uniform sweep
    PSVI_ROWS_FUSED,            // keys, counting sort and exact sweep in one cooperative launch
    PSVI_ROWS_COUNTED_EXACT,    // counting sort, exact sweep
    PSVI_ROWS_SEGMENTS_UNIFORM, // two passes over segments, uniform sweep
    PSVI_ROWS_SEGMENTS_NEAR,    // two passes over segments, sweeps of near and other cells over rounded boxes
    PSVI_ROWS_SORTER,           // keys for a sorter, gather, exact sweep
    PSVI_ROWS_TREE,             // instead of a sweep that would cost more (rows_bound.cuh); the device's choice alone
    PSVI_ROWS_ROUTES
} psvi_rows_route;

// Why a faster route was left.
typedef enum psvi_rows_veto {
    PSVI_ROWS_NO_VETO,
    // The host knows these:
    PSVI_ROWS_VETO_SORTER, // a sorter was named
    PSVI_ROWS_VETO_DEVICE, // the device has not what the route needs
    PSVI_ROWS_VETO_SETS,   // pairs between two sets
    PSVI_ROWS_VETO_WORLDS, // more than one world, or a list of worlds
    PSVI_ROWS_VETO_COUNT,  // more boxes or cells than the route has bits for
    PSVI_ROWS_VETO_PAUSE,  // it did not suit some frame before, see psvi_backoff
    // The device sees these:
    PSVI_ROWS_VETO_FIRST,   // no frame before this one that a plan was made in
    PSVI_ROWS_VETO_GROWTH,  // the plan was made for another count
    PSVI_ROWS_VETO_SIZES,   // boxes of several sizes
    PSVI_ROWS_VETO_FILTERS, // filters that do not let all pairs through
    PSVI_ROWS_VETO_CROWDED, // more boxes in some cells than the route has room for
    PSVI_ROWS_VETO_EDGES,   // too many boxes look across the ends of the grid
    PSVI_ROWS_VETO_DOUBTS,  // rounding left too many pairs in doubt, in this frame's pause or the frame before
    PSVI_ROWS_VETO_ORDER,   // boxes not in order of world, or too many of one
    PSVI_ROWS_VETO_COST,    // the sweep would cost more than the tree
    PSVI_ROWS_VETOES
} psvi_rows_veto;

// What a route needs of the device and of the box sets.
enum {
    PSVI_ROWS_NEEDS_COOPERATIVE = 1, // cooperative launch, at least two multiprocessors, room for the table on chip
    PSVI_ROWS_NEEDS_TILE = 2,        // code for compute capability 8.0, shared memory for a tile of boxes; room
    PSVI_ROWS_NEEDS_ONE_SET = 4,
    PSVI_ROWS_NEEDS_ONE_WORLD = 8,
    PSVI_ROWS_NEEDS_UNLISTED = 64,  // no list of worlds
    PSVI_ROWS_NEEDS_KEY_BITS = 128, // a cell's number and a slot fit an entry: ROWS_UNIFORM_BITS, ROWS_UNIFORM_ROOM
    PSVI_ROWS_NEEDS_WORLDS = 256,   // one set with a list of worlds, few boxes for each; other frames are not asked
    PSVI_ROWS_NEEDS_SIMPLE = 4 | 8 | 64
};

typedef struct psvi_rows_route_row {
    psvi_rows_route route;
    const char *name;
    uint64_t least, most;           // boxes of the frame
    uint64_t least_room, most_room; // of the finder (max_boxes)
    uint32_t needs;
    // What the device goes on with where the boxes do not suit. The route itself: any boxes do. PSVI_ROWS_NO_ROUTE: the
    // host chooses it.
    psvi_rows_route next;
} psvi_rows_route_row;

// One row for each route that the host may choose, from PSVI_ROWS_WORLDS on, in the order in which they are tried.
extern const psvi_rows_route_row psvi_rows_routes[PSVI_ROWS_TREE - 1];

typedef struct psvi_rows_facts {
    // of the device
    int code_capability; // 10 * major + minor, of the code that runs
    int multiprocessors;
    int shared_bytes; // of a block, at most
    bool cooperative;
    // of the finder
    uint64_t room;
    bool sorter_named;
    // of the frame
    uint64_t boxes;         // most that there can be
    bool two_sets, worlds;  // worlds: there may be several
    bool listed;            // the boxes name their worlds
    uint64_t listed_worlds; // that the boxes' list of worlds may name; 0: one set has no list
    uint32_t paused;        // a bit for each route
} psvi_rows_facts;

typedef struct psvi_rows_choice {
    psvi_rows_route route;
    psvi_rows_veto veto; // what ruled out the nearest faster route for as many boxes
} psvi_rows_choice;

psvi_rows_choice psvi_rows_choose_route(const psvi_rows_facts *facts);

// "fused", "bins", ...; "none" for no boxes. "none", "sorter", "device", ... NULL: there is no such one.
const char *psvi_rows_route_name(uint32_t route);
const char *psvi_rows_veto_name(uint32_t veto);
const char *psvi_rows_veto_text(uint32_t veto); // a sentence (rows_words.c)

// How a finder's boxes come to lie by cells: decides its memory.
typedef enum psvi_rows_order { PSVI_ROWS_BY_COUNTING, PSVI_ROWS_BY_SEGMENTS, PSVI_ROWS_BY_SORTER } psvi_rows_order;
psvi_rows_order psvi_rows_order_of(uint64_t room, bool sorter_named);

// Bits of the key, so of the cells' number: about two cells a box.
uint32_t psvi_rows_key_bits(uint64_t room, bool sorter_named);

// Bins that a finder of `room` boxes has at most; 0 where it has none. And the boxes of a block at a time; 0: the
// device has no room for enough of them.
uint32_t psvi_rows_most_bins(uint64_t room, bool sorter_named);
uint32_t psvi_rows_bin_tile(int shared_bytes, uint32_t most_bins);

// Blocks of the fused kernel; 0: it does not run on the device.
uint32_t psvi_rows_fused_blocks(const psvi_rows_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
