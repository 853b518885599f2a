// `pairsieve run --check`: the pairs of a step against all pairs found by the method `brute`.
#include <stdlib.h>
#include <string.h>

#include "run_job.h"

#define MOST_BOXES_ON_CPU 65536u

struct run_checker {
    psv_context *context; // of its own, so that the oracle's time is not in the scene's profile
    psv_pair_finder *finder;
    psv_pair_finder_def def;
};

void run_destroy_checker(run_checker *checker) {
    if (checker == NULL) return;
    psv_destroy_pair_finder(checker->finder);
    psv_destroy_context(checker->context);
    free(checker);
}

// --- boxes on the host ----------------------------------------------------------------------------------------------

typedef struct host_boxes {
    psv_box_set set; // with host memory
    psv_status status;
} host_boxes;

static psv_buffer copy_part(psv_context *context, psv_buffer part, psv_status *status) {
    if (part.bytes == 0 || *status != PSV_OK) return (psv_buffer){0};
    void *copy = malloc(part.bytes);
    if (copy == NULL) {
        *status = PSV_ERROR_MEMORY;
        return (psv_buffer){0};
    }
    *status = psv_download(context, copy, part, part.bytes);
    return psv_buffer_of(copy, part.bytes);
}

static host_boxes copy_boxes(psv_context *context, const psv_box_set *boxes) {
    host_boxes host = {.set = *boxes, .status = PSV_OK};
    host.set.min = copy_part(context, boxes->min, &host.status);
    host.set.max = copy_part(context, boxes->max, &host.status);
    host.set.count_buffer = copy_part(context, boxes->count_buffer, &host.status);
    host.set.flags = copy_part(context, boxes->flags, &host.status);
    host.set.filters = copy_part(context, boxes->filters, &host.status);
    host.set.worlds = copy_part(context, boxes->worlds, &host.status);
    return host;
}

static void free_boxes(host_boxes *host) {
    free(host->set.min.address);
    free(host->set.max.address);
    free(host->set.count_buffer.address);
    free(host->set.flags.address);
    free(host->set.filters.address);
    free(host->set.worlds.address);
}

static uint32_t world_count(const psv_box_set *host) {
    const uint32_t *worlds = host->worlds.address;
    uint32_t count = 1;
    for (uint64_t i = 0; worlds != NULL && i < host->count; ++i)
        if (worlds[i] >= count && worlds[i] < UINT32_MAX) count = worlds[i] + 1;
    return count;
}

int run_end_sampled_check(run_job *job) {
    if (!job->check_sampled) return TOOL_DONE;
    const psv_status status = psv_read_world_check(job->world, &job->sampled);
    const psv_world_check *found = &job->sampled;
    if (status != PSV_OK || found->missing + found->extra == 0) return tool_fail_status(job->context, status);
    ++job->check_failures;
    tool_fail(TOOL_FAILED, "frame %llu: pair (%u, %u) is %s; in all %llu pairs missing and %llu too many",
              (unsigned long long)found->first_step, found->first.a, found->first.b,
              found->first_is_missing ? "missing" : "too many", (unsigned long long)found->missing,
              (unsigned long long)found->extra);
    return TOOL_DONE;
}

// --- the oracle -----------------------------------------------------------------------------------------------------

static int create_oracle(run_job *job, psv_backend backend) {
    job->checker = calloc(1, sizeof *job->checker);
    if (job->checker == NULL) return tool_fail(TOOL_REFUSED, "no memory for the check");
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = (int)job->device.workers;
    return tool_fail_status(NULL, psv_create_context(&def, &job->checker->context));
}

// A finder with room for these boxes; the one there is when it fits.
static psv_status prepare_finder(run_checker *checker, uint64_t boxes, uint32_t worlds, uint64_t pairs) {
    if (checker->finder != NULL && checker->def.max_boxes >= boxes && checker->def.world_count >= worlds) return PSV_OK;
    psv_destroy_pair_finder(checker->finder);
    checker->finder = NULL;
    checker->def = psv_default_pair_finder_def();
    checker->def.method = "brute";
    checker->def.max_boxes = boxes > 0 ? boxes : 1;
    checker->def.max_pairs = pairs + pairs / 2 + 1024;
    checker->def.grow_pairs = true;
    checker->def.sort_output = true;
    checker->def.world_count = worlds;
    return psv_create_pair_finder(checker->context, &checker->def, &checker->finder);
}

