#include "sorted_method.h"

#include <stdlib.h>

psv_sorter_def psvi_key_sorter_def(const psv_pair_finder_def *def, uint64_t most_keys) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = psvi_sorter_name(def);
    made.key_type = PSV_KEY_U32;
    made.value_bytes = 4;
    made.max_count = most_keys;
    return made;
}

psv_sorter_def psvi_box_sorter_def(const psv_pair_finder_def *def) {
    return psvi_key_sorter_def(def, psvi_room_of(def));
}

psv_status psvi_sort_box_keys(psv_sorter *sorter, const psvi_find_input *input, uint32_t *keys, uint32_t *keys_out,
                              uint32_t *order, const uint64_t *slots) {
    const bool counted = input->a.count_device != NULL || input->b.count_device != NULL;
    const psvi_sort_request request = {
        .keys_in = keys,
        .keys_out = keys_out,
        .values_out = order,
        .value_bytes = 4,
        .implicit_index = true,
        .count = psvi_most_boxes(input),
        .count_device = counted ? slots : NULL,
    };
    return psvi_sort_run(sorter, &request);
}

static uint64_t sorter_bytes(const psvi_sorted_method *method, const psv_pair_finder_def *def) {
    psv_sorter_def sort = method->sorter_def(def);
    return psv_sorter_scratch_bytes(PSV_BACKEND_CUDA, &sort);
}

uint64_t psvi_sorted_scratch_bytes(const psvi_sorted_method *method, const psv_pair_finder_def *def) {
    _Alignas(16) char state[PSVI_SORTED_STATE_MOST]; // only measured
    psvi_carver carver = {NULL, 0};
    method->layout(&carver, def, state);
    (void)psvi_carve(&carver, sorter_bytes(method, def));
    return carver.used;
}

psv_status psvi_create_sorted(psvi_choice *choice, const psvi_sorted_method *method) {
    psv_context *context = choice->context;
    if (choice->def.max_boxes > method->most_boxes)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s: def.max_boxes is %llu; %llu are possible", method->name,
                         (unsigned long long)choice->def.max_boxes, (unsigned long long)method->most_boxes);
    psvi_sorted_state *state = calloc(1, method->state_bytes);
    if (state == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for method '%s' (%zu bytes)", method->name,
                         method->state_bytes);
    choice->state = state;
    psvi_carver carver = {choice->scratch, 0};
    method->layout(&carver, &choice->def, state);
    uint64_t bytes = sorter_bytes(method, &choice->def);
    psv_sorter_def def = method->sorter_def(&choice->def);
    def.scratch = psv_buffer_of(psvi_carve(&carver, bytes), bytes);
    psv_status status = psv_create_sorter(context, &def, &state->sorter);
    if (status != PSV_OK) psvi_destroy_sorted(choice);
    return status;
}

void psvi_destroy_sorted(psvi_choice *choice) {
    psvi_sorted_state *state = choice->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->sorter);
    free(state);
    choice->state = NULL;
}

psv_status psvi_sorted_statistics(const psvi_choice *choice, uint32_t key_bits, psv_pair_statistics *statistics) {
    const psvi_sorted_state *state = choice->state;
    const psv_status status = psvi_add_sort_statistics(state->sorter, statistics);
    statistics->key_bits = key_bits;
    statistics->levels = 1;
    return status;
}
