// Internals of a context, shared by the modules of the library (not installed).
#ifndef PAIRSIEVE_CORE_CONTEXT_H
#define PAIRSIEVE_CORE_CONTEXT_H

#include <time.h>

#include "backend.h"
#include "float_mode.h"
#include "pairsieve/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_CONTEXT_COOKIE 0x70737663u // "psvc"

// What kernels are chosen by. All zero on the CPU except worker counts and names.
typedef struct psvi_device_info {
    char name[128];
    int code_capability; // 10 * major + minor that the kernels were compiled for: at most the device's own
    int capability;      // 10 * major + minor of the device itself
    int driver_version, runtime_version; // of CUDA: 1000 * major + 10 * minor
    uint32_t driver_hash;                // of OpenGL and Vulkan: of what the driver says of itself
    int multiprocessors;
    int shared_bytes_per_block; // with opt-in
    int shared_bytes_per_multiprocessor;
    int l2_bytes;
    bool cooperative_launch;
    bool cluster_launch;
    uint64_t memory_bytes;
} psvi_device_info;

#define PSVI_PROFILE_FRAMES 6 // on their way: pictures are frames of their own
#define PSVI_PROFILE_MARKS 96
#define PSVI_PROFILE_SPLITS 8 // of a frame

// Times that a kernel with several phases reports, in nanoseconds of its own clock. The kernel overwrites all of them.
typedef struct psvi_phase_times {
    uint64_t ns[PSV_PHASE_COUNT];
} psvi_phase_times;

// Marks of one frame: begin and end times of its phases. On the CPU `time` holds seconds; on CUDA `event` holds events.
typedef struct psvi_profile_frame {
    uint64_t number; // 0: unused
    uint32_t mark_count, split_count;
    bool complete;     // all marks are recorded
    psv_profile *into; // where its times go when they are known: the context's newest, or psvi_picture_begin's
    struct {
        int16_t phase;  // -1: the frame itself
        uint16_t outer; // the mark that it lies in; 0: the frame's
        uint16_t split; // a kernel reports its times: place in `times`, from 1
        double begin, end;
        void *begin_event, *end_event;
    } marks[PSVI_PROFILE_MARKS];
} psvi_profile_frame;

typedef struct psvi_profiler {
    bool enabled;
    int depth;      // nested frames: only the outermost counts
    bool recording; // this frame is recorded (not while a stream is captured)
    uint64_t frame_number;
    psvi_profile_frame frames[PSVI_PROFILE_FRAMES];
    psvi_phase_times *times, *times_on_device; // PSVI_PROFILE_SPLITS a frame; NULL: kernels report nothing
    psv_profile newest;
} psvi_profiler;

typedef struct psvi_pool psvi_pool; // cpu/workers.h

struct psv_context {
    uint32_t cookie;
    psv_backend backend;
    const psvi_backend_ops *ops;
    int device;
    void *stream; // cudaStream_t
    bool owns_stream;
    int worker_count;
    void (*run_parallel)(psv_task *task, void *data, uint32_t count, void *user); // NULL: pool
    void *parallel_user;
    psvi_pool *pool; // on the CPU
    bool check_buffers;
    psv_allocator allocator, pinned_allocator;
    psvi_device_info info;
    psvi_profiler profiler;
    uint32_t float_depth;         // calls of psvi_begin_floats that are not ended
    psvi_float_mode callers_mode; // of the outermost
    void *gpu;                    // psvi_gpu, on OpenGL and Vulkan
    char error[512];
};

