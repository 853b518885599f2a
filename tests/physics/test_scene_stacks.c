// The scenes of scenes/stacking: what has to stand stands for ten seconds, what has to fall falls.
#include <math.h>
#include <stdlib.h>

#include "stage.h"

typedef struct played {
    psv_context *context;
    psv_scene *scene;
    uint64_t slots;
    float (*before)[4], (*after)[4], (*turned)[4];
} played;

static void need(psv_context *context, psv_status status) {
    if (status != PSV_OK) fail_msg("%s: %s", psv_status_name(status), psv_last_error(context));
}

static void look(played *p, float (*target)[4], psv_buffer buffer) {
    psv_world_counters counters;
    need(p->context, psv_read_world_counters(psv_scene_world(p->scene), &counters)); // all steps have happened
    need(p->context, psv_download(p->context, target, buffer, p->slots * sizeof *target));
}

// `bodies` 0: as many as the scene says.
static played play(const char *name, uint64_t bodies, int frames) {
    char path[1024];
    played p = {0};
    psv_context_def def = psv_default_context_def();
    def.backend = on_cuda() ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU;
    need(NULL, psv_create_context(&def, &p.context));
    (void)snprintf(path, sizeof path, "%s/scenes/stacking/%s.json", PAIRSIEVE_SOURCE_DIR, name);
    psv_scene_options options = psv_default_scene_options();
    options.bodies = bodies;
    need(p.context, psv_load_scene(p.context, path, &options, &p.scene));
    psv_world *world = psv_scene_world(p.scene);
    p.slots = psv_world_slot_count(world);
    p.before = calloc(p.slots, sizeof *p.before);
    p.after = calloc(p.slots, sizeof *p.after);
    p.turned = calloc(p.slots, sizeof *p.turned);
    assert_true(p.before != NULL && p.after != NULL && p.turned != NULL);
    look(&p, p.before, psv_world_positions(world));
    for (int i = 0; i < frames; ++i)
        need(p.context, psv_scene_step(p.scene));
    look(&p, p.after, psv_world_positions(world));
    look(&p, p.turned, psv_world_rotations(world));
    return p;
}

static void end(played *p) {
    psv_destroy_scene(p->scene);
    psv_destroy_context(p->context);
    free(p->before);
    free(p->after);
    free(p->turned);
}

static double furthest(const played *p) {
    double most = 0;
    for (uint64_t i = 0; i < p->slots; ++i) {
        double squared = 0;
        for (int k = 0; k < 3; ++k) {
            const double d = (double)p->after[i][k] - (double)p->before[i][k];
            squared += d * d;
        }
        most = fmax(most, sqrt(squared));
    }
    return most;
}

// `part`: how far a body may have gone, metres: a small part of its size.
static void stands(const char *name, uint64_t bodies, double part) {
    played p = play(name, 0, 600);
    const double most = furthest(&p);
    print_message("%s: %d bodies, after 10 s the furthest is %.4f m from its place\n", name, (int)p.slots, most);
    assert_true(p.slots == bodies);
    assert_true(most < part);
    end(&p);
}

static void jenga_stands(void **unused) {
    (void)unused;
    stands("jenga", 1 + 54, 0.03);
}

static void card_house_stands(void **unused) {
    (void)unused;
    stands("card_house", 1 + 20 + 6, 0.03);
}

static void mixed_stacks_stand(void **unused) {
    (void)unused;
    stands("mixed_stacks", 1 + 40 + 3 + 2, 0.05);
}

// Its thickness is 0.27 of its radius: from 0.11 on a round arch stands (Heyman 1969).
static void arch_stands(void **unused) {
    (void)unused;
    stands("arch", 1 + 15, 0.01);
}

// A body's own y axis, upwards in the world: 1 standing, 0 lying.
static double upright(const float q[4]) { return 1 - 2 * ((double)(q[0] * q[0]) + (double)(q[2] * q[2])); }

static void dominoes_fall_one_after_another(void **unused) {
    (void)unused;
    if (on_cuda()) skip(); // nobody has seen the spiral fall there yet
    played early = play("../dominoes", 60, 60), late = play("../dominoes", 60, 600);
    int fallen = 0;
    for (uint64_t i = 1; i < late.slots; ++i)
        fallen += upright(late.turned[i]) < 0.7;
    print_message("after 1 s domino 20 stands at %.3f and the last at %.3f; after 10 s %d of 60 have fallen\n",
                  upright(early.turned[20]), upright(early.turned[60]), fallen);
    assert_true(early.slots == 61 && upright(early.turned[1]) < 0.9 && upright(early.turned[60]) > 0.9999);
    assert_true(fallen == 60);
    end(&early);
    end(&late);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jenga_stands),
        cmocka_unit_test(card_house_stands),
        cmocka_unit_test(mixed_stacks_stand),
        cmocka_unit_test(arch_stands),
        cmocka_unit_test(dominoes_fall_one_after_another),
    };
    return RUN_TESTS(argc, argv, "scene stacks", tests);
}
