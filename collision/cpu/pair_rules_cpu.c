// The rules of pairs on the CPU. Each thread hands over a thousand pairs of a method at a time, and they pass one rule
// after the other. A rule prefetches its data for all of them before it judges the first.
#include "../../core/cpu/workers.h"
#include "cpu_boxes.h"

typedef bool pair_rule(const psvi_pair_rules *rules, uint64_t a, uint64_t b);

// Keeps the pairs that a rule lets pass. In line, so that each rule has a loop of its own without a call or a branch.
static inline __attribute__((always_inline)) uint32_t keep_if(pair_rule *passes, const psvi_pair_rules *rules,
                                                              psv_pair *pairs, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t p = 0; p < count; ++p) {
        const psv_pair pair = pairs[p];
        pairs[kept] = pair;
        kept += passes(rules, pair.a, pair.b);
    }
    return kept;
}

static bool corners_overlap(const psvi_pair_rules *rules, uint64_t a, uint64_t b) {
    return psvi_corners_overlap(&rules->a, a, &rules->b, b);
}

static uint32_t keep_not_excluded(const psvi_pair_rules *rules, psv_pair *pairs, uint32_t count) {
    const psvi_bucket *const table = rules->excluded;
    const uint32_t *const filter = psvi_filter_of(table, rules->last_bucket);
    uint64_t keys[PSVI_SINK_PAIRS];
    uint32_t doubted[PSVI_SINK_PAIRS], doubts = 0, kept;
    uint8_t stays[PSVI_SINK_PAIRS];
    for (uint32_t p = 0; p < count; ++p) {
        keys[p] = psvi_excluded_key(rules, pairs[p].a, pairs[p].b);
        __builtin_prefetch(&filter[psvi_pair_bucket(keys[p], rules->last_bucket)]);
    }
    for (uint32_t p = 0; p < count; ++p) {
        const uint64_t bucket = psvi_pair_bucket(keys[p], rules->last_bucket);
        doubted[doubts] = p;
        if ((filter[bucket] & psvi_filter_bit(keys[p])) == 0) continue;
        __builtin_prefetch(&table[bucket]);
        ++doubts;
    }
    if (doubts == 0) return count;
    // Without a jump for each pair: where many are excluded, no processor foresees which.
    memset(stays + doubted[0], 1, count - doubted[0]);
    for (uint32_t d = 0; d < doubts; ++d)
        stays[doubted[d]] = !psvi_is_in_table(table, rules->last_bucket, keys[doubted[d]]);
    kept = doubted[0];
    for (uint32_t p = doubted[0]; p < count; ++p) {
        pairs[kept] = pairs[p];
        kept += stays[p];
    }
    return kept;
}

static uint32_t keep_overlapping(const psvi_pair_rules *rules, psv_pair *pairs, uint32_t count) {
    for (uint32_t p = 0; p < count; ++p) {
        __builtin_prefetch(rules->a.min + (uint64_t)pairs[p].a * rules->a.min_stride);
        __builtin_prefetch(rules->b.min + (uint64_t)pairs[p].b * rules->b.min_stride);
    }
    return keep_if(corners_overlap, rules, pairs, count);
}

// Counts the pairs for their worlds, and drops pairs of a world whose room is full.
static uint32_t keep_by_worlds(const psvi_pair_rules *rules, psv_pair *pairs, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t p = 0; p < count; ++p) {
        const uint32_t world = rules->a.worlds == NULL ? 0 : rules->a.worlds[pairs[p].a];
        if (__atomic_fetch_add(&rules->world_pairs[world], 1, __ATOMIC_RELAXED) < rules->world_room)
            pairs[kept++] = pairs[p];
    }
    if (kept < count) __atomic_fetch_add(rules->refused, count - kept, __ATOMIC_RELAXED);
    return kept;
}

uint32_t psvi_keep_ruled_pairs(const psvi_pair_rules *rules, psv_pair *pairs, uint32_t count) {
    if (rules->a.owners != NULL) count = keep_if(psvi_owners_pair, rules, pairs, count);
    if (rules->layer_matrix != NULL) count = keep_if(psvi_layers_pair, rules, pairs, count);
    if (rules->excluded != NULL) count = keep_not_excluded(rules, pairs, count);
    if (rules->exact) count = keep_overlapping(rules, pairs, count);
    return rules->world_pairs == NULL ? count : keep_by_worlds(rules, pairs, count);
}

