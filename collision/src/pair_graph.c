// See pair_graph.h.
#include "pair_graph.h"

#include <string.h>

// The end becomes the first of its box.
static void link_end(psvi_pair_graph *graph, uint32_t box, uint32_t end) {
    const uint32_t first = graph->heads[box];
    psvi_pair_link *link = &graph->links[end / 2];
    link->next[end % 2] = first;
    link->previous[end % 2] = PSVI_NO_END;
    if (first != PSVI_NO_END) graph->links[first / 2].previous[first % 2] = end;
    graph->heads[box] = end;
}

// The neighbours of an end of `box` come to know it as `now`; PSVI_NO_END: it is gone.
static void rename_end(psvi_pair_graph *graph, uint32_t box, uint32_t end, uint32_t now) {
    const psvi_pair_link *link = &graph->links[end / 2];
    const uint32_t next = link->next[end % 2], previous = link->previous[end % 2];
    const bool gone = now == PSVI_NO_END;
    if (next != PSVI_NO_END) graph->links[next / 2].previous[next % 2] = gone ? previous : now;
    if (previous == PSVI_NO_END)
        graph->heads[box] = gone ? next : now;
    else
        graph->links[previous / 2].next[previous % 2] = gone ? next : now;
}

void psvi_link_pairs(psvi_pair_graph *graph, uint64_t count, uint64_t boxes) {
    memset(graph->heads, 0xff, boxes * sizeof *graph->heads);
    graph->count = count;
    for (uint32_t p = 0; p < count; ++p) {
        link_end(graph, graph->list[p].a, 2 * p);
        link_end(graph, graph->list[p].b, 2 * p + 1);
    }
}

void psvi_add_linked_pair(psvi_pair_graph *graph, uint32_t a, uint32_t b) {
    const uint32_t place = (uint32_t)graph->count++;
    graph->list[place] = (psv_pair){a, b};
    link_end(graph, a, 2 * place);
    link_end(graph, b, 2 * place + 1);
}

void psvi_remove_linked_pair(psvi_pair_graph *graph, uint32_t place) {
    const uint32_t last = (uint32_t)--graph->count;
    const psv_pair pair = graph->list[place], moved = graph->list[last];
    rename_end(graph, pair.a, 2 * place, PSVI_NO_END);
    rename_end(graph, pair.b, 2 * place + 1, PSVI_NO_END);
    if (place == last) return;
    rename_end(graph, moved.a, 2 * last, 2 * place);
    rename_end(graph, moved.b, 2 * last + 1, 2 * place + 1);
    graph->list[place] = moved;
    graph->links[place] = graph->links[last];
}