static int compare_pairs(const void *x, const void *y) {
    const psv_pair *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

// Both lists in ascending order. Counts pairs that only one list has, and prints a sentence about them.
static bool same_pairs(uint64_t frame, const psv_pair *found, uint64_t found_count, const psv_pair *oracle,
                       uint64_t oracle_count) {
    uint64_t missing = 0, extra = 0, f = 0, o = 0;
    psv_pair first = {0, 0};
    while (f < found_count || o < oracle_count) {
        int order = f == found_count ? 1 : o == oracle_count ? -1 : compare_pairs(&found[f], &oracle[o]);
        if (order != 0 && missing + extra == 0) first = order < 0 ? found[f] : oracle[o];
        if (order < 0) ++extra;
        if (order > 0) ++missing;
        f += order <= 0;
        o += order >= 0;
    }
    if (missing + extra == 0) return true;
    tool_fail(TOOL_FAILED, "frame %llu: %llu pairs missing and %llu too many, the first is (%u, %u)",
              (unsigned long long)frame, (unsigned long long)missing, (unsigned long long)extra, first.a, first.b);
    return false;
}

static int compare_with_oracle(run_job *job, uint64_t frame) {
    psv_pair_finder *finder = psv_world_pair_finder(job->world);
    uint64_t found_count = 0, oracle_count = 0;
    psv_status status = psv_finish_pairs(finder, &found_count);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    status = psv_finish_pairs(job->checker->finder, &oracle_count);
    if (status != PSV_OK) return tool_fail_status(job->checker->context, status);
    psv_pair *found = malloc((found_count + 1) * sizeof *found), *oracle = malloc((oracle_count + 1) * sizeof *oracle);
    int code = TOOL_DONE;
    if (found == NULL || oracle == NULL)
        code = tool_fail(TOOL_REFUSED, "no memory to check %llu pairs", (unsigned long long)oracle_count);
    if (code == TOOL_DONE) code = tool_fail_status(job->context, psv_read_pairs(finder, found, found_count, NULL));
    if (code == TOOL_DONE)
        code =
            tool_fail_status(job->checker->context, psv_read_pairs(job->checker->finder, oracle, oracle_count, NULL));
    if (code == TOOL_DONE) {
        qsort(found, found_count, sizeof *found, compare_pairs);
        ++job->checked_frames;
        job->check_failures += !same_pairs(frame, found, found_count, oracle, oracle_count);
    }
    free(found);
    free(oracle);
    return code;
}

int run_check_frame(run_job *job, uint64_t frame) {
    psv_status status = psv_synchronize(job->context);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    psv_box_set boxes = psv_world_box_set(job->world);
    host_boxes host = copy_boxes(job->context, &boxes);
    if (host.status != PSV_OK) {
        free_boxes(&host);
        return tool_fail_status(job->context, host.status);
    }
    bool on_gpu = psv_context_backend(job->context) == PSV_BACKEND_CUDA && boxes.count > MOST_BOXES_ON_CPU;
    int code = job->checker != NULL ? TOOL_DONE : create_oracle(job, on_gpu ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU);
    // The oracle keeps its method, so that one run is one comparison.
    bool oracle_on_gpu = code == TOOL_DONE && psv_context_backend(job->checker->context) == PSV_BACKEND_CUDA;
    if (code == TOOL_DONE) {
        status = prepare_finder(job->checker, boxes.count, world_count(&host.set), job->counters.pairs);
        if (status == PSV_OK) status = psv_find_pairs(job->checker->finder, oracle_on_gpu ? &boxes : &host.set);
        code = tool_fail_status(job->checker->context, status);
    }
    if (code == TOOL_DONE) code = compare_with_oracle(job, frame);
    free_boxes(&host);
    return code;
}
