#include "replay_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MOST_THREADS 16

typedef struct parts {
    void (*work)(void *data, uint32_t part);
    void *data;
    uint32_t count;
    atomic_uint next;
} parts;

static void *take_parts(void *pointer) {
    parts *all = pointer;
    for (uint32_t part; (part = atomic_fetch_add(&all->next, 1)) < all->count;)
        all->work(all->data, part);
    return NULL;
}

static uint32_t thread_count(uint32_t count) {
#if defined(_SC_NPROCESSORS_ONLN)
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
#else
    const long cores = MOST_THREADS / 2;
#endif
    const uint32_t most = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (uint32_t)cores;
    return count < most ? count : most;
}

// This thread works too, alone where no other can be had.
void replay_run_parts(void (*work)(void *data, uint32_t part), void *data, uint32_t count) {
    parts all = {.work = work, .data = data, .count = count};
    pthread_t threads[MOST_THREADS];
    uint32_t started = 0;
    for (uint32_t wanted = thread_count(count); started + 1 < wanted; ++started)
        if (pthread_create(&threads[started], NULL, take_parts, &all) != 0) break;
    (void)take_parts(&all);
    for (uint32_t i = 0; i < started; ++i)
        (void)pthread_join(threads[i], NULL);
}
