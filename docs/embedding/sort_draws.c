// The sorters alone: draw calls sorted by material and, within one, from front to back. The key holds both; the values
// are the numbers of the calls. Equal keys keep their order.
#include <pairsieve/sort.h>
#include <stdio.h>
#include <string.h>

#define CALLS 1000u

typedef struct draw_call {
    uint32_t material;
    float depth; // >= 0
} draw_call;

static draw_call calls[CALLS], ordered[CALLS];
static uint64_t keys[CALLS];
static uint32_t order[CALLS];

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter = NULL;
    def.key_type = PSV_KEY_U64;
    def.end_bit = 40; // 32 of depth, 8 of material: fewer bits, fewer passes
    def.max_count = CALLS;
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) return printf("%s\n", psv_last_error(context));

    float depth_of_call = 0;
    for (uint32_t i = 0; i < CALLS; ++i) {
        calls[i].material = i * 7 % 100;
        calls[i].depth = depth_of_call = depth_of_call < 96 ? depth_of_call + 1 : 0;
        uint32_t depth; // the bits of numbers that are not negative are in their order
        memcpy(&depth, &calls[i].depth, sizeof depth);
        keys[i] = calls[i].material * 4294967296u + depth;
    }
    const psv_buffer index = psv_buffer_of(order, sizeof order);
    if (psv_sort_index(sorter, psv_buffer_of(keys, sizeof keys), index, CALLS, PSV_INDEX_KEYS_SORTED) != PSV_OK ||
        psv_gather_records(context, psv_buffer_of(calls, sizeof calls), psv_buffer_of(ordered, sizeof ordered),
                           sizeof *calls, index, CALLS) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    uint32_t changes = 0, wrong = 0;
    for (uint32_t i = 1; i < CALLS; ++i) {
        const draw_call *a = &ordered[i - 1], *b = &ordered[i];
        changes += a->material != b->material;
        wrong += a->material > b->material || (a->material == b->material && a->depth > b->depth);
    }
    printf("%u changes of material, %u calls out of order\n", changes, wrong);
    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
    return changes == 99 && wrong == 0 ? 0 : 1;
}
