// The operations that a backend offers to the modules: one table per backend.
#ifndef PAIRSIEVE_CORE_BACKEND_H
#define PAIRSIEVE_CORE_BACKEND_H

#include "pairsieve/core.h"

typedef enum psvi_copy_kind { PSVI_COPY_UPLOAD, PSVI_COPY_DOWNLOAD, PSVI_COPY_INSIDE } psvi_copy_kind;

typedef struct psvi_backend_ops {
    const char *name;
    bool preferred;     // «auto» takes the backend where it is available
    bool immediate;     // its memory is host memory, and a call has finished its work when it returns
    bool names_buffers; // its memory is objects with names (psv_buffer.gl_name), not addresses
    bool (*available)(void);
    psv_status (*open)(psv_context *context, const psv_context_def *def);
    void (*close)(psv_context *context);
    void *(*alloc)(psv_context *context, uint64_t bytes);
    void (*release)(psv_context *context, void *address);
    // Enqueues a copy or fill on the context's stream. Host memory of an upload may be reused when the call returns.
    psv_status (*copy)(psv_context *context, void *target, const void *source, uint64_t bytes, psvi_copy_kind kind);
    psv_status (*fill)(psv_context *context, void *target, int byte, uint64_t bytes);
    // Zeros in memory that `alloc` has just given, which takes no memory of the machine before it is used; NULL: fill.
    void (*clear_fresh)(psv_context *context, void *address, uint64_t bytes);
    psv_status (*synchronize)(psv_context *context);
    psv_status (*memory_info)(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes);
    // True when the address can be read by the backend's kernels; of objects with names it is the last byte's.
    bool (*owns_address)(psv_context *context, const void *address);
    bool (*capturing)(psv_context *context); // the stream is captured into a graph, or calls are recorded
    // Borrows another stream, ordered behind the one before; NULL where there are no streams.
    psv_status (*use_stream)(psv_context *context, void *stream);
    // Another stream of the context's device, for work beside the context's own. NULL where there are no streams.
    psv_status (*create_stream)(psv_context *context, void **stream);
    void (*destroy_stream)(psv_context *context, void *stream);
    // What the context's stream gets next comes behind the event; and the calling thread waits for the event.
    psv_status (*wait_event)(psv_context *context, void *event);
    psv_status (*finish_event)(psv_context *context, void *event);
    // Time marks for the profile; NULL on the CPU, where the wall clock serves.
    psv_status (*create_event)(psv_context *context, void **event);
    void (*destroy_event)(psv_context *context, void *event);
    void (*record_event)(psv_context *context, void *event);
    bool (*event_done)(psv_context *context, void *event);
    double (*event_ms)(psv_context *context, void *begin, void *end);
    // Zeroed host memory that kernels write to, at *device for them; NULL where there is none, or none left.
    void *(*alloc_told)(psv_context *context, uint64_t bytes, void **device);
    void (*release_told)(psv_context *context, void *address, uint64_t bytes);
    // At the end of each call of the library; NULL: nothing has to be done.
    void (*end_call)(psv_context *context);
    // A name for a VkBuffer of the caller's, and the VkBuffer of a name; NULL on other backends than Vulkan.
    psv_status (*name_buffer)(psv_context *context, void *handle, uint64_t bytes, uint32_t *name);
    void *(*handle_of)(psv_context *context, uint32_t name);
    // Records: calls go into a command buffer of the caller's. NULL on other backends than Vulkan, as the last one is.
    psv_status (*create_record)(psv_context *context, void **state);
    void (*destroy_record)(psv_context *context, void *state);
    psv_status (*begin_record)(psv_context *context, void *state, void *commands);
    void (*end_record)(psv_context *context, void *state);
    psv_status (*set_semaphores)(psv_context *context, const psv_vulkan_semaphore *waits, uint32_t wait_count,
                                 const psv_vulkan_semaphore *signals, uint32_t signal_count);
} psvi_backend_ops;

// The operations of a backend; NULL when it is not in this build. Where the list is: backend_list.h.
const psvi_backend_ops *psvi_backend_ops_of(psv_backend backend);

// PSV_BACKEND_AUTO becomes the backend that it stands for on this machine; other values are returned unchanged.
psv_backend psvi_resolve_backend(psv_backend backend);

// «auto, cpu, ...»: all backends, or those in this build. Returns `text`.
#define PSVI_BACKEND_NAMES_BYTES 128
const char *psvi_backend_names(bool built, char *text, size_t bytes);

#endif
