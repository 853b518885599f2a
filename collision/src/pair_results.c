// The results of a frame on the host: counts, pairs, statistics, and overflows.
#include "finder.h"

psv_status psvi_check_finder(const psv_pair_finder *finder) {
    if (finder == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is NULL");
    if (finder->cookie != PSVI_FINDER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is not a living pair finder");
    return PSV_OK;
}

psv_status psvi_check_frame(psv_pair_finder *finder) {
    psv_status status = psvi_check_finder(finder);
    if (status != PSV_OK || finder->has_frame) return status;
    return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "finder has no frame yet; call psv_find_pairs first");
}

psv_status psvi_report_overflow(psv_pair_finder *finder, uint64_t count) {
    return psvi_fail(finder->context, PSV_ERROR_CAPACITY,
                     "the pair buffer holds %llu pairs; %llu are needed (def.max_pairs, or def.grow_pairs)",
                     (unsigned long long)finder->memory.capacity, (unsigned long long)count);
}

psv_status psvi_fetch_result(psv_pair_finder *finder, psvi_frame_result *result) {
    psv_context *context = finder->context;
    psv_status status = context->ops->copy(context, result, finder->result, sizeof *result, PSVI_COPY_DOWNLOAD);
    return status != PSV_OK ? status : context->ops->synchronize(context);
}

#define BLOCK_WORLDS 1024u // counts fetched at once

// Some world has more pairs than def.world_pairs. Blocks.
static psv_status report_crowded(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const uint64_t *counts = finder->rules.world_pairs;
    uint64_t block[BLOCK_WORLDS], most = 0;
    uint32_t world = 0, crowded = 0;
    for (uint32_t first = 0; first < finder->def.world_count; first += BLOCK_WORLDS) {
        const uint32_t left = finder->def.world_count - first, count = left < BLOCK_WORLDS ? left : BLOCK_WORLDS;
        psv_status status =
            context->ops->copy(context, block, counts + first, count * sizeof *block, PSVI_COPY_DOWNLOAD);
        if (status == PSV_OK) status = context->ops->synchronize(context);
        if (status != PSV_OK) return status;
        for (uint32_t i = 0; i < count; ++i) {
            crowded += block[i] > finder->def.world_pairs;
            if (block[i] > most) most = block[i], world = first + i;
        }
    }
    return psvi_fail(context, PSV_ERROR_CAPACITY,
                     "world %u has %llu pairs; def.world_pairs is %llu (worlds with more: %u; all others are complete)",
                     world, (unsigned long long)most, (unsigned long long)finder->def.world_pairs, crowded);
}

psv_status psvi_report_frame(psv_pair_finder *finder, const psvi_frame_result *result) {
    if (result->pair_count > finder->memory.capacity) return psvi_report_overflow(finder, result->pair_count);
    return result->refused > 0 ? report_crowded(finder) : PSV_OK;
}

psv_status psv_finish_pairs(psv_pair_finder *finder, uint64_t *count) {
    psv_status status = psvi_check_frame(finder);
    psvi_frame_result result;
    if (status == PSV_OK) status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK) return status;
    if (count != NULL) *count = result.pair_count;
    return psvi_report_frame(finder, &result);
}

psv_status psvi_begin_read(psv_pair_finder *finder, const void *out, const char *name, uint64_t capacity,
                           psvi_frame_result *result) {
    const psv_status status = psvi_check_frame(finder);
    if (status != PSV_OK) return status;
    if (out == NULL && capacity > 0)
        return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "%s is NULL, but capacity is %llu", name,
                         (unsigned long long)capacity);
    return psvi_fetch_result(finder, result);
}

psv_status psv_read_pairs(psv_pair_finder *finder, psv_pair *pairs, uint64_t capacity, uint64_t *count) {
    psvi_frame_result result;
    psv_status status = psvi_begin_read(finder, pairs, "pairs", capacity, &result);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    if (count != NULL) *count = result.pair_count;
    uint64_t there = result.pair_count < finder->memory.capacity ? result.pair_count : finder->memory.capacity;
    uint64_t copied = there < capacity ? there : capacity;
    if (copied > 0) {
        status = context->ops->copy(context, pairs, finder->memory.pairs, copied * sizeof *pairs, PSVI_COPY_DOWNLOAD);
        if (status == PSV_OK) status = context->ops->synchronize(context);
        if (status != PSV_OK) return status;
    }
    if (result.pair_count > finder->memory.capacity) return psvi_report_overflow(finder, result.pair_count);
    if (result.pair_count > capacity)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "capacity is %llu; %llu pairs are there",
                         (unsigned long long)capacity, (unsigned long long)result.pair_count);
    return psvi_report_frame(finder, &result);
}

psv_buffer psv_pair_buffer(const psv_pair_finder *finder) {
    if (psvi_check_finder(finder) != PSV_OK) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, finder->memory.pairs, finder->memory.capacity * sizeof(psv_pair));
}

psv_buffer psv_world_pair_buffer(const psv_pair_finder *finder) {
    if (psvi_check_finder(finder) != PSV_OK) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, finder->rules.world_pairs, psvi_world_count_bytes(&finder->def));
}

psv_buffer psv_pair_count_buffer(const psv_pair_finder *finder) {
    if (psvi_check_finder(finder) != PSV_OK) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, &finder->result->pair_count, sizeof(uint64_t));
}

psv_status psvi_add_sort_statistics(psv_sorter *sorter, psv_pair_statistics *statistics) {
    psv_sort_statistics sort = {0};
    const psv_status status = psv_read_sort_statistics(sorter, &sort);
    statistics->sort_passes = sort.passes_run;
    statistics->sort_passes_skipped = sort.passes_skipped;
    return status;
}

psv_status psv_read_pair_statistics(psv_pair_finder *finder, psv_pair_statistics *statistics) {
    psv_status status = psvi_check_frame(finder);
    if (status != PSV_OK) return status;
    if (statistics == NULL) return psvi_fail(finder->context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    psvi_frame_result result;
    status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK) return status;
    const psvi_broad_phase *const method = finder->last->method;
    *statistics = (psv_pair_statistics){
        .boxes = result.boxes,
        .bad_boxes = result.bad_count,
        .huge_boxes = result.huge_count,
        .pairs = result.pair_count + result.refused,
        .candidates = result.candidates,
        .rows = result.rows,
        .longest_range = result.longest_range,
        .levels = result.levels,
        .key_bits = result.key_bits,
        .sort_passes = result.sort_passes,
        .sort_passes_skipped = result.sort_passes_skipped,
        .method = method->name,
        .sort_method = psvi_sorter_name(&finder->def),
        .route = method->route_name == NULL ? method->name : method->route_name(result.route),
        .veto = method->veto_name == NULL ? "none" : method->veto_name(result.veto),
    };
    if (strcmp(finder->def.method, "auto") == 0 && strcmp(method->name, "lbvh") == 0)
        statistics->veto = finder->context->ops->immediate ? "tests" : "slower"; // criterion of the choice
    return method->statistics == NULL ? PSV_OK : method->statistics(finder->last, statistics);
}
