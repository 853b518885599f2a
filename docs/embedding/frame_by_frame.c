// Boxes come and go each frame: one dense array of boxes, one of user data beside it, no handles. A pair gives two
// places in the arrays.
#include <pairsieve/collision.h>
#include <stdio.h>

#define MOST 1000u

typedef struct body {
    char name[8];
    float x, speed;
} body;

static body bodies[MOST];
static psv_aabb boxes[MOST]; // boxes[i] belongs to bodies[i]
static uint32_t body_count;

static void add_body(const char *name, float x, float speed) {
    (void)snprintf(bodies[body_count].name, sizeof bodies->name, "%s", name);
    bodies[body_count].x = x;
    bodies[body_count].speed = speed;
    ++body_count;
}

// Removes a body: the last one moves to its place. All boxes are written again each frame.
static void remove_body(uint32_t i) { bodies[i] = bodies[--body_count]; }

static void move_bodies(void) {
    for (uint32_t i = 0; i < body_count; ++i) {
        bodies[i].x += bodies[i].speed;
        for (int k = 0; k < 3; ++k) {
            boxes[i].min[k] = (k == 0 ? bodies[i].x : 0) - 0.5f;
            boxes[i].max[k] = (k == 0 ? bodies[i].x : 0) + 0.5f;
        }
    }
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = MOST; // room, taken once; a frame with fewer boxes costs less
    def.max_pairs = 8 * MOST;
    def.sort_output = true; // the same order on every machine
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    add_body("left", 0, 0.75f);
    add_body("right", 5, -0.75f);
    uint64_t met = 0;
    for (int frame = 0; frame < 8; ++frame) {
        if (frame == 3) add_body("new", 2.5f, 0);
        if (frame == 6) remove_body(0);
        move_bodies();
        psv_pair pairs[8 * MOST];
        uint64_t count = 0;
        const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, body_count);
        if (psv_find_pairs(finder, &set) != PSV_OK || psv_read_pairs(finder, pairs, 8 * MOST, &count) != PSV_OK)
            return printf("%s\n", psv_last_error(context));
        for (uint64_t p = 0; p < count; ++p)
            printf("frame %d: %s meets %s\n", frame, bodies[pairs[p].a].name, bodies[pairs[p].b].name);
        met += count;
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return met == 4 ? 0 : 1;
}
