// Sleepers that are hit: they are awake in the step of the hit, so momentum goes on into them. The oracle is momentum,
// which a floor without friction cannot take, and the same world that does not sleep.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "../own_file.h"
#include "stage.h"

typedef enum target { BOX, TOWER, WALL, ROW, TWINS, TARGETS } target;
static const char *const target_names[TARGETS] = {"box", "tower", "wall", "row", "twins"};

typedef struct hit_case {
    target target;
    psv_shape_type projectile;
    float speed, restitution, half; // of the projectile
    float height;                   // of its middle
    bool last;                      // frames count from the hit on until the projectile has hit all of a row
} hit_case;

#define MOST 16
#define FRAMES 24 // what drifts more slowly than bodies sleep is asleep again half a second after the hit

typedef struct range {
    stage s;
    psv_body_id body[MOST], projectile;
    int count;
} range;

static uint64_t asleep(stage *s) {
    psv_world_counters counters;
    check(s, psv_read_world_counters(s->world, &counters));
    return counters.asleep;
}

static void add_box(range *r, uint32_t shape, float x, float y, float z) {
    const psv_body_def body = body_at(shape, x, y, z);
    r->body[r->count++] = add_body(&r->s, &body);
}

static void add_target(range *r, uint32_t shape, target t) {
    if (t == BOX) add_box(r, shape, 0, 0.25f, 0);
    for (int i = 0; t == TOWER && i < 5; ++i)
        add_box(r, shape, 0, 0.25f + 0.5f * (float)i, 0);
    for (int i = 0; t == WALL && i < 12; ++i)
        add_box(r, shape, 0, 0.25f + 0.5f * (float)(i / 3), (float)(i % 3 - 1) * 0.5f);
    for (int i = 0; t == ROW && i < 6; ++i) // each an island, nearer to the next than a contact's margin
        add_box(r, shape, 0.502f * (float)i, 0.25f, 0);
    for (int i = 0; t == TWINS && i < 6; ++i)
        add_box(r, shape, 0.502f * (float)(i / 3), 0.25f + 0.5f * (float)(i % 3), 0);
}

// A target that has stood for a second, and sleeps if it may.
static range make_range(const hit_case *c, bool sleeps) {
    psv_world_def def = stage_def(64);
    def.sleeping = sleeps;
    def.contact_events = true;
    range r = {.s = make_stage(&def)};
    (void)add_box_floor(&r.s, 500, 0, 0);
    psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.25f, 0.25f, 0.25f);
    box.friction = 0;
    box.restitution = c->restitution;
    add_target(&r, add_shape(&r.s, &box), c->target);
    step(&r.s, 60);
    if (sleeps) assert_true(asleep(&r.s) == (uint64_t)r.count);
    return r;
}

