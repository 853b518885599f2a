#include "window.h"

#include <stdio.h>
#include <string.h>

// SDL gives no reason when no driver works; name the drivers that would.
static bool start_video(bool headless, view_message *message) {
    SDL_SetMainReady(); // our own main is kept, on Windows too
    const char *asked = SDL_getenv("SDL_VIDEODRIVER");
    bool chosen = asked != NULL && asked[0] != '\0';
    if (headless && !chosen) {
        if (SDL_VideoInit("offscreen") == 0) return true;
    }
    // SDL would continue with a driver that shows nothing, as if there were a window.
    const char *x11 = SDL_getenv("DISPLAY"), *wayland = SDL_getenv("WAYLAND_DISPLAY");
#if defined(_WIN32)
    const bool desktop = true;
#else
    const bool desktop = (x11 != NULL && x11[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
#endif
    if (!headless && !chosen && !desktop) {
        if (SDL_VideoInit("KMSDRM") == 0) return true; // a console with a screen
        view_say(message, "no display: neither DISPLAY nor WAYLAND_DISPLAY is set; pictures without one: --headless "
                          "--screenshot FILE");
        return false;
    }
    if (SDL_InitSubSystem(SDL_INIT_VIDEO) == 0) {
        const char *driver = SDL_GetCurrentVideoDriver();
        if (headless || chosen || (strcmp(driver, "offscreen") != 0 && strcmp(driver, "dummy") != 0)) return true;
        view_say(message, "the display '%s' cannot be reached; pictures without one: --headless --screenshot FILE",
                 x11 != NULL && x11[0] != '\0' ? x11 : wayland);
        return false;
    }
    if (chosen) {
        view_say(message, "video driver '%s' (from SDL_VIDEODRIVER) does not work here: %s", asked, SDL_GetError());
    } else {
        view_say(message,
                 "no display was found (%s); to make pictures without one, use --headless --screenshot FILE, or set "
                 "SDL_VIDEODRIVER=offscreen",
                 SDL_GetError());
    }
    return false;
}

static void ask_for_context(void) {
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 4);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 5);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
    SDL_GL_SetAttribute(SDL_GL_DOUBLEBUFFER, 1);
    SDL_GL_SetAttribute(SDL_GL_DEPTH_SIZE, 0); // depth lives in our own target
}

static bool load_functions(view_message *message) {
    glewExperimental = GL_TRUE;
    GLenum result = glewInit();
    // On EGL (Wayland, offscreen) GLEW misses a GLX display, but has loaded every function by then.
    if (result != GLEW_OK && result != GLEW_ERROR_NO_GLX_DISPLAY) {
        view_say(message, "OpenGL functions could not be loaded: %s", (const char *)glewGetErrorString(result));
        return false;
    }
    GLint major = 0, minor = 0;
    if (glGetString(GL_VERSION) == NULL) {
        view_say(message, "the OpenGL driver names no version");
        return false;
    }
    glGetIntegerv(GL_MAJOR_VERSION, &major);
    glGetIntegerv(GL_MINOR_VERSION, &minor);
    if (major * 10 + minor < 45 || glCreateBuffers == NULL || glClipControl == NULL) {
        view_say(message, "OpenGL 4.5 is needed, this driver gives %d.%d (%s)", major, minor,
                 (const char *)glGetString(GL_RENDERER));
        return false;
    }
    return true;
}

static bool read_limits(view_window *window, view_message *message) {
    GLint64 bytes = 0;
    GLint vertex_blocks = 0, compute_blocks = 0, step = 256;
    GLfloat points[2] = {1.0f, 1.0f};
    glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &bytes);
    glGetIntegerv(GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS, &vertex_blocks);
    glGetIntegerv(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS, &compute_blocks);
    glGetIntegerv(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, &step);
    glGetFloatv(GL_POINT_SIZE_RANGE, points);
    if (vertex_blocks < 2 || compute_blocks < 13) {
        view_say(message,
                 "this driver gives vertex shaders %d and compute shaders %d storage blocks; 2 and 13 are needed (%s)",
                 vertex_blocks, compute_blocks, window->renderer);
        return false;
    }
    window->block_limit = (uint64_t)bytes;
    window->offset_step = (uint64_t)step;
    window->largest_point = points[1];
    return true;
}

bool view_open_window(view_window *window, int width, int height, bool headless, view_message *message) {
    memset(window, 0, sizeof *window);
    if (!start_video(headless, message)) return false;
    ask_for_context();
    uint32_t flags =
        SDL_WINDOW_OPENGL | (headless ? SDL_WINDOW_HIDDEN : SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    window->window =
        SDL_CreateWindow("pairsieve", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, width, height, flags);
    if (window->window == NULL) {
        view_say(message, "no window with OpenGL could be opened on video driver '%s': %s", SDL_GetCurrentVideoDriver(),
                 SDL_GetError());
        return false;
    }
    window->context = SDL_GL_CreateContext(window->window);
    if (window->context == NULL) {
        view_say(message, "OpenGL 4.5 core is needed, and the driver of this display refuses it: %s", SDL_GetError());
        return false;
    }
    if (!load_functions(message)) return false;
    snprintf(window->renderer, sizeof window->renderer, "%s", (const char *)glGetString(GL_RENDERER));
    window->can_tell_reset = glGetGraphicsResetStatus != NULL;
    return read_limits(window, message);
}

void view_close_window(view_window *window) {
    if (window->context != NULL) SDL_GL_DeleteContext(window->context);
    if (window->window != NULL) SDL_DestroyWindow(window->window);
    window->context = NULL;
    window->window = NULL;
    SDL_Quit();
}

bool view_window_is_alive(const view_window *window) {
    return !window->can_tell_reset || glGetGraphicsResetStatus() == GL_NO_ERROR;
}
