// Tasks on the program's threads or OpenMP's, and crews: workers that go through stages together.
#include "workers.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "../float_mode.h"

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

#if defined(_OPENMP)

// The threads that OpenMP keeps for a thread do not come along when that thread forks; GCC's runtime waits for them in
// the child for ever. There the tasks run on the thread itself.
static _Thread_local bool has_threads, lost_threads;

static void mark_child(void) { lost_threads = has_threads; }

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, mark_child); }

static bool run_on_openmp(uint32_t count, task_call *call) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    if (lost_threads) return false;
    if (!has_threads) (void)pthread_once(&watched, watch_forks);
    has_threads = true;
#pragma omp parallel for schedule(static, 1) num_threads((int)count)
    for (uint32_t i = 0; i < count; ++i)
        run_call(call, i);
    return true;
}

#else

static bool run_on_openmp(uint32_t count, task_call *call) {
    (void)count;
    (void)call;
    return false;
}

#endif

static bool run_on_threads(psv_context *context, uint32_t count, task_call *call) {
    if (context->run_parallel == NULL) return run_on_openmp(count, call);
    context->run_parallel(run_call, call, count, context->parallel_user);
    return true;
}

void psvi_run_tasks(psv_context *context, uint32_t count, psv_task *task, void *data) {
    task_call call = {task, data};
    if (count > 1) {
        // In the caller's floating-point mode: the program's function may do other work of the program's while it
        // waits, and threads that OpenMP makes here take over the mode that they are made in.
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
// Whoever comes first leads; nobody waits for a worker that has not come, so the crew works on any number of threads.
// The pieces of a stage are cut into as many slices in a row as there are workers. Each takes those of its own slice
// first, which from stage to stage are of the same data and still in its cache, and then what the others have left. A
// slice is open while its `ticket` has a next piece below its end. A worker that takes a piece finds task and data of
// the piece's own stage: the leader does not go on before all pieces taken are done.

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
    pthread_mutex_t lock; // for those who have waited long and sleep
    pthread_cond_t changed;
    uint32_t sleepers;
};

#define CREW_SPINS 2000 // some 20 to 50 microseconds

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
    for (uint32_t spins = 0; spins < CREW_SPINS; ++spins) {
        if (ready(crew)) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
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
