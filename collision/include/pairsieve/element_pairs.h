// pairsieve collision: pairs of elements of meshes, for cloth, contact potentials (IPC) and cutting. From the positions
// of vertices at one or two times, the edges and the faces come the pairs of elements whose boxes overlap: edges with
// edges, vertices with faces, faces with faces, edges with faces. Elements that share a vertex are left out.
//
// A box covers its element at both times and `radius` around it. Boxes are float. What is double, or has a radius, is
// rounded outwards: no pair whose exact boxes touch is lost. Boxes are closed, touching counts.
#ifndef PAIRSIEVE_ELEMENT_PAIRS_H
#define PAIRSIEVE_ELEMENT_PAIRS_H

#include "pairsieve/collision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum psv_element_kind {
    PSV_EDGE_EDGE = 0,   // psv_pair.a < psv_pair.b, both edges
    PSV_VERTEX_FACE = 1, // a: vertex, b: face
    PSV_FACE_FACE = 2,   // a < b, both faces
    PSV_EDGE_FACE = 3,   // a: edge, b: face
    PSV_ELEMENT_KINDS = 4
} psv_element_kind;

const char *psv_element_kind_name(psv_element_kind kind); // "edge-edge", ...

typedef struct psv_element_finder psv_element_finder;

typedef struct psv_element_finder_def {
    uint32_t cookie;    // set by psv_default_element_finder_def
    const char *method; // broad phase, see psv_pair_finder_def.method; default "auto"
    uint64_t max_vertices, max_edges, max_faces;
    // Room for pairs of each kind, those that share a vertex included; 0 (default): the kind is not looked for.
    uint64_t max_pairs[PSV_ELEMENT_KINDS];
    bool grow_pairs; // enlarge the room where it is too small and repeat (the call then Blocks); default false
    bool rows;      // pairs ascend by (a, b), and psv_element_row_buffer tells where each a begins (CSR); default false
    bool bodies;    // elements may have bodies; default false
    uint32_t rings; // elements are left out too when so many edges or fewer lie between a vertex of one and a vertex of
                    // the other: 0 (default: only those that share a vertex), 1 (one-ring) or 2 (two-ring)
} psv_element_finder_def;

psv_element_finder_def psv_default_element_finder_def(void);

// Errors: PSV_ERROR_ARGUMENT (a field out of range, no kind with room), PSV_ERROR_UNSUPPORTED (method; the OpenGL
// backend), PSV_ERROR_MEMORY, PSV_ERROR_DEVICE. Blocks.
psv_status psv_create_element_finder(psv_context *context, const psv_element_finder_def *def,
                                     psv_element_finder **finder);
void psv_destroy_element_finder(psv_element_finder *finder); // NULL is allowed. Blocks

// What the meshes are made of, in memory of the context's backend. Vertices are numbered over all meshes.
typedef struct psv_elements {
    uint64_t vertices, edges, faces;
    psv_buffer edge_vertices; // 2 u32 an edge; may be empty without edges
    psv_buffer face_vertices; // 3 u32 a face; may be empty without faces
    psv_buffer bodies; // empty, or a u32 for each vertex: the body it belongs to; an element's is that of its first
                       // vertex. Needs def.bodies
    psv_buffer body_filters; // empty, or psv_box_filter of each body: which bodies pair
    uint64_t body_count;     // of body_filters
    bool apart;              // elements of one body never pair; needs `bodies`
} psv_elements;

// Sets the elements. edge_vertices and face_vertices are kept by reference and must stay; all other memory is read now.
// Errors: PSV_ERROR_ARGUMENT (a buffer NULL, misaligned or too small; an index of a vertex or body that is not there:
// the sentence names the element), PSV_ERROR_CAPACITY (more than def allows), PSV_ERROR_MEMORY, PSV_ERROR_DEVICE.
// After an error there are no elements. Blocks.
psv_status psv_set_elements(psv_element_finder *finder, const psv_elements *elements);

// Positions of all vertices.
typedef struct psv_element_positions {
    psv_buffer start; // x, y, z of each vertex
    psv_buffer end;   // empty, or the same at the end of the step
    uint32_t stride;  // bytes from vertex to vertex; 0: 12 for floats, 24 for doubles. A multiple of 4 (8)
    bool doubles;     // of both
    double radius;    // added on all sides, 0 or more
} psv_element_positions;

// Finds the pairs of all kinds. Asynchronous on CUDA unless def.grow_pairs is set, and can be captured in a graph then.
// An element with a NaN pairs with nothing. Errors: PSV_ERROR_ARGUMENT (no elements set, a buffer NULL, misaligned or
// too small, radius negative or not finite), PSV_ERROR_CAPACITY (on the CPU and with grow_pairs: too little room), and
// those of psv_find_pairs.
psv_status psv_find_element_pairs(psv_element_finder *finder, const psv_element_positions *positions);

// Results of the last call, where they are. Valid until the next call or growth. Empty for a kind without room.
psv_buffer psv_element_pair_buffer(const psv_element_finder *finder, psv_element_kind kind);  // psv_pair
psv_buffer psv_element_count_buffer(const psv_element_finder *finder, psv_element_kind kind); // one u64
// With def.rows, u32 for each first element and one more: its pairs are those from offsets[a] to offsets[a + 1].
psv_buffer psv_element_row_buffer(const psv_element_finder *finder, psv_element_kind kind);

// Copies the pairs of a kind to host memory. *count (may be NULL) is their number. PSV_ERROR_CAPACITY when `capacity`
// is too small (the first ones are copied), or when max_pairs was (the sentence says what is needed; *count is then of
// those that are there). Blocks.
psv_status psv_read_element_pairs(psv_element_finder *finder, psv_element_kind kind, psv_pair *pairs, uint64_t capacity,
                                  uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
