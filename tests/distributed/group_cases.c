#include "group_shares.h"

#include <pairsieve/sort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/sort_inputs.h"
#include "box_case.h"

// --- pairs -----------------------------------------------------------------------------------------------------------

#define DEALT_PARTS 7

typedef struct dealt_boxes {
    psv_box_set set;
    psv_buffer parts[DEALT_PARTS];
} dealt_boxes;

// Element `i` of an array is element numbers[i] of the whole.
static psv_buffer deal_array(psv_context *context, const void *whole, uint32_t bytes, const share *own) {
    psv_buffer buffer = {0};
    if (whole == NULL) return buffer;
    char *dealt = must(malloc(own->count * bytes + 1));
    for (uint64_t i = 0; i < own->count; ++i)
        memcpy(dealt + i * bytes, (const char *)whole + own->numbers[i] * bytes, bytes);
    upload(context, &buffer, dealt, own->count * bytes);
    free(dealt);
    return buffer;
}

static dealt_boxes deal_boxes(psv_context *context, const box_case *made, const share *own) {
    const bool doubles = made->corners != NULL;
    const uint32_t bytes = doubles ? sizeof(psv_aabb64) : sizeof(psv_aabb);
    dealt_boxes dealt = {.parts = {deal_array(context, doubles ? (void *)made->corners : made->boxes, bytes, own),
                                   deal_array(context, made->flags, 1, own),
                                   deal_array(context, made->filters, sizeof(psv_box_filter), own),
                                   deal_array(context, made->worlds, 4, own), deal_array(context, made->ids, 4, own),
                                   deal_array(context, made->owners, 4, own),
                                   deal_array(context, made->layers, 1, own)}};
    dealt.set = psv_boxes_of(dealt.parts[0], bytes, own->count);
    dealt.set.doubles = doubles;
    memcpy(dealt.set.origin, case_origin, sizeof case_origin);
    dealt.set.flags = dealt.parts[1];
    dealt.set.filters = dealt.parts[2];
    dealt.set.worlds = dealt.parts[3];
    dealt.set.ids = dealt.parts[4];
    dealt.set.owners = dealt.parts[5];
    dealt.set.layers = dealt.parts[6];
    return dealt;
}

static void free_dealt(psv_context *context, dealt_boxes *dealt) {
    for (int p = 0; p < DEALT_PARTS; ++p)
        psv_free_buffer(context, &dealt->parts[p]);
}

// Numbers by which one finder names the boxes as the group does, whose default ids follow the ranks.
static uint32_t *ids_of(const psv_group *group, const box_case *made, group_deal deal, uint64_t seed,
                        const uint64_t *order) {
    uint32_t *ids = must(malloc((made->count + 1) * sizeof *ids)), next = 0;
    if (made->ids != NULL) {
        memcpy(ids, made->ids, made->count * sizeof *ids);
        return ids;
    }
    for (uint32_t r = 0; r < psv_group_size(group); ++r)
        for (uint64_t i = 0; i < made->count; ++i)
            if (rank_of(deal, psv_group_size(group), seed, i, order[i], made->count) == r) ids[i] = next++;
    return ids;
}

typedef struct whole_pairs {
    psv_pair *pairs;
    uint64_t count, bad, worlds[8];
} whole_pairs;

// The excluded pairs by id of the boxes, those that rank `rank` of `size` knows. UINT32_MAX: all.
static psv_pair *name_excluded(const box_case *made, const uint32_t *ids, uint32_t rank, uint32_t size,
                               uint64_t *count) {
    psv_pair *named = must(malloc((made->excluded_count + 1) * sizeof *named));
    *count = 0;
    for (uint64_t e = 0; e < made->excluded_count; ++e) {
        if (rank != UINT32_MAX && e * e % size != rank) continue; // some know none
        const uint32_t a = ids[made->excluded[e].a], b = ids[made->excluded[e].b];
        named[(*count)++] = a < b ? (psv_pair){a, b} : (psv_pair){b, a};
    }
    return named;
}

