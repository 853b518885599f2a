// The OpenGL 4.5 functions that the backend calls, by name and by the type that glcorearb.h gives them. They are looked
// up when a context is created: nothing here is linked.
#ifndef PAIRSIEVE_CORE_GL_FUNCTIONS_H
#define PAIRSIEVE_CORE_GL_FUNCTIONS_H

#include <GL/glcorearb.h>

// X(member, NAME IN THE TYPE, name)
#define PSVI_GL_FUNCTIONS(X)                                                                                           \
    X(GetString, GETSTRING)                                                                                            \
    X(GetStringi, GETSTRINGI)                                                                                          \
    X(GetIntegerv, GETINTEGERV)                                                                                        \
    X(GetInteger64v, GETINTEGER64V)                                                                                    \
    X(GetError, GETERROR)                                                                                              \
    X(Finish, FINISH)                                                                                                  \
    X(CreateBuffers, CREATEBUFFERS)                                                                                    \
    X(DeleteBuffers, DELETEBUFFERS)                                                                                    \
    X(IsBuffer, ISBUFFER)                                                                                              \
    X(NamedBufferStorage, NAMEDBUFFERSTORAGE)                                                                          \
    X(GetNamedBufferParameteri64v, GETNAMEDBUFFERPARAMETERI64V)                                                        \
    X(GetNamedBufferSubData, GETNAMEDBUFFERSUBDATA)                                                                    \
    X(CopyNamedBufferSubData, COPYNAMEDBUFFERSUBDATA)                                                                  \
    X(ClearNamedBufferSubData, CLEARNAMEDBUFFERSUBDATA)                                                                \
    X(BindBufferRange, BINDBUFFERRANGE)                                                                                \
    X(BindBuffer, BINDBUFFER)                                                                                          \
    X(CreateShader, CREATESHADER)                                                                                      \
    X(ShaderSource, SHADERSOURCE)                                                                                      \
    X(CompileShader, COMPILESHADER)                                                                                    \
    X(GetShaderiv, GETSHADERIV)                                                                                        \
    X(GetShaderInfoLog, GETSHADERINFOLOG)                                                                              \
    X(DeleteShader, DELETESHADER)                                                                                      \
    X(CreateProgram, CREATEPROGRAM)                                                                                    \
    X(AttachShader, ATTACHSHADER)                                                                                      \
    X(DetachShader, DETACHSHADER)                                                                                      \
    X(LinkProgram, LINKPROGRAM)                                                                                        \
    X(GetProgramiv, GETPROGRAMIV)                                                                                      \
    X(GetProgramInfoLog, GETPROGRAMINFOLOG)                                                                            \
    X(ProgramParameteri, PROGRAMPARAMETERI)                                                                            \
    X(GetProgramBinary, GETPROGRAMBINARY)                                                                              \
    X(ProgramBinary, PROGRAMBINARY)                                                                                    \
    X(DeleteProgram, DELETEPROGRAM)                                                                                    \
    X(UseProgram, USEPROGRAM)                                                                                          \
    X(ProgramUniform1uiv, PROGRAMUNIFORM1UIV)                                                                          \
    X(DispatchCompute, DISPATCHCOMPUTE)                                                                                \
    X(DispatchComputeIndirect, DISPATCHCOMPUTEINDIRECT)                                                                \
    X(MemoryBarrier, MEMORYBARRIER)                                                                                    \
    X(CreateQueries, CREATEQUERIES)                                                                                    \
    X(DeleteQueries, DELETEQUERIES)                                                                                    \
    X(QueryCounter, QUERYCOUNTER)                                                                                      \
    X(GetQueryObjectiv, GETQUERYOBJECTIV)                                                                              \
    X(GetQueryObjectui64v, GETQUERYOBJECTUI64V)                                                                        \
    X(GetGraphicsResetStatus, GETGRAPHICSRESETSTATUS)

typedef struct psvi_gl_functions {
#define PSVI_GL_MEMBER(name, type) PFNGL##type##PROC name;
    PSVI_GL_FUNCTIONS(PSVI_GL_MEMBER)
#undef PSVI_GL_MEMBER
} psvi_gl_functions;

#endif
