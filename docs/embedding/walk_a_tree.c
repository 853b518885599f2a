// A walk of the program's own through a tree, node by node: here, how many boxes a plane cuts. The same functions serve
// in CUDA kernels. psv_box_slots says which parts of a node to go into.
#include <pairsieve/tree_tests.h>
#include <stdio.h>

#define COUNT 4000u

static psv_aabb boxes[COUNT];

// Does the plane x = at cut it?
static bool cuts(float low, float high, float at) { return low <= at && at <= high; }

static uint32_t count_cut(const psv_tree_view *view, float at) {
    psv_tree_stack stack;
    psv_tree_walk walk;
    uint32_t node = 0, found = 0;
    const float low[3] = {at, -1e9f, -1e9f}, high[3] = {at, 1e9f, 1e9f};
    psv_begin_walk(&walk, &stack, view, 0);
    while (psv_next_node(&walk, &node)) {
        const psv_tree_node n = psv_load_node(view, node);
        const uint32_t slots = psv_box_slots(&n, low, high);
        psv_push_slots(&walk, &n, slots, 7);
        for (uint32_t slot = 0; slot < 8; ++slot) {
            if (!((slots & ~psv_node_inner(&n)) >> slot & 1u)) continue;
            const psv_tree_box box = psv_load_box(view, psv_slot_child(n.first_item, n.order, slot));
            found += cuts(box.min[0], box.max[0], at);
        }
    }
    return found;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    float number = 1;
    for (uint32_t i = 0; i < COUNT; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            number = fmodf(number * 7.13f + 3.71f, 10000);
            boxes[i].min[axis] = number;
            boxes[i].max[axis] = number + fmodf(number, 50);
        }
    psv_tree_def def = psv_default_tree_def();
    psv_tree *tree = NULL;
    psv_tree_view view;
    def.max_items = COUNT;
    if (psv_create_tree(context, &def, &tree) != PSV_OK) return printf("%s\n", psv_last_error(context));
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, COUNT);
    if (psv_build_tree(tree, &set) != PSV_OK || psv_view_tree(tree, &view) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    bool right = true;
    for (float at = 0; at < 10000; at += 1234) {
        uint32_t expected = 0;
        for (uint32_t i = 0; i < COUNT; ++i)
            expected += cuts(boxes[i].min[0], boxes[i].max[0], at);
        const uint32_t found = count_cut(&view, at);
        printf("x = %.0f cuts %u boxes\n", at, found);
        right = right && found == expected;
    }
    psv_destroy_tree(tree);
    psv_destroy_context(context);
    return right ? 0 : 1;
}
