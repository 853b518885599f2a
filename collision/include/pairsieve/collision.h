// pairsieve collision: every pair of overlapping boxes, exactly once, none missing.
//
// Boxes are closed: touching counts. A pair is (a, b) with a < b. Bad boxes (NaN, or min > max on an axis) are left
// out, counted and listed. Infinite and huge boxes are found too and cost linear time. Nothing is truncated silently:
// the true pair count is always exact (64 bits), see psv_pair_finder_def.max_pairs.
#ifndef PAIRSIEVE_COLLISION_H
#define PAIRSIEVE_COLLISION_H

#include "pairsieve/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psv_aabb {
    float min[3];
    float max[3];
} psv_aabb;

// The same in double precision, for scenes that floats are too coarse for, see psv_box_set.doubles.
typedef struct psv_aabb64 {
    double min[3];
    double max[3];
} psv_aabb64;

// Two boxes, named by their indices or, where the box sets have ids, by their ids.
typedef struct psv_pair {
    uint32_t a; // a < b for pairs of one set; for psv_find_pairs_between a is of the first set, b of the second
    uint32_t b;
} psv_pair;

// Per-box flags, one byte each.
#define PSV_BOX_STATIC 1u   // two static boxes never pair
#define PSV_BOX_DISABLED 2u // pairs with nothing; its coordinates are not looked at

// Group and mask of a box: a and b pair only when (a.group & b.mask) != 0 and (b.group & a.mask) != 0. A set without
// filters has all bits in both of every box: it pairs with each box of another set whose group and mask are not 0.
typedef struct psv_box_filter {
    uint32_t group;
    uint32_t mask;
} psv_box_filter;

#define PSV_NO_OWNER UINT32_MAX // see psv_box_set.owners
#define PSV_LAYERS 32           // see psv_box_set.layers

// A view of boxes in memory of the context's backend; nothing is copied. Fill it with psv_boxes_of,
// psv_boxes_of_arrays or psv_boxes64_of and add the optional parts.
typedef struct psv_box_set {
    psv_buffer min;          // first box's min[3] floats; with `max` empty, min[3] and max[3] are six floats in a row
    psv_buffer max;          // first box's max[3] floats, or empty
    uint32_t min_stride;     // bytes from box to box, a multiple of 4; at least 24 without `max`, at least 12 with it
    uint32_t max_stride;     // the same for `max`; 0 without it
    uint64_t count;          // boxes; with count_buffer the most there can be
    psv_buffer count_buffer; // empty, or one uint64_t: the count of this frame, read on the device
    psv_buffer flags;        // empty, or count bytes of PSV_BOX_ flags
    psv_buffer filters;      // empty, or count psv_box_filter
    psv_buffer worlds;       // empty (all world 0), or count u32 world numbers: boxes of different worlds never pair. A
                             // number that is not below def.world_count makes a bad box
    psv_buffer ids;    // empty, or count u32: pairs, events and excluded pairs name a box by its id instead of by its
                       // index, so that a slot used again, with a new id, is a new box. Different within a set, below
                       // UINT32_MAX. Needs def.ids
    psv_buffer owners; // empty, or count u32: boxes of one owner never pair (the colliders of one body), also across
                       // the sets of psv_find_pairs_between. PSV_NO_OWNER: of no owner
    psv_buffer layers; // empty (all in layer 0), or count bytes, 0 to 31: see psv_pair_rules.layer_matrix. A box of a
                       // layer from PSV_LAYERS on pairs with nothing there
    // The corners are double, and strides are multiples of 8 and twice as large at least. Pairs are exact in double
    // precision. Needs def.doubles. Where one set of psv_find_pairs_between has them, the other may have floats.
    bool doubles;
    // With doubles, the middle of the scene or a point near the boxes that matter: boxes are sorted by their float
    // distance from it. Only speed depends on it: far from it many boxes look alike. Finite; default 0, 0, 0. Of two
    // sets that both have doubles, that of the first counts.
    double origin[3];
    // The first `kept` boxes rest: since this finder's last call with the same kept_version, nothing about them has
    // changed, but for those that `moved` names. A frame then costs what its moved boxes cost, events included; boxes
    // from `kept` on count as moved in each frame. Pairs and events are the same as without `kept`. 0 (default): none.
    // Needs def.max_kept. The simplest use is kept = count: a box that moves, wakes up, falls asleep, comes or goes is
    // named in the frames in which it changes. count and kept may change from call to call: boxes that the last call
    // did not have, or did not keep, count as moved. Change kept_version when more has changed.
    // count, and count_buffer, include kept boxes. In psv_find_pairs_between b.kept is 0 or b.count (without
    // b.count_buffer), a.kept is 0, and `moved` is not looked at: another b.kept_version sorts b anew. CUDA sorts kept
    // boxes anew in calls with another kept or kept_version, and looks for all pairs in calls with `moved`. The CPU
    // with counts of worlds, OpenGL and Vulkan look for all pairs of one set.
    uint64_t kept;
    uint64_t kept_version;
    psv_buffer moved;     // empty, or moved_count u32: indices of boxes, in any order, also more than once
    uint64_t moved_count; // on the CPU an index that is not below count is PSV_ERROR_ARGUMENT, and nothing is changed
    // Boxes are widened by `margin` on all sides, and the pairs of the widened boxes are kept. They are tested again in
    // each frame until a box has left its widened box, or has other flags, another filter or another world. Only speed
    // depends on the margin; pairs are exact. A third of a box serves well where boxes take many frames for that
    // distance. With `kept` too, a frame in which few boxes move costs what these cost, and margins serve the others.
    // 0 (default): none. Finite, not negative. Needs def.margins. No effect between two sets of which b is kept.
    float margin;
    psv_buffer margins; // empty, or count floats, of each box in place of `margin`; not above 0: none for this box
} psv_box_set;

