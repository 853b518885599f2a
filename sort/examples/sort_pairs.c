// Sorts keys with their values, then a few records by a permutation: all that a program needs of pairsieve::sort.
// Runs on a GPU where there is one, else on the CPU. Exit code 0 when the result is in order.
#include <stdio.h>

#include <pairsieve/sort.h>

#define COUNT 8

typedef struct body {
    float depth;
    char name[12];
} body;

static int fail(const char *what, const char *why) {
    fprintf(stderr, "sort_pairs: %s: %s\n", what, why);
    return 1;
}

int main(void) {
    const float depths[COUNT] = {3.5f, -1.0f, 2.25f, 0.0f, 3.5f, 9.0f, -4.0f, 0.5f};
    body bodies[COUNT], ordered[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        bodies[i].depth = depths[i];
        (void)snprintf(bodies[i].name, sizeof bodies[i].name, "body %d", i);
    }

    psv_context *context;
    const psv_context_def context_def = psv_default_context_def();
    if (psv_create_context(&context_def, &context) != PSV_OK) return fail("context", psv_last_error(NULL));

    psv_sorter *sorter;
    psv_sorter_def def = psv_default_sorter_def();
    def.key_type = PSV_KEY_F32;
    def.max_count = COUNT;
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) return fail("sorter", psv_last_error(context));

    // Memory of the context's backend: device memory on CUDA. A program with its own memory uses psv_buffer_of.
    psv_buffer keys, index, source, target;
    (void)psv_alloc_buffer(context, sizeof depths, &keys);
    (void)psv_alloc_buffer(context, COUNT * sizeof(uint32_t), &index);
    (void)psv_alloc_buffer(context, sizeof bodies, &source);
    if (psv_alloc_buffer(context, sizeof ordered, &target) != PSV_OK) return fail("memory", psv_last_error(context));
    (void)psv_upload(context, keys, depths, sizeof depths);
    (void)psv_upload(context, source, bodies, sizeof bodies);

    // Every frame: no allocation, no wait. The permutation that sorts the depths, then the bodies by it.
    psv_status status = psv_sort_index(sorter, keys, index, COUNT, PSV_INDEX_KEYS_KEPT);
    if (status == PSV_OK) status = psv_gather_records(context, source, target, sizeof(body), index, COUNT);
    if (status == PSV_OK) status = psv_download(context, ordered, target, sizeof ordered); // waits
    if (status != PSV_OK) return fail("sort", psv_last_error(context));

    int descents = 0;
    for (int i = 0; i < COUNT; ++i) {
        printf("%6.2f  %s\n", (double)ordered[i].depth, ordered[i].name);
        descents += i > 0 && ordered[i - 1].depth > ordered[i].depth;
    }
    printf("%d bodies sorted by method %s on %s\n", COUNT, psv_sorter_method(sorter, COUNT),
           psv_context_device_name(context));

    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &index);
    psv_free_buffer(context, &source);
    psv_free_buffer(context, &target);
    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
    return descents == 0 ? 0 : 1;
}
