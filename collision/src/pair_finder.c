// Pair finders: creation, the frame around a method, growth, and the results on the host.
#include "finder_common.h"

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
    if (def->max_kept > 0 && !psvi_keeps_boxes(backend))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "def.max_kept is %llu; the %s backend keeps no boxes",
                         (unsigned long long)def->max_kept, psv_backend_name(backend));
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

// The choices of one finder run one at a time.
static uint64_t scratch_bytes_of(psv_backend backend, const psvi_broad_phase *const *choices, uint32_t count,
                                 const psv_pair_finder_def *def) {
    uint64_t most = 0, sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t bytes = psvi_align(choices[i]->scratch_bytes(def));
        sum += bytes;
        most = bytes > most ? bytes : most;
    }
    return psvi_collision_module_of(backend)->shares_scratch ? most : sum;
}

uint64_t psv_pair_finder_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    const psvi_broad_phase *choices[PSVI_MAX_CHOICES];
    if (psvi_collision_module_of(backend) == NULL) return 0;
    if (check_def(NULL, backend, def) != PSV_OK) return 0;
    psv_pair_finder_def resolved = resolve(def);
    uint32_t count = psvi_list_choices(backend, &resolved, choices);
    uint64_t bytes = psvi_align(sizeof(psvi_frame_result)) + psvi_align(resolved.max_boxes * sizeof(uint32_t));
    bytes += scratch_bytes_of(backend, choices, count, &resolved) + psvi_rule_memory_bytes(backend, &resolved);
    bytes += psvi_kept_bytes(backend, &resolved) + psvi_margin_bytes(backend, &resolved);
    if (resolved.events) bytes += psvi_align(PSVI_EVENTS_COUNTS * sizeof(uint64_t));
    return bytes + psvi_pair_memory_bytes(backend, &resolved, resolved.max_pairs);
}

psv_status psvi_create_choice(psv_context *context, void *shared, psvi_choice *choice) {
    const psvi_broad_phase *method = choice->method;
    choice->context = context;
    choice->shares = shared != NULL;
    choice->scratch = shared;
    choice->scratch_bytes = method->scratch_bytes(&choice->def);
    if (choice->scratch_bytes > 0 && shared == NULL) choice->scratch = psvi_alloc(context, choice->scratch_bytes);
    if (choice->scratch_bytes > 0 && choice->scratch == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY,
                         "no %s memory for method '%s' with max_boxes %llu (%llu bytes; all: %llu)", context->ops->name,
                         method->name, (unsigned long long)choice->def.max_boxes,
                         (unsigned long long)choice->scratch_bytes,
                         (unsigned long long)psv_pair_finder_bytes(context->backend, &choice->def));
    const psv_status status = method->create == NULL ? PSV_OK : method->create(choice);
    choice->created = status == PSV_OK;
    return status;
}

void psvi_destroy_choice(psvi_choice *choice) {
    if (choice->created && choice->method->destroy != NULL) choice->method->destroy(choice);
    if (!choice->shares && choice->scratch != NULL) psvi_free(choice->context, choice->scratch, choice->scratch_bytes);
    *choice = (psvi_choice){0};
}

