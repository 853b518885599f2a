// OpenGL helpers: shader programs from the embedded sources, buffers, textures and frame targets.
#ifndef PAIRSIEVE_VIEW_GL_UTIL_H
#define PAIRSIEVE_VIEW_GL_UTIL_H

#include <GL/glew.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIEW_MESSAGE_BYTES 512

// A sentence for the user about what went wrong; empty when nothing did.
typedef struct view_message {
    char text[VIEW_MESSAGE_BYTES];
} view_message;

void view_say(view_message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct view_embedded {
    const char *name;
    const char *text;
} view_embedded;

extern const view_embedded view_shaders[]; // ends with a NULL name

// Compiles and links a program of up to two stages. Each stage is the concatenation of embedded files, separated by
// spaces. The last file names the stage by its suffix (.vert, .frag, .comp). 0 on failure, with the message.
GLuint view_build_program(const char *first_stage, const char *second_stage, view_message *message);

GLuint view_new_buffer(uint64_t bytes, const void *data); // immutable, updatable with glNamedBufferSubData
GLuint view_new_texture(GLenum format, int width, int height, GLenum filter);
GLuint view_new_framebuffer(GLuint colour, GLuint depth); // 0: attachment left out

// Work groups of 256 for `count` threads, folded into two dimensions where one would exceed the limit of 65535.
void view_dispatch_256(uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
