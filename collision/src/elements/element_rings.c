#include "element_rings.h"

#include <stdlib.h>

static int compare_indices(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Sorts a list and takes out what stands twice, and `self`. The number that is left.
static uint32_t sort_list(uint32_t *list, uint64_t count, uint32_t self) {
    uint32_t kept = 0;
    qsort(list, count, sizeof *list, compare_indices);
    for (uint64_t i = 0; i < count; ++i)
        if (list[i] != self && (kept == 0 || list[kept - 1] != list[i])) list[kept++] = list[i];
    return kept;
}

static void add_end(uint64_t *places, uint32_t *near, uint32_t of, uint32_t other) {
    if (near != NULL) near[places[of]] = other;
    places[of]++;
}

static void add_side(uint64_t *places, uint32_t *near, uint32_t a, uint32_t b) {
    add_end(places, near, a, b);
    add_end(places, near, b, a);
}

// Counts the sides of each vertex, or writes them too.
static void add_sides(uint64_t *places, uint32_t *near, const uint32_t *edge_vertices, uint64_t edges,
                      const uint32_t *face_vertices, uint64_t faces) {
    for (uint64_t e = 0; e < edges; ++e)
        add_side(places, near, edge_vertices[2 * e], edge_vertices[2 * e + 1]);
    for (uint64_t f = 0; f < faces; ++f)
        for (uint32_t i = 0; i < 3; ++i)
            add_side(places, near, face_vertices[3 * f + i], face_vertices[3 * f + (i + 1) % 3]);
}

// From counts to the places where lists begin; one more for the end.
static uint64_t sum_places(uint64_t *places, uint64_t vertices) {
    uint64_t sum = 0;
    for (uint64_t v = 0; v < vertices; ++v) {
        const uint64_t count = places[v];
        places[v] = sum;
        sum += count;
    }
    return sum;
}

// Neighbours by one edge.
static bool make_first(psvi_rings *rings, uint64_t vertices, const uint32_t *edge_vertices, uint64_t edges,
                       const uint32_t *face_vertices, uint64_t faces) {
    uint64_t *places = calloc(vertices + 1, sizeof *places);
    rings->begins = calloc(vertices + 1, sizeof *rings->begins);
    if (places != NULL) {
        add_sides(places, NULL, edge_vertices, edges, face_vertices, faces);
        rings->near = malloc((sum_places(places, vertices) + 1) * sizeof *rings->near);
    }
    const bool enough = places != NULL && rings->begins != NULL && rings->near != NULL;
    if (enough) {
        add_sides(places, rings->near, edge_vertices, edges, face_vertices, faces);
        for (uint64_t v = 0; v < vertices; ++v) { // places[v] is now where the list of v ends
            const uint64_t begin = v == 0 ? 0 : places[v - 1];
            const uint32_t kept = sort_list(rings->near + begin, places[v] - begin, (uint32_t)v);
            for (uint32_t i = 0; i < kept; ++i)
                rings->near[rings->count + i] = rings->near[begin + i];
            rings->begins[v] = (uint32_t)rings->count;
            rings->count += kept;
        }
        rings->begins[vertices] = (uint32_t)rings->count;
    }
    free(places);
    return enough && rings->count <= UINT32_MAX;
}

// Neighbours by two edges or one, of all vertices, into `list`; sizes only where that is NULL.
static uint64_t take_second(const psvi_rings *first, uint32_t vertex, uint32_t *list) {
    uint64_t count = 0;
    for (uint32_t i = first->begins[vertex]; i < first->begins[vertex + 1]; ++i) {
        const uint32_t near = first->near[i];
        if (list != NULL) list[count] = near;
        ++count;
        for (uint32_t k = first->begins[near]; k < first->begins[near + 1]; ++k, ++count)
            if (list != NULL) list[count] = first->near[k];
    }
    return count;
}

static bool make_second(psvi_rings *rings, const psvi_rings *first, uint64_t vertices) {
    uint64_t most = 0, all = 0;
    for (uint64_t v = 0; v < vertices; ++v) {
        const uint64_t count = take_second(first, (uint32_t)v, NULL);
        most = count > most ? count : most;
        all += count;
    }
    uint32_t *list = malloc((most + 1) * sizeof *list);
    rings->begins = calloc(vertices + 1, sizeof *rings->begins);
    rings->near = malloc((all + 1) * sizeof *rings->near);
    const bool enough = list != NULL && rings->begins != NULL && rings->near != NULL;
    for (uint64_t v = 0; v < vertices && enough; ++v) {
        const uint64_t count = take_second(first, (uint32_t)v, list);
        const uint32_t kept = sort_list(list, count, (uint32_t)v);
        for (uint32_t i = 0; i < kept; ++i)
            rings->near[rings->count++] = list[i];
        rings->begins[v + 1] = (uint32_t)rings->count;
    }
    free(list);
    return enough && rings->count <= UINT32_MAX;
}

bool psvi_make_rings(psvi_rings *rings, uint32_t steps, uint64_t vertices, const uint32_t *edge_vertices,
                     uint64_t edges, const uint32_t *face_vertices, uint64_t faces) {
    psvi_rings first = {0};
    *rings = (psvi_rings){0};
    bool enough = make_first(&first, vertices, edge_vertices, edges, face_vertices, faces);
    if (enough && steps == 1) {
        *rings = first;
        return true;
    }
    enough = enough && make_second(rings, &first, vertices);
    psvi_free_rings(&first);
    if (!enough) psvi_free_rings(rings);
    return enough;
}

void psvi_free_rings(psvi_rings *rings) {
    free(rings->begins);
    free(rings->near);
    *rings = (psvi_rings){0};
}
