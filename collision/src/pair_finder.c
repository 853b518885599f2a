// Pair finders: defs, creation and destruction.
#include "finder.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAIRS_PER_BOX 8

psv_pair_finder_def psv_default_pair_finder_def(void) {
    return (psv_pair_finder_def){
        .cookie = PSVI_FINDER_COOKIE, .method = "auto", .sort_method = PSVI_SORT_CELLS, .world_count = 1};
}

// --- creation --------------------------------------------------------------------------------------------------------

// `field` names a method that the backend does not have; `name_at` gives those that it has.
static psv_status refuse_method(psv_context *context, psv_backend backend, const char *field, const char *method,
                                const char *(*name_at)(psv_backend, uint32_t)) {
    char known[160] = "auto";
    for (uint32_t i = 0; name_at(backend, i) != NULL; ++i) {
        const char *name = name_at(backend, i);
        if (strlen(known) + strlen(name) + 3 > sizeof known) break;
        strcat(known, ", ");
        strcat(known, name);
    }
    return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "def.%s is '%.40s', which the %s backend does not have; known: %s",
                     field, method, psv_backend_name(backend), known);
}

// The sorters' own copy of a name, so that the caller's string may go; NULL for an unknown one.
static const char *find_sort_method(psv_backend backend, const char *name) {
    if (strcmp(name, "auto") == 0) return "auto";
    for (uint32_t i = 0; psv_pair_sort_name(backend, i) != NULL; ++i)
        if (strcmp(psv_pair_sort_name(backend, i), name) == 0) return psv_pair_sort_name(backend, i);
    return NULL;
}

// What the def asks for and the backend has no operation for; NULL: nothing.
static const char *missing_feature(const psvi_collision_ops *ops, const psv_pair_finder_def *def) {
    if (def->events && (ops->diff_pairs == NULL || ops->keep_pairs == NULL)) return "events";
    if (def->sort_output && ops->order_pairs == NULL) return "sort_output";
    if (def->ids && ops->name_pairs == NULL) return "ids";
    if (def->doubles && ops->narrow_boxes == NULL) return "doubles";
    return def->max_excluded > 0 && ops->exclude_pairs == NULL ? "max_excluded" : NULL;
}

static psv_status check_def(psv_context *context, psv_backend backend, const psv_pair_finder_def *def) {
    const psvi_broad_phase *choices[PSVI_MAX_CHOICES];
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != PSVI_FINDER_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_pair_finder_def");
    if (def->method == NULL || def->sort_method == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.%s is NULL", def->method == NULL ? "method" : "sort_method");
    if (def->max_boxes == 0 || def->max_boxes > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_boxes is %llu; it must be 1 to 2147483648",
                         (unsigned long long)def->max_boxes);
    if (def->max_pairs > (uint64_t)1 << 40)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_pairs is %llu; it must be 0 (8 a box) to 2^40",
                         (unsigned long long)def->max_pairs);
    if (def->max_excluded > (uint64_t)1 << 31)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_excluded is %llu; it must be 0 to 2147483648",
                         (unsigned long long)def->max_excluded);
    if (def->max_kept > def->max_boxes)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_kept is %llu; def.max_boxes is %llu",
                         (unsigned long long)def->max_kept, (unsigned long long)def->max_boxes);
    const char *missing = missing_feature(psvi_collision_ops_of(backend), def);
    if (missing != NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "def.%s is set, which the %s backend does not have", missing,
                         psv_backend_name(backend));
    if (psvi_list_choices(backend, def, choices) == 0)
        return refuse_method(context, backend, "method", def->method, psv_broad_phase_name);
    if (find_sort_method(backend, def->sort_method) == NULL) // also for methods that sort nothing
        return refuse_method(context, backend, "sort_method", def->sort_method, psv_pair_sort_name);
    return PSV_OK;
}

// The def with its defaults resolved.
static psv_pair_finder_def resolve(const psv_pair_finder_def *def) {
    psv_pair_finder_def resolved = *def;
    if (resolved.max_pairs == 0) resolved.max_pairs = DEFAULT_PAIRS_PER_BOX * resolved.max_boxes;
    if (resolved.world_count == 0) resolved.world_count = 1;
    return resolved;
}

psv_status psv_pair_finder_memory(psv_backend backend, const psv_pair_finder_def *def, psv_pair_finder_parts *parts) {
    const psvi_broad_phase *choices[PSVI_MAX_CHOICES];
    if (parts == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "parts is NULL");
    *parts = (psv_pair_finder_parts){0};
    if (psvi_collision_module_of(backend) == NULL)
        return psvi_fail(NULL, PSV_ERROR_UNSUPPORTED, "the %s backend has no pair finder in this build",
                         psv_backend_name(backend));
    const psv_status status = check_def(NULL, backend, def);
    if (status != PSV_OK) return status;
    const psv_pair_finder_def resolved = resolve(def);
    const uint32_t count = psvi_list_choices(backend, &resolved, choices);
    parts->results =
        psvi_align(sizeof(psvi_frame_result)) + psvi_align(resolved.max_boxes * sizeof(uint32_t)) + psvi_check_bytes();
    parts->methods = psvi_choice_bytes(backend, choices, count, &resolved);
    parts->rules = psvi_rule_memory_bytes(backend, &resolved);
    parts->kept_boxes = psvi_kept_bytes(backend, &resolved) + psvi_mover_bytes(backend, &resolved);
    parts->margins = psvi_margin_bytes(backend, &resolved);
    if (resolved.events) parts->events = psvi_align(PSVI_EVENTS_COUNTS * sizeof(uint64_t));
    psvi_add_pair_memory(backend, &resolved, resolved.max_pairs, parts);
    parts->total = psvi_sum_parts(parts);
    return PSV_OK;
}

