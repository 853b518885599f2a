// The OpenGL backend on a context of its own and on the caller's: buffers by name, what is left behind, limits, errors.
// Skips where there is no OpenGL 4.5.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../cases/sort_inputs.h"
#include "../cases/sort_reference.h"
#include "../test_scale.h"
#include "core/gl/gl_backend.h"

static psv_context *own; // its OpenGL context stays current, and plays the caller's
static void *(*find)(const char *name);

static psv_context *open_context(void *(*load)(const char *name)) {
    psv_context_def def = psv_default_context_def();
    psv_context *context;
    def.backend = PSV_BACKEND_GL;
    def.gl_load = load;
    if (psv_create_context(&def, &context) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
    return context;
}

static int open_own(void **state) {
    (void)state;
    own = open_context(NULL);
    *(void **)&find = dlsym(psvi_gl_of(own)->own.egl, "eglGetProcAddress");
    return find == NULL;
}

static int close_own(void **state) {
    (void)state;
    psv_destroy_context(own);
    return 0;
}

// Sorts `count` keys with values and compares with the reference.
static void sort_and_compare(psv_context *context, const char *method, psv_key_type type, uint32_t count,
                             psv_buffer keys, psv_buffer values) {
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter;
    def.method = method;
    def.key_type = type;
    def.max_count = count;
    const uint32_t key_bytes = psv_key_type_bytes(type);
    char *host = malloc((size_t)count * key_bytes), *sorted = malloc((size_t)count * key_bytes);
    uint32_t *numbers = malloc((size_t)count * 4), *order = malloc((size_t)count * 4);
    make_keys(type, KEYS_UNIFORM, 18, count, host);
    for (uint32_t i = 0; i < count; ++i)
        numbers[i] = i;
    assert_int_equal(psv_upload(context, keys, host, (uint64_t)count * key_bytes), PSV_OK);
    assert_int_equal(psv_upload(context, values, numbers, (uint64_t)count * 4), PSV_OK);
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) fail_msg("%s", psv_last_error(context));
    if (psv_sort_pairs(sorter, keys, values, count) != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_int_equal(psv_download(context, sorted, keys, (uint64_t)count * key_bytes), PSV_OK);
    assert_int_equal(psv_download(context, numbers, values, (uint64_t)count * 4), PSV_OK);
    reference_order(&def, host, count, order);
    assert_memory_equal(numbers, order, (size_t)count * 4);
    for (uint32_t i = 0; i < count; ++i)
        assert_memory_equal(sorted + (size_t)i * key_bytes, host + (size_t)order[i] * key_bytes, key_bytes);
    psv_destroy_sorter(sorter);
    free(host);
    free(sorted);
    free(numbers);
    free(order);
}

// A small limit stands for a large sort: three parts, the last one not full, as with more elements than a block holds.
// The table of counts has to fit into a block: a megabyte.
static void test_parts(void **state) {
    (void)state;
    enum { COUNT = 700001 };
    psvi_gl *gl = psvi_gl_of(own);
    const uint64_t limit = gl->gpu.block_bytes;
    psv_buffer keys, values;
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &values), PSV_OK);
    gl->gpu.block_bytes = 1200 * 1024;
    sort_and_compare(own, "radix", PSV_KEY_F32, COUNT, keys, values);
    sort_and_compare(own, "radix", PSV_KEY_U64, COUNT / 2, keys, values);
    gl->gpu.block_bytes = limit;
    psv_free_buffer(own, &keys);
    psv_free_buffer(own, &values);
}

// Buffers large enough to have large pages keep what is written to them, and are given back: twenty gigabytes in turn
// leave as much free as before.
static void test_large_buffers(void **state) {
    (void)state;
    enum { WORDS = 9000001 };
    const uint64_t gigabyte = (uint64_t)1 << 30;
    uint64_t before = 0, after = 0, total;
    psv_buffer buffer;
    uint32_t *words = malloc((size_t)4 * WORDS), *back = malloc((size_t)4 * WORDS);
    for (uint32_t i = 0; i < WORDS; ++i)
        words[i] = i * 2654435761u;
    if (psv_alloc_buffer(own, (uint64_t)4 * WORDS, &buffer) != PSV_OK) fail_msg("%s", psv_last_error(own));
    assert_int_equal(psv_upload(own, buffer, words, (uint64_t)4 * WORDS), PSV_OK);
    assert_int_equal(psv_download(own, back, buffer, (uint64_t)4 * WORDS), PSV_OK);
    assert_memory_equal(back, words, (size_t)4 * WORDS);
    psv_free_buffer(own, &buffer);
    free(words);
    free(back);
    const int device = psvi_gl_of(own)->large_pages.device;
    print_message("large pages: %s\n", device >= 0 ? "yes" : "no");
    if (device < 0 || psv_memory_info(own, &before, &total) != PSV_OK) return;
    for (int i = 0; i < 20; ++i) {
        if (psv_alloc_buffer(own, gigabyte, &buffer) != PSV_OK) fail_msg("%s", psv_last_error(own));
        psv_free_buffer(own, &buffer);
    }
    assert_int_equal(psv_memory_info(own, &after, &total), PSV_OK);
    assert_true(after + 3 * gigabyte > before);
}

