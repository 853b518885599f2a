// The memory whose size follows the room for pairs: the pairs themselves, their ordering, the event lists.
#include "finder.h"

static uint32_t index_bits(uint64_t boxes) {
    uint32_t bits = 1;
    while (bits < 32 && (uint64_t)1 << bits < boxes)
        ++bits;
    return bits;
}

// Events of pairs that need no order.
static uint64_t changes_bytes(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity) {
    const psvi_collision_ops *ops = psvi_collision_ops_of(backend);
    if (ops->changes_bytes == NULL || !def->events || def->sort_output || def->ids) return 0;
    return ops->changes_bytes(capacity, def->max_boxes);
}

static bool is_ordered(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity) {
    return def->sort_output || (def->events && changes_bytes(backend, def, capacity) == 0);
}

// Room for what movers.c keeps of pairs; a list of pairs has 8 bytes each.
static bool is_linked(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity) {
    return psvi_can_follow(backend, def) && capacity <= PSVI_MOST_LINKED;
}

static bool has_listed(const psv_pair_finder_def *def) { return def->ids || def->sort_output; }
static bool has_named(const psv_pair_finder_def *def) { return def->ids && (def->sort_output || def->events); }

// Lists of changes serve events, and sorted pairs.
static bool has_changes(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity) {
    return def->events || (def->sort_output && is_linked(backend, def, capacity));
}

static psv_sorter_def sorter_def_of(const psv_pair_finder_def *def, uint64_t capacity) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = psvi_sorter_name(def);
    sorter.key_type = PSV_KEY_U64;
    sorter.value_bytes = 0;
    sorter.max_count = capacity > 0 ? capacity : 1;
    sorter.end_bit = def->ids ? 64 : 2 * index_bits(def->max_boxes);
    return sorter;
}

static uint64_t order_scratch_of(const psvi_collision_ops *ops, uint64_t capacity) {
    return ops->order_scratch_bytes == NULL ? 0 : ops->order_scratch_bytes(capacity);
}

static uint64_t events_scratch_of(const psvi_collision_ops *ops, uint64_t capacity) {
    return ops->events_scratch_bytes == NULL ? 0 : ops->events_scratch_bytes(capacity);
}

void psvi_add_pair_memory(psv_backend backend, const psv_pair_finder_def *def, uint64_t capacity,
                          psv_pair_finder_parts *parts) {
    const psvi_collision_ops *ops = psvi_collision_ops_of(backend);
    const uint64_t list = psvi_align(capacity * sizeof(psv_pair));
    parts->pairs += list;
    const bool ordered = is_ordered(backend, def, capacity);
    if (ordered) {
        const psv_sorter_def sorter = sorter_def_of(def, capacity);
        parts->order +=
            psvi_align(psv_sorter_scratch_bytes(backend, &sorter)) + psvi_align(order_scratch_of(ops, capacity));
    }
    if (def->max_kept > 0 && psvi_keeps_boxes(backend)) parts->kept_boxes += list;
    if (is_linked(backend, def, capacity))
        parts->kept_boxes +=
            psvi_align(capacity * sizeof(psvi_pair_link)) + (has_listed(def) ? list : 0) + (has_named(def) ? list : 0);
    if (psvi_margin_bytes(backend, def) > 0) parts->margins += 2 * list;
    if (has_changes(backend, def, capacity)) parts->events += 2 * list;
    if (def->events)
        parts->events += ordered ? list + psvi_align(events_scratch_of(ops, capacity))
                                 : psvi_align(changes_bytes(backend, def, capacity));
}

