// Helpers for the host code of the Vulkan backend. What the layers above use is in gpu/gpu_backend.h.
//
// Work is recorded into batches: a command buffer with what its kernels need. The end of a call of the library submits
// the open batch (psvi_backend_ops.end_call); so does a batch that is full, and a call that blocks. Batches are
// submitted to one queue and complete in order. A barrier lies before every kernel and copy, and one for all memory at
// both ends of a batch. So work that the caller submits to the same queue before and after sees all of it. While calls
// are recorded (vulkan_record.c) kernels and copies go into the caller's command buffer in the same way.
#ifndef PAIRSIEVE_CORE_VULKAN_BACKEND_H
#define PAIRSIEVE_CORE_VULKAN_BACKEND_H

#include "../gpu/gpu_backend.h"
#include "vulkan_functions.h"

#define PSVI_VK_BATCHES 4u
#define PSVI_VK_BATCH_RUNS 128u // kernels of a batch
#define PSVI_VK_WORD_BYTES 256u // of a kernel's words: the largest alignment that a uniform block can ask for
#define PSVI_VK_MARKS 256u      // time marks of a pool

typedef struct psvi_vk_buffer {
    VkBuffer handle;       // NULL: the name is free
    VkDeviceMemory memory; // NULL: the caller's buffer
    void *mapped;          // of memory that the host reads and writes
    uint64_t bytes;
} psvi_vk_buffer;

// Stages of a batch's commands, as bits of sets.
enum { PSVI_VK_COMPUTE, PSVI_VK_TRANSFER, PSVI_VK_INDIRECT, PSVI_VK_STAGES };

typedef struct psvi_vk_batch {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkDescriptorPool descriptors;
    VkDescriptorSet sets[PSVI_VK_BATCH_RUNS];
    psvi_vk_buffer words; // PSVI_VK_WORD_BYTES a kernel
    uint64_t number;      // 0: never used
    uint32_t runs;
    uint32_t ran[PSVI_VK_STAGES]; // by stage: the stages that ran since it last waited
    bool for_host;                // the host reads what a copy of it writes
    bool open, pending;
} psvi_vk_batch;

typedef struct psvi_vk_program {
    struct psvi_vk_program *next;
    const psvi_gpu_source *source;
    char defines[PSVI_GPU_DEFINES];
    VkPipeline pipeline;
} psvi_vk_program;

typedef struct psvi_vk_mark {
    VkQueryPool pool;
    uint32_t index;
    bool used;
    uint64_t batch; // that writes it; 0: none yet
} psvi_vk_mark;

typedef struct psvi_vk_marks {
    struct psvi_vk_marks *next;
    VkQueryPool pool;
    psvi_vk_mark marks[PSVI_VK_MARKS];
} psvi_vk_marks;

// Timeline semaphores for a submission.
typedef struct psvi_vk_semaphores {
    VkSemaphore handles[PSV_VULKAN_SEMAPHORES];
    uint64_t values[PSV_VULKAN_SEMAPHORES];
    uint32_t count;
} psvi_vk_semaphores;

// Runs of calls that are recorded: batches without a pool and a fence, in the caller's command buffer.
typedef struct psvi_vk_part {
    struct psvi_vk_part *next;
    psvi_vk_batch batch;
} psvi_vk_part;

typedef struct psvi_vk_record {
    psvi_vk_part *first, *current; // current: NULL before the first run
    VkCommandBuffer commands;
    bool in_call; // the barrier at a call's begin is recorded
} psvi_vk_record;

typedef struct psvi_vk {
    psvi_gpu gpu; // first
    psvi_vk_functions f;
    void *library; // the loader, opened at run time
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family;
    bool owns_device; // and the instance
    bool lost;
    VkResult dropped;                // why a batch could not be submitted; the next call that blocks reports it
    bool tells_budget;               // VK_EXT_memory_budget
    bool keeps_denormals, keeps_nan; // kernels can ask for small floats that are not 0, and for NaN and -0
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t most_bytes; // of an allocation
    double ns_a_tick;
    uint64_t tick_mask; // 0: the queue has no timestamps
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    psvi_vk_program *programs;
    psvi_vk_buffer *buffers; // by name - 1
    uint32_t buffer_room;
    psvi_vk_buffer staging; // between the host and buffers that the host cannot map
    psvi_vk_batch batches[PSVI_VK_BATCHES];
    uint64_t newest, done; // numbers of batches: begun last, known to be complete
    psvi_vk_marks *marks;
    psvi_vk_record *record;            // calls are recorded into it; NULL: they are submitted
    psvi_vk_semaphores waits, signals; // of the next submission, and of the last one of the next call
} psvi_vk;

