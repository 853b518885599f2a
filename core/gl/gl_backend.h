// Helpers for the host code of the OpenGL backend. What the layers above use is in gpu/gpu_backend.h.
#ifndef PAIRSIEVE_CORE_GL_BACKEND_H
#define PAIRSIEVE_CORE_GL_BACKEND_H

#include "../gpu/gpu_backend.h"
#include "gl_functions.h"

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
    const psvi_gpu_source *source;
    char defines[PSVI_GPU_DEFINES];
    GLuint name;
} psvi_gl_program;

typedef struct psvi_gl {
    psvi_gpu gpu; // first
    psvi_gl_functions f;
    psvi_gl_own own;
    psvi_gl_large_pages large_pages;
    psvi_gl_program *programs;
    char identity[256]; // vendor, renderer and version: program binaries belong to them
} psvi_gl;

static inline psvi_gl *psvi_gl_of(psv_context *context) { return (psvi_gl *)context->gpu; }

// psvi_gpu.run
psv_status psvi_gl_run(psv_context *context, const psvi_gpu_call *call);

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
