// Convex hulls of points: quickhull in double (Barber, Dobkin, Huhdanpaa 1996), which looks through the points once a
// face. Then triangles of one plane are joined to polygons, and the polyhedron is integrated.
//
// Every point that is taken is a corner. Of points that are as far out, to the tolerance, the one furthest from the
// middle is taken. Over a flat piece that distance is greatest at a corner. So no vertex lies within an edge or a face,
// and a hull of at most 64 vertices never has more on the way.
#include "hull.h"

#include <float.h>
#include <string.h>

#define MOST_TRIANGLES 256 // of up to 64 vertices there are 124; those taken out are reused

typedef struct d3 {
    double x, y, z;
} d3;

typedef struct triangle {
    uint32_t v[3]; // points, counter-clockwise from outside
    d3 normal;
    double offset;
    bool alive, done; // done: no point is above it
    uint8_t face;     // of the polygons
} triangle;

typedef struct builder {
    const float *points;
    uint32_t count;
    d3 middle;        // about which points are taken, for digits
    double tolerance; // what is nearer to a plane lies in it
    double seen_from; // height from which a point sees a triangle: what it does not see stays beside its own triangles,
                      // which tilt the more the thinner they are, so this is near the rounding of doubles
    triangle triangles[MOST_TRIANGLES];
    uint32_t triangle_count, vertex_count;
} builder;

