// What the backends of compute shaders, OpenGL and Vulkan, offer to the host code of the layers above. That code is
// written once and serves both.
//
// Addresses: both APIs name their buffers by handles. Inside the library one number stands for a buffer's name and a
// byte in it, in the form of an address that is never followed: name * 2^40 + byte. So the modules carve, compare and
// pass on memory of these backends as they do elsewhere. psvi_buffer_address and psvi_buffer_at (context.h) go between
// the two.
//
// Kernels: compute shaders in GLSL. OpenGL compiles their text, once for each set of defines. Vulkan takes SPIR-V that
// was made of the same text when the library was built, for each set of defines that the host code uses. All kernels
// have the same inputs: storage blocks, bound by number, and one array of words. The first PSVI_GPU_BLOCKS words say
// where each block's data begin, in words from the start of the bound range: a range can begin only at multiples of the
// driver's alignment. The rest are the kernel's own parameters.
#ifndef PAIRSIEVE_CORE_GPU_BACKEND_H
#define PAIRSIEVE_CORE_GPU_BACKEND_H

#include "../context.h"
#include "gpu_source.h"

#define PSVI_GPU_BLOCKS 12u // storage blocks of a kernel at most
#define PSVI_GPU_PARAMS 40u // words of a kernel's own parameters at most
#define PSVI_GPU_WORDS (PSVI_GPU_BLOCKS + PSVI_GPU_PARAMS)
#define PSVI_GPU_DEFINES 320u

extern const psvi_gpu_source psvi_glsl_gpu_common; // the beginning of every kernel
extern const psvi_gpu_source psvi_glsl_fill_words;

typedef struct psvi_gpu_block {
    const void *address; // NULL: nothing is bound
    uint64_t bytes;      // from there on; 0: nothing is bound
} psvi_gpu_block;

// One run of a kernel.
typedef struct psvi_gpu_call {
    const psvi_gpu_source *source;
    const char *defines; // "#define ...\n" lines, or NULL
    psvi_gpu_block blocks[PSVI_GPU_BLOCKS];
    uint32_t params[PSVI_GPU_PARAMS];
    uint64_t groups;      // in all; kernels number them with group_number()
    const void *indirect; // or three words: numbers of groups, in the backend's memory
} psvi_gpu_call;

// The beginning of psv_context.gpu on both backends.
typedef struct psvi_gpu {
    psv_status (*run)(psv_context *context, const psvi_gpu_call *call);
    uint64_t (*buffer_bytes)(psv_context *context, uint32_t name); // size of a buffer; 0: there is none
    uint64_t block_bytes;                                          // largest storage block
    uint32_t alignment;                                            // of a bound range's first byte
    uint32_t shared_bytes;
    uint32_t subgroup_size; // 0 where subgroup votes are not offered
    bool software;          // llvmpipe, lavapipe: one processor thread runs a whole group
    bool prepare_only;      // psvi_gpu_run compiles the kernel and does not run it
    uint32_t radix_choice;  // 1 + index of the sorter's variant that was the fastest; 0: not measured yet
} psvi_gpu;

static inline psvi_gpu *psvi_gpu_of(psv_context *context) { return (psvi_gpu *)context->gpu; }

static inline uint32_t psvi_gpu_name_of(const void *address) { return (uint32_t)((uint64_t)(uintptr_t)address >> 40); }
static inline uint64_t psvi_gpu_offset_of(const void *address) {
    return (uint64_t)(uintptr_t)address & (((uint64_t)1 << 40) - 1);
}

// Makes the kernel ready if that was not done yet, binds and enqueues it. It sees all work enqueued before. Errors:
// PSV_ERROR_UNSUPPORTED (a block over the driver's limit), PSV_ERROR_DEVICE (compiler, lost device), PSV_ERROR_MEMORY.
static inline psv_status psvi_gpu_run(psv_context *context, const psvi_gpu_call *call) {
    return psvi_gpu_of(context)->run(context, call);
}

// Bytes that lie behind an address in its buffer, in whole words, as far as a storage block reaches.
uint64_t psvi_gpu_rest_of_buffer(psv_context *context, const void *address);

// Numbers of groups for `groups` in all: x at most 65535.
void psvi_gpu_grid(uint64_t groups, uint32_t grid[2]);

// The range of a buffer that is bound for a block: from the last aligned byte before its data on, in whole words.
typedef struct psvi_gpu_range {
    uint32_t name; // 0: nothing is bound
    uint64_t first, bytes;
} psvi_gpu_range;

// The ranges and the words of a call. Errors: PSV_ERROR_UNSUPPORTED (a block over the driver's limit).
psv_status psvi_gpu_bind(psv_context *context, const psvi_gpu_call *call, psvi_gpu_range ranges[PSVI_GPU_BLOCKS],
                         uint32_t words[PSVI_GPU_WORDS]);

// A hash of what a driver says of itself: measurements that are kept (sort/src/auto.c) belong to one driver.
uint32_t psvi_gpu_driver_hash(const char *identity);

#endif