// A limit that a method's block does not fit into is an error that says so, and nothing is broken by it.
static void test_block_limit(void **state) {
    (void)state;
    psvi_gl *gl = psvi_gl_of(own);
    const uint64_t limit = gl->gpu.block_bytes;
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter;
    psv_buffer keys;
    def.method = "split";
    def.value_bytes = 0;
    def.max_count = 100000;
    assert_int_equal(psv_alloc_buffer(own, 4 * def.max_count, &keys), PSV_OK);
    assert_int_equal(psv_create_sorter(own, &def, &sorter), PSV_OK);
    gl->gpu.block_bytes = 100000;
    assert_int_equal(psv_sort_keys(sorter, keys, def.max_count), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(own), "limit is 100000"));
    gl->gpu.block_bytes = limit;
    if (psv_sort_keys(sorter, keys, def.max_count) != PSV_OK) fail_msg("%s", psv_last_error(own));
    psv_destroy_sorter(sorter);
    psv_free_buffer(own, &keys);
}

// --- the caller's context --------------------------------------------------------------------------------------------

static uint32_t messages;

static void APIENTRY note_message(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
                                  const GLchar *text, const void *user) {
    (void)source, (void)id, (void)length, (void)user;
    if (severity == GL_DEBUG_SEVERITY_NOTIFICATION || type == GL_DEBUG_TYPE_OTHER) return;
    ++messages;
    printf("OpenGL says: %s\n", text);
}

// Buffers of the caller by name, one of them immutable and closed to the host, at an offset of one word; the debug
// output stays silent and no error is left behind.
static void test_borrowed(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    PFNGLDEBUGMESSAGECALLBACKPROC callback = NULL;
    PFNGLENABLEPROC enable = NULL;
    *(void **)&callback = find("glDebugMessageCallback");
    *(void **)&enable = find("glEnable");
    enable(GL_DEBUG_OUTPUT);
    enable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
    callback(note_message, NULL);
    psv_context *context = open_context(find);
    const psvi_gl_functions *f = &psvi_gl_of(context)->f;
    GLuint names[2];
    f->CreateBuffers(2, names);
    f->NamedBufferStorage(names[0], 4 * (COUNT + 2), NULL, 0);
    f->NamedBufferStorage(names[1], 4 * (COUNT + 2), NULL, GL_DYNAMIC_STORAGE_BIT);
    for (uint32_t i = 0; psv_sort_method_name(PSV_BACKEND_GL, i) != NULL; ++i)
        sort_and_compare(context, psv_sort_method_name(PSV_BACKEND_GL, i), PSV_KEY_I32, COUNT,
                         psv_buffer_of_gl(names[0], 4, 4 * COUNT), psv_buffer_of_gl(names[1], 8, 4 * COUNT));
    assert_int_equal(f->GetError(), GL_NO_ERROR);
    psv_destroy_context(context);
    assert_true(psvi_gl_of(own)->f.IsBuffer(names[0]));
    psvi_gl_of(own)->f.DeleteBuffers(2, names);
    assert_int_equal(psvi_gl_of(own)->f.GetError(), GL_NO_ERROR);
    callback(NULL, NULL);
    assert_int_equal(messages, 0);
}

static void test_wrong_buffers(void **state) {
    (void)state;
    uint32_t host[4] = {3, 2, 1, 0};
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter;
    def.max_count = 4;
    def.value_bytes = 0;
    assert_int_equal(psv_create_sorter(own, &def, &sorter), PSV_OK);
    assert_int_equal(psv_sort_keys(sorter, psv_buffer_of(host, sizeof host), 4), PSV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(psv_last_error(own), "keys is an address"));
    assert_int_equal(psv_sort_keys(sorter, psv_buffer_of_gl(1u << 24, 0, 16), 4), PSV_ERROR_UNSUPPORTED);
    assert_int_equal(psv_sort_keys(sorter, psv_buffer_of_gl(12345, 0, 16), 4), PSV_ERROR_ARGUMENT);
    psv_buffer small;
    assert_int_equal(psv_alloc_buffer(own, 16, &small), PSV_OK);
    assert_int_equal(psv_sort_keys(sorter, psv_buffer_of_gl(small.gl_name, 8, 16), 4), PSV_ERROR_ARGUMENT);
    assert_non_null(strstr(psv_last_error(own), "not memory that the gl backend can read"));
    assert_int_equal(psv_sort_keys(sorter, psv_buffer_of_gl(small.gl_name, 2, 14), 3), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_upload(own, small, host, sizeof host), PSV_OK);
    assert_int_equal(psv_sort_keys(sorter, small, 4), PSV_OK);
    assert_int_equal(psv_download(own, host, small, sizeof host), PSV_OK);
    assert_int_equal(host[0] + 10 * host[1] + 100 * host[2] + 1000 * host[3], 3210);
    psv_free_buffer(own, &small);
    psv_destroy_sorter(sorter);
    assert_int_equal(psvi_gl_of(own)->f.GetError(), GL_NO_ERROR);
}

