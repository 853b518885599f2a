// All queries of a call, shared between threads; compiled once for each kind of vector unit. The including file names
// the function: PSVI_QUERY_LOOP.
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
