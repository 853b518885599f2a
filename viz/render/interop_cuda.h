// Buffers shared between CUDA and OpenGL. Without CUDA in the build every call returns false.
#ifndef PAIRSIEVE_VIEW_INTEROP_CUDA_H
#define PAIRSIEVE_VIEW_INTEROP_CUDA_H

#include "../app/streams.h"

// True when OpenGL draws on the CUDA device that the context uses. Otherwise the message says why not.
bool view_cuda_can_share(view_message *message);

bool view_cuda_register(view_stream *stream, view_message *message);
void view_cuda_unregister(view_stream *stream);

// Copies source i to stream i on the device, in the order of `cuda_stream`.
bool view_cuda_copy(view_stream *const *targets, const psv_buffer *sources, int count, void *cuda_stream,
                    view_message *message);

// Gives CUDA the streams' memory until view_cuda_unmap.
bool view_cuda_map(view_stream *const *streams, psv_buffer *buffers, int count, void *cuda_stream,
                   view_message *message);
void view_cuda_unmap(view_stream *const *streams, int count, void *cuda_stream);

#endif
