// Large buffers with large pages. NVIDIA's driver maps the buffers of OpenGL by small pages. Accesses all over 256 MB
// run at an eighth of their speed in the same driver's CUDA memory; all over 1 GB, at less than a hundredth. OpenGL
// takes memory of other APIs over with its pages (GL_EXT_memory_object_fd). So large buffers are made of memory that
// CUDA's driver library, which comes with the OpenGL driver and is opened at run time, gives out. Nothing else of CUDA
// is used, no context of it is made, and where anything is missing buffers are usual ones.
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "gl_backend.h"

#define LEAST_BYTES ((uint64_t)16 << 20) // smaller buffers gain nothing
#define DEVICE_UUID 0x9597               // GL_EXT_memory_object
#define HANDLE_OPAQUE_FD 0x9586          // GL_EXT_memory_object_fd

// Of cuda.h, which need not be there.
enum { CUDA_PINNED = 1, CUDA_FILE_DESCRIPTOR = 1, CUDA_DEVICE_MEMORY = 1 };
typedef struct cuda_memory_kind {
    int type, handle_types;
    struct {
        int type, id;
    } location;
    void *unused;
    unsigned char flags[8];
} cuda_memory_kind;

void psvi_gl_find_large_pages(psvi_gl *gl, psvi_gl_load load, bool offered) {
    psvi_gl_large_pages *pages = &gl->large_pages;
    *pages = (psvi_gl_large_pages){.device = PSVI_GL_NOT_ASKED};
    *(void **)&pages->CreateMemoryObjects = load("glCreateMemoryObjectsEXT");
    *(void **)&pages->DeleteMemoryObjects = load("glDeleteMemoryObjectsEXT");
    *(void **)&pages->ImportMemoryFd = load("glImportMemoryFdEXT");
    *(void **)&pages->NamedBufferStorageMem = load("glNamedBufferStorageMemEXT");
    *(void **)&pages->GetUnsignedBytei_v = load("glGetUnsignedBytei_vEXT");
    if (!offered || pages->CreateMemoryObjects == NULL || pages->DeleteMemoryObjects == NULL ||
        pages->ImportMemoryFd == NULL || pages->NamedBufferStorageMem == NULL || pages->GetUnsignedBytei_v == NULL)
        pages->device = PSVI_GL_NONE;
}

// CUDA's number of the device that OpenGL draws with; PSVI_GL_NONE: it has none. The library stays open: the driver
// keeps threads of its own.
static int find_device(psvi_gl *gl) {
    psvi_gl_large_pages *pages = &gl->large_pages;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = NULL, (*get_count)(int *) = NULL, (*get_uuid)(unsigned char *, int) = NULL;
    int count = 0;
    if (cuda == NULL) return PSVI_GL_NONE;
    *(void **)&init = dlsym(cuda, "cuInit");
    *(void **)&get_count = dlsym(cuda, "cuDeviceGetCount");
    *(void **)&get_uuid = dlsym(cuda, "cuDeviceGetUuid");
    *(void **)&pages->granularity = dlsym(cuda, "cuMemGetAllocationGranularity");
    *(void **)&pages->create = dlsym(cuda, "cuMemCreate");
    *(void **)&pages->export_handle = dlsym(cuda, "cuMemExportToShareableHandle");
    *(void **)&pages->release = dlsym(cuda, "cuMemRelease");
    if (init == NULL || get_count == NULL || get_uuid == NULL || pages->granularity == NULL || pages->create == NULL ||
        pages->export_handle == NULL || pages->release == NULL || init(0) != 0 || get_count(&count) != 0)
        return PSVI_GL_NONE;
    unsigned char ours[16] = {0}, theirs[16];
    pages->GetUnsignedBytei_v(DEVICE_UUID, 0, ours);
    for (int device = 0; device < count; ++device)
        if (get_uuid(theirs, device) == 0 && memcmp(ours, theirs, sizeof ours) == 0) return device;
    return PSVI_GL_NONE;
}

// A descriptor of new memory of *bytes bytes, which it rounds up; -1: none.
static int allocate(const psvi_gl_large_pages *pages, uint64_t *bytes) {
    const cuda_memory_kind kind = {
        .type = CUDA_PINNED, .handle_types = CUDA_FILE_DESCRIPTOR, .location = {CUDA_DEVICE_MEMORY, pages->device}};
    unsigned long long handle = 0;
    size_t unit = 0;
    int descriptor = -1;
    if (pages->granularity(&unit, &kind, 0) != 0 || unit == 0) return -1;
    *bytes = (*bytes + unit - 1) / unit * unit;
    if (pages->create(&handle, (size_t)*bytes, &kind, 0) != 0) return -1;
    if (pages->export_handle(&descriptor, handle, CUDA_FILE_DESCRIPTOR, 0) != 0) descriptor = -1;
    (void)pages->release(handle); // the descriptor, and then OpenGL, hold the memory
    return descriptor;
}

GLuint psvi_gl_large_buffer(psvi_gl *gl, uint64_t bytes) {
    psvi_gl_large_pages *pages = &gl->large_pages;
    GLuint name = 0, memory = 0;
    uint64_t held = bytes;
    if (bytes < LEAST_BYTES || pages->device == PSVI_GL_NONE) return 0;
    if (pages->device == PSVI_GL_NOT_ASKED) pages->device = find_device(gl);
    const int descriptor = pages->device == PSVI_GL_NONE ? -1 : allocate(pages, &held);
    if (descriptor < 0) return 0;
    pages->CreateMemoryObjects(1, &memory);
    pages->ImportMemoryFd(memory, held, HANDLE_OPAQUE_FD, descriptor);
    if (gl->f.GetError() != GL_NO_ERROR) {
        (void)close(descriptor); // OpenGL has not taken it
        pages->DeleteMemoryObjects(1, &memory);
        return 0;
    }
    gl->f.CreateBuffers(1, &name);
    pages->NamedBufferStorageMem(name, (GLsizeiptr)bytes, memory, 0);
    const bool made = gl->f.GetError() == GL_NO_ERROR;
    pages->DeleteMemoryObjects(1, &memory); // the buffer holds it
    if (made) return name;
    gl->f.DeleteBuffers(1, &name);
    return 0;
}
