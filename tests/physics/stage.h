// A world with a few bodies, for the tests of physics: what fails ends the test with the library's sentence.
#ifndef PAIRSIEVE_TEST_STAGE_H
#define PAIRSIEVE_TEST_STAGE_H

#include "pairsieve/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define FRAME (1.0f / 60)

typedef struct stage {
    psv_context *context;
    psv_world *world;
} stage;

void check(stage *s, psv_status status);
psv_world_def stage_def(uint64_t bodies); // the default one, with gravity
stage make_stage(const psv_world_def *def);
void end_stage(stage *s);

psv_shape_def shape_of(psv_shape_type type, float x, float y, float z);
uint32_t add_shape(stage *s, const psv_shape_def *def);
psv_body_def body_at(uint32_t shape, float x, float y, float z);
psv_body_id add_body(stage *s, const psv_body_def *def);
psv_body_id add_box_floor(stage *s, float half_width, float friction, float restitution); // static; its top at y = 0
psv_body_state state_of(stage *s, psv_body_id id);
void step(stage *s, int frames);

// Runs the tests with arguments «cpu|cuda [TEST]»; 77 where the backend is not there.
int run_stage_tests(int argc, char **argv, const char *name, const struct CMUnitTest *tests, size_t count);
#define RUN_TESTS(argc, argv, name, tests) run_stage_tests(argc, argv, name, tests, sizeof(tests) / sizeof *(tests))
bool on_cuda(void);

#endif
