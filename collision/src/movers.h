// Few boxes move and most rest. See movers.c.
#ifndef PAIRSIEVE_MOVERS_H
#define PAIRSIEVE_MOVERS_H

#include "broad_phase.h"
#include "pair_graph.h"

// What a set of boxes was when its pairs were found, as far as a caller may change it between two calls.
typedef struct psvi_movers_set {
    uint64_t count, kept, version;
    uint32_t parts; // which optional parts it had
    double origin[3];
} psvi_movers_set;

typedef struct psvi_mover_state {
    bool complete;  // the pair memory holds all pairs of the last frame, which was of `known`
    bool follows;   // the method's order and the graph are of that frame too
    bool has_delta; // the pairs before are those of now without memory.begin and with memory.end, not memory.before
    psvi_movers_set known;
    psvi_follow follow; // of each box: states; of each moved one: moved, heads
    uint32_t *moved;    // where follow.moved points
    uint32_t *turns;    // of each box: the last frame in which it moved
    uint32_t turn;
    uint32_t *marks; // of each box: which box that moved reaches it
    uint32_t mark;
    psvi_pair_graph graph;
    psv_pair *names;            // of the graph's pairs, in its order; the graph's own list where boxes have no ids
    uint64_t begins, ends;      // pairs of memory.begin and memory.end
    double least_tests, excess; // tests of a box that moved, at best; tests beyond that since boxes were settled
    void *memory;               // of all arrays; NULL: no boxes are followed
} psvi_mover_state;

#endif
