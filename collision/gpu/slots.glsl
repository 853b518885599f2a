// The frame's boxes in one index space of slots: set a, then set b from SET_B on. A slot is 8 words: corners as
// order-preserving unsigned numbers, which compare exactly even where a driver rounds small floats to 0; tag; world.
#define SLOTS param(0)
#define SET_B param(1)
#define BETWEEN ((param(2) & 1u) != 0u)
#define FILTERS ((param(2) & 2u) != 0u)
#define WORLDS ((param(2) & 4u) != 0u)
#define CAPACITY param(3) // pairs that there is room for
#define TAG_STATIC 1u
#define TAG_OUT 2u // takes no part: disabled or bad
#define TAG_SET_B 4u

// Words of the frame result, as psvi_frame_result has them; counts have two each.
#define RESULT_PAIRS 0u
#define RESULT_BAD 2u
#define RESULT_HUGE 4u
#define RESULT_BOXES 6u
#define RESULT_CANDIDATES 8u
#define RESULT_ROWS 10u
#define RESULT_LONGEST 12u
#define RESULT_LEVELS 14u
#define RESULT_KEY_BITS 15u
#define RESULT_REFUSED 18u
// Words of the plan block that are for all methods.
#define PLAN_PLACE 0u   // pairs that have found a place
#define PLAN_LAYERS 64u // 32: the matrix of layers

uint ordered_bits(uint bits) {
    if ((bits & 0x7fffffffu) == 0u) bits = 0u; // -0 equals +0
    return bits ^ ((bits >> 31) != 0u ? 0xffffffffu : 0x80000000u);
}
float float_of(uint number) {
    return uintBitsToFloat((number >> 31) != 0u ? number ^ 0x80000000u : ~number);
}
bool overlap(uvec3 a_min, uvec3 a_max, uvec3 b_min, uvec3 b_max) {
    return all(lessThanEqual(a_min, b_max)) && all(lessThanEqual(b_min, a_max));
}
