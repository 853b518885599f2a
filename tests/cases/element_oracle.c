#include "element_oracle.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort_inputs.h"

typedef struct oracle_box {
    float low[3], high[3];
    uint32_t element;
} oracle_box;

static void *take(size_t bytes) {
    void *memory = calloc(1, bytes + 1);
    if (memory == NULL) abort();
    return memory;
}

static uint32_t size_of(int set) { return set == 0 ? 1 : set == 1 ? 2 : 3; }

static uint32_t vertex_of(const oracle_mesh *mesh, int set, uint32_t element, uint32_t corner) {
    return set == 0   ? element
           : set == 1 ? mesh->edge_vertices[2 * element + corner]
                      : mesh->face_vertices[3 * element + corner];
}

static uint32_t count_of(const oracle_mesh *mesh, int set) {
    return set == 0 ? mesh->vertices : set == 1 ? mesh->edges : mesh->faces;
}

static float round_towards(double value, double radius, int mode) {
    (void)fesetround(mode);
    volatile double sum = mode == FE_DOWNWARD ? value - radius : value + radius;
    volatile float rounded = (float)sum;
    (void)fesetround(FE_TONEAREST);
    return rounded;
}

static oracle_box box_of(const oracle_mesh *mesh, int set, uint32_t element, const oracle_rules *rules) {
    oracle_box box = {.element = element};
    for (int axis = 0; axis < 3; ++axis) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t corner = 0; corner < size_of(set); ++corner)
            for (int time = 0; time < 1 + rules->two_times; ++time) {
                const double x = mesh->positions[time][3 * vertex_of(mesh, set, element, corner) + (uint32_t)axis];
                low = fmin(low, x);
                high = fmax(high, x);
            }
        box.low[axis] = round_towards(low, rules->radius, FE_DOWNWARD);
        box.high[axis] = round_towards(high, rules->radius, FE_UPWARD);
    }
    return box;
}

static int compare_boxes(const void *a, const void *b) {
    const oracle_box *x = a, *y = b;
    return (x->low[0] > y->low[0]) - (x->low[0] < y->low[0]);
}

static oracle_box *sorted_boxes(const oracle_mesh *mesh, int set, const oracle_rules *rules) {
    const uint32_t count = count_of(mesh, set);
    oracle_box *boxes = take(count * sizeof *boxes);
    for (uint32_t i = 0; i < count; ++i)
        boxes[i] = box_of(mesh, set, i, rules);
    qsort(boxes, count, sizeof *boxes, compare_boxes);
    return boxes;
}

// For each two vertices, whether a walk of at most `steps` edges leads from one to the other; NULL for none.
static unsigned char *near_table(const oracle_mesh *mesh, uint32_t steps) {
    if (steps == 0) return NULL;
    const size_t n = mesh->vertices;
    unsigned char *near = take(n * n), *before = take(n * n);
    for (size_t v = 0; v < n; ++v)
        near[v * n + v] = 1;
    for (; steps > 0; --steps) {
        memcpy(before, near, n * n);
        for (uint32_t e = 0; e < mesh->edges; ++e) {
            const size_t a = mesh->edge_vertices[2 * e], b = mesh->edge_vertices[2 * e + 1];
            for (size_t v = 0; v < n; ++v) {
                near[a * n + v] |= before[b * n + v];
                near[b * n + v] |= before[a * n + v];
            }
        }
    }
    free(before);
    return near;
}

static bool are_neighbours(const oracle_mesh *mesh, int a_set, uint32_t a, int b_set, uint32_t b,
                           const unsigned char *near) {
    for (uint32_t i = 0; i < size_of(a_set); ++i)
        for (uint32_t k = 0; k < size_of(b_set); ++k) {
            const uint32_t x = vertex_of(mesh, a_set, a, i), y = vertex_of(mesh, b_set, b, k);
            if (x == y || (near != NULL && near[(size_t)x * mesh->vertices + y])) return true;
        }
    return false;
}

static bool bodies_pair(const oracle_mesh *mesh, uint32_t a_vertex, uint32_t b_vertex, const oracle_rules *rules) {
    if (mesh->bodies == NULL) return true;
    const uint32_t a = mesh->bodies[a_vertex], b = mesh->bodies[b_vertex];
    if (rules->apart && a == b) return false;
    return rules->filters == NULL || ((rules->filters[a].group & rules->filters[b].mask) != 0 &&
                                      (rules->filters[b].group & rules->filters[a].mask) != 0);
}

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void add_pair(oracle_pairs *list, uint64_t *room, psv_pair pair) {
    if (list->count == *room) {
        *room = 2 * *room + 1024;
        list->pairs = realloc(list->pairs, *room * sizeof *list->pairs);
        if (list->pairs == NULL) abort();
    }
    list->pairs[list->count++] = pair;
}