// --- drivers that lack something -------------------------------------------------------------------------------------

static PFNGLGETINTEGERVPROC real_get_integer;
static GLenum poor_in; // the number that this driver is poor in,
static GLint poor;     // and what it has
static bool context_lost;

static void APIENTRY poor_get_integer(GLenum name, GLint *value) {
    real_get_integer(name, value);
    if (name == poor_in) *value = poor;
}

static GLenum APIENTRY reset_status(void) { return context_lost ? GL_GUILTY_CONTEXT_RESET : GL_NO_ERROR; }

static void *find_poor(const char *name) {
    if (strcmp(name, "glGetIntegerv") != 0) return find(name);
    *(void **)&real_get_integer = find(name);
    void *mine;
    PFNGLGETINTEGERVPROC function = poor_get_integer;
    memcpy(&mine, &function, sizeof mine);
    return mine;
}

static void *find_lost(const char *name) {
    if (strcmp(name, "glGetGraphicsResetStatus") != 0) return find(name);
    void *mine;
    PFNGLGETGRAPHICSRESETSTATUSPROC function = reset_status;
    memcpy(&mine, &function, sizeof mine);
    return mine;
}

static void *find_most(const char *name) { return strcmp(name, "glDispatchCompute") == 0 ? NULL : find(name); }

static void test_lacking_drivers(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    psv_context *context;
    def.backend = PSV_BACKEND_GL;
    static const struct {
        GLenum name;
        GLint has;
        const char *sentence;
    } poors[] = {{GL_MINOR_VERSION, 3, "OpenGL 4.3"},
                 {GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS, 8, "has 8 storage blocks"},
                 {GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS, 256, "256 threads a group"}};
    def.gl_load = find_poor;
    for (size_t p = 0; p < sizeof poors / sizeof *poors; ++p) {
        poor_in = poors[p].name;
        poor = poors[p].has;
        assert_int_equal(psv_create_context(&def, &context), PSV_ERROR_UNSUPPORTED);
        assert_non_null(strstr(psv_last_error(NULL), poors[p].sentence));
    }
    def.gl_load = find_most;
    assert_int_equal(psv_create_context(&def, &context), PSV_ERROR_DEVICE);
    assert_non_null(strstr(psv_last_error(NULL), "glDispatchCompute was not found"));
    def.gl_load = find_lost;
    assert_int_equal(psv_create_context(&def, &context), PSV_OK);
    context_lost = true;
    assert_int_equal(psv_synchronize(context), PSV_ERROR_DEVICE);
    assert_non_null(strstr(psv_last_error(context), "lost"));
    context_lost = false;
    psv_destroy_context(context);
    def.gl_load = NULL;
    def.device = 63;
    assert_int_equal(psv_create_context(&def, &context), PSV_ERROR_DEVICE);
    def.device = 0;
    def.borrow_stream = true;
    assert_int_equal(psv_create_context(&def, &context), PSV_ERROR_ARGUMENT);
    psvi_gl_enter(own);
}

// Times of phases come from timestamp queries, a frame or two later.
static void test_profile(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    psv_buffer keys, values;
    psv_profile profile;
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(own, 4 * COUNT, &values), PSV_OK);
    assert_int_equal(psv_enable_profile(own, true), PSV_OK);
    for (int frame = 0; frame < 5; ++frame)
        sort_and_compare(own, "radix", PSV_KEY_U32, COUNT, keys, values);
    assert_int_equal(psv_wait_profile(own, &profile), PSV_OK);
    assert_int_equal(profile.frame, 5);
    assert_true(profile.phase_ms[PSV_PHASE_SORT] > 0 && profile.frame_ms >= profile.phase_ms[PSV_PHASE_SORT]);
    assert_int_equal(psv_enable_profile(own, false), PSV_OK);
    psv_free_buffer(own, &keys);
    psv_free_buffer(own, &values);
}

