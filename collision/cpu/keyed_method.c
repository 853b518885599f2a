#include "keyed_method.h"

psv_sorter_def psvi_keyed_sorter_def(const psv_pair_finder_def *def, uint64_t most_keys) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = psvi_sorter_name(def);
    sorter.max_count = most_keys;
    if (psvi_has_worlds(def)) {
        uint32_t bits = 1;
        while (bits < 32 && (uint64_t)1 << bits < def->world_count)
            ++bits;
        sorter.key_type = PSV_KEY_U64;
        sorter.end_bit = 32 + bits;
    }
    return sorter;
}

psv_status psvi_create_keyed(psvi_choice *choice, const psv_sorter_def *sorter) {
    psv_sorter *made = NULL;
    const psv_status status = psv_create_sorter(choice->context, sorter, &made);
    choice->state = made;
    return status;
}

void psvi_destroy_keyed(psvi_choice *choice) { psv_destroy_sorter(choice->state); }

psv_status psvi_keyed_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    return psvi_add_sort_statistics(choice->state, statistics);
}
