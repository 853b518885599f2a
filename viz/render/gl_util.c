#include "gl_util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCES 8

void view_say(view_message *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
}

static const char *embedded_text(const char *name, size_t length) {
    for (const view_embedded *shader = view_shaders; shader->name != NULL; ++shader) {
        if (strlen(shader->name) == length && memcmp(shader->name, name, length) == 0) return shader->text;
    }
    return NULL;
}

// Collects the sources that `files` names; returns their number, 0 when one is missing or there are too many.
static int collect_sources(const char *files, const char *sources[MAX_SOURCES]) {
    int count = 0;
    sources[count++] = "#version 450 core\n";
    sources[count++] = embedded_text("common.glsl", strlen("common.glsl"));
    for (const char *at = files; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (count == MAX_SOURCES || (sources[count] = embedded_text(at, length)) == NULL) return 0;
        ++count;
        at += length;
        at += strspn(at, " ");
    }
    return count;
}

static GLenum stage_of(const char *files) {
    const char *suffix = strrchr(files, '.');
    if (suffix != NULL && strcmp(suffix, ".vert") == 0) return GL_VERTEX_SHADER;
    if (suffix != NULL && strcmp(suffix, ".frag") == 0) return GL_FRAGMENT_SHADER;
    return GL_COMPUTE_SHADER;
}

static GLuint compile(const char *files, view_message *message) {
    const char *sources[MAX_SOURCES];
    int count = collect_sources(files, sources);
    if (count == 0) {
        view_say(message, "shader '%s' is not in this build", files);
        return 0;
    }
    GLuint shader = glCreateShader(stage_of(files));
    glShaderSource(shader, count, sources, NULL);
    glCompileShader(shader);
    GLint compiled = GL_FALSE;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (compiled) return shader;
    char log[VIEW_MESSAGE_BYTES / 2] = "";
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    view_say(message, "the driver refused shader '%s': %s", files, log);
    glDeleteShader(shader);
    return 0;
}

GLuint view_build_program(const char *first_stage, const char *second_stage, view_message *message) {
    GLuint first = compile(first_stage, message);
    GLuint second = first != 0 && second_stage != NULL ? compile(second_stage, message) : 0;
    if (first == 0 || (second_stage != NULL && second == 0)) {
        glDeleteShader(first);
        return 0;
    }
    GLuint program = glCreateProgram();
    glAttachShader(program, first);
    if (second != 0) glAttachShader(program, second);
    glLinkProgram(program);
    glDeleteShader(first);
    glDeleteShader(second);
    GLint linked = GL_FALSE;
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (linked) return program;
    char log[VIEW_MESSAGE_BYTES / 2] = "";
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    view_say(message, "the driver refused program '%s': %s", first_stage, log);
    glDeleteProgram(program);
    return 0;
}

GLuint view_new_buffer(uint64_t bytes, const void *data) {
    GLuint buffer = 0;
    glCreateBuffers(1, &buffer);
    glNamedBufferStorage(buffer, (GLsizeiptr)(bytes > 0 ? bytes : 16), data, GL_DYNAMIC_STORAGE_BIT);
    return buffer;
}

GLuint view_new_texture(GLenum format, int width, int height, GLenum filter) {
    GLuint texture = 0;
    glCreateTextures(GL_TEXTURE_2D, 1, &texture);
    glTextureStorage2D(texture, 1, format, width, height);
    glTextureParameteri(texture, GL_TEXTURE_MIN_FILTER, (GLint)filter);
    glTextureParameteri(texture, GL_TEXTURE_MAG_FILTER, (GLint)filter);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    return texture;
}

GLuint view_new_framebuffer(GLuint colour, GLuint depth) {
    GLuint framebuffer = 0;
    glCreateFramebuffers(1, &framebuffer);
    if (colour != 0) {
        glNamedFramebufferTexture(framebuffer, GL_COLOR_ATTACHMENT0, colour, 0);
    } else {
        glNamedFramebufferDrawBuffer(framebuffer, GL_NONE);
    }
    if (depth != 0) glNamedFramebufferTexture(framebuffer, GL_DEPTH_ATTACHMENT, depth, 0);
    return framebuffer;
}

void view_dispatch_256(uint64_t count) {
    uint64_t groups = (count + 255) / 256;
    if (groups == 0) return;
    uint64_t across = groups < 65535 ? groups : 65535;
    glDispatchCompute((GLuint)across, (GLuint)((groups + across - 1) / across), 1);
}
