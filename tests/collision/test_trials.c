// The trials of «auto»: which choice runs in each frame of made-up scenes, where what both choices take is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collision/src/trials.h"

#define LEAST_MS 0.25

typedef struct scene {
    double ms[2];     // of each choice once it has learned
    double learning;  // factor of the first choice in the first frames that it sees of a scene
    uint32_t lessons; // such frames
    uint64_t pairs;
    double noise; // every third frame is as much longer
} scene;

typedef struct machine {
    psvi_trials trials;
    uint32_t delay; // frames until marks can be read
    psvi_trial_sample sample;
    uint32_t waits; // frames until the sample is there; 0: the clock is free
    uint32_t lessons;
    uint32_t frame;
} machine;

typedef struct counts {
    uint32_t of[2];                        // frames of each choice
    uint32_t last_of_first, last_of_other; // frames of the run, from 1; 0: none
} counts;

static double time_of(const machine *m, const scene *s, uint32_t choice) {
    double ms = s->ms[choice];
    if (choice == PSVI_FIRST_CHOICE && m->lessons < s->lessons) ms *= s->learning;
    return m->frame % 3 == 0 ? ms * (1 + s->noise) : ms;
}

// Another scene than in the run before.
static counts run(machine *m, const scene *s, uint32_t frames) {
    counts c = {{0, 0}, 0, 0};
    m->lessons = 0;
    for (uint32_t i = 1; i <= frames; ++i, ++m->frame) {
        if (m->waits > 0 && --m->waits == 0) psvi_learn_time(&m->trials, &m->sample, LEAST_MS);
        const psvi_trial_turn turn = psvi_next_turn(&m->trials, m->waits == 0);
        ++c.of[turn.choice];
        *(turn.choice == PSVI_FIRST_CHOICE ? &c.last_of_first : &c.last_of_other) = i;
        if (turn.timed) {
            m->sample = (psvi_trial_sample){turn.choice, 1000000, s->pairs, time_of(m, s, turn.choice)};
            m->waits = m->delay;
        }
        m->lessons += turn.choice == PSVI_FIRST_CHOICE;
    }
    return c;
}

static const scene even = {{0.09, 0.25}, 3, 3, 1760000, 0};
static const scene needles = {{0.30, 0.45}, 1.3, 2, 110000, 0};
static const scene power = {{0.31, 0.24}, 1.8, 2, 800000, 0};
static const scene mesh = {{1.46, 1.09}, 1.2, 1, 4000000, 0};

#define each_delay(m) for (machine m = {.delay = 1}; m.delay <= 4; m = (machine){.delay = m.delay + 1})

static void test_even_scenes_are_never_tried(void **state) {
    (void)state;
    each_delay(m) assert_int_equal(run(&m, &even, 5000).of[PSVI_OTHER_CHOICE], 0);
}

static void test_a_trial_in_vain_is_rare(void **state) {
    (void)state;
    each_delay(m) {
        const counts c = run(&m, &needles, 10000);
        assert_in_range(c.of[PSVI_OTHER_CHOICE], PSVI_TRIAL_FRAMES, 16 * PSVI_TRIAL_FRAMES);
    }
}

static void test_the_faster_one_is_kept(void **state) {
    (void)state;
    const scene *const scenes[] = {&power, &mesh};
    for (int i = 0; i < 2; ++i)
        each_delay(m) {
            const counts first = run(&m, scenes[i], 60);
            assert_in_range(first.of[PSVI_FIRST_CHOICE], 1, 24 + 6 * m.delay);
            m.lessons = 100;
            const counts c = run(&m, scenes[i], 10000);
            assert_in_range(c.of[PSVI_FIRST_CHOICE], 0, 16 * PSVI_TRIAL_RETURN);
        }
}

static void test_another_scene_ends_it(void **state) {
    (void)state;
    each_delay(m) {
        run(&m, &power, 200);
        assert_int_equal(m.trials.kept, PSVI_OTHER_CHOICE);
        const counts c = run(&m, &even, 1000); // the other choice takes as long as before
        assert_in_range(c.last_of_other, 1, 3 * m.delay + PSVI_TRIAL_RETURN + PSVI_TRIAL_LOOK_OTHER);
        assert_in_range(c.of[PSVI_OTHER_CHOICE], 1, 3 * m.delay + PSVI_TRIAL_LOOK_OTHER);
        assert_in_range(run(&m, &power, 1000).of[PSVI_FIRST_CHOICE], 1, 100);
        assert_int_equal(m.trials.kept, PSVI_OTHER_CHOICE);
    }
}

// What the first choice takes in frames after a change is not what it takes.
static void test_learning_is_not_slowness(void **state) {
    (void)state;
    const scene slow_start = {{0.20, 0.26}, 2.5, 3, 1000000, 0};
    each_delay(m) {
        if (m.delay > 1) break; // with a longer one frames that learn are not seen three times
        for (int turn = 0; turn < 50; ++turn) {
            run(&m, &even, 37 + turn);
            run(&m, &slow_start, 41);
            assert_int_equal(m.trials.kept, PSVI_FIRST_CHOICE);
        }
    }
}

static void test_noise_is_not_change(void **state) {
    (void)state;
    scene noisy = power, in_vain = needles;
    noisy.noise = 0.07;
    in_vain.noise = 0.07;
    each_delay(m) {
        run(&m, &noisy, 100);
        assert_int_equal(m.trials.kept, PSVI_OTHER_CHOICE);
        assert_in_range(run(&m, &noisy, 5000).of[PSVI_FIRST_CHOICE], 0, 12 * PSVI_TRIAL_RETURN);
    }
    each_delay(m) assert_in_range(run(&m, &in_vain, 5000).of[PSVI_OTHER_CHOICE], 1, 12 * PSVI_TRIAL_FRAMES);
}

// Times that never rest: the price is bounded by the pauses.
static void test_restless_times(void **state) {
    (void)state;
    scene restless = needles;
    restless.noise = 0.3;
    each_delay(m) assert_in_range(run(&m, &restless, 10000).of[PSVI_OTHER_CHOICE], 1, 800);
}

// The scene changes in the midst of a trial: its time is not compared with the other scene's.
static void test_change_in_a_trial(void **state) {
    (void)state;
    const scene slow = {{1.0, 2.3}, 1, 0, 400000, 0};
    each_delay(m) {
        for (uint32_t frames = 1; frames < 60; ++frames) {
            machine fresh = {.delay = m.delay};
            run(&fresh, &slow, frames);
            run(&fresh, &even, 30);
            assert_int_equal(fresh.trials.kept, PSVI_FIRST_CHOICE);
        }
    }
}

// Two scenes in turns, each better off with another choice: changing to and fro is bounded too.
static void test_scenes_in_turns(void **state) {
    (void)state;
    each_delay(m) {
        uint32_t changes = 0, kept = 0;
        for (int turn = 0; turn < 5000; ++turn) {
            run(&m, turn % 2 == 0 ? &even : &mesh, 1);
            changes += m.trials.kept != kept;
            kept = m.trials.kept;
        }
        assert_in_range(changes, 0, 250);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_scenes_are_never_tried),
        cmocka_unit_test(test_a_trial_in_vain_is_rare),
        cmocka_unit_test(test_the_faster_one_is_kept),
        cmocka_unit_test(test_another_scene_ends_it),
        cmocka_unit_test(test_learning_is_not_slowness),
        cmocka_unit_test(test_noise_is_not_change),
        cmocka_unit_test(test_restless_times),
        cmocka_unit_test(test_scenes_in_turns),
        cmocka_unit_test(test_change_in_a_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
