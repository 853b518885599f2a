// Margins: pairs of widened boxes are kept and tested again, frame after frame, until some box has left its widened
// one. The method runs over the widened boxes then, and on boxes as they are where that happens too often to pay.
#include <math.h>

#include "frame.h"

#define LEAST_REUSED 2u // frames that a search has to serve besides its own; it costs about a frame and a half
#define LEAST_WAIT 4u   // frames without margins after one that did not
#define MOST_WAIT 64u

static bool uses_margins(psv_backend backend, const psv_pair_finder_def *def) {
    const psvi_collision_ops *ops = psvi_collision_ops_of(backend);
    return def->margins && ops != NULL && ops->are_near != NULL;
}

static bool is_wide(const psvi_margin *margin) { return margin->all > 0 || margin->each != NULL; }

bool psvi_has_margins(const psv_pair_finder *finder, const psvi_frame *frame) {
    return uses_margins(finder->context->backend, &finder->def) &&
           (is_wide(&frame->a_margin) || is_wide(&frame->b_margin));
}

static uint64_t box_bytes(const psv_pair_finder_def *def) { return def->max_boxes * sizeof(psv_aabb); }
static uint64_t tag_bytes(const psv_pair_finder_def *def) { return def->max_boxes * sizeof(psvi_near_tag); }
static uint64_t placed_bytes(const psv_pair_finder_def *def) { return def->max_boxes * sizeof(psvi_placed_box); }
static uint64_t place_bytes(const psv_pair_finder_def *def) { return def->max_boxes * sizeof(uint32_t); }

uint64_t psvi_margin_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    return uses_margins(backend, def) ? psvi_align(box_bytes(def)) + psvi_align(tag_bytes(def)) +
                                            psvi_align(placed_bytes(def)) + psvi_align(place_bytes(def))
                                      : 0;
}

psv_status psvi_create_margins(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    psvi_near *near = &finder->margins.near;
    if (!uses_margins(context->backend, &finder->def)) return PSV_OK;
    near->boxes = psvi_alloc(context, box_bytes(&finder->def));
    near->tags = psvi_alloc(context, tag_bytes(&finder->def));
    near->placed = psvi_alloc(context, placed_bytes(&finder->def));
    near->places = psvi_alloc(context, place_bytes(&finder->def));
    if (near->boxes != NULL && near->tags != NULL && near->placed != NULL && near->places != NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for boxes with margins (%llu bytes)", context->ops->name,
                     (unsigned long long)psvi_margin_bytes(context->backend, &finder->def));
}

void psvi_destroy_margins(psv_pair_finder *finder) {
    psvi_near *near = &finder->margins.near;
    psvi_free(finder->context, near->boxes, box_bytes(&finder->def));
    psvi_free(finder->context, near->tags, tag_bytes(&finder->def));
    psvi_free(finder->context, near->placed, placed_bytes(&finder->def));
    psvi_free(finder->context, near->places, place_bytes(&finder->def));
    *near = (psvi_near){0};
}

// --- frames ----------------------------------------------------------------------------------------------------------

static bool has_tags(const psvi_box_view *view) {
    return view->flags != NULL || view->filters != NULL || view->worlds != NULL;
}

static bool is_tagged(const psvi_find_input *input) {
    return has_tags(&input->a) || (input->between && has_tags(&input->b));
}

// What is known is of these boxes, as far as the host sees it: of one set there may be fewer now.
static bool is_known(const psvi_margins *margins, const psvi_find_input *input) {
    if (!margins->valid || margins->between != input->between) return false;
    if (!input->between) return input->a.count <= margins->a_count;
    return input->a.count == margins->a_count && input->b.count == margins->b_count;
}

static psv_status clear_result(psv_pair_finder *finder) {
    psv_status status = psvi_begin_world_pairs(finder, NULL);
    return status == PSV_OK ? finder->context->ops->fill(finder->context, finder->result, 0, sizeof *finder->result)
                            : status;
}

static void test_again(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_context *context = finder->context;
    finder->last = finder->margins.searched;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    finder->ops->test_again(context, input, &finder->margins.near, finder->memory.near, finder->margins.pair_count);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
}

// Widens the boxes and finds their pairs. *found: there was room for them.
static psv_status search(psv_pair_finder *finder, const psvi_find_input *frame, bool *found) {
    psvi_margins *margins = &finder->margins;
    psvi_find_input input = *frame;
    margins->near.tagged = is_tagged(frame);
    psvi_phase_begin(finder->context, PSV_PHASE_BOUNDS);
    finder->ops->widen_boxes(finder->context, frame, &margins->near);
    psvi_phase_end(finder->context, PSV_PHASE_BOUNDS);
    for (int s = 0; s < (frame->between ? 2 : 1); ++s) {
        psvi_box_view *view = s == 0 ? &input.a : &input.b;
        view->min = (const char *)(margins->near.boxes + (s == 0 ? 0 : frame->a.count));
        view->max = view->min + sizeof margins->near.boxes->min;
        view->min_stride = view->max_stride = sizeof(psv_aabb);
    }
    // The list holds all pairs of widened boxes: each frame applies its own rules, of which partners are some.
    input.rules = NULL;
    input.partners = NULL;
    input.pairs = finder->memory.near;
    const psv_status status = psvi_run_method(finder, &input, NULL);
    if (status != PSV_OK) return status;
    margins->searched = finder->last;
    margins->pair_count = finder->result->pair_count;
    margins->a_count = frame->a.count;
    margins->b_count = frame->b.count;
    margins->between = frame->between;
    margins->reused = 0;
    margins->valid = *found = margins->pair_count <= finder->memory.capacity;
    finder->result->pair_count = 0;
    if (!*found) return PSV_OK;
    psvi_phase_begin(finder->context, PSV_PHASE_GATHER);
    margins->near.placed_pairs = finder->memory.placed;
    finder->ops->place_boxes(finder->context, frame, &margins->near, finder->memory.near, margins->pair_count);
    psvi_phase_end(finder->context, PSV_PHASE_GATHER);
    return PSV_OK;
}

// Whether to widen the boxes and search for their pairs, after the kept pairs became invalid.
static bool pays(psvi_margins *margins) {
    const bool broke = margins->valid;
    margins->valid = false;
    if (psvi_backoff_waits(&margins->backoff)) return false;
    if (broke && margins->reused < LEAST_REUSED) {
        psvi_backoff_failed(&margins->backoff, LEAST_WAIT, MOST_WAIT);
        return false;
    }
    if (broke) psvi_backoff_succeeded(&margins->backoff);
    return true;
}

psv_status psvi_find_with_margins(psv_pair_finder *finder, psvi_frame *frame) {
    psvi_find_input *input = &frame->input;
    psvi_margins *margins = &finder->margins;
    margins->near.a = frame->a_margin;
    margins->near.b = frame->b_margin;
    bool found = false;
    psv_status status = PSV_OK;
    if (is_known(margins, input)) {
        status = clear_result(finder);
        if (status != PSV_OK) return status;
        if (margins->near.tagged == is_tagged(input) && finder->ops->are_near(finder->context, input, &margins->near)) {
            margins->reused += margins->reused < UINT32_MAX;
            test_again(finder, input);
            return PSV_OK;
        }
    }
    if (!pays(margins)) return psvi_run_method(finder, input, NULL);
    status = search(finder, input, &found);
    if (status != PSV_OK) return status;
    if (!found) {
        psvi_backoff_failed(&margins->backoff, MOST_WAIT, MOST_WAIT);
        return psvi_run_method(finder, input, NULL);
    }
    test_again(finder, input);
    return PSV_OK;
}
