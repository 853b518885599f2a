// pairsieve core: contexts, buffers, statuses and the phase profile that every other module builds on.
//
// One context is one backend (CPU, CUDA, OpenGL or Vulkan), one device, one stream and its workers. A context is used
// by one thread at a time; several contexts, also on one device, work side by side. The library never aborts, never
// prints and never exits: every call that can fail returns a psv_status, and psv_last_error gives a sentence that names
// the argument, the value and the limit. Calls are asynchronous on CUDA, OpenGL and Vulkan unless their comment says
// «Blocks».
//
// Floating point: results do not depend on the caller's rounding mode, on flush-to-zero or denormals-are-zero, nor on
// traps. Calls that compute set the standard mode on each of their threads and restore the caller's mode, flags
// included. Coordinates below 1e-38 are ordinary numbers, on CUDA too.
//
// fork: on the CPU a child process may use its parent's contexts. If these had made threads, their calls run on the
// calling thread alone in the child, or by run_parallel. Contexts that the child makes have threads of their own.
// Contexts of CUDA do not work in a child: calls give PSV_ERROR_DEVICE.
//
// Errors that the comments of calls do not repeat: PSV_ERROR_ARGUMENT for a NULL handle or a destroyed one, and for a
// NULL pointer where NULL is not said to be allowed; PSV_ERROR_UNSUPPORTED for a psv_buffer of the other kind (an
// address, a GL name) than the context takes;
// PSV_ERROR_DEVICE, from any call on a context of CUDA, OpenGL or Vulkan, also for what failed in work enqueued before
// it; PSV_ERROR_MEMORY from calls that block and have to take host memory while they run.
#ifndef PAIRSIEVE_CORE_H
#define PAIRSIEVE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Version of this header. CMake reads it here; docs/stability.md says what may
// change with each of the three numbers.
#define PSV_VERSION_MAJOR 0
#define PSV_VERSION_MINOR 1
#define PSV_VERSION_PATCH 0
// As one number for comparisons: 10,000 * major + 100 * minor + patch.
#define PSV_VERSION (PSV_VERSION_MAJOR * 10000 + PSV_VERSION_MINOR * 100 + PSV_VERSION_PATCH)

// Version of the library that runs, in the form of PSV_VERSION; it differs from PSV_VERSION where a program was
// compiled with the headers of another version.
uint32_t psv_version(void);

// The same as text ("0.1.0"). Never NULL.
const char *psv_version_name(void);

// Result of a call. The numbers are pinned: they never change between releases.
typedef enum psv_status {
    PSV_OK = 0,
    PSV_ERROR_ARGUMENT = 1, // an argument is out of its range, NULL where that is not allowed, or a def has no cookie
    PSV_ERROR_CAPACITY = 2, // a buffer is too small; the sentence and the count query give the size needed
    PSV_ERROR_MEMORY = 3,   // host or device memory could not be had; the sentence gives the bytes asked for
    PSV_ERROR_DEVICE = 4,   // the device or its driver refused or failed
    PSV_ERROR_UNSUPPORTED = 5, // a method, backend or combination that this build or device does not offer
    PSV_ERROR_FILE = 6,        // a file could not be opened, read or written
    PSV_ERROR_FORMAT =
        7, // a file or text is damaged or not of the format; the sentence gives line and column or offset
    PSV_ERROR_INTERNAL = 8 // a defect of pairsieve
} psv_status;

// Name of a status ("PSV_ERROR_CAPACITY"). Never NULL, also for unknown numbers.
const char *psv_status_name(psv_status status);

typedef enum psv_backend {
    PSV_BACKEND_AUTO = 0, // a usable CUDA device, else the CPU
    PSV_BACKEND_CPU = 1,
    PSV_BACKEND_CUDA = 2,
    PSV_BACKEND_GL = 3, // OpenGL 4.5 compute shaders; docs/how/gl.md says what a call changes in the caller's context
    PSV_BACKEND_VULKAN = 4 // Vulkan 1.2 compute shaders, docs/how/vulkan.md
} psv_backend;