// Alignment: count_buffer 8 bytes, flags 1, all other parts 4.

// View of `count` boxes of `stride` bytes (sizeof(psv_aabb) for a plain array).
psv_box_set psv_boxes_of(psv_buffer boxes, uint32_t stride, uint64_t count);

// View of two arrays, e.g. of float3 or float4 corners.
psv_box_set psv_boxes_of_arrays(psv_buffer min, uint32_t min_stride, psv_buffer max, uint32_t max_stride,
                                uint64_t count);

// View of `count` boxes of `stride` bytes in double precision (sizeof(psv_aabb64) for a plain array).
psv_box_set psv_boxes64_of(psv_buffer boxes, uint32_t stride, uint64_t count);

typedef struct psv_pair_finder psv_pair_finder;

typedef struct psv_pair_finder_def {
    uint32_t cookie; // set by psv_default_pair_finder_def
    // "brute", "sap3", "sweep", "rows", "grid", "lbvh" or "auto" (default). On CUDA "auto" is `rows`, which goes by a
    // tree in the same call where its sweep would cost more; the device decides that, in a captured graph too. On the
    // CPU "auto" is `rows` too, `lbvh` where `rows` would take longer, and `brute` for few boxes. On OpenGL, with
    // max_boxes from 16,384 to 16,777,216, it tries `lbvh` for a frame where `rows` takes long, and keeps the faster
    // method until the boxes change; that takes the memory of both.
    const char *method;
    // "cells" (default): the fastest way, by the method's own cells where it has them (`rows` on CUDA), otherwise by
    // the "radix" sorter. A sorter's name (pairsieve/sort.h): that sorter. "auto": cells or the calibrated sorter. Both
    // names are read during creation only, and must be known even if the method sorts nothing
    const char *sort_method;
    uint64_t max_boxes; // most boxes of any call (of both sets together for psv_find_pairs_between), at most 2^31
    uint64_t max_pairs; // room of the pair buffer at creation; 0 (default): 8 pairs a box
    bool grow_pairs;    // when it is too small: enlarge it and repeat the frame (the call then Blocks); default false
    bool sort_output;   // pairs in ascending (a, b) order: the same bytes on every run and backend; default false
    bool events;        // keep the previous frame's pairs for psv_pair_events, whose lists are in order; default false
    uint32_t world_count;  // worlds that box sets may name; 0 and 1 (default): one world
    bool ids;              // box sets may have ids; default false
    bool doubles;          // box sets may have double precision: 24 bytes more a box; default false
    uint64_t max_excluded; // most of psv_pair_rules.excluded, 18 to 36 bytes each, and in finders of less than 2^21
                           // boxes 16 a box on CUDA, 16 or 32 on the CPU; at most 2^31
    uint64_t max_kept; // most boxes of psv_box_set.kept, at most max_boxes; default 0. About 110 bytes each, and 8 more
                       // a pair; on the CPU 125 bytes for each of max_boxes, and 24 to 40 more a pair
    bool margins; // box sets may have margins: on the CPU 76 bytes more a box, and two more lists of pairs; on CUDA and
                  // OpenGL they change nothing (on CUDA such a test takes about as long as a search); default false
    bool count_worlds;    // pairs of each world are counted, see psv_world_pair_buffer; default false
    uint64_t world_pairs; // room of each world: no world takes more of the pair buffer; 0 (default): worlds share it as
                          // they come. Counts worlds too
} psv_pair_finder_def;

