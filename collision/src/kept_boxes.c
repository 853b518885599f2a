// Kept boxes do not change from frame to frame: they are put into a tree once. A frame searches the tree with each of
// the other boxes. The tree is that of `lbvh`, in memory of its own, whatever the finder's method is.
//
// Between two sets the kept boxes are all of b. In one set, on a device, they have been paired with each other too: a
// frame runs its method over the other boxes and joins the results. On the CPU, boxes of one set are followed instead
// (movers.c).
#include "frame.h"

static const psvi_broad_phase *tree_method(psv_backend backend) {
    const psvi_broad_phase *method = psvi_find_broad_phase(backend, "lbvh");
    return method == NULL || method->query == NULL ? NULL : method;
}

// The tree has room of its own: for the kept boxes, or for all where movers.c uses it too.
static psv_pair_finder_def tree_def(psv_backend backend, const psv_pair_finder_def *def) {
    psv_pair_finder_def made = *def;
    if (!psvi_can_follow(backend, def)) made.max_boxes = def->max_kept;
    return made;
}

// Size of psvi_kept.moving_count and the words behind it.
#define COUNT_BYTES (2 * sizeof(uint64_t))

static uint32_t *ticket_of(const psvi_kept *kept) { return (uint32_t *)(kept->moving_count + 1); }
static uint32_t *there_of(const psvi_kept *kept) { return ticket_of(kept) + 1; }

bool psvi_keeps_boxes(psv_backend backend) { return tree_method(backend) != NULL; }

uint64_t psvi_kept_bytes(psv_backend backend, const psv_pair_finder_def *def) {
    const psvi_broad_phase *method = tree_method(backend);
    if (def->max_kept == 0 || method == NULL) return 0;
    const psv_pair_finder_def own = tree_def(backend, def);
    return psvi_align(method->scratch_bytes(&own)) + psvi_align(sizeof(psvi_frame_result)) +
           psvi_align(def->max_kept * sizeof(uint32_t)) + psvi_align(psvi_world_count_bytes(def)) +
           psvi_align(COUNT_BYTES);
}

psv_status psvi_create_kept(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psv_pair_finder_def def = finder->def;
    psvi_kept *kept = &finder->kept;
    const psvi_broad_phase *method = tree_method(context->backend);
    const uint64_t world_bytes = psvi_world_count_bytes(&def);
    kept->result = psvi_alloc(context, sizeof *kept->result);
    kept->bad_boxes = psvi_alloc(context, def.max_kept * sizeof *kept->bad_boxes);
    kept->moving_count = psvi_alloc(context, COUNT_BYTES);
    if (world_bytes > 0) kept->world_pairs = psvi_alloc(context, world_bytes);
    if (kept->result == NULL || kept->bad_boxes == NULL || kept->moving_count == NULL ||
        (world_bytes > 0 && kept->world_pairs == NULL))
        return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for kept boxes (%llu bytes)", context->ops->name,
                         (unsigned long long)psvi_kept_bytes(context->backend, &def));
    psv_status status = context->ops->fill(context, kept->moving_count, 0, COUNT_BYTES);
    if (status != PSV_OK) return status;
    kept->tree = (psvi_choice){.method = method, .def = tree_def(context->backend, &def), .lasting = true};
    return psvi_create_choice(context, NULL, &kept->tree);
}

void psvi_destroy_kept(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    const psv_pair_finder_def *def = &finder->def;
    psvi_kept *kept = &finder->kept;
    psvi_destroy_choice(&kept->tree);
    psvi_free(context, kept->result, sizeof *kept->result);
    psvi_free(context, kept->bad_boxes, def->max_kept * sizeof *kept->bad_boxes);
    psvi_free(context, kept->moving_count, COUNT_BYTES);
    psvi_free(context, kept->world_pairs, psvi_world_count_bytes(def));
    *kept = (psvi_kept){0};
}

// --- checks ----------------------------------------------------------------------------------------------------------