// "auto", "cpu", "cuda", "gl" or "vulkan". Never NULL.
const char *psv_backend_name(psv_backend backend);

// Reads a backend name; PSV_ERROR_ARGUMENT (an unknown one) leaves *backend as it was.
psv_status psv_parse_backend(const char *name, psv_backend *backend);

// True when this build has the backend and the machine has a device for it. Blocks on the first call for CUDA, and for
// OpenGL, where it makes a context without a window and destroys it: the thread then has no current context. Blocks on
// every call for Vulkan, where it makes a device and destroys it.
bool psv_backend_available(psv_backend backend);

// Memory of the backend's kind (host memory for CPU, device memory for CUDA). `allocate` returns NULL when there is
// none; addresses must be aligned to 256 bytes. Called when objects and buffers are created and destroyed, and by calls
// that block; never within a frame, unless something grows there (psv_pair_finder_def.grow_pairs, a world's pairs and
// contacts).
typedef struct psv_allocator {
    void *(*allocate)(uint64_t bytes, void *user);
    void (*release)(void *address, uint64_t bytes, void *user);
    void *user;
} psv_allocator;

// One piece of work for a thread of the program's; see psv_context_def.run_parallel.
typedef void psv_task(void *data, uint32_t index);

// A Vulkan device of the caller's, with API version 1.2 or newer of instance and device. The handles are those of
// vulkan.h: VkInstance, VkPhysicalDevice, VkDevice, VkQueue. They must outlive the context. The system's loader made
// them (libvulkan.so.1, vulkan-1.dll). No feature or extension has to be enabled.
typedef struct psv_vulkan_device {
    void *instance, *physical_device;
    void *device; // NULL (default): the context makes an instance and a device of its own
    void *queue;  // of a family that computes; no other thread uses the queue during a call
    uint32_t queue_family;
} psv_vulkan_device;

typedef struct psv_context_def {
    uint32_t cookie;     // set by psv_default_context_def
    psv_backend backend; // default PSV_BACKEND_AUTO
    int device;          // CUDA device number, that of EGL's devices for a GL context of its own, or that of
                         // vkEnumeratePhysicalDevices for a Vulkan device of its own; default 0
    void *stream;        // a cudaStream_t to borrow; used only where borrow_stream is set. NULL is the default stream
    bool borrow_stream;  // enqueue on `stream` and never synchronize it unless a call says «Blocks»
    int worker_count;    // CPU threads; 0 takes all cores that the process may use
    bool check_buffers;  // CUDA: check in every call that addresses are device-accessible; default true in debug builds
    psv_allocator allocator; // both functions NULL: the backend's own allocation. Not for OpenGL, Vulkan
    // CPU: the program's own threads; NULL (default): the context makes threads when it first needs them and ends them
    // when it is destroyed. Calls task(data, i) once for every i in [0, count), on any threads, in any order, side by
    // side or one after another. Returns when all calls have returned. It is called by the calls of this context that
    // compute, on their thread, never from within a task; count is at most worker_count. Tasks allocate nothing and
    // wait for nothing that is not running. Results do not depend on it.
    void (*run_parallel)(psv_task *task, void *data, uint32_t count, void *user);
    void *parallel_user; // handed to run_parallel
    // OpenGL: finds a function by name, as SDL_GL_GetProcAddress does, in the context that is current on this thread;
    // it has to be current in every call. NULL (default): the context makes one of its own through EGL, without a
    // window, which its calls make the thread's current one.
    void *(*gl_load)(const char *name);
    // CUDA: page-locked host memory that the device can write (cudaHostAllocMapped). It is a few words for each sorter,
    // finder and world, by which kernels report observations to the host. Both functions NULL: cudaHostAlloc.
    psv_allocator pinned_allocator;
    psv_vulkan_device vulkan; // Vulkan: the caller's device
} psv_context_def;

typedef struct psv_context psv_context;

psv_context_def psv_default_context_def(void);

// Creates a context. On failure *context is NULL; psv_last_error(NULL) then gives the sentence for this thread.
// Errors: PSV_ERROR_ARGUMENT (no cookie, negative device or worker count), PSV_ERROR_UNSUPPORTED (CUDA asked for in a
// build without it), PSV_ERROR_DEVICE (no such device), PSV_ERROR_MEMORY. Blocks.
psv_status psv_create_context(const psv_context_def *def, psv_context **context);

