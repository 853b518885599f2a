// The rules of a finder: its layer matrix, its excluded pairs, the room of its worlds, and the parts that a frame
// needs.
#include "frame.h"

#define PSVI_RULES_COOKIE 0x70737672u // "psvr"

psv_pair_rules psv_default_pair_rules(void) { return (psv_pair_rules){.cookie = PSVI_RULES_COOKIE}; }

// Buckets of the table of excluded pairs: at least half of the places stay free.
static uint64_t bucket_count(const psv_pair_finder_def *def) {
    uint64_t buckets = 1;
    if (def->max_excluded == 0) return 0;
    while (buckets * PSVI_BUCKET < 2 * def->max_excluded)
        buckets *= 2;
    return buckets;
}

static uint64_t table_bytes(const psv_pair_finder_def *def) {
    return bucket_count(def) * (sizeof(psvi_bucket) + sizeof(uint32_t));
}

static uint64_t partner_bytes(const psvi_collision_ops *ops, const psv_pair_finder_def *def) {
    return ops->list_partners != NULL && psvi_lists_partners(def) ? def->max_boxes * sizeof(psvi_partners) : 0;
}

static uint64_t narrow_bytes(const psv_pair_finder_def *def) {
    return def->doubles ? def->max_boxes * sizeof(psv_aabb) : 0;
}

uint64_t psvi_rule_memory_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    const psvi_collision_ops *ops = psvi_collision_ops_of(backend);
    return (ops->put_rules != NULL ? psvi_align(PSVI_RULE_KINDS * sizeof(psvi_pair_rules)) : 0) +
           psvi_align(PSVI_MATRIX_BYTES) + psvi_align(table_bytes(def)) + psvi_align(partner_bytes(ops, def)) +
           psvi_align(psvi_world_count_bytes(def)) + psvi_align(narrow_bytes(def));
}

psv_status psvi_create_rule_memory(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psv_pair_finder_def *def = &finder->def;
    psvi_rule_memory *memory = &finder->rules;
    bool enough = finder->ops->put_rules == NULL ||
                  psvi_take(context, PSVI_RULE_KINDS * sizeof *memory->rules, (void **)&memory->rules);
    enough = enough && psvi_take(context, PSVI_MATRIX_BYTES, (void **)&memory->layer_matrix);
    enough = enough && psvi_take(context, table_bytes(def), (void **)&memory->excluded);
    enough = enough && psvi_take(context, partner_bytes(finder->ops, def), (void **)&memory->partners);
    enough = enough && psvi_take(context, psvi_world_count_bytes(def), (void **)&memory->world_pairs);
    enough = enough && psvi_take(context, narrow_bytes(def), (void **)&memory->narrow);
    if (!enough)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for the rules of a pair finder (%llu bytes)",
                         context->ops->name, (unsigned long long)psvi_rule_memory_bytes(context->backend, def));
    const psvi_pair_rules listed = {
        .excluded = memory->excluded,
        .last_bucket = bucket_count(def) - 1,
        .world_room = UINT64_MAX,
        .refused = &finder->result->refused,
    };
    psv_status status = PSV_OK;
    if (memory->partners != NULL && memory->rules != NULL)
        status = finder->ops->put_rules(context, &listed, &memory->rules[PSVI_RULES_LISTED]);
    return status != PSV_OK || psvi_world_count_bytes(def) == 0
               ? status
               : context->ops->fill(context, memory->world_pairs, 0, psvi_world_count_bytes(def));
}

void psvi_destroy_rule_memory(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psv_pair_finder_def *def = &finder->def;
    psvi_rule_memory *memory = &finder->rules;
    psvi_free(context, memory->rules, PSVI_RULE_KINDS * sizeof *memory->rules);
    psvi_free(context, memory->layer_matrix, PSVI_MATRIX_BYTES);
    psvi_free(context, memory->excluded, table_bytes(def));
    psvi_free(context, memory->partners, partner_bytes(finder->ops, def));
    psvi_free(context, memory->world_pairs, psvi_world_count_bytes(def));
    psvi_free(context, memory->narrow, narrow_bytes(def));
    *memory = (psvi_rule_memory){0};
}

// --- rules of the caller ---------------------------------------------------------------------------------------------

psv_status psvi_check_rules(psv_context *context, const psv_pair_finder_def *def, const psv_pair_rules *rules) {
    if (rules->cookie != PSVI_RULES_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "rules was not made by psv_default_pair_rules");
    if (rules->excluded_count > def->max_excluded)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "rules.excluded_count is %llu; def.max_excluded is %llu",
                         (unsigned long long)rules->excluded_count, (unsigned long long)def->max_excluded);
    psv_status status = PSV_OK;
    if (psvi_is_given(rules->layer_matrix))
        status = psvi_check_buffer(context, rules->layer_matrix, PSVI_MATRIX_BYTES, 4, "rules.layer_matrix");
    if (status == PSV_OK && rules->excluded_count > 0)
        status =
            psvi_check_buffer(context, rules->excluded, rules->excluded_count * sizeof(psv_pair), 4, "rules.excluded");
    return status;
}