static bool overlap(const oracle_box *a, const oracle_box *b) {
    for (int axis = 0; axis < 3; ++axis)
        if (!(a->low[axis] <= b->high[axis] && b->low[axis] <= a->high[axis])) return false;
    return true;
}

// The power of two that the box's width along x is not less than; -160 for none.
static int octave_of(const oracle_box *box) {
    int exponent;
    const double width = (double)box->high[0] - (double)box->low[0];
    if (!(width > 0)) return -160;
    (void)frexp(width, &exponent);
    return exponent - 1;
}

uint64_t oracle_pair_sum(psv_pair pair) {
    uint64_t state = (uint64_t)pair.a << 32 | pair.b;
    return next_random(&state);
}

oracle_pairs oracle_find(const oracle_mesh *mesh, psv_element_kind kind, const oracle_rules *rules, bool list) {
    static const int sets[PSV_ELEMENT_KINDS][2] = {{1, 1}, {0, 2}, {2, 2}, {1, 2}};
    const int a_set = sets[kind][0], b_set = sets[kind][1];
    const uint32_t a_count = count_of(mesh, a_set), b_count = count_of(mesh, b_set);
    oracle_box *a = sorted_boxes(mesh, a_set, rules), *b = sorted_boxes(mesh, b_set, rules);
    oracle_pairs found = {0};
    uint64_t room = 0;
    // Boxes of b by octaves of their width along x: how far back a sweep has to look.
    unsigned char *near = near_table(mesh, rules->rings);
    oracle_box *some = take(b_count * sizeof *some);
    for (int octave = -160; octave <= 130; ++octave) {
        uint32_t count = 0, first = 0;
        for (uint32_t k = 0; k < b_count; ++k)
            if (octave_of(&b[k]) == octave) some[count++] = b[k];
        const double widest = ldexp(1, octave + 1);
        for (uint32_t i = 0; i < a_count && count > 0; ++i) {
            while (first < count && (double)some[first].low[0] + widest < (double)a[i].low[0])
                ++first;
            for (uint32_t k = first; k < count && some[k].low[0] <= a[i].high[0]; ++k) {
                const psv_pair pair = {a[i].element, some[k].element};
                if ((a_set == b_set && pair.a >= pair.b) || !overlap(&a[i], &some[k])) continue;
                if (!bodies_pair(mesh, vertex_of(mesh, a_set, pair.a, 0), vertex_of(mesh, b_set, pair.b, 0), rules))
                    continue;
                if (!rules->shared && are_neighbours(mesh, a_set, pair.a, b_set, pair.b, near)) continue;
                found.sum += oracle_pair_sum(pair);
                if (list)
                    add_pair(&found, &room, pair);
                else
                    found.count++;
            }
        }
    }
    free(some);
    free(near);
    if (list) qsort(found.pairs, found.count, sizeof *found.pairs, compare_pairs);
    free(a);
    free(b);
    return found;
}

static int compare_words(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void make_edges(oracle_mesh *mesh) {
    uint64_t *sides = take(mesh->faces * 3 * sizeof *sides);
    uint32_t count = 0;
    for (uint32_t f = 0; f < mesh->faces; ++f)
        for (uint32_t i = 0; i < 3; ++i) {
            const uint32_t a = mesh->face_vertices[3 * f + i], b = mesh->face_vertices[3 * f + (i + 1) % 3];
            if (a != b) sides[count++] = a > b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
        }
    qsort(sides, count, sizeof *sides, compare_words);
    mesh->edge_vertices = take(2 * (size_t)count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0 && sides[i] == sides[i - 1]) continue;
        mesh->edge_vertices[2 * mesh->edges] = (uint32_t)(sides[i] >> 32);
        mesh->edge_vertices[2 * mesh->edges++ + 1] = (uint32_t)sides[i];
    }
    free(sides);
}

static double unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

static void take_vertices(oracle_mesh *mesh, uint32_t vertices, uint32_t faces) {
    mesh->vertices = vertices;
    mesh->faces = faces;
    for (int time = 0; time < 2; ++time)
        mesh->positions[time] = take(vertices * 3 * sizeof(double));
    mesh->face_vertices = take(faces * 3 * sizeof(uint32_t));
}

static void move_a_little(oracle_mesh *mesh, double far, uint64_t *state) {
    for (uint32_t i = 0; i < 3 * mesh->vertices; ++i)
        mesh->positions[1][i] = mesh->positions[0][i] + far * (unit(state) - 0.5);
}

