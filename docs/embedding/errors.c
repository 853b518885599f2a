// What can go wrong, and how a program hears of it: nothing is lost, nothing is cut silently, and each sentence names
// the argument, the value and the limit.
#include <pairsieve/collision.h>
#include <stdio.h>

#define BOXES 30u

static psv_aabb boxes[BOXES]; // all in one place: 435 pairs
static psv_pair pairs[500];
static int unexpected;

static void expect(psv_status got, psv_status wanted, const psv_context *context) {
    printf("%s: %s\n", psv_status_name(got), got == PSV_OK ? "" : psv_last_error(context));
    unexpected += got != wanted;
}

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.worker_count = -1;
    expect(psv_create_context(&context_def, &context), PSV_ERROR_ARGUMENT, NULL); // no context yet: this thread's
    context_def.worker_count = 0;
    context_def.backend = PSV_BACKEND_CPU;
    expect(psv_create_context(&context_def, &context), PSV_OK, NULL);

    psv_pair_finder_def def = psv_default_pair_finder_def();
    psv_pair_finder *finder = NULL;
    def.max_boxes = BOXES;
    def.max_pairs = 100;
    def.method = "quadtree";
    expect(psv_create_pair_finder(context, &def, &finder), PSV_ERROR_UNSUPPORTED, context); // lists the methods
    def.method = "auto";
    expect(psv_create_pair_finder(context, &def, &finder), PSV_OK, context);

    // Too many pairs: the count is still exact, and the first 100 pairs are returned.
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, BOXES);
    uint64_t count = 0;
    expect(psv_find_pairs(finder, &set), PSV_ERROR_CAPACITY, context);
    expect(psv_read_pairs(finder, pairs, 500, &count), PSV_ERROR_CAPACITY, context);
    unexpected += count != 435;

    // A finder with room for so many; or def.grow_pairs, which does this by itself.
    psv_destroy_pair_finder(finder);
    def.max_pairs = count;
    expect(psv_create_pair_finder(context, &def, &finder), PSV_OK, context);
    expect(psv_find_pairs(finder, &set), PSV_OK, context);

    // Boxes that are none are left out and listed: a maximum below the minimum here, or a NaN.
    uint32_t bad[BOXES];
    uint64_t bad_count = 0;
    boxes[7].max[1] = -1;
    expect(psv_find_pairs(finder, &set), PSV_OK, context);
    expect(psv_read_bad_boxes(finder, bad, BOXES, &bad_count), PSV_OK, context);
    unexpected += bad_count != 1 || bad[0] != 7;

    set.count = BOXES + 1; // more than the memory behind it holds
    expect(psv_find_pairs(finder, &set), PSV_ERROR_ARGUMENT, context);
    psv_destroy_pair_finder(finder);
    psv_destroy_pair_finder(NULL); // allowed
    psv_destroy_context(context);
    return unexpected;
}
