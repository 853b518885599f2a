// Frames for readers: threads read the newest frame while the next ones are made, and each frame that they open is
// whole: its boxes are those that were published under its number, its pairs and the answers to queries are those that
// a test of all boxes gives, and nothing changes until it is closed.
//   test_readers [--seed N] [--frames N] [--readers N]
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <pairsieve/readers.h>

#include "../cases/box_hash.h"
#include "../cases/check_call.h"
#include "../test_scale.h"

#define MOST 400u
#define MOST_PAIRS 40000u
#define MOST_FRAMES 5000u
#define MOST_READERS 14u
#define NEAREST 4u

static psv_context *context;
static uint64_t base_seed = 20261127;
static uint32_t frame_count = 300, reader_count = 8;

static uint32_t draw(uint64_t *random, uint32_t below) {
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*random >> 33) % below);
}

static float draw_float(uint64_t *random, float most) {
    return most * (float)draw(random, 1u << 20) / (float)(1u << 20);
}

// --- the writer's side -----------------------------------------------------------------------------------------------

typedef struct scene {
    uint64_t random;
    psv_aabb boxes[MOST];
    uint8_t flags[MOST];
    uint32_t moved[MOST];
    uint64_t count, kept, version, moved_count;
    psv_pair_finder *finder;
    psv_readers *readers;
    uint64_t hashes[MOST_FRAMES]; // of the boxes and flags of each frame, by its number
    uint64_t published;
} scene;

static void place_box(scene *s, uint64_t i) {
    for (int axis = 0; axis < 3; ++axis) {
        s->boxes[i].min[axis] = draw_float(&s->random, 20);
        s->boxes[i].max[axis] = s->boxes[i].min[axis] + draw_float(&s->random, draw(&s->random, 30) == 0 ? 15 : 3);
    }
    if (draw(&s->random, 100) == 0) s->boxes[i].min[draw(&s->random, 3)] = NAN;
    s->flags[i] = draw(&s->random, 12) == 0 ? PSV_BOX_DISABLED : 0;
}

static void change_scene(scene *s) {
    s->moved_count = 0;
    if (draw(&s->random, 40) == 0) { // another number of boxes
        const uint64_t old = s->count;
        s->count = s->kept = MOST / 2 + draw(&s->random, MOST / 2);
        for (uint64_t i = old; i < s->count; ++i)
            place_box(s, i);
    }
    if (draw(&s->random, 50) == 0) { // all may change
        ++s->version;
        for (uint64_t i = 0; i < s->count; ++i)
            place_box(s, i);
        return;
    }
    if (draw(&s->random, 30) == 0) s->kept = s->count - draw(&s->random, 10);
    for (uint32_t k = draw(&s->random, 12); k > 0; --k) {
        const uint32_t i = draw(&s->random, (uint32_t)s->count);
        place_box(s, i);
        s->moved[s->moved_count++] = i;
    }
    for (uint64_t i = s->kept; i < s->count; ++i)
        place_box(s, i); // without being named
}

static psv_box_set set_of(scene *s) {
    psv_box_set set = psv_boxes_of(psv_buffer_of(s->boxes, sizeof s->boxes), sizeof *s->boxes, s->count);
    set.flags = psv_buffer_of(s->flags, sizeof s->flags);
    set.kept = s->kept;
    set.kept_version = s->version;
    set.moved = psv_buffer_of(s->moved, sizeof s->moved);
    set.moved_count = s->moved_count;
    return set;
}

static scene *make_scene(uint32_t frames) {
    scene *s = calloc(1, sizeof *s);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_readers_def readers = psv_default_readers_def();
    s->random = base_seed;
    s->count = s->kept = MOST - 50;
    for (uint64_t i = 0; i < s->count; ++i)
        place_box(s, i);
    def.max_boxes = def.max_kept = readers.max_boxes = MOST;
    def.max_pairs = readers.max_pairs = MOST_PAIRS;
    readers.frames = frames;
    CHECK(psv_create_pair_finder(context, &def, &s->finder));
    CHECK(psv_create_readers(context, &readers, &s->readers));
    return s;
}

static void free_scene(scene *s) {
    psv_destroy_readers(s->readers);
    psv_destroy_pair_finder(s->finder);
    free(s);
}

// Whether it could be published: all copies may be read just now.
static bool publish(scene *s) {
    const psv_box_set set = set_of(s);
    CHECK(psv_find_pairs(s->finder, &set));
    s->hashes[s->published + 1] = hash_of_boxes(s->boxes, s->count);
    const psv_status status = psv_publish_frame(s->readers, s->finder, &set);
    if (status != PSV_ERROR_CAPACITY) CHECK(status);
    s->published += status == PSV_OK;
    return status == PSV_OK;
}

