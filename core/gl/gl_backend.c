// The OpenGL backend: buffer objects, compute shaders, timestamp queries, on the caller's current context or on one of
// its own.
#include "gl_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_FILLS 65536u // bytes from which on a kernel fills

// GL_KHR_shader_subgroup
#define SUBGROUP_SIZE 0x9532
#define SUBGROUP_STAGES 0x9533
#define SUBGROUP_FEATURES 0x9534
#define SUBGROUP_NEEDED (1 | 4 | 8 | 16) // basic, arithmetic, ballot, shuffle
#define STAGE_COMPUTE 0x20
// GL_NVX_gpu_memory_info, kilobytes
#define NVX_TOTAL_MEMORY 0x9048
#define NVX_FREE_MEMORY 0x9049

void psvi_gl_enter(psv_context *context) { psvi_gl_enter_own(&psvi_gl_of(context)->own); }

static const char *error_name(GLenum error) {
    switch (error) {
    case GL_INVALID_ENUM: return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE: return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION: return "GL_INVALID_OPERATION";
    case GL_OUT_OF_MEMORY: return "GL_OUT_OF_MEMORY";
    case GL_CONTEXT_LOST: return "GL_CONTEXT_LOST";
    default: return "an unknown error";
    }
}

psv_status psvi_gl_status(psv_context *context, const char *what) {
    psvi_gl *gl = psvi_gl_of(context);
    GLenum first = gl->f.GetError();
    if (first == GL_NO_ERROR) return PSV_OK;
    for (int more = 0; more < 16 && gl->f.GetError() != GL_NO_ERROR; ++more)
        ;
    return psvi_fail(context, first == GL_OUT_OF_MEMORY ? PSV_ERROR_MEMORY : PSV_ERROR_DEVICE, "%s: %s", what,
                     error_name(first));
}

static bool has_extension(const psvi_gl *gl, const char *name) {
    GLint count = 0;
    gl->f.GetIntegerv(GL_NUM_EXTENSIONS, &count);
    for (GLint i = 0; i < count; ++i) {
        const char *one = (const char *)gl->f.GetStringi(GL_EXTENSIONS, (GLuint)i);
        if (one != NULL && strcmp(one, name) == 0) return true;
    }
    return false;
}

static psv_status find_functions(psv_context *context, psvi_gl_load load) {
    psvi_gl *gl = psvi_gl_of(context);
    const char *missing = NULL;
#define FIND(name, type)                                                                                               \
    *(void **)&gl->f.name = load("gl" #name);                                                                          \
    if (gl->f.name == NULL && missing == NULL) missing = "gl" #name;
    PSVI_GL_FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL) return PSV_OK;
    return psvi_fail(context, PSV_ERROR_DEVICE, "%s was not found: OpenGL 4.5 is needed", missing);
}

static psv_status check_version(psv_context *context) {
    psvi_gl *gl = psvi_gl_of(context);
    GLint major = 0, minor = 0, blocks = 0, threads = 0;
    const char *version = (const char *)gl->f.GetString(GL_VERSION);
    if (version == NULL) return psvi_fail(context, PSV_ERROR_DEVICE, "no OpenGL context is current on this thread");
    gl->f.GetIntegerv(GL_MAJOR_VERSION, &major);
    gl->f.GetIntegerv(GL_MINOR_VERSION, &minor);
    if (10 * major + minor < 45)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the current context is OpenGL %d.%d (%.60s); 4.5 is needed",
                         major, minor, version);
    gl->f.GetIntegerv(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS, &blocks);
    gl->f.GetIntegerv(GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS, &threads);
    if (blocks < (GLint)PSVI_GPU_BLOCKS || threads < 512)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "this OpenGL driver has %d storage blocks and %d threads a group; %u and 512 are needed",
                         blocks, threads, PSVI_GPU_BLOCKS);
    return PSV_OK;
}

