// A context without a window, through EGL. The library is opened at run time, so that only programs that ask for such a
// context load it.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

#include "gl_backend.h"

enum { GET_CURRENT, MAKE_CURRENT, DESTROY_CONTEXT, TERMINATE };

static void *symbol_of(void *library, const char *name) { return dlsym(library, name); }

static void *proc_of(void *library, const char *name) {
    void *(*get)(const char *) = NULL;
    *(void **)&get = symbol_of(library, "eglGetProcAddress");
    return get == NULL ? NULL : get(name);
}

#define FIND_SYMBOL(variable, name) *(void **)&(variable) = symbol_of(library, name)

// The display of a device by its number; where devices cannot be listed, Mesa's own without a surface, then the default
// one.
static EGLDisplay find_display(void *library, int device) {
    PFNEGLQUERYDEVICESEXTPROC query_devices = NULL;
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform_display = NULL;
    *(void **)&query_devices = proc_of(library, "eglQueryDevicesEXT");
    *(void **)&get_platform_display = proc_of(library, "eglGetPlatformDisplayEXT");
    PFNEGLGETDISPLAYPROC get_display = NULL;
    FIND_SYMBOL(get_display, "eglGetDisplay");
    EGLDeviceEXT devices[64];
    EGLint count = 0;
    if (query_devices != NULL && get_platform_display != NULL && query_devices(64, devices, &count) && count > 0)
        return device < count ? get_platform_display(EGL_PLATFORM_DEVICE_EXT, devices[device], NULL) : EGL_NO_DISPLAY;
    if (device != 0) return EGL_NO_DISPLAY;
    if (get_platform_display != NULL) {
        EGLDisplay display = get_platform_display(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
        if (display != EGL_NO_DISPLAY) return display;
    }
    return get_display != NULL ? get_display(EGL_DEFAULT_DISPLAY) : EGL_NO_DISPLAY;
}

static EGLContext make_context(void *library, EGLDisplay display) {
    static const EGLint wanted[] = {
        EGL_CONTEXT_MAJOR_VERSION,           4,       EGL_CONTEXT_MINOR_VERSION, 5, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    PFNEGLINITIALIZEPROC initialize = NULL;
    FIND_SYMBOL(initialize, "eglInitialize");
    PFNEGLBINDAPIPROC bind_api = NULL;
    FIND_SYMBOL(bind_api, "eglBindAPI");
    PFNEGLCREATECONTEXTPROC create_context = NULL;
    FIND_SYMBOL(create_context, "eglCreateContext");
    if (initialize == NULL || bind_api == NULL || create_context == NULL) return EGL_NO_CONTEXT;
    if (!initialize(display, NULL, NULL) || !bind_api(EGL_OPENGL_API)) return EGL_NO_CONTEXT;
    return create_context(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, wanted);
}

psv_status psvi_gl_open_own(psv_context *context, int device, psvi_gl_own *own, psvi_gl_load *load) {
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return psvi_fail(context, PSV_ERROR_DEVICE,
                         "no OpenGL context: libEGL.so.1 was not found (or give def.gl_load and make one current)");
    static const char *const names[] = {"eglGetCurrentContext", "eglMakeCurrent", "eglDestroyContext", "eglTerminate"};
    bool all = true;
    *own = (psvi_gl_own){.egl = library};
    for (int i = 0; i < 4; ++i)
        all &= (own->functions[i] = symbol_of(library, names[i])) != NULL;
    *(void **)load = symbol_of(library, "eglGetProcAddress");
    own->display = all && *load != NULL ? find_display(library, device) : EGL_NO_DISPLAY;
    own->context = own->display != EGL_NO_DISPLAY ? make_context(library, own->display) : EGL_NO_CONTEXT;
    psvi_gl_enter_own(own);
    PFNEGLGETCURRENTCONTEXTPROC current = NULL;
    FIND_SYMBOL(current, "eglGetCurrentContext");
    if (own->context != EGL_NO_CONTEXT && current() == own->context) return PSV_OK;
    psv_status status =
        own->display == EGL_NO_DISPLAY
            ? psvi_fail(context, PSV_ERROR_DEVICE, "no OpenGL device %d: EGL has no display for it", device)
            : psvi_fail(context, PSV_ERROR_DEVICE, "no OpenGL 4.5 core context without a window on device %d of EGL",
                        device);
    psvi_gl_close_own(own);
    return status;
}

void psvi_gl_enter_own(const psvi_gl_own *own) {
    PFNEGLGETCURRENTCONTEXTPROC current = NULL;
    PFNEGLMAKECURRENTPROC make_current = NULL;
    if (own->context == NULL) return;
    *(void **)&current = own->functions[GET_CURRENT];
    *(void **)&make_current = own->functions[MAKE_CURRENT];
    if (current() != own->context) (void)make_current(own->display, EGL_NO_SURFACE, EGL_NO_SURFACE, own->context);
}

// The display stays initialized: other contexts of the process may share it.
void psvi_gl_close_own(psvi_gl_own *own) {
    PFNEGLGETCURRENTCONTEXTPROC current = NULL;
    PFNEGLMAKECURRENTPROC make_current = NULL;
    PFNEGLDESTROYCONTEXTPROC destroy = NULL;
    *(void **)&current = own->functions[GET_CURRENT];
    *(void **)&make_current = own->functions[MAKE_CURRENT];
    *(void **)&destroy = own->functions[DESTROY_CONTEXT];
    if (own->context != NULL) {
        if (current() == own->context) (void)make_current(own->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        (void)destroy(own->display, own->context);
    }
    // The driver keeps threads and handlers of its own: its code has to stay where it is.
    *own = (psvi_gl_own){0};
}
