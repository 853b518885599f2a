// What a contact listener wants: pairs that begin and end. Slots keep their numbers while a body lives, so that a pair
// of this frame is the same as one of the frame before; empty slots are disabled.
#include <pairsieve/collision.h>
#include <stdio.h>

#define SLOTS 4u

static psv_aabb boxes[SLOTS];
static uint8_t flags[SLOTS] = {PSV_BOX_DISABLED, PSV_BOX_DISABLED, PSV_BOX_DISABLED, PSV_BOX_DISABLED};

static void place(uint32_t slot, float x) {
    flags[slot] = 0;
    for (int k = 0; k < 3; ++k) {
        boxes[slot].min[k] = k == 0 ? x : 0;
        boxes[slot].max[k] = boxes[slot].min[k] + 1;
    }
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = SLOTS;
    def.max_pairs = 100;
    def.events = true;
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    uint64_t begun = 0, ended = 0;
    place(0, 0);
    place(2, 4);
    for (int frame = 0; frame < 5; ++frame) {
        if (frame == 1) place(2, 0.5f);              // moves to the first
        if (frame == 2) place(1, 1.25f);             // comes in
        if (frame == 4) flags[0] = PSV_BOX_DISABLED; // goes
        psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, SLOTS);
        set.flags = psv_buffer_of(flags, sizeof flags);
        psv_pair begin[100], end[100];
        uint64_t begins = 0, ends = 0;
        // No pairs are read at all: a listener needs the changes only.
        if (psv_find_pairs(finder, &set) != PSV_OK ||
            psv_read_pair_events(finder, begin, 100, &begins, end, 100, &ends) != PSV_OK)
            return printf("%s\n", psv_last_error(context));
        for (uint64_t i = 0; i < begins; ++i)
            printf("frame %d: %u and %u begin\n", frame, begin[i].a, begin[i].b);
        for (uint64_t i = 0; i < ends; ++i)
            printf("frame %d: %u and %u end\n", frame, end[i].a, end[i].b);
        begun += begins;
        ended += ends;
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return begun == 2 && ended == 1 ? 0 : 1;
}
