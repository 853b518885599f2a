// Rough callers: floating-point modes, and threads of the test's own.
#include "rough_calls.h"

#undef psv_create_context

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
static uint32_t read_mode(void) { return _mm_getcsr(); }
static void write_mode(uint32_t mode) { _mm_setcsr(mode); }
// Flush to zero and denormals are zero are bits 15 and 6, rounding bits 13 and 14; all exceptions masked. The flag of
// an underflow is set, as after other work.
#define MODE(flush, rounding) (0x1f90u | (rounding) << 13 | ((flush) ? 0x8040u : 0u))
#else
static uint32_t read_mode(void) { return 0; } // only threads are rough here
static void write_mode(uint32_t mode) { (void)mode; }
#define MODE(flush, rounding) ((void)(flush), (void)(rounding), 0u)
#endif

enum { NEAREST, DOWN, UP, ZERO };

static struct {
    bool read, on, in_turn;
    uint32_t mode;
    int workers;
    uint64_t calls, contexts; // atomic
} rough;

static void read_variable(void) {
    const char *text = getenv("PAIRSIEVE_TEST_ROUGH");
    rough.read = true;
    if (text == NULL) return;
    rough.on = true;
    rough.in_turn = strcmp(text, "all") == 0;
    if (rough.in_turn) return;
    const bool flush = strncmp(text, "ftz+", 4) == 0;
    if (flush) text += 4;
    const char *names[] = {"nearest:", "down:", "up:", "zero:"};
    for (uint32_t rounding = 0; rounding < 4; ++rounding) {
        const size_t length = strlen(names[rounding]);
        if (strncmp(text, names[rounding], length) != 0) continue;
        rough.mode = MODE(flush, rounding);
        rough.workers = atoi(text + length);
    }
    if (rough.workers > 0) return;
    fprintf(stderr, "PAIRSIEVE_TEST_ROUGH is not understood\n");
    exit(2);
}

static uint32_t next_mode(void) {
    if (!rough.in_turn) return rough.mode;
    const uint64_t turn = __atomic_fetch_add(&rough.calls, 1, __ATOMIC_RELAXED);
    return MODE((turn & 4) == 0, turn & 3);
}

static void check_mode(uint32_t before, const char *call) {
    // The flags that the standard leaves open aside: arguments are computed in the rough mode as well.
    if ((read_mode() & ~0x3fu) == (before & ~0x3fu)) return;
    fprintf(stderr, "%s left the floating-point mode %x; it was %x\n", call, read_mode(), before);
    exit(1);
}

static _Thread_local uint32_t entered;

uint32_t rough_enter(void) {
    if (!rough.read) read_variable();
    const uint32_t before = read_mode();
    entered = before;
    if (!rough.on) return before;
    entered = next_mode();
    write_mode(entered);
    return before;
}

void rough_leave(uint32_t before, const char *call) {
    if (rough.on) check_mode(entered, call);
    write_mode(before);
}

// --- threads ---------------------------------------------------------------------------------------------------------

// A pool that lives until the program ends, of more threads than any context has workers.
#define POOL_THREADS 4

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    psv_task *task;
    void *data;
    uint32_t next, count, done;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, NULL, NULL, 0, 0, 0};

// With the lock held: runs one task, if there is one.
static bool run_one(void) {
    if (pool.next >= pool.count) return false;
    const uint32_t index = pool.next++;
    psv_task *task = pool.task;
    void *data = pool.data;
    (void)pthread_mutex_unlock(&pool.lock);
    const uint32_t mode = next_mode();
    write_mode(mode);
    task(data, index);
    check_mode(mode, "a task");
    (void)pthread_mutex_lock(&pool.lock);
    if (++pool.done == pool.count) (void)pthread_cond_broadcast(&pool.changed);
    return true;
}

static void *serve(void *unused) {
    (void)pthread_mutex_lock(&pool.lock);
    for (;;)
        if (!run_one()) (void)pthread_cond_wait(&pool.changed, &pool.lock);
    return unused;
}

static void run_on_pool(psv_task *task, void *data, uint32_t count, void *user) {
    const uint32_t mode = read_mode();
    static pthread_mutex_t one_user = PTHREAD_MUTEX_INITIALIZER;
    (void)user;
    (void)pthread_mutex_lock(&one_user);
    (void)pthread_mutex_lock(&pool.lock);
    for (int i = 0; !pool.started && i < POOL_THREADS; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, NULL) == 0) (void)pthread_detach(thread);
    }
    pool.started = true;
    pool.task = task;
    pool.data = data;
    pool.count = count;
    pool.next = pool.done = 0;
    (void)pthread_cond_broadcast(&pool.changed);
    // The caller helps with every other call; it may be the pool's threads that do everything.
    static bool helps;
    for (helps = !helps; helps && run_one();) {
    }
    while (pool.done < pool.count)
        (void)pthread_cond_wait(&pool.changed, &pool.lock);
    pool.count = pool.next = 0;
    (void)pthread_mutex_unlock(&pool.lock);
    (void)pthread_mutex_unlock(&one_user);
    write_mode(mode);
}

static void run_from_last(psv_task *task, void *data, uint32_t count, void *user) {
    (void)user;
    while (count-- > 0)
        task(data, count);
}

psv_context_def rough_def(const psv_context_def *def) {
    if (!rough.read) read_variable();
    psv_context_def made = *def;
    if (!rough.on || def->backend == PSV_BACKEND_CUDA) return made;
    made.worker_count = rough.workers;
    if (!rough.in_turn) return made;
    const uint64_t turn = __atomic_fetch_add(&rough.contexts, 1, __ATOMIC_RELAXED);
    made.worker_count = 1 << turn % 3;
    if (turn / 3 % 3 == 1) made.run_parallel = run_on_pool;
    if (turn / 3 % 3 == 2) made.run_parallel = run_from_last;
    return made;
}