static uint32_t projectile_shape(stage *s, const hit_case *c) {
    static const float corners[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    float scaled[6][3];
    for (int i = 0; i < 18; ++i)
        scaled[i / 3][i % 3] = corners[i / 3][i % 3] * c->half;
    psv_shape_def shape = shape_of(c->projectile, c->half, c->half, c->half);
    psv_shape_child parts[2] = {0};
    for (int i = 0; i < 2; ++i) {
        parts[i].type = PSV_SHAPE_SPHERE;
        parts[i].size[0] = c->half / 2;
        parts[i].pose.position[0] = (float)(2 * i - 1) * c->half / 2;
        parts[i].pose.rotation[3] = 1;
    }
    if (c->projectile == PSV_SHAPE_CAPSULE) shape.size[0] = shape.size[1] = c->half / 2;
    if (c->projectile == PSV_SHAPE_HULL) {
        shape.vertices = &scaled[0][0];
        shape.vertex_count = 6;
    }
    if (c->projectile == PSV_SHAPE_COMPOUND) {
        shape.children = parts;
        shape.child_count = 2;
    }
    shape.friction = 0;
    shape.restitution = c->restitution;
    return add_shape(s, &shape);
}

static void shoot(range *r, const hit_case *c) {
    const float gap = fminf(0.01f + c->speed / 20, 1.0f);
    const float share = c->projectile == PSV_SHAPE_BOX ? 1.19f : c->projectile == PSV_SHAPE_COMPOUND ? 0.52f : 1;
    const float turn[4] = {0.0706f, 0.0706f, 0.7036f, 0.7036f}; // no face meets a face, no capsule lies along one
    psv_body_def body = body_at(projectile_shape(&r->s, c), -0.25f - gap - share * c->half, c->height, 0.03f);
    memcpy(body.pose.rotation, turn, sizeof turn);
    body.velocity[0] = c->speed;
    r->projectile = add_body(&r->s, &body);
}

static double momentum_along(range *r) {
    double energy, momentum[3];
    check(&r->s, psv_world_energy(r->s.world, &energy, momentum));
    return momentum[0];
}

// Middle of all bodies of the target, and how far the projectile is.
static double mean_place(range *r) {
    double sum = 0;
    for (int i = 0; i < r->count; ++i)
        sum += (double)state_of(&r->s, r->body[i]).pose.position[0];
    return sum / r->count;
}

// Whether the hit goes on into the target as it does where nobody sleeps.
static bool goes_on(const hit_case *c) {
    range one = make_range(c, true), other = make_range(c, false);
    const double rest = mean_place(&one);
    shoot(&one, c);
    shoot(&other, c);
    const double before = momentum_along(&one);
    double lost = 0, apart = 0, ahead = 0;
    for (int i = 0; i < FRAMES; ++i) {
        step(&one.s, 1);
        step(&other.s, 1);
        lost = fmax(lost, fabs(momentum_along(&one) - before));
        apart = fmax(apart, fabs(mean_place(&one) - mean_place(&other)));
        ahead = fmax(ahead, fabs((double)state_of(&one.s, one.projectile).pose.position[0] -
                                 (double)state_of(&other.s, other.projectile).pose.position[0]));
    }
    const double path = fabs(mean_place(&other) - rest), way = (double)c->speed * FRAMES / 60;
    const bool good = lost <= 2e-3 * before && apart <= 0.15 * path + 1e-3 && ahead <= 0.15 * way + 1e-3 && path > 1e-6;
    if (!good)
        (void)printf("%s, shape %d, %g m/s, restitution %g: %.4f of the momentum lost, %.4f m apart of %.4f m, "
                     "projectile %.4f m of %.4f m\n",
                     target_names[c->target], (int)c->projectile, (double)c->speed, (double)c->restitution,
                     lost / before, apart, path, ahead, way);
    end_stage(&one.s);
    end_stage(&other.s);
    return good;
}

static void hits_go_on(void **unused) {
    (void)unused;
    static const psv_shape_type shapes[] = {PSV_SHAPE_SPHERE, PSV_SHAPE_BOX, PSV_SHAPE_CAPSULE, PSV_SHAPE_HULL,
                                            PSV_SHAPE_COMPOUND};
    static const float speeds[] = {0.08f, 0.7f, 3, 20, 100}, restitutions[] = {0, 0.5f, 0.9f};
    int wrong = 0, n = 0;
    for (int t = 0; t < TARGETS; ++t)
        for (int k = 0; k < 5; ++k, ++n) {
            const float half = 0.2f;
            const bool high = (t == TOWER || t == WALL) && speeds[k] >= 3;
            const hit_case c = {.target = (target)t,
                                .projectile = shapes[(k + t) % 5],
                                .speed = speeds[k],
                                .restitution = restitutions[n % 3],
                                .half = half,
                                .height = high ? 0.75f : half};
            wrong += !goes_on(&c);
        }
    assert_int_equal(wrong, 0);
}

// A body that lies on a sleeper, touches it more slowly than bodies sleep or only passes by does not wake it.
static void what_does_not_hit_wakes_nobody(void **unused) {
    (void)unused;
    static const struct {
        float z, speed;
        bool wakes;
    } cases[] = {{0, 0.03f, false}, {0.46f, 20, false}, {0.44f, 20, true}, {0, 0.08f, true}};
    for (int i = 0; i < 4; ++i) {
        const hit_case c = {.target = TOWER, .projectile = PSV_SHAPE_SPHERE, .half = 0.2f, .height = 0.2f};
        range r = make_range(&c, true);
        psv_body_def body = body_at(projectile_shape(&r.s, &c), -0.454f, 0.2f, cases[i].z);
        body.velocity[0] = cases[i].speed;
        (void)add_body(&r.s, &body);
        uint64_t least = MOST;
        for (int k = 0; k < 20; ++k) {
            step(&r.s, 1);
            const uint64_t now = asleep(&r.s);
            least = now < least ? now : least;
        }
        assert_int_equal(least == 0, cases[i].wakes);
        assert_true(least == 0 || least >= 5);
        end_stage(&r.s);
    }
}

// What a kinematic body drives into leaves as it does where nobody sleeps, and has not been entered.
static void kinematic_bodies_hit(void **unused) {
    (void)unused;
    for (int fast = 0; fast < 3; ++fast) {
        const float speed = fast == 0 ? 0.5f : fast == 1 ? 5 : 40;
        const hit_case c = {.target = fast == 0 ? ROW : TWINS, .speed = speed};
        range one = make_range(&c, true), other = make_range(&c, false);
        range *both[2] = {&one, &other};
        for (int k = 0; k < 2; ++k) {
            const psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.3f, 0.3f, 0.3f);
            psv_body_def body = body_at(add_shape(&both[k]->s, &box), -0.56f - speed / 25, 0.31f, 0);
            body.is_kinematic = true;
            body.velocity[0] = speed;
            both[k]->projectile = add_body(&both[k]->s, &body);
        }
        for (int i = 0; i < 20; ++i) {
            step(&one.s, 1);
            step(&other.s, 1);
            const double x = (double)state_of(&one.s, one.body[0]).pose.position[0];
            assert_true(x - 0.55 > (double)state_of(&one.s, one.projectile).pose.position[0] - 0.01);
            assert_true(fabs(x - (double)state_of(&other.s, other.body[0]).pose.position[0]) <
                        0.12 * (double)speed * (i + 1) / 60 + 1e-3);
        }
        assert_true((double)state_of(&one.s, one.body[0]).velocity[0] > 0.9 * (double)speed);
        end_stage(&one.s);
        end_stage(&other.s);
    }
}

