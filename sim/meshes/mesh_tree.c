// The tree over a mesh's triangles: median splits on the longest axis, nodes in depth-first order with skip links, so
// that a walk needs no stack.
#include "../world/world.h"

#define LEAF_TRIANGLES 4u

static float middle(const psvi_triangle *t, int axis) { return t->p[0][axis] + t->p[1][axis] + t->p[2][axis]; }

static void swap(psvi_triangle *a, psvi_triangle *b) {
    psvi_triangle t = *a;
    *a = *b;
    *b = t;
}

// Puts the k-th smallest middle in place k (quickselect; the pivot is the median of three).
static void select_kth(psvi_triangle *t, uint32_t count, uint32_t k, int axis) {
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        float a = middle(&t[low], axis), b = middle(&t[low + (high - low) / 2], axis), c = middle(&t[high], axis);
        float pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        uint32_t i = low, j = high;
        for (;;) {
            while (middle(&t[i], axis) < pivot)
                ++i;
            while (middle(&t[j], axis) > pivot)
                --j;
            if (i >= j) break;
            swap(&t[i++], &t[j--]);
        }
        if (j == i) { // one element equal to the pivot stands between both parts
            if (k == i) return;
            if (k < i)
                high = i == 0 ? 0 : i - 1;
            else
                low = i + 1;
            continue;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

typedef struct builder {
    psvi_triangle *triangles;
    psvi_mesh_node *nodes;
    uint32_t count;
} builder;

static void build(builder *b, uint32_t first, uint32_t count) {
    uint32_t index = b->count++;
    psvi_mesh_node *node = &b->nodes[index];
    *node = (psvi_mesh_node){.min = {INFINITY, INFINITY, INFINITY}, .max = {-INFINITY, -INFINITY, -INFINITY}};
    for (uint32_t i = first; i < first + count; ++i)
        for (int k = 0; k < 3; ++k)
            for (int axis = 0; axis < 3; ++axis) {
                node->min[axis] = fminf(node->min[axis], b->triangles[i].p[k][axis]);
                node->max[axis] = fmaxf(node->max[axis], b->triangles[i].p[k][axis]);
            }
    if (count <= LEAF_TRIANGLES) {
        node->first = first;
        node->count = count;
    } else {
        float x = node->max[0] - node->min[0], y = node->max[1] - node->min[1], z = node->max[2] - node->min[2];
        int axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
        uint32_t half = count / 2;
        select_kth(b->triangles + first, count, half, axis);
        build(b, first, half); // depth: log2 of the count, for halves are equal
        build(b, first + half, count - half);
    }
    node->skip = b->count;
}

uint32_t psvi_build_mesh_tree(psvi_triangle *triangles, uint32_t count, psvi_mesh_node *nodes) {
    builder b = {.triangles = triangles, .nodes = nodes};
    build(&b, 0, count);
    return b.count;
}