static d3 d3_sub(d3 a, d3 b) { return (d3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static double d3_dot(d3 a, d3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static d3 d3_cross(d3 a, d3 b) { return (d3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

static d3 point(const builder *b, uint32_t i) {
    const float *p = b->points + 3ull * i;
    return (d3){(double)p[0] - b->middle.x, (double)p[1] - b->middle.y, (double)p[2] - b->middle.z};
}

static double above(const triangle *t, d3 p) { return d3_dot(t->normal, p) - t->offset; }

// The first simplex: how far a point is from what there is of it, a point, a line or a plane.
static double away(const builder *b, const uint32_t *v, int have, d3 p) {
    if (have == 0) return sqrt(d3_dot(p, p));
    const d3 a = point(b, v[0]), d = d3_sub(p, a);
    if (have == 1) return sqrt(d3_dot(d, d));
    const d3 e = d3_sub(point(b, v[1]), a), across = d3_cross(e, d);
    if (have == 2) return sqrt(d3_dot(across, across) / d3_dot(e, e));
    const d3 n = d3_cross(e, d3_sub(point(b, v[2]), a));
    return fabs(d3_dot(n, d)) / sqrt(d3_dot(n, n));
}

static double score(const builder *b, const triangle *t, const uint32_t *v, int have, d3 p) {
    return t != NULL ? above(t, p) : away(b, v, have, p);
}

// The point furthest above a triangle, or from the simplex; of several the one furthest from the middle.
static uint32_t furthest(const builder *b, const triangle *t, const uint32_t *v, int have, double *distance) {
    double most = -DBL_MAX, out = -1;
    uint32_t best = 0;
    for (uint32_t i = 0; i < b->count; ++i)
        most = fmax(most, score(b, t, v, have, point(b, i)));
    for (uint32_t i = 0; i < b->count; ++i) {
        const d3 p = point(b, i);
        if (score(b, t, v, have, p) < most - b->tolerance || !(d3_dot(p, p) > out)) continue;
        out = d3_dot(p, p);
        best = i;
    }
    *distance = most;
    return best;
}

static bool add_triangle(builder *b, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t place = 0;
    while (place < b->triangle_count && b->triangles[place].alive)
        ++place;
    if (place == MOST_TRIANGLES) return false;
    if (place == b->triangle_count) ++b->triangle_count;
    triangle *t = &b->triangles[place];
    *t = (triangle){.v = {x, y, z}, .alive = true};
    const d3 p = point(b, x), q = point(b, y), r = point(b, z), n = d3_cross(d3_sub(q, p), d3_sub(r, p));
    const double length = sqrt(d3_dot(n, n));
    if (!(length > 0)) return false;
    t->normal = (d3){n.x / length, n.y / length, n.z / length};
    t->offset = (d3_dot(t->normal, p) + d3_dot(t->normal, q) + d3_dot(t->normal, r)) / 3;
    return true;
}

// The living triangle that has the edge from x to y; MOST_TRIANGLES: none.
static uint32_t triangle_with(const builder *b, uint32_t x, uint32_t y) {
    for (uint32_t i = 0; i < b->triangle_count; ++i)
        for (int k = 0; b->triangles[i].alive && k < 3; ++k)
            if (b->triangles[i].v[k] == x && b->triangles[i].v[(k + 1) % 3] == y) return i;
    return MOST_TRIANGLES;
}

// Replaces what point p sees, going on from triangle `first` over edges, by triangles from the rim to p.
static bool add_point(builder *b, uint32_t first, uint32_t p) {
    const d3 at = point(b, p);
    bool seen[MOST_TRIANGLES] = {false};
    uint32_t list[MOST_TRIANGLES], count = 0, rim[MOST_TRIANGLES][2], edges = 0;
    seen[first] = true;
    list[count++] = first;
    for (uint32_t i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            const triangle *t = &b->triangles[list[i]];
            const uint32_t other = triangle_with(b, t->v[(k + 1) % 3], t->v[k]);
            if (other == MOST_TRIANGLES) return false;
            if (seen[other] || !(above(&b->triangles[other], at) > b->seen_from)) continue;
            seen[other] = true;
            list[count++] = other;
        }
    for (uint32_t i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            const triangle *t = &b->triangles[list[i]];
            const uint32_t x = t->v[k], y = t->v[(k + 1) % 3];
            if (seen[triangle_with(b, y, x)]) continue;
            if (edges == MOST_TRIANGLES) return false;
            rim[edges][0] = x;
            rim[edges++][1] = y;
        }
    for (uint32_t i = 0; i < count; ++i)
        b->triangles[list[i]].alive = false;
    for (uint32_t i = 0; i < edges; ++i)
        if (!add_triangle(b, rim[i][0], rim[i][1], p)) return false;
    return true;
}

static const char *make_triangles(builder *b) {
    static const char *const flat[] = {"are all at one place", "are all at one place", "lie on one line",
                                       "lie in one plane, or are thinner than a 2,000th of their length"};
    uint32_t v[4];
    double distance, length = 0;
    for (int have = 0; have < 4; ++have) {
        v[have] = furthest(b, NULL, v, have, &distance);
        if (have == 1) length = distance;
        if (!(distance > fmax(20 * b->tolerance, have >= 2 ? length / 2000 : 0))) return flat[have];
    }
    const d3 p = point(b, v[0]), n = d3_cross(d3_sub(point(b, v[1]), p), d3_sub(point(b, v[2]), p));
    if (d3_dot(n, d3_sub(point(b, v[3]), p)) > 0) { // the fourth is to lie below the first three
        const uint32_t swapped = v[1];
        v[1] = v[2];
        v[2] = swapped;
    }
    bool good = add_triangle(b, v[0], v[1], v[2]) && add_triangle(b, v[0], v[3], v[1]) &&
                add_triangle(b, v[1], v[3], v[2]) && add_triangle(b, v[2], v[3], v[0]);
    b->vertex_count = 4;
    for (uint32_t i = 0; i < b->triangle_count && good; ++i) {
        if (!b->triangles[i].alive || b->triangles[i].done) continue;
        const uint32_t p_new = furthest(b, &b->triangles[i], NULL, 0, &distance);
        if (!(distance > 2 * b->tolerance)) {
            b->triangles[i].done = true;
            continue;
        }
        if (++b->vertex_count > PSVI_HULL_VERTICES) return "have a hull of more than 64 vertices";
        good = add_point(b, i, p_new);
        i = UINT32_MAX; // from the beginning: places are taken again
    }
    return good ? NULL : "make no clean hull: some are too close together for single precision";
}

// Joins neighbours in one plane to the largest triangle of it. Returns the number of faces.
static uint32_t join_triangles(builder *b) {
    uint32_t faces = 0;
    const uint8_t none = UINT8_MAX;
    for (uint32_t i = 0; i < b->triangle_count; ++i)
        b->triangles[i].face = none;
    for (;;) {
        uint32_t seed = MOST_TRIANGLES;
        double most = 0;
        for (uint32_t i = 0; i < b->triangle_count; ++i) {
            const triangle *t = &b->triangles[i];
            if (!t->alive || t->face != none) continue;
            const d3 p = point(b, t->v[0]), n = d3_cross(d3_sub(point(b, t->v[1]), p), d3_sub(point(b, t->v[2]), p));
            if (d3_dot(n, n) <= most) continue;
            most = d3_dot(n, n);
            seed = i;
        }
        if (seed == MOST_TRIANGLES) return faces;
        const triangle *s = &b->triangles[seed];
        b->triangles[seed].face = (uint8_t)faces;
        for (bool grown = true; grown;) {
            grown = false;
            for (uint32_t i = 0; i < b->triangle_count; ++i) {
                triangle *t = &b->triangles[i];
                if (!t->alive || t->face != none || d3_dot(t->normal, s->normal) < 0.99) continue;
                bool in_plane = true, beside = false;
                for (int k = 0; k < 3; ++k) {
                    in_plane &= fabs(above(s, point(b, t->v[k]))) <= 8 * b->tolerance;
                    const uint32_t other = triangle_with(b, t->v[(k + 1) % 3], t->v[k]);
                    beside |= other != MOST_TRIANGLES && b->triangles[other].face == faces;
                }
                if (!in_plane || !beside) continue;
                t->face = (uint8_t)faces;
                grown = true;
            }
        }
        ++faces;
    }
}

// The point after x on the rim of a face, counter-clockwise; UINT32_MAX: none, or `more` than one.
static uint32_t next_on_rim(const builder *b, uint32_t face, uint32_t x) {
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < b->triangle_count; ++i)
        for (int k = 0; b->triangles[i].alive && b->triangles[i].face == face && k < 3; ++k) {
            const uint32_t y = b->triangles[i].v[(k + 1) % 3];
            const uint32_t across = triangle_with(b, y, x);
            if (b->triangles[i].v[k] != x || across == MOST_TRIANGLES || b->triangles[across].face == face) continue;
            if (next != UINT32_MAX) return UINT32_MAX;
            next = y;
        }
    return next;
}

// How many faces meet at a point: at a vertex three or more.
static uint32_t faces_at(const builder *b, uint32_t x) {
    bool known[PSVI_HULL_FACES] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->triangle_count; ++i)
        for (int k = 0; b->triangles[i].alive && k < 3; ++k) {
            if (b->triangles[i].v[k] != x || known[b->triangles[i].face]) continue;
            known[b->triangles[i].face] = true;
            ++count;
        }
    return count;
}

static uint8_t vertex_of(const builder *b, uint32_t x, psvi_hull *hull, uint32_t *sources) {
    uint8_t i = 0;
    while (i < hull->vertex_count && sources[i] != x)
        ++i;
    if (i < hull->vertex_count) return i;
    sources[i] = x;
    const float *p = b->points + 3ull * x;
    hull->vertices[i] = (psvi_f4){p[0], p[1], p[2], 0};
    ++hull->vertex_count;
    return i;
}

static bool add_face(const builder *b, uint32_t face, psvi_hull *hull, uint32_t *sources) {
    uint32_t start = 0, at = hull->face_first[face];
    for (uint32_t i = 0; i < b->triangle_count; ++i)
        for (int k = 0; b->triangles[i].alive && b->triangles[i].face == face && k < 3; ++k)
            if (next_on_rim(b, face, b->triangles[i].v[k]) != UINT32_MAX) start = b->triangles[i].v[k];
    uint32_t x = start, turns = 0;
    do {
        if (faces_at(b, x) >= 3) {
            if (at == 2 * PSVI_HULL_EDGES) return false;
            hull->loop[at++] = vertex_of(b, x, hull, sources);
        }
        x = next_on_rim(b, face, x);
    } while (x != start && x != UINT32_MAX && ++turns < PSVI_HULL_VERTICES);
    hull->face_first[face + 1] = (uint16_t)at;
    if (x != start || at < hull->face_first[face] + 3u) return false;
    const uint8_t *loop = hull->loop + hull->face_first[face];
    const uint32_t count = at - hull->face_first[face];
    d3 n = {0, 0, 0}, sum = {0, 0, 0};
    for (uint32_t i = 0; i < count; ++i) { // Newell's normal
        const d3 p = point(b, sources[loop[i]]), q = point(b, sources[loop[(i + 1) % count]]), c = d3_cross(p, q);
        n = (d3){n.x + c.x, n.y + c.y, n.z + c.z};
        sum = (d3){sum.x + p.x, sum.y + p.y, sum.z + p.z};
    }
    const double length = sqrt(d3_dot(n, n));
    if (!(length > 0)) return false;
    n = (d3){n.x / length, n.y / length, n.z / length};
    const double offset = d3_dot(n, sum) / count + d3_dot(n, b->middle);
    hull->planes[face] = (psvi_f4){(float)n.x, (float)n.y, (float)n.z, (float)offset};
    return true;
}

static bool add_edges(psvi_hull *hull) {
    for (uint8_t f = 0; f < hull->face_count; ++f) {
        const uint8_t *loop = hull->loop + hull->face_first[f];
        const uint32_t count = (uint32_t)hull->face_first[f + 1] - hull->face_first[f];
        for (uint32_t i = 0; i < count; ++i) {
            const uint8_t x = loop[i], y = loop[(i + 1) % count];
            uint32_t known = 0;
            for (uint8_t e = 0; e < hull->edge_count; ++e) {
                uint8_t *edge = hull->edges[e];
                if (edge[0] == x && edge[1] == y) return false;
                if (edge[0] != y || edge[1] != x) continue;
                if (edge[3] != UINT8_MAX) return false;
                edge[3] = f;
                ++known;
            }
            if (known > 0) continue;
            if (hull->edge_count == PSVI_HULL_EDGES) return false;
            const uint8_t made[4] = {x, y, f, UINT8_MAX};
            memcpy(hull->edges[hull->edge_count++], made, sizeof made);
        }
    }
    for (uint8_t e = 0; e < hull->edge_count; ++e)
        if (hull->edges[e][3] == UINT8_MAX) return false;
    return hull->vertex_count + hull->face_count == hull->edge_count + 2;
}

// Every point within every plane, to what joining may have moved it.
static bool holds_all(const builder *b, const psvi_hull *hull) {
    for (uint8_t f = 0; f < hull->face_count; ++f) {
        const psvi_f4 n = hull->planes[f];
        for (uint32_t i = 0; i < b->count; ++i) {
            const float *p = b->points + 3ull * i;
            const double over =
                (double)n.x * (double)p[0] + (double)n.y * (double)p[1] + (double)n.z * (double)p[2] - (double)n.w;
            if (over > 24 * b->tolerance) return false;
        }
    }
    return true;
}

// Sums over tetrahedra from the middle to the triangles of the faces.
static void measure(const builder *b, const psvi_hull *hull, const uint32_t *sources, psvi_hull_mass *mass) {
    double volume = 0, first[3] = {0}, second[6] = {0}; // integrals of 1, of r and of r r
    static const int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
    for (uint8_t f = 0; f < hull->face_count; ++f) {
        const uint8_t *loop = hull->loop + hull->face_first[f];
        const uint32_t count = (uint32_t)hull->face_first[f + 1] - hull->face_first[f];
        for (uint32_t i = 1; i + 1 < count; ++i) {
            const d3 p = point(b, sources[loop[0]]), q = point(b, sources[loop[i]]), r = point(b, sources[loop[i + 1]]);
            const double v = d3_dot(p, d3_cross(q, r)) / 6;
            const double c[3][3] = {{p.x, p.y, p.z}, {q.x, q.y, q.z}, {r.x, r.y, r.z}};
            volume += v;
            double sum[3];
            for (int k = 0; k < 3; ++k) {
                sum[k] = c[0][k] + c[1][k] + c[2][k];
                first[k] += v / 4 * sum[k];
            }
            for (int k = 0; k < 6; ++k) {
                double products = sum[rows[k]] * sum[columns[k]];
                for (int j = 0; j < 3; ++j)
                    products += c[j][rows[k]] * c[j][columns[k]];
                second[k] += v / 20 * products;
            }
        }
    }
    const double g[3] = {first[0] / volume, first[1] / volume, first[2] / volume};
    for (int k = 0; k < 6; ++k)
        second[k] -= volume * g[rows[k]] * g[columns[k]];
    mass->volume = volume;
    mass->centre[0] = g[0] + b->middle.x;
    mass->centre[1] = g[1] + b->middle.y;
    mass->centre[2] = g[2] + b->middle.z;
    mass->inertia[0] = second[1] + second[2];
    mass->inertia[1] = second[0] + second[2];
    mass->inertia[2] = second[0] + second[1];
    for (int k = 3; k < 6; ++k)
        mass->inertia[k] = -second[k];
    mass->thin = FLT_MAX;
    for (uint8_t f = 0; f < hull->face_count; ++f) {
        float low = FLT_MAX;
        for (uint8_t i = 0; i < hull->vertex_count; ++i)
            low = fminf(low, v3_dot(v3_of4(hull->planes[f]), v3_of4(hull->vertices[i])));
        mass->thin = fminf(mass->thin, 0.5f * (hull->planes[f].w - low));
    }
}

static void measure_points(builder *b) {
    double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX}, widest = 0, largest = 0;
    for (uint32_t i = 0; i < b->count; ++i)
        for (int k = 0; k < 3; ++k) {
            const double x = (double)b->points[3ull * i + (uint64_t)k];
            low[k] = fmin(low[k], x);
            high[k] = fmax(high[k], x);
        }
    for (int k = 0; k < 3; ++k) {
        widest = fmax(widest, high[k] - low[k]);
        largest = fmax(largest, fmax(fabs(low[k]), fabs(high[k])));
    }
    b->middle = (d3){0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])};
    b->tolerance = 2e-6 * widest + 4e-7 * largest;
    b->seen_from = 1e-3 * b->tolerance;
}

const char *psvi_build_hull(const float *points, uint32_t count, psvi_hull *hull, uint32_t sources[PSVI_HULL_VERTICES],
                            psvi_hull_mass *mass) {
    static const char *const unclean = "make no clean hull: some are too close together for single precision";
    builder made = {.points = points, .count = count}, *b = &made;
    measure_points(b);
    memset(hull, 0, sizeof *hull);
    const char *wrong = make_triangles(b);
    const uint32_t faces = wrong == NULL ? join_triangles(b) : 0;
    if (wrong == NULL && (faces < 4 || faces > PSVI_HULL_FACES)) wrong = unclean;
    for (uint32_t f = 0; f < faces && wrong == NULL; ++f)
        if (!add_face(b, f, hull, sources)) wrong = unclean;
    hull->face_count = (uint8_t)faces;
    if (wrong == NULL && (!add_edges(hull) || !holds_all(b, hull))) wrong = unclean;
    if (wrong == NULL) {
        measure(b, hull, sources, mass);
        if (!(mass->volume > 0)) wrong = unclean;
    }
    return wrong;
}