static inline double psvi_seconds_now(void) { // of a clock that only goes on
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline bool psvi_is_given(psv_buffer buffer) { return buffer.address != NULL || buffer.gl_name != 0; }

// Records the sentence for psv_last_error and returns `status`. context may be NULL (thread-wide sentence).
psv_status psvi_fail(psv_context *context, psv_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The context is not NULL and not destroyed, else PSV_ERROR_ARGUMENT.
psv_status psvi_check_context(const psv_context *context);

// The stream is being captured into a CUDA graph, or calls are recorded into a Vulkan command buffer: nothing may be
// waited for or allocated.
static inline bool psvi_is_captured(psv_context *context) {
    return context->ops->capturing != NULL && context->ops->capturing(context);
}

// The context is alive and its calls are not being recorded into a command buffer, else PSV_ERROR_UNSUPPORTED: of
// creations.
psv_status psvi_check_creates(psv_context *context);

// Checks that `buffer` holds `bytes` bytes, is aligned to `alignment` and, on CUDA with check_buffers, lies on the
// device. `name` is the argument's name in the sentence. A buffer for 0 bytes may be empty.
psv_status psvi_check_buffer(psv_context *context, psv_buffer buffer, uint64_t bytes, uint32_t alignment,
                             const char *name);
// The same of memory that an object keeps, whose place is looked at in any case.
psv_status psvi_check_owned_buffer(psv_context *context, psv_buffer buffer, uint64_t bytes, uint32_t alignment,
                                   const char *name);

// Start of a buffer, as the modules of the library name memory: an address, or on OpenGL and Vulkan its
// stand-in (gpu/gpu_backend.h). And the inverse: a buffer for memory of the context's backend; NULL gives an empty one.
void *psvi_buffer_address(psv_buffer buffer);
psv_buffer psvi_buffer_at(const psv_context *context, const void *address, uint64_t bytes);

// Memory of the context's backend, through its allocator; NULL when there is none. 256-byte aligned.
void *psvi_alloc(psv_context *context, uint64_t bytes);
void psvi_free(psv_context *context, void *address, uint64_t bytes);
// The same to *address, which is left alone for 0 bytes; false when there is none.
bool psvi_take(psv_context *context, uint64_t bytes, void **address);
// Zeros in memory that psvi_alloc has just given. What is never used then costs addresses alone, where that can be had.
psv_status psvi_clear_fresh(psv_context *context, void *address, uint64_t bytes);

// Between these the calling thread is in the standard floating-point mode (float_mode.h). They nest.
void psvi_begin_floats(psv_context *context);
void psvi_end_floats(psv_context *context);

// The same from here to the end of the block. context may be NULL.
#define PSVI_STANDARD_FLOATS(context)                                                                                  \
    __attribute__((cleanup(psvi_end_float_scope), unused)) const psvi_float_scope float_scope =                        \
        psvi_begin_float_scope(context)

typedef struct psvi_float_scope {
    psv_context *context;
    psvi_float_mode before;
} psvi_float_scope;

static inline psvi_float_scope psvi_begin_float_scope(psv_context *context) {
    psvi_float_scope scope = {context, psvi_enter_float_mode()};
    if (context != NULL) {
        psvi_leave_float_mode(scope.before);
        psvi_begin_floats(context);
    }
    return scope;
}

static inline void psvi_end_float_scope(const psvi_float_scope *scope) {
    if (scope->context == NULL)
        psvi_leave_float_mode(scope->before);
    else
        psvi_end_floats(scope->context);
}

// Frames and phases. Calls nest: inner frames of a frame do not count as frames of their own. A frame is in the
// standard floating-point mode.
void psvi_frame_begin(psv_context *context);
// Begins one of the frames that psv_read_profile leaves out: a renderer's, whose times go to `times`. The frame's
// number, 0 where it is not recorded.
uint64_t psvi_picture_begin(psv_context *context, psv_profile *times);
void psvi_frame_end(psv_context *context);
void psvi_phase_begin(psv_context *context, psv_phase phase);
void psvi_phase_end(psv_context *context, psv_phase phase);

// Waits until the times of pictures are written; their phases have a meaning of their own. Times of a picture are lost
// if six frames began before the device had finished it. The second function ends the writing.
psv_status psvi_wait_pictures(psv_context *context);
void psvi_forget_pictures(psv_context *context, const psv_profile *times);

// For one kernel with several phases, after psvi_phase_begin: where the kernel writes the time of each of them. The
// remaining time belongs to the phase itself. NULL when nothing is recorded; the kernel then reads no clock.
psvi_phase_times *psvi_phase_split(psv_context *context);

// Rounds up to a multiple of 256: the alignment of every part of a scratch block.
static inline uint64_t psvi_align(uint64_t bytes) { return (bytes + 255u) & ~(uint64_t)255u; }

// The part of a scratch block that begins at *at, which moves on to the next part.
static inline void *psvi_next_part(char **at, uint64_t bytes) {
    char *part = *at;
    *at += psvi_align(bytes);
    return part;
}

#ifdef __cplusplus
}
#endif
#endif
