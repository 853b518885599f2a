// A list of pairs in which the pairs of one box are found and taken out without a look at the others. Each pair is
// linked to the next pair of both of its boxes. Host memory.
#ifndef PAIRSIEVE_PAIR_GRAPH_H
#define PAIRSIEVE_PAIR_GRAPH_H

#include "pairsieve/collision.h"

#define PSVI_NO_END UINT32_MAX
#define PSVI_MOST_LINKED ((uint64_t)1 << 30) // pairs

// One side of pair p is called end 2 p (its box a) or 2 p + 1 (its box b). [0]: of the end of a, [1]: of b.
typedef struct psvi_pair_link {
    uint32_t next[2], previous[2]; // ends of the same box, or PSVI_NO_END
} psvi_pair_link;

typedef struct psvi_pair_graph {
    psv_pair *list; // by indices of boxes, in any order
    psvi_pair_link *links;
    uint32_t *heads; // of each box: its first end
    uint64_t count, room;
} psvi_pair_graph;

static inline uint32_t psvi_next_end(const psvi_pair_graph *graph, uint32_t end) {
    return graph->links[end / 2].next[end % 2];
}

// The box on the other side.
static inline uint32_t psvi_other_box(const psvi_pair_graph *graph, uint32_t end) {
    const psv_pair pair = graph->list[end / 2];
    return end % 2 == 0 ? pair.b : pair.a;
}

// Links the `count` pairs that the list has, of boxes below `boxes`.
void psvi_link_pairs(psvi_pair_graph *graph, uint64_t count, uint64_t boxes);

// There has to be room. The new pair is the last one of the list.
void psvi_add_linked_pair(psvi_pair_graph *graph, uint32_t a, uint32_t b);

// Takes pair `place` out; the last pair of the list, if it is another one, moves there.
void psvi_remove_linked_pair(psvi_pair_graph *graph, uint32_t place);

#endif
