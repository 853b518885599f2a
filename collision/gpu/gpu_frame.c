#include "gpu_frame.h"

#include "../src/pair_rules.h"

enum { HAS_FLAGS = 1, HAS_FILTERS = 2, HAS_WORLDS = 4, HAS_COUNT = 8, WRITES_FILTERS = 16 }; // of load_boxes.comp
enum { HAS_OWNERS = 1, HAS_LAYERS = 2, HAS_IDS = 4, WANTS_CORNERS = 8, HAS_DOUBLES = 16 };   // of load_rules.comp
enum { LAYERS = 1, EXCLUDES = 2, EXACT = 4, COUNTS_WORLDS = 8 };                             // of pair_rules.glsl
#define TAG_SET_B 4u
#define PLAN_LAYERS 64u // word of the plan where the matrix of layers begins, as slots.glsl has it

// Words of a slot's traits, see pair_rules.glsl.
enum { FILTER_WORDS = 2, RULE_WORDS = 5, EXACT_WORDS = 17 };

static uint32_t trait_words(const psvi_find_input *input) {
    return input->rules == NULL ? FILTER_WORDS : input->rules->exact ? EXACT_WORDS : RULE_WORDS;
}

static uint32_t most_trait_words(const psv_pair_finder_def *def) { return def->doubles ? EXACT_WORDS : RULE_WORDS; }

psvi_gpu_frame psvi_gpu_carve_frame(psvi_carver *carver, const psv_pair_finder_def *def) {
    const uint64_t room = psvi_gpu_room(def);
    psvi_gpu_frame frame;
    frame.slots = psvi_carve(carver, 32 * room);
    frame.traits = psvi_carve(carver, (uint64_t)4 * most_trait_words(def) * room);
    frame.plan = psvi_carve(carver, PSVI_GPU_PLAN_BYTES);
    return frame;
}

static bool has_filters(const psvi_find_input *input) {
    return input->a.filters != NULL || (input->between && input->b.filters != NULL);
}