static psv_pair_rules rules_of(const box_case *made, psv_pair *named, uint64_t count) {
    psv_pair_rules rules = psv_default_pair_rules();
    if (made->layers != NULL)
        rules.layer_matrix = psv_buffer_of((void *)(uintptr_t)made->layer_matrix, sizeof made->layer_matrix);
    rules.excluded = psv_buffer_of(named, count * sizeof *named);
    rules.excluded_count = count;
    return rules;
}

// Rules where the backend has them: `lent` is freed when they are set.
static psv_pair_rules lend_rules(psv_context *context, psv_pair_rules rules, psv_buffer lent[2]) {
    lent[0] = lent[1] = (psv_buffer){0};
    if (rules.layer_matrix.address != NULL)
        upload(context, &lent[0], rules.layer_matrix.address, rules.layer_matrix.bytes);
    if (rules.excluded_count > 0) upload(context, &lent[1], rules.excluded.address, rules.excluded.bytes);
    if (rules.layer_matrix.address != NULL) rules.layer_matrix = lent[0];
    if (rules.excluded_count > 0) rules.excluded = lent[1];
    return rules;
}

static psv_status set_lent_rules(psv_group_finder *finder, psv_context *context, psv_pair_rules rules) {
    psv_buffer lent[2];
    const psv_pair_rules there = lend_rules(context, rules, lent);
    const psv_status status = psv_set_group_pair_rules(finder, &there);
    for (int b = 0; b < 2; ++b)
        psv_free_buffer(context, &lent[b]);
    return status;
}

// One finder over all boxes, on the host, by another method than the ranks take.
static whole_pairs find_whole(const box_case *made, const uint32_t *ids) {
    whole_pairs whole = {0};
    psv_context *context = NULL;
    psv_pair_finder *finder = NULL;
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_CPU;
    context_def.worker_count = 1;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = made->count < 3000 ? "brute" : "sweep";
    def.max_boxes = made->count + 1;
    def.ids = def.grow_pairs = def.sort_output = true;
    def.world_count = made->world_count;
    def.max_excluded = made->excluded_count;
    def.doubles = made->corners != NULL;
    def.world_count = made->world_count < 1 ? 1 : made->world_count;
    def.count_worlds = true;
    uint64_t excluded_count;
    psv_pair *named = name_excluded(made, ids, UINT32_MAX, 1, &excluded_count);
    const psv_pair_rules rules = rules_of(made, named, excluded_count);
    psv_box_set set =
        psv_boxes_of(psv_buffer_of(made->boxes, made->count * sizeof(psv_aabb)), sizeof(psv_aabb), made->count);
    if (def.doubles)
        set = psv_boxes64_of(psv_buffer_of(made->corners, made->count * sizeof(psv_aabb64)), sizeof(psv_aabb64),
                             made->count);
    memcpy(set.origin, case_origin, sizeof case_origin);
    set.owners = psv_buffer_of(made->owners, made->count * 4);
    set.layers = psv_buffer_of(made->layers, made->count);
    set.flags = psv_buffer_of(made->flags, made->count);
    set.filters = psv_buffer_of(made->filters, made->count * sizeof(psv_box_filter));
    set.worlds = psv_buffer_of(made->worlds, made->count * 4);
    set.ids = psv_buffer_of((void *)(uintptr_t)ids, made->count * 4);
    psv_pair_statistics statistics;
    if (psv_create_context(&context_def, &context) != PSV_OK ||
        psv_create_pair_finder(context, &def, &finder) != PSV_OK || psv_set_pair_rules(finder, &rules) != PSV_OK ||
        psv_find_pairs(finder, &set) != PSV_OK || psv_finish_pairs(finder, &whole.count) != PSV_OK ||
        psv_read_pair_statistics(finder, &statistics) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(context));
        abort();
    }
    whole.pairs = must(malloc((whole.count + 1) * sizeof *whole.pairs));
    if (psv_read_pairs(finder, whole.pairs, whole.count, NULL) != PSV_OK) abort();
    memcpy(whole.worlds, psv_buffer_address(psv_world_pair_buffer(finder)), def.world_count * sizeof *whole.worlds);
    whole.bad = statistics.bad_boxes;
    free(named);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return whole;
}