// --- the oracle ------------------------------------------------------------------------------------------------------

// On reader threads nothing of the test library may be called: the first failure is returned as text.
typedef struct reading {
    const psv_reader_frame *frame;
    const uint8_t *flags; // NULL on readers' threads: a disabled box is one that no query finds
    uint64_t random;
} reading;

static bool is_good(const psv_aabb *box) {
    return box->min[0] <= box->max[0] && box->min[1] <= box->max[1] && box->min[2] <= box->max[2];
}

static bool touch(const psv_aabb *a, const psv_aabb *b) {
    for (int axis = 0; axis < 3; ++axis)
        if (!(a->min[axis] <= b->max[axis] && b->min[axis] <= a->max[axis])) return false;
    return true;
}

// Which boxes take part, by a query with a box around all of them.
static bool list_live(const reading *r, uint8_t *live) {
    const psv_aabb all = {{-1e9f, -1e9f, -1e9f}, {1e9f, 1e9f, 1e9f}};
    uint32_t items[MOST];
    memset(live, 0, MOST);
    const uint32_t count = psv_frame_touching(r->frame, &all, items, MOST);
    for (uint32_t i = 0; i < count; ++i) {
        if (items[i] >= r->frame->box_count || live[items[i]] != 0 || !is_good(&r->frame->boxes[items[i]]))
            return false;
        live[items[i]] = 1;
    }
    for (uint64_t i = 0; i < r->frame->box_count && r->flags != NULL; ++i)
        if (live[i] != (is_good(&r->frame->boxes[i]) && r->flags[i] == 0)) return false;
    return true;
}

static const char *check_pairs(const reading *r, const uint8_t *live) {
    const psv_reader_frame *frame = r->frame;
    uint64_t expected = 0;
    for (uint64_t i = 0; i < frame->box_count; ++i)
        for (uint64_t j = i + 1; j < frame->box_count && live[i]; ++j)
            expected += live[j] && touch(&frame->boxes[i], &frame->boxes[j]);
    if (frame->pair_count != expected) return "number of pairs";
    for (uint64_t p = 0; p < frame->pair_count; ++p) {
        const psv_pair pair = frame->pairs[p];
        if (pair.a >= pair.b || pair.b >= frame->box_count || !live[pair.a] || !live[pair.b] ||
            !touch(&frame->boxes[pair.a], &frame->boxes[pair.b]))
            return "a pair";
    }
    return NULL;
}

// Where a ray along an axis enters the box; infinite: it does not.
static double enters(const psv_aabb *box, const psv_ray *ray, int axis) {
    for (int other = 0; other < 3; ++other)
        if (other != axis && !(box->min[other] <= ray->origin[other] && ray->origin[other] <= box->max[other]))
            return INFINITY;
    if (ray->origin[axis] > box->max[axis]) return INFINITY;
    return fmax(0, (double)box->min[axis] - (double)ray->origin[axis]);
}

static const char *check_ray(reading *r, const uint8_t *live) {
    const int axis = (int)draw(&r->random, 3);
    psv_ray ray = {{0, 0, 0}, 0, {0, 0, 0}, INFINITY};
    for (int k = 0; k < 3; ++k)
        ray.origin[k] = draw_float(&r->random, 22);
    ray.direction[axis] = 1;
    const psv_ray_hit hit = psv_frame_ray(r->frame, &ray);
    double nearest = INFINITY;
    for (uint64_t i = 0; i < r->frame->box_count; ++i)
        if (live[i]) nearest = fmin(nearest, enters(&r->frame->boxes[i], &ray, axis));
    if ((hit.item == PSV_NO_ITEM) != (nearest == INFINITY)) return "whether a ray hits";
    return hit.item != PSV_NO_ITEM && fabs((double)hit.t - nearest) > 1e-4 ? "where a ray hits" : NULL;
}

static const char *check_box(reading *r, const uint8_t *live) {
    psv_aabb box;
    uint32_t items[MOST], expected = 0;
    for (int k = 0; k < 3; ++k) {
        box.min[k] = draw_float(&r->random, 20);
        box.max[k] = box.min[k] + draw_float(&r->random, 4);
    }
    const uint32_t count = psv_frame_touching(r->frame, &box, items, MOST);
    for (uint64_t i = 0; i < r->frame->box_count; ++i)
        expected += live[i] && touch(&box, &r->frame->boxes[i]);
    if (count != expected) return "number of boxes that touch";
    for (uint32_t i = 0; i < count; ++i)
        if (!live[items[i]] || !touch(&box, &r->frame->boxes[items[i]])) return "a box that touches";
    return psv_frame_touching(r->frame, &box, NULL, 0) == count ? NULL : "a count without a list";
}