uint64_t psv_pair_finder_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    psv_pair_finder_parts parts;
    return psv_pair_finder_memory(backend, def, &parts) == PSV_OK ? parts.total : 0;
}

static psv_status create_parts(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psvi_broad_phase *choices[PSVI_MAX_CHOICES];
    uint32_t count = psvi_list_choices(context->backend, &finder->def, choices);
    finder->result = psvi_alloc(context, sizeof(psvi_frame_result));
    finder->bad_boxes = psvi_alloc(context, finder->def.max_boxes * sizeof(uint32_t));
    finder->check = psvi_alloc(context, psvi_check_bytes());
    if (finder->def.events)
        finder->event_counts = psvi_alloc(context, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    if (finder->result == NULL || finder->bad_boxes == NULL || finder->check == NULL ||
        (finder->def.events && finder->event_counts == NULL))
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for a pair finder (%llu bytes in all)",
                         context->ops->name, (unsigned long long)psv_pair_finder_bytes(context->backend, &finder->def));
    psv_status status = context->ops->fill(context, finder->result, 0, sizeof(psvi_frame_result));
    if (status == PSV_OK && finder->def.events)
        status =
            context->ops->fill(context, finder->event_counts, 0, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    if (count > 1 && psvi_collision_module_of(context->backend)->shares_scratch) {
        finder->shared_bytes = psvi_choice_bytes(context->backend, choices, count, &finder->def);
        finder->shared = psvi_alloc(context, finder->shared_bytes);
        if (finder->shared == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for %llu bytes of a pair finder (%llu in all)",
                             context->ops->name, (unsigned long long)finder->shared_bytes,
                             (unsigned long long)psv_pair_finder_bytes(context->backend, &finder->def));
    }
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i) {
        finder->choices[i] = (psvi_choice){.method = choices[i], .def = finder->def, .lasting = i == PSVI_OTHER_CHOICE};
        finder->choice_count = i + 1;
        status = psvi_create_choice(context, finder->shared, &finder->choices[i]);
    }
    if (status == PSV_OK) status = psvi_create_rule_memory(finder);
    if (status == PSV_OK && finder->def.max_kept > 0 && psvi_keeps_boxes(context->backend))
        status = psvi_create_kept(finder);
    if (status == PSV_OK) status = psvi_create_movers(finder);
    if (status == PSV_OK && finder->def.margins) status = psvi_create_margins(finder);
    if (status == PSV_OK) status = psvi_create_pair_memory(finder, finder->def.max_pairs, &finder->memory);
    if (status == PSV_OK) status = psvi_create_trials(finder);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

psv_status psv_create_pair_finder(psv_context *context, const psv_pair_finder_def *def, psv_pair_finder **finder) {
    if (finder != NULL) *finder = NULL;
    psv_status status = psvi_check_creates(context);
    if (status != PSV_OK) return status;
    if (finder == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "finder is NULL");
    if (psvi_collision_module_of(context->backend) == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend has no pair finder", context->ops->name);
    status = check_def(context, context->backend, def);
    if (status != PSV_OK) return status;
    psv_pair_finder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a pair finder (%zu bytes)", sizeof *made);
    made->cookie = PSVI_FINDER_COOKIE;
    made->context = context;
    made->ops = psvi_collision_ops_of(context->backend);
    made->def = resolve(def);
    const psvi_broad_phase *method = psvi_find_broad_phase(context->backend, def->method);
    made->def.method = method == NULL ? "auto" : method->name;
    made->def.sort_method = find_sort_method(context->backend, def->sort_method);
    status = create_parts(made);
    if (status != PSV_OK) {
        psv_destroy_pair_finder(made);
        return status;
    }
    *finder = made;
    return PSV_OK;
}

void psv_destroy_pair_finder(psv_pair_finder *finder) {
    if (finder == NULL || finder->cookie != PSVI_FINDER_COOKIE) return;
    psv_context *context = finder->context;
    (void)context->ops->synchronize(context);
    psvi_destroy_kept(finder);
    psvi_destroy_margins(finder);
    psvi_destroy_movers(finder);
    psvi_destroy_trials(finder);
    for (uint32_t i = 0; i < finder->choice_count; ++i)
        psvi_destroy_choice(&finder->choices[i]);
    psvi_free(context, finder->shared, finder->shared_bytes);
    psvi_destroy_pair_memory(finder, &finder->memory);
    psvi_destroy_rule_memory(finder);
    psvi_free(context, finder->event_counts, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    psvi_free(context, finder->check, psvi_check_bytes());
    psvi_free(context, finder->bad_boxes, finder->def.max_boxes * sizeof(uint32_t));
    psvi_free(context, finder->result, sizeof(psvi_frame_result));
    finder->cookie = 0;
    free(finder);
}