static int compare_pairs(const void *a, const void *b) {
    const psv_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool compare_group_pairs(psv_group *group, psv_context *context, const psv_group_transport *transport,
                                psv_group_finder *finder, const box_case *made, uint64_t seed,
                                const whole_pairs *whole) {
    const uint64_t own_count = psv_group_pair_count(finder);
    psv_pair *own = must(malloc((own_count + 1) * sizeof *own));
    if (psv_read_group_pairs(finder, own, own_count, NULL) != PSV_OK)
        return fails_with(group, context, seed, "read_group_pairs");
    uint64_t bytes = 0;
    psv_pair *all = (psv_pair *)(void *)collect(group, transport, own, own_count * sizeof *own, &bytes, NULL);
    bool good = true;
    if (!made->sort_output) qsort(all, bytes / sizeof *all, sizeof *all, compare_pairs);
    if (bytes / sizeof *all != whole->count || psv_group_total_pairs(finder) != whole->count) {
        fprintf(stderr, "%llu pairs, total %llu, of %llu: ", (unsigned long long)(bytes / sizeof *all),
                (unsigned long long)psv_group_total_pairs(finder), (unsigned long long)whole->count);
        good = fails(group, seed, "not as many pairs as one finder has");
    } else if (memcmp(all, whole->pairs, bytes) != 0) {
        good = fails(group, seed, "the pairs differ from those of one finder");
    }
    psv_group_pair_statistics statistics;
    if (psv_read_group_pair_statistics(finder, &statistics) != PSV_OK || statistics.bad_boxes != whole->bad ||
        statistics.boxes != made->count)
        good = fails(group, seed, "boxes or bad boxes are counted wrong");
    const psv_buffer worlds = psv_group_world_pair_buffer(finder);
    uint64_t counts[8];
    if (worlds.bytes > 0 && (psv_download(context, counts, worlds, worlds.bytes) != PSV_OK ||
                             memcmp(counts, whole->worlds, worlds.bytes) != 0))
        good = fails(group, seed, "pairs of worlds are counted wrong");
    free(own);
    free(all);
    return good;
}

typedef struct placed {
    float x;
    uint64_t number;
} placed;

static int compare_placed(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->x < y->x || x->x > y->x) return x->x < y->x ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

// The place of each box in the order by x.
static uint64_t *order_by_x(const box_case *made) {
    placed *list = must(malloc((made->count + 1) * sizeof *list));
    uint64_t *order = must(malloc((made->count + 1) * sizeof *order));
    for (uint64_t i = 0; i < made->count; ++i) {
        const float x = made->boxes[i].min[0];
        list[i] = (placed){x - x == 0 ? x : 0, i};
    }
    qsort(list, made->count, sizeof *list, compare_placed);
    for (uint64_t i = 0; i < made->count; ++i)
        order[list[i].number] = i;
    free(list);
    return order;
}

static psv_group_finder_def finder_def_of(const box_case *made, uint64_t given) {
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = given;
    def.local.world_count = made->world_count;
    def.local.sort_output = made->sort_output;
    def.local.max_excluded = made->excluded_count;
    def.local.doubles = made->corners != NULL;
    return def;
}

// Each rank brings the excluded pairs that it knows; their memory is its own again after the call.
static psv_status set_rules(const psv_group *group, psv_context *context, psv_group_finder *finder,
                            const box_case *made, const uint32_t *ids) {
    uint64_t count;
    if (made->layers == NULL && made->excluded == NULL) return PSV_OK;
    psv_pair *named = name_excluded(made, ids, psv_group_rank(group), psv_group_size(group), &count);
    const psv_pair_rules rules = rules_of(made, named, count);
    const psv_status status = set_lent_rules(finder, context, rules);
    free(named);
    return status;
}

// The boxes of the last rank have no owners and are in layer 0: it does not give these arrays then.
static void strip_last_rank(const psv_group *group, box_case *made, dealt_boxes *dealt, uint64_t seed, group_deal deal,
                            const uint64_t *order) {
    const uint32_t size = psv_group_size(group), last = size - 1;
    if (size < 2 || seed % 2 == 0) return;
    for (uint64_t i = 0; i < made->count; ++i) {
        if (rank_of(deal, size, seed, i, order[i], made->count) != last) continue;
        if (made->owners != NULL) made->owners[i] = PSV_NO_OWNER;
        if (made->layers != NULL) made->layers[i] = 0;
    }
    if (psv_group_rank(group) == last) dealt->set.owners = dealt->set.layers = (psv_buffer){0};
}

static bool run_boxes(psv_group *group, psv_context *context, const psv_group_transport *transport, box_case *made,
                      uint64_t seed, group_deal deal) {
    uint64_t *order = order_by_x(made);
    uint32_t *ids = ids_of(group, made, deal, seed, order);
    share own = take_share(group, deal, seed, order, made->count);
    dealt_boxes dealt = deal_boxes(context, made, &own);
    strip_last_rank(group, made, &dealt, seed, deal, order);
    whole_pairs whole = find_whole(made, ids);
    psv_group_finder_def def = finder_def_of(made, own.count);
    def.local.count_worlds = seed % 2 == 1;
    if (seed % 3 == 0) def.max_held = 1; // the finders are made anew, with the rules that are there
    psv_group_finder *finder = NULL;
    bool good = (psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                 set_rules(group, context, finder, made, ids) == PSV_OK) ||
                fails_with(group, context, seed, "create_group_finder");
    for (int frame = 0; frame < 2 && good; ++frame) // the second has regions that follow the work of the first
        good = psv_group_find_pairs(finder, &dealt.set) == PSV_OK
                   ? compare_group_pairs(group, context, transport, finder, made, seed, &whole)
                   : fails_with(group, context, seed, "group_find_pairs");
    psv_destroy_group_finder(finder);
    free_dealt(context, &dealt);
    free(own.numbers);
    free(order);
    free(ids);
    free(whole.pairs);
    return good;
}

static const box_scene *scene_of(uint64_t number) {
    uint32_t count = 0;
    while (box_scene_at(count) != NULL)
        ++count;
    return box_scene_at((uint32_t)(number % count));
}

bool run_pairs_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    static const uint64_t counts[] = {0, 1, 2, 5, 20, 100, 300, 700};
    uint64_t state = seed * 2246822519u + 3;
    const box_scene *scene = scene_of(next_random(&state));
    uint64_t count = counts[next_random(&state) % 8];
    uint32_t parts = (uint32_t)next_random(&state) & 15;
    const group_deal deal = (group_deal)(next_random(&state) % DEAL_COUNT);
    if (seed % 4 != 0) parts |= (uint32_t)next_random(&state) & 240;
    box_case made = make_box_case(scene, count, seed, parts);
    made.sort_output = next_random(&state) % 2 == 0;
    const bool good = run_boxes(group, context, transport, &made, seed, deal);
    if (!good)
        fprintf(stderr, "  scene %s, %llu boxes, parts %u, deal %d\n", scene->name, (unsigned long long)count, parts,
                (int)deal);
    free_box_case(&made);
    return good;
}

