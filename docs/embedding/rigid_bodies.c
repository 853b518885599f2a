// The simulation: a ground, a stack of boxes, a ball that is thrown at it; then where they are.
#include <math.h>
#include <pairsieve/sim.h>
#include <stdio.h>

#define BOXES 5u

static uint32_t make_shape(psv_world *world, psv_shape_type type, float size) {
    psv_shape_def def = psv_default_shape_def();
    uint32_t shape = 0;
    def.type = type;
    def.size[0] = def.size[1] = def.size[2] = size; // a radius, or half extents
    if (psv_create_shape(world, &def, &shape) != PSV_OK) printf("%s\n", psv_last_error(psv_world_context(world)));
    return shape;
}

static psv_body_def body_at(uint32_t shape, float x, float y) {
    psv_body_def def = psv_default_body_def();
    def.shape = shape;
    def.pose.position[0] = x;
    def.pose.position[1] = y;
    return def;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_world_def def = psv_default_world_def();
    psv_world *world = NULL;
    def.max_bodies = 100;
    if (psv_create_world(context, &def, &world) != PSV_OK) return printf("%s\n", psv_last_error(context));

    const uint32_t box = make_shape(world, PSV_SHAPE_BOX, 0.5f), ball = make_shape(world, PSV_SHAPE_SPHERE, 0.4f);
    psv_body_def bodies[BOXES + 2];
    psv_body_id ids[BOXES + 2];
    bodies[0] = body_at(make_shape(world, PSV_SHAPE_PLANE, 1), 0, 0);
    float height = 0.5f;
    for (uint32_t i = 0; i < BOXES; ++i, ++height)
        bodies[1 + i] = body_at(box, 0, height);
    bodies[BOXES + 1] = body_at(ball, -8, 4);
    bodies[BOXES + 1].velocity[0] = 20;
    if (psv_create_bodies(world, bodies, BOXES + 2, ids) != PSV_OK) return printf("%s\n", psv_last_error(context));

    for (int frame = 0; frame < 180; ++frame)
        if (psv_world_step(world, 1.0f / 60) != PSV_OK) return printf("%s\n", psv_last_error(context));
    psv_body_state states[BOXES + 2];
    if (psv_get_body_states(world, ids, BOXES + 2, states) != PSV_OK) return printf("%s\n", psv_last_error(context));
    float highest = 0, lowest = 100;
    for (uint32_t i = 1; i < BOXES + 2; ++i) {
        const float *at = states[i].pose.position;
        printf("%s at %.2f %.2f %.2f\n", i <= BOXES ? "box" : "ball", at[0], at[1], at[2]);
        highest = fmaxf(highest, at[1]);
        lowest = fminf(lowest, at[1]);
    }
    psv_destroy_body(world, ids[BOXES + 1]); // its id is stale from now on
    const bool gone = !psv_body_is_valid(world, ids[BOXES + 1]);
    psv_destroy_world(world);
    psv_destroy_context(context);
    return gone && highest < 4.4f && lowest > 0.3f ? 0 : 1; // the stack was hit, and nothing is in the ground
}
