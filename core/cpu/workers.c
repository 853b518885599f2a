// Tasks on the program's threads or the library's own, and crews: workers that go through stages together.
#include "workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#endif

#include "../float_mode.h"
#include "../portable/aligned_memory.h"
#include "turns.h"

int psvi_count_cores(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : (int)cores;
}

// --- tasks -----------------------------------------------------------------------------------------------------------

typedef struct task_call {
    psv_task *task;
    void *data;
} task_call;

// A task in its own floating-point mode, whatever its thread has.
static void run_call(void *data, uint32_t index) {
    const task_call *call = data;
    const psvi_float_mode before = psvi_enter_float_mode();
    call->task(call->data, index);
    psvi_leave_float_mode(before);
}

// --- the library's own threads ---------------------------------------------------------------------------------------
//
// The caller takes tasks like every other thread, so it waits only for tasks that others have begun: threads that get
// no core cost nothing. Who has nothing to do looks for a short while, for loops follow each other in a frame, then
// sleeps.

// Cores with other work: a thread that loses its core in the middle of a piece delays all others for milliseconds. So
// after a loop that lost threads, loops use as many threads fewer for a short time. The time grows each time that this
// happens again soon.
#define CROWD_SHORTEST 0.01 // seconds
#define CROWD_LONGEST 4.0
#define CROWD_SOON 2.0
#define CROWD_WAIT 0.0005 // for others, or nothing was lost

typedef struct crowd {
    uint32_t threads;          // that loops take at most; 0: all
    uint32_t put_off;          // threads other than the caller's that lost their core within the loop
    double until, pause, over; // over: when all threads were taken again
} crowd;

// How often the thread lost its core to another one.
static long count_losses(void) {
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
    return 0;
#endif
}

// Threads for a loop that wants `count`.
static uint32_t uncrowded(crowd *c, uint32_t count) {
    if (c->threads == 0) return count;
    const double now = psvi_seconds_now();
    if (now >= c->until) { // more again
        c->threads += 1 + c->threads / 2;
        c->until = now + c->pause;
    }
    if (c->threads < count) return c->threads;
    c->threads = 0;
    c->over = now;
    return count;
}

static void note_losses(crowd *c, uint32_t count) {
    const double now = psvi_seconds_now();
    const bool soon = c->threads != 0 || now - c->over < CROWD_SOON;
    c->pause = soon && 4 * c->pause > CROWD_SHORTEST ? 4 * c->pause : CROWD_SHORTEST;
    if (c->pause > CROWD_LONGEST) c->pause = CROWD_LONGEST;
    c->threads = count > c->put_off ? count - c->put_off : 1;
    c->until = now + c->pause;
}

struct psvi_pool { // NOLINT(clang-analyzer-optin.performance.Padding)
    pthread_mutex_t lock;
    pthread_cond_t wanted, finished;
    pthread_t *threads;
    uint32_t thread_count, sleepers;
    task_call *call; // the loop that runs; tasks [next, count) have not begun
    uint32_t next, count;
    uint32_t helpers; // that may still come to it
    crowd crowd;
    uint32_t age;                 // forks before the pool was made
    bool has_all;                 // no more threads could be had
    _Alignas(64) uint32_t serial; // of the loop; atomic, as the next two
    uint32_t done;                // tasks that have ended
    bool over;
};

// Threads do not come along into the child of a fork: there the tasks of a context that had made some run on the
// calling thread.
static uint32_t forks; // before this process; written in a fresh child alone, which has one thread

static void mark_child(void) { ++forks; }

static bool lost_threads(const psvi_pool *pool) { return pool->age != forks && pool->thread_count > 0; }

static void watch_forks(void) {
#if defined(_WIN32) // nothing forks there
    (void)mark_child;
#else
    (void)pthread_atfork(NULL, NULL, mark_child);
#endif
}