bool run_scene_case(psv_group *group, psv_context *context, const psv_group_transport *transport, const char *scene,
                    uint64_t count, group_deal deal) {
    box_case made = make_box_case(box_scene_named(scene), count, 11, 0);
    const bool good = run_boxes(group, context, transport, &made, 11, deal);
    if (!good) fprintf(stderr, "  scene %s, %llu boxes, deal %d\n", scene, (unsigned long long)count, (int)deal);
    free_box_case(&made);
    return good;
}

// --- boxes that lie well --------------------------------------------------------------------------------------------

#define STAYING 3000 // boxes a rank, of 1/1000 of the cube's side: hardly any reaches over a border

bool run_staying_case(psv_group *group, psv_context *context, uint64_t seed) {
    const uint32_t size = psv_group_size(group), rank = psv_group_rank(group), axis = (uint32_t)(seed % 3);
    psv_aabb *boxes = must(malloc(STAYING * sizeof *boxes));
    uint64_t state = seed * 64 + rank + 1;
    for (uint64_t i = 0; i < STAYING; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            const float place = (float)(next_random(&state) >> 40) / (float)(1 << 24);
            boxes[i].min[k] = k == axis ? ((float)rank + place) / (float)size : place;
            boxes[i].max[k] = boxes[i].min[k] + 0.001f;
        }
    psv_buffer given = {0};
    upload(context, &given, boxes, STAYING * sizeof *boxes);
    free(boxes);
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = STAYING;
    psv_group_finder *finder = NULL;
    psv_group_pair_statistics statistics = {0};
    const psv_box_set set = psv_boxes_of(given, sizeof(psv_aabb), STAYING);
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                psv_group_find_pairs(finder, &set) == PSV_OK &&
                psv_read_group_pair_statistics(finder, &statistics) == PSV_OK;
    if (!good) fails_with(group, context, seed, "boxes in slabs");
    if (statistics.sent > STAYING / 10 || statistics.imbalance > 1.05) {
        fprintf(stderr, "  slabs along axis %u: %llu of %d boxes left rank %u, imbalance %g\n", axis,
                (unsigned long long)statistics.sent, STAYING, rank, statistics.imbalance);
        good = fails(group, seed, "boxes that lay well were moved");
    }
    psv_destroy_group_finder(finder);
    psv_free_buffer(context, &given);
    return good;
}

