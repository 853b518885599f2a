// pairsieve tree: a bounding volume hierarchy over boxes or triangles, rebuilt each frame from sorted keys, and queries
// in bulk: rays, boxes, spheres, nearest neighbours and closest points.
//
// Items (boxes or triangles), queries and results are in the caller's memory, which is memory of the context's backend.
// After creation no call allocates, and on GPUs every call except those that say «Blocks» is asynchronous; on CUDA it
// can be captured in a graph. OpenGL and Vulkan have linear trees, and make their kernels ready in the first call that
// needs them. Answers do not depend on the tree: a query gives the same bytes for every quality, on every backend, with
// any number of threads. OpenGL and Vulkan drivers may take numbers below 1.2e-38 for 0. Tests of items round alike
// everywhere, ties go to the lower item, and a node is skipped only if nothing in it can matter.
//
// Left out, counted and never found: disabled items, boxes with NaN or min > max, triangles with a vertex that is not
// finite, indices of vertex_count or more, and worlds of def.world_count or more. Infinite boxes are found. Coordinates
// of boxes, and of queries other than rays, count as +-8.5e37 (2^126) beyond that, infinite ones too; a query whose
// coordinates, counted so, have min > max finds nothing. For sizes and distances from 1e-17 to 1e15, results of
// triangles are right to a few units in the last place of their sizes, also for slivers of any aspect; the tests round
// alike everywhere.
#ifndef PAIRSIEVE_TREE_H
#define PAIRSIEVE_TREE_H

#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSV_NO_ITEM 0xffffffffu

typedef struct psv_tree psv_tree;

typedef enum psv_tree_quality {
    PSV_TREE_LINEAR = 0, // sorted along a Hilbert curve, eight to a node: the fastest build, for what moves each frame
    PSV_TREE_FINE = 1    // built for few and small nodes: several times the build, faster queries. With several worlds
                         // the same as PSV_TREE_LINEAR
} psv_tree_quality;

typedef struct psv_tree_def {
    uint32_t cookie;          // set by psv_default_tree_def
    psv_tree_quality quality; // default PSV_TREE_LINEAR, the only one of OpenGL and Vulkan
    const char *sort_method;  // sorter of keys, see pairsieve/sort.h; default "radix"
    uint64_t max_items;       // most boxes or triangles of any build, 1 to 2^30
    bool triangles;           // default false: room for boxes only. true: room for triangles, or as many boxes
    uint32_t world_count;     // worlds that items and queries may name; 0 and 1 (default): one world
    uint64_t max_queries;     // most queries of a call that sorts them or writes lists with offsets; default 0: none
    bool refit_items;         // psv_refit_tree_items will be called: 4 bytes more an item; default false
} psv_tree_def;

psv_tree_def psv_default_tree_def(void);

// Bytes of backend memory that a tree of this def takes; needs no device. 0: def not valid.
uint64_t psv_tree_bytes(psv_backend backend, const psv_tree_def *def);

// Errors: PSV_ERROR_ARGUMENT, PSV_ERROR_UNSUPPORTED (the backend has no trees or none of this quality, unknown
// sort_method, more items than a storage block of OpenGL or Vulkan holds), PSV_ERROR_CAPACITY (max_items or max_queries
// over 2^30), PSV_ERROR_MEMORY (with the bytes needed). Blocks.
psv_status psv_create_tree(psv_context *context, const psv_tree_def *def, psv_tree **tree);
void psv_destroy_tree(psv_tree *tree); // NULL is allowed. Blocks

// --- build -----------------------------------------------------------------------------------------------------------

// A view of triangles. Triangle i has the vertices that its three indices name, or vertices 3 i to 3 i + 2.
typedef struct psv_triangle_set {
    psv_buffer vertices;    // first vertex's x, y, z floats
    uint32_t vertex_stride; // bytes from vertex to vertex, a multiple of 4, at least 12
    uint64_t vertex_count;
    psv_buffer indices;      // empty, or the first triangle's three u32
    uint32_t index_stride;   // bytes from triangle to triangle, a multiple of 4, at least 12; 0 without indices
    uint64_t count;          // triangles; with count_buffer the most there can be
    psv_buffer count_buffer; // empty, or one uint64_t: the count of this frame, read on the device
    psv_buffer flags;        // empty, or count bytes: PSV_BOX_DISABLED counts
    psv_buffer filters;      // empty, or count psv_box_filter
    psv_buffer worlds;       // empty (all world 0), or count u32
} psv_triangle_set;

