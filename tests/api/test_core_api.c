// Misuse of pairsieve/core.h, each with its status and sentence, and what core promises otherwise.
#include <stdlib.h>

#include "../../core/portable/aligned_memory.h"
#include "expect.h"

static psv_context *open_cpu(void) {
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    psv_context *context = NULL;
    EXPECT_OK(psv_create_context(&def, &context), NULL);
    return context;
}

static void test_context_defs(void **state) {
    (void)state;
    psv_context *context = (psv_context *)state;
    psv_context_def def = {0};
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def", "psv_default_context_def");
    assert_null(context);
    EXPECT_FAILURE(psv_create_context(NULL, &context), PSV_ERROR_ARGUMENT, NULL, "def", "NULL");
    def = psv_default_context_def();
    EXPECT_FAILURE(psv_create_context(&def, NULL), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    def.backend = PSV_BACKEND_CPU;
    def.device = -1;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.device", "-1");
    def.device = 3;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.device", "3");
    def.device = 0;
    def.worker_count = -2;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.worker_count", "-2");
    def.worker_count = 1;
    def.borrow_stream = true;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.borrow_stream", "CPU");
    def.borrow_stream = false;
    def.backend = (psv_backend)77;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_UNSUPPORTED, NULL, "backend", "cpu");
    assert_null(context);
}

static void test_cuda_where_there_is_none(void **state) {
    (void)state;
    if (psv_backend_available(PSV_BACKEND_CUDA)) skip();
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    def.backend = PSV_BACKEND_CUDA;
    const psv_status status = psv_create_context(&def, &context);
    assert_true(status == PSV_ERROR_UNSUPPORTED || status == PSV_ERROR_DEVICE);
    assert_null(context);
    assert_true(strlen(psv_last_error(NULL)) > 10);
    // AUTO takes what there is.
    def.backend = PSV_BACKEND_AUTO;
    EXPECT_OK(psv_create_context(&def, &context), NULL);
    assert_int_equal(psv_context_backend(context), PSV_BACKEND_CPU);
    psv_destroy_context(context);
}