// Whether all ranks fare well: what follows is collective.
static bool frames_agree(const psv_group_transport *transport, bool *good) {
    bool all[16] = {false};
    if (transport->size > 16 || !transport->all_gather(good, all, sizeof *good, transport->user)) abort();
    for (uint32_t r = 0; r < transport->size; ++r)
        *good = *good && all[r];
    return *good;
}

// --- boxes that move slowly ------------------------------------------------------------------------------------------

// Ranks keep their boxes while these drift over the borders, and in one frame some jump anywhere.
bool run_drifting_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    const uint32_t parts = seed % 2 == 0 ? 0 : PART_FLAGS | PART_FILTERS | PART_IDS | PART_OWNERS;
    box_case made = make_box_case(box_scene_named("cube"), 2000, seed, parts);
    uint64_t *order = order_by_x(&made);
    uint32_t *ids = ids_of(group, &made, DEAL_BY_SPACE, seed, order);
    share own = take_share(group, DEAL_BY_SPACE, seed, order, made.count);
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool stayed = false;
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK ||
                fails_with(group, context, seed, "create_group_finder");
    for (uint64_t frame = 0; frame < 6 && good; ++frame) {
        for (uint64_t i = 0; i < made.count; ++i)
            for (int axis = 0; axis < 3; ++axis) {
                const float side = frame == 4 && i % 100 == 0 ? 12.0f : 0.2f;
                const float step = side * (box_random(seed + (frame == 4 ? 1 : 0), 3 * i + (uint64_t)axis, 2) - 0.5f);
                made.boxes[i].min[axis] += step;
                made.boxes[i].max[axis] += step;
            }
        dealt_boxes dealt = deal_boxes(context, &made, &own);
        whole_pairs whole = find_whole(&made, ids);
        psv_group_pair_statistics statistics = {0};
        good = psv_group_find_pairs(finder, &dealt.set) == PSV_OK
                   ? compare_group_pairs(group, context, transport, finder, &made, seed, &whole)
                   : fails_with(group, context, seed, "group_find_pairs");
        (void)frames_agree(transport, &good);
        if (good) (void)psv_read_group_pair_statistics(finder, &statistics);
        stayed = stayed || (good && statistics.copied < own.count / 2);
        free_dealt(context, &dealt);
        free(whole.pairs);
    }
    if (good && psv_group_size(group) <= 2 && !stayed)
        good = fails(group, seed, "boxes that stay were copied in every frame");
    psv_destroy_group_finder(finder);
    free(own.numbers);
    free(order);
    free(ids);
    free_box_case(&made);
    return good;
}

