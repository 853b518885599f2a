#include "rows_route.h"

#include <stddef.h>

#include "rows_policy.h"

#define ANY_COUNT UINT64_MAX
#define EVERY_ROUTE (PSVI_ROWS_TREE - 1)

// What each gains is in docs/how/rows.md.
const psvi_rows_route_row psvi_rows_routes[EVERY_ROUTE] = {
    {PSVI_ROWS_WORLDS, "worlds", ROWS_WORLDS_LEAST, ANY_COUNT, 1, ANY_COUNT, PSVI_ROWS_NEEDS_WORLDS,
     PSVI_ROWS_NO_ROUTE},
    {PSVI_ROWS_BINS, "bins", ROWS_BIN_LEAST + 1, ROWS_COUNTED_MOST, ROWS_BIN_LEAST + 1, ROWS_COUNTED_MOST,
     PSVI_ROWS_NEEDS_TILE | PSVI_ROWS_NEEDS_SIMPLE, PSVI_ROWS_COUNTED_EXACT},
    {PSVI_ROWS_FUSED, "fused", 1, ROWS_FUSED_MOST, 1, ROWS_COUNTED_MOST, PSVI_ROWS_NEEDS_COOPERATIVE, PSVI_ROWS_FUSED},
    {PSVI_ROWS_COUNTED_EXACT, "counted-exact", 1, ROWS_COUNTED_MOST, 1, ROWS_COUNTED_MOST, 0, PSVI_ROWS_COUNTED_EXACT},
    {PSVI_ROWS_SEGMENTS_UNIFORM, "segments-uniform", 1, ANY_COUNT, ROWS_COUNTED_MOST + 1, ANY_COUNT,
     PSVI_ROWS_NEEDS_SIMPLE | PSVI_ROWS_NEEDS_KEY_BITS, PSVI_ROWS_SEGMENTS_NEAR},
    {PSVI_ROWS_SEGMENTS_NEAR, "segments-near", 1, ANY_COUNT, ROWS_COUNTED_MOST + 1, ANY_COUNT, 0,
     PSVI_ROWS_SEGMENTS_NEAR},
    {PSVI_ROWS_SORTER, "sorter", 1, ANY_COUNT, 1, ANY_COUNT, 0, PSVI_ROWS_SORTER},
};

psvi_rows_order psvi_rows_order_of(uint64_t room, bool sorter_named) {
    if (sorter_named) return PSVI_ROWS_BY_SORTER;
    return room <= ROWS_COUNTED_MOST ? PSVI_ROWS_BY_COUNTING : PSVI_ROWS_BY_SEGMENTS;
}

// Segments of more than 8 million boxes have half as many cells where that is at least 1.25 a box. For a sorter, 24
// bits serve up to 32 million boxes: one more digit pass would cost more than it saves in candidates.
uint32_t psvi_rows_key_bits(uint64_t room, bool sorter_named) {
    uint32_t bits = 12;
    while (bits < 29 && ((uint64_t)1 << bits) < ROWS_CELLS_A_BOX * room)
        ++bits;
    if (bits <= 24) return bits;
    if (sorter_named) return room <= (uint64_t)1 << 25 ? 24 : bits;
    return ((uint64_t)1 << bits) > room / 2 * 5 ? bits - 1 : bits;
}

uint32_t psvi_rows_most_bins(uint64_t room, bool sorter_named) {
    if (psvi_rows_order_of(room, sorter_named) != PSVI_ROWS_BY_COUNTING || room <= ROWS_BIN_LEAST) return 0;
    const uint64_t cells = (uint64_t)1 << psvi_rows_key_bits(room, sorter_named);
    const uint64_t by_cells = cells / ROWS_BIN_CELLS + 1, by_boxes = room / ROWS_BIN_BOXES + 1;
    return (uint32_t)(by_cells > by_boxes ? by_cells : by_boxes) + ROWS_BIN_MORE * (ROWS_BIN_ROUND / 2);
}

uint32_t psvi_rows_bin_tile(int shared_bytes, uint32_t most_bins) {
    const uint64_t before = ROWS_BIN_FIXED_BYTES + 8 * (uint64_t)most_bins;
    if (most_bins == 0 || shared_bytes < 0 || (uint64_t)shared_bytes < before) return 0;
    const uint64_t boxes = ((uint64_t)shared_bytes - before) / ROWS_BIN_BOX_BYTES,
                   most = ROWS_WHOLE_THREADS * ROWS_BIN_ITEMS;
    const uint32_t tile = (uint32_t)(boxes < most ? boxes : most) / 32 * 32;
    return tile < 2 * ROWS_WHOLE_THREADS ? 0 : tile;
}

uint32_t psvi_rows_fused_blocks(const psvi_rows_facts *facts) {
    if (!facts->cooperative || facts->multiprocessors < 2 || facts->shared_bytes < ROWS_FUSED_BYTES) return 0;
    return facts->multiprocessors < ROWS_FUSED_BLOCKS ? (uint32_t)facts->multiprocessors : ROWS_FUSED_BLOCKS;
}

