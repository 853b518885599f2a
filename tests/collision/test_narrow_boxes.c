// Boxes in double precision as floats: the bits that C's subtraction and conversion give, on every backend. GPUs of
// OpenGL and Vulkan compute them in integers.   test_narrow_boxes [cpu|cuda|gl|vulkan]
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/backend_main.h"
#include "../cases/check_call.h"
#include "collision/src/broad_phase.h"
#include "collision/src/pair_rules.h"
#include "pairsieve/collision.h"
#include "tests/cases/box_scenes.h"

#define BOXES 20011u

static psv_backend backend = PSV_BACKEND_CPU;
static psv_context *context;

static double double_of(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double with_exponent(uint64_t bits, uint64_t exponent) {
    return double_of((bits & ~(2047ull << 52)) | (exponent > 2046 ? 2046 : exponent) << 52);
}

// A number that goes with `origin` in one of many ways: any bits; close to it, so that most bits cancel; with an
// exponent near its own; about as small or as large as floats get; a float; with zeros at its end, for ties.
static double make_number(uint64_t number, double origin) {
    const uint64_t bits = box_random_bits(7, number, 0), more = box_random_bits(7, number, 1);
    const uint64_t exponent = bits_of(origin) >> 52 & 2047, ending = ~0ull << more % 53;
    switch (more >> 8 & 7) {
    case 0: return double_of(bits);
    case 1: return double_of(bits_of(origin) ^ bits >> 40 ^ (more & 1) << 63);
    case 2: return with_exponent(bits, exponent + (more >> 16) % 120 < 60 ? 0 : exponent + (more >> 16) % 120 - 60);
    case 3: return with_exponent(bits & ending, 860 + (more >> 16) % 50);
    case 4: return with_exponent(bits & ending, 1140 + (more >> 16) % 20);
    case 5: return (double)(float)with_exponent(bits, 1000 + (more >> 16) % 60);
    case 6: return with_exponent(bits & ending, exponent);
    default: return with_exponent(bits, more >> 16 & 1 ? 0 : 2046);
    }
}

// NaN is the same whatever its bits.
static bool is_same(float a, float b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0; }

static void check_box(const psv_aabb64 *from, const double *origin, const psv_aabb *box) {
    bool bad = false;
    for (int axis = 0; axis < 3; ++axis)
        bad = bad || !(from->min[axis] <= from->max[axis]);
    if (bad) assert_true(isnan(box->min[0]));
    for (int axis = 0; axis < 3 && !bad; ++axis) {
        const float min = (float)(from->min[axis] - origin[axis]), max = (float)(from->max[axis] - origin[axis]);
        if (is_same(box->min[axis], min) && is_same(box->max[axis], max)) continue;
        fail_msg("%a and %a less %a are %a and %a, not %a and %a", from->min[axis], from->max[axis], origin[axis],
                 (double)min, (double)max, (double)box->min[axis], (double)box->max[axis]);
    }
}

static void check_origin(const double *origin, psv_buffer from_buffer, psv_buffer to_buffer) {
    psv_aabb64 *from = calloc(BOXES, sizeof *from);
    psv_aabb *to = calloc(BOXES, sizeof *to);
    for (uint64_t i = 0; i < 3 * (uint64_t)BOXES; ++i) {
        const double a = make_number(2 * i, origin[i % 3]), b = make_number(2 * i + 1, origin[i % 3]);
        const bool turned = a > b && i % 64 != 0; // some boxes are bad
        from[i / 3].min[i % 3] = turned ? b : a;
        from[i / 3].max[i % 3] = turned ? a : b;
    }
    CHECK(psv_upload(context, from_buffer, from, BOXES * sizeof *from));
    const char *const address = psvi_buffer_address(from_buffer);
    const psvi_rule_side side = {.min = address,
                                 .max = address + 3 * sizeof(double),
                                 .min_stride = sizeof *from,
                                 .max_stride = sizeof *from,
                                 .doubles = true};
    const psvi_box_view view = {.count = BOXES, .room = BOXES};
    CHECK(
        psvi_collision_ops_of(backend)->narrow_boxes(context, &side, origin, 0, &view, psvi_buffer_address(to_buffer)));
    CHECK(psv_download(context, to, to_buffer, BOXES * sizeof *to));
    for (uint32_t i = 0; i < BOXES; ++i)
        check_box(&from[i], origin, &to[i]);
    free(from);
    free(to);
}

static void test_bits(void **state) {
    (void)state;
    static const double origins[][3] = {
        {0, -0.0, 1}, {1e-310, 1e-40, 3e38}, {-1.5, 123456789.125, 0x1.fffffffffffffp1023}, {1e9, -1e12, 0x1p-1022}};
    psv_buffer from, to;
    CHECK(psv_alloc_buffer(context, BOXES * sizeof(psv_aabb64), &from));
    CHECK(psv_alloc_buffer(context, BOXES * sizeof(psv_aabb), &to));
    for (size_t o = 0; o < sizeof origins / sizeof *origins; ++o)
        check_origin(origins[o], from, to);
    psv_free_buffer(context, &from);
    psv_free_buffer(context, &to);
}

int main(int argc, char **argv) {
    const number_option no_options = {NULL, NULL};
    if (!read_backend_arguments(argc, argv, &backend, &no_options)) return 2;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
    return RUN_BACKEND_TESTS("narrow_boxes", &def, &context, tests);
}