// --- events ----------------------------------------------------------------------------------------------------------

static uint64_t differences(const whole_pairs *a, const whole_pairs *b, psv_pair *list) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < a->count; ++i)
        if (b->count == 0 || bsearch(&a->pairs[i], b->pairs, b->count, sizeof(psv_pair), compare_pairs) == NULL)
            list[count++] = a->pairs[i];
    return count;
}

static bool compare_list(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed,
                         psv_buffer list, uint64_t count, uint64_t total, const whole_pairs *a, const whole_pairs *b) {
    psv_pair *expected = must(malloc((a->count + 1) * sizeof *expected));
    psv_pair *own = must(malloc((count + 1) * sizeof *own));
    const uint64_t expected_count = differences(a, b, expected);
    if (psv_download(context, own, list, count * sizeof *own) != PSV_OK) abort();
    bool good = true;
    for (uint64_t i = 1; i < count; ++i)
        if (compare_pairs(&own[i - 1], &own[i]) >= 0) good = fails(group, seed, "events are not in order");
    uint64_t bytes;
    psv_pair *all = (psv_pair *)(void *)collect(group, transport, own, count * sizeof *own, &bytes, NULL);
    qsort(all, bytes / sizeof *all, sizeof *all, compare_pairs);
    if (total != expected_count || bytes != expected_count * sizeof *all || memcmp(all, expected, bytes) != 0)
        good = fails(group, seed, "events differ from those between the pairs of one finder");
    free(expected);
    free(own);
    free(all);
    return good;
}

bool run_events_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed) {
    const bool ruled = seed / 10 % 2 == 1;
    const uint32_t parts = PART_IDS | (ruled ? PART_OWNERS | PART_LAYERS | PART_EXCLUDED : 0);
    box_case made = make_box_case(box_scene_named("cube"), 400 + seed % 300, seed, parts);
    uint64_t *order = order_by_x(&made);
    psv_group_finder_def def = finder_def_of(&made, made.count);
    def.local.events = true;
    def.local.sort_output = seed % 2 == 0;
    psv_group_finder *finder = NULL;
    whole_pairs before = {0};
    bool good = (psv_create_group_finder(group, &def, &finder) == PSV_OK &&
                 set_rules(group, context, finder, &made, made.ids) == PSV_OK) ||
                fails_with(group, context, seed, "create_group_finder");
    for (uint64_t frame = 0; frame < 4 && good; ++frame) {
        for (uint64_t i = 0; i < made.count; ++i) // some move, and all change their ranks
            for (int axis = 0; axis < 3 && (i + frame) % 3 == 0; ++axis) {
                const float step = box_random(seed + frame, i, 2) - 0.5f;
                made.boxes[i].min[axis] += step;
                made.boxes[i].max[axis] += step;
            }
        share own = take_share(group, DEAL_RANDOMLY, seed + frame, order, made.count);
        dealt_boxes dealt = deal_boxes(context, &made, &own);
        whole_pairs now = find_whole(&made, made.ids);
        psv_group_events events;
        good =
            (psv_group_find_pairs(finder, &dealt.set) == PSV_OK && psv_find_group_events(finder, &events) == PSV_OK) ||
            fails_with(group, context, seed, "find_group_events");
        if (frames_agree(transport, &good))
            good = compare_list(group, context, transport, seed, events.begin, events.begin_count,
                                events.total_begin_count, &now, &before);
        if (frames_agree(transport, &good))
            good = compare_list(group, context, transport, seed, events.end, events.end_count, events.total_end_count,
                                &before, &now);
        free_dealt(context, &dealt);
        free(own.numbers);
        free(before.pairs);
        before = now;
    }
    psv_destroy_group_finder(finder);
    free(before.pairs);
    free(order);
    free_box_case(&made);
    return good;
}

