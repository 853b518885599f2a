#include "grid_state.h"
#include "keyed_method.h"

#include <stdlib.h>

psv_status psvi_create_grid_state(psvi_choice *choice, const char *method, const psv_sorter_def *sorter) {
    psvi_grid_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return psvi_fail(choice->context, PSV_ERROR_MEMORY, "no memory for method '%s' (%zu bytes)", method,
                         sizeof *state);
    psv_status status = psv_create_sorter(choice->context, sorter, &state->sorter);
    if (status != PSV_OK)
        free(state);
    else
        choice->state = state;
    return status;
}

void psvi_destroy_grid_state(psvi_choice *choice) {
    psvi_grid_state *state = choice->state;
    psv_destroy_sorter(state->sorter);
    free(state);
}

psv_status psvi_grid_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    return psvi_add_sort_statistics(((psvi_grid_state *)choice->state)->sorter, statistics);
}
