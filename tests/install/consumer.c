// A program that knows only the installed package: every module is called once.
#include <stdio.h>

#include <pairsieve/collision.h>
#include <pairsieve/sim.h>
#include <pairsieve/sort.h>

int main(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    psv_context *context;
    if (psv_create_context(&def, &context) != PSV_OK) {
        (void)fprintf(stderr, "%s\n", psv_last_error(NULL));
        return 1;
    }
    // Three unit boxes in a row; the first two touch.
    psv_aabb boxes[3] = {{{0, 0, 0}, {1, 1, 1}}, {{1, 0, 0}, {2, 1, 1}}, {{5, 0, 0}, {6, 1, 1}}};
    psv_pair_finder_def finder_def = psv_default_pair_finder_def();
    finder_def.max_boxes = 3;
    finder_def.max_pairs = 3;
    psv_pair_finder *finder = NULL;
    psv_pair pair = {0, 0};
    uint64_t count = 0;
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), sizeof boxes[0], 3);
    psv_status status = psv_create_pair_finder(context, &finder_def, &finder);
    if (status == PSV_OK) status = psv_find_pairs(finder, &set);
    if (status == PSV_OK) status = psv_read_pairs(finder, &pair, 1, &count);

    uint32_t keys[4] = {3, 1, 2, 0}, values[4] = {0, 1, 2, 3};
    psv_sorter_def sorter_def = psv_default_sorter_def();
    sorter_def.max_count = 4;
    psv_sorter *sorter = NULL;
    if (status == PSV_OK) status = psv_create_sorter(context, &sorter_def, &sorter);
    if (status == PSV_OK)
        status = psv_sort_pairs(sorter, psv_buffer_of(keys, sizeof keys), psv_buffer_of(values, sizeof values), 4);

    psv_mesh mesh;
    bool refused = psv_load_mesh(context, "no_such_file.ply", &mesh) == PSV_ERROR_FILE;
    if (status != PSV_OK) (void)fprintf(stderr, "%s\n", psv_last_error(context));
    bool good =
        status == PSV_OK && count == 1 && pair.a == 0 && pair.b == 1 && keys[0] == 0 && values[0] == 3 && refused;
    psv_destroy_sorter(sorter);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    printf("%s\n", good ? "the installed package works" : "the installed package gave a wrong result");
    return good ? 0 : 1;
}