// --- errors ----------------------------------------------------------------------------------------------------------

// The same status on all ranks, and off the guilty rank a sentence that names it.
static bool expect_error(psv_group *group, psv_context *context, psv_status status, psv_status expected,
                         uint32_t guilty, const char *word) {
    char name[32];
    snprintf(name, sizeof name, "rank %u: ", guilty);
    if (status != expected) {
        fprintf(stderr, "status is %s, expected %s (%s): ", psv_status_name(status), psv_status_name(expected), word);
        return fails_with(group, context, 0, "expect_error");
    }
    if (strstr(psv_last_error(context), word) == NULL ||
        (psv_group_rank(group) != guilty && strncmp(psv_last_error(context), name, strlen(name)) != 0))
        return fails_with(group, context, 0, "the sentence does not name rank or cause");
    return true;
}

// Rules that ranks do not agree about, or that no rank has room for.
static bool run_rule_errors(psv_group *group, psv_context *context, uint32_t guilty) {
    const bool bad = psv_group_rank(group) == guilty;
    box_case made =
        make_box_case(box_scene_named("cube"), 60, 3, PART_IDS | PART_LAYERS | PART_EXCLUDED | PART_DOUBLES);
    share own = take_share(group, DEAL_EVENLY, 3, NULL, made.count);
    dealt_boxes dealt = deal_boxes(context, &made, &own);
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool good = psv_create_group_finder(group, &def, &finder) == PSV_OK;
    uint64_t count;
    psv_pair *named = name_excluded(&made, made.ids, UINT32_MAX, 1, &count);
    psv_pair_rules rules = rules_of(&made, named, bad ? count + 1 : 0);
    good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_CAPACITY, guilty,
                         "max_excluded");
    rules = rules_of(&made, named, bad ? count : 0);
    if (bad) rules.excluded = psv_buffer_of(named, 3);
    good &=
        expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_ARGUMENT, guilty, "excluded");
    if (psv_group_size(group) > 1) { // every rank sees these by itself
        const uint32_t self = psv_group_rank(group);
        rules = rules_of(&made, named, count / psv_group_size(group) + 1);
        good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_CAPACITY, self,
                             "on all ranks");
        uint32_t other[PSV_LAYERS] = {0};
        rules = rules_of(&made, named, 0);
        if (bad) rules.layer_matrix = psv_buffer_of(other, sizeof other);
        good &= expect_error(group, context, set_lent_rules(finder, context, rules), PSV_ERROR_ARGUMENT, self,
                             "layer_matrix");
        psv_box_set moved = dealt.set;
        if (bad) moved.origin[1] += 1;
        good &= expect_error(group, context, psv_group_find_pairs(finder, &moved), PSV_ERROR_ARGUMENT, self, "origin");
    }
    good &= psv_set_group_pair_rules(finder, NULL) == PSV_OK && psv_group_find_pairs(finder, &dealt.set) == PSV_OK;
    psv_destroy_group_finder(finder);
    free(named);
    free_dealt(context, &dealt);
    free(own.numbers);
    free_box_case(&made);
    return good || fails(group, 0, "errors of rules");
}

