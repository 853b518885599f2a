// A tree over boxes, for queries: the first hit of a ray, the items in a region, the nearest items. When the boxes have
// moved a little, the tree is refitted.
#include <math.h>
#include <pairsieve/tree.h>
#include <stdio.h>

#define SIDE 10u
#define COUNT (SIDE * SIDE * SIDE)
#define EACH 64u

static psv_aabb boxes[COUNT];

// A lattice of cubes of side 0.5, 1 apart; `lift` is added to y.
static void place_boxes(float lift) {
    const float side = SIDE;
    psv_aabb *box = boxes;
    for (float z = 0; z < side; ++z)
        for (float y = lift; y < side + lift; ++y)
            for (float x = 0; x < side; ++x, ++box) {
                const float at[3] = {x, y, z};
                for (int axis = 0; axis < 3; ++axis) {
                    box->min[axis] = at[axis];
                    box->max[axis] = at[axis] + 0.5f;
                }
            }
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    def.max_items = COUNT;
    if (psv_create_tree(context, &def, &tree) != PSV_OK) return printf("%s\n", psv_last_error(context));
    place_boxes(0);
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    if (psv_build_tree(tree, &set) != PSV_OK) return printf("%s\n", psv_last_error(context));

    // Two rays down a column and beside it; the first box on each.
    psv_ray ray[2] = {{{3.25f, 20, 4.25f}, 0, {0, -1, 0}, 100}, {{3.75f, 20, 4.25f}, 0, {0, -1, 0}, 100}};
    psv_ray_hit hit[2];
    const psv_query_set rays = psv_queries_of(psv_buffer_of(ray, sizeof ray), sizeof *ray, 2);
    if (psv_trace_closest(tree, &rays, psv_buffer_of(hit, sizeof hit)) != PSV_OK) return 1;
    const bool met = hit[0].item == 4 * SIDE * SIDE + 9 * SIDE + 3 && hit[0].t == 10.5f && hit[1].item == PSV_NO_ITEM;

    // Everything in a region, with room for 64 boxes a region; the three nearest to a point.
    psv_aabb region = {{2.25f, 2.25f, 2.25f}, {4.25f, 4.25f, 4.25f}};
    uint32_t inside[EACH], count = 0;
    static psv_query_lists lists; // all empty
    lists.counts = psv_buffer_of(&count, sizeof count);
    lists.results = psv_buffer_of(inside, sizeof inside);
    lists.each = EACH;
    const psv_query_set regions = psv_queries_of(psv_buffer_of(&region, sizeof region), sizeof region, 1);
    if (psv_overlap_boxes(tree, &regions, &lists) != PSV_OK) return printf("%s\n", psv_last_error(context));
    psv_sphere sphere = {{-1, 0.25f, 0.25f}, 2};
    psv_near_item nearest[3];
    const psv_query_set spheres = psv_queries_of(psv_buffer_of(&sphere, sizeof sphere), sizeof sphere, 1);
    if (psv_find_nearest(tree, &spheres, 3, psv_buffer_of(nearest, sizeof nearest)) != PSV_OK) return 1;
    printf("the ray goes %.2f, %u boxes are in the region, the nearest is %.2f away\n", hit[0].t, count,
           nearest[0].distance);

    place_boxes(2);
    if (psv_refit_tree(tree, &set) != PSV_OK ||
        psv_trace_closest(tree, &rays, psv_buffer_of(hit, sizeof hit)) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    psv_destroy_tree(tree);
    psv_destroy_context(context);
    return met && count == 27 && nearest[0].item == 0 && fabsf(nearest[0].distance - 1) < 1e-6f && hit[0].t == 8.5f ? 0
                                                                                                                    : 1;
}