static psv_status create_parts(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psvi_broad_phase *choices[PSVI_MAX_CHOICES];
    uint32_t count = psvi_list_choices(context->backend, &finder->def, choices);
    finder->result = psvi_alloc(context, sizeof(psvi_frame_result));
    finder->bad_boxes = psvi_alloc(context, finder->def.max_boxes * sizeof(uint32_t));
    if (finder->def.events)
        finder->event_counts = psvi_alloc(context, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    if (finder->result == NULL || finder->bad_boxes == NULL || (finder->def.events && finder->event_counts == NULL))
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for a pair finder (%llu bytes in all)",
                         context->ops->name, (unsigned long long)psv_pair_finder_bytes(context->backend, &finder->def));
    psv_status status = context->ops->fill(context, finder->result, 0, sizeof(psvi_frame_result));
    if (status == PSV_OK && finder->def.events)
        status =
            context->ops->fill(context, finder->event_counts, 0, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    if (count > 1 && psvi_collision_module_of(context->backend)->shares_scratch) {
        finder->shared_bytes = scratch_bytes_of(context->backend, choices, count, &finder->def);
        finder->shared = psvi_alloc(context, finder->shared_bytes);
        if (finder->shared == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for %llu bytes of a pair finder (%llu in all)",
                             context->ops->name, (unsigned long long)finder->shared_bytes,
                             (unsigned long long)psv_pair_finder_bytes(context->backend, &finder->def));
    }
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i) {
        finder->choices[i] = (psvi_choice){.method = choices[i], .def = finder->def};
        finder->choice_count = i + 1;
        status = psvi_create_choice(context, finder->shared, &finder->choices[i]);
    }
    if (status == PSV_OK) status = psvi_create_rule_memory(finder);
    if (status == PSV_OK && finder->def.max_kept > 0) status = psvi_create_kept(finder);
    if (status == PSV_OK && finder->def.margins) status = psvi_create_margins(finder);
    if (status == PSV_OK) status = psvi_create_pair_memory(finder, finder->def.max_pairs, &finder->memory);
    if (status == PSV_OK) status = psvi_create_trials(finder);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

psv_status psv_create_pair_finder(psv_context *context, const psv_pair_finder_def *def, psv_pair_finder **finder) {
    if (finder != NULL) *finder = NULL;
    psv_status status = psvi_check_context(context);
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
    psvi_destroy_trials(finder);
    for (uint32_t i = 0; i < finder->choice_count; ++i)
        psvi_destroy_choice(&finder->choices[i]);
    psvi_free(context, finder->shared, finder->shared_bytes);
    psvi_destroy_pair_memory(finder, &finder->memory);
    psvi_destroy_rule_memory(finder);
    psvi_free(context, finder->event_counts, PSVI_EVENTS_COUNTS * sizeof *finder->event_counts);
    psvi_free(context, finder->bad_boxes, finder->def.max_boxes * sizeof(uint32_t));
    psvi_free(context, finder->result, sizeof(psvi_frame_result));
    finder->cookie = 0;
    free(finder);
}

// --- frames ----------------------------------------------------------------------------------------------------------

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

psv_status psvi_clear_result(psv_context *context, const psvi_find_input *input) {
    psv_status status = context->ops->fill(context, input->result, 0, sizeof *input->result);
    if (status != PSV_OK || input->pairs_before == NULL) return status;
    return context->ops->copy(context, &input->result->pair_count, input->pairs_before, sizeof(uint64_t),
                              PSVI_COPY_INSIDE);
}

psv_status psvi_run_method(psv_pair_finder *finder, psvi_find_input *input, const uint64_t *kept_worlds) {
    const psvi_trial_turn turn = psvi_begin_turn(finder, input);
    const psvi_choice *choice = finder->last = &finder->choices[turn.choice];
    psv_status status = psvi_begin_world_pairs(finder, kept_worlds);
    if (status == PSV_OK && !choice->method->clears_result) status = psvi_clear_result(finder->context, input);
    if (status == PSV_OK) status = choice->method->find(choice, input);
    return status == PSV_OK ? psvi_end_turn(finder, turn, input) : status;
}

// All pairs of the frame, into the pair buffer as it is now. Views that point into memory of the finder stay valid.
static psv_status find_all(psv_pair_finder *finder, const psvi_frame_sides *sides, const psvi_find_input *frame) {
    psvi_find_input input = *frame;
    input.pairs = finder->memory.pairs;
    input.capacity = finder->memory.capacity;
    if (sides->kept > 0) psvi_check_kept_boxes(finder, sides, input.between);
    psv_status status = psvi_narrow_sets(finder, sides, &input);
    if (status != PSV_OK) return status;
    if (sides->kept > 0) return psvi_find_with_kept(finder, sides, &input);
    status = psvi_leave_front(finder);
    if (status == PSV_OK) status = psvi_put_rules(finder, sides, input.between, PSVI_RULES_ALL, &input);
    if (status != PSV_OK) return status;
    return psvi_has_margins(finder, sides) ? psvi_find_with_margins(finder, sides, &input)
                                           : psvi_run_method(finder, &input, NULL);
}

// Growth: enough for what this frame needs, and some more, so that slow growth does not repeat every frame.
static psv_status grow_and_repeat(psv_pair_finder *finder, const psvi_frame_sides *sides,
                                  const psvi_find_input *frame) {
    psv_context *context = finder->context;
    if (psvi_is_captured(context))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "def.grow_pairs is set; growth is not possible while the stream is being captured");
    psvi_frame_result result;
    psv_status status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK || result.pair_count <= finder->memory.capacity) return status;
    status = psvi_grow_pair_memory(finder, result.pair_count + result.pair_count / 4);
    return status == PSV_OK ? find_all(finder, sides, frame) : status;
}

static psv_status order_output(psv_pair_finder *finder) {
    if (!finder->def.sort_output && !finder->def.events) return PSV_OK;
    const psvi_pair_memory *memory = &finder->memory;
    if (memory->capacity == 0) return PSV_OK;
    return finder->ops->order_pairs(finder->context, memory->sorter, memory->pairs, &finder->result->pair_count,
                                    memory->capacity, memory->order_scratch);
}