static bool run_finder_errors(psv_group *group, psv_context *context, const psv_group_transport *transport,
                              uint32_t guilty) {
    const bool bad = psv_group_rank(group) == guilty;
    box_case made = make_box_case(box_scene_named("cube"), 500, 3, 0);
    share own = take_share(group, DEAL_EVENLY, 3, NULL, made.count);
    dealt_boxes dealt = deal_boxes(context, &made, &own);
    psv_box_set wrong = dealt.set;
    psv_group_finder_def def = finder_def_of(&made, own.count);
    psv_group_finder *finder = NULL;
    bool good = true;
    def.local.method = bad ? "no such method" : "auto";
    good &= expect_error(group, context, psv_create_group_finder(group, &def, &finder), PSV_ERROR_UNSUPPORTED, guilty,
                         "no such method");
    def.local.method = "auto";
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    if (bad) wrong.min_stride = 5;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &wrong), PSV_ERROR_ARGUMENT, guilty, "min_stride");
    wrong = dealt.set;
    if (bad) wrong.count = own.count + 1, wrong.min.bytes += sizeof(psv_aabb);
    good &= expect_error(group, context, psv_group_find_pairs(finder, &wrong), PSV_ERROR_CAPACITY, guilty, "max_boxes");
    good &= expect_error(group, context, psv_group_find_pairs(finder, bad ? NULL : &dealt.set), PSV_ERROR_ARGUMENT,
                         guilty, "boxes is NULL");
    good &= psv_group_find_pairs(finder, &dealt.set) == PSV_OK || fails_with(group, context, 0, "after errors");
    psv_destroy_group_finder(finder);
    // One rank has no room for its pairs: all learn how many there are.
    def.local.grow_pairs = !bad;
    def.local.max_pairs = bad ? 1 : 0;
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &dealt.set), PSV_ERROR_CAPACITY, guilty, "needed");
    psv_destroy_group_finder(finder);
    def = finder_def_of(&made, own.count);
    def.grow_held = !bad;
    def.max_held = bad ? 1 : 0;
    good &= psv_create_group_finder(group, &def, &finder) == PSV_OK;
    good &=
        expect_error(group, context, psv_group_find_pairs(finder, &dealt.set), PSV_ERROR_CAPACITY, guilty, "max_held");
    psv_destroy_group_finder(finder);
    free_dealt(context, &dealt);
    free(own.numbers);
    free_box_case(&made);
    (void)transport;
    return good;
}

bool run_error_cases(psv_group *group, psv_context *context, const psv_group_transport *transport) {
    bool good = true;
    for (uint32_t guilty = 0; guilty < psv_group_size(group); ++guilty) {
        const bool bad = psv_group_rank(group) == guilty;
        good &= run_finder_errors(group, context, transport, guilty);
        good &= run_rule_errors(group, context, guilty);
        psv_group_sorter_def def = psv_default_group_sorter_def();
        def.local.max_count = 100;
        psv_group_sorter *sorter = NULL;
        psv_group_sorted sorted;
        psv_buffer keys;
        uint32_t zeros[200] = {0};
        upload(context, &keys, zeros, sizeof zeros);
        good &= psv_create_group_sorter(group, &def, &sorter) == PSV_OK;
        good &= expect_error(group, context, psv_group_sort_keys(sorter, keys, bad ? 101 : 50, &sorted),
                             PSV_ERROR_CAPACITY, guilty, "max_count");
        good &= expect_error(group, context,
                             psv_group_sort_keys(sorter, bad ? psv_sub_buffer(keys, 0, 40) : keys, 50, &sorted),
                             PSV_ERROR_ARGUMENT, guilty, "keys");
        good &= psv_group_sort_keys(sorter, keys, 50, &sorted) == PSV_OK && sorted.total == 50 * psv_group_size(group);
        psv_destroy_group_sorter(sorter);
        psv_free_buffer(context, &keys);
    }
    return good;
}