static void exclude_pair(psvi_bucket *table, uint64_t last_bucket, uint64_t key) {
    uint32_t *const filter = (uint32_t *)(void *)(table + last_bucket + 1);
    __atomic_fetch_or(&filter[psvi_pair_bucket(key, last_bucket)], psvi_filter_bit(key), __ATOMIC_RELAXED);
    for (uint64_t at = psvi_pair_bucket(key, last_bucket);; at = (at + 1) & last_bucket) {
        for (int i = 0; i < PSVI_BUCKET; ++i) {
            uint64_t found = PSVI_NO_PAIR, *const place = &table[at].keys[i];
            if (__atomic_compare_exchange_n(place, &found, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
            if (found == key) return;
        }
    }
}

typedef struct exclude_job {
    const psv_pair *pairs;
    psvi_bucket *table;
    uint64_t last_bucket;
} exclude_job;

static void exclude_range(void *data, uint64_t first, uint64_t end) {
    const exclude_job *job = data;
    for (uint64_t i = first; i < end; ++i)
        exclude_pair(job->table, job->last_bucket, psvi_pair_key(job->pairs[i].a, job->pairs[i].b));
}

psv_status psvi_exclude_pairs_cpu(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_bucket *table,
                                  uint64_t last_bucket) {
    exclude_job job = {pairs, table, last_bucket};
    psvi_run_ranges(context, count, 8192, exclude_range, &job);
    return PSV_OK;
}

static void add_partner(psvi_partners *list, uint32_t name) {
    for (uint32_t k = 0; k < PSVI_PARTNERS; ++k) {
        uint64_t *const word = &list->words[k / 3];
        const uint32_t shift = k % 3 * PSVI_PARTNER_BITS;
        uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
        while ((now >> shift & PSVI_NO_PARTNER) == PSVI_NO_PARTNER) {
            const uint64_t cleared = (uint64_t)(PSVI_NO_PARTNER ^ name) << shift;
            if (__atomic_compare_exchange_n(word, &now, now & ~cleared, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return;
        }
        if ((now >> shift & PSVI_NO_PARTNER) == name) return;
    }
    __atomic_fetch_and(&list->words[0], ~PSVI_ALL_PARTNERS, __ATOMIC_RELAXED);
}

typedef struct list_job {
    const psv_pair *pairs;
    psvi_partners *partners;
    uint64_t boxes;
} list_job;

static void list_range(void *data, uint64_t first, uint64_t end) {
    const list_job *job = data;
    for (uint64_t i = first; i < end; ++i) {
        const psv_pair pair = job->pairs[i];
        if (pair.a >= pair.b || pair.b >= job->boxes) continue; // not a pair of one set
        add_partner(&job->partners[pair.a], pair.b);
        add_partner(&job->partners[pair.b], pair.a);
    }
}

psv_status psvi_list_partners_cpu(psv_context *context, const psv_pair *pairs, uint64_t count, psvi_partners *partners,
                                  uint64_t boxes) {
    list_job job = {pairs, partners, boxes};
    psvi_run_ranges(context, count, 8192, list_range, &job);
    return PSV_OK;
}

typedef struct narrow_job {
    const psvi_rule_side *side;
    const double *origin;
    psv_aabb *boxes;
    uint64_t first;
} narrow_job;

static void narrow_range(void *data, uint64_t first, uint64_t end) {
    const narrow_job *job = data;
    for (uint64_t i = job->first + first; i < job->first + end; ++i)
        psvi_narrow_box(job->side, job->origin, i, job->boxes[i].min, job->boxes[i].max);
}

psv_status psvi_narrow_boxes_cpu(psv_context *context, const psvi_rule_side *side, const double *origin, uint64_t first,
                                 const psvi_box_view *view, psv_aabb *boxes) {
    narrow_job job = {side, origin, boxes, first};
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    if (view->count > first) psvi_run_ranges(context, view->count - first, 4096, narrow_range, &job);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    return PSV_OK;
}

typedef struct name_job {
    const uint32_t *a_ids, *b_ids;
    bool between;
    psv_pair *pairs;
} name_job;

static void name_range(void *data, uint64_t first, uint64_t end) {
    const name_job *job = data;
    for (uint64_t p = first; p < end; ++p) {
        const psv_pair pair = job->pairs[p];
        const uint32_t a = job->a_ids == NULL ? pair.a : job->a_ids[pair.a];
        const uint32_t b = job->b_ids == NULL ? pair.b : job->b_ids[pair.b];
        job->pairs[p] = job->between || a < b ? (psv_pair){a, b} : (psv_pair){b, a};
    }
}

psv_status psvi_name_pairs_cpu(psv_context *context, const uint32_t *a_ids, const uint32_t *b_ids, bool between,
                               psv_pair *pairs, const uint64_t *count, uint64_t capacity) {
    name_job job = {a_ids, b_ids, between, pairs};
    psvi_run_ranges(context, *count < capacity ? *count : capacity, 8192, name_range, &job);
    return PSV_OK;
}

// --- kept boxes ------------------------------------------------------------------------------------------------------

// Of two sets: those of one set are followed.
psv_status psvi_merge_kept_cpu(psv_context *context, const psvi_kept_merge *merge) {
    (void)context;
    psvi_frame_result *result = merge->result;
    const psvi_frame_result *kept = merge->kept;
    for (uint64_t i = 0; i < kept->bad_count; ++i)
        merge->bad_boxes[result->bad_count + i] = merge->kept_bad[i] + merge->kept_shift;
    psvi_add_kept_result(result, kept);
    return PSV_OK;
}
