#include "pair_soak.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/collision.h>

#include "../cases/box_scenes.h"
#include "../core/counted_memory.h"

#define SOAK_BOXES 160
#define ROOM (SOAK_BOXES * (SOAK_BOXES - 1) / 2)
#define REPORT_EVERY 20000  // frames
#define HOST_GROWTH 1100000 // bytes, of the process in the second half of the frames: one piece of Mesa's upload pool

// What is uploaded for a frame, as it lies on the device.
typedef struct soak_boxes {
    psv_aabb boxes[SOAK_BOXES];
    uint8_t flags[SOAK_BOXES];
} soak_boxes;

typedef struct soak_world {
    soak_boxes now;
    float velocity[SOAK_BOXES][3];
    uint8_t replayed[SOAK_BOXES][SOAK_BOXES];
    uint64_t replayed_count;
    psv_pair pairs[ROOM], begin[ROOM], end[ROOM];
} soak_world;

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void make_soak(soak_world *world, uint64_t seed) {
    for (uint64_t i = 0; i < SOAK_BOXES; ++i)
        for (uint32_t axis = 0; axis < 3; ++axis) {
            psv_aabb *box = &world->now.boxes[i];
            box->min[axis] = 5 * box_random(seed, i, axis);
            box->max[axis] = box->min[axis] + 0.3f + 0.5f * box_random(seed, i, 3);
            world->velocity[i][axis] = 0.2f * (box_random(seed, i, 4 + axis) - 0.5f);
        }
}

static void move_soak(soak_world *world, uint64_t seed, uint64_t frame) {
    for (uint64_t i = 0; i < SOAK_BOXES; ++i) {
        psv_aabb *box = &world->now.boxes[i];
        for (uint32_t axis = 0; axis < 3; ++axis) {
            float step = world->velocity[i][axis];
            if (box->min[axis] < 0) step = world->velocity[i][axis] = step < 0 ? -step : step;
            if (box->max[axis] > 6) step = world->velocity[i][axis] = step > 0 ? -step : step;
            box->min[axis] += step;
            box->max[axis] += step;
        }
        if (box_random(seed + frame, i, 5) < 0.02f) world->now.flags[i] ^= PSV_BOX_DISABLED;
    }
}

static bool comes_before(psv_pair x, psv_pair y) { return x.a < y.a || (x.a == y.a && x.b < y.b); }

// Sets or clears each pair of a list, which must be ordered and of pairs that were not so before.
static const char *replay(soak_world *world, const psv_pair *pairs, uint64_t count, uint8_t value) {
    for (uint64_t p = 0; p < count; ++p) {
        if (pairs[p].a >= pairs[p].b || pairs[p].b >= SOAK_BOXES) return "an event is no pair";
        if (p > 0 && !comes_before(pairs[p - 1], pairs[p])) return "events are not ordered";
        uint8_t *replayed = &world->replayed[pairs[p].a][pairs[p].b];
        if (*replayed == value) return value ? "a pair begins that was there" : "a pair ends that was not there";
        *replayed = value;
    }
    world->replayed_count += value ? count : -count;
    return NULL;
}

static int compare_pairs(const void *x, const void *y) {
    return comes_before(*(const psv_pair *)y, *(const psv_pair *)x) -
           comes_before(*(const psv_pair *)x, *(const psv_pair *)y);
}

// Replayed events are the pairs of this frame: as many, and each of them once. Pairs come in any order.
static const char *compare_replayed(soak_world *world, uint64_t count) {
    if (world->replayed_count != count) return "events and pairs differ in number";
    qsort(world->pairs, count, sizeof *world->pairs, compare_pairs);
    for (uint64_t p = 0; p < count; ++p) {
        if (p > 0 && !comes_before(world->pairs[p - 1], world->pairs[p])) return "a pair is there twice";
        if (!world->replayed[world->pairs[p].a][world->pairs[p].b]) return "a pair is there that did not begin";
    }
    return NULL;
}

static bool complain(pair_soak *soak, const char *what, const char *more) {
    (void)snprintf(soak->failure, sizeof soak->failure, "%s, frame %u, seed %llu: %s%s%s", soak->method, soak->done,
                   (unsigned long long)soak->seed, what, more[0] == 0 ? "" : ": ", more);
    return false;
}

// Until then memory may grow. Mesa gives its pool for uploads its last piece of 1 MiB in the 2,000th frame.
static uint32_t settled_frames(const psv_context *context, uint32_t frames) {
    return psv_context_backend(context) >= PSV_BACKEND_GL ? frames / 2 : frames / 10;
}

// OpenGL takes no allocator: there it is what the process holds, where a software driver has its buffers too.
static uint64_t held_now(psv_context *context, const uint64_t *bytes_held) {
    return psv_context_backend(context) >= PSV_BACKEND_GL ? host_bytes() : *bytes_held;
}