static void read_info(psv_context *context) {
    psvi_gl *gl = psvi_gl_of(context);
    const char *texts[3] = {(const char *)gl->f.GetString(GL_RENDERER), (const char *)gl->f.GetString(GL_VERSION),
                            (const char *)gl->f.GetString(GL_VENDOR)};
    (void)snprintf(context->info.name, sizeof context->info.name, "%.120s", texts[0] == NULL ? "OpenGL" : texts[0]);
    (void)snprintf(gl->identity, sizeof gl->identity, "%.80s|%.80s|%.80s", texts[0], texts[1], texts[2]);
    context->info.driver_hash = psvi_gpu_driver_hash(gl->identity);
    gl->gpu.software = strstr(context->info.name, "llvmpipe") != NULL;
    GLint64 block = 0;
    GLint alignment = 256, shared = 0, size = 0, stages = 0, features = 0;
    gl->f.GetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &block);
    gl->f.GetIntegerv(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, &alignment);
    gl->f.GetIntegerv(GL_MAX_COMPUTE_SHARED_MEMORY_SIZE, &shared);
    gl->gpu.block_bytes = (uint64_t)block & ~(uint64_t)255;
    gl->gpu.alignment = (uint32_t)alignment;
    gl->gpu.shared_bytes = (uint32_t)shared;
    if (has_extension(gl, "GL_KHR_shader_subgroup")) {
        gl->f.GetIntegerv(SUBGROUP_SIZE, &size);
        gl->f.GetIntegerv(SUBGROUP_STAGES, &stages);
        gl->f.GetIntegerv(SUBGROUP_FEATURES, &features);
    }
    const bool votes = (stages & STAGE_COMPUTE) != 0 && (features & SUBGROUP_NEEDED) == SUBGROUP_NEEDED;
    gl->gpu.subgroup_size = votes && size >= 8 ? (uint32_t)size : 0;
    context->info.shared_bytes_per_block = shared;
}

static uint64_t buffer_bytes(psv_context *context, uint32_t name) {
    psvi_gl *gl = psvi_gl_of(context);
    GLint64 bytes = 0;
    psvi_gl_enter(context);
    if (name == 0 || !gl->f.IsBuffer(name)) return 0;
    gl->f.GetNamedBufferParameteri64v(name, GL_BUFFER_SIZE, &bytes);
    return (uint64_t)bytes;
}

