// Sorts many lists of one array, each on its own: the nearest lights of every tile of a picture.
// Runs on a GPU where there is one, else on the CPU. Exit code 0 when every list is in order.
#include <stdio.h>
#include <stdlib.h>

#include <pairsieve/segment_sort.h>

#define TILES 4
#define LIGHTS 9

static psv_context *context; // a backend with its memory and threads

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "%s: %s\n", psv_status_name(status), psv_last_error(context));
    exit(1);
}

static psv_buffer put(const void *contents, uint64_t bytes) {
    psv_buffer buffer;
    check(psv_alloc_buffer(context, bytes, &buffer));
    check(psv_upload(context, buffer, contents, bytes));
    return buffer;
}

int main(void) {
    // Tile t has the lights from offsets[t] to offsets[t + 1]; tile 1 has none.
    const uint32_t offsets[TILES + 1] = {0, 4, 4, 5, LIGHTS};
    float distances[LIGHTS] = {7, 2, 5, 2, 3, 9, 1, 8, 4};
    uint32_t lights[LIGHTS] = {10, 11, 12, 13, 20, 30, 31, 32, 33};

    const psv_context_def context_def = psv_default_context_def();
    check(psv_create_context(&context_def, &context));
    psv_segment_sorter *sorter;
    psv_segment_sorter_def def = psv_default_segment_sorter_def();
    def.key_type = PSV_KEY_F32;
    def.max_count = LIGHTS;
    def.max_segments = TILES;
    check(psv_create_segment_sorter(context, &def, &sorter));

    psv_buffer keys = put(distances, sizeof distances), values = put(lights, sizeof lights);
    psv_segments segments = {.offsets = put(offsets, sizeof offsets), .count = TILES};
    check(psv_sort_segments(sorter, keys, values, LIGHTS, &segments)); // every frame: takes no memory, does not wait
    check(psv_read_segments_status(sorter));                           // waits; only to know that the offsets were good
    check(psv_download(context, distances, keys, sizeof distances));
    check(psv_download(context, lights, values, sizeof lights));

    int descents = 0;
    for (int tile = 0; tile < TILES; ++tile) {
        printf("tile %d:", tile);
        for (uint32_t i = offsets[tile]; i < offsets[tile + 1]; ++i) {
            printf(" light %u at %g", lights[i], (double)distances[i]);
            descents += i > offsets[tile] && distances[i - 1] > distances[i];
        }
        printf("\n");
    }
    psv_destroy_segment_sorter(sorter);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_free_buffer(context, &segments.offsets);
    psv_destroy_context(context);
    return descents == 0 ? 0 : 1;
}
