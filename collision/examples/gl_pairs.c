// Finds overlapping boxes in an OpenGL buffer of the program's own, in its own SDL2 and GLEW window. The pairs stay on
// the device, ready to be drawn; this program reads them back to print them.
#include <GL/glew.h>
#include <SDL.h>
#include <pairsieve/collision.h>
#include <stdio.h>

static SDL_Window *window;
static SDL_GLContext gl;

// A window with an OpenGL 4.5 core context. SDL_VIDEODRIVER=offscreen needs no display.
static bool open_window(void) {
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return false;
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 4);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 5);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
    window = SDL_CreateWindow("gl_pairs", 0, 0, 64, 64, SDL_WINDOW_OPENGL | SDL_WINDOW_HIDDEN);
    if (window == NULL || (gl = SDL_GL_CreateContext(window)) == NULL) return false;
    GLenum error = glewInit();
    return error == GLEW_OK || error == GLEW_ERROR_NO_GLX_DISPLAY; // EGL has all functions too
}

static int fail(const char *what) {
    fprintf(stderr, "gl_pairs: %s\n", what);
    return 1;
}

int main(void) {
    static const psv_aabb boxes[] = {{{0, 0, 0}, {1, 1, 1}}, {{1, 0, 0}, {2, 1, 1}}, {{5, 5, 5}, {6, 6, 6}}};
    if (!open_window()) {
        printf("skipped: no OpenGL 4.5 (%s)\n", SDL_GetError());
        return 77;
    }
    psv_context_def context_def = psv_default_context_def();
    context_def.backend = PSV_BACKEND_GL;
    context_def.gl_load = SDL_GL_GetProcAddress; // the context that is current
    psv_context *context;
    if (psv_create_context(&context_def, &context) != PSV_OK) return fail(psv_last_error(NULL));

    GLuint buffer; // written by the host here; a shader of the program may write it
    glCreateBuffers(1, &buffer);
    glNamedBufferStorage(buffer, sizeof boxes, boxes, 0);
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = 3;
    def.max_pairs = 16;
    def.sort_output = true;
    psv_pair_finder *finder;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return fail(psv_last_error(context));
    psv_box_set set = psv_boxes_of(psv_buffer_of_gl(buffer, 0, sizeof boxes), sizeof *boxes, 3);
    if (psv_find_pairs(finder, &set) != PSV_OK) return fail(psv_last_error(context));

    // psv_pair_buffer(finder).gl_name holds the pairs, psv_pair_count_buffer their number; a program that draws them
    // calls glMemoryBarrier for its use first.
    psv_pair pairs[16];
    uint64_t count = 0;
    if (psv_read_pairs(finder, pairs, 16, &count) != PSV_OK) return fail(psv_last_error(context));
    for (uint64_t i = 0; i < count; ++i)
        printf("%u overlaps %u\n", pairs[i].a, pairs[i].b);
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    glDeleteBuffers(1, &buffer);
    SDL_GL_DeleteContext(gl);
    SDL_DestroyWindow(window);
    SDL_Quit();
    return count == 1 && pairs[0].a == 0 && pairs[0].b == 1 ? 0 : fail("wrong pairs");
}