psv_pair_finder_def psv_default_pair_finder_def(void);

// Method names of a backend, "auto" not counted. NULL past the end.
const char *psv_broad_phase_name(psv_backend backend, uint32_t index);
const char *psv_broad_phase_description(psv_backend backend, const char *method); // one line; NULL: unknown name

// What def.sort_method may name, "auto" not counted: "cells", then the sorters. NULL past the end.
const char *psv_pair_sort_name(psv_backend backend, uint32_t index);

// The sorter that serves where a method has no cells of its own: "radix" for "cells", else the name itself.
const char *psv_pair_sorter_name(const char *sort_method);

// Bytes of backend memory that a finder of this def takes, the pair buffer included; needs no device. 0: def not valid.
uint64_t psv_pair_finder_bytes(psv_backend backend, const psv_pair_finder_def *def);

// The same memory by part, in bytes.
typedef struct psv_pair_finder_parts {
    uint64_t methods;    // work memory of the method; of all methods that "auto" chooses between
    uint64_t pairs;      // the pair buffer
    uint64_t order;      // for def.sort_output, and for def.events where these need pairs in order
    uint64_t events;     // def.events
    uint64_t rules;      // def.max_excluded, def.doubles, counts of worlds
    uint64_t kept_boxes; // def.max_kept
    uint64_t margins;    // def.margins
    uint64_t results;    // counts and the list of bad boxes
    uint64_t total;      // psv_pair_finder_bytes
} psv_pair_finder_parts;

// Needs no device. Errors: those of psv_create_pair_finder for the def, in psv_last_error(NULL); *parts is zero then.
psv_status psv_pair_finder_memory(psv_backend backend, const psv_pair_finder_def *def, psv_pair_finder_parts *parts);

// Errors: PSV_ERROR_ARGUMENT, PSV_ERROR_UNSUPPORTED (unknown method or sort_method; the sentence lists the known ones),
// PSV_ERROR_MEMORY (with the bytes needed), PSV_ERROR_DEVICE. Blocks.
psv_status psv_create_pair_finder(psv_context *context, const psv_pair_finder_def *def, psv_pair_finder **finder);
void psv_destroy_pair_finder(psv_pair_finder *finder); // NULL is allowed. Blocks

// What else decides about pairs, beside a box's own flags, filter, world and owner.
typedef struct psv_pair_rules {
    uint32_t cookie;         // set by psv_default_pair_rules
    psv_buffer layer_matrix; // empty, or PSV_LAYERS u32: a box of layer i and one of layer j pair only when bit j of
                             // word i and bit i of word j are set
    psv_buffer excluded;     // empty, or psv_pair that are never reported (joints, neighbours of a mesh), named as they
                             // would be reported, by id where sets have ids; in any order
    uint64_t excluded_count; // at most def.max_excluded
} psv_pair_rules;

psv_pair_rules psv_default_pair_rules(void);

// Sets the rules of this finder from the next find call on; they replace the previous rules. NULL: no rules. The memory
// is read by this call (on CUDA: on the stream) and may change afterwards. Asynchronous on CUDA, can be captured.
// Errors: PSV_ERROR_ARGUMENT (no cookie, a buffer NULL, misaligned or too small), PSV_ERROR_CAPACITY (excluded_count
// over def.max_excluded), PSV_ERROR_DEVICE.
psv_status psv_set_pair_rules(psv_pair_finder *finder, const psv_pair_rules *rules);

// All overlapping pairs of one set. Asynchronous on CUDA (unless grow_pairs is set): results stay on the device until
// they are asked for. On the CPU, and with grow_pairs, PSV_ERROR_CAPACITY comes from this call; otherwise from
// psv_read_pairs and psv_finish_pairs. The count is exact in any case and nothing is written past the buffer.
// Other errors: PSV_ERROR_ARGUMENT (a part of the view is NULL, misaligned or smaller than count asks for, or a stride
// cannot be used), PSV_ERROR_CAPACITY (count over def.max_boxes), PSV_ERROR_MEMORY (growth), PSV_ERROR_UNSUPPORTED
// (growth, or kept boxes that are not sorted yet, while the stream is captured), PSV_ERROR_DEVICE. With no
// boxes there are no pairs. Can be captured in a CUDA graph unless grow_pairs is set.
psv_status psv_find_pairs(psv_pair_finder *finder, const psv_box_set *boxes);

