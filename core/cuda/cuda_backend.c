// The CUDA backend: device memory, one stream, events.
#include "cuda_backend.h"

#include <stdio.h>
#include <string.h>

psv_status psvi_cuda_status(psv_context *context, cudaError_t error, const char *what) {
    if (error == cudaSuccess) return PSV_OK;
    (void)cudaGetLastError(); // clears errors that are not sticky, so that they are not reported twice
    psv_status status = error == cudaErrorMemoryAllocation ? PSV_ERROR_MEMORY : PSV_ERROR_DEVICE;
    return psvi_fail(context, status, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

static bool cuda_available(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return count > 0;
}

static int attribute(int device, enum cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

static psv_status read_info(psv_context *context) {
    int device = context->device;
    struct cudaDeviceProp properties;
    psv_status status =
        psvi_cuda_status(context, cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (status != PSV_OK) return status;
    psvi_device_info *info = &context->info;
    (void)snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    status = psvi_cuda_status(context, psvi_cuda_code_capability(&info->code_capability),
                              "cudaFuncGetAttributes (is there code for this device in the build?)");
    if (status != PSV_OK) return status;
    (void)cudaDriverGetVersion(&info->driver_version);
    (void)cudaRuntimeGetVersion(&info->runtime_version);
    info->capability = 10 * properties.major + properties.minor;
    info->multiprocessors = properties.multiProcessorCount;
    info->shared_bytes_per_block = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    info->shared_bytes_per_multiprocessor = attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    info->l2_bytes = properties.l2CacheSize;
    info->cooperative_launch = attribute(device, cudaDevAttrCooperativeLaunch) != 0;
    info->cluster_launch = attribute(device, cudaDevAttrClusterLaunch) != 0 && info->code_capability >= 90;
    info->memory_bytes = properties.totalGlobalMem;
    return PSV_OK;
}

static psv_status cuda_open(psv_context *context, const psv_context_def *def) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        (void)cudaGetLastError();
        return psvi_fail(context, PSV_ERROR_DEVICE, "no CUDA device: %s",
                         error != cudaSuccess ? cudaGetErrorString(error) : "the driver lists none");
    }
    if (def->device >= count)
        return psvi_fail(context, PSV_ERROR_DEVICE,
                         "def.device is %d; this machine has %d CUDA device%s, numbered from 0", def->device, count,
                         count == 1 ? "" : "s");
    psv_status status = psvi_cuda_status(context, cudaSetDevice(def->device), "cudaSetDevice");
    if (status == PSV_OK) status = read_info(context);
    if (status != PSV_OK) return status;
    context->worker_count = 1;
    if (def->borrow_stream) {
        context->stream = def->stream;
        return PSV_OK;
    }
    cudaStream_t stream = NULL;
    status = psvi_cuda_status(context, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    context->stream = stream;
    context->owns_stream = status == PSV_OK;
    return status;
}

static void cuda_close(psv_context *context) {
    if (context->owns_stream) (void)cudaStreamDestroy(context->stream);
}

static void *cuda_alloc(psv_context *context, uint64_t bytes) {
    void *address = NULL;
    (void)cudaSetDevice(context->device);
    if (cudaMalloc(&address, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return address;
}

static void cuda_release(psv_context *context, void *address) {
    (void)context;
    (void)cudaFree(address);
}

psv_status psvi_cuda_alloc_pinned(psv_context *context, uint64_t bytes, void **host, void **device) {
    const psv_allocator *own = &context->pinned_allocator;
    *host = NULL;
    (void)cudaSetDevice(context->device);
    if (own->allocate != NULL)
        *host = own->allocate(bytes, own->user);
    else if (cudaHostAlloc(host, bytes, cudaHostAllocMapped) != cudaSuccess)
        (void)cudaGetLastError();
    if (*host == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no page-locked host memory for %llu bytes",
                         (unsigned long long)bytes);
    memset(*host, 0, bytes);
    return psvi_cuda_status(context, cudaHostGetDevicePointer(device, *host, 0), "cudaHostGetDevicePointer");
}

void psvi_cuda_free_pinned(psv_context *context, const volatile void *host, uint64_t bytes) {
    const psv_allocator *own = &context->pinned_allocator;
    void *address = (void *)(uintptr_t)host;
    if (address == NULL) return;
    if (own->release == NULL) {
        (void)cudaFreeHost(address);
        return;
    }
    (void)cudaStreamSynchronize(context->stream); // a kernel may still be about to write there
    own->release(address, bytes, own->user);
}

static psv_status cuda_copy(psv_context *context, void *target, const void *source, uint64_t bytes,
                            psvi_copy_kind kind) {
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                cudaMemcpyDeviceToDevice};
    return psvi_cuda_status(context, cudaMemcpyAsync(target, source, bytes, kinds[kind], context->stream),
                            "cudaMemcpyAsync");
}

static psv_status cuda_fill(psv_context *context, void *target, int byte, uint64_t bytes) {
    return psvi_cuda_status(context, cudaMemsetAsync(target, byte, bytes, context->stream), "cudaMemsetAsync");
}

static psv_status cuda_synchronize(psv_context *context) {
    psv_status status = psvi_cuda_status(context, cudaGetLastError(), "an earlier kernel launch");
    if (status != PSV_OK) return status;
    return psvi_cuda_status(context, cudaStreamSynchronize(context->stream), "cudaStreamSynchronize");
}

static psv_status cuda_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    size_t free_size = 0, total_size = 0;
    psv_status status = psvi_cuda_status(context, cudaMemGetInfo(&free_size, &total_size), "cudaMemGetInfo");
    *free_bytes = free_size;
    *total_bytes = total_size;
    return status;
}

static bool cuda_owns_address(psv_context *context, const void *address) {
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    if (attributes.type == cudaMemoryTypeManaged) return true;
    return attributes.devicePointer != NULL &&
           (attributes.type == cudaMemoryTypeHost || attributes.device == context->device);
}

static bool is_capturing(cudaStream_t stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
    (void)cudaGetLastError();
    return true; // e.g. the legacy stream while another one is captured: leave it alone
}

static bool cuda_capturing(psv_context *context) { return is_capturing(context->stream); }

// A stream that is being captured cannot be waited for from outside its graph, nor wait for work outside.
static psv_status wait_for_stream(psv_context *context, cudaStream_t before, cudaStream_t after) {
    if (is_capturing(before) || is_capturing(after)) return PSV_OK;
    cudaEvent_t event = NULL;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error == cudaSuccess) error = cudaEventRecord(event, before);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(after, event, 0);
    if (event != NULL) (void)cudaEventDestroy(event); // once it has happened
    return psvi_cuda_status(context, error, "cudaStreamWaitEvent");
}

static psv_status cuda_use_stream(psv_context *context, void *stream) {
    if (stream == context->stream) return PSV_OK;
    psv_status status = context->owns_stream ? cuda_synchronize(context) : PSV_OK;
    if (status == PSV_OK && !context->owns_stream) status = wait_for_stream(context, context->stream, stream);
    if (status != PSV_OK) return status;
    cuda_close(context);
    context->stream = stream;
    context->owns_stream = false;
    return PSV_OK;
}

static psv_status cuda_create_stream(psv_context *context, void **stream) {
    cudaStream_t made = NULL;
    (void)cudaSetDevice(context->device);
    psv_status status =
        psvi_cuda_status(context, cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
    *stream = made;
    return status;
}

static void cuda_destroy_stream(psv_context *context, void *stream) {
    (void)context;
    (void)cudaStreamDestroy(stream);
}

static psv_status cuda_wait_event(psv_context *context, void *event) {
    return psvi_cuda_status(context, cudaStreamWaitEvent(context->stream, event, 0), "cudaStreamWaitEvent");
}

static psv_status cuda_finish_event(psv_context *context, void *event) {
    return psvi_cuda_status(context, cudaEventSynchronize(event), "cudaEventSynchronize");
}

static psv_status cuda_create_event(psv_context *context, void **event) {
    cudaEvent_t made = NULL;
    psv_status status = psvi_cuda_status(context, cudaEventCreate(&made), "cudaEventCreate");
    *event = made;
    return status;
}

static void cuda_destroy_event(psv_context *context, void *event) {
    (void)context;
    (void)cudaEventDestroy(event);
}

static void cuda_record_event(psv_context *context, void *event) { (void)cudaEventRecord(event, context->stream); }

// Another thread's capture that forbids such questions is not harmed by this one.
static bool cuda_event_done(psv_context *context, void *event) {
    (void)context;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    cudaError_t error = cudaEventQuery(event);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

static double cuda_event_ms(psv_context *context, void *begin, void *end) {
    (void)context;
    float ms = 0;
    if (cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return ms;
}

static void *cuda_alloc_told(psv_context *context, uint64_t bytes, void **device) {
    void *host = NULL;
    if (psvi_cuda_alloc_pinned(context, bytes, &host, device) == PSV_OK) return host;
    psvi_cuda_free_pinned(context, host, bytes);
    return NULL;
}

static void cuda_release_told(psv_context *context, void *address, uint64_t bytes) {
    psvi_cuda_free_pinned(context, address, bytes);
}

const psvi_backend_ops psvi_cuda_ops = {
    .name = "cuda",
    .preferred = true,
    .available = cuda_available,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .synchronize = cuda_synchronize,
    .memory_info = cuda_memory_info,
    .owns_address = cuda_owns_address,
    .capturing = cuda_capturing,
    .use_stream = cuda_use_stream,
    .create_stream = cuda_create_stream,
    .destroy_stream = cuda_destroy_stream,
    .wait_event = cuda_wait_event,
    .finish_event = cuda_finish_event,
    .create_event = cuda_create_event,
    .destroy_event = cuda_destroy_event,
    .record_event = cuda_record_event,
    .event_done = cuda_event_done,
    .event_ms = cuda_event_ms,
    .alloc_told = cuda_alloc_told,
    .release_told = cuda_release_told,
};
