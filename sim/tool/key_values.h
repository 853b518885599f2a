// One key of any type for `pairsieve sort`: from a place in the type's range, from text, and compared.
#ifndef PAIRSIEVE_TOOL_KEY_VALUES_H
#define PAIRSIEVE_TOOL_KEY_VALUES_H

#include <stdbool.h>

#include "pairsieve/sort.h"

#define TOOL_KEY_BYTES 16 // of the widest keys

#define TOOL_KEY_TYPES "u32, i32, f32, u64, i64, f64, u8, i8, u16, i16, f16, bf16, u128, i128, bytes16"

// The key at place `unit` in [0, 1) of the type's range: [-1e6, 1e6) for floats, [-1000, 1000) for those of 16 bits,
// and for bytes16 the place as 16 hexadecimal digits.
void tool_make_key(psv_key_type type, double unit, void *key);

// A number as decimal digits; bytes16: up to 16 bytes, filled up with zeros. False: no key of the type.
bool tool_parse_key(psv_key_type type, const char *text, void *key);

// -1, 0 or 1; NaN comes after every number and is equal to NaN.
int tool_compare_keys(psv_key_type type, const void *a, const void *b);

#endif
