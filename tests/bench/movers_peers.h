// Broad phases of other libraries that pay for boxes that move: each keeps pairs, or finds those of moved boxes, from
// frame to frame. For bench_movers.
#ifndef PAIRSIEVE_BENCH_MOVERS_PEERS_H
#define PAIRSIEVE_BENCH_MOVERS_PEERS_H

#include <pairsieve/collision.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct movers_peer {
    const char *name;
    const char *work; // of a frame
    bool keeps;       // all pairs; else a frame gives the pairs with a box that moved, each once
    void *(*create)(const psv_aabb *boxes, uint64_t count);
    void (*frame)(void *peer, const psv_aabb *boxes, const uint32_t *moved, uint64_t movers);
    uint64_t (*pairs)(void *peer);  // that it has, or that the last frame gave
    uint64_t (*exact)(void *peer);  // those of which the boxes overlap
    uint64_t (*events)(void *peer); // since the start; 0: it has none
    void (*destroy)(void *peer);
} movers_peer;

// Those in this build, ending with a NULL name.
extern const movers_peer movers_peers[];

#ifdef __cplusplus
}
#endif
#endif
