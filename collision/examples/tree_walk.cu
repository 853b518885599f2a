// How many triangles lie around each point? A kernel of its own over a tree: the nearest triangle, and how many are
// within a distance of it. Build with nvcc and pairsieve::collision.
#include <pairsieve/tree.cuh>

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

struct answer {
    float distance;
    uint32_t nearest, around;
};

__global__ void look_around(const psv_tree_view view, const float3 *points, int count, answer *answers) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float point[3] = {points[i].x, points[i].y, points[i].z};
    answer own = {INFINITY, PSV_NO_ITEM, 0};
    // A shrinking distance: items that cannot be nearer are skipped.
    psv_walk_near(view, point, INFINITY, 0, [&](const psv_closest_point &at, float &most) {
        if (at.distance < own.distance || (at.distance == own.distance && at.item < own.nearest)) {
            own.distance = most = at.distance;
            own.nearest = at.item;
        }
        return PSV_WALK_ON;
    });
    psv_walk_near(view, point, own.distance + 0.5f, 0, [&](const psv_closest_point &, float &) {
        ++own.around;
        return own.around < 100 ? PSV_WALK_ON : PSV_WALK_STOP;
    });
    answers[i] = own;
}

static psv_context *context;

static void check(psv_status status) {
    if (status == PSV_OK) return;
    fprintf(stderr, "%s\n", psv_last_error(context));
    exit(1);
}

template <class T> static psv_buffer upload(const std::vector<T> &from) {
    psv_buffer buffer;
    check(psv_alloc_buffer(context, from.size() * sizeof(T), &buffer));
    check(psv_upload(context, buffer, from.data(), from.size() * sizeof(T)));
    return buffer;
}

int main() {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CUDA;
    if (psv_create_context(&def, &context) != PSV_OK) return 77; // no GPU
    std::vector<float3> corners, points;
    for (int i = 0; i < 30000; ++i) // strips of triangles over hills
        corners.push_back(make_float3(0.01f * (i / 3 % 100), sinf(0.01f * i), 0.01f * (i / 300) + 0.02f * (i % 3)));
    for (int i = 0; i < 1000; ++i)
        points.push_back(make_float3(0.001f * i, 1.5f, 0.5f));
    psv_buffer vertices = upload(corners), queries = upload(points), target = upload(std::vector<answer>(1000));
    psv_tree_def tree_def = psv_default_tree_def();
    tree_def.max_items = corners.size() / 3;
    tree_def.triangles = true;
    psv_tree *tree;
    psv_tree_view view;
    psv_triangle_set set = psv_triangles_of(vertices, corners.size(), psv_buffer(), corners.size() / 3);
    check(psv_create_tree(context, &tree_def, &tree));
    check(psv_build_triangle_tree(tree, &set));
    check(psv_view_tree(tree, &view));
    look_around<<<8, 128, 0, (cudaStream_t)psv_context_stream(context)>>>(view, (const float3 *)queries.address, 1000,
                                                                          (answer *)target.address);
    std::vector<answer> answers(1000);
    check(psv_download(context, answers.data(), target, answers.size() * sizeof(answer)));
    printf("nearest to the first point: triangle %u at %.4f, %u around it\n", answers[0].nearest, answers[0].distance,
           answers[0].around);
    return answers[0].nearest != PSV_NO_ITEM && answers[0].around > 0 ? 0 : 1;
}