psv_status psv_set_pair_rules(psv_pair_finder *finder, const psv_pair_rules *rules) {
    const psv_pair_rules none = psv_default_pair_rules();
    psv_status status = psvi_check_finder(finder);
    if (status != PSV_OK) return status;
    if (rules == NULL) rules = &none;
    status = psvi_check_rules(finder->context, &finder->def, rules);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    psvi_rule_memory *memory = &finder->rules;
    finder->kept.valid = finder->movers.complete = false;
    memory->has_matrix = psvi_is_given(rules->layer_matrix);
    memory->has_excluded = rules->excluded_count > 0;
    if (memory->has_matrix)
        status = context->ops->copy(context, memory->layer_matrix, psvi_buffer_address(rules->layer_matrix),
                                    PSVI_MATRIX_BYTES, PSVI_COPY_INSIDE);
    if (status != PSV_OK || !memory->has_excluded) return status;
    const uint64_t buckets = bucket_count(&finder->def);
    status = context->ops->fill(context, memory->excluded, 0xff, buckets * sizeof(psvi_bucket));
    if (status == PSV_OK) status = context->ops->fill(context, memory->excluded + buckets, 0, buckets * 4);
    if (status != PSV_OK) return status;
    const psv_pair *pairs = psvi_buffer_address(rules->excluded);
    status = finder->ops->exclude_pairs(context, pairs, rules->excluded_count, memory->excluded, buckets - 1);
    if (status != PSV_OK || memory->partners == NULL) return status;
    status = context->ops->fill(context, memory->partners, 0xff, partner_bytes(finder->ops, &finder->def));
    if (status != PSV_OK) return status;
    return finder->ops->list_partners(context, pairs, rules->excluded_count, memory->partners, finder->def.max_boxes);
}

// --- rules of a frame ------------------------------------------------------------------------------------------------

// The side from place `first` on.
static psvi_rule_side side_from(psvi_rule_side side, uint64_t first) {
    side.ids = side.ids == NULL ? NULL : side.ids + first;
    side.owners = side.owners == NULL ? NULL : side.owners + first;
    side.worlds = side.worlds == NULL ? NULL : side.worlds + first;
    side.layers = side.layers == NULL ? NULL : side.layers + first;
    if (side.min != NULL) side.min += first * side.min_stride;
    if (side.max != NULL) side.max += first * side.max_stride;
    side.first = (uint32_t)first;
    return side;
}

psvi_pair_rules psvi_rules_of(const psv_pair_finder *finder, const psvi_frame *frame, int kind) {
    const bool between = frame->given.between;
    const psvi_rule_memory *memory = &finder->rules;
    const psvi_kept *kept = &finder->kept;
    const psv_pair_finder_def *def = &finder->def;
    const uint64_t first = kind == PSVI_RULES_MOVING ? frame->kept : 0;
    const psvi_rule_side a = side_from(frame->a, first), b = between ? frame->b : a;
    return (psvi_pair_rules){
        .a = a,
        .b = b,
        .between = between,
        .exact = a.doubles || b.doubles,
        .layer_matrix = memory->has_matrix ? memory->layer_matrix : NULL,
        .excluded = memory->has_excluded ? memory->excluded : NULL,
        .last_bucket = bucket_count(def) - 1,
        .world_pairs = kind == PSVI_RULES_KEPT ? kept->world_pairs : memory->world_pairs,
        .world_room = def->world_pairs > 0 ? def->world_pairs : UINT64_MAX,
        .refused = kind == PSVI_RULES_KEPT ? &kept->result->refused : &finder->result->refused,
    };
}

psv_status psvi_put_rules(psv_pair_finder *finder, const psvi_frame *frame, int kind, psvi_find_input *input) {
    psvi_rule_memory *memory = &finder->rules;
    const psvi_pair_rules rules = psvi_rules_of(finder, frame, kind);
    const psvi_rule_side a = rules.a, b = rules.b;
    const bool owned = a.owners != NULL && b.owners != NULL;
    const bool more = owned || rules.exact || rules.layer_matrix != NULL || rules.world_pairs != NULL;
    input->rules = NULL;
    input->partners = NULL;
    if (!more && rules.excluded == NULL) return PSV_OK;
    if (!more && memory->partners != NULL && !rules.between && a.ids == NULL) {
        input->partners = memory->partners + a.first;
        input->first_name = a.first;
        input->rules = memory->rules == NULL ? NULL : &memory->rules[PSVI_RULES_LISTED];
        if (a.first == 0 && input->rules != NULL) return PSV_OK;
    }
    memory->given[kind] = rules;
    input->rules = &memory->given[kind];
    if (finder->ops->put_rules == NULL) return PSV_OK;
    input->rules = &memory->rules[kind];
    return finder->ops->put_rules(finder->context, &rules, &memory->rules[kind]);
}

// A frame with kept boxes has rules of several kinds, and puts them itself.
psv_status psvi_stage_rules(psv_pair_finder *finder, psvi_frame *frame) {
    return frame->kept > 0 ? PSV_OK : psvi_put_rules(finder, frame, PSVI_RULES_ALL, &frame->input);
}

psv_status psvi_begin_world_pairs(psv_pair_finder *finder, const uint64_t *from) {
    psv_context *context = finder->context;
    const uint64_t bytes = psvi_world_count_bytes(&finder->def);
    uint64_t *counts = finder->rules.world_pairs;
    if (bytes == 0) return PSV_OK;
    return from == NULL ? context->ops->fill(context, counts, 0, bytes)
                        : context->ops->copy(context, counts, from, bytes, PSVI_COPY_INSIDE);
}
