// What pairs of mesh elements are, by boxes that the processor's rounding modes make and a sweep along x; and meshes to
// try: sheets, loose triangles, and the real ones of the data folder.
#ifndef ELEMENT_ORACLE_H
#define ELEMENT_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "pairsieve/element_pairs.h"

typedef struct oracle_mesh {
    uint32_t vertices, edges, faces;
    double *positions[2]; // 3 a vertex, at both times
    bool floats;          // positions are meant as floats
    uint32_t *edge_vertices, *face_vertices;
    uint32_t *bodies; // of vertices
    uint32_t body_count;
} oracle_mesh;

// Pairs in ascending order; of large meshes only how many, and a sum over all of them that does not depend on their
// order.
typedef struct oracle_pairs {
    psv_pair *pairs;
    uint64_t count, sum;
} oracle_pairs;

uint64_t oracle_pair_sum(psv_pair pair); // one pair's part of the sum

typedef struct oracle_rules {
    double radius;
    uint32_t rings;
    bool shared; // neighbours are in too
    bool two_times;
    const psv_box_filter *filters; // of bodies; NULL: all pair
    bool apart;                    // elements of one body never pair
} oracle_rules;

// `list`: the pairs are wanted, not only their number and sum.
oracle_pairs oracle_find(const oracle_mesh *mesh, psv_element_kind kind, const oracle_rules *rules, bool list);

// A wavy sheet of side * side vertices that folds over itself, or `faces` triangles that share vertices at random.
oracle_mesh make_sheet(uint32_t side, uint64_t seed);
oracle_mesh make_soup(uint32_t vertices, uint32_t faces, uint64_t seed);

// Edges are the distinct sides of the faces. False where the files are not there.
bool load_meshes(const char *first, const char *second, oracle_mesh *mesh);
void free_mesh(oracle_mesh *mesh);

#endif
