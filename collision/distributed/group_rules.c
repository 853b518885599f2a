// Rules of a group's pairs. A pair may be found on any rank, so each rank keeps the excluded pairs of all of them.
#include "group_finder.h"

#include <stdlib.h>
#include <string.h>

static psv_status put_rules(const psv_group_finder *finder, psv_pair_finder *local) {
    psv_pair_rules rules = psv_default_pair_rules();
    if (finder->has_matrix) rules.layer_matrix = psv_buffer_of(finder->layer_matrix.memory, PSVI_MATRIX_BYTES);
    rules.excluded_count = finder->excluded_count;
    rules.excluded = psv_buffer_of(finder->excluded.memory, finder->excluded_count * sizeof(psv_pair));
    return psv_set_pair_rules(local, &rules);
}

psv_status psvi_make_local_finder(psv_group_finder *finder, const psv_pair_finder_def *def, psv_pair_finder **made) {
    psv_destroy_pair_finder(*made);
    *made = NULL;
    psv_status status = psv_create_pair_finder(finder->context, def, made);
    if (status != PSV_OK) return status;
    (*made)->by_place = true;
    if (!finder->has_matrix && finder->excluded_count == 0) return PSV_OK;
    return put_rules(finder, *made);
}

// Between the memory of the backend, where rules lie, and the host's, through which they go to the other ranks.
static psv_status copy_rules(psv_context *context, void *target, const void *source, uint64_t bytes,
                             psvi_copy_kind kind) {
    if (bytes == 0) return PSV_OK;
    const psv_status status = context->ops->copy(context, target, source, bytes, kind);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

// The matrix of this rank, and whether all ranks have the same.
static psv_status compare_matrices(psv_group_finder *finder, const void *given) {
    psv_group *group = finder->group;
    psv_context *context = finder->context;
    uint32_t mine[PSV_LAYERS] = {0}, *all = malloc((uint64_t)group->size * PSV_LAYERS * sizeof *all);
    uint64_t *counts = calloc(group->size, sizeof *counts);
    psv_status status = psvi_make_room(context, &finder->layer_matrix, PSVI_MATRIX_BYTES, "a layer matrix");
    if (status == PSV_OK && (all == NULL || counts == NULL))
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the layer matrices of %u ranks", group->size);
    if (status == PSV_OK) status = copy_rules(context, mine, given, PSVI_MATRIX_BYTES, PSVI_COPY_DOWNLOAD);
    status = psvi_group_agree(group, PSVI_CALL_RULES, status);
    for (uint32_t r = 0; status == PSV_OK && r < group->size; ++r)
        counts[r] = PSV_LAYERS;
    if (status == PSV_OK) status = psvi_group_collect_host(group, mine, all, sizeof(uint32_t), counts);
    for (uint32_t r = 1; status == PSV_OK && r < group->size; ++r)
        if (memcmp(all, all + (uint64_t)r * PSV_LAYERS, PSVI_MATRIX_BYTES) != 0)
            status = psvi_fail(context, PSV_ERROR_ARGUMENT,
                               "rules.layer_matrix of rank %u is not that of rank 0; it is the same on all ranks", r);
    if (status == PSV_OK)
        status = copy_rules(context, finder->layer_matrix.memory, mine, PSVI_MATRIX_BYTES, PSVI_COPY_UPLOAD);
    finder->has_matrix = status == PSV_OK;
    free(all);
    free(counts);
    return status;
}

// counts[r] excluded pairs of rank r, `total` in all, to the memory of this rank's finder.
static psv_status collect_excluded(psv_group_finder *finder, const void *given, const uint64_t *counts,
                                   uint64_t total) {
    psv_group *group = finder->group;
    psv_context *context = finder->context;
    const uint64_t own = counts[group->rank];
    psv_pair *mine = malloc((own + 1) * sizeof *mine), *all = malloc((total + 1) * sizeof *all);
    psv_status status = psvi_make_room(context, &finder->excluded, total * sizeof *all, "excluded pairs");
    if (status == PSV_OK && (mine == NULL || all == NULL))
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %llu excluded pairs", (unsigned long long)total);
    if (status == PSV_OK) status = copy_rules(context, mine, given, own * sizeof *mine, PSVI_COPY_DOWNLOAD);
    status = psvi_group_agree(group, PSVI_CALL_RULES, status);
    if (status == PSV_OK && total > 0) status = psvi_group_collect_host(group, mine, all, sizeof *all, counts);
    if (status == PSV_OK)
        status = copy_rules(context, finder->excluded.memory, all, total * sizeof *all, PSVI_COPY_UPLOAD);
    free(mine);
    free(all);
    return status;
}

// What a rank brings.
typedef struct given_rules {
    uint64_t excluded;
    uint32_t has_matrix, unused;
} given_rules;

static psv_status collect_rules(psv_group_finder *finder, const psv_pair_rules *rules, const given_rules *all) {
    psv_group *group = finder->group;
    psv_context *context = finder->context;
    uint64_t *counts = finder->sampled, total = 0; // a number of each rank; free between calls
    for (uint32_t r = 0; r < group->size; ++r) {
        if (all[r].has_matrix != all[0].has_matrix)
            return psvi_fail(context, PSV_ERROR_ARGUMENT,
                             "rules.layer_matrix is there on some ranks and not on others");
        counts[r] = all[r].excluded;
        total += all[r].excluded;
    }
    if (total > finder->def.local.max_excluded)
        return psvi_fail(context, PSV_ERROR_CAPACITY,
                         "%llu excluded pairs on all ranks; def.local.max_excluded is %llu", (unsigned long long)total,
                         (unsigned long long)finder->def.local.max_excluded);
    const psv_status status = collect_excluded(finder, psvi_buffer_address(rules->excluded), counts, total);
    if (status != PSV_OK) return status;
    finder->excluded_count = total;
    return all[0].has_matrix ? compare_matrices(finder, psvi_buffer_address(rules->layer_matrix)) : PSV_OK;
}

psv_status psv_set_group_pair_rules(psv_group_finder *finder, const psv_pair_rules *rules) {
    const psv_pair_rules none = psv_default_pair_rules();
    psv_status status = psvi_check_group_finder(finder);
    if (status != PSV_OK) return status;
    psv_group *group = finder->group;
    psv_context *context = finder->context;
    if (rules == NULL) rules = &none;
    status = psvi_check_rules(context, &finder->def.local, rules);
    const given_rules mine = {rules->excluded_count, psvi_buffer_address(rules->layer_matrix) != NULL, 0};
    given_rules *all = malloc(group->size * sizeof *all);
    if (all == NULL && status == PSV_OK)
        status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for the rules of %u ranks", group->size);
    status = all != NULL ? psvi_group_gather(group, PSVI_CALL_RULES, status, &mine, all, sizeof mine)
                         : psvi_group_agree(group, PSVI_CALL_RULES, status);
    finder->has_matrix = false;
    finder->excluded_count = 0;
    if (status == PSV_OK) status = collect_rules(finder, rules, all);
    free(all);
    if (status != PSV_OK) finder->has_matrix = false, finder->excluded_count = 0;
    // A rank whose finder could not be enlarged has none: the next call makes one, with these rules.
    psv_status put = finder->local == NULL ? PSV_OK : put_rules(finder, finder->local);
    if (put == PSV_OK && finder->staying.second != NULL) put = put_rules(finder, finder->staying.second);
    return status == PSV_OK ? psvi_group_agree(group, PSVI_CALL_RULES, put) : status;
}
