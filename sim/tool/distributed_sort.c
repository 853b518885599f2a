#include "distributed_sort.h"

#include <stdlib.h>

#include "sort_keys.h"

typedef struct ranks_sort {
    const tool_distributed_sort *wanted;
    tool_ranks ranks;
    psv_group_sorter *sorter;
    psv_buffer keys;
    void *host_keys;
    uint64_t count; // of this rank
    uint32_t key_bytes, value_bytes;
    psv_group_sorted sorted;
    psv_group_sort_statistics statistics;
    double median_ms;
} ranks_sort;

static int check_same_keys(const ranks_sort *job) {
    const tool_distributed_sort *w = job->wanted;
    const uint64_t numbers[] = {w->count, w->seed, w->repeat, (uint64_t)w->type, (uint64_t)w->distribution};
    return tool_check_agreement(&job->ranks, "keys, or another --repeat,", numbers, sizeof numbers, 0);
}

static int make_input(ranks_sort *job) {
    const tool_distributed_sort *wanted = job->wanted;
    const tool_ranks *ranks = &job->ranks;
    job->count = wanted->count * (ranks->rank + 1) / ranks->size - wanted->count * ranks->rank / ranks->size;
    job->key_bytes = psv_key_type_bytes(wanted->type);
    job->value_bytes = wanted->count > UINT32_MAX ? 8 : 4;
    job->host_keys = malloc((job->count + 1) * job->key_bytes);
    if (job->host_keys == NULL)
        return tool_fail(TOOL_REFUSED, "no memory for %llu keys", (unsigned long long)job->count);
    tool_fill_keys(job->host_keys, job->count, wanted->type, wanted->distribution, wanted->seed + ranks->rank);
    psv_status status = psv_alloc_buffer(ranks->context, job->count * job->key_bytes, &job->keys);
    if (status == PSV_OK) status = psv_upload(ranks->context, job->keys, job->host_keys, job->count * job->key_bytes);
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local.method = wanted->method;
    def.local.key_type = wanted->type;
    def.local.value_bytes = job->value_bytes;
    def.local.max_count = job->count;
    if (status == PSV_OK) status = psv_create_group_sorter(ranks->group, &def, &job->sorter);
    return tool_fail_status(ranks->context, status);
}

static int run_sorts(ranks_sort *job) {
    double *times = malloc(job->wanted->repeat * sizeof *times);
    if (times == NULL) return tool_fail(TOOL_REFUSED, "no memory for the times");
    psv_status status = PSV_OK;
    for (uint64_t r = 0; r <= job->wanted->repeat && status == PSV_OK; ++r) { // the first one is not timed
        const double begin = tool_seconds_now();
        status = psv_group_sort_index(job->sorter, job->keys, job->count, &job->sorted);
        tool_note_progress(&job->ranks);
        if (r > 0) times[r - 1] = 1e3 * (tool_seconds_now() - begin);
    }
    if (status == PSV_OK) status = psv_read_group_sort_statistics(job->sorter, &job->statistics);
    if (status == PSV_OK) job->median_ms = tool_median(times, job->wanted->repeat);
    free(times);
    return tool_fail_status(job->ranks.context, status);
}

// All input and all output, on rank 0.
static int check_result(const ranks_sort *job, tool_sort_check *check) {
    const uint64_t count = job->sorted.count;
    void *keys = malloc((count + 1) * job->key_bytes), *values = malloc((count + 1) * job->value_bytes);
    psv_status status = keys == NULL || values == NULL ? PSV_ERROR_MEMORY : PSV_OK;
    if (status == PSV_OK) status = psv_download(job->ranks.context, keys, job->sorted.keys, count * job->key_bytes);
    if (status == PSV_OK)
        status = psv_download(job->ranks.context, values, job->sorted.values, count * job->value_bytes);
    int code = tool_fail_status(job->ranks.context, status);
    if (code == TOOL_DONE) {
        void *input = tool_collect_parts(&job->ranks, job->host_keys, job->count, job->key_bytes);
        void *all_keys = tool_collect_parts(&job->ranks, keys, count, job->key_bytes);
        void *all_values = tool_collect_parts(&job->ranks, values, count, job->value_bytes);
        if (input != NULL && all_keys != NULL && all_values != NULL &&
            !tool_check_sorted(input, all_keys, all_values, job->value_bytes, job->wanted->count, job->wanted->type,
                               check))
            code = tool_fail(TOOL_REFUSED, "no memory to check the result");
        free(input);
        free(all_keys);
        free(all_values);
    }
    free(keys);
    free(values);
    return code;
}

static int print_sort(const ranks_sort *job, const tool_sort_check *check) {
    const tool_distributed_sort *wanted = job->wanted;
    const char *type = psv_key_type_name(wanted->type), *distribution = tool_distributions[wanted->distribution];
    const psv_group_sort_statistics *s = &job->statistics;
    if (wanted->json)
        return tool_print_result("sort_of_ranks", job->ranks.context,
                                 json_pack("{s:I, s:s, s:s, s:I, s:b, s:b, s:{s:f, s:f, s:f, s:f}, s:f}", "count",
                                           (json_int_t)wanted->count, "keys", type, "distribution", distribution,
                                           "ranks", (json_int_t)job->ranks.size, "sorted", check->sorted, "stable",
                                           check->stable, "ms", "median", job->median_ms, "split", s->split_ms, "move",
                                           s->move_ms, "sort", s->sort_ms, "imbalance", s->imbalance));
    char count[32];
    printf("%s %s keys (%s) with their places on %u ranks, %s\n", tool_format_count(count, wanted->count), type,
           distribution, job->ranks.size, psv_context_device_name(job->ranks.context));
    printf("median %.3f ms; the last one on rank 0: split %.3f, move %.3f, sort %.3f ms; fullest rank %.2f%% over the "
           "mean\n",
           job->median_ms, s->split_ms, s->move_ms, s->sort_ms, 100 * (s->imbalance - 1));
    printf("checked: %s, %s\n", check->sorted ? "sorted" : "NOT SORTED", check->stable ? "stable" : "NOT STABLE");
    return TOOL_DONE;
}

int tool_sort_distributed(const tool_distributed_sort *wanted) {
    ranks_sort job = {.wanted = wanted};
    tool_sort_check check = {false, false};
    int code = tool_open_ranks(&wanted->device, wanted->limit, &job.ranks);
    if (job.ranks.size == 0) return code; // a build without MPI
    if (code == TOOL_DONE && wanted->count > INT32_MAX)
        code = tool_fail(TOOL_REFUSED, "--count %llu: the result is checked on one rank, which takes 2147483647 keys",
                         (unsigned long long)wanted->count);
    if (code == TOOL_DONE) code = check_same_keys(&job);
    if (code == TOOL_DONE) code = make_input(&job);
    if (code == TOOL_DONE) code = run_sorts(&job);
    if (code == TOOL_DONE) code = check_result(&job, &check);
    if (code == TOOL_DONE && job.ranks.rank == 0) {
        code = print_sort(&job, &check);
        if (code == TOOL_DONE && !(check.sorted && check.stable)) code = tool_fail(TOOL_FAILED, "a wrong order");
    }
    psv_destroy_group_sorter(job.sorter);
    if (job.ranks.context != NULL) psv_free_buffer(job.ranks.context, &job.keys);
    free(job.host_keys);
    return tool_close_ranks(&job.ranks, code);
}
