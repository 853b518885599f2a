// The table of routes, and the choice between them. Plain C without CUDA: test_radix_route.c asks it about any device.
#include "radix_route.h"

#include "radix_format.h"

#define ANY UINT64_MAX
#define LEAST_CLUSTER 8
#define COOPERATIVE PSVI_RADIX_NEEDS_COOPERATIVE
#define CLUSTERS PSVI_RADIX_NEEDS_CLUSTERS
#define CODE_90 PSVI_RADIX_NEEDS_CODE_90
#define ROUTE(name) [PSVI_RADIX_##name]
#define CHUNK_ITEMS                                                                                                    \
    { PSVI_RADIX_CHUNKS_TILE(8), PSVI_RADIX_CHUNKS_TILE(12), PSVI_RADIX_CHUNKS_TILE(16) }
#define CLUSTER_SHARE(pair_bytes) (PSVI_RADIX_THREADS * PSVI_RADIX_CLUSTER_ROWS(pair_bytes))
#define CLUSTER_SHARES                                                                                                 \
    { CLUSTER_SHARE(8), CLUSTER_SHARE(12), CLUSTER_SHARE(16) }
#define ROUNDS_ITEMS (PSVI_RADIX_ROUNDS_MOST * PSVI_RADIX_ROUNDS_QUOTA)
#define RESIDENT_SHARE(pair_bytes) (PSVI_RADIX_RESIDENT_THREADS * PSVI_RADIX_RESIDENT_MAX_ITEMS(pair_bytes))

// RESIDENT's shares also have to fit in shared memory (resident_items), as do more than 1,024 items of BLOCK
// (most_items).
// clang-format off
static const psvi_radix_route_row rows[PSVI_RADIX_ROUTES] = {
    //                     name              how                                                      most, each                                      key, value bytes  shared KB             needs                   next             by keys
    ROUTE(NONE)           = {"none",           "nothing has run",                                       0, {0, 0, 0},                                       8, 8, 0,                   0,                      PSVI_RADIX_NONE,           true},
    ROUTE(IN_ORDER)       = {"in_order",       "keys in order: copies at most",                         PSVI_RADIX_WINDOWS_MOST, {0, 0, 0},                 4, 8, PSVI_RADIX_CHUNK_KB, COOPERATIVE,            PSVI_RADIX_RESIDENT,       false},
    ROUTE(BLOCK)          = {"block",          "one block, on chip",                                    PSVI_RADIX_THREADS * PSVI_RADIX_BLOCK_ITEMS, {0, 0, 0}, 8, 8, PSVI_RADIX_BLOCK_LEAST_KB, 0,     PSVI_RADIX_NONE,           false},
    ROUTE(CLUSTER)        = {"cluster",        "one cluster, on chip, cut by samples",                  PSVI_RADIX_CLUSTER_MOST, CLUSTER_SHARES,            8, 8, PSVI_RADIX_CHUNK_KB, CLUSTERS | CODE_90,     PSVI_RADIX_NONE,           false},
    ROUTE(SPLITTERS)      = {"splitters",      "a chunk a multiprocessor, cut as the call before ended", ANY, CHUNK_ITEMS,                                   8, 8, PSVI_RADIX_CHUNK_KB, COOPERATIVE,            PSVI_RADIX_CHUNKS,         false},
    ROUTE(CHUNKS)         = {"chunks",         "a chunk a multiprocessor, cut by a histogram",          ANY, CHUNK_ITEMS,                                    8, 8, PSVI_RADIX_CHUNK_KB, COOPERATIVE,            PSVI_RADIX_NONE,           true},
    ROUTE(WINDOWS)        = {"windows",        "nearly in order, by overlapping windows",               PSVI_RADIX_WINDOWS_MOST, {0, 0, 0},                 4, 8, PSVI_RADIX_CHUNK_KB, COOPERATIVE,            PSVI_RADIX_PASSES,         false},
    ROUTE(ROUNDS)         = {"rounds",         "several chunks a multiprocessor, by earlier splitters", ANY, {ROUNDS_ITEMS, 0, 0},                          4, 4, PSVI_RADIX_CHUNK_KB, COOPERATIVE,            PSVI_RADIX_RESIDENT,       false},
    ROUTE(RESIDENT)       = {"resident",       "digit passes in one kernel, shares stay with blocks",   ANY, {RESIDENT_SHARE(8), RESIDENT_SHARE(12), RESIDENT_SHARE(16)}, 8, 8, 0,     COOPERATIVE,            PSVI_RADIX_NONE,           false},
    ROUTE(PASSES)         = {"passes",         "a kernel for each digit, tiles chained",                ANY, {0, 0, 0},                                     8, 8, 0,                   0,                      PSVI_RADIX_NONE,           false},
};
// clang-format on