// Waits for the context's work (an own stream only) and frees it. NULL is allowed. Destroy its objects first.
void psv_destroy_context(psv_context *context);

// Sentence for the last call that failed on this context, or for this thread's last failed creation when context is
// NULL. Never NULL; empty when nothing failed yet. Valid until the next failing call.
const char *psv_last_error(const psv_context *context);

psv_backend psv_context_backend(const psv_context *context); // the one that runs, never AUTO
int psv_context_worker_count(const psv_context *context);
void *psv_context_stream(const psv_context *context);            // the cudaStream_t; NULL for the CPU
const char *psv_context_device_name(const psv_context *context); // e.g. "NVIDIA H200"; the processor's name for the CPU

// What kernels are chosen by. 0: not known, or not a thing that devices of this backend have.
typedef struct psv_device_info {
    int capability;      // CUDA: 10 * major + minor of the device
    int code_capability; // CUDA: capability that its kernels were compiled for, at most its own; `radix` and `rows`
                         // choose by it
    int multiprocessors; // CUDA
    int driver_version;  // CUDA: the newest CUDA that the driver serves, 1000 * major + 10 * minor
    int runtime_version; // CUDA: that of the build, in the same form
    uint64_t shared_bytes_per_block; // CUDA (the most that a kernel can ask for), OpenGL and Vulkan
    uint64_t l2_bytes;               // CUDA
    bool cooperative_launch;         // CUDA: one launch can wait for all of its blocks
    bool cluster_launch;             // CUDA: device and code have clusters of blocks
} psv_device_info;

// All zero for NULL.
psv_device_info psv_context_device_info(const psv_context *context);

// CUDA: later calls are enqueued on `stream`, a cudaStream_t of the context's device (NULL: the default stream), which
// is borrowed. A stream of the context's own is waited for and destroyed. The device runs later work after the work
// enqueued before, without a stall of the host. If one of the two streams is being captured into a graph, the caller
// must order them. For programs that change streams, as PyTorch does under torch.cuda.stream. Errors:
// PSV_ERROR_UNSUPPORTED (a backend without streams), PSV_ERROR_DEVICE. Blocks if the stream was the context's own.
psv_status psv_set_stream(psv_context *context, void *stream);

// Free and total bytes of the backend's memory. On the CPU free memory is the memory that a program can take without
// making others give up theirs, within the limit of a container. Neither may be NULL. Errors: PSV_ERROR_DEVICE. Blocks.
psv_status psv_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes);

// Waits until everything enqueued on the context is done. Errors: PSV_ERROR_DEVICE when some of it failed. Blocks.
psv_status psv_synchronize(psv_context *context);

// A piece of memory: a value, not an object; copy it freely. On the CPU and CUDA backends `address` is a host or device
// address; with the OpenGL backend `gl_name` is a buffer object's name, with the Vulkan backend the number that the
// context gave a VkBuffer, and address is NULL. Arrays must be aligned to
// their elements' largest member: 4 bytes for floats, u32, boxes, pairs, filters and poses, 8 for u64 and 64-bit keys,
// 1 for flags and records that are only moved.
typedef struct psv_buffer {
    void *address;
    uint64_t offset;  // bytes from address (or from the start of the GL buffer)
    uint64_t bytes;   // usable bytes from offset on
    uint32_t gl_name; // 0, or a buffer's name on OpenGL and Vulkan, below 2^24; its size is a multiple of 4
} psv_buffer;

// Names memory of the caller's own: `bytes` usable bytes at `address`. Nothing is copied or checked here; of NULL the
// buffer is empty.
psv_buffer psv_buffer_of(void *address, uint64_t bytes);

// Names `bytes` bytes from byte `offset` on of a buffer object of the OpenGL context. Nothing is copied or checked
// here.
psv_buffer psv_buffer_of_gl(uint32_t gl_name, uint64_t offset, uint64_t bytes);