// Takes tasks until there is none that nobody has begun. With the lock, which it gives up meanwhile.
static void take_tasks(psvi_pool *pool, bool helper) {
    while (pool->next < pool->count) {
        task_call *call = pool->call;
        const uint32_t index = pool->next++;
        (void)pthread_mutex_unlock(&pool->lock);
        const long losses = helper ? count_losses() : 0;
        run_call(call, index);
        const bool put_off = helper && count_losses() > losses;
        (void)pthread_mutex_lock(&pool->lock);
        pool->crowd.put_off += put_off;
        if (__atomic_add_fetch(&pool->done, 1, __ATOMIC_RELEASE) == pool->count)
            (void)pthread_cond_signal(&pool->finished);
    }
}

// The same on a thread of the pool, if it is wanted.
static void help(psvi_pool *pool) {
    if (pool->next >= pool->count || pool->helpers == 0) return;
    --pool->helpers;
    take_tasks(pool, true);
}

static void *serve(void *data) {
    psvi_pool *pool = data;
    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->over) {
        help(pool);
        const uint32_t serial = pool->serial;
        (void)pthread_mutex_unlock(&pool->lock);
        for (uint32_t k = 0; k < PSVI_SPINS && __atomic_load_n(&pool->serial, __ATOMIC_RELAXED) == serial; ++k)
            psvi_pause();
        (void)pthread_mutex_lock(&pool->lock);
        while (pool->serial == serial && !pool->over) {
            ++pool->sleepers;
            (void)pthread_cond_wait(&pool->wanted, &pool->lock);
            --pool->sleepers;
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

psvi_pool *psvi_make_pool(void) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    psvi_pool *pool = psvi_alloc_aligned(64, sizeof *pool);
    if (pool == NULL) return NULL;
    (void)pthread_once(&watched, watch_forks);
    *pool = (psvi_pool){.age = forks,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .wanted = PTHREAD_COND_INITIALIZER,
                        .finished = PTHREAD_COND_INITIALIZER};
    return pool;
}

void psvi_end_pool(psvi_pool *pool) {
    if (pool == NULL) return;
    if (!lost_threads(pool)) {
        (void)pthread_mutex_lock(&pool->lock);
        pool->over = true;
        __atomic_store_n(&pool->serial, pool->serial + 1, __ATOMIC_RELAXED);
        (void)pthread_cond_broadcast(&pool->wanted);
        (void)pthread_mutex_unlock(&pool->lock);
        for (uint32_t i = 0; i < pool->thread_count; ++i)
            (void)pthread_join(pool->threads[i], NULL);
        (void)pthread_cond_destroy(&pool->wanted);
        (void)pthread_cond_destroy(&pool->finished);
        (void)pthread_mutex_destroy(&pool->lock);
    }
    free(pool->threads);
    psvi_free_aligned(pool);
}

// Threads of its own up to `count`, or as many as there can be. Signals are for the program's threads.
static void make_threads(psvi_pool *pool, uint32_t count) {
    pthread_t *threads = realloc(pool->threads, count * sizeof *threads);
    if (threads == NULL) return;
    pool->threads = threads;
    pool->age = forks;
#if !defined(_WIN32) // where a signal comes to a thread of its own
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
#endif
    while (pool->thread_count < count && pthread_create(&threads[pool->thread_count], NULL, serve, pool) == 0)
        ++pool->thread_count;
    pool->has_all = pool->thread_count < count;
#if !defined(_WIN32)
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
}

static bool run_on_pool(psvi_pool *pool, uint32_t count, task_call *call) {
    if (pool == NULL || lost_threads(pool)) return false;
    if (pool->thread_count + 1 < count && !pool->has_all) make_threads(pool, count - 1);
    (void)pthread_mutex_lock(&pool->lock);
    pool->call = call;
    pool->next = 0;
    pool->count = count;
    pool->helpers = uncrowded(&pool->crowd, count) - 1;
    __atomic_store_n(&pool->done, 0, __ATOMIC_RELAXED);
    if (pool->helpers > 0) __atomic_store_n(&pool->serial, pool->serial + 1, __ATOMIC_RELAXED);
    if (pool->helpers > 0 && pool->sleepers > 0) (void)pthread_cond_broadcast(&pool->wanted);
    take_tasks(pool, false);
    (void)pthread_mutex_unlock(&pool->lock);
    for (uint32_t k = 0; k < PSVI_SPINS && __atomic_load_n(&pool->done, __ATOMIC_ACQUIRE) < count; ++k)
        psvi_pause();
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->done < count) {
        const double began = psvi_seconds_now();
        while (pool->done < count)
            (void)pthread_cond_wait(&pool->finished, &pool->lock);
        if (pool->crowd.put_off > 0 && psvi_seconds_now() - began > CROWD_WAIT) note_losses(&pool->crowd, count);
    }
    pool->crowd.put_off = 0;
    (void)pthread_mutex_unlock(&pool->lock);
    return true;
}

