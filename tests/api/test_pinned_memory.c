// psv_context_def.pinned_allocator: all page-locked memory of sorters, finders and worlds comes from it and goes back.
// The linker counts the library's calls of cudaHostAlloc (--wrap).
#include <cuda_runtime_api.h>

#include "expect.h"

#include <pairsieve/collision.h>
#include <pairsieve/sim.h>
#include <pairsieve/sort.h>

static uint64_t asked, held, direct;
static bool own_call, refuse;

cudaError_t __real_cudaHostAlloc(void **host, size_t bytes, unsigned int flags);
cudaError_t __wrap_cudaHostAlloc(void **host, size_t bytes, unsigned int flags);
cudaError_t __wrap_cudaHostAlloc(void **host, size_t bytes, unsigned int flags) {
    direct += !own_call;
    return __real_cudaHostAlloc(host, bytes, flags);
}

static void *allocate(uint64_t bytes, void *user) {
    void *host = NULL;
    assert_ptr_equal(user, &held);
    if (refuse) return NULL;
    own_call = true;
    const cudaError_t error = cudaHostAlloc(&host, bytes, cudaHostAllocMapped);
    own_call = false;
    assert_int_equal(error, cudaSuccess);
    ++asked;
    held += bytes;
    return host;
}

static void release(void *address, uint64_t bytes, void *user) {
    assert_ptr_equal(user, &held);
    held -= bytes;
    assert_int_equal(cudaFreeHost(address), cudaSuccess);
}

static void test_all_pinned_memory(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = PSV_BACKEND_CUDA;
    def.pinned_allocator = (psv_allocator){allocate, NULL, &held};
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.pinned_allocator", "both");
    def.pinned_allocator.release = release;
    EXPECT_OK(psv_create_context(&def, &context), NULL);

    psv_sorter_def sorter_def = psv_default_sorter_def();
    sorter_def.max_count = 1000000;
    psv_sorter *sorter = NULL;
    EXPECT_OK(psv_create_sorter(context, &sorter_def, &sorter), context);
    psv_pair_finder_def finder_def = psv_default_pair_finder_def();
    finder_def.method = "rows";
    finder_def.max_boxes = 1000000;
    finder_def.max_pairs = 1000000;
    psv_pair_finder *finder = NULL;
    EXPECT_OK(psv_create_pair_finder(context, &finder_def, &finder), context);
    psv_scene_options options = psv_default_scene_options();
    psv_scene *scene = NULL;
    options.bodies = 500;
    EXPECT_OK(psv_load_scene(context, "drop", &options, &scene), context);
    for (int frame = 0; frame < 10; ++frame)
        EXPECT_OK(psv_scene_step(scene), context);
    EXPECT_OK(psv_synchronize(context), context);
    assert_true(asked >= 2); // a world; a sorter and bins where the device has them
    assert_true(held > 0);
    psv_destroy_scene(scene);
    psv_destroy_pair_finder(finder);
    psv_destroy_sorter(sorter);
    assert_int_equal(held, 0);
    refuse = true;
    EXPECT_FAILURE(psv_load_scene(context, "drop", &options, &scene), PSV_ERROR_MEMORY, context, "page-locked",
                   "bytes");
    assert_int_equal(held, 0);
    assert_int_equal(direct, 0);
    psv_destroy_context(context);
}

int main(void) {
    if (!psv_backend_available(PSV_BACKEND_CUDA)) {
        printf("no CUDA device\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_pinned_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