// What tiles of PASSES need.
typedef struct tiles_row {
    const char *name;
    uint32_t key_bytes, value_bytes; // at most
    uint32_t shared_kb, needs;
} tiles_row;

static const tiles_row tiles[PSVI_RADIX_TILE_FORMS] = {
    [PSVI_RADIX_TILES_COMPACT] = {"compact", 8, 8, 0, 0},
    [PSVI_RADIX_TILES_FULL] = {"full", 8, 8, PSVI_RADIX_ROOMY_KB, 0},
    [PSVI_RADIX_TILES_ASYNC] = {"async", 8, 4, PSVI_RADIX_CHUNK_KB, CODE_90},
};

static const char *const veto_names[PSVI_RADIX_VETOES] = {
    [PSVI_RADIX_VETO_NONE] = "none",
    [PSVI_RADIX_VETO_DEVICE] = "device",
    [PSVI_RADIX_VETO_NO_SPLITTERS] = "no_splitters",
    [PSVI_RADIX_VETO_MISFIT] = "misfit",
    [PSVI_RADIX_VETO_CROWDS] = "crowds",
    [PSVI_RADIX_VETO_UNEVEN] = "uneven",
    [PSVI_RADIX_VETO_WAITING] = "waiting",
    [PSVI_RADIX_VETO_HISTOGRAMS] = "histograms",
    [PSVI_RADIX_VETO_NOT_IN_ORDER] = "not_in_order",
};

const psvi_radix_route_row *psvi_radix_row(psvi_radix_route route) {
    return &rows[(unsigned)route < PSVI_RADIX_ROUTES ? route : PSVI_RADIX_NONE];
}

const char *psvi_radix_veto_name(uint32_t veto) {
    return veto_names[veto < PSVI_RADIX_VETOES ? veto : PSVI_RADIX_VETO_NONE];
}

const char *psvi_radix_tiles_name(psvi_radix_tiles form) { return tiles[form].name; }

uint32_t psvi_radix_round_chunks(uint64_t count, uint32_t multiprocessors) {
    const uint64_t round = (uint64_t)multiprocessors * PSVI_RADIX_ROUNDS_QUOTA;
    const uint64_t chunks = (count + round - 1) / round * multiprocessors;
    return count > PSVI_RADIX_ROUNDS_MOST * round || chunks >= PSVI_RADIX_ROUNDS_CHUNKS ? 0 : (uint32_t)chunks;
}

static uint32_t pair_bytes(const psvi_radix_facts *facts) { return facts->key_bytes + facts->value_bytes; }

static uint32_t resident_blocks(const psvi_radix_facts *facts) {
    return facts->device.multiprocessors < PSVI_RADIX_RESIDENT_BLOCKS ? facts->device.multiprocessors
                                                                      : PSVI_RADIX_RESIDENT_BLOCKS;
}

// Items of a thread for kernels of RESIDENT, from the fewest on: the first with which all blocks hold `count` items. 0:
// too many items for shared memory or for the device, or no such kernel. The most that serve where `count` is 0.
static uint32_t resident_items_for(const psvi_radix_facts *facts, uint64_t count) {
    static const uint32_t kernels[] = PSVI_RADIX_RESIDENT_ITEMS;
    uint32_t most = 0;
    if (!facts->device.cooperative) return 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k) {
        const uint32_t tile = PSVI_RADIX_RESIDENT_THREADS * kernels[k];
        if (kernels[k] > PSVI_RADIX_RESIDENT_MAX_ITEMS(pair_bytes(facts))) break;
        if (tile * pair_bytes(facts) + PSVI_RADIX_RESIDENT_TABLES > facts->device.shared_bytes) break;
        if (count != 0 && count <= (uint64_t)resident_blocks(facts) * tile) return kernels[k];
        most = kernels[k];
    }
    return count == 0 ? most : 0;
}

