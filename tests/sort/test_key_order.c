// The transformed key: orders as the type does, and the edges of the bit ranges.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sort/cpu/key_bits.h"

static uint32_t bits32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void test_float_order(void **state) {
    (void)state;
    static const float ascending[] = {-__builtin_inff(), -3e38f, -1.0f, -1e-45f, 0.0f, 1e-45f, 1e-38f, 1.0f, 3e38f,
                                      __builtin_inff()};
    for (int descending = 0; descending < 2; ++descending) {
        const psvi_key_order order = psvi_make_key_order(PSV_KEY_F32, descending != 0, PSV_NAN_LAST, 0, 32);
        for (size_t i = 1; i < sizeof ascending / sizeof *ascending; ++i) {
            const uint32_t a = psvi_transform_u32(bits32(ascending[i - 1]), order);
            const uint32_t b = psvi_transform_u32(bits32(ascending[i]), order);
            assert_true(descending ? a > b : a < b);
        }
        assert_int_equal(psvi_transform_u32(0x80000000u, order), psvi_transform_u32(0, order));
        assert_int_equal(psvi_transform_u32(0x7fc00000u, order), UINT32_MAX);
        assert_int_equal(psvi_transform_u32(0xff800001u, order), UINT32_MAX);
    }
    const psvi_key_order bitwise = psvi_make_key_order(PSV_KEY_F64, false, PSV_NAN_BITWISE, 0, 64);
    assert_true(psvi_transform_u64(0xfff8000000000000u, bitwise) < psvi_transform_u64(0xfff0000000000000u, bitwise));
    assert_true(psvi_transform_u64(0x7ff8000000000000u, bitwise) > psvi_transform_u64(0x7ff0000000000000u, bitwise));
}

static void test_integer_order(void **state) {
    (void)state;
    const psvi_key_order i32 = psvi_make_key_order(PSV_KEY_I32, false, PSV_NAN_LAST, 0, 32);
    assert_true(psvi_transform_u32((uint32_t)-1, i32) < psvi_transform_u32(0, i32));
    assert_int_equal(psvi_transform_u32((uint32_t)INT32_MIN, i32), 0);
    const psvi_key_order i64 = psvi_make_key_order(PSV_KEY_I64, true, PSV_NAN_LAST, 0, 64);
    assert_true(psvi_transform_u64((uint64_t)-1, i64) > psvi_transform_u64(0, i64));
    assert_int_equal(psvi_transform_u64((uint64_t)INT64_MAX, i64), 0);
}

static void test_bit_ranges(void **state) {
    (void)state;
    const uint64_t keys[] = {0x123456789abcdef0u};
    const uint32_t narrow[] = {0x89abcdefu};
    psvi_key_order order = psvi_make_key_order(PSV_KEY_U64, false, PSV_NAN_LAST, 0, 64);
    assert_true(psvi_load_key_bits(psvi_make_key_bits(order), keys, 0) == keys[0]);
    order.begin_bit = 60;
    assert_true(psvi_load_key_bits(psvi_make_key_bits(order), keys, 0) == 1);
    order.begin_bit = order.end_bit = 64;
    assert_true(psvi_load_key_bits(psvi_make_key_bits(order), keys, 0) == 0);
    order = psvi_make_key_order(PSV_KEY_U32, false, PSV_NAN_LAST, 4, 12);
    assert_true(psvi_load_key_bits(psvi_make_key_bits(order), narrow, 0) == 0xde);
    order = psvi_make_key_order(PSV_KEY_U32, true, PSV_NAN_LAST, 4, 12);
    assert_true(psvi_load_key_bits(psvi_make_key_bits(order), narrow, 0) == 0x21);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_order),
        cmocka_unit_test(test_integer_order),
        cmocka_unit_test(test_bit_ranges),
    };
    return cmocka_run_group_tests_name("key_order", tests, NULL, NULL);
}
