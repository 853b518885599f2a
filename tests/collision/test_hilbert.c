// The keys of trees: places on a Hilbert curve by the table of states are those of the other way to compute them, and
// both are a curve: neighbours on it are neighbours in space.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collision/src/hilbert_states.h"

static uint8_t states[4 * PSVI_HILBERT_STATE_WORDS];

static int read_states(void **state) {
    (void)state;
    memcpy(states, psvi_hilbert_states, sizeof states);
    return 0;
}

// The place of a cell of 2^bits a side, from the machine, which takes cells of 2^11 a side. Of 33 bits it has 32.
static uint64_t by_states(const uint32_t cell[3], uint32_t bits) {
    uint32_t wide[3];
    for (int k = 0; k < 3; ++k)
        wide[k] = cell[k] << (11 - bits);
    return psvi_states_place(states, wide, bits);
}

static void test_curve(void **state) {
    (void)state;
    uint32_t cells[512][3];
    bool seen[512] = {false};
    for (uint32_t i = 0; i < 512; ++i) {
        const uint32_t cell[3] = {i & 7, i >> 3 & 7, i >> 6};
        const uint64_t place = by_states(cell, 3);
        assert_true(place < 512 && !seen[place]);
        seen[place] = true;
        memcpy(cells[place], cell, sizeof cell);
    }
    for (uint32_t i = 0; i + 1 < 512; ++i) {
        int apart = 0;
        for (int k = 0; k < 3; ++k)
            apart += abs((int)cells[i][k] - (int)cells[i + 1][k]);
        assert_int_equal(apart, 1);
    }
}

static void test_same_place(void **state) {
    (void)state;
    uint32_t random = 12345;
    for (uint32_t i = 0; i < 200000; ++i) {
        const uint32_t bits = 1 + i % 11;
        uint32_t cell[3];
        for (int k = 0; k < 3; ++k) {
            random = random * 1664525u + 1013904223u;
            cell[k] = random >> (32 - bits);
        }
        const uint64_t place = psvi_hilbert_place(cell, bits);
        assert_true(by_states(cell, bits) == (bits == 11 ? place >> 1 : place));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curve), cmocka_unit_test(test_same_place)};
    return cmocka_run_group_tests(tests, read_states, NULL);
}
