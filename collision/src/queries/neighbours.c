// Neighbours within a radius: checks of a search, and the memory of what was found.
#include "pairsieve/neighbours.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../broad_phase.h"
#include "neighbour_ops.h"

#define SEARCH_COOKIE 0x70736e73u // "psns"
#define FINDER_COOKIE 0x70736e66u // "psnf"

struct psv_neighbour_finder {
    uint32_t cookie;
    psv_context *context;
    const psvi_neighbour_ops *ops;
    psvi_neighbour_memory memory;
    psvi_neighbour_result result;   // in `memory`
    bool found, doubles, distances; // of the last search
};

psv_neighbour_search psv_default_neighbour_search(void) {
    return (psv_neighbour_search){.cookie = SEARCH_COOKIE, .dimensions = 3};
}

psv_status psv_create_neighbour_finder(psv_context *context, psv_neighbour_finder **finder) {
    const psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (finder == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "finder is NULL");
    const psvi_collision_module *module = psvi_collision_module_of(context->backend);
    if (module == NULL || module->neighbours == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s has no search for neighbours; it is on the CPU",
                         context->ops->name);
    psv_neighbour_finder *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a neighbour finder");
    made->cookie = FINDER_COOKIE;
    made->context = context;
    made->ops = module->neighbours;
    *finder = made;
    return PSV_OK;
}

void *psvi_take_neighbour_part(psv_context *context, psvi_neighbour_memory *memory, int part, uint64_t bytes) {
    if (memory->parts[part] != NULL && memory->bytes[part] >= bytes) return memory->parts[part];
    psvi_free(context, memory->parts[part], memory->bytes[part]);
    memory->bytes[part] = bytes == 0 ? 1 : bytes;
    memory->parts[part] = psvi_alloc(context, memory->bytes[part]);
    return memory->parts[part];
}

void psv_destroy_neighbour_finder(psv_neighbour_finder *finder) {
    if (finder == NULL || finder->cookie != FINDER_COOKIE) return;
    for (int part = 0; part < PSVI_NEIGHBOUR_PARTS; ++part)
        psvi_free(finder->context, finder->memory.parts[part], finder->memory.bytes[part]);
    finder->cookie = 0;
    free(finder);
}

static psv_status check_set(psv_context *context, const psv_neighbour_search *search, const psv_point_set *set,
                            const char *name, psvi_point_view *view) {
    const uint64_t size = search->doubles ? 8 : 4, least = size * search->dimensions;
    const uint64_t stride = set->stride == 0 ? least : set->stride;
    char part[32];
    if (set->count >= (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.count is %llu; it must be below 2147483648", name,
                         (unsigned long long)set->count);
    if (stride < least || stride % size != 0 || stride > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "%s.stride is %llu; it must be at least %llu, and a multiple of %llu", name,
                         (unsigned long long)stride, (unsigned long long)least, (unsigned long long)size);
    (void)snprintf(part, sizeof part, "%s.coordinates", name);
    psv_status status = psvi_check_buffer(
        context, set->coordinates, set->count == 0 ? 0 : (set->count - 1) * stride + least, (uint32_t)size, part);
    if (status != PSV_OK) return status;
    (void)snprintf(part, sizeof part, "%s.worlds", name);
    if (psvi_is_given(set->worlds)) status = psvi_check_buffer(context, set->worlds, set->count * 4, 4, part);
    *view = (psvi_point_view){psvi_buffer_address(set->coordinates), stride, set->count,
                              psvi_is_given(set->worlds) ? psvi_buffer_address(set->worlds) : NULL};
    return status;
}

static psv_status check_search(psv_context *context, const psv_neighbour_search *search, psvi_neighbour_job *job) {
    if (search == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "search is NULL");
    if (search->cookie != SEARCH_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "search was not made by psv_default_neighbour_search");
    if (search->dimensions < 1 || search->dimensions > PSV_MAX_DIMENSIONS)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "search.dimensions is %u; it must be 1 to %u", search->dimensions,
                         PSV_MAX_DIMENSIONS);
    if (!(search->radius >= 0) || isinf(search->radius))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "search.radius is %g; it must be finite and not negative",
                         search->radius);
    *job = (psvi_neighbour_job){.between = search->between,
                                .itself = search->itself || search->between,
                                .doubles = search->doubles,
                                .squares = search->distances || search->most > 0,
                                .dimensions = search->dimensions,
                                .most = search->most == 0 ? UINT32_MAX : search->most,
                                .radius = search->radius};
    psv_status status = check_set(context, search, &search->points, "points", &job->points);
    job->queries = job->points;
    if (status == PSV_OK && search->between)
        status = check_set(context, search, &search->queries, "queries", &job->queries);
    if (status == PSV_OK && (job->points.worlds != NULL) != (job->queries.worlds != NULL))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "worlds are given for one of points and queries; give both or none");
    return status;
}