// View of `count` triangles with three u32 each, without gaps; of vertices of 12 bytes.
psv_triangle_set psv_triangles_of(psv_buffer vertices, uint64_t vertex_count, psv_buffer indices, uint64_t count);

// Builds a tree of all items of the set; it replaces the previous tree. Items are copied. Only `filters` is read by
// later queries and must stay valid. Of a box set ids, owners and layers are ignored, and doubles are refused. Errors:
// PSV_ERROR_ARGUMENT (a part of the view is NULL, misaligned or too small, a stride cannot be used), PSV_ERROR_CAPACITY
// (count over def.max_items), PSV_ERROR_UNSUPPORTED (triangles without def.triangles), PSV_ERROR_DEVICE. Cost: reads
// each item twice, sorts one 64-bit key an item.
psv_status psv_build_tree(psv_tree *tree, const psv_box_set *boxes);
psv_status psv_build_triangle_tree(psv_tree *tree, const psv_triangle_set *triangles);

// Updates the tree for items that have moved. The set must equal that of the last build except for its coordinates and
// their addresses. A third of the cost of a build, but queries get slower the further items move. An item that is bad
// now is not found; an item that was bad or disabled at the build stays excluded. Errors: as above, and
// PSV_ERROR_ARGUMENT when the tree has the other kind of items or no build.
psv_status psv_refit_tree(psv_tree *tree, const psv_box_set *boxes);
psv_status psv_refit_triangle_tree(psv_tree *tree, const psv_triangle_set *triangles);

// The same for a set in which no item has moved but those that `items` (count u32, in any order, also more than once)
// names. A linear tree of boxes on the CPU costs what these items cost; all other trees are refitted as a whole. Needs
// def.refit_items. On the CPU an item that is not below the set's count is PSV_ERROR_ARGUMENT, and nothing is changed.
psv_status psv_refit_tree_items(psv_tree *tree, const psv_box_set *boxes, psv_buffer items, uint64_t count);

// The tree for kernels of the caller, see pairsieve/tree.cuh and tree_view.h. The view is the same until the next build
// of another kind of items or with other filters, or destruction; the memory behind it changes with each build. Errors:
// PSV_ERROR_ARGUMENT (no build yet, view NULL), PSV_ERROR_UNSUPPORTED (OpenGL and Vulkan, which have no addresses).
struct psv_tree_view;
psv_status psv_view_tree(psv_tree *tree, struct psv_tree_view *view);

typedef struct psv_tree_statistics {
    uint64_t items;     // in the tree
    uint64_t bad_items; // left out as bad; disabled items are not counted
    uint64_t nodes;     // of at most eight children
    uint32_t levels;    // of nodes, on the longest way down; 0 without items
    uint32_t key_bits;  // bits of place and world in which keys differ; the others were 0
    bool fell_back;     // PSV_TREE_FINE was asked for, but this build is PSV_TREE_LINEAR
} psv_tree_statistics;

psv_status psv_read_tree_statistics(psv_tree *tree, psv_tree_statistics *statistics); // of the last build. Blocks

// --- queries ---------------------------------------------------------------------------------------------------------

// A ray's points are origin + t direction for t_min <= t <= t_max. The direction has any length; t is in lengths of it.
// t_min below 0 counts as 0; t_max may be infinite. A ray hits nothing when its origin is not finite (or beyond 1e37),
// its direction not finite or zero, or a limit NaN. Components of the direction below 2^-80 of the largest count as 0.
typedef struct psv_ray {
    float origin[3];
    float t_min;
    float direction[3];
    float t_max;
} psv_ray;

// Boxes are closed and solid: t is where the ray enters, t_min when that lies inside; u and v are 0. Triangles are hit
// from both sides, without gaps along shared edges and vertices (Woop, Benthin, Wald 2013); u and v are the weights of
// the second and third vertex.
typedef struct psv_ray_hit {
    float t;       // t_max of the ray when nothing was hit
    uint32_t item; // PSV_NO_ITEM when nothing was hit
    float u, v;
} psv_ray_hit;

typedef struct psv_sphere {
    float centre[3];
    float radius; // >= 0, may be infinite; a sphere with a NaN or a negative radius finds nothing
} psv_sphere;