psv_status psvi_check_kept(psv_pair_finder *finder, const psv_box_set *a, const psv_box_set *b) {
    psv_context *context = finder->context;
    const psv_box_set *set = b == NULL ? a : b;
    const char *name = b == NULL ? "boxes" : "b";
    if (b != NULL && a->kept != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "a.kept is %llu; kept boxes of two sets are those of b",
                         (unsigned long long)a->kept);
    if (set->kept == 0) return PSV_OK;
    if (set->kept > set->count || (b != NULL && set->kept < set->count))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s.kept is %llu; %s.count is %llu", name,
                         (unsigned long long)set->kept, name, (unsigned long long)set->count);
    if (b != NULL && psvi_is_given(b->count_buffer))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "b.kept is %llu; b.count_buffer is not possible then",
                         (unsigned long long)b->kept);
    if (set->kept > finder->def.max_kept)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%s.kept is %llu; def.max_kept is %llu", name,
                         (unsigned long long)set->kept, (unsigned long long)finder->def.max_kept);
    return PSV_OK;
}

// --- frames ----------------------------------------------------------------------------------------------------------

// What the tree knows is of these boxes.
static bool is_current(const psvi_kept *kept, const psvi_frame *frame) {
    if (!kept->valid || kept->between != frame->given.between || kept->count != frame->kept ||
        kept->version != frame->kept_version)
        return false;
    for (int axis = 0; axis < 3; ++axis)
        if (kept->origin[axis] != frame->origin[axis]) return false;
    return true;
}

static void remember(psvi_kept *kept, const psvi_frame *frame) {
    kept->valid = true;
    if (++kept->serial == 0) kept->serial = 1;
    kept->between = frame->given.between;
    kept->count = frame->kept;
    kept->version = frame->kept_version;
    for (int axis = 0; axis < 3; ++axis)
        kept->origin[axis] = frame->origin[axis];
}

void psvi_check_kept_boxes(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_kept *kept = &finder->kept;
    if (!is_current(kept, frame)) kept->valid = false;
}

// The part [first, first + count) of a view.
static psvi_box_view part_of_view(psvi_box_view view, uint64_t first, uint64_t count) {
    view.min += first * view.min_stride;
    view.max += first * view.max_stride;
    view.flags = view.flags == NULL ? NULL : view.flags + first;
    view.filters = view.filters == NULL ? NULL : view.filters + first;
    view.worlds = view.worlds == NULL ? NULL : view.worlds + first;
    view.count = view.room = count;
    view.count_device = NULL;
    return view;
}

// Runs the tree's `build` or, for the pairs too, `find`.
static psv_status order_kept(psv_pair_finder *finder, const psvi_frame *frame) {
    psv_context *context = finder->context;
    psvi_kept *kept = &finder->kept;
    if (psvi_is_captured(context))
        return psvi_fail(
            context, PSV_ERROR_UNSUPPORTED,
            "the %llu kept boxes are not sorted yet; make one call with them before the stream is captured",
            (unsigned long long)frame->kept);
    psvi_find_input input = frame->input;
    psv_status status = psvi_leave_front(finder);
    if (status == PSV_OK) status = psvi_take_in_kept_changes(finder);
    input.between = false;
    input.a = part_of_view(frame->input.between ? frame->input.b : frame->input.a, 0, frame->kept);
    input.b = (psvi_box_view){0};
    input.result = kept->result;
    input.bad_boxes = kept->bad_boxes;
    input.pairs = finder->memory.kept;
    if (status == PSV_OK) status = context->ops->fill(context, kept->result, 0, sizeof *kept->result);
    if (status == PSV_OK && kept->world_pairs != NULL)
        status = context->ops->fill(context, kept->world_pairs, 0, psvi_world_count_bytes(&finder->def));
    if (status == PSV_OK && !frame->input.between) status = psvi_put_rules(finder, frame, PSVI_RULES_KEPT, &input);
    if (status != PSV_OK) return status;
    const psvi_broad_phase *method = kept->tree.method;
    status = frame->input.between ? method->build(&kept->tree, &input) : method->find(&kept->tree, &input);
    if (status == PSV_OK) remember(kept, frame);
    return status;
}

