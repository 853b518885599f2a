// What trees on the CPU are made with, of whatever vector unit: keys and nodes are those that one item and one child
// after another give, and a node holds its children: each in a slot of its own, in a box that is not smaller.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collision/cpu/trees/tree_cpu.h"

static uint32_t random_state = 20260;

static uint32_t any(uint32_t below) {
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state ^ random_state >> 15) * below >> 32);
}

static float any_float(void) { return (float)any(1u << 24) * 0x1p-24f; }

static void any_child(float scale, float min[3], float max[3]) {
    const bool flat = any(4) == 0, empty = any(12) == 0, infinite = any(40) == 0;
    const uint32_t still = any(4);
    for (uint32_t axis = 0; axis < 3; ++axis) {
        min[axis] = (any_float() - 0.3f) * scale * (any(6) == 0 ? 1e-3f : 1.0f);
        if (any(5) == 0) min[axis] = 0.25f * scale; // many share a place
        max[axis] = flat && axis == still ? min[axis] : min[axis] + any_float() * scale * 0.3f;
        if (infinite) max[axis] = INFINITY;
        if (infinite && any(2) == 0) min[axis] = -INFINITY;
        if (empty) {
            min[axis] = INFINITY;
            max[axis] = -INFINITY;
        }
    }
}

static void check_children(const psv_tree_node *node, const psvi_tree_child *children, uint32_t count) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (children[i].min[0] > children[i].max[0]) continue;
        uint32_t found = 8;
        for (uint32_t slot = 0; slot < 8 && found == 8; ++slot) {
            bool holds = (psv_node_used(node) & ~taken) >> slot & 1u;
            holds = holds && (node->order >> (3 * slot) & 7u) == children[i].offset;
            holds = holds && (psv_node_inner(node) >> slot & 1u) == children[i].inner;
            for (int axis = 0; axis < 3; ++axis) {
                const double step = psv_node_step(node, axis), from = node->origin[axis];
                const double low = from + step * (node->low[axis][slot >> 2] >> (8 * (slot & 3u)) & 255u);
                const double high = from + step * (node->high[axis][slot >> 2] >> (8 * (slot & 3u)) & 255u);
                holds = holds && low <= psv_tree_clamp(children[i].min[axis]) &&
                        high >= psv_tree_clamp(children[i].max[axis]);
            }
            if (holds) found = slot;
        }
        assert_true(found < 8);
        taken |= 1u << found;
    }
    assert_int_equal(taken, psv_node_used(node));
}

static void test_nodes(void **state) {
    (void)state;
    const psvi_tree_kernels kernels = psvi_choose_tree_kernels();
    for (uint32_t n = 0; n < 100000; ++n) {
        const uint32_t count = 1 + any(8), inner = any(count + 1);
        const float scale = ldexpf(1.0f, (int)any(200) - 100);
        psvi_tree_child children[8];
        psvi_node_children together;
        memset(&together, 0x7f, sizeof together);
        together.inner = 0;
        for (uint32_t i = 0; i < count; ++i) {
            any_child(scale, children[i].min, children[i].max);
            children[i].inner = i < inner;
            children[i].offset = (uint8_t)(i < inner ? i : i - inner);
            together.offset[i] = children[i].offset;
            together.inner |= (uint32_t)children[i].inner << i;
            psvi_set_child(&together, i, children[i].min, children[i].max);
        }
        psv_tree_node one = {.first_child = n}, other = {.first_child = n};
        psv_aabb one_box, other_box;
        psvi_make_node(children, count, &one, &one_box);
        kernels.make_node(&together, count, &other, &other_box);
        assert_memory_equal(&one, &other, sizeof one);
        for (int axis = 0; axis < 3; ++axis)
            assert_true(one_box.min[axis] == other_box.min[axis] && one_box.max[axis] == other_box.max[axis]);
        check_children(&other, children, count);
    }
}

static void test_keys(void **state) {
    (void)state;
    const psvi_tree_kernels kernels = psvi_choose_tree_kernels();
    for (uint32_t n = 0; n < 20000; ++n) {
        psv_tree_head head = {.scale = 1.0f / (1 + 10 * any_float())};
        const uint32_t bits = 1 + n % 20;
        float centre[3][8];
        uint64_t places[8];
        for (int axis = 0; axis < 3; ++axis) {
            head.low[axis] = any_float() - 0.5f;
            for (int i = 0; i < 8; ++i)
                centre[axis][i] = (any_float() - 0.2f) * (any(20) == 0 ? 1e30f : 9.0f);
        }
        kernels.places(&head, (const float(*)[8])centre, bits, 20, places);
        for (int i = 0; i < 8; ++i) {
            const float point[3] = {centre[0][i], centre[1][i], centre[2][i]};
            assert_true(places[i] == psvi_tree_place(&head, point, bits, 20));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nodes), cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
