// Helpers for the host code of the OpenGL backend.
//
// Addresses: OpenGL names its buffers by numbers. Inside the library one number stands for a buffer's name and a byte
// in it, in the form of an address that is never followed: name * 2^40 + byte. So the modules carve, compare and pass
// on memory of this backend as they do elsewhere. psvi_buffer_address and psvi_buffer_at (context.h) go between the
// two.
//
// Kernels: compute shaders, embedded as text, compiled once for each set of defines. All of them have the same inputs:
// storage blocks, bound by number, and one array of words. The first PSVI_GL_BLOCKS words say where each block's data
// begin, in words from the start of the bound range, because a range can begin at multiples of the driver's alignment
// only. The rest are the kernel's own parameters.
#ifndef PAIRSIEVE_CORE_GL_BACKEND_H
#define PAIRSIEVE_CORE_GL_BACKEND_H

#include "../context.h"
#include "gl_functions.h"

#define PSVI_GL_BLOCKS 12u // storage blocks of a kernel at most
#define PSVI_GL_PARAMS 40u // words of a kernel's own parameters at most
#define PSVI_GL_DEFINES 256u

// GLSL text, embedded at build time. `name` is the file's.
typedef struct psvi_gl_source {
    const char *name, *text;
} psvi_gl_source;

extern const psvi_gl_source psvi_glsl_gl_common; // the beginning of every kernel
extern const psvi_gl_source psvi_glsl_fill_words;

// A windowless context of our own.
typedef struct psvi_gl_own {
    void *egl; // libEGL, opened at run time
    void *display, *context;
    void *functions[4];
} psvi_gl_own;

// What large buffers are made with (gl_large_pages.c): functions of OpenGL and of CUDA's driver.
enum { PSVI_GL_NONE = -1, PSVI_GL_NOT_ASKED = -2 };
typedef struct psvi_gl_large_pages {
    int device; // CUDA's number of OpenGL's device; PSVI_GL_NONE; PSVI_GL_NOT_ASKED: no large buffer was wanted yet
    void (*CreateMemoryObjects)(GLsizei, GLuint *);
    void (*DeleteMemoryObjects)(GLsizei, const GLuint *);
    void (*ImportMemoryFd)(GLuint, GLuint64, GLenum, GLint);
    void (*NamedBufferStorageMem)(GLuint, GLsizeiptr, GLuint, GLuint64);
    void (*GetUnsignedBytei_v)(GLenum, GLuint, GLubyte *);
    int (*granularity)(size_t *, const void *, int);
    int (*create)(unsigned long long *, size_t, const void *, unsigned long long);
    int (*export_handle)(void *, unsigned long long, int, unsigned long long);
    int (*release)(unsigned long long);
} psvi_gl_large_pages;

typedef struct psvi_gl_program {
    struct psvi_gl_program *next;
    const psvi_gl_source *source;
    char defines[PSVI_GL_DEFINES];
    GLuint name;
} psvi_gl_program;

typedef struct psvi_gl {
    psvi_gl_functions f;
    psvi_gl_own own;
    psvi_gl_large_pages large_pages;
    uint64_t block_bytes; // largest storage block
    uint32_t alignment;   // of a bound range's first byte
    uint32_t shared_bytes;
    uint32_t subgroup_size; // 0 where subgroup votes are not offered
    bool software;          // llvmpipe: one processor thread runs a whole group
    bool prepare_only;      // psvi_gl_run compiles the kernel and does not run it
    uint32_t radix_choice;  // 1 + index of the sorter's variant that was the fastest; 0: not measured yet
    psvi_gl_program *programs;
    const psvi_gl_program *used; // the last to be run in this call
    char identity[256];          // vendor, renderer and version: program binaries belong to them
} psvi_gl;

static inline psvi_gl *psvi_gl_of(psv_context *context) { return (psvi_gl *)context->gl; }

typedef struct psvi_gl_block {
    const void *address; // NULL: nothing is bound
    uint64_t bytes;      // from there on
} psvi_gl_block;

// One run of a kernel.
typedef struct psvi_gl_call {
    const psvi_gl_source *source;
    const char *defines; // "#define ...\n" lines, or NULL
    psvi_gl_block blocks[PSVI_GL_BLOCKS];
    uint32_t params[PSVI_GL_PARAMS];
    uint64_t groups;      // in all; kernels number them with group_number()
    const void *indirect; // or three words: numbers of groups, in the backend's memory
} psvi_gl_call;

// Compiles the kernel if that was not done yet, binds and enqueues it. It sees all work enqueued before. Errors:
// PSV_ERROR_UNSUPPORTED (a block over the driver's limit), PSV_ERROR_DEVICE (compiler, lost context).
psv_status psvi_gl_run(psv_context *context, const psvi_gl_call *call);

// Numbers of groups for `groups` in all: x at most 65535.
void psvi_gl_grid(uint64_t groups, uint32_t grid[2]);

static inline uint32_t psvi_gl_name_of(const void *address) { return (uint32_t)((uint64_t)(uintptr_t)address >> 40); }
static inline uint64_t psvi_gl_offset_of(const void *address) {
    return (uint64_t)(uintptr_t)address & (((uint64_t)1 << 40) - 1);
}

// Makes a context of our own the thread's current one, where this one has its own.
void psvi_gl_enter(psv_context *context);

// Errors that the driver has recorded since the last call, as a status. `what` begins the sentence.
psv_status psvi_gl_status(psv_context *context, const char *what);

// Opens EGL and makes a context without a window on device `device`; *load then finds functions. On failure nothing is
// held and the sentence is set.
typedef void *(*psvi_gl_load)(const char *name);
psv_status psvi_gl_open_own(psv_context *context, int device, psvi_gl_own *own, psvi_gl_load *load);
void psvi_gl_enter_own(const psvi_gl_own *own);
void psvi_gl_close_own(psvi_gl_own *own);

// gl_large_pages.c. A buffer of that size with large pages; 0 where there are none, and for small buffers: then it is a
// usual one's turn.
void psvi_gl_find_large_pages(psvi_gl *gl, psvi_gl_load load, bool offered);
GLuint psvi_gl_large_buffer(psvi_gl *gl, uint64_t bytes);

// Program binaries in the user's cache folder. A file that cannot be read or written counts as missing.
bool psvi_gl_load_binary(psvi_gl *gl, const char *const texts[4], GLuint program);
void psvi_gl_keep_binary(psvi_gl *gl, const char *const texts[4], GLuint program);
void psvi_gl_delete_programs(psvi_gl *gl);

#endif
