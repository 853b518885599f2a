// A tree's memory, a checked query, and the table of a backend's operations on both.
#ifndef PAIRSIEVE_TREE_INTERNAL_H
#define PAIRSIEVE_TREE_INTERNAL_H

#include "pairsieve/sort.h"
#include "tree_build.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_TREE_COOKIE 0x70737674u // "psvt"

// Results of the last query, in backend memory.
typedef struct psvi_query_result {
    uint64_t count;       // of queries, if they are sorted, or of items with long keys: input of the sorter
    uint64_t short_count; // of items with short keys: one of both is 0
    uint64_t results;     // of a call with offsets
} psvi_query_result;

// The box of a node of a fine tree on CUDA: on each axis the least and the greatest coordinate, 16 bits each, in 256ths
// of its grid's steps and outwards. In an empty one the least is the greater.
typedef struct psvi_small_box {
    uint32_t axis[3];
} psvi_small_box;

// Parts of one block of backend memory: the tree, then memory for builds, refits and queries. Items are written after
// the keys are sorted, so both share memory. So do the order and the nodes of a linear tree, and on CUDA the order of a
// fine tree and the boxes and arrivals of its refit.
typedef struct psvi_tree_memory {
    psv_tree_head *head;
    psvi_query_result *result;
    psv_tree_node *nodes;
    void *items;
    psv_tree_end *ends;          // of triangles
    uint32_t *world_starts;      // NULL with one world
    psv_aabb *boxes;             // of the nodes
    psvi_small_box *small_boxes; // in their place, of a fine tree on CUDA
    uint32_t *arrivals;          // CUDA, by node: children that are done; 0 between builds
    uint64_t *keys;              // NULL where there is no second reader: shares memory with items
    uint32_t *order;             // by place: which item of the view
    uint32_t *places;            // by item, with def.refit_items: its place or PSVI_NOT_PLACED
    void *fine;                  // scratch memory of the fine build, until the items are written
    uint32_t *query_keys, *query_order, *query_counts;
    uint64_t *query_sums; // of the counts, per block of queries
    psv_buffer sorter, query_sorter;
    uint64_t node_room;
} psvi_tree_memory;

#define PSVI_NOT_PLACED UINT32_MAX

PSV_TREE_FN psvi_stored_items psvi_items_of(const psvi_tree_memory *memory, bool triangles) {
    const psvi_stored_items stored = {triangles, memory->items, memory->ends};
    return stored;
}

typedef struct psvi_tree_ops psvi_tree_ops;

struct psv_tree {
    uint32_t cookie;
    psv_context *context;
    const psvi_tree_ops *ops;
    psv_tree_def def;
    psvi_tree_keys keys;
    psvi_tree_memory memory;
    void *block;
    uint64_t block_bytes;
    psv_sorter *sorter, *short_sorter, *query_sorter; // short_sorter: NULL: all keys have 64 bits
    const psv_box_filter *filters;                    // of the last build's view
    uint64_t room;                                    // items of the last build, at most
    bool has_build, triangles, asked_fine;
    bool has_query, has_offsets; // the last query
    uint64_t results_room;
};

typedef enum psvi_query_kind {
    PSVI_QUERY_CLOSEST_HIT,
    PSVI_QUERY_ANY_HIT,
    PSVI_QUERY_ALL_HITS,
    PSVI_QUERY_BOXES,
    PSVI_QUERY_SPHERES,
    PSVI_QUERY_NEAREST,
    PSVI_QUERY_CLOSEST_POINT
} psvi_query_kind;

// A checked query with addresses.
typedef struct psvi_tree_query {
    psvi_query_kind kind;
    psv_tree_view view;
    const char *data;
    uint32_t stride;
    uint32_t count; // at most, where there is count_device
    const uint64_t *count_device;
    const uint32_t *worlds;
    const psv_box_filter *filters;
    bool sort;
    const uint32_t *order; // NULL, or which query is taken when
    void *target;          // hits, near items or points
    uint32_t *counts;
    uint64_t *offsets;
    void *results; // of lists; NULL: none wanted
    uint64_t room; // of results
    uint32_t each; // and k of nearest items
    bool in_order;
} psvi_tree_query;

