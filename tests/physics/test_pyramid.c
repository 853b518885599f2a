// Tall and thin: a pyramid of 100 layers, one box thick (the large one of Box3D's benchmarks), and towers with coarse
// substeps. On springs whose load leans with the boxes they buckle, so they stand only while the points of contacts
// stay where they are. The oracle is where the boxes were put, and that nothing sways more and more.
#include <math.h>
#include <string.h>

#include "../test_scale.h"
#include "stage.h"

#define LAYERS 100
#define MOST_BOXES (LAYERS * (LAYERS + 1) / 2)

static bool for_long; // 60 s on the CPU too

typedef struct outcome {
    double side, across, fastest; // metres from the place, and in z; metres a second
} outcome;

static outcome look(stage *s, const psv_body_id *id, const psv_body_def *first, int boxes) {
    outcome r = {0};
    for (int i = 0; i < boxes; ++i) {
        psv_body_state now = state_of(s, id[i]);
        r.side = fmax(r.side, hypot((double)(now.pose.position[0] - first[i].pose.position[0]),
                                    (double)(now.pose.position[2] - first[i].pose.position[2])));
        r.across = fmax(r.across, fabs((double)(now.pose.position[2] - first[i].pose.position[2])));
        r.fastest =
            fmax(r.fastest, hypot(hypot((double)now.velocity[0], (double)now.velocity[1]), (double)now.velocity[2]));
    }
    return r;
}

static void large_pyramid_stands(void **unused) {
    (void)unused;
    static psv_body_id id[MOST_BOXES];
    static psv_body_def first[MOST_BOXES];
    psv_world_def def = stage_def(8000);
    def.substeps = 8;
    stage s = make_stage(&def);
    (void)add_box_floor(&s, 100, 0.6f, 0);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
    box.friction = 0.6f;
    const uint32_t shape = add_shape(&s, &box);
    int boxes = 0;
    for (int layer = 0; layer < LAYERS; ++layer)
        for (int i = 0; i < LAYERS - layer; ++i, ++boxes) {
            const float x = 1.02f * ((float)i - 0.5f * (float)(LAYERS - 1 - layer));
            const float off = 0.001f * (float)((boxes * 7) % 5 - 2); // or nothing would sway
            first[boxes] = body_at(shape, x, 0.5f + (float)layer, off);
            id[boxes] = add_body(&s, &first[boxes]);
        }
    const int seconds = test_scale() > 1 ? 1 : for_long || on_cuda() ? 60 : 10;
    step(&s, seconds * 60);
    const outcome all = look(&s, id, first, boxes), top = look(&s, id + boxes - 1, first + boxes - 1, 1);
    print_message("pyramid of %d boxes, %d s: the top %.4f m aside, all within %.4f m, %.4f m across; %.4f m/s\n",
                  boxes, seconds, top.side, all.side, all.across, all.fastest);
    // Tenths of a box after 60 s; what falls then sways 0.03 m across after 10.
    assert_true(top.side < 0.1 && all.across < (seconds > 10 ? 0.1 : 0.015));
    end_stage(&s);
}

static void coarse_towers_stand(void **unused) {
    (void)unused;
    static const int heights[] = {20, 40};
    for (int k = 0; k < 2; ++k) {
        const int boxes = heights[k], seconds = test_scale() > 1 ? 5 : 60;
        psv_world_def def = stage_def(64);
        def.substeps = 4;
        stage s = make_stage(&def);
        (void)add_box_floor(&s, 10, 0.6f, 0);
        psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.5f, 0.5f, 0.5f);
        box.friction = 0.6f;
        const uint32_t shape = add_shape(&s, &box);
        psv_body_id id[64];
        psv_body_def first[64];
        for (int i = 0; i < boxes; ++i) {
            first[i] = body_at(shape, 0, 0.5f + (float)i, 0);
            id[i] = add_body(&s, &first[i]);
        }
        step(&s, seconds * 60);
        const outcome r = look(&s, id, first, boxes);
        print_message("tower of %d boxes, 4 substeps, %d s: %.4f of a box aside, the fastest at %.4f m/s\n", boxes,
                      seconds, r.side, r.fastest);
        assert_true(r.side < 0.1);
        end_stage(&s);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_pyramid_stands),
        cmocka_unit_test(coarse_towers_stand),
    };
    for_long = argc == 3 && strcmp(argv[2], "long") == 0;
    return RUN_TESTS(for_long ? 2 : argc, argv, "pyramid", tests);
}