static void test_version(void **state) {
    (void)state;
    char name[32];
    (void)snprintf(name, sizeof name, "%d.%d.%d", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
    assert_string_equal(psv_version_name(), name);
    assert_int_equal(psv_version() / 10000, PSV_VERSION_MAJOR);
    assert_int_equal(psv_version() / 100 % 100, PSV_VERSION_MINOR);
    assert_int_equal(psv_version() % 100, PSV_VERSION_PATCH);
    assert_true(psv_version() == PSV_VERSION);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(psv_status_name(PSV_ERROR_CAPACITY), "PSV_ERROR_CAPACITY");
    assert_non_null(psv_status_name((psv_status)99));
    assert_string_equal(psv_backend_name(PSV_BACKEND_CUDA), "cuda");
    assert_non_null(psv_backend_name((psv_backend)99));
    assert_non_null(psv_phase_name((psv_phase)99));
    psv_backend backend = PSV_BACKEND_CPU;
    EXPECT_FAILURE(psv_parse_backend("gpu", &backend), PSV_ERROR_ARGUMENT, NULL, "gpu", "auto, cpu, cuda");
    EXPECT_FAILURE(psv_parse_backend(NULL, &backend), PSV_ERROR_ARGUMENT, NULL, "name", "NULL");
    EXPECT_FAILURE(psv_parse_backend("cpu", NULL), PSV_ERROR_ARGUMENT, NULL, "backend", "NULL");
    assert_int_equal(backend, PSV_BACKEND_CPU);
    for (int b = PSV_BACKEND_AUTO; b <= PSV_BACKEND_CUDA; ++b) {
        EXPECT_OK(psv_parse_backend(psv_backend_name((psv_backend)b), &backend), NULL);
        assert_int_equal(backend, b);
    }
}

static void test_buffers(void **state) {
    (void)state;
    psv_context *context = open_cpu();
    psv_buffer buffer;
    char bytes[16] = "0123456789abcde";
    EXPECT_FAILURE(psv_alloc_buffer(NULL, 16, &buffer), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_alloc_buffer(context, 16, NULL), PSV_ERROR_ARGUMENT, context, "buffer", "NULL");
    EXPECT_FAILURE(psv_alloc_buffer(context, UINT64_MAX / 4, &buffer), PSV_ERROR_MEMORY, context, "buffer",
                   "4611686018427387903");
    assert_null(buffer.address);
    EXPECT_OK(psv_alloc_buffer(context, 0, &buffer), context);
    assert_null(buffer.address);
    EXPECT_OK(psv_alloc_buffer(context, 16, &buffer), context);
    assert_int_equal((uintptr_t)buffer.address % 256, 0);
    EXPECT_FAILURE(psv_upload(context, buffer, bytes, 17), PSV_ERROR_CAPACITY, context, "16", "17");
    EXPECT_FAILURE(psv_download(context, bytes, buffer, 17), PSV_ERROR_CAPACITY, context, "16", "17");
    EXPECT_FAILURE(psv_upload(context, buffer, NULL, 4), PSV_ERROR_ARGUMENT, context, "source", "NULL");
    EXPECT_FAILURE(psv_download(context, NULL, buffer, 4), PSV_ERROR_ARGUMENT, context, "target", "NULL");
    EXPECT_FAILURE(psv_upload(NULL, buffer, bytes, 4), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_upload(context, (psv_buffer){.gl_name = 3, .bytes = 64}, bytes, 4), PSV_ERROR_UNSUPPORTED,
                   context, "OpenGL or Vulkan", "cpu");
    EXPECT_OK(psv_upload(context, buffer, NULL, 0), context);
    EXPECT_OK(psv_upload(context, buffer, bytes, 16), context);
    char back[8] = "";
    EXPECT_OK(psv_download(context, back, psv_sub_buffer(buffer, 8, 8), 8), context);
    assert_memory_equal(back, bytes + 8, 8);
    assert_int_equal(psv_sub_buffer(buffer, 8, 9).bytes, 0);
    assert_int_equal(psv_sub_buffer(buffer, UINT64_MAX, 2).bytes, 0);
    assert_int_equal(psv_buffer_of(NULL, 100).bytes, 0);
    psv_free_buffer(context, &buffer);
    assert_null(buffer.address);
    psv_free_buffer(context, &buffer);
    psv_free_buffer(context, NULL);
    psv_free_buffer(NULL, &buffer);
    psv_destroy_context(context);
}

// An allocator that counts, and fails when told so.
typedef struct counting_pool {
    uint64_t live_bytes;
    int calls;
    bool fail;
} counting_pool;

static void *pool_allocate(uint64_t bytes, void *user) {
    counting_pool *pool = user;
    pool->calls++;
    if (pool->fail) return NULL;
    pool->live_bytes += bytes;
    return psvi_alloc_aligned(256, (bytes + 255) / 256 * 256);
}

static void pool_release(void *address, uint64_t bytes, void *user) {
    ((counting_pool *)user)->live_bytes -= bytes;
    psvi_free_aligned(address);
}

static void test_allocator(void **state) {
    (void)state;
    counting_pool pool = {0};
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.allocator.allocate = pool_allocate;
    psv_context *context = NULL;
    EXPECT_FAILURE(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT, NULL, "def.allocator", "both");
    def.allocator = (psv_allocator){pool_allocate, pool_release, &pool};
    EXPECT_OK(psv_create_context(&def, &context), NULL);
    psv_buffer buffer;
    EXPECT_OK(psv_alloc_buffer(context, 1000, &buffer), context);
    assert_int_equal(pool.live_bytes, 1000);
    psv_free_buffer(context, &buffer);
    assert_int_equal(pool.live_bytes, 0);
    pool.fail = true;
    EXPECT_FAILURE(psv_alloc_buffer(context, 1000, &buffer), PSV_ERROR_MEMORY, context, "buffer", "1000");
    psv_destroy_context(context);
}

static void test_null_contexts(void **state) {
    (void)state;
    psv_destroy_context(NULL);
    EXPECT_FAILURE(psv_synchronize(NULL), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    EXPECT_FAILURE(psv_enable_profile(NULL, true), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    psv_profile profile;
    EXPECT_FAILURE(psv_read_profile(NULL, &profile), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    uint64_t bytes;
    EXPECT_FAILURE(psv_memory_info(NULL, &bytes, &bytes), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
    assert_int_equal(psv_context_worker_count(NULL), 0);
    assert_string_equal(psv_context_device_name(NULL), "");
    assert_int_equal(psv_context_device_info(NULL).capability, 0);
    assert_null(psv_context_stream(NULL));
    EXPECT_FAILURE(psv_set_stream(NULL, NULL), PSV_ERROR_ARGUMENT, NULL, "context", "NULL");
}

static void test_context_facts(void **state) {
    (void)state;
    psv_context *context = open_cpu();
    assert_string_equal(psv_last_error(context), "");
    assert_true(psv_context_worker_count(context) >= 1);
    assert_true(strlen(psv_context_device_name(context)) > 0);
    uint64_t free_bytes = 0, total_bytes = 0;
    EXPECT_OK(psv_memory_info(context, &free_bytes, &total_bytes), context);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    EXPECT_FAILURE(psv_memory_info(context, NULL, &total_bytes), PSV_ERROR_ARGUMENT, context, "free_bytes", "NULL");
    EXPECT_FAILURE(psv_read_profile(context, NULL), PSV_ERROR_ARGUMENT, context, "profile", "NULL");
    EXPECT_FAILURE(psv_set_stream(context, NULL), PSV_ERROR_UNSUPPORTED, context, "cpu", "no streams");
    EXPECT_OK(psv_synchronize(context), context);
    psv_profile profile;
    EXPECT_OK(psv_read_profile(context, &profile), context); // off: empty
    assert_int_equal(profile.frame, 0);
    uint32_t cursor = 0;
    assert_false(psv_profile_next(&profile, &cursor, NULL, NULL));
    assert_false(psv_profile_next(NULL, &cursor, NULL, NULL));
    psv_destroy_context(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_defs),  cmocka_unit_test(test_cuda_where_there_is_none),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_allocator),     cmocka_unit_test(test_null_contexts),
        cmocka_unit_test(test_context_facts), cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests_name("core_api", tests, NULL, NULL);
}
