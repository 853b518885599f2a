// Sorts keys with values in OpenGL buffers of the program's own, in its own SDL2 and GLEW window: nothing is copied.
//     gl_sort [COUNT]
#include <GL/glew.h>
#include <SDL.h>
#include <pairsieve/sort.h>
#include <stdio.h>
#include <stdlib.h>

static SDL_Window *window;
static SDL_GLContext gl;

// A window with an OpenGL 4.5 core context. SDL_VIDEODRIVER=offscreen needs no display.
static bool open_window(void) {
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return false;
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 4);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 5);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
    window = SDL_CreateWindow("gl_sort", 0, 0, 64, 64, SDL_WINDOW_OPENGL | SDL_WINDOW_HIDDEN);
    if (window == NULL || (gl = SDL_GL_CreateContext(window)) == NULL) return false;
    GLenum error = glewInit();
    return error == GLEW_OK || error == GLEW_ERROR_NO_GLX_DISPLAY; // EGL has all functions too
}

static int fail(const char *what) {
    fprintf(stderr, "gl_sort: %s\n", what);
    return 1;
}

int main(int argc, char **argv) {
    const uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
    if (!open_window()) {
        printf("skipped: no OpenGL 4.5 (%s)\n", SDL_GetError());
        return 77;
    }
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_GL;
    context_def.gl_load = SDL_GL_GetProcAddress; // the context that is current
    psv_context *context;
    if (psv_create_context(&context_def, &context) != PSV_OK) return fail(psv_last_error(NULL));

    uint32_t *keys = malloc(4 * (size_t)count), *values = malloc(4 * (size_t)count), random = 1;
    if (keys == NULL || values == NULL) return fail("no memory");
    for (uint32_t i = 0; i < count; ++i) {
        keys[i] = random = random * 1664525 + 1013904223;
        values[i] = i;
    }
    GLuint buffers[2]; // as a program has them, for drawing say
    glCreateBuffers(2, buffers);
    glNamedBufferStorage(buffers[0], 4 * (GLsizeiptr)count, keys, 0);
    glNamedBufferStorage(buffers[1], 4 * (GLsizeiptr)count, values, 0);

    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = count;
    psv_sorter *sorter;
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK) return fail(psv_last_error(context));
    const psv_buffer key_buffer = psv_buffer_of_gl(buffers[0], 0, 4 * (uint64_t)count);
    const psv_buffer value_buffer = psv_buffer_of_gl(buffers[1], 0, 4 * (uint64_t)count);
    if (psv_sort_pairs(sorter, key_buffer, value_buffer, count) != PSV_OK) return fail(psv_last_error(context));
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT); // for the next reader of the buffers: here glGetNamedBufferSubData
    glGetNamedBufferSubData(buffers[0], 0, 4 * (GLsizeiptr)count, keys);
    for (uint32_t i = 1; i < count; ++i)
        if (keys[i - 1] > keys[i]) return fail("not in order");
    printf("%u pairs in order, on %s\n", count, psv_context_device_name(context));

    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
    glDeleteBuffers(2, buffers);
    free(keys);
    free(values);
    SDL_GL_DeleteContext(gl);
    SDL_DestroyWindow(window);
    SDL_Quit();
}
