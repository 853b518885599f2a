// `pairsieve run`: whether OpenGL or Vulkan finds the pairs of bodies that the CPU steps.
#include <stdlib.h>
#include <string.h>

#include "run_job.h"

#define LEAST_BOXES 65536u // the CPU's pairs of fewer take a few milliseconds at most: copies to and fro cost as much
#define TURNS 3

int run_create_contexts(run_job *job) {
    return tool_create_world_contexts(&job->device, &job->context, &job->pairs_on);
}

// Seconds of the world's pairs, the least of a few times, found and on the host; negative where that fails. A finder of
// its own, on a context whose profile is nobody's. What takes twice `limit` is not tried again.
static double time_pairs(const run_job *job, psv_context *context, const psv_box_set *boxes, psv_buffer parts[4],
                         double limit) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_world_def world = psv_default_world_def();
    psv_pair_finder *finder = NULL;
    uint64_t count = 0;
    psv_status status = psv_get_world_def(job->world, &world);
    if (status == PSV_OK && psv_broad_phase_description(psv_context_backend(context), world.broad_phase) != NULL)
        def.method = world.broad_phase;
    def.max_boxes = boxes->count;
    def.max_pairs = job->counters.pairs + job->counters.pairs / 2 + 1024;
    def.world_count = world.sub_world_count;
    psv_pair *pairs = malloc(def.max_pairs * sizeof *pairs);
    if (pairs == NULL) status = PSV_ERROR_MEMORY;
    if (status == PSV_OK) status = psv_create_pair_finder(context, &def, &finder);
    double least = -1;
    for (int turn = 0; turn <= TURNS && status == PSV_OK; ++turn) { // the first one warms up
        const double begin = tool_seconds_now();
        const psv_buffer sources[4] = {psv_world_boxes(job->world), boxes->flags, boxes->filters, boxes->worlds};
        psv_box_set set = *boxes;
        if (parts != NULL) {
            for (int p = 0; p < 4 && status == PSV_OK; ++p)
                if (sources[p].bytes > 0)
                    status = psv_upload(context, parts[p], psv_buffer_address(sources[p]), sources[p].bytes);
            set = psv_boxes_of(parts[0], sizeof(psv_aabb), boxes->count);
            set.flags = parts[1];
            set.filters = parts[2];
            set.worlds = parts[3];
        }
        if (status == PSV_OK) status = psv_find_pairs(finder, &set);
        if (status == PSV_OK) status = psv_finish_pairs(finder, &count);
        if (status == PSV_OK && parts != NULL) status = psv_read_pairs(finder, pairs, count, NULL);
        const double seconds = tool_seconds_now() - begin;
        if (turn == 1 || (turn > 1 && seconds < least)) least = seconds;
        if (turn == 1 && seconds > 2 * limit) break;
    }
    psv_destroy_pair_finder(finder);
    free(pairs);
    return status == PSV_OK ? least : -1;
}

static double time_on_gl(const run_job *job, psv_context *gl, const psv_box_set *boxes, double limit) {
    const uint64_t bytes[4] = {psv_world_boxes(job->world).bytes, boxes->flags.bytes, boxes->filters.bytes,
                               boxes->worlds.bytes};
    psv_buffer parts[4] = {{0}};
    psv_status status = PSV_OK;
    for (int p = 0; p < 4 && status == PSV_OK; ++p)
        if (bytes[p] > 0) status = psv_alloc_buffer(gl, bytes[p], &parts[p]);
    const double seconds = status == PSV_OK ? time_pairs(job, gl, boxes, parts, limit) : -1;
    for (int p = 0; p < 4; ++p)
        psv_free_buffer(gl, &parts[p]);
    return seconds;
}

// Mesa's and Google's drivers without a GPU: their shaders run on the processor, slower than its own code.
static bool is_software_driver(const psv_context *gl) {
    static const char *const names[] = {"llvmpipe", "softpipe", "SwiftShader"};
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n)
        if (strstr(psv_context_device_name(gl), names[n]) != NULL) return true;
    return false;
}

int run_measure_pairs_on(run_job *job) {
    const psv_box_set boxes = psv_world_box_set(job->world);
    tool_device_options cpu = job->device;
    cpu.backend = "cpu";
    if (strcmp(job->device.backend, "auto") != 0 || boxes.count < LEAST_BOXES ||
        psv_context_backend(job->context) != PSV_BACKEND_CPU || !psv_backend_available(PSV_BACKEND_GL))
        return TOOL_DONE;
    psv_context_def def = psv_default_context_def();
    psv_context *gl = NULL, *own = NULL;
    def.backend = PSV_BACKEND_GL;
    if (psv_create_context(&def, &gl) != PSV_OK) return TOOL_DONE; // the CPU does it
    if (is_software_driver(gl)) {
        psv_destroy_context(gl);
        return TOOL_DONE;
    }
    int code = tool_create_context(&cpu, &own);
    const double here = code == TOOL_DONE ? time_pairs(job, own, &boxes, NULL, 1e9) : -1;
    const double there = here >= 0 ? time_on_gl(job, gl, &boxes, here) : -1;
    psv_destroy_context(own);
    if (code == TOOL_DONE && there >= 0 && there < here) {
        job->pairs_on = gl;
        return tool_fail_status(job->context, psv_world_find_pairs_on(job->world, gl));
    }
    psv_destroy_context(gl);
    return code;
}
