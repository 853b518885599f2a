// Keys of `pairsieve sort` from text: ends of each type's range, halves that are rounded, and what is no key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/tool/key_values.h"

// The bytes of a key as hexadecimal digits, the last one in memory first; "-" where the text is no key.
static const char *parsed(psv_key_type type, const char *text) {
    static char digits[2 * TOOL_KEY_BYTES + 1];
    uint8_t key[TOOL_KEY_BYTES] = {0};
    if (!tool_parse_key(type, text, key)) return "-";
    for (uint32_t i = 0, bytes = psv_key_type_bytes(type); i < bytes; ++i)
        (void)snprintf(digits + 2 * i, 3, "%02x", key[bytes - 1 - i]);
    return digits;
}

static void test_integers(void **state) {
    (void)state;
    static const struct {
        psv_key_type type;
        const char *text, *key;
    } cases[] = {{PSV_KEY_U8, "255", "ff"},
                 {PSV_KEY_U8, "256", "-"},
                 {PSV_KEY_U8, "-1", "-"},
                 {PSV_KEY_U8, "", "-"},
                 {PSV_KEY_U8, "7x", "-"},
                 {PSV_KEY_I8, "-128", "80"},
                 {PSV_KEY_I8, "-129", "-"},
                 {PSV_KEY_I8, "127", "7f"},
                 {PSV_KEY_I8, "128", "-"},
                 {PSV_KEY_U16, " +65535 ", "ffff"},
                 {PSV_KEY_U16, "65536", "-"},
                 {PSV_KEY_I16, "-32768", "8000"},
                 {PSV_KEY_I16, "-2", "fffe"},
                 {PSV_KEY_U32, "4294967295", "ffffffff"},
                 {PSV_KEY_U32, "4294967296", "-"},
                 {PSV_KEY_I64, "-9223372036854775808", "8000000000000000"},
                 {PSV_KEY_I64, "9223372036854775808", "-"},
                 {PSV_KEY_U64, "18446744073709551615", "ffffffffffffffff"},
                 {PSV_KEY_U64, "18446744073709551616", "-"},
                 {PSV_KEY_U128, "18446744073709551616", "00000000000000010000000000000000"},
                 {PSV_KEY_U128, "340282366920938463463374607431768211455", "ffffffffffffffffffffffffffffffff"},
                 {PSV_KEY_U128, "340282366920938463463374607431768211456", "-"},
                 {PSV_KEY_I128, "-170141183460469231731687303715884105728", "80000000000000000000000000000000"},
                 {PSV_KEY_I128, "170141183460469231731687303715884105728", "-"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
        assert_string_equal(parsed(cases[c].type, cases[c].text), cases[c].key);
}

static void test_halves_and_bytes(void **state) {
    (void)state;
    assert_string_equal(parsed(PSV_KEY_F16, "1"), "3c00");
    assert_string_equal(parsed(PSV_KEY_F16, "-2.5"), "c100");
    assert_string_equal(parsed(PSV_KEY_F16, "65504"), "7bff");
    assert_string_equal(parsed(PSV_KEY_F16, "65519"), "7bff");
    assert_string_equal(parsed(PSV_KEY_F16, "65520"), "7c00");
    assert_string_equal(parsed(PSV_KEY_F16, "2049"), "6800"); // halfway: to the even mantissa
    assert_string_equal(parsed(PSV_KEY_F16, "4095.9"), "6c00");
    assert_string_equal(parsed(PSV_KEY_F16, "6e-8"), "0001");
    assert_string_equal(parsed(PSV_KEY_F16, "-inf"), "fc00");
    assert_string_equal(parsed(PSV_KEY_BF16, "1"), "3f80");
    assert_string_equal(parsed(PSV_KEY_BF16, "1.00390625"), "3f80");
    assert_string_equal(parsed(PSV_KEY_BF16, "1.01171875"), "3f82");
    assert_string_equal(parsed(PSV_KEY_BF16, "one"), "-");
    char key[16];
    assert_true(tool_parse_key(PSV_KEY_BYTES16, "sixteen letters.", key));
    assert_memory_equal(key, "sixteen letters.", 16);
    assert_true(tool_parse_key(PSV_KEY_BYTES16, "few", key));
    assert_memory_equal(key, "few\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_false(tool_parse_key(PSV_KEY_BYTES16, "seventeen letters", key));
}

// Keys that rise with their place compare so.
static void test_order(void **state) {
    (void)state;
    for (psv_key_type type = PSV_KEY_U32; type <= PSV_KEY_BYTES16; ++type) {
        uint8_t low[TOOL_KEY_BYTES] = {0}, high[TOOL_KEY_BYTES] = {0};
        for (int i = 0; i < 64; ++i) {
            tool_make_key(type, i / 64.0, low);
            tool_make_key(type, (i + 1) / 64.5, high);
            assert_int_equal(tool_compare_keys(type, low, high), -1);
            assert_int_equal(tool_compare_keys(type, high, low), 1);
            assert_int_equal(tool_compare_keys(type, high, high), 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_halves_and_bytes),
                                       cmocka_unit_test(test_order)};
    return cmocka_run_group_tests_name("key_values", tests, NULL, NULL);
}
