// Which triangles of a mesh lie beside each other, and which of its edges and corners stand out. The narrow phase has
// to know it so that edges inside a smooth surface push nowhere. Corners at equal places are one, whatever the mesh's
// indices say; of triangles on the same three corners only the first has neighbours of its own.
#include "../world/world.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MOST_SHARED 16 // triangles at one edge; more have no neighbours there

// Two corners of a triangle, in the order of their places, and which of its edges that is.
typedef struct half_edge {
    uint32_t low, high, triangle, edge;
} half_edge;

// What is known of the edges that stand out at a place.
typedef struct spoke_count {
    uint32_t count;
    double first[3];
    bool straight; // the second one goes on where the first one ends
} spoke_count;

typedef struct linker {
    psvi_triangle *triangles;
    uint32_t count;
    float weld;
    bool one_sided;
    uint32_t *corner; // 3 per triangle: the number of the place
    uint32_t *table;  // hash table of corners, by place
    half_edge *edges;
    bool *acts; // 3 per triangle
    spoke_count *spokes;
} linker;

static const float *place(const linker *l, uint32_t corner) { return l->triangles[corner / 3].p[corner % 3]; }

static bool same_place(const float *a, const float *b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static uint64_t hash_place(const float *p) {
    uint64_t hash = 0;
    for (int k = 0; k < 3; ++k) {
        const float x = p[k] + 0.0f; // -0 becomes 0
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = psvi_mix64(hash ^ bits);
    }
    return hash;
}

static void weld_corners(linker *l) {
    const uint64_t corners = 3ull * l->count, mask = psvi_power_of_two(2 * corners) - 1;
    memset(l->table, 0xff, (mask + 1) * sizeof *l->table);
    for (uint32_t i = 0; i < corners; ++i) {
        uint64_t at = hash_place(place(l, i)) & mask;
        while (l->table[at] != NONE && !same_place(place(l, l->table[at]), place(l, i)))
            at = (at + 1) & mask;
        if (l->table[at] == NONE) l->table[at] = i;
        l->corner[i] = l->table[at];
    }
}

static int compare_edges(const void *a, const void *b) {
    const half_edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->triangle < y->triangle ? -1 : x->triangle > y->triangle;
}

// The corner across from edge k, as a number of a place.
static uint32_t apex(const linker *l, const half_edge *e) { return l->corner[3 * e->triangle + (e->edge + 2) % 3]; }

// Joins the triangles at one edge where there are two, not counting those that lie on another one.
static void link_run(linker *l, const half_edge *run, uint32_t count) {
    const half_edge *pair[2] = {0};
    uint32_t found = 0;
    if (count > MOST_SHARED) return;
    for (uint32_t i = 0; i < count; ++i) {
        bool again = false;
        for (uint32_t k = 0; k < i && !again; ++k)
            again = apex(l, &run[i]) == apex(l, &run[k]);
        if (again) continue;
        if (found < 2) pair[found] = &run[i];
        ++found;
    }
    if (found != 2) return;
    for (uint32_t i = 0; i < count; ++i) {
        const half_edge *other = apex(l, &run[i]) == apex(l, pair[0]) ? pair[1] : pair[0];
        l->triangles[run[i].triangle].next[run[i].edge] = other->triangle;
    }
}

static void link_triangles(linker *l) {
    uint64_t edges = 0;
    for (uint32_t i = 0; i < l->count; ++i) {
        const uint32_t *c = &l->corner[3ull * i];
        for (uint32_t k = 0; k < 3; ++k)
            l->triangles[i].next[k] = PSVI_NO_FACET;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t a = c[k], b = c[(k + 1) % 3];
            l->edges[edges++] = (half_edge){a < b ? a : b, a < b ? b : a, i, k};
        }
    }
    qsort(l->edges, edges, sizeof *l->edges, compare_edges);
    for (uint64_t first = 0, end; first < edges; first = end) {
        for (end = first + 1;
             end < edges && l->edges[end].low == l->edges[first].low && l->edges[end].high == l->edges[first].high;)
            ++end;
        link_run(l, &l->edges[first], (uint32_t)(end - first));
    }
}