// Where the rows begin when they lie in order.
static psv_status sum_counts(psv_neighbour_finder *finder) {
    psv_context *context = finder->context;
    psvi_neighbour_result *result = &finder->result;
    result->offsets = psvi_take_neighbour_part(context, &finder->memory, PSVI_NEIGHBOUR_OFFSETS,
                                               (result->queries + 1) * sizeof *result->offsets);
    if (result->offsets == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %llu queries", (unsigned long long)result->queries);
    uint64_t sum = 0;
    for (uint64_t query = 0; query < result->queries; ++query) {
        result->offsets[query] = sum;
        if (result->rows != NULL) sum += result->rows[query].count;
    }
    result->offsets[result->queries] = result->count = sum;
    return PSV_OK;
}

psv_status psv_find_neighbours(psv_neighbour_finder *finder, const psv_neighbour_search *search, uint64_t *count) {
    if (finder == NULL || finder->cookie != FINDER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is NULL or destroyed");
    psvi_neighbour_job job;
    psv_status status = check_search(finder->context, search, &job);
    if (status != PSV_OK) return status;
    finder->found = false;
    finder->result = (psvi_neighbour_result){.queries = job.queries.count};
    PSVI_STANDARD_FLOATS(finder->context);
    if (job.points.count > 0 && job.queries.count > 0)
        status = finder->ops->find(finder->context, &job, &finder->memory, &finder->result);
    if (status == PSV_OK) status = sum_counts(finder);
    if (status != PSV_OK) return status;
    finder->found = true;
    finder->doubles = job.doubles;
    finder->distances = search->distances;
    if (count != NULL) *count = finder->result.count;
    return PSV_OK;
}

psv_status psv_write_neighbours(psv_neighbour_finder *finder, const psv_neighbour_lists *lists) {
    if (finder == NULL || finder->cookie != FINDER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is NULL or destroyed");
    psv_context *context = finder->context;
    if (lists == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "lists is NULL");
    if (!finder->found) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the finder has found nothing yet");
    if (psvi_is_given(lists->distances) && !finder->distances)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "lists.distances is given; the search was without `distances`");
    const psvi_neighbour_result *result = &finder->result;
    const uint32_t index = lists->wide ? 8 : 4, number = finder->doubles ? 8 : 4;
    const struct {
        psv_buffer buffer;
        uint64_t bytes;
        uint32_t alignment;
        const char *name;
    } parts[] = {{lists->offsets, (result->queries + 1) * 8, 8, "lists.offsets"},
                 {lists->indices, result->count * index, index, "lists.indices"},
                 {lists->queries, result->count * index, index, "lists.queries"},
                 {lists->distances, result->count * number, number, "lists.distances"}};
    void *addresses[4];
    for (int i = 0; i < 4; ++i) {
        addresses[i] = psvi_is_given(parts[i].buffer) ? psvi_buffer_address(parts[i].buffer) : NULL;
        if (addresses[i] == NULL) continue;
        const psv_status status =
            psvi_check_buffer(context, parts[i].buffer, parts[i].bytes, parts[i].alignment, parts[i].name);
        if (status != PSV_OK) return status;
    }
    if (addresses[0] != NULL) memcpy(addresses[0], result->offsets, (result->queries + 1) * 8);
    if (result->count == 0) return PSV_OK;
    const psvi_neighbour_output output = {addresses[1], addresses[2], addresses[3], lists->wide, finder->doubles};
    PSVI_STANDARD_FLOATS(context);
    finder->ops->write(context, result, &output);
    return PSV_OK;
}