struct psvi_tree_ops {
    // Most nodes that a fine build needs, and its scratch memory. NULL: linear trees alone.
    uint64_t (*fine_nodes)(uint64_t items);
    uint64_t (*fine_bytes)(uint64_t items);
    bool fine_reads_keys; // a fine build works on the keys: its scratch memory lies behind them
    bool short_keys;      // few enough items are tried with keys of 32 bits first (PSVI_SHORT_KEY_ITEMS)
    bool counts_arrivals; // boxes go up from children to parents by counts of arrivals, of a fine build as small ones
    bool views;           // psv_view_tree: kernels of the caller can follow its addresses
    // Optional: whether the device has room for such a tree.
    psv_status (*check)(psv_context *context, const psv_tree_def *def);
    psv_status (*build)(psv_tree *tree, const psvi_item_view *view);
    psv_status (*refit)(psv_tree *tree, const psvi_item_view *view);
    // Optional, of some items; where it is NULL, all are refitted. memory.places is set by `build`.
    psv_status (*refit_items)(psv_tree *tree, const psvi_item_view *view, const uint32_t *items, uint64_t count);
    psv_status (*query)(psv_tree *tree, psvi_tree_query *query);
};

extern const psvi_tree_ops psvi_tree_ops_cpu, psvi_tree_ops_cuda, psvi_tree_ops_gpu;

// Most nodes of a fine tree: a quarter of its items, because each node is filled so that PSVI_LEAST_FILL holds. The
// proof is by induction: a subtree of n > 8 items has at most n / 4 - 1 / 4 nodes. One of 9 items has 2 nodes. A node
// counts 1 for each child that is an item or a subtree of more than 8 items, and items - 4 for each smaller subtree,
// which is one node. Where this sum is at least 5, the bound holds for the node too. Children that fall short of it are
// joined while two together have at most 8 items. In the room that this makes, subtrees give way to their items while
// these fit. Where neither can go on, the sum is reached. Either there are eight children, of which any two smaller
// ones have 9 items or more. Or there are fewer, c, and the smaller ones have at least 10 - c items.
static inline uint64_t psvi_fine_tree_nodes(uint64_t items) { return items / 4 + 1; }
#define PSVI_LEAST_FILL 5
#define PSVI_SMALL_ITEMS 8 // of a subtree that is one node

psv_status psvi_check_tree(const psv_tree *tree);
psv_tree_view psvi_view_of_tree(const psv_tree *tree);

// Checks the view `set`, called `name`, of queries of `bytes` bytes, and fills in its part of the query.
psv_status psvi_view_queries(psv_tree *tree, const psv_query_set *set, const char *name, uint32_t bytes,
                             psvi_tree_query *query);
// The same of the answers, a record for each of `count` queries.
psv_status psvi_view_records(psv_tree *tree, psv_buffer target, uint64_t count, uint64_t record_bytes, const char *name,
                             psvi_tree_query *query);
// The same of the lists of `count` queries, whose results have `record_bytes`.
psv_status psvi_view_lists(psv_tree *tree, const psv_query_lists *lists, uint64_t count, uint64_t record_bytes,
                           psvi_tree_query *query);

// Keys of up to this many items are first tried with 32 bits by backends with short_keys: 11 bits for each axis, one
// less for the last. On a surface that is about one item to a cell for 2M, and four to eight for 16M.
#define PSVI_SHORT_AXIS_BITS 11
#define PSVI_SHORT_KEY_ITEMS ((uint64_t)1 << 24)
bool psvi_may_be_short(const psv_tree *tree, const psvi_item_view *view);

// For backends whose devices count: sorts the keys in the tree's memory with the order. Where the device chooses
// between short and long keys, both sorters run, one of them over nothing.
psv_status psvi_sort_tree_items(psv_tree *tree, const psvi_item_view *view);
// Of such backends, too: sorts the keys of the queries, and makes a tree without items (also where worlds had some).
psv_status psvi_sort_query_keys(psv_tree *tree, psvi_tree_query *query);
psv_status psvi_clear_tree(psv_tree *tree);

#define PSVI_QUERY_BITS 30 // of a query's key: place, and of rays the direction's octant

#ifdef __cplusplus
}
#endif
#endif