// Gives a VkBuffer of the caller's a name in a Vulkan context. `vk_buffer`: bound to memory, with the usages
// VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, TRANSFER_SRC, TRANSFER_DST, and INDIRECT_BUFFER where it is def.scratch of a
// sorter; of the queue's family, or shared with it. `bytes`: its size, a multiple of 4. psv_free_buffer forgets the
// name and leaves the VkBuffer alone. Work on a VkBuffer that is submitted to the context's queue before a call is seen
// by the call, and work submitted after the call sees its results; no barrier is needed. Errors: PSV_ERROR_ARGUMENT
// (NULL, bytes), PSV_ERROR_UNSUPPORTED (another backend), PSV_ERROR_MEMORY.
psv_status psv_name_vulkan_buffer(psv_context *context, void *vk_buffer, uint64_t bytes, psv_buffer *buffer);

// The VkBuffer that holds a buffer of a Vulkan context, such as one of psv_alloc_buffer; its data begin at
// buffer.offset. NULL: there is none. A buffer of psv_alloc_buffer also serves as vertices, indices and uniforms.
void *psv_vulkan_buffer(psv_context *context, psv_buffer buffer);

// A record: what the calls need that are recorded into a command buffer of the caller's (VkCommandBuffer) in place of
// being submitted. It holds the parameters of their kernels. Contexts on the caller's device have records. Errors:
// PSV_ERROR_UNSUPPORTED (another backend, a device of the context's own), PSV_ERROR_MEMORY. Destroy records before
// their context.
typedef struct psv_vulkan_record psv_vulkan_record;
psv_status psv_create_vulkan_record(psv_context *context, psv_vulkan_record **record);

// Frees it; no command buffer that was recorded with it may be pending or submitted afterwards. NULL is allowed.
void psv_destroy_vulkan_record(psv_vulkan_record *record);

// From here to psv_end_vulkan_record the context's calls are recorded into `vk_command_buffer`, and nothing is
// submitted. Sorts, pairs, their events and bounds can be recorded; what has to wait for the device or takes memory
// gives PSV_ERROR_UNSUPPORTED: creations, uploads, downloads, read calls, psv_synchronize, growth of pairs. A call that
// fails may have recorded a part of its commands: reset the command buffer then. Profiles leave recorded calls out.
//
// The command buffer is in the recording state, outside of a render pass, of the queue's family. Each call begins and
// ends with a barrier for all memory, so commands of yours may stand between calls; what the host reads needs your
// barrier to the host. A call leaves other bindings of compute pipelines and of their sets behind than before.
//
// The command buffer may be submitted any number of times, to queues of the family; each time the calls work on what
// the buffers then hold, with the counts and addresses of the recording. Until its last execution is complete these
// must stay alive: the record, the context, the sorters and finders of the calls with their scratch memory, and every
// VkBuffer. Names of buffers may be freed. An object's scratch memory serves one execution at a time: on several queues
// order them by semaphores. Results of a finder are those of the execution before.
//
// A record that begins again reuses its memory: its command buffer before must not be pending, nor be submitted again.
// Errors: PSV_ERROR_ARGUMENT (NULL, another recording has not ended), PSV_ERROR_DEVICE, PSV_ERROR_MEMORY.
psv_status psv_begin_vulkan_record(psv_vulkan_record *record, void *vk_command_buffer);

// Ends the recording; the command buffer stays in the recording state. Errors: PSV_ERROR_ARGUMENT (it has not begun).
psv_status psv_end_vulkan_record(psv_vulkan_record *record);

// A timeline semaphore of the caller's (VkSemaphore) and a value of it.
typedef struct psv_vulkan_semaphore {
    void *semaphore;
    uint64_t value;
} psv_vulkan_semaphore;

#define PSV_VULKAN_SEMAPHORES 8 // of each kind for a call, at most