oracle_mesh make_sheet(uint32_t side, uint64_t seed) {
    oracle_mesh mesh = {0};
    uint32_t f = 0;
    take_vertices(&mesh, side * side, 2 * (side - 1) * (side - 1));
    for (uint32_t v = 0; v < mesh.vertices; ++v) {
        const double x = v % side, y = v / side;
        double *at = mesh.positions[0] + 3 * v;
        at[0] = fabs(x - 0.5 * side) + 0.3 * unit(&seed); // folded in the middle
        at[1] = y + 0.3 * unit(&seed);
        at[2] = 0.8 * sin(0.7 * x) * cos(0.4 * y) + 0.2 * unit(&seed);
    }
    move_a_little(&mesh, 0.5, &seed);
    for (uint32_t y = 0; y + 1 < side; ++y)
        for (uint32_t x = 0; x + 1 < side; ++x, f += 2) {
            const uint32_t v = y * side + x;
            const uint32_t corners[6] = {v, v + 1, v + side, v + 1, v + side + 1, v + side};
            memcpy(mesh.face_vertices + 3 * f, corners, sizeof corners);
        }
    make_edges(&mesh);
    return mesh;
}

oracle_mesh make_soup(uint32_t vertices, uint32_t faces, uint64_t seed) {
    oracle_mesh mesh = {.body_count = 5};
    take_vertices(&mesh, vertices, faces);
    mesh.bodies = take(vertices * sizeof(uint32_t));
    const double scale = ldexp(1, (int)(next_random(&seed) % 40) - 20);
    for (uint32_t v = 0; v < vertices; ++v) {
        for (int axis = 0; axis < 3; ++axis)
            mesh.positions[0][3 * v + (uint32_t)axis] = scale * (1000.1 + cbrt(vertices) * unit(&seed));
        mesh.bodies[v] = (uint32_t)(next_random(&seed) % mesh.body_count);
    }
    move_a_little(&mesh, scale, &seed);
    for (uint32_t i = 0; i < 3 * faces; ++i) // corners from near numbers, sometimes twice the same
        mesh.face_vertices[i] = (uint32_t)((i / 3 * vertices / faces + next_random(&seed) % 7) % vertices);
    make_edges(&mesh);
    return mesh;
}

void free_mesh(oracle_mesh *mesh) {
    free(mesh->positions[0]);
    free(mesh->positions[1]);
    free(mesh->edge_vertices);
    free(mesh->face_vertices);
    free(mesh->bodies);
    *mesh = (oracle_mesh){0};
}

// A binary PLY file of triangles, as those of the data folder are: x, y, z first, byte order and word as it says.
typedef struct ply_head {
    bool big, floats;
    uint32_t vertices, faces;
} ply_head;

static bool read_head(FILE *file, ply_head *head) {
    char line[256];
    *head = (ply_head){0};
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "end_header", 10) != 0) {
        (void)sscanf(line, "element vertex %u", &head->vertices);
        (void)sscanf(line, "element face %u", &head->faces);
        head->big |= strstr(line, "big_endian") != NULL;
        head->floats |= strstr(line, "property float x") != NULL;
    }
    return head->vertices > 0 && head->faces > 0;
}

static bool read_word(FILE *file, void *word, size_t bytes, bool big) {
    unsigned char raw[8];
    if (fread(raw, 1, bytes, file) != bytes) return false;
    for (size_t i = 0; i < bytes; ++i)
        ((unsigned char *)word)[i] = raw[big ? bytes - 1 - i : i];
    return true;
}

static bool read_positions(FILE *file, const ply_head *head, double *positions) {
    bool good = true;
    for (uint32_t i = 0; i < 3 * head->vertices && good; ++i) {
        float narrow = 0;
        good = head->floats ? read_word(file, &narrow, 4, head->big) : read_word(file, &positions[i], 8, head->big);
        if (head->floats) positions[i] = narrow;
    }
    return good;
}

static bool read_faces(FILE *file, const ply_head *head, uint32_t *face_vertices) {
    bool good = true;
    for (uint32_t f = 0; f < head->faces && good; ++f) {
        unsigned char size = 0;
        good = fread(&size, 1, 1, file) == 1 && size == 3;
        for (int i = 0; i < 3 && good; ++i)
            good = read_word(file, &face_vertices[3 * f + (uint32_t)i], 4, head->big);
    }
    return good;
}

bool load_meshes(const char *first, const char *second, oracle_mesh *mesh) {
    const char *const paths[2] = {first, second};
    bool good = true;
    *mesh = (oracle_mesh){0};
    for (int time = 0; time < 2 && good; ++time) {
        FILE *file = fopen(paths[time], "rb");
        ply_head head;
        good = file != NULL && read_head(file, &head);
        if (good && time == 0) take_vertices(mesh, head.vertices, head.faces);
        if (good) mesh->floats = head.floats;
        good = good && head.vertices == mesh->vertices && read_positions(file, &head, mesh->positions[time]) &&
               read_faces(file, &head, mesh->face_vertices);
        if (file != NULL) (void)fclose(file);
    }
    if (good)
        make_edges(mesh);
    else
        free_mesh(mesh);
    return good;
}
