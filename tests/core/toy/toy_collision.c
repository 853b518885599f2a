// What the toy has for finding pairs: every box against every other, ordered pairs, and nothing more.
#include <stdlib.h>
#include <string.h>

#include "collision/src/pair_rules.h"
#include "sort/src/sort_method.h"
#include "toy.h"

// --- brute force -----------------------------------------------------------------------------------------------------

static uint64_t no_bytes(const psv_pair_finder_def *def) {
    (void)def;
    return 0;
}

static uint64_t count_of(const psvi_box_view *view) {
    const uint64_t *there = toy_host(view->count_device);
    return there == NULL || *there > view->room ? view->count : *there;
}

static const float *corner(const char *corners, uint32_t stride, uint64_t place) {
    return (const float *)(const void *)((const char *)toy_host(corners) + place * stride);
}

static uint32_t flags_of(const psvi_box_view *view, uint64_t place) {
    const uint8_t *flags = toy_host(view->flags);
    return flags == NULL ? 0 : flags[place];
}

static uint32_t world_of(const psvi_box_view *view, uint64_t place) {
    const uint32_t *worlds = toy_host(view->worlds);
    return worlds == NULL ? 0 : worlds[place];
}

static psv_box_filter filter_of(const psvi_box_view *view, uint64_t place) {
    const psv_box_filter *filters = toy_host(view->filters);
    return filters == NULL ? (psv_box_filter){UINT32_MAX, UINT32_MAX} : filters[place];
}

static bool is_bad(const psvi_find_input *input, const psvi_box_view *view, uint64_t place) {
    return psvi_box_is_bad(corner(view->min, view->min_stride, place), corner(view->max, view->max_stride, place)) ||
           world_of(view, place) >= input->world_count;
}

static bool takes_part(const psvi_find_input *input, const psvi_box_view *view, uint64_t place) {
    return (flags_of(view, place) & PSV_BOX_DISABLED) == 0 && !is_bad(input, view, place);
}

static void count_boxes(const psvi_find_input *input, const psvi_box_view *view, uint32_t first) {
    psvi_frame_result *result = toy_host(input->result);
    uint32_t *bad = toy_host(input->bad_boxes);
    for (uint64_t i = 0; i < count_of(view); ++i) {
        if ((flags_of(view, i) & PSV_BOX_DISABLED) != 0) continue;
        if (is_bad(input, view, i))
            bad[result->bad_count++] = first + (uint32_t)i;
        else
            result->boxes++;
    }
}

// A frame's rules with addresses that can be read.
static psvi_pair_rules rules_here(const psvi_pair_rules *rules) {
    psvi_pair_rules here = *rules;
    for (int s = 0; s < 2; ++s) {
        psvi_rule_side *side = s == 0 ? &here.a : &here.b;
        side->owners = toy_host(side->owners);
        side->layers = toy_host(side->layers);
    }
    here.layer_matrix = toy_host(here.layer_matrix);
    return here;
}

static bool is_pair(const psvi_find_input *input, const psvi_box_view *b, uint64_t i, uint64_t j) {
    const psvi_box_view *a = &input->a;
    return takes_part(input, b, j) && psvi_flags_pair(flags_of(a, i), flags_of(b, j)) &&
           world_of(a, i) == world_of(b, j) && psvi_filters_pair(filter_of(a, i), filter_of(b, j)) &&
           psvi_boxes_overlap(corner(a->min, a->min_stride, i), corner(a->max, a->max_stride, i),
                              corner(b->min, b->min_stride, j), corner(b->max, b->max_stride, j));
}

static psv_status find(const psvi_choice *choice, const psvi_find_input *input) {
    (void)choice;
    const psvi_box_view *b = input->between ? &input->b : &input->a;
    const uint64_t a_count = count_of(&input->a), b_count = count_of(b);
    psvi_frame_result *result = toy_host(input->result);
    psv_pair *pairs = toy_host(input->pairs);
    psvi_pair_rules rules;
    if (input->rules != NULL) rules = rules_here(input->rules);
    count_boxes(input, &input->a, 0);
    if (input->between) count_boxes(input, b, (uint32_t)input->a.room);
    for (uint64_t i = 0; i < a_count; ++i) {
        if (!takes_part(input, &input->a, i)) continue;
        for (uint64_t j = input->between ? 0 : i + 1; j < b_count; ++j) {
            if (!is_pair(input, b, i, j)) continue;
            if (input->rules != NULL && !psvi_rules_pair(&rules, i, j)) continue;
            const uint64_t place = result->pair_count++;
            if (place < input->capacity) pairs[place] = (psv_pair){(uint32_t)i, (uint32_t)j};
        }
    }
    return PSV_OK;
}

static const psvi_broad_phase brute = {
    .name = "brute", .description = "every box against every other", .scratch_bytes = no_bytes, .find = find};
static const psvi_broad_phase *const broad_phases[] = {&brute, NULL};

// --- order -----------------------------------------------------------------------------------------------------------

static int compare(const void *left, const void *right) {
    const psv_pair *a = left, *b = right;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static psv_status order_pairs(psv_context *context, void *sorter, psv_pair *pairs, const uint64_t *count,
                              uint64_t capacity, void *scratch) {
    (void)context, (void)sorter, (void)scratch;
    const uint64_t *there = toy_host(count);
    qsort(toy_host(pairs), *there < capacity ? *there : capacity, sizeof *pairs, compare);
    return PSV_OK;
}

static const psvi_collision_ops ops = {.order_pairs = order_pairs};

extern const psvi_collision_module psvi_toy_collision;
const psvi_collision_module psvi_toy_collision = {.broad_phases = broad_phases, .ops = &ops};
