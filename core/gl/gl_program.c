// Kernels: compilation, once for each set of defines, and runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gl_backend.h"

// The compiler's or linker's text, one line of it.
static psv_status refuse(psv_context *context, const psvi_gl_source *source, GLuint shader, GLuint program) {
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

static psv_status build(psv_context *context, const psvi_gl_source *source, const char *const texts[4],
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
static psv_status find_program(psv_context *context, const psvi_gl_source *source, const char *defines,
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
    const char *const texts[4] = {"#version 450 core\n", defines, psvi_glsl_gl_common.text, source->text};
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

void psvi_gl_grid(uint64_t groups, uint32_t grid[2]) {
    grid[1] = (uint32_t)((groups + 65534) / 65535);
    grid[0] = grid[1] <= 1 ? (uint32_t)groups : (uint32_t)((groups + grid[1] - 1) / grid[1]);
}

// Binds block b from the last aligned byte before its data; *base is the words between. Ranges are whole words.
static psv_status bind_block(psv_context *context, const psvi_gl_call *call, uint32_t b, uint32_t *base) {
    psvi_gl *gl = psvi_gl_of(context);
    const psvi_gl_block block = call->blocks[b];
    const uint64_t offset = psvi_gl_offset_of(block.address), first = offset & ~(uint64_t)(gl->alignment - 1);
    const uint64_t bytes = ((offset + block.bytes + 3) & ~(uint64_t)3) - first;
    if (bytes > gl->block_bytes)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "%s needs %llu bytes in one storage block; this OpenGL driver's limit is %llu",
                         call->source->name, (unsigned long long)bytes, (unsigned long long)gl->block_bytes);
    *base = (uint32_t)((offset - first) / 4);
    gl->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, b, psvi_gl_name_of(block.address), (GLintptr)first,
                          (GLsizeiptr)bytes);
    return PSV_OK;
}

psv_status psvi_gl_run(psv_context *context, const psvi_gl_call *call) {
    psvi_gl *gl = psvi_gl_of(context);
    const psvi_gl_program *program = NULL;
    psvi_gl_enter(context);
    psv_status status = find_program(context, call->source, call->defines == NULL ? "" : call->defines, &program);
    if (status != PSV_OK || gl->prepare_only || (call->groups == 0 && call->indirect == NULL)) return status;
    uint32_t words[PSVI_GL_BLOCKS + PSVI_GL_PARAMS] = {0};
    for (uint32_t b = 0; b < PSVI_GL_BLOCKS && status == PSV_OK; ++b)
        if (call->blocks[b].address != NULL) status = bind_block(context, call, b, &words[b]);
    if (status != PSV_OK) return status;
    memcpy(words + PSVI_GL_BLOCKS, call->params, sizeof call->params);
    gl->f.ProgramUniform1uiv(program->name, 0, PSVI_GL_BLOCKS + PSVI_GL_PARAMS, words);
    gl->f.UseProgram(program->name);
    gl->f.MemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_COMMAND_BARRIER_BIT);
    if (call->indirect != NULL) {
        gl->f.BindBuffer(GL_DISPATCH_INDIRECT_BUFFER, psvi_gl_name_of(call->indirect));
        gl->f.DispatchComputeIndirect((GLintptr)psvi_gl_offset_of(call->indirect));
    } else {
        uint32_t grid[2];
        psvi_gl_grid(call->groups, grid);
        gl->f.DispatchCompute(grid[0], grid[1], 1);
    }
    return context->check_buffers ? psvi_gl_status(context, call->source->name) : PSV_OK;
}