static psv_status gl_open(psv_context *context, const psv_context_def *def) {
    psvi_gl_load load = def->gl_load;
    if (def->borrow_stream)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.borrow_stream is set; the OpenGL backend has no streams");
    if (def->allocator.allocate != NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.allocator is given; the OpenGL backend takes buffers of its own");
    if (def->gl_load != NULL && def->device != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.device is %d; with def.gl_load the current context decides",
                         def->device);
    context->gpu = calloc(1, sizeof(psvi_gl));
    psvi_gl *gl = psvi_gl_of(context);
    if (gl == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a context (%zu bytes)", sizeof(psvi_gl));
    gl->gpu.run = psvi_gl_run;
    gl->gpu.buffer_bytes = buffer_bytes;
    psv_status status = PSV_OK;
    if (def->gl_load == NULL) status = psvi_gl_open_own(context, def->device, &gl->own, &load);
    if (status == PSV_OK) status = find_functions(context, load);
    if (status == PSV_OK) status = check_version(context);
    if (status == PSV_OK) read_info(context);
    if (status == PSV_OK) psvi_gl_find_large_pages(gl, load, has_extension(gl, "GL_EXT_memory_object_fd"));
    if (status == PSV_OK) {
        context->worker_count = 1;
        return PSV_OK;
    }
    if (gl->own.context != NULL) psvi_gl_close_own(&gl->own);
    free(gl);
    context->gpu = NULL;
    return status;
}

static void gl_close(psv_context *context) {
    psvi_gl *gl = psvi_gl_of(context);
    psvi_gl_enter(context);
    psvi_gl_delete_programs(gl);
    if (gl->own.context != NULL) psvi_gl_close_own(&gl->own);
    free(gl);
    context->gpu = NULL;
}

static bool gl_available(void) {
    psv_context context = {.backend = PSV_BACKEND_GL};
    const psv_context_def def = {.backend = PSV_BACKEND_GL};
    if (gl_open(&context, &def) != PSV_OK) return false;
    gl_close(&context);
    return true;
}

static void *gl_alloc(psv_context *context, uint64_t bytes) {
    psvi_gl *gl = psvi_gl_of(context);
    GLuint name = 0;
    psvi_gl_enter(context);
    if (bytes > (uint64_t)1 << 39) return NULL;
    (void)psvi_gl_status(context, "an earlier call");
    bytes = (bytes + 15) & ~(uint64_t)15;
    name = psvi_gl_large_buffer(gl, bytes);
    if (name == 0) {
        gl->f.CreateBuffers(1, &name);
        gl->f.NamedBufferStorage(name, (GLsizeiptr)bytes, NULL, 0);
    }
    if (gl->f.GetError() != GL_NO_ERROR || name == 0 || name >= 1u << 24) {
        gl->f.DeleteBuffers(1, &name);
        return NULL;
    }
    return (void *)((uintptr_t)name << 40);
}

static void gl_release(psv_context *context, void *address) {
    const GLuint name = psvi_gpu_name_of(address);
    psvi_gl_enter(context);
    psvi_gl_of(context)->f.DeleteBuffers(1, &name);
}

// Between the host and a buffer by way of another one of that time: a driver moves a buffer that the host reads or
// writes itself to the host's memory, where kernels then work on it; and immutable buffers of a caller need not allow
// it.
static void upload(psvi_gl *gl, GLuint name, GLintptr offset, const void *source, GLsizeiptr bytes) {
    GLuint staging = 0;
    gl->f.CreateBuffers(1, &staging);
    gl->f.NamedBufferStorage(staging, bytes, source, GL_CLIENT_STORAGE_BIT);
    gl->f.CopyNamedBufferSubData(staging, name, 0, offset, bytes);
    gl->f.DeleteBuffers(1, &staging);
}

static void download(psvi_gl *gl, void *target, GLuint name, GLintptr offset, GLsizeiptr bytes) {
    GLuint staging = 0;
    gl->f.CreateBuffers(1, &staging);
    gl->f.NamedBufferStorage(staging, bytes, NULL, GL_CLIENT_STORAGE_BIT | GL_MAP_READ_BIT);
    gl->f.CopyNamedBufferSubData(name, staging, offset, 0, bytes);
    gl->f.GetNamedBufferSubData(staging, 0, bytes, target);
    gl->f.DeleteBuffers(1, &staging);
}

static psv_status gl_copy(psv_context *context, void *target, const void *source, uint64_t bytes, psvi_copy_kind kind) {
    psvi_gl *gl = psvi_gl_of(context);
    if (bytes == 0 || gl->gpu.prepare_only) return PSV_OK;
    psvi_gl_enter(context);
    gl->f.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    if (kind == PSVI_COPY_UPLOAD)
        upload(gl, psvi_gpu_name_of(target), (GLintptr)psvi_gpu_offset_of(target), source, (GLsizeiptr)bytes);
    else if (kind == PSVI_COPY_DOWNLOAD)
        download(gl, target, psvi_gpu_name_of(source), (GLintptr)psvi_gpu_offset_of(source), (GLsizeiptr)bytes);
    else
        gl->f.CopyNamedBufferSubData(psvi_gpu_name_of(source), psvi_gpu_name_of(target),
                                     (GLintptr)psvi_gpu_offset_of(source), (GLintptr)psvi_gpu_offset_of(target),
                                     (GLsizeiptr)bytes);
    return kind == PSVI_COPY_INSIDE ? PSV_OK : psvi_gl_status(context, "a copy");
}

static psv_status gl_fill(psv_context *context, void *target, int byte, uint64_t bytes) {
    psvi_gl *gl = psvi_gl_of(context);
    const uint32_t word = (uint32_t)(byte & 255) * 0x01010101u;
    const uint64_t offset = psvi_gpu_offset_of(target);
    if (bytes == 0 || gl->gpu.prepare_only) return PSV_OK;
    const bool words = (offset | bytes) % 4 == 0;
    // NVIDIA's driver clears large buffers at some 20 GB/s, a hundredth of what a kernel writes.
    if (words && bytes >= KERNEL_FILLS && bytes + 512 <= gl->gpu.block_bytes && bytes / 4 <= UINT32_MAX) {
        const psvi_gpu_call call = {.source = &psvi_glsl_fill_words,
                                    .blocks = {{target, bytes}},
                                    .params = {(uint32_t)(bytes / 4), word},
                                    .groups = (bytes / 4 + 255) / 256};
        return psvi_gl_run(context, &call);
    }
    psvi_gl_enter(context);
    gl->f.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    gl->f.ClearNamedBufferSubData(psvi_gpu_name_of(target), words ? GL_R32UI : GL_R8UI, (GLintptr)offset,
                                  (GLsizeiptr)bytes, GL_RED_INTEGER, words ? GL_UNSIGNED_INT : GL_UNSIGNED_BYTE, &word);
    return PSV_OK;
}

static psv_status gl_synchronize(psv_context *context) {
    psvi_gl *gl = psvi_gl_of(context);
    psvi_gl_enter(context);
    gl->f.Finish();
    if (gl->f.GetGraphicsResetStatus() != GL_NO_ERROR)
        return psvi_fail(context, PSV_ERROR_DEVICE, "the OpenGL context was lost (the driver reset the device)");
    return psvi_gl_status(context, "an earlier OpenGL call");
}

static psv_status gl_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    psvi_gl *gl = psvi_gl_of(context);
    GLint free_kilobytes = 0, total_kilobytes = 0;
    psvi_gl_enter(context);
    if (!has_extension(gl, "GL_NVX_gpu_memory_info"))
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "this OpenGL driver does not tell its memory size");
    gl->f.GetIntegerv(NVX_FREE_MEMORY, &free_kilobytes);
    gl->f.GetIntegerv(NVX_TOTAL_MEMORY, &total_kilobytes);
    *free_bytes = (uint64_t)free_kilobytes * 1024;
    *total_bytes = (uint64_t)total_kilobytes * 1024;
    return psvi_gl_status(context, "the memory size");
}

