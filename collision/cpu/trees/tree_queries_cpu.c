// Calls of queries on the CPU: order of the queries, counts, offsets, results.
#include "../../../core/cpu/workers.h"
#include "../../src/queries/tree_query.h"
#include "tree_cpu.h"

#ifdef PSVI_HAVE_AVX2_FILE
#define PSVI_CHOOSE(plain, avx2) (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? (avx2) : (plain))
#else
#define PSVI_CHOOSE(plain, avx2) (plain)
#endif

static void run_loop(psv_tree *tree, const psvi_tree_query *query, bool write, uint32_t *counts) {
    PSVI_CHOOSE(psvi_query_loop_plain, psvi_query_loop_avx2)(tree->context, query, write, counts);
}

typedef struct key_job {
    const psvi_tree_query *query;
    uint32_t *keys;
} key_job;

static void make_some_query_keys(void *data, uint64_t first, uint64_t end) {
    const key_job *job = data;
    for (uint64_t q = first; q < end; ++q)
        job->keys[q] = psvi_query_key(job->query, (uint32_t)q);
}

static psv_status order_queries(psv_tree *tree, psvi_tree_query *query) {
    const psvi_tree_memory *memory = &tree->memory;
    const uint64_t count = query->count;
    key_job job = {query, memory->query_keys};
    psvi_run_ranges(tree->context, count, 4096, make_some_query_keys, &job);
    if (count < 2) return PSV_OK;
    query->order = memory->query_order;
    return psv_sort_index(tree->query_sorter, psv_buffer_of(memory->query_keys, count * 4),
                          psv_buffer_of(memory->query_order, count * 4), count, PSV_INDEX_KEYS_UNDEFINED);
}

static void run_lists(psv_tree *tree, const psvi_tree_query *query) {
    if (query->offsets == NULL) {
        run_loop(tree, query, true, query->counts);
        return;
    }
    uint64_t sum = 0;
    const bool at_once = query->results != NULL && query->order == NULL;
    if (at_once) {
        sum = PSVI_CHOOSE(psvi_fill_loop_plain, psvi_fill_loop_avx2)(tree->context, query);
    } else {
        uint32_t *counts = query->counts != NULL ? query->counts : tree->memory.query_counts;
        run_loop(tree, query, false, counts);
        for (uint32_t q = 0; q < query->count; ++q) {
            query->offsets[q] = sum;
            sum += counts[q];
        }
    }
    query->offsets[query->count] = sum;
    tree->memory.result->results = sum;
    if (query->results != NULL && !at_once) run_loop(tree, query, true, NULL);
}

psv_status psvi_query_tree_cpu(psv_tree *tree, psvi_tree_query *query) {
    if (query->sort) {
        const psv_status status = order_queries(tree, query);
        if (status != PSV_OK) return status;
    }
    psvi_phase_begin(tree->context, PSV_PHASE_SWEEP);
    if (query->kind >= PSVI_QUERY_ALL_HITS && query->kind <= PSVI_QUERY_SPHERES)
        run_lists(tree, query);
    else
        run_loop(tree, query, true, NULL);
    psvi_phase_end(tree->context, PSV_PHASE_SWEEP);
    return PSV_OK;
}