// What the last frame lacks, as far as a look at its result tells.
static psv_status report_frame(psv_pair_finder *finder, const psvi_frame_result *result) {
    if (result->pair_count > finder->memory.capacity) return psvi_report_overflow(finder, result->pair_count);
    return result->refused > 0 ? psvi_report_crowded(finder) : PSV_OK;
}

static psv_status run_frame(psv_pair_finder *finder, psvi_find_input *input, const psvi_frame_sides *sides) {
    psv_context *context = finder->context;
    uint64_t boxes = input->a.room + input->b.room;
    if (boxes > finder->def.max_boxes)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s %llu; def.max_boxes is %llu",
                         input->between ? "a.count + b.count is" : "boxes.count is", (unsigned long long)boxes,
                         (unsigned long long)finder->def.max_boxes);
    psv_status status = psvi_check_sides(finder, sides, input->between);
    if (status != PSV_OK) return status;
    input->world_count = finder->def.world_count;
    input->result = finder->result;
    input->bad_boxes = finder->bad_boxes;
    finder->has_frame = false;
    finder->events_done = false;
    psvi_frame_begin(context);
    status = find_all(finder, sides, input);
    if (status == PSV_OK && finder->def.grow_pairs) status = grow_and_repeat(finder, sides, input);
    if (status == PSV_OK) status = psvi_name_pairs(finder, sides, input);
    if (status == PSV_OK) status = order_output(finder);
    psvi_frame_end(context);
    if (status != PSV_OK) return status;
    finder->has_frame = true;
    return context->ops->immediate ? report_frame(finder, finder->result) : PSV_OK;
}

static void take_origin(const psv_box_set *set, psvi_frame_sides *sides) {
    for (int axis = 0; axis < 3; ++axis)
        sides->origin[axis] = set->origin[axis];
}

static psvi_margin margin_of(const psv_box_set *set) {
    return (psvi_margin){set->margin, psvi_buffer_address(set->margins)};
}

// A single box is no less work to keep.
static void take_kept(const psv_box_set *set, psvi_frame_sides *sides) {
    sides->kept = set->kept < 2 ? 0 : set->kept;
    sides->kept_version = set->kept_version;
}

psv_status psv_find_pairs(psv_pair_finder *finder, const psv_box_set *boxes) {
    psv_status status = psvi_check_finder(finder);
    psvi_find_input input = {0};
    psvi_frame_sides sides = {0};
    if (status == PSV_OK) status = psvi_view_boxes(finder->context, boxes, "boxes", &input.a, &sides.a);
    if (status == PSV_OK) status = psvi_check_kept(finder, boxes, NULL);
    if (status != PSV_OK) return status;
    take_kept(boxes, &sides);
    sides.a_margin = margin_of(boxes);
    if (boxes->doubles) take_origin(boxes, &sides);
    return run_frame(finder, &input, &sides);
}

psv_status psv_find_pairs_between(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b) {
    psv_status status = psvi_check_finder(finder);
    psvi_find_input input = {.between = true};
    psvi_frame_sides sides = {0};
    if (status == PSV_OK) status = psvi_view_boxes(finder->context, a, "a", &input.a, &sides.a);
    if (status == PSV_OK) status = psvi_view_boxes(finder->context, b, "b", &input.b, &sides.b);
    if (status == PSV_OK) status = psvi_check_kept(finder, a, b);
    if (status != PSV_OK) return status;
    take_kept(b, &sides);
    sides.a_margin = margin_of(a);
    sides.b_margin = margin_of(b);
    if (a->doubles || b->doubles) take_origin(a->doubles ? a : b, &sides);
    return run_frame(finder, &input, &sides);
}

// --- results ---------------------------------------------------------------------------------------------------------

psv_status psv_finish_pairs(psv_pair_finder *finder, uint64_t *count) {
    psv_status status = psvi_check_frame(finder);
    psvi_frame_result result;
    if (status == PSV_OK) status = psvi_fetch_result(finder, &result);
    if (status != PSV_OK) return status;
    if (count != NULL) *count = result.pair_count;
    return report_frame(finder, &result);
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
    return report_frame(finder, &result);
}

psv_buffer psv_pair_buffer(const psv_pair_finder *finder) {
    if (psvi_check_finder(finder) != PSV_OK) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, finder->memory.pairs, finder->memory.capacity * sizeof(psv_pair));
}

psv_buffer psv_pair_count_buffer(const psv_pair_finder *finder) {
    if (psvi_check_finder(finder) != PSV_OK) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, &finder->result->pair_count, sizeof(uint64_t));
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
        statistics->veto = finder->context->ops->immediate ? "tests" : "slower"; // what the choice went by
    return method->statistics == NULL ? PSV_OK : method->statistics(finder->last, statistics);
}
