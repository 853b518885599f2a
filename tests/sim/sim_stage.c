#include "sim_stage.h"

#include <stdio.h>
#include <string.h>
psv_backend backend = PSV_BACKEND_CPU;
bool long_run;
int workers = 1;

void check(psv_context *context, psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(context));
}

psv_context *make_context(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = backend == PSV_BACKEND_CPU ? workers : 0;
    psv_context *context = NULL;
    check(NULL, psv_create_context(&def, &context));
    return context;
}

stage make_stage(uint64_t bodies, bool gravity) {
    stage s = {.context = make_context()};
    psv_world_def def = psv_default_world_def();
    def.max_bodies = bodies;
    if (!gravity) def.gravity[1] = 0;
    check(s.context, psv_create_world(s.context, &def, &s.world));
    return s;
}

void end_stage(stage *s) {
    psv_destroy_world(s->world);
    psv_destroy_context(s->context);
}

uint32_t add_shape(stage *s, psv_shape_type type, float x, float y, float z, float friction, float restitution) {
    psv_shape_def def = psv_default_shape_def();
    def.type = type;
    def.size[0] = x;
    def.size[1] = y;
    def.size[2] = z;
    def.friction = friction;
    def.restitution = restitution;
    uint32_t shape = 0;
    check(s->context, psv_create_shape(s->world, &def, &shape));
    return shape;
}

psv_body_id add_body(stage *s, uint32_t shape, float x, float y, float z) {
    psv_body_def def = psv_default_body_def();
    def.shape = shape;
    def.pose.position[0] = x;
    def.pose.position[1] = y;
    def.pose.position[2] = z;
    psv_body_id id;
    check(s->context, psv_create_bodies(s->world, &def, 1, &id));
    return id;
}

psv_body_state state_of(stage *s, psv_body_id id) {
    psv_body_state state;
    check(s->context, psv_get_body_state(s->world, id, &state));
    return state;
}

void set_velocity(stage *s, psv_body_id id, float x, float y, float z) {
    psv_body_state state = state_of(s, id);
    state.velocity[0] = x;
    state.velocity[1] = y;
    state.velocity[2] = z;
    check(s->context, psv_set_body_state(s->world, id, &state));
}

void step(stage *s, int frames) {
    for (int i = 0; i < frames; ++i)
        check(s->context, psv_world_step(s->world, FRAME));
}

double energy_of(stage *s, double momentum[3]) {
    double energy = 0;
    check(s->context, psv_world_energy(s->world, &energy, momentum));
    return energy;
}

int run_sim_tests(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "long") == 0)
            long_run = true;
        else if (strcmp(argv[i], "but") == 0 && i + 1 < argc)
            cmocka_set_skip_filter(argv[++i]);
        else
            cmocka_set_test_filter(argv[i]);
    }
    if (!psv_backend_available(backend)) {
        (void)printf("no %s device here: skipped\n", psv_backend_name(backend));
        return 77;
    }
    return _cmocka_run_group_tests("sim", tests, count, NULL, NULL);
}