// The step of the hit reports it, once, with its speed.
static void the_hit_is_an_event(void **unused) {
    (void)unused;
    const hit_case c = {.target = BOX, .projectile = PSV_SHAPE_SPHERE, .speed = 6, .half = 0.2f, .height = 0.25f};
    range r = make_range(&c, true);
    shoot(&r, &c);
    int hits = 0;
    for (int i = 0; i < 8; ++i) {
        step(&r.s, 1);
        (void)asleep(&r.s); // all steps have happened
        psv_event_counts counts;
        psv_hit_event hit[4];
        check(&r.s, psv_download(r.s.context, &counts, psv_world_event_counts(r.s.world), sizeof counts));
        assert_true(counts.hits <= 1);
        if (counts.hits == 0) continue;
        check(&r.s, psv_download(r.s.context, hit, psv_world_hit_events(r.s.world), sizeof *hit));
        ++hits;
        assert_true(fabs((double)hit->speed - 6) < 0.01 && hit->impulse > 1);
    }
    assert_int_equal(hits, 1);
    end_stage(&r.s);
}

// --- the same bytes --------------------------------------------------------------------------------------------------

#define LAST 80

// Towers, chairs of a sort and hulls, in two sub-worlds, asleep; and what is under way to them, to hit at many moments.
static psv_world *make_crowd(psv_context *context) {
    psv_world_def def = stage_def(256);
    def.sleeping = true;
    def.sub_world_count = 2;
    def.max_contacts = 300; // grows within the hits
    stage s = {context, NULL};
    check(&s, psv_create_world(context, &def, &s.world));
    const hit_case hull = {.projectile = PSV_SHAPE_HULL, .half = 0.25f},
                   pair = {.projectile = PSV_SHAPE_COMPOUND, .half = 0.25f},
                   ball = {.projectile = PSV_SHAPE_SPHERE, .half = 0.2f, .restitution = 0.4f};
    const psv_shape_def box = shape_of(PSV_SHAPE_BOX, 0.25f, 0.25f, 0.25f), slab = shape_of(PSV_SHAPE_BOX, 50, 1, 50);
    const uint32_t shapes[4] = {add_shape(&s, &box), projectile_shape(&s, &hull), projectile_shape(&s, &pair),
                                projectile_shape(&s, &ball)};
    const uint32_t floor = add_shape(&s, &slab);
    for (uint32_t w = 0; w < 2; ++w) {
        psv_body_def body = body_at(floor, 0, -1, 0);
        body.is_static = true;
        body.sub_world = w;
        (void)add_body(&s, &body);
        for (int i = 0; i < 36; ++i) {
            body = body_at(shapes[i % 9 == 8 ? 2 : 0], 0.505f * (float)(i / 3 % 4), 0.25f + 0.5f * (float)(i % 3),
                           1.5f * (float)(i / 12) + 0.1f * (float)w);
            if (i % 9 == 8) body.pose.position[1] -= 0.125f;
            body.sub_world = w;
            (void)add_body(&s, &body);
        }
    }
    for (int i = 0; i < 90; ++i)
        check(&s, psv_world_step(s.world, FRAME));
    psv_world_counters counters;
    check(&s, psv_read_world_counters(s.world, &counters));
    assert_true(counters.asleep > 60);
    for (int i = 0; i < 12; ++i) {
        psv_body_def body = body_at(shapes[i % 2 == 0 ? 3 : 1], -1.5f - 0.8f * (float)i, 0.5f + 0.05f * (float)i,
                                    1.5f * (float)(i % 3));
        body.velocity[0] = 4 + (float)(i % 5) * 6;
        body.velocity[1] = 1;
        body.sub_world = (uint32_t)i % 2;
        (void)add_body(&s, &body);
    }
    return s.world;
}

