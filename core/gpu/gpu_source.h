// Shaders as the build puts them into the library (cmake/embed_glsl.cmake).
#ifndef PAIRSIEVE_CORE_GPU_SOURCE_H
#define PAIRSIEVE_CORE_GPU_SOURCE_H

// `name` is the file's; `text` is GLSL with its includes.
typedef struct psvi_gpu_source {
    const char *name, *text;
} psvi_gpu_source;

#endif
