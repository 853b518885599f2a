// What the vetoes of rows mean, for psv_explain_frame.
#include "rows_route.h"

#include <stddef.h>

const char *psvi_rows_veto_text(uint32_t veto) {
    static const char *const texts[PSVI_ROWS_VETOES] = {
        [PSVI_ROWS_NO_VETO] = "this is the fastest route for so many boxes",
        [PSVI_ROWS_VETO_SORTER] = "def.sort_method names a sorter, and faster routes sort by cells",
        [PSVI_ROWS_VETO_DEVICE] = "the device lacks what a faster route needs (cooperative launches, shared memory)",
        [PSVI_ROWS_VETO_SETS] = "the pairs are those between two sets",
        [PSVI_ROWS_VETO_WORLDS] = "the boxes are of several worlds, or name their worlds",
        [PSVI_ROWS_VETO_COUNT] = "there are more boxes or cells than a faster route can number",
        [PSVI_ROWS_VETO_PAUSE] = "a faster route failed in a frame before and pauses",
        [PSVI_ROWS_VETO_FIRST] = "no frame before this one has made a plan",
        [PSVI_ROWS_VETO_GROWTH] = "the plan was made for another number of boxes",
        [PSVI_ROWS_VETO_SIZES] = "the boxes have several sizes",
        [PSVI_ROWS_VETO_FILTERS] = "filters let only some pairs through",
        [PSVI_ROWS_VETO_CROWDED] = "some cells hold more boxes than a faster route has room for",
        [PSVI_ROWS_VETO_EDGES] = "too many boxes look across the ends of the grid",
        [PSVI_ROWS_VETO_DOUBTS] = "rounded boxes left too many pairs in doubt",
        [PSVI_ROWS_VETO_ORDER] = "the boxes are not in order of their worlds, or one world has too many",
        [PSVI_ROWS_VETO_COST] = "the sweep would test more boxes than the tree takes time for",
    };
    return veto < PSVI_ROWS_VETOES ? texts[veto] : NULL;
}
