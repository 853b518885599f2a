// The program's own memory: the size of a finder is known before it is made, all memory comes from the program's
// allocator, and a frame takes no more.
#include <inttypes.h>
#include <pairsieve/collision.h>
#include <stdalign.h>
#include <stdio.h>

#define BOXES 2000u

// An arena: an object's memory is given back with the arena.
alignas(256) static unsigned char arena[4 << 20];
static uint64_t arena_used, blocks_held;

static void *take(uint64_t bytes, void *user) {
    const uint64_t begin = (arena_used + 255) / 256 * 256; // addresses are multiples of 256
    (void)user;
    if (begin + bytes > sizeof arena) return NULL; // the call that wanted it gives PSV_ERROR_MEMORY
    arena_used = begin + bytes;
    ++blocks_held;
    return &arena[begin];
}

static void give(void *address, uint64_t bytes, void *user) {
    (void)address, (void)bytes, (void)user;
    if (--blocks_held == 0) arena_used = 0;
}

static psv_aabb boxes[BOXES];

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    context_def.allocator.allocate = take;
    context_def.allocator.release = give;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = BOXES;
    def.max_pairs = BOXES;
    const uint64_t wanted = psv_pair_finder_bytes(PSV_BACKEND_CPU, &def); // needs no context
    psv_pair_finder *finder = NULL;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return printf("%s\n", psv_last_error(context));

    // A chain: each box touches the next.
    float at = 0;
    for (uint32_t i = 0; i < BOXES; ++i, ++at)
        for (int k = 0; k < 3; ++k) {
            boxes[i].min[k] = at;
            boxes[i].max[k] = at + 1;
        }
    const psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof *boxes, BOXES);
    const uint64_t before = arena_used;
    for (int frame = 0; frame < 10; ++frame)
        if (psv_find_pairs(finder, &set) != PSV_OK) return printf("%s\n", psv_last_error(context));
    const bool quiet = arena_used == before;
    printf("%" PRIu64 " bytes foreseen, %" PRIu64 " taken, %s in ten frames\n", wanted, before,
           quiet ? "none" : "more");
    // Results may be read in place. On the CPU a buffer's address is a host address.
    uint64_t count = 0;
    if (psv_finish_pairs(finder, &count) != PSV_OK) return printf("%s\n", psv_last_error(context));
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    return quiet && blocks_held == 0 && before <= wanted && count == BOXES - 1 ? 0 : 1;
}
