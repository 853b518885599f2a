// See pair_check_host.h.
#include "pair_check_host.h"

#include <stdlib.h>

#include "finder.h"

// A copy of memory of the backend; NULL for none.
static void *copy_down(psvi_host_check *copies, const void *address, uint64_t bytes) {
    if (address == NULL || bytes == 0 || copies->status != PSV_OK) return NULL;
    void *copy = malloc(bytes);
    if (copy == NULL) {
        copies->status = psvi_fail(copies->from, PSV_ERROR_MEMORY, "no memory to check pairs (%llu bytes)",
                                   (unsigned long long)bytes);
        return NULL;
    }
    copies->memory[copies->count++] = copy;
    copies->status = copies->from->ops->copy(copies->from, copy, address, bytes, PSVI_COPY_DOWNLOAD);
    return copy;
}

static psv_buffer copy_buffer(psvi_host_check *copies, psv_buffer part, uint64_t bytes) {
    void *copy = copy_down(copies, psvi_buffer_address(part), bytes);
    return copy == NULL ? (psv_buffer){0} : psv_buffer_of(copy, bytes);
}

static psv_box_set copy_set(psvi_host_check *copies, const psv_box_set *set) {
    psv_box_set host = *set;
    host.min = copy_buffer(copies, set->min, set->count == 0 ? 0 : set->min.bytes);
    host.max = copy_buffer(copies, set->max, set->max.bytes);
    host.count_buffer = copy_buffer(copies, set->count_buffer, 8);
    host.flags = copy_buffer(copies, set->flags, set->count);
    host.filters = copy_buffer(copies, set->filters, set->count * sizeof(psv_box_filter));
    host.worlds = copy_buffer(copies, set->worlds, set->count * 4);
    host.ids = copy_buffer(copies, set->ids, set->count * 4);
    host.owners = copy_buffer(copies, set->owners, set->count * 4);
    host.layers = copy_buffer(copies, set->layers, set->count);
    host.margins = (psv_buffer){0};
    return host;
}

static psv_status view_set(psvi_host_check *copies, const psv_box_set *set, psvi_box_view *view, psvi_rule_side *side) {
    const psv_box_set host = copy_set(copies, set);
    if (copies->status == PSV_OK) copies->status = copies->from->ops->synchronize(copies->from);
    if (copies->status == PSV_OK) copies->status = psvi_view_boxes(copies->cpu, &host, "boxes", view, side);
    return copies->status;
}

// A table of the excluded pairs that the backend's table holds.
static psvi_bucket *copy_table(psvi_host_check *copies, const psvi_bucket *table, uint64_t last_bucket) {
    const uint64_t buckets = last_bucket + 1, places = buckets * PSVI_BUCKET;
    const uint64_t bytes = buckets * (sizeof *table + sizeof(uint32_t));
    psv_pair *pairs = copy_down(copies, table, bytes);
    psvi_bucket *copy = copy_down(copies, table, bytes);
    uint64_t count = 0;
    if (copies->status == PSV_OK) copies->status = copies->from->ops->synchronize(copies->from);
    if (copies->status != PSV_OK || copy == NULL) return NULL;
    for (uint64_t i = 0; i < places; ++i)
        if (pairs[i].a != UINT32_MAX || pairs[i].b != UINT32_MAX) pairs[count++] = pairs[i];
    memset(copy, 0xff, buckets * sizeof *copy);
    memset(copy + buckets, 0, buckets * sizeof(uint32_t));
    const psvi_collision_ops *ops = psvi_collision_ops_of(PSV_BACKEND_CPU);
    copies->status = ops->exclude_pairs(copies->cpu, pairs, count, copy, last_bucket);
    return copy;
}

static psv_status copy_input(psvi_host_check *copies, const psv_box_set *a, const psv_box_set *b,
                             psvi_check_input *input) {
    psvi_pair_rules *rules = &input->rules;
    const uint64_t *count = copy_down(copies, input->pair_count, sizeof *count);
    psv_status status = view_set(copies, a, &input->a, &rules->a);
    if (b == NULL) rules->b = rules->a;
    if (status == PSV_OK && b != NULL) status = view_set(copies, b, &input->b, &rules->b);
    if (status != PSV_OK) return status;
    rules->layer_matrix = copy_down(copies, rules->layer_matrix, PSV_LAYERS * sizeof(uint32_t));
    if (rules->excluded != NULL) rules->excluded = copy_table(copies, rules->excluded, rules->last_bucket);
    rules->world_pairs = copy_down(copies, rules->world_pairs, input->world_count * sizeof(uint64_t));
    input->pairs = copy_down(copies, input->pairs, *count * sizeof(psv_pair));
    input->pair_count = count;
    input->memory = psvi_alloc(copies->cpu, sizeof *input->memory);
    if (copies->status == PSV_OK && input->memory == NULL)
        copies->status =
            psvi_fail(copies->from, PSV_ERROR_MEMORY, "no memory to check pairs (%zu bytes)", sizeof *input->memory);
    return copies->status == PSV_OK ? copies->from->ops->synchronize(copies->from) : copies->status;
}

psv_status psvi_open_host_check(psv_context *context, const psv_box_set *a, const psv_box_set *b,
                                const psvi_check_input *input, psvi_host_check *host) {
    psv_context_def def = psv_default_context_def();
    *host = (psvi_host_check){.from = context, .input = *input};
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    host->input.memory = NULL;
    const psv_status status = psv_create_context(&def, &host->cpu);
    if (status != PSV_OK) return psvi_fail(context, status, "%s", psv_last_error(NULL));
    return copy_input(host, a, b, &host->input);
}

void psvi_close_host_check(psvi_host_check *host) {
    if (host->cpu != NULL) psvi_free(host->cpu, host->input.memory, sizeof *host->input.memory);
    psv_destroy_context(host->cpu);
    for (uint32_t i = 0; i < host->count; ++i)
        free(host->memory[i]);
}