static double distance_to(const psv_aabb *box, const float point[3]) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        const double p = (double)point[k], d = fmax(0, fmax((double)box->min[k] - p, p - (double)box->max[k]));
        sum += d * d;
    }
    return sqrt(sum);
}

static const char *check_nearest(reading *r, const uint8_t *live) {
    psv_sphere sphere = {{0, 0, 0}, 8};
    psv_near_item items[NEAREST];
    for (int k = 0; k < 3; ++k)
        sphere.centre[k] = draw_float(&r->random, 24);
    psv_frame_nearest(r->frame, &sphere, NEAREST, items);
    double before = -1;
    for (uint32_t k = 0; k < NEAREST; ++k) {
        uint32_t nearer = 0;
        const bool found = items[k].item != PSV_NO_ITEM;
        const double at = found ? (double)items[k].distance : 8;
        if (found && (items[k].item >= r->frame->box_count || !live[items[k].item] ||
                      fabs(distance_to(&r->frame->boxes[items[k].item], sphere.centre) - at) > 1e-4))
            return "a near box";
        for (uint64_t i = 0; i < r->frame->box_count; ++i)
            nearer += live[i] && distance_to(&r->frame->boxes[i], sphere.centre) < at - 1e-4;
        if (nearer > k || at < before) return "order of near boxes";
        before = at;
    }
    return NULL;
}

// All of a frame. `hash`: of its boxes.
static const char *check_frame(reading *r, uint64_t hash) {
    uint8_t live[MOST];
    const char *wrong = NULL;
    if (hash_of_boxes(r->frame->boxes, r->frame->box_count) != hash) return "boxes";
    if (!list_live(r, live)) return "boxes that take part";
    wrong = check_pairs(r, live);
    for (int k = 0; k < 4 && wrong == NULL; ++k) {
        wrong = check_ray(r, live);
        if (wrong == NULL) wrong = check_box(r, live);
        if (wrong == NULL) wrong = check_nearest(r, live);
    }
    if (wrong == NULL && hash_of_boxes(r->frame->boxes, r->frame->box_count) != hash) return "boxes, later";
    return wrong;
}

// --- tests -----------------------------------------------------------------------------------------------------------

// One thread alone: each published frame is right, whatever has moved, in frames that are not published too.
static void test_each_frame(void **state) {
    (void)state;
    for (uint32_t copies = 2; copies <= 4; ++copies) {
        scene *s = make_scene(copies);
        reading r = {NULL, s->flags, base_seed};
        assert_null(psv_open_frame(s->readers));
        for (uint32_t frame = 0; frame < test_thinned(frame_count, 20); ++frame) {
            assert_true(publish(s));
            r.frame = psv_open_frame(s->readers);
            assert_int_equal(r.frame->number, frame + 1);
            const char *wrong = check_frame(&r, s->hashes[frame + 1]);
            if (wrong != NULL) fail_msg("%u copies, frame %u: %s", copies, frame, wrong);
            psv_close_frame(s->readers, r.frame);
            change_scene(s);
            if (frame % 5 == 4) {
                const psv_box_set set = set_of(s);
                CHECK(psv_find_pairs(s->finder, &set));
                change_scene(s);
            }
        }
        free_scene(s);
    }
}

typedef struct reader {
    scene *shared;
    pthread_t thread;
    uint64_t random, frames, last;
    const uint32_t *stop;
    const char *wrong;
} reader;

static void *read_on(void *data) {
    reader *me = data;
    while (me->wrong == NULL && (__atomic_load_n(me->stop, __ATOMIC_RELAXED) == 0 || me->frames == 0)) {
        reading r = {psv_open_frame(me->shared->readers), NULL, me->random};
        if (r.frame == NULL) {
            (void)sched_yield();
            continue;
        }
        // The hash was written before the frame was published.
        me->wrong =
            r.frame->number < me->last ? "an older frame" : check_frame(&r, me->shared->hashes[r.frame->number]);
        me->last = r.frame->number;
        me->random = r.random;
        ++me->frames;
        psv_close_frame(me->shared->readers, r.frame);
    }
    return NULL;
}

