// Candidates of a cloth step: edges near edges and vertices near faces, from the positions at two times.
// Runs on a GPU where there is one, else on the CPU. Exit code 0 when the pairs are those that the picture shows.
#include <stdio.h>
#include <stdlib.h>

#include <pairsieve/element_pairs.h>

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
    // A triangle that lies, and one that falls on it by 2 within the step.
    const double before[18] = {0, 0, 0, 4, 0, 0, 0, 4, 0, 1, 1, 1.5, 2, 1, 2.5, 1, 2, 2.5};
    double after[18];
    for (int i = 0; i < 18; ++i)
        after[i] = before[i] - (i >= 9 && i % 3 == 2 ? 2 : 0);
    const uint32_t faces[6] = {0, 1, 2, 3, 4, 5}, edges[12] = {0, 1, 1, 2, 2, 0, 3, 4, 4, 5, 5, 3};

    const psv_context_def context_def = psv_default_context_def();
    check(psv_create_context(&context_def, &context));
    psv_element_finder *finder;
    psv_element_finder_def def = psv_default_element_finder_def();
    def.max_vertices = def.max_edges = 6;
    def.max_faces = 2;
    def.max_pairs[PSV_EDGE_EDGE] = 64; // room for pairs that share a vertex too
    def.max_pairs[PSV_VERTEX_FACE] = 64;
    def.rows = true;
    check(psv_create_element_finder(context, &def, &finder));

    // The elements once, or when the mesh is cut; positions every step.
    psv_elements elements = {.vertices = 6,
                             .edges = 6,
                             .faces = 2,
                             .edge_vertices = put(edges, sizeof edges),
                             .face_vertices = put(faces, sizeof faces)};
    psv_element_positions positions = {
        .start = put(before, sizeof before), .end = put(after, sizeof after), .doubles = true, .radius = 0.01};
    check(psv_set_elements(finder, &elements));
    check(psv_find_element_pairs(finder, &positions));

    psv_pair pairs[64];
    uint64_t count;
    check(psv_read_element_pairs(finder, PSV_VERTEX_FACE, pairs, 64, &count));
    for (uint64_t i = 0; i < count; ++i)
        printf("vertex %u may meet face %u\n", pairs[i].a, pairs[i].b);
    const uint64_t vertex_faces = count;
    check(psv_read_element_pairs(finder, PSV_EDGE_EDGE, pairs, 64, &count));
    for (uint64_t i = 0; i < count; ++i)
        printf("edge %u may meet edge %u\n", pairs[i].a, pairs[i].b);
    psv_destroy_element_finder(finder);
    psv_buffer *buffers[] = {&elements.edge_vertices, &elements.face_vertices, &positions.start, &positions.end};
    for (int i = 0; i < 4; ++i)
        psv_free_buffer(context, buffers[i]);
    psv_destroy_context(context);
    return vertex_faces == 1 && count == 2 ? 0 : 1; // corner 3 and the two edges that meet there
}
