// Frame targets and programs of the renderer: made once, and again when the window changes its size.
#include "targets.h"

#include <string.h>

static bool build(GLuint *program, const char *first, const char *second, view_message *message) {
    *program = view_build_program(first, second, message);
    return *program != 0;
}

bool view_build_programs(view_programs *p, view_message *m) {
    static const char cull[] = "colour.glsl bodies.glsl cull.comp";
    static const char order[] = "colour.glsl bodies.glsl order.comp";
    return build(&p->cull, cull, NULL, m) && build(&p->commands, "commands.comp", NULL, m) &&
           build(&p->order, order, NULL, m) && build(&p->keys, "keys.comp", NULL, m) &&
           build(&p->values, "values.comp", NULL, m) && build(&p->point, "point.vert", "gbuffer.glsl point.frag", m) &&
           build(&p->sphere, "sphere.vert", "gbuffer.glsl sphere.frag", m) &&
           build(&p->box, "box.vert", "gbuffer.glsl box.frag", m) &&
           build(&p->cast, "box.vert", "gbuffer.glsl cast.glsl cast.frag", m) &&
           build(&p->ordered, "box.vert", "lighting.glsl cast.glsl ordered.frag", m) &&
           build(&p->surface, "surface.vert", "gbuffer.glsl ground.glsl surface.frag", m) &&
           build(&p->clear_surface, "surface.vert", "lighting.glsl ground.glsl clear_surface.frag", m) &&
           build(&p->shadow_point, "point.vert", "shadow.frag", m) &&
           build(&p->shadow_box, "box.vert", "shadow.frag", m) &&
           build(&p->shadow_hull, "box.vert", "cast.glsl shadow_hull.frag", m) &&
           build(&p->shadow_surface, "surface.vert", "shadow.frag", m) &&
           build(&p->box_lines, "box_lines.vert", "line.frag", m) &&
           build(&p->pair_lines, "pair_lines.vert", "line.frag", m) &&
           build(&p->speed_lines, "speed_lines.vert", "line.frag", m) &&
           build(&p->contact_lines, "contact_lines.vert", "line.frag", m) &&
           build(&p->order_lines, "order_lines.vert", "line.frag", m) &&
           build(&p->occlusion, "occlusion.comp", NULL, m) && build(&p->light, "lighting.glsl light.comp", NULL, m) &&
           build(&p->composite, "composite.comp", NULL, m) && build(&p->traced, "traced.comp", NULL, m);
}

void view_free_programs(view_programs *programs) {
    GLuint *names = (GLuint *)programs;
    for (size_t i = 0; i < sizeof *programs / sizeof(GLuint); ++i) {
        if (names[i] != 0) glDeleteProgram(names[i]);
        names[i] = 0;
    }
}

void view_free_targets(view_targets *targets) {
    const GLuint textures[] = {targets->colour, targets->depth,  targets->open,  targets->final,
                               targets->shadow, targets->albedo, targets->normal};
    const GLuint framebuffers[] = {targets->scene, targets->blend, targets->picture, targets->shadow_map};
    glDeleteTextures(7, textures);
    glDeleteFramebuffers(4, framebuffers);
    memset(targets, 0, sizeof *targets);
}

static int shadow_size_for(int width, int height) {
    int longest = width > height ? width : height;
    int size = 512;
    while (size < longest * 2 && size < 2048) {
        size *= 2;
    }
    return size;
}

bool view_make_targets(view_targets *targets, int width, int height, int samples, view_message *message) {
    view_free_targets(targets);
    int w = width * samples, h = height * samples;
    targets->width = width;
    targets->height = height;
    targets->samples = samples;
    targets->shadow_size = shadow_size_for(width, height);
    while (glGetError() != GL_NO_ERROR) {
    }
    targets->colour = view_new_texture(GL_RGBA16F, w, h, GL_NEAREST);
    targets->depth = view_new_texture(GL_DEPTH_COMPONENT32F, w, h, GL_NEAREST);
    targets->albedo = view_new_texture(GL_RGBA8, w, h, GL_NEAREST);
    targets->normal = view_new_texture(GL_RGBA16F, w, h, GL_NEAREST);
    targets->open = view_new_texture(GL_R8, w, h, GL_LINEAR);
    targets->final = view_new_texture(GL_RGBA8, width, height, GL_NEAREST);
    targets->shadow = view_new_texture(GL_DEPTH_COMPONENT32F, targets->shadow_size, targets->shadow_size, GL_LINEAR);
    glTextureParameteri(targets->shadow, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
    glTextureParameteri(targets->shadow, GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL);
    targets->scene = view_new_framebuffer(targets->albedo, targets->depth);
    glNamedFramebufferTexture(targets->scene, GL_COLOR_ATTACHMENT1, targets->normal, 0);
    glNamedFramebufferDrawBuffers(targets->scene, 2, (const GLenum[]){GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1});
    targets->blend = view_new_framebuffer(targets->colour, targets->depth);
    targets->picture = view_new_framebuffer(targets->final, 0);
    targets->shadow_map = view_new_framebuffer(0, targets->shadow);
    bool complete = glCheckNamedFramebufferStatus(targets->scene, GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE &&
                    glCheckNamedFramebufferStatus(targets->picture, GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    if (glGetError() == GL_NO_ERROR && complete) return true;
    view_say(message, "OpenGL cannot make a picture of %dx%d pixels", w, h);
    return false;
}