// All overlapping pairs (a of the first set, b of the second). Filters and worlds apply across the sets; two static
// boxes do not pair here either. "brute" tests a.count times b.count pairs. Errors and blocking as psv_find_pairs; the
// counts together are within def.max_boxes.
psv_status psv_find_pairs_between(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b);

// The calls below that read a frame give PSV_ERROR_ARGUMENT when there is none yet.

// Waits for the last frame; *count (may be NULL) is its exact pair count. PSV_ERROR_CAPACITY when the pair buffer was
// too small: the sentence gives the size needed, and the buffer holds the first max_pairs pairs. Blocks.
psv_status psv_finish_pairs(psv_pair_finder *finder, uint64_t *count);

// Copies the pairs of the last frame to host memory. *count (may be NULL) gets the exact count, also when `capacity` is
// too small (PSV_ERROR_CAPACITY; the first `capacity` pairs are copied). pairs may be NULL when capacity is 0. Blocks.
psv_status psv_read_pairs(psv_pair_finder *finder, psv_pair *pairs, uint64_t capacity, uint64_t *count);

// The last frame's results in place: an array of psv_pair, and one uint64_t with the exact count, which may exceed the
// room. Valid until the next find call, growth, or destruction. Read-only for the caller: pairs of kept boxes remain in
// the array from frame to frame.
psv_buffer psv_pair_buffer(const psv_pair_finder *finder);
psv_buffer psv_pair_count_buffer(const psv_pair_finder *finder);

// The last frame's exact number of pairs of each world: def.world_count uint64_t in backend memory. Empty without
// def.count_worlds and def.world_pairs. Valid as long as the pair buffer. With def.world_pairs the pair buffer holds at
// most that many pairs of each world, and its count is the number of pairs it holds. A world with more pairs is
// reported as PSV_ERROR_CAPACITY with the size needed. The pairs of all other worlds are complete; which pairs of the
// crowded world are reported, and therefore its events, is not defined.
psv_buffer psv_world_pair_buffer(const psv_pair_finder *finder);

// Begin and end lists of the last frame against the frame before it, left in backend memory, in ascending order.
typedef struct psv_pair_event_lists {
    psv_buffer begin;       // psv_pair: pairs of this frame that the previous one did not have
    psv_buffer end;         // psv_pair: pairs of the previous frame that are gone
    psv_buffer begin_count; // one uint64_t
    psv_buffer end_count;   // one uint64_t
} psv_pair_event_lists;

// Needs def.events (else PSV_ERROR_ARGUMENT). Call once per frame after the find call. After an overflow the lists are
// empty and this call, or the next one that Blocks, reports PSV_ERROR_CAPACITY; the frame then does not become the
// previous one.
psv_status psv_pair_events(psv_pair_finder *finder, psv_pair_event_lists *lists);

// The same, copied to host memory. Either array may be NULL with capacity 0, either count NULL. PSV_ERROR_CAPACITY also
// when an array is too small: the counts are exact, and the array holds the first `capacity` events. Blocks.
psv_status psv_read_pair_events(psv_pair_finder *finder, psv_pair *begin, uint64_t begin_capacity,
                                uint64_t *begin_count, psv_pair *end, uint64_t end_capacity, uint64_t *end_count);

typedef struct psv_pair_statistics {
    uint64_t boxes;         // boxes that took part
    uint64_t bad_boxes;     // left out: NaN or min > max
    uint64_t huge_boxes;    // infinite or huge: tested against all
    uint64_t pairs;         // exact, also of worlds that have more than def.world_pairs
    uint64_t candidates;    // box pairs tested, also by a sweep given up on the CPU; 0 where the method does not count
    uint64_t rows;          // rows, cells or tree nodes
    uint64_t longest_range; // boxes in the longest sweep range or cell
    uint32_t levels;        // size levels
    uint32_t key_bits;      // bits sorted
    uint32_t sort_passes;   // digit passes run
    uint32_t sort_passes_skipped;
    const char *method;      // that ran: never "auto"
    const char *sort_method; // that sorted: "cells" where the method has cells of its own, else a sorter's name
    const char
        *route;       // the way that the method took, of several (docs/how/rows.md); the method's name where it has one
    const char *veto; // why it did not take a faster one ("filters", "sizes", ...), or "none"
} psv_pair_statistics;

psv_status psv_read_pair_statistics(psv_pair_finder *finder, psv_pair_statistics *statistics); // Blocks