psv_status psvi_leave_front(psv_pair_finder *finder) {
    const psvi_kept *kept = &finder->kept;
    if (kept->moving_count == NULL) return PSV_OK;
    return finder->context->ops->fill(finder->context, there_of(kept), 0, sizeof(uint32_t));
}

// If no other stage changes the pairs, pairs of kept boxes remain in the pair buffer from frame to frame.
static bool stay_in_front(const psv_pair_finder *finder, const psvi_frame *frame) {
    return finder->memory.sorter == NULL && frame->a.ids == NULL;
}

// The boxes that are not kept, among themselves. Their places begin at 0, their pairs behind those of kept boxes.
static psv_status find_moving(psv_pair_finder *finder, const psvi_frame *frame) {
    psvi_kept *kept = &finder->kept;
    psvi_find_input input = frame->input;
    input.pairs_before = &kept->result->pair_count;
    const uint64_t count = frame->input.a.count > frame->kept ? frame->input.a.count - frame->kept : 0;
    psv_status status = PSV_OK;
    input.a = part_of_view(frame->input.a, frame->kept, count);
    if (frame->input.a.count_device != NULL) {
        status =
            finder->ops->subtract_count(finder->context, frame->input.a.count_device, frame->kept, kept->moving_count);
        input.a.count_device = kept->moving_count;
    }
    if (status == PSV_OK) status = psvi_put_rules(finder, frame, PSVI_RULES_MOVING, &input);
    return status == PSV_OK ? psvi_run_method(finder, &input, kept->world_pairs) : status;
}

static psv_status merge_results(psv_pair_finder *finder, const psvi_frame *frame) {
    const psvi_kept *kept = &finder->kept;
    const psvi_kept_merge merge = {
        .result = finder->result,
        .kept = kept->result,
        .pairs = finder->memory.pairs,
        .kept_pairs = frame->input.between ? NULL : finder->memory.kept,
        .there = there_of(kept),
        .stay = stay_in_front(finder, frame),
        .with_pairs = !frame->input.between,
        .capacity = finder->memory.capacity,
        .bad_boxes = finder->bad_boxes,
        .kept_bad = kept->bad_boxes,
        .shift = frame->input.between ? 0 : (uint32_t)frame->kept,
        .kept_shift = frame->input.between ? (uint32_t)frame->input.a.room : 0,
        .ticket = ticket_of(kept),
    };
    return finder->ops->merge_kept(finder->context, &merge);
}

static psv_status query_tree(psv_pair_finder *finder, const psvi_frame *frame) {
    const psvi_choice *tree = &finder->kept.tree;
    psvi_find_input input = frame->input;
    const psv_status status = psvi_put_rules(finder, frame, PSVI_RULES_ALL, &input);
    return status == PSV_OK ? tree->method->query(tree, &input, frame->input.between ? 0 : frame->kept) : status;
}

// The frame begins with nothing where no method runs.
static psv_status clear_frame(psv_pair_finder *finder) {
    psv_context *context = finder->context;
    finder->last = &finder->kept.tree;
    psv_status status = psvi_begin_world_pairs(finder, NULL);
    return status == PSV_OK ? context->ops->fill(context, finder->result, 0, sizeof *finder->result) : status;
}

psv_status psvi_find_with_kept(psv_pair_finder *finder, psvi_frame *frame) {
    const bool between = frame->given.between;
    psvi_kept *kept = &finder->kept;
    psv_status status = PSV_OK;
    if (between) status = psvi_leave_front(finder);
    if (status == PSV_OK && !kept->valid) status = order_kept(finder, frame);
    if (status == PSV_OK) status = between ? clear_frame(finder) : find_moving(finder, frame);
    if (status == PSV_OK) status = merge_results(finder, frame);
    if (status == PSV_OK) status = query_tree(finder, frame);
    if (status == PSV_OK && !between && stay_in_front(finder, frame) && finder->def.world_pairs == 0)
        kept->in_front = kept->serial;
    return status;
}
