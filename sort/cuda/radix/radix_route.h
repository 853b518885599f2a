// The routes of the CUDA `radix` method: which there are, what each needs, and which one a call takes.
//
// A route is a way to sort. psvi_radix_choose_route() picks from facts alone: the call, the device and what the sorter
// knows from earlier calls. It is plain C, so tests ask it about any device. What it returns is a short list of
// kernels: each does nothing where one before it has sorted. Some kernels hold several routes and choose between them
// by the keys (psvi_radix_route_row.next). The kernel that sorts writes its route and why a faster one was left to the
// sorter's state on the device, where psv_read_sort_statistics finds them.
#ifndef PAIRSIEVE_RADIX_ROUTE_H
#define PAIRSIEVE_RADIX_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../core/backoff.h"

#ifdef __cplusplus
extern "C" {
#endif

// From the fastest to the slowest where several could serve.
typedef enum psvi_radix_route {
    PSVI_RADIX_NONE,
    PSVI_RADIX_IN_ORDER,  // nothing to sort: copies at most
    PSVI_RADIX_BLOCK,     // one block holds all items on chip
    PSVI_RADIX_CLUSTER,   // one cluster holds all items on chip, cut by samples
    PSVI_RADIX_SPLITTERS, // a chunk a multiprocessor, cut by splitters of the call before
    PSVI_RADIX_CHUNKS,    // a chunk a multiprocessor, cut by a histogram of the keys' range; else digit by digit
    PSVI_RADIX_WINDOWS,   // nearly sorted input, by overlapping windows
    PSVI_RADIX_ROUNDS,    // several chunks a multiprocessor, by splitters of an earlier call
    PSVI_RADIX_RESIDENT,  // digit passes in one kernel, each block keeps its share
    PSVI_RADIX_PASSES,    // a kernel for each digit, tiles chained
    PSVI_RADIX_ROUTES
} psvi_radix_route;

// The tiles of PASSES: what a device has room for.
typedef enum psvi_radix_tiles {
    PSVI_RADIX_TILES_COMPACT, // any device
    PSVI_RADIX_TILES_FULL,
    PSVI_RADIX_TILES_ASYNC, // brought by asynchronous copies
    PSVI_RADIX_TILE_FORMS
} psvi_radix_tiles;

// Why a faster route than the one that ran was left.
typedef enum psvi_radix_veto {
    PSVI_RADIX_VETO_NONE,
    PSVI_RADIX_VETO_DEVICE,       // the device, or the code that it runs, lacks what the route needs
    PSVI_RADIX_VETO_NO_SPLITTERS, // no earlier call has left splitters
    PSVI_RADIX_VETO_MISFIT,       // keys are not spread as in the call that left the splitters
    PSVI_RADIX_VETO_CROWDS,       // a look at samples: some keys are too frequent for chunks
    PSVI_RADIX_VETO_UNEVEN,       // some part of the keys' range holds more than a block
    PSVI_RADIX_VETO_WAITING,      // the route has failed lately: see backoff.h
    PSVI_RADIX_VETO_HISTOGRAMS,   // the caller gave histograms, which only digit passes use
    PSVI_RADIX_VETO_NOT_IN_ORDER, // expected in order, or nearly so, as in the call before
    PSVI_RADIX_VETOES
} psvi_radix_veto;

enum { PSVI_RADIX_NEEDS_COOPERATIVE = 1, PSVI_RADIX_NEEDS_CLUSTERS = 2, PSVI_RADIX_NEEDS_CODE_90 = 4 };

// One row for each route. Counts are the host's: with a count in device memory the largest possible one.
typedef struct psvi_radix_route_row {
    const char *name; // in statistics
    const char *how;  // for people
    uint64_t most;    // items; UINT64_MAX: any
    uint32_t each[3]; // and at most so many for each block of the device, for pairs of up to 8, 12, 16 bytes; 0: any
    uint32_t key_bytes, value_bytes; // at most
    uint32_t shared_kb;              // of a block
    uint32_t needs;
    psvi_radix_route next; // runs where the keys do not suit; NONE: any keys do
    bool by_keys;          // is reached only by another's `next`, in the same kernel
} psvi_radix_route_row;

const psvi_radix_route_row *psvi_radix_row(psvi_radix_route route);
const char *psvi_radix_veto_name(uint32_t veto);
const char *psvi_radix_tiles_name(psvi_radix_tiles tiles);

typedef struct psvi_radix_device {
    uint32_t multiprocessors;
    uint32_t shared_bytes;   // that a block can have, by the device and by the code that it runs (radix_tuning.h)
    uint32_t cluster_blocks; // of the cluster kernel; 0: none fits
    uint32_t code_capability;
    bool cooperative;
} psvi_radix_device;

// What a call has seen of the order of its input. It only decides what the next call runs before all else.
typedef enum psvi_radix_seen {
    PSVI_RADIX_ORDER_OTHER = 0,
    PSVI_RADIX_ORDER_SORTED = 1,
    PSVI_RADIX_ORDER_NEARLY = 2
} psvi_radix_seen;

typedef struct psvi_radix_facts {
    psvi_radix_device device;
    uint64_t max_count;     // of the sorter
    uint32_t key_bytes;     // 4 or 8
    uint32_t sorter_values; // bytes of the sorter's def
    uint64_t count;         // of the call, like all that follows
    uint32_t value_bytes;   // 0, 4 or 8
    bool implicit;          // values are 0, 1, 2, ...
    bool keys_wanted;       // in the output
    bool keys_kept;         // the input is not to be changed
    bool in_place;          // nothing has to be moved where the input is in order
    bool has_histograms;    // of the caller
    bool order_check;       // the def asks for it
    bool capturing;         // in a graph
    bool ready;             // splitters of ROUNDS are there and have served
    bool order_looked_at;   // some call of the sorter has tried WINDOWS
    bool splitters_serve;   // SPLITTERS has sorted the last calls that it was tried in
    psvi_radix_seen order;  // of the call before
    bool chunks_wait;       // back-offs that are not over: of SPLITTERS and what is in its kernel,
    bool rounds_wait;       // of ROUNDS,
    bool order_wait;        // of IN_ORDER and WINDOWS before all else
} psvi_radix_facts;

#define PSVI_RADIX_TRIES 3

typedef struct psvi_radix_plan {
    psvi_radix_route tries[PSVI_RADIX_TRIES];        // kernels in this order, named by their first route; NONE: no more
    psvi_radix_tiles tiles;                          // of PASSES, whether they are tried or not
    psvi_radix_veto veto;                            // why a faster route than the first is not tried
    uint32_t resident_items;                         // of a thread, for RESIDENT
    bool asks_for_order;                             // the kernels are to tell what they see of it
    bool remembers;                                  // splitters are taken from the result, for SPLITTERS or ROUNDS
    bool chunks_waited, rounds_waited, order_waited; // a back-off that kept a route away in this call
} psvi_radix_plan;

psvi_radix_plan psvi_radix_choose_route(const psvi_radix_facts *facts);

// Least and most items of a route on a device for these facts; 0 to 0 where the device or the types do not allow it.
typedef struct psvi_radix_span {
    uint64_t least, most;
} psvi_radix_span;
psvi_radix_span psvi_radix_route_span(psvi_radix_route route, const psvi_radix_facts *facts);

// Whether the sorter gets the memory of ROUNDS: that depends on its def and device alone.
bool psvi_radix_has_rounds(const psvi_radix_facts *facts);

// Chunks that ROUNDS makes of `count` items, a multiple of the multiprocessors; 0: too many items.
uint32_t psvi_radix_round_chunks(uint64_t count, uint32_t multiprocessors);

#ifdef __cplusplus
}
#endif
#endif