// Writes to `text` what the last frame did, in plain words, as lines «subject: sentence»: boxes, method, route and why
// it was not a faster one, plan, work, pairs, memory by part, and what the next frame will do. Lines may be added in
// later versions. `capacity` includes the final 0; *needed (may be NULL) is the capacity that the whole text needs.
// PSV_ERROR_CAPACITY: the text is cut. Blocks.
psv_status psv_explain_frame(psv_pair_finder *finder, char *text, uint64_t capacity, uint64_t *needed);

// Indices (not ids) of the bad boxes of the last frame, ascending. After psv_find_pairs_between the bad boxes of a come
// first, then those of b as a.count + index. *count (may be NULL) is exact. PSV_ERROR_CAPACITY when the array is too
// small: it holds the smallest `capacity` indices. Blocks.
psv_status psv_read_bad_boxes(psv_pair_finder *finder, uint32_t *indices, uint64_t capacity, uint64_t *count);

// --- self-check ------------------------------------------------------------------------------------------------------

#define PSV_MOST_SAMPLES 256u

typedef struct psv_pair_check {
    uint64_t boxes;   // that were compared with all others
    uint64_t pairs;   // that this gave; a pair of two of these boxes counts twice
    uint64_t missing; // of these pairs: not in the list
    uint64_t extra;   // entries of the list with one of these boxes that are no pair, or that the list has before
    psv_pair first_missing, first_extra; // the least ones, by the names that are reported; (0, 0): none
    double ms;                           // that the check took; that it waited for the frame does not count
} psv_pair_check;

// Tests `samples` boxes (1 to PSV_MOST_SAMPLES; of two sets half of each) of the last frame with all others, and
// compares the result with the frame's pairs. `a` and `b` (NULL: psv_find_pairs) are the sets of the last find call,
// with the same content, and the rules are those of that call. So a moved box that was not named in `moved` is noticed.
// Each call takes other boxes; samples from the number of boxes on are all of them. A box of a world with more pairs
// than def.world_pairs is not looked at. The cost is a read of all boxes and pairs, and samples times boxes tests.
// OpenGL copies all of it to the host. PSV_OK also where pairs differ: see `missing` and `extra`. Errors:
// PSV_ERROR_ARGUMENT, PSV_ERROR_CAPACITY (the last frame overflowed), PSV_ERROR_MEMORY (to name what differs),
// PSV_ERROR_UNSUPPORTED (the stream is captured), PSV_ERROR_DEVICE. Blocks.
psv_status psv_check_pairs(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b, uint32_t samples,
                           psv_pair_check *check);

// --- bounds ----------------------------------------------------------------------------------------------------------

typedef enum psv_bounds_shape_type {
    PSV_BOUNDS_SPHERE = 0,  // size[0]: radius
    PSV_BOUNDS_BOX = 1,     // size[0..2]: half extents
    PSV_BOUNDS_CAPSULE = 2, // size[0]: radius, size[1]: half length along local y
    PSV_BOUNDS_POINTS = 3 // points [first_point, first_point + point_count) of psv_bounds_input.points: a convex set or
                          // a mesh's vertices; many shapes and instances may share one range
} psv_bounds_shape_type;

typedef struct psv_bounds_shape {
    uint32_t type; // psv_bounds_shape_type
    uint32_t first_point;
    uint32_t point_count;
    float size[3];
} psv_bounds_shape;

typedef struct psv_pose {
    float position[3];
    float rotation[4]; // unit quaternion x, y, z, w
} psv_pose;

typedef struct psv_bounds_input {
    psv_buffer shapes; // psv_bounds_shape
    uint32_t shape_count;
    psv_buffer points; // float[3] each, or empty
    uint64_t point_count;
    psv_buffer shape_index; // u32 per instance, or empty: instance i has shape i
    psv_buffer poses;       // psv_pose per instance, world from shape
    psv_buffer end_poses;   // empty, or psv_pose per instance: boxes cover both poses (swept)
    uint64_t instance_count;
    float margin; // added on every side, >= 0, in the scene's length unit
} psv_bounds_input;

// Writes one psv_aabb per instance to `boxes`. Asynchronous on CUDA, can be captured. Errors: PSV_ERROR_ARGUMENT (a
// buffer too small, misaligned or NULL, margin negative or not finite), PSV_ERROR_CAPACITY (over 2^31 instances or
// 2^32-1 points). Buffers are aligned to 4 bytes. An instance of a shape index or point range outside its array gets a
// bad box (min > max). Points are reduced in parallel (min and max); long ranges take a block each on CUDA.
psv_status psv_compute_bounds(psv_context *context, const psv_bounds_input *input, psv_buffer boxes);

#ifdef __cplusplus
}
#endif
#endif
