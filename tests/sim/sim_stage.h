// A world on one backend for the tests of the simulation's promises, and their command line.
#ifndef PAIRSIEVE_TESTS_SIM_STAGE_H
#define PAIRSIEVE_TESTS_SIM_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pairsieve/sim.h>

extern psv_backend backend; // of the command line
extern bool long_run;       // the lengths of the promise, otherwise a short version that fits CI
extern int workers;         // of contexts made from now on

#define FRAME (1.0f / 60)

typedef struct stage {
    psv_context *context;
    psv_world *world;
} stage;

// A status that is no success ends the test with the library's sentence.
void check(psv_context *context, psv_status status);
psv_context *make_context(void);
stage make_stage(uint64_t bodies, bool gravity);
void end_stage(stage *s);

uint32_t add_shape(stage *s, psv_shape_type type, float x, float y, float z, float friction, float restitution);
psv_body_id add_body(stage *s, uint32_t shape, float x, float y, float z);
psv_body_state state_of(stage *s, psv_body_id id);
void set_velocity(stage *s, psv_body_id id, float x, float y, float z);
void step(stage *s, int frames);
double energy_of(stage *s, double momentum[3]);

// Runs tests with the arguments «cpu|cuda [long] [[but] TEST]»: a test's name runs that one alone, after «but» all
// others. 77 where the backend is missing.
int run_sim_tests(int argc, char **argv, const struct CMUnitTest *tests, size_t count);
#define RUN_SIM_TESTS(argc, argv, tests) run_sim_tests(argc, argv, tests, sizeof(tests) / sizeof *(tests))

#endif