// For the next call that computes, such as a sort or a frame of pairs: its first submission to the queue waits until
// each semaphore of `waits` has reached its value, and its last one signals those of `signals`. The call itself waits
// for nothing. Transfers before that call take the waits with them. A call that is refused before it submits leaves
// both lists for the next one; counts of 0 take them back. The arrays are copied. The device has the feature
// timelineSemaphore enabled. Errors: PSV_ERROR_ARGUMENT (NULL), PSV_ERROR_CAPACITY (a count over
// PSV_VULKAN_SEMAPHORES), PSV_ERROR_UNSUPPORTED (another backend, a device of the context's own, while calls are
// recorded).
psv_status psv_set_vulkan_semaphores(psv_context *context, const psv_vulkan_semaphore *waits, uint32_t wait_count,
                                     const psv_vulkan_semaphore *signals, uint32_t signal_count);

// The part [offset, offset + bytes) of a buffer; empty (bytes 0) when it does not lie inside.
psv_buffer psv_sub_buffer(psv_buffer buffer, uint64_t offset, uint64_t bytes);

// First byte of the buffer, for the CPU and CUDA backends.
static inline void *psv_buffer_address(psv_buffer buffer) {
#ifdef __cplusplus
    return buffer.address == nullptr ? nullptr : static_cast<char *>(buffer.address) + buffer.offset;
#else
    return buffer.address == NULL ? NULL : (char *)buffer.address + buffer.offset;
#endif
}

// Memory of the context's backend, aligned to 256 bytes, contents undefined. 0 bytes gives an empty buffer.
// Errors: PSV_ERROR_MEMORY with the bytes asked for. Blocks (on CUDA an allocation may).
psv_status psv_alloc_buffer(psv_context *context, uint64_t bytes, psv_buffer *buffer);

// Frees a buffer of psv_alloc_buffer and clears it. NULL and empty buffers are allowed. Blocks.
void psv_free_buffer(psv_context *context, psv_buffer *buffer);

// Host memory to a buffer, and back. 0 bytes is a no-op. Block. Errors: PSV_ERROR_CAPACITY when the buffer is smaller
// than `bytes`, PSV_ERROR_ARGUMENT (NULL), PSV_ERROR_DEVICE.
psv_status psv_upload(psv_context *context, psv_buffer buffer, const void *source, uint64_t bytes);
psv_status psv_download(psv_context *context, void *target, psv_buffer buffer, uint64_t bytes);

// The per-frame phases, in the order in which a frame runs them.
typedef enum psv_phase {
    PSV_PHASE_BOUNDS = 0,
    PSV_PHASE_KEYS = 1,
    PSV_PHASE_SORT = 2,
    PSV_PHASE_GATHER = 3,
    PSV_PHASE_SWEEP = 4,
    PSV_PHASE_EVENTS = 5,
    PSV_PHASE_NARROW = 6,
    PSV_PHASE_SOLVE = 7,
    PSV_PHASE_INTEGRATE = 8,
    PSV_PHASE_COUNT = 9
} psv_phase;

// "bounds", "keys", ... Never NULL.
const char *psv_phase_name(psv_phase phase);

// Times of one frame, in milliseconds; 0 for a phase that did not run. A frame is one top-level call (psv_find_pairs,
// psv_sort_pairs, psv_world_step, ...). A phase that runs several times in a frame is summed. On CUDA a phase lasts
// from the end of the previous phase to its own end. A kernel that runs several phases measures each of them.
typedef struct psv_profile {
    uint64_t frame; // number of the frame these times belong to, from 1; 0: no frame is complete yet
    double frame_ms;
    double phase_ms[PSV_PHASE_COUNT];
} psv_profile;

// Turns phase timing on or off (off by default). On CUDA phases are timed with events that are read a frame later,
// without a stall; while the stream is being captured into a graph nothing is recorded.
psv_status psv_enable_profile(psv_context *context, bool enable);

// The newest complete frame. Does not block: on CUDA this is usually the frame before the last.
psv_status psv_read_profile(psv_context *context, psv_profile *profile);

// The same, after waiting for the last frame to complete. Blocks.
psv_status psv_wait_profile(psv_context *context, psv_profile *profile);

// Iterates the phases that took time: start with *cursor = 0; false at the end.
bool psv_profile_next(const psv_profile *profile, uint32_t *cursor, const char **name, double *ms);

#ifdef __cplusplus
}
#endif
#endif
