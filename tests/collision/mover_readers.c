// See mover_readers.h. What a frame must have is told by a hash of its boxes and a sum over its pairs, which the test
// writes before it publishes the frame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../cases/box_hash.h"
#include "mover_readers.h"

#define MOST_THREADS 14u

typedef struct expected_frame {
    uint64_t boxes, box_count, pairs, pair_count;
} expected_frame;

typedef struct reading_thread {
    mover_readers *all;
    pthread_t thread;
    uint64_t frames, last;
    const char *wrong;
} reading_thread;

struct mover_readers {
    psv_readers *readers;
    expected_frame *expected; // by the frame's number
    uint64_t published, max_frames;
    uint32_t threads, stop;
    reading_thread each[MOST_THREADS];
};

// The same for pairs in any order.
static uint64_t sum_of_pairs(const psv_pair *pairs, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t p = 0; p < count; ++p) {
        uint64_t name = (uint64_t)pairs[p].a << 32 | pairs[p].b;
        name = (name ^ name >> 31) * 0x9e3779b97f4a7c15ull;
        sum += name ^ name >> 29;
    }
    return sum;
}

static const char *compare_frame(const psv_reader_frame *frame, const expected_frame *expected) {
    if (frame->box_count != expected->box_count) return "another number of boxes";
    if (frame->pair_count != expected->pair_count) return "another number of pairs";
    if (hash_of_boxes(frame->boxes, frame->box_count) != expected->boxes) return "other boxes";
    return sum_of_pairs(frame->pairs, frame->pair_count) == expected->pairs ? NULL : "other pairs";
}

static void *read_frames(void *data) {
    reading_thread *me = data;
    mover_readers *all = me->all;
    while (me->wrong == NULL && __atomic_load_n(&all->stop, __ATOMIC_RELAXED) == 0) {
        const psv_reader_frame *frame = psv_open_frame(all->readers);
        if (frame == NULL || frame->number == me->last) {
            psv_close_frame(all->readers, frame);
            (void)sched_yield();
            continue;
        }
        me->wrong = frame->number < me->last ? "an older frame" : compare_frame(frame, &all->expected[frame->number]);
        me->last = frame->number;
        ++me->frames;
        psv_close_frame(all->readers, frame);
    }
    return NULL;
}

mover_readers *start_mover_readers(psv_context *context, uint32_t threads, uint64_t max_boxes, uint64_t max_pairs,
                                   uint64_t max_frames) {
    mover_readers *all = calloc(1, sizeof *all);
    psv_readers_def def = psv_default_readers_def();
    assert_true(all != NULL && threads <= MOST_THREADS);
    all->threads = threads;
    all->max_frames = max_frames;
    all->expected = calloc(max_frames + 1, sizeof *all->expected);
    def.max_boxes = max_boxes;
    def.max_pairs = max_pairs;
    def.frames = threads + 2;
    assert_int_equal(psv_create_readers(context, &def, &all->readers), PSV_OK);
    for (uint32_t i = 0; i < threads; ++i) {
        all->each[i].all = all;
        assert_int_equal(pthread_create(&all->each[i].thread, NULL, read_frames, &all->each[i]), 0);
    }
    return all;
}

void publish_to_mover_readers(mover_readers *all, psv_pair_finder *finder, const psv_box_set *set,
                              const psv_aabb *boxes, const psv_pair *pairs, uint64_t count) {
    assert_true(all->published < all->max_frames);
    all->expected[++all->published] =
        (expected_frame){hash_of_boxes(boxes, set->count), set->count, sum_of_pairs(pairs, count), count};
    assert_int_equal(psv_publish_frame(all->readers, finder, set), PSV_OK);
}

uint64_t stop_mover_readers(mover_readers *all) {
    uint64_t frames = 0;
    __atomic_store_n(&all->stop, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < all->threads; ++i) {
        const reading_thread *each = &all->each[i];
        assert_int_equal(pthread_join(each->thread, NULL), 0);
        if (each->wrong != NULL) fail_msg("reader %u, frame %llu: %s", i, (unsigned long long)each->last, each->wrong);
        frames += each->frames;
    }
    psv_destroy_readers(all->readers);
    free(all->expected);
    free(all);
    return frames;
}
