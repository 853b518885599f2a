// The simulation as a game uses it: a ball falls on a box, contact events with the program's own data report it, and
// rays in bulk find the bodies around.
#include <math.h>
#include <pairsieve/sim.h>
#include <pairsieve/tree.h>
#include <stdio.h>

enum { GROUND = 100, BOX = 200, BALL = 300 }; // the program's own data

static psv_body_id add_body(psv_world *world, psv_shape_type type, float size, float height, uint64_t data) {
    psv_shape_def shape = psv_default_shape_def();
    psv_body_def body = psv_default_body_def();
    psv_body_id id = {0, 0};
    shape.type = type;
    shape.size[0] = shape.size[1] = shape.size[2] = size; // a radius, or half extents
    body.pose.position[1] = height;
    if (psv_create_shape(world, &shape, &body.shape) != PSV_OK || psv_create_bodies(world, &body, 1, &id) != PSV_OK ||
        psv_set_user_data(world, id, data) != PSV_OK)
        printf("%s\n", psv_last_error(psv_world_context(world)));
    return id;
}

// On the CPU the events lie in host memory.
static bool heard_ball_on_box(const psv_world *world, float *speed) {
    psv_event_counts counts;
    psv_context *context = psv_world_context(world);
    psv_hit_event hits[16];
    if (psv_download(context, &counts, psv_world_event_counts(world), sizeof counts) != PSV_OK) return false;
    const uint64_t count = counts.hits < 16 ? counts.hits : 16;
    if (count == 0 || psv_download(context, hits, psv_world_hit_events(world), count * sizeof *hits) != PSV_OK)
        return false;
    for (uint64_t i = 0; i < count; ++i)
        if (hits[i].user_a + hits[i].user_b == BALL + BOX) {
            *speed = hits[i].speed;
            return true;
        }
    return false;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_world_def def = psv_default_world_def();
    psv_world *world = NULL;
    def.max_bodies = 10;
    def.contact_events = true;
    if (psv_create_world(context, &def, &world) != PSV_OK) return printf("%s\n", psv_last_error(context));
    add_body(world, PSV_SHAPE_PLANE, 1, 0, GROUND);
    const psv_body_id box = add_body(world, PSV_SHAPE_BOX, 0.5f, 0.5f, BOX);
    add_body(world, PSV_SHAPE_SPHERE, 0.25f, 5, BALL);

    float speed = 0;
    int hit_frame = -1;
    for (int frame = 0; frame < 120 && hit_frame < 0; ++frame) {
        if (psv_world_step(world, 1.0f / 60) != PSV_OK) return printf("%s\n", psv_last_error(context));
        if (heard_ball_on_box(world, &speed)) hit_frame = frame;
    }
    printf("the ball hit the box in frame %d at %.2f m/s\n", hit_frame, speed);

    // Two rays: one meets the box from the side, one goes past it.
    psv_ray ray[2] = {{{-5, 0.5f, 0}, 0, {1, 0, 0}, 100}, {{-5, 0.5f, 3}, 0, {1, 0, 0}, 100}};
    psv_body_hit hit[2];
    const psv_query_set rays = psv_queries_of(psv_buffer_of(ray, sizeof ray), sizeof *ray, 2);
    if (psv_cast_rays(world, &rays, psv_buffer_of(hit, sizeof hit)) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    printf("the box is %.2f m away\n", hit[0].t);
    psv_destroy_world(world);
    psv_destroy_context(context);
    // From 5 m to 1.25 m: the root of 2 * 9.81 * 3.75, 8.58 m/s.
    return fabsf(speed - 8.58f) < 0.3f && hit[0].slot == box.index1 - 1 && fabsf(hit[0].t - 4.5f) < 0.02f &&
                   hit[1].slot == PSV_NO_ITEM
               ? 0
               : 1;
}
