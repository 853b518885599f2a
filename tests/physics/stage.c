#include "stage.h"

static psv_backend backend = PSV_BACKEND_CPU;

bool on_cuda(void) { return backend == PSV_BACKEND_CUDA; }

void check(stage *s, psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(s->context));
}

psv_world_def stage_def(uint64_t bodies) {
    psv_world_def def = psv_default_world_def();
    def.max_bodies = bodies;
    return def;
}

stage make_stage(const psv_world_def *def) {
    stage s = {0};
    psv_context_def context = psv_default_context_def();
    context.backend = backend;
    if (!on_cuda()) context.worker_count = 1;
    check(&s, psv_create_context(&context, &s.context));
    check(&s, psv_create_world(s.context, def, &s.world));
    return s;
}

void end_stage(stage *s) {
    psv_destroy_world(s->world);
    psv_destroy_context(s->context);
}

psv_shape_def shape_of(psv_shape_type type, float x, float y, float z) {
    psv_shape_def def = psv_default_shape_def();
    def.type = type;
    def.size[0] = x;
    def.size[1] = y;
    def.size[2] = z;
    return def;
}

uint32_t add_shape(stage *s, const psv_shape_def *def) {
    uint32_t shape = 0;
    check(s, psv_create_shape(s->world, def, &shape));
    return shape;
}

psv_body_def body_at(uint32_t shape, float x, float y, float z) {
    psv_body_def def = psv_default_body_def();
    def.shape = shape;
    def.pose.position[0] = x;
    def.pose.position[1] = y;
    def.pose.position[2] = z;
    return def;
}

psv_body_id add_body(stage *s, const psv_body_def *def) {
    psv_body_id id;
    check(s, psv_create_bodies(s->world, def, 1, &id));
    return id;
}

psv_body_id add_box_floor(stage *s, float half_width, float friction, float restitution) {
    psv_shape_def shape = shape_of(PSV_SHAPE_BOX, half_width, half_width, half_width);
    shape.friction = friction;
    shape.restitution = restitution;
    psv_body_def body = body_at(add_shape(s, &shape), 0, -half_width, 0);
    body.is_static = true;
    return add_body(s, &body);
}

psv_body_state state_of(stage *s, psv_body_id id) {
    psv_body_state state;
    check(s, psv_get_body_state(s->world, id, &state));
    return state;
}

void step(stage *s, int frames) {
    for (int i = 0; i < frames; ++i)
        check(s, psv_world_step(s->world, FRAME));
}

int run_stage_tests(int argc, char **argv, const char *name, const struct CMUnitTest *tests, size_t count) {
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (argc > 2) cmocka_set_test_filter(argv[2]);
    if (!psv_backend_available(backend)) {
        (void)printf("no %s device here: skipped\n", psv_backend_name(backend));
        return 77;
    }
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}