psv_status psvi_create_pair_memory(psv_pair_finder *finder, uint64_t capacity, psvi_pair_memory *memory) {
    psv_context *context = finder->context;
    const psv_pair_finder_def *def = &finder->def;
    *memory = (psvi_pair_memory){.capacity = capacity};
    uint64_t list = capacity * sizeof(psv_pair);
    const bool ordered = is_ordered(context->backend, def, capacity);
    bool enough = psvi_take(context, list, (void **)&memory->pairs);
    if (def->max_kept > 0 && psvi_keeps_boxes(context->backend))
        enough = enough && psvi_take(context, list, (void **)&memory->kept);
    if (is_linked(context->backend, def, capacity)) {
        enough = enough && psvi_take(context, capacity * sizeof *memory->links, (void **)&memory->links);
        if (has_listed(def)) enough = enough && psvi_take(context, list, (void **)&memory->listed);
        if (has_named(def)) enough = enough && psvi_take(context, list, (void **)&memory->named);
    }
    if (psvi_margin_bytes(context->backend, def) > 0) {
        enough = enough && psvi_take(context, list, (void **)&memory->near);
        enough = enough && psvi_take(context, list, (void **)&memory->placed);
    }
    if (has_changes(context->backend, def, capacity)) {
        enough = enough && psvi_take(context, list, (void **)&memory->begin);
        enough = enough && psvi_take(context, list, (void **)&memory->end);
    }
    if (def->events && ordered) {
        enough = enough && psvi_take(context, list, (void **)&memory->before);
        enough = enough && psvi_take(context, events_scratch_of(finder->ops, capacity), &memory->events_scratch);
    }
    if (def->events && !ordered)
        enough = enough && psvi_take(context, changes_bytes(context->backend, def, capacity), &memory->changes);
    if (ordered) enough = enough && psvi_take(context, order_scratch_of(finder->ops, capacity), &memory->order_scratch);
    psv_status status = PSV_OK;
    if (!enough) {
        psv_pair_finder_parts parts = {0};
        psvi_add_pair_memory(context->backend, def, capacity, &parts);
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for %llu pairs (%llu bytes)", context->ops->name,
                           (unsigned long long)capacity, (unsigned long long)psvi_sum_parts(&parts));
    } else if (ordered) {
        psv_sorter_def sorter = sorter_def_of(def, capacity);
        status = psv_create_sorter(context, &sorter, &memory->sorter);
    } else if (memory->changes != NULL) {
        const psvi_changes changes = psvi_changes_of(finder, memory);
        status = finder->ops->begin_changes(context, &changes);
    }
    if (status != PSV_OK) psvi_destroy_pair_memory(finder, memory);
    return status;
}

void psvi_destroy_pair_memory(psv_pair_finder *finder, psvi_pair_memory *memory) {
    psv_context *context = finder->context;
    uint64_t list = memory->capacity * sizeof(psv_pair);
    psv_destroy_sorter(memory->sorter);
    psvi_free(context, memory->pairs, list);
    psvi_free(context, memory->kept, list);
    psvi_free(context, memory->links, memory->capacity * sizeof *memory->links);
    psvi_free(context, memory->listed, list);
    psvi_free(context, memory->named, list);
    psvi_free(context, memory->near, list);
    psvi_free(context, memory->placed, list);
    psvi_free(context, memory->before, list);
    psvi_free(context, memory->begin, list);
    psvi_free(context, memory->end, list);
    psvi_free(context, memory->order_scratch, order_scratch_of(finder->ops, memory->capacity));
    psvi_free(context, memory->changes, changes_bytes(context->backend, &finder->def, memory->capacity));
    psvi_free(context, memory->events_scratch, events_scratch_of(finder->ops, memory->capacity));
    *memory = (psvi_pair_memory){0};
}

// The list of the frame before, as far as it is in use.
static psv_status copy_before(psv_context *context, psv_pair_finder *finder, const psvi_pair_memory *grown) {
    uint64_t count = 0;
    if (finder->memory.changes != NULL) {
        if (grown->changes == NULL)
            return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "events on %s: %llu pairs are too many",
                             context->ops->name, (unsigned long long)grown->capacity);
        const psvi_changes from = psvi_changes_of(finder, &finder->memory), to = psvi_changes_of(finder, grown);
        const psv_status status = psvi_take_in_kept_changes(finder);
        return status == PSV_OK ? finder->ops->carry_changes(context, &from, &to) : status;
    }
    if (grown->before == NULL || finder->memory.before == NULL) return PSV_OK;
    psv_status status = context->ops->copy(context, &count, &finder->event_counts[PSVI_EVENTS_BEFORE], sizeof count,
                                           PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK || count == 0) return status;
    if (count > finder->memory.capacity) count = finder->memory.capacity;
    return context->ops->copy(context, grown->before, finder->memory.before, count * sizeof *grown->before,
                              PSVI_COPY_INSIDE);
}

psv_status psvi_grow_pair_memory(psv_pair_finder *finder, uint64_t capacity) {
    psvi_pair_memory grown;
    psv_status status = psvi_create_pair_memory(finder, capacity, &grown);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    status = copy_before(context, finder, &grown);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK) {
        psvi_destroy_pair_memory(finder, &grown);
        return status;
    }
    psvi_destroy_pair_memory(finder, &finder->memory);
    finder->memory = grown;
    finder->kept.valid = finder->margins.valid = finder->movers.complete = false; // the lists of their pairs are gone
    return PSV_OK;
}
