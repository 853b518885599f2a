// The world's body arrays as OpenGL buffers, one array a buffer. With CUDA they are shared with OpenGL and copied on
// the device; with the CPU backend they are persistently mapped; where sharing is refused they go through the host.
#ifndef PAIRSIEVE_VIEW_STREAMS_H
#define PAIRSIEVE_VIEW_STREAMS_H

#include "../render/gl_util.h"
#include "pairsieve/sim.h"

typedef enum view_stream_name {
    VIEW_STREAM_POSITIONS = 0,
    VIEW_STREAM_ROTATIONS = 1,
    VIEW_STREAM_VELOCITIES = 2,
    VIEW_STREAM_SHAPES = 3,
    VIEW_STREAM_BOXES = 4,
    VIEW_STREAM_PAIRS = 5,
    VIEW_STREAM_KEYS = 6,     // written by keys.comp, sorted by CUDA; used with interop only
    VIEW_STREAM_ORDER = 7,    // slots in sorted order
    VIEW_STREAM_PICTURE = 8,  // a ray-traced picture, four bytes a pixel
    VIEW_STREAM_CONTACTS = 9, // psv_contact; of worlds with contact events
    VIEW_STREAM_COUNT = 10
} view_stream_name;

#define VIEW_STREAM_REGIONS 3 // mapped buffers: the GPU may still read two older frames

typedef struct view_stream {
    GLuint buffer;
    uint64_t room;   // bytes of a region
    uint64_t offset; // of the current region
    uint64_t bytes;  // in use
    int region;
    char *mapped;   // NULL with interop
    void *resource; // cudaGraphicsResource_t, NULL without
} view_stream;

typedef enum view_transfer {
    VIEW_TRANSFER_MAPPED = 0,  // CPU backend: written straight into mapped buffers
    VIEW_TRANSFER_INTEROP = 1, // CUDA: device to device
    VIEW_TRANSFER_HOST = 2     // CUDA, sharing refused: through the host
} view_transfer;

typedef struct view_streams {
    psv_context *context;
    view_transfer transfer;
    view_message refusal; // why not interop
    view_stream streams[VIEW_STREAM_COUNT];
    GLsync fences[VIEW_STREAM_REGIONS];
    uint64_t frame;
    uint64_t slots;    // bodies held
    uint64_t pairs;    // pairs held
    uint64_t contacts; // likewise
} view_streams;

void view_create_streams(view_streams *streams, psv_context *context, bool refuse_interop);
void view_destroy_streams(view_streams *streams);

// Copies the arrays that `wanted` names (bits of view_stream_name) from the world as it is now. Blocks for pairs and
// contacts, and where the host is on the way. False with a message when memory or the device failed.
bool view_update_streams(view_streams *streams, psv_world *world, uint32_t wanted, view_message *message);

// Room for `bytes` in a stream that something else fills; keeps its name valid.
bool view_reserve_stream(view_streams *streams, view_stream_name name, uint64_t bytes, view_message *message);

// Next region of a mapped stream, to be written by the caller; NULL with interop.
void *view_stream_target(view_streams *streams, view_stream_name name);

// Call after the last draw that reads the streams.
void view_finish_streams(view_streams *streams);

// Binds bytes [first, first + bytes) of a stream to a shader storage binding.
void view_bind_stream(const view_streams *streams, view_stream_name name, GLuint binding, uint64_t first,
                      uint64_t bytes);

const char *view_transfer_name(view_transfer transfer);

#endif