static inline psvi_vk *psvi_vk_of(psv_context *context) { return (psvi_vk *)context->gpu; }

// The result of a Vulkan call as a status with a sentence that begins with `what`.
psv_status psvi_vk_status(psv_context *context, VkResult result, const char *what);

// vulkan_device.c: the loader, the instance and the device, or the caller's.
psv_status psvi_vk_open_device(psv_context *context, const psv_context_def *def);
void psvi_vk_close_device(psvi_vk *vk);

// vulkan_memory.c. A buffer without a name; `host`: memory that the host maps. False: there is none.
bool psvi_vk_make_buffer(psvi_vk *vk, uint64_t bytes, bool host, psvi_vk_buffer *buffer);
void psvi_vk_drop_buffer(psvi_vk *vk, psvi_vk_buffer *buffer);
// The buffer of a name; NULL: no buffer has it.
const psvi_vk_buffer *psvi_vk_find_buffer(const psvi_vk *vk, uint32_t name);
uint64_t psvi_vk_buffer_bytes(psv_context *context, uint32_t name);
void *psvi_vk_alloc(psv_context *context, uint64_t bytes);
void psvi_vk_release(psv_context *context, void *address);
psv_status psvi_vk_name_buffer(psv_context *context, void *handle, uint64_t bytes, uint32_t *name);
void *psvi_vk_handle_of(psv_context *context, uint32_t name);
psv_status psvi_vk_copy(psv_context *context, void *target, const void *source, uint64_t bytes, psvi_copy_kind kind);
psv_status psvi_vk_fill(psv_context *context, void *target, int byte, uint64_t bytes);
void psvi_vk_close_buffers(psvi_vk *vk);

// vulkan_queue.c. The open batch, with room for a kernel more.
psv_status psvi_vk_begin(psv_context *context, psvi_vk_batch **batch);
// A barrier in front of the next kernel or copy; `users`: its stages.
void psvi_vk_order(psvi_vk *vk, psvi_vk_batch *batch, uint32_t users);
// A barrier for all memory, behind all that was before.
void psvi_vk_order_all(psvi_vk *vk, psvi_vk_batch *batch);
psv_status psvi_vk_submit(psv_context *context);
// Submits what a call left open, with the semaphores that it signals.
void psvi_vk_end_call(psv_context *context);
psv_status psvi_vk_set_semaphores(psv_context *context, const psv_vulkan_semaphore *waits, uint32_t wait_count,
                                  const psv_vulkan_semaphore *signals, uint32_t signal_count);
// Sets and words of a batch's kernels; a batch that was not made is dropped without a word.
psv_status psvi_vk_make_runs(psv_context *context, psvi_vk_batch *batch);
void psvi_vk_drop_runs(psvi_vk *vk, psvi_vk_batch *batch);
psv_status psvi_vk_wait(psv_context *context, uint64_t number);
psv_status psvi_vk_synchronize(psv_context *context);
psv_status psvi_vk_open_queue(psv_context *context);
void psvi_vk_close_queue(psvi_vk *vk);
psv_status psvi_vk_create_mark(psv_context *context, void **event);
void psvi_vk_destroy_mark(psv_context *context, void *event);
void psvi_vk_record_mark(psv_context *context, void *event);
bool psvi_vk_mark_done(psv_context *context, void *event);
double psvi_vk_mark_ms(psv_context *context, void *begin, void *end);

// vulkan_record.c. What psvi_vk_begin gives while calls are recorded.
psv_status psvi_vk_record_room(psv_context *context, psvi_vk_batch **batch);
void psvi_vk_end_recorded_call(psvi_vk *vk);
psv_status psvi_vk_refuse_wait(psv_context *context); // of what has to wait for the device
bool psvi_vk_is_recording(psv_context *context);
// Errors: PSV_ERROR_UNSUPPORTED (a device of the context's own). `what`: begins the sentence.
psv_status psvi_vk_check_callers(psv_context *context, const char *what);
psv_status psvi_vk_create_record(psv_context *context, void **state);
void psvi_vk_destroy_record(psv_context *context, void *state);
psv_status psvi_vk_begin_record(psv_context *context, void *state, void *commands);
void psvi_vk_end_record(psv_context *context, void *state);

// vulkan_program.c
psv_status psvi_vk_open_layouts(psv_context *context);
psv_status psvi_vk_run(psv_context *context, const psvi_gpu_call *call);
void psvi_vk_close_programs(psvi_vk *vk);

#endif
