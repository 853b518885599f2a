#include "interop_cuda.h"

#if PSV_HAVE_CUDA

#include <cuda_runtime_api.h>

#include <cuda_gl_interop.h>

#define MAX_MAPPED 8

static bool failed(cudaError_t error, const char *what, view_message *message) {
    if (error == cudaSuccess) return false;
    (void)cudaGetLastError(); // a refusal here must not surface in a later call of the library
    view_say(message, "CUDA refused to %s: %s", what, cudaGetErrorString(error));
    return true;
}

bool view_cuda_can_share(view_message *message) {
    unsigned int count = 0;
    int devices[8];
    int current = 0;
    if (failed(cudaGetDevice(&current), "name its device", message)) return false;
    cudaError_t error = cudaGLGetDevices(&count, devices, 8, cudaGLDeviceListAll);
    if (failed(error, "share buffers with this OpenGL device", message)) return false;
    for (unsigned int i = 0; i < count; ++i) {
        if (devices[i] == current) return true;
    }
    view_say(message, "OpenGL draws on another device than CUDA device %d", current);
    return false;
}

bool view_cuda_register(view_stream *stream, view_message *message) {
    cudaGraphicsResource_t resource = NULL;
    cudaError_t error = cudaGraphicsGLRegisterBuffer(&resource, stream->buffer, cudaGraphicsRegisterFlagsNone);
    if (failed(error, "register an OpenGL buffer", message)) return false;
    stream->resource = resource;
    return true;
}

void view_cuda_unregister(view_stream *stream) {
    if (stream->resource != NULL) (void)cudaGraphicsUnregisterResource(stream->resource);
    stream->resource = NULL;
}

bool view_cuda_map(view_stream *const *streams, psv_buffer *buffers, int count, void *cuda_stream,
                   view_message *message) {
    cudaGraphicsResource_t resources[MAX_MAPPED];
    for (int i = 0; i < count; ++i) {
        resources[i] = streams[i]->resource;
    }
    if (failed(cudaGraphicsMapResources(count, resources, cuda_stream), "map OpenGL buffers", message)) return false;
    for (int i = 0; i < count; ++i) {
        void *address = NULL;
        size_t bytes = 0;
        cudaError_t error = cudaGraphicsResourceGetMappedPointer(&address, &bytes, resources[i]);
        if (failed(error, "address an OpenGL buffer", message)) {
            (void)cudaGraphicsUnmapResources(count, resources, cuda_stream);
            return false;
        }
        buffers[i] = psv_buffer_of(address, bytes);
    }
    return true;
}

void view_cuda_unmap(view_stream *const *streams, int count, void *cuda_stream) {
    cudaGraphicsResource_t resources[MAX_MAPPED];
    for (int i = 0; i < count; ++i) {
        resources[i] = streams[i]->resource;
    }
    (void)cudaGraphicsUnmapResources(count, resources, cuda_stream);
}

bool view_cuda_copy(view_stream *const *targets, const psv_buffer *sources, int count, void *cuda_stream,
                    view_message *message) {
    psv_buffer mapped[MAX_MAPPED];
    if (!view_cuda_map(targets, mapped, count, cuda_stream, message)) return false;
    bool good = true;
    for (int i = 0; i < count && good; ++i) {
        cudaError_t error = cudaMemcpyAsync(psv_buffer_address(mapped[i]), psv_buffer_address(sources[i]),
                                            targets[i]->bytes, cudaMemcpyDeviceToDevice, cuda_stream);
        good = !failed(error, "copy bodies to OpenGL", message);
    }
    view_cuda_unmap(targets, count, cuda_stream);
    return good;
}

#else

bool view_cuda_can_share(view_message *message) {
    view_say(message, "this build has no CUDA");
    return false;
}

bool view_cuda_register(view_stream *stream, view_message *message) {
    (void)stream;
    return view_cuda_can_share(message);
}

void view_cuda_unregister(view_stream *stream) { (void)stream; }

bool view_cuda_copy(view_stream *const *targets, const psv_buffer *sources, int count, void *cuda_stream,
                    view_message *message) {
    (void)targets, (void)sources, (void)count, (void)cuda_stream;
    return view_cuda_can_share(message);
}

bool view_cuda_map(view_stream *const *streams, psv_buffer *buffers, int count, void *cuda_stream,
                   view_message *message) {
    (void)streams, (void)buffers, (void)count, (void)cuda_stream;
    return view_cuda_can_share(message);
}

void view_cuda_unmap(view_stream *const *streams, int count, void *cuda_stream) {
    (void)streams, (void)count, (void)cuda_stream;
}

#endif
