// All queries of a call, shared between threads; compiled once for each kind of vector unit. The including file names
// the functions: PSVI_QUERY_LOOP and PSVI_FILL_LOOP.
#include "../../../core/cpu/turns.h"
#include "../../../core/cpu/workers.h"
#include "../../src/queries/tree_query.h"

#define PSVI_QUERY_CHUNK 64 // queries that a thread takes at a time

// One copy of the walk for each kind.
#define PSVI_EACH_QUERY(call)                                                                                          \
    for (int64_t i = begin; i < end; ++i) {                                                                            \
        const uint32_t q = query->order == NULL ? (uint32_t)i : query->order[i];                                       \
        call;                                                                                                          \
    }

#ifndef PSVI_CLOSEST_HITS // a file may have faster ones
#define PSVI_CLOSEST_HITS(query, begin, end) PSVI_EACH_QUERY(psvi_answer(query, PSVI_QUERY_CLOSEST_HIT, q))
#define PSVI_ANY_HITS(query, begin, end) PSVI_EACH_QUERY(psvi_answer(query, PSVI_QUERY_ANY_HIT, q))
#endif

static void answer_chunk(const psvi_tree_query *query, int64_t begin, int64_t end) {
    switch (query->kind) {
    case PSVI_QUERY_CLOSEST_HIT: PSVI_CLOSEST_HITS(query, begin, end) break;
    case PSVI_QUERY_ANY_HIT: PSVI_ANY_HITS(query, begin, end) break;
    case PSVI_QUERY_NEAREST: PSVI_EACH_QUERY(psvi_answer(query, PSVI_QUERY_NEAREST, q)) break;
    default: PSVI_EACH_QUERY(psvi_answer(query, PSVI_QUERY_CLOSEST_POINT, q)) break;
    }
}

static void answer_list_chunk(const psvi_tree_query *query, int64_t begin, int64_t end, bool write, uint32_t *counts) {
    uint32_t found = 0;
#define PSVI_COUNTED(kind)                                                                                             \
    PSVI_EACH_QUERY(found = psvi_answer_list(query, kind, q, write); if (counts != NULL) counts[q] = found)
    switch (query->kind) {
    case PSVI_QUERY_ALL_HITS: PSVI_COUNTED(PSVI_QUERY_ALL_HITS) break;
    case PSVI_QUERY_BOXES: PSVI_COUNTED(PSVI_QUERY_BOXES) break;
    default: PSVI_COUNTED(PSVI_QUERY_SPHERES) break;
    }
}

// --- lists in one walk -----------------------------------------------------------------------------------------------
//
// Where a query's results begin is known when those of all queries before it are counted. A range of queries therefore
// collects its results in memory of its thread, waits until the range before it knows where it ends, and copies them.
// Only a range with more results than that memory holds walks a second time.

#define PSVI_HELD_HITS 1024

typedef union held_results {
    psv_ray_hit hits[PSVI_HELD_HITS];
    uint32_t items[4 * PSVI_HELD_HITS];
} held_results;

typedef struct fill_job {
    const psvi_tree_query *query;
    uint64_t turn; // the first query whose results have no place yet
    uint64_t sum;  // of the results before it
} fill_job;

// Answers into query->results, which holds this range alone. Returns how many results there are; offsets count from 0.
static uint64_t fill_chunk(const psvi_tree_query *query, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
#define PSVI_FILLED(kind)                                                                                              \
    for (uint64_t q = begin; q < end; ++q) {                                                                           \
        query->offsets[q] = sum;                                                                                       \
        const uint32_t found = psvi_answer_list(query, kind, (uint32_t)q, true);                                       \
        if (query->counts != NULL) query->counts[q] = found;                                                           \
        sum += found;                                                                                                  \
    }
    switch (query->kind) {
    case PSVI_QUERY_ALL_HITS: PSVI_FILLED(PSVI_QUERY_ALL_HITS) break;
    case PSVI_QUERY_BOXES: PSVI_FILLED(PSVI_QUERY_BOXES) break;
    default: PSVI_FILLED(PSVI_QUERY_SPHERES) break;
    }
    return sum;
}

static void fill_some(void *data, uint64_t first, uint64_t end) {
    fill_job *job = data;
    const psvi_tree_query *query = job->query;
    const bool hits = query->kind == PSVI_QUERY_ALL_HITS;
    const uint64_t bytes = hits ? sizeof(psv_ray_hit) : sizeof(uint32_t);
    held_results held;
    psvi_tree_query own = *query;
    own.results = &held;
    own.room = sizeof held / bytes;
    const uint64_t found = fill_chunk(&own, first, end);
    psvi_wait_for_turn(&job->turn, first);
    const uint64_t begin = job->sum;
    job->sum = begin + found;
    psvi_end_turn(&job->turn, end);
    for (uint64_t q = first; q < end; ++q)
        query->offsets[q] += begin;
    if (found <= own.room && begin + found <= query->room)
        memcpy((char *)query->results + begin * bytes, &held, found * bytes);
    else if (begin < query->room)
        answer_list_chunk(query, (int64_t)first, (int64_t)end, true, NULL);
}

uint64_t PSVI_FILL_LOOP(psv_context *context, const psvi_tree_query *query) {
    fill_job job = {query, 0, 0};
    psvi_run_ranges(context, query->count, PSVI_QUERY_CHUNK, fill_some, &job);
    return job.sum;
}

// --- all queries -----------------------------------------------------------------------------------------------------

typedef struct query_job {
    const psvi_tree_query *query;
    uint32_t *counts;
    bool write;
} query_job;

static void answer_some(void *data, uint64_t first, uint64_t end) {
    const query_job *job = data;
    if (job->query->kind >= PSVI_QUERY_ALL_HITS && job->query->kind <= PSVI_QUERY_SPHERES)
        answer_list_chunk(job->query, (int64_t)first, (int64_t)end, job->write, job->counts);
    else
        answer_chunk(job->query, (int64_t)first, (int64_t)end);
}

void PSVI_QUERY_LOOP(psv_context *context, const psvi_tree_query *query, bool write, uint32_t *counts) {
    query_job job = {query, counts, write};
    psvi_run_ranges(context, query->count, PSVI_QUERY_CHUNK, answer_some, &job);
}
