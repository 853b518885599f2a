// Methods at work: creation and destruction, and one pass of the one that is chosen for a frame.
#include "frame.h"

// The choices of one finder run one at a time.
uint64_t psvi_choice_bytes(psv_backend backend, const psvi_broad_phase *const *choices, uint32_t count,
                           const psv_pair_finder_def *def) {
    uint64_t most = 0, sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t bytes = psvi_align(choices[i]->scratch_bytes(def));
        sum += bytes;
        most = bytes > most ? bytes : most;
    }
    return psvi_collision_module_of(backend)->shares_scratch ? most : sum;
}

psv_status psvi_create_choice(psv_context *context, void *shared, psvi_choice *choice) {
    const psvi_broad_phase *method = choice->method;
    choice->context = context;
    choice->shares = shared != NULL;
    choice->scratch = shared;
    choice->scratch_bytes = method->scratch_bytes(&choice->def);
    if (choice->scratch_bytes > 0 && shared == NULL) choice->scratch = psvi_alloc(context, choice->scratch_bytes);
    if (choice->scratch_bytes > 0 && choice->scratch == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for method '%s' with max_boxes %llu (%llu bytes)",
                         context->ops->name, method->name, (unsigned long long)choice->def.max_boxes,
                         (unsigned long long)choice->scratch_bytes);
    const psv_status status = method->create == NULL ? PSV_OK : method->create(choice);
    choice->created = status == PSV_OK;
    return status;
}

void psvi_destroy_choice(psvi_choice *choice) {
    if (choice->created && choice->method->destroy != NULL) choice->method->destroy(choice);
    if (!choice->shares && choice->scratch != NULL) psvi_free(choice->context, choice->scratch, choice->scratch_bytes);
    *choice = (psvi_choice){0};
}

// --- a pass ----------------------------------------------------------------------------------------------------------

psv_status psvi_clear_result(psv_context *context, const psvi_find_input *input) {
    psv_status status = context->ops->fill(context, input->result, 0, sizeof *input->result);
    if (status != PSV_OK || input->pairs_before == NULL) return status;
    return context->ops->copy(context, &input->result->pair_count, input->pairs_before, sizeof(uint64_t),
                              PSVI_COPY_INSIDE);
}

static psv_status run_choice(psv_pair_finder *finder, uint32_t choice, psvi_find_input *input,
                             const uint64_t *kept_worlds) {
    const psvi_choice *taken = finder->last = &finder->choices[choice];
    psv_status status = psvi_begin_world_pairs(finder, kept_worlds);
    input->worlds_before = kept_worlds;
    if (status == PSV_OK && !taken->method->clears_result) status = psvi_clear_result(finder->context, input);
    return status == PSV_OK ? taken->method->find(taken, input) : status;
}

psv_status psvi_run_method(psv_pair_finder *finder, psvi_find_input *input, const uint64_t *kept_worlds) {
    const psvi_trial_turn turn = psvi_begin_turn(finder, input);
    const bool may_give_up =
        finder->context->ops->immediate && turn.choice == PSVI_FIRST_CHOICE && finder->choice_count > PSVI_OTHER_CHOICE;
    bool gave_up = false;
    input->gave_up = may_give_up ? &gave_up : NULL;
    psv_status status = run_choice(finder, turn.choice, input, kept_worlds);
    input->gave_up = NULL;
    if (status == PSV_OK && gave_up) {
        const uint64_t vain = input->result->candidates;
        status = run_choice(finder, PSVI_OTHER_CHOICE, input, kept_worlds);
        input->result->candidates += vain;
    }
    return status == PSV_OK ? psvi_end_turn(finder, turn, input) : status;
}