// Contexts side by side on one thread, each with its own OpenGL context; what one does is not seen by the other.
static void test_two_contexts(void **state) {
    (void)state;
    psv_context *both[2] = {own, open_context(NULL)};
    psv_buffer keys[2], values[2];
    for (int c = 0; c < 2; ++c) {
        assert_int_equal(psv_alloc_buffer(both[c], 4 * 700, &keys[c]), PSV_OK);
        assert_int_equal(psv_alloc_buffer(both[c], 4 * 700, &values[c]), PSV_OK);
    }
    for (int round = 0; round < 3; ++round)
        for (int c = 0; c < 2; ++c)
            sort_and_compare(both[c], "radix", PSV_KEY_U32, 700, keys[c], values[c]);
    for (int c = 0; c < 2; ++c) {
        psv_free_buffer(both[c], &keys[c]);
        psv_free_buffer(both[c], &values[c]);
    }
    psv_destroy_context(both[1]);
    psvi_gl_enter(own);
}

// --- program binaries ------------------------------------------------------------------------------------------------

static PFNGLCOMPILESHADERPROC real_compile;
static uint32_t compiled;

static void APIENTRY count_compile(GLuint shader) {
    ++compiled;
    real_compile(shader);
}

static void *find_counting(const char *name) {
    if (strcmp(name, "glCompileShader") != 0) return find(name);
    *(void **)&real_compile = find(name);
    void *mine;
    PFNGLCOMPILESHADERPROC function = count_compile;
    memcpy(&mine, &function, sizeof mine);
    return mine;
}

// Shaders that a new context compiles for one sort.
static uint32_t compiled_by_a_sort(void) {
    psv_context *context = open_context(find_counting);
    psv_buffer keys, values;
    compiled = 0;
    assert_int_equal(psv_alloc_buffer(context, 4 * 700, &keys), PSV_OK);
    assert_int_equal(psv_alloc_buffer(context, 4 * 700, &values), PSV_OK);
    sort_and_compare(context, "radix", PSV_KEY_U32, 700, keys, values);
    psv_free_buffer(context, &keys);
    psv_free_buffer(context, &values);
    psv_destroy_context(context);
    return compiled;
}

static void run_in(const char *folder, const char *command) {
    char line[256];
    (void)snprintf(line, sizeof line, "cd %s && %s", folder, command);
    assert_int_equal(system(line), 0);
}

// The second context compiles nothing, where the driver gives binaries away. A damaged file is as good as none and is
// written anew, and without a folder to write to everything is compiled.
static void test_program_cache(void **state) {
    (void)state;
    char folder[] = "/tmp/psv_gl_cache_XXXXXX", kept[512] = "";
    GLint formats = 0;
    psvi_gl_of(own)->f.GetIntegerv(GL_NUM_PROGRAM_BINARY_FORMATS, &formats);
    assert_non_null(mkdtemp(folder));
    const char *before = getenv("XDG_CACHE_HOME");
    if (before != NULL) (void)snprintf(kept, sizeof kept, "%.500s", before);
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    const uint32_t all = compiled_by_a_sort(), again = compiled_by_a_sort();
    assert_true(all > 0);
    assert_int_equal(again, formats > 0 ? 0 : all);
    if (formats > 0) run_in(folder, "for f in pairsieve/gl-*; do head -c 40 $f >$f.x && mv $f.x $f; done");
    assert_int_equal(compiled_by_a_sort(), all); // the header and nothing behind it
    assert_int_equal(compiled_by_a_sort(), again);
    if (formats > 0) run_in(folder, "for f in pairsieve/gl-*; do echo other | dd of=$f conv=notrunc 2>/dev/null; done");
    assert_int_equal(compiled_by_a_sort(), all); // not a file of ours
    assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
    assert_int_equal(compiled_by_a_sort(), all);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (before != NULL)
        (void)setenv("XDG_CACHE_HOME", kept, 1);
    else
        (void)unsetenv("XDG_CACHE_HOME");
    psvi_gl_enter(own);
}

int main(void) {
    if (!psv_backend_available(PSV_BACKEND_GL)) {
        printf("skipped: no OpenGL 4.5 without a window\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_large_buffers), cmocka_unit_test(test_block_limit),
        cmocka_unit_test(test_borrowed), cmocka_unit_test(test_wrong_buffers), cmocka_unit_test(test_lacking_drivers),
        cmocka_unit_test(test_profile),  cmocka_unit_test(test_two_contexts),  cmocka_unit_test(test_program_cache),
    };
    return cmocka_run_group_tests_name("gl", tests, open_own, close_own);
}
