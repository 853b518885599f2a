// The functions that all processors round alike, beside the library's in double precision.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/data/sim_math.h"

#define CASES 200000

static void near(double is, double due, double most, double of) {
    if (!(fabs(is - due) <= most)) fail_msg("of %.9g: %.9g, %.9g is due", of, is, due);
}

static void sines(void **state) {
    (void)state;
    for (int i = -CASES; i <= CASES; ++i) {
        const float x = (float)i * 5e-4f; // up to 100 rad
        float sine, cosine;
        psvi_sin_cos(x, &sine, &cosine);
        near((double)sine, sin((double)x), 1e-7, (double)x);
        near((double)cosine, cos((double)x), 1e-7, (double)x);
    }
    float sine, cosine;
    psvi_sin_cos(INFINITY, &sine, &cosine); // is not followed, but a number
    assert_true(fabsf(sine) <= 1 && fabsf(cosine) <= 1);
}

static void angles(void **state) {
    (void)state;
    for (int i = 0; i <= CASES; ++i) {
        const double turn = 3.14159265358979 * i / CASES;
        const float y = fabsf((float)sin(turn)), x = (float)cos(turn);
        near((double)psvi_angle_of(y, x), atan2((double)y, (double)x), 5e-7, turn);
    }
    near((double)psvi_angle_of(0, 0), 0, 0, 0);
}

static void exponentials(void **state) {
    (void)state;
    for (int i = 0; i <= CASES; ++i) {
        const float x = -(float)i * 5e-4f; // to -100
        near((double)psvi_exp(x), exp((double)x), 1e-7, (double)x);
        near((double)psvi_exp_less_1(x), expm1((double)x), 1.5e-7 * fabs(expm1((double)x)), (double)x);
    }
}

static void powers(void **state) {
    (void)state;
    for (int k = -126; k <= 127; ++k)
        assert_true(psvi_power_of_2(k) == ldexpf(1, k));
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(sines), cmocka_unit_test(angles),
                                              cmocka_unit_test(exponentials), cmocka_unit_test(powers)};
    return cmocka_run_group_tests_name("functions of sim_math.h", tests, NULL, NULL);
}