static uint32_t resident_items(const psvi_radix_facts *facts) {
    return resident_items_for(facts, facts->count != 0 ? facts->count : 1);
}

static bool device_has(uint32_t shared_kb, uint32_t needs, const psvi_radix_device *device) {
    if (shared_kb * 1024 > device->shared_bytes) return false;
    if ((needs & COOPERATIVE) && !device->cooperative) return false;
    if ((needs & CLUSTERS) && device->cluster_blocks == 0) return false;
    return !(needs & CODE_90) || device->code_capability >= 90;
}

static bool device_serves(const psvi_radix_route_row *row, const psvi_radix_device *device) {
    return device_has(row->shared_kb, row->needs, device);
}

static bool types_suit(const psvi_radix_route_row *row, const psvi_radix_facts *facts) {
    return facts->key_bytes <= row->key_bytes && facts->value_bytes <= row->value_bytes;
}

// Chunk numbers of SPLITTERS have 8 bits, which no device of today exceeds.
static bool chunks_serve(const psvi_radix_facts *facts) {
    return device_serves(&rows[PSVI_RADIX_SPLITTERS], &facts->device) &&
           facts->device.multiprocessors <= PSVI_RADIX_CHUNKS_BLOCKS;
}

// Counts above go to ROUNDS, where the sorter has it: twelve in thirteen of what SPLITTERS holds, for its chunks are
// not quite equal.
static uint64_t rounds_above(const psvi_radix_facts *facts) {
    return (uint64_t)facts->device.multiprocessors * PSVI_RADIX_CHUNKS_TILE(8) / 13 * 12;
}

bool psvi_radix_has_rounds(const psvi_radix_facts *facts) {
    return chunks_serve(facts) && facts->key_bytes == 4 && facts->sorter_values <= 4 &&
           facts->max_count > rounds_above(facts);
}

static uint64_t most_items(psvi_radix_route route, const psvi_radix_facts *facts) {
    const psvi_radix_route_row *row = &rows[route];
    const uint32_t each = row->each[pair_bytes(facts) <= 8 ? 0 : pair_bytes(facts) <= 12 ? 1 : 2];
    uint64_t blocks = row->needs & CLUSTERS ? facts->device.cluster_blocks : facts->device.multiprocessors;
    if (blocks == 0) blocks = LEAST_CLUSTER; // no cluster: what the smallest would hold
    if (route == PSVI_RADIX_RESIDENT) blocks = resident_blocks(facts);
    if (route == PSVI_RADIX_BLOCK && facts->device.shared_bytes < PSVI_RADIX_BLOCK_KB * 1024) return PSVI_RADIX_THREADS;
    const uint64_t all = each != 0 ? blocks * each : ANY;
    return all < row->most ? all : row->most;
}

psvi_radix_span psvi_radix_route_span(psvi_radix_route route, const psvi_radix_facts *facts) {
    const psvi_radix_span never = {0, 0};
    const psvi_radix_route_row *row = psvi_radix_row(route);
    if ((unsigned)route >= PSVI_RADIX_ROUTES || !device_serves(row, &facts->device) || !types_suit(row, facts))
        return never;
    psvi_radix_span span = {2, most_items(route, facts)};
    switch (route) {
    case PSVI_RADIX_NONE: return never;
    case PSVI_RADIX_SPLITTERS:
    case PSVI_RADIX_CHUNKS:
        if (!chunks_serve(facts)) return never;
        if (psvi_radix_has_rounds(facts)) span.most = rounds_above(facts);
        break;
    case PSVI_RADIX_ROUNDS:
        if (!psvi_radix_has_rounds(facts)) return never;
        span.least = rounds_above(facts) + 1;
        while (span.most > 0 && psvi_radix_round_chunks(span.most, facts->device.multiprocessors) == 0)
            span.most -= (uint64_t)facts->device.multiprocessors * PSVI_RADIX_ROUNDS_QUOTA;
        break;
    case PSVI_RADIX_RESIDENT:
        span.most = (uint64_t)resident_blocks(facts) * PSVI_RADIX_RESIDENT_THREADS * resident_items_for(facts, 0);
        break;
    default: break;
    }
    return span.most == 0 ? never : span;
}