static psv_context *context_of(psv_backend backend, int workers) {
    psv_context *context = NULL;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = workers;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    return context;
}

static uint64_t hash_of(psv_world *world) {
    uint64_t hash = 0;
    assert_int_equal(psv_world_hash(world, &hash), PSV_OK);
    return hash;
}

// Hits have the same bytes on each backend, whether the host looks at each step or at none, and after a return to a
// kept state or a snapshot of a frame among them.
static void hits_repeat(void **unused) {
    (void)unused;
    psv_context *cpu = context_of(PSV_BACKEND_CPU, 1),
                *other = context_of(on_cuda() ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU, on_cuda() ? 0 : 3);
    psv_world *plain = make_crowd(cpu), *looked = make_crowd(other), *blind = make_crowd(other), *restored = NULL;
    const char *path = own_snapshot("test_sleeper_hits");
    uint64_t hash[LAST], least = UINT64_MAX;
    assert_int_equal(psv_world_reserve_states(looked, 1), PSV_OK);
    for (int i = 0; i < LAST; ++i) {
        psv_world_counters counters;
        assert_int_equal(psv_world_step(plain, FRAME), PSV_OK);
        assert_int_equal(psv_world_step(blind, FRAME), PSV_OK);
        hash[i] = hash_of(plain);
        if (i == 20) assert_int_equal(psv_world_keep(looked, 0), PSV_OK);
        if (i == 25) assert_int_equal(psv_save_snapshot(looked, path), PSV_OK);
        assert_int_equal(psv_world_step(looked, FRAME), PSV_OK);
        if (hash_of(looked) != hash[i]) fail_msg("frame %d differs", i);
        assert_int_equal(psv_read_world_counters(plain, &counters), PSV_OK);
        least = counters.asleep < least ? counters.asleep : least;
    }
    assert_true(least < 40); // there were hits
    assert_true(hash_of(blind) == hash[LAST - 1]);
    assert_int_equal(psv_restore_snapshot(other, path, &restored), PSV_OK);
    (void)remove(path);
    assert_int_equal(psv_world_return(looked, 0), PSV_OK);
    for (int i = 20; i < LAST; ++i) {
        assert_int_equal(psv_world_step(looked, FRAME), PSV_OK);
        assert_true(hash_of(looked) == hash[i]);
        if (i < 25) continue;
        assert_int_equal(psv_world_step(restored, FRAME), PSV_OK);
        assert_true(hash_of(restored) == hash[i]);
    }
    psv_destroy_world(restored);
    psv_destroy_world(blind);
    psv_destroy_world(looked);
    psv_destroy_world(plain);
    psv_destroy_context(other);
    psv_destroy_context(cpu);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_go_on),           cmocka_unit_test(what_does_not_hit_wakes_nobody),
        cmocka_unit_test(kinematic_bodies_hit), cmocka_unit_test(the_hit_is_an_event),
        cmocka_unit_test(hits_repeat),
    };
    return RUN_TESTS(argc, argv, "sleeper hits", tests);
}
