// How CPU code shares its work: the only place that knows whose threads they are. The program's own, when the context
// has psv_context_def.run_parallel; else threads that the context makes when it first needs them and keeps. A task may
// run on any thread, at any time and order, one after another too, so no task waits for what has not begun (turns.h).
// Every task runs in the standard floating-point mode (float_mode.h).
//
//   psvi_run_tasks   the same function on several workers; they share out a loop with psvi_take_range
//   psvi_run_ranges  a loop over ranges that do not depend on each other
//   psvi_run_crew    several loops, each of which begins when the one before it is done, without going back to the
//                    threads' owner between them: a sort's passes, a solver's colours
#ifndef PAIRSIEVE_WORKERS_H
#define PAIRSIEVE_WORKERS_H

#include "../context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Workers for a loop of so many pieces: at most the context's, at least 1.
static inline uint32_t psvi_workers_for(const psv_context *context, uint64_t pieces) {
    const uint64_t most = context->worker_count < 1 ? 1 : (uint64_t)context->worker_count;
    return pieces < 1 ? 1 : (uint32_t)(pieces < most ? pieces : most);
}

// Calls task(data, i) once for each i in [0, count) and returns when all have returned.
void psvi_run_tasks(psv_context *context, uint32_t count, psv_task *task, void *data);

// A loop that several workers share out. `next` is atomic.
typedef struct psvi_loop {
    uint64_t next, count, grain;
} psvi_loop;

// Takes the next range of at most `grain` items; false when none is left.
static inline bool psvi_take_range(psvi_loop *loop, uint64_t *first, uint64_t *end) {
    const uint64_t begin = __atomic_fetch_add(&loop->next, loop->grain, __ATOMIC_RELAXED);
    if (begin >= loop->count) return false;
    *first = begin;
    *end = loop->count - begin < loop->grain ? loop->count : begin + loop->grain;
    return true;
}

static inline uint64_t psvi_loop_pieces(uint64_t count, uint64_t grain) { return (count + grain - 1) / grain; }

// Calls task(data, first, end) for ranges of at most `grain` items that together are [0, count).
typedef void psvi_range_task(void *data, uint64_t first, uint64_t end);
void psvi_run_ranges(psv_context *context, uint64_t count, uint64_t grain, psvi_range_task *task, void *data);

// Calls lead(crew, data) on one thread. The stages that it runs are shared out among all workers.
typedef struct psvi_crew psvi_crew;
void psvi_run_crew(psv_context *context, uint32_t workers, void (*lead)(psvi_crew *crew, void *data), void *data);

// Calls task(data, i) once for each i in [0, count), count < 2^31; returns when all have returned.
void psvi_run_stage(psvi_crew *crew, uint32_t count, psv_task *task, void *data);

// The threads of a context; NULL without memory, and then tasks run one after another. psvi_end_pool waits for them.
psvi_pool *psvi_make_pool(void);
void psvi_end_pool(psvi_pool *pool);

// Cores that the process may use.
int psvi_count_cores(void);

#ifdef __cplusplus
}
#endif
#endif