static bool run_on_threads(psv_context *context, uint32_t count, task_call *call) {
    if (context->run_parallel == NULL) return run_on_pool(context->pool, count, call);
    context->run_parallel(run_call, call, count, context->parallel_user);
    return true;
}

void psvi_run_tasks(psv_context *context, uint32_t count, psv_task *task, void *data) {
    task_call call = {task, data};
    if (count > 1) {
        // In the caller's floating-point mode: the program's function may do other work of the program while it waits.
        // Threads that are made here take over the mode that they are made in.
        const psvi_float_mode mode = psvi_enter_float_mode();
        psvi_leave_float_mode(context->float_depth > 0 ? context->callers_mode : mode);
        const bool ran = run_on_threads(context, count, &call);
        psvi_leave_float_mode(mode);
        if (ran) return;
    }
    for (uint32_t i = 0; i < count; ++i)
        run_call(&call, i);
}

typedef struct range_job {
    psvi_loop loop;
    psvi_range_task *task;
    void *data;
} range_job;

static void run_range_worker(void *data, uint32_t worker) {
    range_job *job = data;
    (void)worker;
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        job->task(job->data, first, end);
}

void psvi_run_ranges(psv_context *context, uint64_t count, uint64_t grain, psvi_range_task *task, void *data) {
    range_job job = {{0, count, grain}, task, data};
    if (count > 0)
        psvi_run_tasks(context, psvi_workers_for(context, psvi_loop_pieces(count, grain)), run_range_worker, &job);
}

// --- crews -----------------------------------------------------------------------------------------------------------
//
// The first thread to arrive leads. Nobody waits for a worker that has not arrived, so the crew works on any number of
// threads. The pieces of a stage are divided into one contiguous slice for each worker. A worker takes the pieces of
// its own slice first: from stage to stage they hold the same data, which is still in its cache. Then it helps with
// other slices. A slice is open while its `ticket` has a next piece below its end. The leader waits for all pieces
// taken before it begins the next stage, so a worker always finds the task and data of its piece's stage.

#define CREW_SLICES 32 // more workers share them

// What workers write all the time has lines of the cache of its own.
typedef struct crew_slice {
    _Alignas(64) uint64_t ticket; // upper half: end; lower half: next piece, above the end by at most one a worker
} crew_slice;

struct psvi_crew { // NOLINT(clang-analyzer-optin.performance.Padding)
    crew_slice slices[CREW_SLICES];
    _Alignas(64) uint32_t done; // pieces of the stage that are done
    uint32_t count;             // of all
    bool over, led;
    psv_task *task;
    void *data;
    uint32_t workers, slice_count, leader;
    void (*lead)(psvi_crew *crew, void *data);
    void *lead_data;
    pthread_mutex_t lock; // for workers that waited long and sleep
    pthread_cond_t changed;
    uint32_t sleepers;
};

static bool is_open(const crew_slice *slice) {
    const uint64_t ticket = __atomic_load_n(&slice->ticket, __ATOMIC_SEQ_CST);
    return (uint32_t)ticket < (uint32_t)(ticket >> 32);
}

static bool has_piece(const psvi_crew *crew) {
    for (uint32_t i = 0; i < crew->slice_count; ++i)
        if (is_open(&crew->slices[i])) return true;
    return false;
}

static bool is_done(const psvi_crew *crew) { return __atomic_load_n(&crew->done, __ATOMIC_SEQ_CST) == crew->count; }