// `address`: the last byte in question.
static bool gl_owns_address(psv_context *context, const void *address) {
    const uint64_t last_word = psvi_gpu_offset_of(address) | 3; // kernels read whole words
    return last_word < buffer_bytes(context, psvi_gpu_name_of(address));
}

static psv_status gl_create_event(psv_context *context, void **event) {
    GLuint name = 0;
    psvi_gl_enter(context);
    psvi_gl_of(context)->f.CreateQueries(GL_TIMESTAMP, 1, &name);
    *event = (void *)(uintptr_t)name;
    return name != 0 ? PSV_OK : psvi_gl_status(context, "glCreateQueries");
}

static void gl_destroy_event(psv_context *context, void *event) {
    const GLuint name = (GLuint)(uintptr_t)event;
    psvi_gl_enter(context);
    psvi_gl_of(context)->f.DeleteQueries(1, &name);
}

static void gl_record_event(psv_context *context, void *event) {
    psvi_gl_enter(context);
    psvi_gl_of(context)->f.QueryCounter((GLuint)(uintptr_t)event, GL_TIMESTAMP);
}

static bool gl_event_done(psv_context *context, void *event) {
    GLint done = 0;
    psvi_gl_enter(context);
    psvi_gl_of(context)->f.GetQueryObjectiv((GLuint)(uintptr_t)event, GL_QUERY_RESULT_AVAILABLE, &done);
    return done != 0;
}

static double gl_event_ms(psv_context *context, void *begin, void *end) {
    psvi_gl *gl = psvi_gl_of(context);
    GLuint64 first = 0, last = 0;
    psvi_gl_enter(context);
    gl->f.GetQueryObjectui64v((GLuint)(uintptr_t)begin, GL_QUERY_RESULT, &first);
    gl->f.GetQueryObjectui64v((GLuint)(uintptr_t)end, GL_QUERY_RESULT, &last);
    return last > first ? 1e-6 * (double)(last - first) : 0;
}

const psvi_backend_ops psvi_gl_ops = {
    .name = "gl",
    .names_buffers = true,
    .available = gl_available,
    .open = gl_open,
    .close = gl_close,
    .alloc = gl_alloc,
    .release = gl_release,
    .copy = gl_copy,
    .fill = gl_fill,
    .synchronize = gl_synchronize,
    .memory_info = gl_memory_info,
    .owns_address = gl_owns_address,
    .create_event = gl_create_event,
    .destroy_event = gl_destroy_event,
    .record_event = gl_record_event,
    .event_done = gl_event_done,
    .event_ms = gl_event_ms,
};