static psvi_rows_veto device_veto(const psvi_rows_facts *facts, uint32_t needs) {
    if (needs & PSVI_ROWS_NEEDS_COOPERATIVE) {
        // One block plans; the others have their boxes in registers.
        const uint32_t blocks = psvi_rows_fused_blocks(facts);
        const uint64_t most = blocks == 0 ? 0 : (uint64_t)(blocks - 1) * ROWS_FUSED_THREADS * ROWS_ITEMS;
        if (facts->boxes > most) return PSVI_ROWS_VETO_DEVICE;
    }
    if (needs & PSVI_ROWS_NEEDS_TILE) {
        if (facts->code_capability < ROWS_BIN_CODE || facts->multiprocessors < 2) return PSVI_ROWS_VETO_DEVICE;
        const uint32_t bins = psvi_rows_most_bins(facts->room, facts->sorter_named);
        if (psvi_rows_bin_tile(facts->shared_bytes, bins) == 0) return PSVI_ROWS_VETO_DEVICE;
    }
    return PSVI_ROWS_NO_VETO;
}

static psvi_rows_veto frame_veto(const psvi_rows_facts *facts, uint32_t needs) {
    if ((needs & PSVI_ROWS_NEEDS_ONE_SET) && facts->two_sets) return PSVI_ROWS_VETO_SETS;
    if ((needs & PSVI_ROWS_NEEDS_ONE_WORLD) && facts->worlds) return PSVI_ROWS_VETO_WORLDS;
    if ((needs & PSVI_ROWS_NEEDS_UNLISTED) && facts->listed) return PSVI_ROWS_VETO_WORLDS;
    if ((needs & PSVI_ROWS_NEEDS_KEY_BITS) &&
        (facts->room > ROWS_UNIFORM_ROOM ||
         psvi_rows_key_bits(facts->room, false) > ROWS_UNIFORM_BITS + 32 - ROWS_UNIFORM_SLOT_BITS))
        return PSVI_ROWS_VETO_COUNT;
    return PSVI_ROWS_NO_VETO;
}

static bool are_small_worlds(const psvi_rows_facts *facts) {
    return !facts->two_sets && facts->boxes <= ROWS_WORLDS_MOST * facts->listed_worlds;
}

psvi_rows_choice psvi_rows_choose_route(const psvi_rows_facts *facts) {
    psvi_rows_veto nearest = PSVI_ROWS_NO_VETO;
    for (uint32_t i = 0; i < EVERY_ROUTE; ++i) {
        const psvi_rows_route_row *const row = &psvi_rows_routes[i];
        if (facts->boxes < row->least || facts->boxes > row->most) continue;
        if (facts->room < row->least_room || facts->room > row->most_room) continue;
        if ((row->needs & PSVI_ROWS_NEEDS_WORLDS) && !are_small_worlds(facts)) continue;
        psvi_rows_veto veto = PSVI_ROWS_NO_VETO;
        if (facts->sorter_named && row->route != PSVI_ROWS_SORTER) veto = PSVI_ROWS_VETO_SORTER;
        if (veto == PSVI_ROWS_NO_VETO) veto = device_veto(facts, row->needs);
        if (veto == PSVI_ROWS_NO_VETO) veto = frame_veto(facts, row->needs);
        if (veto == PSVI_ROWS_NO_VETO && (facts->paused >> row->route & 1)) veto = PSVI_ROWS_VETO_PAUSE;
        if (veto == PSVI_ROWS_NO_VETO) return (psvi_rows_choice){row->route, nearest};
        nearest = veto;
    }
    return (psvi_rows_choice){PSVI_ROWS_NO_ROUTE, PSVI_ROWS_NO_VETO}; // no boxes
}

const char *psvi_rows_route_name(uint32_t route) {
    if (route == PSVI_ROWS_NO_ROUTE) return "none";
    if (route == PSVI_ROWS_TREE) return "tree";
    return route < PSVI_ROWS_ROUTES ? psvi_rows_routes[route - 1].name : NULL;
}

const char *psvi_rows_veto_name(uint32_t veto) {
    static const char *const names[PSVI_ROWS_VETOES] = {
        [PSVI_ROWS_NO_VETO] = "none",       [PSVI_ROWS_VETO_SORTER] = "sorter", [PSVI_ROWS_VETO_DEVICE] = "device",
        [PSVI_ROWS_VETO_SETS] = "sets",     [PSVI_ROWS_VETO_WORLDS] = "worlds", [PSVI_ROWS_VETO_FILTERS] = "filters",
        [PSVI_ROWS_VETO_COUNT] = "count",   [PSVI_ROWS_VETO_PAUSE] = "pause",   [PSVI_ROWS_VETO_FIRST] = "first",
        [PSVI_ROWS_VETO_GROWTH] = "growth", [PSVI_ROWS_VETO_SIZES] = "sizes",   [PSVI_ROWS_VETO_CROWDED] = "crowded",
        [PSVI_ROWS_VETO_EDGES] = "edges",   [PSVI_ROWS_VETO_DOUBTS] = "doubts", [PSVI_ROWS_VETO_ORDER] = "order",
        [PSVI_ROWS_VETO_COST] = "cost",
    };
    return veto < PSVI_ROWS_VETOES ? names[veto] : NULL;
}