static bool run_frames(psv_context *context, pair_soak *soak, soak_world *world, psv_pair_finder *finder,
                       psv_buffer boxes, const uint64_t *bytes_held) {
    psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), SOAK_BOXES);
    set.flags = psv_sub_buffer(boxes, offsetof(soak_boxes, flags), SOAK_BOXES);
    const uint32_t settled = settled_frames(context, soak->frames);
    const double start = seconds_now();
    for (uint32_t frame = 0; frame < soak->frames; soak->done = ++frame) {
        uint64_t count = 0, begins = 0, ends = 0;
        move_soak(world, soak->seed, frame);
        psv_status status = psv_upload(context, boxes, &world->now, sizeof world->now);
        if (status == PSV_OK) status = psv_find_pairs(finder, &set);
        if (status == PSV_OK)
            status = psv_read_pair_events(finder, world->begin, ROOM, &begins, world->end, ROOM, &ends);
        if (status == PSV_OK) status = psv_read_pairs(finder, world->pairs, ROOM, &count);
        if (status != PSV_OK) return complain(soak, psv_status_name(status), psv_last_error(context));
        const char *wrong = replay(world, world->end, ends, 0);
        if (wrong == NULL) wrong = replay(world, world->begin, begins, 1);
        if (wrong == NULL) wrong = compare_replayed(world, count);
        if (wrong != NULL) return complain(soak, wrong, "");
        soak->changes += begins + ends;
        soak->seconds = seconds_now() - start;
        if (frame <= settled) soak->held[0] = held_now(context, bytes_held);
        if (frame > 0 && frame % REPORT_EVERY == 0) {
            printf("%s: %u frames, %.1f s, %llu events\n", soak->method, frame, soak->seconds,
                   (unsigned long long)soak->changes);
            (void)fflush(stdout);
        }
    }
    soak->held[1] = held_now(context, bytes_held);
    if (soak->frames >= 100 && soak->changes <= soak->frames) return complain(soak, "the scene does not move", "");
    // Room for pairs may double once more.
    if (soak->frames >= 200 && psv_context_backend(context) >= PSV_BACKEND_GL)
        return soak->held[1] > soak->held[0] + HOST_GROWTH ? complain(soak, "the process grew", "") : true;
    if (soak->frames >= 1000 && soak->held[1] > 2 * soak->held[0]) return complain(soak, "memory grew", "");
    return true;
}

bool soak_events(psv_context *context, pair_soak *soak, const uint64_t *bytes_held) {
    soak_world *world = calloc(1, sizeof *world);
    if (world == NULL) return complain(soak, "no memory", "");
    make_soak(world, soak->seed);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = soak->method;
    def.max_boxes = SOAK_BOXES;
    def.max_pairs = 16; // grows on the way, and the previous frame must come along
    def.grow_pairs = true;
    def.events = true;
    psv_pair_finder *finder = NULL;
    psv_buffer boxes = {0};
    psv_status status = psv_alloc_buffer(context, sizeof world->now, &boxes);
    if (status == PSV_OK) status = psv_create_pair_finder(context, &def, &finder);
    const bool fine = status == PSV_OK ? run_frames(context, soak, world, finder, boxes, bytes_held)
                                       : complain(soak, psv_status_name(status), psv_last_error(context));
    psv_destroy_pair_finder(finder);
    psv_free_buffer(context, &boxes);
    free(world);
    return fine;
}

// --- side by side ----------------------------------------------------------------------------------------------------

#define MOST_METHODS 16

typedef struct soak_run {
    pthread_t thread;
    pair_soak soak;
    counted_memory memory;
} soak_run;

static void *run_soak(void *argument) {
    soak_run *run = argument;
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = run->memory.backend;
    def.worker_count = run->memory.backend == PSV_BACKEND_CPU ? 1 : 0;
    if (def.backend < PSV_BACKEND_GL) // it takes none
        def.allocator = (psv_allocator){counted_allocate, counted_release, &run->memory};
    if (psv_create_context(&def, &context) != PSV_OK) {
        (void)complain(&run->soak, "no context", psv_last_error(NULL));
        return NULL;
    }
    (void)soak_events(context, &run->soak, &run->memory.held);
    psv_destroy_context(context);
    if (run->soak.failure[0] == 0 && run->memory.held != 0) (void)complain(&run->soak, "memory was not given back", "");
    return NULL;
}

bool soak_is_named(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return true;
    return false;
}

bool soak_side_by_side(psv_backend backend, const char *only_methods, uint32_t frames, uint64_t seed) {
    static soak_run runs[MOST_METHODS];
    uint32_t count = 0, fine = 0;
    const char *method;
    // What the process holds says which method took it only where one runs at a time.
    const bool in_turn = backend >= PSV_BACKEND_GL;
    for (uint32_t m = 0; count < MOST_METHODS && (method = psv_broad_phase_name(backend, m)) != NULL; ++m) {
        if (only_methods != NULL && !soak_is_named(only_methods, method)) continue;
        runs[count] =
            (soak_run){.memory = {.backend = backend}, .soak = {.method = method, .frames = frames, .seed = seed}};
        if (pthread_create(&runs[count].thread, NULL, run_soak, &runs[count]) != 0) break;
        if (in_turn) (void)pthread_join(runs[count].thread, NULL);
        ++count;
    }
    for (uint32_t r = 0; r < count; ++r) {
        if (!in_turn) (void)pthread_join(runs[r].thread, NULL);
        const pair_soak *soak = &runs[r].soak;
        printf("%-6s %u of %u frames, %llu events, %.1f s; memory %llu bytes when settled, %llu at the end %s\n",
               soak->method, soak->done, soak->frames, (unsigned long long)soak->changes, soak->seconds,
               (unsigned long long)soak->held[0], (unsigned long long)soak->held[1], soak->failure);
        fine += soak->failure[0] == 0 && soak->done == soak->frames;
    }
    printf("the process holds %.1f MB on the host\n", (double)host_bytes() * 1e-6);
    return count > 0 && fine == count;
}