static bool serves(psvi_radix_route route, const psvi_radix_facts *facts) {
    return facts->count <= psvi_radix_route_span(route, facts).most;
}

// Whether the route would take the call on another device.
static bool lacks_device(psvi_radix_route route, const psvi_radix_facts *facts) {
    const psvi_radix_route_row *row = &rows[route];
    psvi_radix_facts roomy = *facts;
    roomy.device.shared_bytes = PSVI_RADIX_CHUNK_KB * 1024;
    return types_suit(row, facts) && facts->count <= most_items(route, &roomy) && !serves(route, facts);
}

static bool tiles_suit(psvi_radix_tiles form, const psvi_radix_facts *facts) {
    return facts->key_bytes <= tiles[form].key_bytes && facts->value_bytes <= tiles[form].value_bytes;
}

// The best tiles that the device and the types allow.
static psvi_radix_tiles tiles_of(const psvi_radix_facts *facts) {
    psvi_radix_tiles form = PSVI_RADIX_TILES_ASYNC;
    while (form > PSVI_RADIX_TILES_COMPACT &&
           !(tiles_suit(form, facts) && device_has(tiles[form].shared_kb, tiles[form].needs, &facts->device)))
        --form;
    return form;
}

// Adds a kernel to those that are tried.
static void try_route(psvi_radix_plan *plan, psvi_radix_route route) {
    for (int i = 0; i < PSVI_RADIX_TRIES; ++i) {
        if (plan->tries[i] != PSVI_RADIX_NONE) continue;
        plan->tries[i] = route;
        return;
    }
}

// What to run before all else. WINDOWS or IN_ORDER, where recent input was nearly sorted or sorted. WINDOWS also where
// nothing is known, no later kernel would find out, and the input is too large for RESIDENT (which is faster in a first
// call; ROUNDS will find out then). NONE for a while where such kernels have failed. A graph keeps what is known when
// it is captured.
static psvi_radix_route first_try(const psvi_radix_facts *facts, psvi_radix_plan *plan, bool rounds) {
    if (!plan->asks_for_order) return PSVI_RADIX_NONE;
    if (rounds && plan->resident_items == 0 && !facts->capturing && !facts->order_looked_at) return PSVI_RADIX_WINDOWS;
    if (facts->order == PSVI_RADIX_ORDER_OTHER) return PSVI_RADIX_NONE;
    plan->order_waited = facts->order_wait;
    if (facts->order_wait) return PSVI_RADIX_NONE;
    return facts->order == PSVI_RADIX_ORDER_SORTED ? PSVI_RADIX_IN_ORDER : PSVI_RADIX_WINDOWS;
}

// A kernel that takes less than a multiprocessor's share of a chunk: BLOCK, CLUSTER.
static bool try_on_chip(const psvi_radix_facts *facts, psvi_radix_plan *plan) {
    static const psvi_radix_route on_chip[] = {PSVI_RADIX_BLOCK, PSVI_RADIX_CLUSTER};
    for (size_t i = 0; i < sizeof on_chip / sizeof *on_chip; ++i) {
        if (serves(on_chip[i], facts)) {
            try_route(plan, on_chip[i]);
            return true;
        }
        if (lacks_device(on_chip[i], facts)) plan->veto = PSVI_RADIX_VETO_DEVICE;
    }
    return false;
}

// Whether splitters can be taken behind RESIDENT: from the sorted keys, or by the index from the unsorted ones, which
// it may use as spare memory.
static bool leaves_keys(const psvi_radix_facts *facts) {
    return facts->keys_wanted || (facts->implicit && facts->keys_kept);
}