// Whether the surface bends at edge k, and outward where it has one side, or ends there. In double: triangles may be
// small and far from the origin.
static bool stands_out(const linker *l, uint32_t triangle, uint32_t k) {
    const psvi_triangle *t = &l->triangles[triangle];
    const uint32_t other = t->next[k];
    if (other == PSVI_NO_FACET) return true;
    const float *a = t->p[k], *b = t->p[(k + 1) % 3], *apex_t = t->p[(k + 2) % 3], *apex_o = NULL;
    for (int i = 0; i < 3; ++i)
        if (!same_place(l->triangles[other].p[i], a) && !same_place(l->triangles[other].p[i], b))
            apex_o = l->triangles[other].p[i];
    if (apex_o == NULL) return true;
    double e[3], s[3], o[3], n[3], m[3], nn = 0, mm = 0, nm = 0;
    for (int i = 0; i < 3; ++i) {
        e[i] = (double)b[i] - (double)a[i];
        s[i] = (double)apex_t[i] - (double)a[i];
        o[i] = (double)a[i] - (double)apex_o[i];
    }
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, q = (i + 2) % 3;
        n[i] = e[j] * s[q] - e[q] * s[j];
        m[i] = e[j] * o[q] - e[q] * o[j];
        nn += n[i] * n[i];
        mm += m[i] * m[i];
        nm += n[i] * m[i];
    }
    if (l->one_sided && n[0] * o[0] + n[1] * o[1] + n[2] * o[2] < 0) return false; // the other triangle rises
    return !(nm >= cos((double)l->weld) * sqrt(nn * mm));
}

static void count_spoke(linker *l, uint32_t at, uint32_t to) {
    spoke_count *s = &l->spokes[at];
    const float *a = place(l, at), *b = place(l, to);
    double d[3], along = 0, squared = 0, first = 0;
    for (int k = 0; k < 3; ++k) {
        d[k] = (double)b[k] - (double)a[k];
        along += d[k] * s->first[k];
        squared += d[k] * d[k];
        first += s->first[k] * s->first[k];
    }
    if (s->count == 0) memcpy(s->first, d, sizeof d);
    if (s->count == 1) s->straight = along < -0.99999 * sqrt(squared * first);
    ++s->count;
}

// Marks the edges that stand out and the corners in which they meet, each at one triangle.
static void mark_edges(linker *l) {
    for (uint32_t i = 0; i < l->count; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t other = l->triangles[i].next[k];
            const uint32_t a = l->corner[3ull * i + k], b = l->corner[3ull * i + (k + 1) % 3];
            if (a == b || (other != PSVI_NO_FACET && other < i) || !stands_out(l, i, k)) continue;
            count_spoke(l, a, b);
            count_spoke(l, b, a);
            l->acts[3ull * i + k] = true;
        }
    for (uint32_t i = 0; i < 3 * l->count; ++i) {
        uint32_t *next = &l->triangles[i / 3].next[i % 3];
        spoke_count *s = &l->spokes[l->corner[i]];
        if (l->acts[i]) *next |= PSVI_EDGE_ACTS;
        if (s->count == 1 || s->count > 2 || (s->count == 2 && !s->straight)) *next |= PSVI_CORNER_ACTS;
        s->count = 0; // the first triangle has it
    }
}

bool psvi_link_mesh(psvi_triangle *triangles, uint32_t count, float weld, bool one_sided) {
    const uint64_t corners = 3ull * count;
    linker l = {.triangles = triangles, .count = count, .weld = weld, .one_sided = one_sided};
    l.corner = malloc(corners * sizeof *l.corner);
    l.table = malloc(psvi_power_of_two(2 * corners) * sizeof *l.table);
    l.edges = malloc(corners * sizeof *l.edges);
    l.acts = calloc(corners, sizeof *l.acts);
    l.spokes = calloc(corners, sizeof *l.spokes);
    const bool room = l.corner != NULL && l.table != NULL && l.edges != NULL && l.acts != NULL && l.spokes != NULL;
    if (room) {
        weld_corners(&l);
        link_triangles(&l);
        mark_edges(&l);
    }
    free(l.corner);
    free(l.table);
    free(l.edges);
    free(l.acts);
    free(l.spokes);
    return room;
}
