// Kernels: compilation, once for each set of defines, and runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gl_backend.h"

// The compiler's or linker's text, one line of it.
static psv_status refuse(psv_context *context, const psvi_gpu_source *source, GLuint shader, GLuint program) {
    psvi_gl *gl = psvi_gl_of(context);
    char log[320] = "";
    if (shader != 0)
        gl->f.GetShaderInfoLog(shader, sizeof log, NULL, log);
    else
        gl->f.GetProgramInfoLog(program, sizeof log, NULL, log);
    for (char *at = log; *at != '\0'; ++at)
        if (*at < ' ') *at = ' ';
    return psvi_fail(context, PSV_ERROR_DEVICE, "the OpenGL driver refused kernel %s: %s", source->name, log);
}

static psv_status build(psv_context *context, const psvi_gpu_source *source, const char *const texts[4],
                        GLuint program) {
    psvi_gl *gl = psvi_gl_of(context);
    const GLuint shader = gl->f.CreateShader(GL_COMPUTE_SHADER);
    GLint done = 0;
    gl->f.ShaderSource(shader, 4, texts, NULL);
    gl->f.CompileShader(shader);
    gl->f.GetShaderiv(shader, GL_COMPILE_STATUS, &done);
    psv_status status = done ? PSV_OK : refuse(context, source, shader, 0);
    if (status == PSV_OK) {
        gl->f.ProgramParameteri(program, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
        gl->f.AttachShader(program, shader);
        gl->f.LinkProgram(program);
        gl->f.DetachShader(program, shader);
        gl->f.GetProgramiv(program, GL_LINK_STATUS, &done);
        if (!done) status = refuse(context, source, 0, program);
    }
    gl->f.DeleteShader(shader);
    return status;
}

// The compiled kernel, from this context's list, the cache folder or the compiler.
static psv_status find_program(psv_context *context, const psvi_gpu_source *source, const char *defines,
                               const psvi_gl_program **found) {
    psvi_gl *gl = psvi_gl_of(context);
    for (const psvi_gl_program *p = gl->programs; p != NULL; p = p->next) {
        if (p->source != source || strcmp(p->defines, defines) != 0) continue;
        *found = p;
        return PSV_OK;
    }
    psvi_gl_program *made = calloc(1, sizeof *made);
    if (made == NULL || strlen(defines) >= sizeof made->defines) {
        free(made);
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for kernel %s (%zu bytes)", source->name, sizeof *made);
    }
    made->source = source;
    memcpy(made->defines, defines, strlen(defines) + 1);
    made->name = gl->f.CreateProgram();
    const char *const texts[4] = {"#version 450 core\n", defines, psvi_glsl_gpu_common.text, source->text};
    if (!psvi_gl_load_binary(gl, texts, made->name)) {
        psv_status status = build(context, source, texts, made->name);
        if (status != PSV_OK) {
            gl->f.DeleteProgram(made->name);
            free(made);
            return status;
        }
        psvi_gl_keep_binary(gl, texts, made->name);
    }
    made->next = gl->programs;
    gl->programs = made;
    *found = made;
    return PSV_OK;
}

void psvi_gl_delete_programs(psvi_gl *gl) {
    while (gl->programs != NULL) {
        psvi_gl_program *first = gl->programs;
        gl->programs = first->next;
        gl->f.DeleteProgram(first->name);
        free(first);
    }
}

psv_status psvi_gl_run(psv_context *context, const psvi_gpu_call *call) {
    psvi_gl *gl = psvi_gl_of(context);
    const psvi_gl_program *program = NULL;
    psvi_gpu_range ranges[PSVI_GPU_BLOCKS];
    uint32_t words[PSVI_GPU_WORDS];
    psvi_gl_enter(context);
    psv_status status = find_program(context, call->source, call->defines == NULL ? "" : call->defines, &program);
    if (status != PSV_OK || gl->gpu.prepare_only || (call->groups == 0 && call->indirect == NULL)) return status;
    status = psvi_gpu_bind(context, call, ranges, words);
    if (status != PSV_OK) return status;
    for (uint32_t b = 0; b < PSVI_GPU_BLOCKS; ++b)
        if (ranges[b].name != 0)
            gl->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, b, ranges[b].name, (GLintptr)ranges[b].first,
                                  (GLsizeiptr)ranges[b].bytes);
    gl->f.ProgramUniform1uiv(program->name, 0, PSVI_GPU_WORDS, words);
    gl->f.UseProgram(program->name);
    gl->f.MemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_COMMAND_BARRIER_BIT);
    if (call->indirect != NULL) {
        gl->f.BindBuffer(GL_DISPATCH_INDIRECT_BUFFER, psvi_gpu_name_of(call->indirect));
        gl->f.DispatchComputeIndirect((GLintptr)psvi_gpu_offset_of(call->indirect));
    } else {
        uint32_t grid[2];
        psvi_gpu_grid(call->groups, grid);
        gl->f.DispatchCompute(grid[0], grid[1], 1);
    }
    return context->check_buffers ? psvi_gl_status(context, call->source->name) : PSV_OK;
}
