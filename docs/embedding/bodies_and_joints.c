// Bodies of several colliders, joints, and slots that are used again: boxes with ids and owners, and pairs that are
// never to be reported.
#include <pairsieve/collision.h>
#include <stdio.h>

#define BOXES 4u

// An upper arm of two boxes, a fore arm that is jointed to it, and a crate.
static psv_aabb boxes[BOXES] = {
    {{0, 0, 0}, {2, 1, 1}}, {{1, 0, 0}, {3, 1, 1}}, {{2.5f, 0, 0}, {5, 1, 1}}, {{4, 0, 0}, {6, 1, 1}}};
static uint32_t owners[BOXES] = {7, 7, 8, PSV_NO_OWNER}; // numbers of bodies, the program's own
static uint32_t ids[BOXES] = {100, 101, 102, 103};       // never used twice
static psv_pair excluded[2] = {{100, 102}, {101, 102}};  // by id: the joint's two bodies

static psv_status run_frame(psv_pair_finder *finder, int frame) {
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, BOXES);
    set.owners = psv_buffer_of(owners, sizeof owners);
    set.ids = psv_buffer_of(ids, sizeof ids);
    psv_pair begin[10], end[10];
    uint64_t begins = 0, ends = 0;
    psv_status status = psv_find_pairs(finder, &set);
    if (status == PSV_OK) status = psv_read_pair_events(finder, begin, 10, &begins, end, 10, &ends);
    for (uint64_t i = 0; i < ends; ++i)
        printf("frame %d: %u and %u end\n", frame, end[i].a, end[i].b);
    for (uint64_t i = 0; i < begins; ++i)
        printf("frame %d: %u and %u begin\n", frame, begin[i].a, begin[i].b);
    // First the crate at the fore arm; then another crate in its slot; then, without the joint, the arm.
    const uint64_t wanted_begins = 1, wanted_ends = frame == 1 ? 1 : 0;
    return status == PSV_OK && (begins != wanted_begins || ends != wanted_ends) ? PSV_ERROR_INTERNAL : status;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = BOXES;
    def.max_pairs = 10;
    def.ids = true;
    def.events = true;
    def.max_excluded = 2;
    psv_pair_finder *finder = NULL;
    psv_pair_rules rules = psv_default_pair_rules();
    rules.excluded = psv_buffer_of(excluded, sizeof excluded);
    rules.excluded_count = 2;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK || psv_set_pair_rules(finder, &rules) != PSV_OK ||
        run_frame(finder, 0) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    ids[3] = 104; // the crate broke, another one appears in the same place and slot: a new box
    if (run_frame(finder, 1) != PSV_OK) return printf("%s\n", psv_last_error(context));
    // The joint breaks. Of the two boxes of the upper arm one touches the fore arm.
    if (psv_set_pair_rules(finder, NULL) != PSV_OK || run_frame(finder, 2) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return 0;
}
