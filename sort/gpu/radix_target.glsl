// Where a pass writes: the elements [OUT_FIRST, OUT_FIRST + OUT_COUNT) lie in the bound ranges; others are left to
// another run. Defines: VALUE_WORDS 0, 1 or 2; IMPLICIT: values are the elements' numbers; KEYS_OUT: keys are wanted.
#define OUT_FIRST param(12)
#define OUT_COUNT param(13)
#if KEYS_OUT
layout(std430, binding = 5) writeonly buffer key_out_block { uint keys_out[]; };
#endif
#if VALUE_WORDS > 0
#if !IMPLICIT
layout(std430, binding = 6) readonly buffer value_block { uint values[]; };
#endif
layout(std430, binding = 7) writeonly buffer value_out_block { uint values_out[]; };
#endif