// With two copies more than readers there is always one to write.
static void run_readers(uint32_t copies) {
    scene *s = make_scene(copies);
    static reader readers[MOST_READERS];
    uint32_t stop = 0;
    uint64_t frames = 0, full = 0;
    const uint32_t turns = test_thinned(4 * frame_count, 40);
    for (uint32_t i = 0; i < reader_count; ++i) {
        readers[i] = (reader){.shared = s, .random = base_seed + i, .stop = &stop};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (uint32_t frame = 0; frame < turns && s->published + 2 < MOST_FRAMES; ++frame) {
        full += !publish(s);
        change_scene(s);
        if (frame % 8 == 0) (void)sched_yield();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < reader_count; ++i) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        if (readers[i].wrong != NULL)
            fail_msg("reader %u, frame %llu: %s", i, (unsigned long long)readers[i].last, readers[i].wrong);
        frames += readers[i].frames;
    }
    print_message("%llu frames published, %llu not for want of a copy, %llu read by %u threads\n",
                  (unsigned long long)s->published, (unsigned long long)full, (unsigned long long)frames, reader_count);
    assert_true(s->published > 0 && frames >= reader_count && (full == 0 || copies < reader_count + 2));
    // Moves of frames that were not published are made up for.
    reading r = {NULL, s->flags, base_seed};
    assert_true(publish(s));
    r.frame = psv_open_frame(s->readers);
    assert_null(check_frame(&r, s->hashes[s->published]));
    psv_close_frame(s->readers, r.frame);
    free_scene(s);
}

static void test_readers_while_it_updates(void **state) {
    (void)state;
    run_readers(3);
    run_readers(reader_count + 2);
}

// An open frame stays; with all copies open the newest one does.
static void test_open_frames_stay(void **state) {
    (void)state;
    scene *s = make_scene(2);
    assert_true(publish(s));
    const psv_reader_frame *first = psv_open_frame(s->readers);
    change_scene(s);
    s->moved[s->moved_count++] = 0;
    s->boxes[0].min[0] -= 0.5f;
    assert_true(publish(s));
    assert_int_equal(first->number, 1);
    assert_int_equal(hash_of_boxes(first->boxes, first->box_count), s->hashes[1]);
    s->moved_count = 0;
    assert_false(publish(s)); // the other copy is the newest
    assert_non_null(strstr(psv_last_error(context), "2 copies"));
    const psv_reader_frame *second = psv_open_frame(s->readers);
    assert_int_equal(second->number, 2);
    psv_close_frame(s->readers, second);
    psv_close_frame(s->readers, first);
    psv_close_frame(s->readers, NULL);
    assert_true(publish(s));
    free_scene(s);
}

static void test_mistakes(void **state) {
    (void)state;
    scene *s = make_scene(2);
    psv_readers_def def = psv_default_readers_def();
    psv_readers *readers = NULL;
    const psv_box_set set = set_of(s);
    assert_int_equal(psv_create_readers(context, &def, &readers), PSV_ERROR_ARGUMENT); // max_boxes is 0
    assert_int_equal(psv_readers_bytes(&def), 0);
    def.max_boxes = 100;
    def.frames = 1;
    assert_int_equal(psv_create_readers(context, &def, &readers), PSV_ERROR_ARGUMENT);
    def.frames = 2;
    assert_true(psv_readers_bytes(&def) > 0);
    CHECK(psv_create_readers(context, &def, &readers));
    assert_int_equal(psv_publish_frame(readers, s->finder, &set), PSV_ERROR_ARGUMENT); // no frame yet
    CHECK(psv_find_pairs(s->finder, &set));
    assert_int_equal(psv_publish_frame(readers, s->finder, &set), PSV_ERROR_CAPACITY);
    assert_non_null(strstr(psv_last_error(context), "def.max_boxes of the readers is 100"));
    assert_int_equal(psv_publish_frame(NULL, s->finder, &set), PSV_ERROR_ARGUMENT);
    assert_null(psv_open_frame(readers));
    psv_destroy_readers(readers);
    psv_destroy_readers(NULL);
    free_scene(s);
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            base_seed = value;
        else if (strcmp(argv[i], "--frames") == 0)
            frame_count = (uint32_t)value;
        else if (strcmp(argv[i], "--readers") == 0 && value <= MOST_READERS)
            reader_count = (uint32_t)value;
        else
            return 2;
    }
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&def, &context) != PSV_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_frame),
        cmocka_unit_test(test_readers_while_it_updates),
        cmocka_unit_test(test_open_frames_stay),
        cmocka_unit_test(test_mistakes),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    psv_destroy_context(context);
    return failed;
}