static psv_status load_set(psv_context *context, const psvi_find_input *input, const psvi_gpu_frame *frame,
                           const psvi_box_view *view, uint32_t first) {
    const uint64_t count = view->room, slots = psvi_gpu_slots(input);
    if (count == 0) return PSV_OK;
    const uint32_t rest = psvi_gpu_byte_rest(view->flags);
    const bool filters = has_filters(input);
    const psvi_gpu_call call = {
        .source = &psvi_glsl_load_boxes,
        .blocks = {{frame->slots, 32 * slots},
                   {input->result, sizeof *input->result},
                   {input->bad_boxes, 4 * slots},
                   {frame->traits, 4 * trait_words(input) * slots},
                   psvi_gpu_span(view->min, count, view->min_stride, 12),
                   psvi_gpu_span(view->max, count, view->max_stride, 12),
                   psvi_gpu_byte_span(view->flags, count),
                   psvi_gpu_span(view->filters, count, 8, 8),
                   psvi_gpu_span(view->worlds, count, 4, 4),
                   {view->count_device, 8}},
        .params = {(uint32_t)count, first,
                   (view->flags != NULL ? HAS_FLAGS : 0u) | (view->filters != NULL ? HAS_FILTERS : 0u) |
                       (view->worlds != NULL ? HAS_WORLDS : 0u) | (view->count_device != NULL ? HAS_COUNT : 0u) |
                       (filters ? WRITES_FILTERS : 0u),
                   view->min_stride / 4, view->max_stride / 4, rest, input->world_count,
                   first != 0 || view == &input->b ? TAG_SET_B : 0, trait_words(input)},
        .groups = (count + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

// What only rules ask of a set's boxes.
static psv_status load_rules(psv_context *context, const psvi_find_input *input, const psvi_gpu_frame *frame,
                             const psvi_rule_side *side, uint64_t count, uint32_t first) {
    const psvi_pair_rules *rules = input->rules;
    const uint32_t corner = side->doubles ? 24 : 12, words = trait_words(input);
    const bool owned = rules->a.owners != NULL && rules->b.owners != NULL;
    if (count == 0) return PSV_OK;
    const psvi_gpu_call call = {
        .source = &psvi_glsl_load_rules,
        .blocks = {{frame->traits, 4 * words * psvi_gpu_slots(input)},
                   psvi_gpu_span(owned ? side->owners : NULL, count, 4, 4),
                   psvi_gpu_byte_span(side->layers, count),
                   psvi_gpu_span(side->ids, count, 4, 4),
                   psvi_gpu_span(rules->exact ? side->min : NULL, count, side->min_stride, corner),
                   psvi_gpu_span(rules->exact ? side->max : NULL, count, side->max_stride, corner)},
        .params = {(uint32_t)count, first,
                   (owned ? HAS_OWNERS : 0u) | (side->layers != NULL ? HAS_LAYERS : 0u) |
                       (side->ids != NULL ? HAS_IDS : 0u) | (rules->exact ? WANTS_CORNERS : 0u) |
                       (side->doubles ? HAS_DOUBLES : 0u),
                   words, side->min_stride / 4, side->max_stride / 4, psvi_gpu_byte_rest(side->layers), side->first},
        .groups = (count + 127) / 128,
    };
    return psvi_gpu_run(context, &call);
}

static psv_status load_all_rules(psv_context *context, const psvi_find_input *input, const psvi_gpu_frame *frame) {
    const psvi_pair_rules *rules = input->rules;
    psv_status status = load_rules(context, input, frame, &rules->a, input->a.room, 0);
    if (status == PSV_OK && input->between)
        status = load_rules(context, input, frame, &rules->b, input->b.room, (uint32_t)input->a.room);
    if (status != PSV_OK || rules->layer_matrix == NULL) return status;
    return context->ops->copy(context, frame->plan + (size_t)4 * PLAN_LAYERS, rules->layer_matrix, 4 * PSV_LAYERS,
                              PSVI_COPY_INSIDE);
}

psv_status psvi_gpu_load_boxes(psv_context *context, const psvi_find_input *input, const psvi_gpu_frame *frame) {
    psv_status status = context->ops->fill(context, frame->plan, 0, 256);
    if (status == PSV_OK) status = load_set(context, input, frame, &input->a, 0);
    if (status == PSV_OK && input->between)
        status = load_set(context, input, frame, &input->b, (uint32_t)input->a.room);
    if (status == PSV_OK && input->rules != NULL) status = load_all_rules(context, input, frame);
    return status;
}

// What pair_rules.glsl reads.
static void add_rules(const psvi_find_input *input, psvi_gpu_call *call) {
    const psvi_pair_rules *rules = input->rules;
    const uint64_t buckets = rules->excluded == NULL ? 0 : rules->last_bucket + 1;
    call->blocks[6] = (psvi_gpu_block){rules->world_pairs, 8 * (uint64_t)input->world_count};
    call->blocks[11] = (psvi_gpu_block){rules->excluded, buckets * (sizeof(psvi_bucket) + 4)};
    call->params[32] = trait_words(input);
    call->params[33] = (rules->layer_matrix != NULL ? LAYERS : 0u) | (buckets > 0 ? EXCLUDES : 0u) |
                       (rules->exact ? EXACT : 0u) | (rules->world_pairs != NULL ? COUNTS_WORLDS : 0u);
    call->params[34] = (uint32_t)rules->last_bucket;
    call->params[35] = rules->world_room < UINT32_MAX ? (uint32_t)rules->world_room : UINT32_MAX;
}

psvi_gpu_call psvi_gpu_frame_call(const psvi_find_input *input, const psvi_gpu_frame *frame,
                                  const psvi_gpu_source *source, uint64_t groups) {
    const uint32_t slots = psvi_gpu_slots(input);
    const uint64_t capacity = input->capacity < UINT32_MAX / 2 ? input->capacity : UINT32_MAX / 2;
    const bool filters = has_filters(input);
    const bool traits = filters || input->rules != NULL;
    psvi_gpu_call call = {
        .source = source,
        .defines = input->rules != NULL ? "#define RULES 1\n" : "#define RULES 0\n",
        .blocks = {{frame->slots, (uint64_t)32 * slots},
                   {input->result, sizeof *input->result},
                   {frame->plan, PSVI_GPU_PLAN_BYTES},
                   {capacity == 0 ? NULL : input->pairs, capacity * sizeof(psv_pair)},
                   {traits ? frame->traits : NULL, (uint64_t)4 * trait_words(input) * slots}},
        .params = {slots, (uint32_t)input->a.room,
                   (input->between ? 1u : 0u) | (filters ? 2u : 0u) | (input->world_count > 1 ? 4u : 0u),
                   (uint32_t)capacity},
        .groups = groups,
    };
    if (input->rules != NULL) add_rules(input, &call);
    return call;
}

psv_status psvi_gpu_check_room(const psvi_choice *choice, const char *method, uint64_t bytes_a_box) {
    const uint64_t traits = (uint64_t)4 * most_trait_words(&choice->def);
    if (bytes_a_box < traits) bytes_a_box = traits;
    const uint64_t limit = psvi_gpu_of(choice->context)->block_bytes - 512;
    const psv_pair_finder_def *def = &choice->def;
    if (def->max_boxes > limit / bytes_a_box)
        return psvi_fail(choice->context, PSV_ERROR_UNSUPPORTED,
                         "%s: def.max_boxes is %llu; %llu fit into a storage block of this driver", method,
                         (unsigned long long)def->max_boxes, (unsigned long long)(limit / bytes_a_box));
    if (def->max_pairs > limit / sizeof(psv_pair))
        return psvi_fail(choice->context, PSV_ERROR_UNSUPPORTED,
                         "%s: def.max_pairs is %llu; %llu fit into a storage block of this driver", method,
                         (unsigned long long)def->max_pairs, (unsigned long long)(limit / sizeof(psv_pair)));
    return PSV_OK;
}

static psv_sorter_def sorter_def(const psv_pair_finder_def *def, uint64_t most) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = psvi_sorter_name(def);
    made.max_count = most;
    return made;
}

// The same on both backends, of which a build may have one alone.
uint64_t psvi_gpu_sorter_bytes(const psv_pair_finder_def *def, uint64_t most) {
    const psv_sorter_def made = sorter_def(def, most);
    return psv_sorter_scratch_bytes(PSV_HAVE_GL ? PSV_BACKEND_GL : PSV_BACKEND_VULKAN, &made);
}

psv_status psvi_gpu_create_sorter(psvi_choice *choice, const char *scratch, uint64_t bytes, uint64_t most) {
    psv_sorter_def def = sorter_def(&choice->def, most);
    psv_sorter *sorter = NULL;
    def.scratch = psvi_buffer_at(choice->context, scratch, bytes);
    const psv_status status = psv_create_sorter(choice->context, &def, &sorter);
    choice->state = sorter;
    return status;
}

void psvi_gpu_destroy_sorter(psvi_choice *choice) {
    psv_destroy_sorter(choice->state);
    choice->state = NULL;
}

psv_status psvi_gpu_sort_places(const psvi_choice *choice, char *keys, char *places, uint64_t count,
                                const uint64_t *count_device) {
    const psvi_sort_request request = {
        .keys_in = keys,
        .keys_out = keys,
        .values_out = places,
        .value_bytes = 4,
        .implicit_index = true,
        .count = count,
        .count_device = count_device,
    };
    return psvi_sort_run(choice->state, &request);
}