// A view of queries: psv_ray, psv_aabb (bad boxes find nothing) or psv_sphere, as the call says.
typedef struct psv_query_set {
    psv_buffer data;
    uint32_t stride;         // bytes from query to query, a multiple of 4, at least the size of one
    uint64_t count;          // with count_buffer the most there can be
    psv_buffer count_buffer; // empty, or one uint64_t: the count of this frame, read on the device
    psv_buffer worlds;       // empty (all world 0), or count u32: only items of that world are found
    psv_buffer filters;      // empty, or count psv_box_filter, against those of the items as in psv_box_filter
    bool sort;               // take queries in the order of their places, for queries that come in no order. Results
                             // lie where they would without. Needs def.max_queries >= count
} psv_query_set;

psv_query_set psv_queries_of(psv_buffer data, uint32_t stride, uint64_t count);

// The queries below give PSV_ERROR_ARGUMENT when the tree has no build, a view or a target is NULL, misaligned or too
// small, or a stride cannot be used; PSV_ERROR_CAPACITY when count is over 2^30, or over def.max_queries where that is
// needed. Entries of the targets beyond the frame's count are unchanged.

// hits: psv_ray_hit per ray, the one of the least t, of equals the one of the lowest item.
psv_status psv_trace_closest(psv_tree *tree, const psv_query_set *rays, psv_buffer hits);

// hits: u32 per ray, 1 when anything is hit, else 0.
psv_status psv_trace_any(psv_tree *tree, const psv_query_set *rays, psv_buffer hits);

// Lists of hits, one per query. `counts`, `offsets` and `results` may be empty; counts are exact in any case.
//   offsets empty:  query q has results [q * each, q * each + min(counts[q], each)); the others are unchanged.
//                   With in_order these are the first `each` in the order, without any `each`.
//   offsets given:  query q has results [offsets[q], offsets[q + 1]), each 0; offsets[count] is the number of all
//                   results. Results beyond the room are not written (PSV_ERROR_CAPACITY with the size needed, from
//                   this call on the CPU, from psv_finish_queries on GPUs). Needs def.max_queries >= count.
typedef struct psv_query_lists {
    psv_buffer counts;  // u32 per query
    psv_buffer offsets; // uint64_t per query and one more
    psv_buffer results; // u32 items, of psv_trace_all psv_ray_hit
    uint32_t each;      // room for each query in `results`
    bool in_order;      // ascending items, of psv_trace_all ascending t, then items. Long lists then take longer
} psv_query_lists;

// All items that each ray hits.
psv_status psv_trace_all(psv_tree *tree, const psv_query_set *rays, const psv_query_lists *lists);

// All items that each box (psv_aabb) or sphere touches: boxes, or the triangles themselves (separating axes,
// Akenine-Moeller 2001; closest points, Ericson 2004), up to rounding: a triangle that only touches may or may not be
// reported.
psv_status psv_overlap_boxes(psv_tree *tree, const psv_query_set *boxes, const psv_query_lists *lists);
psv_status psv_overlap_spheres(psv_tree *tree, const psv_query_set *spheres, const psv_query_lists *lists);

typedef struct psv_near_item {
    float distance; // 0 inside a box and below 2e-23, infinite beyond 1e19: where squares are
    uint32_t item;  // PSV_NO_ITEM where there are no more
} psv_near_item;

// Among the items that each sphere touches, the `k` nearest to its centre: k psv_near_item per query, k at least 1.
// They are in ascending order of the squared distance; equal ones in order of items. Squares that differ may have the
// same float as root. For nearest points, build the tree of the points as boxes (psv_boxes_of_arrays with the points as
// min and as max). Each result costs up to k steps, so k should be at most about 100.
psv_status psv_find_nearest(psv_tree *tree, const psv_query_set *spheres, uint32_t k, psv_buffer near_items);

typedef struct psv_closest_point {
    float point[3]; // on the item; the centre itself when nothing is within the radius, or inside a box
    float distance; // the radius when nothing is within it
    uint32_t item;  // PSV_NO_ITEM when nothing is within the radius
    float u, v;     // weights of a triangle's second and third vertex
} psv_closest_point;

// The closest point of all items to each sphere's centre within its radius: one psv_closest_point per query.
psv_status psv_find_closest(psv_tree *tree, const psv_query_set *spheres, psv_buffer points);

// Waits for the last query. *results (may be NULL) is the exact number of all results of a call with offsets, 0 of
// others. PSV_ERROR_CAPACITY when they did not fit. Blocks.
psv_status psv_finish_queries(psv_tree *tree, uint64_t *results);

#ifdef __cplusplus
}
#endif
#endif