// SPLITTERS and what is in its kernel. Where chunks hardly fit, ROUNDS takes them, but this kernel is the fastest to
// see that the input is in order.
static bool try_chunks(const psvi_radix_facts *facts, psvi_radix_plan *plan) {
    if (!chunks_serve(facts)) {
        if (lacks_device(PSVI_RADIX_SPLITTERS, facts) || lacks_device(PSVI_RADIX_ROUNDS, facts))
            plan->veto = PSVI_RADIX_VETO_DEVICE;
        return false;
    }
    const bool fits = serves(PSVI_RADIX_SPLITTERS, facts);
    plan->asks_for_order = !fits && facts->order_check && !facts->has_histograms && facts->key_bytes == 4 &&
                           facts->count <= PSVI_RADIX_WINDOWS_MOST;
    const bool sorted = plan->asks_for_order && facts->order == PSVI_RADIX_ORDER_SORTED &&
                        facts->count <= most_items(PSVI_RADIX_SPLITTERS, facts);
    if (!fits && !sorted) return false;
    if (fits && facts->chunks_wait && plan->resident_items != 0) {
        plan->chunks_waited = true;
        plan->veto = PSVI_RADIX_VETO_WAITING;
        return false;
    }
    try_route(plan, PSVI_RADIX_SPLITTERS);
    // Keys that fit in no chunks are sooner sorted by another kernel. Those that do pay for launches that do nothing,
    // but not in a graph, which would keep them.
    plan->remembers =
        fits && !facts->splitters_serve && !facts->capturing && plan->resident_items != 0 && leaves_keys(facts);
    if (plan->remembers) try_route(plan, PSVI_RADIX_RESIDENT);
    return true;
}

// ROUNDS, or what leaves splitters for it. False when it is not the time for either.
static bool try_rounds(const psvi_radix_facts *facts, psvi_radix_plan *plan, bool nearly) {
    const bool resident = plan->resident_items != 0 && !nearly; // it would not see what WINDOWS has done
    if (facts->ready) {
        try_route(plan, PSVI_RADIX_ROUNDS);
        // One launch that does nothing in place of six, where one will do.
        try_route(plan, resident ? PSVI_RADIX_RESIDENT : PSVI_RADIX_PASSES);
        return true;
    }
    if (facts->rounds_wait) {
        plan->rounds_waited = true;
        plan->veto = PSVI_RADIX_VETO_WAITING;
        return false;
    }
    plan->veto = PSVI_RADIX_VETO_NO_SPLITTERS;
    if (!facts->keys_wanted && !facts->implicit) return false;
    try_route(plan, resident && leaves_keys(facts) ? PSVI_RADIX_RESIDENT : PSVI_RADIX_PASSES);
    plan->remembers = facts->order != PSVI_RADIX_ORDER_NEARLY || plan->tries[0] != PSVI_RADIX_WINDOWS;
    return true;
}

psvi_radix_plan psvi_radix_choose_route(const psvi_radix_facts *facts) {
    psvi_radix_plan plan = {.veto = PSVI_RADIX_VETO_NONE};
    if (try_on_chip(facts, &plan)) return plan;
    plan.resident_items = resident_items(facts);
    if (try_chunks(facts, &plan)) return plan;
    plan.tiles = tiles_of(facts);
    const bool rounds = !plan.chunks_waited && serves(PSVI_RADIX_ROUNDS, facts) && !facts->has_histograms;
    if (serves(PSVI_RADIX_ROUNDS, facts) && facts->has_histograms) plan.veto = PSVI_RADIX_VETO_HISTOGRAMS;
    const psvi_radix_route first = plan.chunks_waited ? PSVI_RADIX_NONE : first_try(facts, &plan, rounds);
    if (first == PSVI_RADIX_IN_ORDER) {
        try_route(&plan, PSVI_RADIX_IN_ORDER);
        // RESIDENT is one launch, but moves nothing where it is not to sort.
        const bool resident = plan.resident_items != 0 && facts->in_place;
        try_route(&plan, resident ? PSVI_RADIX_RESIDENT : PSVI_RADIX_PASSES);
        return plan;
    }
    if (first == PSVI_RADIX_WINDOWS) try_route(&plan, PSVI_RADIX_WINDOWS);
    const bool nearly = first == PSVI_RADIX_WINDOWS;
    if (rounds && try_rounds(facts, &plan, nearly)) return plan;
    const bool resident = plan.resident_items != 0 && !nearly;
    if (!resident && plan.veto == PSVI_RADIX_VETO_NONE && plan.tiles != PSVI_RADIX_TILES_ASYNC &&
        tiles_suit(PSVI_RADIX_TILES_ASYNC, facts))
        plan.veto = PSVI_RADIX_VETO_DEVICE;
    try_route(&plan, resident ? PSVI_RADIX_RESIDENT : PSVI_RADIX_PASSES);
    return plan;
}