static bool helper_is_wanted(const psvi_crew *crew) {
    return has_piece(crew) || __atomic_load_n(&crew->over, __ATOMIC_SEQ_CST);
}

// Returns when `ready`; looks for a short while, then sleeps.
static void wait_until(psvi_crew *crew, bool (*ready)(const psvi_crew *crew)) {
    for (uint32_t spins = 0; spins < PSVI_SPINS; ++spins) {
        if (ready(crew)) return;
        psvi_pause();
    }
    (void)pthread_mutex_lock(&crew->lock);
    (void)__atomic_fetch_add(&crew->sleepers, 1, __ATOMIC_SEQ_CST);
    while (!ready(crew))
        (void)pthread_cond_wait(&crew->changed, &crew->lock);
    (void)__atomic_fetch_sub(&crew->sleepers, 1, __ATOMIC_SEQ_CST);
    (void)pthread_mutex_unlock(&crew->lock);
}

// After a change that somebody may sleep for. Sequentially consistent: either this sees the sleeper, or the sleeper,
// who counts itself before it looks, sees the change.
static void wake_sleepers(psvi_crew *crew) {
    if (__atomic_load_n(&crew->sleepers, __ATOMIC_SEQ_CST) == 0) return;
    (void)pthread_mutex_lock(&crew->lock);
    (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->lock);
}

// Takes pieces of a slice until there are none.
static void take_slice(psvi_crew *crew, crew_slice *slice) {
    while (is_open(slice)) {
        const uint64_t ticket = __atomic_fetch_add(&slice->ticket, 1, __ATOMIC_SEQ_CST);
        if ((uint32_t)ticket >= (uint32_t)(ticket >> 32)) return;
        const uint32_t count = crew->count; // once all are done the leader may write the next stage's
        crew->task(crew->data, (uint32_t)ticket);
        if (__atomic_add_fetch(&crew->done, 1, __ATOMIC_SEQ_CST) == count) wake_sleepers(crew);
    }
}

static void take_pieces(psvi_crew *crew, uint32_t worker) {
    for (uint32_t i = 0; i < crew->slice_count; ++i)
        take_slice(crew, &crew->slices[(worker + i) % crew->slice_count]);
}

void psvi_run_stage(psvi_crew *crew, uint32_t count, psv_task *task, void *data) {
    if (crew->workers < 2 || count < 2) {
        for (uint32_t i = 0; i < count; ++i)
            task(data, i);
        return;
    }
    crew->task = task;
    crew->data = data;
    crew->count = count;
    __atomic_store_n(&crew->done, 0, __ATOMIC_RELAXED);
    for (uint64_t i = 0, n = crew->slice_count; i < n; ++i) {
        const uint64_t first = count * i / n, end = count * (i + 1) / n;
        __atomic_store_n(&crew->slices[i].ticket, end << 32 | first, __ATOMIC_SEQ_CST);
    }
    wake_sleepers(crew);
    take_pieces(crew, crew->leader);
    wait_until(crew, is_done);
}

static void join_crew(void *data, uint32_t index) {
    psvi_crew *crew = data;
    if (!__atomic_exchange_n(&crew->led, true, __ATOMIC_SEQ_CST)) {
        crew->leader = index;
        crew->lead(crew, crew->lead_data);
        __atomic_store_n(&crew->over, true, __ATOMIC_SEQ_CST);
        wake_sleepers(crew);
        return;
    }
    while (!__atomic_load_n(&crew->over, __ATOMIC_SEQ_CST)) {
        wait_until(crew, helper_is_wanted);
        take_pieces(crew, index);
    }
}

void psvi_run_crew(psv_context *context, uint32_t workers, void (*lead)(psvi_crew *crew, void *data), void *data) {
    psvi_crew crew = {.workers = workers,
                      .slice_count = workers < CREW_SLICES ? workers : CREW_SLICES,
                      .lead = lead,
                      .lead_data = data,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};
    psvi_run_tasks(context, workers, join_crew, &crew);
    (void)pthread_cond_destroy(&crew.changed);
    (void)pthread_mutex_destroy(&crew.lock);
}
